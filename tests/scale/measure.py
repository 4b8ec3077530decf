#!/usr/bin/env python3
"""Measures what the model's events cost on this machine, and writes measured.json: processor time of utfeed and of a redis-server, commands and
bytes between them, and what an entry takes in the memory of each.

usage: UTFEED=BINARY measure.py [FILE]"""
import json
import os
import socket
import socketserver
import statistics
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

from proxy import Utfeed
from stores import Redis

ROUNDS = 3
COUNT = {1_000: 2000, 20_000: 1500, 200_000: 400}
WORDS = "the a feed reader of news and from machine many where last week new office city water light people story number".split()


def feed(size):
    """A feed of about that size, with text that is packed about as texts are."""
    import random
    rng, items = random.Random(size), []
    while sum(map(len, items)) < size - 200:
        items.append(b"<item><title>%s</title><guid>%d</guid><description>%s</description></item>" % (
            rng.choice(WORDS).encode(), len(items), " ".join(str(rng.randrange(10 ** 6)) if rng.random() < .3 else rng.choice(WORDS) for _ in range(25)).encode()))
    return b'<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>A feed</title>' + b"".join(items) + b"</channel></rss>"


class Origin(socketserver.ThreadingTCPServer):
    daemon_threads, allow_reuse_address, request_queue_size = True, True, 128
    body = b""

    class RequestHandlerClass(socketserver.StreamRequestHandler):
        def handle(self):
            while self.rfile.readline():
                while self.rfile.readline() not in (b"\r\n", b""):
                    pass
                body = self.server.body
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\nETag: \"1\"\r\nCache-Control: max-age=3600\r\n"
                                 b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.RequestHandlerClass)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def ask(port, paths):
    """Each path, one after the other, on one connection."""
    with socket.create_connection(("127.0.0.1", port)) as sock, sock.makefile("rb") as stream:
        for path in paths:
            sock.sendall(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % path.encode())
            assert stream.readline().startswith(b"HTTP/1.1 200"), path
            length = None
            while (line := stream.readline()) != b"\r\n":
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                chunked = name.lower() == b"transfer-encoding"
            if length is None:
                while size := int(stream.readline(), 16):
                    stream.read(size + 2)
                stream.readline()
            else:
                stream.read(length)


def processor_us(pid):
    """Of all threads so far."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1000


def resident(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:")) * 1024


class Watch:
    """What a step made of the processors, commands and bytes, for each of count events."""

    def __init__(self, server, utfeed):
        self.server, self.utfeed = server, utfeed

    def now(self):
        rows = dict(line.split(":", 1) for line in self.server.ask("INFO", "ALL").decode().splitlines() if ":" in line)
        calls = sum(int(value.split(",")[0].split("=")[1]) for name, value in rows.items() if name.startswith("cmdstat_") and name != "cmdstat_info")
        return {"cpu_us": processor_us(self.utfeed.process.pid), "store_cpu_us": processor_us(self.server.process.pid), "operations": calls,
                "bytes": int(rows["total_net_input_bytes"]) + int(rows["total_net_output_bytes"]), "store_memory": int(rows["used_memory"]),
                "memory": resident(self.utfeed.process.pid), "time": time.monotonic()}

    def step(self, count, what, idle=None):
        """idle: what a second of nothing costs, which is taken off."""
        before = self.now()
        what()
        after = self.now()
        found = {name: after[name] - before[name] for name in before}
        return {name: (value - (idle or {}).get(name, 0) * found["time"]) / count for name, value in found.items()}


def settled(utfeed):
    """All that was asked of the store is done."""
    with socket.create_connection(("127.0.0.1", utfeed.port)) as sock:
        sock.sendall(b"PURGE /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        while sock.recv(4096):
            pass


def least(found, event, row):
    """Of several rounds: others of this machine only add."""
    before = found.setdefault(event, row)
    found[event] = {name: min(value, before[name]) for name, value in row.items()}


def one(size, count, folder, origin):
    """{event: figures for one}"""
    origin.body, found = feed(size), {}
    for lease in ("10s", "0") * ROUNDS:
        server = Redis("redis-server", folder)
        options = ("--route", f"/=http://127.0.0.1:{origin.server_address[1]}", "--cache-redis", f"127.0.0.1:{server.port}", "--access-log", "off",
                   "--workers", "1", "--purge-allow", "127.0.0.1", "--cache-bytes", "1g", "--refresh-hot", "0", "--fill-lease", lease)
        first, second = Utfeed(*options), Utfeed(*options)
        try:
            paths = [f"/{number}" for number in range(count)]
            for each in (first, second):
                settled(each)
                ask(each.port, [f"/warm{number}" for number in range(count // 2)])
            watch, other = Watch(server, first), Watch(server, second)
            idle = watch.step(1, lambda: time.sleep(2))
            idle = {name: value / 2 for name, value in idle.items() if name in ("cpu_us", "store_cpu_us", "operations", "bytes")}
            fill = watch.step(count, lambda: (ask(first.port, paths), settled(first)), idle)
            if lease == "0":
                least(found, "fill", fill)
                continue
            least(found, "lease and fill", fill)
            least(found, "idle, a second", idle)
            least(found, "second hit", other.step(count, lambda: (ask(second.port, paths), settled(second)), idle))
            least(found, "hit", watch.step(4 * count, lambda: ask(first.port, paths * 4), idle))
        finally:
            for each in (first, second):
                each.stop()
            server.stop()
    found["lease"] = {name: found["lease and fill"][name] - found["fill"][name] for name in found["fill"]}
    return found


def main():
    figures, origin = {}, Origin()
    for size, count in COUNT.items():
        with tempfile.TemporaryDirectory() as folder:
            figures[size] = one(size, count, folder, origin)
            for event, row in figures[size].items():
                print(size, event, {name: round(value, 2) for name, value in row.items() if name != "time"}, flush=True)
    lookup = {size: {name: rows["second hit"][name] for name in ("store_cpu_us", "bytes", "operations")} for size, rows in figures.items()}

    def table(event, name):
        return {str(size): round(max(0, rows[event][name]), 2) for size, rows in figures.items()}

    def lease(name):            # whatever the size
        return {str(size): round(statistics.median(rows["lease"][name] for rows in figures.values()), 2) for size in figures}
    made = {
        "machine": next(line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="ascii") if line.startswith("model name")),
        "cpu_us": {**{event: table(event, "cpu_us") for event in ("hit", "second hit", "fill")}, "lease": lease("cpu_us")},
        "store_cpu_us": {"get": {str(size): round(row["store_cpu_us"], 2) for size, row in lookup.items()}, "put": table("fill", "store_cpu_us"),
                         "lease": lease("store_cpu_us"),
                         "learn": round(statistics.median(rows["idle, a second"]["store_cpu_us"] / 20 for rows in figures.values()), 2)},
        "store_bytes": {"get": {str(size): round(row["bytes"]) for size, row in lookup.items()}, "put": table("fill", "bytes"), "lease": lease("bytes")},
        "store_operations": {"second hit": table("second hit", "operations"), "fill": table("fill", "operations"), "lease": lease("operations")},
        "memory": table("lease and fill", "memory"), "store_memory": table("lease and fill", "store_memory"),
        "figures": figures}
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "measured.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(made, file, indent=1)


if __name__ == "__main__":
    main()
