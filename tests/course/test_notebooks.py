"""Notebooks: each runs from top to bottom on the cluster in under a minute, and none carries output in git."""

import time

import pytest

from converge.cli import kernel
from converge.grader import course
from converge.site import notebooks

LABS = [lab for lab in course.load().labs if lab.notebook.exists()]
LIMIT = 60.0  # seconds


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.slug)
def test_a_notebook_in_git_has_no_output(lab):
    for number, cell in enumerate(notebooks.read(lab.notebook).cells, start=1):
        if cell.cell_type == "code":
            kept = cell.outputs or cell.execution_count
            assert not kept, f"cell {number} of {lab.notebook.name} carries its output; clear all outputs and save"


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.slug)
def test_a_notebook_runs(lab, cluster):
    from nbclient import NotebookClient

    kernel.install()
    notebook = notebooks.read(lab.notebook)
    began = time.monotonic()
    where = {"metadata": {"path": str(lab.notebook.parent)}}
    NotebookClient(notebook, timeout=notebooks.TIMEOUT, resources=where).execute()
    took = time.monotonic() - began
    problems = [
        output.text
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "stream" and output.name == "stderr"
    ]
    assert not problems, f"{lab.notebook.name} wrote to standard error: {problems[0]}"
    assert took < LIMIT, f"{lab.notebook.name} took {took:.0f} s"
