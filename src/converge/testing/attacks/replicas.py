"""Two processes of one operator, as in every rolling update, and then the first of them is killed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from converge.recorder.matching import writes
from converge.testing.access import pod_env
from converge.testing.attacks.create_counts import fail_if_made_twice
from converge.testing.attacks.until_right import fail_unless_right
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.operator import Operator
from converge.testing.waits.idle import wait_until_idle
from converge.testing.waits.waiting import eventually

CREATE_DELAY = 1.0  # seconds that a create takes while two processes run
LEASE_EXPIRES_WITHIN = 20.0  # seconds until a standby may take a dead leader's lock: 15 are usual
HINT = "Only the leader may write. The other one waits for the lock, and starts from what is in the cluster then."


class CannotRunTwiceError(Exception):
    """The second process ended by itself: it needs a port or a file that the first one has."""


def two_replicas_are_as_good_as_one(
    operator: Operator,
    *,
    make: Callable[..., CustomResource],
    wrong: Callable[[CustomResource], str],
    creates: Mapping[str, int],
    elects: bool = True,
    within: float = 10,
    hint: str = "",
) -> None:
    """Start a second process, create an object on a slow server, kill the first process, create another object.

    `creates` says how many children of each kind one object takes in a clean run. No child may be made twice.
    """
    operator.settle()
    copy = operator.another()
    copy.environment = operator.environment | pod_env.environment(operator.namespace.name)  # a Pod of its own
    try:
        copy.start_standby()
        if not copy.running:
            last = copy.output.strip().splitlines()[-1:]
            raise CannotRunTwiceError(last[0][:200] if last else f"it exits with status {copy.exit_code}")
        mark = operator.recorder.mark()
        creating = writes(verb="create", where=lambda request: not operator.ignored(request))
        with operator.recorder.slow(
            creating, seconds=CREATE_DELAY, times=1
        ) as slow:  # time for the other one to act as well
            app = make()
            eventually(lambda: slow.fired and all(each.duration is not None for each in slow.fired), within=within)
        told = (
            f"two processes of the operator ran, {app} was created, and the first create for it took {CREATE_DELAY:g} s"
        )
        _is_one(operator, app, mark, wrong, creates, within, told, hint or HINT)
        operator.crash()
        mark = operator.recorder.mark()
        app = make()
        told = f"one of two processes of the operator was killed, and {app} was created"
        _is_one(
            operator, app, mark, wrong, creates, within + (LEASE_EXPIRES_WITHIN if elects else 0), told, hint or HINT
        )
    finally:
        copy.crash()


def _is_one(
    operator: Operator,
    app: CustomResource,
    mark: float,
    wrong: Callable[[CustomResource], str],
    creates: Mapping[str, int],
    within: float,
    when: str,
    hint: str,
) -> None:
    fail_unless_right(lambda: wrong(app), within=within, when=when, hint=hint)
    wait_until_idle(operator, within)
    fail_if_made_twice(operator, mark, creates, when, hint)
