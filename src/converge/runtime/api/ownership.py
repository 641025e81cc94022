"""Who owns which field: reading ``metadata.managedFields``, the list that the API server keeps for server-side apply.

Sending an apply is `Client.apply`. This tells, from an object that was read anyway, whether one is needed.
"""

import json
from typing import Any

from converge.runtime.api.client import Object


# --8<-- [start:applied]
def applied_fields(obj: Object, field_manager: str) -> Object:
    """The part of ``obj`` that ``field_manager`` owns by server-side apply, with the values that it has now.

    As long as nobody interferes it equals what was applied. A field that another manager has changed or removed
    is owned by that manager from then on, so it is missing here. Values that the server leaves out of its answers
    (``false`` or ``""`` in a field that may be absent) are missing too: do not apply those, leave them out.
    """
    for entry in obj["metadata"].get("managedFields", ()):
        mine = (entry["manager"], entry["operation"], entry["apiVersion"], entry.get("subresource"))
        if mine == (field_manager, "Apply", obj["apiVersion"], None):
            picked = _pick(obj, entry["fieldsV1"])
            identity = {key: obj["metadata"][key] for key in ("name", "namespace") if key in obj["metadata"]}
            picked["metadata"] = identity | picked.get("metadata", {})
            return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **picked}
    return {}


# --8<-- [end:applied]


# --8<-- [start:pick]
def _pick(value: Any, fields: dict[str, Any]) -> Any:
    """The part of ``value`` that ``fields`` names: ``f:name``, ``k:{"name": "web"}`` (list item by key), ``v:"x"``."""
    if not fields:
        return value  # a leaf: owned as a whole
    if isinstance(value, list):
        members = [json.loads(key[2:]) for key in fields if key.startswith("v:")]
        items = [(json.loads(key[2:]), inside) for key, inside in fields.items() if key.startswith("k:")]
        found = [item for item in value if item in members]
        return found + [_pick(item, inside) for item in value for key, inside in items if _has(item, key)]
    names = {key[2:]: inside for key, inside in fields.items() if key.startswith("f:")}
    return {name: _pick(value[name], inside) for name, inside in names.items() if name in value}


# --8<-- [end:pick]


def _has(item: Any, key: dict[str, Any]) -> bool:
    return isinstance(item, dict) and key.items() <= item.items()
