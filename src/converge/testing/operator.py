"""The operator under test: a process of its own, started as its author would start it, seen through the recorder.

    operator.start()      # returns when it has asked the API server for its objects
    operator.crash()      # SIGKILL, no goodbye
    operator.restart()    # SIGTERM, then start
    operator.settle()     # returns when it has stopped writing

If it dies on its own, every wait for it ends and says so.
"""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from converge.recorder.timeline.reconciles import asked_to_look_again, reconciles, without_reconciles
from converge.testing.access import in_cluster
from converge.testing.access.pod_env import free_port
from converge.testing.kopf_writes import by_kopf
from converge.testing.sandbox.fork_client import fork_server
from converge.testing.sandbox.jail import Jail, Reach
from converge.testing.sandbox.process import Process, own_environment
from converge.testing.verdicts.evidence import NOT_STATE, refused, written
from converge.testing.verdicts.failure import Failure, TookTooLong, Verdict
from converge.testing.verdicts.tracebacks import Crash, crashes, readable
from converge.testing.waits.deadlines import scaled
from converge.testing.waits.idle import QUIET, renews, wait_until_idle, why_not_idle
from converge.testing.waits.waiting import eventually

if TYPE_CHECKING:
    from converge.recorder import RecordedRequest, Recorder, Recording
    from converge.testing.objects.custom_resource import CustomResource
    from converge.testing.objects.namespace import Namespace

START_SECONDS = 20.0  # seconds until its first list or watch
STOP_SECONDS = 10.0  # seconds after SIGTERM
STUCK_SECONDS = 1.0  # seconds after its last write before it counts as stuck
STUCK_AT_ONCE_SECONDS = 0.3  # the same for an operator that has achieved nothing so far
REPEATED_FAILURE_SECONDS = 1.5  # seconds of the same failure without progress before we stop waiting
FINAL_REFUSALS = (400, 403, 405, 415, 422)  # refusals that no second attempt overcomes
SAME_CRASHES = 3  # tracebacks of one kind that are no accident
REFUSED_READS = 3  # of the same kind: kopf asks once for what it can do without
STANDBY_LEASE_READS = 4  # show that a standby polls the Lease; the leader also reads it before each renewal
PRINTED = "it printed"
PLACEHOLDER = re.compile(r"\{(namespace|kubeconfig|port)\}")
SERVICE_ACCOUNT = "serviceaccount"  # a folder beside the kubeconfig, for operators that know nothing but a Pod's files
HINT_SLOW_START = "Does its file do something slow when it is imported, or wait for something that never comes?"
HINT_NO_REQUESTS = "Does it use $KUBECONFIG? Is it still compiling, or waiting for something that never comes?"
HINT_NO_MOUNTS = "That takes Linux with user namespaces. Where the operator can read a kubeconfig, let it."
HINT_NAMESPACE = "Pass the namespace: an operator may only read and write in its own."
HINT_NO_RIGHT = "The operator has no right to do this, and needs none: what else leads to the same end?"
HINT_SCANNING = (
    "It has rights in its own namespace only. kopf looks for namespaces and CRDs in the whole cluster, "
    "unless settings.scanning.disabled = True in a handler of @kopf.on.startup()."
)


@dataclass(frozen=True)
class Launch:
    """How an operator is started, and what its tests have to know about it.

    In the words of the command and in the values of the environment, `{namespace}` stands for the namespace of the
    test, `{kubeconfig}` for the path of the operator's kubeconfig, and `{port}` for a free port, new each time.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: Path | None = None  # where it's started; without one, in a scratch directory, which is its home too
    in_cluster: bool = False  # with credentials as a Pod has them, and no kubeconfig
    start_seconds: float = START_SECONDS  # seconds until its first list or watch; `go run` compiles first
    confined: bool = False  # as a submission: limits, and nothing of its user's environment
    preload: tuple[str, ...] = ()  # modules of an isolated Python: a fork server keeps them ready
    workloads: tuple[str, ...] = ("Deployment", "StatefulSet")  # kinds of its children that take a while to roll out
    on_kopf: bool = False  # so that kopf's own annotations don't count as its writes
    frees_leases: bool = False  # drop its Leases when it was killed, so that its next start doesn't wait for them
    jail: Jail | None = None  # for an untrusted operator

    @property
    def folder(self) -> str:
        """Where its author's files are, or nothing if that isn't known."""
        return next((str(Path(each).parent) for each in self.command if each.endswith(".py")), "")

    @property
    def picks_namespace(self) -> bool:
        """Whether it's told which namespace to work in; otherwise it may work in all of them."""
        return any("{namespace}" in each for each in (*self.command, *self.environment.values()))

    def filled(self, namespace: str, kubeconfig: Path) -> Launch:
        """The same for one operator: with its namespace, its kubeconfig and ports of its own."""
        known = {
            "namespace": lambda: namespace,
            "kubeconfig": lambda: str(kubeconfig),
            "port": lambda: str(free_port()),
        }

        def fill(text: str) -> str:
            return PLACEHOLDER.sub(lambda found: known[found[1]](), text)

        environment = {name: fill(value) for name, value in self.environment.items()}
        return replace(self, command=tuple(map(fill, self.command)), environment=environment)


@dataclass(frozen=True)
class RepeatedFailure:
    """What all that an operator tries ends in: its fingerprint, in words, the evidence, and what to try."""

    cause: str
    message: str
    seen: list[str]
    hint: str = ""


class Operator:
    """An operator under test."""

    def __init__(
        self,
        launch: Launch,
        namespace: Namespace,
        kubeconfig: Path,
        recorder: Recorder,
        other_namespace: Namespace | None = None,
    ) -> None:
        self._asked = launch
        self.launch = launch.filled(namespace.name, kubeconfig)
        self.namespace = namespace
        self.other_namespace = other_namespace
        self._kubeconfig = kubeconfig
        self.recorder = recorder
        self._runs: list[Process] = []
        self._copies: list[Operator] = []
        self._wanted = False
        self._troubled_since: float | None = None
        self._started = 0.0
        self._up = False
        self.environment: dict[str, str] = {}
        #: Seconds of silence that mean that it is at rest.
        self.quiet = QUIET
        #: Whether a wait may end before its deadline because of such a failure.
        self.may_stop_waiting: Callable[[RepeatedFailure], bool] = lambda repeated: False

    def another(self) -> Self:
        """A second copy with the same identity, not started, as when two Pods of an operator run at once."""
        copy = type(self)(self._asked, self.namespace, self._kubeconfig, self.recorder, self.other_namespace)
        copy.environment = self.environment
        self._copies.append(copy)
        return copy

    @property
    def namespaces(self) -> list[Namespace]:
        """Where it works: one namespace, or two."""
        return [self.namespace, *([self.other_namespace] if self.other_namespace else [])]

    @property
    def running(self) -> bool:
        return bool(self._runs) and self._runs[-1].running

    @property
    def exit_code(self) -> int | None:
        """The exit code of its last run: None while it runs, negative if a signal ended it."""
        return self._runs[-1].exit_code if self._runs else None

    @property
    def output(self) -> str:
        """What all its runs have printed, without the lines that are only for the timeline."""
        return without_reconciles(self.log)

    @property
    def log(self) -> str:
        """The same with those lines: the runtime says how long each pass took, and when it wants to be called again."""
        return "".join(run.output.text() for run in self._runs)

    def busy(self) -> bool:
        """Whether one of its threads is running or waiting for the processor; False if the system can't say."""
        pid = self._runs[-1].pid if self._runs else None
        try:
            stats = [task.joinpath("stat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
        except OSError:
            return False
        return any(stat.rpartition(")")[2].split()[0] in "RD" for stat in stats)

    def start(self) -> None:
        """Start it and wait until it has listed or watched its objects."""
        assert not self.running, "the operator runs already"
        mark = self.recorder.mark()
        self.recorder.note("operator started")
        self._free_leases()
        run = self._run()
        self._runs.append(run)
        self._wanted, self._troubled_since = True, None
        self._started, self._up = mark, False

        def up() -> bool:
            asked = self.recorder.since(mark).requests
            return not run.running or any(each.status == 200 and each.verb in ("list", "watch") for each in asked)

        eventually(up, within=self.launch.start_seconds)
        if not self._wanted:
            return  # a fault of the check has killed it already, at a write that it could only make once it was up
        if not run.running:
            raise self._died()
        if not up():
            if repeated := self.repeated_failure():
                raise self._failed(repeated)
            raise TookTooLong(
                f"the operator did not list or watch anything within {self.launch.start_seconds:g} s of its start",
                hint=HINT_SLOW_START if self.launch.preload else HINT_NO_REQUESTS,
                seen=self.printed(),
            ).because("did not come up", nothing_achieved=not self._achieved())
        self._up = True

    def start_standby(self) -> None:
        """Start it while another copy runs, and wait for its first request: a standby asks for nothing but a lock.

        It may end at once, if it needs what the other copy has.
        """
        mark = self.recorder.mark()
        self.recorder.note("another copy of the operator started")
        run = self._run()
        self._runs.append(run)
        self._started, self._up = mark, True

        def asked() -> bool:
            since = [each for each in self.recorder.since(mark).requests if not each.is_write]
            return not run.running or any(not renews(each) for each in since) or len(since) >= STANDBY_LEASE_READS

        eventually(asked, within=self.launch.start_seconds)

    def _run(self) -> Process:
        """Start its command, with credentials that lead through the recorder."""
        launch, home = self.launch, self._kubeconfig.parent
        if launch.confined:
            environment = {"KUBECONFIG": str(self._kubeconfig), **launch.environment, **self.environment}
            forks = launch.preload and not launch.jail  # a fork would be outside of its jail
            return Process(
                launch.command,
                directory=home,
                environment=environment,
                fork_server=fork_server(launch.preload, len(self._runs)) if forks else None,
                jail=launch.jail,
                reach=self._reach(),
                files=[self._kubeconfig],
            )
        command: Sequence[str] = launch.command
        if launch.in_cluster:
            if not in_cluster.can_run_in_pod():
                raise Failure("this machine can't give an operator the files of a Pod", hint=HINT_NO_MOUNTS)
            access = in_cluster.environment(self.recorder.url)
            command = in_cluster.in_pod(command, home / SERVICE_ACCOUNT)
        else:
            access = {"KUBECONFIG": str(self._kubeconfig)}
            usual = home / ".kube" / "config"  # where a program looks that knows no $KUBECONFIG
            usual.parent.mkdir(exist_ok=True)
            if not usual.exists():
                usual.symlink_to(self._kubeconfig)
        environment = {**own_environment(home), **access, **launch.environment, **self.environment}
        return Process(command, directory=launch.directory or home, environment=environment, confined=False)

    def _free_leases(self) -> None:
        """After a crash nobody renews its Leases, and its next start would wait until they have expired."""
        if not self.launch.frees_leases or self.exit_code != -signal.SIGKILL:
            return
        for name in {each.name for each in self.recorder.writes("Lease") if each.namespace == self.namespace.name}:
            self.namespace.delete("Lease", name)

    def _reach(self) -> Reach:
        """What a jailed operator needs: the recorder, what its environment names by URL, and its own port for us."""
        urls = [self.recorder.url, *(value for value in self.environment.values() if value.startswith("http://127."))]
        out = {port for url in urls if (port := urlsplit(url).port)}
        return Reach(tuple(sorted(out)), (int(self.environment["PORT"]),) if "PORT" in self.environment else ())

    def stop(self, within: float = STOP_SECONDS) -> None:
        """Ask it to end (SIGTERM) and wait until it has."""
        self._wanted = False
        if not self.running:
            return
        run = self._runs[-1]
        self.recorder.note("operator asked to stop")
        run.signal(signal.SIGTERM)
        if not self._ends(run, scaled(within)):
            run.close()
            raise TookTooLong(
                f"the operator did not end within {within:g} s of SIGTERM",
                hint="A thread or a handler of yours does not notice that it should stop.",
                seen=self.printed(),
            )
        run.close()

    def _ends(self, run: Process, within: float) -> bool:
        """Wait for the end of a run. A subclass may let this wait be interrupted."""
        return run.ended.wait(within)

    def crash(self) -> None:
        """Kill it at once, with no chance to clean up."""
        self._wanted = False
        if self._runs:
            run = self._runs[-1]  # the recorder calls this from its own thread: a new run may begin before the end
            run.signal(signal.SIGKILL)
            self.recorder.note("operator killed")
            run.ended.wait(STOP_SECONDS)
            run.close()

    def pause(self) -> None:
        """Let it hang until `resume` (SIGSTOP), like a process on a machine that's short of CPU time."""
        self._runs[-1].signal(signal.SIGSTOP)
        self.recorder.note("operator paused")

    def resume(self) -> None:
        """Let it continue where it was paused. It doesn't know that time has passed."""
        self.recorder.note("operator resumed")
        self._runs[-1].signal(signal.SIGCONT)

    def restart(self) -> None:
        """Stop it with SIGTERM and start it again."""
        self.stop()
        self.start()

    def settle(self, within: float = 15.0) -> float:
        """Wait until rollouts are done and it has stopped writing. Returns a mark for `recorder.since`."""
        if not wait_until_idle(self, within):
            self.interrupt(final=True)
            raise why_not_idle(self, within)
        self.interrupt(final=True)
        return self.recorder.mark()

    def ignored(self, request: RecordedRequest) -> bool:
        """Whether a request is ignored when we ask if the operator is at rest. A subclass may ignore more."""
        return renews(request)

    def futile(self, request: RecordedRequest) -> bool:
        """Whether a request that changed nothing is also ignored. A subclass may know why it's made."""
        return False

    def own_writes(self, since: float) -> list[RecordedRequest]:
        """What it has written since that mark, without kopf's own notes."""
        written = self.recorder.since(since).writes()
        return [each for each in written if not by_kopf(each)] if self.launch.on_kopf else written

    def looks_again_in(self, app: CustomResource) -> float | None:
        """In how many seconds it will look at an object again, if its last pass asked for that.

        Only the course's runtime says so in its log. A retry after an error doesn't count.
        """
        return asked_to_look_again(self.log, app.name)

    # What a wait for it ends with.

    def interrupt(self, final: bool = False) -> None:
        """Raise a verdict when there is nothing left to wait for.

        It has died, its output says that waiting is pointless, or every attempt has failed in the same way.
        """
        if not self._wanted:
            return
        pointless = self.verdict_in(self.log)
        if self.running and not pointless:
            if not final:
                self._interrupt_fruitless()
            return
        self._troubled_since = self._troubled_since or time.monotonic()
        quiet, grace = time.monotonic() - self._troubled_since, STUCK_AT_ONCE_SECONDS
        if wrote := self.recorder.writes(changed=True):
            quiet, grace = min(quiet, self.recorder.mark() - wrote[-1].time), STUCK_SECONDS
        if not final and quiet < scaled(grace):
            return
        raise pointless or self._died()

    def _interrupt_fruitless(self) -> None:
        since = max([self._started, *(each.last_moment for each in self._achieved())])
        if self.recorder.mark() - since < scaled(REPEATED_FAILURE_SECONDS) or not (repeated := self.repeated_failure()):
            return
        if self.may_stop_waiting(repeated) or not (self._up or self.recorder.faults):
            raise self._failed(repeated)

    def verdict_in(self, output: str) -> Verdict | None:
        """The verdict that the operator's output alone decides, if it does. A subclass may know what to look for."""
        return None

    def repeated_failure(self) -> RepeatedFailure | None:
        """The exception or refusal that every attempt of its current run has ended in, if it's always the same one."""
        crashed = crashes(self._runs[-1].output.text()) if self._runs else []
        since = max([self._started, *(each.time for each in self._achieved())])
        asked = [each for each in self.recorder.requests if each.time >= since and not each.fault]
        denied = [each for each in asked if each.status in FINAL_REFUSALS and each.resource not in NOT_STATE]
        hint = self._hint_for(denied[-1]) if denied else ""
        if crashed:
            causes = {each.fingerprint(self.launch.folder) for each in crashed}
            message = f"the operator keeps failing: {crashed[-1].exception[:300]}"
            return RepeatedFailure(causes.pop(), message, self._traceback(crashed), hint) if len(causes) == 1 else None
        kinds = {(each.status, each.verb, each.resource, each.subresource) for each in denied}
        if len(kinds) != 1 or not (denied[-1].is_write or len(denied) >= REFUSED_READS):
            return None
        cause = " ".join(map(str, kinds.pop()))
        return RepeatedFailure(cause, "the server refuses what the operator asks for", [], hint)

    def one_crash(self) -> str:
        """The fingerprint of what its current run has printed again and again, if that's always the same traceback.

        With a fault, its tracebacks are about the fault, and may have nothing to do with what went wrong.
        """
        crashed = crashes(self._runs[-1].output.text()) if self._runs and not self.recorder.faults else []
        causes = {each.fingerprint(self.launch.folder) for each in crashed}
        return causes.pop() if len(causes) == 1 and len(crashed) >= SAME_CRASHES else ""

    def _hint_for(self, denied: RecordedRequest) -> str:
        if denied.status != 403:
            return "The server says why."
        if denied.namespace in [each.name for each in self.namespaces]:
            return HINT_NO_RIGHT
        return HINT_SCANNING if self.launch.on_kopf and not denied.namespace else HINT_NAMESPACE

    def _achieved(self) -> list[RecordedRequest]:
        """The writes of its own that changed something a user would see."""
        return [each for each in self.own_writes(0) if each.changed and each.resource not in NOT_STATE]

    def _failed(self, repeated: RepeatedFailure) -> Failure:
        failure = Failure(repeated.message, seen=repeated.seen, hint=repeated.hint)
        return failure.because(repeated.cause, nothing_achieved=not self._achieved())

    def _died(self) -> Verdict:
        run = self._runs[-1]
        run.output.wait(1)
        if verdict := self.verdict_in(run.output.text()):
            return verdict
        code = run.exit_code
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"exited with status {code}"
        crashed = crashes(run.output.text())
        failure = Failure(
            f"the operator {how}" + (f": {crashed[-1].exception[:300]}" if crashed else ""),
            hint="" if crashed else "An operator runs until it is stopped: it must not exit by itself.",
            seen=self._traceback(crashed) if crashed else self.printed(),
        )
        cause = crashed[-1].fingerprint(self.launch.folder) if crashed else how
        return failure.because(cause, nothing_achieved=not self._achieved())

    def printed(self) -> list[str]:
        """Its last traceback, or else the end of its output: whichever explains most."""
        if crashed := crashes(self.output):
            return self._traceback(crashed)
        last = "\n".join(line[:300] for line in readable(self.output).rstrip().splitlines()[-8:])
        return [f"{PRINTED}, at last:\n{last}"] if last else []

    def _traceback(self, crashed: list[Crash]) -> list[str]:
        said = (
            "it printed a traceback:" if len(crashed) == 1 else f"it printed {len(crashed)} tracebacks, the last one:"
        )
        return [f"{said}\n{crashed[-1].show(self.launch.folder)}"]

    def evidence(self, seen: Sequence[str] = ()) -> list[str]:
        """What to show with a failure, after what was `seen`: its output, its refused requests, its last writes."""
        refusals, writes = refused(self.recorder), written(self.own_writes(0))
        has_printed = any(each.startswith(PRINTED) for each in seen)
        return [
            *seen,
            *(self.printed() if crashes(self.output) and not has_printed else []),
            *(["it was refused:\n" + "\n".join(refusals)] if refusals else []),
            *(["its last writes:\n" + "\n".join(writes)] if writes else []),
        ]

    def recorded(self) -> Recording:
        """What the recorder has seen so far, plus the passes that the log reports."""
        made = self.recorder.recording
        known = set(made.notes)
        made.notes += [note for note in reconciles(self.log, made.started) if note not in known]
        return made

    def close(self) -> None:
        self._wanted = False
        for run in self._runs:
            run.close()
        for copy in self._copies:
            copy.close()
        self.recorded()  # while the log is at hand: the recorder lives longer
