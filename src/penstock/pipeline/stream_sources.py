"""The sources of a pipeline that Spark reads itself: which they are, and what they show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from penstock.observe.meters import SinkMeter, SourceMeter
from penstock.observe.status import EdgeStatus, StageStatus
from penstock.pipeline.assembly import Assembly, AssemblyError, RunTarget
from penstock.pipeline.spark_ledger import SPARK
from penstock.spark.plan import SparkPlan
from penstock.spark.run_counts import RunCounts
from penstock.spark.spark_flow import SparkFlow
from penstock.spark.stream_input import DataFrameInput, StreamInput

__all__ = ["StreamSources", "require_own_session"]

UNCOUNTED = "its rows are not known"


class StreamSources:
    """Those of one pipeline, by the names that it gives them."""

    def __init__(self, plan: SparkPlan, assembly: Assembly) -> None:
        self._streams = tuple(dict.fromkeys(plan.streams))  # one may go in at two places
        self._inputs = {
            name: flow.streams
            for name, flow in assembly.entrances.items()
            if isinstance(flow, SparkFlow)
        }

    @property
    def names(self) -> Sequence[str]:
        """What the pipeline calls them."""
        return [*self._inputs]

    @property
    def unreplayed(self) -> Sequence[str]:
        """Those that do not give again what was not done when a run ended."""
        return [
            name
            for name, inputs in self._inputs.items()
            if not all(each.replays for each in inputs)
        ]

    def stage(self, source: SourceMeter, run: RunCounts) -> StageStatus | None:
        """A source with the rows that Spark says it has read; ``None`` if it does not read it."""
        inputs = self._inputs.get(source.name)
        if inputs is None:
            return None
        rows, words = self._rows(run).get(source.name), in_words(inputs)
        detail = words if rows is not None else f"{words}; {UNCOUNTED}"
        return StageStatus(source.name, "source", rows or 0, detail=detail)

    def edges(self, run: RunCounts, sinks: Sequence[SinkMeter]) -> Iterator[EdgeStatus]:
        """Spark reads them when all sinks want something."""
        wanted = all(sink.wants for sink in sinks)
        is_at_batch = run.begun_batch > run.done_batch
        rows = self._rows(run)
        for name in self._inputs:
            count = rows.get(name, 0)
            idle = wanted and not is_at_batch
            yield EdgeStatus(name, SPARK, count, count, held_up=not wanted, idle=idle)

    def _rows(self, run: RunCounts) -> Mapping[str, int]:
        """What each has given in this run, as far as that is known.

        Spark reports of its sources in the order in which they stand in its plan.
        """
        counted = run.counts.streamed
        if len(self._inputs) == 1:
            return dict.fromkeys(self._inputs, sum(counted))
        if counted and len(counted) != sum(len(each.sources) for each in self._streams):
            return {}
        rest = iter(counted)
        given = {each: sum(islice(rest, len(each.sources))) for each in self._streams}
        return {
            name: sum(given.get(each, 0) for each in inputs)
            for name, inputs in self._inputs.items()
        }


def in_words(inputs: Sequence[StreamInput]) -> str:
    """What Spark reads."""
    return f"Spark reads {' and '.join(each.description for each in inputs)}"


def require_own_session(assembly: Assembly, target: RunTarget, plan: SparkPlan) -> None:
    """Refuse to move a streaming DataFrame out of the session that made it."""
    bound = [each for each in plan.streams if isinstance(each, DataFrameInput)]
    if bound and (target.master is not None or target.remote is not None):
        option = "master" if target.remote is None else "remote"
        raise AssemblyError(
            f"{assembly.name} reads {bound[0].description} in the session that made its "
            f"DataFrame, which the option {option} cannot move; make that session where it is to "
            f"run, and leave {option} out"
        )
