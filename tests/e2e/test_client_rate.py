"""client-rate: who asks too often hears 429 and when to come again, whoever the worker; others do not."""
import socket
import ssl
import time

import pytest

from certs import client_context
from feeds import SMALL, SMALL_OUT
from peers import Peer, TlsClient
from proxy import REFUSED
from peers import Client as AnyClient
from wire import PATIENCE, TIMEOUT, message

FEED = message("200 OK", "Content-Type: application/xml", "Cache-Control: max-age=600", body=SMALL)
SLOW = ("--client-rate", "1/h")
BURST = 100
XFF = "X-Forwarded-For: "


class Elsewhere(AnyClient):
    """From another address of this machine."""

    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port), TIMEOUT, ("127.0.0.2", 0))
        Peer.__init__(self, self.sock)
        self.method, self.version = "GET", "HTTP/1.1"


@pytest.fixture
def feed(origin):
    origin.serve(lambda request: FEED)
    return origin


def assert_refused(got):
    assert got.status == 429 and 1 <= int(got["Retry-After"]) <= 3600
    assert got["Proxy-Status"] == 'utfeed; error=http_request_denied; details="client-rate"'


def test_over_the_burst(start, feed):
    """The connection stays; a hit counts as any other request; another address has its own burst."""
    proxy = start(feed, *SLOW, "--cache", "on")
    client = proxy.client()
    assert all(client.get("/feed").body == SMALL_OUT for _ in range(BURST))
    for _ in range(2):
        assert_refused(client.get("/feed"))
    other = Elsewhere(proxy.port)
    assert other.get("/feed").status == 200
    other.close()
    assert proxy.counters()["requests_hurried"] == 2


def test_every_worker_counts_the_same(start, feed):
    proxy = start(feed, *SLOW, "--workers", "3")
    answers = [proxy.get("/feed").status for _ in range(BURST + 9)]
    assert answers == [200] * BURST + [429] * 9


def test_what_cannot_go_on_is_the_connections_last(start, feed):
    """A body is not waited for, nor a tunnel made."""
    proxy = start(feed, *SLOW, "--connect-allow", "127.0.0.0/8:*")
    client = proxy.client()
    assert [client.get("/feed").status for _ in range(BURST)] == [200] * BURST
    for method, target, fields in (("POST", "/feed", ["Content-Length: 1000000"]), ("CONNECT", "127.0.0.1:80", [])):
        client = proxy.client().ask(target, *fields, method=method, host="127.0.0.1:80")
        assert_refused(client.response(method="GET"))
        assert client.is_ended()


def test_clients_of_a_trusted_proxy(start, feed):
    """Each that it names has its own burst; those that it does not know have one together; it itself has no limit."""
    proxy = start(feed, *SLOW, "--trusted-proxies", "127.0.0.1", "--client-allow", "0.0.0.0/0, ::/0")
    client = proxy.client()
    for who in ("192.0.2.1", "192.0.2.2", "2001:db8::1", "unknown"):
        assert [client.get("/feed", XFF + who).status for _ in range(BURST + 1)] == [200] * BURST + [429]
    assert_refused(client.get("/feed", XFF + "2001:db8::2"))
    assert client.get("/feed", XFF + "2001:db8:0:1::2").status == 200
    assert_refused(client.get("/feed", XFF + "somebody"))
    assert [client.get("/feed").status for _ in range(BURST + 1)] == [200] * (BURST + 1)


def test_a_client_cannot_name_itself(start, feed):
    proxy = start(feed, *SLOW)
    client = proxy.client()
    assert [client.get("/feed", XFF + f"192.0.2.{number}").status for number in range(BURST + 2)] == [200] * BURST + [429] * 2


def test_over_tls(listening, feed, authority):
    proxy = listening(feed, *SLOW)
    client = TlsClient(proxy.tls_port, client_context(authority.root, ssl.TLSVersion.TLSv1_3))
    assert [client.get("/feed", host="localhost").status for _ in range(BURST + 1)] == [200] * BURST + [429]
    client.close()


def test_handshakes_count(listening, feed, authority):
    """issue 31, A 1: a handshake counts as a request, and pays for the first one behind it. Another address has its own."""
    proxy = listening(feed, *SLOW)
    context = client_context(authority.root, ssl.TLSVersion.TLSv1_3)
    for _ in range(BURST):
        client = TlsClient(proxy.tls_port, context)
        assert client.get("/feed", host="localhost").status == 200
        client.close()
    with pytest.raises(ssl.SSLError, match="(?i)access.denied"):
        TlsClient(proxy.tls_port, context)
    proxy.says("refused before the handshake: client-rate")
    with socket.create_connection(("127.0.0.1", proxy.tls_port), TIMEOUT, ("127.0.0.2", 0)) as other:
        context.wrap_socket(other, server_hostname="localhost").close()
    assert proxy.counters()["requests_hurried"] == 1
    assert_refused(proxy.client().get("/feed"))


def test_handshakes_of_a_trusted_proxy_do_not(listening, feed, authority):
    """It brings many clients, each of which has its own burst."""
    proxy = listening(feed, *SLOW, "--trusted-proxies", "127.0.0.1", "--client-allow", "0.0.0.0/0, ::/0")
    context = client_context(authority.root, ssl.TLSVersion.TLSv1_3)
    for number in range(5):
        client = TlsClient(proxy.tls_port, context)
        assert [client.get("/feed", XFF + f"192.0.2.{number}", host="localhost").status for _ in range(BURST + 1)] == [200] * BURST + [429]
        client.close()


def test_reload(start, feed, tmp_path):
    """What was asked before is remembered, as long as there is a limit; the new one counts at once."""
    file = tmp_path / "utfeed.conf"
    file.write_text("client-rate = 1/h\n")
    proxy = start(feed, "-c", str(file))
    assert [proxy.get("/feed").status for _ in range(BURST + 1)] == [200] * BURST + [429]
    proxy.reload()
    assert proxy.get("/feed").status == 429
    file.write_text("client-rate = 2h\n")
    proxy.reload(REFUSED)
    assert proxy.get("/feed").status == 429
    file.write_text("client-rate = 0\n")
    proxy.reload()
    assert [proxy.get("/feed").status for _ in range(BURST + 1)] == [200] * (BURST + 1)


def test_a_minute_at_once(timed, clock, feed):
    """What the rate allows in a minute, where that is more."""
    client = timed(feed, "--client-rate", "2/s").client()
    assert [client.get("/feed").status for _ in range(120)] == [200] * 120
    until, answer = time.monotonic() + PATIENCE, 200      # more are allowed meanwhile, at the rate
    while answer == 200:
        assert time.monotonic() < until, "there is no limit"
        answer = client.get("/feed").status
    assert answer == 429
