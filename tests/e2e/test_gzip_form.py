"""Gzip forms of what is stored: made once, for everybody, with their length known; kept where the body is, gone with it."""
import gzip
import random
import string

import pytest

from feeds import big
from pages import FRESH, Site, page, was_hit
from peers import Background
from proxy import STREAMED
from test_gzip import ITEMS, WANTS
from wire import message

TAG = 'ETag: "1"'
RANDOM = b"<rss>" + "".join(random.Random(1).choices(string.ascii_letters + string.digits + string.punctuation.translate({ord(c): None for c in "<&]"}),
                                                     k=700000)).encode() + b"</rss>"


@pytest.fixture
def site(origin):
    return Site(origin)


def feed(*fields, body=ITEMS):
    return page(*fields, body=body, kind="application/xml")


def unpacked(got):
    assert got.status == 200 and got["Content-Encoding"] == "gzip"
    return gzip.decompress(got.body)


def test_the_first_hit_makes_it(proxy, site):
    site["/f"] = feed(FRESH, TAG)
    plain, first = proxy.get("/f"), proxy.get("/f", WANTS)
    assert was_hit(first) and unpacked(first) == plain.body and first.framing == "length" and len(first.body) < len(plain.body) / 2
    assert first["ETag"] == plain["ETag"][:-1] + ';gz"' and first.tokens("Vary") == plain.tokens("Vary") == ["accept-encoding"]
    assert first["X-Encoding-Rule"] == plain["X-Encoding-Rule"] and proxy.counters()["gzip_forms"] == 1
    second, again = proxy.get("/f", WANTS), proxy.get("/f")
    assert second.body == first.body and again.body == plain.body and was_hit(second) and site.count() == 1
    assert proxy.counters()["gzip_forms"] == 1
    sent = sorted(int(line.split(b" 200 ")[1].split()[0]) for line in proxy.access_lines(4))
    assert sent == sorted(len(got.body) for got in (plain, first, second, again))


def test_effort(proxy, site):
    """A feed that is packed for one client is packed fast, and longer than one that is stored."""
    words = ["новости", "сегодня", "рынок", "news", "market", "today", "погода", "city"]
    body = ("<rss>" + " ".join(random.Random(2).choices(words, k=20000)) + "</rss>").encode()
    site["/stored"], site["/passing"] = feed(FRESH, body=body), feed("Cache-Control: no-store", body=body)
    sizes = {}
    for path in ("/stored", "/passing"):
        assert proxy.get(path).body == body
        got = proxy.get(path, WANTS)
        assert unpacked(got) == body and was_hit(got) == (path == "/stored")
        sizes[path] = len(got.body)
    assert sizes["/stored"] < sizes["/passing"]


def test_head_tells_its_length_and_does_not_make_it(proxy, site):
    site["/f"] = feed(FRESH, TAG)
    proxy.get("/f")
    before = proxy.get("/f", WANTS, method="HEAD")
    assert before["Content-Encoding"] == "gzip" and before["Content-Length"] is None and proxy.counters()["gzip_forms"] == 0
    got, head = proxy.get("/f", WANTS), proxy.get("/f", WANTS, method="HEAD")
    assert head["Content-Length"] == str(len(got.body)) and head.body == b"" and head["ETag"] == got["ETag"] == before["ETag"]


@pytest.mark.parametrize("asking,kind,status", [
    ((WANTS,), {"version": "HTTP/1.0"}, 200), ((WANTS, "Range: bytes=0-99"), {}, 206), (("Accept-Encoding: br",), {}, 200),
    (("Accept-Encoding: gzip;q=0",), {}, 200)])
def test_who_gets_the_plain_form(proxy, site, asking, kind, status):
    site["/f"] = feed(FRESH, TAG)
    plain = proxy.get("/f")
    proxy.get("/f", WANTS)
    got = proxy.get("/f", *asking, **kind)
    assert got.status == status and "Content-Encoding" not in got and got["ETag"] == plain["ETag"]
    assert got.body == plain.body[:100 if status == 206 else None]


def test_conditions_on_its_tag(proxy, site):
    site["/f"] = feed(FRESH, TAG)
    proxy.get("/f")
    got = proxy.get("/f", WANTS)
    assert proxy.get("/f", WANTS, f"If-None-Match: {got['ETag']}").status == 304
    assert proxy.get("/f", WANTS, 'If-None-Match: "x"').body == got.body and proxy.counters()["gzip_forms"] == 1


def test_a_304_keeps_it(proxy, site):
    """Each request revalidates, and each 304 makes a new entry of the same body."""
    site["/f"] = lambda request: message("304 Not Modified", "Cache-Control: no-cache", TAG, length=False) if request["If-None-Match"] \
        else feed("Cache-Control: no-cache", TAG)
    first = proxy.get("/f", WANTS)
    text, later = unpacked(first), [proxy.get("/f", WANTS) for _ in range(4)]
    assert first.framing == STREAMED and [unpacked(got) for got in later] == [text] * 4 and site.count() == 5
    assert [got.framing for got in later] == ["length"] * 4 and proxy.counters()["gzip_forms"] == 1


def test_what_varies_has_one_each(proxy, site):
    site["/f"] = lambda request: feed(FRESH, "Vary: Accept-Language", body=ITEMS.replace(b"channel", request["Accept-Language"].encode()))
    for _ in range(3):
        got = [proxy.get("/f", WANTS, f"Accept-Language: {language}") for language in ("de", "uk")]
        assert [language in unpacked(each) for language, each in zip((b"<de>", b"<uk>"), got)] == [True, True]
    assert proxy.counters()["gzip_forms"] == 2 and site.count() == 2


@pytest.mark.parametrize("what", ["url", "all", "url, soft"])
def test_it_goes_with_its_body(proxy, site, what):
    site["/f"] = feed(FRESH, TAG)
    proxy.get("/f")
    old = unpacked(proxy.get("/f", WANTS))
    assert proxy.get("/f", f"X-Purge: {what}", method="PURGE").status == 200
    site["/f"] = feed(FRESH, 'ETag: "2"', body=ITEMS.replace(b"<title>x<", b"<title>other<"))
    new = [proxy.get("/f", WANTS) for _ in range(3)]
    assert {unpacked(got) for got in new} == {proxy.get("/f").body} and old not in (unpacked(got) for got in new)
    assert [got.framing for got in new] == [STREAMED, "length", "length"] and proxy.counters()["gzip_forms"] == 2


def test_a_soft_purge_keeps_it(proxy, site):
    """Until another body comes: here none does."""
    site["/f"] = lambda request: message("304 Not Modified", FRESH, TAG, length=False) if request["If-None-Match"] else feed(FRESH, TAG)
    proxy.get("/f")
    before = proxy.get("/f", WANTS)
    assert proxy.get("/f", "X-Purge: url, soft", method="PURGE").status == 200
    after = proxy.get("/f", WANTS)
    assert not was_hit(after) and after.body == before.body and after.framing == "length" and site.count() == 2
    assert proxy.counters()["gzip_forms"] == 1


def test_what_gains_nothing_is_not_tried_again(start, origin, site):
    proxy = start(origin, "--gzip-min=0")
    site["/f"] = feed(FRESH, body=b"<rss/>")
    assert unpacked(proxy.get("/f", WANTS)) == b"<rss/>"
    for got in [proxy.get("/f", WANTS, method=method) for method in ("GET", "HEAD", "GET")]:
        assert "Content-Encoding" not in got and got["Content-Length"] == "6" and got.body in (b"<rss/>", b"")
    assert proxy.counters()["gzip_forms"] == 1


@pytest.mark.parametrize("budget,kept", [("4m", True), ("1m", False)])
def test_what_there_is_no_room_for(start, origin, site, budget, kept):
    """700 KB of noise take 570 KB as gzip: the body stays, and is compressed for each."""
    proxy = start(origin, "--cache-bytes", budget)
    site["/f"] = feed(FRESH, body=RANDOM)
    proxy.get("/f")
    got = [proxy.get("/f", WANTS) for _ in range(4)]
    assert {unpacked(each) for each in got} == {RANDOM} and all(was_hit(each) for each in got) and proxy.counters()["gzip_forms"] == 1
    assert [each.framing for each in got][1:] == ["length" if kept else STREAMED] * 3


def test_of_what_comes_from_a_store(start, origin, site, tmp_path):
    """A second store has the body alone: its form is made anew, its tag still holds."""
    site["/f"] = feed(FRESH, TAG)
    first = start(origin, "--cache-lmdb", str(tmp_path))
    first.get("/f")
    before = first.get("/f", WANTS)
    first.stop()
    second = start(origin, "--cache-lmdb", str(tmp_path))
    assert second.get("/f", WANTS, f"If-None-Match: {before['ETag']}").status == 304
    after = [second.get("/f", WANTS) for _ in range(2)]
    assert [(got.body, got["ETag"], got.framing) for got in after] == [(before.body, before["ETag"], "length")] * 2
    assert all(was_hit(got) for got in after) and second.counters()["gzip_forms"] == 1 and site.count() == 1


@pytest.mark.parametrize("workers", ["1", "2"])
def test_everybody_reads_along(start, origin, site, workers):
    """A large body, for a crowd that comes at once, one of whom does not read: nobody waits for him."""
    data, out = big(size=3 << 20)
    proxy = start(origin, "--workers", workers)
    site["/f"] = feed(FRESH, body=data)
    assert proxy.get("/f").body == out
    slow = proxy.client(receive_buffer=4096).ask("/f", WANTS)
    slow.drained()
    crowd = [Background(proxy.client().get, "/f", WANTS) for _ in range(16)]
    assert all(unpacked(each.join()) == out for each in crowd)
    last = proxy.get("/f", WANTS)
    assert last.framing == "length" and unpacked(last) == out and unpacked(slow.response()) == out
    assert proxy.counters()["gzip_forms"] == 1


def test_it_is_made_to_the_end_for_nobody(proxy, site):
    """The reader for whom it was begun leaves at once."""
    data, out = big(size=3 << 20)
    site["/f"] = feed(FRESH, body=data)
    proxy.get("/f")
    proxy.client().ask("/f", WANTS).reset()
    while (got := proxy.get("/f", WANTS)).framing != "length":
        assert unpacked(got) == out
    assert unpacked(got) == out and proxy.counters()["gzip_forms"] == 1


@pytest.mark.parametrize("workers", ["1", "2"])
def test_draining_in_the_middle(start, origin, site, workers):
    """Whoever reads along gets it whole, whichever worker it is made by."""
    data, out = big(size=3 << 20)
    proxy = start(origin, "--workers", workers)
    site["/f"] = feed(FRESH, body=data)
    proxy.get("/f")
    crowd = [proxy.client().ask("/f", WANTS) for _ in range(8)]
    for each in crowd:
        each.drained()
    proxy.sigterm()
    assert all(unpacked(each.response()) == out for each in crowd)
    assert proxy.wait() == 0


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("change", ["reload", "purge", "replace", "confirm"])
def test_a_change_in_the_middle(start, origin, site, tmp_path, workers, change):
    """Whoever reads along gets what he asked for; who asks afterwards, what counts then."""
    config = tmp_path / "utfeed.conf"
    config.write_text("")
    (data, out), (data2, out2) = big(size=3 << 20), big(size=2 << 20)
    proxy = start(origin, "-c", str(config), "--workers", workers)
    site["/f"] = lambda request: (message("304 Not Modified", FRESH, TAG, length=False) if change == "confirm" and request["If-None-Match"]
                                  else feed(FRESH, TAG, body=data))
    proxy.get("/f")
    crowd = [proxy.client(receive_buffer=4096).ask("/f", WANTS) for _ in range(8)]
    crowd[0].arrives()
    if change in ("purge", "replace"):
        site["/f"] = feed(FRESH, 'ETag: "2"', body=data2)
    if change == "reload":
        proxy.reload()
    elif change == "purge":
        assert proxy.get("/f", method="PURGE").status == 200
    else:
        assert proxy.get("/f", "Cache-Control: no-cache").body == (out2 if change == "replace" else out)
    now = out2 if change in ("purge", "replace") else out
    assert proxy.get("/f").body == now and unpacked(proxy.get("/f", WANTS)) == now
    got = [unpacked(each.response()) for each in crowd]
    assert got[0] == out and all(each in (out, now) for each in got)
