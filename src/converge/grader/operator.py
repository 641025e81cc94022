"""The operator under test: a process of its own, started as its author would start it, seen through the recorder.

    operator.start()      # returns when it has asked the API server for its objects
    operator.crash()      # SIGKILL, no goodbye
    operator.restart()    # SIGTERM, then start
    operator.settle()     # returns when it has stopped writing

When it dies by itself, prints a traceback or reaches a TODO, whoever waits for it is told.
"""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from converge.grader.bookkeeping import by_kopf
from converge.grader.patience import patience
from converge.grader.process import Process
from converge.grader.recorder.reconciles import reconciles, without_reconciles
from converge.grader.rest import restless, wait_for_rest
from converge.grader.verdict import Failure, NotStarted, TookTooLong
from converge.grader.waiting import eventually
from converge.grader.zygotes import zygote

if TYPE_CHECKING:
    from converge.grader.course import Lab
    from converge.grader.namespace import Namespace
    from converge.grader.recorder import Recorder, Recording, Request

COMES_UP = 20.0  # seconds until its first list or watch
STOPS = 10.0  # seconds after SIGTERM
GRACE = 1.0  # seconds after its last write in which what a half-done operator does achieve still counts
NOTHING_DONE = 0.3  # of these, for one that has achieved nothing so far
SLOW = "Does its file do something slow when it is imported, or wait for something that never comes?"
BEYOND = (
    "It has rights in its own namespace only, and asks for more. kopf looks for namespaces and CRDs in the whole "
    "cluster, unless settings.scanning.disabled = True in a handler of @kopf.on.startup()."
)
# What each kind of operator imports in any case.
RUNTIME = ("converge.runtime", "converge.runtime.logs", "argparse")
IMPORTS = {"kopf": ("kopf", "kopf.cli", *RUNTIME), "runtime": RUNTIME, "python": RUNTIME}
TODO = re.compile(r"TODO \d+: [^\n]*")
TRACEBACK = re.compile(r"^(Traceback \(most recent call last\):\n(?:[ \t]+.*\n|.*\^.*\n)*\S[^\n]*)", re.MULTILINE)


class Operator:
    """The submission of an operator lab."""

    def __init__(self, lab: Lab, file: Path, namespace: Namespace, kubeconfig: Path, recorder: Recorder) -> None:
        self._lab = lab
        self._file = file
        self.namespace = namespace
        self._kubeconfig = kubeconfig
        self.recorder = recorder
        self._runs: list[Process] = []
        self._copies: list[Operator] = []
        self._wanted = False
        self._troubled_since: float | None = None
        self.environment: dict[str, str] = {}

    def another(self) -> Operator:
        """A second copy with the same identity, not started, as when two Pods of an operator run at once."""
        copy = Operator(self._lab, self._file, self.namespace, self._kubeconfig, self.recorder)
        copy.environment = self.environment
        self._copies.append(copy)
        return copy

    @property
    def workloads(self) -> list[str]:
        """The kinds of this lab whose changes take a while to roll out."""
        granted = {resource for rule in self._lab.rights for resource in rule["resources"]}
        return [kind for kind in ("Deployment", "StatefulSet") if f"{kind.lower()}s" in granted]

    @property
    def running(self) -> bool:
        return bool(self._runs) and self._runs[-1].running

    @property
    def exit_code(self) -> int | None:
        """Of its last run; None while it runs, negative when a signal has ended it."""
        return self._runs[-1].exit_code if self._runs else None

    @property
    def output(self) -> str:
        """What all its runs have printed, without the lines that only the timeline wants."""
        return without_reconciles(self._log)

    @property
    def _log(self) -> str:
        return "".join(run.output.text() for run in self._runs)

    def busy(self) -> bool:
        """Whether a thread of it runs or waits for the processor right now; False where that cannot be told."""
        pid = self._runs[-1].pid if self._runs else None
        try:
            stats = [task.joinpath("stat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
        except OSError:
            return False
        return any(stat.rpartition(")")[2].split()[0] in "RD" for stat in stats)

    def arguments(self, file: Path) -> list[str]:
        """Of the Python that runs it."""
        if self._lab.run == "python":
            return [str(file), *self._lab.arguments]
        if self._lab.run == "kopf":
            return ["-m", "kopf", "run", str(file), "--standalone", "-n", str(self.namespace), *self._lab.arguments]
        logged = ["--log-level", "debug"]  # so that its log tells of each reconcile
        return ["-m", "converge.runtime", "run", str(file), "-n", str(self.namespace), *logged, *self._lab.arguments]

    def start(self) -> None:
        """Start it and wait until it has listed or watched its objects."""
        assert not self.running, "the operator runs already"
        mark = self.recorder.mark()
        self.recorder.note("operator started")
        home = self._kubeconfig.parent
        environment = {"KUBECONFIG": str(self._kubeconfig), **self.environment}
        ready = zygote(IMPORTS[self._lab.run], len(self._runs))
        run = Process(self.arguments(self._file), directory=home, environment=environment, zygote=ready)
        self._runs.append(run)
        self._wanted, self._troubled_since = True, None

        def up() -> bool:
            asked = self.recorder.since(mark).requests
            return not run.running or any(each.status == 200 and each.verb in ("list", "watch") for each in asked)

        eventually(up, within=COMES_UP)
        if not self._wanted:
            return  # a fault of the check has killed it already, at a write that it could only make once it was up
        if not run.running:
            raise self._died()
        if not up():
            refused = sorted({str(each) for each in self.recorder.since(mark).requests if each.status == 403})
            raise TookTooLong(
                f"the operator did not list or watch anything within {COMES_UP:g} s of its start",
                hint=BEYOND if refused else SLOW,
                seen=["it was refused:\n" + "\n".join(refused)] if refused else self.printed(),
            )

    def stop(self) -> None:
        """Ask it to end (SIGTERM) and wait until it has."""
        self._wanted = False
        if not self.running:
            return
        run = self._runs[-1]
        self.recorder.note("operator asked to stop")
        run.signal(signal.SIGTERM)
        if not run.ended.wait(patience(STOPS)):
            run.close()
            raise TookTooLong(
                f"the operator did not end within {STOPS:g} s of SIGTERM",
                hint="A thread or a handler of yours does not notice that it should stop.",
                seen=self.printed(),
            )
        run.close()

    def crash(self) -> None:
        """Kill it, at once and with no chance to tidy up."""
        self._wanted = False
        if self._runs:
            run = self._runs[-1]  # the recorder calls this from its own thread: a new run may begin before the end
            run.signal(signal.SIGKILL)
            self.recorder.note("operator killed")
            run.ended.wait(STOPS)
            run.close()

    def pause(self) -> None:
        """Let it hang (SIGSTOP), as a process does whose machine has other things to do, until `resume`."""
        self._runs[-1].signal(signal.SIGSTOP)
        self.recorder.note("operator paused")

    def resume(self) -> None:
        """Let it go on where it was paused: it does not know that time has passed."""
        self.recorder.note("operator resumed")
        self._runs[-1].signal(signal.SIGCONT)

    def restart(self) -> None:
        """Stop it in order and start it again."""
        self.stop()
        self.start()

    def settle(self, within: float = 15.0) -> float:
        """Wait until rollouts are done and it has stopped writing; returns that moment, for `recorder.since`."""
        if not wait_for_rest(self, within):
            self.interrupt(final=True)
            raise restless(self, within)
        self.interrupt(final=True)
        return self.recorder.mark()

    def own_writes(self, since: float) -> list[Request]:
        """What it wrote since that mark of its own will, without what kopf notes down for itself."""
        written = self.recorder.since(since).writes()
        return [each for each in written if not by_kopf(each)] if self._lab.run == "kopf" else written

    # What those who wait are told.

    def interrupt(self, final: bool = False) -> None:
        """Raise a verdict when there is nothing left to wait for: it died, or it reached a TODO."""
        if not self._wanted:
            return
        died = not self.running
        todo = TODO.search(self._log)
        if not died and not todo:
            return
        self._troubled_since = self._troubled_since or time.monotonic()
        quiet, grace = time.monotonic() - self._troubled_since, NOTHING_DONE
        if wrote := self.recorder.writes(changed=True):
            quiet, grace = min(quiet, self.recorder.mark() - wrote[-1].time), GRACE
        if not final and quiet < patience(grace):
            return
        raise NotStarted(todo.group()) if todo else self._died()

    def _died(self) -> Failure | NotStarted:
        run = self._runs[-1]
        run.output.wait(1)
        if todo := TODO.search(run.output.text()):
            return NotStarted(todo.group())
        code = run.exit_code
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"exited with status {code}"
        return Failure(
            f"the operator {how}",
            hint="An operator runs until it is told to stop: it must not exit, and its file must import.",
            seen=self.printed(),
        )

    def printed(self) -> list[str]:
        """Its last traceback, or else the end of its output: what explains most."""
        tracebacks = TRACEBACK.findall(self.output)
        if tracebacks:
            return [f"it printed {len(tracebacks)} traceback(s), the last one:\n{tracebacks[-1][-1500:]}"]
        last = "\n".join(line[:300] for line in self.output.rstrip().splitlines()[-8:])
        return [f"it printed, at last:\n{last}"] if last else []

    def evidence(self) -> list[str]:
        """What to show beside a failure: its last requests and what it printed."""
        asked = [each for each in self.recorder.requests if each.is_write or (each.status or 0) >= 400][-6:]
        requests = ["its last writes and refused requests:\n" + "\n".join(map(str, asked))] if asked else []
        tracebacks = TRACEBACK.search(self.output)
        return requests + (self.printed() if tracebacks else [])

    def recorded(self) -> Recording:
        """What the recorder has seen so far, completed by the reconciles that the log tells of."""
        made = self.recorder.recording
        known = set(made.notes)
        made.notes += [note for note in reconciles(self._log, made.started) if note not in known]
        return made

    def close(self) -> None:
        self._wanted = False
        for run in self._runs:
            run.close()
        for copy in self._copies:
            copy.close()
        self.recorded()  # while the log is at hand: the recorder lives longer
