"""Ranges that go to the origin (RFC 9110 section 14): of what utfeed does not change and does not keep whole.

In the other cases the whole is fetched, as test_cache.py has it.
"""
import re

import pytest

from feeds import SMALL
from pages import FRESH, Site, page, was_hit
from peers import Background
from wire import message

TAG, PAST = '"v1"', "Sat, 01 Jan 2022 00:00:00 GMT"
TEN = b"0123456789"
LARGE = bytes(range(251)) * 83_600        # 20.98 MB, and no two places alike within 251 bytes
TAKES = "Accept-Ranges: bytes"


@pytest.fixture
def site(origin):
    return Site(origin)


@pytest.fixture
def untouched(start, origin):
    """A utfeed whose one route changes nothing."""
    return start(None, "--route", f"/={origin.url} normalise=off")


def file(body, *fields, kind="audio/mpeg", tag=TAG, modified=PAST):
    """A page with ranges, as RFC 9110 sections 13.1.5 and 14 have it."""
    validators = tuple(f"{name}: {value}" for name, value in (("ETag", tag), ("Last-Modified", modified)) if value)

    def answer(request):
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", request["Range"] or "")
        if not asked or request["If-Range"] not in (None, tag, modified):
            return page(*fields, *validators, TAKES, body=body, kind=kind)
        first = int(asked[1]) if asked[1] else max(len(body) - int(asked[2]), 0)
        last = min(int(asked[2]), len(body) - 1) if asked[1] and asked[2] else len(body) - 1
        if first >= len(body):
            return page(f"Content-Range: bytes */{len(body)}", body=b"", kind=kind, status="416 Range Not Satisfiable")
        return page(*fields, *validators, f"Content-Range: bytes {first}-{last}/{len(body)}", body=body[first:last + 1], kind=kind,
                    status="206 Partial Content")
    return answer


def is_part(got, body, first, last):
    assert got.status == 206 and got["Content-Range"] == f"bytes {first}-{last}/{len(body)}", got.line
    assert got.body == body[first:last + 1]
    return True


# ---- by forward proxy and gateway: what is known to be no feed ----

@pytest.mark.parametrize("way", ["{}/f", "/{}/f"], ids=["forward", "gateway"])
def test_seeking_in_a_large_file(start, origin, site, way):
    proxy, url = start(), way.format(origin.url)
    site["/f"] = file(LARGE, FRESH)
    whole = proxy.get(url)
    assert whole.body == LARGE and whole["ETag"] == TAG and whole["Accept-Ranges"] == "bytes"
    for first, last, asking in ((20_000_000, 20_000_999, ()), (5_000_000, 5_099_999, (f"If-Range: {whole['ETag']}",)),
                                (7, 7, (f"If-Range: {whole['Last-Modified']}",))):
        got = proxy.get(url, f"Range: bytes={first}-{last}", *asking)
        assert is_part(got, LARGE, first, last) and got.rule == "none;reason=partial" and got["ETag"] == TAG
        asked = site.last("/f")
        assert asked["Range"] == f"bytes={first}-{last}" and asked["Accept-Encoding"] == "identity"
        assert asked["If-Range"] == (asking[0].split(": ", 1)[1] if asking else None)
    got = proxy.get(url, "Range: bytes=1-2", 'If-Range: "v0"')
    assert got.status == 200 and got.body == LARGE and site.last("/f")["If-Range"] == '"v0"' and site.count() == 5


def test_seeking_while_the_whole_is_on_its_way(start, origin, site):
    proxy, url = start(), f"{origin.url}/f"
    site["/f"] = file(LARGE, FRESH)
    slow = proxy.client(receive_buffer=4096).ask(url)
    slow.stream.need()
    assert is_part(proxy.get(url, "Range: bytes=20000000-20000009"), LARGE, 20_000_000, 20_000_009)
    assert slow.response().body == LARGE


def test_the_first_range_of_all_fetches_the_whole(start, origin, site):
    """Nobody knows yet that it is no feed."""
    proxy = start()
    site["/f"] = file(LARGE, FRESH)
    assert proxy.get(f"{origin.url}/f", "Range: bytes=1-2").body == LARGE and site.last("/f")["Range"] is None


@pytest.mark.parametrize("kind,fields,body", [
    ("application/octet-stream", (), b"\x01\x02" * 2000), ("text/plain", (), b"word " * 1000),
    ("application/pdf", ("Cache-Control: no-store",), TEN), ("application/xml", ("Cache-Control: no-transform",), SMALL * 20)], ids=str)
def test_what_is_known_to_be_no_feed_by_its_bytes(start, origin, site, kind, fields, body):
    proxy, url = start(None, "--cache-object-max", "1k"), f"{origin.url}/f"
    site["/f"] = file(body, *fields, kind=kind)
    assert proxy.get(url).body == body
    assert is_part(proxy.get(url, "Range: bytes=5-8"), body, 5, 8) and site.last("/f")["Range"] == "bytes=5-8"


@pytest.mark.parametrize("page_of", [
    lambda: file(SMALL + b"<!-- " + b"x" * 2000 + b" -->", FRESH, kind="application/xml"),
    lambda: page(FRESH, f"ETag: {TAG}", body=LARGE[:5000], kind="audio/mpeg"),
    lambda: page(FRESH, "Accept-Ranges: none", body=LARGE[:5000], kind="audio/mpeg"),
    lambda: page(TAKES, body=LARGE[:5000], kind="audio/mpeg", status="404 Not Found")],
                         ids=["feed", "does not say that it takes ranges", "says that it takes none", "not there"])
def test_never_in_parts(start, origin, site, page_of):
    proxy, url = start(None, "--cache-object-max", "1k"), f"{origin.url}/f"
    site["/f"] = page_of()
    whole = proxy.get(url)
    got = proxy.get(url, "Range: bytes=0-3")
    assert site.count() == 2 and site.last("/f")["Range"] is None and got.body in (whole.body, whole.body[:4])


def test_what_is_kept_whole_answers_ranges_itself(start, origin, site):
    proxy, url = start(), f"{origin.url}/f"
    site["/f"] = file(TEN, FRESH)
    proxy.get(url)
    assert is_part(proxy.get(url, "Range: bytes=2-4"), TEN, 2, 4) and site.count() == 1


def test_a_purge_ends_what_is_known(start, origin, site):
    proxy, url = start(), f"{origin.url}/f"
    site["/f"] = file(LARGE[:7 << 20], FRESH)
    proxy.get(url)
    assert proxy.get(url, method="PURGE").status == 200
    assert proxy.get(url, "Range: bytes=2-4").status == 200 and site.last("/f")["Range"] is None


# ---- routes that change nothing ----

@pytest.mark.parametrize("asking,span", [("bytes=2-4", (2, 4)), ("bytes=4-", (4, 9)), ("bytes=-3", (7, 9)), ("bytes=0-99", (0, 9))])
@pytest.mark.parametrize("cache", ["on", "off"])
def test_untouched_at_once(start, origin, site, asking, span, cache):
    proxy = start(None, "--route", f"/={origin.url} normalise=off cache={cache}")
    site["/f"] = file(TEN, FRESH)
    got = proxy.get("/f", f"Range: {asking}", f"If-Range: {TAG}")
    assert is_part(got, TEN, *span) and site.last("/f")["Range"] == asking and site.last("/f")["If-Range"] == TAG
    assert got["Content-Length"] == str(len(got.body)) and got.rule == "none;reason=partial"


@pytest.mark.parametrize("asking", [
    ("Range: bytes=0-1,4-5",), ("Range: bytes=0-1", "Range: bytes=0-1"), ("Range: lines=0-1",), ("Range: bytes=5-3",), ("Range: bytes=x-",),
    ("Range: bytes=0-1", f"If-Range: {TAG}", f"If-Range: {TAG}"), ("Range: bytes=0-1", 'If-Range: "v1;utf-0123abcd"'),
    ("Range: bytes=0-1", 'If-Range: "v1;utf-0123abcd;gz"')], ids=str)
@pytest.mark.parametrize("cache", ["on", "off"])
def test_asked_for_whole(start, origin, site, asking, cache):
    proxy = start(None, "--route", f"/={origin.url} normalise=off cache={cache}")
    site["/f"] = file(TEN, "Cache-Control: no-store")
    got = proxy.get("/f", *asking)
    assert "Range" not in site.last("/f") and "If-Range" not in site.last("/f") and got.status in (200, 206)


def test_head_has_no_range(untouched, site):
    site["/f"] = file(TEN, "Cache-Control: no-store")
    got = untouched.get("/f", "Range: bytes=0-1", method="HEAD")
    assert got.status == 200 and got["Content-Length"] == "10" and site.last("/f")["Range"] is None and "Content-Range" not in got


def test_416_passes_and_is_not_stored(untouched, site):
    site["/f"] = file(TEN, FRESH)
    for _ in range(2):
        got = untouched.get("/f", "Range: bytes=10-")
        assert got.status == 416 and got["Content-Range"] == "bytes */10"
    assert site.count() == 2 and untouched.get("/f").body == TEN


def test_several_parts_pass_and_are_not_stored(untouched, site):
    body = b"--x\r\nContent-Range: bytes 0-0/10\r\n\r\n0\r\n--x\r\nContent-Range: bytes 9-9/10\r\n\r\n9\r\n--x--\r\n"
    site["/f"] = page(FRESH, f"ETag: {TAG}", body=body, kind="multipart/byteranges; boundary=x", status="206 Partial Content")
    for _ in range(2):
        got = untouched.get("/f", "Range: bytes=0-9")
        assert got.status == 206 and got.body == body and got["Content-Type"] == "multipart/byteranges; boundary=x"
    assert site.count() == 2


@pytest.mark.parametrize("cache", ["on", "off"])
def test_a_part_of_a_coded_body_stays_coded(start, origin, site, cache):
    """Its origin did as it was not asked; unpacking from the middle would only fail."""
    proxy = start(None, "--route", f"/={origin.url} normalise=off cache={cache}")
    site["/f"] = page(FRESH, "Content-Range: bytes 5-9/30", "Content-Encoding: gzip", body=b"\x01\x02\x03\x04\x05", status="206 Partial Content")
    for _ in range(2):
        got = proxy.get("/f", "Range: bytes=5-9")
        assert got.status == 206 and got.body == b"\x01\x02\x03\x04\x05" and got["Content-Encoding"] == "gzip"
    assert site.count() == 2


@pytest.mark.parametrize("asking,status", [(f"If-None-Match: {TAG}", 304), ('If-None-Match: "v0"', 206), (f"If-Match: {TAG}", 206), ('If-Match: "v0"', 412),
                                           (f"If-Modified-Since: {PAST}", 304), ("If-Unmodified-Since: Fri, 01 Jan 2021 00:00:00 GMT", 412)])
def test_preconditions_come_before_the_range(untouched, site, asking, status):
    """RFC 9110 section 13.2.2."""
    site["/f"] = file(TEN, FRESH)
    got = untouched.get("/f", "Range: bytes=2-4", asking)
    assert got.status == status and got.body == (b"234" if status == 206 else b"")


def test_identical_ranges_do_not_wait_for_each_other(untouched, origin):
    clients = [untouched.client().ask("/f", "Range: bytes=0-1") for _ in range(3)]
    for upstream in [origin.receive() for _ in clients]:
        upstream.answer(page(FRESH, "Content-Range: bytes 0-1/10", body=b"01", status="206 Partial Content"))
    assert [client.response().body for client in clients] == [b"01"] * 3


# ---- poisoning ----

def test_a_range_never_makes_anothers_answer_partial(untouched, site):
    site["/f"] = file(TEN, FRESH)
    for asking in ("bytes=0-1", "bytes=5-", "bytes=-1"):
        untouched.get("/f", f"Range: {asking}")
        got = untouched.get("/f")
        assert got.status == 200 and got.body == TEN and "Content-Range" not in got


def test_nobody_joins_a_range(untouched, origin):
    """A whole that is asked for while a part is on its way is asked for by itself."""
    part = untouched.client().ask("/f", "Range: bytes=0-1")
    first = origin.receive()
    whole = untouched.client().ask("/f")
    second = origin.receive()
    assert first.request["Range"] == "bytes=0-1" and second.request["Range"] is None
    first.answer(page(FRESH, f"ETag: {TAG}", "Content-Range: bytes 0-1/10", body=b"01", status="206 Partial Content"))
    second.answer(page(FRESH, f"ETag: {TAG}", body=TEN))
    assert part.response().body == b"01" and whole.response().body == TEN and untouched.get("/f").body == TEN


@pytest.mark.parametrize("status", ["404 Not Found", "400 Bad Request", "501 Not Implemented", "301 Moved Permanently", "204 No Content"])
def test_what_a_range_provokes_is_not_stored(untouched, site, status):
    site["/f"] = lambda request: message(status, FRESH, "Location: http://evil.test/", length=False) + b"" if request["Range"] and status[:3] == "204" \
        else message(status, FRESH, "Location: http://evil.test/", body=b"x") if request["Range"] else page(FRESH, body=TEN)
    assert untouched.get("/f", "Range: bytes=0-1").status == int(status[:3])
    assert untouched.get("/f").body == TEN


def test_an_origin_without_ranges_is_stored_whole(untouched, site):
    site["/f"] = page(FRESH, body=TEN)
    assert untouched.get("/f", "Range: bytes=2-3").status in (200, 206) and was_hit(untouched.get("/f")) and site.count() == 1


def test_a_broken_part_is_cut(untouched, origin):
    asking = Background(lambda: untouched.client().ask("/f", "Range: bytes=0-4").response())
    origin.receive().answer(page(FRESH, "Content-Range: bytes 0-4/10", "Content-Length: 5", body=b"01", status="206 Partial Content"), close=True)
    with pytest.raises(Exception, match="fin|reset"):
        asking.join()
