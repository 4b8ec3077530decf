"""Runs histories by the thousand, over all stores, with one worker and two; makes what went wrong small, and tells it."""
import argparse
import gc
import itertools
import json
import os
import random
import time

from .bench import SHARED, STORES, processes
from .histories import fleet, history, of_a_proxy, of_many, over_http2, undisturbed
from .ratio import BAR, measure
from .run import Run
from .shrink import shrink
from .steady import steady as failing

CELLS, STEADY_CELLS = 24, 40        # the latter wait for each other where time passes


class Finding:
    """A wrong answer: where, and the history that it came in."""

    def __init__(self, store, workers, cell, secure, steady, http2):
        self.store, self.workers, self.seed, self.wrong = store, workers, cell.seed, cell.wrong
        self.secure, self.steady, self.http2 = secure, steady, http2
        self.history, self.trace = {"resources": cell.history["resources"], "steps": cell.happened}, cell.told()

    @property
    def rule(self):
        return self.wrong[0][0]

    def case(self):
        """What is run again: data."""
        return {"rule": self.rule, "store": self.store, "workers": self.workers, "secure": self.secure, "steady": self.steady, "http2": self.http2,
                "seed": self.seed, "history": self.history}


def made_for(count, seed, steady, calm):
    """The history of a seed; of a fleet every second one is about what its processes have in common. calm: nothing of it ends, nor its store."""
    made = failing(seed) if steady else fleet(seed) if count > 2 and seed % 2 else history(seed)
    if count > 1 and (steady or count == 2 or seed % 2 == 0):
        made = of_many(made, seed, "steady" if steady else "plain", not steady, 30 if count > 2 else 1)
    return undisturbed(made) if calm else made


def campaign(store, workers, seeds, seconds, answers, most=1, wanted=lambda rule: True, secure=False, steady=False, http2=False):
    """(answers judged, statistics, findings): until time or answers are over, or there are most findings of wanted rules. secure: all
    clients are inside of opened CONNECTs, or ask the gateway. steady: publishers fail, and utfeed does what issue 32 asks. http2: many ask over
    HTTP/2."""
    run, findings, until = Run(store, workers, secure=secure, steady=steady, http2=http2), [], time.monotonic() + seconds

    def over(cell):
        run.cells.discard(cell)
        if run.bench.count > 1:
            asked, spare = measure(cell.world, run.bench.troubles)
            run.stats["asked"] += asked
            run.stats["spare"] += spare
        if cell.wrong and wanted(cell.wrong[0][0]):
            findings.append(Finding(store, workers, cell, secure, steady, http2))
        if len(findings) < most and time.monotonic() < until and run.answers < answers:
            begin()

    def begin():
        seed = next(seeds)
        made = made_for(run.bench.count, seed, steady, run.bench.count > 2 and time.monotonic() < until - seconds / 3)
        made = of_a_proxy(made) if secure and not (http2 and seed % 2) else made        # over HTTP/2 clients ask routes too
        run.add(seed, over_http2(made, seed) if http2 else made, seed, over)
    try:
        for _ in range(STEADY_CELLS if steady else CELLS):
            begin()
        while run.cells and len(findings) < most and time.monotonic() < until + 90:
            run.turn()
    finally:
        run.close()
    return run.answers, run.stats, findings


def arguments():
    parser = argparse.ArgumentParser(prog="oracle")
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("ORACLE_SECONDS", 60)))
    parser.add_argument("--answers", type=int, default=int(os.environ.get("ORACLE_ANSWERS", 1 << 60)), help="stop after so many")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ORACLE_SEED", 0)), help="0: another one each time")
    parser.add_argument("--stores", default=os.environ.get("ORACLE_STORES", ",".join(STORES + SHARED)))
    parser.add_argument("--workers", default=os.environ.get("ORACLE_WORKERS", "1,2"))
    parser.add_argument("--findings", type=int, default=1, help="stop after so many wrong answers")
    parser.add_argument("--skip", default="", help="rules whose wrong answers are passed over")
    parser.add_argument("--only", default="", help="rules whose wrong answers alone count")
    parser.add_argument("--inside", action="store_true", default=bool(os.environ.get("ORACLE_INSIDE")), help="of https origins, inside of CONNECTs")
    parser.add_argument("--steady", choices=("on", "off", "both"), default=os.environ.get("ORACLE_STEADY", "both"), help="publishers that fail, and issue 32")
    parser.add_argument("--http2", action="store_true", default=bool(os.environ.get("ORACLE_HTTP2")), help="many clients ask over HTTP/2")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--out", help="a file for the findings, as JSON, one a line")
    return parser.parse_args()


def told(finding):
    """In words, with its history as data."""
    return "\n".join([f"WRONG {finding.store}, {finding.workers} workers{', inside of CONNECT' * finding.secure}{', steady' * finding.steady}{', HTTP/2' * finding.http2}, seed {finding.seed}", *(
        f"  {rule} ({section}): {words}" for rule, section, words in finding.wrong), *("  " + line for line in finding.trace[-40:]), json.dumps(finding.case())])


def main():
    args = arguments()
    gc.set_threshold(100_000, 50, 100)      # records live as long as their history: there is little to collect
    seed = args.seed or random.SystemRandom().randrange(1, 1 << 32)
    seeds = itertools.count(seed * 1000)
    kinds = {"on": (True,), "off": (False,), "both": (False, True)}[args.steady if not args.inside else "off"]
    places = [(store, int(workers), steady) for store in args.stores.split(",") for workers in args.workers.split(",") for steady in kinds
              if not (steady and len(kinds) > 1 and processes(store)[1] > 1)]
    total, often, began, findings, statistics = 0, 0, time.monotonic(), [], {}
    print(f"oracle: seed {seed}", flush=True)
    for i, (store, workers, steady) in enumerate(places):
        share = (args.seconds - (time.monotonic() - began)) / (len(places) - i)
        at = time.monotonic()
        count, stats, found = campaign(store, workers, seeds, share, (args.answers - total) // (len(places) - i), args.findings,
                                      lambda rule: rule not in args.skip.split(",") and (not args.only or rule in args.only.split(",")), args.inside, steady, args.http2)
        total += count
        findings += found
        for name, n in stats.items():
            statistics[name] = statistics.get(name, 0) + n
        ratio = stats["asked"] / max(1, stats["asked"] - stats["spare"])
        many = processes(store)[1] > 2 and ratio > BAR
        print(f"oracle: {store}, {workers} workers{', steady' * steady}: {count} answers in {time.monotonic() - at:.1f} s, {len(found)} wrong" +
              f", origins asked {ratio:.3f} times the ideal of {stats['asked'] - stats['spare']}{' (TOO OFTEN)' * many}" * bool(stats["asked"]), flush=True)
        often += many
        for finding in found:
            print("\n" + told(finding if args.no_shrink else shrink(finding)), flush=True)
            if args.out:
                with open(args.out, "a", encoding="ascii") as file:
                    file.write(json.dumps(finding.case()) + "\n")
        if len(findings) >= args.findings:
            break
    print("oracle: " + ", ".join(f"{name} {n}" for name, n in sorted(statistics.items())))
    print(f"oracle: {total} answers in {time.monotonic() - began:.0f} s, {len(findings)} wrong")
    return 1 if findings or often else 0
