"""HTTP/2 (RFC 9113) for the client's end of the tests: frames as they stand on the wire, header lists by python3-hpack.

Http2 is one connection, Exchange one stream of it; its response() has what a response of peers.Client has. As in wire.py
nothing is lenient: what the RFC forbids a server raises Malformed, a stream or a connection that ends too soon raises Cut.
One thread reads and writes. A test may write whatever frame it likes with raw().
"""
import collections
import contextlib
import selectors
import ssl

import hpack

from http2_frames import (ACK, CONTINUATION, DATA, ENABLE_PUSH, END_HEADERS, END_STREAM, Frame, GOAWAY, Goaway,
                          HEADERS, HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE, LARGEST, MAX_CONCURRENT_STREAMS,
                          MAX_FRAME_SIZE, OF_A_CONNECTION, PADDED, PING, PREFACE, PRIORITISED, RST_STREAM, SETTINGS,
                          WINDOW, WINDOW_UPDATE, frame, header_frames, list_of, name_of, ping, reset, settings,
                          window_update)
from peers import Asked, Peer, heard_from
from wire import TIMEOUT, Cut, Malformed, Response, connect


def checked(fields, trailers=False):
    """The fields of a header list by a server, its pseudo-header fields apart, or Malformed (sections 8.2 and 8.3.2)."""
    pseudo, plain = {}, []
    for name, value in fields:
        name, value = name.decode("latin-1"), value.decode("latin-1")
        if name.startswith(":"):
            if plain or name in pseudo or trailers or name != ":status":
                raise Malformed(f"pseudo-header field {name} where it may not be")
            pseudo[name] = value
        elif name != name.lower() or name in OF_A_CONNECTION or set(value) & set("\r\n\0") or value != value.strip(" \t"):
            raise Malformed(f"field {name!r}: {value!r}")
        else:
            plain.append((name, value))
    if not trailers and not pseudo.get(":status", "").isdigit():
        raise Malformed(f"no :status in {fields}")
    return pseudo.get(":status"), plain


class Exchange(Asked):
    """A stream: .response() of it, or piece by piece. .ended: "end" or the code that a RST_STREAM says; None until then."""

    def __init__(self, conn, number, method="GET"):
        self.conn, self.number, self.method = conn, number, method
        self.window, self.credit = conn.theirs[INITIAL_WINDOW_SIZE], conn.ours[INITIAL_WINDOW_SIZE]
        self.got, self.interim, self.pieces, self.sink = None, [], [], None
        self.count = self.taken = 0     # of the body's bytes: that have come since take(), and that it took
        self.takes = conn.takes         # False: what came is not given back to its window
        self.ended = self.code = None
        self.sent_all = self.left = False

    # What comes

    def on_headers(self, fields, ends):
        if self.got and not ends or self.ended == "end":
            raise Malformed(f"header list in the middle of stream {self.number}")
        status, plain = checked(fields, self.got is not None)
        if self.got:
            self.got.trailers = plain
        else:
            head = Response(f"HTTP/2.0 {status} ", plain)
            head.version, head.line = "HTTP/2", f"HTTP/2 {status}"
            if head.status >= 200:
                self.got = head
                head.interim = self.interim
            elif ends or head.status == 101 or "content-length" in head.names():
                raise Malformed(f"interim response {head.line} {plain}")
            else:
                self.interim.append(head)
        if ends:
            self.on_end()

    def on_data(self, data, cost, ends):
        self.credit -= cost
        if self.credit < 0:
            raise Malformed(f"stream {self.number}: more than its window")
        if not self.got or self.ended == "end":
            raise Malformed(f"DATA outside of a body on stream {self.number}")
        self.count += len(data)
        (self.sink or self.pieces.append)(data)
        if ends:
            self.on_end()
        elif self.takes:
            self.renew_if_low()

    def on_end(self):
        self.ended = "end"
        lengths = self.got.all("Content-Length")
        self.got.framing = "length" if lengths else "frames"
        if len(lengths) > 1 or lengths and not lengths[0].isdigit():
            raise Malformed(f"Content-Length {lengths}")
        if self.method == "HEAD" or self.got.status in (204, 304):
            self.got.framing = "none"
            if self.count:
                raise Malformed(f"a body after {self.method}, {self.got.status}")
        elif lengths and int(lengths[0]) != self.count + self.taken:
            raise Malformed(f"Content-Length {lengths[0]}, and {self.count + self.taken} bytes")
        if self.method == "CONNECT" and self.got.status // 100 == 2 and lengths:
            raise Malformed("Content-Length of a tunnel")

    def on_reset(self, code):
        self.code = name_of(code)
        self.ended = self.ended or self.code

    def renew(self, more):
        self.credit += more
        self.conn.raw(window_update(self.number, more))

    def renew_if_low(self):
        """Gives the window what was taken of it; a window of nothing becomes one."""
        if self.credit <= self.conn.ours[INITIAL_WINDOW_SIZE] // 2 and not self.ended:
            self.renew(max(self.conn.ours[INITIAL_WINDOW_SIZE], LARGEST) - self.credit)

    def body(self):
        return b"".join(self.pieces)

    def so_far(self):
        if self.got:
            self.got.body = self.body()
        return self.got

    def head(self):
        """The head of the response, once it is there; its body may follow."""
        self.until(lambda: self.got or self.ended)
        if not self.got:
            raise Cut(self.ended)
        return self.got

    def take(self, count):
        """The first count bytes of what has come and was not taken."""
        self.until(lambda: self.count >= count or self.ended)
        body = self.body()
        if len(body) < count:
            raise Cut(self.ended, self.so_far())
        self.pieces, self.count, self.taken = [body[count:]], len(body) - count, self.taken + count
        return body[:count]

    def until(self, done):
        try:
            self.conn.until(done)
        except Cut as cut:
            raise Cut(cut.how, self.so_far()) from None

    def response(self, sink=None):
        """The whole response; Cut says by what it ended else."""
        self.sink, self.takes = sink, True
        self.renew_if_low()
        self.until(lambda: self.ended)
        if self.ended != "end":
            raise Cut(self.ended, self.so_far())
        return self.so_far()

    def is_ended(self):
        """Waits until the other end says that nothing follows on this stream; False if bytes come instead."""
        self.until(lambda: self.count or self.ended)
        return not self.count

    # What goes

    def send(self, data=b"", end=False):
        """DATA as the windows allow, which may mean to wait."""
        sent = 0
        while sent < len(data):
            sent += self.send_some(data[sent:sent + LARGEST], end and sent + LARGEST >= len(data))
            if sent < len(data):
                self.until(lambda: self.room() or self.code)
            if self.code and sent < len(data):
                raise Cut(self.code, self.so_far())
        if end and not self.sent_all:
            self.sent_all = True
            self.conn.raw(frame(DATA, END_STREAM, self.number))
        return self

    def room(self):
        return max(0, min(self.window, self.conn.window, LARGEST))

    def send_some(self, data, end=False):
        """One frame of as much of it as may go now; gives how much that was."""
        piece = data[:self.room()]
        if piece:
            self.sent_all = end and len(piece) == len(data)
            self.window -= len(piece)
            self.conn.window -= len(piece)
            self.conn.raw(frame(DATA, END_STREAM if self.sent_all else 0, self.number, piece))
        return len(piece)

    def push(self, data, limit, least=0):
        """As Peer.push(): until limit bytes are gone or the other end gives no window, for a second once more than least are gone."""
        sent = 0
        while sent < limit and (self.room() or self.conn.heard(1 if sent > least else TIMEOUT)):
            if not self.room():
                self.conn.turn()
            sent += self.send_some(data[sent % len(data):][:limit - sent])
        return sent

    def trailers(self, *fields):
        self.sent_all = True
        self.conn.raw(header_frames(self.number, self.conn.encode(list_of(fields))))
        return self

    def half_close(self):
        self.send(end=True)

    def reset(self, code="CANCEL"):
        self.left = True
        self.conn.raw(reset(self.number, code))


class Http2(Peer):
    """A connection. begin=False: the preface is left to the test. takes=False: no window is renewed by itself. over: a client whose
    connection has come so far that HTTP/2 may begin on it."""

    def __init__(self, port=0, context=None, options=(), begin=True, takes=True, receive_buffer=0, over=None):
        if over:
            self.sock, self.stream = over.sock, over.stream
        else:
            super().__init__(connect(port, receive_buffer))
        if context:
            context.set_alpn_protocols(["h2"])
            self.sock = context.wrap_socket(self.sock, server_hostname="localhost", suppress_ragged_eofs=False)
            assert self.sock.selected_alpn_protocol() == "h2", self.sock.selected_alpn_protocol()
            self.stream.sock = self.sock
        self.scheme, self.takes, self.mute, self.pongs_held = "https" if context or over else "http", takes, False, None
        self.encoder, self.decoder = hpack.Encoder(), hpack.Decoder()
        self.decoder.max_header_list_size = 1 << 20
        self.decoder.max_allowed_table_size = dict(options).get(HEADER_TABLE_SIZE, 4096)
        self.ours = {INITIAL_WINDOW_SIZE: WINDOW, MAX_FRAME_SIZE: LARGEST, **dict(options)}
        self.theirs = {INITIAL_WINDOW_SIZE: WINDOW, MAX_CONCURRENT_STREAMS: None}
        self.window = self.credit = WINDOW
        self.streams, self.next, self.block = {}, 1, None
        self.goaways, self.frames, self.pongs, self.pings, self.acknowledged = [], [], set(), 0, 0
        if begin:
            self.raw(PREFACE + settings((ENABLE_PUSH, 0), *options))

    # What goes

    def raw(self, data):
        """Once the other end takes nothing more, what it has said before tells why."""
        try:
            if not self.mute:
                self.send(data)
        except (ConnectionError, ssl.SSLEOFError):
            self.mute = True

    def encode(self, fields):
        return self.encoder.encode([(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields])

    def begin(self, method="GET", number=None):
        """A stream whose frames the test writes itself, by raw()."""
        number = number or self.next
        self.next = max(self.next, number) + 2
        self.streams[number] = Exchange(self, number, method)
        return self.streams[number]

    def ask(self, target="/", *fields, method="GET", host="feeds.test", body=None, end=True, scheme=None, pseudo=None):
        """A request on a stream of its own. target: as HTTP/1.1 has it, in absolute form too. host: None is none. body: bytes to
        send; end=False: more may follow. pseudo: these pseudo-header fields and no others."""
        if pseudo is None:
            pseudo = self.pseudo(target, method, host, scheme)
        made = self.begin(method)
        closing = end and body is None
        made.sent_all = closing
        block = self.encode([*pseudo, *list_of(fields)])
        self.raw(header_frames(made.number, block, END_STREAM if closing else 0))
        if body is not None:
            made.send(body, end)
        return made

    def pseudo(self, target, method, host, scheme):
        if method == "CONNECT":
            return [(":method", method), (":authority", target)]
        scheme = scheme or self.scheme
        if "://" in target.split("?")[0] and not target.startswith("/"):
            scheme, _, rest = target.partition("://")
            host, slash, path = rest.partition("/")
            target = slash + path or "/"
        return [(":method", method), (":scheme", scheme), *([(":authority", host)] if host is not None else []), (":path", target)]

    def get(self, target="/", *fields, **kind):
        return self.ask(target, *fields, **kind).response()

    def round_trip(self):
        """Returns when the other end has read and answered what went before: by a PING and its answer."""
        self.pings += 1
        data = self.pings.to_bytes(8, "big")
        self.raw(ping(data))
        self.until(lambda: data in self.pongs)

    def flood(self, pieces, reading=True):
        """Sends pieces (whole frames) as long as the other end takes them, and reads what comes meanwhile. True: it has ended the
        connection. This side says nothing by itself any more; aftermath() tells what came."""
        self.mute, view, pieces = True, memoryview(b""), iter(pieces)
        self.sock.setblocking(False)
        with selectors.DefaultSelector() as ready, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            ready.register(self.sock, selectors.EVENT_WRITE | (selectors.EVENT_READ if reading else 0))
            while not self.stream.ended:
                events = ready.select(TIMEOUT)
                assert events, "neither takes nor says anything, nor ends"
                if events[0][1] & selectors.EVENT_READ:
                    self.stream.fill()
                else:
                    view = view or memoryview(next(pieces, b""))
                    if not view:
                        return False
                    view = view[self.sock.send(view):]
        return True

    def aftermath(self):
        """Reads to the connection's end; gives the code of the last GOAWAY, None where there was none."""
        self.sock.settimeout(TIMEOUT)
        self.mute = True
        while self.turn():
            pass
        return self.goaways[-1].code if self.goaways else None

    # What comes

    def heard(self, seconds):
        """Whether a frame, or the end, is there within so many seconds."""
        pending = isinstance(self.sock, ssl.SSLSocket) and self.sock.pending()
        return bool(self.stream.held) or pending or heard_from(self.sock, seconds)

    def until(self, done):
        while not done():
            if not self.turn():
                raise Cut(self.stream.ended)

    def read(self):
        """The next frame; None at the end of the connection."""
        held = self.stream.held
        while len(held) < 9 or len(held) < 9 + int.from_bytes(held[:3], "big"):
            if not self.stream.fill():
                if held and self.stream.ended == "fin":
                    raise Malformed("the connection ends inside a frame")
                return None
        length = int.from_bytes(held[:3], "big")
        if length > LARGEST:
            raise Malformed(f"a frame of {length} bytes")
        head = self.stream.take(9)
        return Frame(head[3], head[4], int.from_bytes(head[5:], "big"), self.stream.take(length))

    def turn(self):
        """Reads a frame and does what it asks for; gives it, or None at the end of the connection."""
        got = self.read()
        if got:
            if not self.frames and (got.kind, got.flags) != (SETTINGS, 0):
                raise Malformed(f"begins with {got}")
            self.frames.append(got if got.kind != DATA else got._replace(payload=b""))
            if self.block and got.kind != CONTINUATION:
                raise Malformed(f"{got} within a header block")
            self.DOES[got.kind](self, got)
        return got

    def exchange_of(self, got):
        if self.mute and got.stream not in self.streams:        # of a flood
            self.begin(number=got.stream).left = True
        if got.stream not in self.streams:
            raise Malformed(f"{got} for a stream that was not begun")
        return self.streams[got.stream]

    def data(self, got):
        exchange, data = self.exchange_of(got), got.payload
        if got.flags & PADDED:
            data = data[1:len(data) - data[0]]
        self.credit -= len(got.payload)
        if self.credit < 0:
            raise Malformed("more than the window of the connection")
        if self.takes and self.credit < WINDOW // 2:
            self.renew()
        if not exchange.left:
            exchange.on_data(data, len(got.payload), bool(got.flags & END_STREAM))

    def renew(self, more=None):
        more = more or WINDOW - self.credit
        self.credit += more
        self.raw(window_update(0, more))

    def headers(self, got):
        if got.kind == CONTINUATION:
            if not self.block or self.block[0].stream != got.stream:
                raise Malformed(f"{got} belongs to nothing")
            first, block = self.block
        else:
            first, block = got, b""
            if got.flags & (PADDED | PRIORITISED):
                raise Malformed(f"padding or priority of a server: {got}")
        self.block = (first, block + got.payload)
        if got.flags & END_HEADERS:
            self.block = None
            fields = self.decoder.decode(block + got.payload, raw=True)
            exchange = self.exchange_of(first)
            if not exchange.left:
                exchange.on_headers(fields, bool(first.flags & END_STREAM))

    def rst_stream(self, got):
        self.exchange_of(got).on_reset(int.from_bytes(got.payload, "big"))

    def settings(self, got):
        if got.flags & ACK:
            self.acknowledged += 1
            return
        for at in range(0, len(got.payload), 6):
            key, value = int.from_bytes(got.payload[at:at + 2], "big"), int.from_bytes(got.payload[at + 2:at + 6], "big")
            if key == INITIAL_WINDOW_SIZE:
                for exchange in self.streams.values():
                    exchange.window += value - self.theirs[key]
            if key == HEADER_TABLE_SIZE:
                self.encoder.header_table_size = min(value, 4096)
            self.theirs[key] = value
        self.raw(frame(SETTINGS, ACK))

    def set(self, *pairs):
        """SETTINGS; returns when they are acknowledged."""
        wanted = self.acknowledged + 1 + (not self.acknowledged)
        for key, value in pairs:
            if key == INITIAL_WINDOW_SIZE:
                for exchange in self.streams.values():
                    exchange.credit += value - self.ours[key]
            self.ours[key] = value
        self.raw(settings(*pairs))
        self.until(lambda: self.acknowledged >= wanted)

    def ping(self, got):
        if got.flags & ACK:
            self.pongs.add(got.payload)
        elif self.pongs_held is not None:
            self.pongs_held.append(got.payload)
        else:
            self.raw(ping(got.payload, ACK))

    def hold_pongs(self):
        """PINGs are answered from give_pongs() on."""
        self.pongs_held = []

    def give_pongs(self):
        held, self.pongs_held = self.pongs_held, None
        for data in held:
            self.raw(ping(data, ACK))

    def goaway(self, got):
        last, code = int.from_bytes(got.payload[:4], "big"), int.from_bytes(got.payload[4:8], "big")
        if self.goaways and last > self.goaways[-1].last:
            raise Malformed(f"GOAWAY with {last} after {self.goaways[-1].last}")
        self.goaways.append(Goaway(last, name_of(code), got.payload[8:]))

    def window_update(self, got):
        more = int.from_bytes(got.payload, "big")
        if not more:
            raise Malformed("WINDOW_UPDATE of nothing")
        if got.stream:
            self.exchange_of(got).window += more
        else:
            self.window += more

    def wrong(self, got):
        raise Malformed(f"{got} of a server")

    DOES = collections.defaultdict(lambda: Http2.wrong, {
        DATA: data, HEADERS: headers, CONTINUATION: headers, RST_STREAM: rst_stream, SETTINGS: settings, PING: ping,
        GOAWAY: goaway, WINDOW_UPDATE: window_update})
