"""Histories at random in which publishers fail: what histories.py makes, with the failures of issue 32 and the time that pauses take. Data.

Must not know: sockets, judgements. Ops beyond those of histories.py:
    {"do": "pass", "s"}: all clocks go on, those of pauses too      {"do": "absent", "to", "ms"}: so long nobody listens at that resource's host
"""
from .histories import CHECKED, CLOSED, SHARED, TICKS, WISHES, Maker
from .ways import ODD

STATUSES = (204, 401, 402, 403, 403, 404, 404, 406, 408, 410, 421, 425, 429, 429, 451, 500, 501, 502, 503, 503, 504, 507, 511, 520, 522, 526, 530, 599)
KEPT = (None, None, "max-age=0", "max-age=5", "max-age=5", "max-age=60", "public, max-age=5", "max-age=5, stale-if-error=60", "max-age=2592000")
UNKEPT = ("no-cache", "max-age=5, must-revalidate", "max-age=5, proxy-revalidate", "s-maxage=5", "s-maxage=5, stale-if-error=60",
          "no-cache, stale-if-error=60", "no-store", "private, max-age=5", "max-age=5, must-revalidate, stale-if-error=300")
# All cells have one clock: what a kept feed outlives must be seldom.
PASSES = (*(2, 12, 23, 31, 31, 61, 61, 200) * 12, *(1900, 3700) * 2, 90000)
STEPS = (*TICKS * 20, 3601, 86401)
RETRIES = (1, 5, 20, 60, 60, 600, 100000)


class Steady(Maker):
    def __init__(self, seed):
        super().__init__(seed)
        self.ways = [self.one("gateway", "steady", "steady", *ODD)]
        self.names, self.vary = ["X-User", "Accept-Language"], ("X-User", "Accept-Language", "X-User, Accept-Language")
        self.trick, self.wish, self.unsafe, self.purge, self.tick, self.edit = 0.02, 0.12, 0.01, 0.01, 0.015, 0.2
        self.range, self.condition, self.abort, self.width, self.slow = 0.0, 0.08, 0.02, 3, 0.001
        self.passes, self.absent = 0.15, 0.01

    # What origins say

    def good(self, **fixed):
        r, spec = self.random, {"kind": "feed", "cc": self.one(*KEPT), "items": self.one(0, 1, 2, 2, 5)}
        if self.maybe(0.15):
            spec["cc"] = self.one(*UNKEPT)
        if self.maybe(0.08):
            spec["vary"] = r.choice(self.vary)
        for share, name, values in ((0.3, "etag", ("weak", None)), (0.4, "lm", (50, 1000, 100000)), (0.3, "dated", (50, 3000, 100000)), (0.1, "static", (True,)),
                                    (0.05, "cookie", (True,)), (0.2, "enc", ("iso-8859-1", "windows-1251", "koi8-r", "utf-16")), (0.2, "frame", ("chunked", "close")),
                                    (0.2, "delay", (3, 8)), (0.1, "items", (200, 400)), (0.05, "age", (3, 30)), (0.05, "expires", (-10, 5, 60)), (0.05, "slow", (5, 15))):
            if self.maybe(share):
                spec[name] = r.choice(values)
        return {**spec, **fixed}

    def failure(self):
        return self.one(self.status, self.status, self.status, self.status, self.page, self.page, self.broken, self.broken, self.unasked, self.login)()

    def status(self, *of):
        spec = {"status": self.one(*(of or STATUSES)), "kind": self.one("text", "text", "page"), "items": 2, "cc": self.one(None, None, None, "max-age=60", "no-store")}
        if spec["status"] in (429, 503) and self.maybe(0.6):
            spec["retry"] = self.one(*RETRIES)
        return spec

    def page(self):
        kind = self.one("page", "page", "text", "json", "empty")
        return {"kind": kind, "items": self.one(1, 2, 2, 300), "cc": self.one(None, "max-age=600", "no-store", "private"), "frame": self.one("length", "chunked"),
                "cookie": self.maybe(0.1)} if kind != "empty" else {"kind": kind, "cc": self.one(None, "max-age=600")}

    def broken(self):
        if self.maybe(0.5):
            return {"reply": self.one("hang", "reset", "reset", "garbage")}
        return {"kind": "feed", "frame": self.one("cut", "cutchunk"), "items": self.one(1, 2, 400), "cc": self.one(None, "max-age=60")}

    def unasked(self):
        return {"reply": "unasked", "etag": None}

    def login(self):
        """A redirect to what is no feed: there is a resource for it in each history."""
        return {"status": self.one(301, 302, 302, 307, 308), "to": 2, "kind": "text", "cc": self.one(None, None, "max-age=600", "no-store")}

    def place(self):
        self.resource(self.one({"kind": "page", "items": 2}, self.status(404, 503, 403), self.good()))

    # Themes

    def failing(self):
        for _ in range(2):
            self.resource(self.good(), self.failure(), *([self.failure()] if self.maybe(0.4) else []), self.good())
        self.place()

    def limited(self):
        """Pauses of URLs and hosts."""
        self.edit, self.passes = 0.15, 0.25
        if self.maybe(0.4):
            self.ways.append(self.one("gateway", "steady", "odd1", "forward"))
        for _ in range(2):
            self.resource(*([self.good()] if self.maybe(0.7) else []), self.status(429, 429, 503, 503, 500, 403, 520), self.good())
        self.place()

    def late(self):
        self.edit, self.abort = 0.25, 0.05
        for _ in range(2):
            self.resource(self.good(cc=self.one(None, "max-age=0", "max-age=5")), self.good(delay=self.one(300, 500, 2000)), self.good(delay=self.one(20, 300)), self.failure())
        self.place()

    def led(self):
        """Permanent redirects, and where they lead."""
        self.edit, self.passes = 0.12, 0.2
        self.ways = [self.one("gateway", "steady", "odd4", "odd6", "odd12")]
        said = (None, None, None, "max-age=5", "max-age=600", "no-store", "private", "no-cache")
        def hop(to):
            spec = {"status": self.one(301, 301, 308, 302), "to": to, "kind": "text", "cc": self.one(*said)}
            return {**spec, **self.one({}, {}, {}, {"cookie": True}, {"vary": "*"}, {"vary": "X-User"}, {"expires": 60})}
        self.resource(hop(1), self.good(), hop(2))
        self.resource(self.good(cc=self.one("max-age=0", "max-age=5", "max-age=600", None)), self.one(self.failure(), hop(2), self.good()))
        self.resource(self.good(cc="max-age=5"), self.failure(), origin=self.one(0, 1))

    def gone(self):
        """Errors that name no lifetime, and others."""
        self.passes = 0.08
        for _ in range(2):
            self.resource(self.status(404, 405, 410, 414, 451, 501, 404, 403, 400), self.one(self.good(), self.status(404, 410)))
        self.place()

    def crowd(self):
        self.width, self.abort, self.edit = 8, 0.08, 0.15
        self.resource(self.good(delay=self.one(8, 15)), self.failure(), self.good(), self.one(self.failure(), self.good(delay=15)))
        self.resource(self.failure(), self.good())
        self.place()

    def private(self):
        """Credentials, whose refusals are their client's."""
        self.ways, self.names = [self.one("odd11", "odd11", "gateway")], ["Authorization", "X-User"]
        for _ in range(2):
            self.resource(self.good(cc=self.one("public, max-age=5", "max-age=5", "s-maxage=5, stale-if-error=600")), self.status(401, 402, 403, 404, 503), self.good())
        self.place()

    def any(self):
        self.ways = self.random.sample(["gateway", "steady", "forward", *ODD], 2)
        for _ in range(3):
            self.resource(*(self.one(self.good, self.failure, lambda: self.spec(SHARED + CHECKED + CLOSED))() for _ in range(3)), origin=self.one(0, 0, 0, 1))

    # Operations

    def op(self):
        if self.maybe(self.absent):
            return {"do": "absent", "to": self.random.randrange(len(self.resources)), "ms": self.one(20, 60)}
        op = super().op()
        if op["do"] == "tick":
            op["s"] = self.one(*STEPS)
        return op

    def fields(self):
        return super().fields() if self.maybe(0.5) else [["Cache-Control", self.one(*WISHES)]] if self.maybe(self.wish) else []

    def step(self):
        return [{"do": "pass", "s": self.one(*PASSES)}] if self.maybe(self.passes) else super().step()

    def history(self):
        self.one(self.failing, self.failing, self.failing, self.limited, self.limited, self.late, self.led, self.led, self.gone, self.crowd, self.crowd, self.private, self.any)()
        return {"resources": self.resources, "steps": [self.step() for _ in range(self.random.randint(6, 20))]}


def steady(seed):
    return Steady(seed).history()
