"""The queue that lesson 03 shows failing: Python's own, which holds every event. `03_workqueue.toml` grades it."""

import queue


# --8<-- [start:queue]
class WorkQueue:
    def __init__(self) -> None:
        self.events: queue.Queue[str] = queue.Queue()

    def add(self, key: str) -> None:
        self.events.put(key)

    def get(self, timeout: float | None = None) -> str | None:
        try:
            return self.events.get(timeout=timeout) if timeout else self.events.get_nowait()
        except queue.Empty:
            return None

    def done(self, key: str) -> None:
        self.events.task_done()

    def __len__(self) -> int:
        return self.events.qsize()

    # --8<-- [end:queue]
