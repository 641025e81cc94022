"""What the operator under test may do: the rights of its lab, and for a mutant perhaps fewer."""

import pytest

from converge.grader import course
from converge.grader.course import CourseError
from converge.grader.course.submissions import rights
from converge.grader.session.testbed import WRITTEN
from converge.recorder.routes import plural
from converge.testing.access.identity import HELD_BY_FINALIZERS
from converge.testing.objects.kinds import custom_kinds


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


def test_a_graded_operator_may_write_what_its_lab_lets_it_and_all_of_that_is_freed():
    """A resource that is missing in WRITTEN would be refused. One that nobody frees could hold its namespace."""
    writes = {"create", "update", "patch", "delete", "deletecollection"}
    granted = {
        resource.partition("/")[0]
        for lab in course.load().labs
        for rule in lab.rights
        for resource in rule["resources"]
        if writes & set(rule["verbs"])
    }
    assert granted | {"leases"} == WRITTEN  # lab 16, whose rights are its own, writes Leases
    assert {plural(kind) for kind in (*custom_kinds(), *HELD_BY_FINALIZERS)} - {"pods"} == WRITTEN
