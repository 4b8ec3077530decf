"""What arrives broken is never stored, and never looks whole: cut, reset, too long, too short, damaged in its chunks or its coding."""
import gzip
import random
import time
import zlib

import pytest

from feeds import SMALL
from pages import FRESH, page, was_hit
from wire import TIMEOUT, Cut, chunked, message

XML = "application/xml"
ITEMS = SMALL.replace(b"</channel>", b"<item><title>x</title></item>" * 100 + b"</channel>")

BROKEN = {
    "truncated": message("200 OK", FRESH, "Content-Length: 100", body=b"x" * 50), "nothing": message("200 OK", FRESH, "Content-Length: 9"),
    "chunked cut": message("200 OK", FRESH, "Transfer-Encoding: chunked", body=b"5\r\nhello\r\n"),
    "chunk short": message("200 OK", FRESH, "Transfer-Encoding: chunked", body=b"9\r\nhello\r\n0\r\n\r\n"),
    "chunk long": message("200 OK", FRESH, "Transfer-Encoding: chunked", body=b"2\r\nhello\r\n0\r\n\r\n"),
    "chunk size": message("200 OK", FRESH, "Transfer-Encoding: chunked", body=b"zz\r\nhello\r\n0\r\n\r\n"),
    "gzip cut": message("200 OK", FRESH, f"Content-Type: {XML}", "Content-Encoding: gzip", body=gzip.compress(ITEMS)[:-9]),
    "gzip broken": message("200 OK", FRESH, f"Content-Type: {XML}", "Content-Encoding: gzip", body=gzip.compress(ITEMS)[:60] + b"\xff" * 200),
}


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("name", BROKEN)
def test_broken_bodies_are_never_stored(proxy, origin, name, how):
    for _ in range(2):
        client = proxy.client().ask("/f")
        upstream = origin.receive()
        upstream.send(BROKEN[name])
        if how == "reset":
            upstream.reset()
        else:
            upstream.close()
        try:
            assert client.response().status == 502
        except Cut:
            pass
    client = proxy.client().ask("/f")
    origin.receive().answer(page(FRESH))
    assert client.response().body == b"hello" and was_hit(proxy.get("/f"))


@pytest.mark.parametrize("behind", [b"!", b"\r\n", message("200 OK", FRESH, body=b"evil")])
@pytest.mark.parametrize("framing", ["length", "chunked", "no body"])
@pytest.mark.parametrize("apart", [False, True])
def test_over_long(proxy, origin, behind, framing, apart):
    """It ends where it says. What stands behind is nobody's response, and a sign that the length is wrong: the next one asks anew."""
    whole = {"length": message("200 OK", FRESH, "Content-Length: 5", body=b"hello"), "no body": message("204 No Content", FRESH, length=False),
             "chunked": message("200 OK", FRESH, "Transfer-Encoding: chunked", body=chunked(b"hello"))}[framing]
    client = proxy.client().ask("/f")
    upstream = origin.receive()
    if apart:
        upstream.send(whole[:-1])
        upstream.drained()
        whole = whole[-1:]
    upstream.send(whole + behind)
    got = client.response()
    assert got.body == (b"" if framing == "no body" else b"hello") and upstream.is_ended()
    assert apart or "stored" not in got["Cache-Status"]
    second = proxy.client().ask("/f")
    origin.receive().answer(page(FRESH, body=b"good"))
    assert second.response().body == b"good" and was_hit(proxy.get("/f"))


def test_over_long_by_a_byte_behind_a_whole_read(proxy, origin):
    """The read that looks behind the end changes nothing of the last piece, which may not have gone on yet."""
    body = bytes(random.Random(1).randrange(97, 123) for _ in range(64 * 1024))    # what utfeed reads at a time
    client = proxy.client().ask("/f")
    upstream = origin.receive()
    whole = message("200 OK", FRESH, "Content-Type: text/plain", f"Content-Length: {len(body)}", body=body + b"!")
    upstream.send(whole[:-len(body) - 1])
    upstream.drained()
    upstream.send(whole[-len(body) - 1:])
    assert client.response().body == body


# ---- mixed ----

def a_body(dice):
    """A feed in one encoding or another, or bytes that are none."""
    size = int(2 ** dice.uniform(3, 17))
    if dice.random() < 0.4:
        return "application/octet-stream", bytes(dice.randrange(128, 256) for _ in range(64)) * (size // 64 + 1)
    encoding, text = dice.choice([("utf-8", "Погода на завтра "), ("koi8-r", "Погода на завтра "), ("utf-16le", "weather 天気 "), ("iso-8859-1", "Größe ")])
    items = "<item><title>" + text * (size // 20 + 1) + "</title></item>"
    return XML, f'<?xml version="1.0" encoding="{encoding}"?>\n<rss><channel>{items}</channel></rss>'.encode(encoding)


def a_coding(dice, body):
    return dice.choice([(None, body), ("gzip", gzip.compress(body, 6)), ("deflate", zlib.compress(body))])


def somewhere(dice, data, least=1):
    return dice.randrange(least, len(data))


def cut_short(dice, head, body):
    """Fewer bytes than Content-Length says, then the end."""
    return message("200 OK", *head, f"Content-Length: {len(body)}", body=body[:somewhere(dice, body, 0)], length=False), False


def reset(dice, head, body):
    wire = message("200 OK", *head, body=body)
    return wire[:somewhere(dice, wire)], True


def under_long(dice, head, body):
    """Content-Length says more than the body has."""
    return message("200 OK", *head, f"Content-Length: {len(body) + dice.randrange(1, 5000)}", body=body, length=False), False


def over_long(dice, head, body):
    """Content-Length says less than the body has."""
    return message("200 OK", *head, f"Content-Length: {len(body) - dice.randrange(1, len(body))}", body=body, length=False), False


def over_long_chunks(dice, head, body):
    return message("200 OK", *head, "Transfer-Encoding: chunked", body=chunked(body) + body[:dice.randrange(1, 99)], length=False), dice.random() < 0.5


def no_last_chunk(dice, head, body):
    return message("200 OK", *head, "Transfer-Encoding: chunked", body=chunked(body, dice.randrange(100, 9000), end=b""), length=False), dice.random() < 0.5


def broken_chunks(dice, head, body):
    """One byte of the framing is another one."""
    data = bytearray(chunked(body, 1000))
    at = dice.choice([0, data.index(b"\r"), data.index(b"\n"), len(data) - 5])
    data[at] = dice.choice(b"xZ-+ \0")
    return message("200 OK", *head, "Transfer-Encoding: chunked", body=bytes(data), length=False), dice.random() < 0.5


def two_lengths(dice, head, body):
    return message("200 OK", *head, f"Content-Length: {len(body)}", f"Content-Length: {len(body) - 1}", body=body, length=False), False


def coding_cut(dice, head, body):
    """The message is whole, what is packed in it is not."""
    head, packed = [*head, "Content-Encoding: gzip"], gzip.compress(body)
    return message("200 OK", *head, body=packed[:somewhere(dice, packed)]), False


def coding_damaged(dice, head, body):
    """A bit is wrong in what is packed, or in its checksum and length; not one of the last byte's, which may mean nothing."""
    packed = bytearray(gzip.compress(body))
    packed[dice.choice([dice.randrange(10, len(packed) - 9), dice.randrange(len(packed) - 8, len(packed))])] ^= 1 << dice.randrange(8)
    return message("200 OK", *head, "Content-Encoding: gzip", body=bytes(packed)), False


PACKED = (coding_cut, coding_damaged)
LONG = (over_long, over_long_chunks)
FLAWS = (cut_short, reset, under_long, no_last_chunk, broken_chunks, two_lengths, *PACKED, *LONG)
WHOLE = 12              # one in so many is sound: a store that takes nothing would pass otherwise


def play(dice, proxy, origin, path):
    """One response; what it was, and what the client got of it (None: broken off, or an error)."""
    kind, body = a_body(dice)
    flaw = dice.choice(FLAWS) if dice.randrange(WHOLE) else None
    coding, packed = a_coding(dice, body) if flaw not in PACKED else (None, body)
    head = [FRESH, f"Content-Type: {kind}"] + ([f"Content-Encoding: {coding}"] if coding else [])
    wire, ends_in_reset = flaw(dice, head, packed) if flaw else (message("200 OK", *head, body=packed), False)
    client = proxy.client().ask(path)
    upstream = origin.receive()
    at = 0 if flaw in LONG else dice.choice([0, somewhere(dice, wire)])     # what is too long is so at once
    try:
        upstream.send(wire[:at])
        if at and dice.random() < 0.5:
            upstream.drained()
        upstream.send(wire[at:])
        if ends_in_reset:
            upstream.reset()
        elif flaw or dice.random() < 0.5:
            upstream.half_close()
    except OSError:         # it has seen enough
        pass
    try:
        got = client.response()
    except Cut:
        got = None
    client.close()
    return flaw, got if got and got.status == 200 else None


def all_as_they_should(proxy, played):
    for path, (flaw, got) in played.items():
        stored = proxy.get(path, "Cache-Control: only-if-cached")
        assert stored.status == (504 if flaw else 200), (path, flaw)
        assert flaw or stored.body == got.body, path


def mixed(start, origin, store, rounds, seed):
    dice, proxy, played = random.Random(seed), start(origin, *store), {}
    for number in range(rounds):
        flaw, got = played[f"/{number}"] = play(dice, proxy, origin, f"/{number}")
        assert (got is not None) == (flaw is None) or flaw in LONG, (number, flaw)
    all_as_they_should(proxy, played)
    if store:               # what lasts, without the memory in front of it, once the store can be asked
        proxy.stop()
        again, until = start(origin, *store), time.monotonic() + TIMEOUT
        sound, asking = next(path for path, (flaw, _) in played.items() if not flaw), again.client()
        while asking.get(sound, "Cache-Control: only-if-cached").status != 200:
            assert time.monotonic() < until, sound
        all_as_they_should(again, played)
    assert {flaw for flaw, _ in played.values()} == {None, *FLAWS}


def test_mixed(start, origin, store):
    mixed(start, origin, store, 100, 4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_thousand_mixed(start, origin, store, seed):
    mixed(start, origin, store, 1000, seed)
