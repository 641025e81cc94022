"""The execution files of a Virtual Programming Lab in Moodle: https://vpl.dis.ulpgc.es/documentation/.

Its execution server, on which the course has to be installed, puts the student's files and these into one directory
and runs `vpl_evaluate.sh`, which has to write the program `vpl_execution`, which prints the grade.
"""

from __future__ import annotations

from collections.abc import Sequence

from converge.grader.course import Course, Lab

EVALUATE = """\
#!/bin/bash
# Writes vpl_execution, which VPL runs next. It grades in a directory of its own.
. ./vpl_environment.sh
cat > vpl_execution <<END
#!/bin/bash
export VPL_GRADEMIN="$VPL_GRADEMIN" VPL_GRADEMAX="$VPL_GRADEMAX"
export CONVERGE_STATE=\\$(mktemp -d) CONVERGE_COURSE=${{CONVERGE_COURSE:-/course}}
graded=\\$(mktemp -d)
/opt/converge/bin/converge grade . --student student {labs} --out "\\$graded" --format vpl >"\\$graded/log" 2>&1
if [ \\$? = 0 ]; then
  cat "\\$graded/vpl/student.txt"
else
  echo "Comment :=>>-The grader failed, not your work. There is no grade."
  sed 's/^/Comment :=>>>/' "\\$graded/log"
fi
/opt/converge/bin/converge down >/dev/null 2>&1
END
chmod +x vpl_execution
"""


def files(course: Course, labs: Sequence[Lab], image: str) -> dict[str, str]:
    return {"vpl_evaluate.sh": EVALUATE.format(labs=" ".join(f"--lab {lab.number}" for lab in labs))}
