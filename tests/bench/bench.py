#!/usr/bin/env python3
"""make bench: measures, then writes report.md, chart.svg and results.json.

usage: bench.py BUILD FOLDER            the parts of BENCH (those of PARTS; all by default), BENCH_ROUNDS (3) rounds;
                                        BENCH_QUICK=1: a smoke run, whose figures mean nothing; BENCH_ONLY=PATTERN: of
                                        misses2, store and stalls only the rows whose names match
       bench.py --readme FOLDER SOURCE  the results in FOLDER into README and chart.svg of SOURCE/tests/bench

Parts that were measured before and are not this time stay in results.json as they were."""
import os
import platform
import signal
import subprocess
import sys
import time

sys.modules["ssl"] = None           # http.client would load OpenSSL, and this process be said to use half of what a server needs of it

import chart
import coded
import hits
import micro
import misses
import misses2
import report
import results
import servers
import stalls
import store
import tls
import undeclared
from drive import Setup

PARTS = {part.__name__: part.run for part in (
    micro,
    hits,
    misses,
    misses2,
    undeclared,
    coded,
    stalls,
    store,
    tls,
)}
QUIET_SECONDS, QUIET_SHARE = 1, .05


def field(path, name):
    for line in servers.read(path).splitlines():
        key, _, value = line.replace("=", ":", 1).partition(":")
        if key.strip() == name:
            return value.strip().strip('"')
    return "unknown"


def times():
    """What became of all processors' time so far: user nice system idle iowait irq softirq steal (proc(5))."""
    return [int(ticks) for ticks in servers.read("/proc/stat").split("\n", 1)[0].split()[1:9]]


def shares(before):
    """The shares of the time since, by the same order."""
    spent = [after - earlier for earlier, after in zip(before, times())]
    return [ticks / (sum(spent) or 1) for ticks in spent]


def busy():
    """The share of all processors that something else uses now."""
    before = times()
    time.sleep(QUIET_SECONDS)
    _, _, _, idle, waiting, *_ = shares(before)
    return 1 - idle - waiting


def facts(setup, rounds):
    said = subprocess.run([setup.utfeed, "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout.split("\n")[0]
    peers = [servers.version("nginx", "nginx", "-v"), servers.version("Varnish", "varnishd", "-V"), servers.version("Apache", "apache2", "-v")]
    others = busy()
    found = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "processor": f"{field('/proc/cpuinfo', 'model name')}, {os.cpu_count()} cores; servers on core {servers.SERVER_CPU}, load and origin on core "
                     f"{servers.LOAD_CPU}",
        "system": f"{field('/etc/os-release', 'PRETTY_NAME')}, Linux {platform.release()}, {' '.join(platform.libc_ver())}",
        "versions": ", ".join([said, *filter(None, peers)]),
        "rounds": str(rounds) + (" (a smoke run: its figures mean nothing)" if setup.quick else ""),
    }
    if servers.SERVER_CPU == servers.LOAD_CPU:
        found["one processor"] = "server and load share it: throughput says little"
    if others > QUIET_SHARE:
        found["not quiet"] = f"{others:.0%} of the processors were busy at the start: provisional"
    return found


def write(folder, said, tables):
    for name, text in (("report.md", report.report(said, tables)), ("chart.svg", chart.chart(said, tables))):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
            out.write(text)
        print(os.path.join(folder, name))


def measure(build, folder):
    quick = bool(os.environ.get("BENCH_QUICK"))
    rounds = int(os.environ.get("BENCH_ROUNDS") or (1 if quick else 3))
    wanted = os.environ.get("BENCH", "").replace(",", " ").split() or list(PARTS)
    if set(wanted) - set(PARTS):
        raise SystemExit(f"BENCH is {' '.join(wanted)}; parts are {' '.join(PARTS)}")
    os.makedirs(folder, exist_ok=True)
    setup, kept = Setup(build, folder, rounds, quick, os.environ.get("BENCH_ONLY", "")), os.path.join(folder, "results.json")
    said, begin = facts(setup, rounds), times()
    said_before, before = results.load(kept) if os.path.exists(kept) else ({}, [])
    by_part = {part: [table for table in before if table.part == part] for part in PARTS}
    earlier = [part for part in PARTS if part not in wanted and by_part[part]]
    if earlier:
        said["of an earlier run"] = f"{', '.join(earlier)}; rounds: {said_before['rounds']}"
    for part in wanted:
        by_part[part] = []
        try:
            for table in PARTS[part](setup):
                by_part[part].append(table)
        finally:                # what was measured before something failed is kept
            tables = [table for part in PARTS for table in by_part[part]]
            said |= {f"left out {index + 1}": line for index, line in enumerate(dict.fromkeys(setup.absent))}
            said |= {f"trouble {index + 1}": line for index, line in enumerate(setup.trouble)}
            said["taken by the host"] = f"{shares(begin)[-1]:.1%} of the processors' time"
            results.save(kept, said, tables)
            write(folder, said, tables)
    print(report.bars(tables))
    empty = [f"{table.title}, {row.what}" for table in tables for row in table.rows if row.median(results.OURS) is None]
    if empty or any(line.startswith(results.OURS) for line in setup.trouble):
        raise SystemExit(f"not measured: {empty}; trouble: {setup.trouble}")


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "--readme":
        said, tables = results.load(os.path.join(arguments[1], "results.json"))
        folder = os.path.join(arguments[2], "tests/bench")
        report.into_readme(os.path.join(folder, "README"), said, tables)
        write(folder, said, tables)
        os.remove(os.path.join(folder, "report.md"))
    elif len(arguments) == 2:
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))      # as an exception: the servers end with it
        measure(os.path.abspath(arguments[0]), os.path.abspath(arguments[1]))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
