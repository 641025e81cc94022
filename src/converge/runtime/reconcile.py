"""The contract between a controller and a reconciler.

A reconciler gets a name, never an event: it reads the desired and the actual state and makes them agree.
Its answer says when it wants to be called again:

===========================  =====================================================================
``None`` or ``Result()``     done, until something changes
``Result(requeue_after=30)`` done for now; look again in 30 s, or earlier if something changes
an exception                 failed; again after a delay that doubles each time
``TerminalError``            failed for good; trying again is useless until someone changes the object
===========================  =====================================================================
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from converge.runtime.api.errors import RuntimeProblem


class Request(NamedTuple):
    """The name of one object to reconcile; ``namespace`` is empty for cluster-scoped kinds."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Result:
    """The answer of a pass that didn't fail."""

    #: Seconds until the object is looked at again, or ``None`` for "when something changes".
    requeue_after: float | None = None

    def __post_init__(self) -> None:
        after = self.requeue_after
        if after is not None and (isinstance(after, bool) or not isinstance(after, (int, float)) or after < 0):
            raise ValueError(f"requeue_after is a number of seconds, not {after!r}")


class TerminalError(RuntimeProblem):
    """Raised by a reconciler when trying again is useless, for instance because the spec makes no sense.

    The key is not retried, but the error is logged and counted. A change of the object
    (or of anything that is watched for it) brings it back.
    """


class Reconciler(Protocol):
    """What a controller calls, with one key at a time and never the same key twice at once."""

    def reconcile(self, request: Request) -> Result | None:
        """Bring the object named by ``request`` closer to what its spec asks for."""
        ...
