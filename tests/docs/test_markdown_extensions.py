"""The site's own Markdown: quizzes and embeds, and what they say when something is missing."""

import json
import logging
import re
from pathlib import Path

import markdown
import pytest
from places import ROOT

from converge.site import scale

QUIZ = """
/// quiz
How many `keys`?

- [ ] Three.

    A queue of *events* would.

- [x] One.

    Names collapse.
///
"""


def render(text: str) -> str:
    extensions = ["tables", "converge.site.quiz", "converge.site.embed"]
    return markdown.markdown(
        text, extensions=extensions, extension_configs={"converge.site.embed": {"root": str(ROOT)}}
    )


def test_a_quiz_is_a_question_and_disclosures() -> None:
    html = render(QUIZ)
    assert html.count("<details") == 2
    assert html.count('data-right="yes"') == 1
    assert "<summary>One.</summary>" in html
    assert "<p>How many <code>keys</code>?</p>" in html
    assert "<p>A queue of <em>events</em> would.</p>" in html


def test_a_reworded_question_is_another_question() -> None:
    def name(html: str) -> str:
        return html.partition('id="quiz-')[2][:8]

    assert name(render(QUIZ)) == name(render(QUIZ.replace("Three", "Four")))
    assert name(render(QUIZ)) != name(render(QUIZ.replace("How many", "Which")))


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (QUIZ.replace("[x]", "[ ]"), "mark exactly one"),
        (QUIZ.replace("[ ]", "[x]"), "mark exactly one"),
        (QUIZ.replace("    Names collapse.", ""), "has no explanation"),
        (QUIZ.replace("[ ] Three", "Three"), "every answer starts with"),
        (QUIZ.replace("How many `keys`?", ""), "write a question"),
        ("::figure nowhere", "no such figure"),
        ("::timeline 99_nowhere.crash", "is not there"),
        ("::crd nowhere", "nowhere.yaml"),
        ("::nothing", "is not known"),
    ],
)
def test_what_is_wrong_is_a_warning_and_can_be_seen(
    wrong: str, complaint: str, caplog: pytest.LogCaptureFixture
) -> None:
    html = render(wrong)
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert complaint in caplog.text
    assert 'class="admonition failure"' in html
    assert caplog.records[0].name.startswith("mkdocs."), "strict mode counts only these"


def test_a_figure_has_its_words_without_scripts() -> None:
    html = render("::figure workqueue")
    assert 'data-figure="workqueue"' in html
    assert "<noscript>" in html
    assert "The same in words" in html


def test_a_crd_is_a_table_of_its_fields() -> None:
    html = render("::crd webapp")
    assert "<td><code>spec.image</code></td>" in html
    assert "Required." in html
    assert "default <code>8080</code>" in html
    assert "<code>status.conditions[].type</code>" in html


def test_commands_and_lessons_come_from_the_course() -> None:
    assert "converge up" in render("::commands")
    assert "The work queue" in render("::lessons")
    assert "Letting go" in render("::ideas")


def test_the_scale_is_drawn_from_what_was_measured(tmp_path: Path) -> None:
    rows = [
        {"name": f"{count:,} WebApps, {measure}, {who}", "value": count * factor}
        for measure in ("time", "memory", "requests")
        for factor, who in enumerate(("ours", "theirs"), start=1)
        for count in (100, 1000, 10000)
    ]
    (tmp_path / "benchmarks").mkdir()
    results = tmp_path / "benchmarks" / "results.json"
    results.write_text(json.dumps([*rows, {"name": "converge down", "value": 1}]))
    plot = scale.render(tmp_path, "plot")
    lines = re.findall(r'<path class="line" d="M(\S+) (\S+) L(\S+) (\S+) L(\S+) (\S+)"', plot)
    assert len(lines) == 6, "three measures of two operators"
    (*_, x, low), (*_, also_x, high) = lines[:2]
    assert x == also_x
    assert float(high) < float(low), "the greater number is further up"
    assert "| 10,000 | theirs | 20,000.0 s | 20,000 MB | 20,000 |" in scale.render(tmp_path, "table")
    results.write_text("[]")
    with pytest.raises(ValueError, match="python -m benchmarks scale"):
        scale.render(tmp_path, "plot")


def test_a_line_in_a_code_block_is_left_alone() -> None:
    assert render("    ::figure workqueue") == "<pre><code>::figure workqueue\n</code></pre>"


def test_a_drawing_is_set_into_the_page_with_the_pages_colours(tmp_path: Path) -> None:
    rules = ".box { fill: red } @media (prefers-color-scheme: dark) { .box { fill: blue } }"
    drawing = f"<?xml version='1.0'?>\n<svg><style>{rules}</style><path class='box'/></svg>"
    (tmp_path / "loop.svg").write_text(drawing)
    settings = {"converge.site.drawings": {"docs": str(tmp_path)}}
    html = markdown.markdown("![The loop](../loop.svg)", extensions=[*settings], extension_configs=settings)
    assert html.startswith('<div class="drawing drawing-loop"')
    assert '<svg role="img" aria-label="The loop">' in html
    assert (
        '<style>.drawing-loop { .box { fill: red } [data-md-color-scheme="slate"] & { .box { fill: blue } } }' in html
    )
    assert "<img" not in html


def test_a_picture_in_a_sentence_and_a_photograph_stay_as_they_are() -> None:
    assert "<img" in render("See ![x](01_loop.svg) there.")
    assert "<img" in render("![x](plot.png)")
