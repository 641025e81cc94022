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

from converge.grader.course import Lab
from converge.grader.report.text import explain
from converge.grader.results import CheckResult, LabResult
from converge.grader.run import Event, Job
from converge.grader.verdict import Status

MARKS = {
    Status.PASSED: ("✓", "green"),
    Status.FAILED: ("✗", "red"),
    Status.NOT_STARTED: ("–", "yellow"),
    Status.ERROR: ("!", "magenta"),
    Status.TIMEOUT: ("⧖", "red"),
    Status.NEEDS_KIND: ("○", "cyan"),
}


@contextmanager
def watching(console: Console, jobs: Sequence[Job], *, silent: bool = False) -> Iterator[Event]:
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
            state, name = states[event["task"]], event["name"]
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
    console.print(Text(explain(check.status, check.parts)), soft_wrap=True)
    if check.status in (Status.NOT_STARTED, Status.NEEDS_KIND):
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
    if result.passed:
        console.print(f"Passed. `converge diff {lab.number}` compares with the solution; `converge check` goes on.")
    elif any(check.timeline for check in result.checks):
        console.print(f"`converge show` draws what your operator did; `make hint LAB={lab.number}` helps.", style="dim")
    else:
        file = lab.skeleton.relative_to(lab.root)
        console.print(f"Next: read {lab.lesson.relative_to(lab.root)}, edit {file}, and check again.", style="dim")
        console.print(f"`make hint LAB={lab.number}` helps.", style="dim")
