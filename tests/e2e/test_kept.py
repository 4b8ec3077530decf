"""The last good feed is kept (keep-feed): whatever its origin does instead, clients get it, and what takes its place is a feed.

Pauses are off here (pause): each request asks its origin, so that Cache-Status tells what that one said.
"""
import gzip
import re
import threading
import time

import pytest

from certs import server_context
from pages import FRESH, Site, page
from peers import Background
from wire import TIMEOUT, Cut, chunked, message

OLD = "Cache-Control: max-age=0"
DAY = 86400
GOOD = b"<?xml version='1.0'?><rss version='2.0'><channel><title>good</title></channel></rss>"
NEW = GOOD.replace(b"good", b"new")
HTML = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body></body></html>"
ATOM = b"<?xml version='1.0'?><feed xmlns='http://www.w3.org/2005/Atom'><title>new</title></feed>"
JSON_FEED = b'{"version": "https://jsonfeed.org/version/1.1", "title": "new", "items": []}'
STATUSES = [401, 402, 403, 404, 406, 408, 410, 421, 425, 429, 451, 500, 501, 502, 503, 504, 507, 511, 520, 522, 526, 530, 599]


@pytest.fixture
def site(origin):
    return Site(origin)


@pytest.fixture(params=["gateway", "route"])
def way(request, start, origin):
    """A function of options that starts utfeed and gives get(path, field...) by one of the two ways in."""
    def run(*options, using=start):
        prefix = f"/{origin.url}" if request.param == "gateway" else ""
        route = ["--route", f"/={origin.url} follow-redirects=on"] if request.param == "route" else []
        proxy = using(None, "--pause", "off", *options, *route)
        get = lambda path, *fields, **kind: proxy.get(prefix + path, *fields, **kind)
        get.proxy, get.prefix = proxy, prefix
        return get
    return run


def feed(*fields, body=GOOD, kind="application/rss+xml"):
    return page(*fields, body=body, kind=kind)


def is_kept(got, status=None, body=GOOD):
    """The feed whole, its age, and what Cache-Status tells."""
    said = f"; fwd-status={status}" if status else ""
    assert (got.status, got.body) == (200, body) and int(got["Age"]) >= 0, got.head
    assert got.all("Cache-Status")[-1] == f"utfeed; hit; fwd=stale{said}; detail=kept"


def found(proxy):
    """Waits until the stores give the feed: one behind memory is written and connected to behind the answers."""
    until = time.monotonic() + TIMEOUT
    while proxy.get("/f", "Cache-Control: only-if-cached, max-stale").status != 200:
        assert time.monotonic() < until, "not stored"


def stored(proxy, another):
    """Waits until the store behind memory has it: another process of that store gives it. A store that is connected to meanwhile takes what
    comes after."""
    until = time.monotonic() + TIMEOUT
    while another.get("/f", "Cache-Control: only-if-cached, max-stale").status != 200:
        assert time.monotonic() < until and proxy.get("/f").status == 200


def closing(data):
    return lambda _: (data, "close")


def unframed(body, *fields, version="HTTP/1.1"):
    """The end of the connection is that of the body (RFC 9112 section 6.3)."""
    return message(f"{version} 200 OK", "Content-Type: application/rss+xml", *fields, body=body, length=False)


FAILURES = {
    **{f"{status}": (lambda site, status=status: message(f"{status} X", body=b"no"), status) for status in STATUSES},
    "404 that names a lifetime": (lambda _: message("404 X", "Cache-Control: public, max-age=3600"), 404),
    "204": (lambda _: message("204 No Content", length=False), 204),
    "202": (lambda _: page(body=HTML, kind="text/html", status="202 Accepted"), 202),
    "an empty 200": (lambda _: page(body=b"", kind="text/xml"), 200),
    "an empty 200 in chunks": (lambda _: message("200 OK", "Content-Type: text/xml", "Transfer-Encoding: chunked", body=chunked(b"")), 200),
    "a page": (lambda _: page(body=HTML, kind="text/html"), 200),
    "a page as a feed": (lambda _: feed(body=HTML), 200),
    "a page that may not be stored": (lambda _: page("Cache-Control: no-store, private", body=HTML, kind="text/html"), 200),
    "a page that sets a cookie and varies": (lambda _: page("Set-Cookie: c=1", "Vary: *", body=HTML, kind="text/html"), 200),
    "a page that stays fresh": (lambda _: feed(FRESH, body=HTML), 200),
    "JSON": (lambda _: page(body=b"{}", kind="application/json"), 200),
    "JSON Feed": (lambda _: page(FRESH, body=JSON_FEED, kind="application/feed+json"), 200),
    "another document": (lambda _: page(body=b"<?xml version='1.0'?><Error/>", kind="text/xml"), 200),
    "text that cannot be decoded": (lambda _: page("Content-Encoding: gzip", body=GOOD, kind="text/xml"), 200),
    "a body cut in its length": (closing(feed("Content-Length: 90")), 200),
    "a body cut in its chunks": (closing(message("200 OK", "Content-Type: text/xml", "Transfer-Encoding: chunked", body=b"50\r\n" + NEW[:0x50] + b"\r\n")), 200),
    "a root left open": (closing(unframed(NEW[:-20], FRESH)), 200),
    "a root left open in HTTP/1.0": (closing(unframed(NEW[:60], FRESH, version="HTTP/1.0")), 200),
    "a root left open in a tag": (closing(unframed(NEW[:-3], FRESH)), 200),
    "a root left open in its tag": (closing(unframed(NEW[:30], FRESH)), 200),
    "a root left open and unlabelled": (closing(unframed(NEW[22:-20].replace(b"new", "n\xe9w".encode("latin-1")), FRESH)), 200),
    "a head that breaks off": (closing(b"HTTP/1.1 200 OK\r\nContent-"), None),
    "no head at all": (closing(b""), None),
    "another protocol": (closing(b"220 ready\r\n\r\n"), None),
    "a 304 that nobody asked for": (lambda _: message("304 Not Modified", length=False), 304),
    "a 206 that nobody asked for": (lambda _: page("Content-Range: bytes 0-1/9", body=b"ab", status="206 Partial Content"), 206),
    "a redirect to a 404": (lambda _: message("302 Found", "Location: /gone"), 404),
    "a permanent redirect to a page": (lambda _: message("301 Moved", "Location: /login", FRESH), 200),
    "a redirect to what is no http": (lambda _: message("302 Found", "Location: ftp://example.org/f"), 302),
    "a redirect to no URL": (lambda _: message("301 Moved", "Location: http://[", FRESH), 301),
    "a redirect to nowhere": (lambda _: message("308 Moved", FRESH), 308),
    "several choices": (lambda _: message("300 Multiple Choices", "Content-Type: text/html", body=HTML), 300),
    "redirects in a circle": (lambda request: message("302 Found", f"Location: {request.target}"), None),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_every_failure_gives_the_kept_feed(way, site, failure):
    answer, status = FAILURES[failure]
    get = way("--redirects", "3")
    site["/f"] = feed(OLD)
    site["/login"] = page(body=HTML, kind="text/html")
    assert get("/f").body == GOOD
    site["/f"] = (lambda request: answer(request)) if callable(answer) else answer
    for fields in ((), ("Cache-Control: no-cache",), ("Pragma: no-cache",)):
        is_kept(get("/f", *fields), status)
    assert get("/f", method="HEAD").status == 200
    assert get.proxy.counters()["cache_kept"] == 4
    site["/f"] = feed(OLD, body=NEW)
    assert get("/f").body == NEW


def test_a_redirect_comes_through_where_none_is_followed(way, site):
    get = way("--redirects", "0")
    site["/f"] = feed(OLD)
    assert get("/f").body == GOOD
    site["/f"] = message("302 Found", "Location: ftp://example.org/f")
    assert (get("/f").status, get("/f")["Location"]) == (302, "ftp://example.org/f")


@pytest.mark.parametrize("failure", ["403", "404 that names a lifetime", "a page that stays fresh", "a page that may not be stored", "no head at all"])
def test_every_store_keeps_it_over_a_restart(start, origin, site, store, failure):
    answer, status = FAILURES[failure]
    options = [f"--route=/={origin.url}", "--pause", "off", "--workers", "2", *store]
    proxy = start(None, *options)
    site["/f"] = feed(OLD)
    proxy.get("/f")
    if store:
        another = start(None, *options)
        stored(proxy, another)
        another.stop()
        proxy.stop()
        proxy = start(None, *options)
        found(proxy)
    site["/f"] = answer
    for _ in range(4):
        is_kept(proxy.get("/f"), status)


@pytest.mark.parametrize("kind", ["lmdb", "redis"])
def test_another_process_gives_it_too(start, origin, site, tmp_path, redis_server, kind):
    """Two processes share a store; the one that never read the feed gives it."""
    options = ["--cache-lmdb", str(tmp_path)] if kind == "lmdb" else ["--cache-redis", f"127.0.0.1:{redis_server('redis-server').port}"]
    first, second = (start(origin, "--pause", "off", *options) for _ in range(2))
    site["/f"] = feed(OLD)
    first.get("/f")
    stored(first, second)
    site["/f"] = page(FRESH, body=HTML, kind="text/html")
    for proxy in (second, first, second):
        is_kept(proxy.get("/f"), 200)
    first.get("/f", method="PURGE")
    for proxy in (second, first):
        assert proxy.get("/f").body == HTML


def test_tls_that_fails(trusting, tls_origin, good, authority):
    origin = tls_origin(server_context(good))
    proxy = trusting(origin, "--pause", "off")
    assert proxy.through(origin, feed(OLD), "/f", close=True)[0].body == GOOD
    origin.secure(server_context(authority.issue("localhost", names="DNS:other.test")))
    client = proxy.client().ask("/f")
    origin.refused()
    is_kept(client.response())


def test_a_feed_that_grew_too_large_to_store(start, origin, site):
    """Clients get it; the last one that was stored is stale, and stays."""
    proxy = start(origin, "--pause", "off", "--reload-floor", "0", "--cache-object-max", "64k")
    site["/f"] = feed(FRESH)
    proxy.get("/f")
    site["/f"] = feed(FRESH, body=NEW.replace(b"</channel>", b"<item><title>word</title></item>" * 3_000 + b"</channel>"))
    for fields in (["Cache-Control: no-cache"], []):
        assert b"word" in proxy.get("/f", *fields).body
    site["/f"] = message("404 X")
    is_kept(proxy.get("/f"), 404)


def test_nobody_listens(way, origin, site):
    get = way()
    site["/f"] = feed(OLD)
    get("/f")
    origin.close()
    is_kept(get("/f"))


def test_silence(timed, clock, way, site):
    get, asked, over = way("--first-byte-timeout", "20s", using=timed), threading.Event(), threading.Event()
    site["/f"] = feed(OLD)
    get("/f")
    site["/f"] = lambda _: (asked.set(), over.wait(TIMEOUT), (b"", "close"))[-1]
    answer = Background(get, "/f")
    assert asked.wait(TIMEOUT)
    is_kept(clock.passes(21, answer))
    over.set()


@pytest.mark.parametrize("status", [400, 405, 407, 409, 411, 412, 413, 414, 415, 416, 417, 422, 423, 424, 426, 428, 431])
def test_other_errors_come_through_and_replace_nothing(way, site, status):
    get = way()
    site["/f"] = feed(OLD)
    get("/f")
    site["/f"] = message(f"{status} X", FRESH)
    assert get("/f").status == status
    site["/f"] = message("503 X")
    is_kept(get("/f"), 503)


@pytest.mark.parametrize("body,kind", [
    (ATOM, "application/atom+xml"), (NEW, "text/html"), (NEW, "application/json"), (NEW, "application/octet-stream"), (b"\xef\xbb\xbf" + NEW, "text/xml"),
    (b"<rss version='2.0'><channel/></rss>", "text/xml"), (b"<?xml version='1.0'?><rdf:RDF><channel/></rdf:RDF>", "text/xml")])
def test_another_feed_takes_its_place(way, site, body, kind):
    get = way()
    site["/f"] = feed(OLD)
    get("/f")
    site["/f"] = feed(OLD, body=body, kind=kind)
    new = get("/f")
    assert new.status == 200 and b"good" not in new.body and "kept" not in new["Cache-Status"]
    site["/f"] = message("404 X")
    is_kept(get("/f"), 404, new.body)


@pytest.mark.parametrize("body,kind", [(HTML, "text/html"), (HTML, "application/rss+xml"), (JSON_FEED, "application/feed+json"), (b"no", "text/plain")])
def test_what_never_was_a_feed_is_not_kept(way, site, body, kind):
    get = way()
    site["/f"] = page(OLD, body=body, kind=kind)
    get("/f")
    site["/f"] = message("404 X")
    assert get("/f").status == 404


@pytest.mark.parametrize("said,kept", [
    ("max-age=0, must-revalidate", False), ("max-age=0, proxy-revalidate", False), ("s-maxage=0", False), ("no-cache", False), ("no-store", False),
    ("private", False), ("max-age=0, must-revalidate, stale-if-error=60", True), ("no-cache, stale-if-error=60", True), ("s-maxage=0, stale-if-error=60", True),
    ("max-age=0, stale-if-error=1", True)])
def test_what_forbids_it(way, site, said, kept):
    """RFC 9111 sections 4.2.4 and 5.2.2: stale-if-error is an exception that the origin makes itself."""
    get = way()
    site["/f"] = feed("Cache-Control: " + said)
    get("/f")
    site["/f"] = message("403 X")
    assert get("/f").status == (200 if kept else 403)


@pytest.mark.parametrize("how", ["purge", "soft purge", "DELETE"])
def test_what_was_removed_is_gone(start, origin, site, how):
    proxy = start(origin, "--pause", "off")
    site["/f"] = feed(FRESH)
    proxy.get("/f")
    if how == "DELETE":
        site["/f"] = message("204 No Content", length=False)
        proxy.get("/f", method="DELETE")
    else:
        proxy.get("/f", *(["X-Purge: soft"] if "soft" in how else []), method="PURGE")
    site["/f"] = message("403 X")
    assert proxy.get("/f").status == (200 if "soft" in how else 403)


def test_a_purge_ends_what_a_fetch_under_way_would_have_kept(start, origin):
    proxy = start(origin, "--pause", "off")
    proxy.through(origin, feed(OLD), "/f")
    client = proxy.client().ask("/f")
    upstream = origin.receive()
    assert proxy.get("/f", method="PURGE").status == 200
    upstream.answer(message("403 X"))
    assert client.response().status == 403


def test_a_purge_ends_what_those_who_wait_would_have_kept(start, origin):
    """Who waits for another one's fetch asks the stores again, if that fetch brings nothing for him."""
    proxy = start(origin, "--slow-after", "0")
    proxy.through(origin, feed(OLD), "/f")
    first = proxy.client().ask("/f")
    upstream = origin.receive()
    second = proxy.client().ask("/f")
    second.drained()
    assert proxy.get("/f", method="PURGE").status == 200
    upstream.answer(message("429 X"))
    assert first.response().status == second.response().status == 429


@pytest.mark.parametrize("status,fields,kept", [(401, ("Authorization: Basic YTpi",), False), (402, ("Authorization: Basic YTpi",), False),
                                                (403, ("Authorization: Basic YTpi",), False), (404, ("Authorization: Basic YTpi",), True), (401, (), True)])
def test_a_refusal_of_credentials_is_the_clients_own(start, origin, site, status, fields, kept):
    proxy = start(None, "--pause", "off", "--route", f"/={origin.url} authorization=on")
    site["/f"] = feed("Cache-Control: public, max-age=0")
    proxy.get("/f", "Authorization: Basic YTpi")
    site["/f"] = message(f"{status} X", "Cache-Control: public, max-age=60")
    assert proxy.get("/f", *fields).status == (200 if kept else status)
    is_kept(proxy.get("/f"), status)


def test_who_waited_with_the_refused_one_gets_the_feed(start, origin):
    proxy = start(None, "--pause", "off", "--workers", "2", "--route", f"/={origin.url} authorization=on")
    proxy.through(origin, feed("Cache-Control: public, max-age=0"), "/f", "Authorization: Basic YTpi")
    first = proxy.client().ask("/f", "Authorization: Basic eA==")
    upstream = origin.receive()
    second = proxy.client().ask("/f")
    second.drained()
    upstream.answer(message("401 X"))
    assert first.response().status == 401
    origin.receive().answer(message("403 X"))
    is_kept(second.response(), 403)


@pytest.mark.parametrize("page_fields", [(), ("Cache-Control: no-store, private",), ("Vary: User-Agent",), ("Set-Cookie: a=b",)])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_twenty_clients_and_a_challenge_page(start, origin, workers, page_fields):
    """All of them wait for one fetch, whatever each says to caches."""
    proxy = start(origin, "--pause", "off", "--workers", workers)
    proxy.through(origin, feed(OLD), "/f")
    clients = [proxy.client().ask("/f")]
    upstream = origin.receive()
    said = [(), ("Cache-Control: no-cache",), ("Cache-Control: max-age=0",), ("Cache-Control: no-store",), ("User-Agent: b",)]
    clients += [proxy.client().ask("/f", *said[n % len(said)]) for n in range(19)]
    for client in clients:
        client.drained()
    origin.wait(0.05)
    upstream.answer(page(*page_fields, body=HTML, kind="text/html"))
    for client in clients:
        is_kept(client.response(), 200)
    assert proxy.counters()["fetches"] == 2


def test_each_variant_is_kept(start, origin, site):
    proxy = start(origin, "--pause", "off")
    site["/f"] = lambda request: feed(OLD, "Vary: Accept-Language", body=GOOD.replace(b"good", request["Accept-Language"].encode()))
    for name in ("de", "en"):
        proxy.get("/f", f"Accept-Language: {name}")
    site["/f"] = message("404 X", "Vary: *", FRESH)
    for name in ("de", "en", "de"):
        is_kept(proxy.get("/f", f"Accept-Language: {name}"), 404, GOOD.replace(b"good", name.encode()))
    assert proxy.get("/f", "Accept-Language: fr").status == 404
    is_kept(proxy.get("/f", "Accept-Language: de"), 404, GOOD.replace(b"good", b"de"))


def test_conditions_and_ranges(way, site):
    get = way()
    site["/f"] = feed(OLD, 'ETag: "one"')
    tag = get("/f")["ETag"]
    site["/f"] = message("403 X")
    for fields, status in (((f"If-None-Match: {tag}",), 304), (('If-None-Match: "two"',), 200), ((f"If-Match: {tag}",), 200), (('If-Match: "two"',), 412),
                           (("Range: bytes=0-4",), 206), (("Range: bytes=9000-",), 416)):
        got = get("/f", *fields)
        assert got.status == status and "detail=kept" in got["Cache-Status"], fields
        assert status != 206 or got.body == GOOD[:5]


def test_only_if_cached_is_as_it_was(way, site):
    get = way()
    site["/f"] = feed(OLD)
    get("/f")
    assert get("/f", "Cache-Control: only-if-cached").status == 504


def test_it_ends(timed, clock, way, origin, site):
    """24 hours after its lifetime ended, or after it was confirmed. Then the error comes through, and may be stored."""
    get = way(using=timed)
    site["/f"] = lambda request: message("304 Not Modified", length=False) if request["If-None-Match"] else feed("Cache-Control: max-age=100", 'ETag: "a"')
    get("/f")
    clock.at(50_000)
    assert get("/f").status == 200
    site["/f"] = message("404 X", "Cache-Control: max-age=50")
    for later, kept in ((50_000 + 100, True), (50_000 + 100 + DAY - 1, True), (50_000 + 100 + DAY, False)):
        clock.at(later)
        got = get("/f")
        assert got.status == (200 if kept else 404), later
    count = site.count("/f")
    assert get("/f").status == 404 and site.count("/f") == count, "stored as usual"
    site["/f"] = message("503 X")
    clock.at(50_000 + 100 + DAY + 60)
    assert get("/f").status == 503


def test_a_clock_set_back(timed, clock, origin, site):
    proxy = timed(origin, "--pause", "off")
    site["/f"] = feed(OLD)
    proxy.get("/f")
    site["/f"] = message("403 X")
    clock.at(-3600)
    is_kept(proxy.get("/f"), 403)


@pytest.mark.parametrize("option,route,status", [("0", "", 403), ("1h", "keep-feed=0", 403), ("0", "keep-feed=1h", 200), ("1h", "normalise=off", 403)])
def test_by_option(start, origin, site, option, route, status):
    proxy = start(None, "--pause", "off", "--keep-feed", option, "--route", f"/={origin.url} {route}")
    site["/f"] = feed(OLD)
    proxy.get("/f")
    site["/f"] = message("403 X")
    assert proxy.get("/f").status == status


def test_forward_requests_keep_to_the_rules(start, origin, site):
    proxy = start()
    site["/f"] = feed(OLD)
    proxy.get(f"{origin.url}/f")
    site["/f"] = message("403 X")
    assert proxy.get(f"{origin.url}/f").status == 403


@pytest.mark.parametrize("status", [408, 421])
@pytest.mark.parametrize("again", [200, 404])
def test_a_status_of_the_connection_is_tried_on_another(way, origin, status, again):
    get = way()
    client = get.proxy.client().ask(get.prefix + "/f")
    first = origin.receive()
    first.answer(message(f"{status} X"))
    second = origin.receive()
    assert second is not first
    second.answer(feed(OLD) if again == 200 else message("404 X"))
    assert client.response().status == again and get.proxy.counters()["fetches_retried"] == 1


def test_one_request_under_each_failure(start, origin, site):
    """Whatever makes the kept feed answer pauses the URL, so that five clients ask its origin once."""
    proxy = start(None, "--workers", "2", "--redirects", "3", "--policy", "rome-strict")
    for number, (answer, _) in enumerate(FAILURES.values()):
        path = f"/{number}"
        # a pause of the host would hide what comes of the URL
        if number in (list(FAILURES).index("429"),):
            continue
        site[path] = feed(OLD)
        assert proxy.get(f"/{origin.url}{path}").body == GOOD
        before, site[path] = site.count(path), answer
        for _ in range(5):
            got = proxy.get(f"/{origin.url}{path}", "Cache-Control: no-cache")
            assert got.body == GOOD and "detail=kept" in got["Cache-Status"], list(FAILURES)[number]
        again = 2 if list(FAILURES)[number] in ("408", "421", "no head at all", "a 304 that nobody asked for") else 1
        assert site.count(path) - before <= again, list(FAILURES)[number]


def test_a_feed_that_cannot_be_decoded_pauses(start, origin, site):
    proxy = start(None, "--policy", "rome-strict")
    site["/f"] = feed(OLD)
    assert proxy.get(f"/{origin.url}/f").body == GOOD
    site["/f"] = feed(OLD, kind="text/plain")
    for _ in range(3):
        is_kept(proxy.get(f"/{origin.url}/f"), 200)
    assert site.count("/f") == 2


@pytest.mark.parametrize("framed", [True, False], ids=["length", "close"])
def test_a_long_body_that_is_cut(way, origin, framed):
    """What is longer than the window is cut for who reads it, and stored nowhere."""
    get = way()
    client = get.proxy.client().ask(get.prefix + "/f")
    origin.receive().answer(feed(OLD))
    assert client.response().body == GOOD
    long = NEW.replace(b"</channel>", b"<item><title>word</title></item>" * 10_000 + b"</channel>")
    client = get.proxy.client().ask(get.prefix + "/f")
    origin.receive().answer((feed(FRESH, body=long) if framed else unframed(long, FRESH))[:-400], close=True)
    with pytest.raises(Cut):
        client.response()
    client = get.proxy.client().ask(get.prefix + "/f")
    origin.receive().answer(message("503 X"))
    is_kept(client.response(), 503)


OPEN = NEW[:-len(b"</channel></rss>")]
# The framing tells the end, so the publisher left the root open; or the connection ends behind the root.
WHOLE = {"length": feed(FRESH, body=OPEN), "chunks": message("200 OK", "Content-Type: text/xml", FRESH, "Transfer-Encoding: chunked", body=chunked(OPEN)),
         "gzip": unframed(gzip.compress(OPEN), FRESH, "Content-Encoding: gzip"), "closed root": unframed(NEW, FRESH),
         "comment behind it": unframed(NEW + b"<!-- made", FRESH), "empty root": unframed(b"<rss version='2.0'/>", FRESH),
         "mended": unframed(NEW.replace(b"</title>", b"<br></titel>"), FRESH)}


@pytest.mark.parametrize("reply", WHOLE.values(), ids=WHOLE)
def test_what_is_whole_takes_its_place(way, origin, reply):
    get = way("--reload-floor", "0")
    client = get.proxy.client().ask(get.prefix + "/f")
    origin.receive().answer(feed(OLD))
    assert client.response().body == GOOD
    client = get.proxy.client().ask(get.prefix + "/f")
    origin.receive().answer(reply, close=True)
    new = client.response()
    assert b"good" not in new.body and "stored" in new["Cache-Status"]
    assert ttl(get("/f")) > 500
    client = get.proxy.client().ask(get.prefix + "/f", "Cache-Control: no-cache")
    origin.receive().answer(message("503 X"))
    is_kept(client.response(), 503, new.body)


def ttl(got):
    return int(re.search(r"utfeed; hit; ttl=(\d+)$", got.all("Cache-Status")[-1])[1])


@pytest.mark.parametrize("options", [[], ["--keep-feed", "0"]], ids=["kept", "not kept"])
def test_a_first_feed_whose_root_stays_open(way, origin, options):
    """Nothing is lost: its client gets what came. It is stored for a minute, not confirmed by a 304, and not kept."""
    get = way("--reload-floor", "0", *options)
    for fields in ([], ["Cache-Control: no-cache"]):
        client = get.proxy.client().ask(get.prefix + "/f", *fields)
        upstream = origin.receive()
        assert not {"if-none-match", "if-modified-since"} & upstream.request.names()
        upstream.answer(unframed(OPEN, "Cache-Control: max-age=600, stale-while-revalidate=600", 'ETag: "a"'), close=True)
        assert client.response().body == OPEN
        assert 0 < ttl(get("/f")) <= 60
    client = get.proxy.client().ask(get.prefix + "/f", "Cache-Control: no-cache")
    origin.receive().answer(message("403 X"))
    assert client.response().status == 403
    client = get.proxy.client().ask(get.prefix + "/f", "Cache-Control: no-cache")
    origin.receive().answer(feed(FRESH))
    assert client.response().body == GOOD and ttl(get("/f")) > 500


@pytest.mark.parametrize("mode", ["forward", "normalise=off"])
def test_without_keeping_the_connection_may_end_the_body(start, origin, mode):
    """RFC 9112 section 8: the response is complete, as far as HTTP can tell."""
    proxy = start(None, "--reload-floor", "0", *([] if mode == "forward" else ["--route", f"/={origin.url} normalise=off"]))
    target = f"{origin.url}/f" if mode == "forward" else "/f"
    for body, fields in ((GOOD, []), (OPEN, ["Cache-Control: no-cache"])):
        assert proxy.through(origin, unframed(body, FRESH), target, *fields, close=True)[0].body == body
        got = proxy.get(target)
        assert got.body == body and ttl(got) > 500


@pytest.mark.parametrize("policy", ["auto", "rfc7303", "rome-lenient"])
def test_a_body_cut_within_the_window_under_each_policy(start, origin, policy):
    proxy = start(origin, "--pause", "off", "--policy", policy)
    good = proxy.through(origin, feed(OLD), "/f")[0].body
    long = NEW.replace(b"</channel>", b"<item/>" * 5_000 + b"</channel>")
    for reply in (feed(body=long), unframed(long)):
        is_kept(proxy.through(origin, reply[:-9], "/f", close=True)[0], 200, good)


def test_the_access_log_tells(start, origin, site):
    proxy = start(origin, "--pause", "off", "--log-format", "json")
    site["/f"] = feed(OLD)
    proxy.get("/f")
    site["/f"] = message("403 X")
    proxy.get("/f")
    line = proxy.access_lines(2)[1]
    assert re.search(rb'"cache":"stale","fwd_status":403,.*"cache_detail":"kept"', line), line


def test_a_304_to_credentials_takes_the_feed_from_nobody(way, site):
    """It may not be stored (RFC 9111 section 3.5), but what is stored already stays."""
    get = way()
    site["/f"] = feed(OLD, 'ETag: "a"')
    get("/f")
    site["/f"] = message("304 Not Modified", 'ETag: "a"', length=False)
    assert get("/f", "Authorization: Bearer a").body == GOOD
    site["/f"] = message("404 X")
    is_kept(get("/f"), 404)


# ---- slow origins (slow-after) ----

def hung(proxy, origin, *fields, path="/f"):
    """A feed is kept, and a client's request for it has come to the origin, which says nothing."""
    proxy.through(origin, feed(OLD), path)
    client = proxy.client().ask(path, *fields)
    return client, origin.receive()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_slow_origin_gives_the_kept_feed_to_all(start, origin, workers):
    """Each of twenty clients is answered though the origin says nothing, by one fetch, whose feed the next one gets. Who comes when the fetch
    has waited for so long waits no more."""
    proxy = start(origin, "--slow-after", "500ms", "--workers", workers)
    first, upstream = hung(proxy, origin)
    clients = [first] + [proxy.client().ask("/f", *(["Cache-Control: no-cache"] if n % 2 else [])) for n in range(19)]
    for client in clients:
        is_kept(client.response())
    seconds = []
    for _ in range(10):         # a busy machine delays one or the other, a wait would delay each
        began = time.monotonic()
        is_kept(proxy.get("/f"))
        seconds.append(time.monotonic() - began)
    assert min(seconds) < 0.4 and not origin.asked()
    upstream.answer(feed(FRESH, body=NEW))
    for _ in range(200):
        if (got := proxy.get("/f")).body == NEW:
            break
    assert got.body == NEW and "hit" in got["Cache-Status"] and proxy.counters()["fetches"] == 2


def next_one(proxy, origin):
    """What the next client gets, whether it still waits with the slow fetch, or asks a refusing origin by itself."""
    client = proxy.client().ask("/f")
    if origin.asked_before_answer(client):
        origin.receive().answer(message("403 X"))
    return client.response()


@pytest.mark.parametrize("answer", ["503 X", "404 X", "page", "cut", "no-store"])
def test_a_late_answer_does_no_harm(start, origin, answer):
    """An error, a page, or a feed that may not be stored and that nobody reads."""
    proxy = start(origin, "--slow-after", "50ms", "--pause", "off")
    client, upstream = hung(proxy, origin)
    is_kept(client.response())
    upstream.answer({"page": page(body=HTML, kind="text/html"), "cut": feed(body=NEW)[:-5], "no-store": feed("Cache-Control: no-store", body=NEW)}.get(answer) or
                    message(answer), close=True)
    for _ in range(3):
        got = next_one(proxy, origin)
        assert got.body == GOOD and "detail=kept" in got["Cache-Status"]


def test_a_connection_that_closes_late_does_no_harm(start, origin):
    proxy = start(origin, "--slow-after", "50ms", "--pause", "off")
    client, upstream = hung(proxy, origin)
    is_kept(client.response())
    upstream.close()
    origin.receive().close()           # the request went out again, because its connection had been open before
    assert proxy.counted("fetches_failed", 1) == 1
    assert next_one(proxy, origin).body == GOOD


@pytest.mark.parametrize("good,options", [((OLD + ", must-revalidate",), ()), (("Cache-Control: no-store",), ()), ((OLD,), ("--slow-after", "0")),
                                          ((OLD,), ("--keep-feed", "0"))])
def test_who_has_nothing_kept_waits(start, origin, good, options):
    proxy = start(origin, "--slow-after", "50ms", *options)
    proxy.through(origin, feed(*good), "/f")
    client = proxy.client().ask("/f")
    upstream = origin.receive()
    assert not client.heard(0.4)
    upstream.answer(feed(FRESH, body=NEW))
    assert client.response().body == NEW


def test_who_waits_while_the_kept_feed_is_purged_makes_no_more_requests(start, origin):
    """When slow-after is over, nothing is kept any more: the client waits, and utfeed does not ask again and again. Its fetch is one that
    nobody joins, because the answer before was its client's own."""
    proxy = start(origin, "--slow-after", "300ms", "--pause", "off")
    proxy.through(origin, feed(OLD), "/f")
    proxy.through(origin, feed("Set-Cookie: a=1"), "/f")
    client = proxy.client().ask("/f")
    uploads = [origin.receive()]
    assert proxy.get("/f", method="PURGE").status == 200
    while origin.wait(0.6)[0]:
        uploads.append(origin.receive())
        assert len(uploads) <= 2, "the origin is asked again and again"
    for each in uploads:
        each.answer(feed(FRESH, body=NEW))
    assert client.response().body == NEW


def test_a_slow_fetch_ends_with_its_timeout(start, origin):
    proxy = start(origin, "--slow-after", "50ms", "--first-byte-timeout", "1s")
    client, _ = hung(proxy, origin)
    is_kept(client.response())
    assert proxy.counted("fetches_failed", 1) == 1


def test_one_connection_waits_for_one_request_after_another(start, origin):
    """The wait of one request does not end that of the next one on its connection."""
    proxy = start(origin, "--slow-after", "100ms")
    client, upstream = hung(proxy, origin)
    is_kept(client.response())
    client.ask("/new")
    second = origin.receive()
    assert not client.heard(0.3)
    second.answer(feed(FRESH, body=NEW))
    assert client.response().body == NEW
    upstream.answer(feed(FRESH))
