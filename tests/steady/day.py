"""A simulated day: hosts begin and cease to fail, readers poll, and a tally counts what they get.

This module owns the time, in seconds since the day began. Before each event it sets the proxy's clocks to the time of the event. An event is
over when every reader has its response, except the readers of hosts that hang: these go on waiting while the day goes on.
Must not know: which proxy it is."""
import collections
import heapq
import os
import statistics
import sys
import time as machine

import publishers as publishers_
import readers as readers_
from clock import Clock
from origins import Origins
from publishers import DAY, HOUR

SECONDS = 30                # of this machine's clock: the time a proxy may take to answer
STEP = 10                   # of the day: how the time goes on at its end while readers still wait


class Stuck(Exception):
    pass


class Day:
    def __init__(self, hosts, readers, clock, hours):
        self.hosts, self.readers, self.clock, self.hours = hosts, readers, clock, hours
        self.time, self.proxy = 0, None
        self.origins = Origins(hosts, lambda: int(self.time))
        self.pending, self.events, self.number = set(), [], 0
        self.tally = Tally()
        self.began = machine.monotonic()
        self.clock_ahead = 0
        clock.at(0)
        for host in hosts:
            for begin, end in host.spells if host.way == "refused" else ():
                self.at(begin, self.origins.refuse, host)
                self.at(end, self.serve, host)
        for reader in readers:
            self.at(reader.first, self.poll, reader)

    def at(self, time, what, whom):
        self.number += 1
        heapq.heappush(self.events, (time, self.number, what, whom))

    def serve(self, host):
        if not host.fails(int(self.time)):
            self.origins.serve(host)

    def poll(self, reader):
        self.at(self.time + reader.interval, self.poll, reader)
        self.tally.asks(reader, int(self.time))
        self.pending.add(readers_.Exchange(self, reader, self.answered))

    def answered(self, exchange):
        self.pending.discard(exchange)
        self.tally.count(exchange, self.time)

    def put_forward(self, time):
        """The clocks of timers never go back. If this machine is slower than the day, they are ahead of the wall clock."""
        self.time = time
        self.clock_ahead = max(self.clock_ahead, time - (machine.monotonic() - self.began))
        self.clock.at(int(time))
        self.clock.ahead(self.clock_ahead)

    def is_excused(self, exchange):
        return exchange.reader.publisher.host.held

    def settle(self):
        until = machine.monotonic() + SECONDS
        while not all(map(self.is_excused, self.pending)):
            if not self.origins.turn(1) and machine.monotonic() > until:
                waits = [f"{exchange.url} ({exchange.reader.publisher.host.way})" for exchange in self.pending if not self.is_excused(exchange)]
                raise Stuck(f"{self.proxy.name} has not answered in {SECONDS} s at {self.time}: {waits[:5]}")
        self.origins.turn(0)

    def run(self, proxy):
        """said: the hours of which standard error has been told."""
        self.proxy, end, said = proxy, self.hours * HOUR, 0
        while self.events and self.events[0][0] < end:
            time, _, what, whom = heapq.heappop(self.events)
            if time >= (said + 1) * HOUR:
                said = time // HOUR
                print(f"steady: {proxy.name}, {said} h: {self.origins.requests} origin requests, {len(self.tally.lost_feeds)} feeds lost",
                      file=sys.stderr, flush=True)
            self.put_forward(time)
            what(whom)
            self.settle()
        while self.pending and self.time < end + HOUR:
            self.put_forward(self.time + STEP)
            proxy.wake()
            self.settle_a_moment()
        self.tally.end(self.readers, end)
        return self

    def settle_a_moment(self):
        self.origins.turn(.02)
        self.settle()

    def close(self):
        self.origins.close()


class Tally:
    """Counts what readers get, compared with a perfect observer (Publisher.seen)."""

    def __init__(self):
        self.asked = self.answered = 0
        self.stale_s, self.waits = 0, []
        self.errors, self.lost, self.forbidden = collections.Counter(), collections.Counter(), collections.Counter()
        self.lost_feeds, self.late = set(), collections.defaultdict(list)
        self.good = {}              # publisher: when a reader got its feed last

    def asks(self, reader, time):
        """Notes the items that this poll could show. At the first poll of a reader all items are old."""
        self.asked += 1
        there = reader.publisher.seen_count(time)
        if reader.due is None:
            reader.due = {}
        else:
            for item in range(reader.looked, there):
                reader.due[item] = time
        reader.looked = there

    def count(self, exchange, time):
        self.answered += 1
        reader = exchange.reader
        publisher = reader.publisher
        if time - exchange.asked > 1:
            self.waits.append(time - exchange.asked)
        if exchange.error:
            self.count_error(exchange, publisher)
            return
        self.good[publisher] = time
        newest = exchange.newest()
        reader.known = max(reader.known, newest)
        for item in [item for item in reader.due if item < newest]:
            self.late[publisher].append(time - reader.due.pop(item))
        if newest < publisher.seen_count(exchange.asked):
            self.stale_s += exchange.asked - publisher.seen[newest]

    def count_error(self, exchange, publisher):
        self.errors[exchange.error] += 1
        if publisher not in self.good or exchange.asked - self.good[publisher] > DAY:
            return
        way = publisher.host.way if publisher.host.fails(int(exchange.asked)) else "serves"
        if publisher.may_be_kept:
            self.lost[way] += 1
            self.lost_feeds.add(publisher.number)
        else:
            self.forbidden[way] += 1

    def end(self, readers, end):
        """An item that a reader has not seen at the end is late until the end."""
        for reader in readers:
            for asked in (reader.due or {}).values():
                self.late[reader.publisher].append(end - asked)

    def figures(self, origins):
        late = [seconds for all_ in self.late.values() for seconds in all_]
        return {
            "reader requests": self.asked, "origin requests": origins.requests, "origin requests while failing": origins.failed,
            "origin bytes": origins.sent, "stale minutes": round(self.stale_s / 60), "readers' errors": sum(self.errors.values()),
            "lost reads": sum(self.lost.values()), "lost feeds": len(self.lost_feeds), "forbidden reads": sum(self.forbidden.values()),
            "items seen": len(late), "late, mean s": round(statistics.fmean(late), 1) if late else 0,
            "late, 50 % s": sorted(late)[len(late) // 2] if late else 0,
            "late, 95 % s": sorted(late)[len(late) * 95 // 100] if late else 0,
            "waits over 1 s": len(self.waits), "longest wait s": round(max(self.waits, default=0)),
            "errors": dict(self.errors.most_common()), "lost by way": dict(self.lost.most_common()),
            **{f"by {name}": self.by(origins, name) for name in ("pattern", "control", "hint", "move", "limit", "way")},
        }

    def by(self, origins, name):
        """{value: (publishers, origin requests, items seen, mean seconds late)} for an attribute of publishers."""
        groups = collections.defaultdict(list)
        for host in origins.hosts:
            for publisher in host.publishers.values():
                groups[getattr(publisher, name)].append(publisher)
        late = {value: [seconds for publisher in group for seconds in self.late[publisher]] for value, group in groups.items()}
        return {value: (len(group), sum(publisher.requests for publisher in group), len(late[value]),
                        round(statistics.fmean(late[value]), 1) if late[value] else 0) for value, group in groups.items()}


def seen_by(kind, folder, library, seed, count, each, hours, *options):
    """The figures of one proxy; kind is a class of proxies.py. The seed makes the same publishers and readers for each proxy."""
    hosts, all_ = publishers_.publishers(seed, count, hours)
    clock = Clock(library, os.path.join(folder, "now"), publishers_.START)
    day = Day(hosts, readers_.readers(seed, all_, each), clock, hours)
    proxy = None
    try:
        proxy = kind(folder, hosts, clock, *options)
        day.run(proxy)
        return {**day.tally.figures(day.origins), "took, s": round(machine.monotonic() - day.began)}
    finally:
        if proxy:
            proxy.stop()
        day.close()
