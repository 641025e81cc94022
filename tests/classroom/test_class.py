"""A class with hostile students in it: each earns what its work is worth, and no one else notices."""

import io
import json
import shutil
import tempfile
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from typer.testing import CliRunner

from converge import cli
from converge.classroom import grading, reports, roster
from converge.classroom.grading import Piece
from converge.classroom.policy import Policy
from converge.classroom.store import ResultStore
from converge.grader import course as courses
from converge.grader.report import html
from converge.grader.session import plugin
from converge.recorder import Recording
from converge.testing.sandbox import jail

pytestmark = pytest.mark.xdist_group("class")  # one worker grades the class, for all of these tests

CHEATS = Path(__file__).parents[1] / "grader" / "cheats"
CHECKS = ("test_duplicate_adds_collapse", "test_keys_come_out_in_order")
WRONG = """
import glob, os, signal
class WorkQueue:
    def __init__(self, **options): pass
    def __len__(self): return 99
    def add(self, key): pass
    def get(self, timeout=None): return "wrong"
    def done(self, key): pass
"""
VERDICT = '{"name": "%s", "job": %d, "phase": "teardown", "status": "passed", "parts": {}, "seconds": 0}\\n'
OWN = {
    "forges-the-stream": WRONG + f"LINES = [{VERDICT!r} % (name, task) for name in {CHECKS!r} for task in range(30)]\n"
    "for path in glob.glob('/proc/[0-9]*/fd/*'):\n"
    "    try:\n        with open(path, 'w') as file:\n            file.write(''.join(LINES))\n"
    "    except OSError:\n        pass\n",
    "kills-everything": WRONG + "if os.getpid() < 50:  # in a jail; never on a developer's machine\n"
    "    os.kill(-1, signal.SIGKILL)\n",
    "copies-the-solution": "from converge.files import package_root\n"
    "exec((package_root() / 'solutions' / '03_workqueue' / 'workqueue.py').read_text())\n",
    "edits-the-grader": WRONG + "import converge.grader.checks.expect as it\n"
    "open(it.__file__, 'a').write('\\ndef expect(*a, **k): pass\\n')\n",
    "does-not-parse": "class WorkQueue(:\n",
}
CHEATED = ("05_patched_reports", "06_rewritten_checks", "09_shadow_modules", "12_rewritten_results", "16_daemon")
HONEST = ("ada", "zoe")  # before and after the others


@pytest.fixture(scope="module")
def lab():
    return courses.load().find("03")


@pytest.fixture(scope="module")
def graded(lab, tmp_path_factory):
    """One class in which nearly all cheat, graded once; the results by student."""
    if why := jail.refusal():
        pytest.skip(f"not run: {why}")
    top = tmp_path_factory.mktemp("class")
    handed_in = top / "handed-in"
    for student, text in OWN.items():
        (handed_in / student).mkdir(parents=True)
        (handed_in / student / lab.file).write_text(text)
    for name in CHEATED:
        shutil.copytree(CHEATS / name, handed_in / name)
    (handed_in / "ada" / lab.slug).mkdir(parents=True)
    shutil.copy(lab.solution, handed_in / "ada" / lab.slug / lab.file)
    with zipfile.ZipFile(handed_in / "zoe.zip", "w") as archive:
        archive.write(lab.solution, f"work/labs/{lab.slug}/{lab.file}")
    (handed_in / "links").mkdir()
    (handed_in / "links" / lab.file).symlink_to(lab.solution)
    store = ResultStore(top / "graded")
    found = roster.find([handed_in])
    only = tuple(lab.check(name) for name in CHECKS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(top))  # another worker of pytest may be grading a class of its own
        grading.grade(courses.load(), store, [Piece(each, lab, only) for each in found], lambda piece, result: None)
    report(store, found, lab)
    return store, {each.student: store.read(each.student, lab) for each in found}


def report(store, found, lab):
    reports.write(store.folder, [lab], reports.marks_of(store, found, [lab], Policy(), {}))


def earned(result):
    return [result.find(name).points for name in CHECKS]


@pytest.mark.parametrize("student", [*OWN, *CHEATED, "links"])
def test_a_cheat_earns_nothing(graded, student):
    _, results = graded
    assert earned(results[student]) == [0, 0]
    assert not results[student].trouble


@pytest.mark.parametrize("student", HONEST)
def test_honest_work_in_the_same_class_gets_its_points(graded, lab, student):
    _, results = graded
    assert earned(results[student]) == [lab.check(name).points for name in CHECKS]


def test_nothing_is_left_running(graded):
    store, _ = graded
    running = [" ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"])]
    assert not [line for line in running if "jailer.py" in line and str(store.folder.parent) in line]


def test_the_tables_and_pages_are_there(graded):
    store, results = graded
    lines = (store.folder / "class.csv").read_text().splitlines()
    assert lines[0] == "student,03_workqueue,points,max_points,note"
    assert len(lines) == 1 + len(results)
    assert {each.stem for each in (store.folder / "pages").iterdir()} == set(results)
    assert (store.folder / "checks.csv").read_text().startswith("check,title,graded,passed,failed\n")


# Without any process: what is graded, and what is kept.


def fake(monkeypatch, passes):
    """A grader that has an opinion and no processes; returns what it was asked."""
    asked = []

    def run(course, jobs, on_result):
        for number, job in enumerate(jobs):
            asked.append((job.lab.slug, [facts.name for facts in job.facts]))
            result = grading.refused(Piece(roster.Submission("x", None), job.lab, job.only), "wrong")
            for check in result.checks:
                check.status = grading.Status.PASSED if passes(check) else check.status
            on_result(number, result)

    monkeypatch.setattr(grading, "run", run)
    return asked


def class_of(folder, lab, *students):
    for student in students:
        (folder / student).mkdir(parents=True)
        (folder / student / lab.file).write_text("pass\n")
    return roster.find([folder])


def test_what_has_a_result_is_not_graded_again(monkeypatch, tmp_path, lab):
    asked = fake(monkeypatch, lambda check: True)
    found = class_of(tmp_path / "in", lab, "ada", "bob")
    store, course = ResultStore(tmp_path / "out"), courses.load()
    grading.grade(course, store, grading.pieces(store, found[:1], [lab], {}), lambda piece, result: None)
    left = grading.pieces(store, found, [lab], {})
    assert [piece.submission.student for piece in left] == ["bob"]
    assert len(asked) == 1


def test_a_result_that_blames_the_grader_is_graded_again_but_not_forever(tmp_path, lab):
    store, [ada] = ResultStore(tmp_path / "out"), class_of(tmp_path / "in", lab, "ada")
    broken = grading.refused(Piece(ada, lab), "")
    broken.trouble = "pytest ended with status 3"
    for _ in range(3):
        assert grading.pieces(store, [ada], [lab], {})
        store.write("ada", lab, broken)
    assert not grading.pieces(store, [ada], [lab], {})


def test_a_result_is_on_the_disk_before_it_has_its_name(monkeypatch, tmp_path, lab):
    """Else a power cut leaves a file of that name with nothing in it."""
    store, [ada] = ResultStore(tmp_path / "out"), class_of(tmp_path / "in", lab, "ada")
    there = []
    monkeypatch.setattr("os.fsync", lambda descriptor: there.append(store.path("ada", lab).exists()))
    store.write("ada", lab, grading.refused(Piece(ada, lab), "wrong"))
    assert there == [False]


def test_one_check_can_be_graded_again(monkeypatch, tmp_path, lab):
    found = class_of(tmp_path / "in", lab, "ada")
    store, course = ResultStore(tmp_path / "out"), courses.load()
    fake(monkeypatch, lambda check: check.name != lab.checks[1].name)
    grading.grade(course, store, grading.pieces(store, found, [lab], {}), lambda piece, result: None)
    asked = fake(monkeypatch, lambda check: True)
    only = {lab: (lab.checks[1],)}
    grading.grade(course, store, grading.pieces(store, found, [lab], only), lambda piece, result: None)
    assert asked == [(lab.slug, [lab.checks[1].name])]
    assert store.read("ada", lab).passed


def test_each_student_sees_timelines_of_their_own_work(monkeypatch, tmp_path, lab):
    """All of them fail the same check, at the same time."""
    found = class_of(tmp_path / "in", lab, "ada", "bob", "eve")

    def run(course, jobs, on_result):
        results = [grading.refused(Piece(roster.Submission("x", None), job.lab, job.only), "wrong") for job in jobs]
        for number, (job, result) in enumerate(zip(jobs, results, strict=True)):
            recording = Recording(title=f"the work of number {number}")
            item = SimpleNamespace(name=f"{lab.checks[0].name}[{number}]")
            monkeypatch.setattr(plugin, "planned_job", lambda item, job=job: job)
            result.checks[0].timeline = plugin.draw_timeline(recording, item)
        for number, result in enumerate(results):
            on_result(number, result)

    monkeypatch.setattr(grading, "run", run)
    store = ResultStore(tmp_path / "out")
    grading.grade(courses.load(), store, grading.pieces(store, found, [lab], {}), lambda piece, result: None)
    report(store, found, lab)
    for number, student in enumerate(("ada", "bob", "eve")):
        page = (store.folder / "pages" / f"{student}.html").read_text()
        assert [f"the work of number {each}" in page for each in range(3)] == [each == number for each in range(3)]
        stored = json.loads(store.path(student, lab).read_text())["checks"][0]["timeline"]
        assert stored == f"timelines/{lab.slug}/{student}/{lab.checks[0].name}.html"
    moved = ResultStore((tmp_path / "out").rename(tmp_path / "moved"))
    assert "number 1" in html.timeline_of(moved.read("bob", lab).checks[0])


def test_a_timeline_outside_of_the_class_is_not_shown(tmp_path, lab):
    """Results of an earlier version name the archive's, which is that of the student who failed last."""
    store, [ada] = ResultStore(tmp_path / "out"), class_of(tmp_path / "in", lab, "ada")
    store.write("ada", lab, grading.refused(Piece(ada, lab), "wrong"))
    stored = json.loads(store.path("ada", lab).read_text())
    (tmp_path / "other.html").write_text("<!doctype html>someone else's")
    stored["checks"][0]["timeline"] = str(tmp_path / "other.html")
    store.path("ada", lab).write_text(json.dumps(stored))
    assert store.read("ada", lab).checks[0].timeline == ""


def test_a_result_cannot_have_a_file_of_the_instructor_shown(tmp_path, lab):
    """One that comes out of a Pod may name any."""
    store, [ada] = ResultStore(tmp_path / "out"), class_of(tmp_path / "in", lab, "ada")
    (tmp_path / "secret").write_text("<!doctype html>the instructor's own")
    result = grading.refused(Piece(ada, lab), "wrong")
    result.checks[0].timeline = str(tmp_path / "secret")
    store.write("ada", lab, result)
    report(store, [ada], lab)
    assert "instructor&#x27;s own" not in (store.folder / "pages" / "ada.html").read_text()
    assert store.read("ada", lab).checks[0].timeline == ""


def test_a_check_that_is_graded_again_leaves_the_timelines_of_others(monkeypatch, tmp_path, lab):
    store, [ada] = ResultStore(tmp_path / "out"), class_of(tmp_path / "in", lab, "ada")
    result = grading.refused(Piece(ada, lab), "wrong")
    result.checks[0].timeline = "<!doctype html>the first"
    store.write("ada", lab, result)
    fake(monkeypatch, lambda check: True)
    again = grading.pieces(store, [ada], [lab], {lab: (lab.checks[1],)})
    grading.grade(courses.load(), store, again, lambda piece, result: None)
    assert html.timeline_of(store.read("ada", lab).checks[0]) == "<!doctype html>the first"


def test_a_student_without_work_gets_nothing_and_is_in_the_table(monkeypatch, tmp_path, lab):
    fake(monkeypatch, lambda check: True)
    class_of(tmp_path / "in", lab, "ada")
    (tmp_path / "roster.csv").write_text("name,email\nAda,ada\nEve,eve\n")
    found = roster.find([tmp_path / "in"], tmp_path / "roster.csv")
    store = ResultStore(tmp_path / "out")
    grading.grade(courses.load(), store, grading.pieces(store, found, [lab], {}), lambda piece, result: None)
    report(store, found, lab)
    table = (tmp_path / "out" / "class.csv").read_text().splitlines()
    assert table[1:] == [f"ada,{lab.points},{lab.points},{lab.points},", f"eve,0,0,{lab.points},"]


def test_what_python_parses_for_minutes_is_not_parsed(tmp_path, lab):
    """We parse a submission outside of its jail: this one took all of the machine's memory."""
    for student, dots in (("eve", 400_000), ("mallory", 30_000)):
        (tmp_path / "in" / student).mkdir(parents=True)
        (tmp_path / "in" / student / lab.file).write_text("import a" + ".a" * dots)
        began = time.process_time()
        piece = Piece(roster.Submission(student, tmp_path / "in" / student), lab, lab.checks[:1])
        refusal, _ = grading.prepare(piece, tmp_path / "copies" / student)
        assert ("larger than 64 KB" in str(refusal)) == (dots > 30_000)
        assert time.process_time() - began < 5


def zipped(lab, text):
    """The bytes of a zip with the lab's file, and where the packed file begins in them."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(lab.file, text)
    return made.getvalue(), 30 + len(lab.file)


def broken_zips(lab):
    whole, begin = zipped(lab, "x = 1\n" * 2000)
    utf8 = zipped(lab, "x = 1\n")[0].replace(b"\x00\x00\x08\x00", b"\x00\x08\x08\x00")
    return {
        "text": b"not a zip",
        "damaged": whole[:begin] + b"\xff" * 8 + whole[begin + 8 :],
        "shortened": whole[:begin] + whole[begin + 20 :],
        "encrypted": whole.replace(b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"),
        "name": utf8.replace(lab.file.encode(), b"\xff" * len(lab.file)),
    }


@pytest.mark.parametrize("how", ["text", "damaged", "shortened", "encrypted", "name"])
def test_a_broken_zip_is_that_student_s_problem(tmp_path, lab, how):
    """Each of these is another exception of Python's zipfile."""
    (tmp_path / "eve.zip").write_bytes(broken_zips(lab)[how])
    [eve] = roster.find([tmp_path])
    assert "can't be read" in eve.copy(lab, tmp_path / "copy")


def test_a_git_checkout_is_the_work_of_one_student(monkeypatch, tmp_path, lab):
    for student in ("ada", "bob"):
        (tmp_path / student / ".git").mkdir(parents=True)
        (tmp_path / student / "labs" / lab.slug).mkdir(parents=True)
        (tmp_path / student / "labs" / lab.slug / lab.file).write_text("pass\n")
    named, together = roster.find([tmp_path / "ada", tmp_path / "bob"]), roster.find([tmp_path])
    assert [each.student for each in named] == [each.student for each in together] == ["ada", "bob"]
    assert [each.copy(lab, tmp_path / "copy") for each in (*named, *together)] == [""] * 4
    monkeypatch.chdir(tmp_path / "ada")
    assert [each.student for each in roster.find([Path()])] == ["ada"]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda top: top / "nowhere", "There is no"),
        (lambda top: top, "no directory and no zip"),
        (lambda top: (top / "a b").mkdir() or top, "can't be a student's name"),
    ],
)
def test_bad_input_gets_one_line(make, says, tmp_path):
    with pytest.raises(courses.CourseError, match=says) as error:
        roster.find([make(tmp_path)])
    assert "\n" not in str(error.value)


def test_a_formula_in_a_name_is_only_text(tmp_path, lab):
    store, found = ResultStore(tmp_path / "out"), class_of(tmp_path / "in", lab, "+1")
    report(store, found, lab)
    assert "\n'+1," in (tmp_path / "out" / "class.csv").read_text()


def test_what_is_held_stays_so_when_it_is_graded_again_and_counts_once_accepted(monkeypatch, tmp_path, lab):
    [ada] = class_of(tmp_path / "in", lab, "ada")
    file = tmp_path / "in" / "ada" / lab.file
    file.write_text("import gc\n")
    store, course = ResultStore(tmp_path / "out"), courses.load()
    fake(monkeypatch, lambda check: True)
    only = {lab: (lab.checks[1],)}

    def grade(checks):
        grading.grade(course, store, grading.pieces(store, [ada], [lab], checks), lambda piece, result: None)
        return store.read("ada", lab).held

    assert grade({}) == grade(only) == "line 1: import of gc"
    assert store.read("ada", lab).points == lab.points
    grading.accept(store, [ada], [lab], ["ada"])
    assert grade(only) == ""
    file.write_text("import gc  # and more\n")
    assert grade(only) == "line 1: import of gc"
    file.write_text("pass\n")
    assert grade(only) == ""


def test_the_end_of_a_run_lists_who_is_held_and_how_to_accept(monkeypatch, tmp_path, lab):
    class_of(tmp_path / "in", lab, "ada", "bob")
    (tmp_path / "in" / "ada" / lab.file).write_text("import gc\n")
    fake(monkeypatch, lambda check: True)
    monkeypatch.setattr(jail, "require", lambda: None)
    command = ["grade", str(tmp_path / "in"), "--lab", "03", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(cli.app, command)
    assert done.exit_code == 0
    assert f"ada  03  line 1: import of gc, in {tmp_path / 'in' / 'ada'}" in done.output
    assert "bob  03  " not in done.output
    assert "--accept ada" in done.output
    for options in (["--accept", "ada"], ["--accept", "ada"], []):  # typed again, and without it
        done = CliRunner().invoke(cli.app, [*command, *options])
        assert done.exit_code == 0
        assert "Held" not in done.output
    assert f"ada,{lab.points},{lab.points}" in (tmp_path / "out" / "class.csv").read_text()
