"""PURGE: who may, what goes, in every store, on every worker; and soft, where what was stored stays and is asked for again."""
import threading
import time

import pytest

from pages import FRESH, Site, page, was_hit
from wire import TIMEOUT, message

PATHS = ["/a", "/ab", "/a/b", "/a/b?c", "/c"]
KINDS = [(None, "/a"), ("url", "/a"), ("URL", "/a"), ("prefix", "/a /ab /a/b /a/b?c"), ("host", " ".join(PATHS)), ("all", " ".join(PATHS))]


@pytest.fixture
def site(origin):
    site = Site(origin)
    site["*"] = lambda request: message("304 Not Modified", FRESH, length=False) if request["If-None-Match"] else page(FRESH, 'ETag: "a"')
    return site


def purge(proxy, what, target="/a"):
    return proxy.get(target, *((f"X-Purge: {what}",) if what else ()), method="PURGE")


@pytest.mark.parametrize("what,gone", KINDS)
def test_what_goes(proxy, site, what, gone):
    for path in PATHS:
        proxy.get(path)
    got = purge(proxy, what)
    assert got.status == 200 and f"({len(gone.split())})".encode() in got.body and site.count() == len(PATHS)
    for path in PATHS:
        assert was_hit(proxy.get(path)) == (path not in gone.split()), path


@pytest.mark.parametrize("what,gone", [("soft", "/a"), *((f"{kind}, soft" if kind else "soft", gone) for kind, gone in KINDS)])
def test_soft(proxy, site, what, gone):
    """What is marked is not lost: the origin is asked for a 304 only."""
    for path in PATHS:
        proxy.get(path)
    assert purge(proxy, what).status == 200
    for path in PATHS:
        assert ("fwd-status=304" in proxy.get(path)["Cache-Status"]) == (path in gone.split()), path
        assert was_hit(proxy.get(path)), path


@pytest.mark.parametrize("what", ["url", "prefix", "all", "soft"])
def test_what_was_each_clients_own_may_be_shared_behind_a_purge(proxy, site, what):
    """Hit for miss ends with it: who comes next waits for one answer again."""
    site["/a"] = page("Cache-Control: private")
    proxy.get("/a")
    assert purge(proxy, what).status == 200
    before, gate = site.count("/a"), threading.Event()

    def answer(_):
        gate.wait(TIMEOUT)
        return page(FRESH)
    site["/a"] = answer
    clients = [proxy.client().ask("/a") for _ in range(3)]
    for client in clients:
        client.drained()
    gate.set()
    assert {client.response().status for client in clients} == {200} and site.count("/a") == before + 1


def test_everything_goes_without_a_route(start, origin, site):
    """Neither a route nor a URL is needed; the Host has to be served all the same."""
    proxy = start(None, "--forward", "off")
    for path in PATHS:
        proxy.get(f"/{origin.url}{path}")
    assert purge(proxy, "url", "/no/route").status == 404 and purge(proxy, "prefix", "/no/route").status == 404
    assert purge(proxy, "all", "http://feeds.test/").status == 200 and purge(proxy, "all, soft", "/").status == 200
    assert proxy.get("/", "X-Purge: all", method="PURGE", host="evil.example.org").status == 421
    for path in PATHS:
        proxy.get(f"/{origin.url}{path}")
    assert b"(%d)" % len(PATHS) in purge(proxy, "all", "/").body
    assert not any(was_hit(proxy.get(f"/{origin.url}{path}")) for path in PATHS)


def test_variants_and_policies_go_with_their_url(proxy, site):
    site["/v"] = page(FRESH, "Vary: Accept-Language")
    asking = [("Accept-Language: de",), ("Accept-Language: fr",), ("X-Encoding-Policy: rfc7303",)]
    for fields in asking:
        proxy.get("/v", *fields)
    purge(proxy, "url", "/v")
    assert not any(was_hit(proxy.get("/v", *fields)) for fields in asking)


def test_a_url_named_to_the_gateway(start, origin, site):
    proxy = start()
    for path in PATHS:
        proxy.get(f"/{origin.url}{path}")
    purge(proxy, "prefix", f"/{origin.url}/a/")
    assert [was_hit(proxy.get(f"/{origin.url}{path}")) for path in PATHS] == [True, True, False, False, True]


@pytest.mark.parametrize("word", ["urls", "prefix, hard", "soft, url", ", soft", "*", "url soft"])
def test_what_is_not_understood_purges_nothing(proxy, site, word):
    proxy.get("/a")
    assert purge(proxy, word).status == 400 and was_hit(proxy.get("/a"))


@pytest.mark.parametrize("blocks,status", [("127.0.0.0/8", 200), ("127.0.0.1", 200), ("10.0.0.0/8, ::1", 403), ("127.0.0.2", 403)])
def test_who_may(start, origin, site, blocks, status):
    proxy = start(origin, "--purge-allow", blocks)
    proxy.get("/a")
    for what, _ in KINDS:
        got = purge(proxy, what)
        assert got.status == status and (b"purge-allow" in got.body) == (status == 403)
    assert was_hit(proxy.get("/a")) == (status == 403)


def test_workers_share_what_is_purged(start, origin, site):
    proxy = start(origin, "--workers", "2")
    clients = [proxy.client() for _ in range(8)]
    for client in clients:
        client.get("/a")
    for turn, client in enumerate(clients):
        assert client.get("/a", f"X-Purge: {'all' if turn % 2 else 'url'}", method="PURGE").status == 200
        assert [was_hit(each.get("/a")) for each in clients] == [False] + [True] * 7


IN_FLIGHT = [("PURGE", ("X-Purge: url",)), ("PURGE", ("X-Purge: prefix",)), ("PURGE", ("X-Purge: host",)), ("PURGE", ("X-Purge: all",)),
             ("PURGE", ("X-Purge: soft",)), ("POST", ())]


def take_away(proxy, origin, method, fields, target="/f"):
    client = proxy.client().ask(target, *fields, method=method)
    if method == "POST":
        origin.receive().answer(message("200 OK"))
    assert client.response().status == 200


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("method,fields", IN_FLIGHT)
def test_what_is_on_its_way_does_not_come_back(start, origin, method, fields, workers):
    """Asked for before the purge, arrived after it: for who asked, and for nobody else."""
    proxy = start(origin, "--workers", workers)
    old = proxy.client().ask("/f")
    before = origin.receive()
    take_away(proxy, origin, method, fields)
    new = proxy.client().ask("/f")
    after = origin.receive()
    before.answer(page(FRESH, body=b"old"))
    assert old.response().body == b"old"
    joins = proxy.client().ask("/f")
    joins.drained()
    after.answer(page(FRESH, body=b"new"))
    assert new.response().body == joins.response().body == b"new"
    assert proxy.get("/f").body == b"new" and not origin.asked()


@pytest.mark.parametrize("method,fields", [IN_FLIGHT[0], IN_FLIGHT[5]])
def test_what_is_on_its_way_takes_nothing_away(proxy, origin, method, fields):
    """What was asked for after the purge is stored by the time the earlier answer comes: it stays."""
    old = proxy.client().ask("/f")
    before = origin.receive()
    take_away(proxy, origin, method, fields)
    new = proxy.client().ask("/f")
    origin.receive().answer(page(FRESH, body=b"new"))
    assert new.response().body == b"new"
    before.answer(page(FRESH, body=b"old"))
    assert old.response().body == b"old"
    assert proxy.get("/f").body == b"new" and not origin.asked()


@pytest.mark.parametrize("method,fields", IN_FLIGHT)
def test_what_is_on_its_way_does_not_say_what_comes_after_it(proxy, origin, method, fields):
    """It turns out to be one client's own: those who ask behind the purge wait for one answer all the same."""
    old = proxy.client().ask("/f")
    before = origin.receive()
    take_away(proxy, origin, method, fields)
    before.answer(page("Cache-Control: private"))
    assert old.response().status == 200
    clients = [proxy.client().ask("/f") for _ in range(3)]
    for client in clients:
        client.drained()
    origin.receive().answer(page(FRESH))
    assert {client.response().status for client in clients} == {200} and not origin.asked()


@pytest.mark.parametrize("method,fields", IN_FLIGHT)
def test_a_304_on_its_way_does_not_bring_it_back(proxy, origin, method, fields):
    client = proxy.client().ask("/f")
    origin.receive().answer(page("Cache-Control: no-cache", 'ETag: "a"', body=b"old"))
    client.response()
    client.ask("/f")
    before = origin.receive()
    take_away(proxy, origin, method, fields)
    before.answer(message("304 Not Modified", FRESH, 'ETag: "a"', length=False))
    assert client.response().body == b"old"
    client.ask("/f")
    origin.receive().answer(page(FRESH, body=b"new"))
    assert client.response().body == b"new"


def test_what_is_on_its_way_elsewhere_is_stored(proxy, origin):
    """One URL in 1,024 shares a gate with the purged one (proxy/cache/cache.c), and what is on its way there is not stored: one of three may."""
    kept = []
    for path in ("/f", "/g", "/h"):
        client = proxy.client().ask(path)
        before = origin.receive()
        for what, target in (("url", "/"), ("url", path + "?a"), ("url", path * 2), ("prefix", path + "/"), ("prefix", path + path[1])):
            take_away(proxy, origin, "PURGE", (f"X-Purge: {what}",), target)
        before.answer(page(FRESH))
        assert client.response().body == b"hello"
        kept.append(proxy.get(path, "Cache-Control: only-if-cached").status == 200)
    assert kept.count(True) >= 2


@pytest.fixture
def filled(start, origin, site, store):
    """A utfeed that has put more than memory holds; how many of it are found."""
    site["*"] = lambda request: (message("304 Not Modified", FRESH, length=False) if request["If-None-Match"] else
                                 page(FRESH, 'ETag: "a"', body=request.target.encode() * 8000))
    proxy = start(origin, "--cache-bytes", "1m", *store)
    ask_all(proxy)
    until = time.monotonic() + TIMEOUT
    while store and not all(stored(proxy)):     # a server takes nothing before utfeed is connected with it
        assert time.monotonic() < until, stored(proxy)
        ask_all(proxy)
    return proxy


def ask_all(proxy, *fields):
    client = proxy.client()
    got = [client.get(f"/p/{number}", *fields) for number in range(30)]
    client.close()
    return got


def stored(proxy):
    return [each.status == 200 for each in ask_all(proxy, "Cache-Control: only-if-cached")]


def settle(proxy, wanted):
    """Stores behind memory are written behind the client's back."""
    until = time.monotonic() + TIMEOUT
    while not wanted(stored(proxy)):
        assert time.monotonic() < until, stored(proxy)


@pytest.mark.parametrize("what", ["prefix", "host", "all"])
def test_every_store_loses_it(filled, store, what):
    settle(filled, all if store else any)
    purge(filled, what, "/p/")
    settle(filled, lambda found: not any(found))


def test_soft_marks_in_every_store(filled, site, store):
    settle(filled, all if store else any)
    purge(filled, "prefix, soft", "/p/")
    settle(filled, lambda found: not any(found))
    got = [filled.get(f"/p/{number}") for number in range(30)]
    assert all(each.body == b"/p/%d" % number * 8000 for number, each in enumerate(got))
    validated = sum("fwd-status=304" in each["Cache-Status"] for each in got)
    assert validated == 30 if store else 0 < validated < 30
