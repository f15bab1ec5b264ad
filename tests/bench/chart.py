# SPDX-License-Identifier: MIT
"""chart.py - line charts side by side, on one logarithmic scale, as SVG.

Light or dark as the reader's system is; every line has a colour and a mark of its own, so that
neither is needed to tell them apart. Nothing but text: the picture is committed and compared.
"""
import math
from xml.sax.saxutils import escape

LIGHT = ("#0b63c5", "#d6208f", "#12805c", "#7a52b3", "#b8500b", "#8a6d00", "#5b6472", "#b3261e")
DARK = ("#5aa9ff", "#ff7cc4", "#4fc79a", "#b696ea", "#f0944d", "#d9b43a", "#9aa5b4", "#ff8a80")
PANEL_WIDTH, PANEL_HEIGHT = 210, 190
LEFT, RIGHT, TOP, BOTTOM = 42, 14, 34, 34      # inside each panel
COLUMNS = 4
HEAD = 30
LEGEND_LINE = 20
MEAN = "mean"                                   # a label that no line leads to
TICKS = [step * 10 ** power for power in range(-3, 7) for step in (1, 2, 5)]


def style():
    def rules(ground, text, line, colours):
        marks = "".join(f".l{i}{{stroke:{colour}}}.m{i}{{fill:{colour}}}"
                        for i, colour in enumerate(colours))
        return (f".ground{{fill:{ground}}}text{{fill:{text}}}.grid{{stroke:{line}}}" + marks)
    return ("<style>text{font:12px system-ui,sans-serif}.small{font-size:10.5px}"
            ".head{font-size:14px;font-weight:600}.line{fill:none;stroke-width:1.6}" +
            rules("#ffffff", "#1b1f26", "#dce0e6", LIGHT) +
            "@media(prefers-color-scheme:dark){" +
            rules("#14171c", "#e4e8ee", "#323944", DARK) + "}</style>")


def mark(number, x, y):
    """A shape of about 7 by 7 around the point."""
    shapes = ("M-3.5-3.5h7v7h-7z", "M0-4.5L4 3H-4z", "M0-4.5L4.5 0 0 4.5-4.5 0z",
              "M0 4.5L4-3H-4z", "M-4-1.2h2.8V-4h2.4v2.8H4v2.4H1.2V4h-2.4V1.2H-4z",
              "M-4-4l4 2 4-2-2 4 2 4-4-2-4 2 2-4z", "M-4-1.5h8v3h-8z")
    shape = f'<path class="m{number}" d="{shapes[number - 1]}"' if number else \
        f'<circle class="m{number}" r="3.6"'
    return f'{shape} transform="translate({x:.1f} {y:.1f})"/>'


def text(x, y, words, kind="", anchor="start"):
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{kind} text-anchor="{anchor}">{escape(words)}</text>'


class Scale:
    """From the smallest to the largest value of all panels, upwards and logarithmic."""

    def __init__(self, panels):
        values = [value for _, lines in panels for line in lines.values() for value in line
                  if value]
        self.low, self.high = min(values, default=1) * 0.93, max(values, default=2) * 1.08
        if self.high < self.low * 1.5:
            self.high = self.low * 1.5

    def y(self, value):
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return TOP + (PANEL_HEIGHT - TOP - BOTTOM) * (1 - share)

    def ticks(self):
        return [tick for tick in TICKS if self.low <= tick <= self.high]


def column_x(number, count):
    room = PANEL_WIDTH - LEFT - RIGHT
    return LEFT + room * (number + 0.5) / count


def panel(title, lines, labels, names, scale):
    parts = [text(LEFT, TOP - 12, title)]
    for tick in scale.ticks():
        y = scale.y(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{PANEL_WIDTH - RIGHT}"/>')
        parts.append(text(LEFT - 5, y + 3.5, f"{tick:g}", "small", "end"))
    parts += [text(column_x(i, len(labels)), PANEL_HEIGHT - BOTTOM + 16, label, "small", "middle")
              for i, label in enumerate(labels)]
    for number, name in enumerate(names):
        points = [(column_x(i, len(labels)), scale.y(value))
                  for i, value in enumerate(lines.get(name, ())) if value]
        joined = points if labels[-1] != MEAN else points[:-1]
        way = "L".join(f"{x:.1f} {y:.1f}" for x, y in joined)
        if len(joined) > 1:
            parts.append(f'<path class="line l{number}" d="M{way}"/>')
        parts += [mark(number, x, y) for x, y in points]
    return "".join(parts)


def legend(names, x, y):
    parts = []
    for number, name in enumerate(names):
        line = y + number * LEGEND_LINE
        parts.append(f'<path class="line l{number}" d="M{x} {line:.1f}h26"/>')
        parts.append(mark(number, x + 13, line))
        parts.append(text(x + 34, line + 4, name))
    return "".join(parts)


def draw(title, panels, labels, names):
    """panels: (title, {name: a value or None for each label}); names: at most eight, in order.
    The legend is in the first free place of the grid. Returns the picture."""
    rows = math.ceil((len(panels) + 1) / COLUMNS)
    width, height = COLUMNS * PANEL_WIDTH, HEAD + rows * PANEL_HEIGHT
    scale = Scale(panels)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             f'width="{width}" height="{height}" role="img">', f"<title>{escape(title)}</title>",
             style(), f'<rect class="ground" width="{width}" height="{height}"/>',
             text(LEFT - 26, 22, title, "head")]
    for number, (name, lines) in enumerate(panels):
        x, y = number % COLUMNS * PANEL_WIDTH, HEAD + number // COLUMNS * PANEL_HEIGHT
        parts.append(f'<g transform="translate({x} {y})">' +
                     panel(name, lines, labels, names, scale) + "</g>")
    free = len(panels)
    parts.append(legend(names, free % COLUMNS * PANEL_WIDTH + 22,
                        HEAD + free // COLUMNS * PANEL_HEIGHT + TOP - 12))
    return "\n".join(parts) + "\n</svg>\n"
