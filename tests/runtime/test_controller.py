"""The controller by itself: keys in, reconciliations out, and what each answer leads to."""

import collections
import itertools
import logging
import threading
import time

import pytest

from converge.grader import eventually
from converge.runtime import (
    Backoff,
    Change,
    Conflict,
    Controller,
    Request,
    Result,
    TerminalError,
    TokenBucket,
    WorkQueue,
    annotations_changed,
    any_of,
    generation_changed,
    labels_changed,
)

KEY = Request("default", "web")


class Recorded:
    """A reconciler that keeps a diary and answers as the test says."""

    def __init__(self, answer=lambda request, call: None):
        self.answer = answer
        self.calls = collections.defaultdict(list)  # key -> times
        self.running = collections.Counter()
        self.at_once = collections.Counter()
        self._lock = threading.Lock()

    def reconcile(self, request):
        with self._lock:
            self.calls[request].append(time.monotonic())
            self.running[request] += 1
            self.at_once[request] = max(self.at_once[request], self.running[request])
            call = len(self.calls[request])
        try:
            return self.answer(request, call)
        finally:
            with self._lock:
                self.running[request] -= 1


@pytest.fixture
def run():
    """Start a controller for a reconciler; it is stopped at the end of the test."""
    started = []

    def start(reconciler, **options):
        options.setdefault("queue", WorkQueue(backoff=Backoff(base=0.02, cap=0.2), bucket=TokenBucket(rate=1e9)))
        controller = Controller(reconciler, **options)
        controller.start()
        started.append(controller)
        return controller

    yield start
    for controller in started:
        controller.stop()
    for controller in started:
        assert controller.join(10)


def fail_until(count, error=None):
    def answer(request, call):
        if call <= count:
            raise error or RuntimeError("not yet")

    return answer


def test_a_failure_is_retried_with_growing_delays_and_forgotten_on_success(run):
    reconciler = Recorded(fail_until(4))
    controller = run(reconciler)
    controller.queue.add(KEY)
    assert eventually(lambda: controller.measures.outcomes["success"], within=10)
    times = reconciler.calls[KEY]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert len(times) == 5
    assert all(gap >= delay for gap, delay in zip(gaps, [0.02, 0.04, 0.08, 0.16], strict=True))
    assert controller.queue.num_requeues(KEY) == 0
    assert controller.measures.outcomes["error"] == 4


def test_requeue_after_brings_the_key_back_and_is_no_failure(run):
    reconciler = Recorded(lambda request, call: Result(requeue_after=0.05) if call < 3 else None)
    controller = run(reconciler)
    controller.queue.add(KEY)
    assert eventually(lambda: len(reconciler.calls[KEY]) == 3, within=10)
    times = reconciler.calls[KEY]
    assert all(later - earlier >= 0.05 for earlier, later in itertools.pairwise(times))
    assert controller.queue.num_requeues(KEY) == 0


def test_requeue_after_ends_a_row_of_failures(run):
    def answer(request, call):
        if call <= 2:
            raise RuntimeError("not yet")
        return Result(requeue_after=3600)

    controller = run(Recorded(answer))
    controller.queue.add(KEY)
    assert eventually(lambda: controller.measures.outcomes["requeue_after"], within=10)
    assert controller.queue.num_requeues(KEY) == 0


def test_a_terminal_error_is_counted_logged_and_not_retried(run, caplog):
    reconciler = Recorded(fail_until(99, TerminalError("the spec makes no sense")))
    controller = run(reconciler)
    controller.queue.add(KEY)
    assert eventually(lambda: controller.measures.outcomes["terminal_error"] == 1, within=10)
    assert controller.queue.get(timeout=0.3) is None
    assert "will not be tried again: the spec makes no sense" in caplog.text
    assert "Traceback" not in caplog.text
    controller.queue.add(KEY)
    assert eventually(lambda: len(reconciler.calls[KEY]) == 2, within=10), "a change brings it back"


@pytest.mark.parametrize("wrong", [5, True, {"requeue_after": 3}, (None, None)])
def test_an_answer_of_the_wrong_type_is_one_clear_error(run, caplog, wrong):
    controller = run(Recorded(lambda request, call: wrong))
    controller.queue.add(KEY)
    assert eventually(lambda: controller.measures.outcomes["terminal_error"], within=10)
    assert f"reconcile returns a Result or None, not {wrong!r}" in caplog.text
    assert len(caplog.records) == 1


def test_an_async_reconcile_is_explained(run, caplog):
    class Async:
        async def reconcile(self, request):
            return None

    controller = run(Async())
    controller.queue.add(KEY)
    assert eventually(lambda: controller.measures.outcomes["terminal_error"], within=10)
    assert "reconcile is an async function" in caplog.text


def test_an_unexpected_error_shows_a_traceback_that_begins_in_the_reconciler(run, caplog):
    controller = run(Recorded(lambda request, call: {}["spec"] if call == 1 else None))
    controller.queue.add(KEY)
    assert eventually(lambda: controller.measures.outcomes["success"], within=10)
    assert "KeyError: 'spec'" in caplog.text
    assert "in reconcile" in caplog.text
    assert "in _process" not in caplog.text


def test_the_log_says_when_a_pass_wants_to_be_called_again(run, caplog):
    caplog.set_level(logging.DEBUG, "converge.controller")
    controller = run(Recorded(lambda request, call: Result(requeue_after=30) if request == KEY else None))
    controller.queue.add(KEY)
    controller.queue.add(Request("default", "other"))
    assert eventually(lambda: sum("reconciled in" in each for each in caplog.messages) == 2, within=10)
    assert [each.rpartition(" ms")[2] for each in sorted(caplog.messages, key=len)] == ["", ", again in 30 s"]


def test_a_conflict_is_not_shouted_about(run, caplog):
    controller = run(Recorded(fail_until(1, Conflict("replace ConfigMap default/a", "has been modified"))))
    controller.queue.add(KEY)
    assert eventually(lambda: controller.measures.outcomes["success"], within=10)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_log_records_of_the_reconciler_carry_the_key(run):
    from converge.runtime.logs import _add_request

    seen = []
    handler = logging.Handler()
    handler.addFilter(_add_request)
    handler.emit = lambda record: seen.append((record.controller, record.key, record.getMessage()))
    logger = logging.getLogger("someone.elses")
    logger.addHandler(handler)
    controller = run(Recorded(lambda request, call: logger.warning("hello")), name="web")
    controller.queue.add(KEY)
    assert eventually(lambda: seen, within=10)
    assert seen == [("web", "default/web", "hello")]
    logger.removeHandler(handler)


def test_the_same_key_is_never_reconciled_twice_at_once(run):
    numbers, served = itertools.count(), {}

    def answer(request, call):
        if request.namespace == "probe":
            served[request].set()
        elif len(reconciler.calls[request]) <= 6:
            controller.queue.add(request)  # a change in the middle of the work
            behind = Request("probe", str(next(numbers)))
            served[behind] = threading.Event()
            controller.queue.add(behind)
            assert served[behind].wait(10), "no other worker came by while the key was held"

    reconciler = Recorded(answer)
    controller = run(reconciler, workers=8)
    keys = [Request("default", str(number)) for number in range(5)]
    for key in keys:
        controller.queue.add(key)
    assert eventually(lambda: all(len(reconciler.calls[key]) > 5 for key in keys), within=20)
    assert [reconciler.at_once[key] for key in keys] == [1] * 5


def test_a_poison_key_does_not_hold_up_the_others(run):
    def answer(request, call):
        if request.name == "poison":
            raise RuntimeError("always")

    reconciler = Recorded(answer)
    controller = run(reconciler, workers=1)
    controller.queue.add(Request("default", "poison"))
    for number in range(50):
        controller.queue.add(Request("default", str(number)))
    assert eventually(lambda: len(reconciler.calls) == 51, within=10)


def test_stopping_wakes_waiting_workers_and_lets_the_work_in_hand_end():
    entered, leave = threading.Event(), threading.Event()
    finished = []

    def answer(request, call):
        entered.set()
        leave.wait(10)
        finished.append(request)

    controller = Controller(Recorded(answer), workers=4)
    controller.start()
    controller.queue.add(KEY)
    controller.queue.add(Request("default", "other"))
    assert entered.wait(10)
    controller.stop()
    assert not controller.join(0.1), "someone is still at work"
    assert KEY in controller.busy
    leave.set()
    assert controller.join(5)
    assert KEY in finished


def test_keys_that_wait_are_left_alone_after_a_stop():
    entered, leave = threading.Event(), threading.Event()

    def answer(request, call):
        entered.set()
        leave.wait(10)

    reconciler = Recorded(answer)
    controller = Controller(reconciler, workers=1)
    controller.start()
    for number in range(100):
        controller.queue.add(Request("default", str(number)))
    entered.wait(10)
    controller.stop()
    leave.set()
    assert controller.join(5)
    assert len(reconciler.calls) == 1


def test_who_may_not_act_does_not():
    allowed = threading.Event()
    reconciler = Recorded()
    controller = Controller(reconciler)
    controller.start(may_act=allowed.is_set)
    controller.queue.add(KEY)
    assert eventually(lambda: controller.queue.num_requeues(KEY), within=10)
    assert not reconciler.calls
    allowed.set()
    assert eventually(lambda: reconciler.calls[KEY], within=10)
    controller.stop()
    assert controller.join(5)


def test_another_queue_fits():
    """What a controller asks of a queue, and no more."""

    class Plain:
        def __init__(self):
            self.keys, self.log, self.closed = collections.deque(), [], False
            self.changed = threading.Condition()

        def add(self, key):
            with self.changed:
                self.keys.append(key)
                self.changed.notify()

        def get(self):
            with self.changed:
                self.changed.wait_for(lambda: self.keys or self.closed)
                return self.keys.popleft() if self.keys else None

        def done(self, key):
            self.log.append("done")

        def forget(self, key):
            self.log.append("forget")

        def add_after(self, key, seconds):
            self.log.append(f"after {seconds}")

        def add_rate_limited(self, key):
            self.log.append("rate limited")

        def shut_down(self):
            with self.changed:
                self.closed = True
                self.changed.notify_all()

    def answer(request, call):
        if call == 1:
            raise RuntimeError("not yet")
        return Result(requeue_after=30)

    queue = Plain()
    controller = Controller(Recorded(answer), workers=1, queue=queue)
    controller.start()
    queue.add(KEY)
    queue.add(KEY)
    assert eventually(lambda: len(queue.log) == 5, within=10)
    assert queue.log == ["rate limited", "done", "forget", "after 30", "done"]
    controller.stop()
    assert controller.join(5)


def test_mistakes_in_setting_up_are_named():
    with pytest.raises(TypeError, match="a reconciler has a method reconcile"):
        Controller(object())
    with pytest.raises(ValueError, match="at least one worker"):
        Controller(Recorded(), workers=0)
    controller = Controller(Recorded())
    with pytest.raises(ValueError, match=r"for_\(\) before owns"):
        controller.owns("v1", "Pod")
    controller.for_("v1", "Pod")
    with pytest.raises(ValueError, match="is for Pod already"):
        controller.for_("v1", "Service")
    with pytest.raises(ValueError, match="number of seconds"):
        Result(requeue_after="soon")
    with pytest.raises(ValueError, match="number of seconds"):
        Result(requeue_after=-1)
    controller.start()
    with pytest.raises(RuntimeError, match="was started before"):
        controller.start()
    controller.stop()


def owned(name, *owners):
    references = [
        {"apiVersion": api_version, "kind": kind, "name": owner, "uid": owner, "controller": controller}
        for api_version, kind, owner, controller in owners
    ]
    return {"metadata": {"name": name, "namespace": "default", "ownerReferences": references}}


def requests_of(controller, source, change):
    queue = controller.queue
    controller.handler_for(controller.sources[source])(change)
    found = set()
    while (request := queue.get(timeout=0)) is not None:
        found.add(str(request))
        queue.done(request)
    return found


def test_a_child_leads_to_its_controller_and_to_nobody_else():
    controller = Controller(Recorded()).for_("converge.example/v1", "WebApp").owns("apps/v1", "Deployment")
    own = ("converge.example/v1", "WebApp", "mine", True)

    def told(*owners):
        return requests_of(controller, 1, Change(None, owned("web", *owners)))

    assert told(own) == {"default/mine"}
    assert told(("converge.example/v1beta1", "WebApp", "mine", True)) == {"default/mine"}, "the version does not matter"
    assert told(("converge.example/v1", "WebApp", "mine", False)) == set(), "an owner that does not control"
    assert told(("other.example/v1", "WebApp", "mine", True)) == set(), "another group"
    assert told(("converge.example/v1", "Database", "mine", True)) == set(), "another kind"
    assert told() == set()


def test_a_child_that_changes_hands_leads_to_both():
    controller = Controller(Recorded()).for_("converge.example/v1", "WebApp").owns("apps/v1", "Deployment")
    before = owned("web", ("converge.example/v1", "WebApp", "one", True))
    after = owned("web", ("converge.example/v1", "WebApp", "two", True))
    assert requests_of(controller, 1, Change(before, after)) == {"default/one", "default/two"}
    assert requests_of(controller, 1, Change(before, None)) == {"default/one"}


def test_watches_maps_as_it_is_told():
    controller = Controller(Recorded()).watches(
        "v1", "Secret", lambda secret: [Request("default", user) for user in secret["users"]]
    )
    assert requests_of(controller, 0, Change(None, {"users": ["a", "b"]})) == {"default/a", "default/b"}


def thing(generation=1, **metadata):
    return {"metadata": {"name": "a", "namespace": "default", "generation": generation, **metadata}}


@pytest.mark.parametrize(
    ("change", "passes"),
    [
        (Change(None, thing()), True),
        (Change(thing(), None), True),
        (Change(thing(1), thing(2)), True),
        (Change(thing(1), thing(1, labels={"a": "b"})), False),
        (Change(thing(1), thing(1)), False),
        (Change({"metadata": {"name": "s"}}, {"metadata": {"name": "s"}}), True),  # counts no generation
    ],
)
def test_generation_changed(change, passes):
    assert generation_changed(change) is passes


def test_predicates_can_be_combined_and_keep_keys_out():
    either = any_of(generation_changed, labels_changed, annotations_changed)
    controller = Controller(Recorded()).for_("v1", "Pod", predicate=either)
    assert requests_of(controller, 0, Change(thing(), thing(labels={"a": "b"}))) == {"default/a"}
    assert requests_of(controller, 0, Change(thing(), thing(annotations={"a": "b"}))) == {"default/a"}
    assert requests_of(controller, 0, Change(thing(), thing(finalizers=["x"]))) == set()
