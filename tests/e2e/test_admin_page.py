"""The admin listener's pages for people: what they show, what they keep out, and that their policy lets them through."""
import base64
import hashlib
import re

import pytest

from pages import FRESH, Site, page
from peers import Client
from test_admin import KOI8, WORKERS, Admin, listed

PAGES = ["/", "/feeds", "/check"]


@pytest.fixture(scope="module")
def shown(start_once, old_origin):
    """An admin listener whose utfeed was asked for feeds with hostile names."""
    site = Site(old_origin)
    site["*"] = page(FRESH, body=KOI8, kind="text/xml; charset=iso-8859-1")
    admin = Admin(start_once(old_origin, "--cache", "on", "--admin-listen", "127.0.0.1:0", "--workers", WORKERS))
    for path in ("/plain", "/a?q=%22%3E%3Cscript%3E&x='y", "/b"):
        assert admin.proxy.get(path).status == 200
    listed(admin, least=3)
    return admin


def text(admin, path):
    got = admin.ask(path)
    assert got.status == 200 and got["Content-Type"] == "text/html; charset=utf-8"
    return got, got.body.decode()


def form(parts):
    """A body of multipart/form-data: (name, file name or None, bytes)."""
    body = b""
    for name, file, content in parts:
        body += b'--b0undary\r\nContent-Disposition: form-data; name="%s"' % name.encode()
        body += (b'; filename="%s"' % file.encode() if file else b"") + b"\r\n\r\n" + content + b"\r\n"
    return body + b"--b0undary--\r\n"


def send(admin, path, body, kind="multipart/form-data; boundary=b0undary"):
    client = Client(admin.port)
    try:
        client.ask(path, f"Content-Type: {kind}", f"Content-Length: {len(body)}", method="POST", host="localhost").send(body)
        return client.response()
    finally:
        client.close()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_let_through_by_its_own_policy(shown, path):
    """Its styles are those that the policy names; nothing in it could be fetched or run."""
    got, html = text(shown, path)
    styles = [base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in re.findall(r"<style>(.*?)</style>", html, re.S)]
    assert re.findall(r"'sha256-([^']+)'", got["Content-Security-Policy"]) == styles and len(styles) == 2
    assert "default-src 'none'" in got["Content-Security-Policy"] and "frame-ancestors 'none'" in got["Content-Security-Policy"]
    assert not re.search(r"<script|<link|<img|<iframe| on\w+=| style=|javascript:|https?://(?!127\.0\.0\.1)[^<]*\"", html)
    assert len(html) < 60000


def test_a_name_of_a_feed_is_no_markup(shown):
    _, html = text(shown, "/feeds")
    assert "<script" not in html and "%22%3E%3Cscript%3E" in html
    link = re.search(r'href="(/feed\?id=\d+)"><bdi>[^<]*script', html)[1]
    _, one = text(shown, link)
    assert "%22%3E%3Cscript%3E" in one and "koi8-r" in one and "iso-8859-1" in one and "auto:2.5/decl" in one


def test_a_search_is_no_markup(shown):
    _, html = text(shown, "/feeds?search=%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
    assert "<script" not in html and "0 of 0 feeds" in html


def test_the_table_is_sorted_and_searched(shown):
    _, html = text(shown, "/feeds?sort=url&search=PLAIN&mislabelled=1")
    assert "1 of 1 feeds" in html and 'aria-sort="ascending"' in html and " checked" in html
    assert shown.ask("/feeds?sort=colour").status == 400
    assert shown.ask("/feed?id=99").status == 404 and shown.ask("/feed").status == 404


def test_the_overview(shown):
    _, html = text(shown, "/")
    for word in ("serving", "Requests", "Hits", "The last hour", "3 of 3 feeds", 'aria-current="page"'):
        assert word in html, word
    assert html.count("<svg role=\"img\"") == 5


def test_a_feed_is_checked(shown):
    got = send(shown, "/check", form([("file", "weather.xml", KOI8), ("type", None, b"text/xml; charset=iso-8859-1")]))
    html = got.body.decode()
    assert got.status == 200 and "weather.xml" in html and "Погода на завтра" in html and "charset=koi8-r;was=iso-8859-1" in html


def test_a_hostile_feed_stays_text(shown):
    evil = b"<?xml version='1.0' encoding='\"><script>alert(1)</script>'?><rss><script>alert(2)</script>\xe9</rss>"
    got = send(shown, "/check", form([("file", '<script>alert(3)</script>"', evil), ("type", None, b"text/xml; charset=<script>")]))
    assert got.status == 200 and b"<script" not in got.body.lower()


# The body, its type, and the status
FORMS = {
    "no file": (form([("type", None, b"text/xml")]), "multipart/form-data; boundary=b0undary", 400),
    "an empty file": (form([("file", "a", b"")]), "multipart/form-data; boundary=b0undary", 200),
    "another form": (b"file=a", "application/x-www-form-urlencoded", 400),
    "a field that splits": (form([("file", "a", KOI8), ("type", None, b"a\r\nSet-Cookie: b")]), "multipart/form-data; boundary=b0undary", 400),
    "too long": (form([("file", "a", b"a" * (5 << 20))]), "multipart/form-data; boundary=b0undary", 413),
}


@pytest.mark.parametrize("case", FORMS)
def test_forms(shown, case):
    body, kind, status = FORMS[case]
    assert send(shown, "/check", body, kind).status == status
