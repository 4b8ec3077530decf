#!/usr/bin/env python3
"""Simulates a day of publishers that fail and of readers that poll, with utfeed, nginx and Varnish in turn between them.

usage: UTFEED=BINARY run.py FOLDER [--seed N] [--publishers N] [--readers N] [--hours N] [--only NAME,NAME] [-- OPTION...]
It prints a table, and writes the figures to FOLDER/steady.json. The OPTIONs are for utfeed. Exit status 0 if the bars hold, else 1: no feed is
lost, utfeed makes at most half the origin requests of the best peer, and readers see fresh items no later."""
import argparse
import json
import os
import sys
import tempfile

import proxies      # first: it knows where the rest is
import day
from preload import build

SHOWN = ("reader requests", "origin requests", "origin requests while failing", "origin bytes", "stale minutes", "readers' errors", "lost reads",
         "lost feeds", "forbidden reads", "items seen", "late, mean s", "late, 50 % s", "late, 95 % s", "waits over 1 s", "longest wait s", "took, s")


def arguments():
    given = sys.argv[1:]
    own, options = (given[:given.index("--")], given[given.index("--") + 1:]) if "--" in given else (given, [])
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("folder")
    for name, value in (("seed", 1), ("publishers", 500), ("readers", 20), ("hours", 24)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--only", default=",".join(proxies.ALL))
    return parser.parse_args(own), options


def bars(results):
    """(bar, whether it holds). The bars that compare need a peer."""
    ours, peers = results["utfeed"], [results[name] for name in results if name != "utfeed"]
    yield "no feed lost", ours["lost feeds"] == 0
    if peers:
        yield "at most half the origin requests of the best peer", 2 * ours["origin requests"] <= min(row["origin requests"] for row in peers)
        yield "fresh items seen no later than with the best peer", ours["late, mean s"] <= min(row["late, mean s"] for row in peers)


def print_table(results):
    print(f"{'':32}" + "".join(f"{name:>14}" for name in results))
    for row in SHOWN:
        print(f"{row:32}" + "".join(f"{figures[row]:>14,}" for figures in results.values()))
    for what in ("pattern", "control", "hint", "move", "limit", "way"):
        print(f"by {what}: publishers; for each proxy origin requests, and seconds late")
        for value, (count, *_) in results[next(iter(results))][f"by {what}"].items():
            print(f"  {value or '-'!s:36} {count:4}" + "".join(f"{requests:>10,} {late:>8,}"
                  for _, requests, _, late in (figures[f"by {what}"][value] for figures in results.values())))
    for name, figures in results.items():
        print(f"{name}: errors {figures['errors']}; lost {figures['lost by way']}")


def main():
    asked, options = arguments()
    os.makedirs(asked.folder, exist_ok=True)
    results = {}
    print(f"steady: {asked.publishers} publishers, {asked.readers} readers each, {asked.hours} h, seed {asked.seed}", flush=True)
    for name in asked.only.split(","):
        kind = proxies.ALL[name]
        if proxies.missing(kind):
            print(f"skipped: {name} is not installed ({proxies.missing(kind)})", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            results[name] = day.seen_by(kind, folder, build("clock", folder), asked.seed, asked.publishers, asked.readers, asked.hours,
                                        *([options] if options and name == "utfeed" else []))
        with open(os.path.join(asked.folder, "steady.json"), "w", encoding="utf-8") as file:
            json.dump({"arguments": vars(asked), "proxies": results}, file, indent=1)
    print_table(results)
    held = [(what, is_held) for what, is_held in bars(results)] if "utfeed" in results else []
    for what, is_held in held:
        print(f"{'holds' if is_held else 'DOES NOT HOLD'}: {what}")
    return 0 if all(is_held for _, is_held in held) else 1


if __name__ == "__main__":
    sys.exit(main())
