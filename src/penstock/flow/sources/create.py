"""Flows that callbacks and other threads feed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from penstock.core import COMPLETED
from penstock.flow.engine.run_context import Elements, RunContext, close, discard, started
from penstock.flow.engine.stage import Origin
from penstock.flow.operators.backpressure import Emitted, Overflow, OverflowSubscriber, keep
from penstock.rules import cite
from penstock.runtime import report_undelivered, shorten

__all__ = ["Create", "Emitter"]

T_contra = TypeVar("T_contra", contravariant=True)


class Emitter(Generic[T_contra]):
    """Feeds one stream of ``Flow.create``. Any thread may call it at any time.

    Elements come out one at a time, in the order in which they were taken, and only when they
    are wanted. Until then they wait, and the overflow policy says what happens when too many do.
    """

    __slots__ = ("_emission",)

    def __init__(self, emission: EmitterBuffer) -> None:
        self._emission = emission

    def emit(self, element: T_contra) -> None:
        """Hand in an element. An overflow under the policy "error" ends the stream.

        One that comes too late, or overflows, is discarded.
        """
        emitted = self.try_emit(element)
        if emitted is Emitted.OVERFLOW:
            self._emission.overflow()
        if emitted in (Emitted.OVERFLOW, Emitted.OVER):
            self._emission.refuse(element)

    def try_emit(self, element: T_contra) -> Emitted:
        """Hand in an element; what became of it. An overflow changes nothing: try again later."""
        if element is None:
            raise TypeError(cite("2.13", "an emitter got None, which is not an element"))
        return self._emission.put(element)

    def complete(self) -> None:
        """End the stream, after what waits to be delivered."""
        self._emission.end_by_emitter(COMPLETED)

    def fail(self, error: Exception) -> None:
        """End the stream with ``error``, after what waits to be delivered.

        If the stream is over already, the hook for undelivered errors gets it.
        """
        if not isinstance(error, Exception):
            raise TypeError(cite("1.4", f"a stream fails with an Exception, not {shorten(error)}"))
        if not self._emission.end_by_emitter(error):
            report_undelivered(error, "an emitter failed whose stream was over")

    def on_cancel(self, callback: Callable[[], object]) -> None:
        """Call ``callback`` when nobody wants the stream any more, or at once if that is so.

        That is after a cancel, an overflow or an error downstream, and not after ``complete`` or
        ``fail``, of which the code that emits knows. It is called once, on the thread that closes
        the run or, if that is closed already, on the one that calls this.
        """
        self._emission.on_cancel(callback)

    @property
    def wanted(self) -> int:
        """How many elements are wanted besides those that wait already."""
        return self._emission.wanted

    @property
    def over(self) -> bool:
        """Whether the stream has ended, in any way, so that it takes no more elements."""
        return self._emission.is_over


class EmitterBuffer(OverflowSubscriber):
    """What an emitter feeds: elements wait here, and an end. Only the emitter fills it."""

    __slots__ = ("_callbacks", "_ended_by_emitter", "_name", "_overflow")

    def __init__(self, run: RunContext, name: str, capacity: int, overflow: str) -> None:
        super().__init__(run, capacity, partial(keep, overflow=overflow))
        self._name = name
        self._ended_by_emitter = False
        self._callbacks: deque[Callable[[], object]] = deque()
        run.waiting_at[self] = name

    def put(self, element: object) -> Emitted:
        """Take an element, or return why not."""
        if self.is_over:
            return Emitted.OVER
        emitted: Emitted = self._keep(element, self.kept, self._run)
        self.notify_if_waiting()
        return emitted

    def refuse(self, element: object) -> None:
        """Discard ``element``, which came too late or had no room."""
        discard(self._run, (element,))

    def overflow(self) -> None:
        """End the stream: there was no room, and no element may be lost."""
        self.finish(Overflow(self._name, self.kept.capacity))

    def end_by_emitter(self, ending: Exception) -> bool:
        """End the stream, unless it is over."""
        if self.is_over:
            return False
        self._ended_by_emitter = True
        return self.finish(ending)

    @property
    def wanted(self) -> int:
        """How many elements are wanted besides those that wait already."""
        return 0 if self.is_over else max(self._run.wanted - len(self.kept), 0)

    def on_cancel(self, callback: Callable[[], object]) -> None:
        """Call ``callback`` when the stream is cancelled, or at once if it was."""
        self._callbacks.append(callback)
        if self._abandoned:
            self.leave()

    def leave(self) -> None:
        """The stream is over: call each callback once, whichever thread comes first."""
        while self._callbacks:
            try:
                callback = self._callbacks.popleft()
            except IndexError:
                return
            if not self._ended_by_emitter:
                call_reporting(callback)


def call_reporting(callback: Callable[[], object]) -> None:
    """Call ``callback``; the hook for undelivered errors gets what it raises."""
    try:
        callback()
    except Exception as error:
        report_undelivered(error, cite("3.15", "a function given to on_cancel raised"))


class Create(Origin):
    """Elements that a function hands in, then or later.

    The function is called on the thread that pulls the run for the first time.
    """

    checked = True

    def __init__(
        self, function: Callable[[Emitter[Any]], object], overflow: str, capacity: int
    ) -> None:
        super().__init__("create")
        self._function = function
        self._overflow = overflow
        self._capacity = capacity

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Make an emitter; the function gets it at the first pull, which needs no demand."""
        return started(self._emitted(EmitterBuffer(run, self.name, self._capacity, self._overflow)))

    def _emitted(self, emission: EmitterBuffer) -> Elements:
        elements = emission.elements(partial(self._begin, emission))
        try:
            yield None
            yield from elements
        finally:
            close(elements)
            emission.leave()

    def _begin(self, emission: EmitterBuffer) -> None:
        emitter = Emitter[Any](emission)
        try:
            self._function(emitter)
        except Exception as error:
            emitter.fail(error)
