"""Reads `course.toml` and checks its shape: whatever is wrong is one line that names the file and the line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

TEXTS = ("slug", "title", "part", "kind", "file")  # that every lab has
OPTIONAL_TEXTS = ("run", "starts_with")
LISTS = ("extra_files", "needs", "hints", "rights")
TABLES = ("chaos",)
KEYS: dict[str, tuple[type, str]] = {
    **dict.fromkeys((*TEXTS, *OPTIONAL_TEXTS), (str, "text")),
    **dict.fromkeys(LISTS, (list, "a list of texts")),
    **dict.fromkeys(TABLES, (dict, "a table")),
}
CHOICES = {
    "kind": ("library", "operator"),
    "run": ("runtime", "kopf", "python"),
    "starts_with": ("todos", "bugs"),
}


class CourseError(Exception):
    """Something is wrong with the course's files; the text says what to do about it."""


class CourseToml:
    """The text of `course.toml`, and where in it things are."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: list[str] = []

    def read(self) -> dict[str, Any]:
        """Its content, in the shape that `course` relies on."""
        try:
            text = self._path.read_text(encoding="utf-8")
            self._lines = text.splitlines()
            content = tomllib.loads(text)
        except UnicodeDecodeError:
            raise self._wrong("this is not UTF-8 text") from None
        except tomllib.TOMLDecodeError as error:
            words, _, place = str(error).partition(" (at ")
            number = re.match(r"line (\d+)", place)
            raise self._wrong(words, int(number[1]) if number else len(self._lines)) from None
        self._check(content)
        return content

    def _check(self, content: dict[str, Any]) -> None:
        if not isinstance(content.get("course"), dict) or not isinstance(content["course"].get("title"), str):
            raise self._wrong('[course] needs a title = "…"', self._line(r"\[course\]"))
        rights = content.setdefault("rights", {})
        if not isinstance(rights, dict):
            raise self._wrong("rights is a table, [rights]", self._line(r"rights\s*="))
        for name, rule in rights.items():
            if not is_rule(rule):
                wanted = "{group = TEXT, resources = [TEXT, …], verbs = [TEXT, …]}"
                raise self._wrong(f"the right {name} is {wanted}", self._line(rf'"?{re.escape(name)}"?\s*='))
        labs = content.get("lab")
        if not isinstance(labs, list) or not labs or not all(isinstance(each, dict) for each in labs):
            raise self._wrong("the labs are tables, [[lab]] each", self._line(r"\[?\[?lab\b"))
        for number, entry in enumerate(labs):
            self._check_lab(entry, rights, self._nth_lab(number))

    def _check_lab(self, entry: dict[str, Any], rights: dict[str, Any], begins: int) -> None:
        name = f"lab {entry['slug']}" if isinstance(entry.get("slug"), str) else "this lab"
        for key in TEXTS:
            if key not in entry:
                raise self._wrong(f"{name} has no {key}", begins)
        for key, value in entry.items():
            line = self._line(rf"{re.escape(key)}\s*=", begins)
            if key not in KEYS:
                raise self._wrong(f"{name}: there is no key {key!r}; there are {', '.join(KEYS)}", line)
            kind, spelled = KEYS[key]
            if not isinstance(value, kind) or (
                isinstance(value, list) and not all(isinstance(each, str) for each in value)
            ):
                raise self._wrong(f"{name}: {key} is {spelled}", line)
            if key in CHOICES and value not in CHOICES[key]:
                raise self._wrong(f"{name}: {key} is one of {', '.join(CHOICES[key])}", line)
        if not re.fullmatch(r"\d\d_\w+", entry["slug"]):
            raise self._wrong(f"{name}: a slug is two digits, _ and a name", self._line(r"slug\s*=", begins))
        for each in entry.get("rights", []):
            if each not in rights:
                line = self._line(r"rights\s*=", begins)
                raise self._wrong(f"{name}: there is no right {each!r} in [rights]", line)

    def _nth_lab(self, number: int) -> int:
        """The line in which a lab begins; 0 where it's written in another way."""
        lines = [place for place, line in enumerate(self._lines, 1) if re.match(r"\s*\[\[\s*lab\s*\]\]", line)]
        return lines[number] if number < len(lines) else 0

    def _line(self, pattern: str, after: int = 0) -> int:
        """The first line, after some line, that begins with a pattern; that line itself if there is none."""
        numbered = enumerate(self._lines[after:], after + 1)
        return next((place for place, line in numbered if re.match(rf"\s*{pattern}", line)), after)

    def _wrong(self, what: str, line: int = 0) -> CourseError:
        return CourseError(f"{self._path}{f', line {line}' if line else ''}: {what}")


def is_rule(rule: Any) -> bool:
    """Whether this is a rule of a Role, as `course.toml` writes it."""
    texts = [rule.get("resources"), rule.get("verbs")] if isinstance(rule, dict) else [None]
    lists = all(isinstance(each, list) and all(isinstance(text, str) for text in each) for each in texts)
    return lists and isinstance(rule.get("group"), str)
