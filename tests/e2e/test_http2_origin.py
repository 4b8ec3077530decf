"""HTTP/2 to origins: what an exchange means is what it means by HTTP/1.1, on streams that many fetches share. Sources: RFC 9113, RFC 9110.
test_http2_auto.py has the choice between the two, test_http2_hostile.py what an origin may not do."""
import gzip

import pytest

pytest.importorskip("hpack", reason="no python3-hpack here")

from feeds import SMALL, SMALL_OUT, big
from http2_frames import (DATA, END_STREAM, HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS, frame,
                          header_frames, indexed, literal, ping)
from pages import FRESH, was_hit
from test_faults import error_of
from wire import Cut, chunked, message

XML = "Content-Type: application/xml"
FEED = message("200 OK", XML, body=SMALL)
BODY = bytes(range(256)) * 3
OK = indexed(8)                     # :status 200


def held(_):
    """The test answers it."""


@pytest.fixture
def origin(scripted):
    return scripted()


def ask_all(proxy, *paths):
    """A client for each, whose request is sent."""
    return [proxy.client().ask(path) for path in paths]


def warm(proxy, origin):
    """Returns the connection once it is there, its SETTINGS known to both ends."""
    origin["/warm"] = FEED
    assert proxy.get("/warm").body == SMALL_OUT
    h2 = origin.asked[-1].h2
    origin.until(lambda: not h2.unacknowledged)
    return h2


def is_as_good(proxy, origin):
    """The first connection serves as before, and no other was needed."""
    origin["/good"] = FEED
    assert proxy.get("/good").body == SMALL_OUT
    assert origin.connections() == 1 and not origin.conns[0].h2.goaways


# ---- the same by both protocols ----

POST = {"method": "POST"}
SAME = {
    "a feed": (FEED, {}),
    "a query": (FEED, {"target": "/f?a=b&c"}),
    "HEAD": (FEED, {"method": "HEAD"}),
    "chunks": (message("200 OK", XML, "Transfer-Encoding: chunked", body=chunked(SMALL, 100)), {}),
    "no length": (message("200 OK", "Content-Type: text/plain", "Transfer-Encoding: chunked", body=chunked(BODY)), {}),
    "an empty body": (message("200 OK", "Content-Type: text/plain"), {}),
    "trailers": (message("200 OK", XML, "Transfer-Encoding: chunked", body=chunked(SMALL, end=b"0\r\nX-Late: 1\r\nETag: \"late\"\r\n\r\n")), {}),
    "interim responses": (b"HTTP/1.1 103 Early Hints\r\nLink: </s>; rel=preload\r\n\r\n" * 3 + b"HTTP/1.1 102 Processing\r\n\r\n" + FEED, {}),
    "100 that nobody asked for": (b"HTTP/1.1 100 Continue\r\n\r\n" + FEED, {}),
    "204": (message("204 No Content", length=False), {}),
    "304": (message("304 Not Modified", 'ETag: "a"', length=False), {"fields": ['If-None-Match: "a"']}),
    "404": (message("404 Not Found", "Content-Type: text/plain", body=b"no"), {}),
    "a redirect": (message("302 Found", "Location: /g", body=b"there"), {}),
    "an unknown status": (message("299 Whatever", XML, body=SMALL), {}),
    "gzip": (message("200 OK", XML, "Content-Encoding: gzip", body=gzip.compress(SMALL)), {}),
    "gzip that lies": (message("200 OK", XML, "Content-Encoding: gzip", body=SMALL), {}),
    "set cookies": (message("200 OK", "Set-Cookie: a=b; Path=/", "Set-Cookie: c=d, e", "Content-Type: text/plain", body=b"x"), {}),
    "fields in Latin-1": (message("200 OK", "X-Own: caf\xe9", "X-Empty:", "Content-Type: text/plain", body=b"x"), {}),
    "a large body": (message("200 OK", XML, body=big(size=3 << 20)[0]), {}),
    "a range": (message("206 Partial Content", "Content-Type: image/png", "Content-Range: bytes 0-2/9", body=b"abc"), {"fields": ["Range: bytes=0-2"]}),
    "POST": (message("200 OK", body=b"done"), {**POST, "fields": [f"Content-Length: {len(BODY)}", "Content-Type: a/b"], "body": BODY}),
    "POST in chunks": (message("200 OK", body=b"done"), {**POST, "fields": ["Transfer-Encoding: chunked"], "body": chunked(BODY, 100)}),
    "POST of nothing": (message("200 OK", body=b"done"), {**POST, "fields": ["Content-Length: 0"]}),
    "POST of chunks of nothing": (message("200 OK", body=b"done"), {**POST, "fields": ["Transfer-Encoding: chunked"], "body": b"0\r\n\r\n"}),
    "POST of megabytes": (message("200 OK", body=b"done"), {**POST, "fields": [f"Content-Length: {len(BODY) * 4096}"], "body": BODY * 4096}),
    "POST that expects": (message("200 OK", body=b"done"), {**POST, "fields": ["Content-Length: 3", "Expect: 100-continue"], "body": b"abc"}),
    "POST without a length": (message("200 OK", body=b"done"), POST),
    "PUT": (message("201 Created", "Location: /new"), {"method": "PUT", "fields": ["Content-Length: 3"], "body": b"abc"}),
    "DELETE": (message("204 No Content", length=False), {"method": "DELETE"}),
    "OPTIONS": (message("200 OK", "Allow: GET"), {"method": "OPTIONS"}),
    "a method of its own": (message("200 OK", body=b"x"), {"method": "REPORT", "fields": ["Content-Length: 3"], "body": b"abc"}),
    "fields of a connection": (message("200 OK", XML, body=SMALL), {"fields": ["Connection: X-Hop, keep-alive", "X-Hop: 1", "Keep-Alive: timeout=5", "TE: gzip, trailers",
                                                                              "Upgrade: h2c", "Proxy-Connection: keep-alive"]}),
    "upper case": (message("200 OK", "X-UPPER: Value", "Content-Type: text/plain", body=b"x"), {"fields": ["X-LOUD: Yes"]}),
    "Host in a redirect's answer": (message("421 Misdirected Request", "Content-Type: text/plain", body=b"no"), {}),
}


def exchanged(proxy, origin, reply, target="/f", method="GET", fields=(), body=b""):
    """What both ends saw of one exchange, without what names a port or a moment."""
    origin["*"] = reply
    client = proxy.client().ask(target, *fields, method=method)
    client.send_soon(body)
    got = client.response()
    shown = [(name.lower(), value.replace(str(origin.port), "PORT")) for name, value in got.fields if name.lower() != "date"]
    asked = origin.asked[-1]
    seen = {(name.lower(), value.replace(str(origin.port), "PORT")) for name, value in asked.fields if name.lower() not in ("transfer-encoding", "connection", "te")}
    return (got.status, shown, got.body, got.trailers, origin.count()), (asked.method, asked.target, seen, bytes(asked.body))


@pytest.mark.parametrize("case", SAME)
def test_it_means_the_same(asking, scripted, case):
    reply, how = SAME[case]
    found = []
    for protocol in ("h2", "http/1.1"):
        origin = scripted(protocol)
        found.append(exchanged(asking(origin), origin, reply, **how))
        assert set(origin.protocols()) == {protocol}
    assert found[0] == found[1]


SETTINGS = {
    "no header table": [(HEADER_TABLE_SIZE, 0)],
    "a small header table": [(HEADER_TABLE_SIZE, 100)],
    "small windows": [(INITIAL_WINDOW_SIZE, 10)],
    "windows of nothing": [(INITIAL_WINDOW_SIZE, 0)],
    "large windows": [(INITIAL_WINDOW_SIZE, 2 ** 31 - 1)],
    "one stream": [(MAX_CONCURRENT_STREAMS, 1)],
    "what nobody knows": [(0x7a7a, 7)],
}


def echoes(asked):
    """At its head a stream is given the window that its body needs; at its end it is answered."""
    if asked.whole:
        return message("200 OK", body=asked.body)
    asked.h2.renew(asked, len(BODY))
    return None


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_of_an_origin(asking, origin, case):
    """Its decoder, its windows and its count of streams fail by what they did not allow."""
    origin.settings = SETTINGS[case]
    origin["/p"] = (echoes,) if case == "windows of nothing" else lambda asked: message("200 OK", body=asked.body)
    proxy = asking(origin)
    warm(proxy, origin)
    for number in range(3):
        assert proxy.get("/warm", f"X-Number: {number}", "User-Agent: " + "reader/1 " * 5).body == SMALL_OUT
        client = proxy.client().ask("/p", f"Content-Length: {len(BODY)}", method="POST")
        client.send(BODY)
        assert client.response().body == BODY


# ---- one connection for many ----

def test_one_connection_for_many(asking, origin):
    origin["*"] = lambda asked: message("200 OK", XML, f"X-Target: {asked.target}", body=SMALL)
    proxy = asking(origin)
    warm(proxy, origin)
    for number in range(30):
        assert proxy.get(f"/{number}")["X-Target"] == f"/{number}"
    for number, client in enumerate(ask_all(proxy, *(f"/{number}" for number in range(60)))):
        got = client.response()
        assert (got["X-Target"], got.body) == (f"/{number}", SMALL_OUT)
    assert origin.connections() == 1
    counters = proxy.counters()
    assert (counters["h2_origin_connections"], counters["h2_origin_streams"]) == (1, 91)


@pytest.mark.parametrize("most,connections", [(1, 1), (3, 1), (3, 2)])
def test_streams_within_the_limit(asking, origin, most, connections):
    """The others wait for room, as for origin-connections; OverHttp2 fails by one too many."""
    origin.settings = [(MAX_CONCURRENT_STREAMS, most)]
    proxy = asking(origin, "--origin-connections", f"{connections}")
    warm(proxy, origin)
    origin["*"] = held
    clients = ask_all(proxy, *(f"/{number}" for number in range(8)))
    for number in range(8):
        origin.until(lambda number=number: len(origin.asked) > 1 + number)
        if number >= most * connections - 1:
            origin.do(origin.asked[1 + number].reply, FEED)
    for asked in origin.asked[1:]:
        if not asked.over:
            origin.do(asked.reply, FEED)
    assert [client.response().body for client in clients] == [SMALL_OUT] * 8
    assert origin.connections() <= connections


def test_one_stream_before_settings(asking, origin):
    """Finding 6: until the origin's SETTINGS are there nobody knows how many it takes. The others wait."""
    origin.settings, origin["*"] = None, FEED
    origin["/0"] = held
    proxy = asking(origin, "--origin-connections", "1")
    clients = ask_all(proxy, "/0")
    first = origin.receive("/0")
    clients += ask_all(proxy, *(f"/{number}" for number in range(1, 10)))
    proxy.counted("requests", 10)
    assert origin.count() == 1
    origin.do(first.h2.set, (MAX_CONCURRENT_STREAMS, 2))
    origin.do(first.reply, FEED)
    assert [client.response().body for client in clients] == [SMALL_OUT] * 10
    assert origin.connections() == 1 and first.h2.most_untold == 1


def test_a_limit_that_falls_and_rises(asking, origin):
    proxy = asking(origin, "--origin-connections", "1")
    h2 = warm(proxy, origin)
    origin["*"] = held
    clients = ask_all(proxy, "/1", "/2", "/3")
    running = [origin.receive(path) for path in ("/1", "/2", "/3")]
    for limit in (1, 0):
        origin.do(h2.set, (MAX_CONCURRENT_STREAMS, limit))
        origin.until(lambda: not h2.unacknowledged)
        clients += ask_all(proxy, f"/more{limit}")
    proxy.counted("requests", 6)
    assert origin.count() == 4
    origin["*"] = FEED
    origin.do(h2.set, (MAX_CONCURRENT_STREAMS, 4))
    assert [client.response().body for client in clients[3:]] == [SMALL_OUT] * 2
    for asked in running:
        origin.do(asked.reply, FEED)
    assert [client.response().body for client in clients[:3]] == [SMALL_OUT] * 3
    assert origin.connections() == 1


def test_a_post_does_not_hold_up_others(asking, origin):
    """Finding 7: it uses the session, too, unless that is idle and may be dead. Whoever comes behind it has room there."""
    proxy = asking(origin, "--origin-connections", "1")
    warm(proxy, origin)
    origin["/slow"], origin["/post"], origin["/f"] = held, held, FEED
    slow = proxy.client().ask("/slow")
    running = origin.receive("/slow")
    post = proxy.client().ask("/post", "Content-Length: 3", method="POST")
    post.send(b"abc")
    asked = origin.receive("/post")
    assert proxy.get("/f").body == SMALL_OUT
    for each in (asked, running):
        origin.do(each.reply, FEED)
    assert [client.response().status for client in (post, slow)] == [200, 200] and origin.connections() == 1


def test_a_post_where_the_session_is_idle(asking, origin):
    """It gets another connection, and with origin-connections = 1 in the place of the idle one."""
    proxy = asking(origin, "--origin-connections", "1")
    origin["*"] = FEED
    for _ in range(3):
        assert proxy.get("/f").body == SMALL_OUT
        post = proxy.client().ask("/post", "Content-Length: 3", method="POST")
        post.send(b"abc")
        assert post.response().status == 200
    assert len([conn for conn in origin.conns if not conn.ended]) <= 2


# ---- streams that were refused, and others that fail ----

def by_goaway(code="NO_ERROR", last=-2):
    """GOAWAY below the request's stream: it was not processed (section 6.8)."""
    return lambda asked: (asked.h2.goaway(max(0, asked.number + last), code), asked.conn.close()) and None


def refuses(asked):
    asked.reset("REFUSED_STREAM")


UNPROCESSED = {
    "REFUSED_STREAM": [refuses],
    "REFUSED_STREAM twice": [refuses] * 2,
    "GOAWAY": [by_goaway()],
    "GOAWAY twice": [by_goaway()] * 2,
    "GOAWAY with a code": [by_goaway("ENHANCE_YOUR_CALM")],
}


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("case", UNPROCESSED)
def test_what_was_not_processed_is_asked_again(asking, origin, case, method):
    """RFC 9113 section 8.7: whatever the method is. A body that is gone may be a reason not to."""
    origin["/f"] = [*UNPROCESSED[case], lambda asked: message("200 OK", body=asked.body or b"got")]
    proxy = asking(origin)
    warm(proxy, origin)
    client = proxy.client().ask("/f", *(["Content-Length: 3"] if method == "POST" else []), method=method)
    client.send(b"abc" if method == "POST" else b"")
    got = client.response()
    if method == "POST" and got.status == 502:
        assert origin.count("/f") == 1
    else:
        assert (got.status, got.body) == (200, b"abc" if method == "POST" else b"got")
        assert origin.count("/f") == 1 + len(UNPROCESSED[case])


@pytest.mark.parametrize("how", [refuses, by_goaway(), by_goaway("ENHANCE_YOUR_CALM")], ids=["REFUSED_STREAM", "GOAWAY", "GOAWAY with a code"])
def test_an_origin_that_always_refuses(asking, origin, how):
    """It is asked a few times, and no more."""
    origin["/f"] = how
    got = asking(origin).get("/f")
    assert got.status == 502 and 1 <= origin.count() <= 5


def test_a_post_that_may_have_been_processed_is_not_repeated(asking, origin):
    proxy = asking(origin)
    for how in (lambda asked: asked.conn.reset(), lambda asked: asked.conn.close(), lambda asked: asked.reset("INTERNAL_ERROR"),
                lambda asked: (asked.h2.goaway(), asked.conn.close()) and None):
        warm(proxy, origin)
        origin["/f"], before = how, origin.count("/f")
        client = proxy.client().ask("/f", "Content-Length: 3", method="POST")
        client.send(b"abc")
        assert client.response().status == 502 and origin.count("/f") == before + 1


@pytest.mark.parametrize("how", ["goes on", "ends"])
@pytest.mark.parametrize("last", [2 ** 31 - 1, None], ids=["the highest number", "the last stream"])
def test_goaway_lets_streams_end(asking, origin, last, how):
    """What runs is answered; what comes goes elsewhere."""
    proxy = asking(origin)
    h2 = warm(proxy, origin)
    origin["*"] = held
    clients = ask_all(proxy, "/1", "/2")
    running = [origin.receive("/1"), origin.receive("/2")]
    origin.do(h2.goaway, last)
    origin.do(h2.raw, ping())
    origin.until(lambda: h2.pongs)
    clients += ask_all(proxy, "/3")
    origin.do(origin.receive("/3").reply, FEED)
    assert clients[2].response().body == SMALL_OUT and origin.connections() == 2
    if how == "ends":
        origin.do(h2.goaway)
    for asked in running:
        origin.do(asked.reply, FEED)
    assert [client.response().body for client in clients[:2]] == [SMALL_OUT] * 2
    origin.until(lambda: h2.conn.ended, "the connection of which nothing can come")


@pytest.mark.parametrize("code", ["NO_ERROR", "CANCEL", "INTERNAL_ERROR", "PROTOCOL_ERROR", "FLOW_CONTROL_ERROR", "STREAM_CLOSED", "ENHANCE_YOUR_CALM"])
@pytest.mark.parametrize("when", ["before the head", "in the body"])
def test_a_reset_is_that_streams_alone(asking, origin, code, when):
    proxy = asking(origin)
    warm(proxy, origin)
    origin["/other"] = held
    origin["/f"] = (lambda asked: asked.reset(code)) if when == "before the head" else reset_within(code)
    other = proxy.client().ask("/other")
    running = origin.receive("/other")
    client = proxy.client().ask("/f")
    if when == "before the head":
        got = client.response()
        assert got.status == 502 and error_of(got) in ("http_response_incomplete", "http_protocol_error", "connection_terminated")
    else:
        failed(client)
    origin.do(running.reply, FEED)
    assert other.response().body == SMALL_OUT and origin.count("/f") <= 2
    is_as_good(proxy, origin)


def reset_within(code):
    def run(asked):
        asked.head(200, [("content-type", "text/plain"), ("content-length", "100")])
        asked.send(b"x" * 50)
        asked.reset(code)
    return run


def failed(client, *statuses):
    """Its response is an error, 502 unless others are named, or is cut."""
    try:
        got = client.response()
    except Cut:
        return
    assert got.status in (statuses or (502,)), got.line


def test_many_resets_are_answers(asking, origin):
    """Finding 3: an origin resets what utfeed asked; the session goes on, and so does who else is there."""
    proxy = asking(origin)
    warm(proxy, origin)
    origin["/other"], origin["*"] = held, lambda asked: asked.reset("INTERNAL_ERROR")
    other = proxy.client().ask("/other")
    running = origin.receive("/other")
    for turn in range(10):
        for client in ask_all(proxy, *(f"/{turn}/{number}" for number in range(50))):
            assert client.response().status == 502
    origin.do(running.reply, FEED)
    assert other.response().body == SMALL_OUT
    is_as_good(proxy, origin)
    assert proxy.counters()["h2_origin_resets"] == 500


# ---- answers that are none ----

def sends(*fields, data=(), end=None, trailers=()):
    """A head with these fields, a frame of DATA for each of data, then: "reset", "lost", another head, or else the end of the stream in a
    frame of its own."""
    def run(asked):
        asked.head(200, [("content-type", "application/rss+xml"), ("cache-control", "max-age=600"), *fields])
        for piece in data:
            asked.send(piece)
        if end == "reset":
            asked.reset("INTERNAL_ERROR")
        elif end == "lost":
            asked.conn.close()
        elif end == "head":
            asked.conn.raw(header_frames(asked.number, literal(":status", "200"), END_STREAM))
        else:
            asked.send(end=True, trailers=trailers)
    return run


LENGTH = ("content-length", f"{len(SMALL)}")
WRONG_ENDS = {
    "a reset behind the length": sends(LENGTH, data=[SMALL], end="reset"),
    "a reset without a length": sends(data=[SMALL], end="reset"),
    "a lost connection behind the length": sends(LENGTH, data=[SMALL], end="lost"),
    "a lost connection without a length": sends(data=[SMALL], end="lost"),
    "more than the length": sends(LENGTH, data=[SMALL + b"x"]),
    "more than the length, apart": sends(LENGTH, data=[SMALL, b"x"]),
    "less than the length": sends(LENGTH, data=[SMALL[:-1]]),
    "nothing": sends(LENGTH),
    "trailers that are none": sends(LENGTH, data=[SMALL], end="head"),
    "a reset in the middle": sends(LENGTH, data=[SMALL[:50]], end="reset"),
}


@pytest.mark.parametrize("case", WRONG_ENDS)
def test_what_does_not_end_well_is_not_stored(asking, origin, case):
    """Finding 5: nor does it look complete to anybody."""
    origin["/f"] = WRONG_ENDS[case]
    proxy = asking(origin, "--cache", "on")
    failed(proxy.client().ask("/f"))
    origin["/f"] = message("200 OK", "Content-Type: application/rss+xml", FRESH, body=SMALL)
    got = proxy.get("/f")
    assert got.body == SMALL_OUT and not was_hit(got)
    assert was_hit(proxy.get("/f"))


NOTHING, LATE = ("content-length", "0"), [("x-late", "1")]
ENDS = {
    "a length of nothing": (sends(NOTHING), b""),
    "a length of nothing, and an empty frame": (sends(NOTHING, data=[b""]), b""),
    "a length of nothing, and trailers": (sends(NOTHING, trailers=LATE), b""),
    "a length": (sends(LENGTH, data=[SMALL]), SMALL_OUT),
    "a length, its last byte apart": (sends(LENGTH, data=[SMALL[:-1], SMALL[-1:]]), SMALL_OUT),
    "a length, byte by byte": (sends(LENGTH, data=[SMALL[at:at + 1] for at in range(len(SMALL))]), SMALL_OUT),
    "a length, and trailers": (sends(LENGTH, data=[SMALL], trailers=LATE), SMALL_OUT),
    "a length of one": (sends(("content-length", "1"), data=[b"x"]), b"x"),
    "no length": (sends(data=[SMALL]), SMALL_OUT),
    "no length, and nothing": (sends(), b""),
    "no length, and trailers": (sends(data=[SMALL], trailers=LATE), SMALL_OUT),
}


@pytest.mark.parametrize("case", ENDS)
def test_ends_that_are_well(asking, origin, case):
    """The end of the stream comes on its own."""
    said, body = ENDS[case]
    origin["/f"] = said
    proxy = asking(origin)
    for _ in range(2):
        got = proxy.get("/f")
        assert got.status == 200 and got.body == body
    assert origin.connections() == 1


MALFORMED = {
    "no :status": literal("content-type", "text/plain"),
    "two of :status": OK + OK,
    ":status behind a field": literal("a", "b") + OK,
    ":status of words": literal(":status", "good"),
    ":status of two digits": literal(":status", "20"),
    ":status 101": literal(":status", "101"),
    "another pseudo-header field": OK + literal(":path", "/"),
    "an unknown pseudo-header field": OK + literal(":what", "/"),
    "upper case": OK + literal("X-Own", "1"),
    "connection": OK + literal("connection", "close"),
    "transfer-encoding": OK + literal("transfer-encoding", "chunked"),
    "upgrade": OK + literal("upgrade", "h2c"),
    "CR LF in a value": OK + literal("x-own", "a\r\nx-other: b"),
    "NUL in a value": OK + literal("x-own", "a\0b"),
    "a blank in a name": OK + literal("x own", "a"),
    "a colon in a name": OK + literal("x:own", "a"),
    "an empty name": OK + literal("", "a"),
    "two lengths": OK + literal("content-length", "3") + literal("content-length", "4"),
    "a length of words": OK + literal("content-length", "three"),
    "a negative length": OK + literal("content-length", "-1"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_response(asking, origin, case):
    """Section 8.1.1: a stream error, never an answer; others of the session are served."""
    origin["/other"] = held
    origin["/f"] = lambda asked: asked.conn.raw(header_frames(asked.number, MALFORMED[case], 0) + frame(DATA, END_STREAM, asked.number, b"abc"))
    proxy = asking(origin)
    warm(proxy, origin)
    other = proxy.client().ask("/other")
    running = origin.receive("/other")
    failed(proxy.client().ask("/f"))
    origin.do(running.reply, FEED)
    assert other.response().body == SMALL_OUT
    is_as_good(proxy, origin)
