"""The navigation follows course.toml, and every link on every page leads somewhere."""

import itertools
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

from places import ROOT

from converge.grader import course
from converge.site.lessons import heading

LOCAL = "http://site/"


class Links(HTMLParser):
    """The links of a page and the places on it that a link may name, in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {"", "__skip"}
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.anchors |= {found[key] or "" for key in ("id", "name") if key in found}
        self.links += [found[key] or "" for key in ("href", "src") if key in found]


def pages(site: Path) -> dict[str, Links]:
    """Every page by its address."""
    return {
        LOCAL + path.relative_to(site).as_posix().removesuffix("index.html"): Links(path.read_text())
        for path in site.rglob("*.html")
        if path.name != "404.html"  # its links are absolute, for whatever address was not found
    }


def test_every_link_and_anchor_inside_the_site_resolves(site: Path) -> None:
    all_pages = pages(site)
    broken = []
    for address, page in all_pages.items():
        for link in page.links:
            target, anchor = urldefrag(urljoin(address, link))
            if not target.startswith(LOCAL):
                continue
            if target in all_pages:
                if unquote(anchor) not in all_pages[target].anchors:
                    broken.append(f"{address}: {link} (no such place on the page)")
            elif not (site / unquote(target.removeprefix(LOCAL))).is_file():
                broken.append(f"{address}: {link}")
    assert broken == []


def test_lessons_come_in_the_order_of_the_course(site: Path) -> None:
    written = sorted(path.stem for path in (ROOT / "docs" / "lessons").glob("[0-9]*.md"))
    labs = [lab.slug for lab in course.load(ROOT).labs if lab.lesson.exists()]
    assert [slug for slug in written if slug in labs] == labs
    index = Links((site / "index.html").read_text())
    names = (link.removeprefix("lessons/").strip("/") for link in index.links if link.startswith("lessons/"))
    listed = dict.fromkeys(name for name in names if name)  # the tab of all lessons has no name
    assert list(listed) == written


def test_parts_hold_the_lessons_that_course_toml_gives_them() -> None:
    navigation = (ROOT / "docs" / ".nav.yml").read_text()
    for part, labs in itertools.groupby(course.load(ROOT).labs, key=lambda lab: lab.part):
        assert f'"{heading(part)}"' in navigation
        below = navigation.partition(heading(part))[2].partition('- "')[0]
        globs = [line.split('"')[1].removeprefix("lessons/") for line in below.splitlines() if "glob:" in line]
        for lab in labs:
            assert any(Path(lab.lesson.name).match(glob) for glob in globs), f"{lab.slug} is not in part {part}"
