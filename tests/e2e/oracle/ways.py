"""The ways into the utfeed under test: its options, what a request looks like on each, and what its operator promised (model.Way).

Must not know: sockets, histories.
"""
from .model import Way

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
    "calm": ("/q/", "client-no-cache=off freshness-floor=60s stale-if-error=300s", {"floor_s": 60, "stale_s": 300}),
}
WAYS = {
    **{name: Way(name, **promises) for name, (_, _, promises) in ROUTES.items()},
    "gateway": Way("gateway", floor_s=300, stale_s=86400, follows=True),
    "forward": Way("forward", keyed=("x-user", "x-api-key")),
}
READS_ONLY = {"gateway"}
# Options by which utfeed does more than RFC 9111 says
BEYOND = ("keep-feed", "error-floor", "slow-after", "reload-floor", "freshness-max", "adaptive", "pause", "moved-max")


def options(base):
    """Of a utfeed whose routes lead to the origin at base."""
    lines = ["--forward-credentials", "on", "--access-log", "off", "--refresh-hot", "2"]
    for option in BEYOND:
        lines += [f"--{option}", "off" if option in ("adaptive", "pause") else "0"]
    for prefix, words, _ in ROUTES.values():
        lines += ["--route", f"{prefix}={base}/ {words}".strip()]
    return lines


def target(way, url):
    """(request target, value of Host) by which way asks for url. A proxy of https is asked inside of a CONNECT."""
    scheme, rest = url.split("://", 1)
    host, path = rest.split("/", 1)
    if way == "gateway":
        return "/" + url, "feeds.test"
    if way == "forward":
        return url if scheme == "http" else "/" + path, host
    return ROUTES[way][0] + path, "feeds.test"
