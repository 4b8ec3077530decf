"""Redis with Sentinel, and Redis Cluster: servers of the test's own, on loopback, that take over from each other."""
import contextlib
import time

from ports import server_port
from stores import Redis
from wire import PATIENCE


def until(look, what):
    """Waits for what servers tell only when asked."""
    end = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < end, what
        time.sleep(0.02)
    return found


class Sentinel(Redis):
    def __init__(self, folder, master, *lines):
        folder.mkdir()
        self.lines = (f"sentinel monitor feeds 127.0.0.1 {master.port} 2", "sentinel down-after-milliseconds feeds 500",
                      "sentinel failover-timeout feeds 2000", *lines)
        super().__init__("redis-server", folder)

    def start(self):
        file = f"{self.command[-1]}/sentinel.conf"
        with open(file, "w", encoding="ascii") as conf:
            conf.write("\n".join((f"port {self.port}", "bind 127.0.0.1", f"dir {self.command[-1]}", *self.lines)) + "\n")
        self.command = ["redis-server", file, "--sentinel"]
        super().start()


class Sentinels:
    """A master, its replica, and three who watch. more: options of the two; lines: of the three."""
    def __init__(self, redis_server, folder, *more, lines=()):
        self.made = []
        self.master = redis_server("redis-server", *more)
        self.replica = redis_server("redis-server", "--replicaof", f"127.0.0.1 {self.master.port}", *more)
        self.made = [Sentinel(folder / f"sentinel{i}", self.master, *lines) for i in range(3)]
        self.url = "sentinel://feeds@" + ",".join(f"127.0.0.1:{each.port}" for each in self.made)

    def ready(self):
        """Once a failover can be."""
        for each in self.made:
            until(lambda each=each: (said := self.of(each)) and said["num-other-sentinels"] == "2" and said["num-slaves"] == "1", "Sentinel")
        return self

    @staticmethod
    def of(sentinel):
        words = [word.decode() for word in sentinel.ask("SENTINEL", "MASTER", "feeds")]
        return dict(zip(words[::2], words[1::2]))

    def led_by(self, server):
        until(lambda: all(int(each.ask("SENTINEL", "get-master-addr-by-name", "feeds")[1]) == server.port for each in self.made), "no failover")

    def stop(self):
        for each in self.made:
            each.stop()


def node_of_a_cluster(redis_server, *more):
    """Who finds that another process has taken the port of its bus meanwhile ends at once: then another one is begun."""
    for _ in range(5):
        bus = server_port()
        with contextlib.suppress(AssertionError, OSError, IndexError):
            node = redis_server("redis-server", "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-port", str(bus),
                                "--cluster-replica-validity-factor", "0", "--cluster-require-full-coverage", "no", *more)
            assert node.ask("PING") == "PONG"
            node.bus = bus
            return node
    raise AssertionError("a node does not start")


class Cluster:
    """Three masters and three replicas. more: their options."""
    def __init__(self, redis_server, *more):
        self.nodes = [node_of_a_cluster(redis_server, "--cluster-config-file", f"nodes{i}.conf", *more) for i in range(6)]
        self.masters, self.replicas = self.nodes[:3], self.nodes[3:]
        for i, node in enumerate(self.masters):
            node.ask("CLUSTER", "ADDSLOTSRANGE", i * 16384 // 3, (i + 1) * 16384 // 3 - 1)
        for node in self.nodes[1:]:
            assert node.ask("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port, self.nodes[0].bus) == "OK"
        for master, replica in zip(self.masters, self.replicas):
            name = master.ask("CLUSTER", "MYID")
            until(lambda replica=replica, name=name: replica.ask("CLUSTER", "REPLICATE", name) == "OK", "no replica")
        for replica in self.replicas:
            until(lambda replica=replica: b"master_link_status:up" in replica.ask("INFO", "replication"), "no replication")
        self.ready()
        self.url = "cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.masters[:2])

    def ready(self):
        for node in self.nodes:
            if node.process.poll() is None:
                until(lambda node=node: b"cluster_state:ok" in node.ask("CLUSTER", "INFO"), "no cluster")
        return self

    def of(self, slot):
        """The master of a slot."""
        for first, last, *nodes in self.alive().ask("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return next(node for node in self.nodes if node.port == nodes[0][1])
        raise AssertionError(slot)

    def alive(self):
        return next(node for node in self.nodes if node.process.poll() is None)
