"""The sinks of a pipeline that Spark itself serves: which flows they fit, and what they show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.api import Publisher
from penstock.delivery import DataFrameSink
from penstock.flow.base_flow import BaseFlow, stages_of
from penstock.flow.operators.inspecting import Annotation
from penstock.observe.status import EdgeStatus, StageStatus
from penstock.pipeline.assembly import Assembly, AssemblyError
from penstock.pipeline.spark_ledger import SPARK
from penstock.spark.from_spark import FromSpark
from penstock.spark.spark_flow import SparkFlow

__all__ = ["require_fitting_sinks", "spark_sink_edges", "spark_sink_stages"]

INSTEAD = {
    "write": "write_with_spark(...)",
    "for_each_batch": "for_each_batch(...)",
    "for_each_partition": "for_each_batch(lambda dataframe, batch_id: ...)",
}
"""What stands among the sinks of a pipeline in place of a method of ``SparkFlow``."""


def require_fitting_sinks(assembly: Assembly, origin: FromSpark) -> None:
    """Refuse sinks that would get nothing, or other rows than their neighbours."""
    if not origin.gives_elements:
        raise AssemblyError(
            f"{origin.name} gives no elements, so the sinks ({', '.join(assembly.sinks)}) would "
            f"get none; let transform return the flow without it, and name "
            f"penstock.spark.{INSTEAD[origin.name]} among the sinks"
        )
    if assembly.spark_sinks and (operator := first_operator(assembly.flow)):
        raise AssemblyError(
            f"the sink {next(iter(assembly.spark_sinks))} is one of Spark's, and would see other "
            f"rows than come out of {operator}, which runs in this program; do that on Spark, "
            "before rows(), or in another sink"
        )


def first_operator(flow: Publisher[Any]) -> str:
    """The first operator of this program downstream of Spark, if there is one."""
    if isinstance(flow, SparkFlow):
        return ""
    assert isinstance(flow, BaseFlow)  # it comes from Spark
    if not isinstance(flow.plan.origin, FromSpark):
        return flow.plan.origin.name
    return next((each.name for each in stages_of(flow) if not isinstance(each, Annotation)), "")


def spark_sink_stages(sinks: Mapping[str, DataFrameSink], batches: int) -> Iterator[StageStatus]:
    """They count batches, since nobody here sees their rows."""
    for name, sink in sinks.items():
        yield StageStatus(
            name, "sink", batches, detail=f"whole batches, {sink.level}", unit="batches"
        )


def spark_sink_edges(sinks: Mapping[str, DataFrameSink], batches: int) -> Iterator[EdgeStatus]:
    """Spark gives them one batch after the other."""
    for name in sinks:
        yield EdgeStatus(SPARK, name, batches, batches, unit="batches")
