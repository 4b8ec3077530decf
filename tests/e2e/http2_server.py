"""The server's end of HTTP/2 (RFC 9113) for scripted origins: Asked is a request, OverHttp2 what a connection speaks. Nothing is lenient: what
the RFC forbids a client raises Malformed."""
import collections

import hpack

from http2_frames import (ACK, CONTINUATION, DATA, ENABLE_PUSH, END_HEADERS, END_STREAM, Frame, GOAWAY, HEADERS,
                          HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE, LARGEST, MAX_CONCURRENT_STREAMS, OF_A_CONNECTION,
                          PADDED, PING, PREFACE, PRIORITISED, PRIORITY, RST_STREAM, SETTINGS, WINDOW, WINDOW_UPDATE,
                          frame, goaway, header_frames, name_of, ping, reset, settings, window_update)
from wire import Malformed, Request, Stream, read_response

PSEUDO = [":authority", ":method", ":path", ":scheme"]


class More(Exception):
    """The message is not complete yet: at least so many bytes are missing."""


class Held(Stream):
    """Bytes of a message, to be read as from a socket. whole: nothing follows them."""

    def __init__(self, data, whole=False):      # pylint: disable=super-init-not-called
        self.held, self.ended, self.whole = bytearray(data), None, whole

    def fill(self):
        if not self.whole:
            raise More(1)
        self.ended = "fin"
        return False

    def exactly(self, count, into):
        if len(self.held) < count and not self.whole:
            raise More(count - len(self.held))
        super().exactly(count, into)


class Asked(Request):
    """A request on its way: .whole once nothing more of it comes, .ended once that is all of it. .code: utfeed reset its stream with that code. .over: answered, or reset by us."""

    def __init__(self, conn, number, line, fields):
        super().__init__(line, fields)
        self.conn, self.h2, self.number, self.protocol = conn, conn.h2, number, conn.protocol
        self.whole = self.ended = self.over = self.answered = False
        self.code = self.said = None
        self.pieces, self.last, self.sent = bytearray(), None, 0
        self.window = self.credit = WINDOW

    def reply(self, data):
        """A response as HTTP/1.1 writes it, in the framing of this request."""
        if not self.h2:
            self.answered = self.over = True
            self.conn.raw(data)
            return
        got = read_response(Held(data, True), self.method)
        for head in got.interim:
            self.head(head.status, head.fields)
        self.head(got.status, got.fields, not got.body and not got.trailers)
        if got.body or got.trailers:
            self.send(got.body, True, got.trailers)

    def head(self, status, fields=(), end=False):
        self.block([(":status", str(status)), *[(name.lower(), value) for name, value in fields if name.lower() not in OF_A_CONNECTION]], end)

    def block(self, fields, end=False):
        self.answered = True
        self.conn.raw(header_frames(self.number, self.h2.encode(fields), END_STREAM if end else 0))
        if end:
            self.finish()

    def send(self, data=b"", end=False, trailers=()):
        """Body that goes out as the windows let it."""
        self.pieces += data
        self.last = ([(name.lower(), value) for name, value in trailers] or "end") if end else None
        self.flush()

    def flush(self):
        while self.pieces and not self.over and min(self.window, self.h2.window) > 0:
            piece = bytes(self.pieces[:min(self.window, self.h2.window, LARGEST)])
            del self.pieces[:len(piece)]
            self.window -= len(piece)
            self.h2.window -= len(piece)
            self.sent += len(piece)
            ends = not self.pieces and self.last == "end"
            self.conn.raw(frame(DATA, END_STREAM if ends else 0, self.number, piece))
            if ends:
                self.finish()
        if not self.pieces and self.last and not self.over:
            if self.last == "end":
                self.conn.raw(frame(DATA, END_STREAM, self.number))
                self.finish()
            else:
                self.block(self.last, True)

    def reset(self, code="CANCEL"):
        self.conn.raw(reset(self.number, code))
        self.whole = True
        self.finish()

    def finish(self):
        self.over = True
        self.h2.settle(self)


class OverHttp2:
    """The streams of a connection by number. .open: those that are not done; .most: so many were at once; .most_untold: before any SETTINGS
    went."""

    def __init__(self, conn):
        self.conn, self.origin = conn, conn.origin
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        self.decoder.max_header_list_size = 1 << 20
        self.ours = {MAX_CONCURRENT_STREAMS: None, INITIAL_WINDOW_SIZE: WINDOW}         # as utfeed has acknowledged them
        self.theirs = {INITIAL_WINDOW_SIZE: WINDOW}
        self.window = self.credit = WINDOW
        self.streams, self.open, self.most, self.most_untold, self.highest = {}, set(), 0, 0, 0
        self.block, self.unacknowledged, self.told, self.goaways = None, collections.deque(), False, []
        self.frames, self.pings, self.pongs = 0, [], []
        self.greeted, self.takes, self.answers_pings = False, True, True

    def begin(self):
        if self.origin.settings is not None:
            self.set(*self.origin.settings)
        if self.origin.opening:
            self.origin.opening(self)

    # What goes

    def encode(self, fields):
        return self.encoder.encode([(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields])

    def raw(self, data):
        self.conn.raw(data)

    def set(self, *pairs):
        """SETTINGS. The first come before anything else (section 3.4), answers to utfeed's own too."""
        self.unacknowledged.append(pairs)
        self.raw(settings(*pairs))
        if not self.told and self.frames:
            self.raw(frame(SETTINGS, ACK))
        self.told = True

    def goaway(self, last=None, code="NO_ERROR"):
        self.raw(goaway(self.highest if last is None else last, code))

    def settle(self, asked):
        """A stream whose two ends are done is not open any more."""
        if asked.over and asked.whole or asked.code:
            self.open.discard(asked.number)

    # What comes

    def heed(self, held):
        if not self.greeted:
            if len(held) < len(PREFACE) and PREFACE.startswith(held):
                return
            if not held.startswith(PREFACE):
                raise Malformed(f"no preface: {bytes(held[:40])}")
            del held[:len(PREFACE)]
            self.greeted = True
        while len(held) >= 9 and len(held) >= 9 + int.from_bytes(held[:3], "big"):
            length = int.from_bytes(held[:3], "big")
            got = Frame(held[3], held[4], int.from_bytes(held[5:9], "big"), bytes(held[9:9 + length]))
            del held[:9 + length]
            if length > LARGEST:
                raise Malformed(f"a frame of {length} bytes")
            if not self.frames and (got.kind, got.flags) != (SETTINGS, 0):
                raise Malformed(f"begins with {got}")
            if self.block and got.kind != CONTINUATION:
                raise Malformed(f"{got} within a header block")
            self.frames += 1
            self.DOES[got.kind](self, got)

    def stream_of(self, got):
        if got.stream not in self.streams:
            raise Malformed(f"{got} for a stream that was not begun")
        return self.streams[got.stream]

    def headers(self, got):
        if got.kind == CONTINUATION:
            if not self.block or self.block[0].stream != got.stream:
                raise Malformed(f"{got} belongs to nothing")
            first, payload = self.block[0], self.block[1] + got.payload
        else:
            first, payload = got, got.payload
            if got.flags & PADDED:
                payload = payload[1:len(payload) - payload[0]]
            if got.flags & PRIORITISED:
                payload = payload[5:]
        self.block = (first, payload)
        if not got.flags & END_HEADERS:
            return
        self.block = None
        fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in self.decoder.decode(payload, raw=True)]
        known = self.streams.get(first.stream)
        if known:
            known.trailers = plain_fields(fields)
            if not first.flags & END_STREAM or known.whole:
                raise Malformed(f"a header list in the middle of stream {first.stream}")
            self.complete(known)
        else:
            self.opened(first, fields)

    def opened(self, first, fields):
        number, most = first.stream, self.ours[MAX_CONCURRENT_STREAMS]
        if number % 2 == 0 or number <= self.highest:
            raise Malformed(f"stream {number} after {self.highest}")
        self.highest = number
        self.open.add(number)
        self.most = max(self.most, len(self.open))
        if most is not None and len(self.open) > most:
            raise Malformed(f"{len(self.open)} streams at once, and {most} may be")
        if not self.told:
            self.most_untold = max(self.most_untold, len(self.open))
        asked = request_of(self.conn, number, fields)
        asked.window, asked.credit = self.theirs[INITIAL_WINDOW_SIZE], self.ours[INITIAL_WINDOW_SIZE]
        self.streams[number] = asked
        asked.whole = asked.ended = bool(first.flags & END_STREAM)
        self.origin.on_asked(asked)

    def complete(self, asked):
        asked.whole = asked.ended = True
        lengths = asked.all("content-length")
        if lengths and lengths != [str(len(asked.body))] and not asked.over:
            raise Malformed(f"Content-Length {lengths}, and {len(asked.body)} bytes")
        self.settle(asked)
        self.origin.on_whole(asked)

    def data(self, got):
        asked, data = self.stream_of(got), got.payload
        if got.flags & PADDED:
            data = data[1:len(data) - data[0]]
        self.credit -= len(got.payload)
        asked.credit -= len(got.payload)
        if self.credit < 0 or asked.credit < 0:
            raise Malformed(f"{got.stream}: more than a window")
        if asked.whole and not asked.over:
            raise Malformed(f"DATA behind the end of stream {got.stream}")
        asked.body += data
        if got.flags & END_STREAM and not asked.whole:
            self.complete(asked)
        if self.takes and got.payload:
            self.renew(None, len(got.payload))
            if not asked.over and not asked.whole:
                self.renew(asked, len(got.payload))

    def renew(self, asked, more):
        """The window of a stream, or of the connection (None), grows."""
        (asked or self).credit += more
        self.raw(window_update(asked.number if asked else 0, more))

    def rst_stream(self, got):
        asked = self.stream_of(got)
        asked.code = name_of(int.from_bytes(got.payload, "big"))
        asked.pieces.clear()
        asked.over = asked.whole = True
        self.settle(asked)

    def settings(self, got):
        if got.flags & ACK:
            for key, value in self.unacknowledged.popleft() if self.unacknowledged else ():     # of raw frames nothing is known
                if key == INITIAL_WINDOW_SIZE:
                    for asked in self.streams.values():
                        asked.credit += value - self.ours[key]
                if key == HEADER_TABLE_SIZE:
                    self.decoder.max_allowed_table_size = value
                self.ours[key] = value
            return
        for at in range(0, len(got.payload), 6):
            key, value = int.from_bytes(got.payload[at:at + 2], "big"), int.from_bytes(got.payload[at + 2:at + 6], "big")
            if key == INITIAL_WINDOW_SIZE:
                for asked in self.streams.values():
                    asked.window += value - self.theirs[key]
            if key == HEADER_TABLE_SIZE:
                self.encoder.header_table_size = min(value, 4096)
            self.theirs[key] = value
        if self.theirs.get(ENABLE_PUSH) != 0:
            raise Malformed("the first SETTINGS let servers push")
        if self.told:
            self.raw(frame(SETTINGS, ACK))

    def ping(self, got):
        if got.flags & ACK:
            self.pongs.append(got.payload)
            return
        self.pings.append(got.payload)
        if self.answers_pings:
            self.raw(ping(got.payload, ACK))

    def on_goaway(self, got):
        self.goaways.append(name_of(int.from_bytes(got.payload[4:8], "big")))

    def window_update(self, got):
        more = int.from_bytes(got.payload, "big")
        if not more:
            raise Malformed("WINDOW_UPDATE of nothing")
        if got.stream:
            self.stream_of(got).window += more
        else:
            self.window += more
        for asked in list(self.streams.values()):
            asked.flush()

    def wrong(self, got):
        raise Malformed(f"{got} of a client")

    DOES = collections.defaultdict(lambda: OverHttp2.wrong, {
        DATA: data, HEADERS: headers, CONTINUATION: headers, RST_STREAM: rst_stream, SETTINGS: settings, PING: ping,
        GOAWAY: on_goaway, WINDOW_UPDATE: window_update, PRIORITY: lambda speaker, got: None})


def plain_fields(fields):
    """Fields that are no pseudo-header fields, as section 8.2 has them."""
    for name, value in fields:
        if name != name.lower() or name in OF_A_CONNECTION or name.startswith(":") or set(value) & set("\r\n\0") or value != value.strip(" \t"):
            raise Malformed(f"field {name!r}: {value!r}")
        if name == "te" and value != "trailers":
            raise Malformed(f"te: {value}")
    return fields


def request_of(conn, number, fields):
    """Section 8.3.1."""
    count = next((at for at, (name, _) in enumerate(fields) if not name.startswith(":")), len(fields))
    pseudo, plain = dict(fields[:count]), plain_fields(fields[count:])
    if sorted(name for name, _ in fields[:count]) != PSEUDO or pseudo[":scheme"] != "https" or not pseudo[":path"].startswith("/"):
        raise Malformed(f"pseudo-header fields {fields[:count]}")
    if [value for name, value in plain if name == "host" and value != pseudo[":authority"]]:
        raise Malformed(f"Host beside :authority {pseudo[':authority']}")
    return Asked(conn, number, f"{pseudo[':method']} {pseudo[':path']} HTTP/2", [("host", pseudo[":authority"]), *plain])
