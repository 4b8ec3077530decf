"""http2 = auto: an origin that answers one protocol with a wall is asked once by the other one, and what it answers better is remembered.
The clocks are the test's (clock.py)."""
import pytest

import schema

pytest.importorskip("hpack", reason="no python3-hpack here")

from feeds import SMALL, SMALL_OUT
from http2_frames import MAX_HEADER_LIST_SIZE
from pages import page
from peers import Background
from test_admin import Admin, listed
from test_http2_origin import FEED, held
from wire import message

HOUR = 3600
BY_2, BY_1 = "h2", "http/1.1"
OLD = message("200 OK", "Content-Type: application/rss+xml", "Cache-Control: max-age=0", body=SMALL)
HTML = page(body=b"<!DOCTYPE html><title>Just a moment...</title>", kind="text/html")


def says(status, *fields, body=b"no\n"):
    return message(f"{status} X", "Content-Type: text/plain", *fields, body=body)


def wants_1(asked):
    asked.reset("HTTP_1_1_REQUIRED")


def goes_to_1(asked):
    asked.h2.goaway(max(0, asked.number - 2), "HTTP_1_1_REQUIRED")
    asked.conn.close()


@pytest.fixture
def clock(clock_now):
    return clock_now


@pytest.fixture
def origin(scripted):
    return scripted()


@pytest.fixture
def asking(timed, authority):
    """asking(origin, option...): a utfeed that pauses nothing, unless an option says so; its clocks are the test's."""
    def run(origin, *options):
        return timed(origin, "--tls-ca-file", authority.root.cert, "--workers", "1", "--http2", "auto", *options)
    return run


def pages(by_2, by_1):
    return {BY_2: by_2, BY_1: by_1}


# ---- what is asked again ----

WALLS = {
    **{f"{status}": says(status) for status in (403, 500, 502, 503, 504, 507, 511, 520, 530, 599)},
    "a page and 403": page(body=b"<!doctype html><title>Just a moment</title>", kind="text/html", status="403 Forbidden"),
    "HTTP_1_1_REQUIRED": wants_1,
    "GOAWAY with HTTP_1_1_REQUIRED": goes_to_1,
}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("case", WALLS)
def test_a_wall_for_http_2(asking, origin, case, method):
    """The feed comes by one extra request, once; from then on by HTTP/1.1."""
    origin["/f"] = pages(WALLS[case], FEED)
    proxy = asking(origin)
    for asked in ([BY_2, BY_1], [BY_2, BY_1, BY_1], [BY_2, BY_1, BY_1, BY_1]):
        got = proxy.get("/f", method=method)
        assert (got.status, got.body) == (200, SMALL_OUT if method == "GET" else b"")
        assert origin.protocols("/f") == asked
    assert origin.conns[-1].offered in ([BY_1], None)
    counters = proxy.counters()
    assert (counters["fetches_asked_twice"], counters["fetches_better"]) == ((0, 1) if callable(WALLS[case]) else (1, 1))


@pytest.mark.parametrize("case", WALLS)
def test_a_wall_for_http_1(asking, clock, origin, case):
    """HTTP/2 is asked first, and gets the feed without any other request. A host that is remembered otherwise is asked so once more."""
    if callable(WALLS[case]):
        pytest.skip("a word of HTTP/2")
    origin["/f"], origin["/g"] = pages(FEED, WALLS[case]), pages(says(403), FEED)
    proxy = asking(origin)
    assert proxy.get("/f").body == SMALL_OUT and origin.protocols() == [BY_2]
    assert proxy.get("/g").body == SMALL_OUT and origin.protocols("/g") == [BY_2, BY_1]
    assert proxy.get("/f").body == SMALL_OUT and origin.protocols("/f") == [BY_2, BY_1, BY_2]


ASKED_BY = {
    "HTTP/2": (pages(FEED, says(403)), ["2.0"]),
    "HTTP/1.1 after a wall": (pages(says(403), FEED), ["1.1", "1.1"]),
    "HTTP/1.1, which is required": (pages(wants_1, FEED), ["1.1", "1.1"]),
    "both, and the first counts": (pages(says(403), says(500)), ["2.0", "2.0"]),
}


@pytest.mark.parametrize("case", ASKED_BY)
def test_the_access_log_says_by_which(asking, origin, case):
    """origin_http is of the answer that counts."""
    origin["/f"], versions = ASKED_BY[case]
    proxy = asking(origin, "--log-format", "json")
    for _ in versions:
        proxy.get("/f")
    assert [schema.access_line(line)["origin_http"] for line in proxy.access_lines(len(versions))] == versions


NO_WALLS = {
    **{f"{status}": says(status) for status in (200, 204, 304, 400, 401, 404, 410, 429)},
    "429 with Retry-After": says(429, "Retry-After: 100"),
    "503 with Retry-After": says(503, "Retry-After: 100"),
    "a page where nobody knows of a feed": HTML,
    "a feed": FEED,
}


@pytest.mark.parametrize("case", NO_WALLS)
def test_what_is_no_wall(asking, origin, case):
    """It is asked for by the same protocol again."""
    reply = NO_WALLS[case] if case not in ("204", "304") else message(f"{case} X", length=False)
    origin["/f"] = pages(reply, FEED)
    proxy = asking(origin)
    status = int(reply[9:12])
    for asked in ([BY_2], [BY_2, BY_2]):
        assert proxy.get("/f", 'If-None-Match: "a"').status == status and origin.protocols() == asked


def test_a_page_where_a_feed_is_asked_for(asking, origin):
    """The client says so (Accept), and an HTML page comes with 200."""
    origin["/f"] = pages(HTML, FEED)
    proxy = asking(origin)
    for asked in ([BY_2, BY_1], [BY_2, BY_1, BY_1]):
        assert proxy.get("/f", "Accept: application/rss+xml, application/atom+xml").body == SMALL_OUT
        assert origin.protocols() == asked


@pytest.mark.parametrize("retry", [["Retry-After: 100"], []], ids=["with Retry-After", "without"])
def test_a_429_begins_its_pause(asking, origin, retry):
    """Finding 2: what the first answer asks for is kept, since no second request came before it."""
    origin["/f"] = pages(says(429, *retry), FEED)
    proxy = asking(origin, "--pause", "on")
    for _ in range(3):
        got = proxy.get("/f")
        assert got.status == 429
    assert origin.protocols() == [BY_2] and int(got["Retry-After"]) > (90 if retry else 15)


@pytest.mark.parametrize("status", [403, 500])
@pytest.mark.parametrize("fields", [["Content-Length: 3"], ["Content-Length: 0"], ["Transfer-Encoding: chunked"]], ids=["a body", "none", "chunks"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_methods_that_change_something_are_asked_once(asking, origin, method, fields, status):
    origin["/f"] = pages(says(status), FEED)
    client = asking(origin).client().ask("/f", *fields, method=method)
    client.send({"Content-Length: 3": b"abc", "Content-Length: 0": b""}.get(fields[0], b"3\r\nabc\r\n0\r\n\r\n"))
    assert client.response().status == status and origin.protocols() == [BY_2]


@pytest.mark.parametrize("wall", [wants_1, goes_to_1], ids=["a stream", "GOAWAY"])
@pytest.mark.parametrize("body", [b"abc", b""])
def test_a_post_where_http_1_is_required(asking, origin, body, wall):
    """Finding 11: a stream's reset does not say that nothing was done (RFC 9113 section 8.7); the host is known from then on."""
    origin["/f"] = pages(wall, lambda asked: message("200 OK", body=b"got " + asked.body))
    proxy = asking(origin)
    for number in range(2):
        client = proxy.client().ask("/f", f"Content-Length: {len(body)}", method="POST")
        client.send(body)
        got = client.response()
        if wall is wants_1 and number == 0:
            assert got.status == 502 and origin.protocols() == [BY_2]
    assert (got.status, got.body) == (200, b"got " + body)
    assert origin.protocols().count(BY_2) == 1


def test_an_origin_of_http_1_alone(asking, scripted):
    """It has no other protocol: nothing is asked twice."""
    origin = scripted(BY_1)
    origin["*"] = says(403)
    proxy = asking(origin)
    for number in range(3):
        assert proxy.get("/f").status == 403 and origin.count() == number + 1
    assert origin.conns[0].offered == [BY_2, BY_1]


def test_what_does_not_come_over_tls(asking, another):
    """There is no HTTP/2 without TLS to origins, nor another protocol."""
    plain = another()
    plain.serve(lambda request: says(403))
    assert asking(plain).get("/f").status == 403 and len(plain.requests) == 1


# ---- both are walled ----

def test_both_are_walled(asking, clock, origin):
    """The first answer counts, and for an hour its URL is not asked twice; others of the host are."""
    origin["*"] = pages(says(403, body=b"by h2\n"), says(500, body=b"by 1\n"))
    proxy = asking(origin)
    for asked in ([BY_2, BY_1], [BY_2, BY_1, BY_2], [BY_2, BY_1, BY_2, BY_2]):
        got = proxy.get("/f")
        assert (got.status, got.body) == (403, b"by h2\n") and origin.protocols("/f") == asked
    assert proxy.get("/g").status == 403 and origin.protocols("/g") == [BY_2, BY_1]
    counters = proxy.counters()
    assert (counters["fetches_asked_twice"], counters["fetches_better"]) == (2, 0)
    clock.jump(HOUR + 1)
    assert proxy.get("/f").status == 403 and origin.protocols("/f") == [BY_2, BY_1, BY_2, BY_2, BY_2, BY_1]


@pytest.mark.parametrize("bad", ["403", "500", "HTTP_1_1_REQUIRED"])
def test_both_are_walled_where_a_host_is_remembered(asking, origin, bad):
    """Finding 1: the memory of the host stays as it is."""
    origin["/good"], origin["/bad"] = pages(says(403), FEED), pages(WALLS[bad], says(403))
    proxy = asking(origin)
    assert proxy.get("/good").body == SMALL_OUT
    for _ in range(2):
        assert proxy.get("/bad").status == 403
    assert origin.protocols("/bad") == [BY_1, BY_2, BY_1]
    assert proxy.get("/good").body == SMALL_OUT and origin.protocols("/good") == [BY_2, BY_1, BY_1]


def test_required_and_refused(asking, origin):
    """Finding 10: that a host requires HTTP/1.1 is a fact, whatever it answers there."""
    origin["/f"] = pages(wants_1, says(403))
    proxy = asking(origin)
    for asked in ([BY_2, BY_1], [BY_2, BY_1, BY_1]):
        assert proxy.get("/f").status == 403 and origin.protocols() == asked


def test_urls_of_a_host_that_disagree(asking, origin):
    """Finding 10: each is asked twice now and then, and not for ever."""
    origin["/a"], origin["/b"] = pages(FEED, says(403)), pages(says(403), FEED)
    proxy = asking(origin)
    for _ in range(20):
        proxy.get("/a"), proxy.get("/b")
    assert origin.count() <= 40 + 6


# ---- what is remembered ----

def test_a_host_is_remembered_for_an_hour(asking, clock, origin):
    origin["*"] = pages(says(403), FEED)
    proxy = asking(origin)
    for path, seconds, asked in (("/a", 0, [BY_2, BY_1]), ("/b", 0, [BY_1]), ("/c", HOUR - 60, [BY_1]), ("/d", 2 * HOUR, [BY_2, BY_1])):
        clock.jump(seconds)
        assert proxy.get(path).body == SMALL_OUT and origin.protocols(path) == asked


def test_hosts_are_remembered_apart(asking, scripted, authority):
    """By name and port; what is known of one says nothing of another."""
    first, second = scripted(), scripted()
    first["*"], second["*"] = pages(says(403), FEED), FEED
    proxy = asking(None, "--route", f"/1/={first.url}/", "--route", f"/2/={second.url}/",
                   "--route", f"/3/={first.url.replace('localhost', '127.0.0.1')}/")
    for path, origin, asked in (("/1/a", first, [BY_2, BY_1]), ("/2/b", second, [BY_2]), ("/3/c", first, [BY_2, BY_1]), ("/1/d", first, [BY_1])):
        assert proxy.get(path).body == SMALL_OUT and origin.protocols("/" + path[-1]) == asked


def test_the_log_says_why(asking, origin):
    origin["*"] = pages(says(403), FEED)
    proxy = asking(origin, "--log-level", "debug")
    assert proxy.get("/f").body == SMALL_OUT
    for words in ("status 403 by HTTP/2, asked by HTTP/1.1 too", "HTTP/1.1 is answered better: status 200, not 403"):
        proxy.says(words)
    assert proxy.get("/g").body == SMALL_OUT
    proxy.says("HTTP/1.1", 3)


TOLD = {
    "better": (pages(says(403), OLD), "HTTP/1.1", "better"),
    "required": (pages(wants_1, OLD), "HTTP/1.1", "required"),
    "neither": (OLD, None, None),
}


@pytest.mark.parametrize("case", TOLD)
def test_operators_are_told(asking, origin, case):
    """By the API and on the feed's page."""
    origin["/f"], protocol, why = TOLD[case]
    proxy = asking(origin, "--cache", "on", "--admin-listen", "127.0.0.1:0")
    admin = Admin(proxy)
    assert proxy.get("/f").body == SMALL_OUT
    feed, = listed(admin, least=1)["feeds"]
    assert (feed.get("protocol"), feed.get("protocol_why")) == (protocol, why)
    html = admin.ask("/feed?id=1").body.decode()
    assert ("Protocol to the origin" in html) == (protocol is not None) and (protocol or "") in html and (why or "") in html


# ---- the second request ----

def second(how):
    """What happens to the connection over which the other protocol is asked."""
    def greet(conn):
        if conn.number == 0:
            return None
        return how(conn)
    return greet


NOT_THERE = {
    "closed in the handshake": lambda conn: conn.end("closed"),
    "reset in the handshake": lambda conn: conn.reset(),
    "silent in the handshake": lambda conn: "hang",
}


@pytest.mark.parametrize("case", NOT_THERE)
def test_the_other_protocol_cannot_be_reached(asking, clock, origin, case):
    """Finding 2: the first answer is kept, with its body. Finding 11: no wait beyond connect-timeout."""
    origin["*"] = pages(says(403, body=b"by h2\n" * 1000), FEED)
    origin.greet = second(NOT_THERE[case])
    client = asking(origin, "--connect-timeout", "5s").client().ask("/f")
    origin.until(lambda: origin.connections() == 2)
    got = clock.passes(6, Background(client.response)) if "silent" in case else client.response()
    assert (got.status, got.body) == (403, b"by h2\n" * 1000)
    assert origin.connections() == 2 and origin.count() == 1


SILENT = {
    "in the handshake": lambda origin: setattr(origin, "greet", second(lambda conn: "hang")),
    "on the request": lambda origin: None,
}


@pytest.mark.parametrize("case", SILENT)
def test_the_second_request_has_what_is_left_of_the_time(asking, clock, origin, case):
    """Finding 11: of first-byte-timeout, which is not doubled; then the first answer counts."""
    SILENT[case](origin)
    origin["*"] = pages(held, held)
    client = asking(origin, "--first-byte-timeout", "20s", "--connect-timeout", "60s").client().ask("/f")
    first = origin.receive("/f")
    clock.jump(15)
    origin.do(first.reply, says(403))
    origin.until(lambda: origin.connections() == 2 and (case == "in the handshake" or origin.count() == 2))
    clock.jump(6)
    assert client.response().status == 403


def test_a_client_leaves_while_the_second_one_runs(asking, origin):
    origin["*"] = pages(says(403), held)
    proxy = asking(origin)
    client = proxy.client().ask("/f")
    origin.until(lambda: origin.protocols() == [BY_2, BY_1])
    client.reset()
    origin.until(lambda: origin.asked[-1].conn.ended)
    origin["*"] = FEED
    assert proxy.get("/g").body == SMALL_OUT


def test_a_redirect_leads_to_a_wall(asking, scripted):
    """Each place is asked as its own host is."""
    first, elsewhere = scripted(), scripted()
    first["/f"], elsewhere["/g"] = message("302 Found", f"Location: {elsewhere.url}/g"), pages(says(403), FEED)
    proxy = asking(None, "--route", f"/={first.url}/ follow-redirects=on")
    assert proxy.get("/f").body == SMALL_OUT
    assert (first.protocols(), elsewhere.protocols()) == ([BY_2], [BY_2, BY_1])
    assert proxy.get("/f").body == SMALL_OUT
    assert (first.protocols(), elsewhere.protocols()) == ([BY_2, BY_2], [BY_2, BY_1, BY_1])


def test_by_the_gateway(asking, origin):
    origin["/f"] = pages(says(403), FEED)
    proxy = asking(None)
    for asked in ([BY_2, BY_1], [BY_2, BY_1, BY_1]):
        assert proxy.get(f"/{origin.url}/f").body == SMALL_OUT and origin.protocols() == asked


@pytest.mark.parametrize("size,most", [(2000, 100), (200, 100)])
def test_a_head_that_is_longer_than_the_origin_takes(asking, origin, size, most):
    """Finding 11: SETTINGS_MAX_HEADER_LIST_SIZE. Such a request goes by HTTP/1.1, or fails clearly."""
    origin.settings = [(MAX_HEADER_LIST_SIZE, most)]
    origin["*"] = FEED
    proxy = asking(origin)
    proxy.get("/warm")
    got = proxy.get("/f", "User-Agent: " + "r" * size)
    assert (got.status, origin.protocols("/f")) in ((200, [BY_1]), (502, []))


@pytest.mark.parametrize("first", [BY_2, BY_1])
def test_one_connection_is_all_there_may_be(asking, origin, first):
    """origin-connections = 1: the answer that is put by keeps the other protocol from nothing."""
    origin["/x"], origin["/f"] = pages(says(403), FEED), pages(says(403), FEED) if first == BY_2 else pages(FEED, says(403))
    proxy = asking(origin, "--origin-connections", "1")
    if first == BY_1:
        assert proxy.get("/x").body == SMALL_OUT
    assert proxy.get("/f").body == SMALL_OUT
    assert origin.protocols("/f") == [first, BY_1 if first == BY_2 else BY_2]


def test_a_refusal_of_credentials_is_that_clients(asking, origin):
    """403 for a client's own name and password is no wall."""
    origin["*"] = pages(says(403), FEED)
    proxy = asking(None, "--route", f"/={origin.url}/ authorization=on")
    assert proxy.get("/f", "Authorization: Basic eDp5").status == 403 and origin.protocols() == [BY_2]
    assert proxy.get("/f").body == SMALL_OUT and origin.protocols() == [BY_2, BY_2, BY_1]


def test_many_ask_at_once(asking, origin):
    """They are one fetch (collapsed forwarding), asked twice once; without the cache each asks, and not for ever."""
    origin["*"] = pages(says(403), message("200 OK", "Content-Type: application/rss+xml", "Cache-Control: max-age=600", body=SMALL))
    proxy = asking(origin, "--cache", "on")
    clients = [proxy.client().ask("/f") for _ in range(20)]
    assert {client.response().body for client in clients} == {SMALL_OUT}
    assert origin.protocols() == [BY_2, BY_1]


# ---- with a kept feed ----

@pytest.mark.parametrize("wall,is_one", [(HTML, True), (says(403), True), (says(404), False), (page(body=b""), False)],
                         ids=["a challenge page", "403", "404", "nothing"])
def test_a_wall_where_a_feed_is_kept(asking, origin, wall, is_one):
    """The other protocol comes before the kept feed, which answers where both are walled: its URL is not asked twice again."""
    origin["/f"] = OLD
    proxy = asking(origin, "--cache", "on")
    assert proxy.get("/f").body == SMALL_OUT
    new = OLD.replace(b"max-age=0", b"max-age=0, max-age=0")
    origin["/f"] = pages(wall, wall)
    for asked in ([BY_2, BY_2, BY_1], [BY_2, BY_2, BY_1, BY_2]):
        got = proxy.get("/f")
        assert got.body == SMALL_OUT and "detail=kept" in got["Cache-Status"]
        assert origin.protocols() == asked or not is_one
    origin["/g"] = OLD
    assert proxy.get("/g").body == SMALL_OUT
    origin["/g"] = pages(wall, new)
    got = proxy.get("/g")
    assert got.body == SMALL_OUT and ("kept" not in got["Cache-Status"]) == is_one


# ---- on, off, and a route's own ----

OPTIONS = {
    "off": ("off", [BY_1]),
    "on": ("on", [BY_2]),
    "auto": ("auto", [BY_2]),
}


@pytest.mark.parametrize("way", ["global", "route"])
@pytest.mark.parametrize("case", OPTIONS)
def test_an_option(start, authority, origin, case, way):
    word, asked = OPTIONS[case]
    origin["*"] = FEED
    route = f"/={origin.url}/" + (f" http2={word}" if way == "route" else "")
    proxy = start(None, "--tls-ca-file", authority.root.cert, "--route", route, *(["--http2", word] if way == "global" else []))
    assert proxy.get("/f").body == SMALL_OUT and origin.protocols() == asked
    assert origin.conns[0].offered == ([BY_1] if word == "off" else [BY_2, BY_1])


@pytest.mark.parametrize("word", ["on", "off"])
def test_only_auto_asks_twice(asking, origin, word):
    origin["*"] = says(403)
    proxy = asking(origin, "--http2", word)
    for number in range(2):
        assert proxy.get("/f").status == 403 and origin.count() == number + 1


def test_on_where_http_1_is_required(asking, origin):
    """Finding 10: the fact is used all the same."""
    origin["*"] = pages(wants_1, FEED)
    proxy = asking(origin, "--http2", "on")
    first = proxy.get("/f")
    assert first.status in (200, 502)
    for _ in range(2):
        assert proxy.get("/f").body == SMALL_OUT
    assert origin.protocols().count(BY_2) == 1


def test_routes_of_one_host(start, authority, origin):
    """A route without HTTP/2 uses no session of another one."""
    origin["*"] = FEED
    proxy = start(None, "--tls-ca-file", authority.root.cert, "--workers", "1", "--route", f"/1/={origin.url}/1/ http2=off", "--route", f"/={origin.url}/ http2=on")
    for path, asked in (("/a", BY_2), ("/1/b", BY_1), ("/c", BY_2), ("/1/d", BY_1)):
        assert proxy.get(path).body == SMALL_OUT and origin.protocols(path)[-1] == asked


def test_an_option_that_changes(start, authority, origin, tmp_path):
    """By a reload: sessions of before are not used where the option is off, and what was learnt is not forgotten."""
    file = tmp_path / "utfeed.conf"
    write = lambda word: file.write_text(f"http2 = {word}\n")
    write("auto")
    origin["/f"], origin["/g"] = FEED, pages(wants_1, FEED)
    proxy = start(None, "-c", str(file), "--tls-ca-file", authority.root.cert, "--workers", "1", "--route", f"/={origin.url}/")
    for word, asked in (("auto", BY_2), ("off", BY_1), ("on", BY_2)):
        write(word)
        proxy.reload()
        assert proxy.get("/f").body == SMALL_OUT and origin.protocols("/f")[-1] == asked
    assert proxy.get("/g").status in (200, 502)
    proxy.reload()
    assert proxy.get("/g").body == SMALL_OUT and origin.protocols("/g").count(BY_2) == 1


def test_workers_share_what_is_known(asking, origin):
    """Whichever of them has learnt it."""
    origin["*"] = pages(says(403), FEED)
    proxy = asking(origin, "--workers", "4")
    for number in range(24):
        assert proxy.get(f"/{number}").body == SMALL_OUT
    assert origin.protocols().count(BY_2) == 1


@pytest.mark.parametrize("reply,body", [(FEED, SMALL_OUT), (says(500), b"by h2\n" * 1000)], ids=["better", "no better"])
def test_a_reload_while_the_other_protocol_is_asked(asking, origin, reply, body):
    """Both connections are of the former configuration; the answer is the client's all the same."""
    origin["/f"] = pages(says(403, body=b"by h2\n" * 1000), held)
    proxy = asking(origin)
    client = proxy.client().ask("/f")
    asked = origin.receive("/f", 2)
    proxy.reload()
    origin.do(asked.reply, reply)
    assert client.response().body == body and origin.protocols() == [BY_2, BY_1]
