"""What a peer may make utfeed compute by TLS: issue 31, A 1 and A 2. Groups, hellos, what follows a handshake, origins' certificates."""
import socket
import ssl
import subprocess
import time

import pytest

from certs import CA, client_context, openssl, server_context
from feeds import SMALL
from hello import FFDHE2048, FFDHE8192, P256, P384, SHARES, TLS_1_2, TLS_1_3, X25519, hello, hello_of, tickets
from peers import Background, TlsClient
from test_faults import error_of
from test_tls import CERTIFICATE, PROTOCOL
from wire import TIMEOUT, message

HANDSHAKE, ALERT = b"\x16\x03", b"\x15\x03"
FEED = message("200 OK", "Content-Type: application/xml", body=SMALL)


def told(port, *pieces):
    """The first bytes of the answer to these; b"": the end."""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for piece in pieces:
                sock.sendall(piece)
            return sock.recv(2)
        except ConnectionError:
            return b""


# Clients: what they may choose

@pytest.mark.parametrize("version", [TLS_1_2, TLS_1_3], ids=["1.2", "1.3"])
@pytest.mark.parametrize("group,spoken", [(X25519, True), (P256, True), (P384, True), (FFDHE2048, False), (FFDHE8192, False)])
def test_groups(listening, origin, group, version, spoken):
    """No finite field: by it a hello of a kilobyte cost a tenth of a second."""
    assert told(listening(origin).tls_port, hello_of(group, version)) == (HANDSHAKE if spoken else ALERT)


def ciphers_taken(port, root, version):
    taken = set()
    for cipher in client_context(root).get_ciphers():
        context = client_context(root, version)
        try:
            context.set_ciphers(cipher["name"] + ":@SECLEVEL=0")
            client = TlsClient(port, context)
        except ssl.SSLError:
            continue
        taken.add(client.sock.cipher()[0])
        client.close()
    return taken


@pytest.mark.parametrize("key", ["ec", "2048"])
def test_ciphers(listening, origin, authority, key):
    """In TLS 1.2 those with forward secrecy and authenticated encryption; older ones for whom tls-listen-min is set lower."""
    made = authority.issue("localhost", key=key)
    taken = ciphers_taken(listening(origin, cert=made.cert, key=made.key).tls_port, authority.root, ssl.TLSVersion.TLSv1_2)
    assert taken and all(name.startswith("ECDHE-") and ("GCM" in name or "POLY1305" in name) for name in taken)
    proxy = listening(origin, "--tls-listen-min", "1.1", cert=made.cert, key=made.key)
    old = ciphers_taken(proxy.tls_port, authority.root, ssl.TLSVersion.TLSv1_2)
    assert old > taken and any(name.endswith("-SHA") for name in old) and not any(name.startswith("DHE") for name in old)


def test_no_cipher_in_common_is_explained(listening, origin, authority):
    proxy = listening(origin)
    context = client_context(authority.root, ssl.TLSVersion.TLSv1_2)
    context.set_ciphers("ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError):
        TlsClient(proxy.tls_port, context)
    proxy.says("no shared cipher; with tls-listen-min = 1.1 older ciphers are spoken")


# Clients: hellos

@pytest.mark.parametrize("size", [1, 3, 4, 100])
def test_a_hello_in_pieces(listening, origin, size):
    """Each a record of its own, or a segment of its own."""
    port = listening(origin).tls_port
    whole = hello()
    assert told(port, hello(record=size)) == HANDSHAKE
    assert told(port, *(whole[at:at + size] for at in range(0, len(whole), size))) == HANDSHAKE


ABSURD = {
    "keys": (hello([*range(1000, 1250)], [(1249, b"x")] * 2000), "the hello has too many keys"),
    "groups": (hello([*range(1000, 2000), X25519], [(X25519, SHARES[X25519])]), "the hello names too many groups"),
    "ciphers": (hello(suites=[*range(0x2000, 0x2600), 0x1301]), "the hello names too many ciphers"),
    "signatures": (hello(signatures=[*range(0x2000, 0x2300), 0x0403]), "the hello names too many signatures"),
    "tickets": (hello(more=tickets(100)), "the hello has too many tickets"),
    "length": (b"\x16\x03\x01\0\x09\x01\0\x80\x01", "the first message is too long"),
    "length in pieces": (b"\x16\x03\x01\0\x01\x01\x16\x03\x01\0\x01\0\x16\x03\x01\0\x02\x80\x01", "the first message is too long"),
}


@pytest.mark.parametrize("case", ABSURD)
def test_an_absurd_hello(listening, origin, authority, case):
    """Refused before OpenSSL compares or makes room; 6,000 keys cost 70 ms. Others are served."""
    sent, words = ABSURD[case]
    proxy = listening(origin)
    assert told(proxy.tls_port, sent) in (ALERT, b"")
    proxy.says(words)
    assert TlsClient(proxy.tls_port, client_context(authority.root)).sock.version() == "TLSv1.3"


def test_a_hello_with_much_in_it(listening, origin):
    """As much as a sane client may have: several keys, tickets of another server, all that it can verify."""
    port = listening(origin).tls_port
    assert told(port, hello([X25519, P256, P384], signatures=[0x0403] * 100, suites=[0x1301] * 400, more=tickets(20))) == HANDSHAKE


def test_tls_without_data_ends(listening, origin, authority):
    """Key updates are work, and OpenSSL takes them as long as they come."""
    proxy = listening(origin)
    flooding = subprocess.Popen(["openssl", "s_client", "-connect", f"127.0.0.1:{proxy.tls_port}", "-CAfile", authority.root.cert],
                                bufsize=0,
                                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + TIMEOUT
    with flooding, pytest.raises(BrokenPipeError):
        while time.monotonic() < end:
            flooding.stdin.write(b"k\n")
            time.sleep(0.001)              # s_client takes one command of what it reads at once
    assert TlsClient(proxy.tls_port, client_context(authority.root)).sock.version() == "TLSv1.3"


# Origins

def chain(authority, number):
    above = None
    for _ in range(number):
        above = authority.issue("between", extensions=CA, issuer=above or "root")
    return authority.issue("localhost", issuer=above or "root")


def with_key(key):
    return lambda authority: authority.issue("localhost", key=key)


def constrained(authority):
    names = ",".join(["DNS:localhost", *(f"DNS:a{number}" for number in range(800))])
    constraints = "nameConstraints=critical,permitted;DNS:localhost," + ",".join(f"excluded;DNS:b{number}" for number in range(800))
    return authority.issue("localhost", names, issuer=authority.intermediate(constraints + "\n"))


HOSTILE = {
    "RSA of 8200 bits": (lambda authority: authority.beside(8200, 65537), "a certificate's RSA key is of absurd size"),
    "RSA of 8192 bits, exponent of 18": (lambda authority: authority.beside(8192, 2 ** 18 - 1), "a certificate's RSA key is of absurd size"),
    "RSA with a huge exponent": (lambda authority: authority.beside(2048, 2 ** 300 + 1), "a certificate's RSA key is of absurd size"),
    "many names and constraints": (constrained, "too many names and constraints on names"),
    "a described curve": (with_key("described"), "a certificate's key is on an unusual curve"),
    "7 certificates between": (lambda authority: chain(authority, 7), "certificate chain too long"),
    "10 certificates between": (lambda authority: chain(authority, 10), "too many certificates"),
}
USUAL = {"RSA of 8192 bits": lambda authority: authority.beside(8192, 65537),
         "RSA with an odd exponent": lambda authority: authority.beside(2048, 2 ** 32 + 1), "P-384": with_key("P-384"), "P-521": with_key("P-521"), "Ed25519": with_key("ED25519"),
         "6 certificates between": lambda authority: chain(authority, 6)}


@pytest.mark.parametrize("verify", ["on", "off"])
@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_origin(start, tls_origin, authority, case, verify):
    """Refused by what it shows, and named, before anything is computed; also where it need not prove who it is."""
    make, words = HOSTILE[case]
    if verify == "off" and words == "certificate chain too long":
        pytest.skip("nothing is verified")
    origin = tls_origin(server_context(make(authority), weak=True))
    proxy = start(None, "--route", f"/=https://localhost:{origin.port}/ tls-verify={verify}", "--tls-ca-file", authority.root.cert)
    refused = Background(origin.refused)
    got = proxy.get("/feed")
    refused.join()
    assert (got.status, error_of(got)) == (502, CERTIFICATE) and f'details="{words}"' in got["Proxy-Status"]


@pytest.mark.parametrize("case", USUAL)
def test_a_usual_origin(start, tls_origin, authority, case):
    origin = tls_origin(server_context(USUAL[case](authority)))
    origin.serve(lambda request: FEED)
    proxy = start(None, "--route", f"/=https://localhost:{origin.port}/", "--tls-ca-file", authority.root.cert)
    assert proxy.get("/feed").status == 200


def test_large_certificates(start, tls_origin, authority):
    """A list of 32 KiB is the longest that is read."""
    origin = tls_origin(server_context(authority.issue("localhost", ",".join(["DNS:localhost", *(f"DNS:{number:060d}.test" for number in range(600))]))))
    proxy = start(None, "--route", f"/=https://localhost:{origin.port}/", "--tls-ca-file", authority.root.cert)
    refused = Background(origin.refused)
    got = proxy.get("/feed")
    refused.join()
    assert (got.status, error_of(got)) == (502, PROTOCOL) and "excessive message size" in got["Proxy-Status"]


@pytest.mark.parametrize("cipher", ["DHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"])
def test_an_origin_chooses_no_finite_field(start, tls_origin, authority, tmp_path, cipher):
    parameters = str(tmp_path / "dh.pem")
    openssl("genpkey", "-genparam", "-algorithm", "DH", "-pkeyopt", "group:ffdhe2048", "-out", parameters)
    context = server_context(authority.issue("localhost", key="2048"), ssl.TLSVersion.TLSv1_2)
    context.load_dh_params(parameters)
    context.set_ciphers(cipher)
    origin = tls_origin(context)
    proxy = start(None, "--route", f"/=https://localhost:{origin.port}/", "--tls-ca-file", authority.root.cert)
    if cipher.startswith("ECDHE"):
        origin.serve(lambda request: FEED)
        assert proxy.get("/feed").status == 200
        return
    refused = Background(origin.refused)
    got = proxy.get("/feed")
    refused.join()
    assert (got.status, error_of(got)) == (502, PROTOCOL)
