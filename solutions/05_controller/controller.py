"""Lab 05: the controller: watch, queue, worker, reconcile, and again.

Lesson:  docs/lessons/05_controller.md
Check:   make check LAB=05
Hint:    make hint LAB=05

``queue`` works like the one you wrote in lab 03, ``informers`` like yours from lab 04, and ``reconcile`` is the
reconciler. The last check puts your own three together with ``assemble``.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any

from converge.operators.webapp import WEBAPP, desired_deployment
from converge.runtime import Client, NotFound, Object, Request, Result, TerminalError

DEPLOYMENT = ("apps/v1", "Deployment")

log = logging.getLogger(__name__)


class Controller:
    """Calls ``reconcile`` for each key in the queue, from several threads, but never twice at once for one key."""

    def __init__(
        self, reconcile: Callable[[Request], Result | None], queue: Any, informers: list[Any], workers: int = 2
    ) -> None:
        self.reconcile = reconcile
        self.queue = queue
        self.informers = informers
        self.workers = workers
        self.stopping = threading.Event()

    def stop(self) -> None:
        """Ask ``run`` to end; returns at once."""
        self.stopping.set()

    # --8<-- [start:run]
    def run(self) -> None:
        """Start the informers, wait until all have synced, run the workers, and shut down in order after ``stop``."""
        for informer in self.informers:
            informer.start()
        while not all(informer.has_synced() for informer in self.informers):
            if self.stopping.wait(0.02):
                break
        threads = [threading.Thread(target=self.work) for _ in range(self.workers)]
        for thread in threads:
            thread.start()
        self.stopping.wait()
        for informer in self.informers:
            informer.stop()
        self.queue.shut_down()
        for thread in threads:
            thread.join()

    # --8<-- [end:run]
    def work(self) -> None:
        """Given: the loop that each worker runs."""
        while not self.stopping.is_set() and self.process_next_item():
            pass

    # --8<-- [start:process]
    def process_next_item(self) -> bool:
        """Take one key, reconcile it, and do what the answer asks for. False once the queue has been shut down."""
        request = self.queue.get()
        if request is None:
            return False
        try:
            result = self.reconcile(request)
        except TerminalError as error:
            log.error("will not be tried again: key=%s error=%r", request, error)
            self.queue.forget(request)
        except Exception as error:
            log.warning("failed, will be tried again: key=%s error=%r", request, error)
            self.queue.add_rate_limited(request)
        else:
            self.queue.forget(request)
            if result is not None and result.requeue_after is not None:
                self.queue.add_after(request, result.requeue_after)
        finally:
            self.queue.done(request)
        return True

    # --8<-- [end:process]


# --8<-- [start:owner]
def owner_of(obj: Object) -> list[Request]:
    """The WebApp to reconcile when its child ``obj`` changes: the one in its controller reference, if there is one."""
    for owner in obj["metadata"].get("ownerReferences", []):
        if owner.get("controller") and (owner["apiVersion"], owner["kind"]) == WEBAPP:
            return [Request(obj["metadata"]["namespace"], owner["name"])]
    return []


# --8<-- [end:owner]
# --8<-- [start:assemble]
def reconcile(client: Client, request: Request) -> None:
    """Given: make the Deployment what the WebApp asks for, as the WebApp's child (lessons 07 and 08)."""
    try:
        webapp = client.get(*WEBAPP, request.name, request.namespace)
    except NotFound:
        return
    deployment, metadata = desired_deployment(webapp), webapp["metadata"]
    owner = {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], "name": metadata["name"], "uid": metadata["uid"]}
    deployment["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    client.apply(deployment, field_manager="lab-05", force=True)


def assemble(client: Client, namespace: str, queue: Any, informer: Any) -> Controller:
    """Given: build a WebApp operator from a queue, two informers and your controller."""
    webapps = informer(client, *WEBAPP, namespace)
    webapps.add_handler(queue.add)
    deployments = informer(client, *DEPLOYMENT, namespace)
    deployments.add_handler(queue.add, keys=owner_of)
    return Controller(lambda request: reconcile(client, request), queue, [webapps, deployments])


# --8<-- [end:assemble]
