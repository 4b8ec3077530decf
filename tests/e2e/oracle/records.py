"""What the oracle knows of one run: requests of clients, exchanges with the origin, purges, and when each of them happened.

Must not know: sockets, how a history came about. Invariant: moments are totally ordered by .seq, for one thread sees both ends of utfeed;
a request's moments are taken before its bytes leave and after its answer is there, an exchange's after its request came and before its
answer leaves. So what the records call earlier was earlier for utfeed too.
"""
import collections

# In order; utfeed's clock in seconds; time that passed, and how much of it the machine had no turn for the oracle
Moment = collections.namedtuple("Moment", "seq wall ms late", defaults=[0])

ORIGIN_ERRORS = (500, 502, 503, 504)
# Besides 5xx: who answers so does not give the feed now (issue 32 part 1)
TROUBLE = {204, 401, 402, 403, 404, 406, 408, 410, 421, 425, 429, 451}
REFUSALS = (401, 402, 403)


class Representation:
    """What a body names: number n, made for one URL in one version. raw: the origin's bytes; normal: what utfeed makes of a feed.
    newest: when its newest item was made, where it says so."""

    def __init__(self, n, url, version, raw, normal, feed=True):
        self.n, self.url, self.version, self.raw, self.normal, self.feed, self.newest = n, url, version, raw, normal, feed, None


class Exchange:
    """One request that utfeed sent and what the origin said. request: fields as received, names in lower case, lines of one name joined."""

    def __init__(self, n, url, method, request, asked):
        self.n, self.url, self.method, self.request, self.asked = n, url, method, request, asked
        self.status, self.fields, self.version = 0, {}, 0
        self.representation = None          # of a 304 to If-None-Match the one it names; to If-Modified-Since alone: None
        self.since = asked                  # the request that it is for came no earlier
        self.complete = True                # the origin said all of it
        self.answered = self.done = None    # its head left, its last byte
        self.delivered = None               # a client had it whole
        self.part = None                    # Content-Range of a 206
        self.location = None                # the URL that a redirect leads to
        self.used_by = set()                # requests that it answered
        self.way = None                     # by which way utfeed asked, where the request says so
        self.sent = 0                       # bytes of the body that left, where it is not complete
        self.asks = None                    # seconds that it asks not to be asked for
        self.paused = False                 # a kept feed answered because of it
        self.known = None                   # when a client had an answer made of it, or of a kept feed because of it
        self.heard = None                   # when a client that waited had a 304, which may be made of it

    @property
    def fails(self):
        return self.status in ORIGIN_ERRORS or not self.complete

    @property
    def is_feed(self):
        return self.status == 200 and self.complete and self.representation is not None and self.representation.feed

    @property
    def trouble(self):
        """The origin did not give the feed that it has elsewhere in time (issue 32 part 1); status 0: no response at all."""
        if not self.complete or self.status in TROUBLE or self.status >= 500 or self.status == 0:
            return True
        if self.status == 304:
            return not {"if-none-match", "if-modified-since"} & set(self.request)
        return 200 <= self.status < 300 and not self.is_feed

    def refuses(self):
        """It refuses what a client's own credentials ask for."""
        return self.status in REFUSALS and "authorization" in self.request


class Request:
    """One request of a client. fields: as sent; forwarded: what the origin gets of such fields on that way in (learnt by a probe)."""

    def __init__(self, n, way, url, method, fields, forwarded, sent):
        self.n, self.way, self.url, self.method, self.fields, self.forwarded, self.sent = n, way, url, method, fields, forwarded, sent
        self.ended = self.left = None       # left: its client did not wait for the answer
        self.kept = False                   # its client was given a kept feed, and nothing of a failure: the fetch may go on

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name]

    def same_lines(self, other):
        """Whether the origin gets the same, line by line, of what this way in makes part of the key: two lines and one that lists both are
        told apart, for an origin may take the first of two."""
        return self.way is other.way and self.forwarded == other.forwarded and all(self.all(name) == other.all(name) for name in self.way.keyed)


class Answer:
    """fields: [(name in lower case, value)]. cut: it ended before it was complete; malformed: why it is no HTTP."""

    def __init__(self, status, fields, body=b"", cut=False, malformed=None):
        self.status, self.fields, self.body, self.cut, self.malformed = status, fields, body, cut, malformed

    def get(self, name):
        return next((value for key, value in self.fields if key == name), None)

    def all(self, name):
        return [value for key, value in self.fields if key == name]

    def own_status(self):
        """utfeed's own member of Cache-Status, its words."""
        for value in reversed(self.all("cache-status")):
            member = value.rsplit(",", 1)[-1]
            return [word.strip() for word in member.split(";")]
        return []


class Removal:
    """A purge or a successful unsafe request. covers(url); soft: stale from then on. ended None: not answered yet; over: nothing is
    done for it any more, whatever the answer was. settles: once it is answered the second store has it (utfeed-cache(7) PURGING).
    pending: the answer was that the second store does not have it yet."""

    def __init__(self, covers, soft, sent, settles=True):
        self.covers, self.soft, self.sent, self.settles, self.ended, self.over, self.pending = covers, soft, sent, settles, None, None, False

    def counts(self, q, world):
        """Whether q comes late enough for it: where utfeeds share a store, the others learn of an unsafe request a little later, or
        much later if the store cannot be reached, which a PURGE of then tells."""
        if self.settles or not world.shared:
            return True
        return self.ended.ms + LATE_MS < q.sent.ms and not any(r.pending and r.over.seq > self.sent.seq for r in world.purges)


LATE_MS = 2000          # within so long utfeed has done what it does behind an answer


class Absence:
    """While nobody listens at a host."""

    def __init__(self, host, since):
        self.host, self.since, self.until = host, since, None


def host_of(url):
    """Scheme, name and port."""
    return url.split("/", 3)[0] + "//" + url.split("/", 3)[2]


class World:
    """Everything of one run. purges: the removals of all who ask this utfeed, in the order of their coming. at(url): the
    exchanges of a URL, in the order of asking. shared: several utfeeds have one store. unsure: what was stored until then may be gone; begun: since then this utfeed runs; reloaded: with
    this configuration; settled: what was whole by then is stored. requests: in the order of their coming; skew: seconds that the clocks of several
    utfeeds may be apart;
    failures: (URL, when) of answers that tell that none came."""

    def __init__(self, shared=False, purges=None):
        self.purges = [] if purges is None else purges
        self.absences, self.requests, self.failures = [], [], []
        self.unsure = self.begun = self.reloaded = self.settled = self.skew = 0
        self.shared, self.exchanges, self.by_url = shared, {}, collections.defaultdict(list)
        self.representations, self.removals, self.answers = {}, [], collections.defaultdict(list)

    def add(self, exchange):
        self.exchanges[exchange.n] = exchange
        self.by_url[exchange.url].append(exchange)

    def since(self, e, step):
        """The earliest moment at which the request that e is for can have come: step. Where a redirect has just led to e's URL, it is for
        the redirect's request, which may have come earlier."""
        led = [x.since for x in self.exchanges.values() if x.location == e.url and x.answered and e.asked.ms < x.answered.ms + LATE_MS]
        return min([step, *led], key=lambda moment: moment.seq)

    def lose(self, now):
        """utfeed was killed: what was on its way into the second store is gone, and what that has is the latest again."""
        self.answers.clear()
        self.removals = [r for r in self.removals if r.settles or (r.ended and r.ended.ms + LATE_MS < now.ms)]

    def at(self, url):
        return self.by_url.get(url, ())
