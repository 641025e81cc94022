"""Rest is found in operators of every kind: who watches, who polls, who does both; and never in one that writes."""

from contextlib import ExitStack

import pytest

from converge.grader.session.testbed import lab_testbed
from converge.testing.verdicts.failure import Failure

pytestmark = pytest.mark.cluster

OPERATOR = """
from converge.runtime import Result
from converge.operators.webapp import WEBAPP, desired_deployment


class Applies:
    def __init__(self, client):
        self.client = client

    def reconcile(self, request):
        webapp = self.client.get(*WEBAPP, request.name, request.namespace)
        wanted = desired_deployment(webapp)
        if not list(self.client.list("apps/v1", "Deployment", request.namespace)):
            self.client.create(wanted)
        {then}


def setup(manager):
    manager.controller(Applies(manager.client)).for_(*WEBAPP)
"""
LABEL = '{"metadata": {"labels": {"beat": str(__import__("time").monotonic_ns())}}}'


@pytest.fixture
def start(tmp_path):
    with ExitStack() as worlds:

        def operator(then):
            file = tmp_path / "applies.py"
            file.write_text(OPERATOR.format(then=then))
            world = worlds.enter_context(lab_testbed("07", file))
            world.operator.start()
            world.namespace.webapp()
            return world.operator

        yield operator


@pytest.mark.parametrize("every", [0.01, 0.3, 2], ids=lambda every: f"every {every} s")
def test_who_watches_and_looks_again_all_the_time_comes_to_rest(start, every):
    operator = start(f"return Result(requeue_after={every})")
    operator.settle()
    assert [write.verb for write in operator.recorder.writes()] == ["create"]


def test_who_keeps_writing_does_not(start):
    beat = f'self.client.patch("apps/v1", "Deployment", request.name, request.namespace, {LABEL})'
    operator = start(f"{beat}\n        return Result(requeue_after=0.1)")
    with pytest.raises(Failure) as caught:
        operator.settle(within=6)
    assert "it kept writing" in caught.value.got
