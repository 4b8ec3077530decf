"""Parent proxies: http in absolute form, https by CONNECT with TLS inside, as http_proxy, https_proxy and no_proxy say; what the
guard still promises then; a parent that refuses, errs or is away."""
import base64
import os
import subprocess

import pytest

from certs import server_context
from feeds import SMALL, SMALL_OUT
from parents import ESTABLISHED, Parent, Tinyproxy
from peers import HAS_IPV6
from ports import server_port
from proxy import BINARY
from test_connect import read
from test_faults import error_of
from wire import PATIENCE, message

FEED = message("200 OK", "Content-Type: application/xml", body=SMALL)
NAME = "feeds.invalid"        # RFC 6761 section 6.4: no lookup of ours can find it
ALLOW = ("--allow", f"{NAME}:*")


@pytest.fixture
def secure(authority, tls_origin):
    """A TLS origin that is NAME."""
    return tls_origin(server_context(authority.issue(NAME, names=f"DNS:{NAME}")), NAME)


@pytest.fixture
def through(start, parent, authority):
    """start(), with the parent for everything and the test's CA trusted."""
    return lambda origin=None, *options, **how: start(origin, *ALLOW, "--tls-ca-file", authority.root.cert, "--http-proxy", parent.url,
                                                      "--https-proxy", parent.url, *options, **how)


def details(got):
    return got["Proxy-Status"].split("details=", 1)[1].strip('"')


WAYS = {"gateway": (lambda url: f"/{url}", None), "?url=": (lambda url: f"/?url={url}", None),
        "forward": (lambda url: url, NAME), "route": (lambda url: "/route/f?q=1", None)}


@pytest.mark.parametrize("way", WAYS)
def test_http(through, parent, way):
    """RFC 9112 section 3.2.2: absolute-form."""
    target, host = WAYS[way]
    proxy = through(None, "--route", f"/route/=http://{NAME}/")
    got, request = proxy.through(parent, FEED, target(f"http://{NAME}/f?q=1"), **({"host": host} if host else {}))
    assert got.status == 200 and got.body == SMALL_OUT
    assert request.line == f"GET http://{NAME}/f?q=1 HTTP/1.1" and request["Host"] == NAME
    assert "Proxy-Authorization" not in request and "Proxy-Connection" not in request


def test_http_on_another_port(through, parent):
    got, request = through().through(parent, FEED, f"/http://{NAME}:8080/")
    assert got.status == 200 and request.target == f"http://{NAME}:8080/" and request["Host"] == f"{NAME}:8080"


def test_bodies_go_along(through, parent):
    client = through(None, "--route", f"/=http://{NAME}").client().ask("/order", "Content-Length: 3", method="POST")
    client.send(b"abc")
    upstream = parent.receive()
    assert upstream.request.line == f"POST http://{NAME}/order HTTP/1.1" and upstream.request.body == b"abc"
    upstream.answer(message("201 Created", body=b"done"))
    assert client.response().body == b"done"


@pytest.mark.parametrize("way", ["gateway", "route"])
def test_https(through, parent, secure, way):
    """The parent sees a name and a port; the certificate is the origin's."""
    names = []
    secure.listener.context.sni_callback = lambda sock, name, context: names.append(name)
    proxy = through(None, "--route", f"/route/={secure.url}/")
    client = proxy.client().ask("/route/f" if way == "route" else f"/{secure.url}/f")
    request = parent.connected(secure)
    assert request.line == f"CONNECT {NAME}:{secure.port} HTTP/1.1" and request["User-Agent"].startswith("utfeed/")
    assert request.names() == {"host", "user-agent"}
    upstream = secure.receive()
    assert upstream.request.line == "GET /f HTTP/1.1" and upstream.request["Host"] == f"{NAME}:{secure.port}"
    upstream.answer(FEED)
    assert client.response().body == SMALL_OUT and names == [NAME]
    assert proxy.counters()["parent_tunnels"] == 1


def leads_to_an_impostor(proxy, parent, tls_origin, authority):
    """The parent connects to another origin than the one that was asked for: its certificate tells."""
    other = tls_origin(server_context(authority.issue("other", names="DNS:other.invalid")), NAME)
    client = proxy.client().ask(f"/{other.url}/f")
    parent.connected(other)
    assert not other.refused()
    got = client.response()
    assert got.status == 502 and error_of(got) == "tls_certificate_error"


def test_https_to_an_impostor(through, parent, tls_origin, authority):
    leads_to_an_impostor(through(), parent, tls_origin, authority)


SECRET = "s%3Acr%40t"
BASIC = base64.b64encode(b"user:s:cr@t").decode()


def with_credentials(parent):
    return parent.url.replace("http://", f"http://user:{SECRET}@")


def said_nothing_of(proxy, *secrets):
    for stream in (proxy.out, proxy.err):
        assert not any(secret in stream.text() for secret in secrets)


@pytest.mark.parametrize("status", ["200 OK", "407 Proxy Authentication Required"])
def test_credentials_by_http(through, parent, status):
    proxy = through(None, "--http-proxy", with_credentials(parent))
    got, request = proxy.through(parent, message(status, "Content-Type: application/xml", body=SMALL), f"/http://{NAME}/f")
    assert request.all("Proxy-Authorization") == [f"Basic {BASIC}"]
    assert got.status == (200 if status[0] == "2" else 502)
    said_nothing_of(proxy, BASIC, SECRET, "s:cr@t")


def test_credentials_by_connect(through, parent, secure):
    proxy = through(None, "--https-proxy", with_credentials(parent))
    client = proxy.client().ask(f"/{secure.url}/f")
    assert parent.connected(secure).all("Proxy-Authorization") == [f"Basic {BASIC}"]
    upstream = secure.receive()
    assert "Proxy-Authorization" not in upstream.request
    upstream.answer(FEED)
    assert client.response().status == 200
    assert f"https URLs are fetched through the parent proxy 127.0.0.1 port {parent.port}\n" in proxy.err.text()
    said_nothing_of(proxy, BASIC, SECRET, "s:cr@t")


@pytest.mark.parametrize("way", ["route", "forward"])
def test_a_clients_own_credentials_for_a_proxy_go_nowhere(through, parent, way):
    target, host = WAYS[way]
    proxy = through(None, "--route", f"/route/=http://{NAME}/ request-fields=*")
    _, request = proxy.through(parent, FEED, target(f"http://{NAME}/f"), "Proxy-Authorization: Basic eDp5", host=host or NAME)
    assert "Proxy-Authorization" not in request


def test_credentials_stay_behind_where_a_redirect_leaves_the_parent(through, parent, origin):
    proxy = through(None, "--http-proxy", with_credentials(parent), "--no-proxy", "127.0.0.1")
    client = proxy.client().ask(f"/http://{NAME}/f")
    parent.receive().answer(message("302 Found", f"Location: {origin.url}/g"))
    upstream = origin.receive()
    assert upstream.request.target == "/g" and "Proxy-Authorization" not in upstream.request
    upstream.answer(FEED)
    assert client.response().body == SMALL_OUT


@pytest.mark.parametrize("status", ["403 Forbidden", "404 Not Found", "500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable",
                                    "504 Gateway Timeout", "302 Found", "101 Switching Protocols", "400 Bad Request"])
def test_connect_refused(through, parent, secure, status):
    client = through().client().ask(f"/{secure.url}/f")
    parent.receive().answer(message(status, f"Location: {secure.url}/g", body=b"no\n"))
    got = client.response()
    assert got.status == 502 and error_of(got) == "destination_unavailable" and b"no\n" not in got.body
    assert details(got) == f"parent proxy: status {status[:3]}" and not secure.connections


def test_connect_without_leave(through, parent, secure):
    client = through().client().ask(f"/{secure.url}/f")
    parent.receive().answer(message("407 Proxy Authentication Required", 'Proxy-Authenticate: Basic realm="x"', body=b"who?\n"))
    got = client.response()
    assert got.status == 502 and error_of(got) == "proxy_configuration_error" and "Proxy-Authenticate" not in got
    assert details(got) == "parent proxy: status 407"


def test_http_without_leave(through, parent):
    got, _ = through().through(parent, message("407 Proxy Authentication Required", 'Proxy-Authenticate: Basic realm="x"'), f"/http://{NAME}/f")
    assert got.status == 502 and error_of(got) == "proxy_configuration_error" and details(got) == "parent proxy: status 407"


def test_an_origins_own_407_is_the_clients(start, origin):
    assert start(origin).through(origin, message("407 Proxy Authentication Required", body=b"?"))[0].status == 407


@pytest.mark.parametrize("status", ["403 Forbidden", "503 Service Unavailable"])
def test_what_else_a_parent_says_by_http_is_the_answer(through, parent, status):
    got, _ = through().through(parent, message(status, body=b"no\n"), f"/http://{NAME}/f")
    assert got.status == int(status[:3]) and got.body == b"no\n"


# Good answers to CONNECT (RFC 9110 section 9.3.6: any 2xx, and framing fields in it mean nothing)
OPENED = {"1.0": b"HTTP/1.0 200 Connection established\r\n\r\n", "no phrase": b"HTTP/1.1 200 \r\n\r\n", "204": b"HTTP/1.1 204 Fine\r\n\r\n",
          "fields": b"HTTP/1.1 200 OK\r\nProxy-Agent: x/1\r\nVia: 1.1 p\r\n\r\n", "length": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
          "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "close": b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n",
          "interim": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + ESTABLISHED,
          "large": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 16000 + b"\r\n\r\n"}


@pytest.mark.parametrize("size", [None, 1])
@pytest.mark.parametrize("name", OPENED)
def test_answers_that_open_a_tunnel(through, parent, secure, name, size):
    if size and len(OPENED[name]) > 1000:
        size = 999
    client = through().client().ask(f"/{secure.url}/f")
    parent.connected(secure, OPENED[name], size)
    secure.receive().answer(FEED)
    assert client.response().body == SMALL_OUT


PROTOCOL, ENDED, SIZE = "http_protocol_error", "connection_terminated", "http_response_header_section_size"
GARBAGE = {"nothing": (b"", ENDED), "half a head": (ESTABLISHED[:-1], ENDED), "a status line": (b"HTTP/1.1 200 OK\r\n", ENDED),
           "only interim": (b"HTTP/1.1 100 Continue\r\n\r\n", ENDED), "TLS": (b"\x15\x03\x01\x00\x02\x02\x46" * 3, PROTOCOL),
           "another protocol": (b"SSH-2.0-OpenSSH_9.2\r\n", PROTOCOL), "HTTP/2": (b"HTTP/2 200\r\n\r\n", PROTOCOL),
           "HTML": (b"<html>no</html>\r\n", PROTOCOL), "bare LF": (b"HTTP/1.1 200 OK\nX: y\n\n", PROTOCOL), "NUL": (b"HTTP/1.1 200 OK\r\nX: \0\r\n\r\n", PROTOCOL),
           "NUL in the reason": (b"HTTP/1.1 200 O\0K\r\n", PROTOCOL),
           "a status of four digits": (b"HTTP/1.1 2000 OK\r\n\r\n", PROTOCOL), "a large head": (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20000, SIZE),
           "interim without end": (b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, SIZE), "fields": (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 101 + b"\r\n", PROTOCOL)}


@pytest.mark.parametrize("name", GARBAGE)
def test_answers_that_open_nothing(through, parent, secure, name):
    said, error = GARBAGE[name]
    client = through().client().ask(f"/{secure.url}/f")
    parent.receive().answer(said, close=True)
    got = client.response()
    assert got.status == 502 and error_of(got) == error and details(got).startswith("parent proxy: ")
    assert not secure.connections


@pytest.mark.parametrize("behind", [b"\x16", ESTABLISHED, FEED])
def test_what_stands_behind_the_answer_is_no_response(through, parent, secure, behind):
    """It is the origin's, and no TLS."""
    client = through().client().ask(f"/{secure.url}/f")
    parent.receive().answer(ESTABLISHED + behind, close=True)
    got = client.response()
    assert got.status == 502 and error_of(got) in (PROTOCOL, ENDED, "tls_protocol_error") and not secure.connections


@pytest.mark.parametrize("greeting", [b"", b"220 ready\r\n"])
def test_clients_tunnels_go_through_the_parent(start, origin, parent, greeting):
    """Even where the origin speaks first, in one piece with the parent's answer."""
    client = start(None, "--https-proxy", with_credentials(parent), "--connect-allow", f"{NAME}:25").client()
    client.ask(f"{NAME}:25", method="CONNECT", host=f"{NAME}:25")
    assert parent.connected(origin, ESTABLISHED + greeting).all("Proxy-Authorization") == [f"Basic {BASIC}"]
    got = client.response()
    assert got.status == 200 and got["Proxy-Status"] == f'utfeed; next-hop="{parent.url[7:]}"'
    assert read(client, len(greeting)) == greeting
    upstream = origin.accept()
    client.send(b"to the origin")
    assert read(upstream, 13) == b"to the origin"
    upstream.send(b"to the client")
    assert read(client, 13) == b"to the client"


def test_clients_tunnels_refused_by_the_parent(start, parent):
    client = start(None, "--https-proxy", parent.url, "--connect-allow", NAME).client()
    client.ask(f"{NAME}:443", method="CONNECT", host=f"{NAME}:443")
    parent.receive().answer(message("403 Forbidden", body=b"no\n"))
    got = client.response()
    assert got.status == 502 and error_of(got) == "destination_unavailable" and details(got) == "parent proxy: status 403"


def test_clients_tunnels_and_the_guard(start, parent):
    client = start(None, "--https-proxy", parent.url, "--connect-allow", "10.0.0.0/8:*", guarded=True).client()
    client.ask("10.0.0.1:443", method="CONNECT", host="10.0.0.1:443")
    assert client.response().status == 403 and not parent.connections


def test_a_parent_that_says_nothing(through, parent, secure):
    got = through(None, "--connect-timeout", "300ms").get(f"/{secure.url}/f")
    assert got.status == 504 and error_of(got) == "connection_timeout" and details(got) == "parent proxy: no answer to CONNECT"


def test_an_origin_that_says_nothing_behind_a_parent(through, parent, another):
    """The handshake's time is connect-timeout's too, and it is the origin that takes it."""
    silent = another()
    client = through(None, "--connect-timeout", "500ms").client().ask(f"/https://{NAME}:{silent.port}/f")
    parent.connected(silent)
    got = client.response()
    assert got.status == 504 and error_of(got) == "connection_timeout" and details(got) == "TLS handshake"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_parent_that_is_not_there(start, dead_port, scheme):
    dead = f"http://127.0.0.1:{dead_port}"
    got = start(None, "--http-proxy", dead, "--https-proxy", dead).get(f"/{scheme}://{NAME}/f")
    assert got.status == 502 and error_of(got) == "connection_refused" and details(got) == "parent proxy: Connection refused"


def test_a_parent_whose_name_is_unknown(start, dead_port):
    got = start(None, "--http-proxy", f"{NAME}:3128", "--resolver", f"127.0.0.1:{dead_port}").get("/http://example.org/f")
    assert got.status in (502, 504) and error_of(got) in ("dns_error", "dns_timeout") and details(got).startswith("parent proxy: ")


@pytest.mark.skipif(not HAS_IPV6, reason="no IPv6")
def test_both_families_of_a_parent_are_tried(start, parent, tmp_path):
    (tmp_path / "hosts").write_text("::1 parent.test\n127.0.0.1 parent.test\n")
    proxy = start(None, "--http-proxy", f"parent.test:{parent.port}", "--hosts-file", str(tmp_path / "hosts"))
    got, request = proxy.through(parent, FEED, f"/http://{NAME}/f")
    assert got.body == SMALL_OUT and request.target == f"http://{NAME}/f"


def test_variables(start, parent, secure, authority):
    """As curl reads them."""
    env = {"http_proxy": parent.url, "HTTPS_PROXY": parent.url[7:], "no_proxy": "direct.test,127.0.0.1"}
    proxy = start(None, *ALLOW, "--tls-ca-file", authority.root.cert, env=env)
    assert proxy.through(parent, FEED, f"/http://{NAME}/f")[0].body == SMALL_OUT
    client = proxy.client().ask(f"/{secure.url}/f")
    parent.connected(secure)
    secure.receive().answer(FEED)
    assert client.response().body == SMALL_OUT


def test_http_proxy_in_capitals_is_not_read(start, dead_port, origin):
    got, request = start(origin, env={"HTTP_PROXY": f"http://127.0.0.1:{dead_port}"}).through(origin, FEED)
    assert got.status == 200 and request.target == "/feed"


@pytest.mark.parametrize("name, value", [("http_proxy", "socks5://user:secret@127.0.0.1:1"), ("HTTPS_PROXY", "http://user:secret@127.0.0.1"),
                                         ("all_proxy", "http://user:secret@127.0.0.1:port/"), ("no_proxy", "a,b/c")])
def test_a_bad_value_stops_the_start(name, value):
    done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0"], env={**os.environ, name: value}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode != 0 and f"{name}: " in said and "; write" in said and "secret" not in said


@pytest.mark.parametrize("no_proxy, direct", [("", False), ("*", True), ("127.0.0.1", True), ("127.0.0.0/8", True), ("{port}", True), ("127.0.0.1:1", False),
                                              ("example.org, 127.0.0.1", True), ("128.0.0.0/8", False)])
def test_no_proxy(start, origin, parent, no_proxy, direct):
    """The whole table is tests/unit/settings/test_parent.c's."""
    proxy = start(origin, "--http-proxy", parent.url, env={"no_proxy": no_proxy.replace("{port}", f"127.0.0.1:{origin.port}")})
    got, request = proxy.through(origin if direct else parent, FEED)
    assert got.body == SMALL_OUT and request.target == ("/feed" if direct else f"{origin.url}/feed")
    assert not (parent if direct else origin).connections


def test_a_route_has_its_own(start, origin, another):
    first, second = Parent(), Parent()
    proxy = start(None, "--http-proxy", first.url, "--route", f"/direct/={origin.url}/ http-proxy=off", "--route", f"/first/={origin.url}/",
                  "--route", f"/second/={origin.url}/ http-proxy={second.url}")
    for route, to, target in [("first", first, f"{origin.url}/f"), ("direct", origin, "/f"), ("second", second, f"{origin.url}/f"),
                              ("first", first, f"{origin.url}/f")]:
        got, request = proxy.through(to, FEED, f"/{route}/f")
        assert got.body == SMALL_OUT and request.target == target
    first.close()
    second.close()


GUARDED = ["http://127.0.0.1/", "http://10.0.0.1/", "http://169.254.169.254/latest/", "http://[::1]/", "http://[::ffff:10.0.0.1]/", "http://0x7f.1/",
           "http://localhost/", "http://a.localhost./", f"http://{NAME}:8080/", "https://192.168.0.1/", f"https://{NAME}:22/", "http://2130706433/"]


@pytest.mark.parametrize("url", GUARDED)
def test_the_guard(start, parent, url):
    """The parent on a private address is the operator's; what clients name is checked before the parent hears of it."""
    proxy = start(None, "--http-proxy", parent.url, "--https-proxy", parent.url, guarded=True)
    got = proxy.get(f"/{url}f")
    assert got.status == 403 and error_of(got) == "destination_ip_prohibited"
    assert not parent.asked() and not parent.connections


def test_the_guard_lets_public_names_and_addresses_pass(start, parent):
    proxy = start(None, "--http-proxy", parent.url, guarded=True)
    for url in (f"http://{NAME}/f", "http://93.184.215.14/f"):
        assert proxy.through(parent, FEED, f"/{url}")[1].target == url


def test_the_guard_at_a_redirect(start, parent):
    client = start(None, "--http-proxy", parent.url, guarded=True).client().ask(f"/http://{NAME}/f")
    parent.receive().answer(message("302 Found", "Location: http://192.168.0.1/"))
    got = client.response()
    assert got.status == 403 and error_of(got) == "destination_ip_prohibited" and not parent.asked()


def test_a_tunnel_is_used_again(through, parent, secure):
    proxy = through(None, "--workers", "1")
    client = proxy.client()
    for number in range(3):
        client.ask(f"/{secure.url}/{number}")
        if not number:
            parent.connected(secure)
        upstream = secure.receive()
        assert upstream.request.target == f"/{number}"
        upstream.answer(FEED)
        assert client.response().body == SMALL_OUT
    assert (parent.connections, secure.connections) == (1, 1)


def test_a_tunnel_that_died_is_made_anew(through, parent, secure):
    client = through(None, "--workers", "1").client().ask(f"/{secure.url}/1")
    parent.connected(secure)
    secure.receive().answer(FEED)
    assert client.response().status == 200
    client.ask(f"/{secure.url}/2")
    secure.receive().close()
    parent.connected(secure)
    secure.receive().answer(FEED)
    assert client.response().body == SMALL_OUT and parent.connections == 2


def test_connections_to_a_parent_are_used_again(through, parent):
    """By requests for one origin."""
    client = through(None, "--workers", "1").client()
    for name, connections in (("a", 1), ("a", 1), ("b", 2), ("a", 2)):
        client.ask(f"/http://{name}.invalid/f")
        parent.receive().answer(FEED)
        assert client.response().body == SMALL_OUT and parent.connections == connections


def test_ways_do_not_share(start, origin, parent):
    """One origin, directly and through the parent: what answers on one connection knows nothing of the other."""
    proxy = start(None, "--workers", "1", "--http-proxy", parent.url, "--route", f"/a/={origin.url}/ http-proxy=off", "--route", f"/b/={origin.url}/")
    for _ in range(2):
        assert proxy.through(origin, FEED, "/a/f")[1].target == "/f"
        assert proxy.through(parent, FEED, "/b/f")[1].target == f"{origin.url}/f"
    assert (origin.connections, parent.connections) == (1, 1)


def test_a_redirect_from_http_to_https(through, parent, secure):
    client = through().client().ask(f"/http://{NAME}/f")
    parent.receive().answer(message("301 Moved Permanently", f"Location: {secure.url}/g"))
    assert parent.connected(secure).target == f"{NAME}:{secure.port}"
    upstream = secure.receive()
    assert upstream.request.target == "/g"
    upstream.answer(FEED)
    got = client.response()
    assert got.body == SMALL_OUT and got["Content-Location"] == f"{secure.url}/g"


def test_a_redirect_from_a_route_goes_by_the_global_parent(start, origin, parent):
    """The route's own is for the route's own origin."""
    client = start(None, "--http-proxy", parent.url, "--route", f"/={origin.url} http-proxy=off follow-redirects=on").client().ask("/f")
    origin.receive().answer(message("302 Found", f"Location: http://{NAME}/g"))
    upstream = parent.receive()
    assert upstream.request.target == f"http://{NAME}/g"
    upstream.answer(FEED)
    assert client.response().body == SMALL_OUT


def test_upgraded_urls_are_https(through, parent, secure):
    client = through(None, "--upgrade-https", "on").client().ask(f"/http://{NAME}:{secure.port}/f")
    assert parent.connected(secure).target == f"{NAME}:{secure.port}"
    secure.receive().answer(FEED)
    assert client.response().body == SMALL_OUT


def hosts_file(authority):
    path = os.path.join(authority.home, "hosts")
    with open(path, "w", encoding="ascii") as file:
        file.write(f"127.0.0.1 {NAME}\n")
    return path


def test_one_utfeed_behind_another(start, origin, secure, authority):
    """The parent is a proxy that is no test's: http by its forward mode, https by its CONNECT."""
    behind = start(None, "--connect-allow", f"{NAME}:*", *ALLOW, "--hosts-file", hosts_file(authority))
    url = f"http://127.0.0.1:{behind.port}"
    proxy = start(None, "--http-proxy", url, "--https-proxy", url, *ALLOW, "--tls-ca-file", authority.root.cert)
    got, request = proxy.through(origin, FEED, f"/http://{NAME}:{origin.port}/f")
    assert got.body == SMALL_OUT and request.line == "GET /f HTTP/1.1"
    assert request.tokens("CDN-Loop") == ["utfeed"] and request.tokens("Via") == ["1.1 utfeed"]       # the gateway's, the forward proxy's
    got, request = proxy.through(secure, FEED, f"/{secure.url}/f")
    assert got.body == SMALL_OUT and request.line == "GET /f HTTP/1.1"
    assert request.tokens("CDN-Loop") == ["utfeed"] and "Via" not in request


@pytest.mark.parametrize("cache", ["on", "off"])
def test_a_utfeed_that_is_its_parents_parent_finds_out(start, cache):
    one, two = (f"127.0.0.1:{server_port()}" for _ in range(2))
    start(None, "--listen", two, "--cache", cache, env={"http_proxy": one})
    got = start(None, "--listen", one, "--cache", cache, env={"http_proxy": two}).get(f"/http://{NAME}/f")
    assert got.status == 502 and error_of(got) == "proxy_loop_detected"


@pytest.mark.parametrize("user, status", [("user:secret@", 200), ("", 502)])
def test_tinyproxy(start, origin, tls_origin, good, authority, tmp_path, user, status):
    """A parent of others' making, that wants credentials: http, https, a tunnel."""
    secure, parent = tls_origin(server_context(good)), Tinyproxy(tmp_path)
    for each in (origin, secure):
        each.serve(lambda request: FEED)
    url = f"http://{user}127.0.0.1:{parent.port}"
    try:
        proxy = start(None, "--http-proxy", url, "--https-proxy", url, "--tls-ca-file", authority.root.cert, "--allow", "localhost:*",
                      "--connect-allow", f"127.0.0.1:{origin.port}")
        tunnel = proxy.client()
        for got in (proxy.get(f"/{origin.url}/f"), proxy.get(f"/{secure.url}/f"),
                    tunnel.get(f"127.0.0.1:{origin.port}", method="CONNECT")):
            assert got.status == status
            assert status == 200 or error_of(got) == "proxy_configuration_error"
        if status == 200:
            assert tunnel.get("/f").body == SMALL and {request.line for request in origin.requests} == {"GET /f HTTP/1.1"}
        tunnel.close()
        said_nothing_of(proxy, "secret", base64.b64encode(b"user:secret").decode())
    finally:
        parent.close()
