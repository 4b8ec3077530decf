"""cache-redis = cluster://...: entries and purges over many servers, one of which dies."""
import pytest

from fleets import found, purged
from pages import FRESH, Site, page
from sentinels import Cluster, until

PATHS = [f"/{n}" for n in range(64)]


@pytest.fixture
def cluster(redis_server):
    return lambda *more: Cluster(redis_server, *more)


def keys(node):
    return [key.decode() for key in node.ask("KEYS", "*http*")]


def test_urls_are_spread_and_purges_reach_all(cluster, start, origin):
    Site(origin)["*"] = page(FRESH, body=b"old")
    servers = cluster()
    first, second = (start(origin, "--cache-redis", servers.url) for _ in range(2))
    assert purged(first) and purged(second)
    for path in PATHS:
        assert first.get(path).body == b"old"
    assert purged(first, "/1")
    counts = [len(keys(node)) for node in servers.masters]
    assert sum(counts) == len(PATHS) - 1 and min(counts) > 8, counts
    assert found(second, "/1") is None and found(second, "/2") == b"old"
    assert purged(second, "/", "X-Purge: prefix")
    assert not any(keys(node) for node in servers.masters)
    assert all(found(proxy, path) is None for proxy in (first, second) for path in PATHS)


def test_a_master_dies(cluster, start, origin):
    Site(origin)["*"] = page(FRESH, body=b"old")
    servers = cluster()
    first, second = (start(origin, "--cache-redis", servers.url) for _ in range(2))
    assert purged(first) and purged(second)
    for path in PATHS:
        assert first.get(path).body == b"old"
    gone = PATHS[::2]
    for path in gone:
        assert purged(first, path)
    before = [sorted(keys(node)) for node in servers.masters]
    until(lambda: [sorted(keys(node)) for node in servers.replicas] == before, "no replication")
    servers.masters[0].stop()
    while_dead = first.get(PATHS[1], method="PURGE").status
    assert while_dead in (200, 202)
    until(lambda: servers.of(0) is servers.replicas[0], "no failover")
    servers.ready()
    assert purged(first) and purged(second)
    third = start(origin, "--cache-redis", servers.url)
    assert purged(third)
    for path in PATHS[2:]:
        assert found(third, path) == (None if path in gone else b"old"), path
    assert all(found(proxy, path) is None for proxy in (first, second, third) for path in [*gone, PATHS[1]])
