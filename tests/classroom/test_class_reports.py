"""Late work, several attempts, gradebooks, statistics and what platforms get: all of it made from stored results."""

import csv
import json
import os
import re
import subprocess
import zipfile
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
import typer.main
from typer.testing import CliRunner

from converge import cli
from converge.classroom import grading, platforms, policy, reports, roster
from converge.classroom.grading import Piece
from converge.classroom.policy import Policy
from converge.classroom.reading import Held
from converge.classroom.store import ResultStore
from converge.grader import course as courses
from converge.grader.checks.verdict import Status

DUE = datetime(2026, 11, 20, 23, 59, tzinfo=UTC)
COURSE = courses.load()
LAB = COURSE.find("03")


def result(student, passed, lab=LAB):
    """A result with so many passed checks."""
    made = grading.refused(Piece(roster.Submission(student, None), lab), "wrong")
    for check in made.checks[:passed]:
        check.status, check.parts = Status.PASSED, {}
    return made


def class_of(tmp_path, points):
    """A store, its submissions and marks: for each student how many checks passed, in each attempt."""
    store, found = ResultStore(tmp_path / "out"), []
    for student, tries in points.items():
        for number, passed in enumerate(tries, start=1):
            found.append(roster.Submission(student, None, number))
            store.write(found[-1].key, LAB, result(student, passed))
    return store, found


def marks(store, found, rules=None, times=None):
    return reports.marks_of(store, found, [LAB], rules or Policy(), times or {})


LATE = Policy(grace=timedelta(minutes=15), percent=10, most=50, due={LAB.slug: DUE})


@pytest.mark.parametrize(
    ("late", "off"),
    [
        (timedelta(seconds=-1), 0),
        (timedelta(minutes=15), 0),
        (timedelta(minutes=16), 10),
        (timedelta(days=1), 10),
        (timedelta(days=1, seconds=1), 20),
        (timedelta(days=90), 50),
    ],
)
def test_being_late_costs_what_the_policy_says(late, off):
    assert LATE.percent_off(LAB, DUE + late) == off


def test_what_has_no_date_is_not_late():
    assert LATE.percent_off(LAB, None) == 0
    assert LATE.percent_off(COURSE.find("04"), DUE + timedelta(days=9)) == 0


def test_the_best_attempt_is_the_best_after_what_lateness_cost(tmp_path):
    store, found = class_of(tmp_path, {"ada": [len(LAB.checks) - 1, len(LAB.checks)]})
    times = {("ada", 1): DUE, ("ada", 2): DUE + timedelta(days=4)}
    rules = {"best": Policy("best", percent=10, due={LAB.slug: DUE}), "last": Policy(percent=10, due={LAB.slug: DUE})}
    [best] = marks(store, found, rules["best"], times)["ada"]
    [last] = marks(store, found, rules["last"], times)["ada"]
    assert (best.points, best.note) == (result("ada", len(LAB.checks) - 1).points, "attempt 1 of 2")
    assert (last.points, last.note) == (round(LAB.points * 0.6, 2), "attempt 2 of 2, late, 40% off")
    assert store.read("ada~2", LAB).points == LAB.points  # what is stored stays as it was


def test_a_student_may_hand_in_twice_if_a_policy_says_what_counts(tmp_path):
    for place in ("monday", "friday"):
        (tmp_path / place / "ada").mkdir(parents=True)
    places = [tmp_path / "monday", tmp_path / "friday"]
    with pytest.raises(courses.CourseError, match="handed in twice"):
        roster.find(places)
    assert [each.key for each in roster.find(places, several=True)] == ["ada", "ada~2"]


def test_a_policy_is_read_and_its_mistakes_are_one_line(tmp_path):
    file = tmp_path / "policy.toml"
    file.write_text(
        'attempts = "best"\ngrace = "15m"\nlate = {percent = 10, every = "1d", most = 50}\n'
        "[due]\n03 = 2026-11-20T23:59:00Z\n"
    )
    assert policy.read_policy(file, COURSE) == Policy(
        "best", timedelta(minutes=15), 10, timedelta(days=1), 50, {LAB.slug: DUE}
    )
    for wrong, says in (
        ("attempts = 'first'", "best or last"),
        ("grace = 'a while'", "15m, 2h or 1d"),
        ("late = {percent = 110}", "from 0 to 100"),
        ("late = {percents = 10}", "late.percents"),
        ("[due]\n03 = 2026-11-20", "with a zone"),
        ("[due]\n99 = 2026-11-20T23:59:00Z", "There is no lab"),
        ("attempts =", "can't be read"),
    ):
        file.write_text(wrong)
        with pytest.raises(courses.CourseError, match=says) as error:
            policy.read_policy(file, COURSE)
        assert "\n" not in str(error.value)


def test_times_are_read_with_their_attempts(tmp_path):
    file = tmp_path / "times.csv"
    file.write_text("student,attempt,time\nada,,2026-11-20T23:59:00Z\nada,2,2026-11-21T00:59:00+01:00\n")
    assert policy.read_times(file) == {("ada", 1): DUE, ("ada", 2): DUE}
    file.write_text("student,time\nada,yesterday\n")
    with pytest.raises(courses.CourseError, match="can't be read"):
        policy.read_times(file)


# The gradebooks below have the columns of exports as Canvas' and Moodle's guides show them.
CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,03_workqueue (88123),Final Score
    Points Possible,,,,,{most},(read only)
"Lovelace, Ada",1001,u1,ada,One,,
"Babbage, Charles",1002,u2,charles,One,3,
"Student, Test",1003,,,One,,
"""
MOODLE = """\
Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,Feedback comments
Participant 12,Ada Lovelace,ada@example.org,Submitted,,100.00,Yes,
Participant 13,Charles Babbage,charles@example.org,No submission,,100.00,Yes,
"""


def test_a_canvas_export_is_filled_in_and_nothing_else_in_it_changes(tmp_path):
    (tmp_path / "canvas.csv").write_text("\ufeff" + CANVAS.format(most=2 * LAB.points))
    store, found = class_of(tmp_path, {"ada": [len(LAB.checks)], "eve": [0]})
    filled = reports.fill_gradebook(tmp_path / "out", tmp_path / "canvas.csv", [LAB], marks(store, found))
    assert (filled.lines, filled.missing) == (1, ("eve",))
    before = list(csv.reader(CANVAS.format(most=2 * LAB.points).splitlines()))
    after = list(csv.reader((tmp_path / "out" / "canvas.csv").read_text().splitlines()))
    assert after[2][5] == str(2 * LAB.points)
    before[2][5] = after[2][5]
    assert after == before


def test_a_moodle_worksheet_is_filled_in_on_its_own_scale(tmp_path):
    (tmp_path / "moodle.csv").write_text(MOODLE.replace(",", ";"))
    store, found = class_of(tmp_path, {"ada": [len(LAB.checks)], "13": [0]})
    reports.fill_gradebook(tmp_path / "out", tmp_path / "moodle.csv", [LAB], marks(store, found))
    rows = list(csv.reader((tmp_path / "out" / "moodle.csv").read_text().splitlines(), delimiter=";"))
    assert [row[4] for row in rows[1:]] == ["100", "0"]


def test_a_result_of_a_failed_grader_is_not_put_into_a_gradebook(tmp_path):
    (tmp_path / "canvas.csv").write_text(CANVAS.format(most=10))
    store, found = class_of(tmp_path, {"charles": [0]})
    broken = store.read("charles", LAB)
    broken.trouble = "pytest ended with status 3"
    store.write("charles", LAB, broken)
    reports.fill_gradebook(tmp_path / "out", tmp_path / "canvas.csv", [LAB], marks(store, found))
    assert '"Babbage, Charles",1002,u2,charles,One,3,' in (tmp_path / "out" / "canvas.csv").read_text()


def test_a_gradebook_without_a_column_for_the_lab_gets_one_line(tmp_path):
    (tmp_path / "canvas.csv").write_text("Student,ID,Quiz 1 (7)\nAda,1,\n")
    store, found = class_of(tmp_path, {"ada": [1]})
    with pytest.raises(courses.CourseError, match="No column") as error:
        reports.fill_gradebook(tmp_path / "out", tmp_path / "canvas.csv", [LAB], marks(store, found))
    assert "\n" not in str(error.value)


def test_an_exported_gradebook_is_not_overwritten(tmp_path):
    (tmp_path / "canvas.csv").write_text(CANVAS.format(most=10))
    store, found = class_of(tmp_path, {"ada": [1]})
    with pytest.raises(courses.CourseError, match="elsewhere"):
        reports.fill_gradebook(tmp_path, tmp_path / "canvas.csv", [LAB], marks(store, found))


def test_the_statistics_show_each_mark_once_and_what_most_fail_first(tmp_path):
    store, found = class_of(tmp_path, {"ada": [len(LAB.checks)], "bob": [1], "eve": [0], "zoe": [0]})
    reports.write(tmp_path / "out", [LAB], marks(store, found))
    page = (tmp_path / "out" / "statistics.html").read_text()
    tags = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append((tag, dict(attributes)))
    parser.handle_startendtag = parser.handle_starttag
    parser.feed(page)
    bars = [float(attributes["height"]) for tag, attributes in tags if tag == "rect" and attributes["class"] == "bar"]
    assert len(bars) == 11
    assert [round(3 * bar / max(bars)) for bar in bars] == [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert not {"script", "link", "img"} & {tag for tag, _ in tags}
    assert "3 of 4" in page
    assert page.index(LAB.checks[1].title) < page.index(f">{LAB.checks[0].title}<")
    checks = (tmp_path / "out" / "checks.csv").read_text().splitlines()
    assert checks[1].endswith(",4,1,3")


def test_each_student_gets_a_file_in_each_format_and_is_told_what_was_taken_off(tmp_path):
    store, found = class_of(tmp_path, {"ada": [len(LAB.checks)]})
    late = marks(store, found, Policy(percent=10, due={LAB.slug: DUE}), {("ada", 1): DUE + timedelta(hours=1)})
    reports.write(tmp_path / "out", [LAB], late, reports.FORMATS)
    there = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert {
        "gradescope/ada.json",
        "classroom50/ada.json",
        "prairielearn/ada.json",
        "vpl/ada.txt",
        "junit/ada.xml",
    } < there
    assert "late, 10% off" in (tmp_path / "out" / "pages" / "ada.html").read_text()
    assert (
        f'ada,{LAB.points * 0.9:g},{LAB.points * 0.9:g},{LAB.points},"03: late, 10% off"'
        in (tmp_path / "out" / "class.csv").read_text()
    )
    assert json.loads((tmp_path / "out" / "gradescope" / "ada.json").read_text())["score"] == LAB.points


# What is held for a person.

GC = Held("line 5: import of gc", "sha of the file")


def held_class(tmp_path, **attempts):
    """A class in which what is held is right and the rest nearly; for each student, why each attempt is held."""
    store, found = ResultStore(tmp_path / "out"), []
    for student, tries in attempts.items():
        for number, held in enumerate(tries, start=1):
            found.append(roster.Submission(student, None, number))
            store.write(found[-1].key, LAB, result(student, len(LAB.checks) - (held is None)), held)
    return store, found


def test_what_is_held_has_no_grade_and_overwrites_none(tmp_path):
    (tmp_path / "canvas.csv").write_text(CANVAS.format(most=LAB.points))
    (tmp_path / "moodle.csv").write_text(MOODLE.replace("submission,,", "submission,77,"))
    store, found = held_class(tmp_path, charles=[GC], ada=[GC], eve=[None])
    made = marks(store, found)
    for name, kept in (("canvas.csv", '"Babbage, Charles",1002,u2,charles,One,3,'), ("moodle.csv", "submission,77,")):
        reports.fill_gradebook(tmp_path / "out", tmp_path / name, [LAB], made)
        assert kept in (tmp_path / "out" / name).read_text()
    reports.write(tmp_path / "out", [LAB], made, reports.FORMATS)
    table = (tmp_path / "out" / "class.csv").read_text()
    assert f'ada,,0,{LAB.points},"03: held, line 5: import of gc"' in table
    assert (tmp_path / "out" / "checks.csv").read_text().splitlines()[1].split(",")[-3] == "1", "only eve is counted"
    assert "<td>1<td>" in (tmp_path / "out" / "statistics.html").read_text()


def test_a_held_student_reads_why_and_no_points(tmp_path):
    store, found = held_class(tmp_path, ada=[GC])
    reports.write(tmp_path / "out", [LAB], marks(store, found), reports.FORMATS)
    page = (tmp_path / "out" / "pages" / "ada.html").read_text()
    assert "Converge: no grade yet" in page
    assert "Held until a person has looked at it (line 5: import of gc)." in page
    assert f"{LAB.points}/{LAB.points} points" not in page


def test_no_format_gives_a_grade_to_what_is_held(tmp_path):
    store, found = held_class(tmp_path, ada=[GC])
    (tmp_path / "out" / "gradescope").mkdir()
    (tmp_path / "out" / "gradescope" / "ada.json").write_text('{"score": 32}')  # of what was handed in before
    reports.write(tmp_path / "out", [LAB], marks(store, found), reports.FORMATS)
    said = {each.parent.name: each.read_text() for each in (tmp_path / "out").glob("*/ada.*")}
    assert {name for name in said if "line 5: import of gc" not in said[name]} == {"classroom50"}
    assert "gradescope" not in said, "it would need a score"
    classroom50 = json.loads(said["classroom50"])
    assert (classroom50["score"], classroom50["max-score"], classroom50["tests"]) == (0, 0, [])
    assert json.loads(said["prairielearn"])["gradable"] is False
    assert "Grade :=>>" not in said["vpl"]
    suite = ElementTree.fromstring(said["junit"]).find("testsuite")
    assert (suite.get("errors"), suite.get("tests")) == ("1", str(len(suite.findall("testcase"))))


def test_what_is_accepted_counts_until_another_file_is_handed_in(tmp_path):
    store, found = held_class(tmp_path, ada=[GC])
    before = json.loads(store.path("ada", LAB).read_text())
    assert (before["held"], before["accepted"]) == (GC.why, "")
    grading.accept(store, found, [LAB], ["ada"])
    grading.accept(store, found, [LAB], ["ada"])  # the same command, typed again
    [mark] = marks(store, found)["ada"]
    assert (mark.counts, mark.points) == (True, LAB.points)
    store.write("ada", LAB, result("ada", 1), GC)  # graded again
    assert store.read("ada", LAB).held == ""
    store.write("ada", LAB, result("ada", 1), Held("line 5: import of gc", "another file"))
    assert store.read("ada", LAB).held == GC.why
    assert not marks(store, found)["ada"][0].counts


def test_without_points_nothing_is_held(tmp_path):
    """Nobody has to look at a file that isn't Python."""
    store, found = held_class(tmp_path, ada=[GC])
    store.write("ada", LAB, result("ada", 0), GC)
    assert marks(store, found)["ada"][0].counts
    assert json.loads(store.path("ada", LAB).read_text())["held"] == GC.why


def test_only_what_is_held_can_be_accepted(tmp_path):
    store, found = held_class(tmp_path, ada=[GC], eve=[None])
    for student in ("eve", "bob"):
        with pytest.raises(courses.CourseError, match=f"nothing of {student} is held"):
            grading.accept(store, found, [LAB], [student])
    assert store.read("ada", LAB).held


def test_the_best_attempt_may_be_one_that_is_held(tmp_path):
    """Then the lab has no grade until someone has looked: the other attempt is worth less."""
    store, found = held_class(tmp_path, ada=[None, GC])
    [mark] = marks(store, found, Policy("best"))["ada"]
    assert (mark.result.held, mark.counts) == (GC.why, False)
    grading.accept(store, found, [LAB], ["ada"])
    [mark] = marks(store, found, Policy("best"))["ada"]
    assert (mark.points, mark.counts) == (LAB.points, True)


def test_of_two_that_are_worth_the_same_the_best_is_not_the_held_one(tmp_path):
    store, found = held_class(tmp_path, ada=[GC, None])
    store.write("ada~2", LAB, result("ada", len(LAB.checks)))
    [mark] = marks(store, found, Policy("best"))["ada"]
    assert (mark.counts, mark.note) == (True, "attempt 2 of 2")


# What platforms get: each is run the way its platform runs it, with a `converge` that only says what it was asked.

FAKE = """#!/bin/sh
echo "$@" >> "$ASKED"
test "$1" = grade || exit 0
for word in "$@"; do test "$before" = --out && out=$word; test "$before" = --format && format=$word; before=$word; done
mkdir -p "$out/$format"
for name in submission student; do
  echo "{}" > "$out/$format/$name.json"
  echo "Grade :=>> 7" > "$out/$format/$name.txt"
done
exit "${CODE:-0}"
"""


def run(command, cwd, tmp_path, **env):
    (tmp_path / "asked").touch()
    said = {"PATH": os.environ["PATH"], "ASKED": str(tmp_path / "asked"), **env}
    ended = subprocess.run(command, cwd=cwd, env=said, capture_output=True, text=True, timeout=60)
    return ended, (tmp_path / "asked").read_text().splitlines()


def test_the_gradescope_zip_is_what_gradescope_unpacks_and_runs(tmp_path):
    platforms.write(tmp_path / "autograder.zip", platforms.PLATFORMS["gradescope"](COURSE, [LAB], ""))
    with zipfile.ZipFile(tmp_path / "autograder.zip") as archive:
        names = set(archive.namelist())
        assert {
            "setup.sh",
            "run_autograder",
            "converge/course.toml",
            "converge/tests/labs/test_03_workqueue.py",
        } < names
        assert not [name for name in names if "__pycache__" in name or "test_04" in name]
        assert archive.getinfo("run_autograder").external_attr >> 16 == 0o100755
        archive.extractall(tmp_path / "autograder" / "source")
    top = tmp_path / "autograder"
    script = top / "run_autograder"
    script.write_text((top / "source" / "run_autograder").read_text())
    script.chmod(0o755)
    (top / "venv" / "bin").mkdir(parents=True)
    (top / "venv" / "bin" / "converge").write_text(FAKE)
    (top / "venv" / "bin" / "converge").chmod(0o755)
    ended, asked = run([str(script)], top, tmp_path, AUTOGRADER=str(top))
    assert ended.returncode == 0, ended.stderr
    assert asked[0] == "grade submission --student submission --lab 03 --out graded --format gradescope"
    assert (top / "results" / "results.json").exists()
    (top / "results" / "results.json").unlink()
    ended, _ = run([str(script)], top, tmp_path, AUTOGRADER=str(top), CODE="4")
    assert ended.returncode == 4
    assert not (top / "results" / "results.json").exists()


# The fields of a question and of its grader, from PrairieLearn's infoQuestion.json, which allows no others.
QUESTION = (
    "comment uuid type title topic tags clientFiles clientTemplates template gradingMethod singleVariant "
    "showCorrectAnswer partialCredit options externalGradingOptions dependencies workspaceOptions sharingSets "
    "sharePublicly shareSourcePublicly"
)
GRADER = "comment enabled image entrypoint serverFilesCourse timeout enableNetworking environment"


def test_a_question_of_prairielearn_has_the_fields_that_it_may_have_and_all_that_it_must():
    info = json.loads(platforms.PLATFORMS["prairielearn"](COURSE, [LAB], "registry.example/c")["info.json"])
    assert {"uuid", "type", "title", "topic"} <= set(info) <= set(QUESTION.split())
    assert {"image", "entrypoint"} <= set(info["externalGradingOptions"]) <= set(GRADER.split())
    assert (info["type"], info["gradingMethod"]) == ("v3", "External")
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", info["uuid"])


def test_a_question_of_prairielearn_uploads_the_files_of_its_labs(tmp_path):
    platforms.write(
        tmp_path / "q", platforms.PLATFORMS["prairielearn"](COURSE, [COURSE.find("16")], "registry.example/c")
    )
    info = json.loads((tmp_path / "q" / "info.json").read_text())
    assert info["externalGradingOptions"]["image"] == "registry.example/c"
    assert info["externalGradingOptions"]["timeout"] <= 600
    assert 'file-names="ship.py, ' in (tmp_path / "q" / "question.html").read_text()
    assert os.access(tmp_path / "q" / "tests" / "run.sh", os.X_OK)


@pytest.mark.parametrize(("code", "grade"), [("0", "Grade :=>> 7"), ("4", "Comment :=>>-The grader failed")])
def test_vpl_gets_a_program_that_prints_the_grade(tmp_path, code, grade):
    made = platforms.PLATFORMS["vpl"](COURSE, [LAB], "")
    (tmp_path / "converge").write_text(FAKE)
    (tmp_path / "converge").chmod(0o755)
    made["vpl_evaluate.sh"] = made["vpl_evaluate.sh"].replace("/opt/converge/bin/converge", str(tmp_path / "converge"))
    platforms.write(tmp_path / "vpl", made)
    (tmp_path / "vpl" / "vpl_environment.sh").write_text("export VPL_GRADEMIN=0 VPL_GRADEMAX=10\n")
    run(["./vpl_evaluate.sh"], tmp_path / "vpl", tmp_path)
    ended, asked = run(["./vpl_execution"], tmp_path / "vpl", tmp_path, CODE=code)
    assert ended.stdout.startswith(grade)
    assert asked[0].startswith("grade . --student student --lab 03 --out /")


def test_classroom50_gets_a_result_and_a_status(tmp_path):
    made = platforms.PLATFORMS["classroom50"](COURSE, [LAB], "registry.example/c")
    (tmp_path / "converge").write_text(FAKE)
    (tmp_path / "converge").chmod(0o755)
    made["autograder.py"] = made["autograder.py"].replace("/opt/converge/bin/converge", str(tmp_path / "converge"))
    platforms.write(tmp_path / "bundle", made)
    (tmp_path / "checkout").mkdir()
    command = ["python3", str(tmp_path / "bundle" / "autograder.py")]
    ended, _ = run(command, tmp_path / "checkout", tmp_path, CODE="4")
    assert (ended.returncode, (tmp_path / "checkout" / "result.json").exists()) == (4, False)
    ended, _ = run(command, tmp_path / "checkout", tmp_path)
    assert (ended.returncode, (tmp_path / "checkout" / "result.json").exists()) == (0, True)


@pytest.mark.parametrize("place", ["converge grade --help", "docs/instructors/grading-a-class.md"])
def test_every_format_is_named_where_an_instructor_looks(place):
    page = COURSE.root / place
    options = typer.main.get_command(cli.app).commands["grade"].params
    text = page.read_text() if page.exists() else next(each.help for each in options if each.name == "format")
    assert [name for name in reports.FORMATS if name not in re.findall(r"\w+", text)] == []


@pytest.mark.parametrize(
    ("platform", "options", "says"),
    [
        ("vpl", [], "1 file for vpl"),
        ("classroom50", [], "--image"),
        ("prairielearn", [], "--image"),
        ("prairielearn", ["--image", "registry.example/a"], "3 files for prairielearn"),
    ],
)
def test_an_autograder_says_which_image_it_starts_unless_it_was_named(platform, options, says, tmp_path):
    done = CliRunner().invoke(cli.app, ["autograder", platform, "--lab", "06", "--out", str(tmp_path / "a"), *options])
    assert done.exit_code == 0
    assert says in " ".join(done.output.split())
    assert ("--image" in done.output) == (says == "--image")
