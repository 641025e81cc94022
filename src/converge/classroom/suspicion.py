"""Reads a submission for what only a cheat would need, so that a person can look at it. It changes no points.

A library lab (03, 04, 05) is graded in its own process, with tools that live there too. Code that takes them apart has
to name what it takes apart, or hide that name, and neither is needed to write a queue.
"""

from __future__ import annotations

import ast

from converge.grader.course import Lab

# Names that lead to the tools: tracing, frames, memory, and this process' own modules.
TOOLS = frozenset(
    (
        *("settrace", "gettrace", "setprofile", "settrace_all_threads", "setprofile_all_threads", "monitoring"),
        *("_getframe", "_current_frames", "f_back", "f_globals", "f_trace", "__globals__", "__code__", "__closure__"),
        *("get_objects", "get_referrers", "__main__", "_trace_hook"),
    )
)
# Ways to name something without writing its name.
HIDING = frozenset(
    ("exec", "eval", "compile", "__import__", "import_module", "globals", "__getattribute__", "attrgetter")
)
MODULES = frozenset(("ctypes", "gc", "inspect", "importlib", "_ctypes", "converge.grader"))


def look_at(lab: Lab, text: str) -> str:
    """Why someone should look at a submission, as a note; empty if there is no reason."""
    if lab.kind != "library":
        return ""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ""
    except (MemoryError, RecursionError):  # what Python says of code that is nested too deeply for it
        return "look at it: it's nested too deeply to be read here"
    for node in ast.walk(tree):
        if found := suspicious(node):
            return f"look at line {getattr(node, 'lineno', 1)}, which uses {found}"
    return ""


def suspicious(node: ast.AST) -> str:
    """The name that is suspicious in one node."""
    names: list[str] = []
    if isinstance(node, ast.Attribute):
        names = [node.attr]
    elif isinstance(node, ast.Name):
        names = [node.id]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value if node.value in TOOLS | MODULES else ""
    elif isinstance(node, ast.Import):
        return next((each.name for each in node.names if is_module(each.name)), "")
    elif isinstance(node, ast.ImportFrom):
        if is_module(node.module or ""):
            return str(node.module)
        names = [each.name for each in node.names]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr"):
        written = len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
        return "" if written else f"{node.func.id} with a name that is made up when it runs"
    return next((name for name in names if name in TOOLS | HIDING), "")


def is_module(name: str) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in MODULES)
