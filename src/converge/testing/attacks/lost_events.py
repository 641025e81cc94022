"""News that is lost or late. A watch that has lost events ends with 410, and then everything is listed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from converge.recorder.matching import events
from converge.testing.attacks.create_counts import created, fail_if_made_twice
from converge.testing.attacks.drift import delete_child
from converge.testing.attacks.until_right import fail_unless_right
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.operator import Operator
from converge.testing.waits.waiting import eventually

EVENT_DELAY = 2.0  # seconds
HINT = "What no event reported is in the next list: compare everything in it with everything that should be there."
HINT_OF_A_DELETION = (
    "No event reported the deletion, but the next list shows it: what was in the cache isn't there anymore. "
    "In client-go the handler then gets a DeletedFinalStateUnknown in place of the object."
)
HINT_OF_LATE_NEWS = "What the cache shows is how it was a moment ago. Act on it only where acting twice does no harm."


def lost_creation_is_found(
    operator: Operator,
    *,
    make: Callable[..., CustomResource],
    wrong: Callable[[CustomResource], str],
    within: float = 10,
    hint: str = "",
) -> CustomResource:
    """Create an object without an event about it, then let the watches expire. Returns the object."""
    recorder = operator.recorder
    operator.settle()
    with recorder.drop(events(), times=None) as dropped:
        app = make()
        eventually(lambda: any(each.name == app.name for each in dropped.fired), within=3)
    recorder.expire_watches()
    when = f"{app} was created, the event was lost, and all watches were answered 410"
    fail_unless_right(lambda: wrong(app), within=within, when=when, hint=hint or HINT)
    operator.settle()
    return app


def lost_deletion_is_found(
    operator: Operator,
    app: CustomResource,
    wrong: Callable[[CustomResource], str],
    *,
    child: tuple[str, str],
    within: float = 10,
    hint: str = "",
) -> None:
    """Delete a child behind the operator's back, lose the event, then let the watches expire."""
    recorder, (kind, name) = operator.recorder, child
    operator.settle()
    with recorder.drop(events(), times=None) as dropped:
        gone = delete_child(app, child)
        eventually(lambda: gone() and any(each.type == "DELETED" for each in dropped.fired), within=3)
    recorder.expire_watches()
    fail_unless_right(
        lambda: wrong(app) if gone() else f"{kind}/{name} is still being deleted",
        within=within,
        when=f"someone deleted {kind}/{name}, which {app} needs; the event was lost, and all watches were answered 410",
        expected=f"it is back within {within:g} s",
        hint=hint or HINT_OF_A_DELETION,
    )
    operator.settle()


def late_news_change_nothing(
    operator: Operator,
    *,
    make: Callable[..., CustomResource],
    wrong: Callable[[CustomResource], str],
    creates: Mapping[str, int],
    within: float = 10,
    hint: str = "",
) -> CustomResource:
    """Create an object and touch it while all events come late. `creates` counts the children of a clean run."""
    recorder = operator.recorder
    operator.settle()
    with recorder.delay(events(), seconds=EVENT_DELAY, times=None):
        mark = recorder.mark()
        app = make()
        eventually(lambda: created(operator, mark, creates), within=within)
        touched = recorder.mark()
        app.poke()
        eventually(lambda: recorder.since(touched).delivered(app.kind, name=app.name), within=2 * EVENT_DELAY)
        when = f"{app} was created and touched while all events came {EVENT_DELAY:g} s late"
        fail_unless_right(
            lambda: wrong(app), within=within + 2 * EVENT_DELAY, when=when, hint=hint or HINT_OF_LATE_NEWS
        )
    operator.settle()
    fail_if_made_twice(operator, mark, creates, when, hint or HINT_OF_LATE_NEWS)
    return app
