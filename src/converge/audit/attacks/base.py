"""What an attack is: the cases that it makes, and what comes of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from converge.audit import snapshot
from converge.audit.edits import SpecEdit
from converge.audit.learn import Learned
from converge.audit.target import AuditTarget
from converge.recorder import RecordedRequest
from converge.testing.attacks.compare import belongs
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.verdicts.failure import Failure

Args = dict[str, Any]
ERROR, WARNING, NOTE = "error", "warning", "note"
MOST_EDITS = 4
SUMMARIES = ("phase", "state")  # where a status says in one word how things are
MAY_OUTLIVE = ("PersistentVolumeClaim", "Secret")  # kinds whose objects may stay when their parent is gone
TROUBLE_WORDS = re.compile(r"degraded|stalled|fail|error|invalid|blocked|conflict|refused|rejected", re.IGNORECASE)


@dataclass(frozen=True)
class AttackContext:
    """What the attacks may use: what was learned, and the edits that were found to matter."""

    learned: Learned
    edits: Sequence[SpecEdit]


@dataclass
class Outcome:
    """What came of one case: a failure, an answer in words, or nothing to say."""

    args: Args
    failure: Failure | None = None
    answer: str = ""
    #: How bad the failure is, where it isn't as bad as the attack's others.
    severity: str = ""
    #: Whether the wait for it ended before the operator's next look by the clock, if it has a clock.
    gave_up: bool = False


Cases = Callable[[AttackContext], list[Args]]
Run = Callable[[AuditTarget, AttackContext, Sequence[Args]], Iterator[Outcome]]
Single = Callable[[AuditTarget, AttackContext, Args], str | None]


@dataclass(frozen=True)
class Attack:
    """One attack. `batch` is how many of its cases share a testbed; `edits`, whether it edits the spec."""

    name: str
    says: str
    severity: str
    cases: Cases
    run: Run
    batch: int = 1
    edits: bool = False
    #: Whether it expects that the object is kept as its spec says: one that has come to an end isn't.
    keeps: bool = False


def one_by_one(make: Single) -> Run:
    """An attack that makes one case at a time: `make` raises a failure, or returns an answer in words."""

    def run(target: AuditTarget, context: AttackContext, cases: Sequence[Args]) -> Iterator[Outcome]:
        for args in cases:
            try:
                yield Outcome(args, answer=make(target, context, args) or "")
            except Failure as failure:
                yield Outcome(args, failure)

    return run


def always(*cases: Args) -> Cases:
    """The same cases for every operator."""
    return lambda context: [dict(each) for each in cases]


# Cases that several attacks have.


def as_args(edit: SpecEdit) -> Args:
    return {"path": edit.path, "patch": edit.patch, "back": edit.back}


def few_edits(context: AttackContext) -> list[Args]:
    """Some of the edits that matter, for attacks of which each case needs a restart."""
    return [as_args(each) for each in sorted(context.edits, key=lambda edit: not edit.removes)[:MOST_EDITS]]


def child_cases(context: AttackContext) -> list[Args]:
    """Each child."""
    return [{"child": key} for key in context.learned.clean if "/" in key and context.learned.clean[key]]


def named_children(context: AttackContext) -> list[Args]:
    """Each child whose name is the same in every run."""
    return [each for each in child_cases(context) if not each["child"].endswith(snapshot.RANDOM)]


# Words and looks that several attacks need.


def named(request: RecordedRequest) -> str:
    """A request in two words, without the object's name."""
    sub = f"/{request.subresource}" if request.subresource else ""
    return f"{request.verb} {request.resource}{sub}"


def creates(context: AttackContext) -> dict[str, int]:
    """How many children of each kind it creates for one object on a good day."""
    made = [each.kind for each in context.learned.writes if each.verb == "create"]
    return {kind: made.count(kind) for kind in context.learned.children if kind in made}


def goes_with(obj: Mapping[str, Any], app: CustomResource) -> bool:
    """Whether an object has to go with its parent. Data and passwords without an owner may be kept on purpose."""
    kept = obj["kind"] in MAY_OUTLIVE and not obj["metadata"].get("ownerReferences")
    return belongs(obj, app) and not kept


def refused(error: Exception) -> str:
    """The answer for an edit that the server doesn't take."""
    return f"the server refuses it: {' '.join(str(error).split())[:200]}"


def reports_problem(target: AuditTarget, app: CustomResource, *well: CustomResource) -> bool:
    """Whether the operator told the object's user that something is wrong: by a Warning, a condition or its phase.

    What it also says of the sample and of objects with which all is well doesn't count: `Degraded` is `False` there.
    """
    usual = {reason for each in well for reason in _warnings(each)}
    if not _warnings(app) <= usual:
        return True
    clean = target.learned.clean.get(app.kind, {}).get("status", {})
    statuses = [clean, *(each.status for each in well)]
    if failed_phase(app.status, *statuses):
        return True
    said = {_gist(each) for status in statuses for each in _conditions(status)}
    return any(_gist(each) not in said and each.get("message") and _bad(each) for each in _conditions(app.status))


def failed_phase(status: Mapping[str, Any], *well: Mapping[str, Any]) -> str:
    """The word in which a status says that things went wrong, unless those of healthy objects say the same."""
    usual = {each.get(key) for each in well for key in SUMMARIES}
    words = [status[key] for key in SUMMARIES if isinstance(status.get(key), str) and status[key] not in usual]
    return next((word for word in words if TROUBLE_WORDS.search(word)), "")


def _warnings(app: CustomResource) -> set[str]:
    """The reasons of the Warnings about an object."""
    events = [each for each in app.namespace.list("Event") if each.get("involvedObject", {}).get("uid") == app.uid]
    return {str(each.get("reason")) for each in events if each.get("type") == "Warning"}


def _conditions(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = status.get("conditions")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _gist(condition: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a condition says, but for its words."""
    return condition.get("type"), condition.get("status"), condition.get("reason")


def _bad(condition: Mapping[str, Any]) -> bool:
    """Whether a condition that other objects don't have is bad news."""
    return condition.get("status") == ("True" if TROUBLE_WORDS.search(str(condition.get("type"))) else "False")
