"""What is told of origins that fail: /api/feeds, the pages, metrics, the access log."""
import json
import subprocess
import time

import pytest

from pages import FRESH, Site, page
from proxy import BINARY
from schema import faults, load
from test_admin import KOI8, Admin, listed
from wire import PATIENCE, TIMEOUT, Cut, message

OLD = "Cache-Control: max-age=0"
ENTRY = load("access-log.schema.json")


def feed(*fields):
    return page(*fields, body=KOI8, kind="text/xml")


def failing(status):
    return message(f"{status} X", body=b"no")


def closing(data):
    return lambda _: (data, "close")


class Told:
    """A utfeed with an admin listener and the feed /f, whose origin fails when the test says so."""

    def __init__(self, start, origin, *options, workers="2", route=""):
        self.origin, self.site = origin, Site(origin)
        self.site["/f"] = feed(OLD)
        self.proxy = start(None, "--cache", "on", "--admin-listen", "127.0.0.1:0", "--workers", workers, "--route", f"/={origin.url} {route}", *options)
        self.admin, self.asked = Admin(self.proxy), 0

    def get(self, *fields, path="/f"):
        got = self.proxy.get(path, *fields)
        self.asked += 1
        self.noted()
        return got

    def noted(self):
        """An answer is out before it is noted."""
        self.admin.metrics_after(self.asked)

    def feed(self, path="/f"):
        [one] = [each for each in listed(self.admin)["feeds"] if each["url"] == self.origin.url + path]
        return one

    def state(self):
        one = self.feed()
        return one["good"] is not None, one["kept_since"] is not None, one["last_error"], one["saved"]


@pytest.fixture
def told(start, origin):
    return lambda *options, **how: Told(start, origin, *options, **how)


# How the origin fails behind a good answer, and the word for it
FAILURES = {
    "a status": (failing(503), "503"),
    "404": (failing(404), "404"),
    "a page": (page(body=b"<!DOCTYPE html><html></html>", kind="text/html"), "no_feed"),
    "no head": (closing(b""), "connection_terminated"),
    "another protocol": (closing(b"220 ready\r\n\r\n"), "http_protocol_error"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_kept_feed_is_told(told, case):
    answer, word = FAILURES[case]
    t = told("--pause", "off")
    now = int(time.time())
    t.get()
    one = t.feed()
    assert now <= one["good"] <= time.time() and (one["kept_since"], one["last_error"], one["last_error_at"], one["saved"]) == (None, None, None, 0)
    t.site["/f"] = answer
    assert t.get().all("Cache-Status")[-1].endswith("detail=kept")
    kept = t.feed()
    assert kept["good"] == one["good"] and now <= kept["kept_since"] == kept["last_error_at"] <= time.time() and kept["last_error"] == word
    t.get()
    assert t.feed()["kept_since"] == kept["kept_since"]
    counters = t.proxy.counters()
    assert counters["feeds_kept"] == t.admin.metrics()["utfeed_feeds_kept"] == 1 and counters["feeds_kept_longest_seconds"] < TIMEOUT
    assert [each["url"] for each in listed(t.admin, "?kept=1")["feeds"]] == [one["url"]]
    html = t.admin.ask(f"/feed?id={one['id']}").body.decode()
    assert "Kept since" in html and 'State: <span class="bad">kept' in html and "Your server fails" in html
    assert t.admin.ask("/feeds?kept=1").body.count(b"/feed?id=") == 1
    t.site["/f"] = feed(FRESH)
    t.get()
    well = t.feed()
    assert well["good"] >= one["good"] and well["kept_since"] is None and well["last_error"] == word and well["saved"] == 0
    assert t.admin.metrics()["utfeed_feeds_kept"] == 0 == t.admin.metrics()["utfeed_feeds_kept_longest_seconds"] and not listed(t.admin, "?kept=1")["feeds"]


@pytest.mark.parametrize("option,way", [("--min-interval", "/{}/f"), ("--host-interval", "/{}/f"), ("--host-interval", "/f")])
def test_an_interval_is_no_failure(told, origin, option, way):
    """The feed answers although its lifetime is over, and its origin is well."""
    t, path = told(option, "1h"), way.format(origin.url)
    t.site["/f"] = feed("Cache-Control: max-age=0")
    t.get(path=path)
    assert t.get(path=path).all("Cache-Status")[-1].endswith("detail=kept")
    one = t.feed()
    assert (one["state"], one["kept_since"], one["last_error"], one["saved"]) == ("fine", None, None, 1)
    assert t.proxy.counters()["cache_kept"] == 0 == t.admin.metrics()["utfeed_feeds_kept"] and not listed(t.admin, "?kept=1")["feeds"]
    assert all(b"kept=slow" not in line for line in t.proxy.access_lines(2))


# A body that ends early, behind more than utfeed holds back, and what /api/feeds calls that
LONG = KOI8.replace(b"</channel>", b"<item>a</item>" * 40_000)
CUTS = {
    "closed": (b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: 9000000\r\n\r\n" + LONG, "http_response_incomplete"),
    "chunks": (b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\nzz\r\n" % (len(LONG), LONG), "http_protocol_error"),
}


@pytest.mark.parametrize("kind", ["text", "json"])
@pytest.mark.parametrize("case", CUTS)
def test_a_cut_body_is_told_by_its_failure(told, case, kind):
    """Its status is 200, which says nothing of what went wrong."""
    data, word = CUTS[case]
    t = told("--pause", "off", "--keep-feed", "0s", "--log-format", kind, workers="1")
    t.get()
    t.site["/f"] = closing(data)
    with pytest.raises(Cut):
        t.get()
    t.asked += 1
    t.noted()
    one = t.feed()
    assert one["last_error"] == word
    html = t.admin.ask(f"/feed?id={one['id']}").body.decode()
    assert f"<bdi>{word}</bdi>" in html
    log = b"".join(line + b"\n" for line in t.proxy.access_lines(2))
    done = subprocess.run([BINARY, "report", "--json", "--origins"], input=log, stdout=subprocess.PIPE, timeout=PATIENCE, check=True)
    [told] = json.loads(done.stdout)["feeds"]
    assert told["last_error"] == (word if kind == "json" else "cut")


def test_requests_saved(told):
    """Hits and what a pause keeps from the origin; neither a miss nor a confirmation."""
    t = told("--pause", "on")
    t.site["/f"] = feed(FRESH, 'ETag: "1"')
    for _ in range(3):
        t.get()
    assert t.feed()["saved"] == 2
    t.site["/f"] = message("304 Not Modified", 'ETag: "1"', FRESH, length=False)
    t.admin.post("/api/purge", f"url={t.origin.url}/f&what=url,+soft")
    t.get()
    assert t.feed()["saved"] == 2 and t.site.count("/f") == 2
    t.admin.post("/api/purge", f"url={t.origin.url}/f&what=url,+soft")
    t.site["/f"] = failing(503)
    for _ in range(4):
        t.get()
    assert t.feed()["saved"] == 5 and t.site.count("/f") == 3
    assert t.proxy.counters()["origin_requests_saved"] == 5


@pytest.mark.parametrize("kind", ["text", "json"])
@pytest.mark.parametrize("case", FAILURES)
def test_the_log_tells_it(told, case, kind):
    answer, word = FAILURES[case]
    t = told("--pause", "on", "--log-format", kind, workers="1")      # of two each writes its lines when it comes to it
    t.get()
    t.site["/f"] = answer
    t.get()
    t.get()
    good, kept, paused = [line.decode() for line in t.proxy.access_lines(3)]
    if kind == "text":
        assert " kept=" not in good and f" kept={word} " in kept and " kept=" in paused
        return
    told = [json.loads(line) for line in (good, kept, paused)]
    assert not [fault for line in told for fault in faults(line, ENTRY)]
    assert [line["kept"] for line in told[:2]] == [None, word] and told[2]["kept"]
    assert told[1]["cache_detail"] == "kept"


def test_an_error_without_a_kept_feed(told):
    t = told("--keep-feed", "0s", "--pause", "off")
    t.get()
    t.site["/f"] = failing(502)
    assert t.get().status == 502
    assert t.state() == (True, False, "502", 0)


def test_what_is_refused_to_a_client_is_no_error(told):
    """401 to a request with credentials of its own says nothing of the feed."""
    t = told("--pause", "off", route="authorization=on")
    t.get()
    t.site["/f"] = failing(500)
    t.get()
    t.site["/f"] = failing(401)
    assert t.get("Authorization: Basic YTpi").status == 401
    assert t.feed()["last_error"] == "500" and t.feed()["kept_since"]


ENDINGS = {
    "a purge": lambda t: t.admin.post("/api/purge", f"url={t.origin.url}/f"),
    "a purge of a prefix": lambda t: t.admin.post("/api/purge", f"url={t.origin.url}/&what=prefix"),
    "a purge of the host": lambda t: t.admin.post("/api/purge", f"url={t.origin.url}/&what=host"),
    "a purge of all": lambda t: t.admin.post("/api/purge", "what=all"),
    "PURGE": lambda t: t.proxy.get("/f", method="PURGE"),
    "POST": lambda t: t.proxy.get("/f", "Content-Length: 0", method="POST"),
    "a reload": lambda t: t.admin.post("/api/reload"),
}


@pytest.mark.parametrize("store", ["memory", "lmdb"])
@pytest.mark.parametrize("case", ENDINGS)
def test_what_has_ended_is_not_told(told, tmp_path, case, store):
    """Neither that a feed is kept nor when it is fetched next; the next answer tells both anew."""
    t = told("--pause", "off", *(("--cache-lmdb", str(tmp_path)) if store == "lmdb" else ()))
    t.get()
    t.site["/f"] = failing(503)
    t.get()
    t.site["/other"] = feed(FRESH)
    t.get(path="/other")
    assert t.feed()["kept_since"] and t.feed("/other")["expires"]
    t.site["/f"] = message("200 OK")
    ENDINGS[case](t)
    other = t.feed("/other")["expires"]
    assert t.feed()["kept_since"] is None and t.feed()["expires"] is None and t.admin.metrics()["utfeed_feeds_kept"] == 0
    assert bool(other) == (case in ("a purge", "PURGE", "POST")) and t.feed()["good"]
    t.site["/f"] = failing(503)
    t.asked += case in ("PURGE", "POST")
    t.get()
    assert bool(t.feed()["kept_since"]) == (case == "a reload") and t.feed()["last_error"] == "503"


def test_a_pause_is_told_and_ended(told, origin):
    """The list and the page tell until when and why; the button of the page ends it, and another site's page cannot."""
    t = told("--pause", "on")
    t.get()
    t.site["/f"] = message("503 X", "Retry-After: 600")
    t.get()
    one = t.feed()
    assert 590 < one["paused_until"] - time.time() <= 601 and one["paused_for"] == "503" and one["next_fetch"] == one["paused_until"]
    html = t.admin.ask("/paused").body.decode()
    button = f'name="url" value="{origin.url}/f"><button>Resume</button>'
    assert button in html and "<td><bdi>503</bdi></td><td>the origin</td>" in html and "1 of 1 pauses" in html
    assert b"Paused until" in t.admin.ask(f"/feed?id={one['id']}").body
    assert t.admin.post("/paused", f"url={origin.url}/f", "Origin: https://evil.com").status == 403
    assert t.admin.post("/paused", f"url={origin.url}/f", "Sec-Fetch-Site: cross-site").status == 403
    assert t.admin.post("/paused", "url=nonsense").status == t.admin.post("/paused").status == 400
    assert 0 <= t.feed()["paused_until"] - one["paused_until"] <= 1      # each answer rounds it to a second
    got = t.admin.post("/paused", f"url={origin.url}/f", "Sec-Fetch-Site: same-origin")
    assert got.status == 200 and b"1 pause ended." in got.body and b"Nothing is paused now." in got.body and b"<table" not in got.body
    assert t.feed()["paused_until"] is None and t.feed()["paused_for"] is None
    t.get()
    assert t.admin.post("/paused", "all=1").status == 200 and t.feed()["paused_until"] is None


def test_a_paused_host_is_told(told, origin):
    """A 429 pauses all of the host: also a feed that has not failed itself is told to be paused."""
    t = told("--pause", "on")
    t.site["/g"] = feed(FRESH)
    t.get(path="/g")
    t.site["/f"] = message("429 X", "Retry-After: 600")
    t.get()
    assert t.feed("/g")["paused_for"] == "429" and t.feed("/g")["last_error"] is None
    assert t.feed("/g")["next_fetch"] >= t.feed("/g")["expires"] and t.admin.metrics()["utfeed_paused_hosts"] == 1
    assert f'name="host" value="{origin.url}"' in t.admin.ask("/paused").body.decode()
    assert b"1 pause ended." in t.admin.post("/paused", f"host={origin.url}").body


def test_hostile_names_of_pauses(told, origin):
    """Markup in a URL stays text, and a secret is neither shown nor in a button."""
    t = told("--pause", "on")
    for path in ("/a?q=%22%3E%3Cscript%3E&x='y", "/s?token=s3cr3t"):
        t.site[path] = message("503 X", "Retry-After: 600")
        t.get(path=path)
    html = t.admin.ask("/paused").body.decode()
    assert "<script" not in html and "s3cr3t" not in html and "token=***" in html and html.count(">Resume</button>") == 2      # of the host, and of /a


def test_the_page_of_pauses_is_bounded(told):
    t = told("--pause", "on", workers="1")
    t.site["*"] = message("503 X")
    client = t.proxy.client()
    for i in range(230):
        assert client.get(f"/{i}").status == 503
    html = t.admin.ask("/paused").body.decode()
    assert "200 of 230 pauses" in html and html.count(">Resume</button>") == 200
