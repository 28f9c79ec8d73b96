"""Through Spark, the sinks that keep their promise have each row once, also after a failure."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pyarrow.dataset
import pytest

from penstock import Flow
from penstock.connectors import write_csv, write_json_lines, write_parquet, write_sqlite
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget

PATIENCE: Final = 300
COUNT: Final = 10
ROWS: Final = [{"n": number} for number in range(COUNT)]

pytestmark = pytest.mark.timeout(900)


def ended(folder: Path, probe: Callable[[Any], object], checkpoint: str = "spark") -> PipelineRun:
    """One run, in batches of three rows; each sink sees a row before ``probe`` does."""
    pipeline = Pipeline(
        "once",
        sources={"numbers": lambda settings: Flow.range(COUNT).map(lambda number: (number,))},
        transform=lambda numbers: numbers.on_spark("n long", batch_rows=3).rows(),
        sinks={
            "lines": lambda settings: write_json_lines(folder / "rows.jsonl"),
            "csv": lambda settings: write_csv(folder / "rows.csv", ["n"]),
            "parquet": lambda settings: write_parquet(folder / "rows"),
            "table": lambda settings: write_sqlite(folder / "rows.db", "rows"),
            "probe": lambda settings: probe,
        },
    )
    run = PipelineRun(pipeline, NoSettings(), RunTarget(checkpoint=str(folder / checkpoint)))
    run.start()
    assert run.wait(PATIENCE)
    return run


def failing_at(number: int) -> Callable[[Any], None]:
    def probe(row: Any) -> None:
        if row.n == number:
            raise OSError("no space left")

    return probe


def rows_in(folder: Path) -> dict[str, list[Any]]:
    with (folder / "rows.csv").open(newline="") as file:
        from_csv = [{"n": int(row["n"])} for row in csv.DictReader(file)]
    with closing(sqlite3.connect(folder / "rows.db")) as database:
        from_table = [{"n": n} for (n,) in database.execute("SELECT n FROM rows")]
    return {
        "lines": [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()],
        "csv": from_csv,
        "parquet": pyarrow.dataset.dataset(folder / "rows").to_table().to_pylist(),
        "table": from_table,
    }


def state_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    paths = [path for path in folder.rglob("rows*/*") if path.is_file()]
    paths += [path for path in folder.glob("rows*") if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}


def test_a_pipeline_that_failed_amid_a_batch_has_each_row_once_in_the_end(tmp_path: Path) -> None:
    for number in (0, 4, 8):
        run = ended(tmp_path, failing_at(number))
        assert (run.state, str(run.error)) == ("failed", "no space left")
        whole = number // 3 * 3
        if whole:
            assert rows_in(tmp_path) == dict.fromkeys(rows_in(tmp_path), ROWS[:whole])
    run = ended(tmp_path, failing_at(-1))
    assert run.state == "completed", run.error
    assert rows_in(tmp_path) == dict.fromkeys(rows_in(tmp_path), ROWS)

    before = state_of(tmp_path)
    run = ended(tmp_path, failing_at(-1))
    assert run.state == "completed", run.error
    assert state_of(tmp_path) == before

    refused = ended(tmp_path, failing_at(-1), checkpoint="another")
    assert refused.state == "failed"
    assert "rows.jsonl was written from another checkpoint" in str(refused.error)
    assert refused.error is not None
    assert "in the sink lines, when it was opened" in refused.error.__notes__
    assert state_of(tmp_path) == before
