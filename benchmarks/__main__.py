"""``python -m benchmarks [NAME …]``: run all benchmarks, or those named, and write down what they found.

``results.json`` is a list of ``{name, value, unit, bar, met, command}``; ``RESULTS.md`` is the same for readers. Rows
of benchmarks that were not run now are kept, so one can be measured again by itself. One that has ``PARTS`` can be run
in parts: ``scale:10000`` keeps the rows of its other parts.
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


def parts(name: str) -> list[str]:
    """A benchmark as it is run, in parts if it has any: what was measured before an interruption is kept."""
    if ":" in name:
        return [name]
    return [f"{name}:{part}" for part in getattr(_module(name), "PARTS", ())] or [name]


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
    for one in [part for name in chosen for part in parts(name)]:
        name, _, part = one.partition(":")
        started, load = time.monotonic(), os.getloadavg()[0]
        say(f"== {one} (load {load:.1f})")
        kept = read()
        if part:
            fresh = _module(name).run(part)
            renewed = {row.name for row in fresh}
            kept = [row for row in kept if row.name not in renewed]
        else:
            fresh = _module(name).run()
            kept = [row for row in kept if row.command != command_of(name)]
        order = [command_of(each) for each in names()]
        rows = kept + fresh
        write(sorted(rows, key=lambda row: order.index(row.command) if row.command in order else len(order)))
        say(f"{table(fresh)}\n   {time.monotonic() - started:.0f} s\n")


if __name__ == "__main__":
    main()
