"""CONNECT: off unless connect-allow names the target; then bytes both ways as they are, each side's end passed on, and the guard
before every connection. Source: RFC 9110 section 9.3.6, RFC 9112 section 3.2.3."""
import os
import re
import shutil
import signal
import socket
import struct
import subprocess

import pytest

from certs import client_context, server_context
from feeds import SMALL
from peers import Background, TlsClient, deaf_port
from test_faults import error_of
from test_guard import INSIDE, SPELLED
from test_process import refuses
from wire import Cut, TIMEOUT, message

LARGE = 20 << 20


def to(origin, port=None):
    return f"127.0.0.1:{port or origin.port}"


@pytest.fixture
def tunnelling(start, origin):
    return lambda *options: start(None, "--connect-allow", to(origin), *options)


@pytest.fixture(params=["plain", "tls"])
def tunnel(request, start, origin, listening, authority):
    """tunnel(option...) gives (utfeed, client, upstream): both ends of one, its client over TCP or TLS."""
    def make(*options):
        options = ("--connect-allow", to(origin), *options)
        if request.param == "plain":
            proxy = start(None, *options)
            client = proxy.client()
        else:
            proxy = listening(None, *options)
            client = TlsClient(proxy.tls_port, client_context(authority.root))
            proxy.clients.append(client)
        return proxy, client, opened(client, origin)
    return make


def opened(client, origin, early=b"", **kind):
    """The origin's end of client's new tunnel."""
    version = kind.get("version", "HTTP/1.1")
    client.method = "CONNECT"
    client.send(f"CONNECT {to(origin)} {version}\r\nHost: {to(origin)}\r\n\r\n".encode() + early)
    got = client.response()
    assert got.status == 200 and got["Proxy-Status"] == f'utfeed; next-hop="{to(origin)}"', got.fields
    assert got.names() == {"proxy-status"}
    return origin.accept()


def read(peer, count):
    into = []
    peer.stream.exactly(count, into)
    return b"".join(into)


def last_line(proxy, count=1):
    """The words of the count-th access line that a program would look for."""
    return re.search(rb"CONNECT (\S+) (\d+) (\d+) .*?(?: received=(\d+))? time=\S+ end=(\w+)", proxy.access_lines(count)[-1]).groups()


def counters(proxy):
    proxy.process.send_signal(signal.SIGUSR1)
    proxy.stop()
    return dict(re.findall(r"^(\w+) (\d+)$", proxy.err.text(), re.MULTILINE))


def pattern(seed):
    return bytes((seed + 7 * n + n // 251) & 0xff for n in range(1 << 16)) * (LARGE >> 16)


def test_off_by_default(start, origin):
    """And what comes behind it is no request: it was meant for the other end."""
    client = start(origin).client()
    client.send(f"CONNECT {to(origin)} HTTP/1.1\r\nHost: a\r\n\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    got = client.response()
    assert got.status == 405 and sorted(got.tokens("Allow")) == ["get", "head"] and got["Connection"] == "close"
    assert b"http://UTFEED:PORT/https://127.0.0.1/FEED" in got.body and b"upgrade-https" in got.body and b"connect-allow" in got.body
    client.half_close()
    assert client.is_ended() and not origin.asked()


def test_twenty_megabytes_both_ways_at_once(tunnel):
    proxy, client, upstream = tunnel()
    up, down = pattern(1), pattern(2)
    other = Background(upstream.exchange, down, LARGE)
    assert client.exchange(up, LARGE) == down and other.join() == up
    upstream.half_close()
    assert client.is_ended()
    client.half_close()
    assert upstream.is_ended()
    assert last_line(proxy)[1:] == (b"200", b"%d" % LARGE, b"%d" % LARGE, b"done")
    count = counters(proxy)
    assert (count["tunnels"], count["tunnel_bytes_up"], count["tunnel_bytes_down"]) == ("1", str(LARGE), str(LARGE))


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl")
@pytest.mark.parametrize("version", ["--proxytunnel", "--proxy1.0"])
def test_curl(start, tls_origin, good, authority, version):
    origin = tls_origin(server_context(good))
    origin.serve(lambda request: message("200 OK", "Content-Type: text/xml", body=SMALL))
    proxy = start(None, "--connect-allow", f"localhost:{origin.port}")
    where = [version, f"127.0.0.1:{proxy.port}"] if version == "--proxy1.0" else ["-p", "-x", f"http://127.0.0.1:{proxy.port}"]
    clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(["curl", "-sS", "--max-time", str(TIMEOUT), "--cacert", authority.root.cert, *where, f"{origin.url}/feed"],
                          capture_output=True, env=clean, check=False)
    assert done.stdout == SMALL and done.returncode == 0, done.stderr.decode()
    assert [request.target for request in origin.requests] == ["/feed"]


@pytest.mark.parametrize("first", ["client", "origin"])
def test_one_side_ends_the_other_goes_on(tunnelling, origin, first):
    proxy = tunnelling()
    client = proxy.client()
    ends = [client, opened(client, origin)]
    speaker, listener = ends if first == "client" else ends[::-1]
    speaker.send(b"the last of it")
    speaker.half_close()
    assert read(listener, 14) == b"the last of it" and listener.is_ended()
    listener.send(b"x" * 300_000)
    assert read(speaker, 300_000) == b"x" * 300_000
    listener.half_close()
    assert speaker.is_ended() and speaker.stream.ended == "fin" == listener.stream.ended
    assert last_line(proxy)[-1] == b"done"


def test_the_origin_s_end_is_a_close_notify(tunnel):
    """A TLS client's library raises on an end without one."""
    _, client, upstream = tunnel()
    upstream.send(b"all")
    upstream.half_close()
    assert read(client, 3) == b"all" and client.is_ended()
    client.send(b"more")
    assert read(upstream, 4) == b"more"


def test_a_full_socket_delays_the_end_only(tunnel):
    """The end of 4 MiB that the client takes late comes behind them, over TLS as a close_notify."""
    _, client, upstream = tunnel()
    sending = upstream.send_soon(b"y" * (4 << 20))
    sent = Background(lambda: (sending.join(), upstream.half_close()))
    assert read(client, 4 << 20) == b"y" * (4 << 20) and client.is_ended()
    sent.join()


@pytest.mark.parametrize("side", ["client", "origin"])
def test_a_reset_is_passed_on_as_one(tunnelling, origin, side):
    proxy = tunnelling()
    client = proxy.client()
    upstream = opened(client, origin)
    client.send(b"1")
    upstream.send(b"2")
    assert read(upstream, 1) == b"1" and read(client, 1) == b"2"
    (client if side == "client" else upstream).reset()
    left = upstream if side == "client" else client
    assert left.is_ended() and left.stream.ended == "reset"
    assert last_line(proxy)[1:] == (b"200", b"1", b"1", b"dropped" if side == "client" else b"cut")


@pytest.mark.parametrize("side", ["client", "origin"])
def test_a_reset_while_the_other_side_takes_nothing(tunnelling, origin, side):
    """Nobody reads the one that is gone: it is not the tunnel's idle time that ends it."""
    proxy = tunnelling()
    client = proxy.client(receive_buffer=4096)
    upstream = opened(client, origin)
    gone, left = (client, upstream) if side == "client" else (upstream, client)
    gone.push(b"z" * 65536, 256 << 20)
    gone.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    gone.close()
    assert last_line(proxy)[-1] == (b"dropped" if side == "client" else b"cut")
    with pytest.raises(Cut):
        left.stream.exactly(1 << 40, [])


def test_a_tls_client_without_close_notify_resets_the_origin(listening, origin, authority):
    proxy = listening(None, "--connect-allow", to(origin))
    client = TlsClient(proxy.tls_port, client_context(authority.root))
    upstream = opened(client, origin)
    client.sock.shutdown(socket.SHUT_WR)
    assert upstream.is_ended() and upstream.stream.ended == "reset"
    assert last_line(proxy)[-1] == b"dropped"
    client.close()


def test_idle_timeout(tunnelling, origin):
    proxy = tunnelling("--tunnel-idle-timeout", "1s")
    client = proxy.client()
    upstream = opened(client, origin)
    assert client.is_ended() and upstream.is_ended() and (client.stream.ended, upstream.stream.ended) == ("reset", "reset")
    assert last_line(proxy)[1:] == (b"200", b"0", b"0", b"idle")
    assert counters(proxy)["tunnels_idle"] == "1"


@pytest.mark.parametrize("size", [1, 5000, 200_000])
def test_early_data(tunnelling, origin, size):
    """Sent behind the head without waiting for the answer; much of it only as far as it is read."""
    data = (b"\x16\x03\x01 and so on " * 20_000)[:size]
    client = tunnelling("--max-header-bytes", "8k").client()
    client.method = "CONNECT"
    sending = client.send_soon(f"CONNECT {to(origin)} HTTP/1.1\r\nHost: a\r\n\r\n".encode() + data)
    assert client.response().status == 200
    upstream = origin.accept()
    assert read(upstream, size) == data
    sending.join()
    upstream.send(b"here")
    assert read(client, 4) == b"here"


def test_early_data_and_the_end(tunnelling, origin):
    client = tunnelling().client()
    client.method = "CONNECT"
    client.send(f"CONNECT {to(origin)} HTTP/1.1\r\nHost: a\r\n\r\n".encode() + b"all there is")
    client.half_close()
    assert client.response().status == 200
    upstream = origin.accept()
    assert read(upstream, 12) == b"all there is" and upstream.is_ended()
    upstream.send(b"thanks")
    upstream.close()
    assert read(client, 6) == b"thanks" and client.is_ended()


def test_behind_another_request(start, origin, another):
    """A connection that served a request first; both sent at once."""
    site = another()
    proxy = start(site, "--connect-allow", to(origin))
    client = proxy.client()
    client.send(f"GET /css HTTP/1.1\r\nHost: a\r\n\r\nCONNECT {to(origin)} HTTP/1.1\r\nHost: a\r\n\r\nearly".encode())
    site.receive().answer(message("200 OK", "Content-Type: text/css", body=b"a{}"))
    assert client.response(method="GET").body == b"a{}"
    assert client.response(method="CONNECT").status == 200
    assert read(origin.accept(), 5) == b"early"


def test_http_1_0(tunnelling, origin):
    client = tunnelling().client()
    upstream = opened(client, origin, version="HTTP/1.0")
    upstream.send(b"hello")
    assert read(client, 5) == b"hello"


@pytest.mark.parametrize("field", ["Content-Length: {}", "Transfer-Encoding: chunked"])
def test_a_body_is_refused(tunnelling, origin, field):
    """Nobody could say whether what follows is content or the tunnel's."""
    client = tunnelling().client()
    hidden = b"GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"
    client.send(f"CONNECT {to(origin)} HTTP/1.1\r\nHost: a\r\n{field.format(len(hidden))}\r\n\r\n".encode() + hidden)
    got = client.response()
    assert got.status == 413 and got["Connection"] == "close"
    client.half_close()
    assert client.is_ended() and not origin.asked()


def test_content_length_0_says_what_is_so(tunnelling, origin):
    client = tunnelling().client()
    client.ask(to(origin), "Content-Length: 0", method="CONNECT")
    assert client.response().status == 200


@pytest.mark.parametrize("target", ["127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", ":443", "/", "http://127.0.0.1:{port}",
                                    "http://127.0.0.1:{port}/", "u@127.0.0.1:{port}", "127.0.0.1:{port}/", "[127.0.0.1]:{port}",
                                    "127.0.0.1:{port}?", "*"])
def test_other_targets_are_400(start, origin, target):
    client = start(None, "--connect-allow", "*:*").client().ask(target.format(port=origin.port), method="CONNECT")
    got = client.response()
    assert got.status == 400 and "close" in got.tokens("Connection") and client.is_ended() and not origin.asked()


@pytest.fixture(scope="module")
def caged(start_once, old_canary):
    """Tunnels may go anywhere on the canary's port, as far as connect-allow is concerned."""
    return start_once(None, "--connect-allow", f"*:{old_canary.port}", "--allow", f"*:{old_canary.port}", guarded=True)


def connect_to(proxy, authority):
    client = proxy.client()
    client.send(b"CONNECT " + authority.encode() + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    return client.response(method="CONNECT")


@pytest.mark.parametrize("host", INSIDE)
def test_inside_addresses(caged, old_canary, host):
    got = connect_to(caged, f"{host}:{old_canary.port}")
    if host.lower().strip(".") != "foo.localhost" or got.status not in (502, 504):     # a name that may not be found
        assert got.status == 403 and error_of(got) == "destination_ip_prohibited", got.line
    assert not old_canary.came()


@pytest.mark.parametrize("host", SPELLED)
def test_spellings(caged, old_canary, host):
    assert connect_to(caged, f"{host}:{old_canary.port}").status in (400, 403)
    assert not old_canary.came()


def test_the_canary_sings(start, canary):
    proxy = start(None, "--connect-allow", f"*:{canary.port}", "--allow", f"127.0.0.0/8:{canary.port}", guarded=True)
    assert connect_to(proxy, f"127.0.0.1:{canary.port}").status == 200 and canary.came()


def test_rebinding(start, origin, canary, hosts):
    """A name that first resolves to an open address and then to a closed one."""
    proxy = start(None, *hosts("127.0.0.1 feeds.example"), "--connect-allow", "feeds.example:*", "--allow", f"127.0.0.1:{origin.port}",
                  guarded=True)
    assert connect_to(proxy, f"feeds.example:{origin.port}").status == 200
    for address in ("127.0.0.1", "127.0.0.2", "::1", "0.0.0.0", "::ffff:127.0.0.2", "10.0.0.1"):
        hosts(f"{address} feeds.example")
        got = connect_to(proxy, f"feeds.example:{canary.port}")
        assert got.status == 403 and error_of(got) == "destination_ip_prohibited"
    assert not canary.came()


@pytest.mark.parametrize("allow,target", [("*", "feeds.example:80"), ("*", "8.8.8.8:8443"), ("feeds.example", "feeds.example:8443"),
                                          ("feeds.example:8443", "feeds.example:443"), ("8.8.8.0/24:993", "8.8.8.8:443"),
                                          (".feeds.example", "other.example:443"), ("feeds.example", "8.8.8.8:443")])
def test_what_the_list_does_not_name(start, allow, target):
    proxy = start(None, "--connect-allow", allow)
    got = connect_to(proxy, target)
    assert got.status == 403 and 'details="not in connect-allow"' in got["Proxy-Status"]
    assert last_line(proxy)[1:] == (b"403", b"%d" % len(got.body), None, b"done")
    assert counters(proxy)["destinations_refused"] == "1"


def test_deny_counts_first(start, origin):
    got = connect_to(start(None, "--connect-allow", "*:*", "--deny", "127.0.0.1"), to(origin))
    assert got.status == 403 and "denied" in got["Proxy-Status"] and not origin.asked()


def test_a_closed_port_is_502(start, origin):
    port = origin.port
    origin.stop_listening()
    got = connect_to(start(None, "--connect-allow", "*:*"), to(None, port))
    assert got.status == 502 and error_of(got) == "connection_refused"


def test_a_deaf_origin_is_504(start):
    with deaf_port() as port:
        got = connect_to(start(None, "--connect-allow", "*:*", "--connect-timeout", "300ms"), to(None, port))
    assert got.status == 504 and error_of(got) == "connection_timeout"


def test_a_client_that_leaves_while_connecting(start):
    """Its line tells; utfeed ends cleanly with the connection still under way."""
    with deaf_port() as port:
        proxy = start(None, "--connect-allow", "*:*")
        client = proxy.client().ask(to(None, port), method="CONNECT")
        client.reset()
        assert last_line(proxy)[1:] == (b"0", b"0", None, b"dropped")
        proxy.client().ask(to(None, port), method="CONNECT").drained()
        proxy.sigterm()
        refuses(proxy.port)            # two signals at once are one, which waits for drain-timeout
        proxy.sigterm()
        proxy.stop()


@pytest.mark.parametrize("slow", ["client", "origin"])
def test_a_slow_reader_stops_the_other_side(tunnelling, origin, slow):
    """What is held does not grow with what is sent; nothing of it is lost."""
    proxy = tunnelling()
    client = proxy.client(receive_buffer=1 << 16)
    upstream = opened(client, origin)
    reader, writer = (client, upstream) if slow == "client" else (upstream, client)
    before = proxy.status("VmRSS")
    piece = bytes(range(256)) * 4096
    went = writer.push(piece, 256 << 20)
    assert went < 64 << 20, "the other side never stopped"
    proxy.assert_growth(before, 1 << 10)
    writer.half_close()
    assert read(reader, went) == (piece * (went // len(piece) + 1))[:went] and reader.is_ended()


def test_many_idle_tunnels_hold_no_buffers(tunnelling, origin):
    proxy = tunnelling()
    warm = [proxy.client() for _ in range(8)]
    pairs = [(client, opened(client, origin)) for client in warm]
    before = proxy.status("VmRSS")
    for _ in range(100):
        client = proxy.client()
        pairs.append((client, opened(client, origin, early=b"z" * 30_000)))
        assert read(pairs[-1][1], 30_000) == b"z" * 30_000
    proxy.assert_growth(before, 100 * 16)


def test_shutdown_waits_for_tunnels_so_long(tunnelling, origin):
    proxy = tunnelling("--drain-timeout", "2s")
    client = proxy.client()
    upstream = opened(client, origin)
    proxy.sigterm()
    client.send(b"still")
    assert read(upstream, 5) == b"still"
    assert client.is_ended() and upstream.is_ended() and (client.stream.ended, upstream.stream.ended) == ("reset", "reset")
    assert proxy.wait() == 0


def test_shutdown_ends_with_the_last_tunnel(tunnelling, origin):
    proxy = tunnelling("--drain-timeout", "1h")
    client = proxy.client()
    upstream = opened(client, origin)
    proxy.sigterm()
    upstream.close()
    assert client.is_ended()
    client.close()
    assert proxy.wait() == 0 and last_line(proxy)[-1] == b"done"


def test_tunnels_count_as_connections(tunnelling, origin):
    """The next client is accepted when the tunnel is gone."""
    proxy = tunnelling("--workers", "1", "--max-connections", "1")      # a limit of each worker
    client = proxy.client()
    upstream = opened(client, origin)
    second = proxy.client().ask("/nowhere", version="HTTP/1.0")
    client.send(b"here")
    assert read(upstream, 4) == b"here" and not second.stream.held
    client.reset()
    assert upstream.is_ended()
    assert second.response().status == 404
    lines = proxy.access_lines(2)
    assert b" CONNECT " in lines[0] and b" GET /nowhere 404 " in lines[1]


def test_many_tunnels_at_once(tunnelling, origin):
    """Each carries its own bytes both ways, all at the same time."""
    proxy = tunnelling()
    pairs = []
    for number in range(40):
        client = proxy.client()
        pairs.append((number, client, opened(client, origin)))

    def run(number, client, upstream):
        up, down = b"%03d" % number * 40_000, b"%03d" % (number + 500) * 40_000
        other = Background(upstream.exchange, down, len(up))
        assert client.exchange(up, len(down)) == down and other.join() == up
    running = [Background(run, *pair) for pair in pairs]
    for each in running:
        each.join()
