"""Where options come from: flag before environment before file before default; and a start that fails says where."""
import os
import pwd
import re
import resource
import subprocess
import tempfile

import pytest

from feeds import SMALL, SMALL_OUT
from peers import HAS_IPV6
from proxy import BINARY
from wire import PATIENCE, message

FEED = message("200 OK", "Content-Type: text/xml; charset=koi8-r", body=SMALL)


def run(*args, env=None):
    around = {name: value for name, value in os.environ.items() if not name.startswith("UTFEED")}
    return subprocess.run([BINARY, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False,
                          env={**around, **(env or {})})


def test_file(start, origin, tmp_path):
    file = tmp_path / "utfeed.conf"
    file.write_text(f"# a comment\npolicy = rome-strict\n\n[route /news/]\norigin = {origin.url}/deep/\npolicy = appendix-f\n")
    proxy = start(None, "-c", str(file))
    got, asked = proxy.through(origin, FEED, "/news/f")
    assert asked.target == "/deep/f" and got.rule.startswith("appendix-f:") and got.body == SMALL_OUT


def test_flag_before_environment_before_file(start, origin, tmp_path):
    file = tmp_path / "utfeed.conf"
    file.write_text("policy = rome-strict\nvia = from-file\n")
    for flags, env, policy in [((), {}, "rome-strict"), ((), {"UTFEED_POLICY": "appendix-f"}, "appendix-f"),
                               (("--policy", "rfc7303"), {"UTFEED_POLICY": "appendix-f"}, "rfc7303")]:
        got, _ = start(origin, "-c", str(file), *flags, env=env).through(origin, FEED)
        assert got.rule.startswith(policy + ":")
        assert got["Via"] == "1.1 from-file"


def test_route_from_the_environment(start, origin):
    got, _ = start(None, env={"UTFEED_ROUTE": f"/={origin.url}"}).through(origin, FEED)
    assert got.status == 200


def test_several_listeners(start, origin):
    proxy = start(origin, "--listen", "[::1]:0") if HAS_IPV6 else start(origin)
    assert proxy.through(origin, FEED)[0].status == 200


def test_access_log_off(start, origin):
    proxy = start(origin, "--access-log", "off")
    assert proxy.through(origin, FEED)[0].status == 200
    proxy.stop()
    assert "/feed" not in proxy.out.text()


def test_variables_and_further_files(start, origin, tmp_path):
    (tmp_path / "routes").mkdir()
    (tmp_path / "routes" / "news.conf").write_text("[route /${PREFIX}/]\norigin = ${ORIGIN}/deep/\nuser-agent = \"${AGENT:-a} $$\"\n")
    file = tmp_path / "utfeed.conf"
    file.write_text("include = routes\nvia = ${NAME:-edge}\n")
    proxy = start(None, "-c", str(file), env={"PREFIX": "news", "ORIGIN": origin.url, "AGENT": "x # ${NAME} $$"})
    got, asked = proxy.through(origin, FEED, "/news/f")
    assert asked.target == "/deep/f" and asked["User-Agent"] == "x # ${NAME} $$ $" and got["Via"] == "1.1 edge"


def test_an_included_file_is_read_again(start, origin, tmp_path):
    (tmp_path / "more.conf").write_text("via = one\n")
    file = tmp_path / "utfeed.conf"
    file.write_text("include more.conf\n")
    proxy = start(origin, "-c", str(file))
    (tmp_path / "more.conf").write_text("via = two\n")
    proxy.reload()
    assert proxy.through(origin, FEED)[0]["Via"] == "1.1 two"
    (tmp_path / "more.conf").write_text("via = (\nvia = )\n")
    proxy.reload("the former configuration stays in force")
    assert all(f"{tmp_path}/more.conf:{line}: via: " in proxy.err.text() for line in (1, 2))
    assert proxy.through(origin, FEED)[0]["Via"] == "1.1 two"


def test_check_config(tmp_path):
    file = tmp_path / "fine.conf"
    file.write_text("policy = rome-strict\n")
    assert run("serve", "-c", str(file), "--check-config").returncode == 0
    done = run("serve", "-c", str(file), "--print-config")
    assert done.returncode == 0 and "rome-strict" in done.stdout.decode()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("how", ["check", "start"])
@pytest.mark.parametrize("option, fine", [("cache-lmdb", True), ("cache-lmdb", False), ("access-log-file", True), ("access-log-file", False)])
def test_the_user_of_the_configuration_is_who_may(start, tmp_path, option, fine, how):
    """Root makes every file; what utfeed becomes may not. The core file that a crash leaves is as before."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        if fine:
            os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        args = ["--user", "nobody", f"--{option}", f"{folder}/x"]
        if not fine or how == "check":
            done = run("serve", "--listen", "127.0.0.1:0", *args, *(["--check-config"] if how == "check" else []))
            assert done.returncode == (0 if fine else 2) and (fine or f"--{option}: {folder}/x: Permission denied; let the user that utfeed runs as write there" in done.stderr.decode())
        else:
            proxy = start(None, *args)
            assert os.stat(f"/proc/{proxy.process.pid}/maps").st_uid == pwd.getpwnam("nobody").pw_uid
            proxy.stop()


def test_budgets_that_fit_are_told_and_not_warned_of():
    """Those of the manual for a container of 100 MB (utfeed-operating(7), SIZING)."""
    done = run("serve", "--cache-bytes", "25m", "--max-connections", "1000", "--decoding-bytes", "32m", "--check-config")
    assert done.returncode == 0 and "memory:" not in done.stderr.decode()
    assert re.search(r"^utfeed: memory: may need 98 MiB; the (machine|control group \(container\)) has \d+ MiB$", done.stdout.decode(), re.M)


def test_budgets_that_do_not_fit_are_warned_of_alone():
    done = run("serve", "--decoding-bytes", "1t", "--check-config")
    assert done.returncode == 0 and "memory:" in done.stderr.decode() and "memory:" not in done.stdout.decode()


def test_limits_that_nobody_asked_for_are_not_noise(start):
    proxy = start(None, "--workers", "1", under=("prlimit", "--nofile=128:4096"))
    assert "max-connections" not in proxy.err.text()


def test_the_limit_of_open_files_is_raised(start):
    proxy = start(None, "--workers", "1", "--max-connections", "10000", under=("prlimit", "--nofile=128:4096"))
    assert resource.prlimit(proxy.process.pid, resource.RLIMIT_NOFILE) == (4096, 4096)
    assert "max-connections: 2016 clients a worker instead of 10000" in proxy.err.text()


def test_clients_leave_descriptors_to_their_origins(start, origin):
    """(128 - 64) / 2 = 32 clients: all of them reach the origin at a time; one more waits until one is idle, which makes room for it."""
    proxy = start(origin, "--workers", "1", under=("prlimit", "--nofile=128:128"))
    clients = [proxy.client().ask(f"/{i}") for i in range(32)]
    waiting = [origin.receive() for _ in clients]
    late = proxy.client().ask("/late")
    waiting[7].answer(FEED)
    first = next(client for number, client in enumerate(clients) if f"/{number}" == waiting[7].request.target)
    assert first.response().status == 200 and first.is_ended()
    origin.receive().answer(FEED)
    assert late.response().status == 200
    for upstream in waiting[:7] + waiting[8:]:
        upstream.answer(FEED)
    assert [client.response().status for client in clients if client is not first] == [200] * 31


def test_more_connections_than_allowed_wait(start, origin):
    proxy = start(origin, "--max-connections", "2")
    first, second, third = proxy.client(), proxy.client(), proxy.client()
    for client in (first, second):
        client.ask("/f")
        origin.receive().answer(FEED)
        assert client.response().status == 200
    third.ask("/third")
    first.close()
    if origin.asked_before_answer(third):
        origin.receive().answer(FEED)
        assert third.response().status == 200
    else:
        assert third.is_ended()


def test_several_workers_serve(start, origin):
    proxy = start(origin, "--workers", "2")
    origin.serve(lambda request: FEED)
    for _ in range(20):
        assert proxy.get("/f").status == 200
