"""Which Job grades what, remembered so that a later command finds it.

    DIR/kubernetes.jsonl    a line for the Job, then the index of each result that is stored

It's written before the Job is created and goes after it, so no Job is forgotten. Only this file says who handed in
which index: no name leaves the instructor's machine.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from converge.classroom.grading import Piece
from converge.classroom.reading import Held
from converge.classroom.roster import Submission
from converge.files import write_whole
from converge.grader.course import Course
from converge.grader.course.course_toml import CourseError


@dataclass(frozen=True)
class Entry:
    """One index of a Job: whose submission of which lab it is."""

    student: str
    attempt: int
    lab: str
    only: tuple[str, ...]
    held: Held | None

    def piece(self, course: Course) -> Piece:
        lab = course.find(self.lab)
        only = tuple(lab.check(name) for name in self.only) or None
        return Piece(Submission(self.student, None, self.attempt), lab, only)

    @property
    def identity(self) -> tuple[object, ...]:
        return self.student, self.attempt, self.lab, self.only


def entry_of(piece: Piece, held: Held | None = None) -> Entry:
    names = tuple(check.name for check in piece.only or ())
    return Entry(piece.submission.student, piece.submission.attempt, piece.lab.slug, names, held)


@dataclass(frozen=True)
class Run:
    """One Job: where it is, and what its indexes are."""

    server: str
    namespace: str
    name: str
    entries: tuple[Entry, ...]

    def remember(self, path: Path) -> None:
        write_whole(path, json.dumps(asdict(self)) + "\n", mode=0o600)


def remember_collected(path: Path, index: int) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{index}\n")


def read_run(path: Path) -> tuple[Run, set[int]] | None:
    """The Job that is remembered, and the indexes whose results are stored."""
    try:
        first, *rest = path.read_text(encoding="utf-8").split("\n")
        said = json.loads(first)
        entries = [
            Entry(**{**each, "only": tuple(each["only"]), "held": each["held"] and Held(**each["held"])})
            for each in said.pop("entries")
        ]
        return Run(**said, entries=tuple(entries)), {int(line) for line in rest[:-1]}  # the last may not be whole
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise CourseError(f"{path} can't be read ({error}); delete it, and a new Job grades what is left") from None
