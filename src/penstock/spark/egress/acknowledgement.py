"""Whether a batch that Spark commits has left this program, and nothing of it waits here.

Spark commits a batch when all its rows were given away. An operator that keeps some of them, or
remembers them, would lose that in a crash, and the checkpoint would not know. So each operator
says whether it ``keeps`` anything when it asks for the next element; one that says nothing does.
Those that end the stream early would leave a batch that is never committed.

A pipeline with such an operator is refused. A user who subscribes to the flow himself is warned.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Final

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow, stages_of
from penstock.flow.engine.stage import FlowNode
from penstock.flow.operators.filtering import Take, TakeThrough, TakeWhile
from penstock.flow.operators.materialize import Dematerialize
from penstock.flow.operators.merge import TakeUntil
from penstock.spark.from_spark import FromSpark
from penstock.spark.spark_flow import SparkFlow, flow_of

__all__ = ["trouble_with_acknowledgement", "warn_of_buffering"]

logger = logging.getLogger(__name__)

ENDS: Final = (Dematerialize, Take, TakeThrough, TakeUntil, TakeWhile)
KEEPS: Final = (
    "keeps rows of Spark, or what it knows of them, in memory, while the checkpoint takes them for "
    "delivered: a crash would lose them; put it upstream of on_spark, do it on Spark with sql or "
    "frame, or take numbered_batches() instead"
)
STOPS: Final = (
    "may end the stream within a batch of Spark, which is then never committed: it comes again in "
    "each run, and sinks that store whole batches never have it; put it upstream of on_spark"
)


def trouble_with_acknowledgement(flow: Publisher[Any]) -> str | None:
    """What is wrong with a flow with a checkpoint downstream of Spark, if something is."""
    for part in unacknowledged(flow):
        return f"{described(part)} {STOPS if isinstance(part, ENDS) else KEEPS}"
    return None


def warn_of_buffering(flow: Publisher[Any], warned: set[FlowNode]) -> None:
    """Log the operators that keep rows, each once. One that ends the stream loses nothing."""
    for part in unacknowledged(flow):
        if not isinstance(part, ENDS) and part not in warned:
            warned.add(part)
            logger.warning("%s %s", described(part), KEEPS)


def described(part: FlowNode) -> str:
    """Its name, and the line of the user's code that made it."""
    return part.name if part.site is None else f"{part.name} (at {part.site})"


def unacknowledged(publisher: Publisher[Any]) -> Iterator[FlowNode]:
    """The operators that a pipeline with a checkpoint cannot have, the first one first."""
    if not isinstance(publisher, BaseFlow):
        return
    origin, stages = publisher.plan.origin, stages_of(publisher)
    if comes_from_checkpoint(publisher):
        for upstream in origin.inputs:
            yield from unacknowledged(upstream)
        parts = stages if isinstance(origin, FromSpark) else (origin, *stages)
        yield from (part for part in parts if part.rerun.keeps or isinstance(part, ENDS))
    else:
        for stage in stages:
            if any(map(comes_from_checkpoint, stage.inputs)):
                yield stage  # it is given rows of Spark by the way


def comes_from_checkpoint(publisher: Publisher[Any]) -> bool:
    """Whether elements at the beginning of ``publisher`` come from Spark, with a checkpoint."""
    if isinstance(publisher, SparkFlow):
        publisher = flow_of(publisher)
    if not isinstance(publisher, BaseFlow):
        return False
    origin = publisher.plan.origin
    if isinstance(origin, FromSpark):
        return origin.plan.checkpoint is not None
    return any(map(comes_from_checkpoint, origin.inputs))
