"""Whether readers find all of a lesson: its page, the output on it, the notebook's page, the README row, navigation."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from converge.grader.course.course import Lab, relative

UNWRITTEN = "TO WRITE"  # what `converge new` leaves for the author
PARTS = (
    "Why",
    "See it fail",
    "The idea",
    "Your turn",
    "What you saw",
    "The same in Go",
    "In production",
    "Check yourself",
)
QUIZZES = 3
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w+).*?\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)


def publication_problems(lab: Lab) -> Iterator[str]:
    """What a reader of the site or of the README would miss."""
    if lab.lesson.exists():
        yield from (f"{relative(lab.lesson)} {problem}" for problem in page_problems(lab))
    yield from recorded_output_problems(lab)
    if not lab.notebook_page.exists():
        yield f"{relative(lab.notebook_page)} is missing; make notebooks LAB={lab.number} writes it"
    if not row(lab):
        yield f"README.md has no row | {lab.number} | {lab.title} |"
    navigation = lab.root / "docs" / ".nav.yml"
    globs = re.findall(r'glob: "(.+?)"', navigation.read_text()) if navigation.exists() else []
    if not any(fnmatch.fnmatch(f"lessons/{lab.lesson.name}", glob) for glob in globs):
        yield f"docs/.nav.yml has no glob for lessons/{lab.lesson.name}"


def page_problems(lab: Lab) -> Iterator[str]:
    """What the page lacks, as the end of a sentence that begins with its path."""
    page = lab.lesson.read_text()
    below = parts(page)
    if list(below) != list(PARTS):
        yield f"has the headings {', '.join(below) or 'of no part'}; a lesson has {', '.join(PARTS)}"
    if f'\ntitle: "{lab.number} · {lab.title}"\n' not in page or f"\n# {lab.title}\n" not in page:
        yield f"isn't called {lab.number} · {lab.title}, in its front matter or in its heading"
    if not re.search(r"\]\(https?://", below.get("Why", "")):
        yield "has no incident: a link below Why"
    if not re.search(r"^ *::figure |!\[[^\]]+\]\(.+\.svg\)", below.get("The idea", ""), re.MULTILINE):
        yield "has no figure below The idea"
    if f"docs/recorded/{lab.slug}." not in page:
        yield "has no recorded output: include a file of docs/recorded"
    if '=== "Go"' not in below.get("The same in Go", "") or '--8<-- "go/lessons/' not in page:
        yield "has no Go tab that includes a section of go/lessons"
    quizzes = below.get("Check yourself", "").count("\n/// quiz\n")
    if quizzes != QUIZZES:
        yield f"has {quizzes or 'no'} quiz{'zes' if quizzes > 1 else ''}; a lesson has {QUIZZES}"


def parts(page: str) -> dict[str, str]:
    """The text below each second-level heading, without code."""
    pieces = re.split(r"^## (.+)\n", FENCE.sub("", page), flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def recorded_output_problems(lab: Lab) -> Iterator[str]:
    """Entries without their output; whether the output is still true is for the tests of the site."""
    recipe = lab.examples / "record.toml"
    if not recipe.exists():
        yield f"{relative(recipe)} is missing: it says which output the page shows"
        return
    entries = tomllib.loads(recipe.read_text())
    if not entries:
        yield f"{relative(recipe)} has no entry: a lesson shows output of a real run"
    for name, entry in entries.items():
        output = f"{lab.slug}.{name}.{'svg' if 'timeline' in entry else 'txt'}"
        if not (lab.root / "docs" / "recorded" / output).exists():
            yield f"docs/recorded/{output} is missing; make recorded NAME={lab.slug}.{name} writes it"


def row(lab: Lab) -> str:
    """The lesson's row in the README's table."""
    readme = lab.root / "README.md"
    begins = f"| {lab.number} | {lab.title} |"
    lines = readme.read_text().splitlines() if readme.exists() else []
    return next((line for line in lines if line.startswith(begins)), "")


def unwritten_places(lab: Lab) -> Iterator[str]:
    """Every place that `converge new` left for the author and that still says so."""
    for path in files(lab):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if UNWRITTEN in line:
                yield f"{relative(path)}:{number}: {line[line.index(UNWRITTEN) :]}"
    yield from (f"course.toml, {lab.slug}: {hint}" for hint in lab.hints if UNWRITTEN in hint)
    if UNWRITTEN in row(lab):
        yield f"README.md: {row(lab)}"


def files(lab: Lab) -> Iterator[Path]:
    """The text files that belong to this lesson alone."""
    go = lab.root / "go" / "lessons" / lab.slug
    variants = lab.root / "tests" / "variants" / lab.slug
    alone = (lab.checks_file, lab.mutants_file, lab.lesson, lab.notebook, lab.notebook_page)
    folders = (lab.skeleton.parent, lab.solution.parent, variants, lab.examples, go)
    found = [*alone, *(path for folder in folders for path in sorted(folder.rglob("*.*")) if path.suffix != ".pyc")]
    yield from (path for path in found if path.is_file())
