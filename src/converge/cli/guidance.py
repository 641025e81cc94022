"""Commands that help with one lab: hint, reset, diff."""

from __future__ import annotations

import difflib
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from converge.cli.check import LabArgument, lab_of, progress_of
from converge.cli.console import console

if TYPE_CHECKING:
    from converge.grader.course import Lab


def hint(
    lab: LabArgument = None,
    level: Annotated[int | None, typer.Option(min=1, max=3, help="Show this hint instead of the next one.")] = None,
) -> None:
    """Show the next hint: first a question, then a direction, then nearly the answer.

    Examples: [bold]converge hint 03[/], [bold]converge hint 03 --level 1[/].
    """
    from rich.text import Text

    from converge.grader import course as courses

    course = courses.load()
    chosen = lab_of(course, lab)
    if not chosen.hints:
        raise courses.CourseError(f"Lab {chosen.slug} has no hints yet.")
    shown = level or progress_of(course).show_hint(chosen)
    console.print(Text(f"{chosen.number} {chosen.title}, hint {shown} of {len(chosen.hints)}", style="bold"))
    console.print(Text(chosen.hints[shown - 1]))


def diff(
    lab: LabArgument = None,
    spoil: Annotated[bool, typer.Option("--spoil", help="Even if you haven't passed the lab.")] = False,
) -> None:
    """Compare your file with the solution, once you have passed.

    Examples: [bold]converge diff 03[/], [bold]converge diff 03 --spoil[/] (asks first).
    """
    from converge.grader import course as courses

    course = courses.load()
    chosen = lab_of(course, lab)
    if not progress_of(course).of(chosen).passed:
        if not spoil:
            raise courses.CourseError(
                f"The solution of {chosen.slug} opens when you have passed. "
                f"`converge hint {chosen.number}` helps; `converge diff {chosen.number} --spoil` opens it now."
            )
        typer.confirm("See the solution before you have found your own?", abort=True)
    for file in chosen.files:
        show_diff(chosen.skeleton.with_name(file), chosen.solution.with_name(file), "yours", "solution")


def reset(
    lab: Annotated[str, typer.Argument(metavar="LAB", help="The lab to start over.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Start a lab over: shows what you would lose, asks, keeps a copy of your file.

    Example: [bold]converge reset 03[/].
    """
    from converge.grader import course as courses

    course = courses.load()
    chosen = course.find(lab)
    mine = [chosen.skeleton.with_name(file) for file in chosen.files]
    changed = {path: original for path in mine if (original := skeleton_of(chosen, path)) != path.read_text()}
    if not changed:
        console.print(f"{', '.join(map(courses.relative, mine))} is as it was: nothing to reset.")
        return
    fresh = course.root / ".converge" / "skeleton"
    fresh.parent.mkdir(exist_ok=True)
    for path, original in changed.items():
        fresh.write_text(original)
        show_diff(path, fresh, "yours", "skeleton")
    fresh.unlink()
    if not yes:
        typer.confirm("Go back to the skeleton?", abort=True)
    backups = course.root / ".converge" / "backups"
    backups.mkdir(parents=True, exist_ok=True)
    for path, original in changed.items():
        backup = backups / f"{chosen.slug}-{time.strftime('%Y%m%d-%H%M%S')}-{path.name}"
        backup.write_text(path.read_text())
        path.write_text(original)
        console.print(f"Reset. Your file is kept as {courses.relative(backup)}.")


def skeleton_of(lab: Lab, path: Path) -> str:
    """A file of the skeleton as the course has it: git knows it best."""
    from converge.grader.course import CourseError

    name = path.relative_to(lab.root)
    for revision in ("@{upstream}", "HEAD"):
        shown = subprocess.run(
            ["git", "-C", str(lab.root), "show", f"{revision}:{name}"], capture_output=True, text=True, check=False
        )
        if shown.returncode == 0:
            return shown.stdout
    raise CourseError(f"git does not know {name}; fetch the course again to get its skeleton back.")


def show_diff(old: Path, new: Path, old_name: str, new_name: str) -> None:
    """The difference of two files, in color on a terminal."""
    from rich.text import Text

    colours = {"+": "green", "-": "red", "@": "cyan"}
    lines = difflib.unified_diff(
        old.read_text().splitlines(), new.read_text().splitlines(), old_name, new_name, lineterm="", n=2
    )
    for line in lines:
        console.print(Text(line, style=colours.get(line[:1], "")), soft_wrap=True)
