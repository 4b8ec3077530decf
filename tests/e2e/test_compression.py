"""Content codings: asked for, unpacked for feeds, left alone for the rest; broken ones never look complete."""
import gzip
import zlib

import pytest

from feeds import SMALL, SMALL_OUT, UTF_8_TYPE, big
from wire import chunked, message


def raw_deflate(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def with_fields(data):
    """A gzip member with every optional field of RFC 1952 section 2.3."""
    plain, head = gzip.compress(data), b"\x1f\x8b\x08\x1e\0\0\0\0\0\x03" + b"\x04\0abcd" + b"feed.xml\0" + b"comment\0"
    return head + (zlib.crc32(head) & 0xffff).to_bytes(2, "little") + plain[10:]


CODINGS = {
    "gzip": ("gzip", gzip.compress), "x-gzip": ("x-gzip", gzip.compress), "GZIP": ("GZIP", gzip.compress),
    "deflate": ("deflate", zlib.compress), "raw deflate": ("deflate", raw_deflate), "identity": ("identity", bytes),
    "two members": ("gzip", lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:])),
    "every optional field": ("gzip", with_fields), "stored blocks": ("gzip", lambda data: gzip.compress(data, 0)),
    "utf-8, which is no coding": ("utf-8", bytes),
}


def packed(data, coding="gzip", *fields, content_type="application/xml"):
    return message("200 OK", f"Content-Type: {content_type}", f"Content-Encoding: {coding}", *fields, body=data)


@pytest.mark.parametrize("name", CODINGS)
def test_feeds_are_unpacked(proxy, origin, name):
    coding, pack = CODINGS[name]
    got, asked = proxy.through(origin, packed(pack(SMALL), coding))
    if name == "utf-8, which is no coding" and got.rule == "none;reason=encoded":
        assert got.body == SMALL and got["Content-Encoding"] == "utf-8"
        return
    assert (got.body, got["Content-Type"]) == (SMALL_OUT, UTF_8_TYPE)
    assert "Content-Encoding" not in got
    assert {"gzip", "deflate"} <= {word.split(";")[0] for word in asked.tokens("Accept-Encoding")}


@pytest.mark.parametrize("name", ["gzip", "deflate", "raw deflate", "two members", "every optional field"])
def test_unpacked_from_single_bytes(proxy, origin, name):
    coding, pack = CODINGS[name]
    client = proxy.client().ask("/f")
    upstream = origin.receive()
    upstream.send_apart(packed(pack(SMALL), coding))
    assert client.response().body == SMALL_OUT


@pytest.mark.parametrize("wish", [(), ("Accept-Encoding: identity",), ("Accept-Encoding: gzip;q=0",), ("Accept-Encoding: br",)])
def test_a_client_that_wants_none_gets_none(proxy, origin, wish):
    """Unrequested codings too; and what is no feed is unpacked for a client that cannot take it."""
    data = b"body { color: red }" * 50
    got, _ = proxy.through(origin, packed(gzip.compress(data), content_type="text/css"), "/s.css", *wish)
    if "Content-Encoding" in got:
        assert got["Content-Encoding"] == "gzip" and gzip.decompress(got.body) == data and got.rule == "none;reason=not-xml"
    else:
        assert got.body == data
    got, _ = proxy.through(origin, packed(gzip.compress(SMALL)), "/f", *wish)
    assert got.body == SMALL_OUT


def test_http_1_0_client(proxy, origin):
    got, _ = proxy.through(origin, packed(gzip.compress(SMALL)), "/f", version="HTTP/1.0")
    assert got.body == SMALL_OUT and "Content-Encoding" not in got


def test_large_gzip(proxy, origin):
    data, out = big()
    got, _ = proxy.through(origin, packed(gzip.compress(data)))
    assert got.body == out


def test_gzip_inside_chunks(proxy, origin):
    data, out = big()
    got, _ = proxy.through(origin, message("200 OK", "Content-Type: text/xml", "Content-Encoding: gzip", "Transfer-Encoding: chunked",
                                           body=chunked(gzip.compress(data), [1, 2, 300])))
    assert got.body == out


@pytest.mark.parametrize("coding", ["br", "zstd", "compress", "gzip, br", "aes128gcm"])
def test_unknown_codings_pass_untouched(proxy, origin, coding):
    got, _ = proxy.through(origin, packed(b"\x0b\x02\x80opaque\x03", coding))
    assert got["Content-Encoding"] == coding and got.body == b"\x0b\x02\x80opaque\x03"
    assert got.rule == "none;reason=encoded" and got["Content-Type"] == "application/xml"


@pytest.mark.parametrize("coding", ["gzip, gzip", "deflate, gzip"])
def test_layers_are_peeled_or_passed(proxy, origin, coding):
    first, second = [CODINGS[word.strip()][1] for word in coding.split(",")]
    twice = second(first(SMALL))
    got, _ = proxy.through(origin, packed(twice, coding))
    assert (got.body, got["Content-Encoding"]) in [(SMALL_OUT, None), (twice, coding)]


def test_empty_gzip_of_nothing(proxy, origin):
    got, _ = proxy.through(origin, packed(gzip.compress(b"")))
    assert got.status == 200 and got.body == b"" and got.rule == "none;reason=empty"


def test_empty_body_labelled_gzip(proxy, origin):
    got, _ = proxy.through(origin, packed(b""))
    assert got.body == b"" and got.status in (200, 502)


BROKEN = {
    "truncated": lambda data: data[:-20],
    "without its trailer": lambda data: data[:-8],
    "wrong checksum": lambda data: data[:-8] + b"\0\0\0\0" + data[-4:],
    "wrong length": lambda data: data[:-4] + b"\xff\0\0\0",
    "corrupt": lambda data: data[:len(data) // 2] + b"\xff" * 20 + data[len(data) // 2 + 20:],
    "cut second member": lambda data: data + data[:30],
}


@pytest.mark.parametrize("name", [*BROKEN, "not gzip at all"])
def test_broken_small_gzip_is_a_502(proxy, origin, name):
    body = b"<rss>plainly not packed</rss>" if name == "not gzip at all" else BROKEN[name](gzip.compress(SMALL * 3))
    got, _ = proxy.through(origin, packed(body))
    if name == "not gzip at all" and got.status == 200:
        assert got.body == body
        return
    assert got.status == 502 and "http_response_content_coding" in got["Proxy-Status"] or "error=" in got["Proxy-Status"]
    assert got["Content-Type"].startswith("text/plain") and got.body


@pytest.mark.parametrize("name", BROKEN)
def test_broken_large_gzip_is_cut(proxy, origin, name):
    data, out = big()
    client = proxy.client().ask("/f")
    origin.receive().answer(packed(BROKEN[name](gzip.compress(data, 0))))
    cut = client.cut()
    assert cut.message.status == 200 and out.startswith(cut.message.body[:len(out) // 4])


@pytest.mark.parametrize("version", ["HTTP/1.0", "HTTP/1.1"])
def test_truncated_gzip_without_a_length_is_cut(proxy, origin, version):
    """The worst case: neither end frames the body, so that only the checksum tells and only a reset can say so."""
    data, _ = big()
    client = proxy.client().ask("/f", version=version)
    upstream = origin.receive()
    upstream.answer(message("200 OK", "Content-Type: text/xml", "Content-Encoding: gzip", "Connection: close", length=False,
                            body=gzip.compress(data, 0)[:-8]), close=True)
    cut = client.cut()
    assert version == "HTTP/1.1" or cut.how == "reset"


def test_garbage_after_gzip(proxy, origin):
    """Padding after the member is common and harmless; whatever is made of it, none of it may reach the text."""
    for garbage in (b"\0" * 300, b"garbage"):
        got, _ = proxy.through(origin, packed(gzip.compress(SMALL) + garbage))
        assert got.status == 200 and got.body == SMALL_OUT or got.status == 502


def test_bomb_is_cut(start, origin):
    proxy = start(origin, "--decoded-ratio", "50", "--decoded-ratio-after", "100k")
    bomb = gzip.compress(b"<?xml version='1.0'?><rss>" + b" " * (64 << 20))
    client = proxy.client().ask("/f")
    origin.receive().answer(packed(bomb))
    cut = client.cut()
    assert len(cut.message.body) < 4 << 20


def test_bomb_that_has_sent_nothing_is_a_502(start, origin):
    proxy = start(origin, "--decoded-max", "20k")
    got, _ = proxy.through(origin, packed(gzip.compress(SMALL * 100)))
    assert got.status == 502 and "error=" in got["Proxy-Status"]


def test_honest_ratio_passes(proxy, origin):
    data, out = big(size=600_000)
    got, _ = proxy.through(origin, packed(gzip.compress(data)))
    assert got.body == out


def test_bomb_costs_no_memory(proxy, origin):
    before = proxy.status("VmRSS")
    bomb = gzip.compress(b"<?xml version='1.0'?><rss>" + b" " * (64 << 20))
    client = proxy.client().ask("/f")
    origin.receive().answer(packed(bomb))
    client.cut()
    proxy.assert_growth(before, 8 << 10)
