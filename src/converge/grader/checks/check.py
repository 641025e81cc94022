"""`@check`: what makes a pytest test a graded check.

The decorator only attaches facts to the function. `plugin` decides who runs it, and `course` reads the
same facts from the file's syntax tree, so that a list of checks never needs an import.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

ATTRIBUTE = "__converge_check__"
DEFAULT_TIMEOUT = 30.0


@dataclass(frozen=True)
class Facts:
    """What `@check` says about a check; the title is the docstring's first line."""

    points: int
    section: str = ""
    incident: str = ""
    timeout: float = DEFAULT_TIMEOUT
    kubelet: bool = False
    long: bool = False


def check(
    *,
    points: int,
    section: str = "",
    incident: str = "",
    timeout: float = DEFAULT_TIMEOUT,
    kubelet: bool = False,
    long: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a pytest test a check worth `points`. Its docstring is the line that the learner reads.

    `section` is the lesson's heading that explains it (its anchor, without `#`). `incident` is a place where
    this mistake bit someone: `"OWNER/REPO#N"`, with `": what happened"` after it if you like.
    `timeout` is the limit of the whole check in seconds. `kubelet` says that the check needs Pods whose containers
    run: where they don't, the check doesn't run and is reported as `needs kind`. `long` says that it takes longer than
    most: it begins right after the lab's first check, and the others run beside it. All arguments must be literals.
    """

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        setattr(function, ATTRIBUTE, Facts(points, section, incident, timeout, kubelet, long))
        return function

    return mark
