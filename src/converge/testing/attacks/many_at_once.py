"""Many objects at the same time: an operator has several workers, and what belongs to one pass is not the others'."""

from __future__ import annotations

from collections.abc import Callable

from converge.testing.attacks.until_right import fail_unless_right
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.operator import Operator

OBJECTS_AT_ONCE = 12  # three for each of four workers
HINT = (
    "Several workers run passes at the same time, each for a different object. What one pass has read belongs in its "
    "own variables, not in a field of the reconciler or in the module."
)


def many_at_once(
    operator: Operator,
    *,
    make: Callable[[], CustomResource],
    wrong: Callable[[CustomResource], str],
    count: int = OBJECTS_AT_ONCE,
    within: float = 10,
    hint: str = "",
) -> list[CustomResource]:
    """Start the operator with that many objects waiting, so that all workers are busy at once. Returns the objects.

    `make()` should give each object values of its own: what goes to the wrong one is then wrong.
    """
    operator.stop()
    apps = [make() for _ in range(count)]
    operator.start()

    def all_wrong() -> str:
        problems = ((app, wrong(app)) for app in apps)
        return "\n".join(f"{app}: {problem}" for app, problem in problems if problem)

    when = f"{count} objects were there when the operator was started"
    fail_unless_right(all_wrong, within=within, when=when, hint=hint or HINT)
    return apps
