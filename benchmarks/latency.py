"""One change on an otherwise idle cluster of 1000 WebApps: from the server's answer to it until the child's change.

A WebApp's image is changed, and the clock runs from the moment in which the API server has accepted that until a watch
shows the Deployment with the new image. The next change waits until the rollout is over and reported.
"""

import itertools
import statistics
import time
from pathlib import Path

from benchmarks import contenders, webapps
from benchmarks.arena import Arena, arena
from benchmarks.contenders import CONTENDERS
from benchmarks.rows import Row, figure, main, say

COMMAND = "python -m benchmarks.latency"
COUNT = 1000
ROUNDS = 3
CHANGES = 70  # in each round


def run() -> list[Row]:
    contenders.prepare()
    tags = itertools.count(2)
    samples: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    with arena() as here:
        accounts = {name: here.account(name) for name in CONTENDERS}
        namespace = contenders.populate(here, accounts[CONTENDERS[0]], here.namespace("full"), COUNT)
        for turn in range(ROUNDS):
            for name in CONTENDERS[turn:] + CONTENDERS[:turn]:
                fresh = changes(here, name, accounts[name], namespace, tags)
                samples[name] += fresh
                say(f"   {turn + 1}/{ROUNDS} {name}: p50 {statistics.median(fresh) * 1000:.1f} ms")
    return [
        figure(f"latency {label}, {name}", percentile(samples[name], share) * 1000, "ms", COMMAND)
        for label, share in (("p50", 50), ("p99", 99))
        for name in CONTENDERS
    ]


def percentile(values: list[float], share: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[share - 1]


def changes(here: Arena, name: str, kubeconfig: Path, namespace: str, tags: itertools.count) -> list[float]:
    """Change one WebApp after the other; return the seconds until each one's Deployment followed."""
    took = []
    with contenders.running(name, here, kubeconfig, namespace):
        since = here.client.list("apps/v1", "Deployment", namespace).resource_version
        with here.client.watch("apps/v1", "Deployment", namespace, resource_version=since, timeout=600) as watch:
            for number in range(CHANGES):
                app, image = f"app-{number * COUNT // CHANGES:04}", f"registry.example/web:{next(tags)}"
                changed = here.client.patch(*webapps.WEBAPP, app, namespace, {"spec": {"image": image}})
                accepted = time.perf_counter()
                for event in watch:
                    containers = event.object["spec"]["template"]["spec"]["containers"]
                    if event.object["metadata"]["name"] == app and containers[0]["image"] == image:
                        break
                took.append(time.perf_counter() - accepted)
                version = changed["metadata"]["resourceVersion"]
                webapps.wait_for(here.client, namespace, [app], version, available=True, within=60)
    return took


if __name__ == "__main__":
    main(run)
