"""The table of attacks: one row each, with its bounds. visits.py has what one attacker does, origin.py what a path means."""
import dataclasses
import typing

from . import h2_origin, helpers
from .bodies import BOMBS, MB, TEXTS, slug
from .hellos import HELLOS, replays
from .streams import FLOODS, STALLS
from .visits import (asks, asks_often, collides, dribbles, holds, leaves, leaves_after, named_hosts, pipelines, policies, reads_slowly,
                     tunnels, until_refused)

LEFT, OK = {"left"}, {"200"}
POLICIES = ("auto", "rome-strict", "rome-lenient", "rfc7303", "feedparser", "4suite", "appendix-f")
HOSTS = 5000


@dataclasses.dataclass(frozen=True)
class Attack:
    name: str
    does: str
    number: int                         # of visits
    at_once: int
    visit: typing.Callable
    ends: set                           # the words for how one may end
    memory: float                       # MB above the idle server and cache-bytes, at most, at any time
    cpu: float                          # microseconds of utfeed's for one of unit
    unit: str                           # "visit", or "KB" of all that went over the attack's connections, of clients and origin
    waits: float                        # the good client's 99th percentile, as a multiple of the idle server's
    cache: int = 16                     # MB, cache-bytes
    options: tuple = ()                 # utfeed's
    fill: int = 0                       # so many small feeds are stored before
    helper: typing.Callable = None      # what else has to run: gives more options
    keeps: float = 40                   # MB above the idle server and cache-bytes that may stay
    seconds: float = 0                  # at_once attackers visit again and again for so long; 0: number visits, and no more
    http2: bool = False                 # a good client asks by HTTP/2 too
    later: float = 0                    # ms that the good client's 99th percentile may rise; 0: waits is the bound
    alone: bool = False                 # there is no good client: what the attack does would be done to it too
    limit: int = 0                      # MB of address space above what it starts with; 0: no limit
    terminates: bool = False            # utfeed is told to end in the midst of it


def texts():
    for name in TEXTS:
        yield Attack(f"text: {name}", "feeds of 1 MB", 100, 4, asks(f"/text/{slug(name)}"), OK | {"502"}, 32, 30, "KB", 60)


def bombs():
    for name, (codings, _) in BOMBS.items():
        does = "a million bytes of empty members" if name == "members" else "64 MB of blanks"
        yield Attack(f"bomb: {name}", f"{does} in {codings}", 300, 10, asks(f"/bomb/{name}/N"), {"cut", "502"}, 32, 60000, "visit", 60)


def abandoned():
    """Each in the four ways to frame and store."""
    for framing in ("length", "chunked"):
        for rule in ("max-age=60", "no-store"):
            words = f"{framing}, {rule}"
            yield Attack(f"abandoned, {words}", "ask for 1 MB and leave at once", 10_000, 500, leaves(f"/large/{framing}/{rule}/N"), LEFT,
                         64, 1000, "visit", 60, cache=64)
            yield Attack(f"abandoned later, {words}", "ask for 1 MB, of which a tenth comes, and leave", 10_000, 500,
                         leaves(f"/drip/{framing}/{rule}/N", after=0.2), LEFT, 64, 1000, "visit", 60, cache=64)


def slow_readers():
    slow = "take a few bytes a second of 1 MB, another URL each"
    for rule in ("max-age=60", "no-store"):
        yield Attack(f"slow readers, {rule}", slow, 10_000, 1000, reads_slowly(f"/large/length/{rule}/N"), LEFT, 64, 4000, "visit", 60, cache=64)
        yield Attack(f"slow readers of feeds, {rule}", slow, 10_000, 1000, reads_slowly(f"/feed/chunked/{rule}/N"), LEFT, 64, 15_000, "visit",
                     200, cache=64)
    yield Attack("slow readers of one URL", "take a few bytes a second of the same stored 1 MB", 10_000, 1000,
                 reads_slowly("/large/length/max-age=600/0"), LEFT, 64, 1000, "visit", 60, cache=64)
    yield Attack("slow readers of one gzip form", "the same of a feed, as gzip", 10_000, 1000,
                 reads_slowly("/feed/length/max-age=600/0", "Accept-Encoding: gzip"), LEFT, 64, 1000, "visit", 60, cache=64)


def large():
    # What is stored pushes out bodies that are still being read: half of cache-bytes more (utfeed-operating(7), "Memory")
    for framing, rule, memory in (("length", "max-age=60", 64 + 32), ("chunked", "no-store", 64)):
        yield Attack(f"large, {framing}, {rule}", "1 MB each", 10_000, 200, asks(f"/large/{framing}/{rule}/N"), OK, memory, 3, "KB", 60, cache=64)
    yield Attack("large feeds", "1 MB each, decoded", 3000, 200, asks("/feed/chunked/no-store/N"), OK, 64, 6, "KB", 200, cache=64)
    yield Attack("large feeds as us-ascii", "1 MB each, that become 7 MB", 500, 50, asks("/feed/chunked/no-store/N", way="ascii"), OK, 64, 6, "KB",
                 200, cache=64)


def slow_clients():
    get = b"GET /o/small/length/max-age=60/0 HTTP/1.1\r\nHost: a\r\n"
    post = b"POST /o/sink HTTP/1.1\r\nHost: a\r\n"
    short = ("--request-timeout", "5s", "--between-bytes-timeout", "5s")
    yield Attack("slow heads", "a request's head byte by byte, a second each", 5000, 5000, dribbles(get + b"X: ", b"x", 20), {"408", "closed"}, 64,
                 1000, "visit", 60, options=short)
    yield Attack("slow bodies", "a request's body byte by byte, a second each", 2000, 2000,
                 dribbles(post + b"Content-Length: 1000000\r\n\r\n", b"x", 8), LEFT, 64, 3000, "visit", 60, options=short)
    yield Attack("slow chunks", "the same in chunks of a byte", 2000, 2000,
                 dribbles(post + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", 8), LEFT, 64, 3000, "visit", 60, options=short)
    yield Attack("silent bodies", "a request's body that never comes", 2000, 2000, dribbles(post + b"Content-Length: 9\r\n\r\n", b"", 20),
                 {"408", "closed"}, 64, 3000, "visit", 60, options=short)
    yield Attack("idle", "a request, and then nothing", 10_000, 10_000, holds(5, "/small/length/max-age=60/0"), LEFT | {"given up"}, 64, 500,
                 "visit", 200)
    yield Attack("idle from the first", "not a byte", 5000, 5000, holds(5), LEFT | {"given up"}, 64, 500, "visit", 60)
    yield Attack("tunnels", "CONNECT, and then nothing", 2000, 2000, tunnels(3), OK, 64, 1000, "visit", 60,
                 options=("--connect-allow", "127.0.0.1:*"))


def endless_origins():
    wrong = {"502", "504", "cut"}
    short = ("--first-byte-timeout", "5s", "--between-bytes-timeout", "5s")
    for name, does, number, at_once, visit, ends in (
            ("endless head", "field after field", 2000, 100, asks("/endless-head/N"), wrong),
            ("endless interim responses", "103 after 103", 200, 20, asks("/endless-interim/N"), wrong),
            ("endless chunk extension", "its value never ends", 500, 50, asks("/endless-extension/N"), wrong),
            ("endless trailers", "field after field", 500, 50, asks("/endless-trailers/N"), wrong | OK),
            # On a busy machine pauses of the origin or of the visitor outlast the timeouts: those are cut
            ("endless body, not stored", "read for 5 MB", 500, 50, leaves_after("/endless-body/text/no-store/N", 5 * MB), LEFT | {"cut"}),
            ("endless body, stored", "read for 5 MB; outgrows what is stored on its way", 500, 50,
             leaves_after("/endless-body/text/max-age=60/N", 10 * MB), LEFT | {"cut"}),
            ("endless feed", "read for 5 MB", 200, 50, leaves_after("/endless-body/xml/no-store/N", 5 * MB), LEFT | {"cut"}),
            ("chunks of a byte", "100,000 of them", 100, 10, asks("/tiny-chunks/N"), OK)):
        yield Attack(name, does, number, at_once, visit, ends, 64, 20, "KB", 100, options=short)
    yield Attack("slow origin's head", "a byte a second", 1000, 1000, asks("/slow-head/N"), wrong, 64, 1000, "visit", 60, options=short)
    yield Attack("slow origin's body", "a byte a second, for clients that wait", 1000, 1000, leaves("/drip/length/max-age=60/N", after=5), LEFT,
                 64, 1000, "visit", 60, cache=64)
    yield Attack("silent origin", "no answer", 2000, 2000, asks("/silent/N"), wrong, 64, 1000, "visit", 60, options=short)


def many():
    fields = [f"X-{number}: " + "v" * 280 for number in range(90)]
    members = "Connection: " + ",".join(f"x-{number}" for number in range(95))
    small = "/small/length/max-age=600/"
    yield Attack("many fields", "90 in each request, 26 KB", 200, 20, asks_often(50, small + "0", *fields), OK, 32, 20_000, "visit", 60)
    yield Attack("many fields in answers", "90 in each, 27 KB", 200, 20, asks_often(50, "/fields/N"), OK, 32, 40_000, "visit", 60)
    yield Attack("many members of Connection", "95 in each request", 200, 20, asks_often(50, small + "0", members), OK, 32, 20_000, "visit", 60)
    yield Attack("many members of an answer's Connection", "95 in each", 200, 20, asks_often(50, "/members/N"), OK, 32, 30_000, "visit", 60)
    yield Attack("many URLs", "more than are stored, 4 KB each", 400, 20, asks_often(50, small + "N"), OK, 32, 20_000, "visit", 60)
    yield Attack("many URLs without a route", "404 each", 400, 20, asks_often(50, "/nowhere/N", way="path"), {"404"}, 32, 10_000, "visit", 60)
    yield Attack("many variants", "one URL, 20,000 User-Agents", 400, 20, asks_often(50, "/varies/length/max-age=600/0", "User-Agent: reader/N"), OK,
                 32, 20_000, "visit", 60)
    yield Attack("many hosts", "5,000 names, a connection each", HOSTS, 50, named_hosts(HOSTS), OK, 32, 2000, "visit", 60, helper=helpers.hosts_file)
    yield Attack("colliding URLs", "of 7 KB, told apart by the last bytes; each is paused", 100, 10, collides("/pause/", 50), {"500"}, 48,
                 50_000, "visit", 60)
    yield Attack("colliding URLs, stored", "the same, each stored", 100, 10, collides(small, 50), OK, 48, 50_000, "visit", 60)
    yield Attack("many redirects", "each leads to another", 2000, 50, asks("/hop/0", way="gateway"), {"502"}, 32, 3000, "visit", 60)
    yield Attack("redirects in a circle", "each leads to itself", 2000, 50, asks("/loop/N", way="gateway"), {"502"}, 32, 3000, "visit", 60)
    yield Attack("pipelined", "1,000 requests in one write", 200, 20, pipelines(small + "0"), OK, 32, 30_000, "visit", 60)
    yield Attack("pipelined misses", "1,000 requests in one write, each asked of the origin", 10, 10, pipelines("/small/length/no-store/0"), OK, 32,
                 500_000, "visit", 60)
    yield Attack("many ranges", "2,000 parts of a stored feed in a request", 200, 20, asks_often(50, small + "0", "Range: bytes=" + ",".join(
        f"{at}-{at}" for at in range(2000))), OK, 32, 20_000, "visit", 60)
    yield Attack("policies by request", "X-Encoding-Policy, those there are and others", 5000, 50, policies(POLICIES, small + "0"),
                 OK | {"400", "502"}, 32, 1000, "visit", 60)
    yield Attack("a connection each", "for what is stored", 20_000, 200, asks(small + "0"), OK, 32, 300, "visit", 60)


def many_purges():
    for what, path in (("url", "/small/length/max-age=600/N"), ("prefix", "/small/length/max-age=600/9"), ("prefix", "/none/N"), ("host", "/none/N"),
                       ("prefix, soft", "/small/")):
        yield Attack(f"purges, {what} {path}", "in a loop, of a full store", 100, 4, asks_often(20, path, f"X-Purge: {what}", method="PURGE"),
                     OK | {"404"}, 32, 200_000, "visit", 100, cache=32, fill=10_000)


def stores():
    small = "/small/length/max-age=600/N"
    for name, helper in (("LMDB", helpers.lmdb), ("Redis, slow", helpers.slow_redis), ("Redis, silent", helpers.silent_redis),
                         ("Redis, not there", helpers.no_redis), ("Redis, deaf", helpers.deaf_redis)):
        yield Attack(f"many URLs: {name}", "more than are stored, 4 KB each", 400, 20, asks_often(20, small), OK, 32, 40_000, "visit", 100, helper=helper)


def hellos():
    """Issue 31. OpenSSL 3.0 has no quick way for P-384: three multiplications of half a millisecond or more."""
    for name in HELLOS:
        served = {"answered"} if "ffdhe" not in name else {"alert"}
        yield Attack(f"hellos, {name}", "a replayed ClientHello each", 2000, 100, replays(name), served, 32, 4000 if "P-384" in name else 2000,
                     "visit", 10, helper=helpers.tls_door)
        yield Attack(f"hellos of strangers, {name}", "the same, from where client-allow names nobody", 2000, 100, replays(name), {"alert"}, 32,
                     1000, "visit", 10, helper=helpers.tls_door, options=("--client-allow", "127.0.0.1"))


def over_http2():
    """Issue 35. One connection's worth, and a hundred's; each that is ended begins anew."""
    for name, (visit, ends, options) in {**FLOODS, **STALLS}.items():
        for connections in (1, 100):
            cpu = 3000 if name.startswith("bomb") else 100_000
            yield Attack(f"h2: {name}, from {connections}", "for 30 s", connections, connections, visit, ends, 15, cpu, "visit", 0, cache=1,
                         options=("--h2c", "on", *options), keeps=15, seconds=30, http2=True, later=10)


def http2_origins():
    """Issue 35, from the other side: of each connection that utfeed opens the origin makes a flood."""
    for name, (_, ends) in h2_origin.FLOODS.items():
        for clients in (1, 100):
            yield Attack(f"h2 origin: {name}, for {clients}", "for 30 s", clients, clients, asks("/h2/N", way="path"), ends, 15, 100_000, "visit", 0,
                         cache=1, helper=h2_origin.pours(name), keeps=15, seconds=30, later=10)


def the_issue():
    """What was found in the build before issue 12, as it was found."""
    for more in (1, 4, 16, 64):
        yield Attack(f"out of memory, {more} MB", "24 clients that ask for feeds whose charset must be guessed", 240, 24,
                     asks("/text/nothing-said-every-byte/N"), OK | {"500", "502", "503", "cut"}, 64, 1e6, "visit", 0, alone=True, limit=more)
    for how, close in (("keep-alive", False), ("close", True), ("both", "both")):
        yield Attack(f"SIGTERM, {how}", "after 10,000 answers, 100 clients go on asking: what was taken in is answered", 100, 100,
                     until_refused(10_000, close), {"refused"}, 32, 1e6, "visit", 0, alone=True, terminates=True)


ATTACKS = [*abandoned(), *slow_readers(), *large(), *slow_clients(), *endless_origins(), *bombs(), *texts(), *many(), *many_purges(), *stores(),
           *hellos(), *over_http2(), *http2_origins(), *the_issue()]
