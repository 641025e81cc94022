"""Commands for the cluster: up, down, status, logs, kubectl, shell, load, doctor."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from converge import cluster
from converge.cli.console import console, progress
from converge.cluster.providers import REGISTERED
from converge.files import write_whole

CLUSTER = "The cluster"


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    for command in (up, down, status, logs, shell, load, doctor):
        app.command(rich_help_panel=CLUSTER)(command)
    app.command(rich_help_panel=CLUSTER, cls=_PassesEverythingOn, context_settings={"help_option_names": []})(kubectl)


class _PassesEverythingOn(TyperCommand):
    """A command whose arguments are another program's: none is parsed, so a ``--`` among them stays."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Leave everything in ``ctx.args``."""
        ctx.args = args
        return args


def up(
    provider: Annotated[str | None, typer.Option(help=f"{', '.join(REGISTERED)}.")] = None,
    context: Annotated[str | None, typer.Option(help="The kubeconfig context, for --provider existing.")] = None,
    image: Annotated[str | None, typer.Option(help="The node image, for --provider kind.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask before using an existing cluster.")] = False,
) -> None:
    """Start a cluster, or repair the one that is there.

    Examples: [bold]converge up[/], [bold]converge up --provider kind[/],
    [bold]converge up --provider existing --context staging[/].
    """
    options = cluster.Options(context=context, image=image)
    if not yes and (what_happens := cluster.consent(provider, options)):
        console.print(what_happens)
        if not typer.confirm("Use this cluster?"):
            raise typer.Exit(1)
    started = time.monotonic()
    with progress() as say:
        there = cluster.up(provider, context=context, image=image, progress=say)
    seconds = time.monotonic() - started
    console.print(f"[green]up[/]: Kubernetes {there.version} ({there.provider}) at {there.server}, {seconds:.1f} s")
    console.print("Next: [bold]make check[/], or look around with [bold]converge kubectl get all -A[/]")


def down() -> None:
    """Stop the cluster and remove all of it: processes, ports, directory."""
    said = cluster.down(console.print)
    console.print(f"[green]down[/]: {said}" if said else "there was no cluster")


def status(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show what's running: versions, ports, memory, logs. Exit code 1 when something is dead or nothing is up."""
    there = cluster.current()
    if as_json:
        parts = [] if there is None else [{**part.__dict__, "log": str(part.log)} for part in there.parts]
        up_now = there is not None and all(part.alive for part in there.parts)
        fields = (
            {}
            if there is None
            else {
                "provider": there.provider,
                "server": there.server,
                "version": there.version,
                "kubeconfig": str(there.kubeconfig),
            }
        )
        print(json.dumps({"up": up_now, **fields, "parts": parts}, indent=2))
        raise typer.Exit(0 if up_now else 1)
    if there is None:
        console.print("no cluster is up; start one: [bold]converge up[/]")
        raise typer.Exit(1)
    console.print(f"Kubernetes {there.version} ({there.provider}) at {there.server}")
    console.print(f"kubeconfig {there.kubeconfig}", soft_wrap=True)
    if there.parts:
        console.print(f"logs       {there.kubeconfig.parent / 'logs'}", soft_wrap=True)
        _print_parts(there)
    dead = [part.name for part in there.parts if not part.alive]
    if dead:
        console.print(
            f"[red]{', '.join(dead)} ended[/]; restart: [bold]converge up[/]; why: [bold]converge logs {dead[0]}[/]"
        )
        raise typer.Exit(1)


def _print_parts(there: cluster.Cluster) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("component", "state", "version", "pid", "port", "memory"):
        table.add_column(column, justify="right" if column in ("pid", "port", "memory") else "left", overflow="fold")
    for part in there.parts:
        state = "[green]running[/]" if part.alive else "[red]ended[/]"
        memory = f"{part.memory / 2**20:.0f} MB" if part.memory else ""
        table.add_row(part.name, state, part.version, str(part.pid or ""), str(part.port or ""), memory)
    total = sum(part.memory for part in there.parts)
    if total:
        table.add_row("", "", "", "", "", f"{total / 2**20:.0f} MB")
    console.print(table)


def logs(
    component: Annotated[str | None, typer.Argument(help="etcd, kube-apiserver, …; all when left out.")] = None,
    lines: Annotated[int, typer.Option("--lines", "-n", help="How many lines of each.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow new lines as they come.")] = False,
) -> None:
    """Show what the components of the cluster wrote."""
    raise typer.Exit(cluster.logs(component, lines, follow))


def kubectl(ctx: typer.Context) -> None:
    """Run kubectl on the course's cluster: everything after it is kubectl's."""
    from converge.cluster import programs

    there = cluster.current()
    if there is None:
        raise cluster.ClusterError("no cluster is up", "converge up")
    with progress() as say:
        program = programs.obtain(["kubectl"], say)["kubectl"]
    environment = {**os.environ, "KUBECONFIG": str(there.kubeconfig)}
    os.execve(program, ["kubectl", *ctx.args], environment)


def shell() -> None:
    """Open a shell with KUBECONFIG set and kubectl, converge and this Python on the path; its prompt says so."""
    from converge.cluster import programs
    from converge.cluster.directories import cluster_dir

    with progress() as say:
        there = cluster.ensure(say)
        program = programs.obtain(["kubectl"], say)["kubectl"]
    tools = cluster_dir() / "bin"
    tools.mkdir(exist_ok=True)
    link = tools / "kubectl"
    link.unlink(missing_ok=True)
    link.symlink_to(program)
    environment = {
        **os.environ,
        "KUBECONFIG": str(there.kubeconfig),
        "PATH": os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
    }
    user_shell = os.environ.get("SHELL", "/bin/sh")
    command = [user_shell]
    if user_shell.endswith("bash"):
        startup = cluster_dir() / "bashrc"
        write_whole(startup, '[ -f ~/.bashrc ] && . ~/.bashrc\nPS1="(converge) $PS1"\n')
        command += ["--rcfile", str(startup)]
    elif user_shell.endswith("zsh"):
        startup = cluster_dir() / "zsh"
        write_whole(startup / ".zshrc", '[ -f ~/.zshrc ] && . ~/.zshrc\nPROMPT="(converge) $PROMPT"\n')
        environment["ZDOTDIR"] = str(startup)
    else:
        environment["PS1"] = "(converge) $ "
    console.print(f"KUBECONFIG is the course's cluster ({there.provider}); leave with [bold]exit[/]")
    sys.stdout.flush()
    os.execvpe(user_shell, command, environment)


def load(images: Annotated[list[str], typer.Argument(metavar="IMAGE…", help="Image names.")]) -> None:
    """Load images from Docker or Podman into a kind cluster, so that Pods can run them.

    Example: [bold]docker build -f labs/16_ship/Dockerfile -t webapp-operator:1 .[/], then
    [bold]converge load webapp-operator:1[/].
    """
    with progress() as say:
        cluster.load(images, say)
    console.print(f"[green]loaded[/]: {', '.join(images)}")


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Check this machine: what is here, what is missing, what to type. Exit code 1 if it needs something."""
    from converge.cluster.doctor import examine

    findings = examine()
    if as_json:
        print(json.dumps([finding.__dict__ for finding in findings], indent=2))
    else:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, show_header=True)
        for column in ("", "what", "found", "fix"):
            table.add_column(column, overflow="fold")
        for one in findings:
            mark = "[green]✓[/]" if one.good else ("[red]✗[/]" if one.needed else "[yellow]–[/]")
            table.add_row(mark, one.what, one.found, one.fix)
        console.print(table)
    raise typer.Exit(0 if all(one.good or not one.needed for one in findings) else 1)
