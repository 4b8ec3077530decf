"""Cache poisoning: what one client can say must never change what another one gets of the same URL.

Each case is an attack on /f: the attacker asks first, with an origin that echoes all it was told; then a victim asks plainly. The
victim must get what a plain request gets, byte for byte: either the attack reached no origin, or it has a key of its own.
"""
import ssl

import pytest

from certs import CA, CLIENT, server_context
from pages import FRESH, Site, page, was_hit
from wire import message

EVIL = "evil.test"


def echo(request):
    """All that an origin may be made to say by a request: who it is for, what it names, what is unusual in it."""
    usual = {"accept", "accept-encoding", "connection", "via", "user-agent"}
    said = sorted(f"{name.lower()}: {value}" for name, value in request.fields if name.lower() not in usual)
    return page(FRESH, "ETag: \"v1\"", body="\n".join([f"{request.method} {request.target}", *said, request.body.decode("latin-1")]).encode("latin-1"))


@pytest.fixture
def site(origin):
    site = Site(origin)
    site["*"] = echo
    return site


UNKEYED = [f"{name}: {EVIL}" for name in (
    "X-Forwarded-Host", "X-Forwarded-Server", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Forwarded-Prefix", "X-Forwarded-Path",
    "X-Forwarded-Scheme", "Forwarded", "X-Host", "X-HTTP-Host-Override", "X-Original-URL", "X-Rewrite-URL", "X-Original-Host", "X-Real-IP",
    "True-Client-IP", "CF-Connecting-IP", "X-Client-IP", "Front-End-Https", "X-Url-Scheme", "X-WAP-Profile", "Origin", "Referer", "Cookie",
    "X-Api-Version", "Destination", "Translate", "Content-Type", "TE", "Prefer", "Accept-Datetime", "X-Middleware-Prefetch", "RSC", "X-Custom",
    "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "Upgrade-Insecure-Requests", "Sec-Fetch-Mode", "Max-Forwards", "Save-Data",
    "Proxy", "Surrogate-Capability", "X-Encoding-Rule", "Proxy-Authorization", "Authorization", "A-IM", "Range", "If-Range", "Expect-CT")]
ASKED = [*[(each,) for each in UNKEYED], *[(each,) for each in (
    "X-Method-Override: DELETE", "X-HTTP-Method-Override: POST", "Range: bytes=0-1", "Range: bytes=1-", "Range: bytes=0-0,2-3", "A-IM: feed",
    "A-IM: feed, gzip", "If-None-Match: \"v1\"", "If-None-Match: *", "If-Match: \"other\"", "If-Modified-Since: Thu, 01 Jan 2099 00:00:00 GMT",
    "If-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT", "Connection: Host", "Connection: Accept-Encoding, X-Custom", "Connection: close",
    "Cache-Control: no-transform", "Upgrade: h2c", "Accept-Encoding: nonsense", "Accept-Encoding: gzip;q=0", "Max-Forwards: 0",
    "X-Oversized: " + "x" * 20_000, "X-Meta: \x80\xff")],
    ("X-Custom: 1", "X-Custom: 2"), ("Range: bytes=0-1", "If-Range: \"v1\""), ("A-IM: feed", "If-None-Match: \"v0\"")]


def victim(proxy, site, target="/f", **kind):
    """What a plain request gets, and what the origin says to one."""
    got = proxy.get(target, **kind)
    plain = proxy.get(target, "Cache-Control: no-cache", **kind)
    assert got.status == plain.status == 200
    return got, plain


def lines(got):
    return [line for line in got.body.split(b"\n") if not line.startswith((b"cache-control:", b"if-none-match:"))]


@pytest.mark.parametrize("fields", ASKED, ids=lambda fields: fields[0][:40])
def test_fields(proxy, site, fields):
    proxy.get("/f", *fields)
    got, plain = victim(proxy, site)
    assert lines(got) == lines(plain) and EVIL.encode() not in got.body
    assert got["ETag"] == plain["ETag"] and "Content-Range" not in got and got["Content-Length"]


@pytest.mark.parametrize("status,field", [("400 Bad Request", "X-Oversized"), ("404 Not Found", "X-Custom"), ("302 Found", "X-Forwarded-Proto"),
                                          ("405 Method Not Allowed", "X-HTTP-Method-Override"), ("301 Moved Permanently", "X-Forwarded-Host")])
def test_errors_that_a_field_provokes(proxy, site, status, field):
    """Cache-poisoned denial of service: a field utfeed passes on would make the origin say an error for everyone."""
    site["/f"] = lambda request: message(status, FRESH, "Location: http://evil.test/", body=b"x") if field in request else page(FRESH)
    proxy.get("/f", f"{field}: {EVIL}")
    assert proxy.get("/f").body == b"hello"


def raw(proxy, data):
    """Bytes no client of ours would write; gives all that comes back."""
    client = proxy.client()
    try:
        client.send(data)
        client.half_close()
        while client.stream.fill():
            pass
    except OSError:
        pass
    return bytes(client.stream.held)


GOOD = b"Host: feeds.test\r\n"
RAW = {
    "fat GET": b"GET /f HTTP/1.1\r\n" + GOOD + b"Content-Length: 9\r\n\r\nevil.test",
    "fat GET chunked": b"GET /f HTTP/1.1\r\n" + GOOD + b"Transfer-Encoding: chunked\r\n\r\n9\r\nevil.test\r\n0\r\n\r\n",
    "fat HEAD": b"HEAD /f HTTP/1.1\r\n" + GOOD + b"Content-Length: 9\r\n\r\nevil.test",
    "form in a GET": b"GET /f HTTP/1.1\r\n" + GOOD + b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\nevil=test",
    "two hosts": b"GET /f HTTP/1.1\r\n" + GOOD + b"Host: evil.test\r\n\r\n",
    "two hosts, evil first": b"GET /f HTTP/1.1\r\nHost: evil.test\r\n" + GOOD + b"\r\n",
    "host with a blank before its colon": b"GET /f HTTP/1.1\r\nHost : evil.test\r\n" + GOOD + b"\r\n",
    "host folded": b"GET /f HTTP/1.1\r\n" + GOOD + b" evil.test\r\n\r\n",
    "folded first line": b"GET /f HTTP/1.1\r\n Host: evil.test\r\n" + GOOD + b"\r\n",
    "host and port": b"GET /f HTTP/1.1\r\nHost: feeds.test:1337evil\r\n\r\n",
    "host with a path": b"GET /f HTTP/1.1\r\nHost: feeds.test/evil.test\r\n\r\n",
    "host with user": b"GET /f HTTP/1.1\r\nHost: evil.test@feeds.test\r\n\r\n",
    "host with a comma": b"GET /f HTTP/1.1\r\nHost: feeds.test, evil.test\r\n\r\n",
    "host with a null": b"GET /f HTTP/1.1\r\nHost: feeds.test\x00evil.test\r\n\r\n",
    "target splits": b"GET /f%0d%0aX-A:%20evil.test HTTP/1.1\r\n" + GOOD + b"\r\n",
    "target with a fragment": b"GET /f#evil.test HTTP/1.1\r\n" + GOOD + b"\r\n",
    "target with a blank": b"GET /f evil.test HTTP/1.1\r\n" + GOOD + b"\r\n",
    "bare CR in a value": b"GET /f HTTP/1.1\r\n" + GOOD + b"From: a\rX-Evil: evil.test\r\n\r\n",
    "bare LF in a value": b"GET /f HTTP/1.1\r\n" + GOOD + b"From: a\nX-Evil: evil.test\r\n\r\n",
    "null in a value": b"GET /f HTTP/1.1\r\n" + GOOD + b"From: a\x00evil.test\r\n\r\n",
    "CL.TE": b"POST /p HTTP/1.1\r\n" + GOOD + b"Content-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /f HTTP/1.1\r\nX-A: evil.test\r\n\r\n",
    "TE.CL": b"POST /p HTTP/1.1\r\n" + GOOD + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n1e\r\nGET /evil.test HTTP/1.1\r\n\r\n0\r\n\r\n",
    "two lengths": b"POST /p HTTP/1.1\r\n" + GOOD + b"Content-Length: 0\r\nContent-Length: 30\r\n\r\nGET /f HTTP/1.1\r\nX-A: evil.test\r\n",
    "odd coding": b"POST /p HTTP/1.1\r\n" + GOOD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.0": b"GET /f HTTP/1.0\r\n" + GOOD + b"\r\n",
    "HTTP/1.0 without Host": b"GET /f HTTP/1.0\r\n\r\n",
    "lower case method": b"get /f HTTP/1.1\r\n" + GOOD + b"\r\n",
    "made up method": b"EVIL /f HTTP/1.1\r\n" + GOOD + b"\r\n",
    "POST": b"POST /f HTTP/1.1\r\n" + GOOD + b"Content-Length: 9\r\n\r\nevil.test",
    "TRACE": b"TRACE /f HTTP/1.1\r\n" + GOOD + b"X-A: evil.test\r\n\r\n",
    "Range without end": b"GET /f HTTP/1.1\r\n" + GOOD + b"Range: bytes=0-\r\nRange: bytes=1-2\r\n\r\n",
}


@pytest.mark.parametrize("name", RAW)
def test_bytes(proxy, site, name):
    raw(proxy, RAW[name])
    got, plain = victim(proxy, site)
    assert lines(got) == lines(plain) and EVIL.encode() not in got.body and got.body.startswith(b"GET /f\n")


@pytest.mark.parametrize("attack,target", [
    ("/f?a=1&b=2", "/f?b=2&a=1"), ("/f?a=1", "/f"), ("/f?", "/f"), ("/f?utm_source=evil", "/f"), ("/f?a=1;b=2", "/f?a=1"), ("/f?a=1&a=2", "/f?a=2"),
    ("/F", "/f"), ("/f/", "/f"), ("//f", "/f"), ("/%66", "/f"), ("/a%2ff", "/a/f"), ("/a%2Ff", "/a%2ff"), ("/a/..%2ff", "/f"), ("/x/../f", "/f"),
    ("/f%00", "/f"), ("/f%3fa=1", "/f?a=1"), ("/f%23", "/f"), ("/f.css", "/f"), ("/f;x.css", "/f"), ("/f%0a", "/f"), ("/%2e/f", "/f"),
    ("/f?a=%31", "/f?a=1"), ("/f?A=1", "/f?a=1"), ("/f?a=1%26b=2", "/f?a=1&b=2"), ("/f\\", "/f"), ("/f?a+b", "/f?a%20b"),
])
def test_targets_that_look_alike(proxy, site, attack, target):
    """The origin's target of the stored response is the one the victim's own request makes."""
    proxy.get(attack)
    got, plain = victim(proxy, site, target)
    assert got.body.split(b"\n")[0] == plain.body.split(b"\n")[0] == b"GET " + target.encode()


@pytest.mark.parametrize("attack", ["evil.test", "feeds.test.evil.test", "127.0.0.1", "feeds.test:81", "feeds.test."])
def test_hosts_of_a_route_say_nothing_to_its_origin(proxy, site, attack):
    proxy.get("/f", host=attack)
    got, plain = victim(proxy, site)
    assert lines(got) == lines(plain) and EVIL.encode() not in got.body


def test_hosts_with_routes_of_their_own_have_copies_of_their_own(start, another):
    good, evil = another(), another()
    Site(good)["*"], Site(evil)["*"] = page(FRESH), page(FRESH, body=b"evil")
    proxy = start(None, "--route", f"//good.test/={good.url}", "--route", f"//evil.test/={evil.url}")
    assert proxy.get("/f", host="evil.test").body == b"evil" and proxy.get("/f", host="good.test").body == b"hello"


def test_ways_in_share_one_copy_by_what_is_fetched(start, origin, site):
    """The Host of an absolute target does not count (RFC 9112 section 3.2.2)."""
    proxy = start()
    proxy.get(f"{origin.url}/f", host="evil.test")
    assert EVIL.encode() not in proxy.get(f"{origin.url}/f", host=origin.authority).body


@pytest.mark.parametrize("one,other", [
    (("From: 1;user-agent=2",), ("From: 1", "User-Agent: 2;user-agent")), (("From: 1,2",), ("From: 1", "From: 2", "User-Agent: x")),
    (("From: 1\t;user-agent",), ("From: 1",)), (("From: ",), ()), (("From: user-agent=2",), ("User-Agent: 2",)),
])
def test_varying_fields_cannot_be_written_into_one_another(proxy, site, one, other):
    site["/f"] = lambda request: page(FRESH, "Vary: From, User-Agent", body=repr(request.all("From")).encode())
    bodies = [proxy.get("/f", *fields).body for fields in (one, other)]
    fresh = [proxy.get("/f", "Cache-Control: no-cache", *fields).body for fields in (one, other)]
    assert bodies == fresh


@pytest.mark.parametrize("said", [
    message("200 OK", FRESH, body=b"good") + message("200 OK", FRESH, body=b"evil"), message("200 OK", FRESH, body=b"good") + b"HTTP/1.1 200 OK\r\n\r\nevil",
    message("304 Not Modified", FRESH, length=False) + message("200 OK", FRESH, body=b"evil"),
])
def test_an_origin_poisons_only_its_own_answer(proxy, origin, said):
    """A response split in two: the second half answers nobody."""
    client = proxy.client().ask("/first")
    origin.receive().send(said)
    if b" 304 " in said:            # to no question: it is asked once more
        origin.receive().answer(page(FRESH))
    client.response()
    second = proxy.client().ask("/f")
    upstream = origin.receive()
    assert upstream.request.target == "/f"
    upstream.answer(page(FRESH))
    assert second.response().body == b"hello" and was_hit(proxy.get("/f"))


def test_one_origin_cannot_purge_another(start, another):
    good, evil = another(), another()
    Site(good)["*"] = page(FRESH)
    Site(evil)["*"] = message("201 Created", f"Location: {good.url}/f", f"Content-Location: {good.url}/f")
    proxy = start(None, "--route", f"/good/={good.url}/", "--route", f"/evil/={evil.url}/")
    proxy.get("/good/f")
    proxy.get("/evil/f", method="POST")
    assert was_hit(proxy.get("/good/f"))


def test_a_method_override_does_not_purge(start, origin, site):
    proxy = start(origin)
    proxy.get("/f")
    proxy.get("/f", "X-HTTP-Method-Override: PURGE", "X-Purge: all")
    assert was_hit(proxy.get("/f"))


# ---- one URL by several ways: what differs between them stays apart ----

def test_a_route_does_not_open_its_origin_to_clients_urls(start, origin, site):
    """What the guard closes to a URL that a client chooses is not given out of the cache either."""
    proxy = start(origin, guarded=True)
    assert proxy.get("/f").status == 200
    assert proxy.get(f"/{origin.url}/f").status == 403 and proxy.get(f"{origin.url}/f", host=origin.authority).status == 403


@pytest.mark.parametrize("option", ["cookies=on", "authorization=on", "request-fields=X-Evil", "user-agent=evil.test", "accept=evil.test"])
def test_routes_do_not_share(start, origin, site, option):
    """A route that tells its origin more fills no other way's copy."""
    proxy = start(origin, "--route", f"/evil/={origin.url}/ {option}")
    site["/f"] = lambda request: page("Cache-Control: public, max-age=600", body=repr(sorted(request.fields)).encode())
    proxy.get("/evil/f", "Cookie: evil.test", "Authorization: Basic evil.test", "X-Evil: evil.test")
    assert EVIL.encode() not in proxy.get("/f").body and EVIL.encode() not in proxy.get(f"/{origin.url}/f").body and site.count() == 3


@pytest.fixture
def secure(tls_origin, authority, good):
    """An https origin that may be told who asks, and counts."""
    context = server_context(good)
    context.load_verify_locations(authority.root.cert)
    context.verify_mode = ssl.CERT_OPTIONAL
    origin = tls_origin(context)
    origin.site = Site(origin)
    origin.site["*"] = page(FRESH)
    return origin


# How one route gets an answer that another would refuse, or would get as somebody else
TRUST = {"tls-verify": ("tls-ca-file={other} tls-verify=off", "tls-ca-file={other}", 502), "tls-ca-file": ("tls-ca-file={root}", "tls-ca-file={other}", 502),
         "tls-cert": ("tls-ca-file={root} tls-cert={client.cert} tls-key={client.key}", "tls-ca-file={root}", 200)}


@pytest.fixture
def trust(request, authority):
    loose, strict, status = TRUST[request.param]
    files = {"root": authority.root.cert, "other": authority.issue("Other root", extensions=CA, issuer=None).cert,
             "client": authority.issue("client", extensions=CLIENT)}
    return loose.format(**files), strict.format(**files), status


@pytest.mark.parametrize("trust", TRUST, indirect=True)
def test_routes_do_not_share_trust(start, secure, trust):
    loose, strict, status = trust
    proxy = start(None, "--route", f"/loose/={secure.url}/ {loose}", "--route", f"/strict/={secure.url}/ {strict}")
    assert proxy.get("/loose/f").status == 200 and was_hit(proxy.get("/loose/f"))
    assert proxy.get("/strict/f").status == status and secure.site.count() == (2 if status == 200 else 1)


@pytest.mark.parametrize("trust", TRUST, indirect=True)
def test_trust_taken_back_takes_its_copies_along(start, secure, trust, tmp_path):
    """What lies in a store from before the route's options changed."""
    loose, strict, status = trust
    for options, wanted in ((loose, 200), (loose, 200), (strict, status)):
        proxy = start(None, "--route", f"/={secure.url} {options}", "--cache-lmdb", str(tmp_path), "--cache-lmdb-bytes", "16m")
        assert proxy.get("/f").status == wanted
        proxy.stop()
    assert secure.site.count() == (2 if status == 200 else 1)


@pytest.mark.parametrize("option", ["cookies=on", "authorization=on", "request-fields=X-Evil", "user-agent=evil.test", "accept=evil.test",
                                    "follow-redirects=on", "respect-no-transform=on"])
def test_what_a_route_was_told_before_a_restart(start, origin, site, option, tmp_path):
    counts = []
    for options in ("", "", option):
        proxy = start(None, "--route", f"/={origin.url} {options}".strip(), "--cache-lmdb", str(tmp_path), "--cache-lmdb-bytes", "16m")
        counts.append(proxy.get("/f").status == 200 and site.count())
        proxy.stop()
    assert counts[:2] == [1, 1] and counts[2] != 1


def test_redirects_followed_and_not_followed(start, origin, site):
    """The gateway follows, a forward proxy's client gets the redirect itself, whoever asks first."""
    site["/old"], site["/new"] = message("301 Moved Permanently", FRESH, "Location: /new"), page(FRESH)
    for first in (True, False):
        proxy = start()
        for follows in (first, not first):
            got = proxy.get(f"/{origin.url}/old") if follows else proxy.get(f"{origin.url}/old", host=origin.authority)
            assert got.status == (200 if follows else 301), (first, follows)


def test_no_transform_is_respected_for_forward_clients_only(start, origin, site):
    data = '<?xml version="1.0" encoding="koi8-r"?><rss><channel><title>Новости</title></channel></rss>'.encode("koi8-r")
    site["/f"] = page("Cache-Control: max-age=600, no-transform", body=data, kind="application/xml")
    for first in (True, False):
        proxy = start()
        for raw_wanted in (first, not first):
            got = proxy.get(f"{origin.url}/f", host=origin.authority) if raw_wanted else proxy.get(f"/{origin.url}/f")
            assert (got.body == data) == raw_wanted, (first, raw_wanted)


@pytest.mark.parametrize("option,raw_wanted", [("", False), ("respect-no-transform=off", False), ("respect-no-transform=on", True)])
def test_no_transform_on_routes(start, origin, site, option, raw_wanted):
    data = '<?xml version="1.0" encoding="koi8-r"?><rss><channel><title>Новости</title></channel></rss>'.encode("koi8-r")
    site["/f"] = page("Cache-Control: max-age=600, no-transform", body=data, kind="application/xml")
    proxy = start(None, "--route", f"/={origin.url} {option}".strip())
    for _ in range(2):
        got = proxy.get("/f")
        assert (got.body == data) == raw_wanted and (got["X-Encoding-Rule"] == "none;reason=no-transform") == raw_wanted
    assert site.count() == 1 and was_hit(got)


def test_cookies_sent_on_are_no_part_of_what_others_get(start, origin, site):
    """A response to a request with a cookie that says nothing of itself may be that user's."""
    proxy = start(None, "--route", f"/={origin.url} cookies=on")
    site["/f"] = lambda request: page("Last-Modified: Sat, 01 Jan 2022 00:00:00 GMT", body=(request["Cookie"] or "nobody").encode())
    proxy.get("/f", "Cookie: session=evil.test")
    assert proxy.get("/f").body == b"nobody"


def test_fields_that_a_route_sends_on(start, origin, site):
    """request-fields: what the operator lets through reaches the origin, so it must not answer who did not say it."""
    proxy = start(None, "--route", f"/={origin.url} request-fields=X-Forwarded-Host")
    proxy.get("/f", "X-Forwarded-Host: evil.test")
    assert EVIL.encode() not in proxy.get("/f").body
