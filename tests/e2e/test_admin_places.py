"""Places at the admin listener: whatever connections others hold, a probe is answered. Who may not use it takes no place; what is idle,
half sent or unread gives way; what shows the token may stay, but never in a probe's place."""
import contextlib
import re
import socket
import subprocess

import pytest

from certs import client_context
from network import OTHER_ADDRESS
from peers import Client, TlsClient
from ports import server_port
from proxy import BINARY
from test_admin import TOKEN, Admin
from wire import PATIENCE, TIMEOUT, message

HELD = 100      # more than there are places of any kind
LONG = 2 << 20
PATIENCE = 8    # seconds, on whatever machine: less than the listener waits for half a request itself (10 s)


@contextlib.contextmanager
def crowd(port, count, begin, source="127.0.0.1"):
    """So many connections, each as begin() gives it back; one that the listener closes in the middle is held too."""
    held = []
    try:
        for _ in range(count):
            held.append(socket.create_connection(("127.0.0.1", port), TIMEOUT, source_address=(source, 0)))
            with contextlib.suppress(OSError):
                held[-1] = begin(held[-1])
        yield held
    finally:
        for sock in held:
            sock.close()


def sends(data):
    def begin(sock):
        sock.sendall(data)
        return sock
    return begin


def reads_slowly(data):
    """Asks for more than the kernel takes off utfeed, and reads nothing."""
    def begin(sock):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.sendall(data)
        return sock
    return begin


def request(line, *fields, body=b""):
    return message(line + " HTTP/1.1", "Host: localhost", *fields, length=False) + body


BEARER = f"Authorization: Bearer {TOKEN}"
UPLOAD = request("POST /api/check", f"Content-Length: {LONG}", BEARER, body=b"a" * 1000)
# What holders send; many answers that nobody reads fill their sockets
HOLDERS = {
    "nothing": sends(b""),
    "a byte": sends(b"G"),
    "half a head": sends(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n"),
    "half a hello of TLS": sends(b"\x16\x03\x01\x02\x00\x01"),
    "half a body": sends(request("POST /api/purge", "Content-Length: 100", body=b"what")),
    "answered, and idle": sends(request("GET /healthz")),
    "probes unread": reads_slowly(request("GET /readyz") * 600),
    "answers unread": reads_slowly(request("GET /metrics") * 60),
    "half a body, with the token": sends(UPLOAD),
    "answers unread, with the token": reads_slowly(request("GET /metrics", BEARER) * 60),
}


@pytest.fixture(scope="module", params=["plain", "TLS", "no token"])
def listener(request, start_once, authority, good):
    """(an admin listener, how a client of it gets to speak HTTP)"""
    options = () if request.param == "no token" else ("--admin-token", TOKEN)
    if request.param == "TLS":
        options += "--admin-tls-cert", good.chain, "--admin-tls-key", good.key
    admin = Admin(start_once(None, "--admin-listen", "127.0.0.1:0", *options))
    context = client_context(authority.root) if request.param == "TLS" else None

    def client():
        return TlsClient(admin.port, context) if context else Client(admin.port)
    return admin, client, context


def is_answered(client):
    probe = client()
    try:
        probe.sock.settimeout(PATIENCE)
        return probe.get("/healthz", "Connection: close", host="localhost").status == 200
    finally:
        probe.close()


@pytest.mark.parametrize("case", HOLDERS)
def test_a_probe_always_finds_a_place(listener, case):
    admin, client, context = listener
    begin = HOLDERS[case]

    def begin_over_tls(sock):
        return begin(context.wrap_socket(sock, server_hostname="localhost"))
    in_the_open = not context or case in ("nothing", "a byte", "half a hello of TLS")
    with crowd(admin.port, HELD, begin if in_the_open else begin_over_tls):
        assert all(is_answered(client) for _ in range(5))


def test_a_probe_waits_for_no_long_answers(start):
    """However many ask at once for what takes long: checks of large feeds, one after the other."""
    admin = Admin(start(None, "--admin-listen", "127.0.0.1:0"))
    feed = b"<rss>" + b"<item>&eacute; \xc3\xa9 it\x92s</item>" * 30000 + b"</rss>"
    with crowd(admin.port, 60, sends(request("POST /api/check", f"Content-Length: {len(feed)}", body=feed))):
        assert all(is_answered(lambda: Client(admin.port)) for _ in range(10))


def test_those_with_the_token_are_not_displaced(start):
    """Who is in the middle of something with the token stays; who comes when all places are taken so is told."""
    admin = Admin(start(None, "--admin-listen", "127.0.0.1:0", "--admin-token", TOKEN))
    first = Client(admin.port)
    first.ask("/api/check", "Content-Length: 12", BEARER, "Expect: 100-continue", method="POST", host="localhost")
    assert first.stream.line().startswith(b"HTTP/1.1 100") and first.stream.line() == b""
    with crowd(admin.port, HELD, sends(UPLOAD)):
        assert is_answered(lambda: Client(admin.port))
        got = admin.ask("/metrics", BEARER)
        assert got.status == 503 and b"try again later" in got.body
        first.send(b"<rss></rss>\n")
        assert first.response().status == 200
    first.close()


def test_an_address_displaces_its_own_first(start):
    """Somebody else's connection that is idle stays, however many come from one address."""
    admin = Admin(start(None, "--admin-listen", "127.0.0.1:0"))
    idle = Client(admin.port)
    assert idle.get("/healthz", host="localhost").status == 200
    with crowd(admin.port, 2 * HELD, sends(b"G"), source="127.0.0.2"):
        assert is_answered(lambda: Client(admin.port))
        assert idle.get("/healthz", host="localhost").status == 200
    idle.close()


@pytest.mark.parametrize("kind", ["plain", "TLS"])
def test_who_may_not_use_it_takes_no_place(start, good, kind):
    """Such an address is told at once, before it has sent a word, and over TLS closed at once; nobody else notices."""
    keys = ("--admin-tls-cert", good.chain, "--admin-tls-key", good.key) if kind == "TLS" else ()
    admin = Admin(start(None, "--admin-listen", "127.0.0.1:0", "--admin-allow", "127.0.0.2", *keys))
    for data in (b"", b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01"):
        with crowd(admin.port, 1, sends(data)) as [sock]:
            sock.settimeout(TIMEOUT)
            got = sock.makefile("rb").read()
            assert got.startswith(b"HTTP/1.1 403 Forbidden\r\n") and b"admin-allow = ADDRESS" in got if kind == "plain" else not got


# Who asks for what, without admin-token, from another address than loopback; the status
FROM_OUTSIDE = [("GET", "/healthz", 200), ("GET", "/readyz", 200), ("GET", "/metrics", 200), ("GET", "/", 403), ("GET", "/feeds", 403),
                ("GET", "/check", 403), ("GET", "/api", 403), ("GET", "/api/feeds", 403), ("GET", "/api/config", 403),
                ("GET", "/api/status", 403), ("GET", "/api/log-level", 403), ("POST", "/api/log-level?level=debug", 403),
                ("POST", "/api/purge?what=all", 403), ("POST", "/api/check", 403), ("POST", "/api/drain", 403), ("GET", "/nothing", 404)]
OPEN = re.compile(r"without admin-token other machines get only /healthz, /readyz and /metrics")


def own_address():
    """An address of this machine beside loopback; a UDP socket finds it without sending anything."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((OTHER_ADDRESS, 9))
        except OSError:
            pytest.skip("this machine has no address but loopback")
        return probe.getsockname()[0]


@pytest.fixture
def wide(start):
    def run(*options):
        admin = Admin.__new__(Admin)
        admin.proxy = start(None, "--admin-listen", "0.0.0.0:0", "--admin-allow", "0.0.0.0/0", *options)
        admin.port = int(re.search(r"admin listener on 0\.0\.0\.0:(\d+)", admin.proxy.err.text())[1])
        return admin
    return run


def status_from(admin, address, method, path, *fields):
    with socket.create_connection(("127.0.0.1", admin.port), source_address=(address, 0)) as sock:
        sock.sendall(message(f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Length: 0", "Connection: close", *fields, length=False))
        got = sock.makefile("rb").read()
    return int(got.split()[1]), got


def test_other_machines_get_little_without_the_token(wide):
    address, admin = own_address(), wide()
    assert len(OPEN.findall(admin.proxy.err.text())) == 1
    for method, path, status in FROM_OUTSIDE:
        code, got = status_from(admin, address, method, path)
        assert code == status, (method, path, got)
        assert code != 403 or b"admin-token" in got
    for method, path in (("GET", "/feeds"), ("POST", "/api/log-level?level=info")):
        assert status_from(admin, "127.0.0.1", method, path)[0] == 200


def test_other_machines_get_all_with_the_token(wide):
    address, admin = own_address(), wide("--admin-token", TOKEN)
    assert "admin-token" not in admin.proxy.err.text()
    assert status_from(admin, address, "POST", "/api/log-level?level=info", BEARER)[0] == 200
    assert status_from(admin, address, "GET", "/feeds")[0] == 401


# Options, what the check warns of
WARNED = {
    "no token": (("--admin-listen", "0.0.0.0:{port}", "--admin-allow", "10.0.0.0/8,127.0.0.0/8"), ["without admin-token"]),
    "a token": (("--admin-listen", "0.0.0.0:{port}", "--admin-allow", "10.0.0.0/8,127.0.0.0/8", "--admin-token", "t"), []),
    "loopback alone": (("--admin-listen", "127.0.0.1:{port}"), []),
    "all addresses, for this machine": (("--admin-listen", "0.0.0.0:{port}", "--admin-allow", "127.0.0.0/8"), []),
    "names of clients": (("--admin-listen", "127.0.0.1:{port}", "--hosts", "feeds.example.org"), []),
    "itself not allowed": (("--admin-listen", "0.0.0.0:{port}", "--admin-allow", "10.0.0.0/8", "--admin-token", "t"), ["utfeed healthcheck"]),
    "TLS": (("--admin-listen", "127.0.0.1:{port}", "--admin-tls-cert", "{chain}", "--admin-tls-key", "{key}"), ["utfeed healthcheck"]),
}


@pytest.mark.parametrize("case", WARNED)
def test_the_check_warns(case, good):
    options, words = WARNED[case]
    done = subprocess.run([BINARY, "serve", "--check-config", *(option.format(chain=good.chain, key=good.key, port=server_port()) for option in options)],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    said = [line for line in done.stderr.splitlines() if "admin" in line]
    assert done.returncode == 0 and len(said) == len(words), done.stderr
    assert all(word in line for word, line in zip(words, said)), said
