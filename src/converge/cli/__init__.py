"""The ``converge`` command. Each module holds the commands of one idea; what is heavy is imported when it is used."""

import signal
import sys
from typing import NoReturn

import typer

from converge.cli import clusters, labs
from converge.cli.plain_output import protect
from converge.cluster.directories import explain
from converge.cluster.errors import ClusterError

app = typer.Typer(
    name="converge",
    help="Learn the Kubernetes reconciliation loop in Python, graded against a real API server.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
clusters.register(app)
labs.register(app)


def _stop(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)  # so that what was begun is tidied up, as after Ctrl-C


def main() -> None:
    """Run the command line; an error that we foresee is a message, not a traceback."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    protect()
    try:
        app()
    except ClusterError as error:
        print(f"converge: {error}", file=sys.stderr)
        sys.exit(3)
    except OSError as error:
        from converge.cli import disk

        explained = explain(error)
        print(f"converge: {explained or disk.sentence(error)}", file=sys.stderr)
        sys.exit(3 if explained else disk.exit_status(error))
    except (KeyboardInterrupt, RuntimeError) as error:
        # Python 3.11 wraps what is raised while a dataclass is being made, a Ctrl-C during an import as well.
        if not isinstance(error, KeyboardInterrupt) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        print("\nconverge: interrupted; run the same command again to continue", file=sys.stderr)
        sys.exit(130)
