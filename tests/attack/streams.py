"""Attacks over HTTP/2, by prior knowledge: what a connection does until utfeed ends it, and the code of its GOAWAY is the visit's end."""
import asyncio
import functools
import itertools

from http2_frames import (ACK, BOMBS, CONTINUATION, DATA, END_STREAM, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, MOST_WINDOW, PING, PREFACE,
                          RST_STREAM, SETTINGS, Frame, frame, header_frames, literal, name_of, ping, priority, reset, settings, window_update)

from .net import Gone

PATIENCE = 20                   # seconds that a flood may go on before it counts as taken
SMALL, LARGE, SINK = "/o/small/length/no-store/0", "/o/large/length/max-age=600/0", "/o/sink"
HEAD = 9                        # bytes of a frame
REFUSED = "REFUSED_STREAM"
STATUS_200 = 0x88               # RFC 7541, appendix A
AT_ONCE, MANY = 90, 1000        # streams begun before the others have ended; frames in a piece


def asked(path, method="GET"):
    """A header block that enters nothing into the table."""
    return b"".join(literal(*field) for field in ((":method", method), (":scheme", "http"), (":authority", "a"), (":path", path)))


ASKED, POSTED = asked(SMALL), asked(SINK, "POST")


async def next_frame(peer):
    while len(peer.held) < HEAD or len(peer.held) < HEAD + int.from_bytes(peer.held[:3], "big"):
        await peer.more()
    head = peer.take(HEAD)
    return Frame(head[3], head[4], int.from_bytes(head[5:], "big"), peer.take(int.from_bytes(head[:3], "big")))


async def response(peer, stream):
    """(is it a 200, its body, whether more may be asked here). What else comes belongs to no stream that anybody waits for."""
    right, body, stays = None, b"", True
    while True:
        kind, flags, of, payload = await next_frame(peer)
        if kind in (SETTINGS, PING) and not flags & ACK:
            await peer.send(frame(kind, ACK, 0, payload if kind == PING else b""))
        stays = stays and kind != GOAWAY
        if of != stream or kind not in (HEADERS, DATA, RST_STREAM):
            continue
        if kind == RST_STREAM:
            raise Gone
        if kind == DATA:
            body += payload
        elif right is None:
            right = payload[:1] == bytes((STATUS_200,))
        if flags & END_STREAM:
            return right, body, stays


class Session:
    """The attacker's end: what it reads is only counted."""

    def __init__(self, peer):
        self.peer, self.ended, self.code, self.more = peer, {}, None, asyncio.Event()

    async def read(self):
        """One frame: how a stream ended, or what the connection ends with. Nothing is answered, for it sends a flood meanwhile."""
        kind, flags, stream, payload = await next_frame(self.peer)
        if kind == GOAWAY:
            self.code = name_of(int.from_bytes(payload[4:8], "big"))
        elif kind == RST_STREAM:
            self.ended.setdefault(stream, name_of(int.from_bytes(payload, "big")))
        elif kind in (HEADERS, DATA) and flags & END_STREAM:
            self.ended.setdefault(stream, "answered")
        self.more.set()

    async def end(self):
        """Who is told that it ends, leaves: the next connection floods more than one that utfeed listens to no more."""
        try:
            while not self.code:
                await self.read()
        except Gone:
            return "no GOAWAY"
        return self.code

    async def until_ended(self, count):
        while len(self.ended) < count:
            self.more.clear()
            await self.more.wait()


async def begun(crowd, number, *pairs):
    peer = await crowd.connect(number)
    try:
        await peer.send(PREFACE + settings(*pairs))
    except Gone:
        peer.close()
        raise
    return Session(peer)


async def pour(session, pieces):
    try:
        async for piece in pieces(session):
            await session.peer.send(piece)
            await asyncio.sleep(0)      # what is sent at once lets nobody else run
    except Gone:
        pass


def floods(pieces):
    """Sends what pieces (session) gives, and reads meanwhile, to the connection's end."""
    async def visit(crowd, number):
        session = await begun(crowd, number)
        pouring = asyncio.create_task(pour(session, pieces))
        try:
            async with asyncio.timeout(PATIENCE):
                return await session.end()
        except TimeoutError:
            return "taken"
        finally:
            pouring.cancel()
            await asyncio.wait([pouring])       # before another socket has the descriptor that it waits for
            session.peer.close()
    return visit


def stalls(begins, streams, *pairs):
    """Begins so many streams and takes nothing of what comes on them: they end, or the connection does. From one address, for a stream
    counts there as a connection does."""
    async def visit(crowd, _):
        session = await begun(crowd, 0, *pairs)
        try:
            await session.peer.send(b"".join(begins(2 * turn + 1) for turn in range(streams)))
            while len(session.ended) < streams:
                await session.read()
            return "streams: " + (", ".join(sorted(set(session.ended.values()) - {REFUSED})) or REFUSED)
        except Gone:
            return session.code or "no GOAWAY"
        finally:
            session.peer.close()
    return visit


# ---- pieces ----

def made_of(make, most):
    """Frames for one stream after the other, by number, so many streams in a piece; they are made once for all connections."""
    @functools.cache
    def piece(turn):
        return b"".join(map(make, range(1 + 2 * most * turn, 1 + 2 * most * (turn + 1), 2)))
    return piece


def streams(make):
    piece = made_of(make, MANY)

    async def pieces(_):
        for turn in itertools.count():
            yield piece(turn)
    return pieces


def rounds(make):
    """As many at once as streams may be; each round waits for how the last one ended."""
    piece = made_of(make, AT_ONCE)

    async def pieces(session):
        for turn in itertools.count():
            yield piece(turn)
            await session.until_ended((turn + 1) * AT_ONCE)
    return pieces


def repeated(data, before=b"", times=MANY):
    async def pieces(_):
        yield before
        again = data * times
        while True:
            yield again
    return pieces


def on_a_stream(data):
    """The same over and over, on a stream whose request goes on."""
    return repeated(data, header_frames(1, POSTED, 0))


def within_a_block(data, times=MANY):
    return repeated(frame(CONTINUATION, 0, 1, data), frame(HEADERS, END_STREAM, 1, ASKED), times)


def bomb(name):
    async def pieces(_):
        yield header_frames(1, ASKED + BOMBS[name])
    return pieces


CALM = {"ENHANCE_YOUR_CALM"}
FLOODS = {name: (floods(pieces), CALM, ()) for name, pieces in {
    # CVE-2023-44487
    "rapid reset": streams(lambda number: header_frames(number, ASKED) + reset(number)),
    # CVE-2025-8671
    "made resets, windows beyond 31 bits": rounds(lambda number: header_frames(number, POSTED, 0) + window_update(number, MOST_WINDOW)),
    "made resets, malformed requests": rounds(lambda number: header_frames(number, ASKED + literal("connection", "close"))),
    "made resets, malformed trailers": rounds(lambda number: header_frames(number, POSTED, 0) + header_frames(number, literal(":path", "/"))),
    # CVE-2024-27316
    "CONTINUATION of nothing": within_a_block(b""),
    "CONTINUATION of much": within_a_block(literal("x-much", "a" * 16000), 10),
    # CVE-2026-49975
    **{f"bomb, {name}": bomb(name) for name in BOMBS},
    # CVE-2019-9511 to -9518
    "SETTINGS": on_a_stream(settings((INITIAL_WINDOW_SIZE, 1)) + settings((INITIAL_WINDOW_SIZE, 2))),
    "PING": repeated(ping()),
    "PRIORITY": repeated(priority(1)),
    "empty DATA": on_a_stream(frame(DATA, 0, 1)),
    "WINDOW_UPDATE": on_a_stream(window_update(1, 1)),
    "WINDOW_UPDATE of the connection": repeated(window_update(0, 1)),
}.items()}
CROWDED = {"no GOAWAY", f"streams: {REFUSED}"}     # client-connections leaves no room
STALLS = {
    "zero windows": (stalls(lambda number: header_frames(number, asked(LARGE)), 100, (INITIAL_WINDOW_SIZE, 0)),
                     {"streams: CANCEL"} | CROWDED, ("--write-timeout", "5s")),
    "requests without an end": (stalls(lambda number: header_frames(number, POSTED, 0), 100), {"streams: CANCEL"} | CROWDED,
                                ("--request-timeout", "5s")),
    "a header block without an end": (stalls(lambda number: frame(HEADERS, 0, number, POSTED), 1), CALM, ("--request-timeout", "5s")),
}
