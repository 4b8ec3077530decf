"""Readers: how often each polls, which fields it sends, and what it gets.

A reader asks the proxy for the feed of one publisher. It follows redirects, and a conditional one sends validators.
Must not know: which proxy it is, when a publisher fails."""
import random
import re
import socket
import zlib

from publishers import HOUR, MINUTE

INTERVALS = {5 * MINUTE: 3, 10 * MINUTE: 4, 15 * MINUTE: 10, 30 * MINUTE: 28, HOUR: 35, 2 * HOUR: 12, 4 * HOUR: 8}
KINDS = {"conditional": 60, "plain": 28, "no-cache": 12}
NO_CACHE = ("Cache-Control: no-cache", "Pragma: no-cache")
HOPS = 5
NEWEST = re.compile(rb"<title>Item (\d+) of (\d+)</title>")
SUBSCRIBED = re.compile(rb"<rss ")


class Reader:
    def __init__(self, rng, number, publisher):
        self.publisher = publisher
        self.address = f"127.20.{number // 250}.{number % 250 + 1}"
        self.kind = rng.choices(list(KINDS), KINDS.values())[0]
        self.interval = rng.choices(list(INTERVALS), INTERVALS.values())[0]
        self.first = rng.randrange(self.interval)
        self.packed = rng.random() < .8
        self.validators = ()
        self.known = 0              # how many items of the feed it has seen
        self.due = None             # item: the time of its first poll after the item was there
        self.looked = 0             # how many items have been put into due

    def fields(self):
        return (*(("Accept-Encoding: gzip",) if self.packed else ()), *(self.validators if self.kind == "conditional" else ()),
                *(NO_CACHE if self.kind == "no-cache" else ()))


class Exchange:
    """One poll by a reader. It calls over(exchange) when the response is complete, or when there will be none."""

    def __init__(self, day, reader, over):
        self.day, self.reader, self.over = day, reader, over
        self.asked = day.time
        self.hops, self.sock, self.error, self.status = 0, None, "", 0
        self.head, self.body = {}, b""
        self.ask(f"http://{reader.publisher.host.authority}{reader.publisher.first_path}")

    def ask(self, url):
        self.url, self.data, self.wanted = url, bytearray(), None
        target, host = self.day.proxy.ask_for(url)
        self.sock = socket.socket()
        self.sock.bind((self.reader.address, 0))
        self.sock.connect(("127.0.0.1", self.day.proxy.port))
        self.sock.sendall("\r\n".join([f"GET {target} HTTP/1.1", f"Host: {host}", "User-Agent: reader", "Accept: */*",
                                       *self.reader.fields(), "", ""]).encode())
        self.sock.setblocking(False)
        self.day.origins.watch(self.sock, self)

    def ready(self):
        try:
            got = self.sock.recv(1 << 20)
        except BlockingIOError:
            return
        except OSError:
            got = b""
        self.data += got
        if self.wanted is None and b"\r\n\r\n" in self.data:
            self.read_head()
        if self.wanted is not None and len(self.data) >= self.wanted >= 0:
            self.done("")
        elif self.wanted == -1 and self.data.endswith(b"0\r\n\r\n"):
            self.done("")
        elif self.wanted is None and self.data and not b"HTTP/".startswith(self.data[:5]):
            self.done("no HTTP")
        elif not got:
            self.done("no answer" if self.wanted is None else "" if self.wanted == -2 else "cut")

    def read_head(self):
        """Sets wanted: the length of the response; -1: it is chunked; -2: it ends with the connection."""
        head, _, _ = bytes(self.data).partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split(" ")[1])
        self.head = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        if self.status in (204, 304):
            self.wanted = 0
        elif "content-length" in self.head:
            self.wanted = len(head) + 4 + int(self.head["content-length"])
        else:
            self.wanted = -1 if "chunked" in self.head.get("transfer-encoding", "") else -2

    def done(self, error):
        self.day.origins.forget(self.sock)
        self.sock.close()
        if not error and self.status in (301, 302, 303, 307, 308) and "location" in self.head:
            self.hops += 1
            if self.hops > HOPS:
                error = "too many redirects"
            else:
                self.ask(self.day.proxy.url_meant(self.url, self.head["location"]))
                return
        self.error = error or ("" if self.status in (200, 304) else str(self.status))
        if not self.error and self.status == 200:
            self.read_feed()
        self.over(self)

    def read_feed(self):
        self.body = body_of(self.head, bytes(self.data))
        if not SUBSCRIBED.search(self.body) or not self.body.endswith(b"</rss>"):
            self.error = "no feed"
            return
        reader = self.reader
        reader.validators = tuple(f"{asked}: {self.head[given]}" for asked, given in
                                  (("If-None-Match", "etag"), ("If-Modified-Since", "last-modified")) if given in self.head)

    def newest(self):
        """How many items the reader has seen with this response."""
        if self.status == 304:
            return self.reader.known
        found = NEWEST.search(self.body)
        return int(found[1]) + 1 if found else 0


def body_of(head, data):
    body = data.partition(b"\r\n\r\n")[2]
    if "chunked" in head.get("transfer-encoding", ""):
        body, rest = b"", body
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            body, rest = body + rest[:int(size, 16)], rest[int(size, 16) + 2:]
            if int(size, 16) == 0:
                break
    if head.get("content-encoding") == "gzip":
        return zlib.decompress(body, 31)
    return body


def readers(seed, publishers, each):
    rng = random.Random(f"{seed} readers")
    return [Reader(rng, publisher.number * each + number, publisher) for publisher in publishers for number in range(each)]
