"""Earlier lessons, for later ones: what a learner has written once is imported from then on, never copied.

`lesson("06_idempotency")` is the module of that lesson's solution. Its directory begins with a digit, which the
``import`` statement does not take; everything else about it is an ordinary module.
"""

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

_SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"


@cache
def lesson(slug: str) -> ModuleType:
    """The solution of lesson ``slug`` as a module."""
    (file,) = sorted((_SOLUTIONS / slug).glob("*.py"))
    return load(str(file))


def load(file: str) -> ModuleType:
    """Any file of a lesson as a module: a solution, or somebody's own lab."""
    path = Path(file)
    name = f"converge_{path.parent.parent.name}_{path.parent.name}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickling look the module up by its name
    spec.loader.exec_module(module)
    return module
