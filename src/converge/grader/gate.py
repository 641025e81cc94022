"""Stands in for an informer whose cache fills when the check says so. It lives in the submission's process."""

import threading


class Gate:
    """Not synced until it is opened."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.started = self.stopped = False

    def start(self) -> None:
        self.started = True

    def run(self) -> None:
        """For those who start an informer on a thread of their own."""
        self.started = True
        while not self.stopped:
            self._open.wait(0.05)

    def stop(self) -> None:
        self.stopped = True

    def has_synced(self) -> bool:
        """As an informer's."""
        return self._open.is_set()

    def open(self) -> None:
        """From now on it has synced."""
        self._open.set()
