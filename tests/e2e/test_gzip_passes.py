"""Gzip from the origin to a client that takes gzip: what needs nothing goes on as it came, told its length; everything else is made anew,
and what is broken is never taken for complete. What came from the URL before is no promise."""
import gzip
import io
import random
import re
import struct
import zlib

import pytest

from feeds import FRENCH, RUSSIAN, SMALL, rss, utf_8
from wire import Cut, chunked, message

XML, WANTS = "Content-Type: application/rss+xml", "Accept-Encoding: gzip"
TEXT = rss(FRENCH * 3, "utf-8", items=30)
GOOD = gzip.compress(TEXT.encode(), mtime=0)


def reply(coded, *fields, kind=XML):
    return message("200 OK", kind, "Content-Encoding: gzip", *fields, body=coded)


def passed(got):
    """Whether these are the origin's own bytes, told as the gzip form."""
    assert got["Content-Encoding"] == "gzip" and "accept-encoding" in got.tokens("Vary")
    return got["Content-Length"] == str(len(got.body))


def test_as_it_came(proxy, origin):
    got, _ = proxy.through(origin, reply(GOOD, 'ETag: "1"'), "/f", WANTS)
    assert passed(got) and got.body == GOOD and got["Content-Type"] == "application/xml; charset=utf-8"
    assert got.rule == "auto:2.0/1.2;charset=utf-8" and re.fullmatch(r'"1;utf-[0-9a-f]{8};gz"', got["ETag"])
    plain, _ = proxy.through(origin, reply(GOOD, 'ETag: "1"'), "/f")
    assert plain.body == TEXT.encode() and "Content-Encoding" not in plain and plain["ETag"] == got["ETag"].replace(";gz", "")
    assert {name for name, _ in plain.fields} - {name for name, _ in got.fields} <= {"Transfer-Encoding"}


def test_long_ones_as_they_came(proxy, origin):
    """Longer than what one call unpacks."""
    text = TEXT.replace("</channel>", f"<!-- {random.Random(8).randbytes(30_000).hex()} --></channel>").encode()
    coded = gzip.compress(text, mtime=0)
    assert 24 * 1024 < len(coded) < 64 * 1024
    got, _ = proxy.through(origin, reply(coded), "/f", WANTS)
    assert passed(got) and got.body == coded
    assert proxy.through(origin, reply(coded), "/f")[0].body == text
    with pytest.raises(Cut):
        proxy.through(origin, reply(coded[:-8] + b"\0\0\0\0" + coded[-4:]), "/f", WANTS)


def named(data):
    out = io.BytesIO()
    with gzip.GzipFile("feed.xml", "wb", fileobj=out, mtime=0) as file:
        file.write(data)
    return out.getvalue()


def checked(coded):
    """With the header's checksum, which few make and not all read."""
    head = coded[:3] + b"\2" + coded[4:10]
    return head + struct.pack("<H", zlib.crc32(head) & 0xffff) + coded[10:]


# What is made anew: body, and the text that arrives
ANEW = {
    "another charset": (gzip.compress(rss(RUSSIAN * 5, "windows-1251", items=30).encode("windows-1251")), utf_8(rss(RUSSIAN * 5, "windows-1251", items=30))),
    "a declaration that lies": (gzip.compress(rss(FRENCH, "koi8-r", items=30).encode()), utf_8(rss(FRENCH, "koi8-r", items=30))),
    "a control character": (gzip.compress(TEXT.replace("</rss>", "\1</rss>").encode()), TEXT.encode()),
    "a bare ampersand": (gzip.compress(TEXT.replace("été", "&").encode()), TEXT.replace("été", "&amp;").encode()),
    "a feed that ends early": (gzip.compress(TEXT.replace("</channel></rss>\n", "").encode()), TEXT.replace("</rss>\n", "</rss>").encode()),
    "with a file's name": (named(TEXT.encode()), TEXT.encode()),
    "with a checked header": (checked(GOOD), TEXT.encode()),
    "two members": (gzip.compress(TEXT[:900].encode()) + gzip.compress(TEXT[900:].encode()), TEXT.encode()),
    "padded": (GOOD + b"\0" * 20, TEXT.encode()),
}


@pytest.mark.parametrize("what", ANEW)
def test_made_anew(proxy, origin, what):
    coded, text = ANEW[what]
    for _ in range(2):
        got, _ = proxy.through(origin, reply(coded), "/f", WANTS)
        assert got["Content-Encoding"] == "gzip" and gzip.decompress(got.body) == text and got.body != coded, what


BROKEN = {
    "a wrong sum": GOOD[:-8] + b"\0\0\0\0" + GOOD[-4:],
    "a wrong length": GOOD[:-4] + struct.pack("<I", len(TEXT.encode()) - 1),
    "no end": GOOD[:-8],
    "damaged": GOOD[:200] + bytes(byte ^ 0xff for byte in GOOD[200:204]) + GOOD[204:],
    "no gzip": TEXT.encode(),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_is_a_502(proxy, origin, what):
    """Where it came whole and good before, too."""
    for coded, status in ((BROKEN[what], 502), (GOOD, 200), (GOOD, 200), (BROKEN[what], 502), (GOOD, 200)):
        got, _ = proxy.through(origin, reply(coded), "/f", WANTS)
        assert got.status == status, what


def test_cut_transfers(proxy, origin):
    """The origin leaves in the middle of what it said it would send."""
    proxy.through(origin, reply(GOOD), "/f", WANTS)
    client = proxy.client().ask("/f", WANTS)
    upstream = origin.receive()
    upstream.send(reply(GOOD)[:-40])
    upstream.close()
    try:
        assert client.response().status == 502
    except Cut:
        pass


def test_what_comes_now_counts(start, origin):
    """The same URL, the same length, and at each place another byte: never what came before, and never as it came where that is wrong."""
    proxy = start(origin)
    for _ in range(2):
        assert passed(proxy.through(origin, reply(GOOD), "/f", WANTS)[0])
    stored = [zlib.compressobj(0, zlib.DEFLATED, 31) for _ in range(2)]
    same, other = (pack.compress(text) + pack.flush() for pack, text in zip(stored, (TEXT.encode(), TEXT.replace("rss>\n", "rss>\1").encode())))
    assert len(same) == len(other)
    for coded, text in ((same, TEXT), (other, TEXT.replace("rss>\n", "rss>")), (same, TEXT)):
        got, _ = proxy.through(origin, reply(coded), "/f", WANTS)
        assert gzip.decompress(got.body) == text.encode() and (got.body == coded) == (coded is same)


def test_each_url_and_type_is_judged_for_itself(start, origin):
    proxy = start(origin)
    for target, fields in (("/f", ()), ("/g", ()), ("/f", ("Content-Language: fr",))):
        assert passed(proxy.through(origin, reply(GOOD, *fields), target, WANTS)[0])
    assert proxy.through(origin, reply(GOOD, kind="Content-Type: text/xml; charset=koi8-r"), "/f", WANTS)[0].rule.startswith("auto:2.5/utf8;")


def test_who_gets_it_otherwise(proxy, origin):
    """No gzip for those who do not take it, a part of nothing, nothing to HTTP/1.0, and a HEAD that tells the same."""
    text = TEXT.encode()
    for _ in range(2):
        assert proxy.through(origin, reply(GOOD), "/f")[0].body == text
        assert proxy.through(origin, reply(GOOD), "/f", "Accept-Encoding: gzip;q=0")[0].body == text
        assert proxy.through(origin, reply(GOOD), "/f", WANTS, version="HTTP/1.0")[0].body == text
        head, _ = proxy.through(origin, reply(GOOD), "/f", WANTS, method="HEAD")
        got, _ = proxy.through(origin, reply(GOOD), "/f", WANTS)
        assert passed(got) and head.head() == got.head() and head.body == b""
        part, _ = proxy.through(origin, reply(GOOD), "/f", WANTS, "Range: bytes=5-9")
        assert part.status == 200 and gzip.decompress(part.body) == text or part.status == 206 and part.body == text[5:10]


def test_preconditions_on_its_tag(proxy, origin):
    got, _ = proxy.through(origin, reply(GOOD, 'ETag: "1"'), "/f", WANTS)
    again, _ = proxy.through(origin, reply(GOOD, 'ETag: "1"'), "/f", WANTS, f"If-None-Match: {got['ETag']}")
    assert again.status in (200, 304) and again["ETag"] == got["ETag"] and (again.status == 304) == (again.body == b"")


def test_without_a_length_it_streams(proxy, origin):
    got, _ = proxy.through(origin, message("200 OK", XML, "Content-Encoding: gzip", "Transfer-Encoding: chunked", body=chunked(GOOD, [100])), "/f", WANTS)
    assert gzip.decompress(got.body) == TEXT.encode() and not passed(got)


@pytest.mark.parametrize("kind", ["text/html", "text/plain", "application/octet-stream"])
def test_other_types_are_not_held_back(start, origin, kind):
    """A page's reader gets what there is of it, though the rest does not come."""
    proxy = start(origin)
    page = zlib.compressobj(6, zlib.DEFLATED, 31)
    first = page.compress(b"<!DOCTYPE html><html><body>" + b"words " * 3000) + page.flush(zlib.Z_SYNC_FLUSH)
    client = proxy.client().ask("/f", WANTS)
    upstream = origin.receive()
    upstream.send(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Encoding: gzip\r\nContent-Length: 5000\r\n\r\n".encode() + first)
    client.arrives()
    upstream.close()


def test_the_log_tells_of_it(start, origin):
    proxy = start(origin)
    for _ in range(2):
        proxy.through(origin, reply(GOOD), "/f", WANTS)
    first, second = proxy.access_lines(2)
    assert b"auto:2.0/1.2" in first and f" {len(GOOD)} ".encode() in first and f" {len(GOOD)} ".encode() in second


def test_small_ones_stay_plain(start, origin):
    """gzip-min counts what is unpacked."""
    proxy, small = start(origin), gzip.compress(rss(FRENCH, "utf-8", items=1).encode())
    for _ in range(2):
        got, _ = proxy.through(origin, reply(small), "/f", WANTS)
        assert "Content-Encoding" not in got and got.body == rss(FRENCH, "utf-8", items=1).encode()
    assert passed(start(origin, "--gzip-min", "0").through(origin, reply(small), "/f", WANTS)[0])
    off, _ = start(origin, "--gzip", "off").through(origin, reply(GOOD), "/f", WANTS)
    assert "Content-Encoding" not in off and off.body == TEXT.encode()


def test_limits_hold(start, origin):
    """What unpacks to more than it may is refused, whether it is known or not."""
    assert start(origin, "--decoded-max", "2k").through(origin, reply(GOOD), "/f", WANTS)[0].status == 502


def test_bombs(proxy, origin):
    """Lengths that lie about what is to come."""
    bomb = gzip.compress(rss(FRENCH).encode() + b" " * 20_000_000, mtime=0)
    for said in (100, 0, 0xffffffff, 20_000_000):
        with pytest.raises(Cut):
            proxy.through(origin, reply(bomb[:-4] + struct.pack("<I", said)), "/f", WANTS)


def test_many_at_once(start, origin):
    """Each connection its own answer, pipelined and not."""
    proxy = start(origin, "--workers", "2")
    others = {"/a": GOOD, "/b": ANEW["another charset"][0], "/c": gzip.compress(TEXT.encode(), 1, mtime=0), "/d": GOOD}
    for _ in range(3):
        clients = {target: proxy.client().ask(target, WANTS) for target in others}
        for _ in others:
            upstream = origin.receive()
            upstream.answer(reply(others[upstream.request.target]))
        for target, client in clients.items():
            want = ANEW["another charset"][1] if target == "/b" else TEXT.encode()
            assert gzip.decompress(client.response().body) == want


def test_stored_ones_are_whole(start, origin):
    """What is kept serves everybody: the plain form is there for those who ask for it."""
    proxy = start(origin, "--cache", "on")
    got, _ = proxy.through(origin, reply(GOOD, "Cache-Control: max-age=100"), "/f", WANTS)
    assert gzip.decompress(got.body) == TEXT.encode()
    assert proxy.get("/f").body == TEXT.encode() and gzip.decompress(proxy.get("/f", WANTS).body) == TEXT.encode()
    assert proxy.get("/f", "Range: bytes=3-9").body == TEXT.encode()[3:10]


def test_plain_answers_too(proxy, origin):
    """Behind one that passed, on the same connection."""
    client = proxy.client()
    for body, fields in ((GOOD, ("Content-Encoding: gzip",)), (SMALL, ()), (GOOD, ("Content-Encoding: gzip",))):
        client.ask("/f", WANTS)
        origin.receive().answer(message("200 OK", XML, *fields, body=body))
        got = client.response()
        assert (gzip.decompress(got.body) if got["Content-Encoding"] else got.body) == (TEXT.encode() if body is GOOD else utf_8(SMALL.decode("windows-1251")))
