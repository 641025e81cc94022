"""Did a write change the object? Told by its resourceVersion before and after.

An update that changes nothing is not stored, so its answer has the version that was there before. The version before is
known for certain when the operator sent it along: the server refuses a write on any other. A patch without a version
gets one on its way and is pinned to it: the last version of the object that passed by, in an answer or an event. If
none did, or the server wants another, the recorder asks for it with the operator's own rights, first from the server's
cache (half the time of a read from etcd), and tries again, as the server itself would have done with a patch that names
no version.

A PUT without a version is left alone, because some kinds rightly refuse it. There, and where the operator may not read,
an answer counts as unchanged when its version is not newer than all that was seen: versions grow across all objects.
"""

import json
import re
from typing import Any

from converge.grader.recorder.records import Request, WatchEvent

_VERSION = re.compile(rb'"resourceVersion":"(\d+)"')


class Versions:
    """The versions that passed by."""

    def __init__(self) -> None:
        self.newest = 0
        """The highest version seen of anything: how far the operator can know the world."""
        self._last: dict[tuple[str, str, str], str] = {}

    def saw_event(self, event: WatchEvent) -> None:
        self.newest = max(self.newest, _number(event.resource_version))
        self._saw(event.resource, event.namespace, event.name, event.resource_version)

    def saw_object(self, request: Request) -> None:
        """An answer had this version of an object."""
        self._saw(request.resource, request.namespace, request.name, request.version_after)

    def _saw(self, resource: str, namespace: str, name: str, version: str) -> None:
        if _number(version) > _number(self._last.get((resource, namespace, name), "")):
            self._last[resource, namespace, name] = version

    def last(self, request: Request) -> str:
        """The last version of the request's object that passed by; nothing if none did."""
        return self._last.get((request.resource, request.namespace, request.name), "")

    def saw_answer(self, body: bytes) -> None:
        for version in _VERSION.findall(body):
            self.newest = max(self.newest, int(version))


def judge(request: Request, answer: Any, newest_before: int) -> bool:
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
    if request.status == 201 or not request.version_after or (is_object and _let_go(answer)):
        return True
    return request.version_after != request.version_before and _number(request.version_after) > newest_before


def pinned(body: bytes, content_type: str, version: str) -> bytes | None:
    """A patch that is refused on any other version; None if it cannot be made so."""
    patch = parse(body)
    if isinstance(patch, list) and content_type.startswith("application/json-patch"):
        pin = {"op": "add", "path": "/metadata/resourceVersion", "value": version}
        return json.dumps([pin, *patch]).encode()
    if not isinstance(patch, dict) or not isinstance(metadata := patch.get("metadata", {}), dict):
        return None
    return json.dumps({**patch, "metadata": {**metadata, "resourceVersion": version}}).encode()


def outpaced(status: int, answer: Any) -> bool:
    """Whether a pinned patch was refused because of the pin, and not because of another owner of its fields."""
    if status != 409 or not isinstance(answer, dict):
        return False
    return not (answer.get("details") or {}).get("causes") and answer.get("reason") == "Conflict"


def _let_go(answer: dict[str, Any]) -> bool:
    """Whether an object went with this write, the one that took its last finalizer off: its version does not tell."""
    metadata = answer.get("metadata") or {}
    return metadata.get("deletionGracePeriodSeconds") == 0 and not metadata.get("finalizers")


def _number(version: str) -> int:
    return int(version) if version.isdigit() else 0


def version_of(thing: Any) -> str:
    """The resourceVersion of an object, or nothing."""
    if not isinstance(thing, dict) or not isinstance(metadata := thing.get("metadata"), dict):
        return ""
    return str(metadata.get("resourceVersion") or "")


def parse(body: bytes) -> Any:
    """JSON, or None."""
    try:
        return json.loads(body)
    except ValueError:
        return None
