"""Trust, of stores: records that lie, heads that grow, what a store refuses, loses or hears too late."""
import contextlib
import itertools
import time

import pytest

from fake_redis import OOM, SILENCE, FakeRedis, array, bulk, forged, names_record, xx64
from fleets import connected, everywhere, found, has_read
from nameserver import Nameserver
from pages import FRESH, Site, page, was_hit
from ports import server_port
from sentinels import Cluster, Sentinel
from stores import Gate
from test_kept import GOOD, feed
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


SILENT = 3      # seconds


def behind(server, seconds=5):
    """A server that says nothing for so long counts as away. A busy machine's is not, unless the test is about that: SILENT."""
    return "--cache-redis", f"127.0.0.1:{server.port}", "--cache-redis-timeout", f"{seconds}s"


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


def test_what_is_learned_again_purges_nothing(start, origin, site, fake):
    """Else memory would be empty each time that utfeed has learned, and what follows would fail by chance."""
    site["/a"] = page(FRESH)
    proxy = reaching(fake, start(origin, *behind(fake)))
    assert proxy.get("/a").status == 200 and fake.has("/a")
    learned = fake.count(b"LEARN")
    fake.wait(lambda _: fake.count(b"LEARN") > learned + 1)
    fake.say = lambda args: array(*[bulk(None)] * (len(args) - 2)) if args[0] == b"HMGET" else None
    assert was_hit(proxy.get("/a", "Cache-Control: only-if-cached"))


@WORKERS
def test_trust_15_variants_under_a_variants_key(start, origin, site, fake, workers):
    """Wherever one looks there is a record of variants: the origin is asked, and nothing overflows."""
    site["/a"] = page(FRESH, "Vary: Accept-Language")
    like = next(iter(filled(start, origin, fake).values()))

    def lie(args):
        if args[0] == b"HMGET":
            return array(bulk(names_record(like, args[1][len(fake.PREFIX):] + b"\n" + args[2][1:], b"accept-language")), bulk(None), bulk(None))
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


HOSTILE = {
    "nobody asked": b"+OK\r\n+OK\r\n", "nobody asked, an array": b"$-1\r\n*1\r\n*0\r\n", "no array": b"+OK\r\n", "a number": b":1\r\n", "nil": b"$-1\r\n",
    "no elements": b"*0\r\n", "no array at all": b"*-1\r\n", "one": b"*1\r\n$1\r\na\r\n", "three": b"*3\r\n$1\r\na\r\n:1\r\n:2\r\n",
    "numbers": b"*2\r\n:1\r\n:2\r\n", "errors within": b"*2\r\n-a\r\n-b\r\n", "arrays within": b"*2\r\n*2\r\n:1\r\n:2\r\n*0\r\n",
    "deep": b"*1\r\n" * 6 + b":1\r\n", "deeper than it may be": b"*1\r\n" * 20 + b":1\r\n", "a huge array": b"*1000000000\r\n", "a huge string": b"$2147483647\r\n",
    "the largest number": b"*9223372036854775807\r\n", "a string of less than nothing": b"$-2\r\n", "no protocol": b"HTTP/1.1 200 OK\r\n\r\n",
    "a line without end": b"+" + b"x" * 100_000, "an error": b"-ERR \x1b[31m\x07\r\n", "empty": b"*2\r\n$0\r\n\r\n$0\r\n\r\n",
}


def news(*marks):
    """What a process learns of purges: the last that it knew, how many there are, what others knew, and the purges."""
    return array(bulk(b"1-0"), b":1\r\n", array(), array(*marks))


def mark(*values, number=bulk(b"1-0")):
    return array(number, array(*map(bulk, itertools.chain(*zip((b"w", b"s", b"n", b"p", b"a", b"u"), values)))))


NO_NEWS = {
    "an error": b"-ERR unknown command\r\n", "no array": b"+OK\r\n", "a mark that is a text": news(bulk(b"a")),
    "without fields": news(array(bulk(b"1-0"), array())), "a number that is none": news(mark(b"a", b"", b"0", b"1", b"0", b"", number=b":1\r\n")),
    "a nil among fields": news(mark(b"a", b"", None, b"1", b"0", b"")), "another kind": news(mark(b"x", b"", b"0", b"1", b"0", b"")),
    "a URL that is too long": news(mark(b"u", b"", b"0", b"1", b"0", b"http://a/" + b"a" * 300)),
}


@pytest.mark.parametrize("kind", NO_NEWS)
def test_trust_15_news_that_are_none(start, origin, site, fake, kind):
    """Who cannot learn what was purged looks nothing up; once it learns, it does."""
    site["*"] = page(FRESH)
    fake.say = lambda args: NO_NEWS[kind] if args[0] == b"LEARN" else None
    proxy = start(origin, *behind(fake))
    fake.wait(lambda _: fake.count(b"LEARN") > 1)
    assert proxy.get("/a").body == b"hello" and not fake.count(b"HMGET")
    fake.say = lambda args: None
    reaching(fake, proxy)


# Where messages are due: hiredis would abort the program at some of them
NO_MESSAGES = {
    "a number": b":1\r\n", "a text": bulk(b"message"), "nothing": b"*0\r\n", "two parts": array(bulk(b"message"), bulk(b"c")),
    "no word": array(b":1\r\n", bulk(b"c"), bulk(b"t")), "no channel": array(bulk(b"message"), b":1\r\n", bulk(b"t")),
    "a nil in the place of the channel": b"*3\r\n$7\r\nmessage\r\n$-1\r\n$1\r\na\r\n",
    "a nil array in that place": b"*3\r\n$7\r\nmessage\r\n*-1\r\n$1\r\na\r\n", "a nil text": b"*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$-1\r\n",
    "a nil alone": b"$-1\r\n", "a nil array alone": b"*-1\r\n",
    "an array in it": array(bulk(b"message"), bulk(b"c"), array(bulk(b"t"))), "the end": array(bulk(b"unsubscribe"), bulk(b"c"), bulk(b"0")),
    "a pattern": array(bulk(b"pmessage"), bulk(b"c"), bulk(b"t")),
}


@pytest.mark.parametrize("kind", NO_MESSAGES)
def test_trust_15_messages_that_are_none(start, origin, site, fake, kind):
    """The link ends, and nothing else does."""
    site["/a"] = page(FRESH)
    fake.say = lambda args: fake.do_subscribe(args[1]) + NO_MESSAGES[kind] if args[0] == b"SUBSCRIBE" else None
    proxy = start(origin, *behind(fake))
    proxy.says("it answers what nobody asked; trying again")
    reaching(fake, proxy)
    assert proxy.get("/a").status == 200 and fake.has("/a")


NO_LEASES = {
    "no entry": array(bulk(b"stored"), bulk(b"x"), bulk(None), bulk(None)), "nothing": array(), "no text": array(b":1\r\n"),
    "another word": array(bulk(b"yours")), "a wait without an owner": array(bulk(b"wait")), "stored alone": array(bulk(b"stored")),
    "a wait for no time": array(bulk(b"wait"), bulk(b"1 1"), b":-9223372036854775808\r\n"),
}


@pytest.mark.parametrize("kind", NO_LEASES)
def test_trust_15_leases_that_are_none(start, origin, site, fake, kind):
    """The origin is asked, and the server not without end."""
    site["*"] = page(FRESH)
    fake.say = lambda args: NO_LEASES[kind] if args[0] == b"LEASE" else None
    proxy = reaching(fake, start(origin, *behind(fake), "--fill-lease", "200ms"))
    fake.wait(lambda _: fake.count(b"SUBSCRIBE"))
    assert proxy.get("/a").body == b"hello" and fake.count(b"LEASE") < 30


def test_trust_15_a_lease_whose_entry_is_always_another(start, origin, site, fake):
    """An entry that can be read, and is older than what is here, each time: it is asked for twice, and then the origin."""
    site["*"] = page("Cache-Control: max-age=0")
    proxy = reaching(fake, start(origin, *behind(fake)))
    fake.wait(lambda _: fake.count(b"SUBSCRIBE"))
    assert proxy.get("/a").status == 200
    fake.wait(lambda _: fake.has("/a"))
    entry = next(value for key, fields in fake.hashes.items() if key.endswith(b"/a") for name, value in fields.items() if name[:1] == b"=")
    fake.say = lambda args: array(bulk(b"stored"), bulk(entry), bulk(None), bulk(None)) if args[0] == b"LEASE" else None
    before = fake.count(b"LEASE")
    assert proxy.get("/a").status == 200 and fake.count(b"LEASE") - before < 10


def test_trust_15_a_turn_that_never_comes(start, origin, site, fake):
    """A wait that no interval explains counts as the longest that one could."""
    site["*"] = page(FRESH)
    fake.say = lambda args: array(b":9223372036854775807\r\n") if args[0] == b"PACE" else None
    proxy = reaching(fake, start(origin, *behind(fake), "--host-interval", "100ms"))
    fake.wait(lambda _: fake.count(b"SUBSCRIBE"))
    got = proxy.get("/a")
    assert got.status == 503 and int(got["Retry-After"]) <= 3


@WORKERS
@pytest.mark.parametrize("kind", HOSTILE)
def test_trust_15_replies_that_are_none(start, origin, site, fake, kind, workers):
    """Whatever a server says to a lookup: the origin is asked, and the program lives."""
    site["*"] = page(FRESH)
    proxy = reaching(fake, start(origin, *behind(fake, SILENT), "--workers", workers))
    fake.say = lambda args: HOSTILE[kind] if args[0] == b"HMGET" else None
    for number in range(3):
        assert (proxy.get(f"/{number}").status, proxy.get(f"/{number}").body) == (200, b"hello")
    fake.say = lambda args: None
    fake.cut()
    reaching(fake, proxy)
    proxy.assert_growth(proxy.status("VmRSS"), 200 << 10)
    assert "\x1b" not in proxy.err.text()


# ---- what is removed stays removed ----

@pytest.fixture
def versions(site):
    """Each answer of the origin is another version."""
    turn = itertools.count(1)
    site["*"] = lambda request: (message("200 OK") if request.method == "POST" else
                                 page("Cache-Control: max-age=3600", body=b"v%d of %s" % (next(turn), request.target.encode())))
    return site


def anew(proxy, path="/a"):
    got = proxy.get(path, "Cache-Control: no-cache")
    assert got.status == 200
    return got.body


def restarted(start, origin, proxy, options, fake=None):
    proxy.stop()
    proxy = start(origin, *options)
    return reaching(fake, proxy) if fake else proxy


def purge(proxy, path="/a", what="url"):
    return proxy.get(path, f"X-Purge: {what}", method="PURGE")


def away(fake, _):
    fake.stop()


def refused(fake, word, error=OOM):
    fake.say = lambda args: error if args[0] == word else None


LOSSES = {
    "out of memory": lambda fake, proxy: refused(fake, b"HSET"),
    "away": away,
    "another type": lambda fake, proxy: refused(fake, b"HSET", b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"),
    "never answered": lambda fake, proxy: refused(fake, b"HSET", SILENCE),
    "an answer that is none": lambda fake, proxy: refused(fake, b"HSET", b"?\r\n"),
}


@WORKERS
@pytest.mark.parametrize("loss", LOSSES)
def test_trust_17_a_put_that_is_lost_ends_what_it_replaced(start, origin, versions, fake, loss, workers):
    """v2 was seen: v1 must not come back with a restart."""
    options = *behind(fake, SILENT), "--workers", workers
    proxy = reaching(fake, start(origin, *options))
    assert proxy.get("/a").body == b"v1 of /a"
    fake.has("/a")
    LOSSES[loss](fake, proxy)
    assert anew(proxy) == b"v2 of /a"
    if loss == "away":
        fake.start()
    fake.wait(lambda commands: any(args[0] == b"HDEL" for args in commands))
    fake.say = lambda args: None
    proxy = restarted(start, origin, proxy, options, fake)
    assert proxy.get("/a").body == b"v3 of /a"


TAKEN = {"PURGE": lambda proxy: purge(proxy), "prefix": lambda proxy: purge(proxy, "/", "prefix"), "all": lambda proxy: purge(proxy, "/", "all"),
         "POST": lambda proxy: proxy.get("/a", "Content-Length: 0", method="POST")}


@WORKERS
@pytest.mark.parametrize("how", TAKEN)
def test_trust_17_taken_away_while_the_store_is_away(start, origin, versions, fake, how, workers):
    """It comes back with all it had: that is not found, for its removal is owed and comes first."""
    options = *behind(fake), "--workers", workers
    proxy = reaching(fake, start(origin, *options))
    assert proxy.get("/a").body == b"v1 of /a"
    fake.has("/a")
    fake.stop()
    proxy.says("trying again")
    got = TAKEN[how](proxy)
    assert got.status == (200 if how == "POST" else 202) and (how == "POST" or b"not confirmed" in got.body)
    fake.start()
    assert proxy.get("/a", "Cache-Control: only-if-cached").status == 504
    proxy.says("redis store: connected")
    assert not fake.records("/a")
    assert purge(proxy).status == 200
    proxy = restarted(start, origin, proxy, options, fake)
    assert proxy.get("/a").body == b"v2 of /a"


@pytest.mark.parametrize("how", ["PURGE", "prefix", "POST"])
def test_trust_17_owed_at_exit_is_tried(start, origin, versions, fake, how):
    """SIGTERM while the store is away: it has a moment to come back, and what is owed is done."""
    proxy = reaching(fake, start(origin, *behind(fake)))
    proxy.get("/a")
    fake.has("/a")
    fake.stop()
    proxy.says("trying again")
    TAKEN[how](proxy)
    proxy.sigterm()
    fake.start()
    proxy.stop()
    assert not fake.records("/a") and "removed" not in proxy.err.text()


def test_trust_17_owed_at_exit_is_told(start, origin, versions, fake):
    proxy = reaching(fake, start(origin, *behind(fake, SILENT)))
    proxy.get("/a")
    fake.has("/a")
    # Replies come in order: utfeed has read that of the entry, which it would owe as well otherwise
    assert proxy.get("/nothing", "Cache-Control: only-if-cached").status == 504
    fake.stop()
    proxy.says("trying again")
    assert purge(proxy).status == purge(proxy, "/b/", "prefix").status == 202
    anew(proxy, "/c")
    proxy.stop()
    told = proxy.err.text()
    assert "3 removals could not be made" in told
    assert all(f"not removed: {origin.url}{path}\n" in told for path in ("/a", "/b/*", "/c"))


@WORKERS
@pytest.mark.parametrize("word, error", [(b"UNLINK", b"-READONLY You can't write against a read only replica.\r\n"), (b"UNLINK", SILENCE),
                                         (b"PING", SILENCE)])
def test_trust_17_nothing_is_looked_up_while_a_removal_is_refused(start, origin, versions, fake, word, error, workers):
    """Told so, and it stays a miss; once the store takes removals again, it serves again."""
    proxy = reaching(fake, start(origin, *behind(fake, SILENT), "--workers", workers))
    proxy.get("/a")
    record = fake.has("/a")
    refused(fake, word, error)
    got = purge(proxy)
    assert got.status == 202 and b"not confirmed" in got.body
    with fake.lock:
        key = FakeRedis.PREFIX + f"{origin.url}/a".encode()
        fake.hashes = {key: {b"=" + rest: value for rest, value in record.items()}} if word == b"UNLINK" else {}
    for _ in range(5):
        assert proxy.get("/a", "Cache-Control: only-if-cached").status == 504
    fake.say = lambda args: None
    proxy.says("redis store: connected")
    assert proxy.get("/a", "Cache-Control: only-if-cached").status == 504 and not fake.records("/a")
    reaching(fake, proxy)
    assert purge(proxy).status == 200


@pytest.mark.parametrize("word, error", [(b"SCAN", b"-ERR unknown command\r\n"), (b"SCAN", b"+OK\r\n"), (b"SCAN", SILENCE),
                                         (b"UNLINK", b"-READONLY\r\n"), (b"UNLINK", SILENCE)])
def test_trust_17_a_prefix_that_is_not_purged(start, origin, versions, fake, word, error):
    """Not confirmed and a miss, while keys cannot be looked through or removed; then it is done."""
    proxy = reaching(fake, start(origin, *behind(fake, SILENT)))
    proxy.get("/a")
    fake.has("/a")
    refused(fake, word, error)
    assert purge(proxy, "/", "prefix").status == 202
    assert proxy.get("/a", "Cache-Control: only-if-cached").status == 504
    fake.say = lambda args: None
    fake.wait(lambda _: not fake.records("/a"))
    reaching(fake, proxy)
    assert purge(proxy, "/", "prefix").status == 200


@pytest.mark.parametrize("what", ["url, soft", "prefix, soft"])
def test_trust_17_a_mark_that_is_refused(start, origin, versions, fake, what):
    """What cannot be marked stale is taken away."""
    proxy = reaching(fake, start(origin, *behind(fake)))
    proxy.get("/a")
    fake.has("/a")
    refused(fake, b"HSET")
    got = purge(proxy, "/a", what)
    assert got.status == 200 and not fake.records("/a")


@WORKERS
def test_trust_17_who_purges_may_leave(start, origin, versions, fake, workers):
    """Before the store answers, and again before it does not."""
    proxy = reaching(fake, start(origin, *behind(fake, SILENT), "--workers", workers))
    for error in (SILENCE, None):
        proxy.get("/a")
        fake.say = lambda args, error=error: error if args[0] == b"PING" else None
        for _ in range(10):
            client, before = proxy.client(), fake.count(b"UNLINK")
            client.ask("/a", method="PURGE")
            if error is None:
                fake.wait(lambda _, before=before: fake.count(b"UNLINK") > before)
            client.drained()
            client.close()
    reaching(fake, proxy)
    assert purge(proxy).status == 200


@pytest.mark.http1("requests behind each other: streams have no order")
@WORKERS
def test_trust_17_pipelined_behind_a_purge(start, origin, versions, store, workers):
    """Answers come in order, and the one behind it finds nothing of what it took away."""
    proxy = start(origin, *store, "--workers", workers)
    client = proxy.client()
    for turn in range(1, 20, 2):
        assert client.get("/a").body == b"v%d of /a" % turn
        client.ask("/a", method="PURGE").ask("/a").ask("/a", "X-Purge: all", method="PURGE")
        got = [client.response() for _ in range(3)]
        assert got[0].status in (200, 202) and got[1].body == b"v%d of /a" % (turn + 1) and got[2].status in (200, 202)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_trust_17_a_purge_that_was_answered_survives_a_kill(start, origin, versions, store, workers):
    """200 says that the second store has done it: kill -9 right after it, ten times."""
    if not store:
        pytest.skip("memory is gone with its process")
    options = *store, "--workers", workers
    for _ in range(10):
        proxy = start(origin, *options)
        until = time.monotonic() + TIMEOUT
        while (got := purge(proxy, "/b")).status != 200:  # it takes nothing before it is there
            assert got.status == 202 and time.monotonic() < until
        proxy.get("/a")
        assert purge(proxy, "/b").status == 200           # and with it what was asked for before: /a is stored
        assert purge(proxy).status == 200
        proxy.process.kill()
        proxy.process.wait()
        proxy.stopped = True
        again = start(origin, *options)
        while (got := purge(again, "/b")).status != 200:
            assert got.status == 202 and time.monotonic() < until
        got = again.get("/a", "Cache-Control: only-if-cached")
        assert got.status == 504, got.body
        again.stop()


@WORKERS
def test_trust_17_a_purge_without_end_holds_nobody_up(start, origin, versions, fake, workers):
    """A store that looks through its keys for ever: told after a while, and lookups go on, but for what is purged."""
    proxy = reaching(fake, start(origin, *behind(fake), "--workers", workers))
    for path in ("/a/1", "/b/1"):
        proxy.get(path)
    a, b = fake.has("/a/1"), fake.has("/b/1")
    fake.say = lambda args: array(bulk(b"7"), array()) if args[0] == b"SCAN" else None
    client, other = proxy.client(), proxy.client()
    client.ask("/a/", "X-Purge: prefix", method="PURGE")
    fake.wait(lambda _: fake.count(b"SCAN") > 3)
    other.ask("/none", method="PURGE")
    looked_up = fake.count(b"HMGET")
    for number in range(5):
        assert proxy.get(f"/c/{number}").status == 200
    assert fake.count(b"HMGET") == looked_up + 5
    assert proxy.get("/a/1", "Cache-Control: only-if-cached").status == 504
    assert client.response().status == other.response().status == 202
    assert fake.records("/a/1") == a and fake.records("/b/1") == b
    fake.say = lambda args: None
    fake.wait(lambda _: not fake.records("/a/1"))
    assert purge(proxy, "/none").status == 200


# ---- the first requests of a start ----

class Lost:
    """A master's address where nobody is."""
    def __init__(self):
        self.port = server_port()


# GATE is the address of a server whose answer the test holds up; REFUSES: nobody is there; ELSEWHERE: a Sentinel that names such a master
SERVERS = {
    "a server": "127.0.0.1:GATE", "a name whose first address refuses": "redis.test:GATE",
    "a cluster": "cluster://127.0.0.1:GATE", "a cluster whose first node refuses": "cluster://127.0.0.1:REFUSES,127.0.0.1:GATE",
    "Sentinel": "sentinel://feeds@127.0.0.1:GATE",
    "Sentinels of whom the first refuses": "sentinel://feeds@127.0.0.1:REFUSES,127.0.0.1:GATE",
    "Sentinels of whom the first names another master": "sentinel://feeds@127.0.0.1:ELSEWHERE,127.0.0.1:GATE",
}


@pytest.fixture
def watching(tmp_path):
    """watching(master): a Sentinel that names it."""
    made = []

    def make(master):
        made.append(Sentinel(tmp_path / f"watching{len(made)}", master))
        return made[-1]
    yield make
    for each in made:
        each.stop()


@pytest.fixture
def gated(redis_server, watching):
    """gated(kind): the options of a utfeed and the Gate that it finds, and the options of one that finds the same servers at once."""
    with contextlib.ExitStack() as ends:
        def make(kind, *options):
            where = SERVERS[kind]
            server = Cluster(redis_server).masters[0] if "cluster" in where else redis_server("redis-server")
            server = watching(server) if "sentinel" in where else server
            gate = ends.enter_context(contextlib.closing(Gate(server.port)))
            names = ends.enter_context(contextlib.closing(Nameserver()))
            names.zone["redis.test"] = ["127.0.0.2", "127.0.0.1"]
            where = where.replace("REFUSES", str(server_port()))
            if "ELSEWHERE" in where:
                where = where.replace("ELSEWHERE", str(watching(Lost()).port))
            options = ("--resolver", names.address, "--workers", "1", *options)
            return (("--cache-redis", where.replace("GATE", str(gate.port)), *options), gate,
                    ("--cache-redis", where.replace("GATE", str(server.port)), *options))
        yield make


@pytest.mark.parametrize("kind", SERVERS)
def test_trust_17_the_first_request_of_a_start(start, origin, versions, site, gated, kind):
    """It comes before the server can answer, waits for it, and finds what a process before has stored. So do those behind it."""
    behind_gate, gate, at_once = gated(kind, "--cache-redis-timeout", "20s")
    paths = [f"/{number}" for number in range(8)]
    before = start(origin, *at_once)
    assert everywhere(before)
    stored = {path: before.get(path).body for path in paths}
    assert everywhere(before)
    before.stop()
    asked = site.count()
    proxy = start(origin, *behind_gate)
    clients = {path: proxy.client().ask(path) for path in paths}
    has_read(proxy)
    gate.opened()
    for path, client in clients.items():
        got = client.response()
        assert (got.status, got.body, was_hit(got)) == (200, stored[path], True)
    assert site.count() == asked


@pytest.mark.parametrize("kind", ["a server", "a cluster"])
def test_trust_17_what_the_first_request_fetches_is_stored(start, origin, versions, gated, kind):
    """Nobody has it. So it comes from the origin, and is stored for the others, although there were purges of it before."""
    behind_gate, gate, at_once = gated(kind, "--cache-redis-timeout", "20s")
    other = start(origin, *at_once)
    assert everywhere(other) and purge(other, "/", "prefix").status == 200
    first = start(origin, *behind_gate)
    client = first.client().ask("/a")
    has_read(first)
    gate.opened()
    got = client.response()
    assert not was_hit(got) and everywhere(first) and found(other, "/a") == got.body == b"v1 of /a"


@pytest.mark.parametrize("where", ["127.0.0.1:{0}", "redis.test:{0}", "cluster://127.0.0.1:{0},127.0.0.1:{1}", "sentinel://feeds@127.0.0.1:{0},127.0.0.1:{1}",
                                   "sentinel://feeds@127.0.0.1:{2}", "/nobody/is/there"])
def test_trust_17_the_first_request_where_nobody_is(start, origin, site, watching, where):
    """Once everybody has refused, nobody waits. A minute would be longer than this test waits; utfeed would owe what may be stored so long."""
    site["/a"] = page("Cache-Control: no-store")
    with contextlib.closing(Nameserver()) as names:
        names.zone["redis.test"] = ["127.0.0.2", "127.0.0.1"]
        where = where.format(server_port(), server_port(), watching(Lost()).port if "{2}" in where else "")
        proxy = start(origin, "--cache-redis", where, "--cache-redis-timeout", "1m", "--resolver", names.address)
        for _ in range(2):
            got = proxy.get("/a")
            assert (got.status, got.body, was_hit(got)) == (200, b"hello", False)


@pytest.mark.parametrize("kind", ["a server", "a cluster", "Sentinel"])
def test_trust_17_the_first_request_where_nothing_is_answered(start, origin, versions, gated, kind):
    """The origin is asked after cache-redis-timeout. Nobody waits after that, and the server is found once it answers."""
    seconds = 2
    behind_gate, gate, _ = gated(kind, "--cache-redis-timeout", f"{seconds}s")
    began = time.monotonic()
    proxy = start(origin, *behind_gate)
    got = proxy.get("/a")
    assert (got.status, got.body, was_hit(got)) == (200, b"v1 of /a", False) and time.monotonic() - began >= seconds
    began = time.monotonic()
    for number in range(30):
        assert proxy.get(f"/{number}").status == 200
    assert time.monotonic() - began < 30 * seconds / 2
    gate.opened()
    assert connected(proxy) and everywhere(proxy)


@pytest.mark.parametrize("refusal", [OOM, None], ids=["refused", "done"])
def test_trust_17_a_purge_of_a_start_comes_before_lookups(start, origin, site, fake, refusal):
    """Both wait for the server, which refuses the purge at first."""
    site["/a"] = page(FRESH, body=b"v1")
    first = reaching(fake, start(origin, *behind(fake)))
    assert first.get("/a").body == b"v1" and fake.has("/a")
    first.stop()
    site["/a"] = page(FRESH, body=b"v2")
    refused_once = itertools.chain([refusal], itertools.repeat(None))
    with contextlib.closing(Gate(fake.port)) as gate:
        proxy = start(origin, *behind(gate), "--workers", "1")
        purging = proxy.client().ask("/a", method="PURGE")
        has_read(proxy)
        asking = proxy.client().ask("/a")
        has_read(proxy)
        fake.say = lambda args: next(refused_once) if args[0] == b"UNLINK" else None
        gate.opened()
        assert purging.response().status in (200, 202)
        assert asking.response().body == b"v2" and proxy.get("/a").body == b"v2"


@pytest.mark.parametrize("client", ["waits", "leaves"])
def test_trust_17_a_start_ends_at_once(start, origin, gated, client):
    """SIGTERM while a request waits for a server that says nothing: with its client or at the second one utfeed ends. It owes nobody anything."""
    behind_gate, _, _ = gated("a server", "--cache-redis-timeout", "1m")
    proxy = start(origin, *behind_gate)
    waiting = proxy.client().ask("/a")
    has_read(proxy)
    if client == "leaves":
        waiting.close()
    proxy.sigterm()
    if client == "waits":
        proxy.says("ending: nobody new is accepted")
        proxy.sigterm()
    proxy.stop()


@pytest.mark.parametrize("origin_is", ["there", "away"])
def test_trust_17_the_first_request_finds_what_is_stale(start, origin, site, gated, origin_is):
    """It was stored after a purge of everything, of which this process hears only now. It is confirmed for all, or serves as the kept feed."""
    behind_gate, gate, at_once = gated("a server", "--cache-redis-timeout", "20s")
    site["/a"] = feed("Cache-Control: max-age=0", 'ETag: "a"')
    other = start(origin, *at_once)
    assert everywhere(other) and purge(other, "/", "all").status == 200
    assert other.get("/a").status == 200 and everywhere(other)
    site["/a"] = message("304 Not Modified", FRESH, length=False) if origin_is == "there" else page(status="503 Service Unavailable")
    first = start(origin, *behind_gate)
    client = first.client().ask("/a")
    has_read(first)
    gate.opened()
    got = client.response()
    assert (got.status, got.body, site.last("/a")["If-None-Match"]) == (200, GOOD, '"a"')
    if origin_is == "there":
        assert was_hit(first.get("/a")) and everywhere(first) and was_hit(start(origin, *at_once).get("/a"))
