"""The flight recorder: a proxy before the API server that writes down all that passes, and misbehaves on order.

    with Recorder(server=cluster.server, ca_file=cluster.ca_file) as recorder:
        recorder.url                                                  # the server in the operator's kubeconfig
        recorder.fail(writes("Deployment"), nth=1, status=409)        # the first write of a Deployment is refused
        recorder.kill_after(writes(), nth=2, kill=operator.kill)      # and a crash right after the second write of all
        mark = recorder.mark()
        …
        assert recorder.wait_quiet(0.5, deadline=10)
        recorder.since(mark).writes("Deployment", name="web", changed=False)

How it is built: ``routes`` (URL to verb and object), ``records`` and ``recording`` (what is kept), ``matching`` (which
requests a check means), ``faults`` and ``event_faults`` (what can go wrong), ``wire``, ``upstream``, ``proxy`` and
``stream`` (the HTTP in between), ``stale`` (answers from the past), ``recorder`` (the face to the checks), ``timeline``
and what draws it.
"""

from converge.grader.recorder.event_faults import EventFault
from converge.grader.recorder.faults import Fault
from converge.grader.recorder.matching import events, reads, requests, watches, writes
from converge.grader.recorder.recorder import Recorder, RecorderError
from converge.grader.recorder.recording import Note, Recording
from converge.grader.recorder.records import FaultRecord, Request, WatchEvent

__all__ = [
    "EventFault",
    "Fault",
    "FaultRecord",
    "Note",
    "Recorder",
    "RecorderError",
    "Recording",
    "Request",
    "WatchEvent",
    "events",
    "reads",
    "requests",
    "watches",
    "writes",
]
