"""A real control plane as processes of this machine, with KWOK in place of nodes.

Everything listens on loopback only, speaks TLS with keys made here, and lives in one directory. ``start`` brings up
whatever is not running, so it serves a first start, a start after a reboot and the repair of a killed component
alike, and puts back what someone has deleted. ``stop`` kills, and removes the directory: nothing in it is worth a
graceful end.

The order matters at one point: the garbage collector looks for new kinds every 30 s only, so the course's kinds are
served before the controller manager starts.
"""

import contextlib
import json
import os
import random
import shutil
import socket
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from converge.cluster import kubeconfig, processes, programs
from converge.cluster.components import COMPONENTS, LISTENERS, flags
from converge.cluster.directories import check_space, cluster_dir, private_dir, state_dir
from converge.cluster.errors import ClusterError
from converge.cluster.model import Cluster, DoctorLine, Part
from converge.cluster.pki import CLIENTS, Pki
from converge.cluster.providers.base import OnMessage, Options, Provider
from converge.files import write_whole

if TYPE_CHECKING:
    from converge.runtime import Client

_HOST_PATH_VOLUMES = Path("/tmp/hostpath_pv")  # where the controller manager's provisioner puts volumes; not settable
_READY_WITHIN = 60.0
_PORTS = range(20000, 32768)
_STATE_FORMAT = 2  # raised when what an earlier start has left, its identities or ports, no longer serves


def _pki() -> Pki:
    return Pki(cluster_dir() / "pki")


def _read_state() -> dict[str, Any]:
    try:
        state = json.loads(LocalProvider().state_file.read_text())
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) and "ports" in state else {}


def _write_state(state: dict[str, Any]) -> None:
    write_whole(LocalProvider().state_file, json.dumps(state, indent=1))


def _process(state: dict[str, Any], name: str) -> processes.Remembered | None:
    remembered = state.get("processes", {}).get(name)
    return processes.Remembered(**remembered) if remembered else None


def _alive(state: dict[str, Any], name: str) -> bool:
    remembered = _process(state, name)
    return remembered is not None and remembered.process() is not None


def _ports() -> dict[str, int]:
    found: dict[str, int] = _read_state()["ports"]
    return found


class LocalProvider(Provider):
    """The control plane on this machine."""

    name = "local"

    def exists(self) -> bool:
        """Whether there is a local cluster, running or not; half a state file is none."""
        return bool(_read_state())

    def is_automatic(self) -> bool:
        """Always: it needs neither containers nor anyone's consent."""
        return True

    def start(self, options: Options, progress: OnMessage) -> Cluster:
        """Bring up every component that does not run, and put back what the course needs in the cluster."""
        check_space(state_dir())
        paths = programs.obtain(programs.LOCAL, progress, more_will_follow=True)
        cluster = self._start(private_dir(cluster_dir()), paths, progress)
        programs.finish_in_background()
        return cluster

    def _start(self, directory: Path, paths: dict[str, Path], progress: OnMessage) -> Cluster:
        state = _read_state()
        if not (state and _pki().usable() and _of_this_version(state)):
            if any(directory.iterdir()):
                _remove()
                private_dir(directory)
            state = {}
        if state and all(_alive(state, name) for name in COMPONENTS) and _ready() and not self._lacks(progress):
            return self.describe()
        if not state:
            progress("making keys")
            _pki().make()
            state = {
                "version": programs.PROGRAMS["kube-apiserver"].version,
                "shape": _STATE_FORMAT,
                "ports": _free_ports(),
                "processes": {},
            }
            _write_state(state)
        try:
            _bring_up(state, paths, progress)
        except BaseException:
            if not state.get("ready"):  # a first start that failed or was interrupted leaves nothing behind
                _write_state(state)
                _remove(keep_logs=True)
            raise
        state["ready"] = True
        _write_state(state)
        return self.describe()

    def _lacks(self, progress: OnMessage) -> bool:
        from converge.runtime import Client

        client = Client(kubeconfig=str(cluster_dir() / "kubeconfig"))
        lacking = self.missing(client)
        client.close()
        if lacking:
            progress(f"putting back {', '.join(lacking)}\n")
        return bool(lacking)

    def describe(self) -> Cluster:
        """The cluster as it stands, with the state of each component."""
        state = _read_state()
        return Cluster(
            provider=self.name,
            kubeconfig=cluster_dir() / "kubeconfig",
            server=f"https://127.0.0.1:{state['ports']['kube-apiserver']}",
            ca_file=_pki().cert("ca"),
            version=state["version"],
            parts=tuple(_part(state, name) for name in COMPONENTS),
        )

    def stop(self, on_message: OnMessage) -> str:
        """Kill every process of this cluster and remove its directory."""
        _remove()
        return "the local cluster is gone"

    def remove_leftovers(self) -> None:
        """Processes are found by the directory they use, so a lost state file does not lose them."""
        _remove()

    def restart(self, component: str) -> None:
        """Kill ``component`` and start it again with the same data and port."""
        if component not in COMPONENTS:
            raise ClusterError(
                f"{component} is not a component of the local cluster", f"one of {', '.join(COMPONENTS)}"
            )
        _kill(_read_state(), component)
        self.start(Options(), lambda _: None)

    def compact(self) -> int:
        """Compact etcd's history up to now; return the revision."""
        from converge.cluster import etcd

        return etcd.compact(etcd.on_loopback(_ports()["etcd-http"], _pki()))

    def examine(self) -> list[DoctorLine]:
        """The programs, and the compiler in case one must be built."""
        missing = programs.missing(programs.LOCAL)
        version = programs.PROGRAMS["kube-apiserver"].version
        go = shutil.which("go")
        return [
            DoctorLine(
                "control plane",
                not missing,
                f"missing: {', '.join(missing)}" if missing else f"Kubernetes {version}, all programs are here",
                "`converge up` gets them (once, some minutes if they must be built)" if missing else "",
                needed=False,
            ),
            DoctorLine(
                "Go",
                go is not None,
                go or "none",
                "" if go else "not needed: a compiler is fetched if one must build",
                needed=False,
            ),
        ]


def _ready() -> bool:
    """Whether the API server is ready, and its kubeconfig is there to say so."""
    from converge.cluster.probe import Probe

    return (cluster_dir() / "kubeconfig").exists() and Probe(_ports()["kube-apiserver"], _pki()).ready()


def _of_this_version(state: dict[str, Any]) -> bool:
    """Whether what an earlier start has left fits the programs and flags of today."""
    return state.get("version") == programs.PROGRAMS["kube-apiserver"].version and state.get("shape") == _STATE_FORMAT


def _bring_up(state: dict[str, Any], paths: dict[str, Path], progress: programs.Progress) -> None:
    for name in [name for name in state["processes"] if not _alive(state, name)]:
        del state["processes"][name]  # ended before this start: no failure of it
    processes.kill(_forgotten(state))
    progress("starting etcd and the API server")
    for name in ("etcd", "kube-apiserver"):
        _start(state, name, paths)
    # What is not needed until the API server answers is written, and imported, while it starts.
    _write_kubeconfigs(state["ports"]["kube-apiserver"])
    from converge.cluster import bootstrap
    from converge.cluster.bootstrap import until
    from converge.cluster.probe import Probe
    from converge.runtime import Client

    # A server that starts says "not yet, ask again in 5 s" of what will be there in a moment.
    client = Client(kubeconfig=str(cluster_dir() / "kubeconfig"), patience=0)
    probe = Probe(state["ports"]["kube-apiserver"], _pki())
    until("the API server's start", lambda: _check_alive(state) and probe.serving(), _READY_WITHIN)
    if _alive(state, "kube-controller-manager"):
        until("the list of kinds", lambda: _check_alive(state) and _make_way_for_kinds(state, client), _READY_WITHIN)
    # It goes on to write its own first objects, roles above all; ours go in beside them.
    until("the course's kinds", lambda: _check_alive(state) and bootstrap.install(client), _READY_WITHIN)
    # Its roles come a second later. KWOK needs none of them; the others would be refused, and wait before they asked
    # again.
    progress("starting KWOK, the controller manager and the scheduler")
    _start(state, "kwok", paths)
    until("the API server's readiness", lambda: _check_alive(state) and probe.ready(), _READY_WITHIN)
    for name in ("kube-controller-manager", "kube-scheduler"):
        _start(state, name, paths)
    bootstrap.wait_until_fit(client, lambda: _check_alive(state))


def _make_way_for_kinds(state: dict[str, Any], client: "Client") -> bool:
    """Where kinds have to be defined again, end the controller manager, whose garbage collector would overlook them."""
    from converge.cluster import bootstrap

    if bootstrap.missing_kinds(client):
        _kill(state, "kube-controller-manager")
        del state["processes"]["kube-controller-manager"]
    return True


def _forgotten(state: dict[str, Any]) -> list[psutil.Process]:
    """What was started by a command that was killed before it could write that down."""
    known = {remembered["pid"] for remembered in state["processes"].values()}
    return [each for each in processes.mentioning(str(cluster_dir()), COMPONENTS) if each.pid not in known]


def _check_alive(state: dict[str, Any]) -> bool:
    """True while every started component runs; else say which one died and show its last words."""
    for name in state["processes"]:
        if not _alive(state, name):
            log = cluster_dir() / "logs" / f"{name}.log"
            lines = log.read_text(errors="replace").splitlines()[-5:] if log.exists() else []
            raise ClusterError(f"{name} ended:\n    " + "\n    ".join(lines), f"read {log}, then `converge up` again")
    return True


def _start(state: dict[str, Any], name: str, paths: dict[str, Path]) -> None:
    if _alive(state, name):
        return
    command = [str(paths[name]), *flags(name, state["ports"], _pki(), cluster_dir())]
    environment = {"PATH": os.defpath, "HOME": str(cluster_dir())}
    remembered = processes.start(command, cluster_dir() / "logs" / f"{name}.log", environment)
    state["processes"][name] = asdict(remembered)
    _write_state(state)


def _write_kubeconfigs(port: int) -> None:
    pki, home = _pki(), cluster_dir()
    server, authority = f"https://127.0.0.1:{port}", pki.cert("ca").read_bytes()
    for name in CLIENTS:
        path = home / "kubeconfig" if name == "admin" else home / "identities" / name
        kubeconfig.write(path, server, kubeconfig.certificate_user(pki.cert(name), pki.key(name)), authority)
    kubeconfig.write_config(
        home / "identities" / "kube-scheduler.config",
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {
                "kubeconfig": str(home / "identities" / "kube-scheduler"),
                "qps": 500,
                "burst": 1000,
            },
            "leaderElection": {"leaderElect": False},
            "enableProfiling": False,
        },
    )


def _free_ports() -> dict[str, int]:
    """A free loopback port for each listener, all held at once so that no two are the same."""
    with contextlib.ExitStack() as held:
        return {name: _free_port(held) for name in LISTENERS}


def _free_port(held: contextlib.ExitStack) -> int:
    """One from below the range that systems give to outgoing connections.

    A port of that range isn't ours while a component restarts: any connection may be given it, even one that tries to
    reach the component and so ends up talking to itself.
    """
    for port in random.sample(_PORTS, len(_PORTS)):
        one = held.enter_context(socket.socket())
        with contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise ClusterError("no port is free on 127.0.0.1", "stop what listens there")


def _kill(state: dict[str, Any], component: str) -> None:
    remembered = _process(state, component)
    running = remembered.process() if remembered else None
    if running:
        processes.kill([running])


def _part(state: dict[str, Any], name: str) -> Part:
    remembered = _process(state, name)
    process = remembered.process() if remembered else None
    return Part(
        name=name,
        alive=process is not None,
        version=programs.PROGRAMS[name].version,
        pid=process.pid if process else None,
        port=state["ports"].get(name),
        memory=process.memory_info().rss if process else 0,
        log=cluster_dir() / "logs" / f"{name}.log",
    )


def _remove(keep_logs: bool = False) -> None:
    """Kill every process of this cluster and remove its directory; logs stay when they explain a failed start."""
    directory = cluster_dir()
    left = processes.kill(processes.mentioning(str(directory), COMPONENTS))
    if left:
        raise ClusterError(
            f"{', '.join(p.name() for p in left)} did not end", f"kill {' '.join(str(p.pid) for p in left)}"
        )
    for path in directory.iterdir() if directory.exists() else ():
        if keep_logs and path.name == "logs":
            continue
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    if not keep_logs:
        shutil.rmtree(directory, ignore_errors=True)
    _remove_volumes()


def _remove_volumes() -> None:
    """Remove the provisioner's directories that are ours and empty; Pods here are not real, so they always are."""
    for path in [*_HOST_PATH_VOLUMES.glob("*"), _HOST_PATH_VOLUMES]:
        try:
            if path.stat().st_uid == os.getuid():
                path.rmdir()
        except OSError:
            continue
