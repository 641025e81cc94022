"""The node of a kind cluster: a container in which the control plane runs as Pods of the kubelet.

Everything here goes through the engine's ``exec``: the node's addresses are not reached from outside on every system.
"""

import json
import shlex
import subprocess
from dataclasses import dataclass
from typing import Any

import psutil

from converge.cluster.engine import Engine
from converge.cluster.errors import ClusterError

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
_PKI = "/etc/kubernetes/pki"


@dataclass(frozen=True)
class Node:
    """The container as the engine describes it."""

    engine: Engine
    name: str
    running: bool
    pid: int

    def run(self, script: str, within: float = 60.0) -> str:
        """Run a shell script in the node; return what it printed."""
        return self.engine.run("exec", self.name, "sh", "-ec", script, within=within).stdout

    def memory(self) -> int:
        """Bytes resident in all; 0 where the engine's processes are not processes of this machine."""
        try:
            init = psutil.Process(self.pid)
            if not self.running or "init" not in " ".join(init.cmdline()):
                return 0
            return int(sum(process.memory_info().rss for process in [init, *init.children(recursive=True)]))
        except (psutil.Error, ValueError):
            return 0

    def restart(self, component: str) -> None:
        """Kill a component of the control plane; return when it runs again.

        The kubelet backs off before it restarts what has ended, longer each time, unless it is restarted itself. It
        cannot start without the API server, so after killing the API server or etcd we sit out the kubelet's backoff:
        none at first, minutes after repeated kills.
        """
        if component not in COMPONENTS:
            raise ClusterError(f"{component} is not a component of the node", f"one of {', '.join(COMPONENTS)}")
        find = f"pgrep -x {component[:15]}"  # the kernel keeps fifteen letters of a name
        forget = "" if component in ("etcd", "kube-apiserver") else "systemctl restart kubelet"
        self.run(
            f"old=$({find}); kill -9 $old; {forget}\n"
            f"for _ in $(seq 3000); do new=$({find} || true)\n"
            'if [ -n "$new" ] && [ "$new" != "$old" ]; then exit 0; fi; sleep 0.1; done; exit 1',
            within=330,
        )

    def ask_etcd(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask etcd's JSON gateway, as the API server would."""
        identity = f"--cacert {_PKI}/etcd/ca.crt --cert {_PKI}/apiserver-etcd-client.crt"
        command = f"curl -sSf {identity} --key {_PKI}/apiserver-etcd-client.key https://127.0.0.1:2379/v3/{path}"
        answer: dict[str, Any] = json.loads(self.run(f"{command} -d {shlex.quote(json.dumps(body))}"))
        return answer

    def tail(self, component: str | None, lines: int, follow: bool) -> int:
        """Show the last lines of the components' logs; return the exit code of the node's ``tail``."""
        if component == "kubelet":
            show = f"journalctl --no-pager -u kubelet -n {lines} {'-f' if follow else ''}"
        else:
            files = f"/var/log/containers/{shlex.quote(component or '')}*_kube-system_*.log"
            show = f"tail -n {lines} {'-f' if follow else ''} {files}"
        return subprocess.run([self.engine.name, "exec", self.name, "sh", "-c", show]).returncode


def find(engine: Engine, cluster: str) -> Node | None:
    """The node of ``cluster``, running or stopped; None when there is none, or nobody who could know."""
    name = f"{cluster}-control-plane"
    try:
        answer = engine.run("container", "inspect", name, within=10)
    except ClusterError:
        return None
    state = json.loads(answer.stdout)[0]["State"]
    return Node(engine, name, bool(state["Running"]), int(state["Pid"]))
