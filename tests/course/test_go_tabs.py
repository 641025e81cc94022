"""The Go code of the tabs and of the benchmarks compiles as pinned, and its README says how the tabs are graded."""

import re
from pathlib import Path

import pytest

from benchmarks import golang
from converge.cluster.errors import ClusterError
from go import labs

SOURCES = sorted(golang.COURSE_MODULE.rglob("*.go"))


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first time; a second or two once Go's cache has been filled
def test_go_code_compiles_as_pinned() -> None:
    try:
        vet = golang.go(golang.COURSE_MODULE, "vet", "./...")
    except ClusterError as error:
        pytest.skip(str(error))
    assert vet.returncode == 0, vet.stderr


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(golang.COURSE_MODULE)))
def test_every_section_that_starts_ends(source: Path) -> None:
    marks = re.findall(r"^// --8<-- \[(start|end):([a-z]+)\]$", source.read_text(), flags=re.MULTILINE)
    pairs = list(zip(marks[::2], marks[1::2], strict=True))
    assert all(first == ("start", name) and last == ("end", name) for first, last in pairs for name in [first[1]])
    names = [first[1] for first, _ in pairs]
    assert len(set(names)) == len(names)
    if "lessons" in source.parts:
        assert names, "a lesson includes sections by name, and this file has none"


def test_readme_says_which_checks_the_operators_pass() -> None:
    assert labs.table() in (golang.COURSE_MODULE / "README.md").read_text(), "python -m go.labs --table"


def test_every_operator_that_runs_is_graded() -> None:
    programs = (golang.COURSE_MODULE / "operators" / "main.go").read_text()
    run = {*re.findall(r'^\t"(\d\d)_\w+": \{', programs, flags=re.MULTILINE), "16"}  # the tab of 16 is a program itself
    assert run == set(labs.LABS)
