"""The grader: what checks are written with.

    from converge.grader import check, expect

    @check(points=2, section="dirty-and-processing")
    def test_duplicate_adds_collapse(lab):
        \"\"\"Adding a waiting key again changes nothing.\"\"\"
        queue = lab.WorkQueue()
        queue.add("default/web")
        queue.add("default/web")
        expect(len(queue), 1, when="a key was added twice", hint="add() has to ask whether it waits already.")

The fixtures (`lab`, and for operators `operator`, `namespace`, `recorder`, …) come from `converge.grader.plugin`.
Importing this package is cheap: the submission's process does it too.
"""

from converge.grader.check import check
from converge.grader.expect import expect, fail
from converge.grader.search import smallest
from converge.grader.verdict import Failure, NotStarted, Status, TookTooLong
from converge.grader.waiting import eventually, never
from converge.grader.wire import Answer, Made

__all__ = [
    "Answer",
    "Failure",
    "Made",
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
