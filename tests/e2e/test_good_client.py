"""What publishers see of who asks: CDN-Loop and Via, Accept, User-Agent."""
import re

import pytest

from feeds import SMALL, SMALL_OUT
from wire import message

XML = "Content-Type: application/xml"
FEED = message("200 OK", XML, body=SMALL)
GATEWAY = "--allow", "127.0.0.0/8:*"


def by_gateway(start, origin, *fields, options=()):
    """The request that an origin gets for one in the gateway."""
    got, asked = start(None, *GATEWAY, *options).through(origin, FEED, f"/{origin.url}/feed", *fields)
    assert got.body == SMALL_OUT
    return asked


# ---- CDN-Loop (RFC 8586) ----

@pytest.mark.parametrize("fields, sent", [
    ((), "utfeed"), (("Via: 1.1 front",), "utfeed"), (("CDN-Loop: other.example; v=1", "CDN-Loop: b"), "other.example; v=1, b, utfeed"),
    (("CDN-Loop: a", "Connection: cdn-loop"), "a, utfeed"), (("CDN-Loop: \"", "CDN_Loop: b"), "utfeed")])
def test_the_gateway_is_told_by_cdn_loop(start, origin, fields, sent):
    asked = by_gateway(start, origin, *fields)
    assert asked.all("CDN-Loop") == [sent] and not {"via", "cdn_loop"} & asked.names()


def test_it_has_the_name_that_via_has(start, origin):
    assert by_gateway(start, origin, options=("--via", "edge-1"))["CDN-Loop"] == "edge-1"


def test_via_in_its_place_by_option(start, origin):
    asked = by_gateway(start, origin, "CDN-Loop: a", "Via: 1.0 b", options=("--cdn-loop", "off"))
    assert asked.all("Via") == ["1.0 b", "1.1 utfeed"] and asked.all("CDN-Loop") == ["a"]


def test_elsewhere_via_is_sent_and_cdn_loop_goes_on(start, origin):
    proxy = start(origin, *GATEWAY)
    for target in "/feed", f"{origin.url}/feed":
        _, asked = proxy.through(origin, FEED, target, "CDN-Loop: a;b=c", "Via: 1.0 d", "Connection: CDN-Loop")
        assert asked.all("Via") == ["1.0 d", "1.1 utfeed"] and asked.all("CDN-Loop") == ["a;b=c"]


LOOP = 8    # passes that are too many


@pytest.mark.parametrize("fields, status", [
    ([f"CDN-Loop: {', '.join(['utfeed'] * LOOP)}"], 502), ([f"CDN-Loop: {', '.join(['utfeed'] * (LOOP - 1))}"], 200),
    ([f"Via: {', '.join(['1.1 utfeed'] * 4)}", "CDN-Loop: utfeed, UTFEED", "CDN-Loop: utfeed;x=1, utfeed"], 502),
    ([f"Via: {', '.join(['1.1 other'] * LOOP)}", f"CDN-Loop: {', '.join(['other'] * LOOP)}"], 200)])
def test_loops_are_counted_over_both(start, origin, fields, status):
    proxy = start(origin, *GATEWAY)
    for target in "/feed", f"/{origin.url}/feed":
        client = proxy.client().ask(target, *fields)
        if status == 200:
            origin.receive().answer(FEED)
        got = client.response()
        assert got.status == status and (status == 200 or "error=proxy_loop_detected" in got["Proxy-Status"])


def test_each_gateway_on_the_way_leaves_its_name(start, origin):
    first, second = start(None, *GATEWAY), start(None, *GATEWAY)
    got, asked = first.through(origin, FEED, f"/http://127.0.0.1:{second.port}/{origin.url}/feed")
    assert got.body == SMALL_OUT and asked["CDN-Loop"] == "utfeed, utfeed"


def test_who_comes_through_a_gateway_has_no_rights(start, origin):
    proxy = start(origin)
    proxy.through(origin, FEED)
    assert proxy.get("/feed", "CDN-Loop: utfeed", method="PURGE").status == 403
    assert proxy.get("/feed", method="PURGE").status == 200


# ---- Accept ----

FEEDS_FIRST = "application/atom+xml, application/rss+xml, application/rdf+xml, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.8"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize("client, sent", [
    (None, FEEDS_FIRST), ("*/*", FEEDS_FIRST), (BROWSER, FEEDS_FIRST), ("", FEEDS_FIRST), ("application/json", FEEDS_FIRST),
    ("application/rss+xml, text/html;q=0.2", "application/rss+xml, text/html;q=0.2")])
def test_the_gateway_asks_for_feeds_first(start, origin, client, sent):
    assert by_gateway(start, origin, *([] if client is None else [f"Accept: {client}"])).all("Accept") == [sent]


def test_accept_by_option_in_the_gateway(start, origin):
    assert by_gateway(start, origin, f"Accept: {BROWSER}", options=("--accept", "client"))["Accept"] == BROWSER
    assert by_gateway(start, origin, options=("--accept", "client"))["Accept"] == FEEDS_FIRST
    assert by_gateway(start, origin, "Accept: */*", options=("--accept", "text/xml"))["Accept"] == "text/xml"


def test_one_stored_response_for_all_who_name_no_feeds(start, origin):
    proxy = start(None, *GATEWAY, "--cache", "on")
    vary = message("200 OK", XML, "Vary: Accept", "Cache-Control: max-age=60", body=SMALL)
    proxy.through(origin, vary, f"/{origin.url}/feed", "Accept: */*")
    for accept in ["Accept: " + BROWSER], [], ["Accept: image/png"]:
        assert proxy.get(f"/{origin.url}/feed", *accept).body == SMALL_OUT
    assert proxy.through(origin, vary, f"/{origin.url}/feed", "Accept: text/xml")[1]["Accept"] == "text/xml"


def test_elsewhere_accept_is_the_clients(start, origin):
    proxy = start(origin, *GATEWAY)
    for target in "/feed", f"{origin.url}/feed":
        assert proxy.through(origin, FEED, target, f"Accept: {BROWSER}")[1]["Accept"] == BROWSER


# ---- User-Agent ----

CONTACT = "https://feeds.example/about?a=b;c"


@pytest.mark.parametrize("options, client, sent", [
    ((), "r/1", r"utfeed/\S+ \(\+https://feeds\.example/about\?a=b;c\) \(r/1\)"),
    ((), None, r"utfeed/\S+ \(\+https://feeds\.example/about\?a=b;c\)"),
    (("--user-agent", "own/1"), "r/1", "own/1"), (("--user-agent", "client"), "r/1", "r/1")])
def test_contact_url(start, origin, options, client, sent):
    fields = [f"User-Agent: {client}"] if client else []
    asked = by_gateway(start, origin, *fields, options=("--contact-url", CONTACT, *options))
    assert re.fullmatch(sent, asked["User-Agent"])


def test_contact_url_of_a_route(start, origin):
    proxy = start(None, "--contact-url", CONTACT, "--route", f"/={origin.url} contact-url=http://of.example/")
    assert re.fullmatch(r"utfeed/\S+ \(\+http://of\.example/\)", proxy.through(origin, FEED)[1]["User-Agent"])
