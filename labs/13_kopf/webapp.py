"""Lab 13: the WebApp operator on kopf. It looks at what exists, not only at what changed.

Lesson:  docs/lessons/13_kopf.md
Check:   make check LAB=13
Hint:    make hint LAB=13

The reconciler comes from lesson 09, the record from lesson 12. You decide when kopf calls them and what their failures
mean. A child that is changed or deleted is repaired within five seconds, even if the operator was down at that moment
or had a write refused. If the outside service answers 400 or 422, it refuses the host: try again only when the spec
changes, and name the host in a Warning Event or in a condition. Any other failure, including no answer at all, is
retried every few seconds. When ``register`` changes or disappears, the old record goes; and no WebApp goes while it
still has a record. Handlers may be ``def`` or ``async def``, but while one of them waits, all other WebApps are served.
"""

import asyncio
import threading
from collections import defaultdict
from typing import Any
from urllib.error import HTTPError

import kopf

from converge.operators.records import Records
from converge.operators.webapp import children_reconciler, keep_record, remove_records
from converge.runtime import Client, Request

WEBAPP = ("converge.example", "v1", "webapps")
RESYNC = 2  # seconds; minutes will do in production
RECORD = "converge.example/record"  # an annotation: this WebApp may have a record, promised for this generation


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    """Runs once, when the operator starts. Every handler gets this ``memo``, or a copy with the same things in it."""
    settings.scanning.disabled = True  # given: our rights end at one namespace, so we can't look for others
    settings.background.cancellation_polling = 1  # given: seconds between kopf's looks at a timer that has to end
    memo.reconciler = children_reconciler(Client())
    memo.records = Records()
    memo.locks = defaultdict(threading.Lock)


def look_after(memo: kopf.Memo, request: Request) -> None:
    """Run one pass over a WebApp, whatever caused it; never two passes over the same WebApp at once."""
    # TODO 1: one pass of ``memo.reconciler``, under the lock of this request. kopf handles a WebApp's events one by
    #         one, but the events of its Deployment come at the same time.
    raise NotImplementedError("TODO 1: look_after")


@kopf.on.create(*WEBAPP)
def webapp_changed(namespace: str, name: str, memo: kopf.Memo, **_: Any) -> None:
    """The WebApp is new or has changed, the operator has just started, or it's time to look again."""
    # TODO 2: call it. Then say when: on.create covers only the beginning of a WebApp's life.
    raise NotImplementedError("TODO 2: webapp_changed")


def child_changed(namespace: str, meta: kopf.Meta, memo: kopf.Memo, **_: Any) -> None:
    """A child was created, changed or deleted: look after its WebApp. If this fails, kopf doesn't call again."""
    # TODO 3: which WebApp is it? The child's owner references say. And which decorators bring you here?
    #         If the pass fails, who looks again? How long after an exception? (One of the settings decides that.)
    raise NotImplementedError("TODO 3: child_changed")


def may_have_record(spec: kopf.Spec, annotations: kopf.Annotations, **_: Any) -> bool:
    """Given: whether the WebApp asks for a record at the outside service, or may still have an earlier one."""
    return "register" in spec or RECORD in annotations


@kopf.timer(*WEBAPP, when=may_have_record, interval=RESYNC)
def promise_again(body: kopf.Body, annotations: kopf.Annotations, patch: kopf.Patch, **_: Any) -> None:
    """Given: if kopf has missed a change of the spec, a new promise is a change that it sees. It calls ``register``."""
    generation = str(body.metadata["generation"])
    if annotations.get(RECORD, generation) != generation:
        patch.metadata.annotations[RECORD] = generation


@kopf.on.create(*WEBAPP, when=may_have_record)
@kopf.on.update(*WEBAPP, when=may_have_record)
@kopf.on.resume(*WEBAPP, when=may_have_record)
async def register(
    body: kopf.Body, spec: kopf.Spec, annotations: kopf.Annotations, patch: kopf.Patch, memo: kopf.Memo, **_: Any
) -> None:
    """Keep the record of the WebApp. A refusal is final until the spec changes; any other trouble passes."""
    generation = str(body.metadata["generation"])
    if annotations.get(RECORD) != generation:  # given: the promise comes first, as in lesson 12; then kopf calls again
        patch.metadata.annotations[RECORD] = generation
        raise kopf.TemporaryError("the promise comes before the record", delay=0)
    # TODO 4: ``keep_record`` (lesson 12) is ordinary code that blocks until it has an answer, and this function is
    #         async. It raises HTTPError, which has a ``code``, or another OSError when there's no answer at all.
    #         A RuntimeError says that another WebApp has the host: leave that to kopf, which calls again.
    raise NotImplementedError("TODO 4: register")


@kopf.on.delete(*WEBAPP, when=may_have_record)
async def unregister(body: kopf.Body, memo: kopf.Memo, **_: Any) -> None:
    """Remove the record. Until this succeeds, kopf's finalizer keeps the WebApp: so never give up here."""
    # TODO 5: ``remove_records``. What happens to the WebApp if this function raises, and what if it returns?
    raise NotImplementedError("TODO 5: unregister")
