"""Runs histories, many at once, against one utfeed, and has each answer judged. Must not know: how histories are made or made smaller.

Invariant: a cell is one history with URLs of its own, so what it sees is its own doing, but for the clock, reloads, restarts and what fills the
cache; those are noted in every cell that was under way (Cell.happened), for a history that is run again to have them too.
"""
import collections
import itertools
import random
import time

from .bench import Bench
from .model import judge, judge_asking
from .origin import Resource
from .promises import told_kept
from .records import LATE_MS, Absence, Removal, Request, World, host_of
from .ways import READS_ONLY, SLOTS, STEADY_WAYS, WAYS, target, way_of
from .wire import nothing

NOT_PROBED = {"cache-control", "pragma", "range", "if-none-match", "if-modified-since", "if-range", "accept-encoding"}
STEP_LIMIT_S = 60
FLOOD_COUNT, FLOOD = 24, b"x" * 60000       # together more than the cache holds
QUIET_S = 0.1
PROBE = {"frame": "length", "delay": 0, "slow": 0, "interim": 0}

Wrong = collections.namedtuple("Wrong", "rule section words seed history trace")


class Asking:
    """A request of a client, from its bytes to its answer, or until the client leaves."""

    def __init__(self, cell, op):
        self.cell, self.bench, self.removal, url, way, self.http2 = cell, cell.run.bench, None, cell.url(op["to"]), cell.way(op), cell.over_http2(op)
        method = op.get("method", "GET") if way not in READS_ONLY else "GET"
        path, host = target(way, url, cell.slot)
        fields = [*map(tuple, op.get("with", ())), *cell.condition(op, url), *([("Content-Length", "0")] if method == "POST" else [])]
        self.client = cell.run.client(way, url, self.http2)
        self.q = Request(next(cell.run.requests), cell.run.ways[way], url, method, fields, cell.run.known[cell.shape(op)], self.bench.moment())
        cell.world.requests.append(self.q)
        if method == "POST":
            self.removal = Removal(lambda asked: asked == url, False, self.q.sent, settles=False)
            cell.world.removals.append(self.removal)
            cell.run.purges.append(self.removal)
        cell.note("asks", self.q.n, self.q.sent.seq, method, way, url, fields, "HTTP/2" * self.http2)
        self.client.ask(method, path, [("Host", host), *fields], self.done)
        if "abort" in op:
            self.bench.loop.later(op["abort"] / 1000, self.leave)

    def done(self, answer, client):
        self.q.ended = self.bench.moment()
        if self.cell.run.stopped:
            return
        if self.removal:
            self.removal.over = self.q.ended
            self.removal.ended = self.q.ended if 200 <= answer.status < 400 else None
        self.bench.keep(client)
        self.cell.run.stats["HTTP/2"] += self.http2
        self.q.kept = told_kept(answer) == (True, None)
        self.cell.judged(self.q, answer)
        self.cell.ended()

    def leave(self):
        if self.q.ended:
            return
        self.q.ended = self.q.left = self.bench.moment()
        self.client.done = None
        self.client.close(reset=True)
        self.bench.lost(self.client)
        if self.removal:
            self.bench.loop.later(LATE_MS / 1000, self.is_over)
        self.cell.note("left", self.q.n, self.q.url)
        self.cell.ended()

    def is_over(self):
        self.removal.over = self.bench.moment()


class Cell:
    """One history under way. over(cell) when it has ended; .wrong: the first wrong answer, as (rules, trace)."""

    def __init__(self, run, number, history, seed, over):
        self.run, self.number, self.history, self.seed, self.over = run, number, history, seed, over
        self.world, self.random = World(run.bench.count > 1, run.purges), random.Random(number)
        self.step, self.left, self.steps, self.wrong, self.trace, self.tags = -1, 0, iter(history["steps"]), None, [], {}
        self.happened, self.finished, self.since, self.began = [], False, [run.bench.moment()] * (4 if run.bench.http2 else 2), 0.0
        self.slot = run.slots.pop() if run.steady else None
        self.base = [f"{run.bench.base(n, self.slot)}/c{number}/" for n in (0, 1)]
        self.resources = [Resource(self.url(k), script, self.world, run.serials, self.url) for k, script in enumerate(history["resources"])]
        run.paths.update({resource.url: (self, resource) for resource in self.resources})

    def url(self, k):
        k %= len(self.history["resources"])
        return self.base[self.history["resources"][k].get("origin", 0)] + f"r{k}"

    # Steps

    def go_on(self):
        if self.run.stopped:
            return
        step = next(self.steps, None)
        if self.wrong or step is None:
            self.finish()
            return
        if any(op["do"] in ("restart", "pass") for op in step):
            self.happened.append(step)
            self.run.rest(step, self)
            return                              # Run.rested() goes on
        wanted = {self.shape(op) for op in step if op["do"] == "get"} - set(self.run.known)
        if wanted:
            self.run.probe(wanted, lambda: self.begin(step))
        else:
            self.begin(step)

    def begin(self, step):
        self.step += 1
        self.since = [*self.since[1:], self.run.bench.moment()]     # a fetch may wait for room on a session
        self.happened.append(list(step))
        self.began = time.monotonic()
        self.left = len(step)
        number = self.step
        self.run.bench.loop.later(STEP_LIMIT_S, lambda: self.hangs(number))
        for op in step:
            at = op.get("at", 0)
            if at:
                self.run.bench.loop.later(at / 1000, self.do, op)
            else:
                self.do(op)

    def hangs(self, number):
        if not self.finished and self.step == number and not self.run.stopped:
            self.fail([("answers", "utfeed-cache(7)", f"step {number} has not ended after {STEP_LIMIT_S} s")])
            self.finish()

    def finish(self):
        if not self.finished:
            self.finished = True
            for resource in self.resources:
                self.run.paths.pop(resource.url, None)
            self.run.bench.loop.later(0, self.over, self)

    def ended(self):
        self.left -= 1
        if not self.left and not self.finished:
            self.run.ready(self)

    def fail(self, wrongs):
        if not self.wrong:
            self.wrong = wrongs

    # Operations

    def do(self, op):
        if self.finished or self.run.stopped:
            return
        getattr(self, "do_" + op["do"])(op)

    def do_edit(self, op):
        self.resources[op["to"] % len(self.resources)].edit()
        self.ended()

    def do_tick(self, op):
        self.run.tick(op, self)
        self.ended()

    def do_reload(self, op):
        self.run.bench.reload()
        for cell in self.run.cells:
            cell.world.reloaded = self.run.bench.moment().seq
        self.run.tell(op, self)
        self.ended()

    def do_slow(self, op):
        if self.run.bench.relay:
            self.run.bench.relay.delay = op["ms"] / 1000
        self.run.tell(op, self)
        self.ended()

    def do_away(self, op):
        self.run.bench.away(op["ms"] / 1000)
        self.run.tell(op, self)
        self.ended()

    def do_absent(self, op):
        """A step that has it ends when its host is there again."""
        url = self.url(op["to"])
        n, absence = int(not url.startswith(self.base[0])), Absence(host_of(url), self.run.bench.moment())
        if any(not each.until and each.host == absence.host for each in self.world.absences):
            self.ended()
            return
        self.world.absences.append(absence)
        self.note("absent", absence.since.seq, absence.host)
        for e in self.world.exchanges.values():
            if host_of(e.url) == absence.host and not e.done:
                e.complete = False
        self.run.bench.absent(n, self.slot)

        def back():
            self.run.bench.present(n, self.slot)
            absence.until = self.run.bench.moment()
            self.note("there again", absence.until.seq, absence.host)
            self.ended()
        self.run.bench.loop.later(op["ms"] / 1000, back)

    def do_takeover(self, op):
        self.run.tell(op, self)
        self.run.stats["takeover"] += self.run.bench.count > 1
        self.run.bench.take_over(self.run.random.randrange(self.run.bench.count), self.ended)

    def do_flood(self, op):
        self.run.tell(op, self)
        for cell in self.run.cells:
            cell.world.unsure = self.run.bench.moment().seq
        self.run.flood(self.ended)

    def do_purge(self, op):
        url, word = self.url(op["to"]), op["how"]
        what, soft = word.split(",")[0], "soft" in word
        if what == "prefix":
            url = url.rsplit("/", 1)[0] + "/"
        begin = {"prefix": url, "host": "/".join(url.split("/")[:3]) + "/", "all": ""}.get(what)
        removal = Removal((lambda asked: asked == url) if begin is None else (lambda asked: asked.startswith(begin)), soft, self.run.bench.moment())
        self.world.removals.append(removal)
        self.run.purges.append(removal)
        way = op["way"] if url.startswith(self.base[0]) or op["way"] in ("gateway", "forward") else "gateway"
        path, host = target(way, url, self.slot)

        def done(answer, client):
            self.run.bench.keep(client)
            removal.over = self.run.bench.moment()
            removal.pending = answer.status == 202
            if answer.status == 200:
                removal.ended = self.run.bench.moment()
            self.note("purge", url, word, answer.status)
            self.run.stats[f"purge={answer.status}"] += 1
            self.ended()
        self.run.client(way, url, bool(op.get("http2")) and way != "forward").ask("PURGE", path, [("Host", host), ("X-Purge", word)], done)

    def way(self, op):
        """Routes lead to the first origin alone, and some ways serve no other methods."""
        way = op["way"]
        return "forward" if way not in ("gateway", "forward") and not self.url(op["to"]).startswith(self.base[0]) else way

    def over_http2(self, op):
        """HTTP/2 has no Connection, and utfeed is no forward proxy there."""
        return bool(op.get("http2")) and self.way(op) != "forward" and all(name != "Connection" for name, _ in op.get("with", ()))

    def shape(self, op):
        """What decides what is sent upstream: the way in, the fields, whether it may change anything, and the client's protocol."""
        fields = tuple((name, value) for name, value in op.get("with", ()) if name.lower() not in NOT_PROBED)
        return self.way(op), op.get("method", "GET") == "POST", fields, self.over_http2(op)

    def condition(self, op, url):
        kind = op.get("if")
        if kind == "none":
            return [("If-None-Match", '"nobody"')]
        known = self.tags.get((self.way(op), url), {}).get(kind)
        if not known:
            return []
        return [("If-None-Match", known)] if kind == "tag" else [("If-Modified-Since", known)]

    def do_get(self, op):
        Asking(self, op)

    def judged(self, q, answer):
        wrongs = judge(q, answer, self.world)
        self.run.count(q, answer)
        self.tags[q.way.name, q.url] = {"tag": answer.get("etag"), "date": answer.get("last-modified")}
        self.note("gets", q.n, q.ended.seq, answer.status, "serial", answer.get("x-serial"), answer.get("cache-status"), "age", answer.get("age"),
                  "cut" if answer.cut else "", wrongs or "")
        if wrongs:
            self.fail(wrongs)

    # The origin's side

    def asked(self, resource, upstream, method, request):
        bench = self.run.bench
        e, head, body, spec = resource.answer(method, request, bench.moment(), bench.clock.now)
        e.since, e.way = self.world.since(e, self.since[0]), way_of(request) if self.run.steady else None
        self.world.add(e)
        self.run.stats["fetched HTTP/2"] += upstream.http2
        self.note("origin", e.n, e.asked.seq, method, e.url, e.status, e.fields, {k: v for k, v in request.items() if k not in (
            "host", "via", "accept-encoding", "connection")}, spec["reply"] or "", "" if e.complete else "cut")
        wrongs = judge_asking(e, self.world)
        if wrongs:
            self.note(wrongs)
            self.fail(wrongs)
        self.run.flying += 1

        def began():
            e.answered = bench.moment()

        def over():
            if not e.done:
                self.run.flying -= 1
            e.done = e.done or bench.moment()

        def given_up():
            if not e.done:
                e.complete, e.sent = False, len(body or b"") // 2 if e.answered else 0
                over()
        upstream.say(head, body, spec, method, began, over, given_up)

    def note(self, *words):
        self.trace.append(words)

    def told(self):
        """What happened, a line each."""
        return [" ".join(map(str, words)) for words in self.trace]


class Run:
    """One utfeed and the cells that run against it."""

    def __init__(self, store, workers, more=(), secure=False, steady=False, http2=False, bench=Bench):
        self.serials, self.requests, self.floods, self.probes = (itertools.count(1) for _ in range(4))
        self.paths, self.known, self.waits, self.probing = {}, {}, {}, {}
        self.cells, self.wants_rest, self.resting, self.stopped = set(), [], [], False
        self.turns, self.flying, self.quiet, self.purges = 0, 0, None, []
        self.steady, self.ways, self.slots, self.pending = steady, STEADY_WAYS if steady else WAYS, [], []
        self.restarts = self.kills = False
        self.passing = 0
        self.stats, self.answers, self.random = collections.Counter(), 0, random.Random(0)
        self.bench = bench(store, workers, self.asked, more, secure, steady, http2)
        self.free()

    def client(self, way, url, http2=False):
        """A connection, or a stream, on which way asks for url."""
        inside = url.split("/")[2] if self.bench.secure and way == "forward" else None
        return self.bench.client(self.random.randrange, inside, http2)

    def asked(self, upstream, method, url, request):
        found = self.paths.get(url)
        if found:
            found[0].asked(found[1], upstream, method, request)
            return
        path = url.split("/", 3)[3]
        if path in self.probing:
            self.probing[path].update(request)
        body = FLOOD if path.startswith("flood") else b"gone"
        kind = "max-age=600" if path.startswith("flood") else "no-store"
        upstream.say(f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: {kind}", body, PROBE, method, nothing, nothing)

    # Hosts of their own

    @property
    def probes_at(self):
        """A pair of hosts where nothing fails."""
        return 0 if self.steady else None

    def free(self):
        """All pairs of hosts are free that no cell has. Pauses and redirects of their last use must be gone."""
        had = {cell.slot for cell in self.cells if not cell.finished}
        self.slots = [slot for slot in range(1, SLOTS) if slot not in had]

    # What the origin gets of fields, by asking

    def probe(self, shapes, then):
        left = [len(shapes)]

        def learnt(shape, path, answer, client):
            self.bench.keep(client)
            request = self.probing.pop(path)
            if self.stopped:
                return
            # the clock was put forward while the origin answered; a connection ended, which was another's fault
            if answer.status == 504 and self.steady or answer.status == 502 and self.bench.http2 or answer.cut and self.bench.count > 2:
                return ask(shape)
            assert answer.status == 200 and request, f"probe of {shape}: {answer.status} {answer.body}"
            self.known[shape] = request
            left[0] -= 1
            if not left[0]:
                then()

        def ask(shape):
            path = f"probe{next(self.probes)}"
            self.probing[path] = {}
            where, host = target(shape[0], self.bench.base(0, self.probes_at) + "/" + path, self.probes_at)
            method, length = ("POST", [("Content-Length", "0")]) if shape[1] and shape[0] not in READS_ONLY else ("GET", [])
            self.client(shape[0], self.bench.base(0, self.probes_at) + "/", shape[3]).ask(
                method, where, [("Host", host), *shape[2], *length], lambda answer, client: learnt(shape, path, answer, client))
        for shape in shapes:
            ask(shape)

    # What all cells share

    def tell(self, op, by=None):
        for cell in self.cells:
            if cell is not by and cell.happened and not cell.finished and not cell.wrong:
                at = int((time.monotonic() - cell.began) * 1000)
                cell.happened[-1].append({**op, "at": max(1, min(at, 50)), "foreign": True})

    def tick(self, op, by):
        self.bench.clock.at(self.bench.clock.now - self.bench.clock.start + op["s"])
        for cell in self.cells:
            cell.note("tick", op["s"], self.bench.clock.now)
        self.tell(op, by)

    def flood(self, then, count=FLOOD_COUNT):
        left = [count]

        def done(_, client):
            self.bench.keep(client)
            left[0] -= 1
            if not left[0]:
                then()
        left[0] *= len(self.bench.proxies)
        way = "odd9" if self.steady else "raw"
        for _ in range(left[0]):
            where, host = target(way, f"{self.bench.base(0, self.probes_at)}/flood{next(self.floods)}", self.probes_at)
            self.client(way, "").ask("GET", where, [("Host", host)], done)

    def ready(self, cell):
        """cell is between two steps, or about to begin."""
        if self.wants_rest or self.pending:
            self.resting.append(cell)
        else:
            self.bench.loop.later(0, cell.go_on)

    def rest(self, step, cell):
        """What is done while nobody asks: utfeed begins anew, or time passes."""
        self.restarts |= any(op["do"] == "restart" for op in step)
        self.kills |= any(op.get("kill") for op in step)
        self.passing = next((op["s"] for op in step if op["do"] == "pass"), self.passing)
        self.wants_rest.append(cell)

    def rests(self):
        """Nothing is under way, and utfeed, where publishers fail, has ended what it does behind its answers: it has slept for a while."""
        waits = (self.wants_rest or self.pending) and not self.flying and \
            all(cell.finished or cell in self.wants_rest or cell in self.resting for cell in self.cells)
        if not waits or not self.steady:
            self.quiet = None
            return waits
        rest, now = self.bench.rest_of(), time.monotonic()
        if not self.quiet or rest is None or rest != self.quiet[0]:
            self.quiet = rest, now + QUIET_S
        return now >= self.quiet[1]

    def rested(self):
        """Between the steps of all cells; those that begin meanwhile wait too."""
        settled = self.bench.moment().seq
        restarts, kills, passing = self.restarts or bool(self.pending), self.kills, self.passing
        did = [{"do": "restart", "kill": kills}] * restarts + [{"do": "pass", "s": passing}] * bool(passing)
        for cell in self.wants_rest + self.resting:
            if not cell.finished:
                if cell in self.wants_rest:
                    cell.happened.pop()
                cell.happened.extend([op] for op in did) if cell.happened or cell in self.wants_rest else None
        if passing:
            self.bench.passes(passing)
        if restarts:
            self.bench.restart(kills)
        waiting, self.wants_rest, self.resting, self.quiet = self.wants_rest + self.resting, [], [], None
        self.restarts = self.kills = False
        self.passing = 0
        for cell in waiting:
            cell.note("rested", did, self.bench.clock.now)
            if kills:
                cell.world.lose(self.bench.moment())
            cell.world.settled = settled
            if restarts:
                cell.world.reloaded = cell.world.unsure = cell.world.begun = self.bench.moment().seq
            self.bench.loop.later(0, cell.go_on)
        if restarts:
            self.free()
            pending, self.pending = self.pending, []
            for args in pending:
                self.add(*args)

    def count(self, q, answer):
        self.answers += 1
        own = answer.own_status()
        self.stats[f"{answer.status}"] += 1
        for word in own:
            if word in ("hit", "collapsed", "stored", "detail=kept", "detail=moved") or word.startswith(("fwd=", "fwd-status=304")):
                self.stats[word] += 1
        if q.method == "GET" and answer.cut:
            self.stats["cut"] += 1

    def add(self, number, history, seed, over):
        """A cell, at once or after utfeed began anew, where no hosts are free."""
        if self.steady and not self.slots:
            self.pending.append((number, history, seed, over))
            return
        cell = Cell(self, number, history, seed, over)
        self.cells.add(cell)
        self.ready(cell)

    def turn(self):
        self.bench.loop.turn(0.05)
        if self.rests():
            self.rested()
        self.turns += 1
        died = not self.turns % 64 and self.bench.died()
        if died:
            raise AssertionError(f"utfeed ended: {died.process.poll()}\n{died.err.text()}")

    def close(self):
        self.stopped = True
        self.bench.close()
