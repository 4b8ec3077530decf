"""Trust, of the cache: two clients at once, 304s, redirects, purges under way, fields that no key holds, clients that leave or read slowly.

A number in a test's name is its fault's: nobody gets what was made for another one's request, nor what may not be had any more.
"""
import contextlib
import threading

import pytest

from fake_redis import FakeRedis
from feeds import SMALL, SMALL_OUT
from pages import FRESH, Site, page, was_hit
from peers import Background
from wire import TIMEOUT, Cut, chunked, message

WORKERS = pytest.mark.parametrize("workers", ["1", "2"])
ETAG = 'ETag: "a"'
STALE = "Cache-Control: max-age=0"
SERVED_FOR = 'Cache-Control: public, max-age=60'


@pytest.fixture
def site(origin):
    return Site(origin)


@pytest.fixture
def fake():
    server = FakeRedis()
    yield server
    server.stop()


def was_stored(proxy, target):
    """Waits a moment: what is not there yet may come."""
    for _ in range(20):
        if proxy.get(target, "Cache-Control: only-if-cached").status == 200:
            return True
    return False


def led(proxy, origin, first, *others):
    """The first one's request as the origin has it, and all clients: the others came while it was waited for."""
    clients = asking(proxy, first)
    upstream = origin.receive()
    clients += asking(proxy, *others)
    origin.wait(0.05)                          # they may still be on their way; most join
    return upstream, clients


def asking(proxy, *requests):
    clients = []
    for target, *fields in requests:
        clients.append(proxy.client().ask(target, *fields))
        clients[-1].drained()
    return clients


# ---- 2: whom a response in the making is for ----

def ways_in(start, origin, option=""):
    """(a utfeed, what /f is called there) of each way in."""
    return {"route": lambda *more: (start(None, "--route", f"/={origin.url} {option}", *more), "/f"),
            "gateway": lambda *more: (start(None, "--gateway", "on", *more), f"/{origin.url}/f"),
            "forward": lambda *more: (start(None, "--forward", "on", *more), f"{origin.url}/f")}


SELECTING = [("route", "authorization=on", "Authorization: Basic YTo=", "Authorization: Basic Yjo="), ("route", "", "Accept-Language: de", "Accept-Language: en"),
             ("route", "user-agent=client", "User-Agent: a", "User-Agent: b"), ("route", "", "Accept: text/a", "Accept: text/b"),
             ("route", "request-fields=*", "X-User: a", "X-User: b"), ("gateway", "", "Accept-Language: de", "Accept-Language: en"),
             ("gateway", "", "User-Agent: a", "User-Agent: b"), ("forward", "", "Accept-Language: de", "Accept-Language: en")]


@WORKERS
@pytest.mark.parametrize("way,option,one,other", SELECTING)
def test_trust_02_who_joins_gets_the_answer_to_his_own_request(start, origin, workers, way, option, one, other):
    proxy, target = ways_in(start, origin, option)[way]("--workers", workers)
    name = one.split(":")[0]
    upstream, clients = led(proxy, origin, (target, one), (target, other))
    told = []
    for client in clients:
        if told:
            assert origin.asked_before_answer(client), "the other one got an answer that was not made for him"
            upstream = origin.receive()
        told.append(upstream.request[name].encode())
        upstream.answer(page(SERVED_FOR, f"Vary: {name}", body=told[-1]))
        assert client.response().body == told[-1]
    assert told[0] != told[1]
    for field, body in zip((one, other), told):
        got = proxy.get(target, field)
        assert was_hit(got) and got.body == body


def test_trust_02_each_variant_is_asked_for_once(start, origin):
    """Who turns out to have joined another variant may still wait for others of his own."""
    proxy = start(origin)
    upstream, clients = led(proxy, origin, *[("/f", f"Accept-Language: {language}") for language in ("de", "en", "de", "en", "en", "de")])
    for turn in range(2):
        upstream = origin.receive() if turn else upstream
        upstream.answer(page(FRESH, "Vary: Accept-Language", body=upstream.request["Accept-Language"].encode()))
    assert [client.response().body for client in clients] == [b"de", b"en", b"de", b"en", b"en", b"de"]
    assert len(origin.requests) == 2 and not origin.asked()


def test_trust_02_what_varies_may_change_all_the_time(start, origin):
    proxy = start(origin)
    upstream, (first, second) = led(proxy, origin, ("/f", "X-A: 1", "Accept-Language: de"), ("/f", "X-A: 2", "Accept-Language: en"))
    upstream.answer(page(FRESH, "Vary: Accept-Language", body=b"de"))
    upstream = origin.receive()
    upstream.answer(page(FRESH, "Vary: User-Agent, Accept-Language", body=upstream.request["Accept-Language"].encode()))
    assert (first.response().body, second.response().body) == (b"de", b"en")


@pytest.mark.parametrize("field", ["Set-Cookie: sid=A", "Cache-Control: private", "Cache-Control: no-store", "Vary: *"])
@WORKERS
def test_trust_02_one_clients_own_is_given_to_no_joiner(start, origin, workers, field):
    proxy = start(origin, "--workers", workers)
    upstream, (first, second) = led(proxy, origin, ("/f",), ("/f",))
    upstream.answer(page(*([FRESH] if "Cache-Control" not in field else []), field, body=b"A"))
    assert first.response().body == b"A" and origin.asked_before_answer(second)
    origin.receive().answer(page(FRESH, body=b"B"))
    got = second.response()
    assert got.body == b"B" and "Set-Cookie" not in got


@pytest.mark.parametrize("said", ["max-age=0", "public, max-age=0", "s-maxage=0, max-age=60", "no-cache, max-age=60", "max-age=x"])
def test_trust_02_a_lifetime_of_nothing_stores_no_cookie(proxy, site, said):
    site["/f"] = lambda _: page(f"Cache-Control: {said}", ETAG, f"Set-Cookie: sid={site.count()}")
    assert [proxy.get("/f")["Set-Cookie"] for _ in range(2)] == ["sid=1", "sid=2"]
    assert "If-None-Match" not in site.last("/f")


@WORKERS
def test_trust_02_who_comes_late_needs_what_is_still_fresh(start, origin, workers):
    """Of a response whose head is there only what a stored one would do for is shared."""
    proxy = start(origin, "--workers", workers)
    whole = page("Cache-Control: no-cache", ETAG, body=b"x" * 3000)
    first = asking(proxy, ("/f",))[0]
    upstream = origin.receive()
    upstream.send(whole[:-100])
    first.arrives(2000)
    late = asking(proxy, ("/f",))[0]
    assert origin.asked_before_answer(late)
    upstream.send(whole[-100:])
    origin.receive().answer(page(FRESH, body=b"new"))
    assert first.response().body == b"x" * 3000 and late.response().body == b"new"


# ---- 4: a 304 passes the gate that a 200 passes ----

def stale_then(proxy, site, *update, head=()):
    """/f is stored and validated once, by a 304 that says update; what that client got."""
    site["/f"] = page(STALE, ETAG, *head, body=b"old")
    proxy.get("/f")
    site["/f"] = lambda request: (message("304 Not Modified", *update, length=False) if request["If-None-Match"] == '"a"' else
                                  page(FRESH, 'ETag: "b"', body=b"new"))
    return proxy.get("/f")


@pytest.mark.parametrize("said", ["Cache-Control: private, max-age=60", "Cache-Control: no-store", "Cache-Control: private=\"x\"", "Vary: *"])
def test_trust_04_what_a_304_forbids_is_not_stored(proxy, site, said):
    got = stale_then(proxy, site, *([FRESH] if said.startswith("Vary") else []), said)
    assert (got.status, got.body) == (200, b"old")
    after = proxy.get("/f")
    assert after.body == b"new" and "If-None-Match" not in site.last("/f")


@pytest.mark.parametrize("more", [[], ["Set-Cookie: sid=B"]])
def test_trust_04_a_304s_cookie_is_for_whom_it_was_said(proxy, site, more):
    got = stale_then(proxy, site, FRESH, ETAG, "Set-Cookie: sid=A", *more)
    assert got.all("Set-Cookie") == ["sid=A"] + [each[12:] for each in more] and got.body == b"old"
    after = proxy.get("/f")
    assert was_hit(after) and "Set-Cookie" not in after


def test_trust_04_a_304s_cookie_is_for_no_joiner(proxy, origin):
    client = proxy.client().ask("/f")
    origin.receive().answer(page(STALE, ETAG, body=b"old"))
    client.response()
    upstream, (first, second) = led(proxy, origin, ("/f",), ("/f",))
    upstream.answer(message("304 Not Modified", FRESH, "Set-Cookie: sid=A", length=False))
    assert first.response()["Set-Cookie"] == "sid=A"
    got = second.response() if not origin.asked_before_answer(second) else origin.receive().answer(page(FRESH)) or second.response()
    assert "Set-Cookie" not in got


def test_trust_04_a_304_that_varies_otherwise(proxy, site):
    site["/f"] = page(STALE, ETAG, body=b"de")
    proxy.get("/f", "Accept-Language: de")
    site["/f"] = lambda request: (message("304 Not Modified", FRESH, "Vary: Accept-Language", length=False) if request["If-None-Match"] else
                                  page(FRESH, "Vary: Accept-Language", body=request["Accept-Language"].encode()))
    assert proxy.get("/f", "Accept-Language: de").body == b"de"
    assert proxy.get("/f", "Accept-Language: en").body == b"en"
    assert [was_hit(proxy.get("/f", f"Accept-Language: {each}")) for each in ("de", "en")] == [True, True]


def test_trust_04_hop_by_hop_fields_of_a_304_go_no_further(proxy, site):
    got = stale_then(proxy, site, FRESH, "Connection: X-Hop", "X-Hop: secret", "X-End: 1")
    for each in (got, proxy.get("/f")):
        assert each["X-End"] == "1" and "X-Hop" not in each


def test_trust_04_a_304_of_another_strong_etag_updates_nothing(proxy, site):
    """RFC 9111 section 4.3.4: it is about something that is not stored. The whole is asked for."""
    got = stale_then(proxy, site, FRESH, 'ETag: "c"')
    assert (got.body, got["ETag"]) == (b"new", '"b"') and site.count("/f") == 3
    assert was_hit(proxy.get("/f"))


@pytest.mark.parametrize("stored,told", [('"a"', 'W/"a"'), ('W/"a"', '"a"'), ('"a"', None)])
def test_trust_04_a_304_of_the_same_tag_holds(proxy, site, stored, told):
    site["/f"] = page(STALE, f"ETag: {stored}", body=b"old")
    proxy.get("/f")
    site["/f"] = message("304 Not Modified", FRESH, *([f"ETag: {told}"] if told else []), length=False)
    assert proxy.get("/f").body == b"old" and was_hit(proxy.get("/f"))


def test_trust_04_what_redirects_and_codings_say_survives_a_304(start, origin, site):
    proxy, target = start(None, "--gateway", "on"), f"/{origin.url}/f"
    moved = message("302 Found", "Location: /g", FRESH, body=b"")
    site["/f"] = moved
    site["/g"] = lambda request: (message("304 Not Modified", FRESH, length=False) if request["If-None-Match"] else
                                  page("Cache-Control: no-cache", ETAG, kind="application/xml", body=SMALL))
    first, second, hit = (proxy.get(target) for _ in range(3))
    assert was_hit(hit) and not was_hit(second)
    for each in (first, second, hit):
        assert each.body == SMALL_OUT and each["Content-Location"] == f"{origin.url}/g" and "Accept-Encoding" in each["Vary"]


@pytest.mark.parametrize("own", [(), ("Content-Location: /other",)])
def test_the_url_that_the_gateway_names_survives_a_304(start, origin, site, own):
    proxy, target = start(None, "--gateway", "on"), f"/{origin.url}/f?a=1"
    site["/f?a=1"] = lambda request: (message("304 Not Modified", FRESH, length=False) if request["If-None-Match"] else
                                      page("Cache-Control: no-cache", ETAG, *own, kind="application/xml", body=SMALL))
    answers = [proxy.get(target) for _ in range(3)] + [proxy.get(f"/?url={origin.url}/f?a=1")]
    assert [was_hit(each) for each in answers] == [False, False, True, True] and site.count("/f?a=1") == 2
    for each in answers:
        assert each.body == SMALL_OUT and each["Content-Location"] == ("/other" if own else f"{origin.url}/f?a=1")


# ---- 5: redirects count ----

def gateway(start, origin):
    return start(None, "--gateway", "on", "--freshness-floor", "0"), f"/{origin.url}"


IMMUTABLE = "Cache-Control: max-age=31536000, immutable"


@pytest.mark.parametrize("hop,hits", [
    (["Cache-Control: no-store"], False), (["Cache-Control: private, max-age=60"], False), ([], False), (["Cache-Control: max-age=0"], False),
    (["Cache-Control: no-cache, max-age=60"], False), (["Vary: *", FRESH], False), (["Set-Cookie: a=b"], False), ([FRESH], True)])
def test_trust_05_what_a_redirect_says_counts(start, origin, site, hop, hits):
    proxy, to = gateway(start, origin)
    site["/latest"] = message("302 Found", "Location: /v1", *hop, body=b"")
    site["/v1"] = page(IMMUTABLE, body=b"1")
    site["/v2"] = page(IMMUTABLE, body=b"2")
    assert proxy.get(to + "/latest").body == b"1"
    site["/latest"] = message("302 Found", "Location: /v2", *hop, body=b"")
    got = proxy.get(to + "/latest")
    assert (was_hit(got), got.body) == ((True, b"1") if hits else (False, b"2"))


def test_trust_05_the_shortest_lifetime_of_all_counts(timed, origin, site, clock):
    proxy = timed(None, "--gateway", "on", "--freshness-floor", "0")
    target = f"/{origin.url}/a"
    site["/a"] = message("302 Found", "Location: /b", "Cache-Control: max-age=600", body=b"")
    site["/b"] = message("302 Found", "Location: /c", "Cache-Control: max-age=20", body=b"")
    site["/c"] = page(IMMUTABLE, body=b"c")
    proxy.get(target)
    clock.at(10)
    assert was_hit(proxy.get(target))
    clock.at(25)
    assert not was_hit(proxy.get(target))


def test_trust_05_what_redirects_vary_by_tells_apart(start, origin, site):
    proxy, to = gateway(start, origin)
    site["/a"] = lambda request: message("302 Found", f"Location: /{request['Accept-Language']}", FRESH, "Vary: Accept-Language", body=b"")
    site["/de"], site["/en"] = page(FRESH, body=b"de"), page(FRESH, body=b"en")
    for _ in range(2):
        for language in ("de", "en"):
            assert proxy.get(to + "/a", f"Accept-Language: {language}").body == language.encode()
    assert site.count("/a") == 2


def test_trust_05_validators_go_where_they_came_from(start, origin, site):
    proxy, to = gateway(start, origin)
    date = "Last-Modified: Sat, 01 Jan 2022 00:00:00 GMT"
    site["/feed"] = message("302 Found", "Location: /v1", body=b"")
    site["/v1"] = lambda request: message("304 Not Modified", length=False) if request["If-None-Match"] else page(STALE, ETAG, date, body=b"1")
    assert [proxy.get(to + "/feed").body for _ in range(2)] == [b"1", b"1"]
    assert site.last("/v1")["If-None-Match"] == '"a"' and "If-None-Match" not in site.last("/feed")
    site["/feed"] = message("302 Found", "Location: /v2", body=b"")
    site["/v2"] = lambda request: (message("304 Not Modified", length=False) if request["If-None-Match"] or request["If-Modified-Since"] else
                                   page(STALE, ETAG, date, body=b"2"))
    assert proxy.get(to + "/feed").body == b"2"
    assert "If-None-Match" not in site.last("/v2") and "If-Modified-Since" not in site.last("/v2")


# ---- 6: a purge and what is on its way ----

@pytest.mark.parametrize("purge", [("PURGE", "X-Purge: url"), ("PURGE", "X-Purge: prefix"), ("PURGE", "X-Purge: all"), ("POST", "Content-Length: 0")])
@WORKERS
def test_trust_06_a_lookup_on_its_way_brings_nothing_back(start, origin, fake, workers, purge):
    """The store's answer is held back until the purge is done."""
    site = Site(origin)
    site["/f"] = page(FRESH, body=b"old")
    options = ["--cache-redis", f"127.0.0.1:{fake.port}", "--workers", workers]
    first = start(origin, *options)
    while not fake.records("/f"):
        first.get("/f", "Cache-Control: no-cache")
    proxy = start(origin, *options)
    held, go_on = threading.Event(), threading.Event()

    def slow(args):
        if args[0] == b"HMGET" and not held.is_set():
            held.set()
            reply = fake.honest(*args)
            fake.lock.release()
            go_on.wait(TIMEOUT)
            fake.lock.acquire()
            return reply
        return None
    asked = fake.count(b"HMGET")
    while fake.count(b"HMGET") == asked:       # until it is connected with its store
        proxy.get("/other", "Cache-Control: only-if-cached")
    fake.say = slow
    early = proxy.client().ask("/f")
    assert held.wait(TIMEOUT)
    purging = Background(lambda: proxy.get("/" if purge[1].endswith(("prefix", "all")) else "/f", purge[1], method=purge[0]))
    site["/f"] = page(FRESH, body=b"new")
    while purging.thread.is_alive() and purge[0] == "POST":
        purging.thread.join(0.01)
    purging.thread.join(0.3)                   # a PURGE may wait for the store: it is in the stores' queues by now
    go_on.set()
    purging.join()
    assert early.response().body in (b"old", b"new")
    assert proxy.get("/f").body == b"new"


# ---- 7: the key is what the origin was told ----

POISON = [("named by Connection", ["Accept-Language: evil", "Connection: Accept-Language"], "Accept-Language"),
          ("the second of two", ["Accept: text/plain", "Accept: evil/x"], "Accept"),
          ("the second of two", ["User-Agent: a", "User-Agent: evil"], "User-Agent")]


@pytest.mark.parametrize("way", ["route", "gateway", "forward"])
@pytest.mark.parametrize("rule,fields,name", POISON)
def test_trust_07_the_key_says_what_the_origin_was_told(start, origin, site, way, rule, fields, name):
    """What the attacker's request is stored under is what a client sends who asks for that, and for nothing else."""
    proxy, target = ways_in(start, origin)[way]()
    site["/f"] = lambda request: page(FRESH, f"Vary: {name}", body=str(request.all(name)).encode())
    attacker = proxy.get(target, *fields)
    for victim in ([f"{name}: evil"], [f"{name}: evil/x"], [f"{name}: a, evil"], [f"{name}: text/plain, evil/x"], []):
        told, got = site.count(), proxy.get(target, *victim)
        if site.count() == told:
            assert got.body == attacker.body
            seen = start(None, *({"route": ["--route", f"/={origin.url}"], "gateway": ["--gateway", "on"], "forward": ["--forward", "on"]}[way]),
                         "--cache", "off").get(target, *victim)
            assert seen.body == got.body, rule


@pytest.mark.parametrize("field", ["X-Forwarded-Host", "X-Api-Key", "X-Original-URL", "Origin", "X-HTTP-Method-Override"])
def test_trust_07_what_no_table_names_is_in_the_key(start, origin, site, field):
    proxy, target = start(None, "--forward", "on"), f"{origin.url}/f"
    site["/f"] = lambda request: page(FRESH, body=str(request.all(field)).encode())
    evil = proxy.get(target, f"{field}: evil")
    plain = proxy.get(target)
    assert evil.body != plain.body
    assert was_hit(proxy.get(target, f"{field}: evil")) and proxy.get(target).body == plain.body


# ---- 8: what nobody reads any more ----

def test_trust_08_long_bodies_that_nobody_reads_are_let_go(start, origin):
    proxy = start(origin)
    client = proxy.client().ask("/f")
    upstream = origin.receive()
    upstream.send(message("200 OK", FRESH, "Content-Type: image/png", "Content-Length: 5000000", length=False) + b"x" * 100_000)
    client.arrives(50_000).reset()
    assert upstream.gone(b"x" * 1000)
    assert proxy.counters()["fetches_abandoned"] == 1


def test_trust_08_so_many_go_on_at_once(start, origin):
    """What is small goes on for the store, in a number that does not grow with the clients who leave."""
    proxy = start(origin, "--workers", "1")
    clients = asking(proxy, *[(f"/{i}",) for i in range(100)])
    upstreams = [origin.receive() for _ in clients]
    for upstream in upstreams:
        upstream.send(message("200 OK", FRESH, "Content-Type: image/png", "Content-Length: 10", length=False) + b"x")
    for client in clients:
        client.arrives(1).reset()
    assert proxy.counted("fetches_abandoned", 36) == 36
    for upstream in upstreams:
        with contextlib.suppress(OSError):
            upstream.send(b"x" * 9)
    assert proxy.counted("cache_entries", 64) == 64


@pytest.mark.parametrize("step", [100_000, 20_000], ids=["by halves", "at one pace"])
def test_trust_08_bodies_in_the_making_count(start, origin, step):
    """cache-bytes 1m: of twelve bodies of 200 KiB on their way at once some are stored, the others only passed on, all of them whole."""
    proxy = start(origin, "--cache-bytes", "1m", "--workers", "1")
    clients = asking(proxy, *[(f"/{i}",) for i in range(12)])
    upstreams = [origin.receive() for _ in clients]
    whole = page(FRESH, body=b"x" * 200_000, kind="image/png")
    for at in range(0, len(whole), step):
        for upstream in upstreams:
            upstream.send(whole[at:at + step])
        for client in clients if at + step < len(whole) else ():
            client.arrives(int(at + step * .9))
    assert [len(client.response().body) for client in clients] == [200_000] * 12
    stored = [proxy.get(f"/{i}", "Cache-Control: only-if-cached").status for i in range(12)].count(200)
    assert 0 < stored < 5


@pytest.mark.parametrize("varies", ["", "Vary: X-User"])
@pytest.mark.parametrize("room", ["none left by bodies in the making", "none by cache-object-max", "none by cache-object-max, which no length told"])
def test_what_finds_no_room_is_not_answered_by_what_is_older(start, origin, store, room, varies):
    """A reload brought the newer response to a client: nobody gets the older one any more, though the newer one could not be stored (RFC 9111 4)."""
    proxy = start(None, "--route", f"/={origin.url} request-fields=*", "--cache-bytes", "1m", "--cache-object-max", "700k", "--workers", "2", *store)
    one, other = proxy.client(), proxy.client()

    def turn(client, body, *more):
        client.ask("/f", "X-User: a", *more)
        coded = len(body) > 700_000 and room.endswith("told")
        framing, sent = (["Transfer-Encoding: chunked"], chunked(body)) if coded else ([], body)
        origin.receive().send(page(FRESH, *([varies] if varies else []), *framing, body=sent, kind="image/png"))
        return client.response().body
    assert turn(one, b"old") == other.get("/f", "X-User: a").body == b"old"
    if room.startswith("none left"):
        others = asking(proxy, *[(f"/{i}",) for i in range(12)])
        for _ in others:
            origin.receive().send(page(FRESH, body=b"x" * 200_000, kind="image/png")[:100_000])
        for each in others:
            each.arrives(90_000)
    new = b"n" * (150_000 if room.startswith("none left") else 720_000)
    assert turn(one, new, "Cache-Control: no-cache") == new
    assert turn(other, b"newer") == one.get("/f", "X-User: a").body == b"newer"


# ---- 13: a pause does not make good what must be validated ----

@pytest.mark.parametrize("said,status", [("no-cache", 503), ("max-age=0, must-revalidate", 503), ("max-age=0, stale-if-error=600", 200)])
@pytest.mark.parametrize("pause", ["429 X", "503 X"])
def test_trust_13_a_pause_serves_only_what_may_be_stale(proxy, site, said, status, pause):
    site["/f"] = page(f"Cache-Control: {said}", ETAG)
    proxy.get("/f")
    site["/f"] = message(pause, "Retry-After: 100")
    answers = [proxy.get("/f") for _ in range(2)]
    assert site.count() == 2
    assert answers[1].status == (status if status == 200 else int(pause[:3]))
    assert not (status != 200 and "hit" in answers[1]["Cache-Status"])


def test_trust_13_a_304_that_nobody_asked_for_makes_nothing_good(start, origin):
    """Who waits for another's fetch gets a stale response by its own directives alone."""
    proxy = start(None, "--route", f"/={origin.url} keep-feed=0 pause=off")
    unasked = message("304 Not Modified", length=False)
    upstream, (first,) = led(proxy, origin, ("/f",))
    upstream.answer(page("Cache-Control: max-age=0"))
    assert first.response().status == 200
    upstream, (one, other) = led(proxy, origin, ("/f", "Cache-Control: stale-if-error=600"), ("/f",))
    upstream.answer(unasked)
    for _ in range(3):
        origin.receive().answer(unasked)
    assert (one.response().status, other.response().status) == (200, 502)


# ---- 14: one lookup a miss ----

def test_trust_14_a_miss_asks_the_second_store_once(start, origin, fake):
    site = Site(origin)
    site["*"] = lambda request: page(FRESH)
    proxy = start(origin, "--cache-redis", f"127.0.0.1:{fake.port}", "--workers", "2")
    until = fake.count(b"HMGET")
    while fake.count(b"HMGET") == until:
        proxy.get("/none", "Cache-Control: only-if-cached")
    before = fake.count(b"HMGET")
    ends = [Background(lambda n=n: [proxy.get(f"/{n}/{i}") for i in range(40)]) for n in range(8)]
    for each in ends:
        each.join()
    assert fake.count(b"HMGET") - before <= 8 * 40


# ---- 22: who waits for what fails ----

@WORKERS
@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: 100000\r\n\r\n<?xml version='1.0'?><rss>"])
def test_trust_22_a_failing_origin_is_asked_once(start, origin, workers, said):
    proxy = start(origin, "--workers", workers)
    upstream, clients = led(proxy, origin, *[("/f",)] * 50)
    if said:
        upstream.send(said)
    upstream.reset()
    assert [client.response().status for client in clients] == [502] * 50
    assert len(origin.requests) == 1 and not origin.asked()


@pytest.mark.parametrize("status", ["500 X", "502 X", "503 X", "504 X"])
def test_trust_22_an_origin_in_trouble_is_asked_once(proxy, origin, status):
    upstream, clients = led(proxy, origin, *[("/f",)] * 20)
    upstream.answer(message(status, "Content-Type: text/plain", body=b"trouble"))
    assert [client.response().body for client in clients] == [b"trouble"] * 20
    assert len(origin.requests) == 1 and not origin.asked()


# ---- 23: one slow reader ----

@WORKERS
def test_trust_23_a_slow_reader_is_given_up_for_the_others(start, origin, workers):
    """A body that outgrows what may be kept, without having said so: the fast ones get all of it, the slow one a visible end."""
    proxy = start(origin, "--cache-object-max", "1m", "--transit-bytes", "64k", "--workers", workers)
    slow = proxy.client(receive_buffer=4096).ask("/f")
    slow.drained()
    fast = asking(proxy, ("/f",), ("/f",))
    upstream = origin.receive()
    head = message("200 OK", FRESH, "Content-Type: image/png", "Transfer-Encoding: chunked", length=False)
    sending = upstream.send_soon(head + chunked(b"y" * (8 << 20)))
    got = [Background(client.response) for client in fast]
    assert [len(each.join().body) for each in got] == [8 << 20] * 2
    sending.join()
    with pytest.raises(Cut):
        slow.response()


def test_trust_23_alone_a_slow_reader_gets_all(start, origin):
    proxy = start(origin, "--cache-object-max", "1m", "--transit-bytes", "64k")
    slow = proxy.client(receive_buffer=4096).ask("/f")
    upstream = origin.receive()
    upstream.send_soon(message("200 OK", FRESH, "Content-Type: image/png", "Transfer-Encoding: chunked", length=False) + chunked(b"y" * (3 << 20)))
    assert len(slow.response().body) == 3 << 20
