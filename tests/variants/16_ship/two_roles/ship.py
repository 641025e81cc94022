"""The manager on a thread of its own, signals by hand; one Role for the work and one for the election."""

import json
import logging
import os
import signal
import threading
from dataclasses import dataclass, field

from converge.operators.webapp import setup
from converge.runtime import Client, LeaderElection, Manager


class Lines(logging.Formatter):
    """JSON by hand."""

    def format(self, record: logging.LogRecord) -> str:
        said = {"severity": record.levelname, "msg": record.getMessage()}
        return json.dumps({**said, "stack": self.formatException(record.exc_info)} if record.exc_info else said)


@dataclass
class Settings:
    namespace: str = field(default_factory=lambda: os.environ["POD_NAMESPACE"])
    name: str = field(default_factory=lambda: os.environ["POD_NAME"])
    port: int = field(default_factory=lambda: int(os.environ.get("PORT", "8080")))
    lease: float = field(default_factory=lambda: float(os.environ.get("LEASE_SECONDS", "15")))


def run(settings: Settings) -> int:
    client = Client(namespace=settings.namespace)
    times = {"renew_deadline": settings.lease * 0.6, "retry_period": settings.lease * 0.2}
    election = LeaderElection(client, "election", identity=settings.name, lease_duration=settings.lease, **times)
    manager = Manager(
        client, namespace=settings.namespace, leader_election=election, port=settings.port, host="", grace=10
    )
    setup(manager)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            manager.run()
        except Exception as failure:
            logging.exception("could not go on")
            failures.append(failure)

    worker = threading.Thread(target=work)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: manager.request_stop())
    worker.start()
    while worker.is_alive():
        worker.join(0.2)
    return 1 if failures else 0


if __name__ == "__main__":
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    raise SystemExit(run(Settings()))
