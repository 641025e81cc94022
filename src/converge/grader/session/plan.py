"""What one pytest has to do: checks against submissions, several of either. Written by `run`, read by the plugin."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import pytest

PLAN_OPTION = "--converge-plan"


@dataclass(frozen=True)
class PlannedJob:
    """A `Job` as the plan file has it."""

    number: int
    file: str  # the lab's checks
    checks: list[str]
    against: str
    deadline_factor: float
    whole_lab: bool = False  # all checks of the lab or its first one alone, which can decide for the others
    jailed: bool = False  # the submission is untrusted
    timelines: str = ""  # the directory for the timelines of what fails; the archive's when empty
    until_failure: bool = False  # its checks begin in the order of `checks`, and none after the first that fails


@dataclass(frozen=True)
class Plan:
    """All jobs of one pytest."""

    jobs: list[PlannedJob]

    @classmethod
    def read(cls, path: Path) -> Self:
        return cls([PlannedJob(**each) for each in json.loads(path.read_text())])

    def write(self, path: Path) -> None:
        path.write_text(json.dumps([asdict(job) for job in self.jobs]))

    def of(self, file: Path, check: str) -> list[PlannedJob]:
        """Every job with this check."""
        return [job for job in self.jobs if Path(job.file).name == file.name and check in job.checks]

    def nodes(self) -> list[str]:
        """The arguments that make pytest collect each check once, in the order of the jobs."""
        return list(dict.fromkeys(f"{job.file}::{check}" for job in self.jobs for check in job.checks))


def in_turns(items: list[pytest.Item]) -> None:
    """Sort so that every job's first check comes before any job's second one, if jobs end with a failure."""
    jobs = {id(item): job for item in items if (job := planned_job(item))}
    if len(jobs) == len(items) and any(job.until_failure for job in jobs.values()):
        items.sort(key=lambda item: (jobs[id(item)].checks.index(split(item.name)[0]), jobs[id(item)].number))


def planned_job(item: pytest.Item) -> PlannedJob | None:
    """The job that one of pytest's items belongs to."""
    return item.callspec.params.get("against") if hasattr(item, "callspec") else None


def split(node: str) -> tuple[str, int]:
    """The check and the job's number in one of pytest's names, `FILE::CHECK[NUMBER]`."""
    check, _, job = node.rpartition("::")[2].rstrip("]").partition("[")
    return check, int(job)
