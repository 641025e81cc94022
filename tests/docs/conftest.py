"""The site built once, served on loopback, and a Chromium that reaches nothing else."""

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from places import ROOT
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect, sync_playwright

# One group: one worker of `pytest -n` builds the site and starts the browser, for all tests that want them.
GROUP = "site"
PATIENCE = 45_000  # milliseconds until what should be seen counts as missing; a loaded machine is slow
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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "site" in fixtures:
            item.add_marker(pytest.mark.xdist_group(GROUP))
        if "browser" in fixtures:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make site` builds it; any warning is a failure here."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(target)]
    built = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return target


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing: the browser's own view of a failed request is asserted on."""


@pytest.fixture(scope="session")
def url(site: Path) -> Iterator[str]:
    """Where the site is served, with a slash at the end."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def find_chromium() -> str | None:
    names = (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        pytest.skip("not run: there is no Chromium here; `make browser` gets it or says why not")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=program, args=QUIET)


ELSEWHERE: list[str] = []  # addresses beyond this machine that a page asked for; each was refused


@pytest.fixture
def attempts() -> list[str]:
    """What this test's pages ask of the network beyond this machine."""
    ELSEWHERE.clear()
    return ELSEWHERE


def cut_off(browser: Browser, **options: object) -> BrowserContext:
    """A browser context that reaches nothing but this machine."""

    def guard(route: Route) -> None:
        if route.request.url.startswith(("http://127.0.0.1:", "file:")):
            route.continue_()
        else:
            ELSEWHERE.append(route.request.url)
            route.abort()

    made = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    made.route("**/*", guard)
    made.set_default_timeout(PATIENCE)
    return made


@pytest.fixture
def context(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Makes contexts for this test alone: nothing is remembered from another."""
    made: list[BrowserContext] = []

    def new(**options: object) -> BrowserContext:
        made.append(cut_off(browser, **options))
        return made[-1]

    yield new
    for each in made:
        each.close()


@pytest.fixture(scope="session")
def reader(browser: Browser) -> dict[str, BrowserContext]:
    """A reader in light and one in dark colours who go through all pages, and whose caches stay warm."""
    return {scheme: cut_off(browser, color_scheme=scheme, reduced_motion="reduce") for scheme in ("light", "dark")}


@pytest.fixture
def page(context: Callable[..., BrowserContext]) -> Page:
    """A page of a reader at a desk, in light colours, who wants no motion."""
    return context(color_scheme="light", reduced_motion="reduce").new_page()
