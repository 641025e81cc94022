"""A terminal session of a lesson: an operator runs, commands are typed, and all is printed as a terminal shows it.

    with TerminalSession("docs/examples/01_loop/status_first.py", namespace="shop-1") as session:
        session.run("kubectl get webapps")

The operator is started and stopped as often as the session asks. `run` prints a command and its output, `run_silently`
prints nothing. A `Shell` is the same without an operator.
"""

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from converge import cluster
from converge.cluster import programs

PATIENCE = 60.0  # seconds; a session that waits longer is broken


class Shell:
    """The shell that `make shell` opens, with a default namespace."""

    def __init__(self, namespace: str = "default") -> None:
        self.namespace = namespace
        self._kubectl = programs.obtain(["kubectl"], _say)["kubectl"]
        self._folder = tempfile.TemporaryDirectory(prefix="converge-session-")
        self._environment = {**os.environ, "KUBECONFIG": str(self._own_kubeconfig())}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def run(self, line: str) -> None:
        """Run a line of the shell and print both."""
        print(f"$ {line}")
        print(self._execute(line).stdout.rstrip(), end="\n\n")

    def comment(self, words: str) -> None:
        """Print a remark, as a comment of the shell."""
        print(f"# {words}", end="\n\n")

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Mark what is run inside, so that a page can include it on its own: ``FILE.txt:name``."""
        print(f"# --8<-- [start:{name}]")
        yield
        print(f"# --8<-- [end:{name}]")

    def run_silently(self, arguments: str) -> None:
        """Run kubectl and say nothing; it must succeed."""
        ended = self._execute(f"kubectl {arguments}")
        if ended.returncode:
            raise RuntimeError(f"kubectl {arguments}: {ended.stdout}")

    def _execute(self, line: str) -> subprocess.CompletedProcess[str]:
        # By a function of the shell, so that the line reads as you would type it.
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


class TerminalSession(Shell):
    """A shell session in its own namespace with an operator running in it."""

    def __init__(self, operator: str, namespace: str) -> None:
        super().__init__(namespace)
        self.operator = operator
        self._running: subprocess.Popen[bytes] | None = None
        self._log = Path(self._folder.name) / "operator.log"

    def __enter__(self) -> Self:
        self._make_namespace()
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.run_silently(f"delete namespace {self.namespace} --wait=false")
        super().__exit__(kind, error, trace)

    def _make_namespace(self) -> None:
        """Make the namespace, once the one of an earlier session has gone: that session didn't wait for its end."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self.run_silently(f"delete namespace {self.namespace} --ignore-not-found")
            try:
                return self.run_silently(f"create namespace {self.namespace}")
            except RuntimeError as error:
                if "(AlreadyExists)" not in str(error) or time.monotonic() > deadline:
                    raise

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
        return self._log.read_text() if self._log.exists() else ""

    def run_silently(self, arguments: str) -> None:
        """Run kubectl and say nothing; it must succeed."""
        try:
            super().run_silently(arguments)
        except RuntimeError as error:
            raise RuntimeError(f"{error}\n{self.log}") from None


def _say(line: str) -> None:
    print(line, file=sys.stderr)
