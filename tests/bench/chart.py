"""The chart: panels of bars and lines as one SVG, written by hand."""
import math
from html import escape

import results

WIDTH, PANEL, LEFT, RIGHT, TOP, BAR, GAP = 960, 470, 118, 12, 40, 11, 8
COLOURS = ("#1f6f54", "#b3b3b3", "#d9a441", "#7a8fb5", "#c4735a", "#8e6fa8")
CEILINGS = ("memcpy",)             # would leave the others no room


def text(x, y, what, size=11, anchor="start", weight="normal", fill="#333"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" fill="{fill}">'
            f'{escape(what)}</text>')


def short(value):
    return f"{value / 1000:.0f}k" if value >= 10000 else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def legend(names, colours, y):
    out, x = [], 8.0
    for name in names:
        out += [f'<rect x="{x:.1f}" y="{y - 8}" width="9" height="9" fill="{colours[name]}"/>', text(x + 13, y, name, 10)]
        x += 24 + 6 * len(name)
    return out


def bars(table, rows):
    """(SVG of one panel, its height): a group of bars a row, each group on its own scale, so that ratios show."""
    names = [name for name in table.contenders() if name not in CEILINGS and any(row.median(name) for row in rows)]
    colours = dict(zip(names, COLOURS))
    out = [text(8, 14, f"{table.title}, {table.unit}", 13, weight="bold")] + legend(names, colours, 30)
    y = TOP
    for row in rows:
        shown = [(name, row.median(name)) for name in names if row.median(name)]
        largest = max(value for _, value in shown)
        out.append(text(LEFT - 6, y + len(shown) * BAR / 2 + 4, row.what, 10, "end"))
        for name, value in shown:
            width = (PANEL - LEFT - RIGHT - 44) * value / largest
            out += [f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 1}" fill="{colours[name]}"/>', text(LEFT + width + 4, y + 9, short(value), 9)]
            y += BAR
        y += GAP
    return out, y


def lines(table):
    """The same for a curve: a point a row, what it is called on a logarithmic axis."""
    names = table.contenders()
    colours = dict(zip(names, COLOURS))
    out = [text(8, 14, f"{table.title}, {table.unit}", 13, weight="bold")] + legend(names, colours, 30)
    height, bottom = 130, TOP + 130
    top = max(row.median(name) or 0 for row in table.rows for name in names) * 1.1
    places = [math.log10(max(1, int(row.what.replace(",", "")))) for row in table.rows]
    span = (max(places) - min(places)) or 1
    xs = [40 + (PANEL - 80) * (place - min(places)) / span for place in places]
    for part in (0, .5, 1):
        y = bottom - height * part
        out += [f'<line x1="40" x2="{PANEL - 20}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>', text(36, y + 4, short(top * part), 9, "end")]
    for x, row in zip(xs, table.rows):
        out.append(text(x, bottom + 14, row.what, 9, "middle"))
    for name in names:
        points = [(x, bottom - height * row.median(name) / top) for x, row in zip(xs, table.rows) if row.median(name)]
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        out.append(f'<polyline fill="none" stroke="{colours[name]}" stroke-width="2" points="{joined}"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colours[name]}"/>' for x, y in points]
    return out, bottom + 26


def chart(facts, tables):
    panels = []
    for table in tables:
        if " by " in table.title:
            panels.append(lines(table))
        elif table.title.startswith(("Decoding", "Hits", "CPU per hit", "Misses")):
            panels.append(bars(table, [row for row in table.rows if "another URL" not in row.what]))
    out, heights = [], [24, 24]
    for panel, height in panels:
        column = heights.index(min(heights))
        out.append(f'<g transform="translate({column * (PANEL + 16)} {heights[column]})">' + "\n".join(panel) + "</g>")
        heights[column] += height + 16
    said = f"utfeed beside others, medians: {facts['date']}, {facts['processor']}"
    size = f'viewBox="0 0 {WIDTH} {max(heights)}" width="{WIDTH}" height="{max(heights)}"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">',
                      '<rect width="100%" height="100%" fill="#fff"/>', text(8, 16, said, 11, fill="#777"), *out, "</svg>\n"])
