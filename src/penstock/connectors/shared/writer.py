"""The subscriber that every sink among the connectors is."""

from __future__ import annotations

from typing import Any, Final, Protocol

from penstock.core import COMPLETED, AsyncSubscriber
from penstock.delivery import BatchSink, Epoch
from penstock.runtime import ThreadPool

__all__ = ["CheckedSink", "Writer"]

PREFETCH: Final = 16
"""How many elements may be on their way to a sink, at first."""
LARGEST: Final = 1_024
"""What that may become, as long as the sink takes them within milliseconds."""


class CheckedSink(BatchSink, Protocol):
    """A sink that can say what it would do."""

    def check(self, epoch: Epoch | None) -> str:
        """What ``open`` would do, in a few words, or its error. Nothing is touched."""


class Writer(AsyncSubscriber[Any]):
    """Writes elements into its sink, on its own thread; ``wait`` returns when all is written.

    The sink is opened before the first element, or at the end if there was none. A ``Pipeline``
    takes it out, and calls it itself: see ``penstock.delivery.BatchSink``.

    ``sink``   what stores the elements, and says how often it has each
    ``error``  why not all was written, if so
    """

    def __init__(self, sink: CheckedSink) -> None:
        self._pool = ThreadPool(name="penstock-writer")
        super().__init__(self._pool, prefetch=PREFETCH, largest=LARGEST)
        self._is_open = False
        self.sink = sink
        self.error: Exception | None = None

    def receive(self, element: Any) -> bool:
        """Write ``element``; if nobody reads any more, that is the end."""
        try:
            if not self._is_open:
                self._open_once()
            self.sink(element)
        except BrokenPipeError:
            return False
        return True

    def failed(self, error: Exception) -> None:
        """Keep the error, and report it."""
        self.error = error
        super().failed(error)

    def _open_once(self) -> None:
        if not self._is_open:
            self.sink.open(None)
            self._is_open = True

    def _finish(self, ending: Exception | None) -> None:
        try:
            if ending is COMPLETED:
                self._open_once()  # a file without elements is made, too
            self.sink.close()
        except Exception as error:
            ending = error if ending is None or ending is COMPLETED else ending
        super()._finish(ending)
        self._pool.close(wait=False)
