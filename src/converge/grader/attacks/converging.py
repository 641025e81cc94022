"""What attacks share: waiting until nothing is wrong any more."""

from __future__ import annotations

from collections.abc import Callable

from converge.grader.verdict import Failure
from converge.grader.waiting import eventually


def converge(wrong: Callable[[], str], *, within: float, when: str, hint: str, expected: str = "") -> None:
    """Wait until `wrong()` has nothing to say, or fail the check with what it says."""
    if not eventually(lambda: not wrong(), within=within) and (complaint := wrong()):
        raise Failure(
            when=when, expected=expected or f"within {within:g} s all is as the spec says", got=complaint, hint=hint
        )
