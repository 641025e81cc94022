"""How often an operator looks around by the clock: seen on one that's left alone while the attacks are made elsewhere.

One that heals its children by a timer is silent between two looks, and its silence doesn't mean that it has given up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from converge.audit.learn import Learned
    from converge.audit.testbed import AuditTestbed
    from converge.recorder import RecordedRequest

WATCHED = 65.0  # seconds: many timers ring every 30 or every 60
WAITED_FOR = 35.0  # seconds for which verdicts wait, if they hang on it
ANSWERS_WITHIN = 2.0  # seconds after an event in which a request is an answer to it


class Clock:
    """Watches an operator at rest, and tells `learned` what it sees; then the operator is ended.

    Its testbed is closed by `close`, since that has to be done in the thread that has made it.
    """

    def __init__(self, testbed: AuditTestbed, learned: Learned, close_testbed: Callable[[], None]) -> None:
        self.testbed = testbed
        self.learned = learned
        self._close_testbed = close_testbed
        self._began = time.monotonic()
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="clock", daemon=True)
        self._thread.start()

    @property
    def undecided(self) -> bool:
        """Whether it's too early to say that the operator has no timer."""
        return self._thread.is_alive() and time.monotonic() - self._began < WAITED_FOR

    def close(self) -> None:
        self._enough.set()
        self._thread.join()
        self._close_testbed()

    def _watch(self) -> None:
        operator = self.testbed.audited_operator
        recorder, mark = operator.recorder, operator.recorder.mark()
        while not self._enough.wait(1.0) and time.monotonic() - self._began < WATCHED:
            asked = [each for each in recorder.since(mark).requests if not operator.ignored(each)]
            events = [each.time for each in recorder.events if each.namespace == operator.namespace.name]
            self.learned.looks_every(longest_pause(asked, events, mark, recorder.mark()))
        operator.crash()


def longest_pause(asked: Sequence[RecordedRequest], events: Sequence[float], since: float, until: float) -> float:
    """The longest pause between requests that no event has led to; 0 if there were none."""

    def answers(moment: float) -> bool:
        return any(0 <= moment - each < ANSWERS_WITHIN for each in events)

    moments = [each.time for each in asked if each.resource and not each.is_watch and not answers(each.time)]
    edges = [since, *moments, until]
    return max(later - earlier for earlier, later in pairwise(edges)) if moments else 0.0
