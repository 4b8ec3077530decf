"""The harness itself: its reader must take what RFC 9112 allows and nothing else, or every other test proves little."""
import gzip
import shutil
import socket
import subprocess
import threading

import pytest

from peers import Origin
from wire import PATIENCE, Cut, Malformed, Stream, chunked, message, read_response


def read(data, version="HTTP/1.1"):
    near, far = socket.socketpair()
    far.sendall(data)
    far.close()
    with near:
        return read_response(Stream(near), "GET", version)


WELL = {
    "length": (message("200 OK", body=b"abc"), b"abc"),
    "chunks": (message("200 OK", "Transfer-Encoding: chunked", body=chunked(b"abcdef", [1, 2])), b"abcdef"),
    "extensions": (message("200 OK", "Transfer-Encoding: chunked", body=chunked(b"abc", 2, extension=b';a="b;c"')), b"abc"),
    "until close": (message("200 OK", body=b"abc", length=False), b"abc"),
    "304 with a length": (message("304 Not Modified", "Content-Length: 3"), b""),
    "interim": (message("100 Continue", length=False) + message("200 OK", body=b"abc"), b"abc"),
}


@pytest.mark.parametrize("name", WELL)
def test_what_is_allowed(name):
    data, body = WELL[name]
    assert read(data).body == body


def test_trailers():
    got = read(message("200 OK", "Transfer-Encoding: chunked", body=chunked(b"abc", 3, b"0\r\nX-T: 1\r\n\r\n")))
    assert got.trailers == [("X-T", "1")]


CHUNKS = "Transfer-Encoding: chunked"
ILL = {
    "bare LF": b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    "CR in a value": b"HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n",
    "folded": b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
    "blank before the colon": b"HTTP/1.1 200 OK\r\nX : a\r\n\r\n",
    "control in a value": b"HTTP/1.1 200 OK\r\nX: \x1b\r\n\r\n",
    "status line": b"HTTP/1.1 20 OK\r\n\r\n",
    "no blank after the status": b"HTTP/1.1 200\r\n\r\n",
    "both framings": message("200 OK", CHUNKS, "Content-Length: 3", body=chunked(b"abc")),
    "two lengths": message("200 OK", "Content-Length: 3", "Content-Length: 3", body=b"abc"),
    "length": message("200 OK", "Content-Length: +3", body=b"abc"),
    "coding": message("200 OK", "Transfer-Encoding: gzip, chunked", body=chunked(b"abc")),
    "chunk size": message("200 OK", CHUNKS, body=b"x\r\nabc\r\n0\r\n\r\n"),
    "chunk with a blank": message("200 OK", CHUNKS, body=b" 3\r\nabc\r\n0\r\n\r\n"),
    "chunk longer than said": message("200 OK", CHUNKS, body=b"2\r\nabc\r\n0\r\n\r\n"),
    "chunk end": message("200 OK", CHUNKS, body=b"3\nabc\r\n0\r\n\r\n"),
    "trailer": message("200 OK", CHUNKS, body=b"3\r\nabc\r\n0\r\nno colon\r\n\r\n"),
    "204 with a length": message("204 No Content", "Content-Length: 0"),
    "interim with a length": message("103 Early", "Content-Length: 0") + message("200 OK"),
}


@pytest.mark.parametrize("name", ILL)
def test_what_is_malformed(name):
    with pytest.raises(Malformed):
        read(ILL[name])


def test_chunks_to_http_1_0_are_malformed():
    with pytest.raises(Malformed):
        read(WELL["chunks"][0], version="HTTP/1.0")


@pytest.mark.parametrize("data", [WELL["length"][0][:-1], WELL["chunks"][0][:-1], WELL["chunks"][0][:-5], WELL["chunks"][0][:-8],
                                  WELL["length"][0][:20], b""])
def test_what_is_cut(data):
    with pytest.raises(Cut) as cut:
        read(data)
    assert cut.value.how == "fin"


def test_reset_is_told_from_close():
    origin = Origin()
    reader = socket.create_connection(("127.0.0.1", origin.port))
    upstream = origin.accept()
    upstream.send(message("200 OK", body=b"abc", length=False))
    stream = Stream(reader)
    while len(stream.held) < 20:
        stream.need()
    upstream.reset()
    with pytest.raises(Cut) as cut:
        read_response(stream)
    assert cut.value.how == "reset" and cut.value.message.body == b"abc"
    reader.close()
    origin.close()


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl")
def test_curl_reads_what_the_origin_says():
    origin = Origin()
    replies = [message("200 OK", "Content-Encoding: gzip", CHUNKS, body=chunked(gzip.compress(b"text"), 3)),
               message("200 OK", body=b"plain")]
    origin.serve(lambda request: replies[int(request.target[1:])])
    for number, body in enumerate([b"text", b"plain"]):
        said = subprocess.run(["curl", "-sS", "--noproxy", "*", "--compressed", f"{origin.url}/{number}"], stdout=subprocess.PIPE,
                              timeout=PATIENCE, check=True).stdout
        assert said == body
    assert [request.method for request in origin.requests] == ["GET", "GET"]
    origin.close()


def test_one_byte_at_a_time_is_one_read_each():
    origin, sizes = Origin(), []
    reader = socket.create_connection(("127.0.0.1", origin.port))
    upstream = origin.accept()

    def read_all():
        while piece := reader.recv(100):
            sizes.append(len(piece))
    reading = threading.Thread(target=read_all)
    reading.start()
    upstream.send_apart(b"x" * 50)
    upstream.close()
    reading.join()
    assert sizes == [1] * 50
    reader.close()
    origin.close()
