"""What every cluster of the course has before the first check: the course's kinds, defined *and served*.

A CustomResourceDefinition is Established a moment before its objects can be listed; until then the server answers
404, or 429 "storage is (re)initializing". Waiting for a list that succeeds ends that race here, once, for everybody.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from converge.cluster.directories import course_dir
from converge.cluster.errors import ClusterError
from converge.runtime import Client, NotFound, RuntimeProblem, UnknownKind

FIELD_MANAGER = "converge"
DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_PAUSE = 0.03


def documents(path: Path) -> list[dict[str, Any]]:
    """The objects of a YAML file."""
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def until(what: str, condition: Callable[[], bool], within: float, mend: str = "converge logs") -> None:
    """Ask ``condition`` again and again until it holds; a server that is not there yet counts as not yet."""
    deadline = time.monotonic() + within
    last: Exception | None = None
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except (RuntimeProblem, OSError) as error:
            last = error
        time.sleep(_PAUSE)
    reason = f" ({last})" if last else ""
    raise ClusterError(f"{what} did not happen within {within:.0f} s{reason}", mend)


def definitions() -> list[dict[str, Any]]:
    """The CustomResourceDefinitions of the course."""
    return [one for path in sorted((course_dir() / "crds").glob("*.yaml")) for one in documents(path)]


def install_kinds(client: Client) -> None:
    """Define the course's kinds and wait until their objects can be listed."""
    for definition in definitions():
        client.apply(definition, field_manager=FIELD_MANAGER, force=True)
    for definition in definitions():
        wait_until_served(client, definition)


def wait_until_served(client: Client, definition: dict[str, Any]) -> None:
    """Wait until the objects of a defined kind can be listed."""
    until(
        f"serving {_kind(definition)[1]}", lambda: client.list(*_kind(definition), page_size=1) is not None, within=30
    )


def objects_of(client: Client, definition: dict[str, Any]) -> list[dict[str, Any]]:
    """Every object of a defined kind."""
    try:
        return client.list(*_kind(definition))
    except UnknownKind:
        return []


def remove(client: Client, definition: dict[str, Any]) -> None:
    """Remove a defined kind."""
    try:
        client.delete(*DEFINITION, definition["metadata"]["name"])
    except NotFound:
        pass


def _kind(definition: dict[str, Any]) -> tuple[str, str]:
    spec = definition["spec"]
    return f"{spec['group']}/{spec['versions'][0]['name']}", spec["names"]["kind"]


def server_version(client: Client) -> str:
    """What the server says it is, ``v1.36.4``."""
    return str(client.connection.request("GET", "/version", asked="ask for the version")["gitVersion"])


def nodes_are_ready(client: Client) -> bool:
    """Whether there is a node, and every node is Ready and free of taints that keep Pods away."""
    nodes = client.list("v1", "Node")
    return bool(nodes) and all(_is_ready(node) for node in nodes)


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = {one["type"]: one["status"] for one in node.get("status", {}).get("conditions", [])}
    return conditions.get("Ready") == "True" and not node["spec"].get("taints")


def wait_for_garbage_collector(client: Client) -> None:
    """Show that owner references work for the course's kinds: a parent is deleted, and its child goes too."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "converge-setup-"}}
    place = client.create(namespace)["metadata"]["name"]
    parent = client.create(
        {
            "apiVersion": "converge.example/v1",
            "kind": "WebApp",
            "metadata": {"name": "parent", "namespace": place},
            "spec": {"image": "none"},
        }
    )
    owner = {"apiVersion": parent["apiVersion"], "kind": "WebApp", "name": "parent", "uid": parent["metadata"]["uid"]}
    child = {"name": "child", "namespace": place, "ownerReferences": [owner]}
    client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": child})
    client.delete("converge.example/v1", "WebApp", "parent", place)
    until("the garbage collector's start", lambda: not _is_there(client, "child", place), within=60)
    client.delete("v1", "Namespace", place)


def _is_there(client: Client, name: str, namespace: str) -> bool:
    try:
        return bool(client.get("v1", "ConfigMap", name, namespace))
    except NotFound:
        return False
