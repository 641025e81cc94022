"""The smallest provider that works: one process that only says hello. See test_providers.py."""

import json
from dataclasses import asdict

from converge.cluster import processes
from converge.cluster.directories import cluster_dir
from converge.cluster.model import Cluster, Part
from converge.cluster.providers.base import OnMessage, Options, Provider
from converge.files import write_whole


class ToyProvider(Provider):
    """A cluster of one part."""

    name = "toy"

    def start(self, options: Options, progress: OnMessage) -> Cluster:
        progress("starting the toy")
        log = cluster_dir() / "logs" / "greeter.log"
        greeter = processes.start(["sh", "-c", "echo hello from the toy; exec sleep 600"], log, {})
        write_whole(self.state_file, json.dumps(asdict(greeter)))
        return self.describe()

    def describe(self) -> Cluster:
        greeter = self._greeter().process()
        part = Part("greeter", alive=greeter is not None, pid=greeter.pid if greeter else None)
        home = cluster_dir()
        return Cluster(self.name, home / "kubeconfig", "https://toy.example", home / "ca.crt", "v0", parts=(part,))

    def stop(self, on_message: OnMessage) -> str:
        greeter = self._greeter().process()
        processes.kill([greeter] if greeter else [])
        self.state_file.unlink()
        return "the toy is back in its box"

    def _greeter(self) -> processes.Remembered:
        return processes.Remembered(**json.loads(self.state_file.read_text()))
