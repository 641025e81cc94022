"""What a project says about its operator: `[tool.converge]` in pyproject.toml, or `@pytest.mark.operator(...)`.

    [tool.converge]
    command = "kopf run operator.py --standalone -n {namespace}"
    crds = "crd.yaml"
    rights = "role.yaml"

Everything wrong with it is a `ConfigurationError`, one line long.
"""

from __future__ import annotations

import difflib
import shlex
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from converge.cluster.providers import REGISTERED
from converge.testing.access import rights as roles
from converge.testing.objects import crds, manifests
from converge.testing.operator import START_SECONDS, Launch

CREDENTIALS = ("kubeconfig", "in-cluster")
EVERY_RIGHT = "all"


class ConfigurationError(Exception):
    """What is wrong, where, and what would be right: one line."""


@dataclass(frozen=True)
class Configuration:
    """How to start an operator and what it needs. Paths are those of the project."""

    #: Where relative paths start, and where the operator is started.
    root: Path
    command: tuple[str, ...] = ()
    #: Run once per session before the first start, such as a compiler.
    build: tuple[str, ...] = ()
    crds: tuple[str, ...] = ()
    #: Files with its Role or ClusterRole, or `all`. Without any: all in its namespace, and reading everywhere.
    rights: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    credentials: str = CREDENTIALS[0]
    #: Seconds until its first list or watch.
    starts_within: float = START_SECONDS
    #: Whether the fixture starts it.
    start: bool = True
    workloads: tuple[str, ...] = ("Deployment", "StatefulSet")
    cluster: str = ""
    context: str = ""
    #: Where timelines of failed tests are written.
    timelines: str = ".converge"

    def launch(self) -> Launch:
        """How to start the operator."""
        if not self.command:
            raise ConfigurationError(
                'there is no operator to start: say command = "…" in [tool.converge] of pyproject.toml, '
                'or @pytest.mark.operator(command="…")'
            )
        return Launch(
            self._found(self.command),
            environment=self.environment,
            directory=self.root,
            in_cluster=self.credentials == "in-cluster",
            start_seconds=self.starts_within,
            workloads=self.workloads,
            on_kopf=any(Path(word).name == "kopf" for word in self.command),
            frees_leases=True,
        )

    def _found(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """`python` is this very Python, and programs of its virtual environment are found, activated or not."""
        beside = Path(sys.executable).parent / command[0]
        if command[0] in ("python", "python3"):
            return (sys.executable, *command[1:])
        return (str(beside), *command[1:]) if "/" not in command[0] and beside.is_file() else command

    def build_command(self) -> tuple[str, ...]:
        return self._found(self.build) if self.build else ()

    @cached_property
    def definitions(self) -> list[dict[str, Any]]:
        """The CustomResourceDefinitions."""
        return crds.read(*(self.root / each for each in self.crds))

    def granted(self) -> roles.Rights:
        """What the operator may do."""
        if not self.rights:
            return roles.generous(self.definitions)
        if self.rights == (EVERY_RIGHT,):
            return roles.ALL
        return roles.read(*(self.root / each for each in self.rights))

    def with_(self, said: Mapping[str, Any], where: str) -> Configuration:
        """The same with what a marker says."""
        return replace(self, **parse(said, where)) if said else self

    def check(self) -> Configuration:
        """The same; raises `ConfigurationError` for a file that isn't there or can't be used."""
        try:
            _ = self.definitions
            self.granted()
        except manifests.ManifestError as error:
            raise ConfigurationError(str(error)) from error
        return self


def read(root: Path) -> Configuration:
    """What the project at `root` says in its pyproject.toml; a project that says nothing is fine."""
    file = root / "pyproject.toml"
    if not file.is_file():
        return Configuration(root)
    try:
        said = tomllib.loads(file.read_text()).get("tool", {}).get("converge", {})
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{file.name}: {error}") from error
    return Configuration(root, **parse(said, f"{file.name}, [tool.converge]"))


def parse(said: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Keys and values as `Configuration` has them."""
    types = {each.name: str(each.type) for each in fields(Configuration) if each.name != "root"}
    parsed: dict[str, Any] = {}
    for key, value in said.items():
        name = key.replace("-", "_")
        if name not in types:
            near = difflib.get_close_matches(name, types, 1)
            known = f"did you mean {_key(near[0])}?" if near else f"known are {', '.join(map(_key, types))}"
            raise ConfigurationError(f"{where}: there is no key {key}; {known}")
        parsed[name] = _value(types[name], name, value, f"{where}: {key}")
    for name, choices in (("cluster", tuple(REGISTERED)), ("credentials", CREDENTIALS)):
        if name in parsed and parsed[name] not in choices:
            raise ConfigurationError(f"{where}: {_key(name)} is {parsed[name]!r}; it can be {', '.join(choices)}")
    return parsed


def _value(type_: str, name: str, value: Any, where: str) -> Any:
    """A value of the right type, or an error that names it."""
    match type_:
        case "tuple[str, ...]":
            if isinstance(value, str | Path):
                return tuple(shlex.split(str(value))) if name in ("command", "build") else (str(value),)
            if isinstance(value, list | tuple) and all(isinstance(each, str | Path) for each in value):
                return tuple(map(str, value))
            raise ConfigurationError(f"{where} must be a text or a list of texts, and is {value!r}")
        case "Mapping[str, str]":
            if isinstance(value, Mapping):
                return {str(each): str(text) for each, text in value.items()}
            raise ConfigurationError(f"{where} must be a table of names and values, and is {value!r}")
        case "bool":
            fits = isinstance(value, bool)
        case "float":
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            fits = isinstance(value, str)
    if not fits:
        wanted = {"bool": "true or false", "float": "a number of seconds"}.get(type_, "a text")
        raise ConfigurationError(f"{where} must be {wanted}, and is {value!r}")
    return value


def _key(name: str) -> str:
    return name.replace("_", "-")
