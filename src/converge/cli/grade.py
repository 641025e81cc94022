"""`converge grade`: grade a class, with every submission in a jail, here or on a cluster of the instructor's."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from converge.cli.check import OUR_FAULT, start_cluster
from converge.cli.console import console, progress

if TYPE_CHECKING:
    from converge.classroom.grading import Piece
    from converge.classroom.kubernetes.manifests import JobSettings
    from converge.classroom.roster import Submission
    from converge.classroom.store import ResultStore
    from converge.grader.course import CheckFacts, Course, Lab
    from converge.grader.course.results import LabResult
    from converge.runtime import Client

NO_JAIL = 3


def grade(
    submissions: Annotated[
        list[Path], typer.Argument(metavar="SUBMISSIONS...", help="Directories with a directory or zip per student.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where results go, and where they are looked for.")],
    lab: Annotated[list[str] | None, typer.Option("--lab", metavar="LAB", help="A lab: 06. May be repeated.")] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="LAB.N", help="Grade this check again, keep all others.")
    ] = None,
    roster: Annotated[Path | None, typer.Option(help="CSV with a line per student; those without work get 0.")] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="STUDENT", help="You have looked at what is held of this student: let it count."),
    ] = None,
    student: Annotated[
        str, typer.Option(metavar="NAME", help="SUBMISSIONS is the work of this student, not that of a class.")
    ] = "",
    policy: Annotated[
        Path | None, typer.Option(help="TOML: what being late costs, and which of several attempts counts.")
    ] = None,
    times: Annotated[Path | None, typer.Option(help="CSV of when each student handed in: student, time.")] = None,
    gradebook: Annotated[Path | None, typer.Option(help="What Canvas or Moodle exported, to be filled in.")] = None,
    format: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A file per student for gradescope, classroom50, prairielearn, vpl or junit."
        ),
    ] = None,
    on: Annotated[str, typer.Option(metavar="WHERE", help="here, or kubernetes: a Job on a cluster.")] = "here",
    context: Annotated[str, typer.Option(metavar="NAME", help="With --on: the context of your kubeconfig.")] = "",
    namespace: Annotated[str, typer.Option(metavar="NAME", help="With --on: where the Job runs.")] = "",
    parallelism: Annotated[int, typer.Option(min=1, help="With --on: how many Pods grade at once.")] = 10,
    image: Annotated[str, typer.Option(help="With --on: the image made from the Containerfile.")] = "",
    queue: Annotated[str, typer.Option(metavar="NAME", help="With --on: the queue of Kueue that admits the Job.")] = "",
    runtime_class: Annotated[str, typer.Option(metavar="NAME", help="With --on: the RuntimeClass of the Pods.")] = "",
) -> None:
    """Grade a class. No submission can see or change more than its own work.

    Examples: [bold]converge grade handed-in --lab 06 --lab 07 --out graded[/], and after a check was fixed
    [bold]converge grade handed-in --only 06.7 --out graded[/]. On a cluster: [bold]converge grade handed-in --lab 06
    --on kubernetes --namespace grading --image registry.example/converge --out graded[/]. To continue after an
    interruption, run the same command again: what has a result isn't graded again.

    In labs 03, 04 and 05, a submission with more than such an answer needs is held: it has no grade until you have
    looked at it and run the same command with [bold]--accept STUDENT[/].

    Exit status: 0 everything was graded, 2 wrong usage, 3 no isolation or no cluster here, 4 the grader's own error.
    """
    from converge.classroom import grading, reports
    from converge.classroom import policy as policies
    from converge.classroom import roster as rosters
    from converge.classroom.store import ResultStore
    from converge.grader import course as courses
    from converge.grader.course.course_toml import CourseError

    course = courses.load()
    cluster = cluster_of(on, context, namespace, parallelism, image, queue, runtime_class)
    labs, checks = wanted(course, lab or [], only or [])
    if unknown := sorted(set(format or ()) - set(reports.FORMATS)):
        raise CourseError(f"There is no format {unknown[0]}; there are {', '.join(reports.FORMATS)}")
    found = rosters.one(submissions, student) if student else rosters.find(submissions, roster, several=bool(policy))
    rules = policies.read_policy(policy, course) if policy else policies.Policy()
    handed_in = policies.read_times(times) if times else {}
    store = ResultStore(out)
    grading.accept(store, found, labs, accept or ())

    def report() -> None:
        marks = reports.marks_of(store, found, labs, rules, handed_in)
        reports.write(out, labs, marks, format or ())
        if gradebook:
            filled = reports.fill_gradebook(out, gradebook, labs, marks)
            students = "1 student" if filled.lines == 1 else f"{filled.lines} students"
            console.print(f"Gradebook: {students} in {out / gradebook.name}", highlight=False)
            if filled.missing:
                missing = f"It doesn't list {', '.join(filled.missing)}: their points are in {out / 'class.csv'}"
                console.print(missing, markup=False, highlight=False, soft_wrap=True)

    if gradebook:  # report what is wrong with it now, not after hours of grading
        reports.fill_gradebook(out, gradebook, labs, reports.marks_of(store, found, labs, rules, handed_in))

    todo = grading.pieces(store, found, labs, checks)
    console.print(f"Students: {len({each.student for each in found})}, labs: {len(labs)}, left to grade: {len(todo)}")
    if todo or cluster:
        grade_all(course, store, todo, report, cluster)
    else:
        report()
    where = f"{out / 'class.csv'}, {out / 'statistics.html'}, a page per student in {out / 'pages'}"
    console.print(f"Results: {where}", soft_wrap=True)
    list_held(store, found, labs)
    results = [store.read(each.key, each_lab) for each in found for each_lab in labs]
    raise typer.Exit(OUR_FAULT if any(result is None or result.is_ours for result in results) else 0)


def list_held(store: ResultStore, found: list[Submission], labs: list[Lab]) -> None:
    """Who has no grade until someone has looked at a file, and how to say that someone has."""
    held = [(each, lab, result) for each in found for lab in labs if (result := store.read(each.key, lab))]
    held = [(each, lab, result) for each, lab, result in held if result.held]
    if not held:
        return
    lines = [f"  {each.key}  {lab.number}  {result.held}, in {each.source}" for each, lab, result in held]
    lines = ["Held, without a grade until you have looked at it:", *lines]
    lines.append(f"To let one count, type the same command with --accept {held[0][0].student}")
    console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


def cluster_of(
    on: str, context: str, namespace: str, parallelism: int, image: str, queue: str, runtime_class: str
) -> tuple[Client, JobSettings] | None:
    """The cluster that grades, and how; None for this machine."""
    from converge.grader.course.course_toml import CourseError
    from converge.runtime.api.errors import ConfigError

    if on not in ("here", "kubernetes"):
        raise CourseError(f"--on takes here or kubernetes, not {on!r}")
    if on == "here":
        if context or namespace or image or queue or runtime_class:
            raise CourseError("Only --on kubernetes has a context, namespace, image, queue or RuntimeClass")
        return None
    if not image:
        raise CourseError("--on kubernetes needs --image: build the Containerfile and push it where the nodes can pull")

    from converge.classroom.kubernetes.manifests import JobSettings
    from converge.runtime import Client

    try:
        client = Client(context=context or None, namespace=namespace or None, user_agent="converge-grade")
    except ConfigError as error:
        raise CourseError(str(error)) from None
    return client, JobSettings(client.namespace, image, parallelism, queue, runtime_class)


def grade_all(
    course: Course,
    store: ResultStore,
    todo: list[Piece],
    report: Callable[[], None],
    cluster: tuple[Client, JobSettings] | None,
) -> None:
    """Grade what is left, with a line per result; exits where nothing can be isolated."""
    from converge.testing.sandbox.jail import NoJailError

    began, done = time.monotonic(), 0

    def on_stored(piece: Piece, result: LabResult) -> None:
        nonlocal done
        done += 1
        left = (time.monotonic() - began) / done * (len(todo) - done)
        console.print(
            f"{done}/{len(todo)}  {piece.submission.key}  {result.lab}  {result.points}/{result.max_points}"
            + ("  the grader failed" if result.is_ours else "  held" if result.held else "")
            + (f"  about {left / 60:.0f} min left" if left >= 60 else ""),
            markup=False,
            highlight=False,
        )

    try:
        if cluster:
            grade_on_kubernetes(*cluster, course, store, todo, on_stored)
        else:
            grade_here(course, store, todo, on_stored)
    except NoJailError as error:
        print(f"converge: {error}", file=sys.stderr)
        raise typer.Exit(NO_JAIL) from None
    finally:
        report()  # of an interrupted run too


def grade_here(
    course: Course, store: ResultStore, todo: list[Piece], on_stored: Callable[[Piece, LabResult], None]
) -> None:
    from converge.classroom import grading
    from converge.testing.sandbox import jail

    jail.require()
    if any(piece.lab.uses_cluster for piece in todo):
        start_local_cluster()
    grading.grade(course, store, todo, on_stored)


def start_local_cluster() -> None:
    """Start a cluster whose Pods aren't real, where no other is up. Raises ClusterError if one with real Pods is."""
    from converge import cluster

    there = cluster.current()
    if there is None:
        with progress() as say:
            cluster.up("local", progress=say)
        return
    if there.pods_are_real:
        raise cluster.ClusterError(
            f"what a submission makes on the {there.provider} cluster that is up here would run outside of its jail",
            "converge down && converge up --provider local",
        )
    start_cluster(silent=False)


def grade_on_kubernetes(
    client: Client,
    settings: JobSettings,
    course: Course,
    store: ResultStore,
    todo: list[Piece],
    on_stored: Callable[[Piece, LabResult], None],
) -> None:
    from converge.classroom.kubernetes.client import Grading

    def say(text: str) -> None:
        console.print(text, markup=False, highlight=False)

    Grading(client, settings, course, store, on_stored, say).grade(todo)


def wanted(course: Course, labs: list[str], only: list[str]) -> tuple[list[Lab], dict[Lab, tuple[CheckFacts, ...]]]:
    """The labs to grade, and the checks of each if only some are meant."""
    from converge.grader.course.course_toml import CourseError

    if bool(labs) == bool(only):
        raise CourseError("Say what to grade: --lab 06 for a lab, or --only 06.7 for one check of it, not both")
    checks: dict[Lab, tuple[CheckFacts, ...]] = {}
    for name in only:
        word, _, number = name.partition(".")
        lab = course.find(word)
        if not number:
            raise CourseError(f"--only takes a check, such as {lab.number}.1; for the whole lab there is --lab")
        checks[lab] = (*checks.get(lab, ()), lab.check(number))
    return [*dict.fromkeys([course.find(name) for name in labs] + list(checks))], checks
