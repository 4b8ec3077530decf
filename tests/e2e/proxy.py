"""utfeed itself: started on a free port, watched, stopped, and held to leaving cleanly."""
import os
import re
import signal
import subprocess
import threading
import time

from peers import Client
from wire import PATIENCE, TIMEOUT

HTTP2 = os.environ.get("UTFEED_TEST_HTTP2") in ("1", "both")           # what clients ask goes over HTTP/2 (http2_client.py)
HTTP2_ORIGINS = os.environ.get("UTFEED_TEST_HTTP2") in ("origin", "both")       # what origins are asked does (http2_upstream.py)
RECEIVED_BY, LOGGED_AS = ("2", "2.0") if HTTP2 else ("1.1", "1.1")     # a client's request, as Via and the access log name it
FETCHED_BY = "2.0" if HTTP2_ORIGINS else "1.1"           # an origin's request, as the access log names it
STREAMED = "frames" if HTTP2 else "chunked"             # how a body is framed whose length is not known
if HTTP2:
    from http2_client import Http2Client as Client

BINARY = os.path.abspath(os.environ.get("UTFEED", "./utfeed"))
EXPECTING = os.path.abspath(os.environ.get("UTFEED_NORMALISE") or BINARY)    # another build, whose command starts sooner
READY = re.compile(r"utfeed \S+ ready on 127\.0\.0\.1:(\d+)")
RELOADED, REFUSED = "the configuration and its certificates were read again", "the former configuration stays in force"
SANITIZER = re.compile(r"(ERROR|WARNING): \w*Sanitizer|runtime error:|LeakSanitizer|Assertion .* failed")


def is_sanitized():
    return has_symbol(b"__[at]san_init")


def has_symbol(name):
    with open(BINARY, "rb") as binary:
        return re.search(name, binary.read()) is not None


def normalise(body, content_type, *args, binary=BINARY):
    """(head and body as `utfeed normalise -i` writes them, exit status)."""
    args = [binary, "normalise", *args]
    if content_type is not False:
        args += ["-t", content_type or ""]
    done = subprocess.run(args, input=body, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert not SANITIZER.search(done.stderr.decode("latin-1")), done.stderr.decode("latin-1")
    return done.stdout, done.returncode


class Lines:
    """What a process says on one stream, line by line; raw bytes, so that a test can look for stray ones."""

    def __init__(self, pipe):
        self.lines, self.over, self.news = [], False, threading.Condition()
        threading.Thread(target=self.read, args=(pipe,), daemon=True).start()

    def read(self, pipe):
        for line in pipe:
            with self.news:
                self.lines.append(line)
                self.news.notify_all()
        with self.news:
            self.over = True
            self.news.notify_all()

    def text(self):
        with self.news:
            return b"".join(self.lines).decode("latin-1")


# The scripted origins are on this machine, on any port: the guard (test_guard.py) closes both to URLs that clients choose.
OPEN = ("--allow", "127.0.0.0/8:*", "--allow", "[::1]:*")


class Utfeed:
    """A running `utfeed serve`; guarded: without the harness's allow entries; under: a command that runs it, with descriptors fds; listen: ()
    leaves its address to args."""

    def __init__(self, *args, env=None, guarded=False, under=(), fds=(), listen=("--listen", "127.0.0.1:0")):
        args = ("--h2c", "on") * HTTP2 + (args if guarded else (*OPEN, *args))
        around = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy") and not name.startswith("UTFEED")}
        self.process = subprocess.Popen([*under, BINARY, "serve", *listen, *args], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**around, **(env or {})}, pass_fds=fds)
        self.out, self.err = Lines(self.process.stdout), Lines(self.process.stderr)
        self.clients, self.stopped = [], False
        try:
            self.port = self.ready()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def ready(self):
        until = time.monotonic() + TIMEOUT
        while time.monotonic() < until:
            match = READY.search(self.err.text()) or READY.search(self.out.text())
            if match:
                return int(match[1])
            if self.process.poll() is not None and self.err.over and self.out.over:
                break
            with self.err.news:
                self.err.news.wait(0.01)
        raise AssertionError(f"not ready: exit {self.process.poll()}\n{self.out.text()}{self.err.text()}")

    @property
    def tls_port(self):
        """Of tls-listen; 0: none."""
        match = re.search(r"ready on .* 127\.0\.0\.1:(\d+) \(TLS\)", self.err.text() + self.out.text())
        return int(match[1]) if match else 0

    def client(self, receive_buffer=0):
        client = Client(self.port, receive_buffer)
        self.clients.append(client)
        return client

    def get(self, target="/", *fields, **kind):
        client = self.client()
        try:
            return client.get(target, *fields, **kind)
        finally:
            client.close()

    def through(self, origin, reply, target="/feed", *fields, close=False, **kind):
        """One whole exchange: a client asks, the origin says reply, the client reads. Gives (response, request upstream)."""
        client = self.client().ask(target, *fields, **kind)
        upstream = origin.receive()
        upstream.answer(reply, close)
        return client.response(), upstream.request

    def access_lines(self, count):
        """The first count access lines, once they are there."""
        def accesses():
            return [line for line in self.out.lines if not READY.search(line.decode("latin-1"))]
        with self.out.news:
            there = self.out.news.wait_for(lambda: self.out.over or len(accesses()) >= count, TIMEOUT)
            assert there and len(accesses()) >= count, f"{len(accesses())} access lines: {self.out.lines}"
            return accesses()

    def counters(self):
        """What SIGUSR1 prints, complete."""
        seen = len(self.err.text())
        self.process.send_signal(signal.SIGUSR1)
        with self.err.news:
            assert self.err.news.wait_for(lambda: "\naccess_lost " in self.err.text()[seen:], TIMEOUT)
        return {name: int(value) for name, value in re.findall(r"^([\w.-]+) (\d+)$", self.err.text()[seen:], re.M)}

    def counted(self, name, least):
        """That counter, once it is so large; what it came to otherwise. It is told only when asked, so it is asked again now and then."""
        until = time.monotonic() + TIMEOUT
        while (count := self.counters()[name]) < least and time.monotonic() < until:
            time.sleep(0.02)
        return count

    def status(self, name):
        """A line of /proc/PID/status in KiB, VmRSS say."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(rf"{name}:\s+(\d+) kB", status.read())[1])

    def assert_growth(self, before, limit):
        """RSS never went limit KiB above before; says nothing of a sanitizer's build, whose freed memory waits in quarantine."""
        growth = self.status("VmHWM") - before
        assert growth < limit or is_sanitized(), f"RSS grew by {growth} KiB"

    def reload(self, word=RELOADED):
        """SIGHUP, until it says word once more."""
        said = self.err.text().count(word)
        self.process.send_signal(signal.SIGHUP)
        self.says(word, said + 1)

    def says(self, word, count=1):
        """Waits until word is in the log so many times."""
        with self.err.news:
            assert self.err.news.wait_for(lambda: self.err.text().count(word) >= count, TIMEOUT), self.err.text()

    def sigterm(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self):
        """Its exit status; what it wrote is complete then."""
        try:
            code = self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"does not end on SIGTERM\n{self.err.text()}") from None
        for lines in (self.out, self.err):
            with lines.news:
                lines.news.wait_for(lambda held=lines: held.over, TIMEOUT)
        return code

    def stop(self):
        if self.stopped:
            return
        self.stopped = True
        for client in self.clients:
            client.close()
        if self.process.poll() is None:
            self.sigterm()
        code = self.wait()
        assert not SANITIZER.search(self.err.text()), self.err.text()
        assert code == 0, f"exit status {code}\n{self.err.text()}"
