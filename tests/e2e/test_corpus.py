"""Every body of the shared corpus through the running proxy: valid UTF-8, the right type, a reason, and what `normalise` makes.

Skipped where the corpus is not there; never the only cover.
"""
import csv
import functools
import gzip
import os
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from certs import server_context
from feeds import FEEDS, UTF_8_TYPE, big
from peers import Client
from proxy import BINARY, EXPECTING, normalise
from test_compression import brotli, zstd
from wire import chunked, message

# Labels of every kind a server sends with a feed; a body is asked for with each in turn, and with what its case says.
TYPES = ["application/xml", "text/xml", "application/rss+xml; charset=utf-8", "text/xml; charset=iso-8859-1"]


# The tests here ask the command for the same bodies; what it says of one does not change. It may be that of another build: a start under
# AddressSanitizer costs ten times what the body does, and that build's proxy reads each body anyway.
normalised = functools.lru_cache(maxsize=None)(functools.partial(normalise, binary=EXPECTING))


@pytest.fixture
def bodies(shared):
    folder = os.path.join(shared, "corpus", "bodies")
    if not os.path.isdir(folder):
        pytest.skip(f"no corpus at {folder}")
    said = {}
    with open(os.path.join(shared, "corpus", "cases.tsv"), encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["transport"] != "raw" and row["content_type"] and row["content_type"].isascii():
                said.setdefault(os.path.basename(row["body"]), row["content_type"])
    found = []
    for number, name in enumerate(sorted(os.listdir(folder))):
        with open(os.path.join(folder, name), "rb") as body:
            data = body.read()
        found += [(name, data, content_type) for content_type in {TYPES[number % 4], said.get(name, TYPES[0])}]
    return found


def same_as_command_line(port, path, row, expected=None):
    """What is wrong with the answer for one body, or None."""
    name, data, content_type = row
    client = Client(port)
    got = client.get(path)
    client.close()
    expected, status = expected or normalised(data, content_type)
    if got.rule is None or got.status != 200:
        return f"{name} as {content_type}: {got.line}, rule {got.rule}"
    if got.rule.startswith("none;"):
        same = got.body == data and got["Content-Type"] == content_type
        return None if same else f"{name} as {content_type}: {got.rule}, yet touched"
    try:
        got.body.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"{name} as {content_type}: {error}"
    if got["Content-Type"] != UTF_8_TYPE:
        return f"{name} as {content_type}: {got['Content-Type']}"
    return None if got.body == expected else f"{name} as {content_type}: not what normalise says (exit {status}), {got.rule}"


def test_every_body(proxy, origin, bodies):
    def respond(request):
        _, data, content_type = bodies[int(request.target[1:])]
        return message("200 OK", f"Content-Type: {content_type}", body=data)
    origin.serve(respond)
    with ThreadPoolExecutor(4) as pool:
        wrong = list(filter(None, pool.map(lambda item: same_as_command_line(proxy.port, f"/{item[0]}", item[1]), enumerate(bodies))))
    assert not wrong, f"{len(wrong)} of {len(bodies)}:\n" + "\n".join(wrong[:20])
    assert len(bodies) > 100


def test_the_command_of_this_build(bodies):
    """Where what is expected comes from another build, this one's command says the same."""
    some = bodies[::len(bodies) // 12]
    assert [normalise(*row[1:], binary=BINARY) for row in some] == [normalised(*row[1:]) for row in some]


# The same over TLS in chunks of random sizes, packed or not. Writes are of 3 bytes; after the first TINY bytes of random sizes.

SEED = os.environ.get("UTFEED_SEED") or os.environ.get("UTFEED_TEST_SEED", "1")
WHOLE = os.environ.get("UTFEED_SLOW") == "1"
TINY = 1 << 30 if WHOLE else 2000
PACKED = {"identity": bytes, "gzip": gzip.compress, "br": brotli, "zstd": zstd}
CODINGS = list(PACKED)


def in_writes(row, coding, dice):
    """The writes of an origin that answers with a body."""
    _, data, content_type = row
    body = PACKED[coding](data)
    sizes = [dice.randint(1, dice.choice([3, 50, 5000])) for _ in range(100)]
    reply = message("200 OK", f"Content-Type: {content_type}", "Transfer-Encoding: chunked", f"Content-Encoding: {coding}",
                    body=chunked(body, sizes))
    at = 0
    while at < len(reply):
        size = 3 if at < TINY else dice.randint(1, 20_000)
        yield reply[at:at + size]
        at += size


def carried(proxy, origin, rows):
    """rows: (row of bodies, coding). Whatever carries a body, it arrives as `normalise` has it."""
    print(f"UTFEED_SEED={SEED}, {len(rows)} bodies")
    for pack in PACKED.values():
        pack(b"")       # skips where its tool is missing

    def respond(request):
        number = int(request.target[1:])
        return in_writes(*rows[number], random.Random(f"{SEED} {number}"))

    def compare(number):
        (name, data, content_type), coding = rows[number]
        wrong = same_as_command_line(proxy.port, f"/{number}", rows[number][0], expected[data, content_type])
        return wrong and f"{coding} (row {number}): {wrong}"
    origin.serve(respond)
    with ThreadPoolExecutor(4) as pool:
        kinds = list({row[1:] for row, _ in rows})
        expected = dict(zip(kinds, pool.map(lambda kind: normalised(*kind), kinds)))
        wrong = list(filter(None, pool.map(compare, range(len(rows)))))
    assert not wrong, f"UTFEED_SEED={SEED}, {len(wrong)} of {len(rows)}:\n" + "\n".join(wrong[:20])


def test_every_body_over_tls(trusting, tls_origin, good, bodies):
    """Each in one coding, all in turn; with UTFEED_SLOW=1 each in all."""
    origin = tls_origin(server_context(good))
    carried(trusting(origin), origin, [(row, coding) for number, row in enumerate(bodies) for turn, coding in enumerate(CODINGS)
                                       if WHOLE or turn == number % len(CODINGS)])


def test_own_feeds_over_tls(trusting, tls_origin, good):
    origin = tls_origin(server_context(good))
    rows = [(feed["name"], feed["data"], feed["type"]) for feed in FEEDS if feed["type"]] + [("big", big()[0], "text/xml")]
    carried(trusting(origin), origin, [(row, coding) for row in rows for coding in CODINGS])
