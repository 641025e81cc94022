"""Which of an operator's requests explain a failure: what was refused, and why; what it changed, and how.

Reads that found nothing before a create are no news, nor are writes that changed nothing, unless there is nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from itertools import groupby
from typing import TYPE_CHECKING, Any

from converge.testing.verdicts.values import LINE_BREAK, differences

if TYPE_CHECKING:
    from converge.recorder import RecordedRequest, Recorder
    from converge.recorder.entries import RecordedEvent

MOST_LINES = 6  # lines of each kind
CHANGES_SHOWN = 3  # of one write
LONGEST_VALUE = 80
LONGEST_SENT = 160
BY_THE_SERVER = ("metadata.managedFields", "metadata.resourceVersion", "metadata.generation", "status")
Place = tuple[str, str, str]  # a resource, a namespace, a name
Version = tuple[str, str, str, str]  # and a version of it
NOT_STATE = ("events", "leases")  # a word to people and a sign of life: neither is what a check judges


def refused(recorder: Recorder) -> list[str]:
    """The requests that the server refused, with its reason, each once."""
    known = _known(recorder)
    times: Counter[str] = Counter()
    for each in recorder.requests:
        if is_refused(each) and not _expected(each, known):
            line = str(each)
            times[line] = times.pop(line, 0) + 1  # in the order in which they came last
    return [_with_times(line, number) for line, number in times.items()][-MOST_LINES:]


def is_refused(request: RecordedRequest) -> bool:
    return (request.status or 0) >= 400


def written(requests: Sequence[RecordedRequest]) -> list[str]:
    """The last writes that changed something, each with what it changed; if none did, the last of the others."""
    done = [each for each in requests if each.is_write and not is_refused(each) and each.resource not in NOT_STATE]
    answers: dict[Version, RecordedRequest] = {}
    for each in requests:
        if each.kind and each.answer_body and each.version_after:  # a table has no kind
            answers.setdefault((*_place(each), each.version_after), each)
    changing = [_changed(each, answers) for each in done if each.changed is not False]
    return counted(changing)[-MOST_LINES:] or counted([str(each) for each in done])[-MOST_LINES:]


def counted(lines: Sequence[str]) -> list[str]:
    """Each line once; one that comes several times in a row says how often."""
    return [_with_times(line, len(list(run))) for line, run in groupby(lines)]


def _with_times(line: str, times: int) -> str:
    return f"{line}  ×{times}" if times > 1 else line


def _place(record: RecordedRequest | RecordedEvent) -> Place:
    return record.resource, record.namespace, record.name


def _known(recorder: Recorder) -> set[Place]:
    """The objects that were there at some time, or were about to be made. One who asks in a loop asks very often."""
    asked = {_place(each) for each in recorder.requests if each.is_write or not is_refused(each)}
    return asked | {_place(each) for each in recorder.events}


def _expected(request: RecordedRequest, known: Set[Place]) -> bool:
    """Whether a read found nothing of an object that was there at another time, or is about to be made."""
    return request.status == 404 and not request.is_write and _place(request) in known


def _changed(request: RecordedRequest, answers: Mapping[Version, RecordedRequest]) -> str:
    """A write and what it did to its object, where an earlier answer shows how that was before."""
    line, before = str(request), _before(request, answers)
    if before is None or not isinstance(request.answer, dict):
        sent = LINE_BREAK.sub(" ", request.sent_body.decode(errors="replace"))
        return f"{line}\n    sent: {sent}" if 0 < len(sent) <= LONGEST_SENT else line
    found = [
        f"{each.path}: {_short(each.want)} → {_short(each.got)}"
        for each in differences(request.answer, before)
        if not each.path.startswith(BY_THE_SERVER if not request.subresource else BY_THE_SERVER[:-1])
    ]
    more = [f"… and {len(found) - CHANGES_SHOWN} more"] if len(found) > CHANGES_SHOWN else []
    return "\n    ".join([line, *found[:CHANGES_SHOWN], *more])


def _before(request: RecordedRequest, answers: Mapping[Version, RecordedRequest]) -> dict[str, Any] | None:
    """The object as it was just before a write; None where no answer showed that version."""
    found = answers.get((*_place(request), request.version_before))
    return found.answer if found and isinstance(found.answer, dict) else None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_VALUE else f"{line[:LONGEST_VALUE]}…"
