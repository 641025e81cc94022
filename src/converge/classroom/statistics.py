"""One page about a class: how the marks are distributed, and which checks most students fail. Nothing is fetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from statistics import mean, median
from textwrap import shorten

from converge.classroom.policy import LabMark
from converge.grader.checks.verdict import Status
from converge.grader.course import Lab

WIDTH, BAR, LABEL = 720, 22, 48
LONGEST_TITLE = 96  # characters of a title that fit
MOST_CHECKS = 20  # on the page; the table has all of them
STYLE = """
:root { color-scheme: light dark; --bar: #3b6fb6; --bad: #c4513f; --grid: #8886 }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse }
td, th { padding: .2rem .8rem; text-align: right; border-bottom: 1px solid var(--grid) }
td:first-child, th:first-child { text-align: left }
svg { width: 100%; height: auto; font: 13px system-ui, sans-serif } text { fill: currentColor }
.bar { fill: var(--bar) } .bad { fill: var(--bad) } line { stroke: var(--grid) }
"""


def page(labs: Sequence[Lab], marks: Mapping[str, Sequence[LabMark]]) -> str:
    """The statistics of a class: `marks` has a mark per lab for each student."""
    shares = [share for each in marks.values() if (share := share_of(each)) is not None]
    return "\n".join(
        [
            "<!doctype html>\n<html lang=en><meta charset=utf-8>",
            "<meta name=viewport content='width=device-width, initial-scale=1'>",
            "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            f"<title>Converge: a class of {len(marks)}</title><style>{STYLE}</style>",
            f"<h1>A class of {len(marks)}</h1>",
            "<h2>Marks</h2>",
            histogram(shares) if shares else "<p>Nobody has been graded yet.</p>",
            "<h2>Labs</h2>",
            lab_table(labs, marks),
            "<h2>What most fail</h2>",
            most_failed(labs, marks),
            "</html>\n",
        ]
    )


def share_of(marks: Sequence[LabMark]) -> float | None:
    """What a student has of all points, from 0 to 1; None for a student without any mark."""
    graded = [mark for mark in marks if mark.counts]
    most = sum(mark.max_points for mark in marks)
    return sum(mark.points for mark in graded) / most if graded and most else None


def histogram(shares: Sequence[float]) -> str:
    """How many students have 0 to 9%, 10 to 19%, … and all of the points, which is a column of its own."""
    names = [f"{ten}0s" if ten else "0s" for ten in range(10)] + ["100"]
    counts = [0] * 11
    for share in shares:
        counts[10 if share >= 1 else int(share * 10)] += 1
    height, step = 160, WIDTH / 11
    tallest = max(counts)
    parts = [f"<line x1=0 x2={WIDTH} y1={height + 20} y2={height + 20} />"]
    for place, (name, count) in enumerate(zip(names, counts, strict=True)):
        tall = height * count / tallest
        middle = step * (place + 0.5)
        left, top = step * place + 6, 20 + height - tall
        parts += [
            f"<rect class=bar x={left:.1f} y={top:.1f} width={step - 12:.1f} height={tall:.1f} />",
            f"<text x={middle:.1f} y={height + 36} text-anchor=middle>{name}</text>",
        ]
        if count:
            parts.append(f"<text x={middle:.1f} y={14 + height - tall:.1f} text-anchor=middle>{count}</text>")
    title = "How many students have which part of the points, in percent"
    return drawn(title, height + 44, parts)


def most_failed(labs: Sequence[Lab], marks: Mapping[str, Sequence[LabMark]]) -> str:
    """A bar per check, the one that most fail first: of those who were graded, how many didn't pass it."""
    rows = [row for row in check_counts(labs, marks) if row[3]]
    rows.sort(key=lambda row: -row[3] / row[2])
    if not rows:
        return "<p>Every check was passed by everyone.</p>"
    parts = []
    for place, (number, title, graded, failed) in enumerate(rows[:MOST_CHECKS]):
        top = place * (BAR + 22)
        wide = (WIDTH - LABEL - 60) * failed / graded
        parts += [
            f"<text x=0 y={top + 14}>{number}</text>",
            f"<text x={LABEL} y={top + 14}>{escape(shorten(title, LONGEST_TITLE, placeholder='…'))}</text>",
            f"<rect class=bad x={LABEL} y={top + 20} width={wide:.1f} height={BAR - 8} />",
            f"<text x={LABEL + wide + 6:.1f} y={top + 31}>{failed} of {graded}</text>",
        ]
    shown = min(len(rows), MOST_CHECKS)
    more = f"<p>{len(rows) - shown} more are in checks.csv.</p>" if len(rows) > shown else ""
    return drawn("How many students didn't pass each check", shown * (BAR + 22), parts) + more


def check_counts(labs: Sequence[Lab], marks: Mapping[str, Sequence[LabMark]]) -> list[tuple[str, str, int, int]]:
    """Number and title of each check, how many were graded, and how many of those didn't pass."""
    rows = []
    for place, lab in enumerate(labs):
        graded = [result for each in marks.values() if (result := each[place].result) and not result.held]
        for number, facts in enumerate(lab.checks, start=1):
            ends = [result.find(facts.name).status for result in graded]
            failed = sum(end not in (Status.PASSED, Status.NEEDS_KIND) for end in ends)
            rows.append((f"{lab.number}.{number}", facts.title, len(graded), failed))
    return rows


def lab_table(labs: Sequence[Lab], marks: Mapping[str, Sequence[LabMark]]) -> str:
    rows = ["<tr><th>lab<th>graded<th>mean<th>median<th>full marks<th>of"]
    for place, lab in enumerate(labs):
        graded = [each[place] for each in marks.values() if each[place].counts]
        points = [mark.points for mark in graded] or [0.0]
        full = sum(mark.points >= mark.max_points for mark in graded)
        rows.append(
            f"<tr><td>{lab.number} {escape(lab.title)}<td>{len(graded)}<td>{mean(points):.1f}<td>{median(points):g}"
            f"<td>{full}<td>{lab.points}"
        )
    return f"<table>{''.join(rows)}</table>"


def drawn(title: str, height: float, parts: Sequence[str]) -> str:
    name = escape(title, quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {height:g}" role=img aria-label="{name}">{"".join(parts)}</svg>'
