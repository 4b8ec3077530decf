"""Part 4: what keeps a worker from serving anybody else meanwhile, by the worker's own measure of its turns; and hits of a second store."""
import contextlib
import gzip
import http.client
import os
import random
import shutil
import subprocess
import time

import drive
import results
import servers
import texts
import turns
from results import against, limit

LONG = 5_000_000
BARS = [limit(turns.BARRED_MS)]
AGAIN = 15                          # then it is packed to a fiftieth, within what decode-ratio allows
LEFT = .1                           # of the memory that objects took, when they have been purged
GIVEN_BACK_SECONDS = 10
HITS_A_SECOND = 1000
OBJECTS = 1_000_000

# (what, of which URL, in the words of X-Purge, whether the objects go)
PURGES = (
    ("a prefix of none", "/nothing", "prefix", False), ("a prefix of all", "/1k", "prefix", True), ("the host", "/1k", "host", True),
    ("all, softly", "/1k", "all, soft", False), ("all", "/1k", "all", True),
)


def feed(size):
    """Of windows-1251, no item like another: what repeats itself is packed to next to nothing."""
    rng, item, parts = random.Random(7), 0, ['<?xml version="1.0" encoding="windows-1251"?>\n<rss version="2.0">\n <channel>\n  <title>Новости</title>\n']
    while size > 0:
        parts.append(texts.item(rng, "ru", item))
        size -= len(parts[-1])
        item += 1
    return ("".join(parts) + " </channel>\n</rss>\n").encode("cp1251")


def by_tool(*command):
    return lambda data: subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


# (coding, what is said of it, what packs, the program it takes)
CODINGS = (
    (None, "uncoded", bytes, None),
    ("gzip", "gzip", lambda data: gzip.compress(data, 6), None),
    ("br", "br", by_tool("brotli", "-q", "5", "-w", "20", "-c"), "brotli"),
    ("br", "br, window of 16 MiB", by_tool("brotli", "-q", "5", "-w", "24", "-c"), "brotli"),
    ("zstd", "zstd", by_tool("zstd", "-q", "-3", "-c"), "zstd"),
    ("zstd", "zstd, window of 8 MiB", by_tool("zstd", "-q", "--zstd=wlog=23", "-c"), "zstd"),
)


def write(folder, name, body, kind, control, *fields):
    servers.write(folder, name + ".head", "".join(f"{line}\r\n" for line in (f"Content-Type: {kind}", f"Cache-Control: {control}", *fields)))
    with open(os.path.join(folder, name), "wb") as out:
        out.write(body)


def bodies():
    rng = random.Random(1)
    yield "feed", "a feed", feed(LONG), "application/rss+xml"
    yield "plain", "untouched text", " ".join(rng.choices(texts.WORDS["en"], k=LONG // 7)).encode(), "text/plain"
    lines = (" ".join(rng.choices(texts.WORDS["en"], k=400)) + "\n" for _ in range(LONG // 3000 // AGAIN))
    yield "again", "untouched text that repeats itself", "".join(line * AGAIN for line in lines).encode(), "text/plain"


def coded_files(setup, folder):
    """(file, what it is) of every long body in every coding; unstored."""
    cases = []
    for name, what, body, kind in bodies():
        for number, (coding, said, pack, needs) in enumerate(CODINGS):
            if needs and not shutil.which(needs):
                setup.absent.append(f"{needs} is not installed: no rows of what it packs")
                continue
            path = f"{name}{number}"
            write(folder, path, pack(body), kind, "no-store", *((f"Content-Encoding: {coding}",) if coding else ()))
            cases.append((path, f"{what}, {said}"))
    return cases


def origin_files(setup):
    folder = os.path.join(setup.folder, "stalls")
    os.makedirs(folder, exist_ok=True)
    rng = random.Random(2)
    for size in (1, 16):
        write(folder, f"{size}k", rng.randbytes(size * 1024), "application/octet-stream", "max-age=86400")
    write(folder, "hit", rng.randbytes(1024), "application/octet-stream", "max-age=86400")
    write(folder, "stored", feed(LONG), "application/rss+xml", "max-age=86400")
    write(folder, "stale", feed(LONG), "application/rss+xml", "max-age=0", 'ETag: "a"')
    return folder, coded_files(setup, folder)


def watched(setup, stack, origin, name, *options):
    return stack.enter_context(turns.Watched(name, setup.utfeed, setup.folder, origin.port, *options))


def transfers(setup, origin, cases):
    """5 MB, by one client and by four at a time; clients take no coding but where gzip is said."""
    table = results.Table("stalls", "Longest turn of the loop, a transfer of 5 MB", "ms", text=transfers.__doc__)
    count = 2 if setup.quick else 12
    ways = [("/" + path, what, ()) for path, what in cases]
    ways += [("/feed0", "a feed, uncoded, gzip to the client", ("-H", "Accept-Encoding: gzip", "-l")),
             ("/stored", "a stored feed, gzip to the client", ("-H", "Accept-Encoding: gzip", "-l")),
             ("/stored?1", "a stored feed", ()), ("/stale", "a feed that is confirmed each time", ()),
             ("/stale?1", "a feed that is confirmed each time, gzip to the client", ("-H", "Accept-Encoding: gzip", "-l"))]
    ways = [way for way in ways if setup.wanted(f"{table.title}, {way[1]}")]
    for _ in range(setup.rounds if ways else 0):
        with contextlib.ExitStack() as stack:
            server = watched(setup, stack, origin, "utfeed, long", "--cache-bytes", "256m", "--cache-object-max", "64m")
            for path, what, options in ways:
                before = server.turns()
                for clients in (1, 4):
                    drive.attempt(setup, server, lambda path=path, options=options, clients=clients: drive.run(
                        setup, server, path, "-c", clients, "-N", count, *options))
                table.row(what, "less", BARS).add(results.OURS, server.turns().longest_since(before))
    return table


def turnover(setup, origin):
    """Fresh URLs, each stored; the cache is filled five times over."""
    table = results.Table("stalls", "Longest turn of the loop, a cache that turns over", "ms", text=turnover.__doc__)
    for said, budget in (("64 MB", 64 << 20), ("512 MB", 512 << 20)):
        for size in (1, 16):
            what = f"{said}, objects of {size} KB"
            if not setup.wanted(f"{table.title}, {what}"):
                continue
            with contextlib.ExitStack() as stack:
                server = watched(setup, stack, origin, "utfeed, full", "--cache-bytes", str(budget))
                count = 500 if setup.quick else min(5 * budget // (size * 1024 + 2048), 400_000)
                before = server.turns()
                drive.attempt(setup, server, lambda count=count, size=size: drive.run(
                    setup, server, f"/{size}k", "-c", 16, "-N", count, "-n", count))
                table.row(what, "less", BARS).add(results.OURS, server.turns().longest_since(before))
    return table


def purge(server, path, how):
    """(the answer, how many milliseconds it took)"""
    connection, began = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60), time.monotonic()
    connection.request("PURGE", path, headers={"X-Purge": how})
    answer = connection.getresponse().read()
    connection.close()
    return answer, (time.monotonic() - began) * 1000


def beside(setup, server, path, how, seconds):
    """A PURGE in the midst of hits at a fixed rate: what the hits and the PURGE took, and the longest turn."""
    before = server.turns()
    with drive.started(setup, server, "/hit", "-c", 16, "-r", HITS_A_SECOND, "-d", seconds) as load:
        load.stdin.write(b"\n")
        load.stdin.flush()
        time.sleep(seconds / 4)
        answer, took = purge(server, path, how)
        figures = drive.figures(load)
    return figures, answer, took, server.turns().longest_since(before)


def fill(setup, server, path, count):
    drive.attempt(setup, server, lambda: drive.run(setup, server, path, "-c", 64, "-N", count, "-n", count))


def purging(setup, origin):
    """Objects of 1 KB, of which a PURGE takes away none or all, beside 1,000 hits a second on another URL; one worker."""
    count, seconds = (2000, 1) if setup.quick else (OBJECTS, 12)
    longest = results.Table("stalls", "Longest turn of the loop, a PURGE beside hits", "ms", text=purging.__doc__)
    told = results.Table("stalls", "A PURGE beside hits", results.AS_SAID, text=purging.__doc__)
    purges = [purge for purge in PURGES if setup.wanted(f"{longest.title}, {purge[0]} of {count:,} objects")]
    if not purges:
        return []
    with contextlib.ExitStack() as stack:
        server = watched(setup, stack, origin, "utfeed, purged", "--cache-bytes", "8g")
        server.get("/hit")
        empty = server.memory()
        for what, path, how, takes in purges:
            what = f"{what} of {count:,} objects"
            fill(setup, server, "/1k", count)
            full = server.memory()
            figures, answer, took, turn = beside(setup, server, path, how, seconds)
            setup.say(f"PURGE {how}: {answer!r} in {took:.0f} ms, turn {turn:.2f} ms, hits' p99.9 {figures['p999'] / 1000:.2f} ms")
            longest.row(what, "less", BARS).add(results.OURS, turn)
            told.row(f"{what}, hits' p99.9, ms", "less").add(results.OURS, figures["p999"] / 1000)
            told.row(f"{what}, the PURGE's answer, ms", "less").add(results.OURS, took)
            if takes:
                until = time.monotonic() + (0 if setup.quick else GIVEN_BACK_SECONDS - seconds * 3 / 4)
                while time.monotonic() < until:
                    time.sleep(.1)
                told.row(f"{what}, memory of an object, bytes", "less").add(results.OURS, (full - empty) / count)
                told.row(f"{what}, memory left {GIVEN_BACK_SECONDS} s later, of what they took", "less", [limit(LEFT)]).add(
                    results.OURS, (server.memory() - empty) / (full - empty))
            server.get("/hit")
    return [longest, told]


def second(setup, origin):
    """16 KB each, asked for in scattered order by 16 connections; memory holds few of them, nginx has its files in the page cache."""
    table = results.Table("stalls", "CPU per hit of what memory has no room for", "us", text=second.__doc__)
    count = 200 if setup.quick else 5000
    for memory in ("1m", "16m"):
        what = f"LMDB, cache-bytes {memory}"
        if not setup.wanted(f"{table.title}, {what}"):
            continue
        with contextlib.ExitStack() as stack:
            folder = os.path.join(setup.folder, "lmdb")
            shutil.rmtree(folder, ignore_errors=True)
            running = setup.start(stack, origin, [
                (results.OURS, None, servers.utfeed(setup.utfeed, "--cache-bytes", memory, "--cache-lmdb", folder, "--cache-lmdb-bytes", "512m")),
                ("nginx", "nginx", servers.nginx_cache("on")),
            ])
            for server in running.values():
                for _ in range(2):
                    fill(setup, server, "/16k", count)
            for name, wait in drive.turns(setup, list(running)):
                figures = drive.attempt(setup, running[name], lambda name=name, wait=wait: drive.run(
                    setup, running[name], "/16k", "-c", 16, "-n", count, seconds=wait))
                if figures:
                    table.row(what, "less", [against("nginx", 1)]).add(name, figures["cpu"])
    return table


def run(setup):
    folder, cases = origin_files(setup)
    with contextlib.ExitStack() as stack:
        origin = stack.enter_context(setup.origin(folder))
        yield transfers(setup, origin, cases)
        yield turnover(setup, origin)
        yield from purging(setup, origin)
        yield second(setup, origin)
