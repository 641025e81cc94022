"""What tests of an operator are made of: the operator's process, its namespace, waiting by evidence, attacks.

It's a pytest plugin too: `pytest_plugins = ["converge.testing"]` or `-p converge.testing`. It knows nothing of the
course: `converge.grader` builds its checks on this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from converge.testing.objects.custom_resource import CustomResource
    from converge.testing.objects.namespace import Namespace
    from converge.testing.operator import Launch, Operator
    from converge.testing.verdicts.failure import Failure
    from converge.testing.waits.waiting import eventually, never

pytest_plugins = ("converge.testing.plugin",)

__all__ = ["CustomResource", "Failure", "Launch", "Namespace", "Operator", "attacks", "eventually", "never"]

_WHERE = {
    "CustomResource": "objects.custom_resource",
    "Failure": "verdicts.failure",
    "Launch": "operator",
    "Namespace": "objects.namespace",
    "Operator": "operator",
    "eventually": "waits.waiting",
    "never": "waits.waiting",
}


def __getattr__(name: str) -> Any:
    """Import a name when it's first used: every pytest run of the course imports this package."""
    from importlib import import_module

    if name == "attacks":
        return import_module("converge.testing.attacks")
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"converge.testing.{_WHERE[name]}"), name)
