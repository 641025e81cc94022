"""Every lesson's page is as long as a lesson, pastes nothing, and has what the grader points at.

That it has all of its parts is said by `converge verify`, and tested in tests/course/test_alignment.py.
"""

import re
from pathlib import Path

import pytest
import yaml
from places import ROOT

from converge.grader import course
from converge.grader.course.publication import FENCE
from converge.site.lessons import FRONT_MATTER

LABS = [lab for lab in course.load(ROOT).labs if lab.lesson.exists()]
PAGES = sorted((ROOT / "docs" / "lessons").glob("[0-9]*.md"))  # those of LABS, and pages that have no lab

FOLD = re.compile(r'^\?\?\? example "Solution code: pass lab (\d\d) first"\n', re.MULTILINE)
PROMPT = re.compile(r" *(\(converge\) )?\$ ")  # the second is that of `make shell`

each_lesson = pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.slug)
each_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)


@each_page
def test_the_page_says_how_long_it_takes_and_is_as_long_as_a_lesson(path: Path) -> None:
    page = path.read_text()
    front = FRONT_MATTER.match(page)
    assert front, "no front matter"
    assert yaml.safe_load(front[1])["minutes"] in range(20, 181)
    assert 1200 <= len(FOLD.sub("", FENCE.sub("", page)).split()) <= 2600


@each_page
def test_code_of_the_course_is_included_and_output_is_recorded(path: Path) -> None:
    pasted = [
        fence["body"]
        for fence in FENCE.finditer(path.read_text())
        if fence["language"] in ("python", "go", "console")
        and "--8<--" not in fence["body"]
        # a command for the reader to type, with no output below it
        and not all(PROMPT.match(line) for line in fence["body"].strip().splitlines())
    ]
    assert pasted == []


@each_lesson
def test_the_first_commands_say_where_they_work(lab: course.Lab) -> None:
    """Before them, or below them in the same part: `converge` and `kubectl` are only found in `make shell`."""
    page = lab.lesson.read_text()
    first = next(
        fence for fence in FENCE.finditer(page) if fence["language"] == "console" and "--8<--" in fence["body"]
    )
    assert "`make shell`" in page[: first.start()] + page[first.end() :].partition("\n## ")[0]


@each_page
def test_solution_code_is_folded_until_the_lab_is_passed(path: Path) -> None:
    """What the skeleton gives anyway may be open; the rest is under a line that says to pass the lab first."""
    page = path.read_text()
    folds = re.findall(FOLD.pattern + r"((?:\n|    .*\n)+)", page, re.MULTILINE)
    folded = "".join(below for _, below in folds)
    shown = re.findall(r'--8<-- "(solutions/[^":]+):(\w+)"', page)
    in_view = [(file, name) for file, name in shown if f'"{file}:{name}"' not in folded and not given(file, name)]
    assert in_view == []
    assert all(path.stem.startswith(number) for number, _ in folds)


def given(file: str, section: str) -> bool:
    """Whether this section of a solution is in the skeleton, word for word."""
    found = re.search(rf"\[start:{section}\]\n(.*?)\n[^\n]*\[end:{section}\]", (ROOT / file).read_text(), re.DOTALL)
    assert found, f"{file} has no section {section}"
    return found[1].strip() in (ROOT / file.replace("solutions/", "labs/", 1)).read_text()


@each_lesson
def test_the_grader_points_at_headings_that_are_there(lab: course.Lab, site: Path) -> None:
    html = (site / "lessons" / lab.slug / "index.html").read_text()
    missing = {check.section for check in lab.checks if check.section and f'id="{check.section}"' not in html}
    assert missing == set()
