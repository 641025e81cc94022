"""Attacks that any operator lab uses in one line: what goes wrong in production, on purpose and repeatably.

In each of them, `make()` creates an object, under the name it's given or a new one. `wrong(object)` says in words
what's wrong with the object, and returns `""` if nothing is.
"""

from converge.testing.attacks.at_rest import (
    no_writes_after_restart,
    no_writes_after_touch,
    no_writes_left_alone,
    zero_writes_at_rest,
)
from converge.testing.attacks.broken_watches import broken_watches_lose_nothing
from converge.testing.attacks.concurrent_writers import (
    late_watch_loses_nothing,
    rival_has_conditions,
    write_in_between_is_not_lost,
)
from converge.testing.attacks.crashes import crash_after_every_write, crash_at_write, crash_before_every_write
from converge.testing.attacks.downtime import changes_while_down
from converge.testing.attacks.drift import foreign_fields_survive, heals_deletion, heals_drift
from converge.testing.attacks.edit_meanwhile import edit_at_write
from converge.testing.attacks.every_request import fault_at_every_request
from converge.testing.attacks.isolation import deletion_leaves_nothing, two_objects_are_independent
from converge.testing.attacks.late_children import late_children_are_not_doubled
from converge.testing.attacks.lost_events import (
    late_news_change_nothing,
    lost_creation_is_found,
    lost_deletion_is_found,
)
from converge.testing.attacks.many_at_once import many_at_once
from converge.testing.attacks.replicas import two_replicas_are_as_good_as_one
from converge.testing.attacks.spec_paths import path_independence
from converge.testing.attacks.spec_walks import random_walks
from converge.testing.attacks.stale_cache import (
    old_cache_destroys_nothing,
    old_deletion_destroys_nothing,
    old_spec_destroys_nothing,
)
from converge.testing.attacks.taken_names import stranger_is_left_alone
from converge.testing.attacks.two_namespaces import namesakes_are_independent

__all__ = [
    "broken_watches_lose_nothing",
    "changes_while_down",
    "crash_after_every_write",
    "crash_at_write",
    "crash_before_every_write",
    "deletion_leaves_nothing",
    "edit_at_write",
    "fault_at_every_request",
    "foreign_fields_survive",
    "heals_deletion",
    "heals_drift",
    "late_children_are_not_doubled",
    "late_news_change_nothing",
    "late_watch_loses_nothing",
    "lost_creation_is_found",
    "lost_deletion_is_found",
    "many_at_once",
    "namesakes_are_independent",
    "no_writes_after_restart",
    "no_writes_after_touch",
    "no_writes_left_alone",
    "old_cache_destroys_nothing",
    "old_deletion_destroys_nothing",
    "old_spec_destroys_nothing",
    "path_independence",
    "random_walks",
    "rival_has_conditions",
    "stranger_is_left_alone",
    "two_objects_are_independent",
    "two_replicas_are_as_good_as_one",
    "write_in_between_is_not_lost",
    "zero_writes_at_rest",
]
