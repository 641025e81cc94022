"""The pytest plugin of the course: the option `--against` and the verdicts of the checks; `fixtures` has the rest.

It is loaded by every pytest run of the project, so it imports nothing heavy.
Verdicts travel as `user_properties` of pytest's reports, which xdist carries between processes.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import pytest

from converge.grader import patience
from converge.grader.check import ATTRIBUTE, Facts
from converge.grader.plan import Plan, Task, split
from converge.grader.report.text import explain
from converge.grader.verdict import NeedsKind, Status, TookTooLong, Verdict

if TYPE_CHECKING:
    from converge.grader.recorder import Recording

PROPERTY = "converge"
PLAN = pytest.StashKey[Plan]()
pytest_plugins = ["converge.grader.fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("converge")
    group.addoption(
        "--against",
        metavar="WHAT",
        help="what to grade: labs, solutions, PATH, mutant:ID or variant:NAME; labs when a file of checks is named, "
        "solutions when all tests of the course are run",
    )
    group.addoption("--converge-plan", metavar="FILE", help="file that says which checks run against what")
    group.addoption("--converge-stream", type=int, help="file descriptor that gets one JSON line per check")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With a plan, a check runs once for each task that names it; the task's number is all that pytest's name shows."""
    if plan := metafunc.config.stash.get(PLAN, None):
        tasks = plan.of(metafunc.definition.path, metafunc.function.__name__)
        metafunc.fixturenames.append("against")
        metafunc.parametrize("against", tasks, ids=[str(task.number) for task in tasks], indirect=True)


def facts_of(item: pytest.Item) -> Facts | None:
    return getattr(getattr(item, "function", None), ATTRIBUTE, None)


def task_of(item: pytest.Item) -> Task | None:
    return item.callspec.params.get("against") if hasattr(item, "callspec") else None


# Verdicts


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Set how patient a check is, and do not ask one about running containers where there are none."""
    facts = facts_of(item)
    task = task_of(item)
    patience.hurry = task.hurry if task else 1.0
    if facts is None or not facts.kubelet:
        return
    from converge import cluster

    if not cluster.ensure().pods_are_real:
        raise NeedsKind(
            "containers do not run on this cluster, so nothing can be said here",
            hint="With Docker or Podman: `converge down`, `converge up --provider kind`, and check again.",
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Give a check its time limit: an alarm that raises in the check, so that its fixtures still clean up."""
    facts = facts_of(item)
    if facts is None:
        return (yield)

    def expire(number: int, frame: FrameType | None) -> None:
        raise TookTooLong(
            f"the check took longer than its limit of {facts.timeout:g} s",
            hint="The submission, or something it does to the cluster, is too slow, or never comes to rest.",
        )

    previous = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, patience.patience(facts.timeout))
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    facts = facts_of(item)
    if facts is None:
        return report
    error = call.excinfo.value if call.excinfo else None
    if error is None:
        status, parts = Status.PASSED, {}
    elif isinstance(error, Verdict):
        status, parts = error.status, error.parts()
        operator = getattr(item, "funcargs", {}).get("operator")
        if operator is not None and status is not Status.NOT_STARTED:
            seen = parts.get("seen", [])
            parts["seen"] = seen + [each for each in operator.evidence() if each not in seen]
            parts["timeline"] = draw_timeline(operator.recorded())
        report.outcome, report.longrepr = "failed", explain(status, parts)
        if status is Status.NEEDS_KIND:
            report.outcome, report.longrepr = "skipped", (str(item.path), item.location[1] or 0, str(status))
    else:
        status, parts = Status.ERROR, {"message": f"{type(error).__name__}: {error}", "seen": [report.longreprtext]}
        report.outcome = "failed"  # a skip inside a check is no pass
    verdict = {"phase": call.when, "status": status, "parts": parts, "seconds": call.duration}
    report.user_properties.append((PROPERTY, json.dumps(verdict)))
    return report


def draw_timeline(recording: Recording) -> str:
    """Keep what the recorder has seen, and draw it; the path of the page."""
    from converge.grader.recorder import recordings

    return str(recordings.keep(recording).draw())


class Stream:
    """Tells the process that started pytest about each check as it starts and ends."""

    def __init__(self, descriptor: int) -> None:
        self._file = os.fdopen(descriptor, "w", buffering=1)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._tell(nodeid, {"phase": "start"})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == PROPERTY and (verdict := json.loads(str(value)))["phase"] == report.when:
                self._tell(report.nodeid, verdict)

    def _tell(self, nodeid: str, event: dict[str, Any]) -> None:
        check, task = split(nodeid)
        self._file.write(json.dumps({"name": check, "task": task, **event}) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.against is None:
        named = [Path(argument.partition("::")[0]).resolve() for argument in config.invocation_params.args]
        config.option.against = "labs" if any("labs" in path.parts[-2:] for path in named) else "solutions"
    if plan := config.getoption("--converge-plan"):
        config.stash[PLAN] = Plan.read(Path(plan))
    descriptor = config.getoption("--converge-stream")
    if descriptor is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Stream(descriptor))
