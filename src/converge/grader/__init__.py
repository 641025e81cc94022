"""The grader: what checks are written with.

    from converge.grader import check, expect

    @check(points=2, section="dirty-and-processing")
    def test_duplicate_adds_collapse(lab):
        \"\"\"Adding a waiting key again changes nothing.\"\"\"
        queue = lab.WorkQueue()
        queue.add("default/web")
        queue.add("default/web")
        expect(len(queue), 1, when="a key was added twice", hint="add() has to ask whether it waits already.")

The fixtures (`lab`, and for operators `operator`, `namespace`, `recorder`, …) come from
`converge.grader.session.plugin`.
Importing this package is cheap: the submission's process does it too.
"""

from converge.grader.checks.check import check
from converge.grader.checks.expect import expect, fail
from converge.grader.checks.shrink import smallest
from converge.grader.checks.verdict import NotStarted, Status
from converge.grader.library.jsonlines import AnswerOf, NewObject
from converge.testing.verdicts.failure import Failure, TookTooLong
from converge.testing.waits.waiting import eventually, never

__all__ = [
    "AnswerOf",
    "Failure",
    "NewObject",
    "NotStarted",
    "Status",
    "TookTooLong",
    "check",
    "eventually",
    "expect",
    "fail",
    "never",
    "smallest",
]
