"""1000 WebApps at once: how long until every Deployment, Service and status is right, and with how many requests.

Three repetitions in which the operators take turns in another order, each on a fresh control plane. An operator is held
still while the WebApps are created, so that all of them arrive at once and creating them costs it nothing. The
controller manager is held still as well: its work for 1000 Deployments would be most of what is measured. In one more,
untimed round of 200 WebApps the controller manager is at work, until every WebApp has been reported available. Requests
are counted by the API server, and without those of the operator's start.

A WebApp needs a Deployment, a Service and a status, and the API takes one of them at a time. So three requests are the
least there can be. controller-runtime sends three as well, so no bar asks for fewer than it sends.
"""

import signal
import statistics
import time
from dataclasses import dataclass

from benchmarks import contenders, webapps
from benchmarks.arena import Arena, arena
from benchmarks.contenders import CONTENDERS, GO, KOPF, OURS
from benchmarks.rows import Row, at_least, at_most, figure, less_than, main, say

COMMAND = "python -m benchmarks.throughput"
COUNT = 1000
REPETITIONS = 3
LIVELY = 200  # WebApps of the round in which the controller manager is at work
PATIENCE = 900.0


@dataclass(frozen=True)
class Round:
    """What one operator needed for all WebApps."""

    seconds: float
    cpu: float  # seconds of the operator's own processor time, which other load changes little
    requests: int
    memory: float  # MB, when all was done


def run() -> list[Row]:
    contenders.prepare()
    timed: dict[str, list[Round]] = {name: [] for name in CONTENDERS}
    for turn in range(REPETITIONS):
        for name in CONTENDERS[turn:] + CONTENDERS[:turn]:
            with arena() as here, here.without_controller_manager():
                timed[name].append(one_round(here, name, COUNT, available=False))
            say(f"   {turn + 1}/{REPETITIONS} {name}: {timed[name][-1]}")
    lively: dict[str, Round] = {}
    with arena() as here:
        for name in CONTENDERS:
            lively[name] = one_round(here, name, LIVELY, available=True)
            say(f"   with the controller manager at work, {name}: {lively[name]}")
    return rows(timed, lively)


def one_round(here: Arena, name: str, count: int, available: bool) -> Round:
    """Let one operator serve ``count`` WebApps."""
    kubeconfig, namespace = here.account(name), here.namespace(f"for-{name}")
    with contenders.running(name, here, kubeconfig, namespace) as operator:
        before = here.requests(name).total()
        operator.send_signal(signal.SIGSTOP)
        since = here.client.list(*webapps.WEBAPP, namespace).resource_version
        names = [app["metadata"]["name"] for app in webapps.create_many(here.client, namespace, count)]
        started, used = time.monotonic(), contenders.cpu_seconds(operator)
        operator.send_signal(signal.SIGCONT)
        ended = webapps.wait_for(here.client, namespace, names, since, available, within=PATIENCE)
        here.settle(name)
        spent, memory = contenders.cpu_seconds(operator) - used, operator.memory_info().rss / 1e6
        webapps.check(here.client, namespace, count)
        return Round(ended - started, spent, here.requests(name).total() - before, memory)


def rows(timed: dict[str, list[Round]], lively: dict[str, Round]) -> list[Row]:
    def faster(than: str) -> float:
        pairs = zip(timed[than], timed[OURS], strict=True)
        return statistics.median(other.seconds / own.seconds for other, own in pairs)

    def middle(name: str, field: str) -> float:
        return statistics.median(getattr(one, field) for one in timed[name])

    sent = {name: sum(one.requests for one in timed[name]) for name in CONTENDERS}
    return [
        *(figure(f"throughput, {name}", COUNT / middle(name, "seconds"), "WebApps/s", COMMAND) for name in CONTENDERS),
        at_least(2, "throughput against kopf", faster(KOPF), "×", COMMAND),
        at_least(0.95, "throughput against controller-runtime", faster(GO), "×", COMMAND),
        at_most(4.7, f"processor time per WebApp, {OURS}", middle(OURS, "cpu") / COUNT * 1000, "ms", COMMAND),
        *(
            figure(f"processor time per WebApp, {name}", middle(name, "cpu") / COUNT * 1000, "ms", COMMAND)
            for name in (KOPF, GO)
        ),
        *(figure(f"requests, {name}", sent[name], "requests", COMMAND) for name in CONTENDERS),
        less_than(1, "requests against kopf", sent[OURS] / sent[KOPF], "×", COMMAND),
        at_most(3, "requests per WebApp, converge", sent[OURS] / REPETITIONS / COUNT, "requests", COMMAND),
        *(
            figure(f"requests per WebApp until available, {name}", lively[name].requests / LIVELY, "requests", COMMAND)
            for name in CONTENDERS
        ),
    ]


if __name__ == "__main__":
    main(run)
