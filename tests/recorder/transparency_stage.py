"""The same work twice: straight to the API server, and through the recorder, each in a namespace of its own."""

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from converge.cluster import Cluster
from converge.recorder import Recorder
from converge.runtime import Client
from converge.testing.access.identity import drop_namespace, make_account, make_namespace, write_kubeconfig
from converge.testing.access.rights import Rule
from converge.testing.waits.deadlines import scaled
from converge.testing.waits.waiting import eventually

RIGHTS: tuple[Rule, ...] = (
    {"group": "", "resources": ["configmaps", "secrets", "services", "pods", "pods/log", "pods/exec"], "verbs": ["*"]},
    {"group": "", "resources": ["events"], "verbs": ["*"]},
    {"group": "apps", "resources": ["deployments", "deployments/scale"], "verbs": ["*"]},
    {"group": "converge.example", "resources": ["webapps", "webapps/status"], "verbs": ["*"]},
)
KINDS = (("v1", "ConfigMap"), ("v1", "Service"), ("apps/v1", "Deployment"), ("converge.example/v1", "WebApp"))
# What differs between any two runs, however the requests travelled.
CHANCE = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generateName")
VOLATILE = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"  # uids
    r"|\d{4}-\d\d-\d\dT[\d:.]+Z"
    r"|\b10\.96\.\d+\.\d+\b"
    r"|\b\d+s\b"  # ages
    r"|[WIE]\d{4} [\d:.]+ +\d+"  # when Go logged, and from which process
    r"|\bcm-gen-\w{5}\b"
    r"|\bresourceVersion: \"\d+\""
)


@dataclass
class Side:
    """One of the two ways."""

    server: str
    ca_file: Path | None
    token: str
    namespace: str
    directory: Path
    recorder: Recorder | None = None

    @property
    def kubeconfig(self) -> Path:
        path = self.directory / f"{self.namespace}.kubeconfig"
        return write_kubeconfig(path, self.server, self.token, self.namespace, self.ca_file)

    def run(self, command: list[str], stdin: str = "", environment: dict[str, str] | None = None) -> str:
        """What a program printed, and how it ended, without what differs by chance."""
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=scaled(60), env=environment)
        return self.plain(f"{done.stdout}{done.stderr}exit status {done.returncode}")

    def plain(self, text: str) -> str:
        return VOLATILE.sub("*", text.replace(self.namespace, "NAMESPACE").replace(self.server, "SERVER"))


@dataclass
class Sides:
    """Both ways."""

    admin: Client
    direct: Side
    recorded: Side
    recorder: Recorder

    def agree(self, work: Callable[[Side], str]) -> str:
        """Do the work on both sides; fail unless they print the same and leave the same behind. What they printed."""
        direct, recorded = work(self.direct), work(self.recorded)
        recording = self.recorder.recording
        assert recorded == direct, f"through the recorder:\n{recorded}\n\nwithout it:\n{direct}\n\n{recording}"
        # Controllers of the cluster may still be at work on what was made.
        eventually(lambda: self.end_state(self.recorded) == self.end_state(self.direct), within=20)
        left, meant = self.end_state(self.recorded), self.end_state(self.direct)
        assert left == meant, "\n".join(["differently left behind:", *sorted({*left} ^ {*meant})])
        return recorded

    def end_state(self, side: Side) -> list[Any]:
        found = [each for kind in KINDS for each in self.admin.list(*kind, side.namespace)]
        for each in found:
            # A controller appends each condition that has changed, so their order says which changed last: a race of
            # the Deployment controller with anyone who scales, seen without a recorder too.
            each.get("status", {}).get("conditions", []).sort(key=lambda condition: condition["type"])
        return sorted(side.plain(repr(_without_chance(each))) for each in found)


def _without_chance(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_chance(each) for key, each in sorted(value.items()) if key not in CHANCE}
    return [_without_chance(each) for each in value] if isinstance(value, list) else value


@contextmanager
def two_sides(cluster: Cluster, admin: Client, directory: Path, *, tls: bool) -> Iterator[Sides]:
    with ExitStack() as stack:
        namespaces = [make_namespace(admin) for _ in range(2)]
        for namespace in namespaces:
            stack.callback(drop_namespace, admin, namespace)
        tokens = [make_account(admin, namespace, RIGHTS) for namespace in namespaces]
        direct = Side(cluster.server, Path(cluster.ca_file), tokens[0], namespaces[0], directory)
        # Go sends no token over plain http, so there the recorder has it.
        made = Recorder(cluster.server, cluster.ca_file, token=None if tls else tokens[1], tls=tls)
        recorder = stack.enter_context(made)
        recorded = Side(recorder.url, recorder.served_ca_file, tokens[1], namespaces[1], directory, recorder)
        yield Sides(admin, direct, recorded, recorder)
