"""Part 5: what is fetched and kept, beside nginx's and Varnish's fill, in both layouts of the heap (layouts.py); a million small objects."""
import contextlib
import itertools
import os
import random
import time

import drive
import layouts
import results
import servers
from results import against, limit

NGINX, VARNISH = "nginx fill", "Varnish fill"
SIZES = ("2 KB", "20 KB", "200 KB", "5 MB")
KINDS = {"2 KB": ("feed",), "20 KB": ("feed",), "200 KB": ("feed", "jpeg"), "5 MB": ("feed",)}
SMOKE = (("feed", "2 KB", 16),)
TIMES = 2
MANY, FEW = 1_000_000, 1000
EACH_MAX = 1900                     # bytes of a stored object of 1 KB
DEARER = 1.2                        # a hit among many may be, beside one among few
FASTER = 3                          # than Varnish a million are filled
FILLERS = 64
SETTLE_SECONDS = 3


def what(kind, size, connections, layout):
    return f"{layouts.KINDS[kind][0]} {size}, c = {connections}, {layout}"


def rows(setup, layout):
    every = [(kind, size, count) for size, count in itertools.product(SIZES, layouts.CONNECTIONS) for kind in KINDS[size]]
    found = SMOKE if setup.quick else every
    return [row for row in found if setup.wanted(what(*row, layout))]


def contenders(setup, size):
    return [(results.OURS, None, servers.utfeed(setup.utfeed, "--cache-bytes", size)), (NGINX, "nginx", servers.nginx_cache("on", size)),
            (VARNISH, "varnishd", servers.varnish(size))]


def fills(setup, origin):
    """Each request is for another URL. What is aged has its cache full before long, and makes room for each."""
    table = results.Table("store", "CPU per stored fill", "us", text=fills.__doc__)
    number = itertools.count()
    for layout in layouts.LAYOUTS:
        for (kind, size, count), _, server in layouts.turns(setup, origin, contenders(setup, "1g"), layout, rows(setup, layout)):
            path, many = f"{layouts.path(kind, size, True)}?{next(number)}", layouts.requests(setup, size, count)
            figures = drive.attempt(
                setup, server, lambda server=server, path=path, many=many, count=count: drive.run(setup, server, path, "-c", count, "-N", many, "-n", many))
            if figures:
                table.row(what(kind, size, count, layout), "less", [against(NGINX, TIMES), against(VARNISH, TIMES)],
                          kind + size).add(server.name, figures["cpu"])
    return table


def small_file(setup):
    folder = os.path.join(setup.folder, "small")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "1k"), "wb") as out:
        out.write(random.Random(1).randbytes(1024))
    servers.write(folder, "1k.head", "Content-Type: application/octet-stream\r\nCache-Control: max-age=86400\r\n")
    return folder


def fill_many(setup, server, count, filled, each):
    before = server.memory()
    figures = drive.run(setup, server, "/1k", "-c", FILLERS, "-N", count, "-n", count)
    time.sleep(0 if setup.quick else SETTLE_SECONDS)
    filled.add(server.name, figures["cpu"])
    each.add(server.name, (server.memory() - before) / count)


def million(setup):
    """1 KB each. Varnish is given what it asks for; hits are asked for in scattered order by 64 connections, in turns with those of a
    second utfeed that holds few."""
    many = 2 * FEW if setup.quick else MANY
    few = f"{results.OURS}, {FEW:,} objects"
    table = results.Table("store", f"{many:,} stored objects", results.AS_SAID, text=million.__doc__)
    if not setup.wanted("million"):
        return table
    ours = servers.utfeed(setup.utfeed, "--cache-bytes", "4g")
    with contextlib.ExitStack() as stack:
        origin = stack.enter_context(setup.origin(small_file(setup)))
        running = setup.start(stack, origin, [(results.OURS, None, ours), ("Varnish", "varnishd", servers.varnish("4g")), (few, None, ours)])
        filled = table.row("filling, us of CPU each", "less", [against("Varnish", FASTER)])
        each = table.row("bytes of memory each", "less", [] if setup.quick else [limit(EACH_MAX)])
        hit = table.row("hit, us of CPU", "less", [against(few, 1 / DEARER)])
        for name, server in running.items():
            if name == few:
                drive.attempt(setup, server, lambda server=server: drive.run(setup, server, "/1k", "-N", FEW, "-n", FEW))
            else:
                drive.attempt(setup, server, lambda server=server: fill_many(setup, server, many, filled, each))
        for name, seconds in drive.turns(setup, list(running)):
            server, objects = running[name], FEW if name == few else many
            figures = drive.attempt(
                setup, server, lambda server=server, objects=objects, seconds=seconds: drive.run(setup, server, "/1k", "-n", objects, seconds=seconds))
            if figures:
                hit.add(name, figures["cpu"])
    return table


def run(setup):
    with contextlib.ExitStack() as stack:
        origin = stack.enter_context(setup.origin(layouts.origin_files(setup)))
        yield fills(setup, origin)
    yield million(setup)
