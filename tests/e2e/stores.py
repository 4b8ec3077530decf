"""What a utfeed may have behind memory: a Redis or Valkey server of the test's own."""
import socket
import subprocess
import time

from ports import server_port
from wire import TIMEOUT


class Redis:
    """more: its options; with a certificate it speaks TLS only."""
    def __init__(self, program, folder, *more, certificate=None):
        self.port = server_port()
        port = ["--port", str(self.port)]
        if certificate:
            port = ["--port", "0", "--tls-port", str(self.port), "--tls-cert-file", certificate.chain, "--tls-key-file", certificate.key,
                    "--tls-ca-cert-file", certificate.chain, "--tls-auth-clients", "no"]
        self.command = [program, *port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder), *more]
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + TIMEOUT
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                assert time.monotonic() < until and self.process.poll() is None, "the server does not start"
                time.sleep(0.01)

    def stop(self):
        self.process.kill()
        self.process.wait()
