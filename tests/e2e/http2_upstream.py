"""UTFEED_TEST_HTTP2=origin: the suite once more, where each plain origin of a test is asked over TLS by HTTP/2.

OriginOverHttp2 is what peers.Origin is to a test that receives a request and says what goes back, and UpstreamOverHttp2 what peers.Upstream
is: one stream. What only HTTP/1 has, or writes in another way, it does not make up: it skips the test, with the reason from OF_HTTP1.
"""
import threading
import time

import pytest

try:
    from http2_client import Chunks
except ImportError as error:
    raise pytest.UsageError(f"UTFEED_TEST_HTTP2: {error} (python3-hpack)") from None
from http2_frames import OF_A_CONNECTION
from http2_origin import Http2Origin
from http2_server import Held
from sockets import unread_bytes
from wire import STATUS_LINE, TIMEOUT, Cut, Malformed, Message, Response, framing, read_head

OF_HTTP1 = {
    "bytes": "an origin that writes a head of HTTP/1 byte by byte, or a malformed one",
    "version": "an origin that speaks another version of HTTP/1",
    "framing": "how HTTP/1 frames a response",
    "close": "a body that ends with its connection",
    "connection": "fields of a connection, which HTTP/2 has not",
    "connections": "how many connections an origin gets, and what becomes of each",
    "scheme": "an origin that is named by http:, which utfeed asks without TLS",
    "address": "an origin at an address for which no certificate is",
    "read": "reads or writes the connection of HTTP/1 by itself",
}


UNFIT = []      # why the test that runs cannot be run so, as any of its threads found out; conftest.py reads and clears it


LIVING = set()  # the origins there are


def note(why):
    UNFIT.append("HTTP/1 itself: " + OF_HTTP1[why])


def skip(why):
    note(why)
    pytest.skip(UNFIT[-1])


class Received:
    """A request as HTTP/1.1 would have written it, without the fields of a connection."""

    def __init__(self, asked):
        self.asked, self.method, self.target, self.version = asked, asked.method, asked.target, "HTTP/1.1"
        self.line = f"{asked.method} {asked.target} HTTP/1.1"
        self.interim = []

    @property
    def framing(self):
        return "length" if self.asked.all("content-length") else "none" if self.asked.whole and not self.asked.body else "chunked"

    @property
    def fields(self):
        return self.asked.fields

    @property
    def body(self):
        return bytes(self.asked.body)

    @property
    def trailers(self):
        return self.asked.trailers

    def all(self, name):
        return skip("connection") if name.lower() in OF_A_CONNECTION else self.asked.all(name)

    __getitem__, __contains__, trailer, tokens, names, head = (Message.__getitem__, Message.__contains__, Message.trailer, Message.tokens,
                                                               Message.names, Message.head)


class Sending:
    """As a Background is: join() returns when all of it is gone."""

    def __init__(self, upstream):
        self.upstream = upstream

    def join(self):
        self.upstream.until(lambda: not self.upstream.asked.pieces)


class UpstreamOverHttp2:
    def __init__(self, origin, asked):
        self.origin, self.asked, self.request = origin, asked, Received(asked)
        self.held, self.framed, self.missing, self.chunks = b"", None, 0, None

    def is_over(self):
        """utfeed takes nothing more on this stream."""
        return self.asked.code or self.asked.conn.ended

    def until(self, done):
        self.origin.script.until(lambda: done() or self.is_over())

    def body(self, sink=None):
        asked, passed = self.asked, 0
        while not asked.whole and not asked.conn.ended or sink and passed < len(asked.body):
            self.until(lambda: asked.whole or sink and passed < len(asked.body))
            if sink:
                piece = asked.body[passed:]
                passed += len(piece)
                sink(piece)
        if not self.asked.ended:
            raise Cut("reset", self.request)
        return b"" if sink else self.request.body

    # What goes: bytes of HTTP/1

    def send(self, data):
        self.origin.script.do(self.take, bytes(data))

    def take(self, data):
        self.held += data
        while self.framed is None and b"\r\n\r\n" in self.held and not self.is_over():
            self.take_head()
        if self.framed and not self.is_over():
            self.take_body()

    def take_head(self):
        stream = Held(self.held, True)
        try:
            got = read_head(stream, STATUS_LINE, Response)
        except Malformed:
            skip("bytes")
        self.held = bytes(stream.held)
        words = set(got.tokens("Connection"))
        if got.version != "HTTP/1.1":
            skip("version")
        if words - {"close", "keep-alive"} or OF_A_CONNECTION & got.names() - {"connection", "transfer-encoding"} or got.status == 101:
            skip("connection")
        if got.status < 200:
            self.asked.head(got.status, got.fields)
            return
        try:
            self.framed = framing(got, self.asked.method == "HEAD" or got.status in (204, 304), "close")
        except Malformed:
            skip("framing")
        self.missing = int(got["Content-Length"]) if self.framed == "length" else 0
        self.chunks = Chunks()
        if self.framed == "close":
            skip("close")
        if self.framed == "length" and not self.missing:
            self.framed = "none"
        self.asked.head(got.status, got.fields, self.framed == "none")

    def take_body(self):
        data, self.held = self.held, b""
        if self.framed == "none" and data:
            skip("framing")
        elif self.framed == "length":
            self.missing -= len(data)
            if self.missing < 0:
                skip("framing")
            self.asked.send(data, not self.missing)
        elif self.framed == "chunked" and not self.chunks.ended:
            try:
                data = self.chunks.take(data)
            except pytest.skip.Exception:
                skip("framing")
            self.asked.send(data, self.chunks.ended, [tuple(line.split(": ", 1)) for line in self.chunks.trailers or ()])

    def answer(self, data, close=False):
        sending = self.send_soon(data)
        if not self.framed and not self.is_over():
            skip("bytes")
        if close:
            self.close()
        return sending if len(data) > 50_000 else None

    def send_soon(self, data):
        self.send(data)
        return Sending(self)

    def send_apart(self, data, size=1):
        for at in range(0, len(data), size):
            self.send(data[at:at + size])
            self.drained()

    def push(self, data, limit, least=0):
        sent, asked = 0, self.asked
        with self.origin.script.news:
            while sent < limit and self.origin.script.news.wait_for(lambda: not asked.pieces or self.is_over(), 1 if sent > least else TIMEOUT):
                if self.is_over():
                    break
                self.take((data[sent % len(data):] + data)[:min(16384, limit - sent)])
                sent += min(16384, limit - sent)
        return sent - len(asked.pieces)

    def drained(self):
        self.until(lambda: not self.asked.pieces and not self.asked.conn.out)
        until = time.monotonic() + TIMEOUT
        while not self.asked.conn.ended and unread_bytes(self.asked.conn.sock):
            assert time.monotonic() < until, "the other end does not read"
            time.sleep(0.0005)

    def gone(self, filler=b"x" * 65536):
        for _ in range((256 << 20) // len(filler)):
            self.send(filler)
            self.until(lambda: not self.asked.pieces)
            if self.is_over():
                return True
        return False

    # How it ends

    def is_alone(self):
        return self.asked.h2.open <= {self.asked.number}

    def close(self):
        """What is not complete by then is not: a stream that has begun is reset, a connection with no other closed."""
        if self.framed:
            self.until(lambda: not self.asked.pieces)
        elif self.held:
            skip("bytes")
        self.origin.script.do(self.end, self.asked.conn.close)

    def reset(self):
        if self.framed:
            self.drained()
        self.origin.script.do(self.end, self.asked.conn.reset)

    def end(self, end_connection):
        if not self.asked.over and not self.is_over():
            if self.framed is None and self.is_alone():
                end_connection()
            else:
                self.asked.reset("INTERNAL_ERROR")

    def is_ended(self):
        if self.asked.over and not self.is_over():
            skip("connections")
        self.until(lambda: False)
        return True

    def heard(self, seconds=0.05):
        with self.origin.script.news:
            return bool(self.origin.script.news.wait_for(self.is_over, seconds))

    def own(self, *_):
        skip("read")

    sock = stream = property(own)
    fileno = exchange = dribble = half_close = own


class OriginOverHttp2:
    def __init__(self, context, *host):
        if host:
            skip("address")
        self.context = context
        self.script = self.listen_anew()
        self.port, self.listener = self.script.port, self.script.listener
        self.authority = f"127.0.0.1:{self.port}"
        self.url = f"https://{self.authority}"
        self.requests, self.taken, self.respond = [], 0, None
        LIVING.add(self)

    def listen_anew(self):
        script = Http2Origin(self.context, "h2")
        script["*"] = (self.on_asked,)
        script.greet = self.greet
        return script

    @staticmethod
    def greet(conn):
        if UNFIT:       # a utfeed of such a test has nothing more to wait for
            conn.end("closed")
        elif conn.offered is None:
            note("scheme")

    def on_asked(self, asked):
        """Under the script's lock."""
        if self.respond:
            threading.Thread(target=self.converse, args=(UpstreamOverHttp2(self, asked), self.respond), daemon=True).start()

    def converse(self, upstream, respond):
        try:
            upstream.body()
        except Cut:
            return
        self.requests.append(upstream.request)
        said = respond(upstream.request)
        data, close = said if isinstance(said, tuple) else (said, None)
        for piece in [data] if isinstance(data, bytes) else data:
            upstream.send(piece)
        if close:
            upstream.close()

    def waiting(self):
        """The first request that nobody has taken and that utfeed still waits for."""
        while self.taken < len(self.script.asked) and self.script.asked[self.taken].code:
            self.taken += 1
        return self.script.asked[self.taken] if self.taken < len(self.script.asked) and not self.respond else None

    def wait(self, timeout, *others):
        until = time.monotonic() + timeout
        while True:
            with self.script.news:
                asked = self.waiting() or (not others and self.script.news.wait_for(lambda: self.waiting() or UNFIT,
                                                                                    max(0, until - time.monotonic())))
                if UNFIT:
                    pytest.skip(UNFIT[-1])
            came = any(other.heard(0.005) for other in others)
            if asked or came or time.monotonic() >= until:
                return bool(asked), came

    def asking(self, timeout=TIMEOUT):
        asked, _ = self.wait(timeout)
        assert asked, "utfeed asked the origin nothing"
        return UpstreamOverHttp2(self, self.waiting())

    def take(self, upstream, _=None):
        self.taken += 1
        self.requests.append(upstream.request)
        return upstream

    def receive_head(self):
        return self.take(self.asking())

    def receive(self, timeout=TIMEOUT):
        upstream = self.take(self.asking(timeout))
        upstream.body()
        return upstream

    def asked(self):
        return self.wait(0)[0]

    def asked_before_answer(self, client):
        asked, came = self.wait(TIMEOUT, client)
        assert asked or came, "neither asked nor answered"
        return asked

    def serve(self, respond):
        with self.script.news:
            self.respond = respond
            for asked in self.script.asked[self.taken:]:
                self.on_asked(asked)
            self.taken = len(self.script.asked)

    def renew(self):
        """For the next test at the same port."""
        with self.script.news:
            self.respond = None
            for conn in self.script.conns:
                conn.end("closed")
            self.script.conns, self.script.asked, self.requests, self.taken = [], [], [], 0

    def listen(self):
        """What came between renew() and this was for the test before."""
        self.renew()

    def stop_listening(self):
        skip("connections")

    def accept(self):
        skip("read")

    @property
    def connections(self):
        return skip("connections")

    @property
    def open(self):
        return skip("connections")

    def close(self):
        with self.script.news:
            self.respond = None
        LIVING.discard(self)
        if not self.script.over:
            self.script.close()
