"""Trust, faults 9, 10 and 20: what is no feed is left alone, right XML says the same afterwards, and what says so counts right."""
import json
import subprocess
from xml.parsers import expat

import pytest

from feeds import UTF_8_TYPE
from proxy import BINARY, normalise
from wire import PATIENCE, message

FEED = "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n<rss version=\"2.0\"><channel><title>café</title></channel></rss>\n"
LINE = FEED.replace("\n", "")
IN_JSON = LINE.replace('"', '\\"')

# Own type, body: each holds a feed, and is none
NO_FEEDS = [
    ("application/json; charset=utf-8", f'"{IN_JSON}"'),
    ("application/json", f'{{"feed":"{IN_JSON}"}}'),
    ("application/javascript", f"export default '{LINE}'\n"),
    ("text/css", f"/* {LINE} */ a {{ color: red }}"),
    ("text/csv", f"id,body\n1,{LINE}\n"),
    ("text/x-python", f'FEED = """{FEED}"""\n'),
    ("application/x-sh", f"cat <<END\n{FEED}END\n"),
    ("text/markdown", f"# Feeds\n\n    {LINE}\n"),
    ("message/rfc822", f"Subject: café\r\n\r\n{FEED}"),
    ("text/x-php", f"<?php header('Content-Type: text/xml') ?>\n{FEED}"),
]


def reply(body, content_type):
    types = (f"Content-Type: {content_type}",) if content_type else ()
    return message("200 OK", *types, body=body)


@pytest.mark.parametrize("vague", ["its own type", "text/plain", "application/octet-stream", ""])
@pytest.mark.parametrize("own, body", NO_FEEDS, ids=[own for own, _ in NO_FEEDS])
def test_trust_09_what_is_no_feed_keeps_its_bytes_and_type(proxy, origin, own, body, vague):
    content_type, body = own if vague == "its own type" else vague, body.encode("latin-1")
    got, _ = proxy.through(origin, reply(body, content_type))
    assert got.body == body
    assert got["Content-Type"] == (content_type or None)
    assert got.rule == "none;reason=not-xml"


PHP = "<br />\n<b>Warning</b>:  Undefined variable $item in <b>/srv/www/feeds/library/write.php</b> on line <b>117</b><br />\n"


@pytest.mark.parametrize("content_type", ["application/rss+xml", "text/html", "text/plain", ""])
@pytest.mark.parametrize("before", ["\n\n", "\ufeff\ufeff", " \ufeff\n", PHP, "\nNotice: a in /b.php on line 3\n" * 2],
                         ids=["lines", "marks", "a mark behind space", "message as HTML", "messages"])
def test_trust_09_a_feed_behind_real_junk_is_one(proxy, origin, before, content_type):
    got, _ = proxy.through(origin, reply((before + FEED.replace("iso-8859-1", "utf-8")).encode(), content_type))
    assert got.body == FEED.replace("iso-8859-1", "utf-8").encode()
    assert got["Content-Type"] == UTF_8_TYPE


def events(text, encoding=None):
    seen, parser = [], expat.ParserCreate(encoding)
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, attributes: seen.append((name, attributes))
    parser.EndElementHandler = parser.CharacterDataHandler = parser.CommentHandler = seen.append
    parser.ProcessingInstructionHandler = lambda target, data: seen.append((target, data))
    parser.EntityDeclHandler = lambda *declaration: seen.append(declaration)
    parser.Parse(text, True)
    return seen


RIGHT = [
    '<x><![CDATA[<?xml version="1.0" encoding="koi8-r"?><a/>]]></x>',
    '<string><![CDATA[<?xml version="1.0"?><rss version="2.0"/>]]></string>',
    '<?a <?xml version="1.0" encoding="koi8-r"?><rss/>',
    '<!DOCTYPE x [<!ENTITY a "<?xml version=\'1.0\' encoding=\'koi8-r\'?><rss/>">]><x>&amp;</x>',
    '<!DOCTYPE x [<!ENTITY a "<?"><!-- ?> &#1; -->]><x/>',
    '<!DOCTYPE x [<!ENTITY a "<!--"><?b --> &#1; ?>]><x/>',
    '<!DOCTYPE x [<?b "?><!ENTITY a "\'">]><x><![CDATA[&#1;]]></x>',
]


@pytest.mark.parametrize("document", RIGHT)
def test_trust_10_right_xml_says_the_same(proxy, origin, document):
    got, _ = proxy.through(origin, reply(document.encode(), "application/xml"))
    assert events(got.body) == events(document.encode())


def test_trust_10_xml_1_1_keeps_its_references():
    document = "<?xml version='1.1' encoding='UTF-8'?><a b='&#1;'>é&#x1F;\u0085\u2028</a>".encode()
    assert normalise(document, "application/xml") == (document, 0)


def test_trust_10_few_accents_under_their_right_label():
    document = "<?xml version='1.0' encoding='iso-8859-15'?><rss><title>éàùç€@ïî</title></rss>"
    out, _ = normalise(document.encode("iso-8859-15"), "text/xml")
    assert out.decode() == document.replace("'iso-8859-15'", '"UTF-8"')


def test_trust_20_check_counts_the_window(tmp_path):
    """Of the first 64 KiB, though the file goes on otherwise."""
    path = tmp_path / "feed.xml"
    path.write_bytes("<rss><title>é".encode() + b" " * 65536 + "ééé".encode() * 30000 + b"</title></rss>")
    done = subprocess.run([BINARY, "check", "--json", str(path)], stdout=subprocess.PIPE, timeout=PATIENCE, check=True)
    evidence = json.loads(done.stdout)["evidence"]
    assert (evidence["utf8_multibyte"], evidence["utf8_stray"], evidence["utf8_valid"]) == (1, 0, True)


@pytest.mark.parametrize("chars", [1024, 1025])
def test_trust_20_a_long_declaration_reads_the_same_however_it_comes(proxy, origin, chars):
    declaration = "<?xml version='1.0' encoding='windows-1251'"
    document = (declaration.ljust(chars - 2) + "?><rss><title>Привет, мир</title></rss>").encode("windows-1251")
    data = reply(document, "application/xml")
    answers = set()
    for parts in ([data], [data[:-len(document) + 1024], data[-len(document) + 1024:]], [data[i:i + 100] for i in range(0, len(data), 100)]):
        client = proxy.client().ask(f"/{chars}-{len(parts)}")
        upstream = origin.receive()
        for part in parts:
            upstream.send(part)
        got = client.response()
        answers.add((got.rule, got.body))
    assert len(answers) == 1
    assert "Привет, мир".encode() in answers.pop()[1]


@pytest.mark.parametrize("label", ["utf-8", "iso-2022-jp"])
def test_trust_20_first_escape_behind_the_window(label):
    text = f"<?xml version='1.0' encoding='{label}'?><rss>" + "<item>Story</item>" * 5000 + "<title>日本語のニュース</title></rss>"
    out, _ = normalise(text.encode("iso2022_jp"), "application/xml; charset=utf-8")
    assert "<title>日本語のニュース</title>".encode() in out
