"""Broken files, a disk that refuses, a terminal that only takes ASCII: one clear line each, and a documented status."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from converge.grader import course as courses
from converge.grader.course.last_run import LastRun
from converge.grader.course.progress import Progress
from converge.grader.course.results import LabResult

ROOT = courses.load().root
MANIFEST = """[course]
title = "Tiny"
[rights]
pods = {group = "", resources = ["pods"], verbs = ["get"]}
[[lab]]
slug = "01_tiny"
title = "Tiny"
part = "I"
kind = "library"
file = "tiny.py"
rights = ["pods"]
"""


def converge(*arguments, **environment):
    return subprocess.run(
        [str(Path(sys.executable).with_name("converge")), *arguments],
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def course(tmp_path):
    (tmp_path / "course.toml").write_text(MANIFEST)
    return courses.load(tmp_path)


def state(course):
    return course.root / ".converge" / "progress.json"


@pytest.mark.parametrize(
    "text",
    [
        '{"labs": {"01_tiny": {"points": 3',
        "[]",
        '{"labs": []}',
        '{"labs": {"01_tiny": 7}}',
        '{"labs": {"01_tiny": {"points": "3"}}}',
        '{"labs": {"01_tiny": {"passed": 1}}}',
        "[" * 100_000,
        "",
    ],
)
def test_a_broken_state_file_is_kept_aside(course, text):
    state(course).parent.mkdir()
    state(course).write_text(text)
    found = Progress(course)
    assert "progress.json.broken" in found.notice
    assert state(course).with_name("progress.json.broken").read_text() == text
    found.show_hint(course.labs[0])
    assert Progress(course).notice == ""


def test_a_second_broken_one_does_not_replace_the_first(course):
    state(course).parent.mkdir()
    for text in ("first", "second"):
        state(course).write_text(text)
        Progress(course)
    kept = [path.read_text() for path in sorted(state(course).parent.glob("*.broken*"))]
    assert kept == ["first", "second"]


def test_the_learner_reads_that_it_was_broken(course):
    state(course).parent.mkdir()
    state(course).write_text("{")
    done = converge("progress", CONVERGE_COURSE=str(course.root))
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "kept as" in done.stderr


@pytest.mark.parametrize(
    ("find", "put", "says"),
    [
        ('title = "Tiny"\n[rights]', "title = \n[rights]", "line 2: Invalid value"),
        ('[course]\ntitle = "Tiny"', "[course]", "line 1: [course] needs a title"),
        ('slug = "01_tiny"\n', "", "line 5: this lab has no slug"),
        ('kind = "library"', "kind = 3", "line 9: lab 01_tiny: kind is text"),
        ('kind = "library"', 'kind = "librery"', "line 9: lab 01_tiny: kind is one of library, operator"),
        ('slug = "01_tiny"', 'slug = "tiny"', "line 6: lab tiny: a slug is two digits"),
        ('rights = ["pods"]', 'rights = ["nodes"]', "line 11: lab 01_tiny: there is no right 'nodes'"),
        ('rights = ["pods"]', 'rigths = ["pods"]', "line 11: lab 01_tiny: there is no key 'rigths'"),
        ('rights = ["pods"]', "hints = [1]", "line 11: lab 01_tiny: hints is a list of texts"),
        ('verbs = ["get"]', "", "line 4: "),
        ("[[lab]]", "[lab]", "line 5: the labs are tables, [[lab]] each"),
    ],
)
def test_a_broken_manifest_is_one_line(tmp_path, find, put, says):
    assert MANIFEST.count(find) == 1
    (tmp_path / "course.toml").write_text(MANIFEST.replace(find, put))
    with pytest.raises(courses.CourseError) as error:
        courses.load(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'course.toml'}, {says}")
    assert "\n" not in str(error.value)


def test_a_broken_manifest_is_wrong_use(tmp_path):
    (tmp_path / "course.toml").write_text("[")
    done = converge("check", CONVERGE_COURSE=str(tmp_path))
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")


@pytest.mark.parametrize("command", [("up",), ("check", "01")])
def test_a_state_directory_that_cannot_be_made_means_no_cluster(tmp_path, command):
    (tmp_path / "file").write_text("not a directory")  # root may write anywhere else
    done = converge(*command, CONVERGE_STATE=str(tmp_path / "file" / "state"))
    assert done.returncode == 3
    assert done.stderr.count("\n") <= 2  # what is wrong, and what to do
    assert "CONVERGE_STATE" in done.stderr


@pytest.mark.parametrize(
    "text",
    ["[]", '{"01_tiny": 3}', '{"01_tiny": [3]}', "[" * 100_000, "{"],
    ids=["a list", "a number", "a list of numbers", "too deep", "cut"],
)
def test_a_broken_list_of_recordings_is_written_again(course, text):
    path = course.root / ".converge" / "last-run.json"
    path.parent.mkdir()
    path.write_text(text)
    assert LastRun(course).first_failed() is None
    LastRun(course).remember(LabResult("01_tiny", "Tiny", "labs", [], 1.0))
    assert json.loads(path.read_text()) == {"01_tiny": []}


def test_a_full_disk_is_one_line(course):
    """A limit on the size of files stands for a full disk: writing fails in the same way."""
    state(course).parent.mkdir()
    state(course).write_text(json.dumps({"labs": {}}))
    (course.root / "labs/01_tiny").mkdir(parents=True)
    command = "ulimit -f 0; trap '' XFSZ; exec converge hint 01"
    manifest = course.root / "course.toml"
    manifest.write_text(MANIFEST + 'hints = ["a", "b", "c"]\n')
    done = subprocess.run(
        ["bash", "-c", command],
        env={
            **os.environ,
            "CONVERGE_COURSE": str(course.root),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
    assert "Make room" in done.stderr
    assert json.loads(state(course).read_text()) == {"labs": {}}


@pytest.mark.parametrize("command", [("progress",), ("list",), ("check", "03.1"), ("check", "--help"), ("doctor",)])
def test_a_terminal_that_only_takes_ascii_gets_plain_marks(command):
    plain = {"PYTHONIOENCODING": "ascii", "LANG": "C", "LC_ALL": "C"}
    done = converge(*command, **plain)
    assert "Traceback" not in done.stderr
    assert "UnicodeEncodeError" not in done.stderr
    assert done.stdout.isascii()
    assert done.returncode in (0, 1)
