"""A fleet under test: instances of utfeed at places of their own, the servers that they share, and a clock for each, turned by the oracle's loop.

Clients and origins are at the instances' own places, so that nothing is between them and utfeed: only what is between utfeed and the servers
is cut, slow, or one way. Must not know: what happens to them, judgements.
"""
import os
import signal
import subprocess
import time

import proxy
from clock import Clock
from oracle.bench import Bench
from oracle.loop import Listener
from oracle.wire import Client, Upstream
from peers import Background
from preload import build
from proxy import SANITIZER, Utfeed

from .places import Network
from .relay import Relay
from .servers import MODES

COUNT = 4
OLD = os.environ.get("UTFEED_OLD") or proxy.BINARY
NEW_OPTION = "--fill-lease"


def knows_fleets(binary):
    """Whether it is of a build that hears of purges whatever format another one stores."""
    return NEW_OPTION.encode() in subprocess.run([binary, "serve", "--help"], capture_output=True, check=False).stdout


class Clocks:
    """A clock for each instance; all go on together, each ahead by its skew, in seconds."""

    def __init__(self, library, folder):
        self.all = [Clock(library, os.path.join(folder, f"now{n}")) for n in range(COUNT)]
        self.start = self.now = self.all[0].start
        self.skew, self.env = [0] * COUNT, None

    def at(self, seconds):
        self.now = self.start + seconds
        for clock, skew in zip(self.all, self.skew):
            clock.at(seconds + skew)

    def put(self, n, skew):
        self.skew[n] = skew
        self.at(self.now - self.start)


class Instance(Utfeed):
    """binary: of the build that this one is."""

    def __init__(self, place, binary, *args, env):
        self.place, self.binary = place, binary
        with place.inside():
            self.started = self.begin(args, env)

    def begin(self, args, env):
        former, proxy.BINARY = proxy.BINARY, self.binary
        try:
            super().__init__(*args, env=env)
        finally:
            proxy.BINARY = former
        return time.monotonic()

    def client(self, receive_buffer=0):
        with self.place.inside():
            return super().client(receive_buffer)


class FleetBench(Bench):
    """mode: of MODES. gone: instances that are not to be asked, for they were killed; old: those of the other build."""

    def __init__(self, mode, asked, seed):
        self.mode, self.seed, self.network, self.servers, self.relays = mode, seed, Network(), None, None
        self.gone, self.old, self.picked = set(), set(), 0
        try:
            self.places = [self.network.place(f"u{n}") for n in range(COUNT)]
            super().__init__("memory-four", 1, asked)
        except BaseException:
            self.end()
            raise

    def second(self, _):
        self.clock = Clocks(build("clock", self.folder), self.folder)
        places = [self.network.place(f"s{n}") for n in range(MODES[self.mode].count)]
        self.relays = Relay(self.seed, places)
        self.servers = MODES[self.mode](places, self.folder)
        return ["--cache-redis", self.servers.option, "--cache-bytes", "1m"]

    def listen(self, n, slot):
        """At the same address and port at each place."""
        port, self.open[n, slot] = 0, []
        for m, place in enumerate(self.places):
            with place.inside():
                listener = Listener(self.loop, lambda loop, sock, m=m: self.accept(sock, n, slot, m), "127.0.0.1", port)
            port = listener.port
        self.origins[n, slot] = listener

    def accept(self, sock, n, slot, place=0):
        upstream = Upstream(self.loop, sock, n)
        upstream.place = place
        upstream.asked = lambda up, method, target, fields: self.asked(up, method, self.base(n, slot) + target, fields)

    # Instances

    def launch(self, n):
        binary = OLD if n in self.old else proxy.BINARY
        return Background(lambda: Instance(self.places[n], binary, *self.options, env=self.clock.all[n].env))

    def rest_of(self):
        return None

    def died(self):
        """Who ended though nobody killed it."""
        return next((each for n, each in enumerate(self.proxies) if n not in self.gone and each.process.poll() is not None), None)

    def kill(self, n):
        self.gone.add(n)
        self.proxies[n].process.kill()
        self.proxies[n].process.wait()
        self.forget(n)
        assert not SANITIZER.search(self.proxies[n].err.text()), self.proxies[n].err.text()

    def begin_again(self, n, then):
        """Another process in the place of one that was killed or has ended; then() once it is ready."""
        heir = self.launch(n)

        def look():
            if heir.thread.is_alive():
                self.loop.later(0.01, look)
                return
            self.proxies[n] = heir.join()
            self.gone.discard(n)
            then()
        look()

    def retire(self, n, then):
        """It is told to end; then() once it has."""
        self.gone.add(n)
        self.forget(n)
        ending = self.proxies[n]
        ending.sigterm()

        def look():
            if ending.process.poll() is None:
                self.loop.later(0.01, look)
                return
            code = ending.wait()
            assert not code and not SANITIZER.search(ending.err.text()), f"{code}\n{ending.err.text()}"
            then()
        look()

    # Clients

    def client(self, pick, inside=None, http2=False):
        there = [n for n in range(COUNT) if n not in self.gone]
        while True:
            self.picked = n = there[pick(len(there))]
            idle = [client for client in self.idle if client.of[0] == n]
            if len(idle) > 2:
                client = idle[pick(len(idle))]
                self.idle.remove(client)
                return client
            try:
                with self.places[n].inside():
                    client = Client(self.loop, self.proxies[n].port, self.lost)
            except OSError:
                continue
            client.inside, client.of = None, (n, self.times[n])
            return client

    def close(self):
        try:
            for n, each in enumerate(self.proxies):
                if n not in self.gone:
                    each.process.send_signal(signal.SIGCONT)
                    self.turn_while(Background(each.stop))
        finally:
            self.end()
            self.loop.close()

    def end(self):
        for each in (self.servers, self.relays, self.network):
            if each:
                each.close()
        subprocess.run(["rm", "-rf", "--one-file-system", self.folder], check=False) if hasattr(self, "folder") else None
