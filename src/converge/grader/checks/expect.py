"""`expect` and `fail`: how a check says what it wanted and what it saw."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from converge.testing.verdicts.failure import Failure
from converge.testing.verdicts.values import contrast, same


def expect(
    got: Any, want: Any, *, when: str, expected: str = "", hint: str = "", seen: str | Iterable[str] = ()
) -> Any:
    """Fail the check unless `got` is `want`; return `got`.

    `when` says what was done, in the past tense; `hint` says where to look. `seen` is evidence: requests,
    objects, output. `expected` says in words what a bare `True` or `None` wouldn't; then the `True` or `False` that
    was seen isn't printed. A `want` of `""` is for a `got` that says in words what is wrong.
    """
    if not same(got, want):
        wanted, found = contrast(got, want)
        if want == "":  # the answer says in words what is wrong
            wanted, found = "nothing wrong", str(got)
        if expected:
            wanted, found = expected, "" if isinstance(got, bool) else found
        raise Failure(when=when, expected=wanted, got=found, seen=seen, hint=hint)
    return got


def fail(
    *, when: str, expected: str, got: str, hint: str = "", seen: str | Iterable[str] = (), message: str = ""
) -> NoReturn:
    """Fail the check, in your own words; for what `expect` can't compare."""
    raise Failure(message, when=when, expected=expected, got=got, seen=seen, hint=hint)
