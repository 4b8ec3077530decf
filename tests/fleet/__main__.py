"""What happens to a fleet of four, by chance: python3 -m fleet --help, in tests/ with UTFEED set. make fleet runs it."""
import argparse
import collections
import gc
import itertools
import os
import random
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e")]
os.environ["PYTHONPATH"] = os.pathsep.join([os.path.join(HERE, ".."), sys.path[0]])

from fleet import rows              # behind the path
from fleet.chaos import Chaos
from fleet.events import EVENTS, Busy
from fleet.places import absent
from oracle.campaign import made_for
from oracle.ratio import measure

SKIPPED = 77
ROWS = "rows"
BAR_CALM, BAR_FAILING, BAR_VISIBLE_MS = 1.05, 1.5, 1000
FEW = 5000          # requests to origins, of fewer a ratio is shown and not held: one outage may be most of a short run


def arguments():
    parser = argparse.ArgumentParser(prog="fleet")
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("FLEET_SECONDS", 600)), help="of all modes together")
    parser.add_argument("--answers", type=int, default=1 << 60, help="stop after so many in each mode")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("FLEET_SEED", 0)), help="0: another one each time")
    parser.add_argument("--mode", default=os.environ.get("FLEET_MODE", "single,sentinel,cluster,rows"), help="single, sentinel, cluster, rows: some of them")
    parser.add_argument("--events", default="", help="these alone, by name")
    parser.add_argument("--skip", default="", help="rules whose wrong answers are passed over")
    return parser.parse_args()


def at(share, numbers, otherwise="-"):
    """The number below which so large a share of them is, in ms."""
    found = sorted(numbers)
    return f"{found[min(len(found) - 1, int(share * len(found)))]:.0f} ms" if found else otherwise


class Schedule:
    """One event behind another, sometimes two at once; longer rests between, in which all must be as if nothing had been."""

    def __init__(self, chaos, seed, calm_s, names):
        self.chaos, self.chance, self.running, self.next = chaos, random.Random(seed), [], time.monotonic() + calm_s
        self.kinds = [kind for kind in EVENTS if kind.applies(chaos) and (not names or kind.__name__ in names)]
        self.counts, self.began = collections.Counter(), time.monotonic()

    def turn(self):
        now = time.monotonic()
        for event, until in self.running:
            if until and until <= now:
                self.running = [(each, None if each is event else end) for each, end in self.running]
                event.end()
        self.running = [(event, until) for event, until in self.running if not event.over]
        if now >= self.next and len(self.running) < 2:
            kind = self.chance.choices(self.kinds, [kind.weight for kind in self.kinds])[0]
            if not any(type(event) is kind for event, _ in self.running):
                self.begin(kind(self.chaos, self.chance))
            both = self.chance.random() < 0.2
            self.next = now + (0.2 if both else self.running[-1][0].seconds + self.chance.choice((0.3, 1, 2, 6)) if self.running else 0.1)

    def begin(self, event):
        try:
            event.begin()
        except Busy:
            event.finish()
            return
        name = type(event).__name__
        self.counts[name] += 1
        print(f"fleet: {time.monotonic() - self.began:6.1f} s: {name} {event.words()}, {event.seconds} s", flush=True)
        self.running.append((event, time.monotonic() + event.seconds))

    def stop(self):
        """What is under way ends."""
        self.next = float("inf")
        self.running = [(event, until and time.monotonic()) for event, until in self.running]
        end = time.monotonic() + 60
        while self.running and time.monotonic() < end:
            self.turn()
            self.chaos.turn()


def run_mode(mode, seed, seconds, args):
    """Whether the bars hold."""
    chaos, seeds, wrong, counts, skip = Chaos(mode, seed), itertools.count(seed * 1000 + 1), [], collections.Counter(), args.skip.split(",")
    began = time.monotonic()

    def goes_on():
        return time.monotonic() < began + seconds and chaos.answers < args.answers and not wrong

    def over(cell):
        chaos.cells.discard(cell)
        if cell.wrong and cell.wrong[0][0] not in skip:
            wrong.append(cell)
        for kind, troubles in (("calm", chaos.troubles()), ("failing", ())):
            asked, spare = measure(cell.world, troubles)
            counts[kind + " asked"] += asked
            counts[kind + " spare"] += spare
        if goes_on():
            begin()

    def begin():
        number = next(seeds)
        chaos.add(number, made_for(4, number, False, True), number, over)
    schedule = Schedule(chaos, seed, min(seconds / 4, 30), args.events.split(",") if args.events else [])
    try:
        for _ in range(16):
            begin()
        while goes_on():
            chaos.turn()
            schedule.turn()
        schedule.stop()
        end = time.monotonic() + 60
        while chaos.cells and time.monotonic() < end and not wrong:
            chaos.turn()
        for cell in [] if wrong else chaos.cells:
            cell.hangs(cell.step)
            wrong.append(cell)
    finally:
        chaos.close()
    return report(mode, seed, chaos, wrong, counts, schedule)


def report(mode, seed, chaos, wrong, counts, schedule):
    ratios = {kind: counts[kind + " asked"] / max(1, counts[kind + " asked"] - counts[kind + " spare"]) for kind in ("calm", "failing")}
    seen = list(chaos.purges_seen())
    print(f"fleet: {mode}, seed {seed}: {chaos.answers} answers, {len(wrong)} wrong, {chaos.lost} of clients whose instance was killed")
    print("fleet:   events: " + ", ".join(f"{name} {n}" for name, n in sorted(schedule.counts.items())))
    print(f"fleet:   purges confirmed without trouble: {len(seen)}, half within {at(0.5, seen)}, 99 % within {at(0.99, seen)}, all within {at(1, seen)}; what was purged was given {at(1, chaos.outlived, 'no time')} later; "
          f"purged answers of instances that could not hear of it: {len(chaos.late)}, the last one {chaos.after_heal:.0f} ms after its trouble was over")
    print(f"fleet:   origins asked {ratios['calm']:.3f} times the ideal without trouble (of {counts['calm asked']}), {ratios['failing']:.3f} with (of {counts['failing asked']})")
    print(f"fleet:   takeovers: {len(chaos.takeovers)}, half within {at(0.5, chaos.takeovers)}, all within {at(1, chaos.takeovers)}; hits: 99 % within "
          f"{at(0.99, chaos.hits)}, while something is in trouble {at(0.99, chaos.hits_in_trouble)}", flush=True)
    for cell in wrong[:3]:
        print("\n".join([f"fleet: WRONG {mode}, seed {seed}, cell {cell.number}", *(f"  {rule} ({section}): {words}" for rule, section, words in cell.wrong),
                         *("  " + line for line in cell.told()[-40:])]))
    bars = {"0 wrong": not wrong, f"purge-visible {BAR_VISIBLE_MS} ms": max(chaos.outlived, default=0) <= BAR_VISIBLE_MS,
            f"ratio {BAR_CALM}": ratios["calm"] <= BAR_CALM or counts["calm asked"] < FEW / 5, f"ratio with failures {BAR_FAILING}": ratios["failing"] <= BAR_FAILING or counts["failing asked"] < FEW}
    for bar in [bar for bar, holds in bars.items() if not holds]:
        print(f"fleet: BROKEN {mode}: {bar}; again: FLEET_SEED={seed} FLEET_MODE={mode} make fleet")
    return all(bars.values())


def main():
    args, reason = arguments(), absent()
    if reason:
        print(f"fleet: skipped: {reason}")
        return SKIPPED
    gc.set_threshold(100_000, 50, 100)
    seed, modes = args.seed or random.SystemRandom().randrange(1, 1 << 32), args.mode.split(",")
    print(f"fleet: seed {seed}", flush=True)
    each = args.seconds / len(modes)
    return 0 if all([rows.measure(each) if mode == ROWS else run_mode(mode, seed, each, args) for mode in modes]) else 1


sys.exit(main())
