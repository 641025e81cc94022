"""A real control plane as processes of this machine, with KWOK in place of nodes.

Everything listens on loopback only, speaks TLS with keys made here, and lives in one directory. ``start`` brings up
whatever is not running, so it serves a first start, a start after a reboot and the mending of a killed component
alike. ``stop`` kills, and removes the directory: nothing in it is worth a graceful end.

The order matters at one point: the garbage collector looks for new kinds every 30 s only, so the course's kinds are
served before the controller manager starts.
"""

import http.client
import json
import os
import shutil
import socket
import ssl
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

from converge.cluster import etcd, kubeconfig, processes, programs, setup
from converge.cluster.directories import cluster_dir, private_dir
from converge.cluster.errors import ClusterError
from converge.cluster.model import Cluster, Part
from converge.cluster.pki import CLIENTS, Pki
from converge.runtime import Client

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
_LISTENERS = ("etcd", "etcd-peer", "etcd-http", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
_MANIFESTS = Path(__file__).parent / "manifests"
_HOST_PATH_VOLUMES = Path("/tmp/hostpath_pv")  # where the controller manager's provisioner puts volumes; not settable
_READY_WITHIN = 60.0


def _pki() -> Pki:
    return Pki(cluster_dir() / "pki")


def _state_file() -> Path:
    return cluster_dir() / "local.json"


def _read_state() -> dict[str, Any]:
    try:
        state = json.loads(_state_file().read_text())
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) and "ports" in state else {}


def _write_state(state: dict[str, Any]) -> None:
    part = _state_file().with_suffix(".part")
    part.write_text(json.dumps(state, indent=1))
    part.replace(_state_file())


def _process(state: dict[str, Any], name: str) -> processes.Remembered | None:
    remembered = state.get("processes", {}).get(name)
    return processes.Remembered(**remembered) if remembered else None


def _alive(state: dict[str, Any], name: str) -> bool:
    remembered = _process(state, name)
    return remembered is not None and remembered.process() is not None


def ports() -> dict[str, int]:
    """The port of each listener."""
    found: dict[str, int] = _read_state()["ports"]
    return found


def exists() -> bool:
    """Whether there is a local cluster, running or not."""
    return bool(_read_state())


def start(progress: programs.Progress) -> Cluster:
    """Bring up every component that does not run, and wait until the cluster is fit for work."""
    paths = programs.obtain(programs.LOCAL, progress)
    directory = private_dir(cluster_dir())
    state = _read_state()
    if not (state and _pki().usable() and _of_this_version(state)):
        if any(directory.iterdir()):
            stop()
            private_dir(directory)
        state = {}
    if state and all(_alive(state, name) for name in COMPONENTS) and _Probe().ready():
        return cluster()
    if not state:
        progress("making keys")
        _pki().make()
        state = {
            "version": programs.PROGRAMS["kube-apiserver"].version,
            "ports": _free_ports(),
            "processes": {},
        }
        _write_kubeconfigs(state["ports"]["kube-apiserver"])
        _write_state(state)
    try:
        _bring_up(state, paths, progress)
    except BaseException:
        if not state.get("ready"):  # a first start that failed or was interrupted leaves nothing behind
            _write_state(state)
            stop(keep_logs=True)
        raise
    state["ready"] = True
    _write_state(state)
    return cluster()


def _of_this_version(state: dict[str, Any]) -> bool:
    """Whether what an earlier start has left fits the programs and flags of today."""
    return state.get("version") == programs.PROGRAMS["kube-apiserver"].version and set(state["ports"]) == {*_LISTENERS}


def _bring_up(state: dict[str, Any], paths: dict[str, Path], progress: programs.Progress) -> None:
    for name in [name for name in state["processes"] if not _alive(state, name)]:
        del state["processes"][name]  # ended before this start: no failure of it
    processes.kill(_forgotten(state))
    progress("starting etcd and the API server")
    for name in ("etcd", "kube-apiserver"):
        _start(state, name, paths)
    # A server that starts says "not yet, ask again in 5 s" of what will be there in a moment.
    client = Client(kubeconfig=str(cluster_dir() / "kubeconfig"), patience=0)
    probe = _Probe()
    setup.until("the API server's start", lambda: _check_alive(state) and probe.serving(), _READY_WITHIN)
    # It goes on to write its own first objects, roles above all; ours go in beside them.
    setup.until("the course's kinds", lambda: _check_alive(state) and _install(client), _READY_WITHIN)
    # Its roles come a second later. KWOK needs none of them; the others would be refused, and wait before they asked
    # again.
    progress("starting KWOK, the controller manager and the scheduler")
    _start(state, "kwok", paths)
    setup.until("the API server's readiness", lambda: _check_alive(state) and probe.ready(), _READY_WITHIN)
    for name in ("kube-controller-manager", "kube-scheduler"):
        _start(state, name, paths)
    _wait_until_fit(client, lambda: _check_alive(state))


def furnish(client: Client) -> None:
    """Put into any control plane with KWOK what a check needs, and wait until it is there."""
    setup.until("the course's kinds", lambda: _install(client), _READY_WITHIN)
    _wait_until_fit(client, lambda: True)


def _wait_until_fit(client: Client, alive: Callable[[], bool]) -> None:
    setup.until("a Ready node", lambda: alive() and setup.nodes_are_ready(client), _READY_WITHIN)
    setup.until(
        "the first ServiceAccount",
        lambda: alive() and bool(client.get("v1", "ServiceAccount", "default", "default")),
        _READY_WITHIN,
    )


def _forgotten(state: dict[str, Any]) -> list[psutil.Process]:
    """What was started by a command that was killed before it could write that down."""
    known = {remembered["pid"] for remembered in state["processes"].values()}
    return [each for each in processes.mentioning(str(cluster_dir()), COMPONENTS) if each.pid not in known]


def _install(client: Client) -> bool:
    """Put in what every local cluster has: the course's kinds, a node, a storage class."""
    setup.install_kinds(client)
    for manifest in ("node.yaml", "storage.yaml"):
        for document in setup.documents(_MANIFESTS / manifest):
            client.apply(document, field_manager=setup.FIELD_MANAGER, force=True)
    return True


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
    command = [str(paths[name]), *_flags(name, state["ports"])]
    environment = {"PATH": os.defpath, "HOME": str(cluster_dir())}
    remembered = processes.start(command, cluster_dir() / "logs" / f"{name}.log", environment)
    state["processes"][name] = asdict(remembered)
    _write_state(state)


def _flags(name: str, ports: dict[str, int]) -> list[str]:
    pki, home = _pki(), cluster_dir()
    config = f"--kubeconfig={home / 'identities' / name}"
    etcd_url, peer_url, http_url = (f"https://127.0.0.1:{ports[port]}" for port in ("etcd", "etcd-peer", "etcd-http"))
    serving = [f"--tls-cert-file={pki.cert('server')}", f"--tls-private-key-file={pki.key('server')}"]
    match name:
        case "etcd":
            return [
                "--name=converge",
                f"--data-dir={home / 'etcd'}",
                f"--listen-client-urls={etcd_url}",
                f"--advertise-client-urls={etcd_url}",
                # HTTP has a port of its own, so that gRPC need not pass through Go's HTTP server: a fifth less work.
                f"--listen-client-http-urls={http_url}",
                f"--listen-peer-urls={peer_url}",
                f"--initial-advertise-peer-urls={peer_url}",
                f"--initial-cluster=converge={peer_url}",
                "--client-cert-auth",
                f"--trusted-ca-file={pki.cert('etcd-ca')}",
                f"--cert-file={pki.cert('etcd')}",
                f"--key-file={pki.key('etcd')}",
                "--peer-client-cert-auth",
                f"--peer-trusted-ca-file={pki.cert('etcd-ca')}",
                f"--peer-cert-file={pki.cert('etcd')}",
                f"--peer-key-file={pki.key('etcd')}",
                "--unsafe-no-fsync",
                # It has nobody to ask, so it need not wait long before it elects itself: the API server waits for that.
                "--heartbeat-interval=40",
                "--election-timeout=200",
                # For bookmarks on quiet watches, one a minute. Every 5 s costs twice the rest of etcd at rest.
                "--watch-progress-notify-interval=20s",
                "--log-level=warn",
            ]
        case "kube-apiserver":
            return [
                f"--etcd-servers={etcd_url}",
                f"--etcd-cafile={pki.cert('etcd-ca')}",
                f"--etcd-certfile={pki.cert('etcd-client')}",
                f"--etcd-keyfile={pki.key('etcd-client')}",
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                f"--secure-port={ports[name]}",
                *serving,
                f"--client-ca-file={pki.cert('ca')}",
                f"--service-account-key-file={pki.cert('service-account')}",
                f"--service-account-signing-key-file={pki.key('service-account')}",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--authorization-mode=RBAC",
                "--anonymous-auth=false",
                "--service-cluster-ip-range=10.96.0.0/16",
                "--endpoint-reconciler-type=none",
                "--allow-privileged=true",
                "--profiling=false",
            ]
        case "kube-controller-manager":
            return [
                config,
                "--leader-elect=false",
                "--bind-address=127.0.0.1",
                f"--secure-port={ports[name]}",
                *serving,
                "--use-service-account-credentials=true",
                f"--service-account-private-key-file={pki.key('service-account')}",
                f"--root-ca-file={pki.cert('ca')}",
                "--enable-hostpath-provisioner=true",
                # It looks ten times a second for volumes to attach, and no node here has any.
                "--controllers=*,-persistentvolume-attach-detach-controller",
                "--kube-api-qps=500",
                "--kube-api-burst=1000",
                # The namespaces of a run are dropped all at once, and the next run should not have to wait for that.
                "--concurrent-namespace-syncs=2",
                "--profiling=false",
            ]
        case "kube-scheduler":
            return [
                f"--config={home / 'identities' / 'kube-scheduler.config'}",
                "--bind-address=127.0.0.1",
                f"--secure-port={ports[name]}",
                *serving,
            ]
        case "kwok":
            return [config, f"--config={_MANIFESTS / 'kwok.yaml'}"]
    raise AssertionError(name)


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
    held = []
    for _ in _LISTENERS:
        one = socket.socket()
        one.bind(("127.0.0.1", 0))
        held.append(one)
    ports = {name: one.getsockname()[1] for name, one in zip(_LISTENERS, held, strict=True)}
    for one in held:
        one.close()
    return ports


class _Probe:
    """Asks /readyz over one connection: a handshake per question would slow the very start that it waits for."""

    def __init__(self) -> None:
        pki = _pki()
        context = ssl.create_default_context(cafile=str(pki.cert("ca")))
        context.load_cert_chain(pki.cert("admin"), pki.key("admin"))
        self._connection = http.client.HTTPSConnection(
            "127.0.0.1", ports()["kube-apiserver"], timeout=5, context=context
        )

    def serving(self) -> bool:
        """Whether it answers at all."""
        return self._ask() is not None

    def ready(self) -> bool:
        """Whether it has all that it needs to work."""
        return self._ask() == 200

    def _ask(self) -> int | None:
        try:
            self._connection.request("GET", "/readyz")
            answer = self._connection.getresponse()
            answer.read()
            return answer.status
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return None


def restart(component: str) -> None:
    """Kill ``component`` and start it again with the same data and port."""
    state = _read_state()
    if component not in COMPONENTS:
        raise ClusterError(f"{component} is not a component of the local cluster", f"one of {', '.join(COMPONENTS)}")
    remembered = _process(state, component)
    running = remembered.process() if remembered else None
    if running:
        processes.kill([running])
    start(lambda _: None)


def compact() -> int:
    """Compact etcd's history up to now; return the revision."""
    return etcd.compact(etcd.on_loopback(ports()["etcd-http"], _pki()))


def cluster() -> Cluster:
    """The cluster as it stands, with the state of each component."""
    state = _read_state()
    return Cluster(
        provider="local",
        kubeconfig=cluster_dir() / "kubeconfig",
        server=f"https://127.0.0.1:{state['ports']['kube-apiserver']}",
        ca_file=_pki().cert("ca"),
        version=state["version"],
        parts=tuple(_part(state, name) for name in COMPONENTS),
    )


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


def stop(keep_logs: bool = False) -> None:
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
