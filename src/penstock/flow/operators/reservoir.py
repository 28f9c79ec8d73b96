"""Where elements wait that come whether or not they are wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from penstock.api import UNBOUNDED, Subscription
from penstock.demand import COMPLETED, BoundedBuffer, Inlet, require_element, require_error
from penstock.flow.driver import Driver
from penstock.flow.elements import PENDING, Elements, Host, discard, started

__all__ = ["Reservoir"]

Keep: TypeAlias = Callable[[Any, BoundedBuffer[Any], Host], Any]
"""Decides whether an element is kept; what it raises ends the stream."""


class Reservoir(Inlet):
    """A subscriber that asks for all at once, whatever is wanted behind it.

    ``keep`` says what becomes of each element, on the thread that brings it. What is kept stays
    here until it is wanted, so that it can still be replaced. An error follows what was kept.
    """

    __slots__ = ("_abandoned", "_host", "_keep", "_waiting", "kept")

    def __init__(self, host: Host, capacity: int, keep: Keep) -> None:
        super().__init__(UNBOUNDED)
        self._host = host
        self._keep = keep
        self._waiting = False
        self._abandoned = False
        self.kept: BoundedBuffer[Any] = BoundedBuffer(capacity)

    def on_subscribe(self, subscription: Subscription) -> None:
        """Ask for all."""
        if isinstance(subscription, Driver):
            subscription.take_part_in(self._host)
        if self.accept(subscription):
            self.refill(wanted=UNBOUNDED, taken=0)
            self.notify()

    def on_next(self, element: object) -> None:
        """Keep it, or do not."""
        require_element(element)
        if self._host.over:
            self.cancel()  # the thread that brings it may have no other chance to stop
        if self.admit():
            try:
                self._keep(element, self.kept, self._host)
            except Exception as error:
                self.finish(error)
                self.cancel()
        else:
            discard(self._host, (element,))
        self.look()

    def on_error(self, error: Exception) -> None:
        """Pass the error on, behind what has come before it."""
        require_error(error)
        self.end(error)
        self._end_is_near()

    def on_complete(self) -> None:
        """The last element has come."""
        self.end(COMPLETED)
        self._end_is_near()

    def finish(self, ending: Exception) -> bool:
        """The stream ends in this way, unless it has ended before."""
        self.fail(ending)
        self._end_is_near()
        return self.ending is ending

    @property
    def is_over(self) -> bool:
        """Whether no more elements are taken."""
        return self._closed

    def look(self) -> None:
        """Something was kept, perhaps: let the host pull again if it waits for that."""
        if self._abandoned:
            self._sweep()
        elif self._waiting:
            self.notify()

    def notify(self) -> None:
        """Let the host pull again."""
        self._waiting = False
        self._host.wake()

    def elements(self, start: Callable[[], object]) -> Elements:
        """What was kept, for the stage behind; ``start`` is called first, without any demand."""
        return started(self._elements(start))

    def _elements(self, start: Callable[[], object]) -> Elements:
        host = self._host
        try:
            host.ended.add(self)  # so that the host pulls without demand
            yield None
            host.ended.discard(self)
            start()
            while True:
                self._waiting = True  # before looking, so that nothing comes unseen
                ended = self.ending is not None
                if self.kept and host.wanted:
                    self._waiting = False
                    yield from self.kept.take(1)
                elif ended and not self.kept:
                    break
                else:
                    yield PENDING
        finally:
            host.ended.discard(self)
            self.cancel()
            self._abandoned = True
            self._sweep()
        if self.ending is not COMPLETED:
            raise self.hand_over_error()

    def _sweep(self) -> None:
        """Nobody will pull what is still here."""
        discard(self._host, self.kept.take())

    def _end_is_near(self) -> None:
        self._host.ended.add(self)
        self.notify()
