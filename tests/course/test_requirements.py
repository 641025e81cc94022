"""Every requirement has a mutant that breaks it: each quote stands in its lesson, and nothing is left unquoted."""

import pytest

from converge.grader import course as courses
from converge.grader.course.requirements import normal, not_found, requirements, unbroken

COURSE = courses.load()


@pytest.mark.parametrize("lab", COURSE.labs, ids=lambda lab: lab.slug)
def test_what_a_mutant_quotes_is_said_in_its_lesson(lab):
    assert list(not_found(lab)) == []


@pytest.mark.parametrize("lab", COURSE.labs, ids=lambda lab: lab.slug)
def test_every_requirement_is_broken_by_a_mutant(lab):
    assert list(unbroken(lab)) == []


def test_a_quote_may_cross_lines_and_comment_marks():
    assert (
        normal("    # TODO 1: look first,\n    #         and ``create`` what\n")
        == "TODO 1: look first, and create what"
    )


def test_todos_and_docstrings_of_open_functions_are_requirements():
    found = dict(requirements(COURSE.find("06")))
    assert found["TODO 3"] == "TODO 3: get the WebApp (it may be gone), then ensure both children."
    assert "the docstring of ensure" in found
    assert "the docstring of selector" not in found, "it is given"
