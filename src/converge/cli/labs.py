"""Commands for the labs and the course: each is a module of its own, or shares one with its siblings."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import typer

from converge.cli.audit import audit
from converge.cli.autograder import autograder
from converge.cli.chaos import chaos
from converge.cli.check import check
from converge.cli.grade import grade
from converge.cli.guidance import diff, hint, reset
from converge.cli.new import new
from converge.cli.notebook import notebook
from converge.cli.overview import list_, outside, progress
from converge.cli.show import show
from converge.cli.verify import verify
from converge.cli.version import version
from converge.cli.watch import watch

LEARN, COURSE, ANY = "The labs", "The course", "Your own operator"
WRONG_USE = 2

Command = Callable[..., None]


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    learn: list[Command] = [check, watch, hint, show, chaos, diff, reset, notebook, progress]
    course: list[Command] = [grade, autograder, verify, new, outside, version]
    for command in learn:
        app.command(rich_help_panel=LEARN)(friendly(command))
    app.command("list", rich_help_panel=LEARN)(friendly(list_))
    app.command(rich_help_panel=ANY)(audit)
    for command in course:
        app.command(rich_help_panel=COURSE)(friendly(command))


def friendly(command: Command) -> Command:
    """Say in one line, not in a traceback, what is wrong with the course's files or with a name."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        from converge.grader.course import CourseError

        try:
            command(*args, **kwargs)
        except CourseError as error:
            print(f"converge: {error}", file=sys.stderr)
            raise typer.Exit(WRONG_USE) from None

    return run
