"""The site built once, served on loopback, and readers who reach nothing else."""

import functools
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from places import DESK, ROOT
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

PATIENCE = 45_000  # milliseconds until what should be seen counts as missing; a loaded machine is slow
expect.set_options(timeout=PATIENCE)


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

    made = browser.new_context(**{"viewport": DESK, **options})
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


NOTHING_TO_FIND = json.dumps(
    {"config": {"lang": ["en"], "separator": r"\s+", "pipeline": [], "fields": {"title": {}, "text": {}}}, "docs": []}
)


@pytest.fixture(scope="session")
def readers(browser: Browser) -> dict[str, Page]:
    """A reader in light and one in dark colours, who go through all pages in one tab: a new one costs a second.

    They never search, so they get an empty index: each page would spend more time on the whole one than on itself.
    """

    def reader(scheme: str) -> Page:
        context = cut_off(browser, color_scheme=scheme, reduced_motion="reduce")
        context.route("**/search/search_index.json", lambda route: route.fulfill(body=NOTHING_TO_FIND))
        return context.new_page()

    return {scheme: reader(scheme) for scheme in ("light", "dark")}


@pytest.fixture
def page(context: Callable[..., BrowserContext]) -> Page:
    """A page of a reader at a desk, in light colours, who wants no motion."""
    return context(color_scheme="light", reduced_motion="reduce").new_page()
