"""SIGHUP: the configuration is read again, whole or not at all (test_reload_files.py: its certificates); what was begun before ends as
it began."""
import pytest

from feeds import SMALL, SMALL_OUT
from peers import Background
from proxy import REFUSED, RELOADED
from wire import message

XML = "Content-Type: application/xml"


@pytest.fixture
def file(tmp_path, start):
    """file(text) writes the configuration; file.start() serves by it; file.reload(text, word) has it read again, until word is said."""
    path = tmp_path / "utfeed.conf"

    def write(text):
        path.write_text("access-log = off\n" + text)

    def reload(proxy, text, word=RELOADED):
        write(text)
        proxy.reload(word)
    write.path, write.start, write.reload = path, lambda *options: start(None, "-c", str(path), *options), reload
    return write


def route(prefix, origin, *lines):
    return "\n".join([f"[route {prefix}]", f"origin = {origin.url}", *lines]) + "\n"


def small(request):
    return message("200 OK", XML, f"X-Path: {request.target}", body=SMALL)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_changes(file, origin, another, workers):
    other = another()
    origin.serve(small)
    other.serve(small)
    file("via = one\n" + route("/a/", origin) + route("/b/", origin))
    proxy = file.start("--workers", workers)
    held = [proxy.client() for _ in range(4)]
    assert all(client.get("/a/f")["Via"].endswith("one") for client in held) and proxy.get("/c/").status == 404
    file.reload(proxy, "via = two\n" + route("/a/", other, "normalise = off") + route("/c/", origin))
    for client in (*held, proxy.client()):
        got = client.get("/a/f")
        assert (got.status, got.body, got["Via"]) == (200, SMALL, "1.1 two")
        assert client.get("/b/f").status == 404 and client.get("/c/f").body == SMALL_OUT


def test_a_file_named_by_a_relative_path(file, start, origin):
    """The report names the file by its whole path, and asks for the working folder to find that path (sandbox)."""
    origin.serve(small)
    file(route("/a/", origin))
    proxy = start(None, "-c", file.path.name, under=("env", "-C", str(file.path.parent)))
    file.reload(proxy, route("/b/", origin))
    assert proxy.get("/a/f").status == 404 and proxy.get("/b/f").status == 200


def test_the_gateway_has_a_section_of_its_own(file, origin):
    """What stands in [gateway] counts for URLs in the gateway and for nothing else, also after a reload."""
    seen = []
    origin.serve(lambda request: seen.append(request["User-Agent"]) or small(request))
    text = "user-agent = all\n[gateway]\nuser-agent = %s\n" + route("/r/", origin)
    file(text % "one")
    proxy = file.start()
    for name in ("one", "two"):
        seen.clear()
        for target in (f"/{origin.url}/{name}", f"/?url={origin.url}/{name}?q", f"/r/{name}", f"{origin.url}/{name}"):
            assert proxy.get(target).status == 200
        assert seen == [name, name, "all", "all"]
        file.reload(proxy, text % "two")


def test_a_flag_still_counts_before_the_file(file, origin):
    origin.serve(small)
    file("via = one\n" + route("/", origin))
    proxy = file.start("--via", "flag")
    file.reload(proxy, "via = two\n" + route("/", origin))
    assert proxy.get("/f")["Via"] == "1.1 flag"


@pytest.mark.parametrize("text, where", [
    ("via = two\nsniff-bytes = 1\n", "utfeed.conf:3: sniff-bytes: '1' is too small"),
    ("via = two\nnonsense\n", "utfeed.conf:3: not a line that utfeed knows"),
    ("via = two\n[route //x/]\n", "utfeed.conf:3: route //x/ has no origin"),
])
def test_what_cannot_be_used_changes_nothing(file, origin, text, where):
    origin.serve(small)
    file("via = one\n" + route("/", origin))
    proxy = file.start()
    file.reload(proxy, text, REFUSED)
    assert where in proxy.err.text() and proxy.get("/f")["Via"] == "1.1 one"
    file.reload(proxy, "via = two\n" + route("/", origin))
    assert proxy.get("/f")["Via"] == "1.1 two"


WAITS = "a changed value needs a restart; the former one stays in force"


@pytest.mark.parametrize("first, text, where", [
    ("", "cache-object-max = 2k\n", ["utfeed.conf:3: cache-object-max: " + WAITS]),
    ("", "workers = 3\ntls-listen = 127.0.0.1:0\n", ["utfeed.conf:3: workers: " + WAITS]),
    ("", "cache-bytes = 2m\nlisten-mode = 0600\n", ["utfeed.conf:3: cache-bytes: " + WAITS, "utfeed.conf:4: listen-mode: " + WAITS]),
    ("", "cache-lmdb = /nowhere/x\nhosts-file = /nowhere/y\n", ["utfeed.conf:3: cache-lmdb: " + WAITS, "utfeed.conf:4: hosts-file: " + WAITS]),
    ("cache-object-max = 2k\n", "", ["utfeed.conf:3: cache-object-max: is not given any more, which needs a restart"]),
    ("resolver = 127.0.0.1\n", "resolver = 127.0.0.2:53\nuser = nobody\n", ["utfeed.conf:3: resolver: " + WAITS, "utfeed.conf:4: user: " + WAITS]),
])
def test_what_needs_a_restart_waits_for_it(file, origin, good, text, first, where):
    """The rest is taken; each line that waits is named; the former value is in force, also after the next reload."""
    origin.serve(small)
    held = "tls-listen" in text                        # its files lie where the sandbox lets nobody read since the start
    more = f"tls-listen-cert = {good.chain}\ntls-listen-key = {good.key}\n" if held else ""
    file("via = one\n" + first + route("/", origin))
    proxy = file.start()
    for number in range(2):
        file.reload(proxy, f"via = two{number}\n" + text + more + route("/a/", origin) + route("/", origin))
        assert proxy.get("/a/f")["Via"] == proxy.get("/f")["Via"] == f"1.1 two{number}"
        assert all(proxy.err.text().count(each) == number + 1 for each in where), proxy.err.text()
        assert not held or f"utfeed.conf:4: tls-listen: {WAITS}" in proxy.err.text()
    file.reload(proxy, "via = three\n" + first + route("/", origin))
    assert proxy.err.text().count("needs a restart") == 2 * (len(where) + held) and proxy.get("/f")["Via"] == "1.1 three"


def test_what_does_not_go_with_a_value_that_waits(file, origin):
    """The listener stays open to other machines until a restart, so the list of who may use it cannot go."""
    origin.serve(small)
    file("admin-listen = 0.0.0.0:0\nadmin-allow = 127.0.0.0/8\nadmin-token = t\nvia = one\n" + route("/", origin))
    proxy = file.start()
    file.reload(proxy, "via = two\n" + route("/", origin), REFUSED)
    assert "is open to other machines, and no admin-allow says which may use it" in proxy.err.text()
    assert proxy.get("/f")["Via"] == "1.1 one"


def test_a_file_that_is_gone(file, origin):
    origin.serve(small)
    file(route("/", origin))
    proxy = file.start()
    file.path.rename(file.path.with_name("elsewhere"))
    proxy.reload(REFUSED)
    assert proxy.get("/f").status == 200


def test_requests_under_way_end_as_they_began(file, origin):
    """Waiting for a head, halfway through a body, behind a redirect yet to come: their route is gone meanwhile, twice over."""
    file("via = one\nsniff-bytes = 1k\n" + route("/", origin, "follow-redirects = on", "output = us-ascii"))
    proxy = file.start()
    body = SMALL.replace(b"<channel>", b"<channel>" + b" " * 4096)
    asked = [proxy.client().ask(f"/{name}") for name in ("head", "body", "redirect")]
    waiting = {upstream.request.target: upstream for upstream in (origin.receive() for _ in asked)}
    head = message("200 OK", XML, f"Content-Length: {len(body)}", length=False)
    waiting["/body"].send(head + body[:3000])
    for number in range(3):
        file.reload(proxy, f"via = two{number}\n" + route("/only/", origin))
    waiting["/head"].answer(message("200 OK", XML, body=body))
    waiting["/body"].send(body[3000:])
    waiting["/redirect"].answer(message("302 Found", "Location: /there"))
    origin.receive().answer(message("200 OK", XML, body=body))
    for client in asked:
        got = client.response()
        assert got.status == 200 and got["Via"] == "1.1 one" and got["Content-Type"].endswith("us-ascii")
        assert client.get("/head").status == 404


@pytest.mark.parametrize("moment", ["asked", "told"])
def test_a_coding_holds_to_the_end(file, origin, moment):
    """What a response may be coded in was settled with its Vary, when the request came."""
    file(route("/", origin))
    proxy = file.start("--gzip-min", "1")
    client = proxy.client().ask("/f", "Accept-Encoding: gzip")
    upstream = origin.receive()
    body = SMALL * 100
    if moment == "told":
        upstream.send(message("200 OK", XML, f"Content-Length: {len(body)}", length=False))
    file.reload(proxy, "gzip = off\n" + route("/", origin))
    upstream.send(body if moment == "told" else message("200 OK", XML, body=body))
    got = client.response()
    assert got["Content-Encoding"] == "gzip" and "Accept-Encoding" in got["Vary"]


def test_a_client_leaves_while_its_settings_do(file, origin):
    file(route("/", origin))
    proxy = file.start()
    client = proxy.client().ask("/f")
    upstream = origin.receive()
    file.reload(proxy, route("/other/", origin))
    client.reset()
    assert upstream.is_ended()
    file.reload(proxy, route("/other/", origin))


def test_idle_connections_are_not_taken_over(file, origin):
    """They were opened under former rights."""
    file(route("/", origin))
    proxy = file.start("--workers", "1")
    for _ in range(2):
        proxy.through(origin, message("200 OK", XML, body=SMALL))
    assert origin.connections == 1
    late = proxy.client().ask("/late")
    upstream = origin.receive()
    file.reload(proxy, route("/", origin))
    proxy.through(origin, message("200 OK", XML, body=SMALL))
    upstream.answer(message("200 OK", XML, body=SMALL))
    assert late.response().status == 200 and upstream.is_ended()
    proxy.through(origin, message("200 OK", XML, body=SMALL))
    assert origin.connections == 2


def test_who_is_served(file, origin):
    origin.serve(small)
    file(route("/", origin))
    proxy = file.start()
    held = proxy.client()
    assert held.get("/f").status == 200
    file.reload(proxy, "client-allow = 192.0.2.0/24\n" + route("/", origin))
    assert proxy.get("/f").status == 403 and held.get("/f").status == 200
    file.reload(proxy, "client-allow = 127.0.0.0/8\ndeny = 127.0.0.0/8:*\n" + route("/", origin))
    assert proxy.get("/f").status == 200 and proxy.get(f"/{origin.url}/f").status == 403


@pytest.mark.parametrize("cache", ["on", "off"])
def test_reloads_under_load(file, origin, cache):
    """Every request is answered, by the configuration before or the one after."""
    origin.serve(small)
    text = f"cache = {cache}\n" + route("/", origin, "freshness-floor = 1s")
    file("via = start\n" + text)
    proxy = file.start("--workers", "2")

    def run(number):
        client, seen = proxy.client(), set()
        for turn in range(100):
            got = client.get(f"/{number}/{turn % 7}")
            assert got.status == 200 and got.body == SMALL_OUT
            seen.add(got["Via"])
        return seen
    running = [Background(run, number) for number in range(4)]
    for number in range(20):
        file.reload(proxy, f"via = v{number}\n" + text)
    assert all(seen.join() for seen in running)
    assert proxy.get("/last")["Via"] == "1.1 v19"


@pytest.mark.http1_origin("a parent proxy, which origins speak for")
def test_parent_proxies(file, origin, another):
    """What is kept open to a former parent serves nobody any more; a value that cannot be used changes nothing."""
    first, second = another(), another()
    file(f"http-proxy = {first.url}\n" + route("/", origin))
    proxy = file.start("--workers", "1", "--cache", "off")
    reply = message("200 OK", XML, body=SMALL)
    for parent, former, text, word in ((first, None, None, RELOADED), (second, first, f"http-proxy = {second.url}\n", RELOADED),
                                       (second, None, "http-proxy = socks5://u:secret@h:1\n", REFUSED), (origin, second, "", RELOADED)):
        if text is not None:
            file.reload(proxy, text + route("/", origin), word)
        got, request = proxy.through(parent, reply, "/f")
        assert got.body == SMALL_OUT and request.target == ("/f" if parent is origin else f"{origin.url}/f")
        assert not former or former.open[-1].is_ended()
    assert "secret" not in proxy.err.text()
