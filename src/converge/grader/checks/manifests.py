"""What the files that ship an operator say: the objects of its manifest, the rights they grant, its Dockerfile."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml

from converge.testing.objects.manifests import ManifestError, of_kind

if TYPE_CHECKING:
    from converge.recorder import RecordedRequest

Manifest = Sequence[dict[str, Any]]
Right = tuple[str, str, str]  # verb, API group, resource


LARGEST = 256 * 1024  # bytes of a manifest's objects as JSON: with aliases, a few lines of YAML can stand for gigabytes
MOST_MERGED = 1000  # fields of one mapping


class Loader(yaml.SafeLoader):
    """YAML whose merges (``<<``) can't multiply without end."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        merged = 0
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                for each in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    if isinstance(each, yaml.MappingNode):
                        self.flatten_mapping(each)
                        merged += len(each.value)
                    if merged > MOST_MERGED:
                        raise ManifestError(f"a mapping takes more than {MOST_MERGED} fields from others")
        super().flatten_mapping(node)


def objects_in(text: str) -> list[dict[str, Any]]:
    """The objects of a manifest, as the API server would get them: without null fields, a List's one by one.

    Raises ManifestError, with a sentence, for anything else: its author may want to break the grader.
    """
    try:
        documents = list(yaml.load_all(text, Loader))
        size = 0
        for chunk in json.JSONEncoder().iterencode(documents):
            size += len(chunk)
            if size > LARGEST:
                raise ManifestError(f"as JSON it's larger than {LARGEST >> 10} KB")
    except RecursionError:
        raise ManifestError("it's nested too deeply") from None
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise ManifestError(str(error)) from None
    found = []
    for each in map(without_nulls, documents):
        items = each.get("items") if isinstance(each, dict) and each.get("kind") == "List" else None
        found += items if isinstance(items, list) else [each] if each else []
    for each in found:
        metadata = each.get("metadata") if isinstance(each, dict) else None
        words = [each.get("apiVersion"), each.get("kind"), metadata.get("name")] if isinstance(metadata, dict) else []
        if not words or not all(isinstance(word, str) and word for word in words):
            raise ManifestError(f"an object has apiVersion, kind and metadata.name, and not {json.dumps(each)[:200]}")
    return found


def without_nulls(value: Any) -> Any:
    """A field that is null is a field that isn't there."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def pod_of(manifest: Manifest) -> dict[str, Any]:
    """The spec of the Pods that the Deployment makes."""
    spec: dict[str, Any] = of_kind(manifest, "Deployment")[0]["spec"]["template"]["spec"]
    return spec


def container_of(manifest: Manifest) -> dict[str, Any]:
    """The first container of these Pods."""
    first: dict[str, Any] = pod_of(manifest)["containers"][0]
    return first


IN_CLUSTER = tuple(f"{run}/secrets/kubernetes.io/serviceaccount" for run in ("/var/run", "/run"))  # one is a link


def mounts_a_token(manifest: Manifest) -> bool:
    """Whether the first container of these Pods finds a token: mounted by the server, or by a volume of its own."""
    pod = pod_of(manifest)
    named = {each["metadata"]["name"]: each for each in of_kind(manifest, "ServiceAccount")}
    account = named.get(pod.get("serviceAccountName", ""), {})
    if pod.get("automountServiceAccountToken", account.get("automountServiceAccountToken", True)):
        return True
    sources = {each["name"]: (each.get("projected") or {}).get("sources") or [] for each in pod.get("volumes") or []}
    return any(
        each["mountPath"].startswith(IN_CLUSTER)
        or any("serviceAccountToken" in source for source in sources.get(each["name"], []))
        for each in container_of(manifest).get("volumeMounts") or []
    )


def rules_of(manifest: Manifest) -> list[dict[str, Any]]:
    """The rules of its Roles."""
    return [rule for role in of_kind(manifest, "Role") for rule in role.get("rules") or []]


def rights_granted(manifest: Manifest) -> set[Right]:
    """Every right that its Roles grant."""
    return {
        right
        for rule in rules_of(manifest)
        for right in product(rule.get("verbs", []), rule.get("apiGroups", []), rule.get("resources", []))
    }


def rights_used(requests: Iterable[RecordedRequest]) -> set[Right]:
    """The rights behind the requests that the server did not refuse."""
    used = set()
    for each in requests:
        if not each.resource or each.status in (None, 401, 403):
            continue
        resource = "/".join(part for part in (each.resource, each.subresource) if part)
        used.add(("patch" if each.verb == "apply" else each.verb, each.group, resource))
        if each.verb == "apply" and each.status == 201:
            used.add(("create", each.group, resource))
        sent = each.sent if isinstance(each.sent, dict) else {}
        for owner in (sent.get("metadata") or {}).get("ownerReferences") or []:
            if owner.get("blockOwnerDeletion"):
                group = owner["apiVersion"].partition("/")[0]
                used.add(("update", group, f"{owner['kind'].lower()}s/finalizers"))
    return used


def rights_used_at_times(requests: Iterable[RecordedRequest]) -> set[Right]:
    """The rights that an operator with such requests may need on another day, as client-go does.

    A watch that begins with the list (``sendInitialEvents``) becomes a list where the server can't do that, and an
    Event of events.k8s.io that comes again is counted in the first one, by a patch.
    """
    found = set()
    for each in requests:
        if each.verb == "watch" and "sendInitialEvents=true" in each.path:
            found.add(("list", each.group, each.resource))
        if (each.verb, each.group, each.resource) == ("create", "events.k8s.io", "events"):
            found.add(("patch", each.group, each.resource))
    return found


def in_words(rights: Iterable[Right]) -> list[str]:
    """Each right as a line of a report."""
    return [f"{verb} {resource}{' in ' + group if group else ''}" for verb, group, resource in sorted(rights)]


UNITS = {"": 1.0, "m": 1e-3} | {
    unit + suffix: float(base**power)
    for power, unit in enumerate("kMGTPE", 1)
    for suffix, base in (("", 1000), ("i", 1024))
}


def number_of_bytes(quantity: object) -> float:
    """How much memory a quantity such as 64Mi is. The API server also takes 64m, which is 0.064."""
    found = re.fullmatch(r"\+?(\d+\.?\d*|\.\d+)(?:[eE](\+?-?\d{1,2})|([a-zA-Z]*))", str(quantity))
    unit = (found[3] or "").replace("K", "k") if found else "?"
    if found is None or unit not in UNITS:
        raise ValueError(f"{quantity!r} is not a quantity")
    return float(found[1]) * 10.0 ** int(found[2] or 0) * UNITS[unit]


def sleep_before_stop(container: dict[str, Any]) -> float:
    """Seconds that the preStop hook of a container sleeps, before the kubelet sends SIGTERM; 0 if it says none."""
    hook = (container.get("lifecycle") or {}).get("preStop") or {}
    said = " ".join(map(str, (hook.get("exec") or {}).get("command") or []))
    found = re.findall(r"\bsleep[\s(]+(\d+(?:\.\d+)?)([mh]?)", said)
    sleeps = [float(number) * {"": 1, "m": 60, "h": 3600}[unit] for number, unit in found]
    return max([float((hook.get("sleep") or {}).get("seconds", 0)), *sleeps])


def heredocs(dockerfile: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile that end in a here-document: (first line, document)."""
    found = re.finditer(r"^([^\n#]*<<-?[\"']?(\w+)[^\n]*)\n(.*?)^\s*\2\s*$", dockerfile, re.MULTILINE | re.DOTALL)
    return [(each[1], each[3]) for each in found]


def starts_a_shell(script: str) -> bool:
    """Whether the first line of a script, or of what writes it, names a shell."""
    return re.search(r"#![^\n\\]*?[/ ](a|ba|da|k|z)?sh\b", script) is not None


def hands_over(script: str) -> bool:
    """Whether a shell script makes way for the program (exec), or passes signals on (trap)."""
    return re.search(r"exec\s+(?![\d<>&])|trap\s", script) is not None


def script_at(name: str, dockerfile: Path) -> str | None:
    """The text of a script of the image, if its Dockerfile writes it or it's beside; None if it can't be seen."""
    file = PurePosixPath(name).name
    if not re.fullmatch(r"[\w./-]+", name):
        return None  # several words, such as what follows `sh -c`
    text = dockerfile.read_text()
    place = rf"[\"']?(?:\S*/)?{re.escape(file)}(?![\w.-])"
    for head, body in heredocs(text):
        if re.search(rf"(>|\btee\s|\s)\s*{place}", head):
            return body
    lines = [line for line in re.sub(r"\\\n", " ", text).splitlines() if not line.lstrip().startswith("#")]
    writing = "\n".join(line for line in lines if re.search(rf"(>|\btee\s)\s*{place}", line))
    if "#!" in writing:
        return writing
    beside = dockerfile.with_name(file)
    found = beside.read_text(errors="replace") if beside.is_file() else ""
    return found if found.startswith("#!") else None


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile's last stage: (word, rest)."""
    text = "\n".join(line for line in dockerfile.splitlines() if not line.lstrip().startswith("#"))
    lines = [line for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip()]
    words = [[*line.split(None, 1), ""][:2] for line in lines]
    found = [(word.upper(), rest.strip()) for word, rest in words]
    starts = [place for place, (word, _) in enumerate(found) if word == "FROM"]
    return found[starts[-1] if starts else 0 :]
