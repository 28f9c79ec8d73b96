"""The program that writes tables of files, here and on S3, and is killed, or has rivals.

``python -m tests.faults.lake_sink_process FOLDER`` writes as ``tests.faults.sink_process`` does, to
a bucket that ``$PENSTOCK_TEST_BUCKET`` names. With ``rival`` before it, it does one batch for each
line that comes in, the name of a table that may not be there yet, and says what came of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pyiceberg.table import Transaction

from penstock.connectors import Writer, write_delta, write_iceberg
from penstock.connectors.delta import table as delta_table
from penstock.connectors.iceberg import table as iceberg_table
from penstock.delivery import DeliveryRefused, Epoch
from penstock.pipeline.sinks import BatchedSink
from tests.faults.crashing import around, nothing
from tests.faults.sink_process import ROOT, End, run_until_a_crash, write_all
from tests.lake.iceberg import settings_in
from tests.lake.on_s3 import iceberg_settings

__all__ = ["KINDS", "LAKE_CRASHES", "ONE_ROW", "Rival", "on_s3", "started"]

BUCKET: Final = "PENSTOCK_TEST_BUCKET"
RIVAL: Final = "rival"
ONE_ROW: Final = {"number": 1, "text": "one"}


def on_s3(folder: Path) -> dict[str, str]:
    settings = iceberg_settings(folder, os.environ["AWS_ENDPOINT_URL"], os.environ[BUCKET])
    return {**settings, "name": "on_s3"}


KINDS: Final[dict[str, Callable[[Path, str], Writer]]] = {
    "delta": lambda folder, name: write_delta(folder / name),
    "iceberg": lambda folder, name: write_iceberg(settings_in(folder), f"lake.{name}"),
    "delta on s3": lambda folder, name: write_delta(f"{os.environ[BUCKET]}/{name}"),
    "iceberg on s3": lambda folder, name: write_iceberg(on_s3(folder), f"lake.{name}"),
}


def run(folder: Path) -> None:
    """Into a table of each kind."""
    write_all(folder, {kind: make(folder, "rows") for kind, make in KINDS.items()})


LAKE_CRASHES: Final[dict[str, Callable[[End], None]]] = {
    "after a Delta table is made": lambda end: around(
        delta_table.DeltaSink, "_made", before=nothing, after=end
    ),
    "before a commit of Delta": lambda end: around(
        delta_table, "write_deltalake", before=end, after=nothing
    ),
    "after a commit of Delta": lambda end: around(
        delta_table, "write_deltalake", before=nothing, after=end
    ),
    "when a file of Iceberg is written": lambda end: around(
        Transaction, "append", before=nothing, after=end
    ),
    "before a commit of Iceberg": lambda end: around(
        Transaction, "commit_transaction", before=end, after=nothing
    ),
    "after a commit of Iceberg": lambda end: around(
        iceberg_table.IcebergSink, "_commit_rows_and", before=nothing, after=end
    ),
    "between two sinks that commit": lambda end: around(
        BatchedSink, "commit", before=nothing, after=end
    ),
}


def race(folder: Path) -> None:
    """A batch for each line: one that says "ready", and the next, upon which it commits."""
    for line in sys.stdin:
        kind, _, name = line.strip().partition(" as ")
        sink = KINDS[kind](folder, name).sink
        sink.open(Epoch.begun())
        sink.begin(0)
        sink(ONE_ROW)
        say("ready")
        sys.stdin.readline()
        try:
            sink.commit(0)
            say("stored")
        except DeliveryRefused as error:
            say(str(error))
        sink.close()


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Rival:
    """Such a program that waits for its batches."""

    def __init__(self, folder: Path, bucket: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, RIVAL, str(folder)],
            cwd=ROOT,
            env={**os.environ, BUCKET: bucket},
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def end(self) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()
        assert process.returncode == 0


def started(folder: Path, bucket: str, *options: str) -> subprocess.Popen[bytes]:
    """The program, which goes on with what is in the folder and in the bucket."""
    command = [sys.executable, "-m", __name__, str(folder), *options]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, BUCKET: bucket})


if __name__ == "__main__":
    if sys.argv[1] == RIVAL:
        race(Path(sys.argv[2]))
    else:
        run_until_a_crash(run, LAKE_CRASHES)
