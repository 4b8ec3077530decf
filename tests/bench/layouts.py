"""What misses2 and store have in common: bodies of all kinds and sizes, and servers in both layouts of their heap: a fresh process for each
measurement, and one that has served 10,000 mixed requests, whose free memory is in pieces as it is after a day's work."""
import contextlib
import os
import random

import drive
import servers
import texts

SIZES = {"2 KB": 2_000, "20 KB": 20_000, "60 KB": 60_000, "200 KB": 200_000, "5 MB": 5_000_000}
LONG = "5 MB"
KINDS = {"feed": ("UTF-8 feed", "application/rss+xml"), "html": ("HTML", "text/html; charset=utf-8"), "jpeg": ("JPEG", "image/jpeg")}
CONNECTIONS = (1, 4, 16, 64, 200)
LAYOUTS = ("fresh", "aged")
MIXED = 10_000
# Of a measurement: so many that ends and beginnings do not count, and each connection has a few
REQUESTS = {"2 KB": 8000, "20 KB": 5000, "60 KB": 3000, "200 KB": 1500, "5 MB": 80}
EACH_CONNECTION = 2


def html(size):
    rng = random.Random(2)
    head, tail = "<!DOCTYPE html>\n<html><head><title>news</title></head><body>\n", "</body></html>\n"
    paragraphs = [f"<p>{texts.sentence(rng, 'ru', 20)}.</p>\n".encode() for _ in range(texts.ITEMS)]
    parts, room, at = [head.encode()], size - len(head) - len(tail), 0
    while len(one := paragraphs[at % len(paragraphs)]) <= room:
        parts.append(one)
        room -= len(one)
        at += 1
    return b"".join((*parts, b" " * room, tail.encode()))


def body(kind, size):
    if kind == "feed":
        return texts.feed(texts.find("ru", "utf-8"), size)[0]
    if kind == "html":
        return html(size)
    return b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + random.Random(3).randbytes(size - 11)


def path(kind, size, stored=False):
    return f"/{'stored-' if stored else ''}{kind}-{size.replace(' ', '')}"


def origin_files(setup):
    """Each body as two files, one that may be stored."""
    folder = os.path.join(setup.folder, "kinds")
    os.makedirs(folder, exist_ok=True)
    for kind, (_, media) in KINDS.items():
        for size, length in SIZES.items():
            content = body(kind, length)
            for stored, control in ((False, "no-store"), (True, "max-age=86400")):
                name = path(kind, size, stored)[1:]
                with open(os.path.join(folder, name), "wb") as out:
                    out.write(content)
                servers.write(folder, name + ".head", f"Content-Type: {media}\r\nCache-Control: {control}\r\n")
    return folder


def mixed():
    """Every kind in every size, stored and not, and one that is long."""
    return [path(kind, size, stored) for kind in KINDS for size in SIZES if size != LONG for stored in (False, True)] + [path("feed", LONG)]


def age(setup, server, requests=MIXED):
    """Each request has a URL of its own."""
    drive.attempt(setup, server, lambda: drive.run(setup, server, mixed(), "-c", 64, "-N", requests, "-n", requests))


def requests(setup, size, connections):
    """How many one measurement has."""
    return drive.SMOKE if setup.quick else max(REQUESTS[size], EACH_CONNECTION * connections)


@contextlib.contextmanager
def running(setup, origin, contenders, layout):
    """The contenders in this layout, by name."""
    with contextlib.ExitStack() as stack:
        found = setup.start(stack, origin, contenders)
        if layout == "aged":
            for server in found.values():
                age(setup, server, drive.SMOKE if setup.quick else MIXED)
        yield found


def turns(setup, origin, contenders, layout, rows):
    """Yields (row, number of the turn, server) for each row, round and contender; rows are of any kind. A fresh process is started for each
    turn and has seen a single request; what is aged serves all rows. Every other turn has the contenders in reverse."""
    def taken(row, turn, found):
        for name in list(found)[::-1 if turn % 2 else 1]:
            yield row, turn, found[name]

    if layout == "fresh":
        for row in rows:
            for turn in range(setup.rounds):
                for contender in contenders[::-1 if turn % 2 else 1]:
                    with running(setup, origin, [contender], layout) as found:
                        yield from taken(row, turn, found)
    elif rows:
        with running(setup, origin, contenders, layout) as found:
            for row in rows:
                for turn in range(setup.rounds):
                    yield from taken(row, turn, found)
