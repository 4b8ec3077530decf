"""client-auth: who may use utfeed by name and password, by every way in; what becomes of the password (nothing), and of who guesses.
Sources: RFC 9110 section 11, RFC 7617, RFC 9111 section 3.5."""
import base64
import os
import re
import select
import socket
import ssl
import subprocess

import pytest

from certs import client_context, server_context
from feeds import SMALL, SMALL_OUT
from inside import InsideClient, OwnCa
from peers import Peer, TlsClient
from peers import Client as AnyClient
from proxy import BINARY, REFUSED
from wire import PATIENCE, TIMEOUT, message

SALT = "abcdefghijklmnopqrstu"
HASHES = {"open sesame": f"$2b$04${SALT}u/LVz6MZlItEy42I2juLihZ66HnQx/cy", "x": f"$2b$04${SALT}uPp7HPfoAs8I2dCQCQ/fW7zEJv8I8C8e",
          "geheim:ähm@/x": f"$2b$04${SALT}u/gxEi6JL2tRdjTY7iukhi1qFbRjkloC"}
USERS = {"alice": "open sesame", "bob": "x", "jö": "geheim:ähm@/x"}
XML = "Content-Type: application/xml"
FRESH = "Cache-Control: max-age=600"
FEED = message("200 OK", XML, FRESH, body=SMALL)
CHALLENGE = 'Basic realm="utfeed", charset="UTF-8"'
GUESSES = 20            # of one address at once
SECRETS = ("sesame", "b3BlbiBzZXNhbWU", "YWxpY2U6b3BlbiBzZXNhbWU", "c2VzYW1l")


def basic(name="alice", password=None):
    return "Basic " + base64.b64encode(f"{name}:{USERS.get(name, '') if password is None else password}".encode()).decode()


def own(*who):
    return "Authorization: " + basic(*who)


def proxied(*who):
    return "Proxy-Authorization: " + basic(*who)


ALICE = "/alice:open%20sesame@"


def write(path, users):
    path.write_text("".join(f"{name}:{HASHES[password]}\n" for name, password in users.items()), encoding="utf-8")
    path.chmod(0o600)


@pytest.fixture
def users(tmp_path):
    path = tmp_path / "users"
    write(path, USERS)
    return path


@pytest.fixture
def guarded(start, users):
    """guarded(origin, option...): a utfeed that asks for passwords."""
    return lambda to=None, *options, **how: start(to, "--client-auth", str(users), *options, **how)


class Elsewhere(AnyClient):
    """From another address of this machine."""

    def __init__(self, port, address="127.0.0.2"):
        self.sock = socket.create_connection(("127.0.0.1", port), TIMEOUT, (address, 0))
        Peer.__init__(self, self.sock)
        self.method, self.version = "GET", "HTTP/1.1"


def assert_own(got):
    """The challenge of a server."""
    assert (got.status, got["WWW-Authenticate"]) == (401, CHALLENGE) and "Proxy-Authenticate" not in got
    assert got["Cache-Control"] == "no-store"


def assert_proxys(got):
    assert (got.status, got["Proxy-Authenticate"]) == (407, CHALLENGE) and "WWW-Authenticate" not in got
    assert got["Cache-Control"] == "no-store"


def assert_unseen(*texts):
    """Nothing of alice's password, however it was written."""
    for text in texts:
        text = text.decode("latin-1") if isinstance(text, bytes) else text
        assert not [secret for secret in SECRETS if secret in text], text


# ---- the ways in ----

WAYS = [("route", "/feed", own, assert_own), ("gateway", "/{url}/feed", own, assert_own), ("query", "/?url={url}/feed", own, assert_own),
        ("forward", "{url}/feed", proxied, assert_proxys)]


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("way, target, field, challenged", WAYS, ids=[way[0] for way in WAYS])
def test_each_way_in(guarded, origin, way, target, field, challenged, method, version):
    """Without, with a wrong password, with a wrong name, with the other field: challenged, and the origin hears of none of them."""
    origin.serve(lambda request: FEED)
    proxy = guarded(origin if way == "route" else None)
    target = target.format(url=origin.url)
    other = own() if field is proxied else "X-Authorization: " + basic()
    for fields in ((), (field("alice", "wrong"),), (field("mallory", "open sesame"),), (other,), (field(), field()),
                   (field().replace("Basic", "Bearer"),), (field().replace("Basic", "Digest"),), (field("alice", "open sesame\0"),)):
        got = proxy.get(target, *fields, method=method, version=version)
        challenged(got)
        assert method == "GET" or not got.body
    assert not origin.requests
    for who in ("alice", "bob", "jö"):
        got = proxy.get(target, field(who), method=method, version=version)
        assert got.status == 200 and got.body == (SMALL_OUT if method == "GET" else b"")
    for request in origin.requests:
        assert not {"authorization", "proxy-authorization"} & request.names()


def test_off_by_default(proxy, origin):
    """Nothing is asked, and nothing is read as a token."""
    origin.serve(lambda request: FEED)
    assert proxy.get("/feed").status == 200
    assert proxy.get(ALICE + "/feed").status == 200 and origin.requests[-1].target == ALICE + "/feed"


@pytest.mark.parametrize("target", ["/", "/nowhere", "/proxy.pac", "/wpad.dat", "//", "/%00", "/favicon.ico", "/robots.txt"])
def test_nothing_is_told_to_a_stranger(guarded, target):
    """No page, no file, no error says anything else."""
    proxy = guarded(None, "--pac", "on")
    assert_own(proxy.get(target))
    assert_own(proxy.get(target, host="strange.example"))
    if target.endswith(("pac", "dat")):
        assert b"FindProxyForURL" in proxy.get(target, own()).body


@pytest.mark.parametrize("method", ["PURGE", "OPTIONS", "TRACE", "POST", "PUT", "DELETE", "PROPFIND"])
def test_every_method(guarded, origin, method):
    origin.serve(lambda request: FEED)
    proxy = guarded(origin, "--cors-allow", "*")
    preflight = ["Origin: https://reader.example", "Access-Control-Request-Method: GET"] if method == "OPTIONS" else []
    client = proxy.client().ask("/feed", *preflight, method=method)
    assert_own(client.response(method="GET"))
    assert_own(client.get("/feed", *preflight))             # the connection goes on
    assert client.ask("/feed", own(), *preflight, method=method).response(method="GET").status in (200, 204, 405)
    assert proxy.get("*", method="OPTIONS").status == 407


def test_a_body_that_nobody_may_send(guarded, origin):
    """It is not waited for, nor asked for by 100."""
    client = guarded(origin).client().ask("/feed", "Content-Length: 1000000", "Expect: 100-continue", method="POST")
    got = client.response(method="GET")
    assert_own(got)
    assert not got.interim and client.is_ended() and not origin.asked()


@pytest.mark.parametrize("how", ["length", "chunked"])
def test_a_body_waits_for_the_password(guarded, origin, how):
    framing, sent = ("Content-Length: 5", b"hello") if how == "length" else ("Transfer-Encoding: chunked", b"5\r\nhello\r\n0\r\n\r\n")
    client = guarded(origin).client()
    client.send(f"POST /form HTTP/1.1\r\nHost: h\r\n{own()}\r\n{framing}\r\n\r\n".encode() + sent)
    upstream = origin.receive()
    assert upstream.request.body == b"hello" and not {"authorization", "proxy-authorization"} & upstream.request.names()
    upstream.answer(message("201 Created"))
    assert client.response(method="GET").status == 201


# ---- the token ----

@pytest.mark.parametrize("given", [ALICE, "/alice%3aopen%20sesame%40", "/%61lice:open%20sesame%40", "/bob:x@", "/j%c3%b6:geheim:%C3%A4hm@%2Fx@"])
@pytest.mark.parametrize("rest", ["/{url}/feed", "/{url}/feed?a=b", "/?url={url}/feed", "/feed"])
@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
def test_a_token_in_the_url(guarded, origin, given, rest, version):
    origin.serve(lambda request: FEED)
    proxy = guarded(origin if rest == "/feed" else None)
    for _ in range(2):
        got = proxy.get(given + rest.format(url=origin.url), version=version)
        assert got.status == 200 and got.body == SMALL_OUT
    assert {request.target for request in origin.requests} <= {"/feed", "/feed?a=b"}


@pytest.mark.parametrize("given", ["/alice:wrong@", "/alice@", "/alice:@", "/:open%20sesame@", "/mallory:x@", "/alice:open%20sesame%00@",
                                   "/alice:open%2@", "/" + "a" * 3000 + ":x@", "/x/alice:open%20sesame@", "//alice:open%20sesame@"])
def test_tokens_that_are_none(guarded, origin, given):
    assert_own(guarded(origin).get(f"{given}/{origin.url}/feed"))
    assert not origin.asked()


def test_tokens_are_for_servers(guarded, origin):
    """A forward proxy request has its field, and a URL with a token in it is another URL."""
    proxy = guarded()
    assert_proxys(proxy.get(f"{origin.url}{ALICE}/feed"))
    assert_proxys(proxy.get(f"http://127.0.0.1:{proxy.port}{ALICE}/{origin.url}/feed"))


def test_the_token_counts_first(guarded, origin):
    """A wrong one is not made good by a field, nor does the field go anywhere."""
    assert_own(guarded(origin).get("/alice:wrong@/feed", own()))


def test_redirects_keep_the_token(guarded, origin):
    """A Location that leads into the gateway has it for the client that sent it, and for no other, also where it is stored."""
    origin.serve(lambda request: message("302 Found", "Location: /new", FRESH))
    proxy = guarded(None, "--redirects", "0", "--cache", "on")
    path = f"/{origin.url}/old"
    got = proxy.get(ALICE + path, host="utfeed.test:8080")
    assert got["Location"] == f"http://utfeed.test:8080{ALICE}/{origin.url}/new"
    assert_unseen(got.body)
    for client, want in ((proxy.get(path, own("bob"), host="b.test"), ""), (proxy.get("/bob:x@" + path, host="b.test"), "/bob:x@")):
        assert client["Location"] == f"http://b.test{want}/{origin.url}/new" and "hit" in client["Cache-Status"]
    assert proxy.get(ALICE + path, host=None, version="HTTP/1.0")["Location"] == f"{ALICE}/{origin.url}/new"
    assert len(origin.requests) == 1


def test_a_gateway_url_with_a_token(guarded, origin):
    """The operator's choice, for players: it stands in feeds, and in the place of the client's own in Location."""
    origin.serve(lambda request: message("302 Found", "Location: /new", FRESH) if request.target == "/old" else
                 message("200 OK", XML, FRESH, body=b"<rss><channel><item><enclosure url='https://h.test/1.mp3'/></item></channel></rss>"))
    proxy = guarded(None, "--redirects", "0", "--cache", "on", "--rewrite", "enclosures", "--gateway-url", "http://nas.lan/bob:x@")
    for target, fields in ((f"{ALICE}/{origin.url}", []), (f"/{origin.url}", [own()])):
        assert proxy.get(target + "/old", *fields)["Location"] == f"http://nas.lan/bob:x@/{origin.url}/new"
        assert b"'http://nas.lan/bob:x@/https://h.test/1.mp3'" in proxy.get(target + "/feed", *fields).body


def test_a_rewritten_feed_has_no_token(guarded, origin):
    origin.serve(lambda request: message("200 OK", XML, FRESH, body=b"<rss><channel><item><enclosure url='https://h.test/1.mp3'/></item></channel></rss>"))
    proxy = guarded(None, "--cache", "on", "--rewrite", "enclosures")
    for target, fields in ((f"{ALICE}/{origin.url}", []), (f"/{origin.url}", [own("bob")])):
        assert b"'http://feeds.test/https://h.test/1.mp3'" in proxy.get(target + "/feed", *fields).body
    assert len(origin.requests) == 1


def test_a_told_move_keeps_the_token(guarded, origin):
    origin.serve(lambda request: message("301 Moved Permanently", "Location: /new", FRESH) if request.target == "/old" else FEED)
    proxy = guarded(None, "--cache", "on", "--moved", "tell", "--moved-after", "0")
    for _ in range(2):
        got = proxy.get(f"{ALICE}/{origin.url}/old", host="h.test")
    assert (got.status, got["Location"]) == (308, f"http://h.test{ALICE}/{origin.url}/new")
    assert_unseen(got.body)


# ---- connections ----

def test_users_change_on_a_connection(guarded, origin):
    """Each request is asked, whoever came before it on the connection."""
    origin.serve(lambda request: FEED)
    client = guarded(origin).client()
    for field, status in ((own(), 200), ("X: y", 401), (own("bob"), 200), (own("alice", "x"), 401), (own("bob"), 200), (own("", ""), 401)):
        assert client.get("/feed", field).status == status


def test_pipelined(guarded, origin):
    """Answers in the order of the requests, those that wait for a comparison among them."""
    origin.serve(lambda request: FEED)
    client = guarded(origin).client()
    asked = [own(), "X: y", own("bob"), own("alice", "wrong"), own("jö"), "X: y", own()] * 3
    client.send("".join(f"GET /feed HTTP/1.1\r\nHost: h\r\n{field}\r\n\r\n" for field in asked).encode())
    assert [client.response().status for _ in asked] == [200, 401, 200, 401, 200, 401, 200] * 3


def test_smuggled(guarded, origin):
    """What stands behind a refused head is a request of its own, and asked itself; fields in a trailer or a continued line are none."""
    proxy = guarded(origin)
    client = proxy.client()
    client.send(b"GET /feed HTTP/1.1\r\nHost: h\r\n\r\n" + f"GET /feed HTTP/1.1\r\nHost: h\r\nX: y\r\n{own('alice', 'wrong')}\r\n\r\n".encode())
    assert [client.response().status for _ in range(2)] == [401, 401]
    client = proxy.client()
    client.send(f"POST /f HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n0\r\n{own()}\r\n\r\n".encode())
    assert client.response(method="GET").status == 401 and client.is_ended()
    for head in (f"GET /feed HTTP/1.1\r\nHost: h\r\nX: y\r\n {own()}\r\n\r\n", f"GET /feed HTTP/1.1\r\nHost: h\r\n{own()[:13]} : x\r\n\r\n"):
        client = proxy.client()
        client.send(head.encode())
        assert client.response(method="GET").status in (400, 401)
    assert not origin.asked()


def test_a_client_that_leaves_while_it_is_compared(guarded, origin):
    """Reset, closed, half closed: the next one is served."""
    origin.serve(lambda request: FEED)
    proxy = guarded(origin)
    for number in range(30):
        client = AnyClient(proxy.port).ask("/feed", own("alice", f"wrong {number % 7}"))
        [client.close, client.reset, client.half_close][number % 3]()
        client.close()
    half = Elsewhere(proxy.port).ask("/feed", own())
    half.half_close()
    assert half.response().status == 200
    half.close()


def test_two_workers_and_a_reload(guarded, origin, users):
    """Every worker knows the users, the former ones' passwords, who was right and who guessed; a reload changes the file, not the memory."""
    origin.serve(lambda request: FEED)
    proxy = guarded(origin, "--workers", "2")
    clients = [proxy.client() for _ in range(8)]
    assert {client.get("/feed", own()).status for client in clients} == {200}
    compared = proxy.counters()["logins_compared"]
    assert compared <= 2
    write(users, {"bob": "x", "jö": USERS["jö"]})
    proxy.reload()
    assert {client.get("/feed", own()).status for client in clients} == {401}
    assert {client.get("/feed", own("bob")).status for client in clients} == {200}
    write(users, {"alice": "x", "bob": "x"})
    proxy.reload()
    assert {client.get("/feed", own()).status for client in clients} == {401}
    assert {client.get("/feed", own("alice", "x")).status for client in clients} == {200}
    assert proxy.counters()["logins_refused"] == 16


def test_a_bad_file_changes_nothing(guarded, origin, users):
    origin.serve(lambda request: FEED)
    proxy = guarded(origin)
    assert proxy.get("/feed", own()).status == 200
    users.write_text(f"bob:{HASHES['x']}\nalice:opensesame\nmallory\n")
    proxy.reload(REFUSED)
    proxy.says(f"{users}:2: the hash of 'alice' is not of a kind that utfeed takes; write bcrypt")
    proxy.says(f"{users}:3: is not NAME:HASH")
    assert "opensesame" not in proxy.err.text() and "mallory" not in proxy.err.text()
    users.unlink()
    proxy.reload(REFUSED)
    assert proxy.get("/feed", own()).status == 200
    assert_own(proxy.get("/feed"))


def test_switched_on_and_off(start, origin, users, tmp_path):
    """By a reload; connections that are open are asked from then on."""
    origin.serve(lambda request: FEED)
    conf = tmp_path / "utfeed.conf"
    conf.write_text(f"[route /]\norigin = {origin.url}\n")
    proxy = start(None, "-c", str(conf))
    client = proxy.client()
    for text, status in (("", 200), (f"client-auth = {users}\n", 401), ("", 200), (f"client-auth = {users}\n", 401)):
        conf.write_text(f"{text}[route /]\norigin = {origin.url}\n")
        proxy.reload()
        assert client.get("/feed").status == status
        assert client.get("/feed", own()).status == 200


def test_client_allow_counts_first(guarded, origin):
    proxy = guarded(origin, "--client-allow", "127.0.0.2")
    got = proxy.get("/feed", own())
    assert got.status == 403 and b"client-allow" in got.body


def test_over_tls(listening, origin, authority, users):
    origin.serve(lambda request: FEED)
    proxy = listening(origin, "--client-auth", str(users))
    client = TlsClient(proxy.tls_port, client_context(authority.root, ssl.TLSVersion.TLSv1_3))
    assert_own(client.get("/feed", host="localhost"))
    assert client.get("/feed", own(), host="localhost").status == 200
    assert client.get(ALICE + "/feed", host="localhost").status == 200
    client.close()


def test_other_hashes(start, origin, tmp_path):
    """yescrypt and SHA-512, as mkpasswd makes them; bcrypt as htpasswd calls it."""
    origin.serve(lambda request: FEED)
    users = tmp_path / "users"
    users.write_text("# who reads here\n\ny:$y$j1T$abcdefgh$qzwqVcEWE0mPi.yJeqj8t1Kot7pInV7Cuz1vrjXf0r.\r\n"
                     "six:$6$rounds=1000$abcdefgh$Xh.7.kL3HzhnviFlsn40n4gUrDaYioIIiDlHiWZorP18.1JsnixO1BkqKbso/o60j4iwJz6yRdVGlrUTIYtXT/\n"
                     f"two:{HASHES['open sesame'].replace('2b', '2y')}")
    proxy = start(origin, "--client-auth", str(users))
    proxy.says("everybody on this machine may read")
    for name in ("y", "six", "two"):
        assert proxy.get("/feed", own(name, "open sesame")).status == 200
        assert_own(proxy.get("/feed", own(name, "open sesame ")))


@pytest.mark.parametrize("options, word", [
    (["--listen", "0.0.0.0:8080", "--client-allow", "0.0.0.0/0"], "passwords (client-auth) come to 0.0.0.0 without TLS"),
    (["--listen", "127.0.0.1:8080"], None),
])
def test_tls_is_wanted(users, options, word):
    done = subprocess.run([BINARY, "serve", "--check-config", "--client-auth", str(users), *options], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=True, timeout=PATIENCE)
    assert (word or "") in done.stdout and ("without TLS" in done.stdout) == bool(word)


# ---- CONNECT ----

def to(origin):
    return f"127.0.0.1:{origin.port}"


def test_connect(guarded, origin):
    proxy = guarded(None, "--connect-allow", to(origin))
    for fields in ((), (own(),), (proxied("alice", "wrong"),)):
        client = proxy.client().ask(to(origin), *fields, method="CONNECT", host=to(origin))
        client.send(b"\x16\x03\x01" if fields else b"")
        assert_proxys(client.response(method="GET"))
        assert client.is_ended()
    assert not origin.asked()
    client = proxy.client().ask(to(origin), proxied(), method="CONNECT", host=to(origin))
    upstream = origin.accept()
    assert client.response().status == 200
    client.send(b"hello")
    assert upstream.sock.recv(5) == b"hello"
    client.close()


def test_a_tunnel_of_a_removed_user_ends(guarded, origin, users):
    """By the reload that removes the user, and no other's: not that of who has another password now."""
    proxy = guarded(None, "--connect-allow", to(origin), "--workers", "2")
    tunnels = {}
    for name in ("alice", "bob", "jö"):
        client = proxy.client().ask(to(origin), proxied(name), method="CONNECT", host=to(origin))
        tunnels[name] = client, origin.accept()
        assert client.response().status == 200
    write(users, {"alice": "x", "jö": USERS["jö"]})
    proxy.reload()
    client, upstream = tunnels.pop("bob")
    assert client.is_ended() and upstream.is_ended() and (client.stream.ended, upstream.stream.ended) == ("reset", "reset")
    line = proxy.access_lines(1)[0]
    assert b" user=bob " in line and b" end=revoked " in line
    for client, upstream in tunnels.values():
        client.send(b"hello")
        assert upstream.sock.recv(5) == b"hello"
        client.close()
    assert proxy.counters()["tunnels_revoked"] == 1


@pytest.mark.http1_origin("a parent proxy, which the origin speaks for")
def test_a_tunnel_that_comes_behind_the_reload(guarded, origin, users):
    """The parent proxy answers when the user has left already."""
    proxy = guarded(None, "--connect-allow", "h.test:443", "--https-proxy", origin.url)
    client = proxy.client().ask("h.test:443", proxied(), method="CONNECT", host="h.test:443")
    parent = origin.accept()
    origin.take(parent)
    write(users, {"bob": "x"})
    proxy.reload()
    parent.answer(b"HTTP/1.1 200 OK\r\n\r\n")
    assert client.is_ended() and parent.is_ended()
    assert b" end=revoked " in proxy.access_lines(1)[0] and proxy.counters()["tunnels_revoked"] == 1


def test_tunnels_when_the_option_comes_and_goes(start, origin, users, tmp_path):
    """A tunnel older than client-auth has no user, and ends; one of a user stays when nobody is asked any more."""
    conf = tmp_path / "utfeed.conf"
    conf.write_text(f"connect-allow = {to(origin)}\n")
    proxy = start(None, "-c", str(conf))
    client = proxy.client().ask(to(origin), method="CONNECT", host=to(origin))
    upstream = origin.accept()
    assert client.response().status == 200
    conf.write_text(f"connect-allow = {to(origin)}\nclient-auth = {users}\n")
    proxy.reload()
    assert client.is_ended() and upstream.is_ended()
    client = proxy.client().ask(to(origin), proxied(), method="CONNECT", host=to(origin))
    upstream = origin.accept()
    assert client.response().status == 200
    conf.write_text(f"connect-allow = {to(origin)}\n")
    proxy.reload()
    client.send(b"hello")
    assert upstream.sock.recv(5) == b"hello"
    client.close()


def test_connect_by_a_token(guarded, origin):
    proxy = guarded(None, "--connect-allow", to(origin))
    assert proxy.get("alice:open%20sesame@" + to(origin), method="CONNECT").status == 407


@pytest.fixture
def opening(start, authority, tmp_path, users):
    ca = OwnCa(tmp_path)

    def run(*options):
        proxy = start(None, "--tls-ca-file", authority.root.cert, *ca.options("localhost"), "--client-auth", str(users), *options)
        proxy.ca = ca
        return proxy
    return run


class Inside(InsideClient):
    """Its CONNECT has a field more."""

    field = proxied()

    def send(self, data):
        super().send(data.replace(b"\r\n\r\n", f"\r\n{self.field}\r\n\r\n".encode(), 1) if data.startswith(b"CONNECT") else data)


def test_inside_an_opened_connect(opening, tls_origin, good, users):
    """The CONNECT is asked; what is inside has its user, without a field, until the file no longer names the user."""
    secure = tls_origin(server_context(good))
    secure.serve(lambda request: FEED)
    proxy = opening()
    name = f"localhost:{secure.port}"
    assert_proxys(proxy.client().ask(name, method="CONNECT", host=name).response(method="GET"))
    client = Inside(proxy.port, name, proxy.ca.context())
    proxy.clients.append(client)
    assert client.get("/feed").status == 200
    assert client.get("/feed", own("bob", "wrong")).status == 200
    assert client.get(ALICE + "/feed").status == 200 and secure.requests[-1].target == ALICE + "/feed"
    assert not [request for request in secure.requests if {"authorization", "proxy-authorization"} & request.names()]
    write(users, {"bob": "x"})
    proxy.reload()
    got = client.get("/feed")
    assert got.status == 403 and b"client-auth" in got.body and client.is_ended()
    assert b" user=alice" in b"".join(proxy.access_lines(4))


@pytest.mark.http1("a CONNECT that utfeed looks into, for which it requires HTTP/1.1")
def test_a_tunnel_of_what_is_not_opened_ends_too(opening, origin, users):
    """intercept-else = tunnel: the connection of a removed user is a tunnel like others."""
    proxy = opening("--intercept-else", "tunnel", "--connect-allow", "localhost:*")
    client = proxy.client().ask(f"localhost:{origin.port}", proxied(), method="CONNECT", host="a")
    origin.accept().answer(b"220 no TLS\r\n", close=True)       # utfeed looks whether the origin speaks TLS
    assert client.response().status == 200
    client.send(b"hello")
    upstream = origin.accept()
    assert upstream.sock.recv(5) == b"hello"
    write(users, {"bob": "x"})
    proxy.reload()
    assert client.is_ended() and upstream.is_ended()
    assert b" end=revoked " in proxy.access_lines(1)[0]


# ---- what becomes of the credentials ----

def test_authorization_for_the_origin(start, origin, users, tmp_path):
    """On a route with authorization = on: what counted for utfeed is taken off. Beside a token or Proxy-Authorization it is the origin's,
    unless it is the same."""
    conf = tmp_path / "utfeed.conf"
    conf.write_text(f"client-auth = {users}\n[route /]\norigin = {origin.url}\nauthorization = on\n")
    origin.serve(lambda request: FEED)
    proxy = start(None, "-c", str(conf))
    other = "Basic b3RoZXI6b3RoZXI="
    for target, fields, want in (("/feed", [own()], None), (ALICE + "/feed", [f"Authorization: {other}"], other),
                                 ("/feed", [proxied(), f"Authorization: {other}"], other), ("/feed", [proxied(), own()], None),
                                 (ALICE + "/feed", [own()], None), (ALICE + "/feed", ["Authorization: Bearer t"], "Bearer t"),
                                 (ALICE + "/feed", [f"Authorization: {other}", "Connection: authorization"], None)):
        assert proxy.get(target, *fields).status == 200
        assert origin.requests[-1]["Authorization"] == want, (target, fields)
        assert "Proxy-Authorization" not in origin.requests[-1]


def test_switched_off_before_readers_know(start, origin, users, tmp_path):
    """Their Authorization for utfeed goes to the origin then: the reload says so, and only where it is sent at all."""
    ask, routes, urls = f"client-auth = {users}\n", f"[route /]\norigin = {origin.url}\nauthorization = ", "forward-credentials = on\n"
    conf = tmp_path / "utfeed.conf"
    conf.write_text(f"{ask}{routes}on\n")
    proxy = start(None, "-c", str(conf))
    for text, told in ((f"{routes}on\n", 1), (f"{ask}{routes}off\n", 1), (f"{routes}off\n", 1), (f"{ask}{routes}on\n", 1), (f"{routes}on\n", 2),
                       (f"{ask}{urls}", 2), (urls, 3)):
        conf.write_text(text)
        proxy.reload()
        assert proxy.err.text().count("client-auth is off now") == told


REFERERS = ["http://alice:open%20sesame@{host}/x", "http://{host}//alice:open%20sesame@/x", "http://{host}/alice:open%20sesame@",
            "http://{host}/alice:open%20sesame@?x", "http://{host}/x/alice%253Aopen%2520sesame%2540/", "http://{host}/?url=http://alice:open%20sesame@h/",
            "//alice:open%20sesame@{host}/x", "/alice:open%20sesame@/x", "http://{host}/alice:open%20sesame@http://h.test/feed"]


def test_no_referer_tells_it(start, origin, users, tmp_path):
    """Also not after a reload without client-auth, nor on a route that sends all fields, nor with a POST; others go on."""
    origin.serve(lambda request: FEED)
    routes = f"[route /]\norigin = {origin.url}\nrequest-fields = *\n"
    conf = tmp_path / "utfeed.conf"
    conf.write_text(f"client-auth = {users}\n{routes}")
    proxy = start(None, "-c", str(conf), "--log-format", "combined")
    for _ in range(2):
        for method in ("GET", "POST"):
            for referer in REFERERS:
                field = "Referer: " + referer.format(host=f"127.0.0.1:{proxy.port}")
                assert proxy.client().ask("/feed", own(), field, method=method).response(method="GET").status == 200
                assert "referer" not in origin.requests[-1].names()
            for referer in ("http://h.test/@user/x:y", "http://h.test/a:b@c", "http://h.test/https://h.test/feed?mail=a@b.test"):
                assert proxy.client().ask("/feed", own(), "Referer: " + referer, method=method).response(method="GET").status == 200
                assert origin.requests[-1]["Referer"] == referer
        conf.write_text(routes)
        proxy.reload()
    assert_unseen(proxy.out.text(), proxy.err.text())


TOKENS_ELSEWHERE = ["/news" + ALICE + "/feed", "/." + ALICE + "/feed", "/x/.." + ALICE + "/feed", ALICE + "%2Ffeed", ALICE + ";x/feed",
                    "/alice%253Aopen%2520sesame%2540/feed", "/alice:open%20sesame%2540/feed", "//alice:open%20sesame@/feed", ALICE,
                    "/{url}" + ALICE + "/feed", "/news/http://alice:open%20sesame@h.test/feed", ALICE + "{url}/feed", "/?url={url}" + ALICE + "/feed"]


@pytest.mark.parametrize("log", ["text", "json", "combined"])
def test_a_token_where_it_is_none_is_not_logged(guarded, origin, log):
    """It is a part of the path then, for the origin to see and for no log."""
    origin.serve(lambda request: FEED)
    proxy = guarded(origin, "--log-format", log, "--log-level", "debug")
    for target in TOKENS_ELSEWHERE:
        for fields in ((), (own(),)):
            proxy.get(target.format(url=origin.url), *fields)
    lines = proxy.access_lines(2 * len(TOKENS_ELSEWHERE))
    assert sum(b"***@" in line for line in lines) == len(lines)
    proxy.stop()
    assert_unseen(proxy.err.text(), proxy.out.text())


def test_forward_credentials(guarded, origin):
    origin.serve(lambda request: FEED)
    proxy = guarded(None, "--forward-credentials", "on")
    for fields, want in (([proxied(), "Authorization: Bearer t"], "Bearer t"), ([proxied(), own()], None), ([proxied()], None)):
        for method in ("GET", "POST"):
            assert proxy.client().ask(f"{origin.url}/feed", *fields, method=method).response(method="GET").status == 200
            assert origin.requests[-1]["Authorization"] == want and "Proxy-Authorization" not in origin.requests[-1]


def everything(proxy, origin):
    """One request by each way in, all of alice's."""
    for target, fields in ((f"{ALICE}/{origin.url}/feed", []), (f"/{origin.url}/feed", [own()]), (f"{origin.url}/feed", [proxied()]),
                           (f"{ALICE}/?url={origin.url}/feed", []), (f"{ALICE}/feed", [own()]), (f"{ALICE}/nowhere", ["X: y"]),
                           (f"/{origin.url}/feed", [own(), f"Referer: http://127.0.0.1:{proxy.port}{ALICE}/{origin.url}/x"]),
                           (f"{origin.url}/feed", [proxied(), f"Referer: http://h.test{ALICE}/"]),
                           (f"{ALICE}/https://u:sesame@h.test/", []), ("/alice:sesame@/feed", [])):
        yield proxy.get(target, *fields)
    for method in ("POST", "TRACE", "PURGE"):
        yield proxy.client().ask(f"{ALICE}/feed", own(), f"Referer: http://h.test{ALICE}/", method=method).response(method="GET")
        yield proxy.client().ask(f"{origin.url}/feed", proxied(), own(), f"Referer: http://h.test{ALICE}/", method=method).response(method="GET")


@pytest.mark.parametrize("log", ["text", "json", "combined"])
def test_nobody_sees_it(guarded, origin, tmp_path, log):
    """Neither origins nor logs nor the admin listener nor what is stored has anything of a password, also not of a wrong one."""
    origin.serve(lambda request: FEED)
    store, sock = tmp_path / "store", tmp_path / "admin"
    proxy = guarded(origin, "--cache", "on", "--cache-lmdb", str(store), "--log-format", log, "--log-level", "debug",
                    "--admin-listen", f"unix:{sock}")
    answers = list(everything(proxy, origin))
    for got in answers:
        assert_unseen(got.line, str(got.fields), got.body)
    for request in origin.requests:
        assert_unseen(request.line, str(request.fields), request.body)
    proxy.access_lines(len(answers))
    for page in ("/", "/api/feeds", "/metrics", "/feeds"):
        assert_unseen(subprocess.run(["curl", "-s", "--unix-socket", str(sock), "http://localhost" + page], stdout=subprocess.PIPE,
                                     check=True, timeout=PATIENCE).stdout)
    proxy.stop()
    assert_unseen(proxy.err.text(), proxy.out.text())
    assert_unseen(*(path.read_bytes() for path in store.iterdir()))


@pytest.mark.parametrize("part", ["GET /alice:open%20ses", "GET /alice:open%20sesame@/fe", "GET /alice:open%20sesame@/feed HTTP/1.1\r\nHos"])
def test_a_head_that_never_ends(guarded, part):
    """It is refused, and the line does not have what may be the beginning of a password."""
    proxy = guarded(None, "--request-timeout", "100ms")
    client = proxy.client()
    client.send(part.encode())
    assert client.response(method="GET").status == 408
    line = proxy.access_lines(1)[0]
    assert b" 408 " in line
    assert_unseen(line)
    assert b"ses" not in line


@pytest.mark.parametrize("tail", [" HTTP/1.1\r\nHost: h\r\nbad field\r\n\r\n", " HTTP/3.1\r\n\r\n", "\x01 HTTP/1.1\r\n\r\n", "x" * 9000 + " HTTP/1.1\r\nHost: h\r\n\r\n"])
def test_a_head_that_is_none(guarded, tail):
    proxy = guarded(None, "--log-level", "debug")
    client = proxy.client()
    client.send(f"GET {ALICE}/feed{tail}".encode())
    assert client.response(method="GET").status in (400, 414, 505)
    assert_unseen(proxy.access_lines(1)[0], proxy.err.text())


def test_one_users_response_is_anothers(guarded, origin):
    """RFC 9111 section 3.5 is about the origin's Authorization: what utfeed took off is none, and no key has it."""
    origin.serve(lambda request: message("200 OK", XML, FRESH, "Vary: Authorization, Proxy-Authorization", body=SMALL))
    proxy = guarded(origin, "--cache", "on")
    target = f"/{origin.url}/feed"
    assert "fwd=uri-miss" in proxy.get(target, own())["Cache-Status"]
    for got in (proxy.get(target, own("bob")), proxy.get("/bob:x@" + target), proxy.get(ALICE + target), proxy.get(target, proxied("jö"))):
        assert "hit" in got["Cache-Status"] and got.body == SMALL_OUT
    assert_own(proxy.get(target))
    assert_own(proxy.get(target, own("bob", "y")))
    assert len(origin.requests) == 1


@pytest.mark.parametrize("log, want", [("text", rb" user=alice route="), ("json", rb'"user":"alice"'), ("combined", rb"^127\.0\.0\.1 - alice \[")])
def test_the_log_names_the_user(guarded, origin, log, want):
    origin.serve(lambda request: FEED)
    proxy = guarded(origin, "--log-format", log)
    proxy.get("/feed", own())
    proxy.get("/feed", own("alice", "wrong"))
    proxy.get("/feed", own("jö"))
    lines = proxy.access_lines(3)
    assert re.search(want, lines[0]) and b"alice" not in lines[1]
    assert (b"j\\xc3\\xb6" in lines[2]) or "jö".encode() in lines[2]


# ---- who guesses ----

def test_guesses(guarded, origin):
    """Ten thousand at once, on connections and pipelined: as many are compared as one address may guess; the user comes in meanwhile."""
    origin.serve(lambda request: FEED)
    proxy = guarded(origin, "--workers", "2")
    statuses = []
    for number in range(20):
        client = AnyClient(proxy.port)
        heads = "".join(f"GET /feed HTTP/1.1\r\nHost: h\r\n{own('alice', f'guess {number} {turn}')}\r\n\r\n" for turn in range(500))
        sending = client.send_soon(heads.encode())
        statuses += [client.response().status for _ in range(500)]
        sending.join()
        client.close()
    assert statuses.count(401) <= GUESSES + 2 and statuses.count(429) == 10000 - statuses.count(401)
    got = proxy.get("/feed", own())
    assert got.status == 429 and 1 <= int(got["Retry-After"]) <= 30
    for field in (own(), own("bob")):
        elsewhere = Elsewhere(proxy.port)
        assert elsewhere.get("/feed", field).status == 200
        elsewhere.close()
    assert proxy.get("/feed", own()).status == 200          # remembered: it is no guess
    counters = proxy.counters()
    assert counters["logins_hurried"] == statuses.count(429) + 1 and counters["logins_compared"] <= GUESSES + 4
    assert not [request for request in origin.requests if "authorization" in request.names()]


def test_guesses_by_every_way(guarded, origin):
    """They count together."""
    proxy = guarded(origin, "--connect-allow", to(origin))
    statuses = []
    for number in range(3 * GUESSES):
        guess = f"guess{number}"
        target, fields, method = [("/feed", [own("alice", guess)], "GET"), (f"/alice:{guess}@/feed", [], "GET"),
                                  (f"{origin.url}/feed", [proxied("bob", guess)], "GET"), (to(origin), [proxied("nobody", guess)], "CONNECT"),
                                  (f"/{guess}:x@/feed", [], "HEAD")][number % 5]
        client = AnyClient(proxy.port).ask(target, *fields, method=method)
        statuses.append(client.response(method="HEAD" if method == "HEAD" else "GET").status)
        client.close()
    assert set(statuses[:GUESSES]) == {401, 407} and set(statuses[GUESSES + 2:]) == {429}


def test_guesses_of_clients_behind_a_trusted_proxy(guarded, origin):
    """They are counted for each client that it names."""
    origin.serve(lambda request: FEED)
    proxy = guarded(origin, "--trusted-proxies", "127.0.0.1", "--client-allow", "0.0.0.0/0")
    client = proxy.client()
    guessed = [client.get("/feed", own("alice", f"guess {n}"), "X-Forwarded-For: 192.0.2.1").status for n in range(2 * GUESSES)]
    assert guessed[-1] == 429 and guessed[0] == 401
    assert client.get("/feed", own(), "X-Forwarded-For: 192.0.2.2").status == 200


def test_more_than_can_be_compared(start, origin, tmp_path):
    """The queue is bounded: who finds no room hears when to come again, and may."""
    origin.serve(lambda request: FEED)
    users = tmp_path / "users"
    users.write_text(f"slow:$2b$12$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\nalice:{HASHES['open sesame']}\nbob:{HASHES['x']}\n")
    proxy = start(origin, "--client-auth", str(users))
    assert proxy.get("/feed", own()).status == 200
    clients = [Elsewhere(proxy.port, f"127.0.0.{2 + number // GUESSES}").ask("/feed", own("slow", str(number))) for number in range(5 * GUESSES)]
    assert proxy.counted("logins_busy", 1) >= 1
    turned, waiting = None, list(clients)
    while not turned:
        for client in select.select([client.sock for client in waiting], [], [], TIMEOUT)[0]:
            there = next(one for one in waiting if one.sock is client)
            got = there.response()
            waiting.remove(there)
            assert got.status in (401, 503)
            turned = got if got.status == 503 else turned
    assert turned["Retry-After"] == "1"
    assert proxy.get("/feed", own()).status == 200          # remembered: it waits for nobody
    for client in waiting:
        client.reset()          # who is gone is not compared: there is room again
    late, statuses = Elsewhere(proxy.port, "127.0.0.99"), [503]
    while statuses[-1] == 503:
        statuses.append(late.get("/feed", own("bob")).status)
    assert statuses[-1] == 200
    late.close()


def test_guesses_from_many_addresses_keep_nobody_out(start, origin, tmp_path):
    """The queue is full of guesses at names that nobody has, all of them slow. Each address has its share of it, so newcomers wait in turn:
    none is refused."""
    origin.serve(lambda request: FEED)
    slow = "$2b$11$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy"
    right = {f"reader{number}": "x" for number in range(20)}
    users = tmp_path / "users"
    write(users, right)
    with users.open("a") as file:
        file.write("".join(f"slow{number}:{slow}\n" for number in range(400)))
    proxy = start(origin, "--client-auth", str(users), "--client-allow", "127.0.0.0/8")
    guessers = [Elsewhere(proxy.port, f"127.0.1.{1 + number % 12}").ask("/feed", own(f"nobody{number}", "guess")) for number in range(120)]
    assert proxy.counted("logins_busy", 1) >= 1
    readers = [Elsewhere(proxy.port, f"127.0.2.{1 + number}").ask("/feed", own(name, "x")) for number, name in enumerate(right)]
    assert [reader.response().status for reader in readers] == [200] * len(readers)
    for guesser in guessers:
        guesser.reset()


def test_many_at_once(guarded, origin):
    """A crowd of one user that is not remembered yet: one comparison, no refusal."""
    origin.serve(lambda request: FEED)
    proxy = guarded(origin)
    clients = [proxy.client().ask("/feed", own()) for _ in range(100)]
    assert {client.response().status for client in clients} == {200}
    assert proxy.counters()["logins_hurried"] == 0


def test_sandboxed(guarded, origin, users):
    """Files and system calls are given up: passwords are compared, and the file is read again."""
    origin.serve(lambda request: FEED)
    proxy = guarded(origin, "--sandbox", "on")
    assert proxy.get("/feed", own()).status == 200
    new = users.with_name("new")
    write(new, {"alice": "x"})
    os.replace(new, users)
    proxy.reload()
    assert proxy.get("/feed", own("alice", "x")).status == 200
    assert_own(proxy.get("/feed", own()))
