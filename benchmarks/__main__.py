"""``python -m benchmarks [NAME …]``: run all benchmarks, or those named, and write down what they found.

``results.json`` is a list of ``{name, value, unit, bar, met, command}``; ``RESULTS.md`` is the same for readers. Rows
of benchmarks that were not run now are kept, so one can be measured again by itself.
"""

import argparse
import importlib
import json
import os
import pkgutil
import platform
import time
from dataclasses import asdict
from pathlib import Path

import benchmarks
from benchmarks.rows import Row, say, table

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
TABLE = HERE / "RESULTS.md"


def names() -> list[str]:
    """The modules of this package that are benchmarks."""
    found = [module.name for module in pkgutil.iter_modules(benchmarks.__path__) if not module.ispkg]
    return [name for name in found if "__" not in name and hasattr(_module(name), "run")]


def _module(name: str):
    return importlib.import_module(f"benchmarks.{name}")


def command_of(name: str) -> str:
    """What to type to run one benchmark."""
    return f"python -m benchmarks.{name}"


def read() -> list[Row]:
    """The rows written down before."""
    return [Row(**row) for row in json.loads(RESULTS.read_text())] if RESULTS.exists() else []


def write(rows: list[Row]) -> None:
    """Write both files."""
    RESULTS.write_text(json.dumps([asdict(row) for row in rows], indent=1, ensure_ascii=False) + "\n")
    parts = [
        "# What was measured",
        f"`make bench` on {platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, {time.strftime('%Y-%m-%d')}, load average {os.getloadavg()[0]:.0f}. "
        "Everything that is compared ran on the same machine in the same run.",
    ]
    for command in dict.fromkeys(row.command for row in rows):
        own = [row for row in rows if row.command == command]
        about = (importlib.import_module(command.split()[-1]).__doc__ or "").strip()
        parts += [f"## `{command}`", about, table(own)]
    TABLE.write_text("\n\n".join(parts) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run benchmarks and keep their results.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(names())}; all when none is named")
    chosen = parser.parse_args().names or names()
    for name in chosen:
        started, load = time.monotonic(), os.getloadavg()[0]
        say(f"== {name} (load {load:.1f})")
        fresh = _module(name).run()
        rows = [row for row in read() if row.command != command_of(name)] + fresh
        order = [command_of(one) for one in names()]
        write(sorted(rows, key=lambda row: order.index(row.command) if row.command in order else len(order)))
        say(f"{table(fresh)}\n   {time.monotonic() - started:.0f} s\n")


if __name__ == "__main__":
    main()
