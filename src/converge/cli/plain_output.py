"""Output that no terminal refuses: what its encoding lacks becomes the nearest plain character.

A learner in a container with LANG=C, or a log that only takes ASCII, gets `+` for a check mark and not a traceback.
"""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata

NAME = "converge-plain"
NEAREST = {
    **{"✓": "+", "✗": "x", "⧖": "T", "○": "o", "●": "*", "·": "-", "•": "*", "▲": "^", "▼": "v", "✕": "x"},
    **{"–": "-", "—": "-", "━": "=", "─": "-", "│": "|", "…": "...", "→": "->", "←": "<-", "×": "x"},
    **{"“": '"', "”": '"', "‘": "'", "’": "'", "≤": "<=", "≥": ">=", "⇒": "=>", "≠": "!="},
}


def protect() -> None:
    """Let standard output and error replace what they cannot encode."""
    codecs.register_error(NAME, replace)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=NAME)


def replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(nearest, error.object[error.start : error.end])), error.end


def nearest(character: str) -> str:
    """The plain spelling of a character: the table's, or its letter without marks, or a question mark."""
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return NEAREST.get(character) or plain or "?"
