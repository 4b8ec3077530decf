"""What RFC 9113 and RFC 7541 require of a server, a row for each rule: what a client sends, and what alone may follow it.

A row is (name, section, options, sends, follows). sends(conn) writes to a connection and gives the stream that it is about, or None.
follows is what may come of it, in the words of outcome(). A stream error may be made one of the connection (section 5.4.2), and a
malformed request be answered by 400 (section 8.1.1).
"""
import contextlib

import pytest

pytest.importorskip("hpack", reason="no python3-hpack here")

from http2_frames import (ACK, CONTINUATION, DATA, ENABLE_PUSH, END_HEADERS, END_STREAM, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE,
                          LARGEST, MAX_FRAME_SIZE, MOST_WINDOW, PADDED, PING, PREFACE, PRIORITISED, PRIORITY, PUSH_PROMISE,
                          RST_STREAM, SETTINGS, WINDOW_UPDATE, frame, header_frames, indexed, indexing, integer,
                          literal, octets, ping, priority, reset, settings, window_update)
from wire import Cut, message, read_response

OK = message("200 OK", "Content-Type: text/plain", body=b"hello")
GOES_ON, ANSWERED, CLOSED, REFUSED = {"goes on"}, {"200"}, {"closed"}, {"400"}
NO_WINDOW = [(INITIAL_WINDOW_SIZE, 0)]      # a response with a body cannot end


def connection(code):
    return {f"GOAWAY {code}"}


def stream(code):
    return {f"RST_STREAM {code}", f"GOAWAY {code}"}


MALFORMED = stream("PROTOCOL_ERROR") | REFUSED


def said(conn, exchange):
    return conn.goaways or exchange and exchange.ended


def outcome(conn, exchange):
    """What came of what was sent: "GOAWAY code", "RST_STREAM code", a status, "closed", or "goes on": by PINGs, whose answers come
    behind what a server has to say of the frames before them."""
    with contextlib.suppress(Cut):
        for _ in range(3):
            if not said(conn, exchange):
                conn.round_trip()
        if exchange and exchange.sent_all:
            conn.until(lambda: said(conn, exchange))
    if conn.goaways:
        return f"GOAWAY {conn.aftermath()}"
    if exchange and exchange.ended:
        return f"RST_STREAM {exchange.code}" if exchange.ended != "end" else str(exchange.got.status)
    return "closed" if conn.stream.ended else "goes on"


def judge(conn, sends, follows):
    exchange = sends(conn)
    came = outcome(conn, exchange)
    assert came in follows, f"{came} of {sorted(follows)}"
    if not came.startswith("GOAWAY") and came != "closed":
        assert conn.get("/good").status == 200      # the connection is as good as before


# ---- what rows are made of ----

GET, POST, HTTP, ROOT = indexed(2), indexed(3), indexed(6), indexed(4)      # of the static table
HOST = literal(":authority", "feeds.test")
ASKED = GET + HTTP + ROOT + HOST
POSTED = POST + HTTP + ROOT + HOST


def raw(*frames):
    """Frames that are about no stream."""
    return lambda conn: conn.raw(b"".join(frames))


def begun(conn, block=ASKED, flags=END_STREAM, number=None, method="GET"):
    made = conn.begin(method, number)
    made.sent_all = bool(flags & END_STREAM)
    conn.raw(header_frames(made.number, block, flags))
    return made


def asks(block, flags=END_STREAM):
    """A request by this header block."""
    return lambda conn: begun(conn, block, flags)


def with_fields(*fields, head=ASKED):
    return asks(head + b"".join(literal(name, value) for name, value in fields))


def pseudo(*fields):
    return asks(b"".join(literal(name, value) for name, value in fields))


def at(*make, block=POSTED, flags=0, complete=False, later=False):
    """A stream that was begun, and frames made of its number; later: once its beginning was read."""
    def sends(conn):
        made = begun(conn, block, flags, method="POST")
        made.sent_all = made.sent_all or complete
        if later:
            conn.round_trip()
        conn.raw(b"".join(piece(made.number) for piece in make))
        return made
    return sends


def behind(make, block=ASKED):
    """Frames for a stream that is closed on both sides."""
    def sends(conn):
        made = begun(conn, block)
        made.response()
        conn.raw(make(made.number))
    return sends


def idle(make):
    """Frames for a stream that nobody has begun."""
    return lambda conn: conn.raw(make(conn.next))


def data(payload=b"abc", flags=0):
    return lambda number: frame(DATA, flags, number, payload)


def headers(block=ASKED, flags=END_STREAM):
    return lambda number: header_frames(number, block, flags)


def continuation(block=b"", flags=END_HEADERS):
    return lambda number: frame(CONTINUATION, flags, number, block)


def cut_head(*between):
    """A header block in two frames, and others between them."""
    def sends(conn):
        made = conn.begin()
        made.sent_all = True
        conn.raw(frame(HEADERS, END_STREAM, made.number, ASKED[:4]) + b"".join(make(made.number) for make in between) +
                 frame(CONTINUATION, END_HEADERS, made.number, ASKED[4:]))
        return made
    return sends


def payload(flags, before, block=ASKED, after=b""):
    """HEADERS with padding or priority."""
    def sends(conn):
        made = conn.begin()
        made.sent_all = True
        conn.raw(frame(HEADERS, flags | END_STREAM | END_HEADERS, made.number, before + block + after))
        return made
    return sends


def length_of(fields, *pieces, later=False):
    """A POST that names a length, and the DATA that follows."""
    head = POSTED + b"".join(literal("content-length", value) for value in fields)
    if not pieces:
        return asks(head)
    last = len(pieces) - 1
    return at(*(data(piece, END_STREAM if n == last else 0) for n, piece in enumerate(pieces)), block=head, complete=True, later=later)


def windows(*pairs):
    return raw(settings(*pairs))


def smaller_number(conn):
    begun(conn, number=conn.next + 4).response()
    conn.raw(header_frames(conn.next - 4, ASKED))


def too_many(conn):
    conn.round_trip()
    most = conn.theirs[3] or 200
    for _ in range(most):
        begun(conn, POSTED, 0)
    return begun(conn)


def shared_context(first):
    """What a refused header block puts into the dynamic table counts for the next one (RFC 9113 section 4.3)."""
    def sends(conn):
        made = begun(conn, first + indexing("x-kept", "1"))
        with contextlib.suppress(Cut):
            made.response()
        return begun(conn, ASKED + indexed(62))
    return sends


def one_byte(conn):
    """The window is that of the last of two settings."""
    made = begun(conn)
    made.head()
    made.takes = False
    conn.set((INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1))
    conn.until(lambda: made.count == 1)
    conn.round_trip()
    assert made.count == 1
    made.renew(1000)
    return made


def stream_window(more):
    """A request whose response may come by this window alone."""
    def sends(conn):
        made = begun(conn)
        made.renew(more)
        return made
    return sends


def windows_of_all(conn):
    made = begun(conn, POSTED, 0, method="POST")
    conn.ours[INITIAL_WINDOW_SIZE] = MOST_WINDOW
    conn.raw(window_update(made.number, MOST_WINDOW) + settings((INITIAL_WINDOW_SIZE, MOST_WINDOW)))
    return made


def pongs(conn):
    conn.raw(ping(b"same out") + ping(b"not back", ACK))
    conn.until(lambda: b"same out" in conn.pongs)
    conn.round_trip()
    assert b"not back" not in conn.pongs


def acknowledged(conn):
    conn.until(lambda: conn.acknowledged == 1)
    conn.set((MAX_FRAME_SIZE, LARGEST))
    assert conn.acknowledged == 2


PING_FIRST = frame(PING, 0xf6, 0, b"8 octets")
UNKNOWN = frame(0x16, 0xff, 0, b"what is this")
BAD_NAMES = [b"X-Upper", b"x upper", b"x\0", b"x\n", b"x\r\n", b"x\x7f", b"x\x80", b"x:y", b" x", b"x ", b"", b"x(y)", b"x\t"]
BAD_VALUES = [b"a\0b", b"a\rb", b"a\nb", b"a\r\nx: y", b" a", b"a ", b"\ta", b"a\t", b"a\x01b", b"a\x7fb"]
OF_CONNECTIONS = [("connection", "close"), ("keep-alive", "1"), ("proxy-connection", "x"), ("transfer-encoding", "chunked"),
                  ("upgrade", "h2c"), ("te", "gzip"), ("te", "trailers, gzip"), ("connection", "x-hop")]
METHOD, SCHEME, PATH, AUTHORITY = (":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "feeds.test")
ALL_FOUR = (METHOD, SCHEME, PATH, AUTHORITY)


def replaced(name, value):
    return pseudo(*((key, value if key == name else old) for key, old in ALL_FOUR))


def without(name):
    return pseudo(*(field for field in ALL_FOUR if field[0] != name))


BAD_PSEUDO = {":method": [b"", b"G ET", b"GET\r\n", b"GET / HTTP/1.1\r\nX-Evil: 1\r\n\r\n", b"G\0T", b"(GET)"],
              ":scheme": [b"", b"ht tp", b"http\r\n", b"http://evil.test/", b"1http"],
              ":path": [b"", b"feed", b"/a b", b"/a\r\nX-Evil: 1", b"/a HTTP/1.1\r\nHost: evil.test\r\n\r\n", b"/\0", b"/a\tb", b"*"],
              ":authority": [b"a b", b"a\r\nX-Evil: 1", b"a\0", b"user@feeds.test", b"a/b"]}

ROWS = [
    # RFC 9113 section 3.4: the preface's SETTINGS. Its bytes have tests of their own below.
    ("SETTINGS with nothing", "3.4", [], raw(settings()), GOES_ON),

    # 4.1: what a frame's head may have
    ("an unknown type", "4.1", [], raw(UNKNOWN), GOES_ON),
    ("an unknown type on a stream", "4.1", [], at(lambda number: frame(0x16, 1, number, b"x"), data(flags=END_STREAM), complete=True),
     ANSWERED),
    ("flags that mean nothing", "4.1", [], raw(PING_FIRST[:4] + b"\xf6" + PING_FIRST[5:]), GOES_ON),
    ("the reserved bit", "4.1", [], raw(frame(PING, 0, 0x80000000, b"8 octets")), GOES_ON),
    ("the reserved bit of a stream", "4.1", [], at(lambda number: frame(DATA, END_STREAM, 0x80000000 | number, b"x"), complete=True),
     ANSWERED),

    # 4.2: sizes
    ("DATA of the largest size", "4.2", [], at(data(bytes(LARGEST), END_STREAM), complete=True), ANSWERED),
    ("DATA beyond it", "4.2", [], at(data(bytes(LARGEST + 1))), stream("FRAME_SIZE_ERROR")),
    ("HEADERS beyond it", "4.2", [], lambda conn: conn.raw(frame(HEADERS, END_STREAM | END_HEADERS, 1, ASKED + bytes(LARGEST))),
     connection("FRAME_SIZE_ERROR")),
    ("SETTINGS beyond it", "4.2", [], raw(frame(SETTINGS, payload=b"\0\xff\0\0\0\0" * 2731)), connection("FRAME_SIZE_ERROR")),
    ("an unknown type beyond it", "4.2", [], raw(frame(0x16, 0, 0, bytes(LARGEST + 1))), connection("FRAME_SIZE_ERROR") | GOES_ON),

    # 4.3: header blocks
    ("a block that does not decompress", "4.3", [], asks(b"\x40\x01"), connection("COMPRESSION_ERROR")),
    ("a refused block counts for the next", "4.3", [], shared_context(ASKED + literal("X-Upper", "1")), ANSWERED),
    ("a refused status counts for the next", "4.3", [], shared_context(literal(":status", "200")), ANSWERED),
    ("PRIORITY within a block", "4.3", [], cut_head(priority), connection("PROTOCOL_ERROR")),
    ("PING within a block", "4.3", [], cut_head(lambda number: ping()), connection("PROTOCOL_ERROR")),
    ("DATA within a block", "4.3", [], cut_head(data()), connection("PROTOCOL_ERROR")),
    ("HEADERS of another stream within a block", "4.3", [], cut_head(lambda number: header_frames(number + 2, ASKED)),
     connection("PROTOCOL_ERROR")),
    ("CONTINUATION of another stream", "4.3", [], cut_head(lambda number: frame(CONTINUATION, END_HEADERS, number + 2, b"")),
     connection("PROTOCOL_ERROR")),
    ("SETTINGS within a block", "4.3", [], cut_head(lambda number: settings()), connection("PROTOCOL_ERROR")),

    # 5.1: states. idle
    ("DATA when idle", "5.1", [], idle(data()), connection("PROTOCOL_ERROR")),
    ("RST_STREAM when idle", "5.1", [], idle(reset), connection("PROTOCOL_ERROR")),
    ("WINDOW_UPDATE when idle", "5.1", [], idle(lambda number: window_update(number, 1)), connection("PROTOCOL_ERROR")),
    ("CONTINUATION when idle", "5.1", [], idle(continuation()), connection("PROTOCOL_ERROR")),
    ("PRIORITY when idle", "5.1", [], idle(priority), GOES_ON),
    # half-closed (remote): the response cannot end
    ("DATA when half-closed", "5.1", NO_WINDOW, at(data(), block=ASKED, flags=END_STREAM), stream("STREAM_CLOSED")),
    ("HEADERS when half-closed", "5.1", NO_WINDOW, at(headers(), block=ASKED, flags=END_STREAM), stream("STREAM_CLOSED")),
    ("CONTINUATION when half-closed", "5.1", NO_WINDOW, at(continuation(), block=ASKED, flags=END_STREAM),
     stream("STREAM_CLOSED") | connection("PROTOCOL_ERROR")),
    ("PRIORITY and WINDOW_UPDATE when half-closed", "5.1", NO_WINDOW,
     lambda conn: conn.raw(priority(conn.next)) or stream_window(1000)(conn), ANSWERED),
    # closed: by RST_STREAM, by both ends. Frames there may be ignored, or be an error of type STREAM_CLOSED
    ("DATA when reset", "5.1", [], at(reset, data()), stream("STREAM_CLOSED") | GOES_ON),
    ("HEADERS when reset", "5.1", [], at(reset, headers()), stream("STREAM_CLOSED") | GOES_ON),
    ("CONTINUATION when reset", "5.1", [], at(reset, continuation()), stream("STREAM_CLOSED") | connection("PROTOCOL_ERROR")),
    ("PRIORITY when reset", "5.1", [], at(reset, priority), GOES_ON),
    ("RST_STREAM when reset", "5.1", [], at(reset, reset), GOES_ON),
    ("DATA when closed", "5.1", [], behind(data()), connection("STREAM_CLOSED") | GOES_ON),
    ("HEADERS when closed", "5.1", [], behind(headers()), connection("STREAM_CLOSED") | connection("PROTOCOL_ERROR") | GOES_ON),
    ("CONTINUATION when closed", "5.1", [], behind(continuation()), connection("STREAM_CLOSED") | connection("PROTOCOL_ERROR")),
    ("PRIORITY when closed", "5.1", [], behind(priority), GOES_ON),
    ("WINDOW_UPDATE when closed", "5.1", [], behind(lambda number: window_update(number, 1)), GOES_ON),
    ("RST_STREAM when closed", "5.1", [], behind(reset), GOES_ON | connection("STREAM_CLOSED")),

    # 5.1.1, 5.1.2: numbers of streams, and how many
    ("an even number", "5.1.1", [], lambda conn: conn.raw(header_frames(2, ASKED)), connection("PROTOCOL_ERROR")),
    ("a number below former ones", "5.1.1", [], smaller_number, connection("PROTOCOL_ERROR") | connection("STREAM_CLOSED")),
    ("a number that leaves some out", "5.1.1", [], lambda conn: begun(conn, number=conn.next + 20), ANSWERED),
    ("too many streams", "5.1.2", [], too_many, stream("PROTOCOL_ERROR") | stream("REFUSED_STREAM")),

    # 5.3.1: priorities are not looked at any more, so that one may depend on itself
    ("HEADERS upon itself", "5.3.1", [], payload(PRIORITISED, b"\0\0\0\1\x0f"), ANSWERED | stream("PROTOCOL_ERROR")),
    ("PRIORITY upon itself", "5.3.1", [], at(lambda number: priority(number, number), data(flags=END_STREAM), complete=True),
     ANSWERED | stream("PROTOCOL_ERROR")),

    # 5.5: extensions
    ("an unknown type within a block", "5.5", [], cut_head(lambda number: frame(0x16, 0, number, b"x")), connection("PROTOCOL_ERROR")),
    ("an unknown type of stream 0 within a block", "5.5", [], cut_head(lambda number: UNKNOWN), connection("PROTOCOL_ERROR")),

    # 6.1: DATA
    ("DATA on stream 0", "6.1", [], raw(frame(DATA, END_STREAM, 0, b"abc")), connection("PROTOCOL_ERROR")),
    ("padding that fills the frame", "6.1", [], at(data(b"\3abc", PADDED | END_STREAM), complete=True), ANSWERED),
    ("padding longer than the frame", "6.1", [], at(data(b"\4abc", PADDED)), connection("PROTOCOL_ERROR")),
    ("padding without its length", "6.1", [], at(data(b"", PADDED)), connection("PROTOCOL_ERROR") | connection("FRAME_SIZE_ERROR")),
    ("padded DATA", "6.1", [], at(data(b"\3abc\0\0\0", PADDED), data(b"\0", PADDED | END_STREAM), complete=True), ANSWERED),

    # 6.2: HEADERS
    ("HEADERS on stream 0", "6.2", [], raw(header_frames(0, ASKED)), connection("PROTOCOL_ERROR")),
    ("padding longer than the block", "6.2", [], payload(PADDED, bytes([len(ASKED) + 1])), connection("PROTOCOL_ERROR")),
    ("padding without its length, HEADERS", "6.2", [], payload(PADDED, b"", b""), connection("PROTOCOL_ERROR") | connection("FRAME_SIZE_ERROR")),
    ("priority without its fields", "6.2", [], payload(PRIORITISED, b"\0\0", b""), connection("FRAME_SIZE_ERROR") | connection("PROTOCOL_ERROR")),
    ("padding and priority", "6.2", [], payload(PADDED | PRIORITISED, b"\4\0\0\0\0\x0f", after=b"\0\0\0\0"), ANSWERED),

    # 6.3: PRIORITY
    ("PRIORITY on stream 0", "6.3", [], raw(priority(0)), connection("PROTOCOL_ERROR")),
    ("PRIORITY of four octets", "6.3", [], at(lambda number: frame(PRIORITY, 0, number, bytes(4))), stream("FRAME_SIZE_ERROR")),
    ("PRIORITY of six octets", "6.3", [], at(lambda number: frame(PRIORITY, 0, number, bytes(6))), stream("FRAME_SIZE_ERROR")),

    # 6.4: RST_STREAM
    ("RST_STREAM on stream 0", "6.4", [], raw(reset(0)), connection("PROTOCOL_ERROR")),
    ("RST_STREAM of three octets", "6.4", [], at(lambda number: frame(RST_STREAM, 0, number, bytes(3))), connection("FRAME_SIZE_ERROR")),
    ("RST_STREAM of five octets", "6.4", [], at(lambda number: frame(RST_STREAM, 0, number, bytes(5))), connection("FRAME_SIZE_ERROR")),

    # 6.5: SETTINGS
    ("an acknowledgement with settings", "6.5", [], raw(frame(SETTINGS, ACK, 0, bytes(6))), connection("FRAME_SIZE_ERROR")),
    ("SETTINGS on a stream", "6.5", [], at(lambda number: frame(SETTINGS, 0, number)), connection("PROTOCOL_ERROR")),
    ("SETTINGS of five octets", "6.5", [], raw(frame(SETTINGS, 0, 0, bytes(5))), connection("FRAME_SIZE_ERROR")),
    ("SETTINGS of seven octets", "6.5", [], raw(frame(SETTINGS, 0, 0, bytes(7))), connection("FRAME_SIZE_ERROR")),
    ("ENABLE_PUSH of 2", "6.5.2", [], windows((ENABLE_PUSH, 2)), connection("PROTOCOL_ERROR")),
    ("INITIAL_WINDOW_SIZE beyond 31 bits", "6.5.2", [], windows((INITIAL_WINDOW_SIZE, MOST_WINDOW + 1)), connection("FLOW_CONTROL_ERROR")),
    ("MAX_FRAME_SIZE below 2^14", "6.5.2", [], windows((MAX_FRAME_SIZE, LARGEST - 1)), connection("PROTOCOL_ERROR")),
    ("MAX_FRAME_SIZE beyond 24 bits", "6.5.2", [], windows((MAX_FRAME_SIZE, 1 << 24)), connection("PROTOCOL_ERROR")),
    ("an unknown setting", "6.5.2", [], windows((0xff, 1), (0, 7), (0xffff, 0xffffffff)), GOES_ON),
    ("settings are acknowledged", "6.5.3", [], acknowledged, GOES_ON),
    ("settings count in their order", "6.5.3", NO_WINDOW, one_byte, ANSWERED),

    # 6.6: PUSH_PROMISE
    ("PUSH_PROMISE of a client", "6.6", [], at(lambda number: frame(PUSH_PROMISE, END_HEADERS, number, b"\0\0\0\2" + ASKED)),
     connection("PROTOCOL_ERROR")),

    # 6.7: PING
    ("PING is answered, and its answer is not", "6.7", [], pongs, GOES_ON),
    ("PING on a stream", "6.7", [], at(lambda number: frame(PING, 0, number, bytes(8))), connection("PROTOCOL_ERROR")),
    ("PING of seven octets", "6.7", [], raw(ping(bytes(7))), connection("FRAME_SIZE_ERROR")),
    ("PING of nine octets", "6.7", [], raw(ping(bytes(9))), connection("FRAME_SIZE_ERROR")),

    # 6.8: GOAWAY
    ("GOAWAY on a stream", "6.8", [], at(lambda number: frame(GOAWAY, 0, number, bytes(8))), connection("PROTOCOL_ERROR")),
    ("GOAWAY of seven octets", "6.8", [], raw(frame(GOAWAY, 0, 0, bytes(7))), connection("FRAME_SIZE_ERROR")),

    # 6.9: WINDOW_UPDATE
    ("a connection's window grows by nothing", "6.9", [], raw(window_update(0, 0)), connection("PROTOCOL_ERROR")),
    ("a stream's window grows by nothing", "6.9", [], at(lambda number: window_update(number, 0)), stream("PROTOCOL_ERROR")),
    ("WINDOW_UPDATE of three octets", "6.9", [], raw(frame(WINDOW_UPDATE, 0, 0, bytes(3))), connection("FRAME_SIZE_ERROR")),
    ("WINDOW_UPDATE of five octets", "6.9", [], raw(frame(WINDOW_UPDATE, 0, 0, bytes(5))), connection("FRAME_SIZE_ERROR")),
    ("a connection's window beyond 31 bits", "6.9.1", [], raw(window_update(0, MOST_WINDOW), window_update(0, MOST_WINDOW)),
     connection("FLOW_CONTROL_ERROR")),
    ("a stream's window beyond 31 bits", "6.9.1", NO_WINDOW,
     at(lambda number: window_update(number, MOST_WINDOW) + window_update(number, 1)), stream("FLOW_CONTROL_ERROR")),
    ("the largest window", "6.9.1", NO_WINDOW, stream_window(MOST_WINDOW), ANSWERED),
    # nghttp2 makes it an error of the stream
    ("settings that make a window too large", "6.9.2", NO_WINDOW,
     windows_of_all, stream("FLOW_CONTROL_ERROR")),

    # 6.10: CONTINUATION
    ("a block in three frames", "6.10", [], cut_head(continuation(flags=0), continuation(flags=0)), ANSWERED),
    ("CONTINUATION on stream 0", "6.10", [], cut_head(lambda number: frame(CONTINUATION, END_HEADERS, 0)), connection("PROTOCOL_ERROR")),
    ("CONTINUATION behind a whole block", "6.10", [], at(continuation()), connection("PROTOCOL_ERROR")),
    ("CONTINUATION behind an ended one", "6.10", [], cut_head(continuation(ASKED[4:])), connection("PROTOCOL_ERROR")),
    ("CONTINUATION behind DATA", "6.10", [], at(data(), continuation()), connection("PROTOCOL_ERROR")),

    # 7: codes
    ("an unknown code of a stream", "7", [], at(lambda number: frame(RST_STREAM, 0, number, b"\0\0\0\xff")), GOES_ON),

    # 8.1: messages
    ("a second header block without an end", "8.1", [], at(headers(literal("x-more", "1"), 0), data(flags=END_STREAM)), MALFORMED),
    ("a pseudo-header field in a trailer", "8.1", [], at(data(), headers(literal(":path", "/")), complete=True), MALFORMED),
    ("a status in a trailer", "8.1", [], at(data(), headers(literal(":status", "200")), complete=True), MALFORMED),
    ("a trailer", "8.1", [], at(data(), headers(literal("x-late", "1")), complete=True), ANSWERED),
    ("a trailer and no body", "8.1", [], at(headers(literal("x-late", "1")), complete=True), ANSWERED),
    ("an upper case name in a trailer", "8.1", [], at(data(), headers(literal("X-Late", "1")), complete=True), MALFORMED),
    ("more DATA than its length", "8.1.1", [], length_of(["3"], b"abcd"), MALFORMED),
    ("more DATA than its length, in two frames", "8.1.1", [], length_of(["3"], b"ab", b"cd"), MALFORMED),
    ("less DATA than its length", "8.1.1", [], length_of(["5"], b"abcd"), MALFORMED),
    ("less DATA than its length, in two frames", "8.1.1", [], length_of(["5"], b"ab", b"cd"), MALFORMED),
    ("a length and no DATA", "8.1.1", [], length_of(["5"]), MALFORMED),
    ("a length of nothing and DATA", "8.1.1", [], length_of(["0"], b"a"), MALFORMED),
    ("a length of nothing and DATA later", "8.1.1", [], length_of(["0"], b"a", later=True), MALFORMED),
    ("a length of nothing and an end later", "8.1.1", [], length_of(["0"], b"", later=True), ANSWERED),
    ("a length of nothing and a trailer later", "8.1.1", [],
     at(headers(literal("x-late", "1")), block=POSTED + literal("content-length", "0"), complete=True, later=True), ANSWERED),
    ("lengths that differ", "8.1.1", [], length_of(["3", "4"], b"abc"), MALFORMED),
    ("a length that is no number", "8.1.1", [], length_of(["3x"], b"abc"), MALFORMED),
    ("a signed length", "8.1.1", [], length_of(["+3"], b"abc"), MALFORMED),
    ("a length beyond 64 bits", "8.1.1", [], length_of(["18446744073709551619"], b"abc"), MALFORMED),
    ("a right length", "8.1.1", [], length_of(["4"], b"ab", b"", b"cd"), ANSWERED),

    # 8.2: fields
    *((f"a name of {name!r}", "8.2.1", [], with_fields((name, "1")), MALFORMED) for name in BAD_NAMES),
    *((f"a value of {value!r}", "8.2.1", [], with_fields(("x-own", value)), MALFORMED) for value in BAD_VALUES),
    *((f"{name}: {value}", "8.2.2", [], with_fields((name, value)), MALFORMED) for name, value in OF_CONNECTIONS),
    ("te: trailers", "8.2.2", [], with_fields(("te", "trailers")), ANSWERED),
    ("a value of bytes beyond ASCII", "8.2.1", [], with_fields(("x-own", b"caf\xc3\xa9 \xff")), ANSWERED),
    ("an empty value", "8.2.1", [], with_fields(("x-own", "")), ANSWERED),

    # 8.3: pseudo-header fields
    ("an unknown one", "8.3", [], pseudo(*ALL_FOUR, (":test", "1")), MALFORMED),
    ("one of responses", "8.3", [], pseudo(*ALL_FOUR, (":status", "200")), MALFORMED),
    ("one behind a field", "8.3", [], pseudo(METHOD, SCHEME, PATH, ("x-own", "1"), AUTHORITY), MALFORMED),
    ("an empty name", "8.3", [], pseudo(*ALL_FOUR, (":", "1")), MALFORMED),
    ("one in upper case", "8.3", [], pseudo((":Method", "GET"), SCHEME, PATH, AUTHORITY), MALFORMED),
    *((f"{name} twice", "8.3.1", [], pseudo(*ALL_FOUR, (name, value)), MALFORMED) for name, value in ALL_FOUR),
    *((f"no {name}", "8.3.1", [], without(name), MALFORMED) for name, _ in ALL_FOUR),
    *((f"{name} of {value!r}", "8.3.1", [], replaced(name, value), MALFORMED) for name, values in BAD_PSEUDO.items() for value in values),
    ("no fields at all", "8.3.1", [], asks(b""), MALFORMED),
    ("CONNECT with a scheme", "8.5", [], pseudo((":method", "CONNECT"), SCHEME, AUTHORITY), MALFORMED),
    ("CONNECT with a path", "8.5", [], pseudo((":method", "CONNECT"), PATH, AUTHORITY), MALFORMED),
    ("CONNECT without an authority", "8.5", [], pseudo((":method", "CONNECT")), MALFORMED),

    # RFC 7541
    ("an index beyond the tables", "7541 2.3.3", [], asks(ASKED + indexed(62)), connection("COMPRESSION_ERROR")),
    ("a name beyond the tables", "7541 2.3.3", [], asks(ASKED + integer(70, 4) + octets("1")), connection("COMPRESSION_ERROR")),
    ("a size behind a field", "7541 4.2", [], asks(ASKED + integer(0, 5, 0x20)), connection("COMPRESSION_ERROR")),
    ("two sizes at the beginning", "7541 4.2", [], asks(integer(0, 5, 0x20) + integer(4096, 5, 0x20) + ASKED), ANSWERED),
    ("an integer without end", "7541 5.1", [], asks(ASKED + b"\xff" + b"\x80" * 20 + b"\1"), connection("COMPRESSION_ERROR")),
    ("an integer beyond 32 bits", "7541 5.1", [], asks(ASKED + b"\xff\xff\xff\xff\xff\xff\x7f"), connection("COMPRESSION_ERROR")),
    ("a string beyond the block", "7541 5.2", [], asks(ASKED + b"\0\1x\x20abc"), connection("COMPRESSION_ERROR")),
    ("padding of eleven bits", "7541 5.2", [], asks(ASKED + b"\0\1x\x82\x1f\xff"), connection("COMPRESSION_ERROR")),
    ("padding of zeros", "7541 5.2", [], asks(ASKED + b"\0\1x\x81\x18"), connection("COMPRESSION_ERROR")),
    ("the end of a string as a character", "7541 5.2", [], asks(ASKED + b"\0\1x\x84\xff\xff\xff\xff"), connection("COMPRESSION_ERROR")),
    ("right padding", "7541 5.2", [], asks(ASKED + b"\0\1x\x81\x1f"), ANSWERED),
    ("index 0", "7541 6.1", [], asks(ASKED + b"\x80"), connection("COMPRESSION_ERROR")),
    ("a size beyond the limit", "7541 6.3", [], asks(integer(1 << 20, 5, 0x20) + ASKED), connection("COMPRESSION_ERROR")),
]


@pytest.fixture(scope="module")
def served(start_once, old_origin):
    old_origin.serve(lambda request: OK)
    return start_once(old_origin, "--h2c", "on")


@pytest.fixture
def connecting(served):
    from http2 import Http2
    made = []

    def connect(**kind):
        made.append(Http2(served.port, **kind))
        return made[-1]
    yield connect
    for each in made:
        each.close()


@pytest.mark.parametrize("options, sends, follows", [row[2:] for row in ROWS], ids=[f"{row[1]} {row[0]}" for row in ROWS])
def test_row(connecting, options, sends, follows):
    judge(connecting(options=options), sends, follows)


# ---- section 3.4: the preface. By TLS, where a client has said that it speaks HTTP/2; without, other bytes are HTTP/1.1 ----

PREFACES = {
    "other bytes": b"INVALID CONNECTION PREFACE\r\n\r\n",
    "a request of HTTP/1.1": b"GET / HTTP/1.1\r\nHost: feeds.test\r\n\r\n",
    "wrong at its end": PREFACE[:-4] + b"X\r\n\r\n",
    "nothing": settings(),
    "PING in the place of SETTINGS": PREFACE + ping(),
    "HEADERS in the place of SETTINGS": PREFACE + header_frames(1, ASKED),
    "an acknowledgement in the place of SETTINGS": PREFACE + frame(SETTINGS, ACK),
    "a frame of another size": PREFACE + frame(SETTINGS, 0, 0, bytes(5)),
}


@pytest.mark.parametrize("case", PREFACES)
def test_preface(speaking, origin, case):
    conn = speaking("h2", origin).http2(begin=False)
    conn.raw(PREFACES[case])
    assert conn.aftermath() in (None, "PROTOCOL_ERROR", "FRAME_SIZE_ERROR") and not origin.asked()
    assert not conn.streams


@pytest.mark.parametrize("case", PREFACES)
def test_preface_without_tls(speaking, origin, case):
    """What does not begin as the preface does is HTTP/1.1."""
    proxy = speaking("h2c", origin)
    conn = proxy.http2(begin=False)
    conn.raw(PREFACES[case])
    if PREFACES[case].startswith(PREFACE):
        assert conn.aftermath() in (None, "PROTOCOL_ERROR", "FRAME_SIZE_ERROR") and not origin.asked()
        return
    if case == "a request of HTTP/1.1":
        origin.receive().answer(OK)
    else:
        conn.half_close()
    assert read_response(conn.stream).status in ((200,) if case == "a request of HTTP/1.1" else (400, 501, 505))


def test_data_beyond_a_window(speaking, origin):
    """Section 6.9.1. The origin reads nothing, so that its stream's window is not given back for ever."""
    conn = speaking("h2c", origin).http2()
    asked = begun(conn, POSTED, 0, method="POST")
    for _ in range(4096):
        conn.raw(frame(DATA, 0, asked.number, bytes(LARGEST)))
        while conn.heard(0) and conn.turn():
            pass
        if said(conn, asked):
            break
    assert outcome(conn, asked) in stream("FLOW_CONTROL_ERROR")
