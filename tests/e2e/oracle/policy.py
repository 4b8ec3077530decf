"""What a response says of who may have it and for how long, and what the operator of a way in promised: RFC 9111 sections 4 and 5.2, and the
options of utfeed that change them (issue 32).

Must not know: judgements. Invariant: pure; where a time cannot be known exactly, the one that speaks for the cache is taken.
"""
import re

HEURISTIC = {200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 451, 501}       # RFC 9110 section 15.1
PREFERENCES = {"accept", "accept-language", "accept-charset"}
FLOORED = {404, 405, 410, 414, 451, 501}        # issue 32 part 3
ERROR_MAX_S, HEURISTIC_MAX_S, ADAPTIVE_MAX_S = 60, 86400, 3600


class Way:
    """A way in, and what its operator promised: which fields are keyed, and the options of utfeed that add to RFC 9111, times in seconds."""

    PROMISES = {
        "floor_s": 0,               # freshness-floor
        "stale_s": 0,               # stale-if-error
        "keyed": (),                # fields of the request that stand in the key
        "private": (),              # fields of the request that stay on the first origin
        "follows": False,           # follow-redirects
        "drops_own": False,         # Set-Cookie is given to nobody
        "calm": False,              # client-no-cache = off
        "keep_s": 0,                # keep-feed
        "error_floor_s": 0,
        "slow_ms": 0,               # slow-after
        "reload_floor_s": 0,
        "max_s": 0,                 # freshness-max
        "adaptive": False,
        "pauses": False,            # pause
        "moved_s": 0,               # moved
    }

    def __init__(self, name, **promises):
        self.name = name
        self.__dict__.update({**self.PROMISES, **promises})


def directives(value):
    """{"max-age": "60", "no-cache": None}; of two alike the first counts."""
    found = {}
    for name, argument in re.findall(r'([!#$%&\'*+.^_`|~\w-]+)(?:="?([^",]*)"?)?', value or ""):
        found.setdefault(name.lower(), argument or None)
    return found


def seconds(cc, name):
    """None: not there. What is no number is a time that is over (section 4.2.1)."""
    if name not in cc:
        return None
    return min(int(cc[name]), 1 << 31) if (cc[name] or "").isdigit() else 0


class Policy:
    """The fields of a response that say who may have it and how long: its own, or of a 304 those that it leaves as they were."""

    def __init__(self, status, fields, body=None, first=None):
        """body: the representation, where it is known; first: when it was first seen, by utfeed's clock."""
        self.status, self.fields, self.first = status, fields, first
        self.feed = not body or body.feed
        self.targeted = "cdn-cache-control" in fields
        self.cc = directives(fields["cdn-cache-control" if self.targeted else "cache-control"]) if self.targeted or \
            "cache-control" in fields else {}
        self.vary = sorted({name.strip().lower() for name in fields.get("vary", "").split(",")} - {"", "accept-encoding"})
        self.no_cache = "no-cache" in self.cc
        self.revalidates = "must-revalidate" in self.cc or "proxy-revalidate" in self.cc
        self.no_stale = self.revalidates or self.no_cache or "s-maxage" in self.cc

    def named(self):
        """The lifetime that the response names; None: none (section 4.2.1)."""
        for name in ("s-maxage", "max-age"):
            if name in self.cc:
                return seconds(self.cc, name)
        return None if self.targeted or "expires" not in self.fields else max(0, self.fields["expires"] - self.fields["date"])

    def changed(self, way):
        """When the response last changed, as long ago as can be told: Last-Modified, its newest item, or since when it has been the same (issue
        32 part 6). None: nothing tells."""
        told = [self.fields["last-modified"]] if "last-modified" in self.fields else []
        if way.adaptive and self.feed:
            told += [at for at in (self.fields.get("newest"), self.first) if at is not None]
        return min(told, default=None)

    def chosen(self, way, hop):
        """The lifetime of a response that names none."""
        named, status, changed = 0, self.status, self.changed(way)
        if (status in HEURISTIC or "public" in self.cc) and changed is not None:
            most = ADAPTIVE_MAX_S if way.adaptive and self.feed and status == 200 else HEURISTIC_MAX_S
            named = min(max(0, self.fields["date"] - changed) // 10, most)        # section 4.2.2
        if (status == 200 and self.feed) or 300 <= status < 400:        # what is no feed gets no floor (issue 32 part 6)
            named = max(named, way.floor_s)
        if hop and status in (301, 308) and "set-cookie" not in self.fields:        # remembered (issue 32 part 3)
            named = max(named, way.moved_s + int(self.fields.get("age", 0)))
        return named

    def lifetime(self, way, hop=False):
        named, status = self.named(), self.status
        lifetime = self.chosen(way, hop) if named is None else named
        if status >= 400:
            lifetime = min(lifetime, ERROR_MAX_S)
        if named is None and status in FLOORED:
            lifetime = max(lifetime, way.error_floor_s)
        return min(lifetime, way.max_s + int(self.fields.get("age", 0)) + 1) if way.max_s and not hop else lifetime

    def keeps(self, way):
        """How long after its lifetime a feed answers while its origin fails (issue 32 part 1)."""
        if not way.keep_s or not self.no_stale:
            return way.keep_s
        return seconds(self.cc, "stale-if-error") or 0

    def window(self, name, ours):
        """RFC 5861; after no-cache and must-revalidate there is none."""
        if self.no_cache or self.revalidates:
            return 0
        told = seconds(self.cc, name)
        return told if told is not None else 0 if "s-maxage" in self.cc or self.status >= 400 else ours


def policy(fields, status, made, world):
    first = world.exchanges[made.n].asked.wall if made and made.n in world.exchanges else None
    return Policy(status, fields, made, first)


def policies(e, world):
    """As e left them. What a 304 does not say stays as any former exchange of that representation said it (section 3.2)."""
    if e.status != 304:
        return [policy(e.fields, e.status, e.representation, world)]
    former = [x for x in world.at(e.url) if x.n < e.n and x.status == 200 and x.version == e.version]
    merged = {}
    for x in former:
        fields = {**x.fields, **{name: value for name, value in e.fields.items() if name != "set-cookie"}}
        fields.pop("set-cookie", None)
        if "set-cookie" in e.fields:
            fields["set-cookie"] = e.fields["set-cookie"]
        made = e.representation or x.representation
        merged[str((sorted(fields.items(), key=str), made and made.n))] = policy(fields, 200, made, world)
    return list(merged.values()) or [policy(e.fields, 200, e.representation, world)]


def normal(name, value):
    """A field's value as section 4.1 lets it be compared; None: absent, which is unlike empty."""
    if value is None:
        return None
    members = [member.strip() for member in value.split(",")]
    return ",".join("".join(member.lower().split()) if name in PREFERENCES else member for member in members)


def alike(q, request, names):
    """The first of names in which what would be sent for q differs from request; None: none does."""
    return next((name for name in names if normal(name, q.forwarded.get(name)) != normal(name, request.get(name))), None)
