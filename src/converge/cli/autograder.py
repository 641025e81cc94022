"""`converge autograder`: what to upload so that a platform grades with Converge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from converge.cli.console import console


def autograder(
    platform: Annotated[str, typer.Argument(help="gradescope, classroom50, prairielearn or vpl.")],
    out: Annotated[Path, typer.Option("--out", metavar="PATH", help="A directory to write, or a file: NAME.zip.")],
    lab: Annotated[list[str], typer.Option("--lab", metavar="LAB", help="A lab: 06. May be repeated.")],
    image: Annotated[
        str, typer.Option(help="The image made from the Containerfile, where the platform can reach it.")
    ] = "converge",
) -> None:
    """Write what a platform needs to grade submissions as [bold]converge grade[/] does.

    Examples: [bold]converge autograder gradescope --lab 06 --out autograder.zip[/], and with an image of your own
    [bold]converge autograder prairielearn --lab 06 --image registry.example/converge --out questions/lab06[/].
    """
    from converge.classroom import platforms
    from converge.grader import course as courses
    from converge.grader.course.course_toml import CourseError

    course = courses.load()
    if platform not in platforms.PLATFORMS:
        raise CourseError(f"There is no platform {platform}; there are {', '.join(platforms.PLATFORMS)}")
    labs = [course.find(name) for name in lab]
    made = platforms.PLATFORMS[platform](course, labs, image)
    platforms.write(out, made)
    console.print(f"{out}: {len(made)} files for {platform}", highlight=False)
