"""The ways into the utfeed under test: its options, what a request looks like on each, and what its operator promised (model.Way).

Must not know: sockets, histories.
"""
from .policy import Way
from .promises import SNIFF

# name: (prefix, options of the route, what the operator promised)
ROUTES = {
    "plain": ("/p/", "", {}),
    "auth": ("/a/", "authorization=on", {"private": ("authorization",)}),
    "cookies": ("/k/", "authorization=on cookies=on", {"private": ("authorization", "cookie")}),
    "fields": ("/x/", "request-fields=X-User,X-Api-Key", {"keyed": ("x-user", "x-api-key"), "private": ("x-user", "x-api-key")}),
    "follow": ("/f/", "follow-redirects=on", {"follows": True}),
    "own": ("/o/", "follow-redirects=on authorization=on request-fields=X-User", {
        "follows": True, "keyed": ("x-user",), "private": ("authorization", "x-user")}),
    "raw": ("/n/", "normalise=off", {}),
    "calm": ("/q/", "client-no-cache=off freshness-floor=60s stale-if-error=300s", {"floor_s": 60, "stale_s": 300, "calm": True}),
}
WAYS = {
    **{name: Way(name, **promises) for name, (_, _, promises) in ROUTES.items()},
    "gateway": Way("gateway", floor_s=300, stale_s=86400, follows=True, drops_own=True),
    "forward": Way("forward", keyed=("x-user", "x-api-key")),
}
READS_ONLY = {"gateway"}
# Options by which utfeed does more than RFC 9111 says
BEYOND = ("keep-feed", "error-floor", "slow-after", "reload-floor", "freshness-max", "adaptive", "pause", "moved")

# The ways in on which it does, each with other options: (options of the route, what the operator promised). The others have the defaults.
DAY = 86400
SLOW_MS = 250
DEFAULTS = {"keep_s": DAY, "error_floor_s": 60, "slow_ms": SLOW_MS, "reload_floor_s": 10, "adaptive": True, "pauses": True, "moved_s": DAY}
NONE = {name: 0 for name in DEFAULTS}
FOLLOW = "follow-redirects=on "
STEADY_ROUTES = {
    "steady": (FOLLOW, {"follows": True}),
    "odd0": (FOLLOW + "keep-feed=0", {"follows": True, "keep_s": 0}),
    "odd1": (FOLLOW + "pause=off", {"follows": True, "pauses": False}),
    "odd2": ("error-floor=0", {"error_floor_s": 0}),
    "odd3": (FOLLOW + "slow-after=0", {"follows": True, "slow_ms": 0}),
    "odd4": (FOLLOW + "reload-floor=0 keep-feed=300s", {"follows": True, "reload_floor_s": 0, "keep_s": 300}),
    "odd5": ("adaptive=off", {"adaptive": False}),
    "odd6": (FOLLOW + "moved=off", {"follows": True, "moved_s": 0}),
    "odd7": ("freshness-max=60s freshness-floor=300s", {"max_s": 60, "floor_s": 300}),
    "odd8": ("stale-if-error=300s pause=off keep-feed=0", {"stale_s": 300, "pauses": False, "keep_s": 0}),
    "odd9": ("normalise=off", NONE),
    "odd10": ("normalise=off pause=on error-floor=1m", {**NONE, "pauses": True, "error_floor_s": 60}),
    "odd11": (FOLLOW + "authorization=on cookies=on", {"follows": True, "private": ("authorization", "cookie")}),
    "odd12": (FOLLOW + "keep-feed=60s error-floor=600s", {"follows": True, "keep_s": 60, "error_floor_s": 600}),
}
ODD = tuple(name for name in STEADY_ROUTES if name != "steady")
STEADY_WAYS = {
    **{name: Way(name, **{**DEFAULTS, **promises}) for name, (_, promises) in STEADY_ROUTES.items()},
    "gateway": Way("gateway", **DEFAULTS | {"floor_s": 300, "stale_s": DAY, "follows": True, "drops_own": True, "reload_floor_s": 300, "max_s": DAY}),
    "forward": WAYS["forward"],
}
SLOTS = 250         # hosts of their own that cells have at a time, for pauses of hosts are for all who ask there


def of_all():
    """Options of any utfeed."""
    return ["--forward-credentials", "on", "--access-log", "off", "--refresh-hot", "2"]


def options(base):
    """Of a utfeed that keeps to RFC 9111, whose routes lead to the origin at base."""
    lines = of_all()
    for option in BEYOND:
        lines += [f"--{option}", "off" if option in ("adaptive", "pause", "moved") else "0"]
    for prefix, words, _ in ROUTES.values():
        lines += ["--route", f"{prefix}={base}/ {words}".strip()]
    return lines


def steady_options(base):
    """Of a utfeed with the options of issue 32, whose routes lead to the origins at base(0, slot)."""
    lines = [*of_all(), "--slow-after", f"{SLOW_MS}ms", "--sniff-bytes", f"{SNIFF}", "--first-byte-timeout", "10s"]
    for slot in range(SLOTS):
        for name, (words, _) in STEADY_ROUTES.items():
            lines += ["--route", f"/s{slot}{name}/={base(0, slot)}/ {words} origin-fields=X-Way:{name}"]
    return lines


def target(way, url, slot=None):
    """(request target, value of Host) by which way asks for url. A proxy of https is asked inside of a CONNECT. slot: of the route's origin."""
    scheme, rest = url.split("://", 1)
    host, path = rest.split("/", 1)
    if way == "gateway":
        return "/" + url, "feeds.test"
    if way == "forward":
        return url if scheme == "http" else "/" + path, host
    return (ROUTES[way][0] if slot is None else f"/s{slot}{way}/") + path, "feeds.test"


def way_of(request):
    """The way by which utfeed asks, of those of STEADY_WAYS, where its request says so."""
    return STEADY_WAYS.get(request.get("x-way") or ("gateway" if "cdn-loop" in request else None))
