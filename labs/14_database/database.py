"""Lab 14: a database operator, whose objects have a memory.

Lesson:  docs/lessons/14_database.md
Check:   make check LAB=14
Hint:    make hint LAB=14

A Database consists of a Secret NAME-credentials (``username``, which is postgres, and ``password``), a ConfigMap
NAME-config, and a headless Service and a StatefulSet, both called NAME. ``converge.operators.database`` builds the easy
parts; you write the rest. The password is made once. ``deletionPolicy`` decides what happens to the volumes and to the
password that opens them: with Retain both outlive the Database, and a new one of the same name uses them again; with
Delete both go. Storage can't change: if the spec asks for that, the condition Degraded says so and names ``storage``,
and everything else is still done. A Secret of our name that we didn't make is left alone: then there's no StatefulSet,
and Degraded says why. Available is True when all servers run what this generation asks for and are ready; until then
Progressing is True. What fails is tried again, and what has to wait is looked at again within ten seconds. The image
is ``$POSTGRES_IMAGE:VERSION``.
"""

import secrets

import kopf

from converge.operators.database import (
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
from converge.operators.webapp import NameTaken, condition, ensure_owned, is_controlled_by, owner_reference, report
from converge.runtime import Client, Controller, NotFound, Object, Request, Result

# Work in this order: TODO 6, 1, 2, 5, then 3 and 4. The lesson's "Your turn" says which checks pass when.


def ensure_secret(client: Client, database: Object) -> None:
    """Create the Secret if there is none. Its contents never change; its owner follows the deletionPolicy."""
    # TODO 1: get the Secret of ``identity(database, "-credentials")``. If there is none, create it in one write,
    #         password included. With Delete it has the Database as its owner (``owner_reference``), with Retain it has
    #         no owner: what else opens the volumes? A Secret that exists is ours if it has our labels or this Database
    #         is its controller, and nothing else is its controller. Otherwise raise NameTaken. If it's ours, add or
    #         remove our owner reference as the policy says, and change nothing else.
    raise NotImplementedError("TODO 1: ensure_secret")


def stateful_set(database: Object) -> Object:
    """Return the StatefulSet that ``database`` asks for."""
    # TODO 2: its metadata is ``identity(database)``; its Pods are ``pod_spec(database)`` with the labels of
    #         ``selector(database)``. What gives each Pod a name? What gives it a volume, called ``data``? What happens
    #         to the volumes later? And how does a running Pod get to read a ConfigMap that has changed?
    raise NotImplementedError("TODO 2: stateful_set")


def ensure_stateful_set(client: Client, database: Object) -> tuple[Object, str]:
    """Apply the StatefulSet, except for what can't change; return it, and in words what was refused (or "")."""
    # TODO 3: ``ensure_owned(client, database, wanted)`` of lesson 08 applies and returns it. If the StatefulSet exists,
    #         first replace our volumeClaimTemplates with its own: the server would refuse others, and everything else
    #         with them. Then compare size (``mebibytes``) and class with the spec, and say in words what differs.
    raise NotImplementedError("TODO 3: ensure_stateful_set")


def ensure_claims(client: Client, database: Object, live: Object) -> None:
    """Apply the policy to the claims of servers that were scaled away: the StatefulSet no longer looks at those."""
    # TODO 4: ``claims(client, database)`` returns numbers and claims. Those numbered ``replicas`` or higher have no
    #         Pod. With Delete they have the StatefulSet among their owners, with Retain not. Write only what differs.
    raise NotImplementedError("TODO 4: ensure_claims")


def assess(database: Object, live: Object, refused: str) -> Object:
    """Return the status of ``database``, as its StatefulSet shows it."""
    # TODO 5: observedGeneration, readyReplicas, endpoint (NAME-0.NAME.NAMESPACE.svc:5432) and the conditions Available,
    #         Progressing and Degraded, as in lesson 09, with ``condition(database, type, status, reason, message)``.
    raise NotImplementedError("TODO 5: assess")


class DatabaseReconciler:
    """Keeps the children of each Database, and reports how they are."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def reconcile(self, request: Request) -> Result | None:
        """One pass: first what the others need, then the rest, then the report."""
        # TODO 6: start here. Get the Database; if it's gone or being deleted, there's nothing to do. Then make the
        #         children, those that others need first; ``config_map`` and ``service`` with ``ensure_owned``. Then
        #         ``report(client, database, status)``. If a name is taken, the status is
        #         ``blocked(database, reason, message)``, and you look again soon.
        raise NotImplementedError("TODO 6: reconcile")


@kopf.on.startup()
def start(settings: kopf.OperatorSettings, memo: kopf.Memo, **_: object) -> None:
    """Given: kopf watches, the queue of lesson 03 holds the keys, and the workers of lesson 05 call you."""
    settings.scanning.disabled = True  # our rights end at one namespace
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
