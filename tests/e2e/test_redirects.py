"""Redirects: followed for URLs that clients name and where a route says so, passed on otherwise (RFC 9110 section 15.4)."""
import pytest

from feeds import SMALL, SMALL_OUT
from peers import Background
from test_faults import error_of
from wire import chunked, message

FEED = message("200 OK", "Content-Type: application/xml", body=SMALL)
STATUSES = pytest.mark.parametrize("status", ["301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect",
                                              "308 Permanent Redirect"])


def to(location, status="302 Found", *fields, body=b"moved\n"):
    return message(status, "Content-Type: text/plain", f"Location: {location}", *fields, body=body)


def asked(origin, target):
    upstream = origin.receive()
    assert upstream.request.line == f"GET {target} HTTP/1.1"
    assert upstream.request["Host"] == origin.authority
    return upstream


@pytest.fixture
def gateway(start):
    return start(None, "--gateway", "on")


@pytest.fixture
def following(start, origin):
    """A route that follows its origin's redirects, clients' credentials allowed."""
    return start(None, "--route", f"/={origin.url} follow-redirects=on cookies=on authorization=on")


@STATUSES
@pytest.mark.parametrize("shape", ["/{url}/old?a=1", "/?url={url}/old?a=1"])
def test_gateway_follows(gateway, origin, status, shape):
    client = gateway.client().ask(shape.format(url=origin.url))
    asked(origin, "/old?a=1").answer(to("/new?b=2", status))
    asked(origin, "/new?b=2").answer(FEED)
    got = client.response()
    assert (got.status, got.body) == (200, SMALL_OUT)
    assert got["Content-Location"] == f"{origin.url}/new?b=2" and "Location" not in got


@STATUSES
def test_a_route_follows_where_it_says_so(following, origin, status):
    client = following.client().ask("/old")
    asked(origin, "/old").answer(to("/new", status))
    asked(origin, "/new").answer(FEED)
    got = client.response()
    assert got.body == SMALL_OUT and got["Content-Location"] == f"{origin.url}/new"


@STATUSES
def test_a_route_passes_on(proxy, origin, status):
    client = proxy.client().ask("/old")
    asked(origin, "/old").answer(to("/new", status))
    got = client.response()
    assert (got.status, got["Location"], got.body) == (int(status[:3]), "/new", b"moved\n")
    assert "Content-Location" not in got and not origin.asked()


@STATUSES
def test_forward_mode_passes_on(start, origin, status):
    client = start(None).client().ask(f"{origin.url}/old", host=origin.authority)
    asked(origin, "/old").answer(to("/new", status))
    got = client.response()
    assert (got.status, got["Location"]) == (int(status[:3]), "/new") and not origin.asked()


@pytest.mark.parametrize("status", ["300 Multiple Choices", "305 Use Proxy", "306 Unused", "399 Whatever", "200 OK",
                                    "201 Created"])
def test_other_statuses_are_no_redirects(gateway, origin, status):
    client = gateway.client().ask(f"/{origin.url}/old")
    asked(origin, "/old").answer(message(status, "Location: /new"))
    got = client.response()
    leads = status[0] == "3" or status[:3] == "201"       # elsewhere Location has no meaning (RFC 9110 section 10.2.2)
    assert got.status == int(status[:3]) and got["Content-Location"] in (None, f"{origin.url}/old")
    assert got["Location"] == (f"http://feeds.test/{origin.url}/new" if leads else f"{origin.url}/new")
    assert not origin.asked()


# Location (RFC 9110 section 10.2.2), resolved against /a/b/old?q (RFC 3986 section 5.4); {url} {host}: the origin's
LOCATIONS = [("/new", "/new"), ("new", "/a/b/new"), ("./new", "/a/b/new"), ("../new", "/a/new"), ("../../../new", "/new"), ("new/", "/a/b/new/"),
             ("?x", "/a/b/old?x"), ("new?x=/../y", "/a/b/new?x=/../y"), ("//{host}/new", "/new"), ("{url}/new", "/new"), ("{url}", "/"),
             ("{url}?x", "/?x"), pytest.param("HTTP://{host}/new", "/new", marks=pytest.mark.http1_origin("a URL of http:")),
             ("/new#part", "/new"), ("{url}/new#a/../b", "/new"), ("/a/./b/../new", "/a/new"),
             ("/a%2fb%20c", "/a%2fb%20c"), ("  /new  ", "/new"), ("/new;a=b,c", "/new;a=b,c"), (".", "/a/b/"), ("..", "/a/"),
             # as WHATWG URL reads them
             ("/a b", "/a%20b"), ("\\new\\f", "/new/f"), ("/a\"b?'c", "/a%22b?%27c"), ("///{host}/new", "/new"), ("/new#a b", "/new"),
             ("%2e%2E/new", "/a/new"), ("/ne\tw", "/new")]


@pytest.mark.parametrize("location, target", LOCATIONS)
def test_locations(gateway, origin, location, target):
    client = gateway.client().ask(f"/{origin.url}/a/b/old?q")
    asked(origin, "/a/b/old?q").answer(to(location.format(url=origin.url, host=origin.authority)))
    asked(origin, target).answer(FEED)
    got = client.response()
    assert got.body == SMALL_OUT and got["Content-Location"] == origin.url + target


def test_bytes_beyond_ascii_in_a_location(gateway, origin):
    """Many servers write them raw: they go on escaped, each as it stands."""
    client = gateway.client().ask(f"/{origin.url}/old")
    asked(origin, "/old").answer(to("/n\xe9\xff"))
    asked(origin, "/n%E9%FF").answer(FEED)
    assert client.response().body == SMALL_OUT


@pytest.mark.parametrize("location", ["ftp://h/x", "javascript:alert(1)", "http://", "http://u:p@127.0.0.1/", "http://h:99999/", "gopher:x",
                                      "http://[::1/", "file:///etc/passwd", "data:,x"])
def test_what_cannot_be_followed_is_passed_on_or_refused(gateway, origin, location):
    client = gateway.client().ask(f"/{origin.url}/old")
    asked(origin, "/old").answer(to(location))
    got = client.response()
    assert got.status in (302, 502) and not origin.asked()
    assert got.status == 502 or got["Location"] == location and "Content-Location" not in got


def test_a_redirect_without_a_location_is_passed_on(gateway, origin):
    client = gateway.client().ask(f"/{origin.url}/old")
    asked(origin, "/old").answer(message("302 Found", "Content-Type: text/plain", body=b"where?\n"))
    got = client.response()
    assert (got.status, got.body) == (302, b"where?\n")


def test_two_locations_are_not_guessed_between(gateway, origin):
    client = gateway.client().ask(f"/{origin.url}/old")
    asked(origin, "/old").answer(to("/one", "302 Found", "Location: /two"))
    if origin.asked_before_answer(client):
        assert origin.receive().request.target == "/one"
    else:
        assert client.response().status in (302, 502)


def test_to_another_host_and_back(gateway, another):
    first, second = another(), another()
    client = gateway.client().ask(f"/{first.url}/1")
    asked(first, "/1").answer(to(f"{second.url}/2"))
    asked(second, "/2").answer(to(f"{first.url}/3"))
    asked(first, "/3").answer(FEED)
    assert client.response()["Content-Location"] == f"{first.url}/3"


def test_hop_limit(start, origin):
    """--redirects N: N redirects lead to an answer, N + 1 do not."""
    proxy = start(None, "--redirects", "2")
    for hops in (2, 3):
        client = proxy.client().ask(f"/{origin.url}/0")
        for hop in range(hops):
            asked(origin, f"/{hop}").answer(to(f"/{hop + 1}"))
        if hops == 2:
            asked(origin, "/2").answer(FEED)
            assert client.response().body == SMALL_OUT
    got = client.response()
    assert got.status == 502 and error_of(got) == "proxy_loop_detected" and not origin.asked()


def test_default_hop_limit_is_5(gateway, origin):
    client = gateway.client().ask(f"/{origin.url}/0")
    for hop in range(6):
        asked(origin, f"/{hop}").answer(to(f"/{hop + 1}"))
    assert client.response().status == 502 and not origin.asked()


def test_no_redirects_at_all(start, origin):
    client = start(None, "--redirects", "0").client().ask(f"/{origin.url}/old")
    asked(origin, "/old").answer(to("/new"))
    got = client.response()
    assert (got.status, got["Location"]) == (302, f"http://feeds.test/{origin.url}/new")


@pytest.mark.parametrize("way", [["/a"], ["/b", "/a"], ["/b", "/c", "/b"], ["/b", "/a#other"], ["/b", "/./a"]])
def test_loops_are_found(gateway, origin, way):
    """Without asking for any URL twice."""
    client, at = gateway.client().ask(f"/{origin.url}/a"), "/a"
    for location in way:
        asked(origin, at).answer(to(location))
        at = location
    got = client.response()
    assert got.status in (502, 508) and error_of(got) == "proxy_loop_detected" and not origin.asked()


@pytest.mark.parametrize("framed", ["none", "length", "chunked", "close", "half", "endless"])
def test_the_body_of_a_redirect_is_not_mixed_in(gateway, origin, framed):
    client = gateway.client().ask(f"/{origin.url}/old")
    upstream = asked(origin, "/old")
    if framed == "chunked":
        upstream.send(message("302 Found", "Location: /new", "Transfer-Encoding: chunked", body=chunked(b"moved\n" * 100, 50)))
    elif framed == "close":
        upstream.answer(message("302 Found", "Location: /new", body=b"moved\n", length=False), close=True)
    elif framed == "half":
        upstream.send(to("/new", body=b"moved\n" * 100)[:-300])
    elif framed == "endless":
        upstream.send(message("302 Found", "Location: /new", "Content-Length: 100000000000", body=b"moved\n" * 5000))
    else:
        upstream.send(to("/new", body=b"" if framed == "none" else b"moved\n" * 100))
    asked(origin, "/new").answer(FEED)
    assert client.response().body == SMALL_OUT


def test_a_redirect_that_arrives_in_single_bytes(gateway, origin):
    client = gateway.client().ask(f"/{origin.url}/old")
    upstream = asked(origin, "/old")
    head = to("/new", body=b"")
    upstream.send_apart(head[:-1])
    upstream.send(head[-1:])
    asked(origin, "/new").answer(FEED)
    assert client.response().body == SMALL_OUT


def test_head(gateway, origin):
    client = gateway.client().ask(f"/{origin.url}/old", method="HEAD")
    asked(origin, "/old").answer(to("/new"))
    asked(origin, "/new").answer(FEED)
    got = client.response()
    assert got.status == 200 and not got.body and got["Content-Location"] == f"{origin.url}/new"


def test_the_answer_behind_it_may_be_an_error(gateway, origin):
    client = gateway.client().ask(f"/{origin.url}/old")
    asked(origin, "/old").answer(to("/new"))
    asked(origin, "/new").answer(message("404 Not Found", "Content-Type: text/plain", body=b"no\n"))
    got = client.response()
    assert (got.status, got.body) == (404, b"no\n")


def test_an_origin_that_refuses_behind_it(gateway, another):
    origin, closed = another(), another()
    closed.stop_listening()
    client = gateway.client().ask(f"/{origin.url}/old")
    asked(origin, "/old").answer(to(f"{closed.url}/new"))
    got = client.response()
    assert got.status == 502 and error_of(got) == "connection_refused"


def test_own_content_location_gives_way(gateway, origin):
    client = gateway.client().ask(f"/{origin.url}/old")
    asked(origin, "/old").answer(to("/new"))
    asked(origin, "/new").answer(message("200 OK", "Content-Type: text/css", "Content-Location: /other", body=b"a{}"))
    assert client.response()["Content-Location"] == f"{origin.url}/new"


def test_content_location_is_passed_on_without_a_redirect(gateway, origin):
    got, _ = gateway.through(origin, message("200 OK", "Content-Type: text/css", "Content-Location: /other", body=b"a{}"),
                             f"/{origin.url}/f")
    assert got["Content-Location"] == "/other"


@pytest.mark.parametrize("content_type", ["application/rss+xml", "text/css"])
def test_the_gateway_names_the_url_itself(gateway, origin, content_type):
    """Readers resolve relative links by it."""
    got, _ = gateway.through(origin, message("200 OK", f"Content-Type: {content_type}", body=SMALL), f"/{origin.url}/named?a=1")
    assert got["Content-Location"] == f"{origin.url}/named?a=1"


def test_it_names_no_url_of_an_error(gateway, origin):
    got, _ = gateway.through(origin, message("404 Not Found", body=b"no"), f"/{origin.url}/none")
    assert got.status == 404 and "Content-Location" not in got


def test_fields_go_along(gateway, origin):
    client = gateway.client().ask(f"/{origin.url}/old", "User-Agent: reader/1", "Accept-Language: be")
    first = asked(origin, "/old")
    first.answer(to("/new"))
    second = asked(origin, "/new")
    assert second.request.head()[1] == first.request.head()[1]
    second.answer(FEED)
    client.response()


PRIVATE = ["Cookie: a=b", "Authorization: Basic dTpw"]


def credentials(request):
    return request["Cookie"], request["Authorization"]


def test_credentials_stay_with_their_origin(following, origin):
    client = following.client().ask("/old", *PRIVATE)
    first = asked(origin, "/old")
    assert credentials(first.request) == ("a=b", "Basic dTpw")
    first.answer(to("/new"))
    second = asked(origin, "/new")
    assert credentials(second.request) == ("a=b", "Basic dTpw")
    second.answer(FEED)
    assert client.response().status == 200


@pytest.mark.parametrize("back", [False, True])
def test_credentials_never_reach_another_origin(following, origin, another, back):
    """Nor does an origin that was led away from get them again by way of the other one."""
    other = another()
    client = following.client().ask("/old", *PRIVATE)
    asked(origin, "/old").answer(to(f"{other.url}/stolen"))
    second = asked(other, "/stolen")
    assert credentials(second.request) == (None, None)
    if back:
        second.answer(to(f"{origin.url}/back"))
        second = asked(origin, "/back")
        assert credentials(second.request) == (None, None)
    second.answer(FEED)
    assert client.response().status == 200


@pytest.mark.parametrize("names", ["X-Api-Key", "*"])
def test_request_fields_stay_with_their_origin(start, origin, another, names):
    """What the operator lets through to a route's origin may be a key to it."""
    other = another()
    client = start(None, "--route", f"/={origin.url} follow-redirects=on request-fields={names}").client()
    client.ask("/old", "X-Api-Key: secret", "Accept-Language: be")
    first = asked(origin, "/old")
    assert first.request["X-Api-Key"] == "secret"
    first.answer(to("/here"))
    second = asked(origin, "/here")
    assert second.request["X-Api-Key"] == "secret"
    second.answer(to(f"{other.url}/there"))
    third = asked(other, "/there")
    assert "X-Api-Key" not in third.request and third.request["Accept-Language"] == "be"
    third.answer(FEED)
    assert client.response().body == SMALL_OUT


def test_credentials_given_to_the_gateway_go_nowhere(gateway, origin):
    _, request = gateway.through(origin, FEED, f"/{origin.url}/f", *PRIVATE)
    assert credentials(request) == (None, None)


def test_fetch_timeout_spans_redirects(timed, clock, origin):
    client = timed(None, "--fetch-timeout", "20s").client().ask(f"/{origin.url}/0")
    asked(origin, "/0").answer(to("/1"))
    upstream = asked(origin, "/1")
    got = clock.passes(21, Background(client.response))
    assert got.status == 504 and upstream.is_ended()


def test_client_gone_between_hops(gateway, origin):
    client = gateway.client().ask(f"/{origin.url}/0")
    first = asked(origin, "/0")
    client.reset()
    assert first.is_ended() and not origin.asked()


def test_access_line_names_what_the_client_asked(gateway, origin):
    client = gateway.client().ask(f"/{origin.url}/old")
    asked(origin, "/old").answer(to("/new"))
    asked(origin, "/new").answer(FEED)
    client.response()
    assert f" /{origin.url}/old 200 " in gateway.access_lines(1)[0].decode()


def test_upgrade_https_on_a_redirect(start, origin):
    """http://host:port in a Location becomes https there: the plain origin sees a TLS hello, never a request."""
    client = start(None, "--upgrade-https", "on").client().ask(f"/{origin.url}/old")
    upstream = origin.asking()
    assert upstream.stream.held[:1] == b"\x16"
    upstream.close()
    assert client.response().status == 502
