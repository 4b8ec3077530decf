"""Part 2: answers from the cache, beside nginx and Varnish."""
import contextlib
import http.client
import os
import random
import subprocess
import sys
import time

import drive
import quota
import results
import servers
import texts
from results import against, limit

SIZES = ((1, "1 KB"), (16, "16 KB"), (100, "100 KB"), (1024, "1 MB"))
OFF = "nginx, tcp_nopush off"
UNWATCHED = "without admin-listen"
IDLE = 10000
RATE_SECONDS = 5
SETTLE_SECONDS = 3                  # idle means that long: servers keep buffers a while for the next request

# The table: what utfeed is held to, by size
CPU_BARS = {"1 KB": [against("nginx", 1.5)], "16 KB": [against("nginx", 1.2)]}
RATE_BARS = {"1 KB": [against("nginx", 1.3)], "16 KB": [against("nginx", 1.15)], "100 KB": [against(OFF, 1)], "1 MB": [against("Varnish", 1)]}
P99_BARS = {"1 KB": [against("nginx", 1)], "16 KB": [against("nginx", 1)]}
CLOSE_BARS = [against("nginx", 1.1)]
WATCHED_BARS = [against(UNWATCHED, .97)]
LISTED = (10_000, 1_000_000)
WATCHED_SLICES = 20                 # a difference of a hundredth is looked for: many short turns
FULL = .95                          # of a processor: what uses that much is the limit
HELD = .4                           # of a processor: closing connections, the load keeps up with every server then


def origin_files(setup):
    folder = os.path.join(setup.folder, "bodies")
    os.makedirs(folder, exist_ok=True)
    rng = random.Random(1)
    bodies = {f"{size}k": ("application/octet-stream", rng.randbytes(size * 1024)) for size, _ in SIZES}
    for name, size in (("small", 1_000), ("feed", 20_000), ("unstored", 200_000)):
        bodies[name] = ("application/rss+xml", texts.feed(texts.find("ru", "utf-8"), size)[0])
    for name, (kind, body) in bodies.items():
        control = "no-store" if name == "unstored" else "max-age=86400"
        servers.write(folder, name + ".head", f"Content-Type: {kind}\r\nCache-Control: {control}\r\n")
        with open(os.path.join(folder, name), "wb") as out:
            out.write(body)
    return folder


def warm(setup, running, path):
    for server in running.values():
        for _ in range(3):
            drive.attempt(setup, server, lambda server=server: server.get(path))


def interleaved(setup, running, path, *options, **how):
    """Yields (server's name, figures), in turns (drive.turns())."""
    warm(setup, running, path)
    for name, seconds in drive.turns(setup, list(running), **how):
        server = running[name]
        figures = drive.attempt(setup, server, lambda: drive.run(setup, server, path, *options, seconds=seconds))
        if figures:
            yield name, figures


def keep_alive(setup, running):
    text = "64 connections, keep-alive"
    cpu = results.Table("hits", "CPU per hit", "us", text=text)
    rate = results.Table("hits", "Hits", "requests/s", text=text)
    p99 = results.Table("hits", "p99 at full load", "ms", text=text)
    for size, name in SIZES:
        for server, figures in interleaved(setup, running, f"/{size}k"):
            cpu.row(name, "less", CPU_BARS.get(name, [])).add(server, figures["cpu"])
            rate.row(name, "more", RATE_BARS.get(name, [])).add(server, figures["rate"])
            p99.row(name, "less", P99_BARS.get(name, [])).add(server, figures["p99"] / 1000)
    for server, figures in interleaved(setup, running, "/1k", "-p", 16):
        cpu.row("1 KB, 16 pipelined", "less").add(server, figures["cpu"])
        rate.row("1 KB, 16 pipelined", "more").add(server, figures["rate"])
    return [cpu, rate, p99]


def closing(setup, running):
    """64 clients, a connection for each request. It costs the load more of its processor than most servers of theirs: with a processor each
    the load limits the rate. A server that gets less of its own (a CPU limit, as containers have) limits it itself."""
    table = results.Table("hits", "Connection: close", results.AS_SAID, text=closing.__doc__)

    def measure(said):
        for size, name in SIZES[0::2]:
            cpu = table.row(f"{name}{said}, us of CPU a request", "less", CLOSE_BARS)
            rate = table.row(f"{name}{said}, requests/s", "more", CLOSE_BARS)
            load = table.row(f"{name}{said}, the load's share of a processor", "less")
            for server, figures in interleaved(setup, running, f"/{size}k", "-k"):
                cpu.add(server, figures["cpu"])
                rate.add(server, figures["rate"])
                load.add(server, figures["load_share"])
            if (load.median(results.OURS) or 0) > FULL:
                rate.because = "the load is the limit"

    measure("")
    with contextlib.ExitStack() as stack:
        try:
            for server in running.values():
                stack.enter_context(quota.held(server.pids(), HELD))
        except OSError as error:
            setup.absent.append(f"servers cannot be held to a share of a processor ({error}): no rows of closing connections so")
        else:
            measure(f", {HELD:.0%} of a processor")
    return table


def latency(setup, running, rates):
    table = results.Table("hits", "Latency at half of the peak rate", "ms",
                          text="1 KB, requests due at a fixed rate, half of what the server reached above; from when each was due")
    warm(setup, running, "/1k")
    for _ in range(setup.rounds):
        for name, server in running.items():
            peak = rates.row("1 KB", "more").median(name)
            seconds = setup.seconds if setup.quick else RATE_SECONDS
            figures = peak and drive.attempt(
                setup, server, lambda server=server, rate=int(peak / 2): drive.run(setup, server, "/1k", "-r", rate, seconds=seconds))
            if not figures:
                continue
            for what, bars in (("p50", []), ("p99", []), ("p999", [limit(5)])):
                table.row(what.replace("p999", "p99.9"), "less", bars).add(name, figures[what] / 1000)
    return table


def growth(setup, origin):
    """Cost of a hit with more and more objects stored, and with more and more connections open."""
    stored = results.Table("hits", "CPU per hit by stored objects", "us", text="1 KB each, asked for in scattered order by 64 connections")
    opened = results.Table("hits", "CPU per hit by open connections", "us", text="1 KB; 64 connections busy, the rest idle")
    counts = (1, 100, 1000) if setup.quick else (1, 10, 100, 1000, 10000, 100000)
    for what, table, counts in (("stored", stored, counts), ("open", opened, (64, 200) if setup.quick else (64, 100, 1000, IDLE))):
        with contextlib.ExitStack() as stack:
            running = setup.start(stack, origin, contenders(setup)[:2])
            for count in counts:
                if what == "stored":
                    for server in running.values():
                        drive.attempt(setup, server, lambda server=server, count=count: drive.run(setup, server, "/1k", "-N", count, "-n", count))
                options = ("-n", count) if what == "stored" else ("-i", count - 64)
                for server, figures in interleaved(setup, running, "/1k", *options, seconds=setup.seconds / 2):
                    table.row(f"{count:,}", "less").add(server, figures["cpu"])
    return [stored, opened]


def footprint(setup, server, idle):
    """(bytes at start, bytes that so many idle connections add)."""
    start = server.memory()
    warm(setup, {server.name: server}, "/1k")
    before = server.memory()
    with drive.started(setup, server, "/1k", "-c", 1, "-i", idle):
        time.sleep(0 if setup.quick else SETTLE_SECONDS)
        return start, server.memory() - before


def memory(setup, origin):
    idle = 200 if setup.quick else IDLE
    table = results.Table("hits", "Memory", "MB", text="proportional set size of all its processes, no other server running")
    company = set()
    for _ in range(setup.rounds):
        for row in contenders(setup):
            if row[0] == OFF:
                continue
            with contextlib.ExitStack() as stack:
                for name, server in setup.start(stack, origin, [row]).items():
                    company |= server.sharers("libcrypto")
                    sizes = drive.attempt(setup, server, lambda server=server: footprint(setup, server, idle))
                    if sizes:
                        table.row("at start", "less", [limit(6)]).add(name, sizes[0] / 1e6)
                        table.row(f"{idle:,} idle connections, over start", "less", [limit(10)]).add(name, sizes[1] / 1e6)
    if company:
        table.text += f"; but OpenSSL was shared with {', '.join(sorted(company))}, and less of it counted"
    return table


def workers(setup, origin):
    """One worker has the first core, two have both; the load is on the second. What is not stored is compressed for each client,
    which costs the server many times what it costs the load and the origin: they leave room for two workers. For hits they leave none:
    there CPU a request says how far two workers hinder each other."""
    table = results.Table("hits", "Two workers beside one", results.AS_SAID, text=workers.__doc__)
    running = {}
    with contextlib.ExitStack() as stack:
        for count in (1, 2):
            running[count] = stack.enter_context(servers.Server(
                f"utfeed, {count} workers", servers.utfeed(setup.utfeed, "--workers", str(count), "--cache-bytes", "64m"), setup.folder, origin.port,
                servers.PROCESSORS[:count]))
        for path, options, what, bars in (
                ("/unstored", ("-c", 16, "-n", 1000, "-l", "-H", "Accept-Encoding: gzip"), "200 KB feed as gzip, not stored", [against("1 worker", 1.7)]),
                ("/feed", ("-l", "-H", "Accept-Encoding: gzip"), "20 KB feed as gzip, hits", []), ("/1k", (), "1 KB, hits", [])):
            for count, figures in interleaved(setup, running, path, *options):
                name = results.OURS if count == 2 else "1 worker"
                table.row(f"{what}, requests/s", "more", bars).add(name, figures["rate"])
                table.row(f"{what}, us of CPU a request", "less").add(name, figures["cpu"])
                table.row(f"{what}, the load's share of a processor", "less").add(name, figures["load_share"])
    return table


@contextlib.contextmanager
def scraped(port):
    """A process beside the load that asks for /metrics each second, as Prometheus might."""
    program = (f"import http.client, time\nwhile True:\n    asked = http.client.HTTPConnection('127.0.0.1', {port}, timeout=10)\n"
               "    asked.request('GET', '/metrics')\n    assert asked.getresponse().read()\n    time.sleep(1)\n")
    process = subprocess.Popen([sys.executable, "-c", program], preexec_fn=servers.pin((servers.LOAD_CPU,)))
    try:
        yield
        if process.poll() is not None:
            raise RuntimeError(f"asking for /metrics ended: {process.returncode}")
    finally:
        process.kill()
        process.wait()


def watched(setup, origin):
    """What an answer costs more where it is counted for the admin listener and put into the list of feeds, the scrapes' own cost included.
    64 connections, keep-alive."""
    table = results.Table("hits", "CPU per hit, /metrics scraped each second", "us", text=watched.__doc__)
    port = servers.free_port()
    with contextlib.ExitStack() as stack:
        running = setup.start(stack, origin, [
            (results.OURS, None, servers.utfeed(setup.utfeed, "--cache-bytes", "1g", "--admin-listen", f"127.0.0.1:{port}")),
            (UNWATCHED, None, servers.utfeed(setup.utfeed, "--cache-bytes", "1g"))])
        stack.enter_context(scraped(port))
        for path, what in (("/1k", "1 KB"), ("/feed", "20 KB feed")):
            for server, figures in interleaved(setup, running, path, slices=WATCHED_SLICES):
                table.row(what, "less", WATCHED_BARS).add(server, figures["cpu"])
    return table


def slowest(port, path):
    """Milliseconds until a page of the admin listener is there, of five times the longest."""
    took = []
    for _ in range(5):
        began = time.perf_counter()
        asked = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        asked.request("GET", path)
        answer = asked.getresponse()
        if not answer.read() or answer.status != 200:
            raise RuntimeError(f"{path} answers {answer.status}")
        asked.close()
        took.append(time.perf_counter() - began)
    return max(took) * 1e3


def listed(setup, origin):
    """The list of feeds (admin-feeds 10,000) after so many different ones were asked for; nothing is stored. A page's time is the longest of
    five; the memory is what all of utfeed grew by since the first answer."""
    table = results.Table("hits", "List of feeds", results.AS_SAID, text=listed.__doc__)
    port = servers.free_port()
    with contextlib.ExitStack() as stack:
        running = setup.start(stack, origin, [
            (results.OURS, None, servers.utfeed(setup.utfeed, "--cache", "off", "--admin-listen", f"127.0.0.1:{port}"))])
        warm(setup, running, "/small")
        server = running[results.OURS]
        before = server.memory()
        for count in (100, 1000) if setup.quick else LISTED:
            drive.run(setup, server, "/small", "-N", count, "-n", count, "-p", 16)
            table.row(f"{count:,} feeds, memory (MB)", "less", [limit(8)]).add(results.OURS, (server.memory() - before) / 1e6)
            for path in ("/", "/feeds", "/feeds?sort=url&search=99", "/api/feeds"):
                table.row(f"{count:,} feeds, {path} (ms)", "less", [limit(50)]).add(results.OURS, slowest(port, path))
    return table


def contenders(setup):
    return [
        (results.OURS, None, servers.utfeed(setup.utfeed, "--cache-bytes", "1g")),
        ("nginx", "nginx", servers.nginx_cache("on")),
        (OFF, "nginx", servers.nginx_cache("off")),
        ("Varnish", "varnishd", servers.varnish()),
    ]


def run(setup):
    with contextlib.ExitStack() as stack:
        origin = stack.enter_context(setup.origin(origin_files(setup)))
        with contextlib.ExitStack() as inner:
            running = setup.start(inner, origin, contenders(setup))
            tables = keep_alive(setup, running)
            yield from tables
            yield closing(setup, running)
            yield latency(setup, running, tables[1])
        yield watched(setup, origin)
        yield listed(setup, origin)
        yield from growth(setup, origin)
        yield memory(setup, origin)
        yield workers(setup, origin)
