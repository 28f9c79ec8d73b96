"""What each sink was given, batch by batch, in books that a kill cannot falsify.

Before the first row of a batch is given away, it is written down that it begins; when all sinks
have all of it, and before Spark takes it for done, what each was given. So after a kill is known
whether a sink may have been given rows of the batch that comes again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import methodcaller

from penstock.delivery import Epoch
from penstock.pipeline.books import Books, SinkBooks
from penstock.pipeline.gauges import SinkGauge
from penstock.spark.pipeline import BatchListener

__all__ = ["Accounts"]

logger = logging.getLogger("penstock")


class Given:
    """What a sink was given of the batch that is under way.

    ``times``  how often earlier runs may have given it each of its rows
    ``void``   rows that this run has given it, before the batch began once more
    """

    def __init__(self, sink: SinkGauge, times: int, void: int = 0) -> None:
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
        if self._sink.level == "exactly once" or self._sink.duplicated is not None:
            return 0
        fresh = self.rows - (self._sink.recognised - self._recognised)
        return fresh * self._times + self._void

    def once_more(self) -> Given:
        """The batch begins once more."""
        return Given(self._sink, self._times, self._void + self.rows)


class Accounts:
    """Keeps the part of the books that is about sinks; tells ``batches`` of each batch first.

    The thread of Spark's calls writes, any thread reads.
    """

    def __init__(self, batches: BatchListener | None, keep: Callable[[], object]) -> None:
        self._batches = batches
        self._keep = keep
        self._sinks: Sequence[SinkGauge] = ()
        self._given: dict[str, Given] = {}
        self._under_way = -1
        self._earlier: Mapping[str, SinkBooks] = {}
        self._changing = threading.RLock()
        self._writing = threading.Lock()
        self.books = Books()

    def adopt(self, books: Books) -> None:
        """Go on with the books of earlier runs."""
        self.books, self._earlier = books, books.sinks

    def change(self, change: Callable[[Books], Books]) -> None:
        """Write something down. From any thread."""
        with self._changing:
            before, self.books = self.books, change(self.books)
        if self.books != before:
            self._write()

    def watch(self, sinks: Sequence[SinkGauge]) -> None:
        """These are the sinks."""
        self._sinks = sinks

    def of(self, sink: SinkGauge) -> SinkBooks:
        """What it was given, in all runs."""
        with self._changing:
            books = self._with_own(sink, self.books.sinks.get(sink.name, SinkBooks()))
            given = self._given.get(sink.name)
            if given is None:
                return books
            counted = books.last if self._under_way == self.books.batch else 0
            fresh = max(given.rows - counted, 0) if self._under_way >= self.books.batch else 0
            return replace(
                books,
                delivered=books.delivered + fresh,
                possibly_duplicated=books.possibly_duplicated + given.possibly_again,
            )

    def closed_at(self, sink: SinkGauge) -> int:
        """The rows that it was given of batches that are over."""
        return self.books.sinks.get(sink.name, SinkBooks()).delivered

    def _with_own(self, sink: SinkGauge, books: SinkBooks) -> SinkBooks:
        """With what the sink says itself, of this run and of those before."""
        earlier = self._earlier.get(sink.name, SinkBooks())
        return replace(
            books,
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
            times = self.books.times_given(batch)
            self._given = {sink.name: Given(sink, times) for sink in self._sinks}
            self._under_way = batch
        self.change(methodcaller("with_begun", batch))

    def commit(self, batch: int) -> None:
        """All sinks have all of it."""
        if self._batches is not None:
            self._batches.commit(batch)
        with self._changing:
            if batch == self._under_way:
                last = max(batch, self.books.batch)
                sinks = self._closed(batch)
                self.books = replace(self.books, batch=last, attempts=0, sinks=sinks)
                self._given, self._under_way = {}, -1
        self._write()

    def _closed(self, batch: int) -> Mapping[str, SinkBooks]:
        """What each sink was given, this batch included; once, also if its account was closed."""
        sinks = dict(self.books.sinks)
        for sink in self._sinks:
            before, given = sinks.get(sink.name, SinkBooks()), self._given[sink.name]
            books = self._with_own(sink, before)
            if batch >= self.books.batch:
                counted = before.last if batch == self.books.batch else 0
                delivered = before.delivered - counted + given.rows
                books = replace(books, delivered=delivered, last=given.rows)
            possibly = before.possibly_duplicated + given.possibly_again
            sinks[sink.name] = replace(books, possibly_duplicated=possibly)
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
            # The next batch tries it again; after a kill the books say that they do not know.
            logger.warning("the books of the pipeline cannot be written: %s", error)
