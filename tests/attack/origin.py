"""The hostile origin: a process of its own. /KIND/... says what it does, and the function named KIND below is it.

A path goes on with how the body is framed (length, chunked) and with its Cache-Control.
"""
import asyncio
import functools
import multiprocessing
import os
import socket

from . import bodies
from .net import LEAST_URGENT, Gone, Peer

LARGE = bytes(range(32, 127)) * 11038           # 1 MB of text
SECOND = 1.0
ANSWERS = {}


def answer(function):
    ANSWERS[function.__name__.replace("_", "-")] = function
    return function


def head(*fields, status="200 OK"):
    return "\r\n".join((f"HTTP/1.1 {status}", *fields, "", "")).encode()


def framed(words, body, media, *fields):
    """words: framing and Cache-Control."""
    rule = f"Cache-Control: {words[1]}"
    if words[0] == "length":
        return head(f"Content-Type: {media}", rule, *fields, f"Content-Length: {len(body)}") + body
    return head(f"Content-Type: {media}", rule, *fields, "Transfer-Encoding: chunked") + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


@functools.cache
def page(kind, *words):
    """Whole answers, made once."""
    if kind == "large":
        return framed(words, LARGE, "text/plain")
    if kind == "feed":
        return framed(words, bodies.FEED, "application/xml", "ETag: \"1\"")
    if kind == "small":
        return framed(words, bodies.SMALL, "application/xml", "ETag: \"1\"")
    if kind == "varies":
        return framed(words, bodies.SMALL, "application/xml", "Vary: User-Agent")
    if kind == "text":
        return framed(("length", "no-store"), bodies.text(words[0]), "application/xml")
    codings, body = bodies.bomb(words[0])
    return head("Content-Type: application/xml", f"Content-Encoding: {codings}", f"Content-Length: {len(body)}") + body


async def whole(peer, words):
    """large, feed, small, varies: FRAMING, RULE; text, bomb: its name."""
    await peer.send(page(*words[:3]) if words[0] not in ("text", "bomb") else page(*words[:2]))


@answer
async def drip(peer, words):
    """A tenth of 1 MB, and then a byte a second."""
    all_of_it = page("large", *words[1:3])
    at = len(all_of_it) // 10
    await peer.send(all_of_it[:at])
    while at < len(all_of_it):
        await asyncio.sleep(SECOND)
        await peer.send(all_of_it[at:at + 1])
        at += 1


@answer
async def slow_head(peer, _):
    for byte in head("Content-Type: text/plain", "X-Long: " + "x" * 1000):
        await peer.send(bytes((byte,)))
        await asyncio.sleep(SECOND)


async def without_end(peer, data):
    while True:
        await peer.send(data)


@answer
async def endless_head(peer, _):
    await peer.send(b"HTTP/1.1 200 OK\r\n")
    await without_end(peer, b"X-Field: of many\r\n" * 100)


@answer
async def endless_interim(peer, _):
    await without_end(peer, head("Link: </a>; rel=preload", status="103 Early Hints") * 50)


@answer
async def endless_body(peer, words):
    await peer.send(head("Content-Type: " + ("application/xml" if words[1] == "xml" else "text/plain"), f"Cache-Control: {words[2]}",
                         "Transfer-Encoding: chunked"))
    piece = "<item>Погода</item>".encode("windows-1251") * 2000
    if words[1] == "xml":
        start = b'<?xml version="1.0" encoding="windows-1251"?><rss>'
        await peer.send(b"%x\r\n%b\r\n" % (len(start), start))
    await without_end(peer, b"%x\r\n%b\r\n" % (len(piece), piece))


@answer
async def tiny_chunks(peer, _):
    await peer.send(head("Content-Type: text/plain", "Cache-Control: no-store", "Transfer-Encoding: chunked"))
    for _ in range(100):
        await peer.send(b"1\r\nx\r\n" * 1000)
    await peer.send(b"0\r\n\r\n")


@answer
async def endless_extension(peer, _):
    await peer.send(head("Content-Type: text/plain", "Transfer-Encoding: chunked") + b"5;a=")
    await without_end(peer, b"x" * 5000)


@answer
async def endless_trailers(peer, _):
    await peer.send(head("Content-Type: text/plain", "Transfer-Encoding: chunked") + b"5\r\nhello\r\n0\r\n")
    await without_end(peer, b"X-Trailer: of many\r\n" * 100)


@answer
async def fields(peer, _):
    await peer.send(head(*(f"X-{number}: " + "v" * 300 for number in range(90)), "Content-Length: 0"))


@answer
async def members(peer, _):
    await peer.send(head("Connection: " + ",".join(f"x-{number}" for number in range(95)), "Content-Length: 0"))


@answer
async def hop(peer, words):
    await peer.send(head(f"Location: /hop/{int(words[1]) + 1}", "Content-Length: 0", status="302 Found"))


@answer
async def loop(peer, words):
    await peer.send(head(f"Location: /loop/{words[1]}", "Content-Length: 0", status="302 Found"))


@answer
async def pause(peer, _):
    await peer.send(head("Content-Length: 0", status="500 Later"))


@answer
async def sink(peer, _):
    await peer.send(head("Content-Length: 0"))


@answer
async def silent(peer, _):
    while True:
        await peer.more()


async def exchange(peer):
    line, asked = await peer.head()
    if line.startswith("CONNECT"):
        raise Gone
    words = line.split(" ")[1].split("?")[0].strip("/").split("/")
    await peer.body(asked)
    await ANSWERS.get(words[0], whole)(peer, words)


async def connection(sock):
    peer = Peer(sock)
    try:
        while True:
            await exchange(peer)
    except (Gone, ValueError):
        peer.close()


async def serve(listening, moved):
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    taken = set()
    while True:
        sock, _ = await asyncio.get_running_loop().sock_accept(listening)
        task = asyncio.create_task(connection(sock))
        taken.add(task)
        task.add_done_callback(taken.discard)
        moved.value = Peer.moved


async def count(moved):
    while True:
        await asyncio.sleep(0.1)
        moved.value = Peer.moved


async def both(listening, moved):
    await asyncio.gather(serve(listening, moved), count(moved))


def run(listening, moved, yields):
    if yields:
        os.nice(LEAST_URGENT)
    listening.setblocking(False)
    asyncio.run(both(listening, moved))


class Origin:
    """Runs while the with block does; .port, and .moved(): bytes over all its connections. yields: to whoever else wants the processor;
    on a busy machine it would then not answer for minutes."""

    def __init__(self, yields=True):
        listening = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.port = listening.getsockname()[1]
        context = multiprocessing.get_context("fork")
        self.count = context.RawValue("q")
        self.process = context.Process(target=run, args=(listening, self.count, yields), daemon=True)
        self.process.start()
        listening.close()

    def moved(self):
        return self.count.value

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.join()
