"""What an object says about itself to people: its conditions, and the Events about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from converge.testing.objects.custom_resource import CustomResource

CONDITIONS = ("Available", "Progressing", "Degraded")


def condition_in(obj: Mapping[str, Any], type: str) -> dict[str, Any]:
    """The condition of that type in one version of an object; empty when there is none."""
    return next((each for each in obj.get("status", {}).get("conditions", []) if each["type"] == type), {})


def conditions_in(obj: Mapping[str, Any]) -> dict[str, str]:
    """The status of each of the three conditions, by type; "none" where there is no such condition."""
    return {type: condition_in(obj, type).get("status", "none") for type in CONDITIONS}


def conditions_of(app: CustomResource) -> dict[str, str]:
    """The same, of an object as it is now."""
    return conditions_in(app.now() or {})


def events_about(app: CustomResource) -> list[dict[str, Any]]:
    """The Events about it."""
    about = {"kind": app.kind, "name": app.name}
    return [each for each in app.namespace.list("Event") if about.items() <= each["involvedObject"].items()]


def warnings_mentioning(app: CustomResource, word: str) -> list[str]:
    """The Warning Events about it and the conditions of it that mention a word, in upper or lower case."""
    warnings = [
        f"Event {each['reason']}: {each.get('message', '')}" for each in events_about(app) if each["type"] == "Warning"
    ]
    conditions = [f"condition {each['type']}: {each['message']}" for each in app.status.get("conditions", [])]
    return [each for each in warnings + conditions if word.lower() in each.lower()]
