"""Each request for an object fails once, in every way in which a request can fail."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

from converge.audit.attacks.base import ERROR, Args, Attack, AttackContext, Outcome, few_edits, goes_with, named
from converge.audit.target import AuditTarget
from converge.testing.attacks.every_request import HINT, MODES, CaseFailure, EveryRequest, Reference, Step
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.verdicts.failure import Failure

SIDE_BY_SIDE = 20  # objects of which each has a request that fails


def _cases(context: AttackContext) -> list[Args]:
    """One case for each kind of fault: which requests there are is known once a clean object was followed."""
    edits = few_edits(context)
    return [{"fault": kind.name, **({"edit": edits[0]} if edits else {})} for kind in MODES]


def _every_request(target: AuditTarget, context: AttackContext, cases: Sequence[Args]) -> Iterator[Outcome]:
    for args in cases:
        try:
            yield from _one_fault(target, args)
        except Failure as failure:
            yield Outcome(args, failure)


def _one_fault(target: AuditTarget, args: Args) -> Iterator[Outcome]:
    """Fail the requests of many objects in one way; or of one object, where a finding is replayed."""
    attack, reference = _followed_once(target, args)
    made = list(attack.cases(reference, [kind for kind in MODES if kind.name == args["fault"]]))
    if "nth" in args:
        made = [case for case in made if (case.step.did, case.nth) == (args["step"], args["nth"])]
    for first in range(0, len(made), SIDE_BY_SIDE):
        try:
            attack.round(made[first : first + SIDE_BY_SIDE], reference)
        except CaseFailure as failure:
            case = failure.case
            request = {"request": named(case.struck)} if case.struck else {}
            yield Outcome({**args, "step": case.step.did, "nth": case.nth, **request}, failure)
            return  # the next objects would find a namespace that isn't clean
    yield Outcome(args)


def _followed_once(target: AuditTarget, args: Args) -> tuple[EveryRequest, Reference]:
    """Follow one object through all steps to see which requests it takes: once for all faults on this testbed."""
    if target.followed is None:
        operator = target.started()
        attack = EveryRequest(
            operator,
            target.make,
            target.wrong,
            target.children,
            _steps(target, args),
            target.learned.patience,
            HINT,
            look=lambda app: {},
            goes_with=goes_with,
        )
        reference = _clean_run(attack)
        attack.spec = {}  # each object is made from the sample, whose names are its own
        target.followed = attack, reference
    return target.followed


def _clean_run(attack: EveryRequest) -> Reference:
    """Leave out an edit or a deletion that goes wrong on a good day as well: `walks` and `deletion` report that."""
    while True:
        try:
            return attack.clean_run()
        except Failure:
            if attack.under_way is None or attack.under_way.change is None:
                raise
            attack.steps = [each for each in attack.steps if each is not attack.under_way]


def _steps(target: AuditTarget, args: Args) -> list[Step]:
    steps = [Step("was created")]
    if edit := args.get("edit"):
        fresh = target.make(**copy.deepcopy(edit["patch"]))
        target.operator.settle(within=target.learned.patience)
        edited = target.learned.look(fresh)

        def change(app: CustomResource) -> None:
            target.expect(app, edited)
            target.edit(app, edit["patch"])

        steps.append(Step("was edited", change))
    return [*steps, Step("was deleted", lambda app: app.delete(), ends=True)]


ATTACKS = (
    Attack(
        "every-request",
        "each request for an object fails once, in five ways",
        ERROR,
        _cases,
        _every_request,
        edits=True,
    ),
)
