"""What was decided on a feed is known when the very same comes again, and is of no account when anything of it is another: the answers
are those of a utfeed that keeps nothing."""
import concurrent.futures
import gzip
import random

import pytest

from feeds import FEEDS, FRENCH, GREEK, RUSSIAN, rss
from pages import FRESH, Site, page
from proxy import normalise
from wire import chunked, message

TYPE = "application/rss+xml"


def reply(data, content_type=TYPE, *fields):
    types = (f"Content-Type: {content_type}",) if content_type is not None else ()
    return message("200 OK", *types, *fields, body=data)


def whole(proxy, origin, data, content_type=TYPE, *fields, target="/f"):
    got, _ = proxy.through(origin, reply(data, content_type, *fields), target)
    return got


def answer(*what, **more):
    got = whole(*what, **more)
    return got.body, got.rule


def expected(data, content_type=TYPE):
    """What utfeed makes of it without a memory."""
    said, status = normalise(data, content_type, "-i")
    head, _, body = said.partition(b"\r\n\r\n")
    rule = next(line.partition(": ")[2] for line in head.decode().split("\r\n") if line.startswith("X-Encoding-Rule"))
    assert status == 0
    return body, rule


def test_the_same_feed_is_judged_once(start, origin):
    proxy, recalled = start(origin), 0
    for row in FEEDS:
        first = whole(proxy, origin, row["data"], row["type"])
        before = proxy.counters()["verdicts_recalled"]
        assert first.body == row["out"] and row["rule"].match(first.rule)
        second = whole(proxy, origin, row["data"], row["type"])
        assert (second.body, second.head()) == (first.body, first.head()), row["name"]
        recalled += proxy.counters()["verdicts_recalled"] - before
    assert recalled == len(FEEDS)


# What came from the URL before, and what comes from it now: of the same length, with the same beginning and end
LIES = {
    "another charset": (rss(RUSSIAN * 3).encode("windows-1251"), rss(RUSSIAN * 3).encode("koi8-r"), TYPE),
    "another language": (rss(GREEK * 3).encode("iso-8859-7"), rss(RUSSIAN * 3)[:len(rss(GREEK * 3))].encode("iso-8859-5"), TYPE),
    "UTF-8 no more": (rss(FRENCH * 3).encode(), rss(FRENCH * 3).encode().replace("é".encode(), b"\xe9 "), TYPE),
    "to be mended now": (rss(FRENCH * 3).encode(), rss(FRENCH * 3).encode().replace("é".encode(), b"&\x01"), TYPE),
    "one character": (rss(RUSSIAN).encode("windows-1251"), rss(RUSSIAN).replace("ь", "ы").encode("windows-1251"), TYPE),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_comes_from_the_url_now_counts(start, origin, lie):
    then, now, content_type = LIES[lie]
    proxy = start(origin)
    for data in (then, then, now, now, then):
        assert answer(proxy, origin, data, content_type) == expected(data, content_type), lie
    assert proxy.counters()["verdicts_recalled"] == 3


def test_what_is_told_of_it_counts(start, origin):
    """Another header or URL is another question, though the bytes are the same."""
    proxy, data = start(origin), rss(RUSSIAN).encode("windows-1251")
    for content_type in (TYPE, TYPE + "; charset=koi8-r", TYPE + "; charset=windows-1251", "text/xml"):
        assert answer(proxy, origin, data, content_type) == expected(data, content_type)
    for fields, target in (("Content-Language: bg",), "/f"), ((), "/g"):
        assert answer(proxy, origin, data, TYPE, *fields, target=target)[0] == expected(data)[0]
    assert proxy.counters()["verdicts_recalled"] == 0


def test_each_worker_learns_by_itself(start, origin):
    proxy, data = start(origin, "--workers", "2"), rss(RUSSIAN).encode("windows-1251")
    want = expected(data)
    for _ in range(24):
        assert answer(proxy, origin, data) == want
    assert proxy.counters()["verdicts_recalled"] >= 22


def test_none_are_kept(start, origin):
    proxy, data = start(origin, "--verdicts-kept", "0"), rss(RUSSIAN).encode("windows-1251")
    for _ in range(3):
        assert answer(proxy, origin, data) == expected(data)
    assert proxy.counters()["verdicts_recalled"] == 0


def test_no_more_are_kept_than_asked_for(start, origin):
    """Four places: after five others the first is judged again."""
    proxy = start(origin, "--verdicts-kept", "4")
    feeds = [rss(RUSSIAN + str(number)).encode("windows-1251") for number in range(6)]
    for data in feeds:
        answer(proxy, origin, data)
    assert answer(proxy, origin, feeds[-1]) == expected(feeds[-1])
    assert proxy.counters()["verdicts_recalled"] == 1
    assert answer(proxy, origin, feeds[0]) == expected(feeds[0])
    assert proxy.counters()["verdicts_recalled"] == 1


# ---- longer than the window ----

ITEM = f"<item><title>{RUSSIAN}</title><description><![CDATA[<p>{RUSSIAN}</p>]]></description></item>\n"
LONG = ('<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel>' + ITEM * (200_000 // len(ITEM.encode())) + "</channel></rss>\n").encode()


def changed(at, by):
    """The feed with other bytes near an offset, of the same length: after the next edge of a tag."""
    at = LONG.index(b"<title>", at) + len("<title>")
    return LONG[:at] + by + LONG[at + len(by):]


def test_what_needed_no_repair_is_not_read_again(start, origin):
    proxy = start(origin)
    for at_least, at_most in ((0, 0), (0, 0), (12, 20), (24, 40)):
        assert whole(proxy, origin, LONG).body == LONG
        assert at_least <= proxy.counters()["passages_recalled"] <= at_most


@pytest.mark.parametrize("at", [1000, 70_000, 120_000, 199_000])
@pytest.mark.parametrize("by", [b"&&", b"\x01\x02", b"\xcd\xee\xe2\xee\xf1\xf2\xe8.", b"</item>", b"<b>", b"]]>"], ids=repr)
def test_a_long_feed_that_is_another_now(start, origin, at, by):
    """Its window is known, or not, and so are the passages before and behind what is new."""
    proxy, now = start(origin), changed(at, by)
    for data in (LONG, LONG, LONG, now, now, now, LONG):
        assert answer(proxy, origin, data) == expected(data)
    assert proxy.counters()["passages_recalled"] > 12


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("options", [(), ("--cache", "on"), ("--repair", "all,namespaces,base"), ("--rewrite", "enclosures", "--gateway-url", "http://g")],
                         ids=" ".join)
def test_long_feeds_of_many_at_once(start, origin, workers, options):
    """Feeds of which each shares passages with the others, in pieces, with and without a coding, all at the same time."""
    site, proxy = Site(origin), start(origin, "--workers", str(workers), *options)
    same = start(origin, "--verdicts-kept", "0", *options)
    feeds = [LONG, changed(80_000, b"&&"), changed(150_000, b"\x01"), changed(66_000, b"</rss>"), LONG[:130_000], LONG[:65_536]]
    for number, data in enumerate(feeds):
        plain, coded = number % 2, number % 3 == 2
        body = gzip.compress(data, mtime=0) if coded else data
        fields = (FRESH, *(("Content-Encoding: gzip",) if coded else ()), *(("Transfer-Encoding: chunked",) if not plain else ()))
        site[f"/{number}"] = page(*fields, kind=TYPE, body=body if plain else chunked(body, [9000, 70_000, 1]))
    want = [same.get(f"/{number}").body for number in range(len(feeds))]
    order = [number for number in range(len(feeds)) for _ in range(12)]
    random.Random(workers).shuffle(order)

    def ask(number):
        return number, proxy.get(f"/{number}", "Cache-Control: no-cache").body

    with concurrent.futures.ThreadPoolExecutor(6) as many:
        for number, body in many.map(ask, order):
            assert body == want[number], number
    assert (proxy.counters()["passages_recalled"] > 10) == ("--rewrite" not in options)


def test_a_reload_between_long_feeds(start, origin, tmp_path):
    """The worker remembers beyond it, and what it remembers is of no account under other options."""
    feed, file = changed(120_000, b"&&"), tmp_path / "utfeed.conf"

    def configured(*lines):
        file.write_text("".join(f"{line}\n" for line in lines))
        proxy.reload()

    file.write_text("")
    proxy = start(origin, "-c", str(file))
    for lines in ((), ("repair = none",), (), ("sniff-bytes = 4k",), ("repair = -ampersands",), ()):
        configured(*lines)
        options = [f"--{line.replace(' = ', '=')}" for line in lines]
        want = whole(start(origin, "--verdicts-kept", "0", *options), origin, feed).body
        assert [whole(proxy, origin, feed).body for _ in range(3)] == [want] * 3, lines
        assert (b"&amp;&amp;" in want) == (not lines or "sniff" in lines[0])
    assert proxy.counters()["passages_recalled"] > 40
