"""A pipeline with a checkpoint goes on where each of its sources was, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow, VirtualTime
from penstock.spark import CannotResume, SparkFlow
from penstock.spark.deployment import Deployment, deployed, pipeline_in
from penstock.spark.pipeline import require_resumable
from penstock.testing import ManualPublisher, ManualSubscriber

SCHEMA = "number long"
PATIENCE = 100.0

pytestmark = pytest.mark.timeout(300)


def rows(*bounds: int) -> Flow[tuple[int]]:
    return Flow.range(*bounds).map(lambda number: (number,))


def live() -> Flow[tuple[int]]:
    return Flow.interval(1, clock=VirtualTime()).map(lambda number: (number,))


def through_spark(number: int) -> Flow[Any]:
    return rows(number).on_spark(SCHEMA, name="first").rows()


UNABLE: dict[str, tuple[Callable[[], Flow[Any]], str]] = {
    "a publisher": (lambda: Flow.from_publisher(ManualPublisher()), "from_publisher"),
    "a timer": (live, "interval"),
    "one of two": (lambda: Flow.merge(rows(3), live()), "interval"),
    "Spark": (lambda: through_spark(3), "on_spark"),
    "Spark, and more": (lambda: through_spark(3).map(lambda row: (row.number,)), "on_spark"),
    "concurrent flows": (lambda: rows(3).flat_map(Flow.of), "flat_map"),
    "state downstream of a merge": (lambda: Flow.merge(rows(3), rows(9)).take(5), "take"),
}


@pytest.mark.parametrize(("make", "words"), UNABLE.values(), ids=UNABLE)
def test_a_flow_that_cannot_go_on_is_refused_with_a_checkpoint_unless_it_is_to_go_on_live(
    make: Callable[[], Flow[Any]], words: str, tmp_path: Path
) -> None:
    place = tmp_path / "checkpoint"
    with pytest.raises(CannotResume) as caught:
        make().on_spark(SCHEMA, name="numbers", checkpoint=place)
    said = str(caught.value)
    assert "the pipeline 'numbers' has a checkpoint and could not go on" in said
    assert words in said
    assert 'resume="none"' in said
    assert "\n" not in said
    assert not place.exists()
    make().on_spark(SCHEMA, checkpoint=place, resume="none")
    make().on_spark(SCHEMA)


def test_a_checkpoint_that_is_given_from_outside_is_refused_where_it_is_known(
    tmp_path: Path,
) -> None:
    place = Deployment(checkpoint=str(tmp_path / "checkpoint"))
    flow = deployed(live().on_spark(SCHEMA).rows(), place)
    pipeline = pipeline_in(flow)
    assert pipeline is not None
    with pytest.raises(CannotResume, match="interval at .*test_resuming.py"):
        require_resumable(pipeline)
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    flow.subscribe(subscriber)
    subscriber.await_end(PATIENCE)
    assert isinstance(subscriber.error, CannotResume)
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.parametrize("put_together", [SparkFlow.union, lambda a, b: a.join(b, "number")])
def test_a_stream_that_cannot_go_on_is_refused_beside_one_that_can(
    put_together: Callable[[SparkFlow, SparkFlow], SparkFlow], tmp_path: Path
) -> None:
    sound = rows(3).on_spark(SCHEMA, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(CannotResume, match="input 2 of the pipeline"):
        put_together(sound, live().on_spark(SCHEMA))


def test_a_source_that_knows_its_positions_needs_no_function_for_them() -> None:
    source = Flow.resumable(lambda position: rows(3), position=lambda row: row[0])
    pipeline = pipeline_in(source.on_spark(SCHEMA).rows())
    assert pipeline is not None
    assert pipeline.inputs[0].replay == "position"
    with pytest.raises(ValueError, match="needs position="):
        Flow.resumable(lambda position: rows(3)).on_spark(SCHEMA)
    with pytest.raises(ValueError, match="resumes by position only"):
        rows(3).on_spark(SCHEMA, resume="position")


def test_what_was_recorded_without_positions_does_not_go_on_by_position() -> None:
    source = Flow.resumable(lambda position: rows(3), position=lambda row: row[0])
    pipeline = pipeline_in(source.on_spark(SCHEMA).rows())
    assert pipeline is not None
    with pytest.raises(CannotResume, match="12 elements, and not the position of the last one"):
        pipeline.inputs[0].resumed(12, None)


@pytest.mark.usefixtures("spark")
def test_a_source_that_is_another_one_now_is_refused_before_any_other_is_read(
    tmp_path: Path,
) -> None:
    """The first run has two sources in its second journal, the next one has three."""
    read: list[int] = []

    def flow(*more: Flow[Any]) -> Flow[Any]:
        first = rows(5).do_on_next(lambda row: read.append(row[0]))
        place = tmp_path / "checkpoint"
        merged = Flow.merge(rows(5), Flow.never(), *more).on_spark(SCHEMA)
        return first.on_spark(SCHEMA, name="changed", checkpoint=place).union(merged).rows()

    assert len(flow().take(10).to_list().run_sync() or []) == 10
    read.clear()
    with pytest.raises(CannotResume, match="the checkpoint has the place .* none of merge at"):
        flow(rows(3)).run_sync()
    assert read == []


def united(place: Path) -> Flow[Any]:
    """Two journals, of which one has two sources."""
    tens = Flow.merge(rows(0, 100, 2), rows(1, 100, 2)).on_spark(
        SCHEMA, name="united", checkpoint=place, batch_rows=20, max_rows=30
    )
    named = rows(1_000, 1_060).map(lambda row: (*row, "late")).on_spark("number long, word string")
    return tens.union(named.map(lambda row: (row.number,), schema=SCHEMA)).rows()


@pytest.mark.usefixtures("spark")
def test_a_union_has_a_journal_for_each_stream_and_each_goes_on_where_it_was(
    tmp_path: Path,
) -> None:
    place = tmp_path / "checkpoint"
    first: ManualSubscriber[Any] = ManualSubscriber(request=50)
    united(place).subscribe(first)
    first.await_elements(50, PATIENCE)
    first.cancel()
    second: ManualSubscriber[Any] = ManualSubscriber(request=1 << 40)
    united(place).subscribe(second)
    second.await_end(PATIENCE)
    second.assert_completed()
    assert {each.name for each in place.iterdir()} >= {"journal-0", "journal-1"}
    numbers = [row.number for row in second.elements]
    assert len(numbers) == len({*numbers})
    both = {row.number for row in first.elements} | {*numbers}
    assert both == {*range(100), *range(1_000, 1_060)}


def test_a_union_is_of_flows_on_spark() -> None:
    with pytest.raises(TypeError, match="union needs other SparkFlows, not 3"):
        rows(3).on_spark(SCHEMA).union(3)  # type: ignore[arg-type]
