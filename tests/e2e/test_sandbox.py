"""What utfeed gives up before it serves: system calls, files and folders; for all threads and for good. What it keeps all other tests use."""
import contextlib
import errno
import os
import re
import signal
import struct
import subprocess
import time

import pytest

from certs import server_context
from feeds import SMALL, SMALL_OUT
from inside import InsideClient, OwnCa
from pages import FRESH, Site, page
from preload import Preload, build, preloading
from proxy import BINARY, REFUSED, has_symbol, is_sanitized
from test_memory import Refusal
from wire import PATIENCE, TIMEOUT, message

FEED = message("200 OK", "Content-Type: application/xml", FRESH, body=SMALL)
WORKER, MAIN, LATER = 1, 2, 3
NAME, PATH, SIZE = 24, 88, 600
OUTSIDE = "may be read by this user, but not by this process"

# Such a build has no filter of system calls
kernel = pytest.mark.skipif(has_symbol(b"__([at]san_init|gcov_init)"), reason="a build of a sanitizer, or of gcov, makes system calls of its own")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build("forbidden", tmp_path_factory.mktemp("forbidden"))


class Intruder(Preload):
    """.make(name, ...): a thread of utfeed's makes that call; gives what it returns and errno, or None where utfeed ends."""

    def make(self, proxy, name, path="", thread=WORKER):
        self.page[NAME:NAME + len(name) + 1] = name.encode() + b"\0"
        self.page[PATH:PATH + len(path) + 1] = path.encode() + b"\0"
        self.page[0:8] = struct.pack("q", thread)
        until = time.monotonic() + TIMEOUT
        while struct.unpack("q", self.page[0:8])[0]:
            assert time.monotonic() < until, f"no thread makes {name}"
            if proxy.process.poll() is not None:
                return None
            if thread == MAIN:
                proxy.process.send_signal(signal.SIGUSR1)
            else:
                try:
                    proxy.client().ask("/feed").close()
                except OSError:
                    pass
            time.sleep(0.001)
        result, error = struct.unpack("qq", self.page[8:24])
        return result, errno.errorcode.get(error, 0) if result == -1 else 0


@pytest.fixture
def intruder(library, tmp_path_factory):
    return Intruder(library, "FORBIDDEN", tmp_path_factory.mktemp("order") / "page", SIZE)


def lines_of(proxy, name):
    """{that line of its status} of all threads."""
    found = set()
    for thread in os.listdir(f"/proc/{proxy.process.pid}/task"):
        with open(f"/proc/{proxy.process.pid}/task/{thread}/status", encoding="ascii") as file:
            found.add(re.search(rf"^{name}:\t(\d+)$", file.read(), re.M)[1])
    return found


def ends_by(proxy, name):
    """It ended by that call, and said so."""
    assert proxy.wait() == -signal.SIGSYS, proxy.err.text()
    proxy.stopped = True
    assert re.search(rf"error: sandbox: the system call {name} \(number \d+\) is not allowed, or not with these arguments: utfeed ends",
                     proxy.err.text()), proxy.err.text()
    assert proxy.err.text().count("sandbox: the system call") == 1


# ---- system calls ----

@kernel
@pytest.mark.parametrize("name, thread", [
    *((name, WORKER) for name in ("execve", "clone", "ptrace", "mount", "setuid", "io_uring_setup", "socket", "socket of netlink's filters",
                                  "bind", "listen", "mprotect", "mmap", "kill", "prlimit64", "ioctl")),
    *((name, thread) for name in ("execve", "mprotect") for thread in (MAIN, LATER))])
def test_a_forbidden_call_ends_the_process(start, origin, intruder, name, thread):
    """In a thread that was there before, in the main one, and in one that was started later."""
    proxy = start(origin, "--workers", "2", env=intruder.env)
    assert intruder.make(proxy, name, "/bin/true", thread) is None
    ends_by(proxy, name.split(" ", maxsplit=1)[0])


@kernel
@pytest.mark.parametrize("name, result", [("clone3", (-1, "ENOSYS")), ("newest", (-1, "ENOSYS")), ("kill of itself", (0, 0))])
def test_what_is_answered(start, origin, intruder, name, result):
    proxy = start(origin, env=intruder.env)
    assert intruder.make(proxy, name) == result


@kernel
def test_all_threads_are_filtered(start, origin, tmp_path):
    """Those of stores, logs and the admin listener, which were started at different times."""
    Site(origin)["/feed"] = page(FRESH, body=SMALL_OUT)
    proxy = start(origin, "--workers", "3", "--cache", "on", "--cache-lmdb", str(tmp_path / "store"), "--admin-listen", "127.0.0.1:0",
                  "--access-log-file", str(tmp_path / "log"))
    assert proxy.get("/feed").status == 200
    assert len(os.listdir(f"/proc/{proxy.process.pid}/task")) >= 7
    assert lines_of(proxy, "Seccomp") == {"2"} and lines_of(proxy, "NoNewPrivs") == {"1"}


@kernel
def test_the_signal_from_elsewhere_is_only_a_signal(start, origin):
    proxy = start(origin)
    proxy.process.send_signal(signal.SIGSYS)
    assert proxy.wait() == -signal.SIGSYS and "sandbox" not in proxy.err.text()
    proxy.stopped = True


class Alone:
    """A utfeed whose standard error is read up to its readiness and then no more; .process as that of Utfeed."""

    def __init__(self, env):
        self.read, write = os.pipe()
        self.process = subprocess.Popen([BINARY, "serve", "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=write, env={**os.environ, **env})
        said = b""
        while b"ready on" not in said:
            got = os.read(self.read, 4096)
            assert got, said
            said += got
        full = os.open(f"/proc/self/fd/{write}", os.O_WRONLY | os.O_NONBLOCK)       # a description of its own
        try:
            while True:
                os.write(full, bytes(4096))
        except BlockingIOError:
            pass
        os.close(full)
        os.close(write)


@kernel
def test_standard_error_that_nobody_reads_keeps_nothing_alive(intruder):
    stuck = Alone({**intruder.env, "UTFEED_ACCESS_LOG": "off"})
    intruder.page[NAME:NAME + 7] = b"execve\0"
    intruder.page[0:8] = struct.pack("q", MAIN)
    stuck.process.send_signal(signal.SIGUSR2)
    assert stuck.process.wait(TIMEOUT) == -signal.SIGSYS
    os.close(stuck.read)


# ---- what can be had ----

MODES = [("on", "2", True), ("strict", "2", True), ("seccomp", "2", False), ("landlock", "0", True), ("off", "0", False), ("false", "0", False)]


@kernel
@pytest.mark.parametrize("mode, filters, confined", MODES)
def test_modes(start, origin, intruder, mode, filters, confined):
    """Each kind by itself; the values that YAML makes of off are off."""
    proxy = start(origin, env={**intruder.env, "UTFEED_SANDBOX": mode})
    assert lines_of(proxy, "Seccomp") == {filters} and lines_of(proxy, "NoNewPrivs") == {"0" if mode in ("off", "false") else "1"}
    assert (intruder.make(proxy, "read", "/var/log") == (-1, "EACCES")) == confined
    if filters == "0":
        assert intruder.make(proxy, "listen") == (-1, "ENOTSOCK")
    assert "sandbox" not in proxy.err.text()


@kernel
@pytest.mark.parametrize("lacks, words", [("landlock", "no limits for files (Landlock: Function not implemented)"),
                                          ("seccomp", "no filters of system calls (seccomp: Function not implemented)")])
def test_a_kernel_that_lacks_one(start, origin, library, lacks, words):
    """It is told, and goes without; but what is demanded by name must be there."""
    env = {**preloading(library), "FORBIDDEN_LACKS": lacks}
    origin.serve(lambda request: FEED)
    proxy = start(origin, env=env)
    assert f"info: sandbox: the kernel or the container has {words}" in proxy.err.text() and proxy.get("/feed").status == 200
    assert lines_of(proxy, "Seccomp") == {"0" if lacks == "seccomp" else "2"}
    other = "seccomp" if lacks == "landlock" else "landlock"
    assert "sandbox" not in start(origin, "--sandbox", other, env=env).err.text()
    for mode in (lacks, "strict"):
        for more in ([], ["--check-config"]):
            done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--sandbox", mode, *more], env={**os.environ, **env},
                                  capture_output=True, text=True, timeout=PATIENCE, check=False)
            assert done.returncode in (1, 2) and f"error: --sandbox: the kernel or the container has {words}" in done.stderr


@pytest.mark.skipif(not is_sanitized(), reason="only a build of a sanitizer")
def test_a_build_that_watches_itself_is_left_alone(start, origin):
    proxy = start(origin)
    assert lines_of(proxy, "Seccomp") == {"0"} and lines_of(proxy, "NoNewPrivs") == {"0"}


# ---- files ----

@pytest.fixture
def tree(tmp_path):
    """Folders with a file in each."""
    def make(*names):
        for name in names:
            (tmp_path / name).mkdir()
            (tmp_path / name / "file").write_text("text\n")
        return tmp_path
    return make


@kernel
def test_what_may_be_opened(start, origin, intruder, tree):
    """By what the configuration names, what of it, and how."""
    at = tree("conf", "include", "route", "read", "log", "sockets", "elsewhere")
    (at / "conf" / "utfeed.conf").write_text("include = ../include/*.conf\n")
    (at / "include" / "one.conf").write_text("via = one\n")
    (at / "route" / "ua").write_text("http://127.0.0.1:1")
    (at / "route" / "ua").chmod(0o600)
    proxy = start(origin, "-c", str(at / "conf" / "utfeed.conf"), "--sandbox-read", str(at / "read"), "--cache-lmdb", str(at / "store"),
                  "--access-log-file", str(at / "log" / "access"), "--listen", f"unix:{at}/sockets/listen",
                  "--route", f"/x/=http://127.0.0.1:1/ http-proxy-file={at}/route/ua", env=intruder.env)
    for name, path, granted in [
            ("read", "conf/file", True), ("list", "conf", True), ("write", "conf/file", False), ("make", "conf/new", False),
            ("remove", "conf/file", False), ("truncate", "conf/utfeed.conf", False), ("read", "include/file", True), ("write", "include/file", False),
            ("read", "route/file", True), ("write", "route/ua", False), ("read", "read/file", True), ("write", "read/file", False),
            ("list", "store", True), ("make", "store/new", True), ("write", "store/new", True), ("truncate", "store/new", True),
            ("remove", "store/new", True), ("folder", "store/folder", False),
            ("make", "log/new", True), ("write", "log/new", True), ("read", "log/file", False), ("remove", "log/file", False),
            ("list", "log", False), ("remove", "sockets/file", True), ("make", "sockets/new", False), ("read", "sockets/listen", False),
            ("read", "elsewhere/file", False), ("list", "elsewhere", False), ("write", "elsewhere/file", False),
            ("remove", "elsewhere/file", False), ("make", "new", False)]:
        result, error = intruder.make(proxy, name, str(at / path))
        assert (result >= 0) == granted and error == (0 if granted else "EACCES"), f"{name} {path}: {result}, {error}"
    for name, path, granted in [("read", "/etc/hosts", True), ("read", "/usr", True), ("list", "/sys/devices/system/cpu", True),
                                ("read", "/proc/self/environ", False), ("list", "/root", False), ("list", "/", False), ("list", "/home", False)]:
        result, error = intruder.make(proxy, name, path)
        assert (result >= 0) == granted, f"{name} {path}: {result}, {error}"
    assert proxy.process.poll() is None


def test_a_path_for_later_must_be_there(start, origin, tmp_path):
    """Else it cannot be allowed, which is told before and at the start."""
    words = f"warning: --sandbox-read: {tmp_path}/absent: No such file or directory; utfeed will not be able to read it later either"
    assert words in start(origin, "--sandbox-read", f"{tmp_path}/absent", "--sandbox-read", str(tmp_path)).err.text()
    done = subprocess.run([BINARY, "serve", "--sandbox-read", f"{tmp_path}/absent", "--check-config"], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    assert done.returncode == 0 and words in done.stderr


def sandbox_lines(proxy):
    return [line for line in proxy.err.text().splitlines() if OUTSIDE in line]


@kernel
def test_a_reload_that_names_a_file_elsewhere(start, origin, tree):
    """It is refused as one whose file cannot be read, and the sandbox is named; what was in force stays so."""
    origin.serve(lambda request: FEED)
    at = tree("conf", "elsewhere", "read")
    config = at / "conf" / "utfeed.conf"
    config.write_text("via = one\n")
    proxy = start(origin, "-c", str(config), "--sandbox-read", str(at / "read"))
    for text in (f"include = {at}/elsewhere/file\n", f"include = {at}/elsewhere\n", f"http-proxy-file = {at}/elsewhere/file\n"):
        (at / "elsewhere" / "file").write_text("via = two\n" if text.startswith("include") else "http://127.0.0.1:1")
        config.write_text(text)
        before = len(sandbox_lines(proxy))
        proxy.reload(REFUSED)
        assert len(sandbox_lines(proxy)) == before + 1, proxy.err.text()
        assert f"sandbox: {at}/elsewhere" in sandbox_lines(proxy)[-1] and "sandbox-read" in sandbox_lines(proxy)[-1]
        assert proxy.get("/feed")["Via"] == "1.1 one"
    (at / "read" / "file").write_text("via = two\n")
    config.write_text(f"include = {at}/read/file\n")
    proxy.reload()
    assert proxy.get("/feed")["Via"] == "1.1 two" and len(sandbox_lines(proxy)) == 3
    config.write_text(f"include = {at}/nowhere\n")
    proxy.reload(REFUSED)
    assert len(sandbox_lines(proxy)) == 3, "what is not there is no matter of the sandbox"


@kernel
def test_a_route_whose_certificates_lie_elsewhere(start, tls_origin, authority, good, tree):
    """Such a route is left out or stays as it was, as for any file that cannot be read; the log says why."""
    at = tree("conf", "elsewhere")
    origin = tls_origin(server_context(good))
    config = at / "conf" / "utfeed.conf"
    for folder in ("conf", "elsewhere"):
        (at / folder / "ca.pem").write_bytes(open(authority.root.cert, "rb").read())
    route = "[route /%s/]\norigin = " + origin.url + "\ntls-ca-file = %s\n"
    config.write_text(route % ("a", at / "conf" / "ca.pem"))
    proxy = start(None, "-c", str(config))
    config.write_text(route % ("a", at / "conf" / "ca.pem") + route % ("b", at / "elsewhere" / "ca.pem"))
    proxy.reload()
    assert "route /b/ is left out" in proxy.err.text() and f"sandbox: {at}/elsewhere/ca.pem {OUTSIDE}" in proxy.err.text()
    got, _ = proxy.through(origin, FEED, "/a/f", close=True)
    assert got.body == SMALL_OUT and proxy.get("/b/f").status == 404


@kernel
def test_an_authority_of_interception(start, authority, tls_origin, good, tree):
    """Replaced by another of its name a reload takes it, which also asks the kernel to make no core; one that lies elsewhere it cannot."""
    at = tree("conf", "elsewhere")
    config, secure = at / "conf" / "utfeed.conf", tls_origin(server_context(good))
    secure.serve(lambda request: FEED)

    def entered(proxy, own):
        with contextlib.closing(InsideClient(proxy.port, f"localhost:{secure.port}", own.context())) as client:
            return client.get("/feed").body == SMALL_OUT

    def write(own):
        config.write_text(f"intercept = localhost\nintercept-ca-cert = {own.cert}\nintercept-ca-key = {own.key}\n")
    config.write_text("")
    proxy = start(None, "-c", str(config), "--tls-ca-file", authority.root.cert)
    own, other = OwnCa(at / "conf"), OwnCa(at / "elsewhere")
    for _ in range(2):
        write(own)
        proxy.reload()
        assert entered(proxy, own)
        own.make()
    proxy.reload()
    write(other)
    proxy.reload()
    proxy.says("interception stays as it was")
    assert [line for line in sandbox_lines(proxy) if other.cert in line] and [line for line in sandbox_lines(proxy) if other.key in line]
    assert entered(proxy, own)


@kernel
@pytest.mark.parametrize("way", ["folder", "link"])
def test_files_that_are_replaced_are_read_again(start, origin, tree, way):
    """By another file of that name, or by a link to another folder below that of the link: so ConfigMaps and certbot renew them."""
    origin.serve(lambda request: FEED)
    at = tree("conf", "live")
    config = at / "conf" / "utfeed.conf"
    (at / "conf" / "archive").mkdir()
    if way == "link":
        config = at / "live" / "utfeed.conf"
        os.symlink("../conf/archive/1.conf", config)
        (at / "conf" / "archive" / "1.conf").write_text("via = one\n")
    else:
        config.write_text("via = one\n")
    proxy = start(origin, "-c", str(config))
    for number, name in enumerate(("two", "three"), 2):
        new = at / "conf" / "archive" / f"{number}.conf"
        new.write_text(f"via = {name}\n")
        if way == "link":
            os.symlink(f"../conf/archive/{number}.conf", at / "live" / "new")
            os.replace(at / "live" / "new", config)
        else:
            os.replace(new, config)
        proxy.reload()
        assert proxy.get("/feed")["Via"] == f"1.1 {name}"
    assert not sandbox_lines(proxy)


@kernel
def test_a_home_is_not_opened_for_a_file_in_it(start, origin, intruder, tree):
    """What stands there is allowed alone, which is told; written in place it is read again, but not another file of its name."""
    origin.serve(lambda request: FEED)
    at = tree("home")
    config, log = at / "home" / "utfeed.conf", at / "home" / "access"
    config.write_text("via = one\n")
    proxy = start(origin, "-c", str(config), "--access-log-file", str(log), env={**intruder.env, "HOME": str(at / "home")})
    for path in (config, log):
        assert f"info: sandbox: utfeed may read the file {path}, but not its folder {at}/home" in proxy.err.text()
    assert intruder.make(proxy, "read", str(at / "home" / "file")) == (-1, "EACCES")
    assert intruder.make(proxy, "make", str(at / "home" / "new")) == (-1, "EACCES")
    config.write_text("via = two\n")
    proxy.reload()
    assert proxy.get("/feed")["Via"] == "1.1 two"
    (at / "new").write_text("via = three\n")
    os.replace(at / "new", config)
    os.rename(log, at / "home" / "access.1")
    proxy.reload(REFUSED)
    assert f"sandbox: {config} {OUTSIDE}" in proxy.err.text() and proxy.get("/feed")["Via"] == "1.1 two"
    proxy.says(f"access-log-file {log}: Permission denied")
    proxy.stop()
    assert (at / "home" / "access.1").read_text().count("/feed") >= 2, "lines go on to the former file"


@kernel
def test_redis_by_its_name(start, origin, redis_server):
    """Its name is looked up whenever it is connected to."""
    if "localhost" not in open("/etc/hosts", encoding="utf-8").read():
        pytest.skip("no localhost here")
    server = redis_server("redis-server")
    Site(origin)["/feed"] = page(FRESH, body=SMALL_OUT)
    proxy = start(origin, "--cache", "on", "--cache-redis", f"localhost:{server.port}")
    assert proxy.get("/feed").status == 200
    assert proxy.counted("second_misses", 1)
    server.stop()
    proxy.says("trying again")
    server.start()
    proxy.says("redis store: connected")


class Started:
    """A utfeed that may not come to be ready; what it said and, where it is ready, whether it gave up files."""

    def __init__(self, env):
        self.process = subprocess.Popen([BINARY, "serve", "--listen", "127.0.0.1:0", "--sandbox", "landlock"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **env})
        self.said, self.confined = "", None
        for line in self.process.stderr:
            self.said += line
            if " ready on " in line:
                self.confined = lines_of(self, "NoNewPrivs") == {"1"}
                self.process.terminate()
        self.process.stderr.close()
        self.status = self.process.wait(TIMEOUT)


@kernel
def test_memory_refused_at_the_start(tmp_path, tmp_path_factory):
    """Requests for memory of a start, one refused in each turn: whoever serves has given up files. (libseccomp is not asked: refused memory,
    2.5.4 frees what it has freed before or loops, both before anybody is served.)"""
    refusal = Refusal(build("refuse", tmp_path_factory.mktemp("refuse")), tmp_path / "refuse")
    total = refusal.count(lambda: Started(refusal.env))
    served = refused = 0
    for turn in range(1, total, max(1, total // 16)):
        refusal.after(turn, 1)
        one = Started(refusal.env)
        refused += refusal.over()
        assert one.confined is not False, f"request {turn} of {total}: {one.said}"
        assert one.confined or one.status in (1, 2), f"request {turn} of {total}: {one.status} {one.said}"
        served += one.confined is True
    assert refused >= 8 and served < refused, (served, refused, total)
