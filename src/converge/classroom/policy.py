"""What a result is worth: what being late costs, and which of several attempts counts.

A policy is a TOML file, so that it can be read, discussed and kept beside the course:

    attempts = "best"                       # or "last"
    grace = "15m"                           # this much later still counts as on time
    late = {percent = 10, every = "1d", most = 50}

    [due]
    06_idempotency = 2026-11-20T23:59:00+01:00
    07_drift = 2026-11-27T23:59:00+01:00

A policy changes tables and pages, never a stored result, so it can be changed after the grading.
"""

from __future__ import annotations

import csv
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from converge.grader.course import Course, Lab
from converge.grader.course.course_toml import CourseError
from converge.grader.course.results import LabResult

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
ATTEMPTS = ("best", "last")
KEYS = {"attempts", "grace", "late", "due"}
LATE_KEYS = {"percent", "every", "most"}


@dataclass(frozen=True)
class LabMark:
    """What one student gets for one lab, and why it isn't what the checks gave."""

    points: float
    max_points: int
    result: LabResult | None
    note: str = ""

    @property
    def counts(self) -> bool:
        """Whether there is a mark: a lab that wasn't graded has none, nor has one that is held for a person."""
        return self.result is not None and not self.result.held


class Attempt(NamedTuple):
    """One attempt at one lab."""

    result: LabResult | None
    handed_in: datetime | None = None


@dataclass(frozen=True)
class Policy:
    """How lateness and several attempts count. The one without arguments changes nothing."""

    attempts: str = "last"
    grace: timedelta = timedelta()
    percent: float = 0.0  # taken off for each period that has begun
    every: timedelta = timedelta(days=1)
    most: float = 100.0  # never more than this, in percent
    due: Mapping[str, datetime] = field(default_factory=dict)

    def percent_off(self, lab: Lab, handed_in: datetime | None) -> float:
        """What lateness costs, in percent of the points. What has no date isn't late."""
        due = self.due.get(lab.slug)
        if due is None or handed_in is None or handed_in <= due + self.grace:
            return 0.0
        return min(self.most, self.percent * math.ceil((handed_in - due) / self.every))

    def mark(self, lab: Lab, tries: Sequence[Attempt]) -> LabMark:
        """The mark of a student's attempts at one lab, in their order."""
        marks = []
        for number, (result, handed_in) in enumerate(tries, start=1):
            if result is None:
                continue
            off = self.percent_off(lab, handed_in)
            notes = [f"attempt {number} of {len(tries)}"] if len(tries) > 1 else []
            notes += [f"late, {off:g}% off"] if off else []
            points = round(result.points * (100 - off) / 100, 2)
            marks.append(LabMark(points, result.max_points, result, ", ".join(notes)))
        if not marks:
            return LabMark(0, lab.points, None)
        # Of two that are worth the same, one that isn't held, or else the earlier one: it has less to explain.
        return max(marks, key=lambda mark: (mark.points, mark.counts)) if self.attempts == "best" else marks[-1]


def read_policy(path: Path, course: Course) -> Policy:
    """A policy from its file. Every mistake in it is one line."""
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CourseError(f"The policy {path} can't be read: {error}") from None
    late = said.get("late", {})
    if unknown := sorted({*set(said) - KEYS, *(f"late.{key}" for key in set(late) - LATE_KEYS)}):
        raise CourseError(f"The policy {path} has {unknown[0]}, which means nothing here")
    if said.get("attempts", "last") not in ATTEMPTS:
        raise CourseError(f"The policy {path}: attempts is {' or '.join(ATTEMPTS)}")
    try:
        return Policy(
            attempts=said.get("attempts", "last"),
            grace=duration(said.get("grace", "0s")),
            percent=percentage(late.get("percent", 0)),
            every=duration(late.get("every", "1d")),
            most=percentage(late.get("most", 100)),
            due={course.find(name).slug: moment(when) for name, when in said.get("due", {}).items()},
        )
    except ValueError as error:
        raise CourseError(f"The policy {path}: {error}") from None


def duration(text: Any) -> timedelta:
    found = re.fullmatch(r"(\d+)([smhd])", str(text))
    if not found:
        raise ValueError(f"{text!r} is not a time such as 15m, 2h or 1d")
    return timedelta(**{UNITS[found[2]]: int(found[1])})


def percentage(number: Any) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 100:
        raise ValueError(f"{number!r} is not a number from 0 to 100")
    return float(number)


def moment(when: Any) -> datetime:
    """A time with its zone: students and the grader may sit in two."""
    made = datetime.fromisoformat(when) if isinstance(when, str) else when
    if not isinstance(made, datetime) or made.tzinfo is None:
        raise ValueError(f"{when} is not a time with a zone, such as 2026-11-20T23:59:00+01:00")
    return made


def read_times(path: Path) -> dict[tuple[str, int], datetime]:
    """When each attempt was handed in: a CSV with the columns student, time, and attempt if there are several."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
        return {(row["student"].strip(), int(row.get("attempt") or 1)): moment(row["time"].strip()) for row in rows}
    except KeyError as error:
        raise CourseError(f"{path} has no column {error}: it needs student and time") from None
    except (OSError, UnicodeDecodeError, csv.Error, ValueError, AttributeError) as error:
        raise CourseError(f"The times in {path} can't be read: {error}") from None
