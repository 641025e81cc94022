"""Results on a terminal: a list that fills up while the checks run, and the explanations after it."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from converge.grader.checks.verdict import Status
from converge.grader.course import Lab
from converge.grader.course.job import Job
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


class LiveList:
    """The checks of a run while it goes on, of several labs those under way; nothing when nobody watches.

    It's redrawn in place, so it's never as tall as the terminal. Stop it before you print: what is on the screen
    when it is redrawn has to be its own lines.
    """

    def __init__(self, console: Console, jobs: Sequence[Job], *, silent: bool = False) -> None:
        self._console, self._jobs = console, jobs
        self._watched = console.is_terminal and not silent
        self._states: list[dict[str, Status | str]] = [{} for _ in jobs]
        self._live: Live | None = None

    def __enter__(self) -> LiveList:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        if self._watched and self._live is None:
            self._live = Live(get_renderable=self.draw, console=self._console, refresh_per_second=12, transient=True)
            self._live.start()

    def stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def on_event(self, event: dict[str, Any]) -> None:
        state, name = self._states[event["job"]], event["name"]
        if event["phase"] == "start":
            state[name] = "running"
        elif state.get(name, "running") == "running" and (
            event["status"] != Status.PASSED or event["phase"] == "teardown"
        ):
            state[name] = Status(event["status"])

    def draw(self) -> OneLineEach:
        rows: list[tuple[int, RenderableType]] = []  # the higher the number, the sooner a row is left out
        for job, state in zip(self._jobs, self._states, strict=True):
            if len(self._jobs) == 1:
                rows += rows_of(job, state)
            elif state and not all(isinstance(state.get(each.name), Status) for each in job.facts):
                rows += [(RUNNING, heading(job.lab.number, job.lab.title)), *rows_of(job, state)]
        room = max(self._console.height - 1, 1)
        if len(rows) <= room:
            return OneLineEach([row for _, row in rows])
        best = sorted(range(len(rows)), key=lambda place: rows[place][0])[: room - 1]
        more = Text(f"… and {len(rows) - len(best)} more", style="dim")
        return OneLineEach([*(rows[place][1] for place in sorted(best)), more])


RUNNING, ENDED, WAITING = range(3)


def rows_of(job: Job, state: dict[str, Status | str]) -> Iterator[tuple[int, RenderableType]]:
    for each in job.facts:
        now = state.get(each.name)
        if now == "running":
            yield RUNNING, Spinner("dots", Text(each.title), style="cyan")
        elif isinstance(now, Status):
            mark, style = MARKS[now]
            yield ENDED, Text.assemble((mark, style), " ", each.title)
        else:
            yield WAITING, Text(f"· {each.title}", style="dim")


class OneLineEach:
    """Rows of which none takes a second line, so that their number is their height."""

    def __init__(self, rows: Sequence[RenderableType]) -> None:
        self.rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for row in self.rows:
            yield from console.render(row, options.update(no_wrap=True, overflow="ellipsis"))


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
    title = Text.assemble((mark, style), f" {check.title}  ", (points, "dim"))
    console.print(title, soft_wrap=not console.is_terminal)
    if check.passed:
        return
    say(console, explain_check(check))
    if check.status in (Status.NOT_STARTED, Status.NEEDS_KIND) or check.same_as:
        return
    for label, value in (("lesson", check.lesson), ("happened", incident_link(check.incident))):
        if value:
            say(console, f"    {label:<10}{value}", style="dim")
    if check.timeline:
        say(console, f"    {'timeline':<10}{check.timeline}", style="dim")


def say(console: Console, text: str, style: str = "") -> None:
    """Print lines as they are; on a terminal, which would break them anywhere, those too long are broken at words.

    What follows is indented like the line, or like what stands behind its label. A word that is longer than the
    terminal is wide, such as a path, stays whole: it can be copied.
    """
    if console.is_terminal:
        text = "\n".join(part for line in text.split("\n") for part in at_words(line, console.width))
    console.print(Text(text, style=style), soft_wrap=True)


def at_words(line: str, width: int) -> list[str]:
    start = re.match(r" +(?:[a-z]+  +)?", line)
    indent = " " * (start.end() if start else 0)
    if len(line) <= width or width - len(indent) < 20:
        return [line]
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=indent,
        expand_tabs=False,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )


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
        both = f"`converge diff {lab.number}` compares with the solution; `converge check` goes on"
        say(console, f"Passed. In `make shell`, {both}.")
    elif all(check.status is Status.NOT_STARTED for check in result.checks if check.asked):
        file = lab.skeleton.relative_to(lab.root)
        console.print(f"Next: read {lab.lesson.relative_to(lab.root)}, edit {file}, and check again.", style="dim")
        console.print(f"`make hint LAB={lab.number}` helps.", style="dim")
    else:
        draws = f"In `make shell`, `converge show {lab.number}` draws what your operator did there. "
        again = f"`make check LAB={failed.number}` runs that check alone"
        hint = f"`make hint LAB={lab.number}` helps"
        console.print(f"First to fix: {failed.number}. {draws if failed.timeline else ''}{again}, {hint}.", style="dim")
