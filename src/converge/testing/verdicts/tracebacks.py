"""Tracebacks in what an operator printed: found, told apart, and shown from its author's own lines on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HEADER = "Traceback (most recent call last):"
GROUP_HEADER = f"Exception Group {HEADER}"  # what follows is drawn as a tree
JOINTS = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
FRAME = re.compile(r'  File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>.+)')
FRAMES_SHOWN = 4  # of an exception that passed through none of its author's lines
LONGEST_LINE = 300


@dataclass
class Frame:
    """One call of a traceback: where it was, and the lines that Python prints for it."""

    file: str
    line: str
    name: str
    text: list[str]


@dataclass
class Traceback:
    """What Python prints for one exception."""

    frames: list[Frame] = field(default_factory=list)
    exception: str = ""


@dataclass
class Crash:
    """An exception together with those that led to it."""

    chain: list[Traceback]

    @property
    def exception(self) -> str:
        """The last line: what it was that nobody handled."""
        return self.chain[-1].exception

    def fingerprint(self, folder: str) -> str:
        """Equal for two crashes of the same kind at the same line; `folder` is where its author's files are."""
        frames = self.chain[-1].frames
        own = [frame for frame in frames if _is_in(frame, folder)] or frames
        where = f"{own[-1].file}:{own[-1].line}" if own else ""
        return f"{self.exception.partition(':')[0]} at {where}"

    def show(self, folder: str) -> str:
        """The traceback from the first line of its author on, without what lies below the last of them."""
        with_own = [each for each in self.chain if any(_is_in(frame, folder) for frame in each.frames)]
        lines = []
        for each in with_own or self.chain[-1:]:
            own = [place for place, frame in enumerate(each.frames) if _is_in(frame, folder)]
            first, last = (own[0], own[-1] + 1) if own else (-FRAMES_SHOWN, len(each.frames))
            lines += [line for frame in each.frames[first:last] for line in frame.text]
            if below := each.frames[last:]:
                lines.append(f"  … and further down in {Path(below[-1].file).name}, line {below[-1].line}")
            lines.append(each.exception)
        if self.exception not in lines:
            lines.append(self.exception)
        return "\n".join(line[:LONGEST_LINE] for line in lines)


def crashes(output: str) -> list[Crash]:
    """Every exception whose traceback was printed, in the order in which they were."""
    found: list[Crash] = []
    lines = iter(readable(output).splitlines())
    joined = False
    for line in lines:
        if line in JOINTS:
            joined = True
        elif line.endswith(HEADER) and not line.endswith(GROUP_HEADER):  # what was printed before may not end its line
            traceback = _read(lines)
            if joined and found:
                found[-1].chain.append(traceback)
            else:
                found.append(Crash([traceback]))
            joined = False
        elif line.strip():
            joined = False
    return found


def readable(output: str) -> str:
    """The output with each line of JSON turned into text, so that a traceback in it has lines of its own."""
    return "\n".join(text for line in output.splitlines() for text in _lines_of(line))


def _lines_of(line: str) -> Iterator[str]:
    if line.startswith("{"):
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            said = None
        if isinstance(said, dict) and "message" in said:
            yield " ".join(str(said[key]) for key in ("level", "controller", "key", "message") if key in said)
            yield from str(said.get("error") or "").splitlines()
            return
    yield line


def _read(lines: Iterator[str]) -> Traceback:
    """A traceback whose first line was read: frames with what is indented below them, then the exception."""
    traceback = Traceback()
    for line in lines:
        if found := FRAME.match(line):
            traceback.frames.append(Frame(**found.groupdict(), text=[line]))
        elif line.startswith((" ", "\t")):
            if traceback.frames:
                traceback.frames[-1].text.append(line)
        else:
            traceback.exception = line
            break
    return traceback


def _is_in(frame: Frame, folder: str) -> bool:
    return bool(folder) and Path(frame.file).parent == Path(folder)
