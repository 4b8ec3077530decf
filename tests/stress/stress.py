#!/usr/bin/env python3
"""Schedules: utfeed under a crowd that does everything at once, while its threads sleep at random wherever they meet.

	./configure --enable-schedules --enable-sanitizers=thread CC=clang && make utfeed && make check-schedules SCHEDULE_SECONDS=3600

A run is rounds of a few seconds: each starts a utfeed with one of the stores (tests/stress/schedule.h says what a build with --enable-schedules
does then; any other is stressed as it is), sends the crowd of clients.py at it and at origin.py, reloads it and asks it for its counters
all the while, sees that it still answers, and ends it, half of the time under way. A round fails by a sanitizer's word, an assertion, a signal, an exit status, an answer that is not its
own, or one that never comes. All of it comes from the seed, but for what the machine adds: the same seed makes the same kind of crowd,
hardly the same order of events. The last line counts rounds; everything is on the loopback interface.
"""
import argparse
import asyncio
import logging
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]

from clients import HANGS_AFTER, Client, Traffic, Wrong     # noqa: E402
from origin import KINDS, Origin                                   # noqa: E402
from proxy import READY, SANITIZER                          # noqa: E402
from stores import Redis                                    # noqa: E402

ROUND_SECONDS, RELOAD_SECONDS, STARTS_WITHIN = 10, 0.3, 60
DRAIN_SECONDS = 2
PASSES = (429, 502, 503, 504)               # a pause, or an origin that a busy machine makes late
STORES = ("memory", "lmdb", "redis")

CONFIGURATION = """
workers = 2
cache-bytes = {cache}
cache-object-max = 256k
transit-bytes = {transit}
connect-timeout = 1s
first-byte-timeout = 1s
between-bytes-timeout = 1s
fetch-timeout = 5s
request-timeout = 2s
keepalive-timeout = 2s
write-timeout = 2s
tunnel-idle-timeout = 1s
drain-timeout = {drain}s
origin-connections = {connections}
hosts-file = {folder}/hosts
allow = 127.0.0.0/8:*
allow = localhost:*
connect-allow = 127.0.0.1:*
freshness-floor = 0
pause = {pause}
{store}

[route /r/]
origin = http://127.0.0.1:{port}/
authorization = on

[route /raw/]
origin = http://127.0.0.1:{port}/
normalise = off
"""


class Utfeed:
    """One round's."""

    def __init__(self, binary, folder, seed, store, port):
        self.folder, self.store, self.port_of_origin, self.chance = folder, store, port, random.Random(seed)
        self.fixed = {"cache": self.chance.choice(("1m", "8m"))}
        self.path, self.log = os.path.join(folder, "utfeed.conf"), os.path.join(folder, "log")
        with open(os.path.join(folder, "hosts"), "w", encoding="ascii") as hosts:
            hosts.write("127.0.0.1 localhost\n")
        self.configure()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([binary, "serve", "-c", self.path, "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=log, env={**os.environ, "UTFEED_SCHEDULE_SEED": str(seed)})
        self.port = self.ready()

    def configure(self):
        """Written whole, as it may be read at any time."""
        more = {"transit": self.chance.choice(("16k", "64k", "256k")), "connections": self.chance.choice((0, 0, 4)),
                "pause": self.chance.choice(("on", "off", "off"))}
        with open(self.path + ".new", "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(folder=self.folder, port=self.port_of_origin, store=self.store, drain=DRAIN_SECONDS,
                                            **self.fixed, **more))
        os.replace(self.path + ".new", self.path)

    def said(self):
        with open(self.log, encoding="latin-1") as log:
            return log.read()

    def ready(self):
        until = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < until and self.process.poll() is None:
            match = READY.search(self.said())
            if match:
                return int(match[1])
            time.sleep(0.02)
        self.process.kill()
        self.process.wait()
        raise Wrong("does not start")

    def runs(self):
        if self.process.poll() is not None:
            raise Wrong(f"ended with status {self.process.returncode} in the midst of it")

    def order(self):
        self.runs()
        if self.chance.random() < 0.5:
            self.configure()
        self.process.send_signal(self.chance.choice((signal.SIGHUP, signal.SIGUSR1)))

    def terminate(self):
        self.runs()
        self.process.send_signal(signal.SIGTERM)

    async def ended(self):
        """Waits for its end; the sooner of an exit and much more time than draining takes."""
        until = time.monotonic() + DRAIN_SECONDS + HANGS_AFTER
        while self.process.poll() is None and time.monotonic() < until:
            await asyncio.sleep(0.05)
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGABRT)
            self.process.wait()
            raise Wrong("does not end on SIGTERM")
        if self.process.returncode:
            raise Wrong(f"exit status {self.process.returncode}")

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def last_words(self):
        """From the first word of a sanitizer on; else the end of the log."""
        text = self.said()
        found = SANITIZER.search(text)
        return text[max(found.start() - 200, 0):][:12000] if found else text[-1500:]


async def still_answers(traffic):
    """Whoever was served badly is gone: each of many new connections, on either worker, gets its answer, after the pause that the crowd
    made the origin ask for."""
    for number in range(8):
        until, path = time.monotonic() + 2 * HANGS_AFTER, f"/never/{number % 2}"
        status, wait = await Client(traffic, 10 ** 6 + number).asks_once(path)
        while status in PASSES and time.monotonic() < until:
            await asyncio.sleep(wait or 0.1)
            status, wait = await Client(traffic, 10 ** 6 + number).asks_once(path)
        if status != 200:
            raise Wrong(f"answers {path} with {status}, not with 200")


async def crowd(utfeed, traffic, seconds, clients, cut):
    """A round's traffic and end; cut: SIGTERM comes in the midst of it."""
    visits = [asyncio.create_task(Client(traffic, number).visits()) for number in range(clients)]
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until and not any(each.done() for each in visits):
            await asyncio.wait(visits, timeout=RELOAD_SECONDS, return_when=asyncio.FIRST_EXCEPTION)
            utfeed.order()
        if cut:
            utfeed.terminate()
        traffic.over = True
        await asyncio.gather(*visits)
        if not cut:
            await still_answers(traffic)
            utfeed.terminate()
        await utfeed.ended()
    finally:
        for each in visits:
            each.cancel()
        await asyncio.gather(*visits, return_exceptions=True)


class Run:
    def __init__(self, options, folder):
        self.options, self.folder, self.failed, self.answers = options, folder, 0, 0
        self.redis = None
        self.stores = [each for each in options.store or STORES if each != "redis" or shutil.which("redis-server")]

    def store(self, name, folder):
        """LMDB's is the same in every round, so that what one stored the next one finds."""
        if name == "lmdb":
            return f"cache-lmdb = {self.folder}/lmdb\ncache-lmdb-bytes = 64m"
        if name == "redis":
            self.redis = self.redis or Redis("redis-server", folder)
            return f"cache-redis = 127.0.0.1:{self.redis.port}"
        return ""

    def one(self, number, seconds, origin):
        """A round, and a line for it."""
        seed, name = self.options.seed * 1000 + number, self.stores[number % len(self.stores)]
        folder = os.path.join(self.folder, str(number))
        os.mkdir(folder)
        utfeed, why, began = None, None, time.monotonic()
        traffic = Traffic(0, origin.port, seed, self.options.kind)
        try:
            utfeed = Utfeed(self.options.utfeed, folder, seed, self.store(name, self.folder), origin.port)
            traffic.port = utfeed.port
            asyncio.run(crowd(utfeed, traffic, seconds, self.options.clients, number % 2 == 1))
        except Wrong as wrong:
            why = str(wrong)
        except Exception:              # the harness's own: it fails, and says where
            why = traceback.format_exc()
        finally:
            if utfeed:
                utfeed.kill()
        answers = sum(n for status, n in traffic.made.items() if status != "left")
        self.answers += answers
        if utfeed and not number and "UTFEED_SCHEDULE_SEED=" not in utfeed.said():
            print("not a build with --enable-schedules: its threads do not sleep where they meet")
        if utfeed and not why and SANITIZER.search(utfeed.said()):
            why = "a sanitizer's word"
        print(f"{'FAILED ' if why else ''}round {number}, {name}, seed {seed}: {answers} answers in {time.monotonic() - began:.0f} s: {why or 'ok'}",
              flush=True)
        if why:
            self.failed += 1
            print(utfeed.last_words() if utfeed else "", flush=True)
        else:
            shutil.rmtree(folder)

    def all(self):
        rounds = max(1, round(self.options.seconds / ROUND_SECONDS))
        number, until = 0, time.monotonic() + self.options.seconds
        with Origin(self.options.seed) as origin:
            while (number < rounds or time.monotonic() + ROUND_SECONDS / 2 < until) and (not self.failed or self.options.go_on):
                self.one(number, min(ROUND_SECONDS, max(until - time.monotonic(), 1)), origin)
                number += 1
                if time.monotonic() > until:
                    break
        if self.redis:
            self.redis.stop()
        print(f"schedules: seed {self.options.seed}, {self.answers} answers\n{number - self.failed} passed, {self.failed} failed")
        return self.failed


def main():
    parse = argparse.ArgumentParser()
    parse.add_argument("utfeed", type=os.path.abspath)
    parse.add_argument("--seconds", type=float, default=60)
    parse.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10 ** 6))
    parse.add_argument("--clients", type=int, default=64)
    parse.add_argument("--store", action="append", choices=STORES)
    parse.add_argument("--kind", action="append", choices=sorted(KINDS), help="of origin.py's answers; repeat it for several")
    parse.add_argument("--go-on", action="store_true", help="after a round that failed too")
    options = parse.parse_args()
    logging.getLogger("asyncio").setLevel(logging.ERROR)    # that a peer is gone is no news
    folder = tempfile.mkdtemp(prefix="utfeed-stress-")
    failed = 1
    try:
        failed = Run(options, folder).all()
    finally:
        if failed:
            print(f"left in {folder}\nagain: {shlex.join([sys.executable, __file__, '--seed', str(options.seed), *sys.argv[1:]])}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(failed > 0)


main()
