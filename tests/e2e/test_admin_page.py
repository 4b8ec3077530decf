"""The admin listener's pages for people: what they show, what they keep out, and that their policy lets them through."""
import base64
import hashlib
import json
import re
import select
import socket

import pytest

from pages import FRESH, Site, page
from peers import Client
from test_admin import KOI8, WORKERS, Admin, listed
from wire import TIMEOUT

PAGES = ["/", "/feeds", "/feed?id=1", "/paused", "/check"]
SCRIPT = re.compile(r"<script>(.*?)</script>", re.S)
OURS = "Sec-Fetch-Site: same-origin"


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
    """As a link of one of the pages leads there."""
    got = admin.ask(path, OURS)
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


def hashed(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_a_text_to_copy_has_a_script(shown):
    """The only one, which the policy of that page names by its hash."""
    got = send(shown, "/check", form([("file", "weather.xml", KOI8), ("type", None, b"text/xml; charset=iso-8859-1")]))
    html = got.body.decode()
    [script] = SCRIPT.findall(html)
    assert f"script-src 'sha256-{hashed(script)}'; style-src" in got["Content-Security-Policy"]
    assert "<textarea" in html and html.lower().count("<script") == 1 and len(html) < 60000


def test_the_title_names_the_instance_and_the_version(shown):
    title = re.search("<title>(.*?)</title>", text(shown, "/")[1])[1]
    assert re.fullmatch(rf"Overview - {re.escape(socket.gethostname())} - utfeed [0-9].*", title), title


def test_a_name_of_a_feed_is_no_markup(shown):
    _, html = text(shown, "/feeds")
    assert "<script" not in html and "%22%3E%3Cscript%3E" in html
    link = re.search(r'href="(/feed\?id=\d+)"><bdi>[^<]*script', html)[1]
    _, one = text(shown, link)
    assert "%22%3E%3Cscript%3E" in one and "koi8-r" in one and "iso-8859-1" in one and "auto:2.5/decl" in one


# The Content-Type, the body; whether it is mislabelled, and what the page says of it, which is never the default of the rules
UNLABELLED = {
    "as declared": ("text/xml", KOI8, False, "The server named no charset, and it is <bdi>koi8-r</bdi>"),
    "UTF-8": ("text/xml", "<rss>привет</rss>".encode(), False, "The server named no charset, and it is <bdi>utf-8</bdi>"),
    "ASCII": ("text/xml", b"<rss>hello</rss>", False, "The server named no charset, and it is <bdi>us-ascii</bdi>"),
    "nowhere declared": ("text/xml", "<rss>это прогноз погоды на завтра</rss>".encode("koi8-r"), True, "The server named no charset, but it is"),
    "another type": ("application/xml", "<rss>это прогноз погоды на завтра</rss>".encode("koi8-r"), True, "The server named no charset, but it is"),
}


@pytest.mark.parametrize("case", UNLABELLED)
def test_a_charset_that_nobody_named_is_no_label(start, origin, case):
    kind, body, wrong, verdict = UNLABELLED[case]
    Site(origin)["/f"] = page(FRESH, body=body, kind=kind)
    admin = Admin(start(origin, "--cache", "on", "--admin-listen", "127.0.0.1:0"))
    assert admin.proxy.get("/f").status == 200
    [feed] = listed(admin, least=1)["feeds"]
    _, html = text(admin, f"/feed?id={feed['id']}")
    assert verdict in html and "abelled <bdi>" not in html and "labels of your feed say" not in html
    assert "no charset named" in html and ("Nothing, as far as utfeed has seen" in html) == (case == "ASCII")
    assert feed["mislabelled"] is wrong and ("1 feed mislabelled, of 1 publisher" in text(admin, "/")[1]) is wrong
    rows = text(admin, "/feeds")[1]
    assert ("not labelled" in rows) is wrong and "labelled us-ascii" not in rows and "labelled utf-8" not in rows
    [row] = [line for line in admin.ask("/api/top").body.decode().splitlines() if line.startswith("feed\t")]
    assert row.split("\t")[7] == ("none" if wrong else "-")


def test_a_search_is_no_markup(shown):
    _, html = text(shown, "/feeds?search=%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
    assert "<script" not in html and "0 of 0 feeds" in html


def test_the_table_is_sorted_and_searched(shown):
    _, html = text(shown, "/feeds?sort=url&search=PLAIN&mislabelled=1")
    assert "1 of 1 feeds" in html and 'aria-sort="ascending"' in html and " checked" in html
    assert shown.ask("/feeds?sort=colour").status == 400
    assert shown.ask("/feed?id=99").status == 404 and shown.ask("/feed").status == 404


def test_all_feeds_are_reached_by_links(start, old_origin):
    """By links alone, in both directions, with the search and the order kept; an answer to HEAD has no body."""
    Site(old_origin)["*"] = page(FRESH, body=KOI8, kind="text/xml; charset=iso-8859-1")
    admin = Admin(start(old_origin, "--cache", "on", "--admin-listen", "127.0.0.1:0"))
    for i in range(230):
        admin.proxy.get(f"/{i:03}")
    listed(admin, least=230)

    def walk(path, name):
        seen, pages = [], 0
        while path:
            _, html = text(admin, path)
            seen += re.findall(r'href="/feed\?id=(\d+)"', html)
            path = re.search(rf'<a href="(/feeds[^"]*)">{name}</a>', html)
            path = path and path[1].replace("&amp;", "&")
            pages += 1
        return sorted(map(int, seen)), pages
    assert walk("/feeds", "Next") == (list(range(1, 231)), 5)
    assert walk("/feeds?sort=requests&reverse=1", "Next") == (list(range(1, 231)), 5)
    _, html = text(admin, "/feeds?sort=url&search=%2F&mislabelled=1")
    assert "1 to 50 of 230 feeds" in html and ">Previous<" not in html and ">First<" not in html
    last = re.search(r'href="(/feeds[^"]*)">Last</a>', html)[1].replace("&amp;", "&")
    assert "sort=url" in last and "search=/" in last and "mislabelled=1" in last
    assert walk(last, "Previous") == (list(range(1, 231)), 5)
    assert "181 to 230 of 230 feeds" in text(admin, last)[1]
    head = admin.ask("/feeds", method="HEAD")
    assert head.status == 200 and head.body == b""


def test_the_overview(shown):
    _, html = text(shown, "/")
    for word in ("Needs attention", "3 feeds mislabelled, of 1 publisher", "Requests", "Hits", "The last hour", "3 of 3 feeds", 'aria-current="page"'):
        assert word in html, word
    assert html.index("Needs attention") < html.index("Since the start") < html.index("The last hour") < html.index("<table class=\"feeds\"")
    assert html.count("<svg role=\"img\"") == 5 and 'href="/feeds?mislabelled=1"' in html


def test_a_time_without_requests_is_a_gap(timed, clock, origin):
    """The share of hits and the times are gaps then; requests are zero, which is known. Before the start all is a gap."""
    Site(origin)["/f"] = page("Cache-Control: max-age=60000")
    admin = Admin(timed(origin, "--cache", "on", "--admin-listen", "127.0.0.1:0"))
    asked = 0
    for step in range(36):      # nine minutes
        if step < 12 or step >= 24:
            admin.proxy.get("/f")
            asked += 1
        admin.metrics_after(asked)
        clock.jump(15)
        while len(json.loads(admin.ask("/api/status").body)["history"]) <= step:
            pass
    _, html = text(admin, "/")
    requests, hits, errors, times, memory = (re.findall(r'<path class="l0" d="([^"]*)"', chart) for chart in html.split("<figure>")[1:])
    assert [line[0].count("M") for line in (requests, hits, errors, times, memory)] == [1, 2, 1, 2, 1]
    assert re.match(r"M5[012]\.5 ", requests[0]) and "L59.5 " in requests[0]
    told = json.loads(admin.ask("/api/status").body)["history"]
    assert len(told) == 36 and {each["answers"] > 0 for each in told} == {True, False}
    assert html.count("<tr><th scope=\"row\">") in (8, 9, 10) and "<td>-</td>" in html


def test_both_directions(shown):
    """The link of a column turns the list round, and says how it is."""
    _, html = text(shown, "/feeds?sort=url")
    assert 'aria-sort="ascending"><a href="/feeds?sort=url&amp;reverse=1">' in html
    ascending = re.findall(r'href="/feed\?id=(\d+)"', html)
    _, html = text(shown, "/feeds?sort=url&reverse=1")
    assert 'aria-sort="descending"><a href="/feeds?sort=url">' in html
    assert re.findall(r'href="/feed\?id=(\d+)"', html) == ascending[::-1] and len(ascending) == 3


def test_long_names_do_not_make_a_page_long(start, origin):
    """A full page of feeds stays below 60 kB; each name is whole on the feed's own page."""
    Site(origin)["*"] = page(FRESH, body=KOI8, kind="text/xml; charset=iso-8859-1")
    admin = Admin(start(origin, "--cache", "on", "--admin-listen", "127.0.0.1:0"))
    for i in range(50):
        admin.proxy.get(f"/{i:03}" + "&" * 800 + "end")
    listed(admin, least=50)
    _, html = text(admin, "/feeds?sort=url")
    assert len(html) < 60000 and "&amp;end</bdi>" in html and "1 to" not in html and "50 of 50 feeds" in html
    assert "/007" + "&amp;" * 800 + "end" in text(admin, re.search(r'href="(/feed\?id=\d+)"><bdi>[^<]*/007', html)[1])[1]


def page_of(admin, part):
    """Of the feed with that in its URL."""
    [feed] = listed(admin, f"?search={part}")["feeds"]
    return f"/feed?id={feed['id']}"


def test_a_feed_of_its_own(shown):
    """What it is in a sentence, before and after, what to tell the publisher, and its history."""
    _, html = text(shown, page_of(shown, "script"))
    for words in ("Labelled <bdi>iso-8859-1</bdi>, but it is <bdi>koi8-r</bdi>.", "As the publisher sends it", "What to tell the publisher",
                  "Please write the feed as UTF-8", "good answers, <bdi>koi8-r</bdi>, labelled <bdi>iso-8859-1</bdi>", "first asked for", "The rule in words",
                  ">Check again<", ">Purge<"):
        assert words in html, words
    assert ">Resume<" not in html


def order(admin, feed, word, *fields):
    got = admin.post("/order", f"id={feed}&do={word}", *fields)
    return got.status, got.body.decode()


def test_orders_on_the_page_of_a_feed(start, origin):
    site = Site(origin)
    site["/f"] = page(FRESH, body=KOI8, kind="text/xml; charset=iso-8859-1")
    admin = Admin(start(origin, "--cache", "on", "--admin-listen", "127.0.0.1:0"))
    admin.proxy.get("/f")
    listed(admin, least=1)
    status, html = order(admin, 1, "purge", OURS)
    assert status == 200 and "Purged; responses in memory: 1." in html and site.count("/f") == 1
    admin.proxy.get("/f")
    assert site.count("/f") == 2
    status, html = order(admin, 1, "check", OURS)
    assert status == 200 and "This feed needs utfeed, which corrects its label." in html and "Погода на завтра" in html and "<textarea" in html and site.count("/f") == 3
    status, html = order(admin, 1, "resume", OURS)
    assert status == 200 and "Pauses that ended: 0." in html
    assert [order(admin, feed, word)[0] for feed, word in ((1, "drain"), (1, ""), (2, "purge"))] == [400, 400, 404]
    assert [order(admin, 1, "purge", field)[0] for field in ("Origin: https://evil.com", "Sec-Fetch-Site: cross-site", "Referer: http://evil.test/")] == [403] * 3


def test_a_url_with_a_secret_is_not_checked(start, origin):
    """A report would show it. Other queries do not matter."""
    Site(origin)["*"] = page(FRESH, body=KOI8, kind="text/xml")
    admin = Admin(start(origin, "--cache", "on", "--admin-listen", "127.0.0.1:0"))
    for path in ("/f?token=s3cr3t", "/g?feed=rss2"):
        admin.proxy.get(path)
    listed(admin, least=2)
    _, html = text(admin, page_of(admin, "token"))
    assert ">Check again<" not in html and ">Purge<" in html and "s3cr3t" not in html
    assert ">Check again<" in text(admin, page_of(admin, "rss2"))[1]


def test_orders_need_the_token(start, origin):
    Site(origin)["/f"] = page(FRESH, body=KOI8, kind="text/xml")
    admin = Admin(start(origin, "--cache", "on", "--admin-listen", "127.0.0.1:0", "--admin-token", "a"))
    admin.proxy.get("/f")
    while not json.loads(admin.ask("/api/feeds", "Authorization: Bearer a").body)["total"]:
        pass
    assert order(admin, 1, "purge", OURS)[0] == 401
    assert order(admin, 1, "purge", "Authorization: Bearer a", "Origin: https://evil.com")[0] == 403
    assert order(admin, 1, "purge", "Authorization: Bearer a", OURS)[0] == 200


def test_a_feed_is_checked(shown):
    got = send(shown, "/check", form([("file", "weather.xml", KOI8), ("type", None, b"text/xml; charset=iso-8859-1")]))
    html = got.body.decode()
    assert got.status == 200 and "weather.xml" in html and "Погода на завтра" in html and "charset=koi8-r;was=iso-8859-1" in html
    assert "This feed needs utfeed, which corrects its label. Its label says iso-8859-1, but its bytes are koi8-r, as its XML declaration says." in html
    got = send(shown, "/check", form([("file", "a.xml", b"<rss>\xc3\xa9 it\x92s</rss>"), ("type", None, b"text/xml; charset=utf-8")]))
    assert "This byte is not UTF-8: 0x92 at offset 10 (line 1), read as &quot;’&quot;. " in got.body.decode()


def test_a_hostile_feed_stays_text(shown):
    evil = b"<?xml version='1.0' encoding='\"><script>alert(1)</script>'?><rss><script>alert(2)</script>\xe9</rss>"
    got = send(shown, "/check", form([("file", '<script>alert(3)</script>"', evil), ("type", None, b"text/xml; charset=<script>")]))
    assert got.status == 200 and got.body.lower().count(b"<script") == 1


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


def test_a_url_is_fetched_and_checked(shown, old_origin):
    _, html = text(shown, f"/check?url={old_origin.url}/plain")
    assert "Погода на завтра" in html and "charset=koi8-r;was=iso-8859-1" in html and f"{old_origin.url}/plain" in html


# The URL, what the page says instead of a report
UNFETCHED = {
    "no URL": ("nonsense", "This is not an http or https URL of at most 4095 characters; write one such as https://example.org/feed.xml."),
    "another scheme": ("file:///etc/passwd", "; write one such as https://example.org/feed.xml."),
    "a name": ("example.org/feed", "; did you mean https://example.org/feed?"),
    "too long": ("http://a/" + "a" * 4096, "of at most 4095 characters"),
    "no name": ("http://a b/", "not a name"),
    "markup": ("http://a/%22%3E%3Cscript%3E%0a", ""),
    "nobody there": ("http://127.0.0.1:1/", "refused the connection"),
}


@pytest.mark.parametrize("case", UNFETCHED)
def test_what_cannot_be_fetched(shown, case):
    url, words = UNFETCHED[case]
    _, html = text(shown, "/check?url=" + url.replace(" ", "%20"))
    assert 'role="alert"' in html and words in html and "<script" not in html and "<article" not in html


def test_the_guard_counts_for_checks_too(start, old_origin):
    admin = Admin(start(None, "--admin-listen", "127.0.0.1:0", guarded=True))
    _, html = text(admin, f"/check?url={old_origin.url}/plain")
    assert 'role="alert"' in html and "<article" not in html


# What a browser says of the page that leads it to /check?url=..., the status, whether utfeed fetches
LED = {
    "a page of ours": (("Sec-Fetch-Site: same-origin",), 200, True),
    "written by hand": (("Sec-Fetch-Site: none",), 200, True),
    "a page of ours, by an address": (("Referer: http://localhost/feeds",), 200, True),
    "another site": (("Sec-Fetch-Site: cross-site",), 403, False),
    "another port": (("Sec-Fetch-Site: same-site",), 403, False),
    "another site, by an address": (("Referer: http://evil.test/",), 403, False),
    "a site whose name begins so": (("Referer: http://localhost.evil.test/",), 403, False),
    "a site that lies": (("Sec-Fetch-Site: cross-site", "Referer: http://localhost/"), 403, False),
    "nothing": ((), 200, False),
}


@pytest.mark.parametrize("case", LED)
def test_who_can_have_urls_fetched(shown, old_origin, case):
    """Else the page has the URL in its form, for a button to be pressed."""
    fields, status, fetched = LED[case]
    got = shown.ask(f"/check?url={old_origin.url}/plain%22%3E", *fields)
    assert got.status == status and (b"<article" in got.body) == fetched
    assert status == 403 or f'value="{old_origin.url}/plain&quot;&gt;"' in got.body.decode()


def test_feeds_are_checked_one_after_the_other(shown):
    """Of several that are sent at once each gets its report; who leaves does not hold the others up."""
    clients = []
    for i in range(12):
        feed = b"<rss><item>%d</item></rss>" % i + b" " * (100_000 + i)
        clients.append(Client(shown.port).ask("/api/check", f"Content-Length: {len(feed)}", method="POST", host="localhost"))
        clients[-1].send(feed)
    for client in clients[::3]:
        client.close()
    for i, client in enumerate(clients):
        if i % 3:
            got = client.response()
            assert got.status == 200 and json.loads(got.body)["bytes"] == len(b"<rss><item>%d</item></rss>" % i) + 100_000 + i
            client.close()


def test_checks_that_wait(start, another):
    """Four at a time; who leaves does not hold its place for long; the end waits for none."""
    origin = another()
    admin = Admin(start(None, "--admin-listen", "127.0.0.1:0"))
    waiting = [Client(admin.port).ask(f"/check?url={origin.url}/{i}", OURS, host="localhost") for i in range(4)]
    held = [origin.receive() for _ in range(4)]
    assert b"try again later" in admin.ask(f"/check?url={origin.url}/5", OURS).body
    assert admin.post(f"/api/check?url={origin.url}/5").status == 503
    held[0].answer(page(body=KOI8, kind="text/xml"))
    [first] = select.select([client.sock for client in waiting], [], [], TIMEOUT)[0]
    assert next(client for client in waiting if client.sock is first).response().status == 200
    assert admin.ask("/healthz").status == 200
    admin.proxy.sigterm()
    assert admin.proxy.wait() == 0
    for client in waiting:
        client.close()
