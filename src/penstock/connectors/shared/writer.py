"""The subscriber that every sink among the connectors is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from penstock.core import COMPLETED, AsyncSubscriber
from penstock.delivery import BatchSink, Epoch
from penstock.flow.engine.run_context import QueueReceiver
from penstock.runtime import Executor, NewLock, ThreadPool
from penstock.runtime.executor import ReentrantLock

__all__ = ["CheckedSink", "Writer"]

PREFETCH: Final = 16
"""How many elements may be on their way to a sink, at first."""
LARGEST: Final = 1_024
"""What that may become, as long as the sink takes them within milliseconds."""


class CheckedSink(BatchSink, Protocol):
    """A sink that can say what it would do."""

    def check(self, epoch: Epoch | None) -> str:
        """What ``open`` would do, in a few words, or its error. Nothing is touched."""


class Writer(AsyncSubscriber[Any], QueueReceiver):
    """Writes elements into its sink, on its own thread; ``wait`` returns when all is written.

    The sink is opened before the first element, or at the end if there was none. A ``Pipeline``
    takes it out, and calls it itself: see ``penstock.delivery.BatchSink``.

    A flow leaves its elements in a queue, and the sink is given what is there, at once if it has
    ``give_all(elements)``: a signal and a call for each would cost twice what a file does.

    ``sink``   what stores the elements, and says how often it has each
    ``error``  why not all was written, if so
    """

    def __init__(
        self,
        sink: CheckedSink,
        *,
        executor: Executor | None = None,
        new_lock: NewLock = ReentrantLock,
    ) -> None:
        self._pool: ThreadPool | None = None
        if executor is None:
            executor = self._pool = ThreadPool(name="penstock-writer")
        super().__init__(executor, prefetch=PREFETCH, largest=LARGEST, new_lock=new_lock)
        self._is_open = False
        self.arrived = self._arrived
        self.waiting = False
        self.sink = sink
        self._give = sink.__call__  # a bound method, which is called faster than an object
        self._give_all: Callable[[list[Any]], object] | None = getattr(sink, "give_all", None)
        self.error: Exception | None = None

    def receive(self, element: Any) -> bool:
        """Write ``element``; if nobody reads any more, that is the end."""
        return self._receive_all([element])

    def _receive_all(self, elements: list[Any]) -> bool:
        try:
            self._open_once()
            if self._give_all is not None:
                self._give_all(elements)
            else:
                for element in elements:
                    if self._stopped:
                        break
                    self._give(element)
        except BrokenPipeError:
            return False
        return not self._stopped

    def notify(self) -> None:
        """A flow has left an element here."""
        self.waiting = False
        self.wake()

    def sweep(self) -> None:
        """Let go of what a flow has left here although it was cancelled."""
        self.arrived.clear()

    def _work(self) -> None:
        super()._work()
        if not self._finished:
            self.waiting = True  # before looking again, so that nothing comes unseen
            if self.arrived:
                self.notify()

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
        if self._pool is not None:
            self._pool.close(wait=False)
