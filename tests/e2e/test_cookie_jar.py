"""A site that sets a cookie and leads back to itself (proxy/http/cookie_jar.h): it is served, and what answers a cookie is nobody else's."""
import pytest

from feeds import SMALL, SMALL_OUT
from test_faults import error_of
from wire import message

ON = ("--cache", "on")
FRESH = "Cache-Control: public, max-age=3600"
FEED = message("200 OK", "Content-Type: application/xml", FRESH, body=SMALL)


def to(location, *fields):
    return message("302 Found", f"Location: {location}", *fields, body=b"")


def get(request, name, default=None):
    return request[name] if name in request else default


@pytest.fixture
def wall(origin):
    """The site, and what it was asked."""
    seen = []

    def respond(request):
        seen.append(get(request, "Cookie"))
        return FEED if seen[-1] else to(request.target, f"Set-Cookie: sid={len(seen)}; Path=/; HttpOnly", FRESH)
    origin.serve(respond)
    return seen


@pytest.mark.parametrize("shape", ["/{url}/feed?a", "/?url={url}/feed?a"])
def test_the_gateway_gets_past_it(start, origin, wall, shape):
    got = start(None).get(shape.format(url=origin.url))
    assert (got.status, got.body, wall) == (200, SMALL_OUT, [None, "sid=1"])
    assert "Set-Cookie" not in got and "sid" not in f"{got.fields}"


def test_a_route_that_follows_does_too(start, origin, wall):
    proxy = start(None, "--route", f"/={origin.url} follow-redirects=on")
    assert proxy.get("/feed").body == SMALL_OUT and wall == [None, "sid=1"]


def test_who_brings_cookies_of_his_own_keeps_those_he_is_given(start, origin, wall):
    """A route with cookies=on: the jar is the client's."""
    got = start(None, "--route", f"/={origin.url} follow-redirects=on cookies=on").get("/feed")
    assert got.status == 502 and error_of(got) == "proxy_loop_detected" and wall == [None]


def test_who_is_sent_the_redirect_is_sent_its_cookie_only(start, origin, wall):
    got = start(None).get(f"{origin.url}/feed", host=f"127.0.0.1:{origin.port}")
    assert got.status == 302 and wall == [None]


def test_what_answers_the_cookie_is_not_stored(start, origin, wall):
    """Though it says that it may be: each client has its own, and its own cookie."""
    proxy = start(None, *ON)
    for _ in range(2):
        got = proxy.get(f"/{origin.url}/feed")
        assert got.body == SMALL_OUT and "detail=cookie" in got["Cache-Status"]
    assert wall == [None, "sid=1", None, "sid=3"]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_answers_the_cookie_is_for_no_joiner(start, origin, workers):
    proxy = start(None, *ON, "--workers", workers)
    first = proxy.client().ask(f"/{origin.url}/feed")
    upstream = origin.receive()
    second = proxy.client().ask(f"/{origin.url}/feed")
    upstream.answer(to("/feed", "Set-Cookie: sid=first", FRESH))
    upstream = origin.receive()
    if "Cookie" not in upstream.request:       # the second one's, if it did not wait
        upstream, other = origin.receive(), upstream
    else:
        other = None
    assert upstream.request["Cookie"] == "sid=first"
    upstream.answer(message("200 OK", "Content-Type: text/plain", FRESH, body=b"first's own"))
    assert first.response().body == b"first's own"
    other = other or origin.receive()
    assert "Cookie" not in other.request
    other.answer(message("200 OK", "Content-Type: text/plain", FRESH, body=b"anybody's"))
    assert second.response().body == b"anybody's"
    assert proxy.get(f"/{origin.url}/feed").body == b"anybody's"


def test_a_redirect_with_a_cookie_that_is_not_asked_for_changes_nothing(start, origin):
    """The cookie is for another path: what the redirect leads to is stored as ever."""
    asked = []

    def respond(request):
        asked.append(get(request, "Cookie"))
        return FEED if request.target == "/feed" else to("/feed", "Set-Cookie: sid=1; Path=/other", FRESH)
    origin.serve(respond)
    proxy = start(None, *ON)
    for _ in range(2):
        assert proxy.get(f"/{origin.url}/old").body == SMALL_OUT
    assert asked == [None, None]


def test_once_sent_the_rest_of_the_way_counts_as_its_answer(start, origin):
    """/a sets it, /a with it leads to /b, for which it is not: where the cookie led is still its owner's."""
    asked = []

    def respond(request):
        asked.append((request.target, get(request, "Cookie")))
        if request.target == "/b/feed":
            return FEED
        return to("/b/feed", FRESH) if "Cookie" in request else to("/a/feed", "Set-Cookie: sid=1; Path=/a", FRESH)
    origin.serve(respond)
    proxy = start(None, *ON)
    for _ in range(2):
        assert "detail=cookie" in proxy.get(f"/{origin.url}/a/feed")["Cache-Status"]
    assert asked == [("/a/feed", None), ("/a/feed", "sid=1"), ("/b/feed", None)] * 2


@pytest.mark.parametrize("domain,want", [("co.uk", None), ("github.io", None), ("shop.test", "plain=1")])
def test_nobody_owns_a_public_suffix(start, origin, tmp_path, domain, want):
    """And names that promise TLS (RFC 6265bis section 4.1.3) are nothing without it, in any case of letters."""
    (tmp_path / "hosts").write_text(f"127.0.0.1 localhost a.{domain} b.{domain}\n")
    proxy = start(None, "--hosts-file", str(tmp_path / "hosts"), "--allow", "127.0.0.0/8:*")
    client = proxy.client().ask(f"/http://a.{domain}:{origin.port}/feed")
    names = ["__Host-h", "__Secure-s", "__hOsT-h", "__SECURE-s", "plain"]
    origin.receive().answer(to(f"http://b.{domain}:{origin.port}/feed", *(f"Set-Cookie: {name}=1; Domain={domain}; Path=/" for name in names),
                               f"Set-Cookie: =__Host-x=1; Domain={domain}", f"Set-Cookie: secure=1; Secure; Domain={domain}"))
    upstream = origin.receive()
    assert get(upstream.request, "Cookie") == want
    upstream.answer(FEED)
    assert client.response().status == 200


def test_no_other_host_sees_it(start, origin, another):
    other, proxy = another("127.0.0.2"), start(None)
    client = proxy.client().ask(f"/{origin.url}/feed")
    origin.receive().answer(to(f"{other.url}/feed", "Set-Cookie: sid=1; Path=/", "Set-Cookie: evil=1; Domain=0.0.2"))
    upstream = other.receive()
    assert "Cookie" not in upstream.request
    upstream.answer(to(f"{origin.url}/feed", "Set-Cookie: theirs=1"))
    upstream = origin.receive()
    assert upstream.request["Cookie"] == "sid=1"
    upstream.answer(FEED)
    assert client.response().body == SMALL_OUT


def test_a_site_that_sets_the_same_again_is_a_loop(start, origin):
    proxy = start(None)
    client = proxy.client().ask(f"/{origin.url}/feed")
    for _ in range(2):
        origin.receive().answer(to("/feed", "Set-Cookie: sid=1"))
    got = client.response()
    assert got.status == 502 and error_of(got) == "proxy_loop_detected" and not origin.asked()


@pytest.mark.parametrize("size, times", [(1, 6), (3000, 3)])     # of 3000 bytes the third has no room
def test_a_site_that_sets_another_each_time_comes_to_an_end(start, origin, size, times):
    asked = []

    def respond(request):
        asked.append(get(request, "Cookie"))
        return to("/feed", f"Set-Cookie: c{len(asked)}={'x' * size}")
    origin.serve(respond)
    got = start(None, "--redirects", "5").get(f"/{origin.url}/feed")
    assert got.status == 502 and error_of(got) == "proxy_loop_detected"
    assert len(asked) == times


def test_validators_do_not_go_beside_a_cookie(start, origin):
    """A stored response is not compared with what the owner of a cookie gets, and does not answer for it."""
    proxy = start(None, *ON)
    client = proxy.client().ask(f"/{origin.url}/feed")
    origin.receive().answer(message("200 OK", "Content-Type: text/plain", "Cache-Control: max-age=60", "Age: 59", 'ETag: "a"', body=b"anybody's"))
    assert client.response().body == b"anybody's"
    client.ask(f"/{origin.url}/feed", "Cache-Control: no-cache")
    upstream = origin.receive()
    assert upstream.request["If-None-Match"] == '"a"'
    upstream.answer(to("/feed", "Set-Cookie: sid=1"))
    upstream = origin.receive()
    assert upstream.request["Cookie"] == "sid=1" and "If-None-Match" not in upstream.request
    upstream.answer(message("200 OK", "Content-Type: text/plain", FRESH, body=b"owner's"))
    got = client.response()
    assert got.body == b"owner's" and "detail=cookie" in got["Cache-Status"]
    client.ask(f"/{origin.url}/feed", "Cache-Control: max-stale=600, only-if-cached")
    assert client.response().body != b"owner's"


def test_a_304_for_something_else_sets_none(start, origin):
    """It is no redirect: what is asked for in its place is anybody's (found by the oracle, seed 1955941462)."""
    client = start(None, *ON).client().ask(f"/{origin.url}/feed")
    origin.receive().answer(message("200 OK", "Content-Type: text/plain", "Cache-Control: max-age=60", "Age: 61", 'ETag: "a"', body=b"old"))
    assert client.response().body == b"old"
    client.ask(f"/{origin.url}/feed")
    origin.receive().answer(message("304 Not Modified", 'ETag: "other"', "Set-Cookie: sid=1", length=False))
    upstream = origin.receive()
    assert "Cookie" not in upstream.request and "If-None-Match" not in upstream.request
    upstream.answer(message("200 OK", "Content-Type: text/plain", FRESH, body=b"new"))
    got = client.response()
    assert got.body == b"new" and "stored" in got["Cache-Status"] and "detail=cookie" not in got["Cache-Status"]
    assert client.get(f"/{origin.url}/feed")["Cache-Status"].startswith("utfeed; hit")


def test_the_cookie_is_in_no_log(start, origin):
    origin.serve(lambda request: FEED if "Cookie" in request else to(request.target, "Set-Cookie: sid=hunter2"))
    proxy = start(None, "--log-level", "debug")
    assert proxy.get(f"/{origin.url}/feed").status == 200
    proxy.stop()
    assert "hunter2" not in proxy.err.text() + proxy.out.text()
