"""The work queue alone: how many keys go through it with 1, 4 and 8 threads, and what a key costs as they become many.

Growth is measured in CPU time of one thread, per key, from a thousand keys to a million: once for keys that are added
and taken, once for keys that wait for their time. A queue that searched or copied anything would cost ten times more
per key with ten times the keys. A heap costs a third more, and memory that the processor's cache no longer holds costs
more as well.
"""

import statistics
import threading
import time
from collections.abc import Callable
from itertools import pairwise

from benchmarks.rows import Row, at_most, figure, main, say
from converge.runtime import WorkQueue

COMMAND = "python -m benchmarks.queue"
ROUNDS = 3
THREADS = (1, 4, 8)
KEYS_PER_THREAD = 20_000
SIZES = (1_000, 10_000, 100_000, 1_000_000)


def run() -> list[Row]:
    rows = []
    for count in THREADS:
        rate = statistics.median(through(count) for _ in range(ROUNDS))
        say(f"   {count} threads: {rate:,.0f} keys/s")
        rows.append(figure(f"work queue, {count} thread{'s' if count > 1 else ''}", rate, "keys/s", COMMAND))
    for name, pass_through in (("added and taken", ready), ("delayed", delayed)):
        costs = [cost(pass_through, size) for size in SIZES]
        say(f"   {name}: " + ", ".join(f"{value:.2f} µs" for value in costs))
        rows += [
            figure(f"work queue, a key {name}, of {size:,}", value, "µs", COMMAND)
            for size, value in zip(SIZES, costs, strict=True)
        ]
        worst = max(later / earlier for earlier, later in pairwise(costs))
        rows.append(
            at_most(2, f"work queue, a key {name}: cost with ten times the keys, at worst", worst, "×", COMMAND)
        )
    return rows


def through(count: int) -> float:
    """Keys a second, each added, taken and done, with ``count`` threads that all do all of it."""
    queue: WorkQueue[tuple[int, int]] = WorkQueue()

    def work(thread: int) -> None:
        for number in range(KEYS_PER_THREAD):
            queue.add((thread, number))
            key = queue.get()
            assert key is not None
            queue.done(key)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return count * KEYS_PER_THREAD / (time.perf_counter() - started)


def cost(pass_through: Callable[[int], None], size: int) -> float:
    """Microseconds of CPU time per key, when ``size`` keys are in the queue at once."""
    times = []
    for _ in range(ROUNDS):
        repeats = max(1, 20_000 // size)
        started = time.process_time()
        for _ in range(repeats):
            pass_through(size)
        times.append((time.process_time() - started) / repeats / size * 1e6)
    return statistics.median(times)


def ready(size: int) -> None:
    queue: WorkQueue[int] = WorkQueue()
    for number in range(size):
        queue.add(number)
    _empty(queue, size)


def delayed(size: int) -> None:
    now = [0.0]
    queue: WorkQueue[int] = WorkQueue(clock=lambda: now[0])
    for number in range(size):
        queue.add_after(number, 1 + number * 7919 % size)  # in no order
    now[0] = size + 2.0
    _empty(queue, size)


def _empty(queue: WorkQueue[int], size: int) -> None:
    for _ in range(size):
        key = queue.get(timeout=0)
        assert key is not None
        queue.done(key)


if __name__ == "__main__":
    main(run)
