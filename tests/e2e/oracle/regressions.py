"""Histories that went wrong once, as the oracle found and shrank them, with the number of their row in the issue that mended them. Data.

(name, rule, store, workers, history)
"""


def get(way, to, *fields, **more):
    return {"do": "get", "way": way, "to": to, "with": [list(field) for field in fields], **more}


def told(*specs, origin=0):
    return {"specs": list(specs), "origin": origin}


DE, FR, A, B = ("Accept-Language", "de"), ("Accept-Language", "fr"), ("X-User", "a"), ("X-User", "b")
TOKEN_A, TOKEN_B = ("Authorization", "Bearer a"), ("Authorization", "Bearer b")
HIDDEN = ("Connection", "X-User")
LATE = 30       # ms that the origin takes, for another client to come meanwhile
THEN = {"at": 5}


def two(way, one, other, **spec):
    """Two clients at once."""
    return {"resources": [told({"delay": LATE, **spec})], "steps": [[get(way, 0, one), get(way, 0, other, **THEN)]]}


def renewed(way="plain", *fields, **on304):
    """A stored response, stale, that a 304 renews; then the next client."""
    return {"resources": [told({"cc": "max-age=5", "on304": {"cc": "max-age=60", **on304}})],
            "steps": [[get(way, 0)], [{"do": "tick", "s": 6}], [get(way, 0, *fields)], [get(way, 0)]]}


def led(way, first, then, **last):
    """A redirect that leads elsewhere later."""
    return {"resources": [told({"status": 302, "to": 1, "kind": "text", **first}, {"status": 302, "to": 2, "kind": "text", **then}),
                          told({"cc": "max-age=31536000", **last}), told({"cc": "max-age=600", "lm": 100000})],
            "steps": [[get(way, 0)], [{"do": "edit", "to": 0}, {"do": "tick", "s": 6}], [get(way, 0)]]}


def paused(way="plain", status=503, tick=6, **spec):
    """The origin asks for a pause; who comes meanwhile."""
    return {"resources": [told({**spec}, {"status": status, "retry": 5, "kind": "text"})],
            "steps": [[get(way, 0)], [{"do": "edit", "to": 0}, {"do": "tick", "s": tick}], [get(way, 0)], [get(way, 0)]]}


def returned(*remove):
    """What is taken away while a lookup in a slow store is on its way."""
    return {"resources": [told({"cc": "max-age=600"}, {"cc": "max-age=600"})],
            "steps": [[get("plain", 0)], [{"do": "flood"}], [{"do": "slow", "ms": 40}], [get("plain", 0), {**remove[0], "at": 15}], [{"do": "slow", "ms": 0}],
                      [get("plain", 0)]]}


def purged_softly_twice():
    """What is stale since a soft purge stays so since then, also in the second store."""
    softly = {"do": "purge", "way": "plain", "to": 0, "how": "url, soft"}
    return {"resources": [told({"cc": "max-age=600"})],
            "steps": [[get("plain", 0)], [softly], [{"do": "tick", "s": 61}], [softly], [{"do": "flood"}],
                      [get("plain", 0, ("Cache-Control", "max-stale=20"))]]}


REGRESSIONS = (
    ("trust_02_language", "selected", "memory", 2, two("plain", DE, FR, cc="max-age=60", vary="Accept-Language")),
    ("trust_02_authorization", "selected", "memory", 2, two("auth", TOKEN_A, TOKEN_B, cc="public, max-age=60", vary="Authorization")),
    ("trust_02_user", "selected", "memory", 1, two("forward", A, B, cc="max-age=60", vary="X-User")),
    ("trust_02_user_agent", "selected", "memory", 1, two("gateway", ("User-Agent", "a"), ("User-Agent", "b"), cc="max-age=60", vary="User-Agent")),
    ("trust_02_set_cookie", "cookie-joined", "memory", 2, two("plain", DE, DE, cc="max-age=60", cookie=True)),
    ("trust_02_set_cookie_without_lifetime", "set-cookie", "memory", 1, two("plain", DE, DE, cc="max-age=0", cookie=True)),
    ("trust_04_private", "private", "memory", 1, renewed(cc="private, max-age=60")),
    ("trust_04_no_store", "no-store", "lmdb", 2, renewed(cc="no-store, max-age=60")),
    ("trust_04_vary", "selected", "memory", 1, renewed("plain", DE, vary="Accept-Language")),
    ("trust_04_vary_all", "vary-all", "redis", 2, renewed(vary="*")),
    ("trust_04_set_cookie", "set-cookie", "memory", 1, {
        "resources": [told({"cc": "max-age=0", "on304": {"cookie": True, "delay": LATE}})], "steps": [[get("plain", 0)], [get("plain", 0), get("plain", 0, **THEN)]]}),
    ("trust_04_hop_by_hop", "hop-by-hop", "memory", 1, renewed(hop=True)),
    ("trust_04_other_etag", "other-etag", "memory", 1, renewed(etag="other")),
    ("trust_05_no_store", "hop-no-store", "memory", 1, led("follow", {"cc": "no-store"}, {})),
    ("trust_05_nothing", "hop-fresh", "memory", 2, led("follow", {}, {})),
    ("trust_05_short", "hop-fresh", "memory", 1, led("gateway", {"cc": "max-age=5"}, {})),
    ("trust_05_vary", "hop-selected", "memory", 1, {
        "resources": [told({"status": 302, "to": 1, "cc": "max-age=60", "vary": "Accept-Language", "kind": "text"}), told({"cc": "max-age=60"})],
        "steps": [[get("follow", 0, DE)], [get("follow", 0, FR)]]}),
    ("trust_05_validators", "body", "memory", 1, led("follow", {"cc": "max-age=5"}, {}, cc="max-age=5", etag=None, lm=50)),
    ("trust_06_purge", "removed", "redis", 1, returned({"do": "purge", "way": "plain", "to": 0, "how": "url"})),
    ("trust_06_post", "removed", "redis", 2, returned(get("plain", 0, method="POST"))),
    ("trust_07_hidden", "selected", "memory", 1, {
        "resources": [told({"cc": "max-age=60", "vary": "X-User"})], "steps": [[get("forward", 0, A, HIDDEN)], [get("forward", 0, A)]]}),
    ("trust_07_doubled", "selected", "memory", 1, {
        "resources": [told({"cc": "max-age=60", "vary": "Accept"})],
        "steps": [[get("plain", 0, ("Accept", "text/a"), ("Accept", "text/b"))], [get("plain", 0, ("Accept", "text/a, text/b"))]]}),
    ("trust_07_no_key", "keyed", "memory", 1, {
        "resources": [told({"cc": "max-age=60"})], "steps": [[get("forward", 0, ("X-Api-Key", "a"))], [get("forward", 0, ("X-Api-Key", "b"))]]}),
    ("purged_softly_twice_redis", "fresh", "redis", 2, purged_softly_twice()),
    ("purged_softly_twice_lmdb", "fresh", "lmdb", 2, purged_softly_twice()),
    ("trust_13_no_cache", "no-cache", "memory", 1, paused(cc="no-cache")),
    ("trust_13_must_revalidate", "fresh", "memory", 2, paused(status=429, cc="max-age=5, must-revalidate")),
    ("trust_13_gateway", "no-cache", "lmdb", 1, paused("gateway", cc="public, max-age=60, no-cache")),
    ("trust_13_window", "fresh", "memory", 1, paused(cc="max-age=5")),
)
