"""The subscriber that every sink among the connectors is."""

from __future__ import annotations

from typing import Any, Final, Protocol

from penstock.core import COMPLETED, AsyncSubscriber
from penstock.delivery import BatchSink, Epoch
from penstock.runtime import ThreadPool

__all__ = ["CheckedSink", "Writer"]

PREFETCH: Final = 16
"""How many elements may be on their way to a sink."""


class CheckedSink(BatchSink, Protocol):
    """A sink that can say what it would do."""

    def check(self, epoch: Epoch | None) -> str:
        """What ``open`` would do, in a few words, or its error. Nothing is touched."""


class Writer(AsyncSubscriber[Any]):
    """Writes elements on its own thread; ``wait`` returns when all is written.

    In a ``Pipeline`` it is called instead, on the thread of the caller, and told where batches
    begin and end; see ``penstock.delivery.BatchSink``. Nothing is opened before ``open``, or the
    first element where nobody calls that.

    ``level``       how often it has each row after kills and restarts of a checkpoint
    ``duplicated``  the rows that it has twice, for the ledger; ``None`` if it cannot tell
    ``error``       why not all was written, if so
    """

    def __init__(self, sink: CheckedSink) -> None:
        self._pool = ThreadPool(name="penstock-writer")
        super().__init__(self._pool, prefetch=PREFETCH)
        self._sink = sink
        self._is_open = False
        self._was_closed = False
        self.level = sink.level
        self.duplicated = 0 if sink.level == "exactly once" else None
        self.error: Exception | None = None

    def check(self, epoch: Epoch | None) -> str:
        """What ``open`` would do, in a few words, or its error. Nothing is touched."""
        return self._sink.check(epoch)

    def open(self, epoch: Epoch | None) -> None:
        """Make, cut and lock what it writes to, for a pipeline with this epoch or with none."""
        self._sink.open(epoch)
        self._is_open = True

    def begin(self, batch: int) -> bool:
        """Whether it wants the rows of this batch, which follow."""
        return self._sink.begin(batch)

    def __call__(self, element: Any) -> None:
        """Write ``element``, which is stored with its batch, or at once where there are none."""
        if not self._is_open:
            self._open_alone()
        self._sink(element)

    def commit(self, batch: int) -> None:
        """Store the batch with its number."""
        self._sink.commit(batch)

    def close(self) -> None:
        """Close what is open; what belongs to a batch that is not committed is given up."""
        if self._is_open:
            self._is_open = False
            self._was_closed = True
            self._sink.close()

    def receive(self, element: Any) -> bool:
        """Write ``element``; if nobody reads any more, that is the end."""
        try:
            self(element)
        except BrokenPipeError:
            return False
        return True

    def failed(self, error: Exception) -> None:
        """Keep the error, and report it."""
        self.error = error
        super().failed(error)

    def _open_alone(self) -> None:
        if self._was_closed:
            raise ValueError("this writer was closed, and takes no more elements")
        self.open(None)

    def _finish(self, ending: Exception | None) -> None:
        try:
            if ending is COMPLETED and not self._is_open:
                self._open_alone()  # a file without elements is made, too
            self.close()
        except Exception as error:
            ending = error if ending is None or ending is COMPLETED else ending
        super()._finish(ending)
        self._pool.close(wait=False)
