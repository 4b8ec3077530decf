"""What a client of HTTP/2 may make utfeed do: each flood ends by GOAWAY with ENHANCE_YOUR_CALM, is counted and told, and costs no
memory; what never ends is ended. Beside each, a good client is served as before."""
import contextlib
import itertools
import threading

import pytest

pytest.importorskip("hpack", reason="no python3-hpack here")

from feeds import SMALL, SMALL_OUT, big
from http2_frames import (AGAIN, BIG, BOMBS, CONTINUATION, DATA, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, MOST_WINDOW, PADDED, PREFACE,
                          frame, header_frames, literal, ping, priority, reset, settings, window_update)
from peers import Background
from test_http2_spec import ASKED, POSTED
from wire import Cut, Malformed, message

XML = "Content-Type: application/xml"
FEED = message("200 OK", XML, body=SMALL)
CALM = "ENHANCE_YOUR_CALM"
ROUNDS = 400                    # of some thousand frames each; a flood that is let pass ends here, and the test fails
GROWTH = 16 << 10               # KiB
PACE = 0.005                    # seconds between what the good client asks for: it leaves the processor to the flood


@pytest.fixture
def serving(speaking, origin):
    """serving(option...): a utfeed by h2c, whose origin answers everything."""
    def run(*options):
        origin.serve(lambda request: FEED)
        return speaking("h2c", origin, *options)
    return run


class Good:
    """A client that asks for one thing after another on a connection of its own, until it is told to stop."""

    def __init__(self, proxy):
        self.conn, self.served, self.over = proxy.http2(), 0, threading.Event()
        assert self.conn.get("/good").body == SMALL_OUT
        self.running = Background(self.run)

    def run(self):
        while not self.over.wait(PACE) or self.served < 10:
            assert self.conn.get("/good").body == SMALL_OUT
            self.served += 1

    def goes_on(self):
        self.over.set()
        self.running.join()
        assert not self.conn.goaways and self.served >= 10


# ---- floods ----

def numbers(conn, most=1000):
    """Streams of this connection, so many at a time."""
    return (range(first, first + 2 * most, 2) for first in itertools.count(conn.next, 2 * most))


def streams(make):
    """Frames for one stream after the other, by number."""
    return lambda conn: (b"".join(make(number) for number in piece) for piece in itertools.islice(numbers(conn), ROUNDS))


def over_and_over(data, times=4000):
    return lambda conn: itertools.repeat(data * times, ROUNDS)


def on_a_stream(make, times=4000, block=POSTED, flags=0):
    """The same frame over and over, on a stream that the flood begins."""
    def pieces(conn):
        made = conn.begin("POST")
        yield header_frames(made.number, block, flags)
        yield from itertools.repeat(make(made.number) * times, ROUNDS)
    return pieces


def within_a_block(*parts, before=ASKED):
    """A header block that never ends."""
    def pieces(conn):
        made = conn.begin()
        yield frame(HEADERS, END_STREAM, made.number, before)
        yield from itertools.repeat(b"".join(frame(CONTINUATION, 0, made.number, part) for part in parts), ROUNDS * 100)
    return pieces


def malformed(number):
    return header_frames(number, ASKED + literal("connection", "close"))


FLOODS = {
    # CVE-2023-44487: work is begun and given up
    "streams that are reset": (streams(lambda number: header_frames(number, ASKED) + reset(number)), "streams reset"),
    "uploads that are reset": (streams(lambda number: header_frames(number, POSTED, 0) + frame(DATA, 0, number, b"abc") + reset(number)),
                               "streams reset"),
    "streams that are reset by an unknown code": (streams(lambda number: header_frames(number, ASKED) + frame(3, 0, number, b"\0\0\xff\xff")),
                                                  "streams reset"),
    # CVE-2024-27316
    "CONTINUATION of nothing": (within_a_block(*[b""] * 1000), None),
    "CONTINUATION of a little": (within_a_block(*[b"\x90"] * 100), None),
    "CONTINUATION of much": (within_a_block(literal("x-much", "a" * 16000)), None),
    # CVE-2019-9511 to -9518
    "SETTINGS": (over_and_over(settings((INITIAL_WINDOW_SIZE, 65535))), "SETTINGS"),
    "SETTINGS of nothing": (over_and_over(settings()), "SETTINGS"),
    "SETTINGS that change windows": (on_a_stream(lambda number: settings((INITIAL_WINDOW_SIZE, 1)) + settings((INITIAL_WINDOW_SIZE, 2))),
                                     "SETTINGS"),
    "PING": (over_and_over(ping()), "PING"),
    "answers to no PING": (over_and_over(ping(flags=1)), "PING"),
    "PRIORITY": (over_and_over(priority(1)), "PRIORITY"),
    "PRIORITY of streams that are not": (streams(priority), "PRIORITY"),
    "empty DATA": (on_a_stream(lambda number: frame(DATA, 0, number)), "empty"),
    "DATA of a byte": (on_a_stream(lambda number: frame(DATA, 0, number, b"x")), None),
    "DATA of padding": (on_a_stream(lambda number: frame(DATA, PADDED, number, b"\0")), "empty"),
    "windows of a connection": (over_and_over(window_update(0, 1)), "WINDOW_UPDATE"),
    "windows of a stream": (on_a_stream(lambda number: window_update(number, 1)), "WINDOW_UPDATE"),
    "unknown frames": (over_and_over(frame(0x16, 0, 0)), "unknown"),
    "unknown frames of a stream": (on_a_stream(lambda number: frame(0x16, 0, number, b"x")), "unknown"),
}


@pytest.mark.parametrize("reading", [True, False], ids=["read", "unread"])
@pytest.mark.parametrize("case", FLOODS)
def test_a_flood(serving, case, reading):
    """Also from a client that reads nothing of what it is told before it has sent everything."""
    pieces, word = FLOODS[case]
    proxy = serving()
    conn, good = proxy.http2(), Good(proxy)
    conn.round_trip()
    before = proxy.status("VmRSS")
    assert conn.flood(pieces(conn), reading) or not reading, "all of it was taken"
    assert conn.aftermath() == CALM
    good.goes_on()
    proxy.assert_growth(before, GROWTH)
    assert proxy.counted("h2_refused_floods", 1) == 1
    proxy.says("http2: 127.0.0.1:")
    assert not word or word in proxy.err.text()


# CVE-2025-8671: the server is made to reset streams
MADE = {
    "windows beyond 31 bits": lambda number: header_frames(number, POSTED, 0) + window_update(number, MOST_WINDOW),
    "malformed requests": malformed,
    "more than its length": lambda number: header_frames(number, POSTED + literal("content-length", "1"), 0) + frame(DATA, 0, number, b"ab"),
    "malformed trailers": lambda number: header_frames(number, POSTED, 0) + header_frames(number, literal(":path", "/")),
}


@pytest.mark.parametrize("case", MADE)
def test_nothing_is_begun_for_what_is_reset_at_once(speaking, origin, case):
    """What comes in one piece with what ends it takes no place, and no origin is asked."""
    proxy = speaking("h2c", origin)
    conn = proxy.http2()
    conn.round_trip()
    made = [conn.begin() for _ in range(90)]
    conn.raw(b"".join(MADE[case](each.number) for each in made))
    conn.until(lambda: all(each.ended for each in made))
    assert {each.code for each in made} <= {"PROTOCOL_ERROR", "FLOW_CONTROL_ERROR"} and not conn.goaways
    assert proxy.counters()["h2_streams"] == 0 and not origin.asked()


@pytest.mark.parametrize("case", MADE)
def test_resets_that_are_made(serving, case):
    """As many at once as streams may be; each round waits for the last one's resets."""
    proxy = serving()
    conn, good = proxy.http2(), Good(proxy)
    conn.round_trip()
    before = proxy.status("VmRSS")
    for _ in range(ROUNDS):
        made = [conn.begin() for _ in range(90)]
        conn.raw(b"".join(MADE[case](each.number) for each in made))
        with contextlib.suppress(Cut):
            conn.until(lambda made=made: all(each.ended for each in made))
        if conn.goaways:
            break
    assert conn.aftermath() == CALM
    good.goes_on()
    proxy.assert_growth(before, GROWTH)
    assert proxy.counted("h2_refused_floods", 1) == 1
    assert "made utfeed reset" in proxy.err.text()
    assert proxy.counters()["requests_bad"] <= 600, "the log would be as long as the flood"


MODEST = {
    "streams that are reset": lambda conn: [header_frames(number, ASKED) + reset(number) for number in range(conn.next, conn.next + 200, 2)],
    "PING": lambda conn: [ping()] * 50,
    "SETTINGS": lambda conn: [settings()] * 20,
    "PRIORITY": lambda conn: [priority(number) for number in range(101, 501, 2)],
    "WINDOW_UPDATE": lambda conn: [window_update(0, 1)] * 5000,
    "empty DATA": lambda conn: [header_frames(conn.next, POSTED, 0), *[frame(DATA, 0, conn.next)] * 100, frame(DATA, END_STREAM, conn.next)],
}


@pytest.mark.parametrize("case", MODEST)
def test_what_is_no_flood(serving, case):
    """As much as a browser may send at once."""
    proxy = serving()
    conn = proxy.http2()
    conn.round_trip()
    pieces = MODEST[case](conn)
    for _ in range(100):
        conn.begin()
    conn.raw(b"".join(pieces))
    assert conn.get("/feed").body == SMALL_OUT and not conn.goaways
    counters = proxy.counters()
    assert not counters["h2_refused_floods"]
    assert bool(counters["h2_resets"]) == (case == "streams that are reset")


@pytest.mark.parametrize("option", ["--client-connections", "--max-connections"])
def test_streams_are_bounded_as_connections_are(speaking, origin, option):
    """Those beyond get REFUSED_STREAM: nothing was done, and they may be asked for again (RFC 9113 section 8.7)."""
    proxy = speaking("h2c", origin, option, "5", "--workers", "1")
    conn = proxy.http2()
    asked = [conn.ask(f"/{number}") for number in range(8)]
    for exchange in asked[5:]:
        exchange.until(lambda each=exchange: each.ended)
        assert exchange.code == "REFUSED_STREAM"
    assert proxy.counted("clients_crowded", 3) in (3, 4)
    for upstream in [origin.receive() for _ in range(4)]:
        upstream.answer(FEED)
    assert all(exchange.response().body == SMALL_OUT for exchange in asked[:4])
    again = conn.ask("/again")
    origin.receive().answer(FEED) if option == "--client-connections" else [origin.receive().answer(FEED) for _ in range(2)]
    assert again.response().body == SMALL_OUT and not conn.goaways


def test_answers_before_the_body(serving):
    """RST_STREAM with NO_ERROR says that the rest is not needed (RFC 9113 section 8.1): nobody made utfeed send it."""
    conn = serving().http2()
    for _ in range(10):
        asked = [conn.ask("/feed", "Content-Length: 5", end=False) for _ in range(50)]
        assert all(each.response().status == 413 for each in asked)
    conn.round_trip()
    assert not conn.goaways


# ---- header lists that are larger than they look ----

@pytest.mark.parametrize("where", ["head", "trailer"])
@pytest.mark.parametrize("case", BOMBS)
def test_a_bomb(serving, case, where):
    """CVE-2026-49975: fields count after they are decoded, whether they are stored or not."""
    proxy = serving()
    conn, good = proxy.http2(), Good(proxy)
    conn.round_trip()
    before = proxy.status("VmRSS")
    made = conn.begin()
    if where == "head":
        conn.raw(header_frames(made.number, ASKED + BOMBS[case]))
    else:
        conn.raw(header_frames(made.number, POSTED, 0) + frame(DATA, 0, made.number, b"abc") + header_frames(made.number, BOMBS[case]))
    assert conn.aftermath() == CALM
    good.goes_on()
    proxy.assert_growth(before, GROWTH)
    assert proxy.counted("h2_refused_floods", 1) == 1


def test_bombs_on_every_stream(serving):
    """Each a little beyond max-header-bytes, which is its own stream's fault; what was decoded is not kept."""
    proxy = serving()
    conn, good = proxy.http2(), Good(proxy)
    conn.raw(header_frames(conn.begin().number, ASKED + BIG))
    before = proxy.status("VmRSS")
    for _ in range(50):
        made = conn.begin()
        conn.raw(header_frames(made.number, ASKED + AGAIN * 20))
        assert made.response().status == 431
    assert not conn.goaways
    good.goes_on()
    proxy.assert_growth(before, GROWTH)


LISTS = {
    "as many fields as may be": (b"".join(literal(f"x-{n}", "1") for n in range(95)), (), 200),
    "more fields than may be": (b"".join(literal(f"x-{n}", "1") for n in range(105)), (), 431),
    "more by references": (b"\x90" * 105, (), 431),
    "more by crumbs": (literal("cookie", "a=b") * 105, (), 431),
    "more bytes than may be": (literal("x-own", "a" * 8000) * 5, (), 431),
    "more bytes by references": (BIG + AGAIN * 9, (), 431),
    "a lower limit of bytes": (literal("x-own", "a" * 20_000), ("--max-header-bytes", "2k"), 431),
    "a lower limit of fields": (b"".join(literal(f"x-{n}", "1") for n in range(20)), ("--max-header-fields", "10"), 431),
    "a higher limit of bytes": (literal("x-own", "a" * 8000) * 5, ("--max-header-bytes", "64k"), 200),
    "a higher limit of fields": (b"".join(literal(f"x-{n}", "1") for n in range(150)), ("--max-header-fields", "200"), 200),
}


@pytest.mark.parametrize("case", LISTS)
def test_a_header_list(serving, case):
    """The limits of a head are those of HTTP/1.1."""
    block, options, status = LISTS[case]
    conn = serving(*options).http2()
    made = conn.begin()
    conn.raw(header_frames(made.number, ASKED + block))
    assert made.response().status == status
    assert conn.get("/feed").body == SMALL_OUT and not conn.goaways


# ---- what takes nothing, or never ends ----

def test_a_stream_whose_window_is_nothing(speaking, origin):
    """It ends after write-timeout; the others of its connection do not."""
    proxy = speaking("h2c", origin, "--write-timeout", "300ms")
    conn = proxy.http2(options=[(INITIAL_WINDOW_SIZE, 0)])
    waiting, slow = conn.ask("/waiting"), conn.ask("/slow")
    first, second = origin.receive(), origin.receive()
    if first.request.target == "/slow":
        first, second = second, first
    second.answer(FEED)
    slow.until(lambda: slow.ended)
    assert slow.ended == "CANCEL" and not slow.count and not waiting.ended
    assert proxy.counted("h2_stalled", 1) == 1
    counters = proxy.counters()
    assert (counters["h2_connections"], counters["h2_streams"]) == (1, 2)
    waiting.renew(1000)
    first.answer(FEED)
    assert waiting.response().body == SMALL_OUT and not conn.goaways
    assert b"end=dropped" in proxy.access_lines(1)[0]


def test_a_stream_that_stops_taking(speaking, origin):
    """Its origin's fetch ends with it."""
    proxy = speaking("h2c", origin, "--write-timeout", "300ms")
    conn, good = proxy.http2(), proxy.http2()
    asked = conn.ask("/feed")
    asked.takes = False
    upstream = origin.receive()
    upstream.send(message("200 OK", XML, "Content-Length: 300000000", body=big(size=200_000)[0]))
    assert upstream.gone()
    asked.until(lambda: asked.ended)
    assert asked.ended == "CANCEL"
    for each in (good, conn):
        other = each.ask("/other")
        origin.receive().answer(FEED)
        assert other.response().body == SMALL_OUT


def test_a_connection_whose_window_is_full(speaking, origin):
    """All its streams end; none looks complete, nor is one held for ever."""
    data, _ = big(size=200_000)
    proxy = speaking("h2c", origin, "--write-timeout", "300ms")
    conn = proxy.http2(takes=False, options=[(INITIAL_WINDOW_SIZE, 1 << 20)])
    origin.serve(lambda request: FEED if request.target == "/good" else message("200 OK", XML, body=data))
    good = Good(proxy)
    asked = [conn.ask("/feed") for _ in range(5)]
    try:
        conn.until(lambda: all(exchange.ended for exchange in asked))
    except Cut:
        assert conn.goaways
    assert not [exchange for exchange in asked if exchange.ended == "end"]
    good.goes_on()


def test_a_client_that_reads_nothing(speaking, origin):
    """Its socket is full; windows say that everything may come. It ends after write-timeout, and costs what sockets hold."""
    data, _ = big(size=1 << 20)
    proxy = speaking("h2c", origin, "--write-timeout", "300ms", "--cache", "on")
    origin.serve(lambda request: FEED if request.target == "/good" else message("200 OK", XML, "Cache-Control: max-age=600", body=data))
    conn, good = proxy.http2(receive_buffer=4096, options=[(INITIAL_WINDOW_SIZE, MOST_WINDOW)]), Good(proxy)
    before = proxy.status("VmRSS")
    conn.raw(window_update(0, 1 << 30))
    asked = [conn.ask("/feed") for _ in range(90)]
    good.goes_on()
    proxy.access_lines(1 + good.served + 1)
    with contextlib.suppress(Cut, Malformed):            # it may end inside a frame
        conn.until(lambda: all(exchange.ended for exchange in asked))
    assert [exchange for exchange in asked if exchange.ended != "end"]
    proxy.assert_growth(before, GROWTH)


@pytest.mark.parametrize("sent", [b"", PREFACE[:10], PREFACE, PREFACE + settings(), PREFACE + settings() + frame(HEADERS, END_STREAM, 1, ASKED),
                                  PREFACE + settings() + frame(HEADERS, END_STREAM, 1, ASKED)[:20],
                                  PREFACE + settings() + b"\0\x40\0\0"],
                         ids=["nothing", "half a preface", "a preface", "SETTINGS", "half a header block", "half a frame", "half a head"])
def test_a_beginning_and_no_end(speaking, origin, sent):
    """Within request-timeout a request is there, or the connection ends. One with a request under way does not."""
    proxy = speaking("h2c", origin, "--request-timeout", "1s", "--keepalive-timeout", "1s")
    good = proxy.http2()
    asked = good.ask("/good")
    upstream = origin.receive()
    conn = proxy.http2(begin=False)
    conn.raw(sent)
    if sent.startswith(PREFACE):
        conn.aftermath()
    else:
        while conn.stream.fill():
            pass
    assert conn.stream.ended and not origin.asked()
    upstream.answer(FEED)
    assert asked.response().body == SMALL_OUT


def test_uploads_that_never_end(serving):
    """A hundred of them: each is ended by itself, by request-timeout, and the connection is as good as before."""
    proxy = serving("--request-timeout", "300ms")
    conn, good = proxy.http2(), Good(proxy)
    asked = [conn.ask("/form", *fields, method="POST", end=False) for _ in range(50) for fields in ((), ("Content-Length: 10",))]
    asked[0].send(b"abc")
    for exchange in asked:
        exchange.until(lambda each=exchange: each.ended)
        assert exchange.ended != "end" or exchange.got.status >= 400
        if exchange.ended == "end" and not exchange.code:
            exchange.reset()
    conn.round_trip()
    assert conn.get("/feed").body == SMALL_OUT and not conn.goaways
    good.goes_on()


def test_streams_beyond_the_hundred(serving):
    """Whoever begins them before SETTINGS have come is refused, stream by stream or as a whole; the good one is served."""
    proxy = serving()
    conn, good = proxy.http2(), Good(proxy)
    before = proxy.status("VmRSS")
    ended = conn.flood(b"".join(header_frames(number, POSTED, 0) for number in piece) for piece in itertools.islice(numbers(conn), 20))
    if ended:
        assert conn.aftermath() in (CALM, "PROTOCOL_ERROR")
    else:
        conn.close()
    good.goes_on()
    proxy.assert_growth(before, GROWTH)


def test_small_frames(serving, origin):
    """A body in frames of a byte is slow, and no flood: it is the client that pays."""
    conn = serving().http2()
    asked = conn.ask("/form", method="POST", end=False)
    conn.raw(b"".join(frame(DATA, 0, asked.number, b"x") for _ in range(5000)))
    asked.window -= 5000
    conn.window -= 5000
    asked.send(end=True)
    assert asked.response().status == 200
    assert origin.requests[-1].body == b"x" * 5000
