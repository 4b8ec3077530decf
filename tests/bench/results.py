"""What was measured: tables of rows, a list of values a contender; medians, ratios, bars; kept as JSON so that reports can be made again."""
import json
import statistics

OURS = "utfeed"
AS_SAID = "as said"                 # the unit of a table whose rows name their own


class Row:
    """One thing measured. better: "more" or "less". A bar is what utfeed is held to: {"against": contender, "times": factor}, utfeed
    being better by that factor, or {"limit": value}. because: what else than utfeed may keep it from being met. group: what rows have in
    common that are one thing under several conditions; among the bars only the worst of them is shown."""

    def __init__(self, what, better, bars=(), values=None, notes=None, because="", group=""):
        self.what, self.better, self.bars, self.because, self.group = what, better, list(bars), because, group
        self.values, self.notes = values or {}, notes or {}

    def add(self, contender, value):
        self.values.setdefault(contender, []).append(value)

    def median(self, contender):
        values = self.values.get(contender)
        return statistics.median(values) if values else None

    def ratio(self, contender):
        """How many times better utfeed is, the median of the turns: what was measured one after the other had the same machine, whose
        speed drifts. None where either was not measured."""
        ours, theirs = self.values.get(OURS, []), self.values.get(contender, [])
        if len(ours) != len(theirs):           # one failed in some turn
            ours, theirs = [self.median(OURS)], [self.median(contender)]
        if not all(ours) or not all(theirs) or not ours:
            return None
        return statistics.median(one / other if self.better == "more" else other / one for one, other in zip(ours, theirs))

    def verdicts(self):
        """(bar, what was reached, whether it is met) for each bar that could be measured."""
        for bar in self.bars:
            if "limit" in bar:
                reached = self.median(OURS)
                met = reached is not None and (reached >= bar["limit"] if self.better == "more" else reached <= bar["limit"])
            else:
                reached = self.ratio(bar["against"])
                met = reached is not None and reached >= bar["times"]
            if reached is not None:
                yield bar, reached, met

    def margin(self):
        """How far the nearest bar is passed; under 1: missed. None where none could be measured."""
        lower = self.better == "less"
        shares = [reached / bar["times"] if "times" in bar else bar["limit"] / reached if lower and reached > 0 else reached / bar["limit"]
                  for bar, reached, _ in self.verdicts()]
        return min(shares, default=None)


class Table:
    def __init__(self, part, title, unit, rows=(), text=""):
        self.part, self.title, self.unit, self.rows, self.text = part, title, unit, list(rows), text

    def row(self, what, better, bars=(), group=""):
        found = next((row for row in self.rows if row.what == what), None)
        if not found:
            found = Row(what, better, bars, group=group)
            self.rows.append(found)
        return found

    def contenders(self):
        return list(dict.fromkeys(contender for row in self.rows for contender in row.values))


def against(contender, times):
    return {"against": contender, "times": times}


def limit(value):
    return {"limit": value}


def save(path, facts, tables):
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"facts": facts, "tables": [{**vars(table), "rows": [vars(row) for row in table.rows]} for table in tables]}, out, indent=1)


def load(path):
    with open(path, encoding="utf-8") as file:
        kept = json.load(file)
    return kept["facts"], [Table(**{**table, "rows": [Row(**row) for row in table["rows"]]}) for table in kept["tables"]]
