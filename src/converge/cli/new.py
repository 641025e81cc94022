"""`converge new`: the files of a lesson that is still to be written."""

from __future__ import annotations

from typing import Annotated

import typer

from converge.cli.console import console


def new(
    slug: Annotated[str, typer.Argument(metavar="NN_SLUG", help="The next number and a name, such as 17_webhooks.")],
    title: Annotated[str, typer.Argument(help="What the lesson is called on its page and in the README.")],
    kind: Annotated[str, typer.Option(help="operator (a process on the cluster) or library (a class).")] = "operator",
    part: Annotated[str, typer.Option(help="The part it belongs to; that of the last lesson by default.")] = "",
) -> None:
    """Start a lesson: every file it needs, as a stub.

    [bold]converge verify NN[/] then lists what is still to be written.

    Example: [bold]converge new 17_webhooks "Admission webhooks"[/].
    """
    from converge.grader import course as courses
    from converge.grader.course import stub

    for path in stub.make(courses.load(), slug, title, kind, part):
        console.print(f"wrote {courses.relative(path)}", highlight=False, soft_wrap=True)
    console.print(f"Next: [bold]converge verify {slug[:2]}[/] lists what is still to be written.")
