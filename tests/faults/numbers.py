"""Numbers through Spark within this process, and who takes them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Final

from penstock import Flow
from penstock.spark import Positioned, SparkFlow
from penstock.testing import ManualSubscriber

__all__ = ["PATIENCE", "SCHEMA", "all_of", "join_runs", "numbers_on_spark"]

SCHEMA: Final = "number long"
PATIENCE: Final = 120.0
OURS: Final = ("penstock-spark", "penstock-journal")


def as_row(number: int) -> tuple[int]:
    return (number,)


def numbers_on_spark(count: int, checkpoint: Path, **options: Any) -> SparkFlow:
    """The numbers from 0 on, on Spark."""
    options = {"name": "numbers", "batch_rows": 10, **options}
    return Flow.range(count).map(as_row).on_spark(SCHEMA, checkpoint=checkpoint, **options)


def all_of(flow: SparkFlow) -> list[tuple[int, int, int]]:
    """Run it to its end: each number with its batch and its row in that."""
    subscriber: ManualSubscriber[Positioned] = ManualSubscriber(request=1 << 40)
    flow.positioned().subscribe(subscriber)
    subscriber.await_end(PATIENCE)
    join_runs()
    if subscriber.error is not None:
        raise subscriber.error
    return [(each.value.number, each.batch, each.row) for each in subscriber.elements]


def join_runs() -> None:
    """Wait until all that runs here is over."""
    while running := [each for each in threading.enumerate() if each.name.startswith(OURS)]:
        running[0].join()
