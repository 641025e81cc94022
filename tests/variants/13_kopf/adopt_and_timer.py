"""kopf's own tools: `adopt`, `patch.status`, and a quick timer instead of events of the children."""

import threading
from collections import defaultdict
from typing import Any
from urllib.error import HTTPError

import kopf

from converge.operators.records import Records
from converge.operators.webapp import assess, desired_children, ensure, keep_record, remove_records
from converge.runtime import Client

WEBAPP = ("converge.example", "v1", "webapps")
OURS = ("Available", "Progressing", "Degraded")
PROMISE = "converge.example/promise"
PROMISED = {PROMISE: kopf.PRESENT}


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    settings.scanning.disabled = True
    settings.background.cancellation_polling = 1
    settings.execution.max_workers = 16
    memo.client = Client()
    memo.records = Records()
    memo.busy = defaultdict(threading.Lock)


@kopf.timer(*WEBAPP, interval=1, backoff=1)
@kopf.on.create(*WEBAPP, backoff=1)
@kopf.on.update(*WEBAPP, backoff=1)
def serve(body: kopf.Body, meta: kopf.Meta, patch: kopf.Patch, memo: kopf.Memo, **_: Any) -> None:
    with memo.busy[meta["uid"]]:  # the timer and the handlers run side by side
        look(body, meta, patch, memo)


def look(body: kopf.Body, meta: kopf.Meta, patch: kopf.Patch, memo: kopf.Memo) -> None:
    if "deletionTimestamp" in meta:
        return
    webapp, live = dict(body), {}
    for child in desired_children(webapp):
        kopf.adopt(child, owner=body, strict=True)
        live[child["kind"]] = ensure(memo.client, child)
    status, before = assess(webapp, live["Deployment"]), webapp.get("status", {})
    others = [each for each in before.get("conditions", []) if each["type"] not in OURS]
    status["conditions"] = others + status["conditions"]
    if {**before, **status} != before:
        patch.status.update(status)


@kopf.on.create(*WEBAPP, field="spec.register", value=kopf.PRESENT)
@kopf.on.resume(*WEBAPP, field="spec.register", value=kopf.PRESENT)
@kopf.on.update(*WEBAPP, field="spec.register", new=kopf.PRESENT)
def promise(meta: kopf.Meta, annotations: kopf.Annotations, patch: kopf.Patch, **_: Any) -> None:
    """The annotation is a change of the WebApp, and that calls `register`. It stays when the wish goes."""
    if PROMISE not in annotations:
        patch.metadata.annotations[PROMISE] = str(meta["generation"])


@kopf.timer(*WEBAPP, annotations=PROMISED, interval=1, backoff=1)
def promise_again(meta: kopf.Meta, annotations: kopf.Annotations, patch: kopf.Patch, **_: Any) -> None:
    """A change that was taken back is none for kopf, but a new annotation is."""
    if annotations[PROMISE] != str(meta["generation"]):
        patch.metadata.annotations[PROMISE] = str(meta["generation"])


@kopf.on.create(*WEBAPP, annotations=PROMISED)
@kopf.on.resume(*WEBAPP, annotations=PROMISED)
@kopf.on.update(*WEBAPP, annotations=PROMISED)
def register(body: kopf.Body, spec: kopf.Spec, retry: int, memo: kopf.Memo, **_: Any) -> None:
    try:
        keep_record(memo.records, dict(body))
    except HTTPError as error:
        if "register" in spec and error.code in (400, 422):
            kopf.event(body, type="Warning", reason="NotRegistered", message=f"{spec['register']}: {error}")
            raise kopf.PermanentError(str(error)) from error
        raise kopf.TemporaryError(str(error), delay=min(0.5 * 2**retry, 5)) from error
    except OSError as error:
        raise kopf.TemporaryError(str(error), delay=min(0.5 * 2**retry, 5)) from error
    except RuntimeError as error:
        raise kopf.TemporaryError(str(error), delay=5) from error  # another WebApp has the host


@kopf.on.delete(*WEBAPP, annotations=PROMISED, backoff=1)
def unregister(body: kopf.Body, memo: kopf.Memo, **_: Any) -> None:
    remove_records(memo.records, dict(body))
