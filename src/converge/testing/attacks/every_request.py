"""A fault at every request: an operator may lose any single request, and must still get every object right.

One object is left alone while the recorder counts the requests made for it. Then as many objects are made side by
side, and the k-th request for the k-th one fails. A request belongs to an object when it carries the object's name, in
its path or its body. Lists and watches serve all objects at once and carry no name: they fail as the operator starts.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from converge.testing.attacks.compare import comparable_children, differing_lines
from converge.testing.attacks.until_right import fail_unless_right, wait_until_right
from converge.testing.kopf_writes import by_kopf
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.operator import Operator
from converge.testing.verdicts.failure import Failure
from converge.testing.waits import deadlines

if TYPE_CHECKING:
    from converge.recorder import RecordedRequest, Recorder
    from converge.recorder.faults.base import RequestFault
    from converge.recorder.matching import RequestMatch

Make = Callable[..., CustomResource]
Wrong = Callable[[CustomResource], str]
Change = Callable[[CustomResource], object]
Look = Callable[[CustomResource], Any]

AT_ONCE = 24  # objects side by side, more or less; many more would keep the cluster busy rather than the operator
MOST_REQUESTS = 20  # of one object and one step; later ones are the same passes over again
UPDATES = ("update", "patch", "apply")
TIMES = re.compile("(Time|Timestamp|At)$")
HINT = "Every request can fail. Let the error end the pass: it is run again, and starts from what is there by then."


@dataclass(frozen=True)
class FaultMode:
    """One way for a request to fail: which requests it is for, and how the recorder brings it about."""

    name: str
    says: str
    fits: Callable[[RecordedRequest], bool]
    inject: Callable[[Recorder, RequestMatch, int], RequestFault]


def _any(request: RecordedRequest) -> bool:
    return True


MODES = (
    FaultMode("500", "was answered 500", _any, lambda on, match, nth: on.fail(match, status=500, nth=nth)),
    FaultMode(
        "429",
        "was answered 429 with Retry-After: 1",
        _any,
        lambda on, match, nth: on.fail(match, status=429, retry_after=1, nth=nth),
    ),
    FaultMode(
        "504",
        "was answered 504",
        lambda request: request.is_write,  # a read that timed out is one that failed
        lambda on, match, nth: on.fail(match, status=504, nth=nth),
    ),
    FaultMode("reset", "had its connection reset", _any, lambda on, match, nth: on.reset(match, nth=nth)),
    FaultMode(
        "lost",
        "was carried out, and its answer was lost",
        lambda request: request.is_write,
        lambda on, match, nth: on.lose_answer(match, nth=nth),
    ),
    FaultMode(
        "403",
        "was answered 403 Forbidden, as by a quota that is used up",
        lambda request: request.verb == "create",
        lambda on, match, nth: on.fail(match, status=403, reason="Forbidden", nth=nth),
    ),
    FaultMode(
        "404",
        "was answered 404, as by a server that hasn't heard of the namespace yet",
        lambda request: request.verb == "create",
        lambda on, match, nth: on.fail(match, status=404, reason="NotFound", nth=nth),
    ),
    FaultMode(
        "quota",
        "was answered 409 Conflict, as by a quota that changed at that moment",
        lambda request: request.verb == "create",
        lambda on, match, nth: on.fail(match, status=409, reason="Conflict", nth=nth),
    ),
    FaultMode(
        "409",
        "was answered 409 Conflict",
        lambda request: request.verb in UPDATES,
        lambda on, match, nth: on.fail(match, status=409, reason="Conflict", nth=nth),
    ),
)
ONLY_WHERE_ASKED = ("403", "404", "504", "quota")
MODE_NAMES = tuple(mode.name for mode in MODES if mode.name not in ONLY_WHERE_ASKED)
EVERY_MODE = "CONVERGE_EVERY_FAULT"  # set: not only in the ways that a check names, which are fewer to save time


@dataclass(frozen=True)
class Step:
    """What happens to an object: it is created, changed, or deleted."""

    did: str
    change: Change | None = None
    ends: bool = False  # afterwards there is no object


@dataclass
class Reference:
    """The requests that one object took in each step."""

    requests: dict[str, list[RecordedRequest]] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)  # resources that the operator deletes in a clean run
    replaced: set[str] = field(default_factory=set)  # kinds of which a clean run takes children away


@dataclass
class Case:
    """One object, one of whose requests fails."""

    mode: FaultMode
    step: Step
    nth: int
    name: str
    app: CustomResource | None = None
    fault: RequestFault | None = None

    @property
    def struck(self) -> RecordedRequest | None:
        return self.fault.fired[0] if self.fault and self.fault.fired else None

    def made_one_too_many(self, deletion: RecordedRequest) -> bool:
        """Whether it lost the answer to a create whose name the server makes up: its second try makes another one."""
        lost = self.struck if self.mode.name == "lost" else None
        if lost is None or (lost.verb, lost.resource) != ("create", deletion.resource):
            return False
        return isinstance(lost.sent, dict) and bool(lost.sent.get("metadata", {}).get("generateName"))

    def story(self) -> str:
        """What happened to it, in words."""
        subject = f"{self.app or self.name} {self.step.did}"
        if self.struck is None:
            return f"{subject}, next to others whose requests failed"
        request = f"{self.struck.verb.upper()} {self.struck.object}"
        return f"{subject}; its {ordinal(self.nth)} request for the object, {request}, {self.mode.says}"


class CaseFailure(Failure):
    """One object went wrong, and this was done to it."""

    case: Case


def fault_at_every_request(
    operator: Operator,
    *,
    make: Make,
    wrong: Wrong,
    children: Sequence[str],
    edit: Change | None = None,
    deletion: bool = False,
    modes: Sequence[str] = MODE_NAMES,
    within: float = 15,
    hint: str = "",
) -> None:
    """Fail each request that an object needs, once and in each of these ways; every object must end like a clean one.

    An object is created and, where asked, changed by `edit(object)` and deleted. `children` are the kinds that are
    compared, with the object's own status and finalizers. On the way nothing may be deleted that isn't deleted on a
    good day, no child may be replaced by another one, and in the end the operator must be at rest.
    """
    steps = [Step("was created")]
    steps += [Step("was edited", edit)] if edit else []
    steps += [Step("was deleted", lambda app: app.delete(), ends=True)] if deletion else []
    attack = EveryRequest(operator, make, wrong, children, steps, within, hint or HINT)
    names = {*modes, *MODE_NAMES} if os.environ.get(EVERY_MODE) else modes
    chosen = [mode for mode in MODES if mode.name in names]
    attack.start()
    reference = attack.clean_run()
    cases = list(attack.cases(reference, chosen))
    for some in rounds(cases):
        attack.round(some, reference)


def rounds(cases: Sequence[Case]) -> Iterator[Sequence[Case]]:
    """The cases in rounds of about equal size: a few left over make the rounds larger, and not one more."""
    number = max(1, round(len(cases) / AT_ONCE))
    size = max(1, math.ceil(len(cases) / number))
    for first in range(0, len(cases), size):
        yield cases[first : first + size]


def _has_its_name(obj: Mapping[str, Any], app: CustomResource) -> bool:
    return app.name in obj["metadata"]["name"]


class EveryRequest:
    """The attack on one operator. `goes_with` says which objects have to go with their parent."""

    def __init__(
        self,
        operator: Operator,
        make: Make,
        wrong: Wrong,
        children: Sequence[str],
        steps: Sequence[Step],
        within: float,
        hint: str,
        look: Look | None = None,
        goes_with: Callable[[Mapping[str, Any], CustomResource], bool] = _has_its_name,
    ) -> None:
        self.operator = operator
        self.recorder = operator.recorder
        self.make = make
        self.wrong = wrong
        self.children = children
        self.steps = steps
        self.within = within
        self.hint = hint
        self.look = look
        self.goes_with = goes_with
        self.spec: dict[str, Any] = {}
        self.started = ""
        self.under_way: Step | None = None  # in the clean run
        self.gone: list[str] = []  # names of objects of earlier rounds, which were deleted in the end

    # The good day.

    def start(self) -> None:
        """Start the operator, unless it runs, and fail the first list and the first watch of each resource."""
        from converge.recorder import requests

        if self.operator.running:
            return
        seen: set[tuple[str, str]] = set()

        def first(request: RecordedRequest) -> bool:
            which = (request.verb, request.resource)
            new = request.verb in ("list", "watch") and bool(request.resource) and which not in seen
            seen.add(which)
            return new

        self.recorder.fail(requests(where=first), status=500, times=None)
        self.operator.start()
        self.started = "the operator was started, and the first list and watch of each resource were answered 500; "

    def clean_run(self) -> Reference:
        """Take one object through all steps and write down what is requested for it."""
        reference = Reference()
        app, before = None, dict[str, str]()
        for step in self.steps:
            mark, self.under_way = self.recorder.mark(), step
            if app is None:
                app = self.make()
                self.spec = dict(app.spec)
            elif step.change:
                step.change(app)
            self._finished(app, step, f"{self.started}{app} {step.did}, and no request for it failed")
            since = self.recorder.since(mark)
            about = [each for each in since.requests if concerns(each, app.name)]
            reference.requests[step.did] = until_it_repeats(about)[:MOST_REQUESTS]
            if step.ends:
                self.gone.append(app.name)
            else:
                reference.deleted |= {each.resource for each in since.writes(verb="delete")}
                now = self._uids([app.name])
                reference.replaced |= {
                    child.partition("/")[0] for child, uid in before.items() if now.get(child) != uid
                }
                before = now
        return reference

    def cases(self, reference: Reference, modes: Sequence[FaultMode]) -> Iterator[Case]:
        """Each request in each way that fits it, on an object of its own."""
        for mode in modes:
            for step in self.steps:
                fitting = [each for each in reference.requests[step.did] if self._fair(mode, each)]
                for nth in range(1, len(fitting) + 1):
                    yield Case(mode, step, nth, self.operator.namespace.new_name())

    def _fair(self, mode: FaultMode, request: RecordedRequest) -> bool:
        """kopf's own notes on an object aren't the operator's; kopf alone decides what becomes of them."""
        by_framework = self.operator.launch.on_kopf and by_kopf(request)
        return mode.fits(request) and not by_framework and not self.operator.ignored(request)

    # The bad one.

    def round(self, cases: Sequence[Case], reference: Reference) -> None:
        """Take some objects through all steps, side by side, each with its own fault, and one that is left alone.

        The others have to end where this one ends. It lives beside them, because a report may come late: an operator
        with a timer looks again only after a while.
        """
        mark = self.recorder.mark()
        uids: dict[str, str] = {}
        left_alone: CustomResource | None = None
        for step in self.steps:
            for case in cases:
                if case.step is step:
                    self._set(case)
            if left_alone is None:
                left_alone = self.make(name=self.operator.namespace.new_name(), **self.spec)
            elif step.change:
                step.change(left_alone)
            for case in cases:
                if case.app is None:
                    case.app = self.make(name=case.name, **self.spec)
                elif step.change:
                    step.change(case.app)
            self._all_end_well(cases, step, left_alone)
            if step.ends:
                self.gone += [case.name for case in cases] + [left_alone.name]
            else:
                self._nothing_deleted(cases, reference, mark)
                uids = self._same_children(cases, uids, reference)
        for case in cases:
            if case.fault:
                case.fault.remove()

    def _set(self, case: Case) -> None:
        from converge.recorder import requests

        match = requests(where=lambda request: concerns(request, case.name) and self._fair(case.mode, request))
        case.fault = case.mode.inject(self.recorder, match, case.nth)

    def _all_end_well(self, cases: Sequence[Case], step: Step, left_alone: CustomResource) -> None:
        """Wait until each object is as it should be, and is like the one that was left alone."""
        pending = list(cases)

        def all_right() -> bool:
            while pending and not self._unfinished(pending[0], step):
                pending.pop(0)
            return not pending

        within = self.within * deadlines.deadline_factor
        if not wait_until_right(all_right, within=within):
            problems = [(case, self._unfinished(case, step)) for case in pending]  # those behind the first may be right
            if wrong := [each for each in problems if each[1]]:
                case, problem = self._blame(wrong)
                raise self._failure(case, step, f"after {within:g} s: {problem}")
        self._rest(cases, step)
        if not step.ends and not wait_until_right(lambda: not self._unlike(cases, left_alone), within=within):
            case, problem = self._blame(self._unlike(cases, left_alone))
            raise self._failure(case, step, problem)

    def _unfinished(self, case: Case, step: Step) -> str:
        assert case.app is not None
        return self._left(case.app) if step.ends else self.wrong(case.app)

    def _unlike(self, cases: Sequence[Case], left_alone: CustomResource) -> list[tuple[Case, str]]:
        """Objects that differ from the one that was left alone, each with the difference in words."""
        listed = {kind: self.operator.namespace.list(kind) for kind in self.children}
        end = self._end(left_alone, listed)
        found = []
        for case in cases:
            assert case.app is not None
            if different := differing_lines(self._end(case.app, listed), end):
                lines = [f"{old} (of one that was left alone: {new.partition(': ')[2]})" for old, new in different[:6]]
                found.append((case, "\n".join(lines)))
        return found

    def _rest(self, cases: Sequence[Case], step: Step) -> None:
        try:
            self.operator.settle()
        except Failure as restless:
            last = [case for case in cases for each in self.recorder.writes()[-1:] if concerns(each, case.name)]
            if not last:
                raise
            raise self._failure(last[0], step, restless.got, "then it is quiet") from restless

    def _nothing_deleted(self, cases: Sequence[Case], reference: Reference, mark: float) -> None:
        since = self.recorder.since(mark)
        for each in since.writes(verb="delete") + since.writes(verb="deletecollection"):
            expected = each.resource in reference.deleted or any(concerns(each, name) for name in self.gone)
            if expected or each.status == 404:
                continue
            hit = [case for case in cases if concerns(each, case.name)] or [self._blame([(c, "") for c in cases])[0]]
            if hit[0].made_one_too_many(each):
                continue
            raise self._failure(hit[0], hit[0].step, str(each), "nothing is deleted")

    def _same_children(self, cases: Sequence[Case], before: dict[str, str], reference: Reference) -> dict[str, str]:
        """Complain if a child has another uid than before: it was deleted and made again. Returns the uids."""
        now = self._uids([case.name for case in cases])
        for child in [child for child, uid in before.items() if now.get(child) != uid]:
            if child.partition("/")[0] in reference.replaced:
                continue
            case = next(case for case in cases if case.name in child)
            raise self._failure(case, case.step, f"{child} was deleted and made again", "its children stay the same")
        return now

    # What is there.

    def _uids(self, names: Sequence[str]) -> dict[str, str]:
        """The uids of the children of objects with these names, by kind and name."""
        return {
            f"{kind}/{each['metadata']['name']}": each["metadata"]["uid"]
            for kind in self.children
            for each in self.operator.namespace.list(kind)
            if any(name in each["metadata"]["name"] for name in names)
        }

    def _end(self, app: CustomResource, listed: dict[str, list[dict[str, Any]]] | None = None) -> dict[str, Any]:
        """The children, and what the operator has written to the object itself, without names and times."""
        if self.look:
            return {"": self.look(app)}
        now = app.now() or {}
        own = {"status": timeless(now.get("status", {})), "finalizers": now.get("metadata", {}).get("finalizers", [])}
        return {**comparable_children(app, self.children, listed), app.kind: plain(own, app)}

    def _left(self, app: CustomResource) -> str:
        """What is left of a deleted object and of its children."""
        found = [str(app)] if app.now() else []
        for kind in self.children:
            left = [each for each in app.namespace.list(kind) if self.goes_with(each, app)]
            found += [f"{kind}/{each['metadata']['name']}" for each in left]
        return f"still there: {', '.join(found)}" if found else ""

    def _finished(self, app: CustomResource, step: Step, when: str) -> None:
        probe = (lambda: self._left(app)) if step.ends else (lambda: self.wrong(app))
        good = f"within {self.within:g} s: nothing wrong"
        fail_unless_right(probe, within=self.within, when=when, expected=good, hint="On a good day it has to work.")
        self.operator.settle()

    # What to say.

    def _blame(self, wrong: Sequence[tuple[Case, str]]) -> tuple[Case, str]:
        """Of several objects, the one whose fault came first: the others may be wrong because of it."""

        def at(entry: tuple[Case, str]) -> float:
            return entry[0].struck.time if entry[0].struck else float("inf")

        return min(wrong, key=at)

    def _failure(self, case: Case, step: Step, got: str, expected: str = "") -> CaseFailure:
        about = [each for each in self.recorder.requests if concerns(each, case.name)]
        shown = around(about, case.struck)
        then = "" if case.step is step else f"; then it {step.did.removeprefix('was ')}"
        failure = CaseFailure(
            when=case.story() + then,
            expected=expected or "it ends where an object ends whose requests all succeed",
            got=got,
            seen=["the requests for it:\n" + "\n".join(map(str, shown))] if shown else (),
            hint=self.hint,
        )
        failure.case = case
        return failure


def concerns(request: RecordedRequest, name: str) -> bool:
    """Whether a request is for one object: it carries the object's name. A watch outlives any one object."""
    return not request.is_watch and (name in request.path or name.encode() in request.sent_body)


def until_it_repeats(about: Sequence[RecordedRequest]) -> list[RecordedRequest]:
    """The requests up to the last write, and after it one more pass: each read once."""
    last = max((place for place, each in enumerate(about) if each.is_write), default=-1)
    kept, seen = list(about[: last + 1]), set()
    for each in about[last + 1 :]:
        if (each.verb, each.object) in seen:
            break
        seen.add((each.verb, each.object))
        kept.append(each)
    return kept


def around(
    about: Sequence[RecordedRequest], struck: RecordedRequest | None, most: int = 8
) -> Sequence[RecordedRequest]:
    """The request that failed with those before and after it; the last ones when none has."""
    place = next((place for place, each in enumerate(about) if each is struck), len(about))
    first = max(0, min(place - 2, len(about) - most))
    return about[first : first + most]


def timeless(value: Any) -> Any:
    """A status without moments, which differ from object to object, and without what kopf keeps there.

    Conditions come in the order of their types: they are a map by type, and the order in the list means nothing.
    """
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if not TIMES.search(key) and key != "kopf"}
    if not isinstance(value, list):
        return value
    items = [timeless(each) for each in value]
    types = [each.get("type") if isinstance(each, dict) else None for each in items]
    if all(isinstance(each, str) for each in types) and len(set(types)) == len(types):
        items.sort(key=lambda each: str(each["type"]))
    return items


def plain(value: Any, app: CustomResource) -> Any:
    """The same without what tells one object from another."""
    if isinstance(value, dict):
        return {key: plain(each, app) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each, app) for each in value]
    return value.replace(app.uid, "UID").replace(app.name, "NAME") if isinstance(value, str) else value


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `3rd`, `4th` …"""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
