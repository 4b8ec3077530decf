"""The access log as programs read it: json and combined, in a file; redaction, traceparent, and what is lost."""
import contextlib
import json
import os
import re
import signal
import stat
import subprocess
import time

import pytest

import schema
from feeds import SMALL
from pages import FRESH, Site, page
from peers import Background
from proxy import BINARY, FETCHED_BY, HTTP2_ORIGINS, LOGGED_AS
from wire import PATIENCE, TIMEOUT, message

FEED = message("200 OK", "Content-Type: text/xml; charset=koi8-r", body=SMALL)
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GIVEN = f"traceparent: 00-{TRACE}-{PARENT}-01"
STAGES = ("queue_ms", "dns_ms", "connect_ms", "tls_ms", "origin_ms")


@pytest.fixture
def logging(start, origin):
    """A utfeed that logs as JSON."""
    return lambda *options, **how: start(origin, "--log-format", "json", *options, **how)


def last(proxy, count):
    return schema.access_line(proxy.access_lines(count)[-1])


def raw(proxy, data):
    """What bytes that may be no request are answered with."""
    client = proxy.client()
    client.send(data)
    return client.response()


def lines_of(path, count):
    """The lines of the file once there are so many."""
    until = time.monotonic() + TIMEOUT
    while time.monotonic() < until:
        text = path.read_bytes() if path.exists() else b""
        if text.count(b"\n") >= count:
            return text.splitlines(keepends=True)
        time.sleep(0.005)
    raise AssertionError(f"{path}: {text}")


def test_a_fetch(logging, origin):
    proxy = logging()
    proxy.process.send_signal(signal.SIGUSR2)       # nothing to open anew: nothing happens
    got, asked = proxy.through(origin, FEED, "/feed", "User-Agent: reader/1 \"x\" \xe9")
    line = last(proxy, 1)
    assert (line["method"], line["url"], line["status"], line["way"], line["http"]) == ("GET", "/feed", 200, "route", LOGGED_AS)
    assert line["client"] == "127.0.0.1" and line["client_port"] and line["route"] == "/"
    assert line["user_agent"] == 'reader/1 "x" \ufffd'
    assert line["body_bytes"] == len(got.body) < line["bytes_out"] and line["bytes_in"] > 40
    assert got.rule.startswith(line["rule"]) and (line["charset"], line["was"]) == ("windows-1251", "koi8-r")
    assert (line["origin"], line["origin_http"]) == (origin.url.split("/")[2], FETCHED_BY) and line["retries"] == 0 and line["failure"] is None
    assert (line["tls_ms"] is None) == (not HTTP2_ORIGINS) and all(line[stage] >= 0 for stage in STAGES if stage != "tls_ms")
    assert line["origin_ms"] <= line["first_byte_ms"] <= line["total_ms"] and line["end"] == "done"
    assert "traceparent" not in asked.names()


def test_what_the_cache_did(start, origin):
    proxy, site = start(None, "--cache", "on", "--log-format", "json", "--route", f"/={origin.url}"), Site(origin)
    site["/f"], site["/g"] = page(FRESH), page("Cache-Control: no-store")
    site["/v"] = lambda request: message("304 X", length=False) if request["If-None-Match"] else page('ETag: "a"', "Cache-Control: max-age=1", "Age: 100")
    client = proxy.client()             # one worker, so that the lines come in order
    for target in ["/f", "/f", "/g", "/v", "/v"]:
        client.get(target)
    client.get("/f", method="POST")
    miss, hit, past, stored, confirmed, post = [schema.access_line(line) for line in proxy.access_lines(6)]
    assert (miss["cache"], miss["stored"]) == ("uri-miss", True)
    assert (hit["cache"], hit["stored"]) == ("hit", False) and hit["ttl"] > 0 and hit["origin"] is hit["origin_http"] is None
    assert all(hit[stage] is None for stage in STAGES)
    assert (past["cache"], past["stored"]) == ("uri-miss", False)
    assert stored["cache"] == "uri-miss"
    assert (confirmed["cache"], confirmed["fwd_status"]) == ("stale", 304) and confirmed["origin_ms"] is not None
    assert post["cache"] in ("method", "bypass") and post["origin"]


def test_who_waited_for_another(start, origin):
    proxy = start(None, "--cache", "on", "--log-format", "json", "--route", f"/={origin.url}")
    first = Background(proxy.get, "/f")
    upstream = origin.receive()
    second = Background(proxy.get, "/f")
    proxy.counted("requests", 2)
    upstream.answer(page(FRESH))
    assert first.join().status == second.join().status == 200
    lines = sorted((schema.access_line(line) for line in proxy.access_lines(2)), key=lambda line: line["collapsed"])
    assert [line["collapsed"] for line in lines] == [False, True] and lines[0]["origin"] and lines[1]["origin"] is None


def test_the_report_reads_it(logging, origin, tmp_path):
    path = tmp_path / "access.log"
    proxy = logging("--access-log-file", str(path))
    proxy.through(origin, FEED, "/feed")
    lines_of(path, 1)
    done = subprocess.run([BINARY, "report", "--csv", "--feeds", str(path)], stdout=subprocess.PIPE, timeout=PATIENCE, check=True)
    assert b"/feed" in done.stdout and b"koi8-r" in done.stdout, done.stdout


def test_what_failed(start, dead_port):
    proxy = start(None, "--log-format", "json", "--route", f"/=http://127.0.0.1:{dead_port}")
    assert proxy.get("/").status == 502
    line = last(proxy, 1)
    assert (line["status"], line["failure"], line["origin"]) == (502, "connection_refused", None)


def test_a_request_sent_again(logging, origin):
    """The origin closes the kept connection as the second request comes."""
    proxy = logging("--cache", "off")
    client = proxy.client().ask("/a")
    kept = origin.receive()
    kept.answer(FEED)
    assert client.response().status == 200
    client.ask("/b")
    origin.receive().close()
    origin.receive().answer(FEED)
    assert client.response().status == 200
    assert last(proxy, 2)["retries"] == 1


def test_every_way_to_end(start, origin):
    """Bytes that are no request, refusals, tunnels, parts, bodies, clients that leave: each line is as the schema says."""
    proxy = start(origin, "--log-format", "json", "--connect-allow", "127.0.0.1:*", "--max-header-bytes", "1k")
    for bytes_ in [b"\x00\xff\r\n\r\n", b"BREW / HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"x" * 300 + b" HTTP/1.1\r\n\r\n",
                   b"GET /\"\\\xe9\x7f HTTP/1.1\r\nHost: a\r\n\r\n"]:
        raw(proxy, bytes_)
    proxy.through(origin, FEED, "/", method="HEAD")
    proxy.through(origin, FEED, "/", "Range: bytes=0-3")
    client = proxy.client()
    client.send(b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
    origin.receive().answer(message("204 X", length=False))
    assert client.response(method="PUT").status == 204
    assert proxy.get("/", method="PURGE").status
    left = proxy.client().ask("/left")
    origin.receive()
    left.reset()
    lines = [schema.access_line(line) for line in proxy.access_lines(10)]
    assert {"dropped", "done"} <= {line["end"] for line in lines}
    put = next(line for line in lines if line["method"] == "PUT")
    assert put["bytes_in"] == len("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")


def test_a_tunnel(start, origin):
    proxy = start(origin, "--log-format", "json", "--connect-allow", "127.0.0.1:*")
    client = proxy.client()
    at = origin.url.split("/")[2]
    client.ask(at, method="CONNECT")
    assert client.response(method="CONNECT").status == 200
    client.send(b"GET /in HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    origin.receive().answer(message("200 OK", body=b"x"), True)
    assert client.response(method="GET").status == 200 and client.is_ended()
    client.close()
    line = last(proxy, 1)
    assert (line["way"], line["method"], line["url"], line["origin"], line["status"]) == ("connect", "CONNECT", at, at, 200)
    assert line["bytes_in"] > 50 and line["connect_ms"] is not None and line["end"] == "done" and line["first_byte_ms"] is None


SECRETS = ["/feed?token=SECRET", "/feed?a=1&api_key=SECRET&b", "/?url=http%3A%2F%2Fh%2F%3Fpassword%3DSECRET", "/http://u:SECRET@127.0.0.1:1/?x",
           "/feed?X-Sig=SECRET"]


@pytest.mark.parametrize("form", ["text", "json", "combined"])
def test_secrets_are_not_logged(start, origin, form, dead_port):
    proxy = start(None, "--log-format", form, "--route", f"//routed.test/=http://127.0.0.1:{dead_port}", "--log-level", "debug")
    for target in SECRETS:
        proxy.get(target, f"Referer: http://h{SECRETS[0]}", host="routed.test")
    lines = proxy.access_lines(len(SECRETS))
    proxy.stop()
    assert b"SECRET" not in b"".join(proxy.out.lines) and "SECRET" not in proxy.err.text()
    assert all(b"***" in line for line in lines)


# what ends a line for one reader or another, turns what stands beside it, or is not seen
TURNING = [0x85, 0x9b, 0xad, 0x61c, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029, *range(0x202a, 0x202f), *range(0x2066, 0x206a), 0xfeff, 0xe0041]


@pytest.mark.parametrize("form", ["text", "json", "combined"])
def test_nothing_of_a_peer_turns_or_cuts_a_line(start, dead_port, form):
    words = "a".join(map(chr, TURNING))
    proxy = start(None, "--log-format", form, "--route", f"/=http://127.0.0.1:{dead_port}")
    raw(proxy, f"GET /f HTTP/1.1\r\nHost: localhost\r\nReferer: {words}\r\nUser-Agent: {words}\r\nConnection: close\r\n\r\n".encode())
    line = proxy.access_lines(1)[0].decode()
    assert not set(words) - {"a"} & set(line) and len(line.splitlines()) == 1
    assert form != "json" or schema.access_line(line.encode())["user_agent"] == words


COMBINED = re.compile(rb'127\.0\.0\.1 - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d \+0000\] "([^"]*)" (\d{3}) (\d+) "([^"]*)" "([^"]*)"\n')


def test_combined(start, origin):
    proxy = start(origin, "--log-format", "combined")
    got, _ = proxy.through(origin, FEED, "/feed", "Referer: http://a/ b", 'User-Agent: a"b\\c \xe9')
    proxy.access_lines(1)               # another worker's line may come before it else
    raw(proxy, b"\x00\r\n\r\n")
    proxy.access_lines(2)
    proxy.through(origin, FEED, "/feed", "User-Agent:")
    lines = [COMBINED.fullmatch(line).groups() for line in proxy.access_lines(3)]
    assert lines[0] == (b"GET /feed HTTP/1.1", b"200", str(len(got.body)).encode(), b"http://a/ b", rb"a\x22b\x5cc \xe9")
    assert lines[1][1] == b"400" and lines[2][3:] == (b"-", b"-")


@pytest.mark.parametrize("how", [signal.SIGUSR2, signal.SIGHUP])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_file_and_logrotate(logging, origin, tmp_path, how, workers):
    path, old = tmp_path / "access.log", tmp_path / "access.log.1"
    proxy = logging("--access-log-file", str(path), "--workers", workers)
    proxy.through(origin, FEED, "/one")
    assert b'"/one"' in lines_of(path, 1)[0] and stat.S_IMODE(path.stat().st_mode) == 0o640 & ~umask()
    path.rename(old)
    proxy.process.send_signal(how)
    until = time.monotonic() + TIMEOUT
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.005)
    proxy.through(origin, FEED, "/two")
    assert b'"/two"' in lines_of(path, 1)[0] and len(lines_of(old, 1)) == 1
    proxy.through(origin, FEED, "/three")
    proxy.stop()
    assert not proxy.out.lines and len(path.read_bytes().splitlines()) == 2        # the queue is written before the end


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("args, words", [
    (["--access-log-file", "/absent/folder/log"], "--access-log-file: /absent/folder/log: No such file or directory"),
    (["--log-format", "xml"], "write text, json or combined"),
    (["--trace-allow", "nobody"], "trace-allow"),
])
def test_what_stops_the_start(args, words):
    done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=PATIENCE, check=False)
    assert done.returncode and words in done.stderr.decode()


def test_a_file_that_is_full(logging, origin):
    """Lines are lost and counted, requests are not."""
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    proxy = logging("--access-log-file", "/dev/full")
    proxy.through(origin, FEED, "/one")
    proxy.says("access-log-file /dev/full: No space left on device: lines are lost")
    until = time.monotonic() + TIMEOUT
    while not proxy.counters()["access_lost"] and time.monotonic() < until:
        proxy.through(origin, FEED, "/two")        # the next line brings the count
    assert proxy.counters()["access_lost"] >= 1


def test_a_reader_that_stops_gets_whole_lines(start, origin, tmp_path):
    """Standard output takes no more: what it took is whole lines, and each of the others is counted."""
    fifo, asked = tmp_path / "out", 100
    os.mkfifo(fifo)
    read = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    proxy = start(origin, "--log-format", "json", under=("sh", "-c", f'exec "$0" "$@" >{fifo}'))
    for _ in range(asked):
        assert proxy.get("/" + "x" * 2000, method="TRACE").status == 405
    took, lines, lost, until = b"", [], 0, time.monotonic() + TIMEOUT
    while len(lines) + lost < asked and time.monotonic() < until:      # the last lines follow their answers
        lost = proxy.counters()["access_lost"]
        with contextlib.suppress(BlockingIOError):
            while True:
                took += os.read(read, 1 << 16)
        lines = took.splitlines(keepends=True)
    os.close(read)
    assert lost and len(lines) + lost == asked and all(schema.access_line(line)["status"] == 405 for line in lines)


# trace-allow, the route's option, what comes, whether the trace goes on and whether the origin sees it
TRACES = {
    "accepted and sent": ("127.0.0.1", "on", [GIVEN, "tracestate: a=1"], True, True),
    "accepted, the route does not send it": ("127.0.0.1", "off", [GIVEN], True, False),
    "a stranger's": ("192.0.2.0/24", "on", [GIVEN, "tracestate: a=1"], False, True),
    "nobody's": ("", "on", [GIVEN], False, True),
    "invalid": ("127.0.0.1", "on", ["traceparent: 00-" + "0" * 32 + f"-{PARENT}-01", "tracestate: a=1"], False, True),
    "two": ("127.0.0.1", "on", [GIVEN, GIVEN], False, True),
    "none": ("127.0.0.1", "on", [], False, True),
}


@pytest.mark.parametrize("case", TRACES)
def test_traceparent(start, origin, case):
    allow, option, fields, goes_on, sent = TRACES[case]
    proxy = start(None, "--log-format", "json", "--trace-allow", allow, "--route", f"/={origin.url} traceparent={option} request-fields=*")
    _, asked = proxy.through(origin, FEED, "/feed", *fields)
    own = last(proxy, 1)["traceparent"]
    assert (TRACE in own) == goes_on and PARENT not in own and own.endswith("-01" if goes_on else "-00")
    assert asked["traceparent"] == (own if sent else None)
    assert asked["tracestate"] == ("a=1" if goes_on and sent else None)


def test_a_trace_is_no_part_of_the_key(start, origin):
    """By forward proxy each unknown field is; a trace, which differs each time, would make every request a miss."""
    proxy, site = start(None, "--cache", "on", "--log-format", "json"), Site(origin)
    site["/f"] = page(FRESH)
    client = proxy.client()
    for _ in range(2):
        client.get(f"{origin.url}/f", GIVEN)
    assert [schema.access_line(line)["cache"] for line in proxy.access_lines(2)] == ["uri-miss", "hit"]


def test_a_reload_changes_the_format(start, origin, tmp_path):
    file = tmp_path / "utfeed.conf"
    file.write_text("log-format = json\n")
    proxy = start(origin, "-c", str(file))
    proxy.through(origin, FEED)
    proxy.access_lines(1)
    file.write_text("log-format = combined\n")
    proxy.reload()
    proxy.through(origin, FEED)
    first, second = proxy.access_lines(2)
    assert json.loads(first) and COMBINED.fullmatch(second)


FAULTS = [{}, {**{name: None for name in schema.ACCESS["required"]}}]


@pytest.mark.parametrize("value", FAULTS)
def test_the_validator_finds_faults(value):
    assert len(schema.faults(value, schema.ACCESS)) > 10
