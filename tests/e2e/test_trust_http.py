"""HTTP/1 as hostile peers write it (issue 12, rows 3, 11, 12, 20): whatever an origin says, a client's next request gets its own answer;
what can be read in two ways is refused on both sides; decoding is held to bounds and lets others be served."""
import gzip
import zlib

import pytest

from pages import FRESH, Site, page
from peers import TlsClient
from certs import client_context
from wire import Cut, chunked, message

FORGED = message("200 OK", "Content-Type: text/plain", body=b"forged")
TEXT = "Content-Type: text/plain"
LONG = "y" * 30_000


def early(*fields, status="103 Early Hints"):
    return message(status, *fields, length=False)


def in_chunks(coding, *fields, body=FORGED, version="HTTP/1.1"):
    return message(f"{version} 200 OK", TEXT, *([coding] if coding else []), *fields, body=chunked(body, 7), length=False)


# What stands before a last response may not become one, however long it is.
INTERIM = {
    "five long ones": early(f"X-Long: {LONG}") * 5 + page(body=FORGED * 2),
    "five long hints": early(f"Link: </{LONG}>") * 5 + page(body=FORGED * 2),
    "sixteen that fit together": early(f"Link: </{LONG[:400]}>") * 16 + page(body=FORGED * 2),
    "sixteen that do not": early(f"Link: </{LONG[:4096]}>") * 16 + page(body=FORGED * 2),
    "too many": early("Link: </a>") * 17 + FORGED,
    "long, short, long": early(f"Link: </{LONG[:8000]}>") + early("Link: </a>") + early(f"Link: </{LONG[:8000]}>") + page(body=FORGED),
    "with a length": early(f"Content-Length: {len(FORGED)}") + page(body=FORGED),
    "with chunks": early("Transfer-Encoding: chunked") + page(body=FORGED),
    "100 with a length": early(f"Content-Length: {len(FORGED)}", status="100 Continue") + page(body=FORGED),
    "not known": early(f"X-Long: {LONG}", status="155 Hm") * 5 + page(body=FORGED * 2),
    "102": early(f"X-Long: {LONG}", status="102 Processing") * 5 + page(body=FORGED * 2),
}

# A coding is named; whether a parser makes chunks of it depends on the parser.
CODINGS = {name: "Transfer-Encoding" + rest for name, rest in {
    "tab": ": chunked\t", "blank, tab": ": chunked \t", "tab, blank": ": chunked\t ", "comma": ": chunked,", "comma, blank": ": chunked, ",
    "comma before": ": , chunked", "quoted": ': "chunked"', "parameter": ": chunked;x", "parameter, tab": ": chunked;x\t",
    "two lines": ": chunked\r\nTransfer-Encoding: identity", "twice": ": chunked\r\nTransfer-Encoding: chunked",
    "identity before": ": identity\r\nTransfer-Encoding: chunked", "identity": ": identity", "gzip before": ": gzip, chunked",
    "gzip behind": ": chunked, gzip", "empty": ":", "empty line behind": ": chunked\r\nTransfer-Encoding: ", "folded": ":\r\n chunked",
    "folded behind": ": chunked\r\n ", "folded by a tab": ": chunked\r\n\t", "unknown": ": cow", "VT": ": chunked\v", "FF": ": chunked\f",
    "NBSP": ": chunked\xa0", "NUL": ": chunked\0", "blank before the colon": " : chunked", "tab before the colon": "\t: chunked",
    "tab and a length": ": chunked\t\r\nContent-Length: 3",
}.items()}
CODINGS["length and a tab"] = "Content-Length: 3\r\nTransfer-Encoding: chunked\t"

OTHERS = {
    "behind its length": message("200 OK", TEXT, "Content-Length: 5", body=b"hello" + FORGED),
    "shorter than its length": (message("200 OK", TEXT, "Content-Length: 9999", body=FORGED), "close"),
    "204 with a body": message("204 No Content", f"Content-Length: {len(FORGED)}", body=FORGED),
    "304 with a body": message("304 Not Modified", body=FORGED),
    "205 with a body": message("205 Reset Content", TEXT, "Content-Length: 0", body=FORGED),
    "101": message("101 Switching Protocols", "Upgrade: x", "Connection: upgrade", length=False) + FORGED,
    "both framings": in_chunks("Transfer-Encoding: chunked", f"Content-Length: {len(FORGED)}"),
    "two lengths": message("200 OK", TEXT, "Content-Length: 5", f"Content-Length: {5 + len(FORGED)}", body=b"hello" + FORGED),
    "a list of lengths": message("200 OK", TEXT, f"Content-Length: 5, {5 + len(FORGED)}", body=b"hello" + FORGED),
    "a signed length": message("200 OK", TEXT, "Content-Length: +5", body=b"hello" + FORGED),
    "behind the last chunk": in_chunks("Transfer-Encoding: chunked", body=b"hello") + FORGED,
    "LF in the last chunk": message("200 OK", TEXT, "Transfer-Encoding: chunked", body=b"5\r\nhello\r\n0\n\n" + FORGED),
    "in a trailer": message("200 OK", TEXT, "Transfer-Encoding: chunked", body=b"5\r\nhello\r\n0\r\nX: y\r\n\r\n" + FORGED),
    "in a chunk extension": message("200 OK", TEXT, "Transfer-Encoding: chunked", body=b"5;a=\"\r\nhello\r\n0\r\n\r\n\"" + FORGED),
    "CR in a field": b"HTTP/1.1 200 OK\r\nX: a\r\r\n\r\n" + FORGED,
    "LF lines": b"HTTP/1.1 200 OK\nContent-Length: 0\n\n" + FORGED,
    "no HTTP": b"hello\r\n\r\n" + FORGED,
    "HTTP/1.0 in chunks": in_chunks("Transfer-Encoding: chunked", version="HTTP/1.0"),
    "until close": (message("200 OK", TEXT, body=FORGED, length=False), "close"),
    "behind gzip": message("200 OK", TEXT, "Content-Encoding: gzip", body=gzip.compress(b"hello") + FORGED),
    "cut gzip": message("200 OK", TEXT, "Content-Encoding: gzip", body=gzip.compress(FORGED * 99)[:-9]),
}


class Ways:
    """Two origins behind one utfeed, one of which is hostile; targets by each way in."""

    def __init__(self, start, another):
        self.bad, self.good = Site(another()), Site(another())
        self.proxy = start(None, "--route", f"/bad/={self.bad.origin.url}/", "--route", f"/good/={self.good.origin.url}/")
        for name, site in (("bad", self.bad), ("good", self.good)):
            site["*"] = lambda request, name=name: page(FRESH, body=f"{name} {request.target}".encode())

    def target(self, way, name, path):
        url = getattr(self, name).origin.url
        return {"route": f"/{name}{path}", "gateway": f"/{url}{path}", "forward": f"{url}{path}"}[way]

    def next_is_own(self, client, way, path):
        """On the same connection where utfeed leaves it open, and on another in any case."""
        for each in (client, self.proxy.client()):
            for name in ("good", "bad", "good"):
                if each.stream.ended:
                    break
                try:
                    got = each.get(self.target(way, name, path))
                except (Cut, OSError):
                    assert each is client and not each.stream.held
                    break
                assert (got.status, got.body) == (200, f"{name} {path}".encode()), got.line
                assert not each.stream.held


@pytest.fixture
def ways(start, another):
    return Ways(start, another)


def assert_own(ways, said, forgery_stays_in=200):
    """Whatever the origin said, on each way in; a body of status forgery_stays_in may hold anything."""
    for number, way in enumerate(("route", "gateway", "forward")):
        for method in ("GET", "HEAD", "POST"):
            if method == "POST" and way == "gateway":
                continue
            path = f"/evil-{way}-{method}"
            ways.bad[path] = said
            client = ways.proxy.client().ask(ways.target(way, "bad", path), *(("Content-Length: 0",) if method == "POST" else ()),
                                             method=method)
            try:
                got = client.response()
                assert got.status == forgery_stays_in or b"forged" not in got.body, got.line
                assert "close" not in got.tokens("Connection") or client.is_ended()
            except Cut:
                pass
            ways.next_is_own(client, way, f"/next-{number}-{method}")


@pytest.mark.parametrize("name", INTERIM)
def test_trust_03_interim_responses_leave_nothing_behind(ways, name):
    assert_own(ways, INTERIM[name])


@pytest.mark.parametrize("name", CODINGS)
def test_trust_11_codings_that_can_be_read_in_two_ways(ways, name):
    """Nothing of it is passed on, stored or left for the next: 502."""
    said = in_chunks(CODINGS[name])
    assert_own(ways, said, forgery_stays_in=None)
    ways.bad["/stored"] = in_chunks(CODINGS[name], FRESH)
    for _ in range(2):
        got = ways.proxy.get("/bad/stored")
        assert got.status == 502 and "error=http_" in got["Proxy-Status"] and b"forged" not in got.body
    assert ways.bad.count("/stored") == 2


@pytest.mark.parametrize("name", OTHERS)
def test_desync_nothing_is_left_for_the_next(ways, name):
    assert_own(ways, OTHERS[name])


@pytest.mark.parametrize("name", CODINGS)
@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
def test_trust_11_requests_whose_coding_can_be_read_in_two_ways(old_proxy, old_origin, name, version):
    """Refused, and what follows is not read: no origin ever hears of it."""
    hidden = b"GET /hidden HTTP/1.1\r\nHost: t\r\n\r\n"
    client = old_proxy.client()
    client.send(message(f"PUT /f {version}", "Host: t", CODINGS[name], body=chunked(hidden, 5), length=False) + hidden)
    assert not old_origin.asked_before_answer(client)
    assert client.response().status in (400, 501)
    assert client.is_ended() and not old_origin.asked()


def test_trust_03_hints_are_passed_whole(proxy, origin):
    """As many as there is room for; other fields are not (RFC 8297 section 2)."""
    client = proxy.client().ask("/f")
    upstream = origin.receive()
    upstream.send(early(f"Link: </{LONG[:5000]}>", "Set-Cookie: a=b", f"X-Long: {LONG[:20_000]}") + early(f"Link: </{LONG[:5000]}>") +
                  early("Link: </last>; rel=preload", "Content-Length: 7") + early("Link: </a>", status="102 Processing"))
    upstream.answer(page(body=b"own"))
    got = client.response()
    assert [each.status for each in got.interim] == [103, 103, 102]
    assert [[(name.lower(), value) for name, value in each.fields] for each in got.interim] == [
        [("link", f"</{LONG[:5000]}>")], [("link", "</last>; rel=preload")], []]
    assert got.body == b"own"


def test_trust_03_no_hints_to_http_1_0(proxy, origin):
    client = proxy.client().ask("/f", version="HTTP/1.0")
    origin.receive().answer(early("Link: </a>") * 3 + page(body=b"own"))
    assert client.response().body == b"own"


def test_trust_03_hints_are_for_who_asked(proxy, origin):
    """What the origin hints to one user does not reach another who waits for the same response."""
    first = proxy.client().ask("/f", "Cookie: user=a")
    upstream = origin.receive()
    second = proxy.client().ask("/f", "Cookie: user=b")
    second.drained()
    upstream.answer(early("Link: </users/a.css>; rel=preload") + page(FRESH, body=b"both"))
    assert len(first.response().interim) == 1
    got = second.response()
    assert got.body == b"both" and not got.interim
    assert not proxy.get("/f").interim


def test_trust_03_pending_interim_responses_are_bounded(proxy, origin):
    """Of sixteen, half a megabyte together, no request holds more than the 8 KiB that may be passed on."""
    def ask(number):
        client = proxy.client().ask(f"/{number}")
        upstream = origin.receive()
        upstream.send((early(f"X-Long: {LONG}") + early(f"Link: </{LONG}>")) * 8)
        upstream.drained()
        return client, upstream
    ask("first")
    before = proxy.status("VmRSS")
    pending = [ask(number) for number in range(100)]
    proxy.assert_growth(before, 24 << 10)
    for client, upstream in pending:
        upstream.answer(page(body=b"own"))
        assert client.response().body == b"own"


def repeated(unit, count, *, before=b"", behind=b""):
    """gzip of before, unit so many times, behind."""
    packer, block = zlib.compressobj(9, zlib.DEFLATED, 31), unit * 10_000
    pieces = [packer.compress(before)] + [packer.compress(block) for _ in range(count // 10_000)]
    return b"".join(pieces) + packer.compress(behind) + packer.flush()


# Thirty megabytes that stand for nothing, in a few ten thousand bytes: empty members, empty metadata blocks, skippable frames.
NOTHING = {
    "gzip, gzip": lambda: repeated(gzip.compress(b"", mtime=0), 1_500_000),
    "br, gzip": lambda: repeated(b"\x06", 30_000_000, before=b"\x0c", behind=b"\x03"),
    "zstd, gzip": lambda: repeated(b"\x50\x2a\x4d\x18\0\0\0\0", 3_750_000),
}


@pytest.mark.parametrize("coding", NOTHING)
def test_trust_12_each_layer_is_held_against_its_own_input(start, origin, coding):
    """Also where a coding hides from the ratio that counts from end to end, and where another is in its place."""
    proxy = start(origin)
    got, _ = proxy.through(origin, message("200 OK", TEXT, f"Content-Encoding: {coding}", body=NOTHING[coding]()))
    assert got.status == 502 and "http_response_body_size" in got["Proxy-Status"]


@pytest.mark.parametrize("coding", NOTHING)
def test_trust_12_others_are_served_while_it_decodes(start, origin, another, coding):
    """What one response costs is spread over many turns of its worker's loop, in each of which others have theirs."""
    site = Site(another())
    site["/hit"] = page(FRESH)
    proxy = start(origin, "--route", f"/hit={site.origin.url}/hit", "--workers", "1", "--decoded-ratio", "100000", "--decoded-max", "0")
    other = proxy.client()
    assert other.get("/hit").body == b"hello"
    client = proxy.client().ask("/f")
    upstream = origin.receive()
    upstream.answer(message("200 OK", TEXT, f"Content-Encoding: {coding}", body=NOTHING[coding]()))
    served = 0
    while not client.heard(0) and served < 10_000:
        assert other.get("/hit").body == b"hello"
        served += 1
    got = client.response()
    assert (got.status, got.body) == (200, b"")
    assert served >= 20, f"{served} others"


@pytest.mark.parametrize("coding", ["gzip, gzip, gzip", "br, br, gzip", ", ".join(["gzip"] * 500)])
def test_trust_12_no_more_than_two_layers_are_undone(proxy, origin, coding):
    body = b"<rss/>"
    for _ in range(3):
        body = gzip.compress(body)
    got, _ = proxy.through(origin, message("200 OK", TEXT, f"Content-Encoding: {coding}", body=body))
    assert (got.status, got.body) == (200, body) and got.rule == "none;reason=encoded"


@pytest.mark.parametrize("host, tls, own", [("named.test", True, True), ("named.test", False, False), ("named.test:443", False, True),
                                            ("named.test:80", True, False), ("named.test:443", True, True)])
def test_trust_20_a_host_without_a_port_has_its_schemes(listening, authority, another, host, tls, own):
    """RFC 9110 section 7.2; a route that names a port is for that one."""
    named, rest = Site(another()), Site(another())
    named["*"], rest["*"] = page(body=b"443"), page(body=b"any")
    proxy = listening(None, "--route", f"//named.test:443/={named.origin.url}", "--route", f"/={rest.origin.url}")
    client = TlsClient(proxy.tls_port, client_context(authority.root)) if tls else proxy.client()
    assert client.get("/f", host=host).body == (b"443" if own else b"any")
    client.close()


def test_trust_20_a_pipelined_request_has_a_status_of_its_own(start, origin):
    """One that is dropped before it is answered: that of the one before says nothing of it."""
    proxy = start(origin)
    client = proxy.client()
    client.send(b"GET /first HTTP/1.1\r\nHost: t\r\n\r\nGET /second HTTP/1.1\r\nHost: t\r\n\r\n")
    origin.receive().answer(page(body=b"one"))
    assert client.response().body == b"one"
    origin.receive()
    client.reset()
    first, second = (line.decode() for line in proxy.access_lines(2))
    assert "/first" in first and " 200 " in first
    assert "/second" in second and " 200 " not in second and "dropped" in second


@pytest.mark.parametrize("way", ["route", "forward"])
def test_trust_20_max_forwards(start, origin, way):
    """RFC 9110 section 7.6.2: at 0 whoever has it answers, else it is passed on with one less."""
    proxy = start(origin)
    target = "/f" if way == "route" else f"{origin.url}/f"
    for field in ("Max-Forwards: 0", "Max-Forwards: 000"):
        client = proxy.client().ask(target, field, method="OPTIONS")
        assert not origin.asked_before_answer(client)
        got = client.response()
        assert got.status == 200 and "OPTIONS" in got["Allow"] and "no-store" in got["Cache-Control"]
    for sent, passed in (("1", "0"), ("10", "9"), ("x", None), ("-1", None), ("99999999999999999999", "999999")):
        _, asked = proxy.through(origin, page(), target, f"Max-Forwards: {sent}", method="OPTIONS")
        assert asked["Max-Forwards"] == passed
    for method in ("GET", "POST"):
        _, asked = proxy.through(origin, page(), target + method, "Max-Forwards: 0", "Content-Length: 0" if method == "POST" else "X: y",
                                 method=method)
        assert "Max-Forwards" not in asked


DISGUISED = ["Content_Length: 5", "content_length: 5", "Transfer_Encoding: chunked", "Content.Length: 5", "Transfer~Encoding: chunked",
             "Accept_Language: de", "Proxy_Authorization: Basic eA==", "If_None_Match: *",
             "User_Agent: x", "Content_Type: text/x"]


@pytest.mark.parametrize("field", DISGUISED)
@pytest.mark.parametrize("way, method", [("route", "POST"), ("forward", "GET"), ("forward", "POST")])
def test_trust_20_no_field_goes_up_in_disguise(start, origin, field, way, method):
    """What CGI and others fold into the name of a field that utfeed treats by itself (RFC 3875 section 4.1.18)."""
    client = start(origin).client().ask("/f" if way == "route" else f"{origin.url}/f", field, "X_Other: kept",
                                        *(("Content-Length: 3",) if method == "POST" else ()), method=method)
    client.send(b"abc" if method == "POST" else b"")
    upstream = origin.receive()
    assert field.split(":")[0].lower() not in upstream.request.names() and upstream.request["X_Other"] == "kept"
    assert upstream.request.body == (b"abc" if method == "POST" else b"")
    upstream.answer(page())
    assert client.response().status == 200


def test_trust_20_errors_name_no_addresses(start, another):
    """Where the operator's origins are is told in the log, not to clients, who may have named only the route."""
    gone = another()
    proxy = start(gone, "--route", f"//name.test/=http://localhost:{gone.port}")
    gone.stop_listening()
    for target, host in (("/feed", "a.test"), ("/feed", "name.test"), (f"/http://localhost:{gone.port}/f", "a.test")):
        got = proxy.get(target, host=host)
        assert got.status == 502 and b"Connection refused" in got.body and "connection_refused" in got["Proxy-Status"]
        told = str(got.fields) + got.body.decode()
        assert "127.0.0.1" not in told and "::1" not in told and str(gone.port) not in told
    proxy.says(f"127.0.0.1:{gone.port}: Connection refused", 3)
