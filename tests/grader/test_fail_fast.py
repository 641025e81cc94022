"""A submission that always fails in the same way hears it once, soon, and with the reason."""

import os
import re

import pytest

from converge.grader import course as courses
from converge.grader.checks.verdict import Status
from converge.grader.course.job import Job
from converge.grader.report.text import explain_check
from converge.grader.session.run import run
from converge.testing.waits.deadlines import LARGEST_SCALE, scaled

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]  # more than any of them may take: see `grade`

SOON = 15  # seconds for the whole lab


@pytest.fixture
def grade(tmp_path):
    """Grade the solution of a lab with one edit."""
    course = courses.load()

    def graded(number, find, replace, *, checks=None, soon=True):
        lab = course.find(number)
        text = lab.solution.read_text()
        assert text.count(find) == 1, f"{find!r} is {text.count(find)} times in the solution"
        (tmp_path / lab.file).write_text(text.replace(find, replace))
        (result,) = run(course, [Job(lab, str(tmp_path), lab.checks[:checks] if checks else None)])
        load = os.getloadavg()[0] / (os.cpu_count() or 1)
        if soon and load < LARGEST_SCALE:  # beyond that no deadline holds
            assert result.seconds < scaled(SOON)
        return result

    return graded


def told_once(result):
    """What the first check says; all others refer to it."""
    first, *others = [check for check in result.checks if check.asked]
    assert {check.status for check in result.checks} == {Status.FAILED}
    assert {explain_check(check).strip() for check in others} == {f"same reason as {first.number}"}
    return explain_check(first)


def test_an_operator_that_dies_at_its_start(grade):
    result = grade("06", "def setup(manager: Manager) -> None:", "def setup(manager: Manager) -> None:\n    1 / 0")
    told = told_once(result)
    assert "the operator exited with status" in told
    (file, function), *_ = re.findall(r'File "([^"]+)", line \d+, in (\w+)', told)
    assert (file.rpartition("/")[2], function) == ("idempotency.py", "setup")
    assert "ZeroDivisionError" in told
    assert "hint" not in told


def test_an_operator_whose_every_pass_ends_in_the_same_exception(grade):
    result = grade("06", 'spec["replicas"],', 'spec["replica"],')
    told = told_once(result)
    assert "the operator keeps failing: KeyError: 'replica'" in told
    assert "in reconcile" in told
    assert "hint" not in told
    assert any("not run" in check.parts["message"] for check in result.checks)


def test_an_operator_that_may_not_do_what_it_tries(grade):
    find = "        for child in (desired_deployment"
    result = grade("06", find, f'        list(self.client.list("apps/v1", "Deployment"))\n{find}')
    told = told_once(result)
    assert "Pass the namespace" in told
    assert re.search(r"403 Forbidden: .* at the cluster scope  ×\d+", told)


def test_an_operator_that_looks_in_another_namespace(grade):
    find = "self.client.get(*WEBAPP, request.name, request.namespace)"
    told = explain_check(grade("06", find, find.replace("request.namespace", "'default'"), checks=1).checks[0])
    assert "Pass the namespace" in told
    assert re.search(r'403 Forbidden: .* in the namespace "default"  ×\d+', told)


def test_an_error_that_is_swallowed_is_still_told_in_the_servers_words(grade):
    result = grade(
        "06",
        "with suppress(AlreadyExists):",
        "child['metadata']['labels']['one'] = 1\n            with suppress(Exception):",
        checks=1,  # what swallows its errors looks well to itself, so every check waits for what never comes
    )
    told = explain_check(result.checks[0])
    assert "CREATE deployments/" in told
    assert re.search(r"→ 4\d\d .*cannot unmarshal number", told)
    assert "404" not in told, "a look before a create isn't news"


def test_the_first_check_alone_waits_no_longer(grade):
    result = grade("06", 'spec["replicas"],', 'spec["replica"],', checks=1)
    assert "the operator keeps failing: KeyError: 'replica'" in explain_check(result.checks[0])


def test_what_is_half_done_gets_its_chance_in_every_check(grade):
    refuses_services = "assert child['kind'] != 'Service'\n            with suppress(AlreadyExists):"
    result = grade("06", "with suppress(AlreadyExists):", refuses_services, soon=False)
    assert "AssertionError" in explain_check(result.checks[0])
    assert not any("not run" in check.parts.get("message", "") for check in result.checks)


def test_an_operator_on_kopf_that_fails_in_its_startup_handler(grade):
    result = grade("13", "settings.scanning.disabled = True", "settings.scanning.disabled = undefined")
    told = told_once(result)
    assert "NameError: name 'undefined' is not defined" in told
    assert "slow" not in told


MANIFEST = """
[course]
title = "Tiny"
[rights]
webapps = {group = "converge.example", resources = ["webapps"], verbs = ["get", "list", "watch"]}
[[lab]]
slug = "01_half"
title = "Half"
part = "I"
kind = "operator"
file = "half.py"
rights = ["webapps"]
"""
HALF_DONE = """
class Reconciler:
    def reconcile(self, request):
        raise KeyError("half")


def setup(manager):
    manager.controller(Reconciler()).for_("converge.example/v1", "WebApp")
"""
CHECKS = '''
from converge.grader import check, eventually, fail


def crash(operator, namespace):
    operator.start()
    namespace.webapp()
    eventually(lambda: operator.output.count("Traceback") >= 3, within=20)


@check(points=1)
def test_it_starts(operator):
    """It starts."""
    operator.start()


@check(points=1)
def test_one(operator, namespace):
    """One thing."""
    crash(operator, namespace)
    fail(when="a WebApp was created", expected="one", got="nothing", hint="the first hint")


@check(points=1)
def test_another(operator, namespace):
    """Another thing."""
    crash(operator, namespace)
    fail(when="a WebApp was created", expected="another", got="nothing", hint="the second hint")
'''


def test_later_checks_do_not_repeat_the_same_traceback_under_other_hints(tmp_path):
    for path, text in {
        "course.toml": MANIFEST,
        "labs/01_half/half.py": HALF_DONE,
        "tests/labs/test_01_half.py": CHECKS,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    course = courses.load(tmp_path)
    (result,) = run(course, [Job(course.labs[0])], workers=0)
    start, one, another = result.checks
    assert (start.status, one.status, another.status) == (Status.PASSED, Status.FAILED, Status.FAILED)
    assert "KeyError: 'half'" in explain_check(one)
    assert "the first hint" in explain_check(one)
    assert explain_check(another).strip() == "same reason as 01.2"


def test_a_module_that_does_not_import(grade):
    told = told_once(grade("03", "class WorkQueue", "import no_such_module\n\n\nclass WorkQueue"))
    assert "No module named 'no_such_module'" in told
