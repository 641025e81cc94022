"""The pytest plugin of the course: the option `--against` and the verdicts of the checks; `fixtures` has the rest.

It is loaded by every pytest run of the project, so it imports nothing heavy.
Verdicts travel as `user_properties` of pytest's reports, which xdist carries between processes.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import pytest

from converge.grader.checks.check import ATTRIBUTE, Facts
from converge.grader.checks.verdict import NeedsKind, NotStarted, Status
from converge.grader.library.library import Library
from converge.grader.report.text import explain
from converge.grader.session.cluster_watch import ClusterWatch, cluster_of, cluster_problem_parts
from converge.grader.session.fail_fast import FAIL_FAST, FailFast
from converge.grader.session.plan import PLAN_OPTION, Plan, in_turns, planned_job, split
from converge.testing.verdicts.failure import TookTooLong, Verdict
from converge.testing.waits import deadlines
from converge.testing.waits.waiting import interruptions

if TYPE_CHECKING:
    from converge.recorder import Recording

PROPERTY = "converge"
# What a full or read-only disk says: a traceback adds nothing to that.
DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES}
TEARDOWN_SECONDS = 60.0  # seconds
PLAN = pytest.StashKey[Plan]()
pytest_plugins = ["converge.grader.session.fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("converge")
    group.addoption(
        "--against",
        metavar="WHAT",
        help="what to grade: labs, solutions, PATH, mutant:ID or variant:NAME; labs when a file of checks is named, "
        "solutions when all tests of the course are run",
    )
    group.addoption(PLAN_OPTION, metavar="FILE", help="file that says which checks run against what")
    group.addoption("--converge-stream", type=int, help="file descriptor that gets one JSON line per check")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With a plan, a check runs once for each job that names it; the job's number is all that pytest's name shows."""
    if plan := metafunc.config.stash.get(PLAN, None):
        jobs = plan.of(metafunc.definition.path, metafunc.function.__name__)
        metafunc.fixturenames.append("against")
        metafunc.parametrize("against", jobs, ids=[str(job.number) for job in jobs], indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    in_turns(items)


def facts_of(item: pytest.Item) -> Facts | None:
    return getattr(getattr(item, "function", None), ATTRIBUTE, None)


# Verdicts


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Set the check's deadline factor. Skip it if the lab is decided, or if it needs containers and none can run."""
    facts = facts_of(item)
    job = planned_job(item)
    deadlines.deadline_factor = deadlines.DEFAULT_FACTOR * (job.deadline_factor if job else 1.0)
    if facts is None:
        return
    item.stash[FAIL_FAST] = FailFast(item, job)
    item.stash[FAIL_FAST].skip_if_decided()
    if not facts.kubelet:
        return
    from converge import cluster

    if not cluster.ensure().pods_are_real:
        raise NeedsKind(
            "this check needs containers that run, and on this cluster they don't",
            hint="With Docker or Podman, in `make shell`: `converge down`, then `converge up --provider kind`.",
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

    cluster = cluster_of(item)
    watch = [ClusterWatch(cluster)] if cluster else []
    interruptions.extend(watch)
    try:
        with alarm(facts.timeout, expire):
            return (yield)
    finally:
        for each in watch:
            interruptions.remove(each)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Tidying up after a check has a limit as well."""

    def expire(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"tidying up after the check took longer than {TEARDOWN_SECONDS:g} s")

    if facts_of(item) is None:
        return (yield)
    with alarm(TEARDOWN_SECONDS, expire):
        return (yield)


@contextmanager
def alarm(seconds: float, expire: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Call `expire`, which raises, in the main thread when the time is up: later where the machine has become busy."""
    began = time.monotonic()

    def ring(number: int, frame: FrameType | None) -> None:
        if (left := began + deadlines.scaled(seconds) - time.monotonic()) > 0:
            signal.setitimer(signal.ITIMER_REAL, left)
        else:
            expire(number, frame)

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, deadlines.scaled(seconds))
    try:
        yield
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
    blame = cluster_problem_parts(item) if error is not None and not isinstance(error, NotStarted | NeedsKind) else {}
    cause = ""
    if error is None:
        status, parts = Status.PASSED, {}
    elif blame:
        status, parts = Status.ERROR, blame
        report.outcome, report.longrepr = "failed", explain(status, parts)
    elif isinstance(error, Verdict):
        status, parts, cause = Status(error.status), error.parts(), error.cause
        item.stash[FAIL_FAST].record_decision(error)
        if status is not Status.NEEDS_KIND:
            item.stash[FAIL_FAST].record_failure()
        operator = getattr(item, "funcargs", {}).get("operator")
        library = getattr(item, "funcargs", {}).get("lab")
        if isinstance(library, Library) and (errors := library.thread_errors()):
            parts["seen"] = [*errors, *parts.get("seen", [])]
        if operator is not None and status is not Status.NOT_STARTED:
            try:
                parts["seen"] = operator.evidence(parts.get("seen", []))
                cause = cause or operator.one_crash()
                parts["timeline"] = draw_timeline(operator.recorded(), item)
            except Exception as unshown:  # here it would end pytest, and the grading of everyone in it
                parts["seen"] = [*parts.get("seen", []), f"what it did can't be shown: {type(unshown).__name__}"]
        report.outcome, report.longrepr = "failed", explain(status, parts)
        if status is Status.NEEDS_KIND:
            report.outcome, report.longrepr = "skipped", (str(item.path), item.location[1] or 0, str(status))
    elif isinstance(error, OSError) and error.errno in DISK_ERRORS:
        status, parts = Status.ERROR, {"message": f"{error.filename or 'a file'}: {error.strerror}"}
    elif call.when == "call" and is_odd_answer(item, error):
        said = "a check can't work with what the submission answered, wrote or handed in"
        status, parts = Status.FAILED, {"message": f"{said}: {type(error).__name__}: {error}"}
        report.outcome, report.longrepr = "failed", explain(status, parts)
    else:
        status, parts = Status.ERROR, {"message": f"{type(error).__name__}: {error}", "seen": [report.longreprtext]}
        report.outcome = "failed"  # a skip inside a check isn't a pass
    verdict = {"phase": call.when, "status": status, "parts": parts, "cause": cause, "seconds": call.duration}
    report.user_properties.append((PROPERTY, json.dumps(verdict)))
    return report


# What Python says of an answer that isn't what a check was written for: of another type, too large, or too deep.
ODD_ANSWERS = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError)


def is_odd_answer(item: pytest.Item, error: BaseException) -> bool:
    """Whether a check stumbled over what a submission answered, wrote or handed in: a number in place of a class.

    The check could be wrong, so the learner reads of an error in the grader. Of an untrusted submission it's
    the submission's fault, or it could have its grading repeated as often as it likes.
    """
    job = planned_job(item)
    return job is not None and job.jailed and isinstance(error, ODD_ANSWERS)


def draw_timeline(recording: Recording, item: pytest.Item) -> str:
    """Keep what the recorder has seen, and draw it; the path of the page.

    The archive has one recording of each check. Of a class, each submission has a directory of its own.
    """
    from converge.recorder import archive as recordings
    from converge.recorder.timeline.page import page

    job = planned_job(item)
    if job is None or not job.timelines:
        return str(recordings.keep(recording).draw())
    drawn = Path(job.timelines) / f"{split(item.name)[0]}.html"
    drawn.parent.mkdir(parents=True, exist_ok=True)
    drawn.write_text(page(recording), encoding="utf-8")
    return str(drawn)


class ResultStream:
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
        check, job = split(nodeid)
        self._file.write(json.dumps({"name": check, "job": job, **event}) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.against is None:
        named = [Path(argument.partition("::")[0]).resolve() for argument in config.invocation_params.args]
        config.option.against = "labs" if any("labs" in path.parts[-2:] for path in named) else "solutions"
    if plan := config.getoption(PLAN_OPTION):
        config.stash[PLAN] = Plan.read(Path(plan))
    descriptor = config.getoption("--converge-stream")
    if descriptor is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(ResultStream(descriptor))
