"""One thread's event loop: sockets by epoll, plain or with TLS, timers in order. Must not know: HTTP. Invariant: nothing here blocks but turn()."""
import errno
import heapq
import itertools
import select
import socket
import ssl
import time

READ, WRITE, GONE = select.EPOLLIN, select.EPOLLOUT, select.EPOLLHUP | select.EPOLLERR


class Loop:
    def __init__(self):
        self.poll, self.files, self.timers, self.turns = select.epoll(), {}, [], itertools.count()
        self.late = 0.0                    # seconds by which turns came later than they should, so far: what a busy machine takes

    def watch(self, sock, call, events=READ):
        """call(events) when sock is ready."""
        fd = sock.fileno()
        if fd in self.files:
            self.poll.modify(fd, events)
        else:
            self.poll.register(fd, events)
        self.files[fd] = call

    def forget(self, sock):
        fd = sock.fileno()
        if self.files.pop(fd, None):
            self.poll.unregister(fd)

    def later(self, seconds, call, *args):
        heapq.heappush(self.timers, (time.monotonic() + seconds, next(self.turns), call, args))

    def turn(self, longest=0.2):
        """Waits for whatever comes first, and does it."""
        now = time.monotonic()
        wait = min(longest, max(0.0, self.timers[0][0] - now)) if self.timers else longest
        came = self.poll.poll(wait, 64)
        self.late += max(0.0, time.monotonic() - now - wait)
        for fd, events in came:
            call = self.files.get(fd)
            if call:
                call(events)
        now = time.monotonic()
        while self.timers and self.timers[0][0] <= now:
            _, _, call, args = heapq.heappop(self.timers)
            call(*args)

    def close(self):
        self.poll.close()


class Tls:
    """TLS upon what a connection receives and sends. An end that the peer did not announce is no end, but a cut."""

    def __init__(self, context, name=None):
        self.incoming, self.outgoing, self.up, self.waiting, self.over = ssl.MemoryBIO(), ssl.MemoryBIO(), False, b"", False
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=name is None, server_hostname=name)

    def read(self, came):
        """The plain bytes of what came; what it makes the handshake say is there to be taken."""
        self.incoming.write(came)
        found = b""
        try:
            if not self.up:
                self.tls.do_handshake()
                self.up = True
                self.write(b"")
            while not self.over:
                piece = self.tls.read(1 << 16)
                self.over = not piece
                found += piece
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.over = True
        return found

    def write(self, data):
        self.waiting += data
        if self.up and self.waiting:
            self.tls.write(self.waiting)
            self.waiting = b""

    def take(self):
        return self.outgoing.read()

    def end(self):
        try:
            self.tls.unwrap()
        except ssl.SSLError:
            pass


class Conn:
    """One connection. received(): .held has grown; ended(how): "fin" or "reset", and nothing comes after it."""

    def __init__(self, loop, sock):
        self.loop, self.sock, self.held, self.out, self.open, self.tls = loop, sock, b"", b"", True, None
        self.waits = False
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        loop.watch(sock, self.ready)

    def received(self):
        raise NotImplementedError

    def ended(self, how):
        raise NotImplementedError

    def ready(self, events):
        if events & WRITE and self.open:
            self.flush()
        if events & (READ | GONE) and self.open:
            self.read()

    def read(self):
        try:
            got = self.sock.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            self.close()
            self.ended("reset")
            return
        if not got:
            how = "fin" if not self.tls or self.tls.over else "reset"
            self.close()
            self.ended(how)
            return
        if self.tls:
            self.opened(got)
            return
        self.held = self.held + got if self.held else got
        self.received()

    def secure(self, context, name=None):
        """Speaks TLS from now on: as a client with name, or as a server."""
        self.tls, came, self.held = Tls(context, name), self.held, b""
        self.opened(came)

    def opened(self, came):
        try:
            plain = self.tls.read(came)
        except ssl.SSLError:
            self.close(reset=True)
            self.ended("reset")
            return
        self.send(b"")
        self.held += plain
        if plain:
            self.received()

    def send(self, data):
        if self.open:
            if self.tls:
                self.tls.write(data)
                data = self.tls.take()
            self.out += data
            self.flush()

    def flush(self):
        try:
            sent = self.sock.send(self.out)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN):
                raise
            self.out = b""
            return
        self.out = self.out[sent:]
        if bool(self.out) != self.waits:
            self.waits = bool(self.out)
            self.loop.watch(self.sock, self.ready, READ | WRITE if self.waits else READ)

    def close(self, reset=False):
        if not self.open:
            return
        if self.tls and self.tls.up and not reset:
            self.tls.end()
            self.send(b"")
        self.open = False
        self.loop.forget(self.sock)
        if reset:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.sock.close()


class Listener:
    """make(loop, socket) for each connection that comes."""

    def __init__(self, loop, make, host="127.0.0.1", port=0):
        self.loop, self.make, self.host, self.port = loop, make, host, port
        self.open()

    def open(self):
        self.sock = socket.create_server((self.host, self.port), backlog=1024)
        self.sock.setblocking(False)
        self.port = self.sock.getsockname()[1]
        self.loop.watch(self.sock, self.ready)

    def ready(self, _):
        for _ in range(16):
            try:
                sock, _ = self.sock.accept()
            except OSError:
                return
            self.make(self.loop, sock)

    def close(self):
        self.loop.forget(self.sock)
        self.sock.close()


class Delay(Conn):
    """One side of a relay whose bytes reach .other so many milliseconds (said by how_long()) after they came, in order."""

    def __init__(self, loop, sock, how_long):
        super().__init__(loop, sock)
        self.other, self.how_long, self.last = None, how_long, 0.0

    def received(self):
        data, self.held = self.held, b""
        self.pass_on(self.other.send, data)

    def ended(self, how):
        self.pass_on(self.other.close)

    def pass_on(self, call, *args):
        due = max(self.last, time.monotonic() + self.how_long())
        self.last = due
        self.loop.later(due - time.monotonic(), call, *args)


class SlowRelay:
    """A relay to port, whose server answers late: .delay in seconds. What stands between utfeed and a slow second store."""

    def __init__(self, loop, port):
        self.port, self.delay, self.loop, self.here, self.open = port, 0.0, loop, True, []
        self.listener = Listener(loop, self.accept)

    def is_passing(self):
        """Bytes wait here for their time."""
        return any(isinstance(getattr(call, "__self__", None), Delay) for _, _, call, _ in self.loop.timers)

    def go_away(self, seconds):
        """So long connections end, also those that are there."""
        self.here = False
        for conn in self.open:
            conn.close(reset=True)
        self.open = []
        self.loop.later(seconds, self.come_back)

    def come_back(self):
        self.here = True

    def accept(self, loop, sock):
        if not self.here:
            sock.close()
            return
        near = Delay(loop, sock, lambda: 0.0)
        far = Delay(loop, socket.create_connection(("127.0.0.1", self.port)), lambda: self.delay)
        near.other, far.other = far, near
        self.open = [conn for conn in self.open if conn.open] + [near, far]
