"""A controller as it stands in many texts. Lesson 05 shows what the grader says to it."""

from converge.operators.lessons import lesson

given = lesson("05_controller")
owner_of, assemble = given.owner_of, given.assemble


class Controller(given.Controller):
    # --8<-- [start:run]
    def run(self) -> None:
        try:
            for informer in self.informers:
                informer.start()
            while not all(informer.has_synced() for informer in self.informers):
                self.stopping.wait(0.02)
            while self.process_next_item() and not self.stopping.is_set():
                pass
        finally:
            self.queue.shut_down()

    # --8<-- [end:run]
