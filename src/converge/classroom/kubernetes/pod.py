"""What runs in a Pod: `python -m converge.classroom.kubernetes.pod PARCEL` grades that one submission, in a jail.

Its last line is the result. Exit status: 0 graded, 3 no isolation in this Pod, 4 the grader's own error.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from converge import cluster
from converge.classroom import grading
from converge.classroom.grading import Piece
from converge.classroom.kubernetes import parcel
from converge.classroom.kubernetes.parcel import NO_JAIL, OUR_FAULT
from converge.classroom.roster import Submission
from converge.grader import course as courses
from converge.grader.course.results import LabResult
from converge.testing.sandbox import jail


def grade(packed: bytes) -> LabResult:
    """The result of one submission."""
    opened, course = parcel.unpack(packed), courses.load()
    lab = course.find(opened.lab)
    only = tuple(lab.check(name) for name in opened.only) or None
    if lab.uses_cluster:
        cluster.ensure()
    results: list[LabResult] = []
    with tempfile.TemporaryDirectory(prefix="converge-pod-") as folder:
        handed_in = Path(folder) / "handed-in"
        opened.write(handed_in)
        piece = Piece(Submission("student", handed_in), lab, only)
        grading.grade_together(course, [piece], Path(folder), lambda piece, result, held: results.append(result))
    return results[0]


def main(path: str) -> int:
    if why := jail.refusal():
        print(why, flush=True)
        return NO_JAIL
    result = grade(Path(path).read_bytes())
    print(parcel.to_line(result), flush=True)
    return OUR_FAULT if result.is_ours else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
