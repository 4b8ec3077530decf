"""What is no feed keeps its type: drawings, maps and other documents in XML, and files that are no text. Gzip that nothing tells of is
unpacked where a feed is in it. A hit is what the miss was."""
import gzip
import random
import zlib

import pytest

from feeds import FRENCH, RUSSIAN, SMALL, SMALL_OUT, UTF_8_TYPE, rss
from pages import FRESH, Site, page, was_hit
from proxy import normalise
from wire import chunked, message

TAG = 'ETag: "1"'
KML, GPX, SVG = "application/vnd.google-earth.kml+xml", "application/gpx+xml", "image/svg+xml"
UNTOUCHED = "none;reason=not-xml"


@pytest.fixture
def site(origin):
    return Site(origin)


def document(root, text, encoding="utf-8", declared=None):
    return f'<?xml version="1.0" encoding="{declared or encoding}"?>\n<{root}><name>{text}</name></{root}>\n'.encode(encoding)


KEPT = {
    "svg": (SVG, document("svg", RUSSIAN)),
    "svg in windows-1251": (SVG, document("svg", RUSSIAN, "windows-1251")),
    "svg, undeclared": (SVG, b'<svg xmlns="http://www.w3.org/2000/svg"><circle r="3"/></svg>'),
    "kml": (KML, document("kml", FRENCH)),
    "kml with a mark": (KML, b"\xef\xbb\xbf" + document("kml", FRENCH)),
    "kml in utf-16": (KML, document("kml", FRENCH, "utf-16")),
    "kml that says it is something else": (KML, document("kml", RUSSIAN, declared="koi8-r")),
    "kml that says nothing": (KML + "; charset=utf-8", document("kml", RUSSIAN, "koi8-r", declared="utf-8")),
    "gpx": (GPX + '; charset="UTF-8"', document("gpx", RUSSIAN)),
    "dash": ("application/dash+xml", document("MPD", "x")),
    "style sheet": ("application/xslt+xml", document("xsl:stylesheet", RUSSIAN)),
    "style sheet by another name": ("text/xsl", document("xsl:stylesheet", RUSSIAN, "koi8-r")),
    "sheet": ("application/vnd.ms-excel", document("Workbook", RUSSIAN, "windows-1251")),
    "xhtml": ("application/xhtml+xml", document("html", RUSSIAN, "windows-1251")),
    "owl": ("application/owl+xml", document("rdf:RDF", RUSSIAN)),
    "soap": ('application/soap+xml; action="urn:a;charset=b"', document("Envelope", RUSSIAN)),
    "png": ("application/rss+xml", b"\x89PNG\r\n\x1a\n" + SMALL),
    "zip": ("text/xml", b"PK\3\4\x14\0" + SMALL),
    "pdf": ("application/atom+xml; charset=utf-8", b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n" + SMALL),
    "jpeg": ("text/html", b"\xff\xd8\xff\xe1" + SMALL),
    "tar": ("application/xml", b"feed.xml".ljust(257, b"\0") + b"ustar\x0000" + SMALL),
    "gzip of words": ("application/xml", gzip.compress(b"words", mtime=0)),
    "gzip of a map": ("application/xml", gzip.compress(document("kml", RUSSIAN, "koi8-r"), mtime=0)),
    "gzip of a page": ("text/html", gzip.compress(b"<!DOCTYPE html><p>", mtime=0)),
    "gzip of gzip": ("text/xml", gzip.compress(gzip.compress(SMALL, mtime=0), mtime=0)),
    "gzip of nothing that begins": ("text/xml", b"\x1f\x8b\x08\0" + SMALL),
    "gzip that is damaged": ("text/xml", gzip.compress(SMALL, mtime=0)[:-5] + b"\0\0\0\0\0"),
    "gzip that was cut before it came": ("text/xml", gzip.compress(SMALL, mtime=0)[:-5]),
    "gzip of a feed to be downloaded": ("application/octet-stream", gzip.compress(SMALL, mtime=0)),
    "gzip of a feed, as it says": ("application/gzip", gzip.compress(SMALL, mtime=0)),
    "gzip of a feed, without a type": (None, gzip.compress(SMALL, mtime=0)),
    "gzip of noise": ("application/rss+xml", gzip.compress(random.Random(30).randbytes(300_000), mtime=0)),
}


@pytest.mark.parametrize("name", KEPT)
def test_kept(proxy, site, name):
    kind, data = KEPT[name]
    site["/f"] = page(FRESH, TAG, "Accept-Ranges: bytes", body=data, kind=kind)
    for hit in (False, True):
        got = proxy.get("/f")
        assert (got.body, got["Content-Type"], got["ETag"], got.rule, was_hit(got)) == (data, kind, '"1"', UNTOUCHED, hit)
    part = proxy.get("/f", "Range: bytes=3-9")
    assert (part.status, part.body, part["Content-Type"]) == (206, data[3:10], kind)
    assert proxy.get("/f", 'If-None-Match: "1"').status == 304 and site.count() == 1
    if kind is not None:
        said, status = normalise(data, kind, "-i")
        assert status == 0 and said.endswith(b"\r\n\r\n" + data) and f"Content-Type: {kind}".encode() in said.split(b"\r\n")


@pytest.mark.parametrize("name", KEPT)
def test_kept_in_single_bytes(proxy, origin, name):
    kind, data = KEPT[name]
    data = data[:2000]
    fields = (f"Content-Type: {kind}",) if kind else ()
    got, _ = proxy.through(origin, message("200 OK", *fields, "Transfer-Encoding: chunked", body=chunked(data, [1] * 40)))
    assert (got.body, got["Content-Type"], got.rule) == (data, kind, UNTOUCHED)


DECODED = {
    "declared": (KML, document("kml", RUSSIAN, "windows-1251"), KML + "; charset=utf-8"),
    "in both": (KML + "; charset=windows-1251", document("kml", RUSSIAN, "windows-1251"), KML + "; charset=utf-8"),
    "with a parameter": ('application/soap+xml;action="a;b";Charset="windows-1251" ; v=1', document("kml", RUSSIAN, "windows-1251"),
                         'application/soap+xml;action="a;b"; v=1; charset=utf-8'),
    "under a header that is wrong": (GPX + "; charset=utf-8", document("gpx", RUSSIAN, "windows-1251"), GPX + "; charset=utf-8"),
    "latin-1": (GPX, document("gpx", "Été à la plage, déjà vu et façade", "iso-8859-1"), GPX + "; charset=utf-8"),
    "shift_jis": ("application/tei+xml", document("TEI", "日本語のニュース", "shift_jis"), "application/tei+xml; charset=utf-8"),
}


@pytest.mark.parametrize("name", DECODED)
def test_documents_are_decoded_as_their_labels_say(proxy, site, name):
    kind, data, out = DECODED[name]
    encoding = data.split(b'"')[3].decode()
    text = data.decode(encoding).replace(f'"{encoding}"', '"UTF-8"').encode()
    site["/f"] = page(FRESH, TAG, "Accept-Ranges: bytes", "Content-MD5: x", body=data, kind=kind)
    for hit in (False, True):
        got = proxy.get("/f")
        assert (got.body, got["Content-Type"], was_hit(got), "Content-MD5" in got) == (text, out, hit, False)
        assert got["ETag"].startswith('"1;') and got.rule.startswith("auto:")
    assert proxy.get("/f", f"If-None-Match: {got['ETag']}").status == 304
    said, status = normalise(data, kind, "-i")
    assert status == 0 and said.partition(b"\r\n\r\n")[2] == text and f"Content-Type: {out}".encode() in said.split(b"\r\n")


@pytest.mark.parametrize("name", DECODED)
def test_a_304_leaves_a_documents_type(proxy, site, name):
    kind, data, out = DECODED[name]
    first = page("Cache-Control: max-age=0", TAG, body=data, kind=kind)
    site["/f"] = lambda request: message("304 Not Modified", TAG, length=False) if request["If-None-Match"] else first
    before, after = proxy.get("/f"), proxy.get("/f")
    assert "fwd-status=304" in after["Cache-Status"]
    assert (after.body, after["Content-Type"], after["ETag"]) == (before.body, out, before["ETag"])


def test_a_document_is_not_repaired(proxy, origin):
    data = document("kml", "a & b <br> \x01 &nbsp; " + RUSSIAN, "windows-1251")[:-9]
    got, _ = proxy.through(origin, message("200 OK", f"Content-Type: {KML}", body=data))
    assert got.body == data.decode("windows-1251").replace('"windows-1251"', '"UTF-8"').encode()


def test_a_feed_under_another_documents_type_is_a_feed(proxy, origin):
    got, _ = proxy.through(origin, message("200 OK", f"Content-Type: {KML}", body=SMALL))
    assert (got.body, got["Content-Type"]) == (SMALL_OUT, UTF_8_TYPE)


def packed(wbits=31, level=6):
    press = zlib.compressobj(level, zlib.DEFLATED, wbits)
    return press.compress(SMALL) + press.flush()


HIDDEN = {
    "rss": ("application/rss+xml", packed()), "atom": ("application/atom+xml", packed()), "a script's": ("text/html; charset=iso-8859-1", packed()),
    "text/xml": ("text/xml", packed(level=0)), "two members": ("application/xml", gzip.compress(SMALL[:50], mtime=0) + gzip.compress(SMALL[50:], mtime=0)),
    "padded": ("application/xml", gzip.compress(SMALL, mtime=0) + b"\0" * 100),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_hidden_gzip(proxy, site, name):
    kind, data = HIDDEN[name]
    site["/f"] = page(FRESH, TAG, "Accept-Ranges: bytes", body=data, kind=kind)
    for hit in (False, True):
        got = proxy.get("/f")
        assert (got.body, got["Content-Type"], got["Content-Encoding"], was_hit(got)) == (SMALL_OUT, UTF_8_TYPE, None, hit)
        assert got["ETag"].startswith('"1;') and "charset=windows-1251" in got.rule
    head = proxy.get("/f", method="HEAD")
    assert head["Content-Length"] == str(len(SMALL_OUT)) and head["Content-Type"] == UTF_8_TYPE and head["ETag"] == got["ETag"]
    part = proxy.get("/f", "Range: bytes=3-9")
    assert (part.status, part.body) == (206, SMALL_OUT[3:10])
    assert proxy.get("/f", f"If-None-Match: {got['ETag']}").status == 304 and site.count() == 1
    said, status = normalise(data, kind, "-i")
    assert status == 0 and said.partition(b"\r\n\r\n")[2] == SMALL_OUT and f"X-Encoding-Rule: {got.rule}".encode() in said.split(b"\r\n")


@pytest.mark.parametrize("name", HIDDEN)
def test_hidden_gzip_in_single_bytes(proxy, origin, name):
    kind, data = HIDDEN[name]
    got, _ = proxy.through(origin, message("200 OK", f"Content-Type: {kind}", "Transfer-Encoding: chunked", body=chunked(data, [1] * 30)), "/f",
                           "Accept-Encoding: gzip")
    body = gzip.decompress(got.body) if got["Content-Encoding"] == "gzip" else got.body
    assert (body, got["Content-Type"]) == (SMALL_OUT, UTF_8_TYPE)


def test_long_hidden_gzip(proxy, origin):
    text = rss(RUSSIAN * 20, "windows-1251", items=200)
    data = gzip.compress(text.encode("windows-1251"), mtime=0)
    got, _ = proxy.through(origin, message("200 OK", "Content-Type: application/xml", body=data))
    assert got.body == text.replace("windows-1251", "UTF-8", 1).encode() or got.body.decode().count(RUSSIAN) == text.count(RUSSIAN)


def test_what_says_gzip_is_read_before(proxy, origin):
    """With a Content-Encoding the body is what is in it; gzip in that is no text either, and not unpacked again."""
    got, _ = proxy.through(origin, message("200 OK", "Content-Type: application/xml", "Content-Encoding: gzip",
                                           body=gzip.compress(gzip.compress(SMALL, mtime=0), mtime=0)))
    assert got.body == gzip.compress(SMALL, mtime=0) and got.rule == UNTOUCHED


def test_a_hidden_bomb_goes_on_as_it_came(start, origin):
    bomb = gzip.compress(b"<rss>" + b" " * (4 << 20), mtime=0)
    proxy = start(origin, "--decoded-max", "20k")
    got, _ = proxy.through(origin, message("200 OK", "Content-Type: application/xml", body=bomb))
    assert (got.body, got.rule) == (bomb, UNTOUCHED)


def test_a_hidden_bomb_behind_the_window_is_cut(start, origin):
    client = start(origin).client().ask("/f")
    origin.receive().answer(message("200 OK", "Content-Type: application/xml", body=gzip.compress(b"<rss>" + b" " * (64 << 20), mtime=0)))
    assert len(client.cut().message.body) < 40 << 20
