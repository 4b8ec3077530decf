"""The admin listener: health, metrics, what operators order, and who may."""
import base64
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import time

import pytest

from pages import FRESH, Site, page, was_hit
from peers import Client, TlsClient
from proxy import BINARY
from schema import faults, fits, load
from wire import OBEYED, OBEYED_NOT, PATIENCE, TIMEOUT, Cut, message

ADMIN = re.compile(r"admin listener on 127\.0\.0\.1:(\d+)")
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proxy", "base", "stats.def")
TOKEN = "a token+of/ours"
WORKERS = "2"
SCHEMA = load("admin.schema.json")


def shaped(path, got):
    """The answer; if it is one of the interface, it is of the shape that conf/admin.schema.json gives it."""
    name = path.partition("?")[0].removeprefix("/api/")
    if got["Content-Type"] == "application/json" and (name != "check" or got.status >= 400) and got.body:
        found = faults(json.loads(got.body), SCHEMA["$defs"][name if got.status < 400 or (name, got.status) == ("reload", 422) else "error"], root=SCHEMA)
        assert not found, found
    return got


class Admin:
    """The admin listener of a running utfeed."""

    def __init__(self, proxy):
        self.proxy, self.port = proxy, int(ADMIN.search(proxy.err.text())[1])

    def ask(self, path, *fields, host="localhost", **kind):
        client = Client(self.port)
        try:
            return shaped(path, client.get(path, *fields, host=host, **kind))
        finally:
            client.close()

    def post(self, path, form="", *fields):
        client = Client(self.port)
        try:
            client.ask(path, f"Content-Length: {len(form)}", *fields, method="POST", host="localhost").send(form.encode())
            return shaped(path, client.response())
        finally:
            client.close()

    def metrics(self, *fields):
        """{name with labels: value}, once the text is what the format says."""
        text = self.ask("/metrics", *fields).body.decode()
        samples = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
        assert len({name for name, _ in samples}) == len(samples), "a series stands there twice"
        return {name: float(value) for name, value in samples}

    def metrics_after(self, count):
        """The same, once so many answers are counted: an answer is out before it is."""
        until, metrics = time.monotonic() + TIMEOUT, self.metrics()
        while total(metrics, "utfeed_request_duration_seconds_count") < count and time.monotonic() < until:
            metrics = self.metrics()
        return metrics


def total(metrics, name):
    """Of all series of a name."""
    return sum(value for series, value in metrics.items() if series.split("{")[0] == name)


@pytest.fixture
def administered(start):
    def run(origin, *options, **how):
        return Admin(start(origin, "--cache", "on", "--admin-listen", "127.0.0.1:0", "--workers", WORKERS, *options, **how))
    return run


@pytest.fixture(scope="module")
def idle(start_once):
    """One that serves nobody, for requests that change nothing."""
    return Admin(start_once(None, "--admin-listen", "127.0.0.1:0", "--admin-token", TOKEN))


def basic(password):
    return "Authorization: Basic " + base64.b64encode(f"anybody:{password}".encode()).decode()


# Who asks for what, and how it is answered
ASKED = {
    "alive": ("GET", "/healthz", (), 200),
    "ready": ("GET", "/readyz", (), 200),
    "HEAD too": ("HEAD", "/healthz", (), 200),
    "the icon of the pages": ("GET", "/favicon.ico", (), 200),
    "what there is": ("GET", "/api", (f"Authorization: Bearer {TOKEN}",), 200),
    "no page": ("GET", "/nothing", (), 404),
    "a prefix is no page": ("GET", "/healthz/", (), 404),
    "POST changes": ("POST", "/healthz", ("Content-Length: 0",), 405),
    "GET tells": ("GET", "/api/drain", (), 405),
    "another method": ("DELETE", "/api/purge", (), 405),
    "without the token": ("GET", "/metrics", (), 401),
    "the token": ("GET", "/metrics", (f"Authorization: Bearer {TOKEN}",), 200),
    "the scheme in other letters": ("GET", "/metrics", (f"Authorization: bEARER {TOKEN}",), 200),
    "its beginning": ("GET", "/metrics", (f"Authorization: Bearer {TOKEN[:-1]}",), 401),
    "more than it": ("GET", "/metrics", (f"Authorization: Bearer {TOKEN}{TOKEN}",), 401),
    "an empty one": ("GET", "/metrics", ("Authorization: Bearer ",), 401),
    "no scheme": ("GET", "/metrics", (f"Authorization: {TOKEN.split()[0]}",), 401),
    "twice": ("GET", "/metrics", (f"Authorization: Bearer {TOKEN}", "Authorization: Bearer x"), 401),
    "a browser's": ("GET", "/metrics", (basic(TOKEN),), 200),
    "a browser's, wrong": ("GET", "/metrics", (basic(TOKEN + "x"),), 401),
    "no base64": ("GET", "/metrics", ("Authorization: Basic ?",), 401),
    "endless base64": ("GET", "/metrics", ("Authorization: Basic " + "QUJD" * 1000,), 401),
    "a name that DNS points here": ("GET", "/metrics", (f"Authorization: Bearer {TOKEN}", "Host: evil.com"), 421),
    "a probe by any name": ("GET", "/healthz", ("Host: evil.com",), 200),
    "an address": ("GET", "/metrics", (f"Authorization: Bearer {TOKEN}", "Host: 127.0.0.1:9180"), 200),
    "a name without a dot": ("GET", "/metrics", (f"Authorization: Bearer {TOKEN}", "Host: utfeed"), 200),
    "two hosts": ("GET", "/healthz", ("Host: localhost", "Host: localhost"), 400),
    "no host": ("GET", "/healthz", ("Accept: */*",), 400),
    "an empty host": ("GET", "/healthz", ("Host:",), 200),
    "a host that is none": ("GET", "/healthz", ("Host: a b",), 400),
    "a page's Referer": ("POST", "/api/log-level", ("Host: utfeed", "Content-Length: 0", f"Authorization: Bearer {TOKEN}", "Referer: http://utfeed/"), 400),
    "a Referer of another site": ("POST", "/api/log-level",
                                  ("Host: utfeed", "Content-Length: 0", f"Authorization: Bearer {TOKEN}", "Referer: http://evil.com/http://utfeed/"), 403),
    "a Referer whose user is us": ("POST", "/api/log-level",
                                   ("Host: utfeed", "Content-Length: 0", f"Authorization: Bearer {TOKEN}", "Referer: http://utfeed@evil.com/"), 403),
    "a form of another site": ("POST", "/api/log-level", ("Content-Length: 0", f"Authorization: Bearer {TOKEN}", "Origin: https://evil.com"), 403),
    "its frame": ("POST", "/api/log-level", ("Content-Length: 0", f"Authorization: Bearer {TOKEN}", "Sec-Fetch-Site: cross-site"), 403),
    "a site whose name ends so": ("POST", "/api/log-level",
                                  ("Host: utfeed", "Content-Length: 0", f"Authorization: Bearer {TOKEN}", "Origin: http://eviltfeed"), 403),
    "a page of ours, a word missing": ("POST", "/api/log-level",
                                       ("Host: utfeed", "Content-Length: 0", f"Authorization: Bearer {TOKEN}", "Origin: http://utfeed"), 400),
}


@pytest.mark.parametrize("case", ASKED)
def test_who_is_answered_what(idle, case):
    method, path, fields, status = ASKED[case]
    host = None if any(field.startswith("Host:") for field in fields) or case == "no host" else "localhost"
    got = idle.ask(path, *fields, method=method, host=host)
    assert got.status == status, got.body
    assert got["Cache-Control"] == "no-store" and got["X-Content-Type-Options"] == "nosniff"
    assert len(got.all("WWW-Authenticate")) == (2 if status == 401 else 0)


# What is no request, and how it is answered: a status, or closed without a word (0)
BROKEN = {
    "no HTTP": (b"hello\r\n\r\n", 400),
    "two framings": (b"POST /api/purge HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    "an endless head": (b"GET / HTTP/1.1\r\nX: " + b"a" * 40000, 431),
    "a body too long": (b"POST /api/purge HTTP/1.0\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\nContent-Length: 100000\r\n\r\n" + b"a" * 100000, 413),
    "a body in chunks, too long": (b"POST /api/purge HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + TOKEN.encode() +
                                   b"\r\nTransfer-Encoding: chunked\r\n\r\n" + (b"4000\r\n" + b"a" * 0x4000 + b"\r\n") * 5, 413),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_request(idle, case):
    sent, status = BROKEN[case]
    client = Client(idle.port)
    client.send(sent)
    assert client.response().status == status
    client.close()


def test_one_connection_serves_many(idle):
    client = Client(idle.port)
    client.send(b"".join(message(f"GET {path} HTTP/1.1", "Host: a", length=False) for path in ("/healthz", "/nothing"))
                + message("GET /healthz HTTP/1.0"))
    assert [client.response().status for _ in range(2)] == [200, 404]
    client.close()
    client = Client(idle.port)
    for _ in range(3):
        assert client.get("/readyz", host="localhost").status == 200
    client.close()


def test_empty_lines_before_a_method(idle):
    """RFC 9112 section 2.2."""
    client = Client(idle.port)
    client.send(b"\r\n\r\n" + message("POST /api/log-level?level=info HTTP/1.1", "Host: localhost", f"Authorization: Bearer {TOKEN}"))
    assert client.response().status == 200
    client.close()


def test_every_page_is_listed(idle):
    """And each that the list says GET of answers it."""
    token = f"Authorization: Bearer {TOKEN}"
    told = re.findall(r"^(GET|POST|GET, POST) +(/\S*) +\S", idle.ask("/api", token).body.decode(), re.M)
    assert {path for _, path in told} > {"/", "/api", "/metrics", "/api/purge"}
    for methods, path in told:
        assert (idle.ask(path, token).status == 405) == (methods == "POST"), path


def test_every_counter_and_gauge_is_a_metric(administered, tmp_path):
    with open(TABLE, encoding="ascii") as table:
        rows = re.findall(r'^(COUNTER|GAUGE|TALLY|HISTOGRAM)\(\w+, +"(\w+)"(?:, +".*", (\w+))?', table.read(), re.M)
    admin = administered(None, "--cache-lmdb", str(tmp_path))
    assert admin.proxy.get("/nothing").status == 404
    metrics = {series.split("{")[0]: value for series, value in admin.metrics_after(1).items()}
    suffix = {"COUNTER": "_total", "TALLY": "_total", "GAUGE": ""}
    for kind, name, unit in rows:
        full = f"utfeed_{name}{suffix[kind]}" if kind in suffix else f"utfeed_{name}_{unit}_count"
        assert (full in metrics) != name.startswith("fleet_"), full      # those of a fleet stand there with Redis alone
    assert metrics["process_resident_memory_bytes"] > 1 << 20 and metrics["process_open_fds"] > 5


@pytest.mark.parametrize("accept, kind", [("*/*", "text/plain; version=0.0.4; charset=utf-8"),
                                          ("application/openmetrics-text;version=1.0.0,text/plain;q=0.5",
                                           "application/openmetrics-text; version=1.0.0; charset=utf-8")])
def test_metrics_come_in_two_forms(idle, accept, kind):
    got = idle.ask("/metrics", f"Authorization: Bearer {TOKEN}", f"Accept: {accept}")
    assert got["Content-Type"] == kind
    assert got.body.endswith(b"# EOF\n") == kind.startswith("application/")


def test_promtool_finds_nothing_to_say(administered, origin):
    if not shutil.which("promtool"):
        pytest.skip("no promtool (package prometheus)")
    Site(origin)["/f"] = page(FRESH)
    admin = administered(origin)
    admin.proxy.get("/f")
    done = subprocess.run(["promtool", "check", "metrics"], input=admin.ask("/metrics").body, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


def test_answers_are_counted_by_label(administered, origin):
    site = Site(origin)
    site["/f"] = page(FRESH, body="<?xml version='1.0' encoding='koi8-r'?><rss><channel><title>Погода</title></channel></rss>".encode("koi8-r"),
                      kind="text/xml")
    admin = administered(None, "--route", f"/={origin.url}")
    for _ in range(3):
        admin.proxy.get("/f")
    admin.proxy.get("/nothing")
    admin.proxy.get("http://127.0.0.1:1/")
    metrics = admin.metrics_after(5)
    assert metrics['utfeed_answers_total{way="route",outcome="miss",status="2xx"}'] == 1
    assert metrics['utfeed_answers_total{way="route",outcome="hit",status="2xx"}'] == 2
    assert metrics['utfeed_answers_total{way="route",outcome="miss",status="4xx"}'] == 1
    assert metrics['utfeed_answers_total{way="forward",outcome="miss",status="5xx"}'] == 1
    assert metrics['utfeed_charsets_total{charset="koi8-r"}'] == 3
    assert metrics['utfeed_fetch_failures_total{error="connection_refused"}'] == 1
    assert sum(value for name, value in metrics.items() if name.startswith("utfeed_rules_total")) >= 3
    for name in ("request_duration_seconds", "time_to_first_byte_seconds", "response_size_bytes"):
        assert total(metrics, f"utfeed_{name}_count") == 5 and total(metrics, f"utfeed_{name}_sum") > 0
        for outcome, count in (("hit", 2), ("miss", 3)):
            assert metrics[f'utfeed_{name}_count{{outcome="{outcome}"}}'] == count
            buckets = [value for key, value in metrics.items() if key.startswith(f'utfeed_{name}_bucket{{outcome="{outcome}",le=')]
            assert buckets == sorted(buckets) and buckets[-1] == count
    assert total(metrics, "utfeed_loop_delay_seconds_count") == metrics["utfeed_loop_delay_seconds_count"]


def test_routes_with_a_name_are_counted(administered, origin):
    Site(origin)["/f"] = page(FRESH)
    admin = administered(None, "--route", f"/={origin.url} name=news")
    for _ in range(3):
        admin.proxy.get("/f")
    metrics = admin.metrics_after(3)
    assert [metrics[f'utfeed_route_{name}_total{{route="news"}}'] for name in ("requests", "hits", "misses")] == [3, 2, 1]


# The form, the status, what is forgotten of /f and /g/1
PURGES = {
    "a URL": ("url={url}/f", 200, (True, False)),
    "a prefix": ("what=prefix&url={url}/g", 200, (False, True)),
    "a host": ("what=host&url={url}/f", 200, (True, True)),
    "all": ("what=all", 200, (True, True)),
    "another URL": ("url={url}/x", 200, (False, False)),
    "no URL": ("what=prefix", 400, (False, False)),
    "a bad URL": ("url=gopher://a/", 400, (False, False)),
    "a bad word": ("what=everything&url={url}/f", 400, (False, False)),
}


@pytest.mark.parametrize("store", ["memory", "lmdb"])
def test_purging(administered, origin, tmp_path, store):
    site = Site(origin)
    site["/f"] = site["/g/1"] = page(FRESH)
    admin = administered(origin, *(("--cache-lmdb", str(tmp_path)) if store == "lmdb" else ()))
    for case, (form, status, forgotten) in PURGES.items():
        for path in ("/f", "/g/1"):
            admin.proxy.get(path)
        got = admin.post("/api/purge", form.format(url=origin.url))
        assert got.status == status, case
        said = json.loads(got.body)
        assert said == {"purged": sum(forgotten), "confirmed": True} if status == 200 else list(said) == ["error"], case
        assert tuple(not was_hit(admin.proxy.get(path)) for path in ("/f", "/g/1")) == forgotten, case


# The path, the form, and what the answer says: the member that is wrong, why, and what to write.
WRONG_URLS = [
    ("/api/purge", "url=example.org/f", "url: it does not begin with http:// or https://; write url=https://HOST/PATH"),
    ("/api/purge", "what=prefix", "url: it is missing; write url=https://HOST/PATH"),
    ("/api/purge", "url=http://h/" + "a" * 9000, "url: it is too long; write url=https://HOST/PATH"),
    ("/api/resume", "url=gopher://h/", "url: its scheme is neither http nor https; write url=https://HOST/PATH"),
    ("/api/resume", "host=example.org", "host: it does not begin with http:// or https://; write host=https://HOST, with :PORT if"),
    ("/api/resume", "host=http://h/" + "a" * 9000, "host: it is too long; write host=https://HOST"),
    ("/api/resume", "who=a", "Name what to resume: url=URL, host=URL or all=1."),
]


def test_a_wrong_url_is_told_by_its_name(administered):
    admin = administered(None)
    for path, form, said in WRONG_URLS:
        got = admin.post(path, form)
        assert got.status == 400 and json.loads(got.body)["error"].startswith(said), (form[:40], got.body)
    assert admin.post("/paused", "url=gopher://h/").body.startswith(b"url: its scheme is neither")


def test_soft_purging(administered, origin):
    Site(origin)["/f"] = page(FRESH, 'ETag: "a"')
    admin = administered(origin)
    admin.proxy.get("/f")
    assert json.loads(admin.post("/api/purge", f"url={origin.url}/f&what=url,+soft").body) == {"marked_stale": 1, "confirmed": True}
    assert admin.metrics()["utfeed_cache_purges_total"] == 1 and admin.proxy.counters()["cache_purges"] == 1


def test_the_log_level(administered):
    admin = administered(None)
    assert json.loads(admin.ask("/api/log-level").body) == {"level": "info"}
    assert json.loads(admin.post("/api/log-level", "level=debug").body) == {"level": "debug"}
    admin.proxy.get("/nothing")
    admin.proxy.says("utfeed: debug: ")
    assert admin.post("/api/log-level", "level=loud").status == 400
    admin.proxy.reload()
    assert json.loads(admin.ask("/api/log-level").body) == {"level": "info"}


def test_draining(administered):
    admin = administered(None, "--drain-delay", "60s")
    assert admin.post("/api/drain").status == 202
    admin.proxy.says("told to come again elsewhere")
    got = admin.ask("/readyz")
    assert got.status == 503 and b"listeners: closing" in got.body
    assert admin.ask("/healthz").status == 200
    assert admin.proxy.get("/nothing")["Connection"] == "close"
    admin.proxy.sigterm()       # a second time: at once
    assert admin.proxy.wait() == 0


def test_a_reload_counts(administered, tmp_path):
    file = tmp_path / "utfeed.conf"
    file.write_text("admin-token = old\n")
    admin = administered(None, "-c", str(file))
    assert admin.ask("/metrics", "Authorization: Bearer old").status == 200
    file.write_text("admin-token = new\nadmin-allow = 127.0.0.0/8\n")
    admin.proxy.reload()
    assert [admin.ask("/metrics", f"Authorization: Bearer {word}").status for word in ("old", "new")] == [401, 200]
    open_since = Client(admin.port)
    assert open_since.get("/healthz", host="localhost").status == 200
    file.write_text("admin-token = new\nadmin-allow = 192.0.2.0/24\n")
    admin.proxy.reload()
    assert open_since.get("/healthz", host="localhost").status == 403
    open_since.close()
    assert [admin.ask(path).status for path in ("/metrics", "/healthz")] == [403, 403]


def test_others_must_be_named(start):
    with pytest.raises(AssertionError, match="admin-listen: 0.0.0.0:0 is open to other machines, and no admin-allow says"):
        start(None, "--admin-listen", "0.0.0.0:0")


# Host, of which utfeed has hosts = feeds.example.org and a route of its own; the status of /metrics, and of a probe
NAMED = {"an address": ("127.0.0.1", 200), "loopback by name": ("localhost", 200), "a name that is served": ("feeds.example.org", 200),
         "a name without a dot": ("utfeed", 200), "a cluster's": ("utfeed.default.svc.cluster.local", 200),
         "a route's": ("news.example.com", 421), "a stranger's": ("evil.example.com", 421)}


def test_its_names_are_its_own(administered):
    """hosts names what clients ask for: it does not shut the admin listener to addresses, probes and utfeed healthcheck."""
    admin = administered(None, "--hosts", "feeds.example.org", "--route", "//news.example.com/=http://127.0.0.1:1/")
    for case, (host, status) in NAMED.items():
        assert [admin.ask(path, host=host).status for path in ("/metrics", "/healthz")] == [status, 200], case
    assert healthcheck(f"http://127.0.0.1:{admin.port}") == (0, "healthy\n")


def test_a_taken_port_is_told(start, idle):
    with pytest.raises(AssertionError, match=f"--admin-listen: 127.0.0.1:{idle.port}: Address already in use"):
        start(None, "--admin-listen", f"127.0.0.1:{idle.port}")


def healthcheck(*args, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("UTFEED_")}
    done = subprocess.run([BINARY, "healthcheck", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False,
                          env={**environment, **variables})
    return done.returncode, done.stdout.decode()


@pytest.mark.http1_origin("utfeed's own command asks the origin, without TLS")
def test_healthcheck(idle, administered, another, dead_port):
    address = f"127.0.0.1:{idle.port}"
    assert healthcheck(f"http://{address}") == (0, "healthy\n")
    assert healthcheck(f"http://{address}/readyz") == (0, "healthy\n")
    assert healthcheck(UTFEED_ADMIN_LISTEN=f"0.0.0.0:{idle.port}", UTFEED_ADMIN_ALLOW="0.0.0.0/0") == (0, "healthy\n")
    assert healthcheck(UTFEED_LISTEN=f"127.0.0.1:{idle.proxy.port}") == (0, "healthy\n")
    assert healthcheck(f"http://{address}/metrics")[0] == 1
    assert healthcheck(f"http://127.0.0.1:{dead_port}") == (1, "unhealthy: Connection refused; write the admin-listen of a running utfeed, as UTFEED_ADMIN_LISTEN or as URL\n")
    assert [healthcheck(url)[0] for url in ("https://127.0.0.1", "nonsense", "--loud")] == [2, 2, 2]
    evil = another()
    evil.serve(lambda request: (message("500 Oops", body=OBEYED), "close"))
    assert healthcheck(evil.url) == (1, f"unhealthy: 500: {OBEYED_NOT}\n")
    admin = administered(None, "--drain-delay", "60s")
    admin.post("/api/drain")
    admin.proxy.says("told to come again elsewhere")
    assert healthcheck(f"http://127.0.0.1:{admin.port}/readyz")[0] == 1
    admin.proxy.process.send_signal(signal.SIGTERM)
    admin.proxy.wait()


def test_without_it_nothing_listens(start):
    assert not ADMIN.search(start(None).err.text())


KOI8 = "<?xml version='1.0' encoding='koi8-r'?><rss><channel><title>Погода на завтра</title></channel></rss>".encode("koi8-r")


def listed(admin, query="", least=0):
    """What /api/feeds tells, once so many feeds are there."""
    until = time.monotonic() + TIMEOUT
    while True:
        told = json.loads(admin.ask("/api/feeds" + query).body)
        if told["total"] >= least or time.monotonic() > until:
            return told


@pytest.fixture(scope="module")
def told(start_once, old_origin):
    """An admin listener whose utfeed was asked for five feeds, three wrongly labelled, one that fails, and what is none."""
    site = Site(old_origin)
    for name in "abc":
        site["/" + name] = page(FRESH, body=KOI8, kind="text/xml; charset=iso-8859-1")
    site["/d"] = page(FRESH, body=KOI8, kind="text/xml; charset=koi8-r")
    site["/e"] = page(FRESH, body=KOI8, kind="application/xml")
    site["/bad"] = message("HTTP/1.1 200 OK", "Content-Length: 100", body=b"cut", length=False), "close"
    admin = Admin(start_once(old_origin, "--cache", "on", "--admin-listen", "127.0.0.1:0", "--workers", WORKERS))
    for name, times in (("a", 3), ("b", 2), ("c", 1), ("d", 4), ("e", 1), ("nothing", 5)):
        for _ in range(times):
            admin.proxy.get("/" + name)
    assert admin.proxy.get("/bad").status == 502
    admin.metrics_after(17)
    return admin, old_origin.url


# What is asked of the list, and which feeds it tells, in which order
LISTS = {
    "the most asked first": ("", "dab!ce"),
    "a few": ("?limit=2", "da"),
    "those whose label was wrong": ("?mislabelled=1", "abc"),
    "a part of the URL": ("?search=%2Fd", "d"),
    "in other letters": ("?search=BAD", "!"),
    "none": ("?search=nowhere", ""),
    "by errors": ("?sort=errors&limit=1", "!"),
    "by name": ("?sort=url", "ab!cde"),
}


@pytest.mark.parametrize("case", LISTS)
def test_the_feeds_seen(told, case):
    admin, url = told
    query, names = LISTS[case]
    feeds = listed(admin, query)["feeds"]
    assert [feed["url"] for feed in feeds] == [f"{url}/{name.replace('!', 'bad')}" for name in names]


@pytest.mark.parametrize("query", ["?sort=colour", "?limit=0", "?limit=10001", "?limit=1x", "?limit=", "?search=" + "a" * 300],
                         ids=lambda query: query[:12])
def test_what_cannot_be_asked_of_the_list(told, query):
    got = told[0].ask("/api/feeds" + query)
    assert got.status == 400 and list(json.loads(got.body)) == ["error"]


def test_what_is_told_of_a_feed(told):
    feeds = {feed["url"].rsplit("/", 1)[1]: feed for feed in listed(told[0])["feeds"]}
    a, bad = feeds["a"], feeds["bad"]
    assert (a["requests"], a["hits"], a["errors"], a["status"]) == (3, 2, 0, 200)
    assert (a["charset"], a["was"], a["mislabelled"]) == ("koi8-r", "iso-8859-1", True) and a["rule"].startswith("auto:")
    assert a["bytes"] > 300 and 590 < a["expires"] - a["last"] <= 600 and a["first"] <= a["last"]
    assert not feeds["d"]["mislabelled"] and not feeds["e"]["mislabelled"]
    assert (bad["requests"], bad["errors"], bad["charset"]) == (1, 1, None)


def test_a_forward_proxy_lists_no_errors_of_what_is_no_feed(administered, origin, dead_port):
    site = Site(origin)
    site["/f"] = page(body=KOI8, kind="text/xml")
    admin = administered(None)
    admin.proxy.get(f"http://127.0.0.1:{dead_port}/image.png")
    admin.proxy.get(f"{origin.url}/f")
    admin.metrics_after(2)      # it is listed before another worker looks
    site["/f"] = message("HTTP/1.1 200 OK", "Content-Length: 100", body=b"cut", length=False), "close"
    assert admin.proxy.get(f"{origin.url}/f").status == 502
    assert admin.proxy.get(f"/http://127.0.0.1:{dead_port}/feed").status == 502
    admin.metrics_after(4)
    feeds = listed(admin, "?sort=url", 2)["feeds"]
    assert sorted((feed["url"], feed["errors"]) for feed in feeds) == sorted([(f"{origin.url}/f", 1), (f"http://127.0.0.1:{dead_port}/feed", 1)])


def test_the_status(told):
    status = json.loads(told[0].ask("/api/status").body)
    assert (status["workers"], status["workers_stuck"], status["draining"], status["feeds"]) == (2, 0, False, 6)
    assert status["requests"] == 17 and status["hits"] == 10 and status["errors"] == 1      # four of the hits: a 404
    assert status["bytes_to_clients"] > 1000 and status["resident_bytes"] > 1 << 20
    assert 0 <= status["now"] - status["started"] < 600 and isinstance(status["history"], list)
    hour = status["last_hour"]
    assert 0 < hour["answers"] <= 17 and 0 < hour["p50_ms"] <= hour["p95_ms"] <= hour["p99_ms"] < 60_000


# The query, what is sent, the status, what the answer says
CHECKED = {
    "a feed": ("", KOI8, 200, {"x_encoding_rule": "auto:1.2;charset=koi8-r"}),
    "with its label": ("?content-type=text/xml;+charset%3Diso-8859-1", KOI8, 200, {"x_encoding_rule": "auto:2.5/decl;charset=koi8-r;was=iso-8859-1"}),
    "its first line": ("?content-type=text/xml;+charset%3Diso-8859-1", KOI8, 200, {
        "summary": "This feed needs utfeed, which corrects its label. Its label says iso-8859-1, but its bytes are koi8-r, as its XML declaration says."}),
    "a stray byte": ("?content-type=text/xml;+charset%3Dutf-8", b"<rss>\xc3\xa9 it\x92s</rss>", 200, {
        "not_utf8": {"bytes": 1, "places": 1, "surrogate_pairs": 0, "first": [
            {"offset": 10, "line": 1, "length": 1, "bytes": "92", "read_as": "’"}]}}),
    "nothing": ("", b"", 200, {"x_encoding_rule": "none;reason=empty"}),
    "a label that splits": ("?content-type=a%0d%0ab", KOI8, 400, {}),
    "a label too long": ("?content-type=" + "a" * 300, KOI8, 400, {}),
}


@pytest.mark.parametrize("case", CHECKED)
def test_checking(told, case):
    query, body, status, says = CHECKED[case]
    client = Client(told[0].port)
    client.ask("/api/check" + query, f"Content-Length: {len(body)}", method="POST", host="localhost").send(body)
    got = client.response()
    client.close()
    assert got.status == status, got.body
    answer = fits(json.loads(got.body), "check") if status == 200 else json.loads(got.body)
    assert all(answer[name] == value for name, value in says.items()) if status == 200 else list(answer) == ["error"]


@pytest.mark.parametrize("key", ["beside", "within"])
def test_over_tls(administered, authority, good, tmp_path, key):
    """The page comes over TLS alone; a renewed certificate counts after a reload, and one that cannot be read keeps the former."""
    both = tmp_path / "admin.pem"
    with open(good.chain, encoding="ascii") as chain, open(good.key, encoding="ascii") as secret:
        both.write_text(chain.read() + (secret.read() if key == "within" else ""))
    admin = administered(None, "--admin-tls-cert", str(both), *(("--admin-tls-key", good.key) if key == "beside" else ()))
    context = ssl.create_default_context(cafile=authority.root.cert)

    def status():
        client = TlsClient(admin.port, context)
        try:
            return client.get("/healthz", host="localhost").status
        finally:
            client.close()
    assert status() == 200
    plain = Client(admin.port).ask("/healthz", host="localhost")
    with pytest.raises(Cut):
        plain.response()
    plain.close()
    both.write_text("no certificate")
    admin.proxy.reload()
    admin.proxy.says("admin-listen stays with its former certificate")
    assert status() == 200


def test_a_bad_certificate_stops_the_start(start, tmp_path):
    bad = tmp_path / "bad.pem"
    bad.write_text("no certificate")
    with pytest.raises(AssertionError, match="--admin-tls-cert: "):
        start(None, "--admin-listen", "127.0.0.1:0", "--admin-tls-cert", str(bad))


def test_the_configuration(administered, tmp_path):
    file = tmp_path / "utfeed.conf"
    file.write_text("admin-token = t0ken\nhttp-proxy = http://me:secret@127.0.0.1:1\nmin-interval = 5s\n")
    admin = administered(None, "-c", str(file))
    got = admin.ask("/api/config", "Authorization: Bearer t0ken")
    told = json.loads(got.body)
    assert told["file"] == str(file) and told["generation"] == 0 and told["last_reload"] is None
    assert "min-interval = 5s\n" in told["text"] and f"# min-interval: {file}:3\n" in told["text"]
    assert b"t0ken" not in got.body and b"secret" not in got.body
    assert json.loads(admin.post("/api/reload", "", "Authorization: Bearer t0ken").body)["result"] == "taken"
    told = json.loads(admin.ask("/api/config", "Authorization: Bearer t0ken").body)
    assert told["generation"] == 1 and told["last_reload"]["result"] == "taken" and told["last_reload"]["file"] == str(file)


def test_secrets_in_urls_are_not_shown(administered, origin):
    site = Site(origin)
    site["*"] = page(FRESH, body=KOI8, kind="text/xml")
    admin = administered(origin)
    admin.proxy.get("/f?token=s3cr3t&a=b")
    admin.metrics_after(1)
    [feed] = listed(admin, least=1)["feeds"]
    assert feed["url"] == f"{origin.url}/f?token=***&a=b"
    for path in ("/", "/feeds", f"/feed?id={feed['id']}"):
        got = admin.ask(path)
        assert got.status == 200 and b"s3cr3t" not in got.body and b"token=" in got.body


def test_checking_a_url(told, dead_port):
    admin, url = told
    assert fits(json.loads(admin.post(f"/api/check?url={url}/a").body), "check")["x_encoding_rule"] == "auto:2.5/decl;charset=koi8-r;was=iso-8859-1"
    got = admin.post(f"/api/check?url=http://127.0.0.1:{dead_port}/")
    assert got.status == 502 and "refused the connection" in json.loads(got.body)["error"]
    assert admin.post("/api/check?url=ftp://a/").status == 400
    got = admin.post("/api/check?url=feed:a.test/f")
    assert got.status == 400 and "did you mean https://a.test/f?" in json.loads(got.body)["error"]


def test_checking_a_url_by_its_language(administered, origin):
    """Content-Language of the answer counts as in the proxy."""
    Site(origin)["/lv"] = page("Content-Language: lv", body="<rss><title>ļoti</title></rss>".encode("windows-1257"))
    assert "/guess+lang;charset=windows-1257;" in json.loads(administered(origin).post(f"/api/check?url={origin.url}/lv").body)["x_encoding_rule"]


FORM, CUT = "application/x-www-form-urlencoded", "multipart/form-data; boundary=cut"


def parts(*members):
    """A body of multipart/form-data."""
    return "".join(f'--cut\r\nContent-Disposition: form-data; name={name}\r\n\r\n{value}\r\n' for name, value in members) + "--cut--\r\n"


# The body, where URL stands for that of a feed, its type, and what is checked: the URL, or so many bytes
SENT = {
    "curl -d url=URL": ("url=URL", FORM, "URL"),
    "encoded": ("url=ENCODED", FORM + "; charset=utf-8", "URL"),
    "beside other members": ("content-type=text%2Fplain&url=ENCODED&a=b", FORM, "URL"),
    "no URL": ("url=nonsense", FORM, None),
    "an empty URL": ("url=", FORM, None),
    "a URL that is too long": ("url=http://a/" + "a" * 5000, FORM, None),
    "curl --data-binary @feed": ("<rss><a>b</a></rss>", FORM, 19),
    "a feed that speaks of URLs": ("<rss>&url=http://a/</rss>", FORM, 25),
    "what begins as a form does, and is a feed": ("url=a <rss></rss>", FORM, 17),
    "words": ("what else", FORM, 9),
    "the same under another type": ("url=URL", "text/xml", 0),
    "without a type": ("<rss></rss>", None, 11),
    "curl -F url=URL": (parts(("url", "URL")), CUT, "URL"),
    "curl -F file=@feed": (parts(("content-type", "text/xml; charset=us-ascii"), ("file", "<rss/>")), CUT, 6),
    "another form": (parts(("a", "b")), CUT, None),
    "a URL in parts that is none": (parts(("url", "ftp://a/")), CUT, None),
}


@pytest.mark.parametrize("case", SENT)
def test_checking_what_a_form_says(told, case):
    admin, url = told
    body, kind, found = SENT[case]
    body = body.replace("URL", url + "/a").replace("ENCODED", (url + "/a").replace(":", "%3A").replace("/", "%2F"))
    got = admin.post("/api/check", body, *([f"Content-Type: {kind}"] if kind else []))
    if found is None:
        assert got.status == 400 and list(json.loads(got.body)) == ["error"]
        return
    answer = fits(json.loads(got.body), "check")
    assert answer["file"] == (url + "/a" if found == "URL" else "-")
    assert found == "URL" or answer["bytes"] == (found or len(body))


def test_when_a_feed_is_fetched_next(administered, origin):
    """It is known after the first request, and right after a 304; of what is not stored, nothing is known."""
    site = Site(origin)
    site["/kept"] = page("Cache-Control: max-age=600", body=KOI8, kind="text/xml")
    site["/hinted"] = page(body=b"<rss><channel><ttl>30</ttl><title>a</title></channel></rss>", kind="text/xml")
    site["/checked"] = page("Cache-Control: no-cache", 'ETag: "1"', body=KOI8, kind="text/xml")
    site["/private"] = page("Cache-Control: no-store", body=KOI8, kind="text/xml")
    admin = administered(origin, "--cache", "on", "--freshness-floor", "0s")

    def left():
        feeds = {feed["url"].rsplit("/", 1)[1]: feed for feed in listed(admin, least=4)["feeds"]}
        return {name: feed["expires"] and feed["expires"] - feed["last"] for name, feed in feeds.items()}
    for path in ("/kept", "/hinted", "/checked", "/private"):
        assert admin.proxy.get(path).status == 200
    first = left()
    assert 590 < first["kept"] <= 600 and 1790 < first["hinted"] <= 1800 and -10 < first["checked"] <= 0 and first["private"] is None
    html = admin.ask("/feeds?search=kept").body.decode()
    assert "<td>in 9 min</td>" in html or "<td>in 10 min</td>" in html
    site["/kept"] = page("Cache-Control: max-age=60", body=KOI8, kind="text/xml")
    assert admin.proxy.get("/kept", "Cache-Control: no-cache").status == 200
    until = time.monotonic() + TIMEOUT      # an answer is noted once it is sent
    while left()["kept"] > 60 and time.monotonic() < until:
        pass
    assert 50 < left()["kept"] <= 60


PAGED = 25


def test_the_list_goes_on(administered, origin):
    """Every feed stands on one page, whichever order and search are asked for, from either end; names that join meanwhile keep none out."""
    Site(origin)["*"] = page(FRESH, body=KOI8, kind="text/xml; charset=iso-8859-1")
    admin = administered(origin)
    for i in range(PAGED):
        admin.proxy.get(f"/{i:02}")
    assert listed(admin, least=PAGED)["total"] == PAGED
    for order in ("", "sort=url&", "sort=last&mislabelled=1&", "sort=expires&search=/&"):
        query, seen = f"?{order}limit=10", []
        while query:
            told = json.loads(admin.ask("/api/feeds" + query).body)
            seen += [feed["url"] for feed in told["feeds"]]
            query = told["next"]
            assert told["total"] == PAGED and (query is None or all(word in query for word in order.split("&")))
        assert len(seen) == len(set(seen)) == PAGED, order
    last = json.loads(admin.ask("/api/feeds?sort=url&limit=10&before=").body)
    assert [feed["url"][-2:] for feed in last["feeds"]] == [f"{i:02}" for i in range(15, 25)] and last["next"] is None
    one = json.loads(admin.ask("/api/feeds?sort=url&limit=10").body)
    admin.proxy.get("/0")
    listed(admin, least=PAGED + 1)
    assert json.loads(admin.ask("/api/feeds" + one["next"]).body)["feeds"][0]["url"].endswith("/10")


@pytest.mark.parametrize("query", ["?after=x", "?after=1", "?after=1.", "?after=1.x", "?after=.1", "?before=1.1x", "?after=1.1&before=1.1",
                                   "?after=" + "1" * 50])
def test_no_place_in_the_list(told, query):
    assert told[0].ask("/api/feeds" + query).status == told[0].ask("/feeds" + query).status == 400


@pytest.mark.parametrize("query", ["?after=99999999999999999999999.1", "?after=-1.0", "?before=0.99999", "?sort=url&after=1.77777"])
def test_a_place_that_no_feed_has(told, query):
    """A feed that has left the list, or a number out of bounds, is told as one of any other place."""
    assert told[0].ask("/api/feeds" + query).status == told[0].ask("/feeds" + query).status == 200
