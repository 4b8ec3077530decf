"""Network namespaces of this machine, joined by veth pairs and a bridge: a place for each process, whose link goes down, or drops one way.

Must not know: what runs there. Needs root. Invariant: all of it, the bridge too, is in namespaces of this run, and goes with them; this
machine's own network is never touched.
"""
import contextlib
import ctypes
import os
import shutil
import subprocess

CLONE_NEWNET = 0x40000000
NOBODY = "02:00:00:00:00:ff"        # a station that is not there
LIBC = ctypes.CDLL(None, use_errno=True)


def absent():
    """Why there can be no places here; None: there can."""
    if os.geteuid():
        return "network namespaces need root"
    missing = [program for program in ("ip", "redis-server") if not shutil.which(program)]
    if missing:
        return f"no {missing[0]} here"
    probe = subprocess.run(["ip", "netns", "add", f"utfeed{os.getpid()}p"], capture_output=True, text=True, check=False)
    if probe.returncode:
        return "no network namespaces here: " + probe.stderr.strip()
    subprocess.run(["ip", "netns", "del", f"utfeed{os.getpid()}p"], check=True)
    return None


def ip(*words, check=True):
    subprocess.run(["ip", *map(str, words)], check=check, capture_output=not check)


class Place:
    """One namespace, and its address; network: whose bridge its link leads to; label: its name in this run."""

    def __init__(self, network, name, number):
        self.network, self.label, self.name, self.number = network, name, f"{network.name}{name}", number
        self.address, self.link = f"10.99.0.{number}", f"v{number}"
        ip("netns", "add", self.name)
        self.file = os.open(f"/var/run/netns/{self.name}", os.O_RDONLY | os.O_CLOEXEC)
        ip("-n", network.hub, "link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("-n", network.hub, "link", "set", self.link, "master", "bridge", "up")
        ip("-n", self.name, "address", "add", f"{self.address}/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            ip("-n", self.name, "link", "set", link, "up")

    @contextlib.contextmanager
    def inside(self):
        """What this thread opens or starts meanwhile is there, and stays there."""
        here = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            enter(self.file)
            try:
                yield
            finally:
                enter(here)
        finally:
            os.close(here)

    def cut(self):
        """Its link is down; what is there reaches itself alone."""
        ip("-n", self.network.hub, "link", "set", self.link, "down")

    def mend(self):
        ip("-n", self.network.hub, "link", "set", self.link, "up")

    def shape(self, delay=0, jitter=0, loss=0):
        """Whether the kernel makes what it sends late, in ms, or loses some of a hundred packets; all 0: no more."""
        if not self.network.shapes:
            return False
        how = ("netem", "delay", f"{delay}ms", f"{jitter}ms", "loss", f"{loss}%") if delay or jitter or loss else ("pfifo",)
        subprocess.run(["tc", "-n", self.name, "qdisc", "replace", "dev", "eth0", "root", *how], check=True)
        return True

    def deafen(self, other):
        """What it sends to another place goes nowhere; what comes from there arrives."""
        ip("-n", self.name, "neigh", "replace", other.address, "lladdr", NOBODY, "dev", "eth0", "nud", "permanent")

    def hear(self, other):
        ip("-n", self.name, "neigh", "del", other.address, "dev", "eth0", check=False)


def enter(file):
    if LIBC.setns(file, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


class Network:
    """shapes: the kernel has netem (tc-netem(8))."""

    def __init__(self):
        self.name, self.places = f"utfeed{os.getpid()}", []
        self.hub = self.name + "hub"
        ip("netns", "add", self.hub)
        ip("-n", self.hub, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.hub, "link", "set", "bridge", "up")
        self.shapes = bool(shutil.which("tc")) and not subprocess.run(
            ["tc", "-n", self.hub, "qdisc", "replace", "dev", "lo", "root", "netem", "delay", "1ms"], capture_output=True, check=False).returncode

    def place(self, name):
        self.places.append(Place(self, name, len(self.places) + 1))
        return self.places[-1]

    def close(self):
        for place in self.places:
            os.close(place.file)
            ip("netns", "del", place.name, check=False)
        ip("netns", "del", self.hub, check=False)
