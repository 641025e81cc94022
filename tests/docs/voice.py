"""Keeps the worst habits out of what people read: pages, labs, hints, messages, docstrings, comments, in every file.

`make lint` runs it: `python tests/docs/voice.py`. To allow one line, write `voice: allow` in a comment on it; a line
that can't hold a comment goes into ALLOWED, with the reason.
"""

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

# The habit, and what to write instead.
HABITS = {
    r"\bsomebody\b": "someone, or say who",
    r"\bfor ever\b": "forever",
    r"\bmend(s|ed|ing)?\b": "fix or repair",
    r"\banew\b": "again",
    r"\bwhoever\b": "anyone who, or say who",
    r"\b(is|are|was|were) told\b": "hears, gets, is reported",
    r"(?<!there )\bis no (?!longer\b|more than\b|one\b)": "isn't a",
    r", too[.;:)]": "also, earlier in the sentence",
    r"\bso many (seconds|checks)\b": "this many, or name the argument",
    r"\bnobody trusts\b": "untrusted",
    r"\btells? of\b": "says, reports, reveals",
    r"(?<!soon )\bas it is there\b": "as soon as it's known",
    r"\ballows? to\b": "lets us, or makes it possible to",
    r"\bbelongs? into\b": "belongs in",
    r"\bstop to (?!think\b)": "stop, and the verb with -ing",
}
MARKER = "voice: allow"
ALLOWED = [
    ("docs/examples/10_conflicts/scene.py", "somebody else has served one", "a recording shows it"),  # voice: allow
]
# What isn't ours to word: output of real runs, which changes with what prints it, and what tools and lawyers wrote. And
# the test of this file, which quotes every habit.
MADE = re.compile(
    r"docs/recorded/|docs/notebooks/\d|tests/docs/test_voice\.py|(LICENSE|CODE_OF_CONDUCT\.md)$"
    r"|\.(svg|png|css|lock|sum|json)$|zz_generated"
)


def texts() -> Iterator[tuple[str, int, str]]:
    """File, line and text of every line of the repository; of a Python file, only its comments and strings."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.split():
        path = ROOT / name
        if MADE.search(name) or not path.is_file():
            continue
        content = path.read_text()
        lines = python_lines(content) if path.suffix == ".py" else enumerate(content.splitlines(), start=1)
        yield from ((name, number, line) for number, line in lines)


def python_lines(content: str) -> Iterator[tuple[int, str]]:
    source = content.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)):
            for offset, line in enumerate(token.string.splitlines()):
                if MARKER not in source[token.start[0] + offset - 1]:
                    yield token.start[0] + offset, line


def violations(lines: Iterator[tuple[str, int, str]]) -> Iterator[str]:
    for name, number, line in lines:
        if MARKER in line or any(name == file and phrase in line for file, phrase, _ in ALLOWED):
            continue
        for habit, instead in HABITS.items():
            if found := re.search(habit, line, re.IGNORECASE):
                yield f"{name}:{number}: “{found[0].strip()}”: write {instead}"


if __name__ == "__main__":
    found = list(violations(texts()))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
