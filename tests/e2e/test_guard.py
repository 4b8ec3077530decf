"""The guard: whatever a client writes, nothing inside is connected to. A canary listens on every address of this machine; the
port is open (*:PORT), so that only the address stands between it and the client."""
import os
import socket
import ssl
import subprocess

import pytest

from certs import client_context
from feeds import SMALL, SMALL_OUT
from peers import TlsClient
from proxy import BINARY
from wire import PATIENCE, TIMEOUT, message

FEED = message("200 OK", "Content-Type: application/xml", body=SMALL)

INSIDE = """
    127.0.0.1 127.0.0.2 127.1.2.3 127.255.255.254 0.0.0.0 0.0.0.1 [::1] [::] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001]
    [::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:7F00:0001] [::ffff:0.0.0.0] [::127.0.0.1] [::7f00:1] [::ffff:0:127.0.0.1]
    [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::127.0.0.1] [2002:7f00:1::] [2002:7f00:1::1] [2001:0:7f00:1::] [fe80::1] [fc00::1]
    [fd00:ec2::254] [ff02::1] [2001:db8::1] 10.0.0.1 100.64.0.1 169.254.169.254 172.16.0.1 192.168.0.1 192.0.0.1 198.18.0.1 224.0.0.1
    255.255.255.255 localhost localhost. LOCALHOST foo.localhost
""".split()

SPELLED = """
    127.1 127.0.1 0x7f.1 0X7F.0.0.1 0x7f000001 0x7F000001 0177.0.0.1 0177.1 017700000001 127.0.0.01 127.0.0.0x1 2130706433 0 00 0x0 1
    127.0.0.1. 127.1. 2130706433. 127.0.0.1.. 0x7f.0x0.0x0.0x1 127.000.000.001 4294967297 127.0.0.257 [127.0.0.1] [localhost] [::1%25lo]
    [fe80::1%25lo] %31%32%37.0.0.1 127%2e0%2e0%2e1 127%2E0.0.1 loc%61lhost 127%E3%80%820%E3%80%820%E3%80%821 127%00.0.0.1 user@127.0.0.1
    user:x@127.0.0.1 example.org@127.0.0.1 example.org%40127.0.0.1 127.0.0.1%23.example.org 127.0.0.1\\.example.org example.org\\@127.0.0.1
    ::1 [::1 ::1] .127.0.0.1 127..0.1
""".split() + ["127\u3002" + "0.0.1", "127\uff0e0.0.1", "127\uff610.0.1", "\uff11\uff12\uff17.0.0.1", "\u2460\u2461\u2466.0.0.1",
               "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3", "loc\u00adalhost"]


@pytest.fixture(scope="module")
def guarded(start_once, old_canary):
    return start_once(None, "--allow", f"*:{old_canary.port}", guarded=True)


def ways(host, port):
    """A URL to host in every way a client can put one, as the request line's target in bytes."""
    url = f"http://{host}:{port}/feed"
    text = (url, f"/{url}", f"/http:/{host}:{port}/feed", f"/?url={url}", "/?url=" + url.replace(":", "%3A").replace("/", "%2f"),
            url.replace("http", "HTTP"), f"/https://{host}:{port}/feed", f"https://{host}:{port}/feed")
    return [each.encode() for each in text]


def ask(proxy, target):
    client = proxy.client()
    client.send(b"GET " + target + b" HTTP/1.1\r\nHost: feeds.test\r\nConnection: close\r\n\r\n")
    got = client.response()
    client.close()
    return got


def test_the_canary_sings(start, canary):
    """Without the guard's objection the same request gets there."""
    open_to = start(None, "--allow", f"127.0.0.0/8:{canary.port}", guarded=True)
    client = open_to.client().ask(f"http://127.0.0.1:{canary.port}/feed")
    canary.socket.settimeout(PATIENCE)
    canary.socket.accept()[0].close()
    assert client.response().status == 502


@pytest.mark.parametrize("host", INSIDE)
def test_inside_addresses(guarded, old_canary, host):
    for target in ways(host, old_canary.port):
        got = ask(guarded, target)
        if host.lower().strip(".") != "foo.localhost" or got.status not in (502, 504):     # a name that may not be found
            assert got.status == 403 and "error=destination_ip_prohibited" in got["Proxy-Status"], (target, got.line)
    assert not old_canary.came()


@pytest.mark.parametrize("host", SPELLED)
def test_spellings(guarded, old_canary, host):
    for target in ways(host, old_canary.port):
        got = ask(guarded, target)
        assert got.status in (400, 403), (target, got.status, got["Proxy-Status"])
    assert not old_canary.came()


@pytest.mark.parametrize("port", [1, 22, 25, 79, 81, 442, 444, 6379, 8080, 65535])
def test_ports(start, port):
    proxy = start(None, guarded=True)
    for target in ways("192.0.2.1", port) + ways("feeds.example", port):
        assert ask(proxy, target).status == 403


def test_refusals_are_told_and_counted(start, canary):
    proxy = start(None, guarded=True)
    got = proxy.get("/http://127.0.0.1/")
    assert (got.status, got["Content-Type"]) == (403, "text/plain; charset=utf-8")
    assert got["Proxy-Status"].startswith("utfeed; error=destination_ip_prohibited; details=\"loopback (RFC 1122")
    assert b"closed" in got.body and "127.0.0.1" not in got["Proxy-Status"]
    assert proxy.get("/http://0x7f.1/").status == 403
    assert proxy.get(f"/http://example.org:{canary.port}/").status == 403
    proxy.process.send_signal(10)
    proxy.stop()
    told = proxy.err.text()
    assert "destinations_refused 3\n" in told and "fetches_failed 0\n" in told and "destination_ip_prohibited" in told


def test_routes_go_where_they_point(start, origin):
    proxy = start(origin, guarded=True)
    got, _ = proxy.through(origin, FEED)
    assert got.body == SMALL_OUT


def redirecting(origin, to):
    origin.serve(lambda request: message("302 Found", f"Location: {to}"))


def test_redirects_are_held_to_it(start, origin, canary):
    """Each hop of a client's URL, and the hops of a route that lead away from its origin."""
    proxy = start(origin, "--allow", f"127.0.0.1:{origin.port}", "--allow", f"*:{canary.port}", guarded=True)
    route = start(None, "--route", f"/={origin.url} follow-redirects=on", "--allow", f"*:{canary.port}", guarded=True)
    redirecting(origin, f"http://127.0.0.2:{canary.port}/")
    for got in (proxy.get(f"/{origin.url}/feed"), route.get("/feed")):
        assert got.status == 403 and "destination_ip_prohibited" in got["Proxy-Status"]
    assert not canary.came()


@pytest.mark.parametrize("host", ["[::ffff:127.0.0.1]", "localhost", "0x7f.1", "2130706433", "[::1]", "0.0.0.0"])
def test_redirects_to_spellings(start, origin, canary, host):
    proxy = start(None, "--allow", f"127.0.0.1:{origin.port}", "--allow", f"*:{canary.port}", guarded=True)
    redirecting(origin, f"http://{host}:{canary.port}/")
    assert proxy.get(f"/{origin.url}/feed").status == 403
    assert not canary.came()


def test_a_connection_of_a_route_is_not_lent(start, origin):
    """An idle connection that a route left serves no client's URL."""
    origin.serve(lambda request: FEED)
    proxy = start(origin, guarded=True)
    assert proxy.get("/feed").body == SMALL_OUT
    assert proxy.get(f"/{origin.url}/feed").status == 403


def test_deny_counts_before_allow(start, origin):
    proxy = start(None, "--allow", "127.0.0.0/8:*", "--deny", f"127.0.0.1:{origin.port}", guarded=True)
    assert proxy.get(f"/{origin.url}/feed").status == 403
    assert not origin.asked()


def test_lists_by_variable_and_file(start, origin, tmp_path):
    assert start(None, env={"UTFEED_ALLOW": "127.0.0.0/8:*", "UTFEED_DENY": "127.0.0.1"}, guarded=True).get(f"/{origin.url}/").status == 403
    file = tmp_path / "utfeed.conf"
    file.write_text("allow = .example.org\nallow = 127.0.0.1:*\ndeny = 127.0.0.2\n")
    proxy = start(None, "-c", str(file), guarded=True)
    assert proxy.through(origin, FEED, f"/{origin.url}/feed")[0].body == SMALL_OUT
    assert proxy.get(f"/http://127.0.0.2:{origin.port}/").status == 403


@pytest.mark.parametrize("source", ["file", "flag", "variable"])
def test_lists_with_commas(start, origin, tmp_path, source):
    """Each member counts, wherever it stands; a second line or flag adds to them."""
    lists = {"allow": "127.0.0.3:*, 127.0.0.1:*", "deny": "127.0.0.9,127.0.0.3:*", "connect-allow": ".example.org,127.0.0.1:* 127.0.0.3:*"}
    env, flags = {}, []
    if source == "file":
        (tmp_path / "utfeed.conf").write_text("".join(f"{name} = {value}\n" for name, value in lists.items()) + "allow = 127.0.0.4:*\n")
        flags = ["-c", str(tmp_path / "utfeed.conf")]
    elif source == "flag":
        flags = [word for name, value in lists.items() for word in (f"--{name}", value)] + ["--allow", "127.0.0.4:*"]
    else:
        env = {f"UTFEED_{name.upper().replace('-', '_')}": value for name, value in lists.items()}
        env["UTFEED_ALLOW"] += "; 127.0.0.4:*"
    proxy = start(None, *flags, env=env, guarded=True)
    assert proxy.through(origin, FEED, f"/{origin.url}/feed")[0].body == SMALL_OUT
    assert proxy.get(f"/http://127.0.0.3:{origin.port}/").status == 403 and proxy.get(f"/http://127.0.0.4:{origin.port}/").status == 502
    assert proxy.get(f"127.0.0.1:{origin.port}", method="CONNECT").status == 200
    assert proxy.get(f"127.0.0.3:{origin.port}", method="CONNECT").status == 403


def test_rebinding(start, origin, canary, hosts):
    """A name that first resolves to an open address and then to a closed one."""
    proxy = start(None, *hosts("127.0.0.1 feeds.example"), "--allow", f"127.0.0.1:{origin.port}", "--allow", f"*:{origin.port}",
                  "--allow", f"*:{canary.port}", guarded=True)
    url = f"/http://feeds.example:{origin.port}/feed"
    assert proxy.through(origin, FEED, url)[0].body == SMALL_OUT
    assert proxy.get(f"/http://feeds.example:{canary.port}/feed").status == 403
    for address in ("127.0.0.2", "::1", "0.0.0.0", "::ffff:127.0.0.2", "10.0.0.1"):
        hosts(f"{address} feeds.example")
        got = proxy.get(f"/http://feeds.example:{canary.port}/feed")
        assert got.status == 403 and "destination_ip_prohibited" in got["Proxy-Status"]
    assert not canary.came()


def test_closed_addresses_of_a_name_are_passed_over(start, origin, hosts):
    proxy = start(None, *hosts("127.0.0.9 feeds.example", "127.0.0.1 feeds.example"), "--allow", "127.0.0.1:*",
                  "--allow", f"*:{origin.port}", guarded=True)
    got, _ = proxy.through(origin, FEED, f"/http://feeds.example:{origin.port}/feed")
    assert got.body == SMALL_OUT


def test_other_clients_get_403(start, origin):
    proxy = start(origin, "--client-allow", "10.0.0.0/8, 192.0.2.1", "--client-allow", "::1")
    client = proxy.client()
    got = client.response()
    assert got.status == 403 and b"client-allow" in got.body and got["Connection"] == "close"
    client.half_close()
    assert client.is_ended()
    assert proxy.client().ask("/feed", version="HTTP/1.0").response().status == 403
    assert not origin.asked()
    proxy.process.send_signal(10)
    proxy.stop()
    assert "clients_forbidden 2\n" in proxy.err.text()
    assert b" 403 " in proxy.out.lines[-1]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_other_clients_get_no_handshake(listening, origin, authority, version):
    """issue 31, A 1: a handshake is work, which is done for nobody whom client-allow does not name."""
    proxy = listening(origin, "--client-allow", "10.0.0.0/8")
    for _ in range(3):
        with pytest.raises(ssl.SSLError, match="(?i)access.denied"):
            TlsClient(proxy.tls_port, client_context(authority.root, version))
    proxy.says("refused before the handshake: client-allow")
    counted = proxy.counters()
    assert counted["clients_forbidden"] == 3 and counted["clients_accepted"] == counted["tls_failed"] == 0
    assert not origin.asked() and not proxy.out.lines


@pytest.mark.parametrize("told,served", [(b"192.0.2.1", True), (b"198.51.100.1", False)])
def test_the_client_that_a_proxy_tells_is_judged_before_tls(listening, origin, authority, told, served):
    """issue 31, A 1: by the PROXY protocol it is known before the handshake."""
    origin.serve(lambda request: FEED)
    proxy = listening(origin, "--trusted-proxies", "127.0.0.1", "--client-allow", "192.0.2.0/24", "--proxy-protocol", "on")
    with socket.create_connection(("127.0.0.1", proxy.tls_port), TIMEOUT) as sock:
        sock.sendall(b"PROXY TCP4 " + told + b" 127.0.0.1 258 443\r\n")
        if served:
            with client_context(authority.root).wrap_socket(sock, server_hostname="localhost") as client:
                client.sendall(b"GET /feed HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert client.recv(12) == b"HTTP/1.1 200"
            return
        with pytest.raises(ssl.SSLError, match="(?i)access.denied"):
            client_context(authority.root).wrap_socket(sock, server_hostname="localhost")
    assert proxy.counters()["clients_forbidden"] == 1 and not origin.asked()


def test_who_is_turned_away_takes_no_place(listening, origin, authority):
    """issue 31, A 3: no idle connection of another client ends for its sake."""
    origin.serve(lambda request: FEED)
    proxy = listening(origin, "--client-allow", "127.0.0.1", "--max-connections", "1", "--workers", "1")
    client = proxy.client()
    assert client.get("/feed").status == 200
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", proxy.tls_port), TIMEOUT, ("127.0.0.2", 0)) as other:
            with pytest.raises(ssl.SSLError, match="(?i)access.denied"):
                client_context(authority.root).wrap_socket(other, server_hostname="localhost")
    assert client.get("/feed").status == 200 and proxy.counters()["clients_given_up"] == 0


def test_allowed_clients_are_served(start, origin):
    got, _ = start(origin, "--client-allow", "10.0.0.0/8", "--client-allow", "127.0.0.1").through(origin, FEED)
    assert got.body == SMALL_OUT


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[2001:db8::1]:0", "[::ffff:192.0.2.1]:0"])
def test_no_start_for_everybody_by_accident(listen):
    for action in ([], ["--check-config"]):
        done = subprocess.run([BINARY, "serve", "--listen", listen, *action], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
                              check=False, env={k: v for k, v in os.environ.items() if not k.startswith("UTFEED_")})
        assert done.returncode != 0 and b"client-allow = 192.168.0.0/16" in done.stderr
