"""Requests that are served: the ways in, connections, pipelining, HEAD, HTTP/1.0, the access line."""
import re
import subprocess

import pytest

from feeds import SMALL, SMALL_OUT, UTF_8_TYPE
from proxy import BINARY, RECEIVED_BY
from wire import PATIENCE, message

FEED = message("200 OK", "Content-Type: application/xml", body=SMALL)
TEXT = message("200 OK", "Content-Type: text/css", body=b"a{}")


def test_a_feed_comes_out_as_utf_8(proxy, origin):
    client = proxy.client().ask("/news/feed.xml?a=1&b=%20")
    upstream = origin.receive()
    assert upstream.request.line == "GET /news/feed.xml?a=1&b=%20 HTTP/1.1"
    upstream.answer(FEED)
    got = client.response()
    assert (got.status, got.body, got["Content-Type"]) == (200, SMALL_OUT, UTF_8_TYPE)


def test_request_upstream_is_its_own(proxy, origin):
    _, asked = proxy.through(origin, FEED, "/f", "User-Agent: reader/1", "Accept: */*", "Cookie: a=b")
    assert asked["Host"] == f"127.0.0.1:{origin.port}"
    assert re.fullmatch(r"utfeed/\S+ \(reader/1\)", asked["User-Agent"])
    assert asked["Accept"] == "*/*" and "Cookie" not in asked
    assert asked["Via"] == f"{RECEIVED_BY} utfeed"
    assert "gzip" in asked.tokens("Accept-Encoding")
    assert asked.framing == "none" and "Content-Length" not in asked


def test_user_agent_and_accept_are_given_where_there_are_none(proxy, origin):
    _, asked = proxy.through(origin, FEED)
    assert re.fullmatch(r"utfeed/\S+", asked["User-Agent"])
    assert "application/rss+xml" in asked["Accept"] and "*/*;q=" in asked["Accept"]


def test_a_client_cannot_end_its_comment_early(proxy, origin):
    _, asked = proxy.through(origin, FEED, "/f", "User-Agent: a) evil/1 (\\) b")
    assert re.fullmatch(r"utfeed/\S+ \([^()\\]*\)", asked["User-Agent"])


def test_routes_longest_prefix_wins(start, another):
    first, second, third = another(), another(), another()
    proxy = start(first, "--route", f"/b={second.url}", "--route", f"/b/c/={third.url}/sub/")
    for target, to, asked in [("/x", first, "/x"), ("/bb", first, "/bb"), ("/b", second, "/"), ("/b/x", second, "/x"),
                              ("/b/c/x?q", third, "/sub/x?q"), ("/b/c", second, "/c")]:
        _, request = proxy.through(to, TEXT, target)
        assert request.target == asked, target


def test_routes_by_host(start, another):
    first, second, third = another(), another(), another()
    proxy = start(first, "--route", f"//two.test/={second.url}", "--route", f"//two.test:81/={third.url}")
    for host, to in [("one.test", first), ("two.test", second), ("TWO.test", second), ("two.test:81", third),
                     ("two.test:82", second)]:
        _, request = proxy.through(to, TEXT, "/x", host=host)
        assert request.target == "/x"


def test_no_route_is_404(start, origin):
    proxy = start(None, "--route", f"/only/={origin.url}", "--gateway", "off")
    got = proxy.get("/other")
    assert got.status == 404 and got["Content-Type"].startswith("text/plain") and got.body
    assert not origin.asked()


@pytest.mark.parametrize("shape", ["/{url}/feed?x=1", "/?url={url}/feed?x=1", "/http:/{host}/feed?x=1"])
def test_gateway(start, another, shape):
    behind = another()
    proxy = start(None, "--gateway", "on")
    target = shape.format(url=behind.url, host=f"127.0.0.1:{behind.port}")
    got, asked = proxy.through(behind, FEED, target)
    assert asked.target == "/feed?x=1" and asked["Host"] == f"127.0.0.1:{behind.port}"
    assert got.body == SMALL_OUT


def test_gateway_url_may_be_escaped(start, another):
    behind = another()
    escaped = behind.url.replace(":", "%3A").replace("/", "%2F")
    got, asked = start(None, "--gateway", "on").through(behind, FEED, f"/?url={escaped}%2Ffeed%3Fx%3D1%2526")
    assert asked.target == "/feed?x=1%26" and got.body == SMALL_OUT


@pytest.mark.parametrize("target", ["/http://", "/http:///x", "/http://h:0/", "/http://h:99999/", "/http://u:p@h/", "/?url=ftp://h/"])
def test_gateway_bad_urls(start, target):
    assert start(None, "--gateway", "on").get(target).status in (400, 404)


@pytest.mark.parametrize("shape", ["/http%3A%2F%2F127.0.0.1%3A{port}%2Ffeed%3Fx%3D1", "/http%3A%2F%2F127.0.0.1:{port}/feed?x=1", "/feed://127.0.0.1:{port}/feed?x=1",
                                   "/feed:http://127.0.0.1:{port}/feed?x=1", "/?url=feed%3A%2F%2F127.0.0.1%3A{port}%2Ffeed%3Fx%3D1"])
def test_gateway_urls_as_they_are_written(start, another, shape):
    behind = another()
    got, asked = start(None).through(behind, FEED, shape.format(port=behind.port))
    assert asked.line == "GET /feed?x=1 HTTP/1.1" and asked["Host"] == f"127.0.0.1:{behind.port}" and got.body == SMALL_OUT


def test_a_host_without_a_scheme_is_asked_by_https(start, another):
    """And only what looks like a host with a path: a browser's favicon.ico is none."""
    parent = another()
    proxy = start(None, "--https-proxy", parent.url)
    assert proxy.get("/favicon.ico").status == proxy.get("/localhost/feed").status == proxy.get("/127.0.0.1/feed").status == 404
    client = proxy.client().ask("/feeds.invalid/feed.xml")
    upstream = parent.receive()
    assert upstream.request.method == "CONNECT" and upstream.request.target == "feeds.invalid:443"
    upstream.answer(message("403 Forbidden", "Content-Type: text/plain", body=b""))
    assert client.response().status == 502


def test_gateway_off(start, another):
    behind = another()
    proxy = start(None, "--gateway", "off")
    for target in (f"/{behind.url}/feed", f"/feed:{behind.url}/feed", f"/http%3A%2F%2F127.0.0.1:{behind.port}/feed"):
        assert proxy.get(target).status in (403, 404) and not behind.asked()


def test_absolute_form(start, another):
    behind = another()
    got, asked = start(None).through(behind, FEED, f"{behind.url}/feed?x=1", host=f"127.0.0.1:{behind.port}")
    assert asked.line == "GET /feed?x=1 HTTP/1.1" and got.body == SMALL_OUT


def test_absolute_form_without_a_path(start, another):
    behind = another()
    _, asked = start(None).through(behind, TEXT, behind.url, host=f"127.0.0.1:{behind.port}")
    assert asked.target == "/"


def test_forward_off(start, another):
    behind = another()
    assert start(None, "--forward", "off").get(f"{behind.url}/feed", host=f"127.0.0.1:{behind.port}").status in (403, 404)
    assert not behind.asked()


def test_keep_alive(proxy, origin):
    client = proxy.client()
    for number in range(5):
        client.ask(f"/{number}")
        origin.receive().answer(FEED)
        assert client.response().body == SMALL_OUT


def test_origin_connection_is_used_again_or_closed(proxy, origin):
    for number in range(3):
        proxy.through(origin, FEED, f"/{number}")
    assert 1 <= origin.connections <= 3


def test_connection_close_is_obeyed(proxy, origin):
    client = proxy.client().ask("/", "Connection: close")
    origin.receive().answer(FEED)
    assert "close" in client.response().tokens("Connection")
    assert client.is_ended()


def test_http_1_0_gets_no_chunks_and_a_close(proxy, origin):
    client = proxy.client().ask("/f", version="HTTP/1.0", host=None)
    origin.receive().answer(FEED)
    got = client.response()
    assert got.body == SMALL_OUT and got.framing in ("close", "length") and client.is_ended()


def test_http_1_0_keep_alive_never_promises_too_much(proxy, origin):
    client = proxy.client().ask("/f", "Connection: keep-alive", version="HTTP/1.0")
    origin.receive().answer(FEED)
    got = client.response()
    assert got.body == SMALL_OUT
    assert "keep-alive" in got.tokens("Connection") and got.framing == "length" or client.is_ended()


def test_pipelined_answers_come_in_order(proxy, origin):
    client, count = proxy.client(), 40
    request = "GET /{} HTTP/1.1\r\nHost: feeds.test\r\n\r\n"
    client.send("".join(request.format(number) for number in range(count)).encode())
    for number in range(count):
        upstream = origin.receive()
        assert upstream.request.target == f"/{number}"
        upstream.answer(message("200 OK", "Content-Type: text/plain", body=b"number %d" % number))
        assert client.response().body == b"number %d" % number


def test_many_pipelined_errors_in_one_write(proxy):
    client, count = proxy.client(), 5000
    client.send_soon(b"TRACE / HTTP/1.1\r\nHost: feeds.test\r\n\r\n" * count)
    for _ in range(count):
        assert client.response().status == 405


def test_pipelined_after_head(proxy, origin):
    client = proxy.client()
    client.send(b"HEAD /a HTTP/1.1\r\nHost: t\r\n\r\nGET /b HTTP/1.1\r\nHost: t\r\n\r\n")
    origin.receive().answer(FEED)
    assert client.response(method="HEAD").body == b""
    origin.receive().answer(TEXT)
    assert client.response(method="GET").body == b"a{}"


def test_request_in_single_bytes(proxy, origin):
    client = proxy.client()
    client.send_apart(b"\r\nGET /slow HTTP/1.1\r\nHost: feeds.test\r\nX-Long: " + b"y" * 50 + b"\r\n\r\n")
    upstream = origin.receive()
    assert upstream.request.target == "/slow"
    upstream.answer(FEED)
    assert client.response().body == SMALL_OUT


def test_client_half_close_still_gets_its_answer(proxy, origin):
    client = proxy.client().ask("/f")
    client.half_close()
    origin.receive().answer(FEED)
    assert client.response().body == SMALL_OUT and client.is_ended()


def test_head_says_what_get_would(proxy, origin):
    def asked(method):
        client = proxy.client().ask("/same", method=method)
        upstream = origin.receive()
        assert upstream.request.method == "GET"
        upstream.answer(FEED)
        return client.response()
    get, head = asked("GET"), asked("HEAD")
    framings = {"content-length", "transfer-encoding", "date", "trailer"}
    assert head.body == b"" and get.body == SMALL_OUT
    assert [f for f in head.fields if f[0].lower() not in framings] == [f for f in get.fields if f[0].lower() not in framings]
    if "Content-Length" in head:
        assert head["Content-Length"] == str(len(SMALL_OUT))


def test_head_leaves_the_connection_usable(proxy, origin):
    client = proxy.client()
    for method, body in [("HEAD", b""), ("GET", SMALL_OUT), ("HEAD", b""), ("GET", SMALL_OUT)]:
        client.ask("/f", method=method)
        origin.receive().answer(FEED)
        assert client.response().body == body


def test_content_length_zero_on_get(proxy, origin):
    got, asked = proxy.through(origin, TEXT, "/f", "Content-Length: 0")
    assert got.status == 200 and "Content-Length" not in asked


def test_expect_continue(proxy, origin):
    client = proxy.client().ask("/f", "Expect: 100-continue")
    if origin.asked_before_answer(client):
        origin.receive().answer(TEXT)
        assert client.response().status == 200
    else:
        assert client.response().status == 417


def test_empty_lines_before_a_request(proxy, origin):
    client = proxy.client()
    client.send(b"\r\n")
    client.ask("/f")
    origin.receive().answer(TEXT)
    assert client.response().status == 200


def test_connection_without_a_request_is_just_closed(proxy):
    client = proxy.client()
    client.half_close()
    assert client.is_ended()


def test_partial_request_then_close(proxy):
    client = proxy.client()
    client.send(b"GET / HT")
    client.half_close()
    assert client.is_ended() or client.response().status == 400


def test_error_pages_are_whole(proxy):
    got = proxy.get("/", method="TRACE")
    assert got["Content-Type"].startswith("text/plain") and got.body.endswith(b"\n") and got.framing == "length"
    assert "Date" in got and got["Content-Length"] == str(len(got.body))


def test_access_line(start, origin):
    proxy = start(origin)
    got, _ = proxy.through(origin, FEED, "/some/feed.xml?x=1")
    line = proxy.access_lines(1)[0].decode()
    words = line.split()
    for word in ("127.0.0.1", "GET", "/some/feed.xml?x=1", "200", str(len(SMALL_OUT)), "charset=windows-1251"):
        assert any(word in each for each in words), (word, line)
    assert got.rule.split(";")[0] in line


def test_version_line():
    said = subprocess.run([BINARY, "--version"], stdout=subprocess.PIPE, check=True, timeout=PATIENCE).stdout
    assert said.startswith(b"utfeed ")


@pytest.mark.parametrize("words,status,said", [
    (["--version"], 0, "utfeed "), (["-V"], 0, "utfeed "), (["--help"], 0, "usage: utfeed COMMAND"), (["-h"], 0, "  serve "),
    ([], 2, "usage: utfeed COMMAND"), (["nonsense"], 2, "unknown command 'nonsense'"), (["--nonsense"], 2, "--nonsense"),
    (["-c", "/nonexistent", "--check-config"], 2, "/nonexistent"), (["--listen", "127.0.0.1:1", "--check-config"], 0, "is right")])
def test_first_words(words, status, said):
    """Without a command it serves: options say so."""
    ended = subprocess.run([BINARY, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=PATIENCE)
    assert ended.returncode == status and said in (ended.stdout if not status else ended.stderr).decode()
