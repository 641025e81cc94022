"""`converge check`: grade a lab and say what was seen."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from converge.cli.console import console

if TYPE_CHECKING:
    from converge.grader.course import Course, Lab
    from converge.grader.course.job import Job
    from converge.grader.course.progress import Progress
    from converge.grader.course.results import LabResult

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
    labs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LAB[.N]]...",
            help="Labs (03, workqueue), single checks (03.2), or all.",
            autocompletion=lab_names,
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
    """Grade your work and explain what was seen; without LAB, the first lab that you haven't passed.

    Examples: [bold]converge check 03[/], [bold]converge check 03.2[/] (one check), [bold]converge check 05 --upto[/],
    [bold]converge check 06 07[/], [bold]converge check all --junit report.xml[/]. Several labs run in parallel.

    Exit status: 0 every check passed, 1 not every check passed, 2 wrong usage, 3 no cluster, 4 the grader's own error.
    """
    from converge.grader import course as courses
    from converge.grader.report import files

    course = courses.load()
    results = grade(course, jobs_of(course, labs or [""], upto, against), silent=as_json)
    if as_json:
        sys.stdout.write(files.as_json(results))
    wanted = {"html": html, "gradescope": gradescope, "classroom50": classroom50, "junit": junit}
    for format, path in wanted.items():
        if path is not None:
            files.write(path, format, results)
    raise typer.Exit(exit_code(results))


def lab_of(course: Course, name: str | None) -> Lab:
    """The lab of `LAB` or `LAB.N`; with no name the learner's next one."""
    word = (name or "").partition(".")[0]
    return course.find(word) if word else progress_of(course).next_lab() or course.labs[-1]


def progress_of(course: Course) -> Progress:
    """What the learner has achieved; a file of it that was broken is mentioned once."""
    from converge.grader.course.progress import Progress

    found = Progress(course)
    if found.notice:
        print(f"converge: {found.notice}", file=sys.stderr)
    return found


def jobs_of(course: Course, names: list[str], upto: bool = False, against: str = "labs") -> list[Job]:
    """What there is to grade: each lab that is meant, whole or one check of it."""
    from converge.grader.course.job import Job

    jobs: list[Job] = []
    for name in names:
        if name == "all":
            jobs += [Job(lab, against) for lab in course.labs if lab.checks_file.exists()]
            continue
        lab, number = lab_of(course, name), name.partition(".")[2]
        jobs += [Job(each, against) for each in course.upto(lab) if upto and each is not lab]
        jobs.append(Job(lab, against, [lab.check(number)] if number else None))
    return jobs


def grade(course: Course, jobs: list[Job], silent: bool = False) -> list[LabResult]:
    """Run the checks, show the results lab by lab, and remember it if it is the learner's own work."""
    from converge.grader.course.last_run import LastRun
    from converge.grader.report import console as report
    from converge.grader.session.run import run

    progress_of(course)  # report a broken progress file before the checks start, not in between
    if any(job.lab.uses_cluster for job in jobs):
        start_cluster(silent)
    ended: dict[int, LabResult] = {}
    shown = 0

    def on_result(number: int, result: LabResult) -> None:
        nonlocal shown
        ended[number] = result
        LastRun(course).remember(result)
        if jobs[number].against == "labs" and jobs[number].only is None:
            progress_of(course).record(jobs[number].lab, result)
        while not silent and shown in ended:  # labs run beside each other, and are shown in their order
            live.stop()
            show(jobs[shown], ended[shown])
            shown += 1
        if shown < len(jobs):
            live.start()

    with report.LiveList(console, jobs, silent=silent) as live:
        results = run(course, jobs, on_event=live.on_event, on_result=on_result)
    if (trouble := next((each.trouble for each in results if each.trouble), "")) and not silent:
        console.print(trouble, style="magenta", markup=False)
    return results


def show(job: Job, result: LabResult) -> None:
    """The result of one lab, and what to type next if it is the learner's."""
    from converge.grader.course import relative
    from converge.grader.report import console as report

    own = job.against == "labs"
    report.show(console, result, relative(job.lab.skeleton) if own else job.against)
    if own:
        report.next_step(console, job.lab, result)


def start_cluster(silent: bool) -> None:
    """Start the cluster here, where its progress can be seen, and not within the first check."""
    from converge import cluster
    from converge.cli.console import progress

    if silent:
        cluster.ensure()
        return
    with progress() as say:
        cluster.ensure(say)


def exit_code(results: list[LabResult]) -> int:
    if all(result.passed for result in results):
        return PASSED
    return OUR_FAULT if any(result.is_ours for result in results) else NOT_PASSED
