"""How fast rows get onto the disk and back, beside a bare write of the same bytes with a sync."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyarrow as pa

from penstock.spark.journal import Journal, JournalReader

__all__ = ["report"]

ROWS: Final = 65_536
BATCHES: Final = 24
ROUNDS: Final = 9
BAR: Final = 10e6


def report() -> None:
    """Print rows per second by the wall clock, the best of some interleaved rounds."""
    batch = flights(ROWS)
    cases: dict[str, Callable[[Path], float]] = {
        "bare write and sync of the same bytes": lambda folder: bare(folder, batch),
        "journal: append with sync": lambda folder: append(folder, batch),
        "journal: read": lambda folder: read(folder, batch),
    }
    best = dict.fromkeys(cases, 0.0)
    # On a real disk, unlike many a folder for temporary files.
    for _ in range(ROUNDS):
        for name, case in cases.items():
            with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
                best[name] = max(best[name], BATCHES * ROWS / case(Path(folder)))
    print(f"{'batches of 65,536 rows (long, string, double)':42} {'M rows/s':>9}")
    for name, speed in best.items():
        print(f"{name:42} {speed / 1e6:9.1f}{verdict(name, speed)}")
    print()


def verdict(name: str, speed: float) -> str:
    """Whether the bar was met, where there is one."""
    if "append" not in name:
        return ""
    return f"  bar {BAR / 1e6:g}: {'met' if speed >= BAR else 'MISSED'}"


def flights(rows: int) -> pa.RecordBatch:
    """A batch of (long, string, double)."""
    columns = {
        "flight": pa.array(range(rows), pa.int64()),
        "origin": pa.array([f"airport {number % 100}" for number in range(rows)]),
        "delay": pa.array([number / 7 for number in range(rows)]),
    }
    return pa.record_batch(columns)


def bare(folder: Path, batch: pa.RecordBatch) -> float:
    """Seconds to write the batches as they are."""
    content = batch.serialize()
    descriptor = os.open(folder / "file", os.O_WRONLY | os.O_CREAT)
    started = time.perf_counter()
    for _ in range(BATCHES):
        os.write(descriptor, content)
        os.fsync(descriptor)
    spent = time.perf_counter() - started
    os.close(descriptor)
    return spent


def append(folder: Path, batch: pa.RecordBatch) -> float:
    """Seconds to append the batches."""
    with Journal.open(folder, batch.schema) as journal:
        started = time.perf_counter()
        for _ in range(BATCHES):
            journal.append(batch)
        return time.perf_counter() - started


def read(folder: Path, batch: pa.RecordBatch) -> float:
    """Seconds to read the batches, which are in memory, with all checksums."""
    append(folder, batch)
    started = time.perf_counter()
    rows = sum(part.num_rows for part in JournalReader(folder).read(0, BATCHES * ROWS))
    spent = time.perf_counter() - started
    assert rows == BATCHES * ROWS
    return spent
