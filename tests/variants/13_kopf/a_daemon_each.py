"""One daemon for each WebApp is its only worker; events of the WebApp and of its children wake it up."""

import asyncio
from collections import defaultdict
from typing import Any

import kopf

from converge.records import Records
from converge.runtime import ApiError, Client, Request
from converge.webapp import children_reconciler, keep_record, remove_records

WEBAPP = ("converge.example", "v1", "webapps")


@kopf.on.startup()
async def configure(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    settings.scanning.disabled = True
    settings.background.cancellation_polling = 1
    settings.execution.default_backoff = 1
    memo.reconciler = children_reconciler(Client())
    memo.records = Records()
    memo.news = defaultdict(asyncio.Event)


@kopf.daemon(*WEBAPP, cancellation_timeout=2)
async def keep(
    namespace: str, name: str, stopped: kopf.DaemonStopped, memo: kopf.Memo, logger: kopf.Logger, **_: Any
) -> None:
    request = Request(namespace, name)
    failures = 0
    while not stopped:
        memo.news[request].clear()
        try:
            await asyncio.to_thread(memo.reconciler.reconcile, request)
            failures = 0
        except ApiError as error:
            logger.warning("trying again soon: %s", error)
            failures += 1
        try:
            await asyncio.wait_for(memo.news[request].wait(), timeout=min(0.2 * 2**failures, 5) if failures else 60)
        except TimeoutError:
            pass


@kopf.on.event(*WEBAPP)
async def webapp_changed(namespace: str, name: str, memo: kopf.Memo, **_: Any) -> None:
    memo.news[Request(namespace, name)].set()


@kopf.on.event("deployments.apps")
@kopf.on.event("services")
async def child_changed(namespace: str, meta: kopf.Meta, memo: kopf.Memo, **_: Any) -> None:
    for owner in meta.get("ownerReferences", []):
        memo.news[Request(namespace, owner["name"])].set()


@kopf.on.create(*WEBAPP)
@kopf.on.update(*WEBAPP)
@kopf.on.resume(*WEBAPP)
def register(body: kopf.Body, spec: kopf.Spec, memo: kopf.Memo, **_: Any) -> None:
    if "register" not in spec:
        return
    try:
        keep_record(memo.records, dict(body))
    except OSError as error:
        if getattr(error, "code", 500) >= 500:
            raise  # kopf tries again after the backoff
        kopf.warn(body, reason="Refused", message=f"{spec['register']} is refused")
        raise kopf.PermanentError(f"{spec['register']} is refused") from error


@kopf.on.delete(*WEBAPP)
def unregister(body: kopf.Body, spec: kopf.Spec, memo: kopf.Memo, **_: Any) -> None:
    if "register" in spec:
        remove_records(memo.records, dict(body))
