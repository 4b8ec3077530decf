"""The parts of tests/scale: the workload, the model of a fleet, and what it costs; and a short run of the model against four utfeeds."""
import collections
import json
import os
import random
import subprocess
import sys

SCALE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scale")
sys.path.append(SCALE)

import pytest

import costs
import model
import workload
from model import ORIGIN, Fleet, Idle, Lru, State
from proxy import BINARY, is_sanitized
from workload import Feed, Lifetime

HOUR, DAY = 3600, 86400


def feed(lifetime=300, *, readers=1, stored=True, updates=(), spells=(), pause=0, rank=1, size=20_000):
    return Feed(rank, 1., readers, size, Lifetime(lifetime, updates), stored, updates, spells, pause)


def polled(polls, each, fleet, memory=None):
    """(the word for each poll, the tally) of (time, instance) or (time, instance, True) for no-cache."""
    tally = collections.Counter()
    state = State(each, fleet, memory or Idle(1e9), tally)
    return [state.poll(*poll) for poll in polls], tally


# ---- the workload ----

@pytest.mark.parametrize("exponent", [.8, 1., 1.37])
def test_readers_and_weights_come_to_what_was_asked(exponent):
    drawn = workload.feeds(1, 1_000_000, 1e8, exponent)
    assert sum(each.weight for each in drawn) == pytest.approx(1_000_000)
    assert sum(each.weight * each.readers for each in drawn) * workload.mean_polls() == pytest.approx(1e8, rel=.01)
    assert all(each.readers >= 1 for each in drawn) and [each.weight for each in drawn[:10]] == [1.] * 10


def test_a_seed_draws_the_same():
    assert [each.rank for each in workload.feeds(7, 10_000, 1e6, 1.)] == [each.rank for each in workload.feeds(7, 10_000, 1e6, 1.)]
    assert [each.size for each in workload.feeds(7, 10_000, 1e6, 1.)] != [each.size for each in workload.feeds(8, 10_000, 1e6, 1.)]


@pytest.mark.parametrize("first,last,exponent", [(1, 10, 1.), (1, 100_000, 1.), (5, 40_000, .8), (1, 70_000, 1.37)])
def test_the_harmonic_sum(first, last, exponent):
    assert workload.harmonic(first, last, exponent) == pytest.approx(sum(rank ** -exponent for rank in range(first, last + 1)))


@pytest.mark.parametrize("control,seconds", [("", None), ("max-age=300", 300), ("s-maxage=600", 600), ("max-age=2592000", DAY), ("no-cache", 0),
                                             ("max-age=0, must-revalidate", 0), ("max-age=3600, stale-if-error=86400", 3600)])
def test_the_lifetime_that_is_named(control, seconds):
    assert workload.seconds_named(control) == seconds


@pytest.mark.parametrize("since,seconds", [(60, 300), (6000, 600), (DAY, HOUR)])
def test_an_adaptive_lifetime_is_a_tenth_of_the_age(since, seconds):
    assert Lifetime(None, [0])(since) == seconds


def test_polls_are_in_order_and_as_many_as_readers_make():
    found = workload.polls_of(random.Random(1), 2000, DAY)
    assert found == sorted(found) and len(found) == pytest.approx(2000 * workload.mean_polls(), rel=.1)
    assert sum(reload for _, reload in found) == pytest.approx(len(found) * workload.NO_CACHE, rel=.25)


# ---- one feed in a fleet ----

def test_with_leases_a_fleet_asks_once_a_lifetime():
    words, tally = polled([(0, 0), (1, 1), (2, 2), (3, 1), (301, 2), (302, 0)], feed(), Fleet(3, 1))
    assert words == ["new", "store", "store", "memory", "unchanged", "store"]
    assert tally["leases"] == tally["puts"] == 2 and tally["lookups"] == 5


def test_without_each_asks_for_what_is_stale_in_its_memory():
    words, _ = polled([(0, 0), (1, 1), (301, 0), (302, 1), (303, 2)], feed(), Fleet(3, 1, leases=False))
    assert words == ["new", "store", "unchanged", "unchanged", "store"]


def test_an_update_is_a_new_body():
    assert polled([(0, 0), (301, 0), (700, 0)], feed(updates=[500]), Fleet(1, 1))[0] == ["new", "unchanged", "new"]


def test_no_cache_counts_from_the_floor_on():
    assert polled([(0, 0), (299, 0, True), (301, 0, True), (302, 0)], feed(HOUR), Fleet(1, 1))[0] == ["new", "memory", "unchanged", "memory"]


def test_what_may_not_be_stored_is_asked_for_each_time():
    words, tally = polled([(0, 0), (1, 1), (2, 0)], feed(stored=False), Fleet(2, 1))
    assert words == ["new"] * 3 and not tally["puts"] and not tally["lookups"]


@pytest.mark.parametrize("shared,words", [(True, ["failed", "kept", "kept", "failed", "kept", "new"]),
                                          (False, ["failed", "failed", "kept", "failed", "kept", "new"])])
def test_pauses_double_and_may_be_the_fleets(shared, words):
    polls = [(0, 0), (1, 1), (29, 0), (40, 0), (99, 0), (150, 0)]
    assert polled(polls, feed(spells=((0, 145),), pause=30), Fleet(2, 1, pauses=shared))[0] == words


def test_a_hot_entry_is_asked_for_before_it_ends():
    _, tally = polled([(time, 0) for time in range(0, 300, 10)], feed(), Fleet(1, 1))
    assert tally["ahead"] == 1 and tally["memory"] == 29


def test_what_was_not_used_for_long_left_memory():
    assert polled([(0, 0), (10, 0), (100, 0)], feed(), Fleet(1, 1), Idle(50))[0] == ["new", "memory", "store"]


def test_an_lru_keeps_what_was_used_last():
    each, memory = [feed(rank=rank, size=10) for rank in range(4)], Lru(30)
    for rank in (0, 1, 2, 0, 3):
        if memory.get(0, each[rank], 0) is None:
            memory.put(0, each[rank], 0, rank)
    assert [memory.get(0, one, 0) for one in each] == [0, None, 2, 3] and memory.get(1, each[0], 0) is None


# ---- many polls, counted as expected ----

@pytest.mark.parametrize("fleet,idle", [(Fleet(4, 1), 1e9), (Fleet(4, 1), 20), (Fleet(4, 1, balance="hash"), 1e9), (Fleet(4, 1, refresh_hot=0), 1e9)])
@pytest.mark.parametrize("kind", [{"lifetime": 300}, {"lifetime": 3600}, {"stored": False}, {"spells": ((1000, 9000),), "pause": 30}])
def test_windows_are_what_single_polls_come_to(fleet, idle, kind):
    rate, each, exact, fast = .2, feed(**kind, readers=100), collections.Counter(), collections.Counter()
    rng = random.Random(1)
    state, time = State(each, fleet, Idle(idle), exact), 0.
    while (time := time + rng.expovariate(rate)) < DAY:
        state.poll(time, 0 if fleet.balance == "hash" else rng.randrange(4), rng.random() < .1)
    model.many(rng, each, fleet, idle, DAY, fast, rate, .1)
    for word in ("memory", "store", "kept"):
        assert fast[word] == pytest.approx(exact[word], rel=.05, abs=.02 * rate * DAY), word
    assert sum(fast[word] for word in ORIGIN) == pytest.approx(sum(exact[word] for word in ORIGIN), rel=.1)


def test_the_characteristic_time_fills_memory():
    """As an LRU of that many bytes would."""
    rng = random.Random(3)
    feeds = [feed(10 ** 9, rank=rank, readers=1 + 2000 // (rank + 1), size=1000) for rank in range(500)]
    fleet = Fleet(1, 100_000)
    idle, memory, hits = model.characteristic(feeds, fleet, lambda size: size), Lru(fleet.memory), 0
    rates = [each.readers * workload.mean_polls() / DAY for each in feeds]
    asked = rng.choices(range(500), rates, k=40_000)
    for number in asked:
        hits += memory.get(0, feeds[number], 0) is not None
        memory.put(0, feeds[number], 0, number)
    expected = sum(rate * (1 - model.math.exp(-rate * idle)) for rate in rates) / sum(rates)
    assert hits / len(asked) == pytest.approx(expected, rel=.05)


def test_the_order_of_settings():
    """Leases save origin requests, and so does one home for a feed; more memory saves lookups."""
    feeds = workload.feeds(1, 20_000, 4e6, 1., DAY, 16, 20)

    def figures(fleet):
        tally = model.run(1, feeds, fleet, DAY, workload.NO_CACHE, lambda size: size)[0]
        return sum(tally[word] for word in ORIGIN), tally["lookups"]
    on, off, small = (figures(fleet._replace(refresh_hot=0)) for fleet in (Fleet(8, 1 << 40), Fleet(8, 1 << 40, leases=False, pauses=False),
                                                                           Fleet(8, 1 << 24)))
    assert on[0] < off[0] and on[1] < small[1] and small[0] == pytest.approx(on[0], rel=.02)
    home = figures(Fleet(8, 1 << 40, "hash", refresh_hot=0))
    assert home[0] == pytest.approx(on[0], rel=.1) and home[1] < on[1]


# ---- costs ----

def test_between_what_was_measured():
    table = {"1000": 10, "20000": 29, "200000": 200}
    assert [costs.between(table, size) for size in (1000, 10_500, 20_000, 110_000)] == [10, 19.5, 29, 114.5]


def test_the_command(tmp_path):
    """Prices are its input, and all figures its output."""
    prices = tmp_path / "prices.json"
    with open(os.path.join(SCALE, "prices.json"), encoding="utf-8") as file:
        given = json.load(file)
    given["instance"]["month"] = given["store node"]["month"] = 0
    prices.write_text(json.dumps(given))
    done = subprocess.run([sys.executable, os.path.join(SCALE, "simulate"), "--feeds", "20k", "--polls", "2m", "--hours", "6", "--instances", "4",
                           "--prices", str(prices), "--json"], stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout)
    assert found["month, machines"] == 0 and 0 < found["origin requests of polls"] < 1 and sum(found["answers"].values()) == pytest.approx(1)
    assert found["a second"]["polls"] == pytest.approx(2e6 / DAY, rel=.1)


# ---- against real ones ----

@pytest.mark.parametrize("leases", ["on", "off"])
def test_four_utfeeds(redis_server, leases):
    if is_sanitized():
        pytest.skip("what a poll takes is not what it takes elsewhere")
    redis_server("redis-server").stop()
    done = subprocess.run([sys.executable, os.path.join(SCALE, "real.py"), "--seconds", "12", "--rate", "150", "--feeds", "500", "--leases", leases],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "UTFEED": BINARY}, check=False)
    assert done.returncode == 0, done.stdout.decode()
