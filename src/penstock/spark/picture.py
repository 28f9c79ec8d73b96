"""A way through Spark as a notebook shows it."""

from __future__ import annotations

from typing import Any

from penstock.api import Publisher
from penstock.flow import Flow
from penstock.runtime.drawing import box, chain, figure, stack
from penstock.spark.plan import SparkInput, SparkPlan
from penstock.spark.stream_input import StreamInput

__all__ = ["drawn_plan"]


def drawn_plan(plan: SparkPlan) -> str:
    """What goes in, the journal of each input that has one, and what happens on Spark."""
    inputs = map(drawn_input, plan.inputs)
    names = [stage.name for stage in plan.stages] or ["rows"]
    on_spark = box(*names, caption="on Spark", marked=True)
    return figure(f"the pipeline {plan.name}", chain([stack(inputs), on_spark]))


def drawn_input(each: SparkInput | StreamInput) -> str:
    """An input up to where Spark reads it."""
    if isinstance(each, StreamInput):
        return box(each.description, caption="read by Spark")
    return chain([drawn_publisher(each.publisher), box("journal", caption=each.schema.ddl)])


def drawn_publisher(publisher: Publisher[Any]) -> str:
    """What goes onto Spark."""
    if isinstance(publisher, Flow):
        return publisher.explain().drawn_plan()
    return box(type(publisher).__name__)
