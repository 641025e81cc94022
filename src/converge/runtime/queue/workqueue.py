"""The work queue of a controller: keys, not events, each to one worker at a time, with delays and retries.

Stacked from one idea per module: `keyqueue` (who has which key), `delayqueue` (not before its time),
`backoff` (later after each failure) and `bucket` (not too many at once).
"""

import time
from collections.abc import Callable

from converge.runtime.queue.backoff import Backoff
from converge.runtime.queue.bucket import TokenBucket
from converge.runtime.queue.delayqueue import DelayQueue, K


class WorkQueue(DelayQueue[K]):
    """A de-duplicating queue with delays and rate limits. Safe to use from many threads.

    A worker's life::

        while (key := queue.get()) is not None:
            try:
                work(key)
            except Exception:
                queue.add_rate_limited(key)
            else:
                queue.forget(key)
            finally:
                queue.done(key)

    Args:
        clock: seconds, as ``time.monotonic`` counts them.
        backoff: the delay of each key that fails; by default 5 ms, doubling, up to 1000 s.
        bucket: the limit of retries over all keys; by default 10 a second, 100 at once.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        backoff: Backoff | None = None,
        bucket: TokenBucket | None = None,
    ) -> None:
        super().__init__(clock)
        self._backoff = backoff or Backoff()
        self._bucket = bucket or TokenBucket(clock=clock)
        #: Keys added after a failure so far; for metrics.
        self.retries = 0

    def add_rate_limited(self, key: K) -> None:
        """Add ``key`` after a failure: when its own backoff and the limit over all keys allow it."""
        self.retries += 1
        self.add_after(key, max(self._backoff.next(key), self._bucket.reserve()))

    def forget(self, key: K) -> None:
        """``key`` has succeeded (or is given up): its next failure is the first again."""
        self._backoff.forget(key)

    def num_requeues(self, key: K) -> int:
        """How often ``key`` has failed since it was last forgotten."""
        return self._backoff.failures(key)
