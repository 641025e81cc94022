"""What Moodle's Virtual Programming Lab reads from standard output: `Comment :=>>` and `Grade :=>>`.

https://vpl.dis.ulpgc.es/documentation/ describes it. VPL looks for these words at the beginning of lines, so nothing
that a submission said may ever begin one.
"""

from __future__ import annotations

import os

from converge.grader.course.results import CheckResult, LabResult
from converge.grader.report.text import explain_check


def output(labs: list[LabResult]) -> str:
    """All labs as one submission, with the grade on the scale of the activity, if there is one."""
    lines: list[str] = []
    for lab in labs:
        lines += comment(f"-{lab.lab[:2]} {lab.title}: {lab.points}/{lab.max_points} points")
        for check in lab.checks:
            lines += described(check)
    if no_grade := next((lab.no_grade for lab in labs if lab.no_grade), ""):
        return "\n".join([*lines, *comment(f"-{no_grade} There is no grade.")]) + "\n"
    points, most = sum(lab.points for lab in labs), sum(lab.max_points for lab in labs)
    return "\n".join([*lines, f"Grade :=>> {scaled(points, most):g}"]) + "\n"


def scaled(points: int, most: int) -> float:
    """Points on the scale that the activity has, which VPL tells its scripts; 0 to 100 if it doesn't."""
    low = float(os.environ.get("VPL_GRADEMIN") or 0)
    high = float(os.environ.get("VPL_GRADEMAX") or 100)
    return round(low + (points / most if most else 0) * (high - low), 2)


def described(check: CheckResult) -> list[str]:
    points = f" ({check.points}/{check.max_points})" if check.asked else ""
    lines = comment(f"{check.status}: {check.number} {check.title}{points}")
    return lines if check.passed else lines + comment(explain_check(check, indent=""), mark=">")


def comment(text: str, mark: str = "") -> list[str]:
    """A comment per line. Marked with ">" it is shown as it is, and with "-" it is a heading."""
    return [f"Comment :=>>{mark}{line}" for line in text.splitlines()]
