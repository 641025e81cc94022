"""The flight recorder: a proxy in front of the API server that records every request, and misbehaves on request.

    with Recorder(server=cluster.server, ca_file=cluster.ca_file) as recorder:
        recorder.url                                                  # the server in the operator's kubeconfig
        recorder.fail(writes("Deployment"), nth=1, status=409)        # the first write of a Deployment is refused
        recorder.kill_after(writes(), nth=2, kill=operator.crash)     # and a crash right after the second write of all
        mark = recorder.mark()
        …
        assert recorder.wait_quiet(0.5, deadline=10)
        recorder.since(mark).writes("Deployment", name="web", changed=False)

How it is built: ``routes`` (URL to verb and object), ``entries`` and ``recording`` (what is kept), ``matching`` (which
requests a check means), ``faults`` (what can go wrong), ``http``, ``proxy``, ``exchange``, ``open_watch`` and
``stream`` (the HTTP in between), ``recorder`` (what checks call), ``timeline`` (what draws it).
"""

from converge.recorder.entries import FaultRecord, RecordedEvent, RecordedRequest
from converge.recorder.faults.base import EventFault, Fault, RequestFault
from converge.recorder.matching import events, reads, requests, watches, writes
from converge.recorder.recorder import Recorder, RecorderError
from converge.recorder.recording import Note, Recording

__all__ = [
    "EventFault",
    "Fault",
    "FaultRecord",
    "Note",
    "RecordedEvent",
    "RecordedRequest",
    "Recorder",
    "RecorderError",
    "Recording",
    "RequestFault",
    "events",
    "reads",
    "requests",
    "watches",
    "writes",
]
