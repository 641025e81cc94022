"""The CRDs and the sample: read, matched and installed before anything else, so that a mistake is one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
        if settings.rights:
            from converge.testing.access import rights

            rights.read(settings.rights)
    except manifests.ManifestError as error:
        raise AuditError(f"{error}.") from None
    for obj in sample:
        for definition in definitions:
            if _fits(obj, definition):
                return Inputs(definitions, definition, obj, [each for each in sample if each is not obj])
    names = ", ".join(each["spec"]["names"]["kind"] for each in definitions)
    there = ", ".join(str(each.get("kind")) for each in sample) or "nothing"
    raise AuditError(f"The sample doesn't fit the CRDs: {settings.sample} has {there}, and the CRDs define {names}.")


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
        raise AuditError(f"{obj['kind']} is cluster-scoped, and an audit needs a kind that is in a namespace.")
    return True


@contextmanager
def installed(client: Client, inputs: Inputs) -> Iterator[None]:
    """Define the kinds, and take those away in the end that were not there before."""
    from converge.cluster.bootstrap import remove

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
    try:
        try:
            crds.install(client, new)
        except manifests.ManifestError as error:
            raise AuditError(f"The server refuses a CRD: {error}.") from None
        kinds.register(inputs.main["apiVersion"], inputs.kind)
        yield
    finally:
        for definition in new:
            remove(client, definition)
