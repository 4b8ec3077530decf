"""Four utfeeds upon one Redis or Valkey server: what one has asked its origin for, the others have; what one is told, all know (issue 36)."""
import time

import pytest

from fleets import Held, found, has_read, purged
from pages import FRESH, Site, page, was_hit
from test_kept import GOOD, HTML, feed
from wire import TIMEOUT, message

HOW = ["in_turn", "at_once"]
HOLDS, LATER = 3, 10            # seconds of fill-lease where an owner dies, and how late a busy machine may be


def revalidated(request):
    return message("304 Not Modified", "Cache-Control: max-age=60", length=False) if request["If-None-Match"] else \
        feed("Cache-Control: max-age=60", 'ETag: "a"')


def of_all(fleet, how, site, said, *fields):
    """What a client of each gets, one behind the other or all at once."""
    if how == "at_once":
        return fleet.at_once(site, said, "/f", *fields)
    site["/f"] = said
    return fleet.in_turn("/f", *fields)


@pytest.fixture
def site(origin):
    return Site(origin)


# ---- issue 36, Must show: one origin request each ----

@pytest.mark.parametrize("how", HOW)
def test_cold(fleet, site, how):
    four = fleet(4)
    assert {got.body for got in of_all(four, how, site, feed(FRESH))} == {GOOD} and site.count() == 1
    assert all(was_hit(got) for got in four.in_turn()) and site.count() == 1


@pytest.mark.parametrize("how", HOW)
def test_expired(fleet, clock, site, how):
    """What another one has revalidated takes the place of what is stale in memory."""
    four = fleet(4)
    site["/f"] = revalidated
    four.in_turn()
    for turn in range(1, 4):
        clock.at(61 * turn)
        assert {got.body for got in of_all(four, how, site, revalidated)} == {GOOD} and site.count() == 1 + turn


def test_expired_and_new(fleet, clock, site):
    four = fleet(4)
    site["/f"] = feed("Cache-Control: max-age=60", 'ETag: "a"', body=b"<rss>old</rss>")
    four.in_turn()
    clock.at(61)
    site["/f"] = feed("Cache-Control: max-age=60", 'ETag: "b"', body=b"<rss>new</rss>")
    assert {got.body for got in four.in_turn()} == {b"<rss>new</rss>"} and site.count() == 2


REFUSALS = {
    "429": message("429 Too Many Requests", "Content-Type: text/plain", "Retry-After: 60", body=b"no\n"),
    "429 alone": message("429 Too Many Requests", "Content-Type: text/plain", body=b"no\n"),
    "503": message("503 Service Unavailable", "Content-Type: text/plain", "Retry-After: 60", body=b"no\n"),
    "a challenge": page(status="403 Forbidden", body=HTML, kind="text/html"),
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("case", REFUSALS)
def test_refused(fleet, site, how, case):
    """A pause is the fleet's."""
    four, status = fleet(4), int(REFUSALS[case].split()[1])
    answers = of_all(four, how, site, REFUSALS[case])
    assert [got.status for got in answers] == [status] * 4 and site.count() == 1
    assert [got.status for got in four.in_turn()] == [status] * 4 and site.count() == 1


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("case", [*REFUSALS, "a challenge with 200"])
def test_refused_where_a_feed_is_kept(fleet, clock, site, how, case):
    four = fleet(4)
    site["/f"] = feed("Cache-Control: max-age=60")
    four.in_turn()
    clock.at(61)
    said = REFUSALS.get(case) or page(body=HTML, kind="text/html")
    assert [(got.status, got.body) for got in of_all(four, how, site, said)] == [(200, GOOD)] * 4
    assert site.count() == 2
    assert [(got.status, got.body) for got in four.in_turn()] == [(200, GOOD)] * 4 and site.count() == 2


@pytest.mark.parametrize("how", HOW)
def test_a_challenge_with_200_where_nothing_is_kept(fleet, site, how):
    """It is for nobody else; a crowd asks once all the same."""
    answers = of_all(fleet(4), how, site, page("Cache-Control: max-age=60", body=HTML, kind="text/html"))
    assert [got.status for got in answers] == [200] * 4 and site.count() == 1


@pytest.mark.parametrize("how", HOW)
def test_an_error_that_is_stored(fleet, site, how):
    """error-floor."""
    answers = of_all(fleet(4), how, site, page(status="404 Not Found"))
    assert [got.status for got in answers] == [404] * 4 and site.count() == 1


def test_a_pause_ends_for_all(fleet, clock, site):
    four = fleet(4)
    site["/f"] = REFUSALS["429"]
    four.in_turn()
    four.jump(clock, 61)
    site["/f"] = feed(FRESH)
    assert four[0].get("/f").status == 200
    until = time.monotonic() + TIMEOUT
    for proxy in four.proxies[1:]:
        while proxy.get("/f").status != 200:            # until it hears that the pause is over
            assert time.monotonic() < until
    assert site.count() == 2


# ---- what does not serialise ----

@pytest.mark.parametrize("said", ["no-store", "private", "max-age=0"])
def test_what_is_nobody_elses(fleet, site, said):
    """Each is asked for on its own; none waits for fill-lease."""
    four = fleet(4, "--fill-lease", "60s")
    site["/f"] = feed(f"Cache-Control: {said}")
    for _ in range(2):
        assert [got.status for got in four.in_turn()] == [200] * 4
    began = time.monotonic()
    assert [got.status for got in four.at_once(site, feed(f"Cache-Control: {said}"))] == [200] * 4
    assert time.monotonic() - began < TIMEOUT


@pytest.mark.parametrize("wish", ["no-cache", "max-age=0"])
@pytest.mark.parametrize("had", [False, True])
def test_a_client_that_wants_it_anew(fleet, clock, site, wish, had):
    """RFC 9111 section 5.2.1: what another one stored before this request came is no answer. had: it is in memory, too."""
    four = fleet(2, "--reload-floor", "0")
    site["/f"] = feed(FRESH, body=b"<rss>old</rss>")
    four[0].get("/f")
    purged(four[0])
    if had:
        assert was_hit(four[1].get("/f"))
    site["/f"] = feed(FRESH, body=b"<rss>new</rss>")
    clock.at(5)
    got = four[1].get("/f", f"Cache-Control: {wish}")
    assert got.body == b"<rss>new</rss>" and site.count() == 2


def test_without_the_server_each_is_on_its_own(fleet, site):
    """At once, though fill-lease is long."""
    four = fleet(4, "--fill-lease", "60s")
    four.server.stop()
    site["/f"] = feed(FRESH)
    began = time.monotonic()
    assert [got.status for got in four.in_turn()] == [200] * 4 and site.count() == 4
    assert time.monotonic() - began < TIMEOUT


def test_off(fleet, site):
    """fill-lease = 0."""
    four = fleet(2, "--fill-lease", "0")
    site["/f"] = held = Held(feed(FRESH))
    clients = four.ask()
    held.asked()
    held.asked()
    held.goes.set()
    assert [client.response().status for client in clients] == [200] * 2 and site.count() == 2


# ---- purges ----

@pytest.mark.parametrize("how", ["url", "prefix", "all", "soft"])
@pytest.mark.parametrize("who", [0, 1])
def test_a_purge_while_another_fills(fleet, site, how, who):
    """0: at the one that fills; 1: at one that waits for it. What came behind the purge is asked for at once: the lease of what it purged is free."""
    four = fleet(4, "--fill-lease", "60s")
    held, clients = four.held_by_the_first(site, feed(FRESH, body=b"<rss>old</rss>"))
    site["/f"] = feed(FRESH, body=b"<rss>new</rss>")      # before: those who wait look again now and then, and the purge frees the lease
    assert purged(four[who], "/f", f"X-Purge: {how}")
    late = [proxy.client().ask("/f") for proxy in four]
    assert [client.response().body for client in late] == [b"<rss>new</rss>"] * 4
    held.goes.set()
    for client in clients:
        assert client.response().body in (b"<rss>old</rss>", b"<rss>new</rss>")
    assert purged(four[0]) and {found(proxy) for proxy in four} <= {None, b"<rss>new</rss>"}


def test_those_who_wait_through_a_purge_ask_once(fleet, site):
    """What the first of them gets is stored, because it asked behind the purge, and the others have it."""
    four = fleet(4, "--fill-lease", "60s")
    held, clients = four.held_by_the_first(site, feed(FRESH, body=b"<rss>old</rss>"))
    site["/f"] = feed(FRESH, body=b"<rss>new</rss>")
    assert purged(four[0], "/f")
    held.goes.set()
    assert [client.response().body for client in clients] == [b"<rss>old</rss>"] + [b"<rss>new</rss>"] * 3 and site.count() == 2


# ---- who dies ----

def dies(fleet, site, held, others=(1, 2, 3)):
    """The first one is killed while the others wait for what it asks for; what they get, and how long they waited."""
    clients = [fleet[n].client().ask("/f") for n in others]
    for n in others:
        has_read(fleet[n])
    fleet.kill(0)
    began = time.monotonic()
    site["/f"] = feed(FRESH, body=b"<rss>next</rss>")
    bodies = [client.response().body for client in clients]
    held.goes.set()
    return bodies, time.monotonic() - began


def test_who_asks_is_killed(fleet, site):
    """Before its origin has answered: one of the others takes over within fill-lease, and no more than one."""
    four = fleet(4, "--fill-lease", f"{HOLDS}s")
    site["/f"] = held = Held(feed(FRESH))
    four[0].client().ask("/f")
    held.asked()
    bodies, waited = dies(four, site, held)
    assert bodies == [b"<rss>next</rss>"] * 3 and site.count() == 2 and waited < HOLDS + LATER


def test_who_has_half_of_it_is_killed(fleet, origin):
    """The body has begun."""
    four = fleet(4, "--fill-lease", f"{HOLDS}s")
    clients = [four[0].client().ask("/f")]
    before = origin.receive()
    half = page(FRESH, body=b"x" * 200_000)
    before.send(half[:-10])
    assert clients[0].sock.recv(1)
    others = [four[n].client().ask("/f") for n in (1, 2, 3)]
    for n in (1, 2, 3):
        has_read(four[n])
    four.kill(0)
    began = time.monotonic()
    site = Site(origin)
    site["/f"] = feed(FRESH, body=b"<rss>next</rss>")
    assert [client.response().body for client in others] == [b"<rss>next</rss>"] * 3
    assert site.count() == 1 and time.monotonic() - began < HOLDS + LATER


def test_who_has_stored_it_is_killed(fleet, site):
    """Nothing is left to take over."""
    four = fleet(4, "--fill-lease", "60s")
    site["/f"] = feed(FRESH)
    four[0].get("/f")
    purged(four[0])
    four.kill(0)
    assert [four[n].get("/f").body for n in (1, 2, 3)] == [GOOD] * 3 and site.count() == 1


def test_who_waits_is_killed(fleet, site):
    """It costs the others nothing."""
    four = fleet(4, "--fill-lease", "60s")
    held, clients = four.held_by_the_first(site, feed(FRESH))
    four.kill(1)
    held.goes.set()
    assert [clients[n].response().body for n in (0, 2, 3)] == [GOOD] * 3 and site.count() == 1


def test_who_asks_is_told_to_end(fleet, site):
    """SIGTERM: what is on its way is answered, stored, and told to who waits."""
    four = fleet(4, "--fill-lease", "60s")
    held, clients = four.held_by_the_first(site, feed(FRESH))
    four[0].sigterm()
    held.goes.set()
    assert [client.response().body for client in clients] == [GOOD] * 4 and site.count() == 1


def test_the_server_ends_while_they_wait(fleet, site):
    """Nobody waits for a lease that nobody can release."""
    four = fleet(4, "--fill-lease", "60s")
    held, clients = four.held_by_the_first(site, feed(FRESH))
    began = time.monotonic()
    four.server.stop()
    for _ in range(3):
        held.asked()
    assert time.monotonic() - began < TIMEOUT
    held.goes.set()
    assert [client.response().body for client in clients] == [GOOD] * 4
