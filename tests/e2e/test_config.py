"""Where options come from: flag before environment before file before default; and a start that fails says where."""
import os
import pwd
import resource
import subprocess
import tempfile

import pytest

from feeds import SMALL, SMALL_OUT
from peers import HAS_IPV6
from proxy import BINARY
from wire import TIMEOUT, message

FEED = message("200 OK", "Content-Type: text/xml; charset=koi8-r", body=SMALL)


def run(*args, env=None):
    around = {name: value for name, value in os.environ.items() if not name.startswith("UTFEED")}
    return subprocess.run([BINARY, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT, check=False,
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


@pytest.mark.parametrize("args, word", [
    (["--policy", "nonsense"], "policy"), (["--no-such-option"], "no-such-option"), (["--listen", "nowhere"], "listen"),
    (["--route", "/x"], "route"), (["--route", "/=ftp://h/"], "route"), (["--connect-timeout", "soon"], "connect-timeout"),
    (["--sniff-bytes", "1"], "sniff-bytes"), (["--route", "/=http://h charset=utf-7"], "charset"), (["-c", "/nonexistent"], "/nonexistent"),
])
def test_wrong_use_is_told(args, word):
    done = run("serve", *args)
    assert done.returncode in (1, 2) and word in done.stderr.decode() and not done.stdout


def test_wrong_file_is_told_by_line(tmp_path):
    file = tmp_path / "wrong.conf"
    file.write_text("policy = auto\n\nsniff-bytes = lots\n")
    done = run("serve", "-c", str(file))
    assert done.returncode in (1, 2) and f"{file}:3" in done.stderr.decode()


def test_every_error_of_a_file_is_told(tmp_path):
    file = tmp_path / "wrong.conf"
    file.write_text("polcy = auto\n\nsniff-bytes = lots\n[route /x/]\norigin = ftp://h/\n")
    done = run("serve", "-c", str(file), "--check-config", env={"UTFEED_OUTPUT": "latin1"})
    said = done.stderr.decode().splitlines()
    assert done.returncode == 2 and not done.stdout
    assert [f"{file}:{line}: " in text for line, text in zip((1, 3, 5), said)] == [True] * 3
    assert "did you mean policy?" in said[0] and "UTFEED_OUTPUT: " in said[3] and len(said) == 4


def test_a_misspelt_variable_is_told(start, origin):
    proxy = start(origin, env={"UTFEED_POLCY": "rfc7303"})
    assert "UTFEED_POLCY is no option's variable; did you mean UTFEED_POLICY?" in proxy.err.text()


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


@pytest.fixture
def there(tmp_path, good):
    """What values of options name, by the words in braces."""
    (tmp_path / "file").write_text("")
    (tmp_path / "file").chmod(0o600)
    (tmp_path / "folder").mkdir()
    (tmp_path / "long").mkdir()
    return {"none": tmp_path / "none" / "x", "file": tmp_path / "file", "folder": tmp_path / "folder", "under": tmp_path / "file" / "x",
            "long": tmp_path / ("l" * 120), "cert": good.cert, "key": good.key, "port": 8080, "sock": tmp_path / "s"}


MISSING, NO_FOLDER = "No such file or directory", "Not a directory"


@pytest.mark.parametrize("how", ["check", "start"])
@pytest.mark.parametrize("lines, word", [
    ("resolver = 127.0.0.1,dns.example", "2: resolver: is no list of addresses"),
    ("cache-lmdb = {none}", "2: cache-lmdb: {none}: " + MISSING), ("cache-lmdb = {file}", "2: cache-lmdb: {file}: " + NO_FOLDER),
    ("cache-lmdb = {under}", "2: cache-lmdb: {under}: " + NO_FOLDER),
    ("cache-redis = h:1\ncache-redis-tls = on\ncache-redis-ca-file = {none}", ": cache-redis-"),
    ("gateway = off\nforward = off", "2: gateway: gateway and forward are off and there is no route"),
    ("tls-listen = 127.0.0.1:0", "2: tls-listen: needs tls-listen-cert"),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {none}", "3: tls-listen-cert: certificate {none}"),
    ("tls-listen = 127.0.0.1:0\ntls-listen-cert = {key}\ntls-listen-key = {cert}", "3: tls-listen-cert: "),
    ("admin-listen = 127.0.0.1:0\nadmin-tls-cert = {folder}", "3: admin-tls-cert: "),
    ("tls-ca-file = {none}", "2: tls-ca-file: "), ("tls-ca-file = {file}", "2: tls-ca-file: "),
    ("intercept = a.test\nintercept-ca-cert = {none}\nintercept-ca-key = {none}", ": intercept-ca-"),
    ("[route /a/]\norigin = https://a.test\ntls-cert = {none}", "4: tls-cert: "),
    ("user = no-such-user", "no-such-user: there is no such user"), ("group = daemon", "needs user"),
    ("user = nobody\ngroup = no-such-group", "there is no such group"),
    ("takeover-socket = {none}", "2: takeover-socket: {none}: " + MISSING), ("takeover-socket = {file}", "2: takeover-socket: {file}: File exists"),
    ("takeover-socket = {under}", "2: takeover-socket: {under}: " + NO_FOLDER),
    ("takeover-socket = {long}", "2: takeover-socket: {long}: File name too long"),
    ("access-log-file = {none}", "2: access-log-file: {none}: " + MISSING),
    ("access-log-file = {folder}", "2: access-log-file: {folder}: Is a directory"),
    ("access-log-file = {under}", "2: access-log-file: {under}: " + NO_FOLDER),
    ("listen = unix:{none}", "listen: unix:{none}: " + MISSING), ("admin-listen = unix:{file}", "2: admin-listen: unix:{file}: Socket operation on non-socket"),
    ("listen = 127.0.0.1:{port}\nadmin-listen = 127.0.0.1:{port}", "3: admin-listen: 127.0.0.1:{port}: is taken already, at {conf}:2: listen"),
    ("listen = 127.0.0.1:{port}\nadmin-listen = 0.0.0.0:{port}\nadmin-allow = 0.0.0.0/0", "3: admin-listen: 0.0.0.0:{port}: is taken already"),
    ("listen = unix:{sock}\ntls-listen = unix:{sock}\ntls-listen-cert = {cert}\ntls-listen-key = {key}", "3: tls-listen: unix:{sock}: is taken already"),
    ("listen = unix:{sock}\ntakeover-socket = {sock}", "2: listen: unix:{sock}: is taken already, at {conf}:3: takeover-socket"),
    ("listen = 192.0.2.1:0\nclient-allow = 0.0.0.0/0", "2: listen: 192.0.2.1:0: Cannot assign requested address"),
    ("http-proxy-file = {none}", "2: http-proxy-file: "), ("admin-token-file = {folder}", "2: admin-token-file: "),
    ("include = {none}", "2: include: "),
])
def test_a_mistake_ends_start_and_check_alike(there, tmp_path, lines, word, how):
    """With status 2, which service managers take for what does not become right by itself, and with the line."""
    conf = tmp_path / "m.conf"
    conf.write_text("# a mistake\n" + lines.format(**there) + ("" if "listen = " in lines or "[" in lines else "\nlisten = 127.0.0.1:0") + "\n")
    done = run("serve", "-c", str(conf), *(["--check-config"] if how == "check" else []))
    assert done.returncode == 2 and word.format(conf=conf, **there) in done.stderr.decode() and not done.stdout


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
            assert done.returncode == (0 if fine else 2) and (fine or f"--{option}: {folder}/x: Permission denied" in done.stderr.decode())
        else:
            proxy = start(None, *args)
            assert os.stat(f"/proc/{proxy.process.pid}/maps").st_uid == pwd.getpwnam("nobody").pw_uid
            proxy.stop()


@pytest.mark.parametrize("args, word", [
    (["--hosts-file", "/nonexistent"], "--hosts-file: /nonexistent: No such file or directory; no name is known by it"),
    (["--resolv-conf", "/nonexistent"], "--resolv-conf: /nonexistent: No such file or directory; names are asked for at 127.0.0.1"),
    (["--cache-bytes", "2m"], "cache-object-max: 6144 KiB is more than all of cache-bytes (2048 KiB)"),
    (["--cache-object-max", "1g"], "--cache-object-max: 1048576 KiB is more than all of cache-bytes"),
    (["--gateway-stale", "1h"], "--gateway-stale: a former name; its place is stale-if-error below [gateway]"),
    (["--access-log-syslog", "/dev/log"], "--access-log-syslog: this option is gone, its value does not count; leave it out; standard output"),
    (["--feed-hints-max", "1h"], "--feed-hints-max: this option is gone, its value does not count; leave it out"),
    (["--decoding-bytes", "1t"], "memory: cache-bytes ("),
])
def test_what_works_but_may_not_be_meant_is_warned_of(start, args, word):
    done = run("serve", *args, "--check-config")
    assert done.returncode == 0 and f"utfeed: warning: {word}" in done.stderr.decode()
    assert word in start(None, "--cache", "on", *args).err.text()


def test_budgets_that_fit_are_not_warned_of():
    """Those of the manual for a container of 100 MB (utfeed-operating(7), SIZING)."""
    done = run("serve", "--cache-bytes", "25m", "--max-connections", "1000", "--decoding-bytes", "32m", "--check-config")
    assert done.returncode == 0 and "memory:" not in done.stderr.decode()


def test_an_encrypted_key_is_told(tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-keyout", key, "-out", cert, "-subj",
                    "/CN=x", "-passout", "pass:hunter2"], check=True, stderr=subprocess.DEVNULL, timeout=TIMEOUT)
    done = run("serve", "--check-config", "--tls-listen", "127.0.0.1:0", "--tls-listen-cert", str(cert), "--tls-listen-key", str(key))
    assert done.returncode == 2 and f"--tls-listen-key: private key {key} is encrypted" in done.stderr.decode()


def test_limits_that_nobody_asked_for_are_not_noise(start):
    proxy = start(None, "--workers", "1", under=("prlimit", "--nofile=128:4096"))
    assert "max-connections" not in proxy.err.text()


def test_port_in_use_is_told(proxy):
    done = run("serve", "--listen", f"127.0.0.1:{proxy.port}", "--workers", "1")
    assert done.returncode == 1 and str(proxy.port) in done.stderr.decode()


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
