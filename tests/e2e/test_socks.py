"""SOCKS5 as the parent proxy (socks5h, RFC 1928 and 1929): http and https by tunnels, names looked up behind it alone; what the guard still
promises; a server that refuses, errs, lies or is away."""
import contextlib

import pytest

from certs import server_context
from feeds import SMALL_OUT
from ports import server_port
from socks import GRANTED, Microsocks, Socks
from test_connect import read
from test_faults import error_of
from test_parent import FEED, NAME, WAYS, details, leads_to_an_impostor
from wire import message

ALLOW = ("--allow", f"{NAME}:*", "--allow", "127.0.0.1:*")
SECRET = "s%3Acr%40t"


@pytest.fixture
def socks():
    with contextlib.closing(Socks()) as made:
        yield made


def url_of(server, user=""):
    return f"socks5h://{user}127.0.0.1:{server.port}"


@pytest.fixture
def secure(authority, tls_origin):
    return tls_origin(server_context(authority.issue(NAME, names=f"DNS:{NAME}")), NAME)


@pytest.fixture
def through(start, socks, authority, dead_port):
    """start(), with the server for everything; no lookup gets an answer."""
    def run(*options, user="", **how):
        return start(None, *ALLOW, "--tls-ca-file", authority.root.cert, "--http-proxy", url_of(socks, user), "--https-proxy", url_of(socks, user),
                     "--resolver", f"127.0.0.1:{dead_port}", *options, **how)
    return run


def fetched(client, origin):
    upstream = origin.receive()
    upstream.answer(FEED)
    assert client.response().body == SMALL_OUT
    return upstream.request


@pytest.mark.parametrize("way", WAYS)
def test_http(through, socks, origin, way):
    """The origin gets the request as if it came straight: in origin form, and no credentials."""
    target, host = WAYS[way]
    client = through("--route", f"/route/=http://{NAME}/").client()
    client.ask(target(f"http://{NAME}/f?q=1"), **({"host": host} if host else {}))
    assert socks.connected(origin) == (3, NAME, 80) and socks.methods == b"\0"
    request = fetched(client, origin)
    assert request.line == "GET /f?q=1 HTTP/1.1" and request["Host"] == NAME
    assert "Proxy-Authorization" not in request and "Proxy-Connection" not in request


@pytest.mark.parametrize("way", ["gateway", "route"])
def test_https(through, socks, secure, way):
    proxy = through("--route", f"/route/={secure.url}/")
    client = proxy.client().ask("/route/f" if way == "route" else f"/{secure.url}/f")
    assert socks.connected(secure) == (3, NAME, secure.port)
    assert fetched(client, secure).line == "GET /f HTTP/1.1"
    assert proxy.counters()["parent_tunnels"] == 1


def test_https_to_an_impostor(through, socks, tls_origin, authority):
    leads_to_an_impostor(through(), socks, tls_origin, authority)


@pytest.mark.parametrize("url, asked", [("http://127.0.0.1:81/", (1, "127.0.0.1", 81)), ("http://[2001:db8::7]:8080/", (4, "2001:db8::7", 8080)),
                                        ("http://192.0.2.7/", (1, "192.0.2.7", 80))])
def test_addresses(through, socks, origin, url, asked):
    client = through("--allow", "[2001:db8::/32]:*", "--allow", "192.0.2.0/24").client().ask("/" + url)
    assert socks.connected(origin) == asked
    fetched(client, origin)


def test_a_routes_own(start, socks, origin):
    """Of a route alone; what the gateway asks goes straight."""
    proxy = start(None, "--route", f"/r/=http://{NAME}/ http-proxy={url_of(socks)}")
    client = proxy.client().ask("/r/f")
    assert socks.connected(origin) == (3, NAME, 80)
    assert fetched(client, origin).target == "/f"
    assert proxy.through(origin, FEED, f"/{origin.url}/g")[1].target == "/g" and len(socks.asked) == 1


@pytest.mark.parametrize("name", ["all_proxy", "ALL_PROXY", "http_proxy"])
def test_variables(start, socks, origin, name):
    client = start(None, env={name: url_of(socks)}).client().ask(f"/{origin.url}/f")
    assert socks.connected(origin) == (1, "127.0.0.1", origin.port)
    fetched(client, origin)


def said_nothing_of(proxy, *secrets):
    for stream in (proxy.out, proxy.err):
        assert not any(secret in stream.text() for secret in secrets)


@pytest.mark.parametrize("asks", [True, False])
def test_credentials(through, socks, origin, asks):
    """RFC 1929, where the server asks for them."""
    proxy = through("--log-level", "debug", user=f"us%3Aer:{SECRET}@")
    client = proxy.client().ask(f"/http://{NAME}/f")
    assert socks.connected(origin, socks.logged_in() if asks else socks.greeted()) == (3, NAME, 80)
    assert socks.logins == ([(b"us:er", b"s:cr@t")] if asks else []) and socks.methods == b"\0\2"
    assert not any("Proxy" in field for field in fetched(client, origin).names())
    assert f"http URLs are fetched through the SOCKS parent proxy 127.0.0.1 port {socks.port}\n" in proxy.err.text()
    said_nothing_of(proxy, SECRET, "s:cr@t")


def test_credentials_are_not_shown(start, socks):
    proxy = start(None, "--http-proxy", url_of(socks, f"user:{SECRET}@"))
    assert proxy.get("/nowhere").status == 404
    said_nothing_of(proxy, SECRET, "s:cr@t")


def test_wrong_credentials(through, socks):
    client = through(user=f"user:{SECRET}@").client().ask(f"/http://{NAME}/f")
    socks.logged_in(b"\1")
    got = client.response()
    assert got.status == 502 and error_of(got) == "proxy_configuration_error"
    assert details(got) == "parent proxy: SOCKS user or password is wrong (status 1)" and b"s:cr" not in got.body


@pytest.mark.parametrize("user, why", [("", "it takes no client without credentials"), ("u:p@", "it takes no client by user and password")])
def test_no_method(through, socks, user, why):
    client = through(user=user).client().ask(f"/http://{NAME}/f")
    socks.greeted(b"\xff")
    got = client.response()
    assert got.status == 502 and error_of(got) == "proxy_configuration_error" and details(got) == "parent proxy: " + why


REFUSED = {1: ("destination_unavailable", "it failed"), 2: ("destination_unavailable", "its rules forbid the connection"),
           3: ("destination_ip_unroutable", "no way to the network"), 4: ("destination_ip_unroutable", "no way to the host"),
           5: ("connection_refused", "connection refused"), 6: ("destination_ip_unroutable", "TTL expired"),
           7: ("destination_unavailable", "it has no CONNECT"), 8: ("destination_unavailable", "it does not know this kind of address"),
           9: ("destination_unavailable", None), 240: ("destination_unavailable", None)}


@pytest.mark.parametrize("behind", [b"", b"\0\1\0\0\0\0\0\0"])
@pytest.mark.parametrize("reply", REFUSED)
def test_replies(through, socks, reply, behind):
    """RFC 1928 section 6; also where the server closes behind the second byte."""
    proxy = through()
    client = proxy.client().ask(f"/http://{NAME}/f")
    sock = socks.greeted()
    socks.connect(sock)
    sock.sendall(bytes((5, reply)) + behind)
    sock.close()
    error, words = REFUSED[reply]
    got = client.response()
    want = f"parent proxy: {words} (SOCKS reply {reply})" if words else f"parent proxy: SOCKS reply {reply}"
    assert got.status == 502 and error_of(got) == error and details(got) == want
    proxy.says(f"{error}: {want}")


UNAVAILABLE, ENDED = "destination_unavailable", "connection_terminated"
GARBAGE = {"nothing": (b"", ENDED), "half an answer": (b"\5", ENDED), "HTTP": (b"HTTP/1.1 400 Bad Request\r\n\r\n", UNAVAILABLE),
           "SOCKS4": (b"\0\x5a\0\0\0\0\0\0", UNAVAILABLE), "a method not offered": (b"\5\2", UNAVAILABLE), "GSSAPI": (b"\5\1", UNAVAILABLE),
           "TLS": (b"\x15\x03\x01\x00\x02\x02\x46", UNAVAILABLE)}


@pytest.mark.parametrize("name", GARBAGE)
def test_greetings_that_open_nothing(through, socks, name):
    said, error = GARBAGE[name]
    client = through().client().ask(f"/http://{NAME}/f")
    upstream = socks.accept()
    read(upstream, 3)
    upstream.answer(said, close=True)
    got = client.response()
    assert got.status == 502 and error_of(got) == error and details(got).startswith("parent proxy: ")


@pytest.mark.parametrize("said", [b"", b"\5\0", b"\5\0\0\1\x7f\0\0\1\0", b"\5\0\0\3\xff" + b"a" * 256])
def test_answers_that_are_cut(through, socks, said):
    client = through().client().ask(f"/http://{NAME}/f")
    sock = socks.greeted()
    socks.connect(sock)
    sock.sendall(said)
    sock.close()
    got = client.response()
    assert got.status == 502 and error_of(got) == ENDED and details(got) == "parent proxy: closed before it answered CONNECT"


def test_an_address_of_no_kind(through, socks):
    client = through().client().ask(f"/http://{NAME}/f")
    sock = socks.greeted()
    socks.connect(sock)
    sock.sendall(b"\5\0\0\2\0\0")
    got = client.response()
    assert got.status == 502 and error_of(got) == UNAVAILABLE and details(got) == "parent proxy: it answers with an address of kind 2"


@pytest.mark.parametrize("answer", [GRANTED, b"\5\0\0\3\x04host\0\x50", b"\5\0\0\3\0\0\0", b"\5\0\0\4" + b"\0" * 18, b"\5\0\0\3\xff" + b"a" * 255 + b"\0\0"])
@pytest.mark.parametrize("size", [None, 1])
def test_answers_that_open_a_tunnel(through, socks, origin, answer, size):
    client = through().client().ask(f"/http://{NAME}/f")
    socks.connected(origin, answer=answer, size=size)
    fetched(client, origin)


def test_a_server_that_says_nothing(through, socks):
    got = through("--connect-timeout", "300ms").get(f"/http://{NAME}/f")
    assert got.status == 504 and error_of(got) == "connection_timeout" and details(got) == "parent proxy: no answer to CONNECT"


def test_a_server_that_is_not_there(start, dead_port):
    got = start(None, "--http-proxy", f"socks5h://127.0.0.1:{dead_port}").get(f"/http://{NAME}/f")
    assert got.status == 502 and error_of(got) == "connection_refused" and details(got) == "parent proxy: Connection refused"


@pytest.mark.parametrize("url, options", [("http://10.0.0.1/", ()), ("http://localhost/", ()), ("http://feeds.test:25/", ()), ("http://[::1]/", ()),
                                          ("http://denied.test/", ("--deny", "denied.test")), ("http://192.0.2.7/", ("--deny", "192.0.2.0/24"))])
def test_the_guard(start, socks, url, options):
    """Ports, addresses and denied names are refused before the server learns of them."""
    got = start(None, "--http-proxy", url_of(socks), *options, guarded=True).get("/" + url)
    assert got.status == 403 and error_of(got) == "destination_ip_prohibited" and not socks.connections


def test_its_own_listener(start, socks):
    port = server_port()
    got = start(None, "--listen", f"127.0.0.1:{port}", "--http-proxy", url_of(socks), "--allow", "*:*").get(f"/http://127.0.0.1:{port}/")
    assert got.status == 502 and error_of(got) == "proxy_loop_detected" and not socks.connections


def test_no_proxy(through, socks, origin):
    proxy = through("--no-proxy", "127.0.0.1")
    assert proxy.through(origin, FEED, f"/{origin.url}/f")[1].target == "/f" and not socks.connections


def test_connections_are_used_again(through, socks, another):
    """By requests for one origin."""
    origins = {"a": another(), "b": another()}
    client = through("--workers", "1").client()
    for name, new in (("a", True), ("a", False), ("b", True), ("a", False)):
        client.ask(f"/http://{name}.invalid/f")
        if new:
            assert socks.connected(origins[name]) == (3, f"{name}.invalid", 80)
        fetched(client, origins[name])


def test_a_redirect_finds_its_own_way(through, socks, origin, secure):
    client = through().client().ask(f"/http://{NAME}/f")
    socks.connected(origin)
    origin.receive().answer(message("301 Moved Permanently", f"Location: {secure.url}/g"))
    assert socks.connected(secure) == (3, NAME, secure.port)
    assert fetched(client, secure).target == "/g"


@pytest.mark.parametrize("greeting", [b"", b"220 ready\r\n"])
def test_clients_tunnels(start, socks, origin, greeting):
    """Even where the destination speaks first, in one piece with the server's answer."""
    client = start(None, "--https-proxy", url_of(socks), "--connect-allow", f"{NAME}:25").client()
    client.ask(f"{NAME}:25", method="CONNECT", host=f"{NAME}:25")
    assert socks.connected(origin, answer=GRANTED + greeting) == (3, NAME, 25)
    assert client.response().status == 200 and read(client, len(greeting)) == greeting
    upstream = origin.accept()
    client.send(b"to the origin")
    assert read(upstream, 13) == b"to the origin"


@pytest.mark.parametrize("user, status", [("user:secret@", 200), ("user:wrong@", 502), ("", 502)])
def test_microsocks(start, origin, tls_origin, good, authority, user, status):
    """A server of others' making, that wants credentials."""
    secure, server = tls_origin(server_context(good)), Microsocks()
    for each in (origin, secure):
        each.serve(lambda request: FEED)
    try:
        proxy = start(None, "--http-proxy", url_of(server, user), "--https-proxy", url_of(server, user), "--tls-ca-file", authority.root.cert,
                      "--allow", "localhost:*")
        for got in (proxy.get(f"/{origin.url}/f"), proxy.get(f"/{secure.url}/f")):
            assert got.status == status and (status != 200 or got.body == SMALL_OUT)
            assert status == 200 or error_of(got) == "proxy_configuration_error"
    finally:
        server.close()
