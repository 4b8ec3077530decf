"""Part 3: feeds fetched and transcoded for every request, beside nginx's charset module and Apache's mod_xml2enc."""
import collections
import contextlib
import os
import re

import drive
import results
import servers
import texts
from results import against

SIZES = (("20 KB", 20_000), ("200 KB", 200_000), ("5 MB", 5_000_000))
SLICED_MAX = 50_000                 # longer feeds are too few a second for short turns: what is under way at their ends would count
CHARSET, XML2ENC, PLAIN = "nginx charset", "mod_xml2enc", "nginx, no conversion"
URLS = 1_000_000                    # no body comes twice
BARS = {"20 KB": 1.5, "200 KB": 2.5, "5 MB": 2.5}

# (feed, what converts it beside utfeed, bar by size)
FEEDS = (
    (("ru", "windows-1251"), CHARSET, BARS),
    (("zh", "gb18030"), XML2ENC, dict.fromkeys(BARS, 3)),
    (("ru", "utf-16le"), XML2ENC, dict.fromkeys(BARS, 3)),
)


def origin_files(setup):
    """Every feed unlabelled and not to be stored; labelled, which mod_xml2enc needs; and one that may be stored."""
    folder, expected = os.path.join(setup.folder, "feeds"), {}
    os.makedirs(folder, exist_ok=True)
    for which, _, _ in FEEDS:
        text = texts.find(*which)
        for label, size in SIZES:
            name = texts.name(text, label.replace(" ", ""))
            coded, expected[name] = texts.feed(text, size)
            for path, kind, control in ((name, "", "no-store"), ("labelled-" + name, f"; charset={text.charset}", "no-store"),
                                        ("stored-" + name, "", "max-age=3600")):
                with open(os.path.join(folder, path), "wb") as out:
                    out.write(coded)
                servers.write(folder, path + ".head", f"Content-Type: application/rss+xml{kind}\r\nCache-Control: {control}\r\n")
    return folder, expected


def judged(body, expected):
    """What a reader gets: the right text, the right text under a stale declaration, or something else."""
    if body == expected:
        return "right"
    declaration = re.compile(rb"^(\xef\xbb\xbf)?<\?xml[^>]*\?>")
    return "stale declaration" if declaration.sub(b"", body) == declaration.sub(b"", expected) else "wrong"


Feed = collections.namedtuple("Feed", "what path size expected bars")


def measure(setup, server, path, expected, seconds):
    right = judged(server.get(path)[1], expected)
    return {**drive.run(setup, server, path, "-c", 16, "-n", URLS, seconds=seconds), "judged": right}


def compare(setup, running, feed, names, speed, cpu):
    slices = drive.SLICES if feed.size <= SLICED_MAX else 1
    for name, seconds in drive.turns(setup, list(filter(running.get, names)), slices=slices):
        path = "/" + ("labelled-" + feed.path if name == XML2ENC else feed.path)
        figures = drive.attempt(setup, running[name], lambda: measure(setup, running[name], path, feed.expected, seconds))
        if figures:
            row = speed.row(feed.what, "more", feed.bars)
            row.notes[name] = figures["judged"]
            row.add(name, figures["rate"] * feed.size / 1e6)
            cpu.row(feed.what, "less", feed.bars).add(name, figures["cpu"])


def run(setup):
    cpu = results.Table("misses", "CPU per miss", "us", text="16 connections; what each server has to do for one feed")
    speed = results.Table("misses", "Misses", "MB/s of input", text="16 connections, nothing stored; utfeed is told nothing, nginx the charset "
                          "by its configuration, mod_xml2enc by the label")
    folder, expected = origin_files(setup)
    with contextlib.ExitStack() as stack:
        origin = stack.enter_context(setup.origin(folder))
        running = setup.start(stack, origin, [
            (results.OURS, None, servers.utfeed(setup.utfeed)),
            (CHARSET, "nginx", servers.nginx_charset("windows-1251")),
            (XML2ENC, "apache2", servers.xml2enc()),
            (PLAIN, "nginx", servers.nginx_plain()),
        ])
        for which, rival, bars in FEEDS:
            for label, _ in SIZES[:1] if setup.quick else SIZES:
                name = texts.name(texts.find(*which), label.replace(" ", ""))
                feed = Feed(f"{which[1]} {label}", name, os.path.getsize(os.path.join(folder, name)), expected[name], [against(rival, bars[label])])
                compare(setup, running, feed, (results.OURS, rival, PLAIN), speed, cpu)
                if label == SIZES[0][0]:
                    stored = feed._replace(what=feed.what + ", each another URL, stored", path="stored-" + name, bars=[])
                    compare(setup, running, stored, (results.OURS,), speed, cpu)
    yield from (speed, cpu)
