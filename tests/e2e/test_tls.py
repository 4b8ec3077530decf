"""TLS: origins that prove who they are are fetched from, all others are refused before a byte of the request is sent; clients
come in over TLS too. Certificates are made by certs.py under a CA of the test's own."""
import os
import re
import shutil
import socket
import ssl
import subprocess
import time

import pytest

from certs import CLIENT, SERVER, client_context, server_context
from feeds import SMALL, SMALL_OUT, big
from peers import Background, Client, TlsClient
from ports import server_port
from proxy import BINARY
from test_faults import error_of
from wire import PATIENCE, TIMEOUT, Cut, chunked, message

XML = "Content-Type: application/xml"
VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}

pytestmark = pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1:DeprecationWarning")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_fetched(trusting, tls_origin, good, version, host):
    origin = tls_origin(server_context(good, VERSIONS[version]), host)
    got, request = trusting(origin).through(origin, message("200 OK", XML, body=SMALL))
    assert got.status == 200 and got.body == SMALL_OUT
    assert request["Host"] == f"{host}:{origin.port}"
    assert origin.open[0].sock.version() == "TLSv" + version


def test_sni_carries_names_and_no_addresses(trusting, tls_origin, good):
    names = []
    context = server_context(good)
    context.sni_callback = lambda sock, name, ctx: names.append(name)
    for host in ("localhost", "127.0.0.1"):
        origin = tls_origin(context, host)
        assert trusting(origin).through(origin, message("200 OK", XML, body=SMALL))[0].status == 200
    assert names == ["localhost", None]


@pytest.mark.parametrize("speaks, options, chosen", [
    (["h2", "http/1.1"], ["--http2", "off"], "http/1.1"),
    (["http/1.1"], [], "http/1.1"), (["http/1.0"], [], None), (["spdy/3", "http/1.1"], ["--http2", "on"], "http/1.1")])
def test_alpn(trusting, tls_origin, good, speaks, options, chosen):
    """RFC 7301: HTTP/1.1 is offered, behind HTTP/2 unless that is off."""
    context = server_context(good)
    context.set_alpn_protocols(speaks)
    origin = tls_origin(context)
    assert trusting(origin, *options).through(origin, message("200 OK", XML, body=SMALL))[0].status == 200
    assert origin.open[0].sock.selected_alpn_protocol() == chosen


def test_ciphers_with_sha256_are_offered_first(start, origin):
    """As browsers do; the others follow."""
    origin.url = origin.url.replace("http:", "https:")
    client = start(origin).client().ask("/feed")
    hello = origin.accept().sock.recv(1 << 14)
    at = 5 + 4 + 2 + 32                         # record, message, version, random; then the session's number
    at += 1 + hello[at]
    length = int.from_bytes(hello[at:at + 2], "big")
    offered = [hello[n:n + 2].hex() for n in range(at + 2, at + 2 + length, 2)]
    assert offered[:5] == ["1301", "1302", "1303", "c02b", "c02f"]
    assert {"c02c", "c030", "cca8", "cca9"} <= set(offered)
    client.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_big_body(trusting, tls_origin, good, version):
    body, out = big(size=3 << 20)
    origin = tls_origin(server_context(good, VERSIONS[version]))
    client = trusting(origin).client().ask("/feed")
    upstream = origin.receive()
    sending = upstream.send_soon(message("200 OK", XML, "Transfer-Encoding: chunked", body=chunked(body, [1, 20000, 333])))
    assert client.response().body == out
    sending.join()


# What is wrong with the certificate: (how to make it, how to serve it, a word of Proxy-Status's details)

def issue(**how):
    return lambda authority: authority.issue("localhost", **how)


def constrained(authority):
    above = authority.intermediate("nameConstraints=critical,permitted;DNS:allowed.test\n")
    return authority.issue("localhost", names="DNS:localhost", issuer=above)


def unknown_authority(authority):
    stranger = authority.issue("Stranger", extensions="basicConstraints=critical,CA:TRUE\n", issuer=None)
    return authority.issue("localhost", issuer=stranger)


CERTIFICATE, PROTOCOL = "tls_certificate_error", "tls_protocol_error"
BAD = {
    "expired": (issue(days=(-30, -1)), {}, CERTIFICATE, "expired"),
    "not yet valid": (issue(days=(1, 30)), {}, CERTIFICATE, "not yet valid"),
    "wrong host": (issue(names="DNS:other.test,DNS:*.localhost"), {}, CERTIFICATE, "hostname mismatch"),
    "name in the subject only": (issue(names=""), {}, CERTIFICATE, "hostname mismatch"),
    "wrong IP": (issue(names="IP:127.0.0.2,DNS:127.0.0.1"), {"host": "127.0.0.1"}, CERTIFICATE, "IP address mismatch"),
    "self-signed": (issue(issuer=None), {}, CERTIFICATE, "self-signed"),
    "unknown CA": (unknown_authority, {}, CERTIFICATE, "local issuer"),
    "wrong key usage": (issue(extensions=CLIENT), {}, CERTIFICATE, "purpose"),
    "key usage without signatures": (issue(extensions=SERVER.replace("digitalSignature,keyEncipherment", "cRLSign")), {},
                                     CERTIFICATE, "purpose"),
    "name-constraint violation": (constrained, {}, CERTIFICATE, "subtree"),
    "weak key": (issue(key="1024"), {"weak": True}, CERTIFICATE, "key too"),
    "weak signature": (issue(digest="sha1"), {"weak": True}, CERTIFICATE, "too weak"),
    "TLS 1.0 only": (issue(), {"weak": True, "version": ssl.TLSVersion.TLSv1}, PROTOCOL, "protocol version"),
    "TLS 1.1 only": (issue(), {"weak": True, "version": ssl.TLSVersion.TLSv1_1}, PROTOCOL, "protocol version"),
    "intermediate missing": (lambda authority: authority.issue("localhost", issuer=authority.intermediate()), {"chain": False},
                             CERTIFICATE, "local issuer"),
}


@pytest.mark.parametrize("case", BAD)
def test_refused(trusting, tls_origin, authority, case):
    make, how, error, word = BAD[case]
    how = dict(how)
    host = how.pop("host", "localhost")
    origin = tls_origin(server_context(make(authority), **how), host)
    proxy = trusting(origin)
    client = proxy.client().ask("/feed")
    assert origin.refused() == b""
    got = client.response()
    assert got.status == 502 and error_of(got) == error and proxy.counters()["tls_failed"] == 1
    assert word in got["Proxy-Status"], got["Proxy-Status"]


def test_speaks_no_tls(trusting, origin):
    origin.url = origin.url.replace("http:", "https:")
    client = trusting(origin).client().ask("/feed")
    upstream = origin.accept()
    upstream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    got = client.response()
    assert got.status == 502 and error_of(got) == PROTOCOL


def test_closed_in_the_handshake(trusting, origin):
    origin.url = origin.url.replace("http:", "https:")
    client = trusting(origin).client().ask("/feed")
    origin.accept().close()
    got = client.response()
    assert got.status == 502 and error_of(got) == "connection_terminated"


def test_silent_in_the_handshake(trusting, origin):
    origin.url = origin.url.replace("http:", "https:")
    client = trusting(origin, "--connect-timeout", "300ms").client().ask("/feed")
    upstream = origin.accept()
    got = client.response()
    assert got.status == 504 and error_of(got) == "connection_timeout" and "TLS" in got["Proxy-Status"]
    upstream.close()


def test_verify_off_is_for_one_route_and_loud(start, tls_origin, authority):
    origin = tls_origin(server_context(authority.issue("localhost", issuer=None)))
    proxy = start(None, "--route", f"/trusted/={origin.url}/", "--route", f"/any/={origin.url}/ tls-verify=off name=loose")
    client = proxy.client().ask("/trusted/feed")
    assert origin.refused() == b""
    assert error_of(client.response()) == CERTIFICATE
    got, _ = proxy.through(origin, message("200 OK", XML, body=SMALL), "/any/feed")
    assert got.body == SMALL_OUT
    assert re.search(r"warn\w*: .*tls-verify: is off, so whoever is in between", proxy.err.text())
    assert "route /trusted/" not in proxy.err.text()


def test_route_has_its_own_authorities(start, tls_origin, authority, good):
    origin = tls_origin(server_context(good))
    proxy = start(None, "--route", f"/own/={origin.url}/ tls-ca-file={authority.root.cert}", "--route", f"/system/={origin.url}/")
    assert proxy.through(origin, message("200 OK", XML, body=SMALL), "/own/feed")[0].body == SMALL_OUT
    client = proxy.client().ask("/system/feed")
    assert origin.refused() == b""
    assert error_of(client.response()) == CERTIFICATE


# How bodies end

@pytest.mark.parametrize("version", VERSIONS)
def test_close_notify_ends_a_body(trusting, tls_origin, good, version):
    origin = tls_origin(server_context(good, VERSIONS[version]))
    client = trusting(origin).client().ask("/feed")
    upstream = origin.receive()
    upstream.send(message("200 OK", XML, body=SMALL, length=False))
    ending = Background(upstream.sock.unwrap)
    assert client.response().body == SMALL_OUT
    ending.join()


@pytest.mark.parametrize("version", VERSIONS)
def test_without_close_notify_a_body_is_truncated(trusting, tls_origin, good, version):
    body, _ = big(size=1 << 20)
    origin = tls_origin(server_context(good, VERSIONS[version]))
    proxy = trusting(origin)
    client = proxy.client().ask("/feed")
    upstream = origin.receive()
    upstream.send_soon(message("200 OK", XML, body=body, length=False)).join()
    upstream.close()
    assert client.cut().message.status == 200
    client = proxy.client().ask("/feed")
    upstream = origin.receive()
    upstream.send(message("200 OK", XML, body=SMALL, length=False))
    upstream.close()
    got = client.response()
    assert got.status == 502 and error_of(got) == "http_response_incomplete"
    assert "close_notify" in got["Proxy-Status"]


def test_length_needs_no_close_notify(trusting, tls_origin, good):
    origin = tls_origin(server_context(good))
    client = trusting(origin).client().ask("/feed")
    origin.receive().answer(message("200 OK", XML, body=SMALL), close=True)
    assert client.response().body == SMALL_OUT


# Client certificates

def asking_context(made, root, version):
    context = server_context(made, version)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(root.cert)
    return context


@pytest.mark.parametrize("version", VERSIONS)
def test_client_certificate(start, tls_origin, authority, good, version):
    mine = authority.issue("utfeed of the tests", names="", extensions=CLIENT, issuer=authority.intermediate())
    origin = tls_origin(asking_context(good, authority.root, VERSIONS[version]))
    proxy = start(None, "--tls-ca-file", authority.root.cert, "--route", f"/bare/={origin.url}/",
                  "--route", f"/={origin.url}/ tls-cert={mine.chain} tls-key={mine.key}")
    got, _ = proxy.through(origin, message("200 OK", XML, body=SMALL))
    assert got.body == SMALL_OUT
    assert ((("commonName", "utfeed of the tests"),),) == origin.open[0].sock.getpeercert()["subject"]
    client = proxy.client().ask("/bare/feed")
    assert origin.refused() == b""
    got = client.response()
    assert got.status == 502 and error_of(got) in ("tls_alert_received", PROTOCOL)


def test_key_in_the_certificate_s_file(start, tls_origin, authority, good, tmp_path):
    mine = authority.issue("utfeed of the tests", names="", extensions=CLIENT)
    both = tmp_path / "both.pem"
    both.write_text(open(mine.cert, encoding="ascii").read() + open(mine.key, encoding="ascii").read())
    origin = tls_origin(asking_context(good, authority.root, None))
    proxy = start(None, "--route", f"/={origin.url}/ tls-ca-file={authority.root.cert} tls-cert={both}")
    assert proxy.through(origin, message("200 OK", XML, body=SMALL))[0].body == SMALL_OUT


# Sessions

@pytest.mark.parametrize("version", VERSIONS)
def test_sessions_are_resumed(trusting, tls_origin, good, version):
    origin = tls_origin(server_context(good, VERSIONS[version]))
    proxy = trusting(origin)
    reused = []
    for _ in range(4):
        client = proxy.client().ask("/feed")
        upstream = origin.receive()
        reused.append(upstream.sock.session_reused)
        upstream.answer(message("200 OK", XML, "Connection: close", body=SMALL), close=True)
        assert client.response().body == SMALL_OUT
    assert reused == [False, True, True, True]
    counted = proxy.counters()
    assert (counted["tls_handshakes"], counted["tls_resumed"], counted["tls_failed"]) == (4, 3, 0)


def test_sessions_belong_to_one_host_and_route(start, tls_origin, authority, good):
    """localhost and 127.0.0.1 are two; a route that verifies nothing shares none with one that does."""
    origin = tls_origin(server_context(good))
    address = origin.url.replace("localhost", "127.0.0.1")
    proxy = start(None, "--tls-ca-file", authority.root.cert, "--route", f"/name/={origin.url}/",
                  "--route", f"/address/={address}/", "--route", f"/loose/={origin.url}/ tls-verify=off")
    for path in ("/name/", "/address/", "/loose/"):
        assert proxy.through(origin, message("200 OK", XML, body=SMALL), path)[0].body == SMALL_OUT
    assert not any(upstream.sock.session_reused for upstream in origin.open)


# Other servers

def wait_for(port, process):
    until = time.monotonic() + TIMEOUT
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.02)
    raise AssertionError(f"not listening: exit {process.poll()}")


@pytest.fixture
def server():
    running = []

    def run(port, *command, cwd=None):
        running.append(subprocess.Popen(command, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL))
        wait_for(port, running[-1])
    yield run
    for process in running:
        process.terminate()
        try:
            process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Elsewhere:
    def __init__(self, port):
        self.url = f"https://localhost:{port}"


@pytest.mark.parametrize("version", VERSIONS)
def test_openssl_s_server(trusting, server, good, tmp_path, version):
    (tmp_path / "feed.xml").write_bytes(message("200 OK", XML, body=SMALL))
    port = server_port()
    server(port, "openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", good.cert, "-cert_chain", good.issuer.cert, "-key",
           good.key, "-HTTP", "-tls" + version.replace(".", "_"), cwd=tmp_path)
    got = trusting(Elsewhere(port)).get("/feed.xml")
    assert got.status == 200 and got.body == SMALL_OUT


NGINX = """
daemon off; master_process off; pid {home}/pid; error_log {home}/error.log; user root;
events {{}}
http {{
	access_log off; types {{ application/xml xml; }}
	client_body_temp_path {home}/1; proxy_temp_path {home}/2; fastcgi_temp_path {home}/3; uwsgi_temp_path {home}/4; scgi_temp_path {home}/5;
	server {{
		listen 127.0.0.1:{port} ssl; ssl_protocols TLSv{version}; ssl_certificate {chain}; ssl_certificate_key {key};
		root {home};
	}}
}}
"""

APACHE = """
ServerName localhost
PidFile {home}/pid
ErrorLog {home}/error.log
Listen 127.0.0.1:{port}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule mime_module {modules}/mod_mime.so
LoadModule ssl_module {modules}/mod_ssl.so
TypesConfig /dev/null
DefaultRuntimeDir {home}
SSLEngine on
SSLProtocol -all +TLSv{version}
SSLCertificateFile {chain}
SSLCertificateKeyFile {key}
DocumentRoot {home}
AddType application/xml .xml
<Directory {home}>
	Require all granted
</Directory>
"""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["nginx", "apache2"])
def test_real_servers(trusting, server, good, tmp_path, name, version):
    program = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")
    if not program:
        pytest.skip(f"no {name} here")
    (tmp_path / "feed.xml").write_bytes(SMALL)
    port, config = server_port(), tmp_path / "config"
    modules = os.environ.get("APACHE_MODULES", "/usr/lib/apache2/modules")
    config.write_text((NGINX if name == "nginx" else APACHE).format(home=tmp_path, port=port, version=version, chain=good.chain,
                                                                    key=good.key, modules=modules))
    server(port, program, *(["-p", str(tmp_path), "-c", str(config)] if name == "nginx" else ["-X", "-f", str(config)]))
    got = trusting(Elsewhere(port)).get("/feed.xml")
    assert got.status == 200 and got.body == SMALL_OUT


# Clients over TLS

@pytest.mark.parametrize("version", VERSIONS)
def test_listener(listening, origin, authority, version):
    proxy = listening(origin)
    client = TlsClient(proxy.tls_port, client_context(authority.root, VERSIONS[version]))
    for _ in range(3):      # kept alive
        client.ask("/feed")
        origin.receive().answer(message("200 OK", XML, body=SMALL))
        assert client.response().body == SMALL_OUT
    client.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_listener_big_body_slow_reader(listening, origin, authority, version):
    body, out = big(size=8 << 20)
    proxy = listening(origin)
    client = TlsClient(proxy.tls_port, client_context(authority.root, VERSIONS[version])).ask("/feed")
    sending = origin.receive().send_soon(message("200 OK", XML, body=body))
    assert client.response().body == out
    sending.join()
    client.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_listener_large_certificate(listening, origin, authority, version):
    """A flight longer than what is gathered to go out at once."""
    large = authority.issue("localhost", names="DNS:localhost," + ",".join(f"DNS:name-{n}.test" for n in range(2000)))
    proxy = listening(origin, cert=large.cert, key=large.key)
    client = TlsClient(proxy.tls_port, client_context(authority.root, VERSIONS[version])).ask("/feed")
    origin.receive().answer(message("200 OK", XML, body=SMALL))
    assert client.response().body == SMALL_OUT
    client.close()


def test_listener_pipelined_in_the_handshake_s_flight(listening, origin, authority):
    """Two requests in one record, behind the client's Finished: nothing may wait in the TLS layer."""
    client = TlsClient(listening(origin).tls_port, client_context(authority.root))
    client.send(b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
    for _ in range(2):
        origin.receive().answer(message("200 OK", XML, body=SMALL))
        assert client.response().body == SMALL_OUT
    client.close()


def test_listener_says_close_notify(listening, origin, authority):
    client = TlsClient(listening(origin).tls_port, client_context(authority.root)).ask("/feed", "Connection: close", version="HTTP/1.0")
    origin.receive().answer(message("200 OK", XML, body=SMALL))
    assert client.response().body == SMALL_OUT      # framed by the end: without close_notify reading it raises


def test_listener_cut_body_has_no_close_notify(listening, origin, authority):
    body, _ = big(size=1 << 20)
    client = TlsClient(listening(origin).tls_port, client_context(authority.root)).ask("/feed", version="HTTP/1.0")
    upstream = origin.receive()
    upstream.send_soon(message("200 OK", XML, "Content-Length: 99999999", body=body)).join()
    upstream.close()
    with pytest.raises((Cut, ssl.SSLError, ConnectionError)):
        client.response()


@pytest.mark.parametrize("version", VERSIONS)
def test_listener_resumes_sessions(listening, origin, authority, version):
    context, session, reused = client_context(authority.root, VERSIONS[version]), None, []
    proxy = listening(origin)
    for _ in range(2):
        client = Client(proxy.tls_port)
        client.sock = client.stream.sock = context.wrap_socket(client.sock, server_hostname="localhost", session=session)
        client.ask("/feed")
        origin.receive().answer(message("200 OK", XML, body=SMALL))
        assert client.response().body == SMALL_OUT
        session, reused = client.sock.session, reused + [client.sock.session_reused]
        client.close()
    assert reused == [False, True]


@pytest.mark.parametrize("offered, chosen", [
    (["http/1.1", "h2"], "h2"), (["h2"], "h2"), (["http/1.1"], "http/1.1"), (["http/1.0"], "http/1.0"), ([], None)])
def test_listener_alpn(listening, origin, authority, offered, chosen):
    context = client_context(authority.root)
    context.set_alpn_protocols(offered)
    assert TlsClient(listening(origin).tls_port, context).sock.selected_alpn_protocol() == chosen


def test_listener_alpn_of_nothing_spoken(listening, origin, authority):
    """RFC 7301 section 3.2."""
    context = client_context(authority.root)
    context.set_alpn_protocols(["h3"])
    with pytest.raises(ssl.SSLError, match="(?i)no.application.protocol"):
        TlsClient(listening(origin).tls_port, context)


def test_listener_alpn_with_a_cipher_that_http_2_must_not_have(listening, origin, authority):
    """RFC 9113 section 9.2.2 and appendix A."""
    context = client_context(authority.root, ssl.TLSVersion.TLSv1_2)
    context.set_ciphers("ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:@SECLEVEL=0")
    context.set_alpn_protocols(["h2", "http/1.1"])
    proxy = listening(origin, "--tls-listen-min", "1.1")
    assert TlsClient(proxy.tls_port, context).sock.selected_alpn_protocol() == "http/1.1"


def test_listener_refuses_old_versions_and_plain_text(listening, origin, authority):
    proxy = listening(origin)
    context = client_context(authority.root)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError):
        TlsClient(proxy.tls_port, context)
    plain = Client(proxy.tls_port)
    plain.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    while not plain.is_ended():
        plain.stream.held.clear()
    assert TlsClient(proxy.tls_port, client_context(authority.root)).sock.version() == "TLSv1.3"


def test_listener_silent_client_is_cut(listening, origin):
    proxy = listening(origin, "--request-timeout", "200ms")
    assert Client(proxy.tls_port).is_ended()


def serial(port, root):
    client = TlsClient(port, client_context(root))
    number = client.sock.getpeercert()["serialNumber"]
    client.close()
    return number


def test_sighup_reads_certificates_again(listening, origin, authority, tmp_path):
    first, second = (authority.issue("localhost") for _ in range(2))
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"

    def install(made):
        cert.write_bytes(open(made.cert, "rb").read())
        key.write_bytes(open(made.key, "rb").read())

    install(first)
    proxy = listening(origin, cert=str(cert), key=str(key))
    before = serial(proxy.tls_port, authority.root)
    held = TlsClient(proxy.tls_port, client_context(authority.root))
    install(second)
    proxy.reload()
    after = serial(proxy.tls_port, authority.root)
    assert before != after
    key.write_bytes(b"nonsense")
    proxy.reload()
    assert serial(proxy.tls_port, authority.root) == after
    held.ask("/feed")
    origin.receive().answer(message("200 OK", XML, body=SMALL))
    assert held.response().body == SMALL_OUT
    held.close()


@pytest.mark.parametrize("options, word", [
    (["--tls-listen", "127.0.0.1:0"], "tls-listen-cert"),
    (["--tls-listen", "127.0.0.1:0", "--tls-listen-cert", "/nonexistent.pem"], "/nonexistent.pem: No such file"),
    (["--tls-ca-file", "/nonexistent.pem"], "/nonexistent.pem: No such file"),
    (["--route", "/=https://a.test/ tls-cert=/nonexistent.pem"], "/nonexistent.pem: No such file"),
])
def test_does_not_start_with_files_it_cannot_use(start, options, word):
    with pytest.raises(AssertionError, match="not ready: exit [12]") as failed:
        start(None, *options)
    assert word in str(failed.value)


@pytest.mark.parametrize("lines, message", [
    ("tls-listen = 127.0.0.1:0", "{f}:1: tls-listen: needs tls-listen-cert; write tls-listen-cert = FILE, a PEM file"),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = /nonexistent", "{f}:2: tls-listen-cert: certificate /nonexistent: "),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {cert}\ntls-listen-key = /", "{f}:3: tls-listen-key: / is a folder; write the name of a PEM file"),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {cert}", "{f}:2: tls-listen-cert: {cert} has a certificate and no private key; name the file of the key, too"),
    ("\ntls-ca-file = {f}", "{f}:2: tls-ca-file: {f} has no certificate; write "),
    ("[route /]\norigin = https://a.test\ntls-ca-file = /nonexistent", "{f}:3: tls-ca-file: certificate authorities /nonexistent: "),
    ("[route /]\norigin = https://a.test\n\ntls-key = {f}\ntls-cert = {cert}", "{f}:4: tls-key: {f} has no private key; write "),
    ("route = /=https://a.test tls-cert=/nonexistent", "{f}:1: tls-cert: certificate /nonexistent: "),
])
def test_says_where_a_file_is_named_it_cannot_use(tmp_path, good, lines, message):
    """At start and by --check-config alike."""
    names = {"f": tmp_path / "utfeed.conf", "cert": good.cert}
    names["f"].write_text(lines.format(**names) + "\n")
    for more in ((), ("--check-config",)):
        done = subprocess.run([BINARY, "serve", "-c", names["f"], *more], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode in (1, 2) and message.format(**names) in done.stderr and not done.stdout, done


# With the rest: kept connections, redirects

@pytest.mark.parametrize("version", VERSIONS)
def test_connection_is_kept(trusting, tls_origin, good, version):
    """Tickets that arrive on an idle connection are no reason to drop it."""
    origin = tls_origin(server_context(good, VERSIONS[version]))
    proxy = trusting(origin, "--workers", "1")
    for _ in range(3):
        assert proxy.through(origin, message("200 OK", XML, body=SMALL))[0].body == SMALL_OUT
    assert origin.connections == 1


def test_kept_connections_are_no_other_route_s(start, tls_origin, authority, good):
    origin = tls_origin(server_context(good))
    proxy = start(None, "--route", f"/loose/={origin.url}/ tls-verify=off", "--route", f"/strict/={origin.url}/")
    assert proxy.through(origin, message("200 OK", XML, body=SMALL), "/loose/feed")[0].body == SMALL_OUT
    client = proxy.client().ask("/strict/feed")
    assert origin.refused() == b""
    assert error_of(client.response()) == CERTIFICATE


def test_redirect_to_https(start, authority, origin, tls_origin, good):
    secure = tls_origin(server_context(good))
    proxy = start(None, "--tls-ca-file", authority.root.cert, "--redirects", "3", "--route", f"/={origin.url}/ follow-redirects=on")
    client = proxy.client().ask("/feed")
    origin.receive().answer(message("301 Moved", f"Location: {secure.url}/there"))
    upstream = secure.receive()
    assert upstream.request.target == "/there"
    upstream.answer(message("200 OK", XML, body=SMALL))
    assert client.response().body == SMALL_OUT


def led_elsewhere(start, origin, elsewhere, *options, route):
    """A client whose request to a route of origin was answered with a redirect to elsewhere."""
    client = start(None, *options, "--route", f"/={origin.url}/ follow-redirects=on {route}").client().ask("/feed")
    origin.receive().answer(message("302 Found", f"Location: {elsewhere.url}/there"))
    return client


def test_unverified_is_the_route_s_own_origin_only(start, tls_origin, good):
    """tls-verify off speaks of the origin that the operator named, not of whatever it redirects to."""
    first, elsewhere = tls_origin(server_context(good)), tls_origin(server_context(good))
    client = led_elsewhere(start, first, elsewhere, route="tls-verify=off")
    assert elsewhere.refused() == b""
    assert error_of(client.response()) == CERTIFICATE


@pytest.mark.parametrize("elsewhere_too", [False, True])
def test_client_certificates_go_to_the_route_s_own_origin_only(start, authority, tls_origin, good, elsewhere_too):
    """They are credentials. Where the redirect stays with the origin they are shown again."""
    mine = authority.issue("utfeed of the tests", names="", extensions=CLIENT)
    first = tls_origin(asking_context(good, authority.root, None))
    context = asking_context(good, authority.root, None)
    context.verify_mode = ssl.CERT_OPTIONAL
    elsewhere = tls_origin(context) if elsewhere_too else first
    client = led_elsewhere(start, first, elsewhere, "--tls-ca-file", authority.root.cert,
                           route=f"tls-cert={mine.cert} tls-key={mine.key}")
    upstream = elsewhere.receive()
    assert bool(upstream.sock.getpeercert()) is not elsewhere_too
    upstream.answer(message("200 OK", XML, body=SMALL))
    assert client.response().body == SMALL_OUT
