"""Histories of the oracle against a fleet to which things happen, every answer judged; and what is counted meanwhile.

Must not know: how a thing is done to a process or a link (events.py). Invariant: the oracle's rules hold whatever happens, but for two excuses.
A client of a process that was killed has no answer. An instance that could not hear of a purge may not know of it yet (Trouble).
"""
import time

from oracle.run import Cell, Run

from .bench import FleetBench

VISIBLE_MS = 1000           # purge-visible
RETRY_MAX_MS = 30_000       # an instance that lost the servers asks for them again within as long as they were away, or within this


class Trouble:
    """While something is done to an instance, or to the servers (who None). deaf: it cannot hear of purges. end None: still."""

    def __init__(self, who, begin, deaf):
        self.who, self.begin, self.end, self.deaf = who, begin, None, deaf

    def excused_until(self):
        """It asks for the servers at intervals that grow while they are away."""
        return self.end + min(RETRY_MAX_MS, max(2 * VISIBLE_MS, self.end - self.begin)) + VISIBLE_MS if self.end else float("inf")

    def excuses(self, n, since, until):
        return self.deaf and self.who in (None, n) and self.begin < until and self.excused_until() > since


class FleetCell(Cell):
    """Beside what a cell is: which instance each request went to."""

    def __init__(self, run, *args):
        super().__init__(run, *args)
        self.world.skew, self.judging = run.skew, None

    def do_get(self, op):
        super().do_get(op)
        q = self.world.requests[-1]
        q.place = self.run.bench.picked
        q.process = self.run.bench.proxies[q.place]

    def judged(self, q, answer):
        bench = self.run.bench
        if answer.cut and (bench.proxies[q.place] is not q.process or q.place in bench.gone):
            self.run.lost += 1              # its client asks elsewhere
            return
        self.run.timed(q, answer)
        self.outlives(q, answer)
        self.judging = q
        super().judged(q, answer)
        self.judging = None

    def outlives(self, q, answer):
        """How long behind a PURGE what it took away was still given to who asked behind it."""
        e = self.world.exchanges.get(int(answer.get("x-serial") or 0))
        for r in self.world.removals if e and answer.status == 200 else ():
            if r.settles and not r.soft and r.covers(q.url) and e.asked.seq < r.sent.seq < q.sent.seq and not self.run.is_deaf(q.place, r.sent.ms, q.sent.ms):
                self.run.outlived.append(q.sent.ms - r.sent.ms)

    def fail(self, wrongs):
        wrongs = [wrong for wrong in wrongs if not (self.judging and self.run.excused(self.judging, self.world, wrong[0]))]
        if wrongs:
            super().fail(wrongs)

    def asked(self, resource, upstream, method, request):
        super().asked(resource, upstream, method, request)
        e = self.world.exchanges[max(self.world.exchanges)]
        e.place = upstream.place
        self.run.taken_over(e)


class Chaos(Run):
    """One fleet, and the cells that run against it."""

    def __init__(self, mode, seed):
        self.began, self.failures, self.killed, self.lost, self.late, self.outlived = time.monotonic(), [], {}, 0, [], []
        self.takeovers, self.hits, self.hits_in_trouble, self.after_heal, self.skew, self.claimed = [], [], [], 0.0, 0, set()
        super().__init__("memory-four", 1, bench=lambda store, workers, asked, *_: FleetBench(mode, asked, seed))

    def add(self, number, history, seed, over):
        cell = FleetCell(self, number, history, seed, over)
        self.cells.add(cell)
        self.ready(cell)

    # What happens

    def trouble(self, who, deaf):
        self.failures.append(Trouble(who, self.bench.moment().ms, deaf))
        return self.failures[-1]

    def ended(self, trouble):
        trouble.end = self.bench.moment().ms

    def troubles(self):
        return [(each.begin, each.excused_until()) for each in self.failures]

    def died(self, n):
        """An instance was killed: what it alone knew of is gone, and who waits for what it asks for asks instead of it."""
        now = self.bench.moment()
        for cell in self.cells:
            cell.world.lose(now)
            for e in cell.world.exchanges.values():
                waits = [q for q in cell.world.requests if q.url == e.url and not q.ended and q.place != n]
                if not e.done and e.place == n and waits:
                    self.killed[e.url] = now

    def taken_over(self, e):
        killed = self.killed.pop(e.url, None)
        if killed:
            self.takeovers.append(e.asked.ms - killed.ms)

    def skewed(self, seconds):
        """Responses of a clock that was wrong stay."""
        self.skew = max(self.skew, 2 * abs(seconds))
        for cell in self.cells:
            cell.world.skew = self.skew

    # What is counted

    def timed(self, q, answer):
        if answer.status == 200 and "hit" in answer.own_status():
            (self.hits_in_trouble if any(not each.end for each in self.failures) else self.hits).append(q.ended.ms - q.sent.ms)

    def is_deaf(self, n, since, until):
        """The troubles by which instance n may not have heard in between."""
        return [each for each in self.failures if each.excuses(n, since, until)]

    def excused(self, q, world, rule):
        """Whether a purged answer came of an instance that could not have heard of the purge, from one that was in trouble since then."""
        soft = {"removed": False, "hop-removed": False, "fresh": True, "hop-fresh": True}.get(rule)
        purges = [r for r in world.removals if r.soft == soft and r.covers(q.url) and r.ended and r.ended.seq < q.sent.seq]
        found = [each for r in purges for each in self.is_deaf(q.place, r.sent.ms, q.sent.ms)]
        if found:
            self.late.append(q.sent.ms - max(r.ended.ms for r in purges))
            self.after_heal = max(self.after_heal, q.sent.ms - max(each.end or q.sent.ms for each in found))
        return bool(found)

    def purges_seen(self):
        """How long the purges took that were confirmed while nothing was in trouble."""
        for r in self.purges:
            if r.settles and r.ended and not any(begin < r.ended.ms and end > r.sent.ms for begin, end in self.troubles()):
                yield r.ended.ms - r.sent.ms
