"""What a connection costs in TCP segments, and that no client waits for one that utfeed saves."""
import socket
import struct

import pytest

from pages import FRESH, Site, page, was_hit
from preload import build, preloading

TOLD = "acknowledged\n"
SEGS_IN = 140                       # where tcpi_segs_in stands in struct tcp_info (linux/tcp.h)
PIECES = {
    "a head": b"GET /f HTTP/1.1\r\nHost: t\r\n",
    "a body": b"POST /f HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\n12345",
    "chunks": b"POST /f HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n",
}


def segments(client):
    return struct.unpack_from("I", client.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SEGS_IN + 4), SEGS_IN)[0]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build("acknowledge", tmp_path_factory.mktemp("acknowledge"))


@pytest.fixture
def site(origin):
    return Site(origin)


def test_an_answer_is_one_segment(proxy, site):
    """Two come to the client: SYN, and answer, FIN and the request's acknowledgement in one (RFC 9293 sections 3.6, 3.8.6.3)."""
    site["/f"] = page(FRESH)
    proxy.get("/f")
    came = set()
    for _ in range(10):                 # there is a third where the answer took as long as an acknowledgement may
        client = proxy.client().ask("/f", "Connection: close")
        got = client.response()
        assert was_hit(got) and got["Connection"] == "close" and client.stream.at_end()
        came.add(segments(client))
    assert min(came) == 2


@pytest.mark.parametrize("again", [False, True], ids=["new connection", "used connection"])
@pytest.mark.parametrize("name", PIECES)
def test_a_part_of_a_request_is_acknowledged_at_once(start, site, library, name, again):
    """What follows it may be held back until then (Nagle's algorithm, RFC 9293 section 3.7.4). A whole one needs no more than its answer."""
    site["/f"] = page(FRESH)
    proxy = start(site.origin, env=preloading(library))
    client = proxy.client()
    if again:
        client.get("/f")
        assert TOLD not in proxy.err.text()
    client.send(PIECES[name])
    proxy.says(TOLD)
