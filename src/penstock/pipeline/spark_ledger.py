"""The ledger of a way through Spark: what goes in and what comes out, counted at each place.

Elements are counted wherever their number stays the same: from a source into its journal, from
there to Spark, through Spark if it only maps, and from Spark to the sinks. What filters, joins or
aggregates ends one count, and the next one begins downstream of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock.api import Publisher
from penstock.delivery import Level
from penstock.flow.base_flow import BaseFlow
from penstock.observe.ledger import Cause, Ledger, Passage, difference
from penstock.observe.meters import SinkMeter, SourceMeter
from penstock.observe.units import Unit, common_unit
from penstock.pipeline.engine import (
    GIVEN_TWICE,
    Phase,
    at_all,
    gives_one_for_each,
    is_unsure,
    passage_to,
    said,
    sum_of,
)
from penstock.pipeline.history import (
    RunHistory,
    SinkHistory,
    SparkHistory,
    counted_by_spark,
)
from penstock.spark.egress.batch_counts import SparkCounts
from penstock.spark.from_spark import FromSpark
from penstock.spark.plan import SparkPlan
from penstock.spark.run_counts import InputCounts, RunCounts
from penstock.spark.workers.functions import FrameStage

__all__ = [
    "JournalPassages",
    "SparkLedger",
    "SparkPassages",
]

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
            yield Passage(
                self.name,
                self.name,
                reading.unrecorded,
                0,
                failing=UNRECORDED,
                unit=said(self.unit),
            )
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
    def has_batches(self) -> bool:
        """Whether an element is several rows."""
        return self.reading.has_batches or (self.source is not None and self.source.gives_batches)

    @property
    def unit(self) -> Unit:
        """What comes into it."""
        if not self.has_batches:
            return "elements"
        return "batches" if self.source is None or not self.source.passed else self.source.unit

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
            return Passage(giver, self.name, entered, reading.taken, held, unit=said(self.unit))
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
            if self._maps_only and counts.streamed and not counts.uncounted:
                entered = counts.planned if counts.through else counts.read
                yield Passage(SPARK, SPARK, entered, counts.left, failing=READ)
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


UNREPLAYED: Final = "does not give again what it sent while the pipeline did not run"
POSSIBLY_TWICE: Final = "was given the rows of a batch that came again"


@dataclass(frozen=True)
class SparkLedger:
    """All counts of one moment.

    ``sinks``      with what each was given in all runs
    ``spark``      what Spark has counted in all runs
    ``filtered``   rows that functions left out in this run; ``None`` if nobody can tell
    ``in_flight``  rows in the journals with which Spark is not done
    ``causes``     of what is lost
    ``may_be_late``  whether Spark may drop rows as late
    ``spark_sinks``  the levels of the sinks that Spark serves
    ``streamed``     whether Spark reads something itself
    """

    run: RunCounts
    journals: Sequence[JournalPassages]
    sinks: Sequence[tuple[SinkMeter, SinkHistory]]
    spark: SparkHistory
    history: RunHistory
    filtered: int | None
    in_flight: int
    causes: tuple[Cause, ...]
    may_be_late: bool
    spark_sinks: Mapping[str, Level]
    streamed: bool = False

    def made(self, passages: tuple[Passage, ...], *, closed: int | None, settled: bool) -> Ledger:
        """The ledger; ``closed`` are the rows that all sinks have of batches that are over."""
        at_least = set(self.at_least(settled=settled))
        taken = self.taken(at_least)
        dead_letters = sum(each.all_dead_letters for each in self.run.inputs)
        filtered = None if self.filtered is None else self.spark.filtered
        late = sum(each.rows for each in self.spark.late.values())
        causes = (*self.causes, *self.all_causes())
        terms = (closed, filtered, late, dead_letters, self.in_flight)
        is_whole = all(each.counts_rows for each in self.journals) and not at_least
        ledger = Ledger(
            taken=taken,
            delivered=at_all([(sink, history.delivered) for sink, history in self.sinks]),
            filtered=filtered,
            late=late,
            dead_letters=dead_letters,
            in_flight=self.in_flight,
            replayed=self.history.replayed,
            recognised=sum(history.recognised for _, history in self.sinks),
            lost=sum_of([each for each in causes if each.field == "lost"]) if passages else None,
            duplicated=sum_of([each for each in causes if each.field == "duplicated"]),
            possibly_duplicated=sum_of(
                [each for each in causes if each.field == "possibly_duplicated"]
            ),
            restarts=self.history.restarts,
            difference=difference(taken, terms, settled=settled and is_whole),
            at_least=tuple(sorted(at_least)),
            causes=causes,
            passages=passages,
            lines=self.history.lines,
        )
        if not any(each.has_batches for each in self.journals):
            return ledger
        return ledger.in_units(common_unit(each.unit for each in self.journals))

    def taken(self, at_least: Collection[str]) -> int | None:
        """What was taken; ``None`` if nobody knows anything of it."""
        taken = sum(each.taken for each in self.run.inputs) + self.spark.streamed
        return taken if taken or "taken" not in at_least else None

    def at_least(self, *, settled: bool) -> Iterator[str]:
        """The numbers that may be more."""
        yield from self.history.at_least
        # What Spark reads itself it counts when a batch is done.
        if self.run.begun_batch > self.run.counts.batch:
            yield from ("taken",) if settled else ("taken", "in_flight")
        if self.run.counts.uncounted:
            yield from ("taken", "filtered") if self.run.counts.through else ("taken",)
        if not all(each.exact for each in self.spark.late.values()):
            yield "late"
        unseen = settled and self.run.counts.batch < self.run.done_batch
        if unseen or self.run.counts.missed:
            yield from counted_by_spark(self.may_be_late, self.streamed)
        if self.history.unreplayed:
            yield from ("lost", "duplicated")
        if is_unsure(self.causes):
            yield "lost"
        if is_unsure(self.of_spark_sinks()):
            yield "possibly_duplicated"

    def of_spark_sinks(self) -> Iterator[Cause]:
        """Of sinks that Spark serves nobody sees the rows that they are given again."""
        for name, level in self.spark_sinks.items():
            is_replayed = self.history.replayed or "replayed" in self.history.at_least
            if is_replayed and level != "exactly once":
                yield Cause("possibly_duplicated", None, name, POSSIBLY_TWICE)

    def all_causes(self) -> Iterator[Cause]:
        """Those of the other numbers."""
        yield from self.of_spark_sinks()
        for source in self.history.unreplayed:
            for field in ("lost", "duplicated"):
                yield Cause(field, None, source, UNREPLAYED)
        for late in self.spark.late.values():
            if late.rows:
                yield Cause("late", late.rows, SPARK, f"came too late for {late.operator}")
        for sink, history in self.sinks:
            if history.duplicated:
                yield Cause("duplicated", history.duplicated, sink.name, GIVEN_TWICE)
            if history.possibly_duplicated:
                count = history.possibly_duplicated
                yield Cause("possibly_duplicated", count, sink.name, POSSIBLY_TWICE)
