"""Utfeeds upon one Redis server are as polite as one: pauses, what ends them, and intervals are the fleet's (issue 36, item 4)."""
import time

import pytest

from feeds import SMALL_OUT
from fleets import Held, has_read, purged
from pages import FRESH, Site, page
from test_admin import Admin
from test_faults import error_of
from test_pauses import BUSY, GOOD, RESUMES, is_paused, says
from wire import PATIENCE, TIMEOUT

BUSY_60 = says(BUSY, "Retry-After: 60")
DOWN_60 = says("503 X", "Retry-After: 60")


@pytest.fixture
def site(origin):
    return Site(origin)


NEWS = "utfeed:!news"


def texts(fleet):
    return [fields[5].decode() for _, fields in fleet.server.ask("XRANGE", NEWS, "-", "+")]


def tell(fleet, text, topic="pause"):
    """News of a process that is none of them."""
    fleet.server.ask("XADD", NEWS, "*", "p", "1", "t", topic, "x", text)


def count(fleet, word):
    """How many news there are of that kind."""
    return sum(text.split(" ")[0] == word for text in texts(fleet))


def heard(fleet, word, n=1):
    """Waits until n news of that kind are told and all have heard them: news keep their order, and one that nobody can read comes last."""
    until = time.monotonic() + TIMEOUT
    while count(fleet, word) < n:
        assert time.monotonic() < until, texts(fleet)
    tell(fleet, "")
    fleet.unread = getattr(fleet, "unread", 0) + 1
    for proxy in fleet:
        assert proxy.counted("pauses_misheard", fleet.unread) == fleet.unread


def later(fleet, clock):
    """What ends a pause counts for those that began before it: both are told apart by some ms of a coarse clock."""
    fleet.jump(clock, 1)


def paused(proxy, status, path="/f"):
    return is_paused(proxy.get(path), status)


# ---- pauses: half of one may be over on a busy machine when it is looked at; none but the doubled one is longer ----

def test_what_one_is_asked_for_all_keep(fleet, site):
    four = fleet(4)
    site["*"] = BUSY_60
    assert four[0].get("/f").status == 429
    for proxy in four:
        assert proxy.counted("paused_hosts", 1) == 1
    for proxy in four:
        assert 31 < paused(proxy, 429) <= 61 and 31 < paused(proxy, 429, "/another") <= 61
    assert site.count() == 1


def test_of_a_url(fleet, site):
    """A pause that nobody asked for is of the URL."""
    four = fleet(4)
    site["*"] = says("500 X")
    assert four[2].get("/f").status == 500
    heard(four, "pause")
    assert all(11 < paused(proxy, 500) <= 31 for proxy in four) and site.count() == 1
    assert four[0].get("/g").status == 500 and site.count("/g") == 1


def test_one_who_comes_later_knows(fleet, ticking, origin, site):
    two = fleet(2)
    site["*"] = BUSY_60
    two[0].get("/f")
    heard(two, "pause")
    late = ticking(origin, "--workers", "2", "--cache-redis", f"127.0.0.1:{two.server.port}")
    assert late.counted("paused_hosts", 1) == 1 and 31 < paused(late, 429) <= 61 and site.count() == 1


def test_two_busy_urls_at_two(fleet, site):
    """A 503 with Retry-After is of its URL, and with a second one of the host."""
    three = fleet(3)
    site["*"], site["/c"] = DOWN_60, GOOD
    assert three[0].get("/a").status == 503
    heard(three, "pause")
    assert three[2].get("/c").status == 200 and three[1].get("/b").status == 503
    heard(three, "pause", 2)
    before = site.count()
    assert all(31 < paused(proxy, 503, "/d") <= 61 for proxy in three) and site.count() == before


def test_the_doubling_is_once(fleet, clock, site):
    """All fail at once, which is one failure: who has heard of the pause by then tells of no other. Then one fails for all."""
    four = fleet(4)
    for turn, (who, least, most) in enumerate(((four, 11, 31), ([four[1]], 31, 61))):
        pauses = count(four, "pause")
        site["*"] = held = Held(says(BUSY))
        clients = [proxy.client().ask(f"/{turn}/{n}") for n, proxy in enumerate(who)]
        for _ in clients:
            held.asked()
        held.goes.set()
        assert {client.response().status for client in clients} == {429}
        heard(four, "pause", pauses + 1)
        assert all(least < paused(proxy, 429) <= most for proxy in four)
        four.jump(clock, most + 1)


def test_the_way_is_ones_own(fleet, origin):
    """A utfeed without a network does not stop the others."""
    two = fleet(2)
    told = two[0].counters()["pauses_told"]
    origin.stop_listening()
    assert two[0].get("/f").status == 502 and paused(two[0], 502) and two[0].counters()["pauses_told"] == told


# ---- ends ----

def test_success_of_one(fleet, clock, site):
    """One asks first behind a pause, and its success is all others'."""
    four = fleet(4)
    site["*"] = BUSY_60
    four[0].get("/f")
    heard(four, "pause")
    four.jump(clock, 61)
    site["*"] = held = Held(page(FRESH))
    client = four[1].client().ask("/a")
    held.asked()
    heard(four, "trial")
    assert all(paused(four[n], 429, f"/{n}") <= 31 for n in (0, 2, 3))
    held.goes.set()
    assert client.response().status == 200
    heard(four, "end")
    assert [proxy.get(f"/b{n}").status for n, proxy in enumerate(four)] == [200] * 4


@pytest.mark.parametrize("case", RESUMES)
def test_an_operator(fleet, clock, site, case):
    two = fleet(2, "--admin-listen", "127.0.0.1:0")
    resumes = count(two, "resume")
    site["*"] = BUSY_60
    two[0].get("/f")
    heard(two, "pause")
    later(two, clock)
    site["/f"] = GOOD
    assert Admin(two[1]).post("/api/resume", RESUMES[case].format(url=site.origin.url)).status == 200
    heard(two, "resume", resumes + 1)
    if case == "another host":
        assert paused(two[0], 429) and site.count() == 1
    else:
        assert two[0].get("/f").status == 200


def test_an_operator_ends_anothers_own(fleet, clock, origin):
    """What only another one knows of ends, too."""
    two = fleet(2, "--admin-listen", "127.0.0.1:0")
    resumes = count(two, "resume")
    origin.stop_listening()
    assert two[0].get("/f").status == 502 and paused(two[0], 502)
    later(two, clock)
    origin.listener.listen()
    Site(origin)["/f"] = GOOD
    assert Admin(two[1]).post("/api/resume", "all=1").body == b'{"resumed":0}\n'
    heard(two, "resume", resumes + 1)
    assert two[0].get("/f").status == 200


@pytest.mark.parametrize("word,path", [("url", "/f"), ("prefix", "/"), ("host", "/other"), ("all", "/")])
@pytest.mark.parametrize("reply", [says("500 X"), BUSY_60], ids=["of a URL", "of the host"])
def test_a_purge(fleet, clock, site, word, path, reply):
    two = fleet(2)
    resumes = count(two, "resume")
    site["*"] = reply
    two[0].get("/f")
    heard(two, "pause")
    paused(two[1], int(reply[9:12]))
    later(two, clock)
    site["*"] = GOOD
    purged(two[1], path, f"X-Purge: {word}")
    heard(two, "resume", resumes + 1)
    assert two[0].get("/f").body == SMALL_OUT


def test_each_is_told_once(fleet, clock, site):
    """Whoever loses its connection and comes back hears what is new, and not again what it has ended itself since."""
    two = fleet(2)
    resumes = count(two, "resume")
    site["*"] = BUSY_60
    assert two[0].get("/f").status == 429
    heard(two, "pause")
    later(two, clock)
    site["*"] = GOOD
    assert purged(two[1], "/f")
    heard(two, "resume", resumes + 1)
    two.server.ask("CLIENT", "KILL", "TYPE", "normal")
    heard(two, "pause")
    assert [proxy.get("/f").status for proxy in two] == [200, 200]


# ---- intervals ----

def test_an_interval_of_a_host(fleet, site):
    """Of three that come at once two are in time, one behind the other, and one would wait for more than 2 s."""
    three, asked = fleet(3, "--host-interval", "2s"), []

    def answer(_):
        asked.append(time.monotonic())
        return GOOD
    site["*"] = answer
    clients = [proxy.client().ask(f"/{n}") for n, proxy in enumerate(three)]
    answers = [client.response() for client in clients]
    assert sorted(got.status for got in answers) == [200, 200, 503]
    refused, = (got for got in answers if got.status == 503)
    assert 1 <= int(refused["Retry-After"]) <= 4 and "another process has just asked" in refused["Proxy-Status"]
    assert len(asked) == 2 and asked[1] - asked[0] > 1.95


def test_a_long_interval_of_a_host(fleet, site):
    """Who comes too soon gets the kept feed, or else 503; what the server said is remembered."""
    two = fleet(2, "--host-interval", "1m", "--keep-feed", "1h")
    site["*"] = GOOD
    assert two[0].get("/a").status == 200
    for why in ("another process has just asked", "asked too soon again"):
        got = two[1].get("/b")
        assert got.status == 503 and 31 < int(got["Retry-After"]) <= 60 and why in got["Proxy-Status"]
    got = two[1].get("/a")
    assert got.body == SMALL_OUT and got["Cache-Status"].endswith("hit; fwd=stale; detail=kept") and site.count() == 1


def test_the_kept_feed_where_another_has_just_asked(fleet, site):
    """Also where that is not known before the server says so."""
    two = fleet(2, "--host-interval", "1m", "--keep-feed", "1h")
    site["*"] = GOOD
    assert two[0].get("/a").status == 200
    got = two[1].get("/a")
    assert got.body == SMALL_OUT and got["Cache-Status"].endswith("hit; fwd=stale; detail=kept") and site.count() == 1


def test_a_turn_of_another_clock(fleet, site):
    """After a failover the server's clock may be an hour behind: a turn that nobody can have had counts for nothing."""
    one = fleet(1, "--host-interval", "1m")
    one.server.ask("SET", f"utfeed:!{site.origin.url}\npace 0", int(time.time() * 1000) + 3600_000)
    site["*"] = GOOD
    assert one[0].get("/a").status == 200


def test_an_interval_of_a_url(fleet, site):
    two = fleet(2, "--min-interval", "1m", "--keep-feed", "0", to=None)
    site["*"] = page("Cache-Control: no-store")
    path = f"/{site.origin.url}/a"
    assert two[0].get(path).status == 200
    got = two[1].get(path)
    assert got.status == 429 and 31 < int(got["Retry-After"]) <= 60 and site.count() == 1
    assert two[1].get(f"/{site.origin.url}/b").status == 200


def test_an_interval_that_one_learned(fleet, clock, site):
    two = fleet(2, "--host-interval", "auto")
    site["*"] = says(BUSY, "Retry-After: 1", 'RateLimit-Policy: "default";q=2;w=60')
    two[0].get("/x")
    heard(two, "space")
    two.jump(clock, 31)
    site["*"] = GOOD
    assert two[1].get("/y").status == 200
    got = two[1].get("/z")
    assert got.status == 503 and 15 < int(got["Retry-After"]) <= 30


# ---- connections ----

def test_shares_of_connections(fleet, clock, site):
    """Each of two has one of two connections."""
    two = fleet(2, "--origin-connections", "2", "--log-level", "debug")
    assert two[0].counted("fleet_instances", 2) == 2
    site["*"] = held = Held(GOOD)
    first = two[0].client().ask("/a")
    held.asked()
    second = two[0].client().ask("/b")
    two[0].says("pool: waits for a connection")
    has_read(two[0])
    clock.jump(31)
    refused = second.response()
    assert refused.status == 503 and error_of(refused) == "connection_limit_reached"
    held.goes.set()
    assert first.response().status == 200


# ---- without the server, and against it ----

def test_away(fleet, site):
    """Each is on its own, at once."""
    two = fleet(2, "--host-interval", "1m", "--first-byte-timeout", "5s")
    two.server.stop()
    site["*"] = GOOD
    for n, proxy in enumerate(two):
        assert proxy.counted("second_away", 1) == 1
        assert proxy.get("/a").status == 200 and proxy.get("/b").status == 503 and site.count() == n + 1
    site["*"] = BUSY_60
    assert all(proxy.counters()["paused_hosts"] == 0 for proxy in two)


def test_what_is_no_news(fleet):
    """It is counted, and the next is heard; words of a later version are left out."""
    one = fleet(1)
    before = one[0].counters()["pauses_heard"]
    wrong = ("", "pause", "pause f1 ftp://a/", "surprise f1 http://a/", "pause fffffffffffff http://a/")
    for text in wrong:
        tell(one, text)
    tell(one, "at noon", topic="lunch")
    tell(one, "pause o1 zfoo fea60 cc8 Q http://origin.example")
    assert one[0].counted("paused_hosts", 1) == 1
    counted = one[0].counters()
    assert (counted["pauses_misheard"], counted["pauses_heard"] - before) == (len(wrong), 1)


def test_a_storm(fleet, site):
    """A host that fails for many URLs does not push out what is said of hosts."""
    two = fleet(2)
    site["*"] = says("500 X")
    client, asked, until = two[0].client(), 0, time.monotonic() + PATIENCE
    while (counted := two[0].counters())["pauses_untold"] <= 10:        # 200 are told at once, and then 20 a second
        assert time.monotonic() < until, counted
        for asked in range(asked + 1, asked + 101):
            client.get(f"/{asked}")
    assert counted["pauses_told"] < asked - 10
    site["*"] = BUSY_60
    assert two[0].get("/f").status == 429 and two[1].counted("paused_hosts", 1) == 1 and 31 < paused(two[1], 429) <= 61
