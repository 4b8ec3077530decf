"""Without tls-ca-file those count whom the system trusts; OpenSSL lets the environment say where they stand. They are read when a
connection first needs them, and nobody waits for that but who needs them."""
import os
import shutil
from pathlib import Path

import pytest

from certs import server_context
from feeds import SMALL, SMALL_OUT
from peers import Background
from test_faults import error_of
from wire import message

FEED = message("200 OK", "Content-Type: application/xml", "Cache-Control: no-store", "Connection: close", body=SMALL)


class System:
    """The file of the system's authorities, not there yet."""

    def __init__(self, folder, root):
        self.file, self.root = folder / "system.pem", root
        self.env = {"SSL_CERT_FILE": str(self.file), "SSL_CERT_DIR": "/nonexistent"}

    def trust(self):
        shutil.copy(self.root.cert, self.file)


@pytest.fixture
def system(tmp_path, authority):
    return System(tmp_path, authority.root)


@pytest.fixture
def secure(tls_origin, good):
    return tls_origin(server_context(good))


def fetched(proxy, origin):
    got, _ = proxy.through(origin, FEED, close=True)
    return got.status == 200 and got.body == SMALL_OUT


def refused(proxy, origin):
    """(response, Proxy-Status's error)."""
    client = proxy.client().ask("/feed")
    assert origin.refused() == b""
    got = client.response()
    return got, error_of(got)


def test_read_once_when_first_needed(start, secure, system):
    proxy = start(secure, env=system.env)
    system.trust()
    assert fetched(proxy, secure)
    system.file.unlink()
    assert fetched(proxy, secure)


def test_a_reload_has_them_read_again(start, secure, system):
    system.trust()
    proxy = start(secure, env=system.env)
    assert fetched(proxy, secure)
    system.file.unlink()
    proxy.reload()
    assert refused(proxy, secure)[1] == "tls_certificate_error"


def test_a_list_of_revoked_ones_stands_among_them(start, secure, system, authority):
    system.file.write_bytes(Path(authority.revoked()).read_bytes() + Path(authority.root.cert).read_bytes())
    assert fetched(start(secure, env=system.env), secure)


@pytest.mark.parametrize("text, words", [("", "{} has no certificate"), ("-----BEGIN CERTIFICATE-----\nbm9uc2Vuc2U=\n-----END CERTIFICATE-----\n", "certificate authorities {}: ")],
                         ids=["empty", "nonsense"])
def test_a_file_that_cannot_be_used(start, secure, system, text, words):
    """The start is not stopped by what may never be needed; what fails then is tried again with the next connection."""
    system.file.write_text(text)
    proxy = start(secure, env=system.env)
    got, error = refused(proxy, secure)
    said = words.format(system.file)
    assert got.status == 500 and error == "proxy_internal_error" and said in got["Proxy-Status"]
    proxy.says(f"error: tls: {said}")
    system.trust()
    assert fetched(proxy, secure)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_only_who_needs_them_waits(start, origin, secure, tls_origin, good, authority, system, workers):
    """A FIFO holds the reading up for as long as the test likes. One client leaves meanwhile, many others are served once it is over."""
    elsewhere = tls_origin(server_context(good))
    for each in (origin, secure):
        each.serve(lambda request: (FEED, "close"))
    os.mkfifo(system.file)
    proxy = start(None, "--route", f"/plain/={origin.url}/", "--route", f"/secure/={secure.url}/", "--route", f"/elsewhere/={elsewhere.url}/",
                  "--workers", workers, env=system.env)
    opening = Background(open, system.file, "wb")
    leaver = proxy.client().ask("/elsewhere/feed")
    with opening.join() as fifo:
        waiting = [proxy.client().ask(f"/secure/{n}") for n in range(8)]
        assert proxy.get("/plain/before").body == SMALL_OUT
        leaver.close()
        assert proxy.get("/plain/after").body == SMALL_OUT
        fifo.write(Path(authority.root.cert).read_bytes())
    assert all(client.response().body == SMALL_OUT for client in waiting)
