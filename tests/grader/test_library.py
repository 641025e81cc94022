"""Driving a submission in its own process: calls, answers, threads, and all that can go wrong over there."""

import threading

import psutil
import pytest

from converge.grader import AnswerOf
from converge.grader.checks.verdict import NotStarted
from converge.grader.library.library import Library, Raised
from converge.runtime import NotFound
from converge.testing.verdicts.failure import Failure, TookTooLong
from converge.testing.waits.waiting import eventually, interruptions

SUBMISSION = """
import threading
import time


class Box:
    limit = 3

    def __init__(self, items=(), on_change=None, clock=time.monotonic):
        self.items = list(items)
        self.on_change = on_change
        self.clock = clock
        self.gate = threading.Event()

    def __len__(self):
        return len(self.items)

    def __contains__(self, item):
        return item in self.items

    def put(self, item):
        self.items.append(item)
        if self.on_change:
            return self.on_change(item, total=len(self.items))

    def take(self):
        return self.items.pop() if self.items else None

    def wait(self):
        self.gate.wait()
        return "woken"

    def wait_a_little(self):
        return self.gate.wait(0.01)

    def wait_until_it_is_late(self, seconds):
        late = time.monotonic() + seconds
        while not self.gate.wait(0.5) and time.monotonic() < late:
            pass
        time.sleep(seconds)

    def count_on_one_line(self):
        self.items = [*self.items, len(self)]

    def recurse(self):
        try:
            self.recurse()
        except RecursionError:
            pass

    def poll(self):
        while not self.gate.wait(0.001):
            pass

    def sleep_under_all_names(self):
        self.others = [threading.Thread(target=self.wait, name=f"call-{number}") for number in range(50)]
        for thread in self.others:
            thread.start()
        for thread in self.others:
            thread.join()

    def sleepers(self):
        return sum(thread.is_alive() for thread in getattr(self, "others", ()))

    def poll_without_a_condition(self):
        while not self.gate.is_set():
            time.sleep(0.001)

    def wake(self):
        self.gate.set()

    def now(self):
        return self.clock()

    def broken(self):
        return {}["missing"]

    def todo(self):
        raise NotImplementedError("TODO 4: Box.todo")

    def count(self):
        seen = len(self.items)
        self.items.append(seen)
        return seen

    def huge(self):
        return "x" * 10_000_000

    def everything(self):
        return {"a": [1, 2.5, None, True], "b": {"c": ("d",)}, "e": {1, 2}}


def same(box, other):
    return box is other


def fork_off(message):
    raise SystemExit(message)
"""


@pytest.fixture
def lab(tmp_path):
    (tmp_path / "box.py").write_text(SUBMISSION)
    made = Library(tmp_path / "box.py", tmp_path)
    yield made
    made._close()


def test_objects_stay_over_there_and_are_used_from_here(lab):
    box = lab.Box(["a"])
    box.put("b")
    assert len(box) == 2
    assert "b" in box
    assert box.limit == 3
    assert box.everything() == {"a": [1, 2.5, None, True], "b": {"c": ["d"]}, "e": {1, 2}}
    assert lab.same(box, box) is True
    assert lab.same(box, lab.Box()) is False


def test_functions_of_a_check_are_called_from_over_there(lab):
    heard = []
    box = lab.Box(on_change=lambda item, total: heard.append((item, total)) or f"{item}!")
    assert box.put("a") == "a!"
    assert heard == [("a", 1)]


def test_exceptions_of_a_check_s_function_arrive_over_there(lab):
    def refuse(item, total):
        raise ValueError("not this one")

    outcome = lab.Box(on_change=refuse).put.outcome("a")
    assert isinstance(outcome, Raised)
    assert (outcome.type, outcome.text) == ("ValueError", "not this one")


def test_a_clock_stands_still(lab):
    clock = lab.clock()
    box = lab.Box(clock=clock)
    before = box.now()
    clock.advance(2.5)
    assert box.now() - before == 2.5


def test_a_call_can_wait_while_another_is_made(lab):
    box = lab.Box()
    waiting = box.wait.start()
    assert not waiting.finished(within=0.05)
    box.wake()
    assert waiting.result(within=5) == "woken"


def test_a_call_that_sleeps_is_known_to_sleep(lab):
    box = lab.Box()
    waiting, over = box.wait.start(), box.now.start()
    assert waiting.asleep()
    over.result()
    assert not over.asleep(), "it has come back"
    box.wake()
    waiting.result()


def test_only_the_thread_of_a_call_itself_can_sleep_for_it(lab):
    """Any thread may call itself `call-7`."""
    box = lab.Box()
    waiting, busy = box.sleep_under_all_names.start(), box.poll_without_a_condition.start()
    assert eventually(lambda: box.sleepers() == 50)
    assert not busy.asleep(within=0.2)
    box.wake()
    waiting.result()
    busy.result()


def test_timeouts_that_never_pass_leave_only_the_notify(lab):
    lab.resolve("converge.grader.library.doubles:disable_timeouts")()
    box = lab.Box()
    waiting = box.wait_a_little.start()
    assert waiting.asleep()
    assert not waiting.finished(within=0.1)
    box.wake()
    assert waiting.result() is True


def test_hurried_time_reaches_every_limit_in_a_moment(lab):
    hurried = lab.resolve("converge.grader.library.doubles:InstantSleep")()
    box = lab.Box()
    box.wait_until_it_is_late(120)  # longer than any call may take
    assert 240 <= hurried.waited <= 241
    assert hurried.waits == 241
    hurried.oversleep(3600)
    box.wait_until_it_is_late(0.5)
    assert 3841 <= hurried.waited <= 3842
    forever = box.wait.start()
    assert not forever.finished(within=0.05), "a wait without a timeout is as long as ever"
    box.wake()
    assert forever.result() == "woken"


def test_a_clock_that_shows_something_else_runs_on(lab):
    for shows in (0, 10**9):
        box = lab.Box(clock=lab.resolve("converge.grader.library.doubles:clock_that_shows")(shows))
        before = box.now()
        assert shows <= before < shows + 60
        assert eventually(lambda box=box, before=before: box.now() > before)


def test_a_call_at_the_end_of_a_wait_comes_before_the_wait_returns(lab):
    box = lab.Box()
    other = box.wait.start()
    assert other.asleep()
    lab.resolve("converge.grader.library.doubles:CallAtTheEndOfAWait")(box.put, "late")
    assert box.wait_a_little() is False
    assert box.take() == "late"
    assert box.wait_a_little() is False
    assert box.take() is None, "it comes once"


def test_a_queue_with_instant_timeouts_counts_the_timeouts_that_passed(lab):
    queue = lab.resolve("converge.grader.library.doubles:queue_with_instant_timeouts")(lab.clock())
    assert queue.get(timeout=600) is None
    queue.add("a")
    assert queue.get(timeout=600) == "a"
    assert queue.timed_out == 1


def test_an_api_error_of_a_check_arrives_over_there(lab):
    def refused(item, total):
        raise NotFound("get Secret", "there is none")

    outcome = lab.Box([], refused).put.outcome("x")
    assert outcome.type == "NotFound"
    assert "there is none" in outcome.text


def test_each_thread_has_a_thread_over_there(lab):
    box, answers = lab.Box(), []
    waiter = threading.Thread(target=lambda: answers.append(box.wait()))
    waiter.start()
    box.wake()
    waiter.join(5)
    assert answers == ["woken"]


def test_a_play_is_one_round_trip(lab):
    box = lab.Box()
    steps = [(box.put, "a"), (box.take,), (box.put, AnswerOf(1)), (box.take,), (box.put, AnswerOf(0)), (box.broken,)]
    *answers, last = lab.play(steps)
    assert answers == [None, "a", None, "a", None]
    assert last.type == "KeyError"


def test_two_calls_meet_at_every_line(lab):
    answers = []
    for line in range(1, 9):
        box = lab.Box()
        reached, both = lab.interrupt((box.count,), (box.count,), line)
        if not reached:
            break
        answers.append(both)
    assert (0, 0) in answers  # the race of count() is found
    assert (1, 0) in answers
    assert not reached


def test_two_calls_meet_within_a_line(lab):
    answers = []
    for moment in range(1, 9):
        box = lab.Box()
        reached, _ = lab.interrupt((box.count_on_one_line,), (box.count_on_one_line,), moment)
        if not reached:
            break
        answers.append(len(box))
    assert answers == [2, 1, 1]  # before the line, before the line of __len__, and after that call


def test_a_call_that_ends_its_own_shaking_is_no_answer(lab):
    lab.shake(1)
    box = lab.Box()
    assert box.count_on_one_line() is None
    with pytest.raises(Failure, match="switched off"):
        box.recurse()


def test_a_call_that_sleeps_is_woken_by_the_call_that_it_meets(lab):
    box = lab.Box()
    reached, answers = lab.interrupt((box.wait,), (box.wake,), 9)
    assert not reached
    assert answers == ("woken", None)


def test_the_lines_of_a_sleeper_do_not_run(lab):
    boxes, counters = [], []
    for _ in range(2):
        boxes.append(lab.Box())
        counters.append(lab.resolve("converge.grader.library.doubles:LineCounter")())
        (boxes[-1].poll if boxes[1:] else boxes[-1].wait).start().asleep()
    assert eventually(lambda: counters[1].most() > 5)
    assert counters[0].most() == 1
    for box in boxes:
        box.wake()


def test_an_exception_fails_the_check_and_names_the_line(lab):
    with pytest.raises(Failure, match=r"Box.broken\(\) raised KeyError: 'missing'") as caught:
        lab.Box().broken()
    assert "in broken: return {}" in caught.value.seen[0]


def test_a_todo_is_not_started(lab):
    with pytest.raises(NotStarted, match="TODO 4"):
        lab.Box().todo()


def test_a_name_that_is_gone_is_told(lab):
    with pytest.raises(Failure, match=r"box.py has no Crate"):
        lab.Crate()


def test_an_answer_that_is_too_large_is_refused(lab):
    with pytest.raises((Failure, TookTooLong)):
        lab.Box().huge()


def test_sys_exit_ends_the_call_and_not_the_process(lab):
    with pytest.raises(Failure, match="SystemExit"):
        lab.fork_off("bye")
    assert len(lab.Box()) == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def broken(:\n    pass\n", "SyntaxError"),
        ("import no_such_module_anywhere\n", "ModuleNotFoundError"),
        ("raise NotImplementedError('TODO 1: all of it')\n", "TODO 1"),
    ],
)
def test_a_file_that_does_not_import_is_told(tmp_path, text, says):
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises((Failure, NotStarted), match=says):
        Library(tmp_path / "bad.py", tmp_path)


def test_a_file_whose_import_never_ends_decides_the_lab_and_leaves_no_process(tmp_path, monkeypatch):
    text = """
import os
import pathlib
import threading

pathlib.Path(__file__).with_name("pid").write_text(str(os.getpid()))
threading.Event().wait()
"""
    (tmp_path / "endless.py").write_text(text)
    monkeypatch.setattr("converge.grader.library.library.IMPORT_LIMIT", 2.0)
    with pytest.raises(TookTooLong, match=r"import endless\.py did not return") as told:
        Library(tmp_path / "endless.py", tmp_path)
    assert told.value.nothing_achieved
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


def test_whoever_waits_is_told_when_a_call_under_way_has_reached_a_todo(lab):
    box = lab.Box()
    box.todo.start()
    with pytest.raises(NotStarted, match=r"TODO 4: Box\.todo"):
        eventually(lambda: len(box), 1, within=60, when="todo() was started")


def test_nobody_is_told_of_a_library_that_is_closed(lab):
    lab.Box().todo.start()
    lab._close()
    assert not list(interruptions)


CACHES = """
import threading


class Cache:
    def __init__(self):
        self.objects = {}
        self.lock = threading.Lock()

    def has_synced(self):
        return True

    def get(self, request):
        with self.lock:
            return self.objects.get(request)

    def fill(self):
        self.objects["a"] = 1

    def empty(self):
        self.objects.clear()


class Whole(Cache):
    def run(self):
        new = {}
        new["a"] = 1
        self.objects = new


class Locked(Cache):
    def run(self):
        with self.lock:
            self.objects.clear()
            self.objects["a"] = 1


class Emptied(Cache):
    def run(self):
        self.objects.clear()
        self.objects["a"] = 1
"""


@pytest.mark.parametrize(("cache", "sees_a_gap"), [("Whole", False), ("Locked", False), ("Emptied", True)])
def test_a_constant_reader_is_there_in_between(tmp_path, cache, sees_a_gap):
    (tmp_path / "caches.py").write_text(CACHES)
    library = Library(tmp_path / "caches.py", tmp_path)
    try:
        cache = getattr(library, cache)()
        cache.run()
        reader = library.resolve("converge.grader.library.doubles:ReaderOnEveryLine")(cache, "a")
        cache.run.start().result()
        eventually(lambda: reader.looks >= 2, when="a cache was filled again", expected="looks at two lines or more")
        assert bool(reader.missed) is sees_a_gap
    finally:
        library._close()


READERS = (
    CACHES
    + """

class OneLook(Cache):
    def get(self, request):
        return self.objects.get(request)


class TwoLooks(Cache):
    def get(self, request):
        if request not in self.objects:
            return None
        return self.objects[request]
"""
)


@pytest.mark.parametrize(("cache", "raised"), [("Whole", []), ("OneLook", []), ("TwoLooks", ["KeyError: 'a'"])])
def test_an_object_goes_before_each_line_of_its_reader(tmp_path, cache, raised):
    (tmp_path / "readers.py").write_text(READERS)
    library = Library(tmp_path / "readers.py", tmp_path)
    try:
        cache = getattr(library, cache)()
        read = library.resolve("converge.grader.library.doubles:read_while_it_goes")
        seen, reached, line = [], True, 0
        while reached and line < 9:
            line += 1
            cache.fill()
            reached, error = read(cache, "a", "get", line, cache.empty)
            seen.append(error)
        assert len(seen) >= 2, "each line, and one more that isn't there"
        assert [error for error in seen if error] == raised
    finally:
        library._close()
