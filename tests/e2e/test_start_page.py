"""The page at "/" where no route has it: for a browser, for curl, by which ways in, and where it does not stand."""
import base64
import hashlib
import html.parser
import re

import pytest

from certs import client_context
from feeds import SMALL, SMALL_OUT
from peers import TlsClient
from wire import message

BROWSER = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
CURL = "Accept: */*"


def test_a_browser_gets_a_page(start):
    got = start(None).get("/", BROWSER, host="localhost:8080")
    assert got.status == 200 and got["Content-Type"] == "text/html; charset=utf-8" and got["Cache-Control"] == "no-store"
    assert got["Vary"] == "Accept" and got["X-Content-Type-Options"] == "nosniff" and got["Server"] is None
    assert "http://localhost:8080/https://example.org/feed.xml" in got.body.decode()


def test_its_policy_allows_its_style_and_its_form_alone(start):
    got = start(None).get("/", BROWSER)
    page = got.body.decode()
    style = re.findall(r"<style>(.*?)</style>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    assert len(style) == 1 and got.all("Content-Security-Policy") == [
        f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"]
    assert not re.search(r"<script|<link|<img|<iframe|<a | on\w+=| style=|javascript:|src=|action=", page)


class Form(html.parser.HTMLParser):
    """The name of each field of a page's forms, and its label."""

    def __init__(self, page):
        super().__init__()
        self.fields, self.labels = {}, set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "input":
            self.fields[attrs["name"]] = attrs["id"]
        elif tag == "label":
            self.labels.add(attrs["for"])


def test_its_form_leads_through_the_gateway(start, origin):
    """As a browser sends a form without action: to the page's own address, the URL percent-encoded."""
    proxy = start(None)
    form = Form(proxy.get("/", BROWSER).body.decode())
    assert form.fields.keys() == {"url"} and set(form.fields.values()) == form.labels
    url = f"{origin.url}/feed".replace(":", "%3A").replace("/", "%2F")
    got, asked = proxy.through(origin, message("200 OK", "Content-Type: text/xml", body=SMALL), f"/?url={url}", BROWSER)
    assert got.body == SMALL_OUT and asked.target == "/feed"


def test_curl_gets_text(start):
    got = start(None).get("/", CURL, host="localhost:8080")
    assert got.status == 200 and got["Content-Type"] == "text/plain; charset=utf-8" and got["Vary"] == "Accept"
    assert "    curl http://localhost:8080/https://example.org/feed.xml\n" in got.body.decode()
    assert got.all("Content-Security-Policy") == ["sandbox"] and got.body.endswith(b".\n")


@pytest.mark.parametrize("accept", [BROWSER, CURL])
def test_head_and_an_empty_query(start, accept):
    proxy = start(None)
    whole, head, query = proxy.get("/", accept), proxy.get("/", accept, method="HEAD"), proxy.get("/?", accept)
    assert head.status == 200 and not head.body and query.body == whole.body
    assert all(head[name] == whole[name] for name in ("Content-Type", "Content-Length", "Vary", "Content-Security-Policy"))


@pytest.mark.parametrize("options,words,lacks", [
    (("--gateway", "off"), "curl -x http://feeds.test http://example.org/feed.xml", "/https:"),
    (("--forward", "off"), "curl http://feeds.test/https://example.org/feed.xml", "curl -x"),
    (("--gateway", "off", "--forward", "off", "--route", "/feeds/=http://news.test/"), "serves only the paths", "curl"),
    (("--pac", "on"), "http://feeds.test/proxy.pac", "<"),
    (("--gateway-url", "https://read.example/a"), "https://read.example/a/https://example.org", "feeds.test"),
])
def test_it_names_the_ways_in_that_are_there(start, options, words, lacks):
    got = start(None, *options).get("/", CURL)
    assert got.status == 200 and words in got.body.decode() and lacks not in got.body.decode()


def test_a_password_is_asked_for_and_the_page_says_where_it_may_stand(start, tmp_path):
    users = tmp_path / "users"
    users.write_text("reader:$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n")
    users.chmod(0o600)
    proxy = start(None, "--client-auth", str(users))
    assert proxy.get("/", BROWSER).status == 401
    got = proxy.get("/reader:open%20sesame@/", BROWSER)
    assert got.status == 200 and "/NAME:PASSWORD@/https://example.org/feed.xml" in got.body.decode() and "sesame" not in got.body.decode()


def test_without_host_it_says_what_to_put_there(start):
    got = start(None).get("/", CURL, version="HTTP/1.0", host=None)
    assert got.status == 200 and "curl http://UTFEED:PORT/https://example.org/feed.xml" in got.body.decode()


def test_by_tls_its_addresses_are_https(listening, authority):
    client = TlsClient(listening(None).tls_port, client_context(authority.root))
    got = client.get("/", CURL, host="localhost:8443")
    client.close()
    assert "curl https://localhost:8443/https://example.org/feed.xml" in got.body.decode()


@pytest.mark.parametrize("method", ["POST", "DELETE", "OPTIONS", "PUT"])
def test_other_methods_are_refused(start, method):
    got = start(None).get("/", BROWSER, method=method)
    assert got.status == 405 and got["Allow"] == "GET, HEAD" and got["Content-Type"].startswith("text/plain")


def test_a_route_that_covers_it_has_it(start, origin):
    got, asked = start(origin).through(origin, message("200 OK", "Content-Type: text/plain", body=b"mine"), "/", BROWSER)
    assert got.body == b"mine" and asked.target == "/"


def test_a_route_of_another_host_does_not(start, origin):
    proxy = start(None, "--route", f"//other.example/={origin.url}")
    assert b"<title>utfeed</title>" in proxy.get("/", BROWSER, host="localhost").body
    got, _ = proxy.through(origin, message("200 OK", "Content-Type: text/plain", body=b"mine"), "/", BROWSER, host="other.example")
    assert got.body == b"mine"


@pytest.mark.parametrize("target,status", [("/?url=", 400), ("/?x", 404), ("/x", 404), ("/index.html", 404)])
def test_other_targets_are_no_page(start, target, status):
    got = start(None).get(target, BROWSER)
    assert got.status == status and got["Content-Type"].startswith("text/plain")


def test_a_url_in_a_query_without_the_gateway_is_no_page(start, origin):
    got = start(None, "--gateway", "off").get(f"/?url={origin.url}/feed", BROWSER)
    assert got.status == 404 and not origin.asked()


def test_the_forward_proxy_asks_the_origin(start, origin):
    got, asked = start(None).through(origin, message("200 OK", "Content-Type: text/plain", body=b"mine"), f"{origin.url}/", BROWSER)
    assert got.body == b"mine" and asked.target == "/"


def test_a_name_that_is_not_served_gets_none(start):
    assert start(None).get("/", BROWSER, host="stranger.example.com").status == 421


def test_an_address_that_is_not_served_gets_none(start):
    assert start(None, "--client-allow", "203.0.113.0/24").get("/", BROWSER).status == 403
