"""Publishers that run in Spark's tasks: what is asked for, what comes out, and how it goes on."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import Flow, Publisher, Subscriber, Subscription
from penstock.connectors import read_sqlite
from penstock.flow.resume.planning import CannotResume
from penstock.spark import CheckpointError, SparkFlow, UserError
from tests.spark.test_resuming import insert
from tests.spark.test_spark_flow import Waiting, result

pytestmark = [pytest.mark.read_limits, pytest.mark.timeout(300)]

SCHEMA = "partition long, number long"
PARTITIONS = 3
EACH = 250


def numbers(partition: int) -> Flow[tuple[int, int]]:
    return Flow.range(EACH).map(lambda number: (partition, number))


ALL = [(partition, number) for partition in range(PARTITIONS) for number in range(EACH)]


def partitioned(make: Callable[[int], Publisher[Any]] = numbers, **options: Any) -> SparkFlow:
    return SparkFlow.partitioned(make, partitions=PARTITIONS, schema=SCHEMA, **options)


def noting(folder: Path) -> Callable[[int], Publisher[Any]]:
    """Numbers that can go on after one of them; what is asked for is noted in files."""
    place = str(folder)

    def make(partition: int) -> Publisher[Any]:
        def after(position: int | None) -> Publisher[Any]:
            first = 0 if position is None else position + 1
            note(place, f"from-{partition}", str(first))
            rest = Flow.range(first, EACH).map(lambda number: (partition, number))
            return Asked(rest, lambda n: note(place, f"asked-{partition}", str(n)))

        return Flow.resumable(after, position=lambda row: row[1])

    return make


class Asked:
    """A publisher that tells what is asked of it."""

    def __init__(self, publisher: Publisher[Any], tell: Callable[[int], None]) -> None:
        self._publisher = publisher
        self._tell = tell

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        self._publisher.subscribe(AskedSubscriber(subscriber, self._tell))


class AskedSubscriber:
    def __init__(self, subscriber: Subscriber[Any], tell: Callable[[int], None]) -> None:
        self._tell = tell
        self._subscriber = subscriber
        self.on_next = subscriber.on_next
        self.on_error = subscriber.on_error
        self.on_complete = subscriber.on_complete

    def on_subscribe(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self.cancel = subscription.cancel
        self._subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        self._tell(n)
        self._subscription.request(n)


def note(place: str, name: str, line: str) -> None:
    file = os.open(f"{place}/{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, f"{line}\n".encode())
    os.close(file)


def noted(folder: Path, name: str) -> list[int]:
    return [int(line) for line in (folder / name).read_text().split()]


def test_each_row_of_each_publisher_comes_out_once_and_batches_are_bounded() -> None:
    batches = result(partitioned(batch_rows=300).numbered_batches())
    rows = [tuple(row.values()) for batch in batches for row in batch.table.to_pylist()]
    assert sorted(rows) == ALL
    assert [batch.table.num_rows for batch in batches] == [300, 300, 150]


def test_a_task_asks_for_its_part_of_a_batch_and_goes_on_after_it(tmp_path: Path) -> None:
    doubled = partitioned(noting(tmp_path), batch_rows=300).map(
        lambda row: (row.partition, 2 * row.number)
    )
    assert sorted(map(tuple, result(doubled.rows()))) == [(each, 2 * n) for each, n in ALL]
    for partition in range(PARTITIONS):
        assert noted(tmp_path, f"from-{partition}") == [0, 100, 200]
        assert noted(tmp_path, f"asked-{partition}") == [100, 100, 100]


def test_spark_writes_them_and_no_row_comes_here(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert result(partitioned(batch_rows=300).write("parquet", path=str(out))) == []
    written = pq.read_table(out).to_pylist()
    assert sorted((row["partition"], row["number"]) for row in written) == ALL


def test_nothing_is_read_while_nothing_is_wanted_and_a_run_goes_on(tmp_path: Path) -> None:
    made, checkpoint = noting(tmp_path), tmp_path / "checkpoint"
    flow = partitioned(made, batch_rows=300, checkpoint=checkpoint)
    flow.numbered_batches().subscribe(subscriber := Waiting())
    assert not list(tmp_path.glob("from-*"))
    subscriber.request(1)
    subscriber.wait_for(lambda: subscriber.elements)
    first = subscriber.elements[0]
    subscriber.cancel()
    rest = result(partitioned(made, batch_rows=300, checkpoint=checkpoint).numbered_batches())
    # The batch that was delivered when it was cancelled comes again, as the same.
    again = {batch.batch_id: batch for batch in [first, *rest]}
    if rest[0].batch_id == first.batch_id:
        assert sorted(map(str, rest[0].table.to_pylist())) == sorted(
            map(str, first.table.to_pylist())
        )
    rows = [tuple(row.values()) for batch in again.values() for row in batch.table.to_pylist()]
    assert sorted(rows) == ALL
    assert result(partitioned(made, checkpoint=checkpoint).rows()) == []


def test_it_is_united_with_what_comes_from_this_program() -> None:
    here = Flow.from_iterable([(9, number) for number in range(20)]).on_spark(SCHEMA)
    rows = result(partitioned(batch_rows=900).union(here).rows())
    assert Counter(row.partition for row in rows) == {0: EACH, 1: EACH, 2: EACH, 9: 20}


def test_functions_run_in_the_task_that_reads_and_in_no_other_process() -> None:
    def here(partition: int) -> Flow[Any]:
        return Flow.of(0).map(lambda _: (partition, os.getpid()))

    flow = partitioned(here).map_batches(in_parts_of_one).filter(lambda row: row.partition)
    found = flow.map(
        lambda row: (row.partition, row.number, os.getpid()),
        schema="partition long, read long, computed long",
    )
    rows = result(found.rows())
    assert sorted(row.partition for row in rows) == [1, 2]
    assert all(row.read == row.computed for row in rows)


def in_parts_of_one(batch: pa.RecordBatch) -> pa.RecordBatch:
    assert batch.num_rows == 1  # an empty one is given to nobody
    return batch


def test_a_batch_of_which_functions_leave_nothing_is_no_end() -> None:
    rows = result(partitioned(batch_rows=300).filter(lambda row: row.number >= 200).rows())
    assert sorted(map(tuple, rows)) == [row for row in ALL if row[1] >= 200]


def test_a_function_that_fails_is_named_with_its_operator() -> None:
    flow = partitioned().map(lambda row: (row.partition, 1 // (7 - row.number)))
    with pytest.raises(UserError, match=r"ZeroDivisionError.*\(in map, at .*test_partitioned.py"):
        result(flow.rows())


def test_a_publisher_that_fails_fails_the_stream_with_its_error() -> None:
    def failing(partition: int) -> Flow[Any]:
        return numbers(partition).map(lambda row: (row[0], 1 // (7 - row[1])))

    with pytest.raises(UserError, match="ZeroDivisionError"):
        result(partitioned(failing).rows())


def test_an_element_that_does_not_fit_is_named_with_its_partition() -> None:
    def odd(partition: int) -> Flow[Any]:
        return Flow.from_iterable([(partition, "x" if partition == 2 else 1)])

    with pytest.raises(UserError, match=r"partition 2: 'x' in field 'number' does not fit"):
        result(partitioned(odd).rows())


# Refusals, before Spark is started.


def test_a_publisher_that_cannot_go_on_is_refused() -> None:
    live: Flow[Any] = Flow.create(lambda sink: None, overflow="latest")
    with pytest.raises(CannotResume, match="partitioned reads a partition again when a task fails"):
        partitioned(lambda partition: live)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"make": lambda partition: 7}, "needs a function that makes a publisher .* 0 .* made 7"),
        ({"make": 7}, "partitioned .* 7"),
        ({"batch_rows": 0}, "batch_rows"),
        ({"within": -1}, "within"),
        ({"resume": "none"}, "resume is 'from_start' or None, not 'none'"),
    ],
    ids=["no publisher", "no function", "batch_rows", "within", "resume"],
)
def test_a_wrong_argument_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        partitioned(**options)


def tables_in(folder: Path) -> Callable[[int], Flow[Any]]:
    """The numbers in a table for each partition."""

    def read(partition: int) -> Flow[Any]:
        query = "SELECT number FROM numbers"
        rows = read_sqlite(folder / f"{partition}.db", query, key="number")
        return rows.map(lambda row: (partition, row["number"]))

    return read


def test_each_run_takes_what_has_come_since_the_last_one_completed(tmp_path: Path) -> None:
    given = [0] * PARTITIONS
    for more in ((3, 40, 0), (0, 0, 0), (0, 2, 7), (35, 0, 0)):
        expected = []
        for partition, size in enumerate(more):
            first, given[partition] = given[partition], given[partition] + size
            numbers = range(first, first + size)
            insert(tmp_path / f"{partition}.db", numbers)
            expected += [(partition, number) for number in numbers]
        flow = partitioned(tables_in(tmp_path), batch_rows=30, checkpoint=tmp_path / "checkpoint")
        assert sorted(map(tuple, result(flow.rows()))) == expected


def test_a_run_that_was_stopped_leaves_none_behind_that_was_through(tmp_path: Path) -> None:
    """One publisher has completed when the run is cancelled, and has more in the next one."""
    for partition, size in enumerate((2, 200, 200)):
        insert(tmp_path / f"{partition}.db", range(size))
    options: dict[str, Any] = {"batch_rows": 30, "checkpoint": tmp_path / "checkpoint"}
    flow = partitioned(tables_in(tmp_path), **options).numbered_batches()
    flow.subscribe(subscriber := Waiting())
    subscriber.request(3)
    subscriber.wait_for(lambda: len(subscriber.elements) == 3)
    subscriber.cancel()
    insert(tmp_path / "0.db", range(2, 30))
    rest = result(partitioned(tables_in(tmp_path), **options).numbered_batches())
    batches = {batch.batch_id: batch.table for batch in [*subscriber.elements, *rest]}
    rows = [tuple(row.values()) for table in batches.values() for row in table.to_pylist()]
    sizes = enumerate((30, 200, 200))
    assert sorted(rows) == [(each, number) for each, size in sizes for number in range(size)]


def test_no_partition_is_refused() -> None:
    with pytest.raises(ValueError, match="partitions"):
        SparkFlow.partitioned(numbers, partitions=0, schema=SCHEMA)


def test_a_checkpoint_of_other_partitions_is_refused(tmp_path: Path) -> None:
    result(partitioned(checkpoint=tmp_path / "checkpoint").rows())
    other = SparkFlow.partitioned(
        numbers, partitions=2, schema=SCHEMA, checkpoint=tmp_path / "checkpoint"
    )
    with pytest.raises(CheckpointError, match="2 publishers"):
        result(other.rows())
