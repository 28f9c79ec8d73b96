"""What each sink was given is known batch by batch, and after a kill what it may have twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.delivery import Epoch, Level
from penstock.observe.meters import SinkMeter
from penstock.pipeline.history import RunHistory, SinkHistory
from penstock.pipeline.sink_accounts import SinkAccounts
from penstock.testing import ManualPublisher, ManualSubscriber


class Sink:
    """A sink with a gauge, and a publisher for it."""

    def __init__(self, name: str, level: Level | None = None) -> None:
        made: Any = ManualSubscriber()
        if level is not None:
            made.level = level
        self.skipped = 0
        self.gauge = SinkMeter(
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

    def __init__(self, *sinks: Sink, before: RunHistory | None = None) -> None:
        self.history = before or RunHistory()
        self.fails: OSError | None = None
        self.accounts = SinkAccounts(None, self._keep)
        self.accounts.adopt(self.history)
        self.accounts.watch([sink.gauge for sink in sinks])
        self.accounts.open(Epoch.begun())

    def _keep(self) -> None:
        if self.fails is not None:
            raise self.fails
        self.history = self.accounts.history


def test_what_is_delivered_counts_at_once_and_stays_after_its_batch() -> None:
    sink = Sink("phone")
    kept = Kept(sink)
    for batch in range(2):
        kept.accounts.begin(batch)
        sink.take(3)
        assert kept.accounts.of(sink.gauge).delivered == 3 * batch + 3
        kept.accounts.commit(batch)
    assert kept.accounts.of(sink.gauge) == SinkHistory(delivered=6, last=3, batch=1)
    assert (kept.history.batch, kept.history.sinks["phone"].delivered) == (1, 6)


@pytest.mark.parametrize("level", ["at least once", "at most once", None])
def test_the_rows_of_a_batch_that_had_begun_when_the_run_was_killed_are_possibly_duplicated(
    level: Level | None,
) -> None:
    killed, sink = Sink("phone", level), Sink("phone", level)
    before = Kept(killed)
    before.accounts.begin(0)
    killed.take(2)
    kept = Kept(sink, before=before.history)
    kept.accounts.begin(0)
    sink.take(3)
    assert kept.accounts.of(sink.gauge).possibly_duplicated == 3
    kept.accounts.commit(0)
    kept.accounts.begin(1)
    sink.take(4)
    kept.accounts.commit(1)
    assert kept.history.sinks["phone"] == SinkHistory(7, 4, 1, possibly_duplicated=3)


def test_a_batch_that_is_killed_twice_may_be_there_three_times() -> None:
    history = RunHistory()
    for _ in range(2):
        sink = Sink("phone")
        kept = Kept(sink, before=history)
        kept.accounts.begin(0)
        sink.take(3)
        history = kept.history
    sink = Sink("phone")
    kept = Kept(sink, before=history)
    kept.accounts.begin(0)
    sink.take(3)
    kept.accounts.commit(0)
    assert kept.history.sinks["phone"] == SinkHistory(3, 3, 0, possibly_duplicated=6)


def test_a_batch_that_was_all_given_and_not_committed_is_delivered_once() -> None:
    killed, sink = Sink("phone"), Sink("phone")
    before = Kept(killed)
    before.accounts.begin(0)
    killed.take(3)
    before.accounts.commit(0)  # and then Spark was killed
    kept = Kept(sink, before=before.history)
    kept.accounts.begin(0)
    sink.take(2)
    assert kept.accounts.of(sink.gauge).delivered == 3
    sink.take(1)
    kept.accounts.commit(0)
    assert kept.history.sinks["phone"] == SinkHistory(3, 3, 0, possibly_duplicated=3)


def test_two_batches_that_come_again_are_delivered_once_each() -> None:
    """Spark does not sync its log: after a power failure its end may be gone."""
    killed, sink = Sink("phone"), Sink("phone")
    before, history = Kept(killed), RunHistory()
    for batch, rows in ((0, 3), (1, 4)):
        before.accounts.begin(batch)
        killed.take(rows)
        before.accounts.commit(batch)
        history = before.history
    kept = Kept(sink, before=history)
    for batch, rows in ((0, 3), (1, 4), (2, 5)):
        kept.accounts.begin(batch)
        sink.take(rows)
        kept.accounts.commit(batch)
    assert kept.history.sinks["phone"] == SinkHistory(12, 5, 2, possibly_duplicated=7)


def test_a_batch_of_which_no_row_was_given_before_the_kill_is_no_duplicate() -> None:
    sink = Sink("phone")
    kept = Kept(sink, before=RunHistory(begun=3, batch=3))
    kept.accounts.begin(4)
    sink.take(3)
    kept.accounts.commit(4)
    assert kept.history.sinks["phone"].possibly_duplicated == 0


def recognises(sink: Sink) -> None:
    sink.skipped += 3


def tells(sink: Sink) -> None:
    sink.gauge.made.duplicated = 1


@pytest.mark.parametrize(
    ("level", "does", "history"),
    [
        ("exactly once", recognises, SinkHistory(3, 3, 0, recognised=3)),
        ("exactly once", lambda sink: None, SinkHistory(3, 3, 0)),
        ("at least once", recognises, SinkHistory(3, 3, 0, recognised=3)),
        ("at least once", tells, SinkHistory(3, 3, 0, duplicated=1)),
    ],
)
def test_a_sink_that_knows_a_batch_has_nothing_twice(
    level: Level, does: Callable[[Sink], None], history: SinkHistory
) -> None:
    sink = Sink("file", level)
    kept = Kept(sink, before=RunHistory(begun=0, attempts=1))
    if does is tells:
        sink.gauge.made.duplicated = 0
    kept.accounts.begin(0)
    sink.take(3)
    does(sink)
    kept.accounts.commit(0)
    assert kept.history.sinks["file"] == history


def test_the_last_batch_of_which_a_sink_had_rows_is_known_and_no_other_is_missed() -> None:
    phone, board = Sink("phone"), Sink("board")
    kept = Kept(phone, board)
    for batch, (to_phone, to_board) in enumerate(((3, 0), (2, 1), (0, 4), (0, 0))):
        kept.accounts.begin(batch)
        phone.take(to_phone)
        board.take(to_board)
        kept.accounts.commit(batch)
    assert kept.history.had_by_sinks(done=3) == {"phone": 1, "board": 2}
    assert kept.history.had_by_sinks(done=1) == {"phone": 1, "board": 1}  # batch 2 comes again
    assert kept.history.had_by_sinks(done=-1) == {"phone": -1, "board": -1}


def test_what_a_sink_says_itself_is_added_to_what_it_said_in_earlier_runs() -> None:
    sink = Sink("board")
    sink.gauge.made.duplicated = 2
    sink.gauge.made.recognised = 5
    earlier = SinkHistory(delivered=10, last=1, duplicated=1, recognised=7)
    kept = Kept(sink, before=RunHistory(begun=0, batch=0, sinks={"board": earlier}))
    kept.accounts.begin(1)
    kept.accounts.commit(1)
    assert kept.history.sinks["board"] == SinkHistory(10, 0, duplicated=3, recognised=12)


def test_within_a_run_only_the_rows_that_were_given_before_may_be_there_twice() -> None:
    sink = Sink("phone")
    kept = Kept(sink)
    kept.accounts.begin(0)
    sink.take(2)
    kept.accounts.begin(0)  # a worker was lost
    sink.take(5)
    kept.accounts.commit(0)
    assert kept.history.sinks["phone"] == SinkHistory(5, 5, 0, possibly_duplicated=2)


def test_a_history_that_cannot_be_written_stops_nothing_and_is_written_later() -> None:
    sink = Sink("phone")
    kept = Kept(sink)
    kept.fails = OSError("no space left")
    kept.accounts.begin(0)
    sink.take(2)
    kept.accounts.commit(0)
    assert kept.history == RunHistory()
    kept.fails = None
    kept.accounts.change(lambda history: replace(history, lost=1))
    assert (kept.history.lost, kept.history.sinks["phone"].delivered) == (1, 2)
