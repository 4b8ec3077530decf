"""Every body of the shared corpus through the running proxy: valid UTF-8, the right type, a reason, and what `normalise` makes.

Skipped where the corpus is not there; never the only cover.
"""
import csv
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from feeds import UTF_8_TYPE
from peers import Client
from proxy import normalise
from wire import message

# Labels of every kind a server sends with a feed; a body is asked for with each in turn, and with what its case says.
TYPES = ["application/xml", "text/xml", "application/rss+xml; charset=utf-8", "text/xml; charset=iso-8859-1"]


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


def same_as_command_line(port, number, row):
    """What is wrong with the answer for one body, or None."""
    name, data, content_type = row
    client = Client(port)
    got = client.get(f"/{number}")
    client.close()
    expected, status = normalise(data, content_type)
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
        wrong = list(filter(None, pool.map(lambda item: same_as_command_line(proxy.port, *item), enumerate(bodies))))
    assert not wrong, f"{len(wrong)} of {len(bodies)}:\n" + "\n".join(wrong[:20])
    assert len(bodies) > 100
