"""The attacks that `converge chaos` runs, by name: each in words for a terminal, ready to run on a target.

Not every attack is here. An attack that needs more than a `Target` has (a second namespace, the lost event itself) is
a line in a check or a case of `converge audit`.

A target is an operator on its testbed, with what the attacks have to know: how to make an object, what is wrong with
its children, which fields it follows. Which attacks are fair depends on what the operator can do
(`ChaosAttack.requires`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from converge.testing import attacks
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.objects.namespace import Namespace
from converge.testing.operator import Operator
from converge.testing.waits.waiting import eventually


class Target(Protocol):
    """An operator and its objects, as the attacks see them."""

    @property
    def operator(self) -> Operator:
        """The operator under attack."""

    @property
    def second_writer(self) -> Namespace:
        """Another writer in the operator's namespace."""

    @property
    def kind(self) -> str:
        """The kind of its custom resource."""

    @property
    def children(self) -> list[str]:
        """The kinds that it makes, the workload first."""

    @property
    def follows(self) -> list[str]:
        """The fields of the spec that it follows."""

    @property
    def keeps(self) -> list[str]:
        """What else it promises, in the words of `CAPABILITIES`."""

    def make(self, **spec: Any) -> CustomResource:
        """Create an object with one Pod, unless `spec` says otherwise."""

    def wrong(self, app: CustomResource) -> str:
        """What is wrong with the children of an object; `""` when nothing is."""


def running(target: Target) -> CustomResource:
    """Start the operator unless it runs, and return an object that is as it should be."""
    if not target.operator.running:
        target.operator.start()
    app = target.make()
    eventually(lambda: target.wrong(app), "", when=f"{app} was created", hint="On a good day it has to work.")
    target.operator.settle()
    return app


@dataclass(frozen=True)
class ChaosAttack:
    """One attack, in words for a terminal, and what a lab must promise for it to be fair."""

    name: str
    says: str
    requires: str
    run: Callable[[Target], None]


def _killed(attack: Callable[..., None]) -> Callable[[Target], None]:
    return lambda target: attack(target.operator, make=target.make, wrong=target.wrong)


def _every_request(target: Target) -> None:
    attacks.fault_at_every_request(
        target.operator,
        make=target.make,
        wrong=target.wrong,
        children=target.children,
        edit=(lambda app: app.edit(replicas=2)) if "replicas" in target.follows else None,
        deletion="deletes" in target.keeps,
    )


def _rest(target: Target) -> None:
    attacks.zero_writes_at_rest(target.operator, running(target))


def _down(target: Target) -> None:
    app = running(target)
    attacks.changes_while_down(
        target.operator,
        change=lambda: app.edit(replicas=2),
        wrong=lambda: target.wrong(app),
        what="it was edited",
    )


def _drift(target: Target) -> None:
    app, kind = running(target), target.children[0]
    drift = (kind, app.name, {"spec": {"replicas": 2}})
    attacks.heals_drift(target.operator, app, target.wrong, drifts={"replicas": drift})


def _foreign(target: Target) -> None:
    app = running(target)
    child = (target.children[0], app.name)
    attacks.foreign_fields_survive(target.operator, app, child=child, change=lambda: app.edit(replicas=2))


def _paths(target: Target) -> None:
    fields, children = target.follows, target.children
    attacks.path_independence(target.operator, make=target.make, fields=fields, children=children, steps=4)


def _walks(target: Target) -> None:
    fields, children = target.follows, target.children
    attacks.random_walks(target.operator, make=target.make, fields=fields, children=children, kind=target.kind)


def _old_cache(target: Target) -> None:
    attacks.old_cache_destroys_nothing(
        target.operator, make=target.make, wrong=target.wrong, children=target.children, kind=target.kind
    )


def _old_deletion(target: Target) -> None:
    attacks.old_deletion_destroys_nothing(
        target.operator, make=target.make, wrong=target.wrong, children=target.children
    )


def _late_watch(target: Target) -> None:
    app = running(target)
    change = partial(app.edit, replicas=2)
    attacks.late_watch_loses_nothing(target.operator, app, target.second_writer, change=change, wrong=target.wrong)


def _in_between(target: Target) -> None:
    app = running(target)
    change = partial(app.edit, replicas=2)
    attacks.write_in_between_is_not_lost(target.operator, app, target.second_writer, change=change, wrong=target.wrong)


def _deletion(target: Target) -> None:
    attacks.deletion_leaves_nothing(target.operator, running(target), children=target.children)


def _independent(target: Target) -> None:
    attacks.two_objects_are_independent(target.operator, make=target.make, wrong=target.wrong, children=target.children)


ATTACKS = (
    ChaosAttack("killed-after", "killed right after each of its writes", "", _killed(attacks.crash_after_every_write)),
    ChaosAttack(
        "killed-before", "killed right before each of its writes", "", _killed(attacks.crash_before_every_write)
    ),
    ChaosAttack("every-request", "each request for an object fails once, in five ways", "", _every_request),
    ChaosAttack("two-objects", "two objects, and one is deleted", "", _independent),
    ChaosAttack("old-cache", "started with a list from before the object was created", "", _old_cache),
    ChaosAttack("old-deletion", "started with a list in which an earlier namesake is being deleted", "", _old_deletion),
    ChaosAttack("at-rest", "left alone, touched, and started again", "rests", _rest),
    ChaosAttack("while-down", "the spec is edited while it is down", "follows", _down),
    ChaosAttack("paths", "edits while it is busy, compared with a fresh start", "follows", _paths),
    ChaosAttack("walks", "random walks through the schema, compared with a fresh start", "follows", _walks),
    ChaosAttack("drift", "a child is edited by hand", "heals", _drift),
    ChaosAttack("foreign-fields", "someone else adds to a child", "spares", _foreign),
    ChaosAttack("late-watch", "a rival sets a condition, and the watch is late", "reports", _late_watch),
    ChaosAttack("in-between", "a rival sets a condition between its read and its write", "reports", _in_between),
    ChaosAttack("deletion", "the object is deleted", "deletes", _deletion),
)

CAPABILITIES = {
    "": "makes children",
    "follows": "follows changes of the spec",
    "rests": "writes nothing when there is nothing to do",
    "heals": "undoes edits of its children",
    "spares": "leaves alone what others have added",
    "reports": "reports in conditions",
    "deletes": "sees to it that the children go with their owner",
}
