"""The origin of the stress: every way of answering, well or badly, that two workers may share the making of. A process of its own.

A path is /KIND/NUMBER. What its whole body is, follows from the path, and from the field that Vary names, so that any client can tell a
foreign or a short one.
"""
import asyncio
import logging
import multiprocessing
import random
import socket
import zlib

CLOSE, RESET = object(), object()
FEED, PLAIN = "application/rss+xml", "text/plain"
XML = b'<?xml version="1.0" encoding="windows-1251"?><rss>'
CYRILLIC = bytes(range(0xc0, 0x100))
# kind: media type, repetitions of the path in the body, fields
KINDS = {
    "now": (FEED, 20, ("Cache-Control: max-age=0", 'ETag: "1"')),
    "again": (PLAIN, 300, ("Cache-Control: max-age=0, must-revalidate", 'ETag: "1"')),
    "short": (FEED, 100, ("Cache-Control: max-age=1", 'ETag: "1"')),
    "behind": (FEED, 20, ("Cache-Control: max-age=0, stale-while-revalidate=5", 'ETag: "1"')),
    "long": (FEED, 300, ("Cache-Control: max-age=60",)),
    "part": (PLAIN, 800, ("Cache-Control: max-age=60", 'ETag: "1"', "Accept-Ranges: bytes")),
    "varies": (FEED, 20, ("Cache-Control: max-age=1", "Vary: Accept-Language")),
    "users": (PLAIN, 20, ("Cache-Control: public, max-age=1", "Vary: Authorization")),
    "never": (FEED, 20, ("Cache-Control: no-store",)),
    "mine": (PLAIN, 20, ("Cache-Control: private",)),
    "errs": (FEED, 20, ("Cache-Control: max-age=0, stale-if-error=5",)),
    "pause": (FEED, 20, ("Cache-Control: max-age=0",)),
    "cut": (PLAIN, 500, ("Cache-Control: max-age=1",)),
    "torn": (FEED, 500, ("Cache-Control: max-age=1",)),
    "resets": (FEED, 50, ("Cache-Control: max-age=0",)),
    "slow": (FEED, 500, ("Cache-Control: max-age=1",)),
    "big": (PLAIN, 30000, ("Cache-Control: max-age=1",)),
    "wide": (PLAIN, 30000, ("Cache-Control: max-age=1",)),
    "packed": (FEED, 300, ("Cache-Control: max-age=0", "Content-Encoding: gzip")),
    "moves": (FEED, 1, ("Cache-Control: max-age=0",)),
    "hints": (FEED, 20, ("Cache-Control: max-age=0",)),
    "late": (FEED, 20, ("Cache-Control: max-age=0",)),
    "sink": (PLAIN, 20, ("Cache-Control: no-store",)),
}
NUMBERS = 3
VARIES = {"varies": b"accept-language", "users": b"authorization"}


def body_of(path, whose=b""):
    """As the origin sends it; whose: the value of the field that the path varies by."""
    kind = path.split("/")[1]
    if kind == "moves":
        return body_of(path.replace("moves", "short"))
    media, times, _ = KINDS[kind]
    text = path.encode() + b" " + whose + b"\n"
    return XML + (text + CYRILLIC) * times + b"</rss>" if media is FEED else text * times


def normalised(body):
    """As utfeed gives a feed."""
    return body.decode("windows-1251").replace("windows-1251", "UTF-8").encode()


def packed(body):
    coder = zlib.compressobj(wbits=31)
    return coder.compress(body) + coder.flush()


def chunked(body, size):
    for at in range(0, len(body), size):
        piece = body[at:at + size]
        yield b"%x\r\n%b\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"


def head(status, *fields):
    return "\r\n".join((f"HTTP/1.1 {status}", *fields, "", "")).encode()


class Site:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.bodies = {f"/{kind}/{n}": body_of(f"/{kind}/{n}") for kind in KINDS for n in range(NUMBERS)}
        for n in range(NUMBERS):
            self.bodies[f"/packed/{n}"] = packed(self.bodies[f"/packed/{n}"])

    def whole(self, path, body=None):
        media, _, fields = KINDS[path.split("/")[1]]
        body = body or self.bodies[path]
        return head("200 OK", f"Content-Type: {media}", f"Content-Length: {len(body)}", *fields) + body

    def coded(self, path):
        media, _, fields = KINDS[path.split("/")[1]]
        return head("200 OK", f"Content-Type: {media}", "Transfer-Encoding: chunked", *fields)

    def script(self, path, fields):
        """Yields bytes to send, seconds to wait, and CLOSE or RESET at the end of the connection."""
        kind = path.split("/")[1]
        if path not in self.bodies:
            yield head("404 Not Found", "Content-Length: 0")
        elif b"if-none-match" in fields and kind != "part" and self.chance.random() < 0.8:
            yield head("304 Not Modified", *KINDS[kind][2])
        else:
            yield from getattr(self, kind, self.plain)(path, fields)

    def plain(self, path, _):
        yield self.whole(path)

    def varies(self, path, fields):
        kind = path.split("/")[1]
        if self.chance.random() < 0.5:
            yield self.chance.random() * 0.05
        yield self.whole(path, body_of(path, fields.get(VARIES[kind], b"")))

    users = varies

    def part(self, path, fields):
        asked = fields.get(b"range", b"")
        if not asked.startswith(b"bytes=") or b"," in asked:
            yield self.whole(path)
            return
        body = self.bodies[path]
        first, last = (int(n) if n else None for n in asked[6:].split(b"-"))
        first, last = (len(body) - last, len(body) - 1) if first is None else (first, min(last or len(body), len(body) - 1))
        yield head("206 Partial Content", f"Content-Type: {PLAIN}", f"Content-Range: bytes {first}-{last}/{len(body)}",
                   f"Content-Length: {last + 1 - first}", *KINDS["part"][2]) + body[first:last + 1]

    def errs(self, path, _):
        if self.chance.random() < 0.5:
            yield head(self.chance.choice(("500 Wrong", "503 Busy", "404 Not Found")), "Content-Length: 5") + b"wrong"
        else:
            yield self.whole(path)

    def pause(self, path, _):
        if self.chance.random() < 0.2:
            yield head("429 Slowly", "Retry-After: 1", "Content-Length: 0")
        else:
            yield self.whole(path)

    def cut(self, path, _):
        whole = self.whole(path)
        if self.chance.random() < 0.5:
            yield whole
        else:
            yield whole[:self.chance.randrange(len(whole))]
            yield self.chance.choice((CLOSE, RESET))

    def torn(self, path, _):
        end = self.chance.random()
        yield self.coded(path)
        for piece in chunked(self.bodies[path], 4000):
            if end < 0.5 and self.chance.random() < 0.1:
                yield self.chance.choice((CLOSE, RESET, b"zz\r\n"))
                return
            yield piece
            yield 0.0

    def resets(self, path, _):
        if self.chance.random() < 0.4:
            yield RESET
        yield self.whole(path)
        yield self.chance.choice((0.0, CLOSE, RESET))

    def slow(self, path, _):
        yield self.coded(path)
        for piece in chunked(self.bodies[path], 6000):
            yield piece
            yield self.chance.random() * 0.02

    def big(self, path, _):
        yield self.coded(path)
        for piece in chunked(self.bodies[path], 16000):
            yield piece

    def moves(self, path, _):
        yield head("302 Found", f"Location: {path.replace('moves', 'short')}", "Content-Length: 0")

    def hints(self, path, _):
        for _ in range(self.chance.randrange(4)):
            yield head("103 Early Hints", "Link: </a.css>; rel=preload")
            yield self.chance.random() * 0.01
        yield self.whole(path)

    def late(self, path, _):
        yield self.chance.random() ** 3 * 2
        yield self.whole(path)


class Connection(asyncio.Protocol):
    def __init__(self, site):
        self.site, self.bytes, self.running, self.transport = site, b"", None, None
        self.skips = 0                      # bytes of a request's body yet to come; None: chunked

    def connection_made(self, transport):
        self.transport = transport

    def connection_lost(self, _):
        self.running = iter(())

    def data_received(self, data):
        self.bytes += data
        if not self.running:
            self.take()

    def take(self):
        """The next request, if it is there."""
        if self.skips is None:
            at = self.bytes.find(b"\r\n0\r\n\r\n")
            self.bytes = self.bytes[at + 7 if at >= 0 else -8:]
            if at < 0:
                return
        else:
            self.skips, self.bytes = self.skips - min(self.skips, len(self.bytes)), self.bytes[self.skips:]
            if self.skips:
                return
        self.skips = 0
        end = self.bytes.find(b"\r\n\r\n")
        if end < 0:
            return
        line, *lines = self.bytes[:end].split(b"\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (each.partition(b":") for each in lines)}
        self.bytes = self.bytes[end + 4:]
        if b"chunked" in fields.get(b"transfer-encoding", b""):
            self.skips, self.bytes = None, b"\r\n" + self.bytes
        else:
            self.skips = int(fields.get(b"content-length", 0))
        path = line.split(b" ")[1].decode().partition("?")[0]
        self.running = self.site.script(path, fields)
        self.step()

    def step(self):
        """An answer to an upload may be out before the upload is in."""
        for what in self.running:
            if isinstance(what, bytes):
                self.transport.write(what)
            elif isinstance(what, float):
                asyncio.get_running_loop().call_later(what, self.step)
                return
            else:
                if what is RESET:
                    self.transport.abort()
                self.transport.close()
                return
        self.running = None
        if not self.transport.is_closing():
            self.take()


def run(listening, seed):
    async def serve():
        site = Site(seed)
        server = await asyncio.get_running_loop().create_server(lambda: Connection(site), sock=listening)
        await server.serve_forever()
    logging.getLogger("asyncio").setLevel(logging.ERROR)    # that a peer is gone is no news
    asyncio.run(serve())


class Origin:
    """Runs while the with block does; .port."""

    def __init__(self, seed):
        listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = listening.getsockname()[1]
        self.process = multiprocessing.get_context("fork").Process(target=run, args=(listening, seed), daemon=True)
        self.process.start()
        listening.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.join()
