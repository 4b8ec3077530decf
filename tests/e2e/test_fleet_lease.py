"""Which of four utfeeds upon one server asks the origin, and what the others wait for (fill-lease): beside the rows of test_fleet.py."""
import signal
import time

import pytest

from fleets import Held, has_read
from pages import FRESH, Site, page, was_hit
from test_kept import GOOD, feed
from wire import TIMEOUT

HOLDS = 3                       # seconds of fill-lease where it runs out
LONG = ("--fill-lease", "60s")


@pytest.fixture
def site(origin):
    return Site(origin)


def counted(four, name):
    return sum(proxy.counters()[name] for proxy in four)


def test_counters(fleet, site):
    """leases, leases_awaited, leases_spared, leases_private, leases_missed."""
    four = fleet(4, *LONG)
    held, clients = four.held_by_the_first(site, feed(FRESH))
    held.goes.set()
    assert {client.response().body for client in clients} == {GOOD} and site.count() == 1
    assert [counted(four, name) for name in ("leases", "leases_awaited", "leases_spared", "leases_missed")] == [1, 3, 3, 0]
    site["/p"] = feed("Cache-Control: private")
    four.in_turn("/p")
    assert counted(four, "leases_private") == 3
    four.server.stop()
    site["/m"] = feed(FRESH)
    four.in_turn("/m")
    assert counted(four, "leases_missed") == 4


def test_a_hit_asks_nobody(fleet, site):
    four = fleet(2)
    site["/f"] = feed(FRESH)
    four.in_turn()
    before = [counted(four, name) for name in ("leases", "leases_awaited", "leases_spared", "leases_missed", "second_hits", "second_misses")]
    assert all(was_hit(got) for _ in range(20) for got in four.in_turn())
    assert [counted(four, name) for name in ("leases", "leases_awaited", "leases_spared", "leases_missed", "second_hits", "second_misses")] == before


# ---- what the others get ----

@pytest.mark.parametrize("says", ["no-cache", "max-age=0"])
def test_what_is_stale_at_once_answers_who_waited(fleet, site, says):
    """As if they had joined the fetch in one process; who comes later asks."""
    four = fleet(4, *LONG)
    held, clients = four.held_by_the_first(site, feed(f"Cache-Control: {says}", 'ETag: "a"'))
    held.goes.set()
    assert {client.response().body for client in clients} == {GOOD} and site.count() == 1
    assert four[1].get("/f").body == GOOD and site.count() == 2


def test_what_came_is_told_as_collapsed(fleet, site):
    four = fleet(2, *LONG)
    held, clients = four.held_by_the_first(site, feed(FRESH))
    held.goes.set()
    assert "collapsed" in [client.response() for client in clients][1].all("Cache-Status")[-1]
    assert was_hit(four[1].get("/f"))


@pytest.mark.parametrize("field", ["Cache-Control: no-store", "Authorization: Basic YTpi"])
def test_what_one_client_keeps_for_itself_says_nothing_of_others(fleet, site, field):
    """It takes no lease, and leaves no mark that each client has a response of its own."""
    four = fleet(4, *LONG)
    site["/f"] = feed(FRESH)
    assert four[0].get("/f", field).status == 200 and counted(four, "leases") == 0
    held, clients = four.held_by_the_first(site, feed(FRESH))
    held.goes.set()
    assert {client.response().body for client in clients} == {GOOD} and site.count() == 2 and counted(four, "leases_private") == 0


def test_two_in_one_process_wait_once(fleet, site):
    four = fleet(2, *LONG)
    held, clients = four.held_by_the_first(site, feed(FRESH))
    clients += [four[1].client().ask("/f") for _ in range(3)]
    has_read(four[1])
    held.goes.set()
    assert {client.response().body for client in clients} == {GOOD} and site.count() == 1 and counted(four, "leases_awaited") == 1


def test_variants(fleet, site):
    """One request for each, and the index of variants is one for all."""
    four = fleet(4, *LONG)
    site["/f"] = lambda request: feed(FRESH, "Vary: Accept-Language", body=f"<rss>{request['Accept-Language']}</rss>".encode())
    for language in ("de", "en", "de", "en"):
        assert {got.body for got in four.in_turn("/f", f"Accept-Language: {language}")} == {f"<rss>{language}</rss>".encode()}
    assert site.count() == 2


def test_variants_at_once(fleet, site):
    """Who waited for what turned out to be another variant asks for its own."""
    four = fleet(4, *LONG)
    site["/f"] = held = Held(lambda request: feed(FRESH, "Vary: Accept-Language", body=f"<rss>{request['Accept-Language']}</rss>".encode()))
    languages = ["de", "en", "de", "en"]
    clients = [proxy.client().ask("/f", f"Accept-Language: {language}") for proxy, language in zip(four, languages)]
    for proxy in four:
        has_read(proxy)
    held.asked()
    held.goes.set()
    assert [client.response().body for client in clients] == [f"<rss>{language}</rss>".encode() for language in languages] and site.count() == 2


def test_the_kept_feed_answers_who_waits_long(fleet, clock, site):
    """slow-after counts as in one process."""
    four = fleet(2, *LONG, "--slow-after", "1s")
    site["/f"] = feed("Cache-Control: max-age=60")
    four.in_turn()
    clock.at(61)
    held, clients = four.held_by_the_first(site, feed(FRESH, body=b"<rss>new</rss>"))
    clock.at(63)
    assert [client.response().body for client in clients] == [GOOD] * 2
    held.goes.set()
    assert site.count() == 2


def test_a_refresh_in_the_background(fleet, clock, site):
    four = fleet(4, *LONG)
    site["/f"] = feed("Cache-Control: max-age=60, stale-while-revalidate=600")
    four.in_turn()
    clock.at(61)
    site["/f"] = held = Held(feed("Cache-Control: max-age=60, stale-while-revalidate=600", body=b"<rss>new</rss>"))
    assert {got.body for got in four.in_turn()} == {GOOD}
    held.asked()
    held.goes.set()
    until = time.monotonic() + TIMEOUT
    while {got.body for got in four.in_turn()} != {b"<rss>new</rss>"}:
        assert time.monotonic() < until
    assert site.count() == 2


# ---- what does not wait ----

@pytest.mark.parametrize("field", ["Cookie: a=b", "Authorization: Basic eDp5"])
def test_what_no_lease_serves(fleet, origin, site, field):
    four = fleet(2, *LONG, "--forward-credentials", "on")
    site["/f"] = held = Held(page(FRESH))
    clients = [proxy.client().ask(f"{origin.url}/f", field) for proxy in four]
    held.asked()
    held.asked()
    held.goes.set()
    assert [client.response().status for client in clients] == [200] * 2


def test_who_hears_nothing_is_on_its_own(ticking, origin, site, redis_server):
    """A user without the right to channels: nobody waits for a message that cannot come."""
    server = redis_server("redis-server")
    assert server.ask("ACL", "SETUSER", "deaf", "on", ">pass", "~*", "+@all", "resetchannels") == "OK"
    two = [ticking(origin, "--workers", "1", "--cache-redis", f"127.0.0.1:{server.port}", "--cache-redis-user", "deaf",
                 "--cache-redis-password", "pass", *LONG) for _ in range(2)]
    two[0].says("channel")
    site["/f"] = held = Held(feed(FRESH))
    clients = [proxy.client().ask("/f") for proxy in two]
    held.asked()
    held.asked()
    held.goes.set()
    assert [client.response().body for client in clients] == [GOOD] * 2


# ---- who takes too long ----

def test_who_asks_is_stopped(fleet, site):
    """SIGSTOP: it counts as ended once it has been silent; one of the others takes over. What it stores when it goes on again does no harm."""
    four = fleet(4, *LONG)
    held, clients = four.held_by_the_first(site, feed(FRESH, body=b"<rss>old</rss>"))
    four[0].process.send_signal(signal.SIGSTOP)
    site["/f"] = feed(FRESH, body=b"<rss>next</rss>")
    try:
        assert [client.response().body for client in clients[1:]] == [b"<rss>next</rss>"] * 3 and site.count() == 2
    finally:
        four[0].process.send_signal(signal.SIGCONT)
    held.goes.set()
    assert clients[0].response().body in (b"<rss>old</rss>", b"<rss>next</rss>")
    assert four[0].get("/none").status == 404


def test_a_fetch_longer_than_fill_lease(fleet, site):
    """The next one asks, too; what comes first answers all that wait for it."""
    four = fleet(3, "--fill-lease", f"{HOLDS}s")
    began = time.monotonic()
    held, clients = four.held_by_the_first(site, feed(FRESH, body=b"<rss>slow</rss>"))
    site["/f"] = again = Held(feed(FRESH, body=b"<rss>next</rss>"))
    again.asked()
    assert HOLDS <= time.monotonic() - began < HOLDS + 10 and site.count() == 2
    held.goes.set()
    assert clients[0].response().body == b"<rss>slow</rss>"
    got = clients[1:]
    again.goes.set()
    assert {client.response().body for client in got} <= {b"<rss>slow</rss>", b"<rss>next</rss>"} and site.count() == 2


def test_who_fails_passes_it_on(fleet, site):
    """A connection that is cut is no answer: the next one asks, or the pause that began answers all; nobody waits for fill-lease."""
    four = fleet(3, *LONG)
    site["/f"] = held = Held((b"HTTP/1.1 200", "close"))
    clients = [four[0].client().ask("/f")]
    held.asked()
    clients += [proxy.client().ask("/f") for proxy in four.proxies[1:]]
    for proxy in four:
        has_read(proxy)
    began = time.monotonic()
    held.goes.set()
    assert [client.response().status for client in clients] == [502] * 3
    assert time.monotonic() - began < TIMEOUT
