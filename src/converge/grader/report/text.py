"""The explanation of a check that did not pass, as plain text: what every other report starts from."""

from __future__ import annotations

from typing import Any

from converge.grader.verdict import Status

LABELS = ("when", "expected", "got", "seen", "hint")
WIDTH = 10


def explain(status: Status, parts: dict[str, Any], indent: str = "    ") -> str:
    """The parts of a verdict, one labelled block each; no traceback unless the fault is ours."""
    blocks = []
    message = parts.get("message", "")
    if message or status is not Status.FAILED:
        lead = "" if status is Status.FAILED else f"{status}: "
        if status is Status.ERROR:
            lead = "error in the grader, not in your code: "
        blocks.append(f"{indent}{lead}{message}".rstrip())
    for label in LABELS:
        part = parts.get(label)
        for text in part if isinstance(part, list) else [part] if part else []:
            lines = str(text).splitlines() or [""]
            blocks.append(f"{indent}{label:<{WIDTH}}{lines[0]}")
            blocks += [f"{indent}{'':<{WIDTH}}{line}" for line in lines[1:]]
    return "\n".join(blocks)
