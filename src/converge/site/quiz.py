"""The quiz block of the lessons.

    /// quiz
    What is in the queue after three adds of one key?

    - [ ] Three entries.

        A queue of events would hold three. This one holds names.

    - [x] One entry.

        Adding a key that waits already changes nothing.
    ///

Every answer becomes a disclosure that opens to its explanation, so the page is readable and usable without
JavaScript. Remembering what the reader chose is the business of ``docs/assets/quiz.mjs``.
"""

import hashlib
import re
from typing import Any
from xml.etree import ElementTree

from markdown import Markdown
from pymdownx.blocks import BlocksExtension
from pymdownx.blocks.block import Block

from converge.site.warnings import warn_in_page

ANSWER = re.compile(r"^\[(?P<mark>[ x])\]\s+(?P<text>.+)$", re.DOTALL)


class QuizError(ValueError):
    """A quiz that cannot be asked."""


class Quiz(Block):  # type: ignore[misc]
    """One question, two or more answers, each with its explanation; exactly one is right."""

    NAME = "quiz"

    def on_create(self, parent: ElementTree.Element) -> ElementTree.Element:
        return ElementTree.SubElement(parent, "div", {"class": "quiz", "role": "group"})

    def on_end(self, block: ElementTree.Element) -> None:
        try:
            self._arrange(block)
        except QuizError as error:
            block.clear()
            block.text = self.md.htmlStash.store(warn_in_page(str(error)))

    def _arrange(self, block: ElementTree.Element) -> None:
        *question, answers = list(block) or [ElementTree.Element("p")]
        asked = " ".join("".join(part.itertext()) for part in question).strip()
        if answers.tag != "ul" or not asked:
            raise QuizError(f"quiz {asked!r}: write a question, a blank line, then the answers as a list")
        # The name comes from the words: a question that is reworded has not been answered yet.
        name = "quiz-" + hashlib.sha256(asked.encode()).hexdigest()[:8]
        block.set("id", name)
        block.set("aria-labelledby", f"{name}-question")
        heading = ElementTree.Element("div", {"class": "quiz-question", "id": f"{name}-question"})
        for part in question:
            block.remove(part)
            heading.append(part)
        block.insert(0, heading)

        disclosures = [_disclosure(item, asked) for item in answers]
        right = sum(answer.get("data-right") == "yes" for answer in disclosures)
        if right != 1 or len(disclosures) < 2:
            raise QuizError(
                f"quiz {asked!r}: {right} of {len(disclosures)} answers are right; mark exactly one with [x]"
            )
        block.remove(answers)
        block.extend(disclosures)


def _disclosure(item: ElementTree.Element, asked: str) -> ElementTree.Element:
    paragraphs = list(item)
    match = ANSWER.match(((paragraphs[0].text if paragraphs else item.text) or "").strip())
    if not match:
        raise QuizError(f"quiz {asked!r}: every answer starts with [ ] or [x]")
    if len(paragraphs) < 2:
        raise QuizError(
            f"quiz {asked!r}: answer {match['text']!r} has no explanation (a blank line, then indented text)"
        )
    right = match["mark"] == "x"
    answer = ElementTree.Element("details", {"class": "quiz-answer", "data-right": "yes" if right else "no"})
    summary = ElementTree.SubElement(answer, "summary")
    summary.text = match["text"]
    summary.extend(list(paragraphs[0]))
    why = ElementTree.SubElement(answer, "div", {"class": "quiz-why"})
    verdict = ElementTree.SubElement(why, "p", {"class": "quiz-verdict"})
    verdict.text = "Right." if right else "Not quite."
    why.extend(paragraphs[1:])
    return answer


class QuizExtension(BlocksExtension):  # type: ignore[misc]
    """Registers the block."""

    def extendMarkdownBlocks(self, md: Markdown, block_mgr: Any) -> None:  # noqa: N802 (the library's name)
        block_mgr.register(Quiz, self.getConfigs())


def makeExtension(**kwargs: Any) -> QuizExtension:  # noqa: N802 (the name that Python-Markdown looks for)
    return QuizExtension(**kwargs)
