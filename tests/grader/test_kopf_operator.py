"""An operator on kopf is started, stopped, killed and counted as one on the runtime is."""

import pytest

from converge.grader import eventually
from converge.grader.checks.verdict import NotStarted
from converge.grader.course import Course
from converge.grader.session.lab_operator import LabOperator, launch_of
from converge.testing import attacks
from converge.testing.access.identity import make_account, write_kubeconfig
from converge.testing.verdicts.failure import Failure

pytestmark = pytest.mark.cluster

CAREFUL = """
import kopf

WEBAPP = ("converge.example", "v1", "webapps")


@kopf.on.startup()
def configure(settings, **_):
    settings.scanning.disabled = True


@kopf.on.create(*WEBAPP)
@kopf.on.update(*WEBAPP)
@kopf.on.resume(*WEBAPP)
def report(spec, status, patch, **_):
    if status.get("url") != spec["image"]:
        patch.status["url"] = spec["image"]


@kopf.on.create(*WEBAPP)
@kopf.on.resume(*WEBAPP)
def beside(**_):
    pass


@kopf.on.delete(*WEBAPP)
def release(**_):
    pass
"""
CARELESS = CAREFUL.replace('status.get("url") != spec["image"]', "True")
UNFINISHED = CAREFUL.replace("    pass", '    raise NotImplementedError("TODO 2: beside")', 1)
OTHER_PREFIX = CAREFUL.replace(
    "    settings.scanning.disabled = True",
    "    settings.scanning.disabled = True\n"
    '    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix="team.example")\n'
    '    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix="team.example")',
)


@pytest.fixture
def make(course: Course, admin, namespace, recorder, tmp_path):
    lab = course.find("13")
    token = make_account(admin, namespace.name, lab.rights)
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", recorder.url, token, namespace.name)
    made = []

    def operator(text):
        file = tmp_path / "webapp.py"
        file.write_text(text)
        made.append(LabOperator(launch_of(lab, file, namespace.name), namespace, kubeconfig, recorder))
        return made[-1]

    yield operator
    for each in made:
        each.close()


def reported(app):
    return app.status.get("url")


def test_it_serves_after_each_kind_of_start(make, namespace):
    operator, app = make(CAREFUL), namespace.webapp()
    for begin in (operator.start, operator.restart, lambda: (operator.crash(), operator.start())):
        image = namespace.new_name()
        app.edit(image=image)
        begin()
        assert eventually(lambda: reported(app), image) == image
        operator.settle()
    operator.stop()
    assert not operator.running


@pytest.mark.parametrize("text", [CAREFUL, OTHER_PREFIX], ids=["kopf's annotations", "another prefix"])
def test_what_kopf_notes_down_is_not_counted(make, namespace, recorder, text):
    operator, app = make(text), namespace.webapp()
    operator.start()
    attacks.zero_writes_at_rest(operator, app)
    assert recorder.writes("WebApp", subresource=""), "kopf has noted nothing: then there was nothing to leave out"


def test_what_a_handler_writes_is_counted(make, namespace):
    operator, app = make(CARELESS), namespace.webapp()
    operator.start()
    with pytest.raises(Failure, match=r"an annotation of WebApp/.* was touched"):
        attacks.zero_writes_at_rest(operator, app)


def test_a_todo_that_a_handler_reaches_is_told(make, namespace):
    operator = make(UNFINISHED)
    namespace.webapp()
    operator.start()
    with pytest.raises(NotStarted, match="TODO 2: beside"):
        operator.settle()


def test_a_second_copy_runs_beside_the_first_and_ends_with_it(make, namespace):
    operator = make(CAREFUL)
    copy = operator.another()
    operator.start()
    copy.start()
    operator.crash()
    app = namespace.webapp()
    assert eventually(lambda: reported(app), app.spec["image"]) == app.spec["image"]
    operator.close()
    assert not copy.running
