"""How long is long enough? On a machine that has too much to do, what takes a second takes several.

Every deadline of the grader goes through `patience`, so that a right answer does not fail because something else is
running, and a wrong one does not keep its author waiting longer than it must.
"""

from __future__ import annotations

import os

MOST = 6.0
hurry = 1.0  # the part of its time that is given to what is sure not to come; set for each check by the plugin


def patience(seconds: float) -> float:
    """A deadline of so many seconds, longer when more processes want to run than there are processors."""
    crowd = os.getloadavg()[0] / (os.cpu_count() or 1)
    return seconds * min(max(crowd, 1.0), MOST)


def hurried(seconds: float) -> float:
    """The same for something that may be sure not to come: `verify` gives a mutant half the time that others get."""
    return patience(seconds) * hurry
