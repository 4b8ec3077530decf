"""log-level = debug tells the steps of each request, behind the id that its access line has; without it none is told."""
import re

import pytest

from feeds import SMALL
from pages import FRESH, Site, page
from peers import Background
from wire import message

XML = "application/xml"
DEBUG = ("--log-level", "debug")
ID = re.compile(r" id=(c\d+\.\d+) route=(\S+)(?: origin_host=\S+)?$")


@pytest.fixture
def site(origin):
    return Site(origin)


def steps(proxy, which, last="answer: "):
    """What is told of the request with that id, once its last step is."""
    proxy.says(f"utfeed: debug: {which}: {last}")
    return re.findall(rf"^utfeed: debug: {re.escape(which)}: (.*)$", proxy.err.text(), re.M)


def words(told):
    """Each step without what differs from run to run."""
    return [re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", step) for step in told]


@pytest.mark.http1_origin("the steps of a fetch without TLS")
def test_a_miss_and_a_hit(start, origin, site):
    site["/f"] = page(FRESH, body=SMALL, kind=XML)
    proxy = start(origin, *DEBUG)
    client = proxy.client()
    length = len(client.get("/f").body)
    assert len(client.get("/f").body) == length
    miss, hit = words(steps(proxy, "c1.1")), words(steps(proxy, "c1.2"))
    assert sorted(miss) == sorted([
        "request: GET /f from ADDRESS", "fetch: GET http://ADDRESS/f", "lookup: miss", "fetch: connected to ADDRESS", "fetch: head, status 200",
        next(step for step in miss if step.startswith("encoding: auto:")), f"fetch: done, {len(SMALL)} bytes of body", "store: done",
        f"answer: status 200, done after {length} bytes of body"])
    assert hit == ["request: GET /f from ADDRESS", "lookup: hit", f"answer: status 200, done after {length} bytes of body"]


def test_ids_count_connections_and_requests(start, origin, site):
    """Over all workers no two requests have one id, and the access line's is the log's."""
    site["*"] = page(FRESH)
    proxy = start(origin, *DEBUG, "--workers", "2")
    for _ in range(6):
        client = proxy.client()
        for _ in range(3):
            client.get("/f")
    ids = [ID.search(line.decode().rstrip("\n"))[1] for line in proxy.access_lines(18)]
    assert sorted(ids) == sorted(f"c{connection}.{request}" for connection in range(1, 7) for request in range(1, 4))
    for each in ids:
        assert steps(proxy, each)[0].startswith("request: GET /f from ")


# The page, what is asked before, what of the last request's steps must be told
TOLD = {
    "revalidated": (lambda request: message("304 Not Modified", FRESH, length=False) if request["If-None-Match"] else
                    page("Cache-Control: max-age=1", "Age: 100", 'ETag: "a"'), 1,
                    ["lookup: revalidate", "fetch: head, status 304", "store: confirmed"]),
    "stale": (page("Cache-Control: max-age=1, stale-while-revalidate=600", "Age: 100"), 1, ["lookup: stale"]),
    "not stored": (page("Cache-Control: no-store"), 0, ["lookup: miss", "store: no, no-store"]),
    "the origin errs": (message("503 X"), 0, ["fetch: head, status 503"]),
}


@pytest.mark.parametrize("what", TOLD)
def test_what_is_told(start, origin, site, what):
    site["/f"], before, want = TOLD[what]
    proxy = start(origin, *DEBUG)
    client = proxy.client()
    for _ in range(before + 1):
        client.get("/f")
    told = steps(proxy, f"c1.{before + 1}")
    for step in want:
        assert any(each.startswith(step) for each in told), (step, told)


def test_who_waits_is_told_apart_from_who_fetches(start, origin):
    proxy = start(origin, *DEBUG)
    first = Background(proxy.get, "/f")
    upstream = origin.receive()
    second = Background(proxy.get, "/f")
    proxy.says("lookup: collapsed")
    upstream.answer(page(FRESH))
    first.join()
    second.join()
    assert "lookup: miss" in steps(proxy, "c1.1") and "store: done" in steps(proxy, "c1.1")
    told = steps(proxy, "c2.1")
    assert "lookup: collapsed" in told and not any(step.startswith("fetch") for step in told)


def test_redirects_and_retries_are_told(start, origin, site):
    site["/f"] = message("302 Found", f"Location: {origin.url}/g")
    site["/g"] = page(FRESH)
    proxy = start(None, "--route", f"/={origin.url} follow-redirects=on", *DEBUG)
    proxy.get("/f")
    told = steps(proxy, "c1.1")
    assert told.index("fetch: redirected") < told.index(f"fetch: GET {origin.url}/g")


def test_a_dead_connection_is_told(start, origin):
    proxy = start(origin, "--cache", "off", *DEBUG)
    client = proxy.client().ask("/f")
    origin.receive().answer(page(FRESH))
    client.response()
    client.ask("/g")
    origin.receive().close()
    origin.receive().answer(page(FRESH))
    client.response()
    assert any(step.startswith("fetch: retried") for step in steps(proxy, "c1.2"))


def test_a_failed_fetch_names_its_request(start, origin):
    """At the level info too."""
    proxy = start(None, "--route", "/=http://127.0.0.1:1")
    assert proxy.get("/f").status == 502
    proxy.says("utfeed: info: c1.1: fetch http://127.0.0.1:1/f: connection_refused")
    proxy.says("utfeed: info: c1.1: 127.0.0.1: 127.0.0.1:1: Connection refused")


def test_what_clients_send_is_masked_and_escaped(start, origin):
    proxy = start(origin, *DEBUG)
    assert proxy.get("/http://user:secret@h/a").status == 400
    client = proxy.client()
    client.send(b"GET /\x1b[1m HTTP/1.1\r\nHost: h\r\n\r\n")
    client.response()
    steps(proxy, "c1.1")
    steps(proxy, "c2.1")
    assert "secret" not in proxy.err.text() and "\x1b" not in proxy.err.text()


@pytest.mark.parametrize("level", ["error", "warn", "info"])
def test_no_step_is_told_otherwise(start, origin, site, level):
    site["*"] = page(FRESH)
    proxy = start(origin, "--log-level", level)
    proxy.get("/f")
    proxy.counters()
    assert "debug" not in proxy.err.text() and "c1.1" not in proxy.err.text()


def test_debug_comes_and_goes_with_a_reload(start, origin, site, tmp_path):
    site["*"] = page(FRESH)
    path = tmp_path / "utfeed.conf"
    path.write_text("log-level = info\n")
    proxy = start(origin, "--config", str(path))
    proxy.get("/f")
    proxy.access_lines(1)
    path.write_text("log-level = debug\n")
    proxy.reload()
    proxy.get("/f")
    assert "lookup: hit" in steps(proxy, "c2.1") and "c1.1" not in proxy.err.text()


def test_the_access_line_names_the_route(start, origin, site):
    site["*"] = page(FRESH)
    proxy = start(None, "--route", f"/named={origin.url} name=news", "--route", f"/plain={origin.url}", "--gateway", "on")
    for target in ("/named/f", "/plain/f", f"/{origin.url}/f", "/nowhere"):
        proxy.get(target)
    assert [ID.search(line.decode().rstrip("\n"))[2] for line in proxy.access_lines(4)] == ["news", "/plain", "-", "-"]
