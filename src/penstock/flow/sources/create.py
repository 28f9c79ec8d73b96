"""Flows that callbacks and other threads feed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from penstock.demand import COMPLETED, shorten
from penstock.flow.elements import Elements, Host, close, discard, started
from penstock.flow.operators.overflow import Emitted, Overflow, keep
from penstock.flow.operators.reservoir import Reservoir
from penstock.flow.stage import Origin
from penstock.rules import cite
from penstock.runtime import report_undelivered

__all__ = ["Create", "Emitter"]

T_contra = TypeVar("T_contra", contravariant=True)


class Emitter(Generic[T_contra]):
    """Feeds one stream of ``Flow.create``. Any thread may call it at any time.

    Elements come out one at a time, in the sequence in which they were taken, and only when they
    are wanted. Until then they wait, and the overflow policy says what happens when too many do.
    """

    __slots__ = ("_emission",)

    def __init__(self, emission: Emission) -> None:
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
        """End the stream, behind what waits to be delivered."""
        self._emission.end_by_emitter(COMPLETED)

    def fail(self, error: Exception) -> None:
        """End the stream with ``error``, behind what waits to be delivered.

        If the stream is over already, the hook for undelivered errors gets it.
        """
        if not isinstance(error, Exception):
            raise TypeError(cite("1.4", f"a stream fails with an Exception, not {shorten(error)}"))
        if not self._emission.end_by_emitter(error):
            report_undelivered(error, "an emitter failed whose stream was over")

    def on_cancel(self, callback: Callable[[], object]) -> None:
        """Call ``callback`` when nobody wants the stream any more, or at once if that is so.

        That is after a cancel, an overflow or an error further down, and not after ``complete`` or
        ``fail``, of which whoever emits knows.
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


class Emission(Reservoir):
    """The stream behind an emitter: a reservoir that nobody fills but the emitter."""

    __slots__ = ("_callbacks", "_ended_by_emitter", "_name", "_overflow")

    def __init__(self, host: Host, name: str, capacity: int, overflow: str) -> None:
        super().__init__(host, capacity, partial(keep, overflow=overflow))
        self._name = name
        self._ended_by_emitter = False
        self._callbacks: deque[Callable[[], object]] = deque()

    def put(self, element: object) -> Emitted:
        """Take an element, or say why not."""
        if self.is_over:
            return Emitted.OVER
        emitted: Emitted = self._keep(element, self.kept, self._host)
        self.look()
        return emitted

    def refuse(self, element: object) -> None:
        """Nobody will get ``element``."""
        discard(self._host, (element,))

    def overflow(self) -> None:
        """There was no room, and none may be lost."""
        self.finish(Overflow(self._name, self.kept.capacity))

    def end_by_emitter(self, ending: Exception) -> bool:
        """End the stream, unless it is over."""
        if self.is_over:
            return False
        self._ended_by_emitter = True
        return self.finish(ending)

    @property
    def wanted(self) -> int:
        """How much more is wanted."""
        return 0 if self.is_over else max(self._host.wanted - len(self.kept), 0)

    def on_cancel(self, callback: Callable[[], object]) -> None:
        """Call ``callback`` when the stream is left."""
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
    """Call what has nobody to raise to."""
    try:
        callback()
    except Exception as error:
        report_undelivered(error, cite("3.15", "a function given to on_cancel raised"))


class Create(Origin):
    """Elements that a function hands in, then or later."""

    checked = True

    def __init__(
        self, function: Callable[[Emitter[Any]], object], overflow: str, capacity: int
    ) -> None:
        super().__init__("create")
        self._function = function
        self._overflow = overflow
        self._capacity = capacity

    def open(self, host: Host, each: int) -> Elements:
        """Make an emitter; the function gets it at the first pull, which needs no demand."""
        return started(self._emitted(Emission(host, self.name, self._capacity, self._overflow)))

    def _emitted(self, emission: Emission) -> Elements:
        elements = emission.elements(partial(self._begin, emission))
        try:
            yield None
            yield from elements
        finally:
            close(elements)
            emission.leave()

    def _begin(self, emission: Emission) -> None:
        emitter = Emitter[Any](emission)
        try:
            self._function(emitter)
        except Exception as error:
            emitter.fail(error)
