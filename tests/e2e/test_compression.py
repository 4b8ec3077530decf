"""Content codings: asked for, unpacked for feeds, left alone for the rest; broken ones never look complete."""
import gzip
import shutil
import subprocess
import zlib

import pytest

from feeds import SMALL, SMALL_OUT, UTF_8_TYPE, big
from wire import Cut, chunked, message


def raw_deflate(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def by_tool(*command):
    """Packs by a command line tool; skips where there is none."""
    def pack(data):
        if not shutil.which(command[0]):
            pytest.skip(f"no {command[0]}")
        return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout
    return pack


brotli, zstd = by_tool("brotli", "-q", "5", "-w", "24", "-c"), by_tool("zstd", "-q", "-c")


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
    "br": ("br", brotli), "br, small window": ("br", by_tool("brotli", "-w", "10", "-c")), "zstd": ("zstd", zstd),
    "zstd with checksum": ("zstd", by_tool("zstd", "-q", "--check", "-19", "-c")),
    "two zstd frames": ("zstd", lambda data: zstd(data[:100]) + b"\x50\x2a\x4d\x18\x03\0\0\0abc" + zstd(data[100:])),
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
    assert {"gzip", "deflate", "br", "zstd"} == {word.split(";")[0] for word in asked.tokens("Accept-Encoding")}


@pytest.mark.parametrize("name", ["gzip", "deflate", "raw deflate", "two members", "every optional field", "br", "zstd",
                                  "two zstd frames"])
def test_unpacked_from_single_bytes(proxy, origin, name):
    coding, pack = CODINGS[name]
    client = proxy.client().ask("/f")
    upstream = origin.receive()
    upstream.send_apart(packed(pack(SMALL), coding))
    assert client.response().body == SMALL_OUT


@pytest.mark.parametrize("wish", [(), ("Accept-Encoding: identity",), ("Accept-Encoding: gzip;q=0",), ("Accept-Encoding: br",),
                                  ("Accept-Encoding: br, deflate, zstd, *;q=0",), ("Accept-Encoding: *, gzip;q=0.000",)])
def test_a_client_that_wants_none_gets_none(proxy, origin, wish):
    """Unrequested codings too; and what is no feed is unpacked for a client that cannot take it."""
    data = b"body { color: red }" * 50
    got, _ = proxy.through(origin, packed(gzip.compress(data), content_type="text/css"), "/s.css", *wish)
    assert got.body == data and "Content-Encoding" not in got
    got, _ = proxy.through(origin, packed(gzip.compress(SMALL)), "/f", *wish)
    assert got.body == SMALL_OUT


@pytest.mark.parametrize("name", ["gzip", "x-gzip", "deflate", "br", "zstd"])
def test_a_client_keeps_the_very_coding_it_takes(proxy, origin, name):
    """An untouched body stays as it came for a client that takes its coding, whatever others it takes or refuses."""
    coding, pack = CODINGS[name]
    data = b"body { color: red }" * 50
    packed_data = pack(data)
    one = "gzip" if coding == "x-gzip" else coding
    for wish, keeps in ((one, True), (f"{one};q=0.1, identity;q=1", True), ("*", True), (f"*;q=0, {one}", True), (f"*, {one};q=0", False),
                        ("compress", False), ("", False), (f"not{one}", False)):
        got, _ = proxy.through(origin, packed(packed_data, coding, content_type="text/css"), "/s.css", f"Accept-Encoding: {wish}")
        assert (got["Content-Encoding"], got.body) == ((coding, packed_data) if keeps else (None, data)), wish
        assert "accept-encoding" in got["Vary"].lower()


def test_http_1_0_client(proxy, origin):
    got, _ = proxy.through(origin, packed(gzip.compress(SMALL)), "/f", version="HTTP/1.0")
    assert got.body == SMALL_OUT and "Content-Encoding" not in got


def test_large_gzip(proxy, origin):
    data, out = big()
    got, _ = proxy.through(origin, packed(gzip.compress(data)))
    assert got.body == out


@pytest.mark.parametrize("name", ["deflate", "br", "br, small window", "zstd", "zstd with checksum"])
def test_large_in_other_codings(proxy, origin, name):
    data, out = big()
    coding, pack = CODINGS[name]
    got, _ = proxy.through(origin, packed(pack(data), coding))
    assert got.body == out


def test_large_window_of_an_honest_brotli_stream(start, origin):
    """The decoder's window is granted late (codec_brotli.c): the text must not show it, wherever the input is cut."""
    data, out = big(size=9 << 20)
    proxy = start(origin)
    body = brotli(data)
    for size in (997, 1 << 16):
        client = proxy.client().ask("/f")
        upstream = origin.receive()
        reply = packed(body, "br")
        pushed = upstream.send_soon(reply) if size > 1000 else None
        if not pushed:
            for at in range(0, len(reply), size):
                upstream.send(reply[at:at + size])
        assert client.response().body == out


def test_gzip_inside_chunks(proxy, origin):
    data, out = big()
    got, _ = proxy.through(origin, message("200 OK", "Content-Type: text/xml", "Content-Encoding: gzip", "Transfer-Encoding: chunked",
                                           body=chunked(gzip.compress(data), [1, 2, 300])))
    assert got.body == out


@pytest.mark.parametrize("coding", ["compress", "gzip, compress", "aes128gcm", "gzip, br, zstd"])
def test_unknown_codings_pass_untouched(proxy, origin, coding):
    got, _ = proxy.through(origin, packed(b"\x0b\x02\x80opaque\x03", coding))
    assert got["Content-Encoding"] == coding and got.body == b"\x0b\x02\x80opaque\x03"
    assert got.rule == "none;reason=encoded" and got["Content-Type"] == "application/xml"


@pytest.mark.parametrize("coding", ["gzip, gzip", "deflate, gzip", "br, gzip", "gzip, zstd", "zstd, br"])
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
    proxy = start(origin, "--decoded-ratio", "50")
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


@pytest.mark.parametrize("size", [64 << 20, pytest.param(1 << 30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "br, small window", "zstd", "gzip, br"])
def test_bomb_costs_no_memory(start, origin, name, size):
    proxy = start(origin)
    bomb = b"<?xml version='1.0'?><rss>" + b" " * size
    if "," in name and name not in CODINGS:
        coding, bomb = name, brotli(gzip.compress(bomb))
    else:
        coding, bomb = CODINGS[name][0], CODINGS[name][1](bomb)
    proxy.through(origin, packed(gzip.compress(SMALL)))
    before = proxy.status("VmRSS")
    client = proxy.client().ask("/f")
    origin.receive().answer(packed(bomb, coding))
    try:
        got = client.response()
        assert got.status == 502 and "error=http_response_body_size" in got["Proxy-Status"]
        told = "502"
    except Cut as cut:
        # decoded-ratio, 100, times what is read at once, 64 KiB
        assert len(cut.message.body) <= 100 << 16
        told = f"cut after {len(cut.message.body)} bytes"
    print(f"{name}, {size >> 20} MiB: {told}, RSS grew by {proxy.status('VmHWM') - before} KiB")
    proxy.assert_growth(before, 4 << 10)


@pytest.mark.parametrize("name", ["deflate", "br", "zstd"])
def test_broken_in_other_codings(proxy, origin, name):
    coding, pack = CODINGS[name]
    body = pack(SMALL * 3)
    for broken in (body[:-20], body[:-1], body[:1], body[:len(body) // 2] + b"\xff" * 20 + body[len(body) // 2 + 20:], b"\xff" * 50):
        got, _ = proxy.through(origin, packed(broken, coding))
        assert got.status == 502 and "error=" in got["Proxy-Status"]


def test_windows_of_all_decoders_together(start, origin):
    """decoding-bytes: who comes too late fails, and who comes behind him has the room again."""
    data, out = big(size=9 << 20)
    pack = by_tool("zstd", "-q", "--zstd=wlog=23", "-c")
    body = pack(data)
    proxy = start(origin, "--decoding-bytes", "12m", "--transit-bytes", "16k", "--workers", "1")
    first = proxy.client().ask("/first")
    upstream = origin.receive()
    upstream.send(packed(body, "zstd")[:-1000])
    assert not origin.asked_before_answer(first)
    second, _ = proxy.through(origin, packed(body, "zstd"), target="/second")
    assert second.status >= 500
    proxy.says("decoding-bytes")
    small, _ = proxy.through(origin, packed(brotli(SMALL), "br"), target="/small")
    assert small.body == SMALL_OUT
    upstream.send(body[-1000:])
    assert first.response().body == out
    third, _ = proxy.through(origin, packed(body, "zstd"), target="/third")
    assert third.body == out


def test_zstd_windows(proxy, origin):
    """RFC 9659: 8 MiB and no more."""
    data, out = big(size=9 << 20)
    for log, good in ((23, True), (24, False)):
        pack = by_tool("zstd", "-q", f"--zstd=wlog={log}", "--long=24", "-c") if log > 23 else by_tool("zstd", "-q", "--zstd=wlog=23", "-c")
        got, _ = proxy.through(origin, packed(pack(data), "zstd"))
        assert got.body == out if good else got.status == 502
