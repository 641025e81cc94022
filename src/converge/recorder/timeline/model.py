"""A recording as a picture before it is drawn: one lane per object, with marks, spans and pauses in it.

What is drawn where is decided here, once for the terminal and the page; how it looks is left to ``terminal``, ``svg``
and ``page``.
"""

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from converge.recorder.entries import RecordedEvent, RecordedRequest
from converge.recorder.recording import Recording

OPERATOR = "operator"
DISCOVERY = "discovery"
# A pause between two tries that is shorter than this isn't a pause.
_SHORTEST_PAUSE = 0.05

_LETTERS = {"create": "C", "update": "U", "patch": "P", "apply": "A", "delete": "D", "deletecollection": "D"}

MARK_MEANINGS = {
    "write": "write that changed something",
    "idle": "write that changed nothing",
    "refused": "refused",
    "lost": "lost on the way",
    "read": "read",
    "missing": "read: not found",
    "event": "watch event",
    "watch": "open watch",
    "reconcile": "reconcile",
    "note": "what the grader did",
}


@dataclass
class Mark:
    """One moment in a lane."""

    time: float
    look: str
    """One of ``MARK_MEANINGS``."""
    text: str
    letter: str = ""
    label: str = ""
    """A word to set beside it, such as the status of a refusal."""
    fault: int | None = None
    """The number of the fault in ``Timeline.faults`` that hit here."""
    request: RecordedRequest | None = None


@dataclass
class Span:
    """Something that lasts: an open watch, a reconcile, a pause before the next try."""

    start: float
    end: float
    look: str
    text: str


@dataclass
class Lane:
    """One object, or the collection that lists and watches ask for."""

    name: str
    marks: list[Mark] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)


@dataclass
class Timeline:
    """All of it."""

    title: str
    summary: str
    start: float
    end: float
    lanes: list[Lane]
    faults: list[str]
    hidden: int = 0
    """How many lanes are left out."""

    @classmethod
    def of(cls, recording: Recording, most_lanes: int = 40) -> "Timeline":
        """Lay a recording out."""
        return _Layout(recording).timeline(most_lanes)


def summarise(recording: Recording) -> str:
    """The recording in one sentence of figures."""
    writes, reads = recording.writes(), recording.reads()
    idle = sum(1 for request in writes if request.changed is False and request.status and request.status < 400)
    refused = sum(1 for request in writes if request.status and request.status >= 400)
    watches = recording.watches()
    parts = [_count(len(writes), "write")]
    remarks = [f"{idle} changed nothing" if idle else "", f"{refused} refused" if refused else ""]
    if any(remarks):
        parts[0] += f" ({', '.join(remark for remark in remarks if remark)})"
    parts += [_count(len(reads), "read"), _count(len(watches), "watch", "watches")]
    parts += [_count(len(recording.events), "event"), _count(len(recording.faults), "fault")]
    return ", ".join(parts)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


class _Layout:
    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.lanes: dict[str, Lane] = {OPERATOR: Lane(OPERATOR)}
        self.fault_names: list[str] = []
        spaces = Counter(request.namespace for request in recording.requests if request.namespace)
        self.many_namespaces = len(spaces) > 1

    def timeline(self, most_lanes: int) -> Timeline:
        recording = self.recording
        for note in recording.notes:
            lane = self._lane(note.object or OPERATOR)
            if note.duration:
                lane.spans.append(Span(note.time, note.time + note.duration, "reconcile", note.text))
            else:
                lane.marks.append(Mark(note.time, "note", note.text))
        for request in recording.requests:
            self._request(request)
        for event in recording.events:
            if event.type != "BOOKMARK":
                self._event(event)
        self._mark_swallowed_events()
        lanes = [lane for lane in self.lanes.values() if lane.marks or lane.spans]
        for lane in lanes:
            lane.marks.sort(key=lambda mark: mark.time)
            for before, mark in pairwise(lane.marks):
                mark.time = max(mark.time, before.time + 1e-6)  # two at once would cover each other
            lane.spans += list(_pauses(lane))
        lanes.sort(key=_rank)
        times = [mark.time for lane in lanes for mark in lane.marks]
        ends = [span.end for lane in lanes for span in lane.spans if span.look != "watch"]
        return Timeline(
            title=recording.title,
            summary=summarise(recording),
            start=min(times, default=0.0),
            end=max([*times, *ends], default=0.0),
            lanes=lanes[:most_lanes],
            faults=self.fault_names,
            hidden=max(0, len(lanes) - most_lanes),
        )

    def _lane(self, name: str) -> Lane:
        return self.lanes.setdefault(name, Lane(name))

    def _lane_of(self, resource: str, name: str, namespace: str) -> Lane:
        if not resource:
            return self._lane(DISCOVERY)
        thing = f"{resource}/{name}" if name else resource
        return self._lane(f"{namespace}: {thing}" if namespace and self.many_namespaces else thing)

    def _request(self, request: RecordedRequest) -> None:
        lane = self._lane_of(request.resource, request.name, request.namespace)
        if request.is_watch and request.status == 200:
            end = request.ended if request.ended is not None else self.recording.length or request.time
            lane.spans.append(Span(request.time, end, "watch", str(request)))
        refused = request.status is not None and request.status >= 400
        look = "write" if request.is_write else "read"
        if request.status is None and request.duration is not None:
            look = "lost"
        elif request.status == 404 and request.is_read:
            look = "missing"
        elif refused:
            look = "refused"
        elif request.is_write and request.changed is False:
            look = "idle"
        lane.marks.append(
            Mark(
                request.time,
                look,
                str(request),
                letter=_LETTERS.get(request.verb, "") if request.is_write else "",
                label=str(request.status) if look == "refused" else "",
                fault=self._fault(request.fault),
                request=request,
            )
        )

    def _event(self, event: RecordedEvent) -> None:
        lane = self._lane_of(event.resource, event.name, event.namespace)
        lane.marks.append(Mark(event.time, "event", str(event), fault=self._fault(event.fault)))

    def _mark_swallowed_events(self) -> None:
        """Events that a fault swallowed are in no lane yet."""
        shown = {(event.fault, event.object) for event in self.recording.events if event.fault}
        hit = {request.number for request in self.recording.requests if request.fault}
        for record in self.recording.faults:
            if record.request in hit or (record.name, record.object) in shown:
                continue
            mark = Mark(record.time, "lost", str(record), fault=self._fault(record.name))
            self._lane(record.object).marks.append(mark)

    def _fault(self, name: str | None) -> int | None:
        if name is None:
            return None
        if name not in self.fault_names:
            self.fault_names.append(name)
        return self.fault_names.index(name) + 1


def _rank(lane: Lane) -> tuple[int, float]:
    """The operator first, then objects, then collections, discovery last; each by its first mark."""
    place = {OPERATOR: 0, DISCOVERY: 3}.get(lane.name, 1 if "/" in lane.name else 2)
    return place, lane.marks[0].time if lane.marks else lane.spans[0].start


def _pauses(lane: Lane) -> list[Span]:
    """The waits between a try that failed and the next try of the same."""
    pauses = []
    failed: dict[str, RecordedRequest] = {}
    for mark in lane.marks:
        request = mark.request
        if request is None or request.is_watch:
            continue
        before = failed.pop(request.verb, None)
        if before is not None and before.ended is not None:
            wait = request.time - before.ended
            if wait >= _SHORTEST_PAUSE:
                pauses.append(Span(before.ended, request.time, "pause", f"{wait:.2g} s until the next try"))
        if mark.look in ("refused", "lost"):
            failed[request.verb] = request
    return pauses
