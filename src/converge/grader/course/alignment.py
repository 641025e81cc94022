"""Whether the files of a lesson belong together: all there, skeleton and solution alike, hints and links complete.

Reads files only; what the checks make of them is `verify`'s business.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from converge.grader.checks import todo
from converge.grader.course import CourseError, Lab, relative
from converge.grader.course.publication import publication_problems, unwritten_places
from converge.grader.course.requirements import not_found, unbroken
from converge.grader.course.submissions import mutants, mutate

HEADING = re.compile(r"^#{2,6} +(.+?)(?: +\{ *#([\w-]+) *\})? *$", re.MULTILINE)


def problems(lab: Lab) -> Iterator[str]:
    """Everything about a lesson's files that is not as it should be."""
    learners = [each.with_name(file) for file in lab.files for each in (lab.skeleton, lab.solution)]
    files = (*learners, lab.checks_file, lab.mutants_file, lab.lesson, lab.notebook)
    missing = [relative(path) for path in files if not path.exists()]
    yield from (f"{path} is missing" for path in missing)
    if len(lab.variants) < 2:
        yield f"tests/variants/{lab.slug} has {len(lab.variants)} variant(s); at least two right answers differ"
    if len(lab.hints) != 3 or not all(hint.strip() for hint in lab.hints):
        yield f"course.toml: {lab.slug} needs three hints, from a question to nearly the answer"
    if lab.skeleton.exists() and lab.solution.exists():
        yield from disagreements(lab)
    if lab.checks_file.exists():
        yield from check_problems(lab)
        yield from mutant_problems(lab)
    if not missing:
        yield from not_found(lab)
        yield from unbroken(lab)
    yield from publication_problems(lab)
    yield from unwritten_places(lab)


def disagreements(lab: Lab) -> Iterator[str]:
    """Names, signatures and docstrings that the skeleton promises and the solution does not keep."""
    skeleton, solution = (outline(ast.parse(path.read_text())) for path in (lab.skeleton, lab.solution))
    for name, (signature, docstring) in skeleton.items():
        if name not in solution:
            if lab.starts_with == "todos":  # a fix may take away whole functions
                yield f"{name or 'the module'} is in the skeleton and not in the solution"
            continue
        if signature != solution[name][0]:
            yield f"{name}: the skeleton says ({signature}), the solution ({solution[name][0]})"
        if docstring != solution[name][1]:
            yield f"{name or 'the module'}: the docstrings of skeleton and solution differ"
    if lab.starts_with == "bugs":
        return
    numbers = todo.numbers(lab.skeleton.read_text())
    if numbers != list(range(1, len(numbers) + 1)) or not numbers:
        yield f"{relative(lab.skeleton)}: its TODOs are numbered {numbers}, not 1, 2, 3, …"


def outline(tree: ast.AST, prefix: str = "") -> dict[str, tuple[str, str | None]]:
    """Each definition's signature and docstring, by its full name; `""` is the module itself."""
    found: dict[str, tuple[str, str | None]] = {}
    if isinstance(tree, ast.Module):
        found[""] = ("", ast.get_docstring(tree))
    for node in getattr(tree, "body", []):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            found[prefix + node.name] = (ast.unparse(node.args) + returns, ast.get_docstring(node))
        elif isinstance(node, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            found[prefix + node.name] = (bases, ast.get_docstring(node))
            found.update(outline(node, f"{prefix}{node.name}."))
    return found


def check_problems(lab: Lab) -> Iterator[str]:
    anchors = headings(lab.lesson.read_text()) if lab.lesson.exists() else None
    for check in lab.checks:
        if not check.title:
            yield f"{check.name} has no docstring: the line that the learner reads"
        if not isinstance(check.points, int) or check.points < 1:
            yield f"{check.name}: points={check.points!r} is not a whole number of points"
        if anchors is not None and check.section not in anchors:
            yield f"{check.name}: {relative(lab.lesson)} has no heading #{check.section}"
    if not 6 <= len(lab.checks) <= 20:
        yield f"{len(lab.checks)} checks; a lab has 6 to 20"


def headings(markdown: str) -> set[str]:
    """The anchors of a page: given with `{#anchor}`, or made from the heading as Markdown's toc does."""
    made = set()
    for text, anchor in HEADING.findall(markdown):
        plain = re.sub(r"[^\w\s-]", "", text).strip().lower()
        made.add(anchor or re.sub(r"[-\s]+", "-", plain))
    return made


def mutant_problems(lab: Lab) -> Iterator[str]:
    names = [check.name for check in lab.checks]
    found = mutants(lab)
    for mutant in found:
        for check in (mutant.check, *mutant.also):
            if check not in names:
                yield f"mutant {mutant.id}: there is no check {check}"
        if not mutant.says or not mutant.misconception:
            yield f"mutant {mutant.id} needs both `misconception` and `says`"
        try:
            ast.parse(mutate(lab, mutant)[lab.file])
        except (CourseError, KeyError) as error:
            yield f"mutant {mutant.id}: {error}"
        except SyntaxError as error:
            yield f"mutant {mutant.id} isn't Python anymore: {error}"
    if len({mutant.id for mutant in found}) < len(found):
        yield "two mutants have the same id"
    if len(found) < 6:
        yield f"{len(found)} mutants; a lab has at least six"
