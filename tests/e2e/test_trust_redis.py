"""Trust, of stores: records that lie, heads that grow, what a store refuses, loses or hears too late."""
import time

import pytest

from fake_redis import FakeRedis, array, bulk, forged, names_record, xx64
from pages import FRESH, Site, page, was_hit
from wire import TIMEOUT, message

WORKERS = pytest.mark.parametrize("workers", ["1", "2"])


@pytest.fixture
def fake():
    server = FakeRedis()
    yield server
    server.stop()


@pytest.fixture
def site(origin):
    return Site(origin)


def behind(server):
    return "--cache-redis", f"127.0.0.1:{server.port}"


def reaching(fake, proxy):
    """Until proxy asks its store; before, it stores nothing there."""
    before, client, until = fake.count(b"HMGET"), proxy.client(), time.monotonic() + TIMEOUT
    while fake.count(b"HMGET") == before:
        assert client.get("/nothing", "Cache-Control: only-if-cached").status == 504 and time.monotonic() < until
    client.close()
    return proxy


def filled(start, origin, fake, path="/a"):
    """The records of path, as utfeed writes them: {rest of the key: bytes}."""
    proxy = reaching(fake, start(origin, *behind(fake)))
    assert proxy.get(path).status == 200
    records = fake.has(path)
    proxy.stop()
    return records


def test_the_checksum_is_the_stores_own(start, origin, site, fake):
    """Else what follows would lie in vain."""
    site["/a"] = page(FRESH)
    record, = filled(start, origin, fake).values()
    assert xx64(record[:-8]) == int.from_bytes(record[-8:], "little")


@WORKERS
def test_trust_15_variants_under_a_variants_key(start, origin, site, fake, workers):
    """Wherever one looks there is a record of variants: the origin is asked, and nothing overflows."""
    site["/a"] = page(FRESH, "Vary: Accept-Language")
    like = next(iter(filled(start, origin, fake).values()))

    def lie(args):
        if args[0] == b"HMGET":
            return array(bulk(names_record(like, args[1][len(fake.PREFIX):] + b"\n" + args[2][1:], b"accept-language")), bulk(None))
        return None
    proxy = start(origin, *behind(fake), "--workers", workers)
    reaching(fake, proxy)
    fake.say = lie
    for number in range(6):
        asked = site.count()
        got = proxy.get("/a", f"Accept-Language: l{number}")
        assert (got.status, got.body) == (200, b"hello") and not was_hit(got) and site.count() == asked + 1
    fake.wait(lambda commands: any(args[0] == b"HMGET" and b"accept-language" in args[2] for args in commands))
    fake.wait(lambda commands: any(args[0] == b"HDEL" and b"accept-language" in args[2] for args in commands))


@pytest.mark.parametrize("old, new", [(b"ETag:", b"ETag\0"), (b"HTTP/1.1", b"HTTP/9.x")])
def test_trust_15_an_origins_head_that_is_none(start, origin, site, fake, old, new):
    """To be validated, but not to be read: a miss, asked for whole, and stored anew."""
    site["/a"] = page("Cache-Control: no-cache", 'ETag: "a"')
    (rest, record), = filled(start, origin, fake).items()
    fake.hashes = {next(iter(fake.hashes)): {b"=" + rest: forged(record, old, new)}}
    proxy = reaching(fake, start(origin, *behind(fake)))
    for asks_with in (None, '"a"'):
        got = proxy.get("/a")
        assert (got.status, got.body) == (200, b"hello") and site.last("/a")["If-None-Match"] == asks_with


@pytest.mark.parametrize("new", ["Content-Length: 1", "Transfer-Encoding: chunked", "A: b\n\nHTTP/1.1 200 OK"])
def test_trust_15_a_clients_head_that_is_none(start, origin, site, fake, new):
    """What is written as it stands must be a head, or the client's next answer would be the store's."""
    site["/a"] = page(FRESH, f"X-Origin: {'x' * 40}")
    old = f"X-Origin: {'x' * 40}".encode()
    (rest, record), = filled(start, origin, fake).items()
    assert record.count(old) == 2
    lie = forged(record, old, (new + "\r\nX: ").encode().ljust(len(old), b"x"), first=True)
    fake.hashes = {next(iter(fake.hashes)): {b"=" + rest: lie}}
    client = reaching(fake, start(origin, *behind(fake))).client()
    for hit in (False, True):
        got = client.get("/a")
        assert (got.status, got.body, was_hit(got)) == (200, b"hello", hit) and got["X-Origin"] == "x" * 40


@pytest.mark.parametrize("length, options", [(1, []), (3000, []), (1, ["--max-header-fields", "20"])], ids=["fields", "bytes", "few fields"])
def test_trust_15_304s_with_new_names_each(start, origin, site, store, length, options):
    """The head grows with each until it would be more than may be stored: then the whole is asked for again, and nobody goes without."""
    turn = iter(range(1000))
    site["/a"] = lambda request: (message("304 Not Modified", f"X-{next(turn)}: {'v' * length}", length=False) if request["If-None-Match"] else
                                  page("Cache-Control: no-cache", 'ETag: "a"'))
    proxy, whole = start(origin, *store, *options), 0
    client = proxy.client()
    for _ in range(130 if not options else 40):
        got = client.get("/a")
        assert (got.status, got.body) == (200, b"hello")
        whole += site.last("/a")["If-None-Match"] is None
    assert 2 <= whole <= 20


@WORKERS
def test_trust_15_a_reload_that_allows_fewer_fields(start, origin, site, tmp_path, workers):
    """What was stored with more is a miss."""
    fields = [f"X-{number}: v" for number in range(60)]
    site["/a"] = page("Cache-Control: no-cache", 'ETag: "a"', *fields)
    file = tmp_path / "utfeed.conf"
    conf = f"route = /={origin.url}\nworkers = {workers}\nmax-header-fields = "
    file.write_text(conf + "100\n")
    proxy = start(None, "-c", str(file))
    assert proxy.get("/a")["X-59"] == "v"
    site["/a"] = lambda request: (message("304 Not Modified", length=False) if request["If-None-Match"] else
                                  page("Cache-Control: no-cache", 'ETag: "b"', body=b"new"))
    file.write_text(conf + "20\n")
    proxy.reload()
    for _ in range(4):
        got = proxy.get("/a")
        assert (got.status, got.body) == (200, b"new")
