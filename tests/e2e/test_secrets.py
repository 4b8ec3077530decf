"""Secrets in files (cache-redis-password-file and its like), and where they are never seen."""
import base64
import subprocess

import pytest

from feeds import SMALL
from proxy import BINARY
from test_admin import Admin
from wire import PATIENCE, message

FEED = message("200 OK", "Content-Type: application/xml", body=SMALL)
NAME = "feeds.invalid"
SECRET = "hunter2"


def secret(folder, text, mode=0o600):
    file = folder / "secret"
    file.write_text(text)
    file.chmod(mode)
    return str(file)


def run(*args, env=None):
    return subprocess.run([BINARY, "serve", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=env or {}, timeout=PATIENCE, check=False)


def asked_with(proxy, parent, target=f"/http://{NAME}/f"):
    got, request = proxy.through(parent, FEED, target)
    assert got.status == 200
    return base64.b64decode(request["Proxy-Authorization"].split(" ")[1]).decode()


@pytest.mark.parametrize("how", ["flag", "variable", "file", "route"])
def test_a_parents_password_stands_in_a_file(start, parent, tmp_path, how):
    path = secret(tmp_path, f"http://feeds:{SECRET}@127.0.0.1:{parent.port}\n")
    (tmp_path / "utfeed.conf").write_text(f"http-proxy-file = {path}\n")
    proxy = {"flag": lambda: start(None, "--http-proxy-file", path), "file": lambda: start(None, "-c", str(tmp_path / "utfeed.conf")),
             "variable": lambda: start(None, env={"UTFEED_HTTP_PROXY_FILE": path}),
             "route": lambda: start(None, "--route", f"/=http://{NAME} http-proxy-file={path}")}[how]()
    assert asked_with(proxy, parent, "/f" if how == "route" else f"/http://{NAME}/f") == f"feeds:{SECRET}"
    assert "may read" not in proxy.err.text() and SECRET not in proxy.err.text()


def test_a_file_is_read_again(start, parent, tmp_path):
    address = f"127.0.0.1:{parent.port}"
    proxy = start(None, "--http-proxy-file", secret(tmp_path, f"http://a:old@{address}"))
    assert asked_with(proxy, parent) == "a:old"
    secret(tmp_path, f"http://a:new@{address}")
    proxy.reload()
    assert asked_with(proxy, parent) == "a:new"
    secret(tmp_path, f"http://a:{SECRET}@h")
    proxy.reload("the former configuration stays in force")
    assert "--http-proxy-file: has no port" in proxy.err.text() and SECRET not in proxy.err.text()
    assert asked_with(proxy, parent) == "a:new"


def test_a_password_for_redis_is_changed_while_running(start, origin, redis_server, tmp_path):
    """The server's password changes first, as they are rotated: utfeed takes the new one as soon as it is told."""
    server = redis_server("redis-server", "--requirepass", "new one")
    proxy = start(origin, "--cache-redis", f"127.0.0.1:{server.port}", "--cache-redis-password-file", secret(tmp_path, "old one\n"))
    proxy.says("redis store: WRONGPASS")
    proxy.says("write another cache-redis-user or cache-redis-password; trying again")
    secret(tmp_path, "new one\n")
    proxy.reload()
    proxy.says("redis store: connected")
    assert " one" not in proxy.err.text()


def test_the_admin_listeners_token_stands_in_a_file(start, tmp_path):
    admin = Admin(start(None, "--admin-listen", "127.0.0.1:0", "--admin-token-file", secret(tmp_path, "old\n")))
    assert [admin.ask("/metrics", *fields).status for fields in ((), ("Authorization: Bearer old",))] == [401, 200]
    secret(tmp_path, "new\n")
    admin.proxy.reload()
    assert [admin.ask("/metrics", f"Authorization: Bearer {word}").status for word in ("old", "new")] == [401, 200]


def test_a_file_that_others_may_read_is_warned_of(tmp_path):
    path = secret(tmp_path, SECRET, 0o644)
    done = run("--cache-redis-password-file", path, "--check-config")
    assert done.returncode == 0 and b"--cache-redis-password-file: everybody on this machine may read the file (mode 0644)" in done.stderr


@pytest.mark.parametrize("line, why", [
    ("cache-redis-password-file = /nonexistent", ":1: cache-redis-password-file: the file cannot be read: No such file or directory"),
    (f"cache-redis-password-file = {SECRET}", ":1: cache-redis-password-file: the file cannot be read: No such file or directory"),
    (f"https-proxy-file = /dev/null\nhttps-proxy = http://u:{SECRET}@h:1", ":1: https-proxy-file: https-proxy is set too, at "),
    (f"[route /]\norigin = http://o\nhttps-proxy-file = /nonexistent\nhttp-proxy = http://u:{SECRET}@h:1", ":3: https-proxy-file: the file cannot be read"),
])
def test_a_file_that_cannot_be_used_is_told_by_line(tmp_path, line, why):
    (tmp_path / "utfeed.conf").write_text(line + "\n")
    done = run("-c", str(tmp_path / "utfeed.conf"), "--check-config")
    assert done.returncode == 2 and f"utfeed.conf{why}" in done.stderr.decode() and SECRET.encode() not in done.stderr


@pytest.mark.parametrize("config", [
    f"cache-redis-password = {SECRET}", "cache-redis-password-file = FILE", f"admin-token = {SECRET}", f"http-proxy = http://{SECRET}:{SECRET}@h:1", "http-proxy-file = FILE",
    f"route = /=http://o http-proxy=http://u:{SECRET}@h:1", "route = /=http://o https-proxy-file=FILE",
    "route = /=http://o origin-fields-file=FILE",
    f'route = /=http://o origin-fields="X-Key: {SECRET}, Authorization: Basic {SECRET}"',
    f"[route /]\norigin = http://o\norigin-fields = X-Key: a\\, {SECRET}", "cache-redis-password = ${PW}",
])
def test_secrets_are_not_printed(tmp_path, config):
    path = secret(tmp_path, f"http://u:{SECRET}@h:1")
    (tmp_path / "utfeed.conf").write_text(config.replace("FILE", path) + "\n")
    done = run("-c", str(tmp_path / "utfeed.conf"), "--print-config", env={"PW": SECRET})
    said = done.stdout.decode()
    assert done.returncode == 0 and SECRET not in said + done.stderr.decode()
    assert (path if "FILE" in config else "***") in said
    (tmp_path / "again.conf").write_text(said)
    again = run("-c", str(tmp_path / "again.conf"), "--check-config")
    assert again.returncode == 0, again.stderr
