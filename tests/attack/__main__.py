"""Runs the table: python3 -m attack --help, in tests/ with UTFEED set."""
import argparse
import os
import resource
import shutil
import sys

from .good import Good
from .origin import Origin
from .run import Run
from .table import ATTACKS

QUICK = 0.1


def chosen(words):
    """The rows whose names have any of the words in them; all of them where there is none."""
    return [row for row in ATTACKS if not words or any(word.lower() in row.name.lower() for word in words)]


def missing(row):
    """A program that the row needs and this machine has not."""
    return next((tool for tool in ("brotli", "zstd") if row.name.startswith("bomb") and not shutil.which(tool)), None)


def attacks(rows, options):
    failed = 0
    for row in rows:
        if missing(row):
            print(f"FAILED {row.name}: no {missing(row)}", flush=True)
            failed += 1
            continue
        with Origin(yields=not options.no_times) as origin:
            good = Good()
            try:
                result = Run(row, good, origin, options.scale, not options.no_times, more=tuple(options.utfeed_options)).whole()
            finally:
                good.stop()
        failed += bool(result.failures())
        print(result, flush=True)
        if result.failures():
            print("       out of bounds: " + "; ".join(result.failures()), flush=True)
    return failed


def main():
    parse = argparse.ArgumentParser(prog="attack")
    parse.add_argument("words", nargs="*", help="attacks with any of these in their names; none: all")
    parse.add_argument("--list", action="store_true", help="what there is")
    parse.add_argument("--quick", dest="scale", action="store_const", const=QUICK, default=1.0, help="a tenth of each attack")
    parse.add_argument("--scale", type=float, default=1.0, help="such a part of each")
    parse.add_argument("--no-times", action="store_true", help="memory, descriptors and ends only: the machine is busy")
    parse.add_argument("--workers", dest="utfeed_options", action="store_const", const=("--workers", "2"), default=(), help="two of utfeed's")
    options = parse.parse_args()
    rows = chosen(options.words)
    if options.list:
        print("\n".join(f"{row.name}: {row.number} x {row.does}" for row in rows))
        return 0
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if os.cpu_count() > 1 and not options.utfeed_options:
        os.sched_setaffinity(0, set(range(1, os.cpu_count())))
    failed = attacks(rows, options)
    print(f"{len(rows) - failed} passed, {failed} failed")
    return bool(failed or not rows)


sys.exit(main())
