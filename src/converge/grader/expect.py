"""`expect` and `fail`: how a check says what it wanted and what it saw."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NoReturn

from converge.grader.verdict import Failure

LONGEST = 1500  # characters of a value that a report shows


def expect(got: Any, want: Any, *, when: str, hint: str = "", seen: str | Iterable[str] = ()) -> Any:
    """Fail the check unless `got` is `want`; return `got`.

    `when` says what was done, in the past tense; `hint` says where to look. `seen` is evidence: requests,
    objects, output.
    """
    if not same(got, want):
        raise Failure(when=when, expected=show(want), got=show(got), seen=seen, hint=hint)
    return got


def fail(
    *, when: str, expected: str, got: str, hint: str = "", seen: str | Iterable[str] = (), message: str = ""
) -> NoReturn:
    """Fail the check, in your own words; for what `expect` cannot compare."""
    raise Failure(message, when=when, expected=expected, got=got, seen=seen, hint=hint)


def same(got: Any, want: Any) -> bool:
    """Equality of JSON values: unlike Python's, it tells `True` from `1`."""
    if isinstance(got, bool) is not isinstance(want, bool):
        return False
    if isinstance(want, dict) and isinstance(got, dict):
        return got.keys() == want.keys() and all(same(got[key], want[key]) for key in want)
    if isinstance(want, list | tuple) and isinstance(got, list | tuple):
        return len(got) == len(want) and all(same(a, b) for a, b in zip(got, want, strict=True))
    return bool(want == got)


def show(value: Any) -> str:
    """A value as a learner reads it: Python for plain values, indented JSON for objects of the cluster."""
    if isinstance(value, dict) and len(repr(value)) > 60:
        text = json.dumps(value, indent=2, default=repr)
    else:
        text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … ({len(text) - LONGEST} more characters)"
