"""Attacks that any operator lab uses in one line: what goes wrong in production, on purpose and repeatably.

In each, `make()` creates an object, of the name that it is given or of a new one, and `wrong(object)` says in words
what is not as it should be, `""` when all is.
"""

from converge.grader.attacks.crashes import crash_after_every_write, crash_before_every_write
from converge.grader.attacks.downtime import changes_while_down
from converge.grader.attacks.drift import foreign_fields_survive, heals_drift
from converge.grader.attacks.paths import path_independence
from converge.grader.attacks.quiet import zero_writes_at_rest
from converge.grader.attacks.rivals import late_watch_loses_nothing, write_in_between_is_not_lost
from converge.grader.attacks.several import deletion_leaves_nothing, two_objects_are_independent
from converge.grader.attacks.stale import old_cache_destroys_nothing, old_deletion_destroys_nothing
from converge.grader.attacks.walks import random_walks

__all__ = [
    "changes_while_down",
    "crash_after_every_write",
    "crash_before_every_write",
    "deletion_leaves_nothing",
    "foreign_fields_survive",
    "heals_drift",
    "late_watch_loses_nothing",
    "old_cache_destroys_nothing",
    "old_deletion_destroys_nothing",
    "path_independence",
    "random_walks",
    "two_objects_are_independent",
    "write_in_between_is_not_lost",
    "zero_writes_at_rest",
]
