"""One self-contained HTML page: every check, its explanation, its timeline. Nothing is fetched, nothing is run."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from converge.grader.course.results import CheckResult, LabResult
from converge.grader.report.text import explain_check

STYLE = """
:root { color-scheme: light dark; --good: #1a7f37; --bad: #cf222e; --wait: #9a6700 }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
details { border-left: 3px solid var(--bad); margin: .4rem 0; padding: .1rem .8rem }
details.passed { border-color: var(--good) } details:is(.not-started, .needs-kind) { border-color: var(--wait) }
summary { cursor: pointer } summary b { float: right; font-weight: normal }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem }
iframe { width: 100%; height: 26rem; border: 1px solid #8884 }
"""


# What a student reads who may have done nothing wrong.
HELD = (
    "In this lab the grader's tools run in the same process as your code. So code with more than such an answer needs "
    "counts after a person has looked at it. You don't have to do anything: how its checks ended is below."
)


def page(labs: list[LabResult], notes: Sequence[str] = ()) -> str:
    """All labs on one page, after what is to be said about them. Whatever a submission printed is escaped."""
    graded = [lab for lab in labs if not lab.held]
    points, most = sum(lab.points for lab in graded), sum(lab.max_points for lab in graded)
    total = f"{points}/{most} points" if graded or not labs else "no grade yet"
    parts = [
        "<!doctype html>\n<html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "frame-src 'self' data:; img-src data:\">",
        f"<title>Converge: {total}</title><style>{STYLE}</style>",
        f"<h1>Converge: {total}</h1>",
        *(f"<p>{escape(note)}</p>" for note in notes),
    ]
    for lab in labs:
        points_of_it = "no grade yet" if lab.held else f"{lab.points}/{lab.max_points} points"
        parts.append(f"<h2>{lab.lab[:2]} {escape(lab.title)}: {points_of_it}</h2>")
        if lab.held:
            parts.append(f"<p>{escape(lab.no_grade)} {HELD}</p>")
        if lab.trouble:
            parts.append(f"<pre>{escape(lab.trouble)}</pre>")
        parts += [check_part(check) for check in lab.checks]
    return "\n".join(parts) + "\n</html>\n"


def timeline_of(check: CheckResult) -> str:
    """The page of a check's timeline, which the result has, or names; nothing if there's none."""
    if is_page(check.timeline):
        return check.timeline
    file = Path(check.timeline)
    return file.read_text(encoding="utf-8") if check.timeline and file.is_file() else ""


def is_page(timeline: str) -> bool:
    """Whether this is a page, and not the path of one."""
    return timeline.startswith("<!doctype html>")


def check_part(check: CheckResult) -> str:
    kind = str(check.status).replace(" ", "-")
    body = "" if check.passed else f"<pre>{escape(explain_check(check, indent=''))}</pre>"
    if not check.passed and check.lesson:
        body += f"<p>Lesson: <code>{escape(check.lesson)}</code></p>"
    if drawn := timeline_of(check):
        body += f'<iframe sandbox title="Timeline" srcdoc="{escape(drawn, quote=True)}"></iframe>'
    is_open = "" if check.passed else " open"
    points = f", {check.points}/{check.max_points}" if check.asked else ""
    return (
        f"<details class={kind}{is_open}><summary>{escape(check.title)} "
        f"<b>{check.status}{points}</b></summary>{body}</details>"
    )
