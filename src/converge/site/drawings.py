"""SVG drawings become part of the page: ``![words](05_controller.svg)`` is not linked but set in.

An SVG in an ``<img>`` knows neither the page's text colour nor the reader's choice of light or dark. In the page it
has both: ``currentColor`` is the colour of the text, and rules for ``prefers-color-scheme: dark`` follow the site's own
switch. Its style rules are kept to itself.
"""

import re
from functools import partial
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

from converge.site.warnings import warn_in_page

STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
DARK = re.compile(r"@media\s*\(prefers-color-scheme:\s*dark\)")
DARK_PAGE = '[data-md-color-scheme="slate"] &'


def inline(path: Path, words: str) -> str:
    """The HTML for a drawing."""
    name = f"drawing-{path.stem}"
    svg = path.read_text()
    svg = svg[svg.index("<svg") :].strip()  # no XML declaration inside a page
    svg = STYLE.sub(partial(_scoped, name), svg)
    if "role=" not in svg.partition(">")[0]:
        svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(words)}"', 1)
    return f'<div class="drawing {name}" role="region" tabindex="0" aria-label="{escape(words)}">{svg}</div>'


def _scoped(name: str, style: re.Match[str]) -> str:
    return f"<style>.{name} {{ {DARK.sub(DARK_PAGE, style[1])} }}</style>"


class Drawings(Treeprocessor):
    """Replaces a paragraph that is nothing but an SVG picture."""

    def __init__(self, md: Markdown, docs: Path) -> None:
        super().__init__(md)
        self.docs = docs

    def run(self, root: ElementTree.Element) -> None:
        for paragraph in root.iter("p"):
            picture = paragraph[0] if len(paragraph) == 1 and not (paragraph.text or "").strip() else None
            if picture is None or picture.tag != "img" or not picture.get("src", "").endswith(".svg"):
                continue
            # A page does not tell its extensions where it is; names of drawings are unique, being those of lessons.
            found = list(self.docs.rglob(Path(picture.get("src", "")).name))
            words = picture.get("alt", "")
            made = (
                inline(found[0], words)
                if len(found) == 1
                else warn_in_page(f"{picture.get('src')}: {len(found)} such files")
            )
            paragraph.remove(picture)
            paragraph.text = self.md.htmlStash.store(made)


class DrawingsExtension(Extension):
    """Registers it, after the links and pictures of a page are known."""

    def __init__(self, **kwargs: Any) -> None:
        self.config = {"docs": ["docs", "the folder of the pages"]}
        super().__init__(**kwargs)

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (the library's name)
        md.treeprocessors.register(Drawings(md, Path(self.getConfig("docs"))), "converge-drawings", 15)


def makeExtension(**kwargs: Any) -> DrawingsExtension:  # noqa: N802 (the name that Python-Markdown looks for)
    return DrawingsExtension(**kwargs)
