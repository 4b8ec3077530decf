"""Stored bodies long enough for pages of their own, which the kernel sends without a copy when they have been asked for often: every way
to ask for them gives the same bytes, whatever becomes of the store meanwhile; and how a connection ends."""
import random
import time

import pytest

from feeds import big
from pages import FRESH, Site, page, was_hit
from preload import build, preloading
from wire import TIMEOUT, chunked, message

OFTEN = 48                              # hits that are copied (proxy/object/object_reader.c)
BY_REFERENCE = "by reference\n"         # reference.c
KIND = "application/octet-stream"
SIZES = [65_535, 65_536, 65_537, 100_000, 300_000, 2_000_000]

ASKS = {
    "keep-alive": ((), {}),
    "close": (("Connection: close",), {}),
    "HTTP/1.0": ((), {"version": "HTTP/1.0"}),
    "HTTP/1.0 kept alive": (("Connection: keep-alive",), {"version": "HTTP/1.0"}),
}


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


@pytest.fixture
def site(origin):
    return Site(origin)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build("reference", tmp_path_factory.mktemp("reference"))


def often(proxy, path="/f"):
    """Asks until only one hit more is copied; it takes no more than the first bytes."""
    client = proxy.client()
    for _ in range(OFTEN - 1):
        assert client.get(path, "Range: bytes=0-60000").status == 206
    client.close()


def whole(body):
    return page(FRESH, body=body, kind=KIND)


def in_chunks(body):
    return message("200 OK", f"Content-Type: {KIND}", FRESH, "Transfer-Encoding: chunked", body=chunked(body, 7000))


@pytest.mark.parametrize("size", SIZES)
def test_pages_go_by_reference_once_asked_for_often(start, site, library, size):
    body = noise(size)
    site["/f"] = whole(body)
    proxy = start(site.origin, env=preloading(library))
    assert not was_hit(proxy.get("/f"))
    often(proxy)
    assert BY_REFERENCE not in proxy.err.text()
    for _ in range(2):
        assert proxy.get("/f").body == body
    if size >= 65_536:
        proxy.says(BY_REFERENCE)
    else:
        assert BY_REFERENCE not in proxy.err.text()


def test_where_the_kernel_takes_no_pages(start, site, library):
    body = noise(300_000)
    site["/f"] = whole(body)
    proxy = start(site.origin, "--workers", "1", env={**preloading(library), "REFERENCE_REFUSED": "1000000"})
    proxy.get("/f")
    often(proxy)
    for _ in range(3):
        got = proxy.get("/f")
        assert was_hit(got) and got.body == body
    proxy.says("splice: Operation not permitted; large bodies are copied to their clients")
    assert proxy.err.text().count("splice:") == 1


def test_a_kernel_that_takes_no_pages_for_a_moment_is_asked_again(start, site, library):
    body = noise(300_000)
    site["/f"] = whole(body)
    proxy = start(site.origin, "--workers", "1", env={**preloading(library), "REFERENCE_REFUSED": "2"})
    proxy.get("/f")
    often(proxy)
    end = time.monotonic() + TIMEOUT
    while BY_REFERENCE not in proxy.err.text():
        assert proxy.get("/f").body == body and time.monotonic() < end
    assert proxy.err.text().count("splice:") == 1


@pytest.mark.parametrize("framing", [whole, in_chunks])
@pytest.mark.parametrize("size", SIZES)
def test_every_way_to_ask(proxy, site, size, framing):
    body = noise(size)
    site["/f"] = framing(body)
    assert proxy.get("/f").body == body
    often(proxy)
    for name, (fields, kind) in ASKS.items():
        client = proxy.client()
        for _ in range(1 if "close" in name or name == "HTTP/1.0" else 3):
            got = client.get("/f", *fields, **kind)
            assert was_hit(got) and got.body == body, (name, got.fields)
    assert was_hit(proxy.get("/f", method="HEAD"))


@pytest.mark.parametrize("first,last", [(0, 70_000), (1, 299_999), (4095, 4096 * 20), (5000, 5000 + 48 * 1024 - 1), (250_000, 299_999)])
def test_ranges(proxy, site, first, last):
    body = noise(300_000)
    site["/f"] = whole(body)
    proxy.get("/f")
    often(proxy)
    for _ in range(2):
        got = proxy.get("/f", f"Range: bytes={first}-{last}")
        assert (got.status, got.body) == (206, body[first:last + 1])
        assert proxy.get("/f").body == body


def test_a_feed(proxy, site):
    data, out = big(size=400_000)
    site["/f"] = page(FRESH, body=data, kind="application/xml")
    assert proxy.get("/f").body == out
    often(proxy)
    for fields in ((), ("Connection: close",), ()):
        got = proxy.get("/f", *fields)
        assert was_hit(got) and got.body == out


def purge(proxy, site, old, new):
    assert proxy.get("/f", method="PURGE").status == 200
    return new


def confirm(proxy, site, old, new):
    """A 304 gives the stored body another head."""
    site["/f"] = lambda request: page(FRESH, f"ETag: {TAG}", "X-Head: second", body=b"", status="304 Not Modified", kind=None)
    assert proxy.get("/f", "Cache-Control: no-cache").all("X-Head") == ["second"]
    return old


def replace(proxy, site, old, new):
    assert proxy.get("/f", "Cache-Control: no-cache").body == new
    return new


def reload(proxy, site, old, new):
    proxy.reload()
    return old


CHANGES = [purge, confirm, replace, reload]
TAG = '"1"'


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("fields", [(), ("Connection: close",)], ids=["keep-alive", "close"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_left_the_store_arrives(start, origin, site, library, tmp_path, change, fields, workers):
    """Clients of either worker have read little when the body is purged, confirmed or replaced, or the configuration is read again;
    and the memory of what left is others'."""
    config = tmp_path / "utfeed.conf"
    config.write_text("")
    proxy = start(origin, "-c", str(config), "--workers", workers, "--cache-bytes", "8m", "--cache-object-max", "3m",
                  env=preloading(library))
    old, new = noise(3_000_000), noise(2_999_000, 99)
    site["/f"] = page(FRESH, f"ETag: {TAG}", "X-Head: first", body=old, kind=KIND)
    proxy.get("/f")
    often(proxy)
    assert proxy.get("/f").body == old
    proxy.says(BY_REFERENCE)
    slow = [proxy.client(receive_buffer=4096).ask("/f", *fields) for _ in range(8)]
    for client in slow:
        client.arrives()
    site["/f"] = page(FRESH, 'ETag: "2"', body=new, kind=KIND)
    now = change(proxy, site, old, new)
    assert proxy.get("/f").body == now
    for seed in range(2, 8):
        site[f"/{seed}"] = whole(noise(2_500_000, seed))
        assert proxy.get(f"/{seed}").body == noise(2_500_000, seed)
    assert all(client.response().body == old for client in slow)


def test_several_slow_readers(proxy, site):
    body = noise(1_500_000)
    site["/f"] = whole(body)
    proxy.get("/f")
    often(proxy)
    slow = [proxy.client(receive_buffer=4096 * (1 + i)).ask("/f") for i in range(8)]
    for client in slow:
        client.arrives()
    assert proxy.get("/f").body == body
    assert all(client.response().body == body for client in slow)


def test_a_client_that_leaves_amid_a_large_body(proxy, site):
    body = noise(1_500_000)
    site["/f"] = whole(body)
    proxy.get("/f")
    often(proxy)
    for _ in range(5):
        gone = proxy.client(receive_buffer=4096).ask("/f")
        gone.arrives().reset()
    assert proxy.get("/f").body == body


def test_what_is_sent_too_late_costs_no_answer(proxy, site):
    """Bytes behind a request that said close make the end a reset, never the answer's end."""
    site["/f"] = page(FRESH)
    proxy.get("/f")
    for _ in range(50):
        client = proxy.client().ask("/f", "Connection: close")
        client.send(b"\r\n")
        assert client.response().body == b"hello"


def test_a_client_that_says_nothing_is_taken_in_too(start):
    """Its connection is handed over a second late at most, and is closed in time like any other."""
    assert start(None, "--keepalive-timeout", "300ms").client().stream.at_end()
