"""When the oracle calls a request to an origin spare (oracle/ratio.py): never where something that it knows of may explain it."""
import pytest

from oracle.ratio import measure
from oracle.records import Removal, Request
from test_oracle_judge import PLAIN, URL, Case, moment

LATER = 30


def asked_again(wall=0, second=None, troubles=(), removal=None, **first):
    """(exchanges that count, spare ones) of one URL that was asked for at 17 and, so many seconds later, at 30."""
    case = Case()
    case.exchange(1, asked=17, **first)
    case.exchange(2, asked=LATER, wall=wall, **(second or {}))
    if removal:
        case.world.removals.append(removal)
    case.world.requests.append(Request(1, PLAIN, URL, "GET", [], {}, moment(16)))
    return measure(case.world, troubles)


def purge(sent, over, pending=False, settles=True):
    removal = Removal(lambda url: url == URL, False, moment(sent), settles)
    removal.over, removal.pending = moment(over), pending
    return removal


@pytest.mark.parametrize("how,found", [
    ({}, (2, 1)),
    ({"wall": 50}, (2, 1)),
    ({"wall": 55}, (2, 0)),                                             # the last tenth, in which it may be refreshed
    ({"wall": 61}, (2, 0)),
    ({"second": {"request": {"user-agent": "b"}}}, (2, 0)),             # another client's field, which Vary may name
    ({"second": {"request": {"if-none-match": '"e1"'}}}, (2, 1)),
    ({"second": {"request": {"cache-control": "no-cache"}}}, (0, 0)),   # a client's wish: the URL does not count
    ({"cc": "no-store"}, (0, 0)),
    ({"cc": "private, max-age=60"}, (0, 0)),
    ({"cc": "max-age=0"}, (0, 0)),
    ({"cc": None}, (0, 0)),
    ({"set_cookie": "a"}, (2, 1)),                                      # its lifetime is named
    ({"second": {"status": 500}}, (0, 0)),
    ({"removal": purge(20, 22)}, (2, 0)),
    ({"removal": purge(10, 12)}, (2, 1)),
    ({"removal": purge(10, 16, settles=False)}, (2, 0)),                # the others may learn of it now
    ({"removal": purge(10, 16, pending=True)}, (2, 0)),
    ({"troubles": [(20_000, 22_000)]}, (2, 0)),
    ({"troubles": [(1_000, 2_000)]}, (2, 1)),
])
def test_spare(how, found):
    assert asked_again(**how) == found


def test_what_is_on_its_way():
    """Two at once are one too many, as long as what came may be for both."""
    case = Case()
    case.exchange(1, asked=17).done = moment(LATER + 5)
    case.exchange(2, asked=LATER)
    case.world.requests.append(Request(1, PLAIN, URL, "GET", [], {}, moment(16)))
    assert measure(case.world, ()) == (2, 1)
