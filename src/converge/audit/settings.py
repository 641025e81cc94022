"""What the user says of the operator: on the command line, or in a file `audit.toml`.

command = ["./manager", "--watch-namespace={namespace}"]
crds = "config/crd/bases"
sample = "config/samples/shop.yaml"
rights = "config/rbac"                  # its own Roles; without them it may do everything

[environment]
OPERATOR_NAMESPACE = "{namespace}"

[[allow]]
finding = "at-rest/restart/*"
because = "it applies its children once at each start"
"""

from __future__ import annotations

import fnmatch
import os
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATHS = ("crds", "sample", "rights")
#: What an audit.toml may have, and what each setting has to be.
SHAPES: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "command": (list, 'a list such as ["./manager", "--namespace={namespace}"]'),
    "environment": (dict, "a table such as [environment]"),
    "allow": (list, "tables such as [[allow]]"),
    "patience": ((int, float), "a number of seconds"),
    "quiet": ((int, float), "a number of seconds"),
    "unique": (list, 'a list such as ["spec.host"]'),
    "directory": (str, "a path"),
    "in_cluster": (bool, "true or false"),
    **dict.fromkeys(PATHS, (str, "a path")),
}


class AuditError(Exception):
    """Something that the user gave us can't be used. The message is one sentence that says what to do."""


@dataclass(frozen=True)
class Allowed:
    """A finding that its owners know of and accept: its name, or a pattern, and why."""

    finding: str
    because: str


@dataclass(frozen=True)
class Settings:
    """All that is known of an operator before it's started."""

    command: tuple[str, ...]
    crds: Path
    sample: Path
    rights: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Fields of the spec, as dotted paths, that no two objects may share: they get the object's own name.
    unique: tuple[str, ...] = ()
    #: Seconds after a failed request within which it has to recover; by default the audit decides.
    patience: float | None = None
    #: Seconds of silence that mean rest; by default they are learned.
    quiet: float | None = None
    #: Whether it wants credentials as a Pod has them, and no kubeconfig.
    in_cluster: bool = False
    #: Where the command runs.
    directory: Path = field(default_factory=Path.cwd)
    allow: tuple[Allowed, ...] = ()
    #: Modules of an isolated Python of ours, which a fork server keeps ready. Such an operator has limits.
    preload: tuple[str, ...] = ()

    def check(self) -> None:
        """Complain about what is missing."""
        if not self.command:
            raise AuditError("No command: say how your operator is started, after `--` or as `command` in audit.toml.")
        for what, path in (("CRDs", self.crds), ("sample", self.sample), ("rights", self.rights)):
            if path is not None and not path.exists():
                raise AuditError(f"No {what}: there is no {path}.")
        self.program()

    def program(self) -> str:
        """The program of the command, as the system finds it: by its path from `directory`, or on the PATH."""
        name = self.command[0]
        if "/" not in name:
            if shutil.which(name) is None:
                raise AuditError(f"The command can't be run: there is no {name!r} on the PATH. Give its path.")
            return name
        path = (self.directory / name).absolute()
        if not path.is_file():
            raise AuditError(f"The command can't be run: there is no file {path}. Build it first, or correct the path.")
        if not os.access(path, os.X_OK):
            raise AuditError(f"The command can't be run: {path} isn't executable: `chmod +x` it.")
        return str(path)

    def reason(self, finding: str) -> str:
        """Why a finding is allowed; nothing if it isn't."""
        return next((each.because for each in self.allow if fnmatch.fnmatch(finding, each.finding)), "")

    def as_json(self) -> dict[str, Any]:
        """The settings for a file that replays a finding. What is allowed doesn't matter there."""
        return {
            "command": list(self.command),
            "environment": dict(self.environment),
            "unique": list(self.unique),
            "patience": self.patience,
            "quiet": self.quiet,
            "in_cluster": self.in_cluster,
            "directory": str(self.directory.resolve()),
            **{name: str(path.resolve()) for name in PATHS if (path := getattr(self, name))},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], base: Path) -> Settings:
        """Settings as `as_json` or an audit.toml has them; relative paths start at `base`."""
        if unknown := sorted(set(data) - SHAPES.keys()):
            raise AuditError(f"audit.toml has no setting {unknown[0]!r}; there are: {', '.join(sorted(SHAPES))}.")
        for name, value in data.items():
            wanted, example = SHAPES[name]
            if value is not None and not isinstance(value, wanted):
                raise AuditError(f"audit.toml: `{name}` has to be {example}, and it is {value!r}.")
        for name in ("crds", "sample"):
            if not data.get(name):
                raise AuditError(f"No {name}: audit.toml has to say where your {name} are.")
        paths = {name: base / data[name] for name in PATHS if data.get(name)}
        return cls(
            command=tuple(map(str, data.get("command", ()))),
            environment={str(name): str(value) for name, value in data.get("environment", {}).items()},
            unique=tuple(data.get("unique", ())),
            patience=data.get("patience"),
            quiet=data.get("quiet"),
            in_cluster=bool(data.get("in_cluster", False)),
            directory=base / data.get("directory", "."),
            allow=allow_list(data.get("allow", [])),
            **paths,
        )


def load(path: Path) -> Settings:
    """Read an audit.toml."""
    return Settings.from_json(read_toml(path), path.resolve().parent)


def load_allow_list(path: Path) -> tuple[Allowed, ...]:
    """Read a file of `[[allow]]` entries."""
    return allow_list(read_toml(path).get("allow", []))


def allow_list(entries: Sequence[Mapping[str, Any]]) -> tuple[Allowed, ...]:
    """The entries of an allow-list. One without a reason is refused: the next reader would have to guess."""
    for each in entries:
        if not each.get("finding") or not str(each.get("because", "")).strip():
            raise AuditError(f"An [[allow]] needs `finding` and `because`, and this one has: {dict(each)}.")
    return tuple(Allowed(str(each["finding"]), str(each["because"])) for each in entries)


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AuditError(f"{path} can't be read: {error.strerror or error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise AuditError(f"{path} isn't TOML: {error}.") from None
