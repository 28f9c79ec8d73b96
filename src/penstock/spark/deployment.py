"""Where and how a flow through Spark runs, given from outside of the code that assembled it."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.api import Publisher
from penstock.delivery import DataFrameSink
from penstock.flow.fluent import Fluent, with_origin
from penstock.spark.pipeline import BatchListener, Pipeline
from penstock.spark.run import Run
from penstock.spark.spark_flow import FromSpark, SparkFlow

__all__ = ["Deployment", "deployed", "from_spark_in", "pipeline_in"]


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """What a deployment decides; ``None`` leaves it as the code has it.

    ``watch``    is told of each run when its journals are open
    ``batches``  is told where its batches begin and end
    ``sinks``    get the DataFrame of each batch
    ``rows``     whether rows come back at all
    """

    name: str | None = None
    checkpoint: str | None = None
    master: str | None = None
    remote: str | None = field(default=None, repr=False)  # it may hold a token
    ui: bool = False
    accept_state_change: bool = False
    watch: Callable[[Run], object] | None = None
    batches: BatchListener | None = None
    sinks: tuple[DataFrameSink, ...] = ()
    rows: bool = True

    def of(self, pipeline: Pipeline) -> Pipeline:
        """``pipeline`` as it is deployed."""
        settings = pipeline.settings
        if self.master or self.remote:
            settings = replace(settings, master=self.master, remote=self.remote, session=None)
        return replace(
            pipeline,
            name=self.name or pipeline.name,
            settings=replace(settings, ui=self.ui or settings.ui),
            checkpoint=self.checkpoint or pipeline.checkpoint,
            watch=self.watch,
            batches=self.batches,
            accept_state_change=self.accept_state_change or pipeline.accept_state_change,
            sinks=pipeline.sinks + self.sinks,
        )


def deployed(publisher: Publisher[Any], deployment: Deployment) -> Publisher[Any]:
    """``publisher`` with its way through Spark as ``deployment`` has it."""
    if isinstance(publisher, SparkFlow):
        publisher = publisher.rows()
    if not isinstance(publisher, Fluent):
        return publisher
    moved: Any = copy(publisher.plan.origin)
    if isinstance(moved, FromSpark):
        moved.pipeline = deployment.of(moved.pipeline)
        if not deployment.rows:
            moved.decode = None
    elif (upstream := getattr(moved, "upstream", None)) is not None:
        moved.upstream = deployed(upstream, deployment)
    else:
        return publisher
    return with_origin(publisher, moved)


def pipeline_in(publisher: Publisher[Any]) -> Pipeline | None:
    """The way through Spark that ``publisher`` takes, if it takes one."""
    origin = from_spark_in(publisher)
    return None if origin is None else origin.pipeline


def from_spark_in(publisher: Publisher[Any]) -> FromSpark | None:
    """Where the elements of ``publisher`` come back from Spark, if they do."""
    if isinstance(publisher, SparkFlow):
        publisher = publisher.rows()
    if not isinstance(publisher, Fluent):
        return None
    origin: Any = publisher.plan.origin
    if isinstance(origin, FromSpark):
        return origin
    return from_spark_in(getattr(origin, "upstream", None) or origin)
