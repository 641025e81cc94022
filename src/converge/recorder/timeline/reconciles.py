"""Reconciles from the operator's own log, for the timeline: when one ended, of which object, how long it took.

The runtime says so at the level ``debug``, as text or as JSON. Logs of others have no such line, and need none. An
operator may print what it likes: a line that only looks like one of these is passed over.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime

from converge.recorder.recording import Note
from converge.recorder.routes import plural

_TEXT = re.compile(
    r"(?P<time>\d\d:\d\d:\d\d\.\d{3}) DEBUG (?P<controller>\S+) (?P<key>\S+): (?P<message>reconciled in .*)"
)
_NUMBER = r"\d{1,9}(?:\.\d{1,9})?(?:e[+-]\d\d)?"  # as %g writes it
_MESSAGE = re.compile(rf"reconciled in (?P<milliseconds>{_NUMBER}) ms(?:, again in (?P<again>-?{_NUMBER}) s)?")
_DAY = 86400


def reconciles(log: str, started: float) -> Iterator[Note]:
    """A note for each reconcile in the log of an operator whose recording began at ``started`` (seconds since 1970)."""
    for line in log.splitlines():
        fields = _fields(line)
        took = _MESSAGE.match(fields.get("message", ""))
        if took is None or not {"key", "controller", "time"} <= fields.keys():
            continue
        seconds = float(took["milliseconds"]) / 1000
        name = fields["key"].rpartition("/")[2]
        ended = _seconds_since(started, fields["time"])
        if ended is None or not 0 <= seconds <= _DAY:
            continue
        what = f"reconcile of {name}: {seconds * 1000:.0f} ms"
        yield Note(ended - seconds, what, f"{plural(fields['controller'])}/{name}", seconds)


def asked_to_look_again(log: str, name: str) -> float | None:
    """The seconds after which a controller's last pass over the object of that name asked for another, if one did."""
    last: dict[str, str | None] = {}
    for line in log.splitlines():
        fields = _fields(line)
        took = _MESSAGE.match(fields.get("message", ""))
        if took and fields.get("key", "").rpartition("/")[2] == name:
            last[fields.get("controller", "")] = took["again"]
    return min((float(again) for again in last.values() if again), default=None)


def without_reconciles(log: str) -> str:
    """The log as it would be at the level ``info``."""
    lines = log.splitlines(keepends=True)
    return "".join(line for line in lines if not _MESSAGE.match(_fields(line).get("message", "")))


def _fields(line: str) -> dict[str, str]:
    if line.startswith("{"):
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            return {}
        return {key: value for key, value in said.items() if isinstance(value, str)}
    found = _TEXT.match(line)
    return found.groupdict() if found else {}


def _seconds_since(started: float, time: str) -> float | None:
    """When a line was written; None if that isn't a time of this run."""
    try:
        if "T" in time:
            passed = datetime.fromisoformat(time).timestamp() - started
            return passed if abs(passed) < _DAY else None
        clock = datetime.strptime(time, "%H:%M:%S.%f")
    except (ValueError, OverflowError):
        return None
    begin = datetime.fromtimestamp(started)
    midnight = begin.replace(hour=0, minute=0, second=0, microsecond=0)
    passed = (clock - datetime(1900, 1, 1)).total_seconds() - (begin - midnight).total_seconds()
    return passed % _DAY  # the log says no date; a run does not last a day
