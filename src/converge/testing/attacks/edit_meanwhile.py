"""The object's user edits it at the worst moment: while a write of the operator's is on its way to the server."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from converge.testing.attacks.until_right import fail_unless_right, wait_until_right
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.operator import Operator
from converge.testing.waits.idle import wait_until_idle
from converge.testing.waits.waiting import eventually

if TYPE_CHECKING:
    from converge.recorder.matching import RequestMatch

HINT = (
    "What you have read may be old when you write. Write only the fields that are yours, or send the version that you "
    "have read, so that the server can refuse. And remember which version you have carried out, not which there is."
)


def edit_at_write(
    operator: Operator,
    number: int,
    *,
    make: Callable[[], CustomResource],
    edit: Callable[[CustomResource], object],
    wrong: Callable[[CustomResource], str],
    match: RequestMatch | None = None,
    within: float = 10,
    hint: str = "",
) -> bool:
    """Make an object; while the operator's write of that number is on its way, `edit` it. Both have to be carried out.

    False when it needed fewer writes than that. `wrong` asks for what the edited object needs. `match` says which
    requests count; without it every write does.
    """
    from converge.recorder import writes

    operator.settle()  # what is left of the round before must not be counted in this one
    made: list[CustomResource] = []
    specs: list[Any] = []

    def act() -> None:
        eventually(lambda: made, within=within)
        edit(made[0])
        specs.append((made[0].now() or {}).get("spec"))

    fault = operator.recorder.meanwhile(match or writes(), act, nth=number)
    app = make()
    made.append(app)
    wait_until_right(lambda: bool(specs), within=within)
    if not fault.fired:
        wait_until_idle(operator, within)
    fault.remove()
    if not specs:
        return False
    when = f"{app} was created, and its spec was edited while the operator's write number {number} was on its way"
    fail_unless_right(
        partial(_lost_or_wrong, app, specs[0], wrong),
        within=within,
        when=f"{when}\nthat write was: {fault.fired[0]}",
        hint=hint or HINT,
    )
    operator.settle()
    return True


def _lost_or_wrong(app: CustomResource, spec: Any, wrong: Callable[[CustomResource], str]) -> str:
    now = (app.now() or {}).get("spec") or {}
    lost = [field for field, value in spec.items() if now.get(field) != value]
    said = [f"spec.{each}: {now.get(each)!r} (as its user left it: {spec[each]!r})" for each in lost]
    return "\n".join(said) or wrong(app)
