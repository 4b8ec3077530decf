"""The main job: a mislabelled feed goes in, correct UTF-8 comes out, and X-Encoding-Rule says why."""
import gzip
import re

import pytest

from feeds import (FEEDS, FRENCH, RUSSIAN, SMALL, SMALL_OUT, SMALL_TEXT, UTF_8_TYPE, big, feed, rss, titles, utf_8, well_formed)
from proxy import normalise
from wire import message


def reply(data, content_type, *fields, status="200 OK"):
    types = (f"Content-Type: {content_type}",) if content_type is not None else ()
    return message(status, *types, *fields, body=data)


@pytest.mark.parametrize("row", FEEDS, ids=lambda row: row["name"])
def test_feeds(old_proxy, old_origin, row):
    got, _ = old_proxy.through(old_origin, reply(row["data"], row["type"]))
    assert got.body == row["out"]
    assert got["Content-Type"] == UTF_8_TYPE
    assert row["rule"].match(got.rule), got.rule


@pytest.mark.parametrize("row", FEEDS[::3], ids=lambda row: row["name"])
def test_feeds_in_single_bytes(old_proxy, old_origin, row):
    client = old_proxy.client().ask("/f")
    upstream = old_origin.receive()
    upstream.send_apart(reply(row["data"], row["type"]), 7)
    got = client.response()
    assert got.body == row["out"] and row["rule"].match(got.rule), got.rule


@pytest.mark.parametrize("row", FEEDS, ids=lambda row: row["name"])
def test_command_line_says_the_same(old_proxy, old_origin, row):
    said, status = normalise(row["data"], row["type"], "-i")
    head, _, body = said.partition(b"\r\n\r\n")
    got, _ = old_proxy.through(old_origin, reply(row["data"], row["type"]))
    assert status == 0 and body == got.body
    assert f"X-Encoding-Rule: {got.rule}" in head.decode().split("\r\n")
    assert f"Content-Type: {got['Content-Type']}" in head.decode().split("\r\n")


# What readers that trust one source alone must see: the 12 hostile feeds.
BAD_CHARACTERS = rss("Daily\x01 ne\x0bws \x1f&#x8; " + FRENCH, "utf-8")
HOSTILE = [
    feed("cp1251 declared, no charset", "application/xml", SMALL, SMALL_TEXT, None),
    feed("cp1251 in both", "application/xml; charset=windows-1251", SMALL, SMALL_TEXT, None),
    feed("utf-8 mark and latin-1 header", "text/xml; charset=iso-8859-1", rss(FRENCH).encode("utf-8-sig"), rss(FRENCH), None),
    feed("utf-8 undeclared text/xml", "text/xml", rss(RUSSIAN).encode(), rss(RUSSIAN), None),
    feed("koi8-r as html", "text/html", rss(RUSSIAN, "koi8-r").encode("koi8-r"), rss(RUSSIAN, "koi8-r"), None),
    feed("utf-16le mark", "application/xml", b"\xff\xfe" + rss(RUSSIAN, "utf-16").encode("utf-16-le"), rss(RUSSIAN, "utf-16"), None),
    feed("gbk labelled gb2312", "text/xml; charset=gb2312", rss("总理朱镕基", "gb2312").encode("gbk"), rss("总理朱镕基", "gb2312"), None),
    feed("blank lines before the declaration", "text/xml; charset=windows-1251", b"\r\n \n" + SMALL, SMALL_TEXT, None),
    feed("declared 1251, is utf-8", "application/xml", rss(RUSSIAN, "windows-1251").encode(), SMALL_TEXT, None),
    feed("charset=utf8", "text/xml; charset=utf8", rss(RUSSIAN, "utf8").encode(), rss(RUSSIAN, "utf8"), None),
    feed("octet-stream", "application/octet-stream", rss(RUSSIAN, "windows-1251").encode("windows-1251"), SMALL_TEXT, None),
    feed("control characters", "application/xml; charset=utf-8", BAD_CHARACTERS.encode(),
         re.sub("[\x01\x0b\x1f]|&#x8;", "", BAD_CHARACTERS), None),
]


@pytest.mark.parametrize("row", HOSTILE, ids=lambda row: row["name"])
def test_hostile_feeds_for_every_reader(old_proxy, old_origin, row):
    got, _ = old_proxy.through(old_origin, reply(row["data"], row["type"]))
    assert got.body == row["out"]
    header = re.search("charset=([^;]+)", got["Content-Type"])[1]
    right = titles(row["out"])
    assert titles(got.body) == right, "a reader that trusts the declaration"
    assert titles(got.body, header) == right, "a reader that trusts the header"
    declared = re.match(rb'<\?xml[^>]*encoding="([^"]*)"', got.body)
    assert well_formed(got.body) and (not declared or declared[1].lower() == b"utf-8"), "a strict parser"


# One word without a label, which several charsets read as one of some language: only what is said of the language tells
DOUBTFUL = rss("ļoti").encode("windows-1257")
AS_LATVIAN, AS_SLOVAK, AS_WESTERN = (DOUBTFUL.decode(charset).encode() for charset in ("windows-1257", "windows-1250", "windows-1252"))


@pytest.mark.parametrize("fields, out, rule", [
    ((), AS_WESTERN, "guess"),
    (("Content-Language: sk",), AS_SLOVAK, "guess+lang"),
    (("Content-Language: lv-LV",), AS_LATVIAN, "guess+lang"),
    (("Content-Language: en, lv",), AS_LATVIAN, "guess+lang"),
    (("Content-Language: en",), AS_WESTERN, "guess"),
    (("Content-Language: lv, ru",), AS_WESTERN, "guess"),
    (("Content-Language: lv", "Content-Language: ru"), AS_WESTERN, "guess"),
], ids=str)
def test_content_language_is_a_hint(proxy, origin, fields, out, rule):
    got, _ = proxy.through(origin, reply(DOUBTFUL, "application/rss+xml", *fields))
    assert got.body == out and f"/{rule};" in got.rule, got.rule
    assert [f"Content-Language: {value}" for value in got.all("Content-Language")] == list(fields)


@pytest.mark.parametrize("host, out", [("feeds.example.lv", AS_LATVIAN), ("feeds.example.test", AS_WESTERN)])
def test_the_host_of_the_url_is_a_hint(start, origin, tmp_path, host, out):
    hosts = tmp_path / "hosts"
    hosts.write_text(f"127.0.0.1 {host}\n")
    proxy = start(None, "--hosts-file", str(hosts), "--route", f"/=http://{host}:{origin.port}/")
    got, _ = proxy.through(origin, reply(DOUBTFUL, "application/rss+xml"))
    assert got.body == out, got.rule
    said, _ = normalise(DOUBTFUL, "application/rss+xml", "--base", f"http://{host}/feed")
    assert titles(said) == titles(out)


def test_hints_do_not_decide_against_the_text(proxy, origin):
    got, _ = proxy.through(origin, reply(SMALL.replace(b' encoding="windows-1251"', b""), "application/rss+xml", "Content-Language: lv"))
    assert titles(got.body) == titles(SMALL_OUT), got.rule


HTML = "<!DOCTYPE html><html><head><meta charset='koi8-r'><title>т</title></head><body>тест</body></html>".encode("koi8-r")
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256))
UNTOUCHED = {
    "html": ("text/html; charset=koi8-r", HTML),
    "html without a type": (None, HTML),
    "xhtml": ("application/xhtml+xml", b"<?xml version='1.0' encoding='koi8-r'?><html xmlns='http://www.w3.org/1999/xhtml'>" + HTML + b"</html>"),
    "html that talks of rss": ("text/html", b"<html><body><rss version='2.0'>\xe9</rss></body></html>"),
    "html after a declaration": ("text/html", b"<?xml version='1.0' encoding='koi8-r'?>\n<html>\xd4</html>"),
    "image": ("image/png", PNG),
    "image that begins like a feed": ("image/png", SMALL),
    "video": ("video/mp4", SMALL),
    "json": ("application/json", b'{"title": "\xe9"}'),
    "json feed": ("application/feed+json", b'{"version": "https://jsonfeed.org/version/1.1", "title": "\xe9"}'),
    "plain text": ("text/plain; charset=koi8-r", "просто текст".encode("koi8-r")),
    "css": ("text/css", b"a { content: '\xe9' }"),
    "octets": ("application/octet-stream", bytes(range(256)) * 3),
    "type that is none": ("content-type", b"\0\1\2\3"),
    "large text": ("text/plain", b"line \xff\n" * 50_000),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_what_is_no_feed_passes_untouched(old_proxy, old_origin, name):
    content_type, data = UNTOUCHED[name]
    got, _ = old_proxy.through(old_origin, reply(data, content_type, 'ETag: "1"', "Accept-Ranges: bytes"))
    assert got.body == data
    assert got["Content-Type"] == content_type
    assert got.rule == "none;reason=not-xml"
    assert got["ETag"] == '"1"'


@pytest.mark.parametrize("status", ["404 Not Found", "500 Oops", "403 No", "410 Gone", "301 Moved Permanently"])
def test_other_statuses_pass_untouched(old_proxy, old_origin, status):
    got, _ = old_proxy.through(old_origin, reply(SMALL, "application/xml", "Location: http://a.test/", status=status))
    assert (got.status, got.body, got["Content-Type"]) == (int(status[:3]), SMALL, "application/xml")
    assert got.rule == "none;reason=status"


def test_html_error_page(proxy, origin):
    got, _ = proxy.through(origin, reply(HTML, "text/html", status="404 Not Found"))
    assert got.status == 404 and got.body == HTML and got.rule.startswith("none;reason=")


def test_203_is_a_feed_too(proxy, origin):
    got, _ = proxy.through(origin, reply(SMALL, "application/xml", status="203 Non-Authoritative Information"))
    assert got.status == 203 and got.body in (SMALL_OUT, SMALL)
    assert (got.body == SMALL) == got.rule.startswith("none;")


def test_a_part_of_what_is_asked_for_whole_is_no_answer(proxy, origin):
    """RFC 9110 section 15.3.7: a 206 is for a Range, and that of the client stays here. A feed is never cut so."""
    got, asked = proxy.through(origin, reply(SMALL[10:], "application/xml", f"Content-Range: bytes 10-{len(SMALL) - 1}/{len(SMALL)}",
                                         status="206 Partial Content"), "/f", "Range: bytes=10-")
    assert asked["Range"] is None and got.status == 502 and "206 that was not asked for" in got["Proxy-Status"]


def test_range_is_not_taken_of_what_is_transformed(proxy, origin):
    """RFC 9110 section 14.2: offsets of the client's bytes are not those of the origin's."""
    client = proxy.client().ask("/f", "Range: bytes=0-9")
    upstream = origin.receive()
    upstream.answer(reply(SMALL, "application/xml"))
    got = client.response()
    assert (got.status, got.body) in [(200, SMALL_OUT), (206, SMALL_OUT[:10])]


def test_304_passes(proxy, origin):
    got, asked = proxy.through(origin, message("304 Not Modified", 'ETag: "x"', length=False), "/f", 'If-None-Match: "x"')
    if got.status == 304:
        assert asked["If-None-Match"] == '"x"' and got.body == b"" and got.rule in (None, "none;reason=status")


@pytest.mark.parametrize("content_type", ["application/xml", "text/xml; charset=koi8-r", "text/html", None])
def test_empty_body(old_proxy, old_origin, content_type):
    got, _ = old_proxy.through(old_origin, reply(b"", content_type))
    assert got.status == 200 and got.body == b"" and got.rule == "none;reason=empty"


def test_204(proxy, origin):
    got, _ = proxy.through(origin, message("204 No Content", length=False))
    assert got.status == 204 and got.rule.startswith("none;reason=")


@pytest.mark.parametrize("value", ["no-transform", "max-age=60, No-Transform", 'a="x, y", no-transform'])
def test_no_transform_in_forward_mode(start, another, value):
    """RFC 9110 section 7.7: respected in forward mode."""
    behind = another()
    got, _ = start(None).through(behind, reply(SMALL, "application/xml", f"Cache-Control: {value}"), f"{behind.url}/f",
                                 host=f"127.0.0.1:{behind.port}")
    assert got.body == SMALL and got["Content-Type"] == "application/xml" and got.rule == "none;reason=no-transform"


def test_no_transform_in_a_quoted_string_is_none(start, another):
    behind = another()
    got, _ = start(None).through(behind, reply(SMALL, "application/xml", 'Cache-Control: x="no-transform"'), f"{behind.url}/f",
                                 host=f"127.0.0.1:{behind.port}")
    assert got.body == SMALL_OUT


def test_no_transform_explains_itself_on_a_route(proxy, origin):
    got, _ = proxy.through(origin, reply(SMALL, "application/xml", "Cache-Control: no-transform"))
    assert (got.body, got.rule) == (SMALL, "none;reason=no-transform") or got.body == SMALL_OUT


def test_no_transform_keeps_the_coding(start, another):
    behind, packed = another(), gzip.compress(SMALL)
    got, _ = start(None).through(behind, reply(packed, "application/xml", "Content-Encoding: gzip", "Cache-Control: no-transform"),
                                 f"{behind.url}/f", "Accept-Encoding: gzip", host=f"127.0.0.1:{behind.port}")
    assert (got["Content-Encoding"], got.body) == ("gzip", packed)


@pytest.mark.parametrize("policy, expected", [
    ("rome-strict", "rome-strict:2.5;charset=iso-8859-1"), ("rome-lenient", "rome-lenient:2.5;charset=iso-8859-1"),
    ("appendix-f", "appendix-f:[a-z0-9./-]+;charset=windows-1251"), ("4suite", "4suite:[a-z0-9./-]+;charset=iso-8859-1"),
    ("rfc7303", "rfc7303:[a-z0-9./-]+;charset=iso-8859-1"), ("feedparser", "feedparser:[a-z0-9./-]+;charset=iso-8859-1")])
def test_policies_on_request(old_proxy, old_origin, policy, expected):
    got, asked = old_proxy.through(old_origin, reply(SMALL, "text/xml; charset=iso-8859-1"), "/f", f"X-Encoding-Policy: {policy}")
    assert re.fullmatch(expected, got.rule.lower()), got.rule
    codec = "windows-1251" if "1251" in expected else "windows-1252"
    assert got.body == utf_8(SMALL.decode(codec))
    assert "X-Encoding-Policy" not in asked


def test_policy_option(start, origin):
    got, _ = start(origin, "--policy", "appendix-f").through(origin, reply(SMALL, "text/xml; charset=koi8-r"))
    assert got.rule.startswith("appendix-f:") and got.body == SMALL_OUT


def test_policy_of_a_route(start, origin):
    proxy = start(origin, "--route", f"/strict={origin.url} policy=rome-strict")
    got, _ = proxy.through(origin, reply(SMALL, "application/xml"), "/strict/f")
    assert got.rule == "rome-strict:2.0/1.2;charset=windows-1251"
    got, _ = proxy.through(origin, reply(SMALL, "application/xml"), "/f")
    assert got.rule == "auto:2.0/1.2;charset=windows-1251"


def test_client_policy_off(start, origin):
    got, _ = start(origin, "--client-policy", "off").through(origin, reply(SMALL, "application/xml"), "/f",
                                                              "X-Encoding-Policy: appendix-f")
    assert got.rule.startswith("auto:")


def test_unknown_policy_is_said_or_ignored(proxy, origin):
    client = proxy.client().ask("/f", "X-Encoding-Policy: rome\"; x")
    if origin.asked_before_answer(client):
        origin.receive().answer(reply(SMALL, "application/xml"))
        got = client.response()
        assert got.rule.startswith("auto:") and got.body == SMALL_OUT
    else:
        assert client.response().status == 400


STRICT_ERRORS = [
    ("rome-strict", "text/html", SMALL, "2.6", "not-xml"),
    ("rome-strict", "application/xml; charset=utf-16", SMALL, "2.4", "(mismatch|bom-missing)"),
    ("rome-strict", "text/xml; charset=utf-16be", b"\xfe\xff" + rss(RUSSIAN).encode("utf-16-be"), "2.2", "(bom-forbidden|mismatch)"),
    ("rome-strict", "application/xml", rss(RUSSIAN, "koi8-r").encode("utf-8-sig"), "2.0/1.4", "mismatch"),
    ("rome-strict", "text/xml; charset=no-such-charset", SMALL, "2.5", "unknown-charset"),
]


@pytest.mark.parametrize("policy, content_type, data, number, error", STRICT_ERRORS)
def test_strict_policy_rejects(start, origin, policy, content_type, data, number, error):
    got, _ = start(origin, "--policy", policy).through(origin, reply(data, content_type))
    assert got.status == 502 and re.fullmatch(rf"{policy}:{number}(;charset=[\w-]+)?;error={error}", got.rule), got.rule
    assert got["Content-Type"].startswith("text/plain") and got.body
    assert got["Proxy-Status"].startswith("utfeed") and "error=" in got["Proxy-Status"]


@pytest.mark.parametrize("policy, content_type, data, number, error", STRICT_ERRORS)
def test_strict_policy_passes_where_told(start, origin, policy, content_type, data, number, error):
    proxy = start(origin, "--policy", policy, "--on-error", "pass")
    got, _ = proxy.through(origin, reply(data, content_type, 'ETag: "1"'))
    assert (got.status, got.body, got["Content-Type"]) == (200, data, content_type)
    assert re.fullmatch(rf"{policy}:{number}(;charset=[\w-]+)?;error={error}", got.rule), got.rule


def test_on_error_of_a_route(start, origin):
    proxy = start(None, "--route", f"/={origin.url} policy=rome-strict on-error=pass")
    got, _ = proxy.through(origin, reply(SMALL, "text/html"))
    assert got.status == 200 and got.body == SMALL and "error=" in got.rule


def test_forced_charset(start, origin):
    proxy = start(None, "--route", f"/={origin.url} charset=windows-1251")
    wrong = rss(RUSSIAN, "koi8-r").encode("windows-1251")
    got, _ = proxy.through(origin, reply(wrong, "text/xml; charset=koi8-r"))
    assert got.rule == "auto:external;charset=windows-1251" and got.body == SMALL_OUT


def test_forced_charset_4suite(start, origin):
    proxy = start(None, "--route", f"/={origin.url} charset=euc-kr policy=4suite")
    got, _ = proxy.through(origin, reply(rss("새로운", "utf-8").encode("euc-kr"), "text/xml; charset=utf-8"))
    assert got.rule == "4suite:external;charset=euc-kr" and got.body == utf_8(rss("새로운", "utf-8"))


def test_normalise_off(start, origin):
    proxy = start(None, "--route", f"/={origin.url} normalise=off")
    got, _ = proxy.through(origin, reply(SMALL, "application/xml", 'ETag: "1"', "Content-MD5: abcd"))
    assert (got.body, got["Content-Type"], got.rule) == (SMALL, "application/xml", "none;reason=disabled")
    assert got["ETag"] == '"1"' and got["Content-MD5"] == "abcd" and got["Content-Length"] == str(len(SMALL))


def test_us_ascii_output(start, origin):
    got, _ = start(origin, "--output", "us-ascii").through(origin, reply(SMALL, "application/xml"))
    assert got["Content-Type"] == "application/xml; charset=us-ascii"
    assert got.body.isascii() and titles(got.body) == titles(SMALL_OUT)
    assert got.body.startswith(b'<?xml version="1.0" encoding="US-ASCII"?>')


def test_us_ascii_output_of_a_route(start, origin):
    proxy = start(None, "--route", f"/={origin.url} output=us-ascii")
    got, _ = proxy.through(origin, reply(rss(FRENCH, "utf-8").encode(), "application/xml"))
    assert got.body.isascii() and titles(got.body, "us-ascii")[0] == FRENCH


def test_stray_bytes_in_utf_8_do_not_turn_the_feed(proxy, origin):
    text = rss(RUSSIAN * 50, "utf-8", items=1)
    data = text.encode().replace(b"</channel>", b"<title>caf\xe9</title></channel>")
    got, _ = proxy.through(origin, reply(data, "application/xml; charset=utf-8"))
    assert got.body == utf_8(text).replace(b"</channel>", "<title>café</title></channel>".encode())
    assert "charset=utf-8" in got.rule


def test_repairs_can_be_turned_off(start, origin):
    data = b"\n" + rss("a\x01b", "utf-8").encode()
    got, _ = start(origin, "--repair", "none").through(origin, reply(data, "application/xml"))
    assert got.body == data
    got, _ = start(origin, "--repair", "-characters").through(origin, reply(data, "application/xml"))
    assert got.body == utf_8(rss("a\x01b", "utf-8"))


def test_controls_go_or_are_replaced(start, origin):
    data = rss("a\x01b&#x1F;c\uffff&#xFFFE;", "utf-8").encode()
    got, _ = start(origin).through(origin, reply(data, "application/xml"))
    assert got.body == utf_8(rss("abc\ufffd\ufffd", "utf-8"))
    got, _ = start(origin, "--characters", "replace").through(origin, reply(data, "application/xml"))
    assert got.body == utf_8(rss("a\ufffdb\ufffdc\ufffd\ufffd", "utf-8"))


def test_sniff_bytes_bounds_what_is_held(start, origin):
    """Once sniff-bytes are in, the client has its first bytes; the origin waits with the rest until then."""
    proxy = start(origin, "--sniff-bytes", "4k")
    data, out = big(size=20_000)
    client = proxy.client().ask("/f")
    upstream, whole = origin.receive(), reply(data, "application/xml")
    upstream.send(whole[:12_000])
    client.arrives()
    upstream.send(whole[12_000:])
    assert client.response().body == out


ASCII_FIRST = ('<?xml version="1.0"?>\n<rss version="2.0"><channel>\n' +
               "".join(f"<item><title>plain {n}</title></item>\n" for n in range(4000)) + f"<title>{RUSSIAN}</title></channel></rss>\n")


@pytest.mark.parametrize("codec, content_type, said, found", [
    ("utf-8", "text/xml", "auto:2.1;charset=us-ascii", "auto:2.1/utf8;charset=utf-8;was=us-ascii"),
    ("windows-1251", "text/xml; charset=windows-1251", "auto:2.5;charset=windows-1251", None)])
@pytest.mark.parametrize("early", [True, False])
def test_ascii_then_evidence(start, origin, codec, content_type, said, found, early):
    """utfeed-rules(7), "Steps of auto": a window of pure ASCII streams; what comes after it is decided on its own evidence, and the corrected
    value is told wherever it still can be: in the head, or else in the trailer of a client that takes one."""
    proxy = start(origin)
    client = proxy.client().ask("/f", "TE: trailers", "Connection: TE")
    upstream, whole = origin.receive(), reply(ASCII_FIRST.encode(codec), content_type)
    upstream.send(whole[:100_000])
    if early:
        client.arrives()        # the head is out before the evidence is in
    upstream.send(whole[100_000:])
    got = client.response()
    assert got.body == ASCII_FIRST.encode()
    told = [(said, found or said), (said, found)]
    assert (got.rule, got.trailer("X-Encoding-Rule")) in (told if early else told + [(found or said, None), (found or said, found or said)])
    line = proxy.access_lines(1)[0].decode()
    assert f" {(found or said).split(';')[0]} charset=" in line


def test_no_trailer_for_a_client_that_takes_none(proxy, origin):
    got, _ = proxy.through(origin, reply(ASCII_FIRST.encode(), "text/xml"))
    assert got.body == ASCII_FIRST.encode() and not got.trailers


def test_access_line_carries_the_decision(start, origin):
    proxy = start(origin)
    proxy.through(origin, reply(rss(RUSSIAN, "windows-1251").encode(), "application/xml"))
    line = proxy.access_lines(1)[0].decode()
    for word in ("auto:2.0/1.2/utf8", "charset=utf-8", "was=windows-1251", "repairs="):
        assert word in line, line


def planet(*items):
    return b'<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel><title>planet</title>' + b"".join(
        b"<item><title>" + text.encode(encoding) + b"</title></item>\n" for text, encoding in items) + b"</channel></rss>\n"


SAID = ["Привет из Москвы", "Погода на завтра, снег", "Новости Петербурга"]
MIXED = [
    ("UTF-8 with one other", [(SAID[0], "utf-8"), (SAID[1], "windows-1251"), (SAID[2], "utf-8")], "auto:2.5;charset=utf-8;also=windows-1251;mixed=1"),
    ("others with one of UTF-8", [(SAID[0], "windows-1251"), (SAID[1], "windows-1251"), (SAID[2], "utf-8")], "auto:2.5;charset=utf-8;also=windows-1251;mixed=2"),
    ("pairs", [("日本語のニュース、今日の天気", "shift_jis"), ("日本語のニュース", "utf-8")], "auto:2.5;charset=utf-8;also=shift_jis;mixed=1"),
    ("a few among many", [(text, "utf-8") for text in SAID * 10] + [("Café crème à la carte", "latin-1")], "auto:2.5;charset=utf-8;also=windows-1252;mixed=1"),
]


@pytest.mark.parametrize("items, rule", [row[1:] for row in MIXED], ids=[row[0] for row in MIXED])
def test_a_planet_of_feeds_is_read_item_by_item(proxy, origin, items, rule):
    want = planet(*((text, "utf-8") for text, _ in items))
    got, _ = proxy.through(origin, reply(planet(*items), "application/xml; charset=utf-8"))
    assert got.body == want and got.rule == rule
    client = proxy.client().ask("/again")
    origin.receive().send_apart(reply(planet(*items), "application/xml; charset=utf-8"), 3)
    assert client.response().body == want


@pytest.mark.parametrize("encoding", ["windows-1251", "koi8-r"])
def test_and_so_is_what_comes_behind_the_window(start, origin, encoding):
    """The head is out, so it cannot say so any more; the text is right all the same."""
    proxy = start(origin, "--sniff-bytes", "1k")
    items = [(text, "utf-8") for text in SAID * 40] + [(text, encoding) for text in SAID]
    got, _ = proxy.through(origin, reply(planet(*items), "application/xml; charset=utf-8"))
    assert got.body == planet(*((text, "utf-8") for text, _ in items)) and got.rule == "auto:2.5;charset=utf-8"
