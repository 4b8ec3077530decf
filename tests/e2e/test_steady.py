"""The simulation of tests/steady in short: three hours, forty publishers that fail, twenty readers each, utfeed alone.

It is compared with what Varnish 7.1, the better peer, came to with the same publishers and readers (make steady)."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "steady"))

import pytest

import day
import proxies

SEED, PUBLISHERS, READERS, HOURS = 1, 40, 20, 3
PEER_REQUESTS, PEER_LATE_S = 1960, 712


@pytest.fixture(scope="module")
def seen(clock_library, tmp_path_factory):
    return day.seen_by(proxies.Utfeed, str(tmp_path_factory.mktemp("steady")), clock_library, SEED, PUBLISHERS, READERS, HOURS)


def test_no_feed_is_lost(seen):
    assert seen["lost feeds"] == 0, seen["lost by way"]


def test_publishers_are_asked_less(seen):
    """A third less, at least; the pauses vary by chance."""
    assert seen["origin requests"] <= PEER_REQUESTS * 2 / 3


def test_fresh_items_are_seen_no_later(seen):
    assert seen["late, mean s"] <= PEER_LATE_S


def test_readers_wait_little(seen):
    """Only while nobody has the feed yet does a reader wait for an origin that hangs."""
    assert seen["waits over 1 s"] <= seen["reader requests"] / 100
