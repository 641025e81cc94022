"""One line of Markdown that stands for something made elsewhere: ``::kind name``.

    ::figure workqueue          a moving figure, docs/assets/figures/workqueue.mjs
    ::timeline 06_idempotency.crash     a recorded run, docs/recorded/06_idempotency.crash.svg
    ::crd webapp                the fields of crds/webapp.yaml
    ::commands                  the pages of the `converge` command
    ::lessons                   the lessons of course.toml with their times
    ::ideas                     each idea with its lesson and the checks that try it
    ::scale plot                how operators grow, from benchmarks/results.json (or: table)

What each kind makes is the business of its own module. Whatever is missing is a warning, which stops a strict build,
and a red box in the page, which its author sees at once.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from markdown import Markdown
from markdown.blockprocessors import BlockProcessor
from markdown.extensions import Extension

from converge.site import commands, crds, figures, ideas, lessons, scale, timelines
from converge.site.warnings import warn_in_page

LINE = re.compile(r"^::(?P<kind>[a-z]+)(?: (?P<name>\S+))?$")

# Each takes the root of the course and the name. What starts with "<" is HTML, anything else is Markdown.
KINDS: dict[str, Callable[[Path, str], str]] = {
    "figure": figures.render,
    "timeline": timelines.render,
    "crd": crds.render,
    "commands": commands.render,
    "lessons": lessons.render,
    "ideas": ideas.render,
    "scale": scale.render,
}


class EmbedProcessor(BlockProcessor):
    """Replaces the line by what it stands for."""

    def __init__(self, md: Markdown, root: Path) -> None:
        super().__init__(md.parser)
        self.md = md
        self.root = root

    def test(self, parent: ElementTree.Element, block: str) -> bool:
        return bool(LINE.match(block.rstrip()))  # indented, it is code that shows the line

    def run(self, parent: ElementTree.Element, blocks: list[str]) -> None:
        match = LINE.match(blocks.pop(0).rstrip())
        assert match  # test() said so
        kind, name = match["kind"], match["name"] or ""
        try:
            if kind not in KINDS:
                raise ValueError(f"::{kind} is not known; the site has {', '.join(KINDS)}")
            made = KINDS[kind](self.root, name)
        except (ValueError, OSError) as error:
            made = warn_in_page(str(error))
        if made.startswith("<"):
            ElementTree.SubElement(parent, "p").text = self.md.htmlStash.store(made)
        else:
            self.parser.parseBlocks(parent, re.split(r"\n{2,}", made.strip()))


class EmbedExtension(Extension):
    """Registers the line; ``root`` is the folder of course.toml."""

    def __init__(self, **kwargs: Any) -> None:
        self.config = {"root": [".", "the folder of course.toml"]}
        super().__init__(**kwargs)

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (the library's name)
        processor = EmbedProcessor(md, Path(self.getConfig("root")).resolve())
        md.parser.blockprocessors.register(processor, "converge-embed", 175)


def makeExtension(**kwargs: Any) -> EmbedExtension:  # noqa: N802 (the name that Python-Markdown looks for)
    return EmbedExtension(**kwargs)
