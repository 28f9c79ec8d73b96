"""Elements that come whether or not they are wanted: where they wait, and what has no room."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Final, Literal, TypeAlias

from penstock.api import UNBOUNDED, Subscription
from penstock.core import COMPLETED, BaseSubscriber, BoundedBuffer, require_element, require_error
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, discard, started
from penstock.flow.engine.subscription import FlowSubscription
from penstock.flow.engine.wait_point import WaitState
from penstock.runtime import shorten

__all__ = [
    "Emitted",
    "Overflow",
    "OverflowSubscriber",
    "Policy",
    "keep",
    "require_policy",
]

Policy: TypeAlias = Literal["error", "drop_oldest", "drop_newest"]
"""What to do when the buffer is full."""

POLICIES: Final = ("error", "drop_oldest", "drop_newest")


class Emitted(Enum):
    """What became of an element that was handed in."""

    TAKEN = "it waits to be delivered"
    DROPPED = "it was dropped, as the overflow policy says"
    OVERFLOW = "there was no room for it"
    OVER = "the stream is over, nobody wants it"


class Overflow(Exception):
    """Elements came faster than they were wanted, and there was no room left to keep them."""

    def __init__(self, operator: str, capacity: int) -> None:
        super().__init__(
            f"{operator}: an element came while {capacity} waited, which is its capacity. "
            "Request more elements, or sooner; or raise the capacity; or choose what may be lost "
            "by overflow='drop_oldest' or 'drop_newest', on_backpressure_latest or conflate"
        )
        self.operator = operator
        self.capacity = capacity

    def __reduce__(self) -> tuple[type[Overflow], tuple[str, int]]:
        return Overflow, (self.operator, self.capacity)


def require_policy(operator: str, overflow: object, *others: str) -> str:
    """``overflow``, when it is a policy."""
    allowed = (*POLICIES, *others)
    if not isinstance(overflow, str) or overflow not in allowed:
        choices = ", ".join(map(repr, allowed))
        raise ValueError(f"{operator}: overflow must be one of {choices}, not {shorten(overflow)}")
    return overflow


def keep(element: Any, kept: BoundedBuffer[Any], run: RunContext, *, overflow: str) -> Emitted:
    """Keep ``element`` if it fits, or else do what the policy says."""
    while not kept.offer(element):
        if overflow == "error":
            return Emitted.OVERFLOW
        if overflow == "drop_newest":
            discard(run, (element,))
            return Emitted.DROPPED
        discard(run, kept.take(1))
    return Emitted.TAKEN


Keep: TypeAlias = Callable[[Any, BoundedBuffer[Any], RunContext], Any]
"""Decides whether an element is kept; what it raises ends the stream."""


class OverflowSubscriber(BaseSubscriber):
    """A subscriber that asks for all at once, whatever is wanted downstream.

    ``keep`` says what becomes of each element, on the thread that brings it. What is kept stays
    here until it is wanted, so that it can still be replaced. An error follows what was kept.
    """

    __slots__ = ("_abandoned", "_keep", "_run", "_waiting", "kept")

    def __init__(self, run: RunContext, capacity: int, keep: Keep) -> None:
        super().__init__(UNBOUNDED)
        self._run = run
        self._keep = keep
        self._waiting = False
        self._abandoned = False
        self.kept: BoundedBuffer[Any] = BoundedBuffer(capacity)

    def wait_state(self, operator: str | None) -> WaitState:
        """What has come, and how much of it is kept."""
        return WaitState(
            operator,
            "waits for its publisher",
            requested=self.asked,
            delivered=self.admitted,
            buffered=len(self.kept),
            capacity=self.kept.capacity,
            brought_by=self.subscription,
            ended=self.ending is not None,
        )

    def on_subscribe(self, subscription: Subscription) -> None:
        """Ask for all elements."""
        if isinstance(subscription, FlowSubscription):
            subscription.take_part_in(self._run)
        if self.accept(subscription):
            self.refill(wanted=UNBOUNDED, taken=0)
            self.notify()

    def on_next(self, element: object) -> None:
        """Keep the element, or not, as the policy says."""
        require_element(element)
        if self._run.over:
            self.cancel()  # the thread that brings it may have no other chance to stop
        if self.admit():
            try:
                self._keep(element, self.kept, self._run)
            except Exception as error:
                self.finish(error)
                self.cancel()
        else:
            discard(self._run, (element,))
        self.notify_if_waiting()

    def on_error(self, error: Exception) -> None:
        """Pass the error on, after what has come before it."""
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

    def notify_if_waiting(self) -> None:
        """Something may have been kept: let the run pull again if it waits for that."""
        if self._abandoned:
            self._sweep()
        elif self._waiting:
            self.notify()

    def notify(self) -> None:
        """Let the run pull again."""
        self._waiting = False
        self._run.wake()

    def elements(self, start: Callable[[], object]) -> Elements:
        """What was kept, for the stage downstream; calls ``start`` first, without any demand."""
        return started(self._elements(start))

    def _elements(self, start: Callable[[], object]) -> Elements:
        run = self._run
        run.waiting_at.setdefault(self, run.opening)
        try:
            run.ended.add(self)  # so that the run pulls without demand
            yield None
            run.ended.discard(self)
            start()
            while True:
                self._waiting = True  # before the check, so that nothing comes unseen
                ended = self.ending is not None
                if self.kept and run.wanted:
                    self._waiting = False
                    yield from self.kept.take(1)
                elif ended and not self.kept:
                    break
                else:
                    yield PENDING
        finally:
            run.ended.discard(self)
            run.waiting_at.pop(self, None)
            self.cancel()
            self._abandoned = True
            self._sweep()
        if self.ending is not COMPLETED:
            raise self.hand_over_error()

    def _sweep(self) -> None:
        """Nobody will pull what is still here."""
        discard(self._run, self.kept.take())

    def _end_is_near(self) -> None:
        self._run.ended.add(self)
        self.notify()
