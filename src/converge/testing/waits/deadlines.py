"""How long is long enough? On a busy machine, what takes a second takes several.

Every deadline goes through `scaled`, so that a right answer doesn't fail because something else is running, and a wrong
one doesn't keep its author waiting longer than it must.
"""

from __future__ import annotations

import os

LARGEST_SCALE = 6.0
# Scales the deadlines of what is expected to fail. The environment sets it for a whole run, the plugin for each check.
DEFAULT_FACTOR = float(os.environ.get("CONVERGE_DEADLINE_FACTOR", 1.0))
deadline_factor = DEFAULT_FACTOR


def scaled(seconds: float) -> float:
    """This number of seconds, longer when more processes want to run than there are processors."""
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return seconds * min(max(load, 1.0), LARGEST_SCALE)


def shortened(seconds: float) -> float:
    """Like `scaled`, times `deadline_factor`: `verify` gives mutants half the usual time, as they should fail."""
    return scaled(seconds) * deadline_factor
