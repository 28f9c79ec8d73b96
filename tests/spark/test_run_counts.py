"""What a run through Spark shows of itself, over a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock import Flow
from penstock.observe.meters import RECENT, EmittedMeter, RecentCounter
from penstock.spark import UserError
from penstock.spark.deployment import Deployment, deployed
from penstock.spark.run import SparkRun
from penstock.spark.run_counts import RunCounts


def test_a_tally_counts_all_and_remembers_the_last() -> None:
    tally = RecentCounter()
    for number in range(RECENT + 2):
        tally.add(number)
    assert tally.count == RECENT + 2
    assert [seen.thing for seen in tally.last] == list(range(2, RECENT + 2))


def test_what_has_come_out_is_counted_in_elements_and_in_rows() -> None:
    emitted = EmittedMeter()
    for element in (7, pa.record_batch([pa.array([1, 2, 3])], names=["number"])):
        assert emitted.passed(element) is element
    assert (emitted.count, emitted.rows) == (2, 4)


class Watched:
    """A flow on Spark, and its run."""

    def __init__(self, source: Flow[Any], function: Any, **place: Any) -> None:
        through = source.on_spark(
            "number long", resume="from_start", dead_letters=lambda letter: None
        ).map(function)
        self.flow: Any = deployed(through, Deployment(name="gauged", watch=self._began, **place))

    def _began(self, run: SparkRun) -> None:
        self.run = run

    def reading(self) -> RunCounts:
        """What the run shows."""
        return self.run.snapshot()

    def drained_at(self, number: int) -> RunCounts:
        """What the run shows when it was let go after this row."""
        drain = self.flow.do_on_next(lambda row: row.number == number and self.run.drain())
        drain.to_list().run_sync()
        return self.reading()


def endless(*elements: Any) -> Flow[Any]:
    return Flow.concat(Flow.of(*elements), Flow.never())


def unchanged(row: Any) -> Any:
    return row


@pytest.mark.usefixtures("spark")
@pytest.mark.timeout(300)
def test_a_run_knows_what_was_before_it_and_counts_its_own(tmp_path: Path) -> None:
    place = str(tmp_path / "checkpoint")
    first = Watched(endless((1,), ("two",), (3,)), unchanged, checkpoint=place).drained_at(3)
    (taken,) = first.inputs
    assert (taken.taken_before, taken.rows_before, taken.done_before) == (0, 0, 0)
    assert (taken.taken, taken.end, taken.done, taken.dead_letters) == (3, 2, 2, 1)
    assert (first.emitted, first.emitted_rows, first.failure) == (2, 2, None)
    assert [seen.thing.number for seen in first.last_emitted] == [1, 3]

    source = endless((1,), ("two",), (3,), ("four",), (5,))
    second = Watched(source, unchanged, checkpoint=place).drained_at(5)
    (taken,) = second.inputs
    assert (taken.taken_before, taken.rows_before, taken.done_before) == (3, 2, 2)
    assert (taken.taken, taken.end, taken.done) == (5, 3, 3)
    assert (taken.dead_letters, taken.all_dead_letters) == (1, 2)
    assert "'four'" in taken.last_dead_letters[0].thing
    assert second.emitted == 1
    assert second.done_batch > first.done_batch >= 0


@pytest.mark.usefixtures("spark")
@pytest.mark.timeout(300)
def test_a_run_shows_the_failure_of_spark_and_not_that_of_its_source() -> None:
    on_spark = Watched(Flow.of((0,)), lambda row: (1 // row.number,))
    with pytest.raises(UserError) as raised:
        on_spark.flow.to_list().run_sync()
    failure = on_spark.reading().failure
    assert failure is not None
    assert failure.thing is raised.value

    at_source = Watched(Flow.concat(Flow.of((1,)), Flow.error(OSError("gone"))), unchanged)
    with pytest.raises(OSError, match="gone"):
        at_source.flow.to_list().run_sync()
    assert at_source.reading().failure is None
