"""The explanation of a check that did not pass, as plain text: what every other report starts from."""

from __future__ import annotations

from typing import Any

from converge.grader.checks.verdict import Status
from converge.grader.course.results import CheckResult
from converge.testing.verdicts.failure import lay_out


def explain_check(check: CheckResult, indent: str = "    ") -> str:
    """Why a check did not pass; when another check has said so already, only which one."""
    if check.same_as:
        return f"{indent}same reason as {check.same_as}"
    return explain(check.status, check.parts, indent)


def explain(status: Status, parts: dict[str, Any], indent: str = "    ") -> str:
    """The parts of a verdict, one labelled block each; no traceback unless the fault is ours."""
    message, lead = parts.get("message", ""), ""
    if status is not Status.FAILED:
        lead = "error in the grader, not in your code: " if status is Status.ERROR else f"{status}: "
    return lay_out({**parts, "message": f"{lead}{message}".rstrip()}, indent)
