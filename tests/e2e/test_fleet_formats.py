"""Two formats on one Redis server, as while a fleet is upgraded and when it goes back: each utfeed serves its own entries, and a purge at one
of them reaches those of all.

The other format is made here. A utfeed of it is a usual one behind a relay, which renames its keys on their way to the server and back."""
import contextlib
import re
import socket
import threading
import time

import pytest

from fake_redis import FakeRedis
from pages import FRESH, Site, page, was_hit
from ports import server_port
from test_purge_shared import confirming, found, purged
from wire import TIMEOUT, message

OURS = FakeRedis.PREFIX
NUMBER = int(re.search(rb":(\d+):", OURS)[1])
OTHER, FORMER = b"utfeed:%d:" % (NUMBER + 1), b"utfeed:6:"
SWAPPED = {OURS: OTHER, OTHER: OURS}


class Relay:
    """Names of one format are the other's behind it."""

    def __init__(self, server):
        self.server, self.open = server, []
        self.listener = socket.create_server(("127.0.0.1", server_port()), backlog=16)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                pair = self.listener.accept()[0], socket.create_connection(("127.0.0.1", self.server.port), TIMEOUT)
                self.open.extend(pair)
                for source, sink in (pair, pair[::-1]):
                    source.settimeout(None)
                    threading.Thread(target=self.pass_on, args=(source, sink), daemon=True).start()

    def pass_on(self, source, sink):
        with contextlib.suppress(OSError, ValueError), source.makefile("rb") as stream:
            while value := self.renamed(stream):
                sink.sendall(value)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    def renamed(self, stream):
        """The next value of RESP, with its names of the other format."""
        line = stream.readline()
        if line[:1] == b"*":
            return line + b"".join(self.renamed(stream) for _ in range(int(line[1:])))
        if line[:1] != b"$" or line == b"$-1\r\n":
            return line
        text = stream.read(int(line[1:]))
        new = SWAPPED.get(text[:len(OURS)], text[:len(OURS)]) + text[len(OURS):]
        return b"$%d\r\n" % len(new) + new + stream.read(2)

    def close(self):
        for each in (self.listener, *self.open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


@pytest.fixture(params=["redis-server", "valkey-server"])
def server(request, redis_server):
    return redis_server(request.param)


@pytest.fixture
def fleet(start, origin, server):
    """fleet(format): one more utfeed, of OURS or OTHER, once it is connected."""
    with contextlib.closing(Relay(server)) as relay:
        ports = {OURS: server.port, OTHER: relay.port}
        yield lambda kind: confirming(start(origin, "--cache-redis", f"127.0.0.1:{ports[kind]}"))


@pytest.fixture
def site(origin):
    site = Site(origin)
    site["*"] = lambda request: message("304 Not Modified", FRESH, length=False) if request["If-None-Match"] else page(FRESH, 'ETag: "a"')
    return site


def keys(server, of, path="/f"):
    return server.ask("KEYS", of + b"*" + path.encode())


def fills(proxy, server, of, *paths):
    """The utfeed has fetched that, and the server has it."""
    for path in paths:
        assert proxy.get(path).status == 200
        until = time.monotonic() + TIMEOUT
        while not keys(server, of, path):
            assert time.monotonic() < until
    return proxy


BOTH_WAYS = pytest.mark.parametrize("here,there", [(OURS, OTHER), (OTHER, OURS)], ids=["newer-is-reached", "older-is-reached"])


def test_each_serves_its_own(fleet, server, site):
    """And both go on while processes of either come and go."""
    for turn in range(2):
        for kind in (OURS, OTHER):
            fills(fleet(kind), server, kind, "/f").stop()
        assert site.count("/f") == 2, f"asked again in turn {turn}"


def test_neither_removes_the_others(fleet, server, site):
    """What is replaced, stale or damaged in one format says nothing of the other."""
    first, second = (fills(fleet(kind), server, kind, "/f") for kind in (OURS, OTHER))
    first.get("/f", "Cache-Control: no-cache")
    key, = keys(server, OURS)
    assert purged(first) and server.ask("HSET", key, "=", "damaged") in (0, 1)
    fleet(OURS).get("/f")
    second.stop()
    asked = site.count("/f")
    assert was_hit(fleet(OTHER).get("/f")) and site.count("/f") == asked


@BOTH_WAYS
@pytest.mark.parametrize("what", ["url", "prefix", "host", "all"])
def test_a_purge_reaches_both(fleet, server, site, here, there, what):
    """In memory and in the store, whoever holds it, and nothing else."""
    first, second = (fills(fleet(kind), server, kind, "/f", "/g") for kind in (here, there))
    assert purged(first, "/f", f"X-Purge: {what}")
    for proxy in (first, second, fleet(here), fleet(there)):
        assert found(proxy) is None and (found(proxy, "/g") is None) == (what in ("host", "all"))


@BOTH_WAYS
def test_a_purge_of_a_long_url_reaches_both(fleet, server, site, here, there):
    """Its mark covers more, and has not all of the URL."""
    path = "/" + "f" * 400
    first, _ = (fills(fleet(kind), server, kind, path) for kind in (here, there))
    assert purged(first, path) and not keys(server, there, path) and found(fleet(there), path) is None


@BOTH_WAYS
@pytest.mark.parametrize("what", ["url", "prefix", "all"])
def test_a_soft_purge_reaches_both(fleet, server, site, here, there, what):
    """It is stale where a process holds it or its format is the purge's. In the store it is gone from the other format."""
    first, second = (fills(fleet(kind), server, kind, "/f") for kind in (here, there))
    assert purged(first, "/f", f"X-Purge: {what}, soft") and not keys(server, there)
    third = fleet(here)
    for proxy in (second, third):
        assert "fwd-status=304" in proxy.get("/f")["Cache-Status"]


@BOTH_WAYS
@pytest.mark.parametrize("method", ["PURGE", "POST"])
def test_what_the_other_fetches_is_not_stored_behind_it(fleet, origin, here, there, method):
    first, second = fleet(here), fleet(there)
    client = second.client().ask("/f")
    before = origin.receive()
    post = first.client().ask("/f", method=method)
    if method == "POST":
        origin.receive().answer(message("200 OK"))
    assert post.response().status == 200 and purged(first)
    before.answer(page(FRESH, body=b"old"))
    assert client.response().body == b"old" and purged(second)
    assert found(second) is None and found(fleet(there)) is None


@BOTH_WAYS
@pytest.mark.parametrize("what", ["url", "prefix", "soft"])
def test_what_no_process_serves_is_purged(fleet, server, site, here, there, what):
    """An upgrade goes back, or on, after a purge while no utfeed of that format ran."""
    fills(fleet(there), server, there, "/f").stop()
    assert purged(fleet(here), "/f", f"X-Purge: {what}")
    assert not keys(server, there) and found(fleet(there)) is None


@pytest.mark.parametrize("what", ["url", "all"])
def test_the_former_version(fleet, server, site, what):
    """Its entries are purged; its own keys, which have a format, stay."""
    proxy = fills(fleet(OURS), server, OURS, "/f")
    key, = keys(server, OURS)
    assert server.ask("RESTORE", FORMER + key[len(OURS):], "0", server.ask("DUMP", key)) == "OK"
    for own in (b"!marks", b"!seen"):
        assert server.ask("HSET", FORMER + own, "a", "b") == 1
    assert purged(proxy, "/f", f"X-Purge: {what}") and not keys(server, FORMER)
    assert len(keys(server, FORMER, "!marks") + keys(server, FORMER, "!seen")) == 2
