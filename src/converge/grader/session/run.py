"""Runs checks in a pytest of its own and collects the evidence.

pytest runs hardened: isolated Python, the course's own configuration, no conftest, no plugin but ours. It
reports over a pipe; a check counts as passed only when it said so itself, for every check that the course expects.
"""

from __future__ import annotations

import ast
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from converge.grader.checks.verdict import Status
from converge.grader.course import CheckFacts, Course, Lab, relative
from converge.grader.course.job import Job, OnEvent
from converge.grader.course.results import CheckResult, LabResult, expected, link_repeated_failures
from converge.grader.course.submissions import is_program, mutant_of, resolve
from converge.grader.session.plan import Plan, PlannedJob
from converge.testing.sandbox.output import plain
from converge.testing.waits.deadlines import scaled

SETUP_AND_TEARDOWN_SECONDS = 120.0  # seconds for pytest's start, and for what a check sets up and tears down
DECISIVE = (Status.FAILED, Status.TIMEOUT, Status.NOT_STARTED)  # what ends a job that ends with its first failure
LOOK_EVERY = 5.0  # seconds between two looks at how busy the machine is


def run(
    course: Course,
    jobs: Sequence[Job],
    *,
    workers: int | None = None,
    on_event: OnEvent = lambda event: None,
    on_result: Callable[[int, LabResult], None] = lambda number, result: None,
) -> list[LabResult]:
    """Do all jobs in one pytest, and return their results in the same order.

    `on_event` hears of each phase of a check: the job's number as `job`, the check's name, and after `start` its
    verdict. `on_result` hears of a job as soon as its last check has ended.
    """
    # Anyone waiting for one job also waits for pytest's start; of several, each has the time of its own checks.
    began = time.monotonic() if len(jobs) == 1 else None
    ledgers = [Ledger(job, began) for job in jobs]
    planned = []
    for number, ledger in enumerate(ledgers):
        job = ledger.job
        if mistake := syntax_error(job.lab, job.against):
            ledger.refuse(mistake)
            on_result(number, ledger.result)
        else:
            checks = [each.name for each in (job.facts if job.until_failure else in_order(job.facts))]
            planned.append(
                PlannedJob(
                    number,
                    str(job.lab.checks_file),
                    checks,
                    job.against,
                    job.deadline_factor,
                    whole_lab=may_decide(job),
                    jailed=job.jailed,
                    timelines=job.timelines,
                    until_failure=job.until_failure,
                )
            )

    def on_line(event: dict[str, Any]) -> None:
        on_event(event)
        ledger = ledgers[event["job"]]
        if ledger.enter(event):
            on_result(event["job"], ledger.result)

    if planned:
        if workers is None:
            operators = any(ledgers[each.number].job.lab.kind == "operator" for each in planned)
            workers = default_workers(sum(len(each.checks) for each in planned), operators)
        longest = max(each.timeout for ledger in ledgers for each in ledger.job.facts)
        trouble = run_pytest(course, Plan(planned), workers, on_line, longest)
        for each in planned:
            ledgers[each.number].result.trouble = trouble
            if not ledgers[each.number].complete:
                on_result(each.number, ledgers[each.number].result)
    return [ledger.result for ledger in ledgers]


def in_order(checks: Sequence[CheckFacts]) -> list[CheckFacts]:
    """The order in which checks begin: the first one, which may decide all others, then those that take long."""
    return [*checks[:1], *sorted(checks[1:], key=lambda each: not each.long)]


def may_decide(job: Job) -> bool:
    """Whether the lab's first check may end early, with what every attempt ends in: in a run of all checks, or alone.

    A mutant's check, when it runs alone, waits for what the mutant is known by.
    """
    if job.only is None:
        return True
    alone = [each.name for each in job.only] == [job.lab.checks[0].name]
    return alone and not job.until_failure and not job.against.startswith("mutant:")


class Ledger:
    """What is known of one job: a result that becomes true check by check."""

    def __init__(self, job: Job, began: float | None = None) -> None:
        self.job = job
        checks = [expected(job.lab, each) for each in job.facts]
        self.result = LabResult(job.lab.slug, job.lab.title, job.against, checks, 0.0)
        self._checks = {check.name: check for check in checks}
        self._decided: set[str] = set()
        self._ended: set[str] = set()
        self._over = False  # ended by its first failure
        self._began = began

    @property
    def complete(self) -> bool:
        return self._over or len(self._ended) == len(self._checks)

    def refuse(self, mistake: dict[str, Any]) -> None:
        """The same explanation for every check: there is nothing to run."""
        for check in self.result.checks:
            check.status, check.parts, check.cause = Status.FAILED, mistake, "does not parse"
        link_repeated_failures(self.result.checks)

    def enter(self, event: dict[str, Any]) -> bool:
        """Take in the report of one phase of a check; True when it has decided the job, as the last one does."""
        now = time.monotonic()
        self._began = self._began or now
        if event["phase"] == "start":
            return False
        self.result.seconds = now - self._began
        self._settle(self._checks[event["name"]], event)
        if event["phase"] != "teardown":
            return False
        if self._over:
            return False  # it ended with a failure, and this check has not run
        self._ended.add(event["name"])
        self._over = self.job.until_failure and self._checks[event["name"]].status in DECISIVE
        if self.complete:
            link_repeated_failures(self.result.checks)
        return self.complete

    def _settle(self, check: CheckResult, event: dict[str, Any]) -> None:
        """The first phase that goes wrong decides; a pass needs all three."""
        status = Status(event["status"])
        check.seconds += event["seconds"]
        if check.name in self._decided:
            return
        if status is not Status.PASSED:
            check.timeline = event["parts"].pop("timeline", "")
            check.cause = event.get("cause", "")
            check.status, check.parts = status, event["parts"]
            self._decided.add(check.name)
        elif event["phase"] == "teardown":
            check.status, check.parts = Status.PASSED, {}
            self._decided.add(check.name)


def run_pytest(course: Course, plan: Plan, workers: int, on_event: OnEvent, longest: float) -> str:
    """Run the plan and pass on what is reported. Returns what was wrong with the run as a whole, if anything.

    It has to report something in the time of its longest check and a little more. The number of checks is fixed, so the
    whole run has an end, even when pytest itself has been stopped.
    """
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
            for line in lines_of(read, longest + SETUP_AND_TEARDOWN_SECONDS):
                on_event(json.loads(line))
            code = process.wait(scaled(SETUP_AND_TEARDOWN_SECONDS))
        except (SilenceError, subprocess.TimeoutExpired) as error:
            end(process, interrupted=False)
            return f"the grading process was ended because it hung: {error}"
        except BaseException as error:
            end(process, interrupted=isinstance(error, KeyboardInterrupt))
            raise
        finally:
            log.close()
        output = plain(Path(log.name).read_text(errors="replace"))
    return "" if code in (0, 1) else f"pytest ended with status {code}:\n{output[-3000:]}"


class SilenceError(Exception):
    """Nothing was reported for longer than any check may take."""


def lines_of(pipe: int, within: float) -> Iterator[bytes]:
    """Lines as they arrive, until the pipe ends; an exception when none comes for `within` seconds."""
    with os.fdopen(pipe, "rb", buffering=0) as reader:
        received, since, limit = b"", time.monotonic(), 0.0
        while True:
            limit = max(limit, scaled(within))  # a check keeps the deadline that it got while the machine was busier
            if not select.select([reader], [], [], min(limit, LOOK_EVERY))[0]:
                if time.monotonic() - since > limit:
                    raise SilenceError(f"it reported nothing for {limit:.0f} s")
                continue
            if not (chunk := reader.read(65536)):
                return
            *lines, received = (received + chunk).split(b"\n")
            yield from lines
            if lines:
                since, limit = time.monotonic(), 0.0


def command(course: Course, plan: Plan, workers: int, stream: int, scratch: str) -> list[str]:
    # One check at a time is given out, so that no worker sits on checks that another could begin.
    parallel = ["-p", "xdist", "-n", str(workers), "--maxschedchunk", "1"] if workers else []
    return [
        *(sys.executable, "-I", "-m", "pytest"),
        *("-c", os.devnull, "--rootdir", str(course.root), "--noconftest", "--import-mode=importlib"),
        *("-p", "no:cacheprovider", "-p", "converge.grader.session.plugin", *parallel),
        *("--basetemp", f"{scratch}/tmp", "-q", "--no-header", "--tb=native"),  # other styles parse each source file
        *("--converge-plan", f"{scratch}/plan.json", "--converge-stream", str(stream)),
        *plan.nodes(),
    ]


def default_workers(checks: int, operators: bool) -> int:
    """Checks mostly wait, so they overlap; a few are done before a worker is up.

    With 17 checks and more a third worker helps: on two busy cores, lab 13 was a sixth faster and lab 03 a quarter.
    Checks of operators wait longer than those of a class, so there it helps sooner.
    """
    return 0 if checks < 4 else 2 if checks < (9 if operators else 17) else 3 if checks < 40 else 4


def end(process: subprocess.Popen[bytes], interrupted: bool) -> None:
    """Let pytest tidy up after an interruption; Ctrl-C on a terminal has reached it already."""
    if not interrupted:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def syntax_error(lab: Lab, against: str) -> dict[str, Any]:
    """What is wrong with a file that does not parse: then there is nothing to run."""
    kind, _, name = against.partition(":")
    if kind == "mutant":
        mutant_of(lab, name)  # one that isn't there is wrong use, and no error of every check
        return {}
    path = resolve(lab, against, Path())
    if is_program(path):
        return {}
    try:
        ast.parse(path.read_text(errors="replace"), filename=str(path))
    except (SyntaxError, ValueError) as error:
        if not isinstance(error, SyntaxError) or error.lineno is None:
            return {"message": f"{relative(path)} is not Python text: {error}"}
        text = (error.text or "").rstrip()
        arrow = " " * max((error.offset or 1) - 1, 0) + "^"
        return {"message": f"{relative(path)}, line {error.lineno}: {error.msg}", "seen": [f"{text}\n{arrow}"]}
    except (MemoryError, RecursionError):
        return {"message": f"{relative(path)} is nested too deeply for Python to read it"}
    return {}
