"""The informer against a model of it, on a real server: whatever happens, it ends up with what the server has."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from runtime_world import config_map

from converge.grader import eventually
from converge.recorder import watches
from converge.runtime import Informer

NAMES = st.sampled_from(["a", "b", "c"])


@pytest.mark.slow
def test_whatever_happens_the_cache_and_the_handlers_end_up_with_what_the_server_has(
    admin, client, recorder, namespace
):
    class World(RuleBasedStateMachine):
        """The model is a dict. Handlers replay what they hear into a second one."""

        def __init__(self):
            super().__init__()
            recorder.clear_faults()
            for obj in admin.list("v1", "ConfigMap", namespace, label_selector="app"):
                admin.delete("v1", "ConfigMap", obj["metadata"]["name"], namespace)
            self.model = {}
            self.told = {}
            self.wrong = []
            self.count = 0
            self.blind = False
            self.informer = Informer(client, "v1", "ConfigMap", namespace, label_selector="app", page_size=2)
            self.informer.add_handler(self.handle)
            self.informer.start()
            assert self.informer.wait_for_sync(30)

        def handle(self, change):
            name = change.request.name
            if (change.old is None) != (name not in self.told):
                self.wrong.append((name, change.old, self.told.get(name)))
            if change.new is None:
                self.told.pop(name, None)
            else:
                self.told[name] = change.new["data"]["x"]

        @rule(name=NAMES)
        def write(self, name):
            self.count += 1
            self.model[name] = str(self.count)
            admin.apply(config_map(name, namespace, x=str(self.count)), field_manager="model")

        @precondition(lambda self: self.model)
        @rule(data=st.data())
        def delete(self, data):
            name = data.draw(st.sampled_from(sorted(self.model)))
            del self.model[name]
            admin.delete("v1", "ConfigMap", name, namespace)

        @rule()
        def the_watch_is_cut(self):
            recorder.end_watches("ConfigMap")

        @rule()
        def history_is_lost(self):
            recorder.expire_watches("ConfigMap")

        @precondition(lambda self: not self.blind)
        @rule()
        def nobody_looks(self):
            """From now on watches are refused, until the informer looks again."""
            self.blind = True
            recorder.fail(watches("ConfigMap"), status=503, times=None)
            recorder.end_watches("ConfigMap")

        @precondition(lambda self: self.blind)
        @rule(gone=st.booleans())
        def somebody_looks_again(self, gone):
            self.blind = False
            recorder.clear_faults()
            if gone:
                recorder.fail(watches("ConfigMap"), status=410, reason="Expired")

        @precondition(lambda self: not self.blind)
        @rule()
        def they_agree(self):
            def cached():
                return {obj["metadata"]["name"]: obj["data"]["x"] for obj in self.informer.list()}

            assert eventually(lambda: cached() == self.model == self.told, within=30), (cached(), self.model, self.told)
            assert not self.wrong, "told of a new object that was known, or of a change of one that was not"

        def teardown(self):
            if self.blind:
                self.somebody_looks_again(gone=False)
            try:
                self.they_agree()
            finally:
                self.informer.stop()

    run_state_machine_as_test(
        World,
        settings=settings(
            max_examples=12,
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
