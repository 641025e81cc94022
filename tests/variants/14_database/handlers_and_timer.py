"""As in lesson 13: handlers, events of children and a timer call for a pass. Children by create and merge patch.

The parameters are in a ConfigMap whose name follows from its content: another one is another Pod, without a checksum.
"""

import hashlib
import json
import secrets
import threading
from collections import defaultdict
from datetime import UTC, datetime

import kopf

from converge.operators.database import identity, mebibytes, pod_spec, selector, service
from converge.runtime import AlreadyExists, Client, NotFound

DATABASE = ("converge.example/v1", "Database")
OURS = {"app.kubernetes.io/managed-by": "database-operator"}


class TakenError(Exception):
    pass


class Pass:
    """One pass over one Database."""

    def __init__(self, client, database):
        self.client, self.database = client, database
        self.name, self.namespace = database["metadata"]["name"], database["metadata"]["namespace"]
        self.spec = database["spec"]
        keys = {"apiVersion": database["apiVersion"], "kind": database["kind"], "name": self.name}
        self.owner = {**keys, "uid": database["metadata"]["uid"], "controller": True}

    def find(self, version, kind, name):
        try:
            return self.client.get(version, kind, name, self.namespace)
        except NotFound:
            return None

    def mine(self, obj):
        controllers = [each["uid"] for each in obj["metadata"].get("ownerReferences", []) if each.get("controller")]
        if controllers:
            return controllers == [self.owner["uid"]]
        return OURS.items() <= obj["metadata"].get("labels", {}).items()

    def child(self, wanted, fixed=()):
        wanted["metadata"]["ownerReferences"] = [self.owner]
        kind = (wanted["apiVersion"], wanted["kind"])
        live = self.find(*kind, wanted["metadata"]["name"])
        if live is None:
            try:
                return self.client.create(wanted)
            except AlreadyExists:
                raise kopf.TemporaryError("someone was faster", delay=1) from None
        if not self.mine(live):
            raise TakenError(f"{wanted['kind']} {wanted['metadata']['name']} is not ours")
        if "spec" in wanted:
            wanted["spec"] = {key: value for key, value in wanted["spec"].items() if key not in fixed}
        if contains(live, wanted):
            return live
        return self.client.patch(*kind, wanted["metadata"]["name"], self.namespace, wanted, type="strategic")

    def secret(self):
        name, delete = f"{self.name}-credentials", self.spec["deletionPolicy"] == "Delete"
        live = self.find("v1", "Secret", name)
        if live is None:
            metadata = identity(self.database, "-credentials") | ({"ownerReferences": [self.owner]} if delete else {})
            data = {"password": secrets.token_hex(16), "username": "postgres"}
            self.client.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data})
            return
        if not self.mine(live):
            raise TakenError(f"Secret {name} is not ours")
        owners = live["metadata"].get("ownerReferences", [])
        others = [each for each in owners if each["uid"] != self.owner["uid"]]
        if (len(others) < len(owners)) != delete:
            live["metadata"]["ownerReferences"] = [*others, self.owner] if delete else others
            self.client.replace(live)

    def config(self):
        lines = "".join(f"{key} = '{value}'\n" for key, value in sorted(self.spec.get("parameters", {}).items()))
        data = {"postgresql.conf": f"listen_addresses = '*'\n{lines}"}
        metadata = identity(self.database, "-" + hashlib.sha256(json.dumps(data).encode()).hexdigest()[:10])
        self.child({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
        return metadata["name"]

    def tidy(self, config):
        match = ",".join(f"{key}={value}" for key, value in {**selector(self.database), **OURS}.items())
        for each in self.client.list("v1", "ConfigMap", self.namespace, label_selector=match):
            if each["metadata"]["name"] != config:
                self.client.delete("v1", "ConfigMap", each["metadata"]["name"], self.namespace)

    def stateful_set(self, config):
        pod = pod_spec(self.database)
        pod["volumes"][0]["configMap"]["name"] = config
        storage, claim = self.spec["storage"], {"accessModes": ["ReadWriteOnce"]}
        claim["resources"] = {"requests": {"storage": storage["size"]}}
        if storage.get("class"):
            claim["storageClassName"] = storage["class"]
        labels = selector(self.database)
        spec = {
            "serviceName": self.name,
            "replicas": self.spec["replicas"],
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
            "volumeClaimTemplates": [{"metadata": {"name": "files"}, "spec": claim}],
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": self.spec["deletionPolicy"],
                "whenScaled": "Retain",
            },
        }
        pod["containers"][0]["volumeMounts"][0]["name"] = "files"
        wanted = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": identity(self.database), "spec": spec}
        live = self.child(wanted, fixed=("volumeClaimTemplates", "serviceName", "selector"))
        there = live["spec"]["volumeClaimTemplates"][0]["spec"]
        same = mebibytes(there["resources"]["requests"]["storage"]) == mebibytes(storage["size"])
        return live, same and there.get("storageClassName") == storage.get("class")

    def claims(self, live):
        wish = self.spec["deletionPolicy"] == "Delete"
        owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": self.name, "uid": live["metadata"]["uid"]}
        for claim in self.client.list("v1", "PersistentVolumeClaim", self.namespace):
            template, _, number = claim["metadata"]["name"].rpartition("-")
            if template != f"files-{self.name}" or int(number) < self.spec["replicas"]:
                continue
            owners = claim["metadata"].get("ownerReferences", [])
            others = [each for each in owners if each["uid"] != owner["uid"]]
            if (len(others) < len(owners)) != wish:
                claim["metadata"]["ownerReferences"] = [*others, owner] if wish else others
                self.client.replace(claim)

    def run(self):
        try:
            self.secret()
            config = self.config()
            self.child(service(self.database))
            live, storage_is_right = self.stateful_set(config)
            self.claims(live)
        except TakenError as taken:
            self.report({}, False, str(taken))
            raise kopf.TemporaryError(str(taken), delay=1) from None
        status = live.get("status", {})
        counts = {status.get(each, 0) for each in ("replicas", "updatedReplicas", "readyReplicas")}
        fresh = status.get("observedGeneration") == live["metadata"]["generation"]
        done = fresh and counts == {self.spec["replicas"]}
        if done:
            self.tidy(config)
        host = f"{self.name}-0.{self.name}.{self.namespace}.svc.cluster.local:5432"
        refused = "" if storage_is_right else "the storage of a Database cannot change"
        self.report({"endpoint": host, "readyReplicas": status.get("readyReplicas", 0)}, done, refused)

    def report(self, said, done, trouble):
        before = {each["type"]: each for each in self.database.get("status", {}).get("conditions", [])}
        others = [each for type, each in before.items() if type not in ("Available", "Progressing", "Degraded")]
        states = {"Available": done, "Progressing": not done and not trouble, "Degraded": bool(trouble)}
        if trouble and not done and said:
            states["Progressing"] = True
        conditions = []
        for type, state in states.items():
            made = {"type": type, "status": str(state), "reason": "Seen", "message": trouble}
            old = before.get(type, {})
            kept = old.get("status") == str(state)
            made["lastTransitionTime"] = (
                old["lastTransitionTime"] if kept else datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            )
            conditions.append(made)
        status = {
            **said,
            "observedGeneration": self.database["metadata"]["generation"],
            "conditions": others + conditions,
        }
        if {**self.database.get("status", {}), **status} != self.database.get("status"):
            self.client.patch(*DATABASE, self.name, self.namespace, {"status": status}, subresource="status")


def contains(live, wanted):
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(contains(live.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list) and wanted and isinstance(wanted[0], dict):
        return isinstance(live, list) and all(any(contains(there, each) for there in live) for each in wanted)
    return live == wanted


def look_after(memo, namespace, name):
    with memo.locks[namespace, name]:
        try:
            database = memo.client.get(*DATABASE, name, namespace)
        except NotFound:
            return
        if "deletionTimestamp" not in database["metadata"]:
            Pass(memo.client, database).run()


@kopf.on.startup()
def configure(settings, memo, **_):
    settings.scanning.disabled = True
    settings.background.cancellation_polling = 1
    settings.execution.default_backoff = 1
    settings.posting.enabled = False
    memo.client, memo.locks = Client(), defaultdict(threading.Lock)


@kopf.on.create("databases")
@kopf.on.update("databases")
@kopf.on.resume("databases")
@kopf.timer("databases", interval=2, initial_delay=1)
def database(namespace, name, memo, **_):
    look_after(memo, namespace, name)


@kopf.on.event("statefulsets", labels=OURS)
@kopf.on.event("services", labels=OURS)
@kopf.on.event("configmaps", labels=OURS)
@kopf.on.event("secrets", labels=OURS)
def child(namespace, labels, memo, **_):
    look_after(memo, namespace, labels["app.kubernetes.io/instance"])
