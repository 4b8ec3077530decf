"""Ports for servers that are told theirs before they listen.

One that the kernel gave to a probe is free again once the probe is closed: any connection may be given it until the server has it, even the
one by which a test looks whether the server is there. Ports below those that the kernel gives out are nobody's unless he asks for that one.
"""
import random
import socket


def ephemeral():
    """The first port that the kernel gives out by itself (ip(7), ip_local_port_range)."""
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as limits:
            return int(limits.read().split()[0])
    except OSError:
        return 32768


LOWEST = 10000


def server_port():
    """A port of 127.0.0.1 that nobody has and that the kernel gives to nobody."""
    first = ephemeral()
    for _ in range(1000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", random.SystemRandom().randrange(LOWEST, first) if first > 2 * LOWEST else 0))
            except OSError:
                continue
            return probe.getsockname()[1]
    raise AssertionError("no port is free")
