"""The origin: what a resource says to a request, by a script that is data. Must not know: sockets, clients, judgements.

A resource is {"specs": [spec, ...]}; "edit" steps lead from one spec to the next, and each spec is another version of the resource.
A spec says status, cc, cdn, vary, etag, lm, expires, age, cookie, kind, enc, items, to, retry, frame, interim, delay, slow, on304: see SPEC.
dated: so many seconds ago its newest item was made. reply: what comes in the place of a response: "hang", "reset", "garbage"; "unasked": a 304
to whoever asks without a condition.
Every body names the exchange that it was made in, in each of its lines; X-Serial names it in every head, also of a 304.
"""
import email.utils

from .records import Exchange, Representation

SPEC = {                    # what a spec says when it says nothing
    "status": 200, "cc": None, "cdn": None, "vary": None, "etag": "strong", "lm": None, "expires": None, "age": None, "cookie": False,
    "kind": "feed", "enc": "utf-8", "items": 2, "to": None, "retry": None, "frame": "length", "interim": 0, "delay": 0, "slow": 0,
    "on304": None, "careless": False, "static": False, "ranges": False, "dated": None, "reply": None,
}
LETTERS = {"utf-8": "é я", "iso-8859-1": "é", "windows-1251": "я", "utf-16": "é я", "koi8-r": "я"}
WORDS = {"hang": None, "reset": b"", "garbage": b"220 ready\r\n\r\n"}       # what leaves before the connection ends; None: nothing does
REASONS = {200: "OK", 206: "Partial Content", 301: "Moved", 302: "Found", 304: "Not Modified", 404: "Not Found", 410: "Gone", 429: "Too Many",
           500: "Error", 503: "Unavailable"}
CONDITIONS = {"if-none-match", "if-modified-since"}
USERS = ("authorization", "cookie", "accept-language", "user-agent", "accept", "x-user", "x-api-key")


def text_of(n, spec, date=""):
    """(the body as text where it is no feed, a feed's text behind its declaration)."""
    if spec["kind"] == "empty":
        return "", None
    if spec["kind"] == "page":
        return f"<!DOCTYPE html><html><head><title>Just a moment... S{n} </title></head>\n" + f"<p>S{n} line\n" * spec["items"] + "</html>\n", None
    if spec["kind"] != "feed":
        return f"S{n} line\n" * spec["items"] + f"S{n} end\n", None
    items = f"<item><title>S{n} {LETTERS[spec['enc']]}</title>{date}</item>\n" * spec["items"]
    return None, f'<rss version="2.0"><channel><title>S{n} </title>\n{items}</channel></rss>\n<!-- S{n} end -->\n'


def represent(n, url, version, spec, date=""):
    """The bytes of representation n, and what utfeed makes of them."""
    text, feed = text_of(n, spec, date)
    if feed is None:
        raw = text.encode("ascii")
        return Representation(n, url, version, raw, raw, False)
    raw = f'<?xml version="1.0" encoding="{spec["enc"]}"?>\n{feed}'.encode(spec["enc"])
    return Representation(n, url, version, raw, f'<?xml version="1.0" encoding="UTF-8"?>\n{feed}'.encode())


def variant(request, vary):
    return tuple((name, request.get(name)) for name in sorted((vary or "").lower().replace(" ", "").split(",")))


class Resource:
    """One URL of the origin."""

    def __init__(self, url, script, world, serials, locate):
        self.url, self.specs, self.world, self.serials, self.locate = url, script["specs"], world, serials, locate
        self.version, self.modified, self.current = 0, {}, {}

    def spec(self):
        return {**SPEC, **self.specs[self.version % len(self.specs)]}

    def edit(self):
        self.version += 1

    def matches(self, spec, request):
        """The representation that the request's validators say the client has, where it still holds: (True, it or None)."""
        tags = request.get("if-none-match")
        if tags is not None:
            for r in self.world.at(self.url):
                r = r.representation
                if r and r.version == self.version and f'"e{r.n}"' in tags.replace("W/", "") and spec["etag"] and \
                        (spec["careless"] or self.made_for(r, spec, request)):
                    return True, r
            return False, None
        since = request.get("if-modified-since")
        if since is None or spec["lm"] is None:
            return False, None
        asked = email.utils.parsedate_to_datetime(since).timestamp()
        return self.last_modified() <= asked, None

    def made_for(self, r, spec, request):
        return variant(self.world.exchanges[r.n].request, spec["vary"]) == variant(request, spec["vary"])

    def last_modified(self):
        return self.modified.get(self.version, 0)

    def answer(self, method, request, asked, now):
        """(the exchange, status line and fields as text, body) to one request."""
        spec = self.spec()
        e = Exchange(next(self.serials), self.url, method, request, asked)
        e.version, e.status = self.version, spec["status"]
        if spec["reply"] in WORDS and method == "GET":
            e.status, e.complete = 0, False
            return e, "", WORDS[spec["reply"]], spec
        # each version is younger than the one before
        self.modified.setdefault(self.version, max(now - (spec["lm"] or 0), max(self.modified.values(), default=0) + 1))
        if method in ("POST", "PUT", "DELETE"):
            e.status = 500 if spec["status"] >= 500 else 200
        elif spec["status"] == 200:
            same, r = self.matches(spec, request)
            if same:
                e.status, e.representation = 304, r
                spec = {**spec, "lm": None, **(spec["on304"] or {})}
                return (e, *self.write(e, spec, None, now), spec)
        if spec["reply"] == "unasked" and method == "GET" and e.status == 200 and not CONDITIONS & set(request):
            e.status = 304
        if e.status in (204, 304):
            return (e, *self.write(e, spec, None, now), spec)
        body = self.represented(e, spec, request, now)
        if spec["frame"] in ("cut", "cutchunk"):
            e.complete, e.sent = False, len(body) - 1
        return (e, *self.write(e, spec, body, now), spec)

    def represented(self, e, spec, request, now):
        """A resource that is static has one representation a version and variant, any other a new one each time."""
        key = (self.version, variant(request, spec["vary"]))
        r = self.current.get(key) if spec["static"] and e.status == 200 else None
        if not r:
            date = "" if spec["dated"] is None else f"<pubDate>{email.utils.formatdate(now - spec['dated'], usegmt=True)}</pubDate>"
            r = represent(e.n, self.url, self.version, spec, date)
            r.newest = None if spec["dated"] is None else now - spec["dated"]
            self.world.representations[e.n] = r
            if spec["static"] and e.status == 200:
                self.current[key] = r
        e.representation = r
        wanted = request.get("range", "")
        if e.status == 200 and spec["ranges"] and wanted.startswith("bytes=") and request.get("if-range", f'"e{r.n}"') == f'"e{r.n}"':
            first, _, last = wanted[6:].partition("-")
            if first.isdigit() and int(first) < len(r.raw):
                e.status = 206
                last = min(int(last) if last.isdigit() else len(r.raw), len(r.raw) - 1)
                e.part = f"bytes {first}-{last}/{len(r.raw)}"
                return r.raw[int(first):last + 1]
        return r.raw

    def write(self, e, spec, body, now):
        """Status line and fields as text, and the body; what of the fields counts is noted in the exchange, times as seconds."""
        found = [("X-Serial", e.n), ("X-Url", e.url), ("Date", email.utils.formatdate(now, usegmt=True)), *self.lifetime(spec, now),
                 *self.validators(e, spec), *extras(e, spec, body)]
        if 300 <= e.status < 400 and e.status != 304 and spec["to"] is not None:
            e.location = self.locate(spec["to"])
            found.append(("Location", e.location))
        times = {"date": now, "last-modified": self.last_modified(), "expires": now + (spec["expires"] or 0)}
        if e.status == 200 and e.representation and e.representation.newest is not None:
            e.fields["newest"] = e.representation.newest
        e.asks = spec["retry"]
        e.fields.update({name.lower(): times.get(name.lower(), value) for name, value in found})
        return "\r\n".join([f"HTTP/1.1 {e.status} {REASONS.get(e.status, 'Other')}", *(f"{name}: {value}" for name, value in found)]), body

    @staticmethod
    def lifetime(spec, now):
        for name, key in (("Cache-Control", "cc"), ("CDN-Cache-Control", "cdn"), ("Vary", "vary"), ("Age", "age"), ("Retry-After", "retry")):
            if spec[key] is not None:
                yield name, spec[key]
        if spec["expires"] is not None:
            yield "Expires", email.utils.formatdate(now + spec["expires"], usegmt=True)

    def validators(self, e, spec):
        if spec["lm"] is not None:
            yield "Last-Modified", email.utils.formatdate(self.last_modified(), usegmt=True)
        if spec["etag"] == "other":
            yield "ETag", f'"x{e.n}"'
        elif spec["etag"] and e.status in (200, 206, 304) and e.representation:
            yield "ETag", ("W/" if spec["etag"] == "weak" else "") + f'"e{e.representation.n}"'


def extras(e, spec, body):
    """What a response may say besides."""
    if e.part:
        yield "Content-Range", e.part
    if spec["cookie"]:
        yield "Set-Cookie", f"sid=from-{e.n}"
    if spec.get("hop"):
        yield from (("Connection", "X-Hop"), ("X-Hop", e.n))
    if spec["ranges"]:
        yield "Accept-Ranges", "bytes"
    if body is not None:
        yield "Content-Type", {"feed": "application/rss+xml", "text": "text/plain", "json": "application/json", "page": "text/html", "empty": "text/xml"}[spec["kind"]]
