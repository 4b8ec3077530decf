"""What goes wrong: a failed transfer never looks complete, an error answer says what failed, and everything is let go of."""
import gzip
import socket

import pytest

from feeds import SMALL, SMALL_OUT, big
from peers import deaf_port
from wire import Cut, chunked, message

XML = "Content-Type: application/xml"
PNG = "Content-Type: image/png"


def error_of(got):
    """The RFC 9209 error token of an error answer, whose form is checked."""
    assert got["Content-Type"].startswith("text/plain") and 20 < len(got.body) < 2000 and got.body.endswith(b"\n")
    name, *parameters = [word.strip() for word in got["Proxy-Status"].split(";")]
    assert name == "utfeed"
    return dict(word.split("=", 1) for word in parameters)["error"]


def test_connection_refused(start, another):
    origin = another()
    proxy = start(origin)
    origin.stop_listening()
    got = proxy.get("/feed")
    assert got.status == 502 and error_of(got) == "connection_refused"
    assert b"Connection refused" in got.body and f"127.0.0.1:{origin.port}".encode() not in got.body
    proxy.says(f"127.0.0.1:{origin.port}: Connection refused")


def test_connection_refused_then_there_again(start, another):
    origin = another()
    proxy = start(origin)
    origin.stop_listening()
    client = proxy.client()
    assert client.get("/feed").status == 502
    origin.listener.listen()
    client.ask("/feed")
    origin.receive().answer(message("200 OK", XML, body=SMALL))
    assert client.response().body == SMALL_OUT


def test_connect_timeout(start):
    with deaf_port() as port:
        got = start(None, "--route", f"/=http://127.0.0.1:{port}", "--connect-timeout", "300ms").get("/feed")
    assert got.status == 504 and error_of(got) == "connection_timeout"


def test_unknown_host(start):
    got = start(None, "--gateway", "on", "--connect-timeout", "2s").get("/http://no..such..host/feed")
    assert got.status in (400, 502, 504)
    if got.status != 400:
        assert error_of(got) in ("dns_error", "dns_timeout")


def test_origin_never_answers(start, origin):
    client = start(origin, "--first-byte-timeout", "300ms").client().ask("/feed")
    upstream = origin.receive()
    got = client.response()
    assert got.status == 504 and error_of(got) == "http_response_timeout"
    assert upstream.is_ended()


def test_origin_stops_in_its_head(start, origin):
    client = start(origin, "--first-byte-timeout", "500ms").client().ask("/feed")
    origin.receive().send(b"HTTP/1.1 200 OK\r\nContent-Ty")
    got = client.response()
    assert got.status == 504 and error_of(got) == "http_response_timeout"


def test_origin_dribbles_its_head(start, origin):
    """A byte now and then must not keep first-byte-timeout from ending it."""
    client = start(origin, "--first-byte-timeout", "500ms").client().ask("/feed")
    upstream = origin.receive()
    upstream.send(b"HTTP/1.1 200 OK\r\nX: ")

    dribbling = upstream.dribble()
    assert client.response().status == 504
    dribbling.join()


def test_origin_stops_before_anything_was_sent_on(start, origin):
    client = start(origin, "--between-bytes-timeout", "300ms").client().ask("/feed")
    origin.receive().send(message("200 OK", XML, f"Content-Length: {len(SMALL)}", body=SMALL[:50]))
    got = client.response()
    assert got.status == 504 and error_of(got) in ("http_response_timeout", "http_response_incomplete", "connection_read_timeout")


def test_origin_stops_in_its_body(start, origin):
    data, out = big()
    client = start(origin, "--between-bytes-timeout", "1s").client().ask("/feed")
    upstream = origin.receive()
    upstream.send(message("200 OK", XML, f"Content-Length: {len(data)}", body=data[:-100]))
    cut = client.cut()
    assert out.startswith(cut.message.body) and cut.message.body
    assert upstream.is_ended()


def reset(upstream):
    upstream.reset()


def close(upstream):
    upstream.close()


ENDS = pytest.mark.parametrize("end", [reset, close])


@ENDS
@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 2", b"HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nConte",
                                  b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"])
def test_origin_ends_in_its_head(proxy, origin, said, end):
    client = proxy.client().ask("/feed")
    upstream = origin.receive()
    while True:
        upstream.send(said)
        end(upstream)
        if not origin.asked_before_answer(client):
            break
        upstream = origin.receive()         # a GET may be tried once more (RFC 9110 section 9.2.2)
        assert origin.connections <= 3
    got = client.response()
    assert got.status == 502
    assert error_of(got) in ("connection_terminated", "http_response_incomplete")


def whole(kind, data):
    """A whole response of the kind, whose body may then be cut short."""
    if kind == "length":
        return message("200 OK", XML, body=data)
    if kind == "gzip":
        return message("200 OK", XML, "Content-Encoding: gzip", body=gzip.compress(data, 0))
    if kind == "gzip chunks":
        return message("200 OK", XML, "Content-Encoding: gzip", "Transfer-Encoding: chunked", body=chunked(gzip.compress(data, 0)))
    return message("200 OK", XML, "Transfer-Encoding: chunked", body=chunked(data))


KINDS = pytest.mark.parametrize("kind", ["length", "chunks", "gzip", "gzip chunks"])


@ENDS
@KINDS
@pytest.mark.parametrize("missing", [1, 5, 300])
def test_small_truncated_bodies_are_502(proxy, origin, kind, missing, end):
    client = proxy.client().ask("/feed")
    upstream = origin.receive()
    upstream.send(whole(kind, SMALL)[:-missing])
    end(upstream)
    got = client.response()
    assert got.status == 502 and error_of(got) in ("http_response_incomplete", "connection_terminated")


@ENDS
@KINDS
@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
@pytest.mark.parametrize("missing", [1, 40_000])
def test_large_truncated_bodies_are_cut(proxy, origin, kind, missing, version, end):
    """The client sees it: no final chunk, or, where HTTP/1.0 has none, a reset."""
    data, out = big()
    client = proxy.client().ask("/feed", version=version)
    upstream = origin.receive()
    upstream.send_soon(whole(kind, data)[:-missing]).join()
    end(upstream)
    cut = client.cut()
    assert cut.message.status == 200 and len(cut.message.body) <= len(out)
    assert out.startswith(cut.message.body)
    assert version == "HTTP/1.1" or cut.how == "reset"


@ENDS
def test_truncated_untouched_body_is_cut(proxy, origin, end):
    data = bytes(range(256)) * 400
    client = proxy.client().ask("/image")
    upstream = origin.receive()
    upstream.send(message("200 OK", PNG, f"Content-Length: {len(data)}", body=data[:-1]))
    end(upstream)
    cut = client.cut()
    assert data.startswith(cut.message.body)


def test_reset_until_close_body(proxy, origin):
    """Without a length only the manner of the end tells: a reset is no end of body."""
    data, out = big()
    client = proxy.client().ask("/feed")
    upstream = origin.receive()
    upstream.send_soon(message("200 OK", XML, body=data, length=False)).join()
    upstream.reset()
    assert out.startswith(client.cut().message.body)


def test_bad_chunk_after_the_head_is_out(proxy, origin):
    data, out = big()
    client = proxy.client().ask("/feed")
    upstream = origin.receive()
    upstream.send_soon(message("200 OK", XML, "Transfer-Encoding: chunked", body=chunked(data, 1000, b"zz\r\n"))).join()
    assert out.startswith(client.cut().message.body)
    assert upstream.is_ended()


def test_truncated_head_request_says_so_too(proxy, origin):
    client = proxy.client().ask("/feed", method="HEAD")
    upstream = origin.receive()
    upstream.send(whole("length", SMALL)[:-10])
    upstream.close()
    assert client.response().status in (200, 502)


def test_a_failure_leaves_the_others_alone(proxy, origin):
    failing, fine = proxy.client().ask("/bad"), proxy.client()
    bad = origin.receive()
    fine.ask("/good")
    good = origin.receive()
    bad.send(whole("length", SMALL)[:-10])
    bad.reset()
    assert failing.response().status == 502
    good.answer(whole("length", SMALL))
    assert fine.response().body == SMALL_OUT
    failing.ask("/again")
    origin.receive().answer(whole("length", SMALL))
    assert failing.response().body == SMALL_OUT


def test_client_leaves_before_the_answer(proxy, origin):
    client = proxy.client().ask("/feed")
    upstream = origin.receive()
    client.reset()
    assert upstream.is_ended() or upstream.gone()


@pytest.mark.parametrize("end", ["reset", "close"])
def test_client_leaves_in_the_body(proxy, origin, end):
    data, _ = big()
    client = proxy.client().ask("/feed")
    upstream = origin.receive()
    upstream.send(message("200 OK", XML, "Content-Length: 999999999", body=data))
    client.arrives()
    getattr(client, end)()
    assert upstream.gone(data)


def test_client_leaves_and_the_next_one_is_served(proxy, origin):
    for _ in range(10):
        client = proxy.client().ask("/feed")
        upstream = origin.receive()
        upstream.send(whole("length", SMALL)[:100])
        client.reset()
        assert upstream.gone(SMALL)
    got, _ = proxy.through(origin, whole("length", SMALL))
    assert got.body == SMALL_OUT


@pytest.mark.parametrize("kind", [XML, PNG])
def test_stalled_client_stops_the_upstream_read(proxy, origin, kind):
    data = big()[0].partition(b"</channel>")[0]      # what stands behind a root would not be passed on
    client = proxy.client(receive_buffer=8192).ask("/feed")
    upstream = origin.receive()
    upstream.send(message("200 OK", kind, length=False, body=data))
    client.arrives()
    before, limit = proxy.status("VmHWM"), 256 << 20
    assert upstream.push(data, limit) < limit
    proxy.assert_growth(before, 4 << 10)


def test_stalled_client_goes_on_where_it_stopped(proxy, origin):
    data, out = big(size=24 << 20)
    client = proxy.client(receive_buffer=8192).ask("/feed")
    upstream = origin.receive()
    upstream.send(message("200 OK", XML, f"Content-Length: {len(data)}"))
    sent = upstream.push(data, len(data))
    sending = upstream.send_soon(data[sent:])
    assert client.response().body == out
    sending.join()


def test_stalled_client_is_cut_in_the_end(start, origin):
    proxy = start(origin, "--write-timeout", "500ms")
    data = big()[0].partition(b"</channel>")[0]
    client = proxy.client(receive_buffer=8192).ask("/feed")
    upstream = origin.receive()
    upstream.send(message("200 OK", XML, length=False))
    assert upstream.gone(data)
    with pytest.raises(Cut):
        client.response()


def test_slow_request_is_408(start, origin):
    client = start(origin, "--request-timeout", "1s").client()
    client.send(b"GET /feed HTTP/1.1\r\nHost: feeds")
    assert client.response().status == 408 and client.is_ended()


def test_dribbled_request_is_408(start, origin):
    """A byte now and then must not keep request-timeout from ending it (slowloris)."""
    client = start(origin, "--request-timeout", "500ms").client()
    client.send(b"GET /feed HTTP/1.1\r\nHost: feeds.test\r\nX: ")
    dribbling = client.dribble()
    assert client.response().status == 408
    dribbling.join()


def test_client_that_asks_and_never_reads_is_bounded(proxy):
    """Pipelined requests wait in the client's socket while answers wait for it, not in memory."""
    client = proxy.client(receive_buffer=4096)
    before, limit = proxy.status("VmRSS"), 256 << 20
    assert client.push(b"TRACE / HTTP/1.1\r\nHost: t\r\n\r\n" * 2000, limit) < limit
    proxy.assert_growth(before, 4 << 10)


def test_idle_connection_is_closed(start, origin):
    client = start(origin, "--keepalive-timeout", "1s").client().ask("/feed")
    origin.receive().answer(whole("length", SMALL))
    assert client.response().body == SMALL_OUT
    assert client.is_ended()


def test_silent_connection_is_closed(start, origin):
    client = start(origin, "--request-timeout", "300ms", "--keepalive-timeout", "300ms").client()
    assert client.is_ended() or client.response().status == 408


def test_origin_fault_is_in_the_access_line(proxy, origin):
    client = proxy.client().ask("/broken")
    upstream = origin.receive()
    upstream.send(b"nonsense\r\n\r\n")
    assert client.response().status == 502
    line = proxy.access_lines(1)[0].decode()
    assert "/broken" in line and " 502 " in line


def place(host):
    """A place of a host where no other process takes a port meanwhile."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return f"{host}:{probe.getsockname()[1]}"


def test_request_loop_ends(start):
    """Two utfeeds routed to each other must notice (Via), not fill the machine with connections."""
    places = place("127.0.0.77"), place("127.0.0.78")
    first, _ = [start(None, "--listen", own, "--route", f"/=http://{other}") for own, other in (places, places[::-1])]
    got = first.get("/feed")
    assert got.status in (502, 508) and b"loop" in got.body.lower() + got["Proxy-Status"].encode()


def test_no_route_leads_back(start):
    own = place("127.0.0.77")
    got = start(None, "--listen", own, "--route", f"/=http://{own}").get("/feed")
    assert got.status == 502 and "own listener" in got["Proxy-Status"]
