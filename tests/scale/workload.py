"""The workload of a fleet: feeds, who polls them and how often, how long they stay fresh, which fail. One seed decides all of it.

Popularity is Zipf's: the feed of rank r has SCALE / r ** exponent readers, and at least one. Update intervals, Cache-Control, hints, readers'
intervals and kinds are those of tests/steady. A feed is a row that stands for `weight` feeds: of millions, a few of each range of ranks are
drawn (STRATA ranges, evenly apart in the logarithm of the rank), and the most popular are all there.
Must not know: instances, stores, prices."""
import bisect
import collections
import math
import os
import random
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "steady"))

from publishers import CONTROLS, DAY, HINTS, HOUR, MINUTE, PATTERNS, drawn, item_times
from readers import INTERVALS, KINDS

STRATA, EACH = 64, 200
FLOOR, MAX, ADAPTIVE_MAX = 5 * MINUTE, DAY, HOUR        # freshness-floor and freshness-max of the gateway; adaptive
SIZES = {1_000: 15, 20_000: 65, 200_000: 20}            # bytes of a feed: weight
DEAD, FAILING = .05, .02            # shares of feeds: gone all day; whose host fails for a while on this day
ERROR_FLOOR, PAUSE_FIRST, PAUSE_MAX = MINUTE, 30, HOUR

Feed = collections.namedtuple("Feed", "rank weight readers size lifetime stored updates spells pause")


def mean_polls():
    """Of a reader a day."""
    return sum(weight * DAY / interval for interval, weight in INTERVALS.items()) / sum(INTERVALS.values())


def harmonic(first, last, exponent):
    """Sum of rank ** -exponent over those ranks: by terms, then by an integral (Euler and Maclaurin)."""
    edge = min(last, max(first, 1000))
    head = sum(rank ** -exponent for rank in range(first, edge + 1))
    if last <= edge:
        return head
    body = math.log(last / edge) if exponent == 1 else (last ** (1 - exponent) - edge ** (1 - exponent)) / (1 - exponent)
    return head + body + (last ** -exponent - edge ** -exponent) / 2


def popularity(feeds, readers, exponent):
    """readers_of(rank), so that all feeds have so many readers together."""
    def total(scale):
        last = min(feeds, int(scale ** (1 / exponent)))         # of those with more than one reader
        return scale * harmonic(1, last, exponent) + feeds - last if last else feeds
    low, high = 1., float(readers)
    if readers < feeds:
        raise ValueError("each feed has a reader, at least")
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if total(middle) < readers else (low, middle)
    return lambda rank: max(1., high / rank ** exponent)


def ranks(rng, feeds, strata=STRATA, each=EACH):
    """(rank, weight) of the feeds that are drawn; the weights come to feeds."""
    edges = sorted({1, feeds + 1, *(round((feeds + 1) ** (number / strata)) for number in range(1, strata))})
    for first, end in zip(edges, edges[1:]):
        there = end - first
        if there <= each:
            yield from ((rank, 1.) for rank in range(first, end))
        else:                       # one of each of so many equal parts
            yield from ((first + int((number + rng.random()) * there / each), there / each) for number in range(each))


def seconds_named(control):
    """The lifetime that Cache-Control names for a shared cache; None: none."""
    words = dict(word.strip().partition("=")[::2] for word in control.split(",") if word.strip())
    if "no-cache" in words:
        return 0
    named = words.get("s-maxage") or words.get("max-age")
    return None if named is None else min(int(named), MAX)


class Lifetime:
    """How long a response is fresh that is fetched at that time."""

    def __init__(self, named, updates):
        self.named, self.updates = named, updates

    def __call__(self, time):
        if self.named is not None:
            return self.named
        before = bisect.bisect_right(self.updates, time)
        age = time - self.updates[before - 1] if before else DAY
        return min(max(age / 10, FLOOR), ADAPTIVE_MAX)


def feed(rng, rank, weight, readers, seconds):
    pattern, control, hint = drawn(rng, PATTERNS), drawn(rng, CONTROLS), drawn(rng, HINTS)
    updates = item_times(rng, PATTERNS[pattern], seconds)
    named = seconds_named(control)
    if named is None and hint:
        named = HOUR
    spells, pause, chance = (), 0, rng.random()
    if chance < DEAD:
        spells, pause = ((-math.inf, math.inf),), rng.choice((ERROR_FLOOR, PAUSE_FIRST))
    elif chance < DEAD + FAILING:
        begin = rng.uniform(0, seconds)
        spells, pause = ((begin, begin + 5 * MINUTE * 2 ** rng.uniform(0, 6.2)),), PAUSE_FIRST
    return Feed(rank, weight, readers, drawn(rng, SIZES), Lifetime(named, updates), not any(word in control for word in ("no-store", "private")),
                updates, spells, pause)


def feeds(seed, count, polls, exponent, seconds=DAY, strata=STRATA, each=EACH):
    """Those drawn of count feeds, which have so many polls a day together."""
    rng = random.Random(f"{seed} feeds")
    readers_of = popularity(count, max(count, polls / mean_polls()), exponent)
    return [feed(rng, rank, weight, readers_of(rank), seconds) for rank, weight in ranks(rng, count, strata, each)]


NO_CACHE = KINDS["no-cache"] / sum(KINDS.values())


def polls_of(rng, readers, seconds):
    """(time, whether it says no-cache) of each poll, in order; each reader has his interval."""
    found = []
    for _ in range(readers):
        interval, reload = drawn(rng, INTERVALS), rng.random() < NO_CACHE
        found.extend((time, reload) for time in frange(rng.uniform(0, interval), seconds, interval))
    return sorted(found)


def frange(time, end, step):
    while time < end:
        yield time
        time += step
