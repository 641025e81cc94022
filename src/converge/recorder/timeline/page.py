"""The timeline as one HTML file that needs nothing else: picture, faults, and everything in order as text."""

from html import escape
from pathlib import Path
from typing import Any

import yaml

from converge.recorder.entries import FaultRecord, RecordedEvent, RecordedRequest
from converge.recorder.recording import Note, Recording
from converge.recorder.timeline import svg
from converge.recorder.timeline.model import Timeline

MOST_ROWS = 1000
MOST_BODY = 6000
DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # in C, where PyYAML has it: five times as fast

_STYLE = Path(__file__).with_name("page.css").read_text()
_SCRIPT = Path(__file__).with_name("page.js").read_text()


def page(recording: Recording) -> str:
    """The whole file."""
    timeline = Timeline.of(recording)
    title = escape(timeline.title or "Flight recorder")
    more = f"<p>{timeline.hidden} more objects are not drawn.</p>" if timeline.hidden else ""
    faults = "".join(f"<li>{escape(name)}</li>" for name in timeline.faults)
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{_STYLE}</style>
<h1>{title}</h1>
<p class="summary">{escape(timeline.summary)}</p>
<ul class="legend">{svg.legend()}</ul>
<div class="picture" tabindex="0" role="region" aria-label="The timeline; the table below says the same">
{svg.draw(timeline, own_colours=False, width=1120)}
</div>
{more}
{f'<h2>Faults</h2><ol class="faults">{faults}</ol>' if faults else ""}
<h2>In order</h2>
{table(recording)}
<script>{_SCRIPT}</script>
</html>
"""


def table(recording: Recording) -> str:
    """Everything that happened, as rows."""
    records: list[Any] = [*recording.requests, *recording.events, *recording.notes]
    hit = {request.number for request in recording.requests if request.fault}
    delivered = {(event.fault, event.object) for event in recording.events if event.fault}
    records += [f for f in recording.faults if f.request not in hit and (f.name, f.object) not in delivered]
    records.sort(key=lambda record: record.time)
    rows = [_row(record) for record in records[:MOST_ROWS] if getattr(record, "type", "") != "BOOKMARK"]
    left = len(records) - MOST_ROWS
    more = f"<p>{left} more are in the recording.</p>" if left > 0 else ""
    head = '<thead><tr><th scope="col">seconds</th><th scope="col">what</th></tr></thead>'
    return f"<table>{head}<tbody>{''.join(rows)}</tbody></table>{more}"


def _row(record: Any) -> str:
    match record:
        case RecordedRequest():
            look = _look(record)
            words = escape(str(record))
            if record.duration is not None and not record.is_watch:
                words += f" <small>{record.duration * 1000:.0f} ms</small>"
            body = _body(record)
            cell = f"<details><summary>{words}</summary><pre>{escape(body)}</pre></details>" if body else words
            return f'<tr id="r{record.number}" class="{look}"><td>{record.time:.3f}</td><td>{cell}</td></tr>'
        case RecordedEvent():
            look, words = "event", str(record)
        case FaultRecord():
            look, words = "fault", f"{record} ({record.object})"
        case Note():
            look, words = "note", f"{record.object + ': ' if record.object else ''}{record.text}"
        case _:
            return ""
    return f'<tr class="{look}"><td>{record.time:.3f}</td><td>{escape(words)}</td></tr>'


def _look(request: RecordedRequest) -> str:
    if request.status is None or request.status >= 400:
        return "read" if request.is_read and request.status == 404 else "refused"
    if not request.is_write:
        return "read"
    return "idle" if request.changed is False else "write"


def _body(request: RecordedRequest) -> str:
    """What a write said, as YAML, without what only machines read."""
    sent = request.sent
    if not request.is_write or not sent:
        return ""
    if isinstance(sent, dict):
        metadata = {key: value for key, value in (sent.get("metadata") or {}).items() if key != "managedFields"}
        sent = {**sent, **({"metadata": metadata} if metadata else {})}
        if request.resource == "secrets":
            hidden = {key: "(hidden)" for key in ("data", "stringData") if key in sent}
            sent = {**sent, **hidden}
    text = yaml.dump(sent, Dumper=DUMPER, sort_keys=False, allow_unicode=True)
    return text if len(text) <= MOST_BODY else text[:MOST_BODY] + "\n… cut here"
