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
from typing import TYPE_CHECKING

from converge.grader.output import Output

if TYPE_CHECKING:
    from converge.grader.zygotes import Zygote

# In the environment of every process of a submission, under a name that systemd uses too: it tells nothing.
MARK = "INVOCATION_ID"
SUPERVISE = Path(__file__).with_name("supervise.py")
# No environment, no user's packages, no compiled file left beside a learner's, nothing held back of what it prints.
ISOLATED = (sys.executable, "-I", "-B", "-u")


class Process:
    """One run of a submission: its group, its output, its end."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        directory: Path,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
        zygote: Zygote | None = None,
    ) -> None:
        """Run `python ARGUMENTS…`, isolated. With a `zygote`, what that has imported need not be imported again."""
        assert not (pass_fds and zygote), "a fork is given its three pipes, and nothing else"
        self._mark = secrets.token_hex(8)
        self._zygote = zygote
        self._supervisor: subprocess.Popen[bytes] | None = None
        control, self._control = os.pipe()
        self._status, status = os.pipe()
        printed, output = os.pipe()
        env = {**scrubbed(directory), **(environment or {}), MARK: self._mark}
        if zygote is not None:
            zygote.order(arguments, directory, env, (control, status, output))
        else:
            env["CONVERGE_PASS_FDS"] = ",".join(map(str, pass_fds))
            supervisor = [sys.executable, "-I", "-S", str(SUPERVISE), str(control), str(status)]
            self._supervisor = subprocess.Popen(
                [*supervisor, *ISOLATED, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[control, status, *pass_fds],
                cwd=directory,
                env=env,
                start_new_session=True,
            )
        for end in (control, status, output):
            os.close(end)
        self.output = Output(os.fdopen(printed, "rb"))
        self.pid: int | None = None
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
                word, _, number = line.strip().partition(" ")
                if word == "started":
                    self.pid = int(number)
                    self._started.set()
                elif word == "exited":
                    self.exit_code = int(number)
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
        self._follower.join(10)  # until its supervisor is gone
        if not self._over or sys.platform != "linux":
            self._clean_up()
        if self._supervisor:
            self._supervisor.wait()
        self.output.wait(2)

    def _clean_up(self) -> None:
        """Its supervisor did not say that nothing is left: look for all that carries our mark."""
        if self._supervisor:
            self._supervisor.kill()
        if self._zygote:
            self._zygote.close()
        sweep(self._mark)


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
