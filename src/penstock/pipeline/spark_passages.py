"""What goes into Spark and what comes out of it, counted so that nothing can be lost unseen.

Elements are counted wherever their number stays the same: from a source into its journal, from
there to Spark, through Spark if it only maps, and from Spark to the sinks. What filters, joins or
aggregates ends one count, and the next one begins downstream of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow
from penstock.observe.ledger import Passage
from penstock.observe.meters import SinkMeter, SourceMeter
from penstock.pipeline.engine import Phase, gives_one_for_each, passage_to
from penstock.spark.egress.batch_counts import SparkCounts
from penstock.spark.plan import SparkPlan
from penstock.spark.run_counts import InputCounts, RunCounts
from penstock.spark.spark_flow import FromSpark
from penstock.spark.workers.functions import FrameStage

__all__ = ["JournalPassages", "SparkPassages"]

SPARK: Final = "spark"
PYTHON: Final = ("map", "filter", "flat_map", "map_batches")
"""What has no state."""
HERE: Final = "this program"
READ: Final = "was read by spark and never left it"
PLANNED: Final = "was planned by spark and never read"
UNRECORDED: Final = "came and could not be recorded"


@dataclass(frozen=True)
class JournalPassages:
    """A journal and what leads there.

    ``givers``   the sources that lead there
    ``source``   the one whose elements go there as they are, if there is one
    ``replays``  whether what came and was not recorded comes again in the next run
    """

    name: str
    givers: tuple[str, ...]
    source: SourceMeter | None
    reading: InputCounts
    replays: bool = True

    def passages(self, *, is_kept: bool) -> Iterator[Passage]:
        """Into the journal, and out of it."""
        yield self._into_journal()
        reading = self.reading
        if reading.unrecorded and not self.replays:
            yield Passage(self.name, self.name, reading.unrecorded, 0, failing=UNRECORDED)
        yield Passage(self.name, SPARK, reading.end, reading.done, self.held(is_kept=is_kept))

    def held(self, *, is_kept: bool) -> int:
        """The rows with which Spark is not done."""
        reading = self.reading
        return reading.end - max(reading.start, reading.done) if is_kept else 0

    @property
    def counts_rows(self) -> bool:
        """Whether an element is a row, so that both can be compared."""
        return self.source is not None and not self.source.gives_batches

    @property
    def giver(self) -> str:
        """The sources, in words."""
        return " and ".join(self.givers)

    @property
    def goes_on_without(self) -> bool:
        """Whether a source is read that does not give again what it sent between two runs."""
        return not self.replays and bool(self.reading.requested)

    def _into_journal(self) -> Passage:
        reading = self.reading
        # The second one may have counted an element that came after the end.
        entered = max(reading.taken_before + reading.admitted, reading.taken + reading.unrecorded)
        giver, held = self.giver, max(entered - reading.taken, 0)
        if not self.replays:
            held = max(held - reading.unrecorded, 0)
            entered -= reading.unrecorded  # these have a passage of their own
        if not self.counts_rows:
            # Nobody knows how many rows an element is.
            return Passage(giver, self.name, entered, reading.taken, held)
        return Passage(giver, self.name, entered, reading.end, held, reading.all_dead_letters)


class SparkPassages:
    """The passages of a way through Spark: ``flow`` comes from there at ``origin``."""

    def __init__(self, origin: FromSpark, flow: Publisher[Any]) -> None:
        self._keeps = origin.plan.checkpoint is not None
        self._maps_only = consists_of(origin.plan, "map") and origin.gives_elements
        self._is_python_only = consists_of(origin.plan, *PYTHON)
        self._is_functions = consists_of(origin.plan, "map", "filter")
        self._is_one_to_one_downstream = gives_one_for_each(flow, BaseFlow._from(origin))

    @property
    def may_be_late(self) -> bool:
        """Whether Spark may keep state, which drops rows that come too late."""
        return not self._is_python_only

    def is_kept(self, phase: Phase) -> bool:
        """Whether what waits in the journals still comes."""
        return self._keeps or phase != "broken"

    def filtered(self, counts: SparkCounts) -> int | None:
        """Rows that went into functions and did not come out; of all else nobody knows that."""
        if not (self._is_functions and self._is_one_to_one_downstream):
            return None
        left_out = counts.planned - counts.read if counts.through else counts.read - counts.left
        return None if left_out < 0 else left_out  # a sink had Spark compute a batch twice

    def _within_spark(self, counts: SparkCounts) -> Iterator[Passage]:
        """What Spark has counted itself, where it cannot have become more or less."""
        if counts.planned:
            if self._is_functions and counts.through:
                yield Passage(SPARK, SPARK, counts.read, counts.left, failing=READ)
            elif self._is_functions:
                yield Passage(SPARK, SPARK, counts.planned, counts.read, failing=PLANNED)
            yield Passage(SPARK, HERE, counts.left, counts.arrived)

    def passages(
        self,
        run: RunCounts,
        journals: Sequence[JournalPassages],
        sinks: Sequence[SinkMeter],
        phase: Phase,
    ) -> Iterator[Passage]:
        """All of them, in the order in which an element meets them."""
        for journal in journals:
            yield from journal.passages(is_kept=self.is_kept(phase))
        if self._maps_only and journals:
            entered = journals[0].reading.done - journals[0].reading.done_before
            yield Passage(SPARK, SPARK, entered, run.emitted_rows)
        yield from self._within_spark(run.counts)
        if self._is_one_to_one_downstream:
            # A batch that is not all through comes again: what is missing then is not lost.
            is_over = phase == "completed"
            for sink in sinks:
                if not sink.gone:
                    yield passage_to(sink, SPARK, run.emitted, is_over=is_over)


def consists_of(plan: SparkPlan, *names: str) -> bool:
    """Whether all that happens on Spark are these functions of rows."""
    return plan.first is None and all(
        not isinstance(stage, FrameStage) and stage.name in names for stage in plan.stages
    )
