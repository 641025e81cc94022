"""Lab 05: the controller: watch, queue, worker, reconcile, and again.

Lesson:  docs/lessons/05_controller.md
Check:   make check LAB=05
Hint:    make hint LAB=05

``queue`` is one like yours of lab 03, ``informers`` are like yours of lab 04, and ``reconcile`` is the reconciler. The
last check puts your own three together with ``assemble``.
"""

import threading
from collections.abc import Callable
from typing import Any

from converge.runtime import Client, NotFound, Object, Request, Result
from converge.webapp import WEBAPP, desired_deployment

DEPLOYMENT = ("apps/v1", "Deployment")


class Controller:
    """Calls ``reconcile`` for each key in the queue, from several threads, never for one key twice at once."""

    def __init__(
        self, reconcile: Callable[[Request], Result | None], queue: Any, informers: list[Any], workers: int = 2
    ) -> None:
        self.reconcile = reconcile
        self.queue = queue
        self.informers = informers
        self.workers = workers
        self.stopping = threading.Event()

    def stop(self) -> None:
        """Ask ``run`` to end. Returns at once."""
        self.stopping.set()

    def run(self) -> None:
        """Start the informers, wait until all have synced, let the workers work, and at ``stop`` end in order."""
        # TODO 1: ``stopping.wait(seconds)`` waits and tells. A worker that sleeps in ``get`` is woken by
        #         ``queue.shut_down()``. Return when every worker has finished what it had in hand.
        raise NotImplementedError("TODO 1: Controller.run")

    def work(self) -> None:
        """Given: what each worker does."""
        while not self.stopping.is_set() and self.process_next_item():
            pass

    def process_next_item(self) -> bool:
        """Take one key, reconcile it, and do what the answer asks for. False when the queue has been shut down."""
        # TODO 2: ``None`` or ``Result()``: done. ``Result(requeue_after=5)``: again in 5 s.
        #         ``TerminalError``: not again, but say so. Any other exception: again, later each time.
        raise NotImplementedError("TODO 2: Controller.process_next_item")


def owner_of(obj: Object) -> list[Request]:
    """The WebApp to look at when ``obj``, a child, changes: the one that its controller reference names, if any."""
    # TODO 3: ``metadata.ownerReferences``: the one with ``controller: true``, if it is a WebApp of ours.
    raise NotImplementedError("TODO 3: owner_of")


def reconcile(client: Client, request: Request) -> None:
    """Given: make the Deployment what the WebApp asks for, as its child (lessons 07 and 08)."""
    try:
        webapp = client.get(*WEBAPP, request.name, request.namespace)
    except NotFound:
        return
    deployment, metadata = desired_deployment(webapp), webapp["metadata"]
    owner = {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], "name": metadata["name"], "uid": metadata["uid"]}
    deployment["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    client.apply(deployment, field_manager="lab-05", force=True)


def assemble(client: Client, namespace: str, queue: Any, informer: Any) -> Controller:
    """Given: a WebApp operator out of a queue, two informers and your controller."""
    webapps = informer(client, *WEBAPP, namespace)
    webapps.add_handler(queue.add)
    deployments = informer(client, *DEPLOYMENT, namespace)
    deployments.add_handler(queue.add, keys=owner_of)
    return Controller(lambda request: reconcile(client, request), queue, [webapps, deployments])
