"""Every format is what its readers expect, and nothing that a submission says becomes markup in it."""

import json
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from converge.grader.report import files
from converge.grader.results import CheckResult, LabResult
from converge.grader.verdict import Status

NASTY = "<script>alert(1)</script> & ::notice::100 points"


@pytest.fixture
def results():
    parts = {"when": "a key was added", "expected": "1", "got": NASTY, "hint": "look again"}
    checks = [
        CheckResult("test_one", "The first thing works.", "03.1", 2, Status.PASSED, 0.5),
        CheckResult("test_two", "The second thing works.", "03.2", 3, Status.FAILED, 1.25, parts),
        CheckResult("test_three", "So does the third.", "03.3", 1, Status.NOT_STARTED, 0, {"message": "TODO 3: done"}),
        CheckResult("test_four", "And the fourth.", "03.4", 1, Status.ERROR, 0, {"message": "KeyError: 'x'"}),
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
    ],
)
def test_json_formats_keep_to_their_schema(format, name, results):
    document = json.loads(files.FORMATS[format](results))
    jsonschema.Draft202012Validator(schema(name)).validate(document)


def test_only_passed_checks_earn_points(results):
    assert results[0].points == 2
    assert not results[0].passed
    assert json.loads(files.FORMATS["gradescope"](results))["score"] == 2
    assert json.loads(files.FORMATS["classroom50"](results))["score"] == 2


def test_what_this_cluster_cannot_answer_is_no_pass_and_costs_nothing(results):
    assert results[0].max_points == 8
    for format, most in (("gradescope", "max_score"), ("classroom50", "max-score")):
        entry = json.loads(files.FORMATS[format](results))["tests"][-1]
        assert (entry["score"], entry[most]) == (0, 0)
        assert entry.get("status") != "passed"
    (passed, *_, unanswered) = results[0].checks
    assert LabResult("03", "", "labs", [passed, unanswered], 1.0).passed
    assert not LabResult("03", "", "labs", [unanswered], 1.0).passed


def test_classroom50_takes_the_identity_from_the_environment(results, monkeypatch):
    monkeypatch.setenv("SUBMISSION_TAG", "submit/2026-11-16")
    monkeypatch.setenv("OWNER", "ada")
    document = json.loads(files.FORMATS["classroom50"](results))
    assert (document["submission"], document["owner"]) == ("submit/2026-11-16", "ada")


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
