"""What one object has led to, without what tells one object from another, and what of that may differ.

A snapshot has the children that the operator made for the object and what it wrote to the object itself. Two clean
runs never agree on all of it: generated names, passwords and addresses differ. A `Mask` knows these places.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from converge.testing.attacks.compare import SERVER_SIDE, belongs
from converge.testing.attacks.every_request import plain, timeless
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.verdicts.values import Difference, differences
from converge.testing.waits.idle import rolled_out

Snapshot = dict[str, Any]
Captured = dict[str, list[dict[str, Any]]]  # by kind; the object itself has none

KUBELET_UNREACHABLE = "error dialing backend"  # the server's words when it can't reach a kubelet
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
END_WORDS = re.compile(r"complete|completed|succeeded|finished|done", re.IGNORECASE)
KINDS_WITHOUT_END = ("Deployment", "StatefulSet", "DaemonSet")
CURRENT = "current"
RANDOM = "*"  # in place of a name that differs from run to run
# Other controllers and the server fill these in.
BY_OTHERS = {
    "Service": ("clusterIP", "clusterIPs", "healthCheckNodePort"),
    "Pod": ("nodeName", "tolerations"),
    "PersistentVolumeClaim": ("volumeName",),
}


def take(app: CustomResource, kinds: Iterable[str], random_names: Iterable[str] = (), ends: bool = False) -> Snapshot:
    """The children of an object by kind and name, and its own status and finalizers."""
    return shape(app, capture(app, kinds), random_names, ends)


def capture(app: CustomResource, kinds: Iterable[str]) -> Captured:
    """The object and its children as they are now."""
    now = app.now()
    found = {kind: [each for each in app.namespace.list(kind) if belongs(each, app)] for kind in kinds}
    return {**found, "": [now] if now else []}


def as_many(one: Captured, other: Captured) -> bool:
    """Whether two objects have the same number of children of each kind."""
    return all(len(one.get(kind, [])) == len(found) for kind, found in other.items())


def comes_to_an_end(captured: Captured) -> bool:
    """Whether the object was something to get done, and is: a job, not a server."""
    if any(captured.get(kind) for kind in KINDS_WITHOUT_END):
        return False
    status = captured[""][0].get("status") or {} if captured[""] else {}
    said = [each["type"] for each in status.get("conditions") or [] if _is_condition(each) and each["status"] == "True"]
    said += [value for value in status.values() if isinstance(value, str)]
    if any(END_WORDS.fullmatch(each) for each in said):
        return True
    jobs = captured.get("Job", [])
    running = any(each.get("status", {}).get("phase") == "Running" for each in captured.get("Pod", []))
    return bool(jobs) and all(map(rolled_out, jobs)) and not running


def shape(app: CustomResource, captured: Captured, random_names: Iterable[str] = (), ends: bool = False) -> Snapshot:
    """What was captured, without what tells one object from another.

    Of one that `ends`, what its status says of the way there is left out: that depends on when one looked. So does
    a list of its Pods in a ConfigMap, which are gone in the end.
    """
    found: Snapshot = {}
    for kind in [kind for kind in captured if kind]:
        children = [each for each in captured[kind] if not _going(each)]
        if kind in random_names:
            nameless = [_nameless(each, app) for each in children]
            found[f"{kind}/{RANDOM}"] = sorted(nameless, key=lambda each: json.dumps(each, sort_keys=True))
        else:
            for each in children:
                child = _child(each, app)
                if ends and isinstance(child.get("data"), dict) and kind == "ConfigMap":
                    child["data"] = {key: _without_pods(text) for key, text in child["data"].items()}
                found[f"{kind}/{each['metadata']['name'].replace(app.name, 'NAME')}"] = child
    for now in captured[""]:
        own = _own(now, app)
        found[app.kind] = {**own, "status": _outcome(own["status"])} if ends else own
    return found


def _without_pods(text: str) -> str:
    """A text without the lines that name something of the object."""
    return "\n".join(line for line in text.splitlines() if "NAME" not in line)


def _going(obj: Mapping[str, Any]) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def _child(obj: Mapping[str, Any], app: CustomResource) -> dict[str, Any]:
    """A child as its operator made it."""
    kept: dict[str, Any] = copy.deepcopy(dict(obj))
    owners = kept["metadata"].get("ownerReferences", [])
    kept.pop("status", None)
    for part, names in SERVER_SIDE.items():
        for name in names:
            kept.get(part, {}).pop(name, None)
    for name in BY_OTHERS.get(obj["kind"], ()):
        kept.get("spec", {}).pop(name, None)
    if owners:
        kept["metadata"]["ownerReferences"] = sorted(f"{each['kind']}/{each['name']}" for each in owners)
    namespaced: dict[str, Any] = _replaced(plain(_sorted(_undated(kept)), app), str(app.namespace), "NAMESPACE")
    return namespaced


def _undated(value: Any) -> Any:
    """The same without annotations that are moments: when Pods were restarted is history, not state."""
    if isinstance(value, list):
        return [_undated(each) for each in value]
    if not isinstance(value, dict):
        return value
    made = {key: _undated(each) for key, each in value.items()}
    if isinstance(notes := made.get("annotations"), dict):
        made["annotations"] = {key: each for key, each in notes.items() if not MOMENT.fullmatch(str(each))}
        if not made["annotations"]:
            del made["annotations"]
    return made


def _sorted(value: Any) -> Any:
    """The same with lists whose items have names or types in the order of these: ports and conditions come in any."""
    if isinstance(value, dict):
        return {key: _sorted(each) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    items = [_sorted(each) for each in value]
    for key in ("name", "type"):
        names = [each.get(key) if isinstance(each, dict) else None for each in items]
        if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
            return sorted(items, key=lambda each: str(each[key]))
    return items


def _nameless(obj: Mapping[str, Any], app: CustomResource) -> dict[str, Any]:
    name = obj["metadata"]["name"].replace(app.name, "NAME")
    child: dict[str, Any] = _replaced(_child(obj, app), name, "RANDOM")
    return child


def _own(now: Mapping[str, Any], app: CustomResource) -> dict[str, Any]:
    """What the operator wrote to the object itself. A status that speaks of an older spec says so."""
    metadata = now["metadata"]
    status = _said(_generations(timeless(now.get("status", {})), metadata.get("generation")))
    own = {"status": status, "finalizers": metadata.get("finalizers", [])}
    if _going(now):
        own["deletionTimestamp"] = "set"
    replaced: dict[str, Any] = _replaced(plain(_sorted(own), app), str(app.namespace), "NAMESPACE")
    return replaced


def _said(status: Any) -> Any:
    """A status without fields that are empty: to say 0 is the same as to say nothing, and patches leave it out."""
    if not isinstance(status, dict):
        return status
    kept = {key: _said(each) for key, each in status.items()}
    return {key: each for key, each in kept.items() if each not in (None, False, 0, "", [], {})}


def _is_condition(value: Any) -> bool:
    return isinstance(value, dict) and "type" in value and "status" in value


def _outcome(value: Any) -> Any:
    """A status without counters and without conditions that don't hold any more."""
    if isinstance(value, dict):
        kept = {key: _outcome(each) for key, each in value.items() if isinstance(each, (bool, str, dict, list))}
        return {key: each for key, each in kept.items() if each not in ({}, [])}
    if isinstance(value, list):
        return [_outcome(each) for each in value if not (_is_condition(each) and each["status"] != "True")]
    return value


def _generations(value: Any, generation: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: (CURRENT if each == generation else f"{each}, but the spec is at {generation}")
            if key == "observedGeneration"
            else _generations(each, generation)
            for key, each in value.items()
        }
    return [_generations(each, generation) for each in value] if isinstance(value, list) else value


def _replaced(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(each, old, new) for key, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, old, new) for each in value]
    return value.replace(old, new) if isinstance(value, str) else value


@dataclass
class Mask:
    """The places at which clean runs differ from each other."""

    paths: set[str] = field(default_factory=set)

    def learn(self, one: Snapshot, other: Snapshot) -> None:
        """Let all differ from now on that differs between these two."""
        self.paths |= {general(each.path) for each in _differences(one, other)}

    def differences(self, got: Snapshot, want: Snapshot) -> list[Difference]:
        """Where two snapshots differ, other than where clean runs do."""
        found = _differences(_with_finalizers_of(got, want), want)
        return [each for each in found if not self.hides(each.path) and not _up_to_date(each)]

    def hides(self, path: str) -> bool:
        """Whether this place, or one that it lies in, may differ."""
        path = general(path)
        return any(path == each or path.startswith((f"{each}.", f"{each}[")) for each in self.paths)

    def learn_unanswered(self, shot: Snapshot) -> None:
        """Let differ what is a matter of reaching into a Pod: here no one answers, and the operator tries again."""
        self.paths |= {general(path) for key in shot for path in _unanswered(shot[key], key)}


def _with_finalizers_of(got: Snapshot, want: Snapshot) -> Snapshot:
    """The same without finalizers that it has beyond those it needs: they may stay for as long as the object lives."""
    made = dict(got)
    for kind in [kind for kind in got if "/" not in kind and kind in want]:
        has, needed = got[kind].get("finalizers", []), want[kind].get("finalizers", [])
        if "deletionTimestamp" not in got[kind] and set(has) > set(needed):
            made[kind] = {**got[kind], "finalizers": needed}
    return made


def _up_to_date(difference: Difference) -> bool:
    """Whether a status speaks of the present spec: that is right, also where a clean one said nothing yet."""
    return difference.path.endswith(".observedGeneration") and difference.got == repr(CURRENT)


def _unanswered(value: Any, path: str) -> Iterator[str]:
    """The places that say that nothing inside a Pod answered: of a condition all of it, as it says so only later."""
    if isinstance(value, dict):
        if any(isinstance(each, str) and KUBELET_UNREACHABLE in each for each in value.values()):
            yield path
        else:
            for key, each in value.items():
                yield from _unanswered(each, f"{path}.{key}")
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _unanswered(each, f"{path}[{place}]")


def general(path: str) -> str:
    """The path with no places in the lists of children that have random names: their order means nothing."""
    return re.sub(rf"^(\w+/\{RANDOM})\[\d+\]", r"\1[]", path)


def _differences(got: Snapshot, want: Snapshot) -> Iterable[Difference]:
    for key in dict.fromkeys([*want, *got]):
        if key in got and key in want and key.endswith(f"/{RANDOM}") and len(got[key]) != len(want[key]):
            yield Difference(key, f"{len(got[key])} of them", f"{len(want[key])} of them")
        elif key not in got or key not in want:
            yield Difference(key, "missing" if key not in got else "there", "there" if key in want else "not there")
        else:
            yield from differences(got[key], _in_its_order(want[key], got[key]), key)


def _in_its_order(value: Any, like: Any) -> Any:
    """A value with each text as it's in another one, where only the order of the words differs.

    An operator that builds a command line from a map has the options in another order each time.
    """
    if isinstance(value, dict) and isinstance(like, dict):
        return {key: _in_its_order(each, like.get(key)) for key, each in value.items()}
    if isinstance(value, list) and isinstance(like, list) and len(value) == len(like):
        return [_in_its_order(*each) for each in zip(value, like, strict=True)]
    both = isinstance(value, str) and isinstance(like, str)
    return like if both and sorted(value.split()) == sorted(like.split()) else value


def random_kinds(one: Snapshot, other: Snapshot) -> set[str]:
    """The kinds whose children have different names in two clean runs."""
    return {key.partition("/")[0] for key in one.keys() ^ other.keys() if "/" in key}


def in_words(found: Sequence[Difference], most: int = 6, than: str = "of one that was left alone") -> str:
    """The differences as lines."""
    lines = [f"{each.path}: {_short(each.got)} ({than}: {_short(each.want)})" for each in found[:most]]
    return "\n".join([*lines, *([f"… and {len(found) - most} more"] if len(found) > most else [])])


def _short(text: str, most: int = 200) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
