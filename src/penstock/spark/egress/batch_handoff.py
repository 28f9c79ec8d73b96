"""Where Spark's batches become elements: each one waits here until it is delivered.

Spark calls ``deliver`` from within ``foreachBatch`` and goes on only when that returns. So while
nobody wants elements, Spark neither plans nor reads: that is how demand reaches it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from penstock.core import COMPLETED
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, discard, started
from penstock.runtime import report_undelivered
from penstock.spark.failures import Stopped

__all__ = ["BatchHandoff", "HandoffBatch"]


class HandoffBatch(NamedTuple):
    """The elements of one of Spark's batches."""

    number: int
    size: int
    elements: Iterator[Any]


class BatchHandoff:
    """Hands the elements of one batch after the other to the run of a flow.

    on_close  is told that nobody wants anything any more
    passed    is given each element that goes out, and gives it back
    on_begin  is told the number of a batch before its first element goes out
    """

    def __init__(
        self,
        run: RunContext,
        on_close: Callable[[], object],
        passed: Callable[[Any], Any] | None = None,
        on_begin: Callable[[int], object] = lambda number: None,
    ) -> None:
        self._run = run
        self._on_close = on_close
        self._passed = passed
        self._on_begin = on_begin
        self._changed = threading.Condition()
        self._batch: HandoffBatch | None = None
        self._ending: Exception | None = None
        self._closed = False
        self._begun = -1
        self._delivered = 0

    @property
    def waits(self) -> bool:
        """Whether a batch waits to be delivered."""
        return self._batch is not None

    # Spark's side.

    def deliver(self, batch: HandoffBatch, keeps_sequence: bool) -> None:
        """Return when the whole batch is delivered; raises ``Stopped`` if it will not be.

        What was delivered of it already, before Spark began it again, is left out, unless its
        elements may come in another order now.
        """
        with self._changed:
            # Spark may begin a batch again while what it gave before is still being delivered.
            self._changed.wait_for(lambda: self._batch is None or self._is_over)
            self._require_open()
            if batch.number != self._begun or not (keeps_sequence or self._delivered == batch.size):
                self._begun, self._delivered = batch.number, 0
                self._on_begin(batch.number)  # no element is on its way now
            done = self._delivered
            rest = HandoffBatch(batch.number, batch.size - done, islice(batch.elements, done, None))
            if not rest.size:
                return
            self._batch = rest
        self._run.wake()
        with self._changed:
            self._changed.wait_for(lambda: self._batch is not rest or self._is_over)
            self._require_open()

    def end(self, ending: Exception) -> None:
        """There is no more; an error goes out at once, ahead of what waits here."""
        with self._changed:
            if self._ending is not None or self._closed:
                if ending is not COMPLETED:
                    report_undelivered(ending, "a stream through Spark was over before")
                return
            self._ending = ending
            self._run.ended.add(self)
            self._changed.notify_all()
        self._run.wake()

    def _require_open(self) -> None:
        if self._is_over:
            raise Stopped("nobody wants the rows")

    @property
    def _is_over(self) -> bool:
        return self._closed or self._ending is not None

    # The flow's side.

    def elements(self) -> Elements:
        """All elements, as they come."""
        return started(self._elements())

    def _elements(self) -> Elements:
        try:
            yield None
            while self._ending is None:
                if self._batch is None:
                    yield PENDING
                else:
                    yield from self._from(self._batch)
            if self._ending is not COMPLETED:
                raise self._ending
        finally:
            self._run.ended.discard(self)
            self.close()

    def _from(self, batch: HandoffBatch) -> Elements:
        elements = batch.elements if self._passed is None else map(self._passed, batch.elements)
        for element in islice(elements, batch.size - 1):
            yield element
            self._delivered += 1
            if self._ending is not None:
                return
        # After its last element the batch is done, whether or not another one is wanted.
        self._run.ended.add(self)
        yield from islice(elements, 1)
        with self._changed:
            self._delivered += 1
            if self._ending is None:
                self._run.ended.discard(self)
            self._batch = None
            self._changed.notify_all()

    def close(self) -> None:
        """Nobody wants anything any more: let Spark go on, to its end."""
        with self._changed:
            self._closed = True
            batch, self._batch = self._batch, None
            self._changed.notify_all()
        if batch is not None and self._run.discards:
            discard(self._run, batch.elements)
        self._on_close()
