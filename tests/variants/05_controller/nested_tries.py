"""A right answer of another kind: daemon threads, a timeout in get(), one try inside the other."""

import functools
import logging
import threading

from converge.operators.webapp import WEBAPP, desired_deployment
from converge.runtime import NotFound, Request, TerminalError

log = logging.getLogger(__name__)


class Controller:
    def __init__(self, reconcile, queue, informers, workers=2):
        self.reconcile = reconcile
        self.queue = queue
        self.informers = informers
        self.workers = workers
        self.ending = False
        self.wake = threading.Condition()

    def stop(self):
        with self.wake:
            self.ending = True
            self.wake.notify_all()

    def run(self):
        for each in self.informers:
            threading.Thread(target=each.start, daemon=True).start()
        with self.wake:
            while not self.ending and not all(each.has_synced() for each in self.informers):
                self.wake.wait(0.05)
        team = [threading.Thread(target=self.loop, daemon=True) for _ in range(self.workers)]
        [each.start() for each in team]
        with self.wake:
            self.wake.wait_for(lambda: self.ending)
        self.queue.shut_down()
        [each.stop() for each in self.informers]
        [each.join() for each in team]

    def loop(self):
        while not self.ending:
            if not self.process_next_item():
                break

    def process_next_item(self):
        key = self.queue.get()
        if key is None:
            return False
        try:
            try:
                answer = self.reconcile(key)
                wait = getattr(answer, "requeue_after", None)
            except TerminalError:
                log.exception("%s failed for good", key)
                wait = None
            self.queue.forget(key)
            if wait is not None:
                self.queue.add_after(key, wait)
        except Exception:
            log.exception("%s failed", key)
            self.queue.add_rate_limited(key)
        finally:
            self.queue.done(key)
        return True


def owner_of(obj):
    metadata = obj["metadata"]
    controller = next((each for each in metadata.get("ownerReferences", []) if each.get("controller")), None)
    if controller is None or (controller["apiVersion"], controller["kind"]) != WEBAPP:
        return []
    return [Request(namespace=metadata["namespace"], name=controller["name"])]


def reconcile(client, request):
    try:
        webapp = client.get(*WEBAPP, request.name, request.namespace)
    except NotFound:
        return
    deployment, metadata = desired_deployment(webapp), webapp["metadata"]
    owner = {"apiVersion": WEBAPP[0], "kind": WEBAPP[1], "name": metadata["name"], "uid": metadata["uid"]}
    deployment["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    client.apply(deployment, field_manager="lab-05", force=True)


def assemble(client, namespace, queue, informer):
    first, second = informer(client, *WEBAPP, namespace), informer(client, "apps/v1", "Deployment", namespace)
    first.add_handler(queue.add)
    second.add_handler(queue.add, owner_of)
    return Controller(functools.partial(reconcile, client), queue, [first, second])
