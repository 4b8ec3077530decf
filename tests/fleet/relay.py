"""A process of relays in front of the servers of a run: each listens at its server's place, and passes on bytes late, in stalls, or bit by bit.

What tc netem would do, where the kernel has it not: loss looks like a stall to who speaks TCP. Lines on standard input say how bad a link is
from now on (Weather); all is drawn from a seed. Must not know: Redis.
"""
import asyncio
import json
import random
import subprocess
import sys

PIECE = 1 << 16
OPEN = 7000             # the port of a relay, at each place
BEHIND = 6379           # that of the server
STALL_S = (0.2, 0.4, 0.8)       # how long TCP waits for what was lost, once, twice and three times


class Weather:
    """delay, jitter: ms; loss: of a hundred pieces so many are lost once or more; dribble: so many bytes at a time, 0: all."""

    def __init__(self, delay=0, jitter=0, loss=0, dribble=0):
        self.delay, self.jitter, self.loss, self.dribble = delay, jitter, loss, dribble

    def is_fair(self):
        return not (self.delay or self.jitter or self.loss or self.dribble)


class Relays:
    """In one process: the weather of each place, by its number."""

    def __init__(self, seed):
        self.chance, self.weather = random.Random(seed), {}

    async def serve(self, number, listener, connect):
        self.weather[number] = Weather()

        async def accept(reader, writer):
            try:
                to_reader, to_writer = await asyncio.open_connection(sock=connect())
            except OSError:
                writer.close()
                return
            await asyncio.gather(self.pass_on(number, reader, to_writer), self.pass_on(number, to_reader, writer))
        await asyncio.start_server(accept, sock=listener)

    async def pass_on(self, number, reader, writer):
        try:
            while data := await reader.read(PIECE):
                await self.write(self.weather[number], data, writer)
        except OSError:
            pass
        writer.close()

    async def write(self, weather, data, writer):
        if weather.is_fair():
            writer.write(data)
            return await writer.drain()
        for at in range(0, len(data), weather.dribble or len(data)):
            wait = (weather.delay + self.chance.random() * weather.jitter) / 1000
            while self.chance.random() * 100 < weather.loss:
                wait += self.chance.choice(STALL_S)
            await asyncio.sleep(wait)
            writer.write(data[at:at + (weather.dribble or len(data))])
            await writer.drain()

    async def heed(self):
        """Until standard input ends."""
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            number, weather = json.loads(line)
            self.weather[number] = Weather(**weather)


def child(seed, numbers, files):
    """The process's own part: files are descriptors of the places' namespaces."""
    import socket
    from .places import enter

    def listens(file):
        enter(file)
        return socket.create_server(("0.0.0.0", OPEN), backlog=256)

    def connects(file):
        def connect():
            enter(file)
            sock = socket.create_connection(("127.0.0.1", BEHIND))
            sock.setblocking(False)
            return sock
        return connect

    async def run():
        relays = Relays(seed)
        for number, file in zip(numbers, files):
            await relays.serve(number, listens(file), connects(file))
        print("ready", flush=True)
        await relays.heed()
    asyncio.run(run())


class Relay:
    """The process, for whoever runs it."""

    def __init__(self, seed, places):
        files = [place.file for place in places]
        self.process = subprocess.Popen([sys.executable, "-m", "fleet.relay", str(seed), json.dumps([place.number for place in places]), json.dumps(files)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=files)
        assert self.process.stdout.readline() == "ready\n"

    def set(self, place, **weather):
        self.process.stdin.write(json.dumps([place.number, weather]) + "\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


if __name__ == "__main__":
    child(int(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3]))
