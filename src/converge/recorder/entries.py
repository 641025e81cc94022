"""What the recorder writes down: requests, watch events, faults. Plain data, one line of text each."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from converge.recorder.bodies import parse_json
from converge.recorder.routes import READ_VERBS, Route

BODY_CAP = 256 * 1024
# Some refusals print whole objects; the line of a request is for people.
LONGEST_REASON = 300


@dataclass
class RecordedRequest:
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
    """Which write of the run this is, from 1; None for anything that isn't a write."""
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
    """The name of the fault that hit it."""
    reason: str = ""
    """Why the server refused it, in the server's own words: ``Invalid: spec.replicas: …``; empty if it didn't."""
    note: str = ""
    """Why there was no answer, or why the recorder couldn't read it."""
    name: str = ""
    """Also of a create, whose URL has none; a generated one is known with the answer."""
    kind: str = ""
    """As the server's answer has it; empty while nothing was answered."""
    among_namespaces: bool = False
    """Whether the operator works in several namespaces, where a name alone doesn't say which object."""

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
    def last_moment(self) -> float:
        """When it ended; while it's under way, when it came."""
        return self.time + (self.duration or 0)

    @property
    def object(self) -> str:
        """The object as kubectl writes it: ``deployments/web``; the path where there is no object."""
        if not self.resource:
            return self.path.partition("?")[0]
        namespace = self.namespace if self.among_namespaces else ""
        return "/".join(part for part in (self.resource, namespace, self.name, self.subresource) if part)

    @cached_property
    def sent(self) -> Any:
        """The body that the operator sent, parsed; None when there is none or it isn't JSON."""
        return parse_json(self.sent_body)

    @cached_property
    def answer(self) -> Any:
        """The body of the answer, parsed; None when it was not kept (lists, watches) or isn't JSON."""
        return parse_json(self.answer_body)

    def __str__(self) -> str:
        line = f"{self.verb.upper()} {self.object}"
        remarks = []
        if self.status is not None and self.status >= 400:
            line += f" → {self.status} {_shortened(self.reason)}".rstrip()
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
class RecordedEvent:
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
    among_namespaces: bool = False

    @property
    def object(self) -> str:
        namespace = self.namespace if self.among_namespaces else ""
        return "/".join(part for part in (self.resource, namespace, self.name) if part)

    def __str__(self) -> str:
        fault = f" (fault: {self.fault})" if self.fault else ""
        return f"event {self.type} {self.object}{fault}"


@dataclass
class FaultRecord:
    """The moment at which a fault hit, and what it hit."""

    time: float
    name: str
    object: str
    request: int | None = None

    def __str__(self) -> str:
        return f"fault: {self.name}"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"
