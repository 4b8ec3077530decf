"""What publishers see of who asks: CDN-Loop and Via, Accept, User-Agent, a route's own fields, targets with text
beyond ASCII."""
import re
import subprocess

import pytest

from feeds import SMALL, SMALL_OUT
from proxy import BINARY, RECEIVED_BY
from wire import PATIENCE, message

XML = "Content-Type: application/xml"
FEED = message("200 OK", XML, body=SMALL)
GATEWAY = "--allow", "127.0.0.0/8:*"


def by_gateway(start, origin, *fields, options=()):
    """The request that an origin gets for one in the gateway."""
    got, asked = start(None, *GATEWAY, *options).through(origin, FEED, f"/{origin.url}/feed", *fields)
    assert got.body == SMALL_OUT
    return asked


# ---- CDN-Loop (RFC 8586) ----

@pytest.mark.parametrize("fields, sent", [
    ((), "utfeed"), (("Via: 1.1 front",), "utfeed"), (("CDN-Loop: other.example; v=1", "CDN-Loop: b"), "other.example; v=1, b, utfeed"),
    (("CDN-Loop: a", "Connection: cdn-loop"), "a, utfeed"), (("CDN-Loop: \"", "CDN_Loop: b"), "utfeed")])
def test_the_gateway_is_told_by_cdn_loop(start, origin, fields, sent):
    asked = by_gateway(start, origin, *fields)
    assert asked.all("CDN-Loop") == [sent] and not {"via", "cdn_loop"} & asked.names()


def test_it_has_the_name_that_via_has(start, origin):
    assert by_gateway(start, origin, options=("--via", "edge-1"))["CDN-Loop"] == "edge-1"


def test_via_in_its_place_by_option(start, origin):
    asked = by_gateway(start, origin, "CDN-Loop: a", "Via: 1.0 b", options=("--cdn-loop", "off"))
    assert asked.all("Via") == ["1.0 b", f"{RECEIVED_BY} utfeed"] and asked.all("CDN-Loop") == ["a"]


def test_elsewhere_via_is_sent_and_cdn_loop_goes_on(start, origin):
    proxy = start(origin, *GATEWAY)
    for target in "/feed", f"{origin.url}/feed":
        _, asked = proxy.through(origin, FEED, target, "CDN-Loop: a;b=c", "Via: 1.0 d", "Connection: CDN-Loop")
        assert asked.all("Via") == ["1.0 d", f"{RECEIVED_BY} utfeed"] and asked.all("CDN-Loop") == ["a;b=c"]


def test_a_route_is_told_as_it_says(start, origin):
    proxy = start(None, *GATEWAY, "--route", f"/on={origin.url} cdn-loop=on", "--cdn-loop", "off", "--route", f"/off={origin.url}")
    for target, loop in ("/on/f", True), ("/off/f", False), (f"/{origin.url}/f", False):
        _, asked = proxy.through(origin, FEED, target, "Via: 1.0 d")
        assert ("CDN-Loop" in asked) == loop != ("Via" in asked)


LOOP = 8    # passes that are too many


@pytest.mark.parametrize("fields, status", [
    ([f"CDN-Loop: {', '.join(['utfeed'] * LOOP)}"], 502), ([f"CDN-Loop: {', '.join(['utfeed'] * (LOOP - 1))}"], 200),
    ([f"Via: {', '.join(['1.1 utfeed'] * 4)}", "CDN-Loop: utfeed, UTFEED", "CDN-Loop: utfeed;x=1, utfeed"], 502),
    ([f"Via: {', '.join(['1.1 other'] * LOOP)}", f"CDN-Loop: {', '.join(['other'] * LOOP)}"], 200)])
def test_loops_are_counted_over_both(start, origin, fields, status):
    proxy = start(origin, *GATEWAY)
    for target in "/feed", f"/{origin.url}/feed":
        client = proxy.client().ask(target, *fields)
        if status == 200:
            origin.receive().answer(FEED)
        got = client.response()
        assert got.status == status and (status == 200 or "error=proxy_loop_detected" in got["Proxy-Status"])


def test_each_gateway_on_the_way_leaves_its_name(start, origin):
    first, second = start(None, *GATEWAY), start(None, *GATEWAY)
    got, asked = first.through(origin, FEED, f"/http://127.0.0.1:{second.port}/{origin.url}/feed")
    assert got.body == SMALL_OUT and asked["CDN-Loop"] == "utfeed, utfeed"


def test_who_comes_through_a_gateway_has_no_rights(start, origin):
    proxy = start(origin)
    proxy.through(origin, FEED)
    assert proxy.get("/feed", "CDN-Loop: utfeed", method="PURGE").status == 403
    assert proxy.get("/feed", method="PURGE").status == 200


# ---- Accept ----

FEEDS_FIRST = "application/atom+xml, application/rss+xml, application/rdf+xml, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.8"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize("client, sent", [
    (None, FEEDS_FIRST), ("*/*", FEEDS_FIRST), (BROWSER, FEEDS_FIRST), ("", FEEDS_FIRST), ("application/json", FEEDS_FIRST),
    ("application/rss+xml, text/html;q=0.2", "application/rss+xml, text/html;q=0.2")])
def test_the_gateway_asks_for_feeds_first(start, origin, client, sent):
    assert by_gateway(start, origin, *([] if client is None else [f"Accept: {client}"])).all("Accept") == [sent]


def test_accept_by_option_in_the_gateway(start, origin):
    assert by_gateway(start, origin, f"Accept: {BROWSER}", options=("--accept", "client"))["Accept"] == BROWSER
    assert by_gateway(start, origin, options=("--accept", "client"))["Accept"] == FEEDS_FIRST
    assert by_gateway(start, origin, "Accept: */*", options=("--accept", "text/xml"))["Accept"] == "text/xml"


def test_one_stored_response_for_all_who_name_no_feeds(start, origin):
    proxy = start(None, *GATEWAY, "--cache", "on")
    vary = message("200 OK", XML, "Vary: Accept", "Cache-Control: max-age=60", body=SMALL)
    proxy.through(origin, vary, f"/{origin.url}/feed", "Accept: */*")
    for accept in ["Accept: " + BROWSER], [], ["Accept: image/png"]:
        assert proxy.get(f"/{origin.url}/feed", *accept).body == SMALL_OUT
    assert proxy.through(origin, vary, f"/{origin.url}/feed", "Accept: text/xml")[1]["Accept"] == "text/xml"


def test_elsewhere_accept_is_the_clients(start, origin):
    proxy = start(origin, *GATEWAY)
    for target in "/feed", f"{origin.url}/feed":
        assert proxy.through(origin, FEED, target, f"Accept: {BROWSER}")[1]["Accept"] == BROWSER


# ---- User-Agent ----

CONTACT = "https://feeds.example/about?a=b;c"


@pytest.mark.parametrize("options, client, sent", [
    ((), "r/1", r"utfeed/\S+ \(\+https://feeds\.example/about\?a=b;c\) \(r/1\)"),
    ((), None, r"utfeed/\S+ \(\+https://feeds\.example/about\?a=b;c\)"),
    (("--user-agent", "own/1"), "r/1", "own/1"), (("--user-agent", "client"), "r/1", "r/1")])
def test_contact_url(start, origin, options, client, sent):
    fields = [f"User-Agent: {client}"] if client else []
    asked = by_gateway(start, origin, *fields, options=("--contact-url", CONTACT, *options))
    assert re.fullmatch(sent, asked["User-Agent"])


def test_contact_url_of_a_route(start, origin):
    proxy = start(None, "--contact-url", CONTACT, "--route", f"/={origin.url} contact-url=http://of.example/")
    assert re.fullmatch(r"utfeed/\S+ \(\+http://of\.example/\)", proxy.through(origin, FEED)[1]["User-Agent"])


# ---- origin-fields ----

KEY = 'origin-fields="X-Key: abc, Accept-Language: de\\, en"'


@pytest.mark.parametrize("more", ["", "request-fields=*", "cache=off", "request-fields=X-Key,X-Else"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_a_routes_fields_are_sent_in_the_place_of_a_clients(start, origin, more, method):
    proxy = start(None, "--cache", "on", "--route", f"/={origin.url} {KEY} {more}")
    client = proxy.client().ask("/f", "X-Key: client's", "x-key: once more", "accept-language: fr", "X-Else: 1", method=method)
    upstream = origin.receive()
    upstream.answer(FEED)
    assert client.response().status == 200
    asked = upstream.request
    assert asked.all("X-Key") == ["abc"] and asked.all("Accept-Language") == ["de, en"]
    assert ("X-Else" in asked) == (method == "POST" or "request-fields" in more)


@pytest.mark.parametrize("field, value", [("Cookie", "a=b"), ("Authorization", "Basic dTpw")])
def test_credentials_of_a_route(start, origin, field, value):
    """They are the operator's and alike for all clients, so that what they open is stored."""
    lines = f'origin-fields="{field}: {value}" cookies=on authorization=on'
    proxy = start(None, "--cache", "on", "--route", f"/={origin.url} {lines}")
    kept = message("200 OK", XML, "Cache-Control: max-age=60", body=SMALL)
    assert proxy.through(origin, kept)[1].all(field) == [value]
    assert proxy.get("/feed").body == SMALL_OUT
    assert proxy.through(origin, kept, "/other", f"{field}: client's")[1].all(field) == [value]


def test_they_stay_with_the_routes_origin(start, origin, another):
    other = another()
    proxy = start(None, "--route", f'/={origin.url} follow-redirects=on origin-fields="X-Key: abc, Cookie: a=b"')
    client = proxy.client().ask("/f")
    origin.receive().answer(message("302 Found", "Location: /here", "Set-Cookie: c=d"))
    upstream = origin.receive()
    assert upstream.request["X-Key"] == "abc" and upstream.request.all("Cookie") == ["a=b"]
    upstream.answer(message("302 Found", f"Location: {other.url}/there"))
    upstream = other.receive()
    assert not {"x-key", "cookie"} & upstream.request.names()
    upstream.answer(message("302 Found", f"Location: {origin.url}/back"))
    upstream = origin.receive()
    assert not {"x-key", "cookie"} & upstream.request.names()
    upstream.answer(FEED)
    assert client.response().body == SMALL_OUT


def test_no_other_way_has_them(start, origin):
    proxy = start(None, *GATEWAY, "--route", f"/={origin.url} {KEY}")
    for target in f"/{origin.url}/f", f"{origin.url}/f":
        assert "X-Key" not in proxy.through(origin, FEED, target)[1]


def test_they_are_part_of_the_key(start, origin, tmp_path):
    config = tmp_path / "utfeed.conf"

    def write(key):
        config.write_text(f"[route /]\norigin = {origin.url}\norigin-fields = X-Key: {key}\n")
    write("one")
    proxy = start(None, "--cache", "on", "-c", str(config))
    kept = message("200 OK", XML, "Cache-Control: max-age=60", body=SMALL)
    assert proxy.through(origin, kept)[1]["X-Key"] == "one" and proxy.get("/feed").body == SMALL_OUT
    write("two")
    proxy.reload()
    assert proxy.through(origin, kept)[1]["X-Key"] == "two"
    write("two, Host: a")
    proxy.reload("the former configuration stays in force")
    assert f"{config}:3: origin-fields: Host is a field that utfeed writes itself" in proxy.err.text()
    assert proxy.get("/feed").body == SMALL_OUT


def test_a_file_with_a_line_for_each(start, origin, tmp_path):
    file = tmp_path / "fields"
    file.write_text("X-Key: abc\nAuthorization: Bearer d\\,e\n")
    file.chmod(0o600)
    _, asked = start(None, "--route", f"/={origin.url} origin-fields-file={file}").through(origin, FEED)
    assert asked["X-Key"] == "abc" and asked["Authorization"] == "Bearer d,e"


WRITTEN = ["Host", "Via", "CDN-Loop", "Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Proxy-Authorization",
           "Proxy-Connection", "Accept-Encoding", "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range",
           "Range", "Content-Length", "Content-Type", "Expect", "Max-Forwards", "traceparent", "tracestate", "Date", "content_length",
           "Accept", "User-Agent"]


@pytest.mark.parametrize("name", WRITTEN)
def test_what_utfeed_writes_itself_is_refused_at_start(tmp_path, name):
    config = tmp_path / "utfeed.conf"
    config.write_text(f"[route /]\norigin = http://o\norigin-fields = X-Key: hunter2, {name}: hunter2\n")
    done = subprocess.run([BINARY, "serve", "-c", str(config), "--check-config"], capture_output=True, timeout=PATIENCE, check=False)
    said = done.stderr.decode()
    assert done.returncode != 0 and f"{config}:3: origin-fields: {name} is a field that utfeed writes itself" in said
    assert "hunter2" not in said and said.endswith("; leave it out\n") == (name not in ("Accept", "User-Agent", "Host", "Via", "CDN-Loop", "traceparent", "tracestate"))


# ---- text beyond ASCII in request targets ----

def sent(text):
    """Text as the helpers send it: each byte of its UTF-8 as a character."""
    return text.encode().decode("latin-1")


PATH, ENCODED = "/Größe/日本?q=ü🍎", "/Gr%C3%B6%C3%9Fe/%E6%97%A5%E6%9C%AC?q=%C3%BC%F0%9F%8D%8E"


@pytest.fixture
def named(start, origin, tmp_path):
    """A utfeed with a route, and with a name beyond ASCII that leads to the origin; what it keeps counts too."""
    (tmp_path / "hosts").write_text("127.0.0.1 xn--bcher-kva.example\n")
    return start(None, "--route", f"/r={origin.url}", *GATEWAY, "--allow", "*:*", "--hosts-file", str(tmp_path / "hosts"), "--cache", "on")


def ways(origin):
    """Each way in by which text may come; the URL in a form that browsers encode is decoded before it counts."""
    port = origin.port
    return ["/r" + PATH, f"{origin.url}{PATH}", f"/{origin.url}{PATH}", f"/http:/127.0.0.1:{port}{PATH}", f"/?url={origin.url}{PATH}",
            f"/feed:{origin.url}{PATH}", f"/http://bücher.example:{port}{PATH}", f"http://bücher.example:{port}{PATH}"]


@pytest.mark.parametrize("way", range(8))
def test_text_beyond_ascii_is_one_with_its_escapes(start, origin, named, way):
    kept = message("200 OK", XML, "Cache-Control: max-age=60", body=SMALL)
    target = ways(origin)[way]
    got, asked = named.through(origin, kept, sent(target))
    assert got.body == SMALL_OUT and asked.line == f"GET {ENCODED} HTTP/1.1"
    assert asked["Host"] == (f"xn--bcher-kva.example:{origin.port}" if "bücher" in target else f"127.0.0.1:{origin.port}")
    escaped = "".join(c if c < "\x7f" else "".join(f"%{byte:02X}" for byte in c.encode()) for c in target)
    assert named.get(escaped)["Cache-Status"].startswith("utfeed; hit") and named.get(sent(target))["Cache-Status"].startswith("utfeed; hit")
    assert [escaped.encode() in line for line in named.access_lines(3)] == [True] * 3
    assert named.get(sent(target), method="PURGE").body.startswith(b"Purged. (1)")


def test_a_form_encodes_it_once(origin, named):
    _, asked = named.through(origin, FEED, f"/?url=http%3A%2F%2Fb%C3%BCcher.example%3A{origin.port}%2F%E6%97%A5")
    assert asked.line == "GET /%E6%97%A5 HTTP/1.1" and asked["Host"] == f"xn--bcher-kva.example:{origin.port}"


def test_a_route_beyond_ascii(start, origin, tmp_path):
    config = tmp_path / "utfeed.conf"
    config.write_text(f"[route /日本]\norigin = {origin.url}/ü\n")
    proxy = start(None, "-c", str(config))
    for target in sent("/日本/f"), "/%E6%97%A5%E6%9C%AC/f":
        assert proxy.through(origin, FEED, target)[1].line == "GET /%C3%BC/f HTTP/1.1"


@pytest.mark.parametrize("host, target, status", [
    ("bücher.example", "http://127.0.0.1:{}/f", 200), ("b%C3%BCcher.example:80", "http://127.0.0.1:{}/f", 200),
    ("bücher.example", "/r/f", 400), ("bücher.example", "/http://127.0.0.1:{}/f", 400), ("b%2Dc", "http://127.0.0.1:{}/f", 400)])
def test_text_in_host_counts_beside_a_url_alone(origin, named, host, target, status):
    client = named.client().ask(target.format(origin.port), host=sent(host))
    if status == 200:
        origin.receive().answer(FEED)
    assert client.response().status == status


@pytest.mark.parametrize("bad", [b"\xff\xfe", b"\xfc", b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"a\x01b", b"a\x7fb", b"\xc3\xbc\x80"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_is_no_utf_8_is_refused(origin, named, bad, method):
    for before in "/r/", f"/{origin.url}/", f"{origin.url}/", f"/?url={origin.url}/":
        got = named.get(before + bad.decode("latin-1"), method=method)
        assert got.status == 400 and got["Content-Type"].startswith("text/plain"), before


def test_why_it_is_refused(named):
    for line, why in (b"GET /\xff HTTP/1.1", b"not valid UTF-8"), (b"\x16\x03\x01 \xff", b"cannot be understood"):
        client = named.client()
        client.send(line + b"\r\n\r\n")
        assert why in client.response().body


def test_text_byte_by_byte_and_pipelined(origin, named):
    """The buffer grows in the middle of a character, with requests behind it that nobody has read yet."""
    client = named.client()
    head = lambda target: f"GET {target} HTTP/1.1\r\nHost: a.test\r\n\r\n".encode()
    long = "/" + "日" * 600
    client.send_apart(head("/r" + PATH))
    client.send(head("/r" + long) + head("/r/plain") + head("/r/ü"))
    for target in ENCODED, "/" + "%E6%97%A5" * 600, "/plain", "/%C3%BC":
        upstream = origin.receive()
        assert upstream.request.line == f"GET {target} HTTP/1.1"
        upstream.answer(FEED)
        assert client.response().body == SMALL_OUT


def test_its_escapes_count_for_the_length(start, origin):
    proxy = start(origin, "--max-header-bytes", "1k")
    assert proxy.through(origin, FEED, sent("/" + "ü" * 42))[0].status == 200
    assert proxy.get(sent("/" + "ü" * 43)).status == 414
