"""What one client's response gives to others. cors-allow: which web pages may read responses of the gateway and of routes; preflights; off by default; never of the forward proxy."""
import subprocess

import pytest

from feeds import SMALL, SMALL_OUT
from proxy import BINARY
from wire import PATIENCE, message

ON = ("--cache", "on")
READER, OTHER = "https://reader.example", "https://other.example"
ORIGIN, ALLOWED = f"Origin: {READER}", "Access-Control-Allow-Origin"
FEED = message("200 OK", "Content-Type: application/xml", "Cache-Control: max-age=60", 'ETag: "a"', "Vary: Accept-Language",
               "Access-Control-Allow-Origin: https://own.example", "Access-Control-Allow-Credentials: true", body=SMALL)
ASKS = "Access-Control-Request-Method: GET"


def control(got):
    """The names of the protocol's fields."""
    return {name.lower() for name, _ in got.fields if name.lower().startswith("access-control-")}


@pytest.fixture
def ways(origin):
    """Ways in, with the route's options in front."""
    origin.serve(lambda request: FEED)
    return {"route": "/f", "gateway": f"/{origin.url}/f", "query": f"/?url={origin.url}/f"}


WAYS = ["route", "gateway", "query"]


@pytest.mark.parametrize("way", WAYS)
def test_any(start, origin, ways, way):
    """Fetched, as a hit, as a 304: the same for every page, so nothing varies by Origin."""
    proxy = start(origin, *ON, "--cors-allow", "*")
    for fields in ([ORIGIN], [f"Origin: {OTHER}"], []):
        got = proxy.get(ways[way], *fields)
        assert got.status == 200 and got.body == SMALL_OUT and got.all(ALLOWED) == ["*"]
        assert control(got) == {"access-control-allow-origin", "access-control-expose-headers"}
        assert "ETag" in got["Access-Control-Expose-Headers"] and "origin" not in got.tokens("Vary")
    got = proxy.get(ways[way], ORIGIN, f"If-None-Match: {got['ETag']}")
    assert got.status == 304 and got.all(ALLOWED) == ["*"]
    assert len(origin.requests) == 1


@pytest.mark.parametrize("way", WAYS)
def test_named(start, origin, ways, way):
    """One stored response, delivered to each page as it may read it."""
    proxy = start(origin, *ON, "--cors-allow", f"https://a.example, {READER}")
    for fields, want in (([ORIGIN], [READER]), ([f"Origin: {OTHER}"], []), ([], []), (["Origin: null"], []), ([ORIGIN], [READER])):
        got = proxy.get(ways[way], *fields)
        assert got.status == 200 and got.all(ALLOWED) == want and "origin" in got.tokens("Vary")
        assert "accept-language" in got.tokens("Vary")
        assert bool(control(got)) == bool(want) and "access-control-allow-credentials" not in control(got)
    got = proxy.get(ways[way], ORIGIN, f"If-None-Match: {got['ETag']}")
    assert got.status == 304 and got.all(ALLOWED) == [READER] and "origin" in got.tokens("Vary")
    assert len(origin.requests) == 1


def test_parts_and_gzip(start, origin, ways):
    """Ranges, and the gzip form with its own ETag, have the fields too."""
    proxy = start(origin, *ON, "--cors-allow", READER, "--gzip-min", "1")
    proxy.get("/f")
    got = proxy.get("/f", ORIGIN, "Range: bytes=0-4")
    assert got.status == 206 and got.body == SMALL_OUT[:5] and got[ALLOWED] == READER
    got = proxy.get("/f", ORIGIN, "Accept-Encoding: gzip")
    assert got["Content-Encoding"] == "gzip" and got["ETag"].endswith(';gz"') and got[ALLOWED] == READER
    got = proxy.get("/f", ORIGIN, method="HEAD")
    assert got.status == 200 and got[ALLOWED] == READER


def test_off_by_default(start, origin, ways):
    """A route keeps what its origin says of itself; the gateway has nothing of it."""
    proxy = start(origin, *ON)
    for _ in range(2):
        assert proxy.get("/f", ORIGIN)[ALLOWED] == "https://own.example"
        assert not control(proxy.get(ways["gateway"], ORIGIN))


def test_a_route_and_the_gateway_of_their_own(start, origin, ways, tmp_path):
    (tmp_path / "conf").write_text(f'cors-allow = *\n[gateway]\ncors-allow = ""\n[route /a/]\norigin = {origin.url}/\ncors-allow = {READER}\n'
                                   f"[route /b/]\norigin = {origin.url}/\n")
    proxy = start(None, "-c", str(tmp_path / "conf"))
    assert [proxy.get(target, f"Origin: {OTHER}").all(ALLOWED) for target in ("/a/f", "/b/f", ways["gateway"])] == [[], ["*"], []]


def test_never_by_forward_proxy(start, origin, ways):
    """There the page's browser knows the site itself: its own answer counts."""
    proxy = start(None, *ON, "--cors-allow", "*")
    for _ in range(2):
        got = proxy.get(f"{origin.url}/f", ORIGIN, host=f"127.0.0.1:{origin.port}")
        assert got[ALLOWED] == "https://own.example" and got["Access-Control-Allow-Credentials"] == "true"
    client = proxy.client().ask(f"{origin.url}/f", ORIGIN, ASKS, method="OPTIONS", host=f"127.0.0.1:{origin.port}")
    assert client.response()[ALLOWED] == "https://own.example" and origin.requests[-1].method == "OPTIONS"


@pytest.mark.parametrize("target, status", [("/http://127.0.0.1:{dead}/f", 502), ("/http://10.1.2.3/f", 403), ("/https://a..b/", 400), ("/missing", 404)])
def test_errors(start, dead_port, target, status):
    """So that the page learns why."""
    got = start(None, "--cors-allow", READER).get(target.format(dead=dead_port), ORIGIN)
    assert got.status == status and got.all(ALLOWED) == [READER] and "Proxy-Status" in got["Access-Control-Expose-Headers"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("allow", ["*", READER])
def test_preflight(start, origin, ways, way, allow):
    proxy = start(origin, *ON, "--cors-allow", allow)
    client = proxy.client()
    for method in ("GET", "DELETE"):
        client.ask(ways[way], ORIGIN, f"Access-Control-Request-Method: {method}", "Access-Control-Request-Headers: if-none-match", method="OPTIONS")
        got = client.response()
        assert got.status == 204 and got.all(ALLOWED) == [allow] and not got.body
        assert "Content-Length" not in got and "Content-Type" not in got
        assert got.tokens("Access-Control-Allow-Methods") == ["get", "head"] and int(got["Access-Control-Max-Age"]) > 0
        assert {"if-none-match", "cache-control"} < set(got.tokens("Access-Control-Allow-Headers"))
        assert "Access-Control-Allow-Credentials" not in got and ("origin" in got.tokens("Vary")) == (allow != "*")
    assert client.get(ways[way], ORIGIN).status == 200 and [request.method for request in origin.requests] == ["GET"]


def test_preflight_of_others(start, origin, ways):
    proxy = start(origin, "--cors-allow", READER)
    got = proxy.get("/f", f"Origin: {OTHER}", ASKS, method="OPTIONS")
    assert got.status == 403 and not control(got) and b"cors-allow" in got.body and not origin.requests


def test_other_options_go_on(start, origin):
    """On a route, what is no preflight, or where no page may read."""
    origin.serve(lambda request: message("200 OK", "Allow: GET"))
    proxy = start(origin, "--cors-allow", READER, "--route", f"/off/={origin.url}/ cors-allow=")
    assert proxy.get("/f", ORIGIN, method="OPTIONS")["Allow"] == "GET"
    assert proxy.get("/off/f", ORIGIN, ASKS, method="OPTIONS")["Allow"] == "GET" and len(origin.requests) == 2



def test_any_beside_private_addresses(tmp_path):
    conf = tmp_path / "conf"
    conf.write_text("allow = 192.168.0.0/16\ncors-allow = *\n")
    done = subprocess.run([BINARY, "serve", "-c", str(conf), "--check-config"], capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2 and f"{conf}:2: cors-allow: with * every web page".encode() in done.stderr


COOKIE = "Set-Cookie: PHPSESSID=1; path=/"


@pytest.mark.parametrize("fields", [[COOKIE], [COOKIE, "Cache-Control: max-age=0"], [COOKIE, "Cache-Control: public, max-age=60"],
                                    ["Set-Login: logged-in", "Last-Modified: Wed, 01 Jan 2025 00:00:00 GMT"]])
def test_a_cookie_keeps_no_feed_out_of_the_store(start, origin, fields):
    """In the gateway, where no client gets it: a session for each reader of a feed, as PHP makes them."""
    origin.serve(lambda request: message("200 OK", "Content-Type: application/xml", *fields, body=SMALL))
    proxy = start(None, *ON)
    got = [proxy.get(f"/{origin.url}/f") for _ in range(2)]
    assert [each.body for each in got] == [SMALL_OUT] * 2 and got[0]["Cache-Status"].endswith("stored")
    assert not any("Set-Cookie" in each or "Set-Login" in each for each in got)
    fresh = not any("max-age=0" in field for field in fields)
    assert got[1]["Cache-Status"].startswith("utfeed; hit") == fresh and len(origin.requests) == 2 - fresh


@pytest.mark.parametrize("said", ["private", "no-store", "private, max-age=60"])
def test_what_the_origin_forbids_counts_beside_it(start, origin, said):
    origin.serve(lambda request: message("200 OK", "Content-Type: application/xml", COOKIE, f"Cache-Control: {said}", body=SMALL))
    proxy = start(None, *ON)
    assert [proxy.get(f"/{origin.url}/f").body for _ in range(2)] == [SMALL_OUT] * 2 and len(origin.requests) == 2


def test_a_cookie_on_a_route_is_for_who_asked(start, origin):
    """Where it goes on, RFC 9111 section 7.3 counts."""
    origin.serve(lambda request: message("200 OK", "Content-Type: application/xml", f"Set-Cookie: n={len(origin.requests)}", body=SMALL))
    proxy = start(origin, *ON)
    got = [proxy.get("/f") for _ in range(2)]
    assert [each["Set-Cookie"] for each in got] == ["n=1", "n=2"] and "detail=set-cookie" in got[0]["Cache-Status"]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_readers_of_the_gateway_share_what_sets_a_cookie(start, origin, workers):
    proxy = start(None, *ON, "--workers", workers)
    first = proxy.client().ask(f"/{origin.url}/f")
    upstream = origin.receive()
    others = [proxy.client().ask(f"/{origin.url}/f") for _ in range(3)]      # who comes late gets what is stored
    upstream.answer(message("200 OK", "Content-Type: application/xml", COOKIE, body=SMALL))
    for client in [first, *others]:
        got = client.response()
        assert got.body == SMALL_OUT and "Set-Cookie" not in got
    assert len(origin.requests) == 1
