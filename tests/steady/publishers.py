"""Publishers: when each has a new item, which header fields it sends, when it fails and how. One seed decides all of it.

A time is in seconds since the day began; it is negative before that. Must not know: sockets, proxies, readers."""
import bisect
import collections
import email.utils
import functools
import gzip
import random

from ways import LOGIN, WAYS, Fail

MINUTE, HOUR, DAY = 60, 3600, 86400
FIRST_HOUR = 7
START = 1_799_971_200 + FIRST_HOUR * HOUR       # a Friday's
ITEMS = 10                          # in a feed, the newest first

# weight; mean seconds between two items; the hours of the day in which items appear
Pattern = collections.namedtuple("Pattern", "weight gap hours")
PATTERNS = {
    "news": Pattern(15, 9 * MINUTE, (7, 22)),
    "agency": Pattern(5, 4 * MINUTE, (0, 24)),
    "hourly": Pattern(10, HOUR, (0, 24)),
    "several a day": Pattern(20, 3 * HOUR, (8, 20)),
    "weekly": Pattern(25, 7 * DAY, (6, 23)),
    "podcast": Pattern(10, DAY, (4, 6)),
    "silent": Pattern(15, 0, (0, 24)),
}

# Cache-Control: weight
CONTROLS = {"": 55, "max-age=300": 8, "max-age=600": 5, "max-age=900": 5, "max-age=1800": 3, "max-age=3600": 8, "max-age=0": 3,
            "no-cache": 3, "max-age=0, must-revalidate": 3, "no-store, no-cache, must-revalidate": 2, "private, max-age=300": 1,
            "s-maxage=600": 1, "max-age=2592000": 2, "max-age=3600, stale-if-error=86400": 1}
# RFC 9111 sections 3, 4.2.4 and 5.2.2: a shared cache may not answer with these when they are stale
UNKEPT = ("no-store", "no-cache", "must-revalidate", "private", "s-maxage")

VALIDATORS = {"both": 50, "etag": 12, "weak etag": 8, "bare etag": 5, "date": 10, "none": 15}
HINTS = {"": 75, "<ttl>60</ttl>": 10, "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>1</sy:updateFrequency>": 15}
MOVES = {"": 90, "301 Moved Permanently": 6, "308 Permanent Redirect": 1, "302 Found": 3}
LIMITS = {0: 95, 60: 5}             # a second request within so many seconds gets 429
SHARED = 20                         # one publisher of so many shares the host of the one before


def drawn(rng, table):
    return rng.choices(list(table), [getattr(row, "weight", row) for row in table.values()])[0]


def hour_of(time):
    return (time / HOUR + FIRST_HOUR) % 24


def item_times(rng, pattern, end):
    """The times of all items until then, also of those that appeared before the day began."""
    if not pattern.gap:
        return [-200 * DAY + number * DAY for number in range(ITEMS)]
    first, last = pattern.hours
    time, times = -(2 * ITEMS * pattern.gap + 3 * DAY) + rng.randrange(pattern.gap), []
    while time < end:
        if first <= hour_of(time) < last:
            times.append(time)
        gap = max(MINUTE, int(rng.uniform(.5, 1.5) * pattern.gap))
        if pattern.gap < DAY:
            time += gap
        else:                       # on a day, in its hours
            time += max(1, gap // DAY) * DAY + int((rng.uniform(first, last) - hour_of(time)) * HOUR)
    return times


def failing_times(rng, hours):
    """One to three spells of minutes to hours. None begins in the first hour, in which the proxies fetch the feeds."""
    spells = []
    for _ in range(rng.randint(1, 3)):
        begin = rng.randrange(HOUR, max(HOUR + 1, hours * HOUR))
        spells.append((begin, begin + int(5 * MINUTE * 2 ** rng.uniform(0, 6.2))))
    return sorted(spells)


class Publisher:
    def __init__(self, seed, number, way, host, hours):
        rng = random.Random(f"{seed} {number}")
        self.number, self.way, self.host = number, way, host
        self.path = f"/{number}/feed.xml"
        self.pattern = drawn(rng, PATTERNS)
        self.times = item_times(rng, PATTERNS[self.pattern], hours * HOUR)
        self.control, self.validators, self.hint = drawn(rng, CONTROLS), drawn(rng, VALIDATORS), drawn(rng, HINTS)
        self.move, self.limit = drawn(rng, MOVES), drawn(rng, LIMITS)
        self.restless = self.validators == "none" and rng.random() < .3     # its feed names the time of the request
        self.padding = "".join(rng.choices("abcdefghij klmno pqrst", k=rng.randint(100, 2500)))
        self.asks_for = rng.choice((60, 300, 900, 3600))
        self.asked = -DAY
        self.requests = 0

    @property
    def first_path(self):
        """The path that readers have subscribed to."""
        return f"/{self.number}/old.xml" if self.move else self.path

    @property
    def may_be_kept(self):
        return "stale-if-error" in self.control or not any(word in self.control for word in UNKEPT)

    def count(self, time):
        """How many items the feed has had until then."""
        return bisect.bisect_right(self.times, time)

    @functools.cached_property
    def seen(self):
        """For each item, when a perfect observer sees it: at once, or when the host serves again."""
        return [next((end for begin, end in self.host.spells if begin <= time < end), time) for time in self.times]

    def seen_count(self, time):
        return bisect.bisect_right(self.seen, time)

    @functools.lru_cache(maxsize=2)
    def body(self, count, time):
        items = "".join(f"<item><title>Item {number} of {self.number}</title><guid>{number}</guid><pubDate>{date(self.times[number])}"
                        f"</pubDate><description>{self.padding}</description></item>"
                        for number in range(count - 1, max(-1, count - 1 - ITEMS), -1))
        built = f"<lastBuildDate>{date(time)}</lastBuildDate>" if self.restless else ""
        return (f'<?xml version="1.0" encoding="UTF-8"?><rss version="2.0" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"><channel>'
                f"<title>Feed {self.number}</title>{built}{self.hint}{items}</channel></rss>").encode()

    @functools.lru_cache(maxsize=2)
    def packed(self, count, time):
        return gzip.compress(self.body(count, time), 6, mtime=0)

    def validator_fields(self, count):
        tag = {"both": '"v{}"', "etag": '"v{}"', "weak etag": 'W/"v{}"', "bare etag": "v{}"}.get(self.validators)
        return {**({"ETag": tag.format(count)} if tag else {}),
                **({"Last-Modified": date(self.times[count - 1])} if self.validators in ("both", "date") else {})}

    def feed(self, ask, time):
        """The response with the feed, or 304. ask: the fields of the request."""
        count = self.count(time)
        fields = self.validator_fields(count)
        lines = [f"{name}: {value}" for name, value in fields.items()]
        if self.control:
            lines.append(f"Cache-Control: {self.control}")
        if "if-none-match" in ask:
            unchanged = ask["if-none-match"] == fields.get("ETag")
        else:
            unchanged = "if-modified-since" in ask and ask["if-modified-since"] == fields.get("Last-Modified")
        if unchanged:
            return Fail("304 Not Modified", lines, b"")
        built = time if self.restless else 0
        lines += ["Content-Type: application/rss+xml", "Vary: Accept-Encoding"]
        if "gzip" in ask.get("accept-encoding", ""):
            return Fail("200 OK", [*lines, "Content-Encoding: gzip"], self.packed(count, built))
        return Fail("200 OK", lines, self.body(count, built))

    def answer(self, path, ask, time):
        """The response to a request, or the word for what comes in its place (ways.py)."""
        self.requests += 1
        if path == "/login":
            return Fail("200 OK", ("Content-Type: text/html",), LOGIN)
        if self.host.fails(time):
            return self.failure(path, time)
        if path != self.path:
            return Fail(self.move, (f"Location: http://{self.host.authority}{self.path}", "Content-Type: text/html"), b"moved\n")
        if time < self.asked + self.limit:
            return self.filled(WAYS["429, Retry-After"], path, time, self.asked + self.limit - time)
        self.asked = time
        return self.feed(ask, time)

    def failure(self, path, time):
        what = WAYS[self.host.way]
        if what == "cut":
            return self.feed({}, time)._replace(status="cut")
        return what if isinstance(what, str) else self.filled(what, path, time, self.asks_for)

    @staticmethod
    def filled(what, path, time, seconds):
        said = {"seconds": seconds, "date": date(time + seconds), "reset": START + time + seconds, "here": path}
        return what._replace(fields=[field.format(**said) for field in what.fields])


class Host:
    """A name and port with an IP address of its own. Hosts fail, and with them all of their publishers."""

    def __init__(self, seed, number, way, hours):
        self.number, self.way = number, way
        self.name = f"h{number}.example"
        self.address = f"127.10.{number // 250}.{number % 250 + 1}"
        self.port = 0               # origins.py sets it
        self.spells = failing_times(random.Random(f"{seed} host {number}"), hours)
        self.publishers = {}

    @property
    def authority(self):
        return f"{self.name}:{self.port}"

    def fails(self, time):
        return any(begin <= time < end for begin, end in self.spells)

    def publisher(self, path):
        """The publisher of that path; /login is of the first one."""
        return self.publishers.get(path.split("/")[1]) or next(iter(self.publishers.values()))


@functools.lru_cache(maxsize=100_000)
def date(time):
    return email.utils.formatdate(START + time, usegmt=True)


def publishers(seed, count, hours):
    """(hosts, publishers). The ways to fail are spread evenly over the hosts."""
    ways, hosts, all_ = list(WAYS), [], []
    random.Random(seed).shuffle(ways)
    for number in range(count):
        if not hosts or number % SHARED:
            hosts.append(Host(seed, len(hosts), ways[len(hosts) % len(ways)], hours))
        publisher = Publisher(seed, number, hosts[-1].way, hosts[-1], hours)
        hosts[-1].publishers[str(number)] = publisher
        all_.append(publisher)
    return hosts, all_
