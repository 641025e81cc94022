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


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    """What kopf asks for once. All handlers get this ``memo``, or a copy that has the same things in it."""
    settings.scanning.disabled = True  # given: we have rights in one namespace, and may not look for others
    settings.background.cancellation_polling = 1  # given: seconds until kopf looks again whether a timer has ended
    memo.reconciler = children_reconciler(Client())
    memo.records = Records()
    memo.locks = defaultdict(threading.Lock)


def look_after(memo: kopf.Memo, request: Request) -> None:
    """One pass over a WebApp, whoever calls for it; never two at a time over the same one."""
    # TODO 1: a pass of ``memo.reconciler``, under the lock of this request: kopf serves a WebApp one event after the
    #         other, but its Deployment's events meanwhile.
    raise NotImplementedError("TODO 1: look_after")


@kopf.on.create(*WEBAPP)
def webapp_changed(namespace: str, name: str, memo: kopf.Memo, **_: Any) -> None:
    """The WebApp is new or was changed; or the operator has just started; or it is time to look again."""
    # TODO 2: call it. Then say when: on.create alone is the beginning of a WebApp's life and no more.
    raise NotImplementedError("TODO 2: webapp_changed")


def child_changed(namespace: str, meta: kopf.Meta, memo: kopf.Memo, **_: Any) -> None:
    """A child was made, changed or deleted: look after its WebApp. If this fails, kopf does not call again."""
    # TODO 3: which WebApp is it? The child's owner references say so. And which decorators bring you here?
    #         If the pass fails: who looks again, and how long after an exception? (That is one of the settings.)
    raise NotImplementedError("TODO 3: child_changed")


def registers(spec: kopf.Spec, **_: Any) -> bool:
    """Given: whether the WebApp asks for a record at the outside service."""
    return "register" in spec


@kopf.on.create(*WEBAPP, when=registers)
@kopf.on.update(*WEBAPP, when=registers)
@kopf.on.resume(*WEBAPP, when=registers)
async def register(body: kopf.Body, spec: kopf.Spec, memo: kopf.Memo, **_: Any) -> None:
    """Keep the record of the WebApp. A refusal is final until the spec changes; any other trouble passes."""
    # TODO 4: ``keep_record`` (lesson 12) is ordinary code that waits for an answer, and this function is async.
    #         It raises HTTPError, which has a ``code``, or another OSError when there is no answer at all.
    raise NotImplementedError("TODO 4: register")


@kopf.on.delete(*WEBAPP, when=registers)
async def unregister(body: kopf.Body, memo: kopf.Memo, **_: Any) -> None:
    """Remove the record. Until this succeeds, kopf's finalizer keeps the WebApp: so never give up here."""
    # TODO 5: ``remove_records``. What happens to the WebApp when this function raises, and what when it returns?
    raise NotImplementedError("TODO 5: unregister")
