"""The frame of a moving figure: its title, a stage of fixed height, and the same in words.

The frame is in the page before any script runs, so nothing jumps when the figure starts, and a reader without
JavaScript has the words. Title and words of every figure are in ``docs/assets/figures/figures.toml``.
"""

import tomllib
from html import escape
from pathlib import Path

FIGURES = Path("docs/assets/figures")


def render(root: Path, name: str) -> str:
    """The HTML of the figure ``name``."""
    known = tomllib.loads((root / FIGURES / "figures.toml").read_text())
    if name not in known:
        raise ValueError(f"::figure {name}: there is no such figure; the site has {', '.join(known)}")
    title, words = escape(known[name]["title"]), escape(known[name]["words"].strip())
    return (
        f'<figure class="moving" data-figure="{name}" aria-labelledby="figure-{name}">'
        f'<figcaption id="figure-{name}">{title}</figcaption>'
        f'<div class="moving-stage"><noscript><p>This figure moves when JavaScript is on. In words: {words}</p>'
        "</noscript></div>"
        f'<details class="moving-words"><summary>The same in words</summary><p>{words}</p></details>'
        "</figure>"
    )
