"""What an operator relies on: an end in which nothing is lost, memory and clocks that fail, and peers who want the machine to themselves."""
import os
import re
import selectors
import signal
import socket
import time

import pytest

from certs import client_context
from feeds import SMALL, SMALL_OUT
from pages import FRESH, Site, page, was_hit
from peers import Client, Peer, TlsClient
from preload import build
from proxy import is_sanitized
from test_memory import Refusal
from wire import TIMEOUT, Cut, message

FEED = message("200 OK", "Content-Type: application/xml", FRESH, body=SMALL)
WORKERS = pytest.mark.parametrize("workers", ["1", "2"])
LEAVING, DRAINING = "ending: clients are served until drain-delay", "ending: nobody new is accepted"


# ---- row 21: SIGTERM ----

def stopped(proxy, act):
    """What happens while utfeed does not run, SIGTERM last."""
    proxy.process.send_signal(signal.SIGSTOP)
    act()
    proxy.sigterm()
    proxy.process.send_signal(signal.SIGCONT)


def answers(clients):
    """Whole ones, after which the connections end. Which of them could say that they would, SIGTERM alone knows."""
    for client in clients:
        got = client.response()
        assert got.status == 200 and got.body == SMALL_OUT and client.is_ended(), got.line


def last_answers(clients):
    for client in clients:
        got = client.response()
        assert got.status == 200 and got.body == SMALL_OUT and got.tokens("Connection") == ["close"], got.line
        assert client.is_ended()


@WORKERS
def test_trust_21_connections_that_wait_in_the_kernel_are_answered(start, origin, workers):
    """Those whose request is there, and those whose first bytes TCP_DEFER_ACCEPT waits for."""
    origin.serve(lambda request: FEED)
    proxy = start(origin, "--workers", workers)
    crowd = []

    def arrive():
        crowd.extend(proxy.client() for _ in range(300))
        for client in crowd[::2]:
            client.ask("/feed")
    stopped(proxy, arrive)
    for client in crowd[1::2]:
        client.ask("/feed")
    answers(crowd)
    assert proxy.wait() == 0


@pytest.mark.http1("a stream beyond max-connections does not wait: it is refused, and may be begun again")
def test_trust_21_so_are_they_beyond_max_connections(start, origin):
    """A listener ends when its queue is empty, not before."""
    origin.serve(lambda request: FEED)
    proxy = start(origin, "--max-connections", "4")
    crowd = []
    stopped(proxy, lambda: crowd.extend(proxy.client().ask("/feed") for _ in range(100)))
    answers(crowd)
    assert proxy.wait() == 0


@WORKERS
@pytest.mark.parametrize("over", ["tcp", "tls"])
def test_trust_21_requests_in_the_socket_are_answered(listening, origin, authority, workers, over):
    """Of connections that were idle: read before they are closed, and not all told yet that this was the last."""
    origin.serve(lambda request: FEED)
    proxy = listening(origin, "--workers", workers, "--cache", "on")
    context = client_context(authority.root)
    crowd = [TlsClient(proxy.tls_port, context) if over == "tls" else proxy.client() for _ in range(48)]
    assert all("Connection" not in client.get("/feed") for client in crowd)
    stopped(proxy, lambda: [client.ask("/feed") for client in crowd])
    answers(crowd)
    assert proxy.wait() == 0


def test_trust_21_a_response_under_way_is_told_with_the_next_one(start, origin):
    """Its own head had gone out without Connection: close; what is asked for meanwhile must not meet a closed connection."""
    proxy = start(origin)
    client = proxy.client().ask("/feed")
    upstream = origin.receive()
    plain = page(body=b"x" * 100_000)
    upstream.send(plain[:-1000])
    client.arrives()
    proxy.sigterm()
    proxy.says(DRAINING)
    client.ask("/next")
    upstream.send(plain[-1000:])
    assert len(client.response().body) == 100_000
    origin.receive().answer(FEED)
    last_answers([client])
    assert proxy.wait() == 0


@WORKERS
def test_trust_21_drain_delay(start, origin, workers):
    """Who comes meanwhile is served, and told to go: new and idle connections alike."""
    origin.serve(lambda request: FEED)
    proxy = start(origin, "--drain-delay", "1h", "--workers", workers)
    idle = proxy.client()
    assert idle.get("/feed").status == 200
    proxy.sigterm()
    proxy.says(LEAVING)
    last_answers([idle.ask("/feed"), *(proxy.client().ask("/feed") for _ in range(8))])
    proxy.sigterm()
    assert proxy.wait() == 0 and DRAINING not in proxy.err.text()


def test_trust_21_drain_delay_ends_by_itself(start, origin):
    proxy = start(origin, "--drain-delay", "10ms")
    proxy.sigterm()
    assert proxy.wait() == 0 and LEAVING in proxy.err.text() and DRAINING in proxy.err.text()


def test_trust_21_a_worker_without_clients_ends_what_others_read(start, origin):
    """The fetch is the worker's whose client asked first, and has left; in one of two turns the second one's worker is the other."""
    reply = page(FRESH, kind="image/png", body=b"x" * 1000)
    for _ in range(6):
        proxy = start(origin, "--workers", "2", "--cache", "on", "--drain-timeout", "1h")
        first, second = proxy.client().ask("/feed"), proxy.client()
        upstream = origin.receive()
        upstream.send(reply[:-10])
        first.arrives()
        second.ask("/feed").arrives()
        first.reset()
        proxy.sigterm()
        proxy.says(DRAINING)
        upstream.answer(reply[-10:])
        assert second.response().body == b"x" * 1000
        assert proxy.wait() == 0


class Load:
    """Many connections of one thread, half of them for one request each, that ask for /feed until nobody listens any more. utfeed closes a
    connection that has been idle for half a second when it ends. So a request is not lost that this thread, if the machine gave it no
    turn, writes later than LATE behind what it did last on that connection."""

    REQUEST = b"GET /feed HTTP/1.1\r\nHost: t\r\n%s\r\n"
    LATE = 0.25

    def __init__(self, port, count):
        self.port, self.ready, self.answers, self.lost = port, selectors.DefaultSelector(), 0, []
        for number in range(count):
            self.connect(number)

    def wait(self, how, sock, event, number, late=False):
        how(sock, event, {"number": number, "came": b"", "since": time.monotonic(), "late": late})

    def connect(self, number):
        sock = socket.socket()
        sock.setblocking(False)
        sock.connect_ex(("127.0.0.1", self.port))
        self.wait(self.ready.register, sock, selectors.EVENT_WRITE, number)

    def end(self, sock, number, again):
        self.ready.unregister(sock)
        sock.close()
        if again:
            self.connect(number)

    def ask(self, sock, state):
        state["late"] = time.monotonic() > state["since"] + self.LATE
        sock.send(self.REQUEST % (b"Connection: close\r\n" if state["number"] % 2 else b""))
        self.wait(self.ready.modify, sock, selectors.EVENT_READ, state["number"], state["late"])

    def take(self, sock, state):
        came = sock.recv(65536)
        if not came:
            raise ConnectionError("ended")
        state["came"] += came
        head, _, body = state["came"].partition(b"\r\n\r\n")
        if len(body) < len(SMALL_OUT):
            return
        self.answers += 1
        if b"\r\nConnection: close" in head:
            self.end(sock, state["number"], True)
        else:
            self.ask(sock, state)

    def run(self, at, act):
        """Until all connections were refused; act() once there were so many answers."""
        while self.ready.get_map():
            if at and self.answers >= at:
                act()
                at = 0
            events = self.ready.select(TIMEOUT)
            assert events, "nothing happens"
            for key, mask in events:
                sock, number = key.fileobj, key.data["number"]
                if mask & selectors.EVENT_WRITE and sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                    self.end(sock, number, False)
                    continue
                try:
                    (self.ask if mask & selectors.EVENT_WRITE else self.take)(sock, key.data)
                except OSError as error:
                    if not key.data["late"]:
                        self.lost.append(("close" if number % 2 else "keep-alive", repr(error)))
                    self.end(sock, number, True)


@WORKERS
def test_trust_21_nothing_is_lost_under_load(start, origin, workers):
    """Keep-alive and one request a connection: every request written to a connection that was made is answered."""
    Site(origin)["/feed"] = page("Cache-Control: max-age=600", body=SMALL_OUT)
    proxy = start(origin, "--workers", workers, "--access-log", "off", "--cache", "on")
    load = Load(proxy.port, 64)
    load.run(2000, proxy.sigterm)
    assert proxy.wait() == 0 and load.answers >= 2000 and not load.lost, load.lost


# ---- row 19: one peer, the machine to itself ----

class Elsewhere(Client):
    """From another address of this machine."""

    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port), TIMEOUT, ("127.0.0.2", 0))
        Peer.__init__(self, self.sock)
        self.method, self.version = "GET", "HTTP/1.1"


def until(condition):
    """Polls for what no event tells."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end


@pytest.mark.http1("a connection and its stream take two places")
def test_trust_19_one_address_has_so_many_connections(start, origin):
    """The next one hears why; once one is gone there is room again. Another address has its own."""
    origin.serve(lambda request: FEED)
    proxy = start(origin, "--client-connections", "3")
    held = [proxy.client() for _ in range(3)]
    assert all(client.get("/feed").status == 200 for client in held)
    late = proxy.client().ask("/feed")
    assert late.response().status == 429 and late.is_ended()
    other = Elsewhere(proxy.port)
    assert other.get("/feed").status == 200
    other.close()
    held[1].close()
    until(lambda: proxy.get("/feed").status == 200)
    counted = proxy.counters()
    assert counted["clients_crowded"] >= 1 and counted["clients_given_up"] == 0


def test_trust_19_idle_connections_are_given_up_for_new_ones(start, origin):
    """The one idle for longest first; one under way never."""
    proxy = start(origin, "--max-connections", "4", "--keepalive-timeout", "1h")
    busy, crowd = proxy.client().ask("/busy"), [proxy.client() for _ in range(3)]
    waiting = origin.receive()
    for client in crowd:
        client.ask("/feed")
        origin.receive().answer(FEED)
        assert client.response().status == 200
    for number in range(3):
        late = proxy.client().ask("/feed")
        origin.receive().answer(FEED)
        assert late.response().status == 200 and crowd[number].is_ended()
    waiting.answer(FEED)
    assert busy.response().body == SMALL_OUT and proxy.counters()["clients_given_up"] == 3


def test_trust_19_who_waits_is_taken_as_soon_as_one_is_idle(start, origin):
    """With every connection busy nobody is accepted; the first one that is idle makes room."""
    proxy = start(origin, "--max-connections", "2", "--keepalive-timeout", "1h")
    busy = [proxy.client().ask(f"/{number}") for number in range(2)]
    upstream = {each.request.target: each for each in (origin.receive() for _ in busy)}
    late = proxy.client().ask("/late")
    upstream["/0"].answer(FEED)
    assert busy[0].response().status == 200 and busy[0].is_ended()
    origin.receive().answer(FEED)
    assert late.response().status == 200
    upstream["/1"].answer(FEED)
    assert busy[1].response().status == 200


def test_trust_19_connection_names_no_more_fields_than_there_may_be(start, origin):
    """Each is looked for among them all: 30,000 names would be a turn of the loop for one request, and one response."""
    proxy = start(origin, "--max-header-fields", "100")
    many, few = "Connection: " + ",".join(["a"] * 101), "Connection: " + ",".join(["a"] * 99 + ["x-hop"])
    assert proxy.get("/feed", many).status == 431
    got, request = proxy.through(origin, FEED, "/feed", few, "X-Hop: 1", close=True)
    assert got.status == 200 and "X-Hop" not in request
    assert proxy.through(origin, message("200 OK", many, body=b"x"), close=True)[0].status == 502


def collide(count):
    """Different texts of one length whose sum over h * 33 + c is one and the same."""
    pairs = ("bc", "cB")
    return ["".join(pairs[number >> bit & 1] for bit in range(count.bit_length())) for number in range(count)]


def cpu(proxy):
    """Seconds of processor that it has had."""
    with open(f"/proc/{proxy.process.pid}/stat", encoding="ascii") as stat:
        return sum(map(int, stat.read().rsplit(") ", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def test_trust_19_urls_that_collide_in_a_known_hash_share_no_chain(start, origin):
    """CPU of as many URLs that do and do not, all waited for: with the known hash the former cost ten times as much and more."""
    origin.serve(lambda request: message("503 Service Unavailable", "Retry-After: 3600", "Content-Type: text/plain", body=b"x"))
    spent, common = {}, "/" + "x" * 7000
    for kind, ends in (("apart", [f"{number:022d}" for number in range(1500)]), ("colliding", collide(1500))):
        proxy = start(origin, "--cache", "off", "--access-log", "off")
        client = proxy.client()
        assert len(set(ends)) == 1500 and all(client.get(common + end).status == 503 for end in ends)
        before = cpu(proxy)
        assert all(client.get(common + end).status == 503 for end in ends)
        spent[kind] = cpu(proxy) - before
    assert spent["colliding"] < 3 * spent["apart"] + .1, spent


# ---- row 24: memory ----

TITLE = "Новости недели: погода, рынки и происшествия" * 2
GUESSED = message("200 OK", "Content-Type: application/xml", FRESH, "Connection: close",
                  body=f"<rss><channel><title>{TITLE}</title></channel></rss>".encode("windows-1251"))


def test_trust_24_what_memory_was_missing_for_is_no_verdict(start, origin, tmp_path, tmp_path_factory):
    """A feed without a label, whose charset only the detector can tell: each request for memory is refused once. Without memory for the
    question its answer is an error, and nothing of it is stored; what is answered is right, and so is what is stored then."""
    origin.serve(lambda request: (GUESSED, "close"))
    refusal = Refusal(build("refuse", tmp_path_factory.mktemp("refuse")), tmp_path / "refuse")
    proxy = start(origin, "--cache", "on", "--log-level", "error", env=refusal.env)
    assert TITLE.encode() in proxy.get("/first").body
    total = refusal.count(lambda: proxy.get("/second"))
    if not total:
        pytest.skip("utfeed's own allocator is asked first: a sanitizer's, linked into it")
    refused = 0
    for turn in range(1, total + 1):
        refusal.after(turn, 1)
        try:
            got = proxy.get(f"/{turn}")
            assert got.status == 200 or got.status >= 500, got.line
            assert got.status != 200 or TITLE.encode() in got.body, f"request {turn} of {total}: {got.rule}"
        except (Cut, OSError):
            pass
        refused += refusal.over()
        assert TITLE.encode() in proxy.get(f"/{turn}").body
    assert refused >= total / 2


# ---- row 25: a clock that is set back ----

YEARS = 50 * 365 * 86400
DAY = message("200 OK", "Content-Type: text/plain", "Cache-Control: max-age=86400", 'ETag: "1"', body=b"x" * 10)


def test_trust_25_what_a_store_has_from_the_future_is_stale(timed, clock, origin, tmp_path):
    """Written by a clock that was wrong, or before it was set back: nobody knows its age, and it is validated."""
    site = Site(origin)
    site["/f"] = lambda request: message("304 Not Modified", 'ETag: "1"', "Cache-Control: max-age=86400") if "If-None-Match" in request else DAY
    options = ["--cache", "on", "--cache-lmdb", str(tmp_path / "store"), "--cache-lmdb-bytes", "16m"]
    (tmp_path / "store").mkdir()
    proxy = timed(origin, *options)
    assert proxy.get("/f").status == 200 and was_hit(proxy.get("/f"))
    proxy.stop()
    clock.at(-YEARS)
    proxy = timed(origin, *options)
    got = proxy.get("/f", "Cache-Control: max-stale")
    assert got.status == 200 and not was_hit(got) and "If-None-Match" in site.last("/f")
    assert was_hit(proxy.get("/f")) and site.count("/f") == 2


def test_trust_25_ages_in_memory_go_by_the_clock_that_nobody_sets(ticking, clock, origin):
    """Set back by years, what was fresh for two seconds is fresh for no longer."""
    site = Site(origin)
    site["/f"] = page("Cache-Control: max-age=2")
    proxy = ticking(origin, "--cache", "on", "--refresh-hot", "0")
    client = proxy.client()
    assert client.get("/f").status == 200
    clock.at(-YEARS)
    until(lambda: not was_hit(client.get("/f")))


# ---- row 26: a container's memory ----

@pytest.fixture
def container():
    """container(bytes): a command that runs another in a control group of so much memory; of either version, nested by one."""
    made = []

    def make(limit):
        for base, file in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            outer = os.path.join(base, f"utfeed-test-{os.getpid()}-{len(made)}")
            try:
                os.mkdir(outer)
                made.append(outer)
                with open(os.path.join(outer, file), "w", encoding="ascii") as out:
                    out.write(str(limit))
                if file == "memory.max":
                    return "sh", "-c", f'echo $$ > {outer}/cgroup.procs && exec "$@"', "sh"
                inner = os.path.join(outer, "inner")
                os.mkdir(inner)
                made.append(inner)
                return "sh", "-c", f'echo $$ > {inner}/cgroup.procs && exec "$@"', "sh"
            except OSError:
                continue
        return pytest.skip("no control group of memory may be made here")
    yield make
    for folder in reversed(made):
        until(lambda each=folder: not os.path.isdir(each) or removed(each))


def removed(folder):
    try:
        os.rmdir(folder)
    except OSError:
        return False
    return True


def test_trust_26_a_container_is_not_filled_beyond_its_limit(container, start, origin):
    """Twice the container's memory asked for: a quarter of it is kept, and nobody is killed."""
    if is_sanitized():
        pytest.skip("a sanitizer takes more than any container of this size has")
    body = os.urandom(1 << 20)
    Site(origin)["*"] = page(FRESH, kind="image/png", body=body)
    proxy = start(origin, "--cache", "on", "--max-connections", "200", "--decoding-bytes", "4m", under=container(60 << 20))
    assert "cache-bytes auto: 15360 KiB" in proxy.err.text() and "warning: memory" not in proxy.err.text()
    client = proxy.client()
    for number in range(96):
        assert client.get(f"/{number}").body == body
    assert was_hit(client.get("/95"))


def test_trust_26_what_does_not_fit_is_said_at_start(container, start, origin):
    proxy = start(origin, "--cache-bytes", "64m", under=container(64 << 20))
    assert re.search(r"memory: cache-bytes \(64 MiB\), \d+ clients .* may come to \d+ MiB, but the control group \(container\) has 64 MiB", proxy.err.text())
