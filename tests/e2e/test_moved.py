"""Where redirects lead that are not followed, and permanent ones that are remembered or told (RFC 9110 sections 10.2.2 and 15.4)."""
import pytest

from feeds import SMALL
from wire import message

FEED = message("200 OK", "Content-Type: application/xml", body=SMALL)


def to(location, status="301 Moved Permanently", *fields):
    return message(status, "Content-Type: text/plain", f"Location: {location}", *fields, body=b"moved\n")


# ---- what is not followed leads into the gateway ----

@pytest.fixture
def still(start):
    """A gateway that follows no redirect."""
    return start(None, "--redirects", "0")


def led(proxy, origin, answer, target, **kind):
    client = proxy.client().ask(target, **kind)
    origin.receive().answer(answer)
    return client.response()


@pytest.mark.parametrize("shape", ["/{url}/a/old?q", "/?url={url}/a/old?q"])
@pytest.mark.parametrize("location, place", [("/new", "/new"), ("new", "/a/new"), ("?r", "/a/old?r"), ("{url}/b c", "/b%20c"), ("//{host}\\x", "/x")])
def test_the_gateway_leads_to_itself(still, origin, shape, location, place):
    """RFC 9110 section 10.2.2: a reference is relative to the URL that was asked for, which the client does not know."""
    got = led(still, origin, to(location.format(url=origin.url, host=origin.url[7:])), shape.format(url=origin.url), host="Utfeed.test:8080")
    assert (got.status, got["Location"]) == (301, f"http://utfeed.test:8080/{origin.url}{place}")
    assert got.body == b"moved\n" and not origin.asked()


@pytest.mark.parametrize("status", ["201 Created", "300 Multiple Choices", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
def test_whatever_the_status(still, origin, status):
    got = led(still, origin, to("/new", status), f"/{origin.url}/old")
    assert got["Location"] == f"http://feeds.test/{origin.url}/new"


def test_the_url_of_the_gateway_is_an_option(start, origin):
    proxy = start(None, "--redirects", "0", "--gateway-url", "https://feeds.example/utfeed")
    got = led(proxy, origin, to("/new"), f"/{origin.url}/old")
    assert got["Location"] == f"https://feeds.example/utfeed/{origin.url}/new"


def test_a_client_without_a_host(still, origin):
    """HTTP/1.0: a path of the gateway's."""
    got = led(still, origin, to("/new"), f"/{origin.url}/old", host=None, version="HTTP/1.0")
    assert got["Location"] == f"/{origin.url}/new"


def test_no_host_shapes_what_another_client_gets(still, origin):
    """A stored redirect has the origin's Location: each client is led by the name that it knows."""
    path = f"/{origin.url}/old"
    assert led(still, origin, to("/new", "301 Moved Permanently", "Cache-Control: max-age=600"), path, host="evil.test")["Location"] == \
        f"http://evil.test/{origin.url}/new"
    for host in ("a.test", "b.test"):
        got = still.client().ask(path, host=host).response()
        assert got["Location"] == f"http://{host}/{origin.url}/new" and "hit" in got["Cache-Status"]
    assert not origin.asked()


@pytest.mark.parametrize("location", ["ftp://h/x", "javascript:alert(1)", "http://u@h/", "itpc://h/feed"])
def test_another_scheme_stays(still, origin, location):
    assert led(still, origin, to(location), f"/{origin.url}/old")["Location"] == location


def test_what_is_no_place_is_left_out(still, origin):
    """Relative and no URL: it would lead into utfeed itself."""
    got = led(still, origin, to("//u@h/x"), f"/{origin.url}/old")
    assert got.status == 301 and "Location" not in got


def test_routes_and_forward_requests_pass_it_on(start, origin):
    proxy = start(None, "--route", f"/o/={origin.url}")
    assert led(proxy, origin, to("/new"), "/o/old")["Location"] == "/new"
    assert led(proxy, origin, to("new"), f"{origin.url}/old")["Location"] == "new"
