"""Output of real commands, kept in ``docs/recorded`` and shown in lessons.

A lesson's ``docs/examples/NN_slug/record.toml`` has a table per command:

    [see-it-fail]
    run = "converge check 03"   # for bash, at the root of the course
    exit = 1                    # the exit code that it must have, 0 when absent
    before = []                 # commands run first and not shown
    after = []                  # commands run last in any case, not shown
    differs = []                # patterns of what may be different each time, beside times, ports and ids

``python -m converge.site.refresh`` writes ``docs/recorded/NN_slug.NAME.txt``: the command, then what
it printed.
"""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from converge.cluster.directories import state_dir

RECIPES = Path("docs/examples")  # what a lesson runs: operators, objects, and a record.toml that says how
FOLDER = Path("docs/recorded")  # what was seen
WIDTH = 96  # of the terminal that a command believes in; a code block of the site holds as much

# What is different in every run and means nothing. Spaces too: a wider number moves a column.
ALWAYS_DIFFERS = [
    r"(?m)^ {4}seen .*\n(?: {14}.*\n)*",  # evidence of one run: how many requests there were depends on the load
    r"(\d+(\.\d+)? ?(ms|s|m|h|d|MB|KiB|MiB))+\b",  # kubectl calls five minutes 5m, and a second more 5m1s
    r"(?m)^.* → .*$",  # one changed field, or one refused request
    r"[0-9a-f]{8}(?=\.invalid)",
    r"127\.0\.0\.1:\d+",
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?",
    r"(resourceVersion|pid)\W+\d+",
    r"[ \t]+",
]


@dataclass(frozen=True)
class Transcript:
    """One command of one lesson, and the file that holds its output."""

    root: Path
    lesson: str
    name: str
    run: str
    exit: int = 0
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.lesson}.{self.name}"

    @property
    def file(self) -> Path:
        return self.root / FOLDER / f"{self}.txt"

    def perform(self, **variables: str) -> str:
        """Run it, with these environment variables, and return what a reader should see: command and output."""
        try:
            for command in self.before:
                self._bash(command, expected=0)
            output = self._bash(self.run, self.exit, variables)
        finally:
            for command in self.after:
                self._bash(command)
        return f"$ {self.run}\n{output}"

    def same(self, one: str, other: str) -> bool:
        """Whether two outputs say the same, apart from what differs each time."""
        return self.without_volatile_text(one) == self.without_volatile_text(other)

    def without_volatile_text(self, text: str) -> str:
        for pattern in (*self.differs, *ALWAYS_DIFFERS):
            text = re.sub(pattern, " ", text)
        return "\n".join(line.strip() for line in text.splitlines())

    def _bash(
        self, command: str, expected: int | None = None, variables: Mapping[str, str] = MappingProxyType({})
    ) -> str:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        plain = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": str(WIDTH), "PATH": path}
        ended = subprocess.run(
            ["bash", "-c", command],
            cwd=self.root,
            env={**os.environ, **plain, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        if expected is not None and ended.returncode != expected:
            raise RuntimeError(f"{self}: `{command}` ended with {ended.returncode}, not {expected}:\n{ended.stdout}")
        return self._without_places(ended.stdout)

    def _without_places(self, text: str) -> str:
        """Paths as any reader has them, and no space at the end of a line."""
        text = re.sub(re.escape(str(self.root)) + r"(?![\w.-])", ".", text.replace(f"{self.root}/", ""))
        text = text.replace(str(state_dir()), "~/.local/state/converge").replace(str(Path.home()), "~")
        return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"


def entries(root: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Lesson, name and values of every entry of every lesson, in order."""
    for recipe in sorted((root / RECIPES).glob("*/record.toml")):
        for name, entry in tomllib.loads(recipe.read_text()).items():
            yield recipe.parent.name, name, {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}


def load(root: Path) -> list[Transcript]:
    """All commands of all lessons."""
    return [
        Transcript(root=root, lesson=lesson, name=name, **values)
        for lesson, name, values in entries(root)
        if "run" in values
    ]
