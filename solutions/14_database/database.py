"""Lab 14: a database operator, whose objects have a memory.

Lesson:  docs/lessons/14_database.md
Check:   make check LAB=14
Hint:    make hint LAB=14

A Database consists of a Secret NAME-credentials (``username``, which is postgres, and ``password``), a ConfigMap
NAME-config, and a headless Service and a StatefulSet, both called NAME. ``converge.operators.database`` builds the easy
parts; you write the rest. The password is made once. ``deletionPolicy`` decides what happens to the volumes and to the
password that opens them: with Retain both outlive the Database, and a new one of the same name uses them again; with
Delete both go. Storage can't change: if the spec asks for that, the condition Degraded says so and names ``storage``,
and everything else is still done. A Secret of our name that we didn't make is left alone: then there's no StatefulSet,
and Degraded says why. Available is True when all servers run what this generation asks for and are ready; until then
Progressing is True. What fails is tried again, and what has to wait is looked at again within ten seconds. The image
is ``$POSTGRES_IMAGE:VERSION``.
"""

import secrets

import kopf

from converge.operators.database import (
    DATABASE,
    MANAGED_BY,
    blocked,
    checksum,
    claims,
    config_map,
    identity,
    mebibytes,
    pod_spec,
    selector,
    service,
)
from converge.operators.webapp import NameTaken, condition, ensure_owned, is_controlled_by, owner_reference, report
from converge.runtime import Client, Controller, NotFound, Object, Request, Result


# --8<-- [start:secret]
def ensure_secret(client: Client, database: Object) -> None:
    """Create the Secret if there is none. Its contents never change; its owner follows the deletionPolicy."""
    metadata = identity(database, "-credentials")
    # With Retain the files outlive the Database, and only this password opens them. So nothing may own it.
    owners = [owner_reference(database)] if database["spec"]["deletionPolicy"] == "Delete" else []
    try:
        live = client.get("v1", "Secret", metadata["name"], metadata["namespace"])
    except NotFound:
        said = {"username": "postgres", "password": secrets.token_urlsafe(24)}
        metadata["ownerReferences"] = owners
        live = client.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": said})
    references, labels = live["metadata"].get("ownerReferences", []), live["metadata"].get("labels", {})
    others = [each for each in references if each["uid"] != database["metadata"]["uid"]]
    ours = is_controlled_by(live, database) or metadata["labels"].items() <= labels.items()
    if not ours or any(each.get("controller") for each in others):
        raise NameTaken(f"Secret {metadata['name']} was made by someone else")
    if references != others + owners:
        change = {"resourceVersion": live["metadata"]["resourceVersion"], "ownerReferences": others + owners}
        client.patch("v1", "Secret", metadata["name"], metadata["namespace"], {"metadata": change})


# --8<-- [end:secret]


# --8<-- [start:statefulset]
def stateful_set(database: Object) -> Object:
    """Return the StatefulSet that ``database`` asks for."""
    spec, storage = database["spec"], database["spec"]["storage"]
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage["size"]}}}
    if "class" in storage:
        claim["storageClassName"] = storage["class"]
    # A server reads its ConfigMap when it starts. With this, a new ConfigMap means new Pods.
    annotations = {"converge.example/config": checksum(config_map(database))}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": identity(database),
        "spec": {
            "serviceName": service(database)["metadata"]["name"],
            "replicas": spec["replicas"],
            "selector": {"matchLabels": selector(database)},
            "template": {
                "metadata": {"labels": selector(database), "annotations": annotations},
                "spec": pod_spec(database),
            },
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": spec["deletionPolicy"], "whenScaled": "Retain"},
        },
    }


# --8<-- [end:statefulset]


# --8<-- [start:ensure]
def ensure_stateful_set(client: Client, database: Object) -> tuple[Object, str]:
    """Apply the StatefulSet, except for what can't change; return it, and in words what was refused (or "")."""
    wanted = stateful_set(database)
    (asked,) = wanted["spec"]["volumeClaimTemplates"]
    metadata = wanted["metadata"]
    try:
        live = client.get("apps/v1", "StatefulSet", metadata["name"], metadata["namespace"])
        wanted["spec"]["volumeClaimTemplates"] = live["spec"].get("volumeClaimTemplates")
    except NotFound:
        pass
    live = ensure_owned(client, database, wanted)
    (there,) = live["spec"]["volumeClaimTemplates"]
    size, wish = (each["spec"]["resources"]["requests"]["storage"] for each in (there, asked))
    before, after = (each["spec"].get("storageClassName", "the default") for each in (there, asked))
    if mebibytes(size) != mebibytes(wish):
        return live, f"storage.size stays {size} and cannot become {wish}"
    return live, f"storage.class stays {before} and cannot become {after}" if before != after else ""


# --8<-- [end:ensure]


# --8<-- [start:claims]
def ensure_claims(client: Client, database: Object, live: Object) -> None:
    """Apply the policy to the claims of servers that were scaled away: the StatefulSet no longer looks at those."""
    metadata, goes = live["metadata"], database["spec"]["deletionPolicy"] == "Delete"
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": metadata["name"], "uid": metadata["uid"]}
    for number, claim in claims(client, database):
        references = claim["metadata"].get("ownerReferences", [])
        others = [each for each in references if each["uid"] != owner["uid"]]
        wanted = [*others, owner] if goes else others
        if number >= live["spec"]["replicas"] and len(wanted) != len(references):
            change = {"resourceVersion": claim["metadata"]["resourceVersion"], "ownerReferences": wanted}
            name = claim["metadata"]["name"]
            client.patch("v1", "PersistentVolumeClaim", name, metadata["namespace"], {"metadata": change})


# --8<-- [end:claims]


# --8<-- [start:assess]
def assess(database: Object, live: Object, refused: str) -> Object:
    """Return the status of ``database``, as its StatefulSet shows it."""
    metadata, seen, wanted = database["metadata"], live.get("status", {}), live["spec"]["replicas"]
    caught_up = seen.get("observedGeneration") == live["metadata"]["generation"]
    total, updated, ready = (seen.get(count, 0) for count in ("replicas", "updatedReplicas", "readyReplicas"))
    done = caught_up and total == updated == ready == wanted
    reason = "RolledOut" if done else "RollingOut"
    message = f"of {wanted} servers {updated if caught_up else 0} are up to date, {ready} are ready"
    return {
        "observedGeneration": metadata["generation"],
        "readyReplicas": ready,
        "endpoint": f"{metadata['name']}-0.{metadata['name']}.{metadata['namespace']}.svc:5432",
        "conditions": [
            condition(database, "Available", done, reason, message),
            condition(database, "Progressing", not done, reason, message),
            condition(database, "Degraded", bool(refused), "CannotChange" if refused else "AsWished", refused),
        ],
    }


# --8<-- [end:assess]


class DatabaseReconciler:
    """Keeps the children of each Database, and reports how they are."""

    def __init__(self, client: Client) -> None:
        self.client = client

    # --8<-- [start:reconcile]
    def reconcile(self, request: Request) -> Result | None:
        """One pass: first what the others need, then the rest, then the report."""
        try:
            database = self.client.get(*DATABASE, request.name, request.namespace)
        except NotFound:
            return None
        if "deletionTimestamp" in database["metadata"]:
            return None
        try:
            ensure_secret(self.client, database)
            for child in (config_map(database), service(database)):
                ensure_owned(self.client, database, child)
            live, refused = ensure_stateful_set(self.client, database)
            ensure_claims(self.client, database, live)
        except NameTaken as taken:
            report(self.client, database, blocked(database, "NameTaken", str(taken)))
            return Result(requeue_after=2)  # we may get no event when it goes: it isn't ours
        report(self.client, database, assess(database, live, refused))
        return None

    # --8<-- [end:reconcile]


# --8<-- [start:kopf]
@kopf.on.startup()
def start(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: object) -> None:
    """Given: kopf watches, the queue of lesson 03 holds the keys, and the workers of lesson 05 call you."""
    settings.scanning.disabled = True  # our rights end at one namespace
    memo.controller = Controller(DatabaseReconciler(Client()), name="database")
    memo.controller.start()


@kopf.on.event("databases")
async def database_changed(namespace: str, name: str, memo: kopf.Memo, **_: object) -> None:
    memo.controller.queue.add(Request(namespace, name))


@kopf.on.event("secrets", labels=MANAGED_BY)
@kopf.on.event("configmaps", labels=MANAGED_BY)
@kopf.on.event("services", labels=MANAGED_BY)
@kopf.on.event("statefulsets", labels=MANAGED_BY)
async def child_changed(namespace: str, labels: kopf.Labels, memo: kopf.Memo, **_: object) -> None:
    memo.controller.queue.add(Request(namespace, labels["app.kubernetes.io/instance"]))


@kopf.on.cleanup()
def stop(memo: kopf.Memo, **_: object) -> None:
    memo.controller.stop()


# --8<-- [end:kopf]
