"""One daemon for each WebApp is its only worker; events of the WebApp and of its children wake it up."""

import asyncio
from collections import defaultdict
from typing import Any

import kopf

from converge.operators.records import Records
from converge.operators.webapp import children_reconciler, keep_record, remove_records
from converge.runtime import ApiError, Client, Request

WEBAPP = ("converge.example", "v1", "webapps")
PROMISE = "converge.example/outside"


@kopf.on.startup()
async def configure(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    settings.scanning.disabled = True
    settings.background.cancellation_polling = 1
    settings.execution.default_backoff = 1
    memo.client = Client()
    memo.reconciler = children_reconciler(memo.client)
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
def register(
    namespace: str,
    name: str,
    body: kopf.Body,
    spec: kopf.Spec,
    annotations: kopf.Annotations,
    memo: kopf.Memo,
    **_: Any,
) -> None:
    if "register" not in spec and PROMISE not in annotations:
        return  # it has never asked for a record
    generation = str(body.metadata["generation"])
    if annotations.get(PROMISE) != generation:  # a new value even if the spec is what it once was: kopf calls again
        promise = {"metadata": {"annotations": {PROMISE: generation}}}
        memo.client.patch("converge.example/v1", "WebApp", name, namespace, promise)
    try:
        keep_record(memo.records, dict(body))
    except OSError as error:
        if "register" not in spec or getattr(error, "code", 500) not in (400, 422):
            raise  # kopf tries again after the backoff
        kopf.warn(body, reason="Refused", message=f"{spec['register']} is refused")
        raise kopf.PermanentError(f"{spec['register']} is refused") from error


@kopf.timer(*WEBAPP, annotations={PROMISE: kopf.PRESENT}, interval=1)
def promise_again(meta: kopf.Meta, annotations: kopf.Annotations, patch: kopf.Patch, **_: Any) -> None:
    if annotations[PROMISE] != str(meta["generation"]):
        patch.metadata.annotations[PROMISE] = str(meta["generation"])


@kopf.on.delete(*WEBAPP)
def unregister(body: kopf.Body, spec: kopf.Spec, annotations: kopf.Annotations, memo: kopf.Memo, **_: Any) -> None:
    if "register" in spec or PROMISE in annotations:
        remove_records(memo.records, dict(body))
