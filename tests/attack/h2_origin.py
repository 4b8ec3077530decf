"""A hostile origin that speaks HTTP/2: a process of its own for each flood. A connection takes one stream, and its request is answered by the
flood until utfeed ends the connection."""
import asyncio
import contextlib
import functools
import itertools
import multiprocessing
import os
import socket

from certs import Authority, server_context
from http2_frames import (ACK, BOMBS, CONTINUATION, DATA, END_HEADERS, HEADERS, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS, PING, PREFACE, RST_STREAM,
                          SETTINGS, frame, goaway, header_frames, indexed, literal, ping, priority, settings, window_update)

from .net import Gone, Peer
from .streams import MANY, next_frame

STREAM = 1
LESS_URGENT = 10                # nice(2); it has to answer on a busy machine, too
HEAD = header_frames(STREAM, indexed(8), 0)     # 200
CUT, WRONG, LATE = {"cut"}, {"502"}, {"504"}


def over_and_over(data, before=b"", times=MANY):
    return lambda: itertools.chain((before,), itertools.repeat(data * times))


def within_a_block(data, times=MANY):
    return over_and_over(frame(CONTINUATION, 0, STREAM, data), frame(HEADERS, 0, STREAM, indexed(8)), times)


# What comes, and how the client's request may end
FLOODS = {
    "resets": (over_and_over(frame(RST_STREAM, 0, STREAM, bytes(4))), WRONG),
    "CONTINUATION of nothing": (within_a_block(b""), WRONG),
    "CONTINUATION of much": (within_a_block(literal("x-much", "a" * 16000), 10), WRONG),
    "interim responses": (over_and_over(header_frames(STREAM, literal(":status", "103"), 0)), WRONG),
    "SETTINGS": (over_and_over(settings((INITIAL_WINDOW_SIZE, 1)) + settings((INITIAL_WINDOW_SIZE, 2))), WRONG),
    "PING": (over_and_over(ping()), WRONG),
    "PRIORITY": (over_and_over(priority(STREAM)), WRONG),
    "GOAWAY": (over_and_over(goaway(STREAM)), WRONG),
    "empty DATA": (over_and_over(frame(DATA, 0, STREAM), HEAD), CUT | WRONG),
    "DATA of a byte": (over_and_over(frame(DATA, 0, STREAM, b"x"), HEAD), CUT | WRONG),
    "WINDOW_UPDATE": (over_and_over(window_update(0, 1), HEAD), CUT | WRONG),
    **{f"bomb, {name}": (lambda name=name: iter((header_frames(STREAM, indexed(8) + BOMBS[name]),)), WRONG) for name in BOMBS},
    "a header block without an end": (lambda: iter((frame(HEADERS, 0, STREAM, indexed(8)),)), LATE),
    "a body without an end": (lambda: iter((HEAD,)), LATE),
}
SHORT = ("--first-byte-timeout", "5s", "--between-bytes-timeout", "5s")     # for what never comes


class TlsPeer(Peer):
    def __init__(self, reader, writer):         # pylint: disable=super-init-not-called
        self.reader, self.writer, self.held = reader, writer, b""

    async def send(self, data):
        try:
            self.writer.write(data)
            await self.writer.drain()
        except OSError as error:
            raise Gone from error

    async def more(self, size=1 << 16):
        try:
            data = await self.reader.read(size)
        except OSError as error:
            raise Gone from error
        if not data:
            raise Gone
        self.held += data

    def close(self, reset=False):
        self.writer.close()


async def pour(peer, pieces):
    with contextlib.suppress(Gone):
        for piece in pieces():
            await peer.send(piece)
            await asyncio.sleep(0)      # as of streams.py


async def answer(pieces, reader, writer):
    peer, pouring = TlsPeer(reader, writer), None
    try:
        await peer.send(settings((MAX_CONCURRENT_STREAMS, 1)))
        while len(peer.held) < len(PREFACE):
            await peer.more()
        peer.take(len(PREFACE))
        while True:
            kind, flags, _, _ = await next_frame(peer)
            if kind == SETTINGS and not flags & ACK and not pouring:
                await peer.send(frame(SETTINGS, ACK))
            if kind == HEADERS and flags & END_HEADERS and not pouring:
                pouring = asyncio.create_task(pour(peer, pieces))
    except Gone:
        pass
    finally:
        if pouring:
            pouring.cancel()
        peer.close()


async def serve(listening, context, pieces):
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    server = await asyncio.start_server(functools.partial(answer, pieces), sock=listening, ssl=context, backlog=4096)
    await server.serve_forever()


def run(listening, certificate, pieces):
    os.nice(LESS_URGENT)
    context = server_context(certificate)
    context.set_alpn_protocols(["h2"])
    asyncio.run(serve(listening, context, pieces))


def pours(name):
    """The helper for a row: /h2/ leads to an origin with this flood."""
    @contextlib.contextmanager
    def helper(folder):
        authority = Authority(folder)
        listening = socket.create_server(("127.0.0.1", 0), backlog=4096)
        port = listening.getsockname()[1]
        args = listening, authority.issue("localhost"), FLOODS[name][0]
        process = multiprocessing.get_context("fork").Process(target=run, args=args, daemon=True)
        process.start()
        listening.close()
        try:
            # A hundred handshakes take long on a busy machine
            yield ("--route", f"/h2/=https://localhost:{port}/ http2=on tls-ca-file={authority.root.cert}", "--pause", "off",
                   "--connect-timeout", "60s", *(SHORT if FLOODS[name][1] == LATE else ()))
        finally:
            process.terminate()
            process.join()
    return helper
