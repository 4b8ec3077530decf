"""Turns at a host that limits requests: readers ask for all its feeds at once and in one order, and the host lets one request a minute
through. The feed with the oldest copy goes first. All clocks are the test's (clock.py)."""
import pytest

from feeds import SMALL, SMALL_OUT
from pages import FRESH, Site, page
from wire import message

HOUR, MINUTE = 3600, 60
GOOD = page("Cache-Control: max-age=0", kind="application/xml", body=SMALL)
BUSY = message("429 Too Many Requests", "Content-Type: text/plain", "Retry-After: 60", body=b"later\n")


class Limited:
    """A host with a limit: so many requests are let through until let() is called again."""

    def __init__(self, origin):
        self.site = Site(origin)
        self.site["*"] = self.answer
        self.left, self.served, self.refused = 0, [], []

    def let(self, n):
        self.left, self.served, self.refused = n, [], []

    def answer(self, request):
        path = request.target
        if self.left:
            self.left -= 1
            self.served.append(path)
            return GOOD
        self.refused.append(path)
        return BUSY


@pytest.fixture
def host(origin):
    return Limited(origin)


@pytest.fixture
def ask(timed, origin):
    """Asks the gateway for paths one after the other; each gets the feed, and which ones the origin was not asked for."""
    def run(*options):
        proxy = timed(None, *options)

        def all_of(paths):
            got = [proxy.get(f"/{origin.url}{path}") for path in paths]
            assert all(g.status == 200 and g.body == SMALL_OUT for g in got), [(g.status, g.body[:200]) for g in got]
            return got
        all_of.proxy = proxy
        return all_of
    return run


FEEDS = [f"/{n}" for n in range(8)]


def warm(host, get, feeds):
    host.let(len(feeds))
    get(feeds)
    assert host.served == feeds


@pytest.fixture
def behind(ask, host, clock):
    """Starts utfeed, and has copies of /old, and later of /new and /other. Then the host refuses /other, and /old has to wait. A minute
    behind that pause it lets one request through."""
    def run(*options, older=2 * HOUR):
        get = ask(*options)
        warm(host, get, ["/old"])
        clock.jump(older)
        warm(host, get, ["/new", "/other"])
        misses(get)
        return get

    def misses(get):
        host.let(0)
        get(["/other", "/old"])
        assert host.refused == ["/other"]
        clock.jump(2 * MINUTE)
        host.let(1)
    run.misses = misses
    return run


def test_each_feed_of_a_burst_gets_its_turn(ask, host, clock):
    """Once an hour all are asked for, and one gets through. So each is fetched once in about as many hours as there are feeds."""
    get = ask()
    warm(host, get, FEEDS)
    served = {path: 0 for path in FEEDS}
    for _ in range(3 * len(FEEDS)):
        clock.jump(HOUR)
        host.let(1)
        get(FEEDS)
        assert len(host.served) == 1 and len(host.refused) <= 1
        served[host.served[0]] += 1
    assert min(served.values()) >= 2, served


def test_the_oldest_copy_goes_first(behind, host):
    new, old = behind()(["/new", "/old"])
    assert host.served == ["/old"] and host.refused == []
    assert "detail=kept" in new["Cache-Status"] and "fwd-status=429" in new["Cache-Status"] and "detail=kept" not in old["Cache-Status"]


def test_a_copy_that_is_hardly_newer_does_not_wait(behind, host):
    behind(older=HOUR // 2)(["/new"])
    assert host.served == ["/new"]


def test_a_turn_that_nobody_takes_ends(behind, host, clock):
    """After 5 minutes, and for 45 minutes there is no other."""
    get = behind()
    for minutes, served in ((4, []), (2, []), (0, ["/new"])):
        get(["/new"])
        assert host.served == served
        clock.jump(minutes * MINUTE)
    behind.misses(get)
    get(["/new"])
    assert host.served == ["/new"]
    clock.jump(45 * MINUTE)
    behind.misses(get)
    get(["/new"])
    assert host.served == []


def test_a_feed_without_a_copy_does_not_wait(behind, host):
    behind()(["/never-seen"])
    assert host.served == ["/never-seen"]


def test_a_purge_ends_turns(behind, host, origin):
    get = behind("--purge-allow", "127.0.0.1")
    get(["/new"])
    assert host.served == []
    assert get.proxy.get(f"/{origin.url}/elsewhere", method="PURGE").status in (200, 404)
    get(["/new"])
    assert host.served == ["/new"]
