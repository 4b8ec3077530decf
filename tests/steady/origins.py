"""The sockets of the publishers. Each host has a listener on its own IP address, so that one host can refuse while others serve.

Everything runs in one thread with one epoll instance; the readers use it too (day.py). Must not know: proxies."""
import select
import socket
import struct

from publishers import date

RESET = struct.pack("ii", 1, 0)     # SO_LINGER: close() sends a reset
GARBAGE = b"\x15\x03\x01\x00\x02\x02\x28"       # TLS: alert, handshake_failure
BACKLOG = 256
SECONDS = 20                        # the time a proxy may take to read a feed


class Connection:
    """A connection from a proxy to a host."""

    def __init__(self, origins, host, sock):
        self.origins, self.host, self.sock = origins, host, sock
        self.data = b""
        origins.watch(sock, self)

    def close(self, reset=False):
        if reset:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.origins.forget(self.sock)
        self.host.held.discard(self)
        self.host.open.discard(self)
        self.sock.close()

    def ready(self):
        try:
            got = self.sock.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            got = b""
        if not got:
            self.close()
            return
        self.data += got
        head, end, rest = self.data.partition(b"\r\n\r\n")
        if end:
            self.data = rest
            self.asked(head.decode("latin-1").split("\r\n"))

    def asked(self, lines):
        """Answers a complete request. All requests here are GETs without a body."""
        path = lines[0].split(" ")[1]
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        publisher = self.host.publisher(path)
        now = self.origins.now()
        answer = publisher.answer(path, fields, now)
        self.origins.count(publisher, now)
        if answer == "hang":
            self.host.held.add(self)
        elif answer in ("reset", "refused"):
            self.close(reset=True)
        elif answer == "garbage":
            self.send(GARBAGE)
            self.close()
        else:
            self.say(answer, "close" in fields.get("connection", ""))

    def say(self, answer, last):
        cut = answer.status == "cut"
        lines = ["HTTP/1.1 " + ("200 OK" if cut else answer.status), f"Date: {date(self.origins.now())}", *answer.fields]
        if answer.status[:3] not in ("304", "204"):
            lines.append(f"Content-Length: {len(answer.body)}")
        if last:
            lines.append("Connection: close")
        body = answer.body[:len(answer.body) // 2] if cut else answer.body
        self.send("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        if last or cut or "Connection: close" in answer.fields:
            self.close()

    def send(self, data):
        self.origins.sent += len(data)
        try:
            sent = self.sock.send(data)
            if sent < len(data):
                self.sock.settimeout(SECONDS)
                self.sock.sendall(data[sent:])
                self.sock.setblocking(False)
        except OSError:
            pass                    # the proxy has closed the connection


class Origins:
    """now(): the time, in seconds since the day began."""

    def __init__(self, hosts, now):
        self.hosts, self.now = hosts, now
        self.epoll, self.watched = select.epoll(), {}
        self.requests = self.failed = self.sent = 0
        self.port = 0
        for host in hosts:
            host.held, host.open, host.listener = set(), set(), None
            self.listen(host)

    def watch(self, sock, reader):
        self.watched[sock.fileno()] = reader
        self.epoll.register(sock.fileno(), select.EPOLLIN)

    def forget(self, sock):
        if self.watched.pop(sock.fileno(), None):
            self.epoll.unregister(sock.fileno())

    def listen(self, host):
        """All hosts use the port that the system gave to the first one."""
        host.listener = socket.socket()
        host.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        host.listener.bind((host.address, self.port))
        host.listener.listen(BACKLOG)
        host.listener.setblocking(False)
        host.port = self.port = host.listener.getsockname()[1]
        self.watch(host.listener, Door(self, host))

    def refuse(self, host):
        if host.listener:
            self.forget(host.listener)
            host.listener.close()
            host.listener = None
        for connection in list(host.open):
            connection.close()

    def serve(self, host):
        if not host.listener:
            self.listen(host)

    def count(self, publisher, now):
        self.requests += 1
        self.failed += publisher.host.fails(now)

    def turn(self, seconds):
        """Handles all sockets that are ready. Returns whether there were any."""
        ready = self.epoll.poll(seconds)
        for fd, _ in ready:
            reader = self.watched.get(fd)
            if reader:
                reader.ready()
        return bool(ready)

    def close(self):
        for host in self.hosts:
            self.refuse(host)
        self.epoll.close()


class Door:
    """Accepts the connections of a host."""

    def __init__(self, origins, host):
        self.origins, self.host = origins, host

    def ready(self):
        try:
            sock, _ = self.host.listener.accept()
        except OSError:
            return
        sock.setblocking(False)
        self.host.open.add(Connection(self.origins, self.host, sock))
