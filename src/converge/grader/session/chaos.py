"""All attacks on the operator of one lab, one after the other, with a seed that makes them the same again.

Which attacks are fair depends on what a lab promises. `course.toml` says it for each: the children that its operator
makes, the fields that it follows, and what else it keeps. An attack that asks for more than that is left out, and the
report says so. Each attack has a namespace, a recorder and an operator of its own; the seed and its name decide
all that is random.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from converge.grader.checks.course_namespace import CourseNamespace
from converge.grader.checks.oracles import wrong_database, wrong_webapp
from converge.grader.checks.verdict import Status
from converge.grader.course import Lab
from converge.grader.session.testbed import LabTestbed, lab_testbed
from converge.testing.access import pod_env
from converge.testing.attacks.chaos_catalogue import ATTACKS, ChaosAttack
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.operator import Operator
from converge.testing.verdicts.failure import Verdict


@dataclass(frozen=True)
class LabTarget:
    """The operator of a lab on its testbed, and what the lab promises."""

    lab: Lab
    testbed: LabTestbed

    @property
    def operator(self) -> Operator:
        return self.testbed.operator

    @property
    def second_writer(self) -> CourseNamespace:
        return self.testbed.namespace.second_writer()

    @property
    def children(self) -> list[str]:
        return self.lab.chaos["children"]

    @property
    def follows(self) -> list[str]:
        return self.lab.chaos.get("follows", [])

    @property
    def keeps(self) -> list[str]:
        return self.lab.chaos.get("keeps", [])

    @property
    def kind(self) -> str:
        return self.lab.chaos.get("kind", "WebApp")

    def make(self, **spec: Any) -> CustomResource:
        create = self.testbed.namespace.database if self.kind == "Database" else self.testbed.namespace.webapp
        return create(**{"replicas": 1, **spec})

    def wrong(self, app: CustomResource) -> str:
        oracle = wrong_database if self.kind == "Database" else wrong_webapp
        return oracle(app, self.follows, self.children)


@dataclass
class AttackOutcome:
    """The result of one attack. `status` is None for an attack that the lab doesn't have to survive: it wasn't run."""

    attack: ChaosAttack
    status: Status | None
    parts: dict[str, Any] = field(default_factory=dict)
    timeline: str = ""


def fair(lab: Lab, attack: ChaosAttack) -> bool:
    """Whether a lab promises what an attack asks for."""
    promised = {"", *lab.chaos.get("keeps", []), *(["follows"] if lab.chaos.get("follows") else [])}
    return bool(lab.chaos.get("children")) and attack.requires in promised


def run(lab: Lab, against: str, seed: int, only: tuple[str, ...] = ()) -> Iterator[AttackOutcome]:
    """Attack the operator of a lab, and yield each outcome as soon as it's known."""
    for attack in ATTACKS:
        if only and attack.name not in only:
            continue
        yield run_attack(lab, attack, against, seed) if fair(lab, attack) else AttackOutcome(attack, None)


def run_attack(lab: Lab, attack: ChaosAttack, against: str, seed: int) -> AttackOutcome:
    """Make one attack."""
    from converge.operators.outside_service import Outside
    from converge.recorder import archive

    random.seed(f"{seed} {attack.name}")
    outside = Outside()
    with lab_testbed(lab.slug, against, title=f"chaos {lab.slug} {attack.name}") as bed:
        bed.operator.environment |= {"OUTSIDE_URL": outside.url, **pod_env.environment(bed.namespace.name)}
        try:
            attack.run(LabTarget(lab, bed))
            outcome = AttackOutcome(attack, Status.PASSED)
        except Verdict as verdict:
            parts = verdict.parts()
            parts["seen"] = bed.operator.evidence(parts.get("seen", []))
            outcome = AttackOutcome(attack, Status(verdict.status), parts)
        finally:
            outside.down()
        outcome.timeline = str(archive.keep(bed.operator.recorded()).draw())
    return outcome
