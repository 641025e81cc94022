"""`converge chaos`: every attack on the operator of a lab, repeatable by its seed."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Annotated

import typer

from converge.cli.check import lab_names, start_cluster
from converge.cli.console import console

if TYPE_CHECKING:
    from converge.grader.course import Lab
    from converge.grader.session.chaos import AttackOutcome

SURVIVED, FELL = 0, 1


def chaos(
    lab: Annotated[str, typer.Argument(metavar="LAB", help="A lab with an operator.", autocompletion=lab_names)],
    seed: Annotated[int | None, typer.Option(help="The seed of a run that you want to repeat.")] = None,
    against: Annotated[
        str, typer.Option(help="What to attack: labs, solutions, a PATH, mutant:ID or variant:NAME.")
    ] = "labs",
    attack: Annotated[list[str] | None, typer.Option(help="Only this attack; may be repeated.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="Only say which attacks are fair to this lab.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Attack the operator of a lab in every way that its lab promises to survive. No points: only what happened.

    Examples: [bold]converge chaos 09[/], [bold]converge chaos 15 --seed 7[/] (the same again),
    [bold]converge chaos 07 --against solutions --attack walks[/], [bold]converge chaos 06 --list[/].

    Exit status: 0 it survived every attack, 1 it didn't, 2 wrong usage, 3 no cluster.
    """
    from converge.grader import course as courses
    from converge.grader.session.chaos import run
    from converge.testing.attacks.chaos_catalogue import ATTACKS

    chosen = courses.load().find(lab)
    if not chosen.chaos.get("children"):
        raise courses.CourseError(f"Lab {chosen.slug} makes no children of its own: `converge check {chosen.number}`.")
    names = [each.name for each in ATTACKS]
    for name in attack or []:
        if name not in names:
            raise courses.CourseError(f"There is no attack {name!r}; there are: {', '.join(names)}.")
    if list_:
        listed(chosen)
        return
    number = random.randrange(1, 10_000) if seed is None else seed
    start_cluster(silent=as_json)
    if not as_json:
        console.print(f"[bold]{chosen.number} {chosen.title}[/] · {against} · seed {number}")
    outcomes = []
    for outcome in run(chosen, against, number, tuple(attack or ())):
        outcomes.append(outcome)
        if not as_json:
            show(chosen, outcome)
    made = [each for each in outcomes if each.status is not None]
    survived = sum(each.status == "passed" for each in made)
    if as_json:
        print(json.dumps({"lab": chosen.slug, "seed": number, "attacks": [row(each) for each in outcomes]}, indent=2))
    else:
        command = again(chosen, against, number, attack or [])
        console.print(f"\nIt survived {survived} of {len(made)} attacks.")
        console.print(f"The same again: [bold]{command}[/]", soft_wrap=True)
    raise typer.Exit(SURVIVED if survived == len(made) else FELL)


def again(lab: Lab, against: str, seed: int, only: list[str]) -> str:
    """What to type for the same run again."""
    whom = [] if against == "labs" else ["--against", against]
    return " ".join(["converge chaos", lab.number, f"--seed {seed}", *whom, *(f"--attack {name}" for name in only)])


def listed(lab: Lab) -> None:
    """The attacks, and for those that are not fair, which promise the lab does not make."""
    from rich.text import Text

    from converge.grader.session.chaos import fair
    from converge.testing.attacks.chaos_catalogue import ATTACKS, CAPABILITIES

    for each in ATTACKS:
        if fair(lab, each):
            console.print(Text.assemble(("✓", "green"), f" {each.name:<15} {each.says}"), soft_wrap=True)
        else:
            why = f"lab {lab.number} does not promise that it {CAPABILITIES[each.requires]}"
            console.print(Text.assemble(("·", "dim"), f" {each.name:<15} {each.says}: ", (why, "dim")), soft_wrap=True)


def show(lab: Lab, outcome: AttackOutcome) -> None:
    from rich.text import Text

    from converge.grader.report.console import MARKS
    from converge.grader.report.text import explain
    from converge.testing.attacks.chaos_catalogue import CAPABILITIES

    name, says = outcome.attack.name, outcome.attack.says
    if outcome.status is None:
        why = f"left out: lab {lab.number} does not promise that it {CAPABILITIES[outcome.attack.requires]}"
        console.print(Text(f"· {name:<15} {why}", style="dim"), soft_wrap=True)
        return
    mark, style = MARKS[outcome.status]
    console.print(Text.assemble((mark, style), f" {name:<15} {says}"), soft_wrap=True)
    if outcome.parts:
        console.print(Text(explain(outcome.status, outcome.parts)), soft_wrap=True)
        console.print(Text(f"    {'timeline':<10}{outcome.timeline}", style="dim"), soft_wrap=True)


def row(outcome: AttackOutcome) -> dict[str, object]:
    status = str(outcome.status) if outcome.status else "left out"
    return {"attack": outcome.attack.name, "status": status, **outcome.parts, "timeline": outcome.timeline}
