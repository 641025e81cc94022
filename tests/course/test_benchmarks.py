"""The frame of the benchmarks: each is found, returns rows, and what was written down has the promised shape."""

import importlib
import json

import pytest

from benchmarks import __main__ as frame
from benchmarks.rows import Row, at_least, at_most, figure, less_than, table

FIELDS = ["name", "value", "unit", "bar", "met", "command"]


def test_the_benchmarks_of_the_course_are_found() -> None:
    assert {"cluster", "throughput", "latency", "at_rest"} <= set(frame.names())


@pytest.mark.parametrize("name", frame.names())
def test_a_benchmark_says_what_it_measures(name: str) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    assert module.__doc__  # the table's introduction
    assert callable(module.run)


def test_a_bar_is_met_or_missed_by_the_exact_value() -> None:
    assert at_least(2, "speed", 2.0, "×", "x").met is True
    assert at_least(2, "speed", 1.99999, "×", "x").met is False  # shown as 2, and still missed
    assert at_most(6, "time", 6.0, "s", "x").met is True
    assert less_than(1, "requests", 1.0, "×", "x").met is False
    assert figure("time", 1.0, "s", "x").met is None


def test_results_are_written_and_read_back(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(frame, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(frame, "TABLE", tmp_path / "RESULTS.md")
    rows = [at_most(6, "converge up", 5.4321, "s", "python -m benchmarks.cluster")]
    frame.write(rows)
    assert frame.read() == rows
    assert list(json.loads(frame.RESULTS.read_text())[0]) == FIELDS
    assert table(rows) in frame.TABLE.read_text()


def test_kept_results_have_the_promised_shape() -> None:
    for row in frame.read():
        assert isinstance(row, Row)
        assert (row.bar is None) == (row.met is None)
        assert row.command.startswith("python -m benchmarks.")
