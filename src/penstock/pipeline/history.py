"""The history of a pipeline over its restarts, kept beside its checkpoint.

A kill cannot falsify what each sink was given: before the first row of a batch is given away, it is
written down that the batch begins; when all sinks have all of it, and before Spark takes it for
done, what each was given. So after a kill is known whether a sink may have been given rows of the
batch that comes again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from time import time
from typing import Any, Final

from penstock.observe.ledger import Cause, LedgerLine
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.egress.batch_counts import LateRows, SparkCounts

__all__ = [
    "Loss",
    "RunHistory",
    "SinkHistory",
    "SparkHistory",
    "counted_by_spark",
]

FILE: Final = "books.json"
MOST_LINES: Final = 50
UNNAMED: Final = ("an earlier run", "went in and came out nowhere")
NOT_WRITTEN_DOWN: Final = -2
"""What an earlier version did not keep."""


@dataclass(frozen=True)
class SinkHistory:
    """What one sink was given.

    ``delivered``            rows, each of them once; ``last`` of these are those of the last batch
    ``batch``                the last one of which it was given rows
    ``possibly_duplicated``  rows that it was perhaps given before
    ``duplicated``           rows that it says it was given before, and ``recognised`` those it knew
    """

    delivered: int = 0
    last: int = 0
    batch: int = -1
    possibly_duplicated: int = 0
    duplicated: int = 0
    recognised: int = 0


@dataclass(frozen=True)
class SparkHistory:
    """What Spark has counted up to ``batch``.

    ``filtered``  rows that functions left out
    ``streamed``  rows of what Spark reads itself
    """

    batch: int = -1
    filtered: int = 0
    late: Mapping[str, LateRows] = field(default_factory=dict)
    streamed: int = 0

    def with_run(self, counts: SparkCounts, filtered: int) -> SparkHistory:
        """The same after a run of which these are the counts."""
        late = dict(self.late)
        for name, each in counts.late.items():
            old = late.get(name, LateRows(name, 0))
            late[name] = LateRows(name, old.rows + each.rows, old.exact and each.exact)
        return SparkHistory(
            max(self.batch, counts.batch),
            self.filtered + filtered,
            late,
            self.streamed + sum(counts.streamed),
        )


@dataclass(frozen=True)
class Loss:
    """Elements that are lost, where, and how."""

    count: int
    place: str
    words: str

    @property
    def cause(self) -> Cause:
        """The same for the ledger."""
        return Cause("lost", self.count, self.place, self.words)


@dataclass(frozen=True)
class RunHistory:
    """What happened before and since.

    ``restarts``    how often the pipeline went on from its checkpoint
    ``replayed``    rows that Spark had begun when a run ended, and that it did once more
    ``lost``        elements that were missed in earlier runs, and in this one; ``losses`` say where
    ``begun``       the last batch of which a sink may have been given rows; ``attempts`` is how
                    often, since the last one of which is known what was given
    ``batch``       the last batch of which all sinks were given all rows, as ``sinks`` has it
    ``spark``       what Spark has counted
    ``at_least``    the numbers that may be more, since something was not seen
    ``at_rest``     whether the last run has ended with no batch under way
    ``unreplayed``  the sources that went on without what they had sent between two runs
    ``lines``       the last entries
    """

    restarts: int = 0
    replayed: int = 0
    lost: int = 0
    losses: tuple[Loss, ...] = ()
    begun: int = -1
    attempts: int = 0
    batch: int = -1
    sinks: Mapping[str, SinkHistory] = field(default_factory=dict)
    spark: SparkHistory = field(default_factory=SparkHistory)
    at_least: tuple[str, ...] = ()
    unreplayed: tuple[str, ...] = ()
    at_rest: bool = False
    lines: tuple[LedgerLine, ...] = field(default=())

    @classmethod
    def opened(cls, checkpoint: Checkpoint) -> RunHistory | None:
        """Those of the runs before; ``None`` if there was none."""
        text = checkpoint.remembered(FILE)
        if text is None:
            return None
        try:
            return cls.read(json.loads(text))
        except (ValueError, TypeError, AttributeError, KeyError):
            return cls().noted("the history of earlier runs could not be read; it begins again")

    @classmethod
    def read(cls, found: dict[str, Any]) -> RunHistory:
        """Those that ``keep`` has written, or an earlier version, which knew less."""
        begun = found.pop("begun", NOT_WRITTEN_DOWN)
        spark = dict(found.pop("spark", {}))
        late = {name: LateRows(*each) for name, each in spark.pop("late", {}).items()}
        sinks = {name: SinkHistory(**each) for name, each in found.pop("sinks", {}).items()}
        return cls(
            begun=begun,
            spark=SparkHistory(**spark, late=late),
            sinks=sinks,
            losses=tuple(Loss(**each) for each in found.pop("losses", ())),
            lines=tuple(LedgerLine(**each) for each in found.pop("lines", ())),
            at_least=tuple(found.pop("at_least", ())),
            unreplayed=tuple(found.pop("unreplayed", ())),
            **found,
        )

    def had_by_sinks(self, done: int) -> dict[str, int]:
        """The last batch that each sink must have; what follows ``done`` comes again."""
        return {name: min(each.batch, done) for name, each in self.sinks.items()}

    def accepted(self, sink: str, words: str) -> RunHistory:
        """The sink has lost batches, of which nobody knows how many rows they had."""
        without = replace(self.sinks[sink], batch=-1)  # so that they are missed once
        history = replace(self, sinks={**self.sinks, sink: without})
        return history.unsure_of("lost").noted(f"accepted: {words}")

    def keep(self, checkpoint: Checkpoint) -> None:
        """Write them down for the next run."""
        checkpoint.remember(FILE, json.dumps(asdict(self)))

    def noted(self, text: str) -> RunHistory:
        """The same with one more line."""
        return replace(self, lines=(*self.lines, LedgerLine(time(), text))[-MOST_LINES:])

    @property
    def all_losses(self) -> tuple[Loss, ...]:
        """The losses, with those of which an earlier version wrote down no more than the number."""
        rest = self.lost - sum(each.count for each in self.losses)
        return (Loss(rest, *UNNAMED), *self.losses) if rest > 0 else self.losses

    @property
    def may_be_late(self) -> bool:
        """Whether Spark may have dropped late rows, as far as it has ever reported."""
        return self.spark.batch < 0 or bool(self.spark.late)

    def not_replayed(self, sources: Sequence[str]) -> RunHistory:
        """These went on without what they had sent meanwhile."""
        return replace(self, unreplayed=tuple(dict.fromkeys((*self.unreplayed, *sources))))

    def times_given(self, batch: int) -> int:
        """How often a sink may have been given the rows of a batch."""
        attempts = self.attempts if batch == self.begun else 0
        return attempts + (batch <= self.batch)

    def with_begun(self, batch: int) -> RunHistory:
        """The rows of a batch are about to be given away."""
        if batch < self.begun:
            return self  # Spark has lost the end of its log
        attempts = self.attempts if batch == self.begun else 0
        return replace(self, begun=batch, attempts=attempts + 1)

    def missed(self, loss: Loss) -> RunHistory:
        """Something is lost, which must not happen."""
        history = replace(self, lost=self.lost + loss.count, losses=(*self.losses, loss))
        return history.noted(f"lost {loss.count:,} at {loss.place}: {loss.words}")

    def restarted(
        self,
        replayed: Sequence[tuple[int, int]],
        done: int = -1,
        *,
        stateful: bool = False,
        streamed: bool = False,
        again: int | None = None,
    ) -> RunHistory:
        """The pipeline goes on; Spark does the rows of its last batch once more.

        ``done``      the last batch with which Spark was done
        ``stateful``  whether Spark may have dropped late rows
        ``streamed``  whether Spark reads something itself, of which it alone counts the rows
        ``again``     the batch that Spark does once more, if nobody knows all its rows
        """
        begun = [(first, last) for first, last in replayed if last > first]
        rows = sum(last - first for first, last in begun)
        ranges = ", ".join(f"{first:,}..{last:,}" for first, last in begun)
        words = f"replayed {ranges} ({rows:,})" if begun else "nothing to replay"
        history = replace(
            self, restarts=self.restarts + 1, replayed=self.replayed + rows, at_rest=False
        )
        if again is not None:
            words = f"batch {again:,} is done once more"
            history = history.unsure_of("replayed")
        words = f"restarted; {words}"
        return history.noted(words).with_gaps(done, stateful=stateful, streamed=streamed)

    def with_gaps(self, done: int, *, stateful: bool, streamed: bool = False) -> RunHistory:
        """Say of which batches nobody knows what became of their rows."""
        history = self
        if history.begun == NOT_WRITTEN_DOWN:
            history = replace(history, begun=done + 1, attempts=1)
        if history.batch < done:
            history = replace(history, batch=done, begun=done + 1, attempts=1)._not_seen(
                ("delivered", "possibly_duplicated"),
                f"of batches {self.batch + 1:,} to {done:,} nobody wrote down what was delivered",
            )
        spark = history.spark
        if spark.batch < done:
            unseen = f"of batches {spark.batch + 1:,} to {done:,} Spark's own count was not seen"
            history = replace(history, spark=replace(spark, batch=done))
            history = history._not_seen(counted_by_spark(stateful, streamed), unseen)
        return history

    def unsure_of(self, *fields: str) -> RunHistory:
        """These numbers may be more."""
        return replace(self, at_least=tuple(dict.fromkeys((*self.at_least, *fields))))

    def _not_seen(self, fields: Sequence[str], words: str) -> RunHistory:
        return self.unsure_of(*fields).noted(words)


def counted_by_spark(stateful: bool, streamed: bool) -> tuple[str, ...]:
    """The numbers that may be more if Spark's own count of a batch was not seen."""
    return ("filtered", *(("late",) if stateful else ()), *(("taken",) if streamed else ()))
