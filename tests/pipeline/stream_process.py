"""The program that is killed while Spark reads a stream: files of numbers into a file of lines.

``python -m tests.pipeline.stream_process FOLDER`` goes on with what is in the folder. It writes a
line to standard output for each row that a sink has got.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock.connectors import write_json_lines
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.spark import SparkFlow, spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["reading", "run_of", "write"]

SCHEMA: Final = "number long"
PATIENCE: Final = 200


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


def run_of(folder: Path, *, probe: Any = None, through: Any = None, **options: Any) -> PipelineRun:
    """From the files in ``in`` to ``out.jsonl``, by way of a checkpoint beside them."""
    sinks: dict[str, Any] = {"lines": lambda settings: write_json_lines(folder / "out.jsonl")}
    if probe is not None:
        sinks["probe"] = lambda settings: probe
    pipeline = Pipeline(
        "files",
        sources={
            "files": lambda settings: SparkFlow.from_stream(reading(folder / "in"), **options)
        },
        transform=through or (lambda files: files),
        sinks=sinks,
    )
    return PipelineRun(pipeline, NoSettings(), RunTarget(checkpoint=str(folder / "checkpoint")))


def main(folder: Path) -> None:
    """Run it until all files are through."""

    def tell(row: Any) -> None:
        sys.stdout.write(f"{row.number}\n")
        sys.stdout.flush()

    run = run_of(folder, probe=tell, until_end=True)
    run.start()
    assert run.wait(PATIENCE)
    sys.stdout.write(f"{run.state} {run.status().ledger.lost}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
