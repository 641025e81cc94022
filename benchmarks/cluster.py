"""``converge up`` with its programs in the cache: how long, how heavy, and what ten starts and stops leave behind.

`kwokctl create cluster --runtime binary` is given the same programs and takes turns with it. It ends when its API
server is healthy; ours when a check can begin: with a Ready node, the course's kinds and a default ServiceAccount. So
its cluster is also brought to that point, and both moments are reported. (It would take 30 s more until its garbage
collector knew those kinds; that is not counted.)
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import yaml

from benchmarks import golang
from benchmarks.rows import Row, at_most, figure, main, say
from converge.cluster import bootstrap, programs
from converge.cluster.directories import STATE_VARIABLE
from converge.runtime import Client

COMMAND = "python -m benchmarks.cluster"
STARTS = 10
COMPARED = 5  # of the starts, with one of kwokctl beside each
REST = 60.0
CONVERGE = Path(sys.executable).parent / "converge"


def run() -> list[Row]:
    paths = programs.obtain((*programs.LOCAL, "kubectl"), lambda _: None)
    kwokctl = golang.build(golang.KWOKCTL_MODULE, "sigs.k8s.io/kwok/cmd/kwokctl", "kwokctl")
    ours: list[float] = []
    theirs: list[float] = []
    fit: list[float] = []
    stops: list[float] = []
    left: list[str] = []
    with tempfile.TemporaryDirectory(prefix="converge-benchmark-") as home:
        for number in range(STARTS):
            state = Path(home) / f"state-{number}"
            if number < COMPARED:
                created, ready = start_kwokctl(kwokctl, paths, Path(home) / "kwok")
                theirs.append(created)
                fit.append(ready)
                say(f"   kwokctl {created:.1f} s, fit for a check {ready:.1f} s")
            ours.append(timed([str(CONVERGE), "up", "--provider", "local"], state))
            started = at_work(state)
            listening = ports(started)
            if number == STARTS - 1:
                memory, cpu = rest(started)
            stops.append(timed([str(CONVERGE), "down"], state))
            left += leftovers(state, listening)
            say(f"   {number + 1}/{STARTS} converge {ours[-1]:.1f} s")

    def against(others: list[float]) -> float:
        return statistics.median(own / other for own, other in zip(ours[:COMPARED], others, strict=True))

    return [
        at_most(6, "converge up, programs cached", statistics.median(ours), "s", COMMAND),
        figure("converge up, slowest of ten", max(ours), "s", COMMAND),
        figure("converge down", statistics.median(stops), "s", COMMAND),
        figure("kwokctl create cluster, same programs", statistics.median(theirs), "s", COMMAND),
        figure("kwokctl create cluster, until a check could begin", statistics.median(fit), "s", COMMAND),
        at_most(1, "converge up against kwokctl's healthy server", against(theirs), "×", COMMAND),
        at_most(1, "converge up against kwokctl, both fit for a check", against(fit), "×", COMMAND),
        at_most(600, "resident memory of the cluster at rest", memory, "MB", COMMAND),
        at_most(5, "CPU of the cluster at rest", cpu, "% of a core", COMMAND),
        at_most(0, "processes, ports and files left by ten starts and stops", len(left), "left", COMMAND),
    ]


def timed(command: list[str], state: Path) -> float:
    """Run a converge command on one state directory; return its seconds."""
    began = time.monotonic()
    subprocess.run(command, env={**os.environ, STATE_VARIABLE: str(state)}, check=True, capture_output=True)
    return time.monotonic() - began


def start_kwokctl(kwokctl: Path, paths: dict[str, Path], home: Path) -> tuple[float, float]:
    """Create a cluster with kwokctl, make it fit for a check, delete it; return the seconds until either."""
    home.mkdir(exist_ok=True)
    binaries = {f"{_camel(name)}Binary": str(paths[name]) for name in paths if name != "kwok"}
    options = {"runtime": "binary", "bindAddress": "127.0.0.1", **binaries}
    options["kwokControllerBinary"] = str(paths["kwok"])
    config = {"apiVersion": "config.kwok.x-k8s.io/v1alpha1", "kind": "KwokctlConfiguration", "options": options}
    (home / "config.yaml").write_text(yaml.safe_dump(config))
    environment = {**os.environ, "KWOK_WORKDIR": str(home), "HOME": str(home), "KUBECONFIG": str(home / "kubeconfig")}
    which = ["cluster", "--name", "compared", "--kubeconfig", str(home / "kubeconfig")]
    create = [str(kwokctl), "create", *which, "--config", str(home / "config.yaml"), "--wait", "120s"]
    try:
        began = time.monotonic()
        subprocess.run(create, env=environment, check=True, capture_output=True)
        created = time.monotonic() - began
        client = Client(kubeconfig=str(home / "kubeconfig"), patience=0)
        bootstrap.until("the course's kinds", lambda: bootstrap.install(client), within=60)
        bootstrap.wait_until_fit(client)
        return created, time.monotonic() - began
    finally:
        subprocess.run([str(kwokctl), "delete", *which], env=environment, check=True, capture_output=True)


def _camel(name: str) -> str:
    """kube-apiserver becomes kubeApiserver."""
    first, *rest = name.split("-")
    return first + "".join(map(str.capitalize, rest))


def at_work(state: Path) -> list[psutil.Process]:
    """The processes whose command lines name the state directory."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or []
        if any(str(state) in word for word in line) and process.pid != os.getpid():
            found.append(process)
    return found


def ports(processes: list[psutil.Process]) -> set[int]:
    """The ports on which these processes listen."""
    return {
        connection.laddr.port
        for process in processes
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }


def rest(processes: list[psutil.Process]) -> tuple[float, float]:
    """Memory in MB and CPU in percent of a core, of all processes together, while nothing is asked of them."""

    def used() -> float:
        return sum(process.cpu_times().user + process.cpu_times().system for process in processes)

    time.sleep(REST / 3)  # what a start leaves to be done afterwards
    before, began = used(), time.monotonic()
    time.sleep(REST)
    share = (used() - before) / (time.monotonic() - began) * 100
    return sum(process.memory_info().rss for process in processes) / 1e6, share


def leftovers(state: Path, listening: set[int]) -> list[str]:
    """What is still there of a cluster that was stopped: processes, ports, files."""
    still = [f"process {process.pid}" for process in at_work(state)]
    open_ports = {one.laddr.port for one in psutil.net_connections("tcp") if one.status == psutil.CONN_LISTEN}
    still += [f"port {port}" for port in listening & open_ports]
    return still + [str(path) for path in state.rglob("*") if path.name != "lock"]


if __name__ == "__main__":
    main(run)
