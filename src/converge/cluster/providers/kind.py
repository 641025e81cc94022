"""A cluster in containers, by kind, where Docker or Podman answers. Its Pods are real.

It is named after its state directory, so that two do not meet, and its kubeconfig is ours: the user's own is never
touched. ``start`` creates it, starts a stopped node again, and replaces what cannot be repaired.

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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from converge.cluster import bootstrap, etcd, images, kubeconfig, node, programs
from converge.cluster import engine as engines
from converge.cluster.directories import cluster_dir, private_dir, state_dir
from converge.cluster.errors import ClusterError
from converge.cluster.kind_cli import KindCli
from converge.cluster.model import Cluster, DoctorLine, Part
from converge.cluster.providers.base import OnMessage, Options, Provider
from converge.files import write_whole
from converge.runtime import Client

IMAGE = "kindest/node:v1.36.1@sha256:3489c7674813ba5d8b1a9977baea8a6e553784dab7b84759d1014dbd78f7ebd5"
_READY_WITHIN = 180.0


def cluster_name() -> str:
    """The cluster's name, one for each state directory."""
    return "converge-" + hashlib.sha256(str(state_dir()).encode()).hexdigest()[:8]


def _read_state() -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads(KindProvider().state_file.read_text())
    except (OSError, ValueError):
        return {}
    return state


class KindProvider(Provider):
    """A cluster in containers."""

    name = "kind"
    loads_images = True

    def is_automatic(self) -> bool:
        """Where Docker or Podman answers."""
        return engines.answering() is not None

    def start(self, options: Options, progress: OnMessage) -> Cluster:
        """Create the cluster, or repair it, and wait until it is fit for work."""
        state = _read_state()
        runs_on = _engine(state.get("engine"))
        wanted = options.image or os.environ.get("CONVERGE_KIND_IMAGE") or state.get("image") or IMAGE
        if state.get("ready") and (found := node.find(runs_on, cluster_name())) is not None:
            if wanted != state["image"]:
                raise ClusterError(f"a kind cluster of the image {state['image']} is here", "first: converge down")
            if not found.running:
                progress("starting the node again")
                runs_on.run("start", found.name)
            _restore(progress)
            return self.describe()
        if not runs_on.has(wanted):  # before kind, which would try five times
            runs_on.pull(wanted, progress)
        kind = KindCli(programs.obtain(["kind"], progress)["kind"], runs_on, cluster_name(), cluster_dir())
        if state:
            _remove(kind)  # an interrupted start, or a node that someone has removed
        private_dir(cluster_dir())
        write_whole(self.state_file, json.dumps({"engine": runs_on.name, "image": wanted}))
        try:
            _create(kind, wanted, progress)
        except BaseException:
            _remove(kind, keep_logs=True)
            raise
        return self.describe()

    def describe(self) -> Cluster:
        """The cluster as it stands."""
        state = _read_state()
        found = node.find(engines.Engine(state["engine"]), cluster_name())
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
            provider=self.name,
            kubeconfig=cluster_dir() / "kubeconfig",
            server=server,
            ca_file=cluster_dir() / "ca.crt",
            version=state.get("version", ""),
            images=images.real(),
            pods_are_real=True,
            parts=(part,),
        )

    def stop(self, on_message: OnMessage) -> str:
        """Delete the cluster's containers and its directory."""
        runs_on = _engine(_read_state().get("engine"))
        _remove(KindCli(programs.obtain(["kind"], lambda _: None)["kind"], runs_on, cluster_name(), cluster_dir()))
        return "the kind cluster is gone"

    def logs(self, component: str | None, lines: int, follow: bool) -> int:
        """What the control plane inside the node wrote; ``kind`` itself has its log out here."""
        if component == "kind" or not all(part.alive for part in self.describe().parts):
            return super().logs(component, lines, follow)
        return _node().tail(component, lines, follow)

    def load_images(self, images: Sequence[str], progress: OnMessage) -> None:
        """Bring images from the engine into the node, where Pods find them without a registry."""
        runs_on = _node().engine
        for image in images:
            if not runs_on.has(image):
                raise ClusterError(
                    f"{runs_on.name} has no image {image}",
                    f"build it ({runs_on.name} build -t {image} …) or get it ({runs_on.name} pull {image})",
                )
        _load(
            KindCli(programs.obtain(["kind"], progress)["kind"], runs_on, cluster_name(), cluster_dir()),
            images,
            progress,
        )

    def restart(self, component: str) -> None:
        """Kill ``component`` inside the node; the kubelet starts it again."""
        _node().restart(component)
        _wait_for_node()

    def compact(self) -> int:
        """Compact etcd's history up to now; return the revision."""
        return etcd.compact(_node().ask_etcd)

    def examine(self) -> list[DoctorLine]:
        """The container engine."""
        found = engines.answering()
        return [
            DoctorLine(
                "container engine",
                found is not None,
                found.name if found else "no Docker or Podman answers",
                "" if found else "not needed: the local control plane is used instead of kind",
                needed=False,
            )
        ]


def _restore(progress: OnMessage) -> None:
    """Put back what the course needs and someone has deleted, and wait for the node."""
    client = Client(kubeconfig=cluster_dir() / "kubeconfig", timeout=10)
    bootstrap.until("the API server's answer", lambda: bool(bootstrap.server_version(client)), _READY_WITHIN)
    lacking = bootstrap.missing(client)
    if lacking:
        progress(f"putting back {', '.join(lacking)}")
        if bootstrap.missing_kinds(client):
            bootstrap.install_kinds(client)
            _node().restart("kube-controller-manager")  # its garbage collector would overlook the kinds for 30 s
        if not client.list("v1", "Node"):
            _node().run("systemctl restart kubelet")  # which registers the node
        bootstrap.open_nodes(client)
        if not client.list("storage.k8s.io/v1", "StorageClass"):
            bootstrap.install_storage(client)
    _wait_for_node()


def _create(kind: KindCli, image: str, progress: OnMessage) -> None:
    kind.create(image, progress)
    _own_kubeconfig()
    client = Client(kubeconfig=cluster_dir() / "kubeconfig")
    progress("defining the course's kinds")
    bootstrap.install_kinds(client)
    _node().restart("kube-controller-manager")
    _load_images(kind, progress)
    progress("waiting for the node and the garbage collector")
    _wait_for_node()
    bootstrap.wait_for_garbage_collector(client)
    server, version = client.connection.server, bootstrap.server_version(client)
    state = {**_read_state(), "server": server, "version": version, "ready": True}
    write_whole(KindProvider().state_file, json.dumps(state))


def _own_kubeconfig() -> None:
    """Write kind's credentials as all our kubeconfigs are: one context named ``converge``, for its owner's eyes."""
    path = cluster_dir() / "kubeconfig"
    made = yaml.safe_load(path.read_text())
    entry = made["clusters"][0]["cluster"]
    authority = base64.b64decode(entry["certificate-authority-data"])
    kubeconfig.write(path, entry["server"], made["users"][0]["user"], authority)
    write_whole(cluster_dir() / "ca.crt", authority.decode())


def _load_images(kind: KindCli, progress: OnMessage) -> None:
    """Give the node those of the labs' images that the engine has; it pulls the others when a Pod wants them."""
    wanted = images.real()
    here = [image for image in (*wanted.web, *wanted.postgres) if kind.engine.has(image)]
    if here:
        _load(kind, here, progress)


def _load(kind: KindCli, names: Sequence[str], progress: OnMessage) -> None:
    progress(f"loading images: {', '.join(names)}")
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch) / "images.tar"
        kind.engine.save(names, "linux/" + programs.target().split("-")[1], archive)
        kind.load(archive, progress)


def _wait_for_node() -> None:
    client = Client(kubeconfig=cluster_dir() / "kubeconfig", timeout=5)
    bootstrap.until("a Ready node", lambda: bootstrap.nodes_are_ready(client), _READY_WITHIN)


def _remove(kind: KindCli, keep_logs: bool = False) -> None:
    kind.delete()
    for path in cluster_dir().iterdir() if cluster_dir().exists() else ():
        if path.is_file():
            path.unlink()
        elif not keep_logs:
            shutil.rmtree(path)
    if not keep_logs:
        cluster_dir().rmdir()


def _engine(named: str | None = None) -> engines.Engine:
    found = engines.answering(named)
    if found is None:
        raise ClusterError(
            f"{named} does not answer" if named else "no container engine answers (neither Docker nor Podman)",
            f"start {named}" if named else "start Docker or Podman, or use --provider local, which needs neither",
        )
    return found


def _node() -> node.Node:
    found = node.find(_engine(_read_state().get("engine")), cluster_name())
    if found is None or not found.running:
        raise ClusterError("the node of the kind cluster does not run", "converge up")
    return found
