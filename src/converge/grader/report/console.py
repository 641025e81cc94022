"""Results on a terminal: a list that fills up while the checks run, and the explanations after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from converge.grader.checks.verdict import Status
from converge.grader.course import Lab
from converge.grader.course.job import Job, OnEvent
from converge.grader.course.results import CheckResult, LabResult
from converge.grader.report.text import explain_check

MARKS = {
    Status.PASSED: ("✓", "green"),
    Status.FAILED: ("✗", "red"),
    Status.NOT_STARTED: ("–", "yellow"),
    Status.ERROR: ("!", "magenta"),
    Status.TIMEOUT: ("⧖", "red"),
    Status.NEEDS_KIND: ("○", "cyan"),
}


@contextmanager
def show_live(console: Console, jobs: Sequence[Job], *, silent: bool = False) -> Iterator[OnEvent]:
    """Show the checks of a run while it goes on, of several labs those under way; nothing when nobody watches."""
    if silent or not console.is_terminal:
        yield lambda event: None
        return
    states: list[dict[str, Status | str]] = [{} for _ in jobs]

    def rows_of(job: Job, state: dict[str, Status | str]) -> Iterator[Any]:
        for each in job.facts:
            now = state.get(each.name)
            if now == "running":
                yield Spinner("dots", Text(each.title), style="cyan")
            elif isinstance(now, Status):
                mark, style = MARKS[now]
                yield Text.assemble((mark, style), " ", each.title)
            else:
                yield Text(f"· {each.title}", style="dim")

    def draw() -> Group:
        rows: list[Any] = []
        for job, state in zip(jobs, states, strict=True):
            if len(jobs) == 1:
                rows += rows_of(job, state)
            elif state and not all(isinstance(state.get(each.name), Status) for each in job.facts):
                rows += [heading(job.lab.number, job.lab.title), *rows_of(job, state)]
        return Group(*rows)

    with Live(get_renderable=draw, console=console, refresh_per_second=12, transient=True):

        def on_event(event: dict[str, Any]) -> None:
            state, name = states[event["job"]], event["name"]
            if event["phase"] == "start":
                state[name] = "running"
            elif state.get(name, "running") == "running" and (
                event["status"] != Status.PASSED or event["phase"] == "teardown"
            ):
                state[name] = Status(event["status"])

        yield on_event


def heading(number: str, title: str) -> Text:
    return Text(f"{number} {title}", style="bold")


def show(console: Console, result: LabResult, file: str) -> None:
    """One lab's result, easiest check first, each with its explanation."""
    console.print(Text.assemble(heading(result.lab[:2], result.title), f" · {file}"))
    for check in result.checks:
        show_check(console, check)
    counts = Counter(check.status for check in result.checks)
    summary = ", ".join(f"{counts[status]} {status}" for status in Status if counts[status])
    style = "bold green" if result.passed else "bold"
    console.print()
    console.print(
        Text.assemble((f"{result.points}/{result.max_points} points", style), f" · {summary} · {result.seconds:.1f} s")
    )


def show_check(console: Console, check: CheckResult) -> None:
    mark, style = MARKS[check.status]
    points = f"{check.points}/{check.max_points}" if check.asked else str(check.status)
    console.print(Text.assemble((mark, style), f" {check.title}  ", (points, "dim")), soft_wrap=True)
    if check.passed:
        return
    console.print(Text(explain_check(check)), soft_wrap=True)
    if check.status in (Status.NOT_STARTED, Status.NEEDS_KIND) or check.same_as:
        return
    for label, value in (("lesson", check.lesson), ("happened", incident_link(check.incident))):
        if value:
            console.print(Text(f"    {label:<10}{value}", style="dim"), soft_wrap=True)
    if check.timeline:
        console.print(Text(f"    {'timeline':<10}{check.timeline}", style="dim"), soft_wrap=True)


def incident_link(incident: str) -> str:
    """`OWNER/REPO#N: words` as an address that can be clicked."""
    place, _, words = incident.partition(": ")
    repository, _, number = place.partition("#")
    if not number:
        return incident
    link = f"https://github.com/{repository}/issues/{number}"
    return f"{words}, {link}" if words else link


def next_step(console: Console, lab: Lab, result: LabResult) -> None:
    """What to type next."""
    failed = next((check for check in result.checks if check.asked and not check.passed), None)
    if failed is None and not all(check.asked for check in result.checks):
        console.print(f"Passed. `make check LAB={lab.number}` grades the whole lab.")
    elif failed is None:
        console.print(f"Passed. In `make shell`, `converge diff {lab.number}` compares with the solution;", end=" ")
        console.print("`converge check` goes on.")
    elif all(check.status is Status.NOT_STARTED for check in result.checks if check.asked):
        file = lab.skeleton.relative_to(lab.root)
        console.print(f"Next: read {lab.lesson.relative_to(lab.root)}, edit {file}, and check again.", style="dim")
        console.print(f"`make hint LAB={lab.number}` helps.", style="dim")
    else:
        draws = f"`converge show {lab.number}` draws what your operator did there, " if failed.timeline else ""
        again = f"`make check LAB={failed.number}` runs that check alone"
        hint = f"`make hint LAB={lab.number}` helps"
        console.print(f"First to fix: {failed.number}. {draws}{again}, {hint}.", style="dim")
