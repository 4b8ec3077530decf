"""Live chains with nginx, Apache, Varnish and HAProxy (issue 12, B 3): what utfeed sends is read by each as utfeed means it, however the
request came (desync/packets.txt); and what a hostile origin says through utfeed leaves nothing for the next request of a connection."""
import json
import os
import re
import socket
import threading

import pytest

from chains import SERVERS, Link, program
from pages import FRESH, Site, page
from peers import Background, Client, Origin
from test_trust_http import CODINGS, INTERIM, OTHERS, in_chunks
from wire import TIMEOUT, Cut, Malformed, read_request

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "desync", "packets.txt")
ESCAPES = {"r": "\r", "n": "\n", "t": "\t", "0": "\0", "v": "\v", "f": "\f"}


def streams_of(template):
    """One with each alternative of each <<a|b>>, the others being their first."""
    parts = re.split(r"<<(.*?)>>", template)
    choices = [part.split("|") for part in parts[1::2]]
    for turn, choice in enumerate(choices or [[""]]):
        for number, alternative in enumerate(choice):
            if turn and not number:
                continue
            words = [each[0] for each in choices]
            if choices:
                words[turn] = alternative
            yield "".join(part + word for part, word in zip(parts[::2], words + [""]))


def read_packets():
    packets = []
    with open(FILE, encoding="latin-1") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, template = line.rstrip("\n").split(":", 1)
                packets += [(name, stream) for stream in streams_of(template.lstrip(" "))]
    return packets


def bytes_of(stream, number, authority):
    path = f"/v{number:03d}"
    macros = {"$": "\r\n", "~": path, "@": authority, "&": f"GET {path}/next HTTP/1.1\r\nHost: t\r\n\r\n"}

    def put(match):
        word = match[0]
        if word[0] != "\\":
            return macros[word]
        return chr(int(word[2:], 16)) if word[1] == "x" and len(word) == 4 else ESCAPES.get(word[1], word[1])
    return re.sub(r"\\x[0-9a-fA-F]{2}|\\.|[$~&@]", put, stream, flags=re.S).encode("latin-1")


PACKETS = read_packets()
REFUSABLE = re.compile(r"/\.\./|.*%00")           # out of the root, NUL: nginx and Apache answer 400


class Recorder(Origin):
    """Answers every request, and remembers what it was by the number in its path; authority: what clients call it."""
    authority = None

    def __init__(self):
        super().__init__()
        self.authority, self.malformed, self.cut = f"127.0.0.1:{self.port}", [], set()
        self.serve(lambda request: page(body=b"answer"))

    def take(self, upstream, read=read_request):
        try:
            return super().take(upstream, read)
        except Cut as cut:
            if cut.message:
                self.cut.add(cut.message.target)
            raise

    def converse(self, upstream, respond):
        try:
            super().converse(upstream, respond)
        except Malformed as error:
            self.malformed.append(str(error))
            upstream.close()

    def read(self, but=()):
        """Number of the stream: its requests, in the order they came, less those for which a server may have an answer of its own."""
        seen = {}
        for request in list(self.requests):
            path = re.search(r"/v(\d{3})", request.target)
            target = re.sub("^/+", "/", request.target).replace(self.authority, "@")
            if request.target not in but and not REFUSABLE.match(target):
                seen.setdefault(path and int(path[1]), []).append((request.method, target, request.body))
        return seen


def send(port, data):
    """One client that says all of it, and no more."""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT) as sock:
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(1 << 16):
                pass
        except (ConnectionResetError, BrokenPipeError):
            pass


LAST = "/last"


def play(proxy, authority):
    for number, (_, stream) in enumerate(PACKETS):
        send(proxy.port, bytes_of(stream, number, authority))
    send(proxy.port, f"GET {LAST} HTTP/1.1\r\nHost: t\r\n\r\n".encode())


def cut_short(proxy):
    """Targets of the requests that it refused or whose client left: of such a one nothing was sent on, or its head and a part of its body."""
    with proxy.out.news:
        assert proxy.out.news.wait_for(lambda: any(f'"{LAST}"'.encode() in line for line in proxy.out.lines), TIMEOUT), proxy.out.lines[-1]
        lines = [json.loads(line) for line in proxy.out.lines if line.startswith(b"{")]
    return {line["url"] for line in lines if line["status"] != 200}


@pytest.fixture
def link(tmp_path):
    """link(name, port): a server of that name in front of the port."""
    made = []

    def make(name, to):
        made.append(Link(name, str(tmp_path / f"{name}-{to}"), to))
        return made[-1]
    yield make
    for each in made:
        each.stop()


@pytest.fixture
def names():
    names = [name for name, (command, _) in SERVERS.items() if program(command)]
    if not names:
        pytest.skip("none of " + ", ".join(command for command, _ in SERVERS.values()) + " is installed")
    return names


def test_desync_requests_are_read_as_they_were_meant(start, link, names):
    """What comes behind each server is what comes where there is none: no request more, none less, none otherwise."""
    recorders = {name: Recorder() for name in ["none", *names]}
    playing, proxies, read = [], {}, {}
    try:
        for name, recorder in recorders.items():
            port = recorder.port if name == "none" else link(name, recorder.port).port
            recorder.authority = f"127.0.0.1:{port}"
            proxies[name] = start(None, "--route", f"/=http://{recorder.authority}", "--gateway", "off", "--workers", "1")
            playing.append(Background(play, proxies[name], recorder.authority))
        for each in playing:
            each.join()
        # Varnish 7.1 ends the chunks of a request that was cut by a last one of its own, whoever cut it, by FIN or RST; where utfeed
        # cuts one short, its head is out by then or is not, as it happens
        read = {name: recorder.read(recorders["none"].cut | cut_short(proxies[name]) if name == "Varnish" else ())
                for name, recorder in recorders.items()}
        assert not [recorder.malformed for recorder in recorders.values() if recorder.malformed]
    finally:
        for recorder in recorders.values():
            recorder.close()
    meant = read.pop("none")
    assert len(PACKETS) >= 500 and len(meant) >= 150, (len(PACKETS), len(meant))
    otherwise = [f"{name}, {('', '') if number is None else PACKETS[number]}: {seen.get(number)} instead of {meant.get(number)}"
                 for name, seen in read.items() for number in seen.keys() | meant.keys() if seen.get(number) != meant.get(number)]
    assert not otherwise, "\n".join(otherwise)


def hostile(name):
    """nginx before 1.29 takes an interim response for a final one that lasts until the connection ends: its clients wait for that."""
    return [*(() if name == "nginx" else INTERIM.values()), *OTHERS.values(), *(in_chunks(coding) for coding in CODINGS.values())]


@pytest.mark.parametrize("name", SERVERS)
def test_desync_responses_leave_nothing_behind(start, link, another, name):
    """With another server in front of utfeed: the next request on the client's connection, and on those between, has its own answer."""
    if not program(SERVERS[name][0]):
        pytest.skip(f"no {SERVERS[name][0]}")
    bad, good = Site(another()), Site(another())
    bad["*"] = good["*"] = lambda request: page(FRESH, body=request.target.encode())
    proxy = start(None, "--route", f"/bad/={bad.origin.url}/", "--route", f"/good/={good.origin.url}/")
    front = link(name, proxy.port)
    for number, said in enumerate(hostile(name)):
        bad[f"/evil{number}"] = said
        client = Client(front.port)
        try:
            client.get(f"/bad/evil{number}")
        except Cut:
            pass
        for each in (client, Client(front.port)):
            for path in (f"/good/a{number}", f"/bad/b{number}"):
                try:
                    got = None if each.stream.ended else each.get(path)
                except (Cut, OSError):
                    assert each is client and not each.stream.held
                    break
                assert not got or (got.status, got.body) == (200, path[path.index("/", 1):].encode()), (number, got.line, got.body)
            each.close()
