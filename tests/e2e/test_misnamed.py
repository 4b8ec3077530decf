"""Bodies whose head names them wrongly: a Content-Encoding that nobody knows over a plain feed, gzip that is not named, files of unknown
formats under a type of XML."""
import gzip
import zlib

import pytest

from feeds import SMALL, SMALL_OUT
from wire import message

LATIN = '<?xml version="1.0" encoding="ISO-8859-1"?><rss><channel><title>Gr\xfc\xdfe</title></channel></rss>'.encode("latin-1")
UNKNOWN = ["aws-chunked", "x", "ISO-8859-1", "windows-1251", "text/xml", "chunked", "gzip;q=1", "utf-8, x", "none, aws-chunked"]


def get(start, origin, body, kind, *fields, asking=(), way="route"):
    proxy = start(origin)
    return proxy.through(origin, message("200 OK", f"Content-Type: {kind}", *fields, body=body), "/f" if way == "route" else f"/{origin.url}/f", *asking)[0]


@pytest.mark.parametrize("way", ["route", "gateway"])
@pytest.mark.parametrize("coding", UNKNOWN)
def test_a_plain_feed(start, origin, coding, way):
    """It is read, and the name goes: readers know the coding as little."""
    got = get(start, origin, LATIN, "application/rss+xml", f"Content-Encoding: {coding}", way=way)
    assert got.status == 200 and "Grüße".encode() in got.body and "Content-Encoding" not in got
    assert got["Content-Type"] == "application/xml; charset=utf-8" and got["X-Encoding-Rule"].startswith("auto:")


@pytest.mark.parametrize("coding", ["gzip, aws-chunked", "aws-chunked, gzip", "gzip;q=1", "x"])
@pytest.mark.parametrize("asking", [(), ("Accept-Encoding: gzip",)])
def test_a_feed_in_gzip_under_it(start, origin, coding, asking):
    got = get(start, origin, gzip.compress(SMALL), "text/xml", f"Content-Encoding: {coding}", asking=asking)
    assert (gzip.decompress(got.body) if "Content-Encoding" in got else got.body) == SMALL_OUT


FRAMED = b"%x;chunk-signature=%s\r\n%s\r\n0;chunk-signature=%s\r\n\r\n" % (len(SMALL), b"0" * 64, SMALL, b"0" * 64)
REST = {"a coding that is one": bytes(range(256)) * 8, "its own framing": FRAMED, "a page": b"<!doctype html><html><body>x</body></html>",
        "XML that is no feed": b"<?xml version='1.0'?><note/>", "gzip of a page": gzip.compress(b"<html></html>"), "words": b"not found", "a cut gzip": gzip.compress(SMALL)[:-9]}


@pytest.mark.parametrize("kind", ["text/xml", "application/rss+xml", "text/html", "application/json"])
@pytest.mark.parametrize("name", REST)
def test_what_is_no_plain_feed_stays(start, origin, name, kind):
    """Byte for byte, with its coding and its type."""
    got = get(start, origin, REST[name], kind, "Content-Encoding: x-own")
    assert got.status == 200 and got.body == REST[name] and got["Content-Encoding"] == "x-own" and got["Content-Type"] == kind
    assert got["X-Encoding-Rule"] == "none;reason=encoded"


FILES = {"bytes": bytes(range(256)) * 40, "zeros": bytes(3000), "zlib": zlib.compress(SMALL * 9), "numbers": bytes(n * 7919 % 251 for n in range(3000)),
         "gzip of bytes": gzip.compress(bytes(range(256)) * 40)}


@pytest.mark.parametrize("kind", ["text/xml", "application/rss+xml; charset=utf-8", "application/atom+xml"])
@pytest.mark.parametrize("name", FILES)
def test_files_of_no_known_format(start, origin, name, kind):
    """What is no text passes byte for byte, whatever its type says."""
    got = get(start, origin, FILES[name], kind)
    assert got.status == 200 and got.body == FILES[name] and got["Content-Type"] == kind and got["X-Encoding-Rule"] == "none;reason=not-xml"


@pytest.mark.parametrize("body", [b"\x01\x02" + SMALL, SMALL.replace(b"<title>", b"<title>\x01\x02\x03"), b"words\x01 and more of them, which are text all the same"])
def test_control_characters_alone_make_no_file(start, origin, body):
    got = get(start, origin, body, "text/xml")
    assert got.status == 200 and got["X-Encoding-Rule"].startswith("auto:") and b"\x01" not in got.body
