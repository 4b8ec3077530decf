"""The judge of the oracle, in what utfeed promises beyond RFC 9111 (issue 32): each rule told apart from what it allows.

The rows are those of test_oracle_judge.py. The way has the options' defaults, unless the row says otherwise.
"""
import pytest

from oracle.model import ASKING, Way, judge_asking
from oracle.records import Absence, Removal, Request, World, host_of
from test_oracle_judge import A, B, BODY, OTHER, TOKEN, URL, Case, both, flying, gone, leads, moment, second, stored

DAY = 86400
DEFAULTS = {"keep_s": DAY, "error_floor_s": 60, "slow_ms": 250, "reload_floor_s": 10, "adaptive": True, "pauses": True, "moved_s": DAY}


def way(**promises):
    return Way("steady", **{**DEFAULTS, **promises})


STEADY, OFF, FOLLOWS = way(), Way("plain"), way(follows=True)
PATIENT = way(slow_ms=1_000_000)
OWN = way(private=("authorization",))
LATE = {"wall": 70, "way": STEADY}


def kept(status=None, **more):
    said = f"; fwd-status={status}" if status else ""
    return {**LATE, "how": f"hit; fwd=stale{said}; detail=kept", **more}


def met(status=503, asked=22, **fields):
    """What the origin says to the request."""
    return second(asked=asked, status=status, **fields)


def changed(n=2, **values):
    def setup(case):
        for name, value in values.items():
            setattr(case.world.exchanges[n], name, value)
    return setup


def no_feed(n=2):
    return lambda case: setattr(case.world.representations[n], "feed", False)


def before(status=429, asks=60, at=12, known=13, by=STEADY, n=2, **fields):
    """What the origin said a while before the request, and a client heard."""
    def setup(case):
        e = case.exchange(n, asked=at, status=status, cc=None, **fields)
        e.asks, e.known, e.way, e.since = asks, known and moment(known), by, moment(at)
        e.used_by.add(98)
    return setup


def away(since, until):
    def setup(case):
        absence = Absence(host_of(URL), moment(since))
        absence.until = until and moment(until)
        case.world.absences.append(absence)
    return setup


def others(sent, ended):
    """A PURGE of what no URL here is."""
    def setup(case):
        removal = Removal(lambda url: False, False, moment(sent))
        removal.over = moment(ended)
        case.world.purges.append(removal)
    return setup


def asked(sent, ended, *fields):
    """Another client asks for the URL."""
    def setup(case):
        case.world.requests.append(Request(0, STEADY, URL, "GET", fields, {}, moment(sent)))
        case.world.requests[-1].ended = ended and moment(ended)
    return setup


def left(sent, at):
    """The same, and does not wait for the answer."""
    def setup(case):
        asked(sent, at)(case)
        case.world.requests[-1].left = moment(at)
    return setup


def served(sent, ended):
    """Another client asks for the URL, and is given the kept feed, because the origin is slow."""
    def setup(case):
        asked(sent, ended)(case)
        case.world.requests[-1].kept = True
    return setup


def seen(at=16, **asks):
    """A client got the stored feed before."""
    return lambda case: case.judged(**{"sent": at, "ended": at + 1, "way": STEADY, **asks})


def own(status=429, wait="40", error="destination_unavailable", cache="no-store", **more):
    fields = [("proxy-status", f"utfeed; error={error}")] + ([("retry-after", wait)] if wait else []) + ([("cache-control", cache)] if cache else [])
    return {**LATE, "serial": 0, "status": status, "body": b"no", "extra": fields, **more}


def requests(url, sent, by):
    """Another client asks for that URL, and has no answer yet."""
    return lambda case: case.world.requests.append(Request(0, by, url, "GET", (), {}, moment(sent)))


def redirects(n, at, to=URL, url=OTHER, status=302):
    def setup(case):
        case.exchange(n, url=url, asked=at, status=status, cc="max-age=99999").location = to
    return setup


def fed(n, ended):
    """A client that asked for the URL got that exchange's feed."""
    def setup(case):
        q = Request(0, LED_ON, URL, "GET", (), {}, moment(ended - 1))
        q.ended = moment(ended)
        case.world.answers[URL].append((q, case.world.exchanges[n]))
    return setup


def renewed(known):
    """What came by a HEAD, and when its client had it: utfeed's clock went on meanwhile."""
    def setup(case):
        case.exchange(1, cc="max-age=5, must-revalidate, stale-if-error=300").known = known
    return setup


def unchanged(wall):
    """A client that waited had a 304 that may be made of it."""
    return lambda case: case.judged(sent=9, ended=12, serial=0, status=304, wall=wall, age="none", extra=[("etag", '"e1"')], fields=[("If-None-Match", '"e1"')], way=STEADY)


ELSEWHERE = "http://p/r"
LED = both(lambda case: leads(case, cc=None), before(503, None, url=OTHER, by=FOLLOWS, n=3))
PAUSE = both(stored(), before())
LED_ON = way(follows=True, slow_ms=1_000_000)
FIRST = before(429, 60, url=OTHER, by=LED_ON)
THERE = both(before(200, None, url=OTHER + "2", at=16, known=17, n=4, by=LED_ON), lambda case: setattr(case.world.exchanges[4], "since", moment(15)))
HAD = both(stored(), seen())

ROWS = [
    # part 1: kept feeds
    ("kept for a 503", both(stored(), met()), kept(503), None),
    ("kept for a 404", both(stored(), met(404)), kept(404), None),
    ("kept for a page", both(stored(), met(200), no_feed()), kept(200), None),
    ("kept for a 204", both(stored(), met(204)), kept(204), None),
    ("kept for a body that breaks off", both(stored(), met(200), changed(complete=False)), kept(200), None),
    ("kept for no response", both(stored(), met(0), changed(complete=False)), kept(), None),
    ("kept for a 304 that nobody asked for", both(stored(), met(304, of=0)), kept(304), None),
    ("kept for a redirect to a 404", both(stored(), met(302), changed(location=OTHER), lambda case: case.exchange(3, url=OTHER, asked=24, status=404)),
     kept(404, way=FOLLOWS), None),
    ("kept for redirects in a circle", both(stored(), met(302), changed(location=URL)), kept(way=way(follows=True, slow_ms=0)), None),
    ("kept for a redirect to a feed", both(stored(), met(302), changed(location=OTHER), lambda case: case.exchange(3, url=OTHER, asked=24)),
     kept(way=way(follows=True, slow_ms=0)), "kept"),
    ("kept where nobody listens", both(stored(), away(18, None)), kept(way=PATIENT), None),
    ("kept though the client said no-cache", both(stored(), met()), kept(503, fields=[("Cache-Control", "no-cache")]), None),
    ("kept and nothing failed", stored(), kept(503), "kept"),
    ("kept and only another URL failed", both(stored(), met(url=OTHER)), kept(503), "kept"),
    ("kept for a 400", both(stored(), met(400)), kept(400), "kept"),
    ("kept for a feed", both(stored(), met(200)), kept(200), "kept"),
    ("kept, and another failure told", both(stored(), met(404)), kept(503), "kept"),
    ("kept, and a status told that never came", both(stored(), away(18, None)), kept(503, way=PATIENT), "kept"),
    ("kept where somebody listens again", both(stored(), away(2, 3)), kept(way=way(slow_ms=1_000_000, pauses=False)), "kept"),
    ("kept as long as it may be", both(stored(), met()), kept(503, wall=60 + DAY - 1), None),
    ("kept for longer", both(stored(), met()), kept(503, wall=60 + DAY), "kept"),
    ("kept since it was confirmed", both(stored(cc="max-age=60", age=50, wall=0), met()), kept(503, wall=DAY - 1, age=DAY + 49), None),
    ("kept for as long as its route says", both(stored(), met()), kept(503, wall=119, way=way(keep_s=60)), None),
    ("kept for longer than that", both(stored(), met()), kept(503, wall=120, way=way(keep_s=60)), "kept"),
    ("kept where nothing is", both(stored(), met()), kept(503, way=way(keep_s=0)), "kept"),
    ("a page kept", both(stored(), no_feed(1), met()), kept(503), "kept"),
    ("kept after must-revalidate", both(stored(cc="max-age=60, must-revalidate"), met()), kept(503), "kept"),
    ("kept after proxy-revalidate", both(stored(cc="max-age=60, proxy-revalidate"), met()), kept(503), "kept"),
    ("kept after s-maxage", both(stored(cc="s-maxage=60"), met()), kept(503), "kept"),
    ("kept after no-cache", both(stored(cc="no-cache"), met()), kept(503), "kept"),
    ("kept after no-store", both(stored(cc="no-store"), met()), kept(503), "no-store"),
    ("kept after private", both(stored(cc="private"), met()), kept(503), "private"),
    ("kept after s-maxage, within its own window", both(stored(cc="s-maxage=60, stale-if-error=30"), met()), kept(503), None),
    ("kept after s-maxage, beyond its own window", both(stored(cc="s-maxage=60, stale-if-error=30"), met()), kept(503, wall=90), "kept"),
    ("kept after no-cache, within its own window", both(stored(cc="no-cache, stale-if-error=300"), met()), kept(503), None),
    ("kept after a PURGE", both(stored(), met(), gone()), kept(503), "removed"),
    ("kept after a POST", both(stored(), met(), gone()), kept(503), "removed"),
    ("kept after a soft purge", both(stored(), met(), gone(soft=True, wall=5)), kept(503), None),
    ("kept since a client had it, where the clock went on before", both(renewed(moment(12, 400)), met()), kept(503, wall=468), None),
    ("the same, where the client had a 304", both(renewed(None), unchanged(400), met()), kept(503, wall=468), None),
    ("kept since it came, where the client had it much later", both(renewed(moment(14, 400)), met()), kept(503, wall=468), "kept"),
    ("kept for another variant", both(stored(vary="X-User", request=A), met()), kept(503, forwarded=B), "selected"),
    ("kept of another URL", both(stored(url=OTHER), met()), kept(503), "url"),
    ("kept and cut short", both(stored(), met()), kept(503, body=BODY[:-1]), "body"),
    ("kept where the client's own credentials are refused", both(stored(cc="public, max-age=60", request=TOKEN), met(401, request=TOKEN)),
     kept(401, forwarded=TOKEN, way=way(slow_ms=0, private=("authorization",))), "kept"),
    ("kept where nobody's are", both(stored(), met(401)), kept(401), None),
    # what must not be told where a feed is kept
    ("a 503 though a feed is kept", both(HAD, met()), {**LATE, "serial": 2, "status": 503, "age": "none", "how": "fwd=stale; fwd-status=503"}, "loses"),
    ("a 503 and nothing is stored", both(stored(), met()), {**LATE, "serial": 2, "status": 503, "age": "none", "how": "fwd=stale; fwd-status=503"}, None),
    ("a page though a feed is kept", both(HAD, met(200), no_feed()), {**LATE, "serial": 2, "age": "none", "how": "fwd=stale; fwd-status=200; stored"}, "loses"),
    ("a page as a hit, though a feed is kept", both(HAD, before(200, None), no_feed(), changed(delivered=moment(18))), {
        **LATE, "serial": 2, "sent": 40, "ended": 41, "wall": 0}, "loses"),
    ("an answer of utfeed's own, though a feed is kept", HAD, own(502, error="connection_refused"), "loses"),
    ("a pause, though a feed is kept", both(HAD, before(503)), own(503), "loses"),
    ("a 503, the feed was purged", both(HAD, met(), gone(18, 19)), {**LATE, "serial": 2, "status": 503, "age": "none", "how": "fwd=uri-miss"}, None),
    ("a 503, the feed was kept for as long as that", both(HAD, met()), {**LATE, "serial": 2, "status": 503, "age": "none", "how": "fwd=stale", "wall": DAY}, None),
    ("a 503, the feed is another way's", both(HAD, met()), {**LATE, "serial": 2, "status": 503, "age": "none", "how": "fwd=uri-miss", "way": way()}, None),
    ("a 503 after s-maxage", both(stored(cc="s-maxage=60"), seen(), met()), {**LATE, "serial": 2, "status": 503, "age": "none", "how": "fwd=stale"}, None),
    ("a 400 passes", both(HAD, met(400)), {**LATE, "serial": 2, "status": 400, "age": "none", "how": "fwd=stale"}, None),
    ("a refusal passes to whose credentials it is for", both(stored(cc="public, max-age=60"), seen(way=OWN), met(403, request=TOKEN)), {
        **LATE, "way": OWN, "serial": 2, "status": 403, "age": "none", "how": "fwd=stale", "forwarded": TOKEN}, None),
    ("cut within sniff-bytes", both(HAD, met(200), changed(complete=False, sent=100)), {**LATE, "serial": 2, "age": "none", "how": "fwd=stale", "cut": True}, "loses"),
    ("cut beyond them", both(HAD, met(200, asked=20), changed(complete=False, sent=5000)), {**LATE, "serial": 2, "age": "none", "how": "fwd=stale", "cut": True}, None),
    # part 4: slow origins
    ("kept where the origin is slow", both(stored(), met(200), changed(answered=None, done=None, since=moment(20))), kept(), None),
    ("kept where another has waited for so long, whom the origin has not seen", both(stored(), asked(10, None)), kept(sent=24, ended=25, way=way(slow_ms=5000)), None),
    ("kept where that one had its answer", both(stored(), asked(10, 20)), kept(sent=24, ended=25, way=way(slow_ms=5000)), "kept"),
    ("kept where that one has left, and the fetch goes on", both(stored(), left(15, 20)), kept(sent=24, ended=25, way=way(slow_ms=5000)), None),
    ("kept where that one left long ago", both(stored(), left(10, 20)), kept(sent=24, ended=25, way=way(slow_ms=5000)), "kept"),
    ("kept where that one was given it, and the fetch goes on", both(stored(), served(15, 20)), kept(sent=24, ended=25, way=way(slow_ms=5000)), None),
    ("kept where that fetch is over", both(stored(), served(15, 20), met(200, asked=22), changed(since=moment(16), answered=moment(23), done=moment(23))),
     kept(sent=24, ended=25, way=way(slow_ms=5000)), "kept"),
    ("kept where it is not slow yet", both(stored(), met(200), changed(answered=None, done=None, since=moment(20))), kept(way=PATIENT), "kept"),
    ("kept where slow origins are waited for", both(stored(), met(200), changed(answered=None, done=None, since=moment(20))), kept(way=way(slow_ms=0)), "kept"),
    ("a slow origin is waited for", both(HAD, met(200), changed(answered=moment(29), done=moment(29))), {**LATE, "serial": 2, "age": "none", "how": "fwd=stale; stored"}, "waits"),
    ("a slow origin is waited for on a machine that has no turn for anybody", both(HAD, met(200), changed(
        answered=moment(29)._replace(late=9000), done=moment(29))), {**LATE, "serial": 2, "age": "none", "how": "fwd=stale; stored"}, None),
    ("a slow origin is waited for, and the machine is a little late", both(HAD, met(200), changed(
        answered=moment(29)._replace(late=100), done=moment(29))), {**LATE, "serial": 2, "age": "none", "how": "fwd=stale; stored"}, "waits"),
    ("a quick one is", both(HAD, met(200, asked=20)), {**LATE, "serial": 2, "age": "none", "how": "fwd=stale; stored"}, None),
    ("a slow one is where nothing is kept", both(stored(), met(200), changed(answered=moment(29), done=moment(29))), {
        **LATE, "serial": 2, "age": "none", "how": "fwd=stale; stored"}, None),
    ("the late answer is there for the next client", both(HAD, before(200, None, at=18, known=None), lambda case: setattr(case.world, "settled", 30)), kept(
        sent=40, ended=41), "misses"),
    ("but not where it may be for credentials, which the gateway keeps from the origin", both(HAD, before(200, None, at=18, known=None), lambda case: setattr(
        case.world, "settled", 30), asked(17, 20, ("Authorization", "Bearer a"))), kept(sent=40, ended=41), None),
    ("nor where its client said no-store, which the first request behind a pause does not say", both(HAD, before(200, None, at=18, known=None), lambda case: setattr(
        case.world, "settled", 30), asked(17, 20, ("Cache-Control", "no-store"))), kept(sent=40, ended=41), None),
    ("but not where both were under way at once, for either may be stored last", both(HAD, before(200, None, at=12, known=None), lambda case: setattr(
        case.world, "settled", 30)), kept(sent=40, ended=41), None),
    # part 2: pauses
    ("kept in a pause", PAUSE, kept(429), None),
    ("kept after the pause's end", both(stored(), before(asks=5)), kept(429, way=PATIENT), "kept"),
    ("the same, late: the first behind it, whose origin is slow", both(stored(), before(asks=5)), kept(429), None),
    ("kept in a pause of another way's URL", both(stored(), before(503, None, by=way())), kept(503, way=PATIENT), "kept"),
    ("an answer of utfeed's own in a pause", PAUSE, own(), None),
    ("of a host, for another URL", both(stored(), before(url=OTHER)), own(), None),
    ("of another URL", both(stored(), before(503, url=OTHER)), own(503), "pause"),
    ("of a host that two URLs called busy", both(stored(), before(503, url=OTHER), before(503, url=OTHER + "2", at=13, known=14, n=3)), own(503), None),
    ("of a host that two URLs called busy at once: the first may have come last", both(stored(), before(503, 60, url=OTHER, known=15), before(
        503, 20, url=OTHER + "2", at=13, known=14, n=3)), own(503, wait="50"), None),
    ("the same, where the first had come", both(stored(), before(503, 60, url=OTHER, at=11, known=12), before(
        503, 20, url=OTHER + "2", at=13, known=14, n=3)), own(503, wait="50"), "pause"),
    ("behind its end, another asks first, whom a redirect led there", both(stored(), before(503, 5, by=PATIENT), redirects(3, 18, url=ELSEWHERE), requests(
        ELSEWHERE, 17, FOLLOWS)), kept(503, way=PATIENT), None),
    ("the same, and the redirect is not followed", both(stored(), before(503, 5, by=PATIENT), redirects(3, 18, url=ELSEWHERE), requests(
        ELSEWHERE, 17, STEADY)), kept(503, way=PATIENT), "kept"),
    ("of where redirects began, after a success of their host", both(stored(), FIRST, redirects(3, 14, OTHER, URL), THERE), kept(429, way=LED_ON), None),
    ("the same, where a client got the feed from there", both(stored(), FIRST, redirects(3, 14, OTHER, URL), THERE, fed(4, 18)), kept(429, way=LED_ON), "kept"),
    ("the same, and nobody began there since", both(stored(), redirects(3, 5, OTHER, URL), FIRST, THERE), kept(429, way=LED_ON), "kept"),
    ("of another status", PAUSE, own(503), "pause"),
    ("without any cause", stored(), own(), "pause"),
    ("of a 404 that a client got", both(stored(), before(404, None)), own(404), "pause"),
    ("of a 404 that a kept feed stood for", both(stored(), before(404, None), lambda case: case.world.exchanges[2].used_by.clear()), own(404), None),
    ("of a refused connection", both(stored(), away(12, 13)), own(502), None),
    ("of what met another's credentials", both(stored(), before(503, None, request=TOKEN)), own(503), "pause"),
    ("of what met credentials", both(stored(), before(503, None, request=TOKEN)), own(503, forwarded=TOKEN), None),
    ("as long as the origin asked for", PAUSE, own(wait="92"), "pause"),
    ("for no time at all", PAUSE, own(wait="0"), "pause"),
    ("without Retry-After", PAUSE, own(wait=None), "pause"),
    ("that may be stored", PAUSE, own(cache=None), "pause"),
    ("where there are none", PAUSE, own(way=way(pauses=False)), "pause"),
    ("after its end", both(stored(), before(asks=5)), own(), "pause"),
    ("after a PURGE", both(PAUSE, gone()), own(), "pause"),
    ("after a PURGE that was sent before it came", both(before(known=17), gone()), own(), None),
    ("of a redirect, after a PURGE of its place", both(stored(), LED, gone(covers=OTHER)), own(503, way=FOLLOWS), None),
    ("of a redirect, after a PURGE of both", both(stored(), LED, gone(), gone(covers=OTHER)), own(503, way=FOLLOWS), "pause"),
    ("after utfeed began anew", both(PAUSE, lambda case: setattr(case.world, "begun", 15)), own(), "pause"),
    ("after a success", both(stored(), before(503, None), before(200, None, at=16, known=17, n=3), changed(3, since=moment(15))), own(503), "pause"),
    ("after a success with credentials, of what met none", both(stored(), before(503, None), before(200, None, at=16, known=17, n=3, request=TOKEN),
                                                               changed(3, since=moment(15))), own(503), None),
    ("after a success with credentials, of what met some", both(stored(), before(503, None, request=TOKEN), before(200, None, at=16, known=17, n=3, request=TOKEN),
                                                               changed(3, since=moment(15))), own(503, forwarded=TOKEN), "pause"),
    ("the first behind a pause, without its client's fields", both(stored(), met(403, cc=None)), {
        **LATE, "serial": 2, "status": 403, "age": "none", "how": "fwd=stale", "forwarded": {"accept-language": "de"}}, None),
    ("the same, by a way without pauses", both(stored(), met(403, cc=None)), {
        **LATE, "way": way(pauses=False), "serial": 2, "status": 403, "age": "none", "how": "fwd=stale", "forwarded": {"accept-language": "de"}}, "no-lifetime"),
    # part 3: errors and redirects that name no lifetime
    ("a 404 that names no lifetime", stored(cc=None, status=404), {"wall": 59, "status": 404, "way": STEADY}, None),
    ("a 404 that names none, beyond the floor", stored(cc=None, status=404), {"wall": 60, "status": 404, "way": STEADY}, "fresh"),
    ("a 404 that names none, and no floor", stored(cc=None, status=404), {"wall": 1, "status": 404, "way": way(error_floor_s=0)}, "fresh"),
    ("a 404 that names one", stored(cc="max-age=5", status=404), {"wall": 5, "status": 404, "way": STEADY}, "fresh"),
    ("a 404 that says no-store", stored(cc="no-store", status=404), {"status": 404, "way": STEADY}, "no-store"),
    ("a 403 that names no lifetime", stored(cc=None, status=403), {"status": 403, "way": STEADY}, "no-lifetime"),
    ("a longer floor than error-max", stored(cc=None, status=410), {"wall": 500, "status": 410, "way": way(error_floor_s=600)}, None),
    ("an error in the place of an error", both(stored(cc="max-age=5", status=404), met()), {"wall": 10, "status": 404, "way": way(stale_s=300)}, "fresh"),
    ("a permanent redirect", both(stored(url=OTHER, cc="max-age=99999"), lambda case: leads(case, cc=None), changed(status=301)), {
        "way": FOLLOWS, "wall": DAY - 1}, None),
    ("a permanent redirect, beyond a day", both(stored(url=OTHER, cc="max-age=99999"), lambda case: leads(case, cc=None), changed(status=301)), {
        "way": FOLLOWS, "wall": DAY}, "hop-fresh"),
    ("a permanent redirect, not remembered", both(stored(url=OTHER, cc="max-age=99999"), lambda case: leads(case, cc=None), changed(status=301)), {
        "way": way(follows=True, moved_s=0), "wall": 70}, "hop-fresh"),
    ("a permanent redirect that sets a cookie", both(stored(url=OTHER, cc="max-age=99999"), lambda case: leads(case, cc=None, set_cookie="a=1"), changed(status=308)), {
        "way": FOLLOWS, "wall": 70}, "hop-fresh"),
    ("a permanent redirect that says no-store", both(stored(url=OTHER, cc="max-age=99999"), lambda case: leads(case, cc="no-store"), changed(status=301)), {
        "way": FOLLOWS, "wall": 70}, "hop-no-store"),
    ("a permanent redirect on the way, after a soft purge of where that began", both(stored(url=ELSEWHERE, asked=11), redirects(2, 10, OTHER, URL), redirects(
        3, 5, ELSEWHERE, OTHER, 301), gone(8, 9, soft=True)), {"way": FOLLOWS}, None),
    ("the same, and all was fetched before", both(stored(url=ELSEWHERE, asked=11), redirects(2, 10, OTHER, URL), redirects(
        3, 5, ELSEWHERE, OTHER, 301), gone(15, 16, soft=True)), {"way": FOLLOWS}, "fresh"),
    ("the same, after a PURGE of the redirect's own URL", both(stored(url=OTHER, asked=11), redirects(2, 5, OTHER, URL, 301), gone(8, 9)), {
        "way": FOLLOWS}, "hop-removed"),
    ("a redirect for a while", both(stored(url=OTHER, cc="max-age=99999"), lambda case: leads(case, cc=None)), {"way": FOLLOWS, "wall": 70}, "hop-fresh"),
    # part 5: reloads
    ("the client's no-cache, just after it was fetched", stored(), {"wall": 9, "way": STEADY, "fields": [("Cache-Control", "no-cache")]}, None),
    ("the client's no-cache, a while after", stored(), {"wall": 10, "way": STEADY, "fields": [("Cache-Control", "no-cache")]}, "wished"),
    ("the client's max-age, just after", stored(), {"wall": 9, "way": STEADY, "fields": [("Cache-Control", "max-age=0")]}, None),
    ("the client's Pragma, no floor", stored(), {"wall": 9, "way": way(reload_floor_s=0), "fields": [("Pragma", "no-cache")]}, "wished"),
    # part 6: lifetimes
    ("a month, by mistake", stored(cc="max-age=2592000"), {"wall": 3600, "way": way(max_s=3600)}, None),
    ("a month, beyond freshness-max", stored(cc="max-age=2592000"), {"wall": 3602, "way": way(max_s=3600)}, "fresh"),
    ("a tenth of a feed's age", stored(cc=None, newest=0), {"wall": 99, "way": STEADY}, None),
    ("more than a tenth", stored(cc=None, newest=0), {"wall": 100, "way": STEADY}, "fresh"),
    ("a tenth is an hour at most", stored(cc=None, last_modified=-99000), {"wall": 3600, "way": STEADY}, "fresh"),
    ("a tenth, not adaptive", stored(cc=None, newest=0), {"wall": 1, "way": way(adaptive=False)}, "fresh"),
    ("a tenth of a page's items", both(stored(cc=None, newest=0), no_feed(1)), {"wall": 1, "way": STEADY}, "fresh"),
    ("a tenth of the time since when it is the same", both(stored(), second(asked=15, status=304, of=1, cc=None, wall=1000), lambda case: case.world.exchanges[1].fields.pop(
        "cache-control"), changed(delivered=moment(17, 1000))), {"serial": 2, "wall": 1099, "age": 99, "way": STEADY}, None),
    ("what is no feed gets no floor", both(stored(cc=None), no_feed(1)), {"wall": 1, "way": way(floor_s=300)}, "fresh"),
    ("a feed gets one", stored(cc=None), {"wall": 299, "way": way(floor_s=300)}, None),
    # part 10
    ("a Set-Cookie by a way that gives it to nobody", flying(set_cookie="sid=1"), {"sent": 5, "ended": 30, "how": "fwd=uri-miss; stored", "age": "none", "way": way(
        drops_own=True), "extra": [("set-cookie", "sid=1")]}, "cookie-dropped"),
]


@pytest.mark.parametrize("setup,answer,rule", [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_judge(setup, answer, rule):
    case = Case()
    setup(case)
    found = case.judged(**answer)
    assert found == [] if rule is None else rule in found, found


def then(at=30, since=16, wall=0, by=STEADY, n=9, **fields):
    """utfeed asks for it then."""
    def setup(case):
        e = case.exchange(n, asked=at, wall=wall, **fields)
        e.since, e.way, e.answered, e.done = moment(since), by, None, None
    return setup


def moved(status=301, n=2, at=10, **fields):
    def setup(case):
        before(status, None, at=at, n=n, **{"known": 12, **fields})(case)
        e = case.world.exchanges[n]
        e.location, e.fields = OTHER, {name: value for name, value in e.fields.items() if name not in ("etag", "cache-control")}
        before(200, None, at=at + 1, n=n + 1, url=OTHER, known=13)(case)
    return setup


ASKS = [
    ("in a pause", both(before(), then()), "asked"),
    ("in a pause of the host", both(before(), then(url=OTHER)), "asked"),
    ("in a pause that nobody asked for", both(before(500, None), then(at=32)), "asked"),
    ("after its end", both(before(500, None), then(at=36)), None),
    ("after the pause", both(before(asks=5), then()), None),
    ("another URL than that which failed", both(before(500, None), then(url=OTHER)), None),
    ("by another way than that which failed", both(before(500, None), then(by=way())), None),
    ("with credentials, where none failed", both(before(500, None), then(request=TOKEN)), None),
    ("by a way that pauses nothing", both(before(), then(by=OFF)), None),
    ("by a request that came before it", both(before(), then(since=12)), None),
    ("a failure that no client heard of", both(before(known=None), then()), None),
    ("after a PURGE", both(before(), gone(), then()), None),
    ("after utfeed began anew", both(before(), lambda case: setattr(case.world, "begun", 15), then()), None),
    ("a 404", both(before(404, None), then()), None),
    ("a 404 that a kept feed stood for", both(before(404, None), changed(paused=True), then()), "asked"),
    ("first behind a pause", both(before(asks=5), then(at=40)), None),
    ("second behind a pause", both(before(asks=5), then(at=40), then(at=41, n=10)), "second-probe"),
    ("second behind a pause of the host", both(before(asks=5), then(at=40), then(at=41, n=10, url=OTHER)), "second-probe"),
    ("second, the first was answered", both(before(asks=5), then(at=40), changed(9, answered=moment(41)), then(at=42, n=10)), None),
    ("second, the first takes too long", both(before(asks=5), then(at=40), then(at=71, n=10)), None),
    ("where it has moved from", both(moved(), then()), "moved"),
    ("where it has moved from, beyond a day", both(moved(), then(wall=DAY)), None),
    ("where it has moved from, not remembered", both(moved(by=way(moved_s=0)), then(by=way(moved_s=0))), None),
    ("where it is for a while", both(moved(302), then()), None),
    ("where it has moved from, with a lifetime", both(moved(), changed(fields={"cache-control": "max-age=5"}), then()), None),
    ("where it has moved from, to what failed", both(moved(), lambda case: case.exchange(4, url=OTHER, asked=15, status=404), then()), None),
    ("where it has moved from, after a PURGE", both(moved(), gone(), then()), None),
    ("where it has moved from, another's PURGE came while it was learnt", both(moved(), others(9, 14), then()), None),
    ("where it has moved from, another's PURGE came before", both(moved(), others(7, 9), then()), "moved"),
    ("where it has moved from, another's PURGE came behind", both(moved(), others(12, 14), then()), "moved"),
]


@pytest.mark.parametrize("setup,rule", [row[1:] for row in ASKS], ids=[row[0] for row in ASKS])
def test_asking(setup, rule):
    case = Case()
    setup(case)
    assert [name for name, *_ in judge_asking(max(case.world.exchanges.values(), key=lambda e: e.asked.seq), case.world)] == [rule] * bool(rule)


def test_each_rule_is_broken_once():
    assert {name for name, *_ in ASKING} == {rule for *_, rule in ASKS} - {None}
    assert {"kept", "loses", "waits", "misses", "pause"} <= {rule for *_, rule in ROWS}


def test_two_processes_know_no_pauses_of_each_other():
    case = Case()
    case.world = World(shared=True)
    both(before(), then())(case)
    assert not judge_asking(case.world.exchanges[9], case.world)
