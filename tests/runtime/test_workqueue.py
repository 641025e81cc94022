"""The work queue with real threads and a real clock: what the model cannot see."""

import collections
import threading
import time

import pytest

from converge.grader import eventually
from converge.runtime import Backoff, TokenBucket, WorkQueue


def run_threads(count, target):
    threads = [threading.Thread(target=target, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    return threads


def join(threads, within=20.0):
    deadline = time.monotonic() + within
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"


def test_a_waiting_worker_gets_a_key_as_soon_as_it_is_added():
    queue = WorkQueue()
    got = []
    threads = run_threads(1, lambda _: got.append(queue.get(timeout=10)))
    queue.add("a")
    join(threads)
    assert got == ["a"]


def test_get_gives_up_after_its_timeout():
    started = time.monotonic()
    assert WorkQueue().get(timeout=0.05) is None
    assert 0.05 <= time.monotonic() - started < 5


def test_a_delayed_key_comes_when_it_is_due_and_not_before():
    queue = WorkQueue()
    started = time.monotonic()
    queue.add_after("a", 0.1)
    assert len(queue) == 0
    assert queue.get(timeout=10) == "a"
    assert 0.1 <= time.monotonic() - started < 2


def test_a_sleeping_worker_wakes_up_earlier_when_an_earlier_key_is_added():
    queue = WorkQueue()
    queue.add_after("late", 60)
    got = []
    threads = run_threads(3, lambda _: got.append(queue.get(timeout=20)))
    queue.add_after("early", 0.05)
    queue.add_after("earlier", 0.02)
    queue.add_after("late", 0.08)
    join(threads)
    assert got == ["earlier", "early", "late"]


def test_a_key_that_was_added_during_the_work_wakes_another_worker_when_it_is_done():
    queue = WorkQueue()
    queue.add("a")
    assert queue.get() == "a"
    queue.add("a")
    got = []
    other = run_threads(1, lambda _: got.append(queue.get(timeout=20)))
    assert eventually(lambda: queue._changed._waiters, within=10)
    queue.done("a")
    join(other, within=5)
    assert got == ["a"]


def test_who_keeps_the_time_and_gives_up_leaves_it_to_another():
    queue = WorkQueue()
    queue.add_after("due", 0.3)
    got = []
    impatient = run_threads(1, lambda _: queue.get(timeout=0.1))
    assert eventually(lambda: queue._has_timekeeper, within=10)
    patient = run_threads(1, lambda _: got.append(queue.get(timeout=10)))
    join(impatient)
    started = time.monotonic()
    join(patient)
    assert got == ["due"]
    assert time.monotonic() - started < 5


def test_who_keeps_the_time_and_gets_a_key_leaves_it_to_another():
    queue = WorkQueue()
    queue.add_after("due", 0.3)
    got = []
    first = run_threads(1, lambda _: got.append(queue.get(timeout=10)))
    assert eventually(lambda: queue._has_timekeeper, within=10)
    second = run_threads(1, lambda _: got.append(queue.get(timeout=10)))
    assert eventually(lambda: len(queue._changed._waiters) == 2, within=10)
    queue.add("now")
    started = time.monotonic()
    join(first + second)
    assert got == ["now", "due"]
    assert time.monotonic() - started < 5


def test_shut_down_wakes_every_worker():
    queue = WorkQueue()
    queue.add_after("never", 3600)
    threads = run_threads(4, lambda _: queue.get())
    queue.shut_down()
    join(threads)


def test_shut_down_hands_out_what_waits_and_takes_nothing_new():
    queue = WorkQueue()
    queue.add("a")
    queue.shut_down()
    queue.add("b")
    queue.add_after("c", 0)
    assert [queue.get(), queue.get()] == ["a", None]


def test_draining_waits_for_the_work_in_hand():
    queue = WorkQueue()
    for key in "abc":
        queue.add(key)
    finished = []
    begin = threading.Event()

    def worker(_):
        begin.wait(10)
        while (key := queue.get()) is not None:
            finished.append(key)
            queue.done(key)

    threads = run_threads(2, worker)
    assert queue.shut_down(drain=True, timeout=0.05) is False
    begin.set()
    assert queue.shut_down(drain=True, timeout=10) is True
    assert sorted(finished) == ["a", "b", "c"]
    join(threads)


def test_eight_workers_lose_no_key_and_never_share_one():
    """Each key is added many times by many threads; the last add of each must be followed by work."""
    queue = WorkQueue(backoff=Backoff(base=0.0005, cap=0.002), bucket=TokenBucket(rate=1e9))
    keys = [f"key-{number}" for number in range(40)]
    version = dict.fromkeys(keys, 0)
    seen = dict.fromkeys(keys, 0)
    lock = threading.Lock()
    holders = collections.Counter()
    shared = []

    def producer(number):
        for turn in range(300):
            key = keys[(turn * 7 + number * 13) % len(keys)]
            with lock:
                version[key] += 1
            (queue.add, lambda k: queue.add_after(k, 0.001), queue.add_rate_limited)[turn % 3](key)

    def worker(_):
        while (key := queue.get()) is not None:
            with lock:
                holders[key] += 1
                if holders[key] > 1:
                    shared.append(key)
                seen[key] = version[key]
            time.sleep(0)  # let another thread in while the key is held
            with lock:
                holders[key] -= 1
            queue.forget(key)
            queue.done(key)

    workers = run_threads(8, worker)
    join(run_threads(4, producer))
    assert eventually(lambda: seen == version, within=10), "a change was never worked on"
    assert not shared, "two workers had one key"
    assert queue.shut_down(drain=True, timeout=10)
    join(workers)


def test_a_key_that_is_put_forward_again_and_again_costs_no_memory():
    queue = WorkQueue(clock=lambda: 0.0)
    for delay in range(100_000, 0, -1):
        queue.add_after("a", float(delay))
    assert len(queue._heap) < 200


@pytest.mark.parametrize("settings", [{"base": 0}, {"base": 2, "cap": 1}, {"factor": 0.5}, {"jitter": -1}])
def test_a_backoff_that_makes_no_sense_is_refused(settings):
    with pytest.raises(ValueError, match="backoff needs"):
        Backoff(**settings)


def test_backoff_doubles_is_capped_and_forgets():
    backoff = Backoff(base=1, cap=5)
    assert [backoff.next("a") for _ in range(5)] == [1, 2, 4, 5, 5]
    assert backoff.next("b") == 1
    assert backoff.failures("a") == 5
    backoff.forget("a")
    assert (backoff.failures("a"), backoff.next("a")) == (0, 1)


def test_backoff_does_not_overflow():
    backoff = Backoff()
    for _ in range(5000):
        delay = backoff.next("a")
    assert delay == 1000.0


def test_jitter_only_adds_and_never_passes_the_cap():
    backoff = Backoff(base=1, cap=3, jitter=0.5)
    assert all(1 <= backoff.next(number) <= 1.5 for number in range(100))
    assert all(backoff.next(0) <= 3 for _ in range(10))


def test_the_bucket_lets_a_burst_pass_then_a_stream():
    now = [0.0]
    bucket = TokenBucket(rate=10, burst=3, clock=lambda: now[0])
    assert [bucket.reserve() for _ in range(5)] == pytest.approx([0, 0, 0, 0.1, 0.2])
    now[0] = 100.0
    assert [bucket.reserve() for _ in range(4)] == pytest.approx([0, 0, 0, 0.1])


def test_what_it_is_made_with_is_named():
    with pytest.raises(TypeError, match="positional"):
        WorkQueue(Backoff())
