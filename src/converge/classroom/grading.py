"""Grades the submissions of a class, a few at a time, and stores each result as soon as it is known."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from converge.classroom.reading import Held, look_at
from converge.classroom.roster import Submission
from converge.classroom.store import ResultStore
from converge.grader.checks.verdict import Status
from converge.grader.course import CheckFacts, Course, Lab
from converge.grader.course.course_toml import CourseError
from converge.grader.course.job import Job
from converge.grader.course.results import LabResult, expected
from converge.grader.report import html
from converge.grader.session.run import run

AT_ONCE = 16  # submissions in one pytest: if pytest itself fails, only theirs are graded again


@dataclass(frozen=True)
class Piece:
    """One submission of one lab; all of its checks, or some."""

    submission: Submission
    lab: Lab
    only: tuple[CheckFacts, ...] | None = None


def pieces(
    store: ResultStore, submissions: Sequence[Submission], labs: Sequence[Lab], only: dict[Lab, tuple[CheckFacts, ...]]
) -> list[Piece]:
    """What is left to grade. Checks that `only` names are graded again; else what has a result is done."""
    wanted = [(each, lab) for each in submissions for lab in labs]
    if only:
        if missing := [each.student for each, lab in wanted if store.read(each.key, lab) is None]:
            raise CourseError(f"--only changes results, and {missing[0]} has none yet: grade the whole lab first")
        return [Piece(each, lab, only[lab]) for each, lab in wanted]
    return [Piece(each, lab) for each, lab in wanted if not store.is_done(each.key, lab)]


def accept(store: ResultStore, submissions: Sequence[Submission], labs: Sequence[Lab], students: Sequence[str]) -> None:
    """Let what is held of these students count. Someone has looked at it."""
    for student in students:
        own = [(each.key, lab) for each in submissions for lab in labs if each.student == student]
        if not sum(store.accept(key, lab) for key, lab in own):
            raise CourseError(f"--accept {student}: nothing of {student} is held in these labs")


def grade(
    course: Course, store: ResultStore, todo: Sequence[Piece], on_stored: Callable[[Piece, LabResult], None]
) -> None:
    """Grade each piece in a jail. When this is killed, at most what is under way is lost."""

    def on_result(piece: Piece, result: LabResult, held: Held | None) -> None:
        on_stored(piece, keep(store, piece, result, held))

    for start in range(0, len(todo), AT_ONCE):
        with tempfile.TemporaryDirectory(prefix="converge-class-") as scratch:
            grade_together(course, todo[start : start + AT_ONCE], Path(scratch), on_result)


def grade_together(
    course: Course, todo: Sequence[Piece], scratch: Path, on_result: Callable[[Piece, LabResult, Held | None], None]
) -> None:
    """Grade the pieces in one pytest. `on_result` gets each result as it comes, and why it's held."""
    chosen: list[tuple[Piece, Held | None]] = []
    jobs: list[Job] = []
    for number, piece in enumerate(todo):
        target = scratch / str(number) / piece.lab.slug
        refusal, held = prepare(piece, target)
        if refusal:
            on_result(piece, refusal, held)
            continue
        chosen.append((piece, held))
        timelines = str(scratch / str(number) / "timelines")  # beside what the submission sees
        jobs.append(Job(piece.lab, str(target / piece.lab.file), piece.only, jailed=True, timelines=timelines))

    def ended(number: int, result: LabResult) -> None:
        piece, held = chosen[number]
        for check in result.checks:
            check.timeline = html.timeline_of(check)  # the page itself: its file goes with the scratch directory
        on_result(piece, result, held)

    if jobs:
        run(course, jobs, on_result=ended)


def prepare(piece: Piece, target: Path) -> tuple[LabResult | None, Held | None]:
    """Copy a submission's files. Returns a result if they can't be graded, and why someone has to look if they can."""
    if wrong := piece.submission.copy(piece.lab, target):
        return refused(piece, wrong), None
    return None, look_at(piece.lab, target / piece.lab.file)


def keep(store: ResultStore, piece: Piece, result: LabResult, held: Held | None) -> LabResult:
    """Store a result, of one check beside the others that were known before. Returns what is stored."""
    result.against = piece.submission.student  # not where the copy was
    if piece.only:
        result = store.merge(piece.submission.key, piece.lab, result)
    store.write(piece.submission.key, piece.lab, result, held)
    return result


def refused(piece: Piece, wrong: str) -> LabResult:
    """The result of what can't be graded: no points, and the reason."""
    result = ungraded(piece)
    for check in result.checks:
        check.status, check.parts, check.cause = Status.FAILED, {"message": wrong}, "not handed in"
    return result


def ungraded(piece: Piece) -> LabResult:
    """The result of a piece before any check has reported."""
    checks = [expected(piece.lab, each) for each in piece.only or piece.lab.checks]
    return LabResult(piece.lab.slug, piece.lab.title, piece.submission.student, checks, 0.0)
