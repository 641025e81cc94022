"""`converge check`: grade a lab and say what was seen."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from converge.cli.terminal import console

if TYPE_CHECKING:
    from converge.grader.course import CheckFacts, Course, Lab
    from converge.grader.results import LabResult

PASSED, NOT_PASSED, OUR_FAULT = 0, 1, 4


def lab_names(incomplete: str) -> list[str]:
    """Names of labs, for the shell's completion."""
    from converge.grader import course

    return [lab.slug for lab in course.load().labs if lab.slug.startswith(incomplete) or incomplete in lab.slug]


LabArgument = Annotated[
    str | None,
    typer.Argument(metavar="[LAB]", help="A lab: 3, 03, workqueue or 03_workqueue.", autocompletion=lab_names),
]


def check(
    lab: Annotated[
        str | None,
        typer.Argument(
            metavar="[LAB[.N]]", help="A lab (03, workqueue), one check of it (03.2), or all.", autocompletion=lab_names
        ),
    ] = None,
    upto: Annotated[bool, typer.Option("--upto", help="Also every lab before it.")] = False,
    against: Annotated[
        str, typer.Option(help="What to grade: labs, solutions, a PATH, mutant:ID or variant:NAME.")
    ] = "labs",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page.")] = None,
    gradescope: Annotated[Path | None, typer.Option(help="Write Gradescope's results.json.")] = None,
    classroom50: Annotated[Path | None, typer.Option(help="Write classroom50/result/v1.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML.")] = None,
) -> None:
    """Grade your work and explain what was seen; with no LAB, the first lab that is not passed yet.

    Examples: [bold]converge check 03[/], [bold]converge check 03.2[/] (one check), [bold]converge check 05 --upto[/],
    [bold]converge check all --junit report.xml[/].

    Exit status: 0 every check passed, 1 not every check passed, 2 wrong use, 3 no cluster, 4 the grader's own error.
    """
    from converge.grader import course as courses
    from converge.grader.report import files

    course = courses.load()
    labs, number = choose(course, lab, upto)
    results = []
    for each in labs:
        facts = [each.check(number)] if number else list(each.checks)
        results.append(grade(course, each, facts, against, silent=as_json))
    if as_json:
        sys.stdout.write(files.as_json(results))
    wanted = {"html": html, "gradescope": gradescope, "classroom50": classroom50, "junit": junit}
    for format, path in wanted.items():
        if path is not None:
            files.write(path, format, results)
    raise typer.Exit(exit_code(results))


def choose(course: Course, name: str | None, upto: bool) -> tuple[list[Lab], str]:
    """The labs that are meant, and the number of the one check that is, if any."""
    from converge.grader.progress import Progress

    if name == "all":
        return [lab for lab in course.labs if lab.checks_file.exists()], ""
    word, _, number = (name or "").partition(".")
    lab = course.find(word) if word else Progress(course).next_lab() or course.labs[-1]
    return (list(course.upto(lab)) if upto else [lab]), number


def grade(course: Course, lab: Lab, facts: list[CheckFacts], against: str, silent: bool = False) -> LabResult:
    """Run the checks, show what came of them, and remember it if it is the learner's own work."""
    from converge.grader.course import relative
    from converge.grader.progress import Progress
    from converge.grader.report import terminal
    from converge.grader.run import run_checks

    if lab.kind == "operator" or lab.rights:
        start_cluster(silent)
    with terminal.watching(console, facts, silent=silent) as on_event:
        result = run_checks(course, lab, against=against, only=facts, on_event=on_event)
    if against == "labs" and len(facts) == len(lab.checks):
        Progress(course).record(lab, result)
    if not silent:
        terminal.show(console, result, relative(lab.skeleton) if against == "labs" else against)
        if against == "labs":
            terminal.next_step(console, lab, result)
    return result


def start_cluster(silent: bool) -> None:
    """Start the cluster here, where its progress can be seen, and not within the first check."""
    from converge import cluster
    from converge.cli.terminal import progress

    if silent:
        cluster.ensure()
        return
    with progress() as say:
        cluster.ensure(say)


def exit_code(results: list[LabResult]) -> int:
    from converge.grader.verdict import Status

    if all(result.passed for result in results):
        return PASSED
    ours = any(result.trouble or any(c.status is Status.ERROR for c in result.checks) for result in results)
    return OUR_FAULT if ours else NOT_PASSED
