"""The history of a pipeline over its restarts, kept beside its checkpoint.

A kill cannot falsify what each sink was given: before the first row of a batch is given away, it is
written down that the batch begins; when all sinks have all of it, and before Spark takes it for
done, what each was given. So after a kill is known whether a sink may have been given rows of the
batch that comes again.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from operator import methodcaller
from time import time
from typing import Any, Final

from penstock.delivery import Epoch
from penstock.observe.ledger import Cause, LedgerLine
from penstock.observe.meters import SinkMeter
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.egress.batch_counts import LateRows, SparkCounts
from penstock.spark.plan import BatchListener

__all__ = [
    "Loss",
    "RunHistory",
    "SinkAccounts",
    "SinkHistory",
    "SparkHistory",
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
    ``possibly_duplicated``  rows that it was perhaps given before
    ``duplicated``           rows that it says it was given before, and ``recognised`` those it knew
    """

    delivered: int = 0
    last: int = 0
    possibly_duplicated: int = 0
    duplicated: int = 0
    recognised: int = 0


@dataclass(frozen=True)
class SparkHistory:
    """What Spark has counted up to ``batch``; ``filtered`` are rows that functions left out."""

    batch: int = -1
    filtered: int = 0
    late: Mapping[str, LateRows] = field(default_factory=dict)

    def with_run(self, counts: SparkCounts, filtered: int) -> SparkHistory:
        """The same after a run of which these are the counts."""
        late = dict(self.late)
        for name, each in counts.late.items():
            old = late.get(name, LateRows(name, 0))
            late[name] = LateRows(name, old.rows + each.rows, old.exact and each.exact)
        return SparkHistory(max(self.batch, counts.batch), self.filtered + filtered, late)


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
        self, replayed: Sequence[tuple[int, int]], done: int = -1, *, stateful: bool = False
    ) -> RunHistory:
        """The pipeline goes on; Spark does the rows of its last batch once more.

        ``done``      the last batch with which Spark was done
        ``stateful``  whether Spark may have dropped late rows
        """
        again = [(first, last) for first, last in replayed if last > first]
        rows = sum(last - first for first, last in again)
        ranges = ", ".join(f"{first:,}..{last:,}" for first, last in again)
        words = (
            f"restarted; replayed {ranges} ({rows:,})" if again else "restarted; nothing to replay"
        )
        history = replace(self, restarts=self.restarts + 1, replayed=self.replayed + rows)
        return history.noted(words).with_gaps(done, stateful=stateful)

    def with_gaps(self, done: int, *, stateful: bool) -> RunHistory:
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
            fields = ("filtered", "late") if stateful else ("filtered",)
            history = history._not_seen(fields, unseen)
        return history

    def unsure_of(self, *fields: str) -> RunHistory:
        """These numbers may be more."""
        return replace(self, at_least=tuple(dict.fromkeys((*self.at_least, *fields))))

    def _not_seen(self, fields: Sequence[str], words: str) -> RunHistory:
        return self.unsure_of(*fields).noted(words)


logger = logging.getLogger("penstock")


class GivenRows:
    """What a sink was given of the batch that is under way.

    ``times``  how often earlier runs may have given it each of its rows
    ``void``   rows that this run has given it, before the batch began once more
    """

    def __init__(self, sink: SinkMeter, times: int, void: int = 0) -> None:
        self._sink = sink
        self._times = times
        self._void = void
        self._rows = sink.rows
        self._recognised = sink.recognised

    @property
    def rows(self) -> int:
        """All of it."""
        return self._sink.rows - self._rows

    @property
    def possibly_again(self) -> int:
        """Rows that it perhaps has twice now; a sink that tells them, or knows them, has none."""
        if self._sink.duplicated is not None:
            return 0
        fresh = self.rows - (self._sink.recognised - self._recognised)
        return fresh * self._times + self._void

    def once_more(self) -> GivenRows:
        """The batch begins once more."""
        return GivenRows(self._sink, self._times, self._void + self.rows)


class SinkAccounts:
    """Keeps the part of the history that is about sinks; tells ``batches`` of each batch first.

    The thread of Spark's calls writes, any thread reads.
    """

    def __init__(self, batches: BatchListener | None, keep: Callable[[], object]) -> None:
        self._batches = batches
        self._keep = keep
        self._sinks: Sequence[SinkMeter] = ()
        self._given: dict[str, GivenRows] = {}
        self._under_way = -1
        self._earlier: Mapping[str, SinkHistory] = {}
        self._changing = threading.RLock()
        self._writing = threading.Lock()
        self.history = RunHistory()

    def adopt(self, history: RunHistory) -> None:
        """Go on with the history of earlier runs."""
        self.history, self._earlier = history, history.sinks

    def change(self, change: Callable[[RunHistory], RunHistory]) -> None:
        """Write something down. From any thread."""
        with self._changing:
            before, self.history = self.history, change(self.history)
        if self.history != before:
            self._write()

    def watch(self, sinks: Sequence[SinkMeter]) -> None:
        """These are the sinks."""
        self._sinks = sinks

    def of(self, sink: SinkMeter) -> SinkHistory:
        """What it was given, in all runs."""
        with self._changing:
            history = self._with_own(sink, self.history.sinks.get(sink.name, SinkHistory()))
            given = self._given.get(sink.name)
            if given is None:
                return history
            counted = history.last if self._under_way == self.history.batch else 0
            fresh = max(given.rows - counted, 0) if self._under_way >= self.history.batch else 0
            return replace(
                history,
                delivered=history.delivered + fresh,
                possibly_duplicated=history.possibly_duplicated + given.possibly_again,
            )

    def closed_at(self, sink: SinkMeter) -> int:
        """The rows that it was given of batches that are over."""
        return self.history.sinks.get(sink.name, SinkHistory()).delivered

    def _with_own(self, sink: SinkMeter, history: SinkHistory) -> SinkHistory:
        """With what the sink says itself, of this run and of those before."""
        earlier = self._earlier.get(sink.name, SinkHistory())
        return replace(
            history,
            duplicated=earlier.duplicated + (sink.duplicated or 0),
            recognised=earlier.recognised + sink.recognised,
        )

    # From Spark's calls.

    def open(self, epoch: Epoch | None) -> None:
        """The pipeline is about to start."""
        if self._batches is not None:
            self._batches.open(epoch)

    def begin(self, batch: int) -> None:
        """The rows of a batch follow."""
        if self._batches is not None:
            self._batches.begin(batch)
        with self._changing:
            if batch == self._under_way:  # Spark gives it once more: how much it was is known
                self._given = {name: each.once_more() for name, each in self._given.items()}
                return
            times = self.history.times_given(batch)
            self._given = {sink.name: GivenRows(sink, times) for sink in self._sinks}
            self._under_way = batch
        self.change(methodcaller("with_begun", batch))

    def commit(self, batch: int) -> None:
        """All sinks have all of it."""
        if self._batches is not None:
            self._batches.commit(batch)
        with self._changing:
            if batch == self._under_way:
                last = max(batch, self.history.batch)
                sinks = self._closed(batch)
                self.history = replace(self.history, batch=last, attempts=0, sinks=sinks)
                self._given, self._under_way = {}, -1
        self._write()

    def _closed(self, batch: int) -> Mapping[str, SinkHistory]:
        """What each sink was given, this batch included; once, also if its account was closed."""
        sinks = dict(self.history.sinks)
        for sink in self._sinks:
            before, given = sinks.get(sink.name, SinkHistory()), self._given[sink.name]
            history = self._with_own(sink, before)
            if batch >= self.history.batch:
                counted = before.last if batch == self.history.batch else 0
                delivered = before.delivered - counted + given.rows
                history = replace(history, delivered=delivered, last=given.rows)
            possibly = before.possibly_duplicated + given.possibly_again
            sinks[sink.name] = replace(history, possibly_duplicated=possibly)
        return sinks

    def close(self) -> None:
        """No batch will come."""
        if self._batches is not None:
            self._batches.close()

    def _write(self) -> None:
        try:
            with self._writing:
                self._keep()
        except OSError as error:
            # The next batch tries it again; after a kill the history say that they do not know.
            logger.warning("the history of the pipeline cannot be written: %s", error)
