"""The attacks of an audit: each lists its cases, and makes one of them.

A case is a small JSON object that says where to strike, so that a finding can be replayed. What happens then is done by
`converge.testing.attacks`, as in the grader; the judge is the reference of `learn`.
"""

from converge.audit.attacks import at_rest, crashes, objects, other_writers, requests, stale_events, walks
from converge.audit.attacks.at_rest import AT_REST, touched_twice
from converge.audit.attacks.base import ERROR, NOTE, WARNING, Attack, AttackContext, Outcome
from converge.audit.attacks.walks import FOLLOWED, WALKS, tells

#: By name, the quick ones that find much first: time may be up before the last of them.
ORDER = (
    "at-rest",
    "old-cache",
    "child-deleted",
    "late-children",
    "deletion",
    "old-deletion",
    "killed-after",
    "walks",
    "left-alone",
    "edited-meanwhile",
    "old-spec",
    "every-request",
    "two-steps",
    "child-edited",
    "two-replicas",
    "lost-news",
    "foreign-fields",
    "name-taken",
    "killed-before",
    "while-down",
    "late-news",
    "watches",
    "rival",
    "two-objects",
)
_KNOWN = {
    each.name: each
    for module in (at_rest, crashes, objects, other_writers, requests, stale_events, walks)
    for each in module.ATTACKS
}
assert sorted(_KNOWN) == sorted(ORDER)
ATTACKS = tuple(_KNOWN[name] for name in ORDER)

__all__ = [
    "ATTACKS",
    "AT_REST",
    "ERROR",
    "FOLLOWED",
    "NOTE",
    "ORDER",
    "WALKS",
    "WARNING",
    "Attack",
    "AttackContext",
    "Outcome",
    "tells",
    "touched_twice",
]
