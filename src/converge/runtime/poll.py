"""The plainest controller there can be: list, reconcile each, wait, again.

It's correct, and the rest of this package improves on it: it asks for everything each time, learns about
a change late, and does one thing after the other.
"""

import logging
import os
import threading
from collections.abc import Callable

from converge.runtime.api.client import Client
from converge.runtime.api.errors import ApiError
from converge.runtime.informers.store import request_for
from converge.runtime.logs import current_request, log_failure
from converge.runtime.reconcile import Request

log = logging.getLogger("converge.poll")


class Poll:
    """Calls ``reconcile(client, request)`` for every object of a kind, once per interval.

    An object that has disappeared is reconciled once more, so that its reconciler finds out.

    Args:
        every: seconds between the end of a pass and the next one. ``POLL_SECONDS`` in the environment, where it's set,
            takes its place: tests don't want to wait.
    """

    def __init__(
        self, api_version: str, kind: str, reconcile: Callable[[Client, Request], object], every: float = 0.5
    ) -> None:
        self.api_version = api_version
        self.kind = kind
        self._reconcile = reconcile
        self._every = float(os.environ.get("POLL_SECONDS", every))
        self._known: set[Request] = set()

    def run(self, client: Client, stopping: threading.Event, namespace: str | None = None) -> None:
        """Pass after pass, until ``stopping`` is set."""
        while not stopping.is_set():
            self.one_pass(client, stopping, namespace)
            stopping.wait(self._every)

    def one_pass(self, client: Client, stopping: threading.Event, namespace: str | None = None) -> None:
        """List the objects and reconcile each. If one fails, the others still get their turn."""
        try:
            listed = [request_for(obj) for obj in client.list(self.api_version, self.kind, namespace)]
        except ApiError as error:
            log.error("%s", error)
            return
        for request in [*listed, *sorted(self._known.difference(listed))]:
            if stopping.is_set():
                return
            token = current_request.set((self.kind.lower(), request))
            try:
                self._reconcile(client, request)
            except Exception as error:
                log_failure(log, "failed: %s", error)
            finally:
                current_request.reset(token)
        self._known = set(listed)
