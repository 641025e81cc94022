"""A cluster that somebody else runs, reached through a context of a kubeconfig.

Nothing of it is ours: the command line asks before ``start``, which defines those of the course's kinds that are
missing and writes a kubeconfig of our own. ``stop`` forgets the cluster and takes back only what ``start`` made:
a kind that was there before stays, and so does one of which somebody has objects.
"""

import base64
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import certifi

from converge.cluster import kubeconfig, setup
from converge.cluster.directories import cluster_dir, private_dir
from converge.cluster.errors import ClusterError
from converge.cluster.model import Cluster, Images
from converge.runtime import Client, NotFound, RuntimeProblem


def _state_file() -> Path:
    return cluster_dir() / "existing.json"


def _read_state() -> dict[str, Any]:
    state: dict[str, Any] = json.loads(_state_file().read_text())
    return state


def exists() -> bool:
    """Whether an existing cluster is in use."""
    return _state_file().exists()


def contexts() -> dict[str, str]:
    """The contexts of the user's kubeconfig, with the server of each."""
    config = kubeconfig.of_user()
    servers = {entry["name"]: entry["cluster"].get("server", "?") for entry in config["clusters"]}
    return {entry["name"]: servers.get(entry["context"]["cluster"], "?") for entry in config["contexts"]}


def start(context: str | None, progress: Callable[[str], None]) -> Cluster:
    """Use the cluster of ``context``. The caller has asked the user."""
    if exists():
        used = _read_state()["context"]
        if context not in (None, used):
            raise ClusterError(f"the cluster of the context {used} is in use here", "first: converge down")
        _prepare(Client(kubeconfig=cluster_dir() / "kubeconfig"), progress)
        return cluster()
    known = contexts()
    if context is None or context not in known:
        raise ClusterError(
            f"your kubeconfig has no context {context}" if context else "which cluster? name a context",
            "--provider existing --context " + ("|".join(known) or "NAME (your kubeconfig has none)"),
        )
    private_dir(cluster_dir())
    try:
        _use(context, known[context], progress)
    except BaseException:
        if not exists():
            shutil.rmtree(cluster_dir(), ignore_errors=True)
        raise
    return cluster()


def _use(context: str, server: str, progress: Callable[[str], None]) -> None:
    config = kubeconfig.only(kubeconfig.of_user(), context)
    (cluster_dir() / "ca.crt").write_bytes(_authority(config["clusters"][0]["cluster"]))
    kubeconfig.write_config(cluster_dir() / "kubeconfig", config)
    client = Client(kubeconfig=cluster_dir() / "kubeconfig", timeout=10)
    try:
        state = {"server": server, "context": context, "version": setup.server_version(client), "created": []}
    except (RuntimeProblem, OSError) as error:
        raise ClusterError(f"{server} cannot be used: {error}", "check the context with kubectl") from error
    _state_file().write_text(json.dumps(state))
    _prepare(client, progress)


def _prepare(client: Client, progress: Callable[[str], None]) -> None:
    """Define the kinds that are missing; each is written down before it is made, so that none is forgotten."""
    progress(f"asking {client.connection.server}")
    try:
        for definition in setup.definitions():
            name = definition["metadata"]["name"]
            try:
                client.get(*setup.DEFINITION, name)
            except NotFound:
                state = _read_state()
                _state_file().write_text(json.dumps({**state, "created": [*state["created"], name]}))
                client.apply(definition, field_manager=setup.FIELD_MANAGER)
            setup.wait_until_served(client, definition)
    except (RuntimeProblem, OSError) as error:
        raise ClusterError(f"{client.connection.server} cannot be used: {error}", "check it with kubectl") from error


def cluster() -> Cluster:
    """The cluster in use."""
    state = _read_state()
    return Cluster(
        provider="existing",
        kubeconfig=cluster_dir() / "kubeconfig",
        server=state["server"],
        ca_file=cluster_dir() / "ca.crt",
        version=state["version"],
        images=images(),
        pods_are_real=True,
    )


def images() -> Images:
    """Images that real nodes can pull; settable, because not every node reaches the same registry."""
    web = os.environ.get(
        "CONVERGE_WEB_IMAGES",  # by default a web server that listens on 8080, as WebApps do
        "docker.io/nginxinc/nginx-unprivileged:1.28-alpine,docker.io/nginxinc/nginx-unprivileged:1.29-alpine",
    )
    postgres = os.environ.get(
        "CONVERGE_POSTGRES_IMAGES", "docker.io/library/postgres:17.5,docker.io/library/postgres:17.6"
    )
    first, second = web.split(",")
    older, newer = postgres.split(",")
    return Images(web=(first, second), bad=f"{first.rsplit(':', 1)[0]}:bad", postgres=(older, newer))


def stop(say: Callable[[str], None]) -> None:
    """Forget the cluster; take back the kinds that ``start`` defined and that nobody uses."""
    state = _read_state()
    client = Client(kubeconfig=cluster_dir() / "kubeconfig", timeout=10)
    try:
        for definition in setup.definitions():
            name = definition["metadata"]["name"]
            if name not in state["created"]:
                continue
            left = setup.objects_of(client, definition)
            if left:
                first = "/".join(left[0]["metadata"][key] for key in ("namespace", "name"))
                say(f"{name} stays at {state['server']}: it has {len(left)} objects, such as {first}")
                continue
            setup.remove(client, definition)
    except (RuntimeProblem, OSError) as error:
        say(f"{state['server']} was not cleaned up ({error}); it may still have {', '.join(state['created'])}")
    shutil.rmtree(cluster_dir(), ignore_errors=True)


def _authority(entry: dict[str, Any]) -> bytes:
    if entry.get("insecure-skip-tls-verify"):
        raise ClusterError(
            f"your kubeconfig says not to verify who {entry.get('server')} is",
            "give its certificate-authority instead of insecure-skip-tls-verify",
        )
    if "certificate-authority-data" in entry:
        return base64.b64decode(entry["certificate-authority-data"])
    return Path(entry.get("certificate-authority") or certifi.where()).read_bytes()
