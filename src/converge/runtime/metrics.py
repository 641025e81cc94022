"""The runtime's numbers for Prometheus, under the names that controller-runtime and client-go use.

Nothing is done until someone asks: the numbers are read where they are counted.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from converge.runtime.measures import BUCKETS

if TYPE_CHECKING:
    from converge.runtime.manager import Manager


def exposition(manager: "Manager") -> tuple[str, bytes]:
    """The content type and the body for ``/metrics``."""
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, PlatformCollector, ProcessCollector
    from prometheus_client.exposition import generate_latest

    registry = CollectorRegistry()
    registry.register(_Collector(manager))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    return CONTENT_TYPE_LATEST, generate_latest(registry)


class _Collector:
    def __init__(self, manager: "Manager") -> None:
        self._manager = manager

    def collect(self) -> Iterator[Any]:
        yield from self._controllers()
        yield from self._queues()
        yield from self._informers()
        yield from self._requests()
        yield from self._leader()

    def _controllers(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        total = CounterMetricFamily(
            "controller_runtime_reconcile", "Reconciliations by result", labels=["controller", "result"]
        )
        errors = CounterMetricFamily(
            "controller_runtime_reconcile_errors", "Reconciliations that failed", labels=["controller"]
        )
        terminal = CounterMetricFamily(
            "controller_runtime_terminal_reconcile_errors", "Those given up for good", labels=["controller"]
        )
        seconds = HistogramMetricFamily(
            "controller_runtime_reconcile_time_seconds", "How long reconciliations took", labels=["controller"]
        )
        active = GaugeMetricFamily("controller_runtime_active_workers", "Workers that reconcile", labels=["controller"])
        for controller in self._manager.controllers:
            name, measures = controller.name, controller.measures
            given_up = measures.outcomes["terminal_error"]
            failed = measures.outcomes["error"] + given_up
            for result, count in {**measures.outcomes, "error": failed}.items():
                if result != "terminal_error":
                    total.add_metric([name, result], count)
            errors.add_metric([name], failed)
            terminal.add_metric([name], given_up)
            buckets, so_far = [], 0
            for bound, count in zip((*BUCKETS, "+Inf"), measures.buckets, strict=True):
                so_far += count
                buckets.append((str(bound), so_far))
            seconds.add_metric([name], buckets, measures.seconds)
            active.add_metric([name], len(controller.busy))
        yield from (total, errors, terminal, seconds, active)

    def _queues(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        depth = GaugeMetricFamily("workqueue_depth", "Keys that wait for a worker", labels=["name"])
        adds = CounterMetricFamily("workqueue_adds", "Keys added", labels=["name"])
        retries = CounterMetricFamily("workqueue_retries", "Keys added after a failure", labels=["name"])
        for controller in self._manager.controllers:
            # A queue of another make need not count anything.
            if hasattr(controller.queue, "__len__"):
                depth.add_metric([controller.name], len(controller.queue))
            adds.add_metric([controller.name], getattr(controller.queue, "adds", 0))
            retries.add_metric([controller.name], getattr(controller.queue, "retries", 0))
        yield from (depth, adds, retries)

    def _informers(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        objects = GaugeMetricFamily("informer_objects", "Objects in the cache", labels=["kind", "namespace"])
        lists = CounterMetricFamily("informer_lists", "Lists made", labels=["kind", "namespace"])
        watches = CounterMetricFamily("informer_watches", "Watches opened", labels=["kind", "namespace"])
        for informer in self._manager.informers:
            labels = [informer.kind, informer.namespace or ""]
            objects.add_metric(labels, len(informer))
            lists.add_metric(labels, informer.lists)
            watches.add_metric(labels, informer.watches)
        yield from (objects, lists, watches)

    def _requests(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily

        requests = CounterMetricFamily("rest_client_requests", "Requests answered", labels=["method", "code"])
        for (method, code), count in sorted(self._manager.client.connection.answered.items()):
            requests.add_metric([method, str(code)], count)
        yield requests

    def _leader(self) -> Iterator[Any]:
        from prometheus_client.core import GaugeMetricFamily

        election = self._manager.election
        if election is not None:
            leading = GaugeMetricFamily("leader_election_master_status", "1 while this is the leader", labels=["name"])
            leading.add_metric([election.name], int(election.is_leader()))
            yield leading
