"""Gradescope's autograder: https://gradescope-autograders.readthedocs.io/en/latest/specs/.

It unpacks the zip to /autograder/source, runs `setup.sh` once to make an image, and for each submission starts a
container of it with the student's files in /autograder/submission and runs /autograder/run_autograder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from converge.grader.course import Course, Lab

# All that grading reads. Texts only; what was compiled beside them stays at home.
COURSE = (
    *("course.toml", "pyproject.toml", "requirements.lock", "README.md", "LICENSE"),
    *("control-plane", "crds", "labs", "solutions", "src"),
)
LEFT_OUT = ("__pycache__", ".pyc")

SETUP = """\
#!/usr/bin/env bash
# Makes the image: Python, bubblewrap, the course, and the programs of a small cluster.
set -euo pipefail
autograder=${AUTOGRADER:-/autograder}
course=$autograder/source/converge
if command -v apt-get >/dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update
  apt-get install -y --no-install-recommends python3 python3-venv bubblewrap ca-certificates
fi
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "Converge needs Python 3.11 or newer: choose Ubuntu 24.04 as the base image" >&2
  exit 1
fi
python3 -m venv "$autograder/venv"
"$autograder/venv/bin/pip" install -q -c "$course/requirements.lock" -e "$course"
chmod -R go-rwx "$autograder/source"
export CONVERGE_COURSE=$course CONVERGE_CACHE=$autograder/cache CONVERGE_STATE=$autograder/state
"$autograder/venv/bin/converge" up
"$autograder/venv/bin/converge" down
"""

RUN = """\
#!/usr/bin/env bash
# Grades one submission. If the grader itself fails, or the submission is held for a person, there is no results.json,
# and Gradescope says so: not 0 points.
set -uo pipefail
autograder=${{AUTOGRADER:-/autograder}}
cd "$autograder"
export CONVERGE_COURSE=$autograder/source/converge CONVERGE_CACHE=$autograder/cache CONVERGE_STATE=$autograder/state
venv/bin/converge grade submission --student submission {labs} --out graded --format gradescope
code=$?
venv/bin/converge down >/dev/null 2>&1
if [ -f graded/gradescope/submission.json ] && [ "$code" = 0 ]; then
  mkdir -p results
  cp graded/gradescope/submission.json results/results.json
fi
exit "$code"
"""


def files(course: Course, labs: Sequence[Lab], image: str) -> dict[str, str]:
    """The contents of autograder.zip. The image is Gradescope's own."""
    made = {"setup.sh": SETUP, "run_autograder": RUN.format(labs=" ".join(f"--lab {lab.number}" for lab in labs))}
    paths = [path for part in COURSE for path in below(course.root / part)]
    paths += [lab.checks_file for lab in labs]
    return {**made, **{f"converge/{path.relative_to(course.root)}": path.read_text("utf-8") for path in paths}}


def below(path: Path) -> list[Path]:
    """A file, or all files in a directory."""
    found = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [each for each in found if each.is_file() and not any(word in str(each) for word in LEFT_OUT)]
