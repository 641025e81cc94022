"""All attacks on one operator, one after the other, with a seed that makes them the same again.

Which attacks are fair depends on what a lab promises. `course.toml` says it for each: the children that its operator
makes, the fields that it follows, and what else it keeps. An attack that asks for more than that is left out, and said
so. Each attack has a namespace, a recorder and an operator of its own; the seed and its name decide all that is random.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from converge.grader import attacks, pod
from converge.grader.course import Lab
from converge.grader.namespace import Namespace
from converge.grader.objects import Custom
from converge.grader.oracles import wrong_database, wrong_webapp
from converge.grader.stage import Stage, stage
from converge.grader.verdict import Status, Verdict
from converge.grader.waiting import eventually, interruptions


@dataclass(frozen=True)
class Target:
    """An operator on its stage, and what its lab promises."""

    lab: Lab
    stage: Stage

    @property
    def children(self) -> list[str]:
        return self.lab.chaos["children"]

    @property
    def follows(self) -> list[str]:
        return self.lab.chaos.get("follows", [])

    @property
    def kind(self) -> str:
        return self.lab.chaos.get("kind", "WebApp")

    @property
    def rival(self) -> Namespace:
        """Somebody else who writes in the same namespace."""
        return self.stage.namespace.somebody_else()

    def make(self, **spec: Any) -> Custom:
        """A new object with one Pod, unless `spec` says something else."""
        create = self.stage.namespace.database if self.kind == "Database" else self.stage.namespace.webapp
        return create(**{"replicas": 1, **spec})

    def wrong(self, app: Custom) -> str:
        oracle = wrong_database if self.kind == "Database" else wrong_webapp
        return oracle(app, self.follows, self.children)

    def running(self, **spec: Any) -> Custom:
        """The operator runs, and all is well with an object."""
        if not self.stage.operator.running:
            self.stage.operator.start()
        app = self.make(**spec)
        eventually(lambda: self.wrong(app), "", when=f"{app} was created", hint="On a good day it has to work.")
        self.stage.operator.settle()
        return app


@dataclass(frozen=True)
class Attack:
    """One attack, in words for a terminal, and what a lab must promise for it to be fair."""

    name: str
    says: str
    needs: str
    run: Callable[[Target], None]


def _killed(attack: Callable[..., None]) -> Callable[[Target], None]:
    return lambda target: attack(target.stage.operator, make=target.make, wrong=target.wrong)


def _rest(target: Target) -> None:
    attacks.zero_writes_at_rest(target.stage.operator, target.running())


def _down(target: Target) -> None:
    app = target.running()
    attacks.changes_while_down(
        target.stage.operator,
        change=lambda: app.edit(replicas=2),
        wrong=lambda: target.wrong(app),
        what="it was edited",
    )


def _drift(target: Target) -> None:
    app, kind = target.running(), target.children[0]
    drift = (kind, app.name, {"spec": {"replicas": 2}})
    attacks.heals_drift(target.stage.operator, app, target.wrong, drifts={"replicas": drift})


def _foreign(target: Target) -> None:
    app = target.running()
    child = (target.children[0], app.name)
    attacks.foreign_fields_survive(target.stage.operator, app, child=child, change=lambda: app.edit(replicas=2))


def _paths(target: Target) -> None:
    fields, children = target.follows, target.children
    attacks.path_independence(target.stage.operator, make=target.make, fields=fields, children=children, steps=4)


def _walks(target: Target) -> None:
    fields, children = target.follows, target.children
    attacks.random_walks(target.stage.operator, make=target.make, fields=fields, children=children, kind=target.kind)


def _old_cache(target: Target) -> None:
    attacks.old_cache_destroys_nothing(
        target.stage.operator, make=target.make, wrong=target.wrong, children=target.children, kind=target.kind
    )


def _old_deletion(target: Target) -> None:
    attacks.old_deletion_destroys_nothing(
        target.stage.operator, make=target.make, wrong=target.wrong, children=target.children
    )


def _late_watch(target: Target) -> None:
    app = target.running()
    change = partial(app.edit, replicas=2)
    attacks.late_watch_loses_nothing(target.stage.operator, app, target.rival, change=change, wrong=target.wrong)


def _in_between(target: Target) -> None:
    app = target.running()
    change = partial(app.edit, replicas=2)
    attacks.write_in_between_is_not_lost(target.stage.operator, app, target.rival, change=change, wrong=target.wrong)


def _deletion(target: Target) -> None:
    attacks.deletion_leaves_nothing(target.stage.operator, target.running(), children=target.children)


def _independent(target: Target) -> None:
    attacks.two_objects_are_independent(
        target.stage.operator, make=target.make, wrong=target.wrong, children=target.children
    )


ATTACKS = (
    Attack("killed-after", "killed right after each of its writes", "", _killed(attacks.crash_after_every_write)),
    Attack("killed-before", "killed right before each of its writes", "", _killed(attacks.crash_before_every_write)),
    Attack("two-objects", "two objects, and one is deleted", "", _independent),
    Attack("old-cache", "started with a list from before the object was created", "", _old_cache),
    Attack("old-deletion", "started with a list in which an earlier namesake is being deleted", "", _old_deletion),
    Attack("at-rest", "left alone, touched, and started again", "rests", _rest),
    Attack("while-down", "the spec is edited while it is down", "follows", _down),
    Attack("paths", "edits while it is busy, compared with a fresh start", "follows", _paths),
    Attack("walks", "random walks through the schema, compared with a fresh start", "follows", _walks),
    Attack("drift", "a child is edited by hand", "heals", _drift),
    Attack("foreign-fields", "somebody else adds to a child", "spares", _foreign),
    Attack("late-watch", "a rival sets a condition, and the watch is late", "reports", _late_watch),
    Attack("in-between", "a rival sets a condition between its read and its write", "reports", _in_between),
    Attack("deletion", "the object is deleted", "deletes", _deletion),
)

PROMISES = {
    "": "makes children",
    "follows": "follows changes of the spec",
    "rests": "writes nothing when there is nothing to do",
    "heals": "undoes edits of its children",
    "spares": "leaves alone what others have added",
    "reports": "reports in conditions",
    "deletes": "sees to it that the children go with their owner",
}


@dataclass
class Outcome:
    """What came of one attack. `status` is None for one that was not made, because the lab does not promise that."""

    attack: Attack
    status: Status | None
    parts: dict[str, Any] = field(default_factory=dict)
    timeline: str = ""


def fair(lab: Lab, attack: Attack) -> bool:
    """Whether a lab promises what an attack asks for."""
    promised = {"", *lab.chaos.get("keeps", []), *(["follows"] if lab.chaos.get("follows") else [])}
    return bool(lab.chaos.get("children")) and attack.needs in promised


def run(lab: Lab, against: str, seed: int, only: tuple[str, ...] = ()) -> Iterator[Outcome]:
    """Attack the operator of a lab; each outcome as it is there."""
    for attack in ATTACKS:
        if only and attack.name not in only:
            continue
        yield strike(lab, attack, against, seed) if fair(lab, attack) else Outcome(attack, None)


def strike(lab: Lab, attack: Attack, against: str, seed: int) -> Outcome:
    """Make one attack."""
    from converge.grader.outside import Outside
    from converge.grader.recorder import recordings

    random.seed(f"{seed} {attack.name}")
    outside = Outside()
    with stage(lab.slug, against, title=f"chaos {lab.slug} {attack.name}") as scene:
        scene.operator.environment |= {"OUTSIDE_URL": outside.url, **pod.environment(scene.namespace.name)}
        interruptions.append(scene.operator.interrupt)
        try:
            attack.run(Target(lab, scene))
            outcome = Outcome(attack, Status.PASSED)
        except Verdict as verdict:
            parts = verdict.parts()
            parts["seen"] = parts.get("seen", []) + scene.operator.evidence()
            outcome = Outcome(attack, verdict.status, parts)
        finally:
            interruptions.remove(scene.operator.interrupt)
            outside.down()
        outcome.timeline = str(recordings.keep(scene.operator.recorded()).draw())
    return outcome
