"""What utfeed asks origins over HTTP/2, where ALPN chose it: many fetches at once on a connection. Must not know: histories, judgements."""
import random

from http2_frames import MAX_CONCURRENT_STREAMS
from http2_server import OverHttp2

from .wire import HANGS_S, Upstream, joined, nothing

AT_ONCE = (100, 100, 8, 1)          # streams that an origin lets utfeed have
REFUSED, LEAVES, BREAKS = 0.02, 0.01, 0.3       # how often it takes none, takes no more, and ends the connection where it cuts a response


class Fetch:
    """A request of utfeed; then say(), as an Upstream's."""

    http2 = True

    def __init__(self, session, stream):
        self.session, self.stream, self.over, self.given_up = session, stream, nothing, nothing
        self.cuts = self.breaks = False         # nothing is left but to reset the stream; the connection ends with it

    def say(self, head, body, spec, method, began, over, given_up=nothing):
        """As Upstream.say()."""
        self.over, self.given_up, loop, delay = over, given_up, self.session.loop, spec["delay"] / 1000
        if not head:
            loop.later(HANGS_S if body is None else 0, self.reset)
            return
        status, fields = parsed(head)
        frame, slow, body = spec["frame"], spec["slow"] / 1000, None if method == "HEAD" else body
        cuts = body is not None and frame in ("cut", "cutchunk")
        self.breaks = frame == "cutchunk" and self.session.chance.random() < BREAKS
        if body is not None and frame in ("length", "cut"):
            fields.append(("content-length", str(len(body))))
        half = len(body or b"") // 2

        def start():
            if self.stream.over:
                return
            began()
            for _ in range(spec["interim"]):
                self.stream.head(103, [("link", "</x>; rel=preload")])
            self.stream.head(status, fields, not body and not cuts)
            if slow and body:
                self.stream.send(body[:half])
                loop.later(slow, finish, half)
            else:
                finish(0)

        def finish(at):
            if not self.stream.over:
                self.stream.send((body or b"")[at:len(body or b"") - cuts], not cuts)
                self.cuts = cuts
            self.session.look()
        loop.later(delay, start)

    def reset(self):
        if not self.stream.over:
            self.stream.reset("INTERNAL_ERROR")
        self.session.look()

    def look(self):
        """Whether it is over: all of it left, or utfeed took it back."""
        if self.cuts and not self.stream.pieces and not self.stream.over:
            self.stream.reset("INTERNAL_ERROR")
            self.session.breaks |= self.breaks
        if self.stream.over:
            (self.given_up if self.stream.code else self.over)()
        return self.stream.over


def parsed(head):
    """(status, fields) of a head as HTTP/1.1 writes it, without those of a connection."""
    first, *lines = head.split("\r\n")
    fields = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
    hidden = {"connection", *(value.lower() for name, value in fields if name == "Connection")}
    return int(first.split(" ")[1]), [(name, value) for name, value in fields if name.lower() not in hidden]


class Session(Upstream):
    """A connection that utfeed made by TLS: of HTTP/2 where ALPN chose that, else of HTTP/1.1."""

    settings, opening, protocol, chance = None, None, "h2", random.Random(0)

    def __init__(self, loop, sock, port, context):
        self.h2, self.fetches, self.origin, self.last, self.breaks = None, [], self, None, False
        super().__init__(loop, sock, port, context)

    def received(self):
        if self.tls.tls.selected_alpn_protocol() != "h2":
            super().received()
            return
        if not self.h2:
            self.h2, self.came = OverHttp2(self), bytearray()
            self.h2.set((MAX_CONCURRENT_STREAMS, self.chance.choice(AT_ONCE)))
        self.came += self.held
        self.held = b""
        self.h2.heed(self.came)
        self.look()

    def raw(self, data):
        self.send(data)

    def on_asked(self, stream):
        if stream.whole:
            self.on_whole(stream)

    def on_whole(self, stream):
        if self.last is not None and stream.number > self.last:
            return                              # what the GOAWAY says is not looked at
        if self.chance.random() < REFUSED:
            stream.reset("REFUSED_STREAM")
            return
        self.fetches.append(Fetch(self, stream))
        self.asked(self.fetches[-1], stream.method, stream.target, joined(stream.fields))
        if self.last is None and self.chance.random() < LEAVES:
            self.last = stream.number
            self.h2.goaway(self.last)

    def look(self):
        self.fetches = [fetch for fetch in self.fetches if not fetch.look()]
        if self.breaks and self.open:
            self.close(reset=True)
            self.ended("reset")

    def ended(self, how):
        super().ended(how)
        fetches, self.fetches = self.fetches, []
        for fetch in fetches:
            fetch.stream.over = True
            fetch.given_up()
