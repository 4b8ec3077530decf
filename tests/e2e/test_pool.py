"""Connections to origins between uses: kept, used again, limited, and never trusted further than RFC 9112 section 9.3 goes."""
import os
import signal
import socket
import time

import pytest

from feeds import SMALL, SMALL_OUT
from fleets import has_read
from test_faults import error_of
from wire import chunked, message

XML = "Content-Type: application/xml"
FEED = message("200 OK", XML, body=SMALL)
TEXT = message("200 OK", "Content-Type: text/css", body=b"a{}")


def exchange(client, origin, reply=FEED, target="/f", method="GET", fields=(), body=b""):
    """One exchange on client's connection, so that one worker has both; gives (response, upstream)."""
    client.ask(target, *fields, method=method).send(body)
    upstream = origin.receive()
    upstream.answer(reply)
    return client.response(), upstream


REUSED = {
    "Content-Length": (FEED, True), "chunks": (message("200 OK", XML, "Transfer-Encoding: chunked", body=chunked(SMALL)), True),
    "trailers": (message("200 OK", XML, "Transfer-Encoding: chunked", body=chunked(SMALL, end=b"0\r\nX: y\r\n\r\n")), True),
    "204": (message("204 No Content", length=False), True), "304": (message("304 Not Modified", length=False), True),
    "304 with a length": (message("304 Not Modified", "Content-Length: 500"), True),
    "empty": (message("200 OK", XML), True), "404": (message("404 Not Found", XML, body=SMALL), True),
    "interim": (b"HTTP/1.1 103 Early Hints\r\n\r\n" + FEED, True),
    "HTTP/1.0 keep-alive": (message("HTTP/1.0 200 OK", XML, "Connection: keep-alive", body=SMALL), True),
    "untouched": (TEXT, True),
    "HTTP/1.0": (message("HTTP/1.0 200 OK", XML, body=SMALL), False),
    "Connection: close": (message("200 OK", XML, "Connection: close", body=SMALL), False),
    "Connection: x, Close": (message("200 OK", XML, "Connection: x, Close", body=SMALL), False),
    "excess bytes": (FEED + b"x", False), "excess response": (FEED + TEXT, False),
    "excess after 204": (message("204 No Content", "X: y", length=False) + b"body", False),
    "excess after 304": (message("304 Not Modified", length=False) + b"body", False),
    "excess CRLF": (FEED + b"\r\n", False),
}


@pytest.mark.parametrize("name", REUSED)
def test_reuse(proxy, origin, name):
    """(reply, whether the next request may come on the same connection)."""
    reply, again = REUSED[name]
    client = proxy.client()
    _, first = exchange(client, origin, reply, fields=['If-None-Match: "a"'])
    if not again:
        assert first.is_ended()
    got, second = exchange(client, origin)
    assert got.body == SMALL_OUT
    assert (second is first) == again


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_reuse_after_a_relay(proxy, origin, method):
    client = proxy.client()
    _, first = exchange(client, origin, TEXT, method=method, fields=["Content-Length: 3"], body=b"abc")
    assert exchange(client, origin)[1] is first


def test_reuse_after_head(proxy, origin):
    client = proxy.client()
    first = exchange(client, origin, method="HEAD")[1]
    assert exchange(client, origin)[1] is first


def test_reuse_over_redirects(start, origin):
    client = start(None).client().ask(f"/{origin.url}/old")
    origin.receive().answer(message("302 Found", "Location: /new", body=b"moved"))
    origin.receive().answer(FEED)
    assert client.response().body == SMALL_OUT and origin.connections == 1


def test_origins_do_not_share(start, another):
    first, second = another(), another("127.0.0.2")
    client = start(first, "--route", f"/b/={second.url}").client()
    for _ in range(3):
        exchange(client, first, target="/a")
        exchange(client, second, target="/b/a")
    assert (first.connections, second.connections) == (1, 1)


def test_routes_to_one_origin_share(start, origin):
    client = start(origin, "--route", f"/b/={origin.url}/x/").client()
    exchange(client, origin, target="/a")
    exchange(client, origin, target="/b/a")
    assert origin.connections == 1


def test_requests_at_once_have_connections_of_their_own(start, origin):
    """No pipelining upstream; the latest one kept is taken first."""
    proxy = start(origin, "--workers", "1")
    clients = [proxy.client().ask(f"/{number}") for number in range(5)]
    upstreams = [origin.receive() for _ in clients]
    assert len(set(map(id, upstreams))) == 5
    for upstream in upstreams:
        upstream.answer(FEED)
    for client in clients:
        assert client.response().body == SMALL_OUT
    for number in range(5):
        exchange(clients[number], origin)
    assert origin.connections == 5


@pytest.mark.parametrize("keep", [0, 1, 2])
def test_idle_limit(start, origin, keep):
    proxy = start(origin, "--workers", "1", "--origin-idle", str(keep))
    clients = [proxy.client().ask(f"/{number}") for number in range(4)]
    upstreams = sorted((origin.receive() for _ in clients), key=lambda upstream: upstream.request.target)
    for upstream, client in zip(upstreams, clients):
        upstream.answer(FEED)
        assert client.response().status == 200
    for upstream in upstreams[:4 - keep]:
        assert upstream.is_ended()              # those idle for longest
    for _ in range(keep and 3):
        assert exchange(clients[0], origin)[1] is upstreams[-1]
    assert origin.connections == 4


def test_idle_timeout(timed, clock, origin):
    proxy = timed(origin, "--keepalive-timeout", "5m", "--workers", "1")
    client = proxy.client()
    _, first = exchange(client, origin)
    clock.jump(29)
    assert exchange(client, origin)[1] is first
    has_read(proxy)
    clock.jump(31)
    assert first.is_ended()
    assert exchange(client, origin)[0].body == SMALL_OUT and origin.connections == 2


def test_an_idle_connection_that_the_origin_closes(proxy, origin):
    client = proxy.client()
    _, first = exchange(client, origin)
    first.half_close()
    assert first.is_ended()
    assert exchange(client, origin)[0].body == SMALL_OUT and origin.connections == 2


@pytest.mark.parametrize("said", [b"x", TEXT, b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"])
def test_an_idle_connection_that_speaks_is_closed(proxy, origin, said):
    """RFC 9112 section 9.5: what comes unasked answers nothing."""
    client = proxy.client()
    _, first = exchange(client, origin)
    first.send(said)
    assert first.is_ended()
    assert exchange(client, origin)[0].body == SMALL_OUT and origin.connections == 2


def stopped(proxy):
    """Stops the process, so that what the peers do next happens to it all at once."""
    os.kill(proxy.process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, proxy.process.pid, os.WSTOPPED | os.WNOWAIT)


def resumed(proxy):
    os.kill(proxy.process.pid, signal.SIGCONT)


@pytest.mark.http1("utfeed stopped between two turns of its loop: over HTTP/2 one more read may follow in the same turn")
@pytest.mark.parametrize("said", [b"x", TEXT, TEXT * 2])
@pytest.mark.parametrize("client_first", [True, False])
def test_what_was_said_unasked_never_answers_the_next_request(proxy, origin, said, client_first):
    """The origin's bytes are there before the request goes out: such a connection is not used."""
    for _ in range(5):
        client = proxy.client()
        _, first = exchange(client, origin)
        stopped(proxy)
        if client_first:
            client.ask("/next")
        first.send(said)
        if not client_first:
            client.ask("/next")
        resumed(proxy)
        assert origin.asked_before_answer(client), client.response().body
        upstream = origin.receive()
        assert upstream is not first
        upstream.answer(FEED)
        assert client.response().body == SMALL_OUT


@pytest.mark.parametrize("end", ["close", "reset", "half_close"])
@pytest.mark.parametrize("client_first", [True, False])
def test_end_and_next_request_at_once(proxy, origin, end, client_first):
    client = proxy.client()
    _, first = exchange(client, origin)
    stopped(proxy)
    if client_first:
        client.ask("/next")
    getattr(first, end)()
    if not client_first:
        client.ask("/next")
    resumed(proxy)
    upstream = origin.receive()
    if upstream is first:                       # the other half of a half-closed one: what goes there is lost
        upstream.close()
        upstream = origin.receive()
    upstream.answer(FEED)
    assert client.response().body == SMALL_OUT


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_one_retry_where_a_reused_connection_dies(proxy, origin, method, end):
    client = proxy.client()
    exchange(client, origin)
    client.ask("/again", method=method)
    getattr(origin.receive(), end)()
    second = origin.receive()
    assert second.request.target == "/again" and origin.connections == 2
    second.answer(FEED)
    assert client.response().body == (b"" if method == "HEAD" else SMALL_OUT)
    assert proxy.counters()["fetches_retried"] == 1


def test_one_retry_only(proxy, origin):
    client = proxy.client()
    exchange(client, origin)
    client.ask("/again")
    origin.receive().close()
    origin.receive().close()
    assert not origin.asked_before_answer(client)
    assert client.response().status == 502 and origin.connections == 2


def test_the_retry_takes_a_new_connection(start, origin):
    """Another idle one may be as dead."""
    proxy = start(origin, "--workers", "1")
    clients = [proxy.client().ask(f"/{number}") for number in range(2)]
    for upstream in [origin.receive() for _ in clients]:
        upstream.answer(FEED)
    for client in clients:
        assert client.response().status == 200
    clients[0].ask("/again")
    origin.receive().close()
    origin.receive().answer(FEED)
    assert clients[0].response().body == SMALL_OUT and origin.connections == 3


def test_no_retry_on_a_new_connection(proxy, origin):
    client = proxy.client().ask("/f")
    origin.receive().close()
    assert not origin.asked_before_answer(client)
    assert client.response().status == 502


@pytest.mark.parametrize("said", [b"H", b"HTTP/1.1 200 OK\r\n", FEED[:-1], b"HTTP/1.1 103 Early Hints\r\n\r\n"])
def test_no_retry_once_a_byte_came(proxy, origin, said):
    client = proxy.client()
    exchange(client, origin)
    client.ask("/again")
    origin.receive().answer(said, close=True)
    assert not origin.asked_before_answer(client), "tried again"
    assert client.response().status == 502 and origin.connections == 1


@pytest.mark.parametrize("method, fields, body", [("POST", ["Content-Length: 3"], b"abc"), ("PUT", ["Content-Length: 3"], b"abc"),
                                                  ("POST", ["Content-Length: 0"], b""), ("POST", [], b""), ("PATCH", ["Content-Length: 0"], b""),
                                                  ("POST", ["Transfer-Encoding: chunked"], b"0\r\n\r\n")])
def test_no_retry_of_what_may_have_been_done(proxy, origin, method, fields, body):
    """RFC 9110 section 9.2.2: a proxy never repeats a method that is not idempotent; a body that was sent is gone."""
    client = proxy.client()
    exchange(client, origin)
    client.ask("/order", *fields, method=method).send(body)
    origin.receive().close()
    assert not origin.asked_before_answer(client), "sent twice"
    assert client.response().status == 502 and [r.target for r in origin.requests].count("/order") == 1


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_an_order_does_not_die_of_a_stale_connection(proxy, origin, method):
    """What cannot be repeated should not be sent where the end has been read or is waiting to be read."""
    for _ in range(5):
        client = proxy.client()
        _, first = exchange(client, origin)
        stopped(proxy)
        client.ask("/order", "Content-Length: 3", method=method).send(b"abc")
        first.close()
        resumed(proxy)
        upstream = origin.receive()
        assert upstream is not first and upstream.request.body == b"abc"
        upstream.answer(TEXT)
        assert client.response().status == 200


def test_origin_connections_queue(start, origin):
    proxy = start(origin, "--workers", "1", "--origin-connections", "2")
    clients = [proxy.client().ask(f"/{number}") for number in range(6)]
    targets = []
    upstreams = [origin.receive(), origin.receive()]
    for _ in clients:
        assert origin.connections == 2
        upstream = upstreams.pop(0)
        targets.append(upstream.request.target)
        upstream.answer(message("200 OK", "Content-Type: text/css", body=upstream.request.target.encode()))
        if len(targets) < 5:
            upstreams.append(origin.receive())
    for number, client in enumerate(clients):
        assert client.response().body == b"/%d" % number
    assert sorted(targets) == [f"/{number}" for number in range(6)] and origin.connections == 2


def test_the_queue_goes_on_when_one_fails(start, origin):
    proxy = start(origin, "--workers", "1", "--origin-connections", "1")
    first, second, third = [proxy.client().ask(f"/{number}") for number in range(3)]
    upstream = origin.receive()
    failing = {"/0": first, "/1": second, "/2": third}.pop(upstream.request.target)
    upstream.close()
    assert failing.response().status == 502
    for _ in range(2):
        origin.receive().answer(FEED)
    for client in (first, second, third):
        assert client is failing or client.response().body == SMALL_OUT


def test_who_leaves_the_queue_is_not_asked_for(start, origin):
    proxy = start(origin, "--workers", "1", "--origin-connections", "1")
    first = proxy.client().ask("/first")
    upstream = origin.receive()
    leaving = proxy.client().ask("/leaving")
    leaving.drained()
    last = proxy.client().ask("/last")
    last.drained()
    leaving.reset()
    assert b"/leaving" in proxy.access_lines(1)[0]      # dropped
    upstream.answer(FEED)
    assert first.response().status == 200
    upstream = origin.receive()
    assert upstream.request.target == "/last"
    upstream.answer(FEED)
    assert last.response().status == 200


def test_the_queue_is_not_waited_in_for_ever(timed, clock, origin):
    """RFC 9209 section 2.3.12; who gave up takes no place from those behind."""
    proxy = timed(origin, "--workers", "1", "--origin-connections", "1", "--log-level", "debug")
    held = proxy.client().ask("/held")
    upstream = origin.receive()
    late = [proxy.client().ask("/late") for _ in range(3)]
    proxy.says("pool: waits for a connection", 3)
    has_read(proxy)
    clock.jump(31)
    for client in late:
        got = client.response()
        assert got.status == 503 and error_of(got) == "connection_limit_reached"
        assert got["Proxy-Status"].endswith('details="none of 1 connections free within 30000 ms"')
    upstream.answer(FEED)
    assert held.response().body == SMALL_OUT
    assert exchange(held, origin)[0].body == SMALL_OUT and origin.connections == 1


def test_other_origins_do_not_wait(start, another):
    first, second = another(), another()
    proxy = start(first, "--route", f"/b/={second.url}", "--workers", "1", "--origin-connections", "1")
    proxy.client().ask("/held")
    first.receive()
    assert proxy.through(second, FEED, "/b/f")[0].body == SMALL_OUT


def test_sigterm_closes_what_is_idle(proxy, origin):
    client = proxy.client()
    _, first = exchange(client, origin)
    proxy.sigterm()
    assert proxy.wait() == 0
    assert first.is_ended()


def test_sigterm_with_a_queue(start, origin):
    """Those that wait for a connection are in flight, too."""
    proxy = start(origin, "--workers", "1", "--origin-connections", "1")
    clients = [proxy.client().ask(f"/{number}") for number in range(3)]
    upstream = origin.receive()
    for client in clients:
        client.drained()
    proxy.sigterm()
    for _ in clients[1:]:
        upstream.answer(FEED)
        upstream = origin.receive()
    upstream.answer(FEED)
    for client in clients:
        assert client.response().body == SMALL_OUT
    assert proxy.wait() == 0


def test_head_and_body_apart(proxy, origin):
    """An origin with Nagle's algorithm holds the body back until the head is acknowledged, which the kernel by itself delays for
    40 ms at least once a connection has spoken both ways for a while: then every round would take so much longer than those of an origin
    without it, however slow the machine is."""
    client, times = proxy.client(), {0: [], 1: []}
    head, body = FEED[:-len(SMALL)], SMALL
    for turn in range(120):
        client.ask("/f")
        upstream = origin.receive()
        upstream.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, turn % 2)
        began = time.monotonic()
        upstream.send(head)
        upstream.send(body)
        assert client.response().body == SMALL_OUT
        times[turn % 2].append(time.monotonic() - began)
    assert origin.connections == 1 and min(times[0][30:]) < min(times[1][30:]) + 0.04


def test_many_rounds_on_one_connection(proxy, origin):
    client = proxy.client()
    for number in range(300):
        got, _ = exchange(client, origin, TEXT if number % 2 else FEED, f"/{number}")
        assert got.status == 200
    assert origin.connections == 1
