"""How a skeleton marks what the learner has to write, and how to see that it was reached."""

from __future__ import annotations

import ast
import re

_WRITTEN = re.compile(r"NotImplementedError\(\s*f?[\"']TODO (\d+):")
# Not as it's written: a traceback shows that line as well, with its quotation marks.
_RAISED = re.compile(r"NotImplementedError: (TODO \d+:[^\n]*)")


def numbers(source: str) -> list[int]:
    """The numbers of a skeleton's TODOs, in the order of the file."""
    return [int(number) for number in _WRITTEN.findall(source)]


def is_unwritten(function: ast.AST) -> bool:
    """Whether a skeleton leaves this function to the learner."""
    raised = [node.exc for node in ast.walk(function) if isinstance(node, ast.Raise)]
    return any(isinstance(each, ast.Call) and ast.unparse(each.func) == "NotImplementedError" for each in raised)


def reached(output: str) -> str:
    """The TODO that a program ran into, from what it printed or raised; empty if it met none."""
    found = _RAISED.search(output)
    return found[1] if found else ""
