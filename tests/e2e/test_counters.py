"""The counters that SIGUSR1 shows: each request counts as one of the ways it can be answered, the stores tell what they hold."""
import contextlib
import glob
import os
import re
import signal
import threading
import time

import pytest

from fake_redis import FakeRedis
from pages import FRESH, Site, page, was_hit
from peers import Background
from proxy import is_sanitized
from wire import TIMEOUT, Cut, message

OUTCOMES = ("cache_hits", "cache_stale", "cache_revalidated", "cache_collapsed", "cache_misses", "cache_bypasses")
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proxy", "base", "stats.def")
STALE = ("Cache-Control: max-age=1", "Age: 100")


@pytest.fixture
def site(origin):
    return Site(origin)


def outcomes(proxy):
    """Those that are not 0."""
    counted = proxy.counters()
    return {name: counted[name] for name in OUTCOMES if counted[name]}


def on_condition(*fields):
    return lambda request: message("304 Not Modified", *fields, length=False) if request["If-None-Match"] else page('ETag: "a"', *fields)


def failing_later(*fields):
    turn = []

    def answer(_):
        turn.append(1)
        return page(*fields) if len(turn) == 1 else message("503 X")
    return answer


# What the page is, what is asked, what it counts as
WAYS = {
    "a hit": (lambda: page(FRESH), [()] * 3, {"cache_misses": 1, "cache_hits": 2}),
    "never stored": (lambda: page("Cache-Control: no-store"), [()] * 3, {"cache_misses": 3}),
    "confirmed by a 304": (lambda: on_condition(*STALE), [()] * 3, {"cache_misses": 1, "cache_revalidated": 2}),
    "asked for anew": (lambda: page(FRESH), [(), ("Cache-Control: no-cache",)], {"cache_misses": 2}),
    "stale is taken": (lambda: page(*STALE), [(), ("Cache-Control: max-stale",)], {"cache_misses": 1, "cache_stale": 1}),
    "the origin errs": (lambda: failing_later("Cache-Control: max-age=1, stale-if-error=600", "Age: 100"), [(), ()],
                        {"cache_misses": 1, "cache_stale": 1}),
    "not stored, only-if-cached": (lambda: page(FRESH), [("Cache-Control: only-if-cached",)], {"cache_misses": 1}),
}


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("way", WAYS)
def test_a_request_counts_as_one_outcome(start, origin, site, way, workers):
    answer, asked, counted = WAYS[way]
    site["/f"] = answer()
    proxy = start(origin, "--workers", workers)
    for fields in asked:
        proxy.get("/f", *fields)
    assert outcomes(proxy) == counted


@pytest.mark.parametrize("options", [("--reload-floor", "1h"), ("--client-no-cache", "off")])
def test_reloads_that_do_not_count(start, origin, site, options):
    """Of the second, which what is stored would have satisfied in any case, nothing is counted."""
    proxy = start(origin, *options)
    site["/f"] = page(FRESH)
    for fields in ((), ("Cache-Control: max-age=9",), ("Cache-Control: no-cache",), ("Cache-Control: max-age=9, min-fresh=9000",)):
        proxy.get("/f", *fields)
    assert outcomes(proxy) == {"cache_misses": 1, "cache_hits": 3} and proxy.counters()["reloads_held"] == 2


def test_what_goes_past_the_cache(start, origin, site):
    proxy = start(None, "--route", f"/={origin.url} cache=off")
    site["/f"] = page(FRESH)
    proxy.get("/f")
    proxy.get("/f", method="POST")
    assert outcomes(proxy) == {"cache_bypasses": 2}


def test_who_waited_is_told_apart_from_who_asked(start, origin):
    """Ten wait for one: one miss, nine collapsed."""
    proxy = start(origin)
    crowd = [Background(proxy.get, "/f")]
    upstream = origin.receive()
    crowd += [Background(proxy.get, "/f") for _ in range(9)]
    until = time.monotonic() + TIMEOUT
    while proxy.counters()["requests"] < 10:
        assert time.monotonic() < until
    upstream.answer(page(FRESH))
    assert all(each.join().body == b"hello" for each in crowd)
    assert outcomes(proxy) == {"cache_misses": 1, "cache_collapsed": 9}


def test_a_refresh_behind_an_answer(start, origin, site):
    proxy, asked = start(origin), threading.Event()
    site["/f"] = page("Cache-Control: max-age=1, stale-while-revalidate=600", "Age: 100")
    proxy.get("/f")

    def again(_):
        asked.set()
        return page(FRESH)
    site["/f"] = again
    assert was_hit(proxy.get("/f")) and asked.wait(TIMEOUT)
    counted = proxy.counters()
    assert (counted["cache_stale"], counted["cache_refreshes"], counted["refreshes_ahead"]) == (1, 1, 0)


def test_what_memory_holds(start, origin, site):
    """Entries come, take bytes, are driven out by others, and go with a PURGE."""
    site["*"] = page(FRESH, body=b"x" * 20_000)
    proxy = start(origin, "--cache-bytes", "1m")
    empty = proxy.counters()
    assert empty["cache_entries"] == 0 and not any(name.startswith("second_") for name in empty)
    for n in range(4):
        proxy.get(f"/{n}")
    four = proxy.counters()
    assert four["cache_entries"] == 4 and four["cache_bytes"] > empty["cache_bytes"] + 80_000 and four["cache_evictions"] == 0
    assert four["cache_lookups_missed"] >= 4 and four["cache_lookups_found"] == 0
    heap = not is_sanitized()                  # under AddressSanitizer blocks are malloc()'s
    assert (not heap or four["heap_bytes"] >= empty["heap_bytes"] + 80_000) and four["heap_spare_bytes"] < 8e6
    assert proxy.get("/0", "X-Purge: all", method="PURGE").status == 200
    gone = proxy.counters()
    assert gone["cache_entries"] == 0 and gone["cache_bytes"] < four["cache_bytes"] - 80_000 and gone["cache_purges"] == 1
    assert not heap or gone["heap_bytes"] <= four["heap_bytes"] - 80_000
    for n in range(100):
        proxy.get(f"/{n}")
    full = proxy.counters()
    assert full["cache_evictions"] >= 40 and full["cache_entries"] == 100 - full["cache_evictions"] and full["cache_bytes"] < 1.1e6


def until(proxy, name, value):
    last = time.monotonic() + TIMEOUT
    while (counted := proxy.counters())[name] != value:
        assert time.monotonic() < last, f"{name} is {counted[name]}"
    return counted


def test_what_a_store_behind_memory_holds(start, origin, site, tmp_path):
    site["*"] = page(FRESH, body=b"x" * 20_000)
    options = ["--cache-lmdb", str(tmp_path), "--cache-lmdb-bytes", "64m"]
    first = start(origin, *options)
    first.get("/1")
    first.get("/2")
    counted = until(first, "second_entries", 2)
    assert counted["second_bytes"] > 40_000 and counted["second_misses"] == 2 and counted["second_hits"] == counted["second_away"] == 0
    first.stop()
    second = start(origin, *options)
    assert was_hit(second.get("/1")) and site.count() == 2
    counted = second.counters()
    assert counted["second_hits"] == 1 and counted["second_entries"] == 2 and counted["cache_hits"] == 1


def test_redis_away_is_shown(start, origin, site):
    site["*"] = page(FRESH)
    server = FakeRedis()
    proxy = start(origin, "--cache-redis", f"127.0.0.1:{server.port}")
    assert until(proxy, "second_away", 0)["second_owed"] == 0
    server.stop()
    proxy.get("/f")
    proxy.get("/f", method="PURGE")
    counted = until(proxy, "second_away", 1)
    assert counted["second_errors"] >= 1 and counted["second_owed"] >= 1 and "second_entries" not in counted


@pytest.mark.parametrize("workers", ["1", "2"])
def test_routes_with_names_are_counted(start, origin, site, workers):
    """Each by itself; routes of one name together, one without a name not at all; a reload loses nothing."""
    site["/kept"], site["/own"] = page(FRESH), page("Cache-Control: no-store")
    routes = [word for path, more in (("/a", "name=news"), ("/b", "name=news"), ("/c", "name=other cache=off"), ("/d", ""))
              for word in ("--route", f"{path}={origin.url} {more}".strip())]
    proxy = start(None, *routes, "--workers", workers)

    def told():
        return {name: count for name, count in proxy.counters().items() if name.startswith("route.")}
    for target in ("/a/kept", "/a/kept", "/a/own", "/b/kept", "/c/kept", "/c/kept", "/d/kept", "/nowhere"):
        proxy.get(target)
    assert told() == {"route.news.requests": 4, "route.news.hits": 1, "route.news.misses": 3,
                      "route.other.requests": 2, "route.other.hits": 0, "route.other.misses": 0}
    proxy.reload()
    proxy.get("/a/kept")
    assert told()["route.news.requests"] == 5 and told()["route.news.hits"] == 2


def test_a_named_route_that_comes_and_goes(start, origin, site, tmp_path):
    """Counted for as long as there is one of that name, whatever else of it changes."""
    site["*"] = page(FRESH)
    path = tmp_path / "utfeed.conf"

    def write(*lines):
        path.write_text("".join(f"route = {line}\n" for line in lines))
    write(f"/={origin.url} name=first")
    proxy = start(None, "--config", str(path))
    proxy.get("/f")
    write(f"/={origin.url} name=first refresh-hot=3", f"/x={origin.url} name=second")
    proxy.reload()
    proxy.get("/x/f")
    counted = proxy.counters()
    assert counted["route.first.requests"] == 1 and counted["route.second.requests"] == 1
    write(f"/={origin.url} name=second")
    proxy.reload()
    counted = proxy.counters()
    assert "route.first.requests" not in counted and counted["route.second.requests"] == 1


# What is sent as the answer, what is asked for, and which counters it moves, by how much
FEED, LATE = b"<?xml version='1.0'?><rss><channel><title>%b</title></channel></rss>", b"weather " * 200
ANSWERS = {
    "a feed": (lambda: page(body=FEED % "погода".encode("koi8-r"), kind="text/xml; charset=koi8-r"), "/f", {"responses_normalised": 1, "malformed": 0}),
    "no feed": (page, "/f", {"responses_untouched": 1}),
    "a feed whose encoding shows late": (lambda: page(body=FEED % (LATE + "погода на завтра и послезавтра".encode("cp1251")), kind="text/xml"), "/f",
                                         {"responses_normalised": 1, "responses_revised": 1}),
    "a stray byte": (lambda: page(body=FEED % ("погода ".encode() * 300 + b"\xff"), kind="text/xml; charset=utf-8"), "/f", {"malformed": 1}),
    "a cut transfer": (lambda: (message("200 OK", "Content-Type: text/plain", "Content-Length: 100000", body=b"x" * 50_000, length=False), "close"), "/f",
                       {"responses_cut": 1, "fetches_failed": 1}),
    "bytes behind the end": (lambda: page() + b"!", "/f", {"responses_over_long": 1}),
    "a redirect": (lambda: page("Location: /else", status="302 Found"), "/{url}/f", {"redirects": 1, "fetches": 2}),
    "nobody there": (page, "/http://127.0.0.1:{dead}/f", {"fetches_failed": 1, "responses_error": 1}),
    "no method": (page, "BREW/", {"requests_bad": 1, "fetches": 0}),
}


@pytest.mark.parametrize("case", [pytest.param(case, marks=pytest.mark.http1("a stream that ends before it is a request"))
                                  if case == "no method" else case for case in ANSWERS])
def test_what_answers_count(start, origin, site, dead_port, case):
    answer, target, moved = ANSWERS[case]
    site["/f"], site["/else"] = answer(), page()
    proxy = start(origin, "--sniff-bytes", "1k")
    target = target.format(url=origin.url, port=origin.port, dead=dead_port)
    with contextlib.suppress(Cut):
        if target.startswith("/"):
            proxy.get(target)
        else:
            proxy.get("/f", method=target)
    for name, count in {**moved, "bytes_to_clients": 21}.items():       # an answer is out before it is counted
        reached = proxy.counted(name, count)
        assert reached == count if name in moved else reached >= count, name
    counted = proxy.counters()
    assert counted["clients_accepted"] == 1
    assert (counted["bytes_from_origins"] > 0) == (counted["fetches"] > 0)


def test_connections_and_pauses(start, origin, site):
    """A second fetch goes by the first one's connection; those that the origin asked to be spared are not made."""
    site["/f"], site["/kept"], site["/busy"] = page("Cache-Control: no-store"), page("Cache-Control: max-age=0, stale-if-error=60"), \
        page("Retry-After: 100", status="429 Too Many Requests")
    proxy = start(origin)
    for target in ("/f", "/f", "/kept", f"/{origin.url}/busy", f"/{origin.url}/busy", "/kept"):
        proxy.get(target)
    counted = proxy.counters()
    assert (counted["fetches"], counted["connections_reused"]) == (4, 2)
    assert (counted["pauses"], counted["backoff_refusals"], counted["pause_kept"]) == (1, 2, 1)


def test_a_turn_that_takes_long(start, origin, site):
    """Stopped while it has requests to answer, a worker serves nobody."""
    site["/f"] = page(FRESH)
    proxy = start(origin)
    client, end = proxy.client(), time.monotonic() + TIMEOUT
    client.get("/f")
    while proxy.counters()["loop_stalls"] == 0:
        assert time.monotonic() < end
        for _ in range(500):
            client.ask("/f")
        proxy.process.send_signal(signal.SIGSTOP)
        time.sleep(0.02)
        proxy.process.send_signal(signal.SIGCONT)
        for _ in range(500):
            assert client.response().status == 200


def test_what_a_small_store_behind_memory_drives_out(start, origin, site, tmp_path):
    site["*"] = page(FRESH, body=b"x" * 20_000)
    proxy = start(origin, "--cache-lmdb", str(tmp_path), "--cache-lmdb-bytes", "1m")
    for n in range(80):
        proxy.get(f"/{n}")
    assert proxy.counted("second_evictions", 1) >= 1


def test_every_number_is_looked_at_by_a_test():
    """Each counter, gauge and tally stands in a test that asks for its value: a new one needs a test that moves it."""
    with open(TABLE, encoding="ascii") as table:
        names = re.findall(r'^(?:COUNTER|GAUGE|TALLY|ROUTE)\(\w+, +"(\w+)"', table.read(), re.M)
    words = set()
    for path in glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "test_*.py")):
        with open(path, encoding="utf-8") as source:
            words |= {word for quoted in re.findall(r"[\"']([^\"'\n]*)[\"']", source.read()) for word in re.findall(r"\w+", quoted)}
    unnamed = sorted(set(names) - words)
    assert len(names) > 50 and not unnamed


def test_all_of_the_table_is_shown_in_its_order(start, origin, site, tmp_path):
    with open(TABLE, encoding="ascii") as table:
        rows = re.findall(r'^(COUNTER|GAUGE|TALLY)\(\w+, +"(\w+)"', table.read(), re.M)
    proxy = start(origin, "--cache-lmdb", str(tmp_path), "--admin-listen", "127.0.0.1:0")     # which owns the list of feeds
    assert len(rows) > 50 and list(proxy.counters()) == [name for _, name in rows if not name.startswith("fleet_")]    # a fleet owns these
    proxy.get("/f")
    assert proxy.counters()["loop_longest_turn"] > 0
