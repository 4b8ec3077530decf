"""utfeed top: a terminal's screen of what a running utfeed does, one frame where there is no terminal, and a clean terminal afterwards."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from pages import FRESH, Site, page
from proxy import BINARY
from test_admin import KOI8, Admin, listed
from wire import OBEYED, OBEYED_NOT, PATIENCE, TIMEOUT, message

TOKEN = "a-token"
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith("UTFEED_")}


def serving(start, old_origin):
    """Of four feeds one is hostile by its name."""
    site = Site(old_origin)
    site["*"] = page(FRESH, body=KOI8, kind="text/xml; charset=iso-8859-1")
    admin = Admin(start(old_origin, "--cache", "on", "--admin-listen", "127.0.0.1:0"))
    for path, times in (("/most", 3), ("/few", 1), ("/evil%1b%5d0%07", 1), ("/a%c2%9b", 1)):
        for _ in range(times):
            assert admin.proxy.get(path).status == 200
    listed(admin, least=4)
    return admin


@pytest.fixture(scope="module")
def admin(start_once, old_origin):
    """Nobody asks it for feeds any more: what it has counted stays."""
    return serving(start_once, old_origin)


def run(*args, status=0, command="top", **variables):
    done = subprocess.run([BINARY, command, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False,
                          env={**PLAIN, **variables})
    assert done.returncode == status, done.stderr
    return done.stdout.decode("ascii"), done.stderr.decode()


class Screen:
    """utfeed top on a terminal of its own."""

    def __init__(self, *args, columns=100, rows=20, command="top"):
        self.master, slave = pty.openpty()
        self.resize(columns, rows)
        self.before, self.seen = termios.tcgetattr(slave), b""
        self.slave = slave
        self.process = subprocess.Popen([BINARY, command, *args], stdin=slave, stdout=slave, stderr=slave, env=PLAIN, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def key(self, key):
        os.write(self.master, key)

    def shows(self, pattern):
        """Waits until the terminal got that, and forgets what came up to it."""
        until = time.monotonic() + PATIENCE
        while not (match := re.search(pattern, self.seen, re.S)):
            assert select.select([self.master], [], [], max(0, until - time.monotonic()))[0], self.seen
            self.seen += os.read(self.master, 65536)
        self.seen = self.seen[match.end():]
        return match

    def frame(self):
        """The lines of the next whole frame."""
        found = self.shows(rb"\x1b\[H((?:(?!\x1b\[H).)*)\x1b\[J")[1]
        return re.sub(rb"\x1b\[(K|0m|1m|7m)", b"", found).split(b"\r\n")   # the terminal adds the return

    def ends(self):
        """As one that leaves the terminal as it was."""
        self.shows(re.escape(LEAVE))
        assert self.process.wait(PATIENCE) == 0
        assert termios.tcgetattr(self.slave) == self.before
        self.close()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def screen(admin):
    screens = []

    def take(*args, **size):
        screens.append(Screen("--admin", f"http://127.0.0.1:{admin.port}", *args, **size))
        return screens[-1]
    yield take
    for each in screens:
        if each.process.poll() is None:
            each.close()


def test_a_pipe_gets_one_frame(admin):
    text, _ = run("--admin", f"http://127.0.0.1:{admin.port}")
    lines = text.splitlines()
    assert lines[0].startswith("utfeed ") and " 4 feeds, 4 mislabelled" in lines[0]
    assert lines[1] == "! 4 feeds mislabelled, of 1 publisher. utfeed corrects them for readers; the publishers can do so for all."
    feeds = [line.split() for line in lines if "127.0.0.1" in line]
    assert len(feeds) == 4 and feeds[0][:7] == ["3", "2", "0", "200", "fine", "koi8-r", "iso-8859-1"] and feeds[0][7].endswith("/most")
    assert "\x1b" not in text and not re.search(r"[^ -~\n]", text)


def test_the_order(admin):
    text, _ = run("--admin", f"http://127.0.0.1:{admin.port}", "--sort", "url")
    assert [line.rsplit("/", 1)[1][:4] for line in text.splitlines() if "127.0.0.1" in line] == ["a%c2", "evil", "few", "most"]


def test_the_configuration_says_where(start, tmp_path):
    """As for healthcheck and reload: by variables or by a file, with the token."""
    Admin(start(None, "--admin-listen", f"unix:{tmp_path}/a", "--admin-listen", "127.0.0.1:0", "--admin-token", TOKEN))
    file = tmp_path / "utfeed.conf"
    file.write_text(f"admin-listen = unix:{tmp_path}/a\nadmin-token = {TOKEN}\n")
    assert run("-c", str(file))[0].startswith("utfeed ")
    assert run(UTFEED_ADMIN_LISTEN=f"unix:{tmp_path}/a", UTFEED_ADMIN_TOKEN=TOKEN)[0].startswith("utfeed ")
    assert run("--admin", f"unix:{tmp_path}/a", UTFEED_ADMIN_TOKEN=TOKEN)[0].startswith("utfeed ")
    assert "answers 401" in run("--admin", f"unix:{tmp_path}/a", status=1)[1]


# Wrong arguments, the status, and a part of the message
WRONG = {
    "nobody there": (["--admin", "http://127.0.0.1:1"], 1, "Connection refused"),
    "no address": ([], 2, "no admin listener is named"),
    "TLS": (["--admin", "https://127.0.0.1"], 2, "of http"),
    "a word": (["now"], 2, "unexpected argument: now"),
    "an order that is none": (["--sort", "a&b"], 2, "--sort"),
    "a socket that is none": (["--admin", "unix:a"], 2, "unix:/PATH"),
    "no such file": (["-c", "/nonexistent/a"], 2, "/nonexistent/a"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_it_refuses(case):
    args, status, said = WRONG[case]
    assert said in run(*args, status=status)[1]


def test_a_listener_for_clients_is_not_asked(start):
    assert "not an admin listener; write the address of admin-listen" in run("--admin", f"http://127.0.0.1:{start(None).port}", status=1)[1]


@pytest.mark.parametrize("status", ["200 OK", "500 Oops"])
def test_an_answer_that_is_not_obeyed(another, status):
    """What listens there may be anything: a pipe is read by somebody's terminal, too."""
    origin = another()
    origin.serve(lambda request: (message(status, body=OBEYED + b"\nversion\t" + OBEYED), "close"))
    out, said = run("--admin", origin.url, status=0 if status.startswith("200") else 1)
    assert re.fullmatch("[ -~\n]*", out)
    assert said == ("" if out else f"utfeed: the admin listener answers 500: {OBEYED_NOT}\n")


def test_an_order_that_nobody_knows(admin):
    assert "sort is requests, hits" in run("--admin", f"http://127.0.0.1:{admin.port}", "--sort", "colour", status=1)[1]


def test_ctrl_z_gives_the_terminal_back(screen):
    """Until it goes on, as a shell's fg makes it do."""
    top = screen()
    top.frame()
    top.process.send_signal(signal.SIGTSTP)
    top.shows(re.escape(LEAVE))
    os.waitid(os.P_PID, top.process.pid, os.WSTOPPED)
    assert termios.tcgetattr(top.slave) == top.before
    top.process.send_signal(signal.SIGCONT)
    top.shows(re.escape(ENTER))
    top.frame()
    top.key(b"q")
    top.ends()


def test_the_screen_is_drawn_each_second(start, old_origin):
    admin = serving(start, old_origin)
    top = Screen("--admin", f"http://127.0.0.1:{admin.port}")
    top.shows(re.escape(ENTER) + rb".*4 feeds.*now +-.*q: quit   s: sort \(requests\)")
    admin.proxy.get("/most")
    top.shows(rb"now +[0-9.]+ ")
    top.key(b"s")
    top.shows(rb"sort \(errors\)")
    top.key(b"q")
    top.ends()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_it_cleanly(screen, number):
    top = screen()
    top.shows(re.escape(ENTER) + rb".*\x1b\[J")
    if number == signal.SIGINT:
        top.key(b"\x03")
    else:
        top.process.send_signal(number)
    top.ends()


def test_the_window_changes(screen):
    """No line is longer and no frame taller than the window."""
    top = screen(columns=100, rows=20)
    assert len(top.frame()) > 6
    top.resize(40, 6)
    lines = next(lines for lines in iter(top.frame, None) if len(lines) <= 6)
    assert max(map(len, lines)) == 40 and lines[0].startswith(b"utfeed "), lines
    top.key(b"q")
    top.ends()


def test_a_listener_that_goes_away(start):
    admin = Admin(start(None, "--admin-listen", "127.0.0.1:0"))
    top = Screen("--admin", f"http://127.0.0.1:{admin.port}")
    top.shows(rb"Nothing needs attention")
    admin.proxy.sigterm()
    assert admin.proxy.wait() == 0
    top.shows(rb"the admin listener does not answer: Connection refused")
    top.key(b"q")
    top.ends()


def test_no_control_character_reaches_the_terminal(screen):
    top = screen(columns=200, rows=30)
    lines = top.frame()
    assert any(b"evil" in line for line in lines)
    for line in lines:
        assert re.fullmatch(rb"[ -~]*", line), line
    top.key(b"q")
    top.ends()
