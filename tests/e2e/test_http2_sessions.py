"""A session of HTTP/2 with an origin, which many share: readers that stall or leave, who may use it, how long it lives, the limits of what comes
on it."""
import collections

import pytest

pytest.importorskip("hpack", reason="no python3-hpack here")

from feeds import SMALL_OUT, big
from fleets import has_read
from http2 import Http2
from http2_frames import (DATA, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS, frame, header_frames, indexed, indexing,
                          literal)
from inside import InsideClient, OwnCa
from peers import Background
from test_faults import error_of
from test_http2_auto import BY_2
from test_http2_origin import FEED, OK, XML, ask_all, failed, held, is_as_good, warm
from test_parent import ALLOW, NAME
from wire import Cut, message

MUCH = 64 << 20


@pytest.fixture
def origin(scripted):
    return scripted()


# ---- readers ----

def stalled(proxy, origin, path="/stalled"):
    """A client that asked for a long body and takes nothing of it, and what the origin knows of it once nothing more goes."""
    client = proxy.client(receive_buffer=4096).ask(path)
    asked = origin.receive(path)
    origin.until(lambda: asked.sent and not asked.window > 0 or asked.code, "the window is never used up")
    return client, asked


def test_a_stalled_reader_stops_nobody_else(asking, origin):
    """Its stream's window is used up, the connection's is not; what it costs is bounded."""
    origin["/stalled"] = message("200 OK", "Content-Type: image/png", body=b"x" * MUCH)
    data, out = big(size=1 << 20)
    origin["*"] = message("200 OK", XML, body=data)
    proxy = asking(origin)
    warm(proxy, origin)
    client, asked = stalled(proxy, origin)
    before = asked.sent
    for _ in range(5):
        for other in ask_all(proxy, *(f"/{number}" for number in range(8))):
            assert other.response().body == out
    assert before < 4 << 20 and not asked.code
    assert asked.sent - before < 4 << 20
    taken = []
    client.response(sink=lambda piece: taken.append(len(piece)))
    assert sum(taken) == MUCH and origin.connections() == 1


def test_many_stalled_readers(asking, origin):
    """What comes for them before they read it is bounded for all together: they share the windows that one alone would have."""
    origin["*"] = message("200 OK", "Content-Type: image/png", body=b"x" * 200_000)
    proxy = asking(origin, "--h2c", "on", "--transit-bytes", "16k")
    warm(proxy, origin)
    before, connections = proxy.status("VmRSS"), [Http2(proxy.port, options=[(INITIAL_WINDOW_SIZE, 0)]) for _ in range(4)]
    asked = [conn.ask(f"/{number}/{turn}") for number, conn in enumerate(connections) for turn in range(90)]
    origin.until(lambda: origin.count() > len(asked) and
                 all(each.window <= 0 or each.sent == 200_000 for each in origin.asked[-len(asked):]))
    assert sum(each.sent for each in origin.asked) < 28 << 20
    proxy.assert_growth(before, 56 << 10)
    for each in asked:
        each.renew(200_000)
    for each in asked:
        assert len(each.response().body) == 200_000
    for conn in connections:
        conn.close()


def test_many_readers_and_a_stalled_one(asking, origin):
    """As many on one connection as it has streams, again and again."""
    origin["/stalled"], origin["*"] = message("200 OK", "Content-Type: image/png", body=b"x" * MUCH), FEED
    proxy = asking(origin, "--origin-connections", "1")
    warm(proxy, origin)
    client, _ = stalled(proxy, origin)
    before = proxy.status("VmRSS")
    for turn in range(10):
        for other in ask_all(proxy, *(f"/{turn}/{number}" for number in range(90))):
            assert other.response().body == SMALL_OUT
    assert origin.connections() == 1
    proxy.assert_growth(before, 64 << 10)
    client.close()


@pytest.mark.parametrize("size", [1, 10])
def test_small_frames_to_a_stalled_reader(asking, origin, size):
    """Finding 4: whatever it costs, that stream alone pays."""
    origin["/other"] = held
    frames = 4000 // size
    origin["/stalled"] = lambda asked: asked.head(200, [("content-type", "image/png")])
    proxy = asking(origin)
    warm(proxy, origin)
    other = proxy.client().ask("/other")
    running = origin.receive("/other")
    client = proxy.client(receive_buffer=4096).ask("/stalled")
    asked = origin.receive("/stalled")
    while not asked.code and asked.window > 0:
        with origin.news:
            count = min(frames, asked.window // size)
            if not asked.code and count:
                asked.window -= count * size
                asked.h2.window -= count * size
                asked.conn.raw(frame(DATA, 0, asked.number, b"x" * size) * count)
        if not count:
            break
        origin.until(lambda: not asked.conn.out)
    origin.do(running.reply, FEED)
    assert other.response().body == SMALL_OUT
    is_as_good(proxy, origin)
    client.close()


def test_readers_that_leave_again_and_again(asking, origin):
    """An origin must not take that for a rapid reset (CVE-2023-44487): other connections bear it, and the first one's readers stay."""
    proxy = asking(origin)
    origin["/stays"] = origin["/left"] = held
    staying = proxy.client().ask("/stays")
    stays = origin.receive("/stays")
    for number in range(200):
        client = proxy.client().ask("/left")
        asked = origin.receive("/left", number + 1)
        client.reset()
        origin.until(lambda asked=asked: asked.code)
        assert asked.code == "CANCEL"
    left = collections.Counter(asked.conn.number for asked in origin.those("/left"))
    assert max(left.values()) <= 64 and len(left) <= 5 and not stays.code
    origin.do(stays.reply, FEED)
    origin["/good"] = FEED
    assert staying.response().body == SMALL_OUT and proxy.get("/good").body == SMALL_OUT


@pytest.mark.parametrize("when", ["before the head", "in the body"])
def test_a_reader_that_leaves(asking, origin, when):
    """RST_STREAM with CANCEL, on a session that goes on."""
    origin["/left"] = held if when == "before the head" else lambda asked: asked.head(200, [("content-type", "image/png"), ("content-length", "1000")])
    proxy = asking(origin)
    warm(proxy, origin)
    client = proxy.client().ask("/left")
    asked = origin.receive("/left")
    if when == "in the body":
        origin.do(asked.send, b"x" * 500)
        client.stream.line()
    client.reset()
    origin.until(lambda: asked.code)
    assert asked.code == "CANCEL"
    is_as_good(proxy, origin)


def test_readers_that_leave_make_no_flood(asking, origin):
    """Some hundred: each stream is reset, and the next one has its place."""
    origin.settings, origin["*"] = [(MAX_CONCURRENT_STREAMS, 20)], held
    proxy = asking(origin, "--origin-connections", "1")
    warm(proxy, origin)
    for turn in range(15):
        clients = ask_all(proxy, *(f"/{turn}/{number}" for number in range(20)))
        origin.until(lambda turn=turn: origin.count() == 1 + 20 * (turn + 1))
        for client in clients:
            client.reset()
        origin.until(lambda: all(asked.code for asked in origin.asked[1:]))
    origin["/good"] = FEED
    assert proxy.get("/good").body == SMALL_OUT


def test_an_answer_before_the_requests_end(asking, origin):
    """It counts, and the rest of the body is not needed: RST_STREAM with NO_ERROR says so (section 8.1)."""
    def early(asked):
        asked.head(413, [("content-length", "5")])
        asked.send(b"large", True)
        asked.reset("NO_ERROR")
    origin["/p"] = (early,)
    proxy = asking(origin)
    warm(proxy, origin)
    for _ in range(3):
        client = proxy.client().ask("/p", "Content-Length: 500000", method="POST")
        client.send_soon(b"x" * 500_000)
        got = client.response()
        assert (got.status, got.body) == (413, b"large")
    assert proxy.get("/warm").body == SMALL_OUT and not [conn for conn in origin.conns if conn.h2.goaways]


def test_a_handshake_that_hangs(asking, origin):
    """Requests wait a moment for the session that it may become, and then make connections of their own."""
    origin.greet, origin["*"] = lambda conn: None if conn.number else "hang", FEED
    proxy = asking(origin, "--connect-timeout", "60s")
    hanging = ask_all(proxy, "/0")
    origin.until(lambda: origin.conns and origin.conns[0].offered)
    for client in ask_all(proxy, *(f"/{number}" for number in range(1, 10))):
        assert client.response().body == SMALL_OUT
    assert origin.connections() < 10 and origin.protocols() == [BY_2] * 9
    hanging[0].close()


# ---- who may use it ----

def test_two_names_are_two_origins(start, scripted, authority, hosts):
    """One certificate for both, one address, one port: each has its own connection (RFC 9113 section 9.1.1 would allow one)."""
    origin = scripted(cert=authority.issue("localhost", names="DNS:a.test,DNS:b.test"))
    origin["*"] = FEED
    proxy = start(None, *hosts("127.0.0.1 a.test b.test"), "--tls-ca-file", authority.root.cert, "--workers", "1",
                  "--route", f"/a/=https://a.test:{origin.port}/", "--route", f"/b/=https://b.test:{origin.port}/")
    for path in ("/a/1", "/b/2", "/a/3", "/b/4"):
        assert proxy.get(path).body == SMALL_OUT
    assert origin.connections(BY_2) == 2
    assert [{asked["host"] for asked in conn.h2.streams.values()} for conn in origin.conns] == [{f"a.test:{origin.port}"}, {f"b.test:{origin.port}"}]


def test_the_guard(start, authority, origin):
    """A route's session is of no use to a URL that the guard refuses."""
    origin["*"] = FEED
    proxy = start(None, "--tls-ca-file", authority.root.cert, "--workers", "1", "--route", f"/r/={origin.url}/", guarded=True)
    for _ in range(2):
        assert proxy.get("/r/f").body == SMALL_OUT
        got = proxy.get(f"/{origin.url}/f")
        assert got.status == 403 and "destination" in got["Proxy-Status"]
    assert origin.connections() == 1 and origin.count() == 2


def test_a_route_and_the_gateway_do_not_share(asking, origin):
    """Where the guard lets the URL pass, the connection is one that it has checked."""
    origin["*"] = FEED
    proxy = asking(origin)
    for path in ("/f", f"/{origin.url}/f", "/f", f"/{origin.url}/f"):
        assert proxy.get(path).body == SMALL_OUT
    assert origin.connections() == 2


def test_routes_that_verify_differently_do_not_share(start, authority, origin):
    origin["*"] = FEED
    proxy = start(None, "--workers", "1", "--route", f"/any/={origin.url}/ tls-verify=off", "--route", f"/strict/={origin.url}/")
    assert proxy.get("/any/f").body == SMALL_OUT
    assert error_of(proxy.get("/strict/f")) == "tls_certificate_error" and origin.count() == 1


@pytest.mark.parametrize("how", [{"days": (-30, -1)}, {"names": "DNS:other.test"}, {"issuer": None}], ids=["expired", "another name", "self-signed"])
def test_who_does_not_prove_itself_is_asked_nothing(asking, scripted, authority, how):
    origin = scripted(cert=authority.issue("localhost", **how))
    got = asking(origin).get("/f")
    assert got.status == 502 and error_of(got) == "tls_certificate_error" and not origin.count()


def test_through_a_parent(start, parent, authority, scripted):
    """HTTP/2 inside the tunnel; the tunnel is used again."""
    origin = scripted(cert=authority.issue(NAME, names=f"DNS:{NAME}"))
    origin["*"] = FEED
    proxy = start(None, *ALLOW, "--https-proxy", parent.url, "--tls-ca-file", authority.root.cert, "--workers", "1")
    client = proxy.client().ask(f"/https://{NAME}/1")
    parent.connected(origin)
    assert client.response().body == SMALL_OUT
    assert proxy.get(f"/https://{NAME}/2").body == SMALL_OUT
    assert origin.protocols() == [BY_2] * 2 and origin.connections() == 1


def test_sessions_of_tls_are_resumed(asking, origin):
    """With the protocol that was chosen before."""
    origin["*"] = FEED
    proxy = asking(origin, "--origin-idle", "0")
    for number in range(3):
        assert proxy.get("/f").body == SMALL_OUT
        origin.until(lambda number=number: origin.conns[number].ended)
    assert origin.protocols() == [BY_2] * 3 and [conn.resumed for conn in origin.conns] == [False, True, True]


def test_inside_an_opened_connect(start, authority, origin, tmp_path):
    """intercept: the client speaks HTTP/1.1 with utfeed, and utfeed HTTP/2 with the origin."""
    origin["*"], own = FEED, OwnCa(tmp_path)
    proxy = start(None, "--tls-ca-file", authority.root.cert, "--workers", "1", *own.options("localhost"))
    client = InsideClient(proxy.port, f"localhost:{origin.port}", own.context())
    for _ in range(3):
        assert client.get("/f").body == SMALL_OUT
    assert origin.protocols() == [BY_2] * 3
    client.close()


# ---- how long it lives ----

@pytest.fixture
def clock(clock_now):
    return clock_now


@pytest.fixture
def timing(timed, authority):
    return lambda origin, *options: timed(origin, "--tls-ca-file", authority.root.cert, "--workers", "1", "--http2", "on", *options)


def test_an_idle_session_ends(timing, clock, origin):
    """After half a minute, and not while one of its streams runs."""
    origin["/f"], origin["/slow"] = FEED, held
    proxy = timing(origin, "--first-byte-timeout", "5m")
    client = proxy.client().ask("/slow")
    asked = origin.receive("/slow")
    for _ in range(3):
        clock.jump(31)
        assert proxy.get("/f").body == SMALL_OUT
    origin.do(asked.reply, FEED)
    assert client.response().body == SMALL_OUT and origin.connections() == 1
    has_read(proxy)
    clock.jump(31)
    origin.until(lambda: origin.conns[0].ended)
    assert proxy.get("/f").body == SMALL_OUT and origin.connections() == 2


def test_an_origin_that_takes_no_streams(timing, clock, origin):
    """Requests wait for half a minute, and connections do not become many."""
    origin.settings, origin["*"] = [(MAX_CONCURRENT_STREAMS, 0)], lambda asked: asked.reset("REFUSED_STREAM")
    proxy = timing(origin, "--log-level", "debug")
    clients = ask_all(proxy, "/1", "/2", "/3")
    proxy.says("pool: waits for a connection", 3)       # one of them may do so again and again
    for client in clients:
        assert clock.passes(31, Background(client.response)).status in (502, 503, 504)
    assert origin.connections() <= 12


def test_no_idle_sessions(asking, origin):
    origin["*"] = FEED
    proxy = asking(origin, "--origin-idle", "0")
    for number in range(3):
        assert proxy.get("/f").body == SMALL_OUT
        origin.until(lambda number=number: origin.conns[number].ended)


@pytest.mark.parametrize("how", ["close", "reset", "goaway"])
def test_an_idle_session_that_the_origin_ends(asking, origin, how):
    proxy = asking(origin)
    for number in range(3):
        warm(proxy, origin)
        conn = origin.conns[number]
        if how == "goaway":
            origin.do(conn.h2.goaway)
        else:
            origin.do(getattr(conn, how))
        origin.until(lambda conn=conn: conn.ended)
    assert origin.connections() == 3


def test_a_reload_ends_idle_sessions(asking, origin):
    proxy = asking(origin)
    warm(proxy, origin)
    origin["/slow"] = held
    client = proxy.client().ask("/slow")
    asked = origin.receive("/slow")
    proxy.reload()
    origin["*"] = FEED
    assert proxy.get("/f").body == SMALL_OUT and origin.connections() == 2
    origin.do(asked.reply, FEED)
    assert client.response().body == SMALL_OUT
    origin.until(lambda: origin.conns[0].ended)
    proxy.reload()
    origin.until(lambda: origin.conns[1].ended)


def test_the_end_of_utfeed(asking, origin):
    """What runs is answered; then the origin is told (GOAWAY)."""
    proxy = asking(origin)
    warm(proxy, origin)
    origin["/slow"] = held
    client = proxy.client().ask("/slow")
    asked = origin.receive("/slow")
    proxy.sigterm()
    origin.do(asked.reply, FEED)
    assert client.response().body == SMALL_OUT
    origin.until(lambda: asked.conn.ended)
    assert set(asked.h2.goaways) <= {"NO_ERROR"}
    assert proxy.wait() == 0


def test_a_slow_answer_is_not_asked_for_twice(timing, clock, origin):
    """Finding 9: however long it takes within its timeouts, and whether PINGs are answered or not."""
    origin["/slow"] = held
    proxy = timing(origin, "--first-byte-timeout", "5m", "--fetch-timeout", "10m")
    h2 = warm(proxy, origin)
    h2.answers_pings = False
    client = proxy.client().ask("/slow")
    asked = origin.receive("/slow")
    for _ in range(6):
        clock.jump(20)
        proxy.counters()
    origin.do(asked.reply, FEED)
    assert client.response().body == SMALL_OUT and origin.count("/slow") == 1


def test_a_session_that_answers_pings_alone(timing, clock, origin):
    """Finding 8: after a stream timed out on it, who comes has another connection; until something else comes, at least."""
    origin["/slow"] = held
    proxy = timing(origin, "--first-byte-timeout", "20s")
    warm(proxy, origin)
    client = proxy.client().ask("/slow")
    origin.receive("/slow")
    assert clock.passes(21, Background(client.response)).status == 504
    origin["/f"] = lambda asked: FEED if asked.conn.number else None
    assert proxy.get("/f").body == SMALL_OUT and origin.connections() == 2
    assert proxy.get("/f").body == SMALL_OUT


def test_an_idle_session_that_died(timing, clock, origin):
    """Nothing tells of it: it is tried (PING) before it is used, or the request goes elsewhere once that is seen."""
    proxy = timing(origin, "--first-byte-timeout", "20s")
    h2 = warm(proxy, origin)
    h2.answers_pings = False
    clock.jump(25)
    origin["/f"] = lambda asked: FEED if asked.conn.number else None
    client = Background(lambda: proxy.get("/f"))
    for _ in range(4):
        origin.until(lambda: h2.pings or h2.open or origin.count("/f"))
        if origin.connections() > 1:
            break
        clock.ahead(clock.is_ahead() + 5)
        proxy.counters()
    got = client.join()
    assert (got.status, origin.connections()) in ((200, 2), (504, 1))


HALVES = {
    "a header block": lambda number: frame(HEADERS, 0, number, OK),
    "a frame's head": lambda number: header_frames(number, OK, 0)[:5],
    "a frame of DATA": lambda number: header_frames(number, OK, 0) + frame(DATA, 0, number, b"half", length=100),
}


@pytest.mark.parametrize("case", HALVES)
def test_what_begins_and_does_not_end(timing, clock, origin, case):
    """Nothing else can come on that session: who waits there waits no longer than the timeouts say, and who comes then has another one."""
    origin["/stuck"] = lambda asked: asked.conn.raw(HALVES[case](asked.number))
    proxy = timing(origin, "--first-byte-timeout", "20s", "--between-bytes-timeout", "20s")
    warm(proxy, origin)
    stuck = proxy.client().ask("/stuck")
    origin.receive("/stuck")
    origin["/f"] = lambda asked: FEED if asked.conn.number else None
    beside = proxy.client().ask("/f")
    for client in (stuck, beside):
        clock.passes(21, Background(failed, client, 502, 504))
    assert proxy.get("/f").body == SMALL_OUT and origin.connections() <= 3


def test_an_upload_that_the_origin_does_not_take(timing, clock, origin):
    """Its stream gets no window. It fails in time, and others of the session are served."""
    origin.settings, origin["/f"], origin["/p"] = [(INITIAL_WINDOW_SIZE, 0)], FEED, held
    proxy = timing(origin, "--first-byte-timeout", "20s", "--between-bytes-timeout", "20s")
    warm(proxy, origin)
    origin["/slow"] = held
    slow = proxy.client().ask("/slow")
    origin.receive("/slow")
    client = proxy.client().ask("/p", "Content-Length: 3", method="POST")
    client.send(b"abc")
    for each in (client, slow):
        clock.passes(21, Background(failed, each, 502, 504))
    assert not origin.receive("/p").body
    assert proxy.get("/f").body == SMALL_OUT


# ---- the limits of heads ----

HEADS = {
    "a long field": (literal("x-own", "a" * 20_000), [], 200),
    "as many fields as may be": (b"".join(literal(f"x-{n}", "1") for n in range(90)), [], 200),
    "a field that is too long": (literal("x-own", "a" * 40_000), [], 502),
    "long fields": (literal("x-own", "a" * 8000) * 5, [], 502),
    "too many fields": (b"".join(literal(f"x-{n}", "1") for n in range(110)), [], 502),
    "too many by references": (indexed(54) * 110, [], 502),
    "too many bytes by references": (indexing("x-bomb", "a" * 4000) + indexed(62) * 9, [], 502),
    "too many crumbs": (literal("cookie", "a=b") * 110, [], 502),
    "a higher limit of bytes": (literal("x-own", "a" * 8000) * 5, ["--max-header-bytes", "64k"], 200),
    "a higher limit of fields": (b"".join(literal(f"x-{n}", "1") for n in range(150)), ["--max-header-fields", "200"], 200),
    "a lower limit of bytes": (literal("x-own", "a" * 5000), ["--max-header-bytes", "2k"], 502),
    "a lower limit of fields": (b"".join(literal(f"x-{n}", "1") for n in range(20)), ["--max-header-fields", "10"], 502),
}


@pytest.mark.parametrize("case", HEADS)
def test_a_head(asking, origin, case):
    """max-header-bytes and max-header-fields count what HTTP/1.1 would count; beyond them it is that stream's fault alone."""
    block, options, status = HEADS[case]
    origin["/f"] = lambda asked: asked.conn.raw(header_frames(asked.number, OK + block, 0) + frame(DATA, END_STREAM, asked.number, b"body"))
    proxy = asking(origin, *options)
    warm(proxy, origin)
    got = proxy.get("/f")
    assert got.status == status and (status != 200 or got.body == b"body")
    is_as_good(proxy, origin)


@pytest.mark.parametrize("case", [name for name, row in HEADS.items() if row[2] == 502])
@pytest.mark.parametrize("where", ["trailers", "an interim response"])
def test_other_heads(asking, origin, case, where):
    """Those of trailers and of interim responses count, too: the response is an error or is cut, or they are left out."""
    block, options, _ = HEADS[case]

    def reply(asked):
        if where == "trailers":
            asked.conn.raw(header_frames(asked.number, OK, 0) + frame(DATA, 0, asked.number, b"body") + header_frames(asked.number, block))
        else:
            asked.conn.raw(header_frames(asked.number, literal(":status", "103") + block, 0) +
                           header_frames(asked.number, OK, 0) + frame(DATA, END_STREAM, asked.number, b"body"))
    origin["/f"] = reply
    proxy = asking(origin, *options)
    warm(proxy, origin)
    client = proxy.client().ask("/f")
    try:
        got = client.response()
        assert got.status == 502 or got.body == b"body"
    except Cut:
        pass
    is_as_good(proxy, origin)
