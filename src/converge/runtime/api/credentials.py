"""Who is asking: the token of the moment, and a new one when the server refuses it."""

import threading
import time
from collections.abc import Callable

from converge.runtime.api.config import ClusterConfig


class Credentials:
    """The ``Authorization`` header of the moment."""

    #: How long a header is used before the official configuration is asked again. It re-reads a
    #: ServiceAccount's token and refreshes tokens that say when they expire, but asking costs more
    #: than the rest of a request's preparation.
    good_for = 10.0
    #: Between two attempts to read the whole configuration again.
    renew_every = 1.0

    def __init__(self, config: ClusterConfig) -> None:
        self.config = config
        self._lock = threading.Lock()
        self._renewed_at = float("-inf")
        self._ask()

    def header(self) -> str | None:
        """The value of the header, or ``None`` when a client certificate (or nothing) speaks for us."""
        if time.monotonic() < self._good_until:
            return self._header
        with self._lock:
            if time.monotonic() >= self._good_until:
                self._ask()
            return self._header

    def renew(self, refused: str | None, load: Callable[[], ClusterConfig]) -> bool:
        """After a 401: load the configuration again. False when that gave nothing new."""
        with self._lock:
            if self._header != refused:
                return True  # another thread was faster
            if time.monotonic() < self._renewed_at + self.renew_every:
                return False
            self._renewed_at = time.monotonic()
            self.config = load()
            self._ask()
            # A certificate may have been renewed in its file, which only a new connection can tell.
            return self._header != refused or bool(self.config.configuration.cert_file)

    def _ask(self) -> None:
        header = self.config.configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        self._header: str | None = header.strip() if header else None
        self._good_until = time.monotonic() + self.good_for
