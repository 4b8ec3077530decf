"""HTTP/1 on the wire, for both ends of the tests: messages built from words, messages read strictly.

Nothing here is lenient: what RFC 9112 forbids a sender to write raises Malformed, a connection that ends inside a message
raises Cut, so that a test never mistakes a broken answer for a short one.
"""
import os
import re
import socket

TIMEOUT = float(os.environ.get("UTFEED_TEST_TIMEOUT", "30"))    # seconds; only a hang ever reaches it
PATIENCE = 4 * TIMEOUT      # of whole programs, and of many exchanges together
# What a terminal would obey or could not show, among text that it shows; and what utfeed writes for it
OBEYED = b"\x1b]0;evil\x07 \x9b2J \xc2\x9b2J \xe2\x80\xae \xff caf\xc3\xa9"
OBEYED_NOT = "\\u{1b}]0;evil\\u{7} \\x9b2J \\u{9b}2J \\u{202e} \\xff café"

TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
REQUEST_LINE = re.compile(rb"(" + TOKEN + rb") ([\x21-\x7e]+) (HTTP/1\.[01])\Z")
STATUS_LINE = re.compile(rb"(HTTP/1\.[01]) ([1-5][0-9]{2}) ([\t\x20-\x7e\x80-\xff]*)\Z")
FIELD = re.compile(rb"(" + TOKEN + rb"):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*\Z")
CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})((?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?)\Z")


class Malformed(Exception):
    """The peer wrote what RFC 9112 does not allow."""


class Cut(Exception):
    """The connection ended ("fin" or "reset") before the message did; .message holds what came of it, or is None."""

    def __init__(self, how, message=None):
        super().__init__(how)
        self.how, self.message = how, message


class Message:
    """A request or a response: .line, .fields [(name, value)], .body, .trailers, and how its body was framed."""

    def __init__(self, line, fields):
        self.line, self.fields = line, fields
        self.body, self.trailers, self.framing = b"", [], "none"
        self.interim = []

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def __getitem__(self, name):
        """The field's value, None where it is absent; a second line of it is an error of the test's peer."""
        values = self.all(name)
        assert len(values) < 2, f"{name} is there {len(values)} times: {values}"
        return values[0] if values else None

    def __contains__(self, name):
        return bool(self.all(name))

    def trailer(self, name):
        return next((value for key, value in self.trailers if key.lower() == name.lower()), None)

    def tokens(self, name):
        return [word.strip().lower() for value in self.all(name) for word in value.split(",") if word.strip()]

    def names(self):
        return {key.lower() for key, _ in self.fields}

    def head(self):
        return (self.line, [f for f in self.fields if f[0].lower() != "date"])


class Request(Message):
    def __init__(self, line, fields):
        super().__init__(line, fields)
        self.method, self.target, self.version = line.split(" ")


class Response(Message):
    def __init__(self, line, fields):
        super().__init__(line, fields)
        self.version, self.status = line[:8], int(line[9:12])

    @property
    def rule(self):
        return self["X-Encoding-Rule"]


def message(line, *fields, body=b"", length=True):
    """Bytes of a message. line may be a bare status ("200 OK"); Content-Length is added unless the fields frame the body."""
    if re.match(r"[1-5]\d\d", line):
        line = "HTTP/1.1 " + line
    names = {field.split(":", 1)[0].lower() for field in fields}
    if length and not names & {"content-length", "transfer-encoding"}:
        fields += (f"Content-Length: {len(body)}",)
    return "".join(part + "\r\n" for part in (line, *fields, "")).encode("latin-1") + body


def chunked(body, size=1000, end=b"0\r\n\r\n", extension=b""):
    """body in chunks of size (an int, or a list of sizes used in turn)."""
    sizes, out, at, turn = size if isinstance(size, list) else [size], [], 0, 0
    while at < len(body):
        piece = body[at:at + sizes[turn % len(sizes)]]
        out.append(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece))
        at, turn = at + len(piece), turn + 1
    return b"".join(out) + end


class Stream:
    """A socket read with a buffer; says how it ended."""

    def __init__(self, sock):
        self.sock, self.held, self.ended = sock, bytearray(), None
        sock.settimeout(TIMEOUT)

    def fill(self):
        if self.ended:
            return False
        try:
            got = self.sock.recv(1 << 18)
        except (ConnectionResetError, BrokenPipeError):
            self.ended = "reset"
            return False
        if not got:
            self.ended = "fin"
            return False
        self.held += got
        return True

    def need(self):
        if not self.fill():
            raise Cut(self.ended)

    def take(self, count):
        got = bytes(self.held[:count])
        del self.held[:count]
        return got

    def line(self):
        while b"\n" not in self.held:
            self.need()
        line = self.take(self.held.index(b"\n") + 1)
        if not line.endswith(b"\r\n") or b"\r" in line[:-2] or b"\0" in line:
            raise Malformed(f"line end of {line!r}")
        return line[:-2]

    def exactly(self, count, into):
        while count:
            if not self.held:
                self.need()
            piece = self.take(count)
            into.append(piece)
            count -= len(piece)

    def fields(self):
        fields = []
        while line := self.line():
            match = FIELD.match(line)
            if not match:
                raise Malformed(f"field line {line!r}")
            fields.append((match[1].decode(), match[2].decode("latin-1")))
        return fields

    def at_end(self):
        """Waits for the peer to end the connection; False when it says something instead."""
        return not self.held and not self.fill()


def read_head(stream, pattern, kind):
    line = stream.line()
    if not pattern.match(line):
        raise Malformed(f"start line {line!r}")
    return kind(line.decode("latin-1"), stream.fields())


def framing(got, bodiless, to_end):
    """How the body of got is framed, or Malformed (RFC 9112 section 6)."""
    lengths, codings = got.all("Content-Length"), got.all("Transfer-Encoding")
    if lengths and codings or len(lengths) > 1 or len(codings) > 1:
        raise Malformed(f"framing fields {lengths} {codings}")
    if lengths and not re.fullmatch("[0-9]+", lengths[0]):
        raise Malformed(f"Content-Length {lengths[0]!r}")
    if codings and codings[0].lower() != "chunked":
        raise Malformed(f"Transfer-Encoding {codings[0]!r}")
    if bodiless:
        return "none"
    if codings:
        return "chunked"
    return "length" if lengths else to_end


def read_body(stream, got, sink=None):
    """Reads the body that got.framing announces into got.body, or piece by piece into sink(bytes)."""
    pieces = []

    class Pieces:
        append = staticmethod(sink or pieces.append)

    try:
        if got.framing == "length":
            stream.exactly(int(got["Content-Length"]), Pieces)
        elif got.framing == "chunked":
            read_chunks(stream, got, Pieces)
        elif got.framing == "close":
            while stream.held or stream.fill():
                Pieces.append(stream.take(len(stream.held)))
            if stream.ended == "reset":
                raise Cut("reset")
    except Cut as cut:
        got.body = b"".join(pieces)
        raise Cut(cut.how, got) from None
    got.body = b"".join(pieces)
    return got


def read_chunks(stream, got, pieces):
    while True:
        line = stream.line()
        match = CHUNK.match(line)
        if not match:
            raise Malformed(f"chunk line {line!r}")
        size = int(match[1], 16)
        if not size:
            got.trailers = stream.fields()
            return
        stream.exactly(size, pieces)
        if stream.line():
            raise Malformed("chunk longer than its size")


def read_request_head(stream):
    request = read_head(stream, REQUEST_LINE, Request)
    request.framing = framing(request, False, "none")
    return request


def read_request(stream):
    return read_body(stream, read_request_head(stream))


def read_response(stream, method="GET", version="HTTP/1.1", sink=None):
    interim = []
    while True:
        got = read_head(stream, STATUS_LINE, Response)
        if got.status >= 200:
            break
        if version == "HTTP/1.0" or framing(got, True, "") != "none" or {"content-length", "transfer-encoding"} & got.names():
            raise Malformed(f"interim response {got.line!r}")
        interim.append(got)
    tunnel = method == "CONNECT" and got.status // 100 == 2
    bodiless = method == "HEAD" or got.status in (204, 304) or tunnel
    got.framing = framing(got, bodiless, "close")
    got.interim = interim
    if got.framing == "chunked" and version == "HTTP/1.0":
        raise Malformed("chunked to an HTTP/1.0 client")
    if (got.status == 204 or tunnel) and got.names() & {"content-length", "transfer-encoding"}:
        raise Malformed(f"{got.status} with a framing field")
    return read_body(stream, got, sink)


def connect(port, receive_buffer=0):
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if receive_buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.settimeout(TIMEOUT)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.connect(("127.0.0.1", port))
    return sock
