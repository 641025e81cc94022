"""Reports: what counts, what is allowed, and formats that other programs read."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from converge.audit import findings, report
from converge.audit.attacks import ATTACKS, FOLLOWED, Outcome, touched_twice
from converge.audit.findings import Finding, name_of, places
from converge.audit.learn import Learned, Touch
from converge.audit.session import ASKS_INSIDE, NO_SECOND_TRY, TIME_WAS_UP, Report, Row, retract
from converge.audit.settings import Allowed, AuditError
from converge.cli.audit import show_end, show_row
from converge.testing.verdicts.failure import Failure
from tests.audit.conftest import settings_for

FILE = "solutions/08_owner_references/owner_references.py"


def finding(**more):
    given = {"id": "deletion/background", "attack": "deletion", "severity": "error", "when": "<it> was deleted"}
    return Finding(**{**given, "expected": "nothing is left", "got": "Service/shop & more", **more})


@pytest.fixture
def made(tmp_path):
    attacks = {each.name: each for each in ATTACKS}
    rows = [
        Row(attacks["deletion"], 3, 1.0, [finding(), finding(id="deletion/foreground", allowed="we keep it")]),
        Row(attacks["watches"], 3, 2.0),
        Row(attacks["at-rest"], 3, 2.0, [finding(id="at-rest/touched", attack="at-rest", tried=2, failed=1)]),
    ]
    return Report(settings_for(tmp_path, FILE), 7, "WebApp", rows, seconds=5.0)


def test_what_is_allowed_flaky_or_a_note_fails_no_build(made):
    assert made.failed
    assert [each.counts for each in made.findings] == [True, False, False]
    assert not finding(severity="note").counts


def test_what_there_was_no_time_to_try_again_is_shown_and_fails_no_build(made, capsys):
    made.rows[0].findings[0].unsure = NO_SECOND_TRY
    assert not made.failed
    show_row(made.rows[0])
    assert f"error deletion/background  ({NO_SECOND_TRY})" in capsys.readouterr().out
    assert f"tried: {NO_SECOND_TRY}" in report.as_text(made.rows[0].findings[0])
    suite = ElementTree.fromstring(report.junit(made)).find("testsuite")
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "3")
    assert json.loads(report.sarif(made))["runs"][0]["results"][0]["level"] == "note"


def test_the_summary_counts_the_cases_that_were_made(made, capsys):
    made.rows[1].leave_out([{"how": "ended"}, {"how": "expired"}], TIME_WAS_UP)
    show_end(made)
    said = capsys.readouterr().out
    assert "in 7 of 9 cases" in said
    assert "Time was up before the other 2" in said
    assert made.rows[1].left_out == [f"2 of 3 cases (ended, expired): {TIME_WAS_UP}"]
    many = Row(made.rows[1].attack, 9)
    many.leave_out([{"how": str(number)} for number in range(9)], TIME_WAS_UP)
    assert many.left_out == [f"9 of 9 cases (0, 1, 2, 3, 4, 5, …): {TIME_WAS_UP}"]


def test_touches_in_both_clean_runs_are_one_case_only_if_they_agree():
    wrote = Touch(Failure(when="touched", expected="no write at all", got="1 write, 0 of which changed nothing:\nx"))
    found = touched_twice(Learned(touches=[wrote, wrote]))
    assert found is not None
    assert found[1].failure is wrote.failure
    held = touched_twice(Learned(touches=[Touch(), Touch()]))
    assert held is not None
    assert held[1].failure is None
    assert touched_twice(Learned(touches=[wrote, Touch()])) is None
    assert touched_twice(Learned(touches=[wrote])) is None


def test_junit_counts_what_counts(made):
    suite = ElementTree.fromstring(report.junit(made)).find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "2")
    assert [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None] == [
        "deletion/background"
    ]


def test_an_attack_that_time_was_too_short_for_has_not_passed(made):
    made.rows[1].left_out.append("3 of 3 cases: time was up")
    suite = ElementTree.fromstring(report.junit(made)).find("testsuite")
    assert suite.get("skipped") == "3"
    assert next(case for case in suite.iter("testcase") if case.get("name") == "watches").find("skipped") is not None


def test_sarif_has_a_rule_for_each_result_and_says_what_is_suppressed(made):
    run = json.loads(report.sarif(made))["runs"][0]
    rules = {each["id"] for each in run["tool"]["driver"]["rules"]}
    assert {each["ruleId"] for each in run["results"]} <= rules
    assert [("suppressions" in each, each["level"]) for each in run["results"]] == [
        (False, "error"),
        (True, "error"),
        (False, "note"),
    ]


def test_the_page_escapes_what_it_shows(made):
    page = report.html(made)
    assert "&lt;it&gt; was deleted" in page
    assert "Service/shop &amp; more" in page


REFUSED = "the operator refuses it, and says so"


def test_a_refusal_is_an_answer_that_is_shown(made, capsys):
    made.rows[1].answers = [("walks/replicas", REFUSED), ("walks/image", FOLLOWED)]
    page = report.html(made)
    assert f"<li>walks/replicas: {REFUSED}</li>" in page
    assert "walks/image" not in page
    show_row(made.rows[1])
    shown = capsys.readouterr().out
    assert f"no finding: walks/replicas: {REFUSED}" in shown
    assert "walks/image" not in shown


def test_the_page_shows_what_was_not_compared_and_what_was_left_out(made):
    assert "compared" not in report.html(made)
    made.learned = Learned(random_names={"Pod"})
    made.learned.mask.paths.add("Secret/NAME.data.password")
    made.rows[1].left_out.append("3 of 3 cases: time was up")
    made.unused = ["secrets: delete"]
    page = report.html(made)
    for entry in (
        "the names of its Pods",
        "Secret/NAME.data.password",
        "watches: 3 of 3 cases: time was up",
        "secrets: delete",
    ):
        assert f"<li>{entry}</li>" in page


def test_json_is_json(made):
    assert json.loads(json.dumps(report.as_json(made)))["failed"] is True


def test_a_finding_has_a_name_that_an_allow_list_can_use():
    assert (
        name_of("killed-after", {"write": 2, "request": "update shops/status"}) == "killed-after/2-update-shops-status"
    )
    assert name_of("old-cache", {}) == "old-cache"


def test_a_finding_is_kept_and_read_again(tmp_path):
    settings = settings_for(tmp_path, FILE, allow=(Allowed("x", "y"),))
    findings.save(finding(case={"how": "background"}), settings, 3, tmp_path / "it.json")
    again, seed, read = findings.load(tmp_path / "it.json")
    assert (again.command, seed, read.case) == (settings.command, 3, {"how": "background"})
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(AuditError, match="isn't the file of a finding"):
        findings.load(tmp_path / "other.json")


def test_an_outcome_without_a_failure_is_no_finding():
    assert Outcome({}).failure is None
    assert Outcome({}, Failure("no")).failure


def test_a_case_that_needs_an_answer_from_a_pod_is_no_finding(tmp_path):
    """One that asks its Pods which of them may go, before it scales down: here none of them answers."""
    replay = tmp_path / "walks-replicas.json"
    replay.write_text("{}")
    true, untold = (Finding(each, "walks", "error", "when", "expected", "got") for each in ("walks/a", "walks/b"))
    untold.replay = str(replay)
    row = Row(ATTACKS[0], 2, findings=[true, untold])
    retract(untold, row, ASKS_INSIDE)
    assert row.findings == [true]
    assert row.answers == [("walks/b", ASKS_INSIDE)]
    assert not replay.exists()


def test_two_cases_with_other_objects_have_one_cause():
    """Each case has an object of its own, whose name says nothing."""
    one = places("ConfigMap/inlet-26e435-data: there, Service/inlet-26e435: missing")
    assert one == places("ConfigMap/birch-df57f2-data: there, Service/birch-df57f2: missing")
    assert one != places("ConfigMap/birch-df57f2-other: there")
