"""What an outage of the second store costs, in numbers, with nothing else going on: issue 36, Must show. Hits go on as before, misses are served,
nothing is lost after; and who takes over where the owner of a lease is killed.

Must not know: the oracle. Where others keep the machine busy, times are shown and not held.
"""
import json
import subprocess
import sys
import tempfile
import time

from clock import Clock
from pages import FRESH, Site, page
from peers import Origin
from preload import build
from proxy import BINARY

from .bench import COUNT, Instance
from .places import Network
from .relay import Relay
from .servers import Single

BEFORE_S, MISS_S = 4, 0.05
BAR_HITS_MS, BAR_BACK_S = 1, 35         # an outage of a minute: it is asked for again half a minute later at the latest
BAR_MISS_MS = 2500          # it asks the server twice, and waits for cache-redis-timeout (1 s) each time at most
LEASE_S = 10


def share(many, numbers):
    found = sorted(numbers)
    return found[min(len(found) - 1, int(many * len(found)))] if found else 0.0


def idle():
    """(time that no processor had anything to do, all time), in ticks."""
    with open("/proc/stat", encoding="ascii") as stat:
        ticks = [int(word) for word in stat.readline().split()[1:]]
    return ticks[3] + ticks[4], sum(ticks)


class Fleet:
    """Four instances, an origin at each place, and one server."""

    def __init__(self, *options):
        self.network, self.folder = Network(), tempfile.mkdtemp(prefix="rows")
        self.places = [self.network.place(f"u{n}") for n in range(COUNT)]
        server = self.network.place("s")
        self.relay, self.server, self.sites, self.clocks = Relay(1, [server]), None, [], []
        self.server = Single([server], self.folder).nodes[0]
        port = 0
        for place in self.places:
            with place.inside():
                origin = Origin(port=port)
            port = origin.port
            self.sites.append(Site(origin))
        self.url, self.proxies = origin.url, []
        self.options = ["--route", f"/={self.url}", "--workers", "1", "--cache-redis", f"{server.address}:7000", "--access-log", "off", *options]
        library = build("clock", self.folder)
        for n in range(COUNT):
            self.clocks.append(Clock(library, f"{self.folder}/now{n}", int(time.time())))
            self.proxies.append(Instance(self.places[n], BINARY, *self.options, env=self.clocks[n].env))
        for n in range(COUNT):
            self.settle(n)

    def answer(self, path, said):
        for site in self.sites:
            site[path] = said

    def asked(self, path):
        return sum(site.count(path) for site in self.sites)

    def get(self, n, path, *fields, method="GET"):
        return self.proxies[n].get(path, *fields, method=method)

    def settle(self, n, seconds=60):
        """Purges until all others have confirmed; how long that took."""
        began = time.monotonic()
        while self.get(n, "/none", method="PURGE").status != 200:
            assert time.monotonic() < began + seconds, "purges are not confirmed"
            time.sleep(0.05)
        return time.monotonic() - began

    def found(self, n, path):
        return self.get(n, path, "Cache-Control: only-if-cached").status == 200

    def close(self):
        for n, each in enumerate(self.proxies):
            if each.process.poll() is None:
                each.stop()
        for each in (self.server, self.relay):
            each.process.kill()
        self.server.stop()
        self.network.close()


class Hits:
    def __init__(self, fleet, n, path):
        place = fleet.places[n]
        self.process = subprocess.Popen([sys.executable, "-m", "fleet.hits", str(place.file), str(fleet.proxies[n].port), path], stdout=subprocess.PIPE,
                                        text=True, pass_fds=[place.file])

    def stop(self):
        """[(when, how long in ms)]; all were hits."""
        self.process.terminate()
        said = [json.loads(line) for line in self.process.communicate()[0].splitlines() if line.endswith("}")]
        assert all(each["hit"] for each in said), "a hit was none"
        return [(each["at"], each["ms"]) for each in said]


def outage(fleet, name, seconds, begin, end):
    """A row: its name, figures, and the bars that do not hold."""
    n, broken = 0, []
    for path in ("/hit", "/kept", "/gone"):
        fleet.answer(path, page(FRESH, body=path.encode()))
        assert fleet.get(n, path).status == 200
    fleet.settle(n)
    ticks, hits = idle(), Hits(fleet, n, "/hit")
    time.sleep(BEFORE_S)
    began = time.monotonic()
    begin()
    misses, statuses, turn = [], set(), 0
    purged = None
    while time.monotonic() < began + seconds:
        asked, path = time.monotonic(), f"/{name}/{turn}".replace(" ", "-")
        fleet.answer(path, page(FRESH))
        statuses.add(fleet.get(n, path).status)
        misses.append((time.monotonic() - asked) * 1000)
        turn += 1
        if purged is None and asked > began + seconds / 2:
            purged = fleet.get(1, "/gone", method="PURGE").status
        time.sleep(max(0, MISS_S - (time.monotonic() - asked)))
    ended = time.monotonic()
    end()
    back = [round(fleet.settle(m), 1) for m in range(COUNT)]
    found, now = hits.stop(), idle()
    busy = (now[0] - ticks[0]) / (now[1] - ticks[1]) < 0.6
    before, during = (share(0.99, [ms for at, ms in found if first < at < last]) for first, last in ((0, began), (began, ended)))
    lost = [m for m in range(COUNT) if not fleet.found(m, "/kept")]
    stays = [m for m in range(COUNT) if fleet.found(m, "/gone")]
    print(f"fleet: {name}, {seconds:.0f} s: hits' p99 {before:.2f} ms before, {during:.2f} during; {len(misses)} misses, all {sorted(statuses)}, "
          f"half within {share(0.5, misses):.0f} ms, the longest {max(misses):.0f} ms; a purge meanwhile: {purged}; confirmed again after {max(back)} s; lost: {len(lost)}"
          f"{'; the machine is busy, no time is held' * busy}", flush=True)
    for bar, holds in (("hits' p99", busy or during <= before + BAR_HITS_MS), ("misses are served", statuses == {200}), ("the longest miss", busy or max(misses) <= BAR_MISS_MS),
                       ("nothing is lost", not lost),
                       ("what was purged meanwhile is gone", not stays), ("it is back", max(back) <= BAR_BACK_S)):
        if not holds:
            broken.append(f"{name}: {bar}")
    return broken


STEPS = {"before the origin has answered": b"", "with half of the head": b"HTTP/1.1 200 OK\r\nContent-Ty", "with half of the body": None}


def takeover(fleet, step, name):
    """The owner of a lease is killed while three others wait."""
    path, said = "/" + name, page(FRESH, body=b"x" * 1000)
    half = said[:-500] if STEPS[step] is None else STEPS[step]
    owner = next(n for n in range(COUNT) if fleet.proxies[n].process.poll() is None)
    others = [n for n in range(COUNT) if n != owner and fleet.proxies[n].process.poll() is None]
    first = []

    def answers(_):
        first.append(time.monotonic())
        return said if len(first) > 1 else half_of_it()

    def half_of_it():
        yield half
        time.sleep(2 * LEASE_S)
    fleet.answer(path, answers)
    clients = [fleet.proxies[owner].client().ask(path)]
    while not first:
        time.sleep(0.005)
    clients += [fleet.proxies[n].client().ask(path) for n in others]
    for n in others:
        assert fleet.get(n, "/", method="BREW/").status == 400
    killed = time.monotonic()
    fleet.proxies[owner].process.kill()
    fleet.proxies[owner].process.wait()
    statuses = [client.response().status for client in clients[1:]]
    served = time.monotonic() - killed
    print(f"fleet: the owner of a lease is killed {step}: {len(others)} wait, all {sorted(set(statuses))}; the next one asks after "
          f"{(first[1] - killed) if len(first) > 1 else 0:.2f} s, all are served after {served:.2f} s; {len(first)} requests to the origin", flush=True)
    fleet.proxies[owner] = Instance(fleet.places[owner], BINARY, *fleet.options, env=fleet.clocks[owner].env)
    fleet.settle(owner)
    return [f"the owner of a lease is killed {step}: {what}" for what, holds in (
        ("all are served", set(statuses) == {200}), ("within fill-lease", served < LEASE_S + 1), ("no stampede", len(first) == 2)) if not holds]


def measure(seconds):
    """Whether the bars hold, over about so many seconds in all."""
    each = min(60.0, max(3.0, seconds / 5 - 8))
    fleet = Fleet()
    server, place, broken = fleet.server, fleet.server.place, []
    try:
        def restarted():
            server.start()

        def stopped():
            assert server.ask("SAVE") == "OK"
            server.kill()
        broken += outage(fleet, "the server ended", each, stopped, restarted)
        broken += outage(fleet, "SIGSTOP", each, server.hold, server.go_on)
        broken += outage(fleet, "packets dropped", each, place.cut, place.mend)
        broken += outage(fleet, "packets lost now and then", each, lambda: fleet.relay.set(place, loss=20, delay=2), lambda: fleet.relay.set(place))
        for turn, step in enumerate(STEPS):
            broken += takeover(fleet, step, f"owner{turn}")
    finally:
        fleet.close()
    for each in broken:
        print(f"fleet: BROKEN {each}")
    return not broken
