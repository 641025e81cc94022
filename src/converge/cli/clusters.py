"""Commands for the cluster: up, down, status, logs, kubectl, shell, load, doctor."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from converge import cluster
from converge.cli.terminal import console, progress

CLUSTER = "The cluster"


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    for command in (up, down, status, logs, shell, load, doctor):
        app.command(rich_help_panel=CLUSTER)(command)
    passes_everything_on = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
    app.command(rich_help_panel=CLUSTER, context_settings=passes_everything_on)(kubectl)


def up(
    provider: Annotated[str | None, typer.Option(help="local, kind or existing.")] = None,
    context: Annotated[str | None, typer.Option(help="The kubeconfig context, for --provider existing.")] = None,
    image: Annotated[str | None, typer.Option(help="The node image, for --provider kind.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before using an existing cluster.")] = False,
) -> None:
    """Start a cluster, or mend the one that is there.

    Examples: [bold]converge up[/], [bold]converge up --provider kind[/],
    [bold]converge up --provider existing --context staging[/].
    """
    if provider == "existing" and not yes:
        _ask(context)
    started = time.monotonic()
    with progress() as say:
        there = cluster.up(provider, context=context, image=image, progress=say)
    seconds = time.monotonic() - started
    console.print(f"[green]up[/]: Kubernetes {there.version} ({there.provider}) at {there.server}, {seconds:.1f} s")
    console.print("Next: [bold]make check[/], or look around with [bold]converge kubectl get all -A[/]")


def _ask(context: str | None) -> None:
    from converge.cluster import existing

    server = existing.contexts().get(context or "")
    if server is None:
        return  # `up` will say which contexts there are
    console.print(
        f"The course will install its kinds (WebApp, Database) at {server} and make namespaces of its own there."
    )
    console.print("It deletes nothing that it did not create.")
    if not typer.confirm("Use this cluster?"):
        raise typer.Exit(1)


def down() -> None:
    """Stop the cluster and remove all of it: processes, ports, directory."""
    there = cluster.down(console.print)
    what = "cluster is gone" if there is None or there.provider != "existing" else "cluster is no longer used"
    console.print(f"[green]down[/]: the {there.provider} {what}" if there else "there was no cluster")


def status(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show what runs: versions, ports, memory, logs. Exit code 1 when something is dead or nothing is up."""
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
            f"[red]{', '.join(dead)} ended[/]; mend it: [bold]converge up[/]; why: [bold]converge logs {dead[0]}[/]"
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
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as they come.")] = False,
) -> None:
    """Show what the components of the cluster wrote."""
    from converge.cluster import kind
    from converge.cluster.directories import cluster_dir

    if kind.runs() and component != "kind":
        raise typer.Exit(kind.logs(component, lines, follow))
    files = sorted((cluster_dir() / "logs").glob(f"{component or '*'}.log"))
    if not files:
        names = ", ".join(path.stem for path in sorted((cluster_dir() / "logs").glob("*.log")))
        console.print(
            f"no log of {component or 'a cluster'} is here"
            + (f"; there are: {names}" if names else "; start one: converge up")
        )
        raise typer.Exit(1)
    command = ["tail", f"-n{lines}", *(["-f"] if follow else []), *map(str, files)]
    raise typer.Exit(subprocess.run(command).returncode)


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
        startup.write_text('[ -f ~/.bashrc ] && . ~/.bashrc\nPS1="(converge) $PS1"\n')
        command += ["--rcfile", str(startup)]
    elif user_shell.endswith("zsh"):
        startup = cluster_dir() / "zsh"
        startup.mkdir(exist_ok=True)
        (startup / ".zshrc").write_text('[ -f ~/.zshrc ] && . ~/.zshrc\nPROMPT="(converge) $PROMPT"\n')
        environment["ZDOTDIR"] = str(startup)
    else:
        environment["PS1"] = "(converge) $ "
    console.print(f"KUBECONFIG is the course's cluster ({there.provider}); leave with [bold]exit[/]")
    sys.stdout.flush()
    os.execvpe(user_shell, command, environment)


def load(images: Annotated[list[str], typer.Argument(metavar="IMAGE…", help="As your engine names them.")]) -> None:
    """Bring images that Docker or Podman has into a kind cluster, for Pods to run.

    Example: [bold]docker build -f labs/16_ship/Dockerfile -t webapp-operator:1 .[/], then
    [bold]converge load webapp-operator:1[/].
    """
    with progress() as say:
        cluster.load(images, say)
    console.print(f"[green]loaded[/]: {', '.join(images)}")


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Say what is here, what is missing and what to type. Exit code 1 when something needed is missing."""
    from converge.cluster.doctor import examine

    findings = examine()
    if as_json:
        print(json.dumps([finding.__dict__ for finding in findings], indent=2))
    else:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, show_header=True)
        for column in ("", "what", "found", "to mend"):
            table.add_column(column, overflow="fold")
        for one in findings:
            mark = "[green]✓[/]" if one.good else ("[red]✗[/]" if one.needed else "[yellow]–[/]")
            table.add_row(mark, one.what, one.found, one.mend)
        console.print(table)
    raise typer.Exit(0 if all(one.good or not one.needed for one in findings) else 1)
