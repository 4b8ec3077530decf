"""Nobody gets another's answer: histories that went wrong once (oracle/regressions.py), and a while of others at random."""
import itertools
import os

import pytest

from oracle.bench import SHARED, STORES
from oracle.campaign import campaign, told
from oracle.ratio import BAR
from oracle.regressions import REGRESSIONS
from oracle.shrink import Replay, shrink
from proxy import is_sanitized


@pytest.fixture(scope="module")
def replays():
    """replay(store, workers): one utfeed for each, for all of this file."""
    made = {}

    def replay(store, workers):
        if (store, workers) not in made:
            made[store, workers] = Replay(store, workers)
        return made[store, workers]
    yield replay
    for each in made.values():
        each.close()


@pytest.mark.parametrize("store,workers,history", [row[2:] for row in REGRESSIONS], ids=[row[0] for row in REGRESSIONS])
def test_trust_of_what_went_wrong_once(replays, store, workers, history):
    replay = replays(store, workers)
    assert not replay.finds(history), "\n".join([*map(str, replay.last.wrong), *replay.last.told()])


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("store", STORES)
def test_trust_02_at_random(store, workers):
    """1,500 answers each, ten seconds at most; make check-oracle for more. A seed that failed is said, for ORACLE_SEED."""
    wander(store, workers, 1500)


@pytest.mark.parametrize("store", SHARED)
def test_two_that_share_a_store_at_random(store):
    """1,000 answers of utfeeds, with more purges, and upgrades in the middle. A fleet asks for nothing twice that one of them has."""
    asked, spare = wander(store, 2, 1000)
    assert asked <= max(asked - spare, 100) * BAR or store != "redis-four"


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("store", STORES)
def test_at_random_inside(store, workers):
    """750 of https origins, by clients that are inside of CONNECTs that utfeed opens."""
    wander(store, workers, 750, secure=True)


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("store", STORES)
def test_at_random_over_http2(store, secure):
    """500 by clients of which about half ask over HTTP/2, on streams of few connections; https origins speak it too."""
    pytest.importorskip("hpack", reason="no python3-hpack here")
    wander(store, 2, 500, secure=secure, http2=True)


def wander(store, workers, answers, **kind):
    """The histories of a sanitizer's build are others than those of a plain one: each of CI's two builds judges its half."""
    seed = int(os.environ.get("ORACLE_SEED", 0)) or 2 * int(os.environ.get("UTFEED_TEST_SEED", 1)) + is_sanitized()
    judged, stats, findings = campaign(store, workers, itertools.count(seed * 1000), 10, answers, **kind)
    assert judged and not findings, f"ORACLE_SEED={seed}\n" + told(shrink(findings[0]))
    return stats["asked"], stats["spare"]
