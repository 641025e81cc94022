"""`converge autograder`: what to upload so that a platform grades with Converge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from converge.cli.console import console

DEFAULT_IMAGE = "converge"
NEED_AN_IMAGE = ("classroom50", "prairielearn")


def autograder(
    platform: Annotated[str, typer.Argument(help="gradescope, classroom50, prairielearn or vpl.")],
    out: Annotated[Path, typer.Option("--out", metavar="PATH", help="A directory to write, or a file: NAME.zip.")],
    lab: Annotated[list[str], typer.Option("--lab", metavar="LAB", help="A lab: 06. May be repeated.")],
    image: Annotated[
        str, typer.Option(help="The image made from the Containerfile, where the platform can reach it.")
    ] = DEFAULT_IMAGE,
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
    files = "1 file" if len(made) == 1 else f"{len(made)} files"
    console.print(f"{out}: {files} for {platform}", highlight=False)
    if image == DEFAULT_IMAGE and platform in NEED_AN_IMAGE:
        hint = f"It starts the image {image}. If {platform} can't pull that, name yours: --image registry.example/NAME"
        console.print(hint, soft_wrap=True, highlight=False)
