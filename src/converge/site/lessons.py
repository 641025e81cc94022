"""The list of lessons: part by part in the order of course.toml, with time, points and the reader's progress.

Time and number of questions are read from the lesson's page; a lesson without a page is listed, and not linked.
"""

import itertools
import re
from pathlib import Path

import yaml

from converge.grader import course

FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
QUESTION = re.compile(r"^/// quiz$", re.MULTILINE)


def render(root: Path, name: str) -> str:
    """Markdown: a heading and a table per part."""
    parts = []
    for part, labs in itertools.groupby(course.load(root).labs, key=lambda lab: lab.part):
        rows = [_row(lab) for lab in labs]
        parts += [
            f"## {heading(part)}",
            "\n".join(["| | lesson | minutes | questions right |", "|---|---|---|---|", *rows]),
        ]
    return "\n\n".join(parts)


def heading(part: str) -> str:
    """A part of course.toml as the navigation calls it: ``I: the loop`` is ``I · The loop``."""
    numeral, _, title = part.partition(": ")
    return f"{numeral} · {title[:1].upper()}{title[1:]}"


def _row(lab: course.Lab) -> str:
    if not lab.lesson.exists():
        return f'| {lab.number} | {lab.title} | | <span data-lesson="{lab.slug}">not written yet</span> |'
    text = lab.lesson.read_text()
    front = FRONT_MATTER.match(text)
    minutes = (yaml.safe_load(front[1]) if front else {}).get("minutes", "")
    questions = len(QUESTION.findall(text))
    progress = f'<span data-lesson="{lab.slug}" data-questions="{questions}">0 of {questions}</span>'
    return f"| {lab.number} | [{lab.title}]({lab.slug}.md) | {minutes} | {progress} |"
