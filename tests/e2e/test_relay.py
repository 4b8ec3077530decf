"""Methods other than GET and HEAD on routes and in forward mode: relayed with their bodies, both ways at once, never twice."""
import re

import pytest

from feeds import SMALL, big
from peers import Background
from proxy import RECEIVED_BY
from wire import Cut, chunked, message

OK = message("200 OK", "Content-Type: text/plain", body=b"done\n")
BODY = bytes(range(256)) * 3
LONG = BODY * 11000         # more than every buffer on the way


def posted(proxy, origin, *fields, body=b"", method="POST", target="/form", reply=OK, **kind):
    """One relayed exchange; gives (response, request upstream)."""
    client = proxy.client().ask(target, *fields, method=method, **kind)
    client.send(body)
    upstream = origin.receive()
    upstream.answer(reply)
    return client.response(), upstream.request


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "PROPFIND", "REPORT"])
def test_a_body_with_a_length(proxy, origin, method):
    got, asked = posted(proxy, origin, f"Content-Length: {len(BODY)}", "Content-Type: a/b", body=BODY, method=method)
    assert (got.status, got.body) == (200, b"done\n")
    assert asked.line == f"{method} /form HTTP/1.1" and asked["Content-Length"] == str(len(BODY))
    assert asked.body == BODY and asked["Content-Type"] == "a/b"


@pytest.mark.parametrize("size", [1, [3, 200, 1], 5000])
def test_a_body_in_chunks(proxy, origin, size):
    got, asked = posted(proxy, origin, "Transfer-Encoding: chunked", body=chunked(BODY, size, extension=b";x"))
    assert got.status == 200 and asked.framing == "chunked" and asked.body == BODY


def test_request_trailers_do_not_become_fields(proxy, origin):
    _, asked = posted(proxy, origin, "Transfer-Encoding: chunked", body=chunked(BODY, end=b"0\r\nX-Late: 1\r\nHost: evil\r\n\r\n"))
    assert asked.body == BODY and "X-Late" not in asked and asked["Host"] == f"127.0.0.1:{origin.port}"


def test_a_body_in_single_bytes(proxy, origin):
    client = proxy.client()
    client.send_apart(b"POST /f HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(SMALL[:100], 30))
    upstream = origin.receive()
    assert upstream.request.body == SMALL[:100]
    upstream.answer(OK)
    assert client.response().status == 200


@pytest.mark.parametrize("method", ["DELETE", "OPTIONS", "PROPFIND"])
def test_no_body_stays_none(proxy, origin, method):
    got, asked = posted(proxy, origin, method=method)
    assert got.status == 200 and asked.method == method and asked.framing == "none" and not asked.body


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_an_empty_body_says_so(proxy, origin, method):
    """RFC 9110 section 8.6: these methods should send Content-Length: 0; many origins answer 411 otherwise."""
    got, asked = posted(proxy, origin, "Content-Length: 0", method=method)
    assert got.status == 200 and asked["Content-Length"] == "0"


def test_forward_mode_relays(start, another):
    behind = another()
    got, asked = posted(start(None), behind, f"Content-Length: {len(BODY)}", body=BODY, target=f"{behind.url}/form?x=1",
                        host=f"127.0.0.1:{behind.port}")
    assert got.status == 200 and asked.line == "POST /form?x=1 HTTP/1.1" and asked.body == BODY


def test_fields_of_a_relayed_request(proxy, origin):
    _, asked = posted(proxy, origin, "Content-Length: 3", "Content-Type: text/xml", "Content-Encoding: gzip", "X-Own: 1", "Cookie: a=b",
                      "Authorization: Basic x", "Connection: X-Hop", "X-Hop: 1", "Keep-Alive: 5", "Proxy-Authorization: Basic y",
                      "Expect: 100-continue", body=b"abc")
    assert (asked["Content-Type"], asked["Content-Encoding"], asked["X-Own"]) == ("text/xml", "gzip", "1")
    assert not asked.names() & {"cookie", "authorization", "connection", "x-hop", "keep-alive", "proxy-authorization", "expect"}
    assert asked["Via"] == f"{RECEIVED_BY} utfeed"


PAST = "Sat, 01 Jan 2000 00:00:00 GMT"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "POST"])
@pytest.mark.parametrize("name, value", [("If-Match", '"a"'), ("If-Match", '"a", W/"b"'), ("If-Match", "*"), ("If-None-Match", "*"),
                                         ("If-None-Match", '"a"'), ("If-Unmodified-Since", PAST), ("If-Match", '"a;utf-00000000"')])
def test_preconditions_go_along(proxy, origin, method, name, value):
    """RFC 9110 section 13.1.1: against lost updates. Without them the origin would do what it was told not to."""
    got, asked = posted(proxy, origin, f"{name}: {value}", "Content-Length: 0", method=method, reply=message("412 Precondition Failed"))
    assert asked[name] == value and got.status == 412


@pytest.mark.parametrize("gzip", [False, True])
def test_a_tag_of_ours_is_the_origins_again(proxy, origin, gzip):
    """What a client got as ETag is what it says in If-Match; the origin knows its own."""
    fields = ["Accept-Encoding: gzip"] if gzip else []
    got, _ = proxy.through(origin, message("200 OK", "Content-Type: application/xml", 'ETag: "v1"', body=big(size=5000)[0]), "/form", *fields)
    assert got["ETag"].startswith('"v1;utf-') and got["ETag"].endswith(';gz"') == gzip
    _, asked = posted(proxy, origin, f'If-Match: "x", {got["ETag"]}', "Content-Length: 0", method="PUT")
    assert asked["If-Match"] == '"x", "v1"'


@pytest.mark.parametrize("name", ["If-Match", "If-Unmodified-Since"])
def test_preconditions_of_reads_stay(proxy, origin, name):
    _, asked = proxy.through(origin, OK, "/f", f"{name}: {PAST if 'Since' in name else '*'}")
    assert name not in asked


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
def test_the_answer_to_a_post_is_untouched(proxy, origin, version):
    """It is no feed to be read by a reader: bytes and Content-Type as the origin has them."""
    got, _ = posted(proxy, origin, "Content-Length: 1", body=b"x", version=version,
                    reply=message("201 Created", "Content-Type: application/xml", "Location: /new", 'ETag: "1"', body=SMALL))
    assert (got.status, got.body, got["Content-Type"], got["Location"]) == (201, SMALL, "application/xml", "/new")
    assert got["ETag"] == '"1"' and "Content-Location" not in got


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
def test_a_redirect_of_a_post_is_passed_on(start, origin, status):
    proxy = start(None, "--route", f"/={origin.url} follow-redirects=on")
    got, _ = posted(proxy, origin, "Content-Length: 1", body=b"x", reply=message(status, "Location: /other"))
    assert got.status == int(status[:3]) and got["Location"] == "/other"
    assert not origin.asked()


@pytest.mark.parametrize("status", ["204 No Content", "205 Reset Content", "304 Not Modified"])
def test_answers_without_a_body(proxy, origin, status):
    client = proxy.client()
    for _ in range(2):
        client.ask("/f", "Content-Length: 2", method="PUT").send(b"xy")
        upstream = origin.receive()
        upstream.answer(message(status, length=status.startswith("205")))
        got = client.response()
        assert got.status == int(status[:3]) and not got.body


def test_expect_continue_is_answered_before_the_body(proxy, origin):
    client = proxy.client().ask("/f", f"Content-Length: {len(BODY)}", "Expect: 100-continue", method="POST")
    assert client.stream.line() == b"HTTP/1.1 100 Continue" and client.stream.line() == b""
    client.send(BODY)
    upstream = origin.receive()
    assert upstream.request.body == BODY and "Expect" not in upstream.request
    upstream.answer(OK)
    got = client.response()
    assert got.status == 200 and not got.interim


def test_no_interim_response_to_http_1_0(proxy, origin):
    got, asked = posted(proxy, origin, "Content-Length: 3", "Expect: 100-continue", body=b"abc", version="HTTP/1.0")
    assert got.status == 200 and asked.body == b"abc"


def test_http_1_0_client(proxy, origin):
    client = proxy.client().ask("/f", f"Content-Length: {len(BODY)}", method="POST", version="HTTP/1.0", host=None)
    client.send(BODY)
    upstream = origin.receive()
    assert upstream.request.body == BODY and upstream.request.version == "HTTP/1.1"
    upstream.answer(message("200 OK", "Transfer-Encoding: chunked", body=chunked(BODY)))
    assert client.response().body == BODY and client.is_ended()


def test_chunks_from_an_http_1_0_client_are_refused(proxy, origin):
    """RFC 9112 section 6.1: faulty framing."""
    client = proxy.client().ask("/f", "Transfer-Encoding: chunked", method="POST", version="HTTP/1.0")
    client.send_soon(chunked(BODY))
    assert not origin.asked_before_answer(client)
    assert client.response().status == 400 and client.is_ended()


FAULTY = {"both framings": (["Content-Length: 3", "Transfer-Encoding: chunked"], b"0\r\n\r\n"),
          "two lengths": (["Content-Length: 3", "Content-Length: 4"], b"abcd"),
          "a list of lengths": (["Content-Length: 3, 4"], b"abcd"),
          "a signed length": (["Content-Length: +3"], b"abc"),
          "a length beyond 64 bits": (["Content-Length: 18446744073709551617"], b"a"),
          "a coding nobody knows": (["Transfer-Encoding: gzip, chunked"], b"0\r\n\r\n"),
          "chunked not last": (["Transfer-Encoding: chunked, gzip"], b"0\r\n\r\n"),
          "chunked twice": (["Transfer-Encoding: chunked, chunked"], b"0\r\n\r\n"),
          "chunked with a control": (["Transfer-Encoding: \x0bchunked"], b"0\r\n\r\n")}


@pytest.mark.parametrize("name", FAULTY)
def test_faulty_framing_is_refused(proxy, origin, name):
    fields, body = FAULTY[name]
    client = proxy.client().ask("/f", *fields, method="POST")
    client.send_soon(body + b"GET /hidden HTTP/1.1\r\nHost: t\r\n\r\n")
    assert not origin.asked_before_answer(client), origin.receive_head().request.fields
    assert client.response().status in (400, 501)
    assert client.is_ended() and not origin.asked()


@pytest.mark.parametrize("broken", [b"zz\r\n", b"5\r\nabcdeX\r\n", b"-1\r\n", b"fffffffffffffffff\r\n", b"5\nabcde\r\n", b"0\r\n: b\r\n",
                                    b"0\r\nA: b\r\n: b\r\n"])
def test_broken_chunks_never_look_complete(proxy, origin, broken):
    client = proxy.client().ask("/f", "Transfer-Encoding: chunked", method="POST")
    client.send(b"3\r\nabc\r\n")
    upstream = origin.receive_head()
    client.send(broken + b"0\r\n\r\n")
    with pytest.raises(Cut):
        upstream.body()
    got = client.response()
    assert got.status == 400 and got["Connection"] == "close"
    client.half_close()
    assert client.is_ended() and not origin.asked()


def test_broken_chunks_behind_the_answer_s_beginning(proxy, origin):
    client = proxy.client().ask("/f", "Transfer-Encoding: chunked", method="POST")
    client.send(b"3\r\nabc\r\n")
    upstream = origin.receive_head()
    upstream.send(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 10\r\n\r\nabc")
    while b"abc" not in client.stream.held:
        client.stream.need()
    client.send(b"zz\r\n")
    assert client.cut().message.body == b"abc"
    with pytest.raises(Cut):
        upstream.body()


@pytest.mark.parametrize("end", ["reset", "half_close", "close"])
@pytest.mark.parametrize("framed", ["length", "chunked"])
def test_client_gone_in_its_body(proxy, origin, framed, end):
    """The origin must not take what it got for the whole request."""
    client = proxy.client()
    if framed == "length":
        client.ask("/f", f"Content-Length: {len(BODY)}", method="POST").send(BODY[:-1])
    else:
        client.ask("/f", "Transfer-Encoding: chunked", method="POST").send(chunked(BODY, 100, end=b""))
    upstream = origin.receive_head()
    getattr(client, end)()
    with pytest.raises(Cut) as cut:
        upstream.body()
    assert BODY.startswith(cut.value.message.body)


@pytest.mark.parametrize("missing", range(4028 - 3, 4034))
def test_head_body_and_end_at_once(proxy, origin, missing):
    """Sizes around the buffer that a client's first bytes go to, the end of the connection right behind them: the origin is asked
    nothing, or hears that it was cut."""
    client, head = proxy.client(), "POST /f HTTP/1.1\r\nHost: t\r\nContent-Length: 9999\r\n\r\n"
    client.send(head.encode() + b"x" * (missing - len(head)))
    client.half_close()
    assert client.is_ended()
    if origin.asked():
        upstream = origin.receive_head()
        with pytest.raises(Cut):
            upstream.body()


def test_client_gone_before_the_answer(proxy, origin):
    client = proxy.client().ask("/f", "Content-Length: 3", method="POST")
    client.send(b"abc")
    upstream = origin.receive()
    client.reset()
    assert upstream.is_ended()


@pytest.mark.parametrize("framed", ["length", "chunked"])
def test_a_long_body_both_ways_at_once(proxy, origin, framed):
    """Every byte comes back while it goes out: an origin that echoes."""
    client = proxy.client().ask("/echo", f"Content-Length: {len(LONG)}" if framed == "length" else "Transfer-Encoding: chunked", method="POST")
    sending = client.send_soon(LONG if framed == "length" else chunked(LONG, [1, 70_000, 333]))
    upstream = origin.receive_head()
    upstream.send(message("200 OK", "Content-Type: application/octet-stream", f"Content-Length: {len(LONG)}"))

    def echo():
        assert upstream.body(upstream.send) == b""
    echoing = Background(echo)
    assert client.response().body == LONG
    sending.join()
    echoing.join()


def test_client_that_reads_only_after_sending(proxy, origin):
    """The answer fills every buffer towards the client, the request every buffer towards the origin; then the origin reads on:
    the request must still get through."""
    client = proxy.client(receive_buffer=4096).ask("/f", f"Content-Length: {1 << 40}", method="POST")
    upstream = origin.receive_head()
    upstream.send(message("200 OK", "Content-Type: application/octet-stream", f"Content-Length: {1 << 40}"))
    limit = 256 << 20
    assert upstream.push(b"y" * 65536, limit) < limit
    sent = client.push(b"x" * 65536, limit)
    assert sent < limit
    got = len(upstream.stream.held)
    upstream.stream.held.clear()
    while got < sent:
        upstream.stream.need()
        got += len(upstream.stream.take(1 << 20))


def test_a_stalled_origin_stops_the_client(start, origin):
    """Nothing of a body is gathered that its origin does not take."""
    proxy = start(origin)
    client = proxy.client().ask("/f", f"Content-Length: {1 << 40}", method="PUT")
    upstream = origin.receive_head()
    upstream.stream.held.clear()
    before, limit = proxy.status("VmHWM"), 256 << 20
    assert client.push(b"x" * 65536, limit) < limit
    proxy.assert_growth(before, 4 << 10)


@pytest.mark.parametrize("close", [True, False])
def test_origin_answers_early(proxy, origin, close):
    """A final answer before the body was read goes to the client at once; the connection upstream is used no more."""
    client = proxy.client().ask("/f", f"Content-Length: {len(LONG)}", method="POST")
    client.send(LONG[:1000])
    upstream = origin.receive_head()
    upstream.answer(message("413 Too Large", "Content-Type: text/plain", body=b"no\n"))
    if close:
        upstream.reset()
    got = client.response()
    assert (got.status, got.body) == (413, b"no\n")
    upstream.stream.held.clear()
    if not close:
        with pytest.raises(Cut):
            while True:
                upstream.stream.need()
    client.send_soon(LONG[1000:])
    posted(proxy, origin, "Content-Length: 1", body=b"x")
    assert origin.connections == 2


def test_origin_answers_early_with_a_long_body(proxy, origin):
    client = proxy.client().ask("/f", f"Content-Length: {len(LONG)}", method="POST")
    client.send(LONG[:1000])
    upstream = origin.receive_head()
    answering = upstream.send_soon(message("403 Forbidden", "Content-Type: application/octet-stream", body=LONG))
    sending = client.send_soon(LONG[1000:])
    assert client.response().body == LONG
    answering.join()
    client.close()
    with pytest.raises((OSError, ValueError)):
        sending.join()
        raise OSError


def test_origin_closes_without_an_answer(proxy, origin):
    """502, and never tried again: the body may have been acted upon."""
    client = proxy.client().ask("/f", "Content-Length: 3", method="PUT")
    client.send(b"abc")
    origin.receive().close()
    assert not origin.asked_before_answer(client)
    assert client.response().status == 502 and len(origin.requests) == 1


def test_interim_answers_in_between(proxy, origin):
    client = proxy.client().ask("/f", "Content-Length: 6", method="POST")
    client.send(b"abc")
    upstream = origin.receive_head()
    upstream.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    client.send(b"def")
    assert upstream.body() == b"abcdef"
    upstream.answer(OK)
    assert client.response().status == 200


def test_pipelined_behind_a_body(proxy, origin):
    client = proxy.client()
    client.send(b"POST /1 HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc"
                b"PUT /2 HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ndef\r\n0\r\n\r\nGET /3 HTTP/1.1\r\nHost: t\r\n\r\n")
    for line, body in [("POST /1", b"abc"), ("PUT /2", b"def"), ("GET /3", b"")]:
        upstream = origin.receive()
        assert upstream.request.line == f"{line} HTTP/1.1" and upstream.request.body == body
        upstream.answer(OK)
        assert client.response().status == 200


def test_a_body_is_not_a_request(proxy, origin):
    hidden = b"GET /hidden HTTP/1.1\r\nHost: t\r\n\r\n"
    got, asked = posted(proxy, origin, f"Content-Length: {len(hidden)}", body=hidden)
    assert got.status == 200 and asked.body == hidden and not origin.asked()


def test_a_refused_body_is_not_a_request(start, origin):
    """No route for it: what follows the head is never read as requests."""
    proxy = start(None, "--route", f"/only/={origin.url}")
    client = proxy.client().ask("/other", "Content-Length: 40", method="POST")
    client.send(b"GET /only/ HTTP/1.1\r\nHost: t\r\n\r\n")
    assert client.response().status == 404 and client.is_ended() and not origin.asked()


def test_the_access_line_of_a_relay(start, origin):
    proxy = start(origin)
    posted(proxy, origin, "Content-Length: 3", body=b"abc")
    line = proxy.access_lines(1)[0].decode()
    assert re.search(r" POST /form 200 5 ", line) and " end=done id=" in line


def test_first_byte_timeout_counts_from_the_request_sent(timed, clock, origin):
    """A slow upload is no slow origin: conf/options.def, first-byte-timeout."""
    client = timed(origin, "--first-byte-timeout", "20s").client().ask("/f", "Content-Length: 60", method="POST")
    upstream = origin.receive_head()
    for _ in range(60):
        client.send(b"x")
        clock.jump(1)
        assert not client.heard(0.02), "the upload was cut"
        client.drained()
    assert upstream.body() == b"x" * 60
    upstream.answer(OK)
    assert client.response().status == 200


def test_an_origin_that_never_answers_a_body(start, origin):
    client = start(origin, "--first-byte-timeout", "300ms").client().ask("/f", "Content-Length: 3", method="POST")
    client.send(b"abc")
    upstream = origin.receive()
    assert client.response().status == 504 and upstream.is_ended()


def test_a_stalled_upload_ends(start, origin):
    """A client that stops in its body does not hold the origin's connection for ever."""
    options = ["--first-byte-timeout", "1s", "--between-bytes-timeout", "1s", "--request-timeout", "1s", "--write-timeout", "1s"]
    client = start(origin, *options).client().ask("/f", "Content-Length: 60", method="POST")
    client.send(b"abc")
    upstream = origin.receive_head()
    with pytest.raises(Cut):
        upstream.body()
    assert client.response().status == 408 and client.is_ended()


def test_a_stalled_upload_ends_while_the_answer_comes(start, origin):
    client = start(origin, "--between-bytes-timeout", "1s").client().ask("/f", "Content-Length: 60", method="POST")
    client.send(b"abc")
    upstream = origin.receive_head()
    upstream.send(message("200 OK", "Content-Type: text/plain", "Content-Length: 60") + b"abc")
    client.arrives()
    with pytest.raises(Cut):
        upstream.body()


def test_big_answers_are_not_normalised(proxy, origin):
    data, _ = big()
    client = proxy.client().ask("/f", "Content-Length: 1", method="POST")
    client.send(b"x")
    origin.receive().answer(message("200 OK", "Content-Type: application/xml", body=data))
    assert client.response().body == data
