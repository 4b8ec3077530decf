"""The grades that a publisher gives utfeed with clients of bad manners: tests/readers/score.py without a reader's program."""
import os
import sys

import pytest

from clock import Clock
from proxy import Utfeed

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "readers"))

import score


@pytest.fixture
def day(clock_library, tmp_path):
    clock = Clock(clock_library, tmp_path / "now", score.START)
    publisher, utfeed = score.Publisher(clock), Utfeed(env=clock.env)
    yield publisher, utfeed, clock
    utfeed.stop()
    publisher.close()


@pytest.mark.parametrize("step,hours", [(600, 24), pytest.param(50, 2, id="many clients within each lifetime")])
def test_a_day(day, step, hours):
    found, unserved = score.alone(*day, step, hours)
    assert not unserved and {line: seen for line, seen in found.items() if seen[0] != "A"} == {}


def test_a_crowd(day):
    publisher, utfeed, _ = day
    assert score.crowd(publisher, utfeed)[score.CROWDED] == ("A", score.CROWD, score.CROWD)
