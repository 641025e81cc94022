"""Checks of lab 05, easiest first. Each docstring is the line that the learner reads."""

import random
import threading
from pathlib import Path

import pytest

from converge.grader import Made, check, eventually, expect, fail, never
from converge.runtime import TerminalError


def key(name=None):
    """A request that no submission can know beforehand, made over there."""
    return Made("converge.runtime:Request", (f"ns-{random.randrange(10**6)}", name or f"web-{random.randrange(10**6)}"))


def name_of(request):
    return request.arguments[1]


class Bench:
    """A controller of the submission on a queue whose clock stands still, with a reconciler of the check."""

    def __init__(self, lab):
        self.lab = lab
        self.clock = lab.clock()
        self.queue = lab.resolve("converge.runtime:WorkQueue")(clock=self.clock)
        self.seen = []
        self.answer = lambda name: None
        self.controller = lab.Controller(self._reconcile, self.queue, [], workers=2)

    def _reconcile(self, request):
        self.seen.append(request[1])
        return self.answer(request[1])

    def process(self, request):
        """Add a key and let the controller process it."""
        self.queue.add(request)
        return self.controller.process_next_item()

    def waiting_after(self, seconds):
        """The name of the key that can be had after so many seconds, or None; it is let go of at once."""
        self.clock.advance(seconds)
        found = self.queue.get(timeout=0)
        if found is None:
            return None
        self.queue.done(Made("converge.runtime:Request", tuple(found)))
        return found[1]


@pytest.fixture
def bench(lab):
    return Bench(lab)


def failing(error):
    def answer(name):
        raise error

    return answer


@check(points=2, section="one-item")
def test_a_key_is_reconciled_and_let_go(bench):
    """A key is taken, reconciled once and let go of; after a shutdown there is nothing more to take."""
    request = key()
    expect(
        bench.process(request),
        True,
        when="one key was added and process_next_item() was called",
        hint="True means: there may be more. Only a queue that was shut down ends it.",
    )
    expect(bench.seen, [name_of(request)], when="one key was added", hint="Call self.reconcile(request), once.")
    bench.queue.add(request)
    expect(
        bench.queue.get(timeout=0.2),
        list(request.arguments),
        when="the same key was added again after it had been processed",
        hint="A key that is never given back with done() is never handed out again.",
    )
    bench.queue.shut_down()
    expect(
        bench.controller.process_next_item(),
        False,
        when="the queue was shut down and empty",
        hint="get() returns None then. It is no key: do not reconcile it.",
    )


@check(
    points=2, section="errors", incident="lightbend/cloudflow#424: a reconciler that failed a thousand times a second"
)
def test_errors_back_off(bench):
    """A key whose reconciliation failed comes back, later after each failure."""
    request = key()
    bench.answer = failing(ValueError("the API server is on holiday"))
    bench.process(request)
    expect(
        bench.queue.num_requeues(request),
        1,
        when="reconcile() raised ValueError",
        hint="Any exception but TerminalError: add_rate_limited(request), which counts and delays.",
    )
    expect(
        bench.waiting_after(0),
        None,
        when="it had just failed, and no time had passed",
        hint="add() would bring it back at once, and a failing key would keep a worker busy all day.",
    )
    expect(bench.waiting_after(0.2), name_of(request), when="a little time had passed", hint="It must come back.")
    bench.process(request)
    bench.process(request)
    expect(
        bench.queue.num_requeues(request), 3, when="it failed three times in a row", hint="Do not forget() failures."
    )


@check(points=2, section="errors")
def test_success_forgets(bench):
    """After a success, the next failure waits as short as the first."""
    request = key()
    bench.answer = failing(KeyError("status"))
    for _ in range(3):
        bench.process(request)
    bench.clock.advance(60)
    bench.answer = lambda name: None
    bench.process(request)
    expect(
        bench.queue.num_requeues(request),
        0,
        when="it failed three times, then succeeded",
        hint="forget(request) after a success: the row of failures has ended.",
    )
    expect(bench.waiting_after(3600), None, when="it had succeeded", hint="Done means done, until something changes.")


@check(points=2, section="later")
def test_requeue_after(bench):
    """Result(requeue_after=…) brings the key back after that time, and is no failure."""
    request, seconds = key(), random.randint(20, 90)
    bench.answer = failing(RuntimeError("not yet"))
    bench.process(request)
    bench.clock.advance(60)
    bench.answer = lambda name: Made("converge.runtime:Result", (seconds,))
    bench.process(request)
    expect(
        bench.queue.num_requeues(request),
        0,
        when=f"it failed once, then returned Result(requeue_after={seconds})",
        hint="Waiting is not failing: forget() the failures, then add_after().",
    )
    expect(
        bench.waiting_after(seconds - 1),
        None,
        when=f"it returned Result(requeue_after={seconds}) and a second less had passed",
        hint="add_after(request, result.requeue_after).",
    )
    expect(bench.waiting_after(1.5), name_of(request), when=f"{seconds} s had passed", hint="It must come back.")


@check(points=2, section="terminal", incident="kopf's documentation on errors: any error is retried, for ever")
def test_terminal_errors_are_not_retried(bench):
    """After TerminalError the key is not tried again, until somebody adds it."""
    request = key()
    bench.answer = failing(TerminalError("spec.port must be a number"))
    bench.process(request)
    expect(
        (bench.queue.num_requeues(request), bench.waiting_after(3600)),
        (0, None),
        when="reconcile() raised TerminalError, and an hour passed",
        hint="(retries, key that waits): no add_rate_limited() here; forget() and say what happened.",
    )
    bench.queue.add(request)
    expect(
        bench.queue.get(timeout=0.2),
        list(request.arguments),
        when="the object was changed, so its key was added again",
        hint="A key is given back with done() in every case, also in this one: use finally.",
    )


@check(points=2, section="owners", incident="kubernetes-sigs/kro#323: children that nobody watched")
def test_a_child_maps_to_its_owner(lab):
    """owner_of() names the WebApp that controls an object, and nobody else."""
    namespace, owner = f"ns-{random.randrange(10**6)}", f"web-{random.randrange(10**6)}"

    def child(*references):
        return {"metadata": {"name": "child", "namespace": namespace, "ownerReferences": list(references)}}

    ours = {"apiVersion": "converge.example/v1", "kind": "WebApp", "name": owner, "uid": "1", "controller": True}
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "bystander", "uid": "2"}
    foreign = {**ours, "apiVersion": "apps.example.com/v1", "name": "foreign"}
    expect(
        lab.owner_of(child(other, ours)),
        [[namespace, owner]],
        when="a Deployment had two owners, of which a WebApp was the controller",
        hint="The namespace is the child's own: an owner is never in another one.",
    )
    for obj, which in (
        ({"metadata": {"name": "child", "namespace": namespace}}, "no owner at all"),
        (child({**ours, "controller": False}), "a WebApp among its owners, but not as its controller"),
        (child({**ours, "kind": "Database"}), "a Database as its controller"),
        (child(foreign), "a WebApp of another API group as its controller"),
    ):
        expect(lab.owner_of(obj), [], when=f"a Deployment had {which}", hint="Then there is nobody to look at: [].")


@check(points=2, section="synced-before-work")
def test_workers_wait_for_the_caches(bench, lab):
    """No key is reconciled before every informer has synced."""
    gates = [lab.resolve("converge.grader.gate:Gate")() for _ in range(2)]
    controller = lab.Controller(bench._reconcile, bench.queue, gates, workers=2)
    request = key()
    bench.queue.add(request)
    running = controller.run.start()
    gates[0].open()
    eventually(
        lambda: running.finished(within=0) or all(gate.started for gate in gates),
        when="run() was called",
        expected="it starts every informer",
        hint="informer.start(), for each.",
    )
    enough = threading.Event()
    threading.Timer(0.5, enough.set).start()
    never(
        lambda: bench.seen,
        until=lambda: enough.is_set() or running.finished(within=0),
        when="one of two informers had synced, and a key waited",
        expected="no key is reconciled before both have",
        hint="Before a cache has synced, what is missing in it may only be unread. Ask has_synced() of each.",
    )
    if running.finished(within=0):
        running.result()
        fail(
            when="run() was called",
            expected="it runs until stop()",
            got="it returned",
            hint="run() starts the workers and then waits for `stopping`.",
        )
    gates[1].open()
    eventually(
        lambda: bench.seen,
        [name_of(request)],
        when="both informers had synced",
        hint="Now start the workers: each one a thread that runs work().",
    )


@check(
    points=2,
    section="stopping",
    incident="a widely read example: ShutDown is deferred behind the loop that waits for it",
)
def test_it_stops_while_workers_wait(bench, lab):
    """stop() ends run() within a second, also while the workers wait for a key; informers are stopped."""
    gate = lab.resolve("converge.grader.gate:Gate")()
    gate.open()
    controller = lab.Controller(bench._reconcile, bench.queue, [gate], workers=3)
    running = controller.run.start()
    bench.queue.add(key())
    eventually(
        lambda: bench.seen,
        when="a key was added to a running controller",
        expected="it is reconciled",
        hint="run() starts the workers once the caches have synced.",
    )
    controller.stop()
    if not running.finished(within=1.5):
        fail(
            when="stop() was called while three workers waited for a key",
            expected="run() returns within a second",
            got="it still ran 1.5 s later",
            hint="A worker in get() sleeps until the queue is shut down. Who shuts it down, and when?",
        )
    running.result()
    expect(gate.stopped, True, when="run() had returned", hint="Stop the informers, too: nobody else will.")


@check(points=2, section="stopping")
def test_work_in_hand_is_finished(bench, lab):
    """run() returns only when the reconciliation that is under way has ended; nothing else is begun."""
    held, begun = threading.Event(), threading.Event()

    def slow(name):
        begun.set()
        held.wait(5)

    bench.answer = slow
    controller = lab.Controller(bench._reconcile, bench.queue, [], workers=1)
    running = controller.run.start()
    bench.queue.add(key())
    eventually(begun.is_set, True, when="a key was added", hint="run() starts the workers.")
    bench.queue.add(key())
    controller.stop()
    early = running.finished(within=0.3)
    held.set()
    if early:
        fail(
            when="stop() was called in the middle of a reconciliation",
            expected="run() waits until it has ended",
            got="run() returned at once",
            hint="join() every worker. A process that ends now leaves half a reconciliation behind.",
        )
    running.result()
    expect(
        len(bench.seen),
        1,
        when="another key waited when stop() was called",
        hint="After stop(), a worker finishes what it has and takes nothing new: work() looks at `stopping`.",
    )


@check(points=2, section="one-item")
def test_one_key_never_runs_twice_at_once(bench, lab):
    """A key that changes while it is reconciled is reconciled again afterwards, not beside it."""
    held, begun, most, now, lock = threading.Event(), threading.Event(), [0], [0], threading.Lock()

    def slow(name):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        begun.set()
        held.wait(5)
        with lock:
            now[0] -= 1

    bench.answer = slow
    controller = lab.Controller(bench._reconcile, bench.queue, [], workers=4)
    running = controller.run.start()
    request, other = key(), key()
    bench.queue.add(request)
    eventually(begun.is_set, True, when="a key was added", hint="run() starts the workers.")
    bench.queue.add(request)
    bench.queue.add(other)
    eventually(
        lambda: name_of(other) in bench.seen,
        True,
        when="one worker was busy and another key was added",
        hint="There are four workers: the others go on.",
    )
    expect(
        bench.seen.count(name_of(request)),
        1,
        when="a key was added again while a worker reconciled it, with three workers free",
        hint="done() comes after reconcile(), not before: until then the key belongs to its worker.",
    )
    held.set()
    eventually(
        lambda: bench.seen.count(name_of(request)),
        2,
        when="the first reconciliation had ended",
        hint="done() lets the queue hand out a key that was added meanwhile.",
    )
    controller.stop()
    running.result()


@check(points=2, section="errors")
def test_a_poison_key_holds_up_nobody(bench, lab):
    """One key that always fails keeps the others from nothing, with a single worker."""
    poison, others = key(), [key() for _ in range(5)]

    def answer(name):
        if name == name_of(poison):
            raise ZeroDivisionError("this one always fails")

    bench.answer = answer
    queue = lab.resolve("converge.runtime:WorkQueue")()
    controller = lab.Controller(bench._reconcile, queue, [], workers=1)
    running = controller.run.start()
    for request in (poison, *others):
        queue.add(request)
    eventually(
        lambda: {name_of(each) for each in others} <= set(bench.seen),
        True,
        when="one key failed each time and five others waited behind it",
        seen=lambda: f"reconciled: {bench.seen[-8:]}",
        hint="An exception of reconcile() must not end the worker, nor keep it busy with one key.",
    )
    eventually(
        lambda: bench.seen.count(name_of(poison)) >= 3,
        True,
        when="the failing key was waited for",
        hint="It is tried again and again, only later each time.",
    )
    controller.stop()
    running.result()


@pytest.fixture
def own_parts(course, against):
    """Where the queue and the informer come from: the learner's own when labs are graded, else the solutions."""
    return {
        lab.slug: lab.skeleton if against == "labs" else lab.solution for lab in (course.find("03"), course.find("04"))
    }


@check(points=4, section="this-is-yours", timeout=40)
def test_an_operator_of_your_own_parts(lab, namespace, kubeconfig, recorder, own_parts):
    """A WebApp operator runs on your own queue, informer and controller."""
    load = lab.resolve("converge.lessons:load")
    queue = load(str(own_parts["03_workqueue"])).WorkQueue()
    informer = load(str(own_parts["04_informer"])).Informer
    client = lab.resolve("converge.runtime:Client")(str(kubeconfig))
    controller = lab.assemble(client, str(namespace), queue, informer)
    before = namespace.webapp(replicas=1)
    running = controller.run.start()

    def replicas(app):
        if running.finished(within=0):
            running.result()
        found = namespace.get("Deployment", app.name)
        return found and found["spec"]["replicas"]

    parts = "queue: " + Path(own_parts["03_workqueue"]).name + ", informer: " + Path(own_parts["04_informer"]).name
    eventually(
        lambda: replicas(before),
        1,
        when="a WebApp existed before the operator was started",
        seen=lambda: parts,
        hint="The informer tells of each object of its first list; the queue takes its key.",
    )
    app = namespace.webapp(replicas=2)
    eventually(
        lambda: replicas(app), 2, when="a WebApp was created", hint="watch → handler → queue → worker → reconcile."
    )
    app.edit(replicas=3)
    eventually(
        lambda: replicas(app), 3, when="its replicas were changed", hint="A key that is done can be added again."
    )
    first = namespace.get("Deployment", app.name)["metadata"]["uid"]
    namespace.delete("Deployment", app.name)
    eventually(
        lambda: (namespace.get("Deployment", app.name) or {"metadata": {"uid": first}})["metadata"]["uid"] != first,
        True,
        when="its Deployment was deleted by somebody",
        hint="The informer of the Deployments tells the key of the owner, by owner_of().",
    )
    controller.stop()
    running.result()
