"""The life of the process: what a service manager is told and gives, another user, an upgrade in which nothing is lost."""
import contextlib
import os
import pwd
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import time

import pytest

from certs import client_context, openssl
from feeds import SMALL, SMALL_OUT
from pages import FRESH, Site, page, was_hit
from peers import Background, Client, TlsClient
from preload import Preload, build
from proxy import BINARY, REFUSED, SANITIZER
from test_trust_ops import Load
from wire import PATIENCE, TIMEOUT, Stream, message, read_response

FEED = message("200 OK", "Content-Type: application/xml", FRESH, body=SMALL)
NOBODY = pwd.getpwnam("nobody")
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


def refused(*args, under=(), fds=(), env=None):
    """What `utfeed serve` says that does not start."""
    done = subprocess.run([*under, BINARY, "serve", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=PATIENCE, check=False, pass_fds=fds, env={**os.environ, **(env or {})})
    said = done.stderr.decode("latin-1")
    assert done.returncode in (1, 2) and not SANITIZER.search(said) and "Traceback" not in said, said
    return said


# ---- what a service manager is told ----

class Manager:
    """Reads what it is told (sd_notify(3))."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(name.replace("@", "\0", 1) if name.startswith("@") else name)
        self.socket.settimeout(TIMEOUT)
        self.env = {"NOTIFY_SOCKET": name}

    def hears(self):
        """The next message, as a table."""
        return dict(line.split("=", 1) for line in self.socket.recv(4096).decode("ascii").split("\n"))

    def hears_of(self, name):
        """The next message with that variable in it, and those before it."""
        before = []
        while name not in (got := self.hears()):
            before.append(got)
        return got, before


@pytest.fixture
def manager(tmp_path):
    made = []

    def make(name=str(tmp_path / "notify")):
        made.append(Manager(name))
        return made[-1]
    yield make
    for each in made:
        each.socket.close()


@pytest.mark.parametrize("name", ["path", "abstract"])
def test_states_are_told(start, origin, manager, name, tmp_path):
    told = manager() if name == "path" else manager(f"@utfeed-{os.getpid()}-{tmp_path.name}")
    config = tmp_path / "utfeed.conf"
    config.write_text("via = one\n")
    proxy = start(origin, "-c", str(config), "--workers", "2", env=told.env)
    ready = told.hears()
    assert ready["READY"] == "1" and f"127.0.0.1:{proxy.port}" in ready["STATUS"] and set(ready) == {"READY", "STATUS"}
    for text, word, status in (("via = two\n", None, "read again"), ("nonsense\n", REFUSED, "refused")):
        config.write_text(text)
        proxy.process.send_signal(signal.SIGHUP)
        reloading, ready = told.hears(), told.hears()
        assert reloading["RELOADING"] == "1" and int(reloading["MONOTONIC_USEC"]) > 0
        assert ready["READY"] == "1" and status in ready["STATUS"]
        if word:
            proxy.says(word)
    proxy.sigterm()
    assert told.hears()["STOPPING"] == "1" and proxy.wait() == 0


@pytest.mark.parametrize("name", ["relative", "vsock:2:1", "/" + "x" * 200])
def test_a_manager_that_cannot_be_told(start, origin, name):
    proxy = start(origin, env={"NOTIFY_SOCKET": name})
    assert "NOTIFY_SOCKET is no path" in proxy.err.text()


def test_a_manager_that_is_gone_or_full_costs_its_messages(start, origin, manager):
    """The queue of a socket that nobody reads (net.unix.max_dgram_qlen) is full soon."""
    origin.serve(lambda request: FEED)
    told = manager()
    proxy = start(origin, env={**told.env, "WATCHDOG_USEC": "2000"})
    proxy.says("the service manager was not told")
    assert proxy.get("/feed").status == 200
    told.socket.close()
    proxy.says("Connection refused: the service manager was not told")
    assert proxy.get("/feed").status == 200


def test_the_watchdog_hears_of_loops_that_turn(start, origin, manager, tmp_path, tmp_path_factory):
    """Of one that is stuck it hears by silence, and of it again when it turns again. One message may tell of turns before that."""
    stuck = Preload(build("stuck", tmp_path_factory.mktemp("stuck")), "UTFEED_STUCK", tmp_path / "page")
    told = manager()
    proxy = start(origin, "--workers", "2", env={**told.env, **stuck.env, "WATCHDOG_USEC": "100000"})
    for _ in range(3):
        told.hears_of("WATCHDOG")
    stuck.page[0] = 1
    until = time.monotonic() + TIMEOUT
    while not stuck.page[1]:
        assert time.monotonic() < until
        time.sleep(0.001)
    while select.select([told.socket], [], [], 0)[0]:
        told.hears()
    proxy.says("has not turned")
    heard = 0
    while select.select([told.socket], [], [], 0.2)[0]:
        told.hears()
        heard += 1
    stuck.page[0] = 0
    assert heard <= 1, "for two watchdog times"
    told.hears_of("WATCHDOG")


@pytest.mark.parametrize("env", [{"WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "soon"}, {}])
def test_a_watchdog_of_another_process_is_not_served(start, origin, manager, env):
    told = manager()
    proxy = start(origin, env={**told.env, **env})
    proxy.sigterm()
    assert not [each for each in told.hears_of("STOPPING")[1] if "WATCHDOG" in each]
    assert ("WATCHDOG_USEC is no number" in proxy.err.text()) == (env.get("WATCHDOG_USEC") == "soon")


# ---- what a service manager gives ----

GIVE = """
import fcntl, os, sys
names, pid, count, fds = sys.argv[1:5]
fds = [int(fd) for fd in fds.split(",") if fd]
held = [fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in fds]
for fd in set(fds):
    os.close(fd)
for number, fd in enumerate(held):
    os.dup2(fd, 3 + number)
    os.close(fd)
os.environ.update(LISTEN_PID=pid or str(os.getpid()), LISTEN_FDS=count or str(len(held)))
if names:
    os.environ["LISTEN_FDNAMES"] = names
os.execv(sys.argv[5], sys.argv[5:])
"""


def giving(*sockets, names="", pid="", count=""):
    """The arguments of a utfeed that is given these sockets as systemd gives them."""
    fds = [each.fileno() for each in sockets]
    return {"under": (sys.executable, "-S", "-E", "-c", GIVE, names, pid, count, ",".join(map(str, fds))), "fds": fds}


@pytest.fixture
def opened():
    """opened(host, family, ...): a listening socket of a service manager's."""
    with contextlib.ExitStack() as stack:
        def make(where=("127.0.0.1", 0), family=socket.AF_INET, kind=socket.SOCK_STREAM, listening=True, shared=False):
            made = stack.enter_context(socket.socket(family, kind))
            if shared:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            made.bind(where)
            if listening and kind == socket.SOCK_STREAM:
                made.listen(128)
            return made
        yield make


def port_of(sock):
    return sock.getsockname()[1]


@pytest.mark.parametrize("workers", ["1", "3"])
def test_a_given_socket_takes_the_place_of_its_address(start, origin, opened, workers):
    """That of --listen 127.0.0.1:0, which would be a port of its own; several workers share it."""
    origin.serve(lambda request: FEED)
    given = opened()
    proxy = start(origin, "--workers", workers, **giving(given, names="listen"))
    assert proxy.port == port_of(given) and proxy.err.text().count("127.0.0.1:") == 1
    assert all(proxy.get("/feed").status == 200 for _ in range(12))


def test_names_tell_tls_from_plain(start, origin, opened, good, authority):
    origin.serve(lambda request: FEED)
    plain, tls = opened(), opened()
    proxy = start(origin, "--tls-listen-cert", good.chain, "--tls-listen-key", good.key, **giving(tls, plain, names="tls-listen:listen"))
    assert proxy.port == port_of(plain) and f"127.0.0.1:{port_of(tls)} (TLS)" in proxy.err.text()
    client = TlsClient(port_of(tls), client_context(authority.root))
    assert client.get("/feed").status == 200 and proxy.get("/feed").status == 200
    client.close()


@pytest.mark.http1("a malformed request is none over HTTP/2, and not measured")
def test_the_admin_listener_may_be_given_its_socket(start, origin, opened):
    """Without admin-listen in the configuration."""
    given = opened()
    proxy = start(origin, **giving(opened(), given, names="listen:admin-listen"))
    assert f"admin listener on 127.0.0.1:{port_of(given)}" in proxy.err.text()
    proxy.get("/nothing", method="BREW/")
    admin = Client(port_of(given))
    assert admin.get("/readyz").status == 200
    until, measured = time.monotonic() + TIMEOUT, b'utfeed_request_duration_seconds_count{outcome="none"} 1\n'
    while measured not in admin.get("/metrics").body:
        assert time.monotonic() < until, "it shows, but nobody measures"
    admin.close()


def test_a_given_socket_for_tls_is_never_served_without(start, opened, good, tmp_path):
    """Not by a reload either that takes the certificate away, which the configuration alone would allow."""
    config = tmp_path / "utfeed.conf"
    config.write_text(f"tls-listen-cert = {good.chain}\ntls-listen-key = {good.key}\n")
    given = opened()
    proxy = start(None, "-c", str(config), **giving(opened(), given, names="listen:tls-listen"))
    config.write_text("")
    proxy.reload(REFUSED)
    assert f"tls-listen: 127.0.0.1:{port_of(given)}: has no certificate; write tls-listen-cert" in proxy.err.text()


def test_an_unnamed_socket_is_what_its_address_is(start, origin, opened):
    """systemd names it after its unit then."""
    origin.serve(lambda request: FEED)
    given = opened()
    proxy = start(origin, "--listen", f"127.0.0.1:{port_of(given)}", **giving(given, names="utfeed.socket"))
    assert f" 127.0.0.1:{port_of(given)}" in proxy.err.text() and proxy.get("/feed").status == 200


def test_a_unix_socket(start, origin, opened, tmp_path):
    origin.serve(lambda request: FEED)
    path = str(tmp_path / "http")
    given = opened(path, socket.AF_UNIX)
    proxy = start(origin, "--client-allow", "0.0.0.0/0, ::/0", **giving(opened(), given, names="listen:listen"))
    assert path in proxy.err.text()
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(TIMEOUT)
        client.connect(path)
        client.sendall(b"GET /feed HTTP/1.1\r\nHost: localhost\r\n\r\n")
        got = read_response(Stream(client), "GET")
        assert got.status == 200 and got.body == SMALL_OUT


def test_several_sockets_of_one_address_are_all_served(start, origin, opened):
    """By one worker: a connection waits in one of their queues."""
    origin.serve(lambda request: FEED)
    first = opened(shared=True)
    second = opened(("127.0.0.1", port_of(first)), shared=True)
    proxy = start(origin, **giving(first, second, first, names="listen:listen:listen"))
    assert proxy.err.text().count("127.0.0.1:") == 1
    assert all(proxy.get("/feed").status == 200 for _ in range(24))


def test_sockets_of_another_process_are_not_taken(start, origin, opened):
    proxy = start(origin, **giving(opened(), names="listen", pid="1"))
    assert proxy.get("/", method="BREW").status


@pytest.mark.parametrize("make, names, said", [
    (lambda opened: [opened()], "a:b", "LISTEN_FDNAMES names more or fewer"),
    (lambda opened: [opened()], "utfeed.socket", "descriptor 3 (utfeed.socket): 127.0.0.1:"),
    (lambda opened: [opened(), opened()], "listen:", "descriptor 4: 127.0.0.1:"),
    (lambda opened: [opened(listening=False)], "listen", "descriptor 3 (listen): it does not listen"),
    (lambda opened: [opened(kind=socket.SOCK_DGRAM)], "listen", "it is not a stream socket"),
    (lambda opened: [opened()], "tls-listen", "has no certificate; write tls-listen-cert = FILE"),
    (lambda opened: [opened(("0.0.0.0", 0))], "listen", "is open to other machines"),
    (lambda opened: [], "", "LISTEN_FDS is not a number"),
    (lambda opened: [sys.__stdout__], "listen", "it is not a socket"),
    (lambda opened: [opened((0, 0), socket.AF_NETLINK, socket.SOCK_RAW)], "listen", "is neither a TCP nor a Unix socket"),
], ids=["names", "unknown", "unnamed", "deaf", "datagrams", "no certificate", "open", "number", "file", "netlink"])
def test_what_does_not_fit_is_told(opened, make, names, said):
    made = make(opened)
    assert said in refused("--listen", "127.0.0.1:0", **giving(*made, names=names, count="" if made else "many"))


def test_a_socket_that_is_not_given(opened):
    """Its number is closed, or of a file of utfeed's own."""
    assert "descriptor 4 (listen): it is not " in refused(**giving(opened(), names="listen:listen", count="2"))


def test_a_named_socket_must_not_contradict_the_configuration(opened, good):
    given = opened()
    args = ("--tls-listen", f"127.0.0.1:{port_of(given)}", "--tls-listen-cert", good.chain, "--tls-listen-key", good.key)
    assert "is an address of tls-listen" in refused(*args, **giving(given, names="listen"))


class Lasting(Load):
    """A load that takes a refused connection for a lost one, until over is set."""
    over = False

    def end(self, sock, number, again):
        if not again and not self.over:
            self.lost.append(("connect", "refused"))
        super().end(sock, number, again)


def under_load(port, act, last, count=32):
    """act() among requests, then last(), which ends all. What was lost before the end, and with it."""
    load, acting, before = Lasting(port, count), [], []

    def run():
        try:
            act(load)
            before.extend(load.lost)
        finally:
            load.over = True
            last()
    load.run(500, lambda: acting.append(Background(run)))
    acting[0].join()
    assert load.answers >= 500
    return before, load.lost


def answered(load, count):
    """Waits for so many answers more."""
    goal = load.answers + count
    until = time.monotonic() + TIMEOUT
    while load.answers < goal:
        assert time.monotonic() < until, "nobody answers"
        time.sleep(0.001)


def test_a_restart_with_held_sockets_loses_nothing(start, origin, opened):
    """Connections wait in the queue while no utfeed runs: the socket is neither shut nor filtered."""
    Site(origin)["/feed"] = page("Cache-Control: max-age=600", body=SMALL_OUT)
    given = opened()
    options = ("--access-log", "off", "--cache", "on")
    running = [start(origin, *options, **giving(given, names="listen"))]

    def restart(load):
        for _ in range(2):
            running[-1].sigterm()
            assert running[-1].wait() == 0
            running.append(start(origin, *options, **giving(given, names="listen")))
            answered(load, 100)

    def end():
        given.close()
        running[-1].sigterm()
    assert not under_load(port_of(given), restart, end)[0]


# ---- an upgrade ----

@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "takeover")


@pytest.mark.parametrize("over", ["tcp", "held"])
def test_upgrades_lose_nothing(start, origin, opened, path, over):
    """With as many workers, more and fewer: every request written to a connection that was made is answered, and none is refused."""
    Site(origin)["/feed"] = page("Cache-Control: max-age=600", body=SMALL_OUT)
    options = ("--access-log", "off", "--cache", "on", "--takeover-socket", path)
    given = opened() if over == "held" else None
    running = [start(origin, *options, **(giving(given, names="listen") if given else {}))]

    def upgrade(load):
        for workers in ("2", "3", "1", "2", "2"):
            running.append(start(origin, *options, "--workers", workers))
            assert running[-2].wait() == 0
            assert running[-1].port == running[0].port
            answered(load, 100)

    def end():
        if given:
            given.close()
        running[-1].sigterm()
    before, lost = under_load(running[0].port, upgrade, end)
    assert not before and (given or not lost)
    assert running[-1].wait() == 0 and not os.path.exists(path)


def test_what_is_in_flight_ends_in_the_former_process(start, origin, path):
    """An idle connection is told with its last answer; the next one is the new process's."""
    proxy = start(origin, "--takeover-socket", path, "--drain-delay", "1h")
    busy = proxy.client().ask("/feed")
    upstream = origin.receive()
    heir = start(origin, "--takeover-socket", path)
    proxy.says("nobody new is accepted")
    upstream.answer(FEED)
    got = busy.response()
    assert got.status == 200 and got.tokens("Connection") == ["close"] and proxy.wait() == 0
    assert heir.through(origin, FEED)[0].status == 200 and stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_the_admin_listener_goes_over_too(start, origin, path):
    """With its socket: the next process answers there at once, and the former one there no more."""
    options = ("--takeover-socket", path, "--admin-listen", "127.0.0.1:0")
    proxy = start(origin, *options)
    port = int(re.search(r"admin listener on 127\.0\.0\.1:(\d+)", proxy.err.text())[1])
    busy = proxy.client().ask("/feed")
    upstream = origin.receive()
    heir = start(origin, *options)
    proxy.says("nobody new is accepted")
    assert f"admin listener on 127.0.0.1:{port}\n" in heir.err.text()
    for _ in range(20):
        admin = Client(port)
        assert admin.get("/readyz").status == 200
        admin.close()
    upstream.answer(FEED)
    assert busy.response().status == 200 and proxy.wait() == 0


def test_an_address_that_is_configured_no_more(start, origin, opened, path):
    """The former process ends it as at any end; what the configuration adds is bound."""
    origin.serve(lambda request: FEED)
    with socket.socket() as held:
        held.bind(("127.0.0.2", 0))
        port = port_of(held)
    proxy = start(origin, "--takeover-socket", path, "--listen", f"127.0.0.2:{port}")
    heir = start(origin, "--takeover-socket", path)
    assert proxy.wait() == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", port), TIMEOUT)
    last = start(origin, "--takeover-socket", path, "--listen", f"127.0.0.2:{port}")
    assert heir.wait() == 0 and f"127.0.0.2:{port}" in last.err.text()
    socket.create_connection(("127.0.0.2", port), TIMEOUT).close()


def test_a_process_that_fails_to_start_changes_nothing(start, origin, path):
    origin.serve(lambda request: FEED)
    proxy = start(origin, "--takeover-socket", path)
    with socket.socket() as held:
        held.bind(("127.0.0.2", 0))
        held.listen()
        said = refused("--listen", f"127.0.0.1:{proxy.port}", "--listen", f"127.0.0.2:{port_of(held)}", "--takeover-socket", path)
    assert "taking over" in said
    proxy.says("left without taking over; this one goes on")
    assert proxy.get("/feed").status == 200
    start(origin, "--takeover-socket", path)
    assert proxy.wait() == 0


def test_a_former_process_that_ends_first(start, origin, path):
    """It says so before it lets the kernel open no new connections on the sockets that the next one has, too."""
    proxy = start(origin, "--takeover-socket", path)
    with asking(path) as peer:
        peer.send(b"hello 1")
        assert hears_all(peer)[-1] == b"end"
        proxy.sigterm()
        assert hears_all(peer) == [b"no the former process ends"]
    assert proxy.wait() == 0 and not os.path.exists(path)


def test_who_asks_and_says_nothing_is_refused(start, origin, path):
    """After five seconds, so that the next one is heard."""
    proxy = start(origin, "--takeover-socket", path)
    with asking(path) as peer:
        assert hears_all(peer) == [b"no it takes too long"]
    start(origin, "--takeover-socket", path)
    assert proxy.wait() == 0


def asking(path):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.settimeout(TIMEOUT)
    peer.connect(path)
    return peer


def hears_all(peer):
    """The messages up to the last one; descriptors are closed."""
    got = []
    while not got or got[-1].split(b" ")[0] not in (b"end", b"no", b"bye", b""):
        text, fds, _, _ = socket.recv_fds(peer, 4096, 16)
        for fd in fds:
            os.close(fd)
        got.append(text)
    return got


@pytest.mark.parametrize("messages, answer", [
    ([b"hello 1"], b"end"),
    ([b"hello 2"], b"no it asks in another way than this version understands"),
    ([b"hello 1", b"hello 1"], b"no it says what it must not"),
    ([b"ready 1"], b"no it is ready for what it did not get"),
    ([b"hello 1", b"ready 11"], b"no it is ready for what it did not get"),
    ([b"hello 1", b"ready x"], b"no it is ready for what it did not get"),
    ([b"bye"], b"no it says what it must not"),
    ([b"\0\1\2"], b"no it says what it must not"),
    ([b"hello " + b"1" * 1300], b"no it says what it must not"),
])
def test_who_says_what_it_must_not_changes_nothing(start, origin, path, messages, answer):
    """Descriptors that come along are not kept; the next one who asks is heard."""
    origin.serve(lambda request: FEED)
    proxy = start(origin, "--takeover-socket", path)
    for _ in range(2):
        with asking(path) as peer:
            for text in messages:
                socket.send_fds(peer, [text], [0, 0])
                got = hears_all(peer)
            assert got[-1] == answer
    until_gone = len(os.listdir(f"/proc/{proxy.process.pid}/fd"))
    with asking(path) as peer:
        peer.send(b"hello 1")
        assert hears_all(peer) == [b"socket listen", b"path", b"end"]
    assert proxy.get("/feed").status == 200 and until_gone < 40
    start(origin, "--takeover-socket", path)
    assert proxy.wait() == 0


AS_NOBODY = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if sys.argv[1] == "ask":
    peer.connect(sys.argv[2])
    peer.send(b"hello 1")
    print(len(peer.recv(4096)), flush=True)
else:
    peer.bind(sys.argv[2])
    peer.listen()
    print("listens", flush=True)
    sys.stdin.read()
"""


@ROOT
def test_other_users_are_not_spoken_with(start, origin, tmp_path):
    """Neither one who asks, where the mode of the file was widened, nor one who made a socket where one is looked for."""
    folder = f"/tmp/utfeed-{os.getpid()}-{tmp_path.name}"
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    try:
        proxy = start(origin, "--takeover-socket", f"{folder}/mine")
        os.chmod(f"{folder}/mine", 0o666)
        asked = subprocess.run([sys.executable, "-c", AS_NOBODY, "ask", f"{folder}/mine"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, timeout=PATIENCE, check=False)
        assert asked.stdout in (b"", b"0\n")
        proxy.says("user 65534 asked")
        with subprocess.Popen([sys.executable, "-c", AS_NOBODY, "listen", f"{folder}/theirs"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as planted:
            assert planted.stdout.readline() == b"listens\n"
            os.chmod(f"{folder}/theirs", 0o777)
            assert "user 65534 listens there" in refused("--listen", "127.0.0.1:0", "--takeover-socket", f"{folder}/theirs")
            planted.stdin.close()
    finally:
        for name in os.listdir(folder):
            if name != "mine":
                os.unlink(f"{folder}/{name}")
        proxy.stop()
        os.rmdir(folder)


@pytest.mark.parametrize("messages, said", [
    ([], "no answer from the former process (it ended)"),
    ([b"no it is busy"], "the former process goes on by itself: it is busy"),
    ([b"hello 1"], "the former process says what it must not"),
    ([b"path"], "gave no socket for its path, or two"),
    ([b"notify /run/notify"], "does not say how it tells its service manager"),
    ([b"socket listen"] * 201, "has too many addresses"),
], ids=["nothing", "no", "another word", "no path", "no watchdog", "many"])
def test_a_former_process_that_says_what_it_must_not(path, messages, said):
    """The next one does not start."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as former, socket.create_server(("127.0.0.1", 0)) as held:
        former.bind(path)
        former.listen()
        heir = Background(refused, "--listen", "127.0.0.1:0", "--takeover-socket", path)
        with former.accept()[0] as peer:
            assert peer.recv(100) == b"hello 1"
            for text in messages:
                socket.send_fds(peer, [text], [held.fileno()] if text.startswith(b"socket") else [])
        assert said in heir.join()


def test_a_former_process_that_says_no_at_the_end(path):
    """It is asked whether it let go, and goes on by itself."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as former:
        former.bind(path)
        former.listen()
        heir = Background(refused, "--listen", "127.0.0.1:0", "--takeover-socket", path)
        with former.accept()[0] as peer:
            assert peer.recv(100) == b"hello 1"
            socket.send_fds(peer, [b"path"], [former.fileno()])
            peer.send(b"end")
            assert peer.recv(100).startswith(b"ready")
            peer.send(b"no it stays")
        assert "the former process goes on by itself: it stays" in heir.join()


def test_the_path(start, origin, path, tmp_path):
    """A socket that nobody listens on is replaced; any other file is somebody's, and too long is too long."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as former:
        former.bind(path)
        former.listen()
    proxy = start(origin, "--takeover-socket", path)
    asking(path).close()
    proxy.sigterm()
    assert proxy.wait() == 0 and not os.path.exists(path)
    (tmp_path / "file").write_text("mine")
    assert "takeover-socket" in refused("--listen", "127.0.0.1:0", "--takeover-socket", str(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "mine"
    for how in ([], ["--check-config"]):
        assert "File name too long" in refused("--listen", "127.0.0.1:0", "--takeover-socket", "/" + "x" * 120, *how)


def test_the_manager_follows(start, origin, manager, path):
    """The former process names the next one, which has no variables of its own and goes on with its watchdog."""
    told = manager()
    proxy = start(origin, "--takeover-socket", path, env={**told.env, "WATCHDOG_USEC": "600000000"})
    assert [told.hears(), told.hears()][1]["READY"] == "1"
    heir = start(origin, "--takeover-socket", path)
    assert told.hears() == {"MAINPID": str(heir.process.pid)}
    assert told.hears() == {"WATCHDOG": "1"} and told.hears()["READY"] == "1"
    assert proxy.wait() == 0
    heir.sigterm()
    assert told.hears()["STOPPING"] == "1"


def test_stored_responses_in_lmdb_are_both_processes(start, origin, path, tmp_path):
    """They share the folder; what the former one stored is a hit in the next one."""
    Site(origin)["/feed"] = page(FRESH, body=SMALL_OUT)
    options = ("--takeover-socket", path, "--cache", "on", "--cache-lmdb", str(tmp_path / "store"), "--cache-lmdb-bytes", "16m")
    proxy = start(origin, *options)
    assert not was_hit(proxy.get("/feed"))
    for _ in range(2):
        former, proxy = proxy, start(origin, *options)
        assert former.wait() == 0 and was_hit(proxy.get("/feed"))


# ---- another user ----

def status(proxy):
    with open(f"/proc/{proxy.process.pid}/status", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


@ROOT
@pytest.mark.parametrize("user, uid, gid", [
    ("nobody", NOBODY.pw_uid, NOBODY.pw_gid), (f"{NOBODY.pw_uid}:12345", NOBODY.pw_uid, 12345), ("54321:12345", 54321, 12345),
    ("nobody:daemon", NOBODY.pw_uid, 1)])
def test_root_becomes_the_user(start, origin, user, uid, gid):
    """In every thread, without a capability, and a crash still leaves its core file (then /proc is the user's)."""
    origin.serve(lambda request: FEED)
    proxy = start(origin, "--user", user, "--workers", "2")
    assert proxy.get("/feed").status == 200
    for thread in os.listdir(f"/proc/{proxy.process.pid}/task"):
        with open(f"/proc/{proxy.process.pid}/task/{thread}/status", encoding="ascii") as file:
            said = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        assert set(said["Uid"].split()) == {str(uid)} and set(said["Gid"].split()) == {str(gid)}, said
        assert int(said["CapEff"], 16) == int(said["CapPrm"], 16) == 0 and "0" not in said["Groups"].split()
    assert os.stat(f"/proc/{proxy.process.pid}/maps").st_uid == uid


@ROOT
def test_what_cannot_be_read_again_is_told_at_the_start(start, origin, tmp_path):
    config, key = tmp_path / "utfeed.conf", tmp_path / "sign.pem"
    openssl("genpkey", "-algorithm", "ed25519", "-out", str(key))
    config.write_text(f"sign-agent = https://bot.example\n[gateway]\nsign-key = {key}\n")
    for file in config, key:
        file.chmod(0o600)
    proxy = start(origin, "-c", str(config), "--user", "nobody")
    for file in config, key:
        assert f"user: nobody cannot read {file} (Permission denied): SIGHUP will be refused" in proxy.err.text()
    proxy.reload(REFUSED)


@ROOT
def test_an_upgrade_of_one_that_became_another_user(start, origin, path):
    origin.serve(lambda request: FEED)
    proxy = start(origin, "--user", "nobody", "--takeover-socket", path)
    heir = start(origin, "--user", "nobody", "--takeover-socket", path)
    assert proxy.wait() == 0 and heir.get("/feed").status == 200
    assert set(status(heir)["Uid"].split()) == {str(NOBODY.pw_uid)}


@pytest.mark.parametrize("args, said", [
    (["--user", "no-such-user"], "--user: no-such-user: there is no such user"),
    (["--user", "54321"], "54321 has no entry in passwd(5), which would name its group; write NAME:GROUP"),
    (["--user", "4294967295"], "there is no such user"), (["--user", "-1"], "there is no such user"),
    (["--user", "nobody:no-such-group"], "there is no such group"), (["--user", ":daemon"], "there is no such user")])
def test_nobody_that_there_is(args, said):
    assert said in refused("--listen", "127.0.0.1:0", *args)
    assert said in refused("--check-config", *args)


@ROOT
def test_who_is_not_root_cannot_become_another(start, origin, tmp_path):
    nobody = ("setpriv", "--reuid", str(NOBODY.pw_uid), "--regid", str(NOBODY.pw_gid), "--clear-groups", "--")
    probe = subprocess.run([*nobody, BINARY, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if probe.returncode:
        pytest.skip("other users cannot run this binary")
    assert "only root can become another user" in refused("--listen", "127.0.0.1:0", "--user", "daemon", under=nobody)
    same = start(None, "--user", "nobody", under=nobody)
    assert set(status(same)["Uid"].split()) == {str(NOBODY.pw_uid)}
