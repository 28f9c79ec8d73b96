"""Origins that let the flow in front run at its own pace."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.demand import BoundedBuffer
from penstock.flow.elements import Elements, Host, discard
from penstock.flow.fluent import Fluent
from penstock.flow.intake import PREFETCH, subscribe
from penstock.flow.operators.overflow import Emitted, Overflow, keep
from penstock.flow.operators.reservoir import Reservoir
from penstock.flow.stage import BY_TIME, IN_ORDER, Origin, Rerun

__all__ = ["BufferUnwanted", "Conflate", "DropUnwanted"]


class Unhindered(Origin):
    """Subscribes to the flow in front, and asks it for all at once."""

    rerun = Rerun(repeats=False, severable=True)
    checked = True

    def __init__(self, name: str, upstream: Fluent[Any], capacity: int) -> None:
        super().__init__(name)
        self.upstream = upstream
        self.executor = upstream.plan.origin.executor  # what follows runs where it ran
        self.capacity = capacity

    def open(self, host: Host, each: int) -> Elements:
        """Subscribe at the first pull, when the stages behind are ready."""
        reservoir = Reservoir(host, self.capacity, self._keep)
        return reservoir.elements(partial(subscribe, reservoir, self.upstream))

    @abstractmethod
    def _keep(self, element: Any, kept: BoundedBuffer[Any], host: Host) -> None:
        """Keep an element, or do not. Runs on the thread that brings it."""


class BufferUnwanted(Unhindered):
    """Keeps up to ``capacity`` elements."""

    def __init__(self, upstream: Fluent[Any], capacity: int, overflow: str) -> None:
        super().__init__("on_backpressure_buffer", upstream, capacity)
        self._overflow = overflow
        if overflow == "error":
            self.rerun, self.carries = IN_ORDER, True

    def _keep(self, element: Any, kept: BoundedBuffer[Any], host: Host) -> None:
        if keep(element, kept, host, overflow=self._overflow) is Emitted.OVERFLOW:
            discard(host, (element,))
            raise Overflow(self.name, self.capacity)


class DropUnwanted(Unhindered):
    """Keeps what is wanted already."""

    def __init__(self, upstream: Fluent[Any], on_drop: Callable[[Any], object] | None) -> None:
        super().__init__("on_backpressure_drop", upstream, PREFETCH)
        self._on_drop = on_drop

    def _keep(self, element: Any, kept: BoundedBuffer[Any], host: Host) -> None:
        if len(kept) < host.wanted and kept.offer(element):
            return
        discard(host, (element,))
        if self._on_drop is not None:
            self._on_drop(element)


class Conflate(Unhindered):
    """Keeps one element, with which those that come are combined; else the newest one counts."""

    def __init__(
        self, name: str, upstream: Fluent[Any], combine: Callable[[Any, Any], Any] | None
    ) -> None:
        super().__init__(name, upstream, 1)
        self._combine = combine
        if combine is not None:
            self.rerun = BY_TIME

    def _keep(self, element: Any, kept: BoundedBuffer[Any], host: Host) -> None:
        # What waits is taken out first: it must not be delivered while it is being combined.
        for waiting in kept.take():
            element = self._combined(waiting, element, host)
        kept.put(element)

    def _combined(self, waiting: Any, element: Any, host: Host) -> Any:
        if self._combine is None:
            discard(host, (waiting,))
            return element
        try:
            combined = self._combine(waiting, element)
            if combined is None:
                raise TypeError(f"{self.name}: the function returned None, which is no element")
        except Exception:
            discard(host, (waiting, element))
            raise
        return combined
