# ruff: noqa: N818 (the names are the server's own reasons)
"""What can go wrong between an operator and the API server.

    RuntimeProblem                  everything that this package raises on purpose
    ├── ConfigError                 no kubeconfig, a broken one, an unknown context
    └── ApiError                    the server refused, or did not answer
        ├── BadRequest              400
        ├── Unauthorized            401
        ├── Forbidden               403
        ├── NotFound                404
        ├── UnknownKind             404  no such apiVersion and kind is served (is the CRD installed?)
        ├── Conflict                409  the object has changed since it was read
        ├── AlreadyExists           409  an object with that name exists
        ├── Gone                    410  that resourceVersion is too old: list again
        ├── Invalid                 422  the object breaks its schema or a rule
        ├── TooManyRequests         429  `retry_after` says how long to wait, if the server said so
        ├── Unavailable             5xx, or no connection
        └── Timeout                 504, or no answer in time

``UnknownKind`` isn't a ``NotFound``: a reconciler that treats a missing object as deleted must not treat a
missing CustomResourceDefinition as a thousand deleted objects.
"""

import json
from collections.abc import Mapping
from typing import Any


class RuntimeProblem(Exception):
    """An error whose message is meant to be read by a person, without a traceback."""


class ConfigError(RuntimeProblem):
    """There is no usable configuration of a cluster."""


class ApiError(RuntimeProblem):
    """The API server refused a request, or gave no answer.

    The message says what was asked, of which object, and what the server answered.
    """

    def __init__(
        self,
        asked: str,
        answer: str,
        *,
        status: int | None = None,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        code = " ".join(str(part) for part in (status, reason) if part)
        super().__init__(f"{asked}: {code}: {answer}" if code else f"{asked}: {answer}")
        self.asked = asked
        self.answer = answer
        #: The HTTP status, or ``None`` when there was no answer.
        self.status = status
        #: The server's machine-readable reason, such as ``AlreadyExists``.
        self.reason = reason
        #: The server's ``details``: name, kind, and the causes field by field.
        self.details: Mapping[str, Any] = details or {}
        #: Seconds that the server asked to wait, or ``None``.
        self.retry_after = retry_after


class BadRequest(ApiError):
    """400: the request makes no sense to the server."""


class Unauthorized(ApiError):
    """401: the server does not know who is asking (a token that expired?)."""


class Forbidden(ApiError):
    """403: the server knows who is asking, and does not allow it (RBAC, quota, admission)."""


class NotFound(ApiError):
    """404: there is no such object."""


class UnknownKind(ApiError):
    """The server does not serve this apiVersion and kind."""


class Conflict(ApiError):
    """409: the object has changed since it was read; or another field manager owns a field."""


class AlreadyExists(ApiError):
    """409: an object with that name already exists."""


class Gone(ApiError):
    """410: the server no longer has that resourceVersion; list again."""


class Invalid(ApiError):
    """422: the object breaks its schema or a validation rule; trying again changes nothing."""


class TooManyRequests(ApiError):
    """429: the server is busy."""


class Unavailable(ApiError):
    """5xx, or no connection at all: the server cannot answer now."""


class Timeout(ApiError):
    """504, or no answer within the time allowed. A write may have happened."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
    504: Timeout,
}


def error_from_status(
    asked: str, status: Mapping[str, Any], *, http_status: int | None = None, retry_after: float | None = None
) -> ApiError:
    """Build the error for a ``Status`` object, the way in which the server says no."""
    code = int(status.get("code") or http_status or 0)
    reason = str(status.get("reason") or "")
    details = status.get("details") or {}
    if retry_after is None and details.get("retryAfterSeconds"):
        retry_after = float(details["retryAfterSeconds"])
    kind = _BY_STATUS.get(code, Unavailable if code >= 500 else ApiError)
    if reason == "AlreadyExists":
        kind = AlreadyExists
    elif reason in ("Expired", "Gone"):
        kind = Gone
    answer = str(status.get("message") or "no explanation given").strip()
    return kind(asked, answer, status=code, reason=reason, details=details, retry_after=retry_after)


def error_from_response(asked: str, http_status: int, body: bytes, *, retry_after: float | None = None) -> ApiError:
    """Build the error for an HTTP answer of 400 or above."""
    return error_from_status(asked, _parse_status(body), http_status=http_status, retry_after=retry_after)


def _parse_status(body: bytes) -> Mapping[str, Any]:
    """The ``Status`` in ``body``; proxies and dying servers answer in plain text instead."""
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = None
    if isinstance(parsed, dict) and parsed.get("kind") == "Status":
        return parsed
    text = body.decode(errors="replace").strip()
    return {"message": text[:500] or "an empty answer"}
