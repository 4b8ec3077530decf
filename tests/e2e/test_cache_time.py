"""What time does to stored responses, to the second: utfeed's wall clock is the test's (clock.py)."""
import pytest

from feeds import SMALL
from pages import FRESH, Site, page, was_hit
from peers import Background
from wire import message

DAY = 86400


@pytest.fixture
def site(origin):
    return Site(origin)


def numbered(site, *fields, path="/f", **kind):
    """The origin counts: each answer has its number for a body."""
    site[path] = lambda _: page(*fields, body=b"%d" % site.count(path), **kind)


def feed(*fields):
    return page(*fields, body=SMALL, kind="application/xml")


# ---- freshness (RFC 9111 section 4.2) ----

@pytest.mark.parametrize("fields,lifetime", [
    (("Cache-Control: max-age=600",), 600), (("Cache-Control: s-maxage=30, max-age=600",), 30), (("CDN-Cache-Control: max-age=40", FRESH), 40),
    (("Date: {0}", "Expires: {50}"), 50), (("Expires: {50}",), 50), (("Date: {-20}", "Expires: {50}"), 50), (("Date: {-20}", FRESH), 580),
    ((FRESH, "Age: 100"), 500), (("Date: {0}", "Last-Modified: {-1000}"), 100), (("Last-Modified: {-100000000}",), DAY),
    (("Date: {30}", FRESH), 600),
])
def test_lifetimes(timed, clock, origin, site, fields, lifetime):
    """Explicit, and a tenth of the time since Last-Modified, a day at most (section 4.2.2)."""
    proxy = timed(origin)
    for number in (-100000000, -1000, -20, 0, 30, 50):
        fields = tuple(field.replace(f"{{{number}}}", clock.date(number)) for field in fields)
    numbered(site, *fields)
    proxy.get("/f")
    clock.at(lifetime - 1)
    last = proxy.get("/f")
    assert was_hit(last) and "; ttl=1" in last["Cache-Status"]
    clock.at(lifetime)
    got = proxy.get("/f")
    assert got.body == b"2" and "fwd=stale" in got["Cache-Status"] and "; ttl=0" in got["Cache-Status"]


@pytest.mark.parametrize("fields,age", [((), 0), (("Age: 100",), 100), (("Date: {-30}",), 30), (("Date: {-30}", "Age: 100"), 100), (("Date: {30}",), 0)])
def test_age_grows(timed, clock, origin, site, fields, age):
    """Section 4.2.3."""
    proxy = timed(origin)
    site["/f"] = page("Cache-Control: max-age=9000", *(field.replace("{-30}", clock.date(-30)).replace("{30}", clock.date(30)) for field in fields))
    proxy.get("/f")
    for later in (0, 1, 59, 60, 3600):
        clock.at(later)
        assert int(proxy.get("/f")["Age"]) == age + later
    assert site.count() == 1


def test_the_time_an_answer_takes_is_part_of_its_age(timed, clock, origin):
    proxy = timed(origin)
    client = proxy.client().ask("/f")
    upstream = origin.receive()
    clock.at(7)
    upstream.answer(page(FRESH, "Age: 10", f"Date: {clock.date()}"))
    assert client.response().status == 200 and int(proxy.get("/f")["Age"]) == 17


def test_a_clock_that_is_set_back(timed, clock, origin, site):
    proxy = timed(origin)
    site["/f"] = page(FRESH)
    proxy.get("/f")
    clock.at(-3600)
    got = proxy.get("/f")
    assert was_hit(got) and int(got["Age"]) == 0


@pytest.mark.parametrize("asking,later,hit", [
    ("max-age=50", 50, True), ("max-age=50", 51, False), ("min-fresh=50", 550, True), ("min-fresh=50", 551, False),
    ("max-stale=50", 650, True), ("max-stale=50", 651, False), ("max-stale", 9000, True),
])
def test_what_requests_ask_for(timed, clock, origin, site, asking, later, hit):
    """Section 5.2.1."""
    proxy = timed(origin)
    site["/f"] = page(FRESH)
    proxy.get("/f")
    clock.at(later)
    assert was_hit(proxy.get("/f", f"Cache-Control: {asking}")) == hit


def test_a_304_begins_a_lifetime_anew(timed, clock, origin, site):
    proxy = timed(origin)
    site["/f"] = lambda request: message("304 Not Modified", FRESH, length=False) if request["If-None-Match"] else page(FRESH, 'ETag: "a"')
    for later, asked in ((0, 1), (599, 1), (600, 2), (1199, 2), (1200, 3)):
        clock.at(later)
        assert proxy.get("/f").body == b"hello" and site.count() == asked, later


def test_time_passes_while_utfeed_does_not_run(timed, clock, origin, site, tmp_path):
    site["/f"] = page(FRESH)
    for later, hit in ((0, False), (599, True), (600, False)):
        clock.at(later)
        proxy = timed(origin, "--cache-lmdb", str(tmp_path / "store"), "--cache-lmdb-bytes", "16m")
        got = proxy.get("/f")
        assert was_hit(got) == hit and (not hit or int(got["Age"]) == later), later
        proxy.stop()


# ---- lifetimes that the operator, or the feed, gives ----

@pytest.mark.parametrize("options,answer,lifetime", [("", feed(), 90), ("", page(), 0), (" normalise=off", page(), 90)], ids=["feed", "no feed", "not looked at"])
def test_a_routes_floor(timed, clock, origin, site, options, answer, lifetime):
    """It is for feeds, and for whatever comes where utfeed does not look at it."""
    proxy = timed(None, "--route", f"/={origin.url} adaptive=off freshness-floor=90s{options}")
    site["/f"] = answer
    for later, asked in ((0, 1), (89, 1), (90, 2)) if lifetime else ((0, 1), (0, 2)):
        clock.at(later)
        assert proxy.get("/f").status == 200 and site.count() == asked, later


def test_the_gateways_floor(timed, clock, origin, site):
    proxy = timed(None)
    site["/f"] = feed()
    for later, asked in ((0, 1), (299, 1), (300, 2)):
        clock.at(later)
        assert proxy.get(f"/{origin.url}/f").status == 200 and site.count() == asked, later


@pytest.mark.parametrize("status", ["404 Not Found", "410 Gone", "500 X", "503 X"])
@pytest.mark.parametrize("options,lifetime", [((), 60), (("--error-max", "10s"), 10), (("--error-max", "0"), 600)])
def test_errors_are_stored_for_a_minute(timed, clock, origin, site, status, options, lifetime):
    proxy = timed(origin, *options)
    site["/f"] = page(FRESH, status=status)
    for later, asked in ((0, 1), (lifetime - 1, 1), (lifetime, 2)):
        clock.at(later)
        assert proxy.get("/f").status == int(status[:3]) and site.count() == asked, later


def dated(clock, seconds, *fields, title="a"):
    """A feed whose newest item is so many seconds old; another is older, and one is to come."""
    item = "<item><title>%s</title><pubDate>%s</pubDate></item>"
    items = "".join(item % (title, clock.date(-ago)) for ago in (seconds + 9000, seconds, -9000))
    return page(*fields, body=f"<rss><channel><title>t</title>{items}</channel></rss>".encode(), kind="application/xml")


@pytest.mark.parametrize("changed,lifetime", [(6000, 600), (400_000, 3600), (600, 300), (0, 300), (-600, 300)])
@pytest.mark.parametrize("said", ["Last-Modified", "item"])
def test_a_tenth_of_the_time_since_a_feed_changed(timed, clock, origin, site, changed, lifetime, said):
    """adaptive: from the floor to an hour; a date to come says nothing."""
    proxy = timed(None)
    site["/f"] = feed(f"Last-Modified: {clock.date(-changed)}") if said == "Last-Modified" else dated(clock, changed)
    if said == "item" and changed < 0:
        lifetime = 840                  # that of the older item
    for later, asked in ((0, 1), (lifetime - 1, 1), (lifetime, 2)):
        clock.at(later)
        assert proxy.get(f"/{origin.url}/f").status == 200 and site.count() == asked, later


@pytest.mark.parametrize("fields,says,lifetime", [
    (("Cache-Control: max-age=100",), "", 100), ((), "<ttl>1</ttl>", 300), ((), "<ttl>30</ttl>", 1800),
    ((), "<ttl>120</ttl>", 7200)])
def test_what_is_said_counts_before_what_is_guessed(timed, clock, origin, site, fields, says, lifetime):
    proxy = timed(None)
    site["/f"] = page(f"Last-Modified: {clock.date(-400_000)}", *fields, kind="application/xml",
                      body=b"<rss><channel>%b<title>t</title></channel></rss>" % says.encode())
    for later, asked in ((0, 1), (lifetime - 1, 1), (lifetime, 2)):
        clock.at(later)
        assert proxy.get(f"/{origin.url}/f").status == 200 and site.count() == asked, later


@pytest.mark.parametrize("confirms", [False, True], ids=["sent again", "confirmed"])
def test_a_feed_that_is_seen_to_stay_the_same(timed, clock, origin, site, confirms, tmp_path):
    """Nothing in it tells a date. It was first seen at 0; a change begins anew; a restart does not."""
    def answer(request):
        return message("304 Not Modified", 'ETag: "a"', length=False) if confirms and request["If-None-Match"] else feed('ETag: "a"')
    options = "--cache-lmdb", str(tmp_path / "store"), "--cache-lmdb-bytes", "16m"
    proxy = timed(None, *options)
    site["/f"] = answer
    for later, asked in ((0, 1), (299, 1), (5000, 2), (5499, 2), (5500, 3), (6049, 3), (6050, 4)):
        clock.at(later)
        assert proxy.get(f"/{origin.url}/f").status == 200 and site.count() == asked, later
    proxy.stop()
    proxy = timed(None, *options)
    for later, asked in ((6654, 4), (6655, 5), (90_000, 6), (93_599, 6), (93_600, 7)):
        clock.at(later)
        assert proxy.get(f"/{origin.url}/f").status == 200 and site.count() == asked, later
    site["/f"] = page(body=SMALL.replace(b"</", b"!</", 1), kind="application/xml")
    for later, asked in ((97_200, 8), (97_499, 8), (97_500, 9)):
        clock.at(later)
        assert proxy.get(f"/{origin.url}/f").status == 200 and site.count() == asked, later


@pytest.mark.parametrize("options,way,answer,lifetime", [
    (("--adaptive", "off"), "/{url}/f", feed, DAY), ((), "{url}/f", feed, DAY), ((), "/n/f", feed, DAY), ((), "/{url}/f", page, DAY)],
    ids=["switched off", "forward proxy", "normalise off", "no feed"])
def test_where_nothing_adapts(timed, clock, origin, site, options, way, answer, lifetime):
    """A tenth of the time since Last-Modified, a day at most, as RFC 9111 section 4.2.2 has it."""
    proxy = timed(None, *options, "--route", f"/n/={origin.url} normalise=off")
    site["/f"] = answer(f"Last-Modified: {clock.date(-100 * DAY)}")
    for later, asked in ((0, 1), (lifetime - 1, 1), (lifetime, 2)):
        clock.at(later)
        assert proxy.get(way.format(url=origin.url)).status == 200 and site.count() == asked, later


@pytest.mark.parametrize("status", ["404 Not Found", "410 Gone", "405 X", "414 X", "451 X", "501 X"])
@pytest.mark.parametrize("options,lifetime", [((), 60), (("--error-floor", "10s"), 10), (("--error-max", "10s"), 60), (("--error-floor", "0"), 0)])
def test_an_error_without_a_lifetime_answers_for_a_while(timed, clock, origin, site, status, options, lifetime):
    """error-floor, where a lifetime may be chosen (RFC 9110 section 15.1); in the gateway as on a route."""
    proxy = timed(origin, *options)
    site["/f"] = page(status=status)
    for way in ("/f", f"/{origin.url}/f"):
        before = site.count()
        for later, asked in ((0, 1), (lifetime - 1, 1), (lifetime, 2)) if lifetime else ((0, 1), (0, 2)):
            clock.at(later)
            assert proxy.get(way).status == int(status[:3]) and site.count() - before == asked, (way, later)


@pytest.mark.parametrize("status,fields", [
    ("404 Not Found", ("Cache-Control: no-store",)), ("404 Not Found", ("Cache-Control: max-age=0",)), ("410 Gone", ("Expires: 0",)),
    ("404 Not Found", ("Set-Cookie: a=b",)), ("400 X", ()), ("403 X", ()), ("500 X", ()), ("503 X", ())])
def test_an_error_that_is_not_to_answer_again(timed, origin, site, status, fields):
    proxy = timed(origin, "--pause", "off")
    site["/f"] = page(*fields, status=status)
    for asked in (1, 2):
        assert proxy.get("/f").status == int(status[:3]) and site.count() == asked


@pytest.mark.parametrize("way", ["/f", "{url}/f"])
def test_plain_ways_choose_no_lifetime_for_errors(timed, origin, site, way):
    proxy = timed(None, "--route", f"/={origin.url} normalise=off")
    site["/f"] = page(status="404 Not Found")
    for asked in (1, 2):
        assert proxy.get(way.format(url=origin.url)).status == 404 and site.count() == asked


@pytest.mark.parametrize("way,options,lifetime", [
    ("/{url}/f", (), DAY), ("/{url}/f", ("--freshness-max", "1h"), 3600), ("/f", (), 30 * DAY), ("/f", ("--freshness-max", "1h"), 3600)])
@pytest.mark.parametrize("fields,age", [(("Cache-Control: max-age=2592000",), 0), (("Cache-Control: max-age=9592000", "Age: 7000000"), 7000000)])
def test_the_longest_freshness(timed, clock, origin, site, way, options, lifetime, fields, age):
    """freshness-max, counted from when the response came, so that an old one is not asked for each time."""
    proxy = timed(origin, *options)
    numbered(site, *fields)
    lifetime = lifetime if lifetime < 30 * DAY else lifetime if not age else 9592000 - age
    for later, body in ((0, b"1"), (lifetime - 1, b"1"), (lifetime, b"2")):
        clock.at(later)
        assert proxy.get(way.format(url=origin.url)).body == body, later


RELOADS = ("Cache-Control: no-cache", "Pragma: no-cache", "Cache-Control: max-age=0", "Cache-Control: max-age=5", "Cache-Control: min-fresh=9000")


@pytest.mark.parametrize("reload", RELOADS)
@pytest.mark.parametrize("way,options,floor", [
    ("/f", ("--reload-floor", "10s"), 10), ("/{url}/f", ("--reload-floor", "10s"), 10), ("/n/f", (), 0), ("{url}/f", (), 0)])
def test_reloads_are_seldom(timed, clock, origin, site, reload, way, options, floor):
    """reload-floor; what keeps to RFC 9111 alone has none."""
    proxy = timed(origin, *options, "--route", f"/n/={origin.url} normalise=off")
    numbered(site, FRESH)
    way = way.format(url=origin.url)
    assert proxy.get(way).body == b"1"
    for later, body in ((9, b"1"), (10, b"2"), (19, b"2"), (20, b"3")) if floor else ((9, b"2"), (19, b"3")):
        clock.at(later)
        assert proxy.get(way, reload).body == body, later


def test_a_confirmed_response_is_as_good_as_a_new_one(timed, clock, origin, site):
    proxy = timed(origin, "--reload-floor", "10s")
    site["/f"] = lambda request: message("304 Not Modified", FRESH, length=False) if request["If-None-Match"] else page(FRESH, 'ETag: "a"')
    for later, asked in ((0, 1), (10, 2), (19, 2), (20, 3)):
        clock.at(later)
        assert proxy.get("/f", "Cache-Control: no-cache").status == 200 and site.count() == asked, later


def test_reloads_come_through_where_nothing_may_answer(timed, origin, site):
    """What is stale, was purged or is not stored."""
    proxy = timed(origin, "--reload-floor", "1h")
    for path, fields in (("/f", ("Cache-Control: max-age=0",)), ("/g", ("Cache-Control: no-store",)), ("/h", (FRESH,))):
        site[path] = page(*fields)
        for asked in (1, 2):
            assert proxy.get(path, "Cache-Control: no-cache").status == 200 and site.count(path) == asked, path
            proxy.get("/h", method="PURGE")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_crowd_of_reloads_makes_one(start, origin, workers):
    """Those that come while it is made get what it gives, and so do those behind it, of all workers."""
    proxy = start(origin, "--reload-floor", "1h", "--workers", workers)
    clients = [proxy.client().ask("/f", "Cache-Control: no-cache") for _ in range(6)]
    upstream = origin.receive()
    upstream.answer(page(FRESH))
    assert all(client.response().body == b"hello" for client in clients)
    assert all(proxy.client().get("/f", "Pragma: no-cache").body == b"hello" for _ in range(6)) and len(origin.requests) == 1


# ---- stale (RFC 5861) ----

@pytest.mark.parametrize("later,body", [(60, b"1"), (89, b"1"), (90, b"2")])
def test_the_window_of_stale_while_revalidate(timed, clock, origin, later, body):
    """Inside it the stored one answers while the origin thinks; behind it nobody gets it."""
    proxy = timed(origin)
    answer = lambda number: page("Cache-Control: max-age=60, stale-while-revalidate=30", body=number)      # noqa: E731
    client = proxy.client().ask("/f")
    origin.receive().answer(answer(b"1"))
    client.response()
    clock.at(later)
    client.ask("/f")
    reading = Background(client.response)
    if body == b"1":
        assert reading.join().body == b"1"
    origin.receive().answer(answer(b"2"))
    assert reading.join().body == body and len(origin.requests) == 2


@pytest.mark.parametrize("error", ["503 X", None])
@pytest.mark.parametrize("later,status", [(59, 200), (60, 200), (89, 200), (90, None)])
def test_the_window_of_stale_if_error(timed, clock, origin, site, error, later, status):
    proxy = timed(origin)
    site["/f"] = page("Cache-Control: max-age=60, stale-if-error=30")
    proxy.get("/f")
    site["/f"] = message(error) if error else lambda _: (b"", "close")
    clock.at(later)
    got = proxy.get("/f")
    assert got.status == (status or (503 if error else 502)) and ("Age" not in got or int(got["Age"]) == later)


@pytest.mark.parametrize("options,until", [((), 300 + DAY), (("--stale-if-error", "1h"), 3900), (("--stale-if-error", "0"), 300)])
def test_the_gateway_serves_stale_for_a_day(timed, clock, origin, site, options, until):
    proxy = timed(None, "--keep-feed", "0", *options)
    site["/f"] = feed()
    good = proxy.get(f"/{origin.url}/f").body
    site["/f"] = message("500 X")
    for later in (until - 1, until):
        clock.at(later)
        got = proxy.get(f"/{origin.url}/f")
        assert (got.body == good) == (later < until) and got.status == (200 if later < until else 500), later


def test_a_soft_purge_begins_the_windows(timed, clock, origin, site):
    proxy = timed(None, "--route", f"/={origin.url} stale-if-error=1h")
    site["/f"] = page(FRESH)
    proxy.get("/f")
    clock.at(100)
    proxy.get("/f", "X-Purge: soft", method="PURGE")
    site["/f"] = message("503 X")
    for later, status in ((100, 200), (3699, 200), (3700, 503)):
        clock.at(later)
        assert proxy.get("/f").status == status, later
