"""Kubeconfig files: ours, written whole and readable by their owner alone; and the user's, which are only read."""

import base64
import os
from pathlib import Path
from typing import Any

import yaml

from converge.cluster.errors import ClusterError
from converge.files import write_whole


def write(path: Path, server: str, user: dict[str, Any], ca: bytes | None = None, namespace: str = "default") -> None:
    """Write a kubeconfig with one context, named ``converge``, for ``user`` at ``server``."""
    cluster: dict[str, Any] = {"server": server}
    if ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca).decode()
    write_config(
        path,
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "converge",
            "clusters": [{"name": "converge", "cluster": cluster}],
            "users": [{"name": "converge", "user": user}],
            "contexts": [
                {
                    "name": "converge",
                    "context": {"cluster": "converge", "user": "converge", "namespace": namespace},
                }
            ],
        },
    )


def certificate_user(cert: Path, key: Path) -> dict[str, str]:
    """The ``user`` entry for a client certificate, with the key inside the file."""
    return {
        "client-certificate-data": base64.b64encode(cert.read_bytes()).decode(),
        "client-key-data": base64.b64encode(key.read_bytes()).decode(),
    }


def write_config(path: Path, config: dict[str, Any]) -> None:
    """Write ``config`` so that nobody ever sees half of it, and nobody else sees any of it."""
    write_whole(path, yaml.safe_dump(config, sort_keys=False), mode=0o600)


# What a kubeconfig may name by a path relative to itself.
_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


def of_user() -> dict[str, Any]:
    """The user's kubeconfig, files merged as kubectl does (the first to name something wins), paths made absolute."""
    merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config", "clusters": [], "contexts": [], "users": []}
    for name in os.environ.get("KUBECONFIG", "~/.kube/config").split(os.pathsep):
        path = Path(name).expanduser()
        try:
            config = yaml.safe_load(path.read_text())
        except (OSError, yaml.YAMLError):
            continue
        if not isinstance(config, dict):
            continue
        for section, inner in (("clusters", "cluster"), ("contexts", "context"), ("users", "user")):
            known = {entry["name"] for entry in merged[section]}
            for entry in config.get(section) or []:
                if entry["name"] not in known:
                    merged[section].append({**entry, inner: _absolute(entry.get(inner) or {}, path.parent)})
    return merged


def only(config: dict[str, Any], context: str) -> dict[str, Any]:
    """``config`` with nothing but one context, its cluster and its user: no credentials that are not needed."""
    chosen = _named(config["contexts"], context)
    cluster = _named(config["clusters"], chosen["context"]["cluster"])
    users = [entry for entry in config["users"] if entry["name"] == chosen["context"].get("user")]
    return {**config, "current-context": context, "contexts": [chosen], "clusters": [cluster], "users": users}


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    for entry in entries:
        if entry["name"] == name:
            return entry
    raise ClusterError(f"your kubeconfig has nothing named {name!r}", "check it with `kubectl config view`")


def _absolute(entry: dict[str, Any], directory: Path) -> dict[str, Any]:
    """Paths in a kubeconfig are relative to its directory; ours is another one."""
    made = {**entry}
    for key in _PATHS:
        if made.get(key):
            made[key] = str(directory.absolute() / Path(made[key]).expanduser())
    command = (made.get("exec") or {}).get("command", "")
    if os.sep in command:  # a bare name is looked for on the path
        made["exec"] = {**made["exec"], "command": str(directory.absolute() / command)}
    return made
