"""Unix sockets to listen on: who may come, what they count as, whose file is replaced and removed, the end."""
import os
import socket
import stat
import subprocess

import pytest

from certs import client_context
from feeds import SMALL, SMALL_OUT
from peers import Peer
from peers import Client as TcpClient
from proxy import BINARY
from wire import PATIENCE, TIMEOUT, message

BIG = bytes(range(256)) * 8192
FEED = message("200 OK", "Content-Type: application/xml", "Cache-Control: max-age=600", body=SMALL)
LARGE = message("200 OK", "Content-Type: image/png", "Cache-Control: max-age=600", body=BIG)


class Client(TcpClient):
    """At the other end of a Unix socket; context: over TLS."""

    def __init__(self, path, context=None):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(TIMEOUT)
        self.sock.connect(str(path))
        if context:
            self.sock = context.wrap_socket(self.sock, server_hostname="localhost", suppress_ragged_eofs=False)
        Peer.__init__(self, self.sock)
        self.method, self.version = "GET", "HTTP/1.1"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "u.sock"


def serve(request):
    return LARGE if request.target == "/big" else FEED


def test_clients_are_served_and_count_as_loopback(start, origin, path):
    """On a connection kept open, a body that is spliced too; PURGE as from 127.0.0.1; the log says unix:."""
    origin.serve(serve)
    proxy = start(origin, "--listen", f"unix:{path}", "--cache", "on")
    assert f" unix:{path}" in proxy.err.text() and stat.S_IMODE(os.stat(path).st_mode) == 0o660
    client = Client(path)
    for _ in range(2):
        assert client.get("/feed").body == SMALL_OUT and client.get("/big").body == BIG
    assert client.get("/feed", method="PURGE").status == 200
    assert client.get("/feed", "X-Forwarded-For: 192.0.2.1", method="PURGE").status == 403
    assert all(line.split()[1] == b"unix:" for line in proxy.access_lines(6))
    client.close()


@pytest.mark.parametrize("allow, status", [("192.0.2.0/24", 403), ("127.0.0.1", 200), ("::1", 403)])
def test_client_allow_has_127_0_0_1(start, origin, path, allow, status):
    origin.serve(serve)
    start(origin, "--listen", f"unix:{path}", "--client-allow", f"{allow}, 127.0.0.2")
    client = Client(path)
    assert client.get("/feed").status == status
    client.close()


def test_a_proxy_on_this_machine_names_clients(start, origin, path):
    """trusted-proxies = 127.0.0.1 means whoever comes by the socket, too."""
    origin.serve(serve)
    proxy = start(origin, "--listen", f"unix:{path}", "--trusted-proxies", "127.0.0.1", "--client-allow", "192.0.2.0/24")
    client = Client(path)
    assert client.get("/feed", "X-Forwarded-For: 192.0.2.7").status == 200
    assert client.get("/feed", "X-Forwarded-For: 203.0.113.7").status == 403
    assert proxy.access_lines(1)[0].split()[1] == b"192.0.2.7:-"
    client.close()


V2 = b"\r\n\r\n\0\r\nQUIT\n"
HEADERS = {b"PROXY TCP4 192.0.2.1 127.0.0.1 258 80\r\n": b"192.0.2.1:258", b"PROXY UNKNOWN\r\n": b"unix:",
           V2 + b"\x21\x11\0\x0c" + bytes([192, 0, 2, 1, 127, 0, 0, 1, 1, 2, 3, 4]): b"192.0.2.1:258",
           V2 + b"\x20\0\0\0": b"unix:", V2 + b"\x20\x31\0\xd8" + bytes(216): b"unix:", V2 + b"\x21\x31\0\xd8" + bytes(216): b"unix:"}


def test_the_proxy_protocol(start, origin, path):
    """Whoever the header names; LOCAL and Unix streams name nobody. Without one the connection is closed."""
    origin.serve(serve)
    proxy = start(origin, "--listen", f"unix:{path}", "--trusted-proxies", "127.0.0.1", "--proxy-protocol", "on",
                  "--client-allow", "127.0.0.0/8, 192.0.2.0/24")
    for number, (header, who) in enumerate(HEADERS.items()):
        client = Client(path)
        client.send(header)
        assert client.get("/feed").status == 200
        assert proxy.access_lines(number + 1)[number].split()[1] == who
        client.close()
    client = Client(path).ask("/feed")
    assert client.is_ended()
    proxy.says("proxy-protocol: unix:: does not begin with")


def test_an_address_has_so_many_connections(start, origin, path):
    proxy = start(origin, "--listen", f"unix:{path}", "--client-connections", "2", "--workers", "1")
    held = [Client(path) for _ in range(2)]
    late = Client(path).ask("/feed")
    assert late.response().status == 429
    for client in (*held, late):
        client.close()
    assert proxy.counters()["clients_crowded"] == 1


def test_tls(start, origin, path, good, authority):
    origin.serve(serve)
    proxy = start(origin, "--tls-listen", f"unix:{path}", "--tls-listen-cert", good.chain, "--tls-listen-key", good.key, "--listen-mode", "0600")
    client = Client(path, client_context(authority.root))
    assert client.get("/feed").body == SMALL_OUT and stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert f"unix:{path} (TLS)" in proxy.err.text()
    client.close()


def healthcheck(path):
    done = subprocess.run([BINARY, "healthcheck"], env={**os.environ, "UTFEED_ADMIN_LISTEN": f"unix:{path}"}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout


def test_the_admin_listener(start, path):
    """Whoever the file's mode lets in; utfeed healthcheck asks there too."""
    proxy = start(None, "--admin-listen", f"unix:{path}", "--admin-allow", "192.0.2.1", "--listen-mode", "0600")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    client = Client(path)
    assert client.get("/healthz", host="localhost").status == 200
    client.close()
    assert healthcheck(path) == (0, b"healthy\n")
    proxy.stop()
    assert not path.exists() and healthcheck(path) == (1, b"unhealthy: No such file or directory; write the admin-listen of a running utfeed, as UTFEED_ADMIN_LISTEN or as URL\n")


def test_workers_share_one_socket(start, origin, path):
    """As many clients at a time as all of them take together."""
    start(origin, "--listen", f"unix:{path}", "--workers", "3", "--max-connections", "2", "--cache", "off")
    clients, fetches = [], []
    for _ in range(6):
        clients.append(Client(path).ask("/feed"))
        fetches.append(origin.receive())
    for fetch in fetches:
        fetch.answer(FEED)
    for client in clients:
        assert client.response().body == SMALL_OUT
        client.close()


def refused(path, status):
    """What a utfeed says that does not start on the path."""
    done = subprocess.run([BINARY, "serve", "--listen", f"unix:{path}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=PATIENCE, check=False)
    assert done.returncode == status, done.stdout
    return done.stdout.decode()


def test_whose_file_is_there(start, origin, path):
    """A dead process's socket is replaced, a living one's is not, and what is no socket never."""
    origin.serve(serve)
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(path))
    dead.close()
    proxy = start(origin, "--listen", f"unix:{path}")
    assert f"--listen: unix:{path}: Address already in use" in refused(path, 1)
    client = Client(path)
    assert client.get("/feed").status == 200
    client.close()
    proxy.stop()
    assert not path.exists()
    path.write_text("precious")
    assert f"--listen: unix:{path}: Socket operation on non-socket" in refused(path, 2)
    assert path.read_text() == "precious"


@pytest.mark.parametrize("name, words", [("absent/u.sock", "No such file or directory"), ("file/u.sock", "Not a directory"),
                                         ("file", "Socket operation on non-socket"), ("u.sock", None)])
def test_check_config_looks_at_the_path(tmp_path, name, words):
    conf = tmp_path / "utfeed.conf"
    (tmp_path / "file").write_text("precious")
    conf.write_text(f"\nlisten = unix:{tmp_path}/{name}\n")
    done = subprocess.run([BINARY, "serve", "-c", conf, "--check-config"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == (2 if words else 0), done
    assert not words or f"utfeed.conf:2: listen: unix:{tmp_path}/{name}: {words}" in done.stderr


def test_the_same_path_twice_leaves_no_file(path, good):
    done = subprocess.run([BINARY, "serve", "--listen", f"unix:{path}", "--tls-listen", f"unix:{path}", "--tls-listen-cert", good.chain,
                           "--tls-listen-key", good.key], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert done.returncode == 2 and b"is taken already, at --listen" in done.stderr and not path.exists()


def test_somebody_elses_file_is_left(start, origin, path):
    proxy = start(origin, "--listen", f"unix:{path}")
    path.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        proxy.stop()
        assert path.exists()


def test_one_comes_after_the_other(start, origin, path):
    """A process that was killed leaves its file, which the next one replaces."""
    origin.serve(serve)
    proxy = start(origin, "--listen", f"unix:{path}")
    proxy.process.kill()
    proxy.process.wait()
    proxy.stopped = True
    assert path.exists()
    start(origin, "--listen", f"unix:{path}")
    client = Client(path)
    assert client.get("/feed").status == 200
    client.close()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_end(start, origin, path, workers):
    """What is under way ends, what waits to be accepted is answered, whoever comes later finds nobody, and the file is gone."""
    proxy = start(origin, "--listen", f"unix:{path}", "--workers", workers, "--max-connections", "1")
    busy = [Client(path).ask("/busy") for _ in range(int(workers))]
    fetches = [origin.receive() for _ in busy]
    waiting = Client(path).ask("/waiting")
    proxy.sigterm()
    proxy.says("nobody new is accepted")
    assert not path.exists() and pytest.raises(OSError, Client, path)
    for fetch in fetches:
        fetch.answer(FEED)
    assert all(client.response().body == SMALL_OUT for client in busy)
    for client in busy:
        client.close()
    origin.receive().answer(FEED)
    assert waiting.response().body == SMALL_OUT
    waiting.close()
    assert proxy.wait() == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_upgrade(start, origin, path, tmp_path, workers):
    """The next process takes the socket over: the file stays, and is removed when that one ends."""
    origin.serve(serve)
    options = ("--listen", f"unix:{path}", "--takeover-socket", str(tmp_path / "takeover"), "--workers", workers)
    former = start(origin, *options)
    inode = os.stat(path).st_ino
    held = Client(path)
    assert held.get("/feed").status == 200
    heir = start(origin, *options)
    former.wait()
    assert os.stat(path).st_ino == inode
    client = Client(path)
    assert client.get("/feed").status == 200
    for each in (held, client):
        each.close()
    heir.stop()
    assert not path.exists()
