"""An origin that resets, falls silent or sends a byte now and then at each stage of an exchange: what the client is told, what the
log says of it, and that nothing stays behind after many rounds (UTFEED_STAGE_ROUNDS; 1000 with UTFEED_SLOW=1)."""
import gzip
import os
import re
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from certs import server_context
from feeds import SMALL, SMALL_OUT, big
from peers import Client, Origin
from test_faults import error_of
from wire import TIMEOUT, Cut, chunked, message, read_request, read_request_head

ROUNDS = int(os.environ.get("UTFEED_STAGE_ROUNDS", "1000" if os.environ.get("UTFEED_SLOW") == "1" else "3"))
AT_ONCE = 128 if ROUNDS < 100 else 384
GROWTH_KIB = 8 << 10    # a heap that was cut up is no leak
PACE = 0.05             # seconds between the bytes of a slow origin: a second, twenty times as fast; the timeouts are smaller as well
DEATHS = ("reset", "silent", "slow")

XML, PADDING = "Content-Type: application/xml", "X-Padding: " + "x" * 80
BIG, BIG_OUT = big(size=20_000)
PICTURE = bytes(range(256)) * 8
TRAILERS = b"0\r\nX-Sum: 1\r\n\r\n"
OUTS = {SMALL: SMALL_OUT, BIG: BIG_OUT, PICTURE: PICTURE}


def in_chunks(data):
    return message("200 OK", XML, "Transfer-Encoding: chunked", body=chunked(data, 0x12c, TRAILERS))


def packed(data):
    return message("200 OK", XML, "Content-Encoding: gzip", body=gzip.compress(data, 0))


def redirect(body):
    return message("302 Found", "Location: {next}", PADDING, f"Content-Length: {len(body)}") + body


LENGTH, CHUNKS, GZIP = message("200 OK", XML, PADDING, body=SMALL), in_chunks(SMALL), packed(SMALL)
BIG_LENGTH, BIG_CHUNKS, BIG_GZIP = message("200 OK", XML, body=BIG), in_chunks(BIG), packed(BIG)
CLOSED, BIG_CLOSED = [message("200 OK", XML, "Connection: close", body=data, length=False) for data in (SMALL, BIG)]
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
PNG = message("200 OK", "Content-Type: image/png", body=PICTURE)
HEAD_END, LAST = b"\r\n\r\n", b"\r\n0\r\n"


def after(reply, mark, more=0):
    return reply.index(mark) + len(mark) + more


WHOLE = "whole"
REFUSED = (502, "connection_terminated")
INCOMPLETE = (502, "http_response_incomplete")
NO_ANSWER = (504, "http_response_timeout")
STOPPED = (504, "connection_read_timeout")
CONNECTING = (504, "connection_timeout")
CUT, CUT_STOPPED = ("cut", "http_response_incomplete"), ("cut", "connection_read_timeout")
UNANSWERED = (REFUSED, NO_ANSWER, NO_ANSWER)
IN_HEAD = (INCOMPLETE, NO_ANSWER, NO_ANSWER)
IN_BODY = (INCOMPLETE, STOPPED, STOPPED)
AT_END = (INCOMPLETE, STOPPED, WHOLE)               # the few bytes that are missing come in time
IN_BIG = (CUT, CUT_STOPPED, CUT_STOPPED)
AT_BIG_END = (CUT, CUT_STOPPED, WHOLE)


class Stage:
    """said of reply comes at once; then the origin dies one of three deaths. read: how much of the request it has read by then."""

    def __init__(self, name, reply, said, outcomes, data=SMALL, read="all", **how):
        self.name, self.said, self.left = name, reply[:said], reply[said:]
        self.outcomes, self.out, self.read = dict(zip(DEATHS, outcomes)), OUTS[data], read
        self.method, self.tls, self.handshake, self.warm, self.hop = map(how.get, ("method", "tls", "handshake", "warm", "hop"))


STAGES = [
    Stage("nothing of the request read", LENGTH, 0, UNANSWERED, read="none"),
    Stage("a byte of the request read", LENGTH, 0, UNANSWERED, read="byte"),
    Stage("the request's head read, its body not", LENGTH, 0, UNANSWERED, read="head", method="POST"),
    Stage("the request read", LENGTH, 0, UNANSWERED),
    Stage("the request read on a connection used before", LENGTH, 0, UNANSWERED, warm=True),
    Stage("in the status line", LENGTH, 10, IN_HEAD),
    Stage("after the status line", LENGTH, after(LENGTH, b"\r\n"), IN_HEAD),
    Stage("in a field's name", LENGTH, after(LENGTH, b"Content-Ty"), IN_HEAD),
    Stage("in a field's value", LENGTH, after(LENGTH, b"application"), IN_HEAD),
    Stage("after a field", LENGTH, after(LENGTH, b"xml\r\n"), IN_HEAD),
    Stage("before the head's last byte", LENGTH, after(LENGTH, HEAD_END, -1), (INCOMPLETE, NO_ANSWER, STOPPED)),
    Stage("in an interim response", HINTS + LENGTH, 40, IN_HEAD),
    Stage("after an interim response", HINTS + LENGTH, len(HINTS), UNANSWERED),
    Stage("in a redirect's head", redirect(b""), 30, IN_HEAD),
    Stage("after a redirect's head, at the next hop", redirect(b""), len(redirect(b"")), UNANSWERED, hop=True),
    Stage("in a redirect's body, which nobody reads", redirect(b"x" * 99), len(redirect(b"x" * 50)), UNANSWERED, hop=True),
    Stage("after the head", LENGTH, after(LENGTH, HEAD_END), IN_BODY),
    Stage("after the body's first byte", LENGTH, after(LENGTH, HEAD_END, 1), IN_BODY),
    Stage("in a body with a length", LENGTH, after(LENGTH, HEAD_END, 200), IN_BODY),
    Stage("a byte before a body's end", LENGTH, len(LENGTH) - 1, AT_END),
    Stage("in a chunk's size", CHUNKS, after(CHUNKS, HEAD_END, 1), IN_BODY),
    Stage("after a chunk's size", CHUNKS, after(CHUNKS, b"\r\n12c\r\n"), IN_BODY),
    Stage("in a chunk", CHUNKS, after(CHUNKS, b"\r\n12c\r\n", 150), IN_BODY),
    Stage("after a chunk's data", CHUNKS, after(CHUNKS, b"\r\n12c\r\n", 300), IN_BODY),
    Stage("between a chunk's CR and LF", CHUNKS, after(CHUNKS, b"\r\n12c\r\n", 301), IN_BODY),
    Stage("in the last chunk", CHUNKS, after(CHUNKS, LAST, -2), AT_END),
    Stage("after the last chunk's size", CHUNKS, after(CHUNKS, LAST), AT_END),
    Stage("in the trailers", CHUNKS, after(CHUNKS, b"X-Sum:"), AT_END),
    Stage("before the empty line", CHUNKS, len(CHUNKS) - 2, AT_END),
    Stage("in gzip's head", GZIP, after(GZIP, HEAD_END, 5), IN_BODY),
    Stage("in a gzip body", GZIP, after(GZIP, HEAD_END, 200), IN_BODY),
    Stage("in gzip's checksum", GZIP, len(GZIP) - 5, AT_END),
    Stage("in a body that the connection's end ends", CLOSED, after(CLOSED, HEAD_END, 200), IN_BODY),
    Stage("in a large body with a length", BIG_LENGTH, 15_000, IN_BIG, BIG),
    Stage("a byte before a large body's end", BIG_LENGTH, len(BIG_LENGTH) - 1, AT_BIG_END, BIG),
    Stage("in a large body's chunk", BIG_CHUNKS, 15_000, IN_BIG, BIG),
    Stage("in a large body's last chunk", BIG_CHUNKS, after(BIG_CHUNKS, LAST, -2), AT_BIG_END, BIG),
    Stage("in a large gzip body", BIG_GZIP, 15_000, IN_BIG, BIG),
    Stage("in a large body that the connection's end ends", BIG_CLOSED, 15_000, IN_BIG, BIG),
    Stage("in an untouched body", PNG, after(PNG, HEAD_END, 200), IN_BIG, PICTURE),
    Stage("in the TLS handshake, nothing said", b"", 0, (REFUSED, CONNECTING, CONNECTING), tls=True, handshake=0),
    Stage("in the TLS handshake, half a flight said", b"", 0, (REFUSED, CONNECTING, CONNECTING), tls=True, handshake=300),
    Stage("after the TLS handshake", LENGTH, 0, UNANSWERED, tls=True),
    Stage("in a head over TLS", LENGTH, 30, IN_HEAD, tls=True),
    Stage("in a body over TLS", LENGTH, after(LENGTH, HEAD_END, 200), IN_BODY, tls=True),
    Stage("in a large body over TLS", BIG_LENGTH, 15_000, IN_BIG, BIG, tls=True),
]
NEXT_HOP = next(number for number, stage in enumerate(STAGES) if stage.name == "the request read")


def die(upstream, death, left):
    """left is what the origin should still have said."""
    if death == "reset":
        upstream.reset()
    elif death == "silent":
        while upstream.sock.recv(1 << 16):
            pass
    else:
        for at in range(len(left)):
            time.sleep(PACE)
            upstream.send(left[at:at + 1])


class Dying(Origin):
    """Answers on threads: /warm as it should, /NUMBER/DEATH up to where that stage ends."""

    def __init__(self, context=None):
        super().__init__()
        self.context = context
        self.serve(None)

    def converse(self, upstream, respond):
        try:
            if self.context is None or self.handshake(upstream):
                while self.exchange(upstream):
                    pass
        except (Cut, OSError):
            pass
        upstream.close()

    @staticmethod
    def waiting(upstream, pattern):
        """What the bytes that came say of (stage, death), which stay unread; None where the connection ended."""
        while there := upstream.sock.recv(4096, socket.MSG_PEEK):
            if match := re.search(pattern, there):
                return match[1] and STAGES[int(match[1])], match[2] and match[2].decode()
            time.sleep(0.001)
        return None

    def handshake(self, upstream):
        """Whether the connection has got as far as TLS."""
        stage, death = self.waiting(upstream, rb"(\d+)-([a-z]+)\.stages\.test")
        if stage.handshake is None:
            upstream.sock = upstream.stream.sock = self.context.wrap_socket(upstream.sock, server_side=True)
            return True
        into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
        into.write(upstream.sock.recv(1 << 16))
        with pytest.raises(ssl.SSLWantReadError):
            self.context.wrap_bio(into, out, server_side=True).do_handshake()
        flight = out.read()
        upstream.send(flight[:stage.handshake])
        die(upstream, death, flight[stage.handshake:])
        return False

    def exchange(self, upstream):
        """One request and what is said to it; whether another one may follow."""
        if self.context:
            target = read_request(upstream.stream).target
            stage, death = STAGES[int(target.split("/")[1])], target.split("/")[2]
        else:
            said = self.waiting(upstream, rb"^[A-Z]+ /(?:(\d+)/([a-z]+)|warm) ")
            if said is None:
                return False
            stage, death = said
            if not stage or stage.read == "all":
                read_request(upstream.stream)
            elif stage.read == "head":
                read_request_head(upstream.stream)
            elif stage.read == "byte":
                upstream.sock.recv(1)
        if not stage:
            upstream.send(LENGTH)
            return True
        following = f"/{NEXT_HOP}/{death}".encode()
        upstream.send(stage.said.replace(b"{next}", following))
        die(upstream, death, stage.left.replace(b"{next}", following))
        return False


@pytest.fixture(scope="module")
def origins(tmp_path_factory, authority):
    """Options of a utfeed that has every stage's origin: / and /tls/."""
    home = tmp_path_factory.mktemp("stages")
    plain, secure = Dying(), Dying(server_context(authority.issue("stages.test", names="DNS:*.stages.test")))
    names = [f"{number}-{death}" for number, stage in enumerate(STAGES) if stage.tls for death in DEATHS]
    hosts = home / "hosts"
    hosts.write_text("".join(f"127.0.0.1 {name}.stages.test\n" for name in names))
    options = ["--route", f"/={plain.url} follow-redirects=on", "--hosts-file", str(hosts), "--tls-ca-file", authority.root.cert]
    for name in names:
        options += ["--route", f"/tls/{name.replace('-', '/')}=https://{name}.stages.test:{secure.port}/{name.replace('-', '/')}"]
    yield options
    plain.close()
    secure.close()


# A utfeed for each way to end, with just the timeout short that has to tell: a busy machine changes nothing.
COMMON = ("--sniff-bytes", "4k", "--log-level", "info")
LIMITS = {"none": (), "connect": ("--connect-timeout", "1500ms"), "first byte": ("--first-byte-timeout", "1500ms"),
          "between bytes": ("--between-bytes-timeout", "1500ms"), "whole": ("--fetch-timeout", "5s")}


def limit(stage, death):
    """Which of LIMITS ends it."""
    if death == "reset" or stage.outcomes[death] == WHOLE:
        return "none"
    token = stage.outcomes[death][1]
    return {"connection_timeout": "connect", "http_response_timeout": "first byte",
            "connection_read_timeout": "whole" if death == "slow" else "between bytes"}[token]


def outcome(proxies, number, death):
    """(status, error token), "cut" or WHOLE as one client sees it; what came of a body is what should have."""
    stage = STAGES[number]
    client = Client(proxies[limit(stage, death)].port)
    try:
        if stage.warm:
            assert any(client.get("/warm").body == SMALL_OUT for _ in range(9))     # on a busy machine the first may be too late
        body = b"a=b" if stage.method == "POST" else b""
        client.ask(("/tls" if stage.tls else "") + f"/{number}/{death}", *([f"Content-Length: {len(body)}"] if body else []),
                   method=stage.method or "GET")
        client.send(body)
        got = client.response()
    except Cut as cut:
        assert cut.message and cut.message.status == 200 and stage.out.startswith(cut.message.body)
        return "cut"
    finally:
        client.close()
    if got.status == 200:
        assert got.body == stage.out
        return WHOLE
    return got.status, error_of(got)


def expected(number, death):
    """As outcome() has it."""
    told = STAGES[number].outcomes[death]
    return "cut" if told[0] == "cut" else told


def start_each(start, origins, **how):
    return {name: start(None, *origins, *COMMON, *options, **how) for name, options in LIMITS.items()}


@pytest.mark.parametrize("death", DEATHS)
def test_each_stage(start, origins, death):
    proxies = start_each(start, origins)
    with ThreadPoolExecutor(len(STAGES)) as pool:
        came = list(pool.map(lambda number: outcome(proxies, number, death), range(len(STAGES))))
    assert {stage.name: came[number] for number, stage in enumerate(STAGES)} == \
        {stage.name: expected(number, death) for number, stage in enumerate(STAGES)}
    for proxy in proxies.values():
        proxy.stop()        # its log is complete
    for number, stage in enumerate(STAGES):
        if stage.outcomes[death] != WHOLE:
            last = NEXT_HOP if stage.hop else number
            said = proxies[limit(stage, death)].err.text()
            assert re.search(rf"fetch https?://[^ ]*/{last}/{death}: {stage.outcomes[death][1]}\b", said), stage.name


def descriptors(proxy):
    return len(os.listdir(f"/proc/{proxy.process.pid}/fd"))


def settled(proxy, count):
    """Waits until utfeed has closed all but count descriptors."""
    until = time.monotonic() + TIMEOUT
    while descriptors(proxy) > count:
        assert time.monotonic() < until, f"{descriptors(proxy)} descriptors are open, {count} were before"
        time.sleep(0.01)


def test_rounds_leave_nothing_behind(start, origins):
    """Every stage and death in each round; descriptors and memory after the last are those after the first. That all memory was
    given back is what LeakSanitizer says at the end, in a sanitizer's build."""
    lean = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64"}
    proxies = start_each(start, origins, env=lean)
    before = {name: descriptors(proxy) for name, proxy in proxies.items()}

    def run(row):
        number, death = row
        came = outcome(proxies, number, death)
        return None if came == expected(number, death) else f"{STAGES[number].name}, {death}: {came}"

    def rounds(count):
        rows = [(number, death) for death in DEATHS for number in range(len(STAGES))] * count
        with ThreadPoolExecutor(AT_ONCE) as pool:
            wrong = list(filter(None, pool.map(run, rows)))
        assert not wrong, f"{len(wrong)} of {len(rows)}:\n" + "\n".join(wrong[:20])
        for name, proxy in proxies.items():
            settled(proxy, before[name])

    rounds(max(2, ROUNDS // 10))       # as many at once as there will be: that has its price
    warm = {name: proxy.status("VmRSS") for name, proxy in proxies.items()}
    rounds(ROUNDS)
    grown = {name: proxy.status("VmRSS") - warm[name] for name, proxy in proxies.items()}
    print(f"{ROUNDS} rounds of {len(STAGES)} stages and {len(DEATHS)} deaths: descriptors before and after {before}, RSS grew by {grown} KiB")
    assert max(grown.values()) < GROWTH_KIB, grown
