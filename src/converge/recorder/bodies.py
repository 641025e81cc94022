"""What a body says of its object: its kind, name and version. Reads JSON, and of Kubernetes' protobuf the outside.

A protobuf body is an envelope: four magic bytes, then the apiVersion, the kind and the object. Nearly every kind has
its metadata in field 1. That is all that the recorder needs of it; the rest is passed on unread.
"""

import json
from collections.abc import Callable
from typing import Any

PROTOBUF_MAGIC = b"k8s\x00"
# Numbers of the fields, as in the .proto files of k8s.io/apimachinery.
_METADATA_FIELDS = {1: "name", 2: "generateName", 3: "namespace", 5: "uid", 6: "resourceVersion"}
_STATUS_FIELDS = {2: "status", 3: "message", 4: "reason"}
# Answers that only show an object: their kind says nothing about it.
VIEWS = frozenset({"Table", "PartialObjectMetadata"})


def parse_json(body: bytes) -> Any:
    """JSON, or None."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def parse(body: bytes) -> Any:
    """JSON, or the kind and metadata of a protobuf body, or None."""
    if body.startswith(PROTOBUF_MAGIC):
        try:
            return _envelope(body[len(PROTOBUF_MAGIC) :])
        except (IndexError, UnicodeDecodeError):
            return None
    return parse_json(body)


def metadata_of(thing: Any) -> dict[str, Any]:
    """The metadata of an object, or of the object that a table with one row shows."""
    if isinstance(thing, dict) and thing.get("kind") == "Table":
        rows = thing.get("rows") or []
        thing = rows[0].get("object") if len(rows) == 1 else None
    metadata = thing.get("metadata") if isinstance(thing, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def version_of(thing: Any) -> str:
    """The resourceVersion of an object or a list, or nothing."""
    if not isinstance(thing, dict):
        return ""
    own = thing.get("metadata")
    version = metadata_of(thing).get("resourceVersion") or (isinstance(own, dict) and own.get("resourceVersion"))
    return str(version or "")


def kind_of(thing: Any) -> str:
    """The kind of the object that a body has or shows; nothing if the body doesn't say."""
    kind = thing.get("kind") if isinstance(thing, dict) else None
    return kind if isinstance(kind, str) and kind not in VIEWS else ""


def of_namespaces(body: bytes, shown: Callable[[str], bool]) -> bytes:
    """A list, or a table of one, without the objects of namespaces that aren't shown."""
    listed = parse_json(body)
    if not isinstance(listed, dict):
        return body
    for part in ("items", "rows"):
        if part in listed:
            listed[part] = [each for each in listed[part] or () if shown(_namespace_of(each))]
    return json.dumps(listed).encode()


def _namespace_of(item: dict[str, Any]) -> str:
    """The namespace of an item of a list, or of the object in a row of a table."""
    return str(metadata_of(item.get("object", item)).get("namespace", ""))


def _envelope(data: bytes) -> dict[str, Any]:
    unknown = _fields(data)
    type_meta = _texts(_fields(unknown.get(1, b"")), {1: "apiVersion", 2: "kind"})
    thing, kind = _fields(unknown.get(2, b"")), type_meta.get("kind", "")
    if kind == "Status":
        return {**type_meta, **_texts(thing, _STATUS_FIELDS)}
    if kind.endswith("List"):
        return {**type_meta, "metadata": _texts(_fields(thing.get(1, b"")), {2: "resourceVersion"})}
    return {**type_meta, "metadata": _texts(_fields(thing.get(1, b"")), _METADATA_FIELDS)}


def _texts(fields: dict[int, bytes], names: dict[int, str]) -> dict[str, Any]:
    return {name: fields[number].decode() for number, name in names.items() if fields.get(number)}


def _fields(data: bytes) -> dict[int, bytes]:
    """The fields of a message that have bytes, by number; the last one of each."""
    found: dict[int, bytes] = {}
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        match tag & 7:
            case 0:
                _, at = _varint(data, at)
            case 1:
                at += 8
            case 2:
                length, at = _varint(data, at)
                found[tag >> 3] = data[at : at + length]
                at += length
            case 5:
                at += 4
            case _:
                raise IndexError("not a protobuf message")
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):  # ten bytes are the longest number
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
    raise IndexError("not a protobuf message")
