"""The reference: the sample applied in fresh namespaces and left alone. All that an audit knows of an operator is here.

What it makes is learned from its recorded writes, how long it pauses from the gaps between them, and what may differ
from how the runs differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from converge.audit import snapshot
from converge.audit.audited_operator import AuditedOperator, signature
from converge.audit.clock import Clock
from converge.audit.sample import Sample
from converge.audit.settings import AuditError, Settings
from converge.audit.testbed import AuditTestbed
from converge.testing.attacks.at_rest import HINT, no_writes_after_touch
from converge.testing.attacks.every_request import concerns
from converge.testing.objects import kinds
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.verdicts.evidence import counted
from converge.testing.verdicts.failure import Failure, Verdict
from converge.testing.waits.idle import QUIET, wait_until_idle
from converge.testing.waits.waiting import eventually

if TYPE_CHECKING:
    from converge.recorder import RecordedRequest, Recorder

FIRST_QUIET = 3.0  # seconds of silence in the first run, when nothing is known yet
LONGEST_QUIET = 6.0
COMES_TO_REST = 60.0
IGNORES_AFTER = 20.0  # seconds of silence after which it will never ask for the sample
LEAVES_ALONE_AFTER = 8.0  # the same for one that has read it
KOPF_RETRIES = 75.0  # seconds: kopf calls a handler that failed again after 60
PATIENCE = 15.0
LOOKS_MISSED = 1.5  # of its looks by the clock an operator may miss so many: a busy machine makes it late


@dataclass(frozen=True)
class Touch:
    """What came of touching an object with which all was well: nothing, or writes."""

    failure: Failure | None = None
    recorded: Any = None


@dataclass
class Learned:
    """What two clean runs have shown."""

    kind: str = ""
    children: list[str] = field(default_factory=list)
    random_names: set[str] = field(default_factory=set)
    mask: snapshot.Mask = field(default_factory=snapshot.Mask)
    clean: snapshot.Snapshot = field(default_factory=dict)
    #: The writes for one object, from its creation until rest.
    writes: list[RecordedRequest] = field(default_factory=list)
    requests: list[RecordedRequest] = field(default_factory=list)
    noise: set[tuple[str, str, str]] = field(default_factory=set)
    quiet: float = QUIET
    patience: float = PATIENCE
    #: Seconds after which an operator that looks around by the clock has looked again.
    looks_again: float = PATIENCE
    #: Seconds between its looks by the clock; 0 if it only does something when it hears of something.
    clock: float = 0.0
    clock_watch: Clock | None = None
    patience_is_given: bool = False
    on_kopf: bool = False
    elects: bool = False
    alone: bool = False  # whether two of it in two namespaces would get in each other's way
    #: Bodies that it sent for its children, by the child's key in a snapshot: fields in them are its own.
    sent: dict[str, Any] = field(default_factory=dict)
    #: Children as they were in the first run, by their key in a snapshot.
    examples: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: The first object of the first run: its name is in the examples.
    first: CustomResource | None = None
    restless: Failure | None = None
    #: What a touch led to in each clean run, as far as it was tried.
    touches: list[Touch] = field(default_factory=list)
    #: Whether the object comes to an end, as a job does. What isn't compared then is in `snapshot.shape`.
    ends: bool = False

    def prepare(self, operator: AuditedOperator) -> None:
        """Tell an operator that isn't started yet what was learned about it."""
        operator.quiet = self.quiet
        operator.noise = self.noise
        operator.launch = replace(operator.launch, on_kopf=self.on_kopf)

    def looks_every(self, seconds: float) -> None:
        """It was seen to look around by the clock, with such pauses: it may take that long to find what was done."""
        self.clock = max(self.clock, seconds)
        if not self.patience_is_given:
            self.looks_again = max(self.looks_again, math.ceil(self.clock * LOOKS_MISSED))
            self.patience = max(self.patience, self.looks_again)

    def look(self, app: CustomResource) -> snapshot.Snapshot:
        """What an object has led to."""
        return snapshot.take(app, self.children, self.random_names, self.ends)


Say = Callable[[str], None]


def learn(
    make_testbed: Callable[[str], AuditTestbed], sample: Sample, settings: Settings, say: Say, touching: bool = False
) -> Learned:
    """Run the operator on the sample in fresh namespaces, and compare.

    With `touching`, each run ends with a touch. While the first one is touched, the second one comes to rest.
    """
    learned = Learned(sample.kind)
    with ExitStack() as first_run, ExitStack() as testbeds:
        say("reference run 1 of 2: the sample in a fresh namespace, left alone")
        testbed = first_run.enter_context(make_testbed("audit reference 1"))
        app = sample.first(testbed.namespace)  # what the server has against it is said before anything runs

        def second_run() -> _SecondRun:
            say("reference run 2 of 2: the sample in a fresh namespace, left alone")
            alone = testbeds.enter_context(ExitStack())
            try:
                return _SecondRun(alone.enter_context(make_testbed("audit reference 2")), sample, alone.close)
            except Verdict:
                alone.close()  # an operator that doesn't start would end every other wait
                raise

        beside = _first_run(testbed, app, learned, settings.quiet, second_run)
        first = app, snapshot.capture(app, learned.children)
        if touching:
            _touch(testbed, app, learned)
        try:
            if beside is None or learned.alone:
                raise TwoAtOnceError
            seen = [first, *beside.seen(learned, first)]
        except Verdict:
            learned.alone = True  # the second one might have been in the way of the first one, which still runs
            testbeds.close()
            first_run.close()
            beside = second_run()
            seen = [first, *beside.seen(learned, first)]
        if touching:
            _touch(beside.testbed, beside.made[0], learned)
        if not learned.alone:
            learned.prepare(testbed.audited_operator)
            learned.clock_watch = Clock(testbed, learned, first_run.pop_all().close)
    named = [snapshot.shape(*each) for each in seen]
    for other in named[1:]:
        learned.random_names |= snapshot.random_kinds(named[0], other)
    learned.ends = all(snapshot.comes_to_an_end(captured) for _, captured in seen)
    learned.clean, *others = [snapshot.shape(*each, learned.random_names, learned.ends) for each in seen]
    for other in others:
        learned.mask.learn(learned.clean, other)
        learned.mask.learn_unanswered(other)
    learned.mask.learn_unanswered(learned.clean)
    if settings.patience is not None:
        learned.patience = learned.looks_again = settings.patience
        learned.patience_is_given = True
    learned.first, captured = seen[0]
    learned.examples = {
        f"{kind}/{each['metadata']['name'].replace(learned.first.name, 'NAME')}": each
        for kind, found in captured.items()
        for each in found
        if kind
    }
    return learned


def _touch(testbed: AuditTestbed, app: CustomResource, learned: Learned) -> None:
    """Touch an object at rest. Where this shows nothing about the operator, the attack `at-rest` has to."""
    operator = testbed.audited_operator
    if learned.restless or operator.asks_inside_pods():
        return
    learned.prepare(operator)
    try:
        no_writes_after_touch(operator, app, hint=HINT)
        learned.touches.append(Touch())
    except Failure as failure:
        if not operator.asks_inside_pods():
            learned.touches.append(Touch(failure, operator.recorded()))


Seen = tuple[CustomResource, snapshot.Captured]


class TwoAtOnceError(Failure):
    """Two of it in two namespaces would get in each other's way."""


class _SecondRun:
    """Objects that come while it runs, two of them at once: how they differ from the first one says nothing."""

    def __init__(self, testbed: AuditTestbed, sample: Sample, close: Callable[[], None]) -> None:
        self.testbed = testbed
        self.close = close
        testbed.audited_operator.start()
        self.made = [sample.make(testbed.namespace) for _ in range(2)]

    def seen(self, learned: Learned, first: Seen) -> list[Seen]:
        """What has become of them, once they have as many children as the first one and all is at rest.

        Everything that an object lacks because it isn't finished would never be compared.
        """
        operator = self.testbed.audited_operator
        learned.prepare(operator)

        def complete() -> bool:
            return all(snapshot.as_many(snapshot.capture(each, learned.children), first[1]) for each in self.made)

        eventually(lambda: complete() or operator.silent_for() > LEAVES_ALONE_AFTER, within=COMES_TO_REST)
        _rest(self.testbed)
        if operator.exits and not learned.alone:
            raise TwoAtOnceError("it exited beside another one")
        return [(each, snapshot.capture(each, learned.children)) for each in self.made]


def _first_run(
    testbed: AuditTestbed,
    app: CustomResource,
    learned: Learned,
    quiet: float | None,
    second_run: Callable[[], _SecondRun],
) -> _SecondRun | None:
    """See what it does for one object. The second run begins meanwhile, unless the two would meet."""
    operator = testbed.audited_operator
    operator.quiet = quiet if quiet is not None else FIRST_QUIET
    mark = operator.recorder.mark()
    try:
        operator.start()
    except Verdict as verdict:
        raise _dead(verdict) from None
    recorder = operator.recorder

    def touched() -> bool:
        return any(_touches(each, app) for each in recorder.requests)

    def given_up() -> bool:
        """Whether it has been idle for so long that it won't do anything; less time if it has read the sample."""
        told = any(each.status == 200 for each in [*recorder.reads(app.kind), *recorder.watches(app.kind)])
        return operator.silent_for() > (LEAVES_ALONE_AFTER if told else IGNORES_AFTER)

    eventually(lambda: touched() or given_up(), within=2 * IGNORES_AFTER)
    beside = None
    if touched() and not _meets_others(recorder, app):
        with suppress(Verdict):
            beside = second_run()
    try:
        rests = touched() and _rest(testbed)
    except Verdict:
        if beside is None:
            raise
        beside.close()  # it may be the second one that exits again and again
        beside, rests = None, _rest(testbed)
    if not touched():
        raise AuditError(
            f"The operator never touches the sample: it was started, {app} was there, and no request was about it "
            f"before it fell silent. Does it watch this namespace? `{{namespace}}` in the command or in [environment] "
            f"is its name.{_lines(operator.printed())}"
        )
    learned.requests = recorder.requests
    learned.on_kopf = "kopf" in "".join(each.user_agent for each in learned.requests) or any(
        b"kopf.zalando.org" in each.sent_body for each in learned.requests
    )
    operator.launch = replace(operator.launch, on_kopf=learned.on_kopf)
    learned.patience = KOPF_RETRIES if learned.on_kopf else PATIENCE
    learned.elects = any(each.resource == "leases" for each in learned.requests)
    learned.alone = _meets_others(recorder, app)
    learned.writes = [each for each in operator.own_writes(mark) if (each.status or 500) < 300]
    learned.children = _children(learned.writes, app)
    learned.sent = _sent(learned.writes, app)
    happened = [each.time for each in recorder.events] + [each.last_moment for each in recorder.requests]
    learned.quiet = quiet if quiet is not None else _pause(learned.writes, happened)
    if not rests:
        learned.restless = _restless(operator, learned)
    return beside


def _meets_others(recorder: Recorder, app: CustomResource) -> bool:
    """Whether it watches all namespaces, or has written outside of its own."""
    watches_all = any(not each.namespace for each in recorder.watches(app.kind))
    return watches_all or any(_reaches_out(each, app) for each in recorder.requests)


def _touches(request: RecordedRequest, app: CustomResource) -> bool:
    return concerns(request, app.name) and request.resource != "events"


def _reaches_out(request: RecordedRequest, app: CustomResource) -> bool:
    """Whether it wrote something outside of its namespace: an object of the cluster, or a lock that all want."""
    aside = request.resource == "events" or request.resource.endswith("reviews") or not request.resource
    return request.is_write and not aside and request.namespace != app.namespace.name


def _rest(testbed: AuditTestbed) -> bool:
    return wait_until_idle(testbed.audited_operator, COMES_TO_REST)


def _restless(operator: AuditedOperator, learned: Learned) -> Failure:
    """It never came to rest. What it repeats is reported once, and no longer counts."""
    recorder = operator.recorder
    late = operator.state_writes(recorder.since(recorder.mark() - 10).requests)
    learned.noise = {signature(each) for each in late}
    return Failure(
        when=f"the sample was created and left alone for {COMES_TO_REST:g} s",
        expected="the operator stops writing",
        got="\n".join([f"{len(late)} writes in the last 10 s:", *counted([str(each) for each in late])[-6:]]),
        hint="Compare before you write: a write costs the API server work even if it changes nothing, and wakes "
        "everyone who watches if it does.",
    )


def _children(writes: list[RecordedRequest], app: CustomResource) -> list[str]:
    """The kinds that it creates, in the order of its writes."""
    found: dict[str, None] = {}
    for each in writes:
        if each.verb not in ("create", "apply", "update", "patch") or not each.kind or each.kind == app.kind:
            continue
        if not each.namespace or each.subresource:
            continue
        api_version = f"{each.group}/{each.version}" if each.group else each.version
        if not _known(each.kind, api_version):
            kinds.register(api_version, each.kind)
        found[each.kind] = None
    return list(found)


def _known(kind: str, api_version: str) -> bool:
    try:
        return kinds.typed(kind)[0] == api_version
    except KeyError:
        return False


def _sent(writes: list[RecordedRequest], app: CustomResource) -> dict[str, Any]:
    """What it asked for its children to be, as far as the bodies can be read."""
    found: dict[str, Any] = {}
    for each in writes:
        if each.verb in ("create", "apply", "update") and isinstance(each.sent, dict) and each.kind != app.kind:
            found[f"{each.kind}/{each.name.replace(app.name, 'NAME')}"] = each.sent
    return found


def _pause(writes: list[RecordedRequest], happened: list[float]) -> float:
    """The silence that means rest: longer than any before a write of its own, after the last thing that happened."""
    gaps = [
        write.time - max((each for each in happened if each < write.time), default=write.time) for write in writes[1:]
    ]
    return min(max([QUIET * 2, *(gap * 1.5 for gap in gaps)]), LONGEST_QUIET)


def _lines(said: list[str]) -> str:
    return "".join(f"\n{each}" for each in said)


def _dead(verdict: Verdict) -> AuditError:
    return AuditError(
        f"The command dies or never asks for its objects: {verdict.message or verdict}. Its credentials are in "
        f"$KUBECONFIG; where it wants those of a Pod, set `in_cluster = true` in audit.toml.{_lines(verdict.seen)}"
    )
