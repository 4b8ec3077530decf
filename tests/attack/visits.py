"""What an attacker does. Each function here gives a visit (crowd.py): what it is told is what the rows of table.py differ in."""
import asyncio
import os
import signal

from .net import Gone

PIPELINED = 1000


def numbered(path, number):
    return path.replace("N", str(number))


async def answered(peer):
    """The status of an answer that was read to its end."""
    while True:
        line, fields = await peer.head()
        status = line.split(" ")[1]
        if not status.startswith("1"):
            break
    if status not in ("204", "304"):
        await peer.body(fields)
    return status


def asks(path, *fields, way="route", method="GET"):
    """Asks and reads the answer. N in path and fields is another number each time."""
    return asks_often(1, path, *fields, way=way, method=method)


def asks_often(times, path, *fields, way="route", method="GET"):
    """The same on one connection, so many times."""
    async def visit(crowd, number):
        peer = await crowd.connect(number)
        try:
            for turn in range(number * times, number * times + times):
                await peer.send(crowd.request(numbered(path, turn), *(numbered(field, turn) for field in fields), way=way, method=method))
                status = await answered(peer)
            return status
        finally:
            peer.close()
    return visit


def leaves(path, *fields, way="route", after=0):
    """Asks and leaves, so many seconds later; every other time by a reset."""
    async def visit(crowd, number):
        peer = await crowd.connect(number)
        await peer.send(crowd.request(numbered(path, number), *fields, way=way))
        if after:
            await asyncio.sleep(after)
        peer.close(reset=number % 2 == 1)
        return "left"
    return visit


def leaves_after(path, size, *fields, way="route"):
    """Leaves once it has read so much of the body."""
    async def visit(crowd, number):
        peer = await crowd.connect(number)
        try:
            await peer.send(crowd.request(numbered(path, number), *fields, way=way))
            await peer.head()
            await peer.skip(size)
            return "left"
        finally:
            peer.close(reset=number % 2 == 1)
    return visit


def reads_slowly(path, *fields, seconds=3, way="route"):
    """Takes a few bytes a second, through a small window, and leaves."""
    async def visit(crowd, number):
        peer = await crowd.connect(number, buffer=4096)
        try:
            await peer.send(crowd.request(numbered(path, number), *fields, way=way))
            for _ in range(seconds):
                await peer.more(16)
                await asyncio.sleep(1)
            return "left"
        finally:
            peer.close()
    return visit


def holds(seconds, ask=""):
    """A connection upon which nothing happens, after one request or before any."""
    async def visit(crowd, number):
        peer = await crowd.connect(number)
        try:
            if ask:
                await peer.send(crowd.request(ask))
                await answered(peer)
            try:
                await peer.heard(seconds)
            except Gone:
                return "given up"
            return "left"
        finally:
            peer.close()
    return visit


def dribbles(start, piece, seconds):
    """Sends start and then a piece a second until it is answered or closed upon, or for so long."""
    async def visit(crowd, number):
        peer = await crowd.connect(number)
        try:
            await peer.send(start)
            for _ in range(seconds):
                if await peer.heard(1):
                    return (await peer.head())[0].split(" ")[1]
                await peer.send(piece)
            return "left"
        except Gone:
            return "closed"
        finally:
            peer.close()
    return visit


def pipelines(path):
    """1,000 requests in one write."""
    async def visit(crowd, number):
        peer = await crowd.connect(number)
        try:
            await peer.send(crowd.request(path) * PIPELINED)
            for _ in range(PIPELINED):
                status = await answered(peer)
            return status
        finally:
            peer.close()
    return visit


def tunnels(seconds):
    """CONNECT to the origin, and nothing then."""
    async def visit(crowd, number):
        peer = await crowd.connect(number)
        try:
            to = f"127.0.0.1:{crowd.origin_port}"
            await peer.send(f"CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n".encode())
            status = (await peer.head())[0].split(" ")[1]
            if await peer.heard(seconds):
                return "speaks"
            return status
        finally:
            peer.close()
    return visit


def named_hosts(hosts):
    """By forward proxy, each by a host name of its own."""
    async def visit(crowd, number):
        peer = await crowd.connect(number)
        try:
            host = f"h{number % hosts}.attack.test:{crowd.origin_port}"
            await peer.send(f"GET http://{host}/small/length/max-age=60/0 HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            return await answered(peer)
        finally:
            peer.close()
    return visit


def colliding(number, bits=24):
    """Texts of one length that the commonest hash, h * 33 + c, takes for the same."""
    return "".join(("bc", "cB")[number >> bit & 1] for bit in range(bits))


def collides(path, times):
    """URLs of 7 KB that differ in their last bytes only, so many upon one connection."""
    async def visit(crowd, number):
        peer = await crowd.connect(number)
        try:
            for turn in range(times):
                await peer.send(crowd.request(path + "x" * 7000 + colliding(number * times + turn)))
                status = await answered(peer)
            return status
        finally:
            peer.close()
    return visit


def policies(names, path):
    async def visit(crowd, number):
        name = names[number % len(names)] if number % 2 else f"none-{number}"
        return await asks(path, f"X-Encoding-Policy: {name}")(crowd, number)
    return visit


def until_refused(answers, close):
    """Asks on, with SIGTERM to utfeed once there were so many answers, until no connection is accepted any more. What was asked upon a
    connection and not answered whole is lost."""
    async def visit(crowd, number):
        while True:
            try:
                peer = await crowd.connect(number)
            except OSError:
                return "refused"
            try:
                await one_connection(crowd, peer, number, answers, close)
            except Gone:
                return "lost"
            finally:
                peer.close()
    return visit


async def one_connection(crowd, peer, number, answers, close):
    end = close == "both" and number % 2 or close is True
    while True:
        await peer.send(crowd.request("/small/length/max-age=600/0", *(("Connection: close",) if end else ())))
        line, fields = await peer.head()
        await peer.body(fields)
        crowd.answers = getattr(crowd, "answers", 0) + 1
        if crowd.answers == answers:
            os.kill(crowd.pid, signal.SIGTERM)
        if fields.get("connection") == "close":
            return
