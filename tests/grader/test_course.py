"""The manifest, names of labs, and what is read from a file of checks without importing it."""

import textwrap

import pytest

from converge.grader import course as courses
from converge.grader.course import CourseError
from converge.grader.course.alignment import disagreements, headings
from converge.grader.session.run import in_order

MANIFEST = """
[course]
title = "Tiny"

[rights]
webapps = {group = "converge.example", resources = ["webapps"], verbs = ["get"]}

[[lab]]
slug = "01_first"
title = "First"
part = "I"
kind = "operator"
file = "first.py"
rights = ["webapps"]

[[lab]]
slug = "02_second"
title = "Second"
part = "I"
kind = "library"
file = "second.py"
"""

CHECKS = '''
from converge.grader import check


@check(points=2, section="one", incident="a/b#1: it broke", timeout=5)
def test_one(lab):
    """The first line.

    And more."""


def helper():
    """No check."""


@check(points=3)
def test_two(lab):
    """Another."""
'''


@pytest.fixture
def course(tmp_path):
    (tmp_path / "course.toml").write_text(MANIFEST)
    (tmp_path / "tests" / "labs").mkdir(parents=True)
    (tmp_path / "tests" / "labs" / "test_01_first.py").write_text(CHECKS)
    return courses.load(tmp_path)


@pytest.mark.parametrize("name", ["1", "01", "first", "01_first"])
def test_a_lab_has_four_names(course, name):
    assert course.find(name).slug == "01_first"


def test_a_typo_is_answered_with_a_suggestion(course):
    with pytest.raises(CourseError, match="Did you mean second"):
        course.find("secnod")


def test_checks_are_read_without_importing_them(course):
    one, two = course.find("01").checks
    assert (one.name, one.title, one.points, one.section, one.timeout) == ("test_one", "The first line.", 2, "one", 5)
    assert (two.points, course.find("01").points) == (3, 5)


def test_a_check_that_takes_long_begins_after_the_first(course):
    lines = ["@check(points=1, long=True)", "def test_3(lab): ...", "@check(points=1)", "def test_4(lab): ..."]
    checks = course.find("01").checks_file
    checks.write_text(CHECKS + "\n".join(lines))
    assert [each.name for each in in_order(course.find("01").checks)] == ["test_one", "test_3", "test_two", "test_4"]


def test_a_check_is_found_by_its_place_or_name(course):
    lab = course.find("01")
    assert lab.check("2") == lab.check("two") == lab.check("test_two")
    with pytest.raises(CourseError, match="it has 2, counted from 1"):
        lab.check("7")


def test_rights_are_looked_up_by_name(course):
    assert course.find("01").rights[0]["resources"] == ["webapps"]


def test_a_lab_without_checks_says_so(course):
    with pytest.raises(CourseError, match="has no checks yet"):
        _ = course.find("02").checks


def test_anchors_are_those_of_the_page():
    page = "# Title\n\n## Keys, not events\n\n### One key: one `worker` { #workers }\n"
    assert headings(page) == {"keys-not-events", "workers"}


@pytest.mark.parametrize(
    ("solution", "complaint"),
    [
        ('def add(self, key): "Add."', None),
        ('def add(self, keys): "Add."', "the skeleton says"),
        ('def add(self, key): "Adds."', "docstrings"),
        ('def insert(self, key): "Add."', "not in the solution"),
    ],
)
def test_skeleton_and_solution_agree(course, tmp_path, solution, complaint):
    lab = course.find("02")
    for path, body in ((lab.skeleton, 'def add(self, key): "Add."; raise NotImplementedError("TODO 1: add")'),):
        path.parent.mkdir(parents=True)
        path.write_text(textwrap.dedent(body))
    lab.solution.parent.mkdir(parents=True)
    lab.solution.write_text(solution)
    found = list(disagreements(lab))
    assert (complaint is None and not found) or complaint in found[0]


def test_a_library_lab_with_rights_uses_the_cluster_as_well():
    assert [lab.number for lab in courses.load().labs if not lab.uses_cluster] == ["03"]
