"""What became of a reload is told to who asked for it: `utfeed reload`, the admin listener, the service manager, --check-config --against."""
import json
import os
import signal
import socket
import subprocess

import pytest

from peers import Background
from proxy import BINARY, REFUSED, RELOADED
from test_admin import Admin
from test_life import Manager, asking
from wire import OBEYED, OBEYED_NOT, PATIENCE, message

WAITS = "a changed value needs a restart"
TAKEN, IN_PART, NO, UNASKED = 0, 3, 2, 1


def run(*args, **variables):
    around = {name: value for name, value in os.environ.items() if not name.startswith("UTFEED")}
    done = subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=PATIENCE, check=False, env={**around, **variables})
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def served(start, tmp_path):
    """served(way) gives (a running utfeed, the words by which it is asked, a function that writes its configuration)."""
    conf, path = tmp_path / "utfeed.conf", tmp_path / "t"
    ways = {"takeover": f"takeover-socket = {path}\n", "admin": "admin-listen = 127.0.0.1:0\nadmin-token-file = " + f"{tmp_path}/token\n",
            "unix": f"admin-listen = unix:{tmp_path}/a\n"}
    (tmp_path / "token").write_text("s3cret\n")
    (tmp_path / "token").chmod(0o600)

    def run_by(way, **kind):
        def write(text):
            conf.write_text(ways[way] + text)
            return len(ways[way].splitlines())
        write("via = one\n")
        proxy = start(None, "-c", str(conf), **kind)
        words = {"takeover": [], "unix": [f"unix:{tmp_path}/a"]}.get(way) or (
            [] if way == "takeover" else [f"http://127.0.0.1:{Admin(proxy).port}"])
        return proxy, ["-c", str(conf), *words], write
    return run_by


def via(proxy):
    """The name by which an answer is signed."""
    return proxy.get("/http://127.0.0.1:1/")["Proxy-Status"].partition(";")[0]


@pytest.mark.parametrize("way", ["takeover", "admin", "unix"])
def test_the_exit_status_is_the_outcome(served, way, tmp_path):
    proxy, words, write = served(way)
    lines = write("via = two\n")
    assert run("reload", *words) == (TAKEN, f"utfeed: the configuration was read again: {tmp_path}/utfeed.conf\n", "")
    assert via(proxy) == "two"
    write("via = three\nworkers = 3\n")
    status, out, said = run("reload", *words)
    proxy.says("reload: the configuration was read again, but in part; 1 of the changed options need a restart")
    assert status == IN_PART and "in part" in out and said == \
        f"utfeed: warning: {tmp_path}/utfeed.conf:{lines + 2}: workers: {WAITS}; the former one stays in force\n"
    assert via(proxy) == "three"
    write("via = four\nnonsense\n\nsniff-bytes = 1\n")
    status, out, said = run("reload", *words)
    assert status == NO and "refused: the former configuration stays in force" in out and via(proxy) == "three"
    assert [line.split("utfeed.conf:")[1].split(":")[0] for line in said.splitlines()] == [str(lines + 2), str(lines + 4)]
    write("via = five\n")
    assert run("reload", *words)[0] == TAKEN and via(proxy) == "five"


@pytest.mark.parametrize("way", ["takeover", "admin", "unix"])
def test_against_the_one_that_runs(served, way, tmp_path):
    """A file that is right by itself is judged by who would take it, and nothing changes."""
    proxy, words, write = served(way)
    conf, against = words[1], words[2] if way != "takeover" else f"{tmp_path}/t"
    check = ["serve", "-c", conf, "--check-config"]
    assert run(*check, "--against", against)[0] == 0
    lines = write("via = two\nworkers = 3\ncache-bytes = 9m\n[route /a/]\norigin = http://127.0.0.1:1\n")
    assert run(*check)[0] == 0
    status, out, said = run(*check, "--against", against)
    assert status == 2 and not out and via(proxy) == "one" and proxy.get("/a/").status == 404
    assert all(f"{conf}:{lines + 1 + line}: {option}: {WAITS}" in said for line, option in ((1, "workers"), (2, "cache-bytes")))
    write("via = two\n[route /a/]\norigin = http://127.0.0.1:1\n")
    assert run(*check, "--against", against)[0] == 0 and via(proxy) == "one"
    other = tmp_path / "other.conf"
    other.write_text("via = x\n" + ("admin-token = s3cret\n" if way == "admin" else ""))
    status, _, said = run("serve", "-c", str(other), "--check-config", "--against", against)
    assert status == 2 and f"that utfeed reads {conf}" in said
    write("nonsense\n")
    assert run(*check, "--against", against)[0] == 2


@pytest.mark.parametrize("args, status, word", [
    (["reload"], UNASKED, "neither takeover-socket nor admin-listen"), (["reload", "/nonexistent"], UNASKED, "/nonexistent: No such file or directory; write the takeover-socket"),
    (["reload", "http://127.0.0.1:1"], UNASKED, "Connection refused; write the admin-listen"), (["reload", "https://127.0.0.1:1"], UNASKED, "write the /PATH"),
    (["reload", "unix:relative"], UNASKED, "write the /PATH"), (["reload", "/" + "x" * 120], UNASKED, "File name too long"), (["reload", "a", "b"], 2, "takes one RUNNING at most"),
    (["reload", "-c", "/nonexistent"], 2, "/nonexistent: No such file"), (["reload", "--nonsense"], 2, "usage: utfeed reload"),
    (["serve", "--check-config", "--against", "/nonexistent"], 2, "/nonexistent: No such file"), (["serve", "--against", "/x"], 2, "--against: counts only beside --check-config"),
])
def test_who_cannot_be_asked(args, status, word):
    got, out, said = run(*args)
    assert got == status and word in said and not out


def test_a_token_is_needed_where_there_is_one(served, tmp_path):
    proxy, words, _ = served("admin")
    status, out, said = run("reload", words[-1])
    assert status == UNASKED and "the admin listener answers 401" in said and not out and RELOADED not in proxy.err.text()
    assert run("reload", words[-1], UTFEED_ADMIN_TOKEN="s3cret")[0] == TAKEN


def test_it_is_seen_on_the_admin_listener(start, tmp_path):
    """/api/config and /metrics tell of the last reload; a trial is not one; SIGUSR1 prints the same numbers."""
    conf = tmp_path / "utfeed.conf"
    conf.write_text("via = one\n")
    admin = Admin(start(None, "--admin-listen", "127.0.0.1:0", "-c", str(conf)))

    def seen():
        last = json.loads(admin.ask("/api/config").body)["last_reload"]
        numbers, printed = admin.metrics(), admin.proxy.counters()
        names = "config_last_reload_successful", "config_last_reload_success_timestamp_seconds", "config_waiting"
        assert [numbers["utfeed_" + name] for name in names] == [printed[name] for name in names]
        return last, [printed[name] for name in names]
    last, (good, began, waiting) = seen()
    assert (last, good, waiting) == (None, 1, 0) and began > 1_700_000_000
    conf.write_text("via = two\nworkers = 9\nlisten = 127.0.0.1:1\n")
    told = json.loads(admin.post("/api/reload?trial=1").body)
    assert told["result"] == "partly" and seen() == (None, [1, began, 0])
    told = json.loads(admin.post("/api/reload").body)
    assert told["waits_for_restart"] == [f"{conf}:2: workers"] and told["file"] == str(conf)
    assert told["messages"] == [{"level": "warning", "text": f"{conf}:2: workers: {WAITS}; the former one stays in force"}]
    assert seen() == (told, [0, began, 1])
    conf.write_text("nonsense\n")
    admin.proxy.reload(REFUSED)
    got = admin.post("/api/reload")
    told = json.loads(got.body)
    assert got.status == 422 and told["result"] == "refused" and told["messages"] == [{"level": "error", "text": f"{conf}:1: not a line that utfeed knows; write NAME = VALUE, [route PATTERN], [gateway], include = FILE or a # comment"}]
    assert seen() == (told, [0, began, 0])
    conf.write_text("via = three\n")
    told = json.loads(admin.post("/api/reload").body)
    assert told["result"] == "taken" and told["at"] >= began and seen() == (told, [1, told["at"], 0])
    got = admin.post("/api/reload?as=lines")
    assert got.body == f"taken {conf}\n".encode() and admin.ask("/api/reload").status == 405


def test_the_service_manager_is_told_what_came_of_it(start, tmp_path):
    told = Manager(str(tmp_path / "notify"))
    conf = tmp_path / "utfeed.conf"
    conf.write_text("via = one\n")
    proxy = start(None, "-c", str(conf), env=told.env)
    assert told.hears()["READY"] == "1"
    for text, status in (("via = two\n", "ready; the configuration was read again"),
                         ("workers = 3\n", "ready; the configuration was read again, but in part; 1 of the changed options need a restart"),
                         ("nonsense\n", f"reload refused: the former configuration stays in force: {conf}:1: not a line that utfeed knows"),
                         ("# " + "x" * 4000 + "\n" + "y" * 4000 + " = 1\n", "reload refused: ")):
        conf.write_text(text)
        proxy.process.send_signal(signal.SIGHUP)
        reloading, ready = told.hears(), told.hears()
        assert reloading["RELOADING"] == "1" and int(reloading["MONOTONIC_USEC"]) > 0
        assert ready["READY"] == "1" and ready["STATUS"].startswith(status)
    told.socket.close()


@pytest.mark.parametrize("way", ["takeover", "admin"])
def test_many_at_once(served, way):
    """Each who asks is answered, by a reload that began after it asked."""
    proxy, words, write = served(way, under=())
    write("via = two\n")
    running = [Background(run, "reload", *words) for _ in range(8)]
    for _ in range(20):
        proxy.process.send_signal(signal.SIGHUP)
    assert [each.join()[0] for each in running] == [TAKEN] * 8 and via(proxy) == "two"


def test_who_leaves_before_the_answer_is_forgotten(served, tmp_path):
    proxy, words, write = served("takeover")
    for text in (b"reload", b"try", b"reload"):
        with asking(f"{tmp_path}/t") as peer:
            peer.send(text)
    write("via = two\n")
    assert run("reload", *words)[0] == TAKEN and via(proxy) == "two"
    proxy, words, write = served("unix")
    for _ in range(3):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"{tmp_path}/a")
            client.send(b"POST /api/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
    write("via = three\n")
    assert run("reload", *words)[0] == TAKEN and via(proxy) == "three"


@pytest.mark.parametrize("messages, word", [
    ([], "it ended without an answer"), ([b"said warn: a"], "it ended without an answer"), ([b"no not now"], "not now"),
    ([b"said"], "it says what it must not"), ([b"end"], "it says what it must not"), ([b"\0"], ""),
], ids=["nothing", "no result", "no", "a line without a level", "another word", "no message"])
def test_answers_that_are_none(tmp_path, messages, word):
    """Of who listens on the path, and is no utfeed or another version."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(f"{tmp_path}/t")
        listener.listen()
        asking_it = Background(run, "reload", f"{tmp_path}/t")
        with listener.accept()[0] as peer:
            assert peer.recv(100) == b"reload"
            for text in messages:
                peer.send(text)
        status, out, said = asking_it.join()
    assert status == UNASKED and word in said and said.startswith("utfeed: ") and not out


def test_a_takeover_ends_first(served, start, tmp_path):
    """Whoever asks meanwhile is answered by the process that serves then."""
    proxy, words, write = served("takeover")
    with asking(f"{tmp_path}/t") as heir:
        heir.send(b"hello 1")
        while heir.recv(4096) != b"end":
            pass
        write("via = two\n")
        waiting = Background(run, "reload", *words)
        proxy.reload()                                 # the one that serves still hears signals
        assert via(proxy) == "two"
    assert waiting.join()[0] == TAKEN                  # who wanted to take over has left
    write("via = three\n")
    heir = start(None, "-c", words[1])
    assert proxy.wait() == 0 and via(heir) == "three"
    write("via = four\n")
    assert run("reload", *words)[0] == TAKEN and via(heir) == "four"


def test_the_token_of_a_file_with_mistakes_is_known(served):
    """Whoever asks for a reload shows the token that stands in the same file."""
    _, words, write = served("admin")
    write("nonsense\n")
    status, _, said = run("reload", *words[:2], UTFEED_ADMIN_LISTEN=words[2].removeprefix("http://"))
    assert status == NO and "not a line that utfeed knows" in said


def test_an_answer_that_is_not_obeyed(another, tmp_path):
    """What listens there may be anything, and no terminal does what it says."""
    origin = another()
    taken = message("200 OK", body=b"taken /etc/" + OBEYED + b"\nwarning: " + OBEYED)
    answers = iter([message("500 Oops", body=OBEYED), message("200 OK", body=OBEYED), taken, taken])
    origin.serve(lambda request: (next(answers), "close"))
    assert run("reload", origin.url) == (UNASKED, "", f"utfeed: {origin.url}: the admin listener answers 500: {OBEYED_NOT}\n")
    assert run("reload", origin.url) == (UNASKED, "", "utfeed: reload: the answer is not that of a reload\n")
    assert run("reload", origin.url) == (TAKEN, f"utfeed: the configuration was read again: /etc/{OBEYED_NOT}\n",
                                         f"utfeed: warning: {OBEYED_NOT}\n")
    (tmp_path / "utfeed.conf").write_text("")
    status, _, said = run("-c", str(tmp_path / "utfeed.conf"), "--check-config", "--against", origin.url)
    assert status == 2 and said == f"utfeed: warning: {OBEYED_NOT}\nutfeed: --against: that utfeed reads /etc/{OBEYED_NOT}\n"


def test_files_that_vanish_or_are_too_long(served, tmp_path):
    """The reason is told, nothing changes, and the next reload is as good as ever."""
    proxy, words, write = served("admin")
    words = [words[-1]]
    token, conf = tmp_path / "token", tmp_path / "utfeed.conf"
    asked = {"UTFEED_ADMIN_TOKEN": "s3cret"}
    token.unlink()
    status, _, said = run("reload", *words, **asked)
    assert status == NO and f"utfeed.conf:2: admin-token-file: the file cannot be read: No such file" in said
    token.write_text("another\n")
    token.chmod(0o600)
    assert run("reload", *words, **asked)[0] == TAKEN and run("reload", *words, **asked)[0] == UNASKED
    asked["UTFEED_ADMIN_TOKEN"] = "another"
    conf.rename(tmp_path / "away")
    status, _, said = run("reload", *words, **asked)
    assert status == NO and "No such file or directory" in said
    with open(conf, "wb") as file:
        file.truncate((16 << 20) + 1)
    status, _, said = run("reload", *words, **asked)
    assert status == NO and "File too large" in said
    conf.write_text("via = " + "x" * 100_000 + "\n" + "z = 1\n" * 500)
    status, _, said = run("reload", *words, **asked)
    assert status == NO and len(said.splitlines()) == 21 and "more, not shown" in said and all(len(line) < 1024 for line in said.splitlines())
    (tmp_path / "away").rename(conf)
    assert run("reload", *words, **asked)[0] == TAKEN


def test_a_certificate_that_cannot_be_used_is_a_reload_in_part(listening, authority, tmp_path):
    """The rest is taken, and its former certificate stays."""
    made, conf = authority.issue("localhost"), tmp_path / "utfeed.conf"
    cert, key = tmp_path / "c.pem", tmp_path / "c.key"
    for file, source in ((cert, made.cert), (key, made.key)):
        file.write_bytes(open(source, "rb").read())
    conf.write_text(f"takeover-socket = {tmp_path}/t\nvia = one\n")
    proxy = listening(None, "-c", str(conf), cert=str(cert), key=str(key))
    cert.write_text("nonsense")
    conf.write_text(f"takeover-socket = {tmp_path}/t\nvia = two\n")
    status, _, said = run("reload", "-c", str(conf))
    assert status == IN_PART and "; tls-listen stays with its former certificate" in said and via(proxy) == "two"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_only_the_same_user_and_root_may_ask(served, tmp_path):
    proxy, words, _ = served("takeover")
    os.chmod(f"{tmp_path}/t", 0o666)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
            try:
                peer.connect(f"{tmp_path}/t")
                peer.send(b"reload")
                os.write(write, peer.recv(100) or b"-")
            except OSError:
                os.write(write, b"-")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"-" and RELOADED not in proxy.err.text()
    os.close(read)
    os.close(write)
