"""What a status says of the inside of a way through Spark: phases, event time, and the flows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.api import Publisher
from penstock.observe.status import EngineStatus, FlowSegments
from penstock.pipeline.inner_flows import inner_flows
from penstock.pipeline.spark_ledger import SPARK
from penstock.spark.plan import SparkPlan
from penstock.spark.run_counts import RunCounts

__all__ = ["engine_status", "flows_around"]


def engine_status(run: RunCounts, flows: tuple[FlowSegments, ...], *, keeps: bool) -> EngineStatus:
    """The inside at this moment; ``keeps`` says whether there is a checkpoint."""
    counts = run.counts
    return EngineStatus(
        watermark=counts.watermark,
        phases=counts.phases,
        phases_of=counts.batch if counts.phases else None,
        checkpoint_age=run.done_since if keeps else None,
        flows=flows,
    )


def flows_around(
    plan: SparkPlan, flow: Publisher[Any], journals: Sequence[str]
) -> tuple[FlowSegments, ...]:
    """The flows into the journals, what runs on Spark, and the flow from there to the sinks."""
    return (
        *upstream(plan, journals),
        *on_spark(plan),
        *inner_flows(f"from {SPARK} to sinks", flow),
    )


def upstream(plan: SparkPlan, journals: Sequence[str]) -> Iterator[FlowSegments]:
    """The flows into the journals, which have these names."""
    for name, each in zip(journals, plan.journaled, strict=True):
        yield from inner_flows(f"into {name}", each.publisher)


def on_spark(plan: SparkPlan) -> Iterator[FlowSegments]:
    """The operators that run there."""
    if plan.stages:
        yield FlowSegments(f"on {SPARK}", tuple(stage.name for stage in plan.stages))
