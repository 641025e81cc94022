"""An audit ends when its time is up: what is under way is interrupted, and what was found until then is reported."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from converge.audit import session as sessions
from converge.audit import time_limit
from converge.audit.attacks import ERROR, Attack, Outcome
from converge.audit.attacks.base import always
from converge.audit.session import INTERRUPTED, NO_SECOND_TRY, TIME_WAS_UP
from converge.audit.settings import AuditError
from converge.audit.time_limit import TimeLimit, TimeUp
from converge.testing.attacks import no_writes_left_alone
from converge.testing.verdicts.failure import Failure
from converge.testing.waits.waiting import eventually, interruptions
from tests.audit.conftest import ROOT, settings_for

RIGHT = "solutions/08_owner_references/owner_references.py"
ENDLESS = 900.0  # seconds; the tests end long before
AT_LAST = 300.0


@pytest.fixture(autouse=True)
def no_grace(monkeypatch):
    monkeypatch.setattr(time_limit, "GRACE_SECONDS", 0.0)


def test_a_wait_ends_with_the_time_and_what_tidies_up_may_wait():
    limit = TimeLimit(0)
    eventually(lambda: limit.is_over)
    with pytest.raises(TimeUp), limit.interrupts():
        pytest.fail("nothing may begin any more")
    limit = TimeLimit(0.1)
    seen = []

    def attack():
        try:
            eventually(lambda: False, within=ENDLESS)
        finally:
            seen.append(eventually(lambda: len(asked) > 3, within=10))

    asked: list[int] = []
    interruptions.append(lambda: asked.append(1))
    question = list(interruptions)[-1]
    try:
        with pytest.raises(TimeUp), limit.interrupts():
            attack()
    finally:
        interruptions.remove(question)
    assert seen == [True]
    assert not list(interruptions)


def operators(of: Path) -> list[int]:
    """The processes whose command names a file."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = each.read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended
        found += [int(each.parent.name)] if str(of).encode() in words else []
    return found


def waits(target, app):
    eventually(lambda: False, within=ENDLESS)


def is_left_alone(target, app):
    no_writes_left_alone(target.operator, app, seconds=ENDLESS)


def waits_for_the_end_of_the_operator(target, app):
    target.operator.stop(within=ENDLESS)


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("wait", [waits, is_left_alone, waits_for_the_end_of_the_operator])
def test_when_the_time_is_up_cases_under_way_are_interrupted(session, tmp_path, monkeypatch, wait):
    file = tmp_path / "operator.py"
    deaf = "\nimport signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal = lambda *_: None\n"
    file.write_text((ROOT / RIGHT).read_text() + deaf)
    made = session(settings_for(tmp_path, file), seconds=ENDLESS)
    alive: list[int] = []

    def run(target, context, cases):
        for args in cases:
            if args["how"] == "endless":
                app = target.running()
                alive.extend(operators(file))
                made.limit.seconds = made.limit.spent + 2  # time is up during what follows
                wait(target, app)
            yield Outcome(args, Failure(when="it was tried", expected="nothing", got="something"))

    cases = always({"how": "quick"}, {"how": "endless"}, {"how": "never"})
    whole = Attack("whole", "three cases at once", ERROR, cases, run, batch=3)
    monkeypatch.setattr(sessions, "ATTACKS", (whole,))
    reports = []
    thread = threading.Thread(target=lambda: reports.append(made.run(["whole"])), daemon=True)
    thread.start()
    thread.join(AT_LAST)
    assert reports, f"it went on for {AT_LAST:g} s after the end of its time"
    assert alive
    assert not operators(file)
    (row,) = reports[0].rows
    (finding,) = row.findings
    assert (finding.id, finding.unsure, finding.counts) == ("whole/quick", NO_SECOND_TRY, False)
    assert row.left_out == [f"2 of 3 cases (endless, never): {INTERRUPTED}"]


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_has_not_begun_when_the_time_is_up_is_listed(session, tmp_path, monkeypatch):
    made = session(settings_for(tmp_path, RIGHT), seconds=ENDLESS)

    def run(target, context, cases):
        for args in cases:
            made.limit.seconds = made.limit.spent
            yield Outcome(args)

    monkeypatch.setattr(sessions, "ATTACKS", (Attack("one", "", ERROR, always({"how": "a"}, {"how": "b"}), run),))
    (row,) = made.run(["one"]).rows
    assert row.left_out == [f"1 of 2 cases (b): {TIME_WAS_UP}"]
    assert (row.cases, row.late) == (2, 1)


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_at_the_end_of_the_time_second_tries_go_first(session, tmp_path, monkeypatch):
    made = session(settings_for(tmp_path, RIGHT), seconds=ENDLESS)
    tries: list[str] = []

    def run(target, context, cases):
        for args in cases:
            tries.append(args["how"])
            if target.thorough:
                assert eventually(listed.is_set, within=60)
            else:
                made.limit.seconds = made.limit.spent + AT_LAST
            yield Outcome(args, Failure(when="it was tried", expected="nothing", got="something"))

    def leave_out(row, cases, because):
        put_down(row, cases, because)
        listed.set()

    listed, put_down = threading.Event(), sessions.Row.leave_out
    monkeypatch.setattr(sessions.Row, "leave_out", leave_out)
    attack = Attack("one", "", ERROR, always({"how": "first"}, {"how": "never"}), run)
    monkeypatch.setattr(sessions, "ATTACKS", (attack,))
    monkeypatch.setattr(TimeLimit, "is_nearly_over", property(lambda limit: limit.seconds < ENDLESS))
    (row,) = made.run(["one"]).rows
    assert tries == ["first", "first"]
    assert [each.counts for each in row.findings] == [True]
    assert row.left_out == [f"1 of 2 cases (never): {TIME_WAS_UP}"]
    assert made.may_begin, "nothing is left to be tried again"


@pytest.mark.parametrize(
    ("seconds", "spent", "nearly"), [(600, 530, False), (600, 545, True), (60, 49, False), (60, 51, True)]
)
def test_the_last_part_of_the_time_is_for_second_tries(monkeypatch, seconds, spent, nearly):
    monkeypatch.setattr(TimeLimit, "spent", spent)
    assert TimeLimit(seconds).is_nearly_over == nearly


@pytest.mark.cluster
def test_time_too_short_for_the_clean_runs_is_one_sentence(session, tmp_path):
    began = time.monotonic()
    with pytest.raises(AuditError, match=r"more with --time"):
        session(settings_for(tmp_path, RIGHT), seconds=0.5).run()
    assert time.monotonic() - began < AT_LAST
