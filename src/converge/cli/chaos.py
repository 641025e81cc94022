"""`converge chaos`: the audit of a lab. Its settings come from the lab, all else is `converge audit`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from converge.cli.audit import FOUND, GOOD, WRONG_USE, run, seconds_of, write
from converge.cli.check import lab_names, start_cluster
from converge.cli.console import console

if TYPE_CHECKING:
    from converge.audit.settings import Settings
    from converge.cluster.images import Images
    from converge.grader.course import Lab

#: What not every lab promises, and the attacks that ask for it. The others are fair to all.
PROMISES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "follows": ("follows changes of the spec", ("walks", "two-steps", "edited-meanwhile", "while-down", "old-spec")),
    "rests": ("writes nothing when there is nothing to do", ("at-rest", "left-alone")),
    "heals": ("undoes what others do to its children", ("child-deleted", "child-edited")),
    "spares": ("leaves alone what others have added", ("foreign-fields",)),
    "yields": ("leaves alone what belongs to others", ("name-taken",)),
    "reports": ("reports in conditions", ("rival",)),
    "deletes": ("sees to it that the children go with their owner", ("deletion",)),
}


def chaos(
    lab: Annotated[str, typer.Argument(metavar="LAB", help="A lab with an operator.", autocompletion=lab_names)],
    against: Annotated[
        str, typer.Option(help="What to attack: labs, solutions, a PATH, mutant:ID or variant:NAME.")
    ] = "labs",
    attack: Annotated[list[str] | None, typer.Option(help="Only this attack; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(help="The seed for everything random.")] = 1,
    time: Annotated[str, typer.Option(help="How long it may take: 90s, 10m, 1h.")] = "10m",
    lanes: Annotated[int, typer.Option(min=1, help="How many attacks to make side by side.")] = 3,
    replay: Annotated[Path | None, typer.Option(help="A finding's file: run it again.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="Only say which attacks are fair to this lab.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page.")] = None,
) -> None:
    """Audit the operator of a lab: every attack that its lab promises to survive. No points: only what happened.

    It's [bold]converge audit[/] with settings that come from the lab.

    Examples: [bold]converge chaos 09[/], [bold]converge chaos 15 --attack old-cache[/],
    [bold]converge chaos 07 --against solutions --time 3m[/], [bold]converge chaos 06 --list[/].

    Exit status: 0 nothing found, 1 findings, 2 wrong usage, 3 no cluster.
    """
    from converge import cluster as clusters
    from converge.audit import findings
    from converge.audit.settings import AuditError
    from converge.cluster.directories import private_dir, state_dir
    from converge.grader import course as courses

    chosen = courses.load().find(lab)
    if not chosen.chaos:
        raise courses.CourseError(f"Lab {chosen.slug} makes no children of its own: `converge check {chosen.number}`.")
    if list_:
        listed(chosen)
        return
    whom = "" if against == "labs" else f" --against {against}"
    only = chosen_attacks(chosen, attack or [])
    try:
        again, seconds = None, seconds_of(time)
        if replay is not None:
            _, seed, again = findings.load(replay)
        name = chosen.slug if against == "labs" else f"{chosen.slug}-{re.sub('[^a-z0-9_]+', '-', against.lower())}"
        out = private_dir(state_dir() / "chaos" / name)
        start_cluster(silent=as_json)
        if not as_json:
            console.print(f"[bold]{chosen.number} {chosen.title}[/] · {against}")
        with settings_of(chosen, against, out, clusters.ensure().images) as settings:
            replayed_by = f"converge chaos {chosen.number}{whom} --replay"
            report = run(settings, again, only, seed, seconds, lanes, out, as_json, replayed_by)
    except AuditError as error:
        print(f"converge: {error}", file=sys.stderr)
        raise typer.Exit(WRONG_USE) from None
    write(report, as_json, None, html, None, None)
    raise typer.Exit(FOUND if report.failed else GOOD)


# Which attacks are fair.


def unpromised(lab: Lab, attack: str) -> str:
    """What an attack asks for and the lab doesn't promise; nothing if the attack is fair."""
    asked = (
        says for promise, (says, names) in PROMISES.items() if attack in names and promise not in lab.chaos["promises"]
    )
    return next(asked, "")


def chosen_attacks(lab: Lab, wanted: Sequence[str]) -> list[str]:
    """The names of the attacks to make: the fair ones, or those of them that are wanted."""
    from converge.audit.attacks import ORDER
    from converge.grader.course import CourseError

    for name in wanted:
        if name not in ORDER:
            raise CourseError(f"There is no attack {name!r}; there are: {', '.join(ORDER)}.")
        if asked := unpromised(lab, name):
            raise CourseError(f"{name} isn't fair: lab {lab.number} does not promise that it {asked}.")
    return [name for name in ORDER if (not wanted or name in wanted) and not unpromised(lab, name)]


def listed(lab: Lab) -> None:
    """The attacks, and for those that aren't fair, which promise the lab doesn't make."""
    from rich.text import Text

    from converge.audit.attacks import ATTACKS

    for each in ATTACKS:
        asked = unpromised(lab, each.name)
        why = f": lab {lab.number} does not promise that it {asked}" if asked else ""
        mark, style = ("·", "dim") if asked else ("✓", "green")
        console.print(Text.assemble((mark, style), f" {each.name:<15} {each.says}", (why, "dim")), soft_wrap=True)


# The settings of an audit, from a lab.


@contextmanager
def settings_of(lab: Lab, against: str, out: Path, images: Images) -> Iterator[Settings]:
    """What an audit has to know about the operator of a lab. The service outside the cluster runs meanwhile."""
    import yaml

    from converge.audit.settings import Settings
    from converge.files import course_root, write_whole
    from converge.grader.course.submissions import resolve, rights
    from converge.grader.session.lab_operator import launch_of
    from converge.operators.outside_service import Outside
    from converge.testing.access.rights import in_namespace

    file = resolve(lab, against, out)
    refuse_unwritten(lab, file)
    rules = list(in_namespace(rights(lab, against)).here)
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "operator"},
        "rules": rules,
    }
    sample, role_file = out / "sample.yaml", out / "rights.yaml"
    write_whole(sample, yaml.safe_dump(sample_of(lab, images), sort_keys=False))
    write_whole(role_file, yaml.safe_dump(role, sort_keys=False))
    launch = launch_of(lab, file, "{namespace}")
    outside = Outside()
    try:
        yield Settings(
            launch.command,
            course_root() / "crds",
            sample,
            role_file,
            environment={**launch.environment, "OUTSIDE_URL": outside.url},
            preload=launch.preload,
        )
    finally:
        outside.down()


def refuse_unwritten(lab: Lab, file: Path) -> None:
    """An operator that isn't written yet can't be attacked."""
    from converge.audit.settings import AuditError
    from converge.grader.checks import todo

    left = todo.numbers(file.read_text(encoding="utf-8")) if file.suffix == ".py" else []
    if left:
        raise AuditError(
            f"{file.name} still has TODO {', '.join(map(str, left))}: write that first, with "
            f"`converge check {lab.number}`."
        )


def sample_of(lab: Lab, images: Images) -> dict[str, Any]:
    """An object with all the fields that an audit may change."""
    kind = lab.chaos.get("kind", "WebApp")
    if kind == "Database":
        version = images.postgres[0].rpartition(":")[2]
        spec: dict[str, Any] = {"version": version, "replicas": 1, "storage": {"size": "1Gi"}}
        spec["parameters"] = {"max_connections": "100"}
    else:
        spec = {"image": images.web[0], "replicas": 1, "port": 8080, "labels": {"tier": "front"}}
        spec["sidecar"] = images.web[1]
    spec |= lab.chaos.get("spec", {})
    return {"apiVersion": "converge.example/v1", "kind": kind, "metadata": {"name": "shop"}, "spec": spec}
