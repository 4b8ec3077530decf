"""Clients of utfeed that ask over HTTP/2 by prior knowledge, many at once on a connection. Must not know: histories, judgements."""
import contextlib
import socket
from types import SimpleNamespace

import hpack

from http2 import Http2
from http2_frames import GOAWAY, INITIAL_WINDOW_SIZE, WINDOW
from http2_server import Held, More
from wire import Malformed

from .loop import Conn
from .records import Answer

AT_ONCE, ALL = 60, 400              # requests of a session
WINDOWS = (WINDOW, WINDOW, 4000, 0)     # that a stream begins with: of little, utfeed has to wait for more


class Frames(Http2):
    """What http2.py knows of a connection, upon bytes that a Session gives it."""

    def __init__(self, session, window):
        self.session = session
        super().__init__(options=((INITIAL_WINDOW_SIZE, window),), over=SimpleNamespace(sock=None, stream=Held(b"")))
        self.scheme = "http"

    def send(self, data):
        self.session.send(data)


class Stream:
    """One request of a session: to who asks, what a wire.Client is, but none follows."""

    def __init__(self, session):
        self.session, self.of, self.inside, self.open, self.done, self.exchange = session, session.of, None, True, None, None

    def ask(self, method, target, fields, done):
        self.done, self.exchange = done, self.session.ask(self, method, target, fields)

    def finish(self, answer):
        self.open = False
        self.done(answer, self)

    def close(self, reset=False):
        if self.open:
            self.open = False
            self.session.leave(self, reset)


class Session(Conn):
    """A connection to port; of: what bench.py knows it by. Once it is retired it takes no request, and ends behind the last answer."""

    def __init__(self, loop, port, of, window):
        super().__init__(loop, socket.create_connection(("127.0.0.1", port)))
        self.of, self.left, self.retired, self.waiting = of, ALL, False, {}
        self.h2 = Frames(self, window)

    def has_room(self):
        return self.open and not self.retired and self.left > 0 and len(self.waiting) < AT_ONCE

    def retire(self):
        self.retired = True
        self.rest()

    def rest(self):
        if (self.retired or not self.left) and not self.waiting:
            self.close()

    def ask(self, stream, method, target, fields):
        host = next(value for name, value in fields if name == "Host")
        exchange = self.h2.ask(target, *(f"{name}: {value}" for name, value in fields if name != "Host"), method=method, host=host)
        self.waiting[exchange.number] = stream
        self.left -= 1
        exchange.renew_if_low()
        return exchange

    def leave(self, stream, reset):
        if self.waiting.pop(stream.exchange.number, None) and reset:
            stream.exchange.reset()
        self.rest()

    def received(self):
        came, self.held = self.held, b""
        self.h2.stream.held += came
        try:
            with contextlib.suppress(More):
                while self.open:
                    self.heed(self.h2.turn())
        except (Malformed, hpack.HPACKError) as error:
            self.close()
            self.end(lambda _: Answer(0, [], malformed=str(error)))

    def heed(self, got):
        if got.kind == GOAWAY:
            self.retire()
        stream = self.waiting.get(got.stream)
        if stream and stream.exchange.ended:
            del self.waiting[got.stream]
            self.rest()
            stream.finish(answer_of(stream.exchange))

    def ended(self, how):
        self.end(lambda stream: answer_of(stream.exchange))

    def end(self, answer):
        waiting, self.waiting = self.waiting, {}
        for stream in waiting.values():
            stream.finish(answer(stream))


def answer_of(exchange):
    """What came of it; cut: not all of it."""
    got = exchange.so_far()
    return Answer(got.status if got else 0, got.fields if got else [], got.body if got else b"", exchange.ended != "end")
