"""The clients of the stress: asyncio connections that ask for few URLs at once in every way in, read slowly, leave early, send bodies,
purge. A whole 200 answer must be its own path's; an answer that never ends is a failure; any other end may be.
"""
import asyncio
import collections
import random
import socket
import struct
import time
import zlib

from origin import FEED, KINDS, NUMBERS, body_of, normalised

HANGS_AFTER = 30                            # seconds; every timeout of the proxy is below
LANGUAGES, USERS = ("de", "uk", "en"), ("Basic YTpi", "Basic Yjpi")
HOT_SECONDS, HOT_PATHS = 0.5, 3             # most ask for few URLs, and for others after that


class Wrong(Exception):
    """What the proxy must not do."""


class Left(Exception):
    """The client ends its connection."""


class Traffic:
    """What the clients of one run share; made: how many answers came whole, by status."""

    def __init__(self, port, origin_port, seed, kinds=None):
        self.port, self.origin_port, self.seed = port, origin_port, seed
        self.kinds = kinds or sorted(KINDS)
        self.made = collections.Counter()
        self.over = False
        self.bodies, self.now, self.hottest = {}, None, []

    def is_body(self, path, whose, body, raw):
        if (path, whose) not in self.bodies:
            sent = body_of(path, whose)
            self.bodies[path, whose] = (sent, normalised(sent) if KINDS[path.split("/")[1]][0] is FEED else sent)
        plain, feed = self.bodies[path, whose]
        return body == plain or (body == feed and not raw)

    def any(self, chance):
        return f"/{chance.choice(self.kinds)}/{chance.randrange(NUMBERS)}", chance.choice(sorted(WAYS))

    def hot(self, chance):
        """A path and a way in, mostly ones that others choose just now."""
        now = int(time.monotonic() / HOT_SECONDS)
        if now != self.now:
            self.now, of_now = now, random.Random(self.seed * 1000 + now)
            self.hottest = [self.any(of_now) for _ in range(HOT_PATHS)]
        return chance.choice(self.hottest) if chance.random() < 0.8 else self.any(chance)


WAYS = {
    "route": lambda port, path: (f"/r{path}", "a"),
    "raw": lambda port, path: (f"/raw{path}", "a"),
    "gateway": lambda port, path: (f"/http://127.0.0.1:{port}{path}", "a"),
    "query": lambda port, path: (f"/?url=http://127.0.0.1:{port}{path}", "a"),
    "forward": lambda port, path: (f"http://127.0.0.1:{port}{path}", f"127.0.0.1:{port}"),
    "named": lambda port, path: (f"http://localhost:{port}{path}", f"localhost:{port}"),
}


class Client:
    def __init__(self, traffic, number):
        self.traffic, self.chance = traffic, random.Random(traffic.seed * 1000 + number)
        self.reader = self.writer = None
        self.current = None                 # the one whose answer is read
        self.tunnelled = False              # the origin's words, good or bad, are not the proxy's
        self.asked = collections.deque()    # (path, way, method, whose) of what is yet to be answered
        self.told = 0, {}                   # status and fields of the last whole answer

    async def connect(self):
        sock = socket.socket()
        sock.setblocking(False)
        if self.chance.random() < 0.2:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self.traffic.port))
        self.reader, self.writer = await asyncio.open_connection(sock=sock, limit=1 << 16)

    def leave(self, reset):
        if reset:
            self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Left

    def fields(self, kind):
        chance = self.chance
        if chance.random() < 0.3:
            yield "Accept-Encoding: gzip"
        what = chance.random()
        if what < 0.05:
            yield "Cache-Control: " + chance.choice(("no-cache", "max-age=0", "only-if-cached", "max-stale=9", "no-store"))
        elif what < 0.1:
            yield "If-None-Match: " + chance.choice(('"1"', "*"))
        elif what < 0.2 or kind == "part":
            yield "Range: bytes=" + chance.choice(("0-9", "100-5000", "-20", "3000-"))

    def names_itself(self, kind, way):
        """Its language and perhaps its user, as field lines; and what the answer will be for, where the origin is told."""
        language, user = self.chance.choice(LANGUAGES), self.chance.choice(USERS)
        named = kind == "users" or self.chance.random() < 0.05
        whose = {"varies": language, "users": user if way == "route" else ""}.get(kind, "")
        return [f"Accept-Language: {language}"] + [f"Authorization: {user}"] * named, whose.encode()

    def request(self, path, way):
        kind = path.split("/")[1]
        target, host = WAYS[way](self.traffic.origin_port, path)
        method = "POST" if kind == "sink" else "HEAD" if self.chance.random() < 0.05 else "GET"
        lines, whose = self.names_itself(kind, way)
        self.asked.append((path, way, method, whose))
        return [f"{method} {target} HTTP/1.1", f"Host: {host}", *lines, *self.fields(kind)]

    async def upload(self, lines):
        """A body of its own speed; it may end too early."""
        size = self.chance.choice((10, 20000, 400000))
        coded = self.chance.random() < 0.5
        lines += ["Transfer-Encoding: chunked" if coded else f"Content-Length: {size}"]
        if self.chance.random() < 0.2:
            lines += ["Expect: 100-continue"]
        self.writer.write("\r\n".join((*lines, "", "")).encode())
        for at in range(0, size, 10000):
            piece = bytes(min(10000, size - at))
            self.writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if coded else piece)
            await self.writer.drain()
            if self.chance.random() < 0.03:
                self.leave(self.chance.random() < 0.5)
            if self.chance.random() < 0.1:
                await asyncio.sleep(self.chance.random() * 0.02)
        if coded:
            self.writer.write(b"0\r\n\r\n")

    async def purge(self, path):
        what = self.chance.choice(("url", "url", "prefix", "soft", "all", "host"))
        target, host = WAYS[self.chance.choice(("route", "forward"))](self.traffic.origin_port, path)
        self.asked.append((path, "route", "PURGE", b""))
        self.writer.write(f"PURGE {target} HTTP/1.1\r\nHost: {host}\r\nX-Purge: {what}\r\n\r\n".encode())

    async def ask(self):
        path, way = self.traffic.hot(self.chance)
        if self.chance.random() < 0.02:
            await self.purge(path)
            return
        lines = self.request(path, way)
        if self.asked[-1][2] == "POST":
            await self.upload(lines)
        else:
            self.writer.write("\r\n".join((*lines, "", "")).encode())

    async def tunnel(self):
        target = f"127.0.0.1:{self.traffic.origin_port}"
        self.writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        status, _ = await self.head()
        if status != 200:
            raise Left
        self.tunnelled = True
        for _ in range(self.chance.randrange(3)):
            path, _ = self.traffic.hot(self.chance)
            self.asked.append((path, "raw", "GET", b""))
            self.writer.write(f"GET {path} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
            await self.answer()
        self.leave(self.chance.random() < 0.5)

    async def head(self):
        while True:
            line, *lines = (await self.reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
            status = int(line[9:12])
            if status >= 200 or status == 101:
                return status, {name.lower(): value.strip() for name, _, value in (each.partition(b":") for each in lines)}

    async def some(self, size):
        """Exactly so many bytes, however slowly; now and then it is had enough of."""
        chance, pieces = self.chance.random(), []
        if chance > 0.1:
            return await self.reader.readexactly(size)
        while size:
            pieces.append(await self.reader.readexactly(min(size, 8192)))
            size -= len(pieces[-1])
            if chance < 0.03:
                await asyncio.sleep(self.chance.random() * 0.02)
            elif chance < 0.06 and self.chance.random() < 0.2:
                self.leave(chance < 0.05)
        return b"".join(pieces)

    async def body(self, status, fields, method):
        """None: its end cannot be told from a cut."""
        if method == "HEAD" or status in (204, 304):
            return None
        if fields.get(b"transfer-encoding"):
            pieces = []
            while True:
                size = int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16)
                if not size:
                    break
                pieces.append(await self.some(size))
                if await self.reader.readexactly(2) != b"\r\n":
                    raise Wrong("a chunk does not end where it says")
            while await self.reader.readuntil(b"\r\n") != b"\r\n":
                pass
            return b"".join(pieces)
        if b"content-length" in fields:
            return await self.some(int(fields[b"content-length"]))
        await self.reader.read()
        raise Left

    async def answer(self):
        path, way, method, whose = self.current = self.asked.popleft()
        status, fields = await self.head()
        body = await self.body(status, fields, method)
        self.traffic.made[status] += 1
        self.told = status, fields
        if status == 200 and body is not None and method != "PURGE":
            if fields.get(b"content-encoding") == b"gzip":
                body = zlib.decompress(body, 31)
            if not self.traffic.is_body(path, whose, body, way == "raw"):
                raise Wrong(f"{method} {path} by {way} for {whose!r}: {len(body)} bytes that are not its own: {body[:200]!r} {fields}")
        if fields.get(b"connection") == b"close":
            raise Left

    async def soon(self, step):
        """What waits for the proxy, each for itself: a machine may be slow."""
        async with asyncio.timeout(HANGS_AFTER):
            await step

    async def visit(self):
        """One connection, from its beginning to its end."""
        self.tunnelled = False
        await self.soon(self.connect())
        if self.chance.random() < 0.03:
            await self.soon(self.tunnel())
        for _ in range(self.chance.randrange(1, 30)):
            for _ in range(self.chance.choice((1, 1, 1, 4))):
                await self.soon(self.ask())
            what = self.chance.random()
            if what < 0.1:
                if what < 0.05:
                    await asyncio.sleep(self.chance.random() ** 2 * 0.05)
                self.leave(self.chance.random() < 0.5)
            while self.asked:
                await self.soon(self.answer())
            if self.traffic.over:
                return

    def close(self):
        self.asked.clear()
        if self.writer:
            self.writer.close()
        self.reader = self.writer = None

    async def asks_once(self, path):
        """Without whims, and for sure: the status, and the seconds of Retry-After."""
        try:
            await self.soon(self.connect())
            self.chance.random = lambda: 0.99
            self.writer.write("\r\n".join((*self.request(path, "route"), "Connection: close", "", "")).encode())
            await self.soon(self.answer())
        except (OSError, EOFError, TimeoutError) as error:
            raise Wrong(f"answers no more: {error!r}") from None
        except Left:                        # as it asked for
            pass
        finally:
            self.close()
        status, fields = self.told
        return status, int(fields.get(b"retry-after", 0))

    async def one_visit(self):
        try:
            await self.visit()
        except TimeoutError:
            raise Wrong(f"no answer within {HANGS_AFTER} s: {self.current}, then {list(self.asked)}") from None
        except (ValueError, zlib.error) as error:
            if not self.tunnelled:
                raise Wrong(f"an answer that cannot be read: {error}") from error
        except (Left, OSError, EOFError):
            self.traffic.made["left"] += 1
        finally:
            self.close()

    async def visits(self):
        while not self.traffic.over:
            await self.one_visit()
            if not self.reader and self.chance.random() < 0.01:
                await asyncio.sleep(0.01)
