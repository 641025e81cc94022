"""The ``kind`` program, run for one cluster: its configuration, what it says, and how it is ended.

What a cluster of the course needs besides, and when one is made or repaired, is `kind`'s business.
"""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from converge.cluster import processes
from converge.cluster.engine import Engine
from converge.cluster.errors import ClusterError
from converge.files import write_whole


@dataclass(frozen=True)
class KindCli:
    """The program, the engine it uses, and the one cluster it is used for."""

    program: Path
    engine: Engine
    cluster: str
    directory: Path

    def create(self, image: str, progress: Callable[[str], None]) -> None:
        """Make the cluster, with its kubeconfig in our directory."""
        config = self.directory / "kind.yaml"
        write_whole(config, _configuration(image))
        self._run(["create", "cluster", f"--config={config}", f"--kubeconfig={self._kubeconfig}"], progress)

    def load(self, archive: Path, progress: Callable[[str], None]) -> None:
        """Bring the images of an archive into the node."""
        self._run(["load", "image-archive", str(archive)], progress)

    def delete(self) -> None:
        """Remove every container of the cluster, also those of a creation that still runs or was cut off."""
        processes.kill(processes.mentioning(self.cluster, ("kind",)))
        self._run(["delete", "cluster", f"--kubeconfig={self._kubeconfig}"], lambda _: None)

    @property
    def _kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    def _run(self, arguments: list[str], progress: Callable[[str], None]) -> None:
        log = self.directory / "logs" / "kind.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        process = subprocess.Popen(
            [str(self.program), *arguments, f"--name={self.cluster}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # an interrupt is for us to deal with
            env={**os.environ, "KIND_EXPERIMENTAL_PROVIDER": self.engine.name},
        )
        said = []
        try:
            with log.open("a") as file:
                for line in process.stdout or ():
                    said.append(line)
                    file.write(line)
                    file.flush()
                    if line.startswith(" • "):  # a step, with a picture at its end
                        step = line.encode("ascii", "ignore").decode().strip(" .\n")
                        progress(f"kind is {step[:1].lower()}{step[1:]}")
            code = process.wait()
        except BaseException:
            processes.kill_session(process.pid)
            process.wait()
            raise
        if code != 0:
            # What the engine has said is a line of its own, after kind's account of what it had called.
            errors = [line for line in said if line.startswith("Error: ")]
            errors += [line for line in said if line.startswith("ERROR")] or said[-1:] or ["it did not say why"]
            raise ClusterError(
                f"kind {arguments[0]} failed: {errors[0].removeprefix('ERROR: ').removeprefix('Error: ').strip()}",
                f"read {log}; --provider local needs no containers",
            )


def _configuration(image: str) -> str:
    """One node on loopback. The patch names its API version, so a node image too old for it is simply not patched."""
    clients = {"leader-elect": "false", "kube-api-qps": "500", "kube-api-burst": "1000"}
    patch = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "ClusterConfiguration",
        "etcd": {"local": {"extraArgs": _arguments({"unsafe-no-fsync": "true"})}},
        # The patch replaces whole lists: the first argument is kind's own.
        "controllerManager": {"extraArgs": _arguments({"enable-hostpath-provisioner": "true", **clients})},
        "scheduler": {"extraArgs": _arguments(clients)},
    }
    config = {
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "kind": "Cluster",
        "networking": {"apiServerAddress": "127.0.0.1"},
        "nodes": [{"role": "control-plane", "image": image}],
        "kubeadmConfigPatches": [yaml.safe_dump(patch)],
    }
    return yaml.safe_dump(config, sort_keys=False)


def _arguments(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values.items()]
