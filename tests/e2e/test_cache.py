"""The cache over real sockets: what is stored, for how long, for whom, and what every request gets of it (RFC 9110, 9111, 9211, 5861).

Nothing waits for a clock: what has to be stale arrives so, by its Age or by max-age=0.
"""
import gzip
import os
import threading
import time

import pytest

from feeds import SMALL
from pages import FRESH, Site, page, was_hit
from wire import TIMEOUT, chunked, message

XML = "application/xml"
PAST = "Sat, 01 Jan 2022 00:00:00 GMT"
LATER = "Sun, 02 Jan 2022 00:00:00 GMT"
ITEMS = SMALL.replace(b"</channel>", b"<item><title>x</title></item>" * 100 + b"</channel>")
STALE = "Cache-Control: max-age=1"        # together with an Age


@pytest.fixture
def site(origin):
    return Site(origin)


def feed(*fields, body=ITEMS):
    return page(*fields, body=body, kind=XML)


def on_condition(*fields, body=b"hello", kind="text/plain", tag='"a"', update=()):
    """A page that answers a condition on tag with 304."""
    def answer(request):
        if request["If-None-Match"] == tag if tag else request["If-Modified-Since"]:
            return message("304 Not Modified", *fields, *update, length=False)
        return page(*fields, body=body, kind=kind)
    return answer


# ---- freshness ----

def test_a_fresh_response_answers(proxy, site):
    site["/f"] = page(FRESH, "Age: 100")
    first, second = proxy.get("/f"), proxy.get("/f")
    assert not was_hit(first) and was_hit(second) and site.count() == 1
    assert "fwd=uri-miss" in first["Cache-Status"] and "stored" in first["Cache-Status"] and "fwd-status=200" in first["Cache-Status"]
    assert 100 <= int(second["Age"]) < 200 and second.body == first.body == b"hello"
    assert 400 < int(second["Cache-Status"].split("ttl=")[1].split(";")[0]) <= 500


def test_a_normalised_form_is_what_is_stored(proxy, site):
    site["/f"] = feed(FRESH)
    first, second = proxy.get("/f"), proxy.get("/f")
    assert first.body == second.body and first.status == second.status == 200 and site.count() == 1
    assert second["X-Encoding-Rule"].startswith("auto:") and second["Content-Type"] == "application/xml; charset=utf-8"


@pytest.mark.parametrize("fields", [
    (FRESH,), ("Cache-Control: s-maxage=60, max-age=0",), ("Cache-Control: public, max-age=60",), ("Expires: Thu, 01 Jan 2099 00:00:00 GMT",),
    (f"Last-Modified: {PAST}",), ("CDN-Cache-Control: max-age=60", "Cache-Control: no-store"), ("Cache-Control: MAX-AGE=60",),
    ("Cache-Control: max-age=\"60\"",), ("Cache-Control: must-understand, no-store, max-age=60",), (FRESH, "Vary: Accept-Encoding"),
], ids=str)
def test_stored_and_fresh(proxy, site, fields):
    site["/f"] = page(*fields)
    assert [was_hit(proxy.get("/f")) for _ in range(3)] == [False, True, True] and site.count() == 1


@pytest.mark.parametrize("asking,fields,why", [
    ((), ("Cache-Control: no-store, max-age=60",), "no-store"), ((), ("Cache-Control: private, max-age=60",), "private"),
    ((), (FRESH, "Vary: *"), "vary"), ((), ("Cache-Control: private=\"x\", max-age=60",), "private"),
    (("Cache-Control: no-store",), (FRESH,), "request-no-store"), ((), ("CDN-Cache-Control: no-store", FRESH), "no-store"),
    ((), ("Set-Cookie: a=1",), "set-cookie"), ((), ("Cache-Control: max-age=0",), None), ((), ("Cache-Control: no-cache, max-age=60",), None),
    ((), ("Expires: 0",), None), ((), ("Cache-Control: max-age=60", "Age: 61"), None), ((), ("Cache-Control: s-maxage=0, max-age=60",), None),
], ids=str)
def test_never_without_the_origin(proxy, site, asking, fields, why):
    """Cache-Status says why it was not stored, or that it was, to be revalidated."""
    site["/f"] = page(*fields)
    got = [proxy.get("/f", *asking) for _ in range(3)]
    assert not any(was_hit(each) for each in got) and site.count() == 3
    assert (f"; detail={why}" if why else "; stored") in got[0]["Cache-Status"]


def test_what_became_an_error_is_not_stored(start, origin, site):
    site["/f"] = page(FRESH, kind="text/plain", body=b"<rss><title>a</title></rss>")
    proxy = start(origin, "--policy", "rome-strict")
    got = [proxy.get("/f") for _ in range(2)]
    assert [each.status for each in got] == [502] * 2 and site.count() == 2
    assert got[0]["Cache-Status"] == got[1]["Cache-Status"] == "utfeed; fwd=uri-miss; fwd-status=200"


def test_authorization(start, origin, site):
    """RFC 9111 section 3.5: stored only where the response allows it."""
    proxy = start(None, "--route", f"/={origin.url} authorization=on")
    site["/private"], site["/public"] = page(FRESH), page("Cache-Control: public, max-age=60")
    for path, asked in (("/private", 3), ("/public", 1)):
        for word in "abc":
            proxy.get(path, f"Authorization: Basic {word}")
        assert site.count(path) == asked, path


@pytest.mark.parametrize("credentials, public", [("Authorization: Basic {}", 1), ("Cookie: id={}", 4)])
def test_forward_credentials(start, origin, site, credentials, public):
    """What a client got for its credentials is its own, for Authorization unless the response allows to share it (RFC 9111 section
    3.5); and a copy stored before is no answer to a cookie."""
    proxy = start(None, "--allow", "127.0.0.0/8:*", "--forward-credentials", "on")
    site["/mine"], site["/public"] = page(FRESH), page("Cache-Control: public, max-age=60")
    for path, asked in (("/mine", 4), ("/public", public)):
        for word in "aabb":
            proxy.get(f"{origin.url}{path}", credentials.format(word))
        assert site.count(path) == asked, path
    assert [was_hit(proxy.get(f"{origin.url}/mine")) for _ in range(2)] == [False, True]


@pytest.mark.parametrize("status", [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])
def test_every_status_cacheable_by_default(proxy, site, status):
    site["/f"] = message(f"{status} X", FRESH, body=b"" if status == 204 else b"x", length=status != 204)
    assert proxy.get("/f").status == proxy.get("/f").status == status and site.count() == 1


def test_errors_are_stored_for_a_minute_at_most(start, origin, site):
    site["/f"] = page("Cache-Control: max-age=600", "Age: 61", status="404 Not Found")
    for options, asked in (((), 2), (("--error-max", "0"), 1)):
        proxy, before = start(origin, *options), site.count()
        proxy.get("/f")
        proxy.get("/f")
        assert site.count() - before == asked, options


def test_objects_larger_than_allowed_pass_unstored(start, origin, site):
    proxy = start(origin, "--cache-object-max", "1k")
    site["/small"], site["/large"] = page(FRESH, body=b"x" * 1024), page(FRESH, body=b"x" * 1025)
    site["/chunked"] = message("200 OK", FRESH, "Transfer-Encoding: chunked", body=chunked(b"x" * 1025))
    for path, asked in (("/small", 1), ("/large", 2), ("/chunked", 2)):
        first = proxy.get(path)
        assert len(first.body) == len(proxy.get(path).body) and site.count(path) == asked, path
        assert ("stored" in first["Cache-Status"]) == (asked == 1), path


def test_memory_is_bounded(start, origin, site):
    proxy = start(origin, "--cache-bytes", "1m")
    site["*"] = page(FRESH, body=b"x" * 50_000)
    for number in range(60):
        proxy.get(f"/{number}")
    proxy.get("/59")
    hits = sum(proxy.get(f"/{number}", "Cache-Control: only-if-cached").status == 200 for number in range(60))
    assert 0 < hits <= 21


def test_routes_without_a_cache(start, origin, site):
    proxy = start(None, "--route", f"/={origin.url} cache=off")
    site["/f"] = page(FRESH)
    got = [proxy.get("/f") for _ in range(2)]
    assert site.count() == 2 and "fwd=bypass" in got[1]["Cache-Status"]


@pytest.mark.parametrize("option,fields,asked", [
    ("freshness-floor=10m", (), 1), ("freshness-floor=0", (), 2), ("freshness-floor=10m", ("Cache-Control: max-age=0",), 2),
    ("freshness-floor=10m", ("Cache-Control: no-store",), 2),
])
def test_a_floor_where_the_response_names_no_lifetime(start, origin, site, option, fields, asked):
    proxy = start(None, "--route", f"/={origin.url} {option}")
    site["/f"] = feed(*fields)
    proxy.get("/f")
    proxy.get("/f")
    assert site.count() == asked


def test_the_gateway_has_a_floor(start, origin, site):
    site["/f"] = feed()
    for options, asked in (((), 1), (("--freshness-floor", "0"), 2)):
        proxy, before = start(None, *options), site.count()
        for _ in range(2):
            assert proxy.get(f"/{origin.url}/f").status == 200
        assert site.count() - before == asked, options


@pytest.mark.parametrize("words", ["<ttl>10</ttl>", "<ttl> 1440 </ttl>", "<sy:updatePeriod>\n hourly</sy:updatePeriod>"])
def test_what_a_feed_says_of_itself(proxy, site, words):
    site["/f"] = feed(body=ITEMS.replace(b"<channel>", b"<channel>" + words.encode()))
    site["/says"] = feed("Cache-Control: max-age=0", body=ITEMS.replace(b"<channel>", b"<channel>" + words.encode()))
    for path, asked in (("/f", 1), ("/says", 2)):
        proxy.get(path)
        proxy.get(path)
        assert site.count(path) == asked, path


GMT = "%a, %d %b %Y %H:%M:%S GMT"


def feed_made(ago, *words, explicit=()):
    """A feed that was made so many seconds ago and says these words of itself."""
    body = ITEMS.replace(b"<channel>", b"<channel>" + "".join(words).encode())
    return feed("Date: " + time.strftime(GMT, time.gmtime(time.time() - ago)), *explicit, body=body)


def skipped(*ago):
    """skipHours of what was the hour so many seconds ago."""
    hours = {time.gmtime(time.time() - seconds).tm_hour for seconds in ago}
    return "<skipHours>" + "".join(f"<hour>{hour}</hour>" for hour in sorted(hours)) + "</skipHours>"


EVERY_HOUR = "<skipHours>" + "".join(f"<hour>{hour}</hour>" for hour in range(24)) + "</skipHours>"


@pytest.mark.parametrize("ago,words,explicit,options,hit", [
    (300, ('<ttl a="b">10</ttl>',), (), "", True),
    (900, ('<ttl a="b">10</ttl>',), (), "", False),
    (300, ("<item><ttl>10</ttl></item>",), (), "", False),
    (7200, ("<ttl>1</ttl>", EVERY_HOUR), (), "", True),
    (7200, ("<ttl>1</ttl>", EVERY_HOUR), (), "adaptive=off", True),
    (7200, ("<ttl>1</ttl>", EVERY_HOUR), ("Cache-Control: max-age=60",), "", False),
    (7200, ("<ttl>1</ttl>", skipped(0, 3600)), (), "", False),
    (7200, ("<ttl>1</ttl>", skipped(0, 3600, 7200, -3600)), (), "", True),
    (30 * 3600, ("<ttl>6000</ttl>",), (), "", False),
])
def test_hints_of_feeds(start, origin, site, ago, words, explicit, options, hit):
    """RSS 2.0 ttl and skipHours, counted from when the feed was made: only what no update could have come after is extended."""
    proxy = start(None, "--route", f"/={origin.url} {options}")
    site["/f"] = feed_made(ago, *words, explicit=explicit)
    assert [was_hit(proxy.get("/f")) for _ in range(2)] == [False, hit]


def test_hints_hold_after_a_304(proxy, site):
    def answer(request):
        if request["If-None-Match"]:
            return message("304 Not Modified", 'ETag: "a"', length=False)
        return feed_made(900, "<ttl>10</ttl>", explicit=('ETag: "a"',))
    site["/f"] = answer
    assert [was_hit(proxy.get("/f")) for _ in range(4)] == [False, False, True, True]


def test_a_targeted_field_counts_before_cache_control(proxy, site):
    """RFC 9213 section 2.2; caches between utfeed and the client learn of it too."""
    site["/f"] = page("CDN-Cache-Control: max-age=60", "Cache-Control: no-store", 'ETag: "a"')
    proxy.get("/f")
    got = proxy.get("/f", 'If-None-Match: "a"')
    assert site.count() == 1 and got.status == 304 and got["CDN-Cache-Control"] == "max-age=60"


# ---- requests' directives ----

@pytest.mark.parametrize("asking,hit", [
    ("Cache-Control: no-cache", False), ("Pragma: no-cache", False), ("Cache-Control: max-age=50", False), ("Cache-Control: max-age=200", True),
    ("Cache-Control: min-fresh=550", False), ("Cache-Control: min-fresh=10", True), ("Cache-Control: max-stale", True),
    ("Cache-Control: only-if-cached", True), ("Cache-Control: max-age=x", True),
])
def test_request_directives(proxy, site, asking, hit):
    site["/f"] = page(FRESH, "Age: 100")
    proxy.get("/f")
    assert was_hit(proxy.get("/f", asking)) == hit and site.count() == 2 - hit


@pytest.mark.parametrize("asking", ["Cache-Control: no-cache", "Pragma: no-cache", "Cache-Control: max-age=0", "Cache-Control: min-fresh=550"])
@pytest.mark.parametrize("options,route", [(("--client-no-cache", "off"), ""), ((), "client-no-cache=off")])
def test_reloads_that_do_not_count(start, origin, site, options, route, asking):
    """What is stale is asked for all the same."""
    proxy = start(None, *options, "--route", f"/={origin.url} {route}".strip())
    site["/f"], site["/stale"] = page(FRESH, "Age: 100"), page("Cache-Control: max-age=1", "Age: 100")
    for path in ("/f", "/stale"):
        proxy.get(path)
    assert was_hit(proxy.get("/f", asking)) and site.count("/f") == 1
    proxy.get("/stale", asking)
    assert site.count("/stale") == 2


def test_a_reload_that_does_not_count_gets_the_stale_copy_of_an_origin_that_errs(start, origin, site):
    for option, status in (("client-no-cache=off", 200), ("client-no-cache=on", 503)):
        proxy = start(None, "--route", f"/={origin.url} stale-if-error=1h {option}")
        site["/f"] = page(STALE, "Age: 100")
        proxy.get("/f")
        site["/f"] = message("503 X")
        assert proxy.get("/f", "Cache-Control: no-cache").status == status, option


@pytest.mark.parametrize("asking,more,hit", [("max-stale", "", True), ("max-stale=500", "", True), ("max-stale=5", "", False),
                                             ("max-stale", ", must-revalidate", False), ("max-stale", ", proxy-revalidate", False)])
def test_max_stale(proxy, site, asking, more, hit):
    site["/f"] = page(STALE + more, "Age: 100", 'ETag: "a"')
    proxy.get("/f")
    assert was_hit(proxy.get("/f", f"Cache-Control: {asking}")) == hit


def test_only_if_cached_of_what_is_not(proxy, site):
    got = proxy.get("/f", "Cache-Control: only-if-cached")
    assert got.status == 504 and site.count() == 0


# ---- validation ----

@pytest.mark.parametrize("tag,fields", [('"a"', ('ETag: "a"',)), ('W/"a"', ('ETag: W/"a"',)), (None, (f"Last-Modified: {PAST}",))])
def test_validation_updates_what_is_stored(proxy, site, tag, fields):
    site["/f"] = on_condition(*fields, "Cache-Control: no-cache", "X-Turn: 1", tag=tag, update=("X-Turn: 2",))
    first, second = proxy.get("/f"), proxy.get("/f")
    assert (first.status, second.status) == (200, 200) and second.body == b"hello" and site.count() == 2
    asked = site.last("/f")
    assert asked["If-None-Match"] == tag and asked["If-Modified-Since"] == (None if tag else PAST)
    assert "fwd-status=304" in second["Cache-Status"] and second.all("X-Turn")[-1] == "2"


def test_a_304_makes_fresh_again(proxy, site):
    turn = []

    def answer(request):
        turn.append(request)
        if request["If-None-Match"]:
            return message("304 Not Modified", FRESH, 'ETag: "a"', length=False)
        return page(STALE, "Age: 100", 'ETag: "a"')
    site["/f"] = answer
    for _ in range(5):
        assert proxy.get("/f").body == b"hello"
    assert len(turn) == 2


def test_a_200_replaces_what_is_stored(proxy, site):
    turn = []

    def answer(request):
        turn.append(request["If-None-Match"])
        return page("Cache-Control: no-cache", f'ETag: "{len(turn)}"', body=b"%d" % len(turn))
    site["/f"] = answer
    assert [proxy.get("/f").body for _ in range(3)] == [b"1", b"2", b"3"] and turn == [None, '"1"', '"2"']


@pytest.mark.parametrize("wants", [(), ("Accept-Encoding: gzip",)])
def test_our_own_tag_gets_304(proxy, site, wants):
    site["/f"] = feed(FRESH, 'ETag: "a"')
    first = proxy.get("/f", *wants)
    tag = first["ETag"]
    assert tag != '"a"' and tag.startswith('"a;utf-') and ("Content-Encoding" in first) == bool(wants)
    second = proxy.get("/f", f"If-None-Match: {tag}", *wants)
    assert second.status == 304 and second["ETag"] == tag and was_hit(second) and second.body == b"" and site.count() == 1
    assert "Content-Type" not in second and second.tokens("Vary") == first.tokens("Vary")
    plain = proxy.get("/f", 'If-None-Match: "b"', *wants)
    assert plain.status == 200 and site.count() == 1


def test_the_gzip_form_of_what_is_stored(proxy, site):
    site["/f"] = feed(FRESH, 'ETag: "a"')
    plain, packed = proxy.get("/f"), proxy.get("/f", "Accept-Encoding: gzip")
    assert gzip.decompress(packed.body) == plain.body and plain["ETag"] != packed["ETag"] and site.count() == 1
    assert proxy.get("/f").body == plain.body


@pytest.mark.parametrize("asking,status", [
    (f"If-Modified-Since: {LATER}", 304), (f"If-Modified-Since: {PAST}", 304), ("If-Modified-Since: Fri, 31 Dec 2021 00:00:00 GMT", 200),
    ("If-Modified-Since: nonsense", 200), ("If-None-Match: *", 304), ('If-None-Match: "x", "a"', 304), ('If-None-Match: W/"a"', 304),
    ('If-Match: "a"', 200), ('If-Match: "x"', 412), ('If-Match: W/"a"', 412), (f"If-Unmodified-Since: {PAST}", 200),
    ("If-Unmodified-Since: Fri, 31 Dec 2021 00:00:00 GMT", 412),
])
def test_preconditions_of_what_is_stored(proxy, site, asking, status):
    site["/f"] = page(FRESH, 'ETag: "a"', f"Last-Modified: {PAST}")
    proxy.get("/f")
    got = proxy.get("/f", asking)
    assert got.status == status and site.count() == 1 and (got.body == b"hello") == (status == 200)


def test_a_condition_on_a_miss_fetches_whole(proxy, site):
    site["/f"] = on_condition(FRESH, 'ETag: "a"')
    assert proxy.get("/f", 'If-None-Match: "a"').status == 304
    assert proxy.get("/f").body == b"hello"
    assert site.count() == 1 and site.last("/f")["If-None-Match"] is None


# ---- ranges, HEAD ----

@pytest.mark.parametrize("asking,status,span", [
    ("bytes=0-3", 206, (0, 4)), ("bytes=4-", 206, (4, 10)), ("bytes=-3", 206, (7, 10)), ("bytes=-99", 206, (0, 10)), ("bytes=9-99", 206, (9, 10)),
    ("bytes=10-", 416, None), ("bytes=-0", 416, None), ("bytes=3-2", 200, None), ("bytes=x-", 200, None), ("lines=0-1", 200, None),
    ("bytes=0-1,3-4", 200, None),
])
def test_ranges_of_what_is_stored(proxy, site, asking, status, span):
    site["/f"] = page(FRESH, 'ETag: "a"', body=b"0123456789")
    proxy.get("/f")
    got = proxy.get("/f", f"Range: {asking}")
    assert got.status == status and site.count() == 1
    if span:
        assert got.body == b"0123456789"[slice(*span)] and got["Content-Range"] == f"bytes {span[0]}-{span[1] - 1}/10"
    elif status == 416:
        assert got["Content-Range"] == "bytes */10"
    else:
        assert got.body == b"0123456789" and "Content-Range" not in got


@pytest.mark.parametrize("asking,status", [('"a"', 206), ('"b"', 200), ('W/"a"', 200), (PAST, 206), (LATER, 200)])
def test_if_range(proxy, site, asking, status):
    site["/f"] = page(FRESH, 'ETag: "a"', f"Last-Modified: {PAST}", body=b"0123456789")
    proxy.get("/f")
    assert proxy.get("/f", "Range: bytes=0-3", f"If-Range: {asking}").status == status and site.count() == 1


def test_a_range_on_a_miss_fetches_and_stores_the_whole(proxy, site):
    site["/f"] = page(FRESH, body=b"0123456789")
    assert proxy.get("/f", "Range: bytes=0-3").body in (b"0123", b"0123456789")
    assert proxy.get("/f").body == b"0123456789" and site.count() == 1 and "Range" not in site.last("/f")


def test_a_206_nobody_asked_for_is_not_stored(proxy, site):
    site["/f"] = page(FRESH, "Content-Range: bytes 0-4/10", status="206 Partial Content")
    proxy.get("/f")
    proxy.get("/f")
    assert site.count() == 2


def test_head_from_a_stored_get(proxy, site):
    site["/f"] = page(FRESH, 'ETag: "a"')
    got = proxy.get("/f")
    head = proxy.get("/f", method="HEAD")
    assert was_hit(head) and head["Content-Length"] == "5" and head["ETag"] == got["ETag"] and site.count() == 1


def test_head_on_a_miss_is_no_body_for_get(proxy, site):
    def answer(request):
        whole = page(FRESH, 'ETag: "a"')
        return whole[:whole.index(b"\r\n\r\n") + 4] if request.method == "HEAD" else whole
    site["/f"] = answer
    assert proxy.get("/f", method="HEAD").status == 200
    assert [proxy.get("/f").body for _ in range(2)] == [b"hello"] * 2


# ---- fields for one client ----

FOR_ONE = ["Set-Cookie: a=1", "Set-Cookie: b=2", "set-cookie2: c", "Authentication-Info: nextnonce=\"1\"", "Set-Login: logged-in"]


@pytest.mark.parametrize("asks", [(), ("Range: bytes=0-1",), ('If-None-Match: "x"',)])
def test_what_is_for_one_client_is_never_given_from_the_store(proxy, site, asks):
    """A cookie of the first client's session is nobody else's (RFC 9111 section 7.3)."""
    site["/f"] = page(FRESH, *FOR_ONE, 'ETag: "a"', "X-A: 1", kind="text/plain")
    first, second = proxy.get("/f"), proxy.get("/f", *asks)
    assert first.all("Set-Cookie") == ["a=1", "b=2"] and first["Set-Cookie2"] == "c" and first["X-A"] == "1"
    assert was_hit(second) and second["X-A"] == "1" and site.count() == 1
    assert not [name for name in ("Set-Cookie", "Set-Cookie2", "Authentication-Info", "Set-Login") if name in second]


def test_a_confirmed_response_has_no_cookie_of_the_first_client(proxy, site):
    site["/f"] = lambda request: (message("304 X", FRESH, length=False) if request["If-None-Match"] else
                                  page("Cache-Control: max-age=1", "Age: 100", "Set-Cookie: a=1", 'ETag: "a"'))
    got = [proxy.get("/f") for _ in range(3)]
    assert [each["Set-Cookie"] for each in got] == ["a=1", None, None] and was_hit(got[2])


# ---- Vary ----

@pytest.mark.parametrize("name,one,same,other", [
    ("Accept-Language", "de, en;q=0.5", "DE,en;q=0.5", "fr"), ("Accept-Language", "de", None, "de, en"),
    ("Accept-Language", "de, fr", "DE;q=1.0 ,fr", "fr, de"), ("Accept", "text/xml, a/b;p=X", "Text/XML,a/b ; P=X", "a/b;p=X, text/xml"),
    ("Accept", "a/b;p=X", None, "a/b;p=x"),
    ("User-Agent", "one", None, "two"), ("From", "a@b", None, "A@b"), ("ACCEPT-LANGUAGE", "de", "de", None),
])
def test_vary(proxy, site, name, one, same, other):
    site["/f"] = lambda request: page(FRESH, f"Vary: {name}", body=repr(request[name]).encode())
    asking = [(f"{name}: {value}",) if value else () for value in (one, same or one, other)]
    bodies = [proxy.get("/f", *each).body for each in asking]
    assert bodies[0] == bodies[1] != bodies[2] and site.count() == 2
    assert proxy.get("/f", *asking[0]).body == bodies[0] and proxy.get("/f", *asking[2]).body == bodies[2] and site.count() == 2


@pytest.mark.parametrize("between", [(), ("Vary: From",)])
def test_an_older_variant_does_not_come_back(proxy, site, between):
    """Section 4: once something newer for all, or by other fields, had the place of the record of variants, and a client got it."""
    vary = ["Vary: User-Agent"]
    site["/f"] = lambda request: page(FRESH, *vary, body=b"%d" % site.count())
    assert proxy.get("/f", "User-Agent: a").body == b"1"
    vary[:] = between
    assert proxy.get("/f", "User-Agent: b").body == b"2" and proxy.get("/f", "User-Agent: a").body == b"2"
    vary[:] = ["Vary: User-Agent"]
    assert proxy.get("/f", "User-Agent: b", "Cache-Control: no-cache").body == b"3"
    assert proxy.get("/f", "User-Agent: a").body == b"4" and proxy.get("/f", "User-Agent: b").body == b"3"


def test_encodings_of_clients_never_split_the_cache(proxy, site):
    site["/f"] = feed(FRESH, "Vary: Accept-Encoding")
    for wish in ("gzip", "br", "identity", "gzip;q=0, *"):
        assert proxy.get("/f", f"Accept-Encoding: {wish}").status == 200
    assert site.count() == 1


def test_policies_have_copies_of_their_own(proxy, site):
    site["/f"] = feed(FRESH)
    rules = {policy: proxy.get("/f", f"X-Encoding-Policy: {policy}")["X-Encoding-Rule"] for policy in ("auto", "rfc7303", "auto", "rfc7303")}
    assert site.count() == 2 and all(rule.startswith(policy) for policy, rule in rules.items())


# ---- invalidation ----

@pytest.mark.parametrize("method,status,gone", [
    ("POST", "200 OK", True), ("PUT", "204 No Content", True), ("DELETE", "302 Found", True), ("PATCH", "200 OK", True),
    ("POST", "404 Not Found", False), ("POST", "500 X", False), ("OPTIONS", "200 OK", False),
])
def test_invalidation(proxy, site, method, status, gone):
    def answer(request):
        return page(FRESH) if request.method == "GET" else message(status, length=not status.startswith("204"))
    site["/f"] = answer
    proxy.get("/f")
    proxy.get("/f", method=method)
    assert was_hit(proxy.get("/f")) == (not gone)


@pytest.mark.parametrize("field,gone", [("Location: /other", True), ("Content-Location: other", True), ("Location: http://elsewhere.test/other", False)])
def test_invalidation_of_what_the_answer_names(proxy, site, field, gone):
    site["/other"] = page(FRESH)
    site["/f"] = message("201 Created", field)
    proxy.get("/other")
    proxy.get("/f", method="POST")
    assert was_hit(proxy.get("/other")) == (not gone)


# ---- stale ----

def test_stale_while_revalidate(proxy, site):
    turn = []

    def answer(_):
        turn.append(1)
        return page("Cache-Control: max-age=1, stale-while-revalidate=600" if len(turn) == 1 else FRESH, *(["Age: 100"] if len(turn) == 1 else []),
                    body=b"%d" % len(turn))
    site["/f"] = answer
    assert proxy.get("/f").body == b"1"
    second = proxy.get("/f")
    assert second.body == b"1" and was_hit(second)
    until = time.monotonic() + TIMEOUT
    while proxy.get("/f").body != b"2":
        assert time.monotonic() < until, "never revalidated"
    assert site.count() == 2


SOON = ("Cache-Control: max-age=600", "Age: 575", 'ETag: "a"')     # within the last part, whatever its start


def test_a_hot_response_is_fetched_before_it_is_stale(start, origin):
    """Once, whatever the number of workers; meanwhile and afterwards every reader has a hit."""
    proxy = start(None, "--route", f"/={origin.url} refresh-hot=3", "--workers", "2")
    assert not was_hit(proxy.through(origin, page(*SOON, body=b"1"), "/f")[0])
    asking = ("Cache-Control: max-age=10000, only-if-cached", "Pragma: no-cache", 'If-None-Match: "x"', "If-Modified-Since: " + LATER)
    for _ in range(3):
        assert not origin.asked() and was_hit(proxy.get("/f", *asking))
    upstream = origin.receive()
    assert upstream.request["If-None-Match"] == '"a"'
    assert all(upstream.request[name] is None for name in ("Cache-Control", "Pragma", "If-Modified-Since"))
    assert all(was_hit(got) and got.body == b"1" for got in (proxy.get("/f") for _ in range(20)))
    assert proxy.counters()["refreshes_ahead"] == 1
    upstream.answer(page(FRESH, body=b"2"))
    until = time.monotonic() + TIMEOUT
    while (got := proxy.get("/f")).body != b"2":
        assert was_hit(got) and time.monotonic() < until
    assert was_hit(got) and not origin.asked()


def test_a_304_keeps_a_hot_response_fresh(start, origin, site):
    turn = []

    def answer(request):
        turn.append(request["If-None-Match"])
        return message("304 Not Modified", FRESH, "Age: 1", length=False) if turn[-1] else page(*SOON)
    site["/f"], proxy = answer, start(None, "--route", f"/={origin.url} refresh-hot=1")
    assert not was_hit(proxy.get("/f"))
    until = time.monotonic() + TIMEOUT
    while int((got := proxy.get("/f"))["Age"]) > 100:
        assert was_hit(got) and time.monotonic() < until
    assert was_hit(got) and turn == [None, '"a"'] and proxy.counters()["refreshes_ahead"] == 1


@pytest.mark.parametrize("what,option,fields,asking", [
    ("too few hits", "refresh-hot=9", SOON, ()), ("switched off", "refresh-hot=0", SOON, ()),
    ("too early", "refresh-hot=1", (FRESH, "Age: 500"), ()),
    ("in a client's name", "refresh-hot=1 authorization=on", ("Cache-Control: public, max-age=600", "Age: 575"), ("Authorization: Basic x",)),
])
def test_what_is_not_fetched_early(start, origin, site, what, option, fields, asking):
    proxy = start(None, "--route", f"/={origin.url} {option}")
    site["/f"] = page(*fields)
    assert [was_hit(proxy.get("/f", *asking)) for _ in range(9)] == [False] + [True] * 8, what
    assert proxy.counters()["refreshes_ahead"] == 0 and site.count() == 1


@pytest.mark.parametrize("error", ["500 X", "503 X", None])
def test_an_early_fetch_that_fails_costs_nobody(start, origin, site, error):
    """The stored response goes on answering, and its origin is left alone until it is stale."""
    proxy = start(None, "--route", f"/={origin.url} refresh-hot=1")
    site["/f"] = page(*SOON)
    proxy.get("/f")
    asked = threading.Event()

    def fail(_):
        asked.set()
        return message(error) if error else (b"", "close")
    site["/f"] = fail
    assert all(was_hit(proxy.get("/f")) for _ in range(20)) and asked.wait(TIMEOUT)
    assert all(was_hit(proxy.get("/f")) for _ in range(20)) and proxy.counters()["refreshes_ahead"] == 1


@pytest.mark.parametrize("answer", ["500 X", "502 X", "503 X", "504 X", None])
def test_stale_while_the_origin_errs(start, origin, site, answer):
    proxy = start(None)
    site["/f"] = feed("Cache-Control: max-age=1", "Age: 100")
    good = proxy.get(f"/{origin.url}/f")
    site["/f"] = message(answer) if answer else lambda _: (b"", "close")
    for _ in range(2):
        got = proxy.get(f"/{origin.url}/f")
        assert got.status == 200 and got.body == good.body and int(got["Age"]) >= 100
    assert site.count() >= 3


def test_stale_when_nobody_listens(start, origin):
    proxy = start(None, "--stale-if-error", "1h")
    client = proxy.client().ask(f"/{origin.url}/f")
    origin.receive().answer(feed("Cache-Control: max-age=1", "Age: 100"), close=True)
    good = client.response()
    origin.close()
    assert proxy.get(f"/{origin.url}/f").body == good.body
    refused = proxy.get(f"/{origin.url}/g")
    assert refused.status == 502


@pytest.mark.parametrize("fields,options", [((", must-revalidate",), ()), ((", no-cache",), ()),
                                            (("",), ("--stale-if-error", "0", "--keep-feed", "0"))])
def test_not_stale_where_that_is_not_allowed(start, origin, site, fields, options):
    proxy = start(None, *options)
    site["/f"] = feed("Cache-Control: max-age=1" + fields[0], "Age: 100")
    proxy.get(f"/{origin.url}/f")
    site["/f"] = message("503 X")
    assert proxy.get(f"/{origin.url}/f").status == 503


def test_routes_allow_stale_by_option(start, origin, site):
    for option, status in (("stale-if-error=1h", 200), ("stale-if-error=0", 503)):
        proxy = start(None, "--route", f"/={origin.url} {option}")
        site["/f"] = page(STALE, "Age: 100")
        proxy.get("/f")
        site["/f"] = message("503 X")
        assert proxy.get("/f").status == status, option


# ---- errors beside a good copy ----

OLD = ("Cache-Control: max-age=1, stale-if-error=600", "Age: 100")
ERRORS = [("404 X",), ("410 X",), ("405 X", "Last-Modified: Fri, 01 Jan 2021 00:00:00 GMT"), ("451 X",), ("403 X", FRESH), ("500 X", FRESH), ("501 X",),
          ("404 X", "Cache-Control: max-age=0"), ("410 X", "Cache-Control: no-cache, max-age=60"), ("404 X", "Cache-Control: public"), ("503 X", FRESH)]


def error(status, *fields):
    return page(*fields, body=b"error", status=status)


@pytest.mark.parametrize("said", ERRORS, ids=str)
def test_an_error_never_replaces_a_good_copy(proxy, site, said):
    site["/f"] = page(*OLD)
    proxy.get("/f")
    site["/f"] = error(*said)
    assert proxy.get("/f").status in (int(said[0][:3]), 200)
    site["/f"] = error("503 X")
    got = proxy.get("/f")
    assert (got.status, got.body) == (200, b"hello") and int(got["Age"]) >= 100


def test_nor_does_an_error_of_one_variant(proxy, site):
    site["/f"] = page(*OLD, "Vary: Accept-Language")
    proxy.get("/f", "Accept-Language: de")
    site["/f"] = error("404 X", "Vary: Accept-Language")
    proxy.get("/f", "Accept-Language: de")
    site["/f"] = error("503 X")
    assert [proxy.get("/f", f"Accept-Language: {each}").status for each in ("de", "fr")] == [200, 503]


@pytest.mark.parametrize("varies", [(), ("Vary: From",), ("Vary: Accept-Language",)], ids=str)
@pytest.mark.parametrize("status", ["400 X", "500 X"])
def test_nor_does_an_error_for_one_client_that_varies_otherwise(proxy, site, status, varies):
    """Whoever makes the origin err by a language of their own does not take away the copies that others have."""
    bad = error(status, FRESH, *varies)
    site["/f"] = lambda request: bad if request["Accept-Language"] == "bad" else page(FRESH, "Vary: Accept-Language")
    ways = [(language, *more) for language in ("de", "bad", "de", "fr") for more in ((), ("Cache-Control: no-cache",))]
    got = [proxy.get("/f", f"Accept-Language: {language}", *more).status for language, *more in ways]
    assert got == [int(status[:3]) if language == "bad" else 200 for language, *_ in ways]
    assert was_hit(proxy.get("/f", "Accept-Language: de"))


@pytest.mark.parametrize("status", ["404 X", "410 X"])
def test_a_removal_that_names_its_lifetime_is_stored(proxy, site, status):
    """And no error is the stale answer to another."""
    site["/f"] = page(*OLD)
    proxy.get("/f")
    site["/f"] = error(status, "Cache-Control: max-age=600")
    assert [proxy.get("/f").status for _ in range(2)] == [int(status[:3])] * 2 and site.count() == 2
    site["/f"] = error("503 X")
    assert proxy.get("/f", "Cache-Control: no-cache").status == 503


def test_an_error_is_no_stale_answer(start, origin, site):
    proxy = start(None)
    site["/f"] = error("404 X", "Cache-Control: max-age=1", "Age: 100")
    assert proxy.get(f"/{origin.url}/f").status == 404
    site["/f"] = error("503 X")
    assert proxy.get(f"/{origin.url}/f").status == 503


def test_a_good_copy_behind_an_error_is_not_fresh_any_more(proxy, site):
    """The error is newer (RFC 9111 section 4): who comes next asks the origin, and gets the copy only in the place of an error."""
    site["/f"] = page("Cache-Control: max-age=600, stale-if-error=600", 'ETag: "a"')
    proxy.get("/f")
    site["/f"] = error("404 X")
    assert [proxy.get("/f", *asks).status for asks in (("Cache-Control: no-cache",), (), ())] == [404] * 3 and site.count() == 4
    site["/f"] = error("503 X")
    assert proxy.get("/f").body == b"hello"
    site["/f"] = lambda request: message("304 X", FRESH, length=False) if request["If-None-Match"] else error("500 X")
    assert proxy.get("/f").body == b"hello" and was_hit(proxy.get("/f"))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_who_waits_shares_an_error_behind_a_good_copy(start, origin, workers):
    proxy = start(origin, "--workers", workers)
    client = proxy.client().ask("/f")
    origin.receive().answer(page("Cache-Control: max-age=1", "Age: 100"))
    client.response()
    clients = crowd(proxy, 10)
    origin.receive().answer(error("404 X"))
    assert [each.response().status for each in clients] == [404] * 10 and not origin.asked()


# ---- answers to what was not asked ----

UNASKED = [("304 X", "status 304 that was not asked for"), ("206 X", "status 206 that was not asked for")]


@pytest.mark.parametrize("status,why", UNASKED)
@pytest.mark.parametrize("way", ["route", "past the cache", "gateway", "forward", "HEAD"])
def test_an_answer_to_no_question_is_none(start, origin, site, status, why, way):
    proxy = start(None, "--allow", "127.0.0.0/8:*", "--route", f"/r/={origin.url}/", "--route", f"/past/={origin.url}/ cache=off")
    path = {"route": "/r/f", "past the cache": "/past/f", "gateway": f"/{origin.url}/f", "forward": f"{origin.url}/f", "HEAD": "/r/f"}[way]
    site["/f"] = message(status, FRESH, 'ETag: "a"', length=status[:3] != "304")
    for _ in range(2):
        got = proxy.get(path, method="HEAD" if way == "HEAD" else "GET")
        assert got.status == 502 and got["Proxy-Status"] == f'utfeed; error=http_protocol_error; details="{why}"'
    assert site.count() == (4 if status[:3] == "304" else 2)          # one more try


@pytest.mark.parametrize("way", ["/r/f", "/past/f"])
def test_a_304_that_was_another_clients_is_asked_about_once_more(start, origin, site, way):
    proxy = start(None, "--route", f"/r/={origin.url}/", "--route", f"/past/={origin.url}/ cache=off")
    site["/f"] = lambda _: page(FRESH, body=b"whole") if site.count() > 1 else message("304 X", 'ETag: "a"', length=False)
    assert (proxy.get(way).body, site.count()) == (b"whole", 2) and "If-None-Match" not in site.last("/f")


@pytest.mark.parametrize("status,why", UNASKED)
def test_it_takes_no_place_of_a_good_copy(proxy, site, status, why):
    """The stored response has no validator, so that it was asked for as a whole."""
    site["/f"] = page(*OLD)
    proxy.get("/f")
    site["/f"] = message(status, FRESH, length=status[:3] != "304")
    got = [proxy.get("/f") for _ in range(2)]
    assert [(each.status, each.body) for each in got] == [(200, b"hello")] * 2 and site.count() == (5 if status[:3] == "304" else 3)


@pytest.mark.parametrize("tag,theirs,good", [('"a"', '"a"', True), ('"a"', 'W/"a"', True), ('W/"a"', '"a"', True), ('"a"', None, True), (None, '"b"', True),
                                             ('"a"', '"b"', False), ('"a"', 'W/"b"', False), ('W/"a"', 'W/"b"', False), ('W/"a"', '"b"', False)])
def test_a_304_about_another_response_is_asked_again_without_conditions(proxy, site, tag, theirs, good):
    """RFC 9111 section 4.3.4."""
    site["/f"] = page(STALE, "Age: 100", "Last-Modified: Fri, 01 Jan 2021 00:00:00 GMT", *([f"ETag: {tag}"] if tag else []))
    proxy.get("/f")
    site["/f"] = lambda request: (message("304 X", FRESH, *([f"ETag: {theirs}"] if theirs else []), length=False)
                                  if request["If-None-Match"] or request["If-Modified-Since"] else page(FRESH, body=b"new"))
    assert proxy.get("/f").body == (b"hello" if good else b"new") and site.count() == (2 if good else 3)


@pytest.mark.parametrize("window,want", [("", (502, 3)), (", stale-if-error=600", (200, 3))])
def test_who_says_304_to_everything_is_not_believed(proxy, site, window, want):
    site["/f"] = page(STALE + window, "Age: 100", 'ETag: "a"')
    proxy.get("/f")
    site["/f"] = message("304 X", 'ETag: "b"', length=False)
    got = proxy.get("/f")
    assert (got.status, site.count()) == want and (got.status == 502 or got.body == b"hello")


def test_a_304_to_the_clients_own_condition_is_for_the_client(start, origin, site):
    proxy = start(None, "--route", f"/={origin.url} cache=off normalise=off")
    site["/f"] = lambda request: message("304 X", 'ETag: "a"', length=False) if request["If-None-Match"] else page('ETag: "a"')
    assert [proxy.get("/f", *asks).status for asks in ((), ('If-None-Match: "a"',))] == [200, 304]


# ---- one request for many ----

def crowd(proxy, count, path="/f", *fields):
    """So many clients whose requests a worker has taken up, and not only read."""
    before = proxy.counters()["requests"]
    clients = [proxy.client().ask(path, *fields) for _ in range(count)]
    assert proxy.counted("requests", before + count) == before + count
    return clients


@pytest.mark.parametrize("workers", ["1", "2"])
def test_twenty_misses_make_one_request(start, origin, workers):
    proxy = start(origin, "--workers", workers)
    clients = crowd(proxy, 20)
    upstream = origin.receive()
    whole = page(FRESH, body=b"x" * 3000)
    upstream.send(whole[:-1000])
    late = crowd(proxy, 5)
    upstream.send(whole[-1000:])
    for client in clients + late:
        assert client.response().body == b"x" * 3000
    assert not origin.asked() and len(origin.requests) == 1


def test_a_slow_reader_slows_nobody(start, origin):
    proxy = start(origin, "--transit-bytes", "64k")
    body = os.urandom(1 << 20) * 4
    slow = proxy.client(receive_buffer=4096).ask("/f")
    slow.drained()
    fast = crowd(proxy, 3)
    upstream = origin.receive()
    sending = upstream.send_soon(page(FRESH, body=body))
    for client in fast:
        assert client.response().body == body
    sending.join()
    assert slow.response().body == body and len(origin.requests) == 1


def test_a_leader_that_fails_fails_all_who_wait(proxy, origin):
    clients = crowd(proxy, 8)
    origin.receive().reset()
    assert [client.response().status for client in clients] == [502] * 8
    assert not origin.asked() and len(origin.requests) == 1
    late = proxy.client().ask("/f")
    origin.receive().answer(page(FRESH))
    assert late.response().status == 200


def test_a_private_response_is_not_shared(proxy, site):
    gate, turn = threading.Event(), []

    def answer(_):
        turn.append(1)
        number = len(turn)
        gate.wait(TIMEOUT)
        return page("Cache-Control: private", body=b"%d" % number)
    site["/f"] = answer
    clients = crowd(proxy, 6)
    gate.set()
    assert len({client.response().body for client in clients}) == 6 and site.count() == 6


def test_who_asks_for_what_is_never_shared_does_not_wait(start, origin):
    """Once known, each goes to the origin at once; once it may be stored, one goes for all again."""
    proxy = start(origin)
    proxy.through(origin, page("Cache-Control: no-store"), "/f")
    clients = crowd(proxy, 3)
    waiting = [origin.receive() for _ in clients]
    for upstream in waiting:
        upstream.answer(page("Cache-Control: max-age=0, stale-if-error=0"))
    assert [client.response().status for client in clients] == [200] * 3
    clients = crowd(proxy, 3)
    origin.receive().answer(page(FRESH))
    assert [client.response().status for client in clients] == [200] * 3 and not origin.asked()


@pytest.mark.parametrize("before, asked", [
    ([page("Cache-Control: no-store", status="502 Bad Gateway")], 1),
    ([page("Cache-Control: no-store"), page("Cache-Control: max-age=0, stale-if-error=0", status="502 Bad Gateway")], 3)])
def test_an_error_says_nothing_of_what_follows(start, origin, before, asked):
    """Neither that each is to ask for itself nor, where that is known, that one may go for all."""
    proxy = start(origin)
    for each in before:
        proxy.through(origin, each, "/f")
    clients = crowd(proxy, 3)
    for upstream in [origin.receive() for _ in range(asked)]:
        upstream.answer(page(FRESH))
    assert [client.response().status for client in clients] == [200] * 3 and not origin.asked()


def test_what_one_client_wants_kept_to_itself_says_nothing_of_others(start, origin):
    proxy = start(origin)
    proxy.through(origin, page(FRESH), "/f", "Cache-Control: no-store")
    clients = crowd(proxy, 3)
    origin.receive().answer(page(FRESH))
    assert [client.response().status for client in clients] == [200] * 3 and not origin.asked()


def test_the_leader_may_leave(proxy, origin):
    first = proxy.client().ask("/f")
    upstream = origin.receive()
    others = crowd(proxy, 3)
    first.close()
    upstream.answer(page(FRESH))
    for client in others:
        assert client.response().body == b"hello"
    assert was_hit(proxy.get("/f")) and len(origin.requests) == 1


def test_late_for_a_body_too_large_to_keep(start, origin):
    """One whose length nobody knew: what was read is gone. Who comes then asks anew, and may be joined in turn."""
    proxy = start(origin, "--cache-object-max", "1k", "--transit-bytes", "16k")
    head = message("200 OK", FRESH, "Content-Type: image/png", "Transfer-Encoding: chunked", length=False)
    first = proxy.client().ask("/f")
    upstream = origin.receive()
    upstream.send(head + chunked(b"x" * 60_000, end=b""))
    first.arrives(60_000)
    second = proxy.client().ask("/f")
    again = origin.receive()
    third = crowd(proxy, 1)[0]
    for each in (upstream, again):
        each.send((head if each is again else b"") + chunked(b"y" * 100))
    assert first.response().body == b"x" * 60_000 + b"y" * 100
    assert second.response().body == third.response().body == b"y" * 100 and not origin.asked()


# ---- Cache-Status, cookies ----

def test_nearer_caches_stand_first_in_cache_status(proxy, site):
    site["/f"] = page(FRESH, "Cache-Status: inner; hit; ttl=5")
    for _ in range(2):
        got = proxy.get("/f")
        assert got.all("Cache-Status")[0].startswith("inner; hit") and got.all("Cache-Status")[-1].startswith("utfeed; ")
    assert len(got.all("Cache-Status")) == 2


def test_every_answer_has_a_cache_status(proxy, site):
    for path, method in (("/none", "GET"), ("/none", "POST"), ("/none", "OPTIONS")):
        assert proxy.get(path, method=method)["Cache-Status"].startswith("utfeed; fwd="), method


def test_cookies_never_reach_another_client(proxy, site):
    site["/bare"] = lambda _: page("Set-Cookie: session=1")
    for _ in range(2):
        proxy.get("/bare")
    assert site.count("/bare") == 2


def test_what_is_no_request_is_answered_past_the_cache(proxy, site):
    """Also on a connection whose last answer came from it."""
    site["/f"] = page(FRESH, 'ETag: "1"')
    client = proxy.client()
    client.get("/f")
    assert was_hit(client.get("/f"))
    client.send(b"GET /f HTTP/1.1\r\nHost : feeds.test\r\nIf-None-Match: *\r\n\r\n")
    got = client.response()
    assert got.status == 400 and "Cache-Status" not in got and "Age" not in got
