"""The worker of lesson 03: what a controller does with a queue. The page shows it; the notebook runs it."""

from collections.abc import Callable

from converge.runtime import WorkQueue


# --8<-- [start:worker]
def work(queue: WorkQueue, process: Callable[[str], None]) -> None:
    """Take keys until the queue is shut down."""
    while (key := queue.get()) is not None:  # sleeps; from now on no other worker gets this key
        try:
            process(key)
        except Exception:
            queue.add_rate_limited(key)  # again, later each time
        else:
            queue.forget(key)  # the next failure starts from 5 ms
        queue.done(key)  # if the key was added meanwhile, it waits again now
    # --8<-- [end:worker]
