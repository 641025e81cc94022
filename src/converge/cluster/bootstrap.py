"""What every cluster of the course has before the first check: its kinds, a Ready node, a storage class, an account.

The kinds are defined *and served*. A CustomResourceDefinition is Established a moment before its objects can be
listed; until then the server answers 404, or 429 "storage is (re)initializing". Waiting for a list that succeeds ends
that race here, once, for everyone.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from converge.cluster.components import MANIFESTS
from converge.cluster.errors import ClusterError
from converge.files import package_root
from converge.runtime import Client, NotFound, RuntimeProblem, UnknownKind

FIELD_MANAGER = "converge"
DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_BY_CONTROLLERS = "node.kubernetes.io/"
_PAUSE = 0.03


def documents(path: Path) -> list[dict[str, Any]]:
    """The objects of a YAML file."""
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def until(what: str, condition: Callable[[], bool], within: float, fix: str = "converge logs") -> None:
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
    raise ClusterError(f"{what} did not happen within {within:.0f} s{reason}", fix)


def definitions() -> list[dict[str, Any]]:
    """The CustomResourceDefinitions of the course."""
    return [one for path in sorted((package_root() / "crds").glob("*.yaml")) for one in documents(path)]


def missing_kinds(client: Client) -> list[str]:
    """The course's kinds that are not defined, or are being removed."""
    names = [definition["metadata"]["name"] for definition in definitions()]
    return [f"the kind {name}" for name in names if not _is_established(client, name)]


def missing(client: Client) -> list[str]:
    """What the course needs of a cluster of its own, and this one lacks."""
    lacking = missing_kinds(client)
    if not nodes_are_ready(client):
        lacking.append("a Ready node")
    if not _has(client, "v1", "ServiceAccount", "default", "default"):
        lacking.append("the ServiceAccount default/default")
    classes = client.list("storage.k8s.io/v1", "StorageClass")
    if not any(each["metadata"].get("annotations", {}).get(_DEFAULT_CLASS) == "true" for each in classes):
        lacking.append("a default storage class")
    return lacking


def _being_removed(client: Client) -> bool:
    ours = {definition["metadata"]["name"] for definition in definitions()}
    there = [each["metadata"] for each in client.list(*DEFINITION)]
    return any(each["name"] in ours and "deletionTimestamp" in each for each in there)


def _is_established(client: Client, name: str) -> bool:
    try:
        found = client.get(*DEFINITION, name)
    except NotFound:
        return False
    conditions = {one["type"]: one["status"] for one in found.get("status", {}).get("conditions", [])}
    return conditions.get("Established") == "True" and "deletionTimestamp" not in found["metadata"]


def install_kinds(client: Client) -> None:
    """Define the course's kinds and wait until their objects can be listed."""
    until("the removal of the kinds' older selves", lambda: not _being_removed(client), within=60)
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


def install_storage(client: Client) -> None:
    """Have a default storage class."""
    _apply(client, "storage.yaml")


def install(client: Client) -> bool:
    """Put in what every local cluster has: the course's kinds, a node that takes Pods, a storage class."""
    install_kinds(client)
    _apply(client, "node.yaml")
    open_nodes(client)
    install_storage(client)
    return True


def _apply(client: Client, manifest: str) -> None:
    for document in documents(MANIFESTS / manifest):
        client.apply(document, field_manager=FIELD_MANAGER, force=True)


def open_nodes(client: Client) -> None:
    """Undo what keeps Pods away from a node by hand, such as `kubectl cordon`; what controllers set, they take back."""
    for node in client.list("v1", "Node"):
        by_hand = [taint for taint in node["spec"].get("taints", []) if not taint["key"].startswith(_BY_CONTROLLERS)]
        if node["spec"].get("unschedulable") or by_hand:
            change = {"spec": {"unschedulable": None, "taints": None}}
            client.patch("v1", "Node", node["metadata"]["name"], None, change)


def wait_until_fit(client: Client, alive: Callable[[], bool] = lambda: True) -> None:
    """Wait for what the controllers add; ``alive`` raises when there is no use in waiting."""
    until("a Ready node", lambda: alive() and nodes_are_ready(client), within=60)
    until(
        "the first ServiceAccount",
        lambda: alive() and _has(client, "v1", "ServiceAccount", "default", "default"),
        within=60,
    )


def nodes_are_ready(client: Client) -> bool:
    """Whether there is a node, and every node is Ready and free of taints that keep Pods away."""
    nodes = client.list("v1", "Node")
    return bool(nodes) and all(_is_ready(node) for node in nodes)


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = {one["type"]: one["status"] for one in node.get("status", {}).get("conditions", [])}
    kept_away = node["spec"].get("taints") or node["spec"].get("unschedulable")
    return conditions.get("Ready") == "True" and not kept_away


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
    until("the garbage collector's start", lambda: not _has(client, "v1", "ConfigMap", "child", place), within=60)
    client.delete("v1", "Namespace", place)


def _has(client: Client, api_version: str, kind: str, name: str, namespace: str) -> bool:
    try:
        return bool(client.get(api_version, kind, name, namespace))
    except NotFound:
        return False
