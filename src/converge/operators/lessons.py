"""Earlier lessons, for later ones: what was written once is imported from then on, never copied.

`lesson("06_idempotency")` is the module of that lesson's solution. Its directory begins with a digit, which the
``import`` statement doesn't take; everything else about it is an ordinary module.
"""

from functools import cache
from pathlib import Path
from types import ModuleType

from converge.files import load_module, package_root


@cache
def lesson(slug: str) -> ModuleType:
    """The solution of lesson ``slug`` as a module."""
    folder = package_root() / "solutions" / slug
    files = sorted(folder.glob("*.py"))
    if len(files) != 1:
        raise ModuleNotFoundError(f"The solution of lesson {slug} isn't in {folder}: later lessons build on it.")
    return load(str(files[0]))


def load(file: str) -> ModuleType:
    """Any file of a lesson as a module: a solution, or your own lab."""
    path = Path(file)
    return load_module(file, f"converge_{path.parent.parent.name}_{path.parent.name}")
