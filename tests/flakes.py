#!/usr/bin/env python3
"""Tests that fail by chance, found by running: every unit program and every end-to-end file again and again, each time with another seed (what
the unit programs draw at random, the order of the end-to-end tests), every second turn beside busy loops. Says of each failure the command
that repeats it; the whole of what a failure wrote is in BUILD/flakes. Exit status 1 if anything failed.
usage: flakes.py BUILD [--seconds 3600] [--runs 2000] [--rounds 20] [--jobs N] [--busy N] [--seed N] [NAME...]
NAME is a part of the path of a program or a file: unit/cache, test_purge.py"""
import argparse
import collections
import concurrent.futures
import contextlib
import glob
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import threading
import time

LONGEST = 1800      # seconds of one run: only a hang reaches it
SHARE = 30          # seconds of a turn that one program takes at most
TELLING = re.compile(r"^(FAIL\b|FAILED|ERROR|E  |  again:|again:|.*Sanitizer|.*[Aa]ssertion)|\d+ failed")


def arguments():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("build")
    parse.add_argument("names", nargs="*", metavar="NAME")
    parse.add_argument("--seconds", type=float, default=3600, help="no run begins later")
    parse.add_argument("--runs", type=int, default=2000, help="of each program")
    parse.add_argument("--rounds", type=int, default=20, help="of each end-to-end file")
    parse.add_argument("--jobs", type=int, default=os.cpu_count(), help="side by side")
    parse.add_argument("--busy", type=int, default=2 * os.cpu_count(), help="busy loops in every second turn")
    parse.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 1 << 31), help="of the first run; each adds one")
    return parse.parse_intermixed_args()


def programs(build):
    """What make check runs of a build, as far as it is a program."""
    found = [glob.glob(os.path.join(build, "tests", where)) for where in ("unit/*/test_*", "fault/test_*", "identity/*", "fuzz/fuzz_*")]
    return sorted(os.path.relpath(path, build) for paths in found for path in paths
                  if os.path.isfile(path) and os.access(path, os.X_OK) and "." not in os.path.basename(path))


class Program:
    """A test program of the build."""

    def __init__(self, build, source, path):
        self.name, self.build, self.source = path, build, source

    def command(self, seed):
        run = os.path.join(self.source, "tests", "run-test.sh")
        return {"UTFEED_TEST_SEED": str(seed), "UTFEED_SRCDIR": self.source}, ["sh", run, os.path.join(self.build, self.name)]


class File:
    """A file of end-to-end tests."""

    def __init__(self, build, path):
        self.name, self.build = os.path.basename(path), build

    def command(self, seed):
        return {"UTFEED_TEST_SEED": str(seed)}, ["make", "-s", "-C", self.build, "check-e2e", f"PYTEST_ARGUMENTS={self.name}"]


@contextlib.contextmanager
def busy_loops(count):
    """Processes that only take the processor."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def written_by(environment, command):
    """(exit status, what it wrote); a run that hangs is ended with all that it started."""
    with subprocess.Popen(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True) as run:
        try:
            text, _ = run.communicate(timeout=LONGEST)
        except BaseException as error:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return "timeout", f"no end after {LONGEST} s\n"
    return run.returncode, text.decode("utf-8", "replace")


class Campaign:
    def __init__(self, args):
        self.args, self.until = args, time.monotonic() + args.seconds
        self.logs = os.path.join(args.build, "flakes")
        self.runs, self.failures, self.lock = collections.Counter(), collections.Counter(), threading.Lock()
        self.seed = args.seed
        os.makedirs(self.logs, exist_ok=True)

    def some(self, test, count, load):
        until = min(self.until, time.monotonic() + SHARE)
        while count > 0 and time.monotonic() < until:
            self.once(test, load)
            count -= 1

    def once(self, test, load):
        with self.lock:
            self.seed += 1
            seed = self.seed
        environment, command = test.command(seed)
        status, text = written_by(environment, command)
        with self.lock:
            self.runs[test.name] += 1
            if status != 0:
                self.failures[test.name] += 1
                self.tell(test, seed, load, status, text)

    def tell(self, test, seed, load, status, text):
        log = os.path.join(self.logs, f"{test.name.replace('/', '-')}.{seed}.log")
        with open(log, "w", encoding="utf-8") as file:
            file.write(text)
        environment, command = test.command(seed)
        print(f"FAIL {test.name}: status {status}, seed {seed}, {load} busy loops, log: {log}")
        for line in [line for line in text.splitlines() if TELLING.search(line)][:12]:
            print(f"    {line[:200]}")
        print("  again:", " ".join([*(f"{name}={value}" for name, value in environment.items()), *map(shlex.quote, command)]), flush=True)

    def turn(self, batches, load):
        with busy_loops(load), concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            for done in [pool.submit(self.some, test, count, load) for test, count in batches]:
                done.result()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))         # the busy loops end, too
    args = arguments()
    args.build = os.path.abspath(args.build)
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    wanted = [re.compile(re.escape(name)) for name in args.names or [""]]
    chosen = [Program(args.build, source, path) for path in programs(args.build)]
    chosen += [File(args.build, path) for path in sorted(glob.glob(os.path.join(source, "tests", "e2e", "test_*.py")))]
    chosen = [test for test in chosen if any(name.search(test.name) for name in wanted)]
    if not chosen:
        sys.exit(f"flakes: no test of {args.build} has such a name")
    subprocess.run(["make", "-s", "-C", args.build, "utfeed"], check=True)      # not by several at once
    print(f"flakes: {len(chosen)} programs and files, seeds from {args.seed}", flush=True)
    campaign, chance, order = Campaign(args), random.Random(args.seed), list(chosen)
    for turn in range(args.rounds):
        runs = (turn + 1) * args.runs // args.rounds - turn * args.runs // args.rounds
        chance.shuffle(order)
        campaign.turn([(test, 1 if isinstance(test, File) else runs) for test in order], args.busy if turn % 2 else 0)
    for test in chosen:
        runs, failures = campaign.runs[test.name], campaign.failures[test.name]
        print(f"{'FAIL' if failures else 'ok' if runs else 'skip'} {test.name}: {failures} of {runs} runs failed")
    never = sum(not campaign.runs[test.name] for test in chosen)
    failed = len(campaign.failures)
    print(f"flakes: {sum(campaign.runs.values())} runs, seeds {args.seed + 1} to {campaign.seed}")
    print(f"{len(chosen) - failed - never} passed, {failed} failed, {never} skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
