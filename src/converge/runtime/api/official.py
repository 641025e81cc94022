"""The official `kubernetes` package, without waiting for its models.

This package needs three things of it: the loading of configuration and credentials
(`kubernetes.config`), the `Configuration` they fill, and the urllib3 pool built from that
(`kubernetes.client.rest`). None of them uses the pydantic models, yet ``import kubernetes`` takes most of
a second of CPU for models, OAuth and the dynamic client, each time an operator starts.

So the three are imported beneath stand-ins for the packages around them, and the stand-ins are taken away
again: who imports `kubernetes` later gets the whole package, untouched. What the stand-ins promise
(``ApiClient`` and OAuth, used only to refresh a token of the old ``auth-provider`` kind) is imported for
real when it is called. If this ever stops working, the plain import does the same more slowly.
"""

import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

_lock = threading.Lock()
_loaded: "Official | None" = None


@dataclass(frozen=True, slots=True)
class Official:
    """The parts of the official client that this package uses."""

    configuration: type[Any]
    rest_client: type[Any]
    load_kube_config: Callable[..., None]
    load_incluster_config: Callable[..., None]
    list_kube_config_contexts: Callable[..., tuple[list[dict[str, Any]], dict[str, Any]]]
    config_exception: type[Exception]


def official() -> Official:
    """Import the parts once; the quick way if it works, else the plain one."""
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _import_quickly() or import_plainly()
        return _loaded


def import_plainly() -> Official:
    """Import the parts as everybody does."""
    configuration = importlib.import_module("kubernetes.client.configuration")
    rest = importlib.import_module("kubernetes.client.rest")
    return _parts(configuration, rest, importlib.import_module("kubernetes.config"))


def _import_quickly() -> Official | None:
    """Import the parts beneath stand-ins; ``None`` when that is of no use or does not work."""
    if "kubernetes" in sys.modules:
        return None  # the whole package has been imported already
    spec = importlib.util.find_spec("kubernetes")
    if spec is None or not spec.submodule_search_locations:
        return None
    root = spec.submodule_search_locations[0]
    try:
        with _stand_ins(root) as client:
            configuration = importlib.import_module("kubernetes.client.configuration")
            client.Configuration = configuration.Configuration  # type: ignore[attr-defined]
            rest = importlib.import_module("kubernetes.client.rest")
            return _parts(configuration, rest, importlib.import_module("kubernetes.config"))
    except Exception:
        return None


def _parts(configuration: ModuleType, rest: ModuleType, config: ModuleType) -> Official:
    return Official(
        configuration=configuration.Configuration,
        rest_client=rest.RESTClientObject,
        load_kube_config=config.load_kube_config,
        load_incluster_config=config.load_incluster_config,
        list_kube_config_contexts=config.list_kube_config_contexts,
        config_exception=config.ConfigException,
    )


@contextmanager
def _stand_ins(root: str) -> Iterator[ModuleType]:
    """Put stand-ins for the packages in place; afterwards leave ``sys.modules`` as it was."""
    client = _package("kubernetes.client", f"{root}/client")
    client.ApiClient = _when_called("kubernetes.client", "ApiClient")  # type: ignore[attr-defined]
    requests_oauthlib = ModuleType("requests_oauthlib")
    requests_oauthlib.OAuth2Session = _when_called("requests_oauthlib", "OAuth2Session")  # type: ignore[attr-defined]
    placed: dict[str, ModuleType] = {
        "kubernetes": _package("kubernetes", root),
        "kubernetes.client": client,
        "kubernetes.utils": _package("kubernetes.utils", f"{root}/utils"),
        "oauthlib": _WhenAsked("oauthlib"),
        "oauthlib.oauth2": _WhenAsked("oauthlib.oauth2"),
        "requests_oauthlib": requests_oauthlib,
    }
    placed = {name: module for name, module in placed.items() if name not in sys.modules}
    sys.modules.update(placed)
    try:
        yield client
    finally:
        for name in [name for name in sys.modules if name in placed or name.startswith("kubernetes.")]:
            del sys.modules[name]


def _package(name: str, path: str) -> ModuleType:
    """An empty package whose submodules can be imported."""
    package = ModuleType(name)
    package.__path__ = [path]
    return package


def _when_called(module: str, name: str) -> Callable[..., Any]:
    """A stand-in for a class: imports the real one when it is called."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*args, **kwargs)

    return call


class _WhenAsked(ModuleType):
    """A stand-in for a module: imports the real one when an attribute is asked of it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)
