"""How bodies arrive: every framing of RFC 9112, however chopped, and responses that no one should accept."""
import pytest

from feeds import SMALL, SMALL_OUT, big
from peers import HAS_IPV6
from wire import chunked, message

XML = "Content-Type: application/xml"


def in_chunks(body, *fields):
    return message("200 OK", XML, "Transfer-Encoding: chunked", *fields, body=body)


GOOD = {
    "Content-Length": (message("200 OK", XML, body=SMALL), False),
    "Content-Length with zeros": (message("200 OK", XML, f"Content-Length: 000{len(SMALL)}", body=SMALL), False),
    "one chunk": (in_chunks(chunked(SMALL, 100_000)), False),
    "odd chunks": (in_chunks(chunked(SMALL, [1, 7, 2, 31])), False),
    "chunk sizes in capitals": (in_chunks(chunked(SMALL, 171).replace(b"ab\r\n", b"AB\r\n", 1)), False),
    "chunk sizes with zeros": (in_chunks(b"000" + chunked(SMALL, 100)), False),
    "chunk extensions": (in_chunks(chunked(SMALL, 50, extension=b';a;c="d"')), False),
    "chunk extension with a value": (in_chunks(chunked(SMALL, 50, extension=b";a=b")), False),
    "trailers": (in_chunks(chunked(SMALL, 50, b"0\r\nX-Sum: 1\r\nX-Other: 3\r\n\r\n")), False),
    "last chunk with an extension": (in_chunks(chunked(SMALL, 50, b"00;x\r\n\r\n")), False),
    "until close": (message("200 OK", XML, body=SMALL, length=False), True),
    "HTTP/1.0 until close": (message("HTTP/1.0 200 OK", XML, body=SMALL, length=False), True),
    "HTTP/1.0 with a length": (message("HTTP/1.0 200 OK", XML, body=SMALL), True),
    "HTTP/1.0 kept alive": (message("HTTP/1.0 200 OK", XML, "Connection: keep-alive", body=SMALL), False),
    "no reason phrase": (message("HTTP/1.1 200 ", XML, body=SMALL), False),
    "reason in latin-1": (message("HTTP/1.1 200 Tr\xe8s bien", XML, body=SMALL), False),
    "blanks around values": (message("200 OK", "Content-Type: \t application/xml \t", body=SMALL), False),
    "names in capitals": (message("200 OK", "CONTENT-TYPE: application/xml", f"CONTENT-LENGTH: {len(SMALL)}", body=SMALL), False),
    "Connection: close with a length": (message("200 OK", XML, "Connection: close", body=SMALL), True),
    "after 100": (b"HTTP/1.1 100 Continue\r\n\r\n" + message("200 OK", XML, body=SMALL), False),
    "after 103": (b"HTTP/1.1 103 Early Hints\r\nLink: </s.css>; rel=preload\r\n\r\n" + message("200 OK", XML, body=SMALL), False),
    "after several": (b"HTTP/1.1 102 Processing\r\n\r\n" * 5 + message("200 OK", XML, body=SMALL), False),
}


@pytest.mark.parametrize("name", GOOD)
def test_framings(old_proxy, old_origin, name):
    reply, close = GOOD[name]
    got, _ = old_proxy.through(old_origin, reply, close=close)
    assert (got.status, got.body) == (200, SMALL_OUT)
    assert got.trailer("X-Sum") is None


@pytest.mark.parametrize("name", GOOD)
def test_framings_in_single_bytes(old_proxy, old_origin, name):
    reply, close = GOOD[name]
    client = old_proxy.client().ask("/f")
    upstream = old_origin.receive()
    upstream.send_apart(reply)
    if close:
        upstream.close()
    assert client.response().body == SMALL_OUT


@pytest.mark.parametrize("extension", [b";a=b;c=d", b" ; a", b'; a = "b"', b';a="\\""', b';a;c="d;e"'])
def test_rare_chunk_extensions_are_read_or_refused(proxy, origin, extension):
    """RFC 9112 section 7.1.1 allows them all; llhttp 8.1 does not take each: then 502, never other text."""
    got, _ = proxy.through(origin, in_chunks(chunked(SMALL, 50, extension=extension)))
    assert (got.status, got.body) == (200, SMALL_OUT) or got.status == 502


def test_a_length_in_the_trailer_counts_for_nothing(proxy, origin):
    """RFC 9110 section 6.5.1 forbids it: read over by llhttp 8, refused by llhttp 9."""
    client = proxy.client().ask("/feed")
    origin.receive().answer(in_chunks(chunked(SMALL, 50, b"0\r\nContent-Length: 3\r\n\r\n")))
    got = client.response()
    assert (got.status, got.body) == (200, SMALL_OUT) or got.status == 502


@pytest.mark.parametrize("size", [[1], [3, 1000], [4096], [65536], [100_000]])
def test_large_bodies_in_chunks(proxy, origin, size):
    data, out = big(size=20_000 if size == [1] else 400_000)
    client = proxy.client().ask("/f")
    sending = origin.receive().send_soon(in_chunks(chunked(data, size)))
    assert client.response().body == out
    sending.join()


def test_large_body_to_a_slow_reader_is_whole(proxy, origin):
    data, out = big(size=2_000_000)
    client = proxy.client(receive_buffer=4096).ask("/f")
    sending = origin.receive().send_soon(message("200 OK", XML, body=data))
    assert client.response().body == out
    sending.join()


def test_untouched_large_body_keeps_its_length(proxy, origin):
    data = bytes(range(256)) * 4000
    client = proxy.client().ask("/f")
    sending = origin.receive().send_soon(message("200 OK", "Content-Type: image/png", body=data))
    got = client.response()
    sending.join()
    assert got.body == data and got["Content-Length"] == str(len(data))


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_bodiless_statuses_take_no_body(proxy, origin, status):
    """RFC 9112 section 6.3, rule 1: whatever the fields say."""
    client = proxy.client().ask("/f", 'If-None-Match: "a"')
    origin.receive().answer(message(status, "Content-Length: 10", XML))
    assert client.response().status == int(status[:3])
    client.ask("/g")
    origin.receive().answer(message("200 OK", XML, body=SMALL))
    assert client.response().body == SMALL_OUT


def test_origin_by_name(start, origin):
    """localhost may well be ::1 first, where nobody listens: the next address is tried."""
    proxy = start(None, "--route", f"/=http://localhost:{origin.port}")
    got, asked = proxy.through(origin, message("200 OK", XML, body=SMALL))
    assert got.body == SMALL_OUT and asked["Host"] == f"localhost:{origin.port}"


@pytest.mark.skipif(not HAS_IPV6, reason="no IPv6 on loopback")
def test_origin_over_ipv6(start, another):
    origin = another("::1")
    got, asked = start(origin).through(origin, message("200 OK", XML, body=SMALL))
    assert got.body == SMALL_OUT and asked["Host"] == f"[::1]:{origin.port}"


def test_early_hints_reach_the_client(proxy, origin):
    """RFC 9110 section 15.2: a proxy forwards 1xx responses, but for the 100 that answers itself."""
    got, _ = proxy.through(origin, GOOD["after 103"][0])
    assert got.interim


def test_origin_closing_between_requests_is_not_the_clients_affair(proxy, origin):
    client = proxy.client()
    for number in range(4):
        client.ask(f"/{number}")
        upstream = origin.receive()
        upstream.answer(message("200 OK", XML, body=SMALL))
        assert client.response().body == SMALL_OUT
        upstream.close()


def test_more_than_the_length_is_never_the_next_answer(proxy, origin):
    """Bytes after a response belong to nobody; taking them for the next answer is response splitting."""
    stray = message("200 OK", XML, body=b"<rss>stray</rss>")
    client = proxy.client().ask("/first")
    origin.receive().answer(message("200 OK", XML, body=SMALL) + stray)
    assert client.response().body == SMALL_OUT
    client.ask("/second")
    origin.receive().answer(message("200 OK", "Content-Type: text/css", body=b"second"))
    assert client.response().body == b"second"


BAD = {
    "not http": b"SSH-2.0-OpenSSH_9.2\r\n",
    "HTTP/0.9": SMALL,
    "lower-case http": b"http/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "version 2": b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
    "status of two digits": b"HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
    "status of four digits": b"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
    "no status": b"HTTP/1.1 OK\r\nContent-Length: 0\r\n\r\n",
    "status 0": b"HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n",
    "101 unasked": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "bare LF": message("200 OK", XML, body=SMALL).replace(b"\r\n", b"\n"),
    "bare CR in a value": b"HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 0\r\n\r\n",
    "NUL in a value": b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n",
    "folded field": b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    "space before the colon": b"HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n",
    "space before another colon": b"HTTP/1.1 200 OK\r\nX : 0\r\nContent-Length: 0\r\n\r\n",
    "empty field name": b"HTTP/1.1 200 OK\r\n: 0\r\nContent-Length: 0\r\n\r\n",
    "field without a colon": b"HTTP/1.1 200 OK\r\nnothing\r\nContent-Length: 0\r\n\r\n",
    "length and chunks": message("200 OK", XML, "Content-Length: 5", "Transfer-Encoding: chunked", body=chunked(SMALL)),
    "chunks and length": message("200 OK", XML, "Transfer-Encoding: chunked", "Content-Length: 5", body=chunked(SMALL)),
    "two lengths": message("200 OK", XML, "Content-Length: 5", f"Content-Length: {len(SMALL)}", body=SMALL),
    "two lengths in one": message("200 OK", XML, f"Content-Length: 5, {len(SMALL)}", body=SMALL),
    "negative length": message("200 OK", XML, "Content-Length: -5", body=SMALL),
    "length with a sign": message("200 OK", XML, f"Content-Length: +{len(SMALL)}", body=SMALL),
    "length in hex": message("200 OK", XML, "Content-Length: 0x10", body=SMALL),
    "length of 2^64": message("200 OK", XML, "Content-Length: 18446744073709551616", body=SMALL),
    "length beyond all": message("200 OK", XML, "Content-Length: 99999999999999999999999999", body=SMALL),
    "empty length": message("200 OK", XML, "Content-Length: ", body=SMALL),
    "gzip as transfer coding": message("200 OK", XML, "Transfer-Encoding: gzip, chunked", body=chunked(SMALL)),
    "chunked not last": message("200 OK", XML, "Transfer-Encoding: chunked, gzip", body=chunked(SMALL)),
    "chunked twice": message("200 OK", XML, "Transfer-Encoding: chunked, chunked", body=chunked(SMALL)),
    "chunk size that is none": in_chunks(b"zz\r\n" + SMALL),
    "negative chunk": in_chunks(b"-5\r\nhello\r\n0\r\n\r\n"),
    "chunk of 2^64": in_chunks(b"10000000000000000\r\nhello\r\n0\r\n\r\n"),
    "chunk with 0x": in_chunks(b"0x5\r\nhello\r\n0\r\n\r\n"),
    "chunk longer than said": in_chunks(b"5\r\nhello world\r\n0\r\n\r\n"),
    "chunk ends in LF": in_chunks(b"5\nhello\r\n0\r\n\r\n"),
    "chunk data ends in LF": in_chunks(b"5\r\nhello\n0\r\n\r\n"),
    "space before a chunk size": in_chunks(b" 5\r\nhello\r\n0\r\n\r\n"),
    "bad trailer": in_chunks(chunked(SMALL, 50, b"0\r\nno colon\r\n\r\n")),
}



@pytest.mark.parametrize("name", BAD)
def test_bad_responses_are_502(old_proxy, old_origin, name):
    client = old_proxy.client().ask("/f")
    upstream = old_origin.receive()
    upstream.answer(BAD[name], close=True)
    got = client.response()
    assert got.status == 502, (got.line, got.body)
    assert "error=http_" in got["Proxy-Status"] and got["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize("name", ["chunk size that is none", "two lengths", "not http", "length and chunks"])
def test_after_a_bad_response_the_origin_connection_is_closed(proxy, origin, name):
    client = proxy.client().ask("/f")
    upstream = origin.receive()
    upstream.answer(BAD[name])
    assert client.response().status == 502
    assert upstream.gone()


def test_large_response_head(start, origin):
    proxy = start(origin, "--max-header-bytes", "8k")
    got, _ = proxy.through(origin, message("200 OK", XML, "X: " + "y" * 9000, body=SMALL))
    assert got.status == 502 and "http_response_header_section_size" in got["Proxy-Status"]


def test_endless_response_head(proxy, origin):
    client = proxy.client().ask("/f")
    upstream = origin.receive()
    upstream.send(b"HTTP/1.1 200 OK\r\nX: ")
    assert upstream.gone()
    assert client.response().status == 502


def test_endless_interim_responses(proxy, origin):
    client = proxy.client().ask("/f")
    upstream = origin.receive()
    assert upstream.gone(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 1000)
    assert client.response().status == 502
