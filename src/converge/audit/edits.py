"""Small changes of the sample's spec that its CRD allows: one field each, to a value that a cluster can run."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from converge.audit.sample import NOT_NAMES

Spec = dict[str, Any]
DEEPEST = 4
QUANTITY = re.compile(r"(\d+)(m|Ki|Mi|Gi|Ti|k|M|G)")
IMAGE = re.compile(r"[\w./-]+:[\w.-]+")
TAG = re.compile(r"tag|.*Tag")
VERSION = re.compile(r"v?\d+(\.\d+)*")
TEXT = re.compile(r"message|text|title|description|comment|displayName")  # fields in which any words will do
MAPS = ("labels", "annotations", "podLabels", "podAnnotations", "additionalLabels", "additionalAnnotations")
KEY = "audit.example"
# Fields with which Pods wouldn't be scheduled here, or the operator would go to sleep as asked.
LEFT_ALONE = ("nodeSelector", "affinity", "tolerations", "suspend", "paused", "pause", "schedule", "status")


@dataclass(frozen=True)
class SpecEdit:
    """A merge patch of the spec, and the one that takes it back."""

    path: str
    patch: Spec
    back: Spec

    @property
    def removes(self) -> bool:
        """Whether it takes a field away: what operators forget most."""
        return self.path.endswith(" removed")


def candidates(
    spec: Spec, schema: Mapping[str, Any], most: int, seed: int, names: Collection[str] = ()
) -> list[SpecEdit]:
    """Edits to try: of what the sample has, then of what its schema offers. The seed chooses where there are many.

    `names` are those of the sample and its children: a field that has one of them gets another one.
    """
    found = list(_of(spec, schema, (), names))
    if len(found) > most:
        chooser = random.Random(seed)
        kept = set(chooser.sample(range(len(found)), most))
        found = [each for place, each in enumerate(found) if place in kept]
    return found


def _of(
    spec: Mapping[str, Any], schema: Mapping[str, Any], path: tuple[str, ...], names: Collection[str]
) -> Iterator[SpecEdit]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = schema.get("required", [])
    for field in dict.fromkeys([*spec, *properties]):
        if field in LEFT_ALONE or len(path) >= DEEPEST:
            continue
        here, known = (*path, field), properties.get(field, {})
        if field in spec:
            value = spec[field]
            for new in _others(field, value, known, names):
                yield _edit(here, new, value)
            if isinstance(value, int) and not isinstance(value, bool) and value and known.get("minimum") == 0:
                yield _edit(here, 0, value, " to 0")  # a number that was given, and that many an `or` takes for none
            if isinstance(value, str) and value in names and field not in NOT_NAMES:
                yield _edit(here, f"{value}-other", value)
            if isinstance(value, dict) and field not in MAPS:
                yield from _of(value, known, here, names)
            elif field not in required and not path and known.get("default") != value:  # or nothing would change
                yield _edit(here, None, value)
        elif not path:
            for new in _offered(field, known):
                yield _edit(here, new, None)


def _edit(path: tuple[str, ...], new: Any, old: Any, how: str = "") -> SpecEdit:
    if isinstance(new, dict) and isinstance(old, dict):  # a merge patch removes only what it names
        old = {**dict.fromkeys(new), **old}
    name = ".".join(path) + (" removed" if new is None else how)
    return SpecEdit(name, _nested(path, new), _nested(path, old))


def _nested(path: tuple[str, ...], value: Any) -> Spec:
    for field in reversed(path):
        value = {field: value}
    return dict(value)


def _others(field: str, value: Any, schema: Mapping[str, Any], names: Collection[str]) -> Iterator[Any]:
    """Another value for a field that the sample has."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        highest = schema.get("maximum", value + 1)
        lowest = schema.get("minimum", 0)
        if value + 1 <= highest:
            yield value + 1
        elif value - 1 >= lowest:
            yield value - 1
    elif isinstance(value, str):
        if "enum" in schema:
            yield from [each for each in schema["enum"] if each != value][:1]
        elif quantity := QUANTITY.fullmatch(value):
            yield f"{int(quantity[1]) * 2}{quantity[2]}"
        elif ("image" in field.lower() and IMAGE.fullmatch(value)) or (TAG.fullmatch(field) and VERSION.match(value)):
            yield f"{value}-audit"
        elif TEXT.fullmatch(field) and value not in names:
            yield f"{value} (edited)"
    elif isinstance(value, dict) and field in MAPS:
        yield {**value, KEY: "added"}


def _offered(field: str, schema: Mapping[str, Any]) -> Iterator[Any]:
    """A value for a field that the sample leaves out."""
    if schema.get("type") == "boolean":
        yield not schema.get("default", False)
    elif schema.get("type") == "integer" and field in ("replicas", "size", "count"):
        yield int(schema.get("default", 1)) + 1
    elif "enum" in schema:
        yield from [each for each in schema["enum"] if each != schema.get("default")][-1:]
    elif schema.get("type") == "object" and field in MAPS and "additionalProperties" in schema:
        yield {KEY: "added"}
