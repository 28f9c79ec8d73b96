"""``kill -9`` at each step of a sink: after any number of them it has each row once."""

from __future__ import annotations

import csv
import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

from tests.faults.sink_process import BATCHES, CRASHES, end_in_a_crash, rows_of, run_to_the_end

KILLED = -9


def test_each_row_is_there_once_after_a_kill_at_each_step(tmp_path: Path) -> None:
    for point in CRASHES:
        assert end_in_a_crash(tmp_path, point, 1) == KILLED, point
    run_to_the_end(tmp_path)
    require_each_row_once(tmp_path)
    before = state_of(tmp_path)
    run_to_the_end(tmp_path)
    assert state_of(tmp_path) == before


@pytest.mark.full
@pytest.mark.timeout(3_000)
def test_each_row_is_there_once_after_kills_at_random_steps(tmp_path: Path) -> None:
    random = Random(7)
    kills = 0
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        for _ in range(6):
            time = random.randrange(1, 12)
            kills += end_in_a_crash(folder, random.choice([*CRASHES]), time) == KILLED
        run_to_the_end(folder)
        require_each_row_once(folder)
    assert kills > 30  # the others came to their end before


def require_each_row_once(folder: Path) -> None:
    """Other programs and plain Python read what was written."""
    rows = [row for batch in range(BATCHES) for row in rows_of(batch)]
    counted = subprocess.run(
        ["wc", "-l", "rows.jsonl"], cwd=folder, check=True, capture_output=True, text=True
    )
    assert counted.stdout.split()[0] == str(len(rows))
    lines = (folder / "rows.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == rows
    with (folder / "rows.csv").open(newline="") as file:
        assert [{**row, "number": int(row["number"])} for row in csv.DictReader(file)] == rows
    require_each_row_once_in_rotated_files(folder, rows)
    with duckdb.connect() as connection:
        found = connection.execute("SELECT number, text FROM read_parquet(?) ORDER BY number",
                                   [f"{folder}/rows/*.parquet"]).fetchall()  # fmt: skip
    assert found == [(row["number"], row["text"]) for row in rows]
    with closing(sqlite3.connect(folder / "rows.db")) as database:
        database.row_factory = sqlite3.Row
        for table in ("rows", "again"):
            assert [dict(row) for row in database.execute(f"SELECT * FROM {table}")] == rows
    with duckdb.connect(str(folder / "rows.duckdb"), read_only=True) as database:
        assert database.execute("FROM rows").fetchall() == found


def require_each_row_once_in_rotated_files(folder: Path, rows: list[Any]) -> None:
    """The parts, which sort as the rows do, and of which each CSV file has its first line."""
    counted = subprocess.run(
        "cat rows-rotated*.jsonl | wc -l", shell=True, cwd=folder, check=True, capture_output=True
    )
    assert int(counted.stdout) == len(rows)
    expected = [(row["number"], row["text"]) for row in rows]
    with duckdb.connect() as connection:
        for read, suffix in (("read_ndjson", "jsonl"), ("read_csv", "csv")):
            parts = sorted(folder.glob(f"rows-rotated.[0-9]*.{suffix}"))
            assert len(parts) >= BATCHES - 2
            for number, part in enumerate(parts, 1):
                assert part.name == f"rows-rotated.{number:06}.{suffix}"
            files = [str(part) for part in (*parts, folder / f"rows-rotated.{suffix}")]
            found = connection.execute(f"SELECT number, text FROM {read}(?)", [files]).fetchall()
            assert sorted(found) == expected


def state_of(folder: Path) -> dict[str, Any]:
    """The content and the time of what a finished pipeline leaves as it is."""
    ours = [path for path in folder.rglob("rows*") if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in ours}
