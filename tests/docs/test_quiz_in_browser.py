"""A quiz answered wrong, answered right, remembered and forgotten."""

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

PAGE = "instructors/writing/"  # has the example quiz
WRONG, RIGHT = "Another free worker gets it at once.", "It becomes dirty and waits again after done()."


def test_answers_are_explained_and_the_last_is_remembered(url: str, page: Page) -> None:
    page.goto(url + PAGE)
    quiz = page.locator(".quiz").first
    quiz.get_by_text(WRONG).click()
    expect(quiz.get_by_text("Not quite.").first).to_be_visible()
    expect(quiz.get_by_text("two workers would write the same object")).to_be_visible()
    expect(quiz).to_have_attribute("data-state", "wrong")

    page.reload()
    quiz = page.locator(".quiz").first
    expect(quiz).to_have_attribute("data-state", "wrong")
    expect(quiz.get_by_text("two workers would write the same object")).to_be_visible()

    quiz.get_by_text(RIGHT).focus()
    quiz.locator("summary", has_text="It becomes dirty").press("Enter")
    expect(quiz.get_by_text("Right.")).to_be_visible()
    expect(quiz).to_have_attribute("data-state", "right")

    page.reload()
    expect(page.locator(".quiz").first).to_have_attribute("data-state", "right")
    page.get_by_role("button", name="Forget my answers").click()
    page.reload()
    expect(page.locator(".quiz").first).not_to_have_attribute("data-state", "right")


def test_without_scripts_an_answer_opens_to_its_explanation(url: str, context: Callable[..., BrowserContext]) -> None:
    page = context(java_script_enabled=False).new_page()
    page.goto(url + PAGE)
    page.locator(".quiz summary", has_text=WRONG).click()
    expect(page.get_by_text("two workers would write the same object").last).to_be_visible()


def test_the_list_of_lessons_shows_what_was_answered_right(url: str, page: Page) -> None:
    page.goto(url + "lessons/")
    cells = page.locator("[data-lesson][data-questions]")
    if not cells.count():
        return  # no lesson has a page yet
    lesson, questions = cells.first.get_attribute("data-lesson"), int(cells.first.get_attribute("data-questions"))
    page.goto(url + f"lessons/{lesson}/")
    for quiz in page.locator(".quiz").all():
        quiz.locator('[data-right="yes"] summary').click()
        expect(quiz).to_have_attribute("data-state", "right")
    page.goto(url + "lessons/")
    expect(page.locator(f'[data-lesson="{lesson}"]')).to_have_text(f"✓ {questions} of {questions}")
