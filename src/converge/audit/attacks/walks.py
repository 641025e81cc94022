"""Edits of the spec: wherever an object came from, it has to end where a fresh one with that spec ends."""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from converge.audit import snapshot
from converge.audit.attacks.base import (
    ERROR,
    Args,
    Attack,
    AttackContext,
    Outcome,
    as_args,
    few_edits,
    named,
    one_by_one,
    refused,
    reports_problem,
)
from converge.audit.attacks.crashes import MOST_WRITES
from converge.audit.target import AuditTarget
from converge.recorder import writes
from converge.testing import attacks
from converge.testing.attacks.every_request import concerns
from converge.testing.attacks.until_right import wait_until_right
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.verdicts.failure import Failure
from converge.testing.verdicts.values import Difference

WALKS = "walks"
FOLLOWED = "followed"
NO_DIFFERENCE = "it makes no difference to the children"
REFUSED = "the operator refuses it: a new object with it isn't carried out"
NOT_AT_REST = "an edit at rest isn't carried out either, as `walks` reports"
CLAIMS_STAY = "a claim that it no longer asks for stays, and so does the data"
AT_ONCE = 24  # objects side by side
ALL_AT_REST_WITHIN = 60.0  # seconds in which all of them come to rest
MOST_PAIRS = 6
HINT_THERE = "What the old spec asked for and the new one doesn't has to go; what it now asks for has to come."
HINT_BACK = "What an old spec asked for and the new one doesn't has to go: fields, labels, objects."


def tells(answer: str) -> bool:
    """Whether the author should read an answer: that an edit was refused, or why nothing could be told."""
    return answer not in (FOLLOWED, NO_DIFFERENCE)


def _edit_cases(context: AttackContext) -> list[Args]:
    return [as_args(each) for each in context.edits]


def _walks(target: AuditTarget, context: AttackContext, cases: Sequence[Args]) -> Iterator[Outcome]:
    """Each edit there and back, side by side, compared with fresh starts."""
    from converge.runtime import ApiError

    operator = target.started()
    there: list[tuple[Args, CustomResource, CustomResource, CustomResource]] = []
    for args in cases:
        try:
            fresh = target.make(**copy.deepcopy(args["patch"]))
            back = target.make(**copy.deepcopy(args["patch"]))
        except ApiError as error:
            yield Outcome(args, answer=refused(error))
            continue
        there.append((args, target.make(), fresh, back))
    _come_up(target, [walked for _, walked, _, _ in there])
    for args, walked, _, back in list(there):
        try:
            target.edit(walked, args["patch"])
            target.edit(back, args["back"])
        except ApiError as error:
            there = [each for each in there if each[0] is not args]
            yield Outcome(args, answer=refused(error))
    operator.settle(within=ALL_AT_REST_WITHIN)
    for args, walked, fresh, back in there:
        yield _compared(target, args, walked, fresh, back)


def _come_up(target: AuditTarget, made: Sequence[CustomResource]) -> None:
    """Wait until these objects are as clean ones: silence may mean that it hasn't begun, and then no edit is a walk."""
    target.operator.settle(within=ALL_AT_REST_WITHIN)
    wait_until_right(lambda: not any(map(target.differences, made)), within=target.learned.patience)
    target.operator.settle(within=ALL_AT_REST_WITHIN)


def _compared(
    target: AuditTarget, args: Args, walked: CustomResource, fresh: CustomResource, back: CustomResource
) -> Outcome:
    learned, mask = target.learned, target.learned.mask
    if not _carried_out(target, fresh):
        return Outcome(args, answer=REFUSED)
    if not _comes_to(target, walked, fresh):
        if _refuses(target, walked, fresh):
            return Outcome(args, answer="the operator refuses it, and says so")
        if _only_claims_stay(_apart(target, walked, fresh)):
            return Outcome(args, answer=CLAIMS_STAY)
        return Outcome(
            args,
            Failure(
                when=f"{walked} was created like the sample, then its spec was changed: {args['patch']}",
                expected="the same as for a new object with that spec",
                got=snapshot.in_words(_apart(target, walked, fresh), than="of a new one"),
                hint=HINT_THERE,
            ),
        )
    if not wait_until_right(lambda: not target.differences(back), within=learned.patience / 2):
        if _only_claims_stay(target.differences(back)):
            return Outcome(args, answer=CLAIMS_STAY)
        if reports_problem(target, back, fresh):
            return Outcome(args, answer=f"{FOLLOWED}, but the operator refuses the way back, and says so")
        return Outcome(
            args,
            Failure(
                when=f"{back} was created like the sample with {args['patch']}, then it got the sample's spec",
                expected="the same as for a new object like the sample",
                got=snapshot.in_words(target.differences(back), than="of a new one"),
                hint=HINT_BACK,
            ),
        )
    matters = bool(mask.differences(_children(learned.look(fresh)), _children(learned.clean)))
    return Outcome(args, answer=FOLLOWED if matters else NO_DIFFERENCE)


def _only_claims_stay(differences: Sequence[Difference]) -> bool:
    """Whether nothing is wrong but that claims stay which the spec no longer asks for: they may hold someone's data."""
    return all(each.path.startswith("PersistentVolumeClaim/") and each.want == "not there" for each in differences)


def _apart(target: AuditTarget, one: CustomResource, other: CustomResource) -> list[Difference]:
    learned = target.learned
    return learned.mask.differences(learned.look(one), learned.look(other))


def _comes_to(target: AuditTarget, walked: CustomResource, fresh: CustomResource) -> bool:
    """Whether an object becomes what a fresh one is."""
    return wait_until_right(lambda: not _apart(target, walked, fresh), within=target.learned.patience / 2)


def _carried_out(target: AuditTarget, fresh: CustomResource) -> bool:
    """Whether a new object with that spec got what it asks for, which may be less than the sample does.

    Fewer children are a refusal where there are none, where a write was refused, or where the operator complains.
    """
    clean = _kinds(target.learned.clean)

    def complete() -> bool:
        return fresh.now() is not None and _kinds(target.learned.look(fresh)) >= clean

    if wait_until_right(complete, within=target.learned.patience / 2):
        return True
    got_some = fresh.now() is not None and any(_kinds(target.learned.look(fresh)).values())
    return got_some and not _refused_writes(target, fresh) and not reports_problem(target, fresh)


def _kinds(shot: snapshot.Snapshot) -> Counter[str]:
    """How many children there are of each kind: their names may follow from the spec."""
    count: Counter[str] = Counter()
    for key, found in _children(shot).items():
        kind, _, name = key.partition("/")
        count[kind] += len(found) if name == snapshot.RANDOM else 1
    return count


def _refused_writes(target: AuditTarget, app: CustomResource) -> bool:
    """Whether the server refused a write for this object, other than by a conflict or because something is gone."""
    asked = [each for each in target.operator.recorder.requests if each.is_write and concerns(each, app.name)]
    return any((each.status or 0) >= 400 and each.status not in (404, 409) for each in asked)


def _refuses(target: AuditTarget, walked: CustomResource, fresh: CustomResource) -> bool:
    """Whether it left the children as they were, and told the user why."""
    learned = target.learned
    left = not learned.mask.differences(_children(learned.look(walked)), _children(learned.clean))
    return left and reports_problem(target, walked, fresh)


def _children(shot: snapshot.Snapshot) -> snapshot.Snapshot:
    return {key: value for key, value in shot.items() if "/" in key}


# Two edits, one after the other.


def _pair_cases(context: AttackContext) -> list[Args]:
    """Pairs of edits of different fields. Those that take a field away come first: operators forget them most."""
    edits = sorted(context.edits, key=lambda edit: not edit.removes)
    pairs = [pair for pair in itertools.combinations(edits, 2) if not set(pair[0].patch) & set(pair[1].patch)]
    return [{"path": f"{a.path} then {b.path}", "first": as_args(a), "then": as_args(b)} for a, b in pairs[:MOST_PAIRS]]


def _two_steps(target: AuditTarget, context: AttackContext, cases: Sequence[Args]) -> Iterator[Outcome]:
    """Both edits without a pause, then the first one back: compared with a fresh start after each."""
    from converge.runtime import ApiError

    target.started()
    walks: list[tuple[Args, CustomResource, CustomResource, CustomResource]] = []
    for args in cases:
        first, then = args["first"], args["then"]
        try:
            both = target.make(**copy.deepcopy({**first["patch"], **then["patch"]}))
            last = target.make(**copy.deepcopy(then["patch"]))
        except ApiError as error:
            yield Outcome(args, answer=refused(error))
            continue
        walks.append((args, target.make(), both, last))
    _come_up(target, [walked for _, walked, _, _ in walks])
    for args, walked, both, last in walks:
        try:
            yield _walked(target, args, walked, both, last)
        except ApiError as error:
            yield Outcome(args, answer=refused(error))


def _walked(
    target: AuditTarget, args: Args, walked: CustomResource, both: CustomResource, last: CustomResource
) -> Outcome:
    first, then = args["first"], args["then"]
    if not (_carried_out(target, both) and _carried_out(target, last)):
        return Outcome(args, answer=REFUSED)
    told = f"{walked} was created like the sample, then its spec was changed"
    for patches, fresh in (([first["patch"], then["patch"]], both), ([first["back"]], last)):
        for patch in patches:
            target.edit(walked, patch)
            told = f"{told}: {patch}" if told.endswith("changed") else f"{told}, then {patch}"
        target.operator.settle(within=target.learned.patience)
        if _comes_to(target, walked, fresh):
            continue
        if reports_problem(target, walked, fresh):
            return Outcome(args, answer="the operator refuses it, and says so")
        return Outcome(
            args,
            Failure(
                when=told,
                expected="the same as for a new object with the spec that it has now",
                got=snapshot.in_words(_apart(target, walked, fresh), than="of a new one"),
                hint=HINT_THERE,
            ),
        )
    return Outcome(args, answer=FOLLOWED)


# While it's down.


def _while_down(target: AuditTarget, context: AttackContext, args: Args) -> str:
    app = target.running()
    fresh = target.make(**copy.deepcopy(args["patch"]))
    target.operator.settle(within=target.learned.patience)
    if not _carried_out(target, fresh):  # known beforehand, also where the walks were made
        return REFUSED
    target.expect(app, target.learned.look(fresh))
    try:
        attacks.changes_while_down(
            target.operator,
            change=lambda: target.edit(app, args["patch"]),
            wrong=lambda: target.wrong(app),
            what=f"the spec of {app} was changed ({args['patch']})",
            within=target.learned.patience,
        )
    except Failure:
        if follows_at_rest(target, args, fresh):
            raise
        return NOT_AT_REST
    return ""


# While it writes.


def _write_cases(context: AttackContext) -> list[Args]:
    """Each write that an object needs, with one of the edits that leave all its fields there."""
    kept = [each for each in context.edits if not each.removes]
    writes = context.learned.writes[:MOST_WRITES] if kept else []
    return [{"write": number, "request": named(each), **as_args(kept[0])} for number, each in enumerate(writes, 1)]


def follows_at_rest(target: AuditTarget, args: Args, fresh: CustomResource) -> bool:
    """Whether an edit is carried out when nothing else happens. If not, no attack that edits can say more."""
    at_rest = target.running()
    target.edit(at_rest, args["patch"])
    return _comes_to(target, at_rest, fresh)


def _edited_meanwhile(target: AuditTarget, context: AttackContext, args: Args) -> str:
    operator, name = target.started(), target.testbed.namespace.new_name()
    fresh = target.make(**copy.deepcopy(args["patch"]))
    operator.settle(within=target.learned.patience)
    if not _carried_out(target, fresh):
        return REFUSED
    edited = target.learned.look(fresh)

    def edit(app: CustomResource) -> None:
        target.expect(app, edited)
        target.edit(app, args["patch"])

    def struck() -> bool:
        return attacks.edit_at_write(
            operator,
            args["write"],
            make=lambda: target.make(name),
            edit=edit,
            wrong=target.wrong,
            match=writes(where=lambda request: concerns(request, name) and not operator.ignored(request)),
            within=target.learned.patience,
        )

    try:
        return "" if struck() else "this time it needed fewer writes"
    except Failure:
        if follows_at_rest(target, args, fresh):
            raise
    return NOT_AT_REST


ATTACKS = (
    Attack(
        WALKS,
        "each small edit, there and back, compared with a fresh start",
        ERROR,
        _edit_cases,
        _walks,
        batch=AT_ONCE // 3,
        keeps=True,
    ),
    Attack(
        "two-steps",
        "two edits in a row, then the first one back, compared with fresh starts",
        ERROR,
        _pair_cases,
        _two_steps,
        batch=AT_ONCE // 3,
        edits=True,
        keeps=True,
    ),
    Attack(
        "edited-meanwhile",
        "the spec is edited during each of its writes",
        ERROR,
        _write_cases,
        one_by_one(_edited_meanwhile),
        edits=True,
        keeps=True,
    ),
    Attack(
        "while-down",
        "the spec is edited while it is down",
        ERROR,
        few_edits,
        one_by_one(_while_down),
        edits=True,
        keeps=True,
    ),
)
