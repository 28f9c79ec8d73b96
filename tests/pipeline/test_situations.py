"""Pipelines brought into each situation, and what terminal and page say of it then."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow
from penstock.observe import Observer, Status
from penstock.observe.observer import EVERY, WINDOW
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.runtime import VirtualTime
from penstock.testing import ManualPublisher

PATIENCE = 240


class Watched:
    """A run and its observer, whose time passes when the test says so."""

    def __init__(self, pipeline: Pipeline, checkpoint: Path | None = None) -> None:
        place = None if checkpoint is None else str(checkpoint)
        self.time = VirtualTime()
        self.run = PipelineRun(pipeline, NoSettings(), RunTarget(checkpoint=place))
        self.observer = Observer(self.run.name, self.run.status, clock=self.time)

    def looked_at(self, looks: int = WINDOW, every: float = EVERY) -> Status:
        """Its status after some looks."""
        for _ in range(looks):
            self.time.advance(every)
            self.observer.sample()
        return self.observer.status

    def ended(self) -> Status:
        """Its last status."""
        assert self.run.wait(PATIENCE)
        self.observer.close()
        return self.observer.status


def slow(status: Status) -> list[str]:
    return [stage.name for stage in status.stages if stage.slowest]


@contextmanager
def watched(source: Any, sink: Any) -> Iterator[Watched]:
    pipeline = Pipeline(
        "situations",
        sources={"feed": lambda settings: source},
        sinks={"phone": lambda settings: sink},
    )
    found = Watched(pipeline)
    found.run.start()
    try:
        yield found
    finally:
        found.run.stop()
        assert found.run.wait(PATIENCE)


class Gate:
    """A sink that takes an element when it is let."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()

    def __call__(self, element: Any) -> None:
        self.entered.set()
        assert self.open.wait(PATIENCE)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


def test_a_sink_that_does_not_return_is_the_slowest_stage(gate: Gate) -> None:
    with watched(Flow.range(100), gate) as pipeline:
        assert gate.entered.wait(PATIENCE)
        status = pipeline.looked_at()
        gate.open.set()
    assert (status.situation, slow(status)) == ("slow sink", ["phone"])
    assert status.sentence.startswith("'phone' is the slowest stage")


def test_a_source_sets_the_pace_then_is_stalled_and_is_never_called_slow() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    taken = threading.Semaphore(0)
    with watched(source, lambda element: taken.release()) as pipeline:
        source.await_requested(1)
        assert pipeline.looked_at().situation == "not begun"
        source.next(1)
        assert taken.acquire(timeout=PATIENCE)
        status = pipeline.looked_at(4)
        assert (status.situation, slow(status)) == ("slow source", [])
        assert status.sentence.startswith("'feed' sets the pace")
        status = pipeline.looked_at(looks=12, every=1)
        assert (status.situation, slow(status)) == ("stalled source", [])
        assert status.sentence.startswith("'feed' has sent nothing for 1")
        source.next(2)
        assert taken.acquire(timeout=PATIENCE)
        assert pipeline.looked_at(1).situation == "slow source"


def test_one_that_drains_says_so_and_then_that_it_was_stopped_with_nothing_moving(
    gate: Gate,
) -> None:
    with watched(Flow.interval(0.001), gate) as pipeline:
        assert gate.entered.wait(PATIENCE)
        assert pipeline.looked_at().situation == "slow sink"
        pipeline.run.drain()
        status = pipeline.looked_at()
        assert (status.state, status.situation) == ("draining", "draining")
        assert status.sentence.startswith("Draining: nothing more is taken")
        gate.open.set()
        status = pipeline.ended()
    assert (status.situation, slow(status)) == ("stopped", [])
    assert status.point.rate_in == status.point.rate_out == 0


def test_one_that_has_completed_moves_no_more() -> None:
    with watched(Flow.range(1_000), lambda element: None) as pipeline:
        status = pipeline.ended()
    assert (status.situation, slow(status)) == ("completed", [])
    assert [stage.rate for stage in status.stages] == [0, 0]
    assert status.sentence == "All of it came through: the pipeline is done."


def test_one_that_has_failed_says_so() -> None:
    def fail(element: int) -> None:
        raise OSError("no space left")

    with watched(Flow.range(3), fail) as pipeline:
        status = pipeline.ended()
    assert (status.situation, slow(status)) == ("failed", [])


# Through Spark.


def numbers_on_spark(seen: list[int], work: Any, room: int = 40) -> Pipeline:
    def through_spark(numbers: Flow[int]) -> Any:
        rows = numbers.map(lambda number: (number,))
        return rows.on_spark("number long", max_rows=room, batch_rows=20).map(work)

    return Pipeline(
        "situations",
        sources={"numbers": lambda settings: Flow.range(200)},
        transform=through_spark,
        sinks={"list": lambda settings: lambda row: seen.append(row.number)},
    )


@pytest.mark.timeout(300)
def test_spark_starts_is_slow_completes_and_has_nothing_left_to_do(tmp_path: Path) -> None:
    entered, let_on = tmp_path / "entered", tmp_path / "let on"

    def wait_for_file(row: Any) -> Any:
        if row.number >= 20:  # not in its first batch, in which it starts
            entered.touch()
            while not let_on.exists():
                threading.Event().wait(0.01)
        return row

    seen: list[int] = []
    first = Watched(numbers_on_spark(seen, wait_for_file), tmp_path / "checkpoint")
    assert first.looked_at(1).situation == "starting"
    assert slow(first.observer.status) == []
    first.run.start()
    within = threading.Event()
    while not entered.exists():
        assert not within.wait(0.01)
        first.looked_at(1)
    status = first.looked_at()
    assert (status.situation, slow(status)) == ("slow Spark", ["spark"])
    assert status.sentence.startswith("Spark is the slowest stage")
    let_on.touch()
    status = first.ended()
    assert (status.situation, slow(status)) == ("completed", [])
    assert {stage.rate for stage in status.stages} == {0}
    assert status.batch is not None
    assert status.batch.number == status.engine.phases_of
    assert status.batch.seconds == sum(took for _, took in status.engine.phases) > 0
    assert sorted(seen) == list(range(200))

    again = Watched(numbers_on_spark(seen, wait_for_file), tmp_path / "checkpoint")
    again.run.start()
    while not again.run.wait(0.01):
        assert "slow" not in again.looked_at(1).situation
    status = again.ended()
    assert status.situation == "nothing left to do"
    assert status.sentence == "Nothing was left to do: all of it had come through before."
    assert len(seen) == 200


@pytest.mark.timeout(300)
def test_rows_that_are_only_kept_for_a_rewind_wait_for_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        seen: list[int] = []
        watched = Watched(numbers_on_spark(seen, lambda row: row, 1_000), tmp_path / "checkpoint")
        watched.run.start()
        lags = []
        while not watched.run.wait(0.01):
            lags.append(watched.looked_at(1).lag)
        lags.append(watched.ended().lag)
    assert (seen, set(lags)) == ([], {None})
