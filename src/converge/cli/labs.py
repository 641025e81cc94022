"""Commands for the labs: check, watch, hint, show, chaos, diff, reset, list, progress, verify, outside."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import typer

from converge.cli.chaos import chaos
from converge.cli.check import check
from converge.cli.guidance import diff, hint, reset
from converge.cli.overview import list_, outside, progress
from converge.cli.show import show
from converge.cli.verify import verify
from converge.cli.watch import watch

LEARN, COURSE = "The labs", "The course"
WRONG_USE = 2

Command = Callable[..., None]


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    learn: list[Command] = [check, watch, hint, show, chaos, diff, reset, progress]
    course: list[Command] = [verify, outside]
    for command in learn:
        app.command(rich_help_panel=LEARN)(friendly(command))
    app.command("list", rich_help_panel=LEARN)(friendly(list_))
    for command in course:
        app.command(rich_help_panel=COURSE)(friendly(command))


def friendly(command: Command) -> Command:
    """Tell what is wrong with the course's files or with a name in one line, not in a traceback."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        from converge.grader.course import CourseError

        try:
            command(*args, **kwargs)
        except CourseError as error:
            print(f"converge: {error}", file=sys.stderr)
            raise typer.Exit(WRONG_USE) from None

    return run
