"""The page of environment variables lists those that the code reads, and no others."""

import re

import environment
from places import ROOT

PAGE = ROOT / "docs" / "reference" / "environment.md"


def listed() -> set[str]:
    """The variables in the first column of the page's tables."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_no_variable_is_missing() -> None:
    missing = {name: file for name, file in environment.names().items() if name not in listed()}
    assert not missing, f"{PAGE.relative_to(ROOT)} doesn't list what these files read: {missing}"


def test_no_variable_is_listed_that_nothing_reads() -> None:
    assert listed() - set(environment.names()) == set()


def test_the_ways_to_read_a_variable_are_found() -> None:
    import ast

    code = """
import os
NAME = "A"
os.environ[NAME]
say = os.environ.get
say("B")
os.environ.pop("C", "")
"D" in os.environ
os.getenv("E")
os.environ["SET"] = "1"
"""
    assert sorted(environment.read_in(ast.parse(code))) == ["A", "B", "C", "D", "E"]
