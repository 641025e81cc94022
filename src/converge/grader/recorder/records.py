"""What the recorder writes down: requests, watch events, faults. Plain data, one line of text each."""

import json
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Any

from converge.grader.recorder.routes import READ_VERBS, Route

BODY_CAP = 256 * 1024


@dataclass
class Request:
    """One request of the operator, from its arrival to its answer."""

    number: int
    """1, 2, 3 … in order of arrival."""
    time: float
    """Arrival, in seconds since the recording began."""
    method: str
    path: str
    route: Route
    user_agent: str = ""
    write: int | None = None
    """Which write of the run this is, from 1; None for all that is no write."""
    duration: float | None = None
    """Seconds until the answer was complete; None while it is under way."""
    status: int | None = None
    """The HTTP status that the operator saw; None when it saw none (yet)."""
    changed: bool | None = None
    """Whether the object is another than before; None where that is not known."""
    version_before: str = ""
    version_after: str = ""
    request_size: int = 0
    response_size: int = 0
    sent_body: bytes = b""
    answer_body: bytes = b""
    fault: str | None = None
    """The name of the fault that struck it."""
    note: str = ""
    """Why there was no answer, in words."""
    name: str = ""
    """Also of a create, whose URL has none; a generated one is known with the answer."""
    kind: str = ""
    """As the server's answer has it; empty while nothing was answered."""

    @property
    def verb(self) -> str:
        return self.route.verb

    @property
    def group(self) -> str:
        return self.route.group

    @property
    def version(self) -> str:
        return self.route.version

    @property
    def resource(self) -> str:
        return self.route.resource

    @property
    def subresource(self) -> str:
        return self.route.subresource

    @property
    def namespace(self) -> str:
        return self.route.namespace

    @property
    def is_write(self) -> bool:
        """Asks the server to store something. A dry run and an access review are no writes."""
        return self.route.writes

    @property
    def is_read(self) -> bool:
        """A get or list of objects. Discovery is none."""
        return self.verb in READ_VERBS and bool(self.resource)

    @property
    def is_watch(self) -> bool:
        return self.verb == "watch"

    @property
    def ended(self) -> float | None:
        return None if self.duration is None else self.time + self.duration

    @property
    def object(self) -> str:
        """The object as kubectl writes it: ``deployments/web``; the path where there is no object."""
        if not self.resource:
            return self.path.partition("?")[0]
        return "/".join(part for part in (self.resource, self.name, self.subresource) if part)

    @cached_property
    def sent(self) -> Any:
        """The body that the operator sent, parsed; None when there is none or it is no JSON."""
        return _parse(self.sent_body)

    @cached_property
    def answer(self) -> Any:
        """The body of the answer, parsed; None when it was not kept (lists, watches) or is no JSON."""
        return _parse(self.answer_body)

    @property
    def reason(self) -> str:
        """The reason of a refusal in Kubernetes' words, such as ``AlreadyExists``."""
        if self.status is None or self.status < 400:
            return ""
        answer = _parse(self.answer_body)
        reason = answer.get("reason") if isinstance(answer, dict) else None
        return str(reason or HTTPStatus(self.status).phrase)

    def __str__(self) -> str:
        line = f"{self.verb.upper()} {self.object}"
        remarks = []
        if self.status is not None and self.status >= 400:
            line += f" → {self.status} {self.reason}"
        elif self.status is None and not self.is_watch and not self.note:
            remarks.append("not answered yet" if self.duration is None else "no answer")
        elif self.status is not None and self.is_write and self.changed is False:
            remarks.append("changed nothing")
        if self.note:
            remarks.append(self.note)
        if self.fault:
            remarks.append(f"fault: {self.fault}")
        return line + (f" ({'; '.join(remarks)})" if remarks else "")


@dataclass
class WatchEvent:
    """One event that the recorder handed to the operator."""

    time: float
    """When it was passed on."""
    watch: int
    """The number of the watch request that it came by."""
    type: str
    resource: str
    namespace: str
    name: str
    resource_version: str
    arrived: float = 0.0
    """When the API server sent it."""
    fault: str | None = None

    @property
    def object(self) -> str:
        return f"{self.resource}/{self.name}" if self.name else self.resource

    def __str__(self) -> str:
        struck = f" (fault: {self.fault})" if self.fault else ""
        return f"event {self.type} {self.object}{struck}"


@dataclass
class FaultRecord:
    """The moment at which a fault struck, and what it struck."""

    time: float
    name: str
    object: str
    request: int | None = None

    def __str__(self) -> str:
        return f"fault: {self.name}"


def _parse(body: bytes) -> Any:
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError:
        return None
