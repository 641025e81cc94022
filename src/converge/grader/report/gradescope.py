"""Gradescope's `results.json`: https://gradescope-autograders.readthedocs.io/en/latest/specs/."""

from __future__ import annotations

import json
from typing import Any

from converge.grader.course.results import CheckResult, LabResult
from converge.grader.report.text import explain_check


def results(labs: list[LabResult]) -> str:
    """All labs as one submission. Output is plain text, so that nothing a submission prints is markup.

    Nothing if one is held: Gradescope takes no results without scores, and without results it gives no grade.
    """
    if any(lab.held for lab in labs):
        return ""
    document = {
        "score": sum(lab.points for lab in labs),
        "execution_time": round(sum(lab.seconds for lab in labs), 2),
        "output": "\n".join(lab.trouble for lab in labs if lab.trouble),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [test(lab, check) for lab in labs for check in lab.checks],
        "extra_data": {"course": "converge", "labs": [lab.lab for lab in labs]},
    }
    return json.dumps(document, indent=2) + "\n"


def test(lab: LabResult, check: CheckResult) -> dict[str, Any]:
    explained = "" if check.passed else explain_check(check, indent="")
    return {
        "number": check.number,
        "name": check.title,
        "score": check.points,
        "max_score": check.max_points if check.asked else 0,
        "status": "passed" if check.passed else "failed",
        "output": explained,
        "tags": [lab.lab],
        "visibility": "visible",
        "extra_data": {"check": check.name, "status": str(check.status)},
    }
