"""Classroom 50's `result.json`, schema `classroom50/result/v1`.

https://github.com/foundation50/classroom50/wiki/Advanced-Autograding describes it. Environment variables of its runner
say who the submission is from; no field may be empty.
"""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime

from converge.grader.course.results import LabResult

INSTANT = "%Y-%m-%dT%H:%M:%SZ"


def result(labs: list[LabResult]) -> str:
    """All labs as one submission; every point is an integer.

    A result that is held, or of an error of ours, has no tests and no points, neither earned nor possible: that's what
    Classroom 50 does with an error, and what it would do with 0 of 32 points is put them in the gradebook.
    """
    variable = os.environ.get
    none = any(lab.no_grade for lab in labs)
    commit = variable("COMMIT_URL") or "local"
    now = datetime.now(UTC).strftime(INSTANT)
    document = {
        "schema": "classroom50/result/v1",
        "classroom": variable("CLASSROOM") or "local",
        "assignment": variable("ASSIGNMENT") or (labs[0].lab if labs else "local"),
        "assignment_type": variable("ASSIGNMENT_TYPE") or "individual",
        "owner": variable("OWNER") or variable("USERNAME") or "local",
        "submission": variable("SUBMISSION_TAG") or "submit/local",
        "commit": commit,
        "release": variable("RELEASE_URL") or commit,
        "review": variable("REVIEW_URL") or commit,  # empty when there is nothing to compare with
        "datetime": commit_date() or now,
        "graded_at": now,
        "score": 0 if none else sum(lab.points for lab in labs),
        "max-score": 0 if none else sum(lab.max_points for lab in labs),
        "tests": [
            {
                "test-name": f"{check.number} {check.title}",
                "passed": check.passed,
                "score": check.points,
                "max-score": check.max_points if check.asked else 0,
                "status": str(check.status),
            }
            for lab in ([] if none else labs)
            for check in lab.checks
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def commit_date() -> str:
    """When the graded commit was made: it stays the same when the commit is graded again. Empty without a commit."""
    asked = ["git", "log", "-1", "--format=%ct", os.environ.get("GITHUB_SHA") or "HEAD"]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return datetime.fromtimestamp(int(said), UTC).strftime(INSTANT) if said.isdigit() else ""
