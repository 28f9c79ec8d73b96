"""How fast the flow upstream may run: ``on_backpressure_*``, ``conflate``, ``limit_rate``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.core import BoundedBuffer
from penstock.flow.base_flow import BaseFlow
from penstock.flow.engine.prefetch_subscriber import PREFETCH, PrefetchSubscriber, subscribe
from penstock.flow.engine.run_context import Elements, RunContext, discard
from penstock.flow.engine.stage import BY_TIME, IN_ORDER, Origin, Rerun
from penstock.flow.operators.overflow import Emitted, Overflow, OverflowSubscriber, keep

__all__ = [
    "Conflate",
    "LimitRate",
    "OnBackpressureBuffer",
    "OnBackpressureDrop",
]


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
