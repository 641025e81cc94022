"""The CRDs and the sample: read, matched and installed before anything else, so that a mistake is one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from converge.audit.settings import AuditError, Settings
from converge.testing.objects import crds, kinds, manifests
from converge.testing.waits.waiting import eventually

if TYPE_CHECKING:
    from converge.runtime import Client

Object = dict[str, Any]


@dataclass(frozen=True)
class Inputs:
    """What the files say: the definitions, the object to make, and what has to be there before it."""

    definitions: Sequence[Object]
    definition: Object
    main: Object
    others: Sequence[Object]

    @property
    def kind(self) -> str:
        return str(self.main["kind"])

    @property
    def schema(self) -> Object:
        """The schema of the sample's spec, as far as its CRD has one."""
        version = self.main["apiVersion"].partition("/")[2]
        served = next(each for each in self.definition["spec"]["versions"] if each["name"] == version)
        whole = served.get("schema", {}).get("openAPIV3Schema", {})
        spec: Object = whole.get("properties", {}).get("spec", {})
        return spec


def read(settings: Settings) -> Inputs:
    """Read and match the files."""
    try:
        definitions, sample = crds.read(settings.crds), manifests.read(settings.sample)
        for each in manifests.of_kind(sample, "Kustomization"):
            raise manifests.ManifestError(crds.kustomization(settings.sample, each))
        if settings.rights:
            from converge.testing.access import rights

            rights.read(settings.rights)
    except manifests.ManifestError as error:
        raise AuditError(f"{error}.") from None
    for obj in sample:
        for definition in definitions:
            if _fits(obj, definition):
                return _matched(definitions, definition, sample, settings.sample)
    names = ", ".join(each["spec"]["names"]["kind"] for each in definitions)
    there = ", ".join(str(each.get("kind")) for each in sample) or "no object with an apiVersion and a kind"
    raise AuditError(
        f"The sample doesn't fit the CRDs: {settings.sample} has {there}, and the CRDs define {names}. "
        f"Give one object of such a kind with --sample, or its CRD with --crds."
    )


def _matched(definitions: Sequence[Object], definition: Object, sample: Sequence[Object], path: Path) -> Inputs:
    """The first object of a kind that is defined is the one to copy. Other kinds are there before it."""
    main = next(each for each in sample if _fits(each, definition))
    for each in sample:
        if not isinstance(each.get("metadata"), dict) or not each["metadata"].get("name"):
            raise AuditError(f"The sample needs names: {path} has a {each['kind']} without `metadata.name`.")
    if not isinstance(main.get("spec") or {}, dict):
        raise AuditError(f"The sample's `spec` has to be a mapping, and it is {main['spec']!r}.")
    same = [each["metadata"]["name"] for each in sample if _fits(each, definition)]
    if len(same) > 1:
        raise AuditError(
            f"The sample has {len(same)} objects of kind {main['kind']} ({', '.join(same)}), and the audit copies "
            f"one: leave the others out of {path}."
        )
    # Namespaces are made by the audit, and what the sample puts in its own is put in each of them.
    others = [each for each in sample if each is not main and (each["apiVersion"], each["kind"]) != ("v1", "Namespace")]
    return Inputs(definitions, definition, main, others)


def _fits(obj: Object, definition: Object) -> bool:
    """Whether an object is of the kind that is defined; one of a version that isn't served is a mistake."""
    group, _, version = str(obj["apiVersion"]).partition("/")
    spec = definition["spec"]
    if (group, obj["kind"]) != (spec["group"], spec["names"]["kind"]):
        return False
    served = [each["name"] for each in spec["versions"] if each["served"]]
    if version not in served:
        raise AuditError(
            f"The sample doesn't fit its CRD: it is of version {version}, and "
            f"{definition['metadata']['name']} serves {', '.join(served)}."
        )
    if spec.get("scope") != "Namespaced":
        raise AuditError(
            f"{obj['kind']} is cluster-scoped and can't be audited: each attack needs a namespace of its own. Give an "
            f"object of another kind of the operator, one with `scope: Namespaced` in its CRD."
        )
    return True


@contextmanager
def installed(client: Client, inputs: Inputs) -> Iterator[None]:
    """Define the kinds, and take those away in the end that were not there before."""
    from converge.cluster.bootstrap import remove
    from converge.runtime import NotFound

    ours = {each["metadata"]["name"] for each in inputs.definitions}

    def there() -> list[Object]:
        return [each for each in client.list(crds.API_VERSION, crds.KIND) if each["metadata"]["name"] in ours]

    # What an audit a moment ago has removed takes a while to go.
    eventually(lambda: not any("deletionTimestamp" in each["metadata"] for each in there()), within=30)
    before = {each["metadata"]["name"] for each in there()}
    new = [each for each in inputs.definitions if each["metadata"]["name"] not in before]
    for each in inputs.definitions:
        if each not in new:
            kinds.register(crds.api_version(each), each["spec"]["names"]["kind"])
    wide: list[Object] = []
    try:
        try:
            crds.install(client, new)
        except manifests.ManifestError as error:
            raise AuditError(f"The server refuses a CRD: {error}.") from None
        kinds.register(inputs.main["apiVersion"], inputs.kind)
        for each in [each for each in inputs.others if is_cluster_wide(client, each)]:
            known = [one["metadata"]["name"] for one in client.list(each["apiVersion"], each["kind"])]
            wide += [each] if each["metadata"]["name"] not in known else []
            put_there(client, {**each, "metadata": {**each["metadata"], "namespace": None}})
        yield
    finally:
        for each in wide:
            with suppress(NotFound):
                client.delete(each["apiVersion"], each["kind"], each["metadata"]["name"])
        for definition in new:
            remove(client, definition)


def is_cluster_wide(client: Client, obj: Object) -> bool:
    """Whether an object that the sample needs is in no namespace."""
    from converge.runtime import ApiError

    try:
        return not client.discovery.resource(obj["apiVersion"], obj["kind"]).namespaced
    except ApiError as error:
        raise _needed(obj, error) from None


def put_there(client: Client, obj: Object) -> Object:
    """Apply an object that the sample needs."""
    from converge.runtime import ApiError

    try:
        return client.apply(obj, field_manager="user", force=True)
    except ApiError as error:
        raise _needed(obj, error) from None


def _needed(obj: Object, error: Exception) -> AuditError:
    said = " ".join(str(error).split()).rstrip(".?")
    return AuditError(
        f"The sample comes with a {obj['kind']} that the server refuses: {said}. Correct it, leave it out, or give its "
        f"CRD with --crds."
    )
