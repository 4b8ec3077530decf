"""Ranges that go to the origin (RFC 9110 section 14): of what utfeed does not change and does not keep whole.

In the other cases the whole is fetched, as test_cache.py has it.
"""
import re
from email.utils import formatdate

import pytest

from feeds import SMALL
from pages import FRESH, Site, page, was_hit
from peers import Background
from wire import Cut, chunked, message

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
    slow.arrives()
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


# ---- parts in the store (RFC 9111 sections 3.3 and 3.4) ----

def now():
    """After PAST, which makes that a strong validator."""
    return f"Date: {formatdate(usegmt=True)}"


SMALL_PARTS = "--cache-object-max", "1k"


def ranges(proxy, *asked, target="/f"):
    """Asks for ranges of TEN, each checked; which were hits."""
    got = [(proxy.get(target, f"Range: bytes={first}-{last}"), first, last) for first, last in asked]
    return [is_part(each, TEN, first, last) and was_hit(each) for each, first, last in got]


def part(data, first, last, *fields, tag=TAG, total=None):
    validator = (f"ETag: {tag}",) if tag else ()
    return page(*fields, *validator, f"Content-Range: bytes {first}-{last}/{total or len(data)}", body=data[first:last + 1], kind="audio/mpeg",
                status="206 Partial Content")


@pytest.fixture
def untouched_on(start, origin, store):
    """The same on each store in turn."""
    return start(None, "--route", f"/={origin.url} normalise=off", *store)


def test_what_lies_inside_a_part_is_answered_from_it(untouched, site):
    site["/f"] = file(TEN, FRESH, "Age: 7")
    first = untouched.get("/f", "Range: bytes=2-7")
    assert is_part(first, TEN, 2, 7) and "stored" in first["Cache-Status"]
    for asking, span in (("bytes=2-7", (2, 7)), ("bytes=3-4", (3, 4)), ("bytes=7-7", (7, 7)), ("bytes=2-2", (2, 2))):
        got = untouched.get("/f", f"Range: {asking}")
        assert is_part(got, TEN, *span) and was_hit(got) and int(got["Age"]) >= 7 and got["ETag"] == TAG and got["Content-Length"] == str(len(got.body))
        assert got.rule == "none;reason=partial"
    assert site.count() == 1


@pytest.mark.parametrize("asking,span", [("bytes=1-4", (1, 4)), ("bytes=4-8", (4, 8)), ("bytes=-5", (5, 9)), ("bytes=4-", (4, 9)), ("bytes=0-0", (0, 0))])
def test_what_does_not_is_asked_for(untouched, site, asking, span):
    site["/f"] = file(TEN, FRESH)
    untouched.get("/f", "Range: bytes=2-7")
    got = untouched.get("/f", f"Range: {asking}")
    assert is_part(got, TEN, *span) and "fwd=partial" in got["Cache-Status"] and site.last("/f")["Range"] == asking


@pytest.mark.parametrize("asked", [[(0, 3), (4, 9)], [(4, 9), (0, 3)], [(0, 5), (3, 9)], [(5, 9), (3, 6), (0, 3)], [(3, 5), (2, 7), (0, 4), (6, 9)],
                                   [(0, 9)], [(4, 4), (0, 9)]], ids=str)
def test_parts_that_make_the_whole(untouched_on, site, asked):
    site["/f"] = file(TEN, FRESH)
    assert not any(ranges(untouched_on, *asked))
    for _ in range(2):
        got = untouched_on.get("/f")
        assert got.status == 200 and got.body == TEN and was_hit(got) and got["Content-Length"] == "10" and "Content-Range" not in got
        assert got.rule == "none;reason=disabled" and got["ETag"] == TAG
    assert all(ranges(untouched_on, (0, 0), (2, 8), (0, 9))) and site.count() == len(asked)


def test_a_large_whole_in_parts(untouched, site):
    body = LARGE[:5_000_000]
    site["/f"] = file(body, FRESH)
    for first in range(0, len(body), 1_000_000):
        assert is_part(untouched.get("/f", f"Range: bytes={first}-{first + 999_999}"), body, first, first + 999_999)
    got = untouched.get("/f")
    assert was_hit(got) and got.body == body


def test_a_larger_part_grows(untouched, site):
    site["/f"] = file(TEN, FRESH)
    assert ranges(untouched, (4, 5), (6, 7), (4, 7), (5, 6), (2, 3), (2, 7)) == [False, False, True, True, False, True]


def test_parts_with_a_gap_do_not_meet(untouched, site):
    site["/f"] = file(TEN, FRESH)
    assert ranges(untouched, (0, 2), (4, 9), (4, 9), (0, 2)) == [False, False, True, False]
    assert not was_hit(untouched.get("/f")) and untouched.get("/f").body == TEN


def test_fields_of_the_newer_response_count(untouched, site):
    """RFC 9111 section 3.4, as section 3.2 has it."""
    site["/f"] = lambda request: part(TEN, 0, 4, FRESH, "A: 1", "B: 1") if request["Range"] == "bytes=0-4" else part(TEN, 5, 9, FRESH, "A: 2", "C: 2")
    ranges(untouched, (0, 4), (5, 9))
    got = untouched.get("/f")
    assert was_hit(got) and got.body == TEN and (got["A"], got["B"], got["C"]) == ("2", "1", "2")


def test_another_version_takes_the_place_of_a_part(untouched, site):
    other = b"abcdefghij"
    site["/f"] = file(TEN, FRESH)
    ranges(untouched, (0, 4))
    site["/f"] = file(other, FRESH, tag='"v2"')
    assert is_part(untouched.get("/f", "Range: bytes=5-9"), other, 5, 9)
    got = untouched.get("/f", "Range: bytes=6-7")
    assert was_hit(got) and got.body == b"gh"
    assert untouched.get("/f", "Range: bytes=0-4").body == b"abcde" and untouched.get("/f").body == other


@pytest.mark.parametrize("whole", [lambda: page("Cache-Control: no-store", f"ETag: {TAG}", body=LARGE[:20]), lambda: part(LARGE[:20], 5, 9, "Cache-Control: no-store", tag='"v2"')],
                         ids=["whole", "part"])
def test_what_shows_that_a_part_is_past_ends_it(untouched, site, whole):
    site["/f"] = file(TEN, FRESH)
    ranges(untouched, (0, 4))
    site["/f"] = whole()
    untouched.get("/f", "Range: bytes=5-9")
    site["/f"] = file(TEN, FRESH)
    assert ranges(untouched, (0, 4)) == [False]


@pytest.mark.parametrize("one,two", [
    (part(TEN, 0, 4, FRESH, tag='W/"v1"'), part(TEN, 5, 9, FRESH, tag='W/"v1"')), (part(TEN, 0, 4, FRESH, tag=None), part(TEN, 5, 9, FRESH, tag=None)),
    (part(TEN, 0, 4, FRESH, tag="v1"), part(TEN, 5, 9, FRESH, tag="v1")),
    (part(TEN, 0, 4, FRESH, f"Last-Modified: {PAST}", tag=None), part(TEN, 5, 9, FRESH, f"Last-Modified: {PAST}", tag=None)),
    (part(TEN, 0, 4, FRESH, total=11), part(TEN, 5, 9, FRESH)), (part(TEN, 0, 4, FRESH), part(TEN, 5, 9, FRESH, tag='"v2"')),
    (lambda: part(TEN, 0, 4, FRESH, f"Last-Modified: {PAST}", now(), tag=None), part(TEN, 5, 9, FRESH)),
    (part(TEN, 0, 4, FRESH), part(TEN, 5, 9, "Cache-Control: no-store"))],
    ids=["weak", "none", "no tag", "date without Date", "other total", "other tag", "a date and a tag", "no-store"])
def test_what_is_not_put_together(untouched, site, one, two):
    one = one() if callable(one) else one
    site["/f"] = lambda request: {"bytes=0-4": one, "bytes=5-9": two}.get(request["Range"], page(body=b"whole"))
    for asking in ("bytes=0-4", "bytes=5-9"):
        assert untouched.get("/f", f"Range: {asking}").status == 206
    assert untouched.get("/f").body == b"whole"


def test_a_strong_date_is_a_validator(untouched, site):
    site["/f"] = file(TEN, FRESH, now(), tag=None)
    assert ranges(untouched, (0, 4), (5, 9), (0, 9)) == [False, False, True] and was_hit(untouched.get("/f"))


@pytest.mark.parametrize("field,body", [
    ("bytes 4-9/10", b"01234"), ("bytes 4-9/10", b"0123456"), ("bytes 9-4/10", TEN[4:]), ("bytes 4-10/10", TEN[:7]), ("bytes 4-9/*", TEN[4:]),
    ("lines 4-9/10", TEN[4:]), ("4-9/10", TEN[4:]), ("bytes 4-9/99999999999999999999", TEN[4:]), ("bytes 18446744073709551620-9/10", TEN[4:]),
    ("bytes 4-9/10, bytes 4-9/10", TEN[4:]), ("", TEN[4:])])
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_parts_that_are_none_pass_and_are_not_stored(untouched, site, field, body, framing):
    fields = FRESH, f"ETag: {TAG}", *((f"Content-Range: {field}",) if field else ())
    site["/f"] = page(*fields, body=body, status="206 Partial Content") if framing == "length" else \
        message("206 Partial Content", *fields, "Transfer-Encoding: chunked", body=chunked(body))
    for _ in range(2):
        assert untouched.get("/f", "Range: bytes=4-9").body == body
    assert site.count() == 2


@pytest.mark.parametrize("asking,fields", [((), ("Cache-Control: private, max-age=60",)), (("Cache-Control: no-store",), (FRESH,)), ((), (FRESH, "Vary: *")),
                                           ((), ("Set-Cookie: a=1",)), ((), (FRESH, "Content-Encoding: br"))], ids=str)
def test_parts_that_may_not_be_stored(untouched, site, asking, fields):
    site["/f"] = file(TEN, *fields)
    for _ in range(2):
        assert is_part(untouched.get("/f", "Range: bytes=2-4", *asking), TEN, 2, 4)
    assert site.count() == 2


@pytest.mark.parametrize("reply", [
    message("206 Partial Content", FRESH, f"ETag: {TAG}", "Content-Range: bytes 0-4/10", "Content-Length: 5", body=b"0123", length=False),
    message("206 Partial Content", FRESH, f"ETag: {TAG}", "Content-Range: bytes 0-4/10", "Transfer-Encoding: chunked", body=chunked(b"01234", end=b"")),
    message("206 Partial Content", FRESH, f"ETag: {TAG}", "Content-Range: bytes 0-4/10", "Content-Length: 5", body=b"012345", length=False)],
                         ids=["short", "unended", "over-long"])
def test_broken_parts_are_not_stored(untouched, origin, reply):
    client = untouched.client().ask("/f", "Range: bytes=0-4")
    origin.receive().answer(reply, close=True)
    try:
        assert client.response().body == b"01234"
    except Cut:
        pass
    again = untouched.client().ask("/f", "Range: bytes=0-4")
    origin.receive().answer(part(TEN, 0, 4, FRESH))
    assert is_part(again.response(), TEN, 0, 4)


def test_parts_larger_than_allowed(start, origin, site):
    """What two make together is not kept, the newer one is; what is too large by itself leaves the one that is there."""
    proxy = start(None, "--route", f"/={origin.url} normalise=off", *SMALL_PARTS)
    body = LARGE[:3000]
    site["/f"] = file(body, FRESH)
    hits = []
    for first, last in ((0, 799), (800, 1599), (800, 1599), (0, 799), (0, 2000), (0, 799)):
        got = proxy.get("/f", f"Range: bytes={first}-{last}")
        hits.append(is_part(got, body, first, last) and was_hit(got))
    assert hits == [False, False, True, False, False, True]


@pytest.mark.parametrize("asking,hit", [(f"If-Range: {TAG}", True), (f"If-Range: {PAST}", True), ('If-Range: "v0"', False), (f"If-Range: W/{TAG}", False)])
def test_if_range_of_a_part(untouched, site, asking, hit):
    site["/f"] = file(TEN, FRESH, now())
    ranges(untouched, (2, 7))
    got = untouched.get("/f", "Range: bytes=3-4", asking)
    assert was_hit(got) == hit and (got.body == b"34" if hit else got.body == TEN and site.last("/f")["If-Range"] == asking.split(": ", 1)[1])


@pytest.mark.parametrize("asking,status", [(f"If-None-Match: {TAG}", 304), (f"If-Match: {TAG}", 206), ('If-Match: "v0"', 412)])
def test_preconditions_on_a_part(untouched, site, asking, status):
    site["/f"] = file(TEN, FRESH)
    ranges(untouched, (2, 7))
    got = untouched.get("/f", "Range: bytes=3-4", asking)
    assert got.status == status and was_hit(got) and got.body == (b"34" if status == 206 else b"")


STALE = "Cache-Control: max-age=1, stale-if-error=600", "Age: 60"


def test_a_stale_part_is_validated(untouched, site):
    def answer(request):
        if request["If-None-Match"] == TAG:
            return message("304 Not Modified", f"ETag: {TAG}", FRESH, "A: 2", length=False)
        return file(TEN, *STALE, "A: 1")(request)
    site["/f"] = answer
    ranges(untouched, (2, 7))
    got = untouched.get("/f", "Range: bytes=3-4")
    assert is_part(got, TEN, 3, 4) and "fwd=stale; fwd-status=304" in got["Cache-Status"] and got["A"] == "2"
    assert site.last("/f")["If-None-Match"] == TAG and site.last("/f")["Range"] == "bytes=3-4"
    got = untouched.get("/f", "Range: bytes=2-7")
    assert is_part(got, TEN, 2, 7) and was_hit(got) and site.count() == 2
    assert untouched.get("/f").body == TEN and site.count() == 3


def test_a_stale_part_that_has_changed(untouched, site):
    other = b"abcdefghij"
    site["/f"] = file(TEN, *STALE)
    ranges(untouched, (2, 7))
    site["/f"] = file(other, FRESH, tag='"v2"')
    assert is_part(untouched.get("/f", "Range: bytes=3-4"), other, 3, 4)
    got = untouched.get("/f", "Range: bytes=3-3")
    assert was_hit(got) and got.body == b"d"


def test_a_stale_part_while_the_origin_errs(untouched, site):
    site["/f"] = file(TEN, *STALE)
    ranges(untouched, (2, 7))
    site["/f"] = page(status="503 Service Unavailable")
    got = untouched.get("/f", "Range: bytes=3-4")
    assert is_part(got, TEN, 3, 4) and "fwd-status=503" in got["Cache-Status"]
    assert untouched.get("/f").status == untouched.get("/f", "Range: bytes=3-9").status == 503


def test_only_if_cached_and_parts(untouched, site):
    site["/f"] = file(TEN, FRESH)
    ranges(untouched, (2, 7))
    asked = "Cache-Control: only-if-cached"
    assert untouched.get("/f", "Range: bytes=3-4", asked).body == b"34"
    assert untouched.get("/f", "Range: bytes=1-4", asked).status == untouched.get("/f", asked).status == 504 and site.count() == 1


def test_variants_have_parts_of_their_own(untouched, site):
    """A date is no name of a variant: two that changed in the same second are not one."""
    def answer(request):
        words = b"abcdefghij" if request["Accept-Language"] == "de" else TEN
        return file(words, FRESH, "Vary: Accept-Language", now(), tag=None)(request)
    site["/f"] = answer
    for language, words in (("de", b"abcdefghij"), ("en", TEN), ("de", b"abcdefghij")):
        for first, last in ((0, 4), (5, 9), (2, 7)):
            assert is_part(untouched.get("/f", f"Range: bytes={first}-{last}", f"Accept-Language: {language}"), words, first, last)
        got = untouched.get("/f", f"Accept-Language: {language}")
        assert was_hit(got) and got.body == words


def test_a_part_of_a_variant_is_not_put_to_one_of_none(untouched, site):
    site["/f"] = lambda request: file(TEN, FRESH, now(), *(("Vary: Accept-Language",) if request["Range"] == "bytes=5-9" else ()), tag=None)(request)
    ranges(untouched, (0, 4), (5, 9))
    assert not was_hit(untouched.get("/f"))


def test_a_part_answers_nobody_elses_question(untouched, site):
    """Not the whole, not HEAD, not another query, not several ranges."""
    site["*"] = file(TEN, FRESH)
    for number, (target, asking, method) in enumerate([("/f", (), "GET"), ("/f", (), "HEAD"), ("/f?a", ("Range: bytes=3-4",), "GET"), ("/f", ("Range: bytes=3-4,5-6",), "GET")]):
        path = f"/{number}" if target == "/f" else f"/{number}?a"
        ranges(untouched, (2, 7), target=f"/{number}")
        got = untouched.get(path, *asking, method=method)
        assert not was_hit(got) and got.status == (206 if "?" in path else 200)
        assert got["Content-Length"] == ("2" if "?" in path else "10")


@pytest.mark.parametrize("what,status", [("url", "Purged."), ("url, soft", "Marked stale.")])
def test_parts_are_purged(untouched, site, what, status):
    site["/f"] = file(TEN, FRESH)
    ranges(untouched, (2, 7))
    assert untouched.get("/f", f"X-Purge: {what}", method="PURGE").body == f"{status} (1)\n".encode()
    assert ranges(untouched, (2, 7)) == [False]


def test_parts_are_invalidated(untouched, site):
    site["/f"] = file(TEN, FRESH)
    ranges(untouched, (2, 7))
    untouched.get("/f", "Content-Length: 0", method="POST")
    assert ranges(untouched, (2, 7)) == [False]


def test_a_part_that_is_purged_on_its_way_does_not_come_back(untouched, origin):
    client = untouched.client().ask("/f", "Range: bytes=0-4")
    upstream = origin.receive()
    assert untouched.get("/f", method="PURGE").status == 200
    upstream.answer(part(TEN, 0, 4, FRESH))
    assert is_part(client.response(), TEN, 0, 4)
    again = untouched.client().ask("/f", "Range: bytes=0-4")
    origin.receive().answer(part(TEN, 0, 4, FRESH))
    assert is_part(again.response(), TEN, 0, 4)


def test_parts_survive_a_restart(start, origin, site, tmp_path):
    options = "--route", f"/={origin.url} normalise=off", "--cache-lmdb", str(tmp_path), "--cache-lmdb-bytes", "64m"
    site["/f"] = file(TEN, FRESH)
    first = start(None, *options)
    ranges(first, (2, 7))
    first.stop()
    second = start(None, *options)
    assert ranges(second, (3, 4)) == [True] and not was_hit(second.get("/f", method="HEAD"))
    site["/g"] = file(TEN, FRESH)
    ranges(second, (0, 4), target="/g")
    second.stop()
    third = start(None, *options)
    ranges(third, (5, 9), target="/g")
    got = third.get("/g")
    assert was_hit(got) and got.body == TEN


def test_where_a_route_normalises_parts_stay_parts(start, origin, site):
    """A whole is looked at from its beginning; what parts of it never were."""
    proxy, url = start(), f"{origin.url}/f"
    site["/f"] = lambda request: file(TEN, FRESH if request["Range"] else "Cache-Control: no-store", kind="application/octet-stream")(request)
    assert proxy.get(url).rule == "none;reason=not-xml"
    assert ranges(proxy, (0, 4), (5, 9), (0, 9), target=url) == [False, False, True]
    got = proxy.get(url)
    assert got.body == TEN and not was_hit(got) and got.rule == "none;reason=not-xml" and site.last("/f")["Range"] is None
