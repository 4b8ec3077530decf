"""tests/attack, a hundredth of each attack: held to bounds are memory, descriptors and how requests end; the machine may be busy.
`make attack` has the whole numbers, processor time and what a good client waits."""
import dataclasses
import os
import shutil
import sys

import pytest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from attack.good import Good        # noqa: E402
from attack.origin import Origin    # noqa: E402
from attack.run import Run          # noqa: E402
from attack.table import ATTACKS    # noqa: E402
from attack.visits import reads_slowly      # noqa: E402
from proxy import is_sanitized      # noqa: E402

SCALE, IDLE_SECONDS = 0.01, 0.1
FEW = 10        # connections that flood for a time: of a hundred, on a busy machine, each is slower than what a connection may do
# Of each kind what takes a second or two
BRIEF = ("abandoned, ", "slow readers, no-store", "large feeds as us-ascii", "tunnels", "endless ", "bomb: ", "text: less-than signs",
         "text: nothing said, every byte", "many variants", "colliding URLs", "many redirects", "pipelined misses", "purges, prefix /none/",
         "many URLs: LMDB", "h2: made resets, malformed trailers", "h2 origin: PING", "out of memory, ", "SIGTERM, both")
ROWS = [row for row in ATTACKS if row.name.startswith(BRIEF)]


def attacked(row, scale):
    if row.seconds:
        row = dataclasses.replace(row, number=min(row.number, FEW), at_once=min(row.at_once, FEW))
    with Origin(yields=False) as origin:
        good = Good()
        try:
            result = Run(row, good, origin, scale, times=False, idle_seconds=IDLE_SECONDS).whole()
        finally:
            good.stop()
    assert not result.failures(), f"{row.name}: {result.failures()}"


def test_rows_have_names_of_their_own():
    assert len({row.name for row in ATTACKS}) == len(ATTACKS)


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_trust_attack(row):
    if row.name.startswith("bomb") and not (shutil.which("brotli") and shutil.which("zstd")):
        pytest.skip("no brotli or zstd")
    if row.limit and is_sanitized():
        pytest.skip("a sanitizer's build takes terabytes of address space")
    attacked(row, SCALE)


def test_slow_readers_of_different_urls_share_what_is_in_transit():
    """1,000 at once, whose transit-bytes alone may be 250 MB; tests/unit/object/test_bodies.c holds it to the byte. 59 to 63 MB on a quiet
    machine, up to 70 where the worker waits for its processor."""
    row = next(row for row in ATTACKS if row.name == "slow readers, no-store")
    row = dataclasses.replace(row, cache=1, memory=80, keeps=64, visit=reads_slowly("/large/length/no-store/N", seconds=6))
    attacked(row, row.at_once / row.number)
