"""Where and how a flow through Spark runs, given from outside of the code that assembled it."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.api import Publisher
from penstock.delivery import DataFrameSink
from penstock.flow.base_flow import BaseFlow, origins_of, rewritten
from penstock.flow.engine.stage import Origin
from penstock.spark.from_spark import FromSpark
from penstock.spark.plan import BatchListener, SparkPlan
from penstock.spark.run import SparkRun
from penstock.spark.spark_flow import SparkFlow, flow_of

__all__ = ["Deployment", "deployed", "from_spark_in", "spark_plan_in"]


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
    accept_lost_batches: bool = False
    watch: Callable[[SparkRun], object] | None = None
    batches: BatchListener | None = None
    sinks: tuple[DataFrameSink, ...] = ()
    rows: bool = True

    def of(self, plan: SparkPlan) -> SparkPlan:
        """``pipeline`` as it is deployed."""
        settings = plan.settings
        if self.master or self.remote:
            settings = replace(settings, master=self.master, remote=self.remote, session=None)
        return replace(
            plan,
            name=self.name or plan.name,
            settings=replace(settings, ui=self.ui or settings.ui),
            checkpoint=self.checkpoint or plan.checkpoint,
            watch=self.watch,
            batches=self.batches,
            accept_state_change=self.accept_state_change or plan.accept_state_change,
            accept_lost_batches=self.accept_lost_batches,
            sinks=plan.sinks + self.sinks,
        )


def deployed(publisher: Publisher[Any], deployment: Deployment) -> Publisher[Any]:
    """``publisher`` with its way through Spark as ``deployment`` has it."""
    if isinstance(publisher, SparkFlow):
        publisher = flow_of(publisher)
    if not isinstance(publisher, BaseFlow) or from_spark_in(publisher) is None:
        return publisher

    def moved(origin: Origin) -> Origin | None:
        if not isinstance(origin, FromSpark):
            return None
        here = copy(origin)
        here.plan = deployment.of(origin.plan)
        if not deployment.rows:
            here.decode = None
        return here

    return rewritten(publisher, moved)


def spark_plan_in(publisher: Publisher[Any]) -> SparkPlan | None:
    """The way through Spark that ``publisher`` takes, if it takes one."""
    origin = from_spark_in(publisher)
    return None if origin is None else origin.plan


def from_spark_in(publisher: Publisher[Any]) -> FromSpark | None:
    """Where the elements of ``publisher`` come back from Spark, if they do."""
    if isinstance(publisher, SparkFlow):
        publisher = flow_of(publisher)
    found = [origin for origin in origins_of(publisher) if isinstance(origin, FromSpark)]
    if len(found) > 1:
        raise ValueError(
            f"the flow comes from Spark in {len(found)} places, and has one checkpoint: join them "
            "on Spark, by union or join"
        )
    return found[0] if found else None
