"""Runs checks in a pytest of its own and collects the evidence.

pytest runs hardened: isolated Python, the course's own configuration, no conftest, no plugin but ours. It
reports over a pipe; a check counts as passed only when it said so itself, for every check that the course expects.
"""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from converge.grader.against import resolve
from converge.grader.course import CheckFacts, Course, Lab, relative
from converge.grader.output import plain
from converge.grader.plan import Plan, Task
from converge.grader.results import CheckResult, LabResult, expected
from converge.grader.verdict import Status

Event = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Job:
    """Some checks of one lab against one submission; all checks unless `only` says which.

    `hurry` is the part of its time that is given to what is expected to come: less than 1 for a mutant.
    """

    lab: Lab
    against: str = "labs"
    only: Sequence[CheckFacts] | None = None
    hurry: float = 1.0

    @property
    def facts(self) -> Sequence[CheckFacts]:
        return self.lab.checks if self.only is None else self.only


def run(
    course: Course,
    jobs: Sequence[Job],
    *,
    workers: int | None = None,
    on_event: Event = lambda event: None,
    on_result: Callable[[int, LabResult], None] = lambda number, result: None,
) -> list[LabResult]:
    """Do all jobs in one pytest, and return their results in the same order.

    `on_event` is told of each phase of a check: the job's number as `task`, the check's name, and after `start` its
    verdict. `on_result` hears of a job as soon as its last check has ended.
    """
    # Somebody who waits for one job waits for pytest's start, too; of several, each has the time of its own checks.
    began = time.monotonic() if len(jobs) == 1 else None
    ledgers = [Ledger(job, began) for job in jobs]
    tasks = []
    for number, ledger in enumerate(ledgers):
        job = ledger.job
        if mistake := syntax_error(job.lab, job.against):
            ledger.refuse(mistake)
            on_result(number, ledger.result)
        else:
            checks = [each.name for each in job.facts]
            tasks.append(Task(number, str(job.lab.checks_file), checks, job.against, job.hurry))

    def told(event: dict[str, Any]) -> None:
        on_event(event)
        ledger = ledgers[event["task"]]
        if ledger.enter(event):
            on_result(event["task"], ledger.result)

    if tasks:
        if workers is None:
            workers = default_workers(sum(len(task.checks) for task in tasks))
        trouble = run_pytest(course, Plan(tasks), workers, told)
        for task in tasks:
            ledgers[task.number].result.trouble = trouble
            if not ledgers[task.number].complete:
                on_result(task.number, ledgers[task.number].result)
    return [ledger.result for ledger in ledgers]


class Ledger:
    """What is known of one job: a result that becomes true check by check."""

    def __init__(self, job: Job, began: float | None = None) -> None:
        self.job = job
        checks = [expected(job.lab, each) for each in job.facts]
        self.result = LabResult(job.lab.slug, job.lab.title, job.against, checks, 0.0)
        self._checks = {check.name: check for check in checks}
        self._decided: set[str] = set()
        self._ended: set[str] = set()
        self._began = began

    @property
    def complete(self) -> bool:
        return len(self._ended) == len(self._checks)

    def refuse(self, mistake: dict[str, Any]) -> None:
        """The same explanation for every check: there is nothing to run."""
        for check in self.result.checks:
            check.status, check.parts = Status.FAILED, mistake

    def enter(self, event: dict[str, Any]) -> bool:
        """Take in the report of one phase of a check; True when it was the job's last."""
        now = time.monotonic()
        self._began = self._began or now
        if event["phase"] == "start":
            return False
        self.result.seconds = now - self._began
        self._settle(self._checks[event["name"]], event)
        if event["phase"] != "teardown":
            return False
        self._ended.add(event["name"])
        return self.complete

    def _settle(self, check: CheckResult, event: dict[str, Any]) -> None:
        """The first phase that goes wrong decides; a pass needs all three."""
        status = Status(event["status"])
        check.seconds += event["seconds"]
        if check.name in self._decided:
            return
        if status is not Status.PASSED:
            check.timeline = event["parts"].pop("timeline", "")
            check.status, check.parts = status, event["parts"]
            self._decided.add(check.name)
        elif event["phase"] == "teardown":
            check.status, check.parts = Status.PASSED, {}
            self._decided.add(check.name)


def run_pytest(course: Course, plan: Plan, workers: int, on_event: Event) -> str:
    """Run the plan and pass on what is reported. Returns what was wrong with the run as a whole, if anything."""
    with tempfile.TemporaryDirectory(prefix="converge-") as scratch:
        plan.write(Path(scratch) / "plan.json")
        read, write = os.pipe()
        process = subprocess.Popen(
            command(course, plan, workers, write, scratch),
            cwd=course.root,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CONVERGE_COURSE": str(course.root)},
            stdin=subprocess.DEVNULL,
            stdout=(log := open(Path(scratch) / "pytest.log", "wb")),  # noqa: SIM115, PTH123
            stderr=subprocess.STDOUT,
            pass_fds=[write],
        )
        os.close(write)
        try:
            with os.fdopen(read) as lines:
                for line in lines:
                    on_event(json.loads(line))
            code = process.wait()
        except BaseException as error:
            end(process, told=isinstance(error, KeyboardInterrupt))
            raise
        finally:
            log.close()
        output = plain(Path(log.name).read_text(errors="replace"))
    return "" if code in (0, 1) else f"pytest ended with status {code}:\n{output[-3000:]}"


def command(course: Course, plan: Plan, workers: int, stream: int, scratch: str) -> list[str]:
    # One check at a time is given out, so that no worker sits on checks that another could begin.
    parallel = ["-p", "xdist", "-n", str(workers), "--maxschedchunk", "1"] if workers else []
    return [
        *(sys.executable, "-I", "-m", "pytest"),
        *("-c", os.devnull, "--rootdir", str(course.root), "--noconftest", "--import-mode=importlib"),
        *("-p", "no:cacheprovider", "-p", "converge.grader.plugin", *parallel),
        *("--basetemp", f"{scratch}/tmp", "-q", "--no-header", "--tb=short"),
        *("--converge-plan", f"{scratch}/plan.json", "--converge-stream", str(stream)),
        *plan.nodes(),
    ]


def default_workers(checks: int) -> int:
    """Checks mostly wait, so they overlap; a few are done before a worker is up."""
    return 0 if checks < 4 else 2 if checks < 40 else 4


def end(process: subprocess.Popen[bytes], told: bool) -> None:
    """Let pytest tidy up after an interruption; Ctrl-C on a terminal has reached it already."""
    if not told:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def syntax_error(lab: Lab, against: str) -> dict[str, Any]:
    """What is wrong with a file that does not parse: then there is nothing to run."""
    if against.startswith("mutant:"):
        return {}
    path = resolve(lab, against, Path())
    try:
        ast.parse(path.read_text(errors="replace"), filename=str(path))
    except (SyntaxError, ValueError) as error:
        if not isinstance(error, SyntaxError):
            return {"message": f"{relative(path)} is not Python text: {error}"}
        text = (error.text or "").rstrip()
        arrow = " " * max((error.offset or 1) - 1, 0) + "^"
        return {"message": f"{relative(path)}, line {error.lineno}: {error.msg}", "seen": [f"{text}\n{arrow}"]}
    return {}
