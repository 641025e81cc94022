"""``python -m converge.site.notebooks [LAB …]``: run the notebooks on the cluster and write them as pages.

A notebook in git has no output. Its page ``docs/notebooks/NN_slug.md`` has the output of a real run and is kept, so
that building the site needs neither a cluster nor Jupyter. The page carries a digest of the cells that were run; a test
compares it with the notebook and so notices when the page is out of date.
"""

import base64
import hashlib
import re
import sys
from pathlib import Path
from typing import Any

import nbformat

from converge.cli import kernel
from converge.grader import course

FOLDER = Path("docs/notebooks")
TIMEOUT = 120  # seconds for one cell
ANSI = re.compile(r"\x1b\[[0-9;]*m")
DIGEST = re.compile(r"^cells: (\w+)$", re.MULTILINE)


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def digest(notebook: Any) -> str:
    """Says which cells a page was made from: their kind and text, nothing else."""
    cells = "\0".join(f"{cell.cell_type}\0{cell.source}" for cell in notebook.cells)
    return hashlib.sha256(cells.encode()).hexdigest()[:16]


def up_to_date(lab: course.Lab) -> bool:
    """Whether the page was made from the notebook as it is now."""
    page = page_of(lab)
    said = DIGEST.search(page.read_text()) if page.exists() else None
    return said is not None and said[1] == digest(read(lab.notebook))


def page_of(lab: course.Lab) -> Path:
    return lab.root / FOLDER / f"{lab.slug}.md"


def write(lab: course.Lab) -> None:
    """Run the notebook of ``lab`` and write its page and pictures."""
    from nbclient import NotebookClient

    kernel.install()
    notebook = read(lab.notebook)
    cells = digest(notebook)
    # Started where a learner starts Jupyter; what is printed in pieces is one output.
    place = {"metadata": {"path": str(lab.notebook.parent)}}
    NotebookClient(notebook, timeout=TIMEOUT, resources=place, coalesce_streams=True).execute()
    text, pictures = to_markdown(notebook, lab)
    folder = lab.root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{lab.slug}-*"):
        old.unlink()
    for name, content in pictures.items():
        (folder / name).write_bytes(content)
    front = f'---\ntitle: "{lab.number} · {lab.title}"\ncells: {cells}\n---\n\n'
    page_of(lab).write_text(front + text)


def to_markdown(notebook: Any, lab: course.Lab) -> tuple[str, dict[str, bytes]]:
    """The page of an executed notebook, and the pictures that belong to it by file name."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/svg+xml" in data:
                # In the page itself, so that its colours are the page's; the recorder's pictures know how.
                picture = data["image/svg+xml"].replace('class="timeline own"', 'class="timeline"')
                parts.append(
                    f'<div class="cell-picture" role="region" tabindex="0" aria-label="Picture">{picture}</div>'
                )
            elif "image/png" in data:
                name = f"{lab.slug}-{len(pictures) + 1}.png"
                pictures[name] = base64.b64decode(data["image/png"])
                parts.append(f"![What the cell above drew]({name})")
            elif "text/html" in data:
                parts.append(f'<div class="cell-output">{data["text/html"]}</div>')
            elif said := output.get("text") or data.get("text/plain") or "\n".join(output.get("traceback", [])):
                parts.append(f"``` {{ .text .cell-output }}\n{ANSI.sub('', said).rstrip()}\n```")
    text = "\n\n".join(parts) + "\n"
    return text.replace(f"{lab.root}/", "").replace(str(Path.home()), "~"), pictures


def main(names: list[str]) -> int:
    all_lessons = course.load()
    chosen = [all_lessons.find(name) for name in names] or [lab for lab in all_lessons.labs if lab.notebook.exists()]
    for lab in chosen:
        write(lab)
        print(f"wrote {page_of(lab).relative_to(lab.root)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
