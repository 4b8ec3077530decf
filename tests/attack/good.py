"""The good client, and the origin of the feed it asks for: a process of their own, with nothing to do but that.

Every 10 ms it asks for the feed: as it is stored, as it has to be fetched and decoded, and as it is stored again, upon a new connection.
What it waits counts from when it was due: an answer that takes longer stands for all that could not be asked meanwhile.
"""
import asyncio
import multiprocessing
import socket

from http2_frames import ENABLE_PUSH, INITIAL_WINDOW_SIZE, MOST_WINDOW, PREFACE, WINDOW, header_frames, settings, window_update

from .net import Gone, Peer
from .streams import asked, response

TICK, HANGS = 0.01, 30
TEXT = "Погода на завтра: дождь, местами снег. " * 500
FEED = f'<?xml version="1.0" encoding="windows-1251"?><rss><title>{TEXT}</title></rss>'.encode("windows-1251")
RIGHT = f'<?xml version="1.0" encoding="UTF-8"?><rss><title>{TEXT}</title></rss>'.encode()
TARGETS = ("/good/max-age=3600", "/good/no-store", "/good/max-age=3600")


async def answer(sock):
    peer = Peer(sock)
    try:
        while True:
            line, _ = await peer.head()
            rules = line.split(" ")[1].rsplit("/", 1)[-1]
            await peer.send(f"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nCache-Control: {rules}\r\n"
                            f"Content-Length: {len(FEED)}\r\n\r\n".encode() + FEED)
    except Gone:
        peer.close()


async def serve(listening):
    while True:
        sock, _ = await asyncio.get_running_loop().sock_accept(listening)
        asyncio.create_task(answer(sock))


class Client:
    def __init__(self, port):
        self.port, self.kept, self.turn = port, None, 0
        self.waited, self.wrong = [], []

    async def connect(self):
        sock = socket.socket()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self.port))
        return Peer(sock)

    async def get(self, peer, target):
        await peer.send(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        line, fields = await peer.head()
        length = int(fields.get("content-length", 0)) if "transfer-encoding" not in fields else None
        body = b"" if length is None else await self.exactly(peer, length)
        while length is None:
            size = int((await peer.until(b"\r\n")), 16)
            body += (await self.exactly(peer, size + 2))[:size]
            length = None if size else 0
        if line.split(" ")[1] != "200" or body != RIGHT:
            self.wrong.append(f"{target}: {line}, {len(body)} bytes")
        return fields.get("connection") != "close"

    async def exactly(self, peer, count):
        while len(peer.held) < count:
            await peer.more()
        return peer.take(count)

    async def ask(self):
        """A connection that was idle may be given up, or end with the server's drain: then another one is good."""
        turn, self.turn = self.turn % len(TARGETS), self.turn + 1
        own = turn == 2
        for again in (True, False):
            peer = await self.connect() if own or not self.kept else self.kept
            fresh, self.kept = peer is not self.kept, self.kept if own else None
            try:
                if await self.get(peer, TARGETS[turn]) and not own:
                    self.kept = peer
                else:
                    peer.close()
                return
            except Gone:
                peer.close()
                if fresh or not again:
                    raise

    async def asks(self):
        loop, due = asyncio.get_running_loop(), 0
        while True:
            due = max(due + TICK, loop.time() - TICK)
            await asyncio.sleep(due - loop.time())
            due = max(due, loop.time() - TICK / 2)      # this process was late, not the server
            try:
                async with asyncio.timeout(HANGS):
                    await self.ask()
            except (OSError, Gone, TimeoutError) as error:
                self.wrong.append(f"{TARGETS[self.turn % len(TARGETS) - 1]}: {error!r}")
                self.kept = None
            took = loop.time() - due
            while took > 0:
                self.waited.append(took)
                took -= TICK

    def told(self):
        """(what it waited, what was wrong), since the last time."""
        waited, wrong, self.waited, self.wrong = self.waited, self.wrong, [], []
        return waited, wrong


class StreamsClient(Client):
    """The same by HTTP/2: a stream each."""

    async def connect(self):
        peer = await super().connect()
        peer.next = 1
        await peer.send(PREFACE + settings((ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, MOST_WINDOW)) + window_update(0, MOST_WINDOW - WINDOW))
        return peer

    async def get(self, peer, target):
        stream, peer.next = peer.next, peer.next + 2
        await peer.send(header_frames(stream, asked(target)))
        right, body, stays = await response(peer, stream)
        if not right or body != RIGHT:
            self.wrong.append(f"HTTP/2, {target}: {'200' if right else 'no 200'}, {len(body)} bytes")
        return stays


def tell(pipe, clients):
    pipe.recv()
    pipe.send({name: client.told() for name, client in clients.items()})


async def be_good(pipe, listening):
    loop = asyncio.get_running_loop()
    serving = asyncio.create_task(serve(listening))
    port, http2 = await loop.run_in_executor(None, pipe.recv)
    clients = {"http/1.1": Client(port), **({"h2": StreamsClient(port)} if http2 else {})}
    loop.add_reader(pipe.fileno(), tell, pipe, clients)
    await asyncio.gather(serving, *(client.asks() for client in clients.values()))


def run(pipe, listening):
    listening.setblocking(False)
    asyncio.run(be_good(pipe, listening))


class Good:
    """.port is its origin's; begin(port of utfeed, by HTTP/2 too) has it ask."""

    def __init__(self):
        listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = listening.getsockname()[1]
        self.pipe, other = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(target=run, args=(other, listening), daemon=True)
        self.process.start()
        listening.close()

    def begin(self, port, http2=False):
        self.pipe.send((port, http2))

    def told(self):
        """(milliseconds it waited, ascending, by protocol; what was wrong), since the last time."""
        self.pipe.send(None)
        told = self.pipe.recv()
        waited = {name: sorted(each * 1000 for each in waited) for name, (waited, _) in told.items()}
        return waited, [each for _, wrong in told.values() for each in wrong]

    def stop(self):
        self.process.terminate()
        self.process.join()


def percentile(waited, part=0.99):
    return waited[min(int(len(waited) * part), len(waited) - 1)] if waited else 0.0
