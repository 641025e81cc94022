"""The index of ideas: each heading that a check points at, its lesson, and the checks that try it.

Made from course.toml, the checks and the pages, so it lists what is there.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from markdown.extensions.toc import slugify

from converge.grader import course

HEADING = re.compile(r"^#{2,3} (?P<title>.+)$", re.MULTILINE)


def render(root: Path, name: str) -> str:
    """Markdown: one table, a row per idea, in the order of the lessons."""
    rows = [row for lab in course.load(root).labs if _written(lab) for row in _rows(lab)]
    return "\n".join(["| idea | lesson | what tries it |", "|---|---|---|", *rows])


def _written(lab: course.Lab) -> bool:
    return lab.lesson.exists() and lab.checks_file.exists()


def _rows(lab: course.Lab) -> Iterator[str]:
    for heading in HEADING.finditer(lab.lesson.read_text()):
        anchor = slugify(heading["title"], "-")
        tried = [
            f"`{lab.number}.{place}` {check.title}"
            for place, check in enumerate(lab.checks, start=1)
            if check.section == anchor
        ]
        if tried:
            idea = f"[{heading['title']}](../lessons/{lab.slug}.md#{anchor})"
            yield f"| {idea} | {lab.number} {lab.title} | {'<br>'.join(tried).replace('|', chr(92) + '|')} |"
