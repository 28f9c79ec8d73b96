"""How fast the flow upstream may run: ``on_backpressure_*``, ``conflate``, ``limit_rate``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from penstock.api import UNBOUNDED
from penstock.core import COMPLETED, BoundedBuffer, require_element
from penstock.flow.base_flow import BaseFlow
from penstock.flow.engine.prefetch_subscriber import (
    PREFETCH,
    PrefetchSubscriber,
    UpstreamSubscriber,
    subscribe,
)
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, discard, started
from penstock.flow.engine.stage import BY_TIME, IN_ORDER, Origin, Rerun
from penstock.runtime import shorten

__all__ = [
    "Conflate",
    "Emitted",
    "LimitRate",
    "OnBackpressureBuffer",
    "OnBackpressureDrop",
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


class OverflowSubscriber(UpstreamSubscriber):
    """A subscriber that asks for all at once, whatever is wanted downstream.

    ``keep`` says what becomes of each element, on the thread that brings it. What is kept stays
    here until it is wanted, so that it can still be replaced. An error follows what was kept.
    """

    __slots__ = ("_abandoned", "_keep", "_waiting", "kept")

    def __init__(self, run: RunContext, capacity: int, keep: Keep) -> None:
        super().__init__(run, UNBOUNDED)
        self._keep = keep
        self._waiting = False
        self._abandoned = False
        self.kept: BoundedBuffer[Any] = BoundedBuffer(capacity)

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

    def finish(self, ending: Exception) -> bool:
        """The stream ends in this way, unless it has ended before; whether it does."""
        ends = self.fail(ending)
        self._end_is_near()
        return ends

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
                if self.kept and (run.wanted or ended):  # then nothing replaces it any more
                    self._waiting = False
                    yield from self.kept.take(1)
                elif ended and not self.kept:
                    break
                else:
                    yield PENDING
        finally:
            run.end_is_seen(self)
            run.waiting_at.pop(self, None)
            self.cancel()
            self._abandoned = True
            self._sweep()
        if self.ending is not COMPLETED:
            raise self.hand_over_error()

    def _ask_ahead(self) -> None:
        self.refill(wanted=UNBOUNDED, taken=0)

    def _counts(self) -> tuple[int, int, int]:
        return self.admitted, len(self.kept), self.kept.capacity

    def _sweep(self) -> None:
        """Nobody will pull what is still here."""
        discard(self._run, self.kept.take())


class UnboundedDemand(Origin):
    """Subscribes to upstream, and asks it for all elements at once.

    What it keeps, or does not, is decided on the thread that brings an element: the functions of
    the user, ``on_drop`` and ``combine``, are called there.
    """

    rerun = Rerun(repeats=False, severable=True)
    checked = True

    def __init__(self, name: str, upstream: BaseFlow[Any], capacity: int) -> None:
        super().__init__(name)
        self.upstream = upstream
        self.executor = upstream.plan.origin.executor  # what follows runs where it ran
        self.capacity = capacity

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Subscribe at the first pull, when the stages downstream are ready."""
        subscriber = OverflowSubscriber(run, self.capacity, self._keep)
        return subscriber.elements(partial(subscribe, subscriber, self.upstream))

    @abstractmethod
    def _keep(self, element: Any, kept: BoundedBuffer[Any], run: RunContext) -> None:
        """Keep an element, or do not. Runs on the thread that brings it."""


class OnBackpressureBuffer(UnboundedDemand):
    """Keeps up to ``capacity`` elements."""

    def __init__(self, upstream: BaseFlow[Any], capacity: int, overflow: str) -> None:
        super().__init__("on_backpressure_buffer", upstream, capacity)
        self._overflow = overflow
        if overflow == "error":
            self.rerun, self.carries = IN_ORDER, True

    def _keep(self, element: Any, kept: BoundedBuffer[Any], run: RunContext) -> None:
        if keep(element, kept, run, overflow=self._overflow) is Emitted.OVERFLOW:
            discard(run, (element,))
            raise Overflow(self.name, self.capacity)


class OnBackpressureDrop(UnboundedDemand):
    """Keeps only what is wanted already; ``on_drop`` is called on the thread of the element."""

    def __init__(self, upstream: BaseFlow[Any], on_drop: Callable[[Any], object] | None) -> None:
        super().__init__("on_backpressure_drop", upstream, PREFETCH)
        self._on_drop = on_drop

    def _keep(self, element: Any, kept: BoundedBuffer[Any], run: RunContext) -> None:
        if len(kept) < run.wanted and kept.offer(element):
            return
        discard(run, (element,))
        if self._on_drop is not None:
            self._on_drop(element)


class Conflate(UnboundedDemand):
    """Keeps one element, with which those that come are combined; else the newest one counts.

    The function combines them on the thread that brings the newer one.
    """

    def __init__(
        self, name: str, upstream: BaseFlow[Any], combine: Callable[[Any, Any], Any] | None
    ) -> None:
        super().__init__(name, upstream, 1)
        self._combine = combine
        if combine is not None:
            self.rerun = BY_TIME

    def _keep(self, element: Any, kept: BoundedBuffer[Any], run: RunContext) -> None:
        # What waits is taken out first: it must not be delivered while it is being combined.
        for waiting in kept.take():
            element = self._combined(waiting, element, run)
        kept.put(element)

    def _combined(self, waiting: Any, element: Any, run: RunContext) -> Any:
        if self._combine is None:
            discard(run, (waiting,))
            return element
        try:
            combined = self._combine(waiting, element)
            if combined is None:
                raise TypeError(f"{self.name}: the function returned None, which is no element")
        except Exception:
            discard(run, (waiting, element))
            raise
        return combined


class LimitRate(Origin):
    """Subscribes to upstream, which is never asked for more than ``high`` elements."""

    rerun = IN_ORDER
    carries = True
    checked = True

    def __init__(self, upstream: BaseFlow[Any], high: int, low: int) -> None:
        super().__init__("limit_rate")
        self.upstream = upstream
        self.executor = upstream.plan.origin.executor  # what follows runs where it ran
        self._high = high
        self._low = low

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Subscribe to upstream."""
        subscriber = LimitRateSubscriber(run, per_output, self._high, self._low)
        subscribe(subscriber, self.upstream)
        return subscriber.elements()


class LimitRateSubscriber(PrefetchSubscriber):
    """Asks again when ``low`` of the elements that it asked for are left."""

    __slots__ = ("_low",)

    def __init__(self, run: RunContext, per_output: int, high: int, low: int) -> None:
        super().__init__(run, per_output, high)
        self._low = low

    def _ask(self) -> bool:
        wanted, taken = min(self._run.wanted * self._each, self.capacity), self._taken
        if wanted and self._asked - taken <= self._low:
            self.refill(wanted=taken + wanted, taken=taken, starving_at=self._asked)
        return bool(self.arrived) or self.ending is not None
