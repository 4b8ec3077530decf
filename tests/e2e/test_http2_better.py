"""http2 = auto: which of two answers counts. A second one that is an error or a page is no better, and a feed is no page for its label."""
import pytest

pytest.importorskip("hpack", reason="no python3-hpack here")

from feeds import SMALL, SMALL_OUT
from http2_frames import header_frames, ping
from peers import Background
from test_http2_auto import BY_1, BY_2, FEED, HTML, asking, clock, origin, pages, says      # pylint: disable=unused-import
from test_http2_origin import MALFORMED, held
from wire import message

FEEDS = "Accept: application/rss+xml, application/atom+xml"
LATE = b"at first "                     # a PING whose answer says that utfeed has read the head


def first_of(proxy, origin, path="/f"):
    """Asks for a page's path over HTTP/2, and returns when utfeed has read the head alone."""
    client = proxy.client().ask(path, FEEDS)
    asked = origin.receive(path)
    origin.do(asked.head, 200, [("content-type", "text/html")])
    origin.do(asked.conn.h2.raw, ping(LATE[:8]))
    origin.until(lambda: asked.conn.h2.pongs)
    return client, asked


def test_a_feed_that_is_labelled_as_a_page(asking, origin):
    """It is told by its first bytes, however late they come: its publisher is not asked twice."""
    origin["/f"] = pages(held, says(404))
    proxy = asking(origin)
    client, asked = first_of(proxy, origin)
    assert origin.protocols() == [BY_2]
    origin.do(asked.send, SMALL, True)
    assert client.response().body == SMALL_OUT and origin.protocols() == [BY_2]
    assert proxy.counters()["fetches_asked_twice"] == 0


def test_a_page_that_comes_late(asking, origin):
    origin["/f"] = pages(held, FEED)
    client, asked = first_of(asking(origin), origin)
    origin.do(asked.send, b"<!DOCTYPE html><title>Just a moment...</title>", True)
    assert client.response().body == SMALL_OUT and origin.protocols() == [BY_2, BY_1]


@pytest.mark.parametrize("end", ["nothing", "a reset"])
def test_a_head_without_a_body(asking, origin, end):
    """An empty body is no feed, and is no better than a page. One that breaks off says nothing."""
    origin["/f"] = pages(held, FEED)
    client, asked = first_of(asking(origin), origin)
    origin.do(*((asked.send, b"", True) if end == "nothing" else (asked.reset,)))
    got = client.response()
    assert (got.status, origin.protocols()) == ((200, [BY_2, BY_1]) if end == "nothing" else (502, [BY_2]))
    assert end != "nothing" or got.body == SMALL_OUT


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("first", [BY_1, BY_2])
def test_a_head_to_which_no_body_belongs(asking, origin, first, method):
    """Nobody waits for one: over HTTP/1.1 nothing would come, and the connection stays open."""
    empty = message("200 OK", "Content-Type: text/html", body=b"")
    origin["/f"] = pages(empty, FEED) if first == BY_2 else pages(FEED, empty)
    origin["/warm"] = pages(says(403), FEED)
    proxy = asking(origin)
    if first == BY_1:
        assert proxy.get("/warm").body == SMALL_OUT
    got = proxy.get("/f", FEEDS, method=method)
    assert got.status == 200 and origin.protocols("/f") == [first, BY_1 if first == BY_2 else BY_2]
    assert got.body == (SMALL_OUT if method == "GET" else b"")


def test_a_page_whose_body_never_comes(asking, clock, origin):
    """It counts once the time for a head is over; then its body is late."""
    origin["/f"], origin["/g"] = pages(held, FEED), FEED
    proxy = asking(origin, "--first-byte-timeout", "20s", "--between-bytes-timeout", "20s")
    client, _ = first_of(proxy, origin)
    assert clock.passes(21, Background(client.response)).status in (200, 502, 504) and origin.protocols() == [BY_2]
    assert proxy.get("/g").body == SMALL_OUT


NO_BETTER = {f"{status}": says(status) for status in (400, 401, 403, 404, 410, 426, 429, 500)} | {
    "503 with Retry-After": says(503, "Retry-After: 100"), "a page": HTML}


@pytest.mark.parametrize("second", NO_BETTER)
@pytest.mark.parametrize("first", ["403", "a page"])
def test_a_second_answer_that_is_no_better(asking, origin, first, second):
    """The first one counts, and what the host answers better stays as it was."""
    origin["/f"], origin["/g"] = pages(NO_BETTER[first], NO_BETTER[second]), pages(FEED, says(404))
    proxy = asking(origin)
    got = proxy.get("/f", FEEDS)
    assert got.status == (403 if first == "403" else 200) and origin.protocols() == [BY_2, BY_1]
    assert proxy.get("/g").body == SMALL_OUT and origin.protocols("/g") == [BY_2]
    assert proxy.counters()["fetches_better"] == 0


@pytest.mark.parametrize("status", [301, 302, 304, 200])
def test_a_second_answer_that_is_better(asking, origin, status):
    there = {"fields": ["Location: /there"]} if status in (301, 302) else {}
    second = message(f"{status} X", *there.get("fields", ()), length=status != 304, body=b"" if status != 200 else SMALL)
    origin["/f"], origin["/there"] = pages(says(403), second), FEED
    got = asking(origin, "--redirects", "0").get("/f", 'If-None-Match: "a"')
    assert got.status == status and origin.protocols("/f") == [BY_2, BY_1]


@pytest.mark.parametrize("second", ["429", "503 with Retry-After"])
def test_a_pause_that_the_second_answer_asks_for(asking, origin, second):
    """It is kept, whichever answer counts."""
    reply = says(int(second[:3]), "Retry-After: 100")
    origin["/f"] = pages(says(403), reply)
    proxy = asking(origin, "--pause", "on")
    assert proxy.get("/f").status == 403 and origin.protocols() == [BY_2, BY_1]
    again = proxy.get("/f")
    assert int(again["Retry-After"]) > 15 and origin.protocols() == [BY_2, BY_1]
    if second == "429":
        assert proxy.get("/other")["Retry-After"] and origin.count("/other") == 0


def test_host_interval(asking, origin):
    """Two requests at once are more than it allows."""
    origin["/f"] = pages(says(403), FEED)
    assert asking(origin, "--host-interval", "5s").get("/f").status == 403 and origin.protocols() == [BY_2]


# ---- HTTP/2 that fails ----

def resets(code):
    return lambda asked: asked.reset(code)


def hangs_up(asked):
    asked.conn.close()


def malformed(asked):
    asked.conn.raw(header_frames(asked.number, MALFORMED["connection"], 0))


FAILS = {**{code: resets(code) for code in ("INTERNAL_ERROR", "PROTOCOL_ERROR", "CANCEL", "ENHANCE_YOUR_CALM")}, "a malformed head": malformed,
         "the connection ends": hangs_up}


@pytest.mark.parametrize("case", FAILS)
def test_http_2_that_fails(asking, origin, case):
    """An origin is no worse off than before it spoke HTTP/2: its host is asked over HTTP/1.1 for an hour."""
    origin["/f"] = origin["/g"] = pages(FAILS[case], FEED)
    proxy = asking(origin)
    assert proxy.get("/f").body == SMALL_OUT and origin.protocols("/f")[-1] == BY_1
    asked = origin.count("/f", BY_2)
    assert proxy.get("/f").body == SMALL_OUT and proxy.get("/g").body == SMALL_OUT
    assert origin.count("/f", BY_2) == asked == 1 and origin.count("/g", BY_2) == 0


def test_both_fail(asking, origin):
    """Each is asked once; then HTTP/1.1 alone is for an hour."""
    origin["/f"] = pages(resets("INTERNAL_ERROR"), lambda asked: asked.conn.close())
    proxy = asking(origin)
    for times in (1, 2):
        assert proxy.get("/f").status == 502 and origin.protocols() == [BY_2] + [BY_1] * times


def test_http_2_that_is_silent(asking, clock, origin):
    """The time for a head is over then. The next request goes over HTTP/1.1."""
    origin["/f"] = pages(held, FEED)
    proxy = asking(origin, "--first-byte-timeout", "20s")
    client = proxy.client().ask("/f")
    origin.receive("/f")
    assert clock.passes(21, Background(client.response)).status == 504
    assert proxy.get("/f").body == SMALL_OUT and origin.protocols() == [BY_2, BY_1]


@pytest.mark.parametrize("option,method", [("on", "GET"), ("auto", "POST")])
def test_what_does_not_fall_back(asking, origin, option, method):
    origin["/f"] = pages(resets("INTERNAL_ERROR"), FEED)
    proxy = asking(origin, "--http2", option)
    client = proxy.client().ask("/f", "Content-Length: 0", method=method)
    assert client.response().status == 502 and origin.protocols() == [BY_2]
