"""Where redirects lead that are not followed, and permanent ones that are remembered or told (RFC 9110 sections 10.2.2 and 15.4)."""
import pytest

from feeds import SMALL, SMALL_OUT
from pages import Site, page, was_hit
from test_faults import error_of
from wire import message


def to(location, status="301 Moved Permanently", *fields):
    return message(status, "Content-Type: text/plain", f"Location: {location}", *fields, body=b"moved\n")


# ---- what is not followed leads into the gateway ----

@pytest.fixture
def still(start):
    """A gateway that follows no redirect."""
    return start(None, "--redirects", "0")


def led(proxy, origin, answer, target, **kind):
    client = proxy.client().ask(target, **kind)
    origin.receive().answer(answer)
    return client.response()


@pytest.mark.parametrize("shape", ["/{url}/a/old?q", "/?url={url}/a/old?q"])
@pytest.mark.parametrize("location, place", [("/new", "/new"), ("new", "/a/new"), ("?r", "/a/old?r"), ("{url}/b c", "/b%20c"), ("//{host}\\x", "/x")])
def test_the_gateway_leads_to_itself(still, origin, shape, location, place):
    """RFC 9110 section 10.2.2: a reference is relative to the URL that was asked for, which the client does not know."""
    got = led(still, origin, to(location.format(url=origin.url, host=origin.authority)), shape.format(url=origin.url), host="Utfeed.test:8080")
    assert (got.status, got["Location"]) == (301, f"http://utfeed.test:8080/{origin.url}{place}")
    assert got.body == b"moved\n" and not origin.asked()


@pytest.mark.parametrize("status", ["201 Created", "300 Multiple Choices", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
def test_whatever_the_status(still, origin, status):
    got = led(still, origin, to("/new", status), f"/{origin.url}/old")
    assert got["Location"] == f"http://feeds.test/{origin.url}/new"


def test_the_url_of_the_gateway_is_an_option(start, origin):
    proxy = start(None, "--redirects", "0", "--gateway-url", "https://feeds.example/utfeed")
    got = led(proxy, origin, to("/new"), f"/{origin.url}/old")
    assert got["Location"] == f"https://feeds.example/utfeed/{origin.url}/new"


def test_a_client_without_a_host(still, origin):
    """HTTP/1.0: a path of the gateway's."""
    got = led(still, origin, to("/new"), f"/{origin.url}/old", host=None, version="HTTP/1.0")
    assert got["Location"] == f"/{origin.url}/new"


def test_no_host_shapes_what_another_client_gets(still, origin):
    """A stored redirect has the origin's Location: each client is led by the name that it knows."""
    path = f"/{origin.url}/old"
    assert led(still, origin, to("/new", "301 Moved Permanently", "Cache-Control: max-age=600"), path, host="evil.test")["Location"] == \
        f"http://evil.test/{origin.url}/new"
    for host in ("a.test", "b.test"):
        got = still.client().ask(path, host=host).response()
        assert got["Location"] == f"http://{host}/{origin.url}/new" and "hit" in got["Cache-Status"]
    assert not origin.asked()


@pytest.mark.parametrize("location", ["ftp://h/x", "javascript:alert(1)", "http://u@h/", "itpc://h/feed"])
def test_another_scheme_stays(still, origin, location):
    assert led(still, origin, to(location), f"/{origin.url}/old")["Location"] == location


def test_what_is_no_place_is_left_out(still, origin):
    """Relative and no URL: it would lead into utfeed itself."""
    got = led(still, origin, to("//u@h/x"), f"/{origin.url}/old")
    assert got.status == 301 and "Location" not in got


def test_routes_and_forward_requests_pass_it_on(start, origin):
    proxy = start(None, "--route", f"/o/={origin.url}")
    assert led(proxy, origin, to("/new"), "/o/old")["Location"] == "/new"
    assert led(proxy, origin, to("new"), f"{origin.url}/old")["Location"] == "new"


# ---- permanent redirects are remembered (RFC 9110 sections 15.4.2 and 15.4.9, RFC 9111) ----

DAY = 86400
STALE = "Cache-Control: max-age=0"      # good, stored, and asked for again at once


def feed(*fields):
    return page(*(fields or (STALE,)), body=SMALL, kind="application/xml")


class Moved(Site):
    """/old leads to /new for ever, whose feed is stale at once."""

    def __init__(self, origin, *fields, status="301 Moved Permanently"):
        super().__init__(origin)
        self.url = origin.url
        self["/old"], self["/new"] = to("/new", status, *fields), feed()

    def get(self, proxy, path="/old", *fields, **kind):
        return proxy.get(f"/{self.url}{path}", *fields, **kind)

    def counts(self, *paths):
        return [self.count(path) for path in paths or ("/old", "/new")]


@pytest.fixture
def moved(origin):
    return Moved(origin)


@pytest.mark.parametrize("status", ["301 Moved Permanently", "308 Permanent Redirect"])
def test_the_old_place_is_asked_once(start, origin, status):
    moved, proxy = Moved(origin, status=status), start(None)
    for _ in range(3):
        got = moved.get(proxy)
        assert got.body == SMALL_OUT and got["Content-Location"] == f"{origin.url}/new"
    assert moved.counts() == [1, 3]
    counters = proxy.counters()
    assert (counters["redirects_known"], counters["moves"], counters["redirects"]) == (2, 1, 1)


@pytest.mark.parametrize("status, fields", [
    ("302 Found", ()), ("303 See Other", ()), ("307 Temporary Redirect", ()),
    *(("301 Moved Permanently", fields) for fields in [
        ("Cache-Control: no-store",), ("Cache-Control: private",), ('Cache-Control: private="Date"',), ("Cache-Control: no-cache",),
        (STALE,), ("Expires: 0",), ("Vary: *",), ("Set-Cookie: a=b",), ("Set-Cookie: a=b", "Cache-Control: max-age=600"),
        ("Cache-Control: max-age=600", "Age: 600"), ("CDN-Cache-Control: no-store", "Cache-Control: max-age=600")])])
def test_what_is_not_remembered(start, origin, status, fields):
    moved, proxy = Moved(origin, *fields, status=status), start(None)
    for _ in range(3):
        assert moved.get(proxy).body == SMALL_OUT
    assert moved.counts() == [3, 3]


@pytest.mark.parametrize("options, fields, lifetime", [
    ([], [], DAY), ([], ["Cache-Control: max-age=31536000"], DAY), ([], ["Cache-Control: max-age=100"], 100),
    ([], ["Cache-Control: max-age=100", "Age: 40"], 60)])
def test_for_how_long(timed, clock, origin, options, fields, lifetime):
    moved, proxy = Moved(origin, *fields), timed(None, *options)
    for at, count in ((0, 1), (lifetime - 1, 1), (lifetime, 2), (2 * lifetime - 1, 2)):
        clock.at(at)
        assert moved.get(proxy).body == SMALL_OUT
        assert moved.count("/old") == count, at


@pytest.mark.parametrize("options", [["--moved", "off"], ["--cache", "off"]])
def test_off(start, moved, options):
    proxy = start(None, *options)
    for _ in range(3):
        moved.get(proxy)
    assert moved.counts() == [3, 3]


def test_a_clock_that_is_set_back(timed, clock, moved):
    """Neither asked each time nor remembered for ever: the monotonic clock counts."""
    proxy = timed(None)
    for at in (0, -10 * DAY, -10 * DAY + 1):
        clock.at(at)
        moved.get(proxy)
    assert moved.count("/old") == 1


def test_the_whole_chain(start, moved):
    """Each permanent step by itself, wherever it stands; what is not permanent is asked."""
    proxy = start(None)
    for path, status, place in (("/a", "301 Moved Permanently", "/b"), ("/b", "302 Found", "/c"), ("/c", "308 Permanent Redirect", "/d")):
        moved[path] = to(place, status)
    moved["/d"] = feed()
    for _ in range(3):
        assert moved.get(proxy, "/a")["Content-Location"] == f"{moved.url}/d"
    assert moved.counts("/a", "/b", "/c", "/d") == [1, 3, 1, 3]
    moved.get(proxy, "/c")
    assert moved.counts("/c", "/d") == [1, 4]


def test_what_is_stored_behind_it_is_fresh_as_it_says(timed, clock, moved):
    proxy = timed(None)
    moved["/new"] = feed("Cache-Control: max-age=600", 'ETag: "1"')
    for at, new, hit in ((0, 1, False), (599, 1, True), (601, 2, False), (1200, 2, True)):
        clock.at(at)
        assert was_hit(moved.get(proxy)) == hit and moved.counts() == [1, new], at
    assert moved.last("/new")["If-None-Match"] == '"1"'


def test_but_no_longer_than_the_redirect(timed, clock, origin):
    moved, proxy = Moved(origin, "Cache-Control: max-age=60"), timed(None)
    moved["/new"] = feed("Cache-Control: max-age=600")
    for at, counts in ((0, [1, 1]), (59, [1, 1]), (61, [2, 2]), (100, [2, 2])):
        clock.at(at)
        moved.get(proxy)
        assert moved.counts() == counts, at


@pytest.mark.parametrize("failure", ["404 Not Found", "410 Gone", "500 Oops", "503 Service Unavailable", "cut", "nothing"])
def test_the_old_place_is_asked_again_where_the_new_one_fails(start, another, failure):
    new = another()
    old = Moved(another())
    old["/old"] = to(f"{new.url}/new")
    answers = [feed(), page(status=failure) if failure[0].isdigit() else b"HTTP/1.1 200 OK\r\nContent-Type" if failure == "cut" else b""]
    new.serve(lambda _: (answers.pop(0) if answers else feed(), "close"))
    proxy = start(None, *([] if failure[0].isdigit() else ["--keep-feed", "0"]))
    for asked in (1, 1):
        old.get(proxy)
        assert old.count("/old") == asked
    old["/old"] = feed()
    old.get(proxy, "/old", "Cache-Control: no-cache")
    assert old.count("/old") == 2


def test_a_page_is_not_what_moved(start, moved):
    """A site that asks for a login, or a captive portal, must not keep readers from the feed for a day."""
    proxy = start(None)
    moved["/new"] = page(STALE, body=b"<html>Log in</html>", kind="text/html")
    for _ in range(100):        # the failure is noted behind the answer
        assert moved.get(proxy).status == 200
    assert moved.count("/old") > 2


@pytest.mark.parametrize("body, kind", [(SMALL, "text/html"), (b"ID3", "audio/mpeg"), (b"{}", "application/json"), (b"hello", "text/plain")])
def test_what_else_may_move(start, moved, body, kind):
    """A feed whatever its type, and what is no page."""
    proxy = start(None)
    moved["/new"] = page(STALE, body=body, kind=kind)
    for _ in range(3):
        assert moved.get(proxy).status == 200
    assert moved.count("/old") == 1


def test_a_place_that_is_not_asked_has_not_failed(start, moved):
    """A pause that the origin asked for is no failure of the new place."""
    proxy = start(None, "--keep-feed", "0", "--min-interval", "100s")
    assert moved.get(proxy).status == 200
    for _ in range(2):
        assert moved.get(proxy).status in (200, 429)
    assert moved.counts() == [1, 1] and proxy.counters()["moves"] == 1


def test_a_site_that_turns_round(start, moved):
    """What is remembered would lead back: the place is asked, and serves."""
    proxy = start(None)
    moved.get(proxy)
    moved["/old"], moved["/new"] = feed(), to("/old")
    for _ in range(3):
        got = moved.get(proxy, "/new")
        assert got.status == 200 and got["Content-Location"] == f"{moved.url}/old"
    assert moved.counts() == [4, 2]


def test_a_loop_of_what_is_remembered_ends_in_words(start, moved):
    proxy = start(None)
    moved["/new"] = feed("Cache-Control: no-store")
    moved.get(proxy)
    moved["/new"] = to("/old")
    for path in ("/new", "/old", "/new"):
        got = moved.get(proxy, path)
        assert got.status == 502 and error_of(got) == "proxy_loop_detected"


def test_what_the_old_place_says_now_counts(timed, clock, origin):
    moved, proxy = Moved(origin, "Cache-Control: max-age=10"), timed(None)
    moved.get(proxy)
    clock.at(11)
    moved["/old"] = to("/new", "302 Found")
    for _ in range(2):
        moved.get(proxy)
    assert moved.count("/old") == 3 and proxy.counters()["moves"] == 0


# ---- whose redirect it is ----

def test_ways_and_routes_learn_nothing_of_each_other(start, moved):
    """Each has rights of its own."""
    routes = [["--route", f"/{name}/={moved.url}/ follow-redirects=on{more}"] for name, more in (("a", ""), ("b", ""), ("c", " policy=rfc7303"))]
    proxy = start(None, *sum(routes, []), "--client-policy", "any")
    asks = [lambda: moved.get(proxy), lambda: proxy.get("/a/old"), lambda: proxy.get("/b/old"), lambda: proxy.get("/c/old"),
            lambda: moved.get(proxy, "/old", "X-Encoding-Policy: feedparser")]
    for count, ask in enumerate(asks, 1):
        assert ask().status == ask().status == 200 and moved.count("/old") == count


def test_no_credentials_teach_or_use_it(start, moved):
    proxy = start(None, "--route", f"/={moved.url}/ follow-redirects=on authorization=on")
    mine = "Authorization: Basic bWU6bWU="
    moved["/old"] = lambda request: to("/mine" if "Authorization" in request else "/new", "301 Moved Permanently", "Cache-Control: public")
    moved["/mine"] = feed()
    for _ in range(2):
        assert proxy.get("/old", mine)["Content-Location"].endswith("/mine")
    assert moved.counts("/old", "/new") == [2, 0]
    for _ in range(2):
        assert proxy.get("/old")["Content-Location"].endswith("/new")
    assert moved.counts("/old", "/new") == [3, 2]
    assert proxy.get("/old", mine)["Content-Location"].endswith("/mine")


def test_no_cookies_teach_it(start, moved):
    """Neither a client's, sent on by a route, nor one that a redirect has set."""
    proxy = start(None, "--route", f"/c/={moved.url}/ follow-redirects=on cookies=on")
    for _ in range(2):
        proxy.get("/c/old", "Cookie: me=1")
    assert moved.count("/old") == 2
    moved["/a"] = to("/old", "302 Found", "Set-Cookie: seen=1; Path=/")
    for _ in range(2):
        moved.get(proxy, "/a")
    assert moved.count("/old") == 4 and moved.last("/old")["Cookie"] == "seen=1"
    moved.get(proxy)
    moved.get(proxy)
    assert moved.count("/old") == 5
    moved.get(proxy, "/a")
    assert moved.count("/old") == 6 and moved.last("/old")["Cookie"] == "seen=1"


def test_vary(start, moved):
    """What a redirect varies by parts clients; what all origins are sent alike does not."""
    proxy = start(None, "--route", f"/r/={moved.url}/ follow-redirects=on request-fields=accept-language")
    moved["/old"] = lambda request: to("/" + request["Accept-Language"], "301 Moved Permanently", "Vary: Accept-Language, Accept-Encoding")
    moved["/de"] = moved["/en"] = feed()
    for language, count in (("de", 1), ("de", 1), ("en", 2), ("en", 2)):
        assert moved.get(proxy, "/old", f"Accept-Language: {language}")["Content-Location"].endswith(language)
        assert moved.count("/old") == count


def test_two_workers(start, moved):
    proxy = start(None, "--workers", "2")
    moved.get(proxy)
    for _ in range(8):
        moved.get(proxy)
    assert moved.count("/old") == 1


def test_a_reload_that_closes_the_place(start, tmp_path, another):
    """What was learned under other rules does not count."""
    old, new = Moved(another()), Moved(another("127.0.0.2"))
    old["/old"], new["/new"] = to(f"{new.url}/new"), feed("Cache-Control: no-store")
    conf = tmp_path / "utfeed.conf"
    conf.write_text("allow = 127.0.0.0/8:*\n")
    proxy = start(None, "-c", str(conf))
    for _ in range(2):
        assert old.get(proxy).status == 200
    assert (old.count("/old"), new.count("/new")) == (1, 2)
    conf.write_text("allow = 127.0.0.0/8:*\ndeny = 127.0.0.2\n")
    proxy.reload()
    assert old.get(proxy).status == 403
    assert (old.count("/old"), new.count("/new")) == (2, 2)


# ---- what ends it ----

@pytest.mark.parametrize("how", [None, "url", "prefix", "host", "all", "url, soft"])
def test_a_purge_ends_it(start, moved, how):
    proxy = start(None)
    moved.get(proxy)
    purge = [f"X-Purge: {how}"] if how else []
    assert moved.get(proxy, "/old", *purge, method="PURGE").status == 200
    moved.get(proxy)
    assert moved.count("/old") == 2


def test_not_that_of_another_url(start, moved):
    proxy = start(None)
    moved.get(proxy)
    for path in ("/new", "/olde", "/ol"):
        moved.get(proxy, path, method="PURGE")
    moved.get(proxy)
    assert moved.count("/old") == 1


def test_an_unsafe_request_ends_it(start, moved):
    """RFC 9111 section 4.4."""
    proxy = start(None, "--route", f"/r/={moved.url}/ follow-redirects=on")
    proxy.get("/r/old")
    moved["/old"] = page()
    proxy.get("/r/old", "Content-Length: 0", method="POST")
    moved["/old"] = to("/new")
    proxy.get("/r/old")
    assert moved.count("/old") == 3


@pytest.mark.parametrize("says", ["Cache-Control: no-cache", "Pragma: no-cache", "Cache-Control: max-age=0"])
def test_a_reload_asks_the_old_place(timed, clock, moved, says):
    """Once the redirect is older than reload-floor (RFC 9111 section 5.2.1)."""
    proxy = timed(None, "--route", f"/r/={moved.url}/ follow-redirects=on reload-floor=10s")
    for at, count in ((0, 1), (9, 1), (11, 2), (12, 2)):
        clock.at(at)
        assert proxy.get("/r/old", says).status == 200
        assert moved.count("/old") == count, at


# ---- permanent redirects are told ----

TELL = ["--moved", "tell", "--moved-after", "0"]


def told(moved, proxy, path="/old", **kind):
    """What comes once the feed has been served: that is noted behind its answer."""
    for _ in range(100):
        got = proxy.get(path, **kind)
        if got.status != 200:
            break
    return got


def test_readers_are_told(start, moved):
    proxy = start(None, *TELL)
    assert moved.get(proxy).status == 200
    got = told(moved, proxy, f"/{moved.url}/old", host="utfeed.test")
    assert (got.status, got["Location"]) == (308, f"http://utfeed.test/{moved.url}/new")
    assert got["Cache-Control"] == "no-store" and "detail=moved" in got["Cache-Status"] and "hit" in got["Cache-Status"]
    assert moved.url + "/new" in got.body.decode()
    asked = moved.counts()
    assert told(moved, proxy, f"/{moved.url}/old", method="HEAD").status == 308
    assert moved.counts() == asked and moved.get(proxy, "/new").body == SMALL_OUT
    assert proxy.counters()["moves_told"] == 2


@pytest.mark.parametrize("options", [[], ["--moved", "tell"], ["--moved", "tell", "--moved-after", "100s"]])
def test_not_by_default_nor_at_once(start, moved, options):
    proxy = start(None, *options)
    assert [moved.get(proxy).status for _ in range(4)] == [200] * 4


def test_only_what_is_permanent_of_a_chain(start, moved):
    proxy = start(None, *TELL)
    moved["/a"], moved["/old"], moved["/new"], moved["/end"] = to("/old"), to("/new"), to("/end", "302 Found"), feed()
    moved.get(proxy, "/a")
    assert told(moved, proxy, f"/{moved.url}/a")["Location"] == f"http://feeds.test/{moved.url}/new"


@pytest.mark.parametrize("answer", [page(STALE, body=b"<html>Just a moment...</html>", kind="text/html"), page(status="404 Not Found"),
                                    page(status="503 Service Unavailable"), page(status="204 No Content", kind=None, body=b"")])
def test_not_where_no_feed_is_served(start, moved, answer):
    proxy = start(None, *TELL)
    moved["/new"] = answer
    for _ in range(4):
        assert moved.get(proxy).status != 308


def test_nor_once_it_fails(start, moved):
    proxy = start(None, *TELL, "--moved-after", "0")
    moved["/new"] = page(status="404 Not Found")
    moved.get(proxy, "/new")
    assert moved.get(proxy).status == 404
    moved["/new"] = feed()
    assert told(moved, proxy, f"/{moved.url}/old").status in (308, 404)


def test_a_reload_asks_rather_than_being_told(timed, clock, moved):
    proxy = timed(None, *TELL)
    told(moved, proxy, f"/{moved.url}/old")
    clock.at(1000)
    assert moved.get(proxy, "/old", "Cache-Control: no-cache").status == 200


def test_a_purge_ends_telling(start, moved):
    proxy = start(None, *TELL)
    assert told(moved, proxy, f"/{moved.url}/old").status == 308
    moved.get(proxy, "/old", method="PURGE")
    assert moved.get(proxy).status == 200


@pytest.mark.parametrize("pattern, origin_path, place, path", [
    ("/o/", "/", "/new", "/o/new"), ("/o", "/", "/new", "/o/new"), ("/o/", "/rss/", "/rss/x?y", "/o/x?y"), ("/o", "/rss", "/rss/x", "/o/x"),
    ("/o/", "/rss", "/rss/x", "/o/x"),
    ("/o/", "/rss/", "/new", None), ("/o/", "/rss", "/rssx", None),            # not below the route's origin
    ("/o/", "/", "/other/new", None),                                          # another route has that path
    ("/o/", "/", "/a|b", None),                                                # no path of a route
])
def test_a_route_tells_its_own_path(start, moved, pattern, origin_path, place, path):
    proxy = start(None, "--route", f"/o/other/={moved.url}/elsewhere/",
                  "--route", f"{pattern}={moved.url}{origin_path} follow-redirects=on moved=tell moved-after=0")
    asked = pattern.rstrip("/") + "/old"
    moved[origin_path.rstrip("/") + "/old"], moved[place] = to(place), feed()
    for _ in range(4):
        assert proxy.get(asked).status in (200, 308)
    got = told(moved, proxy, asked) if path else proxy.get(asked)
    assert (got.status, got["Location"]) == ((308, path) if path else (200, None))
    assert not path or proxy.get(path).body == SMALL_OUT
