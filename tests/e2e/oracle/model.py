"""What a shared cache may answer, as a table: RFC 9111, RFC 5861, RFC 8246, and what utfeed-cache(7) promises beyond them.

judge(request, answer, world) gives what is wrong with an answer, as [(rule, section, words)]. Pure: records in, words out; must not know
sockets, generators, or how utfeed does it. Invariant: whatever the standards permit passes (no false alarm), by taking every moment that
cannot be known exactly at the end that speaks for the cache.
"""
import gzip
import re

from .policy import HEURISTIC, Policy, Way, alike, directives, policies, seconds
from .promises import asked_again, away, broken_pause, failed, is_pause, loses, may_fail, may_pause, misses, second_probe, told_kept, troubles, waits, wrong_pause
from .records import LATE_MS

NEVER_STORED = {206, 304, 407, 412, 416, 428, 429, 431, 511}
UNSAFE = {"POST", "PUT", "DELETE", "PATCH"}
SERIAL = re.compile(rb"S(\d+)[ <]")       # a slice may end within a number
CREDENTIALS = ("authorization", "cookie")
ALIKE = ("authorization", "cookie", "accept-language", "user-agent", "accept", "x-user", "x-api-key", "from")


class Use:
    """One exchange e under policy p used for request q: what each row of USE asks. a: the answer; last: of a redirect, the exchange that it
    led to."""

    def __init__(self, q, a, e, p, world, last=None):
        self.q, self.a, self.e, self.p, self.world, self.hop, self.last = q, a, e, p, world, bool(last), last or e
        collapsed = a is not None and "collapsed" in a.own_status()
        self.cc = directives(", ".join(q.all("cache-control")))
        if not q.all("cache-control") and any("no-cache" in value for value in q.all("pragma")):
            self.cc = {"no-cache": None}        # section 5.4
        over = (last or e).delivered or (self.came() if e.done and q.sent.ms > e.done.ms + LATE_MS else None)
        # A response that utfeed may not have had whole when the request came may be shared as it arrives (section 4).
        self.joined = not over or over.seq > q.sent.seq or (collapsed and bool(e.done) and q.sent.ms < e.done.ms + LATE_MS)
        self.over = over or self.came() or e.answered
        # A remembered redirect is used when the fetch begins, which may be that of an earlier request (issue 32 part 3).
        fetched = last and not (last.delivered and last.delivered.seq < q.sent.seq)
        self.at, self.fetched = min(q.sent.wall, last.since.wall) if fetched else q.sent.wall, fetched and collapsed

    def came(self):
        """When utfeed may have had e at the latest: the clock may go on between what the origin sends and what a client gets."""
        e, heard = self.e, self.e.known or self.e.heard
        return heard if heard and e.done and e.done.seq < heard.seq and heard.ms < e.done.ms + LATE_MS else e.done

    def taken(self, r):
        """Whether r covers what q asks for, and came behind this use of e. Where what a redirect led to was fetched since then, a redirect on
        the way there may have been remembered, which is another URL's."""
        use = self.e if self.e.url == self.q.url else self.last
        return bool(r.ended) and r.covers(self.q.url) and use.asked.seq < r.sent.seq and r.ended.seq < self.q.sent.seq

    def own(self):
        """q may be the request that e answers: asked for while q waited, with q's fields."""
        q, e = self.q, self.e
        names = self.names(ALIKE)
        if q.way.pauses:        # the first request behind a pause may be without them (utfeed-cache(7) PAUSES)
            names = [name for name in names if name in e.request or name in CREDENTIALS]
        return q.sent.seq < e.asked.seq and (not q.ended or e.asked.seq < q.ended.seq) and not alike(q, e.request, names)

    def names(self, names):
        """Where a redirect led to another origin: without those that stay on the first one; without the cookie, where a redirect set it."""
        foreign = self.e.url.split("/")[2] != self.q.url.split("/")[2]
        return [name for name in names if not (foreign and name in self.q.way.private) and not (name == "cookie" and self.jar())]

    def jar(self):
        """The cookie is what a redirect set while q waited: it goes along for one fetch (utfeed-operating(7) WAYS IN)."""
        q, e = self.q, self.e
        return q.way.follows and "cookie" in e.request and any(
            x.location and x.fields.get("set-cookie") == e.request["cookie"] and q.sent.seq < x.asked.seq < e.asked.seq
            for x in self.world.exchanges.values())

    def age(self):
        """At least so old, in seconds; one that the origin was still answering when the judge asked has no age yet."""
        since = self.over.wall if self.over else self.q.sent.wall
        return max(0, self.at - since - self.world.skew) + int(self.e.fields.get("age", 0))

    def staleness(self):
        """At least so many seconds past its lifetime; negative: fresh. A soft purge ends the lifetime (utfeed-cache(7) PURGING)."""
        lifetime, past = self.p.lifetime(self.q.way, self.hop), self.age()
        for r in self.world.removals:
            if r.soft and self.taken(r):
                lifetime = min(lifetime, max(0, r.ended.wall - self.e.asked.wall) + int(self.e.fields.get("age", 0)))
        return past - lifetime

    def confirmed(self):
        """At least so long ago, in seconds, the origin said so."""
        return max(0, self.q.sent.wall - (self.over or self.q.sent).wall - self.world.skew)

    def kept(self):
        """The last good feed answers while its origin fails, and says so (issue 32 parts 1 and 4)."""
        keep_s, (told, status) = self.p.keeps(self.q.way), told_kept(self.a)
        since = self.confirmed() if self.p.no_cache else min(self.confirmed(), self.staleness())
        return told and (self.hop or self.p.feed) and since < keep_s and status in may_fail(self.q, self.world)

    def spared(self):
        """RFC 5861 section 4: an error is worse than what is stale."""
        wish = 0 if self.p.no_stale else seconds(self.cc, "stale-if-error") or 0
        return self.staleness() < max(self.p.window("stale-if-error", self.q.way.stale_s), wish) and self.errs()

    def errs(self):
        """The origin failed while q waited, or had asked for a pause."""
        if away(self.q, self.world) or may_pause(self.q, self.world):
            return True
        for x in self.world.exchanges.values() if self.q.way.follows else self.world.at(self.q.url):
            if (x.fails or (x.status == 304 and x.trouble)) and x.asked.seq < self.q.ended.seq and (not x.delivered or x.delivered.seq > self.q.sent.seq):
                return True
            if x.status in (429, 503) and "retry-after" in x.fields and x.answered and \
                    self.q.sent.ms < x.answered.ms + x.fields["retry-after"] * 1000 + LATE_MS:
                return True
        return False


# Each row: for whom alone the response is when it holds (section 3): nobody but the request that it answers.
SINGLE = (
    ("unsafe", "RFC 9111 4", lambda u: u.e.method in UNSAFE),
    ("no-store", "RFC 9111 5.2.2.5", lambda u: "no-store" in u.p.cc and "must-understand" not in u.p.cc),
    ("private", "RFC 9111 5.2.2.7", lambda u: "private" in u.p.cc),
    ("vary-all", "RFC 9111 4.1", lambda u: "*" in u.p.vary),
    ("request-no-store", "RFC 9111 5.2.1.5", lambda u: "no-store" in directives(u.e.request.get("cache-control"))),
    ("authorization", "RFC 9111 3.5", lambda u: "authorization" in u.e.request and not {"public", "s-maxage", "must-revalidate"} & set(u.p.cc)),
    ("cookie", "utfeed-cache(7) CACHE RULES", lambda u: "cookie" in u.e.request),
    ("cookie-asks", "utfeed-cache(7) CACHE RULES", lambda u: "cookie" in u.q.forwarded),
    ("set-cookie", "utfeed-cache(7) CACHE RULES", lambda u: "set-cookie" in u.p.fields and "public" not in u.p.cc and not u.p.named() and not u.hop and
     u.e.status != 304 and not u.q.way.drops_own),
    ("status", "RFC 9111 3", lambda u: u.e.status in NEVER_STORED - {304, 206}),
    # what an origin that fails says, all who wait for it may hear (utfeed-cache(7) CACHE RULES)
    ("no-lifetime", "RFC 9111 3", lambda u: not (u.joined and u.e.status >= 500) and u.p.named() is None and "public" not in u.p.cc and u.p.status not in HEURISTIC and not u.hop),
)


def single(u):
    for name, section, holds in SINGLE:
        if holds(u):
            if not u.own():
                return name, section, f"exchange {u.e.n} is for its own request alone, and another one got it"
            if not u.hop and u.e.used_by - {u.q.n}:
                return name, section, f"exchange {u.e.n} is for its own request alone, and {sorted(u.e.used_by | {u.q.n})} got it"
    return None


def selected(u):
    name = alike(u.q, u.e.request, u.names(u.p.vary))
    if name and u.own() and not u.e.used_by - {u.q.n} and name not in u.e.request:
        return None             # the first request behind a pause (utfeed-cache(7) PAUSES)
    if name and u.e.status == 304 and "vary" not in u.e.fields:         # it may say of the stored one's request what that one's Vary says
        made = u.world.exchanges[u.e.representation.n] if u.e.representation else None
        name = None if not made or not alike(u.q, made.request, u.names(u.p.vary)) else name
    return name and f"Vary names {name}: {u.q.forwarded.get(name)!r} gets what {u.e.request.get(name)!r} was answered"


def keyed(u):
    name = alike(u.q, u.e.request, u.names(u.q.way.keyed))
    return name and f"{name} {u.q.forwarded.get(name)!r} gets what {u.e.request.get(name)!r} was answered: no key holds it"


def removed(u):
    for r in u.world.removals:
        if not r.soft and u.taken(r) and r.counts(u.q, u.world):
            return f"exchange {u.e.n} of moment {u.e.asked.seq} was taken away at {r.ended.seq}, before the request of {u.q.sent.seq}"
    return None


def validated(u):
    return u.p.no_cache and not u.joined and not u.kept() and f"exchange {u.e.n} says no-cache, and nobody asked again"


def wished(u):
    if u.joined or u.fetched or u.q.way.calm or u.confirmed() < u.q.way.reload_floor_s or u.kept():      # issue 32 part 5
        return None
    if "no-cache" in u.cc:
        return f"the client said no-cache, exchange {u.e.n} was over by then"
    if u.hop:
        return None             # how old a redirect may be its own lifetime says
    wanted = seconds(u.cc, "max-age")
    if wanted is not None and u.age() > wanted and not u.spared() and not ("immutable" in u.p.cc and u.staleness() < 0):      # RFC 8246 section 2
        return f"{u.age()} s old, the client said max-age={wanted}"
    wanted = seconds(u.cc, "min-fresh")
    return wanted is not None and not u.spared() and -u.staleness() < wanted and f"fresh for {-u.staleness()} s, the client said min-fresh={wanted}"


def fresh(u):
    past = u.staleness()
    if u.joined or past < 0:
        return None
    takes = u.cc.get("max-stale", "0") or str(1 << 31)
    if not u.p.no_stale and "max-stale" in u.cc and past <= int(takes):
        return None
    if past < u.p.window("stale-while-revalidate", 0):
        return None
    if u.spared() or u.kept():
        return None
    return f"exchange {u.e.n} has been stale for {past} s (lifetime {u.p.lifetime(u.q.way, u.hop)})"


USE = (
    ("selected", "RFC 9111 4.1", selected),
    ("keyed", "RFC 9111 7.1", keyed),
    ("removed", "RFC 9111 4.4, utfeed-cache(7) PURGING", removed),
    ("no-cache", "RFC 9111 5.2.2.4", validated),
    ("wished", "RFC 9111 5.2.1", wished),
    ("fresh", "RFC 9111 4.2.4, RFC 5861", fresh),
)


def misuse(q, a, e, world, last=None):
    """What is wrong with using e for q; None: nothing, under one of the policies it may have."""
    wrong = None
    for p in policies(e, world):
        u = Use(q, a, e, p, world, last)
        wrong = single(u)
        for name, section, check in () if wrong else USE:
            words = check(u)
            if words:
                wrong = name, section, words
                break
        if not wrong:
            return None
    return wrong


def chain(q, a, e, world, url=None, seen=()):
    """Whether redirects that may be used for q lead from its URL to e's; None: they do (section 4: each hop is a response of its own)."""
    url, wrong = url or q.url, ("url", "RFC 9111 4", f"a response of {e.url} for {q.url}")
    if url == e.url:
        return None
    for hop in world.at(url):
        if hop.location and hop.location not in seen and hop.asked.seq < e.asked.seq:
            bad = misuse(q, a, hop, world, last=e) or chain(q, a, e, world, hop.location, (*seen, url))
            if not bad:
                return None
            wrong = (f"hop-{bad[0]}" if not bad[0].startswith("hop-") and bad[0] != "url" else bad[0], bad[1], bad[2])
    return wrong


def describes(e, r):
    """Whether exchange e says that body r is what its URL holds."""
    if e.status != 304:
        return e.representation is r
    return r.url == e.url and r.version == e.version and (e.representation is None or e.representation is r)


def body_of(a):
    return gzip.decompress(a.body) if a.get("content-encoding") == "gzip" else a.body


def part(a, whole):
    """What Content-Range says of whole; None: it says nothing that could be."""
    match = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", a.get("content-range") or "")
    if not match or int(match[3]) != len(whole):
        return None
    return whole[int(match[1]):int(match[2]) + 1]


def bodies(number, e, world):
    """What the body may be: what its number says; without one, as a slice of UTF-16 may be, what its head names, or after a 304 by date any of
    that URL and version."""
    if number is not None:
        return [world.representations.get(number)]
    return [e.representation] if e.representation else [r for r in world.representations.values() if describes(e, r)] or [None]


def wrong_bytes(a, body, e, r):
    if not r or not describes(e, r):
        return f"body {r and r.n} of {r and r.url}, its head is of exchange {e.n} ({e.status}) of {e.url}"
    if a.status == 206:
        return None if body in (part(a, r.raw), part(a, r.normal)) else f"bytes of {r.n} are not those that Content-Range says"
    return None if body in (r.raw, r.normal) else f"{len(body)} bytes, {r.n} has {len(r.raw)} or {len(r.normal)}"


def wrong_body(q, a, e, world):
    """Every byte of a complete answer, against what its number says it is."""
    if a.cut or q.method != "GET" or a.status not in (200, 206):
        return None
    try:
        body = body_of(a)
    except (OSError, EOFError):
        return "its gzip form is broken"
    numbers = set(SERIAL.findall(body.replace(b"\0", b"")))      # UTF-16 as it came, say
    if len(numbers) > 1:
        return f"mixed of {sorted(numbers)}"
    wrongs = [wrong_bytes(a, body, e, r) for r in bodies(int(numbers.pop()) if numbers else None, e, world)]
    return None if None in wrongs else wrongs[0]


def wrong_age(q, a, e, world):
    """Section 5.1: told with all that is not first-hand, and true. What asking took counts (section 4.2.3)."""
    told, initial = a.get("age"), int(e.fields.get("age", 0))
    over = e.delivered
    joined = "collapsed" in a.own_status() and e.done and q.sent.ms < e.done.ms + LATE_MS
    low = max(0, min(q.sent.wall, q.ended.wall) - over.wall - world.skew) + initial if over and over.seq < q.sent.seq and not joined else 0
    if told is None:
        return low > initial and f"no Age, it is {low} s old"
    took = (q.ended.ms - e.since.ms) // 1000 + 1        # by a clock that the mocked one is not
    high = max(0, max(q.sent.wall, q.ended.wall) - e.since.wall) + took + initial + world.skew
    return not low <= int(told) <= high and f"Age {told}, it is {low} to {high} s old"


def wrong_cookie(q, a, e, value, world):
    """Section 7.3, utfeed-cache(7) CACHE RULES: the exchange's own, to the client alone that asked for it."""
    if q.way.drops_own:
        return "cookie-dropped", "utfeed-cache(7) CACHE RULES", f"{value} by a way that gives it to nobody"
    if e.fields.get("set-cookie") != value:
        return "cookie-of-another", "RFC 9111 7.3", f"{value}, and exchange {e.n} said {e.fields.get('set-cookie')}"
    if "collapsed" in a.own_status():
        return "cookie-joined", "RFC 9111 7.3", f"{value}: a joined response with Set-Cookie"
    if not Use(q, a, e, Policy(e.status, e.fields), world).own():
        return "cookie-of-another", "RFC 9111 7.3", f"{value} of exchange {e.n} to another"
    return None


def wrong_head(q, a, e, world):
    for name, value in a.fields:
        if name == "x-hop":
            return "hop-by-hop", "RFC 9111 3.1", f"a field that Connection named: {value}"
        if name == "x-url" and value != e.url:
            return "head", "RFC 9111 4", f"a head of {value}, exchange {e.n} is of {e.url}"
        if name == "set-cookie":
            wrong = wrong_cookie(q, a, e, value, world)
            if wrong:
                return wrong
    return None


def mistold(q, a, e, world):
    """What caches behind must know: the lifetime and the Vary that the exchange gave the response (sections 3.2 and 4.1)."""
    if e.url != q.url or a.status in (304, 412, 416):
        return None
    told = {name.strip().lower() for value in a.all("vary") for name in value.split(",")}
    if not any(a.get("cache-control") == p.fields.get("cache-control") and set(p.vary) <= told for p in policies(e, world)):
        return f"Cache-Control {a.get('cache-control')}, Vary {sorted(told)}; exchange {e.n} says {e.fields}"
    return not (a.get("x-encoding-rule") or "none").startswith("none") and not told & {"accept-encoding", "*"} and "a feed without Vary: Accept-Encoding"


def own_words(q, a, world):
    """An answer of utfeed's own holds nothing of any origin's."""
    if a.all("set-cookie") or SERIAL.search(a.body) or a.get("x-url"):
        return [("own-words", "utfeed-operating(7) HEADER FIELDS", f"an answer of utfeed's own with {a.fields} {a.body[:80]}")]
    if a.status < 300 and q.method != "PURGE":
        return [("own-words", "utfeed-operating(7) HEADER FIELDS", f"{a.status}, and no exchange says so")]
    failed(q, a, world)
    wrongs = [("loses", "issue 32 part 1", loses(q, a, None, world)), ("pause", "issue 32 part 2", is_pause(a) and wrong_pause(q, a, world))]
    return [wrong for wrong in wrongs if wrong[2]]


# Each row: for what an origin must not be asked.
ASKING = (
    ("asked", "issue 32 part 2", broken_pause),
    ("second-probe", "issue 32 part 2", second_probe),
    ("moved", "issue 32 part 3", asked_again),
)


def judge_asking(x, world):
    """Of exchange x, which has just reached its origin: what is wrong with asking for it now."""
    wrongs = [(name, section, check(x, world)) for name, section, check in ASKING]
    return [wrong for wrong in wrongs if wrong[2]]


def judge_unchanged(q, a, world):
    """A 304 made of a stored response names it by its ETag, or by Last-Modified alone."""
    words = unasked(q, a, None, None)
    if words:
        return [("conditional", "RFC 9110 15.4.5", words)]
    tag = re.search(r'"e(\d+)', a.get("etag") or "")
    if not tag:
        return []
    r = world.representations.get(int(tag[1]))
    made = [e for e in world.exchanges.values() if r and e.answered and describes(e, r)]
    wrongs = [misuse(q, a, e, world) or chain(q, a, e, world) for e in made]
    for e in made:
        e.heard = e.heard or (q.ended if q.sent.seq < e.asked.seq else None)
    return [] if None in wrongs or not r else wrongs[:1]


def note(q, a, e, world):
    """Remembers who got e, for what may be used once, and what was stored. What holds no body may leave before e is over."""
    e.used_by.add(q.n)
    e.known = e.known or q.ended
    met = [x for x in troubles(q, world) if x.status == told_kept(a)[1]] if told_kept(a)[0] else []
    if len(met) == 1:
        met[0].known, met[0].paused = met[0].known or q.ended, True
    if {"hit", "stored"} & set(a.own_status()) and not a.cut and a.status == 200 and q.method == "GET":
        world.answers[q.url].append((q, e))
    if not a.cut and q.method == "GET" and a.status not in (304, 412, 416) and (e.delivered is None or e.delivered.seq > q.ended.seq):
        e.delivered = q.ended


def varies(e, follows, world):
    """The fields that selected e's response: those of the redirects that led to it count."""
    names, seen = set(), set()
    while e and e.n not in seen:
        seen.add(e.n)
        names |= {name.strip().lower() for name in e.fields.get("vary", "").split(",")} - {""}
        hops = [x for x in world.exchanges.values() if follows and x.location == e.url and x.asked.seq < e.asked.seq]
        e = max(hops, key=lambda x: x.asked.seq, default=None)
    return names


def purged_meanwhile(x, ended, url, world):
    """What is on its way while its URL is purged, softly too, is not stored, whatever its head said before. It is on its way as soon as a
    client wants it: the origin may hear of that only behind the purge."""
    return any(r.covers(url) and x.since.seq < (r.ended or ended).seq and r.sent.seq < ended.seq for r in world.removals)


def older(q, a, e, world):
    """Section 4: of two responses stored the most recent one. Once a client got a newer one from the store, nobody alike gets the older.
    Where the two vary by different fields, the newer may have lost its place to a third since. Of several utfeeds each has a memory of its own."""
    for before, x in world.answers[q.url] if a.status == 200 and q.method == "GET" and not world.shared else ():
        ended = before.ended
        if ended.seq < q.sent.seq and q.same_lines(before) and e.delivered and x.asked.seq > e.delivered.seq and \
                x.version != e.version and not purged_meanwhile(x, ended, q.url, world) and varies(x, q.way.follows, world) == varies(e, q.way.follows, world):
            return f"exchange {x.n} was stored and told at {ended.seq}, and now the older exchange {e.n}"
    return None


def unasked(q, a, _, __):
    return a.status == 304 and not q.all("if-none-match") and not q.all("if-modified-since") and "a 304 that nobody asked for"


def other_etag(_, a, e, __):
    tag = e.fields.get("etag", "W/")
    return e.status == 304 and a.status != 304 and tag.startswith('"') and e.representation and tag != f'"e{e.representation.n}"' and \
        f"exchange {e.n} names {tag}, the stored one was {e.representation.n}"


def miskept(q, a, e, world):
    return told_kept(a)[0] and not any(Use(q, a, e, p, world).kept() for p in policies(e, world)) and \
        f"a kept feed: exchange {e.n}, keep {[p.keeps(q.way) for p in policies(e, world)]} s, failures {may_fail(q, world)}"


# Each row: what must not be wrong with a complete answer made of an exchange, whoever it is for.
ANSWER = (
    ("conditional", "RFC 9110 15.4.5", unasked),
    ("other-etag", "RFC 9111 4.3.4", other_etag),
    ("body", "RFC 9111 3.3, 3.4", wrong_body),
    ("older", "RFC 9111 4", older),
    ("told", "RFC 9111 3.2, 4.1", mistold),
    ("age", "RFC 9111 5.1", wrong_age),
    ("kept", "issue 32 parts 1 and 4", miskept),
    ("loses", "issue 32 part 1", loses),
    ("waits", "issue 32 part 4", waits),
    ("misses", "issue 32 part 4", misses),
)


def reached(q, a, e, world):
    if q.way.follows:
        return chain(q, a, e, world)
    return None if e.url == q.url else ("url", "RFC 9111 4", f"a response of {e.url} for {q.url}")


def judge_exchange(q, a, e, world):
    """Of an answer that exchange e gave its head."""
    wrongs = [misuse(q, a, e, world), reached(q, a, e, world), wrong_head(q, a, e, world)]
    for name, section, check in ANSWER:
        words = check(q, a, e, world)
        wrongs.append(words and (name, section, words))
    note(q, a, e, world)
    return [wrong for wrong in wrongs if wrong]


def judge(q, a, world):
    """[(rule, section, words)]: empty where this client may have this answer now."""
    if a.malformed:
        return [("framing", "RFC 9112 6, RFC 9113 8", a.malformed)]
    serials = a.all("x-serial")
    if not serials:
        return judge_unchanged(q, a, world) if a.status == 304 else own_words(q, a, world)
    if len(serials) > 1:
        return [("head", "RFC 9111 3.2", f"heads mixed: {serials}")]
    e = world.exchanges.get(int(serials[0]))
    return judge_exchange(q, a, e, world) if e else [("known", "RFC 9111 4", f"no exchange {serials[0]}")]
