"""Checks of lab 03, easiest first. Each docstring is the line that the learner reads."""

import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from converge.grader import AnswerOf, check, eventually, expect, fail, smallest
from converge.testing.verdicts.failure import TookTooLong
from converge.testing.waits.deadlines import scaled

DOUBLES = "converge.grader.library.doubles:"
ONLY_A_NOTIFY_WAKES = DOUBLES + "disable_timeouts"


def keys(count):
    """Keys that no submission can know beforehand."""
    return [f"ns-{random.randrange(10**6)}/web-{number}" for number in range(count)]


@check(points=2, section="keys-not-events")
def test_duplicate_adds_collapse(lab):
    """Adding a waiting key again changes nothing."""
    queue, (key,) = lab.WorkQueue(), keys(1)
    for _ in range(3):
        queue.add(key)
    expect(
        len(queue),
        1,
        when=f"{key} was added 3 times before get()",
        hint="add() has to ask whether the key is already dirty.",
    )


@check(points=1, section="keys-not-events")
def test_keys_come_out_in_order(lab):
    """Keys come out in the order they went in, and then there are none."""
    queue, added = lab.WorkQueue(), keys(5)
    for key in added:
        queue.add(key)
    expect(
        [queue.get(timeout=0) for _ in added],
        added,
        when="five keys were added, then taken with get()",
        hint="First in, first out: append at one end, popleft at the other.",
    )
    expect(
        queue.get(timeout=0),
        None,
        when="every key was taken, and get(timeout=0) was called again",
        hint="With nothing to hand out, get() returns None once its timeout has passed.",
    )


@check(points=2, section="one-key-one-worker")
def test_a_held_key_is_not_handed_out_twice(lab):
    """A key that a worker holds goes to no other worker."""
    queue, (key, other) = lab.WorkQueue(), keys(2)
    queue.add(key)
    queue.get(timeout=0)
    queue.add(key)
    queue.add(other)
    expect(
        [queue.get(timeout=0), queue.get(timeout=0)],
        [other, None],
        when=f"one worker held {key}, it was added again, then {other} was added, and two more workers asked",
        hint="A key in `processing` must not wait in line, however often it is added.",
    )


@check(points=3, section="one-key-one-worker")
def test_a_change_during_processing_is_not_lost(lab):
    """A key added while a worker holds it comes back after done(), once."""
    queue, (key, other) = lab.WorkQueue(), keys(2)
    queue.add(key)
    queue.get(timeout=0)
    queue.add(key)
    queue.add(key)
    queue.add(other)
    queue.done(key)
    expect(
        [queue.get(timeout=0), queue.get(timeout=0)],
        [other, key],
        when=f"{key} was added twice during its processing, then {other} was added, then {key} was done()",
        hint="add() marks a held key dirty; done() must look at `dirty` again, and puts the key in line behind those "
        "that came before.",
    )
    queue.done(key)
    expect(
        queue.get(timeout=0),
        None,
        when=f"{key} was then taken again and done(), with nothing added since",
        hint="Two adds during processing are one more round, not two: what is taken is no longer dirty.",
    )


@check(points=1, section="one-key-one-worker")
def test_done_is_the_end(lab):
    """After done(), a key that was not added again stays away, and a new add brings it back."""
    queue, (key,) = lab.WorkQueue(), keys(1)
    queue.add(key)
    queue.done(queue.get(timeout=0))
    expect(
        queue.get(timeout=0),
        None,
        when=f"{key} was taken and done(), and was not added again",
        hint="done() puts a key back only if it is dirty; get() is what takes it out of `dirty`.",
    )
    queue.add(key)
    expect(
        queue.get(timeout=0),
        key,
        when=f"{key} was done(), then added once more",
        hint="done() has to take the key out of `processing`, or no add can ever put it in line again.",
    )


@check(points=2, section="waiting")
def test_get_waits_for_a_key(lab):
    """get() waits for a key, wakes up for it, and gives up after its timeout."""
    queue, (key,) = lab.WorkQueue(), keys(1)
    expect(
        queue.get(timeout=0.05),
        None,
        when="get(timeout=0.05) was called and no key came",
        hint="Return None when the timeout has passed.",
    )
    lab.resolve(ONLY_A_NOTIFY_WAKES)()
    worker = queue.get.start()
    worker.asleep()
    if worker.finished(within=0.1):
        fail(
            when="get() was called without a timeout on an empty queue",
            expected="it waits until a key is added",
            got=f"it returned {worker.result()!r} at once",
            hint="Without a timeout, get() sleeps on the condition until another thread notifies it.",
        )
    queue.add(key)
    if not worker.finished(within=2):
        fail(
            when=f"a worker slept in get() and {key} was added",
            expected="the worker wakes up with the key",
            got="it still slept 2 s later",
            hint="add() has to notify the condition on which get() sleeps.",
        )
    expect(worker.result(), key, when=f"a worker slept in get() and {key} was added")
    two_keys_two_workers(lab, lambda queue, key: (queue.add, key), "were added")


def any_clock_will_do(lab):
    """What a clock shows says nothing about how long to wait: a timeout is as long on each of them."""
    for shows in (0, 10**9):
        queue = lab.WorkQueue(clock=lab.resolve(DOUBLES + "clock_that_shows")(shows))
        began = time.monotonic()
        worker = queue.get.start(timeout=0.2)
        over = worker.finished(within=2)
        took = time.monotonic() - began
        if not over or took < 0.18:
            fail(
                when=f"a queue got a clock that showed {shows} s and went on from there, and get(timeout=0.2) was "
                "called",
                expected="get() returns None after 0.2 s",
                got=f"it returned after {took:.2f} s" if over else f"it still slept after {took:.1f} s",
                hint="Take each deadline from one clock and compare it with that one: the time on `clock` has nothing "
                "to do with time.monotonic().",
            )
        expect(worker.result(), None, when=f"get(timeout=0.2) was called with a clock that showed {shows} s")


def one_comes_at_the_last_moment(lab):
    """A key is added when a timeout is just over, and its notify goes to that worker: nobody may sleep through it."""
    queue, (key,) = lab.WorkQueue(), keys(1)
    lab.resolve(DOUBLES + "CallAtTheEndOfAWait")(queue.add, key)
    leaving = queue.get.start(timeout=0.1)
    leaving.asleep()
    staying = queue.get.start(timeout=600)
    left = leaving.finished(within=4)
    if not (left and leaving.result() == key) and not staying.finished(within=2):
        fail(
            when=f"two workers slept in get(), the first with timeout=0.1, and when that was just over, {key} was "
            "added: the notify() still went to the first",
            expected=f"one of them gets {key}",
            got=f"the first {'returned None' if left else 'still slept'}, and the second still slept 2 s later",
            hint="That wait() has timed out doesn't mean that nothing came. Look once more before you return None.",
        )


def two_keys_two_workers(lab, line_up, did, before=()):
    """Two keys get in line one right after the other, each by a call of its own: both sleepers are needed."""
    lab.resolve("sys:setswitchinterval")(1.0)  # so the first sleeper can't take its key before the second one comes
    queue, added = lab.WorkQueue(), keys(2)
    for key in added:
        lab.play([(getattr(queue, name), 0 if name == "get" else key) for name in before])
    workers = [queue.get.start() for _ in added]
    for worker in workers:
        worker.asleep()
    lab.play([line_up(queue, key) for key in added])
    if not all(worker.finished(within=2) for worker in workers):
        fail(
            when=f"two workers slept in get(), and {added[0]} and {added[1]} {did}, one right after the other",
            expected="each worker has one of them",
            got=f"{sum(worker.finished(within=0) for worker in workers)} of 2 had a key 2 s later",
            hint="Each key that gets in line is work for one more worker: notify for each, even when another key is "
            "already in line.",
        )
    expect(sorted(worker.result() for worker in workers), sorted(added), when=f"two keys {did}, for two workers")


@check(points=1, section="waiting")
def test_done_wakes_a_worker(lab):
    """done() wakes a sleeping worker if the key was added in the meantime."""
    queue, (key,) = lab.WorkQueue(), keys(1)
    queue.add(key)
    queue.get(timeout=0)
    queue.add(key)
    lab.resolve(ONLY_A_NOTIFY_WAKES)()
    worker = queue.get.start()
    worker.asleep()
    queue.done(key)
    if not worker.finished(within=2):
        fail(
            when=f"{key} was added while one worker held it and another slept in get(); then done()",
            expected="the sleeping worker gets the key",
            got="it still slept 2 s later",
            hint="done() puts the key back in line, so it has to notify too.",
        )
    expect(worker.result(), key, when="done() put a key back in line")
    changed_and_done = "changed while workers held them, and were done()"
    two_keys_two_workers(lab, lambda queue, key: (queue.done, key), changed_and_done, before=("add", "get", "add"))


@check(points=2, section="later")
def test_a_delayed_key_comes_when_it_is_due(lab):
    """add_after() hands a key out when it is due, not before, and the earlier one first."""
    clock, (soon, late) = lab.clock(), keys(2)
    queue = lab.WorkQueue(clock=clock)
    queue.add_after(late, 20)
    queue.add_after(soon, 10)
    clock.advance(9.5)
    expect(
        queue.get(timeout=0),
        None,
        when=f"add_after({soon!r}, 10) was called and 9.5 s passed on the queue's clock",
        hint="A delayed key is not waiting yet. Compare its due time with self.clock().",
    )
    clock.advance(0.5)
    expect(
        queue.get(timeout=0),
        soon,
        when="0.5 s later, its 10 s were over",
        hint="get() has to move what is due from `delayed` to `waiting` before it looks for a key.",
    )
    clock.advance(30)
    expect(queue.get(timeout=0), late, when=f"add_after({late!r}, 20) was called and 40 s passed")
    queue.done(late)
    clock.advance(100)
    expect(
        queue.get(timeout=0),
        None,
        when=f"{late} was done(), and 100 s more passed",
        hint="A delayed key that came is no longer delayed: take it off the heap.",
    )
    together = keys(3)
    for key, delay in zip(together, (30, 10, 20), strict=True):
        queue.add_after(key, delay)
    clock.advance(30)
    expect(
        [queue.get(timeout=0) for _ in together],
        [together[1], together[2], together[0]],
        when=f"add_after() was called for {', '.join(together)} with 30, 10 and 20 s, and workers took them 30 s later",
        hint="All of them are due, the earliest first. A heap keeps them in this order.",
    )
    twice, other = keys(2)
    queue.add_after(twice, 5)
    queue.add_after(twice, 50)
    clock.advance(5)
    expect(
        queue.get(timeout=0),
        twice,
        when=f"add_after({twice!r}, 5) was called, then add_after({twice!r}, 50), and 5 s passed",
        hint="The first promise holds: a later one doesn't take it back.",
    )
    for delay in (0, -1):
        key, other = keys(2)
        queue.add_after(key, delay)
        queue.add(other)
        expect(
            [queue.get(timeout=0), queue.get(timeout=0)],
            [key, other],
            when=f"add_after({key!r}, {delay}) was called, then add({other!r})",
            hint="A delay that is not positive means at once: add() the key, so that it's in line before the next one.",
        )


@check(points=2, section="later")
def test_a_sleeping_worker_wakes_for_a_delayed_key(lab):
    """A worker that sleeps in get() wakes up by itself when a delayed key is due."""
    queue, (key,) = lab.WorkQueue(), keys(1)
    worker = queue.get.start()
    worker.asleep()
    queue.add_after(key, 0.1)
    if not worker.finished(within=3):
        fail(
            when=f"a worker slept in get() and add_after({key!r}, 0.1) was called",
            expected="the worker has the key about 0.1 s later",
            got="it still slept after 3 s",
            hint="get() may sleep only until the first due time; add_after() has to wake a worker that sleeps longer.",
        )
    expect(
        worker.result(),
        key,
        when=f"add_after({key!r}, 0.1) was called",
        hint="Being woken says only that something may have changed. Look again, and sleep on if it's too early.",
    )


@check(points=2, section="later")
def test_every_sleeper_looks_again(lab):
    """add_after() makes every sleeping worker look again: keys come in time, and a timeout stays what it was."""
    two_keys_two_workers(lab, lambda queue, key: (queue.add_after, key, 0), "were added by add_after(…, 0)")
    one_leaves_first(lab)
    earlier_for_all(lab)
    earlier_than_planned(lab)
    one_leaves_with_a_key(lab)
    woken_for_nothing(lab)
    any_clock_will_do(lab)
    one_comes_at_the_last_moment(lab)


def earlier_for_all(lab):
    """Three workers are about to leave; the fourth has to be there when the key is due."""
    for pause in (0.3, 1.2, 4.8):
        queue, (key,) = lab.WorkQueue(), keys(1)
        delay = pause + 0.3
        workers = [queue.get.start(timeout=pause) for _ in range(3)]
        for worker in workers:
            worker.asleep()  # a notify() wakes the one that has slept longest
        workers.append(queue.get.start(timeout=600))
        workers[-1].asleep()
        queue.add_after(key, delay)
        if not any(worker.finished(within=0) for worker in workers):
            break  # else the machine was too busy to ask the question: once more, with more time
    if not any(worker.finished(within=delay + 2.5) and worker.result() == key for worker in workers):
        fail(
            when=f"three workers slept in get(timeout={pause}), a fourth in get(timeout=600), and "
            f"add_after({key!r}, {delay:.1f}) was called",
            expected="the fourth has the key when it is due",
            got=f"it still slept {delay + 2.5:.1f} s later",
            hint="notify() wakes one sleeper, which may leave empty-handed before the key is due. Each of them "
            "worked out how long to sleep before it knew of this key, so call notify_all().",
        )


def one_leaves_first(lab):
    """A key is delayed, and two workers sleep. The first leaves at its timeout; the second still wakes up in time."""
    for pause in (0.3, 1.2, 4.8):
        queue, (key,) = lab.WorkQueue(), keys(1)
        delay = pause + 0.3
        queue.add_after(key, delay)
        first = queue.get.start(timeout=pause)
        first.asleep()
        second = queue.get.start(timeout=600)
        second.asleep()
        if not first.finished(within=0):
            break  # else the machine was too busy to ask the question: once more, with more time
    workers = (first, second)
    if not any(worker.finished(within=delay + 2.5) and worker.result() == key for worker in workers):
        fail(
            when=f"add_after({key!r}, {delay:.1f}) was called, one worker slept in get(timeout={pause}), and another "
            "in get(timeout=600)",
            expected="the first leaves at its timeout, and the second has the key when it is due",
            got=f"the second still slept {delay + 2.5:.1f} s later",
            hint="Each get() sleeps no longer than until the next key is due. If only one sleeper waits for it, that "
            "one may leave, and nobody is left to look.",
        )


def one_leaves_with_a_key(lab):
    """A key is delayed, and two workers sleep. The first leaves with another key; the second still wakes up in time."""
    for delay in (0.5, 2.0, 8.0):
        queue, (now, late) = lab.WorkQueue(), keys(2)
        due = time.monotonic() + delay
        queue.add_after(late, delay)
        workers = []
        for _ in range(2):
            workers.append(queue.get.start(timeout=600))
            workers[-1].asleep()
        queue.add(now)
        while not (gone := [each for each in workers if each.finished(within=0.004)]) and time.monotonic() < due + 2:
            pass
        if time.monotonic() < due:
            break  # else the machine was too busy to ask the question: once more, with more time
    stayed = workers[1] if workers[0] in gone else workers[0]
    if not stayed.finished(within=delay + 2.5):
        fail(
            when=f"add_after({late!r}, {delay:.1f}) was called, two workers slept in get(), and add({now!r}) gave one "
            "of them a key",
            expected=f"the other has {late} when it is due",
            got=f"it still slept {delay + 2.5:.1f} s later",
            hint="If only one sleeper waits for the next key that is due, it may leave with another key, and nobody "
            "is left to look.",
        )
    expect(
        sorted(each.result() for each in workers),
        sorted([now, late]),
        when=f"two workers slept, {now} was added, and {late} was due a little later",
    )


def earlier_than_planned(lab):
    """A worker that sleeps until its timeout, or until a key is due, wakes up for an earlier one."""
    queue, (soon, late) = lab.WorkQueue(), keys(2)
    queue.add_after(late, 600)
    worker = queue.get.start(timeout=300)
    worker.asleep()
    queue.add_after(soon, 0.1)
    if not worker.finished(within=2):
        fail(
            when=f"{late} was due in 600 s, a worker slept in get(timeout=300), and then "
            f"add_after({soon!r}, 0.1) was called",
            expected=f"the worker has {soon} about 0.1 s later",
            got="it still slept 2 s later",
            hint="The first of three ends the sleep: the deadline, the next key that is due, a notify. And an earlier "
            "key has to wake those who sleep until a later one.",
        )
    expect(worker.result(), soon, when=f"add_after({soon!r}, 0.1) was called")


def woken_for_nothing(lab):
    """A worker that is woken again and again, always too early, leaves when its timeout has passed, and not before."""
    for pause in (0.4, 1.6, 6.4):
        queue, (late,) = lab.WorkQueue(), keys(1)
        began = woken = time.monotonic()
        worker, longest = queue.get.start(timeout=pause), 0.0
        while not (over := worker.finished(within=0.004)) and time.monotonic() - began < 4 * pause:
            queue.add_after(late, 500)
            longest, woken = max(longest, time.monotonic() - woken), time.monotonic()
        took = time.monotonic() - began
        if longest < pause / 2:
            break  # else the worker had the time to leave between two wake-ups: once more, with more time
    when = f"a worker slept in get(timeout={pause}), and was woken again and again by keys that were due much later"
    if not over:
        fail(
            when=when,
            expected=f"get() returns None after {pause} s",
            got=f"it still slept after {took:.1f} s",
            hint="Work the deadline out once, before the loop: being woken must not start the timeout again.",
        )
    expect(worker.result(), None, when=when)
    if took < pause * 0.9:
        fail(
            when=when,
            expected=f"get() returns None after {pause} s",
            got=f"it returned after {took:.2f} s",
            hint="Being woken says only that something may have changed. Look again, and sleep on if it's too early.",
        )


@check(points=1, section="waiting")
def test_workers_sleep(lab):
    """A worker with nothing to do sleeps: it doesn't ask again and again."""
    workers = {}
    for when, steps in (
        (
            "another worker held the only key, and add_after() had made it due once more",
            [("add",), ("get",), ("add_after", 0.01)],
        ),
        ("the queue was empty", []),
        ("a key was due in 60 s", [("add_after", 60)]),
        ("another worker held the only key, which had been added once more", [("add",), ("get",), ("add",)]),
    ):
        queue, (key,) = lab.WorkQueue(), keys(1)
        for name, *seconds in steps:
            lab.play([(getattr(queue, name), *([0] if name == "get" else [key, *seconds]))])
        counter = lab.resolve(DOUBLES + "LineCounter")()  # of the lines on the threads that begin from now on
        workers[when] = queue.get.start(), counter
        workers[when][0].asleep()
    last, _ = workers[when]
    last.finished(within=0.1)
    before = {when: counter.most() for when, (_, counter) in workers.items()}
    last.finished(within=0.6)
    for when, (worker, counter) in workers.items():
        looks = counter.most() - before[when]
        if looks > 4:
            fail(
                when=f"{when}, and a worker had been in get() for a moment",
                expected="it sleeps until it is notified or a key is due",
                got=f"it ran the same line {looks} times in {scaled(0.6):.1f} s",
                hint="Give wait() the time until the next key is due, or no time at all. A short wait in a loop keeps "
                "a thread busy for nothing.",
            )
        if worker.finished(within=0):
            fail(
                when=f"{when}, and a worker called get() without a timeout",
                expected="it sleeps until it is notified or a key is due",
                got=f"get() returned {worker.result()!r}",
                hint="Without a timeout, get() returns a key, or None once the queue has been shut down.",
            )


def retry_delays(lab, queue, clock, key, count):
    """How long each of `count` retries of a key took on the queue's clock, in steps of half the base delay."""
    delays = []
    for _ in range(count):
        queue.add_rate_limited(key)
        waited = 0.0
        while (got := queue.get(timeout=0)) is None and waited < 100:
            clock.advance(0.5)
            waited += 0.5
        expect(got, key, when=f"add_rate_limited({key!r}) was called and {waited:g} s passed")
        queue.done(key)
        delays.append(waited)
    return delays


@check(points=2, section="backoff")
def test_backoff_doubles_and_is_capped(lab):
    """add_rate_limited() waits twice as long for each retry of a key, up to the cap."""
    clock, (key, other) = lab.clock(), keys(2)
    queue = lab.WorkQueue(clock=clock, base_delay=1.0, max_delay=10.0)
    expect(
        retry_delays(lab, queue, clock, key, 6),
        [1.0, 2.0, 4.0, 8.0, 10.0, 10.0],
        when="a key was retried 6 times with base_delay=1 and max_delay=10",
        hint="The n-th retry waits base_delay * 2 ** n, and never longer than max_delay.",
    )
    expect(
        retry_delays(lab, queue, clock, other, 1),
        [1.0],
        when="another key was then retried for the first time",
        hint="Count the retries of each key separately: one failing object must not slow down the others.",
    )
    expect(queue.num_requeues(key), 6, when="the first key had been retried 6 times")


@check(points=1, section="backoff")
def test_a_key_may_fail_for_days(lab):
    """A key that has failed thousands of times still waits max_delay and no longer."""
    clock, (key,) = lab.clock(), keys(1)
    queue = lab.WorkQueue(clock=clock, base_delay=1.0, max_delay=10.0)
    outcomes = lab.play([(queue.add_rate_limited, key)] * 3000)
    broken = next((outcome for outcome in outcomes if outcome is not None), None)
    expect(
        broken,
        None,
        when="add_rate_limited() was called 3000 times for one key",
        hint="2 ** 1100 does not fit a float. Cap the exponent, or stop doubling at max_delay.",
    )
    clock.advance(10)
    expect(queue.get(timeout=0), key, when="a key had failed 3000 times, and max_delay=10 passed")
    for base, cap, failures in ((0.005, 1000, 20), (0.001, 604_800, 31)):  # as client-go has it; up to a week
        queue = lab.WorkQueue(clock=clock, base_delay=base, max_delay=float(cap))
        lab.play([(queue.add_rate_limited, key), (clock.advance, cap), (queue.get, 0), (queue.done, key)] * failures)
        queue.add_rate_limited(key)
        clock.advance(cap - 1)
        expect(
            queue.get(timeout=0),
            None,
            when=f"a key had failed {failures} times with base_delay={base} and max_delay={cap}, it failed again, and "
            f"{cap - 1} s passed",
            expected=f"None: it waits max_delay, {cap} s",
            hint="Doubling goes on until max_delay is reached, however many doublings that takes.",
        )
        clock.advance(1)
        expect(queue.get(timeout=0), key, when=f"one more second passed, so it had waited max_delay, {cap} s")


@check(points=2, section="backoff")
def test_forget_starts_again(lab):
    """After forget(), the next backoff of that key starts from base_delay."""
    clock, (key, other) = lab.clock(), keys(2)
    queue = lab.WorkQueue(clock=clock, base_delay=1.0, max_delay=100.0)
    retry_delays(lab, queue, clock, key, 3)
    retry_delays(lab, queue, clock, other, 2)
    queue.forget(key)
    expect(
        [*retry_delays(lab, queue, clock, key, 2), *retry_delays(lab, queue, clock, other, 1)],
        [1.0, 2.0, 4.0],
        when="a key failed 3 times, another one twice; the first succeeded (forget), and both failed again",
        hint="forget() drops the count of that one key, and of no other.",
    )
    expect(queue.forget.outcome("ns/never-failed"), None, when="forget() was called for a key that never failed")


@check(points=3, section="shutting-down")
def test_shut_down_lets_everybody_go(lab):
    """shut_down() wakes every sleeping worker, hands out what still waits, and takes nothing new."""
    queue, sleeping, (held, changed, waiting, new, later) = lab.WorkQueue(), lab.WorkQueue(), keys(5)
    lab.resolve(ONLY_A_NOTIFY_WAKES)()
    sleeping.add_after(later, 600)
    workers = [sleeping.get.start() for _ in range(3)]
    for worker in workers:
        worker.asleep()
    sleeping.shut_down()
    awake = sum(worker.finished(within=1) for worker in workers)
    expect(
        awake,
        3,
        when="three workers slept in get(), a key was due in 600 s, and shut_down() was called",
        hint="notify() wakes one sleeper; a shutdown concerns all of them. And don't make anyone wait for a delayed "
        "key.",
    )
    expect([worker.result() for worker in workers], [None] * 3, when="the queue was empty and shut down")
    for key in (held, changed):
        queue.add(key)
        queue.get(timeout=0)
    queue.add(waiting)
    queue.add(changed)
    queue.shut_down()
    queue.add(new)
    queue.add(held)
    queue.add_after(new, 0)
    queue.add_rate_limited(new)
    queue.done(held)
    queue.done(changed)
    expect(
        [queue.get(timeout=1) for _ in range(3)],
        [waiting, changed, None],
        when=f"{waiting} waited, and workers held {held} and {changed}, of which {changed} had been added once more; "
        f"shut_down() was called; {held} and {new} were added; the workers were done, and asked for more",
        hint="After a shutdown add() does nothing, done() still lines up what was added before, and get() returns None "
        "only when nothing waits anymore.",
    )
    nothing_becomes_due(lab)


def nothing_becomes_due(lab):
    """What was delayed when the queue was shut down never gets in line, nor what is delayed after that."""
    clock, (before, after, failed) = lab.clock(), keys(3)
    queue = lab.WorkQueue(clock=clock)
    queue.add_after(before, 5)
    queue.shut_down()
    queue.add_after(after, 5)
    queue.add_rate_limited(failed)
    clock.advance(600)
    expect(
        queue.get(timeout=0),
        None,
        when=f"{before} was due in 5 s, shut_down() was called, then add_after({after!r}, 5) and "
        f"add_rate_limited({failed!r}), and ten minutes passed",
        hint="Workers get what was in line at the shutdown. A delayed key wasn't, and nobody waits for it anymore: "
        "look at `shutting_down` there as well, where a due key gets in line.",
    )


MOST_MOMENTS = 60  # of one call: several times what a right answer has


def scenarios(lab, key):
    """Two calls about one key that may meet on two threads; each time on a new queue."""
    for name in ("add, add", "done, add", "get, get", "add, get", "get, add"):
        first, second = name.split(", ")

        def meet(moment, first=first, second=second):
            queue = lab.WorkQueue()
            if "done" in first or first == second == "get":
                queue.add(key)
            if first == "done":
                queue.get(timeout=0)
            call = {"add": (queue.add, key), "done": (queue.done, key), "get": (queue.get, 0)}
            reached, answers = lab.interrupt(call[first], call[second], moment)
            return reached, [*answers, queue.get(timeout=0), queue.get(timeout=0)].count(key)

        yield (
            f"{first}({'' if first == 'get' else repr(key)})",
            f"{second}({'' if second == 'get' else repr(key)})",
            meet,
        )


def sleepers_that_are_missed(lab, key):
    """A worker is about to sleep when a key is added, or the queue is shut down: it must not sleep through that."""
    for call, right in (("add", key), ("shut_down", None)):
        reached, moment = True, 0
        while reached and moment < MOST_MOMENTS:
            moment += 1
            queue = lab.WorkQueue()
            second = (queue.add, key) if call == "add" else (queue.shut_down,)
            hint = (
                "Look for a key and begin to wait under one hold of the condition. What happens in between is missed."
            )
            story = f"{call}() of another thread came at moment number {moment} of get(), on an empty queue"
            try:
                reached, (answer, _) = lab.interrupt((queue.get,), second, moment)
            except TookTooLong:
                fail(when=story, expected=f"get() returns {right!r}", got="it slept on", hint=hint)
            expect(answer, right, when=story, hint=hint)


def counts_that_meet(lab, key):
    """Two threads count the failures of one key, or one of them forgets it."""
    for second, right, hint in (
        ("add_rate_limited", [4], "Two failures at once are two: read the count and write it while you hold the lock."),
        ("forget", [0, 1], "Forgotten first, then failed: 1. Failed first, then forgotten: 0. Hold the lock in both."),
    ):
        reached, moment = True, 0
        while reached and moment < MOST_MOMENTS:
            moment += 1
            queue = lab.WorkQueue()
            for _ in range(2):
                queue.add_rate_limited(key)
            reached, _ = lab.interrupt((queue.add_rate_limited, key), (getattr(queue, second), key), moment)
            if queue.num_requeues(key) not in right:
                fail(
                    when=f"a key had failed twice, and {second}({key!r}) of another thread came at moment "
                    f"number {moment} of add_rate_limited({key!r})",
                    expected=f"num_requeues() is {' or '.join(map(str, right))}",
                    got=str(queue.num_requeues(key)),
                    hint=hint,
                )


def eight_workers_and_two_producers(lab):
    """No key is lost, none is held twice at once: finds, with luck, a race that two calls about one key don't show."""
    lab.shake(random.randrange(10**6))
    queue, work = lab.WorkQueue(), keys(2)
    held, overlaps, last_seen, counting = Counter(), [], {}, threading.Lock()

    added, finished = Counter(), threading.Event()

    def worker():
        while not finished.is_set():
            key = queue.get(timeout=0.2)
            if key is None:
                continue
            with counting:
                held[key] += 1
                if held[key] > 1:
                    overlaps.append(key)
                last_seen[key] = added[key]  # every add that this round can know of
            time.sleep(0.001)  # the work
            with counting:
                held[key] -= 1
            queue.done(key)

    def producer():
        for _ in range(200):
            key = random.choice(work)
            with counting:
                added[key] += 1
            queue.add(key)

    with ThreadPoolExecutor(10) as threads:
        workers = [threads.submit(worker) for _ in range(8)]
        producers = [threads.submit(producer) for _ in range(2)]
        try:
            for each in producers:
                each.result()
            settled = eventually(lambda: overlaps or dict(last_seen) == dict(added), within=5)
        finally:
            finished.set()
        for each in workers:
            each.result()
    if overlaps:
        fail(
            when="8 workers took keys while 2 producers added them",
            expected="a key is held by one worker at a time",
            got=f"{overlaps[0]} was held by two workers at once",
            hint="Hold the condition around everything that get() and done() do, not around parts of it.",
        )
    if not settled:
        lost = [key for key in work if last_seen.get(key, 0) < added[key]]
        fail(
            when=f"2 producers added 2 keys {sum(added.values())} times in all while 8 workers took them",
            expected="after the last add of each key, some worker takes it once more",
            got=f"{lost[0]} was added {added[lost[0]]} times; no worker took it after the last add",
            hint="Hold the condition while you look at `dirty` and change it: between the two, another thread runs.",
        )


@check(points=5, section="one-key-one-worker", timeout=90)
def test_calls_that_meet(lab):
    """Two threads call at the same moment, at each moment of the code: no key is handed out twice, no failure lost."""
    (key,) = keys(1)
    for first, second, meet in scenarios(lab, key):
        reached, moment = True, 0
        while reached and moment < MOST_MOMENTS:
            moment += 1
            reached, handed_out = meet(moment)
            expect(
                handed_out,
                1,
                when=f"{second} of another thread came at moment number {moment} of {first}, with one key; "
                "then workers asked for keys, and it was counted how often they got that one",
                hint="Hold the condition from the first look to the last change: between two lines, and after each "
                "call within one, others run.",
            )
    counts_that_meet(lab, key)
    sleepers_that_are_missed(lab, key)
    eight_workers_and_two_producers(lab)


class Model:
    """What a right queue may answer, whatever its design.

    Keys that were added are in order (`line`). Keys that became due are somewhere in the line (`loose`), since
    queues differ in when they look at the clock. A key that was both added and delayed may come a second time
    or not: both client-go (yes) and controller-runtime's priority queue (no) are right.
    After a shutdown, the line is what was added before, and perhaps what was due before.
    """

    def __init__(self):
        self.now, self.open = 0, True
        self.line, self.held = [], set()
        self.loose, self.again, self.later = {}, {}, {}  # key -> must it come?
        self.failures = Counter()

    def add(self, key):
        if not self.open:
            return
        self.later = {(due, each): must and each != key for (due, each), must in self.later.items()}
        if key in self.held:
            self.again[key] = "line"
        elif key in self.loose:
            self.loose[key] = True
        elif key not in self.line:
            self.line.append(key)

    def add_after(self, key, delay):
        if not self.open:
            return
        pending = [due for due, each in self.later if each == key]
        coming = pending or key in self.line or key in self.loose or key in self.again
        moment = (self.now + delay, key)
        self.later[moment] = self.later.get(moment, False) or not coming
        if pending and self.now + delay < min(pending) and any(self.later[due, key] for due in pending):
            self.later.update({(due, key): due == self.now + delay for due in [*pending, self.now + delay]})

    def add_rate_limited(self, key):
        self.add_after(key, min(2 ** self.failures[key], 8))
        self.failures[key] += 1

    def forget(self, key):
        del self.failures[key]

    def num_requeues(self, key):
        return self.failures[key]

    def shut_down(self):
        self.open, self.later = False, {}
        self.loose = dict.fromkeys(self.loose, False)
        self.again = {key: must == "line" and must for key, must in self.again.items()}

    def advance(self, seconds):
        self.now += seconds
        for due, key in sorted(self.later):
            if due > self.now:
                continue
            must = self.later.pop((due, key))
            if key in self.held:
                self.again.setdefault(key, must)
            elif key not in self.line:
                self.loose[key] = must or self.loose.get(key, False)

    def done(self, key):
        self.held.discard(key)
        again = self.again.pop(key, None)
        if again == "line":
            self.line.append(key)
        elif again is not None:
            self.loose[key] = again

    def may_get(self):
        musts = [*self.line[:1], *(key for key, must in self.loose.items() if must)]
        maybes = [key for key, must in self.loose.items() if not must]
        return musts + maybes + ([] if musts else [None])

    def got(self, key):
        if key is not None:
            self.line = [each for each in self.line if each != key]
            self.loose.pop(key, None)
            self.held.add(key)


def random_program():
    """Calls in random order, more often than not about one key; done() lets go of every key that is held.

    Every third program shuts the queue down on the way.
    """

    def call():
        key, seconds = random.choice("aab"), random.randint(1, 5)
        return random.choice(
            [
                *[("get",)] * 3,
                *[("done",)] * 2,
                ("add", key),
                ("advance", seconds),
                ("add_after", key, seconds),
                ("add_rate_limited", key),
                ("forget", key),
                ("num_requeues", key),
            ]
        )

    calls = [call() for _ in range(40)]
    if not random.randrange(3):
        calls[random.randrange(10, 35)] = ("shut_down",)
    return calls


def compare(model, calls, answers):
    """Follow the calls with the model up to the first difference."""
    made = []
    for (name, *arguments), answer in zip(calls, answers, strict=False):
        if name == "done":
            arguments = [answers[arguments[0].step]]
            if arguments == [None]:
                continue
        if name == "get":
            may = model.may_get()
            made.append(f"get(timeout=0)  → {answer!r}")
            if answer not in may:
                return made, "returns " + " or ".join(map(repr, may)), repr(answer)
            model.got(answer)
            continue
        made.append(f"{name}({', '.join(map(repr, arguments))})")
        if name == "advance":
            made[-1] = f"… {arguments[0]} s pass on the queue's clock"
        right = getattr(model, name)(*arguments)
        if answer != right and (model.open or name != "num_requeues"):  # who counts after a shutdown is free to
            return made, f"returns {right!r}", repr(answer)
    if len(answers) < len(calls):
        return [*made, f"{calls[len(answers)][0]}(…)"], "returns", "it never came back"
    return None


@check(points=4, section="every-order", timeout=60)
def test_any_order_of_calls(lab):
    """In any order of calls, the queue answers like the model of a correct queue."""

    def first_difference(program):
        """Make the calls; None, or those up to the first wrong answer, what was right, and what came."""
        model, clock = Model(), lab.clock()
        queue = lab.WorkQueue(clock=clock, base_delay=1.0, max_delay=8.0)
        calls, steps, held = [], [], []
        for name, *arguments in program:
            if name == "get":
                held.append(len(steps))
            # done() lets go of every key that was taken so far; what a get() did not bring is left out.
            for given in [[AnswerOf(held.pop(0))] for _ in held[:]] if name == "done" else [arguments]:
                method = clock.advance if name == "advance" else getattr(queue, name)
                calls.append((name, *given))
                steps.append((method, *([0] if name == "get" else given)))
        answers = lab.play(steps)
        return compare(model, calls, answers)

    broken = smallest(random_program, first_difference)
    if broken:
        made, wanted, got = broken
        fail(
            when="these calls were made, the fewest that show it:\n" + "\n".join(made),
            expected=f"the last call {wanted}",
            got=got,
            hint="Follow `waiting`, `dirty`, `processing` and `delayed` through these calls on paper.",
        )
