"""A list of 5,000 feeds that is asked for by strangers: every question gets its answer soon, or a 400 that says why."""
import json
import time

import pytest

from pages import FRESH, Site, page
from test_admin import KOI8, Admin, listed
from wire import TIMEOUT

ONE_PROCESS = True
MANY = 5000
SOON = TIMEOUT / 4


@pytest.fixture(scope="module")
def many(start_once, old_origin):
    """An admin listener whose utfeed was asked for 5,000 feeds."""
    Site(old_origin)["*"] = page(FRESH, body=KOI8, kind="text/xml; charset=iso-8859-1")
    admin = Admin(start_once(old_origin, "--cache", "on", "--admin-listen", "127.0.0.1:0", "--workers", "2"))
    client = admin.proxy.client()
    for i in range(MANY):
        assert client.get(f"/{i:04}").status == 200
    client.close()
    assert listed(admin, "?limit=1", least=MANY)["total"] == MANY
    return admin


def ask(admin, path):
    """The answer, which came soon and does not harm utfeed."""
    began = time.monotonic()
    got = admin.ask(path)
    assert time.monotonic() - began < SOON, path[:80]
    return got


# What is asked, and the member that the 400 names
WRONG = {
    "no such order": ("sort=colour", "sort"), "an order of 1 kB": ("sort=" + "a" * 1000, "sort"), "no order": ("sort=", "sort"),
    "two orders, the first unknown": ("sort=x&sort=url", "sort"), "a NUL": ("sort=url%00", "sort"),
    "less than one": ("limit=0", "limit"), "negative": ("limit=-1", "limit"), "negative, round the corner": ("limit=-18446744073709551615", "limit"),
    "huge": ("limit=99999999999999999999999", "limit"), "too many": ("limit=10001", "limit"), "no number": ("limit=ten", "limit"),
    "hexadecimal": ("limit=0x10", "limit"), "a fraction": ("limit=1.5", "limit"), "a sign": ("limit=%2B5", "limit"), "blanks": ("limit=+5", "limit"),
    "two limits, the first wrong": ("limit=x&limit=5", "limit"), "nothing": ("limit=", "limit"),
    "a search of 300 bytes": ("search=" + "a" * 300, "search"), "a search with a NUL": ("search=a%00b", "search"),
    "a place that is none": ("after=%00", "after"), "a place of text": ("after=a.b", "after"), "a place with more behind it": ("after=1.1.1", "after"),
    "a feed of too great a number": ("after=1.18446744073709551616", "after"), "blanks before a place": ("before=+1.1", "before"), "both ends": ("after=1.1&before=", "before"),
}


@pytest.mark.parametrize("page", ["/api/feeds", "/feeds", "/api/top"])
@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(many, case, page):
    query, word = WRONG[case]
    got = ask(many, f"{page}?{query}")
    assert got.status == 400 and word.encode() in got.body and len(got.body) < 200
    assert page != "/api/feeds" or list(json.loads(got.body)) == ["error"]


# What is asked, and how many feeds come
RIGHT = {
    "all": ("limit=10000", MANY), "all by name, backwards": ("limit=10000&sort=url&reverse=1&before=", MANY),
    "behind the end": ("sort=url&after=99999999999999999999.1", MANY), "behind the end of requests": ("after=0.0", 0),
    "before the beginning": ("before=18446744073709551615.1", 0), "a feed that nobody knows": ("sort=url&after=5.18446744073709551615", 100),
    "huge": ("after=9223372036854775807.18446744073709551615", 100), "negative": ("sort=last&after=-1.5", 0),
    "orders repeated": ("sort=url&sort=colour&limit=3&limit=x", 3), "only ampersands": ("&" * 1000, 100), "nothing but signs": ("=&==&%&%%%&limit", None),
    "a flag of 1 kB": ("mislabelled=" + "1" * 1000, 100), "a search that all have": ("search=" + "%2F", 100), "the longest search": ("search=" + "0" * 255, 0),
    "an offset, which is no word here": ("offset=1000000", 100),
}


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_odd_is_answered(many, case):
    query, n = RIGHT[case]
    got = ask(many, "/api/feeds?" + query)
    if n is None:
        assert got.status == 400
        return
    told = json.loads(got.body)
    assert got.status == 200 and (len(told["feeds"]) == n or n == MANY) and len(told["feeds"]) <= MANY
    assert ask(many, "/feeds?" + query).status == ask(many, "/api/top?" + query).status == 200


@pytest.mark.parametrize("page", ["/api/feeds", "/feeds", "/api/top", "/feed"])
def test_a_query_of_100_kB_is_refused(many, page):
    got = ask(many, f"{page}?search=" + "a" * 100_000)
    assert got.status in (414, 431)
    assert ask(many, "/healthz").status == 200


@pytest.mark.parametrize("id", ["", "0", "-1", "1x", "+1", "%201", "0x1", "18446744073709551617", "9" * 1000, "1%00", "99999999"])
def test_a_feed_is_named_by_its_number_alone(many, id):
    got = ask(many, f"/feed?id={id}")
    assert got.status == 404 and b"No such feed" in got.body
    assert ask(many, "/feed?id=1").status == 200
