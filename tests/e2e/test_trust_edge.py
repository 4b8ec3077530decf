"""Where utfeed meets those in front of it (issue 12): what an untrusted origin's fields may do there (row 18), and what is said of
passwords and loaded again of a configuration (row 20)."""
import subprocess

import pytest

from feeds import SMALL
from proxy import BINARY
from wire import message

SECRET = "hunter2"


def serve(*args, env=None, config=None, tmp_path=None):
    if config is not None:
        file = tmp_path / "utfeed.conf"
        file.write_text(config)
        args = ("-c", str(file), *args)
    return subprocess.run([BINARY, "serve", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=env or {}, timeout=20, check=False)


@pytest.mark.parametrize("target", [f"http://u:{SECRET}@h.test/", f"/http://u:{SECRET}@h.test/", f"/http:/u:{SECRET}@h.test/",
                                    f"/?url=http://u:{SECRET}@h.test/", f"/?url=http%3a%2f%2fu%3A{SECRET}%40h.test",
                                    f"http://u:p/{SECRET}@h.test/", f"u:{SECRET}@h.test:443"])
@pytest.mark.parametrize("method", ["GET", "CONNECT"])
def test_trust_20_a_refused_urls_password_is_told_to_nobody(start, target, method):
    proxy = start(None)
    got = proxy.client().ask(target, method=method).response()
    assert got.status in (400, 405) and SECRET not in f"{got.fields}{got.body}"
    line = proxy.access_lines(1)[0].decode()
    assert f" {method} " in line and SECRET not in line and ("***@h.test" in line or f" {method} - " in line)
    proxy.stop()
    assert SECRET not in proxy.err.text()


def test_trust_20_a_name_with_an_at_sign_in_a_path_is_logged_as_it_is(proxy, origin):
    client = proxy.client().ask("/@user/feed.xml")
    origin.receive().answer(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert client.response().status == 204
    assert b" /@user/feed.xml 204 " in proxy.access_lines(1)[0]


@pytest.mark.parametrize("args, env", [
    ([f"--cache-redis-pasword={SECRET}"], {}), (["--cache-redis-password=", SECRET], {}), ([f"-p{SECRET}"], {}),
    (["--route", f"/=http://u:{SECRET}@h/"], {}), (["--route", f"/=http://h htp-proxy=http://u:{SECRET}@h:1"], {}),
    (["--route", f"/ http-proxy=http://u:{SECRET}@h:1"], {}), ([], {"UTFEED_ROUTE": f"/=http://u:{SECRET}@h/"}),
    ([], {"UTFEED_ALLOW": f"u:{SECRET}@h"}),
])
def test_trust_20_a_refused_options_password_is_told_to_nobody(args, env):
    done = serve(*args, env=env)
    assert done.returncode and done.stderr and SECRET.encode() not in done.stderr + done.stdout


@pytest.mark.parametrize("line", [f"cache-redis-pasword = {SECRET}", f"cache-redis-password {SECRET}", f"[route //u:{SECRET}@h/]",
                                  f"[route /]\norigin = http://u:{SECRET}@h/", f"http://u:{SECRET}@h/?a=b"])
def test_trust_20_a_refused_lines_password_is_told_to_nobody(line, tmp_path):
    done = serve(config=line + "\n", tmp_path=tmp_path)
    assert done.returncode and b"utfeed.conf:" in done.stderr and SECRET.encode() not in done.stderr + done.stdout


README = """
listen = 127.0.0.1:0
[route //reader.example.org/old/]     # for one Host only
origin = http://10.0.0.5/
charset = koi8-r
user-agent = "old reader/1.0"
"""


@pytest.mark.parametrize("config", [README, README.replace("old reader/1.0", 'a # \\"b\\" \\\\'), README.replace("old reader/1.0", " ; "),
                                    README.replace("10.0.0.5/", "10.0.0.5/\nhttp-proxy = http://u:p w@h:1")])
def test_trust_20_print_config_loads_again(config, tmp_path):
    first = serve("--print-config", config=config, tmp_path=tmp_path)
    assert first.returncode == 0, first.stderr
    second = serve("--print-config", config=first.stdout.decode(), tmp_path=tmp_path)
    assert second.returncode == 0, second.stderr

    def values(text):
        return [line for line in text.splitlines() if not line.startswith(b"#")]
    assert values(first.stdout) == values(second.stdout)


def test_trust_20_an_inline_route_takes_quotes(start, another):
    """By a flag as by a variable, where ; separates routes."""
    origin = another()
    for how in ({"args": ("--route", f'/={origin.url} user-agent="my reader; 1.0"')},
                {"env": {"UTFEED_ROUTE": f'/x={origin.url}; /={origin.url} user-agent="my reader; 1.0"'}}):
        proxy = start(None, *how.pop("args", ()), **how)
        client = proxy.client().ask("/f")
        upstream = origin.receive()
        assert upstream.request["User-Agent"] == "my reader; 1.0"
        upstream.answer(b"HTTP/1.1 204 No Content\r\n\r\n")
        assert client.response().status == 204


# To a web server or a cache in front; to a browser about the site it believes to talk to
FRONT = ["X-Accel-Redirect: /internal/secret", "X-Accel-Expires: 86400", "X-Sendfile: /etc/passwd", "X-Lighttpd-Send-File: /etc/passwd",
         "X-Reproxy-URL: http://10.0.0.1/", "X-LiteSpeed-Location: /internal", "Surrogate-Control: max-age=86400", "Surrogate-Key: a"]
SITE = ["Set-Cookie: sid=evil; Path=/", "Clear-Site-Data: \"*\"", "Strict-Transport-Security: max-age=31536000", "Service-Worker-Allowed: /",
        "Public-Key-Pins: max-age=9", "Access-Control-Allow-Origin: *", "Access-Control-Allow-Credentials: true", "Refresh: 0;url=/",
        "Report-To: {}", "NEL: {}", "Accept-CH: UA", "Origin-Trial: x", "WWW-Authenticate: Basic realm=\"feeds\"",
        "X-Content-Type-Options: sniff", "Speculation-Rules: \"/r\""]
HTML = b"<!doctype html><script>alert(origin)</script>"
XHTML = b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></html>'
WAYS = {"gateway": "/{url}/x", "query": "/?url={url}/x", "forward": "{url}/x", "route": "/x"}
SANDBOX = {"Content-Security-Policy": ["sandbox"], "X-Content-Type-Options": ["nosniff"]}


def kept(way):
    return {"route": {*FRONT, *SITE}, "forward": {*SITE}}.get(way, set())


def names(fields):
    return {field.split(":")[0].lower() for field in fields}


@pytest.mark.parametrize("status", ["200 OK", "404 Not Found", "401 Unauthorized"])
@pytest.mark.parametrize("content_type, body", [("text/html", HTML), ("application/xhtml+xml", XHTML), ("image/svg+xml", XHTML),
                                                ("application/rss+xml", SMALL)],
                         ids=["html", "xhtml", "svg", "feed"])
@pytest.mark.parametrize("way", WAYS)
def test_trust_18_an_origins_fields_do_not_reach_those_in_front(start, origin, way, content_type, body, status):
    """Whatever the status, whatever becomes of the body; what a forward proxy's client gets is that origin's own to say."""
    proxy = start(origin if way == "route" else None)
    got, _ = proxy.through(origin, message(status, f"Content-Type: {content_type}", *FRONT, *SITE, body=body),
                           WAYS[way].format(url=origin.url))
    foreign = way in ("gateway", "query")
    assert got.names() & names(FRONT + SITE) == names(kept(way)) | ({"x-content-type-options"} if foreign else set())
    for field, value in SANDBOX.items():
        assert (got.all(field) == value) == foreign, field


@pytest.mark.parametrize("how", ["stored", "refreshed", "part", "304"])
def test_trust_18_nor_do_those_of_a_stored_response(start, origin, how):
    """What is stored, refreshed by a 304, asked for in part or by its validator has the same head; each way in has its own."""
    proxy = start(origin, "--cache", "on")
    fields = ["Content-Type: text/html", 'ETag: "1"', *FRONT, *SITE]
    life = "Cache-Control: public, max-age=0" if how == "refreshed" else "Cache-Control: public, max-age=60"
    url = f"/{origin.url}/page"
    proxy.through(origin, message("200 OK", *fields, life, body=HTML), url)
    client = proxy.client().ask(url, *{"part": ["Range: bytes=0-9"], "304": ['If-None-Match: "1"']}.get(how, []))
    if how == "refreshed":
        origin.receive().answer(message("304 Not Modified", 'ETag: "1"', *FRONT, *SITE, life, length=False))
    got = client.response()
    assert got.status == {"part": 206, "304": 304}.get(how, 200) and ("hit" in got["Cache-Status"] or how == "refreshed")
    assert got.names() & names(FRONT + SITE) == {"x-content-type-options"}
    for field, value in SANDBOX.items():
        assert got.all(field) == value, field
    client = proxy.client().ask(f"{origin.url}/page")
    origin.receive().answer(message("200 OK", *fields, body=HTML))
    assert client.response()["Set-Cookie"] == "sid=evil; Path=/"


def test_trust_18_a_redirect_away_from_a_routes_origin_leaves_its_rights_behind(start, origin, another):
    """What the operator chose is the route's own origin; where that one leads to is anybody's."""
    elsewhere = another()
    proxy = start(None, "--route", f"/={origin.url} follow-redirects=on")
    for to, all_kept in ((f"{origin.url}/b", True), (f"{elsewhere.url}/b", False)):
        client = proxy.client().ask("/a")
        origin.receive().answer(message("302 Found", f"Location: {to}"))
        (origin if all_kept else elsewhere).receive().answer(message("200 OK", "Content-Type: text/html", *FRONT, *SITE, body=HTML))
        got = client.response()
        assert (got["X-Accel-Redirect"] is not None) == all_kept and (got["Set-Cookie"] is not None) == all_kept
        assert (got.all("Content-Security-Policy") == ["sandbox"]) != all_kept


def test_trust_18_an_interim_response_says_no_more_than_a_final_one(proxy, origin):
    client = proxy.client().ask(f"/{origin.url}/x")
    upstream = origin.receive()
    upstream.answer(message("103 Early Hints", "Link: </a>; rel=preload", *FRONT, *SITE, length=False) + message("200 OK", body=b"x"))
    got = client.response()
    assert got.status == 200 and not names(FRONT + SITE) & set().union(*[hint.names() for hint in got.interim], set())


@pytest.mark.parametrize("target", ["/nowhere/https:", "/http://[/", "/http://192.168.0.1/"])
def test_trust_18_answers_of_utfeeds_own_are_boxed_too(start, target):
    got = start(None).get(target)
    assert got.status >= 400
    for field, value in SANDBOX.items():
        assert got.all(field) == value, field
