"""An origin that errs, or asks for it, is left alone for a while (pause), and hosts are asked at intervals (host-interval): what begins a
pause, for whom it holds, what clients get meanwhile, and what ends it. All clocks are the test's (clock.py)."""
import contextlib
import email.utils
import threading
import time

import pytest

from feeds import SMALL, SMALL_OUT
from pages import FRESH, Site, page
from peers import Background
from test_admin import Admin
from test_faults import error_of
from wire import TIMEOUT, Cut, message

GOOD = message("200 OK", "Content-Type: application/xml", "Cache-Control: max-age=0", body=SMALL)
BUSY = "429 Too Many Requests"
HOUR = 3600


def says(status, *fields):
    return message(status, "Content-Type: text/plain", *fields, body=b"no\n")


def ends(reply):
    """The reply, and the connection ends."""
    return lambda _: (reply, "close")


@pytest.fixture
def site(origin):
    return Site(origin)


@pytest.fixture(params=["gateway", "route"])
def way(request, timed, origin):
    """A function of options that starts utfeed and gives get(path, field...) by one of the two ways in."""
    def run(*options, prefix=f"/{origin.url}", **more):
        if request.param == "route":
            prefix, options = "", ("--route", f"/={origin.url} follow-redirects=on", *options)
        proxy = timed(None, *options, **more)
        get = lambda path, *fields, **kind: proxy.get(prefix + path, *fields, **kind)
        get.proxy = proxy
        return get
    return run


@pytest.fixture
def gateway(timed, origin):
    """get(path, field...) by the gateway of a utfeed."""
    def run(*options, url=origin.url, **more):
        proxy = timed(None, *options, **more)
        get = lambda path, *fields, **kind: proxy.get(f"/{url}{path}", *fields, **kind)
        get.proxy = proxy
        return get
    return run


def is_paused(got, status):
    """utfeed's own answer in a pause, with the status that began it."""
    assert got.status == status and 1 <= int(got["Retry-After"]) and got["Cache-Control"] == "no-store", got.head
    assert error_of(got) == "destination_unavailable"
    return int(got["Retry-After"])


# ---- what begins a pause ----

FAILURES = {
    **{f"{status}": (says(f"{status} X"), status, "received-status=%d" % status) for status in (403, 500, 502, 503, 504, 507, 511, 520, 530, 599)},
    "429": (says(BUSY), 429, "received-status=429"),
    "a closed connection": (ends(b""), 502, "connection_terminated"),
    "no HTTP": (ends(b"SSH-2.0-OpenSSH_9.2\r\n"), 502, "http_protocol_error"),
    "half a head": (ends(b"HTTP/1.1 200 OK\r\nContent-"), 502, "http_response_incomplete"),
    "a 206 that nobody asked for": (says("206 Partial Content", "Content-Range: bytes 0-2/9"), 502, "http_protocol_error"),
    "a coding that lies": (page("Content-Encoding: gzip", body=b"no gzip", kind="application/xml"), 502, "http_response_content_coding"),
    "redirects that lead back": (says("302 Found", "Location: /f"), 502, "proxy_loop_detected"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_failures_begin_pauses_that_double(way, clock, site, case):
    """Of 30 s, 1 min, 2 min, less a quarter at most; the answer meanwhile has the status that came."""
    site["/f"], status, why = FAILURES[case]
    get = way()
    for number, seconds in enumerate((30, 60, 120), 1):
        assert get("/f").status == status and site.count() == number
        for _ in range(2):
            got = get("/f")
            assert seconds * 3 // 4 <= is_paused(got, status) <= seconds and why in got["Proxy-Status"]
        assert site.count() == number
        clock.jump(seconds * 3 // 4 - 2)
        is_paused(get("/f"), status)
        clock.jump(seconds // 4 + 3)
        assert site.count() == number
    site["/f"] = GOOD
    assert get("/f").body == SMALL_OUT


def test_a_pause_that_nobody_asked_for_is_an_hour_at_most(gateway, clock, site):
    site["*"] = says("500 X")
    get = gateway()
    for _ in range(12):
        get("/f")
        clock.jump(HOUR)
    asked = site.count()
    get("/f")
    assert asked == 12 and HOUR * 3 // 4 <= is_paused(get("/f"), 500) <= HOUR


def test_success_ends_the_doubling(gateway, clock, site):
    get = gateway("--keep-feed", "0", "--stale-if-error", "0")
    for reply, seconds in ((says("500 X"), 30), (says("500 X"), 60), (GOOD, 0), (says("500 X"), 30)):
        site["/f"] = reply
        before = site.count()
        get("/f")
        assert site.count() == before + 1
        if seconds:
            assert seconds * 3 // 4 <= is_paused(get("/f"), 500) <= seconds
            clock.jump(seconds + 1)


def test_a_refused_connection_pauses_the_host(way, clock, origin):
    get = way()
    origin.stop_listening()
    assert get("/f").status == 502
    origin.listener.listen()
    for path in ("/f", "/g"):
        assert "connection_refused" in get(path)["Proxy-Status"]
        is_paused(get(path), 502)
    assert not origin.asked()
    clock.jump(31)
    site = Site(origin)
    site["*"] = GOOD
    assert get("/g").body == SMALL_OUT and get("/f").body == SMALL_OUT


def test_a_timeout_pauses_its_url(way, ticking, origin):
    get = way("--first-byte-timeout", "200ms")
    first = Background(lambda: get("/f").status)
    origin.receive()
    assert first.join() == 504
    assert "http_response_timeout" in get("/f")["Proxy-Status"] and not origin.asked()
    is_paused(get("/f"), 504)


@pytest.mark.parametrize("head", ["Content-Length: 100000", "Transfer-Encoding: chunked"])
def test_a_body_that_breaks_off_pauses_its_url(way, clock, site, head):
    """However long it is; a head alone is no success."""
    site["/f"] = ends(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + head.encode() + b"\r\n\r\n9999\r\n" + b"x" * 9000)
    get = way()
    for seconds in (30, 60):
        with contextlib.suppress(Cut):
            get("/f")
        assert seconds * 3 // 4 <= is_paused(get("/f"), 502) <= seconds
        clock.jump(seconds + 1)
    assert site.count() == 2


@pytest.mark.parametrize("status", [400, 401, 402, 404, 405, 406, 410, 414, 451])
def test_other_statuses_begin_none(way, site, status):
    site["/f"] = says(f"{status} X", "Cache-Control: no-store", "Retry-After: 100")
    get = way()
    assert [get("/f").status for _ in range(3)] == [status] * 3 and site.count() == 3


def test_a_parent_proxy_that_cannot_be_reached_begins_none(gateway, dead_port):
    """It is not the origin. So its error is told each time."""
    get = gateway("--http-proxy", f"http://127.0.0.1:{dead_port}", url="http://feeds.example")
    for _ in range(3):
        assert error_of(get("/f")) == "connection_refused"


def test_a_reader_that_takes_nothing_begins_none(gateway, ticking, origin, tmp_path):
    """It is the reader's fault that the body is not complete in time. The fetch after it has no such time."""
    config = tmp_path / "utfeed.conf"
    config.write_text("fetch-timeout = 2s\n")
    get = gateway("--cache", "off", "--config", str(config))
    client = get.proxy.client(4096).ask(f"/{origin.url}/f")
    origin.receive().send_soon(page(body=b"x" * (16 << 20)))
    get.proxy.says("not complete within")
    client.reset()
    config.write_text("fetch-timeout = 0\n")
    get.proxy.reload()
    upstream, answer = held(origin, get, "/f")
    upstream.answer(GOOD)
    assert answer.join().status == 200


# ---- for how long ----

WAITS = {
    "Retry-After: 100": 100, "RateLimit: \"default\";r=0;t=100": 100, "RateLimit: limit=9, remaining=0, reset=100": 100,
    "RateLimit-Reset: 100": 100, "X-RateLimit-Reset: 99.5": 100, "X-RateLimit-Reset: {epoch}": 100, "Retry-After: {date}": 100,
    "Retry-After: {850}": 100,
}


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("field", WAITS)
def test_a_pause_that_was_asked_for(gateway, clock, site, status, field):
    there = clock.now + 100
    parts = {"epoch": there, "date": email.utils.formatdate(there, usegmt=True),
             "850": time.strftime("%A, %d-%b-%y %H:%M:%S GMT", time.gmtime(there))}
    site["/f"] = says(f"{status} X", field.replace("{850}", parts["850"]).format(**parts) if "{" in field else field)
    get = gateway()
    get("/f")
    assert 98 <= is_paused(get("/f"), status) <= 100
    clock.jump(95)
    is_paused(get("/f"), status)
    clock.jump(6)
    get("/f")
    assert site.count() == 2


@pytest.mark.parametrize("status", [429, 503])
def test_a_pause_is_a_day_at_most(gateway, clock, site, status):
    site["/f"] = says(f"{status} X", "Retry-After: 999999")
    get = gateway()
    get("/f")
    clock.jump(24 * HOUR - 10)
    is_paused(get("/f"), status)
    clock.jump(11)
    get("/f")
    assert site.count() == 2


# ---- for whom ----

def test_503_pauses_the_host_once_two_urls_said_it(gateway, clock, site):
    site["*"] = says("503 X", "Retry-After: 100")
    get = gateway()
    assert [get(path).status for path in ("/a", "/b", "/c", "/d")] == [503] * 4 and site.count() == 2
    clock.jump(101)
    site["*"] = GOOD
    assert [get(path).status for path in ("/a", "/b", "/c")] == [200] * 3


def test_behind_a_redirect_the_host_that_answered_is_paused(gateway, another, site):
    """And the URL where all clients begin, but not its host."""
    there = Site(another())
    there["*"] = says(BUSY, "Retry-After: 100")
    site["/moved"], site["/f"] = says("302 Found", f"Location: {there.origin.url}/x"), GOOD
    get = gateway()
    for _ in range(3):
        assert get("/moved").status == 429
    assert (site.count("/moved"), there.count()) == (1, 1)
    is_paused(get.proxy.get(f"/{there.origin.url}/other"), 429)
    assert get("/f").status == 200 and there.count() == 1


def test_a_redirect_to_a_paused_host_is_followed_once(gateway, another, site):
    there = Site(another())
    there["*"] = says(BUSY, "Retry-After: 100")
    site["*"] = says("302 Found", f"Location: {there.origin.url}/x")
    get = gateway()
    get.proxy.get(f"/{there.origin.url}/")
    for _ in range(3):
        is_paused(get("/moved"), 429)
    assert (site.count(), there.count()) == (1, 1)


def test_a_failure_behind_a_redirect_pauses_both_urls(gateway, clock, site):
    site["/moved"], site["/bad"] = says("302 Found", "Location: /bad"), says("500 X")
    get = gateway()
    for _ in range(3):
        assert get("/moved").status == 500
    is_paused(get("/bad"), 500)
    assert (site.count("/moved"), site.count("/bad")) == (1, 1)
    clock.jump(31)
    site["/bad"] = GOOD
    assert get("/moved").status == 200 and get("/bad").status == 200


def test_all_workers_and_both_schemes_of_asking(timed, origin, site):
    site["*"] = says(BUSY, "Retry-After: 100")
    proxy = timed(origin, "--workers", "3")
    proxy.get(f"/{origin.url}/a")
    for n in range(20):
        is_paused(proxy.get(f"/{n}"), 429)
    assert site.count() == 1


def test_routes_have_failures_of_their_own(timed, origin, site):
    """One may have rights that another lacks: what it fails at must not be in the other's way."""
    site["/f"] = lambda request: GOOD if request["Cookie"] else says("403 X")
    proxy = timed(origin, "--route", f"/in/={origin.url} cookies=on")
    assert proxy.get("/f").status == 403
    assert proxy.get("/in/f", "Cookie: a=1").status == 200
    is_paused(proxy.get("/f"), 403)


@pytest.mark.parametrize("status,count", [(401, 3), (402, 3), (403, 3), (500, 1), (429, 1)])
def test_a_refusal_of_credentials_is_that_clients(timed, origin, site, status, count):
    site["*"] = says(f"{status} X", "Cache-Control: no-store")
    proxy = timed(None, "--route", f"/={origin.url} authorization=on")
    assert [proxy.get("/f", "Authorization: Basic eDp5").status for _ in range(3)] == [status] * 3
    assert site.count() == count


@pytest.mark.parametrize("field", ["Authorization: Basic eDp5", "Cookie: a=1"])
def test_what_a_clients_credentials_meet_pauses_nobody_without_any(timed, origin, site, field):
    """Nor the other way round; what an origin says of its host holds for all (429)."""
    own = field.split(":")[0]
    proxy = timed(None, "--keep-feed", "0", "--route", f"/={origin.url} authorization=on cookies=on")
    site["/f"] = lambda request: says("500 X") if own in request else GOOD
    site["/g"] = lambda request: GOOD if own in request else says("500 X")
    for path, fails, works in (("/f", [field], []), ("/g", [], [field])):
        for _ in range(2):
            assert proxy.get(path, *fails).status == 500
            assert proxy.get(path, *works).body == SMALL_OUT
        assert site.count(path) == 3
    site["*"] = says(BUSY)
    assert proxy.get("/h", field).status == 429
    is_paused(proxy.get("/i"), 429)


@pytest.mark.parametrize("field", ["Authorization: Basic eDp5", "Cookie: a=1"])
def test_credentials_that_stay_here_are_none(timed, origin, site, field):
    """Connection names them, so that the origin does not get them: the request is as any without."""
    own = field.split(":")[0]
    proxy = timed(None, "--route", f"/={origin.url} authorization=on cookies=on")
    site["*"] = lambda request: says("500 X") if own in request else GOOD
    assert proxy.get("/f", field).status == 500
    assert proxy.get("/f", field, f"Connection: {own}").body == SMALL_OUT and site.count() == 2


@pytest.mark.parametrize("options", [["--route", "/={url} normalise=off"], ["--route", "/={url} pause=off"], ["--route", "/={url}", "--pause", "off"]],
                         ids=["not normalised", "off for the route", "off for all"])
@pytest.mark.parametrize("reply", [says("500 X"), says(BUSY, "Retry-After: 100", "Cache-Control: max-age=600")], ids=["500", "429"])
def test_where_there_are_none(timed, origin, site, options, reply):
    """Nor is a 429 stored (RFC 6585 section 4)."""
    site["*"] = reply
    proxy = timed(None, *(word.format(url=origin.url) for word in options))
    for _ in range(3):
        proxy.get("/f")
    assert site.count() == 3


def test_the_forward_proxy_has_none_and_begins_none(timed, origin, site):
    site["*"] = says(BUSY, "Retry-After: 100")
    proxy = timed(None)
    for _ in range(2):
        proxy.get(f"{origin.url}/f", host=origin.authority)
    assert proxy.get(f"/{origin.url}/f").status == 429 and site.count() == 3
    is_paused(proxy.get(f"/{origin.url}/f"), 429)
    proxy.get(f"{origin.url}/f", host=origin.authority)
    assert site.count() == 4


def test_methods_that_change_something(timed, origin, site):
    """They keep the pauses that an origin asked for, and begin none."""
    site["*"] = says("500 X")
    proxy = timed(origin)
    for _ in range(2):
        assert proxy.get("/f", "Content-Length: 0", method="POST").status == 500
    proxy.get("/f")
    is_paused(proxy.get("/f"), 500)
    assert proxy.get("/f", "Content-Length: 0", method="POST").status == 500 and site.count() == 4
    site["*"] = says(BUSY, "Retry-After: 100")
    proxy.get("/g")
    is_paused(proxy.get("/f", "Content-Length: 0", method="POST"), 429)


# ---- who asks first, who asked before ----

def held(origin, get, path):
    """A request that the origin has, and its answer in the background."""
    answer = Background(lambda: get(path))
    return origin.receive(), answer


def test_one_asks_first_behind_a_pause(gateway, clock, origin):
    get = gateway("--workers", "2")
    upstream, first = held(origin, get, "/a")
    upstream.answer(says(BUSY, "Retry-After: 100"))
    assert first.join().status == 429
    clock.jump(101)
    upstream, first = held(origin, get, "/a")
    for path in ("/a", "/b"):
        is_paused(get(path), 429)
    upstream.answer(GOOD)
    assert first.join().status == 200
    upstream, other = held(origin, get, "/b")
    upstream.answer(GOOD)
    assert other.join().status == 200


def test_what_the_first_one_gets_is_for_all_as_soon_as_its_head_is_there(timed, clock, origin):
    """Though the pause ends only with the whole body."""
    proxy = timed(None, "--route", f"/={origin.url} normalise=off pause=on")
    asked = [proxy.client().ask("/a")]
    origin.receive().answer(message("200 OK", "Content-Length: 100", body=b"cut"), close=True)
    with pytest.raises(Cut):
        asked[0].response()
    is_paused(proxy.get("/a"), 502)
    clock.jump(31)
    for n in range(2):
        asked.append(proxy.client().ask("/a"))
        if not n:
            upstream = origin.receive()
            upstream.answer(message("200 OK", FRESH, "Content-Length: 6", length=False) + b"who")
        asked[-1].arrives()
    upstream.answer(b"le!")
    answers = [client.response() for client in asked[1:]]
    assert [(answer.status, answer.body) for answer in answers] == [(200, b"whole!")] * 2 and "collapsed" in answers[1]["Cache-Status"]


def test_a_redirect_to_where_another_asks_first_waits_no_longer_than_that_takes(way, clock, site):
    """Only the place is paused then, and not for the 30 s that others wait there at most."""
    site["/moved"], site["/f"] = says("302 Found", "Location: /f"), says("503 X", "Retry-After: 5")
    get = way()
    assert get("/f").status == 503
    clock.jump(6)
    came, goes_on = threading.Event(), threading.Event()
    site["/f"] = lambda _: (came.set(), goes_on.wait(), GOOD)[-1]
    first = Background(lambda: get("/f"))
    assert came.wait(TIMEOUT)
    is_paused(get("/moved"), 503)
    goes_on.set()
    assert first.join().status == 200
    clock.jump(2)
    assert get("/moved").status == 200


SAYS = {"User-Agent": "evil/1", "Accept-Language": "evil", "Accept": "application/rss+xml, text/evil", "From": "evil@evil.example", "CDN-Loop": "evil",
        "Cache-Control": "evil=1", "Pragma": "evil"}


@pytest.mark.parametrize("name", SAYS)
def test_a_client_whom_the_origin_refuses_shuts_nobody_out(way, clock, site, name):
    """Who asks first behind the pause does so without fields of its own: the client that is always the first, too."""
    site["/f"] = lambda request: says("403 X") if "evil" in f"{request[name]}" else GOOD
    get = way()
    assert get("/f", f"{name}: {SAYS[name]}").status == 403
    is_paused(get("/f"), 403)
    clock.jump(31)
    assert get("/f", f"{name}: {SAYS[name]}").body == SMALL_OUT
    assert "evil" not in f"{site.last('/f')[name]}"
    assert get("/f").body == SMALL_OUT and site.count() == 3


def test_an_origin_that_refuses_utfeed_alone_is_asked_for_a_client_again(way, clock, site):
    get = way("--user-agent", "")
    site["/f"] = says("500 X")
    get("/f", "User-Agent: reader/1")
    site["/f"] = lambda request: GOOD if "reader" in request["User-Agent"] else says("403 X")
    clock.jump(31)
    assert get("/f", "User-Agent: reader/1").status == 403
    clock.jump(61)
    assert get("/f", "User-Agent: reader/1").body == SMALL_OUT


@pytest.mark.parametrize("before", [True, False], ids=["a variant is stored", "nothing is stored"])
def test_who_asks_first_gets_its_own_variant(way, clock, site, before):
    def varies(request):
        return page("Cache-Control: max-age=0", "Vary: Accept-Language", body=f"<rss version='2.0'><channel><title>{request['Accept-Language']}</title></channel></rss>".encode(),
                    kind="application/rss+xml")
    site["/f"] = varies
    get = way()
    if before:
        assert b"de" in get("/f", "Accept-Language: de").body
    site["/f"] = says("500 X")
    get("/f", "Accept-Language: de", "User-Agent: evil/1")
    site["/f"] = varies
    clock.jump(31)
    assert b"<title>de<" in get("/f", "Accept-Language: de", "User-Agent: evil/1").body
    assert site.count() == 3
    if before:
        assert "evil" not in site.last("/f")["User-Agent"]


def test_who_asks_first_and_leaves_is_not_waited_for(gateway, clock, origin):
    get = gateway("--cache", "off")
    upstream, first = held(origin, get, "/a")
    upstream.answer(says("500 X"))
    first.join()
    clock.jump(31)
    client = get.proxy.client().ask(f"/{origin.url}/a")
    origin.receive()
    client.reset()
    until_asked(get, origin)


def until_asked(get, origin):
    for _ in range(200):
        answer = Background(lambda: get("/a"))
        asked, _ = origin.wait(0.05)
        if asked:
            origin.receive().answer(GOOD)
            assert answer.join().status == 200
            return
        assert answer.join().status == 500
    raise AssertionError("the origin was not asked again")


def test_who_asks_first_is_waited_for_so_long(gateway, clock, origin):
    get = gateway("--first-byte-timeout", "10m", "--fetch-timeout", "10m")
    upstream, first = held(origin, get, "/a")
    upstream.answer(says("500 X"))
    first.join()
    clock.jump(31)
    _, silent = held(origin, get, "/a")
    assert 28 <= is_paused(get("/a"), 500) <= 30
    clock.jump(31)
    upstream, other = held(origin, get, "/b")
    upstream.answer(GOOD)
    assert other.join().status == 200
    get.proxy.stop()
    with contextlib.suppress(Exception):
        silent.join()


def test_late_answers_change_nothing(gateway, clock, origin):
    """Requests that were on their way when the pause began neither end it nor make the next one longer."""
    get = gateway()
    sent = [held(origin, get, path) for path in ("/a", "/b", "/c")]
    sent[0][0].answer(says(BUSY))
    assert sent[0][1].join().status == 429
    sent[1][0].answer(GOOD)
    assert sent[1][1].join().status == 200
    sent[2][0].answer(says(BUSY))
    assert sent[2][1].join().status == 429
    assert is_paused(get("/d"), 429) <= 30
    clock.jump(31)
    upstream, answer = held(origin, get, "/d")
    upstream.answer(says(BUSY))
    answer.join()
    assert 45 <= is_paused(get("/d"), 429) <= 60


# ---- meanwhile ----

def test_the_kept_feed_meanwhile(way, clock, site):
    site["/f"] = GOOD
    get = way()
    get("/f")
    site["/f"] = says("500 X")
    for _ in range(5):
        got = get("/f")
        assert got.body == SMALL_OUT and got["Cache-Status"] == "utfeed; hit; fwd=stale; fwd-status=500; detail=kept"
    assert site.count() == 2
    counted = get.proxy.counters()
    assert (counted["pauses"], counted["pause_kept"], counted["paused_urls"], counted["paused_hosts"]) == (1, 4, 1, 0)


@pytest.mark.parametrize("reply", [says("404 X"), page(body=b"<!doctype html><title>Just a moment</title>", kind="text/html"), page(body=b"")],
                         ids=["404", "a challenge page", "nothing"])
def test_what_the_kept_feed_answers_for_begins_a_pause(way, clock, site, reply):
    site["/f"] = GOOD
    get = way()
    get("/f")
    site["/f"] = reply
    for _ in range(5):
        assert get("/f").body == SMALL_OUT
    assert site.count() == 2
    clock.jump(31)
    site["/f"] = GOOD.replace(b"max-age=0", b"max-age=9")
    assert get("/f").status == 200 and site.count() == 3


def test_an_answer_in_a_pause_is_an_error(timed, origin, site):
    """A POST ends the kept feed, but not the pause, which a status that is no error began."""
    nothing = message("204 No Content", length=False)
    site["/f"] = GOOD
    proxy = timed(None, "--route", f"/={origin.url}")
    proxy.get("/f")
    site["/f"] = lambda request: GOOD if request.method == "POST" else nothing
    assert proxy.get("/f").body == SMALL_OUT
    assert proxy.get("/f", "Content-Length: 0", method="POST").status == 200
    is_paused(proxy.get("/f"), 503)


def test_only_if_cached_in_a_pause(gateway, site):
    site["*"] = says("500 X")
    get = gateway()
    get("/f")
    is_paused(get("/f", "Cache-Control: only-if-cached"), 500)


# ---- what ends it ----

@pytest.mark.parametrize("word,path", [("url", "/f"), ("prefix", "/"), ("host", "/other"), ("all", "/")])
@pytest.mark.parametrize("reply", [says("500 X"), says(BUSY, "Retry-After: 100")], ids=["of a URL", "of the host"])
def test_a_purge_ends_pauses(way, site, word, path, reply):
    site["/f"] = reply
    get = way()
    get("/f")
    is_paused(get("/f"), int(reply[9:12]))
    site["/f"] = GOOD
    assert get(path, f"X-Purge: {word}", method="PURGE").status == 200
    assert get("/f").body == SMALL_OUT


RESUMES = {"url": "url={url}/f", "host": "host={url}/", "all": "all=1", "another host": "host=http://127.0.0.1:1/", "another url": "url={url}/g"}


@pytest.mark.parametrize("case", RESUMES)
def test_an_operator_ends_pauses(gateway, site, case):
    site["/f"] = says("500 X")
    get = gateway("--admin-listen", "127.0.0.1:0")
    admin = Admin(get.proxy)
    get("/f")
    is_paused(get("/f"), 500)
    site["/f"] = GOOD
    told = admin.post("/api/resume", RESUMES[case].format(url=site.origin.url))
    ended = not case.startswith("another")
    assert told.status == 200 and told.body == b'{"resumed":%d}\n' % ended
    assert (get("/f").status == 200) == ended


@pytest.mark.parametrize("form", ["", "url=", "url=ftp://h/", "host=nothing", "what=all"])
def test_an_operator_says_which(gateway, form):
    admin = Admin(gateway("--admin-listen", "127.0.0.1:0").proxy)
    assert admin.post("/api/resume", form).status == 400


def test_the_admin_listener_counts_pauses(gateway, site, another):
    refused = another()
    refused.stop_listening()
    site["*"] = says("500 X")
    get = gateway("--admin-listen", "127.0.0.1:0")
    get("/a"), get("/b"), get.proxy.get(f"/{refused.url}/")
    metrics = Admin(get.proxy).metrics()
    assert (metrics["utfeed_paused_urls"], metrics["utfeed_paused_hosts"]) == (2, 1)


# ---- host-interval ----

def test_a_host_interval(way, clock, site):
    """Who comes too soon gets the kept feed, or else 503."""
    site["*"] = GOOD
    get = way("--host-interval", "1m", "--workers", "2")
    assert get("/a").status == 200
    got = get("/b")
    assert got.status == 503 and 58 <= int(got["Retry-After"]) <= 60 and error_of(got) == "destination_unavailable"
    got = get("/a")
    assert got.body == SMALL_OUT and got["Cache-Status"] == "utfeed; hit; fwd=stale; detail=kept"
    clock.jump(61)
    assert get("/b").status == 200 and get("/a").status == 200 and site.count() == 2


def test_a_short_interval_is_waited_for(gateway, ticking, site):
    site["*"] = GOOD
    get = gateway("--host-interval", "1s")
    began = time.monotonic()
    assert [get(path).status for path in ("/a", "/b")] == [200] * 2
    assert time.monotonic() - began > 0.95


def test_redirects_within_a_host_do_not_wait(gateway, site):
    site["/a"], site["/b"] = says("302 Found", "Location: /b"), GOOD
    get = gateway("--host-interval", "1m")
    assert get("/a").status == 200 and site.count() == 2
    assert get("/c").status == 503


def test_an_interval_is_learned(gateway, clock, site):
    site["*"] = GOOD
    get = gateway("--host-interval", "auto")
    assert [get(f"/{n}").status for n in range(5)] == [200] * 5
    site["*"] = says(BUSY, "Retry-After: 10", 'RateLimit-Policy: "default";q=2;w=60')
    get("/x")
    clock.jump(31)
    site["*"] = GOOD
    assert get("/y").status == 200
    got = get("/z")
    assert got.status == 503 and 28 <= int(got["Retry-After"]) <= 30
    clock.jump(31)
    assert get("/z").status == 200


def test_an_interval_of_a_route(timed, origin, site):
    site["*"] = page(FRESH)
    proxy = timed(None, "--route", f"/slow/={origin.url} host-interval=1m", "--route", f"/={origin.url}")
    assert [proxy.get(path).status for path in ("/slow/a", "/slow/b", "/c", "/d")] == [200, 503, 200, 200]
