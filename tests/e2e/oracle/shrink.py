"""Makes a history that ends in a wrong answer smaller, as long as a rule of the same name is broken. Must not know: what the rules are.

Invariant: what is given back has been seen to go wrong, in its last run. Delta debugging: steps in ever smaller pieces, then operations, then
what they and the resources say, each left out where it can be.
"""
import copy
import itertools
import time

from .run import Run


class Replay:
    """Runs histories one at a time against one utfeed. finds(): whether one of the tries broke rule (None: any)."""

    def __init__(self, store, workers, rule=None, secure=False, steady=False, http2=False):
        self.run, self.rule, self.numbers, self.last = Run(store, workers, secure=secure, steady=steady, http2=http2), rule, itertools.count(1), None

    def once(self, history):
        ended = []
        self.run.add(next(self.numbers), history, 0, ended.append)
        while not ended:
            self.run.turn()
        self.run.cells.discard(ended[0])
        return ended[0]

    def finds(self, history, tries=3):
        for _ in range(tries):
            cell = self.once(history)
            if cell.wrong and self.rule in (None, *(rule for rule, _, _ in cell.wrong)):
                self.last = cell
                return True
        return False

    def close(self):
        self.run.close()


def without(history, path):
    """A copy of history, what path leads to taken out."""
    made = copy.deepcopy(history)
    at = made
    for name in path[:-1]:
        at = at[name]
    del at[path[-1]]
    return made


def sliced(history, first, last):
    return {**history, "steps": history["steps"][:first] + history["steps"][last:]}


def fewer_steps(history, try_it):
    size = max(1, len(history["steps"]) // 2)
    while size:
        at = 0
        while at < len(history["steps"]):
            smaller = sliced(history, at, at + size)
            if try_it(smaller):
                history = smaller
            else:
                at += size
        size //= 2
    return history


def places(history):
    """What may be left out, coarse first: operations, their words, their fields, specs from the last one, their words, steps left empty."""
    for i, step in enumerate(history["steps"]):
        yield from (("steps", i, j) for j in range(len(step)))
    for k, resource in enumerate(history["resources"]):
        yield from (("resources", k, "specs", j) for j in reversed(range(1, len(resource["specs"]))))
        yield from (("resources", k, "specs", j, name) for j, spec in enumerate(resource["specs"]) for name in spec)
    for i, step in enumerate(history["steps"]):
        for j, op in enumerate(step):
            yield from (("steps", i, j, name) for name in op if name in ("abort", "if", "method", "at", "http2", "foreign"))
            yield from (("steps", i, j, "with", n) for n in range(len(op.get("with", ()))))


def fewer_words(history, try_it):
    tried = set()
    while True:
        for path in places(history):
            smaller = without(history, path)
            smaller["steps"] = [step for step in smaller["steps"] if step]
            if str(smaller) in tried:
                continue
            tried.add(str(smaller))
            if try_it(smaller):
                history = smaller
                break
        else:
            return history


def readings(history):
    """How what other cells did to the clock and the cache may have come between: when it was noted, before the step, not at all."""
    yield history
    yield {**history, "steps": [[op for op in step if "foreign" not in op] for step in history["steps"]]}
    steps = []
    for step in history["steps"]:
        steps += [[{**op, "at": 0}] for op in step if "foreign" in op] + [[op for op in step if "foreign" not in op]]
    yield {**history, "steps": steps}


def shrink(finding, seconds=60):
    """finding, its history and trace smaller; as it is where it does not come again."""
    replay, until = Replay(finding.store, finding.workers, finding.rule, finding.secure, finding.steady, finding.http2), time.monotonic() + seconds
    try:
        again = next((history for history in readings(finding.history) if replay.finds(history, 10)), None)
        if not again:
            finding.trace.append("(run alone 30 times it does not come again)")
            return finding

        def try_it(smaller):
            return time.monotonic() < until and bool(smaller["steps"]) and replay.finds(smaller)
        finding.history = fewer_words(fewer_steps(again, try_it), try_it)
        if replay.finds(finding.history, 10):
            finding.trace, finding.wrong = replay.last.told(), replay.last.wrong
    finally:
        replay.close()
    return finding
