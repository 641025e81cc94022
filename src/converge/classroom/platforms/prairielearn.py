"""A question of PrairieLearn with an external grader: https://docs.prairielearn.com/externalGrading/.

It starts a container of the image with the student's files in /grade/student and the question's `tests` in
/grade/tests, and reads /grade/results/results.json.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from html import escape

from converge.grader.course import Course, Lab

LONGEST_TIMEOUT = 600  # seconds, the most that PrairieLearn gives
RUN = """\
#!/bin/sh
# Grades one submission. The image holds the course, its Python and the programs of a small cluster.
mkdir -p /grade/results
export CONVERGE_STATE=/tmp/converge
/opt/converge/bin/converge grade /grade/student --student student {labs} --out /tmp/graded --format prairielearn
if [ -f /tmp/graded/prairielearn/student.json ]; then
  cp /tmp/graded/prairielearn/student.json /grade/results/results.json
fi
"""


def files(course: Course, labs: Sequence[Lab], image: str) -> dict[str, str]:
    """The directory of one question."""
    names = [name for lab in labs for name in lab.files]
    title = ", ".join(f"{lab.number} {lab.title}" for lab in labs)
    info = {
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"converge/{title}")),
        "title": title,
        "topic": course.title,
        "type": "v3",
        "gradingMethod": "External",
        "externalGradingOptions": {
            "enabled": True,
            "image": image,
            "entrypoint": "/grade/tests/run.sh",
            "timeout": LONGEST_TIMEOUT,
            "enableNetworking": False,
        },
    }
    question = (
        f"<pl-question-panel><p>Upload {escape(' and '.join(names))}.</p></pl-question-panel>\n"
        f'<pl-file-upload file-names="{escape(", ".join(names))}"></pl-file-upload>\n'
        "<pl-submission-panel>\n  <pl-external-grader-results></pl-external-grader-results>\n"
        "  <pl-file-preview></pl-file-preview>\n</pl-submission-panel>\n"
    )
    run = RUN.format(labs=" ".join(f"--lab {lab.number}" for lab in labs))
    return {"info.json": json.dumps(info, indent=2) + "\n", "question.html": question, "tests/run.sh": run}
