"""The package as a whole: what it offers, and what it does not drag in."""

import importlib
import inspect
import pkgutil
import subprocess
import sys

import converge.runtime


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_all_that_is_offered_is_there_and_explained():
    for name in converge.runtime.__all__:
        offered = getattr(converge.runtime, name)
        assert offered.__doc__, name
        if inspect.isclass(offered):
            for method, function in vars(offered).items():
                assert method.startswith("_") or not callable(function) or function.__doc__, f"{name}.{method}"


def test_every_module_says_what_it_is():
    for module in pkgutil.walk_packages(converge.runtime.__path__, "converge.runtime."):
        if not module.name.endswith("__main__"):
            assert importlib.import_module(module.name).__doc__, module.name


def test_it_knows_nothing_of_the_course():
    code = (
        "import sys, converge.runtime\n"
        "from converge.runtime.api.official import official; official()\n"
        "print(sorted(name for name in sys.modules if name.startswith('converge.') and 'runtime' not in name))"
    )
    assert run(code) == "[]"


def test_importing_it_drags_in_nothing_slow():
    """An operator starts with this; what is slow waits until it is needed."""
    slow = {"urllib3", "yaml", "kubernetes", "pydantic", "prometheus_client", "asyncio", "http.server", "typer", "kopf"}
    assert run(f"import sys, converge.runtime; print(sorted({slow} & set(sys.modules)))") == "[]"
