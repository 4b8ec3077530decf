"""Every body of the corpus by HTTP/2 to the clients that people use: status, label, X-Encoding-Rule and bytes are those of HTTP/1.1."""
import contextlib
import hashlib
import json
import os
import queue
import re
import shutil
import subprocess
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("hpack", reason="no python3-hpack here")

from inside import OwnCa
from test_corpus import bodies      # pylint: disable=unused-import
from wire import message

SECONDS = 120


class Feeds:
    """What an origin answers with: /NUMBER is a body. /page#BEFORE has a browser ask for all of them below BEFORE, and post what it got."""

    def __init__(self, bodies):
        self.bodies, self.results = bodies, queue.Queue()

    def respond(self, asked):
        name = asked.target[1:]
        if asked.method == "POST":
            self.results.put(json.loads(asked.body))
            return message("204 No Content", length=False)
        if name == "page":
            return message("200 OK", "Content-Type: text/html; charset=utf-8", "Cache-Control: no-store", body=PAGE % len(self.bodies))
        if not name.isdigit():
            return message("404 Not Found")
        _, data, content_type = self.bodies[int(name)]
        return message("200 OK", f"Content-Type: {content_type}", "Cache-Control: no-store", body=data)


@pytest.fixture
def feeds(bodies):
    return Feeds(bodies)


def program(name):
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")
    if not path:
        pytest.skip(f"no {name} here")
    return path


def output(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


def digest(body):
    return hashlib.sha256(body).hexdigest()


def by_http_1(proxy, count, before=""):
    """[status, rule, label, digest] of each body."""
    with contextlib.closing(proxy.client()) as client:
        answers = [client.get(f"{before}/{number}") for number in range(count)]
    return [[got.status, got.rule, got["Content-Type"], digest(got.body)] for got in answers]


def same(found, expected):
    wrong = [(number, got, wanted) for number, (got, wanted) in enumerate(zip(found, expected)) if got != wanted]
    assert len(found) == len(expected) > 100 and not wrong, (len(wrong), wrong[:5])


# ---- programs of the command line ----

def curl(url, count, folder):
    """All of them on one connection, 50 at a time."""
    said = '%{http_version}\\t%{filename_effective}\\t%{http_code}\\t%header{x-encoding-rule}\\t%{content_type}\\n'
    (folder / "config").write_text("".join(f'url = "{url}/{number}"\noutput = "{folder}/{number}"\n' for number in range(count)))
    lines = output(program("curl"), "-sSk", "--http2", "-Z", "-w", said, "-K", str(folder / "config")).decode().splitlines()
    found = {}
    for version, file, status, rule, label in (line.split("\t") for line in lines):
        assert version == "2"
        with open(file, "rb") as body:
            found[int(os.path.basename(file))] = [int(status), rule, label, digest(body.read())]
    return [found[number] for number in range(count)]


def nghttp(url, count, _):
    """Fields of all on one connection; what it tells of frames stands in the midst of bodies, so each of these is asked for alone."""
    path, found = program("nghttp"), {}
    told = re.sub(r"\x1b\[[\d;]*m", "", output(path, "-nv", "--no-dep", *(f"{url}/{number}" for number in range(count))).decode())
    for stream, name, value in re.findall(r"recv \(stream_id=(\d+)\) ([^ ]+): (.*)$", told, re.M):
        found.setdefault(int(stream), {})[name] = value
    with ThreadPoolExecutor(4) as pool:
        digests = pool.map(lambda number: digest(output(path, "--no-dep", f"{url}/{number}")), range(count))
        return [[int(got[":status"]), got["x-encoding-rule"], got["content-type"], hashed] for (_, got), hashed in zip(sorted(found.items()), digests)]


NODE = """
const crypto = require("crypto"), [url, count] = process.argv.slice(1);
const session = require("http2").connect(url, { rejectUnauthorized: false }), found = [];
let left = +count;
for (let number = 0; number < count; number++) {
	const stream = session.request({ ":path": "/" + number }), hash = crypto.createHash("sha256");
	stream.on("response", got => found[number] = [got[":status"], got["x-encoding-rule"], got["content-type"]]);
	stream.on("data", data => hash.update(data));
	stream.on("end", () => {
		found[number].push(hash.digest("hex"));
		if (--left == 0) {
			console.log(JSON.stringify(found));
			session.close();
		}
	});
}
"""


def node(url, count, _):
    return json.loads(output(program("node"), "-e", NODE, url, str(count)))


@pytest.mark.parametrize("client", [curl, nghttp, node], ids=lambda client: client.__name__)
def test_every_body(listening, origin, feeds, tmp_path, client):
    program(client.__name__)
    origin.serve(feeds.respond)
    proxy, count = listening(origin), len(feeds.bodies)
    same(client(f"https://localhost:{proxy.tls_port}", count, tmp_path), by_http_1(proxy, count))


@pytest.mark.parametrize("scheme", ["https", "http"])
def test_every_body_to_h2load(listening, origin, feeds, tmp_path, scheme):
    """It looks at statuses alone, and counts bytes."""
    path = program("h2load")
    origin.serve(feeds.respond)
    proxy, count = listening(origin, "--h2c", "on"), len(feeds.bodies)
    with contextlib.closing(proxy.client()) as client:
        length = sum(len(client.get(f"/{number}").body) for number in range(count))
    port = proxy.tls_port if scheme == "https" else proxy.port
    (tmp_path / "urls").write_text("".join(f"{scheme}://localhost:{port}/{number}\n" for number in range(count)))
    told = output(path, "-n", str(count), "-c", "1", "-m", "32", "-i", str(tmp_path / "urls")).decode()
    assert f"requests: {count} total, {count} started, {count} done, {count} succeeded, 0 failed" in told, told
    assert f"status codes: {count} 2xx" in told and f"({length}) data" in told, (told, length)


# ---- a browser ----

PAGE = b"""<!doctype html><title>all bodies</title><script>
async function one(number) {
	const got = await fetch(location.hash.slice(1) + "/" + number, { cache: "no-store" }), body = await got.arrayBuffer();
	const hash = [...new Uint8Array(await crypto.subtle.digest("SHA-256", body))].map(byte => byte.toString(16).padStart(2, "0"));
	return [got.status, got.headers.get("X-Encoding-Rule"), got.headers.get("Content-Type"), hash.join("")];
}
performance.setResourceTimingBufferSize(10000);
Promise.all([...Array(%d).keys()].map(one)).then(found => {
	const protocols = [...new Set(performance.getEntriesByType("resource").map(entry => entry.nextHopProtocol))];
	return { found, protocols };
}, error => ({ error: String(error) })).then(result => fetch("result", { method: "POST", body: JSON.stringify(result) }));
</script>
"""


@contextlib.contextmanager
def chromium(folder, url, *options):
    with open(folder / "chromium.log", "wb") as log, subprocess.Popen(
            [program("chromium"), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--ignore-certificate-errors", f"--user-data-dir={folder}/profile", *options, url], stdin=subprocess.DEVNULL, stdout=log,
            stderr=log) as process:
        try:
            yield
        finally:
            process.terminate()


def browsed(feeds, tmp_path, url, *options):
    """What the browser found, by HTTP/2 alone."""
    with chromium(tmp_path, url, *options):
        try:
            result = feeds.results.get(timeout=SECONDS)
        except queue.Empty:
            raise AssertionError((tmp_path / "chromium.log").read_text(errors="replace")[-2000:]) from None
    assert "error" not in result and result["protocols"] == ["h2"], result
    return result["found"]


def test_every_body_to_chromium_by_the_gateway(listening, origin, feeds, tmp_path):
    program("chromium")
    origin.serve(feeds.respond)
    proxy = listening(origin)       # what comes by the gateway runs no scripts: the page comes by a route
    found = browsed(feeds, tmp_path, f"https://localhost:{proxy.tls_port}/page#/{origin.url}")
    same(found, by_http_1(proxy, len(feeds.bodies), f"/{origin.url}"))


def test_every_body_to_chromium_intercepted(start, scripted, authority, feeds, tmp_path):
    """By HTTP/2 on both sides."""
    program("chromium")
    origin = scripted("h2")
    origin["*"] = feeds.respond
    host = urllib.parse.urlsplit(origin.url).hostname
    proxy = start(None, "--tls-ca-file", authority.root.cert, "--http2", "on", *OwnCa(tmp_path).options(host))
    found = browsed(feeds, tmp_path, f"{origin.url}/page", f"--proxy-server=http://127.0.0.1:{proxy.port}", "--proxy-bypass-list=<-loopback>")
    same(found, by_http_1(proxy, len(feeds.bodies), f"/{origin.url}"))
