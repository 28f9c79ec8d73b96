"""Parts of a batch whose end is not known before they are read: who decides, and who follows."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock import Flow, Subscriber, Subscription
from penstock.flow.resume.planning import resumption_of
from penstock.flow.resume.resumption import PositionedElement
from penstock.spark.workers.partition_ends import KEPT, START, PartitionEnd, PartitionEnds
from penstock.spark.workers.partition_subscriber import (
    NotReplayed,
    PartitionSubscriber,
    taken_again,
    taken_first,
)
from penstock.tck import verify_subscriber

SOON, LONG = 0.0, 60.0


@pytest.fixture
def ends(tmp_path: Path) -> PartitionEnds:
    return PartitionEnds(str(tmp_path / "ends"))


def test_the_first_attempt_decides(ends: PartitionEnds) -> None:
    first, second = PartitionEnd(7, 3), PartitionEnd(9, 5)
    assert ends.find(1, 0) is None
    assert ends.decide(1, 0, first) == first
    assert ends.decide(1, 0, second) == first
    assert ends.find(1, 0) == first
    assert ends.find(1, 1) is None


def test_one_of_many_attempts_at_a_time_decides_for_all(ends: PartitionEnds) -> None:
    barrier = threading.Barrier(8)

    def attempt(number: int) -> PartitionEnd:
        barrier.wait()
        return ends.decide(1, 0, PartitionEnd(number, number))

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(attempt, range(8)))) == 1
    assert [path.name for path in Path(ends.place).iterdir()] == ["1-0.end"]


def test_what_no_batch_needs_is_deleted_and_ends_are_not(ends: PartitionEnds) -> None:
    for batch in range(1, 20):
        ends.decide(batch, 0, PartitionEnd(batch, 1))
    ends.decide(1, 1, PartitionEnd(None, 0, over=True))
    ends.forget_before(20, over=[1])
    kept = {f"{batch}-0.end" for batch in range(20 - KEPT, 20)}
    assert {path.name for path in Path(ends.place).iterdir()} == {"1-1.end", *kept}
    assert not ends.are_all_over(2, 1)
    ends.decide(20, 0, PartitionEnd(20, 1, over=True))
    assert ends.are_all_over(2, 1)
    assert not ends.are_all_over(3, 1)


def test_the_rows_of_a_batch_are_those_of_the_partitions_that_it_has_read(
    ends: PartitionEnds,
) -> None:
    before = [START, PartitionEnd(7, over=True), START]
    assert ends.rows_of(3, before) is None
    ends.decide(3, 0, PartitionEnd(2, 2, rows=20_000))
    assert ends.rows_of(3, before) is None
    ends.decide(3, 2, PartitionEnd(1, 1, rows=1))
    assert ends.rows_of(3, before) == 20_001


def test_rows_that_nobody_has_written_down_are_not_known(ends: PartitionEnds) -> None:
    (Path(ends.place)).mkdir()
    (Path(ends.place) / "3-0.end").write_text("[2, 2, false]")  # as it was before rows were there
    assert ends.find(3, 0) == PartitionEnd(2, 2)
    assert ends.rows_of(3, [START]) is None


def test_an_end_that_is_missing_is_named(ends: PartitionEnds) -> None:
    with pytest.raises(OSError, match=r"4-1\.end is missing, where partition 1 ended in batch 4"):
        ends.of_batch(4, [PartitionEnd(3, over=True), PartitionEnd(5)])


def test_a_place_that_cannot_tell_who_was_first_is_refused() -> None:
    with pytest.raises(ValueError, match="only a folder that all executors see, and S3"):
        PartitionEnds("hdfs://here/checkpoint")


# Taking.


def test_what_a_batch_may_have_is_taken_and_no_more() -> None:
    numbers = resumption_of(Flow.range(10))
    elements, end = taken_first(numbers, None, 4, LONG)
    assert [each.element for each in elements] == [0, 1, 2, 3]
    assert end == PartitionEnd(4, 4, rows=4)
    elements, end = taken_first(numbers, end.position, 100, LONG)
    assert [each.element for each in elements] == [4, 5, 6, 7, 8, 9]
    assert end == PartitionEnd(10, 6, over=True, rows=6)
    over = PartitionEnd(10, 0, over=True, rows=0)
    assert taken_first(numbers, end.position, 100, LONG) == ([], over)


def test_elements_that_are_batches_count_with_their_rows() -> None:
    batches = resumption_of(Flow.range(5).map(lambda n: pa.RecordBatch.from_pydict({"n": [n] * 3})))
    elements, end = taken_first(batches, None, 7, LONG)
    assert len(elements) == 3
    assert end == PartitionEnd(3, 3, rows=9)


class Slow:
    """Gives two elements, and then nothing; notes what it is asked for, and that it is left."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.cancelled = 0

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        self.subscriber = subscriber
        subscriber.on_subscribe(SlowSubscription(self))


class SlowSubscription(Subscription):
    def __init__(self, slow: Slow) -> None:
        self._slow = slow

    def request(self, n: int) -> None:
        self._slow.asked.append(n)
        self._slow.subscriber.on_next(0)
        self._slow.subscriber.on_next(1)

    def cancel(self) -> None:
        self._slow.cancelled += 1


@pytest.mark.parametrize("options", [{}, {"stops_after": 3}], ids=["all", "three"])
def test_the_subscriber_of_a_task_keeps_the_rules(options: dict[str, Any]) -> None:
    most = options.get("stops_after", 1 << 40)
    report = verify_subscriber(
        lambda: PartitionSubscriber(most),
        element=lambda number: PositionedElement(number, number),
        received=lambda subscriber: subscriber.elements,
        in_order=True,
        completed=lambda subscriber: subscriber.completed,
        failed=lambda subscriber: [] if subscriber.error is None else [subscriber.error],
        calls_nothing_cancelled=True,
        **options,
    )
    assert report.passed, str(report)


def test_a_publisher_that_subscribes_when_the_time_is_over_is_left_at_once() -> None:
    slow = Slow()
    subscriber = PartitionSubscriber(100)
    subscriber.wait(SOON)
    slow.subscribe(subscriber)
    assert slow.asked == []
    assert slow.cancelled == 1


def test_when_the_time_is_over_what_has_come_is_the_batch() -> None:
    slow = Slow()
    source = resumption_of(Flow.from_publisher(slow), repeatable=True)
    elements, end = taken_first(source, None, 100, SOON)
    assert [each.element for each in elements] == [0, 1]
    assert end == PartitionEnd(2, 2, rows=2)
    assert slow.asked == [100]
    assert slow.cancelled


def test_an_error_of_the_publisher_is_that_of_the_task() -> None:
    failing = Flow.range(10).map(lambda number: 1 // (3 - number))
    with pytest.raises(ZeroDivisionError):
        taken_first(resumption_of(failing), None, 100, LONG)


def test_another_attempt_takes_the_same() -> None:
    numbers = resumption_of(Flow.range(10))
    for end in (PartitionEnd(6, 4), PartitionEnd(10, 8), PartitionEnd(10, 8, over=True)):
        elements = taken_again(numbers, 2, end)
        assert [each.element for each in elements] == list(range(2, 2 + end.elements))
    assert taken_again(numbers, 10, PartitionEnd(10, 0, over=True)) == []


def pairs() -> Flow[int]:
    """Numbers whose positions are tuples, as those of a topic are."""

    def after(position: Sequence[int] | None) -> Flow[int]:
        return Flow.from_iterable(range(0 if position is None else position[0], 10))

    return Flow.resumable(after, position=lambda number: (number + 1, -7))


@pytest.mark.parametrize("operator", ["concat", "zip"])
def test_another_attempt_knows_where_it_ended_only_as_it_is_kept(
    ends: PartitionEnds, operator: str
) -> None:
    source, begin = resumption_of(getattr(Flow, operator)(pairs(), pairs())), START
    for batch in (1, 2):
        given, end = taken_first(source, begin.position, 4, LONG)
        ends.decide(batch, 0, end)
        kept = ends.find(batch, 0)
        assert kept is not None
        assert taken_again(source, begin.position, kept) == given
        begin = kept


def test_a_position_that_could_not_be_kept_is_refused() -> None:
    odd = Flow.resumable(lambda position: Flow.range(10), position=lambda number: {number})
    with pytest.raises(TypeError, match="position of a source must be something that JSON has"):
        taken_first(resumption_of(odd), None, 4, LONG)


@pytest.mark.parametrize("end", [PartitionEnd(12, 12), PartitionEnd("other", 4)])
def test_a_source_that_does_not_give_the_same_is_found_out(end: PartitionEnd) -> None:
    with pytest.raises(NotReplayed, match="does not give again what it gave"):
        taken_again(resumption_of(Flow.range(10)), None, end)
