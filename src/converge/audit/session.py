"""One audit: the reference, then every attack, each finding confirmed in a fresh namespace, until time is up."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from converge.audit import inputs as input_files
from converge.audit.attacks import (
    AT_REST,
    ATTACKS,
    ERROR,
    FOLLOWED,
    NOTE,
    WALKS,
    Attack,
    AttackContext,
    Outcome,
    touched_twice,
)
from converge.audit.audited_operator import inside_pods
from converge.audit.edits import SpecEdit, candidates
from converge.audit.findings import Finding, name_of, places, save
from converge.audit.learn import Learned, learn
from converge.audit.parallel import DEFAULT_LANES, OperatorSlots, ParallelWork
from converge.audit.sample import Sample
from converge.audit.settings import AuditError, Settings
from converge.audit.target import FIRST_LOOK_SECONDS, AuditTarget
from converge.audit.testbed import AuditTestbed
from converge.audit.time_limit import TimeLimit, TimeUp
from converge.testing.verdicts.failure import Failure
from converge.testing.waits.idle import NO_MORE_WRITES

if TYPE_CHECKING:
    from converge.cluster import Cluster
    from converge.runtime import Client

ASKS_INSIDE = "no verdict: it keeps trying to reach what runs inside its Pods, and nothing runs there"
LOOKS_LATER = "all is right in the end: the operator looks by the clock, after longer than the first look waited"
TOO_SHORT = (
    "Time was up before the operator had been seen on two samples that were left alone, so nothing was attacked. It "
    "had {:g} s: give it more with --time."
)
NOT_KEPT_AT_ITS_END = "the object comes to an end, and nobody expects it to be kept as its spec says afterwards"
MOST_EDITS = 12
Unsure = tuple[Outcome, Finding]
Again = ParallelWork[Unsure, None]
MOST_NAMED = 6  # of the cases of one attack that time was too short for
TIME_WAS_UP = "time was up"
INTERRUPTED = "interrupted, because time was up"
NO_SECOND_TRY = "time was up before it could be tried again"
MOST_FINDINGS = 4  # of one attack that are confirmed and shown; the others are counted


@dataclass
class Row:
    """What came of one attack."""

    attack: Attack
    cases: int = 0
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    answers: list[tuple[str, str]] = field(default_factory=list)
    #: Why cases were not made, or what went wrong on our side.
    left_out: list[str] = field(default_factory=list)
    #: How many of its cases were not made, or not to their end, because time was up.
    late: int = 0
    #: Cases that the clean runs have made already.
    done: list[dict[str, Any]] = field(default_factory=list)

    def leave_out(self, cases: Sequence[dict[str, Any]], because: str) -> None:
        """Note cases for which there was no time, by name."""
        names = [name_of("", each).strip("/") for each in cases]
        named = ", ".join([*names[:MOST_NAMED], *(["…"] if len(names) > MOST_NAMED else [])])
        many = f"{len(cases)} of {self.cases} cases"
        self.left_out.append(f"{many}{f' ({named})' if named else ''}: {because}")
        self.late += len(cases)


@dataclass
class Report:
    """All of an audit."""

    settings: Settings
    seed: int
    kind: str = ""
    rows: list[Row] = field(default_factory=list)
    learned: Learned | None = None
    role: list[dict[str, Any]] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    seconds: float = 0.0
    first_finding: float | None = None

    @property
    def findings(self) -> list[Finding]:
        return [finding for row in self.rows for finding in row.findings]

    @property
    def failed(self) -> bool:
        return any(finding.counts for finding in self.findings)


class Session:
    """Runs the attacks on one operator."""

    def __init__(
        self,
        cluster: Cluster,
        admin: Client,
        settings: Settings,
        *,
        seed: int = 1,
        seconds: float = 600,
        lanes: int = DEFAULT_LANES,
        out: Path,
        replayed_by: str = "converge audit --replay",
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        settings.check()
        self.cluster = cluster
        self.admin = admin
        self.settings = settings
        self.seed = seed
        self.out = out
        self.replayed_by = replayed_by
        self.say = say
        self.inputs = input_files.read(settings)
        self.sample = Sample(self.inputs, settings.unique)
        self.limit = TimeLimit(seconds)
        self.report = Report(settings, seed, self.inputs.kind)
        self.requests: list[Any] = []
        self.lanes = lanes
        self.confirms = True
        self.slots = OperatorSlots(1)
        self.begun: dict[str, Row] = {}
        self.unsure: list[Finding] = []

    @property
    def may_begin(self) -> bool:
        """Whether there's time for another case. At the end what was found has to be tried again first."""
        return not (self.limit.is_nearly_over if self.unsure else self.limit.is_over)

    def run(self, only: Sequence[str] = (), on_row: Callable[[Row], None] = lambda row: None) -> Report:
        """Make the attacks, in order."""
        for name in only:
            if name not in [each.name for each in ATTACKS]:
                raise AuditError(f"There is no attack {name!r}; there are: {', '.join(a.name for a in ATTACKS)}.")
        with input_files.installed(self.admin, self.inputs), self._clock_stopped():
            wanted = [each for each in ATTACKS if not only or each.name in only]
            context = self._prepare(on_row, touching=any(each.name == AT_REST for each in wanted))
            for row in self._side_by_side(wanted, context):
                self.report.rows.append(row)
                on_row(row)
        self.report.rows.sort(key=lambda row: ATTACKS.index(row.attack) if row.attack in ATTACKS else -1)
        self._finish(all_made=not only)
        return self.report

    def _side_by_side(self, wanted: Sequence[Attack], context: AttackContext) -> Iterator[Row]:
        """Make attacks in order of value. Those that edit wait until the walks have shown which edits matter."""
        walked = not any(each.name == WALKS for each in wanted)

        def make(attack: Attack) -> Row:
            if attack.keeps and context.learned.ends:
                return Row(attack, left_out=[NOT_KEPT_AT_ITS_END])
            return self.attack(attack, context, attack.cases(context), self.begun.get(attack.name))

        def ready(attack: Attack) -> bool:
            return walked or not attack.edits

        for row in ParallelWork(wanted, make, self.lanes, ready).results():
            if row.attack.name == WALKS:
                walked, context = True, AttackContext(context.learned, followed(context.edits, row))
            yield row

    def replay(self, finding: Finding, on_row: Callable[[Row], None] = lambda row: None) -> Report:
        """Make the one case of a finding."""
        attack = next((each for each in ATTACKS if each.name == finding.attack), None)
        with input_files.installed(self.admin, self.inputs), self._clock_stopped():
            context = self._prepare(on_row)
            if attack is not None:
                self.confirms = False  # this is the second look
                row = self.attack(attack, context, [finding.case])
                self.report.rows.append(row)
                on_row(row)
        self._finish()
        return self.report

    def _prepare(self, on_row: Callable[[Row], None], touching: bool = False) -> AttackContext:
        """The reference, and what an audit could try."""
        began = time.monotonic()
        try:
            with self.limit.interrupts():
                learned = learn(self._testbed, self.sample, self.settings, self.say, touching)
        except TimeUp:
            raise AuditError(TOO_SHORT.format(self.limit.seconds)) from None
        self.report.learned = learned
        self.requests += learned.requests
        self._touched(learned)
        if learned.restless and not any(map(inside_pods, learned.requests)):
            attack = Attack("never-at-rest", "the sample, left alone", ERROR, lambda context: [], lambda *_: iter(()))
            row = Row(attack, 1, time.monotonic() - began)
            row.findings.append(self._finding(attack, Outcome({}, learned.restless), None))
            self.report.rows.append(row)
            on_row(row)
        if learned.alone:
            self.lanes = 1
        self.slots = OperatorSlots(self.lanes)
        children = [key.partition("/")[2].replace("NAME", self.sample.name) for key in learned.examples]
        names = {self.sample.name, *children}
        if learned.ends:
            return AttackContext(learned, [])
        edits = candidates(self.sample.spec, self.inputs.schema, MOST_EDITS, self.seed, names)
        return AttackContext(learned, edits)

    def _touched(self, learned: Learned) -> None:
        """Report what touches in both clean runs have led to: that's a case made twice."""
        found = touched_twice(learned)
        if found is None:
            return
        case, outcome, recorded = found
        attack = next(each for each in ATTACKS if each.name == AT_REST)
        row = self.begun[attack.name] = Row(attack, done=[case])
        if outcome.failure:
            finding = self._finding(attack, outcome, recorded)
            finding.tried = finding.failed = len(learned.touches)
            self._keep(finding, recorded)
            row.findings.append(finding)
            self._found(finding)

    @contextmanager
    def _clock_stopped(self) -> Iterator[None]:
        """In the end nobody needs to know any more how often the operator looks around."""
        try:
            yield
        finally:
            if self.report.learned is not None and self.report.learned.clock_watch is not None:
                self.report.learned.clock_watch.close()

    def _finish(self, all_made: bool = False) -> None:
        from converge.audit import rights

        self.report.seconds = self.limit.spent
        self.report.role = rights.needed(self.requests)
        if self.settings.rights and all_made:  # what a few attacks don't use may be needed all the same
            self.report.unused = rights.unused(self.settings.rights, self.requests)

    # One attack.

    def attack(
        self, attack: Attack, context: AttackContext, cases: Sequence[dict[str, Any]], begun: Row | None = None
    ) -> Row:
        """Make the cases of an attack that aren't made yet, those that fit beside each other at once."""
        row, began = begun or Row(attack), time.monotonic()
        row.cases = len(cases)
        cases = [each for each in cases if each not in row.done]
        pending = [list(cases[first : first + attack.batch]) for first in range(0, len(cases), attack.batch)]
        again: list[Again] = []
        with ExitStack() as unfinished:
            with self._testbeds(f"audit {attack.name}") as testbeds:
                for number, batch in enumerate(pending):
                    if not self.may_begin:
                        row.leave_out([each for batch in pending[number:] for each in batch], TIME_WAS_UP)
                        break
                    self.say(f"{attack.name}: {attack.says} ({number * attack.batch + 1} of {len(cases)})")
                    if failed := self._batch(attack, context, batch, row, testbeds):
                        again.append(self._again(attack, context, failed, row))  # beside the cases that follow
                        unfinished.callback(again[-1].stop)
            for each in again:
                deque(each.results(), maxlen=0)
        row.seconds = time.monotonic() - began
        return row

    def _batch(
        self, attack: Attack, context: AttackContext, batch: Sequence[dict[str, Any]], row: Row, testbeds: _Testbeds
    ) -> list[Unsure]:
        """Make some cases; returns what has to be tried again."""
        outcomes: list[Outcome] = []
        try:
            with self.limit.interrupts():
                target = testbeds.target(context.learned)
                target.thorough = not self.confirms
                for outcome in attack.run(target, context, batch):
                    outcome.gave_up = target.gave_up
                    outcomes.append(outcome)
        except AuditError:
            raise
        except TimeUp:
            row.leave_out([each for each in batch if not any(made(each, one) for one in outcomes)], INTERRUPTED)
        except Exception as error:  # ours, or the cluster's: it says nothing about the operator
            row.left_out.append(f"{name_of(attack.name, batch[0])}: {_line(error)}")
            testbeds.drop()
            return []
        for each in outcomes:
            if each.failure and testbeds.asks_inside_pods() and only_keeps_writing(attack, each.failure):
                each.failure, each.answer = None, ASKS_INSIDE
        failed = [each for each in outcomes if each.failure]
        row.answers += [(name_of(attack.name, each.args), each.answer) for each in outcomes if each.answer]
        return self._failed(attack, failed, row, testbeds) if failed else []

    def _failed(self, attack: Attack, failed: Sequence[Outcome], row: Row, testbeds: _Testbeds) -> list[Unsure]:
        """Group what failed; returns the new findings that have to be tried once more before they're believed."""
        recorded = testbeds.recorded()
        testbeds.drop()
        unsure: list[Unsure] = []
        for outcome in failed:
            assert outcome.failure is not None
            finding = self._finding(attack, outcome, recorded)
            same = [each for each in row.findings if places(each.got) == places(finding.got) and each.got]
            if same:
                same[0].also.append(finding.id)
                continue
            if len(row.findings) >= MOST_FINDINGS:
                row.left_out.append(f"{finding.id}: failed too, and wasn't looked at again")
                continue
            row.findings.append(finding)
            if self.confirms and finding.severity != NOTE:  # a note costs no one a build, so it isn't worth the time
                unsure.append((outcome, finding))
            else:
                self._found(finding)
        return unsure

    def _found(self, finding: Finding) -> None:
        if self.report.first_finding is None:
            self.report.first_finding = self.limit.spent
        self.say(f"found after {self.limit.spent:.0f} s: {finding.id}: {finding.title}\n")

    def _again(self, attack: Attack, context: AttackContext, unsure: Sequence[Unsure], row: Row) -> Again:
        """Try findings once more, each in a fresh namespace."""

        def confirm(each: Unsure) -> None:
            try:
                confirm_one(*each)
            finally:
                self.unsure.remove(each[1])

        def confirm_one(outcome: Outcome, finding: Finding) -> None:
            with self._testbeds(f"audit {attack.name}") as testbeds:
                try:
                    with self.limit.interrupts():
                        self._confirm(attack, context, outcome, finding, testbeds)
                except TimeUp:
                    finding.unsure = NO_SECOND_TRY
                    return
                if (
                    finding.failed > 1
                    and testbeds.asks_inside_pods()
                    and not any(map(inside_pods, context.learned.requests))
                ):
                    retract(finding, row, ASKS_INSIDE)
                elif finding.flaky and outcome.gave_up and context.learned.clock > FIRST_LOOK_SECONDS:
                    retract(finding, row, LOOKS_LATER)

        self.unsure += [finding for _, finding in unsure]
        return ParallelWork(unsure, confirm, self.lanes)

    def _confirm(
        self, attack: Attack, context: AttackContext, outcome: Outcome, finding: Finding, testbeds: _Testbeds
    ) -> None:
        """Make the case again. Its second recording has nothing else in it, so that's the one to show."""
        self.say(f"{attack.name}: once more, to be sure")
        try:
            target = testbeds.target(context.learned)
            target.thorough = True
            again = [each for each in attack.run(target, context, [outcome.args]) if each.failure]
        except Exception as error:
            finding.seen.append(f"it couldn't be tried again: {_line(error)}")
            return
        finding.tried += 1
        finding.failed += bool(again)
        if again:
            self._found(finding)
            self._keep(finding, testbeds.recorded())

    def _finding(self, attack: Attack, outcome: Outcome, recorded: Any) -> Finding:
        failure = outcome.failure
        assert failure is not None
        name = name_of(attack.name, outcome.args)
        finding = Finding(
            id=name,
            attack=attack.name,
            severity=outcome.severity or attack.severity,
            when=failure.when or failure.message,
            expected=failure.expected,
            got=failure.got or failure.message,
            hint=failure.hint,
            seen=list(failure.seen),
            case=outcome.args,
            allowed=self.settings.reason(name),
        )
        self._keep(finding, recorded)
        return finding

    def _keep(self, finding: Finding, recorded: Any) -> None:
        """Write the timeline and the file that replays it."""
        from converge.recorder.timeline.page import page

        self.out.mkdir(parents=True, exist_ok=True)
        stem = re.sub(r"[^a-z0-9.]+", "-", finding.id.lower()).strip("-")[:100]
        finding.replay = str(self.out / f"{stem}.json")
        finding.again = f"{self.replayed_by} {finding.replay}"
        if recorded is not None:
            finding.timeline = str(self.out / f"{stem}.html")
            Path(finding.timeline).write_text(page(recorded), encoding="utf-8")
        save(finding, self.settings, self.seed, Path(finding.replay))

    # Beds.

    def _testbed(self, title: str) -> AuditTestbed:
        return AuditTestbed(self.cluster, self.admin, self.settings, self.inputs, title)

    @contextmanager
    def _testbeds(self, title: str) -> Iterator[_Testbeds]:
        testbeds = _Testbeds(self, title)
        try:
            yield testbeds
        finally:
            testbeds.drop()


class _Testbeds:
    """One testbed for many cases, and a fresh one after each failure."""

    def __init__(self, session: Session, title: str) -> None:
        self.session = session
        self.title = title
        self.testbed: AuditTestbed | None = None
        self.made: AuditTarget | None = None

    def target(self, learned: Learned) -> AuditTarget:
        if self.testbed is None or self.made is None:
            self.session.slots.acquire()
            try:
                self.testbed = self.session._testbed(self.title)
            except BaseException:
                self.session.slots.release()
                raise
            self.made = AuditTarget(self.testbed, self.session.sample, learned)
        self.made.operator.exits = 0
        return self.made

    def asks_inside_pods(self) -> bool:
        """Whether the operator asked for what runs inside a Pod, and got no answer."""
        return (
            self.testbed is not None
            and "recorder" in self.testbed.__dict__
            and self.testbed.audited_operator.asks_inside_pods()
        )

    def recorded(self) -> Any:
        return self.testbed.audited_operator.recorded() if self.testbed else None

    def drop(self) -> None:
        testbed, made = self.testbed, self.made
        self.testbed = self.made = None  # first, because a signal may come while they are being closed
        if testbed is not None:
            self.session.requests += testbed.recorder.requests if "recorder" in testbed.__dict__ else []
            try:
                made.close() if made else testbed.close()
            finally:
                self.session.slots.release()


def followed(edits: Sequence[SpecEdit], row: Row) -> list[SpecEdit]:
    """The edits that the operator carries out, which other attacks use."""
    good = {name for name, answer in row.answers if answer.startswith(FOLLOWED)}
    return [each for each in edits if name_of(WALKS, {"path": each.path}) in good]


def made(case: dict[str, Any], outcome: Outcome) -> bool:
    """Whether an outcome is that of a case. It may say more precisely where it struck."""
    return all(outcome.args.get(key) == value for key, value in case.items())


def retract(finding: Finding, row: Row, because: str) -> None:
    """The second look has shown that the first one said nothing about the operator."""
    row.findings.remove(finding)
    row.answers.append((finding.id, because))
    for file in (finding.replay, finding.timeline):
        if file:
            Path(file).unlink(missing_ok=True)


def only_keeps_writing(attack: Attack, failure: Failure) -> bool:
    """Whether a failure says no more than that the operator keeps writing."""
    return attack.name in ("at-rest", "left-alone") or failure.expected == NO_MORE_WRITES


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return f"{type(error).__name__}: {text[:300]}"
