"""The WebApp operator on kopf, written with care: async throughout, children in indexes, one session to the server.

    python -m kopf run benchmarks/operators/on_kopf.py --standalone -n NAMESPACE

A WebApp's own changes come to state handlers, which kopf repeats when they fail. A child's events bring its owner's
reconciliation as well, so that a deleted or changed child is healed. Requests are plain dicts over one aiohttp session:
the official client's typed models would cost more than all the rest.
"""

import asyncio
import json
import ssl
from collections import defaultdict
from typing import Any

import aiohttp
import children
import kopf
from kubernetes import client, config

WEBAPPS = ("converge.example", "v1", "webapps")
OURS = {"app.kubernetes.io/name": "webapp"}
PATHS = {"Deployment": "/apis/apps/v1/namespaces/{}/deployments", "Service": "/api/v1/namespaces/{}/services"}

CONNECTIONS = 16

locks: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
said: dict[tuple[str, str], Any] = {}  # the last status of each WebApp, which its index shows a moment later


@kopf.on.startup()
async def start(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: Any) -> None:
    settings.execution.default_backoff = 1  # seconds to the next try; kopf's own 60 would be unfair
    server = client.Configuration()
    config.load_kube_config(client_configuration=server)
    memo.session = aiohttp.ClientSession(
        server.host,
        headers={"Authorization": server.get_api_key_with_prefix("BearerToken", alias="authorization")},
        connector=aiohttp.TCPConnector(
            ssl=ssl.create_default_context(cafile=server.ssl_ca_cert), limit=CONNECTIONS, keepalive_timeout=60
        ),
    )


@kopf.on.cleanup()
async def stop(memo: kopf.Memo, **_: Any) -> None:
    await memo.session.close()


@kopf.index(*WEBAPPS)
async def apps(name: str, namespace: str, body: kopf.Body, **_: Any) -> dict[tuple[str, str], Any]:
    return {(namespace, name): dict(body)}


@kopf.index("apps", "v1", "deployments", labels=OURS)
async def deployments(name: str, namespace: str, body: kopf.Body, **_: Any) -> dict[tuple[str, str], Any]:
    return {(namespace, name): dict(body)}


@kopf.index("", "v1", "services", labels=OURS)
async def services(name: str, namespace: str, body: kopf.Body, **_: Any) -> dict[tuple[str, str], Any]:
    return {(namespace, name): dict(body)}


@kopf.on.create(*WEBAPPS)
@kopf.on.resume(*WEBAPPS)
@kopf.on.update(*WEBAPPS, field="spec")
async def changed(body: kopf.Body, memo: kopf.Memo, deployments: kopf.Index, services: kopf.Index, **_: Any) -> None:
    """The WebApp is new, or its spec has changed, or the operator has started: all of it is looked at."""
    app = dict(body)
    async with locks[key(app)]:
        found = await ensure(memo.session, children.deployment(app), first(deployments, app))
        await ensure(memo.session, children.service(app), first(services, app))
        await report(memo.session, app, found)


@kopf.on.event("apps", "v1", "deployments", labels=OURS)
async def deployment_changed(type: str, body: kopf.Body, apps: kopf.Index, memo: kopf.Memo, **_: Any) -> None:
    """Heal a Deployment that was changed or deleted, and report what it says."""
    app = first(apps, body)
    if app is None:
        return
    async with locks[key(app)]:
        found = await ensure(memo.session, children.deployment(app), None if type == "DELETED" else dict(body))
        await report(memo.session, app, found)


@kopf.on.event("", "v1", "services", labels=OURS)
async def service_changed(type: str, body: kopf.Body, apps: kopf.Index, memo: kopf.Memo, **_: Any) -> None:
    """Heal a Service that was changed or deleted."""
    app = first(apps, body)
    if app is not None:
        async with locks[key(app)]:
            await ensure(memo.session, children.service(app), None if type == "DELETED" else dict(body))


def key(obj: Any) -> tuple[str, str]:
    return obj["metadata"]["namespace"], obj["metadata"]["name"]


def first(index: kopf.Index, obj: Any) -> Any:
    """What the index has for an object of this name, unless that is about to go."""
    found = next(iter(index.get(key(obj), ())), None)
    return None if found and "deletionTimestamp" in found["metadata"] else found


async def report(session: aiohttp.ClientSession, app: Any, deployment: Any) -> None:
    """Write the status if it is news, not by kopf's patch: that is sent after the lock, and may undo a newer one."""
    before = said.get(key(app), app.get("status"))
    status = children.status({**app, "status": before}, deployment)
    if status != before:
        path = "/apis/converge.example/v1/namespaces/{}/webapps/{}/status".format(*key(app))
        await send(session, "PATCH", path, {"status": status}, "application/merge-patch+json")
        said[key(app)] = status


async def ensure(session: aiohttp.ClientSession, wanted: Any, found: Any) -> Any:
    """Create the child or make it what it should be; return it as it is now."""
    namespace, name = key(wanted)
    path = PATHS[wanted["kind"]].format(namespace)
    if found is None:
        try:
            return await send(session, "POST", path, wanted)
        except aiohttp.ClientResponseError as error:
            if error.status != 409:
                raise
            found = await send(session, "GET", f"{path}/{name}")
    if children.contains(found, wanted):
        return found
    return await send(session, "PATCH", f"{path}/{name}", wanted, "application/strategic-merge-patch+json")


async def send(
    session: aiohttp.ClientSession, method: str, path: str, body: Any = None, content_type: str = "application/json"
) -> Any:
    data = None if body is None else json.dumps(body)
    async with session.request(method, path, data=data, headers={"Content-Type": content_type}) as response:
        response.raise_for_status()
        return await response.json()
