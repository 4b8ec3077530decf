"""What goes back to origins that validate, byte for byte, and the ETag that clients get in its place if it is not one."""
import re

import pytest

from feeds import SMALL, SMALL_OUT
from wire import message

ON = ("--cache", "on")
STALE = "Cache-Control: max-age=0"
DATE = "Wed, 01 Jan 2025 00:00:00 GMT"


def feed(*fields, body=SMALL):
    return message("200 OK", "Content-Type: application/xml", *fields, body=body)


VALIDATORS = {"a tag and a date": (['ETag: "a"', f"Last-Modified: {DATE}"], {"If-None-Match": '"a"', "If-Modified-Since": DATE}),
              "weak": (['ETag: W/"a"'], {"If-None-Match": 'W/"a"'}), "no quotes": (["ETag: RSS-f3fd"], {"If-None-Match": "RSS-f3fd"}),
              "open": (['ETag: "a'], {"If-None-Match": '"a'}), "a list": (['ETag: "a", "b"'], {"If-None-Match": '"a", "b"'}),
              "small w": (['ETag: w/"a"'], {"If-None-Match": 'w/"a"'}), "bytes": (['ETag: "\xe9"'], {"If-None-Match": '"\xe9"'}),
              "another zone": (["Last-Modified: Wed, 01 Jan 2025 00:00:00 +0000"], {"If-Modified-Since": "Wed, 01 Jan 2025 00:00:00 +0000"}),
              "ISO 8601": (["Last-Modified: 2025-01-01T00:00:00Z"], {"If-Modified-Since": "2025-01-01T00:00:00Z"}),
              "no date": (["Last-Modified: never", 'ETag: "a"'], {"If-Modified-Since": "never", "If-None-Match": '"a"'})}


@pytest.mark.parametrize("way", ["route", "gateway"])
@pytest.mark.parametrize("name", VALIDATORS)
def test_byte_for_byte(start, origin, name, way):
    """RFC 9110 section 13.1; also what is malformed, for the origin alone knows what it meant."""
    said, want = VALIDATORS[name]
    proxy = start(origin, *ON)
    target = "/f" if way == "route" else f"/{origin.url}/f"
    first = proxy.through(origin, feed(STALE, *said), target)[1]
    assert not {"if-none-match", "if-modified-since"} & first.names()
    got, request = proxy.through(origin, message("304 Not Modified", *said, length=False), target)
    assert got.status == 200 and got.body == SMALL_OUT
    assert {key: request.all(key) for key in ("If-None-Match", "If-Modified-Since") if request.all(key)} == {key: [value] for key, value in want.items()}


def test_where_redirects_lead_the_validators_go(start, origin, another):
    """To the URL that gave them and to no other, on another host least of all."""
    other, proxy = another(), start(None, *ON)
    client = proxy.client()
    for n in range(3):
        client.ask(f"/{origin.url}/f")
        upstream = origin.receive()
        assert "If-None-Match" not in upstream.request
        upstream.answer(message("302 Found", f"Location: {other.url}/{'g' if n < 2 else 'h'}", "Cache-Control: no-cache"))
        upstream = other.receive()
        assert ("If-None-Match" in upstream.request) == (n == 1)
        upstream.answer(message("304 Not Modified", "ETag: odd", length=False) if n == 1 else feed(STALE, "ETag: odd"))
        assert client.response().body == SMALL_OUT


def test_no_origin_names_the_place_for_its_validators_on_another(start, origin, another):
    """RFC 9110 section 8.7: Content-Location says nothing of a URL of another origin. What one site wrote as its ETag
    must not reach another that it redirects to."""
    other, proxy = another(), start(None, *ON)
    client = proxy.client()
    client.ask(f"/{origin.url}/f")
    origin.receive().answer(feed(STALE, "ETag: <script>", f"Content-Location: {other.url}/f"))
    assert client.response().body == SMALL_OUT
    client.ask(f"/{origin.url}/f")
    upstream = origin.receive()
    assert "If-None-Match" not in upstream.request
    upstream.answer(message("302 Found", f"Location: {other.url}/f", "Cache-Control: no-cache"))
    upstream = other.receive()
    assert "If-None-Match" not in upstream.request
    upstream.answer(feed(STALE))
    assert client.response().body == SMALL_OUT


def test_a_place_of_its_own_that_an_origin_names_gets_its_validators(start, origin):
    proxy = start(None, *ON)
    client = proxy.client()
    for n in range(2):
        client.ask(f"/{origin.url}/f")
        if n:
            origin.receive().answer(message("302 Found", "Location: /g", "Cache-Control: no-cache"))
        upstream = origin.receive()
        assert ("If-None-Match" in upstream.request) == (n == 1)
        upstream.answer(message("304 Not Modified", "ETag: odd", length=False) if n else
                        feed(STALE, "ETag: odd", f"Content-Location: {origin.url}/g"))
        assert client.response().body == SMALL_OUT


MALFORMED = ["RSS-f3fd", '"open', 'w/"a"', '"a", "b"', '"a"x', "W/"]


@pytest.mark.parametrize("way", ["route", "gateway"])
@pytest.mark.parametrize("tag", MALFORMED)
def test_clients_get_a_tag_of_our_own(start, origin, tag, way):
    proxy = start(origin, *ON)
    target = "/f" if way == "route" else f"/{origin.url}/f"
    got, _ = proxy.through(origin, feed("Cache-Control: max-age=60", f"ETag: {tag}"), target)
    own = got["ETag"]
    assert re.fullmatch(r'W/"own-[0-9a-f]{16};utf-[0-9a-f]{8}"', own)
    assert proxy.get(target)["ETag"] == own
    for asked in (own, f'"x", {own}', own[2:], own[:-1] + ';gz"'):
        got = proxy.get(target, f"If-None-Match: {asked}")
        assert got.status == 304 and got["ETag"].replace(";gz", "") == own
    assert proxy.get(target, "If-None-Match: " + own.replace("own-", "own-0")).status == 200
    assert len(origin.requests) == 1


def test_another_malformed_tag_is_another_tag_of_our_own(start, origin):
    proxy = start(origin, *ON)
    tags = [proxy.through(origin, feed(STALE, f"ETag: {n}", body=SMALL), "/f")[0]["ETag"] for n in "ab"]
    assert tags[0] != tags[1]
    client = proxy.client().ask("/f", f"If-None-Match: {tags[1]}")
    upstream = origin.receive()
    assert upstream.request["If-None-Match"] == "b"
    upstream.answer(message("304 Not Modified", length=False))
    assert client.response().status == 304


def test_untouched_bodies_of_a_route_keep_the_tag(start, origin):
    """Of a route that does not normalise, and by forward proxy."""
    proxy = start(None, *ON, "--route", f"/r/={origin.url}/ normalise=off")
    assert proxy.through(origin, feed("ETag: odd"), "/r/f")[0]["ETag"] == "odd"


@pytest.mark.parametrize("again", [304, 200])
def test_a_304_that_nobody_asked_for(start, origin, again):
    """Once more without conditions, then 502."""
    client = start(None, *ON).client().ask(f"/{origin.url}/f")
    for n in range(2):
        upstream = origin.receive()
        assert not {"if-none-match", "if-modified-since"} & upstream.request.names()
        upstream.answer(feed() if n and again == 200 else message("304 Not Modified", 'ETag: "1"', length=False))
    got = client.response()
    assert got.status == (200 if again == 200 else 502) and len(origin.requests) == 2
