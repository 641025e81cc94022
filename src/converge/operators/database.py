"""Boilerplate for a Database: names, labels, the Pod spec, the Service and the ConfigMap.

What needs thought is the subject of lesson 14: the password, the storage, and what cannot be changed.
"""

import json
import os
from hashlib import sha256

from converge.operators.webapp import condition
from converge.runtime import Client, Object

DATABASE = ("converge.example/v1", "Database")
MANAGED_BY = {"app.kubernetes.io/managed-by": "database-operator"}
PORT = 5432
UNITS = {"Mi": 1, "Gi": 2**10, "Ti": 2**20, "Pi": 2**30}


def identity(database: Object, suffix: str = "") -> Object:
    """The metadata of a child: a name that follows from the Database's, its namespace, and our labels."""
    metadata = database["metadata"]
    return {
        "name": metadata["name"] + suffix,
        "namespace": metadata["namespace"],
        "labels": {**selector(database), **MANAGED_BY},
    }


def selector(database: Object) -> dict[str, str]:
    """What the Pods of this Database, and no other, are known by. It can never change, so it is as small as can be."""
    return {"app.kubernetes.io/name": "database", "app.kubernetes.io/instance": database["metadata"]["name"]}


def service(database: Object) -> Object:
    """A Service without an address of its own: it gives each Pod a name, ``NAME-0.NAME.NAMESPACE.svc``."""
    ports = [{"name": "postgres", "port": PORT, "targetPort": "postgres"}]
    spec = {"clusterIP": "None", "selector": selector(database), "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": identity(database), "spec": spec}


def config_map(database: Object) -> Object:
    """The parameters, as the file that the server reads when it starts."""
    parameters = {"listen_addresses": "*", **database["spec"].get("parameters", {})}
    lines = [f"{name} = '{value.replace(chr(39), chr(39) * 2)}'\n" for name, value in sorted(parameters.items())]
    data = {"postgresql.conf": "".join(lines)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": identity(database, "-config"), "data": data}


def checksum(obj: Object) -> str:
    """A short text that differs when the data of a ConfigMap differ."""
    return sha256(json.dumps(obj["data"], sort_keys=True).encode()).hexdigest()[:16]


def mebibytes(size: str) -> int:
    """A size as a number. The server may write ``1024Mi`` as ``1Gi``: compare numbers, not texts."""
    return int(size[:-2]) * UNITS[size[-2:]]


def pod_spec(database: Object) -> Object:
    """One server: its image, its password from the Secret, its files on the volume ``data``, and its probes."""
    name = database["metadata"]["name"]
    repository = os.environ.get("POSTGRES_IMAGE", "docker.io/library/postgres")
    answers = {"exec": {"command": ["pg_isready", "-U", "postgres", "-h", "127.0.0.1"]}}
    password = {"secretKeyRef": {"name": f"{name}-credentials", "key": "password"}}
    container = {
        "name": "postgres",
        "image": f"{repository}:{database['spec']['version']}",
        "args": ["-c", "config_file=/etc/postgresql/postgresql.conf"],
        "env": [
            {"name": "POSTGRES_PASSWORD", "valueFrom": password},
            {"name": "PGDATA", "value": "/var/lib/postgresql/data/files"},
        ],
        "ports": [{"name": "postgres", "containerPort": PORT}],
        "startupProbe": {**answers, "periodSeconds": 2, "failureThreshold": 150},  # recovery after a crash takes time
        "readinessProbe": {**answers, "periodSeconds": 5},
        "livenessProbe": {"tcpSocket": {"port": "postgres"}, "periodSeconds": 20},
        "volumeMounts": [
            {"name": "data", "mountPath": "/var/lib/postgresql/data"},
            {"name": "config", "mountPath": "/etc/postgresql"},
        ],
    }
    return {"containers": [container], "volumes": [{"name": "config", "configMap": {"name": f"{name}-config"}}]}


def claims(client: Client, database: Object) -> list[tuple[int, Object]]:
    """The claims of the volumes ``data`` of this Database, each with the number of the server that it was made for."""
    metadata, match = database["metadata"], ",".join(f"{key}={value}" for key, value in selector(database).items())
    found = client.list("v1", "PersistentVolumeClaim", metadata["namespace"], label_selector=match)
    named = [(each["metadata"]["name"].removeprefix(f"data-{metadata['name']}-"), each) for each in found]
    return [(int(number), each) for number, each in named if number.isdecimal()]


def blocked(database: Object, reason: str, message: str) -> Object:
    """The status of a Database whose children could not be made."""
    states = {"Available": False, "Progressing": False, "Degraded": True}
    conditions = [condition(database, type, state, reason, message) for type, state in states.items()]
    return {"observedGeneration": database["metadata"]["generation"], "readyReplicas": 0, "conditions": conditions}
