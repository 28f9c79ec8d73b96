"""What comes back from Spark, as the beginning of a flow."""

from __future__ import annotations

from typing import Any

from penstock.api import Publisher
from penstock.flow.engine.run_context import Elements, RunContext
from penstock.flow.engine.stage import FlowNode, Origin
from penstock.spark.egress.query import NativeSink
from penstock.spark.egress.rows import Decode, nothing_of
from penstock.spark.plan import SparkPlan
from penstock.spark.run import SparkRun

__all__ = ["FromSpark"]


class FromSpark(Origin):
    """What comes back from Spark; ``decode`` is ``None`` if all of it stays there.

    It is called on the thread of Spark's call, and may leave the work to the one that pulls rows.
    """

    checked = True
    on_spark = True

    def __init__(
        self, name: str, plan: SparkPlan, decode: Decode | None, sink: NativeSink | None = None
    ) -> None:
        super().__init__(name)
        self.title = plan.name
        self.plan = plan
        self.decode = decode
        self._sink = sink
        self._warned: set[FlowNode] = set()

    def subscribed_to(self, flow: Publisher[Any]) -> None:
        """Warn of what a crash would lose; a ``penstock.pipeline`` is not run with that at all."""
        if self.plan.checkpoint is not None and self.plan.batches is None:
            from penstock.spark.egress.acknowledgement import (
                warn_of_buffering,  # which knows this class
            )

            warn_of_buffering(flow, self._warned)

    @property
    def gives_elements(self) -> bool:
        """Whether rows come back; else they stay on Spark."""
        return self.decode not in (None, nothing_of)

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Run the pipeline for one subscriber."""
        return SparkRun(self.plan, run, self.decode, self._sink).elements()
