"""HTTP/1.1 on both sides of utfeed, as far as the oracle speaks it; strict where it reads utfeed. Must not know: histories, judgements."""
import re
import socket

from .loop import Conn
from .records import Answer

HEAD = re.compile(rb"HTTP/1\.1 (\d\d\d) [^\r\n]*\r\n")
HANGS_S = 1
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n"


def fields_of(head):
    """[(name in lower case, value)] of head lines behind the first."""
    text = head.decode("latin-1")
    lines, found = text.split("\r\n"), []
    if text.count("\n") + text.count("\r") != 2 * (len(lines) - 1):
        raise ValueError(f"line ends of {head!r}")
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or " " in name:
            raise ValueError(f"field line {line!r}")
        found.append((name.lower(), value.strip(" \t")))
    return found


def joined(fields):
    """{name: value}, lines of one name joined by commas (RFC 9110 section 5.2); those of Cookie by semicolons (RFC 9113 section 8.2.3)."""
    found = {}
    for name, value in fields:
        found[name] = f"{found[name]}{'; ' if name == 'cookie' else ', '}{value}" if name in found else value
    return found


class Client(Conn):
    """A connection to utfeed; one request at a time. done(answer) once."""

    def __init__(self, loop, port, closed):
        sock = socket.create_connection(("127.0.0.1", port))
        self.done, self.method, self.head, self.closed = None, None, None, closed
        super().__init__(loop, sock)

    def ask(self, method, target, fields, done):
        self.done, self.method, self.head = done, method, None
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields), "", ""]
        self.send("\r\n".join(lines).encode("latin-1"))

    def received(self):
        if not self.done:                       # bytes that nobody asked for
            self.close()
            self.closed(self)
            return
        try:
            self.parse()
        except ValueError as error:
            self.finish(Answer(0, [], malformed=str(error)), False)

    def parse(self):
        while self.head is None:
            end = self.held.find(b"\r\n\r\n")
            if end < 0:
                return
            match = HEAD.match(self.held)
            if not match:
                raise ValueError(f"status line {self.held[:60]!r}")
            fields, self.held = fields_of(self.held[:end]), self.held[end + 4:]
            if int(match[1]) >= 200:
                self.begin(int(match[1]), fields)
        self.body()

    def begin(self, status, fields):
        lengths = [value for name, value in fields if name == "content-length"]
        codings = [value.lower() for name, value in fields if name == "transfer-encoding"]
        if len(lengths) + len(codings) > 1 or codings not in ([], ["chunked"]) or not all(value.isdigit() for value in lengths):
            raise ValueError(f"framing {lengths} {codings}")
        self.head = Answer(status, fields)
        empty = self.method == "HEAD" or status in (204, 304)
        self.left = 0 if empty else int(lengths[0]) if lengths else -1 if codings else None
        self.pieces = []

    def body(self):
        if self.left is None:
            return                              # until the connection ends
        if self.left >= 0:
            if len(self.held) >= self.left:
                body, self.held = self.held[:self.left], self.held[self.left:]
                self.complete(body)
            return
        while True:
            end = self.held.find(b"\r\n")
            if end < 0:
                return
            size = int(self.held[:end].split(b";")[0], 16)
            if len(self.held) < end + 4 + size:
                return
            piece, rest = self.held[end + 2:end + 2 + size], self.held[end + 2 + size:]
            if size == 0:
                stop = rest.find(b"\r\n\r\n") if not rest.startswith(b"\r\n") else -2
                if stop == -1:
                    return
                self.held = rest[stop + 4:]
                self.complete(b"".join(self.pieces))
                return
            if not rest.startswith(b"\r\n"):
                raise ValueError("a chunk longer than its size")
            self.pieces.append(piece)
            self.held = rest[2:]

    def complete(self, body):
        self.head.body = body
        keeps = "close" not in (self.head.get("connection") or "")
        if self.held:
            raise ValueError(f"{len(self.held)} bytes behind the answer: {self.held[:60]!r}")
        self.finish(self.head, keeps)

    def finish(self, answer, keeps):
        done, self.done = self.done, None
        if not keeps:
            self.close()
            self.closed(self)
        done(answer, self)

    def ended(self, how):
        self.closed(self)
        if not self.done:
            return
        answer = self.head or Answer(0, [], cut=True)
        if self.head and self.left is None and how == "fin":
            answer.body = self.held
        else:
            answer.cut = True
        done, self.done = self.done, None
        done(answer, self)


class Inside(Client):
    """A client of an opened CONNECT to to, "HOST:PORT": what it asks goes through TLS with utfeed."""

    def __init__(self, loop, port, closed, to, context):
        self.context, self.host, self.first = context, to.rpartition(":")[0], None
        super().__init__(loop, port, closed)
        self.send(f"CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n".encode())
        self.first = b""                        # what is said before it is open

    def send(self, data):
        if self.first is None:
            super().send(data)
        else:
            self.first += data

    def received(self):
        if self.first is None:
            super().received()
            return
        end = self.held.find(b"\r\n\r\n")
        if end < 0:
            return
        if not self.held.startswith(b"HTTP/1.1 200 "):
            self.first = None                   # no: that is the answer to what was asked
            super().received()
            return
        first, self.first, self.held = self.first, None, self.held[end + 4:]
        self.secure(self.context, self.host)
        if first:
            self.send(first)


def nothing():
    pass


class Upstream(Conn):
    """A connection that utfeed made, with TLS where there is a context. asked(upstream, method, target, fields) for each request; then
    say()."""

    asked, http2 = None, False

    def __init__(self, loop, sock, port, context=None):
        self.port, self.ending = port, nothing
        super().__init__(loop, sock)
        if context:
            self.secure(context)

    def received(self):
        end = self.held.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.held[:end]
        fields = fields_of(head)
        known = joined(fields)
        length = int(known.get("content-length", 0))
        if len(self.held) < end + 4 + length:
            return
        self.held = self.held[end + 4 + length:]
        method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        self.asked(self, method, target, known)

    def ended(self, how):
        self.ending()

    def say(self, head, body, spec, method, began, over, given_up=nothing):
        """head and body as spec["frame"] and its delays say; began() before the first byte leaves, over() before the last. given_up() where
        utfeed ends the connection, perhaps before."""
        self.ending = given_up
        frame, delay, slow = spec["frame"], spec["delay"] / 1000, spec["slow"] / 1000
        if not head:
            self.break_off(body, began, over, given_up)
            return
        first, rest, cut = framed(head, body, frame)
        first = INTERIM * spec["interim"] + first

        def start():
            began()
            if slow and rest:
                self.send(first)
                self.loop.later(slow, finish)
            else:
                over()
                self.send(first + rest)
                end()

        def finish():
            over()
            self.send(rest)
            end()

        def end():
            if cut:
                self.close()
        if delay:
            self.loop.later(delay, start)
        else:
            start()


    def break_off(self, words, began, over, given_up):
        """words, which are no response, and the end; None: nothing, for a while."""
        if words is None:
            self.loop.later(HANGS_S, self.close, True)
            self.loop.later(HANGS_S, given_up)
            return
        began()
        over()
        self.send(words)
        self.close(reset=not words)


def framed(head, body, frame):
    """(what leaves first, what leaves last, whether the connection ends with it)."""
    if body is None:
        return (head + "\r\n\r\n").encode("latin-1"), b"", False
    half = len(body) // 2
    if frame in ("chunked", "cutchunk"):
        head = (head + "\r\nTransfer-Encoding: chunked\r\n\r\n").encode("latin-1")
        first = head + (b"%x\r\n%s\r\n" % (half, body[:half]) if half else b"")
        last = b"%x\r\n%s\r\n" % (len(body) - half, body[half:])
        return first, last if frame == "cutchunk" else last + b"0\r\n\r\n", frame == "cutchunk"
    if frame == "close":
        return (head + "\r\nConnection: close\r\n\r\n").encode("latin-1") + body[:half], body[half:], True
    head = (head + f"\r\nContent-Length: {len(body)}\r\n\r\n").encode("latin-1")
    return head + body[:half], body[half:-1] if frame == "cut" else body[half:], frame == "cut"
