"""The pipelines with a checkpoint on S3 that are killed.

``penstock run tests.faults.s3_pipeline:counted --checkpoint s3://... --set folder=...``, and
``published``, which is read by publishers on the executors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock import Flow
from penstock.connectors import read_json_lines, write_json_lines, write_sqlite
from penstock.pipeline import Pipeline
from penstock.spark import SparkFlow

__all__ = ["PARTITIONS", "ROWS", "FolderSettings", "counted", "published"]

ROWS: Final = 1_000
MAX_ROWS: Final = 300
BATCH_ROWS: Final = 100
PARTITIONS: Final = 2


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


def every_other(partition: int) -> Flow[Any]:
    """The numbers of a partition, from any of them on."""

    def after(position: int | None) -> Flow[Any]:
        first = partition if position is None else position + PARTITIONS
        return Flow.range(first, ROWS, PARTITIONS).map(lambda number: (number,))

    return Flow.resumable(after, position=lambda row: row[0])


def publishers(settings: FolderSettings) -> SparkFlow:
    return SparkFlow.partitioned(
        every_other, partitions=PARTITIONS, schema="number long", batch_rows=BATCH_ROWS
    )


SINKS: Final[dict[str, Callable[[Any], Any]]] = {
    "file": lambda settings: write_json_lines(Path(settings.folder, settings.out)),
    "table": lambda settings: write_sqlite(Path(settings.folder, "rows.db"), "rows"),
}
counted = Pipeline(
    "counted",
    sources={"numbers": numbers},
    transform=recorded,
    sinks=SINKS,
    settings=FolderSettings,
)
published = Pipeline(
    "published",
    sources={"numbers": publishers},
    transform=lambda numbers: numbers,
    sinks=SINKS,
    settings=FolderSettings,
)
