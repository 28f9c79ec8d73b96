"""What a pipeline sends to Spark's workers, and whether it can, found out before data moves."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from typing import Final

from penstock.spark.plan import SparkPlan
from penstock.spark.private_api import pickled
from penstock.spark.stream_input import StreamInput
from penstock.spark.workers.functions import FrameStage, FusedFunctions, FusedPass, leading

__all__ = ["divided", "require_sendable"]

LONGEST: Final = 1 << 16
"""Characters of the longest option that Spark is given, which keeps it in each plan of a query."""


def require_sendable(plan: SparkPlan) -> None:
    """Refuse a function that refers to something that cannot leave this process."""
    sent: list[tuple[str, object]] = [
        (stage.name, stage.sent if isinstance(stage, FrameStage) else stage.function)
        for stage in plan.stages
    ]
    if plan.settings.is_remote:
        sent += [("for_each_batch", sink.sent) for sink in plan.sinks]
    for name, function in sent:
        try:
            pickled(function)
        except Exception as error:
            raise TypeError(
                f"{name} got a function that cannot be sent to Spark's workers: {error}; "
                "make what it needs within the function, or in the worker"
            ) from error


def divided(plan: SparkPlan) -> tuple[FusedFunctions | None, SparkPlan]:
    """The stages that can run where Python reads, which saves a crossing; and the rest."""
    stages = leading(plan.stages)
    first = plan.inputs[0]
    schema = first.schema_read if isinstance(first, StreamInput) else first.schema
    if plan.first is not None or schema is None or not stages:
        return None, plan
    way = FusedPass(stages, schema)
    text = b64encode(pickled(way)).decode()
    if len(text) > LONGEST:
        return None, plan
    return FusedFunctions(text, way.last), replace(plan, stages=plan.stages[len(stages) :])
