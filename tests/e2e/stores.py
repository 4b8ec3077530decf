"""What a utfeed may have behind memory: a Redis or Valkey server of the test's own."""
import socket
import subprocess
import time

from ports import server_port
from wire import TIMEOUT


AT_ONCE = ("--repl-diskless-sync-delay", "0")           # a master waits for further replicas else, for 5 s


class Redis:
    """more: its options; with a certificate it speaks TLS only."""
    def __init__(self, program, folder, *more, certificate=None):
        self.port = server_port()
        port = ["--port", str(self.port)]
        if certificate:
            port = ["--port", "0", "--tls-port", str(self.port), "--tls-cert-file", certificate.chain, "--tls-key-file", certificate.key,
                    "--tls-ca-cert-file", certificate.chain, "--tls-auth-clients", "no"]
        self.command = [program, *port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", *AT_ONCE, "--dir", str(folder), *more]
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

    def ask(self, *words):
        """A command's reply, of the types that tests need: what redis-cli would print."""
        def read():
            line = stream.readline()[:-2].decode()
            if line[0] == "*":
                return [read() for _ in range(int(line[1:]))]
            if line[0] == "$":
                return None if line == "$-1" else stream.read(int(line[1:]) + 2)[:-2]
            return int(line[1:]) if line[0] == ":" else line[1:]
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        with socket.create_connection(("127.0.0.1", self.port), TIMEOUT) as peer, peer.makefile("rb") as stream:
            peer.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
            return read()

    def stop(self):
        self.process.kill()
        self.process.wait()
