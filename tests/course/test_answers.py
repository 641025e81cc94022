"""Every solution earns all points of its lab, and every skeleton none.

They're graded in one run, as `converge verify --answers` does it, by one worker of `pytest -n` while the others go on.
"""

import pytest

from converge import cluster
from converge.grader import course as courses
from converge.grader.session.verify import Verification, verify

COURSE = courses.load()
LABS = [lab.slug for lab in COURSE.labs]

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.slow,
    pytest.mark.timeout(1200),  # the first test waits for all of them
    pytest.mark.xdist_group("answers"),
]


@pytest.fixture(scope="module")
def graded(request: pytest.FixtureRequest) -> dict[str, Verification]:
    """The labs whose tests were chosen, so that a retry of one grades that one."""
    chosen = {item.callspec.params["slug"] for item in request.session.items if item.module is request.module}
    cluster.ensure()
    found = verify(COURSE, [lab for lab in COURSE.labs if lab.slug in chosen], answers=True)
    return {each.lab: each for each in found}


@pytest.mark.parametrize("slug", LABS)
def test_the_solution_earns_everything_and_the_skeleton_nothing(graded: dict[str, Verification], slug: str) -> None:
    found = graded[slug]
    flaky = [f"{trial.subject}: {why}" for trial in found.trials for why in trial.unsteady]
    if flaky:
        print("Flaky, passed on retry:", *flaky, sep="\n")
    assert {trial.subject: trial.problems for trial in found.trials if trial.problems} == {}
    assert not found.problems
