"""The course on disk: `course.toml`, and where each lesson's files are.

Reads and never writes, imports no lab and no check: points and titles come from the check file's syntax tree.
"""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict

from converge.files import course_root
from converge.grader.checks.check import Facts
from converge.grader.course.course_toml import CourseError, CourseToml
from converge.testing.access.rights import Rule


@dataclass(frozen=True, kw_only=True)
class CheckFacts(Facts):
    """One check, as its file describes it: what its `@check` says, its name, and where it is."""

    name: str
    title: str
    line: int


class ChaosProfile(TypedDict, total=False):
    """What the operator of a lab promises, so that `converge chaos` asks for no more."""

    promises: list[str]
    kind: str
    spec: dict[str, Any]


@dataclass(frozen=True)
class Lab:
    """One lesson of the course and its files."""

    root: Path
    slug: str
    title: str
    part: str
    kind: str
    file: str
    extra_files: tuple[str, ...] = ()
    run: str = "runtime"
    starts_with: str = "todos"
    needs: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    rights: tuple[Rule, ...] = field(default=(), hash=False)
    chaos: ChaosProfile = field(default_factory=ChaosProfile, hash=False)

    @property
    def number(self) -> str:
        return self.slug[:2]

    @property
    def files(self) -> tuple[str, ...]:
        """All that the learner edits; most labs have one file."""
        return (self.file, *self.extra_files)

    @property
    def uses_cluster(self) -> bool:
        """Whether its checks need a cluster: those of an operator, and those of a class that has rights there."""
        return self.kind == "operator" or bool(self.rights)

    @property
    def skeleton(self) -> Path:
        return self.root / "labs" / self.slug / self.file

    @property
    def solution(self) -> Path:
        return self.root / "solutions" / self.slug / self.file

    @property
    def checks_file(self) -> Path:
        return self.root / "tests" / "labs" / f"test_{self.slug}.py"

    @property
    def mutants_file(self) -> Path:
        return self.root / "tests" / "mutants" / f"{self.slug}.toml"

    @property
    def variants(self) -> dict[str, Path]:
        """The files of the variants by their names; where a lab has several files, each variant is a directory."""
        folder = self.root / "tests" / "variants" / self.slug
        if self.extra_files:
            return {path.parent.name: path for path in sorted(folder.glob(f"*/{self.file}"))}
        return {path.stem: path for path in sorted(folder.glob("*.py"))}

    @property
    def lesson(self) -> Path:
        return self.root / "docs" / "lessons" / f"{self.slug}.md"

    @property
    def notebook(self) -> Path:
        return self.root / "notebooks" / f"{self.slug}.ipynb"

    @property
    def notebook_page(self) -> Path:
        return self.root / "docs" / "notebooks" / f"{self.slug}.md"

    @property
    def examples(self) -> Path:
        """The directory of what the lesson's page runs and shows."""
        return self.root / "docs" / "examples" / self.slug

    @cached_property
    def checks(self) -> tuple[CheckFacts, ...]:
        """The checks of this lab in the order of their file."""
        if not self.checks_file.exists():
            raise CourseError(f"Lab {self.slug} has no checks yet: {relative(self.checks_file)} does not exist.")
        tree = ast.parse(self.checks_file.read_text(encoding="utf-8"), filename=str(self.checks_file))
        return tuple(found for node in tree.body if (found := read_check(node)))

    def check(self, number: str) -> CheckFacts:
        """The check meant by its place (`2`) or its name."""
        for place, each in enumerate(self.checks, start=1):
            if number in (str(place), each.name, each.name.removeprefix("test_")):
                return each
        raise CourseError(f"Lab {self.slug} has no check {number!r}: it has {len(self.checks)}, counted from 1.")

    @property
    def points(self) -> int:
        return sum(each.points for each in self.checks)


@dataclass(frozen=True)
class Course:
    """All lessons in their order."""

    root: Path
    title: str
    labs: tuple[Lab, ...]

    def find(self, name: str) -> Lab:
        """The lab meant by `3`, `03`, `workqueue` or `03_workqueue`."""
        for lab in self.labs:
            if name in (lab.slug, lab.number, lab.number.lstrip("0"), lab.slug[3:]):
                return lab
        names = [name for lab in self.labs for name in (lab.slug, lab.slug[3:])]
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
        guess = f" Did you mean {near[0]}?" if near else " `make list` shows them all."
        raise CourseError(f"There is no lab {name!r}.{guess}")

    def of_checks(self, path: Path) -> Lab | None:
        """The lab whose checks a test file holds."""
        return next((lab for lab in self.labs if lab.checks_file.name == path.name), None)

    def upto(self, last: Lab) -> tuple[Lab, ...]:
        """The labs from the first to this one."""
        return self.labs[: self.labs.index(last) + 1]


def read_check(node: ast.stmt) -> CheckFacts | None:
    """A function's facts when it is decorated with `@check(...)`."""
    if not isinstance(node, ast.FunctionDef):
        return None
    for mark in node.decorator_list:
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "check":
            said = {item.arg: ast.literal_eval(item.value) for item in mark.keywords if item.arg}
            facts = {each.name: said[each.name] for each in fields(Facts) if each.name in said}
            title = (ast.get_docstring(node) or "").partition("\n")[0]
            return CheckFacts(name=node.name, title=title, line=node.lineno, **{"points": 0, **facts})
    return None


def load(root: Path | None = None) -> Course:
    """Read `course.toml`."""
    root = root or course_root()
    if not (root / "course.toml").exists():
        raise CourseError(f"There is no course.toml in {root}. Go to the course's directory and try again.")
    content = CourseToml(root / "course.toml").read()
    labs = []
    for entry in content["lab"]:
        known: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
        known["rights"] = tuple(content["rights"][name] for name in entry.get("rights", []))
        labs.append(Lab(root=root, **known))
    return Course(root, content["course"]["title"], tuple(labs))


def relative(path: Path) -> str:
    """A path as short as it can be said from here."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
