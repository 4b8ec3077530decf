"""Requests that come several at once: short answers go out together, in order and whole, whatever is between them, however slowly the
client reads, and however the connection ends."""
import random
import select
import socket
import struct

import pytest

from certs import client_context
from pages import FRESH, Site, page, was_hit
from peers import Background, TlsClient
from preload import preloading
from wire import TIMEOUT, Cut, message

DATA_SEGS_IN = 152                  # where tcpi_data_segs_in stands in struct tcp_info (linux/tcp.h)
SHORT, MIDDLE, LONG = b"0123456789" * 20, b"0123456789" * 1000, random.Random(1).randbytes(200_000)
TAGGED = 'ETag: "1"'


def respond(request):
    """Every path that begins as one of these; what is not stored says who asked."""
    kind = request.target[1:].split("-")[0]
    if request.method == "POST":
        return page(body=b"posted " + request.body)
    if kind == "early":
        return message("103 Early Hints", "Link: </a>", length=False) + page(body=b"late")
    pages = {"short": page(FRESH, TAGGED, body=SHORT), "middle": page(FRESH, body=MIDDLE), "long": page(FRESH, body=LONG),
             "stored": page(FRESH, body=request.target.encode()), "miss": page("Cache-Control: no-store", body=request.target.encode())}
    return pages.get(kind, page(status="404 Not Found", body=b"no"))


def ask(target, *fields, method="GET", body=b"", version="HTTP/1.1"):
    return "".join(f"{line}\r\n" for line in (f"{method} {target} {version}", "Host: t", *fields, "")).encode() + body


@pytest.fixture
def site(origin):
    site = Site(origin)
    site["*"] = respond
    return site


@pytest.fixture(params=["wide", "narrow"])
def env(request, narrow_library):
    """Of a utfeed whose clients' sockets take much, or little, at once."""
    return preloading(narrow_library) if request.param == "narrow" else {}


def store(proxy):
    for target, body in (("/short", SHORT), ("/middle", MIDDLE), ("/long", LONG)):
        assert proxy.get(target).body == body and was_hit(proxy.get(target))
    return proxy


@pytest.fixture
def stored(start, origin, site, env):
    """A utfeed that has /short, /middle and /long."""
    return store(start(origin, env=env))


def assert_hits(client, count, body=SHORT):
    """Tens of thousands, most of them byte for byte the one before: those are taken as that one was."""
    stream, whole = client.stream, None
    for n in range(count):
        while stream.held.find(b"\r\n\r\n") < 0 or whole and len(stream.held) < len(whole):
            if not stream.fill():
                break
        if whole and stream.held.startswith(whole):
            stream.take(len(whole))
            continue
        head = bytes(stream.held[:stream.held.find(b"\r\n\r\n") + 4])
        got = client.response()
        assert was_hit(got) and got.body == body, f"answer {n}"
        whole = head + got.body if got.framing == "length" and not got.interim else None


def data_segments(client):
    info = client.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, DATA_SEGS_IN + 4)
    return struct.unpack_from("I", info, DATA_SEGS_IN)[0]


def test_sixteen_answers_in_one_write(proxy, site):
    client = store(proxy).client()
    client.send(ask("/short") * 16)
    assert_hits(client, 16)
    assert data_segments(client) <= 2
    client.send(ask("/short", "If-None-Match: \"1\"") * 16)
    assert [client.response().status for _ in range(16)] == [304] * 16
    assert data_segments(client) <= 4


# What one request of a mixture is: (bytes, method of the answer's reader, status, body)
KINDS = {
    "hit": lambda n: (ask("/short"), "GET", 200, SHORT),
    "middle hit": lambda n: (ask("/middle"), "GET", 200, MIDDLE),
    "long hit": lambda n: (ask("/long"), "GET", 200, LONG),
    "HEAD": lambda n: (ask("/short", method="HEAD"), "HEAD", 200, b""),
    "304": lambda n: (ask("/short", 'If-None-Match: "1"'), "GET", 304, b""),
    "part": lambda n: (ask("/short", "Range: bytes=10-19"), "GET", 206, SHORT[10:20]),
    "part of a long hit": lambda n: (ask("/long", "Range: bytes=1000-150999"), "GET", 206, LONG[1000:151_000]),
    "miss": lambda n: (ask(f"/miss-{n}"), "GET", 200, b"/miss-%d" % n),
    "to be stored": lambda n: (ask(f"/stored-{n}"), "GET", 200, b"/stored-%d" % n),
    "404": lambda n: (ask("/none"), "GET", 404, b"no"),
    "405": lambda n: (ask("/short", method="TRACE"), "GET", 405, None),
    "POST": lambda n: (ask("/", f"Content-Length: {n}", method="POST", body=b"x" * n), "GET", 200, b"posted " + b"x" * n),
    "POST in chunks": lambda n: (ask("/", "Transfer-Encoding: chunked", method="POST", body=b"2\r\nab\r\n0\r\n\r\n"),
                                 "GET", 200, b"posted ab"),
    "POST that waits": lambda n: (ask("/", "Expect: 100-continue", "Content-Length: 2", method="POST", body=b"ab"),
                                  "GET", 200, b"posted ab"),
    "interim": lambda n: (ask(f"/early-{n}"), "GET", 200, b"late"),
    "line end": lambda n: (b"\r\n" + ask("/short"), "GET", 200, SHORT),
    "HTTP/1.0": lambda n: (ask("/short", "Connection: keep-alive", version="HTTP/1.0"), "GET", 200, SHORT),
}


@pytest.mark.parametrize("over", ["tcp", "tls"])
@pytest.mark.parametrize("seed", range(6))
def test_mixtures(listening, origin, site, authority, env, over, seed):
    proxy = store(listening(origin, env=env))
    client = TlsClient(proxy.tls_port, client_context(authority.root)) if over == "tls" else proxy.client()
    chosen = random.Random(seed)
    names = chosen.choices([*KINDS, *["hit"] * len(KINDS)], k=120)
    asked = [KINDS[name](n) for n, name in enumerate(names)]
    client.send(b"".join(each[0] for each in asked))
    for name, (_, method, status, body) in zip(names, asked):
        got = client.response(method=method)
        assert got.status == status and (body is None or got.body == body), name
        assert [each.status for each in got.interim] == {"interim": [103], "POST that waits": [100]}.get(name, []), name
    client.close()


@pytest.mark.parametrize("last", ["hit", "long hit", "miss", "404", "HTTP/1.0"])
def test_a_close_in_the_middle(stored, last):
    """What was asked behind it gets no answer; what was asked before gets all of it, and the end is no reset."""
    target = {"hit": "/short", "long hit": "/long", "miss": "/miss-1", "404": "/none"}.get(last)
    asked = ask(target, "Connection: close") if target else ask("/short", version="HTTP/1.0")
    client = stored.client()
    client.send(ask("/short") * 12 + asked + ask("/short") * 5)
    assert_hits(client, 12)
    got = client.response()
    assert "close" in got.tokens("Connection") and got.status == (404 if last == "404" else 200)
    assert client.is_ended() and client.stream.ended == "fin"


def test_a_bad_request_in_the_middle(stored):
    client = stored.client()
    client.send(ask("/short") * 7 + b"GET\r\n\r\n" + ask("/short"))
    assert_hits(client, 7)
    assert client.response().status == 400 and client.is_ended() and client.stream.ended == "fin"


def test_a_part_of_a_request_holds_nothing_up(stored):
    client = stored.client()
    last = ask("/short", "X: y")
    for cut in (1, 20, len(last) - 1):
        client.send(ask("/short") * 5 + last[:cut])
        assert_hits(client, 5)
        client.send(last[cut:])
        assert_hits(client, 1)


def test_a_part_that_stays_one_is_408(start, origin, site, env):
    client = store(start(origin, "--request-timeout", "1s", env=env)).client()
    client.send(ask("/short") * 5 + b"GET /")
    assert_hits(client, 5)
    assert client.response().status == 408 and client.is_ended()


def test_a_miss_holds_no_hit_up(start, origin, env):
    proxy = start(origin, env=env)
    client = proxy.client().ask("/short")
    origin.receive().answer(page(FRESH, body=SHORT))
    assert client.response().body == SHORT
    client.send(ask("/short") * 3 + ask("/miss") + ask("/short"))
    assert_hits(client, 3)
    origin.receive().answer(page(body=b"miss"))
    assert client.response().body == b"miss"
    assert_hits(client, 1)


@pytest.mark.parametrize("count", [1, 10, 31, 32, 33, 40, 60, 80, 100])
@pytest.mark.parametrize("rest", [b"", b"GET /sh"])
def test_a_slow_reader_that_said_all(stored, count, rest):
    """More than its socket takes at once, and it will send no more: everything answered comes, then the end."""
    client = stored.client(receive_buffer=4096)
    client.send(ask("/middle") * count + rest)
    client.half_close()
    assert_hits(client, count, MIDDLE)
    assert client.is_ended() and client.stream.ended == "fin"


@pytest.mark.parametrize("count", [20, 32, 64, 100])
def test_a_slow_reader_while_utfeed_ends(stored, count):
    """Every answer is whole, and the end is no reset."""
    client = stored.client(receive_buffer=4096)
    client.send(ask("/middle") * count)
    client.drained()
    stored.sigterm()
    came = 0
    try:
        while client.response().body == MIDDLE:
            came += 1
    except Cut as cut:
        assert cut.message is None and cut.how == "fin" and not client.stream.held
    assert 0 < came <= count
    assert stored.wait() == 0


def test_ten_thousand(stored):
    client = stored.client(receive_buffer=4096)
    sending = client.send_soon(ask("/short") * 10_000)
    assert_hits(client, 10_000)
    sending.join()


@pytest.mark.parametrize("ends", [False, True])
def test_one_that_asks_and_reads_late(stored, ends):
    """Its unread answers wait in the sockets, and a little here; not one is lost, nor is one when it has nothing more to ask."""
    client, request = stored.client(receive_buffer=4096), ask("/short")
    before, limit = stored.status("VmRSS"), 64 << 20
    sent = client.push(request * 1000, limit)
    assert sent < limit
    stored.assert_growth(before, 4 << 10)
    if ends:
        client.half_close()
        assert_hits(client, sent // len(request))
        assert client.is_ended() and client.stream.ended == "fin"
    else:
        client.send_soon(request[sent % len(request) or len(request):] + ask("/none"))
        assert_hits(client, -(-sent // len(request)))
        assert client.response().status == 404


def test_one_that_never_reads_is_reset(start, origin, site, env):
    """By write-timeout; what was answered and could not be sent counts as dropped."""
    proxy = store(start(origin, "--write-timeout", "300ms", env=env))
    client = proxy.client(receive_buffer=4096)
    client.send_soon(ask("/short") * 100_000)
    ended = select.poll()
    ended.register(client.sock, 0)
    assert ended.poll(TIMEOUT * 1000)
    assert proxy.counters()["requests_dropped"] >= 1


@pytest.mark.parametrize("count", [1, 3, 50])
def test_a_tunnel_behind_answers(start, origin, site, another, env, count):
    far = another()
    client = store(start(origin, "--connect-allow", f"127.0.0.1:{far.port}", env=env)).client(receive_buffer=4096)
    client.send(ask("/middle") * count + ask(f"127.0.0.1:{far.port}", method="CONNECT") + b"early")
    reading = Background(assert_hits, client, count, MIDDLE)
    upstream = far.accept()
    upstream.send(b"late")
    reading.join()
    assert client.response(method="CONNECT").status == 200
    got = []
    client.stream.exactly(4, got)
    upstream.stream.exactly(5, got)
    assert b"".join(got) == b"lateearly"


def test_the_access_log_has_every_answer(stored):
    client = stored.client()
    client.send(ask("/short") * 20 + ask("/none") + ask("/short", method="HEAD"))
    assert_hits(client, 20)
    assert client.response().status == 404 and client.response(method="HEAD").status == 200
    lines = [line.decode() for line in stored.access_lines(28)[6:]]
    assert len(lines) == 22 and all("end=done" in line for line in lines)
    assert [f" {status} " in line for status, line in zip([200] * 20 + [404, 200], lines)] == [True] * 22
