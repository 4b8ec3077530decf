"""What a fleet does with a workload: State is one feed in all instances and the second store, poll by poll.

A feed with few readers is simulated poll by poll. Of one with many, the windows in which it is fresh are simulated, and the polls within a window
are counted as expected of Poisson arrivals: the cost does not grow with the polls. Memory of instances is an LRU of bytes (Lru), or an entry is
taken to stay for a time after its last use, the same for all: the characteristic time of Che, Tung and Wang (2002).
Must not know: what things cost."""
import bisect
import collections
import math
import random

from workload import PAUSE_FIRST, PAUSE_MAX, mean_polls, polls_of

FEW = 20                            # readers of a feed that is simulated poll by poll
LATENCY = .2                        # seconds of an origin request; polls meanwhile wait for it
HOT_MAX = 60                        # refresh-hot begins so many seconds before the end, at most
ANSWERS = ("memory", "store", "joined", "kept", "new", "unchanged", "failed")
ORIGIN = ("new", "unchanged", "failed", "ahead")        # outcomes that are origin requests; "ahead" is beside an answer

# balance: "spread", any instance gets any poll; "hash": one instance gets those of a feed. leases, pauses: whether instances share them.
Fleet = collections.namedtuple("Fleet", "instances memory balance leases pauses reload_floor refresh_hot", defaults=("spread", True, True, 300, 10))


class Copy:
    __slots__ = ("fetched", "until", "version", "hits", "ahead")

    def __init__(self, fetched, until, version):
        self.fetched, self.until, self.version, self.hits, self.ahead = fetched, until, version, 0, False

    def again(self):
        return Copy(self.fetched, self.until, self.version)


class Idle:
    """Memory in which an entry stays for so long after its use."""

    def __init__(self, seconds):
        self.seconds, self.used = seconds, {}

    def get(self, place, _, time):
        copy, used = self.used.get(place, (None, 0))
        if copy is None or time - used > self.seconds:
            return None
        self.used[place] = copy, time
        return copy

    def put(self, place, _, time, copy):
        self.used[place] = copy, time


class Lru:
    """Memory of so many bytes in each instance."""

    def __init__(self, bytes_):
        self.bytes, self.held, self.entries = bytes_, collections.Counter(), collections.defaultdict(collections.OrderedDict)

    def get(self, place, feed, _):
        entry = self.entries[place].get(feed.rank)
        if not entry:
            return None
        self.entries[place].move_to_end(feed.rank)
        return entry[0]

    def put(self, place, feed, _, copy):
        entries = self.entries[place]
        self.held[place] += feed.size - (feed.size if entries.pop(feed.rank, None) else 0)
        entries[feed.rank] = copy, feed.size
        while self.held[place] > self.bytes and len(entries) > 1:
            self.held[place] -= entries.popitem(last=False)[1][1]


class State:
    """poll() gives what the poll was answered with, and counts it, and what it asked of the second store."""

    def __init__(self, feed, fleet, memory, tally, weight=1.):
        self.feed, self.fleet, self.memory, self.tally, self.weight = feed, fleet, memory, tally, weight
        self.stored, self.pauses, self.spell = None, {}, 0

    def count(self, word, times=1.):
        self.tally[word] += times * self.weight

    def is_fresh(self, copy, time, reload):
        return copy is not None and time < copy.until and not (reload and time - copy.fetched >= self.fleet.reload_floor)

    def fails(self, time):
        return any(begin <= time < end for begin, end in self.feed.spells)

    def poll(self, time, instance, reload=False):
        word = self.answer(time, instance, reload)
        self.count(word)
        return word

    def answer(self, time, instance, reload):
        if not self.feed.stored and not self.fails(time):
            return "new"
        copy = self.memory.get(instance, self.feed, time)
        if self.is_fresh(copy, time, reload):
            self.warm(copy, time, instance)
            return "memory"
        if self.fleet.leases or copy is None:
            self.count("lookups")
            if self.is_fresh(self.stored, time, reload):
                self.memory.put(instance, self.feed, time, self.stored.again())
                return "store"
        return self.ask(time, instance, copy)

    def warm(self, copy, time, instance):
        copy.hits += 1
        if self.fleet.refresh_hot and copy.hits > self.fleet.refresh_hot and not copy.ahead and time >= self.hot_from(copy):
            copy.ahead = True
            if not self.fleet.leases or self.stored is None or self.stored.fetched <= copy.fetched:
                self.count("ahead", self.ask(time, instance, copy) != "kept")

    @staticmethod
    def hot_from(copy):
        return copy.until - min((copy.until - copy.fetched) / 10, HOT_MAX)

    def pause_of(self, instance):
        return self.pauses.get(0 if self.fleet.pauses else instance, (-math.inf, 0))

    def ask(self, time, instance, copy):
        if time < self.pause_of(instance)[0]:
            return "kept"
        self.count("leases", self.fleet.leases)
        if self.fails(time):
            before = self.pause_of(instance)[1]
            length = self.feed.pause if self.feed.pause != PAUSE_FIRST else min(2 * before or PAUSE_FIRST, PAUSE_MAX)
            self.pauses[0 if self.fleet.pauses else instance] = time + length, length
            return "failed"
        self.pauses.pop(0 if self.fleet.pauses else instance, None)
        return self.fill(time, instance, copy)

    def fill(self, time, instance, copy):
        known = max((each.version for each in (copy, self.stored) if each), default=-1)
        version = bisect.bisect_right(self.feed.updates, time)
        self.stored = Copy(time, time + self.feed.lifetime(time), version)
        self.memory.put(instance, self.feed, time, self.stored.again())
        self.count("puts")
        return "unchanged" if version == known else "new"


def replay(polls, fleet, memory=None):
    """The tally of (time, feed, instance, no-cache), in order."""
    memory, states, tally = memory or Lru(fleet.memory), {}, collections.Counter()
    for time, feed, instance, reload in polls:
        if feed.rank not in states:
            states[feed.rank] = State(feed, fleet, memory, tally)
        states[feed.rank].poll(time, instance, reload)
    return tally


def few(rng, feed, fleet, idle, seconds, tally):
    readers = int(feed.readers) + (rng.random() < feed.readers % 1)
    state, home = State(feed, fleet, Idle(idle), tally, feed.weight), rng.randrange(fleet.instances)
    for time, reload in polls_of(rng, readers, seconds):
        state.poll(time, home if fleet.balance == "hash" else rng.randrange(fleet.instances), reload)


def overlap(spells, seconds):
    return [(max(0., begin), min(seconds, end)) for begin, end in spells if begin < seconds and end > 0]


def many(rng, feed, fleet, idle, seconds, tally, rate, reloads):
    """rate, reloads: polls a second, and the share of those that say no-cache."""
    state, spells = State(feed, fleet, Idle(idle), tally, feed.weight), overlap(feed.spells, seconds)
    if feed.stored and feed.lifetime.named != 0:
        windows(rng, state, 0., seconds, rate, reloads)
        return
    open_ = seconds - sum(end - begin for begin, end in spells)
    if not feed.stored:
        state.count("new", rate * open_)
    else:
        each_time(state, open_, rate)
    for begin, end in spells:
        windows(rng, state, begin, end, rate, reloads)


def each_time(state, seconds, rate):
    """Nothing stays fresh: of polls that come while the origin is being asked, one asks."""
    asked = seconds / (LATENCY + 1 / rate)
    changed = min(asked, len(state.feed.updates) + 1)
    for word, times in (("new", changed), ("unchanged", asked - changed), ("joined", rate * seconds - asked), ("lookups", asked),
                        ("leases", asked * state.fleet.leases), ("puts", asked)):
        state.count(word, times)


def windows(rng, state, time, seconds, rate, reloads):
    """From poll to poll that may ask the origin."""
    fleet, feed = state.fleet, state.feed
    places = 1 if fleet.balance == "hash" else fleet.instances
    each = rate / places
    stays = min(each * state.memory.seconds, 700)
    back = math.exp(-stays)         # the share of polls that find the entry gone from memory; of the first in a window, whose gap is longer, more
    first_back = (1 + stays) * back
    while (time := time + rng.expovariate(rate)) < seconds:
        if state.poll(time, 0) in ("failed", "kept"):
            end = min(state.pause_of(0)[0], seconds)
            state.count("kept", rate * (end - time))
            state.count("lookups", rate * (end - time) * fleet.leases)
        else:
            end = min(window_end(rng, state, rate, each, reloads), seconds)
            inside = rate * (end - time)
            firsts = min((places - 1) * -math.expm1(-each * (end - time)), inside)
            found = min(inside * back + firsts * (1 - first_back), inside)
            for word, times in (("store", found), ("lookups", found), ("memory", inside - found)):
                state.count(word, times)
            state.stored.until = end            # the next poll asks the origin
            state.memory.put(0, feed, time, state.stored.again())
        time = end


def window_end(rng, state, rate, each, reloads):
    copy, fleet = state.stored, state.fleet
    end = copy.until
    if reloads and copy.until - copy.fetched > fleet.reload_floor:
        end = min(end, copy.fetched + fleet.reload_floor + rng.expovariate(rate * reloads))
    in_turn = (-math.expm1(-each * state.memory.seconds)) ** fleet.refresh_hot          # so many hits before the entry leaves memory
    if fleet.refresh_hot and each * (copy.until - copy.fetched) > fleet.refresh_hot and in_turn > .5 and end > state.hot_from(copy):
        end = min(end, state.hot_from(copy) + rng.expovariate(rate))
    return end


def characteristic(feeds, fleet, entry_bytes):
    """How long an entry stays in an instance's memory after its last use. entry_bytes(size): what an entry takes there."""
    places = 1 if fleet.balance == "hash" else fleet.instances
    share = 1 / fleet.instances if fleet.balance == "hash" else 1
    rows = [(feed.weight * share * entry_bytes(feed.size), feed.readers * mean_polls() / 86400 / places) for feed in feeds if feed.stored]
    if sum(bytes_ for bytes_, _ in rows) <= fleet.memory:
        return math.inf
    low, high = 0., 1e9
    for _ in range(100):
        middle = (low + high) / 2
        held = sum(bytes_ * -math.expm1(-rate * middle) for bytes_, rate in rows)
        low, high = (middle, high) if held < fleet.memory else (low, middle)
    return low


def run(seed, feeds, fleet, seconds, no_cache, entry_bytes):
    """(tally of the time, {feed size: tally})."""
    idle, rng, by_size = characteristic(feeds, fleet, entry_bytes), random.Random(f"{seed} fleet"), collections.defaultdict(collections.Counter)
    alone = fleet._replace(instances=1)
    for feed in feeds:
        tally, rate = by_size[feed.size], feed.readers * mean_polls() / 86400
        if feed.readers <= FEW:
            few(rng, feed, fleet, idle, seconds, tally)
        elif fleet.balance == "hash" or (fleet.leases and (fleet.pauses or not feed.spells)):
            many(rng, feed, fleet, idle, seconds, tally, rate, no_cache)
        else:                       # each instance is on its own, and one stands for all
            many(rng, feed._replace(weight=feed.weight * fleet.instances), alone, idle, seconds, tally, rate / fleet.instances, no_cache)
    return sum(by_size.values(), collections.Counter()), dict(by_size), idle
