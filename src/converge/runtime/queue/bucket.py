"""How many retries a second there may be over all keys together: a token bucket.

Backoff slows down one key that fails. When every key fails, because the API server or a database is down,
ten thousand patient keys are still a storm; the bucket turns it into a stream.
"""

import threading
import time
from collections.abc import Callable


class TokenBucket:
    """Hands out ``rate`` tokens a second, and up to ``burst`` at once after a quiet time.

    Tokens can be taken in advance: `reserve` says how long to wait until the token is there, and it is
    spoken for from then on. The defaults are client-go's. ``rate=math.inf`` lets everything pass.
    """

    def __init__(self, rate: float = 10.0, burst: int = 100, clock: Callable[[], float] = time.monotonic) -> None:
        if not (rate > 0 and burst >= 1):
            raise ValueError(f"a token bucket needs rate > 0 and burst >= 1, got rate={rate}, burst={burst}")
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        self._tokens = self._burst
        self._counted_at = clock()
        self._lock = threading.Lock()

    def reserve(self) -> float:
        """Take a token and return the seconds until it may be used; 0.0 while there are some left."""
        with self._lock:
            now = self._clock()
            if now > self._counted_at:
                self._tokens = min(self._burst, self._tokens + (now - self._counted_at) * self._rate)
                self._counted_at = now
            self._tokens -= 1
            return max(0.0, -self._tokens / self._rate)
