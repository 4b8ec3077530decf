"""What a user of the server may do at least, behind Sentinel and in a cluster, too; and how his password is changed."""
import pathlib

import pytest

from fleets import everywhere, found, purged
from pages import FRESH, Site, page
from sentinels import Cluster, Sentinels, until
from test_stores import commands_of_the_manual

PATHS = [f"/{n}" for n in range(24)]


def rights(password, *more):
    """As a server's option: the user of the manual. The test itself is the default user, who may do everything."""
    commands = (f"+{name.lower()}" for name in commands_of_the_manual())
    return ("--user", "feeds", "on", f">{password}", "~utfeed:*", "&utfeed:*", "-@all", *commands, *more)


def login(url, password="old"):
    return "--cache-redis", url, "--cache-redis-user", "feeds", "--cache-redis-password", password


def denied(node):
    """What a server has denied that user: its log, newest first."""
    return [entry for entry in node.ask("ACL", "LOG") if b"feeds" in entry]


def used(first, second):
    """Stores, finds, leases, and purges in each way."""
    assert everywhere(first) and everywhere(second)
    assert all(first.get(path).status == 200 for path in PATHS)
    assert everywhere(first) and all(found(second, path) is not None for path in PATHS)
    for what in ("url", "prefix", "host", "url, soft", "all, soft", "all"):
        assert purged(first, "/1", f"X-Purge: {what}")
    assert all(found(proxy, path) is None for proxy in (first, second) for path in PATHS)


def test_no_right_too_much():
    source = "".join(path.read_text(encoding="utf-8") for path in (pathlib.Path(__file__).parents[2] / "proxy").rglob("*.c"))
    unused = [name for name in commands_of_the_manual() if f"'{name}'" not in source and f'"{name}"' not in source]
    assert not unused


def test_in_a_cluster(redis_server, start, origin):
    Site(origin)["*"] = page(FRESH)
    servers = Cluster(redis_server, *rights("old"))
    used(*(start(origin, *login(servers.url)) for _ in range(2)))
    servers.masters[0].stop()
    until(lambda: servers.of(0) is servers.replicas[0], "no failover")
    servers.ready()
    used(*(start(origin, *login(servers.url)) for _ in range(2)))
    assert not any(denied(node) for node in servers.nodes[1:])


@pytest.mark.parametrize("asks", [False, True])
def test_behind_sentinel(redis_server, start, origin, tmp_path, asks):
    """asks: the Sentinels ask for a password, too, and the user may ask for the master alone."""
    Site(origin)["*"] = page(FRESH)
    watch = Sentinels(redis_server, tmp_path, *rights("old", "+role"))
    try:
        watch.ready()
        if asks:
            for each in watch.made:
                assert each.ask("ACL", "SETUSER", "feeds", "on", ">old", "-@all", "+sentinel|get-master-addr-by-name") == "OK"
                assert each.ask("ACL", "SETUSER", "default", "resetpass") == "OK"
                assert each.ask("PING").startswith("NOAUTH")
        first, second = (start(origin, *login(watch.url)) for _ in range(2))
        used(first, second)
        assert not denied(watch.master)
    finally:
        watch.stop()


def test_a_password_is_rotated(redis_server, start, origin, tmp_path):
    """Both count for a while; the server drops who came with the old one; nothing is lost, and no purge is."""
    Site(origin)["*"] = page(FRESH)
    server = redis_server("redis-server", *rights("old"))
    secret = tmp_path / "secret"
    secret.write_text("old\n", encoding="ascii")
    secret.chmod(0o600)
    proxies = [start(origin, "--cache-redis", f"127.0.0.1:{server.port}", "--cache-redis-user", "feeds", "--cache-redis-password-file",
                     str(secret)) for _ in range(2)]
    assert all(purged(proxy) for proxy in proxies)
    assert all(proxies[0].get(path).status == 200 for path in PATHS) and purged(proxies[0], "/1")
    assert server.ask("ACL", "SETUSER", "feeds", ">new") == "OK"
    secret.write_text("new\n", encoding="ascii")
    for proxy in proxies:
        proxy.reload()
    assert server.ask("ACL", "SETUSER", "feeds", "<old") == "OK"
    server.ask("CLIENT", "KILL", "USER", "feeds")
    for proxy in proxies:
        proxy.says("redis store: connected")
    assert purged(proxies[1], "/2")
    assert [path for path in PATHS if found(proxies[1], path) is None] == ["/1", "/2"]
    assert all("WRONGPASS" not in proxy.err.text() for proxy in proxies)
