"""The grader's handle on a submission's process: started below `supervise`, gone with all it started."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from converge.grader.output import Output

# In the environment of every process of a submission, under a name that systemd uses too: it tells nothing.
MARK = "INVOCATION_ID"
SUPERVISE = Path(__file__).with_name("supervise.py")


class Process:
    """One run of a submission: its group, its output, its end."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        directory: Path,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self._mark = secrets.token_hex(8)
        control, self._control = os.pipe()
        self._status, status = os.pipe()
        env = scrubbed(directory)
        env.update(environment or {})
        env[MARK] = self._mark
        env["CONVERGE_PASS_FDS"] = ",".join(map(str, pass_fds))
        supervisor = [sys.executable, "-I", "-S", str(SUPERVISE), str(control), str(status), *command]
        self._supervisor = subprocess.Popen(
            supervisor,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[control, status, *pass_fds],
            cwd=directory,
            env=env,
            start_new_session=True,
        )
        os.close(control)
        os.close(status)
        assert self._supervisor.stdout is not None
        self.output = Output(self._supervisor.stdout)
        self.pid: int | None = None
        self.exit_code: int | None = None
        self.ended = threading.Event()
        self._started = threading.Event()
        self._closed = False
        threading.Thread(target=self._follow, daemon=True, name="status").start()

    def _follow(self) -> None:
        with os.fdopen(self._status) as lines:
            for line in lines:
                word, _, number = line.partition(" ")
                if word == "started":
                    self.pid = int(number)
                    self._started.set()
                else:
                    self.exit_code = int(number)
                    self.ended.set()
        self.ended.set()
        self._started.set()

    @property
    def running(self) -> bool:
        return not self.ended.is_set()

    def signal(self, number: int) -> None:
        """Send a signal to the submission's process group."""
        self._started.wait(5)
        if self.pid and self.running:
            try:
                os.killpg(self.pid, number)
            except (ProcessLookupError, PermissionError):
                pass  # it ended a moment ago

    def close(self) -> None:
        """Kill whatever is left of the submission, daemons too. Safe to call again."""
        if self._closed:
            return
        self._closed = True
        self.signal(signal.SIGKILL)
        os.close(self._control)
        try:
            self._supervisor.wait(10)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
        if self._supervisor.returncode != 0 or sys.platform != "linux":
            sweep(self._mark)
        self.output.wait(2)


def scrubbed(directory: Path) -> dict[str, str]:
    """An environment that tells a submission nothing about the grader or its user."""
    kept = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SSL_CERT_FILE")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    return {**env, "HOME": str(directory), "TMPDIR": str(directory)}


def sweep(mark: str) -> None:
    """Kill every process that carries the mark: for systems without subreapers, and for killed supervisors."""
    import psutil  # needed in rare cases only, and slow to import

    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark:
                process.kill()
        except (psutil.Error, OSError):
            continue
