"""Exceptions that ended a thread of a submission, as Python prints them."""

import re

HEADER = re.compile(
    r"^Exception in thread .*\n((?:(?:[ \t]+.*|Traceback .*)?\n)*)([A-Za-z_][\w.]*(?:: .*)?)$", re.MULTILINE
)
PLACE = re.compile(r'^  File "(.+)", line (\d+), in (\S+)', re.MULTILINE)


def thread_errors(printed: str, file: str) -> list[str]:
    """One line for each: the exception, and the last line of `file` that it came through. The same one comes once."""
    found = []
    for traceback, error in HEADER.findall(printed):
        places = [(path, line, name) for path, line, name in PLACE.findall(traceback) if path.endswith(f"/{file}")]
        where = f", at line {places[-1][1]} of {file}, in {places[-1][2]}()" if places else ""
        found.append(f"a thread of yours has ended: {error[:300]}{where}")
    return list(dict.fromkeys(found))
