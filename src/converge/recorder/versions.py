"""Did a write change the object? Its resourceVersion before and after says so.

An update that changes nothing is not stored, so its answer has the version that was there before. The version before is
known for certain when the operator sent it along: the server refuses a write on any other. The recorder adds one to a
patch that has none: the last version of the object that passed by, in an answer or an event. If none did, or the server
wants another, the recorder asks for it with the operator's own rights, first from the server's cache (half the time of
a read from etcd), and tries again, as the server itself would have done with a patch that names no version.

A PUT without a version is left alone, because some kinds rightly refuse it. There, and where the operator may not read,
an answer counts as unchanged when its version is not newer than all that was seen: versions grow across all objects.
"""

import json
import re
from typing import Any

from converge.recorder.bodies import parse_json
from converge.recorder.entries import RecordedEvent, RecordedRequest

_VERSION = re.compile(rb'"resourceVersion":"(\d+)"')


class Versions:
    """The versions that passed by."""

    def __init__(self) -> None:
        self.newest = 0
        """The highest version seen of anything: how much the operator can know."""
        self._last: dict[tuple[str, str, str], str] = {}

    def saw_event(self, event: RecordedEvent) -> None:
        self.newest = max(self.newest, _number(event.resource_version))
        self._saw(event.resource, event.namespace, event.name, event.resource_version)

    def saw_object(self, request: RecordedRequest) -> None:
        """An answer had this version of an object."""
        self._saw(request.resource, request.namespace, request.name, request.version_after)

    def _saw(self, resource: str, namespace: str, name: str, version: str) -> None:
        if _number(version) > _number(self._last.get((resource, namespace, name), "")):
            self._last[resource, namespace, name] = version

    def last(self, request: RecordedRequest) -> str:
        """The last version of the request's object that passed by; nothing if none did."""
        return self._last.get((request.resource, request.namespace, request.name), "")

    def saw_answer(self, body: bytes) -> None:
        for version in _VERSION.findall(body):
            self.newest = max(self.newest, int(version))


def changed_anything(request: RecordedRequest, answer: Any, newest_before: int) -> bool:
    """Whether an answered write changed anything; ``newest_before`` is the newest version seen when it was sent."""
    if request.status is None or request.status >= 400:
        return False
    is_object = isinstance(answer, dict) and answer.get("kind") != "Status"
    match request.verb:
        case "create":
            return True
        case "deletecollection":
            return bool(answer.get("items")) if is_object else True
        case "delete" if not is_object:
            return True
    if request.status == 201 or not request.version_after or (is_object and _took_last_finalizer(answer)):
        return True
    return request.version_after != request.version_before and _number(request.version_after) > newest_before


def patch_of_version(body: bytes, content_type: str, version: str) -> bytes | None:
    """The patch, such that the server refuses it on any other version; None for a body that can't say so."""
    patch = parse_json(body)
    if isinstance(patch, list) and content_type.startswith("application/json-patch"):
        version_only = {"op": "add", "path": "/metadata/resourceVersion", "value": version}
        return json.dumps([version_only, *patch]).encode()
    if not isinstance(patch, dict) or not isinstance(metadata := patch.get("metadata", {}), dict):
        return None
    return json.dumps({**patch, "metadata": {**metadata, "resourceVersion": version}}).encode()


def is_version_conflict(status: int, answer: Any) -> bool:
    """Whether a patch was refused because of its version, and not because of another owner of its fields."""
    if status != 409 or not isinstance(answer, dict):
        return False
    return not (answer.get("details") or {}).get("causes") and answer.get("reason") == "Conflict"


def _took_last_finalizer(answer: dict[str, Any]) -> bool:
    """Whether the object is gone with this write, which took its last finalizer off: its version doesn't show that."""
    metadata = answer.get("metadata") or {}
    return metadata.get("deletionGracePeriodSeconds") == 0 and not metadata.get("finalizers")


def _number(version: str) -> int:
    return int(version) if version.isdigit() else 0
