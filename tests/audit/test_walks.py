"""When a new object with an edited spec counts as carried out: without that, no edit of a living one is judged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from converge.audit.attacks import walks


def target(now: dict[str, Any]) -> Any:
    learned = SimpleNamespace(clean={"Pod/*": [{"kind": "Pod"}], "Secret/NAME": {}}, look=lambda app: now, patience=0.0)
    return SimpleNamespace(learned=learned, operator=SimpleNamespace(recorder=SimpleNamespace(requests=[])))


@pytest.mark.parametrize(
    ("children", "carried_out"),
    [
        ({"Pod/*": [{"kind": "Pod"}], "Secret/NAME": {}}, True),
        ({"Pod/*": [], "Secret/NAME": {}}, True),  # fewer, as some specs ask for
        ({"Pod/*": []}, False),  # none: it was switched off, or refused
    ],
)
def test_a_new_object_without_any_child_is_not_carried_out(monkeypatch, children, carried_out):
    monkeypatch.setattr(walks, "reports_problem", lambda *_: False)
    fresh: Any = SimpleNamespace(now=lambda: {"kind": "WebApp"}, name="amber")
    assert walks._carried_out(target(children), fresh) == carried_out
