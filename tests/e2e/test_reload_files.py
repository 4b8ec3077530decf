"""Certificates and keys in a reload: what can be used is taken, a route or listener whose file cannot stays wholly as it was."""
import os
import shutil
import ssl
import subprocess

import pytest

from certs import CLIENT, client_context, server_context
from feeds import SMALL, SMALL_OUT
from peers import TlsClient
from proxy import BINARY, REFUSED
from wire import PATIENCE, message

REPLY = message("200 OK", "Content-Type: application/xml", body=SMALL)
KEPT = " of the routes and listeners above stay as they were"


class Files:
    """A certificate and its key, under names that stay: .install(made)."""

    def __init__(self, home, name, made):
        self.cert, self.key = home / f"{name}.pem", home / f"{name}.key"
        self.install(made)

    def install(self, made):
        shutil.copy(made.cert, self.cert)
        shutil.copy(made.key, self.key)


def checked(conf):
    around = {name: value for name, value in os.environ.items() if not name.startswith("UTFEED")}     # they are the tests' own
    return subprocess.run([BINARY, "serve", "-c", conf, "--check-config"], capture_output=True, text=True, timeout=PATIENCE, check=False,
                          env=around)


@pytest.fixture
def mine(authority):
    """mine(name) gives a certificate to show to origins."""
    return lambda name: authority.issue(name, names="", extensions=CLIENT)


@pytest.fixture
def asking(tls_origin, authority, good):
    """An origin that wants to see a certificate."""
    context = server_context(good)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.root.cert)
    return tls_origin(context)


@pytest.fixture
def route(asking, authority):
    """route(prefix, files, line...): a section whose requests go to the origin that wants a certificate."""
    return lambda prefix, files, *lines: "\n".join((f"[route {prefix}]", f"origin = {asking.url}", f"tls-ca-file = {authority.root.cert}",
                                                    f"tls-cert = {files.cert}", f"tls-key = {files.key}", *lines, ""))


def shown(proxy, origin, target):
    """(the name on the certificate that the origin sees, its User-Agent, the charset of the response)."""
    client = proxy.client().ask(target)
    upstream = origin.receive()
    seen = upstream.sock.getpeercert()["subject"][0][0][1], upstream.request["User-Agent"]
    upstream.answer(REPLY, close=True)
    got = client.response()
    client.close()
    return *seen, got["Content-Type"].partition("charset=")[2]


def serial(proxy, authority):
    client = TlsClient(proxy.tls_port, client_context(authority.root))
    number = client.sock.getpeercert()["serialNumber"]
    client.close()
    return number


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_is_right_is_taken_and_what_is_wrong_stays(listening, asking, route, mine, authority, tmp_path, workers):
    """All options of a route or none of them; the log has file and line. Once the file is mended the new ones count."""
    conf, listener = tmp_path / "utfeed.conf", Files(tmp_path, "listener", authority.issue("localhost"))
    one, other = Files(tmp_path, "one", mine("one")), Files(tmp_path, "other", mine("other"))
    conf.write_text(route("/one/", one, "user-agent = a") + route("/other/", other, "user-agent = a"))
    proxy = listening(None, "-c", str(conf), "--workers", workers, cert=str(listener.cert), key=str(listener.key))
    before = serial(proxy, authority)
    assert (shown(proxy, asking, "/one/f"), shown(proxy, asking, "/other/f")) == (("one", "a", "utf-8"), ("other", "a", "utf-8"))

    listener.install(authority.issue("localhost"))
    one.install(mine("one, renewed"))
    renewed = mine("other, renewed")
    shutil.copy(renewed.cert, other.cert)              # its key is still the former one
    conf.write_text("user-agent = b\n" + route("/one/", one) + route("/other/", other, "output = us-ascii"))
    for _ in range(3):                                 # what a reload has kept the next one can keep too
        proxy.reload()
        assert shown(proxy, asking, "/one/f") == ("one, renewed", "b", "utf-8")
        assert shown(proxy, asking, "/other/f") == ("other", "a", "utf-8")
    assert serial(proxy, authority) != before
    assert f"utfeed.conf:11: tls-key: private key {other.key}" in proxy.err.text()
    assert "; route /other/ stays as it was" in proxy.err.text() and "1" + KEPT in proxy.err.text()

    other.install(renewed)
    proxy.reload()
    assert shown(proxy, asking, "/other/f") == ("other, renewed", "b", "us-ascii") and proxy.err.text().count(KEPT) == 3


def test_a_listener_stays_as_it_was(listening, asking, route, mine, authority, tmp_path):
    """Its certificate and its key together, while the routes are new."""
    conf, listener = tmp_path / "utfeed.conf", Files(tmp_path, "listener", authority.issue("localhost"))
    one = Files(tmp_path, "one", mine("one"))
    conf.write_text(route("/one/", one))
    proxy = listening(None, "-c", str(conf), cert=str(listener.cert), key=str(listener.key))
    before = serial(proxy, authority)
    listener.cert.write_text("nonsense")
    one.install(mine("one, renewed"))
    for _ in range(2):
        proxy.reload()
        assert serial(proxy, authority) == before and shown(proxy, asking, "/one/f")[0] == "one, renewed"
    assert f"{listener.cert} has no certificate; write " in proxy.err.text() and "; tls-listen stays with its former certificate" in proxy.err.text()


def test_a_new_route_whose_file_is_wrong_is_left_out(start, origin, route, mine, tmp_path):
    """Those before and behind it are taken; a route that is gone is gone."""
    origin.serve(lambda request: REPLY)
    conf = tmp_path / "utfeed.conf"
    files = Files(tmp_path, "c", mine("c"))
    plain = "[route /%s/]\norigin = " + origin.url + "\n"
    conf.write_text(plain % "a")
    proxy = start(None, "-c", str(conf))
    files.key.write_text("nonsense")
    conf.write_text(plain % "b" + route("/c/", files) + plain % "d")
    proxy.reload()
    assert [proxy.get(f"/{name}/f").status for name in "abcd"] == [404, 200, 404, 200]
    assert "; route /c/ is left out" in proxy.err.text()


def test_authorities_of_all(start, tls_origin, authority, good, tmp_path):
    """A global tls-ca-file is that of gateway, forward proxy and every route without one of its own: these stay, others are new."""
    origin = tls_origin(server_context(good))
    conf = tmp_path / "utfeed.conf"
    text = "via = %s\ntls-ca-file = %s\n[route /r/]\norigin = " + origin.url + "\n[route /own/]\norigin = " + origin.url + \
        f"\ntls-ca-file = {authority.root.cert}\nuser-agent = %s\n"
    conf.write_text(text % ("one", authority.root.cert, "a"))
    proxy = start(None, "-c", str(conf))
    conf.write_text(text % ("two", "/nonexistent", "b"))
    proxy.reload()
    assert "utfeed.conf:2: tls-ca-file: certificate authorities /nonexistent" in proxy.err.text() and "3" + KEPT in proxy.err.text()
    for target in ("/r/f", f"/{origin.url}/f", "/own/f"):
        got, request = proxy.through(origin, REPLY, target)
        assert got.body == SMALL_OUT and got["Via"] == "1.1 two" and (request["User-Agent"] == "b") == (target == "/own/f")


def test_a_mistake_in_the_configuration_keeps_all(listening, origin, authority, tmp_path):
    conf, listener = tmp_path / "utfeed.conf", Files(tmp_path, "listener", authority.issue("localhost"))
    conf.write_text("via = a\n")
    proxy = listening(origin, "-c", str(conf), cert=str(listener.cert), key=str(listener.key))
    before = serial(proxy, authority)
    listener.install(authority.issue("localhost"))
    conf.write_text("via = a\nnonsense\n")
    proxy.reload(REFUSED)
    assert serial(proxy, authority) == before


@pytest.mark.parametrize("days, words", [((-3, -1), "expired on "), ((2, 9), "is not valid before ")])
def test_dates_are_warned_of(start, authority, tmp_path, days, words):
    """At start, in a reload and by --check-config, of the listener's and of a route's; it serves all the same."""
    old, fresh = authority.issue("localhost", days=days), authority.issue("localhost")
    conf, files = tmp_path / "utfeed.conf", Files(tmp_path, "a", old)
    conf.write_text(f"tls-listen = 127.0.0.1:0\ntls-listen-cert = {files.cert}\ntls-listen-key = {files.key}\n[route /]\norigin = https://a.test\n"
                    f"tls-cert = {files.cert}\ntls-key = {files.key}\n")
    said = [f"utfeed.conf:{line}: {option}: certificate {files.cert} {words}2" for line, option in ((2, "tls-listen-cert"), (6, "tls-cert"))]
    done = checked(conf)
    assert done.returncode == 0 and all(each in done.stderr for each in said) and "is right" in done.stdout
    proxy = start(None, "-c", str(conf))
    assert all(proxy.err.text().count(each) == 1 for each in said)
    proxy.reload()
    assert all(proxy.err.text().count(each) == 2 for each in said)
    files.install(fresh)
    proxy.reload()
    assert all(proxy.err.text().count(each) == 2 for each in said)


def test_all_that_is_wrong_is_named_at_start(tmp_path, good):
    conf = tmp_path / "utfeed.conf"
    conf.write_text("tls-listen = 127.0.0.1:0\ntls-listen-cert = /nonexistent\n[route /a/]\norigin = https://a.test\ntls-cert = /nowhere\n"
                    f"[route /b/]\norigin = https://a.test\ntls-cert = {good.cert}\n")
    done = checked(conf)
    assert done.returncode == 2 and [line.split("utfeed.conf:")[1].split(" ")[0] for line in done.stderr.splitlines()] == ["2:", "5:", "8:"]
