"""utfeed as a process: signals, its access log, descriptors, and crowds of peers that behave as they like."""
import os
import random
import re
import resource
import selectors
import signal
import subprocess
import time

import pytest

from feeds import SMALL, SMALL_OUT, big
from peers import Background, Client
from preload import build, preloading
from proxy import BINARY, READY
from wire import TIMEOUT, Cut, chunked, connect, message

XML = "Content-Type: application/xml"
FEED = message("200 OK", XML, body=SMALL)


def refuses(port):
    """Waits until nobody listens on port any more."""
    while True:
        try:
            connect(port).close()
        except (ConnectionRefusedError, ConnectionResetError):
            return


def test_sigterm_finishes_what_is_in_flight(proxy, origin):
    data, out = big()
    reply = message("200 OK", XML, body=data)
    begun, waiting, idle = proxy.client().ask("/begun"), proxy.client(), proxy.client()
    first = origin.receive()
    waiting.ask("/waiting")
    second = origin.receive()
    idle.ask("/idle")
    origin.receive().answer(FEED)
    assert idle.response().body == SMALL_OUT
    first.send(reply[:-50_000])
    begun.stream.need()
    proxy.sigterm()
    refuses(proxy.port)
    assert idle.is_ended()
    first.send(reply[-50_000:])
    second.send(reply)
    assert begun.response().body == out
    assert waiting.response().body == out
    assert begun.is_ended() and waiting.is_ended()
    assert proxy.wait() == 0


def test_sigterm_with_nothing_to_do(proxy):
    proxy.sigterm()
    assert proxy.wait() == 0


def test_drain_timeout_ends_it(start, origin):
    proxy = start(origin, "--drain-timeout", "300ms")
    client = proxy.client().ask("/feed")
    origin.receive()
    proxy.sigterm()
    assert proxy.wait() == 0
    with pytest.raises(Cut):
        client.response()


def test_second_sigterm_does_not_wait(proxy, origin):
    client = proxy.client().ask("/feed")
    origin.receive()
    proxy.sigterm()
    refuses(proxy.port)
    proxy.sigterm()
    assert proxy.wait() == 0
    with pytest.raises(Cut):
        client.response()


def test_sigint_is_sigterm(proxy):
    proxy.process.send_signal(signal.SIGINT)
    assert proxy.wait() == 0


def test_sigusr1_prints_counters(proxy, origin):
    proxy.through(origin, FEED)
    until = time.monotonic() + TIMEOUT
    while not re.search(r"responses_normalised\W+1\b", proxy.err.text()):    # counted after the last byte is out
        assert time.monotonic() < until
        proxy.process.send_signal(signal.SIGUSR1)
        with proxy.err.news:
            proxy.err.news.wait(0.1)
    assert proxy.through(origin, FEED)[0].status == 200


ACCESS = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z 127\.0\.0\.1:\d+ \S+ \S+ \d{1,3} \d+ \S+ charset=\S+ was=\S+ reason=\S+ "
                    rb"repairs=\d+ malformed=\d+ time=\d+\.\d{3}ms end=(done|cut|dropped) "
                    rb"id=c\d+\.\d+ route=\S+( origin_host=\S+)?\n\Z")


def test_access_lines_have_one_form(proxy, origin):
    """A served feed, an error of ours, a failed and a cut transfer, and a client that left."""
    data, _ = big()
    proxy.through(origin, FEED, "/fine")
    proxy.get("/refused", method="TRACE")
    for target, sent in [("/failed", FEED[:-5]), ("/cut", message("200 OK", XML, body=data)[:-5])]:
        client = proxy.client().ask(target)
        upstream = origin.receive()
        upstream.send_soon(sent).join()
        upstream.close()
        if target == "/cut":
            client.cut()
        else:
            assert client.response().status == 502
    client = proxy.client().ask("/left")
    upstream = origin.receive()
    client.reset()
    assert upstream.is_ended()
    lines = proxy.access_lines(5)
    assert all(ACCESS.match(line) for line in lines), lines
    ends = {line.split()[3]: re.search(rb" end=(\w+)", line)[1] for line in lines}
    assert ends == {b"/fine": b"done", b"/refused": b"done", b"/failed": b"done", b"/cut": b"cut", b"/left": b"dropped"}


def test_access_lines_stay_lines_whatever_the_length(proxy, origin):
    """The longest target, every byte of which grows fourfold when escaped."""
    for target in ("/" + "\\" * 8000, "/" + "x" * 8100):
        client = proxy.client().ask(target)
        if origin.asked_before_answer(client):
            origin.receive().answer(FEED)
        client.response()
    assert all(ACCESS.match(line) for line in proxy.access_lines(2))


class Bare:
    """A utfeed whose standard output the test holds itself."""

    def __init__(self, origin, stdout):
        self.process = subprocess.Popen([BINARY, "serve", "--listen", "127.0.0.1:0", "--route", f"/={origin.url}"], stdout=stdout,
                                        stderr=subprocess.PIPE)
        ready = None
        while not ready:
            ready = READY.search(self.process.stderr.readline().decode())
        self.port = int(ready[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            assert self.process.wait(TIMEOUT) == 0
        finally:
            self.process.kill()
            self.process.stderr.close()


@pytest.mark.http1_origin("a utfeed that the test starts by itself")
def test_a_log_that_nobody_reads_blocks_nothing(origin):
    origin.serve(lambda request: FEED)
    read, write = os.pipe()
    with Bare(origin, write) as proxy:
        os.close(write)
        client = Client(proxy.port)
        for number in range(100):
            assert client.get(f"/{'x' * 3000}{number}").status == 200
        client.close()
        os.close(read)


@pytest.mark.http1_origin("a utfeed that the test starts by itself")
def test_a_log_that_is_closed_kills_nothing(origin):
    origin.serve(lambda request: FEED)
    read, write = os.pipe()
    with Bare(origin, write) as proxy:
        os.close(write)
        os.close(read)
        client = Client(proxy.port)
        for number in range(10):
            assert client.get(f"/{number}").status == 200
        client.close()


def descriptors(proxy):
    return len(os.listdir(f"/proc/{proxy.process.pid}/fd"))


def test_out_of_descriptors_is_survived(proxy, origin):
    """No spin, no crash, and service again when descriptors are back."""
    origin.serve(lambda request: FEED)
    assert proxy.get("/before").status == 200
    limit = descriptors(proxy) + 6
    resource.prlimit(proxy.process.pid, resource.RLIMIT_NOFILE, (limit, limit))
    crowd = [Client(proxy.port) for _ in range(30)]
    for client in crowd:
        client.ask("/crowd")
    with selectors.DefaultSelector() as ready:
        for client in crowd:
            ready.register(client.sock, selectors.EVENT_READ)
        assert ready.select(TIMEOUT), "nobody is served"
    assert proxy.counted("accept_paused", 1) >= 1
    for client in crowd:
        client.close()
    until = time.monotonic() + TIMEOUT
    while proxy.get("/after").status != 200:       # until it has seen the crowd leave
        assert time.monotonic() < until


def test_no_descriptors_leak(proxy, origin):
    def once():
        client = proxy.client().ask("/feed")
        upstream = origin.receive()
        upstream.send(FEED[:-1])
        upstream.close()
        assert client.response().status == 502
        client.ask("/feed")
        origin.receive().answer(message("200 OK", XML, "Transfer-Encoding: chunked", body=chunked(SMALL)), close=True)
        assert client.response().body == SMALL_OUT
        client.half_close()
        assert client.is_ended()
        client.close()
    once()
    before = descriptors(proxy)
    for _ in range(20):
        once()
    assert descriptors(proxy) <= before + 2


def behave(proxy, seed, reply_of):
    """One client of a crowd, its manners drawn from seed: asks, then reads all of it, some of it or none."""
    draw, right = random.Random(seed), 0
    for turn in range(6):
        client = Client(proxy.port, draw.choice([0, 4096]))
        try:
            kind = draw.choice(sorted(reply_of))
            count = draw.randint(1, 3)
            request = f"GET /{kind}/{seed}-{turn} HTTP/1.1\r\nHost: t\r\n\r\n".encode() * count
            for piece in (request[at:at + draw.randint(1, 400)] for at in [0]):
                client.send(piece)
                client.send(request[len(piece):])
            manner = draw.choice(["read", "read", "read", "leave", "reset", "half"])
            if manner == "leave":
                continue
            if manner == "reset":
                client.sock.recv(draw.randint(1, 5000))
                client.reset()
                continue
            if manner == "half":
                client.half_close()
            for _ in range(count):
                got = client.response()
                expected = reply_of[kind][1]
                assert got.status in (200, 502) and (got.status == 502 or got.body == expected), (kind, got.line)
                right += got.status == 200
        except Cut:
            assert kind.startswith("broken") or manner == "half", (kind, manner)
        except OSError as error:
            assert kind.startswith("broken") or manner == "reset", (kind, manner, error)
        finally:
            client.close()
    return right


@pytest.mark.parametrize("workers", ["1", "3"])
def test_crowd(start, origin, workers):
    """Well-behaved and other clients and origins at once: every whole answer is right, nothing is left behind."""
    data, out = big()
    replies = {"small": (FEED, SMALL_OUT), "large": (message("200 OK", XML, body=data), out),
               "chunks": (message("200 OK", XML, "Transfer-Encoding: chunked", body=chunked(data, [1, 5000, 77])), out),
               "raw": (message("200 OK", "Content-Type: image/png", body=data), data),
               "broken-small": (FEED[:-1], SMALL_OUT), "broken-large": (message("200 OK", XML, body=data)[:-1], out)}

    def respond(request):
        kind = request.target.split("/")[1]
        return (replies[kind][0], "close") if kind.startswith("broken") else replies[kind][0]
    origin.serve(respond)
    proxy = start(origin, "--workers", workers)
    behave(proxy, 1, replies)
    crowd = [Background(behave, proxy, seed, replies) for seed in range(2, 26)]
    assert sum(each.join() for each in crowd) > 50
    assert proxy.get("/small/after").body == SMALL_OUT


@pytest.mark.parametrize("listener", ["clients'", "admin"])
def test_who_never_stops_sending_holds_nobody_up(start, origin, tmp_path, listener):
    """endless.c: there is always more to read of who was refused."""
    origin.serve(lambda request: FEED)
    proxy = start(origin, "--workers", "1", "--admin-listen", "127.0.0.1:0", env=preloading(build("endless", tmp_path)))
    port = proxy.port if listener == "clients'" else int(re.search(r"admin listener on 127\.0\.0\.1:(\d+)", proxy.err.text())[1])

    def asks(**kind):
        client = Client(port)
        proxy.clients.append(client)
        return client, client.get("/healthz" if listener == "admin" else "/f", host="localhost", **kind)
    endless, got = asks(method="BREW/")
    assert got.status == 400 and endless.is_ended()
    endless.send(b"x")
    for _ in range(3):
        assert asks()[1].status == 200
