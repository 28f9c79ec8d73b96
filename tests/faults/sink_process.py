"""The program that is killed while it writes: batches of numbers into one sink of each kind.

``python -m tests.faults.sink_process FOLDER`` goes on with what is in the folder. With ``--crash
POINT`` and ``--time N`` it kills itself when it comes to that point for the Nth time. Batches are
planned and committed in a small file as Spark does it in its logs, so that hundreds of kills take
seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from penstock.connectors import (
    Writer,
    write_csv,
    write_duckdb,
    write_json_lines,
    write_parquet,
    write_sqlite,
)
from penstock.connectors.duckdb import table as duckdb_table
from penstock.connectors.files.text_file import TextFile
from penstock.connectors.shared import durable_files
from penstock.connectors.sqlite import staging as sqlite_staging
from penstock.connectors.sqlite import table as sqlite_table
from penstock.delivery import Epoch, RunStart
from penstock.pipeline.sinks import BatchedSink, SinkBatches
from tests.faults.crashing import around, nothing

__all__ = [
    "BATCHES",
    "CRASHES",
    "ROOT",
    "End",
    "Logs",
    "at_the",
    "die",
    "end_in_a_crash",
    "rows_of",
    "run_to_the_end",
    "run_until_a_crash",
    "write_all",
]

ROOT: Final = Path(__file__).parents[2]
BATCHES: Final = 6
ROWS: Final = 2_000
"""In a batch, which is more than a sink gathers before it writes."""
ROTATE_BYTES: Final = 1_000
"""A batch has more, so that a file is rotated after each one."""

Row = dict[str, Any]
End = Callable[..., object]


def rows_of(batch: int) -> list[Row]:
    """The fourth batch has none."""
    numbers = range(batch * ROWS, (batch + 1) * ROWS) if batch != 3 else ()
    return [{"number": number, "text": f"é{number:>40}"} for number in numbers]


class Logs:
    """What Spark remembers of its batches, and the starts of the pipeline."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "logs.json"
        found = json.loads(self._path.read_text()) if self._path.exists() else ([], -1, -1)
        self.starts = tuple(RunStart(*start) for start in found[0])
        self.planned, self.done = found[1:]

    def begin_run(self) -> Epoch:
        epoch = Epoch.begun(self.starts, self.planned)
        self.starts = epoch.starts
        self.write()
        return epoch

    def write(self) -> None:
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps((self.starts, self.planned, self.done)))
        new.replace(self._path)


def run(folder: Path) -> None:
    """All batches into files and tables."""
    writers = {
        "lines": write_json_lines(folder / "rows.jsonl"),
        "csv": write_csv(folder / "rows.csv", ["number", "text"]),
        "rotated lines": write_json_lines(folder / "rows-rotated.jsonl", rotate_bytes=ROTATE_BYTES),
        "rotated csv": write_csv(
            folder / "rows-rotated.csv", ["number", "text"], rotate_bytes=ROTATE_BYTES
        ),
        "parquet": write_parquet(folder / "rows"),
        "sqlite": write_sqlite(folder / "rows.db", "rows"),
        "sqlite too": write_sqlite(folder / "rows.db", "again"),
        "duckdb": write_duckdb(folder / "rows.duckdb", "rows"),
    }
    write_all(folder, writers)


def write_all(folder: Path, writers: dict[str, Writer]) -> None:
    """All batches that are not done, into all sinks, as ``penstock.pipeline`` gives them."""
    made = {name: writer.sink for name, writer in writers.items()}
    sinks = SinkBatches(made)
    logs = Logs(folder)
    sinks.open(logs.begin_run())
    for batch in range(logs.done + 1, BATCHES):
        logs.planned = batch
        logs.write()
        sinks.begin(batch)
        for row in rows_of(batch):
            for name, sink in made.items():
                sinks.function_of(name, sink)(row)
        sinks.commit(batch)
        logs.done = batch
        logs.write()
    sinks.close()


# Where the program can kill itself. Each function puts the end of everything into one of ours.


def die(*arguments: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def before_the_sync(end: End) -> None:
    around(durable_files, "sync_file", before=end, after=nothing)


def after_the_sync(end: End) -> None:
    around(durable_files, "sync_file", before=nothing, after=end)


def before_the_name(end: End) -> None:
    around(durable_files, "replace_file", before=end, after=nothing)


def after_the_name(end: End) -> None:
    around(durable_files, "replace_file", before=nothing, after=end)


def after_the_folder_is_synced(end: End) -> None:
    around(durable_files, "sync_folder", before=nothing, after=end)


def amid_a_row(end: End) -> None:
    write = os.write

    def half(descriptor: int, content: Any) -> int:
        written = write(descriptor, content[: len(content) // 2 + 7])
        end()
        return written

    os.write = half


def while_a_file_is_cut(end: End) -> None:
    around(os, "ftruncate", before=end, after=nothing)


def after_a_file_is_cut(end: End) -> None:
    around(os, "ftruncate", before=nothing, after=end)


def before_the_transaction_ends(end: End) -> None:
    for sink in TABLES:
        around(sink, "commit_transaction", before=end, after=nothing)


def after_the_transaction(end: End) -> None:
    for sink in TABLES:
        around(sink, "commit_transaction", before=nothing, after=end)


def between_the_mark_and_the_end(end: End) -> None:
    around(duckdb_table.DuckdbTable, "store_mark", before=nothing, after=end)


def while_staged_rows_are_moved(end: End) -> None:
    around(sqlite_staging.StagedRows, "move", before=nothing, after=end)


def after_rows_of_duckdb(end: End) -> None:
    around(duckdb_table.DuckdbTable, "insert", before=nothing, after=end)


def before_a_file_is_rotated(end: End) -> None:
    around(TextFile, "_rotate", before=end, after=nothing)


def before_another_one_is_made(end: End) -> None:
    around(TextFile, "_open_next", before=end, after=nothing)


def after_another_one_is_made(end: End) -> None:
    around(TextFile, "_open_next", before=nothing, after=end)


def before_the_record_says_so(end: End) -> None:
    """The first line of the new file is there."""
    around(TextFile, "_record", before=lambda sink, *_: end() if sink._rotated.last else None,
           after=nothing)  # fmt: skip


def after_a_file_is_rotated(end: End) -> None:
    around(TextFile, "_rotate", before=nothing, after=end)


def between_two_sinks(end: End) -> None:
    around(BatchedSink, "commit", before=nothing, after=end)


def between_two_that_are_opened(end: End) -> None:
    around(BatchedSink, "open", before=nothing, after=end)


TABLES: Final = (sqlite_table.SqliteTable, duckdb_table.DuckdbTable)
CRASHES: Final[dict[str, Callable[[End], None]]] = {
    "between two sinks that are opened": between_two_that_are_opened,
    "before data or record are synced": before_the_sync,
    "after data or record are synced": after_the_sync,
    "before a record or file gets its name": before_the_name,
    "after a record or file has its name": after_the_name,
    "after its folder is synced": after_the_folder_is_synced,
    "amid a row": amid_a_row,
    "before a file is cut": while_a_file_is_cut,
    "after a file is cut": after_a_file_is_cut,
    "before a file is rotated": before_a_file_is_rotated,
    "before another one takes its place": before_another_one_is_made,
    "after another one took its place": after_another_one_is_made,
    "before the record says that it was rotated": before_the_record_says_so,
    "after a file is rotated": after_a_file_is_rotated,
    "before a transaction ends": before_the_transaction_ends,
    "after a transaction": after_the_transaction,
    "after rows went into DuckDB": after_rows_of_duckdb,
    "after the mark went into DuckDB": between_the_mark_and_the_end,
    "while SQLite gets rows that waited": while_staged_rows_are_moved,
    "between two sinks that commit": between_two_sinks,
}


def at_the(time: int, end: End) -> End:
    """The end comes when this is called for the Nth time."""
    calls = iter(range(1, sys.maxsize))
    return lambda *arguments: end() if next(calls) == time else None


def end_in_a_crash(folder: Path, point: str, time: int) -> int:
    """Run until that point; the exit code, which is 0 if it was never reached."""
    return started(folder, "--crash", point, "--time", str(time)).returncode


def run_to_the_end(folder: Path) -> None:
    """Run to the end of the last batch."""
    started(folder).check_returncode()


def started(folder: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", __name__, str(folder), *options]
    return subprocess.run(command, cwd=ROOT, check=False)


def run_until_a_crash(
    run: Callable[[Path], None], crashes: Mapping[str, Callable[[End], None]]
) -> None:
    """What such a program does: all that is left to do, or what comes before a point of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--crash", default="")
    parser.add_argument("--time", type=int, default=1)
    given = parser.parse_args()
    if given.crash:
        crashes[given.crash](at_the(given.time, die))
    run(given.folder)


if __name__ == "__main__":
    run_until_a_crash(run, CRASHES)
