"""utfeed check: the report as text, JSON and HTML, of files and of URLs."""
import base64
import gzip
import hashlib
import html.parser
import json
import os
import pty
import random
import re
import shutil
import subprocess

import pytest

from certs import server_context
from proxy import BINARY, SANITIZER
from schema import fits
from wire import PATIENCE, TIMEOUT, chunked, message

RUSSIAN = "<?xml version='1.0' encoding='windows-1251'?>\n<rss><title>Новости и привет</title></rss>"
RIGHT = "<?xml version='1.0' encoding='utf-8'?>\n<rss><title>Новости и привет</title></rss>"
# Without what the machine has set for its own way to the net
# No character of a feed may move others, hide them, or command a terminal
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
ALONE = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy") and not name.startswith("UTFEED_")}


def run(*args, body=b"", status=0, env=None, cwd=None):
    done = subprocess.run([BINARY, "check", *args], input=body, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE,
                          check=False, env={**ALONE, **(env or {})}, cwd=cwd)
    errors = done.stderr.decode("latin-1")
    assert not SANITIZER.search(errors), errors
    assert done.returncode == status, errors
    return done.stdout, errors


def found(*args, body=b"", status=0, **how):
    """The report as JSON."""
    return fits(json.loads(run("--json", *args, body=body, status=status, **how)[0]), "check")


def findings(report):
    return [each["finding"] for each in report["to_fix"]]


# What is wrong: Content-Type (None: a file), bytes, the findings
FINDINGS = [
    ("right", "application/rss+xml; charset=utf-8", RIGHT.encode(), []),
    ("right, no charset", "application/xml", RIGHT.encode(), []),
    ("right, a file", None, RUSSIAN.encode("cp1251"), []),
    ("right, a mark", "application/xml", RIGHT.encode("utf-8-sig"), []),
    ("right, utf-16", "application/xml; charset=utf-16", RUSSIAN.replace("windows-1251", "utf-16").encode("utf-16"), []),
    ("right, a superset's label", "application/xml; charset=gb2312", "<rss>朱镕基的新闻在这里</rss>".encode("gbk"), []),
    ("right, ASCII under any label", "application/xml; charset=iso-8859-2", b"<?xml version='1.0' encoding='iso-8859-2'?><rss>a</rss>", []),
    ("header", "application/xml; charset=iso-8859-1", RUSSIAN.encode("cp1251"), ["header-wrong"]),
    ("header and declaration", "application/xml; charset=iso-8859-1", RUSSIAN.encode(), ["header-wrong", "declaration-wrong"]),
    ("us-ascii", "application/xml; charset=us-ascii", RIGHT.encode(), ["header-wrong"]),
    ("unknown header", "application/xml; charset=none-such", RIGHT.encode(), ["header-unknown"]),
    ("unknown declaration", "application/xml; charset=utf-8", RIGHT.replace("utf-8", "none-such").encode(), ["declaration-unknown"]),
    ("text/xml", "text/xml", RIGHT.encode(), ["header-default"]),
    ("html", "text/html; charset=utf-8", RIGHT.encode(), ["type"]),
    ("no type", "", RIGHT.encode(), ["type-missing"]),
    ("undeclared", "application/xml", "<rss><title>Новости и привет, сегодня в городе</title></rss>".encode("cp1251"), ["undeclared"]),
    ("labels differ", "application/xml; charset=koi8-r", b"<?xml version='1.0' encoding='windows-1251'?><rss>a</rss>", ["labels-differ"]),
    ("junk", "application/xml", ("\n" + RIGHT).encode(), ["junk"]),
    ("cut characters", "application/xml", RIGHT.replace("и привет", "и \udcd0 привет").encode("utf-8", "surrogateescape"), ["malformed"]),
    ("surrogates", "application/xml", b"<rss>\xed\xa0\xbd\xed\xb8\x80</rss>", ["surrogates"]),
    ("malformed declaration", "application/xml", b"<?xml encoding=utf-8?><rss/>", ["declaration-malformed"]),
    ("two declarations", "application/xml", b"<?xml version='1.0'?><?xml version='1.0'?><rss/>", ["declaration-repeated"]),
    ("junk behind the declaration", "application/xml", b"<?xml version='1.0'?>\nno news<rss/>", ["junk-behind"]),
    ("junk on both sides", "application/xml", b"\n<?xml version='1.0'?>\nno news<rss/>", ["junk-behind", "junk"]),
    ("gzip", "application/xml", gzip.compress(RIGHT.encode(), mtime=0), ["gzip"]),
    ("gzip, a file", None, gzip.compress(RIGHT.encode(), mtime=0), []),
    ("gzip that is cut", "application/xml", gzip.compress((RIGHT + random.Random(30).randbytes(200_000).hex()).encode(), mtime=0)[:-1000], ["gzip", "gzip-damaged", "trailing"]),
    ("names of HTML", "application/xml", b"<rss>&nbsp;</rss>", ["entities"]),
    ("ampersands", "application/xml", b"<rss>a & b</rss>", ["ampersands"]),
    ("controls", "application/xml", b"<rss>\x01&#1;</rss>", ["characters", "references"]),
    ("open", "application/xml", b"<rss><a>", ["end"]),
    ("trailing", "application/xml", b"<rss/>x", ["trailing"]),
    ("not well-formed", "application/xml", b"<!DOCTYPE rss>\n<!DOCTYPE rss><rss/>", ["not-well-formed"]),
    ("no feed", "text/html", b"<html></html>", ["no-feed"]),
    ("a picture", "application/xml", b"\x89PNG\r\n\x1a\n", ["container"]),
    ("gzip without a feed", "application/xml", gzip.compress(b"a", mtime=0), ["container"]),
    ("KML", "application/vnd.google-earth.kml+xml", b"<kml/>", ["document"]),
    ("a drawing", "image/svg+xml", b"<svg/>", ["document"]),
    ("empty", "application/xml", b"", ["empty"]),
]


@pytest.mark.parametrize("content_type, data, wanted", [row[1:] for row in FINDINGS], ids=[row[0] for row in FINDINGS])
def test_findings(content_type, data, wanted):
    broken = wanted[-1:] in (["not-well-formed"], ["no-feed"], ["empty"], ["container"], ["document"])
    report = found(*([] if content_type is None else ["-t", content_type]), "-", body=data, status=1 if broken else 0)
    assert findings(report) == wanted
    assert all("%" not in each["text"] for each in report["to_fix"])
    assert (report["mail"] is None) == (not wanted)
    assert all(each["text"] in report["mail"] for each in report["to_fix"])


def test_a_sentence_names_the_labels():
    report = found("-t", "application/xml; charset=ISO-8859-1", "-", body=RUSSIAN.encode("cp1251"))
    assert report["to_fix"][0]["text"].startswith("The Content-Type says charset=ISO-8859-1, but the bytes are windows-1251.")
    assert report["mail"].startswith("Subject: your feed -\n\nHello,\n")
    assert "(auto:2.5/decl;charset=windows-1251;was=iso-8859-1)" in report["mail"]


# Content-Type (None: a file), bytes, the first line
SUMMARIES = [
    ("application/xml; charset=utf-8", RIGHT.encode(), "This feed is right as it is. Its label says utf-8, and its bytes are utf-8."),
    ("application/xml; charset=UTF8", RIGHT.encode("utf-8-sig"), "This feed is right as it is. Its label says utf8, and its bytes are utf8."),
    (None, RUSSIAN.encode("cp1251"), "This feed is right as it is. Its label says windows-1251, and its bytes are windows-1251."),
    ("application/xml", RIGHT.encode("utf-8-sig").replace(b" encoding='utf-8'", b""), "This feed is right as it is. Its label says utf-8, and its bytes are utf-8."),
    ("application/xml", b"<rss/>", "This feed is right as it is. It has no label, and its bytes are utf-8."),
    ("application/xml", "<rss><title>Новости и привет, сегодня в городе</title></rss>".encode("cp1251"),
     "This feed needs utfeed, which adds the missing label. It has no label, and its bytes are windows-1251."),
    ("text/xml; charset=iso-8859-1", RUSSIAN.encode("cp1251"),
     "This feed needs utfeed, which corrects its label. Its label says iso-8859-1, but its bytes are windows-1251, as its XML declaration says."),
    ("text/xml; charset=iso-8859-1", RUSSIAN.replace("</title>", " & &nbsp;\x01 <b></title>").encode("cp1251"),
     "This feed needs utfeed, which corrects its label and makes 4 repairs. Its label says iso-8859-1, but its bytes are windows-1251, as its XML declaration says."),
    ("text/xml; charset=utf-8", RUSSIAN.encode(), "This feed needs utfeed, which corrects its XML declaration. Its label says utf-8, and its bytes are utf-8. Its XML declaration says windows-1251."),
    ("text/xml; charset=none-such", RIGHT.encode(), "This feed needs utfeed, which corrects its label. Its label says none-such, but its bytes are utf-8, as its XML declaration says."
     " Strict readers refuse it (rome-strict: unknown-charset)."),
    ("text/xml; charset=iso-8859-1", "<rss>à la “carte”</rss>".encode("cp1252"), "This feed is right as it is. Its label says iso-8859-1, which means windows-1252."),
    ("text/xml; charset=us-ascii", "<rss>à la carte, ça va très bien</rss>".encode("cp1252"), "This feed needs utfeed, which corrects its label. Its label says us-ascii, but its bytes are windows-1252."),
    ("text/xml; charset=utf-8", "<rss><a>Grüße. It\udc92s fine.</a></rss>".encode("utf-8", "surrogateescape"),
     "This feed needs utfeed, which makes 1 repair. Its label says utf-8, and its bytes are utf-8 apart from 1 byte."),
    ("text/xml; charset=utf-8", b"<rss>\xc3\xa9 \xed\xa0\xbd\xed\xb8\x80\xed\xa0\xbd\xed\xb8\x80</rss>",
     "This feed needs utfeed, which makes 2 repairs. Its label says utf-8, and its bytes are utf-8 apart from 2 pairs of surrogates (CESU-8)."),
    ("text/xml", b"<?xml encoding=utf-8?><rss/>", "This feed needs utfeed, which makes 1 repair. Its label says utf-8, and its bytes are utf-8."),
    ("text/xml; charset=utf-8", gzip.compress(RIGHT.encode(), mtime=0), "This feed needs utfeed, which unpacks its gzip. Its label says utf-8, and its bytes are utf-8. It is gzip without a Content-Encoding."),
    ("text/xml", b"<!DOCTYPE rss>\n<!DOCTYPE rss><rss> & </rss>", "This feed cannot be read: it is not well-formed in line 2, even after 1 repair. It has no label, and its bytes are us-ascii."),
    ("text/html", b"<html></html>", "This is not a feed."),
    ("application/xml", b"\x89PNG\r\n\x1a\n", "This is not a feed but a file of the format png."),
    ("application/gpx+xml", b"<gpx/>", "This is not a feed but another kind of document (application/gpx+xml), and utfeed does not change it."),
    ("application/gpx+xml; charset=windows-1251", "<gpx>привет</gpx>".encode("cp1251"),
     "This document is right as it is. Its label says windows-1251, and its bytes are windows-1251. It is not a feed, and it keeps its type."),
    ("application/xml", b"", "There is no feed here: the body is empty."),
]


@pytest.mark.parametrize("content_type, data, wanted", SUMMARIES)
def test_the_first_line(content_type, data, wanted):
    args = [*([] if content_type is None else ["-t", content_type]), "-"]
    status = 0 if re.match("This [a-z]+ (is right|needs utfeed)", wanted) else 1
    assert found(*args, body=data, status=status)["summary"] == wanted
    assert run(*args, body=data, status=status)[0].decode().split("\n")[0] == wanted
    assert wanted in page(*args, body=data, status=status).text


def test_the_first_line_quotes_no_control():
    shown = run("-t", "text/xml; charset=\"a\x9b31m\u202e\"", "-", body=RIGHT.encode())[0]
    assert shown.startswith(b"This feed needs utfeed, which corrects its label. Its label says a") and not HIDDEN.search(shown.decode())


# Within UTF-8: stray bytes, a cut character, a character of two bytes for NUL
STRAY = b"<?xml version='1.0' encoding='utf-8'?>\n<rss>\n<a>It\x92s Gr\xc3\xbc\xc3\x9fe</a>\n<a>Gr\xc3\xbc\xc3</a><a>\xc0\x80</a></rss>"


def test_bytes_that_are_not_utf_8():
    """They are named one by one, and no other charset is proposed."""
    report = found("-t", "application/xml; charset=utf-8", "-", body=STRAY)
    assert findings(report) == ["malformed"]
    assert [(place["offset"], place["line"], place["bytes"], place["length"]) for place in report["not_utf8"]["first"]] == [
        (STRAY.index(b"\x92"), 3, "92", 1), (STRAY.index(b"\xc3</a>"), 4, "c3", 1), (STRAY.index(b"\xc0\x80"), 4, "c080", 2)]
    assert (report["not_utf8"]["bytes"], report["not_utf8"]["places"], report["not_utf8"]["surrogate_pairs"]) == (4, 3, 0)
    assert report["not_utf8"]["first"][0]["read_as"] == "’" and report["not_utf8"]["first"][2]["read_as"] == ""
    text = report["to_fix"][0]["text"]
    assert text.startswith('These 4 bytes are not UTF-8: 0x92 at offset 50 (line 3), read as "’"; 0xC3 at offset ')
    assert "; 0xC0 0x80 at offset 80 (line 4), dropped. " in text and "windows-125" not in text
    assert text in page("-t", "application/xml; charset=utf-8", "-", body=STRAY).text
    assert '0x92 at offset 50 (line 3), read as "’"; 0xC3 at' in run("-t", "application/xml; charset=utf-8", "-", body=STRAY)[0].decode()


def test_only_the_first_places_are_named():
    data = b"<rss>" + b"".join(b"<a>\xc3\xa9\xc3\xa9 It\x92s</a>\n" for _ in range(30)) + b"</rss>"
    report = found("-t", "application/xml; charset=utf-8", "-", body=data)
    assert report["not_utf8"]["places"] == 30 and len(report["not_utf8"]["first"]) == 5
    assert report["to_fix"][0]["text"].startswith("These 30 bytes are not UTF-8: ") and "; and 25 more. " in report["to_fix"][0]["text"]


def test_texts_in_another_charset():
    """The places are those of the texts; the publisher is not told to send the other charset."""
    data = b"<rss>" + "".join(f"<a>Grüße aus Köln {i}</a>" for i in range(9)).encode() + "<b>Новости и привет, сегодня в городе</b></rss>".encode("cp1251")
    report = found("-t", "application/xml; charset=utf-8", "-", body=data)
    assert findings(report) == ["mixed"] and report["not_utf8"]["first"][0]["read_as"] == "Новости"
    assert report["to_fix"][0]["text"].startswith("The feed is utf-8, but some of its texts are in windows-1251 (1 of them). These 28 bytes are not UTF-8: 0xCD 0xEE ")
    assert report["to_fix"][0]["text"].endswith("Convert text from other sources to utf-8 before it goes into the feed.")
    assert found("-", body=RUSSIAN.encode("cp1251"))["not_utf8"] is None


def test_where_the_declared_encoding_stands():
    names = ("XMLEnc", "XMLEnc_behind_junk", "XMLEnc_malformed", "XMLEnc_repeated")
    for data, wanted, row in ((b"<?xml version='1.0' encoding='koi8-r'?><rss/>", "XMLEnc", "XMLEnc "),
                              (b"\n<?xml version='1.0' encoding='koi8-r'?><rss/>", "XMLEnc_behind_junk", "behind junk "),
                              (b"<?xml encoding=koi8-r?><rss/>", "XMLEnc_malformed", "malformed "),
                              (b"<?xml version='1.0'?><?xml version='1.0' encoding='koi8-r'?><rss/>", "XMLEnc_repeated", "repeated ")):
        evidence = found("-", body=data)["evidence"]
        assert [name for name in names if evidence[name] == "koi8-r"] == [wanted]
        assert re.search(rf"\n +{row} +koi8-r\n", run("-", body=data)[0].decode())


@pytest.mark.parametrize("locale, unicode", [("C", True), ("", True), ("C.UTF-8", True), ("nonsense", True)])
def test_text_in_a_pipe_is_utf_8(locale, unicode):
    """cron and containers have no locale. What hides or moves other characters is shown by its number there, too."""
    body = "<rss><title>Новости \u202eи\x9bпривет\\u{41}</title></rss>".encode()
    out = run("-t", "application/xml; charset=iso-8859-1", "-", body=body, env={"LC_ALL": locale, "LANG": locale})[0].decode()
    assert ("Новости" in out) == unicode and "\\u{202e}" in out and "\\u{9b}" in out and "\\\\u{41}" in out and not HIDDEN.search(out)


# A body, its type, and the letter to the publisher: its subject, and what is in it or not
LETTERS = [
    (RUSSIAN.encode("cp1251"), "text/xml; charset=iso-8859-1", "your feed -", "This would mend it", "status 301"),
    (b"<!DOCTYPE html><html><p>Not found</html>", "text/html", "no feed at -", "redirect this URL to its new place", "your feed"),
    (b'{"version": "https://jsonfeed.org/version/1.1"}', "application/json", "no feed at -", "get something that is not a feed", "your feed"),
    (b"\x89PNG\r\n\x1a\n", "application/xml", "no feed at -", "a file of the format png", "label"),
    (b"", "application/xml", "no feed at -", "get an empty response", "your feed"),
]


@pytest.mark.parametrize("body, kind, subject, word, other", LETTERS, ids=["feed", "html", "json", "png", "empty"])
def test_letters(body, kind, subject, word, other):
    """A page that is not a feed has no label that could be wrong."""
    mail = found("-t", kind, "-", body=body, status=0 if subject.startswith("your") else 1)["mail"]
    assert mail.startswith(f"Subject: {subject}\n\nHello,\n\n") and word in mail and other not in mail


def test_names_that_differ_are_not_the_same():
    """us-ascii is windows-1252 while there are no other characters, iso-8859-1 while none differs between them."""
    for text, label, names, word in (("a", "us-ascii", ["us-ascii"], "same"),
                                     ("à la carte, ça va très bien", "iso-8859-1", ["windows-1252"], "same text"),
                                     ("à la “carte”, ça va très bien", "iso-8859-1", ["windows-1252", "iso-8859-1"], "parts"),
                                     ("à la carte, ça va très bien", "us-ascii", ["windows-1252", "us-ascii"], "parts")):
        args = ["-t", f"text/xml; charset={label}", "-"]
        body = f"<rss>{text}</rss>".encode("cp1252")
        assert [part["named"] for part in found(*args, body=body)["parted"] if part["charset"] == "windows-1252"] == names
        row = re.search(r"rfc7303</th><td>.*?</td><td>(.*?)</td>", run("--html", *args, body=body)[0].decode())
        assert row[1] == word


def test_text_before_and_after():
    report = found("-t", "application/xml; charset=iso-8859-1", "-", body=RUSSIAN.encode("cp1251"))
    text = "<rss><title>Новости и привет</title></rss>"
    assert report["text"] == {"label": "iso-8859-1", "before": text.encode("cp1251").decode("latin-1"), "after": text}
    wide = found("-", body=RUSSIAN.replace("windows-1251", "utf-16").encode("utf-16"))["text"]
    assert wide == {"label": "utf-16le", "before": text, "after": text}
    assert found("-", body=b"<rss>a</rss>")["text"] is None
    assert found("-t", "application/xml; charset=no", "-", body=RIGHT.encode())["text"]["before"] is None


@pytest.mark.parametrize("length", [10, 5000, 65_530, 65_536, 65_537, 200_000])
def test_text_around_bytes_far_behind(length):
    """Behind the window, too, and cut anywhere by reads."""
    data = b"<?xml version='1.0' encoding='koi8-r'?><rss>" + b"x" * length + "\n<a>привет</a></rss>".encode("koi8-r")
    report = found("-t", "application/xml; charset=koi8-r", "-", body=data)
    assert report["text"]["before"] == report["text"]["after"] == "<a>привет</a></rss>"
    marks = "".join(part["marks"] for part in report["dump"])
    assert marks.count("D") == 39 and re.search(r"\.!{6}", marks)
    for part in report["dump"]:
        raw = bytes.fromhex(part["bytes"])
        assert raw == data[part["offset"]:part["offset"] + len(raw)] and len(part["marks"]) == len(raw)


def test_marks():
    data = b"\xef\xbb\xbf \n<?xml version='1.0'?><rss>\xc3\xa9 \xe9</rss>"
    marks = found("-", body=data)["dump"][0]["marks"]
    assert marks == "BBBJJ" + "D" * 21 + "....." + "uu.!" + "......"


def test_rules_in_words_and_where_they_part():
    report = found("-t", "application/xml; charset=iso-8859-1", "-", body=RUSSIAN.encode("cp1251"))
    assert report["rules"]["auto"] == [{"step": "2.5", "words": "the charset of the header"},
                                       {"step": "decl", "words": "the declared encoding fits the text, the rule's does not"}]
    assert all(step["words"] for steps in report["rules"].values() for step in steps)
    assert [part["charset"] for part in report["parted"]] == ["windows-1251", "windows-1252"]
    assert report["parted"][0]["policies"] == ["auto", "appendix-f"]
    assert sorted(name for part in report["parted"] for name in part["policies"]) == sorted(report["verdicts"])


def test_a_file_has_no_label():
    assert found("-", body=b"<rss/>")["label_seen"] is False
    assert found("-t", "text/xml", "-", body=b"<rss/>")["label_seen"] is True
    assert re.search(rb"\n  label +not seen: ", run("-", body=b"<rss/>")[0])
    assert b"not seen" not in run("-t", "", "-", body=b"<rss/>")[0]


# ---- the terminal ----

def on_terminal(*args, **env):
    """What a terminal gets."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([BINARY, "check", *args], stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE,
                          env={**ALONE, "LC_ALL": "C.UTF-8", "TERM": "xterm", **env}) as process:
        os.close(theirs)
        out = b""
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:         # the other side is closed
                break
            if not more:
                break
            out += more
    os.close(ours)
    return out.decode()


def test_colours_are_for_terminals(tmp_path):
    path = tmp_path / "feed.xml"
    path.write_bytes(RUSSIAN.encode("cp1251"))
    shown = on_terminal(str(path))
    assert "\x1b[36m3c\x1b[0m" in shown and "Новости и привет" in shown
    shown = on_terminal(str(path), NO_COLOR="1")
    assert "\x1b" not in shown and "Новости и привет" in shown
    assert "\x1b" not in on_terminal(str(path), TERM="dumb")
    assert "\\u{41d}\\u{43e}" in on_terminal(str(path), LC_ALL="C")
    piped = run(str(path), env={"LC_ALL": "C.UTF-8"})[0]
    assert "Новости и привет" in piped.decode() and b"\x1b" not in piped


def test_a_terminal_shows_no_control_of_a_peer(tmp_path):
    path = tmp_path / "feed.xml"
    path.write_bytes("<rss>é \x1b]0;a\x07 \x9b31m \u202eabc\u2066 \u200b</rss>".encode() + b"\xff")
    shown = on_terminal(str(path), NO_COLOR="1")
    assert not re.search("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e\u2066\u200b]", shown)
    assert "é" in shown and "\\u{202e}" in shown


# ---- HTML ----

class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text, self.style = [], [], "", ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            self.style += data
        else:
            self.text += data

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


ATTACK = "\"'><script>alert(1)</script></textarea></title><img src=x onerror=alert(1)>&lt;\u202e"


def page(*args, body=b"", status=0):
    return Page(run("--html", *args, body=body, status=status)[0].decode())


def test_html_is_a_document_of_its_own():
    made = page("-t", "application/xml; charset=iso-8859-1", "-", body=RUSSIAN.encode("cp1251"))
    assert made.open == []
    policy = [meta["content"] for meta in made.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"][0]
    digest = base64.b64encode(hashlib.sha256(made.style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-{digest}'"
    assert not {name for name, _ in made.tags} & {"script", "link", "img", "iframe", "object", "form", "a"}
    assert not re.search(r"url\(|@import|expression", made.style)
    assert not [attrs for _, attrs in made.tags if set(attrs) & {"src", "href", "style"} or [name for name in attrs if name.startswith("on")]]
    assert "Новости и привет" in made.text and "Èðå" not in made.text and "Íîâîñòè" in made.text
    assert len(made.all("h1")) == 1 and made.all("main") and made.all("html")[0]["lang"] == "en"
    ids = [attrs["id"] for _, attrs in made.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("body, shown", [(RUSSIAN.encode("cp1251"), True), (b"<rss/>", False)], ids=["weighed", "not weighed"])
def test_html_explains(body, shown):
    """What --explain prints as text is in the document, which is as well-formed as without it."""
    plain, told = page("-", body=body), run("--html", "--explain", "-", body=body)[0].decode()
    rows = run("--explain", "-", body=body)[0].decode()
    rows = rows[rows.index("\nexplain ") + 1:].split("\n\n")[0].splitlines()[1:]
    words = re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]*>", " ", told[told.index("Why auto decided so"):])))
    for row in rows:
        if "+ rare" not in row:
            assert re.sub(r"\s+", " ", row).strip() in words, row
    assert shown == ("The readings that came into question" in told)
    assert {tag for tag, _ in Page(told).tags} - {"details", "summary"} == {tag for tag, _ in plain.tags}


# What people write for a URL, and what the message names; see meant_url.h
MEANT = {
    "feeds.test/feed.xml": "write: utfeed check 'https://feeds.test/feed.xml'",
    "feed://feeds.test/f": "write: utfeed check 'https://feeds.test/f'",
    "feed:http://feeds.test/f": "write: utfeed check 'http://feeds.test/f'",
    "htpp://user:secret@feeds.test/f": "write: utfeed check 'https://***@feeds.test/f'",
    "https:/feeds.test/f": "write: utfeed check 'https://feeds.test/f'",
    "ftp://feeds.test/f": "write a URL that begins with http:// or https://",
    "feeds.test.xml": "No such file or directory",
}


@pytest.mark.parametrize("word", MEANT)
def test_what_may_be_a_url(word, tmp_path):
    """A file of that name is read all the same."""
    errors = run(word, status=2, cwd=tmp_path)[1]
    assert MEANT[word] in errors and "secret" not in errors
    if "//" not in word:
        path = tmp_path / word
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"<rss/>")
        assert run(word, cwd=tmp_path)[0].startswith(b"This feed is right")


def test_the_scheme_in_capitals(origin):
    serve(origin, {"/feed": feed(RIGHT, "utf-8", "Content-Type: application/xml")})
    assert found(origin.url.replace("http", "HTTP") + "/feed")["response"]["status"] == 200


def test_html_of_several(tmp_path):
    for name, text in (("a.xml", RIGHT), ("b.xml", RUSSIAN)):
        (tmp_path / name).write_text(text)
    out = tmp_path / "out.html"
    assert run("--html=-", "-", body=b"<rss/>")[0].startswith(b"<!DOCTYPE html>")
    assert run(f"--html={out}", str(tmp_path / "a.xml"), str(tmp_path / "b.xml"))[0] == b""
    made = Page(out.read_text())
    assert len(made.all("article")) == 2 and "Nothing to fix." in made.text
    ids = [attrs["id"] for _, attrs in made.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_html_escapes_every_peer(tmp_path):
    plain = {(name, tuple(sorted(attrs))) for name, attrs in page("-t", "text/html; charset=x", "-", body=RUSSIAN.encode("cp1251")).tags}
    path = tmp_path / "<img src=x onerror=alert(1)>\u202e.xml"
    path.write_bytes(f"<?xml version='1.0' encoding='{ATTACK.replace(chr(39), '')}'?><rss>é{ATTACK}</rss>".encode())
    for content_type in (f"text/html; charset={ATTACK}", f'text/html; charset="{ATTACK[2:]}"', ATTACK):
        text = run("--html", "-t", content_type, str(path), status=1)[0].decode()
        made = Page(text)
        assert "\u202e" not in text
        assert {(name, tuple(sorted(attrs))) for name, attrs in made.tags} <= plain | {("tr", ("class",)), ("span", ("class",))}
        assert "alert(1)" in made.text


def test_html_cannot_be_written(tmp_path):
    assert "no/such" in run(f"--html={tmp_path}/no/such/file", "-", body=b"<rss/>", status=2)[1]
    if os.path.exists("/dev/full"):
        assert "/dev/full" in run("--html=/dev/full", "-", body=b"<rss/>", status=2)[1]


def test_html_in_a_browser(tmp_path):
    """axe-core finds nothing, the console says nothing, nothing is fetched, and no side is scrolled to; with script and without."""
    modules = os.environ.get("UTFEED_NODE_MODULES", os.path.join(os.path.dirname(BINARY), "pages", "node_modules"))
    chromium, node = shutil.which("chromium"), shutil.which("node")
    missing = [name for name in ("playwright-core", "axe-core") if not os.path.isdir(os.path.join(modules, name))]
    if not chromium or not node or missing:
        pytest.skip("no chromium, no node, or no playwright-core and axe-core (make check-pages fetches them, or UTFEED_NODE_MODULES names a folder)")
    pages = []
    for name, args, body in (("right", [], RIGHT.encode()), ("wrong", ["-t", "text/html; charset=iso-8859-1"], RUSSIAN.encode("cp1251")),
                             ("attack", ["-t", f"text/html; charset={ATTACK}"], f"<rss>é{ATTACK}{'w' * 300}</rss>".encode())):
        pages.append(str(tmp_path / f"{name}.html"))
        run(f"--html={pages[-1]}", *args, "-", body=body)
    done = subprocess.run([node, os.path.join(os.path.dirname(os.path.abspath(__file__)), "look.mjs"), modules, chromium, *pages],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT * 12, check=False)
    assert done.returncode == 0, done.stderr.decode()
    looks = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(looks) == 5 * len(pages)
    for seen in looks:
        assert (seen["violations"], seen["said"], seen["wide"]) == ([], [], False) and seen["text"] > 1000, seen


# ---- URLs ----

def serve(origin, pages):
    def respond(request):
        path = request.line.split()[1]
        return pages[path] if path in pages else message("404 Not Found", "Content-Type: text/plain", body=b"nothing\n")
    origin.serve(respond)


def feed(text, charset, *fields, status="200 OK"):
    return message(status, *fields, body=text.encode(charset))


def test_a_url(origin):
    serve(origin, {"/feed": feed(RUSSIAN, "cp1251", "Content-Type: application/xml; charset=iso-8859-1", "X-Odd: a\tb")})
    report = found(f"{origin.url}/feed")
    assert report["x_encoding_rule"] == "auto:2.5/decl;charset=windows-1251;was=iso-8859-1"
    assert report["content_type"] == "application/xml; charset=iso-8859-1" and report["label_seen"] is True
    assert report["file"] == report["response"]["url"] == report["response"]["final_url"] == f"{origin.url}/feed"
    assert report["response"]["status"] == 200 and report["response"]["hops"] == []
    assert report["response"]["head"].startswith("HTTP/1.1 200 OK\r\n") and "X-Odd: a\tb\r\n" in report["response"]["head"]
    assert findings(report) == ["header-wrong"] and f"your feed {origin.url}/feed\n" in report["mail"]


def test_a_url_whose_gzip_has_no_label(origin):
    serve(origin, {"/feed": message("200 OK", "Content-Type: application/xml; charset=utf-8", body=gzip.compress(STRAY, mtime=0))})
    report = found(f"{origin.url}/feed")
    assert findings(report) == ["gzip", "malformed"] and report["not_utf8"]["first"][0]["offset"] == 50
    assert report["summary"] == "This feed needs utfeed, which unpacks its gzip and makes 3 repairs. Its label says utf-8, and its bytes are utf-8 apart from 4 bytes. It is gzip without a Content-Encoding."


def test_redirects_are_shown_hop_by_hop(origin, another):
    other = another()
    serve(origin, {"/old": message("301 Moved Permanently", "Location: /mid"), "/mid": message("302 Found", f"Location: {other.url}/new?a=1")})
    serve(other, {"/new?a=1": feed(RIGHT, "utf-8", "Content-Type: application/xml")})
    response = found(f"{origin.url}/old")["response"]
    assert response["hops"] == [{"status": 301, "url": f"{origin.url}/old", "location": "/mid"},
                                {"status": 302, "url": f"{origin.url}/mid", "location": f"{other.url}/new?a=1"}]
    assert response["final_url"] == f"{other.url}/new?a=1" and response["url"] == f"{origin.url}/old"
    text = run(f"{origin.url}/old")[0].decode()
    assert f"  301            {origin.url}/old -> /mid\n" in text and "    HTTP/1.1 200 OK\n" in text
    made = page(f"{origin.url}/old")
    assert f"{other.url}/new?a=1" in made.text and "HTTP/1.1 200 OK" in made.text


def test_the_head_of_a_liar_is_escaped(origin):
    serve(origin, {"/feed": feed(RIGHT, "utf-8", "Content-Type: application/xml", "X-Evil: <script>alert(1)</script>\xe9\x9b31m")})
    text = run(f"{origin.url}/feed")[0]
    assert not HIDDEN.search(text.decode()) and b"X-Evil: <script>alert(1)</script>\\xe9\\x9b31m" in text
    made = page(f"{origin.url}/feed")
    assert not made.all("script") and "<script>alert(1)</script>" in made.text


@pytest.mark.parametrize("reply, wanted, rule", [
    (message("404 Not Found", "Content-Type: application/xml", body=RIGHT.encode()), ["status"], "none;reason=status"),
    (message("200 OK", "Content-Type: application/xml"), ["empty"], "none;reason=empty"),
    (message("200 OK", "Content-Type: text/html", body=b"<html></html>"), ["no-feed"], "none;reason=not-xml"),
    (message("200 OK", "Content-Type: text/xml", "Content-Encoding: compress", body=b"\x1f\x9d"), ["encoded"], "none;reason=encoded"),
], ids=["status", "empty", "html", "encoded"])
def test_what_is_no_feed(origin, reply, wanted, rule):
    serve(origin, {"/": reply})
    report = found(f"{origin.url}/", status=1)
    assert findings(report) == wanted and report["x_encoding_rule"] == rule


def test_a_plain_feed_under_a_coding_that_nobody_knows(origin):
    """It is read as the proxy reads it, and the publisher is told."""
    serve(origin, {"/": message("200 OK", "Content-Type: application/xml", "Content-Encoding: aws-chunked", body=b"<?xml version='1.0'?><rss/>")})
    report = found(f"{origin.url}/")
    assert findings(report) == ["encoded"] and report["x_encoding_rule"] == "auto:2.0/1.0;charset=utf-8"


def test_chunked_large_and_said_otherwise(origin):
    body = RUSSIAN.replace("Новости", "Новости " * 40_000).encode("cp1251")
    serve(origin, {"/": message("200 OK", "Content-Type: text/plain", "Transfer-Encoding: chunked", body=chunked(body, 7000), length=False)})
    report = found("-t", "application/xml", f"{origin.url}/")
    assert report["bytes"] == len(body) and report["well_formed"] is True and report["content_type"] == "application/xml"


def test_what_cannot_be_fetched(origin):
    serve(origin, {"/loop": message("302 Found", "Location: /loop"),
                   "/start": message("301 Moved Permanently", "Location: /loop"),
                   "/cut": (message("200 OK", "Content-Type: application/xml", "Content-Length: 100", body=b"<rss>", length=False), "close")})
    for url, words in ((f"{origin.url}/start", "circle"), ("http://127.0.0.1:1/", "refused the connection"), (f"{origin.url}/cut", "ended too early"),
                       ("http://a b/", "not a name"), ("http://user:pw@127.0.0.1/", "user")):
        *hops, errors = run(url, status=2)[1].split("\n", url.endswith("/start"))
        assert hops == ([f"utfeed: 301: {url} -> /loop"] if url.endswith("/start") else [])
        assert errors.startswith(f"utfeed: {url.replace('user:pw', '***')}: ") and words in errors, errors


def test_time_is_bounded(origin):
    """By fetch-timeout where it is under a minute."""
    errors = run(f"{origin.url}/", status=2, env={"UTFEED_FETCH_TIMEOUT": "200ms"})[1]
    assert "did not answer in time" in errors


def test_explain_fits_its_shape():
    assert found("--explain", "-", body=RUSSIAN.encode("cp1251"))["explain"]["policy"] == "auto"


def test_a_parent_proxy_of_the_environment(origin):
    serve(origin, {"http://feeds.test/feed": feed(RIGHT, "utf-8", "Content-Type: application/xml")})
    assert found("http://feeds.test/feed", env={"http_proxy": origin.url})["response"]["status"] == 200
    assert found("http://feeds.test/feed", env={"UTFEED_HTTP_PROXY": origin.url, "UTFEED_CONFIG": "/nowhere/at/all"})["bytes"] == len(RIGHT.encode())


def test_a_certificate_is_verified(tls_origin, authority, good):
    origin = tls_origin(server_context(good))
    serve(origin, {"/feed": feed(RIGHT, "utf-8", "Content-Type: application/xml")})
    assert "certificate" in run(f"{origin.url}/feed", status=2)[1]
    assert found(f"{origin.url}/feed", env={"UTFEED_TLS_CA_FILE": authority.root.cert})["response"]["status"] == 200
