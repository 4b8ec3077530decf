"""The utfeed under test with its store, its clock and its two origins, all turned by one loop.

Must not know: histories, judgements. Invariant: whatever waits for utfeed turns the loop meanwhile, for utfeed waits for the origins there.
"""
import itertools
import os
import shutil
import tempfile
import time

from certs import Authority, server_context
from clock import Clock
from inside import OwnCa
from peers import Background
from preload import build
from proxy import SANITIZER, Utfeed
from stores import Redis

from .loop import Listener, Loop, SlowRelay
from .records import Moment
from .wire import Client, Inside, Upstream
from .ways import options

STORES = ("memory", "lmdb", "redis")
NO_CHECK_TIME = 0x200000        # X509_V_FLAG_NO_CHECK_TIME: the clients know no other clock than this machine's


class Bench:
    """store: of STORES. asked(upstream, method, url, fields) is called for each request that reaches an origin. secure: the origins speak
    TLS, and who asks utfeed as a proxy is inside of a CONNECT that it opens."""

    def __init__(self, store, workers, asked, more=(), secure=False):
        self.loop, self.folder, self.order = Loop(), tempfile.mkdtemp(prefix="oracle"), itertools.count(1)
        # certificates are of today
        self.clock = Clock(build("clock", self.folder), os.path.join(self.folder, "now"), **({"now": int(time.time())} if secure else {}))
        self.asked, self.idle, self.redis, self.relay, self.proxy = asked, [], None, None, None
        self.secure, self.leaf, self.trusting = secure, None, None
        self.origins = [Listener(self.loop, lambda loop, sock, n=n: self.accept(sock, n)) for n in (0, 1)]
        self.options = [*options(self.base(0)), "--workers", str(workers), *self.second(store), *more, *(self.opens() if secure else ())]
        self.start()

    def second(self, store):
        if store == "lmdb":
            os.mkdir(os.path.join(self.folder, "lmdb"))
            return ["--cache-lmdb", os.path.join(self.folder, "lmdb"), "--cache-lmdb-bytes", "64m", "--cache-bytes", "1m"]
        if store == "redis":
            self.redis = Redis(shutil.which("redis-server") or "valkey-server", self.folder)
            self.relay = SlowRelay(self.loop, self.redis.port)
            return ["--cache-redis", f"127.0.0.1:{self.relay.listener.port}", "--cache-bytes", "1m"]
        return ["--cache-bytes", "1m"]

    def opens(self):
        """The options by which CONNECTs are opened."""
        authority, own = Authority(self.folder), OwnCa(self.folder)
        self.leaf, self.trusting = server_context(authority.issue("localhost")), own.context()
        self.trusting.verify_flags |= NO_CHECK_TIME
        return "--tls-ca-file", authority.root.cert, *own.options("127.0.0.1")

    def base(self, n):
        return f"{'https' if self.secure else 'http'}://127.0.0.1:{self.origins[n].port}"

    def accept(self, sock, n):
        upstream = Upstream(self.loop, sock, n, self.leaf)
        upstream.asked = lambda up, method, target, fields: self.asked(up, method, self.base(n) + target, fields)

    def moment(self):
        return Moment(next(self.order), self.clock.now, time.monotonic() * 1000)

    # utfeed's life

    def start(self):
        self.proxy = self.turn_while(Background(lambda: Utfeed(*self.options, env=self.clock.env)))

    def turn_while(self, background):
        while background.thread.is_alive():
            self.loop.turn(0.01)
        return background.join()

    def restart(self, kill=False):
        for client in self.idle:
            client.close()
        self.idle = []
        if kill:
            self.proxy.process.kill()
            self.proxy.process.wait()
            assert not SANITIZER.search(self.proxy.err.text()), self.proxy.err.text()
        else:
            self.turn_while(Background(self.proxy.stop))
        self.start()

    def reload(self):
        self.proxy.process.send_signal(1)

    def died(self):
        return self.proxy.process.poll() is not None

    def close(self):
        try:
            if self.proxy:
                self.turn_while(Background(self.proxy.stop))
        finally:
            if self.redis:
                self.redis.stop()
            self.loop.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    # Clients

    def client(self, pick, inside=None):
        """A connection that is idle, or a new one; pick(n): which. inside: HOST:PORT of the CONNECT that it is to be inside of."""
        idle = [client for client in self.idle if client.inside == inside]
        if len(idle) > 8:
            client = idle[pick(len(idle))]
            self.idle.remove(client)
            return client
        client = Inside(self.loop, self.proxy.port, self.lost, inside, self.trusting) if inside else Client(self.loop, self.proxy.port, self.lost)
        client.inside = inside
        return client

    def lost(self, client):
        if client in self.idle:
            self.idle.remove(client)

    def keep(self, client):
        if client.open:
            self.idle.append(client)
