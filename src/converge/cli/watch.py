"""`converge watch`: grade again at every save."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated

import typer

from converge.cli.check import LabArgument, grade, jobs_of
from converge.cli.console import console
from converge.files import file_system, has_events


def watch(
    lab: LabArgument = None,
    poll: Annotated[
        bool, typer.Option("--poll", help="Poll the file, for file systems that don't report changes.")
    ] = False,
) -> None:
    """Grade again at every save; without LAB, the first lab that you haven't passed. Ctrl-C ends it.

    Examples: [bold]converge watch[/], [bold]converge watch 03 --poll[/].
    """
    from converge.grader import course as courses

    course = courses.load()
    (job, *_) = jobs_of(course, [lab or ""])
    chosen = job.lab
    system = file_system(chosen.skeleton)
    if not has_events(system) and not poll:
        console.print(f"[yellow]Changes on a {system} file system aren't reported, so this checks the file itself.[/]")
        poll = True
    try:
        for _ in changes(chosen.skeleton, poll, also=chosen.extra_files):
            if console.is_terminal:
                console.clear()
            grade(course, [job])
            console.print(f"\nWatching {courses.relative(chosen.skeleton)}; Ctrl-C ends it.", style="dim")
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def changes(file: Path, poll: bool, also: Collection[str] = ()) -> Iterator[None]:
    """Now, and after each save. Editors replace files, so the directory is watched."""
    from watchfiles import watch as watch_files

    saves = watch_files(
        file.parent,
        watch_filter=lambda _, path: Path(path).name in (file.name, *also),
        force_polling=poll or None,
        poll_delay_ms=200,
        debounce=100,
        step=20,
        rust_timeout=100,
        yield_on_timeout=True,
    )
    next(saves)  # from here on it listens: a save during the first grading is not lost
    yield
    for saved in saves:
        if saved:
            yield
