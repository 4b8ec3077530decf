"""Part 4: what is fetched for every request and needs no transcoding, beside nginx passing it on: feeds in UTF-8, pages, pictures, in every
size, by few and many clients, in both layouts of the heap (layouts.py)."""
import contextlib
import itertools
import time

import drive
import layouts
import results
import servers
from results import against, limit

NGINX = "nginx proxy_pass"
# The table: times better, by kind and size
BARS = {"feed": {"2 KB": 1, "20 KB": 1.5, "60 KB": 1.5, "200 KB": 2, "5 MB": 1.5},
        "html": {"2 KB": 1, "20 KB": 1.5, "60 KB": 1.5, "200 KB": 2, "5 MB": 1.75}}
BARS["jpeg"] = BARS["html"]
SMOKE = (("feed", "2 KB", 16), ("jpeg", "200 KB", 16))
LATER_SECONDS = 10
GROWTH_MB = 4
URLS = 1_000_000                    # no feed comes twice


def what(kind, size, connections, layout):
    return f"{layouts.KINDS[kind][0]} {size}, c = {connections}, {layout}"


def rows(setup, layout):
    found = SMOKE if setup.quick else itertools.product(layouts.KINDS, layouts.SIZES, layouts.CONNECTIONS)
    return [row for row in found if setup.wanted(what(*row, layout))]


def contenders(setup):
    return [(results.OURS, None, servers.utfeed(setup.utfeed)), (NGINX, "nginx", servers.nginx_default())]


def passing(setup, origin):
    table = results.Table("misses2", "CPU per miss, passed on", "us", text="nothing stored, nothing to convert; fresh: a process for each "
                          "measurement; aged: one that has served 10,000 mixed requests; nginx has its default buffers")
    for layout in layouts.LAYOUTS:
        for (kind, size, count), _, server in layouts.turns(setup, origin, contenders(setup), layout, rows(setup, layout)):
            drive.attempt(setup, server, lambda server=server, kind=kind, size=size: server.get(layouts.path(kind, size)))
            options = "-c", count, "-N", layouts.requests(setup, size, count), "-n", URLS
            figures = drive.attempt(
                setup, server, lambda server=server, kind=kind, size=size, options=options: drive.run(setup, server, layouts.path(kind, size), *options))
            if figures:
                table.row(what(kind, size, count, layout), "less", [against(NGINX, BARS[kind][size])],
                          kind + size).add(server.name, figures["cpu"])
    return table


def after_load(setup, server):
    """Bytes over those at start: as the load ends, its connections still open, and later."""
    start = server.memory()
    sizes, counts = (("2 KB", "200 KB"), (16,)) if setup.quick else (layouts.SIZES, (64, 200))
    for kind, size, count in itertools.product(layouts.KINDS, sizes, counts):
        drive.run(setup, server, layouts.path(kind, size), "-c", count, "-N", layouts.requests(setup, size, count))
    ended = server.memory()
    time.sleep(0 if setup.quick else LATER_SECONDS)
    return ended - start, server.memory() - start


def memory(setup, origin):
    table = results.Table("misses2", "Memory over start, misses of every kind and size", "MB",
                          text="64 and 200 connections; proportional set size of a process that was fresh; its caches hold nothing")
    if setup.wanted("Memory"):
        for contender in contenders(setup):
            with layouts.running(setup, origin, [contender], "fresh") as found:
                for server in found.values():
                    sizes = drive.attempt(setup, server, lambda server=server: after_load(setup, server))
                    if sizes:
                        table.row("as the load ends", "less").add(server.name, sizes[0] / 1e6)
                        table.row(f"{LATER_SECONDS} s later", "less", [limit(GROWTH_MB)]).add(server.name, sizes[1] / 1e6)
    return table


def run(setup):
    with contextlib.ExitStack() as stack:
        origin = stack.enter_context(setup.origin(layouts.origin_files(setup)))
        yield passing(setup, origin)
        yield memory(setup, origin)
