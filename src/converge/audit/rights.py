"""The Role that an operator needs: what it asked for in all runs of an audit, and what it's allowed beyond that."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from converge.testing.access import rights

if TYPE_CHECKING:
    from converge.recorder import RecordedRequest

Used = dict[tuple[str, str], set[str]]  # by group and resource: verbs
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


def used(requests: Iterable[RecordedRequest]) -> Used:
    """What the server allowed it to do."""
    found: Used = {}
    for each in requests:
        if each.resource and each.status not in (None, 401, 403):
            resource = f"{each.resource}/{each.subresource}" if each.subresource else each.resource
            found.setdefault((each.group, resource), set()).update(_verbs(each.verb))
    return found


def _verbs(verb: str) -> set[str]:
    return {"patch"} if verb == "apply" else {verb}  # an apply that creates needs no more than patch and create


def needed(requests: Iterable[RecordedRequest]) -> list[dict[str, Any]]:
    """The rules of a Role that allows what it did, and nothing else."""
    by_verbs: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), verbs in sorted(used(requests).items()):
        ordered = tuple(verb for verb in VERBS if verb in verbs)
        by_verbs.setdefault((group, ordered), []).append(resource)
    return [
        {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}
        for (group, verbs), resources in by_verbs.items()
    ]


def unused(path: Path, requests: Iterable[RecordedRequest]) -> list[str]:
    """What its own Roles allow and it never did, one line for each resource."""
    asked, lines = used(requests), []
    granted_to_it = rights.read(path)
    for rule in (*granted_to_it.here, *granted_to_it.everywhere):
        for group in rule.get("apiGroups", []):
            for resource in rule.get("resources", []):
                did = asked.get((group, resource), set())
                granted = rule.get("verbs", [])
                if "*" in (group, resource):
                    lines.append(f"{resource} in {group or 'the core group'}: everything is allowed")
                elif extra := [verb for verb in granted if verb not in did]:
                    lines.append(f"{resource}{'.' + group if group else ''}: {', '.join(extra)}")
    return lines
