"""utfeed report, from access logs to publishers; utfeed opml, which leads subscription lists through a gateway."""
import bz2
import csv
import gzip
import io
import json
import lzma
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from pages import Site
from proxy import BINARY, SANITIZER
from schema import fits
from test_admin import Admin
from wire import PATIENCE, message


def run(*args, body=b"", status=0):
    done = subprocess.run([BINARY, *args], input=body, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    errors = done.stderr.decode("latin-1")
    assert not SANITIZER.search(errors), errors
    assert done.returncode == status, errors
    return done.stdout, errors


def report(log, *args):
    return fits(json.loads(run("report", "--json", *args, body=log)[0]), "report")


def line(target, charset="utf-8", was="-", status=200, repairs=0, malformed=0, end="done", route="-"):
    return (f"2026-11-21T04:34:26.545Z 127.0.0.1:46192 GET {target} {status} 466 auto:2.5 charset={charset} was={was} reason=- repairs={repairs} "
            f"malformed={malformed} time=0.748ms end={end} id=c17.3 route={route}\n").encode()


LOG = b"".join([
    line("/https://b.test/1", "windows-1251", "iso-8859-1", repairs=1), line("/https://b.test/1", "windows-1251", "iso-8859-1", repairs=1),
    line("/https://b.test/2", "koi8-r", "utf-8", repairs=1), line("/https://b.test/3"),
    line("/https://a.test/1", malformed=7, repairs=2), line("/https://right.test/1"), line("/https://right.test/2", "windows-1251", repairs=1),
    line("/https://down.test/1", "-", status=504), line("/https://down.test/1", "-", status=502),
    b'{"method":"GET","target":"/https://json.test/1","status":200,"charset":"utf-8","was":"us-ascii","repairs":0,"malformed":0,"end":"done"}\n',
])


def test_publishers_by_what_is_wrong():
    found = report(LOG)
    assert (found["lines"], found["unread"], found["left_out"]) == (10, 0, 0)
    assert [each["publisher"] for each in found["publishers"]] == ["b.test", "json.test", "a.test", "down.test"]
    worst = found["publishers"][0]
    assert (worst["feeds"], worst["mislabelled"], worst["requests"]) == (3, 2, 4)
    assert [(feed["feed"], feed["label"], feed["is"], feed["requests"]) for feed in worst["bad_feeds"]] == [
        ("https://b.test/1", "iso-8859-1", "windows-1251", 2), ("https://b.test/2", "utf-8", "koi8-r", 1)]
    assert found["publishers"][2]["malformed"] == 7 and found["publishers"][3]["errors"] == 2


@pytest.mark.parametrize("charset, expected", [("utf-8", 0), ("us-ascii", 1), ("gb18030", 1), ("windows-1251", 1), ("x-mac-cyrillic", 1)])
def test_one_repair_is_the_declaration_that_no_longer_fits(charset, expected):
    """A feed in another charset than UTF-8 is right with that one, and has to be mended with two."""
    for repairs in range(4):
        found = report(line("/https://a.test/1", charset, repairs=repairs))
        assert len(found["publishers"]) == (repairs > expected), repairs


def test_a_table():
    text = run("report", body=LOG)[0].decode("ascii").splitlines()
    assert text[0].split() == ["mislabelled", "feeds", "repairs", "malformed", "errors", "requests", "publisher"]
    assert text[1].split() == ["2", "3", "2", "0", "0", "4", "b.test"] and len(text) == 5
    text = run("report", "--feeds", body=LOG)[0].decode("ascii").splitlines()
    assert text[1].split() == ["iso-8859-1", "windows-1251", "1", "0", "0", "2", "https://b.test/1"] and len(text) == 6


def test_several_logs(tmp_path):
    (tmp_path / "a.log").write_bytes(LOG)
    (tmp_path / "b.log").write_bytes(LOG)
    found = json.loads(run("report", "--json", str(tmp_path / "a.log"), str(tmp_path / "b.log"))[0])
    assert found["lines"] == 20 and found["publishers"][0]["feeds"] == 3
    assert "/nowhere" in run("report", "/nowhere/at/all", status=2)[1]


COMPRESSED = {"zcat": gzip.compress(LOG), "xzcat": lzma.compress(LOG), "bzcat": bz2.compress(LOG), "zstdcat": b"\x28\xb5\x2f\xfd" + LOG}


@pytest.mark.parametrize("program", COMPRESSED)
def test_a_compressed_log(tmp_path, program):
    """The message has the command that reads it."""
    log = tmp_path / "access.log.1"
    log.write_bytes(COMPRESSED[program])
    assert run("report", str(log), status=2) == (b"", f"utfeed: {log}: is compressed; write: {program} {log} | utfeed report\n")
    assert run("report", body=COMPRESSED[program], status=2) == (b"", f"utfeed: standard input: is compressed; write: {program} FILE | utfeed report\n")


@pytest.mark.parametrize("first", ["=", "+", "-", "@"])
def test_no_cell_is_a_formula(first):
    log = line(f'/{first}cmd"x",y', was="us-ascii", route=f"{first}HYPERLINK(1)")
    for args in ([], ["--feeds"]):
        rows = list(csv.reader(io.StringIO(run("report", "--csv", *args, body=log)[0].decode("ascii"), newline="")))
        assert len(rows) == 2 and len(rows[0]) == len(rows[1])
        assert not any(cell[:1] in ("=", "+", "-", "@") for cell in rows[1])
        assert rows[1][0] == f"'{first}HYPERLINK(1)"
    assert rows[1][1] == f'/{first}cmd"x",y'


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r", "\n", " =", "\uff1d", "\uff0b", "\uff0d", "\uff20", '"=', ",=", ";="], ids=ascii)
def test_no_cell_of_a_list_is_a_formula(first):
    """What OWASP names (CSV injection), in every text of a stranger; a separator or a quote in it begins no cell."""
    evil = first + "cmd|' /C calc'!A0"
    feed = {"url": evil, "requests": 1, "errors": 1, "status": 200, "charset": evil[:20], "was": "x" + evil[:20], "route": evil, "origin_host": evil,
            "repairs": 3, "malformed": 0, "last_error": evil[:20], "last_error_at": 1}
    body = json.dumps({"total": 1, "feeds": [feed]}, separators=(",", ":")).encode()
    for args in ([], ["--feeds"], ["--origins"]):
        text = run("report", "--csv", *args, body=body)[0].decode("ascii")
        rows = list(csv.reader(io.StringIO(text, newline="")))
        assert len(rows) == 2 and len(rows[0]) == len(rows[1]) and text.count("\r\n") == 2 == text.count("\n")
        assert not any(cell.lstrip(" ")[:1] in tuple("=+-@\t\r\n") for cell in rows[1]), rows[1]
        assert not re.search("; *[=+@-]", text)


def test_the_list_of_a_running_utfeed():
    feeds = [{"url": "https://a.test/\"}{[", "requests": 7, "hits": 1, "errors": 2, "bytes": 1, "expires": None, "status": 200, "rule": "auto:2.5",
              "charset": "utf-8", "was": "us-ascii", "reason": None, "mislabelled": True, "repairs": 3, "malformed": 0},
             {"url": "http://b.test/", "requests": 1, "errors": 0, "status": 200, "charset": "koi8-r", "was": None, "repairs": 2, "malformed": 9}]
    for answer in (json.dumps({"total": 2, "feeds": feeds}, separators=(",", ":")), json.dumps({"total": 2, "feeds": feeds * 400},
                                                                                               separators=(",", ":")) + "\n"):
        found = report(answer.encode())
        assert [each["publisher"] for each in found["publishers"]] == ["a.test", "b.test"] and found["unread"] == 0
    assert (found["publishers"][0]["requests"], found["publishers"][0]["errors"], found["lines"]) == (2800, 800, 800)
    assert report(json.dumps(json.loads(answer)).encode())["publishers"] == found["publishers"]
    assert report(answer.encode() + LOG)["lines"] == 810


@pytest.mark.parametrize("indent", [0, 2, 8, "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_a_list_in_many_lines(indent, newline):
    """As jq and json.tool print it, before and behind lines of a log."""
    feeds = [{"url": "https://a.test/\"}{[ \\", "requests": 7, "errors": 2, "status": 200, "rule": "auto:2.5/decl", "charset": "koi8-r",
              "was": "utf-8", "repairs": 0, "malformed": 0, "history": [{"at": 1}, {"at": 2}] * 300}] * 3
    text = json.dumps({"total": 3, "feeds": feeds, "next": "]}\"{ next"}, indent=indent).replace("\n", newline) + newline
    found = report(text.encode())
    [one] = found["publishers"]
    assert (one["publisher"], one["requests"], one["errors"], found["lines"], found["unread"]) == ("a.test", 21, 6, 3, 0)
    mixed = report(LOG + text.encode() + text.encode() + LOG)
    assert mixed["lines"] == 6 + 2 * report(LOG)["lines"] and mixed["unread"] == 2 * report(LOG)["unread"]
    assert report(text[:len(text) // 2].encode() + b"\n")["lines"] == 2


def test_the_list_that_utfeed_answers(start, origin):
    """`curl .../api/feeds | utfeed report`."""
    admin = Admin(start(None, "--admin-listen", "127.0.0.1:0"))
    body = "<?xml version='1.0' encoding='windows-1251'?><rss>привет</rss>".encode("cp1251")
    admin.proxy.through(origin, message("200 OK", "Content-Type: text/xml; charset=iso-8859-1", body=body), f"/{origin.url}/a")
    admin.metrics_after(1)
    found = report(admin.ask("/api/feeds").body)
    assert [feed["label"] for each in found["publishers"] for feed in each["bad_feeds"]] == ["iso-8859-1"]


@pytest.mark.parametrize("kind", ["list", "text", "json"])
def test_how_origins_do(start, origin, kind):
    """From the list of a running utfeed, and from its log, which knows neither pauses nor what comes next."""
    site = Site(origin)
    site["/f"] = message("200 OK", "Content-Type: text/xml", "Cache-Control: max-age=0", body=b"<rss><channel><title>a</title></channel></rss>")
    log = ("--log-format", kind) if kind != "list" else ()
    proxy = start(None, "--cache", "on", "--admin-listen", "127.0.0.1:0", "--pause", "on", *log, "--route", f"/={origin.url}")
    admin = Admin(proxy)
    assert proxy.get("/f").status == 200
    site["/f"] = message("503 X", "Retry-After: 600")
    for _ in range(3):
        assert proxy.get("/f").status == 200
    admin.metrics_after(4)
    body = admin.ask("/api/feeds").body if kind == "list" else b"".join(line + b"\n" for line in proxy.access_lines(4))
    found = report(body, "--origins")
    [one] = found["feeds"]
    assert found["publishers"][0]["bad_feeds"] == [one]
    assert one["last_good"] <= one["kept_since"] <= one["last_error_at"] and one["last_error"] == "503"
    assert bool(one["paused_until"]) == bool(one["next_fetch"]) == (kind == "list")
    assert one["saved"] == {"list": 2, "text": 0, "json": 2}[kind]
    table = run("report", "--origins", body=body)[0].decode("ascii").splitlines()
    assert table[0].split()[:2] == ["last_good", "kept_since"] and " 503 " in table[1] and table[1].endswith("/f") and len(table) == 2
    rows = list(csv.reader(io.StringIO(run("report", "--csv", "--origins", body=body)[0].decode("ascii"), newline="")))
    assert len(rows) == 2 and len(rows[0]) == len(rows[1]) and rows[1][-2] == "503" and rows[1][2].endswith("Z")


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize("hits", [False, True], ids=["fetched", "hits"])
def test_publishers_of_routes(start, origin, hits, form):
    """The lines name the host of the origin, also where nothing was fetched."""
    body = "<?xml version='1.0' encoding='windows-1251'?><rss>привет</rss>".encode("cp1251")
    host = origin.url.split("/")[2]
    proxy = start(None, "--cache", "on", "--log-format", form, "--route", f"/one/={origin.url}/a/ name=first",
                  "--route", f"/two/=http://localhost:{origin.port}/b/")
    kind = message("200 OK", "Content-Type: text/xml; charset=iso-8859-1", "Cache-Control: max-age=600", body=body)
    for path in ("/one/f", "/two/f"):
        proxy.through(origin, kind, path)
        if hits:
            assert proxy.get(path).status == 200
    log = proxy.access_lines(4 if hits else 2)
    if hits:
        log = log[1::2]
    found = report(b"".join(line + b"\n" for line in log))
    assert sorted(each["publisher"] for each in found["publishers"]) == sorted([host, f"localhost:{origin.port}"])
    assert {feed["feed"] for each in found["publishers"] for feed in each["bad_feeds"]} == {"/one/f", "/two/f"}


def test_a_combined_log():
    """What the log lacks, and what writes it; the lines of other formats count all the same."""
    combined = b'127.0.0.1 - - [21/Nov/2026:03:04:05 +0000] "GET /f HTTP/1.1" 200 12 "-" "reader/1"\n'
    out, errors = run("report", "--json", body=combined * 2 + LOG + b"what else\n")
    found = fits(json.loads(out), "report")
    assert (found["lines"], found["unread"]) == (13, 3) and found["publishers"][0]["publisher"] == "b.test"
    assert "2 of 13 lines are of a combined log" in errors and "log-format = json" in errors
    assert "1 of 13 lines are not of an access log" in errors


def test_hostile_lines():
    lines = [b"\x1b[2J\xff\n", b"\0\n", b"{" * 5000 + b"\n", b"x" * 100_000 + b"\n", b"a b GET /http:// 200 1 r charset=x was=y\n",
             b"\x9b b GET /http://\x1b]0;a\x07/ 200 1 auto charset=utf-8\x1b was=us-ascii\n", b"\n", b"no end"]
    log = b"".join(lines) + b"\n" + LOG
    for args in ([], ["--feeds"], ["--origins"], ["--csv"], ["--csv", "--origins"], ["--json"]):
        out, errors = run("report", *args, body=log)
        assert not re.search("[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]", out.decode())
        assert "lines are not of an access log" in errors
    assert [each["publisher"] for each in report(log)["publishers"]][0] == "b.test"


def test_the_account_is_bounded():
    """More feeds than there is room for: the rest is left out and told, not kept."""
    log = b"".join(line(f"/http://h{number % 50}.test/{number}", was="us-ascii") for number in range(100_500))
    out, errors = run("report", "--json", body=log)
    found = json.loads(out)
    assert sum(each["feeds"] for each in found["publishers"]) == 100_000 and found["left_out"] == 500
    assert "500 lines are left out" in errors


def test_the_log_that_utfeed_writes(proxy, origin):
    body = "<?xml version='1.0' encoding='windows-1251'?><rss>привет</rss>".encode("cp1251")
    proxy.through(origin, message("200 OK", "Content-Type: text/xml; charset=iso-8859-1", body=body), f"/{origin.url}/feed")
    proxy.through(origin, message("200 OK", "Content-Type: text/html", body=b"<html></html>"), f"/{origin.url}/page")
    found = report(b"".join(proxy.access_lines(2)))
    assert found["unread"] == 0
    assert [feed["label"] for each in found["publishers"] for feed in each["bad_feeds"]] == ["iso-8859-1"]


# ---- OPML ----

LIST = ("<?xml version='1.0' encoding='{charset}'?>\n<opml version='2.0'><!-- xmlUrl='http://no/' --><head><title>Мои ленты</title></head><body>\n"
        "\t<outline text='Новости' xmlUrl='https://a.test/feed?b=1&amp;c=2' htmlUrl='https://a.test/'/>\n"
        "\t<outline text=\"x\" xmlUrl=\"http://b.test/\"></outline>\n</body></opml>\n")
LED = LIST.replace("xmlUrl='https://a", "xmlUrl='http://127.0.0.1:8080/https://a").replace("xmlUrl=\"http://b", "xmlUrl=\"http://127.0.0.1:8080/http://b")


@pytest.mark.parametrize("charset, codec", [("utf-8", "utf-8"), ("windows-1251", "cp1251"), ("utf-16", "utf-16"), ("koi8-r", "koi8-r")])
@pytest.mark.parametrize("gateway", ["http://127.0.0.1:8080", "http://127.0.0.1:8080//"])
def test_a_list_of_any_encoding(charset, codec, gateway, tmp_path):
    path = tmp_path / "list.opml"
    path.write_bytes(LIST.format(charset=charset).encode(codec))
    wanted = LED.format(charset="utf-8").encode()
    if charset != "utf-8":
        wanted = wanted.replace(b"'utf-8'", b'"UTF-8"')
    assert run("opml", "--gateway", gateway, str(path)) == (wanted, "")
    assert run("opml", "--gateway", gateway, body=wanted)[0] == wanted
    urls = [outline.get("xmlUrl") for outline in ElementTree.fromstring(wanted).iter("outline")]
    assert urls == ["http://127.0.0.1:8080/https://a.test/feed?b=1&c=2", "http://127.0.0.1:8080/http://b.test/"]


def test_a_led_url_is_served(start, origin):
    proxy = start(None)
    listed = f"<opml><outline xmlUrl='{origin.url}/feed?a=1&amp;b=2'/></opml>".encode()
    led = run("opml", "--gateway", f"http://127.0.0.1:{proxy.port}/", body=listed)[0]
    url = ElementTree.fromstring(led)[0].get("xmlUrl")
    target = url.removeprefix(f"http://127.0.0.1:{proxy.port}")
    got, request = proxy.through(origin, message("200 OK", "Content-Type: text/xml", body=b"<rss/>"), target)
    assert got.status == 200 and request.line == "GET /feed?a=1&b=2 HTTP/1.1"


@pytest.mark.parametrize("data", [b"", b"<rss/>", b"<html></html>", b"{}", b"\x89PNG", b"opml", "<?xml version='1.0'?><a><opml/></a>".encode("utf-16")])
def test_what_is_no_list(data):
    out, errors = run("opml", "--gateway", "http://a:1", body=data, status=1)
    assert out == b"" and "is not a subscription list" in errors


def test_what_cannot_be_led_is_told():
    out, errors = run("opml", "--gateway", "http://a:1", body=b"<opml><outline xmlUrl='feed.xml'/></opml>")
    assert out == b"<opml><outline xmlUrl='feed.xml'/></opml>" and "0 rewritten; 1 left" in errors


@pytest.mark.parametrize("args", [["opml"], ["opml", "--gateway", "a"], ["opml", "--gateway", "ftp://a/"], ["opml", "--gateway", "http://a/?b"],
                                  ["opml", "--gateway", "http://a/", "b", "c"], ["opml", "--what"], ["opml", "--gateway", "http://a", "/nowhere"],
                                  ["report", "--what"]], ids=" ".join)
def test_wrong_use(args):
    assert run(*args, status=2)[0] == b""


@pytest.mark.parametrize("command", ["opml", "report"])
def test_help(command):
    assert run(command, "--help")[0].decode().startswith(f"usage: utfeed {command} ")
