"""Random walks through the specs that a CRD's schema allows: each has to end where a fresh start ends.

Hypothesis draws the walks, from the schema as the server has it. They are walked side by side, one object each, because
waiting for a cluster costs the same for one object as for ten; for the same reason a walk that ends elsewhere is not
shortened step by step but by trying all shorter ones at once.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from converge.recorder.routes import plural
from converge.testing.attacks.compare import comparable_children, differing_lines
from converge.testing.attacks.spec_paths import HINT
from converge.testing.objects.custom_resource import CustomResource
from converge.testing.objects.kinds import typed
from converge.testing.operator import Operator
from converge.testing.verdicts.failure import Failure

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from converge.testing.objects.namespace import Namespace

Spec = dict[str, Any]
Walk = list[Spec]  # the fields of a new object, then the fields that each edit sets; None takes a field away
Make = Callable[..., CustomResource]
DifferingLines = list[tuple[str, str]]

LOWEST = {"replicas": 0, "port": 1024}  # what any cluster can run without rights of its own
HIGHEST = {"replicas": 2, "port": 9999}
KEYS = ("tier", "team", "zone")


def random_walks(
    operator: Operator,
    *,
    make: Make,
    fields: Sequence[str],
    children: Sequence[str],
    kind: str = "WebApp",
    walks: int = 6,
    steps: int = 3,
    seed: int | None = None,
    hint: str = "",
) -> None:
    """Edit some objects `steps` times each and compare each with a new one that has its last spec.

    `fields` are the fields of the spec that this lab knows, `children` the kinds to compare. The failure shows the
    shortest walk that was found, and the timeline shows that one alone.
    """
    if not operator.running:
        operator.start()
    runner = WalkRunner(operator, make, children)
    schema = schema_of(kind, operator.namespace)
    drawn = draw(walk_strategy(schema, fields, operator.namespace.runnable_images, steps), walks, seed)
    astray = [(walk, found) for walk, found in zip(drawn, runner.all(drawn), strict=True) if found]
    if not astray:
        return
    walk = runner.shortest(min((walk for walk, _ in astray), key=len))
    operator.settle()  # what was tried meanwhile is being deleted
    operator.recorder.focus()
    found = runner.all([walk], tidy=False)[0] or astray[0][1]
    first, *rest = map(json.dumps, walk)
    raise Failure(
        when="\n".join(
            [f"an object was created with {first}", *(f"then its spec was changed: {each}" for each in rest)]
        ),
        expected="the same as for a new object with the last spec:\n" + "\n".join(new for _, new in found[:6]),
        got="\n".join(old for old, _ in found[:6]),
        hint=hint or HINT,
    )


class WalkRunner:
    """Takes objects along walks and compares where each ends with a fresh start."""

    def __init__(self, operator: Operator, make: Make, children: Sequence[str]) -> None:
        self.operator = operator
        self.make = make
        self.children = children

    def all(self, walks: Sequence[Walk], tidy: bool = True) -> list[DifferingLines]:
        """Walk them side by side. For each, where its end differs from a fresh start; an empty list is a good end."""
        walked = [self.make(**walk[0]) for walk in walks]
        for number in range(1, max(map(len, walks), default=0)):
            self.operator.settle()
            for app, walk in zip(walked, walks, strict=True):
                if number < len(walk):
                    app.edit(**edit(app.spec, walk[number]))
        fresh = [self.make(**app.spec) for app in walked]
        self.operator.settle()
        found = [
            differing_lines(comparable_children(old, self.children), comparable_children(new, self.children))
            for old, new in zip(walked, fresh, strict=True)
        ]
        for app in walked + fresh if tidy else []:
            app.delete()
        return found

    def shortest(self, walk: Walk) -> Walk:
        """The shortest walk that is contained in this one and ends elsewhere, as far as two more rounds can tell."""
        for shorter in (jumps, narrower):
            candidates = sorted(shorter(walk), key=lambda each: len(json.dumps(each)))
            ends = self.all(candidates)
            walk = next((each for each, found in zip(candidates, ends, strict=True) if found), walk)
        return walk


def edit(spec: Spec, step: Spec) -> Spec:
    """The merge patch that makes fields what `step` says: the keys of a map that it does not name have to go."""
    return {
        field: {**dict.fromkeys(spec.get(field) or {}, None), **value} if isinstance(value, dict) else value
        for field, value in step.items()
    }


def jumps(walk: Walk) -> Iterable[Walk]:
    """From each state of the walk straight to each later one, by the fields that differ."""
    states: list[Spec] = []
    for step in walk:
        states.append({**(states[-1] if states else {}), **step})
    for start, here in enumerate(states):
        for there in states[start + 1 :]:
            if changed := {field: value for field, value in there.items() if here.get(field) != value}:
                yield [here, changed]


def narrower(walk: Walk) -> Iterable[Walk]:
    """The same walk with one field, and of a map with one key, all else left out."""
    for field in dict.fromkeys(field for step in walk[1:] for field in step):
        first, *rest = ([step[field]] if field in step else [] for step in walk)
        values = [value for step in rest for value in step]
        yield [{field: first[0]} if first else {}, *({field: value} for value in values)]
        maps = [value or {} for value in (*first, *values)]
        if all(isinstance(each, dict) for each in maps):
            for key in dict.fromkeys(key for each in maps for key in each):
                yield [{field: {key: each[key]} if key in each else {}} for each in maps]


# What Hypothesis draws from.


def draw(strategy: SearchStrategy[Walk], count: int, seed: int | None = None) -> list[Walk]:
    """So many examples of a strategy; the same for the same seed."""
    import hypothesis

    drawn: list[Walk] = []

    @hypothesis.seed(random.getrandbits(32) if seed is None else seed)
    @hypothesis.settings(
        max_examples=count,
        phases=[hypothesis.Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategy)
    def collect(walk: Walk) -> None:
        drawn.append(walk)

    collect()
    return drawn


def walk_strategy(schema: Spec, fields: Sequence[str], images: Sequence[str], steps: int) -> SearchStrategy[Walk]:
    """A walk sets every field, then edits some, and ends with a minimal spec, so that fields have to be removed."""
    from hypothesis import strategies as st

    values = {field: value_strategy(field, schema["properties"][field], images) for field in fields}
    optional = [field for field in fields if may_be_absent(field, schema)]
    first = st.fixed_dictionaries(values)
    step = st.lists(st.sampled_from(fields), min_size=1, max_size=2, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries(
            {field: st.none() | values[field] if field in optional else values[field] for field in chosen}
        )
    )
    bare: Spec = {**dict.fromkeys(optional), **{field: least for field, least in LOWEST.items() if field in fields}}
    return st.tuples(first, st.lists(step, min_size=steps - 1, max_size=steps - 1)).map(
        lambda parts: [parts[0], *parts[1], *([bare] if bare else [])]
    )


def value_strategy(field: str, schema: Spec, images: Sequence[str]) -> SearchStrategy[Any]:
    """Values that the schema allows and the cluster can run."""
    from hypothesis import strategies as st

    if field in ("image", "sidecar"):
        return st.sampled_from(list(images))
    if schema["type"] == "integer":
        return st.integers(LOWEST.get(field, schema.get("minimum", 0)), HIGHEST.get(field, schema.get("maximum", 9)))
    if schema["type"] == "boolean":
        return st.booleans()
    if schema["type"] == "object":
        return st.dictionaries(st.sampled_from(KEYS), st.sampled_from("ab"), min_size=1)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    raise ValueError(f"a walk has no values for the field {field}")


def may_be_absent(field: str, schema: Spec) -> bool:
    return field not in schema.get("required", ()) and "default" not in schema["properties"][field]


def schema_of(kind: str, namespace: Namespace) -> Spec:
    """The schema of the spec, as the server has it."""
    api_version, kind = typed(kind)
    group, _, version = api_version.partition("/")
    crd = namespace.client.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural(kind)}.{group}")
    served = next(each for each in crd["spec"]["versions"] if each["name"] == version)
    spec: Spec = served["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return spec
