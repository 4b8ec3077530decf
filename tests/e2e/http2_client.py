"""UTFEED_TEST_HTTP2=1: the suite once more, each request of its clients on a stream of HTTP/2.

Http2Client is what peers.Client is to a test that asks, sends a body and reads the response. What only HTTP/1 has, or writes in another way,
it does not make up: it skips the test, with the reason from OF_HTTP1.
"""
import collections
import os
import re

import pytest

try:
    from http2 import Http2
except ImportError as error:
    raise pytest.UsageError(f"UTFEED_TEST_HTTP2=1: {error} (python3-hpack)") from None
from http2_frames import CODES, ENABLE_PUSH, OF_A_CONNECTION, PREFACE, list_of, settings
from peers import Asked
from wire import CHUNK, FIELD, Cut, Malformed, Response, read_response

OF_HTTP1 = {
    "proxy": "asks a proxy for a URL of http: over HTTP/2 its scheme tells that, on a connection by TLS alone",
    "unasked": "reads an answer that it did not ask for",
    "version": "asks by another version of HTTP/1",
    "refusal": "what is said to a malformed request",
    "required": "a CONNECT that utfeed looks into, for which it requires HTTP/1.1",
    "connection": "fields of a connection, which HTTP/2 has not",
    "bytes": "writes a message of HTTP/1 byte by byte",
    "chunks": "chunks that are broken",
    "read": "reads the bytes of HTTP/1 by itself",
    "half-close": "half-closes a connection in the middle of a request",
}



class Received(Response):
    """Without the fields of a connection."""

    def all(self, name):
        return skip("connection") if name.lower() in OF_A_CONNECTION else super().all(name)


class Refused(Response):
    """What a malformed request gets: its stream ends (RFC 9113 section 8.1.1), which is as much as the status 400 says."""

    def __init__(self):
        self.line, self.status = "HTTP/2 400", 400

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return skip("refusal")


def skip(why):
    pytest.skip("HTTP/1 itself: " + OF_HTTP1[why])


AT_ONCE = 100       # requests of a client: as many streams as utfeed lets it have


class Chunks:
    """The bodies in chunks that a test sends, piece by piece."""

    def __init__(self):
        self.held, self.missing, self.trailers, self.ended = b"", 0, None, False

    def take(self, data):
        """The bytes of the body that are whole by now."""
        self.held, out = self.held + data, []
        while self.held and not self.ended:
            if self.missing > 2:
                piece = self.held[:self.missing - 2]
                out.append(piece)
                self.held, self.missing = self.held[len(piece):], self.missing - len(piece)
            elif b"\r\n" not in self.held:
                break
            else:
                line, _, self.held = self.held.partition(b"\r\n")
                self.on_line(line)
        return b"".join(out)

    def on_line(self, line):
        if self.trailers is not None:
            if line and not FIELD.match(line):
                skip("chunks")
            self.ended = not line
            self.trailers += [line.decode("latin-1")] if line else []
        elif self.missing:
            self.missing = 0 if not line else skip("chunks")
        else:
            size = CHUNK.match(line) or skip("chunks")
            self.missing = int(size[1], 16) + 2 if int(size[1], 16) else 0
            self.trailers = None if self.missing else []


class Upload:
    """What of a request's body is still to go: as it is counted, by a length or in chunks."""

    def __init__(self, exchange, length, chunks):
        self.exchange, self.missing, self.chunks, self.data = exchange, length, chunks and Chunks(), b""

    def take(self, data):
        if self.chunks:
            self.data += self.chunks.take(data)
            if self.chunks.ended and self.chunks.held:
                skip("bytes")
        else:
            if self.missing is not None:
                self.missing -= len(data)
                if self.missing < 0:
                    skip("bytes")
            self.data += data

    def is_whole(self):
        return self.chunks.ended if self.chunks else self.missing == 0

    def go_on(self):
        """Sends what the windows allow."""
        exchange, trailers = self.exchange, self.chunks and self.chunks.trailers
        while self.data and exchange.room() and not exchange.code:
            self.data = self.data[exchange.send_some(self.data, self.is_whole() and not trailers):]
        if not self.data and self.is_whole() and not exchange.sent_all and not exchange.code:
            exchange.trailers(*trailers) if trailers else exchange.send(end=True)

    def is_over(self):
        return not self.data or self.exchange.code


class Pumping(Http2):
    """A connection on which an upload goes on whenever its window does."""

    upload = None

    def turn(self):
        got = super().turn()
        if self.upload:
            self.upload.go_on()
        return got


class Sending:
    """As a Background is: join() returns when all of it is gone."""

    def __init__(self, client, upload):
        self.client, self.upload = client, upload

    def join(self):
        self.client.conn.until(self.upload.is_over)


class Http2Client(Asked):
    def __init__(self, port, receive_buffer=0):
        self.conn = Pumping(port, begin=False, receive_buffer=receive_buffer)
        self.last, self.unread, self.begun = None, collections.deque(), False

    # What goes

    def ask(self, target="/", *fields, method="GET", version="HTTP/1.1", host="feeds.test"):
        if version != "HTTP/1.1":
            skip("version")
        if not self.begun:
            self.conn.raw(PREFACE + settings((ENABLE_PUSH, 0)))
            self.begun = True
        lines = "\r\n".join(fields).split("\r\n") if fields else []
        fields = [line for line in lines if line.lower() != "connection: te"]       # who sends TE by HTTP/2 says no more
        given = dict(list_of(fields))
        if target.startswith(self.conn.scheme + "://"):
            skip("proxy")
        if len(self.unread) >= AT_ONCE:
            self.conn.until(lambda: sum(not each.ended for each in self.unread) < AT_ONCE)
        chunks = given.get("transfer-encoding") == "chunked"
        if OF_A_CONNECTION & set(given) - ({"transfer-encoding"} if chunks else set()):
            skip("connection")
        length = int(given["content-length"]) if re.fullmatch("[0-9]+", given.get("content-length", "")) else None
        fields = [field for field in fields if not chunks or not field.lower().startswith("transfer-encoding:")]
        is_open = chunks or length or method == "CONNECT"
        self.last = self.conn.ask(target, *fields, method=method, host=host, end=not is_open)
        self.conn.upload = Upload(self.last, length, chunks) if is_open else None
        self.unread.append(self.last)
        return self

    def get(self, target="/", *fields, **kind):
        return self.ask(target, *fields, **kind).response()

    def send(self, data):
        self.send_soon(data).join()

    def send_soon(self, data):
        upload = self.conn.upload
        if not upload:
            if data:
                skip("bytes")
            return Sending(self, Upload(self.last, None, False))
        upload.take(data)
        upload.go_on()
        return Sending(self, upload)

    def send_apart(self, data, size=1):
        for at in range(0, len(data), size):
            self.send(data[at:at + size])
            self.drained()

    def push(self, data, limit, least=0):
        return (self.conn.upload.exchange if self.conn.upload else skip("bytes")).push(data, limit, least)

    def drained(self):
        self.conn.drained()

    def half_close(self):
        if self.last and not self.last.sent_all or not self.begun:
            skip("half-close")

    def reset(self):
        self.conn.reset()

    def close(self):
        self.conn.close()

    # What comes

    def response(self, sink=None, method=None):
        asked = self.unread.popleft() if self.unread else skip("unasked")
        try:
            got = asked.head() if asked.method == "CONNECT" else None
            if not got or got.status // 100 != 2:
                got = asked.response(sink)
            got.__class__ = Received
            return got
        except Malformed:
            if self.conn.stream.held.startswith(b"HTTP/1."):        # who may not connect hears it before a word of the client's
                return read_response(self.conn.stream, asked.method, sink=sink)
            raise
        except Cut as cut:
            if cut.how == "HTTP_1_1_REQUIRED":
                skip("required")
            if cut.how == "PROTOCOL_ERROR" and not cut.message:
                return Refused()
            raise Cut("reset" if cut.how in CODES else cut.how, cut.message) from None

    def heard(self, seconds=0.05):
        """Whether something of the oldest response, or an end, comes within so many seconds."""
        asked = self.unread[0] if self.unread else skip("unasked")
        while not (asked.got or asked.interim or asked.ended) and self.conn.heard(seconds):
            if not self.conn.turn():
                return True
        return bool(asked.got or asked.interim or asked.ended)

    def arrives(self, count=0):
        asked = self.unread[0] if self.unread else skip("unasked")
        asked.until(lambda: asked.got and asked.count >= count or asked.ended)
        return self

    def is_ended(self):
        """Of the last request's stream, which is to HTTP/2 what a connection is to HTTP/1."""
        if not self.last:
            return self.conn.is_ended()
        try:
            return self.last not in self.unread or self.last.is_ended()
        except Cut:
            return True

    def fileno(self):
        return self.conn.fileno()

    @property
    def sock(self):
        return skip("read")

    stream = sock
