"""What to say when a file cannot be written or read: the disk is full, or not ours to write."""

from __future__ import annotations

import errno
from pathlib import Path

from converge.cluster.directories import CACHE_VARIABLE, STATE_VARIABLE, cache_dir, state_dir

NO_CLUSTER, OUR_FAULT = 3, 4
DISK_FULL_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def sentence(error: OSError) -> str:
    """One line: which file, what is wrong with it, and what to do."""
    what = error.strerror or str(error)
    where = f"{error.filename}: " if error.filename else ""
    place = Path(str(error.filename or ""))
    if error.errno in DISK_FULL_ERRORS:
        return f"{where}{what}. Make room on that disk and try again."
    for directory, variable in ((state_dir(), STATE_VARIABLE), (cache_dir(), CACHE_VARIABLE)):
        if place.is_relative_to(directory):
            return f"{where}{what}. Make {directory} writable, or set {variable} to a directory that is."
    return f"{where}{what}."


def exit_status(error: OSError) -> int:
    """Without its own directories there is no cluster; anything else is the grader's own error."""
    place = Path(str(error.filename or ""))
    return NO_CLUSTER if any(place.is_relative_to(each) for each in (state_dir(), cache_dir())) else OUR_FAULT
