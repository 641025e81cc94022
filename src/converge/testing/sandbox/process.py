"""The handle on an operator's or a submission's process: started below `supervisor`, gone with all it started."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from converge.testing.sandbox.jail import JAILER, Bridge, Jail, Reach, without_network
from converge.testing.sandbox.output import Output
from converge.testing.sandbox.survivors import MARK_VARIABLE, Traces, started_here

if TYPE_CHECKING:
    from converge.testing.sandbox.fork_client import ForkServer

SUPERVISOR = Path(__file__).with_name("supervisor.py")
# No environment, no user's packages, no compiled file left beside a learner's, nothing held back of what it prints.
ISOLATED_PYTHON = (sys.executable, "-I", "-B", "-u")


def isolated_python(*arguments: str) -> tuple[str, ...]:
    """The command line of a Python that is kept apart from its user's own."""
    return (*ISOLATED_PYTHON, *arguments)


class Process:
    """One run of a command: its group, its output, its end."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        directory: Path,
        environment: Mapping[str, str] | None = None,
        confined: bool = True,
        pass_fds: Sequence[int] = (),
        fork_server: ForkServer | None = None,
        jail: Jail | None = None,
        reach: Reach | None = None,
        files: Sequence[Path] = (),
    ) -> None:
        """Run a command in a directory.

        A `confined` one has limits, and no variable of ours but a few, to which `environment` adds. Otherwise
        `environment` is all that it gets. A `fork_server` runs an isolated Python without importing everything again.
        In a `jail` it reaches what `reach` says, and finds `files` in its directory, which is empty otherwise.
        """
        assert not (pass_fds and fork_server), "a fork is given its three pipes, and nothing else"
        assert not (jail and fork_server), "a fork would be outside of its jail"
        mark = secrets.token_hex(8)
        self._fork_server = fork_server
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._bridge: Bridge | None = None
        control, self._control = os.pipe()
        self._status, status = os.pipe()
        printed, output = os.pipe()
        env = {**(scrubbed(directory) if confined else {}), **(environment or {}), MARK_VARIABLE: mark}
        self._traces = Traces(mark, (output, *pass_fds))
        if fork_server is not None:
            assert tuple(command[: len(ISOLATED_PYTHON)]) == ISOLATED_PYTHON, "a fork server runs nothing else"
            fork_server.order(command[len(ISOLATED_PYTHON) :], directory, env, (control, status, output))
        else:
            if jail is not None:
                self._bridge = Bridge(reach or Reach())
                setup = json.dumps({"relays": self._bridge.there, "pass_fds": list(pass_fds)})
                jailer = [sys.executable, "-I", "-B", str(JAILER), str(control), str(status), setup]
                whole = without_network([*jailer, *jail.wrapped(list(command), directory, files)])
            else:
                env["CONVERGE_PASS_FDS"] = ",".join(map(str, pass_fds))
                env["CONVERGE_LIMITS"] = "on" if confined else ""
                whole = [sys.executable, "-I", "-S", str(SUPERVISOR), str(control), str(status), *command]
            self._supervisor = subprocess.Popen(
                whole,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[control, status, *pass_fds],
                cwd=directory,
                env=env,
                start_new_session=True,
            )
            started_here.add(self._supervisor.pid)
        for end in (control, status, output):
            os.close(end)
        self.output = Output(printed)

        self.pid: int | None = None
        self._group: int | None = None
        self.exit_code: int | None = None
        self.ended = threading.Event()
        self._started = threading.Event()
        self._closed = False
        self._over = False
        self._follower = threading.Thread(target=self._follow, daemon=True, name="status")
        self._follower.start()

    def _follow(self) -> None:
        with os.fdopen(self._status) as lines:
            for line in lines:
                word, *numbers = line.split()
                if word == "started":
                    self._group, self.pid = map(int, numbers)
                    self._started.set()
                elif word == "exited":
                    self.exit_code = int(numbers[0])
                    self.ended.set()
                else:
                    self._over = True
        self.ended.set()
        self._started.set()

    @property
    def running(self) -> bool:
        return not self.ended.is_set()

    def signal(self, number: int) -> None:
        """Send a signal to the submission's process group."""
        self._started.wait(5)
        if self._group and self.running:
            try:
                os.killpg(self._group, number)
            except (ProcessLookupError, PermissionError):
                pass  # it ended a moment ago

    def close(self) -> None:
        """Kill whatever is left of the submission, daemons too. Safe to call again."""
        if self._closed:
            return
        self._closed = True
        self.signal(signal.SIGKILL)
        os.close(self._control)
        self._follower.join(10)  # until its supervisor is gone
        if not self._over or sys.platform != "linux":
            self._clean_up()
        if self._supervisor:
            self._supervisor.wait()  # it has said that it's over, or was killed
            started_here.discard(self._supervisor.pid)
        if self._bridge:
            self._bridge.close()
        self.output.wait(2)

    def _clean_up(self) -> None:
        """Its supervisor did not say that nothing is left: look for what is."""
        if self._supervisor:
            self._supervisor.kill()
        if self._fork_server:
            self._fork_server.close()
        self._traces.kill()


def scrubbed(directory: Path) -> dict[str, str]:
    """An environment that tells a submission nothing about the grader or its user."""
    kept = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SSL_CERT_FILE")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    return {**env, "HOME": str(directory), "TMPDIR": str(directory)}


def own_environment(home: Path) -> dict[str, str]:
    """The environment of an operator that is tested by its author: all of ours, except for what leads to a cluster.

    Its home is another one, so that no program finds the kubeconfig of its user there. Caches stay where they are.
    """
    leads_to_a_cluster = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "PYTEST_CURRENT_TEST")
    env = {name: value for name, value in os.environ.items() if name not in leads_to_a_cluster}
    there = Path.home()
    on_a_mac = sys.platform == "darwin"
    caches = {
        "XDG_CACHE_HOME": there / ".cache",
        "GOCACHE": there / ("Library/Caches/go-build" if on_a_mac else ".cache/go-build"),
        "GOPATH": there / "go",
        "CARGO_HOME": there / ".cargo",
        "RUSTUP_HOME": there / ".rustup",
        "PYTHONUSERBASE": there / ".local",
    }
    kept = {name: str(path) for name, path in caches.items() if name not in env}
    return {**env, **kept, "HOME": str(home), "PYTHONUNBUFFERED": "1"}
