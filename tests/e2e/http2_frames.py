"""Frames and header blocks of HTTP/2 as bytes (RFC 9113, RFC 7541): what http2.py writes, and what an attacker would."""
import collections

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM = ACK = 1
END_HEADERS, PADDED, PRIORITISED = 4, 8, 32
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = range(1, 7)
ENABLE_CONNECT_PROTOCOL = 8
CODES = ["NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
         "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
         "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"]
LARGEST, WINDOW, MOST_WINDOW = 16384, 65535, 2 ** 31 - 1     # of a frame's payload, of a window at first, of any window
OF_A_CONNECTION = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}     # section 8.2.2

Frame = collections.namedtuple("Frame", "kind flags stream payload")
Goaway = collections.namedtuple("Goaway", "last code debug")


def name_of(code):
    return CODES[code] if code < len(CODES) else f"code {code}"


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    """length: what the frame says of its payload where that is a lie."""
    head = (len(payload) if length is None else length).to_bytes(3, "big") + bytes([kind, flags])
    return head + stream.to_bytes(4, "big") + payload


def settings(*pairs):
    return frame(SETTINGS, payload=b"".join(key.to_bytes(2, "big") + value.to_bytes(4, "big") for key, value in pairs))


def ping(data=b"8 octets", flags=0):
    return frame(PING, flags, payload=data)


def reset(stream, code="CANCEL"):
    return frame(RST_STREAM, 0, stream, CODES.index(code).to_bytes(4, "big"))


def window_update(stream, more):
    return frame(WINDOW_UPDATE, 0, stream, more.to_bytes(4, "big"))


def priority(stream, above=0, weight=15):
    return frame(PRIORITY, 0, stream, above.to_bytes(4, "big") + bytes([weight]))


def goaway(last=0, code="NO_ERROR", debug=b""):
    return frame(GOAWAY, payload=last.to_bytes(4, "big") + CODES.index(code).to_bytes(4, "big") + debug)


def header_frames(stream, block, flags=END_STREAM, size=LARGEST):
    """HEADERS and as many CONTINUATION frames as the block needs."""
    pieces = [block[at:at + size] for at in range(0, len(block), size)] or [b""]
    last = len(pieces) - 1
    return b"".join(frame(CONTINUATION if n else HEADERS, (0 if n else flags) | (END_HEADERS if n == last else 0), stream, piece)
                    for n, piece in enumerate(pieces))


def integer(value, bits, first=0):
    """RFC 7541 section 5.1."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    out, value = [first | most], value - most
    while value >= 128:
        out.append(value % 128 | 128)
        value //= 128
    return bytes([*out, value])


def octets(text):
    data = text if isinstance(text, bytes) else text.encode("latin-1")
    return integer(len(data), 7) + data


def literal(name, value):
    """A field as a literal without indexing and without Huffman's code (RFC 7541 section 6.2.2): any bytes go."""
    return b"\0" + octets(name) + octets(value)


def indexing(name, value):
    """A literal that enters the dynamic table (section 6.2.1)."""
    return b"\x40" + octets(name) + octets(value)


def indexed(index):
    return integer(index, 7, 0x80)


def list_of(lines):
    """The fields of lines as HTTP/1.1 writes them."""
    return [(name.strip().lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]


# Header lists that are larger than they look
BIG = indexing("x-bomb", "a" * 4000)        # nearly all of the dynamic table; a byte stands for it from then on
CRUMB = indexing("cookie", "")
AGAIN = indexed(62)

BOMBS = {
    "a big field again": BIG + AGAIN * 15_000,
    "a short field again": b"\x90" * 16_000,
    "crumbs of nothing": CRUMB + AGAIN * 16_000,
    "crumbs": indexing("cookie", "a=" + "b" * 3000) + AGAIN * 10_000,
    "a big field in many frames": BIG + AGAIN * 60_000,
    "an empty field in many frames": indexing("x", "") + AGAIN * 60_000,
}
