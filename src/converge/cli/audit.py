"""`converge audit`: every attack on any operator that has a command line."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from converge.cli.check import start_cluster
from converge.cli.console import console, progress

if TYPE_CHECKING:
    from converge.audit.findings import Finding
    from converge.audit.session import Report, Row
    from converge.audit.settings import Settings

GOOD, FOUND, WRONG_USE = 0, 1, 2
STYLES = {"error": "red", "warning": "yellow", "note": "cyan"}
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def audit(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[audit.toml] [-- COMMAND...]", help="A file of settings, or the operator's command."),
    ] = None,
    crds: Annotated[Path | None, typer.Option(help="A CustomResourceDefinition, or a directory of them.")] = None,
    sample: Annotated[Path | None, typer.Option(help="An object of the operator's kind, and what it needs.")] = None,
    rights: Annotated[Path | None, typer.Option(help="Its Roles; without them it may do everything.")] = None,
    namespace_arg: Annotated[
        str, typer.Option(metavar="OPTION", help="The operator's own option for the namespace to watch: -n.")
    ] = "",
    env: Annotated[list[str] | None, typer.Option(help="NAME=VALUE for the operator; may be repeated.")] = None,
    attack: Annotated[list[str] | None, typer.Option(help="Only this attack; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(help="The seed for everything random.")] = 1,
    time: Annotated[str, typer.Option(help="How long it may take: 90s, 10m, 1h.")] = "10m",
    lanes: Annotated[int, typer.Option(min=1, help="How many attacks to make side by side.")] = 3,
    allow: Annotated[Path | None, typer.Option(help="A TOML file of findings that you accept, with reasons.")] = None,
    replay: Annotated[Path | None, typer.Option(help="A finding's file: run it again.")] = None,
    out: Annotated[Path, typer.Option(help="Where findings and their timelines go.")] = Path("audit-findings"),
    list_: Annotated[bool, typer.Option("--list", help="Only list the attacks.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    report_file: Annotated[Path | None, typer.Option("--report", help="Write the report as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Write SARIF 2.1.0.")] = None,
) -> None:
    """Attack any operator, in any language, and say what it got wrong.

    It needs your CRDs, a sample object and the command that starts the operator. [bold]{namespace}[/] in the command
    stands for the namespace that it should watch; [bold]--namespace-arg --namespace[/] adds it at the end. It finds out
    the rest on its own.

    Examples: [bold]converge audit --crds config/crd --sample shop.yaml -- ./manager --namespace {namespace}[/],
    [bold]converge audit audit.toml[/], [bold]converge audit --replay audit-findings/at-rest-touched.json[/].

    Exit status: 0 nothing found, 1 findings, 2 wrong usage or an operator that can't be audited, 3 no cluster.
    """
    from converge.audit import findings
    from converge.audit.attacks import ATTACKS
    from converge.audit.settings import AuditError

    if list_:
        for each in ATTACKS:
            console.print(f"{each.name:<15} {each.severity:<8} {each.says}", markup=False, soft_wrap=True)
        return
    try:
        again: Finding | None = None
        if replay is not None:
            settings, seed, again = findings.load(replay)
        else:
            settings = settings_of(arguments or [], crds, sample, rights, env or [], allow, namespace_arg)
        for path in (report_file, html, junit, sarif):
            if path is not None and not path.absolute().parent.is_dir():
                raise AuditError(f"There is no directory {path.parent} for {path.name}: make it first.")
        report = run(settings, again, attack or [], seed, seconds_of(time), lanes, out, silent=as_json)
    except AuditError as error:
        print(f"converge: {error}", file=sys.stderr)
        raise typer.Exit(WRONG_USE) from None
    write(report, as_json, report_file, html, junit, sarif)
    raise typer.Exit(FOUND if report.failed else GOOD)


def settings_of(
    arguments: list[str],
    crds: Path | None,
    sample: Path | None,
    rights: Path | None,
    env: list[str],
    allow: Path | None,
    namespace_arg: str = "",
) -> Settings:
    """What the command line says, on top of what a file says."""
    from dataclasses import replace

    from converge.audit import settings as files
    from converge.audit.settings import AuditError, Settings

    if arguments and arguments[0].endswith(".toml"):
        found = files.load(Path(arguments[0]))
        if arguments[1:]:
            found = replace(found, command=tuple(arguments[1:]))
        found = replace(found, crds=crds or found.crds, sample=sample or found.sample, rights=rights or found.rights)
    else:
        if crds is None:
            raise AuditError("No CRD: say where your CustomResourceDefinitions are, with --crds or in an audit.toml.")
        if sample is None:
            raise AuditError("No sample: give an object of your operator's kind, with --sample or in an audit.toml.")
        found = Settings(tuple(arguments), crds, sample, rights)
    if namespace_arg and found.command:
        found = replace(found, command=(*found.command, *with_namespace(namespace_arg)))
    variables = {}
    for each in env:
        name, equals, value = each.partition("=")
        if not equals:
            raise AuditError(f"--env wants NAME=VALUE, not {each!r}.")
        variables[name] = value
    allowed = files.load_allow_list(allow) if allow else ()
    return replace(found, environment={**found.environment, **variables}, allow=(*found.allow, *allowed))


def with_namespace(option: str) -> tuple[str, ...]:
    """The operator's own option with the namespace: `-n`, `--namespace`, `--namespace=` or one with `{namespace}`."""
    if "{namespace}" in option:
        return (option,)
    return (f"{option}{{namespace}}",) if option.endswith("=") else (option, "{namespace}")


def seconds_of(text: str) -> float:
    """`90s`, `10m`, `1h` or a number of seconds."""
    from converge.audit.settings import AuditError

    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if match is None:
        raise AuditError(f"--time wants something like 90s, 10m or 1h, not {text!r}.")
    return float(match[1]) * UNITS[match[2]]


def run(
    settings: Settings,
    again: Finding | None,
    only: list[str],
    seed: int,
    seconds: float,
    lanes: int,
    out: Path,
    silent: bool,
    replayed_by: str = "converge audit --replay",
) -> Report:
    """Make the attacks and show each result as soon as it's known."""
    from converge import cluster as clusters
    from converge.audit.session import Session
    from converge.runtime import Client

    settings.check()
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of each connection that a killed operator leaves
    start_cluster(silent)
    cluster = clusters.ensure()
    admin = Client(cluster.kubeconfig, user_agent="kubectl")

    def on_row(row: Row) -> None:
        if not silent:
            show_row(row)

    with progress() as say:
        session = Session(
            cluster,
            admin,
            settings,
            seed=seed,
            seconds=seconds,
            lanes=lanes,
            out=out,
            replayed_by=replayed_by,
            say=(lambda _: None) if silent else say,
        )
        report = session.replay(again, on_row) if again else session.run(only, on_row)
    if not silent:
        show_end(report)
    return report


def show_row(row: Row) -> None:
    """One attack: a line, and below it what was found."""
    from rich.text import Text

    from converge.audit.attacks import tells

    counting = [each for each in row.findings if each.counts]
    undecided = row.findings or row.left_out or not row.cases
    mark, style = ("✗", "red") if counting else ("·", "cyan") if undecided else ("✓", "green")
    many = f"{row.cases or 'no'} cases" if row.cases != 1 else "1 case"
    console.print(
        Text.assemble(
            (mark, style), f" {row.attack.name:<15} {row.attack.says} ", (f"{many}, {row.seconds:.0f} s", "dim")
        ),
        soft_wrap=True,
    )
    for finding in row.findings:
        show_finding(finding)
    for name, answer in row.answers:
        if tells(answer):
            console.print(Text(f"    no finding: {name}: {answer}", style="dim"), soft_wrap=True)
    for each in row.left_out:
        console.print(Text(f"    left out: {each}", style="dim"), soft_wrap=True)


def show_finding(finding: Finding) -> None:
    """A finding in parts, as a failed check is shown."""
    from rich.text import Text

    style = "dim" if finding.allowed else STYLES[finding.severity]
    how = finding.unsure or f"{finding.failed} of {finding.tried} tries"
    console.print(
        Text.assemble("    ", (f"{finding.severity} ", style), finding.id, (f"  ({how})", "dim")), soft_wrap=True
    )
    parts = {
        "when": finding.when,
        "expected": finding.expected,
        "got": finding.got,
        "also at": ", ".join(finding.also),
        "try": finding.hint,
        "allowed": finding.allowed,
        "timeline": finding.timeline,
        "again": finding.again,
    }
    for name, text in parts.items():
        for place, line in enumerate(text.splitlines()):
            console.print(Text(f"      {name if place == 0 else '':<10}{line}"), soft_wrap=True)


def show_end(report: Report) -> None:
    """What was masked, the Role, and the sum of it all."""
    learned = report.learned
    if learned is not None:
        makes = ", ".join(learned.children) or "nothing of its own"
        console.print(f"\nFor one {report.kind} it makes: {makes}.", markup=False, soft_wrap=True)
        if learned.ends:
            console.print(
                "It runs to completion: counters, and conditions that aren't true, are not compared.", markup=False
            )
        if learned.mask.paths or learned.random_names:
            console.print("Different in each clean run, and so not compared:", markup=False)
            for kind in sorted(learned.random_names):
                console.print(f"  the names of its {kind}s", markup=False)
            for path in sorted(learned.mask.paths):
                console.print(f"  {path}", markup=False, soft_wrap=True)
    if report.role:
        console.print("What it did needs these rights:", markup=False)
        for rule in report.role:
            group = rule["apiGroups"][0] or "core"
            verbs, resources = ", ".join(rule["verbs"]), ", ".join(rule["resources"])
            console.print(f"  {group}: {resources}: {verbs}", markup=False, soft_wrap=True)
    for each in report.unused:
        console.print(f"  allowed and never used: {each}", markup=False, soft_wrap=True)
    counting = [each for each in report.findings if each.counts]
    others = len(report.findings) - len(counting)
    first = f", the first after {report.first_finding:.0f} s" if counting and report.first_finding is not None else ""
    many = f"{len(counting)} finding{'s' if len(counting) != 1 else ''}{first}"
    why_not = "a note, flaky, allowed or not tried again"
    rest = f" and {others} that {'is' if others == 1 else 'are'} {why_not}" if others else ""
    cases, late = sum(row.cases for row in report.rows), sum(row.late for row in report.rows)
    done = f"{cases - late} of {cases} cases" if late else f"{cases} case{'s' if cases != 1 else ''}"
    summary = f"\n{many}{rest}, in {done} and {report.seconds:.0f} s (seed {report.seed})."
    console.print(summary, markup=False, soft_wrap=True)
    if late:
        console.print(f"Time was up before the other {late}: they're listed above as left out.", markup=False)


def write(
    report: Report, as_json: bool, file: Path | None, html: Path | None, junit: Path | None, sarif: Path | None
) -> None:
    """The report in every format that was asked for."""
    from converge.audit import report as formats

    if as_json:
        print(formats.json_text(report))
    for path, text in (
        (file, formats.json_text),
        (html, formats.html),
        (junit, formats.junit),
        (sarif, formats.sarif),
    ):
        if path is not None:
            path.write_text(text(report), encoding="utf-8")
