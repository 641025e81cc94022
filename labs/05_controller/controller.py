"""Lab 05: the controller: watch, queue, worker, reconcile, and again.

Lesson:  docs/lessons/05_controller.md
Check:   make check LAB=05
Hint:    make hint LAB=05

``queue`` works like the one you wrote in lab 03, ``informers`` like yours from lab 04, and ``reconcile`` is the
reconciler. The last check puts your own three together with ``assemble``.
"""

import threading
from collections.abc import Callable
from typing import Any

from converge.operators.webapp import WEBAPP, desired_deployment
from converge.runtime import Client, NotFound, Object, Request, Result  # and TerminalError

DEPLOYMENT = ("apps/v1", "Deployment")


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

    def run(self) -> None:
        """Start the informers, wait until all have synced, run the workers, and shut down in order after ``stop``."""
        # TODO 1: ``stopping.wait(seconds)`` sleeps until ``stop`` or the timeout, and returns whether it was ``stop``.
        #         ``queue.shut_down()`` wakes a worker that sleeps in ``get``. Return when every worker has finished
        #         the pass it was in.
        raise NotImplementedError("TODO 1: Controller.run")

    def work(self) -> None:
        """Given: the loop that each worker runs."""
        while not self.stopping.is_set() and self.process_next_item():
            pass

    def process_next_item(self) -> bool:
        """Take one key, reconcile it, and do what the answer asks for. False once the queue has been shut down."""
        # TODO 2: ``None`` or ``Result()``: done. ``Result(requeue_after=5)``: again in 5 s (0 is a time as well).
        #         ``TerminalError``: log it, don't try again. Any other exception: log it and try again, later each
        #         time. A ``print`` with the key and the error will do as a log.
        raise NotImplementedError("TODO 2: Controller.process_next_item")


def owner_of(obj: Object) -> list[Request]:
    """The WebApp to reconcile when its child ``obj`` changes: the one in its controller reference, if there is one."""
    # TODO 3: in ``metadata.ownerReferences``, find the one with ``controller: true``. Is it a WebApp of our API group?
    raise NotImplementedError("TODO 3: owner_of")


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
