"""Options and what each changes on the wire: fields that go upstream, https in place of http, limits. Redirects, pooled
connections and politeness have files of their own."""
import re

import pytest

from certs import server_context
from feeds import SMALL, SMALL_OUT, big
from wire import message

XML = "Content-Type: application/xml"
FEED = message("200 OK", XML, body=SMALL)


def moved(to, status="302 Found"):
    return message(status, f"Location: {to}")


def upstream_fields(start, origin, route_options, *fields, options=()):
    """The request an origin gets for one by a route with route_options, whose client sends fields."""
    proxy = start(None, *options, "--route", f"/={origin.url} {route_options}".strip())
    got, asked = proxy.through(origin, FEED, "/feed", *fields)
    assert got.body == SMALL_OUT
    return asked


# ---- what goes upstream ----

CREDENTIALS = ("Cookie: id=7", "Authorization: Basic dTpw", "Proxy-Authorization: Basic dTpw")


@pytest.mark.parametrize("route_options, sent", [
    ("", set()), ("cookies=off authorization=off", set()), ("cookies=on", {"cookie"}), ("authorization=on", {"authorization"}),
    ("cookies=on authorization=on", {"cookie", "authorization"}), ("request-fields=*", set()),
    ("request-fields=Cookie,Authorization,Proxy-Authorization", set())])
def test_credentials_go_upstream_only_as_the_route_says(start, origin, route_options, sent):
    asked = upstream_fields(start, origin, route_options, *CREDENTIALS)
    assert {"cookie", "authorization", "proxy-authorization"} & asked.names() == sent


@pytest.mark.parametrize("option, sent", [("off", set()), ("on", {"cookie", "authorization"})])
def test_credentials_go_through_a_forward_proxy_only_where_it_may(start, origin, option, sent):
    proxy = start(None, "--allow", "127.0.0.0/8:*", "--forward-credentials", option)
    _, asked = proxy.through(origin, FEED, f"{origin.url}/feed", *CREDENTIALS)
    assert {"cookie", "authorization", "proxy-authorization"} & asked.names() == sent


@pytest.mark.parametrize("route_options, sent", [
    ("", set()), ("request-fields=X-Tenant", {"x-tenant"}), ("request-fields=x-tenant,X-Trace", {"x-tenant", "x-trace"}),
    ("request-fields=*", {"x-tenant", "x-trace"}), ("request-fields=X-Ten", set())])
def test_request_fields(start, origin, route_options, sent):
    """Further fields go as request-fields says; what Connection names never does."""
    asked = upstream_fields(start, origin, route_options, "X-Tenant: 1", "X-Trace: 2", "X-Hop: 3", "Connection: x-hop")
    assert {"x-tenant", "x-trace", "x-hop"} & asked.names() == sent


OF_ALL_KINDS = ("Accept: text/xml", "Accept-Language: ru", "X-Tenant: 1", "X-Hop: 2", "accept-language: en", "Connection: x-hop, close-not",
                "X-Tenant: 3", "Via: 1.0 before", "Authorization: Basic dTpw", "User-Agent: curl/8 (x; y)", "From: a@b.test",
                "Content_Length: 5", "Proxy-Authorization: Basic dTpw", "Cache-Control: max-age=3", "traceparent: 00-1-2-3")


@pytest.mark.parametrize("route_options", [
    "", "authorization=on", "request-fields=*", "request-fields=X-Tenant authorization=on", "user-agent=client accept=*/*"])
def test_what_goes_upstream_does_not_depend_on_the_cache(start, origin, route_options):
    """A route that keeps has read the client's fields for its keys when it writes the head; one that keeps nothing has not. Of a
    request before, on the same connection, nothing is left."""
    def asked_for(keeps):
        proxy = start(None, "--route", f"/={origin.url} cache={keeps} {route_options}".strip())
        client = proxy.client()
        for target, fields in (("/1", OF_ALL_KINDS), ("/2", ()), ("/3", OF_ALL_KINDS[::-1]), ("/4", OF_ALL_KINDS[:3])):
            client.ask(target, *fields)
            upstream = origin.receive()
            upstream.answer(FEED)
            assert client.response().body == SMALL_OUT
            yield upstream.request.line, upstream.request.fields

    kept, passed = list(asked_for("on")), list(asked_for("off"))
    assert kept == passed and len(kept) == 4
    assert {name.lower() for name, _ in kept[1][1]} - {"user-agent"} == {"host", "accept", "via", "accept-encoding"}


OWN = r"utfeed/\S+"
CURL = "User-Agent: curl/8 (x; y)"


@pytest.mark.parametrize("options, route_options, client, sent", [
    ((), "", [], OWN),
    ((), "", [CURL], OWN + r" \(curl/8 \[x; y\]\)"),
    (("--user-agent", "reader/2"), "", [CURL], "reader/2"),
    (("--user-agent", "client"), "", [CURL], r"curl/8 \(x; y\)"),
    (("--user-agent", "reader/2"), "user-agent=own/3", [CURL], "own/3")])
def test_user_agent(start, origin, options, route_options, client, sent):
    asked = upstream_fields(start, origin, route_options, *client, options=options)
    assert re.fullmatch(sent, asked["User-Agent"])


def test_user_agent_client_adds_none(start, origin):
    assert "User-Agent" not in upstream_fields(start, origin, "user-agent=client")


@pytest.mark.parametrize("options, route_options, client, sent", [
    ((), "", ["Accept: text/xml"], "text/xml"),
    (("--accept", "application/rss+xml"), "", ["Accept: text/xml"], "application/rss+xml"),
    (("--accept", "application/rss+xml"), "accept=application/atom+xml", [], "application/atom+xml")])
def test_accept(start, origin, options, route_options, client, sent):
    assert upstream_fields(start, origin, route_options, *client, options=options)["Accept"] == sent


def test_accept_of_its_own_puts_feeds_first(start, origin):
    asked = upstream_fields(start, origin, "")["Accept"].replace(" ", "").split(",")
    assert asked[0] == "application/atom+xml" and asked[-1].startswith("*/*;q=0.")


# ---- redirects ----

@pytest.mark.parametrize("route_options, followed", [("", False), ("follow-redirects=off", False), ("follow-redirects=on", True)])
def test_follow_redirects_of_a_route(start, origin, route_options, followed):
    origin.serve(lambda request: moved("/feed") if request.target == "/old" else FEED)
    got = start(None, "--route", f"/={origin.url} {route_options}".strip()).get("/old")
    assert (got.status, got.body == SMALL_OUT) == ((200, True) if followed else (302, False))


@pytest.mark.parametrize("options, followed", [((), False), (("--redirect-downgrade", "off"), False),
                                               (("--redirect-downgrade", "on"), True)])
def test_redirect_downgrade(start, origin, tls_origin, authority, good, options, followed):
    """What was asked for by https is not fetched in the clear, unless the operator says so."""
    secure = tls_origin(server_context(good))
    proxy = start(None, "--tls-ca-file", authority.root.cert, *options)
    client = proxy.client().ask(f"/{secure.url}/feed")
    secure.receive().answer(moved(f"{origin.url}/feed"))
    if followed:
        origin.receive().answer(FEED)
        assert client.response().body == SMALL_OUT
    else:
        got = client.response()
        assert got.status == 502 and "error=http_request_denied" in got["Proxy-Status"] and not origin.asked()


@pytest.mark.parametrize("options, route_options, way", [
    (("--upgrade-https", "on"), "", "gateway"), (("--upgrade-https", "on"), "", "forward"), (("--upgrade-https", "on"), "", "route"),
    ((), "upgrade-https=on", "route")])
def test_upgrade_https(start, tls_origin, authority, good, options, route_options, way):
    """A port other than 80 stays: the origin here speaks TLS alone."""
    secure = tls_origin(server_context(good))
    plain = secure.url.replace("https:", "http:")
    proxy = start(None, "--tls-ca-file", authority.root.cert, *options, "--route", f"/r/={plain}/ {route_options}".strip())
    target = {"gateway": f"/{plain}/feed", "forward": f"{plain}/feed", "route": "/r/feed"}[way]
    got, asked = proxy.through(secure, FEED, target)
    assert got.body == SMALL_OUT and asked.target == "/feed"
    assert got["Content-Location"] == (f"{secure.url}/feed" if way == "gateway" else None)


def test_no_upgrade_where_a_route_says_so(start, origin):
    proxy = start(None, "--upgrade-https", "on", "--route", f"/={origin.url} upgrade-https=off")
    assert proxy.through(origin, FEED)[0].body == SMALL_OUT


# ---- limits ----

def test_fetch_timeout_before_the_answer(start, origin):
    proxy = start(origin, "--fetch-timeout", "500ms")
    client = proxy.client().ask("/feed")
    upstream = origin.receive()
    got = client.response()
    assert got.status == 504 and "error=http_response_timeout" in got["Proxy-Status"] and upstream.is_ended()


def test_fetch_timeout_within_the_body(start, origin):
    """However busy the origin is: between-bytes-timeout would never end this."""
    proxy = start(origin, "--fetch-timeout", "2s", "--sniff-bytes", "1k")
    client = proxy.client().ask("/feed")
    upstream = origin.receive()
    upstream.send(message("200 OK", XML, "Content-Length: 1000000000", body=big(size=20_000)[0]))
    dribbling = upstream.dribble(b"x")
    cut = client.cut()
    assert cut.message.status == 200
    dribbling.join()


@pytest.mark.http1("a client's socket holds more than a window of HTTP/2")
def test_transit_bytes(start, origin):
    """What an origin can send ahead of a client that takes nothing grows with it, and no further than it and the sockets hold."""
    def taken(transit_bytes, least=0):
        proxy = start(origin, "--transit-bytes", transit_bytes)
        client = proxy.client(receive_buffer=4096).ask("/feed")
        upstream = origin.receive()
        upstream.send(message("200 OK", "Content-Type: image/png", length=False))
        sent = upstream.push(bytes(65536), 64 << 20, least)
        client.close()
        upstream.close()
        return sent
    # All of 16m is taken; what the sockets hold beyond may be less than one of the pieces that are sent
    little, much = taken("16k"), taken("16m", least=(16 << 20) - 1)
    assert little < 16 << 20 <= much < 64 << 20
