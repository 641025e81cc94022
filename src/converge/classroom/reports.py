"""Tables and pages of a class, made again from its stored results as often as anyone likes.

DIR/class.csv            a line per student
DIR/checks.csv           a line per check: how many failed it
DIR/statistics.html      the same in pictures
DIR/pages/ada.html       what the student may see
DIR/gradescope/ada.json  the same for another program, if asked for
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from converge.classroom import gradebook, statistics
from converge.classroom.policy import Attempt, LabMark, Policy
from converge.classroom.roster import Submission
from converge.classroom.store import ResultStore
from converge.files import write_whole
from converge.grader.course import Lab
from converge.grader.course.course_toml import CourseError
from converge.grader.report import files, html

# Per student, if asked for: the JSON is in the store and the HTML in `pages`.
FORMATS = tuple(name for name in files.FORMATS if name not in ("json", "html"))

Marks = dict[str, list[LabMark]]  # by student, one per lab


def marks_of(
    store: ResultStore,
    submissions: Sequence[Submission],
    labs: Sequence[Lab],
    policy: Policy,
    times: Mapping[tuple[str, int], datetime],
) -> Marks:
    """What each student gets for each lab."""
    attempts: dict[str, list[Submission]] = {}
    for each in submissions:
        attempts.setdefault(each.student, []).append(each)
    return {
        student: [
            policy.mark(
                lab,
                [Attempt(store.read(each.key, lab), times.get((student, each.attempt))) for each in tries],
            )
            for lab in labs
        ]
        for student, tries in attempts.items()
    }


def write(folder: Path, labs: Sequence[Lab], marks: Marks, formats: Sequence[str] = ()) -> None:
    """Write the pages and tables, and a file per student in each of the formats."""
    for student, each in marks.items():
        results = [mark.result for mark in each if mark.result]
        if not results:
            continue
        notes = [f"{lab.number} {lab.title}: {mark.note}" for lab, mark in zip(labs, each, strict=True) if mark.note]
        write_whole(folder / "pages" / f"{student}.html", html.page(results, notes))
        for format in formats:
            files.write(folder / format / f"{student}.{files.ENDINGS.get(format, 'json')}", format, results)
    write_whole(folder / "class.csv", class_table(labs, marks))
    write_whole(folder / "checks.csv", check_table(labs, marks))
    write_whole(folder / "statistics.html", statistics.page(labs, marks))


def fill_gradebook(folder: Path, exported: Path, labs: Sequence[Lab], marks: Marks) -> gradebook.Filled:
    """Write the gradebook that Canvas or Moodle exported with grades in it, under its own name."""
    if exported.resolve().parent == folder.resolve():
        raise CourseError(f"{exported} is where the results go: keep what was exported elsewhere")
    filled = gradebook.fill(exported, labs, marks)
    write_whole(folder / exported.name, filled.text)
    return filled


def class_table(labs: Sequence[Lab], marks: Marks) -> str:
    """A line per student: points per lab and together. What wasn't graded, or is held, is empty, which isn't 0."""
    rows: list[list[object]] = [["student", *(lab.slug for lab in labs), "points", "max_points", "note"]]
    for student, each in marks.items():
        pairs = list(zip(labs, each, strict=True))
        notes = [f"{lab.number}: {mark.note}" for lab, mark in pairs if mark.note]
        notes += [f"{lab.number}: held, {mark.result.held}" for lab, mark in pairs if mark.result and mark.result.held]
        if any(mark.result and mark.result.is_ours for mark in each):
            notes.append("the grader failed, look at it")
        if any(mark.result is None for mark in each):
            notes.append("not graded yet")
        points = [f"{mark.points:g}" if mark.counts else "" for mark in each]
        total = f"{sum(mark.points for mark in each if mark.counts):g}"
        rows.append([student, *points, total, sum(mark.max_points for mark in each), ", ".join(notes)])
    return table(rows)


def check_table(labs: Sequence[Lab], marks: Marks) -> str:
    """A line per check, the one that most students fail first."""
    rows: list[list[object]] = [
        [number, title, graded, graded - failed, failed]
        for number, title, graded, failed in statistics.check_counts(labs, marks)
    ]
    rows.sort(key=lambda row: -int(str(row[-1])))
    return table([["check", "title", "graded", "passed", "failed"], *rows])


def table(rows: Sequence[Sequence[object]]) -> str:
    """CSV. A cell that a spreadsheet would take for a formula gets a quote in front."""
    text = io.StringIO()
    safe = [[f"'{cell}" if str(cell)[:1] in tuple("=+-@") else cell for cell in row] for row in rows]
    csv.writer(text, lineterminator="\n").writerows(safe)
    return text.getvalue()
