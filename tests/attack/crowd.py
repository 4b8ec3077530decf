"""The attackers: a process of their own that makes a row's visits, so many at a time, and counts how they ended.

A visit is one attacker's part: async (crowd, number) that gives a word for its end. Status codes are words too.
"""
import asyncio
import collections
import itertools
import multiprocessing
import os
import signal
import socket
import time

from .net import LEAST_URGENT, Gone, Peer

ADDRESSES, HANGS = 100, 90          # client-connections holds one address to 1,000
BIND_ADDRESS_NO_PORT = 24           # linux/in.h: a port may be shared by connections to other places


class Crowd:
    """port, tls_port, origin_port: where utfeed and the hostile origin listen; pid: utfeed's; yields: as the origin does."""

    def __init__(self, port, tls_port, origin_port, pid, yields=True):
        self.port, self.tls_port, self.origin_port, self.pid, self.yields = port, tls_port, origin_port, pid, yields
        self.made, self.over = collections.Counter(), False

    async def connect(self, number, buffer=0, port=0):
        """From one of many addresses of this machine."""
        sock = socket.socket()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        sock.setsockopt(socket.IPPROTO_IP, BIND_ADDRESS_NO_PORT, 1)
        sock.bind((f"127.0.1.{1 + number % ADDRESSES}", 0))
        try:
            await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port or self.port))
        except OSError:
            sock.close()
            raise
        return Peer(sock)

    def target(self, path, way):
        """(request target, Host)."""
        origin = f"127.0.0.1:{self.origin_port}"
        return {"route": (f"/o{path}", "a"), "ascii": (f"/ascii{path}", "a"), "gateway": (f"/http://{origin}{path}", "a"),
                "forward": (f"http://{origin}{path}", origin), "path": (path, "a")}[way]

    def request(self, path, *fields, method="GET", way="route"):
        target, host = self.target(path, way)
        return "\r\n".join((f"{method} {target} HTTP/1.1", f"Host: {host}", *fields, "", "")).encode("latin-1")

    async def one(self, visit, number):
        try:
            async with asyncio.timeout(HANGS):
                return await visit(self, number)
        except Gone:
            return "cut"
        except TimeoutError:
            return "hangs"
        except OSError as error:
            return f"no connection: {error}"

    async def all(self, visit, number, at_once, seconds=0):
        """So many visits; where there are seconds, as many as begin within them."""
        async def some():
            for each in turns:
                self.made[str(await self.one(visit, each))] += 1
        end = time.monotonic() + seconds
        turns = itertools.takewhile(lambda _: time.monotonic() < end, itertools.count()) if seconds else iter(range(number))
        await asyncio.gather(*(some() for _ in range(min(at_once, number))))


def run(pipe, crowd, *what):
    if crowd.yields:
        os.nice(LEAST_URGENT)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    began = time.monotonic()
    asyncio.run(crowd.all(*what))
    pipe.send((crowd.made, Peer.moved, time.monotonic() - began))


def attack(crowd, visit, number, at_once, seconds=0):
    """(how the visits ended, bytes moved, seconds it took)."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=run, args=(there, crowd, visit, number, at_once, seconds), daemon=True)
    process.start()
    there.close()
    try:
        return here.recv()
    except EOFError:
        raise RuntimeError("the attackers ended before their time") from None
    finally:
        process.terminate()
        process.join()
