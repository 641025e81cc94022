"""The command that opens a lesson's notebook in JupyterLab."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Annotated

import typer

from converge import cluster
from converge.cli import kernel
from converge.cli.check import LabArgument, lab_of
from converge.cli.console import console, progress


def notebook(
    lab: LabArgument = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open it in a browser, or only print its address.")
    ] = True,
) -> None:
    """Open a lesson's notebook in JupyterLab, with the cluster up. Ctrl-C ends it.

    Example: [bold]converge notebook 03[/].
    """
    from converge.grader import course as courses

    chosen = lab_of(courses.load(), lab)
    if not chosen.notebook.exists():
        raise courses.CourseError(f"lab {chosen.number} has no notebook")
    if importlib.util.find_spec("jupyterlab") is None:
        raise courses.CourseError(
            f"JupyterLab isn't installed here; this installs it: make notebook LAB={chosen.number}"
        )
    kernel.install()
    with progress() as say:
        there = cluster.ensure(say)
    console.print(f"{chosen.notebook.name} on the {there.provider} cluster; press Ctrl-C twice to end it")
    sys.stdout.flush()
    command = [sys.executable, "-m", "jupyterlab", str(chosen.notebook), f"--ServerApp.root_dir={chosen.root}"]
    if not browser:
        command.append("--no-browser")
    if os.geteuid() == 0:  # in a container; Jupyter refuses, though root can already do all that a notebook can
        command.append("--allow-root")
    # Replaced, not started: the signals of a terminal or of a supervisor reach Jupyter, which ends its kernels.
    os.execv(sys.executable, command)
