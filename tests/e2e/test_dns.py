"""Names: the DNS with its cache (a worker's own), search list and failures; the hosts file; both address families (RFC 8305)."""
import os
import socket
import threading

import pytest

from feeds import SMALL, SMALL_OUT
from fleets import purged
from nameserver import A, AAAA, SERVFAIL, Nameserver
from peers import Origin
from test_faults import error_of
from wire import message

FEED = message("200 OK", "Content-Type: application/xml", "Connection: close", body=SMALL)


@pytest.fixture
def names():
    server = Nameserver()
    yield server
    server.close()


@pytest.fixture
def via(start, names, tmp_path):
    """via(URL's host and port, option...): a utfeed with / routed there, that asks the scripted server."""
    hosts, conf = tmp_path / "hosts", tmp_path / "resolv.conf"
    hosts.write_text("")
    conf.write_text("")

    def run(authority, *options):
        return start(None, "--resolver", names.address, "--resolv-conf", str(conf), "--hosts-file", str(hosts),
                     "--route", f"/=http://{authority}/", *options)
    run.hosts, run.conf = hosts, conf
    return run


class Origin6(Origin):
    def __init__(self, port):
        super().__init__()
        self.listener.close()
        self.listener = socket.create_server(("::1", port), family=socket.AF_INET6, backlog=256)
        self.port = port


@pytest.fixture
def origin6(origin):
    """On [::1], at the port that origin has on 127.0.0.1."""
    try:
        made = Origin6(origin.port)
    except OSError:
        pytest.skip("no IPv6 loopback here")
    yield made
    made.close()


def replace(path, text):
    """As editors do, so that the file is never half written."""
    fresh = path.with_name("fresh")
    fresh.write_text(text)
    os.replace(fresh, path)


def test_answers_are_kept(via, names, origin):
    names.zone["feeds.test"] = ["127.0.0.1"]
    proxy = via(f"feeds.test:{origin.port}", "--workers", "1")
    for _ in range(3):
        assert proxy.through(origin, FEED)[0].body == SMALL_OUT
    assert names.count("feeds.test", A) == names.count("feeds.test", AAAA) == 1 and proxy.counters()["resolves"] == 1


def test_answers_end_with_their_ttl(via, names, origin):
    """The alias's TTL counts where it is the shorter one; 0 is taken for one second."""
    names.zone["real.test"], names.alias["feeds.test"] = ["127.0.0.1"], ("real.test", 0)
    proxy = via(f"feeds.test:{origin.port}")
    origin.serve(lambda request: (FEED, "close"))
    while names.count("feeds.test", A) < 3:
        assert proxy.get("/feed").body == SMALL_OUT


def test_absence_is_kept_for_a_moment(via, names):
    proxy = via("nobody.test", "--workers", "1")
    for _ in range(3):
        got = proxy.get("/feed")
        assert got.status == 502 and error_of(got) == "dns_error"
    assert names.count("nobody.test", A) == names.count("nobody.test", AAAA) == 1


def test_server_failure_is_not_kept(via, names):
    names.zone["broken.test"] = SERVFAIL
    proxy = via("broken.test")
    assert error_of(proxy.get("/feed")) == "dns_error"
    asked = names.count("broken.test")
    assert error_of(proxy.get("/feed")) == "dns_error"
    assert names.count("broken.test") > asked


def test_silent_server(via, names):
    names.silent |= {("feeds.test", A), ("feeds.test", AAAA)}
    got = via("feeds.test", "--connect-timeout", "300ms").get("/feed")
    assert got.status == 504 and error_of(got) == "dns_timeout"


def test_equal_lookups_are_one(via, names, origin):
    names.zone["feeds.test"] = ["127.0.0.1"]
    gate = names.held["feeds.test", A] = threading.Event()
    proxy = via(f"feeds.test:{origin.port}", "--workers", "1")
    origin.serve(lambda request: (FEED, "close"))
    clients = [proxy.client().ask(f"/feed{i}") for i in range(5)]
    names.wait("feeds.test", A)
    clients += [proxy.client().ask(f"/late{i}") for i in range(5)]
    gate.set()
    assert all(client.response().body == SMALL_OUT for client in clients)
    assert names.count("feeds.test", A) == 1


def test_client_leaves_while_its_name_is_looked_up(via, names, origin):
    names.zone["feeds.test"] = ["127.0.0.1"]
    gate = names.held["feeds.test", A] = threading.Event()
    proxy = via(f"feeds.test:{origin.port}", "--workers", "1")
    client = proxy.client().ask("/feed")
    names.wait("feeds.test", A)
    client.reset()
    assert b"dropped" in proxy.access_lines(1)[0]
    gate.set()
    assert proxy.through(origin, FEED)[0].body == SMALL_OUT
    assert names.count("feeds.test", A) == 1


def test_truncated_answer_is_asked_for_over_tcp(via, names, origin):
    names.zone["feeds.test"] = ["127.0.0.1"]
    names.truncated.add("feeds.test")
    assert via(f"feeds.test:{origin.port}").through(origin, FEED)[0].body == SMALL_OUT
    assert {how for name, kind, how in names.asked if kind == A} == {"udp", "tcp"}


def test_more_addresses_than_are_taken(via, names, origin):
    names.zone["feeds.test"] = ["127.0.0.1"] + [f"127.1.0.{i}" for i in range(1, 60)]
    assert via(f"feeds.test:{origin.port}").through(origin, FEED)[0].body == SMALL_OUT


# The search list

@pytest.mark.parametrize("conf, host, order", [
    ("search a.test b.test\n", "feeds", ["feeds.a.test", "feeds.b.test", "feeds"]),
    ("search a.test b.test\n", "feeds.sub", ["feeds.sub", "feeds.sub.a.test", "feeds.sub.b.test"]),
    ("search a.test\noptions ndots:5\n", "feeds.sub", ["feeds.sub.a.test", "feeds.sub"]),
    ("domain a.test\n", "feeds", ["feeds.a.test", "feeds"]),
    ("search a.test\n", "feeds.", ["feeds"]),
])
def test_search_list(via, names, conf, host, order):
    via.conf.write_text(conf)
    assert error_of(via(host).get("/feed")) == "dns_error"
    assert [name for name, kind, _ in names.asked if kind == A] == order


def test_search_never_mixes_two_hosts(via, names, origin):
    """feeds.a.test has no IPv6 address: that feeds.b.test has one is another host's business."""
    names.zone["feeds.a.test"], names.zone["feeds.b.test"] = ["127.0.0.1"], ["::1"]
    via.conf.write_text("search a.test b.test\n")
    assert via(f"feeds:{origin.port}").through(origin, FEED)[0].body == SMALL_OUT
    assert not names.count("feeds.b.test")


def test_resolv_conf_is_read_again(via, names, origin):
    names.zone["feeds.b.test"] = ["127.0.0.1"]
    via.conf.write_text("search a.test\n")
    proxy = via(f"feeds:{origin.port}")
    assert error_of(proxy.get("/feed")) == "dns_error"
    replace(via.conf, "search b.test\n")
    origin.serve(lambda request: (FEED, "close"))
    while proxy.get("/feed").status != 200:
        assert names.count("feeds.b.test") == 0
    assert "was read again" in proxy.err.text()


# The hosts file

def test_hosts_file(via, names, origin):
    via.hosts.write_text("# of the test\n127.0.0.1\tother.test Feeds.Test # alias\n")
    assert via(f"feeds.test:{origin.port}").through(origin, FEED)[0].body == SMALL_OUT
    assert not names.asked


def test_hosts_file_is_read_again(via, names, origin):
    proxy = via(f"feeds.test:{origin.port}")
    assert error_of(proxy.get("/feed")) == "dns_error"
    replace(via.hosts, "127.0.0.1 feeds.test\n")
    origin.serve(lambda request: (FEED, "close"))
    while (got := proxy.get("/feed")).status != 200:
        assert error_of(got) == "dns_error"


def test_localhost_needs_no_file(via, names, origin):
    proxy = via(f"localhost:{origin.port}")
    assert proxy.through(origin, FEED)[0].body == SMALL_OUT
    assert not names.asked


# Both families

def test_ipv6_first(via, names, origin, origin6):
    names.zone["feeds.test"] = ["127.0.0.1", "::1"]
    assert via(f"feeds.test:{origin.port}").through(origin6, FEED)[0].body == SMALL_OUT
    assert not origin.connections and not origin.asked()


def test_ipv4_answer_waits_for_ipv6(via, names, origin, origin6):
    """RFC 8305 section 3: an AAAA answer that is there by the time the A answer is used goes first."""
    names.zone["feeds.test"] = ["127.0.0.1", "::1"]
    gate = names.held["feeds.test", A] = threading.Event()
    client = via(f"feeds.test:{origin.port}").client().ask("/feed")
    origin6.receive().answer(FEED)      # without the A answer
    assert client.response().body == SMALL_OUT
    gate.set()


def test_aaaa_never_answered(via, names, origin):
    names.zone["feeds.test"] = ["127.0.0.1"]
    names.silent.add(("feeds.test", AAAA))
    assert via(f"feeds.test:{origin.port}").through(origin, FEED)[0].body == SMALL_OUT


def test_ipv6_refused(via, names, origin):
    names.zone["feeds.test"] = ["127.0.0.1", "::1"]
    assert via(f"feeds.test:{origin.port}").through(origin, FEED)[0].body == SMALL_OUT


def test_all_refused(via, names, origin, origin6):
    names.zone["feeds.test"] = ["127.0.0.1", "::1", "127.0.0.2"]
    origin.stop_listening()
    origin6.stop_listening()
    got = via(f"feeds.test:{origin.port}").get("/feed")
    assert got.status == 502 and error_of(got) == "connection_refused"


@pytest.fixture
def black_hole(origin):
    """[::1] at origin's port never answers: its listener's queue is full, so the kernel drops further SYNs."""
    try:
        full = socket.create_server(("::1", origin.port), family=socket.AF_INET6, backlog=0)
    except OSError:
        pytest.skip("no IPv6 loopback here")
    fillers = [socket.socket(socket.AF_INET6) for _ in range(8)]
    for filler in fillers:
        filler.setblocking(False)
        filler.connect_ex(full.getsockname())
    yield full
    for each in (*fillers, full):
        each.close()


def test_ipv6_black_hole(via, names, origin, black_hole):
    """IPv4 is tried beside it, long before connect-timeout; from then on IPv4 goes first."""
    names.zone["feeds.test"] = ["::1", "127.0.0.1"]
    proxy = via(f"feeds.test:{origin.port}", "--connect-timeout", "1h")
    for _ in range(3):
        assert proxy.through(origin, FEED)[0].body == SMALL_OUT


def test_ipv6_black_hole_alone(via, names, black_hole):
    names.zone["feeds.test"] = ["::1"]
    got = via(f"feeds.test:{black_hole.getsockname()[1]}", "--connect-timeout", "300ms").get("/feed")
    assert got.status == 504 and error_of(got) == "connection_timeout"


def test_loser_is_closed(via, names, origin, black_hole):
    """After the black hole opens, its queued attempt turns out closed, and nothing was said on it."""
    names.zone["feeds.test"] = ["::1", "127.0.0.1"]
    assert via(f"feeds.test:{origin.port}").through(origin, FEED)[0].body == SMALL_OUT
    black_hole.settimeout(0)
    while True:
        try:
            sock, _ = black_hole.accept()
        except OSError:
            break
        sock.settimeout(0)
        try:
            assert sock.recv(100) == b""
        except OSError:
            pass
        sock.close()


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["127.0.0.2", "127.0.0.1"], ["::1", "127.0.0.1"]], ids=["one", "one-is-dead", "IPv4-of-two"])
def test_the_server_of_cache_redis(via, names, origin, redis_server, addresses):
    server = redis_server("redis-server")
    names.zone["redis.test"] = addresses
    proxy = via(f"127.0.0.1:{origin.port}", "--cache", "on", "--cache-redis", f"redis.test:{server.port}")
    assert purged(proxy)
    server.stop()
    proxy.says("trying again")
    server.start()
    assert purged(proxy) and names.count("redis.test", A) == 1


def test_the_server_of_cache_redis_is_unknown(via, names, origin, redis_server):
    server = redis_server("redis-server")
    proxy = via(f"127.0.0.1:{origin.port}", "--cache", "on", "--cache-redis", f"redis.test:{server.port}")
    proxy.says("redis store: redis.test: Domain name not found; let DNS know that host, or write an address as cache-redis; trying again")
    assert proxy.get("/none", method="PURGE").status == 202
    names.zone["redis.test"] = ["127.0.0.1"]
    assert purged(proxy)


# Internationalised names

@pytest.mark.parametrize("authority", ["b\u00fccher.test", "b%C3%BCcher.test", "xn--bcher-kva.test"])
def test_international_name(via, names, origin, authority):
    names.zone["xn--bcher-kva.test"] = ["127.0.0.1"]
    got, request = via(f"{authority}:{origin.port}").through(origin, FEED)
    assert got.body == SMALL_OUT and request["Host"] == f"xn--bcher-kva.test:{origin.port}"


def test_international_name_that_is_none(via):
    got = via("a.test").get("/http://b%C3/feed")
    assert got.status == 400
