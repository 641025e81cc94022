"""``python -m converge.runtime run FILE``: run an operator.

The file has a function ``setup(manager)`` that adds controllers to the manager. What goes wrong before the
operator runs is reported in one line, with exit code 2 if the file or the command line is to blame, else 1.
"""

import argparse
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from converge.files import load_module
from converge.runtime import logs
from converge.runtime.api.client import Client
from converge.runtime.api.errors import RuntimeProblem
from converge.runtime.manager import Manager


class BadFile(Exception):  # noqa: N818 (it is not the program's error)
    """The operator's file cannot be used."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    if options.leader_elect == "":
        options.leader_elect = options.file.stem.replace("_", "-").lower()
    logs.configure(options.log_format, options.log_level.upper())
    try:
        setup = load_setup(options.file)
        manager = Manager(
            Client(options.kubeconfig, options.context, options.namespace),
            namespace=options.namespace,
            leader_election=options.leader_elect,
            port=options.port,
            host=options.host,
        )
        _call_setup(setup, manager, options.file)
        manager.run()
    except BadFile as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    except RuntimeProblem as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def load_setup(file: Path) -> Callable[[Manager], object]:
    """Import an operator's file and return its ``setup``."""
    if not file.is_file():
        raise BadFile(f"there is no file {file}")
    # A file may be called operator.py or queue.py, and must not stand in for the module of that name.
    taken = file.stem in sys.stdlib_module_names or file.stem in sys.modules
    name = f"{file.stem}_file" if taken else file.stem
    # What lies beside the file can be imported; last, for the same reason.
    sys.path.append(str(file.resolve().parent))
    try:
        module = load_module(str(file), name)
    except SyntaxError as error:
        raise BadFile(f"{error.filename}, line {error.lineno}: {error.msg}: {(error.text or '').strip()}") from None
    except Exception as error:
        raise BadFile(f"{file} cannot be imported:\n{_from_file(error, file)}") from None
    setup = getattr(module, "setup", None)
    if not callable(setup):
        raise BadFile(f"{file} has no function setup(manager), which says what to run")
    return setup  # type: ignore[no-any-return]


def _call_setup(setup: Callable[[Manager], object], manager: Manager, file: Path) -> None:
    try:
        setup(manager)
    except RuntimeProblem:
        raise
    except Exception as error:
        raise BadFile(f"setup(manager) of {file} failed:\n{_from_file(error, file)}") from None


def _from_file(error: Exception, file: Path) -> str:
    """The traceback without what lies before the operator's own file."""
    tb = error.__traceback__
    while tb is not None and Path(tb.tb_frame.f_code.co_filename).name != file.name:
        tb = tb.tb_next
    return "".join(traceback.format_exception(type(error), error, tb)).rstrip()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m converge.runtime", description="Run Kubernetes operators.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run the operator of a Python file with a function setup(manager)")
    run.add_argument("file", type=Path, metavar="FILE")
    run.add_argument("-n", "--namespace", help="act in this namespace only; by default in all")
    run.add_argument("--kubeconfig", type=Path, help="by default $KUBECONFIG, the Pod's account, ~/.kube/config")
    run.add_argument("--context", help="a context of the kubeconfig other than its current one")
    run.add_argument(
        "--leader-elect",
        metavar="LEASE",
        nargs="?",
        const="",
        help="of several replicas let one act, the one that holds this lease (by default named after FILE)",
    )
    run.add_argument("--port", type=int, help="serve /healthz, /readyz and /metrics here")
    run.add_argument("--host", default="127.0.0.1", help="the address to serve them on; 0.0.0.0 in a Pod")
    run.add_argument("--log-format", choices=("text", "json"), default="text")
    run.add_argument("--log-level", choices=("debug", "info", "warning", "error"), default="info")
    return parser


if __name__ == "__main__":
    sys.exit(main())
