"""Lab 13: the WebApp operator on kopf, which looks at what is there and not only at what has changed.

Lesson:  docs/lessons/13_kopf.md
Check:   make check LAB=13
Hint:    make hint LAB=13

The reconciler is that of lesson 09 and the record that of lesson 12. You say when kopf calls them, and what their
failures mean. A child that is changed or deleted is mended within five seconds, also when the operator was down at
that moment or was refused a write. What the outside service answers with 5xx, or not at all, is tried again every few
seconds; what it refuses with 4xx is tried again when the spec changes, and a Warning Event, or a condition, names the
host. Handlers may be ``def`` or ``async def``, but while one of them waits, all other WebApps are served.
"""

import asyncio
import threading
from collections import defaultdict
from typing import Any
from urllib.error import HTTPError

import kopf

from converge.records import Records
from converge.runtime import Client, Request
from converge.webapp import children_reconciler, keep_record, remove_records

WEBAPP = ("converge.example", "v1", "webapps")
RESYNC = 2  # seconds; minutes will do in production


# --8<-- [start:settings]
@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    """What kopf asks for once. All handlers get this ``memo``, or a copy that has the same things in it."""
    settings.scanning.disabled = True  # given: we have rights in one namespace, and may not look for others
    settings.background.cancellation_polling = 1  # given: seconds until kopf looks again whether a timer has ended
    settings.execution.default_backoff = 1  # any other exception: kopf would wait for 60 s
    memo.reconciler = children_reconciler(Client())
    memo.records = Records()
    memo.locks = defaultdict(threading.Lock)


# --8<-- [end:settings]


# --8<-- [start:look]
def look_after(memo: kopf.Memo, request: Request) -> None:
    """One pass over a WebApp, whoever calls for it; never two at a time over the same one."""
    with memo.locks[request]:
        memo.reconciler.reconcile(request)


@kopf.on.create(*WEBAPP)
@kopf.on.update(*WEBAPP)
@kopf.on.resume(*WEBAPP)
@kopf.timer(*WEBAPP, interval=RESYNC, initial_delay=RESYNC)
def webapp_changed(namespace: str, name: str, memo: kopf.Memo, **_: Any) -> None:
    """The WebApp is new or was changed; or the operator has just started; or it is time to look again."""
    look_after(memo, Request(namespace, name))


@kopf.on.event("apps", "v1", "deployments")
@kopf.on.event("v1", "services")
def child_changed(namespace: str, meta: kopf.Meta, memo: kopf.Memo, **_: Any) -> None:
    """A child was made, changed or deleted: look after its WebApp. If this fails, kopf does not call again."""
    for owner in meta.get("ownerReferences", []):
        if owner.get("controller") and owner["kind"] == "WebApp":
            look_after(memo, Request(namespace, owner["name"]))


# --8<-- [end:look]


# --8<-- [start:record]
def registers(spec: kopf.Spec, **_: Any) -> bool:
    """Given: whether the WebApp asks for a record at the outside service."""
    return "register" in spec


@kopf.on.create(*WEBAPP, when=registers)
@kopf.on.update(*WEBAPP, when=registers)
@kopf.on.resume(*WEBAPP, when=registers)
async def register(body: kopf.Body, spec: kopf.Spec, memo: kopf.Memo, **_: Any) -> None:
    """Keep the record of the WebApp. A refusal is final until the spec changes; any other trouble passes."""
    try:
        await asyncio.to_thread(keep_record, memo.records, dict(body))
    except HTTPError as error:
        if error.code < 500:
            kopf.warn(body, reason="Refused", message=f"the outside service refuses {spec['register']}: {error}")
            raise kopf.PermanentError(f"{spec['register']}: {error}") from error
        raise kopf.TemporaryError(f"{spec['register']}: {error}", delay=1) from error
    except OSError as error:
        raise kopf.TemporaryError(f"the outside service does not answer: {error}", delay=1) from error


@kopf.on.delete(*WEBAPP, when=registers)
async def unregister(body: kopf.Body, memo: kopf.Memo, **_: Any) -> None:
    """Remove the record. Until this succeeds, kopf's finalizer keeps the WebApp: so never give up here."""
    try:
        await asyncio.to_thread(remove_records, memo.records, dict(body))
    except OSError as error:
        raise kopf.TemporaryError(f"the record is still there: {error}", delay=1) from error


# --8<-- [end:record]
