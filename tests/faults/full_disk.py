"""A disk that gets full, under the journal or under Spark's own checkpoint."""

from __future__ import annotations

import logging
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock import Flow, Subscriber, Subscription
from penstock.spark import Positioned
from penstock.testing import ManualSubscriber
from tests.faults.lost_workers import wait_for
from tests.faults.numbers import PATIENCE, SCHEMA, all_of, as_row, join_runs, numbers_on_spark

__all__ = ["FullUnderJournal", "fill_under_spark", "fill_under_the_journal"]

COUNT: Final = 30_000
SPACE: Final = 100_000
"""The most bytes of a file: less than a third of what the journal needs for all numbers."""


@contextmanager
def largest_file(process: int, size: int) -> Iterator[None]:
    """Let a process write no file beyond this size."""
    before = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, before)


class Words(logging.Handler):
    """What penstock logs."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


class Asked:
    """All numbers as rows, and how many of them were ever asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        Flow.range(COUNT).map(as_row).subscribe(_Behind(subscriber, self))


class _Behind(Subscription):
    """The subscriber of such a source, and its subscription."""

    def __init__(self, subscriber: Subscriber[Any], source: Asked) -> None:
        self._source = source
        self._subscriber = subscriber
        self.on_next = subscriber.on_next
        self.on_error = subscriber.on_error
        self.on_complete = subscriber.on_complete

    def on_subscribe(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self._subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        self._source.asked += n
        self._subscription.request(n)

    def cancel(self) -> None:
        self._subscription.cancel()


class FullUnderJournal(NamedTuple):
    """What was seen: what the source was asked for, what was logged, what arrived in the end."""

    asked_when_full: int
    asked_later: int
    said: list[str]
    numbers: list[int]
    error: Exception | None


def fill_under_the_journal(folder: Path) -> FullUnderJournal:
    """Let the disk get full while nobody takes rows, look, and make space again."""
    words = Words()
    logger = logging.getLogger("penstock")
    logger.addHandler(words)
    source = Asked()
    subscriber: ManualSubscriber[Positioned] = ManualSubscriber()
    rows = Flow.from_publisher(source).on_spark(SCHEMA, checkpoint=folder / "checkpoint")
    try:
        with largest_file(os.getpid(), SPACE):
            rows.positioned().subscribe(subscriber)
            wait_for(lambda: any("no space left" in word for word in words.said))
            when_full = source.asked
            subscriber.request(1)
            subscriber.await_elements(1, PATIENCE)
            later = source.asked
        subscriber.request(1 << 40)
        subscriber.await_end(PATIENCE)
    finally:
        subscriber.cancel()
        join_runs()
        logger.removeHandler(words)
    numbers = [each.value.number for each in subscriber.elements]
    return FullUnderJournal(when_full, later, words.said, numbers, subscriber.error)


def fill_under_spark(folder: Path) -> tuple[Exception, list[tuple[int, int, int]]]:
    """Let Spark's own files not be written, then let them: the error, and what arrives then."""
    from pyspark import SparkContext

    try:
        with largest_file(SparkContext._gateway.proc.pid, 16):
            all_of(numbers_on_spark(20, folder / "checkpoint"))
    except Exception as error:
        return error, all_of(numbers_on_spark(20, folder / "checkpoint"))
    raise AssertionError("Spark wrote its checkpoint onto a full disk")
