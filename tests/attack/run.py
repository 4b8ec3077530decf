"""One row of the table: its utfeed, what is measured of it while the attack lasts and afterwards, and what of that is out of bounds."""
import contextlib
import os
import resource
import tempfile
import time

from proxy import Utfeed, is_sanitized

from .crowd import Crowd, attack
from .gauge import Gauge, until
from .good import percentile

COMMON = ("--access-log", "off", "--origin-idle", "0", "--log-level", "error")
WARM_SECONDS, BACK_SECONDS = 0.5, 45
LEAST_WAIT = 5.0                    # ms: below that the figure of an idle server is the machine's
FIRST_LIMIT, LIMIT_STEP = 16 << 20, 1 << 20
SHARED = 2                          # descriptors that a worker keeps from the first use on: the pipe of splice.h
BUSY = 0.1                          # of utfeed's processor: who else takes so much of it makes times the machine's
BUSY_MEMORY = 1.5                   # of a row's memory: more is in transit while the worker waits for its processor
AT_ONCE_SPARED = 200                # descriptors that the attackers' process has for itself


class Figure:
    """What was measured, beside its bound, which may not be held."""

    def __init__(self, name, value, bound, unit, held=True):
        self.name, self.value, self.bound, self.unit, self.held = name, value, bound, unit, held

    @property
    def fails(self):
        return self.held and self.value > self.bound

    def __str__(self):
        bound = f"{self.bound:.{0 if self.bound >= 10 else 1}f}" if self.held else "-"
        return f"{self.name} {self.value:.{0 if self.value >= 100 else 1}f}/{bound} {self.unit}"


class Result:
    def __init__(self, row):
        self.row, self.figures, self.wrong, self.seconds, self.number = row, [], [], 0.0, 0
        self.ends, self.said = {}, ""

    def hold(self, *figure):
        self.figures.append(Figure(*figure))

    def failures(self):
        return [*(str(figure) for figure in self.figures if figure.fails), *self.wrong]

    def __str__(self):
        ends = " ".join(f"{word}:{count}" for word, count in sorted(self.ends.items()))
        said = "; ".join([*map(str, self.figures), *self.wrong])
        return f"{'FAILED' if self.failures() else 'ok':6} {self.row.name}: {self.number} in {self.seconds:.1f} s, {ends}: {self.said}{said}"


def routes(good, origin):
    bad = f"http://127.0.0.1:{origin.port}/"
    return ("--route", f"/good/=http://127.0.0.1:{good.port}/", "--route", f"/o/={bad}", "--route", f"/ascii/={bad} output=us-ascii")


def limited(more, *options):
    """A utfeed with so many MB of address space more than it needs to start."""
    space = FIRST_LIMIT
    while True:
        try:
            Utfeed(*options, under=("prlimit", f"--as={space}")).stop()
            break
        except AssertionError:
            space += LIMIT_STEP
    return Utfeed(*options, under=("prlimit", f"--as={space + (more << 20)}"))


class Run:
    """One row, at a scale: of 1 as the table has it."""

    def __init__(self, row, good, origin, scale=1.0, times=True, idle_seconds=2.0, more=()):
        self.sanitized = is_sanitized()
        self.row, self.good, self.origin, self.times, self.idle_seconds = row, good, origin, times and not self.sanitized, idle_seconds
        self.scale, self.more = scale, more
        self.result = Result(row)
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - AT_ONCE_SPARED
        self.number = row.number if row.seconds else max(round(row.number * scale), 4)
        self.at_once = min(row.at_once, self.number, limit)
        self.proxy = self.gauge = self.idle = self.least = None
        self.pinned = self.busy = False

    def start(self, folder, helped):
        row = self.row
        options = (*COMMON, "--cache-bytes", f"{row.cache}m", *routes(self.good, self.origin), *row.options, *helped, *self.more)
        self.proxy = limited(row.limit, *options) if row.limit else Utfeed(*options)
        self.gauge = Gauge(self.proxy.process.pid)
        self.pinned = self.times and os.cpu_count() > 1 and "--workers" not in self.more
        if self.pinned:
            self.gauge.pin({0})

    def crowd(self):
        return Crowd(self.proxy.port, self.proxy.tls_port, self.origin.port, self.proxy.process.pid, yields=self.times)

    def fill(self):
        from .visits import asks_often
        for_each = 100
        count = max(round(self.row.fill * self.scale), 1)
        attack(self.crowd(), asks_often(for_each, "/small/length/max-age=600/N"), max(count // for_each, 1), 8)

    def rest(self):
        """The idle server, with the good client alone."""
        if self.row.fill:
            self.fill()
        if not self.row.alone:
            self.good.begin(self.proxy.port, self.row.http2)
            time.sleep(WARM_SECONDS)
            self.good.told()
        cpu, began = self.gauge.cpu(), time.monotonic()
        time.sleep(self.idle_seconds)
        waited, wrong = ({}, []) if self.row.alone else self.good.told()
        self.result.wrong += [f"before the attack: {each}" for each in wrong[:3]]
        self.gauge.forget_peak()
        self.idle = {"rss": self.gauge.rss(), "cpu": (self.gauge.cpu() - cpu) / (time.monotonic() - began), "waits": {name: percentile(each) for name, each in waited.items()},
                     "descriptors": max(self.gauge.descriptors() for _ in range(20))}

    def under_attack(self):
        row, result = self.row, self.result
        cpu, others, moved, began = self.gauge.cpu(), self.gauge.taken_by_others(), self.origin.moved(), time.monotonic()
        made, bytes_moved, result.seconds = attack(self.crowd(), row.visit, self.number, self.at_once, row.seconds * self.scale)
        result.number = sum(made.values())
        if row.terminates:
            return made
        time.sleep(0.2)                             # the origin's count is that old
        lasted = time.monotonic() - began
        spent = self.gauge.cpu() - cpu - self.idle["cpu"] * lasted
        self.busy = self.pinned and self.gauge.taken_by_others() - others > BUSY * lasted * 1_000_000
        if self.busy:
            result.said = "the machine is busy: no time is held; "
        units = result.number if row.unit == "visit" else max(bytes_moved + self.origin.moved() - moved, 1) / 1024
        if self.times:
            result.hold("cpu", spent / units, row.cpu, f"us/{row.unit}", not self.busy)
        return made

    def waits(self):
        waited, wrong = self.good.told()
        self.result.wrong += [f"the good client: {each}" for each in wrong[:3]]
        if self.times:
            for name, each in waited.items():
                self.result.hold(f"p99 {name}", percentile(each), self.longest(self.idle["waits"][name]), "ms", not self.busy)

    def longest(self, before):
        return before + self.row.later if self.row.later else self.row.waits * max(before, LEAST_WAIT)

    def judge_ends(self, made):
        self.result.ends = made
        for word in sorted(set(made) - self.row.ends):
            self.result.wrong.append(f"{made[word]} ended as {word}")

    def given_back(self):
        """A sanitizer's build keeps what was freed: its memory says nothing."""
        self.least = min(self.least, self.gauge.descriptors())
        if self.least > self.idle["descriptors"] + SHARED:
            return False
        return self.sanitized or self.gauge.rss() <= self.idle["rss"] + self.row.cache + self.row.keeps

    def afterwards(self):
        """All that was taken is given back."""
        idle, row, result = self.idle, self.row, self.result
        self.least = self.gauge.descriptors()
        until(self.given_back, BACK_SECONDS)
        if not self.sanitized:
            result.hold("memory", self.gauge.peak() - idle["rss"], row.cache + row.memory * (BUSY_MEMORY if self.busy else 1), "MB")
            result.hold("kept", self.gauge.rss() - idle["rss"], row.cache + row.keeps, "MB")
        result.hold("descriptors", self.least - idle["descriptors"], SHARED, "left")

    def answer(self):
        return self.proxy.get("/good/no-store", host="a").status

    def still_answers(self, before):
        """As before the attack: what a limit of a megabyte leaves room for depends on where the system put the program."""
        status = self.answer()
        if status not in (200, before):
            self.result.wrong.append(f"answers {status} afterwards, {before} before")

    def measure(self):
        before = self.answer() if self.row.limit else 200
        self.rest()
        made = self.under_attack()
        if not self.row.alone:
            self.waits()
        self.judge_ends(made)
        if self.row.terminates:
            return
        self.afterwards()
        self.still_answers(before)

    def whole(self):
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="utfeed-attack-"))
            helped = stack.enter_context(self.row.helper(folder)) if self.row.helper else ()
            try:
                self.start(folder, helped)
                self.measure()
            except Exception as error:      # the row fails, the others go on
                self.result.wrong.append(repr(error))
            finally:
                self.end()
        return self.result

    def end(self):
        """It ends in order: utfeed's exit status, and no sanitizer's word."""
        if not self.proxy:
            return
        try:
            if self.row.terminates:
                self.proxy.wait()
            self.proxy.stop()
        except AssertionError as error:
            self.result.wrong.append(str(error)[:2000])
