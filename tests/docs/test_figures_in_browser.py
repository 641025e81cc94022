"""Each moving figure, operated as a reader would. What its logic promises is tested by node; here it is seen."""

import tomllib
from collections.abc import Callable

import pytest
from places import ROOT
from playwright.sync_api import BrowserContext, Locator, Page, expect

FIGURES = tomllib.loads((ROOT / "docs/assets/figures/figures.toml").read_text())
PAGE = "reference/figures/"  # all of them on one page


class Figure:
    """A figure by its name: press its buttons, choose in its lists, read what it says and shows."""

    def __init__(self, page: Page, name: str) -> None:
        self.frame = page.locator(f'figure[data-figure="{name}"][data-ready]')
        self.frame.wait_for()

    def press(self, *names: str) -> "Figure":
        for name in names:
            self.button(name).click()
        return self

    def choose(self, label: str, option: str) -> "Figure":
        self.frame.get_by_label(label, exact=True).select_option(label=option)
        return self

    def button(self, name: str) -> Locator:
        return self.frame.get_by_role("button", name=name, exact=True)

    def says(self, words: str) -> "Figure":
        expect(self.frame.get_by_role("status")).to_contain_text(words)
        return self

    def shows(self, *words: str) -> "Figure":
        for word in words:
            expect(self.frame.locator("svg text", has_text=word).first).to_be_attached()
        return self

    def hides(self, word: str) -> "Figure":
        expect(self.frame.locator("svg text", has_text=word)).to_have_count(0)
        return self


@pytest.fixture
def figure(url: str, page: Page) -> Callable[[str], Figure]:
    page.goto(url + PAGE)
    return lambda name: Figure(page, name)


def test_level_against_edge(figure: Callable[[str], Figure]) -> None:
    levels = figure("levels").press("One more").says("Both have what is wanted").shows("4 ✓")
    levels.choose("The event", "is lost").press("One more").says("Neither has heard")
    levels.press("Resync").says("level has the wanted 5; edge has 4").shows("5 ✓", "4 ✗", "lost")
    levels.choose("The event", "arrives twice").press("One more").shows("6 ✓", "twice")


def test_the_work_queue(figure: Callable[[str], Figure]) -> None:
    queue = figure("workqueue").press("add web").says("web is dirty and waits")
    queue.press("add web").says("changes nothing")
    queue.press("get() 1").says("Worker 1 holds web")
    queue.press("add web").says("must not wait yet")
    queue.press("get() 2").says("Nothing waits")
    queue.press("done() 1").says("No change is lost")
    queue.press("get() 2").says("Worker 2 holds web")


def test_backoff(figure: Callable[[str], Figure]) -> None:
    backoff = figure("backoff").press(*["It fails"] * 6).says("30 s, the cap").shows("6 tries", "would have been 61")
    backoff.press("It succeeds").says("forget()").press("It fails").says("Failure 1 in a row: try again in 1 s")
    backoff.choose("Cap", "8 s").shows("cap: 8 s", "0 tries")


def test_crash_after_a_write(figure: Callable[[str], Figure]) -> None:
    crash = figure("crash").press("Step", "Step").says("Write 1 is stored, and the process dies").shows("process gone")
    crash.press("Restart", "Step", "Step").says("It is there already").press("Step", "Step").says("as wanted")
    crash.choose("It", "makes a name each time").press("Play to the end", "Play to the end").says("2 Deployments")
    crash.choose("It", "notes it done first").press("Play to the end", "Play to the end").says("something is missing")


def test_owner_references(figure: Callable[[str], Figure]) -> None:
    owners = figure("owners").press("Delete it").says("gone at once").hides("WebApp web")
    owners.press(*["Collector: one step"] * 6).says("Nothing is left").hides("Pod")
    owners.press("Start again").choose("in the", "foreground").press("Delete it").says("deletion timestamp")
    owners.shows("WebApp web", "deleting")
    owners.press("Start again", "Unlink the Service").choose("in the", "background").press("Delete it")
    owners.press(*["Collector: one step"] * 5).says("Service web has no owner: nobody will collect it")


def test_optimistic_concurrency(figure: Callable[[str], Figure]) -> None:
    conflict = figure("conflict").press("A reads", "B reads", "A writes +1", "B writes +1").says("409 Conflict")
    conflict.shows("409", "stale", "0 lost").press("B reads", "B writes +1").says("the count is 2")
    conflict.choose("Writes go", "without a version").press("A reads", "B reads", "A writes +1", "B writes +1")
    conflict.says("1 of 2 additions is lost").shows("1 lost")


def test_a_figure_is_worked_by_keyboard_and_keeps_its_focus(figure: Callable[[str], Figure], page: Page) -> None:
    crash = figure("crash")
    crash.button("Step").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Space")  # this step dies, and the button loses its use
    expect(crash.button("Step")).to_have_attribute("aria-disabled", "true")
    expect(crash.button("Step")).to_be_focused()
    page.keyboard.press("Enter")
    crash.says("Write 1 is stored, and the process dies")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    crash.says("Run 2 begins")


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_things_move_only_for_those_who_want_motion(
    url: str, context: Callable[..., BrowserContext], motion: str
) -> None:
    page = context(reduced_motion=motion).new_page()
    page.goto(url + PAGE)
    queue = Figure(page, "workqueue").press("add web")
    moving = queue.frame.locator("svg g").first.evaluate("node => getComputedStyle(node).transitionDuration")
    assert moving.startswith("0s") == (motion == "reduce")


@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_jumps_when_figures_start_or_are_used(
    url: str, context: Callable[..., BrowserContext], width: int
) -> None:
    def heights(page: Page) -> list[float]:
        return page.locator("figure.moving").evaluate_all("all => all.map(one => one.getBoundingClientRect().height)")

    view = {"width": width, "height": 800}
    still = context(viewport=view, java_script_enabled=False).new_page()
    still.goto(url + PAGE)
    page = context(viewport=view, reduced_motion="reduce").new_page()
    page.goto(url + PAGE)
    for name in FIGURES:
        Figure(page, name)
    assert heights(page) == heights(still)
    for button in page.locator(".moving-button").all():
        button.click()
    assert heights(page) == heights(still)
    cut = page.locator(".moving-stage").evaluate_all(
        "all => all.filter(one => one.scrollHeight > one.clientHeight + 1)"
    )
    assert not cut, "what a figure holds does not fit its stage"
    smallest = page.locator(".moving-stage svg").evaluate_all(
        "all => Math.min(...all.map(one => one.getBoundingClientRect().height))"
    )
    assert smallest >= 120, "the controls leave the picture no room"


@pytest.mark.parametrize("name", FIGURES)
def test_without_scripts_a_figure_is_words(url: str, context: Callable[..., BrowserContext], name: str) -> None:
    page = context(java_script_enabled=False).new_page()
    page.goto(url + PAGE)
    assert " ".join(FIGURES[name]["words"].split()[:6]) in page.locator(f'[data-figure="{name}"] noscript').inner_text()
