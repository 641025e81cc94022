"""A daemon for each Database looks once a second; what goes with a Database is deleted by hand, in a deletion handler.

Nothing is owned but what always goes. Storage is not compared: the server is asked, and its refusal is the answer.
"""

import asyncio
import secrets

import kopf

from converge.operators.database import DATABASE, checksum, config_map, identity, pod_spec, selector, service
from converge.operators.webapp import NameTaken, condition, owner_reference, report
from converge.runtime import Client, Invalid, NotFound, applied_fields

ME = "database-daemon"


refused = {}  # what the server said to the storage of a generation; asked again when the operator is started again


def settled(client, wanted):
    """Apply, if something that is ours is not as wanted."""
    metadata = wanted["metadata"]
    try:
        live = client.get(wanted["apiVersion"], wanted["kind"], metadata["name"], metadata["namespace"])
    except NotFound:
        return client.apply(wanted, ME, force=True)
    must_be_ours(wanted, live)
    return live if applied_fields(live, ME) == wanted else client.apply(wanted, ME, force=True)


def must_be_ours(wanted, live):
    (owner,) = wanted["metadata"]["ownerReferences"]
    if owner["uid"] not in [each["uid"] for each in live["metadata"].get("ownerReferences", [])]:
        raise NameTaken(f"{wanted['kind']} {wanted['metadata']['name']} is someone else's")


def stateful_set(database):
    storage = database["spec"]["storage"]
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage["size"]}}}
    if "class" in storage:
        claim["storageClassName"] = storage["class"]
    template = {"labels": selector(database), "annotations": {"daemon.example/config": checksum(config_map(database))}}
    spec = {
        "serviceName": database["metadata"]["name"],
        "replicas": database["spec"]["replicas"],
        "selector": {"matchLabels": selector(database)},
        "template": {"metadata": template, "spec": pod_spec(database)},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
    }
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": identity(database), "spec": spec}


def password(client, database):
    metadata = identity(database, "-credentials")
    try:
        live = client.get("v1", "Secret", metadata["name"], metadata["namespace"])
    except NotFound:
        said = {"password": secrets.token_urlsafe(32), "username": "postgres"}
        client.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": said})
        return True
    return is_ours(metadata, live)


def is_ours(metadata, live):
    """It has our labels, and nothing controls it: we give it no owner."""
    labels, owners = (
        live["metadata"].get(part) or default for part, default in (("labels", {}), ("ownerReferences", []))
    )
    return metadata["labels"].items() <= labels.items() and not any(each.get("controller") for each in owners)


def children(client, database, owner):
    """Settle all but the Secret; the StatefulSet, and what the server said to the storage."""
    name, namespace = database["metadata"]["name"], database["metadata"]["namespace"]
    for child in (config_map(database), service(database)):
        child["metadata"] |= owner
        settled(client, child)
    wanted = stateful_set(database)
    wanted["metadata"] |= owner
    generation = (database["metadata"]["uid"], database["metadata"]["generation"])
    try:
        live = client.get("apps/v1", "StatefulSet", name, namespace)
        must_be_ours(wanted, live)
        claims = live["spec"]["volumeClaimTemplates"]
        if generation not in refused:
            refused[generation] = ""
            client.apply(wanted, ME, force=True)
        wanted["spec"]["volumeClaimTemplates"] = claims
    except NotFound:
        pass
    except Invalid as error:
        refused[generation] = f"storage cannot change: {error}"
        wanted["spec"]["volumeClaimTemplates"] = claims
    return settled(client, wanted), refused.get(generation, "")


def look(client, name, namespace):
    try:
        database = client.get(*DATABASE, name, namespace)
    except NotFound:
        return
    if "deletionTimestamp" in database["metadata"]:
        return
    trouble, live = "", {"status": {}, "spec": {"replicas": -1}, "metadata": {"generation": -1}}
    if not password(client, database):
        trouble = f"Secret {name}-credentials is someone else's"
    else:
        owner = {"ownerReferences": [owner_reference(database)]}
        try:
            live, trouble = children(client, database, owner)
        except NameTaken as taken:
            trouble = str(taken)
    status = live.get("status", {})
    counts = [status.get(each, 0) for each in ("replicas", "updatedReplicas", "readyReplicas")]
    caught_up = status.get("observedGeneration") == live["metadata"]["generation"]
    done = caught_up and counts == [live["spec"]["replicas"]] * 3
    conditions = [
        condition(database, "Available", done, "Counted", f"{counts}"),
        condition(database, "Progressing", not done, "Counted", f"{counts}"),
        condition(database, "Degraded", bool(trouble), "Refused" if trouble else "Fine", trouble),
    ]
    said = {"observedGeneration": database["metadata"]["generation"], "readyReplicas": status.get("readyReplicas", 0)}
    said["endpoint"] = f"{name}-0.{name}.{namespace}.svc:5432"
    report(client, database, {**said, "conditions": conditions})


@kopf.on.startup()
async def configure(settings, memo, **_):
    settings.scanning.disabled = True
    settings.posting.enabled = False
    settings.execution.default_backoff = 1
    settings.background.cancellation_polling = 1  # seconds until it looks again whether a daemon has ended; else 60
    memo.client = Client()


@kopf.daemon("converge.example", "v1", "databases")
async def keep(stopped, name, namespace, memo, logger, **_):
    while not stopped:
        try:
            await asyncio.to_thread(look, memo.client, name, namespace)
        except Exception:
            logger.exception("it will be tried again")
        await stopped.wait(0.7)


@kopf.on.delete("converge.example", "v1", "databases")
def clean_up(body, spec, name, namespace, memo, **_):
    if spec["deletionPolicy"] != "Delete":
        return
    client = memo.client
    for claim in client.list("v1", "PersistentVolumeClaim", namespace):
        if claim["metadata"]["name"].rpartition("-")[0] == f"data-{name}":
            client.delete("v1", "PersistentVolumeClaim", claim["metadata"]["name"], namespace)
    metadata = identity(body, "-credentials")
    try:
        if is_ours(metadata, client.get("v1", "Secret", metadata["name"], namespace)):
            client.delete("v1", "Secret", metadata["name"], namespace)
    except NotFound:
        pass
