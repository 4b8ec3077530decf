"""The score of a reader: a publisher records all requests of a simulated day, and grades them.

The publisher is one host with the feeds below. utfeed fetches them as a gateway, for clients that this module plays (alone) or for the program
of a real reader (behind). A grade says how many of the requests were right: A all, B 19 of 20, C 4 of 5, D half, F fewer."""
import collections
import email.utils
import gzip
import http.server
import threading

HOUR = 3600
START = 1_799_971_200
CROWD = 50

# change: seconds between two versions, 0: it never changes; control: its Cache-Control; least: seconds between two fetches
Feed = collections.namedtuple("Feed", "change control least")
FEEDS = {"/often.xml": Feed(6 * HOUR, "max-age=1800", 1800), "/quiet.xml": Feed(0, None, 300), "/limited.xml": Feed(900, "max-age=900", 900),
         "/place.xml": Feed(12 * HOUR, "max-age=3600", 3600), "/crowd.xml": Feed(0, "max-age=600", 600)}
MOVED, PLACE = "/moved.xml", "/place.xml"
ASKED = ("/often.xml", "/quiet.xml", MOVED, "/limited.xml")
PAUSE = (6 * HOUR, 9 * HOUR)        # in which /limited.xml answers 429 with Retry-After

# at: seconds since the day began; gap: seconds since the last good response for the path, or None; given: the last validators, or None
Request = collections.namedtuple("Request", "at path query method version connection fields gap given status")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.number = self.server.connected()

    def do_GET(self):
        self.server.answer(self)

    def say(self, status, fields, body=b""):
        self.send_response_only(status)
        for name, value in {"Date": self.server.date(), **fields}.items():
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Publisher(http.server.ThreadingHTTPServer):
    """Listens on a free port of loopback, and uses the clock of the test. /crowd.xml waits for the event gate."""
    request_queue_size = 64
    daemon_threads = True

    def __init__(self, clock):
        super().__init__(("127.0.0.1", 0), Handler)
        self.clock, self.book, self.connections = clock, [], 0
        self.good, self.given = {}, {}
        self.lock, self.gate = threading.Lock(), threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def close(self):
        self.gate.set()
        self.shutdown()
        self.server_close()

    def connected(self):
        with self.lock:
            self.connections += 1
            return self.connections

    def at(self):
        return self.clock.now - self.clock.start

    def date(self, seconds=0):
        return email.utils.formatdate(self.clock.now + seconds, usegmt=True)

    def answer(self, asked):
        path, _, query = asked.path.partition("?")
        status, fields, body = self.decide(path, asked.headers)
        with self.lock:
            now = self.at()
            self.book.append(Request(now, path, query, asked.command, asked.request_version, asked.number, asked.headers,
                                     now - self.good[path] if path in self.good else None, self.given.get(path), status))
            if status in (200, 304):
                self.good[path] = now
                self.given[path] = (fields["ETag"], fields["Last-Modified"])
        if path == "/crowd.xml":
            self.gate.wait(20)
        asked.say(status, fields, body)

    def decide(self, path, asked):
        """(status, fields, body)"""
        now, feed = self.at(), FEEDS.get(path)
        if path == MOVED:
            return 301, {"Location": PLACE}, b""
        if not feed:
            return 404, {"Cache-Control": "no-store"}, b""
        if path == "/limited.xml" and PAUSE[0] <= now < PAUSE[1]:
            return 429, {"Retry-After": str(PAUSE[1] - now)}, b""
        version = now // feed.change if feed.change else 0
        changed = version * feed.change - 3 * 24 * HOUR - now
        fields = {"ETag": f'W/"{path[1:]} {version}"', "Last-Modified": self.date(changed), "Set-Cookie": f"visit={len(self.book)}; Path=/"}
        if feed.control:
            fields["Cache-Control"] = feed.control
        if asked["If-None-Match"] == fields["ETag"]:
            return 304, fields, b""
        body = f'<rss version="2.0"><channel><title>{path}</title><item><title>{version}</title></item></channel></rss>'.encode()
        fields["Content-Type"] = "application/rss+xml"
        if "gzip" in asked.get("Accept-Encoding", ""):
            return 200, {**fields, "Content-Encoding": "gzip"}, gzip.compress(body)
        return 200, fields, body


def again(book):
    return [request for request in book if request.given]


def feeds(book):
    return [request for request in book if request.path in FEEDS]


def in_pause(book):
    """The requests within the pause that the first 429 asked for."""
    first = next((request.at for request in book if request.status == 429), PAUSE[1])
    return [request for request in book if first < request.at < PAUSE[1]]


def of_one_moment(book):
    """(request, the connections of earlier requests at the same time), if there are any."""
    pairs, used, moment = [], set(), None
    for request in book:
        if request.at != moment:
            used, moment = set(), request.at
        if used:
            pairs.append((request, set(used)))
        used.add(request.connection)
    return pairs


def conditions(request):
    return request.fields["If-None-Match"], request.fields["If-Modified-Since"]


def is_reserved(request):
    return not any(name in request.fields for name in ("Cookie", "Referer", "Origin", "Forwarded", "X-Forwarded-For"))


# Line: the function that picks requests of the book, and the one that judges a request
LINES = {
    "asks with a condition, each time but the first": (again, lambda request: any(conditions(request))),
    "sends both validators, byte for byte": (again, lambda request: conditions(request) == request.given),
    "sends no condition on the first time": (lambda book: [request for request in feeds(book) if not request.given],
                                             lambda request: not any(conditions(request))),
    "asks no more often than a lifetime allows": (lambda book: [request for request in feeds(book) if request.gap is not None],
                                                  lambda request: request.gap >= FEEDS[request.path].least),
    "obeys Retry-After, for the whole host": (lambda book: in_pause(book) or [None], lambda request: request is None),
    "sends no cookie, no referrer, nobody's address": (list, is_reserved),
    "asks for what was linked, with no query of its own": (list, lambda request: not request.query and request.status != 404),
    "takes gzip": (feeds, lambda request: "gzip" in request.fields.get("Accept-Encoding", "")),
    "speaks HTTP/1.1": (list, lambda request: request.version == "HTTP/1.1"),
    "keeps its connection": (of_one_moment, lambda pair: pair[0].connection in pair[1]),
    "remembers a permanent redirect": (lambda book: [request for request in book if request.path == MOVED][1:] or [None],
                                       lambda request: request is None),
}
CROWDED = "fetches once for a crowd"


def grade(right, of):
    share = right / of if of else 0
    return next(letter for letter, least in (("A", 1), ("B", .95), ("C", .8), ("D", .5), ("F", 0)) if share >= least)


def grades(book):
    """{line: (grade, right, of)}"""
    found = {}
    for line, (pick, is_right) in LINES.items():
        picked = pick(book)
        right = sum(map(bool, map(is_right, picked)))
        found[line] = grade(right, len(picked)), right, len(picked)
    return found


RUDE = (("User-Agent: one", "Cookie: me=1", "Referer: http://page.example/"), ("User-Agent: two", "Accept: text/html"),
        ("User-Agent: three", "Origin: http://page.example", "X-Forwarded-For: 192.0.2.7"))


def alone(publisher, utfeed, clock, step=600, hours=24):
    """A day of clients with bad manners. Returns the grades, and (time, path, status) for each client that got no feed."""
    unserved = []
    for time in range(0, hours * HOUR, step):
        put_forward(clock, time)
        for path in ASKED:
            for fields in RUDE:
                got = utfeed.get(f"/{publisher.url}{path}", *fields)
                if got.status != 200:
                    unserved.append((time, path, got.status))
    return grades(publisher.book), unserved


def crowd(publisher, utfeed):
    """Clients ask for one feed at the same time. The grade is A if all get it and the publisher sees one request."""
    clients = [utfeed.client() for _ in range(CROWD)]
    for client in clients:
        client.ask(f"/{publisher.url}/crowd.xml")
    publisher.gate.set()
    served = sum(client.response().status == 200 for client in clients)
    fetched = sum(request.path == "/crowd.xml" for request in publisher.book)
    return {CROWDED: (grade(1, 1) if served == CROWD and fetched == 1 else "F", served, CROWD)}


def behind(publisher, utfeed, clock, poll, step=HOUR // 2):
    """A day of a reader's program: poll(urls) runs it once. Returns the grades."""
    urls = [f"http://127.0.0.1:{utfeed.port}/{publisher.url}{path}" for path in ASKED]
    for time in range(0, 24 * HOUR, step):
        put_forward(clock, time)
        poll(urls)
    return grades(publisher.book)


def put_forward(clock, time):
    clock.at(time)
    clock.ahead(time)
