"""`converge verify`: the grader graded."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from converge.cli.console import console, progress

if TYPE_CHECKING:
    from rich.text import Text

    from converge.grader.course import Course, Lab
    from converge.grader.session.verify import Trial

GREEN, RED = 0, 1


def verify(
    labs: Annotated[list[str] | None, typer.Argument(metavar="[LAB]...", help="Labs; all of them by default.")] = None,
    report: Annotated[Path, typer.Option("--json", help="Where the whole result goes.")] = Path("build/verify.json"),
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Variants, and each mutant only at its check; a problem is tried again."),
    ] = False,
    answers: Annotated[
        bool, typer.Option("--answers", help="Skeletons and solutions only, once each; a problem is tried again.")
    ] = False,
    edits: Annotated[
        bool,
        typer.Option("--edits", help="Mutants by machine: every small edit of a solution is caught, or listed."),
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Every problem in full.")] = False,
) -> None:
    """Grade the grader: skeletons earn nothing, solutions everything, each mutant fails at its check.

    Examples: [bold]converge verify 03[/], [bold]converge verify[/] (all labs), [bold]converge verify 06 -v[/],
    [bold]converge verify --quick[/] (as [bold]make verify[/] does for all labs), [bold]converge verify --answers[/],
    [bold]converge verify --edits 06[/] (continues where it stopped).

    Exit status: 0 everything is as it should be, 1 something isn't.
    """
    from rich.table import Table
    from rich.text import Text

    from converge.grader import course as courses
    from converge.grader.session.verify import verify as verify_labs

    course = courses.load()
    chosen = [course.find(name) for name in labs] if labs else [lab for lab in course.labs if lab.skeleton.exists()]
    if any(lab.uses_cluster for lab in chosen):
        from converge import cluster

        cluster.ensure()
    if edits:
        raise typer.Exit(GREEN if verify_edits(course, chosen) else RED)
    began = time.monotonic()
    count = 0
    with progress() as say:

        def on_trial(lab: courses.Lab, trial: Trial) -> None:
            nonlocal count
            count += 1
            mark = "✗\n" if trial.problems else "✓"
            say(f"verify: {count} runs, {lab.slug} {trial.subject} {mark}")

        done = verify_labs(course, chosen, on_trial, quick=quick, answers=answers)
    took = time.monotonic() - began
    table = Table(box=None)
    for title in ("lab", "skeleton", "solution", "mutants", "variants", "files", "checks took"):
        table.add_column(title, justify="right" if title == "checks took" else "left")
    for each in done:
        cells = [share(each.of(kind)) for kind in ("labs", "solutions", "mutant", "variant")]
        files = Text("✓", "green") if not each.problems else Text(f"{len(each.problems)} ✗", "red")
        table.add_row(each.lab, *cells, files, f"{each.seconds:.0f} s")
    console.print(table)
    console.print(f"{count} runs in {took:.0f} s, several checks at a time.")
    for each in done:
        for problem in each.problems:
            console.print(Text(f"{each.lab}: {problem}"), soft_wrap=True)
        for trial in each.trials:
            for problem in trial.problems:
                print_problem(f"{each.lab}, {trial.subject}", problem, verbose)
            for problem in trial.unsteady:
                print_problem(f"{each.lab}, {trial.subject}, flaky: passed on retry", problem, verbose)
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps([each.to_json() for each in done], indent=2) + "\n")
    raise typer.Exit(GREEN if all(each.passed for each in done) else RED)


def verify_edits(course: Course, labs: list[Lab]) -> bool:
    """Grade every small edit of the solutions; print what no check has caught."""
    from rich.table import Table
    from rich.text import Text

    from converge.grader.session.machine_edits import MachineEdit
    from converge.grader.session.machine_mutants import MachineResult, run_edits

    began = time.monotonic()
    table = Table(box=None)
    for title in ("lab", "edits", "caught", "equivalent", "survived", "checks took"):
        table.add_column(title, justify="left" if title == "lab" else "right")
    with progress() as say:

        def on_progress(result: MachineResult, edit: MachineEdit, check: str) -> None:
            mark = f"caught by {check}" if check else "not caught\n"
            say(f"edits: {result.lab} {result.done}/{result.edits}, {edit.name} {mark}")

        results = [run_edits(course, lab, on_progress) for lab in labs]
    for each in results:
        counts = (each.edits, len(each.caught), len(each.equivalent), len(each.survived))
        table.add_row(each.lab, *map(str, counts), f"{each.seconds:.0f} s")
    console.print(table)
    console.print(f"{time.monotonic() - began:.0f} s, with what was known from earlier runs.")
    for each in results:
        for what, names in (
            ("no check catches", each.survived),
            ("its check failed on the solution as well, so run this again for", list(each.unsure)),
            ("listed as equivalent, but a check catches", each.not_equivalent),
            ("listed as equivalent, but there is no edit", each.unknown),
        ):
            for name in names:
                console.print(Text(f"{each.lab}: {what} {name}"), soft_wrap=True)
    return all(each.passed for each in results)


def print_problem(where: str, problem: str, whole: bool) -> None:
    from rich.text import Text

    first, *rest = problem.splitlines()
    console.print(Text("\n".join([f"{where}: {first}", *(rest if whole else rest[:12])])), soft_wrap=True)


def share(trials: list[Trial]) -> Text:
    """How many of these runs went as they should."""
    from rich.text import Text

    good = sum(not trial.problems for trial in trials)
    return Text(f"{good}/{len(trials)}" if trials else "–", "green" if good == len(trials) else "red")
