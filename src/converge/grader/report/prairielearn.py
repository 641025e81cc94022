"""PrairieLearn's `results.json` of an external grader: https://docs.prairielearn.com/externalGrading/."""

from __future__ import annotations

import json
from typing import Any

from converge.grader.course.results import CheckResult, LabResult
from converge.grader.report.text import explain_check

LARGEST_REPORT = 900_000  # bytes; PrairieLearn takes 1 MB
LONGEST_EXPLANATION = 8_000  # characters of one explanation, where all of them would be too large


def results(labs: list[LabResult]) -> str:
    """All labs as one submission, with a score from 0 to 1.

    What has no grade costs no attempt: an error of ours, a file that is held or that isn't Python.
    """
    if trouble := what_is_wrong(labs):
        return json.dumps({"gradable": False, "format_errors": [trouble], "message": trouble}, indent=2) + "\n"
    made = document(labs)
    if len(made.encode()) > LARGEST_REPORT:
        made = document(labs, LONGEST_EXPLANATION)
    return made if len(made.encode()) <= LARGEST_REPORT else document(labs, 0)


def what_is_wrong(labs: list[LabResult]) -> str:
    """Why there is nothing to grade; empty if there is."""
    if no_grade := next((lab.no_grade for lab in labs if lab.no_grade), ""):
        return f"{no_grade} This attempt doesn't count. Please tell your instructor."
    broken = {check.cause: check for lab in labs for check in lab.checks}.get("does not parse")
    return str(broken.parts.get("message", "")) if broken else ""


def document(labs: list[LabResult], longest: int | None = None) -> str:
    points, most = sum(lab.points for lab in labs), sum(lab.max_points for lab in labs)
    return (
        json.dumps(
            {
                "gradable": True,
                "score": points / most if most else 0.0,
                "message": f"{points}/{most} points",
                "tests": [test(check, longest) for lab in labs for check in lab.checks if check.asked],
            },
            indent=2,
        )
        + "\n"
    )


def test(check: CheckResult, longest: int | None) -> dict[str, Any]:
    explained = "" if check.passed else explain_check(check, indent="")
    return {
        "name": f"{check.number} {check.title}",
        "points": check.points,
        "max_points": check.max_points,
        "message": str(check.status),
        "output": explained if longest is None else explained[:longest],
    }
