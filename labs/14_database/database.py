"""Lab 14: a database operator, whose objects have a memory.

Lesson:  docs/lessons/14_database.md
Check:   make check LAB=14
Hint:    make hint LAB=14

A Database is a Secret NAME-credentials (``username``, ``password``), a ConfigMap NAME-config, a headless Service and a
StatefulSet, both called NAME. ``converge.database`` builds what needs no thought; you write the parts that do.
The password is made once. ``deletionPolicy`` says what becomes of the volumes and of the password that opens them: with
Retain both outlive the Database, and a new one of that name takes them up again; with Delete both go. Storage cannot
change: such a wish is refused in the condition Degraded, which names ``storage``, and all else is done nevertheless.
A Secret of our name that we did not make is left alone: then no StatefulSet is made, and Degraded says why.
Available is True when all servers run what this generation asks for and are ready; until then Progressing is True.
What fails, or has to wait, is tried again within ten seconds. The image is ``$POSTGRES_IMAGE:VERSION``.
"""

import secrets

import kopf

from converge.database import (
    DATABASE,
    MANAGED_BY,
    blocked,
    checksum,
    claims,
    config_map,
    identity,
    mebibytes,
    pod_spec,
    selector,
    service,
)
from converge.runtime import Client, Controller, NotFound, Object, Request, Result
from converge.webapp import NameTaken, condition, ensure_owned, is_controlled_by, owner_reference, report


def ensure_secret(client: Client, database: Object) -> None:
    """Make the Secret if there is none. What it says is never changed; whom it belongs to follows the policy."""
    # TODO 1: get the Secret of ``identity(database, "-credentials")``. If there is none, create it, with its password,
    #         in one write. With Delete it names the Database as its owner (``owner_reference``), with Retain it does
    #         not: what else opens the volumes? One that is there is ours if it has our labels or names this Database
    #         as its controller; if not, raise NameTaken. Ours gets or loses the owner as the policy says, no more.
    raise NotImplementedError("TODO 1: ensure_secret")


def stateful_set(database: Object) -> Object:
    """The StatefulSet that ``database`` asks for."""
    # TODO 2: its metadata is ``identity(database)``; its Pods are ``pod_spec(database)``, with the labels of
    #         ``selector(database)``. What gives each Pod a name? What a volume, called ``data``? What becomes of the
    #         volumes? And how does a Pod come to read a ConfigMap that has changed?
    raise NotImplementedError("TODO 2: stateful_set")


def ensure_stateful_set(client: Client, database: Object) -> tuple[Object, str]:
    """Make the StatefulSet as wanted, but for what cannot change; return it, and what of the wish was refused."""
    # TODO 3: ``ensure_owned(client, database, wanted)`` of lesson 08 applies and returns it. If there is a StatefulSet
    #         already, first put its volumeClaimTemplates in place of ours: others would be refused, with all the rest.
    #         Then compare size (``mebibytes``) and class with what the spec asks for, and say in words what differs.
    raise NotImplementedError("TODO 3: ensure_stateful_set")


def ensure_claims(client: Client, database: Object, live: Object) -> None:
    """Let the policy hold for the volumes of servers that were scaled away: to the StatefulSet they are forgotten."""
    # TODO 4: ``claims(client, database)`` are numbers and claims. Those of numbers from ``replicas`` on have no Pod.
    #         With Delete they name the StatefulSet among their owners, with Retain they do not. Write what differs.
    raise NotImplementedError("TODO 4: ensure_claims")


def assess(database: Object, live: Object, refused: str) -> Object:
    """The status of ``database``, as its StatefulSet shows it."""
    # TODO 5: observedGeneration, readyReplicas, endpoint (NAME-0.NAME.NAMESPACE.svc:5432) and conditions: Available,
    #         Progressing and Degraded as in lesson 09, with ``condition(database, type, status, reason, message)``.
    raise NotImplementedError("TODO 5: assess")


class DatabaseReconciler:
    """Keeps the children of each Database, and says how they are."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> Result | None:
        """One pass: what the others need comes first; then report what is there."""
        # TODO 6: get the Database; nothing is to be done for one that is gone or going. Then the children, what others
        #         need first; ``config_map`` and ``service`` with ``ensure_owned``. ``report(client, database, status)``
        #         what came of it; if a name is taken, ``blocked(database, reason, message)``, and look again soon.
        raise NotImplementedError("TODO 6: reconcile")


@kopf.on.startup()
def start(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: object) -> None:
    """Given: kopf watches, the queue of lesson 03 remembers, and the workers of lesson 05 call you."""
    settings.scanning.disabled = True  # our rights end at our namespace
    memo.controller = Controller(DatabaseReconciler(Client()), name="database")
    memo.controller.start()


@kopf.on.event("databases")
async def database_changed(namespace: str, name: str, memo: kopf.Memo, **_: object) -> None:
    memo.controller.queue.add(Request(namespace, name))


@kopf.on.event("secrets", labels=MANAGED_BY)
@kopf.on.event("configmaps", labels=MANAGED_BY)
@kopf.on.event("services", labels=MANAGED_BY)
@kopf.on.event("statefulsets", labels=MANAGED_BY)
async def child_changed(namespace: str, labels: kopf.Labels, memo: kopf.Memo, **_: object) -> None:
    memo.controller.queue.add(Request(namespace, labels["app.kubernetes.io/instance"]))


@kopf.on.cleanup()
def stop(memo: kopf.Memo, **_: object) -> None:
    memo.controller.stop()
