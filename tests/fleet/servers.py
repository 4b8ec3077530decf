"""The second store of a fleet: one Redis server, three with Sentinels, or a cluster of three with a replica each, every server at a place of its own.

Must not know: utfeed. Invariant: servers tell each other and their clients the addresses of their relays (relay.py), so that all they say to
each other has the same weather as what utfeed says to them.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import time

from stores import Redis
from wire import TIMEOUT

from .relay import BEHIND, OPEN

SENTINEL, BUS = 26379, 16379
NODE_TIMEOUT_MS = 1500
SLOTS = 16384
MASTER = "main"


def until(call, seconds=TIMEOUT):
    """Waits for call() to be true; gives that."""
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError, IndexError, ValueError):
            found = call()
            if found:
                return found
        assert time.monotonic() < end, "the servers do not come together"
        time.sleep(0.02)


class Node(Redis):
    """A server at a place, with a disk of its own."""

    def __init__(self, place, folder, *more):
        self.place, self.port, self.disk, self.process, self.is_stopped = place, BEHIND, os.path.join(folder, place.name), None, False
        os.mkdir(self.disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", self.disk], check=True)
        program = shutil.which("redis-server") or "valkey-server"
        self.command = [program, "--port", str(BEHIND), "--bind", "0.0.0.0", "--protected-mode", "no", "--dir", self.disk, "--save", "3600 1",
                        "--appendonly", "no", "--dbfilename", "kept.rdb", *map(str, more)]
        self.start()

    def start(self):
        with self.place.inside():
            super().start()

    def ask(self, *words):
        with self.place.inside():
            return super().ask(*words)

    def is_up(self):
        return self.process.poll() is None and not self.is_stopped

    def kill(self):
        self.process.kill()
        self.process.wait()

    def hold(self):
        self.process.send_signal(signal.SIGSTOP)
        self.is_stopped = True

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)
        self.is_stopped = False

    def fill_disk(self):
        """A snapshot fails then, and the server takes nothing that writes. One of a cluster ends where it cannot write what it knows of that."""
        with contextlib.suppress(OSError), open(os.path.join(self.disk, "full"), "wb") as full:
            while True:
                full.write(bytes(1 << 20))
        self.save(b"err")

    def free_disk(self):
        os.unlink(os.path.join(self.disk, "full"))
        if self.process.poll() is not None:
            self.start()
        self.save(b"ok")

    def save(self, status):
        """A snapshot in the background, until it has ended so."""
        def is_over():
            if self.process.poll() is None:
                self.ask("BGSAVE")
            return self.process.poll() is not None or b"rdb_last_bgsave_status:" + status in self.ask("INFO", "persistence")
        until(is_over)

    def keep(self):
        """What is stored now is what it begins with, whenever it is killed."""
        assert self.ask("SAVE") == "OK"
        shutil.copy(os.path.join(self.disk, "kept.rdb"), os.path.join(self.disk, "older.rdb"))

    def restart_older(self):
        self.kill()
        shutil.copy(os.path.join(self.disk, "older.rdb"), os.path.join(self.disk, "kept.rdb"))
        self.start()

    def stop(self):
        super().stop()
        subprocess.run(["umount", "-l", self.disk], check=False)


class Single:
    """One server."""
    count = 1

    def __init__(self, places, folder):
        self.nodes, self.others = [Node(places[0], folder)], []
        self.option = f"{places[0].address}:{OPEN}"

    def fail_over(self, chance):
        return None

    def close(self):
        for each in [*self.nodes, *self.others]:
            each.stop()


class Sentinels(Single):
    """A master, two replicas, and a Sentinel beside each."""
    count = 3

    def __init__(self, places, folder):
        first = places[0].address
        self.nodes = [Node(place, folder, "--replica-announce-ip", place.address, "--replica-announce-port", OPEN, "--repl-diskless-sync-delay", 0,
                           *(("--replicaof", first, OPEN) if place is not places[0] else ())) for place in places]
        self.others = [Watcher(place, folder, first) for place in places]
        self.option = f"sentinel://{MASTER}@" + ",".join(f"{place.address}:{SENTINEL}" for place in places)
        until(lambda: all(watcher.knows_all() for watcher in self.others))

    def fail_over(self, chance):
        return chance.choice(self.others).ask("SENTINEL", "FAILOVER", MASTER)


class Watcher(Node):
    """A Sentinel: a Redis server of that kind."""

    def __init__(self, place, folder, first):
        self.place, self.port, self.disk, self.process, self.is_stopped = place, SENTINEL, folder, None, False
        conf = os.path.join(folder, f"{place.name}.conf")
        with open(conf, "w", encoding="ascii") as file:
            file.write(f"port {SENTINEL}\nbind 0.0.0.0\nprotected-mode no\ndir {folder}\nsentinel announce-ip {place.address}\nsentinel announce-port {SENTINEL}\n"
                       f"sentinel monitor {MASTER} {first} {OPEN} 2\nsentinel down-after-milliseconds {MASTER} {NODE_TIMEOUT_MS}\n"
                       f"sentinel failover-timeout {MASTER} {4 * NODE_TIMEOUT_MS}\n")
        self.command = [shutil.which("redis-server") or "valkey-server", conf, "--sentinel"]
        self.start()

    def knows_all(self):
        told = self.ask("SENTINEL", "MASTER", MASTER)
        said = dict(zip(told[::2], told[1::2]))
        return said[b"num-slaves"] == b"2" and said[b"num-other-sentinels"] == b"2" and said[b"flags"] == b"master"

    def stop(self):
        Redis.stop(self)


class Cluster(Single):
    """Three masters and a replica of each."""
    count = 6

    def __init__(self, places, folder):
        self.nodes = [Node(place, folder, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", NODE_TIMEOUT_MS,
                           "--cluster-announce-ip", place.address, "--cluster-announce-port", OPEN, "--cluster-announce-bus-port", BUS,
                           "--cluster-require-full-coverage", "no", "--cluster-replica-validity-factor", 0, "--repl-diskless-sync-delay", 0) for place in places]
        self.others = []
        self.option = "cluster://" + ",".join(f"{place.address}:{OPEN}" for place in places)
        masters, replicas = self.nodes[:3], self.nodes[3:]
        for n, node in enumerate(self.nodes):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", n + 1)
        for n, master in enumerate(masters):
            master.ask("CLUSTER", "ADDSLOTSRANGE", n * SLOTS // 3, (n + 1) * SLOTS // 3 - 1)
        for node in self.nodes[1:]:
            node.ask("CLUSTER", "MEET", places[0].address, OPEN, BUS)
        until(lambda: all(node.ask("CLUSTER", "NODES").count(b" connected") == 6 for node in self.nodes))
        for master, replica in zip(masters, replicas):
            name = master.ask("CLUSTER", "MYID")
            until(lambda name=name, replica=replica: replica.ask("CLUSTER", "REPLICATE", name) == "OK")
        until(lambda: all(b"cluster_state:ok" in node.ask("CLUSTER", "INFO") for node in self.nodes))
        until(lambda: all(b"master_link_status:up" in node.ask("INFO", "replication") for node in replicas))

    def fail_over(self, chance):
        ready = [node for node in self.nodes if node.is_up() and b"master_link_status:up" in node.ask("INFO", "replication")]
        return ready and chance.choice(ready).ask("CLUSTER", "FAILOVER")


MODES = {"single": Single, "sentinel": Sentinels, "cluster": Cluster}
