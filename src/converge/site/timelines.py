"""The recorder's picture of a real run, kept in ``docs/recorded`` and set into a page.

A timeline is an entry of a lesson's ``docs/examples/NN_slug/record.toml`` that names a check of that lesson:

    [crash]
    timeline = "test_one_child_after_a_crash_at_each_write"
    against = "solutions"       # as `converge check --against`; a mutant shows how it goes wrong

``python -m converge.site.refresh`` runs that check and draws what the recorder saw. The picture is put into the page
itself, not linked as an image, so that its words can be searched and its colours follow the theme.
"""

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from converge.grader import course
from converge.recorder.recording import Recording
from converge.recorder.timeline import svg
from converge.recorder.timeline.model import Timeline
from converge.site import transcripts


@dataclass(frozen=True)
class RecordedTimeline:
    """One check of one lesson, and the file that holds the picture of its run."""

    root: Path
    lesson: str
    name: str
    timeline: str
    against: str = "solutions"

    def __str__(self) -> str:
        return f"{self.lesson}.{self.name}"

    @property
    def file(self) -> Path:
        return self.root / transcripts.FOLDER / f"{self}.svg"

    @property
    def origin(self) -> str:
        """Says in the file what it was drawn from, so that a test can tell when the entry says something else."""
        return f"<!-- {self.timeline} against {self.against} -->\n"

    def perform(self) -> str:
        """Run the check and return the picture."""
        return self.origin + svg.draw(Timeline.of(self.run_check()), own_colours=False) + "\n"

    def run_check(self) -> Recording:
        """Run the check, passed or not, and return what the recorder saw."""
        lab = course.load(self.root).find(self.lesson)
        check = lab.check(self.timeline)
        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder) / "recording.json"
            pytest = [sys.executable, "-m", "pytest", "-q", "-p", "converge.site.keep_recording"]
            which = [f"--keep-recording={kept}", f"--against={self.against}", f"{lab.checks_file}::{check.name}"]
            ran = subprocess.run([*pytest, *which], cwd=self.root, capture_output=True, text=True, check=False)
            if not kept.exists():
                raise RuntimeError(f"{self}: the check left no recording:\n{ran.stdout}{ran.stderr}")
            recording = Recording.load(kept)
        recording.title = check.title
        return recording

    def same(self, one: str, other: str) -> bool:
        """Every run is drawn again: no two are alike to the millisecond."""
        return False


def load(root: Path) -> list[RecordedTimeline]:
    """All timelines of all lessons, in order."""
    return [
        RecordedTimeline(root=root, lesson=lesson, name=name, **values)
        for lesson, name, values in transcripts.entries(root)
        if "timeline" in values
    ]


def render(root: Path, name: str) -> str:
    """The HTML of the timeline ``name``: what was run, the picture in a frame that scrolls sideways, its marks."""
    path = root / transcripts.FOLDER / f"{name}.svg"
    if not path.exists():
        raise ValueError(f"::timeline {name}: {path.relative_to(root)} is not there; make recorded NAME={name}")
    picture = path.read_text().partition("-->\n")[2]
    # It may shrink to three quarters before it scrolls: smaller than that its words cannot be read.
    width = int(_between(picture, ' width="', '"'))
    picture = picture.replace("<svg ", f'<svg style="max-width:{width}px;min-width:{width * 3 // 4}px" ', 1)
    title, figures = _between(picture, "<title>", "</title>"), _between(picture, "<desc>", ". One lane")
    return (
        f'<figure class="recording"><figcaption>{title} <small>{figures}</small></figcaption>'
        f'<div class="recording-frame" role="region" tabindex="0" aria-label="Timeline: {title}">{picture}</div>'
        f"<ul>{svg.legend(picture)}</ul></figure>"
    )


def _between(text: str, start: str, end: str) -> str:
    return text.partition(start)[2].partition(end)[0]
