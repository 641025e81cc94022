"""What a lesson asks for, and which mutants break it: each mutant quotes the sentence that it breaks.

A quote may stand on the lesson's page, in the skeleton (its docstrings, its TODOs) or in a hint. Line breaks, comment
marks and backquotes don't count.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from converge.grader.checks.todo import is_unwritten
from converge.grader.course.course import Lab
from converge.grader.course.submissions import mutants

TODO = re.compile(r"^ *# (TODO \d+:.*(?:\n *#  +\S.*)*)", re.MULTILINE)


def normal(text: str) -> str:
    """The words of a text, as one line."""
    return " ".join(re.sub(r"^\s*#+ ", " ", text, flags=re.MULTILINE).replace("`", "").split())


def sources(lab: Lab) -> str:
    """All that a learner reads about a lab, normalised."""
    files = [lab.lesson, *(lab.skeleton.with_name(file) for file in lab.files)]
    return "\n".join(normal(text) for text in [*(file.read_text() for file in files), *lab.hints])


def requirements(lab: Lab) -> Iterator[tuple[str, str]]:
    """Every TODO, and the docstring of every function that the learner writes: its name, and its words."""
    text = lab.skeleton.read_text()
    for file in lab.files:  # a lab may ask for more than Python
        for todo in TODO.findall(lab.skeleton.with_name(file).read_text()):
            yield todo.partition(":")[0], normal(todo)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_unwritten(node):
            yield f"the docstring of {node.name}", normal(ast.get_docstring(node) or "")


def not_found(lab: Lab) -> Iterator[str]:
    """Mutants whose quote stands nowhere in their lesson."""
    read = sources(lab)
    for mutant in mutants(lab):
        for quote in mutant.breaks:
            if normal(quote) not in read:
                yield f"mutant {mutant.id} quotes {quote!r}, which the lesson doesn't say"


def unbroken(lab: Lab) -> Iterator[str]:
    """Mutants that quote nothing, and requirements that no mutant quotes."""
    found = mutants(lab)
    yield from (f"mutant {mutant.id} quotes no sentence" for mutant in found if not mutant.breaks)
    quotes = [normal(quote) for mutant in found for quote in mutant.breaks]
    for name, words in requirements(lab):
        if words and not any(quote in words for quote in quotes):
            yield f"no mutant breaks {name}: {words}"
