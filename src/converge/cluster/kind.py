"""A cluster in containers, by kind, where Docker or Podman answers. Its Pods are real.

It is named after its state directory, so that two do not meet, and its kubeconfig is ours: the user's own is never
touched. ``start`` creates it, starts a stopped node again, and makes anew what cannot be mended.

The garbage collector looks for new kinds every 30 s only, and kubeadm starts it before anybody can define a kind. So
the controller manager is started once more when the course's kinds are served, and a small family of objects shows
that owner references work.
"""

import base64
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from converge.cluster import engine as engines
from converge.cluster import etcd, existing, kubeconfig, node, programs, setup
from converge.cluster.directories import cluster_dir, private_dir, state_dir
from converge.cluster.errors import ClusterError
from converge.cluster.kindctl import Kind
from converge.cluster.model import Cluster, Part
from converge.runtime import Client

IMAGE = "kindest/node:v1.36.1@sha256:3489c7674813ba5d8b1a9977baea8a6e553784dab7b84759d1014dbd78f7ebd5"
_READY_WITHIN = 180.0


def name() -> str:
    """The cluster's name, one for each state directory."""
    return "converge-" + hashlib.sha256(str(state_dir()).encode()).hexdigest()[:8]


def _state_file() -> Path:
    return cluster_dir() / "kind.json"


def _read_state() -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads(_state_file().read_text())
    except (OSError, ValueError):
        return {}
    return state


def exists() -> bool:
    """Whether a kind cluster of ours is there, whole or not."""
    return _state_file().exists()


def engine() -> str | None:
    """The container engine that answers, ``docker`` or ``podman``."""
    found = engines.answering()
    return found.name if found else None


def start(image: str | None, progress: Callable[[str], None]) -> Cluster:
    """Create the cluster, or mend it, and wait until it is fit for work."""
    state = _read_state()
    runs_on = _engine(state.get("engine"))
    wanted = image or os.environ.get("CONVERGE_KIND_IMAGE") or state.get("image") or IMAGE
    if state.get("ready") and (found := node.find(runs_on, name())) is not None:
        if wanted != state["image"]:
            raise ClusterError(f"a kind cluster of the image {state['image']} is here", "first: converge down")
        if not found.running:
            progress("starting the node again")
            runs_on.run("start", found.name)
        _wait_for_node()
        return cluster()
    if not runs_on.has(wanted):  # before kind, which would try five times
        runs_on.pull(wanted, progress)
    kind = Kind(programs.obtain(["kind"], progress)["kind"], runs_on, name(), cluster_dir())
    if state:
        _remove(kind)  # an interrupted start, or a node that somebody has removed
    private_dir(cluster_dir())
    _state_file().write_text(json.dumps({"engine": runs_on.name, "image": wanted}))
    try:
        _create(kind, wanted, progress)
    except BaseException:
        _remove(kind, keep_logs=True)
        raise
    return cluster()


def _create(kind: Kind, image: str, progress: Callable[[str], None]) -> None:
    kind.create(image, progress)
    _own_kubeconfig()
    client = Client(kubeconfig=cluster_dir() / "kubeconfig")
    progress("defining the course's kinds")
    setup.install_kinds(client)
    _node().restart("kube-controller-manager")
    _load_images(kind, progress)
    progress("waiting for the node and the garbage collector")
    _wait_for_node()
    setup.wait_for_garbage_collector(client)
    server, version = client.connection.server, setup.server_version(client)
    state = {**_read_state(), "server": server, "version": version, "ready": True}
    _state_file().write_text(json.dumps(state))


def _own_kubeconfig() -> None:
    """Write kind's credentials as all our kubeconfigs are: one context named ``converge``, for its owner's eyes."""
    path = cluster_dir() / "kubeconfig"
    made = yaml.safe_load(path.read_text())
    entry = made["clusters"][0]["cluster"]
    authority = base64.b64decode(entry["certificate-authority-data"])
    kubeconfig.write(path, entry["server"], made["users"][0]["user"], authority)
    (cluster_dir() / "ca.crt").write_bytes(authority)


def _load_images(kind: Kind, progress: Callable[[str], None]) -> None:
    """Give the node those of the labs' images that the engine has; it pulls the others when a Pod wants them."""
    images = existing.images()
    here = [image for image in (*images.web, *images.postgres) if kind.engine.has(image)]
    if here:
        _load(kind, here, progress)


def _load(kind: Kind, images: Sequence[str], progress: Callable[[str], None]) -> None:
    progress(f"loading images: {', '.join(images)}")
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch) / "images.tar"
        kind.engine.save(images, "linux/" + programs.target().split("-")[1], archive)
        kind.load(archive, progress)


def load(images: Sequence[str], progress: Callable[[str], None]) -> None:
    """Bring images from the engine into the node, where Pods find them without a registry."""
    runs_on = _node().engine
    for image in images:
        if not runs_on.has(image):
            raise ClusterError(
                f"{runs_on.name} has no image {image}",
                f"build it ({runs_on.name} build -t {image} …) or get it ({runs_on.name} pull {image})",
            )
    _load(Kind(programs.obtain(["kind"], progress)["kind"], runs_on, name(), cluster_dir()), images, progress)


def _wait_for_node() -> None:
    client = Client(kubeconfig=cluster_dir() / "kubeconfig", timeout=5)
    setup.until("a Ready node", lambda: setup.nodes_are_ready(client), _READY_WITHIN)


def cluster() -> Cluster:
    """The cluster as it stands."""
    state = _read_state()
    found = node.find(engines.Engine(state["engine"]), name())
    server = state.get("server", "")
    part = Part(
        name="node",
        alive=bool(found and found.running and state.get("ready")),
        version=state.get("version", ""),
        pid=found.pid if found else None,
        port=int(server.rpartition(":")[2]) if server else None,
        memory=found.memory() if found else 0,
        log=cluster_dir() / "logs" / "kind.log",
    )
    return Cluster(
        provider="kind",
        kubeconfig=cluster_dir() / "kubeconfig",
        server=server,
        ca_file=cluster_dir() / "ca.crt",
        version=state.get("version", ""),
        images=existing.images(),
        pods_are_real=True,
        parts=(part,),
    )


def runs() -> bool:
    """Whether the cluster is there and its node runs."""
    return exists() and all(part.alive for part in cluster().parts)


def stop() -> None:
    """Delete the cluster's containers and its directory."""
    runs_on = _engine(_read_state().get("engine"))
    _remove(Kind(programs.obtain(["kind"], lambda _: None)["kind"], runs_on, name(), cluster_dir()))


def _remove(kind: Kind, keep_logs: bool = False) -> None:
    kind.delete()
    for path in cluster_dir().iterdir() if cluster_dir().exists() else ():
        if path.is_file():
            path.unlink()
        elif not keep_logs:
            shutil.rmtree(path)
    if not keep_logs:
        cluster_dir().rmdir()


def restart(component: str) -> None:
    """Kill ``component`` inside the node; the kubelet starts it again."""
    _node().restart(component)
    _wait_for_node()


def compact() -> int:
    """Compact etcd's history up to now; return the revision."""
    return etcd.compact(_node().ask_etcd)


def logs(component: str | None, lines: int, follow: bool) -> int:
    """Show what the control plane inside the node wrote; return an exit code."""
    return _node().tail(component, lines, follow)


def _engine(named: str | None = None) -> engines.Engine:
    found = engines.answering(named)
    if found is None:
        raise ClusterError(
            f"{named} does not answer" if named else "no container engine answers (neither Docker nor Podman)",
            f"start {named}" if named else "start Docker or Podman, or use --provider local, which needs neither",
        )
    return found


def _node() -> node.Node:
    found = node.find(_engine(_read_state().get("engine")), name())
    if found is None or not found.running:
        raise ClusterError("the node of the kind cluster does not run", "converge up")
    return found
