"""What an origin may make utfeed do by HTTP/2: each flood ends its connection and costs no memory, whether a stream is open there or not; what is
forbidden is an error, never an answer. Beside each, another origin's feed comes as before."""
import itertools
import threading

import pytest

pytest.importorskip("hpack", reason="no python3-hpack here")

from feeds import SMALL_OUT
from http2_frames import (ACK, AGAIN, BOMBS, CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS,
                          MAX_FRAME_SIZE, MOST_WINDOW, PADDED, PING, PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE, frame, goaway,
                          header_frames, indexed, indexing, literal, ping, priority, reset, settings, window_update)
from peers import Background
from test_http2_limits import GROWTH, PACE
from test_http2_origin import FEED, OK, failed, held

CALM = "ENHANCE_YOUR_CALM"
ROUNDS = 400                    # of some thousand frames each; a flood that is let pass ends here, and the test fails
EARLY = literal(":status", "103") + literal("link", "</style.css>; rel=preload")


@pytest.fixture
def bad(scripted):
    return scripted()


@pytest.fixture
def proxy(asking, scripted, bad):
    """/bad/ leads to the one, /good/ to the other."""
    good = scripted()
    good["*"] = bad["/fine"] = FEED
    proxy = asking(None, "--route", f"/bad/={bad.url}/", "--route", f"/good/={good.url}/")
    for path in ("/good/f", "/bad/fine"):
        assert proxy.get(path).body == SMALL_OUT
    return proxy


class Good:
    """Asks the good origin for one thing after another, until it is told to stop."""

    def __init__(self, proxy):
        self.proxy, self.served, self.over = proxy, 0, threading.Event()
        self.running = Background(self.run)

    def run(self):
        client = self.proxy.client()
        while not self.over.wait(PACE) or self.served < 10:
            assert client.get("/good/f").body == SMALL_OUT
            self.served += 1

    def goes_on(self):
        self.over.set()
        self.running.join()


# ---- floods ----

def over_and_over(data, times=2000):
    return lambda number: itertools.repeat(data * times, ROUNDS)


def on_a_stream(make, *before, times=2000):
    """The same frame over and over, on the stream that asks, behind these."""
    return lambda number: itertools.chain((each(number) for each in before), itertools.repeat(make(number) * times, ROUNDS))


def within_a_block(*parts):
    """A header block that never ends."""
    return lambda number: itertools.chain([frame(HEADERS, 0, number, OK)],
                                          itertools.repeat(b"".join(frame(CONTINUATION, 0, number, part) for part in parts), ROUNDS * 10))


def head(number):
    return header_frames(number, OK, 0)


ANYWHERE = {
    "SETTINGS": over_and_over(settings((INITIAL_WINDOW_SIZE, 65535))),
    "SETTINGS of nothing": over_and_over(settings()),
    "SETTINGS that change windows": over_and_over(settings((INITIAL_WINDOW_SIZE, 1)) + settings((INITIAL_WINDOW_SIZE, 2))),
    "SETTINGS that change the streams": over_and_over(settings((MAX_CONCURRENT_STREAMS, 1)) + settings((MAX_CONCURRENT_STREAMS, 100))),
    "PING": over_and_over(ping()),
    "answers to no PING": over_and_over(ping(flags=ACK)),
    "PRIORITY": over_and_over(priority(1)),
    "windows of the connection": over_and_over(window_update(0, 1)),
    "unknown frames": over_and_over(frame(0x16, 0, 0)),
    "alternative services": over_and_over(frame(0x0a, 0, 0, b"\0\x0bhttps://a.b" + b'h2=":443"')),
    "GOAWAY": over_and_over(goaway(1)),
}
ON_A_STREAM = {
    "CONTINUATION of nothing": within_a_block(*[b""] * 1000),
    "CONTINUATION of a little": within_a_block(*[b"\x90"] * 100),
    "CONTINUATION of much": within_a_block(literal("x-much", "a" * 16000)),
    "interim responses": on_a_stream(lambda number: header_frames(number, EARLY, 0)),
    "empty DATA": on_a_stream(lambda number: frame(DATA, 0, number), head),
    "DATA of padding": on_a_stream(lambda number: frame(DATA, PADDED, number, b"\0"), head),
    "DATA before a head": on_a_stream(lambda number: frame(DATA, 0, number)),
    "windows of the stream": on_a_stream(lambda number: window_update(number, 1)),
    "unknown frames of the stream": on_a_stream(lambda number: frame(0x16, 0, number, b"x")),
    "DATA of a stream that is over": on_a_stream(lambda number: frame(DATA, 0, number), lambda number: header_frames(number, OK)),
    "resets of a stream that is over": on_a_stream(reset, lambda number: header_frames(number, OK)),
}


@pytest.mark.parametrize("case", [*ANYWHERE, *ON_A_STREAM])
def test_a_flood(proxy, bad, case):
    """Its connection ends; the request that waits there fails or was answered before; who asks again is served."""
    flood = {**ANYWHERE, **ON_A_STREAM}[case]
    bad["/f"] = lambda asked: pour(asked.conn, flood(asked.number))
    good = Good(proxy)
    before = proxy.status("VmRSS")
    client = proxy.client().ask("/bad/f")
    conn = bad.receive("/f").conn
    bad.until(lambda: conn.ended or conn.poured)
    assert conn.ended, "all of it was taken"
    if case not in ("DATA of a stream that is over", "resets of a stream that is over"):
        failed(client)
    good.goes_on()
    proxy.assert_growth(before, GROWTH)
    assert set(conn.h2.goaways) <= {CALM, "PROTOCOL_ERROR", "STREAM_CLOSED", "NO_ERROR"}
    assert CALM not in conn.h2.goaways or proxy.counters()["h2_origin_floods"]
    assert proxy.get("/bad/fine").body == SMALL_OUT


def pour(conn, flood):
    conn.flood = flood
    conn.write()


@pytest.mark.parametrize("case", [name for name in ANYWHERE if name != "GOAWAY"])
def test_a_flood_on_an_idle_session(proxy, bad, case):
    good, conn = Good(proxy), bad.conns[0]
    before = proxy.status("VmRSS")
    bad.do(pour, conn, ANYWHERE[case](1))
    bad.until(lambda: conn.ended or conn.poured)
    assert conn.ended, "all of it was taken"
    good.goes_on()
    proxy.assert_growth(before, GROWTH)
    assert proxy.counted("h2_origin_floods", 1) == 1
    assert proxy.get("/bad/fine").body == SMALL_OUT and bad.connections() == 2


def test_a_flood_before_any_request_is_answered(proxy, bad):
    """From the preface on; each connection of that origin is like that."""
    bad.opening = lambda h2: pour(h2.conn, itertools.repeat(ping() * 2000, ROUNDS))
    bad.do(bad.conns[0].close)
    bad.until(lambda: bad.conns[0].ended)
    good = Good(proxy)
    assert proxy.get("/bad/f").status == 502 and bad.connections() <= 6
    good.goes_on()


# ---- as much as an honest origin may send ----

MODEST = {
    "PING": ping() * 50,
    "SETTINGS": settings((INITIAL_WINDOW_SIZE, 70000)) * 20,
    "WINDOW_UPDATE": window_update(0, 1) * 5000,
    "interim responses": lambda number: header_frames(number, EARLY, 0) * 10,
    "empty DATA": lambda number: head(number) + frame(DATA, 0, number) * 100,
    "padded DATA": lambda number: head(number) + frame(DATA, PADDED, number, b"\x08a" + bytes(8)) * 100,
    "DATA of a byte": lambda number: head(number) + frame(DATA, 0, number, b"x") * 20_000,
    "windows of the stream": lambda number: window_update(number, 1) * 1000,
    "unknown frames": frame(0x16, 0, 0) * 100,
}


@pytest.mark.parametrize("case", MODEST)
def test_what_is_no_flood(proxy, bad, case):
    def reply(asked):
        said = MODEST[case](asked.number) if callable(MODEST[case]) else MODEST[case]
        asked.conn.raw(said + (b"" if b"DATA" in case.encode() else head(asked.number)) + frame(DATA, END_STREAM, asked.number, b"end"))
    bad["/f"] = reply
    assert proxy.get("/bad/f").body.endswith(b"end")
    assert proxy.get("/bad/fine").body == SMALL_OUT and bad.connections() == 1 and not bad.conns[0].h2.goaways


# ---- header lists that are larger than they look ----

@pytest.mark.parametrize("where", ["head", "trailers", "interim"])
@pytest.mark.parametrize("case", BOMBS)
def test_a_bomb(proxy, bad, case, where):
    def reply(asked):
        number = asked.number
        asked.conn.raw({"head": header_frames(number, OK + BOMBS[case]),
                        "trailers": head(number) + frame(DATA, 0, number, b"abc") + header_frames(number, BOMBS[case]),
                        "interim": header_frames(number, literal(":status", "103") + BOMBS[case], 0)}[where])
    bad["/f"] = reply
    good = Good(proxy)
    before = proxy.status("VmRSS")
    failed(proxy.client().ask("/bad/f"))
    good.goes_on()
    proxy.assert_growth(before, GROWTH)
    assert proxy.get("/bad/fine").body == SMALL_OUT


def test_bombs_on_every_stream(proxy, bad):
    """Each a little beyond max-header-bytes; what was decoded is not kept."""
    big = indexing("x-bomb", "a" * 4000)
    bad["*"] = lambda asked: asked.conn.raw(header_frames(asked.number, OK + (big if asked.target == "/0" else b"") + AGAIN * 20))
    good = Good(proxy)
    proxy.get("/bad/0")
    before = proxy.status("VmRSS")
    for number in range(50):
        assert proxy.get(f"/bad/{number + 1}").status == 502
    good.goes_on()
    proxy.assert_growth(before, GROWTH)


# ---- what is forbidden ----

FORBIDDEN = {
    "PUSH_PROMISE": lambda number: frame(PUSH_PROMISE, END_HEADERS, number, b"\0\0\0\2" + OK),
    "a stream of the origin's own": lambda number: header_frames(2, OK),
    "a stream that was not asked for": lambda number: header_frames(number + 100, OK),
    "DATA of stream 0": lambda number: frame(DATA, 0, 0, b"abc"),
    "DATA of a stream that was not begun": lambda number: frame(DATA, 0, number + 100, b"abc"),
    "a reset of stream 0": lambda number: reset(0),
    "a reset of a stream that was not begun": lambda number: reset(number + 100),
    "SETTINGS of a stream": lambda number: frame(SETTINGS, 0, number),
    "half a setting": lambda number: frame(SETTINGS, 0, 0, b"abc"),
    "SETTINGS with ACK and a payload": lambda number: frame(SETTINGS, ACK, 0, b"abcdef"),
    "ENABLE_PUSH of a server": lambda number: settings((2, 1)),
    "a window beyond 31 bits": lambda number: settings((INITIAL_WINDOW_SIZE, 1 << 31)),
    "frames smaller than may be": lambda number: settings((MAX_FRAME_SIZE, 100)),
    "PING of a byte": lambda number: frame(PING, 0, 0, b"x"),
    "a window of nothing for the connection": lambda number: window_update(0, 0),
    "windows beyond 31 bits": lambda number: window_update(0, MOST_WINDOW),
    "half a WINDOW_UPDATE": lambda number: frame(WINDOW_UPDATE, 0, 0, b"x"),
    "half a RST_STREAM": lambda number: frame(RST_STREAM, 0, number, b"x"),
    "a frame that is too long": lambda number: frame(DATA, 0, number, b"", length=16385),
    "padding beyond the frame": lambda number: frame(DATA, PADDED, number, b"\xffabc"),
    "CONTINUATION of nothing before": lambda number: frame(CONTINUATION, END_HEADERS, number, OK),
    "another frame within a header block": lambda number: frame(HEADERS, 0, number, OK) + ping(),
    "an index that is not there": lambda number: header_frames(number, OK + indexed(100)),
    "a header table beyond the limit": lambda number: header_frames(number, b"\x3f\xff\xff\x7f" + OK),
    "Huffman's code that is none": lambda number: header_frames(number, OK + b"\x00\x81\xff\x81\xff"),
    "no HTTP/2": lambda number: b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" * 10,
}


@pytest.mark.parametrize("case", FORBIDDEN)
def test_what_is_forbidden(proxy, bad, case):
    """A connection error (RFC 9113 section 5.4.1): those that wait there fail or are asked for once more, and who comes next has a new
    connection."""
    bad["/other"] = [held, FEED]
    bad["/f"] = [lambda asked: asked.conn.raw(FORBIDDEN[case](asked.number)), lambda asked: asked.reset("INTERNAL_ERROR")]
    other = proxy.client().ask("/bad/other")
    bad.receive("/other")
    client = proxy.client().ask("/bad/f")
    bad.until(lambda: bad.conns[0].ended)
    failed(client)
    got = other.response()
    assert got.status == 502 and bad.count("/other") == 1 or got.body == SMALL_OUT and bad.count("/other") == 2
    assert bad.conns[0].h2.goaways not in ([], ["NO_ERROR"])
    assert bad.count("/f") <= 2 and proxy.get("/bad/fine").body == SMALL_OUT


GREETINGS = {
    "nothing": b"",
    "no SETTINGS first": ping(),
    "an ACK first": settings()[:4] + b"\1" + settings()[5:],
    "HTTP/1.1": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "noise": bytes(range(256)),
}


@pytest.mark.parametrize("case", GREETINGS)
def test_a_connection_that_begins_badly(asking, scripted, case):
    """A clear error within the timeouts; no other request is sent there."""
    origin = scripted()
    origin.settings, origin.opening = None, lambda h2: (h2.conn.raw(GREETINGS[case]), h2.conn.close() if case == "HTTP/1.1" else None)
    origin["*"] = held
    got = asking(origin, "--first-byte-timeout", "500ms").get("/f")
    assert got.status in (502, 504) and "error=" in got["Proxy-Status"]


def test_more_than_a_window(proxy, bad):
    """FLOW_CONTROL_ERROR, on the stream or on the connection (section 6.9.1)."""
    def reply(asked):
        asked.conn.raw(head(asked.number) + frame(DATA, 0, asked.number, b"x" * 16384) * 2000)
    bad["/f"] = reply
    before = proxy.status("VmRSS")
    client = proxy.client(receive_buffer=4096).ask("/bad/f")
    asked = bad.receive("/f")
    bad.until(lambda: asked.code or asked.conn.ended)
    failed(client)
    proxy.assert_growth(before, GROWTH)
    assert proxy.get("/bad/fine").body == SMALL_OUT


SLOW = {
    "byte by byte": (lambda number: header_frames(number, OK + literal("x", "1") * 10, 0), 1),
    # nghttp2 1.52 alone takes nine reads within a block for nine frames, which are too many
    "a block, byte by byte": (lambda number: header_frames(number, OK + literal("x-own", "a" * 500), 0, size=100), 1),
    "a block, frame by frame": (lambda number: header_frames(number, OK + literal("x-own", "a" * 500), 0, size=100), 109),
}


@pytest.mark.parametrize("case", SLOW)
def test_what_comes_in_pieces(proxy, bad, case):
    block, size = SLOW[case]

    def reply(asked):
        data = block(asked.number) + frame(DATA, END_STREAM, asked.number, b"body")
        pour(asked.conn, (data[at:at + size] for at in range(0, len(data), size)))
    bad["/f"] = reply
    assert proxy.get("/bad/f").body == b"body" and bad.connections() == 1
