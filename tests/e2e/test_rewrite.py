"""rewrite = enclosures: URLs of enclosures and images lead through the gateway, by the name that each client asked for, or by gateway-url."""
import json
import re
import shutil
import subprocess

import pytest

from certs import client_context, server_context
from feeds import well_formed
from pages import FRESH, Site, page, was_hit
from peers import Background, TlsClient
from proxy import BINARY, RELOADED
from wire import PATIENCE, message

ON = ("--rewrite", "enclosures")
RSS = "application/rss+xml"
FEED = ('<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>News</title><link>https://a.test/</link>\n'
        "<image><url>{0}https://a.test/b.png?c=1&amp;d</url></image>\n"
        "<item><enclosure url=\"{0}https://a.test/1.mp3\" type='audio/mpeg' length=\"1\"/><enclosure url='http://a.test/2.mp3'/></item>\n"
        "<item><media:content url='{0}https://b.test/3.mp4'/><description>&lt;img src='https://a.test/e.png'></description></item></channel></rss>\n")
RADIO, KITCHEN = "radio.test", "kitchen.lan:8080"


def led(gateway):
    return FEED.format(gateway + "/" if gateway else "").encode()


def feed(*fields, **kind):
    return page(*fields, body=led(""), kind=RSS, **kind)


@pytest.fixture
def site(origin):
    site = Site(origin)
    site["*"] = feed(FRESH, 'ETag: "1"')
    return site


@pytest.mark.parametrize("workers", ["1", "2"])
def test_two_names_and_each_store(start, origin, site, store, workers):
    """Each name has what is stored for it; what one client says is not what another one gets."""
    proxy = start(origin, *ON, *store, "--workers", workers, "--cache", "on")
    for turn in range(3):
        for host in (RADIO, KITCHEN):
            got = proxy.get("/f", host=host)
            assert got.body == led(f"http://{host}") and well_formed(got.body)
            assert was_hit(got) == (turn > 0)
    assert site.count("/f") == 2
    counted = proxy.counters()
    assert counted["urls_led"] == 6 and counted["repairs"] == 0


def test_a_restart_keeps_them_apart(start, origin, site, tmp_path):
    kept = ("--cache-lmdb", str(tmp_path), "--cache-lmdb-bytes", "64m", "--cache", "on")
    proxy = start(origin, *ON, *kept)
    for host in (RADIO, KITCHEN):
        proxy.get("/f", host=host)
    proxy.stop()
    proxy = start(origin, *ON, *kept)
    for host in (KITCHEN, RADIO):
        got = proxy.get("/f", host=host)
        assert got.body == led(f"http://{host}") and was_hit(got)
    proxy.stop()
    off = start(origin, *kept).get("/f", host=RADIO)
    assert off.body == led("") and not was_hit(off)


def test_names_do_not_wait_for_each_other(start, origin):
    """Two clients of one name share a fetch, one of another name has its own."""
    proxy = start(origin, *ON, "--cache", "on")
    clients = [proxy.client() for _ in range(3)]
    clients[0].ask("/f", host=RADIO)
    first = origin.receive()
    clients[1].ask("/f", host=KITCHEN)
    second = origin.receive()
    clients[2].ask("/f", host=RADIO.upper())
    second.answer(feed(FRESH))
    assert clients[1].response().body == led(f"http://{KITCHEN}")
    first.answer(feed(FRESH))
    assert [clients[n].response().body for n in (0, 2)] == [led(f"http://{RADIO}")] * 2
    assert proxy.counters()["fetches"] == 2


def test_validators_are_of_one_name(start, origin, site):
    """A client that knows the answer by one name has another one by another name."""
    proxy = start(origin, *ON, "--cache", "on")
    tag = proxy.get("/f", host=RADIO)["ETag"]
    assert proxy.get("/f", f"If-None-Match: {tag}", host=RADIO).status == 304
    got = proxy.get("/f", f"If-None-Match: {tag}", host=KITCHEN)
    assert got.status == 200 and got.body == led(f"http://{KITCHEN}") and got["ETag"] != tag


def test_a_304_of_the_origin_keeps_the_form(start, origin, site):
    proxy = start(origin, *ON, "--cache", "on")
    site["/f"] = lambda request: page('ETag: "1"', status="304 Not Modified", body=b"") if "If-None-Match" in dict(request.fields) else \
        feed('ETag: "1"', "Cache-Control: max-age=0")
    for _ in range(2):
        for host in (RADIO, KITCHEN):
            assert proxy.get("/f", host=host).body == led(f"http://{host}")
    assert site.count("/f") == 4


def test_a_purge_forgets_all_names(start, origin, site):
    proxy = start(origin, *ON, "--cache", "on")
    for host in (RADIO, KITCHEN):
        proxy.get("/f", host=host)
    assert proxy.get("/f", method="PURGE", host=RADIO).status == 200
    assert not was_hit(proxy.get("/f", host=KITCHEN)) and not was_hit(proxy.get("/f", host=RADIO))


def test_gateway_url(start, origin, site):
    """One stored answer for all, whatever they say."""
    proxy = start(origin, *ON, "--gateway-url", "http://nas.lan:8080/feeds/", "--cache", "on")
    for turn, host in enumerate((RADIO, KITCHEN, "127.0.0.1")):
        got = proxy.get("/f", "X-Forwarded-Host: evil.test", host=host)
        assert got.body == led("http://nas.lan:8080/feeds") and was_hit(got) == (turn > 0)
    assert proxy.get("/f", host=None, version="HTTP/1.0").body == led("http://nas.lan:8080/feeds")


def test_ways_in(start, origin, site):
    """By the gateway and by routes; not through the forward proxy, nor where no name is known, nor by default."""
    proxy = start(origin, *ON)
    assert proxy.get(f"/{origin.url}/f", host=RADIO).body == led(f"http://{RADIO}")
    assert proxy.get(f"/?url={origin.url}/f", host=RADIO).body == led(f"http://{RADIO}")
    assert proxy.get(f"{origin.url}/f", host=f"127.0.0.1:{origin.port}").body == led("")
    assert proxy.get("/f", host=None, version="HTTP/1.0").body == led("")
    assert proxy.get("/f", "X-Forwarded-Host: evil.test", "Forwarded: host=evil.test", host=RADIO).body == led(f"http://{RADIO}")
    assert proxy.get("/f", host="evil.example.org").status == 421
    assert start(origin).get("/f", host=RADIO).body == led("")
    assert start(origin, *ON, "--gateway", "off").get("/f", host=RADIO).body == led("")


def test_routes_have_their_own(start, origin, site):
    proxy = start(None, "--rewrite", "enclosures", "--route", f"/a/={origin.url}/ rewrite=off", "--route", f"/b/={origin.url}/",
                  "--route", f"/c/={origin.url}/ gateway-url=https://c.test", "--cache", "on")
    for path, gateway in (("/a/f", ""), ("/b/f", f"http://{RADIO}"), ("/c/f", "https://c.test")):
        assert proxy.get(path, host=RADIO).body == led(gateway), path


def test_clients_over_tls_come_back_so(listening, origin, site, authority):
    proxy = listening(origin, *ON, "--cache", "on")
    client = TlsClient(proxy.tls_port, client_context(authority.root))
    assert client.get("/f", host=RADIO).body == led(f"https://{RADIO}")
    client.close()
    assert proxy.get("/f", host=RADIO).body == led(f"http://{RADIO}")


@pytest.mark.parametrize("size", [1, 7, 64])
def test_streamed(start, origin, size):
    """However the origin's bytes arrive; in another encoding, and as ASCII."""
    text = led("").replace(b"News", "Новости".encode()).decode()
    for options, data in (((), text.encode("koi8-r", "replace").replace(b"UTF-8", b"KOI8-R")), (("--output", "us-ascii"), text.encode())):
        proxy = start(origin, *ON, *options)
        client = proxy.client().ask("/f", host=RADIO)
        origin.receive().send_apart(message("200 OK", f"Content-Type: {RSS}", body=data), size)
        got = client.response().body
        assert well_formed(got)
        assert re.findall(rb"[\"'>]([^\"'>]*)https://", got).count(b"http://radio.test/") == 3


def test_a_feed_that_comes_again_as_it_was(start, origin, site):
    """Its URLs are led all the same, each time by the name that is asked for."""
    site["*"] = feed("Cache-Control: no-store")
    site["/none"] = page("Cache-Control: no-store", body=b"<rss><link>https://a.test/</link></rss>", kind=RSS)
    proxy = start(origin, *ON, "--cache", "on")
    for host in (RADIO, RADIO, KITCHEN, RADIO, KITCHEN):
        assert proxy.get("/f", host=host).body == led(f"http://{host}")
        assert proxy.get("/none", host=host).body == b"<rss><link>https://a.test/</link></rss>"
    assert proxy.counters()["urls_led"] == 15


def test_what_is_no_feed_stays(start, origin, site):
    site["/h"] = page(body=b"<html><body><img src='https://a.test/b.png'></body></html>", kind="text/html")
    site["/n"] = feed("Cache-Control: no-transform")
    proxy = start(origin, *ON, "--route", f"/r/={origin.url}/ respect-no-transform=on")
    assert proxy.get("/h", host=RADIO).body == b"<html><body><img src='https://a.test/b.png'></body></html>"
    assert proxy.get("/r/n", host=RADIO).body == led("")
    assert proxy.get("/n", host=RADIO).body == led(f"http://{RADIO}")


def test_a_reload_changes_it(start, origin, site, tmp_path):
    """What was stored under another gateway-url is not used."""
    file = tmp_path / "utfeed.conf"
    words = "rewrite = enclosures\ngateway-url = {}\n[route /]\norigin = " + origin.url + "\n"
    file.write_text(words.format("http://one.test"))
    proxy = start(None, "-c", str(file), "--cache", "on")
    assert proxy.get("/f").body == led("http://one.test")
    file.write_text(words.format("http://two.test"))
    proxy.reload(RELOADED)
    got = proxy.get("/f")
    assert got.body == led("http://two.test") and not was_hit(got)


EPISODE = bytes(range(256)) * 800


def episode(request):
    """An enclosure that can be had in parts."""
    asked = re.fullmatch(r"bytes=(\d+)-", dict(request.fields).get("Range", ""))
    if not asked:
        return message("200 OK", "Content-Type: audio/mpeg", "Accept-Ranges: bytes", 'ETag: "e"', FRESH, body=EPISODE)
    first = int(asked[1])
    return message("206 Partial Content", "Content-Type: audio/mpeg", f"Content-Range: bytes {first}-{len(EPISODE) - 1}/{len(EPISODE)}", 'ETag: "e"',
                   FRESH, body=EPISODE[first:])


@pytest.fixture
def podcast(tls_origin, good, trusting):
    """A feed and its episode at an origin that speaks TLS only, and the episode's URL as a client by HTTP has it."""
    origin = tls_origin(server_context(good))
    site = Site(origin)
    site["/feed"] = lambda request: page(FRESH, body=f"<rss><enclosure url='{origin.url}/episode.mp3'/></rss>".encode(), kind=RSS)
    site["/episode.mp3"] = episode
    proxy = trusting(None, *ON, "--cache", "on")
    body = proxy.get(f"/{origin.url}/feed", host=f"127.0.0.1:{proxy.port}").body.decode()
    url = re.search("url='([^']*)'", body)[1]
    assert url == f"http://127.0.0.1:{proxy.port}/{origin.url}/episode.mp3"
    return proxy, url


def test_the_enclosure_comes_without_tls(podcast):
    proxy, url = podcast
    path = url.split(f":{proxy.port}", 1)[1]
    got = proxy.get(path, host=KITCHEN)
    assert got.body == EPISODE and got["Content-Type"] == "audio/mpeg"
    for first in (1000, len(EPISODE) - 1):
        part = proxy.get(path, f"Range: bytes={first}-", host=KITCHEN)
        assert part.status == 206 and part.body == EPISODE[first:]


def test_wget_continues_an_enclosure(podcast, tmp_path):
    if not shutil.which("wget"):
        pytest.skip("no wget")
    _, url = podcast
    for had in (0, 100_000):        # what is asked for first comes whole
        (tmp_path / "episode.mp3").write_bytes(EPISODE[:had])
        done = subprocess.run(["wget", "-S", "-c", "--no-proxy", url], cwd=tmp_path, stderr=subprocess.PIPE, timeout=PATIENCE, check=True)
        assert (b"HTTP/1.1 206" in done.stderr) == (had > 0) and (tmp_path / "episode.mp3").read_bytes() == EPISODE


def test_commands(tmp_path):
    file = tmp_path / "feed.xml"
    file.write_bytes(led(""))

    def run(*words):
        return subprocess.run([BINARY, *words, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert run("normalise", "--gateway", "http://nas.lan:8080/").stdout == led("http://nas.lan:8080")
    assert run("normalise", "--gateway", "http://nas.lan", "--no-repair").stdout == led("http://nas.lan")
    assert run("normalise").stdout == led("")
    report = json.loads(run("check", "--json", "--gateway", "http://nas.lan").stdout)
    assert report["urls_led"] == 3 and not any(report["repairs"].values())
    assert b"3 URLs led through it" in run("check", "--gateway", "http://nas.lan").stdout
    for wrong in ("nas.lan", "ftp://nas.lan", "http://nas.lan/?a", "http://nas.lan/&", "http://nas.lan/'", "http://u:p@nas.lan/"):
        done = run("normalise", "--gateway", wrong)
        assert done.returncode == 2 and b"--gateway" in done.stderr, wrong


def test_many_clients_of_two_names_at_once(start, origin, site):
    proxy = start(origin, *ON, "--cache", "on", "--workers", "2")

    def ask(n):
        host = (RADIO, KITCHEN)[n % 2]
        return [proxy.get(f"/f{i % 5}", host=host).body == led(f"http://{host}") for i in range(20)]
    asking = [Background(ask, n) for n in range(6)]
    assert all(all(each.join()) for each in asking)
