"""What a hostile peer sends: smuggled requests, injected fields, forged logs. utfeed never forwards bytes, it writes its own."""
import pytest

from feeds import SMALL, SMALL_OUT
from wire import message

FEED = message("200 OK", "Content-Type: application/xml", body=SMALL)
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: t\r\n\r\n"


def framed(*fields, body=HIDDEN, version="1.1"):
    head = "".join(f + "\r\n" for f in (f"GET /open HTTP/{version}", "Host: t", *fields, ""))
    return head.encode("latin-1") + body


# Two ways to read where the request ends: whichever a front server takes, nothing hidden may be served.
SMUGGLED = {
    "length and chunks": framed("Content-Length: 5", "Transfer-Encoding: chunked", body=b"0\r\n\r\n" + HIDDEN),
    "chunks and length": framed("Transfer-Encoding: chunked", "Content-Length: 5", body=b"0\r\n\r\n" + HIDDEN),
    "chunked with a blank before the colon": framed("Transfer-Encoding : chunked", body=b"0\r\n\r\n" + HIDDEN),
    "chunked after a tab": framed("Content-Length: 5", "Transfer-Encoding:\tchunked", body=b"0\r\n\r\n" + HIDDEN),
    "chunked after VT": framed("Content-Length: 5", "Transfer-Encoding: \x0bchunked", body=b"0\r\n\r\n" + HIDDEN),
    "xchunked": framed("Content-Length: 5", "Transfer-Encoding: xchunked", body=b"0\r\n\r\n" + HIDDEN),
    "chunked twice": framed("Transfer-Encoding: chunked", "Transfer-Encoding: chunked", body=b"0\r\n\r\n" + HIDDEN),
    "chunked, identity": framed("Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n" + HIDDEN),
    "identity, then chunked": framed("Transfer-Encoding: identity", "Transfer-Encoding: chunked", body=b"0\r\n\r\n" + HIDDEN),
    "quoted chunked": framed('Transfer-Encoding: "chunked"', "Content-Length: 5", body=b"0\r\n\r\n" + HIDDEN),
    "chunked to HTTP/1.0": framed("Transfer-Encoding: chunked", version="1.0", body=b"0\r\n\r\n" + HIDDEN),
    "folded chunked": framed("Transfer-Encoding:\r\n chunked", body=b"0\r\n\r\n" + HIDDEN),
    "two lengths": framed("Content-Length: 0", f"Content-Length: {len(HIDDEN)}"),
    "a list of lengths": framed(f"Content-Length: 0, {len(HIDDEN)}"),
    "negative length": framed("Content-Length: -1"),
    "length with a plus": framed(f"Content-Length: +{len(HIDDEN)}"),
    "length in hex": framed(f"Content-Length: 0x{len(HIDDEN):x}"),
    "length with a blank inside": framed("Content-Length: 3 4"),
    "length of 2^64": framed("Content-Length: 18446744073709551616"),
    "length of 2^64 + 1 wraps to 1": framed("Content-Length: 18446744073709551617"),
    "empty length": framed("Content-Length:"),
    "blank in the length's name": framed(f"Content -Length: {len(HIDDEN)}"),
    "length, honest": framed(f"Content-Length: {len(HIDDEN)}"),
    "chunks, honest": framed("Transfer-Encoding: chunked", body=b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN)),
    "chunk longer than said": framed("Transfer-Encoding: chunked", body=b"1\r\nZ" + HIDDEN),
    "chunk size of 2^64": framed("Transfer-Encoding: chunked", body=b"10000000000000000\r\n" + HIDDEN),
    "chunk ext with LF": framed("Transfer-Encoding: chunked", body=b"2;\nxx\r\n4d\r\n0\r\n\r\n" + HIDDEN),
    "chunk size with LF": framed("Transfer-Encoding: chunked", body=b"0\n\n" + HIDDEN),
    "trailer with CRs": framed("Transfer-Encoding: chunked", body=b"0\r\nX: y\r\r\n" + HIDDEN),
    "CR alone ends a line": b"GET /open HTTP/1.1\rHost: t\r\r" + HIDDEN,
    "field after CR alone": b"GET /open HTTP/1.1\r\nHost: t\r\nX: y\rContent-Length: 0\r\n\r\n" + HIDDEN,
    "LF alone ends the head": b"GET /open HTTP/1.1\r\nHost: t\r\n\n" + HIDDEN,
    "NUL in a name": b"GET /open HTTP/1.1\r\nHost: t\r\nContent-Length\0: 5\r\n\r\n" + HIDDEN,
    "NUL in the target": b"GET /open\0 HTTP/1.1\r\nHost: t\r\n\r\n" + HIDDEN,
    "tab in the request line": b"GET\t/open\tHTTP/1.1\r\nHost: t\r\n\r\n" + HIDDEN,
    "two spaces in the request line": b"GET  /open  HTTP/1.1\r\nHost: t\r\n\r\n" + HIDDEN,
    "version twice": b"GET /open HTTP/1.1 HTTP/1.1\r\nHost: t\r\n\r\n" + HIDDEN,
    "upgrade": framed("Upgrade: h2c", "Connection: upgrade, http2-settings", "HTTP2-Settings: AAAA", body=b""),
    "http/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.mark.parametrize("name", SMUGGLED)
def test_smuggling(old_proxy, old_origin, name):
    """Refused and the connection closed, or one plain request without a body: /hidden is never asked for."""
    client = old_proxy.client()
    client.send(SMUGGLED[name])
    if old_origin.asked_before_answer(client):
        upstream = old_origin.receive()
        assert upstream.request.target == "/open" and upstream.request.framing == "none"
        assert not {"transfer-encoding", "content-length", "upgrade"} & upstream.request.names()
        upstream.answer(FEED)
        assert client.response().body == SMALL_OUT
        client.half_close()
        if name == "upgrade":
            return
    else:
        assert client.response().status in (400, 405, 411, 413, 417, 501, 505)
    assert client.is_ended() and not old_origin.asked()


def test_nothing_after_an_error_is_read(proxy, origin):
    client = proxy.client()
    client.send(b"BROKEN\r\n\r\n" + HIDDEN * 3)
    assert client.response().status in (400, 501)
    assert client.is_ended() and not origin.asked()


HOP_BY_HOP = ["Connection: X-Mine, close-not, keep-alive", "X-Mine: secret", "Keep-Alive: timeout=5", "TE: trailers, deflate",
              "Proxy-Authorization: Basic eA==", "Proxy-Connection: keep-alive", "Upgrade: h2c", "Trailer: X-T"]


def test_hop_by_hop_fields_of_requests_stay_here(proxy, origin):
    _, asked = proxy.through(origin, FEED, "/f", *HOP_BY_HOP)
    assert not {"x-mine", "keep-alive", "proxy-authorization", "proxy-connection", "upgrade", "trailer"} & asked.names()
    assert "secret" not in str(asked.fields)


@pytest.mark.parametrize("content_type", ["application/xml", "image/png"])
def test_hop_by_hop_fields_of_responses_stay_here(proxy, origin, content_type):
    got, _ = proxy.through(origin, message("200 OK", f"Content-Type: {content_type}", "Connection: X-Mine", "X-Mine: secret",
                                           "Keep-Alive: timeout=5", "Proxy-Authenticate: Basic", "Upgrade: h2c",
                                           "Proxy-Connection: keep-alive", "X-Yours: kept", body=SMALL))
    assert not {"x-mine", "keep-alive", "upgrade", "proxy-connection"} & got.names()
    assert got["X-Yours"] == "kept"


def test_connection_cannot_name_what_frames(proxy, origin):
    """Connection: Host, Content-Length and the like must not undo fields that utfeed writes."""
    got, asked = proxy.through(origin, message("200 OK", "Content-Type: application/xml", "Connection: Content-Length, Content-Type",
                                               body=SMALL), "/f", "Connection: Host, Via, Accept-Encoding")
    assert asked["Host"] and asked["Via"] and asked["Accept-Encoding"]
    assert got.body == SMALL_OUT


PRIVATE = ["Cookie: a=b", "Authorization: Basic eA==", "X-Forwarded-For: 1.2.3.4", "X-Forwarded-Host: evil.test", "Forwarded: for=x",
           "X-Original-URL: /admin", "X-Rewrite-URL: /admin", "X-HTTP-Method-Override: DELETE", "Range: bytes=0-1", "A-IM: feed",
           "Content-Type: text/plain", "Max-Forwards: 0"]


@pytest.mark.parametrize("field", ["X-Forwarded-Host: evil.test", "X-Original-URL: /admin", "X-Rewrite-URL: /admin", "A-IM: feed",
                                   "X-HTTP-Method-Override: DELETE"])
def test_fields_that_steer_origins_stay_here(proxy, origin, field):
    """The upstream request is built from an allow list."""
    _, asked = proxy.through(origin, FEED, "/f", field)
    assert field.split(":")[0] not in asked


def test_request_fields_pass_or_not_but_never_change_the_answer(proxy, origin):
    got, asked = proxy.through(origin, FEED, "/f", *PRIVATE)
    assert got.body == SMALL_OUT and asked.line == "GET /f HTTP/1.1" and len(asked.all("Host")) == 1


@pytest.mark.parametrize("target", ["/a%0d%0aX-Evil:%201", "/a%0aX-Evil:1", "/a%00b", "/%c4%8d%c4%8aX:1"])
def test_escapes_stay_escaped(proxy, origin, target):
    client = proxy.client().ask(target)
    if origin.asked_before_answer(client):
        upstream = origin.receive()
        assert upstream.request.target == target and "X-Evil" not in upstream.request
        upstream.answer(FEED)
        assert "X-Evil" not in client.response()
    else:
        assert client.response().status == 400


@pytest.mark.parametrize("query", ["http%3A%2F%2F{host}%2Fa%0d%0aX-Evil%3A1", "http://{host}/a%0d%0aX-Evil:1", "http://{host}/a%20HTTP/1.1",
                                   "http://{host}/%23", "http://{host}%00/"])
def test_gateway_urls_inject_nothing(start, another, query):
    """?url= is unescaped once: what comes out must still be a URL, or it is refused."""
    behind = another()
    client = start(None, "--gateway", "on").client().ask("/?url=" + query.format(host=f"127.0.0.1:{behind.port}"))
    if behind.asked_before_answer(client):
        upstream = behind.receive()
        assert "X-Evil" not in upstream.request and upstream.request.line.count(" ") == 2
        upstream.answer(FEED)
        assert client.response().body == SMALL_OUT
    else:
        assert client.response().status in (400, 404)


@pytest.mark.parametrize("target", ["/pub/../secret", "/pub/%2e%2e/secret", "/pub/..%2fsecret", "/pub/.%2E/x", "/pub/a/../../secret"])
def test_a_path_cannot_leave_its_route(start, origin, target):
    client = start(None, "--route", f"/pub/={origin.url}/open/", "--gateway", "off").client().ask(target)
    if origin.asked_before_answer(client):
        upstream = origin.receive()
        assert upstream.request.target.startswith("/open/") and ".." not in upstream.request.target.lower().replace("%2e", ".")
    else:
        assert client.response().status in (400, 404)


def test_absolute_form_decides_over_host(start, another):
    """RFC 9112 section 3.2.2: Host is ignored where the target is absolute."""
    behind, named = another(), another()
    proxy = start(None, "--route", f"//named.test/={named.url}")
    client = proxy.client().ask(f"{behind.url}/x", host="named.test")
    if behind.asked_before_answer(client):
        upstream = behind.receive()
        assert upstream.request["Host"] == f"127.0.0.1:{behind.port}"
        upstream.answer(FEED)
        assert client.response().body == SMALL_OUT
    else:
        assert client.response().status == 400
    assert not named.asked()


def test_host_does_not_choose_the_origin(proxy, origin):
    """A route's origin is asked by its own name, whatever Host the client makes up."""
    _, asked = proxy.through(origin, FEED, "/f", host="evil.test:81")
    assert asked["Host"] == f"127.0.0.1:{origin.port}"


@pytest.mark.parametrize("fields", [("X-Encoding-Rule: forged",), ("X-Encoding-Rule: a", "X-Encoding-Rule: b"),
                                    ("x-encoding-rule: forged", "Proxy-Status: forged; error=dns_error")])
@pytest.mark.parametrize("content_type", ["application/xml", "image/png"])
def test_origins_cannot_forge_the_rule(proxy, origin, fields, content_type):
    got, _ = proxy.through(origin, message("200 OK", f"Content-Type: {content_type}", *fields, body=SMALL))
    assert len(got.all("X-Encoding-Rule")) == 1 and "forged" not in got.rule


@pytest.mark.parametrize("label", ["utf-7", "iso-2022-cn", "utf-8//IGNORE", "cp1251//TRANSLIT", "../../etc/passwd", "x" * 300, "a;b",
                                   "\x80\xff", "UTF-8;X-Evil: 1", "utf-8,koi8-r", "'\"<script>"])
def test_labels_are_looked_up_never_opened(proxy, origin, label):
    """Neither the parameter nor the declaration reaches iconv or a header as it came."""
    said = label.replace("<", "").replace('"', "")
    data = b'<?xml version="1.0" encoding="' + said.encode("latin-1") + b'"?>\n<rss><title>+AGE- plain</title></rss>'
    got, _ = proxy.through(origin, message("200 OK", f"Content-Type: application/xml; charset={label}", body=data))
    assert got.status == 200 and b"+AGE- plain" in got.body
    assert got.rule.isascii() and len(got.rule) < 256
    assert "//" not in got.rule and "script" not in got.rule and "Evil" not in got.rule and "etc" not in got.rule


def test_access_lines_hold_no_raw_control_bytes(start, origin):
    proxy = start(origin)
    targets = ["/%1b[31mred", "/\"quote\\", "/a%0d%0aforged"]
    for target in targets:
        client = proxy.client().ask(target)
        if origin.asked_before_answer(client):
            origin.receive().answer(message("200 OK", "Content-Type: text/x\xe9\x9b31", body=b"x"))
        client.response()
    client = proxy.client()
    client.send(b"GET /\x1b[2J\x9b1 HTTP/1.1\r\nHost: t\r\n\r\n")
    client.response()
    client = proxy.client()
    client.send(b"\x1b]0;owned\x07 / HTTP/1.1\r\nHost: t\r\n\r\n")
    client.response()
    for line in proxy.access_lines(len(targets)):
        assert line.endswith(b"\n") and all(0x20 <= byte < 0x7f for byte in line[:-1]), line


def test_standard_error_holds_no_raw_control_bytes(start, origin):
    proxy = start(origin)
    client = proxy.client()
    client.send(b"GET /\x1b[2J HTTP/1.1\r\nHost: \x9bt\r\nX: \x1b\r\n\r\n")
    client.response()
    client = proxy.client().ask("/f")
    origin.receive().answer(b"HTTP/1.1 200 \x1b[31m\x9b\r\nX-\x1b: y\r\nContent-Length: 0\r\n\r\n")
    assert client.response().status == 502
    proxy.stop()
    for line in proxy.err.lines:
        assert all(0x20 <= byte < 0x7f or byte == 9 for byte in line[:-1]), line


def test_error_pages_escape_what_they_quote(proxy):
    got = proxy.get("/http://<script>alert(1)</script>/")
    assert got.status in (400, 404) and got["Content-Type"].startswith("text/plain")
    assert got["X-Content-Type-Options"] in (None, "nosniff")
