"""The ledger of a way through Spark, from what was counted at each place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.delivery import Level
from penstock.observe.ledger import Cause, Ledger, Passage, difference
from penstock.observe.meters import SinkMeter
from penstock.pipeline.engine import GIVEN_TWICE, at_all, is_unsure, sum_of
from penstock.pipeline.history import RunHistory, SinkHistory, SparkHistory
from penstock.pipeline.spark_passages import SPARK, JournalPassages
from penstock.spark.run_counts import RunCounts

__all__ = ["SparkLedger"]

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

    def made(self, passages: tuple[Passage, ...], *, closed: int | None, settled: bool) -> Ledger:
        """The ledger; ``closed`` are the rows that all sinks have of batches that are over."""
        taken = sum(each.taken for each in self.run.inputs)
        dead_letters = sum(each.all_dead_letters for each in self.run.inputs)
        filtered = None if self.filtered is None else self.spark.filtered
        late = sum(each.rows for each in self.spark.late.values())
        causes = (*self.causes, *self.all_causes())
        at_least = set(self.at_least(settled=settled))
        terms = (closed, filtered, late, dead_letters, self.in_flight)
        is_whole = all(each.counts_rows for each in self.journals) and not at_least
        return Ledger(
            taken=taken,
            delivered=at_all([(sink, history.delivered) for sink, history in self.sinks]),
            filtered=filtered,
            late=late,
            dead_letters=dead_letters,
            in_flight=self.in_flight,
            replayed=self.history.replayed,
            recognised=sum(history.recognised for _, history in self.sinks),
            lost=sum_of([each for each in causes if each.field == "lost"]),
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

    def at_least(self, *, settled: bool) -> Iterator[str]:
        """The numbers that may be more."""
        yield from self.history.at_least
        if not all(each.exact for each in self.spark.late.values()):
            yield "late"
        unseen = settled and self.run.counts.batch < self.run.done_batch
        if unseen or self.run.counts.missed:
            yield from ("filtered", "late") if self.may_be_late else ("filtered",)
        if self.history.unreplayed:
            yield from ("lost", "duplicated")
        if is_unsure(self.causes):
            yield "lost"
        if is_unsure(self.of_spark_sinks()):
            yield "possibly_duplicated"

    def of_spark_sinks(self) -> Iterator[Cause]:
        """Of sinks that Spark serves nobody sees the rows that they are given again."""
        for name, level in self.spark_sinks.items():
            if self.history.replayed and level != "exactly once":
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
