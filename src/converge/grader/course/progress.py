"""What the learner has achieved so far, remembered between runs in `.converge/progress.json`, which git ignores."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, fields

from converge.files import write_whole
from converge.grader.course import Course, Lab, relative
from converge.grader.course.results import LabResult


@dataclass
class Achieved:
    """The best result of one lab, and how many hints were shown."""

    points: int = 0
    max_points: int = 0
    passed: bool = False
    when: str = ""
    hints: int = 0


def parse(text: str) -> dict[str, Achieved]:
    """What a state file says; an exception for one that says something else."""
    stored = json.loads(text)
    labs = stored.get("labs") if isinstance(stored, dict) else None
    if not isinstance(labs, dict):
        raise TypeError("it has no table of labs")
    kinds = {each.name: type(each.default) for each in fields(Achieved)}
    for slug, entry in labs.items():
        if not isinstance(entry, dict) or any(type(entry[key]) is not kinds[key] for key in kinds if key in entry):
            raise TypeError(f"what it says of {slug} has a wrong type")
    return {slug: Achieved(**{key: entry[key] for key in kinds if key in entry}) for slug, entry in labs.items()}


class Progress:
    """The state file. Saved at every change, whole, by renaming."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._path = course.root / ".converge" / "progress.json"
        self._labs: dict[str, Achieved] = {}
        self.notice = ""  # a sentence for the learner, when the file could not be read
        try:
            self._labs = parse(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            pass  # nothing achieved yet
        except (ValueError, TypeError, RecursionError) as error:
            self._keep_aside(error)

    def _keep_aside(self, error: Exception) -> None:
        """Never overwrite what a person may still want to read."""
        broken = self._path.with_name(f"{self._path.name}.broken")
        if broken.exists():
            broken = broken.with_name(f"{broken.name}-{time.strftime('%Y%m%d-%H%M%S')}")
        self._path.replace(broken)
        self.notice = (
            f"{relative(self._path)} could not be read ({error}), so your progress starts from nothing. "
            f"The old file is kept as {relative(broken)}; check a lab again, and its points are back."
        )

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
        stored = {"labs": {slug: asdict(entry) for slug, entry in sorted(self._labs.items())}}
        write_whole(self._path, json.dumps(stored, indent=2) + "\n")
