"""The notebook among the examples runs, and shows pictures."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from dev import ROOT

NOTEBOOK = ROOT / "examples" / "notebook.ipynb"


def outputs() -> list[list[Any]]:
    """Those of each cell with code."""
    command = [sys.executable, "-m", "tests.examples.run_notebook", str(NOTEBOOK)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return [cell["outputs"] for cell in cells_of(done.stdout) if cell["cell_type"] == "code"]


def cells_of(notebook: str) -> list[Any]:
    cells: list[Any] = json.loads(notebook)["cells"]
    return cells


def pictures(outputs: list[list[Any]]) -> list[str]:
    return [
        "".join(output["data"]["text/html"])
        for cell in outputs
        for output in cell
        if "text/html" in output.get("data", {})
    ]


@pytest.mark.timeout(300)  # it starts Spark
def test_the_notebook_runs_and_draws_flows_explanations_spark_and_a_run() -> None:
    found = outputs()
    warm, explained, on_spark, pipeline, watched = pictures(found)
    assert "filter" in warm
    assert "waits for its publisher" in explained
    assert "on Spark" in on_spark
    assert "transform" in pipeline
    assert "COMPLETED" in watched
    assert "taken 2,000, delivered 100, lost 0, duplicated 0" in watched
    # A pipeline that is watched has one picture, however often that is drawn.
    (cell,) = (each for each in found if "COMPLETED" in "".join(pictures([each])))
    assert [output["output_type"] for output in cell if output["output_type"] != "stream"] == [
        "display_data"
    ]


def test_the_notebook_is_kept_without_what_it_showed() -> None:
    cells = cells_of(NOTEBOOK.read_text(encoding="utf-8"))
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
