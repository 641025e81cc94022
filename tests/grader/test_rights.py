"""What the operator under test may do: the rights of its lab, and for a mutant perhaps fewer."""

import pytest

from converge.grader import course
from converge.grader.course import CourseError
from converge.grader.course.submissions import rights


@pytest.fixture(scope="module")
def lab():
    return course.load().find("08")


def resources(given):
    return {resource for rule in given for resource in rule["resources"]}


def test_a_solution_has_the_rights_of_its_lab(lab):
    assert rights(lab, "solutions") == lab.rights


def test_a_mutant_can_lack_a_right(lab):
    given = rights(lab, "mutant:blocks-without-the-right")
    assert resources(lab.rights) - resources(given) == {"webapps/finalizers"}
    assert all(rule["resources"] for rule in given)


def test_an_unknown_mutant_is_told(lab):
    with pytest.raises(CourseError, match="no mutant"):
        rights(lab, "mutant:nobody")
