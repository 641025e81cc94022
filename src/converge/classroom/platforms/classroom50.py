"""An autograder of Classroom 50: https://github.com/foundation50/classroom50/wiki/Advanced-Autograding.

GitHub runs `autograder.py` in the student's checkout, in a container of the image. It has to write `result.json` there
and end with 0 unless the grader itself failed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from converge.grader.course import Course, Lab

AUTOGRADER = '''\
"""Grades the student's checkout with Converge. A status other than 0 means that the grader failed, not the student."""

import shutil
import subprocess
import sys
import tempfile

LABS = {labs!r}

with tempfile.TemporaryDirectory() as graded:
    command = ["/opt/converge/bin/converge", "grade", ".", "--student", "student", "--out", graded]
    command += [word for lab in LABS for word in ("--lab", lab)] + ["--format", "classroom50"]
    code = subprocess.run(command).returncode
    if code == 0:
        shutil.copy(f"{{graded}}/classroom50/student.json", "result.json")
sys.exit(code)
'''


def files(course: Course, labs: Sequence[Lab], image: str) -> dict[str, str]:
    """The bundle of one assignment, and its `runtime` block for `gh teacher assignment add --runtime`."""
    runtime = {"container": {"image": image, "user": "root"}}
    return {
        "autograder.py": AUTOGRADER.format(labs=[lab.number for lab in labs]),
        "runtime.json": json.dumps(runtime, indent=2) + "\n",
    }
