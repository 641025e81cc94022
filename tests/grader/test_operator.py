"""An operator that does not come up, ends, or reaches a TODO is reported as such."""

import pytest

from converge.grader.checks.verdict import NotStarted
from converge.grader.session.lab_operator import LabOperator, launch_of
from converge.grader.session.testbed import lab_testbed
from converge.testing.verdicts.failure import Failure

pytestmark = pytest.mark.cluster


@pytest.fixture
def make(course, namespace, kubeconfig, recorder, tmp_path):
    made = []

    def operator(text):
        file = tmp_path / "loop.py"
        file.write_text(text)
        made.append(LabOperator(launch_of(course.find("01"), file, namespace.name), namespace, kubeconfig, recorder))
        return made[-1]

    yield operator
    for each in made:
        each.close()


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("raise SystemExit(3)", Failure, "the operator exited with status 3"),
        ("import os\nos._exit(0)", Failure, "the operator exited with status 0"),
        ("import no_such_module", Failure, "the operator exited with status"),
        ("def setup(manager):\n    raise NotImplementedError('TODO 2: setup')", NotStarted, "TODO 2: setup"),
    ],
    ids=["exits", "exits at once", "does not import", "todo"],
)
def test_an_operator_that_does_not_come_up_is_told(make, text, kind, says):
    with pytest.raises(kind, match=says):
        make(text).start()


def test_what_it_printed_explains_it(make):
    with pytest.raises(Failure) as caught:
        make("import no_such_module").start()
    assert "no_such_module" in caught.value.seen[0]


def test_the_timeline_shows_its_reconciles_and_its_output_does_not():
    with lab_testbed("06") as world:
        world.operator.start()
        app = world.namespace.webapp()
        world.operator.settle()
    notes = world.recorder.recording.notes
    spans = [note for note in notes if note.duration]
    assert {note.object for note in spans} == {f"webapps/{app.name}"}
    assert [note for note in world.operator.recorded().notes if note.duration] == spans, "each of them once"
    assert "reconciled in" not in world.operator.output
