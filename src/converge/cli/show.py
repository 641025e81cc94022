"""``converge show``: the timeline of the last run, in the terminal or as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer


def show(
    name: Annotated[str | None, typer.Argument(help="a check, part of its name, or a recording's file")] = None,
    html: Annotated[Path | None, typer.Option(help="write the timeline as one self-contained page")] = None,
    svg: Annotated[Path | None, typer.Option(help="write only the picture")] = None,
    everything: Annotated[bool, typer.Option("--all", help="list reads and events too")] = False,
    json: Annotated[bool, typer.Option("--json", help="print the recording itself")] = False,
    list_: Annotated[bool, typer.Option("--list", help="list what was recorded, newest first")] = False,
) -> None:
    """Draw what the operator and the API server said to each other in the last check, or in another one.

    Examples:  converge show;  converge show stale --all;  converge show --html timeline.html
    """
    from converge.cli.terminal import console
    from converge.grader.recorder import recordings
    from converge.grader.recorder.svg import draw
    from converge.grader.recorder.terminal import TerminalTimeline
    from converge.grader.recorder.timeline import Timeline

    if list_:
        for kept in recordings.all_kept():
            console.print(kept.name, markup=False, soft_wrap=True)
        return
    try:
        kept = recordings.find(name)
    except recordings.NoRecordingError as error:
        console.print(f"converge: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(1) from None
    if json:
        print(kept.file.read_text(), end="")
        return
    recording = kept.load()
    if html is not None:
        console.print(f"written: {kept.draw(html)}", markup=False, soft_wrap=True)
    if svg is not None:
        svg.write_text(draw(Timeline.of(recording)), encoding="utf-8")
        console.print(f"written: {svg}", markup=False, soft_wrap=True)
    if html is None and svg is None:
        console.print(TerminalTimeline(recording, everything))
