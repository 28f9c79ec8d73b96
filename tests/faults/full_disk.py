"""A disk that gets full, under the journal or under Spark's own checkpoint."""

from __future__ import annotations

import logging
import os
import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock import Flow, Subscriber, Subscription
from penstock.spark import Positioned, SparkFlow
from penstock.testing import ManualSubscriber
from tests.faults.lost_workers import wait_for
from tests.faults.numbers import PATIENCE, SCHEMA, as_row, join_runs, numbers_on_spark

__all__ = [
    "SPARK_COUNT",
    "FullUnderJournal",
    "FullUnderSpark",
    "fill_under_spark",
    "fill_under_the_journal",
]

COUNT: Final = 30_000
SPARK_COUNT: Final = 20
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
        Flow.range(COUNT).map(as_row).subscribe(_CountedSubscription(subscriber, self))


class _CountedSubscription(Subscription):
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


class FullUnderSpark(NamedTuple):
    """What was seen: what came meanwhile, what was logged, what arrived in the end."""

    came_when_full: int
    said: list[str]
    elements: Sequence[Any]
    error: Exception | None


@contextmanager
def heard() -> Iterator[Words]:
    """What is logged meanwhile."""
    words = Words()
    logger = logging.getLogger("penstock")
    logger.addHandler(words)
    try:
        yield words
    finally:
        logger.removeHandler(words)


def fill_under_the_journal(folder: Path) -> FullUnderJournal:
    """Let the disk get full while nobody takes rows, look, and make space again."""
    with heard() as words:
        return watched_until_there_is_space(folder, words)


def watched_until_there_is_space(folder: Path, words: Words) -> FullUnderJournal:
    source = Asked()
    subscriber: ManualSubscriber[Positioned] = ManualSubscriber()
    rows = Flow.from_publisher(source).on_spark(
        SCHEMA, checkpoint=folder / "checkpoint", resume="from_start"
    )
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
    numbers = [each.value.number for each in subscriber.elements]
    return FullUnderJournal(when_full, later, words.said, numbers, subscriber.error)


def fill_under_spark(
    folder: Path, on_spark: Callable[[int, Path], SparkFlow] = numbers_on_spark
) -> FullUnderSpark:
    """Let Spark write none of its own files, then let it, while the query runs."""
    from pyspark import SparkContext

    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1 << 40)
    with heard() as words:
        with largest_file(SparkContext._gateway.proc.pid, 16):
            on_spark(SPARK_COUNT, folder / "checkpoint").subscribe(subscriber)
            wait_for(lambda: any("no space where Spark writes" in word for word in words.said))
            came_when_full = len(subscriber.elements)
        subscriber.await_end(PATIENCE)
        join_runs()
    return FullUnderSpark(came_when_full, words.said, subscriber.elements, subscriber.error)
