"""Requests that are refused, or cut down, before anything is fetched."""
import pytest

from test_admin import Admin
from wire import message

TEXT = message("200 OK", "Content-Type: text/css", body=b"a{}")


OTHERS = ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND"]
NEVER = ["TRACE", "CONNECT"]


RELAYED = ["delete", "get", "head", "options", "patch", "post", "put"]


def refused_405(client, method, target, allow=("get", "head")):
    """Whether the answer is a 405, whole and with Allow."""
    got = client.get("feeds.test:443" if method == "CONNECT" else target, method=method)
    return got.status == 405 and sorted(got.tokens("Allow")) == list(allow) and got.framing == "length"


@pytest.mark.parametrize("method", OTHERS + NEVER)
@pytest.mark.parametrize("shape", ["/{url}/feed", "/?url={url}/feed"])
def test_other_methods_through_the_gateway_are_405(start, origin, shape, method):
    client = start(None).client()
    assert refused_405(client, method, shape.format(url=origin.url))
    assert not origin.asked()


@pytest.mark.parametrize("method", NEVER)
def test_trace_and_connect_are_never_relayed(proxy, origin, method):
    allow = RELAYED if method == "TRACE" else ["get", "head"]
    assert refused_405(proxy.client(), method, "/feed", allow)
    assert refused_405(proxy.client(), method, f"{origin.url}/feed", allow)
    assert not origin.asked()


@pytest.mark.parametrize("method", ["get", "FOO", "G\\ET"])
def test_unknown_methods_are_refused_or_relayed(proxy, origin, method):
    """Whatever the parser makes of them, they never become a GET."""
    client = proxy.client().ask("/", method=method)
    if origin.asked_before_answer(client):
        assert origin.receive().request.method == method
    else:
        assert client.response().status == (501 if method == "FOO" else 400)


def test_post_to_the_gateway_never_becomes_a_request(start, origin):
    client = start(origin).client()
    hidden = b"GET /hidden HTTP/1.1\r\nHost: t\r\n\r\n"
    client.send(b"POST /%s/ HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n" % (origin.url.encode(), len(hidden)) + hidden)
    assert client.response().status == 405
    assert client.is_ended() and not origin.asked()


def test_gateway_refuses_before_the_body_is_sent(start, origin):
    """RFC 9110 section 10.1.1: a final status instead of 100, so that the client need not send."""
    got = start(None).get(f"/{origin.url}/", "Expect: 100-continue", "Content-Length: 1000000", method="PUT")
    assert got.status == 405 and not got.interim and not origin.asked()


BAD = {
    "no version": b"GET /\r\nHost: t\r\n\r\n",
    "no target": b"GET HTTP/1.1\r\nHost: t\r\n\r\n",
    "not http": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "space in the target": b"GET /a b HTTP/1.1\r\nHost: t\r\n\r\n",
    "fragment": b"GET /a#b HTTP/1.1\r\nHost: t\r\n\r\n",
    "relative target": b"GET a HTTP/1.1\r\nHost: t\r\n\r\n",
    "asterisk": b"GET * HTTP/1.1\r\nHost: t\r\n\r\n",
    "control in the target": b"GET /\x01 HTTP/1.1\r\nHost: t\r\n\r\n",
    "DEL in the target": b"GET /\x7f HTTP/1.1\r\nHost: t\r\n\r\n",
    "no Host": b"GET / HTTP/1.1\r\n\r\n",
    "two Hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "two equal Hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
    "Host with a path": b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
    "Host with user information": b"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n",
    "Host with a space": b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
    "Host with a bad port": b"GET / HTTP/1.1\r\nHost: a:99999\r\n\r\n",
    "space before the colon": b"GET / HTTP/1.1\r\nHost: t\r\nX : y\r\n\r\n",
    "field without a colon": b"GET / HTTP/1.1\r\nHost: t\r\nnothing\r\n\r\n",
    "empty field name": b"GET / HTTP/1.1\r\nHost: t\r\n: x\r\n\r\n",
    "folded field": b"GET / HTTP/1.1\r\nHost: t\r\nX: a\r\n b\r\n\r\n",
    "space before the first field": b"GET / HTTP/1.1\r\n Host: t\r\n\r\n",
    "bare LF": b"GET / HTTP/1.1\nHost: t\n\n",
    "bare CR in a value": b"GET / HTTP/1.1\r\nHost: t\r\nX: a\rb\r\n\r\n",
    "NUL in a value": b"GET / HTTP/1.1\r\nHost: t\r\nX: a\0b\r\n\r\n",
    "version of the future": b"GET / HTTP/3.0\r\nHost: t\r\n\r\n",
    "version with three digits": b"GET / HTTP/1.10\r\nHost: t\r\n\r\n",
    "lower-case version": b"GET / http/1.1\r\nHost: t\r\n\r\n",
}


# Statuses that say more than 400, and requests that are read well enough to know where the next one begins
MORE_EXACT = {"no version": 505, "version of the future": 505, "version with three digits": 505, "lower-case version": 505,
              "not http": 501}
WELL_FRAMED = {"fragment", "asterisk", "no Host", "two Hosts", "two equal Hosts", "Host with a path", "Host with user information",
               "Host with a space", "Host with a bad port"}


@pytest.mark.parametrize("options", [(), ("--h2c", "off")])
def test_http_2_without_tls(start, origin, options):
    """Whoever begins with it (RFC 9113 section 3.4) hears what to write where the option is off."""
    client = start(origin, *options).client()
    client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    got = client.response()
    assert got.status == 505 and b"h2c = on" in got.body and client.is_ended()


@pytest.mark.parametrize("name", BAD)
def test_bad_requests(old_proxy, old_origin, name):
    client = old_proxy.client()
    client.send(BAD[name])
    assert not old_origin.asked_before_answer(client), "taken and fetched"
    got = client.response()
    assert got.status in (400, MORE_EXACT.get(name)), got.line
    if name not in WELL_FRAMED or "close" in got.tokens("Connection"):
        assert "close" in got.tokens("Connection") and client.is_ended()
    assert not old_origin.asked()


def test_long_url_is_414(start, origin):
    proxy = start(origin, "--max-header-bytes", "4k")
    assert proxy.get("/" + "u" * 1100).status == 414
    got, asked = proxy.through(origin, TEXT, "/" + "u" * 900)
    assert got.status == 200 and len(asked.target) == 901


@pytest.mark.parametrize("field", ["X: " + "y" * 5000, "\r\n".join(f"X{n}: y" for n in range(600))])
def test_large_head_is_431(start, origin, field):
    client = start(origin, "--max-header-bytes", "4k").client().ask("/", field)
    assert client.response().status == 431 and client.is_ended() and not origin.asked()


@pytest.mark.parametrize("at_once", [True, False])
def test_a_head_of_one_read_is_431(start, origin, at_once):
    """The first buffer has 4 KB, whatever the limit is; what comes behind a head is none of its bytes."""
    proxy = start(origin, "--max-header-bytes", "2k")
    rest = b"GET /b HTTP/1.1\r\nHost: t\r\n\r\n"
    for over in (0, 1):
        head = b"GET /a HTTP/1.1\r\nHost: t\r\nX: "
        head += b"y" * (2048 + over - len(head) - 4) + b"\r\n\r\n"
        client = proxy.client()
        client.send((head + rest if at_once else head))
        if over:
            assert client.response().status == 431 and client.is_ended() and not origin.asked()
        else:
            origin.receive().answer(TEXT)
            assert client.response().status == 200
            if at_once:
                origin.receive().answer(TEXT)
                assert client.response().status == 200


def test_many_fields_are_431(start, origin):
    client = start(origin, "--max-header-fields", "20").client().ask("/", *[f"X{n}: y" for n in range(30)])
    assert client.response().status == 431 and client.is_ended()


def test_endless_head_is_431(proxy):
    client = proxy.client()
    client.send(b"GET / HTTP/1.1\r\nHost: t\r\nX: ")
    client.send_soon(b"y" * 300_000)
    assert client.response().status == 431


def test_body_on_get_is_refused_or_skipped(proxy, origin):
    client = proxy.client()
    hidden = b"GET /hidden HTTP/1.1\r\nHost: t\r\n\r\n"
    client.send(b"GET /open HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n" % len(hidden) + hidden)
    if origin.asked_before_answer(client):
        upstream = origin.receive()
        assert upstream.request.target == "/open" and upstream.request.framing == "none"
        upstream.answer(TEXT)
        assert client.response().status == 200
    else:
        assert client.response().status in (400, 411, 413, 501)
    client.half_close()
    assert client.is_ended() and not origin.asked()


@pytest.mark.parametrize("rest,status", [("Na me: x\r\n\r\n", 400), (" folded\r\n\r\n", 400), ("a: b\r\n" * 200 + "\r\n", 431)],
                         ids=["a name of two words", "a folded line", "too many fields"])
def test_a_head_that_cannot_be_read_is_answered_without_a_body(proxy, rest, status):
    """RFC 9110 section 9.3.2: whoever sends HEAD takes what follows the head for something else. Found by fuzz_proxy."""
    client = proxy.client()
    client.send(("HEAD /a HTTP/1.1\r\nHost: t\r\n" + rest).encode())
    got = client.response(method="HEAD")
    assert (got.status, got.body) == (status, b"")
    assert client.is_ended()


# Options of utfeed, the method and the target, Host; the status, and what the text names: the host or address, and the line to write
NAMED = {
    "a name that is not served": ([], "GET", "/feed", "feeds.example.org:8080", 421, "the name feeds.example.org in Host",
                                  "hosts = feeds.example.org, localhost, 0.0.0.0/0, ::/0 (the last three keep addresses served; add the other names"),
    "beside names that are served": (["--hosts", "a.example.org"], "GET", "/feed", "b.example.org", 421, "the name b.example.org in Host",
                                     "add it to hosts in its configuration."),
    "a purge": (["--purge-allow", "192.0.2.1"], "PURGE", "/feed", "t", 403, "The address 127.0.0.1 may not purge", "purge-allow = 127.0.0.1"),
    "the forward proxy": (["--forward", "off"], "GET", "http://feeds.test/", "feeds.test", 403, "The forward proxy is off", "forward = on"),
    "a client": (["--client-allow", "192.0.2.1"], "GET", "/feed", "t", 403, "The address 127.0.0.1 may not use this proxy", "client-allow = 127.0.0.1"),
    "a closed port": ([], "GET", "/http://feeds.test:25/", "t", 403, "port other than 80 and 443", "opened by allow = feeds.test:25"),
    "a closed address": (["--allow", "192.0.2.1"], "GET", "/http://10.1.2.3/", "t", 403, "private", "opened by allow = 10.1.2.3:80"),
    "a closed address of IPv6": ([], "GET", "/http://[fd00::1]/", "t", 403, "unique local", "opened by allow = [fd00::1]:80"),
    "a tunnel": ([], "CONNECT", "feeds.test:443", "feeds.test:443", 405, "CONNECT to feeds.test is not served", "intercept = feeds.test"),
    "a tunnel elsewhere": (["--connect-allow", "a.test"], "CONNECT", "feeds.test:443", "feeds.test:443", 403, "not in connect-allow",
                           "opened by connect-allow = feeds.test:443"),
    "a method": ([], "POST", "/https://feeds.test/f", "t", 405, "to feeds.test", "route = /feeds.test/=https://feeds.test/"),
}


@pytest.mark.parametrize("case", NAMED)
def test_the_text_names_the_line_to_write(start, origin, case):
    options, method, target, host, status, wrong, write = NAMED[case]
    proxy = start(origin, *options, guarded=True)
    got = proxy.get(target, method=method, host=host)
    body = got.body.decode("ascii")
    assert got.status == status and wrong in body and write in body[body.index(wrong):], (got.status, body)


def test_a_purge_through_a_proxy_names_the_admin_listener(start, origin):
    proxy = start(origin)
    got = proxy.get("/feed", "X-Forwarded-For: 192.0.2.1", method="PURGE")
    assert got.status == 403 and b"curl -d url=URL http://127.0.0.1:9180/api/purge" in got.body


def test_the_admin_listener_names_the_host(start):
    proxy = start(None, "--admin-listen", "127.0.0.1:0")
    got = Admin(proxy).ask("/api/status", host="evil.example.org")
    assert got.status == 421 and b"hosts = evil.example.org, localhost" in got.body
