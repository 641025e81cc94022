"""How operators grow with what they look after: a plot and a table of ``benchmarks/results.json``.

``::scale plot`` has a panel for time, memory and requests, both axes logarithmic: what grows in step with the number of
WebApps is a straight line that rises like the dotted one. ``::scale table`` has the same figures in words.
"""

import json
import math
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROW = re.compile(r"(?P<count>[\d,]+) WebApps, (?P<measure>\w+), (?P<who>[\w-]+)")
MEASURES = {"time": "time in seconds", "memory": "memory in MB", "requests": "requests"}
WIDTH, HEIGHT = 760, 330
PANEL, LEFT, RIGHT, TOP, BOTTOM = WIDTH / 3, 44, 12, 62, 40
STYLE = """
.axis { stroke: currentColor; opacity: .55 }
.grid { stroke: currentColor; opacity: .13 }
.linear { stroke: currentColor; stroke-dasharray: 2 5; opacity: .6; fill: none }
text { fill: currentColor; font-size: 13px }
.strong { font-weight: 700 }
.middle { text-anchor: middle }
.end { text-anchor: end }
.first { stroke: #3f51b5; fill: #3f51b5 }
.second { stroke: #d84300; fill: #d84300 }
.third { stroke: #2e7d32; fill: #2e7d32 }
[data-md-color-scheme="slate"] & .first { stroke: #9fa8da; fill: #9fa8da }
[data-md-color-scheme="slate"] & .second { stroke: #ffb74d; fill: #ffb74d }
[data-md-color-scheme="slate"] & .third { stroke: #81c784; fill: #81c784 }
.line { fill: none; stroke-width: 2.5 }
"""
COLORS = ("first", "second", "third")
# Not by colour alone: a circle, a square and a triangle.
MARKS = (
    '<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>',
    '<rect x="{left:.1f}" y="{top:.1f}" width="9" height="9"/>',
    '<path d="M{x:.1f} {top:.1f} l5 9 h-10 z"/>',
)


@dataclass(frozen=True)
class Figures:
    """What was measured: for each operator and measure, a value by number of WebApps."""

    values: dict[str, dict[str, dict[int, float]]]  # measure, operator, count

    @property
    def operators(self) -> list[str]:
        return list(next(iter(self.values.values())))

    @property
    def counts(self) -> list[int]:
        return sorted({count for each in self.values.values() for one in each.values() for count in one})


def render(root: Path, name: str) -> str:
    """The plot as SVG, or the table as Markdown."""
    made = {"plot": plot, "table": table}
    if name not in made:
        raise ValueError(f"::scale {name} is not known; there are {', '.join(made)}")
    return made[name](read(root / "benchmarks" / "results.json"))


def read(results: Path) -> Figures:
    """The rows that ``python -m benchmarks scale`` has written down."""
    values: dict[str, dict[str, dict[int, float]]] = {}
    for row in json.loads(results.read_text()):
        if found := ROW.fullmatch(row["name"]):
            by_operator = values.setdefault(found["measure"], {})
            by_operator.setdefault(found["who"], {})[int(found["count"].replace(",", ""))] = row["value"]
    if set(values) != set(MEASURES):
        raise ValueError(f"{results.name} has no scale in it: run `python -m benchmarks scale`")
    return Figures(values)


def table(figures: Figures) -> str:
    """Markdown: a row for each number of WebApps and operator."""
    lines = ["| WebApps | operator | time | memory | requests |", "|---:|---|---:|---:|---:|"]
    for count in figures.counts:
        for operator in figures.operators:
            seconds, megabytes, requests = (figures.values[measure][operator].get(count) for measure in MEASURES)
            if seconds is not None:
                lines.append(f"| {count:,} | {operator} | {seconds:,.1f} s | {megabytes:,.0f} MB | {requests:,.0f} |")
    return "\n".join(lines)


def plot(figures: Figures) -> str:
    """One SVG with a panel for each measure."""
    panels = "".join(
        f'<g transform="translate({number * PANEL:.1f} 0)">{_panel(figures, measure)}</g>'
        for number, measure in enumerate(MEASURES)
    )
    words = f"Time, memory and requests for {', '.join(f'{each:,}' for each in figures.counts)} WebApps"
    style = f"<style>.scale-plot {{ {STYLE} }}</style>"
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">'
    svg = f"{opening}{style}{_legend(figures)}{panels}</svg>"
    return f'<div class="drawing scale-plot" role="region" tabindex="0" aria-label="{words}">{svg}</div>'


def _legend(figures: Figures) -> str:
    parts, x = [], float(LEFT)
    for number, operator in enumerate(figures.operators):
        parts.append(f'<g class="{COLORS[number]}">{_mark(number, x, 14)}</g>')
        parts.append(f'<text x="{x + 10:.1f}" y="19">{escape(operator)}</text>')
        x += 34 + 8 * len(operator)
    parts.append(f'<path class="linear" d="M{x:.1f} 14 h26"/><text x="{x + 34:.1f}" y="19">ten times for ten</text>')
    return "".join(parts)


def _panel(figures: Figures, measure: str) -> str:
    series = figures.values[measure]
    across = _Axis(figures.counts, LEFT, PANEL - RIGHT)
    up = _Axis([value for each in series.values() for value in each.values()], HEIGHT - BOTTOM, TOP)
    parts = [f'<text class="strong" x="{LEFT}" y="{TOP - 14}">{MEASURES[measure]}</text>']
    for value in up.ticks():
        y = up.place(value)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f} H{PANEL - RIGHT:.1f}"/>')
        parts.append(f'<text class="end" x="{LEFT - 5}" y="{y + 4:.1f}">{_short(value)}</text>')
    for count in figures.counts:
        x = across.place(count)
        parts.append(f'<path class="axis" d="M{x:.1f} {HEIGHT - BOTTOM} v5"/>')
        if count != 5000 or len(figures.counts) < 4:  # its number would run into the next
            parts.append(f'<text class="middle" x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}">{_short(count)}</text>')
    parts.append(f'<path class="axis" d="M{LEFT} {HEIGHT - BOTTOM} H{PANEL - RIGHT:.1f}"/>')
    parts.append(_straight(series, across, up))
    for number, values in enumerate(series.values()):
        places = [(across.place(count), up.place(value)) for count, value in sorted(values.items())]
        path = " ".join(f"{'L' if index else 'M'}{x:.1f} {y:.1f}" for index, (x, y) in enumerate(places))
        marks = "".join(_mark(number, x, y) for x, y in places)
        parts.append(f'<g class="{COLORS[number]}"><path class="line" d="{path}"/>{marks}</g>')
    return "".join(parts)


def _straight(series: dict[str, dict[int, float]], across: "_Axis", up: "_Axis") -> str:
    """A line from the lowest first point that rises in step with the number of WebApps, as far as the panel goes."""
    count, value = min((min(each.items()) for each in series.values()), key=lambda point: point[1])
    factor = min(across.highest / count, up.highest / value)
    ends = ((count, value), (count * factor, value * factor))
    (x, y), (to_x, to_y) = ((across.place(each), up.place(height)) for each, height in ends)
    return f'<path class="linear" d="M{x:.1f} {y:.1f} L{to_x:.1f} {to_y:.1f}"/>'


def _mark(number: int, x: float, y: float) -> str:
    return MARKS[number].format(x=x, y=y, left=x - 4.5, top=y - 4.5)


def _short(value: float) -> str:
    """``0.1``, ``100``, ``10k``."""
    return f"{value / 1000:g}k" if value >= 1000 else f"{value:g}"


class _Axis:
    """A logarithmic axis with a little room below the lowest value and above the highest."""

    def __init__(self, values: list[int] | list[float], start: float, end: float) -> None:
        self.lowest, self.highest = min(values) / 1.3, max(values) * 1.3
        self._start, self._end = start, end

    def place(self, value: float) -> float:
        share = math.log(value / self.lowest) / math.log(self.highest / self.lowest)
        return self._start + share * (self._end - self._start)

    def ticks(self) -> list[float]:
        """The powers of ten on the axis; where there are fewer than three, two and five times each as well."""
        exponents = range(math.floor(math.log10(self.lowest)), math.ceil(math.log10(self.highest)) + 1)
        for steps in ((1,), (1, 2, 5)):
            found = [step * 10.0**exponent for exponent in exponents for step in steps]
            found = [value for value in found if self.lowest <= value <= self.highest]
            if len(found) >= 3:
                break
        return found
