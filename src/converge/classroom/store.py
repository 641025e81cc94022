"""The results of a class on disk: one file per student and lab, each written whole.

    DIR/results/06_idempotency/ada.json      everything that is known
    DIR/results/06_idempotency/ada~2.json    the same of a second attempt
    DIR/timelines/06_idempotency/ada/…       a page for each check that failed and has a timeline

Only these files count. What else there is in DIR, `reports` makes again from them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from converge.classroom.reading import Held
from converge.files import write_whole
from converge.grader.checks.verdict import Status
from converge.grader.course import Lab
from converge.grader.course.course_toml import CourseError
from converge.grader.course.results import CheckResult, LabResult, expected
from converge.grader.report import html

TIMELINES = "timelines"
MOST_ATTEMPTS = 3  # at a submission whose grading ends in an error of ours
FIELDS = {"lab", "title", "against", "checks", "seconds", "trouble"}


class ResultStore:
    """The directory of one class."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: str, lab: Lab) -> Path:
        return self.folder / "results" / lab.slug / f"{key}.json"

    def read(self, key: str, lab: Lab) -> LabResult | None:
        stored = self._stored(key, lab)
        if not stored:
            return None
        result = from_json(stored)
        result.held = held_back(result, stored)
        for check in result.checks:  # one that is named by its whole path isn't this student's own
            own = check.timeline.startswith(f"{TIMELINES}/")
            check.timeline = str(self.folder / check.timeline) if own else ""
        return result

    def _stored(self, key: str, lab: Lab) -> dict[str, Any]:
        path = self.path(key, lab)
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            from_json(stored)
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, KeyError) as error:
            raise CourseError(f"{path} isn't a result ({error}); delete it, and it is graded again") from None
        return dict(stored)

    def accept(self, key: str, lab: Lab) -> bool:
        """Someone has looked at what is held: it counts, until another file is handed in. Whether there is any."""
        stored = self._stored(key, lab)
        if not stored.get("held"):
            return False
        self._store(key, lab, {**stored, "accepted": stored["sha256"]})
        return True

    def write(self, key: str, lab: Lab, result: LabResult, held: Held | None = None) -> None:
        before = self._stored(key, lab)
        sha256, accepted = held.sha256 if held else "", before.get("accepted", "")
        for check in result.checks:
            check.timeline = self._keep_timeline(key, lab, check)
        more = {"student": key.partition("~")[0], "attempts": before.get("attempts", 0) + 1}
        more |= {"held": held.why if held else "", "sha256": sha256, "accepted": accepted}
        result.held = held_back(result, more)
        self._store(key, lab, {**result.to_json(), **more})

    def _store(self, key: str, lab: Lab, stored: dict[str, Any]) -> None:
        write_whole(self.path(key, lab), json.dumps(stored, indent=2) + "\n", durable=True)

    def _keep_timeline(self, key: str, lab: Lab, check: CheckResult) -> str:
        """Write the page of a timeline into a file; its path within this directory.

        A result from a Pod may name any file: only a page is taken from it, or what was kept before.
        """
        path = f"{TIMELINES}/{lab.slug}/{key}/{check.name}.html"
        if html.is_page(check.timeline):
            write_whole(self.folder / path, check.timeline)
            return path
        return path if check.timeline == str(self.folder / path) else ""

    def is_done(self, key: str, lab: Lab) -> bool:
        """Whether there is a result, and it says something about the student rather than about us."""
        stored = self._stored(key, lab)
        return bool(stored) and (stored["attempts"] >= MOST_ATTEMPTS or not from_json(stored).is_ours)

    def merge(self, key: str, lab: Lab, part: LabResult) -> LabResult:
        """The stored result, or one of a lab never graded, with some of its checks as `part` has them."""
        whole = self.read(key, lab)
        if whole is None:
            checks = [expected(lab, each) for each in lab.checks]
            whole = LabResult(lab.slug, lab.title, part.against, checks, 0.0)
        new = {check.name: check for check in part.checks}
        for check in part.checks:
            check.same_as = ""  # it may point at a check of another run
        whole.checks = [new.get(check.name, check) for check in whole.checks]
        whole.trouble = part.trouble
        return whole


def held_back(result: LabResult, stored: dict[str, Any]) -> str:
    """Why a result has no grade until someone has looked at the file: it isn't accepted, and has points to lose."""
    return stored.get("held", "") if result.points and stored.get("accepted") != stored.get("sha256") else ""


def from_json(stored: dict[str, Any]) -> LabResult:
    made = {key: stored[key] for key in FIELDS}
    checks = []
    for entry in made.pop("checks"):
        entry = {key: value for key, value in entry.items() if key != "points"}
        checks.append(CheckResult(**{**entry, "status": Status(entry["status"])}))
    return LabResult(checks=checks, **made)
