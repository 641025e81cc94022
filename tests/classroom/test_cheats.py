"""Every attack in `cheats`, graded as one class: none earns more than it says, and none touches what it may not.

A cheat says GOT when it has got what it must not get. Here that ends it with an exception, which a result shows.
"""

import hashlib
import json
import os
import subprocess
from pathlib import Path

import psutil
import pytest

from converge.classroom import grading, reports, roster
from converge.classroom.grading import Piece
from converge.classroom.policy import Policy
from converge.classroom.store import ResultStore
from converge.grader.checks.verdict import Status
from converge.testing.sandbox import jail
from converge.testing.waits.waiting import eventually
from tests.classroom.hostile import CHEATS, CHECK, COURSE, OLDER, SAY_GOT, WRONG, files_of, lab_of, said

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.xdist_group("cheats"),  # one worker grades them all, for all of these tests
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(jail.refusal()), reason=f"not run: {jail.refusal()}"),
]

HONEST = ("aaa-first", "zzz-last")
CONTROL = {"control-03": ("03", "print('GOT', 1)\n" + WRONG), "control-01": ("01", "print('GOT', 1)\n")}


def check_of(name):
    lab = lab_of(name)
    return lab.check(said(CHEATS[name], "Check", CHECK[lab.number]) if name in CHEATS else CHECK[lab.number])


def digest():
    """One number for all that a submission must not change in the course."""
    folders = [COURSE.root / name for name in ("src", "solutions", "tests/labs", "labs", "crds")]
    made = hashlib.sha256()
    for path in sorted(each for folder in folders for each in folder.rglob("*") if each.is_file()):
        if "__pycache__" not in str(path):
            made.update(str(path).encode() + path.read_bytes())
    return made.hexdigest()


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The class, graded once: the store, and what the machine looked like before."""
    top = tmp_path_factory.mktemp("cheats")
    pieces = []

    def hand_in(student, lab, files, check):
        folder = top / "handed-in" / student
        folder.mkdir(parents=True)
        for name, text in files.items():
            (folder / name).write_text(text)
        pieces.append(Piece(roster.Submission(student, folder), lab, (check,)))

    def hand_in_our_solutions(student):
        for number, name in CHECK.items():
            lab = COURSE.find(number)
            files = {each: lab.solution.with_name(each).read_text() for each in lab.files}
            hand_in(f"{student}-{number}", lab, files, lab.check(name))

    first, last = HONEST
    hand_in_our_solutions(first)
    for name in (*CHEATS, *OLDER):
        hand_in(name, lab_of(name), files_of(name), check_of(name))
    for name, (number, text) in CONTROL.items():
        lab = COURSE.find(number)
        hand_in(name, lab, {lab.file: SAY_GOT + text}, lab.check(CHECK[number]))
    hand_in_our_solutions(last)
    store = ResultStore(top / "graded")
    canary = subprocess.Popen(["sleep", "4000"])
    before = digest()
    patch = pytest.MonkeyPatch()
    patch.setattr(grading, "AT_ONCE", len(pieces))
    patch.setattr(grading.tempfile, "tempdir", str(top))
    patch.setenv("CANARY_TOKEN", "secret")
    try:
        grading.grade(COURSE, store, pieces, lambda piece, result: None)
        yield store, pieces, before, canary, top
    finally:
        patch.undo()
        canary.kill()
        canary.wait()


def result_of(graded, student):
    store, pieces, *_ = graded
    piece = next(piece for piece in pieces if piece.submission.student == student)
    return store.read(student, piece.lab).find(piece.only[0].name), store.read(student, piece.lab)


@pytest.mark.parametrize("name", [*CHEATS, *OLDER])
def test_an_attack_earns_no_more_than_it_says_and_gets_nothing(graded, name):
    check, whole = result_of(graded, name)
    earns = said(CHEATS[name], "Earns") if name in CHEATS else "nothing"
    if earns == "nothing":
        assert check.points == 0
    elif earns == "nothing until a person accepts it":
        assert check.points == 0 or whole.held
    else:
        assert check.passed, check.parts
    assert check.status is not Status.ERROR
    assert not whole.trouble
    assert "GOT" not in json.dumps(check.parts), check.parts
    assert len(json.dumps(check.parts)) < 40_000


@pytest.mark.parametrize("name", CHEATS)
def test_an_attack_says_what_it_is(name):
    header = CHEATS[name].read_text().partition('"""\n')[0]
    assert header.startswith('"""Tries to ')
    assert all(said(CHEATS[name], word) for word in ("Lab", "Earns", "May not touch"))


@pytest.mark.parametrize("name", CONTROL)
def test_what_an_attack_gets_would_be_seen(graded, name):
    assert "GOT" in json.dumps(result_of(graded, name)[0].parts)


@pytest.mark.parametrize("student", [f"{name}-{number}" for name in HONEST for number in CHECK])
def test_honest_work_in_the_same_class_gets_its_points(graded, student):
    check, _ = result_of(graded, student)
    assert check.passed, check.parts


def test_nothing_is_left(graded):
    _, _, before, canary, top = graded
    assert digest() == before
    assert canary.poll() is None

    def running():
        lines = [" ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"])]
        return [line for line in lines if "cheat-daemon" in line or (str(top) in line and "bwrap" in line)]

    assert eventually(lambda: not running(), within=10), running()
    assert str(top) not in Path("/proc/self/mountinfo").read_text()
    assert "1129726792" not in Path("/proc/sysvipc/shm").read_text()  # the key of leaves_shared_memory
    assert sorted(each.name for each in top.iterdir()) == ["graded", "handed-in"]
    for folder in ("/tmp", "/dev/shm", "/var/tmp"):
        assert not {"cheat", "memory", "filler"} & set(os.listdir(folder))  # noqa: PTH208


def test_nothing_is_left_in_the_whole_cluster(graded, admin):
    kinds = {
        "rbac.authorization.k8s.io/v1": ("ClusterRole", "ClusterRoleBinding"),
        "admissionregistration.k8s.io/v1": ("ValidatingWebhookConfiguration",),
        "scheduling.k8s.io/v1": ("PriorityClass",),
    }
    names = [
        each["metadata"]["name"] for version in kinds for kind in kinds[version] for each in admin.list(version, kind)
    ]
    assert not [name for name in names if name.startswith("cheat")]


def test_nothing_is_left_in_the_cluster(graded, admin):
    def held():
        found = [*admin.list("apps/v1", "Deployment"), *admin.list("v1", "Pod")]
        return [name for each in found if (name := each["metadata"]["name"]).startswith("held")]

    assert eventually(lambda: not held(), within=30)


def test_the_instructor_is_told_whom_to_look_at(graded):
    store, pieces, *_ = graded
    lab = COURSE.find("03")
    found = [piece.submission for piece in pieces if piece.lab.slug == lab.slug]
    table = reports.class_table([lab], reports.marks_of(store, found, [lab], Policy(), {}))
    assert "copies_onto_a_class" in table
    [line] = [line for line in table.splitlines() if line.startswith("copies_onto_a_class")]
    assert "held, line" in line
    assert not [line for line in table.splitlines() if line.startswith(HONEST) and "held" in line]
