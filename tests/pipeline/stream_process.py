"""The program that is killed while Spark reads a stream: files of numbers into a file of lines.

``python -m tests.pipeline.stream_process FOLDER`` goes on with what is in the folder. It writes a
line to standard output for each row that a sink has got. With ``publishers`` after the folder it
reads numbers of publishers on the executors, through a function that leaves some out.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock import Flow
from penstock.connectors import write_json_lines
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.spark import SparkFlow, spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["KEPT", "PUBLISHED", "publishing", "reading", "run_of", "write"]

SCHEMA: Final = "number long"
PATIENCE: Final = 200
PARTITIONS: Final = 2
PUBLISHED: Final = range(60)
KEPT: Final = [number for number in PUBLISHED if number % 3]


def write(folder: Path, file: int, numbers: list[int]) -> None:
    """A file of JSON lines, which is there at once, and newer than those before."""
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{file}"
    hidden.write_text("".join(f"{json.dumps({'number': number})}\n" for number in numbers))
    os.utime(hidden, (1_000_000_000 + file, 1_000_000_000 + file))
    hidden.rename(folder / f"{file}.json")


def reading(folder: Path) -> DataFrame:
    """The rows of one file in each batch."""
    reader = spark_session().readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.json(str(folder))


def numbers(partition: int) -> Flow[Any]:
    """Every second number, from any of them on."""

    def after(position: int | None) -> Flow[Any]:
        first = partition if position is None else position + PARTITIONS
        return Flow.from_iterable(range(first, len(PUBLISHED), PARTITIONS)).map(lambda n: (n,))

    return Flow.resumable(after, position=lambda row: row[0])


def publishing() -> SparkFlow:
    """Ten numbers in each batch, of which a third is left out where they are read."""
    flow = SparkFlow.partitioned(numbers, partitions=PARTITIONS, schema=SCHEMA, batch_rows=10)
    return flow.filter(lambda row: row.number % 3)


def run_of(
    folder: Path,
    *,
    probe: Any = None,
    through: Any = None,
    source: Callable[[], SparkFlow] | None = None,
    accept_lost_batches: bool = False,
    **options: Any,
) -> PipelineRun:
    """From the files in ``in`` to ``out.jsonl``, by way of a checkpoint beside them.

    ``source`` is read instead of the files.
    """
    sinks: dict[str, Any] = {"lines": lambda settings: write_json_lines(folder / "out.jsonl")}
    if probe is not None:
        sinks["probe"] = lambda settings: probe
    pipeline = Pipeline(
        "files",
        sources={
            "files": lambda settings: (
                source() if source else SparkFlow.from_stream(reading(folder / "in"), **options)
            )
        },
        transform=through or (lambda files: files),
        sinks=sinks,
    )
    target = RunTarget(
        checkpoint=str(folder / "checkpoint"), accept_lost_batches=accept_lost_batches
    )
    return PipelineRun(pipeline, NoSettings(), target)


def main(folder: Path, source: Callable[[], SparkFlow] | None) -> None:
    """Run it until all is through."""

    def tell(row: Any) -> None:
        sys.stdout.write(f"{row.number}\n")
        sys.stdout.flush()

    run = run_of(folder, probe=tell, source=source, until_end=True)
    run.start()
    assert run.wait(PATIENCE)
    ledger = run.status().ledger
    sys.stdout.write(f"{run.state} {ledger.lost} {ledger.duplicated} {ledger.difference}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), publishing if sys.argv[2:] == ["publishers"] else None)
