"""What a benchmark returns: rows of figures, some with a bar; and how they are shown and kept.

A benchmark is a module of this package with a function ``run() -> list[Row]``. That is all: ``python -m benchmarks``
finds it. ``python -m benchmarks.NAME`` runs it alone and only prints.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One figure. ``bar`` is None when it is only there to be compared with, and ``met`` with it."""

    name: str
    value: float
    unit: str
    bar: str | None
    met: bool | None
    command: str


def figure(name: str, value: float, unit: str, command: str) -> Row:
    """A figure without a bar."""
    return Row(name, _round(value), unit, None, None, command)


def at_least(bar: float, name: str, value: float, unit: str, command: str) -> Row:
    return Row(name, _round(value), unit, f"≥ {bar:g}", value >= bar, command)


def at_most(bar: float, name: str, value: float, unit: str, command: str) -> Row:
    return Row(name, _round(value), unit, f"≤ {bar:g}", value <= bar, command)


def less_than(bar: float, name: str, value: float, unit: str, command: str) -> Row:
    return Row(name, _round(value), unit, f"< {bar:g}", value < bar, command)


def _round(value: float) -> float:
    """Four digits are more than a measurement is worth."""
    return float(f"{value:.4g}")


def table(rows: Iterable[Row]) -> str:
    """The rows as Markdown."""
    lines = ["| what | value | bar | met |", "|---|---:|---:|:---:|"]
    for row in rows:
        met = {True: "yes", False: "**no**", None: ""}[row.met]
        lines.append(f"| {row.name} | {row.value:g} {row.unit} | {row.bar or ''} | {met} |")
    return "\n".join(lines)


def say(line: str) -> None:
    """Progress, for those who wait."""
    print(line, file=sys.stderr, flush=True)


def main(run: Callable[[], list[Row]]) -> None:
    """The main program of a benchmark that is run alone."""
    print(table(run()))
