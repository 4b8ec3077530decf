"""A scripted origin over TLS that speaks HTTP/2 and HTTP/1.1, as ALPN chooses, on one thread.

origin[path] says how requests to that path are answered, "*" all others:
    bytes                               a response as HTTP/1.1 writes it; by HTTP/2 it is translated
    a function of the Asked             does what it likes with it; bytes that it returns are the response
    {"h2": ..., "http/1.1": ...}        one of these for each protocol
    [first, second, ...]                one for each request in turn; the last one is for all that follow
    (one of these,)                     at the request's head, not at its end
Everything happens under one lock, which the thread and do() take; until() waits for what a test expects. What RFC 9113 forbids a client is
kept in .wrong, and close() fails by it.
"""
import contextlib
import selectors
import socket
import ssl
import struct
import threading

from http2_frames import MAX_CONCURRENT_STREAMS
from http2_server import Asked, Held, More, OverHttp2
from wire import TIMEOUT, read_request

LATER = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
FEW = 16                # pieces of a flood at a time
BOTH = ("h2", "http/1.1")
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def offered(hello):
    """The protocols that a ClientHello offers by ALPN (RFC 7301), in order; None: it has no such extension, or is something else."""
    if hello[0] != 22:
        return None
    at = 5 + 4 + 2 + 32
    at += 1 + hello[at]
    at += 2 + int.from_bytes(hello[at:at + 2], "big")
    at += 1 + hello[at] + 2
    while at < len(hello):
        kind, length = int.from_bytes(hello[at:at + 2], "big"), int.from_bytes(hello[at + 2:at + 4], "big")
        if kind == 16:
            names, found = hello[at + 6:at + 4 + length], []
            while names:
                found.append(names[1:1 + names[0]].decode())
                names = names[1 + names[0]:]
            return found
        at += 4 + length
    return None


class Conn:
    """A connection of utfeed: what its hello offered, the protocol that was chosen. .ended: "fin", "reset", or what its handshake failed by.
    .h2: an OverHttp2, if that was chosen. .poured: all of a flood was taken."""

    def __init__(self, origin, sock):
        self.origin, self.sock, self.number = origin, sock, len(origin.conns)
        self.offered = self.protocol = self.speaks = self.h2 = self.ended = self.flood = self.resumed = None
        self.closing, self.poured, self.events = False, False, 0
        self.held, self.out, self.behind = bytearray(), bytearray(), bytearray()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.interest(selectors.EVENT_READ)

    def interest(self, events):
        if self.events and events:
            self.origin.selector.modify(self.sock, events, self)
        elif events:
            self.origin.selector.register(self.sock, events, self)
        elif self.events:
            self.origin.selector.unregister(self.sock)
        self.events = events

    def hello(self):
        """Looks at what is offered before TLS takes it. True: the handshake may begin."""
        hello = self.sock.recv(1 << 14, socket.MSG_PEEK)
        if len(hello) < 5 or hello[0] == 22 and len(hello) < 5 + int.from_bytes(hello[3:5], "big"):
            if not hello:
                self.end("fin")
            return False
        self.offered = offered(hello)
        self.interest(0)
        if self.origin.greet and self.origin.greet(self) == "hang" or self.ended:
            return False
        self.sock = self.origin.context.wrap_socket(self.sock, server_side=True, do_handshake_on_connect=False, suppress_ragged_eofs=False)
        self.interest(selectors.EVENT_READ)
        return True

    def shake(self):
        if isinstance(self.sock, ssl.SSLSocket) or self.hello():
            self.sock.do_handshake()
            self.resumed, self.protocol = self.sock.session_reused, self.sock.selected_alpn_protocol() or "http/1.1"
            if self.protocol == "h2":
                self.speaks = self.h2 = OverHttp2(self)
                self.h2.begin()
            else:
                self.speaks = OverHttp1(self)

    def turn(self, events):
        """What the thread does once the socket is ready."""
        try:
            if not self.speaks:
                self.shake()
            while self.speaks and events & selectors.EVENT_READ and not self.ended:
                data = self.sock.recv(1 << 16)
                if not data:
                    self.end("fin")
                self.held += data
                self.speaks.heed(self.held)
        except LATER:
            pass
        except OSError as error:
            self.end("reset" if self.speaks else f"handshake: {error}")
        except Exception as error:              # what utfeed did wrong, or the script
            self.origin.wrong.append(f"connection {self.number}: {error!r}")
            self.end("wrong")
        self.write()

    def write(self):
        """Writes what the socket takes. A flood, an iterator of bytes, is fed piece by piece."""
        if self.ended or not self.speaks:
            return
        try:
            for _ in range(FEW):
                if not self.out and self.flood:
                    self.pour()
                while self.out:
                    del self.out[:self.sock.send(self.out)]
            if self.closing:
                socket.socket.shutdown(self.sock, socket.SHUT_WR)        # SSLSocket's own would end TLS, too
                self.closing = False
        except LATER:
            pass
        except OSError:
            self.out.clear()
            self.flood = None
        self.interest(selectors.EVENT_READ | (selectors.EVENT_WRITE if self.out or self.flood else 0))

    def pour(self):
        """The flood's next piece, which may end in the middle of a frame; behind the last one, what else was to go meanwhile."""
        self.out += next(self.flood, b"")
        if not self.out:
            self.flood, self.poured = None, True
            self.out, self.behind = self.behind, bytearray()

    def raw(self, data):
        if self.flood:
            self.behind += data
        else:
            self.out += data
            self.write()

    def close(self):
        """FIN behind what was written."""
        self.closing = True
        self.write()

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.end("closed")

    def end(self, how):
        if not self.ended:
            self.ended = how
            self.interest(0)
            self.sock.close()


class OverHttp1:
    def __init__(self, conn):
        self.conn, self.least = conn, 1

    def heed(self, held):
        """Reads each request of which all may be there."""
        while len(held) >= self.least:
            stream = Held(held)
            try:
                got = read_request(stream)
            except More as more:
                self.least = len(held) + more.args[0]
                return
            held[:], self.least = stream.held, 1
            asked = Asked(self.conn, 0, got.line, got.fields)
            asked.body, asked.trailers, asked.framing, asked.whole = got.body, got.trailers, got.framing, True
            self.conn.origin.on_asked(asked)


class Http2Origin:
    """settings: those that connections begin with; None: they begin with none. greet(conn): before a handshake, "hang" leaves it undone.
    opening(h2): on a connection of HTTP/2 that is new."""

    def __init__(self, context, *protocols, host="localhost"):
        self.context, self.host = context, host
        if protocols:
            context.set_alpn_protocols(list(protocols))
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.url = f"https://{host}:{self.port}"
        self.settings, self.greet, self.opening = [(MAX_CONCURRENT_STREAMS, 100)], None, None
        self.pages, self.conns, self.asked, self.wrong, self.over = {}, [], [], [], False
        self.selector, self.news = selectors.DefaultSelector(), threading.Condition(threading.RLock())
        self.waker, self.woken = socket.socketpair()
        for sock in (self.listener, self.woken):
            self.selector.register(sock, selectors.EVENT_READ)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def __setitem__(self, path, said):
        with self.news:
            self.pages[path] = said

    def run(self):
        while not self.over:
            events = self.selector.select()
            with self.news:
                for key, ready in events:
                    if key.fileobj is self.listener:
                        with contextlib.suppress(OSError):
                            self.conns.append(Conn(self, self.listener.accept()[0]))
                    elif key.data and not key.data.ended:
                        key.data.turn(ready)
                self.news.notify_all()

    # What the test does

    def do(self, call, *args):
        """Calls it while nothing else happens here."""
        with self.news:
            return call(*args)

    def until(self, done, why="that does not come"):
        """Waits until done() is true; gives what it gave."""
        with self.news:
            assert self.news.wait_for(done, TIMEOUT), (why, self.wrong, [asked.line for asked in self.asked])
            return done()

    def count(self, path=None, protocol=None):
        """Requests so far."""
        with self.news:
            return len(self.those(path, protocol))

    def those(self, path=None, protocol=None):
        return [asked for asked in self.asked if path in (None, asked.target) and protocol in (None, asked.protocol)]

    def protocols(self, path=None):
        """The protocol of each request, in order."""
        with self.news:
            return [asked.protocol for asked in self.those(path)]

    def receive(self, path, number=1):
        """The request to that path, once so many have come."""
        self.until(lambda: len(self.those(path)) >= number, f"{number} of {path}")
        return self.those(path)[number - 1]

    def connections(self, protocol=None):
        with self.news:
            return len([conn for conn in self.conns if protocol in (None, conn.protocol)])

    # What is asked

    def said(self, asked):
        said = self.pages.get(asked.target, self.pages.get("*", NOT_FOUND))
        turn = len(self.those(asked.target)) - 1
        while isinstance(said, (list, dict)):
            said = said[asked.protocol] if isinstance(said, dict) else said[min(turn, len(said) - 1)]
        return said

    def on_asked(self, asked):
        """Its head is there."""
        self.asked.append(asked)
        asked.said = self.said(asked)
        if asked.whole:
            self.on_whole(asked)
        elif isinstance(asked.said, tuple):
            self.answer(asked, *asked.said)

    def on_whole(self, asked):
        if not asked.answered and not asked.over:
            self.answer(asked, *asked.said if isinstance(asked.said, tuple) else (asked.said,))

    @staticmethod
    def answer(asked, said):
        said = said(asked) if callable(said) else said
        if said is not None:
            asked.reply(said)

    def close(self):
        self.over = True
        self.waker.send(b"x")
        self.thread.join(TIMEOUT)
        for conn in self.conns:
            conn.sock.close()
        for sock in (self.listener, self.waker, self.woken):
            sock.close()
        self.selector.close()
        assert not self.wrong, self.wrong
