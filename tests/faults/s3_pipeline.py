"""The pipeline with a checkpoint on S3 that is killed.

``penstock run tests.faults.s3_pipeline:counted --checkpoint s3://... --set folder=...``
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock import Flow
from penstock.connectors import read_json_lines, write_json_lines, write_sqlite
from penstock.pipeline import Pipeline
from penstock.spark import SparkFlow

__all__ = ["FolderSettings", "counted"]

MAX_ROWS: Final = 300
BATCH_ROWS: Final = 100


@dataclass(frozen=True)
class FolderSettings:
    """``folder`` has the numbers, a file of all rows, and a table of them."""

    folder: str = ""
    out: str = "out.jsonl"


def numbers(settings: FolderSettings) -> Flow[Any]:
    return read_json_lines(Path(settings.folder, "numbers.jsonl"))


def recorded(numbers: Flow[Any]) -> SparkFlow:
    """With state, which has to be on S3 as well: a row that comes again is left out."""
    journaled = numbers.on_spark("number long", max_rows=MAX_ROWS, batch_rows=BATCH_ROWS)
    return journaled.frame(lambda frame: frame.dropDuplicates(["number"]))


counted = Pipeline(
    "counted",
    sources={"numbers": numbers},
    transform=recorded,
    sinks={
        "file": lambda settings: write_json_lines(Path(settings.folder, settings.out)),
        "table": lambda settings: write_sqlite(Path(settings.folder, "rows.db"), "rows"),
    },
    settings=FolderSettings,
)
