"""One module finds a TODO in a skeleton, in a traceback and in a log."""

import ast

import pytest

from converge.grader.checks import todo


@pytest.mark.parametrize(
    "output",
    [
        "Traceback (most recent call last):\nNotImplementedError: TODO 2: release\n",
        '    raise NotImplementedError("TODO 2: release")\nNotImplementedError: TODO 2: release\n',
        'level=ERROR msg="reconcile failed" error="NotImplementedError: TODO 2: release',
    ],
)
def test_a_todo_that_was_reached_is_found_in_what_a_program_printed(output):
    assert todo.reached(output) == "TODO 2: release"


def test_a_learners_own_note_is_not_a_todo_that_was_reached():
    assert todo.reached("INFO TODO 2: remember the finalizer\n") == ""
    assert todo.reached("NotImplementedError: later") == ""


def test_a_skeletons_todos_are_counted_in_order():
    one = '# TODO 1: look\nraise NotImplementedError("TODO 1: look")\n'
    two = 'raise NotImplementedError(\n    f"TODO 2: {name}"\n)\n'
    assert todo.numbers(one + two) == [1, 2]


def test_a_function_that_raises_a_todo_is_unwritten():
    a, b = ast.parse('def a():\n    raise NotImplementedError("TODO 1: a")\ndef b():\n    raise ValueError\n').body
    assert todo.is_unwritten(a)
    assert not todo.is_unwritten(b)
