"""What a journal on S3 holds in this program, and there, when nobody reads it.

``python -m benchmarks.journal_on_s3`` starts a server for it.
"""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from typing import Final

import pyarrow as pa

from benchmarks.journal import flights
from penstock.spark.journal import Journal, JournalReader
from tests.servers.s3 import S3Server, running_s3

__all__ = ["report"]

ROWS: Final = 65_536
BATCHES: Final = 12


def report() -> None:
    """Print the most bytes that were held while records were appended, and read."""
    with running_s3() as server:
        os.environ.update(server.environment)
        place = f"{server.create()}/journal"
        batch = flights(ROWS)
        record = batch.get_total_buffer_size()
        appended = most_held(lambda: append(place, batch))
        read = most_held(lambda: consume(place))
        print(f"{BATCHES} records of {record / 1e6:.1f} MB in a journal on S3, which nobody reads")
        print(f"{'held here while they are appended':38} {appended / 1e6:6.1f} MB")
        print(f"{'held here while they are read':38} {read / 1e6:6.1f} MB")
        print(f"{'objects there':38} {objects(server, place):6}\n")


def append(place: str, batch: pa.RecordBatch) -> None:
    """Record after record."""
    with Journal.open(place, batch.schema) as journal:
        for _ in range(BATCHES):
            journal.append(batch)


def consume(place: str) -> None:
    """All of it."""
    for _ in JournalReader(place).read(0, BATCHES * ROWS):
        pass


def objects(server: S3Server, place: str) -> int:
    """How many records a plain request finds."""
    return sum(name.endswith(".segment") for name in server.files(place))


def most_held(work: Callable[[], None]) -> int:
    """Of Python and of Arrow, at most."""
    pool = pa.default_memory_pool()
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    work()
    held: int = tracemalloc.get_traced_memory()[1] + max(pool.max_memory() - before, 0)
    tracemalloc.stop()
    return held


if __name__ == "__main__":
    report()
