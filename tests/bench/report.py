"""Tables as Markdown: one of all bars, which the README beside this file carries, then everything that was measured."""
import results

BEGIN, END = "<!-- make bench-readme: from here", "<!-- make bench-readme: to here -->"


def number(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def markdown(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def worst(table):
    """(row, how many it stands for) of each row or group of rows that has bars, in their order."""
    groups = {}
    for row in table.rows:
        if row.margin() is not None:
            groups.setdefault(row.group or row.what, []).append(row)
    return [(min(rows, key=results.Row.margin), len(rows)) for rows in groups.values()]


def bars(tables):
    """One line a row that has bars, or a group of them; several bars of a row stand beside each other."""
    rows = []
    for table in tables:
        for row, count in worst(table):
            cells = []
            for bar, reached, met in row.verdicts():
                if "limit" in bar:
                    cells.append(("-", "-", ("at least " if row.better == "more" else "at most ") + f"{bar['limit']:g}", met))
                else:
                    cells.append((f"{bar['against']} {number(row.median(bar['against']))}", f"{reached:.2f}", f"{bar['times']:g}", met))
            if cells:
                beside, ratio, wanted, met = zip(*cells)
                unit = f" ({table.unit})" if table.unit != results.AS_SAID else ""
                no = "**no**" + (f": {row.because}" if row.because else "")
                of = f", the worst of {count}" if count > 1 else ""
                rows.append([f"{table.title}, {row.what}{of}{unit}", number(row.median(results.OURS)), "; ".join(beside), "; ".join(ratio),
                             "; ".join(wanted), "; ".join("yes" if one else no for one in met)])
    return markdown(["what", "utfeed", "beside", "times better", "bar", "met"], rows)


def whole(table):
    names = table.contenders()
    rows = []
    for row in table.rows:
        cells = [row.what, *(number(row.median(name)) + (f" ({row.notes[name]})" if name in row.notes else "") for name in names)]
        cells += [f"{row.ratio(name):.2f}" if row.ratio(name) else "-" for name in names if name != results.OURS]
        rows.append(cells)
    head = [table.unit, *names, *(f"times better than {name}" for name in names if name != results.OURS)]
    return f"### {table.title}\n\n{' '.join(table.text.split())}\n\n" + markdown(head, rows)


def facts_text(facts):
    return "".join(f"- {key}: {value}\n" for key, value in facts.items())


def report(facts, tables):
    note = "Contenders take turns; medians of these, of ratios too: each is of one turn. Compare ratios, not figures of different runs."
    return "\n".join(["# utfeed: make bench\n", facts_text(facts), note, "\n![chart](chart.svg)\n\n## Bars\n", bars(tables), "## Everything\n",
                      *map(whole, tables)])


def into_readme(path, facts, tables):
    """Replaces what stands between README's two marks."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise SystemExit(f"{path} has not both marks: {BEGIN} ... {END}")
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"{before}{BEGIN} -->\n\n{facts_text(facts)}\n{bars(tables)}\n![make bench](chart.svg)\n\n{END}{after}")
