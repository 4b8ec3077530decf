"""Part coded: feeds that the origin sends as gzip, to clients that take gzip, not stored. nginx passes them on as they are, which is all
there is to do where they are UTF-8; Apache unpacks, converts and packs."""
import contextlib
import gzip
import os

import drive
import results
import servers
import texts
from results import against

SIZES = (("20 KB", 20_000), ("200 KB", 200_000), ("5 MB", 5_000_000))
SLICED_MAX = 50_000
PLAIN, XML2ENC = "nginx, passing on", "mod_xml2enc"
TAKES = ("-H", "Accept-Encoding: gzip", "-l")
URLS = 1_000_000

# What is to be done: (what, feed, rival, {size: bar})
ROWS = (
    ("UTF-8", ("ru", "utf-8"), PLAIN, {"20 KB": .3, "200 KB": .15}),
    ("windows-1251", ("ru", "windows-1251"), XML2ENC, {"20 KB": 5, "200 KB": 5}),
)


def path(which, label, labelled=False):
    return ("labelled-" if labelled else "") + texts.name(texts.find(*which), label.replace(" ", "")) + ".gz"


def origin_files(setup):
    """Labelled ones for mod_xml2enc. What each must be when it has arrived."""
    folder, expected = os.path.join(setup.folder, "coded"), {}
    os.makedirs(folder, exist_ok=True)
    for which in {row[1] for row in ROWS}:
        text = texts.find(*which)
        for label, size in SIZES:
            coded, expected[path(which, label)] = texts.feed(text, size)
            for labelled in (False, True):
                name, kind = path(which, label, labelled), f"; charset={text.charset}" if labelled else ""
                with open(os.path.join(folder, name), "wb") as out:
                    out.write(gzip.compress(coded, 6, mtime=0))
                servers.write(folder, name + ".head", f"Content-Type: application/rss+xml{kind}\r\nContent-Encoding: gzip\r\n"
                              "Cache-Control: no-store\r\n")
    return folder, expected


def fetched(server, target):
    """What a client gets that takes gzip: how long it is on its way, and what it is."""
    _, body = server.get(target, {"Accept-Encoding": "gzip"}.items())
    return len(body), gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body


def measure(setup, server, target, expected, seconds):
    size, body = fetched(server, target)
    if server.name == results.OURS and body != expected:
        raise RuntimeError(f"{target} is wrong: {len(body)} bytes, not {len(expected)}")
    return {**drive.run(setup, server, target, "-c", 16, *TAKES, "-n", URLS, seconds=seconds), "size": size}


def compare(setup, running, row, label, expected, tables):
    what, which, rival, bars = row
    slices = drive.SLICES if len(expected) <= SLICED_MAX else 1
    for name, seconds in drive.turns(setup, list(filter(running.get, (results.OURS, rival))), slices=slices):
        target = "/" + path(which, label, name == XML2ENC)
        figures = drive.attempt(setup, running[name], lambda: measure(setup, running[name], target, expected, seconds))
        if figures:
            held_to = [against(rival, bars[label])] if label in bars else []
            tables[0].row(f"{what}, {label}", "less", held_to).add(name, figures["cpu"])
            tables[1].row(f"{what}, {label}", "less").add(name, figures["size"] / 1000)


def run(setup):
    tables = (results.Table("coded", "CPU per feed, gzip to gzip", "us", text="16 connections, nothing stored"),
              results.Table("coded", "Size of a feed, gzip to gzip", "KB", text="on its way to the client"))
    folder, expected = origin_files(setup)
    with contextlib.ExitStack() as stack:
        origin = stack.enter_context(setup.origin(folder))
        running = setup.start(stack, origin, [
            (results.OURS, None, servers.utfeed(setup.utfeed)),
            (PLAIN, "nginx", servers.nginx_plain()),
            (XML2ENC, "apache2", servers.xml2enc_of_gzip()),
        ])
        for row in ROWS:
            for label, _ in SIZES[:1] if setup.quick else SIZES:
                compare(setup, running, row, label, expected[path(row[1], label)], tables)
    yield from tables
