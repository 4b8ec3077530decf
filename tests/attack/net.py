"""A connection of an attack's, either end of it: what goes over it, both ways, counts as the attack's traffic."""
import asyncio
import socket
import struct

SCRATCH = bytearray(1 << 18)        # what is read only to be rid of it
MANY = 1 << 16
LEAST_URGENT = 19               # nice(2)


class Gone(Exception):
    """The other end has ended the connection where more was to come, or to be taken."""


class Peer:
    moved = 0                       # bytes, of all connections of this process

    def __init__(self, sock):
        sock.setblocking(False)
        self.sock, self.held, self.loop = sock, b"", asyncio.get_running_loop()

    async def send(self, data):
        try:
            await self.loop.sock_sendall(self.sock, data)
        except OSError as error:
            raise Gone from error
        Peer.moved += len(data)

    async def more(self, size=MANY):
        try:
            data = await self.loop.sock_recv(self.sock, size)
        except OSError as error:
            raise Gone from error
        if not data:
            raise Gone
        Peer.moved += len(data)
        self.held += data

    async def heard(self, seconds):
        """Waits so long for bytes; whether any came. Gone where the end did."""
        try:
            async with asyncio.timeout(seconds):
                await self.more()
        except TimeoutError:
            return False
        return True

    def take(self, count):
        taken, self.held = self.held[:count], self.held[count:]
        return taken

    async def until(self, mark):
        while mark not in self.held:
            await self.more()
        return self.take(self.held.index(mark) + len(mark))

    async def skip(self, count):
        count -= len(self.take(count))
        while count:
            try:
                got = await self.loop.sock_recv_into(self.sock, memoryview(SCRATCH)[:min(count, len(SCRATCH))])
            except OSError as error:
                raise Gone from error
            if not got:
                raise Gone
            Peer.moved += got
            count -= got

    async def head(self):
        """(first line, fields by their names in lower case)."""
        line, *lines = (await self.until(b"\r\n\r\n"))[:-4].decode("latin-1").split("\r\n")
        return line, {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}

    async def chunks(self):
        total = 0
        while size := int((await self.until(b"\r\n")).split(b";")[0], 16):
            await self.skip(size + 2)
            total += size
        while await self.until(b"\r\n") != b"\r\n":
            pass
        return total

    async def body(self, fields):
        """Its length."""
        if "transfer-encoding" in fields:
            return await self.chunks()
        length = int(fields.get("content-length", 0))
        await self.skip(length)
        return length

    def close(self, reset=False):
        if reset:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()
