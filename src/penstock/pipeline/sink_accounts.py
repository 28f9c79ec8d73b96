"""What each sink was given, batch by batch, written down as it happens.

A kill cannot falsify that: see ``history.py``.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import methodcaller

from penstock.delivery import Epoch
from penstock.observe.meters import SinkMeter
from penstock.pipeline.history import RunHistory, SinkHistory
from penstock.spark.plan import BatchListener

__all__ = ["SinkAccounts"]

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

    ``is_first_run``  whether it is known that there was no run before
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
        self.is_first_run = False
        self.on_close: Callable[[], object] = lambda: None

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

    def check(self, epoch: Epoch | None) -> None:
        """The pipeline is about to have its first checkpoint."""
        self.is_first_run = True
        if self._batches is not None:
            self._batches.check(epoch)

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
            last = max(before.batch, batch) if given.rows else before.batch
            sinks[sink.name] = replace(history, possibly_duplicated=possibly, batch=last)
        return sinks

    def close(self) -> None:
        """No batch will come."""
        self.on_close()
        if self._batches is not None:
            self._batches.close()

    def _write(self) -> None:
        try:
            with self._writing:
                self._keep()
        except OSError as error:
            # The next batch tries it again; after a kill the history say that they do not know.
            logger.warning("the history of the pipeline cannot be written: %s", error)
