"""A feed far larger than any buffer, right to the last byte, in bounded memory."""
import hashlib

import pytest

from feeds import RUSSIAN
from peers import Background
from wire import message

HEAD = '<?xml version="1.0" encoding="windows-1251"?>\n<rss version="2.0"><channel>\n'
TAIL = "</channel></rss>\n"
GROWTH_KIB = 8 << 10


def block(number):
    """About 64 KiB of items, no two blocks alike."""
    return "".join(f"<item><title>{RUSSIAN} {number}.{line}</title></item>\n" for line in range(700))


class Feed:
    """A windows-1251 feed of at least size bytes, made block by block; encoding() both ways gives what to send and expect."""

    def __init__(self, size):
        self.frame = len((HEAD + TAIL).encode("windows-1251"))
        one = block(10_000_000)
        self.turns, self.one = size // len(one.encode("windows-1251")) + 1, one
        self.size = self.frame + self.turns * len(one.encode("windows-1251"))

    def pieces(self, codec):
        """Numbers of one width keep blocks alike in length; the text of a block is made once and its numbers replaced."""
        template = self.one.encode(codec)
        head = HEAD.replace("windows-1251", "UTF-8") if codec == "utf-8" else HEAD
        yield head.encode(codec)
        for turn in range(self.turns):
            yield template.replace(b"10000000", b"%d" % (10_000_000 + turn))
        yield TAIL.encode(codec)


def carry(proxy, origin, size):
    """One feed of size bytes through the proxy; gives (bytes and hash that came), (the same expected)."""
    feed, came, count = Feed(size), hashlib.sha256(), 0
    warm, _ = proxy.through(origin, message("200 OK", "Content-Type: text/xml", body=b"".join(Feed(200_000).pieces("windows-1251"))))
    assert warm.status == 200
    before = proxy.status("VmRSS")
    client = proxy.client().ask("/big")
    upstream = origin.receive()

    def send():
        upstream.send(message("200 OK", "Content-Type: application/rss+xml", f"Content-Length: {feed.size}"))
        for piece in feed.pieces("windows-1251"):
            upstream.send(piece)

    def take(piece):
        nonlocal count
        count += len(piece)
        came.update(piece)
    sending = Background(send)
    got = client.response(sink=take)
    sending.join()
    assert got.rule == "auto:2.0/1.2;charset=windows-1251"
    expected, total = hashlib.sha256(), 0
    for piece in feed.pieces("utf-8"):
        expected.update(piece)
        total += len(piece)
    proxy.assert_growth(before, GROWTH_KIB)
    print(f"{size >> 20} MiB: {count} bytes out, RSS grew by {proxy.status('VmHWM') - before} KiB")
    return (count, came.hexdigest()), (total, expected.hexdigest())


def test_64_mib(proxy, origin):
    came, expected = carry(proxy, origin, 64 << 20)
    assert came == expected


@pytest.mark.slow
def test_1_gib(proxy, origin):
    came, expected = carry(proxy, origin, 1 << 30)
    assert came == expected
