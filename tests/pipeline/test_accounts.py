"""What each sink was given is known batch by batch, and after a kill what it may have twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.delivery import Epoch, Level
from penstock.pipeline.accounts import Accounts
from penstock.pipeline.books import Books, SinkBooks
from penstock.pipeline.gauges import SinkGauge
from penstock.testing import ManualPublisher, ManualSubscriber


class Sink:
    """A sink with a gauge, and a publisher for it."""

    def __init__(self, name: str, level: Level | None = None) -> None:
        made: Any = ManualSubscriber()
        if level is not None:
            made.level = level
        self.skipped = 0
        self.gauge = SinkGauge(
            name, made, made, None, lambda sink, error: None, lambda: self.skipped
        )
        self.publisher: ManualPublisher[int] = ManualPublisher()
        self.publisher.subscribe(self.gauge)
        made.request(100)

    def take(self, count: int) -> None:
        for number in range(count):
            self.publisher.next(number)


class Kept:
    """What a run of these sinks has written down; a kill leaves just that."""

    def __init__(self, *sinks: Sink, before: Books | None = None) -> None:
        self.books = before or Books()
        self.fails: OSError | None = None
        self.accounts = Accounts(None, self._keep)
        self.accounts.adopt(self.books)
        self.accounts.watch([sink.gauge for sink in sinks])
        self.accounts.open(Epoch.begun())

    def _keep(self) -> None:
        if self.fails is not None:
            raise self.fails
        self.books = self.accounts.books


def test_what_is_delivered_counts_at_once_and_stays_after_its_batch() -> None:
    sink = Sink("phone")
    kept = Kept(sink)
    for batch in range(2):
        kept.accounts.begin(batch)
        sink.take(3)
        assert kept.accounts.of(sink.gauge).delivered == 3 * batch + 3
        kept.accounts.commit(batch)
    assert kept.accounts.of(sink.gauge) == SinkBooks(delivered=6, last=3)
    assert (kept.books.batch, kept.books.sinks["phone"].delivered) == (1, 6)


@pytest.mark.parametrize("level", ["at least once", "at most once", None])
def test_the_rows_of_a_batch_that_had_begun_when_the_run_was_killed_are_possibly_duplicated(
    level: Level | None,
) -> None:
    killed, sink = Sink("phone", level), Sink("phone", level)
    before = Kept(killed)
    before.accounts.begin(0)
    killed.take(2)
    kept = Kept(sink, before=before.books)
    kept.accounts.begin(0)
    sink.take(3)
    assert kept.accounts.of(sink.gauge).possibly_duplicated == 3
    kept.accounts.commit(0)
    kept.accounts.begin(1)
    sink.take(4)
    kept.accounts.commit(1)
    assert kept.books.sinks["phone"] == SinkBooks(7, 4, possibly_duplicated=3)


def test_a_batch_that_is_killed_twice_may_be_there_three_times() -> None:
    books = Books()
    for _ in range(2):
        sink = Sink("phone")
        kept = Kept(sink, before=books)
        kept.accounts.begin(0)
        sink.take(3)
        books = kept.books
    sink = Sink("phone")
    kept = Kept(sink, before=books)
    kept.accounts.begin(0)
    sink.take(3)
    kept.accounts.commit(0)
    assert kept.books.sinks["phone"] == SinkBooks(3, 3, possibly_duplicated=6)


def test_a_batch_that_was_all_given_and_not_committed_is_delivered_once() -> None:
    killed, sink = Sink("phone"), Sink("phone")
    before = Kept(killed)
    before.accounts.begin(0)
    killed.take(3)
    before.accounts.commit(0)  # and then Spark was killed
    kept = Kept(sink, before=before.books)
    kept.accounts.begin(0)
    sink.take(2)
    assert kept.accounts.of(sink.gauge).delivered == 3
    sink.take(1)
    kept.accounts.commit(0)
    assert kept.books.sinks["phone"] == SinkBooks(3, 3, possibly_duplicated=3)


def test_two_batches_that_come_again_are_delivered_once_each() -> None:
    """Spark does not sync its log: after a power failure its end may be gone."""
    killed, sink = Sink("phone"), Sink("phone")
    before, books = Kept(killed), Books()
    for batch, rows in ((0, 3), (1, 4)):
        before.accounts.begin(batch)
        killed.take(rows)
        before.accounts.commit(batch)
        books = before.books
    kept = Kept(sink, before=books)
    for batch, rows in ((0, 3), (1, 4), (2, 5)):
        kept.accounts.begin(batch)
        sink.take(rows)
        kept.accounts.commit(batch)
    assert kept.books.sinks["phone"] == SinkBooks(12, 5, possibly_duplicated=7)


def test_a_batch_of_which_no_row_was_given_before_the_kill_is_no_duplicate() -> None:
    sink = Sink("phone")
    kept = Kept(sink, before=Books(begun=3, batch=3))
    kept.accounts.begin(4)
    sink.take(3)
    kept.accounts.commit(4)
    assert kept.books.sinks["phone"].possibly_duplicated == 0


def recognises(sink: Sink) -> None:
    sink.skipped += 3


def tells(sink: Sink) -> None:
    sink.gauge.made.duplicated = 1


@pytest.mark.parametrize(
    ("level", "does", "books"),
    [
        ("exactly once", recognises, SinkBooks(3, 3, recognised=3)),
        ("exactly once", lambda sink: None, SinkBooks(3, 3)),
        ("at least once", recognises, SinkBooks(3, 3, recognised=3)),
        ("at least once", tells, SinkBooks(3, 3, duplicated=1)),
    ],
)
def test_a_sink_that_knows_a_batch_has_nothing_twice(
    level: Level, does: Callable[[Sink], None], books: SinkBooks
) -> None:
    sink = Sink("file", level)
    kept = Kept(sink, before=Books(begun=0, attempts=1))
    if does is tells:
        sink.gauge.made.duplicated = 0
    kept.accounts.begin(0)
    sink.take(3)
    does(sink)
    kept.accounts.commit(0)
    assert kept.books.sinks["file"] == books


def test_what_a_sink_says_itself_is_added_to_what_it_said_in_earlier_runs() -> None:
    sink = Sink("board")
    sink.gauge.made.duplicated = 2
    sink.gauge.made.recognised = 5
    earlier = SinkBooks(delivered=10, last=1, duplicated=1, recognised=7)
    kept = Kept(sink, before=Books(begun=0, batch=0, sinks={"board": earlier}))
    kept.accounts.begin(1)
    kept.accounts.commit(1)
    assert kept.books.sinks["board"] == SinkBooks(10, 0, duplicated=3, recognised=12)


def test_within_a_run_only_the_rows_that_were_given_before_may_be_there_twice() -> None:
    sink = Sink("phone")
    kept = Kept(sink)
    kept.accounts.begin(0)
    sink.take(2)
    kept.accounts.begin(0)  # a worker was lost
    sink.take(5)
    kept.accounts.commit(0)
    assert kept.books.sinks["phone"] == SinkBooks(5, 5, possibly_duplicated=2)


def test_books_that_cannot_be_written_stop_nothing_and_are_written_later() -> None:
    sink = Sink("phone")
    kept = Kept(sink)
    kept.fails = OSError("no space left")
    kept.accounts.begin(0)
    sink.take(2)
    kept.accounts.commit(0)
    assert kept.books == Books()
    kept.fails = None
    kept.accounts.change(lambda books: replace(books, lost=1))
    assert (kept.books.lost, kept.books.sinks["phone"].delivered) == (1, 2)
