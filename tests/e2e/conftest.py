"""Fixtures: origin() a scripted origin, start(origin, options...) a utfeed in front of it, proxy a plain one."""
import contextlib
import ctypes
import os
import pathlib
import random
import re
import shlex
import shutil
import socket
import tempfile
import time

import pytest

import schema
from certs import Authority, client_context, server_context
from clock import Clock
from fleets import Fleet
from parents import Parent
from peers import Canary, Client, Origin, TlsOrigin
from preload import build
from proxy import BINARY, HTTP2, HTTP2_ORIGINS, SANITIZER, Utfeed
from stores import Redis

if HTTP2_ORIGINS:
    from http2_upstream import LIVING, UNFIT, OriginOverHttp2

SHARED = os.path.abspath(os.environ.get("UTFEED_SHARED") or
                         os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared"))

EXTRA = os.environ.get("UTFEED_SERVE_ARGS", "").split()     # the whole suite under other options: --workers 4

SEED = os.environ.get("UTFEED_TEST_SEED")       # of the order of the files, and of the tests in each; without it as they are written
SAID_AGAIN = ("UTFEED_TEST_SEED", "UTFEED_TEST_HTTP2", "UTFEED_SERVE_ARGS", "UTFEED_NORMALISE", "UTFEED_SLOW", "UTFEED_NODE_MODULES",
              "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS")


def keep_freed_memory():
    """Bodies of megabytes come and go in most tests. By default each is mapped anew, and where page faults are dear (a virtual machine)
    these are a third of what the tests themselves cost: let malloc keep what was freed, in this process alone."""
    M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3         # malloc.h
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(M_MMAP_THRESHOLD, 1 << 30)
        libc.mallopt(M_TRIM_THRESHOLD, 1 << 30)


def pytest_configure(config):
    keep_freed_memory()
    config.addinivalue_line("markers", "slow: minutes long; runs with UTFEED_SLOW=1")
    config.addinivalue_line("markers", "http1_origin(why): about HTTP/1 to origins; does not run with UTFEED_TEST_HTTP2=origin")
    config.addinivalue_line("markers", "http1(why): about HTTP/1 itself; does not run with UTFEED_TEST_HTTP2=1")
    if not os.access(BINARY, os.X_OK):
        raise pytest.UsageError(f"no utfeed at {BINARY}: set UTFEED")


# Files of which no test runs with UTFEED_TEST_HTTP2=1
HTTP1_FILES = {**dict.fromkeys(("test_admin_paging.py", "test_admin_places.py", "test_top.py"), "the admin listener's own clients"),
               **dict.fromkeys(("test_intercept.py", "test_intercept_readers.py"), "clients inside of tunnels that utfeed opens"),
               **dict.fromkeys(("test_corpus.py", "test_curl.py", "test_stages.py"), "clients of its own"),
               "test_unix_sockets.py": "clients of Unix sockets",
               "test_large_hits.py": "bodies that go by reference, which HTTP/2 has in frames of its own",
               "test_pipelining.py": "requests behind each other on one connection",
               "test_segments.py": "the segments that a response takes",
               "test_trust_desync.py": "where a message ends"}


def leave_out_http1(config, items):
    """What asks nothing, or asks by HTTP/2 anyway, goes; what is about HTTP/1 itself is skipped, with the reason."""
    def asks(item):
        return not item.path.name.startswith("test_http2") and {"start", "start_once", "proxy", "old_proxy"} & set(item.fixturenames)
    config.hook.pytest_deselected(items=[item for item in items if not asks(item)])
    items[:] = [item for item in items if asks(item)]
    for item in items:
        mark = item.get_closest_marker("http1")
        why = mark.args[0] if mark else HTTP1_FILES.get(item.path.name)
        if why:
            item.add_marker(pytest.mark.skip(reason="HTTP/1 itself: " + why))


# Files of which no test runs with UTFEED_TEST_HTTP2=origin
HTTP1_ORIGIN_FILES = {"test_transport.py": "how a response is framed",
                      "test_trust_http.py": "messages that can be read in two ways",
                      "test_pool.py": "connections between requests",
                      "test_wire.py": "the harness's own HTTP/1",
                      **dict.fromkeys(("test_parent.py", "test_socks.py"), "parent proxies, and origins that are asked without TLS")}


def leave_out_http1_origins(config, items):
    """As leave_out_http1()."""
    def is_asked(item):
        return not item.path.name.startswith("test_http2") and {"origin", "another", "proxy", "old_proxy"} & set(item.fixturenames)
    config.hook.pytest_deselected(items=[item for item in items if not is_asked(item)])
    items[:] = [item for item in items if is_asked(item)]
    for item in items:
        mark = item.get_closest_marker("http1_origin")
        why = mark.args[0] if mark else HTTP1_ORIGIN_FILES.get(item.path.name)
        if why:
            item.add_marker(pytest.mark.skip(reason="HTTP/1 itself: " + why))


def pytest_collection_modifyitems(config, items):
    if os.environ.get("UTFEED_SLOW") != "1":
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="set UTFEED_SLOW=1"))
    if HTTP2:
        leave_out_http1(config, items)
    if HTTP2_ORIGINS:
        leave_out_http1_origins(config, items)
    if SEED:
        chance = random.Random(SEED)
        places = {path: chance.random() for path in sorted({item.path for item in items})}
        chance.shuffle(items)
        items.sort(key=lambda item: places[item.path])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that failed since it cannot be run over HTTP/2, as a thread of it found out, is skipped for that."""
    done = yield
    report = done.get_result()
    if HTTP2_ORIGINS and UNFIT and report.failed:
        report.outcome, report.longrepr = "skipped", (str(item.path), item.location[1], UNFIT[-1])
    if HTTP2_ORIGINS and UNFIT and call.when == "call":
        for each in LIVING:
            each.renew()
    if HTTP2_ORIGINS and call.when == "teardown":
        UNFIT.clear()


def again(report):
    """The command that runs what failed once more: the settings of this run, and the seeds that the failure names."""
    seeds = re.findall(r"\b((?:ORACLE|UTFEED)_SEED)=(\d+)", report.longreprtext)[-1:]
    names = [f"{name}={shlex.quote(value)}" for name, value in [*((name, os.environ.get(name)) for name in SAID_AGAIN), *seeds] if value]
    chosen = shlex.quote("PYTEST_ARGUMENTS=" + shlex.quote(report.nodeid).replace("$", "$$"))
    return " ".join([*names, "make -C", shlex.quote(os.path.dirname(BINARY)), "check-e2e", chosen])


def pytest_terminal_summary(terminalreporter):
    failed = [report for kind in ("failed", "error") for report in terminalreporter.stats.get(kind, ())]
    for line in sorted({again(report) for report in failed}):
        terminalreporter.write_line("again: " + line)


CACHED = {"test_turns.py", "test_broken.py", "test_types.py", "test_cache.py", "test_cache_time.py", "test_counters.py", "test_fleet.py", "test_fleet_formats.py", "test_fleet_lease.py", "test_gzip_form.py", "test_intercept.py", "test_kept.py", "test_large_hits.py", "test_memory.py", "test_pauses.py",
          "test_pipelining.py", "test_poisoning.py", "test_purge.py", "test_purge_shared.py", "test_ranges.py", "test_segments.py", "test_steps.py", "test_stores.py",
          "test_moved.py", "test_trust_http.py",
          "test_trust_lmdb.py",
          "test_trust_cache.py", "test_trust_redis.py", "test_fleet_cluster.py", "test_fleet_rights.py", "test_fleet_sentinel.py", "test_fleet_polite.py"}


# Files about what becomes of an origin that errs: in all others each test asks it anew
PAUSED = {"test_turns.py", "test_fleet.py", "test_fleet_polite.py", "test_polite.py", "test_pauses.py", "test_kept.py", "test_counters.py", "test_trust_cache.py"}

# Files whose tests of the fixture proxy look at exchanges alone: one utfeed and one origin serve these tests, one after another
SHARED_BY_TESTS = {"test_basic.py", "test_broken.py", "test_cache.py", "test_charset.py", "test_compression.py", "test_gzip.py",
                   "test_headers.py", "test_large_hits.py", "test_poisoning.py", "test_purge.py", "test_ranges.py", "test_refused.py",
                   "test_relay.py", "test_repairs.py", "test_types.py", "test_security.py", "test_transport.py", "test_trust_http.py",
                   "test_trust_text.py"}

# Files in which no test reads the access log: every utfeed writes it as JSON there, and at its end each line is held against the schema
LOGGED_AS_JSON = {"test_broken.py", "test_cache.py", "test_compression.py", "test_headers.py", "test_parent.py", "test_poisoning.py",
                  "test_purge.py", "test_ranges.py", "test_refused.py", "test_tls.py", "test_transport.py", "test_trust_desync.py"}


@pytest.fixture
def tmp_path(tmp_path_factory):
    """A folder of the test's own. Pytest's reads the names of all former ones to find a number for it."""
    return pathlib.Path(tempfile.mkdtemp(prefix="", dir=tmp_path_factory.getbasetemp()))


@pytest.fixture
def another(plain_origin):
    """Makes further origins: another(), another("::1")."""
    made = []

    def make(*host):
        made.append(plain_origin(*host))
        return made[-1]
    yield make
    for each in made:
        each.close()


def shares(request):
    """A test that starts a utfeed of its own shares no origin either: at its end that utfeed may ask once more."""
    return request.path.name in SHARED_BY_TESTS and "proxy" in request.fixturenames


@pytest.fixture
def parent():
    """A parent proxy of the test's own."""
    with contextlib.closing(Parent()) as made:
        yield made


@pytest.fixture
def origin(request):
    """An origin of the test's own; where tests share one, it is as new."""
    if not shares(request):
        yield request.getfixturevalue("another")()
        return
    origin = request.getfixturevalue("old_origin")
    yield origin
    origin.renew()
    for _ in range(2):      # then utfeed has seen that the connections are over, and that what it asks again is refused
        with contextlib.closing(Client(request.getfixturevalue("old_proxy").port)) as client:
            assert client.get("/", method="BREW/").status == 400
    origin.listen()


@contextlib.contextmanager
def starting(test):
    """The function start(); at the end all that it started must stop as they should."""
    running = []
    # What is about one transfer must not be answered from the one before; the cache has tests of its own. Many ask again at once
    caches = test.path.name in CACHED
    cache = ["--reload-floor", "0", *([] if caches else ["--cache", "off"])]
    pause = [] if test.path.name in PAUSED else ["--pause", "off"]
    as_json = test.path.name in LOGGED_AS_JSON
    http2 = ["--http2", "on", "--tls-ca-file", test.getfixturevalue("authority").root.cert] if HTTP2_ORIGINS else []
    log = ["--log-format", "json"] if as_json else []

    def run(to=None, *options, **how):
        route = ["--route", f"/={to.url}"] if to else []
        # On a busy machine an origin or a store that is not slow may seem so. Tests of slow ones say how slow
        patience = ["--slow-after", "0"] if caches or "--cache" in options else []
        patience += ["--cache-redis-timeout", "5s"] if "--cache-redis" in options else []
        running.append(Utfeed(*cache, *pause, *patience, *http2, *log, *route, *EXTRA, *options, **how))
        return running[-1]
    yield run
    errors = []
    for each in running:
        try:
            each.stop()
            for line in each.out.lines if as_json else ():
                schema.access_line(line)
        except AssertionError as error:
            errors.append(error)
    if errors:
        raise errors[0]


@pytest.fixture
def start(request):
    """start(origin, option...) gives a running utfeed with / routed to origin (None: no route)."""
    with starting(request) as run:
        yield run


@pytest.fixture(scope="module")
def start_once(request):
    """As start, for all tests of a file: of requests that are refused, of which nothing may be left for the next one anyway."""
    with starting(request) as run:
        yield run


@pytest.fixture
def proxy(request, origin):
    """A utfeed in front of origin, with no options; where tests share one, what it says of the tests before stands in its log."""
    if not shares(request):
        yield request.getfixturevalue("start")(origin)
        return
    proxy = request.getfixturevalue("old_proxy")
    yield proxy
    for client in proxy.clients:
        client.close()
    proxy.clients.clear()
    if request.path.name in CACHED:
        assert proxy.get("/", "X-Purge: all", method="PURGE").status == 200
    assert proxy.process.poll() is None and not SANITIZER.search(proxy.err.text()), proxy.err.text()


@pytest.fixture(scope="session")
def plain_origin(request):
    """What makes an origin that plain HTTP is asked of."""
    if not HTTP2_ORIGINS:
        return Origin
    certificate = request.getfixturevalue("good")
    return lambda *host: OriginOverHttp2(server_context(certificate), *host)


@pytest.fixture(scope="module")
def old_origin(plain_origin):
    origin = plain_origin()
    yield origin
    origin.close()


@pytest.fixture(scope="module")
def old_proxy(start_once, old_origin):
    return start_once(old_origin)


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("no openssl command")
    return Authority(tmp_path_factory.mktemp("certs"))


@pytest.fixture(scope="session")
def good(authority):
    """A certificate for localhost and 127.0.0.1."""
    return authority.issue("localhost", issuer=authority.intermediate())


@pytest.fixture
def tls_origin():
    """Makes origins that speak TLS: tls_origin(server_context(good))."""
    made = []

    def make(context, host="localhost"):
        made.append(TlsOrigin(context, host))
        return made[-1]
    yield make
    for each in made:
        each.close()


@pytest.fixture
def scripted(good):
    """Makes origins that follow a script by HTTP/2 and HTTP/1.1 (http2_origin.py): scripted(protocol...), in the order in which they choose."""
    http2_origin = pytest.importorskip("http2_origin", reason="no python3-hpack here")
    made = []

    def make(*protocols, cert=good, **kind):
        made.append(http2_origin.Http2Origin(server_context(cert), *(protocols or http2_origin.BOTH), **kind))
        return made[-1]
    yield make
    for each in made:
        each.close()


@pytest.fixture
def asking(trusting):
    """asking(origin, option...): a utfeed of one worker that speaks HTTP/2 to origins, and asks nothing over the other protocol."""
    return lambda to, *options, **how: trusting(to, "--workers", "1", "--http2", "on", *options, **how)


@pytest.fixture
def listening(start, good):
    """A utfeed that also takes clients over TLS; .tls_port says where."""
    def run(origin, *options, cert=good.chain, key=good.key, **how):
        return start(origin, "--tls-listen", "127.0.0.1:0", "--tls-listen-cert", cert, "--tls-listen-key", key, *options, **how)
    return run


@pytest.fixture
def speaking(start, listening, authority):
    """speaking(way, origin, option...): a utfeed that speaks HTTP/2 to clients, by TLS ("h2") or without ("h2c"); .http2() gives a
    connection to it."""
    http2 = pytest.importorskip("http2", reason="no python3-hpack here")

    def run(way, to, *options, **how):
        proxy = listening(to, *options, **how) if way == "h2" else start(to, "--h2c", "on", *options, **how)

        def connect(**kind):
            context = client_context(authority.root) if way == "h2" else None
            proxy.clients.append(http2.Http2(proxy.tls_port if context else proxy.port, context, **kind))
            return proxy.clients[-1]
        proxy.http2 = connect
        return proxy
    return run


@pytest.fixture
def dead_port():
    """Nobody listens there, and nobody else is given it meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.fixture
def canary():
    canary = Canary()
    yield canary
    canary.socket.close()


@pytest.fixture(scope="module")
def old_canary():
    """One for all tests of a file."""
    canary = Canary()
    yield canary
    canary.socket.close()


@pytest.fixture
def hosts(tmp_path):
    """A hosts file of the test's own: hosts(line...) writes it anew and gives the options that name it."""
    file, conf = tmp_path / "hosts", tmp_path / "resolv.conf"

    def write(*lines):
        conf.write_text("nameserver 127.0.0.1\n")
        new = tmp_path / "new"
        new.write_text("".join(line + "\n" for line in lines))
        os.replace(new, file)
        return "--hosts-file", str(file), "--resolv-conf", str(conf)
    return write


@pytest.fixture
def trusting(start, authority):
    """A utfeed that trusts the test's CA."""
    return lambda origin, *options, **how: start(origin, "--tls-ca-file", authority.root.cert, *options, **how)


@pytest.fixture
def shared():
    if not os.path.isdir(SHARED):
        pytest.skip(f"no shared data at {SHARED} (UTFEED_SHARED)")
    return SHARED


@pytest.fixture
def redis_server(tmp_path):
    """redis_server(program, option..., certificate=None): a server of the test's own."""
    made = []

    def make(program, *more, **kind):
        if not shutil.which(program):
            pytest.skip(f"no {program}")
        made.append(Redis(program, tmp_path, *more, **kind))
        return made[-1]
    yield make
    for each in made:
        each.stop()


@pytest.fixture(params=["memory", "lmdb", "redis-server", "valkey-server"])
def store(request, tmp_path):
    """The options of each store in turn."""
    if request.param == "memory":
        return []
    if request.param == "lmdb":
        return ["--cache-lmdb", str(tmp_path), "--cache-lmdb-bytes", "64m"]
    return ["--cache-redis", f"127.0.0.1:{request.getfixturevalue('redis_server')(request.param).port}"]


@pytest.fixture
def fleet(ticking, origin, redis_server):
    """fleet(n, option...): n utfeeds of one worker each in front of origin (to=None: gateways), upon one server, by one clock that the test
    moves. They learn of each other by timers."""
    def run(n, *options, to=origin, **how):
        server = redis_server("redis-server")
        made = Fleet([ticking(to, "--workers", "1", "--cache-redis", f"127.0.0.1:{server.port}", *options, **how) for _ in range(n)],
                     "/none" if to else f"/{origin.url}/none")
        made.server = server
        made.hear(n)
        return made
    return run


@pytest.fixture(scope="session")
def narrow_library(tmp_path_factory):
    return build("narrow", tmp_path_factory.mktemp("narrow"))


@pytest.fixture(scope="session")
def clock_library(tmp_path_factory):
    return build("clock", tmp_path_factory.mktemp("clock"))


@pytest.fixture
def clock(clock_library, tmp_path):
    return Clock(clock_library, tmp_path / "now", *([int(time.time())] if HTTP2_ORIGINS else []))


@pytest.fixture
def clock_now(clock_library, tmp_path):
    """A clock that begins now: certificates are valid by it."""
    return Clock(clock_library, tmp_path / "now", int(time.time()))


@pytest.fixture
def timed(start, clock):
    """start(), with clocks that the test moves: what takes long on a busy machine makes no response older, and no timer fires meanwhile."""
    clock.stand()
    return lambda to, *options, **more: start(to, *options, env=clock.env, **more)


@pytest.fixture
def ticking(timed, clock):
    """As timed, for what waits for timers: the clock by which these fire, and responses age, goes on, and the test may put it ahead. A test
    that has its utfeed from a fixture that uses timed takes this one beside that."""
    clock.go_on()
    return timed
