"""Results as files for other programs: one function per format, and where to write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from converge.files import write_whole
from converge.grader.course.results import LabResult
from converge.grader.report import classroom50, gradescope, html, junit, prairielearn, vpl


def as_json(results: list[LabResult]) -> str:
    """The course's own format, `converge/result/v1`: everything there is to know."""
    return json.dumps([result.to_json() for result in results], indent=2) + "\n"


# `converge grade --format` offers all but the first two. `converge check` has an option for some.
FORMATS: dict[str, Callable[[list[LabResult]], str]] = {
    "json": as_json,
    "html": html.page,
    "gradescope": gradescope.results,
    "classroom50": classroom50.result,
    "prairielearn": prairielearn.results,
    "vpl": vpl.output,
    "junit": junit.xml,
}
ENDINGS = {"html": "html", "junit": "xml", "vpl": "txt"}  # of a file in that format; json for all others


def write(path: Path, format: str, results: list[LabResult]) -> None:
    """Write a report, whole or not at all: a grader that reads half a file gives half a grade.

    A format that has no words for a result without a grade gets no file, and an earlier one goes.
    """
    if text := FORMATS[format](results):
        write_whole(path, text)
    else:
        path.unlink(missing_ok=True)
