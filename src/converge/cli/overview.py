"""Commands for the whole course: list, progress; and the outside service of the labs that need one."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from converge.cli.check import progress_of
from converge.cli.console import console

if TYPE_CHECKING:
    from converge.grader.course import Lab


def list_(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """List the lessons, their parts and their points.

    Example: [bold]converge list[/].
    """
    from rich.table import Table

    from converge.grader import course as courses

    course = courses.load()
    rows = [
        {"lab": lab.slug, "title": lab.title, "part": lab.part, "kind": lab.kind, "points": points(lab)}
        for lab in course.labs
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    part = ""
    for row in rows:
        if row["part"] != part:
            part = str(row["part"])
            table.add_row(f"[bold]{part}[/]")
        table.add_row(f"  {row['lab']}", str(row["title"]), str(row["kind"]), f"{row['points']} points")
    console.print(table)


def progress(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show what you have achieved, and what is next.

    Example: [bold]converge progress[/].
    """
    from rich.table import Table

    from converge.grader import course as courses

    course = courses.load()
    state = progress_of(course)
    achieved = [(lab, state.of(lab), points(lab)) for lab in course.labs]
    if as_json:
        rows = [
            {"lab": lab.slug, "points": have.points, "max_points": most, "passed": have.passed, "hints": have.hints}
            for lab, have, most in achieved
        ]
        print(json.dumps(rows, indent=2))
        return
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for lab, have, most in achieved:
        done = round(20 * have.points / most) if most else 0
        bar = f"[green]{'━' * done}[/][dim]{'─' * (20 - done)}[/]"
        mark = "[green]✓[/]" if have.passed else " "
        table.add_row(f"{mark} {lab.number}", lab.title, bar, f"{have.points}/{most}", have.when)
    console.print(table)
    following = state.next_lab()
    total, most = sum(have.points for _, have, _ in achieved), sum(most for _, _, most in achieved)
    console.print(
        f"\n{total}/{most} points." + (f" Next: [bold]converge watch {following.number}[/]" if following else "")
    )


def points(lab: Lab) -> int:
    """The points of a lab; none while it has no checks."""
    return lab.points if lab.checks_file.exists() else 0


def outside(port: Annotated[int, typer.Option(help="The port on 127.0.0.1.")] = 8053) -> None:
    """Run the service outside the cluster that labs 11, 12, 13 and 16 talk to. Ctrl-C ends it.

    Example: [bold]converge outside[/], then `export OUTSIDE_URL=http://127.0.0.1:8053` where your operator runs.
    """
    from converge.operators.outside_service import Outside

    service = Outside(port)
    console.print(f"Records are kept at {service.url}/records; tell your operator OUTSIDE_URL={service.url}")
    shown = 0
    try:
        while True:
            for request in service.requests[shown:]:
                console.print(str(request), markup=False)
                shown += 1
            time.sleep(0.2)
    except KeyboardInterrupt:
        service.down()
