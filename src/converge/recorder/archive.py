"""Where recordings are kept: one file per check that ran, the newest being “the last run”, and a page on demand."""

import re
from dataclasses import dataclass
from pathlib import Path

from converge.cluster.directories import private_dir, state_dir
from converge.recorder.recording import Recording
from converge.recorder.timeline.page import page

# Checks of a whole course fit; older ones make room.
MOST_KEPT = 200


class NoRecordingError(Exception):
    """There is no such recording. The message says what to do."""


@dataclass(frozen=True)
class StoredRecording:
    """A recording on disk."""

    file: Path

    @property
    def name(self) -> str:
        return self.file.stem

    def load(self) -> Recording:
        try:
            return Recording.load(self.file)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise NoRecordingError(f"{self.file} isn't a recording that this version can read") from None

    def draw(self, to: Path | None = None) -> Path:
        """Write the page beside it, or to ``to``."""
        path = to or self.file.with_suffix(".html")
        path.write_text(page(self.load()), encoding="utf-8")
        return path


def folder() -> Path:
    return state_dir() / "recordings"


def keep(recording: Recording) -> StoredRecording:
    """Save a recording under its title; one of the same title makes room."""
    words = re.sub(r"[^A-Za-z0-9_.-]+", "-", recording.title).strip("-") or "recording"
    kept = StoredRecording(recording.save(private_dir(folder()) / f"{words[:120]}.json"))
    for old in all_kept()[MOST_KEPT:]:
        old.file.unlink(missing_ok=True)
        old.file.with_suffix(".html").unlink(missing_ok=True)
    return kept


def all_kept() -> list[StoredRecording]:
    """All recordings, newest first."""
    ages = []
    for file in folder().glob("[!.]*.json"):
        try:
            ages.append((file.stat().st_mtime, file))
        except FileNotFoundError:  # another check has just made room
            continue
    return [StoredRecording(file) for _, file in sorted(ages, reverse=True)]


def find(name: str | None = None) -> StoredRecording:
    """The last recording, or the newest whose name contains ``name``, or the file of that path."""
    if name is not None and name.endswith(".json") and Path(name).exists():
        return StoredRecording(Path(name))
    found = all_kept()
    if not found:
        raise NoRecordingError("nothing has been recorded yet; `converge check` of an operator lab records")
    fitting = [kept for kept in found if name is None or name in kept.name]
    if not fitting:
        names = "\n  ".join(kept.name for kept in found[:10])
        raise NoRecordingError(f"there is no recording called {name!r}; the last ones are\n  {names}")
    return fitting[0]
