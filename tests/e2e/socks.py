"""SOCKS5 servers (RFC 1928, RFC 1929): a scripted one whose tunnels lead to a chosen Origin, and microsocks."""
import socket
import struct

from parents import Running, join
from peers import Origin
from ports import server_port

GRANTED = b"\5\0\0\1\x7f\0\0\1\0\0"


def take(sock, n):
    got = b""
    while len(got) < n:
        piece = sock.recv(n - len(got))
        assert piece, "utfeed closed the connection to the SOCKS server"
        got += piece
    return got


class Socks(Origin):
    """asked: (kind, host, port) of each CONNECT; logins: user and password where it asks for them; methods: what was offered last."""

    def __init__(self):
        super().__init__()
        self.asked, self.logins, self.ends, self.methods = [], [], [], None

    def greeted(self, method=b"\0"):
        """The next connection, behind the answer that names a method."""
        upstream = self.accept()
        self.open.remove(upstream)
        sock = upstream.sock
        version, n = take(sock, 2)
        assert version == 5
        self.methods = take(sock, n)
        sock.sendall(b"\5" + method)
        self.ends.append(sock)
        return sock

    def logged_in(self, status=b"\0"):
        sock = self.greeted(b"\2")
        assert self.methods == b"\0\2" and take(sock, 1) == b"\1"
        self.logins.append(tuple(take(sock, take(sock, 1)[0]) for _ in range(2)))
        sock.sendall(b"\1" + status)
        return sock

    def connect(self, sock):
        """What CONNECT asks for."""
        assert take(sock, 3) == b"\5\1\0"
        kind = take(sock, 1)[0]
        host = (take(sock, take(sock, 1)[0]).decode() if kind == 3 else
                socket.inet_ntop(socket.AF_INET if kind == 1 else socket.AF_INET6, take(sock, 4 if kind == 1 else 16)))
        self.asked.append((kind, host, struct.unpack(">H", take(sock, 2))[0]))
        return self.asked[-1]

    def connected(self, to, sock=None, answer=GRANTED, size=None):
        """The next connection leads to the Origin to, whatever it asks for, which this gives. size: the answer goes out in pieces."""
        sock = sock or self.greeted()
        asked = self.connect(sock)
        other = socket.create_connection(("127.0.0.1", to.port))
        self.ends.append(other)
        for at in range(0, len(answer), size or len(answer)):
            sock.sendall(answer[at:at + (size or len(answer))])
        join(sock, other)
        return asked

    def close(self):
        super().close()
        for sock in self.ends:
            sock.close()


class Microsocks(Running):
    """Asks for user:secret."""

    def __init__(self):
        port = server_port()
        super().__init__(port, "microsocks", "-i", "127.0.0.1", "-p", str(port), "-u", "user", "-P", "secret")
