"""What each utfeed of a fleet knows of the others, and shows: rows in Redis, /api/fleet, the first page, /metrics and `utfeed fleet`."""
import html
import itertools
import json
import re
import time

import pytest

from fleets import purged
from pages import FRESH, Site, page
from sentinels import Cluster
from test_admin import Admin
from test_top import Screen, run as run_top
from wire import OBEYED, TIMEOUT, message

GONE_S = 10                     # proxy/fleet/members.h: MEMBERS_GONE_MS


class Member(Admin):
    def fleet(self):
        return json.loads(self.ask("/api/fleet").body)

    def sees(self, holds, patience=TIMEOUT):
        """/api/fleet, once that holds of it."""
        until = time.monotonic() + patience
        while not holds(told := self.fleet()):
            assert time.monotonic() < until, told
            time.sleep(0.05)
        return told

    def row(self, name="self", value=True):
        [row] = [row for row in self.fleet()["instances"] if row[name] == value]
        return row

    def number(self, name):
        """As /metrics has it."""
        return self.metrics()[f"utfeed_{name}"]

    def page(self):
        got = self.ask("/")
        assert got.status == 200 and len(got.body) < 60000
        return got.body.decode()


def counting(n):
    return lambda told: told["count"] == n and len(told["instances"]) == n


@pytest.fixture
def server(redis_server):
    return redis_server("redis-server")


@pytest.fixture
def member(start, origin, server):
    """One more utfeed of the fleet."""
    return lambda *options: Member(start(origin, "--cache", "on", "--cache-redis", f"127.0.0.1:{server.port}", "--admin-listen", "127.0.0.1:0", *options))


@pytest.fixture
def both(member):
    both = [member(), member()]
    for each in both:
        each.sees(counting(2))
    return both


def rows_key(server):
    [key] = server.ask("KEYS", "*!members")
    return key


def now_ms(server):
    seconds, micros = server.ask("TIME")
    return int(seconds) * 1000 + int(micros) // 1000


def test_rows_appear(both, origin, server):
    """Each shows both, and which one it is; what it has served is in the other's list, and its format is that of the keys in the server."""
    Site(origin)["*"] = page(FRESH)
    for _ in range(3):
        assert both[0].proxy.get("/f").status == 200
    pids = {each.proxy.process.pid for each in both}
    for each in both:
        told = each.sees(counting(2))
        assert told["fleet"] is True and told["store_away"] is False
        assert {row["pid"] for row in told["instances"]} == pids and each.row()["pid"] == each.proxy.process.pid
        assert {row["admin"] for row in told["instances"]} == {"127.0.0.1:0"}
        assert each.number("fleet_instances") == each.proxy.counters()["fleet_instances"] == 2 and each.number("fleet_purge_lag_seconds") <= 3
    theirs = both[1].sees(lambda told: any(row["requests"] == 3 for row in told["instances"]))
    [row] = [row for row in theirs["instances"] if row["requests"] == 3]
    assert (row["pid"], row["hits"], row["misses"], row["fetches"]) == (both[0].proxy.process.pid, 2, 1, 1)
    assert f"utfeed:{row['entry_format']}:{origin.url}/f" in [key.decode() for key in server.ask("KEYS", "*/f")]
    assert not row["self"] and row["version"] and row["seen_ms"] <= GONE_S * 1000 and row["purge_lag_ms"] <= GONE_S * 1000


def test_a_killed_one_is_gone(both):
    gone = both[0].proxy
    gone.process.kill()
    gone.process.wait()
    gone.stopped = True
    began = time.monotonic()
    told = both[1].sees(counting(1), patience=GONE_S + TIMEOUT)
    assert told["instances"][0]["self"] and time.monotonic() - began < GONE_S + TIMEOUT


def test_who_purged_what(both):
    """With its name, at each of them; an unsafe request is no PURGE, and purges all the same. Secrets are not shown."""
    first, second = both
    assert purged(first.proxy, "/f?token=s3cr3t") and purged(second.proxy, "/g", "X-Purge: prefix, soft") and purged(first.proxy, "/", "X-Purge: all")
    pids = [each.proxy.process.pid for each in (first, second)]
    for each in both:
        told = each.sees(lambda told: {row["pid"] for row in told["purges"] if row["what"] != "url"} == set(pids))["purges"]
        told = [next(rows) for _, rows in itertools.groupby(told, key=lambda row: row["what"])]     # purged() may have asked twice
        assert [(row["what"], row["soft"], row["pid"]) for row in told[:3]] == \
            [("all", False, pids[0]), ("prefix", True, pids[1]), ("url", False, pids[0])]
        assert told[0]["url"] is None and told[1]["url"].endswith("/g") and told[2]["url"].endswith("/f?token=***") and told[0]["instance"]
        shown = each.page()
        assert "The latest purges" in shown and "s3cr3t" not in shown and "soft prefix" in shown


def test_a_newcomer_knows_the_latest_purges(both, member):
    """With their ages, and by whom."""
    assert purged(both[0].proxy, "/f")
    time.sleep(1.1)             # what it shows is an age
    told = member().sees(lambda told: counting(3)(told) and told["purges"])
    [row] = [row for row in told["purges"] if (row["url"] or "").endswith("/f")]
    assert row["pid"] == both[0].proxy.process.pid and 1 <= row["age_s"] < TIMEOUT


def test_leases_are_seen(both, origin):
    """One holds it, the other waits."""
    first, second = both
    clients = [first.proxy.client().ask("/f")]
    held = origin.receive()
    clients.append(second.proxy.client().ask("/f"))
    for each in both:
        each.sees(lambda told: sorted((row["leases_held"], row["leases_waiting"]) for row in told["instances"]) == [(0, 1), (1, 0)])
    assert first.number("fleet_leases_held") == 1 and second.number("fleet_leases_waiting") == 1
    held.answer(page(FRESH))
    assert [client.response().status for client in clients] == [200, 200]
    first.sees(lambda told: not any(row["leases_held"] or row["leases_waiting"] for row in told["instances"]))


ROW = b"name=%s version=1 pid=7"
# A row that somebody wrote into the hash, and the name that is shown for it; None: it is dropped
HOSTILE = {
    "HTML": (ROW % b"<script>alert(1)</script>", "<script>alert(1)</script>"),
    "a quote": (ROW % b"\"'&amp;", "\"'&amp;"),
    "no UTF-8": (ROW % b"a\xff\xfe", "a\ufffd\ufffd"),
    "other directions": (ROW % "a\u202eb".encode(), "a\u202eb"),
    "a terminal's orders": (ROW % OBEYED.replace(b" ", b""), None),
    "huge": (ROW % b"a" + b" x=" + b"y" * (1 << 20), None),
    "a long name": (ROW % b"a" * 65, None),
    "broken JSON": (b'{"name": "a", "version": ', None),
    "NUL": (ROW % b"a\0b", None),
    "lines": (ROW % b"a\n8 0 name=b version=1", None),
    "numbers that are none": (ROW % b"a" + b"1e9", None),
    "nothing": (b"", None),
}


def test_hostile_rows(both, server):
    """Shown as text, or dropped: on the page, for programs and on a terminal. The others are there as before."""
    admin, names = both[0], [*(name for _, name in HOSTILE.values() if name is not None), "last"]
    for number, (row, _) in enumerate(HOSTILE.values(), 100):
        server.ask("HSET", rows_key(server), number, b"%d " % now_ms(server) + row)
        server.ask("HSET", rows_key(server), number + 100, row)         # without a time
    server.ask("HSET", rows_key(server), 300, b"%d " % (now_ms(server) - GONE_S * 1000 - 1) + ROW % b"old")
    server.ask("HSET", rows_key(server), 199, b"%d " % now_ms(server) + ROW % b"last")
    told = admin.sees(lambda told: "last" in [row["instance"] for row in told["instances"]])
    others = {row["instance"] for row in told["instances"]} - {admin.row()["instance"]}
    assert others == set(names) and len(told["instances"]) == 2 + len(names)
    assert not [number for number in server.ask("HKEYS", rows_key(server)) if len(number) == 3 and int(number) >= 200]
    shown = admin.page()
    assert "<script" not in shown and "\x1b" not in shown and "\0" not in shown
    for name in names:
        assert "\u202e" in name or html.escape(name, quote=False).replace("\ufffd", "") in shown.replace("&quot;", '"').replace("&#39;", "'") \
            or "a\\xff" in shown or "\ufffd" in shown, name
    text, _ = run_top("--admin", f"http://127.0.0.1:{admin.port}", command="fleet")
    assert not re.search(r"[^ -~\n]", text) and str(both[1].proxy.process.pid) in text


def test_more_rows_than_are_shown(both, server):
    """1,000 are listed, all are counted, and a page has 20."""
    now = now_ms(server)
    rows = ((i, b"%d name=%s version=%s pid=%d" % (now + 9000, b"&" * 64, b"<" * 32, i)) for i in range(1200))
    server.ask("HSET", rows_key(server), *itertools.chain(*rows))
    told = both[0].sees(lambda told: told["count"] > 1000)
    assert len(told["instances"]) == 1000
    assert re.search(r"20 of \d{4} instances that share the store", both[0].page())


def test_a_key_of_another_type(both, server):
    """Nobody is seen then; utfeed serves."""
    key = rows_key(server)
    server.ask("DEL", key)
    server.ask("SET", key, "x")
    both[0].sees(lambda told: told["count"] == 1, patience=GONE_S + TIMEOUT)
    server.ask("DEL", key)
    both[0].sees(counting(2))


def test_the_server_is_away(both, server):
    """It says so, shows the fleet as it was, and counts itself alone."""
    admin = both[0]
    server.stop()
    admin.proxy.get("/f?only", "Cache-Control: only-if-cached")
    told = admin.sees(lambda told: told["store_away"])
    assert len(told["instances"]) == 2
    assert "The store cannot be reached" in admin.page()
    assert "! The store behind memory cannot be reached" in run_top("--admin", f"http://127.0.0.1:{admin.port}", command="fleet")[0]
    assert admin.sees(lambda told: told["count"] == 1, patience=GONE_S + TIMEOUT)["read_ms"] > GONE_S * 1000 - 2000
    assert admin.metrics()["utfeed_second_away"] == 1 and admin.number("fleet_purge_lag_seconds") >= GONE_S - 3
    server.start()
    admin.sees(lambda told: counting(2)(told) and not told["store_away"])


def test_a_cluster(start, origin, redis_server):
    """The rows are in one shard; the marks of a purge are in all, and it is listed once, with its name."""
    servers = Cluster(redis_server)
    first, second = (Member(start(origin, "--cache", "on", "--cache-redis", servers.url, "--admin-listen", "127.0.0.1:0")) for _ in range(2))
    for each in (first, second):
        each.sees(counting(2))
    assert purged(first.proxy, "/", "X-Purge: all") and purged(second.proxy, "/f")
    pids = [each.proxy.process.pid for each in (first, second)]
    for each in (first, second):
        told = each.sees(lambda told: [(row["what"], row["pid"]) for row in told["purges"][:2]] == [("url", pids[1]), ("all", pids[0])])
        times = [row["age_s"] for row in told["purges"] if row["what"] == "all" and row["pid"] == pids[0]]
        assert 1 <= len(times) <= 2 and each.row()["purge_lag_ms"] < GONE_S * 1000     # purged() may have asked twice


def test_without_a_fleet(start):
    """Nothing to see, and that is said."""
    admin = Member(start(None, "--admin-listen", "127.0.0.1:0"))
    assert admin.fleet() == {"fleet": False, "store_away": False, "count": 1, "read_ms": None, "instances": [], "purges": []}
    assert "Fleet" not in admin.page() and "utfeed_fleet_instances" not in admin.metrics()
    assert run_top("--admin", f"http://127.0.0.1:{admin.port}", command="fleet")[0].startswith("utfeed is alone")


def test_the_token_counts(start):
    """As for its neighbours."""
    admin = Admin(start(None, "--admin-listen", "127.0.0.1:0", "--admin-token", "a-token"))
    assert admin.ask("/api/fleet").status == 401 and admin.ask("/api/fleet", "Authorization: Bearer a-token").status == 200
    assert admin.post("/api/fleet", "", "Authorization: Bearer a-token").status == 405


def test_the_command(both):
    """A table once in a pipe, JSON on demand, and a screen on a terminal."""
    at = ("--admin", f"http://127.0.0.1:{both[0].port}")
    lines = run_top(*at, command="fleet")[0].splitlines()
    assert lines[0].startswith("2 instances, seen ") and lines[1].split()[:3] == ["INSTANCE", "PID", "VERSION"]
    assert {int(line.split()[1]) for line in lines[2:4]} == {each.proxy.process.pid for each in both}
    assert counting(2)(json.loads(run_top(*at, "--json", command="fleet")[0]))
    screen = Screen(*at, command="fleet")
    screen.shows(rb"2 instances, seen .*q: quit")
    screen.key(b"q")
    screen.ends()


def test_a_lying_listener(another):
    origin = another()
    origin.serve(lambda request: (message("200 OK", body=b"fleet\t" + OBEYED + b"\ninstance\t" + OBEYED + b"\npurge\t1\t" + OBEYED), "close"))
    assert re.fullmatch("[ -~\n]*", run_top("--admin", origin.url, command="fleet")[0])


def test_more_words_than_it_takes():
    assert "unexpected argument: now" in run_top("now", command="fleet", status=2)[1]
    assert "usage: utfeed fleet" in run_top("--help", command="fleet")[0]
