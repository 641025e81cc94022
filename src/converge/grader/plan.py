"""What one pytest has to do: checks against submissions, several of either. Written by `run`, read by the plugin."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True)
class Task:
    """Some checks of one lab against one submission."""

    number: int
    file: str  # the lab's checks
    checks: list[str]
    against: str
    hurry: float


@dataclass(frozen=True)
class Plan:
    """All tasks of one pytest."""

    tasks: list[Task]

    @classmethod
    def read(cls, path: Path) -> Self:
        return cls([Task(**each) for each in json.loads(path.read_text())])

    def write(self, path: Path) -> None:
        path.write_text(json.dumps([asdict(task) for task in self.tasks]))

    def of(self, file: Path, check: str) -> list[Task]:
        """Every task with this check."""
        return [task for task in self.tasks if Path(task.file).name == file.name and check in task.checks]

    def nodes(self) -> list[str]:
        """The arguments that make pytest collect each check once, in the order of the tasks."""
        return list(dict.fromkeys(f"{task.file}::{check}" for task in self.tasks for check in task.checks))


def split(node: str) -> tuple[str, int]:
    """The check and the task's number in one of pytest's names, `FILE::CHECK[NUMBER]`."""
    check, _, task = node.rpartition("::")[2].rstrip("]").partition("[")
    return check, int(task)
