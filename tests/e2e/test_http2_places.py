"""What a stream of HTTP/2 counts before its request is whole, who is given up, and frames that come late: an honest client loses nothing by
it, and a stranger takes no more places than by HTTP/1.1."""
import socket

import pytest

pytest.importorskip("hpack", reason="no python3-hpack here")

from feeds import SMALL, SMALL_OUT
from http2_frames import DATA, END_STREAM, INITIAL_WINDOW_SIZE, frame, header_frames, literal, reset
from test_http2_spec import ASKED, POSTED
from wire import TIMEOUT, Cut, Stream, chunked, message

XML = "Content-Type: application/xml"
FEED = message("200 OK", XML, body=SMALL)


@pytest.mark.parametrize("option", ["--client-connections", "--max-connections"])
def test_a_request_counts_from_its_head_on(speaking, origin, option):
    """Also one of which nobody knows yet whether a body comes."""
    proxy = speaking("h2c", origin, option, "5", "--workers", "1")
    conn = proxy.http2()
    asked = [conn.begin("POST") for _ in range(8)]
    conn.raw(b"".join(header_frames(each.number, POSTED, 0) for each in asked))
    for exchange in asked[5:]:
        exchange.until(lambda each=exchange: each.ended)
        assert exchange.code == "REFUSED_STREAM"
    assert proxy.counted("clients_crowded", 3) in (3, 4)
    conn.raw(b"".join(frame(DATA, END_STREAM, each.number, b"abc") for each in asked[:4]))
    for upstream in [origin.receive() for _ in range(4)]:
        assert upstream.request.body == b"abc"
        upstream.answer(FEED)
    assert all(exchange.response().status == 200 for exchange in asked[:4]) and not conn.goaways


class From:
    """A connection from another address of loopback."""

    def __init__(self, address, port):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT, source_address=(address, 0))
        self.stream = Stream(self.sock)


@pytest.mark.parametrize("option, most, address, seconds, ends", [
    ("--client-connections", 6, "127.0.0.1", 4, False), ("--client-connections", 6, "127.0.0.1", 6, True),
    ("--client-connections", 5, "127.0.0.2", 6, False), ("--max-connections", 4, "127.0.0.2", 6, True)])
def test_who_takes_nothing_gives_its_place(speaking, origin, clock, option, most, address, seconds, ends):
    """A stream that has taken nothing for 5 s, while another one finds no place: one of its own address, or any where a worker is full."""
    proxy = speaking("h2c", origin, option, f"{most}", "--workers", "1", env=clock.env)
    origin.serve(lambda request: FEED)
    idle, busy = proxy.http2(options=[(INITIAL_WINDOW_SIZE, 10)], takes=False, over=From(address, proxy.port)), proxy.http2()
    idle.scheme = "http"
    stalled = [idle.ask(f"/{number}") for number in range(4)]
    for each in stalled:
        each.until(lambda each=each: each.count == 10)

    if most == 5:
        fresh = [busy.ask("/held", "Content-Length: 1", method="POST", end=False) for _ in range(most - 1)]     # busy's address is full, too
        busy.round_trip()
        assert not any(each.ended for each in fresh)

    def refused(ahead):
        """Each look is another's refusal. A stream that is still being written when the clock jumps has not stalled yet."""
        clock.ahead(ahead)
        more = busy.ask("/more")
        more.until(lambda: more.ended)
        assert more.code == "REFUSED_STREAM"
        idle.round_trip()
        return sum(bool(each.ended) for each in stalled)
    ahead, ended = seconds, refused(seconds)
    while ends and not ended:
        ahead += seconds
        ended = refused(ahead)
    assert bool(ended) == ends and proxy.counted("h2_stalled", ended) == ended
    if ends:
        assert busy.get("/more").body == SMALL_OUT


def test_a_head_without_its_body(speaking, origin):
    """request-timeout ends it, whatever keepalive-timeout says, and nothing else of its connection."""
    proxy = speaking("h2c", origin, "--request-timeout", "400ms", "--keepalive-timeout", "100ms")
    conn = proxy.http2()
    other = conn.ask("/other")
    upstream = origin.receive()
    made = conn.begin("POST")
    conn.raw(header_frames(made.number, POSTED, 0))
    made.until(lambda: made.ended)
    assert made.code == "CANCEL" and not other.ended
    upstream.answer(FEED)
    assert other.response().body == SMALL_OUT and not conn.goaways


def test_who_is_given_up_is_told(speaking, origin):
    """GOAWAY with NO_ERROR: a client may ask for the same again on another connection (RFC 9113 section 6.8)."""
    proxy = speaking("h2c", origin, "--max-connections", "2", "--workers", "1")
    origin.serve(lambda request: FEED)
    first, second = proxy.http2(), proxy.http2()
    for conn in (first, second):
        assert conn.get("/feed").body == SMALL_OUT
    third = proxy.http2()
    assert third.get("/feed").body == SMALL_OUT
    assert first.aftermath() == "NO_ERROR"
    assert second.get("/feed").body == SMALL_OUT and not second.goaways


def test_an_end_that_waits_for_its_window(speaking, origin):
    """All of a body is out, and only the end of its stream is not (RFC 9113 section 6.9.1): that ends after write-timeout."""
    proxy = speaking("h2c", origin, "--write-timeout", "300ms", "--keepalive-timeout", "100ms")
    conn = proxy.http2(options=[(INITIAL_WINDOW_SIZE, 5000)], takes=False)
    asked, sent = conn.ask("/plain"), message("200 OK", "Content-Type: text/plain", "Transfer-Encoding: chunked", body=chunked(b"x" * 5000))
    upstream = origin.receive()
    upstream.send(sent[:-5])
    asked.until(lambda: asked.count == 5000)
    upstream.send(sent[-5:])
    asked.until(lambda: asked.ended)
    assert asked.code == "CANCEL" and asked.count == 5000
    assert conn.aftermath() == "NO_ERROR", "the connection was idle then"


def test_trailers_that_come_late(speaking, origin):
    """Of an upload that was answered early: they were on their way while many other streams ended (RFC 9113 section 5.1)."""
    conn = speaking("h2c", origin).http2()
    origin.serve(lambda request: FEED)
    upload = conn.ask("/upload", end=False)
    upload.send(b"abc")
    assert upload.response().status == 413
    for _ in range(100):
        assert conn.get("/feed").body == SMALL_OUT
    conn.raw(header_frames(upload.number, literal("x-late", "1"), END_STREAM))
    assert conn.get("/feed").body == SMALL_OUT and not conn.goaways


def cancels(conn, count):
    """So many requests, each taken back at once."""
    made = [conn.begin() for _ in range(count)]
    conn.raw(b"".join(header_frames(each.number, ASKED) + reset(each.number) for each in made))


@pytest.mark.parametrize("trusted", [True, False])
def test_a_proxy_that_serves_many(speaking, origin, trusted):
    """What its users cancel ends nobody else's request; of a stranger that is a flood."""
    proxy = speaking("h2c", origin, *("--trusted-proxies", "127.0.0.1", "--client-allow", "0.0.0.0/0") * trusted)
    conn = proxy.http2()
    asked = conn.ask("/asked")
    upstream = origin.receive()
    origin.serve(lambda request: FEED)
    for _ in range(5):
        cancels(conn, 300)
        try:
            conn.round_trip()
        except Cut:
            break
    if not trusted:
        assert conn.aftermath() == "ENHANCE_YOUR_CALM"
        return
    upstream.answer(FEED)
    assert asked.response().body == SMALL_OUT and not conn.goaways and proxy.counters()["h2_refused_floods"] == 0
