"""HTTP/2 from clients: what an exchange means is what it means by HTTP/1.1, on a stream of its own. Sources: RFC 9113, RFC 9110."""
import gzip
import json
import re
import ssl

import pytest

import schema

pytest.importorskip("hpack", reason="no python3-hpack here")

from certs import client_context, server_context
from feeds import SMALL, SMALL_OUT, big
from http2 import Http2
from http2_frames import (ENABLE_CONNECT_PROTOCOL, HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS,
                          MOST_WINDOW, PREFACE, WINDOW, goaway, settings)
from inside import InsideClient, OwnCa
from pages import FRESH, Site, page, was_hit
from peers import Client, TlsClient
from test_access_log import GIVEN, PARENT, TRACE
from test_charset import ASCII_FIRST
from test_client_auth import CHALLENGE, own, proxied, write, USERS
from test_process import refuses
from wire import Cut, chunked, message

XML = "Content-Type: application/xml"
FEED = message("200 OK", XML, body=SMALL)
OK = message("200 OK", "Content-Type: text/plain", body=b"done\n")
BODY = bytes(range(256)) * 3
LARGE = 8 << 20

WAYS = ["h2", "h2c"]


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


@pytest.fixture
def proxy(speaking, way, origin):
    return speaking(way, origin)


@pytest.fixture
def conn(proxy):
    return proxy.http2()


def through(conn, origin, reply, target="/feed", *fields, **kind):
    """One exchange on a new stream; gives (response, request upstream)."""
    asked = conn.ask(target, *fields, **kind)
    upstream = origin.receive()
    upstream.answer(reply)
    return asked.response(), upstream.request


def refused(exchange, *statuses):
    """The request is malformed: its stream ends with PROTOCOL_ERROR, or is answered by one of statuses (RFC 9113 section 8.1.1)."""
    try:
        return exchange.response().status in statuses
    except Cut as cut:
        return cut.how == "PROTOCOL_ERROR"


# ---- requests and responses ----

@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_feed(conn, origin, method):
    got, asked = through(conn, origin, FEED, "/feed?a=b", "User-Agent: reader/1", method=method)
    assert (got.status, got.version, got.body) == (200, "HTTP/2", SMALL_OUT if method == "GET" else b"")
    assert got["Content-Type"] == "application/xml; charset=utf-8" and got.rule and "Date" in got
    assert asked.line == "GET /feed?a=b HTTP/1.1" and asked["Host"] == f"127.0.0.1:{origin.port}"
    assert "reader/1" in asked["User-Agent"] and asked.framing == "none"


def test_via_names_the_protocol_received(conn, origin):
    """RFC 9110 section 7.6.3."""
    got, asked = through(conn, origin, FEED, "/feed", "Via: 1.0 before")
    assert asked.all("Via") == ["1.0 before", "2 utfeed"] and got["Via"] == "1.1 utfeed"


def test_many_on_one_connection(conn, origin):
    """Header lists by reference to former ones, and streams that are used up."""
    origin.serve(lambda request: message("200 OK", XML, f"X-Target: {request.target}", body=SMALL))
    for number in range(300):
        got = conn.get(f"/feed/{number}", "Accept: */*", f"X-Number: {number}")
        assert (got.status, got.body, got["X-Target"]) == (200, SMALL_OUT, f"/feed/{number}")
    assert not conn.goaways


def test_a_big_feed(conn, origin):
    data, out = big()
    got, _ = through(conn, origin, message("200 OK", XML, body=data))
    assert got.body == out


def test_a_stream_stays_one(conn, origin):
    """What has come is sent, though the origin is not done."""
    asked = conn.ask("/picture")
    upstream, pieces = origin.receive(), [b"%d" % number * 1000 for number in range(5)]
    upstream.send(message("200 OK", "Content-Type: image/png", f"Content-Length: {len(b''.join(pieces))}", length=False))
    for piece in pieces:
        upstream.send(piece)
        assert asked.take(len(piece)) == piece
    assert asked.is_ended()


def test_fields_of_a_connection_stay_there(conn, origin):
    """Of HTTP/1.1's own none comes: Http2 would call it malformed."""
    reply = message("200 OK", XML, "Connection: X-Hop, keep-alive", "X-Hop: 1", "Keep-Alive: timeout=5", "Upgrade: h2c",
                    "Proxy-Connection: keep-alive", "Transfer-Encoding: chunked", "X-UPPER: Value", body=chunked(SMALL))
    got, asked = through(conn, origin, reply)
    assert got.body == SMALL_OUT and "X-Hop" not in got and ("x-upper", "Value") in got.fields
    assert not asked.names() & {"http2-settings", "upgrade"}


def test_large_heads(conn, origin):
    """In CONTINUATION frames both ways."""
    value, told = "v" * 20_000, "t" * 25_000
    got, asked = through(conn, origin, message("200 OK", XML, f"X-Told: {told}", body=SMALL), "/feed", f"X-Own: {value}",
                         "Content-Length: 3", method="POST", body=b"abc")
    assert got["X-Told"] == told and asked["X-Own"] == value


HEADS = {
    "a long field": [f"X-Told: {'t' * 70_000}"],
    "many long fields": [f"X-{n}: {'t' * 20_000}" for n in range(6)],
    "many fields": [f"X-{n}: {n}" for n in range(400)],
}


@pytest.mark.parametrize("status", ["200 OK", "204 No Content"])
@pytest.mark.parametrize("case", HEADS)
def test_larger_heads_of_responses(speaking, way, origin, case, status):
    """What max-header-bytes and max-header-fields let in goes out, by HTTP/2 as by HTTP/1.1."""
    conn = speaking(way, origin, "--max-header-bytes", "200k", "--max-header-fields", "500").http2()
    body = {} if status.startswith("204") else {"body": SMALL}
    got, _ = through(conn, origin, message(status, XML, *HEADS[case], **body))
    assert got.status == int(status[:3])
    assert {f"{name.lower()}: {value}" for name, value in got.fields} >= {line.lower() for line in HEADS[case]}


@pytest.mark.parametrize("size", [0, 100])
def test_a_smaller_header_table(proxy, origin, size):
    """SETTINGS_HEADER_TABLE_SIZE of the client holds for what it is sent."""
    conn = proxy.http2(options=[(HEADER_TABLE_SIZE, size)])
    for _ in range(3):
        assert through(conn, origin, FEED)[0].body == SMALL_OUT
    assert conn.decoder.header_table_size <= size


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("length", [True, False])
@pytest.mark.parametrize("size", [len(BODY), 100])
def test_a_body(conn, origin, method, length, size):
    asked = conn.ask("/form", *([f"Content-Length: {len(BODY)}"] if length else []), "Content-Type: a/b", method=method, end=False)
    for at in range(0, len(BODY), size):
        asked.send(BODY[at:at + size], end=at + size >= len(BODY))
    upstream = origin.receive()
    upstream.answer(OK)
    got = asked.response()
    assert (got.status, got.body) == (200, b"done\n")
    assert upstream.request.line == f"{method} /form HTTP/1.1" and upstream.request.body == BODY
    assert upstream.request["Content-Type"] == "a/b"
    assert not length or upstream.request["Content-Length"] == str(len(BODY))


def test_an_empty_body(conn, origin):
    """RFC 9110 section 8.6: Content-Length: 0, without which many origins answer 411."""
    for fields, kind in (((), {}), ((), {"body": b""}), (("Content-Length: 0",), {"body": b""})):
        got, asked = through(conn, origin, OK, "/form", *fields, method="POST", **kind)
        assert got.status == 200 and asked.body == b""
        assert asked["Content-Length"] == "0" or asked.framing == "chunked" and kind and not fields


def test_data_behind_a_length_of_nothing(conn, origin):
    """Such a request is malformed, and no origin gets it (RFC 9113 section 8.1.1)."""
    asked = conn.ask("/form", "Content-Length: 0", method="POST", end=False)
    conn.round_trip()
    assert not origin.asked()
    asked.send(b"x", end=True)
    assert refused(asked, 400) and not origin.asked()


def test_trailers_of_a_request_do_not_become_fields(conn, origin):
    asked = conn.ask("/form", method="POST", end=False).send(BODY).trailers("X-Late: 1", "Host: evil.test")
    upstream = origin.receive()
    upstream.answer(OK)
    assert asked.response().status == 200 and upstream.request.body == BODY
    assert "X-Late" not in upstream.request and upstream.request["Host"] == f"127.0.0.1:{origin.port}"


def test_a_rule_that_is_corrected_in_a_trailer(conn, origin):
    asked = conn.ask("/f", "TE: trailers")
    upstream, whole = origin.receive(), message("200 OK", "Content-Type: text/xml", body=ASCII_FIRST.encode())
    upstream.send(whole[:100_000])
    asked.head()                        # it is out before the evidence is in
    upstream.send(whole[100_000:])
    got = asked.response()
    found = "auto:2.1/utf8;charset=utf-8;was=us-ascii"
    assert got.body == ASCII_FIRST.encode()
    assert (got.rule, dict(got.trailers).get("x-encoding-rule")) in [("auto:2.1;charset=us-ascii", found), (found, None), (found, found)]


def test_no_trailer_for_a_client_that_takes_none(conn, origin):
    got, _ = through(conn, origin, message("200 OK", "Content-Type: text/xml", body=ASCII_FIRST.encode()))
    assert got.body == ASCII_FIRST.encode() and not got.trailers


def test_interim_responses(conn, origin):
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
    got, _ = through(conn, origin, early + FEED, "/f")
    assert got.body == SMALL_OUT
    assert [(head.status, head["Link"]) for head in got.interim] in ([], [(103, "</style.css>; rel=preload")])


def test_expect_continue(conn, origin):
    asked = conn.ask("/f", f"Content-Length: {len(BODY)}", "Expect: 100-continue", method="POST", end=False)
    asked.until(lambda: asked.interim or asked.got or asked.ended)
    assert [head.status for head in asked.interim] == [100]
    asked.send(BODY, end=True)
    upstream = origin.receive()
    assert upstream.request.body == BODY and "Expect" not in upstream.request
    upstream.answer(OK)
    got = asked.response()
    assert got.status == 200 and len(got.interim) == 1


def test_a_refusal_before_the_body(conn, origin):
    """The rest of the body is not asked for; the connection is as good as before (RFC 9113 section 8.1)."""
    for _ in range(3):
        asked = conn.ask(f"/{origin.url}/", "Content-Length: 1000000", method="PUT", end=False)
        assert asked.response().status in (403, 405)
        asked.send(b"x" * 1000)
    conn.round_trip()
    assert not conn.goaways and through(conn, origin, FEED)[0].body == SMALL_OUT


def test_gzip(speaking, way, origin):
    data, out = big(size=200_000)
    conn = speaking(way, origin, "--cache", "on").http2()
    origin.serve(lambda request: message("200 OK", XML, FRESH, 'ETag: "v1"', body=data))
    for _ in range(3):
        got = conn.get("/f", "Accept-Encoding: gzip")
        assert got["Content-Encoding"] == "gzip" and gzip.decompress(got.body) == out and "accept-encoding" in got.tokens("Vary")
    assert conn.get("/f").body == out and conn.get("/f", "Accept-Encoding: gzip;q=0").body == out


def test_from_the_cache(speaking, way, origin):
    """Hits, ranges, conditions: one stored response, for both protocols."""
    data, out = big(size=100_000)
    proxy, site = speaking(way, origin, "--cache", "on"), Site(origin)
    site["/f"] = message("200 OK", XML, FRESH, 'ETag: "v1"', body=data)
    conn = proxy.http2()
    first = conn.get("/f")
    assert first.body == out and not was_hit(first)
    again = conn.get("/f")
    assert again.body == out and was_hit(again) and "Age" in again
    assert was_hit(proxy.get("/f"))
    part = conn.get("/f", "Range: bytes=1000-1999")
    assert (part.status, part["Content-Range"], part.body) == (206, f"bytes 1000-1999/{len(out)}", out[1000:2000])
    assert conn.get("/f", f"Range: bytes={len(out)}-").status == 416
    same = conn.get("/f", f"If-None-Match: {again['ETag']}")
    assert (same.status, same.body, same["ETag"]) == (304, b"", again["ETag"])
    head = conn.get("/f", method="HEAD")
    assert (head["Content-Length"], head.body) == (str(len(out)), b"") and site.count() == 1


def test_purge(speaking, way, origin):
    proxy, site = speaking(way, origin, "--cache", "on"), Site(origin)
    site["/f"] = page(FRESH)
    conn = proxy.http2()
    assert [was_hit(conn.get("/f")) for _ in range(2)] == [False, True]
    assert conn.get("/f", method="PURGE").status == 200
    assert not was_hit(conn.get("/f"))


def test_the_gateway(speaking, way, origin):
    conn = speaking(way, None).http2()
    for target in (f"/{origin.url}/feed", f"/?url={origin.url}/feed"):
        got, asked = through(conn, origin, FEED, target)
        assert got.body == SMALL_OUT and asked.target == "/feed"


def test_forward_proxy(speaking, origin):
    """Over TLS, a request with the scheme http is for the proxy to send on."""
    conn = speaking("h2", None).http2()
    got, asked = through(conn, origin, FEED, f"{origin.url}/feed")
    assert got.body == SMALL_OUT and asked.target == "/feed" and asked["Host"] == f"127.0.0.1:{origin.port}"
    got, asked = through(conn, origin, OK, f"{origin.url}/form", "Content-Length: 3", method="POST", body=b"abc")
    assert got.status == 200 and asked.body == b"abc"


def test_the_pac(speaking, way):
    assert b"FindProxyForURL" in speaking(way, None, "--pac", "on").http2().get("/proxy.pac", host="localhost").body


# ---- whom it is for ----

AUTHORITY = {
    "the same twice": ("feeds.test", ("Host: feeds.test",), True),
    "Host alone": (None, ("Host: feeds.test",), True),
    "two names": ("feeds.test", ("Host: other.test",), False),
    "neither": (None, (), False),
    "Host twice": (None, ("Host: feeds.test", "Host: feeds.test"), False),
    "Host twice, and :authority": ("feeds.test", ("Host: feeds.test", "Host: feeds.test"), False),
    "with a user": ("user@feeds.test", (), False),
    "empty": ("", (), False),
    "with a blank": ("feeds test", (), False),
    "with a slash": ("feeds.test/x", (), False),
    "a list": ("feeds.test,other.test", (), False),
}


@pytest.mark.parametrize("case", AUTHORITY)
def test_host_and_authority(conn, origin, case):
    """RFC 9113 section 8.3.1."""
    host, fields, good = AUTHORITY[case]
    asked = conn.ask("/feed", *fields, host=host)
    if good:
        origin.receive().answer(FEED)
        assert asked.response().body == SMALL_OUT
    else:
        assert refused(asked, 400, 421) and not origin.asked()
        assert through(conn, origin, FEED)[0].body == SMALL_OUT       # on the same connection


def test_a_name_that_is_not_served(speaking, way, origin):
    conn = speaking(way, origin, "--hosts", "a.example.org").http2()
    got = conn.get("/feed", host="b.example.org")
    assert got.status == 421 and b"b.example.org" in got.body
    assert through(conn, origin, FEED, host="a.example.org")[0].body == SMALL_OUT


def test_crumbs_of_cookies(speaking, way, origin):
    """RFC 9113 section 8.2.3: one line, in their order."""
    conn = speaking(way, None, "--route", f"/={origin.url} cookies=on").http2()
    _, asked = through(conn, origin, FEED, "/feed", "Cookie: a=b", "X-Own: 1", "Cookie: c=d", "Cookie: e=f")
    assert asked.all("Cookie") == ["a=b; c=d; e=f"]


def test_client_auth(speaking, way, origin, tmp_path):
    write(tmp_path / "users", USERS)
    conn = speaking(way, origin, "--client-auth", str(tmp_path / "users")).http2()
    for fields in ((), (own("alice", "wrong"),)):
        got = conn.get("/feed", *fields)
        assert (got.status, got["WWW-Authenticate"]) == (401, CHALLENGE)
    got, asked = through(conn, origin, FEED, "/feed", own())
    assert got.body == SMALL_OUT and "Authorization" not in asked
    assert conn.get("/feed").status == 401          # each stream says who it is
    if way == "h2":
        assert conn.get(f"{origin.url}/feed").status == 407
        assert through(conn, origin, FEED, f"{origin.url}/feed", proxied())[0].body == SMALL_OUT


def test_traceparent(speaking, way, origin):
    proxy = speaking(way, None, "--log-format", "json", "--trace-allow", "127.0.0.1", "--route",
                     f"/={origin.url} traceparent=on request-fields=*")
    _, asked = through(proxy.http2(), origin, FEED, "/feed", GIVEN, "tracestate: a=1")
    said = json.loads(proxy.access_lines(1)[0])["traceparent"]
    assert asked["traceparent"] == said and TRACE in said and PARENT not in said and asked["tracestate"] == "a=1"


@pytest.mark.parametrize("form, said", [("json", rb'"http":"2.0"'), ("combined", rb'"GET /feed HTTP/2\.0"')])
def test_the_access_log(speaking, way, origin, form, said):
    proxy = speaking(way, origin, "--log-format", form)
    conn = proxy.http2()
    for _ in range(2):
        through(conn, origin, FEED, "/feed", "User-Agent: reader/1")
    for line in proxy.access_lines(2):
        assert re.search(said, line) and b"reader/1" in line, line
    if form == "json":
        first, second = (json.loads(line) for line in proxy.access_lines(2))
        assert first["id"] != second["id"] and first["client_port"] == conn.sock.getsockname()[1]
        assert (first["method"], first["status"], first["body_bytes"], first["end"]) == ("GET", 200, len(SMALL_OUT), "done")


MALFORMED = {
    "a field of a connection": (lambda conn: conn.ask("/feed", "Connection: close"), "GET /feed"),
    "a name in upper case": (lambda conn: conn.ask("/feed?key=secret", pseudo=[*conn.pseudo("/feed?key=secret", "GET", "feeds.test", None), ("X-Up", "1")]),
                             "GET /feed?key=***"),
    "no :path": (lambda conn: conn.ask(pseudo=conn.pseudo("/", "PUT", "feeds.test", None)[:-1]), "PUT -"),
    "no :method": (lambda conn: conn.ask(pseudo=conn.pseudo("/feed", "GET", "feeds.test", None)[1:]), "- /feed"),
    "a :status": (lambda conn: conn.ask(pseudo=[(":status", "200")]), "- -"),
    ":path twice": (lambda conn: conn.ask(pseudo=[*conn.pseudo("/a", "GET", "feeds.test", None), (":path", "/b")]), "GET /a"),
    "two names": (lambda conn: conn.ask("/feed", "Host: other.test"), "GET /feed"),
    "no name": (lambda conn: conn.ask("/feed", host=None), "GET /feed"),
    "a CONNECT without a port": (lambda conn: conn.ask("feeds.test", method="CONNECT", end=False), "CONNECT feeds.test"),
    "a length, and no body": (lambda conn: conn.ask("/form", "Content-Length: 5", method="POST"), "POST /form"),
    "a body behind a length of nothing": (lambda conn: conn.ask("/form", "Content-Length: 0", method="POST", end=False).send(b"x", end=True),
                                          "POST /form"),
    "more than its length": (lambda conn: conn.ask("/form", "Content-Length: 1", method="POST", end=False).send(b"xy"), "POST /form"),
    "less than its length": (lambda conn: conn.ask("/form", "Content-Length: 9", method="POST", end=False).send(b"xy", end=True), "POST /form"),
    "malformed trailers": (lambda conn: conn.ask("/form", method="POST", end=False).send(b"xy").trailers(":path: /x"), "POST /form"),
}


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_request_is_logged(speaking, origin, case, form):
    """As by HTTP/1.1 (RFC 9112 section 2.2): a line with the status 400, as far as the request is known, and a counter."""
    ask, said = MALFORMED[case]
    proxy = speaking("h2c", origin, "--log-format", form)
    conn = proxy.http2()
    asked = ask(conn)
    asked.until(lambda: asked.ended)
    assert asked.ended == "PROTOCOL_ERROR" and conn.get("/f", method="PURGE").status
    counters, lines = proxy.counters(), proxy.access_lines(2)
    assert (counters["requests_bad"], counters["requests_dropped"], len(lines)) == (1, 0, 2)
    if form == "json":
        first, second = sorted((schema.access_line(line) for line in lines), key=lambda line: line["id"])
        method, url = (None if word == "-" else word for word in said.split())
        assert (first["method"], first["url"], first["status"], first["body_bytes"], first["end"]) == (method, url, 400, 0, "done")
        assert first["client_port"] == conn.sock.getsockname()[1] and first["id"] != second["id"]
    else:
        assert re.search(re.escape(f" {said} 400 0 - charset=- ").encode() + b".* end=done ", lines[0] + lines[1]), lines


# ---- CONNECT on a stream ----

def tunnel(conn, origin):
    """Both ends of one."""
    asked = conn.ask(f"127.0.0.1:{origin.port}", method="CONNECT", end=False)
    head = asked.head()
    assert head.status == 200 and head.names() == {"proxy-status"}, head.fields
    return asked, origin.accept()


@pytest.fixture
def tunnelling(speaking, way, origin):
    return speaking(way, None, "--connect-allow", f"127.0.0.1:{origin.port}")


def read(peer, count):
    into = []
    peer.stream.exactly(count, into)
    return b"".join(into)


def test_a_tunnel(tunnelling, origin):
    """Both ways, beside another stream; each end is passed on by itself."""
    conn = tunnelling.http2()
    asked, upstream = tunnel(conn, origin)
    asked.send(b"up")
    assert read(upstream, 2) == b"up"
    upstream.send(b"down")
    assert asked.take(4) == b"down"
    other, behind = tunnel(conn, origin)
    behind.send(b"x" * 300_000)
    behind.close()
    assert other.response().body == b"x" * 300_000
    asked.send(b"the last", end=True)
    assert read(upstream, 8) == b"the last" and upstream.is_ended()
    upstream.send(b"y" * 100_000)
    upstream.half_close()
    assert asked.response().body == b"y" * 100_000
    conn.round_trip()
    assert not conn.goaways


def test_a_tunnel_that_either_end_resets(tunnelling, origin):
    conn = tunnelling.http2()
    asked, upstream = tunnel(conn, origin)
    asked.reset()
    assert upstream.is_ended()
    asked, upstream = tunnel(conn, origin)
    upstream.send(b"x")
    assert asked.take(1) == b"x"
    upstream.reset()
    assert asked.cut().how == "CONNECT_ERROR"           # RFC 9113 section 8.5
    assert tunnel(conn, origin)


def test_a_tunnel_that_rests(speaking, way, origin):
    proxy = speaking(way, None, "--connect-allow", f"127.0.0.1:{origin.port}", "--tunnel-idle-timeout", "300ms")
    asked, _ = tunnel(proxy.http2(), origin)
    assert asked.cut().how == "CANCEL"


def test_a_tunnel_that_nobody_reads(tunnelling, origin):
    """Its windows hold the origin back, and no other stream."""
    conn = tunnelling.http2()
    asked, upstream = tunnel(conn, origin)
    asked.takes = False
    went = upstream.push(b"x" * 65536, 256 << 20)
    assert went < 64 << 20
    other, behind = tunnel(conn, origin)
    behind.send(b"hello")
    assert other.take(5) == b"hello"
    upstream.half_close()
    assert len(asked.response().body) == went


def test_a_tunnel_whose_client_resets_it_unread(tunnelling, origin):
    """While the origin takes nothing, the stream is not read: the tunnel looks whether it was reset."""
    conn = tunnelling.http2()
    asked, upstream = tunnel(conn, origin)
    asked.push(b"x" * 65536, 256 << 20)
    asked.reset()
    assert b"CONNECT" in tunnelling.access_lines(1)[0]


@pytest.mark.parametrize("options, status", [((), 405), (("--connect-allow", "feeds.example"), 403)])
def test_no_tunnel(speaking, way, origin, options, status):
    conn = speaking(way, origin, *options).http2()
    assert conn.ask(f"127.0.0.1:{origin.port}", method="CONNECT", end=False).response().status == status
    assert through(conn, origin, FEED)[0].body == SMALL_OUT


def test_extended_connect(tunnelling, origin):
    """RFC 8441: it is not offered, and refused."""
    conn = tunnelling.http2()
    conn.round_trip()
    assert not conn.theirs.get(ENABLE_CONNECT_PROTOCOL)
    asked = conn.ask(method="CONNECT", end=False, pseudo=[
        (":method", "CONNECT"), (":protocol", "websocket"), (":scheme", conn.scheme), (":path", "/"),
        (":authority", f"127.0.0.1:{origin.port}")])
    assert refused(asked, 400, 501) and not origin.asked()
    assert tunnel(conn, origin)


def test_inside_an_opened_connect(start, tls_origin, good, authority, tmp_path):
    """By ALPN as on tls-listen; the origin is the one that CONNECT named."""
    own_ca, origin = OwnCa(tmp_path), tls_origin(server_context(good))
    origin.serve(lambda request: FEED)
    proxy = start(None, "--tls-ca-file", authority.root.cert, *own_ca.options("localhost"))
    context, where = own_ca.context(), f"localhost:{origin.port}"
    context.set_alpn_protocols(["h2", "http/1.1"])
    inside = InsideClient(proxy.port, where, context)
    proxy.clients.append(inside)
    assert inside.tls.selected_alpn_protocol() == "h2"
    conn = Http2(over=inside)
    for _ in range(2):
        assert conn.get("/feed", host=where).body == SMALL_OUT
    assert conn.get("/feed", host="other.test").status == 421
    assert [request.target for request in origin.requests if request.target != "/"] == ["/feed"] * 2


@pytest.mark.parametrize("how", ["client-auth", "intercept"])
def test_inside_what_ended(start, tls_origin, good, authority, tmp_path, how):
    """The reload ends what was opened: the answer says to connect again, so the connection takes no more streams."""
    own_ca, origin = OwnCa(tmp_path), tls_origin(server_context(good))
    origin.serve(lambda request: FEED)
    write(tmp_path / "users", USERS)
    flags = own_ca.options("localhost")
    lines = [f"{flag[2:]} = {value}\n" for flag, value in zip(flags[::2], flags[1::2])] + [f"tls-ca-file = {authority.root.cert}\n"]
    conf = tmp_path / "utfeed.conf"
    conf.write_text("".join(lines))
    proxy = start(None, "-c", str(conf))
    context, where = own_ca.context(), f"localhost:{origin.port}"
    context.set_alpn_protocols(["h2"])
    inside = InsideClient(proxy.port, where, context)
    proxy.clients.append(inside)
    conn = Http2(over=inside)
    assert conn.get("/feed", host=where).body == SMALL_OUT
    conf.write_text("".join(lines) + f"client-auth = {tmp_path}/users\n" if how == "client-auth" else "")
    proxy.reload()
    assert conn.get("/feed", host=where).status == {"client-auth": 403, "intercept": 421}[how]
    conn.until(lambda: len(conn.goaways) > 1)
    assert conn.aftermath() == "NO_ERROR"


def test_a_connect_to_be_opened(speaking, way, origin, tmp_path):
    """TLS inside a stream is not spoken: the client is told to ask by HTTP/1.1 (RFC 9113 section 7), and gets no tunnel past intercept."""
    conn = speaking(way, origin, *OwnCa(tmp_path).options("localhost")).http2()
    asked = conn.ask(f"localhost:{origin.port}", method="CONNECT", end=False)
    asked.until(lambda: asked.ended)
    assert asked.ended != "end" and asked.code == "HTTP_1_1_REQUIRED" and not origin.connections
    conn.round_trip()
    assert not conn.goaways


# ---- streams beside each other ----

def test_a_stalled_stream_holds_nobody_up(proxy, origin):
    (data, out), (more, more_out) = big(size=LARGE), big(size=100_000)
    conn = proxy.http2()
    stalled = conn.ask("/stalled")
    stalled.takes = False
    sending = origin.receive().answer(message("200 OK", XML, body=data))
    stalled.until(lambda: stalled.credit == 0)          # its window is full
    for _ in range(3):
        got, _ = through(conn, origin, message("200 OK", XML, body=more), "/other")
        assert got.body == more_out
    assert stalled.response().body == out
    sending.join()


def test_answers_come_in_any_order(conn, origin):
    asked = [conn.ask(f"/{number}") for number in range(5)]
    waiting = {upstream.request.target: upstream for upstream in (origin.receive() for _ in asked)}
    for exchange, target in zip(asked[::-1], ("/4", "/3", "/2", "/1", "/0")):
        waiting[target].answer(message("200 OK", "Content-Type: text/plain", body=target.encode()))
        assert exchange.response().body == target.encode()


def test_the_connections_window(proxy, origin):
    """What it does not allow waits; then all of it comes."""
    data, out = big(size=200_000)
    conn = proxy.http2(takes=False, options=[(INITIAL_WINDOW_SIZE, 1 << 20)])
    asked = [conn.ask("/feed") for _ in range(3)]
    sending = [origin.receive().answer(message("200 OK", XML, body=data)) for _ in asked]
    conn.until(lambda: conn.credit == 0)
    conn.round_trip()
    assert sum(exchange.count for exchange in asked) == WINDOW
    conn.takes = True
    conn.renew(1 << 20)
    for exchange, each in zip(asked, sending):
        assert exchange.response().body == out
        each.join()


def test_a_window_that_grows_by_settings(proxy, origin):
    """From nothing; and one that SETTINGS make negative (RFC 9113 section 6.9.2)."""
    conn = proxy.http2(options=[(INITIAL_WINDOW_SIZE, 0)])
    asked = conn.ask("/feed")
    origin.receive().answer(message("200 OK", "Content-Type: text/plain", body=b"x" * 1000))
    asked.head()
    conn.round_trip()
    assert not asked.count
    asked.takes = False
    conn.set((INITIAL_WINDOW_SIZE, 100))
    asked.until(lambda: asked.count == 100)
    conn.set((INITIAL_WINDOW_SIZE, 50))
    asked.renew(51)
    asked.until(lambda: asked.count == 101)
    conn.round_trip()
    assert asked.count == 101
    asked.renew(1 << 20)
    assert asked.response().body == b"x" * 1000


def test_priorities(speaking, way, origin):
    """RFC 9218: what is more urgent goes first, whoever asked first."""
    data, out = big(size=20_000)
    conn = speaking(way, origin, "--cache", "on").http2(takes=False, options=[(INITIAL_WINDOW_SIZE, 1 << 20)])
    origin.serve(lambda request: message("200 OK", XML, FRESH, body=data))
    assert conn.get("/feed").body == out
    full = [conn.ask("/feed") for _ in range(WINDOW // len(out) + 1)]
    conn.until(lambda: conn.credit == 0)
    late, soon = conn.ask("/feed", "Priority: u=6"), conn.ask("/feed", "Priority: u=1")
    late.head(), soon.head()
    conn.renew(sum(len(out) - exchange.count for exchange in full) + 1000)
    conn.until(lambda: conn.credit == 0)
    assert soon.count >= 1000 and not late.count
    conn.takes = True
    conn.renew(1 << 20)
    for exchange in (*full, late, soon):
        assert exchange.response().body == out


def test_an_upload_waits_for_its_origin(proxy, origin):
    """The origin reads nothing: no more is asked of the client than buffers hold; other streams go on; nothing is lost."""
    conn, limit = proxy.http2(), 256 << 20
    asked = conn.ask("/form", method="POST", end=False)
    went = asked.push(bytes(range(256)) * 64, limit)
    assert went < limit // 4
    assert conn.get("/nothing", method="TRACE").status == 405
    asked.half_close()
    upstream, pieces = origin.receive_head(), []
    upstream.body(pieces.append)
    assert b"".join(pieces) == (bytes(range(256)) * (went // 256 + 1))[:went]
    upstream.answer(OK)
    assert asked.response().status == 200


def test_a_client_that_leaves_a_stream(proxy, origin):
    """The fetch that nobody waits for ends; the connection stays."""
    conn = proxy.http2()
    asked = conn.ask("/feed")
    upstream = origin.receive()
    upstream.send(message("200 OK", XML, "Content-Length: 300000000", body=big(size=200_000)[0]))
    asked.head()
    asked.reset()
    assert upstream.gone()
    assert through(conn, origin, FEED)[0].body == SMALL_OUT and not conn.goaways


@pytest.mark.parametrize("leave", ["stream", "connection", "end"])
def test_a_client_that_leaves_before_the_answer(proxy, origin, leave):
    """Nobody waits for that fetch either."""
    conn = proxy.http2()
    asked = conn.ask("/feed")
    upstream = origin.receive()
    {"stream": asked.reset, "connection": conn.reset, "end": conn.close}[leave]()
    assert upstream.is_ended()


def test_a_client_that_leaves(proxy, origin):
    """With a stream under way in each direction."""
    conn = proxy.http2()
    conn.ask("/feed")
    upstream = origin.receive()
    upstream.send(message("200 OK", XML, "Content-Length: 300000000", body=big(size=200_000)[0]))
    conn.ask("/form", method="POST", end=False).send(b"x" * 1000)
    second = origin.receive_head()
    conn.reset()
    assert upstream.gone()
    with pytest.raises(Cut):
        second.body()


@pytest.mark.parametrize("framing", ["Content-Length: 1000000", "Transfer-Encoding: chunked"])
def test_an_origin_that_breaks_off(conn, origin, framing):
    """It must not look complete; the other streams go on."""
    other = conn.ask("/other")
    waiting = origin.receive()
    asked = conn.ask("/feed")
    upstream, body = origin.receive(), big(size=500_000)[0]
    upstream.answer(message("200 OK", XML, framing, body=b"%x\r\n" % (len(body) * 2) + body), close=True)
    assert asked.head().status == 200 and asked.cut().how == "INTERNAL_ERROR"
    waiting.answer(FEED)
    assert other.response().body == SMALL_OUT and not conn.goaways


def test_a_hundred_streams_at_once(proxy, origin):
    """SETTINGS_MAX_CONCURRENT_STREAMS; one more is refused, and what ends makes room (RFC 9113 section 5.1.2)."""
    conn = proxy.http2()
    conn.round_trip()
    assert conn.theirs[MAX_CONCURRENT_STREAMS] == 100
    asked = [conn.ask("/form", "Content-Length: 1", method="POST", end=False) for _ in range(100)]
    conn.round_trip()
    assert not [exchange for exchange in asked if exchange.ended]
    origin.serve(lambda request: OK)
    asked[0].send(b"x", end=True)
    assert asked[0].response().status == 200
    asked.append(conn.ask("/form", "Content-Length: 1", method="POST", end=False))
    asked[-1].send(b"x", end=True)
    assert asked[-1].response().status == 200
    asked.append(conn.ask("/form", "Content-Length: 1", method="POST", end=False))
    over = conn.ask("/form")
    how = over.cut().how
    assert how in ("REFUSED_STREAM", "PROTOCOL_ERROR") or [told.code for told in conn.goaways] == ["PROTOCOL_ERROR"]


# ---- how connections begin and end ----

@pytest.mark.parametrize("offered, spoken", [(["h2", "http/1.1"], "h2"), (["http/1.1", "h2"], "h2"), (["http/1.1"], "http/1.1"),
                                             (["spdy/3", "h2"], "h2"), (None, None)])
def test_alpn(listening, origin, authority, offered, spoken):
    context = client_context(authority.root)
    if offered:
        context.set_alpn_protocols(offered)
    client = TlsClient(listening(origin).tls_port, context)
    assert client.sock.selected_alpn_protocol() == spoken
    if spoken != "h2":
        client.ask("/feed")
        origin.receive().answer(FEED)
        assert client.response().body == SMALL_OUT
    client.close()


def test_tls_1_2(listening, origin, authority):
    """Whoever speaks HTTP/2 over it has a cipher that RFC 9113 section 9.2.2 allows."""
    proxy = listening(origin)
    conn = Http2(proxy.tls_port, client_context(authority.root, ssl.TLSVersion.TLSv1_2))
    proxy.clients.append(conn)
    assert through(conn, origin, FEED)[0].body == SMALL_OUT


def test_off_by_default_without_tls(start, origin):
    """The preface is no request of HTTP/1.1, and nothing behind it is one."""
    client = start(origin).client()
    client.send(PREFACE + b"GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n")
    assert client.response().status in (400, 505) and client.is_ended() and not origin.asked()


def test_beside_http_1_1(speaking, origin):
    """On one port, by the first bytes, however they come."""
    proxy = speaking("h2c", origin)
    for size in (1, 3, 23):
        conn = proxy.http2(begin=False)
        conn.send_apart(PREFACE, size)
        conn.send(settings())
        assert through(conn, origin, FEED)[0].body == SMALL_OUT
        assert proxy.through(origin, FEED)[0].body == SMALL_OUT
        client = proxy.client()
        client.send_apart(b"PROPFIND /f HTTP/1.1\r\nHost: feeds.test\r\n\r\n", size)
        origin.receive().answer(OK)
        assert client.response().status == 200


@pytest.mark.parametrize("how", ["sigterm", "drain"])
def test_goaway_twice(speaking, way, origin, how):
    """RFC 9113 section 6.8: the first tells to come again elsewhere, the second what was taken. What was asked between them is served,
    or told to be untouched."""
    options = ("--admin-listen", "127.0.0.1:0", "--drain-delay", "60s") if how == "drain" else ("--drain-timeout", "1h")
    proxy = speaking(way, origin, *options)
    conn, idle = proxy.http2(), proxy.http2()
    through(idle, origin, FEED)
    first = conn.ask("/first")
    begun = origin.receive()
    conn.hold_pongs()
    if how == "drain":
        admin = int(re.search(r"admin listener on 127\.0\.0\.1:(\d+)", proxy.err.text())[1])
        client = Client(admin)
        assert client.ask("/api/drain", "Content-Length: 0", method="POST", host="localhost").response().status == 202
        client.close()
    else:
        proxy.sigterm()
    conn.until(lambda: conn.goaways)
    assert (conn.goaways[0].last, conn.goaways[0].code) == (MOST_WINDOW, "NO_ERROR")
    second = conn.ask("/second")
    conn.give_pongs()
    conn.until(lambda: len(conn.goaways) > 1)
    last = conn.goaways[1].last
    assert conn.goaways[1].code == "NO_ERROR" and last in (first.number, second.number)
    if last == second.number:
        origin.receive().answer(FEED)
        assert second.response().body == SMALL_OUT
    begun.answer(FEED)
    assert first.response().body == SMALL_OUT
    for each in (conn, idle):
        assert each.aftermath() == "NO_ERROR" and each.stream.ended == "fin"
    if how == "sigterm":
        refuses(proxy.port)
        assert proxy.wait() == 0


def test_drain_timeout(speaking, way, origin):
    """What does not end by then is cut, and does not look complete."""
    proxy = speaking(way, origin, "--drain-timeout", "300ms")
    asked = proxy.http2().ask("/feed")
    origin.receive()
    proxy.sigterm()
    assert proxy.wait() == 0
    asked.cut()


@pytest.mark.parametrize("asks", [0, 1])
def test_an_idle_connection_ends(speaking, way, origin, asks):
    """After keepalive-timeout, by GOAWAY; PINGs keep none."""
    conn = speaking(way, origin, "--keepalive-timeout", "1s", "--request-timeout", "1s").http2()
    for _ in range(asks):
        through(conn, origin, FEED)
    assert conn.aftermath() == "NO_ERROR" and conn.stream.ended == "fin" and conn.goaways[-1].last == asks


def test_a_stream_under_way_is_not_idle(speaking, way, origin):
    """Beside another connection whose end shows that the time is over."""
    proxy = speaking(way, origin, "--keepalive-timeout", "1s")
    conn = proxy.http2()
    asked = conn.ask("/feed")
    upstream = origin.receive()
    idle = proxy.http2()
    through(idle, origin, FEED)
    assert idle.aftermath() == "NO_ERROR"
    conn.round_trip()
    upstream.answer(FEED)
    assert asked.response().body == SMALL_OUT


def test_a_client_that_says_goaway(conn, origin):
    """What it asked before is answered."""
    asked = conn.ask("/feed")
    upstream = origin.receive()
    conn.raw(goaway())
    upstream.answer(FEED)
    assert asked.response().body == SMALL_OUT
    assert conn.aftermath() in (None, "NO_ERROR")


# ---- limits of a request ----

LIMITS = {
    "a long target": ("/" + "x" * 9000, (), 414),
    "many fields": ("/f", tuple(f"X-{number}: 1" for number in range(150)), 431),
    "a long field": ("/f", ("X-Own: " + "x" * 40_000,), 431),
    "many crumbs": ("/f", tuple("Cookie: a=b" for _ in range(150)), 431),
}


@pytest.mark.parametrize("case", LIMITS)
def test_a_head_beyond_the_limits(conn, origin, case):
    """It costs its own stream alone."""
    target, fields, status = LIMITS[case]
    asked = conn.ask(target, *fields)
    assert asked.response().status == status and not origin.asked()
    assert through(conn, origin, FEED)[0].body == SMALL_OUT and not conn.goaways


def test_client_rate(speaking, way, origin):
    """Counts requests, not connections."""
    origin.serve(lambda request: FEED)
    conn = speaking(way, origin, "--client-rate", "1/h").http2()
    assert [conn.get("/feed").status for _ in range(102)] == [200] * 100 + [429] * 2 and not conn.goaways
