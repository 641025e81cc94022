"""What an untrusted submission sees of the course: what operators import, and the solutions they build on."""

from __future__ import annotations

import ast
import re
import sysconfig
from pathlib import Path

import converge
from converge.files import package_root
from converge.grader.course import Lab
from converge.testing.sandbox.jail import Jail

PACKAGE = Path(converge.__file__).parent
# What a submission imports, and what the process that hosts a library lab needs. No grader, no command, no cluster.
IMPORTED = (
    "__init__.py",
    "files.py",
    "runtime",
    "operators",
    "testing",
    "grader/__init__.py",
    "grader/checks",
    "grader/library",
)
RUNTIME = ("runtime", "operators")
FINDS = re.compile(r"""\bcourse\.find\(["'](\d\d)["']\)""")
BUILDS_ON = re.compile(r"""\blesson\(["'](\w+)["']\)""")


def jail_of(lab: Lab, file: Path) -> Jail:
    """The jail for one submission of a lab. Its file has to be alone in its directory: all of that is visible."""
    marker = package_root() / "course.toml"  # a checkout is known by it
    imported_by_it = (part for part in IMPORTED if part not in RUNTIME or uses_runtime(lab))
    course = [PACKAGE / part for part in imported_by_it] + [
        package_root() / "solutions" / slug for slug in sorted(built_on(lab))
    ]
    # An editable installation has the course's files, solutions among them, beside the packages that Python finds.
    installed = [folder for folder in (Path(sysconfig.get_path("purelib")) / "converge",) if folder.is_dir()]
    return Jail(
        visible=(*course, *([marker] if marker.exists() else []), file.parent),
        emptied=tuple(dict.fromkeys((PACKAGE, *installed))),
    )


def uses_runtime(lab: Lab) -> bool:
    """Whether a submission of this lab needs the runtime, whose queue is the answer to the lab about queues."""
    return lab.kind == "operator" or any(
        re.search(r"\bconverge\.(runtime|operators)\b", source.read_text(encoding="utf-8"))
        for source in (lab.skeleton, lab.solution)
        if source.exists()
    )


def built_on(lab: Lab) -> set[str]:
    """The lessons whose solutions a submission of this lab may use, through the course's own helpers.

    Those of earlier lessons, and what the lab itself imports: the first lessons are given helpers that a later one
    writes. So is any solution that the check combines with the submission. Never this lab's own.
    """
    helpers = slugs_by_helper()
    found = {slug for slugs in helpers.values() for slug in slugs if slug[:2] < lab.number}
    checks = lab.checks_file.read_text(encoding="utf-8") if lab.checks_file.exists() else ""
    for number in FINDS.findall(checks):
        found |= {path.name for path in (package_root() / "solutions").glob(f"{number}_*")} - {lab.slug}
    texts = [lab.skeleton, lab.solution, *(path for slug in found for path in solution_of(slug))]
    while texts:
        source = texts.pop()
        new = {slug for name in imported(source) for slug in helpers.get(name, ())} - found - {lab.slug}
        found |= new
        texts += [path for slug in new for path in solution_of(slug)]
    return found


def solution_of(slug: str) -> list[Path]:
    return sorted((package_root() / "solutions" / slug).glob("*.py"))


def imported(source: Path) -> set[str]:
    """The names that a file takes from `converge.operators`."""
    tree = ast.parse(source.read_text(encoding="utf-8")) if source.exists() else ast.Module([], [])
    taken = [each for each in ast.walk(tree) if isinstance(each, ast.ImportFrom) and each.module]
    return {name.name for each in taken if str(each.module).startswith("converge.operators") for name in each.names}


def slugs_by_helper() -> dict[str, list[str]]:
    """The functions of `converge.operators` that a lesson's solution stands behind."""
    found = {}
    for path in (PACKAGE / "operators").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and (
                slugs := BUILDS_ON.findall(ast.get_source_segment(text, node) or "")
            ):
                found[node.name] = slugs
    return found
