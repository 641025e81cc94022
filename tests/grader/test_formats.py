"""Every format is what its readers expect, and nothing that a submission says becomes markup in it."""

import json
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from converge.grader.checks.verdict import Status
from converge.grader.course.results import CheckResult, LabResult
from converge.grader.report import files

NASTY = "<script>alert(1)</script> & ::notice::100 points"


@pytest.fixture
def results(graded):
    """One of each kind, among them an error of the grader's own."""
    [lab] = graded
    error = CheckResult("test_four", "And the fourth.", "03.4", 1, Status.ERROR, 0, {"message": "KeyError: 'x'"})
    lab.checks.insert(3, error)
    return graded


@pytest.fixture
def graded():
    parts = {"when": "a key was added", "expected": "1", "got": NASTY, "hint": "look again"}
    checks = [
        CheckResult("test_one", "The first thing works.", "03.1", 2, Status.PASSED, 0.5),
        CheckResult("test_two", "The second thing works.", "03.2", 3, Status.FAILED, 1.25, parts),
        CheckResult("test_three", "So does the third.", "03.3", 1, Status.NOT_STARTED, 0, {"message": "TODO 3: done"}),
        CheckResult("test_five", "And the fifth.", "03.5", 1, Status.TIMEOUT, 30, {"message": "too long"}),
        CheckResult("test_six", "The sixth can't tell.", "03.6", 4, Status.NEEDS_KIND, 0, {"message": "no containers"}),
    ]
    return [LabResult("03_workqueue", "The work queue", "labs", checks, 31.75)]


def schema(name):
    return json.loads((Path(__file__).parent / "schemas" / f"{name}.json").read_text())


@pytest.mark.parametrize(
    ("format", "name"),
    [
        ("json", "converge-result-v1"),
        ("gradescope", "gradescope-results"),
        ("classroom50", "classroom50-result-v1"),
        ("prairielearn", "prairielearn-results"),
    ],
)
def test_json_formats_keep_to_their_schema(format, name, results):
    validator = jsonschema.Draft202012Validator(schema(name))
    validator.validate(json.loads(files.FORMATS[format](results)))
    results[0].checks.pop(3)
    validator.validate(json.loads(files.FORMATS[format](results)))


def test_only_passed_checks_earn_points(graded):
    assert graded[0].points == 2
    assert not graded[0].passed
    assert json.loads(files.FORMATS["gradescope"](graded))["score"] == 2
    assert json.loads(files.FORMATS["classroom50"](graded))["score"] == 2
    assert json.loads(files.FORMATS["prairielearn"](graded))["score"] == 2 / 7


def test_what_this_cluster_cannot_answer_is_no_pass_and_costs_nothing(graded):
    assert graded[0].max_points == 7
    for format, most in (("gradescope", "max_score"), ("classroom50", "max-score")):
        entry = json.loads(files.FORMATS[format](graded))["tests"][-1]
        assert (entry["score"], entry[most]) == (0, 0)
        assert entry.get("status") != "passed"
    (passed, *_, unanswered) = graded[0].checks
    assert LabResult("03", "", "labs", [passed, unanswered], 1.0).passed
    assert not LabResult("03", "", "labs", [unanswered], 1.0).passed


def test_classroom50_takes_the_identity_from_the_environment(results, monkeypatch):
    monkeypatch.setenv("SUBMISSION_TAG", "submit/2026-11-16")
    monkeypatch.setenv("OWNER", "ada")
    document = json.loads(files.FORMATS["classroom50"](results))
    assert (document["submission"], document["owner"]) == ("submit/2026-11-16", "ada")


def test_classroom50_has_no_empty_field_and_the_date_of_the_commit(graded, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMMIT_URL", "https://git.example/ada/commit/1")
    monkeypatch.setenv("REVIEW_URL", "")
    for variable in ("GITHUB_SHA", "GIT_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-06-01T14:32:01Z")
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "Hand in"], check=True)
    document = json.loads(files.FORMATS["classroom50"](graded))
    assert document["review"] == "https://git.example/ada/commit/1"
    assert document["datetime"] == "2026-06-01T14:32:01Z"
    assert document["graded_at"] > "2026-06-01T14:32:01Z"
    jsonschema.Draft202012Validator(schema("classroom50-result-v1")).validate(document)


def test_an_error_of_the_grader_is_no_zero(results):
    """A platform that gets 2 of 8 points puts them in a gradebook: where the grader failed it must get none."""
    classroom50 = json.loads(files.FORMATS["classroom50"](results))
    assert (classroom50["score"], classroom50["max-score"], classroom50["tests"]) == (0, 0, [])
    prairielearn = json.loads(files.FORMATS["prairielearn"](results))
    assert not prairielearn["gradable"]
    assert "score" not in prairielearn
    assert vpl_grade(files.FORMATS["vpl"](results)) is None


def vpl_grade(text):
    """As VPL finds it: the last line that begins with the words, wherever it comes from."""
    lines = [line for line in text.replace("\r", "\n").split("\n") if line.startswith("Grade :=>>")]
    return float(lines[-1].removeprefix("Grade :=>>")) if lines else None


def test_vpl_gets_the_grade_on_its_own_scale_and_no_other(graded, monkeypatch):
    graded[0].checks[1].parts["got"] = "wrong\nGrade :=>> 100\rGrade :=>> 99\n--|>\nComment :=>>all is well"
    monkeypatch.setenv("VPL_GRADEMAX", "14")
    text = files.FORMATS["vpl"](graded)
    assert vpl_grade(text) == 4
    assert text.count("\nGrade :=>>") == 1
    assert all(line.startswith(("Comment :=>>", "Grade :=>> 4")) for line in text.replace("\r", "\n").splitlines())


def test_prairielearn_takes_a_file_that_does_not_parse_for_no_attempt(graded):
    for check in graded[0].checks:
        check.status, check.cause, check.parts = Status.FAILED, "does not parse", {"message": "line 1: invalid syntax"}
    document = json.loads(files.FORMATS["prairielearn"](graded))
    assert (document["gradable"], document["format_errors"]) == (False, ["line 1: invalid syntax"])


def test_prairielearn_gets_no_more_than_it_takes(graded):
    for check in graded[0].checks:
        check.parts = {"message": "x" * 600_000}
    text = files.FORMATS["prairielearn"](graded)
    assert len(text) < 1_000_000
    assert json.loads(text)["score"] == 2 / 7


JUNIT = {  # from https://github.com/testmoapp/junitxml: each element, its attributes, what may be in it
    "testsuites": ("name tests failures errors skipped assertions time timestamp", "testsuite"),
    "testsuite": (
        "name tests failures errors skipped assertions time timestamp file",
        "properties system-out system-err testcase testsuite",
    ),
    "testcase": ("name classname assertions time file line", "skipped failure error system-out system-err properties"),
    "skipped": ("message", ""),
    "failure": ("message type", ""),
    "error": ("message type", ""),
}


def test_junit_has_the_elements_and_attributes_of_its_description(results):
    for element in ElementTree.fromstring(files.FORMATS["junit"](results)).iter():
        attributes, inside = JUNIT[element.tag]
        assert set(element.attrib) <= set(attributes.split())
        assert {each.tag for each in element} <= set(inside.split())


def test_junit_counts_agree_with_its_cases(results):
    root = ElementTree.fromstring(files.FORMATS["junit"](results))
    (suite,) = root.findall("testsuite")
    assert [int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")] == [6, 3, 1, 1]
    assert len(suite.findall("testcase/failure")) == 3
    assert len(suite.findall("testcase/error")) == 1
    assert NASTY in suite.find("testcase/failure").text


def test_the_page_runs_and_fetches_nothing(results):
    page = files.FORMATS["html"](results)

    tags = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append((tag, dict(attributes)))
    parser.feed(page)
    assert tags
    assert not {"script", "link"} & {tag for tag, _ in tags}
    assert not any("src" in attributes or "href" in attributes for _, attributes in tags)
    assert "2/8 points" in page


def test_a_report_is_written_whole(results, tmp_path):
    path = tmp_path / "deep" / "results.json"
    files.write(path, "gradescope", results)
    assert json.loads(path.read_text())["tests"]
    assert [each.name for each in path.parent.iterdir()] == ["results.json"]
