"""Refusals: why the API server refused a request, in its own words, and the ones that the recorder makes up."""

import json
import re
from http import HTTPStatus

from converge.recorder.bodies import parse
from converge.recorder.entries import RecordedRequest

_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
_MESSAGES = {
    "AlreadyExists": '{thing} "{name}" already exists',
    "Conflict": 'Operation cannot be fulfilled on {thing} "{name}": the object has been modified; '
    "please apply your changes to the latest version and try again",
    "NotFound": '{thing} "{name}" not found',
    "Expired": "too old resource version",
    "Invalid": '{thing} "{name}" is invalid',
    "InternalError": "Internal error occurred: etcdserver: request timed out",
    "ServiceUnavailable": "the server is currently unable to handle the request",
    "TooManyRequests": "the server has received too many requests and has asked us to try again later",
}

# What a refusal says of its object before it comes to the point: `Deployment.apps "web" is invalid: `
_ABOUT_THE_OBJECT = re.compile(r'^(?:Operation cannot be fulfilled on )?\S+ "[^"]*"(?: is (?:invalid|forbidden))?: ')
_NOTHING_NEW = re.compile(r'^(\S+) "([^"]*)" (?:not found|already exists|is invalid)$')


def reason_of(status: int, body: bytes, resource: str, name: str) -> str:
    """The reason of a refusal: ``Invalid: spec.replicas: Invalid value: -1: …``; nothing for an answer that is none.

    The request's own line names its object, so the reason leaves that out: ``NotFound``, unless it's another object.
    """
    if status < 400:
        return ""
    parsed = parse(body)
    answer = parsed if isinstance(parsed, dict) else {}
    word = str(answer.get("reason") or _phrase(status))
    message = " ".join(str(answer.get("message") or "").split())
    same = _NOTHING_NEW.match(message)
    if same is not None and same[1].partition(".")[0] == resource and same[2] == name:
        return word
    point = _ABOUT_THE_OBJECT.sub("", message)
    return f"{word}: {point}" if point else word


def status_body(
    request: RecordedRequest,
    status: int,
    reason: str | None = None,
    retry_after: int | None = None,
    message: str = "",
) -> bytes:
    """The ``Status`` object that the API server would send with this status.

    A 404 whose reason is empty is about the path, not the object: the server says so in plain text.
    """
    if status == 404 and reason == "":
        return b"404 page not found\n"
    if reason is None:
        created_twice = status == 409 and request.verb == "create"
        reason = "AlreadyExists" if created_twice else _REASONS.get(status, _phrase(status).replace(" ", ""))
    details: dict[str, object] = {"name": request.name, "group": request.group, "kind": request.resource}
    if retry_after is not None:
        details["retryAfterSeconds"] = retry_after
    thing = f"{request.resource}.{request.group}" if request.group else request.resource
    return json.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message or _MESSAGES.get(reason, _phrase(status)).format(thing=thing, name=request.name),
            "reason": reason,
            "details": {key: value for key, value in details.items() if value != ""},
            "code": status,
        }
    ).encode()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "refused"
