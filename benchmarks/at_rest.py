"""1000 WebApps and nothing to do, for a minute: requests, CPU time and memory of an operator that only waits.

The controller manager is at work, and every WebApp has been served before. Memory per 1000 objects is the difference
between an operator that knows 1000 WebApps with their Deployments and Services, and the same one in an empty namespace.
"""

import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import contenders
from benchmarks.arena import Arena, arena
from benchmarks.contenders import CONTENDERS, GO, KOPF, OURS
from benchmarks.rows import Row, at_most, figure, main, say

COMMAND = "python -m benchmarks.at_rest"
COUNT = 1000
CACHED = 3 * COUNT  # WebApps, Deployments, Services
SECONDS = 60.0


@dataclass(frozen=True)
class Rest:
    """What an operator did in ``SECONDS`` without any change."""

    writes: int
    reads: int
    watches: int
    cpu: float
    memory: float
    memory_per_1000: float


def run() -> list[Row]:
    contenders.prepare()
    with arena() as here:
        accounts = {name: here.account(name) for name in CONTENDERS}
        full = contenders.populate(here, accounts[OURS], here.namespace("full"), COUNT)
        seen = {}
        for name in CONTENDERS:
            seen[name] = rest(here, name, accounts[name], full)
            say(f"   {name}: {seen[name]}")
    return [
        at_most(0, "at rest, writes in 60 s", seen[OURS].writes, "requests", COMMAND),
        at_most(0, "at rest, reads in 60 s beyond open watches", seen[OURS].reads, "requests", COMMAND),
        *(figure(f"at rest, requests in 60 s, {name}", total(seen[name]), "requests", COMMAND) for name in (KOPF, GO)),
        *(figure(f"at rest, watches opened again, {name}", seen[name].watches, "requests", COMMAND) for name in seen),
        *(figure(f"at rest, CPU time in 60 s, {name}", seen[name].cpu * 1000, "ms", COMMAND) for name in seen),
        *(figure(f"resident memory, {name}", seen[name].memory, "MB", COMMAND) for name in seen),
        *(
            figure(f"memory per 1000 cached objects, {name}", seen[name].memory_per_1000, "MB", COMMAND)
            for name in seen
        ),
    ]


def total(seen: Rest) -> int:
    return seen.writes + seen.reads


def rest(here: Arena, name: str, kubeconfig: Path, full: str) -> Rest:
    """Watch one operator do nothing."""
    with contenders.running(name, here, kubeconfig, here.namespace(f"empty-{name}")) as operator:
        empty = operator.memory_info().rss
    with contenders.running(name, here, kubeconfig, full) as operator:
        before, used = here.requests(name), contenders.cpu_seconds(operator)
        time.sleep(SECONDS)
        sent, spent = here.requests(name) - before, contenders.cpu_seconds(operator) - used
        memory = operator.memory_info().rss
    return Rest(
        writes=sent["write"],
        reads=sent["read"] + sent["other"],
        watches=sent["watch"],
        cpu=max(0.0, spent),
        memory=memory / 1e6,
        memory_per_1000=(memory - empty) / 1e6 / (CACHED / 1000),
    )


if __name__ == "__main__":
    main(run)
