"""What Delta tables hold, as DuckDB reads it: by the log beside the files, without our code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb

__all__ = ["delta_rows", "rows_of_files"]


def delta_files(table: Path) -> list[str]:
    """The files of the newest version, as the log beside them has it, line by line."""
    live: dict[str, None] = {}
    for commit in sorted((table / "_delta_log").glob("*.json")):
        for line in commit.read_text().splitlines():
            action = json.loads(line)
            if "add" in action:
                live[action["add"]["path"]] = None
            if "remove" in action:
                live.pop(action["remove"]["path"], None)
    return [str(table / path) for path in live]


def delta_rows(table: Path) -> list[dict[str, Any]]:
    """All rows of a table without partitions, in the order in which they were committed."""
    return rows_of_files(delta_files(table))


def rows_of_files(files: list[str]) -> list[dict[str, Any]]:
    """The rows of Parquet files, one file after the other, and nothing that only a path says."""
    if not files:
        return []
    with duckdb.connect() as connection:
        asked = "SELECT * FROM read_parquet(?, hive_partitioning = false)"
        found = connection.execute(asked, [files])
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
