"""Inside the engine: the phases of a batch, event time, the checkpoint's age and the segments."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from penstock import Flow
from penstock.observe import FlowSegments, Status
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.runtime import ThreadPool
from penstock.spark.egress.batch_counts import BatchCounts
from penstock.spark.egress.batch_phases import BatchReport, report_in

PATIENCE = 240
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
MILLISECONDS = {
    "latestOffset": 10,
    "walCommit": 20,
    "getBatch": 1,
    "queryPlanning": 30,
    "addBatch": 400,
    "commitOffsets": 5,
    "commitBatch": 7,
    "triggerExecution": 480,
}


def ended(pipeline: Pipeline, checkpoint: Path | None = None) -> Status:
    place = None if checkpoint is None else str(checkpoint)
    run = PipelineRun(pipeline, NoSettings(), RunTarget(checkpoint=place))
    run.start()
    assert run.wait(PATIENCE)
    assert run.error is None
    return run.status()


def test_the_phases_of_a_batch_are_those_that_spark_reports_less_the_delivery() -> None:
    report = BatchReport(MILLISECONDS)
    known = (("look", 0.011), ("plan", 0.05))
    assert report.phases(0.1) == (
        *known,
        ("compute", 0.30000000000000004),
        ("deliver", 0.1),
        ("commit", 0.012),
    )
    assert report.phases(None) == (*known, ("compute", 0.4), ("commit", 0.012))
    assert dict(report.phases(7.0))["compute"] == 0


def test_the_watermark_of_1970_is_none() -> None:
    def watermark(**times: str) -> float | None:
        return report_in({"durationMs": {}, "eventTime": times}).watermark

    assert watermark() is None
    assert watermark(watermark="1970-01-01T00:00:00.000Z") is None
    assert watermark(watermark="2026-01-01T00:00:10.500Z") == BEGAN.timestamp() + 10.5


def test_a_batch_that_came_again_is_delivered_from_its_last_arrival_on() -> None:
    class Silent:
        def counted_after(self, batch: int) -> Any:
            return []

        def late_rows(self) -> Any:
            return {}

    counts = BatchCounts()
    counts.arrived(Silent(), 3, 10)
    counts.delivered(2)  # of a query that is over
    assert counts._delivery_of(2) is None
    counts.arrived(Silent(), 3, 10)
    counts.delivered(3)
    counts.arrived(Silent(), 4, 10)
    counts.delivered(4)
    assert [counts._delivery_of(number) is None for number in (3, 4, 5)] == [False, False, True]


def test_a_flow_without_spark_has_its_segments() -> None:
    def through(left: Flow[int], right: Flow[int]) -> Flow[Any]:
        both = Flow.merge(left.map(lambda number: number + 1).filter(bool), right)
        return both.publish_on(pool).map(str).buffer(2)

    with ThreadPool(1) as pool:
        status = ended(
            Pipeline(
                "segments",
                sources={
                    "left": lambda settings: Flow.range(3),
                    "right": lambda settings: Flow.of(7),
                },
                transform=through,
                sinks={"nowhere": lambda settings: lambda element: None},
            )
        )
    flows = {each.flow: each.segments for each in status.engine.flows}
    assert flows["from sources to sinks, input 1"] == ("range", "source", "map filter")
    assert flows["from sources to sinks, input 2"] == ("of", "source")
    assert flows["from sources to sinks"][1:] == ("publish_on on ThreadPool", "map buffer")
    assert (status.engine.phases, status.engine.checkpoint_age) == ((), None)


def test_a_way_through_spark_has_phases_a_watermark_the_age_of_its_checkpoint_and_segments(
    tmp_path: Path,
) -> None:
    def times(settings: NoSettings) -> Flow[Any]:
        return Flow.range(60).map(
            lambda number: {"at": BEGAN + timedelta(seconds=number), "number": number}
        )

    def through(times: Flow[Any]) -> Any:
        rows = times.on_spark("at timestamp, number long", batch_rows=30, resume="from_start")
        once = rows.map(lambda row: row).frame(
            lambda frame: frame.withWatermark("at", "10 seconds").dropDuplicatesWithinWatermark(
                ["number"]
            )
        )
        return once.rows().map(lambda row: row.number)

    status = ended(
        Pipeline(
            "inside",
            sources={"times": times},
            transform=through,
            sinks={"nowhere": lambda settings: lambda element: None},
        ),
        tmp_path / "checkpoint",
    )
    engine = status.engine
    assert [name for name, _ in engine.phases] == ["look", "plan", "compute", "deliver", "commit"]
    assert all(seconds >= 0 for _, seconds in engine.phases)
    assert dict(engine.phases)["compute"] > 0
    assert engine.phases_of is not None
    assert engine.phases_of >= 1
    assert engine.watermark == BEGAN.timestamp() + 59 - 10
    assert engine.checkpoint_age is not None
    assert engine.flows == (
        FlowSegments("into journal", ("range", "map", "source")),
        FlowSegments("on spark", ("map", "frame")),
        FlowSegments("from spark to sinks", ("on_spark", "map")),
    )
    kinds = [each.name for each in status.machine.processes]
    assert kinds[:2] == ["this program", "Spark's JVM"]
    assert status.machine.disk_free
    assert [state.operator for state in status.kept] == ["dropDuplicatesWithinWatermark"]
