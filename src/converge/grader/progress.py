"""What the learner has achieved so far, remembered between runs in `.converge/progress.json`, which git ignores."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from converge.grader.course import Course, Lab
from converge.grader.results import LabResult


@dataclass
class Achieved:
    """The best result of one lab, and how many hints were shown."""

    points: int = 0
    max_points: int = 0
    passed: bool = False
    when: str = ""
    hints: int = 0


class Progress:
    """The state file. Saved at every change, whole, by renaming."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._path = course.root / ".converge" / "progress.json"
        self._labs: dict[str, Achieved] = {}
        try:
            stored = json.loads(self._path.read_text())
            self._labs = {slug: Achieved(**entry) for slug, entry in stored["labs"].items()}
        except (OSError, ValueError, KeyError, TypeError):
            pass  # nothing achieved yet, or a file that somebody broke: begin again

    def of(self, lab: Lab) -> Achieved:
        return self._labs.setdefault(lab.slug, Achieved())

    def record(self, lab: Lab, result: LabResult) -> None:
        """Remember a result of all checks of a lab; a worse one does not undo a better one."""
        entry = self.of(lab)
        if result.points >= entry.points or result.max_points != entry.max_points:
            entry.points, entry.max_points = result.points, result.max_points
        if result.passed and not entry.passed:
            entry.passed, entry.when = True, time.strftime("%Y-%m-%d %H:%M")
        self._save()

    def show_hint(self, lab: Lab) -> int:
        """Count one more hint as shown; returns its level, from 1."""
        entry = self.of(lab)
        entry.hints = min(entry.hints + 1, len(lab.hints))
        self._save()
        return entry.hints

    def next_lab(self) -> Lab | None:
        """The first lab that is not passed yet and can be worked on."""
        labs = [lab for lab in self._course.labs if lab.skeleton.exists()]
        return next((lab for lab in labs if not self.of(lab).passed), None)

    def _save(self) -> None:
        self._path.parent.mkdir(exist_ok=True)
        stored = {"labs": {slug: asdict(entry) for slug, entry in sorted(self._labs.items())}}
        whole = self._path.with_suffix(f".{time.time_ns()}")
        whole.write_text(json.dumps(stored, indent=2) + "\n")
        Path(whole).replace(self._path)
