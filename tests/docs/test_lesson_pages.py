"""Every lesson's page has the shape that a reader learns to expect, and what the grader points at is there."""

import re
from pathlib import Path

import pytest
import yaml
from places import ROOT

from converge.grader import course
from converge.site.lessons import FRONT_MATTER

SHAPE = [
    "Why",
    "See it fail",
    "The idea",
    "Your turn",
    "What you saw",
    "The same in Go",
    "In production",
    "Check yourself",
]
LABS = [lab for lab in course.load(ROOT).labs if lab.lesson.exists()]
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w+).*?\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)

PROMPT = re.compile(r" *(\(converge\) )?\$ ")  # the second is that of `make shell`

each_lesson = pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.slug)


def parts(page: str) -> dict[str, str]:
    """The text below each second-level heading."""
    pieces = re.split(r"^## (.+)\n", FENCE.sub("", page), flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


@each_lesson
def test_the_headings_are_those_of_every_lesson(lab: course.Lab) -> None:
    assert list(parts(lab.lesson.read_text())) == SHAPE


@each_lesson
def test_the_page_says_how_long_it_takes_and_is_as_long_as_a_lesson(lab: course.Lab) -> None:
    page = lab.lesson.read_text()
    front = FRONT_MATTER.match(page)
    assert front, "no front matter"
    assert yaml.safe_load(front[1])["minutes"] in range(20, 181)
    assert 1200 <= len(FENCE.sub("", page).split()) <= 2600


@each_lesson
def test_every_part_has_what_it_is_for(lab: course.Lab) -> None:
    page = lab.lesson.read_text()
    below = parts(page)
    assert re.search(r"\]\(https?://", below["Why"]), "an incident has a link"
    assert re.search(r"^ *::figure |!\[[^\]]+\]\(.+\.svg\)", below["The idea"], re.MULTILINE), "one figure"
    assert re.search(r"docs/recorded/", page), "output of a real run"
    assert '=== "Go"' in below["The same in Go"]
    assert below["Check yourself"].count("\n/// quiz\n") == 3


@each_lesson
def test_code_of_the_course_is_included_and_output_is_recorded(lab: course.Lab) -> None:
    pasted = [
        fence["body"]
        for fence in FENCE.finditer(lab.lesson.read_text())
        if fence["language"] in ("python", "go", "console")
        and "--8<--" not in fence["body"]
        # a command for the reader to type, with no output below it
        and not all(PROMPT.match(line) for line in fence["body"].strip().splitlines())
    ]
    assert pasted == []


@each_lesson
def test_the_grader_points_at_headings_that_are_there(lab: course.Lab, site: Path) -> None:
    html = (site / "lessons" / lab.slug / "index.html").read_text()
    missing = {check.section for check in lab.checks if check.section and f'id="{check.section}"' not in html}
    assert missing == set()
