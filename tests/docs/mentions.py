"""What the course's texts mention in code: the spans between backticks, the commands in blocks, and on which line.

Markdown pages, the comments and docstrings of Python files, the hints of course.toml, the prose of notebooks and the
help of `converge` all become the same thing: a list of mentions.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from places import ROOT

SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)((?:(?!\n\s*\n).)+?)(?<!`)\1(?!`)", re.DOTALL)
BOLD = re.compile(r"\[bold\](.+?)\[/(?:bold)?\]", re.DOTALL)
FENCE = re.compile(
    r"^(?P<indent> *)(?P<ticks>```+) *(?P<language>\w*).*?\n(?P<body>.*?)^(?P=indent)(?P=ticks)$", re.M | re.S
)
PROMPT = re.compile(r" *(?:\(converge\) )?\$ +(.+)")
HEADER = re.compile(r"^(?:Check|Hint): +(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Mention:
    """A piece of code in a text, and where it is."""

    file: str
    line: int
    code: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Text:
    """A text of the course: what its name is, where it begins in its file, and what it says."""

    file: str
    content: str
    first_line: int = 1

    def line_of(self, position: int) -> int:
        return self.first_line + self.content.count("\n", 0, position)

    @property
    def prose(self) -> str:
        """The text without its blocks of code; every line stays where it is."""
        return FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence[0]), self.content)

    def mentions(self) -> Iterator[Mention]:
        for pattern, group in ((SPAN, 2), (BOLD, 1), (HEADER, 1)):
            for found in pattern.finditer(self.prose):
                yield Mention(self.file, self.line_of(found.start()), " ".join(found[group].split()))
        for fence in FENCE.finditer(self.content):
            yield from self.commands(fence)

    def commands(self, fence: re.Match[str]) -> Iterator[Mention]:
        """The lines of a block that a reader types."""
        for number, line in enumerate(fence["body"].splitlines(), start=self.line_of(fence.start()) + 1):
            typed = PROMPT.match(line)
            if typed:
                yield Mention(self.file, number, typed[1])
            elif fence["language"] in ("sh", "bash"):
                yield Mention(self.file, number, line.strip())
            elif line.lstrip().startswith("run = "):  # an entry of docs/recorded, shown on a page
                yield Mention(self.file, number, line.split("=", 1)[1].split("#")[0].strip().strip('"'))


def texts() -> list[Text]:
    """Every text that a learner, an instructor or a contributor reads."""
    names = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "go/README.md", "course.toml")
    pages = [ROOT / name for name in names]
    docs = ROOT / "docs"
    # The pages of notebooks are made from the notebooks, and what is recorded from what was run.
    pages += [path for path in docs.rglob("*.md") if path.parent.name not in ("notebooks", "recorded")]
    pages += [docs / "notebooks" / "index.md"]
    for folder in ("labs", "solutions", "src", "tests/labs"):
        pages += [path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".yaml", ".md")]
    found = [Text(path.relative_to(ROOT).as_posix(), path.read_text()) for path in sorted(pages)]
    return (
        found
        + [text for path in sorted((ROOT / "notebooks").glob("*.ipynb")) for text in notebook(path)]
        + [help_text()]
    )


def notebook(path: Path) -> Iterator[Text]:
    for number, cell in enumerate(json.loads(path.read_text())["cells"], start=1):
        if cell["cell_type"] == "markdown":
            yield Text(f"{path.relative_to(ROOT).as_posix()} (cell {number})", "".join(cell["source"]))


def help_text() -> Text:
    """What `converge --help` and the help of each command say, as the reference page has it."""
    from converge.site import commands

    return Text("converge --help", commands.render(ROOT, ""))
