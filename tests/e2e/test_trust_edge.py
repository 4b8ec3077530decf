"""Where utfeed meets those in front of it (issue 12): what an untrusted origin's fields may do there (row 18), and what is said of
passwords and loaded again of a configuration (row 20)."""
import socket
import subprocess

import pytest

from certs import client_context
from feeds import SMALL
from peers import TlsClient
from proxy import BINARY
from wire import PATIENCE, TIMEOUT, Cut, message

SECRET = "hunter2"


def serve(*args, env=None, config=None, tmp_path=None):
    if config is not None:
        file = tmp_path / "utfeed.conf"
        file.write_text(config)
        args = ("-c", str(file), *args)
    return subprocess.run([BINARY, "serve", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=env or {}, timeout=PATIENCE, check=False)


@pytest.mark.parametrize("target", [f"http://u:{SECRET}@h.test/", f"/http://u:{SECRET}@h.test/", f"/http:/u:{SECRET}@h.test/",
                                    f"/?url=http://u:{SECRET}@h.test/", f"/?url=http%3a%2f%2fu%3A{SECRET}%40h.test",
                                    f"http://u:p/{SECRET}@h.test/", f"u:{SECRET}@h.test:443", f"/feed:http://u:{SECRET}@h.test/",
                                    f"/http%3A%2F%2Fu:{SECRET}@h.test/", f"/?url=feed:https://u:{SECRET}@h.test/"])
@pytest.mark.parametrize("method", ["GET", "CONNECT"])
def test_trust_20_a_refused_urls_password_is_told_to_nobody(start, target, method):
    proxy = start(None)
    got = proxy.client().ask(target, method=method).response()
    assert got.status in (400, 405) and SECRET not in f"{got.fields}{got.body}"
    line = proxy.access_lines(1)[0].decode()
    assert f" {method} " in line and SECRET not in line and ("***@h.test" in line or f" {method} - " in line)
    proxy.stop()
    assert SECRET not in proxy.err.text()


def test_trust_20_a_name_with_an_at_sign_in_a_path_is_logged_as_it_is(proxy, origin):
    client = proxy.client().ask("/@user/feed.xml")
    origin.receive().answer(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert client.response().status == 204
    assert b" /@user/feed.xml 204 " in proxy.access_lines(1)[0]


@pytest.mark.parametrize("args, env", [
    ([f"--cache-redis-pasword={SECRET}"], {}), (["--cache-redis-password=", SECRET], {}), ([f"-p{SECRET}"], {}),
    (["--route", f"/=http://u:{SECRET}@h/"], {}), (["--route", f"/=http://h htp-proxy=http://u:{SECRET}@h:1"], {}),
    (["--route", f"/ http-proxy=http://u:{SECRET}@h:1"], {}), ([], {"UTFEED_ROUTE": f"/=http://u:{SECRET}@h/"}),
    ([], {"UTFEED_ALLOW": f"u:{SECRET}@h"}),
])
def test_trust_20_a_refused_options_password_is_told_to_nobody(args, env):
    done = serve(*args, env=env)
    assert done.returncode and done.stderr and SECRET.encode() not in done.stderr + done.stdout


@pytest.mark.parametrize("line", [f"cache-redis-pasword = {SECRET}", f"cache-redis-password {SECRET}", f"[route //u:{SECRET}@h/]",
                                  f"[route /]\norigin = http://u:{SECRET}@h/", f"http://u:{SECRET}@h/?a=b"])
def test_trust_20_a_refused_lines_password_is_told_to_nobody(line, tmp_path):
    done = serve(config=line + "\n", tmp_path=tmp_path)
    assert done.returncode and b"utfeed.conf:" in done.stderr and SECRET.encode() not in done.stderr + done.stdout


README = """
listen = 127.0.0.1:0
[route //reader.example.org/old/]     # for one Host only
origin = http://10.0.0.5/
charset = koi8-r
user-agent = "old reader/1.0"
"""


@pytest.mark.parametrize("config", [README, README.replace("old reader/1.0", 'a # \\"b\\" \\\\'), README.replace("old reader/1.0", " ; "),
                                    README.replace("10.0.0.5/", "10.0.0.5/\nhttp-proxy = http://u:p w@h:1")])
def test_trust_20_print_config_loads_again(config, tmp_path):
    first = serve("--print-config", config=config, tmp_path=tmp_path)
    assert first.returncode == 0, first.stderr
    second = serve("--print-config", config=first.stdout.decode(), tmp_path=tmp_path)
    assert second.returncode == 0, second.stderr

    def values(text):
        return [line for line in text.splitlines() if not line.startswith(b"#")]
    assert values(first.stdout) == values(second.stdout)


def test_trust_20_an_inline_route_takes_quotes(start, another):
    """By a flag as by a variable, where ; separates routes."""
    origin = another()
    for how in ({"args": ("--route", f'/={origin.url} user-agent="my reader; 1.0"')},
                {"env": {"UTFEED_ROUTE": f'/x={origin.url}; /={origin.url} user-agent="my reader; 1.0"'}}):
        proxy = start(None, *how.pop("args", ()), **how)
        client = proxy.client().ask("/f")
        upstream = origin.receive()
        assert upstream.request["User-Agent"] == "my reader; 1.0"
        upstream.answer(b"HTTP/1.1 204 No Content\r\n\r\n")
        assert client.response().status == 204


# To a web server or a cache in front; to a browser about the site it believes to talk to
FRONT = ["X-Accel-Redirect: /internal/secret", "X-Accel-Expires: 86400", "X-Sendfile: /etc/passwd", "X-Lighttpd-Send-File: /etc/passwd",
         "X-Reproxy-URL: http://10.0.0.1/", "X-LiteSpeed-Location: /internal", "Surrogate-Control: max-age=86400", "Surrogate-Key: a"]
SITE = ["Set-Cookie: sid=evil; Path=/", "Clear-Site-Data: \"*\"", "Strict-Transport-Security: max-age=31536000", "Service-Worker-Allowed: /",
        "Public-Key-Pins: max-age=9", "Access-Control-Allow-Origin: *", "Access-Control-Allow-Credentials: true", "Refresh: 0;url=/",
        "Report-To: {}", "NEL: {}", "Accept-CH: UA", "Origin-Trial: x", "WWW-Authenticate: Basic realm=\"feeds\"",
        "X-Content-Type-Options: sniff", "Speculation-Rules: \"/r\""]
HTML = b"<!doctype html><script>alert(origin)</script>"
XHTML = b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>'
WAYS = {"gateway": "/{url}/x", "query": "/?url={url}/x", "forward": "{url}/x", "route": "/x"}
SANDBOX = {"Content-Security-Policy": ["sandbox"], "X-Content-Type-Options": ["nosniff"]}


@pytest.fixture(scope="module")
def routeless(start_once):
    return start_once(None)


def kept(way):
    return {"route": {*FRONT, *SITE}, "forward": {*SITE}}.get(way, set())


def names(fields):
    return {field.split(":")[0].lower() for field in fields}


@pytest.mark.parametrize("status", ["200 OK", "404 Not Found", "401 Unauthorized"])
@pytest.mark.parametrize("content_type, body", [("text/html", HTML), ("application/xhtml+xml", XHTML), ("image/svg+xml", XHTML),
                                                ("application/rss+xml", SMALL)],
                         ids=["html", "xhtml", "svg", "feed"])
@pytest.mark.parametrize("way", WAYS)
def test_trust_18_an_origins_fields_do_not_reach_those_in_front(old_proxy, routeless, old_origin, way, content_type, body, status):
    """Whatever the status, whatever becomes of the body; what a forward proxy's client gets is that origin's own to say."""
    proxy = old_proxy if way == "route" else routeless
    got, _ = proxy.through(old_origin, message(status, f"Content-Type: {content_type}", *FRONT, *SITE, body=body),
                           WAYS[way].format(url=old_origin.url))
    foreign = way in ("gateway", "query")
    assert got.names() & names(FRONT + SITE) == names(kept(way)) | ({"x-content-type-options"} if foreign else set())
    for field, value in SANDBOX.items():
        assert (got.all(field) == value) == foreign, field


@pytest.mark.parametrize("how", ["stored", "refreshed", "part", "304"])
def test_trust_18_nor_do_those_of_a_stored_response(start, origin, how):
    """What is stored, refreshed by a 304, asked for in part or by its validator has the same head; each way in has its own."""
    proxy = start(origin, "--cache", "on")
    said = [*FRONT, *SITE[1:]] if how == "refreshed" else [*FRONT, *SITE]      # with a Set-Cookie nothing is stored without a lifetime
    fields = ["Content-Type: text/html", 'ETag: "1"', *said]
    life = "Cache-Control: public, max-age=0" if how == "refreshed" else "Cache-Control: public, max-age=60"
    url = f"/{origin.url}/page"
    proxy.through(origin, message("200 OK", *fields, life, body=HTML), url)
    client = proxy.client().ask(url, *{"part": ["Range: bytes=0-9"], "304": ['If-None-Match: "1"']}.get(how, []))
    if how == "refreshed":
        origin.receive().answer(message("304 Not Modified", 'ETag: "1"', *said, life, length=False))
    got = client.response()
    assert got.status == {"part": 206, "304": 304}.get(how, 200) and ("hit" in got["Cache-Status"] or how == "refreshed")
    assert got.names() & names(FRONT + SITE) == {"x-content-type-options"}
    for field, value in SANDBOX.items():
        assert got.all(field) == value, field
    client = proxy.client().ask(f"{origin.url}/page")
    origin.receive().answer(message("200 OK", *fields, body=HTML))
    assert "Strict-Transport-Security" in client.response()


def test_trust_18_a_redirect_away_from_a_routes_origin_leaves_its_rights_behind(start, origin, another):
    """What the operator chose is the route's own origin; where that one leads to is anybody's."""
    elsewhere = another()
    proxy = start(None, "--route", f"/={origin.url} follow-redirects=on")
    for to, all_kept in ((f"{origin.url}/b", True), (f"{elsewhere.url}/b", False)):
        client = proxy.client().ask("/a")
        origin.receive().answer(message("302 Found", f"Location: {to}"))
        (origin if all_kept else elsewhere).receive().answer(message("200 OK", "Content-Type: text/html", *FRONT, *SITE, body=HTML))
        got = client.response()
        assert (got["X-Accel-Redirect"] is not None) == all_kept and (got["Set-Cookie"] is not None) == all_kept
        assert (got.all("Content-Security-Policy") == ["sandbox"]) != all_kept


def test_trust_18_an_interim_response_says_no_more_than_a_final_one(proxy, origin):
    client = proxy.client().ask(f"/{origin.url}/x")
    upstream = origin.receive()
    upstream.answer(message("103 Early Hints", "Link: </a>; rel=preload", *FRONT, *SITE, length=False) + message("200 OK", body=b"x"))
    got = client.response()
    assert got.status == 200 and not names(FRONT + SITE) & set().union(*[hint.names() for hint in got.interim], set())


@pytest.mark.parametrize("target", ["/nowhere/https:", "/http://[/", "/http://192.168.0.1/"])
def test_trust_18_answers_of_utfeeds_own_are_boxed_too(start, target):
    got = start(None).get(target)
    assert got.status >= 400
    for field, value in SANDBOX.items():
        assert got.all(field) == value, field


# ---- which names are answered to ----

@pytest.mark.parametrize("host, served", [("127.0.0.1:80", True), ("[::1]", True), ("utfeed:8080", True), ("localhost", True), ("a.localhost", True),
                                          ("feeds.default.svc.cluster.local", True), ("evil.example.org", False), ("evil.example.org:80", False),
                                          ("127.0.0.1.evil.org", False), ("local.evil.org", False)])
@pytest.mark.parametrize("target, method", [("/x", "GET"), ("/{url}/x", "GET"), ("/x", "PURGE"), ("/{url}/x", "PURGE")])
def test_trust_18_no_page_reads_here_by_a_name_of_its_own(old_proxy, old_origin, host, served, target, method):
    """DNS rebinding: the name in Host is the page's, the address it leads to is ours."""
    client = old_proxy.client().ask(target.format(url=old_origin.url), method=method, host=host)
    if served and method == "GET":
        old_origin.receive().answer(message("200 OK", body=b"x"))
    got = client.response()
    assert got.status == (200 if served else 421)
    assert served or (b"hosts" in got.body and not old_origin.asked())


def test_trust_18_a_forward_proxys_client_names_whom_it_likes(proxy, origin):
    got, _ = proxy.through(origin, message("200 OK", body=b"x"), f"{origin.url}/x", host="evil.example.org")
    assert got.status == 200


def test_trust_18_hosts_says_which_names_are_served(start, origin):
    proxy = start(origin, "--hosts", "feeds.example.org, .below.example.org", "--route", f"//routed.example.org/={origin.url}")
    for host, served in (("feeds.example.org", True), ("Feeds.Example.org.:81", True), ("a.below.example.org", True), ("routed.example.org", True),
                         ("127.0.0.1", False), ("localhost", False), ("a.feeds.example.org", False), ("evil.example.org", False)):
        client = proxy.client().ask("/x", host=host)
        if served:
            origin.receive().answer(message("200 OK", body=b"x"))
        assert client.response().status == (200 if served else 421), host


def test_trust_18_over_tls_the_certificate_says_whose_name_it_is(listening, origin, authority):
    proxy = listening(origin)
    client = TlsClient(proxy.tls_port, client_context(authority.root)).ask("/x", host="feeds.example.org")
    origin.receive().answer(message("200 OK", body=b"x"))
    assert client.response().status == 200
    client.close()


# ---- who the client is behind another proxy ----

EVERYBODY = ("--client-allow", "0.0.0.0/0, ::/0")
BELIEVED = ("--trusted-proxies", "127.0.0.1", *EVERYBODY)
XFF = "X-Forwarded-For: "


def accessed_by(proxy):
    return proxy.access_lines(1)[0].split()[1].decode()


@pytest.mark.parametrize("field", [XFF + "192.0.2.1", "Forwarded: for=127.0.0.1", "X-Real-IP: 127.0.0.1", "Via: 1.1 front"])
def test_trust_18_what_came_through_a_proxy_has_no_rights_of_loopback(proxy, origin, field):
    """By default: whose proxy it is nobody said."""
    assert proxy.client().get("/x", method="PURGE").status == 200
    assert proxy.client().get("/x", field, method="PURGE").status == 403
    client = proxy.client().ask("/f", field, "X-Encoding-Policy: rfc7303")
    origin.receive().answer(message("200 OK", "Content-Type: text/xml; charset=koi8-r", body=SMALL))
    assert client.response().rule.startswith("auto:")


@pytest.mark.parametrize("fields, client", [
    ([XFF + "192.0.2.1"], "192.0.2.1:-"), ([XFF + "127.0.0.9, 192.0.2.1"], "192.0.2.1:-"), ([XFF + "127.0.0.9", XFF + "192.0.2.1, 127.0.0.1"], "192.0.2.1:-"),
    ([XFF + "[2001:db8::1]:443"], "[2001:db8::1]:443"), ([XFF + "unknown"], "unknown"), ([XFF + "192.0.2.1", "Forwarded: for=127.0.0.9"], "192.0.2.1:-"),
    ([XFF + "127.0.0.1"], "127.0.0.1:-"), ([], "127.0.0.1:")])
def test_trust_18_a_believed_proxy_says_who_the_client_is(start, fields, client):
    """In the access log, and for whoever's rights: none of these has any here, a proxy itself included."""
    proxy = start(None, *BELIEVED, "--gateway", "on")
    assert proxy.client().get("/http://a.test/", *fields, method="PURGE").status == 403
    assert accessed_by(proxy) == client or (client == "127.0.0.1:" and accessed_by(proxy).startswith(client))


def test_trust_18_rights_are_the_clients(start, origin):
    proxy = start(origin, *BELIEVED, "--purge-allow", "192.0.2.0/24, 127.0.0.0/8")
    client = proxy.client()
    for fields, status in (([XFF + "192.0.2.1"], 200), ([XFF + "198.51.100.1"], 403), ([XFF + "192.0.2.1, 198.51.100.1"], 403), ([XFF + "127.0.0.2"], 200),
                           ([XFF + "127.0.0.1"], 403), ([], 403)):
        assert client.get("/x", *fields, method="PURGE").status == status, fields
    for fields, policy in (([XFF + "127.0.0.2"], "rfc7303:"), ([XFF + "192.0.2.1"], "auto:"), ([], "auto:")):
        asking = client.ask("/f", "X-Encoding-Policy: rfc7303", *fields)
        origin.receive().answer(message("200 OK", "Content-Type: application/xml", body=SMALL))
        assert asking.response().rule.startswith(policy), fields


def test_trust_18_client_allow_means_the_client(start, origin):
    """Each request's own, on one connection of the proxy's."""
    proxy = start(origin, "--trusted-proxies", "127.0.0.1", "--client-allow", "192.0.2.0/24")
    for fields, served in (([XFF + "192.0.2.1"], True), ([XFF + "198.51.100.1"], False), ([XFF + "192.0.2.1, 198.51.100.1"], False),
                           ([XFF + "unknown"], False), ([], False), ([XFF + "192.0.2.1"], True)):
        client = proxy.client().ask("/x", *fields)
        if served:
            origin.receive().answer(message("200 OK", body=b"x"))
        assert client.response().status == (200 if served else 403), fields


def test_trust_18_one_connection_many_clients(start, origin):
    proxy = start(origin, *BELIEVED)
    client = proxy.client()
    for n in range(3):
        client.ask(f"/{n}", XFF + f"192.0.2.{n}")
        origin.receive().answer(message("200 OK", body=b"x"))
        assert client.response().status == 200
    assert [line.split()[1] for line in proxy.access_lines(3)] == [b"192.0.2.%d:-" % n for n in range(3)]


def test_trust_18_forwarded_where_it_is_said(start):
    proxy = start(None, *BELIEVED, "--client-field", "forwarded")
    proxy.client().get("/", 'Forwarded: for="[2001:db8::1]:8";proto=https', XFF + "127.0.0.9")
    assert accessed_by(proxy) == "[2001:db8::1]:8"


V2 = b"\r\n\r\n\0\r\nQUIT\n"
IPV4 = bytes([192, 0, 2, 1, 127, 0, 0, 1, 1, 2, 3, 4])
HEADERS = {
    "1": (b"PROXY TCP4 192.0.2.1 127.0.0.1 258 80\r\n", "192.0.2.1:258"),
    "1, IPv6": (b"PROXY TCP6 2001:db8::1 ::1 258 80\r\n", "[2001:db8::1]:258"),
    "1, unknown": (b"PROXY UNKNOWN\r\n", "127.0.0.1:"),
    "2": (V2 + b"\x21\x11\0\x0c" + IPV4, "192.0.2.1:258"),
    "2, with more": (V2 + b"\x21\x11\x10\x0c" + IPV4 + bytes(4096), "192.0.2.1:258"),
    "2, a datagram": (V2 + b"\x21\x12\0\x0c" + IPV4, "127.0.0.1:"),
    "2, local": (V2 + b"\x20\0\0\0", "127.0.0.1:"),
    "2, a Unix socket": (V2 + b"\x21\x31\0\xd8" + bytes(216), "127.0.0.1:"),
}


@pytest.mark.parametrize("pieces", ["whole", "bytes"])
@pytest.mark.parametrize("kind", HEADERS)
def test_trust_18_a_proxy_header_says_who_the_client_is(start, origin, kind, pieces):
    """Byte by byte as in one piece with the request behind it; nobody but a client that is told has rights."""
    header, want = HEADERS[kind]
    proxy = start(origin, *BELIEVED, "--proxy-protocol", "on", "--purge-allow", "0.0.0.0/0, ::/0")
    client = proxy.client()
    if pieces == "bytes":
        for at in range(min(len(header), 300)):
            client.send(header[at:at + 1])
        client.send(header[300:])
    else:
        client.send(header)
    for _ in range(2):
        client.ask("/x")
        origin.receive().answer(message("200 OK", body=b"x"))
        assert client.response().status == 200
    assert accessed_by(proxy).startswith(want)
    assert client.get("/x", method="PURGE").status == (200 if "192" in want or "2001" in want else 403)
    # What the client says of itself counts for nothing where the proxy told its address
    assert client.get("/x", XFF + "192.0.2.9", method="PURGE").status == (200 if kind == "2, local" else 403)


@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\nHost: t\r\n\r\n", b"PROXY TCP4 192.0.2.1\r\n", b"PROXY " + b"x" * 200, V2 + b"\x21\x41\0\x0c" + IPV4,
                                   V2[:-1] + b"\r"])
def test_trust_18_without_its_header_a_proxys_connection_is_closed(start, first):
    proxy = start(None, *BELIEVED, "--proxy-protocol", "on")
    client = proxy.client()
    client.send(first)
    with pytest.raises(Cut):
        client.response()
    proxy.says("does not begin with a PROXY protocol header")
    assert proxy.counters()["clients_refused"] == 1


def test_trust_18_a_header_that_does_not_end_times_out(start):
    proxy = start(None, *BELIEVED, "--proxy-protocol", "on", "--request-timeout", "500ms")
    client = proxy.client()
    client.send(b"PROXY TCP4 192")
    with pytest.raises(Cut):
        client.response()
    proxy.says("not complete in time")


def test_trust_18_who_is_no_believed_proxy_sends_no_header(start):
    """Its address decides, never what it sends (section 2 of the protocol): the header is no request."""
    proxy = start(None, "--trusted-proxies", "192.0.2.1", *EVERYBODY, "--proxy-protocol", "on")
    assert proxy.get("/nowhere").status == 404
    client = proxy.client()
    client.send(b"PROXY TCP4 192.0.2.1 127.0.0.1 258 80\r\n\r\n")
    assert client.response().status in (400, 501)


def test_trust_18_the_header_comes_before_tls(listening, origin, authority):
    proxy = listening(origin, *BELIEVED, "--proxy-protocol", "on")
    with socket.create_connection(("127.0.0.1", proxy.tls_port), TIMEOUT) as plain:
        plain.sendall(HEADERS["2"][0])
        with client_context(authority.root).wrap_socket(plain, server_hostname="localhost") as tls:
            tls.sendall(b"GET /x HTTP/1.1\r\nHost: feeds.example.org\r\nConnection: close\r\n\r\n")
            origin.receive().answer(message("200 OK", body=b"x"))
            assert tls.recv(12) == b"HTTP/1.1 200"
    assert accessed_by(proxy) == "192.0.2.1:258"


def test_trust_18_connections_that_never_greet_count_and_end_with_the_process(start, origin):
    """As clients do: max-connections counts them, SIGTERM does not wait longer for them than for others."""
    proxy = start(origin, *BELIEVED, "--proxy-protocol", "on", "--max-connections", "2", "--workers", "1", "--drain-timeout", "100ms")
    waiting = [proxy.client() for _ in range(2)]
    for client in waiting:
        client.send(b"PROXY ")
    client = proxy.client()
    client.send(HEADERS["1"][0])
    client.ask("/x")
    assert not origin.asked()
    waiting[0].close()
    origin.receive().answer(message("200 OK", body=b"x"))
    assert client.response().status == 200
    proxy.sigterm()
    assert proxy.wait() == 0
