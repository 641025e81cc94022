"""The parts of the WebApp operator, each from the lesson in which it is written.

Lesson 01 uses the builder before it is explained, as a given; lesson 06 is where the learner writes it. From then on
every lesson imports what the earlier ones have made: always from the course's solutions, never from a learner's file.
"""

from typing import Any, cast

from converge.operators.lessons import lesson
from converge.operators.records import Records
from converge.runtime import Client, Manager, Reconciler, Request

WEBAPP = ("converge.example/v1", "WebApp")

#: The name under which `ensure` writes, and by which a child that we have made is known (lesson 07).
FIELD_MANAGER = "webapp-operator"


class NameTaken(Exception):  # noqa: N818 (it says what is the matter)
    """An object of someone else has the name that a child of ours should have (lesson 08)."""


def desired_deployment(webapp: dict[str, Any]) -> dict[str, Any]:
    """The Deployment that ``webapp`` asks for (lesson 06)."""
    return cast(dict[str, Any], lesson("06_idempotency").desired_deployment(webapp))


def ensure_deployment(client: Client, webapp: dict[str, Any]) -> dict[str, Any]:
    """Observe the Deployment of ``webapp``, act on the difference, and return it as it is then (lesson 01)."""
    loop, metadata = lesson("01_loop"), webapp["metadata"]
    actual = loop.observe(client, Request(metadata["namespace"], metadata["name"]))
    return cast(dict[str, Any], loop.act(client, desired_deployment(webapp), actual))


def desired_service(webapp: dict[str, Any]) -> dict[str, Any]:
    """The Service that ``webapp`` asks for (lesson 06)."""
    return cast(dict[str, Any], lesson("06_idempotency").desired_service(webapp))


def desired_children(webapp: dict[str, Any]) -> list[dict[str, Any]]:
    """The Deployment, without ``replicas`` when someone else scales it, and the Service (lesson 07).

    Lessons after 07 build on this one. Add to it what else is yours, then `ensure` it.
    """
    return cast(list[dict[str, Any]], lesson("07_drift").desired_children(webapp))


def ensure(client: Client, wanted: dict[str, Any]) -> dict[str, Any]:
    """Make ``wanted`` true of its object by server-side apply, and return the object (lesson 07).

    Fields that ``wanted`` does not name are left alone; a field that it named last time and no longer names is
    removed. Nothing is written when there is nothing to change.
    """
    return cast(dict[str, Any], lesson("07_drift").ensure(client, wanted))


def owner_reference(webapp: dict[str, Any]) -> dict[str, Any]:
    """What a child says of ``webapp``, its controller (lesson 08)."""
    return cast(dict[str, Any], lesson("08_owner_references").owner_reference(webapp))


def is_controlled_by(child: dict[str, Any], webapp: dict[str, Any]) -> bool:
    """Whether ``webapp``, and not only one of its name, is the controller of ``child`` (lesson 08)."""
    return cast(bool, lesson("08_owner_references").is_controlled_by(child, webapp))


def ensure_owned(client: Client, webapp: dict[str, Any], child: dict[str, Any]) -> dict[str, Any]:
    """`ensure` a child of ``webapp`` as its own and return it; raise `NameTaken` if its name is taken (lesson 08)."""
    return cast(dict[str, Any], lesson("08_owner_references").ensure_owned(client, webapp, child))


def condition(webapp: dict[str, Any], type: str, status: bool, reason: str, message: str) -> dict[str, Any]:
    """A condition for the status of ``webapp``, with the time at which its status changed (lesson 09)."""
    return cast(dict[str, Any], lesson("09_status").condition(webapp, type, status, reason, message))


def assess(webapp: dict[str, Any], deployment: dict[str, Any]) -> dict[str, Any]:
    """The status of ``webapp`` as its Deployment shows it, with the conditions Available, Progressing, Degraded.

    It is plain data (lesson 09): add conditions of your own to its list, then `report` it.
    """
    return cast(dict[str, Any], lesson("09_status").assess(webapp, deployment))


def blocked(webapp: dict[str, Any], reason: str, message: str) -> dict[str, Any]:
    """The status of a ``webapp`` whose children could not be made: not Available, Degraded (lesson 09)."""
    return cast(dict[str, Any], lesson("09_status").blocked(webapp, reason, message))


def report(client: Client, webapp: dict[str, Any], status: dict[str, Any]) -> None:
    """Write ``status``, all of it, to the status of ``webapp`` if it differs; others' conditions stay (lesson 09)."""
    lesson("09_status").report(client, webapp, status)


def children_reconciler(client: Client) -> Reconciler:
    """The operator as lesson 09 left it, for lessons that add to it: the owned children of a WebApp, and its status."""
    return cast(Reconciler, lesson("09_status").WebAppReconciler(client))


def keep_record(records: Records, webapp: dict[str, Any]) -> None:
    """Make the record that ``webapp`` asks for, and remove every other one of its own (lesson 12)."""
    lesson("12_finalizers").keep_record(records, webapp)


def remove_records(records: Records, webapp: dict[str, Any]) -> None:
    """Remove every record of ``webapp``; what is gone already is fine (lesson 12)."""
    for host in lesson("12_finalizers").own_hosts(records.all(), webapp):
        lesson("12_finalizers").remove_record(records, host)


def setup(manager: Manager) -> None:
    """The whole operator, as lesson 12 left it: what it watches, and who reconciles."""
    lesson("12_finalizers").setup(manager)
