"""The Go code of the lessons' tabs and of the benchmarks compiles, with exactly the modules that are pinned."""

import re
from pathlib import Path

import pytest

from benchmarks import golang
from converge.cluster.errors import ClusterError

SOURCES = sorted(golang.OPERATOR_MODULE.rglob("*.go"))


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first time; a second or two once Go's cache has been filled
def test_go_code_compiles_as_pinned() -> None:
    try:
        vet = golang.go(golang.OPERATOR_MODULE, "vet", "./...")
    except ClusterError as error:
        pytest.skip(str(error))
    assert vet.returncode == 0, vet.stderr


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(golang.OPERATOR_MODULE)))
def test_every_section_that_starts_ends(source: Path) -> None:
    marks = re.findall(r"^// --8<-- \[(start|end):([a-z]+)\]$", source.read_text(), flags=re.MULTILINE)
    pairs = list(zip(marks[::2], marks[1::2], strict=True))
    assert all(first == ("start", name) and last == ("end", name) for first, last in pairs for name in [first[1]])
    names = [first[1] for first, _ in pairs]
    assert len(set(names)) == len(names)
    if "lessons" in source.parts:
        assert names, "a lesson includes sections by name, and this file has none"
