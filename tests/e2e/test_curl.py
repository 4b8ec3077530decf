"""The command people use: curl, as an HTTP/1.0 client, gets an https feed by every way in."""
import os
import shutil
import subprocess

import pytest

from certs import server_context
from feeds import SMALL, SMALL_OUT, UTF_8_TYPE, big
from wire import TIMEOUT, chunked, message

FEEDS = {"small": (SMALL, SMALL_OUT), "large": big(size=300_000)}
WAYS = {     # the arguments, from where utfeed is and the feed's URL without its scheme
    "gateway": lambda proxy, feed: [f"{proxy}/https://{feed}"],
    "gateway by query": lambda proxy, feed: [f"{proxy}/?url=https://{feed}"],
    "forward": lambda proxy, feed: ["-x", proxy, "--request-target", f"https://{feed}", f"http://{feed}"],
    "forward, http made https": lambda proxy, feed: ["-x", proxy, f"http://{feed}"],
    "route": lambda proxy, feed: [f"{proxy}/news/{feed.partition('/')[2]}"],
}

pytestmark = pytest.mark.skipif(not shutil.which("curl"), reason="no curl")


def run_curl(*args, **kind):
    """(header lines, body) of the last response."""
    clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(["curl", "-sSi", "--http1.0", "--max-time", str(TIMEOUT), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=clean, check=False, **kind)
    assert done.returncode == 0, done.stderr.decode()
    head, body = done.stdout.split(b"\r\n\r\n", 1)
    return head.decode("latin-1").split("\r\n"), body


@pytest.mark.parametrize("size", FEEDS)
@pytest.mark.parametrize("compressed", [(), ("--compressed",)])
@pytest.mark.parametrize("way", WAYS)
def test_https_feed(trusting, tls_origin, good, way, compressed, size):
    data, out = FEEDS[size]
    origin = tls_origin(server_context(good))
    origin.serve(lambda request: message("200 OK", "Content-Type: text/xml; charset=iso-8859-1", "Transfer-Encoding: chunked",
                                         body=chunked(data, [1, 2000, 77])))
    feed = origin.url.partition("//")[2] + "/feeds/today.xml"
    upgrade = ["--upgrade-https", "on"] if "made https" in way else []
    proxy = trusting(None, "--route", f"/news/={origin.url}/", *upgrade)
    head, body = run_curl(*compressed, *WAYS[way](f"http://127.0.0.1:{proxy.port}", feed))
    fields = dict(line.lower().split(": ", 1) for line in head[1:])
    assert head[0].split(" ")[1] == "200" and body == out
    assert fields["content-type"] == UTF_8_TYPE
    assert fields["x-encoding-rule"] == "auto:2.5/decl;charset=windows-1251;was=iso-8859-1"
    assert not {"transfer-encoding", "content-encoding", "trailer"} & fields.keys()
    assert fields["connection"] == "close" or "keep-alive" in fields["connection"] and fields["content-length"] == str(len(body))
    assert [request.target for request in origin.requests] == ["/feeds/today.xml"]
