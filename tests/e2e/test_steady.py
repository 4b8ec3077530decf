"""The simulation of tests/steady in short: three hours, forty publishers that fail, twenty readers each, utfeed alone."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "steady"))

import pytest

import day
import proxies
import publishers
import readers

SEED, PUBLISHERS, READERS, HOURS = 1, 40, 20, 3


@pytest.fixture(scope="module")
def seen(clock_library, tmp_path_factory):
    return day.seen_by(proxies.Utfeed, str(tmp_path_factory.mktemp("steady")), clock_library, SEED, PUBLISHERS, READERS, HOURS)


def test_no_feed_is_lost(seen):
    assert seen["lost feeds"] == 0, seen["lost by way"]
