"""A cluster that someone else runs, reached through a context of a kubeconfig.

Nothing of it is ours: the command line asks before ``start``, which defines those of the course's kinds that are
missing and writes a kubeconfig of our own. ``stop`` forgets the cluster and takes back only what ``start`` made:
it keeps kinds that already existed and kinds that still have objects.
"""

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import certifi

from converge.cluster import bootstrap, images, kubeconfig
from converge.cluster.directories import cluster_dir, private_dir
from converge.cluster.errors import ClusterError
from converge.cluster.model import Cluster
from converge.cluster.providers.base import OnMessage, Options, Provider
from converge.files import write_whole
from converge.runtime import Client, NotFound, RuntimeProblem


class ExistingProvider(Provider):
    """A cluster of the user's kubeconfig."""

    name = "existing"

    def consent(self, options: Options) -> str:
        """What the course does there. An unknown context needs no consent: ``start`` says which there are."""
        server = contexts().get(options.context or "")
        if server is None:
            return ""
        return (
            f"The course will install its kinds (WebApp, Database) at {server} and make namespaces of its own there.\n"
            "It deletes nothing that it did not create."
        )

    def start(self, options: Options, progress: OnMessage) -> Cluster:
        """Use the cluster of a context. The caller has asked the user."""
        context = options.context
        if self.exists():
            used = _read_state()["context"]
            if context not in (None, used):
                raise ClusterError(f"the cluster of the context {used} is in use here", "first: converge down")
            _prepare(Client(kubeconfig=cluster_dir() / "kubeconfig"), progress)
            return self.describe()
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
            if not self.exists():
                shutil.rmtree(cluster_dir(), ignore_errors=True)
            raise
        return self.describe()

    def describe(self) -> Cluster:
        """The cluster in use."""
        state = _read_state()
        return Cluster(
            provider=self.name,
            kubeconfig=cluster_dir() / "kubeconfig",
            server=state["server"],
            ca_file=cluster_dir() / "ca.crt",
            version=state["version"],
            images=images.real(),
            pods_are_real=True,
        )

    def missing(self, client: Client) -> list[str]:
        """Only the course's kinds: nodes, accounts and storage are its owner's business."""
        return bootstrap.missing_kinds(client)

    def stop(self, on_message: OnMessage) -> str:
        """Forget the cluster; take back the kinds that ``start`` defined and that nobody uses."""
        _take_back(_read_state(), on_message)
        shutil.rmtree(cluster_dir(), ignore_errors=True)
        return "the existing cluster is no longer used"


def _read_state() -> dict[str, Any]:
    state: dict[str, Any] = json.loads(ExistingProvider().state_file.read_text())
    return state


def contexts() -> dict[str, str]:
    """The contexts of the user's kubeconfig, with the server of each."""
    config = kubeconfig.of_user()
    servers = {entry["name"]: entry["cluster"].get("server", "?") for entry in config["clusters"]}
    return {entry["name"]: servers.get(entry["context"]["cluster"], "?") for entry in config["contexts"]}


def _use(context: str, server: str, progress: OnMessage) -> None:
    config = kubeconfig.only(kubeconfig.of_user(), context)
    write_whole(cluster_dir() / "ca.crt", _authority(config["clusters"][0]["cluster"]).decode())
    kubeconfig.write_config(cluster_dir() / "kubeconfig", config)
    client = Client(kubeconfig=cluster_dir() / "kubeconfig", timeout=10)
    try:
        state = {"server": server, "context": context, "version": bootstrap.server_version(client), "created": []}
    except (RuntimeProblem, OSError) as error:
        raise ClusterError(f"{server} cannot be used: {error}", "check the context with kubectl") from error
    write_whole(ExistingProvider().state_file, json.dumps(state))
    _prepare(client, progress)


def _prepare(client: Client, progress: OnMessage) -> None:
    """Define the kinds that are missing; each is written down before it is made, so that none is forgotten."""
    progress(f"asking {client.connection.server}")
    try:
        for definition in bootstrap.definitions():
            name = definition["metadata"]["name"]
            try:
                client.get(*bootstrap.DEFINITION, name)
            except NotFound:
                state = _read_state()
                write_whole(ExistingProvider().state_file, json.dumps({**state, "created": [*state["created"], name]}))
                client.apply(definition, field_manager=bootstrap.FIELD_MANAGER)
            bootstrap.wait_until_served(client, definition)
    except (RuntimeProblem, OSError) as error:
        raise ClusterError(f"{client.connection.server} cannot be used: {error}", "check it with kubectl") from error


def _take_back(state: dict[str, Any], on_message: OnMessage) -> None:
    client = Client(kubeconfig=cluster_dir() / "kubeconfig", timeout=10)
    try:
        for definition in bootstrap.definitions():
            name = definition["metadata"]["name"]
            if name not in state["created"]:
                continue
            left = bootstrap.objects_of(client, definition)
            if left:
                first = "/".join(left[0]["metadata"][key] for key in ("namespace", "name"))
                on_message(f"{name} stays at {state['server']}: it has {len(left)} objects, such as {first}")
                continue
            bootstrap.remove(client, definition)
    except (RuntimeProblem, OSError) as error:
        on_message(f"{state['server']} was not cleaned up ({error}); it may still have {', '.join(state['created'])}")


def _authority(entry: dict[str, Any]) -> bytes:
    if entry.get("insecure-skip-tls-verify"):
        raise ClusterError(
            f"your kubeconfig says not to verify who {entry.get('server')} is",
            "give its certificate-authority instead of insecure-skip-tls-verify",
        )
    if "certificate-authority-data" in entry:
        return base64.b64decode(entry["certificate-authority-data"])
    return Path(entry.get("certificate-authority") or certifi.where()).read_bytes()
