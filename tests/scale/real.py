#!/usr/bin/env python3
"""The model held against four utfeeds, a redis-server and a scripted origin on this machine.

usage: UTFEED=BINARY real.py [--seconds N] [--rate N] [--feeds N] [--leases on|off] [--seed N]
Polls are drawn from a seed; the model is given them with the times at which they were sent. Exit status 0 if hit ratio and origin requests are
within BAR of the model, else 1. With leases off, utfeeds run with fill-lease = 0."""
import argparse
import asyncio
import os
import random
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]

import model
import workload
from model import ORIGIN, Fleet, Lru
from proxy import Utfeed
from stores import Redis

BAR = .1
INSTANCES, CONNECTIONS, MEMORY = 4, 8, 4 << 20
LIFETIMES = {0: 3, 2: 10, 4: 20, 8: 30, 30: 37}
ENTRY = 2_000                       # bytes in memory beside the feed
BURST = .2                          # of polls: all instances are asked for the feed at once
LATENCY = .005


class Origin:
    """Feeds, each with the lifetime of its row; a body is another when an update came."""

    def __init__(self, feeds):
        self.feeds, self.asked, self.began, self.server, self.port = feeds, 0, 0, None, 0

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=512)
        self.port = self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        try:
            while True:
                line, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                writer.write(await self.answer(int(line.split(" ")[1][1:]), dict(each.lower().split(": ", 1) for each in lines if each)))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def answer(self, number, fields):
        self.asked += 1
        await asyncio.sleep(LATENCY)
        feed = self.feeds[number]
        tag = f'"{sum(update <= time.time() - self.began for update in feed.updates)}"'
        head = f"ETag: {tag}\r\nCache-Control: max-age={feed.lifetime.named}\r\n"
        if fields.get("if-none-match") == tag:
            return f"HTTP/1.1 304 Not Modified\r\n{head}\r\n".encode()
        body = f'<?xml version="1.0"?><rss version="2.0"><channel><title>{number} {tag[1:-1]}</title>'.ljust(feed.size) + "</channel></rss>"
        return f"HTTP/1.1 200 OK\r\n{head}Content-Type: application/rss+xml\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


class Client:
    """Connections to one utfeed."""

    def __init__(self, port):
        self.port, self.free = port, asyncio.LifoQueue()

    async def start(self):
        for _ in range(CONNECTIONS):
            self.free.put_nowait(await asyncio.open_connection("127.0.0.1", self.port))

    async def get(self, path, reload):
        """(when it was sent, whether it was a hit)"""
        reader, writer = connection = await self.free.get()
        sent = time.time()
        writer.write(f"GET {path} HTTP/1.1\r\nHost: a\r\n{'Cache-Control: no-cache' + chr(13) + chr(10) if reload else ''}\r\n".encode())
        status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines if line)
        assert " 200 " in status, status
        if "content-length" in fields:
            await reader.readexactly(int(fields["content-length"]))
        else:
            while (size := int(await reader.readuntil(b"\r\n"), 16)) or await reader.readexactly(2) is None:
                await reader.readexactly(size + 2)
        self.free.put_nowait(connection)
        return sent, "fwd=" not in fields["cache-status"]


def feeds_of(rng, count, seconds):
    readers_of = workload.popularity(count, 20 * count, 1.)
    return [workload.Feed(rank, 1., readers_of(rank + 1), 4_000, workload.Lifetime(workload.drawn(rng, LIFETIMES), ()), True,
                          sorted(rng.uniform(0, seconds) for _ in range(rng.randrange(4))), (), 0) for rank in range(count)]


def polls_of(rng, feeds, rate, seconds, bursts):
    """(time, feed's number, instance, no-cache)"""
    time_, found, weights = 0., [], [feed.readers for feed in feeds]
    drawn = iter(rng.choices(range(len(feeds)), weights, k=int(2 * rate * seconds) + 100))
    while (time_ := time_ + rng.expovariate(rate)) < seconds:
        number = next(drawn)
        if bursts and rng.random() < BURST / INSTANCES:
            found.extend((time_, number, instance, False) for instance in range(INSTANCES))
        else:
            found.append((time_, number, rng.randrange(INSTANCES), rng.random() < workload.NO_CACHE))
    return found


async def play(polls, clients, began):
    """The polls as they went: (time, number, instance, no-cache, whether it was a hit)."""
    async def one(due, number, instance, reload):
        await asyncio.sleep(max(0, began + due - time.time()))
        sent, hit = await clients[instance].get(f"/{number}", reload)
        return sent, number, instance, reload, hit
    tasks = []
    for poll in polls:
        while time.time() < began + poll[0] - .5:
            await asyncio.sleep(.1)
        tasks.append(asyncio.create_task(one(*poll)))
    return await asyncio.gather(*tasks)


async def run(asked, folder):
    rng = random.Random(asked.seed)
    feeds = feeds_of(rng, asked.feeds, asked.seconds)
    polls = polls_of(rng, feeds, asked.rate, asked.seconds, asked.leases == "on")
    origin, server = Origin(feeds), Redis("redis-server", folder)
    await origin.start()
    lease = () if asked.leases == "on" else ("--fill-lease", "0")
    utfeeds = [Utfeed("--route", f"/=http://127.0.0.1:{origin.port}", "--cache-redis", f"127.0.0.1:{server.port}", "--cache-bytes", str(MEMORY),
                      "--access-log", "off", *lease) for _ in range(INSTANCES)]
    try:
        clients = [Client(each.port) for each in utfeeds]
        for client in clients:
            await client.start()
        await asyncio.sleep(1)      # all are connected with the server
        origin.began = time.time() + 1
        went = await play(polls, clients, origin.began)
        return feeds, went, origin, sum(each.counters()["second_hits"] for each in utfeeds)
    finally:
        for each in utfeeds:
            each.stop()
        server.stop()


def modelled(feeds, went, began, leases):
    """What the model makes of polls that were sent at those times. Freshness counts whole seconds of the wall clock."""
    fleet = Fleet(INSTANCES, MEMORY, leases=leases, pauses=leases, reload_floor=10)
    shifted = [feed._replace(updates=[began + update for update in feed.updates]) for feed in feeds]
    return model.replay(((int(sent), shifted[number], instance, reload) for sent, number, instance, reload, _ in sorted(went)), fleet,
                        Lru(MEMORY * 4_000 // (4_000 + ENTRY)))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    for name, value in (("seconds", 30), ("rate", 300), ("feeds", 1500), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--leases", choices=("on", "off"), default="on")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        feeds, went, origin, second = asyncio.run(run(asked, folder))
    tally = modelled(feeds, went, origin.began, asked.leases == "on")
    rows = {"hit ratio": (sum(hit for *_, hit in went) / len(went), sum(tally[word] for word in ("memory", "store", "kept")) / len(went)),
            "origin requests": (origin.asked, sum(tally[word] for word in ORIGIN))}
    print(f"lookups in the second store that found an entry, stale or not: {second}; fresh by the model: {tally['store']:.0f}")
    print(f"scale: {len(went)} polls of {len(feeds)} feeds at {INSTANCES} utfeeds, leases {asked.leases}, seed {asked.seed}: {dict(tally)}")
    worst = 0
    for name, (real, by_model) in rows.items():
        worst = max(worst, abs(real / by_model - 1))
        print(f"{name:20} real {real:12,.4f}   model {by_model:12,.4f}   {100 * (real / by_model - 1):+.1f} %")
    print(f"{'holds' if worst <= BAR else 'DOES NOT HOLD'}: within {BAR:.0%} of the model")
    return worst > BAR


if __name__ == "__main__":
    sys.exit(main())
