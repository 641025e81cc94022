"""Runs the checks of one lab in a pytest of its own and collects the evidence.

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
from pathlib import Path
from typing import Any

from converge.grader.against import resolve
from converge.grader.course import CheckFacts, Course, Lab, relative
from converge.grader.output import plain
from converge.grader.patience import HURRY
from converge.grader.results import CheckResult, LabResult, expected
from converge.grader.verdict import Status

Event = Callable[[dict[str, Any]], None]


def run_checks(
    course: Course,
    lab: Lab,
    *,
    against: str = "labs",
    only: Sequence[CheckFacts] | None = None,
    workers: int | None = None,
    hurry: float = 1.0,
    on_event: Event = lambda event: None,
) -> LabResult:
    """Grade one lab. `on_event` is told `{"started": name}` and each check's verdict as they come.

    `hurry` is the part of its time that is given to what is expected to come: less than 1 for a mutant.
    """
    facts = list(lab.checks if only is None else only)
    results = {each.name: expected(lab, each) for each in facts}
    began = time.monotonic()
    if mistake := syntax_error(lab, against):
        for result in results.values():
            result.status, result.parts = Status.FAILED, mistake
        return LabResult(lab.slug, lab.title, against, list(results.values()), time.monotonic() - began)
    with tempfile.TemporaryDirectory(prefix="converge-") as scratch:
        read, write = os.pipe()
        process = subprocess.Popen(
            command(
                course, lab, against, facts, default_workers(facts) if workers is None else workers, write, scratch
            ),
            cwd=course.root,
            env={
                **os.environ,
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                "CONVERGE_COURSE": str(course.root),
                HURRY: str(hurry),
            },
            stdin=subprocess.DEVNULL,
            stdout=(log := open(Path(scratch) / "pytest.log", "wb")),  # noqa: SIM115, PTH123
            stderr=subprocess.STDOUT,
            pass_fds=[write],
        )
        os.close(write)
        reported: set[str] = set()
        try:
            with os.fdopen(read) as lines:
                for line in lines:
                    event = json.loads(line)
                    on_event(event)
                    if event.get("name") in results:
                        settle(results[event["name"]], event, reported)
            code = process.wait()
        except BaseException as error:
            end(process, told=isinstance(error, KeyboardInterrupt))
            raise
        finally:
            log.close()
        output = plain(Path(log.name).read_text(errors="replace"))
    trouble = "" if code in (0, 1) else f"pytest ended with status {code}:\n{output[-3000:]}"
    return LabResult(lab.slug, lab.title, against, list(results.values()), time.monotonic() - began, trouble)


def command(
    course: Course, lab: Lab, against: str, facts: list[CheckFacts], workers: int, stream: int, scratch: str
) -> list[str]:
    parallel = ["-p", "xdist", "-n", str(workers)] if workers else []
    return [
        *(sys.executable, "-I", "-m", "pytest"),
        *("-c", os.devnull, "--rootdir", str(course.root), "--noconftest", "--import-mode=importlib"),
        *("-p", "no:cacheprovider", "-p", "converge.grader.plugin", *parallel),
        *("--basetemp", f"{scratch}/tmp", "-q", "--no-header", "--tb=short"),
        *("--against", against, "--converge-stream", str(stream)),
        *(f"{lab.checks_file}::{each.name}" for each in facts),
    ]


def default_workers(facts: Sequence[CheckFacts]) -> int:
    """Checks mostly wait, so they overlap; a few are done before a worker is up."""
    return 0 if len(facts) < 4 else 2


def settle(result: CheckResult, event: dict[str, Any], reported: set[str]) -> None:
    """Take in the report of one phase. The first phase that goes wrong decides; a pass needs all three."""
    status = Status(event["status"])
    result.seconds += event["seconds"]
    if event["name"] in reported:
        return
    if status is not Status.PASSED:
        result.timeline = event["parts"].pop("timeline", "")
        result.status, result.parts = status, event["parts"]
        reported.add(event["name"])
    elif event["phase"] == "teardown":
        result.status, result.parts = Status.PASSED, {}
        reported.add(event["name"])


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
