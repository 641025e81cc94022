"""Which of an operator's requests explain a failure: what was refused, and why; what it changed, and how.

Reads that found nothing before a create are no news, nor are writes that changed nothing, unless there is nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from converge.testing.verdicts.values import differences

if TYPE_CHECKING:
    from converge.recorder import RecordedRequest, Recorder

MOST_LINES = 6  # lines of each kind
CHANGES_SHOWN = 3  # of one write
LONGEST_VALUE = 80
LONGEST_SENT = 160
BY_THE_SERVER = ("metadata.managedFields", "metadata.resourceVersion", "metadata.generation", "status")
NOT_STATE = ("events", "leases")  # a word to people and a sign of life: neither is what a check judges


def refused(recorder: Recorder) -> list[str]:
    """The requests that the server refused, with its reason, each once."""
    lines = [str(each) for each in recorder.requests if is_refused(each) and not _expected(each, recorder)]
    return counted(lines)[-MOST_LINES:]


def is_refused(request: RecordedRequest) -> bool:
    return (request.status or 0) >= 400


def written(requests: Sequence[RecordedRequest]) -> list[str]:
    """The last writes that changed something, each with what it changed; if none did, the last of the others."""
    done = [each for each in requests if each.is_write and not is_refused(each) and each.resource not in NOT_STATE]
    changing = [_changed(each, requests) for each in done if each.changed is not False]
    return counted(changing)[-MOST_LINES:] or counted([str(each) for each in done])[-MOST_LINES:]


def counted(lines: Sequence[str]) -> list[str]:
    """Each line once; one that comes several times in a row says how often."""
    found = [(line, len(list(run))) for line, run in groupby(lines)]
    return [f"{line}  ×{times}" if times > 1 else line for line, times in found]


def _expected(request: RecordedRequest, recorder: Recorder) -> bool:
    """Whether a read found nothing of an object that was there at another time, or is about to be made."""
    if request.status != 404 or request.is_write:
        return False
    place = (request.resource, request.namespace, request.name)
    return any((event.resource, event.namespace, event.name) == place for event in recorder.events) or any(
        (each.resource, each.namespace, each.name) == place and (each.is_write or not is_refused(each))
        for each in recorder.requests
    )


def _changed(request: RecordedRequest, requests: Sequence[RecordedRequest]) -> str:
    """A write and what it did to its object, where an earlier answer shows how that was before."""
    line, before = str(request), _before(request, requests)
    if before is None or not isinstance(request.answer, dict):
        sent = request.sent_body.decode(errors="replace")
        return f"{line}\n    sent: {sent}" if 0 < len(sent) <= LONGEST_SENT else line
    found = [
        f"{each.path}: {_short(each.want)} → {_short(each.got)}"
        for each in differences(request.answer, before)
        if not each.path.startswith(BY_THE_SERVER if not request.subresource else BY_THE_SERVER[:-1])
    ]
    more = [f"… and {len(found) - CHANGES_SHOWN} more"] if len(found) > CHANGES_SHOWN else []
    return "\n    ".join([line, *found[:CHANGES_SHOWN], *more])


def _before(request: RecordedRequest, requests: Sequence[RecordedRequest]) -> dict[str, Any] | None:
    """The object as it was just before a write; None where no answer showed that version."""
    place = (request.resource, request.namespace, request.name)
    for each in requests:
        if request.version_before and (each.resource, each.namespace, each.name) == place:
            answer = each.answer
            if isinstance(answer, dict) and answer.get("metadata", {}).get("resourceVersion") == request.version_before:
                return answer
    return None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_VALUE else f"{line[:LONGEST_VALUE]}…"
