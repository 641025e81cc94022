"""Helpers for checks on Databases: password, servers, volumes, and `wrong_children`."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from converge.testing.objects.kinds import typed
from converge.testing.waits.deadlines import scaled

if TYPE_CHECKING:
    from converge.grader.checks.course_namespace import CourseNamespace
    from converge.testing.objects.custom_resource import CustomResource


def namespace_of(db: CustomResource) -> CourseNamespace:
    """Its namespace, which knows the images and the cluster."""
    return cast("CourseNamespace", db.namespace)


def start_time(db: CustomResource) -> float:
    """Seconds to allow for a server to start: longer where Pods are real (kind) than on KWOK."""
    return 90 if namespace_of(db).cluster.pods_are_real else 10


def credentials_of(db: CustomResource) -> Any:
    """The Secret of the Database, or None."""
    return db.namespace.get("Secret", f"{db.name}-credentials")


def stateful_set_of(db: CustomResource) -> Any:
    """The Database's StatefulSet, or None."""
    return db.namespace.get("StatefulSet", db.name)


def password(db: CustomResource) -> str:
    """The password in the Secret of the Database, or a sentence that says why there is none."""
    secret = credentials_of(db)
    if secret is None:
        return f"there is no Secret {db.name}-credentials"
    return base64.b64decode(secret.get("data", {}).get("password", "")).decode() or "it has no password"


def username(db: CustomResource) -> str:
    """The username in the Secret of the Database; empty if there is none."""
    return base64.b64decode((credentials_of(db) or {}).get("data", {}).get("username", "")).decode()


def stored(secret: dict[str, Any] | None) -> dict[str, Any] | None:
    """A Secret as it is stored: its metadata, without the bookkeeping of who wrote which field, and its data."""
    if secret is None:
        return None
    metadata = {key: value for key, value in secret["metadata"].items() if key != "managedFields"}
    return {"metadata": metadata, "data": secret.get("data")}


def claims(db: CustomResource) -> list[str]:
    """The names of the claims of this Database's servers, which carry its name and a number."""
    names = [each["metadata"]["name"] for each in db.namespace.list("PersistentVolumeClaim")]
    return sorted(name for name in names if name.rpartition("-")[0].endswith(f"-{db.name}"))


def servers(db: CustomResource) -> dict[str, str]:
    """The uids of the Pods of this Database, by name."""
    found = {each["metadata"]["name"]: each["metadata"]["uid"] for each in db.namespace.list("Pod")}
    return {name: uid for name, uid in found.items() if name.rpartition("-")[0] == db.name}


def all_replaced(before: dict[str, str], now: dict[str, str]) -> bool:
    """Whether the same Pods are there again, and each is another one than before."""
    return before.keys() == now.keys() and not set(before.values()) & set(now.values())


def statuses_since(db: CustomResource, version: str) -> Iterator[dict[str, Any]]:
    """Each status that the Database gets after that version, even one that lasts only a moment."""
    namespace, until = db.namespace, scaled(start_time(db))
    for event in namespace.client.watch(*typed("Database"), namespace.name, resource_version=version, timeout=until):
        if event.object["metadata"]["name"] == db.name:
            yield event.object.get("status", {})


def hold_rollouts(db: CustomResource, partition: int) -> None:
    """Let the StatefulSet replace only Pods from this number on: a field that is not the operator's."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    db.namespace.patch("StatefulSet", db.name, {"spec": {"updateStrategy": strategy}})


def wrong_children(db: CustomResource) -> str:
    """What of the Database's children differs from its spec, in words; empty when nothing does."""
    namespace = db.namespace
    found = [] if len(password(db)) >= 12 and " " not in password(db) else ["there is no password"]
    live, service = stateful_set_of(db), namespace.get("Service", db.name)
    for kind, child in (("StatefulSet", live), ("Service", service)):
        if child is None:
            found.append(f"there is no {kind} {db.name}")
        elif child not in namespace.owned(kind, db):
            found.append(f"{kind} {db.name} does not name the Database as its controller")
    configured = [
        line
        for each in namespace.owned("ConfigMap", db)
        for text in each.get("data", {}).values()
        for line in text.splitlines()
    ]
    for name, value in db.spec.get("parameters", {}).items():
        if not any(name in line and value in line for line in configured):
            found.append(f"no ConfigMap of the Database says {name} = {value}")
    if service and service["spec"].get("clusterIP") != "None":
        found.append(f"Service {db.name} is not headless: its clusterIP is {service['spec'].get('clusterIP')}")
    return "\n".join(found + (_wrong_stateful_set(live, db) if live else []))


def _wrong_stateful_set(live: dict[str, Any], db: CustomResource) -> list[str]:
    spec, pod = live["spec"], live["spec"]["template"]["spec"]
    image = namespace_of(db).images.postgres[0].rpartition(":")[0] + f":{db.spec['version']}"
    images = [each["image"] for each in pod["containers"]]
    replicas, wanted = spec["replicas"], db.spec["replicas"]
    return [
        words
        for words, right in (
            (f"the StatefulSet has {replicas} replicas, not {wanted}", replicas == wanted),
            (f"no container of the StatefulSet runs {image}, but {', '.join(images)}", image in images),
            (f"the Pods do not use the Secret {db.name}-credentials", f"{db.name}-credentials" in json.dumps(pod)),
            ("no container has a readinessProbe", any("readinessProbe" in each for each in pod["containers"])),
            ("the StatefulSet has no volumeClaimTemplates", bool(spec.get("volumeClaimTemplates"))),
        )
        if not right
    ]


def query(db: CustomResource, *statements: str) -> str:
    """Ask the first server by the `psql` of its own Pod, with the Secret's password; return what it printed."""
    from converge.cluster import programs
    from converge.grader.checks.expect import fail

    namespace = namespace_of(db)
    kubectl = str(programs.obtain(["kubectl"], lambda words: None)["kubectl"])
    command = [kubectl, "--kubeconfig", str(namespace.cluster.kubeconfig), "--namespace", str(namespace)]
    command += ["exec", f"{db.name}-0", "--", "env", f"PGPASSWORD={password(db)}"]
    command += ["psql", "--host=127.0.0.1", "--username=postgres", "--dbname=postgres"]
    command += ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"]
    command += [f"--command={statement}" for statement in statements]
    asked = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if asked.returncode != 0:
        fail(
            when=f"`psql` in Pod {db.name}-0 was asked: {'; '.join(statements)}",
            expected="an answer",
            got=asked.stderr.strip() or f"exit code {asked.returncode}",
            hint="Is the image a PostgreSQL server, and does it use the password of the Secret?",
        )
    return asked.stdout.strip()
