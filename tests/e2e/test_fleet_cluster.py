"""cache-redis = cluster://...: entries and purges over many servers, one of which dies."""
import collections
import re
import signal
import time

import pytest

from fleets import everywhere, found, purged
from nameserver import A, AAAA, Nameserver
from pages import FRESH, Site, page
from sentinels import Cluster, until

PATHS = [f"/{n}" for n in range(64)]


@pytest.fixture
def cluster(redis_server):
    return lambda *more: Cluster(redis_server, *more)


def keys(node):
    return [key.decode() for key in node.ask("KEYS", "*http*")]


def fullest(servers):
    """The slot that has most of PATHS, its server, and them: four at least, as there are 16 slots."""
    tags = collections.defaultdict(list)
    for node in servers.masters:
        for key in keys(node):
            tags[re.search("{.*}", key)[0]].append("/" + key.rpartition("/")[2])
    tag = max(tags, key=lambda tag: len(tags[tag]))
    slot = servers.masters[0].ask("CLUSTER", "KEYSLOT", tag)
    return slot, servers.of(slot), tags[tag]


def test_urls_are_spread_and_purges_reach_all(cluster, start, origin):
    Site(origin)["*"] = page(FRESH, body=b"old")
    servers = cluster()
    first, second = (start(origin, "--cache-redis", servers.url) for _ in range(2))
    assert everywhere(first) and everywhere(second)
    for path in PATHS:
        assert first.get(path).body == b"old"
    assert purged(first, "/1") and everywhere(first)
    counts = [len(keys(node)) for node in servers.masters]
    assert sum(counts) == len(PATHS) - 1 and min(counts) > 8, counts
    assert found(second, "/1") is None and found(second, "/2") == b"old"
    assert purged(second, "/", "X-Purge: prefix")
    assert not any(keys(node) for node in servers.masters)
    assert all(found(proxy, path) is None for proxy in (first, second) for path in PATHS)


def test_a_server_without_cluster_mode_is_told_once(start, origin, redis_server, cluster):
    """It works all the same, since it has all keys. A node of a cluster is told nothing of."""
    Site(origin)["*"] = page(FRESH, body=b"old")
    server = redis_server("redis-server")
    proxy = start(origin, "--cache-redis", f"cluster://127.0.0.1:{server.port}")
    assert purged(proxy) and proxy.get("/1").status == 200
    told = [line for line in proxy.err.text().splitlines() if "is not a node of a cluster" in line]
    assert len(told) == 1 and f"127.0.0.1:{server.port}" in told[0] and "; write cache-redis = HOST:PORT, or start" in told[0]
    right = start(origin, "--cache-redis", cluster().url)
    assert purged(right) and "is not a node" not in right.err.text()


def test_a_master_dies(cluster, start, origin):
    Site(origin)["*"] = page(FRESH, body=b"old")
    servers = cluster()
    first, second = (start(origin, "--cache-redis", servers.url) for _ in range(2))
    assert everywhere(first) and everywhere(second)
    for path in PATHS:
        assert first.get(path).body == b"old"
    gone = PATHS[::2]
    for path in gone:
        assert purged(first, path)
    assert everywhere(first)
    before = [sorted(keys(node)) for node in servers.masters]
    until(lambda: [sorted(keys(node)) for node in servers.replicas] == before, "no replication")
    servers.masters[0].stop()
    while_dead = first.get(PATHS[1], method="PURGE").status
    assert while_dead in (200, 202)
    until(lambda: servers.of(0) is servers.replicas[0], "no failover")
    servers.ready()
    assert everywhere(first) and everywhere(second)
    third = start(origin, "--cache-redis", servers.url)
    assert everywhere(third)
    for path in PATHS[2:]:
        assert found(third, path) == (None if path in gone else b"old"), path
    assert all(found(proxy, path) is None for proxy in (first, second, third) for path in [*gone, PATHS[1]])


def seconds(proxy, path):
    begun = time.monotonic()
    assert proxy.get(path).status == 200
    return time.monotonic() - begun


def test_a_node_that_hangs(cluster, start, origin):
    """A hit costs nothing, a miss at most cache-redis-timeout; the other nodes' entries are found."""
    Site(origin)["*"] = page(FRESH, body=b"old")
    servers = cluster()
    first = start(origin, "--cache-redis", servers.url, "--cache-redis-timeout", "2s")
    assert everywhere(first)
    for path in PATHS:
        assert first.get(path).status == 200
    assert everywhere(first)
    hers = {key.rpartition("/")[2] for key in keys(servers.masters[0])}
    second = start(origin, "--cache-redis", servers.url, "--cache-redis-timeout", "2s")
    assert everywhere(second)
    servers.masters[0].process.send_signal(signal.SIGSTOP)
    try:
        assert max(seconds(first, path) for path in PATHS) < 1
        took = [seconds(second, path) for path in PATHS if path[1:] in hers]
        assert max(took) < 4 and sorted(took)[len(took) // 2] < 1, took
        assert all(found(second, path) == b"old" for path in PATHS if path[1:] not in hers)
    finally:
        servers.masters[0].process.send_signal(signal.SIGCONT)


def test_a_name_that_nobody_answers(cluster, start, origin):
    """One server is looked for by a name. The others answer meanwhile, as one thread asks them all."""
    Site(origin)["*"] = page(FRESH, body=b"old")
    names, servers = Nameserver(), cluster()
    names.silent |= {("redis.test", A), ("redis.test", AAAA)}
    options = ("--cache-redis", f"{servers.url},redis.test:1", "--cache-redis-timeout", "5s", "--resolver", names.address, "--purge-wait", "1s")
    first, second = (start(origin, *options) for _ in range(2))
    try:
        assert everywhere(first) and everywhere(second)
        for path in PATHS:
            assert first.get(path).body == b"old"
        assert everywhere(first)
        slot, owner, lost = fullest(servers)
        assert owner.ask("CLUSTER", "DELSLOTS", slot) == "OK"
        assert second.counted("second_away", 1) == 1
        names.wait("redis.test", A)
        began = time.monotonic()
        assert all(found(second, path) == b"old" for path in PATHS if path not in lost)
        assert time.monotonic() - began < 5
    finally:
        names.close()


def filled(cluster, start, origin):
    """A cluster that has all PATHS, and the two that share it."""
    Site(origin)["*"] = page(FRESH, body=b"old")
    servers = cluster()
    first, second = (start(origin, "--cache-redis", servers.url, "--purge-wait", "500ms") for _ in range(2))
    assert everywhere(first) and everywhere(second)
    for path in PATHS:
        assert first.get(path).body == b"old"
    assert everywhere(first)
    return servers, first, second


def test_a_purge_waits_for_the_servers_that_have_it(cluster, start, origin):
    """One server has a URL, and all of them what begins with it: where another one is away, the purge of a URL is confirmed all the same."""
    servers, first, second = filled(cluster, start, origin)
    slot, owner, lost = fullest(servers)
    assert owner.ask("CLUSTER", "DELSLOTS", slot) == "OK"
    kept = next(path for path in PATHS if path not in lost)
    assert first.get(lost[0], method="PURGE").status == 202 and first.counted("second_away", 1) == 1
    assert purged(first, kept) and found(second, kept) is None and purged(first, kept, "X-Purge: url, soft")
    assert [first.get(kept, f"X-Purge: {what}", method="PURGE").status for what in ("prefix", "all")] == [202, 202]


def moves(slot, source, to):
    """As redis-cli does it: key by key. What is moved first is there when half of it is."""
    assert to.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.ask("CLUSTER", "MYID")) == "OK"
    assert source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", to.ask("CLUSTER", "MYID")) == "OK"
    first = sorted(source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1000))
    for key in first[:len(first) // 2]:
        assert source.ask("MIGRATE", "127.0.0.1", to.port, key, 0, 5000) == "OK"
    yield
    while left := source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1000):
        for key in left:
            assert source.ask("MIGRATE", "127.0.0.1", to.port, key, 0, 5000, "REPLACE") in ("OK", "NOKEY")
    for node in (to, source):
        assert node.ask("CLUSTER", "SETSLOT", slot, "NODE", to.ask("CLUSTER", "MYID")) == "OK"
    yield


def test_a_slot_moves(cluster, start, origin):
    """While its keys are on two servers, its URLs are served without it, and purges of them are owed. Then all is as before."""
    servers, first, second = filled(cluster, start, origin)
    slot, source, moving = fullest(servers)
    to = next(node for node in servers.masters if node is not source)
    moving.sort(key=PATHS.index)
    move = moves(slot, source, to)
    next(move)
    assert first.get(moving[0], method="PURGE").status == 202
    assert second.get(moving[0]).body == b"old" and all(first.get(path).body == b"old" for path in moving[1:])
    next(move)
    assert purged(first, moving[1]) and purged(second, moving[2])
    third = start(origin, "--cache-redis", servers.url)
    assert everywhere(third)
    assert [path for path in PATHS if found(third, path) is None] == moving[:3]
    assert [found(proxy, path) for proxy in (first, second) for path in moving[1:3]] == [None] * 4


def test_a_purge_says_who_has_confirmed(cluster, start, origin):
    Site(origin)["*"] = page(FRESH, body=b"old")
    servers = cluster()
    first, second = (start(origin, "--cache-redis", servers.url, "--purge-wait", "500ms") for _ in range(2))
    assert everywhere(first) and everywhere(second)
    second.process.send_signal(signal.SIGSTOP)
    try:
        got = first.get("/1", method="PURGE")
        assert got.status == 202 and b"confirmed by 1 of 2 utfeeds" in got.body, got.body
    finally:
        second.process.send_signal(signal.SIGCONT)
    assert purged(first, "/1")
