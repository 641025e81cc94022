"""Comparing and showing JSON values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

LONGEST_SHOWN = 1500  # characters of a value that a report shows
SHORT_VALUE = 60  # characters of a value that is read at a glance: it is shown whole
MOST_DIFFERENCES = 12
LINE_BREAK = re.compile(r"(?<!\\)\\n")  # of a text within a value, as Python and JSON write it

_ABSENT = object()


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
    """A value as a person reads it: Python for plain values, indented JSON for objects, text of several lines as is."""
    if isinstance(value, str) and "\n" in value:
        text = value
    elif isinstance(value, dict) and len(repr(value)) > SHORT_VALUE:
        text = json.dumps(value, indent=2, default=repr)
    else:
        text = repr(value)
    if not isinstance(value, str):
        text = LINE_BREAK.sub("\n", text)
    return (
        text
        if len(text) <= LONGEST_SHOWN
        else f"{text[:LONGEST_SHOWN]} … ({len(text) - LONGEST_SHOWN} more characters)"
    )


@dataclass(frozen=True)
class Difference:
    """A place at which two values differ, and what each of them has there."""

    path: str
    got: str
    want: str


def differences(got: Any, want: Any, path: str = "") -> Iterator[Difference]:
    """Every place at which the two differ, as deep inside as can be."""
    if same(got, want):
        return
    if isinstance(got, dict) and isinstance(want, dict):
        for key in dict.fromkeys([*want, *got]):
            yield from differences(got.get(key, _ABSENT), want.get(key, _ABSENT), f"{path}.{key}" if path else str(key))
    elif isinstance(got, list | tuple) and isinstance(want, list | tuple) and len(got) == len(want):
        for place, (one, other) in enumerate(zip(got, want, strict=True)):
            yield from differences(one, other, f"{path}[{place}]")
    else:
        yield Difference(path, _part(got), _part(want))


def contrast(got: Any, want: Any) -> tuple[str, str]:
    """What to show as expected and as seen: of long values of one shape only the places where they differ."""
    both = isinstance(got, dict) and isinstance(want, dict)
    if not both and not (isinstance(got, list) and isinstance(want, list) and len(got) == len(want)):
        return show(want), show(got)
    if max(len(repr(got)), len(repr(want))) <= SHORT_VALUE:
        return show(want), show(got)
    found = list(differences(got, want))
    shown = found[:MOST_DIFFERENCES]
    rest = [f"… and {len(found) - len(shown)} more"] if len(found) > len(shown) else []
    wanted = [f"{each.path}: {each.want}" for each in shown]
    seen = [f"{each.path}: {each.got}" for each in shown]
    return "\n".join(wanted + rest), "\n".join(seen + rest)


def _part(value: Any) -> str:
    return "nothing" if value is _ABSENT else show(value)
