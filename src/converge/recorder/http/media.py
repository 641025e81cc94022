"""Which format answers come in. The recorder reads JSON, so it asks for JSON wherever the client can take it.

A client that accepts protobuf or CBOR and also JSON, or anything, gets JSON, which it reads just as well. A client that
accepts nothing else gets what it asked for, and the recording says that the answer was not read.
"""

# Formats of Kubernetes' own that have a JSON twin, with the same parameters (`as=Table`, `stream=watch`).
_BINARY = frozenset({b"application/vnd.kubernetes.protobuf", b"application/cbor", b"application/cbor-seq"})
_ALSO_JSON = frozenset({b"application/json", b"application/*", b"*/*"})


def accept_json(accept: bytes) -> bytes:
    """An Accept header for the server: protobuf and CBOR replaced by JSON, if the client can take that."""
    ranges = [each.strip() for each in accept.split(b",")]
    types = [each.partition(b";")[0].strip().lower() for each in ranges]
    if _BINARY.isdisjoint(types) or _ALSO_JSON.isdisjoint(types):
        return accept
    asked: list[bytes] = []
    for each, type in zip(ranges, types, strict=True):
        wanted = each
        if type in _BINARY:
            parameters = [p.strip() for p in each.split(b";")[1:] if not p.strip().startswith(b"q=")]
            wanted = b";".join([b"application/json", *parameters])
        if wanted not in asked:
            asked.append(wanted)
    return b",".join(asked)


def is_binary(content_type: str) -> bool:
    """Whether this is one of Kubernetes' formats that the recorder can't show."""
    return content_type.partition(";")[0].strip().lower().encode() in _BINARY


def readable(content_type: str) -> bool:
    """Whether the recorder can read a stream of this type, line by line. A type that isn't given is JSON."""
    return not content_type or content_type.partition(";")[0].strip().lower() == "application/json"
