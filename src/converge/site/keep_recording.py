"""A pytest plugin that keeps what the recorder saw during a check: ``-p converge.site.keep_recording``.

The run of a check is the most honest picture of an operator that there is; this only saves it, passed or failed.
"""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--keep-recording", type=Path, required=True, help="the file that gets the recording")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Function) -> Generator[None]:
    before: Any = item.funcargs.get("operator")
    if before:
        before.environment["POLL_SECONDS"] = "0.5"  # the pace that the page speaks of
    try:
        yield
    finally:
        operator: Any = item.funcargs.get("operator")
        recorder: Any = item.funcargs.get("recorder")
        if operator or recorder:
            recording = operator.recorded() if operator else recorder.recording
            recording.since(recording.focus).save(item.config.getoption("--keep-recording"))
