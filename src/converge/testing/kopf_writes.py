"""What kopf writes for itself on the objects that it handles: how far it has come, what it saw last, its finalizer.

An operator on kopf does not choose these writes and cannot leave them out, so an attack that counts an operator's
own writes looks past them. All else counts, also what a handler hands to kopf in ``patch``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from converge.recorder import RecordedRequest

PREFIX = "kopf.zalando.org"  # unless the operator has chosen another, which kopf then marks as its own
MARKER = "kopf-managed"
FINALIZERS = "/metadata/finalizers"
VERSION = "/metadata/resourceVersion"


def by_kopf(request: RecordedRequest) -> bool:
    """Whether this is a patch that touches nothing but kopf's own annotations or the finalizers."""
    if request.verb != "patch" or request.subresource:
        return False
    sent = request.sent
    if isinstance(sent, list):
        return all(_about_finalizers(step) for step in sent)
    return _only_annotations(sent) and _belong_to_kopf(sent["metadata"]["annotations"], request.answer)


def _about_finalizers(step: Any) -> bool:
    return isinstance(step, dict) and str(step.get("path")).startswith((FINALIZERS, VERSION))


def _only_annotations(sent: Any) -> bool:
    if not isinstance(sent, dict) or set(sent) != {"metadata"} or not isinstance(sent["metadata"], dict):
        return False
    return set(sent["metadata"]) == {"annotations"} and isinstance(sent["metadata"]["annotations"], dict)


def _belong_to_kopf(annotations: dict[str, Any], answer: Any) -> bool:
    there = (answer or {}).get("metadata", {}).get("annotations") or {}
    prefixes = {name.partition("/")[0] for name in annotations}
    return all(f".{prefix}".endswith(f".{PREFIX}") or f"{prefix}/{MARKER}" in there for prefix in prefixes)
