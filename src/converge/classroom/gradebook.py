"""Fills in the gradebook that Canvas or Moodle exported, so that it can be imported there again.

Only grades are changed, and only in lines whose student was graded: both systems find students by ids that only they
know, and both refuse a file with other columns.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from converge.classroom.policy import LabMark
from converge.grader.course import Lab
from converge.grader.course.course_toml import CourseError

# Columns by which a line's student is known, in Canvas' and Moodle's words.
STUDENT_COLUMNS = (
    *("sis login id", "sis user id", "id", "student"),
    *("identifier", "username", "id number", "email address", "full name"),
)
CANVAS_MAXIMUM = "points possible"  # how Canvas begins the line that has the most of each column
MOODLE_MAXIMUM = "maximum grade"  # and Moodle's column for the same


@dataclass(frozen=True)
class Filled:
    """The gradebook with grades, and whom it doesn't list."""

    text: str
    lines: int
    missing: tuple[str, ...]


def fill(path: Path, labs: Sequence[Lab], marks: Mapping[str, Sequence[LabMark]]) -> Filled:
    """The exported file with the marks of each lab in the column that is named after it."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        dialect = csv.Sniffer().sniff(text.partition("\n")[0], delimiters=",;\t")
        rows = list(csv.reader(io.StringIO(text), delimiter=dialect.delimiter))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CourseError(f"The gradebook {path} can't be read: {error}") from None
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    known_by = [place for place, name in enumerate(header) if name in STUDENT_COLUMNS]
    if not known_by:
        raise CourseError(f"The gradebook {path} names no one: it has none of the columns {', '.join(STUDENT_COLUMNS)}")
    columns = [column_of(lab, rows[0], len(labs) == 1, path) for lab in labs]
    possible = next((row for row in rows[1:] if row and row[0].strip().lower() == CANVAS_MAXIMUM), [])
    students = {student.lower(): student for student in marks}
    found: set[str] = set()
    for row in rows[1:]:
        student = next((students[name] for name in names(row, known_by) if name in students), None)
        if student is None or row is possible:
            continue
        found.add(student)
        for column, mark in zip(columns, marks[student], strict=True):
            row.extend([""] * (len(header) - len(row)))
            scale = (
                number(row[header.index(MOODLE_MAXIMUM)] if MOODLE_MAXIMUM in header else cell(possible, column))
                or mark.max_points
            )
            if mark.counts and mark.result and not mark.result.is_ours:
                row[column] = f"{round(mark.points / (mark.max_points or 1) * scale, 2):g}"
    made = io.StringIO()
    csv.writer(made, delimiter=dialect.delimiter, lineterminator="\n").writerows(rows)
    return Filled(made.getvalue(), len(found), tuple(sorted(set(marks) - found)))


def column_of(lab: Lab, header: Sequence[str], alone: bool, path: Path) -> int:
    """The column of a lab: the one that has its slug, its title or its number as a word."""
    for wanted in (
        lab.slug,
        lab.title,
        rf"(?:lab|lesson)\s*{lab.number.lstrip('0')}",
        rf"(?:lab|lesson)?\s*{lab.number}",
    ):
        word = wanted if wanted.startswith("(?:") else re.escape(wanted)
        fitting = [
            place
            for place, name in enumerate(header)
            if re.search(rf"(?<!\w){word}(?!\w)", name, re.IGNORECASE) and not is_computed(name)
        ]
        if len(fitting) == 1:
            return fitting[0]
    if alone and [name.strip().lower() for name in header].count("grade") == 1:
        return [name.strip().lower() for name in header].index("grade")
    raise CourseError(
        f"No column of {path} is that of lab {lab.number}: name one {lab.slug!r} or {lab.title!r}, "
        f"and export the gradebook again"
    )


def is_computed(name: str) -> bool:
    """Columns that Canvas computes itself, and texts that aren't grades."""
    return bool(re.search(r"\b(current|final|unposted) (score|points|grade)|feedback", name, re.IGNORECASE))


def names(row: Sequence[str], known_by: Sequence[int]) -> list[str]:
    """All that a line calls its student: as it is, the name before the @, and Moodle's `Participant 12`."""
    said = [cell(row, place).strip().lower() for place in known_by]
    return [name for text in said for name in (text, text.partition("@")[0], text.removeprefix("participant ")) if name]


def cell(row: Sequence[str], place: int) -> str:
    return row[place] if place < len(row) else ""


def number(text: str) -> float:
    """A number, with a comma or a point; 0 if it isn't one."""
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return 0.0
