"""What goes into Spark and what comes out of it, counted so that nothing can be lost unseen.

Elements are counted wherever their number stays the same: from a source into its journal, from
there to Spark, through Spark if it only maps, and from Spark to the sinks. What filters, joins or
aggregates ends one count, and the next one begins behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock.api import Publisher
from penstock.flow.fluent import Fluent
from penstock.observe.conservation import Passage
from penstock.pipeline.gauges import SinkGauge, SourceGauge
from penstock.pipeline.plans import gives_one_for_each
from penstock.pipeline.way import Phase, passage_to
from penstock.spark.gauges import InputReading, RunReading
from penstock.spark.pipeline import Pipeline
from penstock.spark.spark_flow import FromSpark
from penstock.spark.stages import RowStage

__all__ = ["JournalCount", "SparkCount"]

SPARK: Final = "spark"


@dataclass(frozen=True)
class JournalCount:
    """A journal and what leads there.

    ``givers``   the sources that lead there
    ``source``   the one whose elements go there as they are, if there is one
    ``replays``  whether what came and was not recorded comes again in the next run
    """

    name: str
    givers: tuple[str, ...]
    source: SourceGauge | None
    reading: InputReading
    replays: bool = True

    def passages(self, *, is_kept: bool) -> Iterator[Passage]:
        """Into the journal, and out of it."""
        yield self._into_journal()
        reading = self.reading
        held = reading.end - max(reading.start, reading.done) if is_kept else 0
        yield Passage(self.name, SPARK, reading.end, reading.done, held)

    def _into_journal(self) -> Passage:
        reading = self.reading
        giver = " and ".join(self.givers)
        # The second one may have counted an element that came behind the end.
        entered = max(reading.taken_before + reading.admitted, reading.taken + reading.unrecorded)
        held = max(entered - reading.taken, 0)
        if not self.replays:
            held = max(held - reading.unrecorded, 0)
        if self.source is None or self.source.gives_batches:
            # Nobody knows how many rows an element is.
            return Passage(giver, self.name, entered, reading.taken, held)
        return Passage(giver, self.name, entered, reading.end, held, reading.all_misfits)


class SparkCount:
    """The passages of a way through Spark: ``flow`` comes from there at ``origin``."""

    def __init__(self, origin: FromSpark, flow: Publisher[Any]) -> None:
        self._keeps = origin.pipeline.checkpoint is not None
        self._maps_only = maps_only(origin.pipeline) and origin.gives_elements
        self._is_level_behind = gives_one_for_each(flow, Fluent._from(origin))

    def passages(
        self,
        run: RunReading,
        journals: Sequence[JournalCount],
        sinks: Sequence[SinkGauge],
        phase: Phase,
    ) -> Iterator[Passage]:
        """All of them, in the sequence in which an element meets them."""
        for journal in journals:
            yield from journal.passages(is_kept=self._keeps or phase != "broken")
        if self._maps_only and journals:
            entered = journals[0].reading.done - journals[0].reading.done_before
            yield Passage(SPARK, SPARK, entered, run.emitted_rows)
        if self._is_level_behind:
            # A batch that is not all through comes again: what is missing then is not lost.
            is_over = phase == "through"
            for sink in sinks:
                if not sink.gone:
                    yield passage_to(sink, SPARK, run.emitted, is_over=is_over)


def maps_only(through: Pipeline) -> bool:
    """Whether one row comes out of Spark for each that goes in."""
    return through.first is None and all(
        isinstance(stage, RowStage) and stage.name == "map" for stage in through.stages
    )
