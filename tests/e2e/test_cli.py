"""The commands that need no server: check, normalise, policies, charsets."""
import gzip
import json
import os
import random
import re
import subprocess

import pytest

from feeds import UTF_8_TYPE, titles, utf_8, well_formed
from proxy import BINARY, SANITIZER
from wire import PATIENCE

TITLE = "Новости, Привет"
POLICIES = ["auto", "rome-strict", "rome-lenient", "rome-2004-09-10", "rfc7303", "feedparser", "4suite", "appendix-f"]


def document(title, declared=None, before=""):
    head = f"<?xml version='1.0' encoding=\"{declared}\"?>\n" if declared else ""
    return f"{before}{head}<rss version='2.0'><channel><title>{title}</title></channel></rss>"


def run(*args, body=b"", status=0, env=None):
    done = subprocess.run([BINARY, *args], input=body, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False, env=env)
    errors = done.stderr.decode("latin-1")
    assert not SANITIZER.search(errors), errors
    assert done.returncode == status, errors
    return done.stdout, errors


def headed(*args, body):
    """(header fields in lower case, body) of normalise -i."""
    out, _ = run("normalise", "-i", *args, body=body)
    head, _, rest = out.partition(b"\r\n\r\n")
    fields = dict(line.split(": ", 1) for line in head.decode("ascii").split("\r\n"))
    return {name.lower(): value for name, value in fields.items()}, rest


@pytest.fixture
def write(tmp_path):
    def make(name, data):
        path = tmp_path / name
        path.write_bytes(data)
        return str(path)
    return make


# The twelve feeds, in words of our own: name, Content-Type, bytes, title
HOSTILE = [
    ("cp1251 declared, no header", "", document(TITLE, "windows-1251").encode("cp1251"), TITLE),
    ("cp1251 in both", "text/xml; charset=windows-1251", document(TITLE, "windows-1251").encode("cp1251"), TITLE),
    ("utf-8 mark, latin-1 header", "application/rss+xml; charset=iso-8859-1", document("Zażółć", "utf-8").encode("utf-8-sig"), "Zażółć"),
    ("utf-8 undeclared, text/xml", "text/xml", document("Ærø på dansk").encode(), "Ærø på dansk"),
    ("koi8-r as text/html", "text/html", document(TITLE, "koi8-r").encode("koi8-r"), TITLE),
    ("utf-16le mark", "application/xml", b"\xff\xfe" + document(TITLE, "utf-16").encode("utf-16-le"), TITLE),
    ("gbk labelled gb2312", "text/xml; charset=gb2312", document("朱镕基，囧", "gb2312").encode("gbk"), "朱镕基，囧"),
    ("leading blank lines", "application/xml", document(TITLE, "utf-8", before="\n\r\n").encode(), TITLE),
    ("declared cp1251, is utf-8", "text/xml", document(TITLE, "windows-1251").encode(), TITLE),
    ("charset=utf8", "text/xml; charset=utf8", document(TITLE).encode(), TITLE),
    ("octet-stream", "application/octet-stream", document(TITLE, "windows-1251").encode("cp1251"), TITLE),
    ("C0 controls", "application/xml; charset=utf-8", document("a\x01b&#x1F;é", "utf-8").encode(), "abé"),
]


@pytest.mark.parametrize("name, content_type, data, title", HOSTILE, ids=[row[0] for row in HOSTILE])
def test_hostile_feed(name, content_type, data, title):
    fields, body = headed("-t", content_type, body=data)
    assert fields["content-type"] == UTF_8_TYPE
    assert fields["x-encoding-rule"].startswith("auto:")
    assert titles(body) == [title]              # trusting the declaration
    assert titles(body, "utf-8") == [title]     # trusting the header
    assert well_formed(body)


def test_normalise_reads_a_file_or_standard_input(write):
    data = document(TITLE, "windows-1251").encode("cp1251")
    path = write("feed.xml", data)
    expected = utf_8(document(TITLE, "windows-1251"))
    assert run("normalise", path)[0] == expected
    assert run("normalise", "-", body=data)[0] == expected
    assert run("normalise", body=data)[0] == expected


def test_no_type_is_a_file_and_an_empty_one_is_http():
    data = document("x").encode()
    assert headed("-p", "rome-strict", body=data)[0]["x-encoding-rule"] == "rome-strict:1.0;charset=utf-8"
    run("normalise", "-p", "rome-strict", "-t", "", body=data, status=1)


def test_no_repair_leaves_the_text_alone():
    data = document("a\x01&#1;", "windows-1251", before="\n").encode("cp1251")
    assert run("normalise", "--no-repair", body=data)[0] == data


def test_repairs_are_named():
    data = document("a\x01&eacute;Ã©tÃ©s cafÃ©").encode()
    assert titles(run("normalise", "--repair", "all,double", body=data)[0]) == ["aéétés café"]
    assert run("normalise", "--repair", "none", body=data)[0] == data
    assert run("normalise", "--repair", "-characters", "--base", "http://a/", body=data)[0].count(b"\x01") == 1
    assert "'nothing' is not a repair" in run("normalise", "--repair", "nothing", body=data, status=2)[1]


def test_to_us_ascii():
    text = document("€<![CDATA[é<b>]]>", "windows-1252")
    out, _ = run("normalise", "--to", "us-ascii", body=text.encode("cp1252"))
    assert out.isascii()
    assert titles(out) == ["€é<b>"] and out.startswith(b'<?xml version=\'1.0\' encoding="US-ASCII"?>')
    assert headed("--to", "us-ascii", body=text.encode("cp1252"))[0]["content-type"] == "application/xml; charset=us-ascii"
    assert run("normalise", "--to", "utf-8", body=text.encode("cp1252"))[0] == utf_8(text)


def test_what_is_no_feed_stays():
    data = "<!DOCTYPE html><html>é</html>".encode("latin-1")
    fields, body = headed("-t", "text/html; charset=iso-8859-1", body=data)
    assert fields == {"content-type": "text/html; charset=iso-8859-1", "x-encoding-rule": "none;reason=not-xml"}
    assert body == data


@pytest.mark.parametrize("data", ["<!DOCTYPE html><p>é &nbsp;".encode("latin-1"), b'{"items": ["\xe9 <b>"]}', b"\x89PNG\r\n\x1a\n\0\x80"],
                         ids=["html", "json", "png"])
def test_a_file_that_is_no_feed_stays_and_is_told(data, write):
    path = write("file", data)
    out, errors = run("normalise", path)
    assert out == data
    assert errors == f"utfeed: {path}: passed as it is: it is no feed\n"
    assert run("normalise", "-i", path)[0] == b"X-Encoding-Rule: none;reason=not-xml\r\n\r\n" + data
    assert check(path, status=1)["x_encoding_rule"] == "none;reason=not-xml"


def test_a_file_may_have_any_root():
    assert titles(run("normalise", body="<?xml version='1.0' encoding='iso-8859-2'?><a><title>ł</title></a>".encode("iso-8859-2"))[0]) == ["ł"]
    assert run("normalise", body="<a>é</a>".encode("latin-1")) == ("<a>é</a>".encode(), "")


def test_an_error_of_the_policy_is_status_1():
    out, errors = run("normalise", "-p", "rome-strict", "-t", "text/xml; charset=x-none", body=b"<rss/>", status=1)
    assert out == b""
    assert "rome-strict:2.5;error=unknown-charset" in errors


def test_a_stream_leaves_as_it_comes():
    """Output starts before the input ends, and a large body takes no more memory than a small one."""
    script = f'"{BINARY}" normalise -p rfc7303 -t "application/xml; charset=windows-1251"'
    with subprocess.Popen(script, shell=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b"<rss>" + b"\xe0" * 70000)
        process.stdin.flush()
        assert process.stdout.read(1000).startswith("<rss>ааа".encode())
        process.stdin.write(b"</rss>")
        process.stdin.close()
        assert process.stdout.read().endswith("аа</rss>".encode())
    assert process.returncode == 0


def test_normalise_gzip_that_is_damaged(write):
    path = write("feed.gz", gzip.compress(document(random.Random(9).randbytes(200_000).hex()).encode(), mtime=0)[:-1000])
    assert f"utfeed: {path}: the gzip is damaged" in run("normalise", path, status=2)[1]


def test_normalise_by_the_language_of_the_answer():
    """It decides between windows-1257 and its like."""
    assert "/guess+lang;charset=windows-1257;" in headed("--content-language", "lv", body=DOUBTFUL)[0]["x-encoding-rule"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("command, data", [(["normalise"], b"<rss/>"),
    (["opml", "--gateway", "http://nas:8080/"], b"<opml><body><outline xmlUrl='http://a.test/'/></body></opml>")], ids=["normalise", "opml"])
def test_output_that_has_no_room(command, data):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([BINARY, *command, "-"], input=data, stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert done.returncode == 2 and b"No space left on device" in done.stderr


def test_a_variable_that_is_wrong():
    """A URL is checked as `utfeed serve` would fetch it, by the same variables."""
    assert "UTFEED_WORKERS" in run("check", "http://127.0.0.1:1/", status=2, env={**os.environ, "UTFEED_WORKERS": "many"})[1]


WRONG = [
    ["normalise", "--policy", "none-such"], ["normalise", "--to", "latin-1"], ["normalise", "a", "b"], ["normalise", "--what"],
    ["normalise", "-t", "text/xml\r\nX: y"], ["normalise", "/nowhere/at/all"], ["check"], ["check", "--what"],
    ["check", "/nowhere/at/all"], ["check", "/"], ["policies", "x"], ["charsets", "x"], ["check", "-t", "a\nb", "x"],
]


@pytest.mark.parametrize("args", WRONG, ids=" ".join)
def test_wrong_use_is_status_2(args):
    _, errors = run(*args, status=2)
    assert errors.startswith(("utfeed: ", "usage: ", BINARY)) or "option" in errors


@pytest.mark.parametrize("command", ["check", "normalise", "reload"])
def test_help_of_a_command(command):
    assert run(command, "--help")[0].decode().startswith(f"usage: utfeed {command} ")


def check(path, *args, status=0):
    out, _ = run("check", "--json", *args, path, status=status)
    return json.loads(out)


def test_check_says_everything_in_json(write):
    data = document("é\x01", "windows-1251", before="\n").encode()
    found = check(write("feed.xml", data), "-t", "text/xml; charset=ISO-8859-1")
    assert found["bytes"] == len(data)
    assert found["content_type"] == "text/xml; charset=ISO-8859-1"
    evidence = found["evidence"]
    assert (evidence["CTMime"], evidence["BOMEnc"], evidence["XMLEnc"]) == ("TEXT-XML", None, None)
    assert evidence["CTEnc"].lower() == "iso-8859-1"
    assert evidence["XMLEnc_behind_junk"] == "windows-1251"
    assert evidence["utf8_valid"] is True and evidence["utf8_multibyte"] == 1
    assert bytes.fromhex(evidence["first_bytes"]) == data[:32]
    assert list(found["verdicts"]) == POLICIES
    assert found["verdicts"]["rome-strict"] == {"rule": "rome-strict:2.5", "charset": "iso-8859-1", "was": None, "decoded_as": None,
                                                "error": None, "outcome": "ok"}
    assert found["verdicts"]["auto"]["charset"] == "utf-8"
    assert found["repairs"] == {"bom": 0, "junk": 1, "declaration": 1, "characters": 1, "references": 0, "line-ends": 0,
                                 "entities": 0, "ampersands": 0, "tags": 0, "end": 0, "trailing": 0, "namespaces": 0, "base": 0, "double": 0}
    assert found["well_formed"] is True and found["fault"] is None


def test_check_tells_a_published_name_from_what_is_decoded(write):
    path = write("feed.xml", "<?xml version='1.0' encoding='IBM500'?><rss>é</rss>".encode("cp500"))
    said = check(path)["verdicts"]["rome-strict"]
    assert (said["charset"], said["was"], said["decoded_as"]) == ("utf-8", None, "ibm500")
    assert "utf-8          decoded as ibm500" in run("check", path)[0].decode()
    fields, body = headed("-p", "rome-strict", path, body=b"")
    assert fields["x-encoding-rule"] == "rome-strict:1.0;charset=ibm500;was=utf-8" and "é" in body.decode()


def test_check_of_a_broken_feed(write):
    found = check(write("feed.xml", b"<!DOCTYPE rss>\n<!DOCTYPE rss><rss/>"), status=1)
    assert found["well_formed"] is False
    assert found["fault_line"] == 2


def test_check_refuses_entities(write):
    found = check(write("feed.xml", b"<!DOCTYPE rss [<!ENTITY a 'b'>]><rss>&a;</rss>"), status=1)
    assert "entity" in found["fault"]


def test_check_of_no_feed(write):
    found = check(write("page.html", b"<html></html>"), "-t", "text/html", status=1)
    assert found["well_formed"] is None
    assert found["x_encoding_rule"] == "none;reason=not-xml"


def test_check_names_a_label_nobody_knows(write):
    found = check(write("feed.xml", b"<rss/>"), "-t", "text/xml; charset=X-None")
    verdict = found["verdicts"]["rome-strict"]
    assert (verdict["charset"].lower(), verdict["error"]) == ("x-none", "unknown-charset")


def test_check_of_several_files_is_an_object_a_line_and_the_worst_status(write):
    good, bad = write("good.xml", b"<rss/>"), write("bad.xml", b"<!DOCTYPE rss><!DOCTYPE rss><rss/>")
    out, errors = run("check", "--json", good, bad, "/nowhere/at/all", status=2)
    assert [json.loads(line)["well_formed"] for line in out.splitlines()] == [True, False]
    assert "/nowhere/at/all" in errors


HOSTILE_LABEL = "\x1b[2J\x9b\"\\\u202e"


def test_peers_bytes_never_reach_the_terminal(write):
    data = document("x", HOSTILE_LABEL).encode("latin-1", "replace") + b"\x1b[2J"
    path = write("a\x1b[31m\udcff.xml", data)
    out, _ = run("check", "--json", path)
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", out)
    assert json.loads(out)["file"] == path.replace("\udcff", "\ufffd")
    text = run("check", path)[0].decode()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_check_reads_as_text(write):
    out, _ = run("check", "-t", "text/xml", write("feed.xml", document("é", "windows-1251").encode()))
    text = out.decode()
    assert all(f"{policy}:" in text for policy in POLICIES)
    assert "auto:2.1/utf8;charset=utf-8;was=us-ascii" in text
    assert re.search(r"first bytes +3c3f786d 6c20", text)
    assert re.search(r"repairs +declaration 1\n", text)
    assert re.search(r"well-formed +yes\n", text)


def test_check_reads_standard_input():
    out, _ = run("check", "--json", "-", body=b"<rss/>")
    assert json.loads(out)["file"] == "-"


def test_check_past_the_window(write):
    data = b"<rss>" + b"x" * 200_000 + "é\x01</rss>".encode()
    found = check(write("feed.xml", data), "-t", "text/xml")
    assert found["bytes"] == len(data)
    assert found["evidence"]["window_bytes"] == 65536
    assert found["revised"] is True
    assert found["repairs"]["characters"] == 1
    assert found["well_formed"] is True


DOUBTFUL = document("ļoti").encode("windows-1257")


def test_explain_in_json(write):
    path = write("feed.xml", DOUBTFUL)
    assert "explain" not in check(path)
    found = check(path, "--explain", "--content-language", "lv", "--base", "http://feeds.example.ru/")["explain"]
    assert found["policy"] == "auto" and found["unweighed"] is None
    assert [step["step"] for step in found["steps"]] == ["1.0", "guess+lang"] and all(step["why"] for step in found["steps"])
    assert found["hints"] == {"lv": 4, "ru": 3} and found["labels"] == {}
    assert found["held_bytes"] == len(DOUBTFUL) and found["sample"] == {"bytes": 5, "read": 5, "beyond_ascii": 1, "pieces": 1, "whole": True}
    assert (found["first"]["charset"], found["first"]["language"], found["second"]["charset"]) == ("windows-1257", "lv", "iso-8859-13")
    assert found["is_text"] is True and found["hinted"] is True
    readings = found["readings"]
    assert [reading["behind"] for reading in readings] == sorted(reading["behind"] for reading in readings)
    assert found["margin"] == pytest.approx(readings[1]["behind"], abs=0.01)
    for reading in readings:
        assert reading["cost"] == pytest.approx(reading["text"] + reading["rare"] - reading["label"] - reading["hint"], abs=0.03)
        assert reading["hint"] == found["hints"].get(reading["language"], 0)
    tried = {reading["charset"]: reading["decodes"] for reading in readings}
    assert tried["windows-1250"] is True and tried["shift_jis"] is False


def test_explain_weighs_labels(write):
    found = check(write("feed.xml", document("Привет, новости", "koi8-r").encode("windows-1251")), "--explain",
                  "-t", "text/xml; charset=iso-8859-1")["explain"]
    assert found["labels"] == {"koi8-r": 20, "windows-1252": 4}
    assert found["first"]["charset"] == "windows-1251" and found["steps"][-1]["step"] == "guess"
    # What a label weighs grows with the bytes beyond ASCII that were read
    weights = {reading["label"] for reading in found["readings"] if reading["charset"] == "koi8-r"}
    assert weights and all(20 < weight < 24 for weight in weights)


def test_explain_of_a_challenger(write):
    """iso-8859-2 by its label and its letters, windows-1250 by its quotes, which are few"""
    data = document("Żółć, którędy będę mówił, gdzie kończy, Łódz „Żółć”").encode("windows-1250")
    path = write("feed.xml", data)
    found = check(path, "--explain", "-t", "text/xml; charset=iso-8859-2")["explain"]
    text = run("check", "--explain", "-t", "text/xml; charset=iso-8859-2", path)[0].decode()
    assert found["sample"]["read"] <= found["sample"]["bytes"]
    kept = {reading["charset"] for reading in found["readings"] if reading["kept"]}
    assert found["challengers"] and not kept & {reading["charset"] for reading in found["challengers"]}
    assert re.search(r"\n +challenger +windows-1250, pl, -?[\d.]+ nats behind, ", text)


@pytest.mark.parametrize("data, why", [
    (b"<rss/>", "all held bytes are ASCII"), (document("é").encode(), "the bytes are UTF-8"),
    (document("é", "utf-16").encode("utf-16"), "the mark or the pattern of the bytes decides"),
    (document("a – b", "windows-1251").encode("windows-1251"), "nothing but signs and quotes under a label: it stands"),
], ids=["ascii", "utf-8", "utf-16", "signs"])
def test_explain_where_nothing_is_weighed(write, data, why):
    path = write("feed.xml", data)
    found = check(path, "--explain")["explain"]
    assert found["unweighed"] == why and "readings" not in found and found["steps"]
    assert re.search(rf"weighed +no: {why}\n", run("check", "--explain", path)[0].decode())


def test_explain_reads_as_text(write):
    text = run("check", "--explain", "--content-language", "lv", write("feed.xml", DOUBTFUL))[0].decode()
    text = text[text.index("\nexplain "):]
    assert "the other policies go by labels only" in text
    assert re.search(r"\n +guess\+lang +the text itself, and hints", text)
    assert re.search(r"\n +sample +bytes 5, beyond ASCII 1, pieces 1, ", text)
    assert re.search(r"\n +hints +lv 4\.0 nats\n +labels +-\n +likeliest +windows-1257, lv, ", text)
    assert re.search(r"\n +second +iso-8859-13, lv, 0\.\d nats behind\n", text)
    assert re.search(r"\n +windows-1257 +lv +0\.0 .* 4\.0 +5 yes +yes\n", text)


def test_policies_and_charsets_are_listed():
    policies, _ = run("policies")
    assert [line.split()[0] for line in policies.decode().splitlines()] == POLICIES
    charsets, _ = run("charsets")
    rows = {line.split()[0]: line.split()[1:] for line in charsets.decode().splitlines()}
    assert "cp1251" in rows["windows-1251"]
    assert "latin1" in rows["windows-1252"]
    assert not any("utf-7" in row for row in rows.values())
    assert os.linesep.encode() in charsets


def test_a_converter_that_is_not_there_is_told(tmp_path):
    """Where glibc's files are incomplete: here one of them is said to be a file that does not exist."""
    (tmp_path / "gconv-modules").write_text("module KOI8-R// INTERNAL NOWHERE 1\nmodule INTERNAL KOI8-R// NOWHERE 1\n")
    _, errors = run("charsets", status=2, env={**os.environ, "GCONV_PATH": str(tmp_path)})
    assert "no converter for 1 of these, the first is koi8-r" in errors


@pytest.mark.parametrize("args, word", [
    (["help"], "usage: utfeed COMMAND"), (["--help"], "usage: utfeed COMMAND"), (["-h"], "usage: utfeed COMMAND"),
    (["help", "--help"], "usage: utfeed COMMAND"), (["help", "serve"], "--sniff-bytes SIZE"), (["help", "check"], "usage: utfeed check"),
    (["help", "normalise"], "usage: utfeed normalise"), (["help", "policies"], "usage: utfeed policies"), (["charsets", "-h"], "usage: utfeed charsets"),
    (["version"], "utfeed "), (["--version"], "utfeed "), (["-V"], "utfeed "),
])
def test_help_and_version(args, word):
    out, errors = run(*args)
    assert word in out.decode() and not errors


def test_help_for_what_is_no_command():
    out, errors = run("help", "nonsense", status=2)
    assert not out and "unknown command 'nonsense'" in errors
