"""Two workers and what they share, used by everybody at once: joins, evictions, purges, revalidation behind clients, readers that
leave, certificates read again, draining. What may come of it is little; that no sanitizer says a word (check-all.sh: threads) is much."""
import gzip
import random
import signal

import pytest

from certs import client_context
from pages import FRESH, Site, page
from peers import Background, TlsClient
from wire import Cut, message

ROUNDS, CLIENTS, PATHS = 40, 8, 60
KINDS = {
    "fresh": (FRESH,),
    "stale": ("Cache-Control: max-age=0, stale-while-revalidate=600", 'ETag: "1"'),
    "varies": (FRESH, "Vary: Accept-Language"),
    "never": ("Cache-Control: no-store",),
}


def body_of(target):
    return b'<?xml version="1.0" encoding="windows-1251"?><rss>' + target.encode() + bytes(range(0xc0, 0x100)) * 100 + b"</rss>"


def expected(target):
    return body_of(target).decode("windows-1251").replace("windows-1251", "UTF-8").encode()


def respond(request):
    target = request.target
    if request.all("If-None-Match"):
        return message("304 Not Modified", 'ETag: "1"', "Cache-Control: max-age=0, stale-while-revalidate=600", length=False)
    return page(*KINDS[target.split("/")[1]], body=body_of(target), kind="application/rss+xml")


def visit(client, chance):
    """One thing that a client may do. False: its connection is over."""
    target = f"/{chance.choice(sorted(KINDS))}/{int(chance.random() ** 3 * PATHS)}"
    what = chance.randrange(20)
    if what == 0:
        fields = ["X-Purge: " + chance.choice(("prefix", "all", "all, soft", "soft", "host"))]
        assert client.get(target, *fields, method="PURGE").status == 200
    elif what == 1:
        client.ask(target)
        client.reset() if chance.randrange(2) else client.close()
        return False
    elif what == 2:
        assert client.get(target, method="HEAD").body == b""
    elif what == 3:
        assert client.get(target, "Range: bytes=0-9").body in (expected(target)[:10], expected(target))
    elif what == 4:
        assert client.get(target, 'If-None-Match: *').status in (200, 304)
    elif what == 5:
        client.send(b"".join(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % target.encode() for _ in range(5)))
        for _ in range(5):
            assert client.response(method="GET").body == expected(target)
    else:
        got = client.get(target, f"Accept-Language: {chance.choice(('de', 'uk'))}", f"Accept-Encoding: {chance.choice(('gzip', 'br'))}")
        assert (gzip.decompress(got.body) if "Content-Encoding" in got else got.body) == expected(target)
    return True


def visits(make, seed):
    chance, client = random.Random(seed), None
    for _ in range(ROUNDS):
        client = client or make()
        if not visit(client, chance):
            client = None
    if client:
        client.close()


@pytest.mark.parametrize("second", ["memory alone", "lmdb"])
def test_everything_at_once(listening, origin, authority, tmp_path, second):
    Site(origin)["*"] = respond
    more = ["--cache-lmdb", str(tmp_path / "store")] if second == "lmdb" else []
    proxy = listening(origin, "--workers", "2", "--cache", "on", "--cache-bytes", "1m", *more)
    context = client_context(authority.root)
    crowd = [Background(visits, proxy.client, seed) for seed in range(CLIENTS)]
    crowd += [Background(visits, lambda: TlsClient(proxy.tls_port, context), CLIENTS + seed) for seed in range(2)]
    while any(each.thread.is_alive() for each in crowd):
        proxy.process.send_signal(signal.SIGHUP)
        proxy.process.send_signal(signal.SIGUSR1)
        crowd[-1].thread.join(0.1)
    for each in crowd:
        each.join()
    assert proxy.get("/fresh/0").body == expected("/fresh/0")


def test_draining_in_the_middle_of_it(start, origin):
    """SIGTERM among requests on both workers: each is answered whole, or its connection ends before the answer began."""
    Site(origin)["*"] = respond
    proxy = start(origin, "--workers", "2", "--cache", "on")

    def until_it_ends(seed):
        chance, client, answered = random.Random(seed), proxy.client(), 0
        while True:
            try:
                target = f"/fresh/{chance.randrange(PATHS)}"
                assert client.get(target).body == expected(target)
                answered += 1
            except Cut as cut:
                assert not cut.message, "an answer was cut"
                return answered
            except OSError:
                return answered
    crowd = [Background(until_it_ends, seed) for seed in range(CLIENTS)]
    proxy.access_lines(200)
    proxy.sigterm()
    assert proxy.wait() == 0
    assert sum(each.join() for each in crowd) >= 200 - CLIENTS
