"""What a controller counts about itself, in plain numbers: `metrics` shows them to Prometheus when asked."""

import bisect
import threading

#: Upper bounds in seconds, as controller-runtime has them (without the longest).
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
OUTCOMES = ("success", "requeue_after", "error", "terminal_error")


class ControllerMeasures:
    """How many reconciliations ended how, and how long they took."""

    def __init__(self) -> None:
        self.outcomes = dict.fromkeys(OUTCOMES, 0)
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0
        self._lock = threading.Lock()

    def count(self, outcome: str) -> None:
        """One more reconciliation that ended so."""
        with self._lock:
            self.outcomes[outcome] += 1

    def took(self, seconds: float) -> None:
        """One more reconciliation that took so long."""
        with self._lock:
            self.buckets[bisect.bisect_left(BUCKETS, seconds)] += 1
            self.seconds += seconds
