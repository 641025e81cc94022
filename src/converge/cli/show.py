"""``converge show``: the timeline of the last run, in the terminal or as one HTML file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from converge.recorder.archive import StoredRecording


def show(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[LAB[.N]]", help="a lab (its first failed check), a check (12.8), part of a name, or a file"
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="write the timeline as one self-contained page")] = None,
    svg: Annotated[Path | None, typer.Option(help="write only the picture")] = None,
    everything: Annotated[bool, typer.Option("--all", help="also list reads and events")] = False,
    json: Annotated[bool, typer.Option("--json", help="print the recording itself")] = False,
    list_: Annotated[bool, typer.Option("--list", help="list what was recorded, newest first")] = False,
) -> None:
    """Draw what the operator and the API server said to each other in the first check that failed, or in another one.

    Examples:  converge show;  converge show 12.8;  converge show stale --all;  converge show --html timeline.html
    """
    from converge.cli.console import console
    from converge.recorder import archive as recordings
    from converge.recorder.timeline.model import Timeline
    from converge.recorder.timeline.svg import draw
    from converge.recorder.timeline.terminal import TerminalTimeline

    if list_:
        for kept in recordings.all_kept():
            console.print(kept.name, markup=False, soft_wrap=True)
        return
    try:
        kept = find(name)
        recording = kept.load()
    except recordings.NoRecordingError as error:
        console.print(f"converge: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(1) from None
    if json:
        print(kept.file.read_text(), end="")
        return
    if html is not None:
        console.print(f"written: {kept.draw(html)}", markup=False, soft_wrap=True)
    if svg is not None:
        svg.write_text(draw(Timeline.of(recording)), encoding="utf-8")
        console.print(f"written: {svg}", markup=False, soft_wrap=True)
    if html is None and svg is None:
        console.print(TerminalTimeline(recording, everything))


def find(name: str | None) -> "StoredRecording":
    """The recording of a check (`12.8`), of a lab's first failed check, of the last run's, or of any other name."""
    from converge.grader import course as courses
    from converge.grader.course.last_run import LastRun
    from converge.recorder import archive as recordings

    word, _, number = (name or "").partition(".")
    try:
        course = courses.load()
        lab = course.find(word) if word else None
    except courses.CourseError:
        return recordings.find(name)  # not a lab of this course: a part of a name, or a file
    if lab and number:
        return recordings.find(f"{lab.slug}-{lab.check(number).name.removeprefix('test_')}")
    failed = LastRun(course).first_failed(lab)
    kept = [each for each in recordings.all_kept() if each.name == failed]
    return kept[0] if kept else recordings.find(lab.slug if lab else None)
