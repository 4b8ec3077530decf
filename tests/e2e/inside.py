"""Clients of an opened CONNECT: TLS with utfeed itself, under the authority of a test's own."""
import os
import ssl
import subprocess

from peers import Client
from proxy import BINARY


class OwnCa:
    """What `utfeed ca` makes; .options are those that intercept these hosts by it."""

    def __init__(self, folder, *options, name="own"):
        self.cert, self.key = os.path.join(str(folder), name + ".pem"), os.path.join(str(folder), name + ".key")
        self.make(*options)

    def make(self, *options):
        for path in (self.cert, self.key):
            if os.path.exists(path):
                os.unlink(path)
        subprocess.run([BINARY, "ca", *options, "--cert", self.cert, "--key", self.key], stdout=subprocess.DEVNULL, check=True)

    def options(self, *hosts):
        return "--intercept", ",".join(hosts), "--intercept-ca-cert", self.cert, "--intercept-ca-key", self.key

    def context(self, version=None):
        context = ssl.create_default_context(cafile=self.cert)
        if version:
            context.minimum_version = context.maximum_version = version
            if version < ssl.TLSVersion.TLSv1_2:
                context.set_ciphers("DEFAULT@SECLEVEL=0")
        return context


class InsideClient(Client):
    """A client that got its 200 for CONNECT; its requests go through TLS with utfeed."""

    def __init__(self, port, to, context, name="", early=False):
        super().__init__(port)
        self.to, self.host = to, to.rpartition(":")[0].strip("[]")
        self.default = to.removesuffix(":443")
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname=name or self.host)
        head = f"CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n".encode()
        self.send(head + (self.hello() if early else b""))
        self.opened = self.response(method="CONNECT")
        assert self.opened.status == 200, (self.opened.line, self.opened.body)
        assert self.opened.names() == {"proxy-status"}
        self.shake()

    def hello(self):
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return self.outgoing.read()

    def shake(self):
        """The handshake, by hand as far as its first message; from there on as TlsClient does it."""
        raw = self.sock
        while True:
            try:
                self.tls.do_handshake()
                raw.sendall(self.outgoing.read())
                break
            except ssl.SSLWantReadError:
                raw.sendall(self.outgoing.read())
                # utfeed's first flight may have come along with the 200
                came = self.stream.take(1 << 16) or raw.recv(1 << 16)
                if not came:
                    self.incoming.write_eof()
                self.incoming.write(came)
        self.sock = Through(raw, self.tls, self.incoming, self.outgoing)
        self.stream.sock = self.sock

    def certificate(self):
        return self.tls.getpeercert(), self.tls.getpeercert(binary_form=True)

    def ask(self, target="/", *fields, host=None, **kind):
        return super().ask(target, *fields, host=self.default if host is None else host, **kind)


class Through:
    """As much of a socket as a Peer uses, upon TLS in memory."""

    def __init__(self, raw, tls, incoming, outgoing):
        self.raw, self.tls, self.incoming, self.outgoing = raw, tls, incoming, outgoing

    def sendall(self, data):
        view = memoryview(data)
        while len(view):
            view = view[self.tls.write(view):]
            self.raw.sendall(self.outgoing.read())

    def recv(self, size):
        while True:
            try:
                return self.tls.read(size)
            except ssl.SSLWantReadError:
                came = self.raw.recv(1 << 16)
                self.incoming.write(came) if came else self.incoming.write_eof()
            except ssl.SSLZeroReturnError:
                return b""
            except ssl.SSLEOFError:        # an end that TLS did not announce
                raise ConnectionResetError from None

    def recv_into(self, buffer, size=0):
        data = self.recv(size or len(buffer))
        buffer[:len(data)] = data
        return len(data)

    def shutdown(self, how):
        self.raw.shutdown(how)

    def settimeout(self, seconds):
        self.raw.settimeout(seconds)

    def fileno(self):
        return self.raw.fileno()

    def close(self):
        self.raw.close()
