"""A right answer of another kind: the outcome of a pass is data, and a table says what each outcome does."""

import threading
from concurrent.futures import ThreadPoolExecutor

from converge.operators.webapp import WEBAPP, desired_deployment
from converge.runtime import NotFound, Request, TerminalError


class Controller:
    def __init__(self, reconcile, queue, informers, workers=2):
        self._reconcile, self._queue, self._informers, self._workers = reconcile, queue, informers, workers
        self._over = threading.Event()

    def stop(self):
        self._over.set()
        self._queue.shut_down()

    def run(self):
        for informer in self._informers:
            informer.start()
        for informer in self._informers:
            while not informer.has_synced() and not self._over.wait(0.01):
                pass
        with ThreadPoolExecutor(self._workers) as pool:
            for _ in range(self._workers):
                pool.submit(self._work)
            self._over.wait()
            for informer in self._informers:
                informer.stop()

    def _work(self):
        while not self._over.is_set() and self.process_next_item():
            continue

    def _outcome(self, request):
        try:
            result = self._reconcile(request)
        except TerminalError as error:
            print(f"giving up {request}: {error}")
            return "final", None
        except BaseException as error:
            print(f"again later {request}: {error!r}")
            return "failed", None
        return ("done", None) if result is None or result.requeue_after is None else ("later", result.requeue_after)

    def process_next_item(self):
        request = self._queue.get()
        if request is None:
            return False
        outcome, delay = self._outcome(request)
        if outcome == "failed":
            self._queue.add_rate_limited(request)
        else:
            self._queue.forget(request)
        if outcome == "later":
            self._queue.add_after(request, delay)
        self._queue.done(request)
        return True


def owner_of(obj):
    owners = obj["metadata"].get("ownerReferences") or ()
    return [
        Request(obj["metadata"]["namespace"], owner["name"])
        for owner in owners
        if owner.get("controller") is True and owner["kind"] == WEBAPP[1] and owner["apiVersion"] == WEBAPP[0]
    ]


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
    webapps, deployments = informer(client, *WEBAPP, namespace), informer(client, "apps/v1", "Deployment", namespace)
    webapps.add_handler(queue.add)
    deployments.add_handler(queue.add, keys=owner_of)
    return Controller(lambda request: reconcile(client, request), queue, [webapps, deployments])
