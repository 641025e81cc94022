"""What is graded: the learner's file, the solution, a path, a mutant of the solution, or a variant of it."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from converge.grader.course.course import Lab, relative
from converge.grader.course.course_toml import CourseError
from converge.testing.access.rights import Rule


@dataclass(frozen=True)
class Edit:
    """One small change of one file."""

    find: str
    replace: str
    file: str


@dataclass(frozen=True)
class Mutant:
    """A misconception: small edits of the solution (or of a variant), and how it must be found out."""

    id: str
    check: str
    says: str
    misconception: str
    source: str
    edits: tuple[Edit, ...]
    base: str = ""  # the variant to edit; the solution when empty
    also: tuple[str, ...] = ()  # checks before `check` that it may fail too
    breaks: tuple[str, ...] = ()  # what it breaks, in the words of the page, the skeleton or a hint
    without: tuple[str, ...] = ()  # resources to which the operator gets no right, though its lab has one


def mutants(lab: Lab) -> list[Mutant]:
    """The mutants of a lab, in the order of their file."""
    if not lab.mutants_file.exists():
        return []
    entries = tomllib.loads(lab.mutants_file.read_text()).get("mutant", [])
    return [
        Mutant(
            id=entry["id"],
            check=entry["check"],
            says=entry["says"],
            misconception=entry["misconception"],
            source=entry.get("source", ""),
            edits=tuple(
                Edit(each["find"], each["replace"], each.get("file", lab.file)) for each in entry.get("edits", ())
            ),
            base=entry.get("base", ""),
            also=tuple(entry.get("also", ())),
            breaks=(said,) if isinstance(said := entry.get("breaks", ()), str) else tuple(said),
            without=tuple(entry.get("without", ())),
        )
        for entry in entries
    ]


def mutate(lab: Lab, mutant: Mutant) -> dict[str, str]:
    """The texts of a mutant, by file. Each edit must match exactly once, or it would test something else."""
    base = lab.variants[mutant.base] if mutant.base else lab.solution
    texts = {lab.file: base.read_text(), **{file: base.with_name(file).read_text() for file in lab.extra_files}}
    for edit in mutant.edits:
        found = texts[edit.file].count(edit.find)
        if found != 1:
            raise CourseError(
                f"{relative(lab.mutants_file)}, mutant {mutant.id}: {edit.find.strip()[:80]!r} "
                f"is {found} times in {edit.file} of {relative(base.parent)}, not once"
            )
        texts[edit.file] = texts[edit.file].replace(edit.find, edit.replace)
    return texts


def resolve(lab: Lab, against: str, scratch: Path) -> Path:
    """The file to grade. `scratch` is a directory for a mutant's text."""
    kind, _, name = against.partition(":")
    if against == "labs":
        return existing(lab.skeleton)
    if against == "solutions":
        return existing(lab.solution)
    if kind == "variant" and name:
        if name not in lab.variants:
            raise CourseError(f"Lab {lab.slug} has no variant {name!r}; there are: {', '.join(lab.variants)}")
        return lab.variants[name]
    if kind == "mutant" and name:
        for file, text in mutate(lab, mutant_of(lab, name)).items():
            (scratch / file).write_text(text)
        return scratch / lab.file
    path = Path(against).expanduser().resolve()
    if path.is_dir():
        nested = path / lab.slug / lab.file
        return existing(nested if nested.exists() else path / lab.file)
    return existing(path)


def rights(lab: Lab, against: str) -> tuple[Rule, ...]:
    """The rights of the operator under test: those of its lab, for a mutant perhaps without some."""
    kind, _, name = against.partition(":")
    missing = mutant_of(lab, name).without if kind == "mutant" else ()
    left = [(rule, [each for each in rule["resources"] if each not in missing]) for rule in lab.rights]
    return tuple({**rule, "resources": resources} for rule, resources in left if resources)


def mutant_of(lab: Lab, name: str) -> Mutant:
    for mutant in mutants(lab):
        if mutant.id == name:
            return mutant
    raise CourseError(f"{relative(lab.mutants_file)} has no mutant {name!r}")


def is_program(path: Path) -> bool:
    """Whether what is graded is a program, written in whatever language, and not a Python file."""
    return path.suffix != ".py" and path.is_file() and os.access(path, os.X_OK)


def existing(path: Path) -> Path:
    if not path.is_file():
        raise CourseError(f"There is no file {relative(path)}")
    return path
