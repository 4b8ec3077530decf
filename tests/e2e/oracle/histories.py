"""Histories at random: who asks for what, when, and what the origin says, as data (JSON). Must not know: sockets, judgements.

A history is {"resources": [{"specs": [...], "origin": 0 or 1}], "steps": [[op, ...], ...]}. The ops of a step begin "at" so many
milliseconds after it, and the next step begins when all of them have ended. An op is one of
    {"do": "get", "way": name, "to": resource, "with": [[field, value], ...], "method", "abort": ms, "if": "tag" | "date" | "none",
     "http2": true where the way in has it}
    {"do": "purge", "way", "to", "how": word of X-Purge}     {"do": "edit", "to"}: the next spec of that resource
    {"do": "tick", "s"}: utfeed's clock goes on               {"do": "reload"}  {"do": "restart", "kill"}  {"do": "flood"}: other URLs fill the cache
    {"do": "slow", "ms"}: the second store answers later from now on        {"do": "away", "ms"}: so long there is no second store
    {"do": "takeover"}: of utfeeds that share a store, another process takes the place of one
"""
import itertools
import random

SHARED = ("max-age=60", "public, max-age=600", "s-maxage=60", "max-age=5", "public, max-age=5, stale-while-revalidate=30")
CHECKED = ("no-cache", "max-age=0", "max-age=5, must-revalidate", "public, max-age=60, no-cache", "max-age=5, proxy-revalidate", "s-maxage=5",
           "public, max-age=5, stale-if-error=300", "max-age=5")
CLOSED = ("no-store", "private", "private, max-age=60", "no-store, max-age=60", "must-understand, no-store, max-age=60")
ODD = (None, "public", "immutable, max-age=31536000", "max-age=31536000", "s-maxage=30, stale-while-revalidate=60", "max-age=60, max-age=5",
       "s-maxage=5, stale-if-error=60", "max-age=abc", "public, max-age=60, must-revalidate", "must-revalidate")
ANY = (*SHARED, *CHECKED, *CLOSED, *ODD)
VARY = ("X-User", "Accept-Language", "Authorization", "User-Agent", "Accept", "X-User, Accept-Language", "Accept-Encoding, X-User", "Cookie",
        "X-Api-Key", "*")
VALUES = {
    "X-User": ("a", "b", "a, b"), "Accept-Language": ("de", "fr", "de, fr", "DE"), "Authorization": ("Bearer a", "Bearer b"),
    "User-Agent": ("ua-a", "ua-b"), "Accept": ("text/a", "text/b", "text/a, text/b"), "Cookie": ("sid=a", "sid=b"), "X-Api-Key": ("a", "b"),
}
ON_304 = ({}, {}, {"cookie": True}, {"cc": "no-store"}, {"cc": "private"}, {"vary": "X-User"}, {"vary": "*"}, {"vary": "Accept-Language"},
          {"hop": True}, {"etag": "other"}, {"cc": None}, {"cc": "max-age=600"}, {"cookie": True, "cc": "max-age=0"})
WISHES = ("no-cache", "no-store", "max-age=0", "max-age=10", "min-fresh=30", "max-stale", "max-stale=20", "only-if-cached", "stale-if-error=60")
ALONE = ("restart", "pass")         # what is a step of its own
TICKS = (1, 1, 4, 6, 6, 20, 61, 400)


ODDS = (                # how often a spec says so, what, and one of which
    (0.25, "etag", ("weak", None)), (0.3, "lm", (50, 1000, 100000)), (0.1, "cookie", (True,)), (0.3, "kind", ("text", "json")),
    (0.3, "enc", ("iso-8859-1", "windows-1251", "utf-16", "koi8-r")), (0.2, "frame", ("chunked", "chunked", "close", "cut", "cutchunk")),
    (0.5, "delay", (3, 8, 15)), (0.15, "slow", (5, 15)), (0.07, "items", (200, 200, 2000, 9000)), (0.05, "interim", (1,)), (0.05, "age", (3, 30)),
    (0.05, "expires", (-10, 0, 5, 60)), (0.04, "cdn", ("max-age=60", "no-store", "max-age=5", "no-cache")),
)


class Maker:
    """Makes one history by its theme: a method that fills self.resources and self.mix."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.ways, self.names, self.vary = ["plain"], ["X-User", "Accept-Language"], VARY
        self.resources, self.trick, self.wish, self.unsafe, self.purge, self.tick, self.edit = [], 0.05, 0.05, 0.02, 0.03, 0.01, 0.1
        self.range, self.condition, self.abort, self.width, self.slow = 0.02, 0.08, 0.04, 4, 0.001

    def one(self, *choices):
        return self.random.choice(choices)

    def maybe(self, share):
        return self.random.random() < share

    def spec(self, ccs=ANY, vary=0.3, **fixed):
        r, spec = self.random, {}
        cc = r.choice(ccs)
        if cc:
            spec["cc"] = cc
        if self.maybe(vary):
            spec["vary"] = r.choice(self.vary)
        for share, name, values in ODDS:
            if self.maybe(share):
                spec[name] = r.choice(values)
        spec.update(fixed)
        return spec

    def fails(self):
        return self.spec((None, None, "max-age=60", "no-store"), vary=0.1, status=self.one(500, 503, 503, 429, 404, 410), kind="text", frame="length")

    def resource(self, *specs, origin=0):
        self.resources.append({"specs": list(specs), "origin": origin})

    # Themes: each leans to what one kind of fault needs

    def variants(self):
        self.ways = self.random.sample(["plain", "auth", "fields", "forward", "gateway", "cookies", "calm"], 2)
        self.names = self.random.sample(sorted(VALUES), 3)
        self.vary = tuple(name for name in VARY if name.split(",")[-1].strip() in self.names) or ("X-User",)
        for _ in range(self.one(1, 2)):
            self.resource(*(self.spec(SHARED + SHARED + ANY, vary=0.8) for _ in range(self.one(1, 1, 2))))
        self.trick = self.one(0.05, 0.4)

    def validated(self):
        self.ways = [self.one("plain", "fields", "auth", "raw", "forward")]
        self.tick, self.edit = 0.03, 0.04
        for _ in range(2):
            self.resource(self.spec(CHECKED, vary=0.3, frame="length", on304=self.one(*ON_304), careless=self.maybe(0.3)), self.spec(CHECKED))

    def redirected(self):
        self.ways = [self.one("follow", "gateway", "own")]
        self.tick, self.edit, self.vary = 0.03, 0.2, ("X-User", "Accept-Language")
        hops = ("no-store", None, "max-age=5", "private", "no-cache", "max-age=600", "max-age=31536000")
        self.resource(*(self.spec(hops, vary=0.15, status=self.one(302, 302, 301), to=to, kind="text", frame="length") for to in (1, self.one(2, 3))))
        self.resource(self.spec(("max-age=31536000", "immutable, max-age=31536000", "max-age=5", None), etag=self.one("strong", None), lm=50))
        self.resource(self.spec(("max-age=600", "max-age=5"), etag=self.one("strong", None), lm=100000), origin=self.one(0, 1))
        self.resource(self.spec(hops, status=302, to=self.one(1, 2), kind="text", frame="length"), self.spec())

    def purged(self):
        self.ways = self.random.sample(["plain", "raw", "fields", "calm", "forward"], 2)
        self.purge, self.unsafe, self.tick, self.slow, self.edit = 0.15, 0.1, 0.003, 0.02, 0.05
        for _ in range(2):
            self.resource(self.spec(("max-age=600", "public, max-age=600"), vary=0.1), self.spec(SHARED), self.spec(SHARED))

    def paused(self):
        self.ways = [self.one("plain", "calm", "gateway", "fields", "forward")]
        self.tick, self.edit = 0.03, 0.25
        for _ in range(2):
            self.resource(self.spec(CHECKED, vary=0.1, frame="length"), self.spec(CHECKED, status=self.one(429, 503, 503, 500), retry=1, kind="text"))

    def crowded(self):
        """Many at once at one URL that changes, comes late, is purged and given up meanwhile."""
        self.ways, self.names = [self.one("plain", "auth", "fields", "forward", "own", "raw")], self.random.sample(sorted(VALUES), 2)
        self.vary = tuple(name for name in VARY if name.split(",")[-1].strip() in self.names) or ("Accept-Language",)
        self.width, self.abort, self.edit, self.purge, self.unsafe, self.condition = 9, 0.1, 0.1, 0.06, 0.04, 0.15
        self.resource(*(self.spec(SHARED + CHECKED + (self.one(*CLOSED), None), vary=0.6, delay=self.one(8, 15, 30), on304=self.one(*ON_304), careless=self.maybe(
            0.2)) for _ in range(3)))

    def fleet(self):
        """What all may have, for a while: who asks again for it, though another process did, is seen (ratio.py)."""
        self.ways, self.names, self.width, self.edit, self.tick = [self.one("plain", "forward", "calm", "fields")], [], 6, 0.05, 0.06
        self.wish = self.unsafe = self.purge = self.range = self.condition = self.abort = 0
        for _ in range(self.one(1, 2, 3)):
            said = self.one("max-age=60", "max-age=5", "public, max-age=600", "s-maxage=60", "max-age=20")
            self.resource(*({"cc": said, "etag": self.one("strong", "weak", None), "lm": self.one(None, 50), "kind": self.one("feed", "feed", "text"),
                             "frame": self.one("length", "chunked", "close"), "delay": self.one(0, 3, 8, 15, 40), "slow": self.one(0, 0, 10)} for _ in range(2)))

    def parts(self):
        self.ways, self.range, self.edit = ["raw", self.one("plain", "raw", "fields")], 0.6, 0.1
        for _ in range(2):
            self.resource(self.spec(SHARED + CHECKED, vary=0.2, kind="text", items=self.one(20, 200), static=True, ranges=True, etag=self.one("strong", "weak"),
                                    enc="utf-8"), self.spec(SHARED, kind="text", enc="utf-8", static=True, ranges=True))

    def mixed(self):
        self.ways = self.random.sample(["plain", "auth", "cookies", "fields", "follow", "raw", "calm", "gateway", "forward", "own"], 3)
        self.names = self.random.sample(sorted(VALUES), 4)
        for _ in range(3):
            self.resource(*(self.fails() if self.maybe(0.2) else self.spec() for _ in range(self.one(1, 2, 3))), origin=self.one(0, 0, 0, 1))

    # Operations

    def fields(self):
        found = []
        for name in self.names:
            if self.maybe(0.35):
                continue
            value = self.random.choice(VALUES[name])
            found.append([name, value])
            if self.maybe(self.trick):
                found.append([name, self.random.choice(VALUES[name])] if self.maybe(0.5) else ["Connection", name])
        if self.maybe(self.wish):
            found.append(["Cache-Control", self.random.choice(WISHES)])
        if self.maybe(self.range):
            found.append(["Range", self.one("bytes=0-99", "bytes=50-149", "bytes=100-", "bytes=0-", "bytes=9999999-", "bytes=100-300")])
        if self.maybe(0.1):
            found.append(["Accept-Encoding", "gzip"])
        return found

    def get(self):
        op = {"do": "get", "way": self.random.choice(self.ways), "to": self.random.randrange(len(self.resources)), "with": self.fields()}
        if len(self.resources) == 4:            # redirects are asked for at their beginning
            op["to"] = self.one(0, 0, 0, op["to"])
        if self.maybe(self.condition):
            op["if"] = self.one("tag", "date", "none")
        if self.maybe(0.05):
            op["method"] = "HEAD"
        elif self.maybe(self.unsafe):
            op["method"] = "POST"
        if self.maybe(self.abort):
            op["abort"] = self.one(0, 2, 6, 12)
        return op

    def op(self):
        roll = self.random.random()
        to = self.random.randrange(len(self.resources))
        for share, op in ((self.purge, {"do": "purge", "way": self.ways[0], "to": to, "how": self.one("url", "url", "soft", "prefix", "url, soft")}),
                          (self.tick, {"do": "tick", "s": self.random.choice(TICKS)}), (self.edit, {"do": "edit", "to": to}),
                          (0.001, {"do": "reload"}), (0.002, {"do": "flood"}), (self.slow, {"do": "slow", "ms": self.one(0, 10, 30)}),
                          (self.slow / 10, {"do": "away", "ms": self.one(10, 100)})):
            if roll < share:
                return op
            roll -= share
        return self.get()

    def step(self):
        ops = [self.op() for _ in range(self.random.randint(1, self.width))]
        for op in ops[1:]:
            op["at"] = self.one(0, 0, 2, 5, 10, 20, 30)
        return ops

    def theme(self):
        return self.random.choice([self.variants, self.validated, self.redirected, self.purged, self.paused, self.parts, self.crowded, self.crowded,
                                   self.mixed, self.mixed])

    def history(self, theme=None):
        (theme or self.theme())()
        steps = [self.step() for _ in range(self.random.randint(6, 18))]
        if self.maybe(0.01):
            steps.insert(self.random.randrange(len(steps)), [{"do": "restart", "kill": self.maybe(0.5)}])
        return {"resources": self.resources, "steps": steps}


def history(seed):
    return Maker(seed).history()


def fleet(seed):
    made = Maker(seed)
    return made.history(made.fleet)


def of_many(made, seed, way="plain", takeovers=True, wide=1):
    """The same history, with more purges, and takeovers in the middle. wide: how much seldomer than else all cells' responses are purged."""
    chance = random.Random(seed)
    for step in made["steps"]:
        if chance.random() < 0.2 and step[0]["do"] not in ALONE:
            how = chance.choice(("url", "url", "url", "prefix", "prefix", "url, soft") * (3 * wide) + ("host", "all"))
            step.append({"do": "purge", "way": way, "to": chance.randrange(len(made["resources"])), "how": how, "at": chance.choice((0, 2, 5, 10, 20, 30))})
        if takeovers and chance.random() < 0.004 and step[0]["do"] not in ALONE:
            step.append({"do": "takeover", "at": chance.choice((0, 5, 20))})
    return made


def undisturbed(made):
    """The same history, in which neither a process ends nor its store."""
    steps = [[op for op in step if op["do"] not in ("restart", "takeover", "away", "slow")] for step in made["steps"]]
    return {**made, "steps": [step for step in steps if step]}


def over_http2(made, seed):
    """The same history; of some all is asked over HTTP/2, of others half or nothing."""
    chance = random.Random(seed)
    share = chance.choice((0, 0.5, 0.5, 1))
    for op in itertools.chain(*made["steps"]):
        if "way" in op and chance.random() < share:
            op["http2"] = True
    return made


def of_a_proxy(made):
    """The same history by one way in, but for the gateway's."""
    for op in itertools.chain(*made["steps"]):
        if "way" in op and op["way"] != "gateway":
            op["way"] = "forward"
    return made
