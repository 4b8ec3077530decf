"""cache-redis = sentinel://...: who is the master, and who is after it."""
import re

import pytest

from fleets import found, purged
from pages import FRESH, Site, page
from sentinels import Sentinels, until


@pytest.fixture
def sentinels(redis_server, tmp_path):
    made = []

    def make(*more, **kind):
        made.append(Sentinels(redis_server, tmp_path, *more, **kind))
        return made[-1].ready()
    yield make
    for each in made:
        each.stop()


def offset(server, name):
    return int(re.search(rf"{name}:(\d+)", server.ask("INFO", "replication").decode())[1])


def fails_over(watch):
    """The master dies, and its replica has all it had."""
    had = offset(watch.master, "master_repl_offset")
    until(lambda: offset(watch.replica, "slave_repl_offset") >= had, "no replication")
    watch.master.stop()
    watch.led_by(watch.replica)


def test_entries_and_purges_survive_a_failover(sentinels, start, origin):
    site = Site(origin)
    site["*"] = page(FRESH, body=b"old")
    watch = sentinels()
    first, second = (start(origin, "--cache-redis", watch.url) for _ in range(2))
    assert purged(first) and purged(second)
    for path in ("/a", "/b"):
        assert first.get(path).body == b"old"
    assert purged(first, "/a") and found(second, "/b") == b"old"
    fails_over(watch)
    first.says("redis store: connected")
    second.says("redis store: connected")
    third = start(origin, "--cache-redis", watch.url)
    assert purged(third, "/c")
    assert found(third, "/a") is None and found(third, "/b") == b"old"


def test_the_first_sentinels_may_be_dead(sentinels, start, origin):
    watch = sentinels()
    watch.made[0].stop()
    watch.made[1].stop()
    assert purged(start(origin, "--cache-redis", watch.url))
