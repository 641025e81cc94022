"""What later lessons import is what earlier ones have defined."""

from converge.operators import webapp
from converge.operators.lessons import lesson


def test_the_field_manager_is_that_of_lesson_07():
    assert lesson("07_drift").FIELD_MANAGER == webapp.FIELD_MANAGER


def test_the_kind_is_that_of_lesson_06():
    assert lesson("06_idempotency").WEBAPP == webapp.WEBAPP
