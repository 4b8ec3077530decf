"""utfeed never connects to a socket of its own, whatever allow says: clients would reach the admin listener by it, or lead utfeed in a
circle. Other services of the machine are reached."""
import contextlib
import re
import socket
import subprocess

import pytest

from feeds import SMALL, SMALL_OUT
from inside import OwnCa
from parents import Parent
from ports import server_port
from proxy import BINARY
from test_admin import Admin
from test_admin_places import own_address
from test_life import giving
from wire import PATIENCE, message

FEED = message("200 OK", "Content-Type: application/xml", body=SMALL)
OWN = 'error=proxy_loop_detected; details="own listener"'
EVERYWHERE = ("--allow", "0.0.0.0/0:*", "--allow", "[::/0]:*", "--allow", "*:*")


@pytest.fixture
def open_wide(start):
    """utfeed with an admin listener, and clients may have everything fetched."""
    def run(*options, **how):
        return Admin(start(None, "--admin-listen", "127.0.0.1:0", *EVERYWHERE, *options, guarded=True, **how))
    return run


def refused(got):
    return got.status == 502 and OWN in got["Proxy-Status"]


def sockets_of(admin):
    """Ports of the admin listener, and of the listener for clients."""
    return admin.port, admin.proxy.port


HOSTS = ["127.0.0.1", "0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:0.0.0.0]", "localhost", "LOCALHOST.", "name.test"]


@pytest.fixture
def hosts_file(tmp_path):
    file = tmp_path / "hosts"
    file.write_text("127.0.0.1 localhost name.test\n")
    return "--hosts-file", str(file)


def test_by_urls_of_clients(open_wide, hosts_file):
    admin = open_wide(*hosts_file)
    count = 0
    for port in sockets_of(admin):
        for host in HOSTS:
            url = f"http://{host}:{port}/metrics"
            for got in (admin.proxy.get(f"/{url}"), admin.proxy.get(f"/?url={url}"), admin.proxy.get(url, host=f"{host}:{port}"),
                        admin.proxy.get(url.replace("metrics", "api/drain"), method="POST", host=f"{host}:{port}"),
                        admin.proxy.get(f"/https://{host}:{port}/")):
                assert refused(got), (url, got.line, got["Proxy-Status"])
                count += 1
    assert admin.metrics()["utfeed_destinations_refused_total"] == count
    assert admin.ask("/healthz").status == 200


def test_by_tunnels(open_wide):
    admin = open_wide("--connect-allow", "*:*")
    for port in sockets_of(admin):
        for host in ("127.0.0.1", "0.0.0.0", "localhost"):
            assert refused(admin.proxy.get(f"{host}:{port}", method="CONNECT", host=f"{host}:{port}"))


def test_inside_opened_tunnels(open_wide, tmp_path, authority, good):
    """The admin listener speaks TLS, so that the origin of the tunnel could prove who it is."""
    own = OwnCa(tmp_path)
    admin = open_wide(*own.options("127.0.0.1", "localhost"), "--tls-ca-file", authority.root.cert,
                      "--admin-tls-cert", good.chain, "--admin-tls-key", good.key)
    assert refused(admin.proxy.get(f"localhost:{admin.port}", method="CONNECT", host=f"localhost:{admin.port}"))


@pytest.mark.http1_origin("https leads nobody to http:")
def test_by_redirects(open_wide, origin):
    admin = open_wide()
    for port in sockets_of(admin):
        origin.serve(lambda request, port=port: message("302 Found", f"Location: http://127.0.0.1:{port}/metrics"))
        assert refused(admin.proxy.get(f"/{origin.url}/feed"))


def test_by_routes(open_wide):
    """The operator's own words count no more than a client's, since a client chooses the path."""
    port = server_port()
    admin = open_wide("--admin-listen", f"127.0.0.1:{port}", "--route", f"/a/=http://127.0.0.1:{port}/", "--route",
                      f"//a.test/=http://localhost:{port}/")
    for got in (admin.proxy.get("/a/metrics"), admin.proxy.get("/metrics", host="a.test")):
        assert refused(got)


# Options, and whether the check warns of them; port 9180 is the admin listener's, 8081 one of 0.0.0.0
WARNED = {
    "a route": (("--route", "/a/=http://127.0.0.1:9180/"), True),
    "by localhost": (("--route", "/a/=https://localhost:9180/"), True),
    "by another address of loopback": (("--route", "/a/=http://127.0.0.2:9180/"), False),
    "one of all addresses": (("--route", "/a/=http://127.0.0.2:8081/"), True),
    "inside IPv6": (("--route", "/a/=http://[::ffff:127.0.0.1]:9180/"), True),
    "another port": (("--route", "/a/=http://127.0.0.1:9181/"), False),
    "the other version": (("--route", "/a/=http://[::1]:9180/"), False),
    "another machine": (("--route", "/a/=http://192.0.2.1:9180/"), False),
    "a parent": (("--http-proxy", "127.0.0.1:8080"), True),
    "a parent of https": (("--https-proxy", "127.0.0.1:8081"), True),
}


@pytest.mark.parametrize("case", WARNED)
def test_the_check_warns(case):
    options, warned = WARNED[case]
    done = subprocess.run([BINARY, "serve", "--check-config", "--listen", "127.0.0.1:8080", "--listen", "0.0.0.0:8081", "--client-allow",
                           "127.0.0.0/8", "--admin-listen", "127.0.0.1:9180", *options], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0 and (f"utfeed: warning: {options[0]}: " in done.stderr) == warned, done.stderr
    assert done.stderr.count("a listener of utfeed itself") == warned


def test_by_parents(open_wide):
    """utfeed itself as its own parent, and a parent that is asked for a socket of utfeed's."""
    port = server_port()
    circle = open_wide("--listen", f"127.0.0.1:{port}", "--http-proxy", f"127.0.0.1:{port}")
    got = circle.proxy.get("/http://feeds.test/")
    assert got.status == 502 and 'details="parent proxy: own listener"' in got["Proxy-Status"]
    with contextlib.closing(Parent()) as parent:
        behind = open_wide("--http-proxy", f"127.0.0.1:{parent.port}", "--https-proxy", f"127.0.0.1:{parent.port}", "--connect-allow", "*:*",
                               "--allow", "localhost:*")
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
            assert refused(behind.proxy.get(f"/http://{host}:{behind.port}/metrics"))
            assert refused(behind.proxy.get(f"{host}:{behind.port}", method="CONNECT", host=f"{host}:{behind.port}"))
        assert not parent.asked()


def test_by_checks(open_wide):
    admin = open_wide()
    for port in sockets_of(admin):
        got = admin.post(f"/api/check?url=http://127.0.0.1:{port}/metrics")
        assert got.status == 502 and b"own listener" in got.body
        assert b"own listener" in admin.ask(f"/check?url=http://127.0.0.1:{port}/metrics", "Sec-Fetch-Site: same-origin").body


def test_by_any_address_of_the_machine(start, origin):
    """A listener on all addresses is refused by each of them, and another service on the same port elsewhere is not."""
    proxy = start(None, "--listen", "0.0.0.0:0", "--client-allow", "0.0.0.0/0", *EVERYWHERE, guarded=True)
    port = int(re.search(r" 0\.0\.0\.0:(\d+)", proxy.err.text())[1])
    for host in ("127.0.0.1", "127.5.5.5", "0.0.0.0", own_address()):
        assert refused(proxy.get(f"/http://{host}:{port}/")), host


def test_of_a_service_manager(open_wide):
    """A socket of both versions that utfeed was given, and that no option names."""
    if not socket.has_dualstack_ipv6():
        pytest.skip("no socket of both versions")
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as given:
        port = given.getsockname()[1]
        admin = open_wide("--admin-allow", "0.0.0.0/0,::/0", **giving(given, names="admin-listen"))
        admin.proxy.says(f"admin-listen: [::]:{port}: without admin-token other machines get only")
        for host in ("127.0.0.1", "[::1]", "localhost"):
            assert refused(admin.proxy.get(f"/http://{host}:{port}/")), host


def test_others_are_reached(open_wide, start, origin):
    """What else this machine serves, on the same address, and another utfeed that is asked through this one."""
    admin = open_wide()
    assert admin.proxy.through(origin, FEED, f"/{origin.url}/feed")[0].body == SMALL_OUT
    inner = start(origin)
    outer = start(None, "--route", f"/=http://127.0.0.1:{inner.port}/")
    for proxy, target in ((outer, "/feed"), (admin.proxy, f"/http://127.0.0.1:{inner.port}/feed")):
        assert proxy.through(origin, FEED, target)[0].body == SMALL_OUT
    chained = start(None, "--http-proxy", f"127.0.0.1:{inner.port}")
    assert chained.through(origin, FEED, f"/{origin.url}/feed")[0].body == SMALL_OUT


def test_those_of_a_takeover(start, origin, tmp_path):
    """What was given to the next process is still refused by the former one, and refused by the next one."""
    path = str(tmp_path / "takeover")
    former = Admin(start(origin, "--takeover-socket", path, "--admin-listen", "127.0.0.1:0", "--drain-timeout", "20s"))
    client = former.proxy.client().ask("/slow")
    upstream = origin.receive()
    heir = Admin(start(origin, "--takeover-socket", path, "--admin-listen", f"127.0.0.1:{former.port}"))
    assert heir.port == former.port
    assert refused(heir.proxy.get(f"/http://127.0.0.1:{heir.port}/metrics"))
    upstream.answer(message("302 Found", f"Location: http://127.0.0.1:{heir.port}/metrics"), False)
    client.response()
    assert former.proxy.wait() == 0
