"""Feeds that no XML parser takes, made ones that every parser takes; and what is cut on its way is never made to look whole."""
import gzip
import zlib
from xml.etree import ElementTree

import pytest

from feeds import well_formed
from proxy import normalise
from wire import Cut, chunked, message

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel><title>News</title>'
TAIL = "</channel></rss>\n"
XML = "application/rss+xml"


def reply(body, *fields):
    return message("200 OK", f"Content-Type: {XML}", *fields, body=body.encode())


# What --repair calls it, the feed, the same repaired
MENDED = [
    ("entities", HEAD + "<item><title>caf&eacute;&nbsp;&mdash; &amp;</title></item>" + TAIL,
     HEAD + "<item><title>caf&#233;&#160;&#8212; &amp;</title></item>" + TAIL),
    ("ampersands", HEAD + "<link>http://example.org/?a=1&b=2</link><description>1 < 2</description>" + TAIL,
     HEAD + "<link>http://example.org/?a=1&amp;b=2</link><description>1 &lt; 2</description>" + TAIL),
    ("tags", HEAD + "<description><p align=left>one <b>two</p></description><title>three</titel>" + TAIL,
     HEAD + '<description><p align="left">one <b>two</b></p></description><title>three</title>' + TAIL),
    ("end", HEAD + "<item><title>cut</title><link>http://exa", HEAD + "<item><title>cut</title><link>http://exa</link></item></channel></rss>"),
    ("trailing", HEAD + TAIL + "<script>document.write('<b>')</script>\n", HEAD + TAIL),
]


@pytest.mark.parametrize("name, data, out", MENDED, ids=[row[0] for row in MENDED])
def test_mended(start, origin, name, data, out):
    got, _ = start(origin).through(origin, reply(data))
    assert got.body == out.encode() and well_formed(got.body)
    with pytest.raises(ElementTree.ParseError):
        well_formed(data.encode())
    proxy = start(origin, "--repair", f"-{name}")
    got, _ = proxy.through(origin, reply(data))
    assert got.body == data.encode()


@pytest.mark.parametrize("name, data, out", MENDED, ids=[row[0] for row in MENDED])
def test_mended_in_single_bytes(proxy, origin, name, data, out):
    client = proxy.client().ask("/f")
    upstream = origin.receive()
    upstream.send_apart(reply(data), 5)
    assert client.response().body == out.encode()


OPEN = HEAD + "<item><title>one</title>"


def test_a_cut_transfer_is_not_closed(proxy, origin):
    for data in (message("200 OK", f"Content-Type: {XML}", f"Content-Length: {len(OPEN) + 1}", body=OPEN.encode()),
                 message("200 OK", f"Content-Type: {XML}", "Transfer-Encoding: chunked", body=chunked(OPEN.encode(), end=b"")),
                 message("200 OK", f"Content-Type: {XML}", "Content-Encoding: gzip", body=gzip.compress(OPEN.encode())[:-8])):
        client = proxy.client().ask("/f")
        upstream = origin.receive()
        upstream.answer(data, close=True)
        try:
            got = client.response()
        except Cut as cut:
            assert b"</rss>" not in cut.message.body
        else:
            assert got.status == 502


@pytest.mark.http1_origin("an end that only the connection tells")
def test_nor_one_that_may_be_cut(proxy, origin):
    """The end of the connection is all that ends it; or bytes stand behind it, so that its length is wrong."""
    client = proxy.client().ask("/f")
    origin.receive().answer(message("200 OK", f"Content-Type: {XML}", "Connection: close", length=False, body=OPEN.encode()), close=True)
    assert client.response().body == OPEN.encode()
    client = proxy.client().ask("/f")
    origin.receive().answer(reply(OPEN) + b"</item>")
    assert client.response().body == OPEN.encode()


@pytest.mark.parametrize("how", ["length", "chunked", "gzip", "gzip without a length"])
def test_a_whole_one_is(proxy, origin, how):
    data = gzip.compress(OPEN.encode()) if "gzip" in how else OPEN.encode()
    fields = {"chunked": ["Transfer-Encoding: chunked"], "gzip": ["Content-Encoding: gzip"],
              "gzip without a length": ["Content-Encoding: gzip", "Connection: close"]}.get(how, [])
    client = proxy.client().ask("/f")
    body = chunked(data) if how == "chunked" else data
    origin.receive().answer(message("200 OK", f"Content-Type: {XML}", *fields, length="without" not in how, body=body), close=True)
    assert client.response().body == (OPEN + "</item></channel></rss>").encode()


@pytest.mark.parametrize("how", ["length", "chunked", "gzip"])
def test_an_endless_tail_is_not_waited_for(start, origin, how):
    """The document is over: with so much behind it the answer ends, though the origin's body does not."""
    proxy, tail = start(origin, "--cache", "on"), b"<script>" * 20000
    data = (HEAD + TAIL).encode() + tail
    if how == "gzip":
        packer = zlib.compressobj(wbits=31)
        data = packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)
    client = proxy.client().ask("/f")
    upstream = origin.receive()
    fields = [f"Content-Type: {XML}", "Cache-Control: max-age=60"] + (["Content-Encoding: gzip"] if how == "gzip" else [])
    fields.append("Transfer-Encoding: chunked" if how == "chunked" else f"Content-Length: {len(data) + 1}")
    upstream.send(message("200 OK", *fields, length=False, body=chunked(data, end=b"") if how == "chunked" else data))
    assert client.response().body == (HEAD + TAIL).encode()
    assert upstream.stream.at_end()
    again = proxy.client().ask("/f").response()
    assert again.body == (HEAD + TAIL).encode() and "hit" in again["Cache-Status"]


def test_namespaces_are_declared_where_it_is_asked_for(start, origin):
    data = HEAD + "<item><dc:date>2026-11-20</dc:date></item>" + TAIL
    got, _ = start(origin).through(origin, reply(data))
    assert got.body == data.encode()
    got, _ = start(origin, "--repair", "all,namespaces").through(origin, reply(data))
    assert got.body == data.replace("<dc:date>", '<dc:date xmlns:dc="http://purl.org/dc/elements/1.1/">').encode()


def test_base_is_put_in_where_it_is_asked_for(start, origin):
    data = HEAD + "<link>/a</link>" + TAIL
    based = data.replace('<rss version="2.0">', f'<rss version="2.0" xml:base="{origin.url}/new?a=1&amp;b=2">')
    proxy = start(None, "--route", f"/={origin.url} follow-redirects=on repair=all,base")
    client = proxy.client().ask("/f")
    origin.receive().answer(message("302 Found", "Location: /new?a=1&b=2"))
    origin.receive().answer(reply(data))
    assert client.response().body == based.encode()
    own = HEAD.replace("<rss", "<rss xml:base='http://example.org/'") + TAIL
    got, _ = proxy.through(origin, reply(own), "/own")
    assert got.body == own.encode()
    got, _ = start(origin).through(origin, reply(data))
    assert got.body == data.encode()


def test_base_of_a_file():
    out, status = normalise((HEAD + TAIL).encode(), XML, "--base", "http://example.org/?a&b")
    assert status == 0 and b'<rss version="2.0" xml:base="http://example.org/?a&amp;b">' in out


def twice(text):
    """read as windows-1252, the bytes that it leaves out as controls, and encoded again"""
    return "".join(bytes([b]).decode("cp1252", "ignore") or chr(b) for b in text.encode())


DOUBLE = ["Été à Genève: « l’œuvre »", "Привет, мир", "日本語のニュース", "Tiếng Việt", "“Don’t” – 5 € 😀"]


@pytest.mark.parametrize("text", DOUBLE, ids=["fr", "ru", "ja", "vi", "en"])
def test_text_encoded_twice_is_undone_where_it_is_asked_for(start, origin, text):
    items = [text, "plain", text]
    right = HEAD + "".join(f"<item><title>{i}</title><description><![CDATA[<p>{i}</p>]]></description></item>" for i in items) + TAIL
    data = twice(right)
    assert data != right
    got, _ = start(origin).through(origin, reply(data))
    assert got.body == data.encode()
    proxy = start(origin, "--repair", "all,double")
    for made in (data, right, twice(data)):
        got, _ = proxy.through(origin, reply(made), "/" + str(len(made)))
        assert got.body == right.encode()


def test_right_items_stay_among_those_encoded_twice(start, origin):
    article = "Wer „Ã©“, „Ã¨“ oder „â€™“ statt é, è oder ’ liest: CafÃ©, FranÃ§ais, dâ€™accord"
    items = [(twice("Crème brûlée"), "Crème brûlée"), ("Crème brûlée", "Crème brûlée"), (article, article), (twice("L’été"), "L’été")]
    made, right = (HEAD + "".join(f"<item><title>{i}</title></item>" for i in column) + TAIL for column in zip(*items))
    got, _ = start(origin, "--repair", "double").through(origin, reply(made))
    assert got.body == right.encode()


def test_text_encoded_twice_in_single_bytes(start, origin):
    right = HEAD + f"<item><title>{DOUBLE[0]}</title></item>" + TAIL
    client = start(origin, "--repair", "all,double").client().ask("/f")
    origin.receive().send_apart(reply(twice(right)), 5)
    assert client.response().body == right.encode()


def test_declared_names_stay(proxy, origin):
    for kind in ('[<!ENTITY nbsp "&#160;">]', 'SYSTEM "rss-0.91.dtd"', 'PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "rss-0.91.dtd"'):
        data = f'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE rss {kind}>\n<rss><channel><title>a&nbsp;b</title></channel></rss>'
        got, _ = proxy.through(origin, reply(data))
        assert got.body == data.encode()
