"""A scene of a lesson: an operator runs, somebody types commands, and all of it is printed as a terminal shows it.

    with Scene("docs/recorded/01_status_first.py", namespace="shop-1") as scene:
        scene.types("kubectl get webapps")

The operator is started and stopped as often as the scene asks. What is typed is printed, with its output; what the
scene only waits for is not.
"""

import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from converge import cluster
from converge.cluster import programs

PATIENCE = 30.0  # seconds; a scene that waits longer is broken


class Scene:
    """A namespace of its own, an operator in it, and a keyboard."""

    def __init__(self, operator: str, namespace: str) -> None:
        self.operator = operator
        self.namespace = namespace
        self._running: subprocess.Popen[bytes] | None = None
        self._kubectl = programs.obtain(["kubectl"], _say)["kubectl"]
        self._folder = tempfile.TemporaryDirectory(prefix="converge-scene-")
        self._log = Path(self._folder.name) / "operator.log"
        self._environment = {**os.environ, "KUBECONFIG": str(self._own_kubeconfig())}

    def __enter__(self) -> Self:
        self.waits(f"delete namespace {self.namespace} --ignore-not-found")
        self.waits(f"create namespace {self.namespace}")
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.waits(f"delete namespace {self.namespace} --wait=false")
        self._folder.cleanup()

    def start(self) -> None:
        """Start the operator; returns when it runs."""
        command = [sys.executable, "-m", "converge.runtime", "run", self.operator, "-n", self.namespace]
        with self._log.open("wb") as log:
            self._running = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE
        while "running in" not in self.log:
            if self._running.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.operator} does not run:\n{self.log}")
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop the operator, if it runs."""
        if self._running is not None:
            self._running.terminate()
            self._running.wait(PATIENCE)
            self._running = None

    @property
    def log(self) -> str:
        """What the operator has written since it was started."""
        return self._log.read_text()

    def types(self, line: str) -> None:
        """Run a line of the shell and print both."""
        print(f"$ {line}")
        print(self._run(line).stdout.rstrip(), end="\n\n")

    def comment(self, words: str) -> None:
        """Print a remark, as a comment of the shell."""
        print(f"# {words}", end="\n\n")

    def waits(self, arguments: str) -> None:
        """Run kubectl and say nothing; it must succeed."""
        ended = self._run(f"kubectl {arguments}")
        if ended.returncode:
            raise RuntimeError(f"kubectl {arguments}: {ended.stdout}\n{self.log if self._log.exists() else ''}")

    def _run(self, line: str) -> subprocess.CompletedProcess[str]:
        # By a function of the shell, so that the line reads as anybody would type it.
        script = f'kubectl() {{ {shlex.quote(str(self._kubectl))} "$@"; }}\n{line}'
        return subprocess.run(
            ["bash", "-c", script],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=2 * PATIENCE,
        )

    def _own_kubeconfig(self) -> Path:
        """The administrator's kubeconfig, with this namespace as the one that is meant."""
        there = cluster.ensure(_say)
        own = Path(self._folder.name) / "kubeconfig"
        own.touch(mode=0o600)
        own.write_bytes(there.kubeconfig.read_bytes())
        change = ["config", "set-context", "--current", f"--namespace={self.namespace}", f"--kubeconfig={own}"]
        subprocess.run([self._kubectl, *change], check=True, capture_output=True)
        return own


def _say(line: str) -> None:
    print(line, file=sys.stderr)
