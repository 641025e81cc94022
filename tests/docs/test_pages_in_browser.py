"""Every page in a real browser: light and dark, desk and phone, with the network cut."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from places import DESK, ROOT
from playwright.sync_api import ConsoleMessage, Error, Page, expect

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
PHONE = {"width": 360, "height": 740}
MOST_BYTES = 500_000
SCHEMES = {"light": "default", "dark": "slate"}  # ours and the theme's word for it
# The scripts of the page have done their work: figures stand, and code that scrolls can be reached by keyboard.
READY = """
    !document.querySelector("figure.moving:not([data-ready])")
    && [...document.querySelectorAll("pre > code")].every(
        code => code.scrollWidth <= code.clientWidth || code.tabIndex >= 0)
"""

PAGES = sorted(
    path.relative_to(ROOT / "docs").with_suffix("").as_posix().removesuffix("index")
    for path in (ROOT / "docs").rglob("*.md")
)


def source(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text()


def address(url: str, name: str) -> str:
    return url + (name if not name or name.endswith("/") else f"{name}/")


def violations(page: Page, **options: object) -> list[str]:
    """What axe-core calls serious or critical, one line each with the first place."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("options => axe.run(document, {resultTypes: ['violations'], ...options})", options)
    return [
        f"{each['id']}: {each['help']} ({len(each['nodes'])}×, first: {each['nodes'][0]['html'][:120]})"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


def too_wide(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def weight(page: Page) -> int:
    """All bytes of the page and what it loaded, unpacked, without the search index."""
    return page.evaluate(
        """performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation"))
           .filter(entry => !entry.name.includes("/search/"))
           .reduce((sum, entry) => sum + entry.decodedBodySize, 0)"""
    )


@pytest.fixture
def visit(url: str, readers: dict[str, Page]) -> Iterator[Callable[[str, str], Page]]:
    """Opens a page in light or dark colours; whatever its scripts complain of fails the test."""
    said: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            said.append(message.text)

    def failed(error: Error) -> None:
        said.append(str(error))

    def open_page(name: str, scheme: str) -> Page:
        page = readers[scheme]
        page.set_viewport_size(DESK)
        page.goto(address(url, name))
        page.wait_for_function(READY)
        expect(page.locator("body")).to_have_attribute("data-md-color-scheme", SCHEMES[scheme])
        return page

    for page in readers.values():
        page.on("console", heard)
        page.on("pageerror", failed)
    yield open_page
    for page in readers.values():
        page.remove_listener("console", heard)
        page.remove_listener("pageerror", failed)
    assert not said, f"the console says: {said}"


@pytest.mark.parametrize("name", PAGES, ids=lambda name: name or "front page")
def test_a_page_can_be_read(visit: Callable[[str, str], Page], attempts: list[str], name: str) -> None:
    """Fit for desk and phone, light and dark, small, accessible, and nothing is fetched from elsewhere."""
    page = visit(name, "light")
    assert not too_wide(page), "wider than a desk's window"
    assert weight(page) <= MOST_BYTES
    assert not attempts, "the page wants something from the network"
    page.set_viewport_size(PHONE)
    assert not too_wide(page), "wider than a phone"
    page.set_viewport_size(DESK)
    if not AXE.exists():
        pytest.skip("not run: axe-core is not here; `make browser` gets it or says why not")
    assert violations(page) == []
    # In the dark, only what depends on colours: the rest is the same.
    page.evaluate("scheme => document.body.setAttribute('data-md-color-scheme', scheme)", SCHEMES["dark"])
    assert violations(page, runOnly=["color-contrast", "link-in-text-block"]) == []


def test_a_reader_who_prefers_the_dark_gets_it(visit: Callable[[str, str], Page]) -> None:
    page = visit("", "dark")
    if AXE.exists():
        assert violations(page, runOnly=["color-contrast"]) == []


def test_search_finds_finalizer(url: str, page: Page) -> None:
    page.goto(url)
    page.keyboard.press("/")
    page.get_by_role("textbox", name="Search").press_sequentially("finalizer")
    first = page.locator(".md-search-result__link").first
    first.wait_for()
    assert "finalizer" in first.inner_text().lower()


def test_the_chosen_tab_is_the_same_on_every_page(url: str, page: Page) -> None:
    lessons = [name for name in PAGES if name.startswith("lessons/0") and '=== "Go"' in source(name)]
    assert len(lessons) >= 2
    unfold = "document.querySelectorAll('details').forEach(each => each.open = true)"
    first, second = (address(url, name) for name in lessons[:2])
    page.goto(first)
    page.evaluate(unfold)
    page.locator(".tabbed-labels label", has_text="Go").first.click()
    expect(page.locator(".tabbed-block:visible .language-go").first).to_be_visible()
    page.goto(second)
    page.evaluate(unfold)
    expect(page.locator(".tabbed-block:visible .language-go").first).to_be_visible()
    page.locator(".tabbed-labels label", has_text="Python").first.click()
    page.goto(first)
    page.evaluate(unfold)
    expect(page.locator(".tabbed-block:visible .language-python").first).to_be_visible()


def test_the_colours_follow_the_toggle_and_stay(url: str, page: Page) -> None:
    page.goto(url)
    page.get_by_title("Switch to dark").click()
    page.goto(url + "setup/")
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "slate")


def test_previous_and_next_lead_through_the_pages(url: str, page: Page) -> None:
    page.goto(url)
    page.get_by_role("link", name="Next: ").click()
    assert page.url == url + "setup/"
    page.get_by_role("link", name="Previous: ").click()
    assert page.url == url


def test_a_keyboard_reaches_the_content_at_once(url: str, page: Page) -> None:
    page.goto(url + "setup/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent.trim()") == "Skip to content"
