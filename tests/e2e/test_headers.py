"""The duties of a transforming proxy (RFC 9110 section 7.7), and what an untouched response keeps."""
import hashlib
import re
from base64 import b64encode
from email.utils import parsedate_to_datetime

import pytest

from feeds import SMALL, SMALL_OUT, UTF_8_TYPE, big, rss
from proxy import RECEIVED_BY
from wire import chunked, message

MD5 = b64encode(hashlib.md5(SMALL).digest()).decode()
SHA = b64encode(hashlib.sha256(SMALL).digest()).decode()
PNG = "image/png"
XML = "application/xml"


def reply(content_type, *fields, body=SMALL):
    return message("200 OK", f"Content-Type: {content_type}", *fields, body=body)


OF_THE_BYTES = [f"Content-MD5: {MD5}", f"Digest: sha-256={SHA}", f"Repr-Digest: sha-256=:{SHA}:", f"Content-Digest: sha-256=:{SHA}:",
                "Accept-Ranges: bytes"]


@pytest.mark.parametrize("field", OF_THE_BYTES)
def test_what_describes_the_old_bytes_goes_with_them(proxy, origin, field):
    name, value = field.split(": ")
    got, _ = proxy.through(origin, reply(XML, field))
    assert got.body == SMALL_OUT and got[name] in ((None, "none") if name == "Accept-Ranges" else (None,))
    got, _ = proxy.through(origin, reply(PNG, field))
    assert got.body == SMALL and got[name] == value


@pytest.mark.parametrize("etag", ['"strong"', 'W/"weak"', '""', 'unquoted'])
def test_etag_is_not_the_origins_any_more(proxy, origin, etag):
    got, _ = proxy.through(origin, reply(XML, f"ETag: {etag}"))
    assert got["ETag"] is None or re.fullmatch(r'(W/)?"[\x21\x23-\x7e]*"', got["ETag"])
    assert got["ETag"] != etag or etag.startswith("W/")
    got, _ = proxy.through(origin, reply(PNG, f"ETag: {etag}"))
    assert got["ETag"] == etag


def test_etag_tells_policies_apart(proxy, origin):
    def etag(*fields):
        return proxy.through(origin, reply("text/xml; charset=iso-8859-1", 'ETag: "1"'), "/f", *fields)[0]["ETag"]
    first = etag()
    assert first == etag()
    if first and not first.startswith("W/"):
        assert first != etag("X-Encoding-Policy: rfc7303")


def test_content_length_is_right_or_absent(proxy, origin):
    got, _ = proxy.through(origin, reply(XML))
    assert got["Content-Length"] in (None, str(len(SMALL_OUT))) and got.body == SMALL_OUT
    data, out = big()
    client = proxy.client().ask("/f")
    origin.receive().answer(reply(XML, body=data))
    got = client.response()
    assert got["Content-Length"] in (None, str(len(out))) and got.body == out


def test_a_feed_that_needs_nothing_still_gets_the_right_type(proxy, origin):
    text = rss("plain", "UTF-8").encode()
    got, _ = proxy.through(origin, reply("application/rss+xml", body=text))
    assert got.body == text and got["Content-Type"] == UTF_8_TYPE


KEPT = ["Last-Modified: Sat, 21 Nov 2026 01:02:03 GMT", "Cache-Control: max-age=60", "Expires: Sat, 21 Nov 2036 01:02:03 GMT",
        "Content-Language: ru", "Link: <http://hub.test/>; rel=hub", "Content-Disposition: inline", "X-Powered-By: pen",
        "Retry-After: 5", "Server: origin/1", "Content-Location: /f.xml", "Age: 5", "X-Empty:"]


@pytest.mark.parametrize("content_type", [XML, PNG])
def test_the_rest_is_kept(proxy, origin, content_type):
    got, _ = proxy.through(origin, reply(content_type, *KEPT))
    for field in KEPT:
        name, _, value = field.partition(":")
        if name == "Age":
            assert int(got["Age"]) >= 5
        else:
            assert got[name] == value.strip(), field


def test_repeated_fields_are_kept_apart_and_in_order(proxy, origin):
    got, _ = proxy.through(origin, reply(XML, "Set-Cookie: a=1", "Link: <a>", "Set-Cookie: b=2", "Link: <b>"))
    assert got.all("Set-Cookie") in (["a=1", "b=2"], [])
    assert got.tokens("Link") == ["<a>", "<b>"]


def test_vary_is_kept(proxy, origin):
    got, _ = proxy.through(origin, reply(XML, "Vary: User-Agent"))
    assert "user-agent" in got.tokens("Vary")


@pytest.mark.parametrize("content_type", [XML, PNG])
def test_via_is_added_to_responses(proxy, origin, content_type):
    got, _ = proxy.through(origin, reply(content_type, "Via: 1.0 first, 1.1 second"))
    assert [" ".join(word.split()) for word in ", ".join(got.all("Via")).split(",")] == ["1.0 first", "1.1 second", "1.1 utfeed"]


def test_via_says_the_version_received(proxy, origin):
    got, _ = proxy.through(origin, message("HTTP/1.0 200 OK", f"Content-Type: {XML}", body=SMALL), close=True)
    assert got["Via"] == "1.0 utfeed"


def test_via_is_added_to_requests(proxy, origin):
    _, asked = proxy.through(origin, reply(XML), "/f", "Via: 1.1 first", version="HTTP/1.0")
    assert [word.strip() for word in ", ".join(asked.all("Via")).split(",")] == ["1.1 first", "1.0 utfeed"]


def test_via_has_the_name_given(start, origin):
    got, asked = start(origin, "--via", "sidecar").through(origin, reply(XML))
    assert (got["Via"], asked["Via"]) == ("1.1 sidecar", f"{RECEIVED_BY} sidecar")


def test_date_is_kept_or_added(proxy, origin):
    date = "Sat, 21 Nov 2020 01:02:03 GMT"
    got, _ = proxy.through(origin, reply(XML, f"Date: {date}"))
    assert got["Date"] == date
    got, _ = proxy.through(origin, reply(XML))
    assert parsedate_to_datetime(got["Date"])
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", got["Date"])


@pytest.mark.parametrize("content_type", [XML, PNG])
def test_warning_is_stripped(proxy, origin, content_type):
    """RFC 9111 section 5.5: obsolete; 214 was what transforming proxies once added."""
    got, _ = proxy.through(origin, reply(content_type, 'Warning: 110 - "stale"'))
    assert "Warning" not in got


def test_trailers_of_the_origin_are_not_made_fields(proxy, origin):
    got, _ = proxy.through(origin, message("200 OK", f"Content-Type: {XML}", "Transfer-Encoding: chunked", "Trailer: X-T, Content-Type",
                                           body=chunked(SMALL, 50, b"0\r\nX-T: 1\r\nContent-Type: text/html\r\n\r\n")))
    assert got.body == SMALL_OUT and got["Content-Type"] == UTF_8_TYPE and "X-T" not in got


def test_content_type_twice(proxy, origin):
    got, _ = proxy.through(origin, message("200 OK", "Content-Type: text/xml", "Content-Type: application/xml; charset=windows-1251",
                                           body=SMALL))
    assert got.body == SMALL_OUT and got["Content-Type"] == UTF_8_TYPE


def test_conditional_requests_come_full_circle(proxy, origin):
    """The tag a client got is the origin's again upstream, and a 304 carries what the client knows."""
    first, _ = proxy.through(origin, reply(XML, 'ETag: "1"', "Last-Modified: Sat, 21 Nov 2020 01:02:03 GMT"))
    assert first["ETag"] and first["ETag"] != '"1"'
    client = proxy.client().ask("/f", f"If-None-Match: \"other\", {first['ETag']}")
    upstream = origin.receive()
    assert '"1"' in upstream.request["If-None-Match"]
    upstream.answer(message("304 Not Modified", 'ETag: "1"', "Content-Type: text/xml; charset=koi8-r", length=False))
    got = client.response()
    assert got.status == 304 and got["ETag"] == first["ETag"]
    assert got["Content-Type"] in (None, UTF_8_TYPE)


def test_tags_of_other_settings_match_nothing(proxy, origin):
    first, _ = proxy.through(origin, reply(XML, 'ETag: "1"'))
    client = proxy.client().ask("/f", f"If-None-Match: {first['ETag']}", "X-Encoding-Policy: rfc7303")
    upstream = origin.receive()
    assert upstream.request["If-None-Match"] in (None, first["ETag"])
    upstream.answer(reply(XML, 'ETag: "1"'))
    assert client.response().status == 200


def test_conditional_fields_go_upstream_only_as_the_origin_knows_them(proxy, origin):
    """A 304 to a validator that utfeed changed would be about other bytes."""
    first, _ = proxy.through(origin, reply(XML, 'ETag: "1"'))
    if first["ETag"]:
        client = proxy.client().ask("/f", f"If-None-Match: {first['ETag']}")
        if origin.asked_before_answer(client):
            upstream = origin.receive()
            assert upstream.request["If-None-Match"] in (None, '"1"') or first["ETag"] == 'W/"1"'
            upstream.answer(reply(XML, 'ETag: "1"'))
        assert client.response().status in (200, 304)


def test_x_encoding_rule_is_a_structured_field(proxy, origin):
    """RFC 9651 section 3.3: an Item, a Token with Parameters whose values are Tokens."""
    token = r"[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*"
    for content_type in (XML, PNG, "text/xml; charset=iso-8859-1", "text/html"):
        got, _ = proxy.through(origin, reply(content_type))
        assert re.fullmatch(rf"{token}(;[a-z*][a-z0-9_.*-]*={token})*", got.rule), got.rule


def test_responses_name_no_date_twice(proxy, origin):
    got, _ = proxy.through(origin, reply(XML, "Date: Sat, 21 Nov 2020 01:02:03 GMT", "Date: Sat, 21 Nov 2020 01:02:03 GMT"))
    assert len(got.all("Date")) == 1
