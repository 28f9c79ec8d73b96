"""The program that is killed: numbers through Spark into a ledger, from wherever it was.

``python -m tests.faults.pipeline_process FOLDER COUNT`` goes on with what is in the folder. With
``--crash POINT`` it kills its own process group as soon as it comes to that point. ``--source``
says where the numbers come from.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

from penstock import Flow, Subscription
from penstock.connectors import read_json_lines
from penstock.spark import Positioned, run
from penstock.spark.egress import batch_delivery as emitter
from penstock.spark.ingest import journal_subscriber as recorder
from penstock.spark.journal import local_store
from tests.faults.crashing import around, nothing
from tests.faults.ledger import Entry, Ledger, written
from tests.faults.processes import MARK, marked

__all__ = ["CRASHES", "PipelineProcess", "batch_rows"]

ROOT: Final = Path(__file__).parents[2]
FEWEST_BATCH_ROWS: Final = 2_000
MOST_BATCHES: Final = 200
BATCHES_IN_JOURNAL: Final = 4
MAX_BYTES: Final = 1 << 19
"""So that a journal of this size consists of several files."""
DEMAND: Final = 512
LEDGER: Final = "ledger"
LAST_WORD: Final = "last-word"


class PipelineProcess:
    """The program, seen from the test that kills it."""

    def __init__(self, folder: Path, count: int, *, crash: str = "", source: str = "range") -> None:
        self.folder = folder
        self.ledger = folder / LEDGER
        self._mark = uuid.uuid4().hex
        self._before = written(self.ledger)
        command = [sys.executable, "-m", __name__, str(folder), str(count)]
        command += ["--crash", crash, "--source", source]
        self._said = (folder / "said").open("a+")
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, MARK: self._mark},
            stdout=self._said,
            stderr=self._said,
            start_new_session=True,
        )

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def delivered(self) -> int:
        """The entries that this process has added."""
        return written(self.ledger) - self._before

    def kill(self, *, alone: bool) -> None:
        """Kill it, alone or with all that it has started in its group."""
        (os.kill if alone else os.killpg)(self._process.pid, signal.SIGKILL)

    def wait(self, patience: float) -> int:
        """Wait for the end; the exit code."""
        code = self._process.wait(patience)
        self._said.close()
        return code

    def orphans(self, patience: float) -> list[int]:
        """Those that the dead process has started and that are still there after a while."""
        pause = threading.Event()
        for _ in range(int(patience / 0.1)):
            if not marked(self._mark):
                break
            pause.wait(0.1)
        return marked(self._mark)

    @property
    def said(self) -> str:
        """What all processes in this folder have printed."""
        return (self.folder / "said").read_text()

    @property
    def last_word(self) -> str:
        """The point at which the process killed itself."""
        return (self.folder / LAST_WORD).read_text()


class Sink:
    """Writes each row into the ledger before it takes the next one."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._taken = 0
        self.over = threading.Event()
        self.error: Exception | None = None

    def on_subscribe(self, subscription: Subscription) -> None:
        self._subscription = subscription
        subscription.request(DEMAND)

    def on_next(self, element: Positioned) -> None:
        self._ledger.add(Entry(element.value.number, element.batch, element.row))
        self._taken += 1
        if self._taken % DEMAND == 0:
            self._subscription.request(DEMAND)

    def on_error(self, error: Exception) -> None:
        self.error = error
        self.over.set()

    def on_complete(self) -> None:
        self.over.set()


def batch_rows(count: int) -> int:
    """How many rows a batch has at most in a pipeline of ``count`` numbers."""
    return max(FEWEST_BATCH_ROWS, count // MOST_BATCHES)


def as_row(number: int) -> tuple[int]:
    return (number,)


def in_range(folder: Path, count: int) -> Flow[int]:
    """In sequence."""
    return Flow.range(count)


def merged(folder: Path, count: int) -> Flow[int]:
    """A third from a file, a third with positions, and a third of ranges that are merged."""
    file = folder / "numbers.jsonl"
    if not file.exists():
        unfinished = file.with_suffix(".new")  # the program may be killed at any moment
        unfinished.write_text("\n".join(map(str, range(0, count, 3))))
        unfinished.rename(file)

    def after(position: int | None) -> Flow[int]:
        return Flow.range(1 if position is None else position + 3, count, 3)

    halves = Flow.range(2, count, 6), Flow.range(5, count, 6)
    return Flow.merge(
        read_json_lines(file),
        Flow.resumable(after, position=lambda number: number).filter(lambda number: number >= 0),
        Flow.merge(*halves),
    )


SOURCES: Final = {"range": in_range, "merged": merged}


def pipeline(folder: Path, count: int, source: str) -> Flow[Positioned]:
    return (
        SOURCES[source](folder, count)
        .map(as_row)
        .on_spark(
            "number long",
            name="ledger",
            checkpoint=folder / "checkpoint",
            batch_rows=batch_rows(count),
            max_rows=batch_rows(count) * BATCHES_IN_JOURNAL,
            max_bytes=MAX_BYTES,
        )
        .positioned()
    )


# Where the program can kill itself. Each function puts the end of everything into one of ours.


def die(folder: Path, point: str, *arguments: object) -> NoReturn:
    (folder / LAST_WORD).write_text(point)
    os.killpg(0, signal.SIGKILL)
    raise AssertionError("unreachable")


End = Callable[..., object]


def before_the_sync(end: End) -> None:
    around(local_store, "sync_content", before=end, after=nothing)


def after_the_sync(end: End) -> None:
    around(local_store, "sync_content", before=nothing, after=end)


def when_the_batch_is_planned(end: End) -> None:
    around(run.SparkRun, "_deliver", before=end, after=nothing)


def amid_the_rows(end: End) -> None:
    def look(sink: Sink, element: Positioned) -> None:
        if element.row == FEWEST_BATCH_ROWS // 2:
            end()

    around(Sink, "on_next", before=nothing, after=look)


def when_the_sink_has_all(end: End) -> None:
    around(emitter.BatchHandoff, "deliver", before=nothing, after=end)


def when_the_commit_is_written(end: End) -> None:
    # Called with what Spark's commit log says, before anything is freed.
    around(recorder.JournalSubscriber, "committed", before=end, after=nothing)


def when_rows_are_let_go(end: End) -> None:
    around(local_store.LocalStore, "delete", before=nothing, after=end)


CRASHES: Final = {
    "journal append, before the sync": before_the_sync,
    "journal append, after the sync": after_the_sync,
    "offsets written, nothing delivered": when_the_batch_is_planned,
    "half of the rows delivered": amid_the_rows,
    "sink has all rows, commit not written": when_the_sink_has_all,
    "commit written, rows not freed": when_the_commit_is_written,
    "a segment of the journal deleted": when_rows_are_let_go,
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("count", type=int)
    parser.add_argument("--crash", default="")
    parser.add_argument("--source", default="range", choices=SOURCES)
    given = parser.parse_args()
    if given.crash:
        CRASHES[given.crash](partial(die, given.folder, given.crash))
    ledger = Ledger(given.folder / LEDGER)
    sink = Sink(ledger)
    pipeline(given.folder, given.count, given.source).subscribe(sink)
    sink.over.wait()
    ledger.close()
    if sink.error is not None:
        sys.stderr.write(f"{type(sink.error).__name__}: {sink.error}\n")
    return 0 if sink.error is None else 1


if __name__ == "__main__":
    sys.exit(main())
