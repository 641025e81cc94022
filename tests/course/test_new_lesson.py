"""`converge new` makes every file of a lesson, and `converge verify` names all that is left to do."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from converge.grader import course as courses
from converge.grader.course import CourseError, stub
from converge.grader.course.alignment import problems
from converge.grader.course.publication import files, publication_problems

ROOT = Path(__file__).parents[2]
CONVERGE = Path(sys.executable).with_name("converge")
KEPT = ["course.toml", "README.md", "docs/.nav.yml"]
TREES = ["labs", "solutions", "tests/labs", "tests/mutants", "tests/variants"]


@pytest.fixture
def course(tmp_path: Path) -> courses.Course:
    """A copy of the course that a test may write to."""
    for each in KEPT:
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / each, tmp_path / each)
    for each in TREES:
        shutil.copytree(ROOT / each, tmp_path / each, ignore=shutil.ignore_patterns("__pycache__"))
    return courses.load(tmp_path)


def converge(course: courses.Course, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [CONVERGE, *arguments]
    return subprocess.run(command, cwd=course.root, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kind", ["operator", "library"])
def test_every_file_is_made_and_every_stub_is_named(course: courses.Course, kind: str) -> None:
    made = stub.make(course, "17_webhooks", "Admission webhooks", kind)
    lab = courses.load(course.root).find("17")
    assert set(files(lab)) <= set(made)
    said = list(problems(lab))
    for path in made:
        name = path.relative_to(course.root).as_posix()
        assert any(name in each for each in said), f"nothing is said about {name}"
    assert not [each for each in said if "is missing" in each and "docs/recorded" not in each]
    for expected in ("no quiz", "no Go tab", "no incident", "no figure", "1 checks", "0 mutants"):
        assert any(expected in each for each in said), f"{expected!r} isn't in {said}"


def test_what_an_author_forgets_is_named(course: courses.Course) -> None:
    stub.make(course, "17_webhooks", "Admission webhooks")
    lab = courses.load(course.root).find("17")
    lab.notebook_page.unlink()
    (lab.examples / "record.toml").unlink()
    readme = course.root / "README.md"
    readme.write_text("\n".join(line for line in readme.read_text().splitlines() if "| 17 |" not in line))
    navigation = course.root / "docs/.nav.yml"
    navigation.write_text(navigation.read_text().replace("1[5-9]", "1[5-6]"))
    said = "\n".join(publication_problems(lab))
    for expected in ("docs/notebooks/17_webhooks.md", "record.toml", "README.md has no row", ".nav.yml has no glob"):
        assert expected in said


def test_an_entry_without_its_output_is_named(course: courses.Course) -> None:
    stub.make(course, "17_webhooks", "Admission webhooks")
    lab = courses.load(course.root).find("17")
    (lab.examples / "record.toml").write_text('[fails]\nrun = "true"\n[seen]\ntimeline = "test_children_appear"\n')
    said = "\n".join(publication_problems(lab))
    assert "make recorded NAME=17_webhooks.fails" in said
    assert "docs/recorded/17_webhooks.seen.svg" in said


@pytest.mark.parametrize(
    ("slug", "title", "kind", "why"),
    [
        ("18_webhooks", "Webhooks", "operator", "The next lesson is 17"),
        ("03_webhooks", "Webhooks", "operator", "The next lesson is 17"),
        ("webhooks", "Webhooks", "operator", "isn't a slug"),
        ("17_webhooks", 'So-called "webhooks"', "operator", "can't be a title"),
        ("17_webhooks", "Webhooks", "poem", "isn't a kind"),
    ],
)
def test_a_wrong_argument_writes_nothing(course: courses.Course, slug: str, title: str, kind: str, why: str) -> None:
    before = (course.root / "course.toml").read_text()
    with pytest.raises(CourseError, match=why):
        stub.make(course, slug, title, kind)
    assert (course.root / "course.toml").read_text() == before
    assert not (course.root / "labs" / slug).exists()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_verify_walks_the_author_through_a_new_lesson(course: courses.Course) -> None:
    made = converge(course, "new", "17_doubles", "Twice", "--kind", "library")
    assert made.returncode == 0, made.stderr
    assert "wrote labs/17_doubles/doubles.py" in made.stdout
    verified = converge(course, "verify", "17")
    assert verified.returncode == 1
    assert "README.md: | 17 | Twice | TO WRITE" in verified.stdout
    assert "docs/lessons/17_doubles.md has no quiz" in verified.stdout
    # Its own parts already work together: the skeleton earns nothing, the solution and both variants everything.
    for subject in ("labs", "solutions", "variant:first"):
        assert f"17_doubles, {subject}" not in verified.stdout
