"""What is graded may be a program in any language: it isn't read as Python, and it's told which operator to be."""

import pytest

from converge.grader.session.lab_operator import launch_of
from converge.grader.session.run import syntax_error


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "operators"
    path.write_text("#!/bin/sh\necho this is not Python\n")
    path.chmod(0o755)
    return path


def test_a_program_is_started_with_its_lab_and_its_namespace(course, program):
    launch = launch_of(course.find("06"), program, "team-a")
    assert launch.command == (str(program), "-lesson", "06_idempotency", "-n", "team-a")
    assert not launch.preload
    assert not launch.on_kopf


def test_a_program_is_no_kopf_operator_even_where_the_lab_is_one(course, program):
    assert not launch_of(course.find("14"), program, "team-a").on_kopf


def test_a_program_is_not_read_as_python(course, program):
    assert syntax_error(course.find("06"), str(program)) == {}


def test_a_file_that_cannot_be_run_is_read_as_python(course, program):
    program.chmod(0o644)
    assert "line 2" in syntax_error(course.find("06"), str(program))["message"]
