"""TLS sessions of origins: several to a peer, a ticket of TLS 1.3 for one connection, a session of TLS 1.2 for many; nothing proven to one
audience is believed by another, nor longer than the certificate is valid."""
import socket
import ssl
import time

import pytest

from certs import server_context
from feeds import SMALL, SMALL_OUT
from parents import Parent
from peers import Background
from test_faults import error_of
from test_tls import CERTIFICATE, VERSIONS, XML
from wire import message

FEED = message("200 OK", XML, "Cache-Control: no-store", "Connection: close", body=SMALL)
DAY = 86400

pytestmark = pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1:DeprecationWarning")


def resumes(proxy, origin, path="/feed"):
    """Whether the connection that a request is sent on resumes a session."""
    client = proxy.client().ask(path)
    upstream = origin.receive()
    reused = upstream.sock.session_reused
    upstream.answer(FEED, close=True)
    assert client.response().body == SMALL_OUT
    return reused


def refusal(proxy, origin, path="/feed"):
    client = proxy.client().ask(path)
    assert origin.refused() == b""
    got = client.response()
    assert got.status == 502
    return error_of(got)


def at_once(proxy, origin, count):
    """As many connections beside each other: how many of them resumed a session."""
    clients = [proxy.client().ask(f"/{number}") for number in range(count)]
    upstreams = [origin.receive() for _ in clients]
    reused = sum(upstream.sock.session_reused for upstream in upstreams)
    for upstream in upstreams:
        upstream.answer(FEED, close=True)
    assert all(client.response().body == SMALL_OUT for client in clients)
    return reused


def test_tickets_of_tls_1_3(trusting, tls_origin, good):
    """Each handshake brings two, of which each is good for one connection; a resumed one brings another, which may come in time for a
    later one of the same round. However that falls out, no ticket that was there is left unused."""
    origin = tls_origin(server_context(good, VERSIONS["1.3"]))
    proxy = trusting(origin)
    resumed = tickets = 0
    for count in (1, 3, 4, 4):
        reused = at_once(proxy, origin, count)
        assert reused >= min(count, tickets)
        resumed, tickets = resumed + reused, tickets + 2 * (count - reused)
    assert resumed > 6 and proxy.counters()["tls_resumed"] == resumed


def test_a_session_of_tls_1_2_is_for_many(trusting, tls_origin, good):
    origin = tls_origin(server_context(good, VERSIONS["1.2"]))
    proxy = trusting(origin)
    assert [at_once(proxy, origin, count) for count in (1, 4, 4)] == [0, 4, 4]


@pytest.mark.parametrize("version", VERSIONS)
def test_sessions_by_their_number(trusting, tls_origin, good, version):
    """An origin that gives no tickets."""
    context = server_context(good, VERSIONS[version])
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    origin = tls_origin(context)
    proxy = trusting(origin)
    seen = []
    for _ in range(3):
        client = proxy.client().ask("/feed")
        upstream = origin.receive()
        seen.append(upstream.sock.session_reused)
        upstream.send(FEED)
        Background(upstream.sock.unwrap).join()
        assert client.response().body == SMALL_OUT
    assert seen == [False, version == "1.2", version == "1.2"]


@pytest.mark.parametrize("version", VERSIONS)
def test_two_workers_share_them(trusting, tls_origin, good, version):
    origin = tls_origin(server_context(good, VERSIONS[version]))
    origin.serve(lambda request: (FEED, "close"))
    proxy = trusting(origin, "--workers", "2")

    def fetch():
        return [proxy.get(f"/{number}").body for number in range(25)]
    for fetching in [Background(fetch) for _ in range(4)]:
        assert fetching.join() == [SMALL_OUT] * 25
    counted = proxy.counters()
    assert counted["tls_handshakes"] == 100 and counted["tls_failed"] == 0
    assert counted["tls_resumed"] >= 90


# Audiences

@pytest.mark.parametrize("version", VERSIONS)
def test_another_port_is_another_peer(start, tls_origin, authority, good, version):
    """Both origins would resume what either of them gave."""
    context = server_context(good, VERSIONS[version])
    one, other = tls_origin(context), tls_origin(context)
    proxy = start(None, "--tls-ca-file", authority.root.cert, "--route", f"/one/={one.url}/", "--route", f"/other/={other.url}/")
    assert [resumes(proxy, one, "/one/"), resumes(proxy, other, "/other/"), resumes(proxy, one, "/one/")] == [False, False, True]


@pytest.mark.parametrize("version", VERSIONS)
def test_ports_behind_one_parent_are_apart(start, tls_origin, authority, good, version):
    context = server_context(good, VERSIONS[version])
    origins = {"/one/": tls_origin(context), "/other/": tls_origin(context)}
    parent = Parent()
    proxy = start(None, "--tls-ca-file", authority.root.cert, "--https-proxy", f"http://127.0.0.1:{parent.port}",
                  *(word for path, origin in origins.items() for word in ("--route", f"{path}={origin.url}/")))
    seen = []
    for path in ("/one/", "/other/", "/one/", "/other/"):
        client = proxy.client().ask(path)
        parent.connected(origins[path])
        upstream = origins[path].receive()
        seen.append(upstream.sock.session_reused)
        upstream.answer(FEED, close=True)
        assert client.response().body == SMALL_OUT
    parent.close()
    assert seen == [False, False, True, True]


@pytest.mark.parametrize("version", VERSIONS)
def test_routes_with_other_trust(start, tls_origin, authority, good, tmp_path, version):
    """The same origin by routes that trust the same file, another file with the same authority, none, and anybody."""
    copy = tmp_path / "copy.pem"
    copy.write_bytes(open(authority.root.cert, "rb").read())
    stranger = authority.issue("Stranger", extensions="basicConstraints=critical,CA:TRUE\n", issuer=None)
    origin = tls_origin(server_context(good, VERSIONS[version]))
    routes = {"own": f"tls-ca-file={authority.root.cert}", "same": f"tls-ca-file={authority.root.cert}", "copy": f"tls-ca-file={copy}",
              "loose": "tls-verify=off", "stranger": f"tls-ca-file={stranger.cert}"}
    proxy = start(None, *(word for name, options in routes.items() for word in ("--route", f"/{name}/={origin.url}/ {options}")))
    assert resumes(proxy, origin, "/loose/") is False
    assert resumes(proxy, origin, "/loose/") is True
    assert [resumes(proxy, origin, f"/{name}/") for name in ("own", "same", "copy")] == [False, True, False]
    assert refusal(proxy, origin, "/stranger/") == CERTIFICATE
    assert resumes(proxy, origin, "/own/") is True


@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_is_not_resumed_for_another_name(start, tls_origin, authority, version):
    """One server with one memory of sessions, whose certificate names localhost alone: by its address it is refused, whatever it
    would resume."""
    origin = tls_origin(server_context(authority.issue("localhost", names="DNS:localhost"), VERSIONS[version]))
    address = origin.url.replace("localhost", "127.0.0.1")
    proxy = start(None, "--tls-ca-file", authority.root.cert, "--route", f"/name/={origin.url}/", "--route", f"/address/={address}/")
    assert [resumes(proxy, origin, "/name/") for _ in range(2)] == [False, True]
    assert refusal(proxy, origin, "/address/") == CERTIFICATE
    assert resumes(proxy, origin, "/name/") is True


# Time, change

@pytest.mark.parametrize("version", VERSIONS)
def test_not_longer_than_the_certificate(timed, clock, tls_origin, authority, version):
    clock.start = int(time.time())
    clock.at(0)
    origin = tls_origin(server_context(authority.issue("localhost", days=(-1, 600 / DAY)), VERSIONS[version]))
    proxy = timed(origin, "--tls-ca-file", authority.root.cert)
    assert [resumes(proxy, origin) for _ in range(3)] == [False, True, True]
    clock.at(540)
    assert resumes(proxy, origin) is True
    clock.at(660)
    assert refusal(proxy, origin) == CERTIFICATE
    clock.at(60)
    assert resumes(proxy, origin) is False


def test_not_longer_than_the_authority(timed, clock, tls_origin, authority):
    clock.start = int(time.time())
    clock.at(0)
    above = authority.issue("Intermediate of the tests", extensions="basicConstraints=critical,CA:TRUE\n", days=(-1, 600 / DAY))
    origin = tls_origin(server_context(authority.issue("localhost", issuer=above), VERSIONS["1.3"]))
    proxy = timed(origin, "--tls-ca-file", authority.root.cert)
    assert [resumes(proxy, origin) for _ in range(2)] == [False, True]
    clock.at(660)
    assert refusal(proxy, origin) == CERTIFICATE


def test_once_a_day_a_whole_handshake(timed, clock, tls_origin, authority, good):
    """However often it was resumed meanwhile."""
    clock.start = int(time.time())
    origin = tls_origin(server_context(good, VERSIONS["1.3"]))
    clock.at(0)
    proxy = timed(origin, "--tls-ca-file", authority.root.cert)
    seen = []
    for hour in range(26):
        clock.at(hour * 3600)
        seen.append(resumes(proxy, origin))
    assert [hour for hour, resumed in enumerate(seen) if not resumed] == [0, 24]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_certificate_that_changes(trusting, tls_origin, authority, good, version):
    """The origin starts anew with one that names somebody else: its former sessions help it as little as they do a liar at its port."""
    origin = tls_origin(server_context(good, VERSIONS[version]))
    proxy = trusting(origin)
    assert [resumes(proxy, origin) for _ in range(2)] == [False, True]
    origin.secure(server_context(authority.issue("localhost", names="DNS:other.test"), VERSIONS[version]))
    assert refusal(proxy, origin) == CERTIFICATE
    origin.secure(server_context(good, VERSIONS[version]))
    assert [resumes(proxy, origin) for _ in range(2)] == [False, True]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_reload_forgets_them(trusting, tls_origin, good, version):
    origin = tls_origin(server_context(good, VERSIONS[version]))
    proxy = trusting(origin)
    assert [resumes(proxy, origin) for _ in range(2)] == [False, True]
    proxy.reload()
    assert [resumes(proxy, origin) for _ in range(2)] == [False, True]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_handshake_that_failed_on_a_session_is_not_tried_with_one_again(trusting, tls_origin, good, version):
    origin = tls_origin(server_context(good, VERSIONS[version]))
    proxy = trusting(origin)
    assert resumes(proxy, origin) is False
    client = proxy.client().ask("/feed")
    socket.socket.accept(origin.listener)[0].close()
    assert error_of(client.response()) == "connection_terminated"
    assert [resumes(proxy, origin) for _ in range(2)] == [False, True]


# A session of TLS 1.2, with which nothing newer is offered

NEWER = {"TLS 1.3 too": (VERSIONS["1.2"], VERSIONS["1.3"]), "TLS 1.3 alone": VERSIONS["1.3"]}


@pytest.mark.parametrize("versions", NEWER.values(), ids=NEWER)
def test_an_origin_that_has_come_to_speak_more(trusting, tls_origin, good, versions):
    """It says so in its first message, or refuses; the request is sent on another connection, by the newer version."""
    origin = tls_origin(server_context(good, VERSIONS["1.2"]))
    proxy = trusting(origin)
    assert [resumes(proxy, origin) for _ in range(2)] == [False, True]
    origin.secure(server_context(good, versions))
    client = proxy.client().ask("/feed")
    assert origin.refused() == b""
    upstream = origin.receive()
    assert upstream.sock.version() == "TLSv1.3" and not upstream.sock.session_reused
    upstream.answer(FEED, close=True)
    assert client.response().body == SMALL_OUT
    assert resumes(proxy, origin) is True
    assert proxy.counters()["tls_failed"] == 1


def test_a_system_that_forbids_more(start, tls_origin, authority, good, tmp_path):
    """Where OpenSSL's configuration ends at TLS 1.2, an origin that speaks more says nothing new by that: its session is resumed at once."""
    config = tmp_path / "openssl.cnf"
    config.write_text("openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\nMaxProtocol = TLSv1.2\n")
    origin = tls_origin(server_context(good, (VERSIONS["1.2"], VERSIONS["1.3"])))
    proxy = start(origin, "--tls-ca-file", authority.root.cert, env={"OPENSSL_CONF": str(config)})
    assert [resumes(proxy, origin) for _ in range(3)] == [False, True, True]
    assert proxy.counters()["tls_failed"] == 0


def test_an_origin_that_has_come_to_speak_more_behind_a_parent(start, tls_origin, authority, good):
    origin, parent = tls_origin(server_context(good, VERSIONS["1.2"])), Parent()
    proxy = start(origin, "--tls-ca-file", authority.root.cert, "--https-proxy", f"http://127.0.0.1:{parent.port}")
    for refused in (False, True):
        client = proxy.client().ask("/feed")
        parent.connected(origin)
        if refused:
            assert origin.refused() == b""
            parent.connected(origin)
        upstream = origin.receive()
        assert upstream.sock.version() == ("TLSv1.3" if refused else "TLSv1.2")
        upstream.answer(FEED, close=True)
        assert client.response().body == SMALL_OUT
        origin.secure(server_context(good, VERSIONS["1.3"]))
    parent.close()


def test_an_origin_that_refuses_again(trusting, tls_origin, good):
    """One more connection is made, not more; what the client is told is what happened on it."""
    origin = tls_origin(server_context(good, VERSIONS["1.2"]))
    proxy = trusting(origin)
    assert resumes(proxy, origin) is False
    origin.secure(server_context(good, ssl.TLSVersion.TLSv1, weak=True))
    for connections in (2, 1):
        client = proxy.client().ask("/feed")
        assert [origin.refused() for _ in range(connections)] == [b""] * connections
        assert error_of(client.response()) == "tls_protocol_error"
    origin.secure(server_context(good, VERSIONS["1.2"]))
    assert [resumes(proxy, origin) for _ in range(2)] == [False, True]


def test_an_origin_that_is_gone_when_asked_again(trusting, tls_origin, good):
    origin = tls_origin(server_context(good, VERSIONS["1.2"]))
    proxy = trusting(origin)
    assert resumes(proxy, origin) is False
    plain = socket.socket(fileno=origin.listener.detach())
    client = proxy.client().ask("/feed")
    upstream, _ = plain.accept()
    plain.close()
    upstream.recv(1 << 16)
    upstream.sendall(bytes.fromhex("15 03 03 00 02 02 46"))        # an alert: protocol_version
    assert error_of(client.response()) == "connection_refused"
    upstream.close()


# What was verified within the hour

def unresumed(made, version):
    """Of an origin that lets nobody resume."""
    context = server_context(made, VERSIONS[version])
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    return context


def known(proxy):
    return proxy.counters()["tls_chains_known"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_chain_is_verified_once_an_hour(timed, clock, tls_origin, authority, good, version):
    clock.start = int(time.time())
    clock.at(0)
    origin = tls_origin(unresumed(good, version))
    proxy = timed(origin, "--tls-ca-file", authority.root.cert)
    seen = []
    for second in (0, 1, 3599, 3600, 3601):
        clock.at(second)
        assert resumes(proxy, origin) is False
        seen.append(known(proxy))
    assert seen == [0, 1, 2, 2, 3]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_chain_that_ends_within_the_hour(timed, clock, tls_origin, authority, version):
    clock.start = int(time.time())
    clock.at(0)
    above = authority.issue("Intermediate of the tests", extensions="basicConstraints=critical,CA:TRUE\n", days=(-1, 600 / DAY))
    origin = tls_origin(unresumed(authority.issue("localhost", issuer=above), version))
    proxy = timed(origin, "--tls-ca-file", authority.root.cert)
    assert resumes(proxy, origin) is False
    clock.at(540)
    assert resumes(proxy, origin) is False and known(proxy) == 1
    clock.at(660)
    assert refusal(proxy, origin) == CERTIFICATE
    assert known(proxy) == 1


def test_what_else_a_verdict_depends_on(start, tls_origin, authority, good, tmp_path):
    """Another name, other authorities, another chain, a reload: nothing of these is known. Routes with the same options share it."""
    copy = tmp_path / "copy.pem"
    copy.write_bytes(open(authority.root.cert, "rb").read())
    stranger = authority.issue("Stranger", extensions="basicConstraints=critical,CA:TRUE\n", issuer=None)
    named = authority.issue("localhost", names="DNS:localhost")
    origin = tls_origin(unresumed(named, "1.3"))
    address = origin.url.replace("localhost", "127.0.0.1")
    routes = {"own": (origin.url, authority.root.cert), "same": (origin.url, authority.root.cert), "copy": (origin.url, copy),
              "stranger": (origin.url, stranger.cert), "address": (address, authority.root.cert)}
    proxy = start(None, *(word for name, (url, trusted) in routes.items() for word in ("--route", f"/{name}/={url}/ tls-ca-file={trusted}")))
    assert [(resumes(proxy, origin, f"/{name}/"), known(proxy)) for name in ("own", "same", "copy")] == [(False, 0), (False, 1), (False, 1)]
    assert [refusal(proxy, origin, f"/{name}/") for name in ("stranger", "address", "stranger")] == [CERTIFICATE] * 3
    assert known(proxy) == 1
    origin.secure(unresumed(good, "1.3"))
    assert [(resumes(proxy, origin, f"/{name}/"), known(proxy)) for name in ("own", "same")] == [(False, 1), (False, 2)]
    origin.secure(unresumed(authority.issue("localhost", names="DNS:other.test"), "1.3"))
    assert refusal(proxy, origin, "/own/") == CERTIFICATE
    origin.secure(unresumed(named, "1.3"))
    proxy.reload()
    assert [(resumes(proxy, origin, "/own/"), known(proxy)) for _ in range(2)] == [(False, 2), (False, 3)]
