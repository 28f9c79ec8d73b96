"""Checkpoints that earlier versions have written, and the pipeline that wrote them.

Each archive beside this file has a checkpoint as a ``kill -9`` in the fourth batch has left it, and
what the sinks had by then:

``without-runs``     the first that there were: whose it is, the journal, and Spark's own
``with-runs``        sinks know the runs and their batches; it is written down what the state means
``with-sinks``       the ledger knows what each sink was given
``without-run-log``  the same, and nothing of when runs were and how they ended
``without-had``      the log of runs, and nothing of the last batch that each sink had
``now``              the present form

``python -m tests.pipeline.kept_checkpoints NAME`` adds one that this version writes.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from penstock import Flow
from penstock.connectors import write_json_lines
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget
from tests.archives import unpack

__all__ = ["BATCHES", "KEPT", "ROWS", "form_of", "sample_run", "unpacked"]

ARCHIVES: Final = Path(__file__).parent / "checkpoints"
KEPT: Final = ("without-runs", "with-runs", "with-sinks", "without-run-log", "without-had", "now")
ROWS: Final = 120
BATCH_ROWS: Final = 20
BATCHES: Final = [range(first, first + BATCH_ROWS) for first in range(0, ROWS, BATCH_ROWS)]
STALLS_AT: Final = 7
"""The row of the ledger within which a run is killed: the first of two in the fourth batch."""


def source(_: object) -> Flow[tuple[str, int]]:
    return Flow.range(ROWS).map(lambda number: (f"key {number % 2}", number))


def totals(frame: Any) -> Any:
    from pyspark.sql.functions import sum as total

    return frame.groupBy("key").agg(total("number").alias("total"))


def through(numbers: Any) -> Any:
    columns = "key string, number long"
    rows = numbers.on_spark(
        columns, resume="from_start", batch_rows=BATCH_ROWS, output_mode="update"
    )
    return rows.frame(totals).rows()


def ledger(folder: Path, stalls: Callable[[], object] | None) -> Callable[[Any], None]:
    """A function, which may get a row twice."""
    seen = 0

    def take(row: Any) -> None:
        nonlocal seen
        seen += 1
        with (folder / "ledger.jsonl").open("a") as file:
            file.write(json.dumps({"key": row.key, "total": row.total}) + "\n")
        if stalls is not None and seen == STALLS_AT:
            stalls()

    return take


def sample_run(
    folder: Path, *, stalls: Callable[[], object] | None = None, with_file: bool = True
) -> PipelineRun:
    """A run in that folder, which has not started."""
    sinks: dict[str, Callable[[object], Any]] = {"ledger": lambda _: ledger(folder, stalls)}
    if with_file:
        sinks["file"] = lambda _: write_json_lines(folder / "totals.jsonl")
    pipeline = Pipeline("sample", sources={"numbers": source}, transform=through, sinks=sinks)
    return PipelineRun(pipeline, NoSettings(), RunTarget(checkpoint=str(folder / "checkpoint")))


def unpacked(name: str, folder: Path) -> Path:
    """The folder of a checkpoint that was kept."""
    unpack(ARCHIVES / f"{name}.tar.gz", folder)
    return folder


def form_of(folder: Path) -> dict[str, Any]:
    """The form of what a run has written, without what differs from run to run."""
    checkpoint = folder / "checkpoint"
    journal, spark = checkpoint / "journal-0", checkpoint / "spark"
    (segment,) = journal.glob("*.segment")
    texts = (*checkpoint.glob("*.json"), folder / "totals.jsonl.delivery")
    return {
        **{file.name: keys_of(json.loads(file.read_text())) for file in texts},
        "format": json.loads((checkpoint / "pipeline.json").read_text())["format"],
        "segment": segment.read_bytes()[:4].decode(),
        "schema": (journal / "schema").read_bytes()[:4].decode(),
        "bounds": [
            (journal / "bounds").stat().st_size,
            (journal / "bounds").read_bytes()[:4].hex(),
        ],
        **{log: lines_of(spark / log / "0") for log in ("offsets", "commits")},
    }


def lines_of(file: Path) -> list[Any]:
    """Of a file of Spark, its version, and the keys of each line."""
    version, *lines = file.read_text().splitlines()
    return [version, *(keys_of(json.loads(line)) for line in lines)]


def keys_of(found: Any) -> Any:
    """The keys of an object, and of those in it, but for Spark's settings."""
    if not isinstance(found, dict):
        return "value"
    return {key: "value" if key == "conf" else keys_of(found[key]) for key in sorted(found)}


def written(name: str) -> Path:
    """An archive of what this version writes until it is killed."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.pipeline.kept_checkpoints", "--in", folder]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
        assert run.stdout is not None
        run.stdout.readline()
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        return packed(name, Path(folder))


def packed(name: str, folder: Path) -> Path:
    """What is in a folder, as an archive among the others."""
    archive = ARCHIVES / f"{name}.tar.gz"
    with tarfile.open(archive, "w:gz") as target:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            entry.size, entry.mode = path.stat().st_size, 0o600
            target.addfile(entry, io.BytesIO(path.read_bytes()))
    return archive


def stall_in(folder: Path) -> None:
    """Run until it is killed."""

    def stall() -> None:
        sys.stdout.write("stalled\n")
        sys.stdout.flush()
        threading.Event().wait()

    run = sample_run(folder, stalls=stall)
    run.start()
    run.wait()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--in", place]:
            stall_in(Path(place))
        case [new]:
            sys.stdout.write(f"{written(new)}\n")
