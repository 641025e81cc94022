"""The environment variables that the course's code reads, found by reading the code."""

import ast
import re
from collections.abc import Iterator
from functools import cache

from places import ROOT

FOLDERS = ("src", "labs", "solutions", "tests", "benchmarks", "docs/examples", "examples", "go")
NOT_OURS = "tests/grader/cheats"  # submissions that spy


@cache
def names() -> dict[str, str]:
    """Each variable that code of the course reads, in Python, Go or a shell script, and the first file that does."""
    found: dict[str, str] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            file = path.relative_to(ROOT).as_posix()
            if not file.startswith(NOT_OURS):
                for name in read_in(ast.parse(path.read_text())):
                    found.setdefault(name, file)
    for path in sorted((ROOT / "go").rglob("*.go")):
        for name in re.findall(r'\bos\.(?:Getenv|LookupEnv)\("(\w+)"\)', path.read_text()):
            found.setdefault(name, path.relative_to(ROOT).as_posix())
    for script in ("tests/programs.sh", ".ci/run"):
        text = (ROOT / script).read_text()
        own = set(re.findall(r"^\s*(?:for )?([A-Z_]+)(?:=| in )", text, re.MULTILINE))
        for name in re.findall(r"\$\{?([A-Z][A-Z_]+)", text):
            if name not in own:
                found.setdefault(name, script)
    return found


def read_in(tree: ast.Module) -> Iterator[str]:
    """The names in `os.environ["X"]`, `os.environ.get("X")` and `"X" in os.environ`, also by a constant or an alias."""
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    aliases = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and is_getter(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def name(node: ast.expr) -> Iterator[str]:
        value = node.value if isinstance(node, ast.Constant) else constants.get(getattr(node, "id", ""))
        if isinstance(value, str):
            yield value

    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=held, slice=key, ctx=ast.Load()) if is_environ(held):
                yield from name(key)
            case ast.Call(func=called, args=[key, *_]) if is_getter(called) or getattr(called, "id", "") in aliases:
                yield from name(key)
            case ast.Compare(left=key, comparators=[held]) if is_environ(held):
                yield from name(key)


def is_environ(node: ast.expr) -> bool:
    return ast.unparse(node) == "os.environ"


def is_getter(node: ast.expr) -> bool:
    return ast.unparse(node) in ("os.environ.get", "os.environ.pop", "os.getenv")
