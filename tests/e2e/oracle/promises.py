"""What utfeed promises beyond RFC 9111 while origins fail (issue 32 parts 1, 2 and 4): kept feeds, pauses, slow origins.

Must not know: sockets, generators, how utfeed does it. Invariant: may_...() is true of all that can be right, surely_...() only of what is
right beyond doubt; a rule forbids what not even may_...() allows, and demands what surely_...() says.
"""
import re

from .policy import directives, policies
from .records import LATE_MS, host_of

FIRST_S, OWN_MAX_S, ASKED_MAX_S, PROBE_S = 30, 3600, 86400, 30        # the longest pauses: that nobody asked for, that an origin asked for
JITTER = 0.75
SNIFF = 4096            # sniff-bytes
SLACK_MS = 1500         # what a loaded machine takes
STARVED = 4             # a machine so busy that the oracle was late is busier with utfeed's workers
FETCH_MS = 10_000       # first-byte-timeout of ways.py: so long a fetch goes on without its client


def reached(q, world):
    """The URLs that redirects have led to from q's, itself first."""
    found, left = [q.url], [q.url]
    while left and q.way.follows:
        for x in world.at(left.pop()):
            if x.location and x.location not in found:
                found.append(x.location)
                left.append(x.location)
    return found


def circles(q, world):
    """The redirects that have led back to where q has been, which is a failure without a status."""
    urls = reached(q, world)
    return [x for n, url in enumerate(urls) for x in world.at(url) if x.location in urls[:n + 1] and x.asked.seq < q.ended.seq]


def meets(world, url):
    """The exchanges of a URL that failed, in order."""
    return [x for x in world.at(url) if x.trouble]


# Pauses

def doubled_s(n):
    """The longest pause after n failures in a row."""
    return min(FIRST_S << max(0, min(n - 1, 7)), OWN_MAX_S)


class Pause:
    """A pause that may last until then, in the ms of moments. status: what the origin said, 0: nothing that is an error; told: what fwd-status
    may say of it."""

    def __init__(self, status, came, seconds, told=()):
        self.status, self.told, self.until = status if status >= 400 else 0, {None, *told}, came.ms + seconds * 1000 + SLACK_MS


def asked_s(x):
    """How long a pause x asks for, in seconds."""
    return min(x.asks, ASKED_MAX_S) if x.asks and x.status in (429, 503) else 0


def of_exchange(x, most):
    """The pause that x may begin: where nobody asked for one, of so many seconds at most."""
    asked = asked_s(x)
    return Pause(x.status if x.complete else 0, x.done or x.answered or x.asked, asked or most, {x.status or None})


def had(x, moment):
    """Whether utfeed surely had x by then."""
    return bool(x.known and x.known.seq < moment.seq or x.done and x.done.ms + LATE_MS < moment.ms)


def ended(x, q, world):
    """PURGEs have ended what x began (issue 32 part 2), of its URL and of the one that q asks for: behind a redirect both are paused. What came
    while a PURGE did may begin one behind it. Of several utfeeds each learns of a pause a little later."""
    return not world.shared and all(any(
        r.ended and r.settles and r.covers(url) and had(x, r.sent) and r.ended.seq < q.sent.seq for r in world.removals) for url in (x.url, q.url))


def holds(x, q, world):
    return x.asked.seq > world.begun and x.asked.seq < q.ended.seq and not ended(x, q, world)


def is_busy(x, world):
    """A 503 that asks for a pause counts for its host once a second URL of it says the same. Of two that are under way at once either may
    have come to utfeed first: only what was asked for when a client had heard of x is surely the second."""
    return x.status == 503 and x.asks and any(
        y.status == 503 and y.asks and y.url != x.url and host_of(y.url) == host_of(x.url) and not (x.known and x.known.seq < y.asked.seq)
        for y in world.exchanges.values())


def for_host(x, world):
    return x.status == 429 or is_busy(x, world)


def begins(x):
    """x may begin a pause. What was given to a client because no feed was kept does so for few statuses."""
    return x.trouble and not x.refuses() and (x.status in (0, 403, 429) or x.status >= 500 or not x.complete or not x.used_by)


def has_credentials(fields):
    """A Cookie is that of a redirect here."""
    return "authorization" in fields


def pauses_first(x, q, world):
    """Whether a fetch that began at q's URL, and that redirects led on, may have met x, or the pause that x began: then that URL has a pause
    too, which ends by a feed there alone."""
    return any(r is not q and r.url == q.url and r.way is q.way and r.sent.seq >= x.since.seq for r in world.requests) or any(
        m.location and m.asked.seq > x.since.seq for m in world.at(q.url))


def led_well(x, q, world):
    """Since then a client that asked for q's URL got a feed that was asked for behind x."""
    return any(y.asked.seq > x.known.seq and gives_feed(y) and before.way is q.way and before.ended.seq < q.sent.seq for before, y in world.answers[q.url])


def is_over(x, q, urls, world):
    """What was asked behind what x began has come well: the pause is over, and was told so. Pauses of a URL with credentials and without are two."""
    host = x.status == 429 or x.url not in urls
    if x.known and len(urls) > 1 and pauses_first(x, q, world) and not led_well(x, q, world):
        return False
    return x.known and not world.shared and any(
        y.since.seq > x.known.seq and y.way and y.way.pauses and y.method == "GET" and y.known and y.known.seq < q.sent.seq and (
            host_of(y.url) == host_of(x.url) and y.complete and y.status not in (403, 429) and y.status < 500 if host else
            y.url == x.url and y.way is x.way and has_credentials(y.request) == has_credentials(x.request) and gives_feed(y))
        for y in world.exchanges.values())


def keeps_from(x, q, urls, world):
    """Whether x, a failure, may keep q from asking."""
    if x.url in urls and (x.way is q.way or not x.way) and (has_credentials(q.forwarded) or not has_credentials(x.request)):
        return True
    return for_host(x, world) and host_of(x.url) in {host_of(url) for url in urls}


def may_pause(q, world, late=False):
    """The pauses that may keep q from its origin. late: also those that are over, and that no success has ended."""
    if not q.way.pauses:
        return []
    urls, found = reached(q, world), []
    hosts = {host_of(url) for url in urls}
    most = doubled_s(sum(x.trouble for x in world.exchanges.values()) + len(world.absences) + len(world.failures) + len(circles(q, world)))
    for x in world.exchanges.values():
        if begins(x) and holds(x, q, world) and keeps_from(x, q, urls, world) and not is_over(x, q, urls, world):
            found.append(of_exchange(x, most))
    for absence in world.absences:
        until = absence.until or q.ended
        if absence.host in hosts and until.seq > world.begun:
            found.append(Pause(0, until, most))
    found += [Pause(0, at, most) for url, at in world.failures if url in urls and at.seq > world.begun]
    found += [Pause(0, x.done or x.asked, most) for x in circles(q, world) if holds(x, q, world)]
    return [pause for pause in found if late or q.sent.ms < pause.until or probed(q, hosts, world)]


def probed(q, hosts, world):
    """Somebody else asks, who may be the first behind a pause, also where redirects lead: it is not known yet what comes of it."""
    return any(other is not q and other.way.pauses and not (other.ended and other.ended.ms + SLACK_MS < q.sent.ms) and
               any(host_of(url) in hosts for url in reached(other, world)) for other in world.requests) or any(
        y.asked.seq < q.ended.seq and not (y.done and y.done.ms + SLACK_MS < q.sent.ms) for y in world.exchanges.values() if host_of(y.url) in hosts)


def began_for_sure(p, x, world):
    """Whether the answer p began a pause that holds for exchange x: one that utfeed knows of, and that no PURGE can have ended."""
    if p.method != "GET" or not p.complete or not p.answered or p.refuses() or not p.known or p.known.seq > x.since.seq or p.asked.seq < world.begun or \
            not (p.way and p.way.pauses) or any(
            (r.covers(p.url) or p.status == 429) and p.asked.seq < (r.ended or x.asked).seq for r in world.removals):
        return False
    return holds_for(p, x) and (p.status in (403, 429) or p.status >= 500 or (p.paused and p.status != 304))


def holds_for(p, x):
    """Whether a pause that p began holds for x."""
    if p.status == 429:
        return host_of(p.url) == host_of(x.url)
    return p.url == x.url and p.way is x.way and has_credentials(p.request) == has_credentials(x.request)


def seconds_for_sure(p):
    return asked_s(p) or FIRST_S * JITTER


def pauses_for_sure(x, world):
    if world.shared or x.method != "GET" or not x.way or not x.way.pauses:
        return []
    return [p for p in world.exchanges.values() if p.n < x.n and began_for_sure(p, x, world)]


def broken_pause(x, world):
    """Exchange x has just reached its origin: the pause that forbade that."""
    for p in pauses_for_sure(x, world):
        if x.asked.ms < p.answered.ms + seconds_for_sure(p) * 1000 - 100:
            return f"in the pause of {seconds_for_sure(p):.0f} s at least that exchange {p.n} began"
    return None


def second_probe(x, world):
    """Behind a pause one asks, and the others wait for what comes of it."""
    for p in pauses_for_sure(x, world):
        behind = [y for y in world.exchanges.values() if p.n < y.n <= x.n and y.method == "GET" and holds_for(p, y)]
        first = behind[0]
        if first is not x and first.way and first.way.pauses and not first.answered and not first.done and x.asked.ms < first.asked.ms + PROBE_S * 1000 and \
                not any(r.left and r.left.seq > p.asked.seq for r in world.requests):
            return f"while exchange {first.n}, the first behind the pause that exchange {p.n} began, has no answer"
    return None


# Remembered redirects

def asked_again(x, world):
    """Exchange x asks for a redirect that is permanent and remembered (issue 32 part 3)."""
    way = x.way
    if world.shared or x.method != "GET" or not way or not way.moved_s or {"authorization", "cookie"} & set(x.request):
        return None
    for m in world.at(x.url):
        if m.n >= x.n or m.way is not way or m.status not in (301, 308) or m.method != "GET" or not m.location or m.asked.seq < world.begun or \
                set(m.fields) - {"x-serial", "x-url", "date", "content-type", "location"} or m.request != x.request:
            continue
        ended = [y for y in world.exchanges.values() if y.n > m.n and y.url == m.location]
        if not ended or not all(y.known and y.status == 200 and gives_feed(y) for y in ended) or not m.done or m.done.seq > x.since.seq or \
                any(y.n > m.n and y is not x and y.status != m.status for y in world.at(m.url)):
            continue
        if any(r.covers(m.url) and m.asked.seq < (r.ended or x.asked).seq for r in world.removals) or purged_while_learnt(m, ended, world) or \
                any(r.left or reloads(r) for r in world.requests) or world.reloaded > m.asked.seq:
            continue
        if x.asked.wall - m.asked.wall < way.moved_s and x.asked.ms - m.asked.ms < way.moved_s * 1000:
            return f"which exchange {m.n} said has moved for good, {x.asked.wall - m.asked.wall} s ago"
    return None


def purged_while_learnt(m, ended, world):
    """A redirect during whose fetch anything was purged is not remembered (cache/moves.h). It is learnt before its place is asked."""
    learnt = max(y.asked.seq for y in ended)
    return any(r.sent.seq < learnt and (not r.over or r.over.seq > m.since.seq) for r in world.purges)


def reloads(q):
    return q.method != "GET" and q.method != "HEAD" or bool(q.all("cache-control") or q.all("pragma"))


# Kept feeds

def troubles(q, world):
    """The failures that q may have met itself."""
    return [x for url in reached(q, world) for x in meets(world, url)
            if x.asked.seq < q.ended.seq and not (x.known and x.known.seq < q.sent.seq)]


def refused(q, x):
    """x refuses the credentials of this client, and is for it."""
    return x.refuses() and q.forwarded.get("authorization") == x.request.get("authorization")


def is_under_way(r, q, world):
    """Whether what r made utfeed ask for may be asked for still when q comes, also for one whose client has left, or had a kept feed."""
    if not (r.ended and r.ended.seq < q.sent.seq):
        return True
    answered = any(y.since.seq > r.sent.seq and y.answered and y.answered.seq < q.sent.seq for y in world.at(r.url))
    return bool(r.left or (r.kept and not answered)) and q.sent.ms - r.sent.ms < FETCH_MS


def may_be_slow(q, world):
    """A fetch that may have begun so long ago has no answer yet, also one that the origin has not seen."""
    begun = [y.since.ms for url in reached(q, world) for y in world.at(url) if y.asked.seq < q.ended.seq and not (y.answered and y.answered.seq < q.sent.seq)]
    begun += [r.sent.ms for r in world.requests if r.url == q.url and r.sent.seq < q.sent.seq and is_under_way(r, q, world)]
    return bool(q.way.slow_ms) and q.ended.ms - min([q.sent.ms, *begun]) >= q.way.slow_ms - 50


def away(q, world):
    hosts = {host_of(url) for url in reached(q, world)}
    return any(absence.host in hosts and absence.since.seq < q.ended.seq and not (absence.until and absence.until.seq < q.sent.seq)
               for absence in world.absences)


def may_fail(q, world):
    """{what fwd-status may say} of a kept feed; None in it: nothing. The first behind a pause, whose origin is slow, gets what the pause tells."""
    found = {x.status if x.status else None for x in troubles(q, world) if not refused(q, x)}
    found = found.union(*(pause.told for pause in may_pause(q, world, may_be_slow(q, world))))
    if may_be_slow(q, world) or away(q, world) or any(not (x.known and x.known.seq < q.sent.seq) for x in circles(q, world)) or any(not x.complete for x in troubles(q, world)):
        found.add(None)
    return found


def told_kept(a):
    """(whether the answer says that it is a kept feed, its fwd-status or None)."""
    words = a.own_status()
    status = next((int(word[11:]) for word in words if re.fullmatch(r"fwd-status=\d{3}", word)), None)
    return "detail=kept" in words, status


def wishes(q):
    return directives(", ".join(q.all("cache-control")))


def is_plain(e, world, way):
    """Anybody may have e and keep it in full, whatever fields the request has."""
    return not e.fields.get("vary") and "set-cookie" not in e.fields and not {"cookie", "authorization"} & set(e.request) and \
        "no-store" not in directives(e.request.get("cache-control")) and all(
            p.keeps(way) == way.keep_s and not {"no-store", "private", "no-cache"} & set(p.cc) for p in policies(e, world))


def gives_feed(x):
    return x.is_feed or (x.status == 304 and x.representation is not None and x.representation.feed)


def disturbs(x, e, world, way):
    """Whether x, which came behind e, may have put something else in its place, or nothing."""
    if x.n <= e.n or x.method != "GET" or x.trouble:
        return False
    return not gives_feed(x) or not is_plain(x, world, way)


def surely_kept(q, world):
    """An exchange whose feed is stored for q and kept; None: perhaps there is none."""
    way = q.way
    if world.shared or not way.keep_s or q.method == "POST" or {"cookie", "authorization", "range"} & {*q.forwarded, *(name.lower() for name, _ in q.fields)} or \
            {"only-if-cached", "no-store"} & set(wishes(q)):
        return None
    for before, e in reversed(world.answers[q.url]):
        if before.way is not way or before.ended.seq > q.sent.seq or before.ended.seq < world.unsure or e.url != q.url:
            continue
        if not gives_feed(e) or not is_plain(e, world, way) or q.ended.wall - e.asked.wall >= way.keep_s:
            return None
        if any(r.covers(q.url) and (not r.ended or r.ended.seq > e.since.seq) for r in world.removals):
            return None
        return None if any(disturbs(x, e, world, way) for x in world.at(q.url)) else e
    return None


# What must not be

def loses(q, a, x, world):
    """A failure is told, x or an answer of utfeed's own, though a feed is kept."""
    if x and (not x.trouble or refused(q, x) or (not x.complete and x.sent > SNIFF)) or not x and (a.status < 400 or a.malformed):
        return None
    kept = surely_kept(q, world)
    return kept and f"{a.status}, and the feed of exchange {kept.n} is kept"


def waits(q, a, x, world):
    """x was waited for longer than slow-after, though a feed is kept. What the oracle itself was late by, utfeed may have been as well."""
    if not q.way.slow_ms or not x.answered or told_kept(a)[0]:
        return None
    late = x.answered.late - q.sent.late
    if x.answered.ms - q.sent.ms < q.way.slow_ms + SLACK_MS + STARVED * late:
        return None
    kept = surely_kept(q, world)
    return kept and kept.n < x.n and f"it waited {x.answered.ms - q.sent.ms:.0f} ms for exchange {x.n}, and that of {kept.n} is kept"


def not_to_be_stored(x, world):
    """x may be for a client with credentials, or that said no-store, and is not stored then. The origin need not see either: the gateway sends
    no credentials on (answer/request_head.c), and the first request behind a pause has no fields of its client."""
    return any(r.url == x.url and (r.all("authorization") or r.all("cookie") or "no-store" in wishes(r)) and r.sent.seq < x.asked.seq and not (r.ended and r.ended.seq < x.since.seq)
               for r in world.requests)


def was_over(e, x):
    """Whether utfeed had all of e before x was asked for. Of two that were under way at once either may be stored last."""
    return bool(e.delivered and e.delivered.seq < x.asked.seq or e.done and e.done.ms + LATE_MS < x.asked.ms)


def misses(q, a, e, world):
    """An older feed than one that came late, whole, and for the next client (issue 32 part 4)."""
    if not told_kept(a)[0] or world.shared or any(r.left for r in world.requests) or e.url != q.url or \
            any(x.location == q.url for x in world.exchanges.values()):
        return None
    for x in world.at(q.url):
        if x.n > e.n and was_over(e, x) and x.way is q.way and x.status == 200 and gives_feed(x) and x.method == "GET" and is_plain(x, world, q.way) and x.done and \
                world.begun < x.asked.seq and x.done.seq < world.settled < q.sent.seq and q.ended.wall - x.asked.wall < q.way.keep_s and \
                not any(r.covers(q.url) and (not r.ended or r.ended.seq > x.since.seq) for r in world.removals) and not not_to_be_stored(x, world):
            return f"exchange {e.n}, though {x.n} was there before"
    return None


def failed(q, a, world):
    """utfeed says that it got no answer, as it does where the machine is too busy for one."""
    if a.status in (502, 504) and not is_pause(a):
        world.failures.append((q.url, q.ended))


def is_pause(a):
    return "error=destination_unavailable" in (a.get("proxy-status") or "")


def wrong_pause(q, a, world):
    """What an answer of utfeed's own may say of a pause (issue 32 part 2, RFC 6585 section 4)."""
    pauses = [pause for pause in may_pause(q, world) if a.status == pause.status or (not pause.status and a.status >= 500)]
    if not pauses:
        return f"{a.status} for a pause that nothing justifies"
    wait = a.get("retry-after") or ""
    longest = max(max(pause.until - q.sent.ms, 0) for pause in pauses) / 1000 + PROBE_S
    if not wait.isdigit() or not 1 <= int(wait) <= longest:
        return f"Retry-After {wait!r}, at most {longest:.0f} s are left"
    return a.get("cache-control") != "no-store" and f"a pause that may be stored: {a.get('cache-control')}"
