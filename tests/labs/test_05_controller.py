"""Checks of lab 05, easiest first. Each docstring is the line that the learner reads."""

import random
import threading
from pathlib import Path

import pytest

from converge import runtime
from converge.grader import NewObject, check, eventually, expect, fail, never
from converge.grader.library.errors import InvalidPortError, QuotaUsedUpError
from converge.runtime import TerminalError

DOUBLES = "converge.grader.library.doubles:"
REFUSALS = sorted(
    (each for each in vars(runtime).values() if isinstance(each, type) and issubclass(each, runtime.ApiError)),
    key=lambda each: each.__name__,
)  # whatever a request can end with


def key(name=None):
    """A request that no submission can know beforehand, made over there."""
    return NewObject(
        "converge.runtime:Request", (f"ns-{random.randrange(10**6)}", name or f"web-{random.randrange(10**6)}")
    )


def name_of(request):
    return request.arguments[1]


class Bench:
    """A controller of the submission on a queue whose clock stands still, with a reconciler of the check."""

    def __init__(self, lab):
        self.lab = lab
        self.clock = lab.clock()
        self.queue = lab.resolve(DOUBLES + "queue_with_instant_timeouts")(self.clock)
        self.seen = []
        self.answer = lambda name: None
        self.runs = []
        self.controller = lab.Controller(self._reconcile, self.queue, [], workers=2)

    def _reconcile(self, request):
        self.seen.append(request[1])
        return self.answer(request[1])

    def process(self, request):
        """Add a key and let the controller process it."""
        self.queue.add(request)
        return self.controller.process_next_item()

    def waiting_after(self, seconds):
        """The name of the key that can be had after that time, or None; it is let go of at once."""
        self.clock.advance(seconds)
        found = self.queue.get(timeout=0)
        if found is None:
            return None
        self.queue.done(NewObject("converge.runtime:Request", tuple(found)))
        return found[1]

    def run(self, gates=(), workers=2):
        """Run a controller on this queue; it counts as running once it has started its informers."""
        running = Running(self, self.lab.Controller(self._reconcile, self.queue, list(gates), workers=workers))
        self.runs.append(running)
        eventually(
            lambda: running.call.finished(within=0) or all(gate.started for gate in gates),
            when="run() was called",
            expected="it starts every informer",
            hint="informer.start(), for each.",
        )
        return running

    def gates(self, count):
        """Informers that sync when the check opens them."""
        return [self.lab.resolve(DOUBLES + "ManuallySyncedInformer")() for _ in range(count)]

    def sees(self, request, when, hint, times=1):
        """Wait until reconcile() has been called that often with a key. If run() raises, that's what is reported."""

        def often_enough():
            for each in self.runs:
                if each.call.finished(within=0):
                    each.call.result()
            return self.seen.count(name_of(request)) >= times

        eventually(
            often_enough,
            True,
            within=5,
            when=when,
            expected="the key is reconciled" if times == 1 else f"the key is reconciled {times} times",
            seen=lambda: f"reconciled: {self.seen[-8:]}",
            hint=hint,
        )


class Running:
    """A controller whose run() was called."""

    def __init__(self, bench, controller):
        self.bench, self.controller = bench, controller
        self.call = controller.run.start()

    def still_runs(self):
        """Say so if run() has ended, which it must not before stop()."""
        if self.call.finished(within=0):
            self.call.result()
            fail(
                when="run() was called",
                expected="it runs until stop()",
                got="it returned",
                hint="run() starts the workers and then waits for `stopping`.",
            )

    def ends(self, gates, when, hint):
        """run() returns soon after stop(), with its informers stopped and its queue shut down."""
        if not self.call.finished(within=1.5):
            fail(when=when, expected="run() returns within a second", got="it still ran 1.5 s later", hint=hint)
        self.call.result()
        expect(
            [f"informer {number} was not stopped" for number, gate in enumerate(gates, 1) if not gate.stopped],
            [],
            when=f"{when}, and run() had returned",
            expected="stop() of every informer was called",
            hint="Stop every informer, also after an early stop: nothing else will.",
        )
        waiting = len(self.bench.queue)
        self.bench.queue.add(key())
        expect(
            len(self.bench.queue) - waiting,
            0,
            when=f"{when}, and a key was added after run() had returned; how many keys more are in line",
            expected="the queue takes no more keys",
            hint="queue.shut_down(), also after an early stop.",
        )


@pytest.fixture
def bench(lab):
    return Bench(lab)


def failing(error):
    def answer(name):
        raise error

    return answer


@check(points=2, section="one-item")
def test_a_key_is_reconciled_and_let_go(bench):
    """A key is taken, reconciled once and given back; after a shutdown there is nothing more to take."""
    request = key()
    expect(
        bench.process(request),
        True,
        expected="process_next_item() returns True",
        when="one key was added and process_next_item() was called",
        hint="True means that there may be more. Only a queue that was shut down ends the worker.",
    )
    expect(bench.seen, [name_of(request)], when="one key was added", hint="Call self.reconcile(request), once.")
    bench.queue.add(request)
    expect(
        bench.queue.get(timeout=0.2),
        list(request.arguments),
        when="the same key was added again after it had been processed",
        hint="A key that is never given back with done() is never handed out again.",
    )
    expect(
        bench.queue.given_back,
        1,
        when="one key was added and reconciled; calls of done()",
        hint="Give a key back once, after its pass. By the second time another worker may have it, and then a third "
        "one gets it as well.",
    )
    bench.queue.shut_down()
    expect(
        bench.controller.process_next_item(),
        False,
        expected="process_next_item() returns False",
        when="the queue was shut down and empty",
        hint="get() returns None then. That is not a key: don't reconcile it.",
    )


@check(points=2, section="errors", incident="kubernetes/kubernetes#27634: a controller that retried without a pause")
def test_errors_back_off(bench):
    """A key whose reconciliation failed comes back, whatever the error was, and later after each failure."""
    for error in (
        ValueError("no number"),
        TimeoutError("no answer"),
        AssertionError(),  # as a bare `assert` raises it: an exception need not say anything
        QuotaUsedUpError("six of five WebApps"),
        *(refusal("patch Deployment", "refused") for refusal in REFUSALS),
    ):
        request, what = key(), type(error).__name__
        bench.answer = failing(error)
        expect(
            bench.process(request),
            True,
            when=f"reconcile() raised {what}",
            expected="process_next_item() returns True",
            hint="A failure doesn't end the worker: there may be more keys.",
        )
        expect(
            bench.queue.num_requeues(request),
            1,
            when=f"reconcile() raised {what}",
            expected="1 failure is counted (num_requeues)",
            hint="Any exception but TerminalError: add_rate_limited(request), which counts and delays.",
        )
        expect(
            bench.waiting_after(0),
            None,
            when=f"reconcile() had just raised {what}, and no time had passed",
            hint="add() would bring it back at once, and a failing key would keep a worker busy all day.",
        )
        expect(
            bench.waiting_after(0.2),
            name_of(request),
            when=f"reconcile() had raised {what}, and a little time had passed",
            hint="It must come back: add_rate_limited(), and done() in every case.",
        )
    for more, failures in ((2, 3), (47, 50)):
        for _ in range(more):
            bench.process(request)
        expect(
            bench.queue.num_requeues(request),
            failures,
            when=f"it failed {failures} times in a row",
            expected=f"{failures} failures are counted (num_requeues)",
            hint="Don't forget() failures, and don't give up after a few: an outage may last longer, and nothing "
            "else brings the key back.",
        )


@check(points=2, section="errors")
def test_success_forgets(bench):
    """After a success, the next failure waits no longer than the first one did."""
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
        hint="forget(request) after a success: the streak of failures is over.",
    )
    expect(bench.waiting_after(3600), None, when="it had succeeded", hint="Done means done until something changes.")
    bench.answer = lambda name: NewObject("converge.runtime:Result")
    bench.process(request)
    expect(
        bench.waiting_after(3600),
        None,
        when="reconcile() returned Result(), and an hour passed",
        hint="requeue_after=None makes no promise to look again. Done means done.",
    )


@check(points=2, section="later")
def test_requeue_after(bench):
    """Result(requeue_after=…) brings the key back after that time, 0 included, and doesn't count as a failure."""
    request, seconds = key(), random.randint(1000, 9000) + 0.5
    bench.answer = failing(RuntimeError("not yet"))
    bench.process(request)
    bench.clock.advance(60)
    bench.answer = lambda name: NewObject("converge.runtime:Result", (seconds,))
    bench.process(request)
    expect(
        bench.queue.num_requeues(request),
        0,
        when=f"it failed once, then returned Result(requeue_after={seconds})",
        hint="Waiting is not failing: forget() the failures, then add_after().",
    )
    expect(
        bench.waiting_after(seconds - 0.25),
        None,
        when=f"it returned Result(requeue_after={seconds}) and a quarter of a second less had passed",
        hint="add_after(request, result.requeue_after).",
    )
    expect(bench.waiting_after(0.5), name_of(request), when=f"{seconds} s had passed", hint="It must come back.")
    bench.answer = lambda name: NewObject("converge.runtime:Result", (0,))
    bench.process(request)
    expect(
        bench.waiting_after(0),
        name_of(request),
        when="it returned Result(requeue_after=0), and no time had passed",
        hint="0 is a time like any other: look again at once. Only None means that no one asked.",
    )


@check(
    points=2,
    section="terminal",
    incident="kopf's documentation on errors: by default, every exception is retried, without limit",
)
def test_terminal_errors_are_not_retried(bench):
    """After TerminalError the key is not tried again until it is added again, and its failures are forgotten."""
    request = key()
    bench.answer = failing(ValueError("the API server is on holiday"))
    for _ in range(2):
        bench.process(request)
    expect(bench.waiting_after(60), name_of(request), when="it had failed twice", hint="It must come back.")
    bench.answer = failing(TerminalError("spec.port must be a number"))
    expect(
        bench.process(request),
        True,
        when="reconcile() raised TerminalError",
        expected="process_next_item() returns True",
        hint="One impossible object doesn't end the worker: there may be more keys.",
    )
    expect(
        (bench.queue.num_requeues(request), bench.waiting_after(3600)),
        (0, None),
        when="a key failed twice, then reconcile() raised TerminalError, and an hour passed",
        hint="(failures counted, key that waits): no add_rate_limited() here; forget() and say what happened.",
    )
    special = key()
    bench.answer = failing(InvalidPortError("spec.port must be a number"))
    bench.process(special)
    expect(
        (bench.queue.num_requeues(special), bench.waiting_after(3600)),
        (0, None),
        when="reconcile() raised InvalidPortError, a subclass of TerminalError, and an hour passed",
        hint="(failures counted, key that waits): every subclass of TerminalError counts as one. `except` and "
        "isinstance() know that; comparing type() doesn't.",
    )
    bench.queue.add(request)
    expect(
        bench.queue.get(timeout=0.2),
        list(request.arguments),
        when="the object was changed, so its key was added again",
        hint="Give the key back with done() in every case, including this one: use finally.",
    )


@check(points=2, section="owners", incident="kubernetes-sigs/kro#323: children that weren't watched")
def test_a_child_maps_to_its_owner(lab):
    """owner_of() names the WebApp that controls an object, and no other owner."""
    namespace, owner = f"ns-{random.randrange(10**6)}", f"web-{random.randrange(10**6)}"

    def child(*references):
        return {"metadata": {"name": "child", "namespace": namespace, "ownerReferences": list(references)}}

    ours = {"apiVersion": "converge.example/v1", "kind": "WebApp", "name": owner, "uid": "1", "controller": True}
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "bystander", "uid": "2"}
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
        (child({**ours, "apiVersion": "apps.example.com/v1"}), "a WebApp of another API group as its controller"),
        (
            child({**ours, "apiVersion": "converge.example.org/v1"}),
            "a WebApp of another API group, converge.example.org, as its controller",
        ),
        (child({**ours, "apiVersion": "v1", "kind": "ReplicationController"}), "a ReplicationController (v1)"),
        (
            child({**ours, "controller": False}, {**ours, "kind": "Database", "name": "other"}),
            "a WebApp among its owners, and a Database as its controller",
        ),
    ):
        expect(lab.owner_of(obj), [], when=f"a Deployment had {which}", hint="Then there's no key to add: return [].")


@check(points=2, section="synced-before-work")
def test_workers_wait_for_the_caches(bench):
    """No key is reconciled before every informer has synced."""
    gates, request = bench.gates(2), key()
    bench.queue.add(request)
    gates[0].open()
    hurried = bench.lab.resolve(DOUBLES + "InstantSleep")()
    running = bench.run(gates)
    # A limit may count looks or seconds: so first many short waits, then, all at once, a day and a few looks after it.
    for looks, seconds, what in ((20_000, 300, "some minutes"), (100, 0, "a day")):
        enough = hurried.waits + looks
        never(
            lambda: bench.seen,
            until=lambda enough=enough, seconds=seconds: (
                (hurried.waits >= enough and hurried.waited >= seconds) or running.call.finished(within=0)
            ),
            within=2,  # enough for one that looks without a pause: it has nothing that could be hurried
            when=f"one of two informers had synced, a key waited, and the other informer took {what}",
            expected="no key is reconciled before both have",
            hint="Before a cache has synced, what is missing in it may only be unread. Ask has_synced() of each, for "
            "as long as it takes.",
        )
        running.still_runs()
        hurried.oversleep(86_400)
    gates[1].open()
    bench.sees(
        request,
        when="both informers had synced",
        hint="Now start the workers: each one a thread that runs work().",
    )


@check(
    points=2,
    section="stopping",
    incident="vmware-archive/kubewatch, controller.go: ShutDown is deferred until after the loop that waits for it",
)
def test_it_stops_while_workers_wait(bench):
    """Workers wait for a key as long as it takes; stop() ends run() within a second, and stops the informers."""
    gates, request = bench.gates(1), key()
    gates[0].open()
    running = bench.run(gates, workers=3)
    eventually(lambda: bench.queue.timed_out >= 3, within=0.6)  # of workers that don't wait as long as it takes
    bench.queue.add(request)
    bench.sees(
        request,
        when="three workers had waited for a while, and a key was added",
        hint="run() starts the workers once the caches have synced. Only a queue that is shut down ends a worker: a "
        "get() without a timeout waits as long as it takes.",
    )
    running.still_runs()
    running.controller.stop()
    running.ends(
        gates,
        when="stop() was called while three workers waited for a key",
        hint="A worker in get() sleeps until the queue is shut down. Who shuts it down, and when?",
    )


@check(points=2, section="stopping")
def test_it_stops_before_the_caches_are_full(bench):
    """stop() ends run() while an informer has not synced, stops the informers, and no key is reconciled."""
    gates = bench.gates(2)
    gates[0].open()
    bench.queue.add(key())
    running = bench.run(gates)
    running.controller.stop()
    running.ends(
        gates,
        when="stop() was called while run() waited for an informer that never synced",
        hint="Wait with stopping.wait(seconds), and stop waiting for the caches once it returns True.",
    )
    expect(
        bench.seen,
        [],
        when="stop() was called while one of two informers had not synced, and a key waited",
        expected="no key is reconciled",
        hint="An early stop takes the same steps as a late one, just without any work.",
    )
    controller = bench.lab.Controller(bench._reconcile, bench.queue, [], workers=2)
    controller.stop()
    if not controller.run.start().finished(within=1.5):
        fail(
            when="stop() was called right before run()",
            expected="run() returns within a second",
            got="it still ran 1.5 s later",
            hint="stop() sets a flag, and run() looks at it. Nothing may take it back.",
        )


@check(points=2, section="stopping")
def test_work_in_hand_is_finished(bench):
    """After stop(), run() waits for every pass that has begun, and no other begins."""
    hint = "join() every worker, without a limit. A process that ends now leaves half a reconciliation behind."
    # Each worker has to be waited for. Who takes which key is chance: of eight, the one whose pass goes on is hardly
    # the same thread twice.
    for workers, last, patience in ((1, 0, 1.3), (8, 0, 0.2), (8, 7, 0.2)):
        held = {}
        bench.answer = lambda name, held=held: held[name].wait() and None
        gates, requests = bench.gates(1), [key() for _ in range(workers)]
        held.update({name_of(each): threading.Event() for each in requests})
        gates[0].open()
        running = bench.run(gates, workers=workers)
        try:
            for request in requests:
                bench.queue.add(request)
                bench.sees(request, when="a key was added to a running controller", hint="run() starts the workers.")
            waits = key()
            held[name_of(waits)] = threading.Event()
            bench.queue.add(waits)
            running.controller.stop()
            when = f"stop() was called while {'the only worker' if workers == 1 else 'each of eight workers'} had a key"
            eventually(
                lambda gates=gates: gates[0].stopped,
                True,
                within=2,
                when=when,
                expected="the informers are stopped before the passes have ended",
                hint="First stop the informers, so that nothing new comes in. Then shut down the queue and join.",
            )
            for number, request in enumerate(requests):
                if number != last:
                    held[name_of(request)].set()
            if running.call.finished(within=patience):
                fail(
                    when=when + (", and all but one had finished" if workers > 1 else ""),
                    expected="run() waits until every pass has ended",
                    got=f"run() returned within {patience} s",
                    hint=hint,
                )
        finally:
            for each in held.values():
                each.set()
        running.call.result()
        expect(
            bench.seen.count(name_of(waits)),
            0,
            when="another key waited when stop() was called",
            expected="it isn't reconciled anymore",
            hint="After stop(), a worker finishes what it has and takes nothing new: work() looks at `stopping`.",
        )
        bench = Bench(bench.lab)


@check(points=2, section="log-it-or-raise-it")
def test_failures_are_logged(bench, lab):
    """Each failure is logged, with the key and the error; one that is not tried again is logged as well."""
    lab.resolve("converge.grader.library.doubles:show_logs")()
    for error in (ValueError, TerminalError):
        request, reason = key(), f"reason-{random.randrange(10**6)}"
        bench.answer = failing(error(reason))
        bench.process(request)
        for what, text in (("the error", reason), ("the key", name_of(request))):
            eventually(
                lambda text=text: text in lab.output,
                True,
                when=f"reconcile({'/'.join(request.arguments)}) raised {error.__name__}('{reason}')",
                expected=f"{what} is printed or logged, at INFO or above",
                seen=lambda: f"printed and logged: {lab.output[-300:] or 'nothing'}",
                hint="Say in one line which key failed, with which error, and whether it's tried again.",
            )
        before = lab.output.count(reason)
        bench.process(request)
        eventually(
            lambda reason=reason, before=before: lab.output.count(reason) > before,
            when=f"reconcile({'/'.join(request.arguments)}) raised {error.__name__}('{reason}') once more",
            expected="it is printed or logged again",
            seen=lambda: f"printed and logged: {lab.output[-300:] or 'nothing'}",
            hint="A failure has to show up each time: who reads the log of today doesn't know the one of last week.",
        )


@check(points=2, section="one-item")
def test_one_key_never_runs_twice_at_once(bench):
    """Four workers reconcile four keys at once; a key that changes meanwhile waits until its pass is over."""
    held = threading.Event()
    bench.answer = lambda name: held.wait() and None
    running = bench.run(workers=4)
    request, other, *more = (key() for _ in range(4))
    try:
        for each in (request, request, other):
            bench.queue.add(each)
            bench.sees(
                each,
                when=f"{len(set(bench.seen))} of four workers were busy and another key was added",
                hint="There are four workers: the others go on.",
            )
        expect(
            bench.seen.count(name_of(request)),
            1,
            when="a key was added again while a worker reconciled it, with three workers free",
            hint="done() comes after reconcile(), not before: until then the key belongs to its worker.",
        )
        for each in more:
            bench.queue.add(each)
        for each in more:
            bench.sees(
                each,
                when="two of four workers were busy and two more keys were added",
                hint="Controller(…, workers=4) has four workers: start as many threads as `workers` says.",
            )
        fifth = key()
        bench.queue.add(fifth)
        never(
            lambda: name_of(fifth) in bench.seen,
            until=lambda: False,
            within=0.1,
            when="four of four workers were busy, and a fifth key was added",
            expected="it waits for one of the four",
            hint="Controller(…, workers=4) has four workers: start as many threads as `workers` says.",
        )
    finally:
        held.set()
    bench.sees(
        request,
        times=2,
        when="it was added while a worker had it, and that pass had ended",
        hint="done() lets the queue hand out a key that was added meanwhile. Each worker gives back the key that it "
        "took: keep it in a variable of its own, not in one that all workers share.",
    )
    for each in (other, *more, fifth):
        bench.sees(each, when="four of four workers were busy, and a fifth key was added", hint="It must come back.")
        bench.queue.add(each)
        bench.sees(
            each,
            times=2,
            when="four passes had overlapped, they had ended, and one of their keys was added again",
            hint="Each worker gives back the key that it took: keep it in a variable of its own, not in one that all "
            "workers share.",
        )
    running.controller.stop()
    running.call.result()


@check(points=2, section="errors")
def test_a_poison_key_holds_up_nobody(bench, lab):
    """One key that always fails does not hold up the others, even with a single worker."""
    poison, others = key(), [key() for _ in range(5)]

    def answer(name):
        if name == name_of(poison):
            raise ZeroDivisionError("this one always fails")

    bench.answer = answer
    bench.queue = lab.resolve("converge.runtime:WorkQueue")()  # with a clock that runs: a key that failed comes back
    running = bench.run(workers=1)
    for request in (poison, *others):
        bench.queue.add(request)
    for request in others:
        bench.sees(
            request,
            when="one key failed each time and five others waited behind it",
            hint="An exception of reconcile() must not end the worker, nor keep it busy with one key.",
        )
    bench.sees(
        poison,
        times=3,
        when="a key failed each time, and five others had been reconciled",
        hint="It is tried again and again, only later each time.",
    )
    running.controller.stop()
    running.call.result()


@pytest.fixture
def own_parts(course, against):
    """Where the queue and the informer come from: the learner's own when labs are graded, else the solutions."""
    return {
        lab.slug: lab.skeleton if against == "labs" else lab.solution for lab in (course.find("03"), course.find("04"))
    }


@check(points=4, section="this-is-yours", timeout=40)
def test_an_operator_of_your_own_parts(lab, namespace, kubeconfig, recorder, own_parts):
    """A WebApp operator runs on your own queue, informer and controller."""
    for slug, path in own_parts.items():
        if 'NotImplementedError("TODO' in Path(path).read_text():
            fail(
                when=f"{Path(path).name} of lab {slug[:2]} was read, since your own queue and informer run here",
                expected="it's done",
                got="it still has a TODO",
                hint=f"Do that lab first: `make check LAB={slug[:2]}`.",
            )
    load = lab.resolve("converge.operators.lessons:load")
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
        hint="The informer reports each object in its first list, and the queue takes its key.",
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
        expected="another Deployment in its place",
        when="its Deployment was deleted by hand",
        hint="The Deployments' informer adds the key of the owner, which owner_of() finds.",
    )
    controller.stop()
    running.result()
