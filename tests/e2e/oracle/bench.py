"""The utfeed under test, or those that share a store, with that store, their clock and their two origins, all turned by one loop.

Must not know: histories, judgements. Invariant: whatever waits for utfeed turns the loop meanwhile, for utfeed waits for the origins there.
"""
import contextlib
import glob
import itertools
import os
import shutil
import tempfile
import time

from certs import Authority, server_context
from clock import Clock
from fleets import purged
from inside import OwnCa
from peers import Background
from ports import server_port
from preload import build
from proxy import SANITIZER, Utfeed
from stores import Redis

from .loop import Listener, Loop, SlowRelay
from .records import LATE_MS, Moment
from .wire import Client, Inside, Upstream
from .ways import SLOTS, options, steady_options, target

with contextlib.suppress(ModuleNotFoundError):      # no python3-hpack: no HTTP/2
    from . import fetches
    from .streams import WINDOWS, Session, Stream

STORES = ("memory", "lmdb", "redis")
MANY = {"two": 2, "four": 4}    # behind the name of a store: so many processes share it
SHARED = ("lmdb-two", "redis-two", "redis-four")
SESSIONS = 3                    # of HTTP/2 with each utfeed, before those that are there are asked
NO_CHECK_TIME = 0x200000        # X509_V_FLAG_NO_CHECK_TIME: the clients know no other clock than this machine's


def processes(store):
    """(the store itself, how many processes have it)."""
    name, _, many = store.partition("-")
    return name, MANY.get(many, 1)


def threads(process):
    """(whether it sleeps, the processor time that it took, as the kernel writes it) of each thread."""
    for task in glob.glob(f"/proc/{process.pid}/task/*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f"{task}/stat", encoding="latin-1") as stat, open(f"{task}/schedstat", encoding="ascii") as times:
                yield stat.read().rpartition(") ")[2][0] == "S", times.read()


class Bench:
    """store: of STORES or SHARED. asked(upstream, method, url, fields) is called for each request that reaches an origin. secure: the origins speak
    TLS, and who asks utfeed as a proxy is inside of a CONNECT that it opens. steady: utfeed does what issue 32 asks, and there are SLOTS pairs
    of origins, each with an address of its own. http2: clients may ask over HTTP/2."""

    def __init__(self, store, workers, asked, more=(), secure=False, steady=False, http2=False):
        self.loop, self.folder, self.order = Loop(), tempfile.mkdtemp(prefix="oracle"), itertools.count(1)
        # certificates are of today
        self.clock = Clock(build("clock", self.folder), os.path.join(self.folder, "now"), looks=False, **({"now": int(time.time())} if secure else {}))
        self.asked, self.idle, self.redis, self.relay = asked, [], None, None
        second, self.count = processes(store)
        self.proxies, self.formers, self.times, self.heir, self.heirs_place = [], [], [0] * self.count, None, 0
        self.troubles = []
        self.secure, self.http2, self.leaves, self.trusting = secure, http2, [None], None
        self.steady, self.passed, self.open, self.sessions = steady, 0, {}, []
        self.origins = {}
        for slot in range(SLOTS) if steady else (None,):
            for n in (0, 1):
                self.listen(n, slot)
        self.options = [*(steady_options(self.base) if steady else options(self.base(0))), "--workers", str(workers), *self.second(second), *more,
                        *(self.opens() if secure else ()), *(("--h2c", "on") if http2 else ())]
        self.start()

    def second(self, store):
        if store == "lmdb":
            os.mkdir(os.path.join(self.folder, "lmdb"))
            return ["--cache-lmdb", os.path.join(self.folder, "lmdb"), "--cache-lmdb-bytes", "64m", "--cache-bytes", self.memory()]
        if store == "redis":
            self.redis = Redis(shutil.which("redis-server") or "valkey-server", self.folder)
            self.relay = SlowRelay(self.loop, self.redis.port)
            # the relay turns with all else here: on a busy machine a second is not long
            return ["--cache-redis", f"127.0.0.1:{self.relay.listener.port}", "--cache-redis-timeout", "10s", "--cache-bytes", self.memory()]
        return ["--cache-bytes", self.memory()]

    def memory(self):
        """Little, so that much has to leave it; or so much that nothing does while a cell runs: what is kept is to be there."""
        return "32m" if self.steady else "1m"

    def opens(self):
        """The options by which CONNECTs are opened."""
        authority, own = Authority(self.folder), OwnCa(self.folder)
        made, self.trusting = authority.issue("localhost"), own.context()
        self.leaves = [server_context(made) for _ in range(3)]
        for leaf in self.leaves[1:] if self.http2 else ():
            leaf.set_alpn_protocols(["h2", "http/1.1"])
        self.trusting.verify_flags |= NO_CHECK_TIME
        return "--tls-ca-file", authority.root.cert, *own.options("127.0.0.1")

    # The origins

    def listen(self, n, slot):
        port = next(iter(self.origins.values())).port if self.origins else server_port()
        host = "127.0.0.1" if slot is None else f"127.{20 + n}.0.{slot + 1}"
        self.open[n, slot] = []
        self.origins[n, slot] = Listener(self.loop, lambda loop, sock: self.accept(sock, n, slot), host, port if self.steady else 0)

    def base(self, n, slot=None):
        listener = self.origins[n, slot]
        return f"{'https' if self.secure else 'http'}://{listener.host}:{listener.port}"

    def accept(self, sock, n, slot):
        make, context = fetches.Session if self.secure and self.http2 else Upstream, self.leaves[next(self.order) % len(self.leaves)]
        upstream = make(self.loop, sock, n, context)
        upstream.asked = lambda up, method, target, fields: self.asked(up, method, self.base(n, slot) + target, fields)
        if self.steady:
            self.open[n, slot] = [conn for conn in self.open[n, slot] if conn.open] + [upstream]

    def absent(self, n, slot):
        """Nobody listens there any more, and connections end."""
        self.origins[n, slot].close()
        for conn in self.open[n, slot]:
            if conn.open:
                conn.close(reset=True)
                conn.ended("reset")
        self.open[n, slot] = []

    def present(self, n, slot):
        self.origins[n, slot].open()

    # Time

    def moment(self):
        return Moment(next(self.order), self.clock.now, (time.monotonic() + self.passed) * 1000, self.loop.late * 1000)

    def trouble(self, seconds=0):
        """So long, and a little longer, the second store or a process is not what it was."""
        now = self.moment().ms
        self.troubles.append((now, now + seconds * 1000 + LATE_MS))

    def away(self, seconds):
        """So long there is no second store."""
        if self.relay:
            self.trouble(seconds)
            self.relay.go_away(seconds)

    def passes(self, seconds):
        """All clocks go on. Nothing may be under way."""
        self.leave_idle()
        self.passed += seconds
        self.clock.at(self.clock.now - self.clock.start + seconds)
        self.clock.ahead(self.passed)

    def rest_of(self):
        """What the processor time of utfeed comes to, thread by thread, while it and its second store sleep and nothing is on its way between
        them; None: something is done. What stays the same for a while is at rest, however busy the machine is."""
        if self.relay and self.relay.is_passing() or self.redis and not all(asleep for asleep, _ in threads(self.redis.process)):
            return None
        found = [thread for proxy in self.running() for thread in threads(proxy.process)]
        return found if all(asleep for asleep, _ in found) else None

    def leave_idle(self):
        for client in self.idle:
            client.close()
        for session in self.sessions:
            session.retire()
        self.idle, self.sessions = [], []

    # utfeed's life

    def launch(self, n):
        takes = ["--takeover-socket", os.path.join(self.folder, f"takeover{n}"), "--drain-timeout", "60s"] if self.count > 1 else []
        return Background(lambda: Utfeed(*self.options, *takes, env=self.clock.env))

    def start(self):
        self.proxies = [self.turn_while(self.launch(n)) for n in range(self.count)]
        for proxy in self.proxies if self.count > 2 else ():        # they have the store then
            self.turn_while(Background(lambda proxy=proxy: purged(proxy, target("raw", self.base(0) + "/none")[0])))

    def running(self):
        return self.proxies + self.formers

    def turn_while(self, background):
        while background.thread.is_alive():
            self.loop.turn(0.01)
        return background.join()

    def restart(self, kill=False):
        self.trouble()
        if self.heir:
            self.turn_while(self.heir)
            self.inherit()
        self.leave_idle()
        for proxy in self.running():
            if kill:
                proxy.process.kill()
                proxy.process.wait()
                assert not SANITIZER.search(proxy.err.text()), proxy.err.text()
            elif proxy in self.proxies:
                self.turn_while(Background(proxy.stop))
        self.formers = [] if kill else self.formers
        self.forget_pauses()
        self.start()
        self.trouble()

    def forget_pauses(self):
        """The fleet keeps the pauses of hosts that cells have again, and says how long they last by the server's clock, which is not put forward."""
        for key in self.redis.ask("KEYS", "*!news") if self.redis and self.steady else ():
            self.redis.ask("DEL", key)

    def reload(self):
        for proxy in self.proxies:
            proxy.process.send_signal(1)

    def take_over(self, n, then):
        """Another process takes the place of the nth, which goes on meanwhile and ends. One at a time: else nothing is done."""
        if self.count == 1 or self.heir:
            then()
            return
        self.trouble()
        self.heir, self.heirs_place = self.launch(n), n
        self.forget(n)
        self.loop.later(0.01, self.look, then)

    def look(self, then):
        if self.heir and self.heir.thread.is_alive():
            self.loop.later(0.01, self.look, then)
            return
        if self.heir:
            self.inherit()
        then()

    def inherit(self):
        n = self.heirs_place
        self.trouble()
        self.formers.append(self.proxies[n])
        self.proxies[n], self.heir = self.heir.join(), None
        self.forget(n)

    def forget(self, n):
        """Connections with the nth are not used again: who gives its place away closes them when it likes."""
        self.times[n] += 1
        for client in [client for client in self.idle if client.of[0] == n]:
            self.idle.remove(client)
            client.close()
        for session in [session for session in self.sessions if session.of[0] == n]:
            session.retire()

    def died(self):
        """Why that is wrong: who ended, and what it said; None: nobody has."""
        for former in [each for each in self.formers if each.process.poll() is not None]:
            self.formers.remove(former)
            if former.process.poll() or SANITIZER.search(former.err.text()):
                return former
        giving = self.heirs_place if self.heir else None       # it may end before its heir is known to be ready
        return next((proxy for n, proxy in enumerate(self.proxies) if n != giving and proxy.process.poll() is not None), None)

    def close(self):
        try:
            if self.heir:
                self.turn_while(self.heir)
                self.inherit()
            for proxy in self.proxies:
                self.turn_while(Background(proxy.stop))
            for former in self.formers:
                self.turn_while(Background(former.process.wait, 60))
                assert not former.process.poll() and not SANITIZER.search(former.err.text()), former.err.text()
        finally:
            if self.redis:
                self.redis.stop()
            self.loop.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    # Clients

    def client(self, pick, inside=None, http2=False):
        """A connection that is idle, or a new one; pick(n): which. inside: HOST:PORT of the CONNECT that it is to be inside of. http2: a stream."""
        if http2:
            return Stream(self.session(pick, pick(self.count)))
        idle = [client for client in self.idle if client.inside == inside]
        if len(idle) > 8:
            client = idle[pick(len(idle))]
            self.idle.remove(client)
            return client
        n = pick(self.count)
        port = self.proxies[n].port
        client = Inside(self.loop, port, self.lost, inside, self.trusting) if inside else Client(self.loop, port, self.lost)
        client.inside, client.of = inside, (n, self.times[n])
        return client

    def session(self, pick, n):
        self.sessions = [session for session in self.sessions if session.open and not session.retired]
        there = [session for session in self.sessions if session.of == (n, self.times[n]) and session.has_room()]
        if len(there) >= SESSIONS:
            return there[pick(len(there))]
        made = Session(self.loop, self.proxies[n].port, (n, self.times[n]), WINDOWS[pick(len(WINDOWS))])
        self.sessions.append(made)
        return made

    def lost(self, client):
        if client in self.idle:
            self.idle.remove(client)

    def keep(self, client):
        if client.open and client.of == (client.of[0], self.times[client.of[0]]) and not (self.heir and self.heirs_place == client.of[0]):
            self.idle.append(client)
        elif client.open:
            client.close()
