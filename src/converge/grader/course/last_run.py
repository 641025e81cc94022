"""Which recordings the last grading left of checks that failed, lab by lab: what `converge show` opens first."""

from __future__ import annotations

import json
from pathlib import Path

from converge.files import write_whole
from converge.grader.course import Course, Lab
from converge.grader.course.results import LabResult


def parse(text: str) -> dict[str, list[str]]:
    """What such a file says; an exception for one that says something else."""
    stored = json.loads(text)
    lists = list(stored.values()) if isinstance(stored, dict) else [None]
    if not all(isinstance(each, list) and all(isinstance(name, str) for name in each) for each in lists):
        raise TypeError("it isn't a table of lists of names")
    return dict(stored)


class LastRun:
    """A file beside the learner's progress, with the lab that was graded last at its end."""

    def __init__(self, course: Course) -> None:
        self._path = course.root / ".converge" / "last-run.json"
        try:
            self._failed = parse(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, TypeError, RecursionError):
            self._failed = {}  # nothing was graded yet, or the file is broken: the next grading writes it again

    def remember(self, result: LabResult) -> None:
        """Keep the names of the recordings of failed checks, in their order."""
        self._failed.pop(result.lab, None)
        self._failed[result.lab] = [Path(each.timeline).stem for each in result.checks if each.timeline]
        write_whole(self._path, json.dumps(self._failed, indent=2) + "\n")

    def first_failed(self, lab: Lab | None = None) -> str | None:
        """The recording of the first check that failed, of that lab or of the one that was graded last."""
        slug = lab.slug if lab else next(reversed(self._failed), "")
        return next(iter(self._failed.get(slug, [])), None)
