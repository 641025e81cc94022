"""A recording: all that passed between an operator and the API server in one run.

Written by the recorder's thread and read by any other. A recording can be saved as JSON and loaded again;
that file is what ``converge show`` draws.
"""

import base64
import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self, TypeVar

from converge.files import write_whole
from converge.recorder import matching
from converge.recorder.entries import FaultRecord, RecordedEvent, RecordedRequest
from converge.recorder.matching import RequestMatch
from converge.recorder.routes import Route

FORMAT = "converge/recording/v1"
T = TypeVar("T")


@dataclass(frozen=True)
class Note:
    """A remark of the grader (“operator crashed”, “check 3 begins”) or a line of the operator's own log."""

    time: float
    text: str
    object: str = ""
    """The lane that it belongs to, such as ``webapps/web``; the operator's when empty."""
    duration: float = 0.0
    """For a reconcile: how long it took."""


@dataclass
class Recording:
    """Requests, events, faults and notes, each in order of time, with the questions that checks ask."""

    title: str = ""
    started: float = field(default_factory=time.time)
    """Wall clock at which the recording began, seconds since 1970."""
    length: float | None = None
    """Seconds from begin to end; None while it is being written."""
    requests: list[RecordedRequest] = field(default_factory=list)
    events: list[RecordedEvent] = field(default_factory=list)
    faults: list[FaultRecord] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        self._news = 0
        self._began = time.monotonic()
        self.focus = 0.0  # what is saved and drawn begins here

    # --- questions

    def matching(self, match: Callable[[RecordedRequest], bool]) -> list[RecordedRequest]:
        """The requests that ``match`` says yes to."""
        return [request for request in tuple(self.requests) if match(request)]

    def writes(self, kind: str | None = None, *, changed: bool | None = None, **which: Any) -> list[RecordedRequest]:
        """Creates, updates, patches, applies and deletes. ``changed=True``: only those that changed something;
        ``changed=False``: only those that changed nothing. The other words are those of ``matching.writes``."""
        found = self.matching(matching.writes(kind, **which))
        return found if changed is None else [request for request in found if request.changed is changed]

    def reads(self, kind: str | None = None, **which: Any) -> list[RecordedRequest]:
        """Gets and lists of objects."""
        return self.matching(matching.reads(kind, **which))

    def watches(self, kind: str | None = None, **which: Any) -> list[RecordedRequest]:
        """Watch requests; an open one has ``duration`` None."""
        return self.matching(matching.watches(kind, **which))

    def delivered(self, kind: str | None = None, **which: Any) -> list[RecordedEvent]:
        """Watch events that reached the operator."""
        match = matching.events(kind, **which)
        return [event for event in tuple(self.events) if match(event)]

    def since(self, mark: float) -> "Recording":
        """The part of it that arrived at ``mark`` or later, as far as it has come."""
        return Recording(
            title=self.title,
            started=self.started,
            length=self.now() if self.length is None else self.length,
            requests=[request for request in tuple(self.requests) if request.time >= mark],
            events=[event for event in tuple(self.events) if event.time >= mark],
            faults=[fault for fault in tuple(self.faults) if fault.time >= mark],
            notes=[note for note in tuple(self.notes) if note.time >= mark],
        )

    def __str__(self) -> str:
        return "\n".join(f"{request.time:8.3f}  {request}" for request in tuple(self.requests))

    # --- time, and waiting

    def now(self) -> float:
        """Seconds since the recording began."""
        return time.monotonic() - self._began

    def notify(self) -> None:
        """Wake those who wait: something was written down."""
        with self._changed:
            self._news += 1
            self._changed.notify_all()

    def wait_for(self, predicate: Callable[[], T], deadline: float) -> T:
        """Ask ``predicate`` after each new record until it says yes, at most ``deadline`` seconds; its last answer."""
        end = time.monotonic() + deadline
        while True:
            # Asked without the lock: a slow predicate must not hold up the recorder.
            heard = self._news
            answer = predicate()
            remaining = end - time.monotonic()
            if answer or remaining <= 0:
                return answer
            with self._changed:
                while self._news == heard and self._changed.wait(max(0.0, end - time.monotonic())):
                    pass

    def wait_quiet(self, seconds: float, deadline: float, ignoring: RequestMatch | None = None) -> bool:
        """Wait until for ``seconds`` no request came and none is under way, open watches aside.

        True as soon as that is so; False when ``deadline`` seconds passed before. The quiet is counted from now at
        the earliest, so that a call right after a change does not see the rest that was before it.
        """
        began = self.now()
        while True:
            now = self.now()
            quiet_at = self._last_activity(began, now, ignoring) + seconds
            if now >= quiet_at:
                return True
            if now >= began + deadline:
                return False
            time.sleep(min(quiet_at, began + deadline) - now)

    def _last_activity(self, began: float, now: float, ignoring: RequestMatch | None) -> float:
        last = began
        for request in reversed(tuple(self.requests)):
            if request.is_watch or (ignoring is not None and ignoring(request)):
                continue
            if request.duration is None:
                return now
            last = max(last, request.time + request.duration)
        return last

    # --- files

    def save(self, path: Path) -> Path:
        """Write it as JSON, atomically: a concurrent reader sees the old file or the new one."""
        shown = self.since(self.focus) if self.focus else self
        write_whole(path, json.dumps(shown.as_json()) + "\n")
        return path

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what ``save`` wrote."""
        return cls.from_json(json.loads(path.read_text(encoding="utf-8")))

    def as_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "title": self.title,
            "started": self.started,
            "length": self.now() if self.length is None else self.length,
            "requests": [_request_as_json(request) for request in tuple(self.requests)],
            "events": [asdict(event) for event in tuple(self.events)],
            "faults": [asdict(fault) for fault in tuple(self.faults)],
            "notes": [asdict(note) for note in tuple(self.notes)],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        if data.get("format") != FORMAT:
            raise ValueError(f"not a recording: its format is {data.get('format')!r}, not {FORMAT!r}")
        return cls(
            title=data["title"],
            started=data["started"],
            length=data["length"],
            requests=[_request_from_json(row) for row in data["requests"]],
            events=[RecordedEvent(**row) for row in data["events"]],
            faults=[FaultRecord(**row) for row in data["faults"]],
            notes=[Note(**row) for row in data["notes"]],
        )


def _request_as_json(request: RecordedRequest) -> dict[str, Any]:
    row: dict[str, Any] = {item.name: getattr(request, item.name) for item in fields(request)}
    row["route"] = asdict(request.route)
    for body in ("sent_body", "answer_body"):
        row[body] = _text(row[body])
    return row


def _request_from_json(row: dict[str, Any]) -> RecordedRequest:
    bodies = {body: _bytes(row[body]) for body in ("sent_body", "answer_body")}
    return RecordedRequest(**{**row, **bodies, "route": Route(**row["route"])})


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return "base64:" + base64.b64encode(body).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text[7:]) if text.startswith("base64:") else text.encode()
