"""Memory that runs out, at every request for it that an exchange makes, libraries' too (refuse.c, preloaded): the answer is whole, or
an error, or the connection ends; what comes next is served."""
import gzip
import itertools
import os
import re
import struct

import pytest

from certs import client_context, server_context
from feeds import SMALL, SMALL_OUT
from peers import Client, TlsClient
from preload import Preload, build
from wire import Cut, message

FEED = message("200 OK", "Content-Type: application/xml; charset=utf-8", "Cache-Control: max-age=60", 'ETag: "1"', body=SMALL)
LONGER = message("200 OK", "Content-Type: text/plain", "Cache-Control: max-age=60", "Connection: close", body=b"x" * 10_000)
PACKED = message("200 OK", "Content-Type: application/xml; charset=utf-8", "Content-Encoding: gzip", "Connection: close",
                 body=gzip.compress(SMALL))
CHECKED = message("200 OK", "Content-Type: application/xml; charset=utf-8", "Cache-Control: no-cache", 'ETag: "1"', "Connection: close",
                  body=SMALL)
VARIED = message("200 OK", "Content-Type: application/xml; charset=utf-8", "Cache-Control: max-age=60", "Vary: Accept-Language",
                 "Connection: close", body=SMALL)
EVERY = os.environ.get("UTFEED_SLOW") == "1"
ROUNDS = 60             # an exchange, of the thousands of requests for memory that one with TLS makes


class Refusal(Preload):
    def __init__(self, library, path):
        super().__init__(library, "REFUSE", path, 24)

    def after(self, until, many):
        """From the until-th request for memory on, many are refused."""
        self.page[:] = struct.pack("qqq", until, many, 0)

    def over(self):
        """How many were refused; no more are."""
        refused = struct.unpack("qqq", self.page[:])[2]
        self.page[:] = bytes(24)
        return refused

    def count(self, exchange):
        """How many requests for memory it makes."""
        self.after(1 << 40, 1)
        exchange()
        return (1 << 40) - struct.unpack("qqq", self.page[:])[0]


@pytest.fixture(scope="session")
def refusal_library(tmp_path_factory):
    return build("refuse", tmp_path_factory.mktemp("refuse"))


@pytest.fixture
def refusal(refusal_library, tmp_path):
    return Refusal(refusal_library, tmp_path / "refuse")


def respond(request):
    path = request.target.rsplit("/", 1)[-1]
    if path == "moved":
        return message("302 Found", "Location: plain", "Connection: close"), "close"
    if path == "packed":
        return PACKED, "close"
    if path == "checked":
        return (message("304 Not Modified", 'ETag: "1"', "Connection: close") if "If-None-Match" in request else CHECKED), "close"
    if path == "parts" and "Range" in request:
        first, last = map(int, request["Range"].removeprefix("bytes=").split("-"))
        return message("206 Partial Content", "Cache-Control: max-age=60", 'ETag: "1"', f"Content-Range: bytes {first}-{last}/{len(SMALL)}",
                       "Connection: close", body=SMALL[first:last + 1]), "close"
    if path == "longer":
        return LONGER, "close"
    if path == "varied":
        return VARIED, "close"
    return FEED, None if path == "kept" else "close"


def get(client, target, *fields, **kind):
    got = client.get(target, *fields, **kind)
    if got.status == 200:
        assert (gzip.decompress(got.body) if "Content-Encoding" in got else got.body) == SMALL_OUT
    return got.status


def in_parts(client, target):
    """Two parts, a range of one, and the whole that they make."""
    for first, last in ((0, 99), (20, 40), (100, len(SMALL) - 1)):
        got = client.get(target, f"Range: bytes={first}-{last}")
        if got.status != 206:
            return got.status
        assert got.body == SMALL[first:last + 1]
    got = client.get(target)
    assert got.status != 200 or got.body == SMALL
    return got.status


def tunnelled(client, origin):
    status = client.get(f"127.0.0.1:{origin.port}", method="CONNECT").status
    if status == 200:
        assert client.get("/plain").body == SMALL
    return status


def pipelined(client, target):
    client.send(f"GET {target} HTTP/1.1\r\nHost: t\r\n\r\n".encode() * 40)
    for _ in range(40):
        got = client.response()
        assert got.status != 200 or got.body == b"x" * 10_000
    return got.status


def refuse(refusal, exchange, prepare=lambda: None):
    """At one of its requests for memory, or from there on, all through the exchange; each time it is made once more, and goes well."""
    assert exchange() == 200
    prepare()
    total = refusal.count(exchange)
    if not total:
        pytest.skip("utfeed's own allocator is asked first: a sanitizer's, linked into it")
    refused, rounds = 0, total if EVERY else min(total, ROUNDS)
    for many in (1, 1 << 30):
        for until in (1 + total * n // rounds for n in range(rounds)):
            prepare()
            refusal.after(until, many)
            try:
                assert exchange() in (200, 500, 502, 503, 504)
            except TimeoutError:
                pytest.fail(f"no answer after request {until} of {total}")
            except (Cut, OSError):
                pass
            refused += refusal.over()
            assert exchange() == 200, f"after request {until} of {total}"
    assert refused >= 2     # a stored answer asks for memory once


# name: what is asked by a client of the utfeed, each time for another URL
EXCHANGES = {
    "route": lambda at, client, n: get(client, f"/r/{n}/plain"),
    "packed": lambda at, client, n: get(client, f"/r/{n}/packed", "Accept-Encoding: gzip"),
    "kept": lambda at, client, n: get(client, f"/r/{n}/kept"),
    "gzip form": lambda at, client, n: (get(client, f"/r/{n}/kept"), get(client, f"/r/{n}/kept", "Accept-Encoding: gzip"))[1],
    "stored": lambda at, client, n: get(client, "/r/0/plain"),
    "checked": lambda at, client, n: get(client, "/r/0/checked"),
    "parts": lambda at, client, n: in_parts(client, f"/p/{n}/parts"),
    "varied": lambda at, client, n: get(client, f"/r/{n}/varied", "Accept-Language: ka"),
    "head": lambda at, client, n: client.get(f"/r/{n}/plain", method="HEAD").status,
    "post": lambda at, client, n: client.get(f"/r/{n}/plain", "Content-Length: 0", method="POST").status,
    "tls": lambda at, client, n: get(client, f"/s/{n}/plain"),
    "tls kept": lambda at, client, n: get(client, f"/s/{n}/kept"),
    "moved": lambda at, client, n: get(client, f"/{at.origin.url}/{n}/moved"),
    "secure": lambda at, client, n: get(client, f"/{at.secure.url}/{n}/plain"),
    "forward": lambda at, client, n: get(client, f"{at.origin.url}/{n}/plain", host=f"127.0.0.1:{at.origin.port}"),
    "tunnel": lambda at, client, n: tunnelled(client, at.origin),
    "pipelined": lambda at, client, n: pipelined(client, f"/r/{n}/longer"),
}
CASES = [(name, "direct", "tcp") for name in EXCHANGES] + [("route", "direct", "tls"), ("stored", "direct", "tls"),
                                                           ("pipelined", "direct", "narrow tcp"),
                                                           ("route", "parent", "tcp"), ("tls", "parent", "tcp"), ("tunnel", "parent", "tcp")]


class Setting:
    """utfeed with every way in and out of it."""

    def __init__(self, start, origin, secure, good, authority, env, parent):
        self.origin, self.secure, self.context = origin, secure, client_context(authority.root)
        ways = ("--http-proxy", parent, "--https-proxy", parent, "--no-proxy", "") if parent else ()
        self.proxy = start(None, "--gateway", "on", "--forward", "on", "--gzip-min", "1", "--connect-allow", f"127.0.0.1:{origin.port}",
                           "--tls-ca-file", authority.root.cert, "--route", f"/r/={origin.url}/", "--route", f"/s/={secure.url}/",
                           "--route", f"/p/={origin.url}/ normalise=off",
                           "--tls-listen", "127.0.0.1:0", "--tls-listen-cert", good.chain, "--tls-listen-key", good.key, "--log-level", "error",
                           *ways, env=env)
        self.ports = [int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", self.proxy.err.text().split("ready on", 1)[1])]

    def client(self, over):
        return TlsClient(self.ports[1], self.context) if over == "tls" else Client(self.ports[0])


@pytest.mark.parametrize("name,way,over", CASES)
def test_an_exchange(start, origin, tls_origin, good, authority, refusal, narrow_library, name, way, over):
    secure = tls_origin(server_context(good))
    for each in (origin, secure):
        each.serve(respond)
    parent = start(None, "--forward", "on", "--connect-allow", f"127.0.0.1:{origin.port}", "--connect-allow",
                   f"localhost:{secure.port}").port if way == "parent" else None
    env = refusal.env
    if over == "narrow tcp":
        env = {**env, "LD_PRELOAD": f"{env['LD_PRELOAD']}:{narrow_library}"}
    at = Setting(start, origin, secure, good, authority, env, parent and f"http://127.0.0.1:{parent}")
    turn = itertools.count()

    def exchange():
        client = at.client(over)
        try:
            return EXCHANGES[name](at, client, next(turn))
        finally:
            client.close()

    refuse(refusal, exchange)


LEFT_BY_NGHTTP2 = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "nghttp2.lsan")

# name: options, and the exchange by HTTP/2 with an origin
SESSIONS = {
    "a stream of a session": ((), lambda proxy, n: proxy.get(f"/{n}")),
    "a session of its own": (("--origin-idle", "0"), lambda proxy, n: proxy.get(f"/{n}")),
    "an upload": (("--origin-idle", "0"), lambda proxy, n: proxy.get(f"/{n}", "Content-Length: 0", method="POST")),
    "asked twice": (("--origin-idle", "0", "--http2", "auto"), lambda proxy, n: proxy.get(f"/{n}/wall")),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_an_origin_of_http_2(asking, scripted, refusal, name):
    """What one stream lacks is not lost for the others of its session. A wall counts as an answer where the other protocol cannot be asked."""
    options, ask = SESSIONS[name]
    origin, turn = scripted(), itertools.count()
    wall, kept = message("403 Forbidden", body=b"no"), message("200 OK", "Content-Type: application/xml; charset=utf-8", body=SMALL)
    origin["*"] = lambda asked: wall if asked.target.endswith("wall") and asked.h2 else kept
    env = {**refusal.env, "LSAN_OPTIONS": f"suppressions={LEFT_BY_NGHTTP2}:print_suppressions=0"}
    proxy = asking(origin, *options, env=env)

    def exchange():
        status = ask(proxy, next(turn)).status
        return 503 if status == 403 else status

    refuse(refusal, exchange)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_systems_authorities_are_loaded(start, tls_origin, good, authority, refusal, workers):
    """Which a reload has done anew, by the connection that needs them first: what is missing then is not missing for good."""
    origin = tls_origin(server_context(good))
    origin.serve(respond)
    proxy = start(origin, "--cache", "off", "--workers", workers,
                  env={**refusal.env, "SSL_CERT_FILE": authority.root.cert, "SSL_CERT_DIR": "/nonexistent"})
    refuse(refusal, lambda: proxy.get("/plain").status, proxy.reload)


def test_a_fetch_that_is_new(start, origin, refusal, tmp_path):
    """Each time by another configuration, so that none of the last one's is used again: what it lacked it does not lack for good."""
    file, limits = tmp_path / "utfeed.conf", itertools.cycle(["100", "101"])

    def prepare():
        file.write_text(f"max-header-fields = {next(limits)}\n")
        proxy.reload()

    origin.serve(respond)
    file.write_text("")
    proxy = start(origin, "-c", str(file), "--cache", "off", env=refusal.env)
    refuse(refusal, lambda: proxy.get("/plain").status, prepare)


def test_connections_that_cannot_be_watched(start, origin, refusal):
    """What watches a descriptor is asked for when its number comes up for the first time: here each time, for none is closed."""
    origin.serve(respond)
    proxy = start(origin, env=refusal.env)
    total = 1 + refusal.count(lambda: proxy.get("/plain"))
    for until in range(1, min(total, 200)):
        refusal.after(until, 1)
        try:
            proxy.get(f"/{until}/kept")
        except (Cut, OSError) as error:
            assert not isinstance(error, TimeoutError), f"request {until} of {total}"
        refusal.over()
    assert proxy.get("/plain").status == 200


@pytest.mark.http1("a stream of HTTP/2 is allocated")
@pytest.mark.parametrize("target", ["/stored", "/stored?" + "q" * 300, "/varied"], ids=["short", "long", "varied"])
def test_a_hit_allocates_nothing(start, origin, refusal, target):
    origin.serve(respond)
    client = start(origin, "--access-log", "on", env=refusal.env).client()

    def hit():
        assert client.get(target, "Accept-Language: ka", "User-Agent: curl/8").status == 200

    made = refusal.count(hit)
    if not made:
        pytest.skip("utfeed's own allocator is asked first: a sanitizer's, linked into it")
    hit()
    assert refusal.count(lambda: [hit() for _ in range(10)]) == 0
