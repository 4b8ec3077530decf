"""Feeds as gzip to clients that accept it: the same text, never to HTTP/1.0, streams stay streams, tags and Vary tell the forms
apart."""
import gzip
import zlib

import pytest

from feeds import SMALL, SMALL_OUT, big
from proxy import STREAMED
from wire import Cut, chunked, message

XML = "Content-Type: application/xml"
WANTS = "Accept-Encoding: gzip"
ITEMS = SMALL.replace(b"</channel>", b"<item><title>x</title></item>" * 100 + b"</channel>")


def reply(body, *fields):
    return message("200 OK", XML, *fields, body=body)


@pytest.fixture
def text(proxy, origin):
    """What ITEMS looks like without gzip."""
    return proxy.through(origin, reply(ITEMS))[0].body


@pytest.mark.parametrize("wish", ["gzip", "x-gzip", "br, gzip;q=0.1", "*", "identity, GZIP;q=0.001", "deflate, gzip, zstd"])
def test_clients_that_accept_it(proxy, origin, text, wish):
    got, _ = proxy.through(origin, reply(ITEMS), "/f", f"Accept-Encoding: {wish}")
    assert got["Content-Encoding"] == "gzip" and gzip.decompress(got.body) == text and len(got.body) < len(text)
    assert got.tokens("Vary") == ["accept-encoding"] and got["Content-Length"] is None and got.framing == STREAMED


@pytest.mark.parametrize("wish", ["", "gzip;q=0", "*;q=0", "br", "deflate", "*, gzip;q=0.0", "identity", "gzipped"])
def test_clients_that_do_not(proxy, origin, text, wish):
    got, _ = proxy.through(origin, reply(ITEMS), "/f", f"Accept-Encoding: {wish}")
    assert "Content-Encoding" not in got and got.body == text and got.tokens("Vary") == ["accept-encoding"]


def test_never_to_http_1_0(proxy, origin, text):
    got, _ = proxy.through(origin, reply(ITEMS), "/f", WANTS, version="HTTP/1.0")
    assert "Content-Encoding" not in got and got.body == text


def test_small_feeds_stay_as_they_are(proxy, origin):
    got, _ = proxy.through(origin, reply(SMALL), "/f", WANTS)
    assert len(SMALL_OUT) < 1024 and "Content-Encoding" not in got and got.body == SMALL_OUT


def test_switches(start, origin):
    for proxy, packs in ((start(origin, "--gzip", "off"), False), (start(origin, "--gzip-min", "1m"), False),
                         (start(origin, "--gzip-min=0"), True)):
        got, _ = proxy.through(origin, reply(ITEMS if not packs else SMALL), "/f", WANTS)
        assert ("Content-Encoding" in got) == packs
    assert "Vary" not in start(origin, "--gzip=off").through(origin, reply(ITEMS), "/f", WANTS)[0]


@pytest.mark.parametrize("content_type", ["image/png", "text/css"])
def test_what_is_no_feed_stays(proxy, origin, content_type):
    got, _ = proxy.through(origin, message("200 OK", f"Content-Type: {content_type}", body=b"x" * 5000), "/f", WANTS)
    assert "Content-Encoding" not in got and got.body == b"x" * 5000


def test_answers_of_our_own_stay(proxy):
    assert "Content-Encoding" not in proxy.get("/https:///", WANTS)


def test_vary_is_added_to(proxy, origin):
    got, _ = proxy.through(origin, reply(ITEMS, "Vary: Cookie"), "/f", WANTS)
    assert sorted(got.tokens("Vary")) == ["accept-encoding", "cookie"]
    got, _ = proxy.through(origin, reply(ITEMS, "Vary: Accept-Encoding"), "/f", WANTS)
    assert got.tokens("Vary") == ["accept-encoding"]


def test_head_says_what_get_would(proxy, origin):
    got, _ = proxy.through(origin, reply(ITEMS, 'ETag: "1"'), "/f", WANTS)
    head, _ = proxy.through(origin, reply(ITEMS, 'ETag: "1"'), "/f", WANTS, method="HEAD")
    assert head.head() == got.head() and head.body == b""


def test_tags_tell_the_forms_apart(proxy, origin):
    for tag, weak in (('"1"', ""), ('W/"1"', "W/")):
        plain = proxy.through(origin, reply(ITEMS, f"ETag: {tag}"))[0]["ETag"]
        packed = proxy.through(origin, reply(ITEMS, f"ETag: {tag}"), "/f", WANTS)[0]["ETag"]
        assert plain.startswith(f'{weak}"1;utf-') and packed == plain[:-1] + ';gz"'
        for mine in (plain, packed):
            got, asked = proxy.through(origin, message("304 Not Modified", f"ETag: {tag}", length=False), "/f", f"If-None-Match: {mine}",
                                       WANTS)
            assert asked["If-None-Match"] == tag and (got.status, got["ETag"], got.tokens("Vary")) == (304, mine, ["accept-encoding"])
        _, asked = proxy.through(origin, reply(ITEMS), "/f", f'If-None-Match: {plain}, "theirs", {packed}')
        assert asked["If-None-Match"] == f'{tag}, "theirs", {tag}'


@pytest.mark.parametrize("tag", ['";gz"', '"x;gz"', 'W/";gz"', '"12345678;gz"', '";utf-00000000"', '";utf-00000000;gz"', '"', '""', ";gz"])
def test_odd_tags(proxy, origin, tag):
    """What looks like the end of a tag of ours and is none goes on as it is, or nowhere."""
    _, asked = proxy.through(origin, reply(SMALL), "/f", f"If-None-Match: {tag}")
    assert asked["If-None-Match"] == (None if "utf-" in tag else tag)


def test_large(proxy, origin):
    data, out = big()
    got, _ = proxy.through(origin, reply(data), "/f", WANTS)
    assert gzip.decompress(got.body) == out
    got, _ = proxy.through(origin, message("200 OK", XML, "Transfer-Encoding: chunked", body=chunked(data, [1, 7, 3000])), "/f", WANTS)
    assert gzip.decompress(got.body) == out


def test_from_gzip_to_gzip(proxy, origin):
    data, out = big()
    got, _ = proxy.through(origin, message("200 OK", XML, "Content-Encoding: gzip", body=gzip.compress(data)), "/f", WANTS)
    assert got["Content-Encoding"] == "gzip" and gzip.decompress(got.body) == out


def test_streams_stay_streams(start, origin):
    """Each piece the origin sends can be read by the client before the next one leaves."""
    proxy = start(origin, "--sniff-bytes", "1k")
    client = proxy.client().ask("/f", WANTS)
    upstream = origin.receive()
    upstream.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nConnection: close\r\n\r\n<?xml version='1.0'?><rss>" + b"a" * 3000)
    unpack, seen, raw = zlib.decompressobj(31), b"", b""

    def bring(enough):
        nonlocal raw
        while not enough():
            raw += client.sock.recv(65536)

    bring(lambda: b"\r\n\r\n" in raw)
    raw = raw.partition(b"\r\n\r\n")[2]
    for piece in (b"", b"first", b"second", b"third"):
        upstream.send(piece)
        while not seen.endswith(piece or b"aaa"):
            bring(lambda: b"\r\n" in raw.lstrip())
            size, _, raw = raw.lstrip().partition(b"\r\n")
            bring(lambda: len(raw) >= int(size, 16))
            seen += unpack.decompress(raw[:int(size, 16)])
            raw = raw[int(size, 16):]
    upstream.close()


def test_a_broken_transfer_never_looks_complete(proxy, origin):
    data, _ = big()
    client = proxy.client().ask("/f", WANTS)
    upstream = origin.receive()
    upstream.answer(reply(data)[:-1000], close=True)
    try:
        client.response()
    except Cut as cut:
        assert not cut.message or not zlib.decompressobj(31).decompress(cut.message.body).endswith(b"</rss>")
        return
    raise AssertionError("looks complete")


def test_keep_alive_and_pipelining(proxy, origin):
    origin.serve(lambda request: reply(ITEMS))
    text = proxy.get("/f").body
    client = proxy.client()
    for wants in (WANTS, "X: y", WANTS, WANTS):
        client.ask("/f", wants)
    for packed in (True, False, True, True):
        got = client.response()
        assert (gzip.decompress(got.body) if packed else got.body) == text and ("Content-Encoding" in got) == packed


def test_slow_reader_and_one_that_leaves(start, origin):
    data, out = big(size=3 << 20)
    origin.serve(lambda request: reply(data))
    proxy = start(origin, "--transit-bytes", "16k")
    for _ in range(20):
        client = proxy.client(receive_buffer=4096).ask("/f", WANTS)
        client.arrives().close()
    got = proxy.client(receive_buffer=4096).get("/f", WANTS)
    assert gzip.decompress(got.body) == out


def test_the_log_says_what_was_sent(start, origin):
    proxy = start(origin)
    got, _ = proxy.through(origin, reply(ITEMS), "/f", WANTS)
    assert f" 200 {len(got.body)} ".encode() in proxy.access_lines(1)[0]
