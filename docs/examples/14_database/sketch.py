"""The operator that lesson 14 shows failing: every child is built from the spec, and written when it differs."""

import secrets

import kopf

from converge.operators.database import config_map, identity, pod_spec, selector, service
from converge.operators.webapp import ensure, owner_reference
from converge.runtime import Client


def stateful_set(database: dict) -> dict:
    size = database["spec"]["storage"]["size"]
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    spec = {
        "serviceName": database["metadata"]["name"],
        "replicas": database["spec"]["replicas"],
        "selector": {"matchLabels": selector(database)},
        "template": {"metadata": {"labels": selector(database)}, "spec": pod_spec(database)},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
    }
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": identity(database), "spec": spec}


# --8<-- [start:sketch]
def secret(database: dict) -> dict:
    password = secrets.token_urlsafe(24)
    metadata = identity(database, "-credentials")
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"password": password}}


@kopf.on.create("databases")
@kopf.on.update("databases")
@kopf.on.resume("databases")
def reconcile(body: kopf.Body, memo: kopf.Memo, **_: object) -> None:
    database = dict(body)
    for build in (stateful_set, service, secret, config_map):
        child = build(database)
        child["metadata"]["ownerReferences"] = [owner_reference(database)]
        ensure(memo.client, child)


# --8<-- [end:sketch]


@kopf.on.startup()
def start(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: object) -> None:
    settings.scanning.disabled = True
    settings.execution.default_backoff = 2
    memo.client = Client()
