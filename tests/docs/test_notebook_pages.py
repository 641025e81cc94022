"""Notebooks are pages with the output of a run of the cells that they have now."""

import nbformat
import pytest
from nbclient import NotebookClient
from places import ROOT

from converge.grader import course
from converge.site import notebooks

LABS = [lab for lab in course.load(ROOT).labs if lab.notebook.exists()]


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.slug)
def test_the_page_was_made_from_these_cells(lab: course.Lab) -> None:
    assert notebooks.up_to_date(lab), f"make notebooks LAB={lab.number}"


def test_text_code_output_and_pictures_become_a_page() -> None:
    cells = [
        nbformat.v4.new_markdown_cell("# Spacing"),
        nbformat.v4.new_code_cell("print('three', end=' ')\nprint('tries')\n{'a': 1}"),
        nbformat.v4.new_code_cell("import matplotlib.pyplot as plot\nplot.plot([1, 2, 4])\nplot.show()"),
        nbformat.v4.new_code_cell("from IPython.display import SVG\nSVG('<svg class=\"timeline own\"></svg>')"),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=60).execute()
    lab = course.load(ROOT).labs[0]
    text, pictures = notebooks.to_markdown(notebook, lab)
    assert text.startswith("# Spacing\n\n```python\nprint('three'")
    assert "``` { .text .cell-output }\nthree tries\n```" in text
    assert "``` { .text .cell-output }\n{'a': 1}\n```" in text
    assert f"![What the cell above drew]({lab.slug}-1.png)" in text
    assert pictures[f"{lab.slug}-1.png"].startswith(b"\x89PNG")
    assert '<svg class="timeline"' in text, "a timeline in a page has the page's colours"


def test_another_cell_is_another_digest() -> None:
    def digest(source: str) -> str:
        return notebooks.digest(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)]))

    assert digest("a = 1") == digest("a = 1") != digest("a = 2")
