"""How often origins are asked, beside how often they had to be: each (URL, freshness period) once, whichever process asks (issue 36).

Must not know: sockets, how a history came about. Invariant: an exchange is called spare only where nothing that may have happened explains it;
URLs that nobody can say this of are not counted.
"""
from .model import SINGLE, Use
from .policy import policies
from .records import LATE_MS, Request

BAR = 1.05
STORED_MAX = 60000          # bytes: larger ones may not be kept
ASKS = ("cache-control", "pragma", "range", "authorization", "cookie")      # of a request that is not for what is stored
CONDITIONS = ("if-none-match", "if-modified-since", "via", "connection")


def shape(e):
    """What selects a response, of the request that reached the origin."""
    return {name: value for name, value in e.request.items() if name not in CONDITIONS}


def lifetime(e, way, world):
    """The shortest that e may have given its URL; 0: perhaps it is not for all."""
    found = []
    for p in policies(e, world):
        use = Use(Request(0, way, e.url, "GET", [], e.request, e.asked), None, e, p, world)
        if p.no_cache or any(holds(use) for _, _, holds in SINGLE):
            return 0
        found.append(p.lifetime(way) - int(e.fields.get("age", 0)))
    return max(0, min(found))


def counts(exchanges, way, world):
    """Whether all that was ever said of a URL may be stored, and all that was asked is for what is stored."""
    return all(e.method == "GET" and e.complete and e.done and e.status in (200, 304) and e.asks is None and not set(ASKS) & set(e.request) and
               (not e.representation or len(e.representation.raw) < STORED_MAX) and lifetime(e, way, world) for e in exchanges)


def disturbed(url, since, until, world, troubles):
    """Whether the second store may have lost, or was told to forget, what it had of url at some time in between."""
    return any(r.covers(url) and r.sent.seq < until.seq and (not r.over or r.over.ms + (not r.settles or r.pending) * LATE_MS > since.ms)
               for r in [*world.removals, *world.purges]) or any(begins < until.ms and ends > since.ms for begins, ends in troubles)


def is_spare(x, e, way, world, troubles):
    """Whether e was on its way when x was asked, or was fresh and not yet in the last tenth of its lifetime, in which it may be refreshed."""
    if shape(e) != shape(x) or disturbed(x.url, e.asked, x.asked, world, troubles):
        return False
    lasts = lifetime(e, way, world)
    return e.done.seq > x.asked.seq or x.asked.wall - e.asked.wall + 1 < lasts - min(lasts / 10, 60)


def measure(world, troubles):
    """(exchanges, those of them that were spare), of the URLs that count. troubles: [(begin, end)] in ms, in which the second store was away or
    a process ended."""
    ways, asked, spare = {q.way.name: q.way for q in world.requests}, 0, 0
    if len(ways) != 1:
        return 0, 0
    way = next(iter(ways.values()))
    for url in {q.url for q in world.requests}:
        exchanges = world.at(url)
        if counts(exchanges, way, world):
            asked += sum(not any(begin < x.asked.ms < end for begin, end in troubles) for x in exchanges)
            spare += sum(any(is_spare(x, e, way, world, troubles) for e in exchanges[:n]) for n, x in enumerate(exchanges))
    return asked, spare
