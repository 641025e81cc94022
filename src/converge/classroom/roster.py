"""Who handed in what: directories and zips, one per student, and the roster if there is one.

What is graded is a copy of the lab's own files, and of nothing else. A link in a submission isn't followed, and a zip
is read entry by entry, so that neither can point at a file outside.
"""

from __future__ import annotations

import csv
import re
import stat
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from converge.grader.course import Lab
from converge.grader.course.course_toml import CourseError

# Bytes of one file of a submission; our largest has 10 KB. We parse it outside of any jail, and for 800 KB of the right
# kind Python takes two minutes, or all the memory of the machine.
LARGEST_FILE = 64 * 1024
NAME = re.compile(r"[\w.@+-]+", re.ASCII)
NAME_COLUMNS = ("id", "student", "login", "username", "email")


@dataclass(frozen=True)
class Submission:
    """What one student handed in; nothing for a student who is only on the roster."""

    student: str
    source: Path | None
    attempt: int = 1

    @property
    def key(self) -> str:
        """What its results are stored under: no student's name has a ~."""
        return self.student if self.attempt == 1 else f"{self.student}~{self.attempt}"

    def copy(self, lab: Lab, target: Path) -> str:
        """Copy the files of a lab. Returns what is wrong with them as a sentence; nothing if all is well."""
        target.mkdir(parents=True, exist_ok=True)
        if self.source is None:
            return "nothing was handed in"
        for name in lab.files:
            try:
                content = read(self.source, lab, name)
            except Exception as error:  # whatever can be wrong with a zip: it must not end the grading of a class
                return f"{self.source.name} can't be read: {error or type(error).__name__}"
            if content is None:
                return f"{lab.slug}/{name} was not handed in"
            if len(content) > LARGEST_FILE:
                return f"{lab.slug}/{name} is larger than {LARGEST_FILE >> 10} KB"
            (target / name).write_bytes(content)
        return ""


def read(source: Path, lab: Lab, name: str) -> bytes | None:
    return from_zip(source, lab, name) if source.is_file() else from_folder(source, lab, name)


def from_folder(folder: Path, lab: Lab, name: str) -> bytes | None:
    for path in (folder / lab.slug / name, folder / "labs" / lab.slug / name, folder / name):
        inside = [path, *path.parents][: len(path.relative_to(folder).parts)]
        if path.is_file() and not any(each.is_symlink() for each in inside):
            with path.open("rb") as file:
                return file.read(LARGEST_FILE + 1)
    return None


def from_zip(archive: Path, lab: Lab, name: str) -> bytes | None:
    """The file, wherever the archive has the lab's directory; else at the top, or in the one directory there."""
    with zipfile.ZipFile(archive) as file:
        files = {each.filename: each for each in file.infolist() if is_file(each)}
        wanted = [path for path in files if f"/{path}".endswith(f"/{lab.slug}/{name}")]
        wanted = wanted or [path for path in files if path == name or re.fullmatch(rf"[^/]+/{re.escape(name)}", path)]
        if not wanted:
            return None
        with file.open(files[min(wanted, key=len)]) as content:
            return content.read(LARGEST_FILE + 1)


def is_file(entry: zipfile.ZipInfo) -> bool:
    mode = entry.external_attr >> 16
    return not entry.is_dir() and (not stat.S_IFMT(mode) or stat.S_ISREG(mode))


def find(places: Sequence[Path], roster: Path | None = None, *, several: bool = False) -> list[Submission]:
    """The submissions of a class, by student. A place is a zip or a git checkout, or a directory with one per student.

    With `several`, a student may be in several places: those are attempts, in this order.
    """
    found: dict[str, list[Submission]] = {}
    for place in places:
        if not place.exists():
            raise CourseError(f"There is no {place}")
        for each in contained(place):
            student = each.stem if each.is_file() else each.name
            if not NAME.fullmatch(student) or student.startswith("."):
                raise CourseError(f"{each} can't be a student's name: only letters, digits and . _ - + @")
            before = found.setdefault(student, [])
            if before and not several:
                raise CourseError(
                    f"{student} handed in twice: {before[0].source} and {each}. "
                    f"If these are two attempts, a --policy says which one counts"
                )
            before.append(Submission(student, each, len(before) + 1))
    students = read_roster(roster) if roster else sorted(found)
    if strangers := sorted(set(found) - set(students)):
        raise CourseError(f"{roster} doesn't list {', '.join(strangers[:5])}{' …' if len(strangers) > 5 else ''}")
    if not students:
        raise CourseError(f"There is no directory and no zip of a student in {', '.join(map(str, places))}")
    return [each for student in students for each in found.get(student, [Submission(student, None)])]


def one(places: Sequence[Path], student: str) -> list[Submission]:
    """A directory or zip that is the work of one student, as a platform hands it over."""
    [place, *others] = places
    if others or not place.exists():
        raise CourseError("--student takes one directory or zip" if others else f"There is no {place}")
    if not NAME.fullmatch(student) or student.startswith("."):
        raise CourseError(f"{student!r} can't be a student's name: only letters, digits and . _ - + @")
    return [Submission(student, place)]


def contained(place: Path) -> list[Path]:
    if place.is_file():
        if place.suffix != ".zip":
            raise CourseError(f"{place} is neither a directory nor a zip")
        return [place]
    if (place / ".git").exists():  # a checkout, which is the work of one
        return [place.absolute()]  # or `.` would have no name
    entries = sorted(place.iterdir())
    return [each for each in entries if not each.is_symlink() and (each.is_dir() or each.suffix == ".zip")]


def read_roster(path: Path) -> list[str]:
    """The students of a CSV: the column id, student, login, username or email, else its first."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CourseError(f"The roster {path} can't be read: {error}") from None
    if len(rows) < 2:
        raise CourseError(f"The roster {path} lists no one: it needs a header and a line per student")
    header = [cell.strip().lower() for cell in rows[0]]
    column = next((header.index(name) for name in NAME_COLUMNS if name in header), 0)
    students = [row[column].strip() for row in rows[1:] if len(row) > column]
    for student in students:
        if not NAME.fullmatch(student) or student.startswith("."):
            raise CourseError(f"The roster {path} names {student!r}: only letters, digits and . _ - + @ can be a name")
    if len(set(students)) < len(students):
        raise CourseError(f"The roster {path} lists a student twice")
    return students
