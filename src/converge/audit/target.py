"""The operator on its testbed as the attacks see it: how to make an object, and what is wrong with one."""

from __future__ import annotations

from typing import Any

from converge.audit import snapshot
from converge.audit.audited_operator import AuditedOperator
from converge.audit.clock import WAITED_FOR
from converge.audit.learn import KOPF_RETRIES, Learned
from converge.audit.sample import Sample, renamed
from converge.audit.testbed import AuditTestbed
from converge.testing.attacks import until_right
from converge.testing.attacks.compare import belongs
from converge.testing.attacks.every_request import EveryRequest, Reference
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.verdicts.failure import Failure
from converge.testing.verdicts.values import Difference
from converge.testing.waits.waiting import eventually

FIRST_LOOK_SECONDS = 6.0  # without a sign of life, a first look at a case ends; the second look takes longer
SOON_SECONDS = 12.0


class AuditTarget:
    """An operator and its objects, judged by what was learned about it."""

    def __init__(self, testbed: AuditTestbed, sample: Sample, learned: Learned) -> None:
        self.testbed = testbed
        self.sample = sample
        self.learned = learned
        self._expected: dict[str, snapshot.Snapshot] = {}
        #: Whether to wait for as long as an operator may take that looks around by the clock.
        self.thorough = False
        #: Whether a first look ended early: an operator that looks by the clock might have come to it later.
        self.gave_up = False
        #: The requests of a clean object, once they are known.
        self.followed: tuple[EveryRequest, Reference] | None = None
        learned.prepare(testbed.audited_operator)
        until_right.stop_waiting_hooks.append(self._hopeless)

    def close(self) -> None:
        until_right.stop_waiting_hooks.remove(self._hopeless)
        self.testbed.close()

    def _hopeless(self) -> bool:
        """Whether it has been silent for so long that it won't act by itself. kopf sleeps for a minute after errors."""
        if not self.operator.running or (self.learned.on_kopf and self._failed_lately()):
            return False
        learned = self.learned
        soon = FIRST_LOOK_SECONDS < learned.clock <= SOON_SECONDS  # one that looks later is left to the second look
        enough = learned.looks_again if self.thorough or soon else FIRST_LOOK_SECONDS
        if self.thorough and learned.clock_watch is not None and learned.clock_watch.undecided:
            enough = max(enough, WAITED_FOR)
        hopeless = self.operator.silent_for() > max(enough, 3 * self.learned.quiet)
        self.gave_up = self.gave_up or (hopeless and not self.thorough)
        return hopeless

    def _failed_lately(self) -> bool:
        recorder = self.operator.recorder
        lately = recorder.since(recorder.mark() - KOPF_RETRIES).requests
        # No handler fails with a watch that ends, and a read of what isn't there is how one asks whether it is.
        asked = [
            each for each in lately if each.resource and not each.is_watch and (each.is_write or each.status != 404)
        ]
        return any(each.fault or (each.status or 0) >= 400 for each in asked)

    @property
    def operator(self) -> AuditedOperator:
        return self.testbed.audited_operator

    @property
    def kind(self) -> str:
        return self.sample.kind

    @property
    def children(self) -> list[str]:
        return self.learned.children

    def started(self) -> AuditedOperator:
        """The operator, running."""
        if not self.operator.running:
            self.operator.start()
        return self.operator

    def make(self, name: str = "", **spec: Any) -> CustomResource:
        """Create an object like the sample."""
        return self.sample.make(self.testbed.namespace, name, spec)

    def running(self) -> CustomResource:
        """An object that is as a clean one is, with the operator at rest."""
        self.started()
        app = self.make()
        self.clean(app)
        return app

    def clean(self, app: CustomResource) -> None:
        """Wait until an object is as a clean one; complain if it never is."""
        eventually(lambda: self.wrong(app), "", within=self.learned.patience, when=f"{app} was created and left alone")
        self.operator.settle(within=self.learned.patience)

    def expect(self, app: CustomResource, wanted: snapshot.Snapshot) -> None:
        """From now on this object should lead to something other than the sample does."""
        self._expected[app.uid] = wanted

    def wrong(self, app: CustomResource) -> str:
        """How an object differs from a clean one, in words."""
        found = self.differences(app)
        return snapshot.in_words(found) if found else ""

    def differences(self, app: CustomResource) -> list[Difference]:
        wanted = self._expected.get(app.uid, self.learned.clean)
        return self.learned.mask.differences(self.learned.look(app), wanted)

    def edit(self, app: CustomResource, patch: dict[str, Any]) -> None:
        """Change an object's spec. Where the patch has the sample's name, the object gets its own."""
        app.edit(**renamed(patch, self.sample.name, app.name))

    def child(self, app: CustomResource, key: str) -> tuple[str, str]:
        """The kind and name of the child that a key of a snapshot means."""
        kind, _, name = key.partition("/")
        if kind not in self.learned.random_names:
            return kind, name.replace("NAME", app.name)
        found = [each for each in self.testbed.namespace.list(kind) if belongs(each, app)]
        if not found:
            raise Failure(when=f"{app} was created", expected=f"it has a {kind}", got="there is none")
        return kind, str(found[0]["metadata"]["name"])
