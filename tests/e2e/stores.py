"""What a utfeed may have behind memory: a Redis or Valkey server of the test's own."""
import contextlib
import socket
import subprocess
import threading
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


class Gate:
    """A server's other address. Who connects there is let through once the test says so: opened."""

    def __init__(self, port):
        self.behind, self.goes, self.ends = port, threading.Event(), []
        self.listener = socket.create_server(("127.0.0.1", server_port()), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def opened(self):
        self.goes.set()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                self.ends.append(client)
                threading.Thread(target=self.join, args=(client,), daemon=True).start()

    def join(self, client):
        with contextlib.suppress(OSError):
            self.goes.wait()
            server = socket.create_connection(("127.0.0.1", self.behind), TIMEOUT)
            server.settimeout(None)
            self.ends.append(server)
            threading.Thread(target=self.pass_on, args=(server, client), daemon=True).start()
            self.pass_on(client, server)

    @staticmethod
    def pass_on(source, sink):
        with contextlib.suppress(OSError):
            while said := source.recv(65536):
                sink.sendall(said)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.goes.set()
        for each in (self.listener, *self.ends):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
