"""Pictures of the site and of the recorder's page, for people to look at: build/screenshots/*.png.

They fail only when there is nothing to see. What they show is judged by eye: spacing, contrast, overflow, wording.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from places import ROOT
from playwright.sync_api import BrowserContext, Page

from converge.recorder.timeline.page import page as recorder_page
from converge.site import timelines

PICTURES = ROOT / "build" / "screenshots"


def keep(page: Page, name: str, selector: str = "body") -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    picture = PICTURES / f"{name}.png"
    page.locator(selector).first.screenshot(path=picture)
    assert picture.stat().st_size > 5_000, "an empty picture"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_front_page_lesson_and_figure(
    url: str, context: Callable[..., BrowserContext], scheme: str, width: int
) -> None:
    page = context(color_scheme=scheme, reduced_motion="reduce", viewport={"width": width, "height": 900}).new_page()
    page.goto(url, wait_until="networkidle")
    keep(page, f"front-{scheme}-{width}")
    page.goto(url + "reference/figures/", wait_until="networkidle")
    page.get_by_role("button", name="It fails").click(click_count=5)
    keep(page, f"figure-{scheme}-{width}", '[data-figure="backoff"]')
    lessons = sorted((ROOT / "docs" / "lessons").glob("0[1-9]*.md"))
    if lessons:
        page.goto(f"{url}lessons/{lessons[0].stem}/", wait_until="networkidle")
        keep(page, f"lesson-{scheme}-{width}")


@pytest.mark.cluster
@pytest.mark.slow
def test_the_recorders_page(context: Callable[..., BrowserContext], attempts: list[str], tmp_path: Path) -> None:
    """One file that needs nothing else: it is opened from the disk, with the network cut."""
    recording = timelines.load(ROOT)[0].run_check()
    file = tmp_path / "recording.html"
    file.write_text(recorder_page(recording))
    for scheme in ("light", "dark"):
        page = context(color_scheme=scheme).new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error, said=problems: said.append(str(error)))
        page.goto(file.as_uri())
        keep(page, f"recorder-{scheme}")
        assert problems == []
    assert attempts == []
