"""PURGE where utfeeds share a store: what another one fetches, holds in memory or has on its way when it is purged is nobody's afterwards."""
import signal
import time

import pytest

from clock import Clock
from fleets import found, purged
from pages import FRESH, Site, page, was_hit
from test_purge import IN_FLIGHT, take_away
from wire import TIMEOUT, message


@pytest.fixture
def both(start, origin, store):
    """both(): one more utfeed of those that share a store, once it has that."""
    if not store:
        pytest.skip("memory is a process's own")

    return lambda: confirming(start(origin, *store))


def confirming(proxy):
    """It, once it has the store."""
    purged(proxy)
    return proxy


def confirmed(proxy, origin, method, fields, target="/f"):
    """An unsafe request is answered before the others know; a purge behind it is not."""
    take_away(proxy, origin, method, fields, target)
    if method == "POST":
        assert purged(proxy)


@pytest.mark.parametrize("method,fields", IN_FLIGHT)
def test_what_another_fetches_is_not_stored_behind_it(both, origin, method, fields):
    """Issue 31, A 5."""
    first, second = both(), both()
    client = second.client().ask("/f")
    before = origin.receive()
    confirmed(first, origin, method, fields)
    before.answer(page(FRESH, body=b"old"))
    assert client.response().body == b"old"
    assert purged(second)       # with it what was on its way is stored, or is not
    assert found(first) is None and found(second) is None and found(both()) is None
    client.ask("/f")
    origin.receive().answer(page(FRESH, body=b"new"))
    assert client.response().body == b"new" and purged(second)
    assert found(first) == b"new" and found(second) == b"new"


@pytest.mark.parametrize("method,fields", IN_FLIGHT)
def test_a_304_of_another_does_not_bring_it_back(both, origin, method, fields):
    first, second = both(), both()
    client = second.client().ask("/f")
    origin.receive().answer(page("Cache-Control: no-cache", 'ETag: "a"', body=b"old"))
    client.response()
    client.ask("/f")
    before = origin.receive()
    confirmed(first, origin, method, fields)
    before.answer(message("304 Not Modified", FRESH, 'ETag: "a"', length=False))
    assert client.response().body == b"old" and purged(second)
    assert found(first) is None and found(second) is None


@pytest.mark.parametrize("what", ["url", "prefix", "host", "all"])
def test_what_another_holds_in_memory_goes(both, origin, what):
    """And what it has found in the store, or stored there, stays elsewhere."""
    Site(origin)["*"] = page(FRESH)
    first, second = both(), both()
    for proxy in (second, first):
        assert [proxy.get(path).status for path in ("/f", "/g")] == [200, 200]
    assert purged(first, "/f", f"X-Purge: {what}")
    assert found(first) is None and found(second) is None
    assert (found(second, "/g") is None) == (what in ("host", "all"))


def test_soft_makes_stale_what_another_holds(both, origin):
    Site(origin)["*"] = lambda request: message("304 Not Modified", FRESH, length=False) if request["If-None-Match"] else page(FRESH, 'ETag: "a"')
    first, second = both(), both()
    second.get("/f")
    assert was_hit(second.get("/f")) and purged(first, "/f", "X-Purge: soft")
    assert "fwd-status=304" in second.get("/f")["Cache-Status"] and was_hit(second.get("/f"))


@pytest.mark.parametrize("ahead", [600, -600])
@pytest.mark.parametrize("what", ["url", "prefix", "all"])
def test_soft_by_another_clock(start, origin, store, clock_library, tmp_path, what, ahead):
    """What another one holds in memory is stale at once, and what a third one finds in the store."""
    if not store:
        pytest.skip("memory is a process's own")
    now = int(time.time())
    clocks = Clock(clock_library, tmp_path / "their", now), Clock(clock_library, tmp_path / "our", now)
    clocks[0].at(ahead)
    Site(origin)["*"] = lambda request: message("304 Not Modified", FRESH, length=False) if request["If-None-Match"] else page(FRESH, 'ETag: "a"')
    theirs, ours = (confirming(start(origin, *store, env=clock.env)) for clock in clocks)
    for path in ("/f", "/f/g"):
        ours.get(path)
    clocks[1].at(5)
    assert was_hit(ours.get("/f")) and purged(ours)
    assert purged(theirs, "/f", f"X-Purge: {what}, soft")
    assert "fwd-status=304" in ours.get("/f")["Cache-Status"] and was_hit(ours.get("/f"))
    third = confirming(start(origin, *store, env=clocks[1].env))
    assert was_hit(third.get("/f/g")) == (what == "url")


def test_what_is_fetched_right_behind_it_is_stored(both, origin):
    """Though the store does not yet say that it was purged: by a POST, which does not wait for it."""
    proxy, client = both(), None
    for turn in range(20):
        client = client or proxy.client()
        client.ask("/f", method="POST")
        origin.receive().answer(message("200 OK"))
        assert client.response().status == 200
        client.ask("/f")
        origin.receive().answer(page(FRESH, body=b"%d" % turn))
        assert client.response().body == b"%d" % turn and purged(proxy)
        assert found(both()) == b"%d" % turn


def test_who_does_not_confirm_is_waited_for(start, origin, tmp_path):
    """202 while another one is stopped; when it goes on it forgets, and 200 is said again. One that is killed is not waited for."""
    Site(origin)["*"] = page(FRESH)
    options = ["--cache-lmdb", str(tmp_path), "--cache-lmdb-bytes", "16m"]
    first, second = start(origin, *options), start(origin, *options)
    second.get("/f")
    second.process.send_signal(signal.SIGSTOP)
    assert first.get("/f", method="PURGE").status == 202 and found(first) is None
    second.process.send_signal(signal.SIGCONT)
    assert purged(first) and found(second) is None
    second.process.kill()
    second.process.wait()
    second.stopped = True
    assert purged(first, "/f")


def test_an_upgrade_keeps_it_away(start, origin, store, tmp_path):
    """The former process is in the middle of a fetch when the new one is told to purge."""
    if not store:
        pytest.skip("what the former one stores is its own")
    options = (*store, "--takeover-socket", str(tmp_path / "takeover"))
    former = start(origin, *options)
    client = former.client().ask("/f")
    before = origin.receive()
    heir = start(origin, *options)
    assert purged(heir, "/f")
    before.answer(page(FRESH, body=b"old"))
    assert client.response().body == b"old" and former.wait() == 0
    assert found(heir) is None


def test_an_upgrade_of_what_is_in_memory_alone(start, origin, tmp_path):
    """The former process finds nothing any more, and purges nothing: it would not be told, nor could it tell."""
    options = ("--takeover-socket", str(tmp_path / "takeover"))
    former = start(origin, *options)
    clients = [former.client() for _ in range(2)]
    for client in clients:
        client.ask("/f", "Cache-Control: no-cache")
        origin.receive().answer(page(FRESH, body=b"old"))
        assert client.response().body == b"old"
    slow = former.client().ask("/slow")
    before = origin.receive()                   # else it would close its idle connections and end
    clients[0].send(b"GET /f HTTP/1.1\r\nHost: a\r\n")
    clients[1].send(b"PURGE /f HTTP/1.1\r\nHost: a\r\n")
    heir = start(origin, *options)
    former.says("nobody new is accepted")
    assert purged(heir, "/f")
    for client in clients:
        client.send(b"\r\n")
    origin.receive().answer(page(FRESH, body=b"new"))
    assert clients[0].response().body == b"new" and clients[1].response().status == 503
    before.answer(page(FRESH))
    assert slow.response().status == 200 and former.wait() == 0


# ---- a Redis server that loses what it was told ----

@pytest.fixture
def server(redis_server, tmp_path):
    return redis_server("redis-server", "--dbfilename", "kept.rdb", "--save", "3600 1")


def connected(start, origin, server):
    return confirming(start(origin, "--cache-redis", f"127.0.0.1:{server.port}"))


def back(server, proxy, loses=lambda: None):
    """The server is killed and comes back, with what it has saved; the utfeed is connected with it again."""
    server.process.kill()
    server.process.wait()
    loses()
    server.start()
    confirming(proxy)


@pytest.mark.parametrize("what,gone", [("url", "/a/1"), ("prefix", "/a/1 /a/2"), ("all", "/a/1 /a/2 /b"), ("soft", "/a/1")])
@pytest.mark.parametrize("who", ["who purged", "who knows of it"])
def test_older_data_is_purged_again(start, origin, server, what, gone, who):
    """And nothing else."""
    Site(origin)["*"] = page(FRESH)
    first, other = (connected(start, origin, server) for _ in range(2))
    for path in ("/a/1", "/a/2", "/b"):
        first.get(path)
    assert purged(first)
    assert server.ask("SAVE") == "OK"
    assert purged(first, "/a/" if what == "prefix" else "/a/1", f"X-Purge: {what}")
    (other if who == "who purged" else first).stop()
    back(server, first if who == "who purged" else other)
    again = connected(start, origin, server)
    assert [path for path in ("/a/1", "/a/2", "/b") if found(again, path) is None] == gone.split()


def test_data_from_before_all_that_is_known_is_dropped(start, origin, server, tmp_path):
    """What was purged before this utfeed began it cannot know."""
    Site(origin)["*"] = page(FRESH)
    first = connected(start, origin, server)
    first.get("/a")
    assert purged(first) and server.ask("SAVE") == "OK"
    kept = (tmp_path / "kept.rdb").read_bytes()
    for number in range(4200):
        first.get(f"/{number}", method="PURGE")
    back(server, first, lambda: (tmp_path / "kept.rdb").write_bytes(kept))
    assert found(connected(start, origin, server), "/a") is None


def test_a_server_that_forgets_while_it_runs(start, origin, server):
    Site(origin)["*"] = page(FRESH)
    proxy = connected(start, origin, server)
    proxy.get("/a")
    assert purged(proxy)
    record = {key: server.ask("DUMP", key) for key in server.ask("KEYS", "*/a")}
    assert record and purged(proxy, "/a")
    assert server.ask("FLUSHALL") == "OK"
    for key, value in record.items():
        assert server.ask("RESTORE", key, "0", value) == "OK"
    proxy.says("older data")
    until = time.monotonic() + TIMEOUT
    while found(connected(start, origin, server), "/a") is not None:
        assert time.monotonic() < until


@pytest.mark.parametrize("answer", ["304 Not Modified", "503 Service Unavailable"])
def test_what_was_looked_for_before_is_not_stored_again(start, origin, server, answer):
    """The server is slow: it still names what is purged behind the lookup, and the origin is asked about that."""
    first, second = (connected(start, origin, server) for _ in range(2))
    client = first.client().ask("/f")
    origin.receive().answer(page("Cache-Control: max-age=0", 'ETag: "a"', body=b"old"))
    client.response()
    assert purged(first)
    server.process.send_signal(signal.SIGSTOP)
    client = second.client().ask("/f")
    assert second.get("/", method="BREW/").status == 400            # its one worker has the request by then
    purge = second.client().ask("/f", method="PURGE")
    assert second.get("/", method="BREW/").status == 400
    server.process.send_signal(signal.SIGCONT)
    before = origin.receive()
    assert before.request["If-None-Match"] == '"a"' and purge.response().status == 200
    before.answer(message(answer, FRESH, 'ETag: "a"', length=answer[0] == "5"))
    client.response()
    assert purged(second) and found(second) is None and found(first) is None


# ---- a Redis server whose memory is full ----

def test_full_memory_keeps_what_is_there(start, origin, server):
    """It is read and can be purged, also by a utfeed that begins then; what is new is not stored."""
    Site(origin)["*"] = page(FRESH, body=b"x" * 1000)
    first, second = (connected(start, origin, server) for _ in range(2))
    for path in ("/a", "/b"):
        first.get(path)
    assert purged(first)
    assert server.ask("CONFIG", "SET", "maxmemory", "100kb") == "OK"
    third = connected(start, origin, server)
    third.get("/c")
    assert purged(third)
    assert found(second, "/a") and found(third, "/b") and not found(second, "/c")
    assert purged(first, "/a") and not found(second, "/a") and not found(connected(start, origin, server), "/a")


def test_a_server_that_forgets_who_is_there(start, origin, server):
    """Full memory of another policy: what another one has in memory goes before the purge is confirmed."""
    Site(origin)["*"] = page(FRESH)
    first, second = (connected(start, origin, server) for _ in range(2))
    seen, = server.ask("KEYS", "*!seen")
    for path in ("/a", "/b"):
        second.get(path)
        assert server.ask("DEL", seen) == 1
        assert purged(first, path) and found(second, path) is None


def test_a_server_that_was_away_waits_for_who_was_there(start, origin, server):
    """Who is connected with it sooner than others does not take itself for the only one: these have the 3 seconds to come back."""
    first, second = (connected(start, origin, server) for _ in range(2))
    began = time.monotonic()
    second.process.send_signal(signal.SIGSTOP)
    back(server, first)
    assert time.monotonic() - began > 2.9
    second.process.send_signal(signal.SIGCONT)
