"""Journals that are smaller than what comes: over drains, stops and restarts all of it passes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.spark.deployment import Deployment, deployed
from penstock.spark.run import SparkRun
from penstock.testing import ManualPublisher, ManualSubscriber
from tests.faults.numbers import join_runs
from tests.spark.journals import SCHEMA, numbered

PATIENCE = 120.0

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(300)]


class Watched:
    """A flow of rows through Spark, of which the test knows the run."""

    def __init__(self, through: Any, checkpoint: Path) -> None:
        self.flow: Any = deployed(
            through, Deployment(name="small", watch=self._began, checkpoint=str(checkpoint))
        )

    def _began(self, run: SparkRun) -> None:
        self.run = run

    def drained_after(self, number: int) -> list[int]:
        """What comes out, if nothing more is taken when this row has come."""

        def note(row: Any) -> None:
            if row.number == number:
                self.run.drain()

        return numbers_of(self.flow.do_on_next(note))

    def all(self) -> list[int]:
        """What comes out, to the end."""
        return numbers_of(self.flow)


def numbers_of(flow: Any) -> list[int]:
    return [row.number for row in flow.to_list().run_sync() or []]


def batches(count: int, rows: int) -> Flow[Any]:
    return Flow.range(count).map(lambda number: numbered(number * rows, (number + 1) * rows))


def test_batches_above_the_bound_go_on_after_a_drain(tmp_path: Path) -> None:
    def through() -> Any:
        return batches(6, rows=50).on_spark(SCHEMA, max_rows=30)

    first = Watched(through(), tmp_path).drained_after(70)
    second = Watched(through(), tmp_path).all()
    assert first == [*range(len(first))]
    assert len(first) % 50 == 0  # the drain has waited for the rest of the batch
    assert first + second == [*range(300)]


def test_a_batch_that_came_in_parts_goes_on_after_a_stop(tmp_path: Path) -> None:
    def through() -> Any:
        return batches(6, rows=50).on_spark(
            SCHEMA, name="parts", checkpoint=tmp_path, max_rows=30, batch_rows=15
        )

    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=75)
    through().subscribe(subscriber)
    subscriber.await_elements(75)
    subscriber.cancel()
    join_runs()
    first = [row.number for row in subscriber.elements]
    second = numbers_of(through().rows())
    assert first == [*range(75)]
    assert second == [*range(second[0], 300)]
    assert 45 <= second[0] <= 75


@pytest.mark.parametrize(
    "bounds",
    [{"max_rows": 20}, {"max_rows": 7, "batch_rows": 3}, {"max_bytes": 100}, {"batch_rows": 10}],
)
def test_a_journal_that_was_full_goes_on_after_a_stop_within_a_batch(
    bounds: dict[str, int], tmp_path: Path
) -> None:
    def through(**options: Any) -> Any:
        flow = Flow.range(60).map(lambda number: (number, "", 0.0))
        return flow.on_spark(SCHEMA, name="full", checkpoint=tmp_path, **options)

    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=5)
    through(max_rows=20).subscribe(subscriber)
    subscriber.await_elements(5)
    subscriber.cancel()
    join_runs()
    assert numbers_of(through(**bounds).rows()) == [*range(60)]


def test_a_drain_takes_all_that_came_although_the_journal_was_full(tmp_path: Path) -> None:
    publisher: ManualPublisher[Any] = ManualPublisher()
    came, inside, go_on = (threading.Event() for _ in range(3))
    delivered: list[int] = []

    def note(element: Any) -> None:
        if element[0] == 15:
            came.set()

    def take(row: Any) -> None:
        inside.set()
        assert go_on.wait(PATIENCE)
        delivered.append(row.number)

    pipeline = Pipeline(
        "large",
        sources={"numbers": lambda settings: publisher},
        transform=lambda numbers: numbers.do_on_next(note).on_spark(
            SCHEMA, resume="none", max_bytes=100_000
        ),
        sinks={"sink": lambda settings: take},
    )
    run = PipelineRun(pipeline, NoSettings(), RunTarget(checkpoint=str(tmp_path / "checkpoint")))
    run.start()
    publisher.await_requested(16)
    publisher.next(*((number, "x" * 20_000, 0.0) for number in range(16)))
    assert came.wait(PATIENCE)
    assert inside.wait(PATIENCE)
    run.drain()
    go_on.set()
    assert run.wait(PATIENCE)
    ledger = run.status().ledger
    assert delivered == [*range(16)]
    assert (ledger.taken, ledger.delivered, ledger.lost) == (16, 16, 0)
