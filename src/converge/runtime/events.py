"""Events: short notes about an object for people. ``kubectl describe`` shows them; the server deletes them in an hour.

An Event isn't a record: nothing may depend on it. What has to be known later belongs in a condition of the status.
"""

import hashlib
import logging
import time
from datetime import UTC, datetime
from typing import Literal

from converge.runtime.api.client import Client, Object
from converge.runtime.api.errors import AlreadyExists, ApiError

log = logging.getLogger("converge.events")

#: Seconds after which the API server forgets an Event, by default.
KEPT_FOR = 3600.0


class EventRecorder:
    """Makes Events, each note once: a reconcile that keeps finding the same thing doesn't repeat itself.

    Args:
        client: to write them with.
        component: who the Events come from.
    """

    def __init__(self, client: Client, component: str) -> None:
        self.client = client
        self.component = component
        self._said: dict[str, float] = {}

    def event(self, about: Object, reason: str, message: str, type: Literal["Normal", "Warning"] = "Normal") -> None:
        """Note something ``about`` an object: ``reason`` is one word for programs, ``message`` a line for people.

        If the Event can't be written, that's logged: no reconcile fails because of a note.
        """
        event = self._made(about, reason, message, type)
        key, now = event["metadata"]["name"], time.monotonic()
        if now - self._said.get(key, -KEPT_FOR) < KEPT_FOR:
            return
        try:
            self.client.create(event)
        except AlreadyExists:
            pass  # said in an earlier life of this operator: the name is made of the words
        except ApiError as error:
            log.warning("an Event could not be written: %s", error)
            return
        self._said = {key: said for key, said in self._said.items() if now - said < KEPT_FOR} | {key: now}

    def _made(self, about: Object, reason: str, message: str, type: str) -> Object:
        metadata = about["metadata"]
        words = "\n".join((metadata["uid"], type, reason, message))
        name = f"{metadata['name'][:200]}.{hashlib.sha256(words.encode()).hexdigest()[:16]}"
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        identity = {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion") if key in metadata}
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": metadata.get("namespace", "default")},
            "involvedObject": {"apiVersion": about["apiVersion"], "kind": about["kind"], **identity},
            "type": type,
            "reason": reason,
            "message": message,
            "source": {"component": self.component},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
