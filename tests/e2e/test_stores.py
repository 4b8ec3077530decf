"""Stores: what memory takes; LMDB survives restarts and kill -9; Redis or Valkey is shared, comes and goes, speaks TLS."""
import functools
import hashlib
import itertools
import os
import random
import re
import subprocess
import threading
import time

import pytest

from pages import FRESH, Site, page, was_hit
from peers import Background
from proxy import BINARY
from wire import PATIENCE, TIMEOUT, Cut


@pytest.fixture
def numbers(origin):
    """Every path is a page of its own, told apart by its body."""
    site = Site(origin)
    site["*"] = lambda request: page(FRESH, body=numbered(request.target))
    return site


def numbered(path):
    """A body that tells whether it is whole, of this path."""
    seed = hashlib.sha256(path.encode()).hexdigest().encode()
    return (path.encode() + b"\n" + seed * (1 + len(path) * 7 + int(seed[:3], 16) // 8))[:40_000]


# ---- memory ----

def sized(number):
    """As many of each power of two, from 1 KiB to 10 MiB."""
    power = 1024 << number % 14
    return min(power + power * (number // 14 % 4) // 4, 10 << 20)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 4])
def test_memory_stays_within_its_budget(start, origin, workers):
    """Filled ten times over; two clients, so what is on its way is no more than 20 MiB."""
    budget = 128 << 20
    Site(origin)["*"] = lambda request: page(FRESH, body=bytes(sized(int(request.target[1:]))))
    proxy = start(origin, "--cache-bytes", str(budget), "--cache-object-max", "11m", "--workers", str(workers), "--access-log", "off")
    before, over, number, total = proxy.status("VmRSS"), 10 * budget, 0, 0
    clients = [proxy.client() for _ in range(2)]
    while total < over:
        for client in clients:
            client.ask(f"/{number}")
            total, number = total + sized(number), number + 1
        for client in clients:
            assert client.response().status == 200
    print(f"{workers} workers: RSS at most {(proxy.status('VmHWM') - before) * 102400 // budget} % of the budget")
    proxy.assert_growth(before, budget * 5 // 4 >> 10)


# ---- LMDB ----

def killed(proxy):
    proxy.process.kill()
    proxy.process.wait()
    proxy.stopped = True
    for client in proxy.clients:
        client.close()


def test_lmdb_survives_a_restart(start, origin, numbers, tmp_path):
    options = "--cache-lmdb", str(tmp_path), "--cache-lmdb-bytes", "64m"
    first = start(origin, *options)
    for number in range(20):
        first.get(f"/{number}")
    first.stop()
    second, before = start(origin, *options), numbers.count()
    for number in range(20):
        got = second.get(f"/{number}")
        assert got.body == numbered(f"/{number}") and was_hit(got) and "Age" in got
    assert numbers.count() == before


def test_variants_of_a_former_process(start, origin, tmp_path):
    """A new variant joins those that stand in the folder; one from before a response for all does not come back."""
    site, options, vary = Site(origin), ("--cache-lmdb", str(tmp_path)), ["Vary: User-Agent"]
    site["*"] = lambda request: page(FRESH, *vary, body=b"%d" % site.count())
    ask = lambda proxy, name: proxy.get("/f", f"User-Agent: {name}").body
    first = start(origin, *options)
    assert [ask(first, "a"), ask(first, "b")] == [b"1", b"2"]
    first.stop()
    second = start(origin, *options)
    assert [ask(second, name) for name in "cab"] == [b"3", b"1", b"2"]
    vary.clear()
    assert ask(second, "d") == ask(second, "a") == b"4"
    second.stop()
    third = start(origin, *options)
    assert ask(third, "a") == b"4"
    vary[:] = ["Vary: User-Agent"]
    assert third.get("/f", "User-Agent: b", "Cache-Control: no-cache").body == b"5"
    assert [ask(third, name) for name in "abc"] == [b"6", b"5", b"7"]


def test_lmdb_of_another_format(start, origin, numbers, tmp_path):
    options, file = ("--cache-lmdb", str(tmp_path)), tmp_path / "data.mdb"
    first = start(origin, *options)
    first.get("/1")
    first.stop()
    written = file.read_bytes()
    assert b"format\0f" in written
    file.write_bytes(re.sub(rb"(format\0f)..", rb"\1zz", written, flags=re.DOTALL))
    second = start(origin, *options)
    assert "another version of utfeed" in second.err.text() and str(tmp_path) in second.err.text()
    assert not was_hit(second.get("/1")) and was_hit(second.get("/1"))
    second.stop()
    third = start(origin, *options)
    assert "another version" not in third.err.text() and was_hit(third.get("/1"))


def test_lmdb_full(start, origin, numbers, tmp_path):
    """Ten times what the file may hold: every client is answered, the file stays within its size."""
    proxy = start(origin, "--cache-lmdb", str(tmp_path), "--cache-lmdb-bytes", "1m", "--cache-bytes", "1m")
    client, total, number = proxy.client(), 0, 0
    while total < 10 << 20:
        got = client.get(f"/{number}")
        assert got.status == 200 and got.body == numbered(f"/{number}") and not was_hit(got)
        total, number = total + len(got.body), number + 1
    assert (tmp_path / "data.mdb").stat().st_size <= 1 << 20
    proxy.stop()
    assert "lmdb store" not in proxy.err.text()


def kill_rounds(start, origin, folder, rounds):
    options = "--cache-lmdb", str(folder), "--cache-lmdb-bytes", "64m", "--access-log", "off"
    dice, hits = random.Random(4), 0
    for _ in range(rounds):
        proxy, over, bad = start(origin, *options), threading.Event(), []

        def load():
            seen = 0
            try:
                client = proxy.client()
                while not over.is_set():
                    path = f"/{dice.randrange(200)}"
                    got = client.get(path)
                    if got.status != 200 or got.body != numbered(path):
                        bad.append((path, got.line, len(got.body)))
                    seen += was_hit(got)
            except (Cut, OSError):
                pass
            return seen
        readers = [Background(load) for _ in range(3)]
        time.sleep(dice.uniform(0.02, 0.25))        # the moment of the kill is what is random
        killed(proxy)
        over.set()
        hits += sum(reader.join() for reader in readers)
        assert not bad, bad[:3]
    last = start(origin, *options)
    kept = 0
    for number in range(200):
        got = last.get(f"/{number}")
        assert got.status == 200 and got.body == numbered(f"/{number}")
        kept += was_hit(got)
    print(f"{rounds} kills: {hits} hits, {kept} of 200 kept")
    assert kept > 100, f"{kept} of 200 kept after {rounds} kills"


def test_lmdb_survives_kills(start, origin, numbers, tmp_path):
    kill_rounds(start, origin, tmp_path, 20)


@pytest.mark.slow
def test_lmdb_survives_200_kills(start, origin, numbers, tmp_path):
    kill_rounds(start, origin, tmp_path, 200)


# ---- Redis and Valkey ----

@pytest.fixture(params=["redis-server", "valkey-server"])
def redis(request, redis_server):
    return functools.partial(redis_server, request.param)


@pytest.fixture(scope="session")
def redis_tls():
    done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--cache-redis", "127.0.0.1:1", "--cache-redis-tls", "on",
                           "--cache-redis-ca-file", "/nowhere"], stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert done.returncode != 0
    if b"this build has no TLS for Redis" in done.stderr:
        pytest.skip("hiredis has no TLS here")
    assert b"/nowhere" in done.stderr


def share(first, second):
    """A page that first fetched and second finds. A store is written behind the client's back, and not before its server is there."""
    until = time.monotonic() + TIMEOUT
    for number in itertools.count():
        first.get(f"/{number}")
        path = f"/{max(number - 1, 0)}"
        got = second.get(path, "Cache-Control: only-if-cached")
        if got.status == 200:
            return path, got
        assert time.monotonic() < until, "never found"


WHO = {
    "nobody": ([], []),
    "a password": (["--requirepass", "a secret"], ["--cache-redis-password", "a secret"]),
    "a user": (["--user", "feeds", "on", ">pass", "~utfeed:*", "+@all"], ["--cache-redis-user", "feeds", "--cache-redis-password", "pass"]),
}


@pytest.mark.parametrize("who", WHO)
def test_redis_is_shared(start, origin, numbers, redis, who):
    theirs, ours = WHO[who]
    options = ["--cache-redis", f"127.0.0.1:{redis(*theirs).port}", *ours]
    first, second = start(origin, *options), start(origin, *options)
    path, got = share(first, second)
    assert got.body == numbered(path) and numbers.count(path) == 1


def languages(origin):
    """Variants of one page: of no use after a second, but for "long"."""
    Site(origin)["*"] = lambda request: page("Vary: Accept-Language", f"Cache-Control: max-age={3600 if request['Accept-Language'] == 'long' else 1}")


def variants_in(server):
    """The language of each variant that the server holds, and how long it keeps what it holds at most."""
    keys = server.ask("KEYS", "*http*")
    fields = [field for key in keys for field in server.ask("HKEYS", key) if field.startswith(b"=")]
    return {re.search(rb"language.(\w+)", field)[1] for field in fields if b"language" in field}, max((server.ask("TTL", key) for key in keys), default=0)


def test_redis_variants_end_each_by_itself(start, origin, redis):
    """Issue 31, A 8: what comes in does not keep alive what is of no use."""
    server = redis()
    languages(origin)
    proxy, until = start(origin, "--cache-redis", f"127.0.0.1:{server.port}"), time.monotonic() + PATIENCE
    while not variants_in(server)[0]:          # until its server is there
        proxy.get("/a", f"Accept-Language: early{time.monotonic()}")
        assert time.monotonic() < until
    for number in range(20):
        proxy.get("/a", f"Accept-Language: x{number}")
    for number in itertools.count():
        held, seconds = variants_in(server)
        if not [each for each in held if each[:1] in b"ex"]:
            break
        assert time.monotonic() < until and seconds <= 60, (held, seconds)
        proxy.get("/a", f"Accept-Language: y{number}")
    proxy.get("/a", "Accept-Language: long")
    while b"long" not in variants_in(server)[0]:
        assert time.monotonic() < until
    assert 3500 < variants_in(server)[1] <= 3600
    proxy.get("/a", "Accept-Language: last")
    while b"last" not in variants_in(server)[0]:
        assert time.monotonic() < until
    assert 3500 < variants_in(server)[1] <= 3600 and b"long" in variants_in(server)[0]


def test_redis_with_what_another_version_left(start, origin, numbers, redis):
    """It is neither read nor counted as an error. A purge removes what it covers of other formats, and no other keys."""
    server = redis()
    for number in range(20):
        server.ask("HSET", f"utfeed:{origin.url}/{number}", "=", "another layout")
        server.ask("SET", f"utfeed:1:{origin.url}/{number}", "another type")
    options = ["--cache-redis", f"127.0.0.1:{server.port}"]
    first, second = start(origin, *options), start(origin, *options)
    share(first, second)
    for what, left in ("url", 19), ("prefix", 9), ("all", 0):
        assert first.get("/1", f"X-Purge: {what}", method="PURGE").status == 200
        assert len(server.ask("KEYS", "utfeed:http*")) == 20 and len(server.ask("KEYS", "utfeed:1:*")) == left


def test_redis_that_runs_no_scripts_is_told(start, origin, numbers, redis):
    """Here its user may not run scripts."""
    server = redis("--user", "feeds", "on", ">pass", "~utfeed:*", "+@all", "-@scripting")
    proxy = start(origin, "--cache-redis", f"127.0.0.1:{server.port}", "--cache-redis-user", "feeds", "--cache-redis-password", "pass")
    until, client = time.monotonic() + TIMEOUT, proxy.client()
    for number in itertools.count():
        assert client.get(f"/{number}").status == 200 and time.monotonic() < until
        if "NOPERM" in proxy.err.text():
            break
    for number in range(20):
        assert client.get(f"/again{number}").status == 200
    assert proxy.err.text().count("NOPERM") == 1 and proxy.get("/1", method="PURGE").status == 202


def commands_of_the_manual():
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "conf", "utfeed-cache.7"), encoding="utf-8") as file:
        return re.findall(r"[A-Z]+", re.search(r"\.Ql utfeed:\*\nand the commands ([A-Z, \n]*(?:and [A-Z]+)?)\.", file.read())[1])


def test_redis_with_the_commands_of_the_manual(start, origin, numbers, redis):
    """A user who may do no more stores, finds, and purges in each way."""
    server = redis("--user", "feeds", "on", ">pass", "~utfeed:*", "&utfeed:*", "-@all", *(f"+{name.lower()}" for name in commands_of_the_manual()))
    options = ["--cache-redis", f"127.0.0.1:{server.port}", "--cache-redis-user", "feeds", "--cache-redis-password", "pass"]
    first, second = start(origin, *options), start(origin, *options)
    share(first, second)
    for what in ("url", "prefix", "all", "url, soft", "all, soft"):
        assert first.get("/1", f"X-Purge: {what}", method="PURGE").status == 200, what
    share(second, first)
    for proxy in (first, second):
        assert "NOPERM" not in proxy.err.text()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_redis_over_tls(start, origin, numbers, redis, redis_tls, authority, good, host):
    server = redis("--requirepass", "a secret", certificate=good)
    options = ["--cache-redis", f"{host}:{server.port}", "--cache-redis-password", "a secret", "--cache-redis-tls", "on",
               "--cache-redis-ca-file", authority.root.cert]
    first, second = start(origin, *options), start(origin, *options)
    path, got = share(first, second)
    assert got.body == numbered(path) and numbers.count(path) == 1


@pytest.mark.parametrize("wrong, why", [("authority", "certificate"), ("name", "IP address mismatch"), ("clear", "")])
def test_redis_that_is_not_who_it_should_be(start, origin, numbers, redis, redis_tls, authority, good, wrong, why):
    """Nothing is said to it, and clients see nothing of that."""
    other = authority.issue("other.test", names="DNS:other.test")
    server = redis(certificate={"authority": good, "name": other, "clear": None}[wrong])
    trusted = [] if wrong == "authority" else ["--cache-redis-ca-file", authority.root.cert]
    proxy = start(origin, "--cache-redis", f"127.0.0.1:{server.port}", "--cache-redis-tls", "on", *trusted)
    assert proxy.get("/1").body == proxy.get("/1").body == numbered("/1") and numbers.count() == 1
    proxy.says("; trying again")
    assert why in proxy.err.text()
    assert "connected" not in proxy.err.text()


def test_redis_stopped_and_started_under_load(start, origin, numbers, redis):
    server = redis()
    proxy = start(origin, "--cache-redis", f"127.0.0.1:{server.port}", "--cache-bytes", "1m", "--access-log", "off")
    over, bad = threading.Event(), []

    def load(seed):
        dice, client, count = random.Random(seed), proxy.client(), 0
        while not over.is_set():
            path = f"/{dice.randrange(300)}"
            got = client.get(path)
            if got.status != 200 or got.body != numbered(path):
                bad.append((path, got.line))
            count += 1
        return count
    readers = [Background(load, seed) for seed in range(4)]
    for _ in range(3):
        time.sleep(0.3)
        server.stop()
        time.sleep(0.3)
        server.start()
    over.set()
    assert sum(reader.join() for reader in readers) > 100 and not bad, bad[:3]


@pytest.mark.parametrize("how", ["--listen=127.0.0.1:0", "--check-config"])
def test_the_second_stores_exclude_each_other(tmp_path, how):
    done = subprocess.run([BINARY, "serve", how, "--cache-lmdb", str(tmp_path), "--cache-redis", "127.0.0.1:1"],
                          stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert done.returncode == 2 and b"--cache-redis: cache-lmdb is set too, at --cache-lmdb" in done.stderr
