"""HTTP/2 at the admin listener, over TLS: what it answers, who may ask and who finds a place is as by HTTP/1.1."""
import json

import pytest

pytest.importorskip("hpack", reason="no python3-hpack here")

from certs import client_context
from feeds import SMALL
from http2 import Http2
from http2_frames import INITIAL_WINDOW_SIZE
from pages import FRESH, Site, page, was_hit
from peers import TlsClient
from schema import fits
from test_admin import TOKEN, Admin
from test_admin_places import BEARER, HELD, LONG, crowd, is_answered, sends
from wire import Cut

WORK, PROBES = 64, 8        # places (proxy/admin/places.h)


@pytest.fixture
def admin(start, good, authority):
    """admin(to, option...): an admin listener over TLS; .http2() gives a connection to it."""
    def run(to=None, *options):
        made = Admin(start(to, "--admin-listen", "127.0.0.1:0", "--admin-tls-cert", good.chain, "--admin-tls-key", good.key, *options))

        def connect(**kind):
            made.proxy.clients.append(Http2(made.port, client_context(authority.root), **kind))
            return made.proxy.clients[-1]
        made.http2 = connect
        return made
    return run


def ask(conn, path, *fields, **kind):
    return conn.ask(path, *fields, host="localhost", **kind)


def test_pages(admin):
    conn = admin().http2()
    for path, kind in (("/", "text/html"), ("/healthz", "text/plain"), ("/metrics", "text/plain"), ("/api/status", "application/json")):
        got, head = ask(conn, path).response(), ask(conn, path, method="HEAD").response()
        assert (got.status, head.status, head.body) == (200, 200, b"") and got.body, path
        assert got["Content-Type"].startswith(kind) and got["Cache-Control"] == "no-store"
    assert ask(conn, "/nothing").response().status == 404 and not conn.goaways


def test_what_operators_order(admin, origin):
    site = Site(origin)
    site["/f"] = page(FRESH)
    made = admin(origin, "--cache", "on", "--admin-token", TOKEN)
    made.proxy.get("/f")
    conn = made.http2()
    for sent in b"what=url&url=" + origin.url.encode() + b"/f", b"what=all":
        assert ask(conn, "/api/purge", method="POST", body=sent).response().status == 401
        assert was_hit(made.proxy.get("/f"))
    got = ask(conn, "/api/purge?what=all", BEARER, "Content-Length: 0", method="POST").response()
    assert got.status == 200 and json.loads(got.body)["purged"] == 1 and not was_hit(made.proxy.get("/f"))
    assert not conn.goaways


@pytest.mark.parametrize("named", [True, False], ids=["a length", "no length"])
def test_a_feed_is_checked(admin, named):
    conn = admin().http2()
    got = ask(conn, "/api/check", *([f"Content-Length: {len(SMALL)}"] * named), method="POST", body=SMALL).response()
    assert got.status == 200 and fits(json.loads(got.body), "check")


def test_a_page_of_another_site(admin):
    """Its Origin differs from :authority."""
    conn, path = admin().http2(), "/api/log-level?level=info"
    for site, status in (("evil.test", 403), ("localhost", 200)):
        assert ask(conn, path, f"Origin: https://{site}", "Content-Length: 0", method="POST").response().status == status


def test_what_is_too_long(admin):
    conn = admin().http2()
    assert ask(conn, "/healthz", f"X-Long: {'x' * 40_000}").response().status == 431
    assert ask(conn, "/api/purge", method="POST", body=b"x" * 70_000, end=False).response().status == 413
    assert ask(conn, "/healthz").response().status == 200


def test_many_at_once(admin):
    """As many as there are places are answered. Who comes then takes the first ones' places, and nothing else of their connection."""
    conn = admin().http2()
    asked = [ask(conn, path) for path in ["/metrics", "/api/status"] * (WORK // 2) + ["/healthz"] * PROBES]
    assert {each.response().status for each in asked} == {200}
    asked = [ask(conn, "/metrics") for _ in range(WORK + 30)]
    for each in asked:
        each.until(lambda each=each: each.ended)
    assert asked[-1].response().status == 200 and sum(each.ended == "end" for each in asked) >= WORK
    assert ask(conn, "/healthz").response().status == 200 and not conn.goaways


def test_bodies_that_do_not_end(admin):
    """They are given up for those who come later; a probe finds a place, on the same connection and on others."""
    made = admin()
    conn, other = made.http2(), made.http2()
    begun = [ask(conn, "/api/check", method="POST", body=b"<rss>", end=False) for _ in range(WORK + 20)]
    assert ask(conn, "/readyz").response().status == 200
    assert ask(other, "/metrics").response().status == 200
    assert sum(each.ended is None for each in begun) <= WORK
    begun[-1].send(b"</rss>", end=True)
    assert begun[-1].response().status == 200 and not conn.goaways


def test_answers_that_nobody_takes(admin):
    made = admin()
    stalled = made.http2(options=[(INITIAL_WINDOW_SIZE, 0)], takes=False)
    for path in ["/metrics"] * 80 + ["/healthz"] * 16:
        ask(stalled, path)
    stalled.round_trip()
    conn = made.http2()
    for path in ("/healthz", "/metrics"):
        assert ask(conn, path).response().status == 200


def test_a_crowd_leaves_room_for_a_probe(admin, authority):
    """Idle connections of HTTP/1.1 and of HTTP/2 give way; one with a request under way and the token does not."""
    made, context = admin(None, "--admin-token", TOKEN), client_context(authority.root)
    idle, busy = made.http2(), made.http2()
    assert ask(idle, "/healthz").response().status == 200
    under_way = ask(busy, "/api/check", BEARER, f"Content-Length: {len(SMALL)}", method="POST", end=False)
    busy.round_trip()
    with crowd(made.port, HELD, lambda sock: sends(b"G")(context.wrap_socket(sock, server_hostname="localhost"))):
        assert is_answered(lambda: TlsClient(made.port, context))
        conn = made.http2()
        assert ask(conn, "/healthz").response().status == 200
        under_way.send(SMALL, end=True)
        assert under_way.response().status == 200
    with pytest.raises(Cut):
        ask(idle, "/healthz").response()


def test_who_leaves_amid_requests(admin):
    """Frames of streams that nobody reads any more, and a connection that ends under them."""
    made = admin()
    for number in range(20):
        conn = made.http2()
        asked = [ask(conn, path) for path in ("/metrics", "/healthz", "/feeds")]
        begun = ask(conn, "/api/check", f"Content-Length: {LONG}", method="POST", body=b"<rss>", end=False)
        if number % 2:
            for each in (*asked, begun):
                each.reset()
            assert ask(conn, "/healthz").response().status == 200
        conn.close()
    assert made.http2().get("/healthz", host="localhost").status == 200


def test_the_end(admin):
    """A connection with a request under way ends with the process."""
    made = admin()
    conn = made.http2()
    ask(conn, "/api/check", f"Content-Length: {LONG}", method="POST", body=b"<rss>", end=False)
    assert ask(conn, "/readyz").response().status == 200
    made.proxy.sigterm()
    conn.aftermath()
