"""Not asking too often: Retry-After of 429 and 503 (RFC 9110 section 10.2.3, RFC 6585 section 4) and min-interval, without a clock that is
put forward (test_pauses.py has that)."""
import time
from email.utils import formatdate

import pytest

from feeds import SMALL, SMALL_OUT
from test_faults import error_of
from wire import TIMEOUT, message

FEED = message("200 OK", "Content-Type: application/xml", body=SMALL)
BUSY = ["429 Too Many Requests", "503 Service Unavailable"]


def busy(retry_after, status=BUSY[0]):
    fields = [] if retry_after is None else [f"Retry-After: {retry_after}"]
    return message(status, "Content-Type: text/plain", *fields, body=b"later\n")


class One:
    """One client connection, so that one worker hears it all."""

    def __init__(self, proxy, origin, target="/feed"):
        self.client, self.origin, self.target = proxy.client(), origin, target

    def fetched(self, reply, target=None, method="GET"):
        """The origin is asked and says reply."""
        self.client.ask(target or self.target, method=method)
        assert self.origin.asked_before_answer(self.client), self.client.response().line
        self.origin.receive().answer(reply)
        return self.client.response()

    def refused(self, target=None, method="GET", status=None):
        """The origin is not asked; the answer is utfeed's own, with the origin's status."""
        self.client.ask(target or self.target, method=method)
        assert not self.origin.asked_before_answer(self.client), "the origin was asked"
        got = self.client.response(method="GET" if method != "HEAD" else "HEAD")
        assert got.status in ((429, 503) if status is None else (status,)) and 1 <= int(got["Retry-After"]) <= 24 * 3600
        assert got["Cache-Control"] == "no-store"
        if method != "HEAD":
            assert error_of(got) == "destination_unavailable"
        return got


@pytest.fixture
def one(proxy, origin):
    return One(proxy, origin)


def in_an_hour():
    return formatdate(time.time() + 3600, usegmt=True)


@pytest.mark.parametrize("status", BUSY)
@pytest.mark.parametrize("when", ["100", "  100", in_an_hour])
def test_a_pause_is_kept(one, status, when):
    """The answer itself goes to the client as it is; the next one is utfeed's own, with the origin's status. A date is of whole seconds,
    and utfeed's coarse clock may still be in the second before."""
    most = 3601 if callable(when) else 100
    when = when() if callable(when) else when
    got = one.fetched(busy(when, status))
    assert got.status == int(status[:3]) and got["Retry-After"] == when.strip() and got.body == b"later\n"
    for _ in range(3):
        got = one.refused()
        assert got.status == int(status[:3])
        assert 60 < int(got["Retry-After"]) <= most


def test_a_pause_ends(one):
    one.fetched(busy("1"))
    until = time.monotonic() + TIMEOUT
    while True:
        one.client.ask(one.target)
        if one.origin.asked_before_answer(one.client):
            break
        assert one.client.response().status == 429 and time.monotonic() < until
    one.origin.receive().answer(FEED)
    assert one.client.response().body == SMALL_OUT
    one.fetched(FEED)


@pytest.mark.parametrize("status", BUSY)
@pytest.mark.parametrize("when", ["999999999", "99999999999999999999999999", "Thu, 31 Dec 2099 23:59:59 GMT"])
def test_a_pause_is_a_day_at_most(one, when, status):
    one.fetched(busy(when, status))
    assert 85500 < int(one.refused()["Retry-After"]) <= 86400


@pytest.mark.parametrize("when", [None, "0", "-1", "soon", "1 2", "", "0x10", "Thu, 01 Jan 1970 00:00:00 GMT", "Foo, 99 Bar 2099 99:99:99 GMT"])
@pytest.mark.parametrize("status", BUSY)
def test_a_pause_of_its_own(one, when, status):
    """No wait that can be read: utfeed's own first pause."""
    one.fetched(busy(when, status))
    assert 11 < int(one.refused()["Retry-After"]) <= 30


@pytest.mark.parametrize("status", ["200 OK", "404 Not Found", "301 Moved Permanently"])
def test_other_statuses_pause_nothing(one, status):
    one.fetched(message(status, "Content-Type: text/plain", "Retry-After: 100", "Cache-Control: no-store", body=b"x"))
    one.fetched(FEED)


@pytest.mark.parametrize("status", ["403 Forbidden", "500 Internal Server Error", "502 Bad Gateway", "522 Timed Out"])
def test_retry_after_counts_for_429_and_503_alone(one, status):
    one.fetched(message(status, "Content-Type: text/plain", "Retry-After: 100", body=b"x"))
    assert 11 < int(one.refused(status=int(status[:3]))["Retry-After"]) <= 30


def test_503_pauses_one_url(one):
    one.fetched(busy("100", BUSY[1]), "/a")
    one.refused("/a")
    for other in ("/b", "/a?", "/a/", "/A"):
        one.fetched(FEED, other)
    one.refused("/a")


def test_503_of_two_urls_pauses_the_host(one):
    one.fetched(busy("100", BUSY[1]), "/a")
    one.fetched(busy("100", BUSY[1]), "/b")
    assert one.refused("/c").status == 503


def test_429_pauses_the_host(one):
    one.fetched(busy("100"), "/a")
    for other in ("/b", "/a?", "/"):
        assert one.refused(other).status == 429


def test_one_host_by_all_its_ways(start, origin):
    """Through a route and the gateway it is the same host; the forward proxy keeps to RFC 9111 alone."""
    one = One(start(origin), origin)
    one.fetched(busy("100"), "/a")
    one.refused("/a")
    one.refused(f"/{origin.url}/a")
    one.client.ask(f"{origin.url}/a", host=origin.authority)
    assert origin.asked_before_answer(one.client)
    origin.receive().answer(FEED)
    assert one.client.response().status == 200
    one.refused("/a")


def test_head_and_get_share_a_pause(one):
    one.fetched(busy("100"))
    one.refused(method="HEAD")


def test_a_pause_behind_a_redirect(start, origin):
    """The URL that said it is not asked again, whichever way leads there."""
    one = One(start(None), origin, f"/{origin.url}/old")
    one.client.ask(one.target)
    origin.receive().answer(message("302 Found", "Location: /busy"))
    origin.receive().answer(busy("100"))
    assert one.client.response().status == 429
    one.client.ask(one.target)
    if origin.asked_before_answer(one.client):
        upstream = origin.receive()
        assert upstream.request.target == "/old"
        upstream.answer(message("302 Found", "Location: /busy"))
        assert not origin.asked_before_answer(one.client), "asked again within the pause"
    assert one.client.response().status == 429


@pytest.mark.http1_origin("a queue for a connection, which HTTP/2 shares")
def test_who_waits_in_the_queue_keeps_the_pause_too(start, origin):
    """origin-connections 1: the second request was taken before the pause was heard of."""
    proxy = start(origin, "--workers", "1", "--origin-connections", "1")
    first = proxy.client().ask("/feed")
    upstream = origin.receive()
    second = proxy.client().ask("/feed")
    second.drained()
    upstream.answer(busy("100"))
    assert first.response().status == 429
    assert not origin.asked_before_answer(second), "asked again within the pause"
    assert second.response().status == 429


def test_all_workers_keep_a_pause(start, origin):
    """Connection after connection, whichever worker takes it."""
    proxy = start(origin, "--workers", "3")
    One(proxy, origin).fetched(busy("100"))
    for _ in range(20):
        One(proxy, origin).refused()


def test_min_interval(start, origin):
    one = One(start(origin, "--min-interval", "100s"), origin, f"/{origin.url}/a")
    assert one.fetched(FEED).status == 200
    got = one.refused()
    assert got.status == 429 and 60 < int(got["Retry-After"]) <= 100
    one.fetched(FEED, f"/{origin.url}/b")
    one.refused(f"/{origin.url}/b")


def test_min_interval_is_not_for_routes(start, origin):
    one = One(start(origin, "--min-interval", "100s"), origin)
    for _ in range(3):
        one.fetched(FEED)


def test_min_interval_ends(start, origin):
    one = One(start(origin, "--min-interval", "300ms"), origin, f"/{origin.url}/a")
    one.fetched(FEED)
    until = time.monotonic() + TIMEOUT
    while True:
        one.client.ask(one.target)
        if origin.asked_before_answer(one.client):
            break
        assert one.client.response().status == 429 and time.monotonic() < until
    origin.receive().answer(FEED)
    assert one.client.response().status == 200


def test_min_interval_counts_those_under_way(start, origin):
    proxy = start(None, "--workers", "1", "--min-interval", "100s")
    first = proxy.client().ask(f"/{origin.url}/a")
    upstream = origin.receive()
    One(proxy, origin, f"/{origin.url}/a").refused()
    upstream.answer(FEED)
    assert first.response().status == 200


def test_min_interval_is_not_for_where_redirects_lead(start, origin):
    """Two feeds that moved to one place, which a client may have named too: each is fetched, and keeps its own interval."""
    proxy = start(None, "--workers", "1", "--min-interval", "100s")
    One(proxy, origin, f"/{origin.url}/moved").fetched(FEED)
    for name in ("a", "b"):
        one = One(proxy, origin, f"/{origin.url}/{name}")
        one.client.ask(one.target)
        origin.receive().answer(message("301 Moved Permanently", "Location: /moved"))
        upstream = origin.receive()
        assert upstream.request.target == "/moved"
        upstream.answer(FEED)
        assert one.client.response().body == SMALL_OUT
        one.refused()


def test_many_urls_are_bounded(start, origin):
    """The table of URLs forgets the oldest (8192): memory stays."""
    proxy = start(origin, "--workers", "1", "--access-log", "off")
    origin.serve(lambda request: busy("1000"))
    client = proxy.client()
    target = "/" + "x" * 3000
    for number in range(200):
        assert client.get(f"{target}{number}").status == 429
    before = proxy.status("VmRSS")
    for number in range(3000):
        client.get(f"/{number}")
    proxy.assert_growth(before, 4 << 10)
