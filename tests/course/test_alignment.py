"""Every lesson has all of its files, and they belong together. What running them shows is `converge verify`'s task."""

import pytest

from converge.grader import course as courses
from converge.grader.course.alignment import problems

COURSE = courses.load()
BEGUN = [lab for lab in COURSE.labs if lab.skeleton.exists() or lab.checks_file.exists() or lab.lesson.exists()]


@pytest.mark.parametrize("lab", BEGUN, ids=lambda lab: lab.slug)
def test_the_files_of_a_lesson_belong_together(lab):
    assert list(problems(lab)) == []


def test_lessons_are_in_order():
    slugs = [lab.slug for lab in COURSE.labs]
    assert slugs == sorted(slugs)
    assert [slug[:2] for slug in slugs] == [f"{number:02}" for number in range(1, len(slugs) + 1)]


def test_a_lesson_needs_only_earlier_ones():
    seen = set()
    for lab in COURSE.labs:
        assert set(lab.needs) <= seen, lab.slug
        seen.add(lab.slug)


@pytest.mark.parametrize("folder", ["labs", "solutions", "tests/variants"])
def test_every_folder_belongs_to_a_lesson(folder):
    slugs = {lab.slug for lab in COURSE.labs}
    found = {path.name for path in (COURSE.root / folder).iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert found <= slugs


@pytest.mark.parametrize("folder", ["docs/lessons", "docs/notebooks", "docs/recorded", "docs/examples", "go/lessons"])
def test_the_slug_finds_every_file_of_a_lesson(folder):
    slugs = ("00_before_you_start", *(lab.slug for lab in COURSE.labs))
    names = {path.name for path in (COURSE.root / folder).iterdir() if path.name[:2].isdigit()}
    assert {name for name in names if not name.startswith(slugs)} == set()
