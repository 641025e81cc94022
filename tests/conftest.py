"""One Chromium for all tests that want one, whether they look at the site or at the recorder's page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# One group: one worker of `pytest -n` builds the site and starts the browser, for all tests that want them.
GROUP = "site"
WANT_IT = {"site", "browser"}
QUIET = [
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--no-first-run",
    # The browser's own errands, so that what is asked of the network is asked by a page.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
    "--disable-sync",
]


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = WANT_IT.intersection(getattr(item, "fixturenames", ()))
        if fixtures:
            item.add_marker(pytest.mark.xdist_group(GROUP))
        if "browser" in fixtures:
            item.add_marker(pytest.mark.browser)


def find_chromium() -> str | None:
    names = (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright  # a learner's pytest has none, and loads this file, too

    program = find_chromium()
    if program is None:
        pytest.skip("not run: there is no Chromium here; `make browser` gets it or says why not")
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=program, args=QUIET)
        yield made
        made.close()
