"""What an audit has found, in a form that can be printed, filed, allowed and replayed."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from converge.audit.settings import AuditError, Settings
from converge.files import write_whole
from converge.testing.objects.namespace import WORDS

FORMAT = "converge/finding/v1"
NAMED_BY = (  # the parts of a case that its name is made of
    "moment",
    "how",
    "what",
    "lost",
    "fault",
    "step",
    "write",
    "nth",
    "request",
    "kind",
    "child",
    "field",
    "path",
)
OWN_NAME = re.compile(rf"\b(?:{'|'.join(WORDS)})-[0-9a-f]{{6}}\b")  # of an object: each case has another one


@dataclass
class Finding:
    """One thing that went wrong."""

    id: str
    attack: str
    severity: str
    when: str
    expected: str
    got: str
    hint: str = ""
    seen: list[str] = field(default_factory=list)
    case: dict[str, Any] = field(default_factory=dict)
    #: How often it was tried, and how often it went wrong.
    tried: int = 1
    failed: int = 1
    #: Other cases of the same attack with the same differences.
    also: list[str] = field(default_factory=list)
    #: Why it wasn't tried a second time, if it should have been.
    unsure: str = ""
    timeline: str = ""
    #: The file that replays it, and the command that does.
    replay: str = ""
    again: str = ""
    allowed: str = ""

    @property
    def title(self) -> str:
        """The finding in one line."""
        first = self.got.splitlines()[0] if self.got else self.expected
        return first if len(first) <= 160 else f"{first[:159]}…"

    @property
    def flaky(self) -> bool:
        """Whether it didn't happen each time."""
        return self.failed < self.tried

    @property
    def counts(self) -> bool:
        """Whether it should make a build fail."""
        return not self.allowed and not self.flaky and not self.unsure and self.severity != "note"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def name_of(attack: str, case: dict[str, Any]) -> str:
    """A name for a finding that stays the same from run to run: the attack and where it struck."""
    words = [str(case[key]) for key in NAMED_BY if case.get(key) not in (None, "")]
    slugs = [re.sub(r"[^a-zA-Z0-9.]+", "-", word).strip("-").lower() for word in words]
    return "/".join([attack, "-".join(slugs)] if slugs else [attack])


def places(text: str) -> tuple[str, ...]:
    """The places that a failure names, without values: two failures with the same places have the same cause."""
    return tuple(sorted({OWN_NAME.sub("NAME", line.partition(": ")[0]) for line in text.splitlines()}))


def save(finding: Finding, settings: Settings, seed: int, path: Path) -> None:
    """Write the file that replays a finding."""
    data = {"format": FORMAT, "seed": seed, "settings": settings.as_json(), "finding": finding.as_json()}
    write_whole(path, json.dumps(data, indent=2) + "\n")


def load(path: Path) -> tuple[Settings, int, Finding]:
    """Read what `save` wrote."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AuditError(f"{path} can't be read: {error}.") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise AuditError(f"{path} isn't the file of a finding.")
    try:
        return Settings.from_json(data["settings"], Path("/")), int(data["seed"]), Finding(**data["finding"])
    except (KeyError, TypeError, ValueError) as error:
        raise AuditError(f"{path} isn't the file of a finding as this version writes them: {error}.") from None
